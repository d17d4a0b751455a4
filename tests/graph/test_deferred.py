"""A deferred live graph: one identity before and after it is made, and the notes on it move to the live graph."""

from __future__ import annotations

import gc
import weakref

from graphsurgeon.graph.graph import DerivedOrigin, Graph
from graphsurgeon.graph.lazy_graph import (
    DeferredGraph,
    LazyGraph,
    graph_identity,
    lazy_graph_of,
    materialize,
    materialized_graph,
)
from graphsurgeon.graph.open_graph import OpenedGraph
from graphsurgeon.graph.security import GraphOrigin, add_origins, origins


class Live:
    """As a `tf.Graph`."""


def test_the_owner_of_a_snapshot_is_the_live_graph_as_soon_as_that_is_made():
    graph = DeferredGraph(Live)
    before = Graph.from_ops([("a", "NoOp", [])], owner=graph)
    plan = Graph.from_ops([("a", "NoOp", [])], owner=DerivedOrigin(before.origin))
    opened = OpenedGraph(graph, "title")
    assert before.owner is graph is plan.origin is opened.graph
    live = graph.materialize()
    assert isinstance(live, Live)
    assert before.owner is live is plan.origin is opened.graph
    assert before.with_nodes([]).owner is live
    assert graph.materialize() is live is materialized_graph(graph)
    assert graph_identity(live) is graph is graph_identity(graph)


def test_a_live_graph_and_no_graph_are_what_they_are():
    live = Live()
    assert materialized_graph(live) is live is graph_identity(live)
    assert materialized_graph(None) is None
    assert Graph.from_ops([]).owner is not Graph.from_ops([]).owner


def test_what_is_noted_before_and_after_is_on_the_live_graph():
    graph = DeferredGraph(Live)
    one, two = (GraphOrigin(Graph.from_ops([("w", "WriteFile", [])])) for _ in range(2))
    add_origins(graph, [one])
    live = graph.materialize()
    assert origins(live) == (one,)
    add_origins(graph, [two])
    assert origins(live) == (one, two) == origins(graph)


def test_a_pending_graph_is_made_when_it_is_filled():
    graph, filled = DeferredGraph(Live), []
    read = Graph.from_ops([("a", "NoOp", [])], owner=graph)
    LazyGraph(read, filled.append).attach_to(graph)
    assert lazy_graph_of(graph) is not None
    assert not filled
    live = materialize(graph)
    assert filled == [live]
    assert lazy_graph_of(graph) is None is lazy_graph_of(live)
    assert read.live_graph is live


def test_weak_references_to_the_deferred_graph_last_as_long_as_the_live_graph():
    graph = DeferredGraph(Live)
    kept, live = weakref.ref(graph), graph.materialize()
    del graph
    gc.collect()
    assert kept() is graph_identity(live)
    del live
    gc.collect()
    assert kept() is None
