"""The code of a plan, run in a fresh namespace, gives the same graph and the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.graphs import KINDS, model, run, tiny

tf1 = tf.compat.v1
X = np.array([[1.0, 2.0]], np.float32)


def execute(plan, **names):
    space = dict(names)
    exec(plan.to_code(), space)
    return space


def same(a, b):
    return {n.name: n for n in a.as_graph_def().node} == {n.name: n for n in b.as_graph_def().node}


@pytest.mark.parametrize("kind", KINDS)
def test_from_files(tmp_path, kind):
    m = model(kind)
    m.train_steps()
    with m.graph.as_default():
        tf1.train.Saver().save(m.session, str(tmp_path / "model"))
    (tmp_path / "into.pb").write_bytes(tiny().as_graph_def().SerializeToString())
    src, dst = gs.open(tmp_path / "model.meta"), gs.open(str(tmp_path / "into.pb"))
    block = src.select(inputs="x:0", outputs="loss:0") - src.select(op="Placeholder")
    plan = dst.plan().copy(block, to="t", inputs={"x:0": "x:0"}, unmapped="placeholder", values=src)
    plan = plan.connect("z:0", to="t/net/MatMul", input=0)
    assert plan.check() == (), [str(f) for f in plan.check()]
    done = dst.apply(plan)
    space = execute(plan)
    assert same(space["dst"].graph, dst.graph)
    feed = {"x:0": X, "t/target:0": np.zeros([1, 3], np.float32)}
    assert space["dst"].session().run("t/loss:0", feed) == dst.session().run("t/loss:0", feed)
    assert [v.name for v in space["done"].variables] == [v.name for v in done.variables]


def test_live_graphs():
    m = model("resource")
    m.train_steps()
    src, dst = gs.open(m.graph), gs.open(tf.Graph())
    plan = dst.plan().copy(src.select(outputs="net/y:0"), to="t", values=m.session)
    dst.apply(plan)
    space = execute(plan, graph=tf.Graph(), source_graph=m.graph, session=m.session)
    assert same(space["dst"].graph, dst.graph)
    feed = {"t/x:0": X}
    np.testing.assert_array_equal(space["dst"].session().run("t/net/y:0", feed), dst.session().run("t/net/y:0", feed))


def test_one_graph_edited():
    ed = gs.open(tiny())
    plan = ed.plan().copy(ed.select(name=["y"]) | ed.select(name="z*"), to="t", unmapped="keep")
    plan = plan.connect("t/z:0", to="z", input=0)
    ed.apply(plan)
    space = execute(plan, graph=tiny())
    assert same(space["ed"].graph, ed.graph)
    assert run(space["ed"].graph, "z:0", {"x:0": X}).tolist() == (X**2 + 2).tolist()
