"""A graph read from its protos alone: it is what TensorFlow would import, op for op, and nothing is imported."""

from __future__ import annotations

import random

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import OpenError
from graphsurgeon.tf.open.protos import file_snapshot
from tests.corpus import corpus_cases
from tests.graphs import KINDS, model
from tests.refusal import refuses

tf1 = tf.compat.v1
# TensorFlow refuses these; they are read all the same
REFUSED = {
    "me_graphdef_foo", "samsung_customop", "tf_grappler_function_error", "tf_parse_example_graph", "tf_g2m_switch_n",
    "tf_grappler_while_loop_var_handle_op", "contrib_tensor_forest",
}  # fmt: skip


def readable(item):
    """Whether TensorFlow imports a graph, and in a second or so; one item cannot be parsed."""
    return (item["n_ops"] or 0) < 12_000 and item["id"] not in REFUSED | {"tf_g2m_graph_malformed"}


def imported(graph_def, meta=None):
    """What TensorFlow makes of the same protos, with the collections where there are some."""
    whole = graph_def
    if meta is not None:
        whole = tf1.MetaGraphDef()
        whole.CopyFrom(meta)
        whole.graph_def.CopyFrom(graph_def)
    ed = gs.open(whole)
    ed.graph.get_operations()  # which says so where TensorFlow refuses it
    return ed.snapshot


def equal(read, live):
    """Asserts that a snapshot read from protos says what that of the imported graph says."""
    assert read.names == live.names
    assert list(read.types) == list(live.types)
    for of_read, of_live in zip(read.data, live.data, strict=True):
        np.testing.assert_array_equal(of_read, of_live)
    for i in range(read.size):
        assert sorted(read.control_names(i)) == sorted(live.control_names(i))
        mine, theirs = read.outputs(i), live.outputs(i)
        assert [t.dtype for t in mine] == [t.dtype for t in theirs], read.names[i]
        for a, b in zip(mine, theirs, strict=True):
            assert tf.TensorShape(a.shape).is_compatible_with(tf.TensorShape(b.shape)), read.names[i]
    assert read.state == live.state
    assert list(read.state.variables) == list(live.state.variables)
    assert list(read.state.collections) == list(live.state.collections)
    assert sorted(read.functions) == sorted(live.functions)


def loops():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [3], name="x")
        tf1.disable_control_flow_v2()
        try:
            total = tf1.while_loop(
                lambda i, _: i < 3,
                lambda i, s: (i + 1, s + tf1.cond(i > 1, lambda: x * 2.0, lambda: x)),
                [0, tf.zeros([3])],
            )[1]
        finally:
            tf1.enable_control_flow_v2()
        tf1.gradients(tf.reduce_sum(total), x)
    return graph


def holders():
    with tf.Graph().as_default() as graph:
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1]), 0)
        table.lookup(tf1.placeholder(tf.string, [None], name="words"))
        queue = tf1.FIFOQueue(3, tf.float32, shapes=[[2]])
        runner = tf1.train.QueueRunner(queue, [queue.enqueue([[1.0, 2.0]])])
        tf1.train.add_queue_runner(runner)
        queue.dequeue(name="row")
        iterator = tf1.data.make_initializable_iterator(tf.data.Dataset.range(3))
        iterator.get_next(name="number")
        tf1.get_variable("w", [2], initializer=tf1.ones_initializer(), partitioner=tf1.fixed_size_partitioner(2))
        tf1.train.Saver(name="keep")
    return graph


def exported(graph):
    """The MetaGraphDef of a graph."""
    with graph.as_default():
        return tf1.train.export_meta_graph(graph=graph)


GRAPHS = {
    **{f"model-{kind}": lambda kind=kind: model(kind).graph for kind in KINDS},
    "loops": loops,
    "holders": holders,
}


@pytest.mark.parametrize("kind", GRAPHS)
def test_it_is_what_would_be_imported(kind):
    meta = exported(GRAPHS[kind]())
    equal(file_snapshot(meta.graph_def, meta), imported(meta.graph_def, meta))
    equal(file_snapshot(meta.graph_def), imported(meta.graph_def))


