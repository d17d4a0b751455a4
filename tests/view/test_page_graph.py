"""Page graph: every op and every tensor of a graph is in what a page holds, or is counted."""

from __future__ import annotations

import json

import pytest

from graphsurgeon.ui import page
from graphsurgeon.ui.page import pack
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree
from tests.view.graphs import chain, network, towers

GRAPHS = [network(), towers(), chain(60), chain(5, "a/b/c/")]


@pytest.mark.parametrize("graph", GRAPHS, ids=["net", "towers", "flat", "deep"])
def test_the_rows_are_the_boxes_of_all_scenes(graph):
    packed = json.loads(json.dumps(pack(Tree(graph))))
    rows = {row[2]: row for row in packed["rows"]}
    assert len(rows) == len(packed["rows"])
    assert packed["shut"] == 0
    top = [row[2] for row in packed["rows"] if row[0] < 0]
    assert top == [box.name for box in build(Tree(graph)).boxes]
    for box in build(Tree(graph), {"densea/", "~tower_[0..15]/"}).boxes:
        row = rows[box.name]
        assert row[1:2] + row[3:7] == [box.kind, box.label, box.sub, box.count, box.family]


def test_what_does_not_fit_stays_folded_and_is_counted(monkeypatch):
    whole, part = pack(Tree(towers())), pack(Tree(towers()), limit=20)
    assert len(part["rows"]) <= 20 < len(whole["rows"])
    assert part["shut"] > 0
    monkeypatch.setattr(page, "EDGES", 60)
    less = pack(Tree(towers()), limit=400)
    assert len(less["rows"]) < len(whole["rows"])


def test_what_is_open_at_first_and_marked():
    graph = network()
    packed = pack(Tree(graph), {"densea/"}, {graph.index["x"]: "orphan"})
    assert packed["open"] == ["densea/"]
    assert {row[2]: row[-1] for row in packed["rows"] if row[-1]} == {"x": "orphan"}


def test_each_tensor_that_leaves_a_row_is_told_once_with_its_readers():
    packed = pack(Tree(chain(4)))
    assert [name for _, name, _ in packed["tensors"]] == ["op_a0x:0", "op_b1x:0", "op_c2x:0"]
    assert packed["reads"] == [[0, 1], [1, 2], [2, 3]]
    assert (packed["controls"], packed["waits"]) == ([], [])
