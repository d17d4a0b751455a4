"""Trials: builds random candidate graphs, and runs candidates in parallel, in this process or in a cluster."""

from __future__ import annotations

import hashlib
import inspect
import queue
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from ...errors import PlanError
from ...graph.types import TFGraph, TFTensor
from ..import_tensorflow import tf
from ..protos import empty_graph, encode
from ..values.assign_values import fill_tables
from ..values.initialization import run_initializers
from ..values.variables import variable_infos
from .errors import errors_as
from .sessions import LOST_SERVER_ERRORS, devices_of, session_of

tf1 = tf.compat.v1


def arity(function: Callable[..., Any]) -> int:
    """Returns the number of tensors that a function takes: its arguments without a default.

    Raises:
        PlanError: the number is not known, or is zero.

    Example:
        >>> arity(tf.add), arity(lambda a: a * a)
        (2, 1)
    """
    name = getattr(function, "__name__", repr(function))
    try:
        parameters = inspect.signature(function).parameters.values()
        count = sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    except (TypeError, ValueError):
        count = 0
    if not count:
        raise PlanError(f"functions=[{name}]", "it is not known how many tensors it takes", "Wrap it: lambda a, b: ...")
    return count


def random_graph(
    specs: Mapping[str, Any],
    functions: Sequence[Callable[..., Any]],
    constants: tuple[float, float],
    depth: int,
    rng: Any,
) -> tuple[TFGraph, str]:
    """Returns a graph that computes a random expression of its inputs, and the name of the output.

    Args:
        specs: name -> `tf.TensorSpec` of each input.
        functions: the functions to choose from.
        constants: the smallest and the largest constant.
        depth: the maximum nesting depth of functions.
        rng: a NumPy random generator.

    Raises:
        PlanError: a function refuses such inputs, or returns a tensor of another dtype or shape.
    """
    graph = empty_graph()
    with graph.as_default():
        inputs = [tf1.placeholder(spec.dtype, spec.shape, name=name) for name, spec in specs.items()]

        def leaf(constant: bool) -> TFTensor:
            if constant and rng.random() < 0.4:
                return tf.constant(_constant_number(rng.uniform(*constants), inputs[0].dtype), dtype=inputs[0].dtype)
            return inputs[rng.integers(len(inputs))]

        def node(level: int, constant: bool) -> TFTensor:
            if level == 0 or (level < depth and rng.random() < 0.2):
                return leaf(constant)
            function = functions[rng.integers(len(functions))]
            count = arity(function)
            # At least one argument is not a constant, so that the result has the shape of the inputs.
            fixed = rng.integers(count)
            return _call(function, [node(level - 1, i != fixed) for i in range(count)], inputs[0])

        output = node(max(1, depth), False)
    return graph, str(output.name)


def _constant_number(value: float, dtype: Any) -> Any:
    """Returns a constant of a dtype: rounded for integers; for booleans, whether the value is above zero."""
    if dtype.is_bool:
        return value > 0
    return np.round(value) if dtype.is_integer else np.round(value, 3)


def _call(function: Callable[..., Any], args: list[TFTensor], template: TFTensor) -> TFTensor:
    name = getattr(function, "__name__", repr(function))
    request, kinds = f"functions=[{name}]", (TypeError, ValueError, tf.errors.OpError)
    with errors_as(PlanError, request, "it does not accept tensors like the inputs", "Leave it out", *kinds):
        out = function(*args)
    same = getattr(out, "dtype", None) == template.dtype and out.shape.is_compatible_with(template.shape)
    if not same:
        got = f"{getattr(out, 'dtype', type(out))!r} {getattr(out, 'shape', '')}"
        raise PlanError(
            request,
            f"it returns {got}, which does not fit the dtype and shape of the inputs",
            "Leave it out, or wrap it in a function that converts its result",
        )
    return out


def expression(function: Callable[..., Any], spec: Any) -> tuple[TFGraph, list[str], str]:
    """Returns the graph of a function of tensors, the names of its inputs in order, and the name of its output."""
    names = list(inspect.signature(function).parameters)
    graph = empty_graph()
    with graph.as_default():
        inputs = [tf1.placeholder(spec.dtype, spec.shape, name=name) for name in names]
        output = _call(function, inputs, inputs[0])
    return graph, names, str(output.name)


def specs_of(graph: TFGraph, inputs: Sequence[str]) -> dict[str, Any]:
    """Returns dtype and shape of the placeholders of a graph, by name."""
    tensors = {name: graph.get_tensor_by_name(f"{name}:0") for name in inputs}
    return {name: tf.TensorSpec(t.shape, t.dtype) for name, t in tensors.items()}


