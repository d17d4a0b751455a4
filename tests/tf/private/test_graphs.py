"""What is private in graphs, ops and tensors: each name does what it says, and what replaces it gives the same."""

from __future__ import annotations

import pytest
import tensorflow as tf

from graphsurgeon.graph.provenance import COLLECTION
from graphsurgeon.tf.private import c_api, graphs
from tests.graphs import model, tiny

tf1 = tf.compat.v1


def ops(graph, *names):
    return [graph.get_operation_by_name(name) for name in names]


@pytest.fixture(params=[True, False], ids=["quick", "public"])
def ways(request, monkeypatch):
    """Runs a test with the private ways of this TensorFlow, and with the public ones that take their place."""
    if not request.param:
        monkeypatch.setattr(graphs, "_RAW_SHAPES", False)
        monkeypatch.setattr(graphs, "_RAW_NODES", False)
        monkeypatch.setattr(graphs, "_PYTHON", None)
        monkeypatch.setattr(graphs, "_HAS_OP_COUNT", False)


@pytest.mark.usefixtures("ways")
def test_ops_are_counted():
    graph = tiny()
    assert graphs.op_count(graph) == len(graph.get_operations())
    with graph.as_default():
        tf.import_graph_def(tiny().as_graph_def(), name="again")
    assert graphs.op_count(graph) == len(graph.get_operations())


@pytest.mark.usefixtures("ways")
def test_shapes_are_compared():
    graph = tiny()
    x, y, k = (op.outputs[0] for op in ops(graph, "x", "y", "k"))
    assert graphs.same_shape(x, y)
    assert not graphs.same_shape(x, k)
    other = tiny()
    pairs = list(zip(ops(graph, "x", "y"), ops(other, "x", "y"), strict=True))
    assert graphs.differently_shaped(pairs) == []
    x.set_shape([3, 2])
    assert graphs.differently_shaped(pairs) == [(x, other.get_tensor_by_name("x:0"))]


@pytest.mark.usefixtures("ways")
def test_nodes_as_bytes_are_the_nodes():
    graph = tiny()
    nodes = [tf1.NodeDef.FromString(data) for data in graphs.node_bytes(graph.get_operations())]
    assert nodes == [op.node_def for op in graph.get_operations()]


def test_kinds():
    graph = model().graph
    x = graph.get_tensor_by_name("x:0")
    assert type(x) is c_api.TENSOR
    assert {type(x), type(x.op)} == graphs.ELEMENT_TYPES
    sparse = tf.SparseTensor([[0, 0]], [1.0], [1, 1])
    assert [graphs.is_composite(thing) for thing in (sparse, x.op, [x])] == [True, False, False]


def test_ops_are_found_and_numbered():
    graph = tiny()
    x, y, z = ops(graph, "x", "y", "z")
    assert graphs.op_finder(graph)("y") is y
    with pytest.raises(KeyError):
        graphs.op_finder(graph)("no/such")
    assert [graphs.has_op(graph, name) for name in ("y", "no/such")] == [True, False]
    assert graphs.number_of(x) < graphs.number_of(y) < graphs.number_of(z)
    with graph.control_dependencies([z, x]):
        assert graphs.current_control_inputs(graph) == [x, z]
    assert graphs.current_control_inputs(graph) == []


def test_originals_and_attributes():
    graph = tiny()
    x, y, z = ops(graph, "x", "y", "z")
    assert graphs.originals_of([x, y]) == []
    graphs.set_original(y, x)
    assert graphs.originals_of([x, y, z]) == [None, x, None]
    assert graphs.originals_of([object()]) == []
    graphs.set_attribute(y, "_mark", tf1.AttrValue(s=b"here"))
    assert y.get_attr("_mark") == b"here"


def test_inputs_are_set_and_marked():
    graph = tiny()
    x, y, z = ops(graph, "x", "y", "z")
    assert graphs.rewiring_works()
    assert z.inputs[0] is y.outputs[0]
    if graphs.MARKS_INPUTS:
        before = graphs.input_marks([z])
        assert graphs.input_marks([z])[0] is before[0]
    graphs.set_input(z, 0, x.outputs[0])
    assert z.inputs[0] is x.outputs[0]
    if graphs.MARKS_INPUTS:
        assert graphs.input_marks([z])[0] is not before[0]
    graphs.set_control_inputs(z, (), (x, y))
    graphs.set_control_inputs(z, (x, y), (x, y))
    assert set(z.control_inputs) == {x, y}
    graphs.set_control_inputs(z, (x, y), (y,))
    assert z.control_inputs == [y]


def test_what_a_function_looks_up():
    assert c_api.names_in(lambda thing: thing.name.upper()) == ("name", "upper")
    assert c_api.names_in(len) == ()


def test_what_tensorflow_knows_of_op_types():
    assert [arg.name for arg in graphs.registered_op("MatMul").input_arg] == ["a", "b"]
    assert graphs.registered_op("NoSuchOp") is None
    assert callable(graphs.registered_gradient("MatMul"))
    with pytest.raises(LookupError):
        graphs.registered_gradient("NoSuchOp")


