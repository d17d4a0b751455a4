"""How often a loop turns, worked out from the numbers that decide it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from graphsurgeon.plan.steps.functions import LoopFunction, scalar, trip_count_of


def node(op, *reads, value=None):
    return SimpleNamespace(op=op, input=list(reads), value=value)


def array(one):
    return np.asarray(one.value)


NODES = {
    "one": node("Const", value=1), "limit": node("Const", value=4), "many": node("Const", value=[1, 2]),
    "next": node("AddV2", "i", "one"), "less": node("Less", "i", "limit"), "random": node("RandomUniform", "i"),
    "all": node("LogicalAnd", "less", "random"), "wide": node("AddV2", "i", "many"), "copy": node("Identity", "next:0"),
    "a": node("Identity", "b"), "b": node("Identity", "a"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "value"),
    [("next", 3), ("copy:0", 3), ("less", True), ("random", None), ("all", None), ("wide", None), ("a", None),
     ("nowhere", None), ("i", 2)],
)  # fmt: skip
def test_a_number_is_worked_out_from_those_that_are_known(text, value):
    assert scalar(NODES, text, {"i": np.int32(2)}, array) == value


@pytest.mark.parametrize(("start", "most", "found"), [(0, 9, 4), (0, 4, 4), (0, 3, 4), (3, 9, 1), (7, 9, 0)])
def test_rounds_are_counted(start, most, found):
    test, body = LoopFunction(NODES, ["i"], ["less"]), LoopFunction(NODES, ["i"], ["next"])
    assert trip_count_of(test, body, [start], most, array) == found


def test_what_is_not_known_is_not_guessed():
    body = LoopFunction(NODES, ["i"], ["next"])
    assert trip_count_of(LoopFunction(NODES, ["i"], ["all"]), body, [0], 9, array) is None
    assert trip_count_of(LoopFunction(NODES, ["i"], ["less"]), body, [None], 9, array) is None
    assert (
        trip_count_of(LoopFunction(NODES, ["i"], ["less"]), LoopFunction(NODES, ["i"], ["random"]), [0], 9, array)
        is None
    )
