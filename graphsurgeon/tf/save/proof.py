"""Proof: opens a written file with plain TensorFlow, and compares its results with the results of the source graph.

This happens before the file gets its final name. If a part cannot be run, the reason is reported.
"""

from __future__ import annotations

import gzip
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format

from ...errors import PlanError, counted, few
from ...graph.arrays import magnitude, same_numbers, widened
from ...graph.compatibility import hazards
from ...graph.ends import placeholders_in
from ...graph.graph import Graph
from ...graph.provenance import orphan_mask
from ...graph.traversal import backward, forward
from ...graph.types import TFSession, TFTensor
from ...graph.variables import FEED_TYPES, PLACEHOLDER_TYPES, READING_TYPES, TABLE_TYPES, VARIABLE_TYPES
from ...plan.dependencies import writes
from ..functions.library import BRANCHING, CALLS, definition, functions_in_node, reached_functions
from ..importing import tf, without_log_warnings
from ..private.eager import eager
from ..private.functions import functions_of
from ..private.graphs import has_op
from ..protos import decode, empty_graph, lacks_memory
from ..registry import op_definition
from ..run.errors import error_text, errors_as
from ..run.sessions import session_of, untrusted_reason
from ..values.initialization import run_initializers
from ..values.transfer import assign
from ..values.variables import assign_op, fetch

tf1 = tf.compat.v1

#: A function that runs a call of a file: (name of the call, feeds) -> results. Tensors have their names in the source.
Run = Callable[[str, Mapping[str, Any]], dict[str, Any]]
#: The calls of a file: name -> (inputs, outputs), each name -> tensor of the source.
Calls = Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]]

_HARMLESS = VARIABLE_TYPES | READING_TYPES | BRANCHING | CALLS | {
    "HashTable", "HashTableV2", "AnonymousHashTable", "LookupTableFind", "LookupTableSize", "LookupTableExport",
    "LookupTableExportV2", "Assert", "Print", "PrintV2",
}  # fmt: skip
#: Op types whose state does not outlive a run.
_OF_A_RUN = ("TensorArray", "Stack")
_RANDOM = ("Random", "Truncated", "ParameterizedTruncated", "Multinomial", "SampleDistortedBoundingBox")
_OUTSIDE = ("Queue", "Reader", "Barrier", "Stage", "Unstage", "Write", "Save", "Restore", "MergeV2Checkpoints",
            "PyFunc", "EagerPyFunc")  # fmt: skip
#: Sizes that are tried for unknown sizes, until the source accepts one; and whether random integers are zeros.
_SIZES = ((2, False), (1, False), (1, True), (64, False))
_MOST = 8
_BY_CHANCE = "draws random numbers"
_ERRORS = (tf.errors.OpError, ValueError, TypeError, KeyError, RuntimeError)


@dataclass
class Proof:
    """The result of opening a file again.

    Args:
        said: text about the parts that were run, and their feeds; empty if nothing was run.
        notes: the parts that could not be run, with the reasons.
    """

    said: str = ""
    notes: list[str] = field(default_factory=list)


def prove(
    base: Graph,
    calls: Calls,
    loaders: Mapping[str, AbstractContextManager[Run]],
    source: ProofSource,
    feeds: Mapping[str, Any],
    request: str,
    suggestion: str,
    saved: frozenset[str] | None = None,
    title: str = "opened again by TensorFlow",
) -> Proof:
    """Loads a file in the same way as users, runs its calls, and compares the results with the source.

    Args:
        base: snapshot of the graph that was saved.
        calls: the calls to run.
        loaders: name -> a way to load the file in plain TensorFlow. The results of the first loader must equal the
            results of the source. For the other loaders, differences and errors become notes.
        source: the graph that was saved, in a form that can be run.
        feeds: tensor -> array; other tensors get random numbers if dtype and shape allow it.
        request: the request, for messages.
        suggestion: the suggestion if TensorFlow cannot run the file.
        saved: the variables whose values are in the file; None for all variables.
        title: the first words of the report.

    Raises:
        PlanError: TensorFlow cannot open or run the file, or its results differ.
    """
    distrust = untrusted_reason(base.owner)
    if distrust:
        return Proof(notes=[f"not opened again: {distrust}"])
    proof, made_up, sizes, equal = Proof(title), dict[str, None](), set[int](), 0
    runs = dict[str, Run]()
    with ExitStack() as opened:
        opened.callback(source.close)
        for loader, file in loaders.items():
            with _note_errors(proof, loader, bool(runs)), _translate_errors(request, "open", suggestion):
                runs[loader] = opened.enter_context(file)
        for key, (ins, outs) in calls.items():
            part = inspect_part(base, [*ins.values(), *feeds], list(outs.values()))
            name = f"signature {key!r}" if key else few(part.outputs)
            lost = [] if saved is None else [v for v in part.variables if v not in saved]
            if lost and not part.kept:
                part.kept = f"needs the variable {lost[0]!r}, whose value is not in the file"
            if part.kept:
                proof.notes.append(f"not run: {name} {part.kept}")
                continue
            try:
                fed, expected, size = source.answers(part, feeds)
            except _Mute as mute:
                proof.notes.append(f"not run: {name} {mute}")
                continue
            for number, (loader, run) in enumerate(list(runs.items())):
                with _note_errors(proof, loader, number > 0), _translate_errors(request, "run", suggestion):
                    _compare(part, expected, run(key, fed), request)
            if part.random:
                proof.notes.append(f"run, but not compared, because it uses random numbers: {name}")
            else:
                equal += len(part.outputs)
                made_up |= dict.fromkeys(name for name in fed if name not in feeds)
                sizes |= {size} - {0}
    if equal:
        on = f" on random values for {few(list(made_up))}" if made_up else ""
        on += f" (unknown sizes: {' or '.join(map(str, sorted(sizes)))})" if sizes else ""
        proof.said += f": {counted(equal, 'outputs')} as before{on}"
    return proof


