"""The first picture of every graph of the corpus can be read."""

from __future__ import annotations

import time

import pytest

from graphsurgeon.core.graph import Graph
from graphsurgeon.errors import SelectionError
from graphsurgeon.view.labels import samples
from graphsurgeon.view.layout import place
from graphsurgeon.view.scene import build, first_unfolded
from graphsurgeon.view.text import LABEL, SUB, width
from graphsurgeon.view.tree import tree_of
from tests.corpus import corpus_ids

BROKEN = {"tf_g2m_graph_malformed"}  # not even a protobuf


@pytest.fixture(scope="module")
def read(corpus):
    """Returns a function from an item's id to a snapshot of its nodes, nothing imported into TensorFlow."""

    def one(id):
        return Graph.read(corpus._reader.protos(id)[0].node, title=id)

    return one


@pytest.mark.parametrize("id", [i for i in corpus_ids() if i not in BROKEN])
def test_first_picture(read, id):
    try:
        graph = read(id)
    except SelectionError:
        pytest.skip("an input of this graph names no op: it cannot be opened")
    started = time.monotonic()
    scene = build(graph, first_unfolded(graph))
    built = time.monotonic() - started
    picture = place(scene)
    core = int((tree_of(graph).asides.kind == 0).sum())
    boxes = {b.id: b for b in picture.boxes}
    assert built < 3, f"{built:.1f} s for {graph.size} ops"
    assert picture.stats["degraded"] == ""
    assert len(boxes) <= 60
    assert len(boxes) >= min(8, core, graph.size)
    assert all(b.w >= max(width(b.label, LABEL, bold=True), width(b.sub, SUB)) for b in boxes.values())
    assert max(picture.w / picture.h, picture.h / picture.w) <= 4
    for i, a in enumerate(picture.boxes):
        for b in picture.boxes[:i]:
            assert a.x + a.w <= b.x or b.x + b.w <= a.x or a.y + a.h <= b.y or b.y + b.h <= a.y
    for edge in picture.edges:
        others = [b for b in picture.boxes if b.id not in (edge.source, edge.target)]
        for x, y in samples(edge.d):
            assert not any(b.x + 2 < x < b.x + b.w - 2 and b.y + 2 < y < b.y + b.h - 2 for b in others)
