"""Duplicates across the tasks of a cluster, each in a process of its own; killed, restarted, and missing ones."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.replica.cluster import LocalCluster, free_ports
from tests.graphs import model, put
from tests.needs import ROOT
from tests.refusal import refuses
from tests.wire import wire
from tests.writers import say, sending, writers

tf1 = tf.compat.v1


@pytest.fixture(scope="module")
def cluster():
    """Two tasks."""
    with gs.local_cluster(2, seconds=240) as servers:
        yield servers


def on_task_0():
    """A variable and what is computed from it, asked for on the first task."""
    graph = tf.Graph()
    with graph.as_default(), tf.device("/job:worker/task:0"):
        w = tf1.get_variable("w", initializer=np.arange(3, dtype=np.float32))
        y = tf.multiply(w, 10.0, name="y")
        learn = w.assign_add(tf.ones(3), name="learn")
        start = tf1.global_variables_initializer()
    return graph, w, y, learn, start


def where_it_runs(session, graph, fetch):
    """The task on which the op of a tensor ran, by TensorFlow's own record."""
    record = tf1.RunMetadata()
    options = tf1.RunOptions(output_partition_graphs=True)
    session.run(fetch, options=options, run_metadata=record)
    return {n.device.partition("/replica")[0] + "/task:" + n.device.partition("/task:")[2][0]
            for part in record.partition_graphs for n in part.node if n.name == fetch.op.name}  # fmt: skip


def test_the_trainer_on_one_task_and_its_replica_on_another(cluster):
    graph, _w, y, learn, start = on_task_0()
    with tf1.Session(cluster.targets[0], graph=graph) as session:
        session.run(start)
        block = gs.open(graph).select(outputs=y)
        replica = gs.duplicate(block, graph=session, device="/job:worker/task:1")
        copy = replica[y]
        assert copy.device == "/job:worker/task:1"
        assert where_it_runs(session, graph, copy) == {"/job:worker/task:1"}
        assert replica.run(copy).tolist() == [0, 10, 20]
        session.run(learn)
        assert replica.run(copy).tolist() == [0, 10, 20]
        assert replica.update().bytes == 0  # from task to task, not through this process
        assert replica.run(copy).tolist() == [10, 20, 30]
        with refuses(PlanError, "'/job:worker/task:7'", "there is no such device", "'/job:worker/task:1/cpu:0'"):
            gs.duplicate(block, graph=session, device="/job:worker/task:7")


def test_a_training_here_and_its_replica_in_the_cluster(cluster):
    m = model()
    block = gs.open(m.graph).select(inputs=[m.x], outputs=[m.y])
    with gs.duplicate(block, values=m.session, target=cluster.targets[1], device="/job:worker/task:1") as replica:
        m.train_steps()
        replica.update()
        x = np.float32([[1, 2]])
        np.testing.assert_allclose(replica.run(m.y, {m.x: x}), m.session.run(m.y, {m.x: x}), rtol=1e-6)


@pytest.mark.deep
def test_a_worker_that_is_killed_and_restarted_recovers(cluster):
    # The replica has a session of its own, at the second task; the first one is not needed.
    m = model("resource", optimizer=None)
    block = gs.open(m.graph).select(inputs=[m.x], outputs=[m.y])
    alone = tf1.ConfigProto(device_filters=["/job:worker/task:1"])
    apart = gs.duplicate(block, values=m.session, target=cluster.targets[1], config=alone, timeout=20)
    # The other replica is in one graph with its original, over both tasks.
    graph, _w, y, learn, start = on_task_0()
    session = tf1.Session(cluster.targets[0], graph=graph)
    session.run(start)
    beside = gs.duplicate(gs.open(graph).select(outputs=y), graph=session, device="/job:worker/task:1")
    session.run(learn)

    cluster.kill(1)
    with pytest.raises(tf.errors.OpError):
        beside.update()
    cluster.restart(1)

    put(m.b, 3.0, m.session)
    done = apart.update()
    assert set(done.changed) == {"net/w", "net/b"}  # all of it: the new server had nothing
    np.testing.assert_array_equal(apart.run(apart["net/w"]), m.session.run(m.w))
    apart.close()

    session.close()
    with tf1.Session(cluster.targets[0], graph=graph) as renewed:  # the variables of task 0 are still there
        beside.attach(renewed)
        assert beside.run(beside[y]).tolist() == [10, 20, 30]


