"""Narrow boundaries near some ops: they hold them, nothing leaks, and few tensors cross."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import select
from graphsurgeon.ui.commands.boundary import cuts
from tests.cost import growth
from tests.plain import plain

#: x -> q, k, v -> qk -> soft -> av -> add (which reads x too) -> out
ATTENTION = [
    ("x", "Placeholder", []), ("in", "Neg", ["x"]), ("q", "Neg", ["in"]), ("k", "Exp", ["in"]), ("v", "Abs", ["in"]),
    ("qk", "Mul", ["q", "k"]), ("soft", "Exp", ["qk"]), ("av", "Mul", ["soft", "v"]), ("add", "Add", ["av", "in"]),
    ("out", "Neg", ["add"]), ("end", "Neg", ["out"]),
]  # fmt: skip


def _ends(graph: Graph, *names: str) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    return [(c.inputs, c.outputs) for c in cuts(graph, select(graph, name=list(names)).mask)]


def test_a_block_is_found_from_its_middle():
    graph = plain(*ATTENTION)
    assert _ends(graph, "qk") == [(("q:0", "k:0"), ("qk:0",)), (("in:0",), ("qk:0",))]
    assert _ends(graph, "qk", "av") == [
        (("q:0", "k:0", "v:0"), ("av:0",)), (("in:0", "q:0"), ("av:0",)), (("in:0",), ("av:0",)),
    ]  # fmt: skip
    # what is read beside the block, too
    assert _ends(graph, "add") == [(("av:0", "in:0"), ("add:0",)), (("in:0",), ("add:0",))]


def test_scopes_around_the_ops_are_added():
    graph = plain(
        ("x", "Placeholder", []), ("net/block/a", "Neg", ["x"]), ("net/block/b", "Exp", ["net/block/a"]),
        ("net/c", "Neg", ["net/block/b"]), ("d", "Neg", ["net/c"]),
    )  # fmt: skip
    assert _ends(graph, "net/block/b") == [
        (("net/block/a:0",), ("net/block/b:0",)), (("x:0",), ("net/block/b:0",)), (("x:0",), ("net/c:0",)),
    ]  # fmt: skip


def test_weights_gradients_and_updates_do_not_count():
    graph = plain(
        ("x", "Placeholder", []), ("w", "Const", []), ("h", "Mul", ["x", "w"]), ("y", "Tanh", ["h"]),
        ("z", "Neg", ["y"]), ("gradients/y_grad/TanhGrad", "TanhGrad", ["y", "z"]),
        ("step", "Neg", ["gradients/y_grad/TanhGrad"]),
    )  # fmt: skip
    assert _ends(graph, "h", "y") == [(("x:0",), ("y:0",))]


def test_what_hangs_on_no_feed_and_all_of_a_graph_have_none():
    graph = plain(("w", "Const", []), ("a", "Neg", ["w"]), ("x", "Placeholder", []), ("y", "Neg", ["x"]))
    assert _ends(graph, "a") == []
    assert _ends(graph, "x") == []
    assert _ends(graph, "y") == []


def test_unknown_ranks_come_last():
    f, unknown = [("float32", (2,))], [("float32", None)]
    rows = [
        ("x", "Placeholder", []),
        ("a", "Neg", ["x"]),
        ("b", "Neg", ["a"]),
        ("c", "Neg", ["b"]),
        ("d", "Neg", ["c"]),
    ]
    graph = plain(*rows, outputs={"x": f, "a": unknown, "b": f, "c": f, "d": f})
    (cut, *_) = cuts(graph, graph.mask([2]))
    assert not cut.has_known_rank


def test_the_time_grows_with_the_graph():
    def made(size: int):
        rows = [("x", "Placeholder", [])]
        for i in range(size):
            rows += [(f"a{i}", "Neg", [rows[-1][0]]), (f"b{i}", "Add", [f"a{i}", rows[-1][0]])]
        graph = plain(*rows)
        mask = graph.mask([size])
        return lambda: cuts(graph, mask)

    assert growth(made, 200, 2000) < 13


@given(st.data())
def test_each_holds_the_ops_and_nothing_leaks(data):
    feeds = data.draw(st.integers(1, 2))
    rows = [(f"x{i}", "Placeholder", []) for i in range(feeds)]
    for i in range(data.draw(st.integers(2, 14))):
        names = [name for name, *_ in rows]
        reads = data.draw(st.lists(st.sampled_from(names[-4:]), min_size=1, max_size=2))
        rows.append((f"op{i}", "Neg" if len(reads) == 1 else "Add", reads))
    graph = plain(*rows)
    wanted = data.draw(st.lists(st.sampled_from([n for n, *_ in rows[feeds:]]), min_size=1, max_size=3, unique=True))
    found = cuts(graph, select(graph, name=wanted).mask)
    assert len(found) <= 3
    assert len({(c.inputs, c.outputs) for c in found}) == len(found)
    for cut in found:
        between = select(graph, inputs=list(cut.inputs), outputs=list(cut.outputs))
        assert set(wanted) <= set(between.names), cut
        assert not between.boundary.leaks, cut
        assert set(between.boundary.inputs) == set(cut.inputs)
        assert len(between) == cut.ops
