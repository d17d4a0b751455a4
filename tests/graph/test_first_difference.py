"""First difference: the first op, in the order of computing, that gives something else in another run."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.tensor_stats import TensorStats, summarize
from graphsurgeon.graph.trace import difference, first_difference


def held(name: str, values: object, rounds: tuple[int, ...] = ()) -> TensorStats:
    note = summarize(name, np.asarray(values, np.float32), "float32")
    return TensorStats(name, rounds, note.numbers, note.sample, note.dtype)


@given(st.integers(2, 40), st.data())
def test_in_any_graph_it_is_where_the_runs_part(size, data):
    rows, reads = [], []
    for k in range(size):
        before = data.draw(st.lists(st.integers(0, k - 1), max_size=3, unique=True)) if k else []
        rows.append((f"op{k}", "Add" if before else "Placeholder", [f"op{one}" for one in before]))
        reads.append(before)
    changed = data.draw(st.integers(0, size - 1))
    other = {changed}
    for k in range(changed + 1, size):
        if other & set(reads[k]):
            other.add(k)
    shuffled = data.draw(st.permutations(rows))
    ours = {f"op{k}:0": [held(f"op{k}:0", [1.0, k])] for k in range(size)}
    theirs = {f"op{k}:0": [held(f"op{k}:0", [1.0, k + 10.0 * (k in other)])] for k in range(size)}
    found = first_difference(Graph.from_ops(shuffled), ours, theirs, {}, 1e-5)
    assert found is not None
    assert found.op == f"op{changed}"
    assert found.tensors == len(other)
    assert first_difference(Graph.from_ops(shuffled), ours, ours, {}, 0.0) is None


def test_names_may_differ_and_what_only_one_run_has_is_left_out():
    graph = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"])])
    ours = {"x:0": [held("x:0", [1.0])], "y:0": [held("y:0", [2.0])]}
    found = first_difference(graph, ours, {"copy/y:0": [held("copy/y:0", [3.0])]}, {"y:0": "copy/y:0"}, 1e-5)
    assert (found.op, found.other_stats.tensor, found.difference) == ("y", "copy/y:0", 0.5)
    assert "instead of  copy/y:0" in repr(found)
    assert "they differ by 0.5; in total, 1 tensor differs" in repr(found)


def test_in_a_loop_it_is_the_first_round():
    graph = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"])])
    ours = {"y:0": [held("y:0", [1.0], (k,)) for k in range(3)]}
    theirs = {"y:0": [held("y:0", [1.0 + (k > 0)], (k,)) for k in range(3)]}
    assert first_difference(graph, ours, theirs, {}, 1e-5).stats.rounds == (1,)


def test_how_far_two_tensors_are_apart():
    assert difference(held("a", [1.0, 2.0]), held("b", [1.0, 2.0])) == 0.0
    assert difference(held("a", [1.0, 2.0]), held("b", [[1.0, 2.0]])) == math.inf
    assert difference(held("a", [1.0, np.nan]), held("b", [1.0, 2.0])) == math.inf
    assert difference(held("a", [np.nan, 4.0]), held("b", [np.nan, 5.0])) == 0.25
    assert difference(held("a", [0.0]), held("b", [0.5])) == 0.5
