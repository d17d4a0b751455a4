"""Snapshots with other edges: what each op reads and waits for, and the cycles that new edges close."""

from __future__ import annotations

import numpy as np
import pytest

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.rewiring import graph_without_ops, ops_on_new_cycles, rewire_inputs, set_control_inputs
from tests.plain import plain


def ladder() -> Graph:
    """A -> b -> c -> d; d waits for a and b."""
    kinds = {name: [("float32", (number,))] for number, name in enumerate("abcd")}
    return plain(("a", "Const", []), ("b", "Neg", ["a"]), ("c", "Neg", ["b"]), ("d", "Add", ["c", "a", "^a", "^b"]),
                 outputs=kinds)  # fmt: skip


def reads(graph: Graph) -> dict[str, list[str]]:
    return {n: [*graph.input_names(i), *("^" + c for c in graph.control_names(i))] for n, i in graph.index.items()}


def test_inputs_and_waits_are_set_and_the_first_snapshot_stays_as_it_was():
    graph = ladder()
    before = reads(graph)
    changed = reads(rewire_inputs(graph, [(3, 1, (1, 0)), (2, 0, (0, 0))]))
    assert changed == {**before, "c": ["a:0"], "d": ["c:0", "b:0", "^a", "^b"]}
    ordered = reads(set_control_inputs(graph, {3: [1], 2: [0, 1]}))
    assert ordered == {**before, "c": ["b:0", "^a", "^b"], "d": ["c:0", "a:0", "^b"]}
    assert reads(graph) == before


def test_ops_are_cut_out_with_what_is_known_of_the_others():
    graph = rewire_inputs(set_control_inputs(ladder(), {3: [0]}), [(2, 0, (0, 0))])
    less = graph_without_ops(graph, [1])
    assert reads(less) == {"a": [], "c": ["a:0"], "d": ["c:0", "a:0", "^a"]}
    assert [str(less.info(i, 0)) for i in range(3)] == ["float32 (0,)", "float32 (2,)", "float32 (3,)"]


@pytest.mark.parametrize("seed", range(4))
def test_edges_close_the_cycles_that_are_there(seed):
    rng = np.random.default_rng(seed)
    size = 12
    edges = [(int(rng.integers(size)), int(rng.integers(size))) for _ in range(14)]
    graph = Graph.from_ops([(f"n{i}", "NoOp", [f"^n{b}" for a, b in edges if a == i]) for i in range(size)])
    above = np.eye(size, dtype=np.int64)
    step = np.zeros((size, size), np.int64)
    step[tuple(np.array(edges).T)] = 1
    for _ in range(size):
        above = np.minimum(above + above @ step, 1)
    closing = [(a, b) for a, b in edges if above[b, a]]
    wanted = {i for a, b in closing for i in range(size) if above[b, i] and above[i, a]}
    assert set(np.flatnonzero(ops_on_new_cycles(graph, edges)).tolist()) == wanted
    for edge in edges:  # of one edge alone, its two ends are named
        found = set(np.flatnonzero(ops_on_new_cycles(graph, [edge])).tolist())
        assert found == (set(edge) if edge in closing else set())
