"""Trials: runs candidates in parallel, in sessions of this process or of a cluster."""

from __future__ import annotations

import hashlib
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ...errors import PlanError
from ...graph.live import TFGraph
from ..importing import tf
from ..values.initialization import initialise
from ..values.sessions import fill_tables
from ..values.variables import variable_infos
from ..wire import encoded
from .devices import LOST, devices_of
from .gate import session_of

tf1 = tf.compat.v1


def workers_of(workers: Any, timeout: float) -> list[tuple[str, Any]]:
    """Returns the target and ConfigProto of each worker.

    Args:
        workers: the number of parallel sessions in this process; or target -> device, or an object with `workers`.
        timeout: how long to wait for each worker, and for each of its runs, in seconds.

    Raises:
        PlanError: `workers` has another form, or a worker does not answer.
    """
    workers = getattr(workers, "workers", workers)
    if isinstance(workers, Integral) and int(workers) >= 1:
        config = _config()
        # A separate thread pool: the first session with a number of threads would set it for the whole process.
        config.session_inter_op_thread_pool.add(num_threads=1)
        return [("", config)] * int(workers)
    if isinstance(workers, Mapping) and workers:
        out = []
        for target, device in workers.items():
            config = _config()
            config.device_filters.append(device)  # it needs no other task, so it waits for none
            config.operation_timeout_in_ms = max(1, round(timeout * 1000))  # a lost worker never answers
            devices_of(target, config, timeout)
            out.append((target, config))
        return out
    raise PlanError(
        f"evolve(workers={workers!r})",
        "workers must be a number of sessions, or a mapping of target to device",
        "Give a number such as workers=2, or workers=gs.local_cluster(2)",
    )


def _config() -> Any:
    config = tf1.ConfigProto()
    # Each candidate runs only a few times: its optimization would take longer than it saves.
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def scores(candidates: Sequence[Any], score: Callable[[Any], float], workers: Sequence[tuple[str, Any]]) -> list[float]:
    """Returns the scores of candidates, in order; infinite for one that cannot run or whose score is not a number.

    Args:
        candidates: the candidates, each a `Candidate`.
        score: called with a function that runs the candidate: ``run({"x": array})`` returns its output.
        workers: target and config of each worker; if a worker is lost, the others try its candidate.

    Raises:
        PlanError: all workers were lost.
        others: the errors that `score` raises.
    """
    found: list[float | None] = [None] * len(candidates)
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(candidates)):
        todo.put(number)
    failed: list[BaseException] = []
    lost = dict[str, str]()

    def work(target: str, config: Any) -> None:
        while not failed:
            try:
                number = todo.get_nowait()
            except queue.Empty:
                return
            try:
                found[number] = _score(candidates[number], score, target, config)
            except LOST as error:
                todo.put(number)
                lost[target] = type(error).__name__
                return
            except BaseException as error:
                failed.append(error)
                return

    living = list(workers)
    while living and any(value is None for value in found) and not failed:
        threads = [threading.Thread(target=work, args=worker, daemon=True) for worker in living]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        living = [worker for worker in living if worker[0] not in lost]
    if failed:
        raise failed[0]
    if any(value is None for value in found):
        named = ", ".join(f"{target}: {kind}" for target, kind in lost.items())
        raise PlanError("evolve(...)", f"all workers were lost ({named})", "Start the cluster again")
    return [value for value in found if value is not None]


def _score(candidate: Any, score: Callable[[Any], float], target: str, config: Any) -> float:
    with session_of(candidate.graph, target, config, "evolve(...)") as session:

        def run(feeds: Mapping[Any, Any]) -> Any:
            named = {f"{k}:0" if isinstance(k, str) and ":" not in k else k: v for k, v in feeds.items()}
            there = candidate.editor.snapshot.index
            strange = [k for k in named if isinstance(k, str) and k.partition(":")[0] not in there]
            if strange:
                known = ", ".join(repr(name) for name in candidate.inputs)
                problem = f"there is no input {strange[0].removesuffix(':0')!r}"
                raise PlanError("run({...})", problem, f"Use the inputs {known}")
            return session.run(candidate.output, named)

        run.session, run.candidate = session, candidate  # type: ignore[attr-defined]

        try:
            infos = variable_infos(candidate.graph)
            if infos:
                initialise(session, infos.values())
            fill_tables(session)
            value = _number(score(run))
        except LOST:
            raise
        except tf.errors.OpError:
            return float("inf")
    return value if np.isfinite(value) else float("inf")


def _number(value: Any) -> float:
    try:
        return float(np.asarray(value).item())
    except (TypeError, ValueError):
        text = repr(value)
        raise PlanError(
            "evolve(score)",
            f"score returned {text if len(text) <= 60 else text[:57] + '...'}, which is not a number",
            "Return a number, the lower the better, such as float(np.mean((run(feeds) - target) ** 2))",
        ) from None


def digest(graph: TFGraph, output: str) -> str:
    """Returns a digest of the nodes of a graph and the name of its output."""
    nodes = encoded(graph.as_graph_def(), deterministic=True)
    return hashlib.blake2b(nodes + output.encode(), digest_size=16).hexdigest()
