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


def test_a_part_of_a_variable_or_cond_is_renamed_with_the_whole_as_the_refusal_says():
    with tf.Graph().as_default() as graph:
        tf.identity(tf1.get_variable("w", initializer=lambda: tf.ones([2]), use_resource=False), name="out")
    ed = gs.open(graph)
    (fault,) = ed.plan().rename("w/Initializer", to="x").check()
    assert fault.asked == "rename('w/Initializer', to='x')"
    assert "is a part of variable 'w', which stays" in fault.wrong
    assert fault.instead.startswith("Rename a scope that has the whole of it")
    assert ed.plan().rename("w", to="x").check() == ()


def test_what_no_stitch_can_replace_is_not_told_to_be_stitched():
    with tf.Graph().as_default() as graph:
        tf1.placeholder(tf.float32, [2], name="x")
        tf.add(tf.constant([1.0, 2.0], name="c"), tf.negative(graph.get_tensor_by_name("x:0"), name="n"), name="y")
        tf.reduce_sum(graph.get_tensor_by_name("y:0"), name="s")
        tf.square(graph.get_tensor_by_name("s:0"), name="z")
    ed = gs.open(graph)
    bare, other = (ed.plan().remove(name).check()[0].instead for name in ("c", "n"))
    assert "stitch" not in bare
    assert "choose stitch=True" in other
    assert ed.plan().remove("n", stitch=True).check() == ()
    (fault,) = ed.plan().remove("s", stitch=True).check()
    assert "'s:0'" not in fault.instead.partition("These")[2]
    (fault,) = ed.plan().add_control("x", "z").check()
    assert fault.instead == "Choose an op above it"


def test_only_requests_that_know_but_are_told_of_it():
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", initializer=[1.0], use_resource=False)
        tf.identity(w, name="out")
    ed = gs.open(graph)
    assert "but=" not in ed.plan().detach("w", side="outputs").check()[0].instead
    assert "but=['w/Assign']" in ed.plan().insert("Identity", on="w:0", name="i").check()[0].instead
    assert ed.plan().insert("Identity", on="w:0", name="i", but=["w/Assign"]).check() == ()
