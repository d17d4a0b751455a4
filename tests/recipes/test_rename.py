"""Names of ops, scopes and variables, by a table and by patterns."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.recipes.signature import rows
from tests.recipes.models import numbers, ran, refusal

tf1 = tf.compat.v1


def net():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        for block in ("block1", "block2"):
            with tf1.variable_scope(block):
                x = tf.matmul(x, tf1.get_variable("w", initializer=numbers(4, 4)), name="mm")
        tf.nn.relu(x, name="y")
    return graph


def test_scopes_ends_and_patterns_at_once():
    ed = gs.open(net())
    x = numbers(3, 4)
    before = ran(ed, x=x)
    ed.apply(gs.recipes.rename(ed, {"x:0": "image:0", "y": "scores", "block*/w": "stage*/kernel", "block1": "stem"}))
    names = set(ed.snapshot.names)
    assert {"image", "scores", "stage1/kernel", "stage2/kernel", "stem/mm", "block2/mm"} <= names
    assert sorted(ed.snapshot.state.variables) == ["stage1/kernel", "stage2/kernel"]
    assert (ran(ed, "scores:0", image=x) == before).all()
    ed.undo()
    assert "block1/w" in ed.snapshot.names


def test_the_table_has_ends_scopes_and_variables():
    assert rows(gs.open(net())) == ["y", "x", "block1", "block2", "block1/w", "block2/w"]


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ({"block*": "stage"}, "'block*' and 'stage' do not both have exactly one *"),
        ({"part*/w": "*/w"}, "no op matches 'part*/w'"),
        ({"x": "x"}, "names= is empty"),
        ({}, "names= is empty"),
    ],
    ids=["one star", "nothing there", "the same", "empty"],
)
def test_what_does_not_fit_says_why(names, why):
    assert refusal(gs.PlanError, gs.recipes.rename, gs.open(net()), names).startswith(f"rename(): {why}")
