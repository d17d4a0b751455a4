"""The fast import is there, or is known not to be."""

from __future__ import annotations

import linecache

import pytest
import tensorflow as tf

from graphsurgeon.tf.private import c_api
from tests.graphs import look, tiny

tf1 = tf.compat.v1


def test_this_tensorflow_has_the_fast_import():
    assert c_api.raw_import_works()


@pytest.mark.parametrize("missing", ["TF_GraphImportGraphDefWithResults", None])
def test_without_a_private_name_there_is_the_public_way(monkeypatch, missing):
    if missing:
        monkeypatch.setattr(c_api, "_REQUIRED", (*c_api._REQUIRED, "TF_NoSuchCall"))
    else:
        monkeypatch.setattr(c_api, "c_api", None)
    assert not c_api.raw_import_works()


@pytest.mark.parametrize("known", [True, False], ids=["in this loop", "by the call of TensorFlow"])
def test_nodes_come_in_as_ops(monkeypatch, known):
    if not known:
        monkeypatch.setattr(c_api, "_INIT_NAMES", ())
    graph, proto = tf.Graph(), tiny().as_graph_def()
    made = c_api.raw_import(graph, proto, {}, {}, "", 1 << 20)
    assert graph.get_operations() == list(made.values())
    assert list(made) == [node.name for node in proto.node]
    assert graph.as_graph_def() == proto
    with graph.as_default():
        assert tf.identity(made["z"].outputs[0], name="y").name == "y_1:0"


def test_what_is_too_large_changes_nothing():
    graph = tiny()
    before = look(graph)
    with pytest.raises(c_api.TooLarge, match="bytes"):
        c_api.raw_import(graph, tiny().as_graph_def(), {}, {}, "", 10)
    assert look(graph) == before


def test_ops_that_only_tensorflow_holds_are_adopted(monkeypatch):
    graph = tf.Graph()
    with monkeypatch.context() as cut_short:
        cut_short.setattr(c_api, "_wrap_new", lambda graph: {})
        assert c_api.raw_import(graph, tiny().as_graph_def(), {}, {}, "", 1 << 20) == {}
    assert graph.get_operations() == []
    c_api.adopt_ops(graph)
    assert {"x", "y", "z"} <= {op.name for op in graph.get_operations()}
    c_api.adopt_ops(graph)
    c_api.adopt_ops(object())


def test_ops_say_which_line_made_them():
    graph = tf.Graph()
    made = c_api.raw_import(graph, tiny().as_graph_def(), {}, {}, "", 1 << 20)  # this line
    frame = made["y"].traceback[-1]
    assert frame[0] == __file__
    assert linecache.getline(*frame[:2]).endswith("# this line\n")