def _compare(part: ProofPart, expected: Mapping[str, Any], got: Mapping[str, Any], request: str) -> None:
    """Refuses results that differ from the results of the source."""
    for tensor in part.outputs:
        far = _difference(expected[tensor], got[tensor], part.random)
        if far:
            how = "Report this as a bug; verify=False writes the file without a check"
            raise PlanError(request, f"{tensor!r} of the written file {far}", how)


@contextmanager
def _note_errors(proof: Proof, loader: str, optional: bool) -> Iterator[None]:
    """Adds a note instead of raising an error if the loader is optional."""
    try:
        yield
    except Exception as error:
        if not optional or lacks_memory(error):
            raise
        proof.notes.append(f"not for {loader}: {_why(error)}")


def _translate_errors(request: str, action: str, suggestion: str) -> AbstractContextManager[None]:
    problem, kinds = f"TensorFlow cannot {action} the written file", (NotImplementedError, AttributeError, OSError)
    return errors_as(
        PlanError, request, problem, f"{suggestion}; verify=False writes the file without a check", *_ERRORS, *kinds
    )


# -- the parts that are run ---------------------------------------------------------------------------


class _Mute(Exception):
    """Raised if the source cannot be run; its text is the reason."""


@dataclass
class ProofPart:
    """The part of a graph that some outputs need.

    Args:
        outputs: the outputs.
        fed: the tensors that must be fed.
        variables: the variables that the outputs need.
        tables: the ops that fill the tables that the outputs need.
        random: whether the outputs depend on random numbers.
        kept: why the part must not be run; empty if it can be run.
    """

    outputs: list[str]
    fed: list[str]
    variables: list[str]
    tables: list[str]
    random: bool
    kept: str


def inspect_part(base: Graph, inputs: list[str], outputs: list[str]) -> ProofPart:
    """Returns the part of a graph that some outputs need, given tensors that are fed."""
    inputs, outputs = list(dict.fromkeys(inputs)), list(dict.fromkeys(outputs))
    cuts = frozenset(base.tensor(name) for name in inputs)
    ends = [base.tensor(name) for name in outputs]
    mask = backward(base, base.mask([op for op, port in ends if (op, port) not in cuts]), cuts)
    inside = np.flatnonzero(mask).tolist()
    fed = dict.fromkeys([*inputs, *placeholders_in(base, mask)])
    variables = [base.names[i] for i in inside if base.types[i] in VARIABLE_TYPES]
    tables = [name for i in inside for name in base.state.init_ops.get(base.names[i], ())]
    acts = _effect_finder(base)
    effects = [(acts(i), i) for i in inside]
    random = any(effect == _BY_CHANCE for effect, _ in effects)
    obstacle = next((f"needs {base.names[i]!r} ({base.types[i]}), which {effect}"
                 for effect, i in effects if effect not in ("", _BY_CHANCE)), "")  # fmt: skip
    dtypes = {name: base.live.as_graph_element(name).dtype for name in outputs}
    odd = [name for name, dtype in dtypes.items() if dtype.base_dtype in (tf.resource, tf.variant)]
    if odd and not obstacle:
        obstacle = f"cannot be fetched: {odd[0]!r} has dtype {dtypes[odd[0]].name}"
    return ProofPart(outputs, list(fed), variables, tables, random, obstacle)


