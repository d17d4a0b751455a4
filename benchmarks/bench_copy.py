"""Copying a graph, from selection to live graph, against a bare `tf.import_graph_def` of the same nodes.

Ours is everything: select, plan, check, preview text, apply, variables, collections, reading back. The peer makes the
nodes alone. Both run with the garbage collector on, as people run them; once more with it off. If an interpreter
with TensorFlow 1.15 is given (`--tf115 PYTHON`), `tf.contrib.graph_editor` copies the same graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import tensorflow as tf

import graphsurgeon as gs
from benchmarks.graphs import heavy, layered, tf1
from benchmarks.peak import can_measure, peak
from benchmarks.peer import NAME, peer_seconds
from benchmarks.rows import Row, in_turns, seconds, skipped
from tests.corpus import Corpus
from tests.needs import corpus_folder

PEER = "tf.import_graph_def"
AGAIN, FIRST = 0.40, 0.45  # of the peer's time: plain ops again; with variables, real graphs, a first copy
MEMORY = 2.0  # the copy, and what is known of it: names, edges, variables
PLAIN, LADEN = 1 / 10, 1 / 100  # of the original graph editor's time: plain ops, and with variables and collections
LARGEST = 3  # the number of corpus graphs


def rows() -> Iterator[Row]:
    """Yields a row for each size, with more variables, with a large collection, and for the largest real graphs."""
    each = {}
    for size, repeat in ((1_000, 20), (10_000, 8), (100_000, 4)):
        graph = layered(size)
        for resting in (False, True):
            ours, theirs = _measured(graph, repeat, resting)
            word = ", collector resting" if resting else ""
            yield Row(f"copy {size:,} ops{word}", ours, theirs, AGAIN, PEER)
            if not resting and size == 10_000:
                yield from _original(graph, f"copy {size:,} ops", ours, 3, PLAIN)
            if not resting:
                each[size] = 1e6 * ours / len(graph.get_operations())
        if size == 10_000:
            source = gs.open(graph)
            yield Row("preview of a 10,000-op copy", seconds(partial(_preview, source)), ours, 0.1, "the copy")
            first = min(seconds(partial(copy, opened(graph)), 1, resting=False) for _ in range(repeat))
            yield Row("first copy of a 10,000-op graph just opened", first, theirs, FIRST, PEER)
    # A step that takes the square of the ops would make it 10.
    yield Row("time per op, 100,000 ops", each[100_000], each[10_000], 2.0, "10,000 ops", "us")
    for size, repeat, variables, kept in ((10_000, 8, 0, 8_000), (10_000, 8, 1_000, 0), (100_000, 3, 1_000, 8_000)):
        graph = layered(size, variables=variables or None, kept=kept)
        held = [f"{variables:,} variables"] * bool(variables) + [f"a collection of {kept:,} tensors"] * bool(kept)
        ours, theirs = _measured(graph, repeat)
        what = f"copy {len(graph.get_operations()):,} ops, {', '.join(held)}"
        yield Row(what, ours, theirs, FIRST, PEER)
        if size == 10_000:
            yield from _original(graph, what, ours, 1, LADEN if kept else PLAIN)
    yield from _corpus()
    yield from _memory()


def _original(graph: Any, what: str, ours: float, repeat: int, target: float) -> Iterator[Row]:
    theirs = peer_seconds(graph, repeat, what)
    if theirs is not None:
        yield Row(what, ours, theirs, target, NAME)


def _memory() -> Iterator[Row]:
    if not can_measure():
        skipped("peak memory", "this system does not tell a process its peak")
        return
    for name, what, size in (("100,000 ops", "layered", 100_000), ("20 constants of 25 MB", "heavy", 20)):
        ours, theirs = (peak(__name__, "copying", who, what, size) for who in ("ours", "theirs"))
        yield Row(f"peak memory, copy of {name}", ours, theirs, MEMORY, PEER, "MB")


def copying(who: str, what: str, size: int) -> Callable[[], Any]:
    """Returns the copy whose peak is measured: `size` ops in layers, or `size` constants of 25 MB."""
    make: dict[str, Any] = {"layered": layered, "heavy": partial(heavy, megabytes=25)}
    graph = make[what](size)
    return partial(copy, opened(graph)) if who == "ours" else partial(bare, graph.as_graph_def())


def _corpus() -> Iterator[Row]:
    folder = corpus_folder()
    if not folder:
        skipped("the largest real graphs", "no corpus next to the checkout")
        return
    corpus = Corpus(folder)
    for id in corpus.ids(lambda item: item["n_ops"] is not None)[-LARGEST:]:
        graph = gs.open(corpus.path(id)).graph
        ours, theirs = _measured(graph, 3, output=None)
        yield Row(f"copy {id}, {len(graph.get_operations()):,} ops", ours, theirs, FIRST, PEER)


def _measured(graph: Any, repeat: int, resting: bool = False, output: str | None = "out:0") -> tuple[float, float]:
    source, graph_def = opened(graph), graph.as_graph_def()
    copy(source, output)  # a separate row has the first copy, which reads the graph
    return in_turns(partial(copy, source, output), partial(bare, graph_def), repeat, resting)


def opened(graph: Any) -> Any:
    source = gs.open(graph)
    source.select()  # the snapshot is read when a graph is opened
    return source


def bare(graph_def: Any) -> None:
    with tf.Graph().as_default():
        tf1.import_graph_def(graph_def, name="copy")


def _plan(source: Any, output: str | None = "out:0") -> Any:
    block = source.select(outputs=[output]) if output else source.select()
    destination = gs.open(tf.Graph())
    return destination, destination.plan().copy(block, to="copy")


def _preview(source: Any) -> None:
    str(_plan(source)[1])


def copy(source: Any, output: str | None = "out:0") -> None:
    destination, plan = _plan(source, output)
    assert not plan.check()
    str(plan.preview())
    destination.apply(plan)
