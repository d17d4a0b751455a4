"""Proof: another process reads a written file with plain TensorFlow; its results are compared with the source graph.

This happens before the file gets its final name. If a part cannot be run, the reason is reported.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import PlanError, counted, few
from ...graph.arrays import magnitude, same_numbers, widened
from ...graph.graph import Graph
from ...graph.open_graph import Ends, placeholders_in
from ...graph.traversal import backward, producers
from ...graph.types import TFTensor
from ...graph.variables import VARIABLE_TYPES
from ..import_tensorflow import tf
from ..messages import tensor_pb2
from ..op_types import HARMLESS, RANDOM, effect_finder, op_definition
from ..protos import decode, encode
from ..run.errors import error_text
from ..run.sessions import session_of, untrusted_reason
from ..values.initialization import initialized_variables, run_initializers
from ..values.transfer import assign
from ..values.variables import fetch
from .worker import WORKER

tf1 = tf.compat.v1

#: Sizes that are tried for unknown sizes, until the source accepts one; and whether random integers are zeros.
_SIZES = ((2, False), (1, False), (1, True), (64, False))
_ERRORS = (tf.errors.OpError, ValueError, TypeError, KeyError, RuntimeError)


@dataclass
class Proof:
    """The result of opening a file again.

    Args:
        text: text about the parts that were run, and their feeds; empty if nothing was run.
        notes: the parts that could not be run, with the reasons.
    """

    text: str = ""
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class WrittenFile:
    """A written file, and a way to read it in plain TensorFlow.

    Args:
        loader: the function of TensorFlow that reads it, for messages.
        kind: the reader in worker_main.py.
        reader_args: the arguments of the reader.
        arrange: a function of the ends of a call, and its feeds: tensor -> array. It returns the feeds by their names
            in the file, and name of result in the file -> tensor.
        without_values: whether the file has variables, and no values of variables.
    """

    loader: str
    kind: str
    reader_args: Mapping[str, Any]
    arrange: Callable[[Ends, Mapping[str, Any]], _Arranged]
    without_values: bool = False


_Arranged = tuple[dict[str, Any], dict[str, str]]


def by_signature(call: Ends, feeds: Mapping[str, Any]) -> _Arranged:
    """Arranges a call for files with signatures; see `WrittenFile`."""
    return {name: feeds[tensor] for name, tensor in call.inputs.items() if tensor in feeds}, dict(call.outputs)


def by_tensor(new_name: Callable[[str], str]) -> Any:
    """Returns a function that arranges calls for files without signatures; see `WrittenFile`.

    Args:
        new_name: tensor of the source -> its name in the file.
    """

    def arrange(call: Ends, feeds: Mapping[str, Any]) -> _Arranged:
        feeds = {new_name(tensor): value for tensor, value in feeds.items()}
        return feeds, {new_name(tensor): tensor for tensor in call.outputs.values()}

    return arrange


@dataclass
class _SourceRun:
    """A call that was run in the source graph.

    Args:
        key: the name of the call.
        name: its name in messages.
        part: the part of the graph.
        feeds, results: tensor -> array.
        size: the size that was used for unknown sizes, or 0.
    """

    key: str
    name: str
    part: ProofPart
    feeds: dict[str, Any]
    results: dict[str, Any]
    size: int


class _NotRun(Exception):
    """Raised if the other process cannot read a file for a reason that is not in the file; its text is the reason."""


def prove(
    base: Graph,
    calls: Mapping[str, Ends],
    files: Sequence[WrittenFile],
    source: ProofSource,
    feeds: Mapping[str, Any],
    request: str,
    suggestion: str,
    saved_variables: frozenset[str] | None = None,
    title: str = "opened again by TensorFlow",
    timeout: float | None = None,
) -> Proof:
    """Reads a file in another process in the same way as users, and compares the results of its calls with the source.

    Args:
        base: snapshot of the graph that was saved.
        calls: the calls to run, by name; their tensors are those of the source.
        files: ways to read the file in plain TensorFlow. The results of the first way must equal the results of the
            source. For the other ways, differences and errors become notes.
        source: the graph that was saved, in a form that can be run.
        feeds: tensor -> array; other tensors get random numbers if dtype and shape allow it.
        request: the request, for messages.
        suggestion: the suggestion if TensorFlow cannot run the file.
        saved_variables: the variables whose values are in the file; None for all variables.
        title: the first words of the report.
        timeout: the time limit for the other process in seconds; None for no limit.

    Raises:
        PlanError: TensorFlow cannot open or run the file, or its results differ.
    """
    distrust = untrusted_reason(base.owner)
    if distrust:
        return Proof(notes=[f"not opened again: {distrust}"])
    proof = Proof()
    with closing(source):
        runs = _run_source(base, calls, source, feeds, proof, saved_variables)
        used = dict.fromkeys(name for run in runs for name in run.part.variables if name in base.state.variables)
        values = source.variables(list(used)) if any(file.without_values for file in files) and runs else {}
    for number, file in enumerate(files):
        try:
            _compare(file, calls, runs, values, request, suggestion, timeout)
            proof.text = proof.text or title
        except _NotRun as reason:
            proof.notes.append(f"not opened again by {file.loader}: {reason}")
            break
        except PlanError as error:
            if not number and not tf.config.list_logical_devices("GPU"):  # the other process uses no GPU
                raise
            proof.notes.append(f"not for {file.loader}: {error.problem}")
    return _with_text(proof, runs, feeds)


def prove_here(
    base: Graph,
    call: Ends,
    run: Callable[[Mapping[str, Any]], Sequence[Any]],
    source: ProofSource,
    feeds: Mapping[str, Any],
    request: str,
    title: str,
) -> Proof:
    """Compares the results of a function of this process with the source.

    Args:
        base, source, feeds, request, title: as in `prove`.
        call: the tensors of the source that the function computes.
        run: a function of the feeds: tensor -> array. It returns the results, in the order of the outputs of the call.

    Raises:
        PlanError: the results differ.
    """
    proof = Proof()
    with closing(source):
        runs = _run_source(base, {"": call}, source, feeds, proof)
    for one in runs:
        for tensor, result in zip(call.outputs.values(), run(one.feeds), strict=True):
            _refuse_difference(tensor, one, result, request)
        proof.text = title
    return _with_text(proof, runs, feeds)


def _run_source(
    base: Graph,
    calls: Mapping[str, Ends],
    source: ProofSource,
    feeds: Mapping[str, Any],
    proof: Proof,
    saved_variables: frozenset[str] | None = None,
) -> list[_SourceRun]:
    """Runs calls in the source, and notes the calls that cannot be run; the arguments are those of `prove`."""
    runs = []
    for key, call in calls.items():
        part = inspect_part(base, [*call.inputs.values(), *feeds], list(call.outputs.values()))
        name = f"signature {key!r}" if key else few(part.outputs)
        lost = [] if saved_variables is None else [v for v in part.variables if v not in saved_variables]
        if lost and not part.skip_reason:
            part.skip_reason = f"needs the variable {lost[0]!r}, whose value is not in the file"
        try:
            if part.skip_reason:
                raise _Mute(part.skip_reason)
            runs.append(_SourceRun(key, name, part, *source.run(part, feeds)))
        except _Mute as mute:
            proof.notes.append(f"not run: {name} {mute}")
    return runs


def _with_text(proof: Proof, runs: Sequence[_SourceRun], feeds: Mapping[str, Any]) -> Proof:
    """Adds the compared outputs to a proof that has run something."""
    if proof.text:
        proof.notes += [f"run, but not compared, because it uses random numbers: {one.name}"
                        for one in runs if one.part.random]  # fmt: skip
        proof.text += _compared_text([one for one in runs if not one.part.random], feeds)
    return proof


def _compared_text(runs: Sequence[_SourceRun], feeds: Mapping[str, Any]) -> str:
    """Returns text about the outputs that were compared; empty if there are none."""
    equal = sum(len(run.part.outputs) for run in runs)
    made_up = dict.fromkeys(name for run in runs for name in run.feeds if name not in feeds)
    sizes = sorted({run.size for run in runs} - {0})
    on = f" on random values for {few(list(made_up))}" if made_up else ""
    on += f" (unknown sizes: {' or '.join(map(str, sizes))})" if sizes else ""
    return f": {counted(equal, 'outputs')} as in this graph{on}" if equal else ""


def _compare(
    file: WrittenFile,
    calls: Mapping[str, Ends],
    runs: Sequence[_SourceRun],
    values: Mapping[str, Any],
    request: str,
    suggestion: str,
    timeout: float | None,
) -> None:
    """Reads a file in the worker process, and compares the results; the arguments are those of `prove`.

    Args:
        runs: the runs of the source.
        values: variable -> value, for files without values.

    Raises:
        PlanError: TensorFlow cannot open or run the file, or its results differ.
        _NotRun: the other process cannot read the file, for a reason that is not in the file.
    """
    how = f"{suggestion}; verify=False writes the file without a check"
    arranged = [file.arrange(calls[run.key], run.feeds) for run in runs]
    with tempfile.TemporaryDirectory(prefix="graphsurgeon") as name:
        folder = Path(name)
        sent = [(run.key, _store(folder, f"feed_{i}", fed), list(results))
                for i, (run, (fed, results)) in enumerate(zip(runs, arranged, strict=True))]  # fmt: skip
        given = {"values": _store(folder, "value", values)} if file.without_values else {}
        asked = {"do": "read", "folder": name, "kind": file.kind, **file.reader_args, **given, "calls": sent}
        answer = WORKER.send(folder, asked, timeout)
        _refuse_failure(answer, "open", request, how)
        for run, (_, results), one in zip(runs, arranged, answer["calls"], strict=True):
            _refuse_failure(one, "run", request, how)
            for result, tensor in results.items():
                got = decode(tensor_pb2.TensorProto, Path(name, one["results"][result]).read_bytes())
                _refuse_difference(tensor, run, tf.make_ndarray(got), request)


def _refuse_difference(tensor: str, run: _SourceRun, result: Any, request: str) -> None:
    """Refuses a written file whose result differs from the source."""
    far = _difference(run.results[tensor], result, run.part.random)
    if far:
        instead = "Report this as a bug; verify=False writes the file without a check"
        raise PlanError(request, f"{tensor!r} of the written file {far}", instead)


def _store(folder: Path, lead: str, values: Mapping[str, Any]) -> dict[str, str]:
    """Writes values into files; returns the names of the files."""
    files = {name: f"{lead}_{i}" for i, name in enumerate(values)}
    for name, value in values.items():
        Path(folder, files[name]).write_bytes(encode(tf.make_tensor_proto(value)))
    return files


def _refuse_failure(answer: Mapping[str, Any], action: str, request: str, how: str) -> None:
    """Refuses a file that the worker process cannot open or run.

    Args:
        answer: the answer of the process, or a part of it.
        action: open or run.
        request: the request, for messages.
        how: the suggestion.
    """
    unknown, failure = answer.get("unknown", ""), answer.get("how", "") or answer.get("error", "")
    if unknown and op_definition(unknown) is not None:
        raise _NotRun(f"plain TensorFlow has no op type {unknown!r}, which needs tf.load_op_library(...)")
    if not answer.get("started", True):
        raise _NotRun(f"another process with TensorFlow {failure}")
    if answer.get("memory"):
        raise _NotRun(f"another process has no memory for it: {error_text(RuntimeError(failure))}")
    if failure:
        text = f"the process {failure}" if "how" in answer else error_text(RuntimeError(failure))
        raise PlanError(request, f"TensorFlow cannot {action} the written file: {text}", how)


# -- the parts that are run ---------------------------------------------------------------------------


class _Mute(Exception):
    """Raised if the source cannot be run; its text is the reason."""


@dataclass
class ProofPart:
    """The part of a graph that some outputs need.

    Args:
        outputs: the outputs.
        feeds: the tensors that must be fed.
        variables: the variables that the outputs need.
        tables: the ops that fill the tables that the outputs need.
        random: whether the outputs depend on random numbers.
        skip_reason: why the part must not be run; empty if it can be run.
    """

    outputs: list[str]
    feeds: list[str]
    variables: list[str]
    tables: list[str]
    random: bool
    skip_reason: str


def inspect_part(base: Graph, inputs: list[str], outputs: list[str]) -> ProofPart:
    """Returns the part of a graph that some outputs need, given tensors that are fed."""
    inputs, outputs = list(dict.fromkeys(inputs)), list(dict.fromkeys(outputs))
    cuts = frozenset(base.tensor(name) for name in inputs)
    mask = backward(base, producers(base, map(base.tensor, outputs), cuts), cuts)
    inside = np.flatnonzero(mask).tolist()
    feed_names = dict.fromkeys([*inputs, *placeholders_in(base, mask)])
    variables = [base.names[i] for i in inside if base.types[i] in VARIABLE_TYPES]
    tables = [name for i in inside for name in base.state.init_ops.get(base.names[i], ())]
    effects_of = effect_finder(base.functions)
    effects = [(effects_of(base.nodes[i]) - HARMLESS, i) for i in inside]
    random = any(RANDOM in found for found, _ in effects)
    obstacle = next((f"needs {base.names[i]!r} ({base.types[i]}), which {min(found - {RANDOM})}"
                 for found, i in effects if found - {RANDOM}), "")  # fmt: skip
    dtypes = {name: base.live_graph.as_graph_element(name).dtype for name in outputs}
    odd = [name for name, dtype in dtypes.items() if dtype.base_dtype in (tf.resource, tf.variant)]
    if odd and not obstacle:
        obstacle = f"cannot be fetched: {odd[0]!r} has dtype {dtypes[odd[0]].name}"
    return ProofPart(outputs, list(feed_names), variables, tables, random, obstacle)


# -- the source -----------------------------------------------------------------------------------


class ProofSource:
    """The graph that was saved, in a form that can be run.

    Args:
        base: its snapshot.
        values: a session of the graph, a mapping of variable name to array, or None for initial values.
        request: the request, for messages.
    """

    def __init__(self, base: Graph, values: Any, request: str) -> None:
        self._base, self._request = base, request
        self._session: Any = values if hasattr(values, "run") else None
        self._mapping: Any = values if isinstance(values, Mapping) else None
        self._open_session: Any = None
        self._initialized: set[str] = set()

    def close(self) -> None:
        """Closes the session that this object has made, if any."""
        if self._open_session is not None:
            self._open_session.close()

    def run(self, part: ProofPart, feeds: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], int]:
        """Returns the feeds, the results, and the size that was used for unknown sizes, or 0.

        Raises:
            _Mute: the source cannot be run in this way.
        """
        try:
            session = self._ready(part)
        except (*_ERRORS, PlanError) as error:
            raise _Mute(f"cannot be run in the source graph: {_why(error)}") from error
        tensors = {name: self._base.live_graph.as_graph_element(name) for name in part.feeds}
        given = {name: _typed(feeds[name], t) for name, t in tensors.items() if name in feeds}
        fixed = all(name in feeds or (t.shape.is_fully_defined() and not t.dtype.is_integer)
                    for name, t in tensors.items())  # fmt: skip
        last: Exception | None = None
        for size, plain in _SIZES[: 1 if fixed else None]:
            all_feeds = {name: given[name] if name in given else _random(t, size, plain) for name, t in tensors.items()}
            blank = [name for name, value in all_feeds.items() if value is None]
            if blank:
                t = tensors[blank[0]]
                raise _Mute(f"needs a value for {blank[0]!r} ({t.dtype.base_dtype.name}, shape {t.shape}): "
                            f"give feeds={{{blank[0]!r}: ...}}")  # fmt: skip
            try:
                results = dict(zip(part.outputs, session.run(part.outputs, all_feeds), strict=True))
            except _ERRORS as error:
                last = error
                continue
            open_ = any(name not in feeds and not t.shape.is_fully_defined() for name, t in tensors.items())
            return all_feeds, results, size if open_ else 0
        made_up = [name for name in part.feeds if name not in feeds]
        how = f"; give real values: feeds={{{made_up[0]!r}: ...}}" if made_up else ""
        raise _Mute(f"cannot be run in the source graph: {_why(last)}{how}") from last

    def variables(self, names: Sequence[str]) -> dict[str, Any]:
        """Returns the values of variables in the session of this source, by op name, except for those without a value.

        A run that has succeeded does not read variables without a value, for example if it needs only a shape.
        """
        session, infos = self._session or self._open_session, [self._base.state.variables[name] for name in names]
        initialized = initialized_variables(session, infos, self._request)
        return fetch(session, [v for v in infos if v.op in initialized], self._base.live_graph, self._request)

    def _ready(self, part: ProofPart) -> Any:
        """Returns a session with values for all variables and tables that a part needs."""
        if self._session is not None:
            return self._session
        graph, variables = self._base.live_graph, self._base.state.variables
        if self._open_session is None:
            self._open_session = session_of(graph, config=_config())
        infos = [variables[name] for name in part.variables if name in variables and name not in self._initialized]
        if self._mapping is not None:
            arrays = fetch(self._mapping, infos, graph, self._request)
            assign(self._open_session, arrays, variables, "opening it again")
        else:
            run_initializers(self._open_session, infos, list(variables.values()), self._request)
        self._initialized.update(info.op for info in infos)
        for name in part.tables:  # a table that is already filled, or whose file does not exist, is not changed
            with suppress(tf.errors.FailedPreconditionError, tf.errors.NotFoundError):
                self._open_session.run(self._base.live_graph.get_operation_by_name(name.partition(":")[0]))
        return self._open_session


def _config() -> Any:
    """Returns the configuration of a session for a single run, on any device, without optimizers that may crash."""
    proto = tf1.ConfigProto(allow_soft_placement=True)
    proto.graph_options.rewrite_options.disable_meta_optimizer = True
    return proto


def _why(error: BaseException | None) -> str:
    return error.problem if isinstance(error, PlanError) else error_text(error) if error is not None else "no size fits"


def _random(tensor: TFTensor, size: int, constant: bool) -> Any:
    """Returns a reproducible random array for a tensor; None if none can be generated."""
    dtype = tensor.dtype.base_dtype
    if tensor.shape.rank is None or dtype in (tf.resource, tf.variant) or dtype.is_quantized:
        return None
    shape = [size if n is None else n for n in tensor.shape.as_list()]
    random = np.random.RandomState(0)
    if dtype == tf.string:
        return np.full(shape, b"0", dtype=object)
    if dtype.is_integer or dtype.is_bool:
        numbers = np.zeros(shape) if constant else random.randint(0, 2, shape)
        return np.asarray(numbers).astype(dtype.as_numpy_dtype)
    return np.asarray(random.random_sample(shape)).astype(dtype.as_numpy_dtype)


def _typed(value: Any, tensor: TFTensor) -> Any:
    """Returns a value as an array with the dtype of a tensor; unchanged if that is not possible."""
    dtype = tensor.dtype.base_dtype
    try:
        return np.asarray(value, object if dtype == tf.string else dtype.as_numpy_dtype)
    except (TypeError, ValueError):  # TensorFlow names the reason when it runs the source
        return value


def _difference(expected: Any, actual: Any, random: bool) -> str:
    """Returns text about how two values differ; empty if they are equal up to rounding."""
    a, b = (np.asarray(value, object if isinstance(value, bytes) else None) for value in (expected, actual))
    if a.dtype != b.dtype:
        return f"is {b.dtype}, not {a.dtype}"
    if random:
        return ""
    if a.shape != b.shape:
        return f"has shape {b.shape}, not {a.shape}"
    if same_numbers(a, b):
        return ""
    if a.dtype.kind in "OSUb" or np.issubdtype(a.dtype, np.integer):
        return "differs from the source"
    gap = float(np.nanmax(np.abs(widened(a) - widened(b))))
    return f"differs from the source by {gap:.3g}, of {magnitude(a):.3g}"
