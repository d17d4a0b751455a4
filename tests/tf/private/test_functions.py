"""What is private in the functions of graphs."""

from __future__ import annotations

import pytest
import tensorflow as tf
from tensorflow.core.framework import function_pb2

from graphsurgeon.tf.private import c_api, functions, graphs
from tests import modules

tf1 = tf.compat.v1


def calling():
    """Returns a graph with a call of a function, the call, and the `tf.function`."""
    double = tf.function(lambda t: t * 2.0)
    with tf.Graph().as_default() as graph:
        result = double(tf1.placeholder(tf.float32, [2], name="x"))
    call = next(op for op in graph.get_operations() if op.type == "PartitionedCall")
    return graph, call, result, double


def test_functions_of_a_graph():
    graph, call, _, _ = calling()
    name = call.get_attr("f").name
    held = c_api.functions_of(graph)
    assert list(held) == [name]
    assert functions.is_eager(held[name])
    assert c_api.functions_of(object()) == {}
    other = tf.Graph()
    functions.add_function(other, held[name])
    assert list(c_api.functions_of(other)) == [name]
    functions.remove_function(other, name)
    assert c_api.functions_of(other) == {}


def test_the_bodies_that_were_traced_here():
    graph, call, _, double = calling()
    (concrete,) = functions.traces(double)
    assert functions.bodies(graph) == {call.get_attr("f").name: concrete.graph}
    read = tf.Graph()
    with read.as_default():
        tf.graph_util.import_graph_def(graph.as_graph_def(), name="")
    assert functions.bodies(read) == {}


def test_functions_of_a_library():
    graph, call, _, _ = calling()
    made = functions.from_library(graph.as_graph_def().library)
    assert [function.name for function in made] == [call.get_attr("f").name]
    assert not functions.is_eager(made[0])


def test_traces():
    graph, call, _, double = calling()
    (concrete,) = functions.traces(double)
    assert functions.function_name(concrete) == call.get_attr("f").name
    assert functions.is_traced(concrete.graph)
    assert not functions.is_traced(graph)
    assert functions.traces(object()) == []


def test_definitions_are_loaded_under_new_names():
    graph, call, _, _ = calling()
    name = call.get_attr("f").name
    made = functions.load_functions(graph.as_graph_def().library.function)
    assert list(made) == [name]
    assert functions.function_name(made[name]) != name
    (result,) = made[name].graph.outputs
    assert (result.dtype, result.shape) == (tf.float32, [2])
    assert functions.load_functions([]) == {}


def test_what_the_resources_of_a_function_hold_is_written():
    w = tf.Variable([1.0, 2.0])
    concrete = tf.function(lambda: w + 1.0).get_concrete_function()
    definition = function_pb2.FunctionDef()
    definition.CopyFrom(concrete.function_def)
    for argument in definition.signature.input_arg:
        del argument.handle_data[:]
    functions.write_handle_data(concrete, definition)
    (argument,) = definition.signature.input_arg
    assert [(d.dtype, d.shape.dim[0].size) for d in argument.handle_data] == [(tf.float32.as_datatype_enum, 2)]
    functions.write_handle_data(object(), function_pb2.FunctionDef())
    assert functions.handle_contents(concrete.graph.inputs[0]) == list(argument.handle_data)
    assert functions.handle_contents(concrete.graph.outputs[0]) == []


def test_calls_get_their_gradient_again():
    graph, call, _, double = calling()
    name = call.get_attr("f").name
    graphs.set_gradient_function(call, None)
    functions.restore_gradients(graph, {})
    assert graphs.gradient_function(call) is None
    functions.restore_gradients(graph, c_api.functions_of(graph))
    kept = graphs.gradient_function(call)
    assert kept is not None
    functions.restore_gradients(graph, {name: functions.traces(double)[0]})
    assert graphs.gradient_function(call) is kept


@pytest.mark.parametrize(("slope", "wanted"), [("derived", 6.0), ("named", 12.0), ("python", 5.0)])
def test_ops_whose_type_is_a_function_get_a_gradient(slope, wanted):
    scalar = tf.TensorSpec([], tf.float32)
    square = tf.function(lambda x: x * x).get_concrete_function(scalar)
    twice = tf.function(lambda x, dy: 4.0 * x * dy).get_concrete_function(scalar, scalar)
    (one,), (other,) = (functions.load_functions([made.function_def]).values() for made in (square, twice))
    own = {"derived": None, "named": other, "python": lambda op, dy: dy * 5.0}[slope]

    @tf.function(input_signature=[scalar], autograph=False)
    def gradient(x):
        graph = tf1.get_default_graph()
        one.add_to_graph(graph)
        call = graph.create_op(functions.function_name(one), [x], [tf.float32], name="call")
        functions.set_gradients(graph, {call.type: one}, {call.type: own})
        return tf.gradients(call.outputs[0], x)[0]

    assert gradient(tf.constant(3.0)) == wanted


@pytest.mark.parametrize("runs", ["once", "once more"])
def test_a_function_that_was_loaded_has_a_gradient(runs):
    square = tf.function(lambda x: x * x).get_concrete_function(tf.TensorSpec([], tf.float32))
    (loaded,) = functions.load_functions([square.function_def]).values()
    with tf.Graph().as_default() as graph, tf1.Session() as session:
        loaded.add_to_graph(graph)
        x = tf1.placeholder(tf.float32, [])
        (y,) = tf.raw_ops.PartitionedCall(args=[x], Tout=[tf.float32], f=loaded)
        found = functions.traced_gradient(loaded) if runs == "once" else functions.gradient_of(loaded, None)
        graphs.set_gradient_function(y.op, found)
        slopes = tf.gradients(y, x) + tf.gradients(y, x)
        assert (len(y.op.outputs) == 1) is (runs == "once more")
        assert session.run(slopes, {x: 3.0}) == [6.0, 6.0]


def test_the_object_whose_method_a_function_is():
    net = modules.Net()
    assert functions.owner_of(net.forward.python_function) is net
    net.forward.get_concrete_function()  # TensorFlow keeps the method elsewhere from then on
    assert functions.owner_of(net.forward.python_function) is net
    assert functions.owner_of(tf.function(lambda: 1).python_function) is None
