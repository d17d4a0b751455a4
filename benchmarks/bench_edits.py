"""Edits and patterns on 100,000 ops: working out a plan against one NumPy pass over the edges, carrying it out against
a bare `tf.import_graph_def` of the same graph.

A plan is made, checked and previewed. A pattern is found in all its places; a replacement is everything: match, build,
check, preview, apply, read back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial, reduce
from typing import Any

import numpy as np
import tensorflow as tf

import graphsurgeon as gs
from benchmarks.bench_walks import SIZE, mesh
from benchmarks.graphs import tf1
from benchmarks.rows import Row, in_turns, seconds
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.plan import Plan

IMPORT, PASS = "tf.import_graph_def", "one pass over the edges"


def rows() -> Iterator[Row]:
    """Yields a row for each kind of edit, for patterns of some sizes, and for a replacement at three sizes."""
    yield from _plans(mesh(SIZE))
    yield from _steps()
    yield from _large_steps()
    graph = blocks(SIZE, 2_000)
    yield from _applied(graph)
    yield from _patterns(graph)
    each = {}
    for size, matches, repeat in ((10_000, 200, 3), (50_000, 1_000, 2), (SIZE, 2_000, 2)):
        made = graph if size == SIZE else blocks(size, matches)
        ours, theirs = _against_import(made, _replace, repeat)
        each[size] = 1e6 * ours / size
        yield Row(f"replace {matches:,} matches in {size:,} ops", ours, theirs, 1.3, IMPORT)
    # A step that takes the square of the ops, or of the matches, would make it 10.
    yield Row("replace: time per op, 100,000 ops", each[SIZE], each[10_000], 2.0, "10,000 ops", "us")


def _plans(graph: Graph) -> Iterator[Row]:
    one_pass = seconds(lambda: np.bincount(graph.data.node, weights=graph.data.rows, minlength=graph.size))
    middle, last = graph.size // 2, graph.size - 1
    # What is removed, or made again, is listed name by name: that is not a walk.
    edits: dict[str, tuple[Callable[[Plan], Plan], float]] = {
        "reroute": (lambda plan: plan.reroute(f"op{middle}:0", to="op5:0"), 10),
        "connect": (lambda plan: plan.connect("op5:0", to=f"op{middle}", input=1), 10),
        "remove": (lambda plan: plan.remove([f"op{last - i}" for i in range(100)]), 100),
    }
    for name, (edit, most) in edits.items():
        ours = seconds(lambda edit=edit: edit(Plan(graph)).check())  # type: ignore[misc]
        yield Row(f"plan and check a {name}, 100,000 ops", ours, one_pass, most, PASS)
        yield Row(f"plan and check a {name}, 100,000 ops, absolute", ours, None, 0.05)
    ours = seconds(lambda: Plan(graph).reroute(f"op{middle}:0", to="op5:0").on_copies(scope="new").check(), 2)
    yield Row("plan and check a forward slice of 50,000 ops", ours, None, 0.5)


def _steps() -> Iterator[Row]:
    """Plans of many steps, each with everything: plan, check, preview, text, code, apply, undo."""
    steps: dict[str, Callable[[Plan, int], Plan]] = {
        "insert": lambda plan, k: plan.insert("Identity", on=f"b0/n{k}:0", name=f"new{k}"),
        "connect": lambda plan, k: plan.connect("x:0", to=f"b0/n{k}"),
        "reroute": lambda plan, k: plan.reroute(f"b0/n{k}:0", to="x:0"),
        "rename": lambda plan, k: plan.rename(f"b0/n{k}", to=f"other{k}"),
        "set_attr": lambda plan, k: plan.set_attr(f"b0/n{k}", "_mark", k),
        "remove": lambda plan, k: plan.remove(f"b0/n{k}", stitch=True),
        "copy": lambda plan, k: plan.copy(select(plan.base, name=f"b0/n{k}"), to=f"copy{k}", unmapped="keep"),
        "control": lambda plan, k: plan.add_control(f"b0/n{k}", after="x"),
        "control of one op": lambda plan, k: plan.add_control("last", after=f"b0/n{k}"),
        "bypass": lambda plan, k: plan.bypass(f"b0/n{k}"),
        "detach": lambda plan, k: plan.detach(f"b0/n{k}", side="outputs"),
        "connect to one op": lambda plan, k: plan.connect("x:0", to="sum", input=k),
        "insert at one op": lambda plan, k: plan.insert("Neg", on=f"wide/n{k}:0", name=f"new{k}"),
    }
    each = list(steps.values())
    steps["mixed"] = lambda plan, k: each[(0, 3, 6, 7, 4)[k % 5]](plan, k)
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [8], name="x")
        for k in range(2_100):
            x = tf.negative(x, name=f"b0/n{k}")
        tf.add_n([tf.negative(x, name=f"wide/n{k}") for k in range(2_100)], name="sum")
        tf.no_op("last")
    for name, step in steps.items():
        few, many = (_seconds_for(graph, step, count) for count in (200, 2_000))
        yield Row(f"2,000 steps of one plan: {name}", many, few, 10, "200 steps")


def _large_steps() -> Iterator[Row]:
    """One step on 1,000 and on 8,000 ops, with everything; 8 times the work may take 10 times the time."""

    def names(scope: str, end: str = "") -> Callable[[int], list[str]]:
        return lambda n: [f"{scope}/n{k}{end}" for k in range(n)]

    ops, above, between = names("b"), names("a"), names("a", ":0")
    steps: dict[str, Callable[[int, Plan], Plan]] = {
        "copy": lambda n, plan: plan.copy(select(plan.base, scope="b"), to="c", unmapped="keep"),
        "connect": lambda n, plan: plan.connect(["x:0"] * n, to=ops(n)),
        "reroute": lambda n, plan: plan.reroute(dict.fromkeys(between(n), "x:0")),
        "swap": lambda n, plan: plan.swap({f"a/n{k}:0": f"a/n{k + 1}:0" for k in range(0, n - 1, 2)}),
        "detach": lambda n, plan: plan.detach(ops(n)),
        "insert": lambda n, plan: plan.insert("Neg", on=between(n), name="new"),
        "insert at one op": lambda n, plan: plan.insert("Neg", on=names("wide", ":0")(n), name="new"),
        "detach at one op": lambda n, plan: plan.detach(names("wide")(n), side="outputs"),
        "bypass": lambda n, plan: plan.bypass(above(n)),
        "bypass at one op": lambda n, plan: plan.bypass(names("wide")(n)),
        "remove": lambda n, plan: plan.remove(ops(n)),
        "remove and stitch": lambda n, plan: plan.remove(above(n), stitch=True),
        "set_attr": lambda n, plan: plan.set_attr(ops(n), "_mark", 3),
        "set_device": lambda n, plan: plan.set_device(ops(n), "/cpu:0"),
        "add_control": lambda n, plan: plan.add_control("last", after=ops(n)),
        "remove_control": lambda n, plan: plan.remove_control("all"),
        "reroute_control": lambda n, plan: plan.reroute_control("first", to="last"),
        "rename": lambda n, plan: plan.rename(dict(zip(ops(n), names("z")(n), strict=True))),
        "replace": lambda n, plan: plan.replace(tf.exp, tf.sinh),
        "collapse": lambda n, plan: plan.collapse(ops(n), name="block"),
        "inline": lambda n, plan: plan.inline(names("call")(n)),
        "resolve_condition": lambda n, plan: plan.resolve_condition("flag", True),
        "on_copies": lambda n, plan: plan.reroute("x:0", to="other:0").on_copies(scope="slice"),
    }
    graphs = {n: _many(n) for n in (1_000, 8_000)}
    for name, step in steps.items():
        few, most = (seconds(partial(_done, gs.open(graph), partial(step, n)), 1) for n, graph in graphs.items())
        yield Row(f"{name} on 8,000 ops in one step", most, few, 10, "1,000 ops")


def _many(n: int) -> Any:
    """Returns a graph with n ops of each kind that `_large_steps` needs."""
    called = tf.function(lambda x: tf.cos(x) + 1.0).get_concrete_function(tf.TensorSpec([8]))
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [8], name="x")
        flag = tf1.placeholder(tf.bool, [], name="flag")
        tf1.placeholder(tf.float32, [8], name="other")
        first = tf.no_op("first")
        tf.no_op("last")
        called.add_to_graph(graph)
        for k in range(n):
            tf.exp(tf.negative(x, name=f"a/n{k}"), name=f"b/n{k}")
            tf.raw_ops.PartitionedCall(args=[x], Tout=[tf.float32], f=called, name=f"call/n{k}")
            no, yes = tf.raw_ops.Switch(data=x, pred=flag)
            tf.raw_ops.Merge(inputs=[tf.sin(no), tf.cos(yes)])
            with tf.control_dependencies([first]):
                tf.identity(x, name=f"after/n{k}")
        tf.add_n([tf.negative(x, name=f"wide/n{k}") for k in range(n)], name="sum")
        with tf.control_dependencies([tf.identity(x, name=f"before/n{k}") for k in range(n)]):
            tf.no_op("all")
    return graph


def _seconds_for(graph: Any, step: Callable[[Plan, int], Plan], count: int) -> float:
    def all_of_it() -> None:
        _done(gs.open(fresh.pop()), lambda plan: reduce(step, range(count), plan))

    definition, fresh = graph.as_graph_def(), []
    for _ in range(2):
        fresh.append(tf.Graph())
        with fresh[-1].as_default():
            tf1.import_graph_def(definition, name="")
    return seconds(all_of_it, 2)


def _done(ed: Any, edit: Callable[[Plan], Plan]) -> None:
    plan = edit(ed.plan())
    assert not plan.check(), plan.check()[0]
    str(plan.preview())
    plan.preview().table()
    plan.to_code()
    ed.apply(plan)
    ed.undo()


def _applied(graph: Any) -> Iterator[Row]:
    edits: dict[str, Callable[[Plan], Plan]] = {
        "reroute": lambda plan: plan.reroute("x:0", to="other:0"),
        "remove and stitch": lambda plan: plan.remove("b0/l0/swish", stitch=True),
        "connect": lambda plan: plan.connect("other:0", to="b0/l0/gate"),
        "reroute and forward": lambda plan: plan.reroute("x:0", to="other:0").on_copies(scope="new"),
    }
    for name, edit in edits.items():
        ours, theirs = _against_import(graph, partial(_apply, edit=edit), 2)
        yield Row(f"{name}, applied, 100,000 ops", ours, theirs, 1.0, IMPORT)


def _patterns(graph: Any) -> Iterator[Row]:
    ed = gs.open(graph)
    assert len(ed.match(swish)) == 2_000
    theirs = seconds(partial(_bare, graph.as_graph_def()), 1)
    for count in (2, 5, 10, 20):
        pattern = partial(chain, count=count)
        ours = seconds(lambda pattern=pattern: ed.match(lambda x: pattern(x)), 2)  # type: ignore[misc]
        yield Row(f"match a pattern of {count} ops, 100,000 ops", ours, theirs, 0.2, IMPORT)


def _against_import(graph: Any, call: Callable[[Any], None], repeat: int) -> tuple[float, float]:
    definition = graph.as_graph_def()
    opened = []
    for _ in range(repeat):  # an edit of a live graph leaves it larger: each run gets its own
        with tf.Graph().as_default() as fresh:
            tf1.import_graph_def(definition, name="")
        opened.append(gs.open(fresh))
        opened[-1].select()  # the snapshot is read when a graph is opened
    return in_turns(lambda: call(opened.pop()), partial(_bare, definition), repeat)


def _apply(ed: Any, edit: Callable[[Plan], Plan]) -> None:
    plan = edit(ed.plan())
    assert not plan.check(), plan.check()[0]
    str(plan.preview())
    ed.apply(plan)


def _replace(ed: Any) -> None:
    _apply(ed, lambda plan: plan.replace(swish, hard))


def _bare(definition: Any) -> None:
    with tf.Graph().as_default():
        tf1.import_graph_def(definition, name="")


def swish(x: Any) -> Any:
    """Returns x * sigmoid(x): what is replaced."""
    return x * tf.sigmoid(x)


def hard(x: Any) -> Any:
    """Returns what replaces it."""
    return x * tf.nn.relu6(x + 3.0) / 6.0


def chain(x: Any, count: int) -> Any:
    """Returns the swish of a block and the ops after it: a pattern of `count` ops."""
    h = swish(x)
    for _ in range(count - 2):
        h = tf.abs(h)
    return h


def blocks(size: int, matches: int) -> Any:
    """Returns a `tf.Graph` of about `size` ops with so many swishes in a row, and other ops after each."""
    graph = tf.Graph()
    with graph.as_default():
        tf1.placeholder(tf.float32, [None, 8], name="other")
        h = tf1.placeholder(tf.float32, [None, 8], name="x")
        for i in range(matches):
            with tf1.name_scope(f"b{i // 50}/l{i}"):
                h = tf.multiply(tf.sigmoid(h, name="gate"), h, name="swish")
                for _ in range(size // matches - 2):
                    h = tf.abs(h)
        tf.identity(h, name="out")
    return graph
