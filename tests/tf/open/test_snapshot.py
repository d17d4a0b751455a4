"""Reading a live graph: the snapshot says what TensorFlow says."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.graph.variables import CollectionEntry
from graphsurgeon.tf.functions import definitions
from graphsurgeon.tf.functions.definitions import definition
from graphsurgeon.tf.open import snapshot as read
from graphsurgeon.tf.open.snapshot import snapshot
from tests.graphs import KINDS, look, model, tiny

tf1 = tf.compat.v1


@pytest.mark.parametrize("kind", KINDS)
def test_ops_edges_and_shapes(kind):
    m = model(kind)
    before = look(m.graph)
    g = snapshot(m.graph)
    for i, op in enumerate(m.graph.get_operations()):
        assert (g.names[i], g.types[i]) == (op.name, op.type)
        assert g.input_names(i) == [t.name for t in op.inputs]
        assert sorted(g.control_names(i)) == sorted(c.name for c in op.control_inputs)
        for tensor, info in zip(op.outputs, g.outputs(i), strict=True):
            assert info.dtype == tensor.dtype.name
            assert info.shape == (None if tensor.shape.rank is None else tuple(tensor.shape.as_list()))
    assert g.owner is m.graph
    assert look(m.graph) == before


@pytest.mark.parametrize("kind", KINDS)
def test_variables(kind):
    g = snapshot(model(kind).graph)
    w = g.state.variables["net/w"]
    assert (w.op, w.dtype, w.shape, w.trainable, w.resource) == (
        "net/w", "float32", "(2, 3)", True, kind == "resource",
    )  # fmt: skip
    assert sorted(w.collections) == ["mine", "trainable_variables", "variables"]
    assert w.initializer == "net/w/Assign"
    assert g.tensor(w.initial_value)
    assert g.tensor(w.snapshot)
    assert not g.state.variables["global_step"].trainable


def test_collections():
    graph = model("ref").graph
    graph.add_to_collection("odd", ("a", 1))
    collections = snapshot(graph).state.collections
    assert collections["mine"] == (CollectionEntry("tensor", "net/y:0"), CollectionEntry("variable", "net/w"))
    assert collections["train_op"] == (CollectionEntry("op", "train"),)
    assert collections["odd"] == (CollectionEntry("value", "('a', 1)"),)


def test_growing():
    graph = tiny()
    first = snapshot(graph)
    assert snapshot(graph, first) is first
    with graph.as_default():
        tf.negative(graph.get_tensor_by_name("z:0"), name="n")
    second = snapshot(graph, first)
    assert second.fingerprint == snapshot(graph).fingerprint
    assert (first.size, second.size) == (5, 6)
    assert str(second.info(5, 0)) == "float32 (?, 2)"
    assert snapshot(tiny(), second).size == 5


def test_a_set_shape_is_seen():
    graph = tiny()
    g = snapshot(graph)
    graph.get_tensor_by_name("y:0").set_shape([4, 2])
    assert str(snapshot(graph).info(g.index["y"], 0)) == "float32 (4, 2)"


def test_variables_and_collections_are_read_once_for_a_plan_and_again_where_they_changed(monkeypatch):
    graph, asked = tiny(), []
    real = read.state
    monkeypatch.setattr(read, "state", lambda graph: asked.append(graph) or real(graph))
    ed = gs.open(graph)
    for _ in range(3):
        assert not ed.plan().remove("y", stitch=True).check()
        assert ed.snapshot.state.collections == {}
    assert len(asked) == 1
    graph.add_to_collection("kept", graph.get_tensor_by_name("y:0"))
    assert set(ed.snapshot.state.collections) == {"kept"}
    with graph.as_default():
        tf1.get_variable("w", [2])
    assert set(ed.snapshot.state.variables) == {"w"}
    assert len(asked) == 3


def test_functions_are_definitions_read_when_they_are_asked_for(monkeypatch):
    graph = tf.Graph()
    with graph.as_default():
        tf.function(lambda v: tf.negative(v, name="minus"))(tf1.placeholder(tf.float32, [2], name="x"))
    found = snapshot(graph)
    asked = []
    monkeypatch.setattr(definitions, "definition", lambda function: asked.append(function) or definition(function))
    functions = found.functions
    (name,) = functions
    assert (len(functions), name in functions, "minus" in functions, asked) == (1, True, False, [])
    assert [node.name for node in functions[name].node_def][:1] == ["minus"]
    assert functions[name] is found.functions[name]
    assert len(asked) == 1
    with graph.as_default():
        tf.zeros([], name="more")
    assert set(snapshot(graph, found).functions) == {name}
    assert dict(snapshot(tiny()).functions) == {}