def sinks(base: Graph) -> dict[str, str]:
    """Returns the last few tensors of a graph that can be run without side effects, as name -> the same name."""
    acts = _effect_finder(base)
    acting = base.mask([i for i in range(base.size) if acts(i)])
    kinds = base.type_array
    leaves = np.isin(kinds, ["Exit", "RefExit", "Merge", "RefMerge"])
    turning = forward(base, np.isin(kinds, ["Enter", "RefEnter", "Switch", "RefSwitch"]), within=~leaves)
    fed = forward(base, base.typed(PLACEHOLDER_TYPES))
    free = fed & ~forward(base, acting) & ~turning
    free &= ~orphan_mask(base)
    tensors: list[str] = []
    for i in np.flatnonzero(free).tolist()[::-1]:
        readers = base.consumers.row(i)
        if len(tensors) < _MOST and base.types[i] not in PLACEHOLDER_TYPES and not free[readers].any():
            outputs = base.live.get_operation_by_name(base.names[i]).outputs
            odd = any(t.dtype in (tf.resource, tf.variant) or not base.live.is_fetchable(t) for t in outputs)
            tensors += [outputs[0].name] if outputs and not odd else []
    return {name: name for name in tensors[::-1]}


def _effect_finder(base: Graph) -> Callable[[int], str]:
    """Returns a function: number of an op -> text about its side effects; empty without side effects."""
    functions = functions_of(base.live)
    inner: dict[str, str] = {}

    def function(name: str) -> str:
        if name not in inner:
            inner[name] = _main_effect(
                _type_effect(node.op)
                for callee in reached_functions([name], functions)
                for node in definition(functions[callee]).node_def
            )
        return inner[name]

    def act(i: int) -> str:
        effect, node = _type_effect(base.types[i]), base.nodes[i]
        if effect or not functions or not (getattr(node, "attr", None) or base.types[i] in functions):
            return effect
        return _main_effect(function(name) for name in functions_in_node(node, functions))

    return act


def _main_effect(kinds: Iterable[str]) -> str:
    """Returns one of some effects, random numbers only if there is no other effect; empty if there is none."""
    effects = set(kinds)
    return next(iter(sorted(effects - {"", _BY_CHANCE})), _BY_CHANCE if _BY_CHANCE in effects else "")


@cache
def _type_effect(op_type: str) -> str:
    """Returns text about the side effects of ops of a type; empty without side effects."""
    definition = op_definition(op_type)
    if op_type in TABLE_TYPES:
        return "has content that no file contains"
    if op_type in PLACEHOLDER_TYPES or op_type in _HARMLESS or definition is None or op_type.startswith(_OF_A_RUN):
        return ""
    if op_type in FEED_TYPES:
        return "reads from outside the graph"
    if op_type.startswith(_RANDOM) or op_type.endswith("CandidateSampler"):
        return _BY_CHANCE
    if definition.is_stateful or writes(op_type) or op_type.startswith(_OUTSIDE):
        return "has effects, or state"
    return ""


# -- the source -----------------------------------------------------------------------------------


