"""A function of a file or graph opens by its name, as a signature does."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

import graphsurgeon as gs
from graphsurgeon.errors import OpenError
from tests.refusal import refuses
from tests.tf2 import ROWS, Net, Words

tf1 = tf.compat.v1


class Deep(tf.Module):
    """A module with a module in it, and a function that was traced twice."""

    def __init__(self) -> None:
        super().__init__()
        self.net, self.words = Net(), Words()
        self.idle = tf.Variable([1.0, 2.0], name="gain")
        self.twice(tf.zeros([2]))
        self.twice(tf.zeros([3, 2]))

    @tf.function
    def twice(self, x):
        return x * 2.0 * self.idle


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A SavedModel of `Deep`; one function of it is a signature."""
    path, deep = tmp_path_factory.mktemp("deep"), Deep()
    tf.saved_model.save(deep, str(path), signatures={"look": deep.words.__call__})
    return path


def run(ed, feeds):
    """Returns what an opened function gives."""
    return ed.session().run(ed.outputs, {ed.inputs[key]: value for key, value in feeds.items()})


def test_a_function_of_a_saved_model_opens_by_the_way_to_it(folder):
    ed, net = gs.open(folder, function="net.forward"), Net()
    assert list(ed.inputs) == ["x"]
    assert set(ed.snapshot.state.variables) == {"layer/w", "layer/b"}
    got, want = run(ed, {"x": ROWS}), net.forward(ROWS)
    np.testing.assert_array_equal(got["y"], want["y"])
    np.testing.assert_array_equal(got["twice"], want["twice"])
    assert "signature    function net.forward; others: look" in str(ed)
    assert f"gs.open({str(folder)!r}, function='net.forward')" in ed.plan().to_code()
    assert [one.name for one in ed.signatures] == ["look"]


def test_a_function_with_a_table_opens_with_what_fills_it(folder):
    ed = gs.open(folder, function="words.look")
    words, given = Words(), tf.constant(["b", "?"])
    np.testing.assert_array_equal(run(ed, {"words": ["b", "?"]})["output"], words.look(given))


def test_of_several_traces_one_is_chosen(folder):
    with refuses(OpenError, "function 'twice' was traced 2 times", "Choose function='__inference_twice"):
        gs.open(folder, function="twice")
    meta = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes()).meta_graphs[0]
    names = [f.signature.name for f in meta.graph_def.library.function if "_twice_" in f.signature.name]
    shapes = set()
    for ed in (gs.open(folder, function=name) for name in names):
        shape = ed.snapshot.info(*ed.snapshot.tensor(ed.inputs["x"])).shape
        got = run(ed, {"x": np.ones(shape, np.float32)})["output"]
        assert got.reshape(-1, 2).tolist() == [[2.0, 4.0]] * (got.size // 2)
        shapes.add(shape)
    assert shapes == {(2,), (3, 2)}


def test_a_function_that_is_not_there(folder):
    with refuses(OpenError, "function='net.foward'): it has no function 'net.foward'", "Choose function='net.forward'"):
        gs.open(folder, function="net.foward")
    graph = tf.Graph()
    with graph.as_default():
        tf1.placeholder(tf.float32, name="x")
    with refuses(OpenError, "open(graph, function='f'): it has no function 'f'", "It has no functions"):
        gs.open(graph, function="f")
    with refuses(OpenError, "training= is not possible for an object of type", "Leave out training="):
        gs.open(graph, training=True)


def test_a_function_of_a_graph_opens_by_its_name(tmp_path):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="given")
        tf.function(lambda a: tf.add(tf.square(a, name="own"), 1.0, name="sum"))(x)
    (name,) = [f.signature.name for f in graph.as_graph_def().library.function]
    (tmp_path / "g.pb").write_bytes(graph.as_graph_def().SerializeToString())
    for thing in (graph, graph.as_graph_def(), tmp_path / "g.pb"):
        ed = gs.open(thing, function=name)
        assert {"own", "sum"} <= set(ed.snapshot.names)
        (given,), (result,) = ed.inputs.values(), ed.outputs.values()
        assert ed.session().run(result, {given: [2.0, 3.0]}).tolist() == [5.0, 10.0]
        assert f"function={name!r}" in ed.opened_graph.code


def test_a_capture_that_nothing_makes(folder, tmp_path):
    saved = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    meta = saved.meta_graphs[0]
    name = next(f.signature.name for f in meta.graph_def.library.function if "inference_forward" in f.signature.name)
    meta.object_graph_def.concrete_functions[name].bound_inputs[0] = 0
    with refuses(OpenError, f"its function {name!r} captures ", ", which no op of the file makes",
                 "Open a signature, or the graph as stored: raw=True"):  # fmt: skip
        gs.open(saved, function=name)
