"""Cluster: TensorFlow servers on this machine, to try code that is meant for several machines."""

from __future__ import annotations

import contextlib
import json
import os
import random
import selectors
import socket
import subprocess
import sys
import time
from typing import Any

from ..errors import PlanError, counted

# The server ends when this process ends for any reason, because its standard input is closed then.
_SERVER = """
import json, os, sys, threading
import tensorflow as tf
cluster, job, task = json.loads(sys.argv[1])
config = tf.compat.v1.ConfigProto(inter_op_parallelism_threads=2, intra_op_parallelism_threads=1)
server = tf.distribute.Server(cluster, job_name=job, task_index=task, config=config)
print("ready", flush=True)
sys.stdin.read()
os._exit(0)
"""


class LocalCluster:
    """TensorFlow servers in separate processes, on the loopback interface. Made by `gs.local_cluster`.

    Args:
        tasks: the number of servers.
        job: the name of their job.
        seconds: how long to wait for the servers to start.
    """

    def __init__(self, tasks: int, job: str, seconds: float) -> None:
        self.job, self._seconds = job, seconds
        self._processes: list[subprocess.Popen[str] | None] = [None] * tasks
        for attempt in range(3):
            self.spec = {job: [f"127.0.0.1:{port}" for port in free_ports(tasks)]}
            try:
                self._start(range(tasks))
                return
            except PlanError:
                self.close()
                if attempt == 2:  # another program may have taken a port in the meantime
                    raise

    @property
    def targets(self) -> list[str]:
        """The target of each task, for a session or `gs.duplicate(target=...)`."""
        return [f"grpc://{address}" for address in self.spec[self.job]]

    @property
    def workers(self) -> dict[str, str]:
        """The target of each task -> the device of that task."""
        return {target: f"/job:{self.job}/task:{i}" for i, target in enumerate(self.targets)}

    def kill(self, task: int) -> None:
        """Ends the server of a task immediately, like a crash.

        Args:
            task: the number of the task.
        """
        server = self._processes[task]
        if server is not None:
            server.kill()
            server.communicate()  # waits for its end, and closes its pipes
        self._processes[task] = None

    def restart(self, task: int) -> None:
        """Starts a new, empty server of a task at its old address.

        Args:
            task: the number of the task.

        Raises:
            PlanError: the server does not start in time.
        """
        self.kill(task)
        self._start([task])

    def close(self) -> None:
        """Ends all servers."""
        for task in range(len(self._processes)):
            self.kill(task)

    def __enter__(self) -> LocalCluster:
        return self

    def __exit__(self, *_error: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        up = sum(server is not None for server in self._processes)
        return f"<LocalCluster of {counted(len(self._processes), 'tasks')} of job {self.job!r}, {up} running>"

    def _start(self, tasks: Any) -> None:
        # gRPC must bypass proxies for loopback addresses; through one from the environment it would wait forever.
        name = "no_grpc_proxy"  # gRPC requires lower case
        hosts = os.environ.get(name) or os.environ.get("no_proxy") or ""
        if "127.0.0.1" not in hosts.split(","):
            os.environ[name] = ",".join(filter(None, (hosts, "127.0.0.1")))
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
        for task in tasks:
            arguments = [sys.executable, "-c", _SERVER, json.dumps([self.spec, self.job, task])]
            self._processes[task] = subprocess.Popen(
                arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                env=environment,
            )  # fmt: skip
        end = time.monotonic() + self._seconds
        for task in tasks:
            server = self._processes[task]
            if server is None or not _wait_until_ready(server, end - time.monotonic()):
                address = self.spec[self.job][task]
                raise PlanError(
                    "local_cluster(...)",
                    f"the server of task {task} at {address} did not start within {self._seconds:g} s",
                    "Wait longer: gs.local_cluster(tasks, seconds=120)",
                )


def local_cluster(tasks: int = 2, *, job: str = "worker", seconds: float = 60.0) -> LocalCluster:
    """Starts TensorFlow servers on this machine, each in a separate process, and waits until they are ready.

    Args:
        tasks: the number of servers.
        job: the name of their job: the devices are ``/job:worker/task:0`` and so on.
        seconds: how long to wait for the servers.

    Returns:
        a `LocalCluster`: ``with gs.local_cluster(2) as cluster:`` ends the servers after the block.

    Raises:
        PlanError: `tasks` is not a number of servers, or a server does not start in time.

    Example:
        >>> import tensorflow as tf
        >>> with local_cluster(1) as cluster, tf.Graph().as_default():
        ...     with tf.device(cluster.workers[cluster.targets[0]]):
        ...         y = tf.constant(20) + 1
        ...     with tf.compat.v1.Session(cluster.targets[0]) as session:
        ...         print(session.run(y))
        21
    """
    if not isinstance(tasks, int) or not 1 <= tasks <= 64:
        raise PlanError(
            f"local_cluster({tasks!r})", "tasks must be a number of servers, from 1 to 64", "Try local_cluster(2)"
        )
    return LocalCluster(tasks, job, seconds)


def free_ports(count: int) -> list[int]:
    """Returns free ports of the loopback interface.

    The ports are below the range from which operating systems assign ports. So no other program is assigned one of
    them before it is used.

    Raises:
        PlanError: too few ports are free.
    """
    ports: list[int] = []
    for port in random.SystemRandom().sample(range(20_000, 32_000), 1000):
        if len(ports) == count:
            break
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            ports.append(port)
    if len(ports) < count:
        raise PlanError(
            f"local_cluster({count})",
            f"only {len(ports)} of 1,000 ports between 20000 and 32000 are free",
            "End programs that use these ports, or start fewer tasks",
        )
    return ports


def _wait_until_ready(server: subprocess.Popen[str], seconds: float) -> bool:
    assert server.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(server.stdout, selectors.EVENT_READ)
        return bool(selector.select(max(0.0, seconds))) and server.stdout.readline() == "ready\n"