class ProofSource:
    """The graph that was saved, in a form that can be run.

    Args:
        base: its snapshot.
        values: a session of the graph, a mapping of variable name to array, or None for initial values.
        request: the request, for messages.
    """

    def __init__(self, base: Graph, values: Any, request: str) -> None:
        self._base, self._asked = base, request
        self._session: Any = values if hasattr(values, "run") else None
        self._given: Any = values if isinstance(values, Mapping) else None
        self._own: Any = None
        self._begun: set[str] = set()

    def close(self) -> None:
        """Closes the session that this object has made, if any."""
        if self._own is not None:
            self._own.close()

    def answers(self, part: ProofPart, feeds: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], int]:
        """Returns the feeds, the results, and the size that was used for unknown sizes, or 0.

        Raises:
            _Mute: the source cannot be run in this way.
        """
        try:
            session = self._ready(part)
        except (*_ERRORS, PlanError) as error:
            raise _Mute(f"cannot be run in the source graph: {_why(error)}") from error
        tensors = {name: self._base.live.as_graph_element(name) for name in part.fed}
        fixed = all(name in feeds or (t.shape.is_fully_defined() and not t.dtype.is_integer)
                    for name, t in tensors.items())  # fmt: skip
        last: Exception | None = None
        for size, plain in _SIZES[: 1 if fixed else None]:
            fed = {name: feeds[name] if name in feeds else _random(t, size, plain) for name, t in tensors.items()}
            blank = [name for name, value in fed.items() if value is None]
            if blank:
                t = tensors[blank[0]]
                raise _Mute(f"needs a value for {blank[0]!r} ({t.dtype.base_dtype.name}, shape {t.shape}): "
                            f"give feeds={{{blank[0]!r}: ...}}")  # fmt: skip
            try:
                results = dict(zip(part.outputs, session.run(part.outputs, fed), strict=True))
            except _ERRORS as error:
                last = error
                continue
            open_ = any(name not in feeds and not t.shape.is_fully_defined() for name, t in tensors.items())
            return fed, results, size if open_ else 0
        made_up = [name for name in part.fed if name not in feeds]
        how = f"; give real values: feeds={{{made_up[0]!r}: ...}}" if made_up else ""
        raise _Mute(f"cannot be run in the source graph: {_why(last)}{how}") from last

    def variables(self, names: Sequence[str]) -> dict[str, Any]:
        """Returns the values of variables in the session of this source, by op name."""
        infos = [self._base.state.variables[name] for name in names]
        return fetch(self._session or self._own, infos, self._base.live, self._asked)

    def _ready(self, part: ProofPart) -> Any:
        """Returns a session with values for all variables and tables that a part needs."""
        if self._session is not None:
            return self._session
        graph, variables = self._base.live, self._base.state.variables
        if self._own is None:
            self._own = session_of(graph, config=config(self._base))
        infos = [variables[name] for name in part.variables if name in variables and name not in self._begun]
        if self._given is not None:
            arrays = fetch(self._given, infos, graph, self._asked)
            assign(self._own, arrays, variables, "opening it again")
        else:
            run_initializers(self._own, infos, list(variables.values()), self._asked)
        self._begun.update(info.op for info in infos)
        fill(self._own, part.tables)
        return self._own


def fill(session: TFSession, init_ops: Sequence[str], paths: Mapping[str, str] | None = None) -> None:
    """Runs the ops that fill tables; tables that are already filled are not changed.

    If the file of a table does not exist, the table stays empty, and later runs that need it fail.
    """
    for name in init_ops:
        with suppress(tf.errors.FailedPreconditionError, tf.errors.NotFoundError):
            session.run(session.graph.get_operation_by_name(name.partition(":")[0]), paths)


def config(base: Graph) -> Any:
    """Returns the configuration of a session for a single run, on any device, without optimizers that may crash."""
    proto = tf1.ConfigProto(allow_soft_placement=True)
    proto.graph_options.rewrite_options.disable_meta_optimizer = bool(hazards(base))
    return proto


def _why(error: BaseException | None) -> str:
    return error.problem if isinstance(error, PlanError) else error_text(error) if error is not None else "no size fits"


def _random(tensor: TFTensor, size: int, plain: bool) -> Any:
    """Returns a reproducible random array for a tensor; None if none can be generated."""
    dtype = tensor.dtype.base_dtype
    if tensor.shape.rank is None or dtype in (tf.resource, tf.variant) or dtype.is_quantized:
        return None
    shape = [size if n is None else n for n in tensor.shape.as_list()]
    random = np.random.RandomState(0)
    if dtype == tf.string:
        return np.full(shape, b"0", dtype=object)
    if dtype.is_integer or dtype.is_bool:
        numbers = np.zeros(shape) if plain else random.randint(0, 2, shape)
        return np.asarray(numbers).astype(dtype.as_numpy_dtype)
    return np.asarray(random.random_sample(shape)).astype(dtype.as_numpy_dtype)


def _difference(expected: Any, got: Any, random: bool) -> str:
    """Returns text about how two values differ; empty if they are equal up to rounding."""
    a, b = np.asarray(expected), np.asarray(got)
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


# -- the files ------------------------------------------------------------------------------------