@pytest.mark.deep
def test_a_run_recovers_too(cluster):
    m = model("resource", optimizer=None)
    block = gs.open(m.graph).select(inputs=[m.x], outputs=[m.y])
    alone = tf1.ConfigProto(device_filters=["/job:worker/task:1"])
    with gs.duplicate(block, values=m.session, target=cluster.targets[1], config=alone, timeout=20) as replica:
        put(m.b, 4.0, m.session)
        cluster.restart(1)
        assert replica.run(replica["net/b"]).tolist() == [4, 4, 4]


#: A session that needs the second task only.
ALONE = tf1.ConfigProto(device_filters=["/job:worker/task:1"])


def large(value, size=50_000):
    """A session with two variables, of 200,000 bytes each where nothing else is said."""
    graph = tf.Graph()
    with graph.as_default():
        parts = [tf1.get_variable(name, [size], initializer=tf1.zeros_initializer()) for name in ("v", "w")]
        tf.stack([parts[0][0], parts[0][-1], parts[1][0], parts[1][-1]], name="ends")
        session = tf1.Session(graph=graph)
    for part in parts:
        put(part, value, session)
    return session, parts


def test_an_update_that_is_cut_in_the_middle_brings_all_values_over(cluster):
    session, parts = large(0.0)
    with wire(cluster.targets[1]) as line, gs.duplicate(session, target=line.target, config=ALONE) as replica:
        for at in (1, 100_000, 200_000, 300_000):
            for part in parts:
                put(part, at, session)
            line.cut_at(at)
            assert replica.update()
            assert replica.run("ends:0").tolist() == [at] * 4
            assert line.cut_at(0) >= at


def duplicated(target, file):
    """What a child does that is killed: it writes down its number, and duplicates into the cluster."""
    Path(file).write_text(str(os.getpid()))
    session, _ = large(1.0)
    gs.duplicate(session, target=target, config=ALONE)


@pytest.fixture(scope="module")
def stopped():
    """A process whose children duplicate into the cluster, and are killed."""
    with writers("tests.replica.test_cluster", "graphsurgeon.replica.duplicate") as made:
        yield made


@pytest.mark.deep
def test_a_process_killed_while_it_duplicates_into_the_cluster_leaves_it_to_the_next_one(cluster, stopped, tmp_path):
    session, _ = large(2.0)
    file = tmp_path / "process"
    with wire(cluster.targets[1]) as line:
        for at in (1, 300_000):  # as it begins, and as it sets the second variable
            line.cut_at(at, file)
            assert stopped.run("duplicated", line.target, str(file)).signal == signal.SIGKILL
            with gs.duplicate(session, target=cluster.targets[1], config=ALONE) as replica:
                assert replica.run("ends:0").tolist() == [2] * 4


#: So many numbers are not sent at once.
MANY = 1_000_000


def updated(target):
    """What a child does that is killed: it duplicates into the cluster, trains, and updates."""
    session, parts = large(1.0, MANY)
    with gs.duplicate(session, target=target, config=ALONE) as replica:
        for part in parts:
            put(part, 2.0, session)
        say(str(replica.run("ends:0").tolist()))
        if sending():
            replica.update()
            say("done")