def test_an_op_type_says_on_which_devices_it_runs():
    assert "CPU" in graphs.kernel_devices("MatMul")
    assert graphs.kernel_devices("CudnnRNN") <= {"GPU"}
    assert graphs.kernel_devices("NoSuchOp") == frozenset()


def test_types_that_flops_are_counted_for():
    assert graphs.counts_flops("Conv2D")
    assert not graphs.counts_flops("NoOp")


def test_flops_are_those_of_tensorflow_or_none():
    with tf.Graph().as_default():
        product = tf.matmul(tf.ones([2, 3]), tf.ones([3, 5]))
        odd = tf1.placeholder(tf.float32, name="odd")
    assert graphs.flops(product.op) == 2 * 2 * 3 * 5
    assert graphs.flops(odd.op) is None


def test_the_gradient_that_is_kept_on_a_call():
    op = tiny().get_operation_by_name("y")
    assert graphs.gradient_function(op) is None
    graphs.set_gradient_function(op, len)
    assert graphs.gradient_function(op) is len


def test_what_a_graph_holds_beside_its_ops():
    graph = model().graph
    assert c_api.names_in_use(graph)["net"] == 1
    graph.add_to_collection(COLLECTION, b"ours")
    graph.add_to_collection(("odd", 1), 1)
    lists = graphs.collections_of(graph)
    assert list(lists) == sorted(lists)
    assert COLLECTION not in lists
    assert lists["mine"] is graph.get_collection_ref("mine")
    assert {COLLECTION, ("odd", 1), *lists} <= graphs.all_collections(graph).keys()
    assert graphs.all_collections(graph)["mine"] is lists["mine"]


def test_items_of_collections_are_read_as_tensorflow_reads_them():
    written, read = graphs.collection_reader("trainable_variables")
    assert written.DESCRIPTOR.name == "VariableDef"
    assert callable(read)
    assert graphs.collection_reader("no such") == (None, None)


def test_what_must_not_be_fetched_or_fed():
    graph = tiny()
    y = graph.get_operation_by_name("y")
    graph.prevent_fetching(y)
    graph.prevent_feeding(y.outputs[0])
    assert y in graphs.guarded_ops(graph)
    assert y.outputs[0] in list(graphs.guarded_tensors(graph))
    assert graphs.guarded_ops(object()) is graphs.guarded_tensors(object()) is None


@pytest.mark.usefixtures("ways")
def test_a_static_shape_is_read():
    with tf.Graph().as_default():
        known, some = tf.zeros([2, 3]), tf1.placeholder(tf.float32, [None, 3])
        assert [graphs.static_shape(t) for t in (known, some, tf.constant(1.0))] == [(2, 3), (None, 3), ()]
        free = tf1.placeholder(tf.float32)
        assert graphs.static_shape(free) is None
        free.set_shape([None, 4])
        assert graphs.static_shape(free) == (None, 4)


def test_callbacks_are_kept():
    graph = tiny()
    assert graphs.callbacks(graph) == []
    with graph.as_default():
        tf1.py_func(lambda x: x, [tf.constant(1.0)], tf.float32)
    held = graphs.callbacks(graph)
    assert len(held) == 1
    other = tiny()
    graphs.set_callbacks(other, held)
    assert graphs.callbacks(other) == held
    graphs.set_callbacks(other, [])
    assert graphs.callbacks(other) == []


@pytest.mark.usefixtures("ways")
def test_a_token_calls_a_function_from_another_graph():
    seen = []
    token, kept = graphs.token_of(seen.append)
    about = {"op": "PyFunc", "name": "call", "input": ["x"]}
    with tf.Graph().as_default() as graph:
        node = tf1.NodeDef(**about)
        node.attr["token"].s = token.encode()
        node.attr["Tin"].list.type.append(tf.float32.as_datatype_enum)
        node.attr["Tout"].list.SetInParent()
        x = tf.constant([1.0, 2.0])
        tf.import_graph_def(tf1.GraphDef(node=[node], versions=graph.graph_def_versions), {"x": x}, name="")
        tf1.Session().run("call")
    assert kept is not None
    assert [value.tolist() for value in seen] == [[1.0, 2.0]]


def test_what_a_resource_is_of_is_copied():
    with tf.Graph().as_default():
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[2])
        stand_in = tf1.placeholder(tf.resource)
        graphs.copy_handle_data(handle, stand_in)
        assert tf.raw_ops.ReadVariableOp(resource=stand_in, dtype=tf.float32).shape == [2]


@pytest.mark.parametrize("left", ["taken", "counted", "free"])
def test_a_lock_that_an_interrupt_has_left_taken_is_another_one_then(left):
    graph = tf.Graph()
    lock = graph._group_lock
    if left == "taken":
        lock._ready.acquire()
    elif left == "counted":
        lock._group_member_counts[0] += 1
    graphs.free_lock(graph, timeout=0.05)
    assert (graph._group_lock is lock) == (left == "free")
    with graph.as_default():
        y = tf.constant(2.0)
    with tf1.Session(graph=graph) as session:
        assert session.run(y) == 2.0
