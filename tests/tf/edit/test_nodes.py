"""Edits of a live graph: a new graph is built, gives the new numbers, and the old one stays as it was."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.tf.edit.nodes import attribute, check_attribute, check_inserted
from tests.graphs import look, model, tiny
from tests.refusal import refuses

tf1 = tf.compat.v1


@pytest.fixture
def graph():
    """A graph: x -> y = -x -> z = y + x; k = 5; w a variable; out = z * w."""
    made = tf.Graph()
    with made.as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        y = tf.negative(x, name="y")
        z = tf.add(y, x, name="z")
        tf.constant([5.0, 5.0], name="k")
        w = tf1.get_variable("w", initializer=[2.0, 3.0], use_resource=True)
        tf.multiply(z, w, name="out")
        with tf.control_dependencies([z]):
            tf.no_op(name="end")
    return made


EDITS = {
    "reroute": (lambda p: p.reroute("y", to="k"), [12.0, 21.0]),
    "reroute some": (lambda p: p.reroute("x", to="k", only="z"), [8.0, 9.0]),
    "swap": (lambda p: p.swap("y", "k"), [12.0, 21.0]),
    "bypass": (lambda p: p.bypass("y"), [4.0, 12.0]),
    "bypass a chain": (lambda p: p.bypass(["y", "z"]), [2.0, 6.0]),
    "insert": (lambda p: p.insert("Square", on="y", name="sq"), [4.0, 18.0]),
    "insert with attributes": (lambda p: p.insert("LeakyRelu", on="y", name="l", alpha=0.5), [1.0, 3.0]),
    "remove": (lambda p: p.remove("k"), [0.0, 0.0]),
    "stitch": (lambda p: p.remove("y", stitch=True), [4.0, 12.0]),
    "order": (lambda p: p.remove_control("end").add_control("out", "k"), [0.0, 0.0]),
    "device": (lambda p: p.set_device(["y", "z"], "/cpu:0"), [0.0, 0.0]),
    "attribute": (lambda p: p.set_attr("y", "_mark", "here").set_attr("k", "_n", [1, 2]), [0.0, 0.0]),
    "several": (lambda p: p.insert("Abs", on="x", name="a").reroute("y", to="a").remove("y"), [4.0, 12.0]),
    "with a copy": (lambda p: p.copy(p.base_select("y"), to="t", unmapped="keep").reroute("y", to="t/y").remove("y"),
                    [0.0, 0.0]),
}  # fmt: skip


@pytest.mark.parametrize("kind", EDITS)
def test_what_is_previewed_is_what_happens(graph, kind):
    edit, want = EDITS[kind]
    ed = gs.open(graph)
    plan = ed.plan()
    object.__setattr__(plan, "base_select", lambda name: ed.select(name=name)) if kind == "with a copy" else None
    plan, before = edit(plan), look(graph)
    assert plan.check() == (), [str(f) for f in plan.check()]
    assert plan.mode == "materialize"
    done = ed.apply(plan)
    assert ed.graph is not graph
    assert look(graph) == before
    after = plan.after()
    assert sorted(ed.snapshot.names) == sorted(after.names)
    session = ed.session()
    np.testing.assert_array_equal(session.run("out:0", {"x:0": [1.0, 2.0]}), want)
    assert [v.op.name for v in ed.graph.get_collection("variables")] == ["w"]
    assert set(done.ops) == set(after.names) - set(plan.base.names)
    space = {"graph": graph}
    exec(plan.to_code(), space)
    assert space["ed"].snapshot.size == ed.snapshot.size
    ed.undo()
    assert ed.graph is graph
    ed.redo()
    np.testing.assert_array_equal(ed.session().run("out:0", {"x:0": [1.0, 2.0]}), want)


def test_attributes_devices_and_order_are_set(graph):
    ed = gs.open(graph)
    ed.apply(ed.plan().set_device("y", "/cpu:0").set_attr("y", "_mark", b"here").add_control("end", "k"))
    assert ed.op("y").device == "/device:CPU:0" or ed.op("y").device == "/cpu:0"
    assert ed.op("y").get_attr("_mark") == b"here"
    assert {c.name for c in ed.op("end").control_inputs} == {"z", "k"}
    ed.apply(ed.plan().set_attr("y", "_mark", None).remove_control("end", "z"))
    with pytest.raises(ValueError, match="_mark"):
        ed.op("y").get_attr("_mark")
    assert [c.name for c in ed.op("end").control_inputs] == ["k"]


def test_a_detached_part_is_fed(graph):
    ed = gs.open(graph)
    ed.apply(ed.plan().detach("z", side="inputs"))
    got = ed.session().run("z:0", {"y_0_detached:0": [1.0, 1.0], "x_0_detached:0": [2.0, 3.0]})
    assert got.tolist() == [3.0, 4.0]


def test_a_variable_goes_with_its_parts_and_leaves_its_collections():
    m = model("ref", optimizer=None)
    ed = gs.open(m.session)
    stay = ed.select(name=["net/w", "net/w/*", "x"])
    ed.apply(ed.plan().remove(~stay))
    assert [v.op.name for v in ed.graph.get_collection("variables")] == ["net/w"]
    assert ed.session().run("net/w:0").shape == (2, 3)


def test_edits_inside_a_new_copy_leave_the_live_graph(graph):
    ed = gs.open(graph)
    plan = ed.plan().copy(ed.select(name=["y", "z"]), to="t", unmapped="keep")
    plan = plan.insert("Square", on="t/y:0", name="sq", only="t/z").set_attr("t/z", "_m", 1)
    assert plan.mode == "append"
    ed.apply(plan)
    assert ed.graph is graph
    with tf1.Session(graph=graph) as session:
        assert session.run("t/z:0", {"x:0": [1.0, 2.0]}).tolist() == [2.0, 6.0]


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda p: p.insert("NoSuchOp", on="x", name="n"), ("TensorFlow has no op type 'NoSuchOp'", "'Identity'")),
        (lambda p: p.insert("Relu", on="x", name="n", beta=1), ("'Relu' has no attribute 'beta'", "It has T")),
        (lambda p: p.set_attr("y", "beta", 1), ("'Neg' has no attribute 'beta'", "It has T")),
        (lambda p: p.set_attr("y", "T", "no dtype"), ("T='no dtype' is not a type", "of that kind, such as 'float32'")),
        (lambda p: p.set_attr("y", "T", object()), ("is not a type", "of that kind, such as 'float32'")),
    ],
)
def test_what_tensorflow_does_not_know(graph, edit, words):
    ed = gs.open(graph)
    before, plan = look(graph), edit(ed.plan())
    (fault,) = plan.check()
    assert all(word in str(fault) for word in words)
    with refuses(PlanError, *words):
        ed.apply(plan)
    assert look(graph) == before
    assert ed.graph is graph


def test_what_tensorflow_refuses_is_told_by_the_steps_of_the_plan_and_the_op_it_reaches():
    with tf.Graph().as_default() as graph:
        begin, none = tf.constant([0], name="begin"), tf.constant([0], name="none")
        step = tf.constant([1], name="step")
        tf1.strided_slice(tf.constant([1.0, 2.0], name="x"), begin, [2], step, name="part")
    ed = gs.open(graph)
    before = look(graph)
    with refuses(PlanError, "reroute('step:0', to='none:0'): TensorFlow refuses op 'part' (StridedSlice): strides[0]",
                 "Choose a tensor that fits there, or leave out the step"):  # fmt: skip
        ed.apply(ed.plan().reroute(step, to=none))
    assert look(graph) == before


@pytest.mark.parametrize(
    ("value", "kind", "field"),
    [(True, "", "b"), (3, "", "i"), (2.5, "", "f"), ("a", "", "s"), (tf.int32, "", "type"), ([1, 2], "", "list"),
     ([None, 3], "shape", "shape"), (np.ones(2), "", "tensor"), (["a"], "list(string)", "list"), ("f", "func", "func"),
     ([[1], [2, 3]], "list(shape)", "list")],
)  # fmt: skip
def test_values_as_attributes(value, kind, field):
    assert attribute(value, kind, "asked", "name").WhichOneof("value") == field


@pytest.mark.parametrize(
    ("value", "kind", "meant"),
    [("no", "bool", "True"), (2.7, "int", "3"), ("loc:@a", "list(string)", "['SAME']"), ("[1", "list(int)", "[3]")],
)
def test_values_of_another_kind_are_refused_whole(value, kind, meant):
    article = "an" if kind == "int" else "a"
    with refuses(
        PlanError, f"asked: name={value!r} is not {article} {kind}", f"Give a value of that kind, such as {meant}"
    ):
        attribute(value, kind, "asked", "name")


def test_a_value_outside_the_closed_set_of_its_attribute():
    with refuses(PlanError, "'padding' cannot be 'FULL'", "Choose one of EXPLICIT, SAME, VALID"):
        check_attribute("Conv2D", "conv", "padding", "FULL")
    check_attribute("Conv2D", "conv", "padding", "VALID")


def test_what_stands_on_a_tensor_reads_one():
    check_inserted("Identity", "n")
    with refuses(PlanError, "insert('MatMul', name='n'): 'MatMul' has 2 inputs", "Give an op type with one input"):
        check_inserted("MatMul", "n")
    with refuses(PlanError, "TensorFlow has no op type 'NoSuchOp'", "'Identity'"):
        check_inserted("NoSuchOp", "n")


@pytest.mark.parametrize("edit", [lambda p: p.remove("y", stitch=True),
                                  lambda p: p.replace(lambda v: tf.negative(v), lambda v: v * -1.0)])  # fmt: skip
def test_colocations_with_ops_that_go_are_told(graph, edit):
    graph.get_operation_by_name("k")._set_attr("_class", attribute([b"loc:@y"], "list(string)", "asked", "name"))
    ed = gs.open(graph)
    plan = edit(ed.plan())
    assert plan.check() == (), [str(f) for f in plan.check()]
    assert "1 colocation with removed ops left out: k with y" in str(plan)
    ed.apply(plan)
    assert "_class" not in ed.op("k").node_def.attr


def test_an_op_type_with_a_slip_is_answered_with_those_like_it():
    ed = gs.open(tiny())
    with refuses(PlanError, "TensorFlow has no op type 'Tanhh'", "Did you mean 'Tanh'"):
        ed.apply(ed.plan().insert("Tanhh", on="z", name="new"))