@pytest.mark.deep
def test_a_process_killed_at_any_send_of_an_update_leaves_each_value_old_or_new(cluster, stopped):
    session, _ = large(3.0, MANY)
    target, seen = cluster.targets[1], []
    with tf1.Session(target, graph=session.graph, config=ALONE) as looking:
        for at in count(1):
            end = stopped.run("updated", target, send=at)
            assert end.error == ""
            assert end.said[0] == "[1.0, 1.0, 1.0, 1.0]"  # whatever the one before has left
            seen.append(looking.run("ends:0").tolist())
            if not end.hit:
                break
            assert end.signal == signal.SIGKILL
        if end.said[1:] != ["done"]:
            pytest.skip("the system does not tell what a process sends")
        assert seen[0] == [1] * 4
        assert seen[-1] == [2] * 4
        assert all(one[::2] == one[1::2] and set(one) <= {1, 2} for one in seen)  # no value is half of each
        assert at > 2
        with gs.duplicate(session, target=target, config=ALONE) as replica:
            assert replica.run("ends:0").tolist() == [3] * 4


def test_a_missing_cluster_is_an_error():
    m = model()
    port = free_ports(1)[0]
    with refuses(PlanError, f"target='grpc://127.0.0.1:{port}'", "does not answer within 1 s", "tf.distribute.Server"):
        gs.duplicate(m.graph, values=m.session, target=f"grpc://127.0.0.1:{port}", timeout=1.0)
    with socket.socket() as mute:  # somebody listens there, and never says anything
        mute.bind(("127.0.0.1", 0))
        mute.listen()
        port = mute.getsockname()[1]
        with refuses(PlanError, f"{port}'", "does not answer within 1 s"):
            gs.duplicate(m.graph, values=m.session, target=f"grpc://127.0.0.1:{port}", timeout=1.0)
    with refuses(PlanError, "target='127.0.0.1:1'", "grpc://host:port"):
        gs.duplicate(m.graph, values=m.session, target="127.0.0.1:1")


@pytest.mark.deep
def test_a_cluster_with_a_task_missing_is_an_error(cluster):
    m = model()
    cluster.kill(1)
    try:
        with refuses(PlanError, "does not answer within 1 s", "device_filters"):
            gs.duplicate(m.graph, values=m.session, target=cluster.targets[0], timeout=1.0)
    finally:
        cluster.restart(1)


def test_a_server_that_does_not_start():
    with refuses(PlanError, "local_cluster(...)", "the server of task 0", "did not start within 0.01 s"):
        gs.local_cluster(1, seconds=0.01)
    with refuses(PlanError, "local_cluster(0)", "1 to 64"):
        gs.local_cluster(0)


@pytest.mark.deep
def test_a_proxy_of_the_environment_is_not_asked_for_the_loopback():
    code = (
        "import tensorflow as tf, graphsurgeon as gs\n"
        "with gs.local_cluster(2, seconds=240) as cluster:\n"
        "    with tf.Graph().as_default(), tf.compat.v1.Session(cluster.targets[0]) as session:\n"
        "        print(len({device.name.partition('/device')[0] for device in session.list_devices()}))"
    )
    kept = {key: value for key, value in os.environ.items() if "proxy" not in key.lower()}
    environment = kept | {"http_proxy": "http://127.0.0.1:9", "no_proxy": "example.org", "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert done.stdout == "2\n", done.stderr[-2000:]


def test_ports_that_nobody_uses_and_that_no_system_hands_out(monkeypatch):
    ports = free_ports(64)
    assert len(set(ports)) == 64
    assert all(20_000 <= port < 32_000 for port in ports)

    def taken(*_):
        raise OSError(98, "Address already in use")

    monkeypatch.setattr(socket.socket, "bind", taken)
    with refuses(PlanError, "local_cluster(2)", "only 0 of 1,000 ports", "End programs that use these ports"):
        free_ports(2)


def test_a_cluster_says_what_it_is(cluster):
    assert isinstance(cluster, LocalCluster)
    assert repr(cluster) == "<LocalCluster of 2 tasks of job 'worker', 2 running>"
    assert list(cluster.workers.values()) == ["/job:worker/task:0", "/job:worker/task:1"]
