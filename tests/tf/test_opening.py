"""Names inside of calls in a plan: what it must open, it opens, as a step of its own."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.graphs import look
from tests.random_graphs import flow_version
from tests.refusal import reads

tf1 = tf.compat.v1


@pytest.fixture
def graph():
    graph = tf.Graph()
    with graph.as_default(), flow_version("v2"):
        x = tf1.placeholder(tf.float32, [2], name="x")
        p = tf1.placeholder(tf.bool, [], name="p")
        inner = tf.function(lambda v: tf.square(v, name="squared"), autograph=False)

        def f(v, p):
            low = tf.negative(inner(v), name="low")
            up, twice = lambda: tf.add(low, 1.0, name="up"), lambda: tf.multiply(low, 2.0, name="twice")
            bent = tf.cond(p, up, twice, name="bend")
            return tf.identity(bent, name="end")

        tf.identity(tf.function(f, autograph=False)(x, p), name="y")
        tf.constant([5.0, 6.0], name="other")
        tf.cond(p, lambda: tf.exp(x, name="e"), lambda: x, name="flat")
    return graph


def lines(plan):
    return [line for line in str(plan.preview()).splitlines() if "open " in line]


#: What is done to the call, and y for x = [1, -2] where p holds.
STEPS = {
    "reroute": (lambda p: p.reroute("PartitionedCall/low:0", to="other:0"), [6.0, 7.0]),
    "insert": (lambda p: p.insert("Abs", on="PartitionedCall/low:0", name="size"), [2.0, 5.0]),
    "connect": (lambda p: p.connect("other:0", to="PartitionedCall/low", input=0), [-4.0, -5.0]),
    "bypass": (lambda p: p.bypass("PartitionedCall/low"), [2.0, 5.0]),
    "inside a cond": (lambda p: p.insert("Neg", on="PartitionedCall/bend/then_branch/up:0", name="neg"), [0.0, 3.0]),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_call_is_opened_for_what_is_named_inside(step, graph):
    before = look(graph)
    ed = gs.open(graph)
    plan = STEPS[step][0](ed.plan())
    assert plan.check() == (), [str(f) for f in plan.check()]
    calls = ["PartitionedCall", "PartitionedCall/bend"] if step == "inside a cond" else ["PartitionedCall"]
    assert any(f"open {calls[0]}" in line for line in lines(plan)), str(plan.preview())
    assert ".inline(" in plan.to_code()
    assert list(plan.steps[0].ops) == calls
    again = {"graph": graph}
    exec(plan.to_code(), again)
    ed.apply(plan)
    feed = {"x:0": [1.0, -2.0], "p:0": True}
    assert ed.session().run("y:0", feed).tolist() == STEPS[step][1]
    assert again["ed"].session().run("y:0", feed).tolist() == STEPS[step][1]
    ed.undo()
    assert look(graph) == before


def test_what_is_open_stays_open(graph):
    ed = gs.open(graph)
    plan = ed.plan().set_attr("PartitionedCall/low", "_a", 1).set_attr("PartitionedCall/bend/then_branch/up", "_b", 2)
    assert [type(step).__name__ for step in plan.steps] == ["InlineStep", "SetStep", "SetStep"]
    assert plan.steps[0].ops == ("PartitionedCall", "PartitionedCall/bend")
    by_hand = ed.plan().inline("PartitionedCall").set_attr("PartitionedCall/low", "_a", 1)
    assert [step.ops for step in by_hand.steps] == [("PartitionedCall",), ("PartitionedCall/low",)]
    assert not by_hand.steps[0].opens
    alone = ed.plan().inline("PartitionedCall/bend")
    assert alone.steps[0].ops == ("PartitionedCall", "PartitionedCall/bend")
    assert "If" not in {alone.after().types[i] for i, n in enumerate(alone.after().names) if n.startswith("Part")}


def test_a_name_that_is_nowhere_opens_nothing(graph):
    plan = gs.open(graph).plan().reroute("PartitionedCall/nope:0", to="other:0")
    assert len(plan.steps) == 1
    reads(plan.check()[0], "PartitionedCall/nope", "reroute(")


def test_what_a_copy_is_given_may_be_inside(graph):
    src = gs.open(graph)
    block = src.select(name="flat/Identity")
    tensor = block.boundary.inputs[0]
    plan = src.plan().copy(block, to="c", inputs={tensor: "PartitionedCall/low:0"})
    assert plan.steps[0].ops == ("PartitionedCall",)
    src.apply(plan)
    assert src.session().run("c/flat/Identity:0", {"x:0": [1.0, -2.0], "p:0": True}).tolist() == [-1.0, -4.0]