@contextmanager
def graph_def_file(
    path: str,
    base: Graph,
    calls: Calls,
    new_name: Callable[[str], str],
    init_ops: Sequence[str],
    paths: Mapping[str, str],
    source: ProofSource | None,
) -> Iterator[Run]:
    """Opens a GraphDef.

    Args:
        path: the file.
        base: snapshot of the graph that was saved.
        calls: the calls that will be run.
        new_name: tensor of the source -> its name in the file.
        init_ops: ops that must run first.
        paths: tensor that contains the path of a file, and is fed in each run -> the path.
        source: the source of the values of variables, which the file does not contain; None without variables.
    """
    data = Path(path).read_bytes()
    data = gzip.decompress(data) if path.endswith(".gz") else data
    if path.removesuffix(".gz").endswith((".pbtxt", ".txt")):
        graph_def = text_format.Parse(data.decode(), tf1.GraphDef())
    else:
        graph_def = decode(tf1.GraphDef, data)
    for node in graph_def.node:
        node.device = ""
    with empty_graph(base.owner).as_default() as graph:
        tf1.import_graph_def(graph_def, name="")
        variables = [op for op in graph.get_operations() if op.type in VARIABLE_TYPES] if source is not None else []
        placeholders = {op.name: tf1.placeholder(op.get_attr("dtype"), None) for op in variables}
        sets = {op.name: assign_op(op, placeholders[op.name]) for op in variables}
    with session_of(graph, config=config(base)) as session:
        runs: set[str] = set()

        def run(key: str, feeds: Mapping[str, Any]) -> dict[str, Any]:
            ins, outs = calls[key]
            if source is not None and not runs:
                part = inspect_part(base, list(ins.values()), list(outs.values()))
                for name, value in source.variables([name for name in part.variables if name in sets]).items():
                    session.run(sets[name], {placeholders[name]: value})
            if not runs:
                fill(session, [name for name in init_ops if has_op(graph, name)], paths)
            runs.add(key)
            return _run(session, outs, {**feeds, **paths}, new_name)

        yield run


def _run(
    session: TFSession, outs: Mapping[str, str], feeds: Mapping[str, Any], new_name: Callable[[str], str]
) -> dict[str, Any]:
    renamed = {new_name(name): value for name, value in feeds.items()}
    present = {name: value for name, value in renamed.items() if has_op(session.graph, name.partition(":")[0])}
    tensors = list(dict.fromkeys(outs.values()))
    return dict(zip(tensors, session.run([new_name(name) for name in tensors], present), strict=True))


@contextmanager
def meta_graph_file(
    path: str,
    base: Graph,
    calls: Calls,
    new_name: Callable[[str], str],
    init_ops: Sequence[str],
    paths: Mapping[str, str],
) -> Iterator[Run]:
    """Opens a MetaGraph with its checkpoint; see `graph_def_file`.

    Args:
        path, base, calls, new_name: as for `graph_def_file`.
        init_ops: ops that must run first, in addition to the listed ops that fill its tables.
        paths: tensor that contains the path of a file, and is fed in each run -> the path.
    """
    with empty_graph(base.owner).as_default() as graph, session_of(graph, config=config(base)) as session:
        saver = tf1.train.import_meta_graph(path, clear_devices=True)
        if saver is not None:
            saver.restore(session, path.removesuffix(".meta"))
        initializers = [item.name for item in graph.get_collection(tf1.GraphKeys.TABLE_INITIALIZERS)]
        fill(session, [*initializers, *init_ops], paths)
        yield lambda key, feeds: _run(session, calls[key][1], {**feeds, **paths}, new_name)


@contextmanager
def saved_model_file(folder: str, base: Graph, calls: Calls, tags: Sequence[str]) -> Iterator[Run]:
    """Loads a SavedModel like TF1 and servers, which feed and fetch the tensors of its signatures."""
    with empty_graph(base.owner).as_default() as graph, session_of(graph, config=config(base)) as session:
        load = inspect.unwrap(tf1.saved_model.loader.load)  # without the decorator, which logs a warning
        signatures = load(session, list(tags), folder, clear_devices=True).signature_def

        def run(key: str, feeds: Mapping[str, Any]) -> dict[str, Any]:
            (ins, outs), takes, gives = calls[key], signatures[key].inputs, signatures[key].outputs
            fed = {takes[name].name: feeds[tensor] for name, tensor in ins.items() if tensor in feeds}
            fetched = {tensor: gives[name].name for name, tensor in outs.items()}
            return dict(zip(fetched, session.run(list(fetched.values()), fed), strict=True))

        yield run


@contextmanager
def served_file(folder: str, calls: Calls, tags: Sequence[str] | None = None) -> Iterator[Run]:
    """Loads a SavedModel like TF2, which calls its signatures."""
    with without_log_warnings(), eager():  # TensorFlow logs several warnings for each reference variable
        loaded = tf.saved_model.load(folder, tags)

    def run(key: str, feeds: Mapping[str, Any]) -> dict[str, Any]:
        ins, outs = calls[key]
        with eager():
            results = loaded.signatures[key](**{name: tf.constant(feeds[t]) for name, t in ins.items() if t in feeds})
            return {tensor: results[name].numpy() for name, tensor in outs.items()}

    yield run
