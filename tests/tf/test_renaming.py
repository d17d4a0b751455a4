"""Ops and scopes under other names in a live graph, with the values of their variables; order rerouted."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.graphs import KINDS, look, model
from tests.refusal import refuses

tf1 = tf.compat.v1


@pytest.mark.parametrize("kind", KINDS)
def test_a_scope_with_variables_gets_another_name_and_keeps_its_values(kind):
    m = model(kind, optimizer=None)
    want, before = m.session.run(m.loss, m.feed()), look(m.graph)
    ed = gs.open(m.session)
    done = ed.apply(ed.plan().rename("net", to="model", values=m.session))
    assert look(m.graph) == before
    assert not any(name.startswith("net/") for name in ed.snapshot.names)
    assert [v.op.name for v in ed.graph.get_collection("trainable_variables")] == ["model/w", "model/b"]
    feed = {t.name: v for t, v in m.feed().items()}
    session = ed.session()
    np.testing.assert_allclose(session.run("loss:0", feed), want, rtol=1e-6)
    assert done["net/y:0"].name == "model/y:0"
    assert done[m.w].op.name == "model/w"
    ed.undo()
    assert ed.graph is m.graph


def test_renamed_variables_stay_where_they_were_in_their_collections():
    graph = tf.Graph()
    with graph.as_default():
        for name in "abcd":
            tf1.get_variable(name, [2])
        graph.add_to_collection("others", "a text")
        graph.add_to_collection("others", graph.get_collection("variables")[1])
    ed = gs.open(graph)
    # a copy beside them comes last
    ed.apply(ed.plan().copy(ed.select(scope="d"), to="copy").rename("c", to="z").rename("b", to="y"))
    for key in ("variables", "trainable_variables"):
        assert [v.op.name for v in ed.graph.get_collection(key)] == ["a", "y", "z", "d", "copy/d"]
    assert [getattr(item, "name", item) for item in ed.graph.get_collection("others")][:1] == ["a text"]


def test_lists_that_do_not_fit_and_tensors_named_twice():
    plan = gs.open(model(optimizer=None).graph).plan()
    with refuses(PlanError, "2 tensors against 1", "Give as many of the one as of the other"):
        plan.reroute(["x", "target"], to=["x"])
    with refuses(PlanError, "1 tensors against 0", "or a dict"):
        plan.reroute("x")
    with refuses(PlanError, "a dict says both", "Give the dict alone"):
        plan.swap({"x": "target"}, "x")
    with refuses(PlanError, "a tensor is named twice", "Name each once"):
        plan.reroute(["x", "x:0"], to=["target", "target"])
    with refuses(PlanError, "connect(2 tensors)", "2 tensors against 1 ops", "or one op for all"):
        plan.connect(["x", "x"], to=["loss"])


def test_what_an_inserted_op_reads_may_be_renamed_and_bypassed_by_the_same_plan():
    with tf.Graph().as_default() as graph:
        x = tf.constant([1, 2], name="x")
        y = tf.negative(x, name="y")
        tf.square(y, name="z")
    ed = gs.open(graph)
    plan = ed.plan().insert("Identity", on="y:0", name="last").insert("Identity", on="y:0", name="more")
    plan = plan.rename("y", to="fresh")
    assert plan.check() == (), [str(f) for f in plan.check()]
    ed.apply(plan)
    assert ed.op("more").inputs[0].name == "fresh:0"
    assert ed.op("last").inputs[0].name == "more:0"
    assert ed.session().run("z:0").tolist() == [1, 4]
