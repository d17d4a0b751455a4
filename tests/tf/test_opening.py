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


LOW = "PartitionedCall/low"
INNER = [f"PartitionedCall/PartitionedCall/{name}" for name in ("squared", "Identity")]


#: What is done to the call, and y for x = [1, -2] where p holds.
STEPS = {
    "reroute": (lambda p: p.reroute("PartitionedCall/low:0", to="other:0"), [6.0, 7.0]),
    "insert": (lambda p: p.insert("Abs", on="PartitionedCall/low:0", name="size"), [2.0, 5.0]),
    "connect": (lambda p: p.connect("other:0", to="PartitionedCall/low", input=0), [-4.0, -5.0]),
    "bypass": (lambda p: p.bypass("PartitionedCall/low"), [2.0, 5.0]),
    "collapse": (lambda p: p.collapse([LOW], name="minus"), [0.0, -3.0]),
    "collapse what reads the inner call": (lambda p: p.collapse([*INNER, LOW], name="both"), [0.0, -3.0]),
    "inside a cond": (lambda p: p.insert("Neg", on="PartitionedCall/bend/then_branch/up:0", name="neg"), [0.0, 3.0]),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_call_is_opened_for_what_is_named_inside(step, graph):
    before = look(graph)
    ed = gs.open(graph)
    plan = STEPS[step][0](ed.plan())
    assert plan.check() == (), [str(f) for f in plan.check()]
    calls = ["PartitionedCall", "PartitionedCall/bend"] if step == "inside a cond" else ["PartitionedCall"]
    assert any(f"inline {calls[0]}" in line for line in str(plan.preview()).splitlines()), str(plan.preview())
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
    assert not by_hand.steps[0].is_implicit
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


#: How the negative inside of the call is given, and the ops of a replacement that is made of it.
PLACES = {
    "all like it": lambda ed, low: ed.plan().replace(low, "Abs", to="size"),
    "all within": lambda ed, low: ed.plan().replace(lambda v: tf.negative(v), "Abs", within=low, to="size"),
    "matches": lambda ed, low: ed.plan().replace(ed.match(low), "Abs", to="size"),
    "a match of a function": lambda ed, low: ed.plan().replace(ed.match(tf.negative, within=low)[0], "Abs", to="size"),
}


@pytest.mark.parametrize("given", PLACES)
def test_a_pattern_inside_is_found_and_replaced(given, graph):
    ed = gs.open(graph)
    low = ed.select(name=LOW)
    assert [match.names for match in ed.match(low)] == [[LOW]]
    plan = PLACES[given](ed, low)
    assert plan.check() == (), [str(f) for f in plan.check()]
    assert plan.steps[0].ops == ("PartitionedCall",)
    ed.apply(plan)
    names = [name for name in ed.snapshot.names if ed.snapshot.types[ed.snapshot.index[name]] in ("Neg", "Abs")]
    assert names == ["size"]
    assert ed.session().run("y:0", {"x:0": [1.0, -2.0], "p:0": True}).tolist() == [2.0, 5.0]


def test_what_a_plan_opens_and_takes_out_is_never_made(graph):
    ed = gs.open(graph)
    plan = ed.plan().collapse(ed.select(name=[*INNER, LOW]), name="both")
    assert "both" in plan.after().index
    assert not {*INNER, LOW} & set(plan.after().names)
    assert "stay" not in str(plan.effect.replacements[-1])


def test_a_match_that_an_earlier_step_takes_out_is_not_replaced(graph):
    ed = gs.open(graph)
    (found,) = ed.match(ed.select(name=LOW))
    plan = ed.plan().remove(LOW, stitch=True).replace(found, "Abs")
    reads(plan.check()[0], "replace(", f"{LOW}:0: the graph has changed since it was found")


def test_places_of_another_graph_are_refused(graph):
    ed, other = gs.open(graph), gs.open(tf.Graph())
    with pytest.raises(gs.PlanError) as found:
        other.plan().replace(tf.negative, "Abs", within=ed.select(name=LOW))
    reads(found.value, "replace(", "within= is of another graph", "Select from ")
    with pytest.raises(gs.PlanError) as found:
        other.plan().replace(ed.match(ed.select(name=LOW)), "Abs")
    reads(found.value, "the matches are of another graph", "Look for them in ")
