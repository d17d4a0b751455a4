"""Effects: the outcome of all steps is reported, not each of them."""

from __future__ import annotations

import threading

import pytest

from graphsurgeon.graph.graph import TensorInfo
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.backend import Backend
from graphsurgeon.plan.fault import Fault
from graphsurgeon.plan.plan import Plan
from graphsurgeon.plan.plan_result import InferenceResult
from tests.plain import plain


def test_of_several_steps_on_one_input_the_outcome_is_told():
    g = plain(("a", "Const", []), ("b", "Const", []), ("y", "Neg", ["a"]), ("z", "Exp", ["b"]))
    plan = Plan(g).swap("a:0", "b:0").swap("a:0", "b:0")
    assert plan.check() == ()
    assert list(plan.effect.connections) == []
    assert plan.preview().marks == {}
    assert "because existing ops were rewired and restored" in str(plan)
    twice = Plan(g).insert("Neg", on="a:0", name="in").reroute("in:0", to="b:0")
    assert {c.previous for c in twice.effect.connections if c.to in g.index} == {"a:0"}
    assert "(was in:0)" not in str(twice)


def test_control_inputs_that_go_with_a_removed_op_are_told_as_changes():
    g = plain(("a", "Const", []), ("first", "NoOp", []), ("end", "NoOp", ["^first", "^a"]), ("last", "NoOp", ["^end"]))
    plan = Plan(g).remove("first")
    assert plan.check() == ()
    preview = plan.preview()
    assert preview.counts["changed"] == 1
    assert {plan.after().names[i]: mark for i, mark in preview.marks.items()} == {"end": "changed"}
    assert "end: no longer after first" in str(plan)
    assert [row["name"] for row in preview.table() if row["kind"] == "change"] == ["end"]


@pytest.mark.parametrize("others", [(), ("c",), ("new",)])
def test_a_removal_with_a_fault_tells_of_no_change(others):
    g = plain(
        ("a", "Const", []), ("b", "Const", []), ("c", "Neg", ["a:0"]), ("d", "Identity", ["c:0", "^b"]),
        ("f", "Identity", ["c:0", "^d"]),
    )  # fmt: skip
    plan = Plan(g)
    if "new" in others:
        plan = plan.insert("Neg", on="f:0", name="new")
    plan = plan.remove(["a", *(name for name in others if name != "new")])
    assert len(plan.check()) == 1
    assert plan.effect.implied_control_changes == {}
    assert "changes" not in str(plan).splitlines()
    assert plan.preview().counts["changed"] == 0


class Waiting(Backend):
    """Infers shapes only after `go`; reads them all meanwhile, as TensorFlow's shape inference does."""

    def __init__(self):
        self.started, self.go, self.read = threading.Event(), threading.Event(), []

    def infer_shapes(self, effect):
        after = effect.after
        self.started.set()
        self.read.append([after.outputs(i) for i in range(after.size)])
        self.go.wait()
        longer = {after.index["copy/y"]: [TensorInfo("float32", (7,))]}
        return InferenceResult(
            (Fault("copy", "a fault that only shape inference finds", "Choose another"),), longer, longer
        )


def _in_threads(*calls):
    """Starts each call in a thread of its own; returns their results, which are complete after the function."""
    found = [None] * len(calls)

    def run(at, call):
        found[at] = call()

    threads = [threading.Thread(target=run, args=(at, call), daemon=True) for at, call in enumerate(calls)]
    for thread in threads:
        thread.start()
    return found, lambda: [thread.join() for thread in threads]


def test_threads_that_read_faults_and_shapes_wait_for_the_thread_that_infers_them():
    wide = [("float32", (None,))]
    g = plain(("x", "Placeholder", []), ("y", "Neg", ["x"]), ("z", "Const", []),
              outputs={"x": wide, "y": wide, "z": [("float32", (7,))]})  # fmt: skip
    backend = Waiting()
    plan = Plan(g, backend=backend).copy(select(g, name="y"), to="copy", inputs={"x:0": "z:0"})
    after = plan.after()
    copy = after.index["copy/y"]
    first, end_first = _in_threads(plan.check)
    backend.started.wait()
    later, end_later = _in_threads(plan.check, lambda: after.outputs(copy), lambda: after.declared_outputs(copy))
    assert [first, later] == [[None], [None] * 3]
    backend.go.set()
    end_first()
    end_later()
    faults = plan.effect.inference.faults
    assert [fault.problem for fault in faults] == ["a fault that only shape inference finds"]
    assert first == [faults]
    assert later == [faults, [TensorInfo("float32", (7,))], [TensorInfo("float32", (7,))]]
    assert len(backend.read) == 1
