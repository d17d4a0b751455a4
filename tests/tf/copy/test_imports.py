"""The fast import and the public one give the same graph; a failure leaves nothing behind."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.tf.copy import imports as importing
from graphsurgeon.tf.private import c_api
from tests.graphs import KINDS, look, model, tiny

tf1 = tf.compat.v1


@pytest.mark.parametrize("kind", KINDS)
def test_both_ways_give_the_same_graph(monkeypatch, kind):
    made = []
    for raw in (True, False):
        monkeypatch.setattr(importing, "raw_import_works", lambda raw=raw: raw)
        m = model(kind)
        m.train_steps()
        dst = gs.open(model(kind, optimizer=None).graph)
        block = gs.open(m.session).select(name="train").ancestors() | gs.open(m.graph).select(scope="net")
        done = dst.apply(dst.plan().copy(block, to="t", values=m.session))
        value = dst.session().run(done["net/w"]).tolist()
        made.append((dst.graph.as_graph_def(), sorted(dst.graph.get_all_collection_keys()), value))
    assert _plain(made[0][0]) == _plain(made[1][0])
    assert made[0][1:] == made[1][1:]


def _plain(graph_def):
    for node in graph_def.node:
        node.input[:] = [i for i in node.input if i[0] != "^"] + sorted(i for i in node.input if i[0] == "^")
    return graph_def


@pytest.mark.parametrize("raw", [True, False])
def test_a_proto_given_stays_as_it_is(monkeypatch, raw):
    monkeypatch.setattr(importing, "raw_import_works", lambda: raw)
    proto = tiny().as_graph_def()
    for node in proto.node:
        node.attr.pop("T", None) if node.op == "Placeholder" else None
    before = proto.SerializeToString(deterministic=True)
    gs.open(proto)
    assert proto.SerializeToString(deterministic=True) == before


def test_a_late_failure_leaves_nothing():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2], name="one")
        tf.identity(tf.function(lambda t: t * 2.0)(x), name="two")
    proto = graph.as_graph_def()
    assert proto.library.function
    proto.node.add(name="bad", op="MatMul", input=["one", "one"]).attr["T"].type = 1
    into = tiny()
    before = look(into)
    with pytest.raises(Exception, match="rank"):
        importing.import_nodes(into, proto)
    assert look(into) == before
    assert not into.as_graph_def().library.function
    with tf1.Session(graph=into) as session:
        assert session.run("y:0", {"x:0": [[1.0, 2.0]]}).tolist() == [[1.0, 4.0]]


def test_tensors_are_as_tensorflow_makes_them(monkeypatch):
    proto, made = model("reference").graph.as_graph_def(), []
    for known in (c_api._NEW_NAMES, ()):
        monkeypatch.setattr(c_api, "_NEW_NAMES", known)
        graph = gs.open(proto).graph
        outputs = [t for op in graph.get_operations() for t in op.outputs]
        assert len({t._id for t in outputs}) == len(outputs)
        assert all(t.op.outputs[t.value_index] is t and t.graph is graph for t in outputs)
        made.append([(type(t), t.name, t.dtype, t.shape.as_proto()) for t in outputs])
    assert any(dtype._is_ref_dtype for _, _, dtype, _ in made[0])
    assert made[0] == made[1]


def heavy(count, size):
    """Returns a graph that adds up `count` constants of `size` float32 each, with a control edge between two."""
    graph = tf.Graph()
    with graph.as_default():
        parts = [tf.constant(np.full(size, i, np.float32), name=f"c{i}") for i in range(count)]
        tf.identity(tf.add_n(parts), name="y")
        with tf.control_dependencies([parts[0]]):
            tf.no_op(name="wait")
    return graph


@pytest.mark.deep
def test_a_constant_over_64_mb():
    src, dst = gs.open(heavy(1, 20 << 20)), gs.open(tf.Graph())
    plan = dst.plan().copy(src.select(), to="t")
    dst.apply(plan)
    with tf1.Session(graph=dst.graph) as session:
        assert session.run("t/y:0").shape == (20 << 20,)
    assert dst.snapshot.fingerprint == plan.after().fingerprint


def test_a_graph_too_large_for_one_piece(monkeypatch):
    graph = heavy(7, 1000)
    monkeypatch.setattr(importing, "LIMIT", 20_000)
    pieces, apart = [], importing.split_constants
    monkeypatch.setattr(importing, "split_constants", lambda g, n: pieces.append(apart(g, n)) or pieces[-1])
    dst = gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(gs.open(graph).select(), to="t"))
    assert [len(p.node) for p in pieces[0][0]] == [2, 2, 2, 1]
    assert [n.name for n in pieces[0][1].node] == ["t/AddN", "t/y", "t/wait"]
    with tf1.Session(graph=dst.graph) as session:
        assert session.run(done["y:0"]).tolist() == [21.0] * 1000
    assert [c.name for c in done["wait"].control_inputs] == ["t/c0"]
    dst.undo()
    assert dst.orphans == set(done.ops)
    again = dst.apply(dst.plan().copy(gs.open(graph).select(), to="t_2"))
    assert len(again.ops) == 10
