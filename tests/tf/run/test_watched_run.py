"""Watched run: an op that fails is named, and what does not need it still runs."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.tf.open.snapshot import snapshot
from graphsurgeon.tf.run.probes import probe
from graphsurgeon.tf.run.run_graph import run_with_probes
from tests.graphs import tf1
from tests.refusal import refuses


def test_of_several_ops_that_fail_each_is_left_out():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.int32, [], name="x")
        for k in range(3):
            with tf.control_dependencies([tf.debugging.Assert(x > 5, [x], name=f"must_{k}")]):
                tf.identity(x, name=f"after_{k}")
        tf.add(x, 1, name="y")
    trace = gs.open(graph).trace({"x:0": 1}, [*(f"after_{k}:0" for k in range(3)), "y:0"])
    assert "must_" in trace.stop_reason
    assert "(Assert)" in trace.stop_reason
    assert dict(trace.results) == {"y:0": 2}
    assert trace["y:0"].mean == 2.0


def test_a_variable_without_a_value_is_named():
    with tf.Graph().as_default():
        tf.negative(tf1.get_variable("w", shape=[2], use_resource=True), name="y")
        session = tf1.Session()
    with refuses(PlanError, "variable 'w' has no value in the session given", "session.run(variable.initializer)"):
        gs.open(session).trace(fetches="y:0")


def test_a_tensor_whose_numbers_cannot_be_taken_is_named_and_the_others_have_theirs():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        tf.exp(tf.negative(x, name="a"), name="y")
        base = snapshot(graph)
        probed = probe(base, [(1, 0), (2, 0)], 10)
        probed.add_to(graph)

    class Session(tf1.Session):
        refused = 0

        def run(self, fetches, *about, **more):
            if isinstance(fetches, list) and "options" in more and not self.refused:
                self.refused += 1
                words = "OOM when allocating tensor with shape[2] and type float on cpu"
                node = graph.get_operation_by_name("probes/p0/note").node_def
                raise tf.errors.ResourceExhaustedError(node, None, words)
            return super().run(fetches, *about, **more)

    with Session(graph=graph) as session:
        ran = run_with_probes(session, base, ["y:0"], {"x:0": 0.0}, probed)
    assert [note.tensor for note in ran.stats] == ["y:0"]
    assert (ran.results["y:0"], ran.stop_reason) == (1.0, "")
    assert ran.unrecorded["a:0"].startswith("its numbers could not be recorded: there is no memory for 8 bytes more")
    assert (probed.probe_of("probes/p1/note"), probed.probe_of("probes/p2/note"), probed.probe_of("a")) == (
        1,
        None,
        None,
    )
