"""The list that is gone through before a plan is applied: each entry is found before TensorFlow sees it."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.graphs import look, model, run, tiny
from tests.refusal import reads, refuses

tf1 = tf.compat.v1


def whole(graph, to="t", same=False, **about):
    """Returns the plan of a copy of the whole graph, and its editor."""
    src = gs.open(graph)
    dst = src if same else gs.open(tf.Graph())
    return dst.plan().copy(src.select(), to=to, **about), dst


# -- objects and names ------------------------------------------------------------------------------


def test_objects_of_another_graph():
    graph, other = tiny(), tiny()
    ed, dst = gs.open(graph), gs.open(tf.Graph())
    wrong = other.get_tensor_by_name("x:0")
    with refuses(PlanError, "copy(to='t')", "'x:0' is an object of another graph, not of graph", "its name as text"):
        dst.plan().copy(ed.select(), to="t", inputs={wrong: "x:0"})
    with refuses(PlanError, "'x:0' is an object of another graph"):
        dst.plan().copy(ed.select(), to="t", inputs={"x:0": wrong})
    with refuses(PlanError, "connect('x:0', to='z')", "'x:0' is an object of another graph"):
        ed.plan().connect(wrong, to="z")
    with refuses(PlanError, "connect('y:0', to='z')", "'z' is an object of another graph"):
        ed.plan().connect("y:0", to=other.get_operation_by_name("z"))
    ed.plan().connect(graph.get_tensor_by_name("y:0"), to=graph.get_operation_by_name("z"))


@pytest.mark.parametrize("scope", ["y", "Y", "y/in"])
def test_a_scope_that_is_taken_by_an_op_or_a_scope(scope):
    graph = tiny()
    with graph.as_default():
        tf.no_op(name="y/in/deep")
    plan, _ = whole(graph, scope, same=True)
    reads(plan.check()[0], f"the name '{scope}' is taken in graph", "which is free")


# -- what is shared under a name ----------------------------------------------------------------------


def test_a_shared_name_of_the_destination():
    graph = tf.Graph()
    with graph.as_default():
        tf1.get_variable("w", [2], use_resource=True)
    target = tf.Graph()
    with target.as_default():
        tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="t/w", name="mine")
    dst = gs.open(target)
    plan = dst.plan().copy(gs.open(graph).select(), to="t")
    (fault,) = plan.check()
    reads(fault, "'mine' of graph keeps its state under the shared name 't/w', which the copy would have too",
          "Choose another scope: to='t_copy'")  # fmt: skip
    before = look(target)
    with refuses(PlanError, "shared name"):
        dst.apply(plan)
    assert look(target) == before
    dst.apply(dst.plan().copy(gs.open(graph).select(), to="t_copy"))


@pytest.mark.parametrize("kind", ["_Send", "_Recv", "CollectiveReduceV2"])
def test_ops_that_meet_a_partner_under_a_key(kind):
    graph = tf.Graph()
    with graph.as_default():
        x = tf.constant([1.0])
        about = {
            "tensor_name": "k",
            "send_device": "/cpu:0",
            "recv_device": "/cpu:0",
            "send_device_incarnation": 1,
            "client_terminated": False,
        }
        from tensorflow.python.framework import op_def_library

        if kind == "CollectiveReduceV2":
            tf.raw_ops.CollectiveReduceV2(
                input=x, group_size=2, group_key=1, instance_key=1, ordering_token=[], merge_op="Add", final_op="Id",
                name="meet",
            )  # fmt: skip
        elif kind == "_Send":
            op_def_library.apply_op(kind, tensor=x, name="meet", **about)
        else:
            op_def_library.apply_op(kind, tensor_type=tf.float32, name="meet", **about)
    plan, _ = whole(graph)
    reads(plan.check()[0], f"'meet' ({kind}) and its copy would use the same rendezvous key",
          "Leave it out: cut before it")  # fmt: skip
    moved, _ = whole(graph, to="")
    assert moved.check() == ()


# -- seeds and devices --------------------------------------------------------------------------------


def random_graph():
    graph = tf.Graph()
    with graph.as_default():
        tf1.random_uniform([4], seed=7, name="seeded")
        tf1.random_uniform([4], name="free")
        tf1.get_variable("w", [2], initializer=tf1.random_uniform_initializer(seed=3))
    return graph


def test_seeds_kept_or_new():
    graph = random_graph()
    kept, dst = whole(graph)
    text = "seeded/RandomUniform keeps the seed: the copy draws the same numbers "
    assert text + "(seeds='new' gives the copy other numbers)" in kept.effect.warnings
    dst.apply(kept)
    new, fresh = whole(graph, seeds="new")
    assert not [w for w in new.effect.warnings if "seed" in w]
    assert "seeds='new'" in new.to_code()
    fresh.apply(new)
    want = run(graph, "seeded/RandomUniform:0")
    np.testing.assert_array_equal(run(dst.graph, "t/seeded/RandomUniform:0"), want)
    other = run(fresh.graph, "t/seeded/RandomUniform:0")
    assert not np.array_equal(other, want)
    np.testing.assert_array_equal(run(fresh.graph, "t/seeded/RandomUniform:0"), other)
    seeds = {op.name: op.get_attr("seed2") for op in fresh.graph.get_operations() if "RandomUniform" in op.type}
    assert seeds["t/free/RandomUniform"] == 0
    assert seeds["t/seeded/RandomUniform"] != seeds["t/w/Initializer/random_uniform/RandomUniform"] != 0


@pytest.mark.parametrize(
    ("device", "want"),
    [
        ("keep", ["/device:GPU:0", "/job:ps/task:1/device:CPU:0", ""]),
        ("clear", ["", "", ""]),
        ("/cpu:0", ["/device:CPU:0"] * 3),
        ({"/gpu:0": "/cpu:0"}, ["/device:CPU:0", "/job:ps/task:1/device:CPU:0", ""]),
        ({"/job:ps": "/job:worker"}, ["/device:GPU:0", "/job:worker/task:1/device:CPU:0", ""]),
        ({"/device:GPU": "", "*": "/cpu:1"}, ["", "/device:CPU:1", "/device:CPU:1"]),
    ],
)
def test_devices_are_kept_cleared_and_mapped(device, want):
    graph = tf.Graph()
    with graph.as_default():
        with tf1.device("/gpu:0"):
            tf.constant(1, name="a")
        with tf1.device("/job:ps/task:1/device:CPU:0"):
            tf.constant(1, name="b")
        tf.constant(1, name="c")
    plan, dst = whole(graph, device=device)
    done = dst.apply(plan)
    assert [done[n].device for n in "abc"] == want
    space = {"graph": tf.Graph(), "source_graph": graph}
    exec(plan.to_code(), space)
    assert [space["done"][n].device for n in "abc"] == want


# -- places, callbacks, frozen graphs -----------------------------------------------------------------


def test_colocations_with_ops_outside_are_said():
    graph = tf.Graph()
    with graph.as_default():
        a = tf.constant(1.0, name="a")
        with tf1.colocate_with(a.op):
            tf.constant(2.0, name="b")
    src, dst = gs.open(graph), gs.open(tf.Graph())
    plan = dst.plan().copy(src.select(name="b"), to="t")
    assert list(plan.effect.warnings) == ["1 colocation with ops outside left out: b with a"]
    done = dst.apply(plan)
    assert done["b"].colocation_groups() == [b"loc:@t/b"]
    both, twice = whole(graph)
    assert list(both.effect.warnings) == []
    assert twice.apply(both)["b"].colocation_groups() == [b"loc:@t/a"]


def test_a_finalized_destination():
    plan, dst = whole(tiny())
    dst.graph.finalize()
    with refuses(PlanError, "the graph is finalized", "Unfinalize it"):
        dst.apply(plan)
    assert dst.graph.get_operations() == []


def test_attributes_are_the_same_to_the_byte():
    m = model("resource")
    with m.graph.as_default(), m.graph._attr_scope({"_kernel": tf1.AttrValue(s=b"label"), "_odd": tf1.AttrValue(i=3)}):
        tf.nn.conv2d(tf.zeros([1, 4, 4, 2]), tf.zeros([2, 2, 2, 3]), 2, "SAME", name="conv")
    plan, dst = whole(m.graph)
    done = dst.apply(plan)
    renamed = {"_class", "shared_name", "frame_name"}
    for op in m.graph.get_operations():
        old, new = op.node_def, done[op.name].node_def if op.type != "VarHandleOp" else done[op.name].op.node_def
        assert (old.op, old.device) == (new.op, new.device)
        assert set(old.attr) == set(new.attr), op.name
        for name in set(old.attr) - renamed:
            assert old.attr[name].SerializeToString(True) == new.attr[name].SerializeToString(True), (op.name, name)


def test_versions_never_go_down():
    old = tiny().as_graph_def()
    old.versions.producer = 27
    source = tf.Graph()
    with source.as_default():
        tf1.import_graph_def(old, name="")
    target = tiny()
    now = target.graph_def_versions.producer
    dst = gs.open(target)
    dst.apply(dst.plan().copy(gs.open(source).select(), to="t"))
    assert target.graph_def_versions.producer == now
    empty = gs.open(tf.Graph())
    empty.apply(empty.plan().copy(gs.open(source).select(), to="t"))
    assert empty.graph.graph_def_versions.producer == 27
