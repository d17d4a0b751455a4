"""Names that plans give: what was called otherwise is found under its new name, and nothing else moves."""

from __future__ import annotations

import pytest

from graphsurgeon.graph.graph import Graph
from graphsurgeon.ui.state import name_changes, renamed_keys, renamer

GRAPH = Graph.from_ops([("b/net/x", "NoOp", []), ("b/net/y", "NoOp", []), ("a/z", "NoOp", []), ("w", "NoOp", [])])
RENAMED = {"a/net/x": "b/net/x", "a/net/y": "b/net/y", "v": "w"}


@pytest.mark.parametrize(
    ("name", "now"),
    [
        ("a/net/x", "b/net/x"),
        ("a/net/x:1", "b/net/x:1"),
        ("^a/net/y", "^b/net/y"),
        ("a/net/", "b/net/"),
        ("~a/net/c_[0..3]", "~b/net/c_[0..3]"),
        ("v:0", "w:0"),
        ("a/", "a/"),  # 'a/z' has stayed
        ("a/z:0", "a/z:0"),
        ("w", "w"),
        ("nobody", "nobody"),
    ],
)
def test_ops_tensors_boxes_and_folds_follow(name, now):
    assert renamer(RENAMED, GRAPH)(name) == now


def test_what_goes_there_comes_back():
    there = renamer(RENAMED, GRAPH)
    before = Graph.from_ops([("a/net/x", "NoOp", []), ("a/net/y", "NoOp", []), ("a/z", "NoOp", []), ("v", "NoOp", [])])
    back = renamer({new: old for old, new in RENAMED.items()}, before)
    for name in ("a/net/x:0", "a/net/", "~a/net/c_[0..3]", "v", "a/", "a/z"):
        assert back(there(name)) == name


def test_names_after_one_plan_and_another():
    first, second = {"x": "y"}, {"x": "z", "u": "v"}
    assert name_changes({}, first) == {"x": "y"}
    assert name_changes(first, second) == {"y": "z", "u": "v"}
    assert name_changes(second, {}) == {"z": "x", "v": "u"}
    assert name_changes(first, first) == {}


def test_keys_stay_where_nothing_is_renamed():
    assert renamed_keys(["a/net/"], {}, GRAPH) == {"a/net/"}
    assert renamed_keys(["a/net/", "q/"], RENAMED, GRAPH) == {"b/net/", "q/"}
