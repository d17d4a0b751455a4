"""A new graph from an edited one: everything of the old one is in it, and the old one stays as it was."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.tf.copy.append import differences
from tests.graphs import KINDS, look, model

tf1 = tf.compat.v1


@pytest.mark.parametrize("kind", KINDS)
def test_all_but_the_edit_is_the_same(kind):
    m = model(kind)
    m.train_steps()
    before = look(m.graph)
    ed = gs.open(m.session)
    plan = ed.plan().connect("net/y:0", to="SquaredDifference", input=1)
    done = ed.apply(plan)
    assert look(m.graph) == before
    assert done.ops == []
    assert differences(plan.effect, ed.snapshot) == []
    old = {n.name: n for n in m.graph.as_graph_def().node}
    new = {n.name: n for n in ed.graph.as_graph_def().node}
    assert old.keys() == new.keys()
    changed = [name for name in old if _plain(old[name]) != _plain(new[name])]
    assert changed == ["SquaredDifference"]
    assert ed.graph.graph_def_versions == m.graph.graph_def_versions
    for name in m.graph.get_all_collection_keys():
        assert [i.name for i in ed.graph.get_collection(name)] == [i.name for i in m.graph.get_collection(name)], name
    assert ed.session().run("loss:0", {"x:0": m.feed()[m.x]}) == 0.0


def _plain(node):
    out = type(node)()
    out.CopyFrom(node)
    out.input[:] = [i for i in node.input if i[0] != "^"] + sorted(i for i in node.input if i[0] == "^")
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_and_an_edit_in_one_plan(kind):
    m = model(kind, optimizer=None)
    m.session.run(m.w.initializer, {m.w.initializer.inputs[1]: np.ones([2, 3])})
    ed = gs.open(m.session)
    block = ed.select(inputs="x:0", outputs="net/y:0")
    plan = (
        ed.plan()
        .copy(block, to="copy", inputs={"x:0": "x:0"}, values=m.session)
        .connect("copy/net/y:0", to="SquaredDifference", input=0)
    )
    assert plan.mode == "materialize"
    done = ed.apply(plan)
    copied = done[m.w]
    assert copied.graph is ed.graph
    session = ed.session()
    np.testing.assert_array_equal(session.run(copied), np.ones([2, 3]))
    feed = {t.name: v for t, v in m.feed().items()}
    assert session.run("loss:0", feed) == m.session.run(m.loss, m.feed())
    with ed.graph.as_default():
        assert [v.op.name for v in tf1.trainable_variables()] == ["net/w", "net/b", "copy/net/w", "copy/net/b"]
        assert tf.gradients(ed.tensor("loss:0"), tf1.trainable_variables())[0] is None


def test_one_after_the_other_and_back():
    m = model("resource", optimizer=None)
    ed = gs.open(m.session)
    graphs = [ed.graph]
    for number in range(2):
        ed.apply(ed.plan().connect("net/y:0" if number else "target:0", to="SquaredDifference", input=0))
        graphs.append(ed.graph)
    assert len({id(g) for g in graphs}) == 3
    ed.undo()
    assert ed.graph is graphs[1]
    ed.undo()
    assert ed.graph is graphs[0]
    ed.redo()
    assert ed.graph is graphs[1]
    ed.redo()
    assert ed.graph is graphs[2]
    np.testing.assert_array_equal(ed.session().run("net/w/Read/ReadVariableOp:0"), m.session.run(m.w))


def test_undo_of_an_appended_copy_under_a_new_graph():
    m = model("ref", optimizer=None)
    ed = gs.open(m.session)
    ed.apply(ed.plan().copy(ed.select(scope="net"), to="t", unmapped="keep"))
    ed.apply(ed.plan().connect("t/net/y:0", to="SquaredDifference", input=0))
    assert "t/net/y" in ed.snapshot.index
    ed.undo()
    ed.undo()
    assert ed.graph is m.graph
    assert "t/net/y" in ed.orphans
    assert [v.op.name for v in m.graph.get_collection("variables")] == ["net/w", "net/b"]


def test_what_python_keeps_comes_into_the_new_graph():
    """Contexts, custom gradients, tables and functions of the base still work when an input of it was set."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [], name="x")
        other = tf1.placeholder(tf.float32, [], name="other")

        @tf.custom_gradient
        def tripled(a):
            return a * 3.0, lambda dy: dy * 30.0 + 0.0 * a

        table = tf1.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer([1], [5.0]), 0.0)
        v2 = tf1.control_flow_v2_enabled()
        tf1.disable_control_flow_v2()
        try:
            looped = tf1.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a * 2.0), [0, tripled(x)])[1]
        finally:
            if v2:
                tf1.enable_control_flow_v2()
        called = tf.function(lambda a: a + 1.0)(looped)
        tf.add(called, table.lookup(tf.constant(1)), name="y")
        tf.negative(other, name="z")
    ed = gs.open(graph)
    done = ed.apply(ed.plan().connect("x:0", to="z", input=0))
    assert ed.graph is not graph
    with ed.graph.as_default():
        (slope,) = tf1.gradients(done["y:0"], done["x:0"])
    got = ed.session().run([done["y:0"], slope, done["z:0"]], {done["x:0"]: 1.0})
    assert got == [30.0, 240.0, -1.0]