@pytest.mark.parametrize("kind", GRAPHS)
@pytest.mark.parametrize("seed", range(3))
def test_ops_stand_where_the_importer_puts_them_whatever_their_order_in_the_file(kind, seed):
    meta = exported(GRAPHS[kind]())
    nodes = list(meta.graph_def.node)
    random.Random(seed).shuffle(nodes)
    shuffled = tf1.GraphDef(versions=meta.graph_def.versions, library=meta.graph_def.library, node=nodes)
    equal(file_snapshot(shuffled, meta), imported(shuffled, meta))


@pytest.mark.parametrize("id", corpus_cases(readable))
def test_a_real_graph(corpus, id):
    graph_def, meta = corpus.protos(id)
    live = imported(graph_def, meta)
    equal(file_snapshot(graph_def, meta), live)


@pytest.mark.parametrize("id", corpus_cases(lambda item: item["id"] in REFUSED))
def test_what_tensorflow_refuses_is_read(corpus, id):
    graph_def, meta = corpus.protos(id)
    with pytest.raises(OpenError):
        imported(graph_def, meta)
    read = file_snapshot(graph_def, meta)
    assert sorted(read.names) == sorted(node.name for node in graph_def.node)
    for i in range(read.size):
        read.outputs(i)


def test_of_an_op_type_that_nobody_knows_the_readers_tell():
    graph_def = tf1.GraphDef()
    graph_def.node.add(name="x", op="Placeholder").attr["dtype"].type = tf.float32.as_datatype_enum
    graph_def.node.add(name="odd", op="OpOfAnotherLibrary", input=["x"])
    graph_def.node.add(name="y", op="Neg", input=["odd:3"]).attr["T"].type = tf.float32.as_datatype_enum
    read = file_snapshot(graph_def)
    assert read.unknown_types == {"OpOfAnotherLibrary"}
    # what its readers ask for is all that can be known; nobody says how many outputs it has
    assert [str(info) for info in read.outputs(1)] == ["unknown unknown shape"] * 3 + ["float32 unknown shape"]
    assert read.tensor("odd:7") == (1, 7)
    assert read.input_names(2) == ["odd:3"]
    assert [t.dtype for t in read.outputs(2)] == ["float32"]


def test_no_graph_is_made(monkeypatch):
    meta = exported(holders())

    def refuse(*_args, **_options):
        raise AssertionError("a graph was made")

    monkeypatch.setattr(tf.Graph, "__init__", refuse)
    read = file_snapshot(meta.graph_def, meta)
    assert read.state.variables
    assert read.outputs(read.find("row")) is not None


def test_an_input_that_is_not_there():
    graph_def = tf1.GraphDef()
    graph_def.node.add(name="y", op="Neg", input=["x"])
    with refuses(OpenError, "op 'y'", "its input 'x' names no op of this graph", "Give the whole graph"):
        file_snapshot(graph_def)


def test_an_input_with_a_number_that_no_output_has():
    graph_def = tf1.GraphDef()
    graph_def.node.add(name="x", op="Placeholder")
    graph_def.node.add(name="y", op="Neg", input=["x:4294967296"])
    with refuses(
        OpenError, "op 'y'", "its input 'x:4294967296' has a number that no output has", "Write the graph out"
    ):
        file_snapshot(graph_def)


def test_two_ops_of_one_name():
    graph_def = tf1.GraphDef()
    for _ in range(2):
        graph_def.node.add(name="x", op="NoOp")
    with refuses(OpenError, "open", "two ops are called 'x'", "Rename one"):
        file_snapshot(graph_def)


def test_a_collection_that_is_damaged():
    meta = tf1.MetaGraphDef()
    meta.graph_def.node.add(name="x", op="NoOp")
    meta.collection_def["variables"].bytes_list.value.append(b"\xff\xff")
    read = file_snapshot(meta.graph_def, meta, request="open('x.meta')")
    with refuses(OpenError, "open('x.meta')", "collection 'variables' is damaged", "Give the GraphDef alone"):
        read.state  # noqa: B018


def test_a_context_of_a_loop_that_is_not_there():
    meta = exported(loops())
    context = meta.collection_def["while_context"].bytes_list
    meta.graph_def.ClearField("node")
    meta.graph_def.node.add(name="x", op="NoOp")
    only = tf1.MetaGraphDef(graph_def=meta.graph_def)
    only.collection_def["while_context"].bytes_list.value.extend(context.value)
    assert file_snapshot(only.graph_def, only).state.contexts == ()
