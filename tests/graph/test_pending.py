"""A live graph that a file fills when it is first needed."""

from __future__ import annotations

import threading

import pytest

from graphsurgeon.errors import OpenError
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.lazy_graph import LazyGraph, is_materialized, lazy_graph_of, materialize
from tests.refusal import refuses


class Live:
    """Stands for a live graph."""

    def __init__(self):
        self.filled = 0


def fill(graph):
    graph.filled += 1


def test_it_is_filled_once_at_the_first_need():
    graph, read = Live(), Graph.from_ops([("a", "Const", [])])
    LazyGraph(read, fill).attach_to(graph)
    assert lazy_graph_of(graph).read is read
    assert graph.filled == 0
    assert materialize(graph) is graph
    assert materialize(graph).filled == 1
    assert lazy_graph_of(graph) is None


def test_many_threads_fill_it_once():
    graph = Live()
    LazyGraph(Graph.from_ops([]), fill).attach_to(graph)
    threads = [threading.Thread(target=materialize, args=(graph,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert graph.filled == 1


def test_a_refusal_is_remembered():
    graph, asked = Live(), []

    def refuse(_graph):
        asked.append(1)
        raise OpenError("open('x.pb')", "it is damaged", "Write it again")

    LazyGraph(Graph.from_ops([]), refuse).attach_to(graph)
    for _ in range(2):
        with refuses(OpenError, "open('x.pb'): it is damaged", "Write it again"):
            materialize(graph)
    assert asked == [1]
    assert lazy_graph_of(graph).refusal.problem == "it is damaged"


def test_a_known_refusal_asks_nobody():
    graph = Live()
    LazyGraph(Graph.from_ops([]), fill, refusal=OpenError("open('x.pb')", "no such op", "Load it")).attach_to(graph)
    with refuses(OpenError, "no such op"):
        materialize(graph)
    assert graph.filled == 0


def test_a_known_refusal_leaves_room_for_stand_ins():
    graph = Live()
    LazyGraph(Graph.from_ops([]), fill, refusal=OpenError("open('x.pb')", "no such op", "Load it")).attach_to(graph)
    for _ in range(2):
        assert materialize(graph, complete=False).filled == 1
        assert is_materialized(graph)
        with refuses(OpenError, "no such op"):
            materialize(graph)
    assert lazy_graph_of(graph) is not None


def test_a_hopeless_graph_has_none():
    graph = Live()
    LazyGraph(Graph.from_ops([]), None, refusal=OpenError("open('x.pb')", "it is damaged", "Write it again")).attach_to(
        graph
    )
    assert lazy_graph_of(graph).is_view_only
    with refuses(OpenError, "it is damaged"):
        materialize(graph, complete=False)
    assert not is_materialized(graph)


def test_it_is_tried_once_before_it_is_filled_and_not_before():
    graph, tried = Live(), []
    danger = OpenError("open('x.pb')", "it is dangerous", "Write it again")
    waiting = LazyGraph(Graph.from_ops([]), fill, trial=lambda shapes: (tried.append(shapes) or waiting.read, danger))
    waiting.attach_to(graph)
    assert not waiting.is_view_only
    assert not tried
    for whole in (True, False):
        with refuses(OpenError, "it is dangerous"):
            materialize(graph, whole)
    waiting.infer(graph)
    assert waiting.is_view_only
    assert waiting.inferred
    assert (tried, graph.filled) == ([False], 0)


def test_a_trial_that_succeeds_may_tell_the_shapes():
    graph, read = Live(), Graph.from_ops([("a", "Const", [])])
    waiting = LazyGraph(Graph.from_ops([]), fill, trial=lambda shapes: (read, None))
    waiting.attach_to(graph)
    assert not waiting.is_importable
    waiting.infer(graph)
    assert waiting.is_importable
    assert waiting.inferred
    assert (waiting.read, graph.filled) == (read, 0)
    assert materialize(graph).filled == 1


def test_a_trial_before_anybody_looks_leaves_the_shapes_to_this_process():
    graph = Live()
    waiting = LazyGraph(Graph.from_ops([]), fill, trial=lambda shapes: (waiting.read, None))
    waiting.attach_to(graph)
    waiting.check_importable()
    assert not waiting.inferred
    waiting.infer(graph)
    assert graph.filled == 1


def test_another_failure_is_no_refusal():
    graph, fails = Live(), [True]

    def interrupted(live):
        if fails:
            fails.clear()
            raise KeyboardInterrupt
        live.filled += 1

    LazyGraph(Graph.from_ops([]), interrupted).attach_to(graph)
    with pytest.raises(KeyboardInterrupt):
        materialize(graph)
    assert materialize(graph).filled == 1


def test_what_waits_for_nothing_is_there():
    graph = Live()
    assert lazy_graph_of(graph) is None
    assert materialize(graph) is graph
