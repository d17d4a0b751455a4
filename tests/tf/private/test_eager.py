"""What is private in TensorFlow's eager side and in Keras."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import context
from tensorflow.python.framework import ops

from graphsurgeon.tf.private import eager
from tests import modules
from tests.tf2 import Net

tf1 = tf.compat.v1


def test_a_block_runs_eagerly_also_in_a_graph():
    with tf.Graph().as_default():
        with eager.eager():
            assert tf.executing_eagerly()
            assert float(tf.constant(2.0) + 1.0) == 3.0
        assert not tf.executing_eagerly()


def test_the_mode_is_put_back_where_leaving_a_graph_was_stopped():
    with tf.Graph().as_default() as graph:
        put_back = eager.mode_restorer()
        ops._default_graph_stack.stack.append(tf.Graph())
        assert tf1.get_default_graph() is not graph
        put_back()
        assert tf1.get_default_graph() is graph
        assert not tf.executing_eagerly()
    put_back = eager.mode_restorer()
    context.context()._thread_local_data.is_eager = False
    assert not tf.executing_eagerly()
    put_back()
    assert tf.executing_eagerly()


def test_what_is_trackable():
    assert eager.is_trackable(Net())
    assert not eager.is_trackable(lambda: None)


def test_the_variable_behind_a_handle():
    dtype, shape = eager.variable_data(tf.Variable([1.0, 2.0]).handle)
    assert (dtype, shape) == (tf.float32, [2])
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.float32, 0.0)
    assert eager.variable_data(table.resource_handle) is None
    assert eager.variable_data(tf.constant(1.0)) is None


def test_a_use_is_noted():
    w = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        eager.note_use(w)
        y = tf.raw_ops.ReadVariableOp(resource=w.handle, dtype=tf.float32) ** 2
    assert float(tape.gradient(y, w)) == 6.0
    assert [v is w for v in tape.watched_variables()] == [True]


def test_what_a_keras_model_says_of_itself():
    given = tf.keras.Input([3])
    model = tf.keras.Model(given, tf.keras.layers.Dense(2)(given))
    (taken,) = tf.nest.flatten(eager.keras_inputs(model))
    assert tuple(taken.shape) == (None, 3)
    assert [layer.name for layer in eager.keras_layers(model)] == [layer.name for layer in model.layers]
    assert isinstance(eager.keras_built_shapes(model), dict)
    assert eager.keras_inputs(object()) is None
    assert eager.keras_built_shapes(object()) == {}
    assert eager.keras_layers(object()) == []
    around = tf.keras.Model(given, model(given))
    assert [layer is model for layer in eager.keras_layers(around, recursive=False)] == [False, True]
    assert len(eager.keras_layers(around)) > 2
    chain = tf.keras.Sequential([given, *model.layers[1:]])
    assert type(eager.keras_inside(chain)).__name__ == "Functional"
    assert eager.keras_inside(model) is model
    nodes = eager.keras_nodes(model)
    assert all(isinstance(node, eager.KerasNode) for node in nodes)
    assert [node.layer for node in nodes] == [layer for layer in model.layers if type(layer).__name__ != "InputLayer"]
    (again,) = nodes[0].repeat_call({id(nodes[0].inputs[0]): nodes[0].inputs[0]})
    assert again.shape == nodes[0].outputs[0].shape
    assert eager.keras_nodes(object()) == []


def test_who_trains():
    import keras

    found = []

    class Asking(keras.layers.Layer):
        def build(self, shape):
            self.scale = self.add_weight(name="scale", shape=())

        def call(self, x):
            found.append(eager.keras_trains())
            return x * self.scale

    model = keras.Sequential([keras.Input((1,)), asking := Asking()], name="asks")
    assert found.pop() is None
    model(np.ones((1, 1)))
    assert found.pop() is None
    model.compile("sgd", "mse")
    model.fit(np.ones((2, 1)), np.ones((2, 1)), verbose=0)
    asks, seen = found[-1]
    assert asks is model
    assert seen == {id(asking.scale.value)}
    assert eager.keras_trains() is None


def test_what_a_module_has_and_where_it_is_called():
    net = modules.Net()
    names = [name for name, _ in eager.module_attributes(net)]
    assert {"enc", "head"} <= set(names)
    assert not {"_obj_reference_counts_dict", "_self_unconditional_checkpoint_dependencies"} & set(names)
    assert eager.module_attributes(3) == []
    assert eager.module_scope(net.enc.first) == "encoder/dense"
    assert eager.module_scope(object()) == ""


def test_a_method_is_called_as_the_code_that_is_traced_calls_it():
    dense = modules.Dense()
    seen = tf.function(lambda x: eager.traced_method(modules.Dense.__call__, dense)(x), autograph=False)
    x = tf.ones([1, 3])
    np.testing.assert_array_equal(eager.traced_method(modules.Dense.__call__, dense)(x), dense(x))
    with pytest.raises(tf.errors.OperatorNotAllowedInGraphError):
        seen(x)  # no graph code is asked
    asked = tf.function(dense)
    np.testing.assert_array_equal(asked(x), dense(x))
