"""Which names a copy may take."""

from __future__ import annotations

import pytest

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.names import UNSCOPED_COLLECTIONS, VARIABLE_LISTS, free_name, placeholder_name, valid_name


@pytest.mark.parametrize("scope", ["a", "a/b", "A.b-c_d", "0a", ".a", "copy_2/x", "a/_b", "a>b", "a/>b"])
def test_scopes_tensorflow_takes(scope):
    assert valid_name(scope)


@pytest.mark.parametrize(
    "scope", ["", "a b", "a//b", "/a", "a/", "_a", "-a", "é", "a:0", "^a", "a\n", "a>", "a>_b", ">a", "a\\b"]
)
def test_scopes_it_does_not(scope):
    assert not valid_name(scope)


def test_taken_by_op_or_scope_whatever_the_case():
    g = Graph.from_ops([("Net/w/read", "Identity", []), ("copy", "NoOp", [])])
    for name in ("net", "NET", "net/W", "Net/w/read", "Copy"):
        assert g.is_name_used(name), name
    for name in ("ne", "net/x", "copy/a", "read"):
        assert not g.is_name_used(name), name


def test_a_free_one_is_proposed():
    g = Graph.from_ops(
        [("copy/a", "Const", []), ("copy_2/a", "Const", []), ("Copy_3", "Const", []), ("x_7", "Const", [])]
    )
    assert free_name("new", g.is_name_used) == "new"
    assert free_name("copy", g.is_name_used) == "copy_4"
    assert free_name("x_7", g.is_name_used) == "x_8"
    assert free_name("copy", Graph.from_ops([]).is_name_used) == "copy"
    assert free_name("x_7", g.is_name_used, as_tensorflow=True) == "x_7_1"


def test_placeholders_take_the_name_of_what_they_stand_for():
    assert placeholder_name("a/b", 0, set()) == "a/b"
    assert placeholder_name("a/b", 2, set()) == "a/b_2"
    assert placeholder_name("a", 0, {"a"}) == "a_in"
    assert placeholder_name("a", 0, {"a", "a_in"}) == "a_in2"
    assert placeholder_name("a", 0, {"a", "a_in", "a_in2"}) == "a_in3"


def test_what_a_trainer_looks_for_keeps_its_name():
    assert {"variables", "trainable_variables", "update_ops", "losses", "train_op"} <= UNSCOPED_COLLECTIONS
    assert VARIABLE_LISTS < UNSCOPED_COLLECTIONS
