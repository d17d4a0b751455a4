"""Walks: against a plain walk written here, and on a chain that recursion would not survive."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest

from graphsurgeon.graph import traversal
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.traversal import (
    backward,
    components,
    connected_parts,
    forward,
    shortest,
    strong_parts,
    walk_edges,
)
from tests.plain import chain


def diamond() -> Graph:
    return Graph.from_ops(
        [
            ("a", "Split", []),
            ("b", "Neg", ["a"]),
            ("c", "Neg", ["a:1"]),
            ("d", "Add", ["b", "c"]),
            ("wait", "NoOp", ["^b"]),
            ("e", "Neg", ["d", "^wait"]),
        ]
    )


def names(g: Graph, mask: np.ndarray) -> str:
    return " ".join(g.names[i] for i in np.flatnonzero(mask))


def test_backward():
    g = diamond()
    assert names(g, backward(g, g.mask([3]))) == "a b c d"
    assert names(g, backward(g, g.mask([5]))) == "a b c d wait e"
    assert names(g, backward(g, g.mask([5]), control=False)) == "a b c d e"
    assert names(g, backward(g, g.mask([]))) == ""
    assert names(g, backward(g, g.mask([1, 4]))) == "a b wait"


def test_backward_stops_at_tensors_not_at_ops():
    g = diamond()
    assert names(g, backward(g, g.mask([3]), frozenset({(0, 0)}))) == "a b c d"
    assert names(g, backward(g, g.mask([3]), frozenset({(0, 0), (0, 1)}))) == "b c d"
    assert names(g, backward(g, g.mask([5]), frozenset({(3, 0)}))) == "a b wait e"
    assert names(g, backward(g, g.mask([5]), frozenset({(3, 0)}), control=False)) == "e"


def test_forward():
    g = diamond()
    assert names(g, forward(g, g.mask([2]))) == "c d e"
    assert names(g, forward(g, g.mask([1]))) == "b d wait e"
    assert names(g, forward(g, g.mask([4]), control=False)) == "wait"
    assert names(g, forward(g, g.mask([0]), within=g.mask([0, 1, 3]))) == "a b d"
    first = np.arange(len(g.data.node)) == 0
    assert names(g, forward(g, g.mask([0]), control=False, edges=first)) == "a b"


def test_loops_end():
    g = Graph.from_ops(
        [("enter", "Enter", []), ("merge", "Merge", ["enter", "next"]), ("next", "NextIteration", ["merge"]),
         ("exit", "Exit", ["merge"])]
    )  # fmt: skip
    assert names(g, backward(g, g.mask([3]))) == "enter merge next exit"
    assert names(g, forward(g, g.mask([2]))) == "merge next exit"
    labels = components(g, g.mask([0]), g.mask([1])).tolist()
    assert labels == [0, 0, 0, 1]
    assert components(g, g.mask([1]), g.mask([1])).tolist() == [0, 1, 2, 3]


def path(graph, start, goals):
    return shortest(*walk_edges(graph, None, True, None), start, goals)


def test_the_shortest_path_goes_back_along_inputs():
    g = diamond()
    assert [g.names[i] for i in path(g, 5, g.mask([0]))] == ["e", "d", "b", "a"]
    assert [g.names[i] for i in path(g, 5, g.mask([4]))] == ["e", "wait"]
    assert path(g, 0, g.mask([5])) == []
    assert path(g, 3, g.mask([3])) == [3]


@pytest.mark.deep
def test_two_hundred_thousand_ops_in_a_row():
    g = chain(200_000)
    last = g.mask([200_000])
    assert int(backward(g, last).sum()) == 200_001
    assert int(forward(g, g.mask([0])).sum()) == 200_001
    assert int(backward(g, last, frozenset({(100_000, 0)})).sum()) == 100_000
    assert len(path(g, 200_000, g.mask([0]))) == 200_001
    assert len(set(components(g, last, g.mask([])).tolist())) == 2


@pytest.mark.parametrize("few", [0, 1000])
@pytest.mark.parametrize("seed", range(5))
def test_the_same_as_a_plain_walk(seed, few, monkeypatch):
    monkeypatch.setattr(traversal, "FEW_EDGES", few)
    monkeypatch.delitem(sys.modules, "scipy.sparse.csgraph", raising=False)
    rng = random.Random(seed)
    ops = [
        (f"n{i}", "Op", [f"{rng.choice(['', '^'])}n{rng.randrange(i)}" for _ in range(rng.randrange(4))] if i else [])
        for i in range(60)
    ]
    ops = [(name, kind, sorted(inputs, key=lambda t: t[0] == "^")) for name, kind, inputs in ops]
    g = Graph.from_ops(ops)
    for control in (True, False):
        start = rng.sample(range(60), 3)
        seen, todo = set(start), list(start)
        while todo:
            row = todo.pop()
            far = set(g.data.row(row).tolist()) | (set(g.control.row(row).tolist()) if control else set())
            todo += far - seen
            seen |= far
        assert set(np.flatnonzero(backward(g, g.mask(start), control=control)).tolist()) == seen
        downward = {i for i in range(60) if backward(g, g.mask([i]), control=control)[start].any()}
        assert set(np.flatnonzero(forward(g, g.mask(start), control=control)).tolist()) == downward


@pytest.mark.parametrize("seed", range(20))
def test_parts_are_those_of_a_plain_walk(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 40))
    row, col = rng.integers(0, size, (2, int(rng.integers(0, 2 * size)))).astype(np.int32)
    ahead = reach(size, zip(row.tolist(), col.tolist(), strict=True))
    around = reach(size, [*zip(row.tolist(), col.tolist(), strict=True), *zip(col.tolist(), row.tolist(), strict=True)])
    parts = connected_parts(row, col, size)
    assert [set(np.flatnonzero(parts == parts[i]).tolist()) for i in range(size)] == around
    assert list(dict.fromkeys(parts.tolist())) == list(range(max(parts) + 1)), "numbered by the first of each part"
    strong = strong_parts(row, col, size)
    for i in range(size):
        assert set(np.flatnonzero(strong == strong[i]).tolist()) == {j for j in ahead[i] if i in ahead[j]}
    low, high = np.minimum(row, col), np.maximum(row, col)
    assert len(set(strong_parts(low, high, size).tolist())) == len(set(strong_parts(high, low, size).tolist())) == size


def reach(size: int, edges) -> list[set[int]]:
    out = [{i} for i in range(size)]
    edges = list(edges)
    for _ in range(size):
        for a, b in edges:
            for some in out:
                if a in some:
                    some.add(b)
    return out
