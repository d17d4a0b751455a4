"""A run in a process of its own gives what a run here gives, and what ends that process does not end this one."""

from __future__ import annotations

import signal

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.running import trace

tf1 = tf.compat.v1


def net():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 3], name="x")
        w = tf1.get_variable("w", initializer=np.arange(6, dtype=np.float32).reshape(3, 2), use_resource=True)
        h = tf.nn.relu(tf.matmul(x, w, name="mm"), name="h")
        h = tf.nn.dropout(h, rate=0.5, name="dropout")
        tf.cast(tf.reduce_sum(h, 1), tf.bfloat16, name="y")
        tf.strings.as_string(h, name="text")
        tf1.cond(tf.reduce_sum(h) > 0, lambda: tf.math.log(h * 0.0, name="ln"), lambda: h, name="either")
    return graph


def numbers(trace):
    """All that a trace has noted."""
    return {(n.tensor, n.rounds): (n.dtype, n.shape, n.numbers.tolist(), n.sample.tolist()) for n in trace.stats}


SOME = {"ops": ["mm", "h"], "memory": 1 << 20, "fetches": ["text:0", "y:0"]}


@pytest.mark.parametrize("about", [pytest.param({}, marks=pytest.mark.deep), SOME])
def test_it_gives_what_a_run_here_gives(about):
    ed = gs.open(net())
    feeds = {"x:0": np.ones((2, 3), np.float32)}
    here, there = (ed.trace(feeds, isolated=apart, **about) for apart in (False, True))
    np.testing.assert_equal(numbers(there), numbers(here))
    assert there.results.keys() == here.results.keys()
    for name, value in here.results.items():
        assert there.results[name].dtype == value.dtype
        np.testing.assert_equal(there.results[name], value)
    assert (there.stop_reason, there.unrecorded, there.aliases) == (here.stop_reason, here.unrecorded, here.aliases)
    assert [*there.graph.names] == [*here.graph.names]
    assert there.feeds.keys() == here.feeds.keys()


def test_the_values_are_those_of_now():
    with tf.Graph().as_default() as graph:
        v = tf1.get_variable("v", initializer=1.0, use_resource=True)
        step = v.assign_add(2.0, read_value=False)
        tf.identity(v, name="y")
    ed = gs.open(graph)
    ed.session().run(step)
    assert ed.trace(fetches="y", isolated=True).results["y:0"] == 3.0


def test_what_ends_the_process_is_an_error_here(monkeypatch):
    with tf.Graph().as_default() as graph:
        tf1.placeholder(tf.float32, [2], name="x")
    monkeypatch.setattr(trace, "_BEGIN", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    with pytest.raises(gs.PlanError) as refused:
        gs.open(graph, title="net").trace({"x": [1.0, 2.0]}, fetches="x:0", isolated=True)
    assert refused.value.problem == "the separate process in which net was run died (SIGSEGV)"


def test_what_is_refused_there_is_refused_here(monkeypatch):
    with tf.Graph().as_default() as graph:
        tf.square(tf1.placeholder(tf.float32, [2], name="x"), name="y")
    reported = {
        "kind": "SelectionError",
        "request": "trace()",
        "problem": "it is not there",
        "suggestion": "Take another",
    }
    code = f"import json, sys; open(sys.argv[1] + '/fault.json', 'w').write(json.dumps({reported!r}))"
    monkeypatch.setattr(trace, "_BEGIN", code)
    with pytest.raises(gs.SelectionError, match="it is not there"):
        gs.open(graph).trace({"x": [1.0, 2.0]}, isolated=True)


def test_a_file_that_reaches_out_is_run_apart_once_it_is_trusted(tmp_path, monkeypatch):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        with tf.control_dependencies([tf.io.write_file(str(tmp_path / "out"), "written")]):
            tf.square(x, name="y")
    path = tmp_path / "net.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    began = []
    run = trace._run_worker
    monkeypatch.setattr(trace, "_run_worker", lambda *about: began.append(1) or run(*about))
    ed = gs.open(path)
    with pytest.raises(gs.TrustError):
        ed.trace({"x": [2.0, 3.0]}, fetches="y:0")
    assert not (tmp_path / "out").exists()
    assert not began
    assert ed.trust().trace({"x": [2.0, 3.0]}, fetches="y:0").results["y:0"].tolist() == [4.0, 9.0]
    assert (tmp_path / "out").read_text() == "written"
    assert began


def endless():
    with tf.Graph().as_default() as graph:
        i = tf.constant(0, name="i")
        tf.identity(tf1.while_loop(lambda i: i >= 0, lambda i: i % 7 + 1, [i], name="forever"), name="y")
    return gs.open(graph)


@pytest.mark.deep
def test_a_run_that_is_ended_by_hand_keeps_what_ran():
    seen = []

    def watch(noted, of):
        seen.append(noted)
        return len(seen) < 3

    trace = endless().trace(fetches="y", isolated=True, watch=watch)
    assert "y:0" not in trace.results
    assert trace.stop_reason


def test_an_interrupt_ends_the_process_too(monkeypatch):
    started, start = [], trace.subprocess.Popen
    monkeypatch.setattr(trace.subprocess, "Popen", lambda *a, **k: started.append(start(*a, **k)) or started[-1])

    def interrupted(seen, of):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        endless().trace(fetches="y", isolated=True, watch=interrupted)
    assert started[-1].returncode == -signal.SIGKILL
