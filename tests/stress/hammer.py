"""Who looks at a duplicate sees one version: a trainer, an updater and two readers at once, for a minute in each place.

    python -m tests.stress.hammer [SECONDS]

All variables hold the same number, that of the step; what is read is made of all of them. Exit code 1: a mix was seen.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tensorflow as tf

import graphsurgeon as gs

tf1 = tf.compat.v1
COUNT, SIZE = 8, 20_000
PLACES = ("one session", "two sessions", "cluster, one session", "cluster, two sessions", "checkpoints")

TRAINER = """
import sys
import tensorflow as tf
from tests.stress.hammer import numbers, tf1
with tf.Graph().as_default() as graph, tf1.Session(graph=graph) as session:
    _, step = numbers(graph, sys.argv[2] == "resource")
    session.run(tf1.global_variables_initializer())
    saver = tf1.train.Saver(max_to_keep=3)
    for number, _ in enumerate(sys.stdin):
        session.run(step)
        saver.save(session, sys.argv[1] + "/model", global_step=number + 1, write_meta_graph=False)
        print(number + 1, flush=True)
"""


@dataclass
class Seen:
    """What was seen.

    Args:
        steps, updates, reads: how many there were.
        mixes: reads that saw more than one step.
        numbers: the steps that were seen.
    """

    steps: int = 0
    updates: int = 0
    reads: int = 0
    mixes: int = 0
    numbers: set[float] = field(default_factory=set)

    def __str__(self) -> str:
        return f"{self.steps} steps, {self.updates} updates, {self.reads} reads, {self.mixes} mixes"


def numbers(graph: Any, resource: bool, device: str | None = None) -> tuple[Any, Any]:
    """Adds variables that all hold the number of the step; returns a tensor made of all of them, and the step."""
    with graph.as_default(), tf.device(device), tf1.variable_scope("", use_resource=resource):
        parts = [tf1.get_variable(f"v{i}", [SIZE], initializer=tf1.zeros_initializer()) for i in range(COUNT)]
        values = [v.value() for v in parts]
        ends = tf.stack([v[0] for v in values] + [v[-1] for v in values], name="ends")
        return ends, tf.group(*(v.assign_add(tf.ones([SIZE])) for v in parts), name="step")


@contextmanager
def placed(place: str, resource: bool, targets: Mapping[str, str]) -> Iterator[tuple[Any, Any, Callable[[], Any]]]:
    """Gives a duplicate, what to read of it, and a function that takes a step."""
    graph = tf.Graph()
    if place == "checkpoints":
        ends, _ = numbers(graph, resource)
        with tempfile.TemporaryDirectory() as folder, _elsewhere(folder, resource) as step:
            step()
            with gs.duplicate(gs.open(graph).select(outputs=ends)).follow(folder) as replica:
                replica.update()
                yield replica, replica[ends], step
        return
    here, there = list(targets.items()) if place.startswith("cluster") else [("", None), ("", "/cpu:0")]
    ends, step = numbers(graph, resource, here[1])
    with graph.as_default():
        start = tf1.global_variables_initializer()
    with tf1.Session(here[0], graph=graph) as session:
        session.run(start)
        same = place.endswith("one session")
        with gs.duplicate(
            gs.open(graph).select(outputs=ends), values=session, graph=graph if same else None,
            target="" if same else there[0], device=there[1] or "keep",
        ) as replica:  # fmt: skip
            yield replica, replica[ends], lambda: replica.train(step)


@contextmanager
def _elsewhere(folder: str, resource: bool) -> Iterator[Callable[[], Any]]:
    """A trainer in a process of its own that takes a step and saves it on request."""
    process = subprocess.Popen(
        [sys.executable, "-c", TRAINER, folder, "resource" if resource else "reference"],
        cwd=Path(__file__).parents[1], env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip

    def step() -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        print(file=process.stdin, flush=True)
        if not process.stdout.readline():
            raise RuntimeError("the trainer has ended")

    try:
        yield step
    finally:
        process.communicate()


def hammer(place: str, resource: bool, more: Callable[[Seen], bool], targets: Mapping[str, str]) -> Seen:
    """Lets a trainer, an updater and two readers run at once.

    Args:
        place: one of `PLACES`.
        resource: the kind of the variables.
        more: says after each step whether another is to come.
        targets: of a cluster of two tasks, target -> device.
    """
    seen, failed, stop = Seen(), list[BaseException](), threading.Event()
    with placed(place, resource, targets) as (replica, ends, step):

        def train() -> None:
            step()
            seen.steps += 1
            if not more(seen):
                stop.set()

        def update() -> None:
            try:
                seen.updates += bool(replica.update())
            except gs.OpenError as error:  # the checkpoint was deleted, or is not whole yet: nothing was taken
                if place != "checkpoints" or "Nothing was read" not in str(error):
                    raise

        def read() -> None:
            found = set(replica.run(ends).tolist())
            seen.reads += 1
            seen.mixes += len(found) > 1
            seen.numbers |= found

        def again(work: Callable[[], None]) -> None:
            try:
                while not stop.is_set():
                    # A worker gives a run back that reached it twice; who trains on a cluster asks again.
                    with suppress(tf.errors.AbortedError):
                        work()
            except BaseException as error:
                failed.append(error)
                stop.set()

        threads = [threading.Thread(target=again, args=(work,)) for work in (train, update, read, read)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]
        replica.update()
        read()
    return seen


def main(seconds: float = 60.0) -> int:
    """Hammers in each place for so long, and prints what was seen."""
    mixes = 0
    with gs.local_cluster(2) as cluster:
        for place in PLACES:
            for resource in (True, False):
                seen = hammer(place, resource, _until(seconds), cluster.workers)
                mixes += seen.mixes
                print(f"{place}, {'resource' if resource else 'reference'} variables: {seen}", flush=True)
    return bool(mixes)


def _until(seconds: float) -> Callable[[Seen], bool]:
    """Says yes for so long from the first time on that it is asked."""
    begun: list[float] = []

    def more(_seen: Seen) -> bool:
        begun.append(time.monotonic())
        return begun[-1] - begun[0] < seconds

    return more


if __name__ == "__main__":
    sys.exit(main(*map(float, sys.argv[1:2])))