def uniform_specs(specs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns specs as `tf.TensorSpec`; a dtype without a shape becomes a vector of any length.

    Raises:
        PlanError: there are no inputs, or a name or dtype is not valid. Also if the inputs differ in dtype or shape,
            because a random expression may then not fit.
    """
    request = "evolve(inputs=...)"
    if not isinstance(specs, Mapping):
        raise PlanError(request, f"{specs!r} is not a mapping", "Give a mapping such as inputs={'x': tf.float32}")
    out = {}
    for name, spec in specs.items():
        if not re.fullmatch(r"[A-Za-z0-9.][A-Za-z0-9_.-]*", str(name)):
            raise PlanError(
                request,
                f"{name!r} cannot be the name of a placeholder",
                "Use letters, digits, '_', '.', '-', and begin with a letter or digit",
            )
        try:
            out[name] = spec if isinstance(spec, tf.TensorSpec) else tf.TensorSpec([None], tf.as_dtype(spec))
        except TypeError:
            problem = f"{spec!r}, for {name!r}, is neither a dtype nor a tf.TensorSpec"
            raise PlanError(request, problem, "Give one such as tf.float32 or tf.TensorSpec([None, 3])") from None
        dtype = out[name].dtype
        if dtype in (tf.string, tf.resource, tf.variant) or dtype.is_quantized:
            problem = f"{name!r} is {dtype.name}: there are no random constants of this dtype"
            raise PlanError(request, problem, "Give numbers or booleans, or only your own graphs: initial=[graph, ...]")
    if len({(s.dtype, str(s.shape)) for s in out.values()}) != 1:
        description = ", ".join(f"{n}: {s.dtype.name} {s.shape}" for n, s in out.items()) or "none at all"
        raise PlanError(
            request,
            f"the inputs are not of one dtype and shape: {description}",
            "Give inputs of one dtype and shape, or only your own graphs: initial=[graph, ...]",
        )
    return out


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
            config.device_filters.append(device)  # the session does not wait for other tasks
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
    # Each candidate runs only a few times, so an optimization would take longer than the time it saves.
    config.graph_options.rewrite_options.disable_meta_optimizer = True
    return config


def scores(candidates: Sequence[Any], score: Callable[[Any], float], workers: Sequence[tuple[str, Any]]) -> list[float]:
    """Returns the scores of candidates, in order; infinite for one that cannot run or whose score is not a number.

    Args:
        candidates: the candidates, `Candidate` objects.
        score: a function of ``run``, which runs the candidate: ``run({"x": array})`` returns its output.
        workers: target and config of each worker; if a worker is lost, another worker tries its candidate.

    Raises:
        PlanError: all workers were lost.
        others: any error of `score`.
    """
    results: list[float | None] = [None] * len(candidates)
    todo: queue.SimpleQueue[int] = queue.SimpleQueue()
    for number in range(len(candidates)):
        todo.put(number)
    failed: list[BaseException] = []
    failures = dict[str, str]()

    def work(target: str, config: Any) -> None:
        while not failed:
            try:
                number = todo.get_nowait()
            except queue.Empty:
                return
            try:
                results[number] = _score(candidates[number], score, target, config)
            except LOST_SERVER_ERRORS as error:
                todo.put(number)
                failures[target] = type(error).__name__
                return
            except BaseException as error:
                failed.append(error)
                return

    active = list(workers)
    while active and any(value is None for value in results) and not failed:
        threads = [threading.Thread(target=work, args=worker, daemon=True) for worker in active]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        active = [worker for worker in active if worker[0] not in failures]
    if failed:
        raise failed[0]
    if any(value is None for value in results):
        details = ", ".join(f"{target}: {kind}" for target, kind in failures.items())
        raise PlanError("evolve(...)", f"all workers were lost ({details})", "Start the cluster again")
    return [value for value in results if value is not None]


def _score(candidate: Any, score: Callable[[Any], float], target: str, config: Any) -> float:
    with session_of(candidate.graph, target, config, "evolve(...)") as session:

        def run(feeds: Mapping[Any, Any]) -> Any:
            values = {f"{k}:0" if isinstance(k, str) and ":" not in k else k: v for k, v in feeds.items()}
            index = candidate.editor.snapshot.index
            unknown = [k for k in values if isinstance(k, str) and k.partition(":")[0] not in index]
            if unknown:
                names = ", ".join(repr(name) for name in candidate.inputs)
                problem = f"there is no input {unknown[0].removesuffix(':0')!r}"
                raise PlanError("run({...})", problem, f"Use the inputs {names}")
            return session.run(candidate.output, values)

        run.session, run.candidate = session, candidate  # type: ignore[attr-defined]

        try:
            infos = variable_infos(candidate.graph)
            if infos:
                run_initializers(session, infos.values())
            fill_tables(session)
            value = _score_number(score(run))
        except LOST_SERVER_ERRORS:
            raise
        except tf.errors.OpError:
            return float("inf")
    return value if np.isfinite(value) else float("inf")


def _score_number(value: Any) -> float:
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
    nodes = encode(graph.as_graph_def(), deterministic=True)
    return hashlib.blake2b(nodes + output.encode(), digest_size=16).hexdigest()
