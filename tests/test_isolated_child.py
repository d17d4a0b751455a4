"""What the process of an isolated run does, without the process."""

from __future__ import annotations

import threading

import numpy as np
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.editor.worker_main import run
from graphsurgeon.graph.arrays import pack_arrays
from graphsurgeon.running.trace import ANSWER, FEEDS, GRAPH
from tests.test_isolated import endless

tf1 = tf.compat.v1
HOW = {"timeout": None, "rounds": 10, "seed": 0, "memory": None, "new_names": None, "ops": None}


def test_it_writes_the_trace_of_what_it_is_asked_for(tmp_path, capsys):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        tf.multiply(x, tf1.get_variable("w", initializer=3.0, use_resource=True), name="y")
    gs.open(graph).save(tmp_path / GRAPH, values="initial")
    np.savez(tmp_path / FEEDS, **pack_arrays({"x:0": np.array([1.0, 2.0], np.float32)}, "feed"))
    run(tmp_path, {"title": "net", "fetches": ["y:0"], "how": HOW}, threading.Event())
    trace = gs.Trace.load(tmp_path / ANSWER)
    assert trace.results["y:0"].tolist() == [3.0, 6.0]
    assert trace.graph.title == "net"


def test_it_stops_when_it_is_told_to_and_keeps_what_ran(tmp_path, capsys):
    endless().save(tmp_path / GRAPH, verify=False)
    np.savez(tmp_path / FEEDS)
    stopped = threading.Event()
    stopped.set()
    run(tmp_path, {"title": "loop", "fetches": ["y:0"], "how": HOW}, stopped)
    assert gs.Trace.load(tmp_path / ANSWER).stop_reason
    assert capsys.readouterr().out.startswith("seen ")
