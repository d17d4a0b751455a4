"""First bad: the op whose inputs are finite and whose output is not, whatever stands behind it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.tensor_stats import TensorStats, first_bad


def held(name: str, nans: int = 0, infinite: int = 0, rounds: tuple[int, ...] = ()) -> TensorStats:
    return TensorStats(
        name, rounds, np.array([1, 2, nans, infinite, 0, 1, 1, 0, 0, 0, 0, 0, 1, 1, 2.0]), np.zeros(0), "float32"
    )


@given(st.integers(2, 60), st.data())
def test_in_any_graph_it_is_where_the_nan_was_put(size, data):
    rows, reads = [], []
    for k in range(size):
        before = data.draw(st.lists(st.integers(0, k - 1), max_size=3, unique=True)) if k else []
        rows.append((f"op{k}", "Add" if before else "Placeholder", [f"op{one}" for one in before]))
        reads.append(before)
    fault = data.draw(st.integers(0, size - 1))
    bad = {fault}
    for k in range(fault + 1, size):
        if bad & set(reads[k]):
            bad.add(k)
    notes = {f"op{k}:0": [held(f"op{k}:0", nans=int(k in bad))] for k in range(size)}
    found = first_bad(Graph.from_ops(rows), notes)
    assert found is not None
    assert found.op == f"op{fault}"
    assert not any(note.bad for note in found.inputs)
    assert found.source == ("" if reads[fault] else "feed")
    assert found.path[0] == f"op{fault}"


def test_an_infinity_that_turns_into_a_nan_is_the_cause_and_one_beside_it_is_not():
    graph = Graph.from_ops(
        [("x", "Placeholder", []), ("mask", "Log", ["x"]), ("big", "Exp", ["x"]), ("y", "Sub", ["big", "big"])]
    )
    notes = {
        "x:0": [held("x:0")],
        "mask:0": [held("mask:0", infinite=1)],
        "big:0": [held("big:0", infinite=1)],
        "y:0": [held("y:0", nans=1)],
    }
    found = first_bad(graph, notes)
    assert (found.op, found.first_nan.tensor, found.path) == ("big", "y:0", ("big", "x"))


def test_the_way_back_passes_over_what_is_not_told():
    graph = Graph.from_ops([("x", "Placeholder", []), ("in", "Enter", ["x"]), ("y", "Log", ["in"])])
    notes = {"x:0": [held("x:0")], "in:0": [held("in:0")], "y:0": [held("y:0", infinite=1)]}
    assert first_bad(graph, notes, skipped={"in"}).path == ("y", "x")


def test_in_a_loop_it_is_the_first_round_and_what_comes_back_is_no_cause():
    rows = [
        ("x", "Placeholder", []),
        ("in", "Enter", ["x"]),
        ("m", "Merge", ["in", "n"]),
        ("c", "LoopCond", ["m"]),
        ("s", "Switch", ["m", "c"]),
        ("ln", "Log", ["s:1"]),
        ("n", "NextIteration", ["ln"]),
        ("out", "Exit", ["s"]),
    ]
    graph = Graph.from_ops(rows)
    rounds = [(k,) for k in range(4)]
    notes = {
        "x:0": [held("x:0")],
        "in:0": [held("in:0", rounds=(0,))],
        "m:0": [held("m:0", nans=int(k > 2), rounds=(k,)) for (k,) in rounds],
        "s:1": [held("s:1", nans=int(k > 2), rounds=(k,)) for (k,) in rounds],
        "ln:0": [held("ln:0", nans=int(k > 1), rounds=(k,)) for (k,) in rounds],
        "n:0": [held("n:0", nans=int(k > 2), rounds=(k,)) for (k,) in rounds[1:]],
        "out:0": [held("out:0", nans=1)],
    }
    found = first_bad(graph, notes)
    assert (found.op, found.rounds) == ("ln", (2,))


def test_where_all_is_finite_there_is_none():
    assert first_bad(Graph.from_ops([("x", "Placeholder", [])]), {"x:0": [held("x:0")]}) is None
