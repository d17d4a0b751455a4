"""print(ed): a graph in a few lines."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.core.graph import Graph
from graphsurgeon.summary import summary
from tests.core.plain import chain, net
from tests.graphs import model, tiny


def test_a_tiny_graph():
    assert str(gs.open(tiny())).splitlines() == [
        "graph: 5 ops, 3 edges",
        "  inputs   x  float32 (?, 2)",
        "           k  int32 (?,)",
        "  outputs  z  float32 (?, 2)",
        "  scopes   z/  2 ops",
    ]


def test_variables_collections_and_types():
    text = str(gs.open(model("resource").graph, title="net"))
    assert text.startswith("net: ")
    assert "  variables    net/w  float32 (2, 3)" in text
    assert "  collections  mine  2" in text or "trainable_variables  2" in text
    assert "  op types: " in text
    assert "more" in text


def test_control_edges_and_orphans():
    text = summary(net(), frozenset({"a"}))
    assert text.splitlines()[0] == "net: 11 ops, 9 edges, 2 control edges"
    assert text.splitlines()[-1] == "  1 orphan left by undo"


def test_an_empty_graph():
    assert str(gs.open(tf.Graph())) == "graph: 0 ops, 0 edges"
    assert summary(Graph.of([("a", "Const", [])], title="one")).splitlines()[0] == "one: 1 op, 0 edges"


def test_large_numbers_are_grouped_and_it_stays_short():
    text = summary(chain(20_000))
    assert "20,001 ops, 20,000 edges" in text
    assert len(text.splitlines()) < 40


def test_names_from_strangers_are_only_text():
    g = Graph.of([("a\n<b>", "Placeholder", [])])
    assert "<b>" in summary(g)
