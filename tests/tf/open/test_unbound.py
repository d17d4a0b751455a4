"""A MetaGraph of one scope opens: placeholders stand for the tensors of other scopes, in loops and conds too."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.__main__ import main
from tests.tf2 import tf1

FED = {"unbound_inputs_x:0": [1.0, 1.0], "unbound_inputs_parts_1:0": [5.0], "unbound_inputs_chosen:0": True}


@pytest.fixture
def meta():
    """The scope ``net`` of a graph, which reads and waits for ops outside of it."""
    tf1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as graph:
            x = tf1.placeholder(tf.float32, [2], name="x")
            chosen = tf1.placeholder(tf.bool, [], name="chosen")
            part = tf.split(x, 2, name="parts")[1]
            ready = tf.no_op(name="ready")
            with tf.name_scope("net"):
                with tf.control_dependencies([ready, x.op]):
                    y = tf.multiply(x, tf1.get_variable("net/w", initializer=[1.5, 2.0]), name="y")
                tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v + part[0]), [tf.constant(0), y], name="loop")
                tf1.cond(chosen, lambda: y + part, lambda: y - part, name="cond")
            return tf1.train.export_meta_graph(graph=graph, export_scope="net")
    finally:
        tf1.enable_control_flow_v2()


@pytest.fixture(params=["net.meta", "net.pb", "proto"])
def ed(meta, request, tmp_path):
    proto = meta.graph_def if request.param == "net.pb" else meta
    if request.param == "proto":
        return gs.open(proto)
    (tmp_path / request.param).write_bytes(proto.SerializeToString())
    return gs.open(tmp_path / request.param)


@pytest.mark.filterwarnings("ignore:session")
def test_it_opens_runs_and_is_copied(ed):
    assert set(ed.feeds_needed("cond/Merge:0")) == set(FED)
    assert "it is a part of a graph; tensors of other parts are replaced by 3 placeholders" in str(ed)
    assert ed.op("unbound_inputs_ready").type == "NoOp"
    wanted = ["y:0", "loop/Exit_1:0", "cond/Merge:0"]
    want = [[1.5, 2.0], [16.5, 17.0], [6.5, 7.0]]
    np.testing.assert_allclose(ed.session().run(wanted, FED), want)
    other = gs.open(tf.Graph())
    other.apply(other.plan().copy(ed.select(outputs=wanted), to="c", unmapped="placeholder"))
    fed = {f"c/{name}": value for name, value in FED.items()}
    np.testing.assert_allclose(other.session().run([f"c/{name}" for name in wanted], fed), want)


def test_gradients_go_through_its_loops_and_conds(meta):
    ed = gs.open(meta)
    with ed.graph.as_default():
        part = ed.tensor("unbound_inputs_parts_1:0")
        slopes = [tf1.gradients(ed.tensor(name), part)[0] for name in ("loop/Exit_1:0", "cond/Merge:0")]
    np.testing.assert_allclose(ed.session().run(slopes, FED), [[6.0], [2.0]])


def test_a_name_that_is_taken_stays(meta):
    meta.graph_def.node.add(name="unbound_inputs_x", op="NoOp")
    ed = gs.open(meta)
    assert ed.op("unbound_inputs_x").type == "NoOp"
    assert ed.snapshot.input_names(ed.snapshot.index["y"])[0] == "unbound_inputs_x_1:0"


def test_it_is_scanned_as_any_file(meta, tmp_path, capsys):
    (tmp_path / "net.meta").write_bytes(meta.SerializeToString())
    assert main(["scan", str(tmp_path / "net.meta")]) == 0
    assert "clean" in capsys.readouterr().out


def test_another_name_that_no_op_has_is_refused_as_before(meta):
    next(node for node in meta.graph_def.node if node.name == "y").input[0] = "gone"
    with pytest.raises(gs.OpenError, match="its input 'gone' names no op of this graph"):
        gs.open(meta)
