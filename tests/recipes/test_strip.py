"""What only training needs goes, and the numbers stay."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.recipes.models import dropped, numbers, ran, refusal

tf1 = tf.compat.v1


@pytest.mark.parametrize("how", ["TF 1.0", "TF 1.13", "TF 2", "fed", "stateless"])
def test_dropout_of_any_year_goes(how):
    ed = gs.open(dropped(how))
    plan = gs.recipes.strip_dropout(ed)
    assert plan.check() == ()
    ed.apply(plan)
    kept = ["keep"] if how == "fed" else []
    assert [name for name in ed.snapshot.names if not name.startswith("keep/")] == ["x", *kept, "y"]
    x = numbers(3, 4)
    np.testing.assert_array_equal(ran(ed, x=x), np.maximum(x, 0))
    ed.undo()
    assert "Floor" in ed.snapshot.types or "GreaterEqual" in ed.snapshot.types


def test_dropout_keeps_the_name_of_an_output():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        tf.nn.dropout(tf.nn.dropout(x, rate=0.5), rate=0.2, name="y")
    ed = gs.open(graph)
    last = ed.snapshot.names[-1]
    ed.apply(gs.recipes.strip_dropout(ed))
    assert ed.snapshot.names == ["x", last]
    np.testing.assert_array_equal(ran(ed, f"{last}:0", x=numbers(3, 4)), numbers(3, 4))


def test_dropout_whose_scale_is_another_is_named():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [4], name="x")
        mask = tf.cast(tf.random.uniform([4]) >= 0.2, tf.float32)
        tf.nn.relu(tf.multiply(x * 3.0, mask, name="noise"), name="y")
    ed = gs.open(graph)
    assert refusal(gs.PlanError, gs.recipes.strip_dropout, ed) == (
        "strip_dropout(): 'noise' masks 'mul:0' with random numbers, and no scale compensates for the dropped "
        "elements.\n"
        "Remove the mask, ed.plan().reroute('noise:0', to='mul:0'), or exclude='noise'."
    )
    assert "no op masks a tensor with random numbers" in refusal(
        gs.PlanError, lambda: gs.recipes.strip_dropout(ed, exclude="noise")
    )


@pytest.mark.parametrize("how", ["TF 1.0", "TF 1.13", "TF 2"])
def test_dropout_with_its_gradient_goes_once_training_has_gone(how):
    graph = dropped(how)
    with graph.as_default():
        tf1.gradients(graph.get_tensor_by_name("y:0"), graph.get_tensor_by_name("x:0"), name="slope")
    ed = gs.open(graph)
    said = refusal(gs.PlanError, gs.recipes.strip_dropout, ed)
    assert "'slope/" in said
    assert ".\nRemove the gradients first: ed.apply(gs.recipes.strip_training" in said
    ed.apply(gs.recipes.strip_training(ed, "y:0"))
    ed.apply(gs.recipes.strip_dropout(ed))
    np.testing.assert_array_equal(ran(ed, x=numbers(3, 4)), np.maximum(numbers(3, 4), 0))


def test_a_choice_by_chance_is_no_dropout():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [4], name="x")
        tf.where(tf.random.uniform([4]) < 0.5, x, -x, name="y")
    assert "nothing to remove" in refusal(gs.PlanError, gs.recipes.strip_dropout, gs.open(graph))


def checked(modern: bool):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        if modern:
            tf1.enable_control_flow_v2()
        try:
            check = tf1.debugging.Assert(tf.reduce_all(x > -9.0), [x], name="check")
        finally:
            tf1.disable_control_flow_v2()
        with tf.control_dependencies([check]):
            z = tf.identity(tf.debugging.check_numerics(x, "x"), name="z")
        tf.nn.relu(tf1.Print(z, [z]), name="y")
    return graph


@pytest.mark.parametrize("modern", [False, True], ids=["a cond of TF1", "a cond of TF2"])
def test_checks_go_with_what_only_they_need(modern):
    ed = gs.open(checked(modern))
    ed.apply(gs.recipes.strip_checks(ed))
    assert ed.snapshot.names == ["x", "z", "y"]
    np.testing.assert_array_equal(ran(ed, x=numbers(3, 4)), np.maximum(numbers(3, 4), 0))
    assert "the graph has no Assert, PrintV2" in refusal(gs.PlanError, gs.recipes.strip_checks, ed)


def test_identities_go_that_do_nothing():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        w = tf1.get_variable("w", [4], use_resource=False)
        order = tf.identity(x, name="order")
        with tf.control_dependencies([order]):
            later = tf.identity(x, name="later")
        y = tf.add(tf.stop_gradient(tf.identity(later)), w, name="sum")
        tf.identity(y, name="y")
    ed = gs.open(graph)
    ed.apply(gs.recipes.strip_identities(ed))
    kept = [name for name in ed.snapshot.names if not name.startswith("w")]
    assert kept == ["x", "order", "later", "sum", "y"]
    assert "w/read" in ed.snapshot.names
    assert "no identity can be removed" in refusal(gs.PlanError, gs.recipes.strip_identities, ed)


def test_identities_that_are_part_of_a_variable_stay():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        w = tf1.get_variable("w", [4], initializer=tf1.ones_initializer())
        tf.nn.relu(tf.identity(x * w), name="y")
        tf.train.ExponentialMovingAverage(0.5).apply([w])  # its initial value is that of a cond
    ed = gs.open(graph)
    plan = gs.recipes.strip_identities(ed)
    assert plan.check() == ()
    assert {"Identity", "cond/Identity"} & set(ed.snapshot.names) - set(plan.after().names) == {"Identity"}


def trained():
    """A small network with queue, moving averages, dropout, loss, gradients, a summary, a saver."""
    with tf.Graph().as_default() as graph:
        queue = tf1.FIFOQueue(10, [tf.float32, tf.int32], [[4, 4, 1], []], name="queue")
        x, label = queue.dequeue_many(2, name="batch")
        w = tf1.get_variable("w", [3, 3, 1, 2])
        mean, variance = (
            tf1.get_variable(name, [2], initializer=tf1.zeros_initializer(), trainable=False)
            for name in ("mean", "variance")
        )
        y = tf.nn.conv2d(x, w, 1, "SAME", name="conv")
        y, *now = tf1.nn.fused_batch_norm(y, [1.0, 2.0], [0.5, 0.0], name="bn")
        keep = [v.assign_sub(0.1 * (v - n)) for v, n in zip((mean, variance), now, strict=True)]
        y = tf.nn.dropout(tf.nn.relu(y), rate=0.5)
        y = tf.identity(tf.reduce_sum(y, [1, 2]), name="y")
        loss = tf.add(tf.reduce_sum(tf.square(y)), tf.cast(tf.reduce_sum(label), tf.float32), name="loss")
        tf1.summary.scalar("how_far", loss)
        with tf.control_dependencies(keep):
            tf1.train.AdamOptimizer().minimize(loss, name="train")
        tf1.train.Saver()
    return graph


def test_a_training_graph_in_its_inference_form():
    ed = gs.open(trained())
    session = ed.session()
    session.run([op for op in ed.graph.get_operations() if op.name in ("variance/Assign", "w/Assign")])
    plan = gs.recipes.for_inference(ed, "y:0", "batch:0")
    assert plan.check() == ()
    ed.apply(plan)
    assert ed.snapshot.info(*ed.snapshot.tensor("batch:0")).shape == (2, 4, 4, 1)
    types = set(ed.snapshot.types)
    assert not types & {"QueueDequeueManyV2", "ApplyAdam", "ResourceApplyAdam", "ScalarSummary", "SaveV2", "Assert"}
    assert "RandomUniform" not in {ed.snapshot.types[i] for i in ed.select(name="y").ancestors().numbers}
    assert set(ed.snapshot.state.variables) == {"w", "mean", "variance"}
    first = ran(ed, batch=numbers(2, 4, 4, 1))
    small = gs.recipes.frozen(ed, "y:0", values="initial")
    small.apply(gs.recipes.for_inference(small, "y:0"))
    assert not {"FusedBatchNormV3", "Identity"} & set(small.snapshot.types) - {"Identity"}
    np.testing.assert_allclose(ran(small, batch=numbers(2, 4, 4, 1)), first, rtol=1e-4)


class Scaled(tf.Module):
    """y = w * x; `train` changes w and counts its steps; `plain` reads no variable."""

    def __init__(self):
        super().__init__()
        self.w, self.steps = tf.Variable([1.0, 2.0], name="w"), tf.Variable(0.0, name="steps")

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="x")])
    def scale(self, x):
        return {"y": self.w * x}

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="by")])
    def train(self, by):
        return {"loss": tf.reduce_sum(self.w.assign_add(tf.fill([2], by))) + self.steps.assign_add(1.0)}

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="x")])
    def plain(self, x):
        return {"y": x + 1.0}


def test_the_saver_stays_where_nothing_else_sets_a_variable_that_stays(tmp_path):
    module = Scaled()
    signatures = {"scale": module.scale, "train": module.train, "plain": module.plain}
    tf.saved_model.save(module, str(tmp_path / "net"), signatures=signatures)
    ed = gs.open(tmp_path / "net", raw=True)
    first = {ed.op(name).inputs[0].name: name for name in ed.select(where=lambda op: "Call" in op.type).names}
    ends = {key: f"{first[name]}:0" for key, name in
            {"scale": "scale_x:0", "train": "train_by:0", "plain": "plain_x:0"}.items()}  # fmt: skip
    saver = [op.name for op in ed.op("saver_filename").outputs[0].consumers()]
    assert len(saver) == 2
    ed.session().run(ends["train"], {"train_by:0": 2.0})
    ed.apply(gs.recipes.strip_training(ed, ends["scale"]))
    assert not {ends[key].removesuffix(":0") for key in ("train", "plain")} & ed.snapshot.index.keys()
    assert {"w", "steps", *saver} <= ed.snapshot.index.keys()  # what restores one variable restores all
    got = ed.session().run(ends["scale"], {"scale_x:0": [1.0, 1.0]})
    np.testing.assert_array_equal(got, [3.0, 4.0])
    ed.undo()
    ed.apply(gs.recipes.for_inference(ed, ends["plain"]))
    assert set(ed.snapshot.names) == {"plain_x", ends["plain"].removesuffix(":0")}


def test_what_is_fed_is_fed_whole():
    ed = gs.open(trained())
    said = refusal(gs.PlanError, lambda: gs.recipes.strip_training(ed, ["train", "loss"], ["batch:0"]))
    assert said == (
        "strip_training(): 'batch:0' is an input, but the outputs need 'batch:1' of the same op.\n"
        "Feed that too: inputs=['batch:0', 'batch:1']."
    )


def test_nobody_says_which_outputs():
    ed = gs.open(dropped("TF 2"))
    assert refusal(gs.PlanError, gs.recipes.strip_training, ed) == (
        "strip_training(): no outputs were given.\nType outputs=[...]; nothing reads y:0."
    )
    assert "y:0 needs every op of the graph" in refusal(gs.PlanError, lambda: gs.recipes.strip_training(ed, "y:0"))


def test_what_is_in_inference_form_is_said_to_be():
    ed = gs.open(dropped("TF 2"))
    ed.apply(gs.recipes.for_inference(ed, "y:0"))
    assert refusal(gs.PlanError, gs.recipes.for_inference, ed, "y:0") == (
        "for_inference(): it is in inference form already.\nThere is nothing to remove."
    )
    with ed.graph.as_default():
        w = tf1.get_variable("w", [4], use_resource=False)
        tf.add(ed.graph.get_tensor_by_name("y:0"), w, name="z")
    said = refusal(gs.PlanError, gs.recipes.for_inference, gs.open(ed.graph), ["y:0", "z:0"])
    assert "nothing to remove; gs.recipes.frozen(ed, ['y:0', 'z:0']) turns its variables into constants." in said


def test_a_tensor_that_is_not_there_is_named_once():
    said = refusal(gs.SelectionError, gs.recipes.for_inference, gs.open(dropped("TF 2")), "yy:0")
    words = "for_inference(): there is no tensor 'yy:0' in graph: no op has that name.\nDid you mean 'y'"
    assert said.startswith(words)


def test_whether_it_is_trained_is_decided():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        training = tf1.placeholder(tf.bool, [], name="training")
        y = tf1.cond(training, lambda: tf.nn.dropout(x, rate=0.5), lambda: tf.identity(x), name="drop")
        tf.nn.relu(y, name="y")
    ed = gs.open(graph)
    ed.apply(gs.recipes.for_inference(ed, "y:0", training="training:0"))
    assert ed.snapshot.types == ["Placeholder", "Relu"]


def test_a_recipe_goes_on_with_a_plan():
    ed = gs.open(dropped("TF 2"))
    plan = gs.recipes.strip_dropout(ed.plan().rename("y", to="z"))
    assert plan.after().names == ["x", "z"]
    assert refusal(gs.PlanError, gs.recipes.strip_dropout, ed.graph) == (
        "strip_dropout(): Graph is neither an editor nor a plan.\nGive gs.open(...), or ed.plan()."
    )
