"""What is inside a function, as a snapshot to look at."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import SelectionError
from graphsurgeon.graph.functions import callees_of
from graphsurgeon.tf.functions.expand import ArgumentInfo, BodyOutputs, function_body
from tests.corpus import corpus_ids
from tests.refusal import refuses
from tests.tf2 import calling_twice_deep

tf1 = tf.compat.v1


def called_functions(graph, op):
    return sorted(one.function for one in callees_of(graph.nodes[op], graph.functions))


def opened():
    return gs.open(calling_twice_deep()).snapshot


def test_ports_arguments_results_and_calls_in_calls():
    graph = opened()
    (call,) = [i for i, t in enumerate(graph.types) if "PartitionedCall" in t]
    (name,) = called_functions(graph, call)
    inside = function_body(graph, name)
    assert inside.title == f"{name} of graph"
    kinds = dict(zip(inside.names, inside.types, strict=True))
    assert kinds["a"] == "_Arg"
    assert list(kinds.values()).count("_Retval") == 1
    less = inside.index["less"]
    (deeper,) = [i for i, t in enumerate(inside.types) if "PartitionedCall" in t]
    assert inside.input_names(less) == [f"{inside.names[deeper]}:1", f"{inside.names[deeper]}:0"]
    (second,) = called_functions(inside, deeper)
    parts = function_body(inside, second)
    assert "Split" in parts.types


def test_a_function_that_is_not_there():
    graph = opened()
    with refuses(SelectionError, "unfold(function='f'): graph has no function with this name", "It has "):
        function_body(graph, "f")


def test_ops_that_call_nothing():
    graph = opened()
    assert called_functions(graph, graph.index["x"]) == []


def inside(graph, kind="PartitionedCall", function=""):
    (call,) = [i for i, t in enumerate(graph.types) if t.endswith(kind)]
    (name,) = [name for name in called_functions(graph, call) if function in name]
    return function_body(graph, name, call)


def reported(graph):
    return {f"{n}:{p}": str(info) for i, n in enumerate(graph.names) for p, info in enumerate(graph.outputs(i) or ())}


def test_arguments_have_the_shapes_of_this_call_and_variables_those_they_hold_at_any_depth():
    graph = tf.Graph()
    with graph.as_default():
        w = tf1.get_variable("w", [4, 3], use_resource=True)

        @tf.function
        def inner(a):
            return tf.matmul(a, w.read_value(), name="mm")

        @tf.function(input_signature=[tf.TensorSpec(None, tf.float32)])
        def outer(a):
            return tf.nn.relu(inner(a), name="relu")

        outer(tf1.placeholder(tf.float32, [None, 4], name="x"))
    first = inside(gs.open(graph).snapshot)
    assert reported(first)["a:0"] == "float32 (?, 4)"
    assert reported(first)["relu:0"] == "float32 (?, 3)"
    assert reported(inside(first))["mm:0"] == "float32 (?, 3)"


def test_what_a_loop_carries_has_the_shape_that_the_loop_says():
    graph = tf.Graph()
    with graph.as_default():
        start = tf.ones([1, 2])
        tf.while_loop(
            lambda i, a: i < 3,
            lambda i, a: (i + 1, tf.concat([a, a], 0, name="longer")),
            [tf.constant(0), start],
            shape_invariants=[tf.TensorShape([]), tf.TensorShape([None, 2])],
        )
    found = inside(gs.open(graph).snapshot, "While", "body")
    assert reported(found)[f"{found.names[found.types.index('ConcatV2')]}:0"] == "float32 (?, 2)"


def test_the_argument_of_a_map_has_the_shape_of_the_elements_of_its_dataset():
    with tf.Graph().as_default() as graph:
        dataset = tf.data.Dataset.from_tensor_slices(tf.zeros([5, 3])).map(lambda row: row * 2.0)
        tf1.data.make_initializable_iterator(dataset)
    assert reported(inside(gs.open(graph).snapshot, "MapDataset"))["args_0:0"] == "float32 (3,)"


def test_results_have_no_outputs_and_the_inspector_and_the_search_know_shapes():
    graph = tf.Graph()

    @tf.function
    def twice(a):
        return tf.add(a, a, name="sum")

    with graph.as_default():
        twice(tf1.placeholder(tf.float32, [5], name="x"))
    screen = gs.open(graph).screen
    call = next(n for n in screen.source.snapshot.names if "Call" in n)
    screen.unfold(call)
    own = f"{call}/sum"
    assert screen.details(own)["outputs"] == [{"tensor": f"{own}:0", "text": "float32 (5,)"}]
    assert dict(screen.details(own)["rows"])["output size"] == "20 bytes"
    assert [hit["name"] for hit in screen.find("shape:5 op:AddV2")["hits"]] == [own]
    inner = inside(screen.source.snapshot)
    assert [inner.outputs(i) for i, t in enumerate(inner.types) if t == "_Retval"] == [[]]


def test_a_body_that_tensorflow_cannot_read_is_looked_at_without_shapes():
    node = tf1.NodeDef(name="odd", op="NoSuchOpAtAll")
    asked = BodyOutputs([node], {}, {"x": ArgumentInfo()}, tf.Graph())
    assert asked(0) is None


@pytest.mark.parametrize("id", corpus_ids(lambda i: i["id"] in ("k_gru_bilstm_while_v2", "mlperf_tiny_kws")))
def test_bodies_of_real_models_are_known(corpus, id):
    graph = gs.open(corpus.path(id)).snapshot
    for call in [i for i, t in enumerate(graph.types) if "PartitionedCall" in t]:
        for name in called_functions(graph, call):
            inner = function_body(graph, name, call)
            assert None not in [inner.outputs(i) for i in range(inner.size)], name
