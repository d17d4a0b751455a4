"""Trace: looked up, listed, kept in a file; what has no numbers says why."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from graphsurgeon.errors import OpenError, PlanError, SelectionError
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.tensor_stats import OpCost, TensorStats
from graphsurgeon.graph.trace import Trace
from tests.refusal import refuses


def held(name: str, mean: float, rounds: tuple[int, ...] = (), nans: int = 0) -> TensorStats:
    numbers = np.array([1, 4, nans, 0, 0, 1, 3, 0, 0.0, 2 * mean, mean, 0.25, 1, 1, 4.0])
    return TensorStats(name, rounds, numbers, np.array([mean], np.float32), "float32")


@pytest.fixture
def trace() -> Trace:
    graph = Graph.from_ops([("x", "Placeholder", []), ("h", "VarHandleOp", []),
                            ("y", "Neg", ["x"]), ("z", "Identity", ["y"]),
                      ("w", "Identity", ["z"]), ("off", "Exp", ["x"])], title="net")  # fmt: skip
    costs = {"y": OpCost("y", 2e-6, 64, 1, "CPU:0"), "x": OpCost("x", 0.0, 0, 1, "CPU:0")}
    same = {"z:0": "y:0", "w:0": "z:0"}
    notes = (held("x:0", 1.0), held("y:0", 2.0))
    return Trace(graph, notes, costs, {"w:0": np.ones(2)}, {"x:0": np.zeros(2)}, same, "", {"h:0": "it is a handle"})


def test_a_tensor_that_is_handed_on_has_the_numbers_of_where_it_comes_from(trace):
    assert trace["w:0"].tensor == "y:0"
    assert "w:0" in trace
    assert trace["w"].mean == 2.0


def test_what_has_no_numbers_says_why(trace):
    with refuses(SelectionError, "trace['h:0']", "it is a handle", "2 tensors have numbers"):
        trace["h:0"]
    with refuses(SelectionError, "trace['off:0']", "did not run in this run"):
        trace["off:0"]
    with refuses(SelectionError, "trace['nope:0']", "there is no tensor 'nope:0'"):
        trace["nope:0"]
    with refuses(SelectionError, "trace.cost('off')", "'off' did not run"):
        trace.cost("off")


def test_the_table_is_sorted_and_says_what_it_leaves_out(trace):
    lines = trace.table(by="mean", limit=1).splitlines()
    assert lines[1].startswith("y:0")
    assert lines[-1] == "… and 1 more tensor"
    with refuses(SelectionError, "trace.table(by='secs')", "there is no column 'secs'", "seconds"):
        trace.table(by="secs")
    with refuses(SelectionError, "trace.table(by='shape')", "no column 'shape' to sort by"):
        trace.table(by="shape")


def test_the_table_shows_the_columns_that_are_asked_for(trace):
    assert trace.table(columns=["shape", "zeros", "bytes"]).splitlines() == [
        "tensor  shape  zeros    memory",
        "x:0     (4)     25 %   0 bytes",
        "y:0     (4)     25 %  64 bytes",
    ]
    assert trace.table(columns="device").splitlines()[0].split() == ["tensor", "device"]
    assert trace.table(columns=trace.rows()[0].keys() - {"tensor"}).count("\n") == 2
    with refuses(SelectionError, "trace.table(columns='shpe')", "there is no column 'shpe'", "shape"):
        trace.table(columns=["zeros", "shpe"])


def test_what_an_op_reads_stands_before_what_it_gives():
    graph = Graph.from_ops([("y", "Split", ["x"]), ("x", "Placeholder", []), ("z", "Neg", ["y:1"])])
    notes = [held(name, 1.0) for name in ("z:0", "y:1", "y:0", "x:0")]  # as several threads may note them
    reported = [row["tensor"] for row in Trace(graph, tuple(notes)).rows()]
    assert reported == ["x:0", "y:0", "y:1", "z:0"]


def test_a_column_is_asked_for_by_its_head_too(trace):
    assert trace.table(by="us", columns=["us", "memory"]) == trace.table(by="seconds", columns=["seconds", "bytes"])
    assert trace.table(columns="memory") == trace.table(columns=["bytes"])
    with refuses(SelectionError, "trace.table(columns='q')", "no column 'q'", "Choose from 'dtype', 'shape', 'min'"):
        trace.table(columns=["q"])


def test_what_is_no_trace_is_not_compared(trace):
    for compare in (trace.first_difference, trace.differences):
        problem = f"trace.{compare.__name__}(other): an object of type dict is not a trace"
        with refuses(SelectionError, problem, "Run it first: ed.trace(feeds)"):
            compare({})
    for tolerance in (-1, "small", True, float("nan")):
        with refuses(PlanError, f"(tolerance={tolerance!r})", "not a fraction of the largest value", "tolerance=1e-5"):
            trace.first_difference(trace, tolerance)


def test_an_op_that_the_run_has_added_is_named_where_no_other_differs():
    graph = Graph.from_ops([("x", "Placeholder", []), ("ours", "Neg", ["x"]), ("y", "Exp", ["ours"])])

    def run(y: float) -> Trace:
        notes = (held("x:0", 1.0), held("ours:0", y), held("y:0", y))
        return Trace(graph, notes, added_ops=frozenset({"ours"}))

    assert run(2.0).first_difference(run(3.0)).op == "y"
    alone = [Trace(graph, (held("ours:0", y),), added_ops=frozenset({"ours"})) for y in (2.0, 3.0)]
    assert alone[0].first_difference(alone[1]).op == "ours"


def test_numbers_for_a_picture(trace):
    assert trace.numbers() == {"y": 0.002, "x": 0.0}
    assert trace.numbers("bytes") == {"y": 64.0, "x": 0.0}
    assert trace.numbers("magnitude") == {"x": 2.0, "y": 4.0}
    assert trace.numbers("zeros") == {"x": 25.0, "y": 25.0}
    assert trace.numbers("not finite") == {"x": 0.0, "y": 0.0}
    with refuses(SelectionError, "trace.numbers('heat')", "'ms', 'bytes', 'magnitude'"):
        trace.numbers("heat")


def test_a_frame_needs_pandas(trace, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with refuses(SelectionError, "trace.to_frame()", "pandas is not installed", "trace.rows()"):
        trace.to_frame()


def test_it_is_kept_in_a_file(trace, tmp_path):
    trace.save(tmp_path / "a.npz")
    again = Trace.load(tmp_path / "a.npz")
    assert (again.rows(), again.unrecorded, again.aliases) == (trace.rows(), trace.unrecorded, trace.aliases)
    assert [path.name for path in tmp_path.iterdir()] == ["a.npz"]
    trace.save(tmp_path / "new" / "folder" / "a.npz")
    assert Trace.load(tmp_path / "new" / "folder" / "a.npz").rows() == trace.rows()
    with refuses(OpenError, "Trace.load(", "there is no such file", "trace.save(path)"):
        Trace.load(tmp_path / "b.npz")
    (tmp_path / "c.npz").write_bytes(b"not an archive")
    with refuses(OpenError, "it is not a trace", "trace.save(path)"):
        Trace.load(tmp_path / "c.npz")
    np.savez(tmp_path / "d.npz", other=np.ones(2))
    with refuses(OpenError, "it is not a trace"):
        Trace.load(tmp_path / "d.npz")
