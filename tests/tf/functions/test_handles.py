"""What the resources of functions hold: reported at any depth, so that every copy trains as its original does."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import function_pb2, node_def_pb2

import graphsurgeon as gs
from graphsurgeon.tf.functions.definitions import with_handles

tf1 = tf.compat.v1

#: What can stand around a step: each runs it, or leaves the variables in it alone.
AROUND = {
    "loop": lambda step: lambda v: tf.while_loop(lambda i, _: i < 2, lambda i, v: (i + 1, step(v)), [0, v])[1],
    "cond": lambda step: lambda v: tf.cond(tf.reduce_sum(v) < 50.0, lambda: step(v), lambda: v + 1.0),
    "case": lambda step: (
        lambda v: tf.switch_case(
            tf.cast(tf.reduce_sum(v) > 50.0, tf.int32), [lambda: step(v), lambda: v * 2.0, lambda: v + 1.0]
        )
    ),
    "call": lambda step: tf.function(step),
}


class Nested(tf.Module):
    """Multiplies by a variable, inside of all that `words` name, the outermost first."""

    def __init__(self, words):
        super().__init__(name="nested")
        self.w = tf.Variable([2.0, 3.0], name="w")
        step = self.multiply
        for word in reversed(words.split()):
            step = AROUND[word](step)
        self.step = step

    def multiply(self, v):
        return v * self.w

    @tf.function(input_signature=[tf.TensorSpec([2], tf.float32, name="x")])
    def __call__(self, x):
        return self.step(x)


X = np.array([1.0, 2.0], np.float32)


def trained(call, variable):
    """The loss of a step of training, and the variable after it."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.square(tf.nest.flatten(call(X))[0]))
    variable.assign_sub(0.01 * tape.gradient(loss, variable))
    return [float(loss), *variable.numpy().tolist()]


def trained_in(graph, x, y):
    """The same in a graph of TF1."""
    with graph.as_default():
        (variable,) = tf1.trainable_variables()
        loss = tf.reduce_sum(tf.square(graph.get_tensor_by_name(y)))
        step = tf1.train.GradientDescentOptimizer(0.01).minimize(loss, var_list=[variable])
    with tf1.Session(graph=graph) as session:
        session.run(variable.initializer)
        found = session.run(loss, {x: X})
        session.run(step, {x: X})
        return [float(found), *session.run(variable).tolist()]


NESTINGS = ["loop cond", "cond loop", "loop case", "loop call cond", "case loop cond call"]


@pytest.mark.parametrize(
    "words", [pytest.param(words, marks=pytest.mark.deep) for words in NESTINGS[:-1]] + NESTINGS[-1:]
)
def test_a_variable_that_one_branch_leaves_alone_trains_in_every_copy(words, tmp_path):
    module = Nested(words)
    tf.saved_model.save(module, str(tmp_path / "saved"))
    ed, saved = gs.open(module), gs.open(str(tmp_path / "saved"))
    (x,), (y,) = ed.inputs.values(), ed.outputs.values()
    wanted = trained(module, module.w)
    assert wanted[1:] != [2.0, 3.0]
    function, served = ed.function(x, y), saved.function(saved.inputs, saved.outputs)
    assert trained(function, function.variables[0]) == pytest.approx(wanted)
    assert trained(served, served.variables[0]) == pytest.approx(wanted)
    layer = ed.keras_layer(x, y)
    again = type(layer).from_config(layer.get_config())
    again(X)
    again.set_weights(layer.get_weights())
    for one in (layer, again):
        assert trained(one, one.trainable_weights[0].value) == pytest.approx(wanted)
    dst = gs.open(tf.Graph())
    dst.apply(dst.plan().copy(ed.select(), to="copy"))
    assert trained_in(dst.graph, f"copy/{x}", f"copy/{y}") == pytest.approx(wanted)
    opened = ed.inlined()
    assert trained_in(opened.graph, x, *opened.outputs.values()) == pytest.approx(wanted)


def calling(function, *names):
    """A FunctionDef of two resources, which calls another with the first and each of some tensors."""
    made = function_pb2.FunctionDef()
    made.signature.name = function
    for name in ("a", "b"):
        made.signature.input_arg.add(name=name, type=tf.resource.as_datatype_enum)
    made.node_def.add(name="own", op="VarHandleOp")
    made.node_def[0].attr["dtype"].type = tf.int32.as_datatype_enum
    made.node_def[0].attr["shape"].shape.CopyFrom(tf.TensorShape([7]).as_proto())
    made.node_def.add(name="same", op="Identity", input=["a"])
    made.node_def.add(name="loop", op="While", input=["b", "same:output:0"])
    made.node_def.add(name="round", op="Identity", input=["round:output:0"])
    for i, name in enumerate(names):
        made.node_def.add(name=f"call_{i}", op="PartitionedCall", input=["a", name, "^own"])
        made.node_def[-1].attr["f"].func.name = "inner"
    return made


@pytest.mark.parametrize(
    ("reads", "wanted"),
    [
        (["b"], [2]),
        (["loop:output:1"], [1]),
        (["own:resource:0"], [7]),
        (["loop:output:0", "b"], [2]),
        (["b", "same:output:0"], None),
        (["round:output:0"], None),
        (["absent:output:0"], None),
    ],
    ids=["an argument", "through a loop", "its own", "twice the same", "not the same", "in a circle", "not there"],
)
def test_a_resource_says_what_all_that_call_say_of_it(reads, wanted):
    plain = {"outer": calling("outer", *reads), "inner": calling("inner")}
    with tf.Graph().as_default():
        variables = [tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[size]) for size in (1, 2)]
    call = node_def_pb2.NodeDef(name="call", op="PartitionedCall", input=["x", "y"])
    call.attr["f"].func.name = "outer"
    found = with_handles(plain, [SimpleNamespace(node_def=call, inputs=variables)], {}, plain)
    assert not plain["outer"].signature.input_arg[0].handle_data
    first, second = (
        [[dim.size for dim in one.shape.dim] for one in argument.handle_data]
        for argument in found["inner"].signature.input_arg
    )
    assert (first, second) == ([[1]], [] if wanted is None else [wanted])
