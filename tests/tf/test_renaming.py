"""Ops and scopes under other names in a live graph, with the values of their variables; order rerouted."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.graphs import KINDS, look, model
from tests.random_graphs import flow_version
from tests.refusal import reads, refuses

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
    with refuses(PlanError, "2 tensors against 1", "Give two lists of the same length"):
        plan.reroute(["x", "target"], to=["x"])
    with refuses(PlanError, "1 tensor against 0", "or a dict"):
        plan.reroute("x")
    with refuses(PlanError, "the dict names both tensors", "Give the dict alone"):
        plan.swap({"x": "target"}, "x")
    with refuses(PlanError, "a tensor is named twice", "Name each tensor once"):
        plan.reroute(["x", "x:0"], to=["target", "target"])
    with refuses(PlanError, "connect(2 tensors)", "2 tensors against 1 op", "or one op for all"):
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


def test_a_part_of_a_variable_or_of_a_loop_is_renamed_by_itself_and_the_whole_works_on():
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", initializer=lambda: tf.ones([2]), use_resource=False)
        with flow_version("v1"):
            end = tf1.while_loop(lambda i, _: i < 3, lambda i, s: (i + 1, s + w), [0, tf.identity(w)], name="turn")[1]
        tf.identity(end, name="out")
    ed = gs.open(graph)
    inner = next(op.name for op in graph.get_operations() if op.type == "NextIteration")
    done = ed.apply(ed.plan().rename({"w/Initializer": "start", inner: "again", "turn": "loop"}))
    assert not [name for name in ed.snapshot.names if name.startswith(("w/Initializer", "turn"))]
    assert done[inner].name == "again"
    with ed.graph.as_default(), tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        assert session.run("out:0").tolist() == [4, 4]
        (slope,) = tf1.gradients(ed.tensor("out:0"), ed.graph.get_collection("variables"))
        assert session.run(slope).tolist() == [4, 4]


def test_names_change_places_in_any_order_of_ops_scopes_copies_and_what_is_inserted():
    m = model(optimizer=None)
    ed, feed = gs.open(m.graph), {t.name: v for t, v in m.feed().items()}
    want = m.session.run(m.loss, m.feed())
    plan = ed.plan().copy(ed.select(scope="net"), to="side", unmapped="keep")
    plan = plan.insert("Identity", on="loss:0", name="tap", only=[])
    plan = plan.rename({"tap": "loss", "loss": "tap", "net": "side/net", "side/net": "net"}, values=m.session)
    plan = plan.rename("side", to="main")
    assert plan.check() == (), [str(f) for f in plan.check()]
    done = ed.apply(plan)
    assert {"tap", "loss", "main/net/w", "net/w"} <= set(ed.snapshot.names)
    assert ed.op("loss").type == "Identity"
    assert ed.op("loss").inputs[0].name == "tap:0"
    names = [v.op.name for v in ed.graph.get_collection("trainable_variables")]
    assert names == ["main/net/w", "main/net/b", "net/w", "net/b"]
    assert done.original("main/net/y").name == "net/y"
    assert done.original("net/y").name == "net/y"
    assert done.original("tap").name == "loss"
    session = ed.session(m.session)
    np.testing.assert_allclose(session.run("tap:0", feed), want, rtol=1e-6)


def test_a_copy_is_renamed_in_the_plan_that_makes_it_and_found_by_its_source():
    m = model("resource", optimizer=None)
    ed = gs.open(m.session)
    size = len(m.graph.get_operations())
    plan = ed.plan().copy(ed.select(scope="net"), to="c", unmapped="placeholder", values=m.session)
    plan = plan.rename("c/net", to="tower").set_device("tower/y", "/cpu:0").rename({"tower/y": "end", "c/x": "feed"})
    assert plan.mode == "append"
    done = ed.apply(plan)
    assert not [op.name for op in m.graph.get_operations()[size:] if op.name.startswith("c/")]
    assert done["net/y"].name == "end"
    assert done["net/y"].device.endswith("cpu:0")
    assert done[m.w].op.name == "tower/w"
    np.testing.assert_allclose(ed.session().run(done[m.w]), m.session.run(m.w))
    script = plan.to_code()
    assert ".rename({'tower/y': 'end', 'c/x': 'feed'})" in script
    ed.undo()


def test_objects_of_the_graph_are_found_whatever_a_step_before_has_called_them():
    m = model(optimizer=None)
    ed = gs.open(m.graph)
    y, x = m.graph.get_tensor_by_name("net/y:0"), m.graph.get_tensor_by_name("x:0")
    plan = ed.plan().rename("net", to="body").rename({"body/y": "x", "x": "body/y"})
    plan = plan.insert("Identity", on=y, name="tap").connect(x, to=y.op).set_attr([x.op], "_mark", 1)
    assert [step.describe().partition(" ")[2] for step in plan.steps[-3:]][1] == "body/y:0 to input 0 of x"
    assert "Identity', on='x:0'" in plan.to_code()


def test_a_renamed_variable_shares_its_state_with_what_shared_it_and_with_nothing_made_later():
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", initializer=[1.0], use_resource=True)
        again = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[1], shared_name="w", name="same")
        tf.raw_ops.ReadVariableOp(resource=again, dtype=tf.float32, name="read")
        assert w.op.get_attr("shared_name") == b"w"
    ed = gs.open(graph)
    ed.apply(ed.plan().rename("w", to="v"))
    with ed.graph.as_default(), tf1.Session() as session:
        new = tf1.get_variable("w", initializer=[9.0], use_resource=True)
        session.run(tf1.global_variables_initializer())
        assert session.run(["read:0", new]) == [[1.0], [9.0]]


def test_renames_that_cannot_be_say_why_and_what_to_type():
    m = model(optimizer=None)
    plan = gs.open(m.graph).plan()
    (one, *_) = plan.rename("nosuch", to="x").rename("y", to="z").check()
    reads(one, "rename('nosuch', to='x')", "no op and no scope is called 'nosuch'", "No name is similar")
    (fault,) = plan.rename("net", to="model").rename("net/y", to="z").check()
    reads(fault, "rename('net/y', to='z')", "no op and no scope is called 'net/y'", "renamed it to 'model/y'")
    (fault,) = plan.rename({"x": "loss"}).check()
    reads(fault, "rename('x', to='loss')", "the name 'loss' is taken", "such as 'loss_2'", "{old: new, ...}")
    (fault,) = plan.rename({"x": "one", "target": "one"}).check()
    reads(fault, "'x' and 'target' would both be called 'one'", "Type a name that is free")
    (fault,) = plan.rename("x", to="a b").check()
    reads(
        fault,
        "'a b' is not a name of an op: ' ' is not allowed in it",
        "digits, '_', '.', '-' and '/'",
        "for example 'a_b'",
    )
    (fault,) = plan.rename("net", to="model/first net").check()
    reads(fault, "'model/first net' is not a name of an op: ' ' is not", "for example 'model/first_net'")
    assert "{old: new" not in fault.suggestion
    with refuses(PlanError, "rename('x')", "no new name is given", "rename('old', to='new')"):
        plan.rename("x")
    with refuses(PlanError, "a dict contains both names"):
        plan.rename({"x": "a"}, to="b")
    with refuses(PlanError, "an op or scope is named twice", "Name each op or scope once"):
        plan.rename({"x": "a", m.graph.get_tensor_by_name("x:0"): "b"})
    with refuses(PlanError, "the dict is empty"):
        plan.rename({})


def test_what_no_stitch_can_replace_is_not_told_to_be_stitched():
    with tf.Graph().as_default() as graph:
        tf1.placeholder(tf.float32, [2], name="x")
        tf.add(tf.constant([1.0, 2.0], name="c"), tf.negative(graph.get_tensor_by_name("x:0"), name="n"), name="y")
        tf.reduce_sum(graph.get_tensor_by_name("y:0"), name="s")
        tf.square(graph.get_tensor_by_name("s:0"), name="z")
    ed = gs.open(graph)
    bare, other = (ed.plan().remove(name).check()[0].suggestion for name in ("c", "n"))
    assert "stitch" not in bare
    assert "choose stitch=True" in other
    assert ed.plan().remove("n", stitch=True).check() == ()
    (fault,) = ed.plan().remove("s", stitch=True).check()
    assert "'s:0'" not in fault.suggestion.partition("These")[2]
    (fault,) = ed.plan().add_control("x", "z").check()
    assert fault.suggestion == "Choose an op above it"


def test_only_requests_that_know_but_are_told_of_it():
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", initializer=[1.0], use_resource=False)
        tf.identity(w, name="out")
    ed = gs.open(graph)
    assert "exclude=" not in ed.plan().detach("w", side="outputs").check()[0].suggestion
    assert "exclude=['w/Assign']" in ed.plan().insert("Identity", on="w:0", name="i").check()[0].suggestion
    assert ed.plan().insert("Identity", on="w:0", name="i", exclude=["w/Assign"]).check() == ()


def test_a_renamed_resource_variable_shares_its_state_under_its_own_new_name():
    with tf1.Graph().as_default() as graph:
        x = tf1.placeholder(tf1.float32, [None, 4], name="x")
        tf1.identity(x @ tf1.get_variable("W", [4, 2], use_resource=True), name="logits")
    ed = gs.open(graph)
    ed.apply(ed.plan().rename("W", to="weights"))
    assert [op.get_attr("shared_name") for op in ed.graph.get_operations() if op.type == "VarHandleOp"] == [b"weights"]
    assert "shared_name" not in str(gs.diff(graph, ed))
