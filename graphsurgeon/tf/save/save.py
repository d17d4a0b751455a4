"""Saves a graph or a part of it, with its values, as files that plain TensorFlow can read.

For each file, `export_graph` in export.py copies the part; freeze_functions.py can replace its variables by constants.
Then a function for the format, in this module, writes the file, and proof.py runs it.
"""

from __future__ import annotations

import gzip
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf import text_format

from ...errors import PlanError, SurgeryError, counted, few
from ...graph.arrays import variable_bytes
from ...graph.concurrency import gc_paused
from ...graph.conversion_verdict import Unconvertible, blockers
from ...graph.functions import nodes_in_calls
from ...graph.graph import Graph
from ...graph.names import op_name, tensors_by_key
from ...graph.open_graph import Ends, OpenedGraph, end_tensors, outputs_of, placeholders_in
from ...graph.provenance import orphans_of
from ...graph.reports import Saved, only_initial_text
from ...graph.selection import select, selection_from
from ...graph.traversal import backward, forward, producers
from ...graph.variables import FEED_TYPES, VariableInfo
from ..copy.tables_and_queues import table_fillers
from ..functions.graph_function import function_module
from ..functions.trace import keras_of
from ..import_tensorflow import tf
from ..op_types import acting_ops
from ..open.snapshot import materialize_graph
from ..private.eager import eager, keras_inputs, keras_layers
from ..protos import encode, naming_memory
from ..run.errors import error_text
from ..run.sessions import require_trusted
from ..values.restore import saved_names, slices
from ..values.transfer import batches, stream
from ..values.variables import fetch, variable_infos
from .converters import convert_to_tflite
from .export import (
    ExportedGraph,
    add_assets,
    export_graph,
    list_fillers,
    meta_graph,
    nodes_of,
    with_saver,
)
from .proof import Proof, ProofSource, WrittenFile, by_signature, by_tensor, inspect_part, prove, prove_here
from .saved_model import write_module, write_saved_model
from .worker import TIMEOUT, WORKER
from .write import (
    mark_written,
    put_checkpoint,
    put_file,
    put_folder,
    refuse_existing,
    staging_dir,
    verify_checkpoint,
    write_checkpoint,
)

tf1 = tf.compat.v1


FORMATS = ("checkpoint", "graph_def", "keras", "meta_graph", "saved_model", "saved_model_tf2", "tflite")
_INSTEAD = {
    "graph_def": "Choose other outputs, or keep the variables: save a .meta file or a SavedModel",
    "meta_graph": "Choose other outputs, or save a SavedModel: format='saved_model'",
    "saved_model": "Choose other outputs, or save a .meta file",
    "saved_model_tf2": "Save it in the TF1 format: format='saved_model'",
    "tflite": "Give real values, feeds={...}",
}
_SUFFIXES = {
    ".pb": "graph_def", ".pbtxt": "graph_def", ".keras": "keras", ".meta": "meta_graph", ".tflite": "tflite",
    "": "saved_model",
}  # fmt: skip
_NOT_VERIFIED = "not opened again: verify=False"
#: The number of likely outputs that are run if a graph has no signature.
_MAX_RUN = 8


@dataclass(frozen=True)
class SaveRequest:
    """The arguments of `Editor.save`, and additional facts.

    `model` is the description of the model, with the signatures that the file has. `feeds` maps names of tensors to
    arrays. `untrained` maps variables with only initial values to the reason. `initial` is true if the user allows
    initial values. `keras_model` returns the Keras model of the graph.
    """

    path: str
    format: str | None
    outputs: Any
    inputs: Any
    signatures: Mapping[str, tuple[Any, Any]] | None
    freeze: bool
    scope: str
    names: Mapping[str, str]
    device: str | Mapping[str, str]
    tags: str | Iterable[str]
    model: OpenedGraph
    feeds: Mapping[str, Any]
    verify: bool
    timeout: float | None
    overwrite: bool
    untrained: Mapping[str, str]
    initial: bool
    keras_model: Callable[[], Any]

    @property
    def request(self) -> str:
        """The request, for messages."""
        return f"save({self.path!r}" + (f", format={self.format!r})" if self.format else ")")

    @property
    def kind(self) -> str:
        """The format, from `format` or from the suffix of the path.

        Raises:
            PlanError: the format is not known.
        """
        if self.format is not None:
            if self.format not in FORMATS:
                raise PlanError(self.request, f"format={self.format!r} is not known",
                                "Choose one of " + ", ".join(map(repr, FORMATS)))  # fmt: skip
            return self.format
        name = os.path.basename(self.path.rstrip("/")).removesuffix(".gz")
        if ".ckpt" in name:
            return "checkpoint"
        suffix = os.path.splitext(name)[1]
        if suffix not in _SUFFIXES:
            raise PlanError(
                self.request,
                f"the suffix {suffix!r} does not belong to a format",
                "Type .keras, .pb, .pbtxt, .meta, .ckpt, .tflite or no suffix (a SavedModel folder); or format="
                + ", ".join(map(repr, FORMATS)),
            )
        return _SUFFIXES[suffix]

    @property
    def constant(self) -> bool:
        """Whether variables become constants."""
        return self.freeze or self.kind == "tflite"

    def check(self) -> None:
        """Refuses arguments that do not apply to the format, outputs without tensors, and a path that is not free.

        Raises:
            PlanError: an argument does not apply, or is empty; or the path exists, and may not be replaced.
        """
        format_name = self.kind
        model = format_name.startswith("saved_model")
        without_ends = format_name == "checkpoint" or self.signatures is not None
        unfit = {
            "signatures": self.signatures is not None and not model,
            "freeze": self.freeze and format_name not in ("graph_def", "saved_model", "tflite"),
            "scope": bool(self.scope) and format_name != "checkpoint",
            "names": bool(self.names) and format_name != "checkpoint",
            "outputs": self.outputs is not None and without_ends,
            "inputs": self.inputs is not None and without_ends,
            "device": self.device != "keep" and format_name in ("checkpoint", "keras", "saved_model_tf2"),
            "timeout": self.timeout is not None and format_name != "tflite",
            "feeds": bool(self.feeds) and (format_name == "checkpoint" or not self.verify),
        }
        for name, hit in unfit.items():
            if hit:
                beside_ = "signatures" if self.signatures is not None and model else f"the format {format_name!r}"
                beside_ = "verify=False" if name == "feeds" and not self.verify else beside_
                raise PlanError(self.request, f"{name}= cannot be combined with {beside_}", f"Leave out {name}=")
        how = "Name the tensors to save" + ("" if model else "; leave out outputs= to save the whole graph")
        if self.outputs is not None and not tensors_by_key(self.outputs):
            raise PlanError(self.request, f"outputs={self.outputs!r} names no tensor", how)
        for key, (_, outs) in (self.signatures or {}).items():
            if not tensors_by_key(outs):
                how = f"Name its tensors: signatures={{{key!r}: (inputs, outputs)}}"
                raise PlanError(self.request, f"signature {key!r} has no outputs", how)
        refuse_existing(self.path, format_name, self.overwrite, self.request)

    @property
    def keeps_signatures(self) -> bool:
        """Whether the file has all signatures of the opened file."""
        return self.kind.startswith("saved_model") and self.signatures is None

    def all_signatures(self, base: Graph) -> dict[str, Ends]:
        """Returns the ends of each signature, by name; by default the signatures of the model.

        If only outputs are given, the inputs are the inputs of the opened signature that the outputs need.

        Args:
            base: snapshot of the graph.
        """
        if self.signatures is not None:
            return {
                key: self.model.chosen(() if ins is None else ins, outs) for key, (ins, outs) in self.signatures.items()
            }
        model = self.model.chosen(self.inputs, self.outputs)
        if self.outputs is not None and self.inputs is None:
            ends = base.mask(base.tensor(name, self.request)[0] for name in model.outputs.values())
            model = model.limited_to(selection_from(base, backward(base, ends)))
        names = model.served_names if self.keeps_signatures else model.served_names[:1]
        own: dict[str, Ends] = dict.fromkeys(names, model) if model.outputs else {}
        return {**self.model.other_signatures, **own} if self.keeps_signatures else own


@gc_paused()
def save(base: Graph, uninitialized: frozenset[str], values: Any, options: SaveRequest) -> Saved:
    """Writes the file of a request.

    Args:
        base: snapshot of the graph; the graph is not changed.
        uninitialized: variables without a value.
        values: a session, a mapping of variable name to array, or a function that returns a session. This function is
            called only if values are needed.
        options: the arguments of `Editor.save`.

    Raises:
        SelectionError: a tensor does not exist.
        PlanError: see `Editor.save`.
    """
    if options.verify and options.kind not in ("checkpoint", "keras"):  # these are checked in this process
        WORKER.start()  # it imports TensorFlow while this process writes the file
    with naming_memory(options.request):
        saved = _write(materialize_graph(base), uninitialized, values, options)
    mark_written(options.path, options.kind)
    return saved


def _cut_before(base: Graph, inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
    """Returns the inputs of a signature if they cut off a model: not all are placeholders, and all are needed."""
    starts = list(map(base.tensor, inputs))
    if all(base.types[op] in FEED_TYPES for op, _ in starts):
        return []
    leads = backward(base, producers(base, map(base.tensor, outputs)), frozenset(starts))
    needed = all(any(leads[reader] for reader, _ in base.consumers_of(start)) for start in starts)
    return list(inputs) if needed else []


@dataclass(frozen=True)
class _Job:
    """A prepared request, for the function of a format.

    Args:
        base: snapshot of the graph that is saved.
        exported: the exported part of the graph that is written.
        options: the arguments of `Editor.save`.
        values: as in `save`; if variables become constants, the source of their values.
        calls: the calls that verify the file: its signatures, if the format has any.
        omitted_ops: the number of ops of the graph that are not in the file.
        uninitialized: variables without a value.
    """

    base: Graph
    exported: ExportedGraph
    options: SaveRequest
    values: Any
    calls: Any
    omitted_ops: int
    uninitialized: frozenset[str]

    @property
    def request(self) -> str:
        """The request, for messages."""
        return self.options.request

    @property
    def path(self) -> str:
        """The path of the file."""
        return self.options.path

    @cached_property
    def saved_variables(self) -> dict[str, VariableInfo]:
        """The variables whose values are written, with the names in the file; empty if they become constants."""
        return {op: info for op, info in variable_infos(self.exported.graph).items() if op not in self.uninitialized}

    @cached_property
    def infos(self) -> list[VariableInfo]:
        """The same variables, with the names in the source."""
        return [self.base.state.variables[op] for op in self.saved_variables]

    @cached_property
    def keys(self) -> dict[str, tuple[str, str]]:
        """Variable -> its name and slice in the checkpoint."""
        parts = slices(self.exported.graph)
        return {op: (parts[op].full_name, parts[op].spec) if op in parts else (op, "") for op in self.saved_variables}

    def saver(self) -> Any:
        """Returns the SaverDef of the file; adds a saver if the graph has no saver for exactly these variables."""
        return with_saver(self.exported.graph, self.saved_variables, self.keys)

    def write_values(self, prefix: str) -> None:
        """Writes the checkpoint of the file, if it has variables; notes that only names lead to them."""
        self.note_lost_paths(path for op, path in self.options.model.variable_paths.items() if op in self.keys)
        if self.saved_variables:
            values = read_batches(self.base, self.values, self.infos, self.request)
            write_checkpoint(prefix, values, self.keys, _total(self.infos), self.request)

    def note_lost_paths(self, paths: Iterable[str]) -> None:
        """Adds a note about variables that are not attributes of the written object."""
        if lost := list(paths):
            note = f"variables are not attributes under the paths of the opened model: {few(lost)}"
            self.exported.notes.append(note)

    def init_ops(self, present: Sequence[str]) -> list[str]:
        """Returns the init ops of the original file that are also in the new file; adds a note with their names.

        Args:
            present: ops that will run first in any case; they are not returned.
        """
        first = [name for name in self.exported.present_ops(self.options.model.init_ops) if name not in present]
        if first:
            self.exported.notes.append(f"run first: {few(first)}, as in the SavedModel that this graph is from")
        return first

    def proof(
        self, files: Sequence[WrittenFile], with_values: bool, variables: Iterable[str] | None = None, **title: Any
    ) -> Proof:
        """Reads the written file and compares it with the saved graph, unless `verify` is off.

        Args:
            files: as in `prove`.
            with_values: whether the file has values of variables. Only then is a session opened for the saved graph.
            variables: the variables whose values are in the file; None for all variables.
            title: as in `prove`.
        """
        options, saved = self.options, None if variables is None else frozenset(variables)
        if not options.verify:
            return Proof("", [_NOT_VERIFIED])
        values = _live(self.values) if with_values or not callable(self.values) else None
        source, texts = ProofSource(self.base, values, self.request), (self.request, _INSTEAD[options.kind])
        return prove(self.base, self.calls, files, source, options.feeds, *texts, saved, **title)

    def report(self, path: str, nodes: int, variables: Iterable[str], proof: Proof) -> Saved:
        """Returns the report on the file: its path, the number of its ops, and the variables with a value in it."""
        notes = [*self.exported.notes, *proof.notes]
        return Saved(path, self.options.kind, nodes, tuple(variables), self.omitted_ops, notes, proof.text)


def _write(base: Graph, uninitialized: frozenset[str], values: Any, options: SaveRequest) -> Saved:
    kind, request = options.kind, options.request
    has_signatures = kind.startswith(("saved_model", "tflite"))
    signatures = options.all_signatures(base) if has_signatures else {}
    given = Ends(inputs=tensors_by_key(options.inputs), outputs=tensors_by_key(options.outputs))
    starts, ends = end_tensors(signatures.values() or [given])
    for name in (*options.feeds, *starts, *ends):
        base.tensor(name, request)
    if kind == "checkpoint":
        return _checkpoint(base, values, options, uninitialized | orphans_of(base.owner).keys())
    if kind == "keras":
        return _keras(base, values, options)
    if starts and not ends:
        raise PlanError(request, "inputs= is given without outputs=", "Name the outputs too: outputs=...")
    if has_signatures and not signatures:
        problem = "a TFLite model needs outputs" if kind == "tflite" else "a SavedModel needs a signature"
        raise PlanError(request, problem, "Name its tensors: inputs=..., outputs=...")
    if kind == "saved_model_tf2":
        called = {key: one.with_argument_names() for key, one in signatures.items()}
        pairs = {
            old: new for key, one in signatures.items() for old, new in zip(one.inputs, called[key].inputs, strict=True)
        }
        notes = [f"the argument {old!r} is called {new!r}" for old, new in pairs.items() if old != new]
        export = ExportedGraph(base.live_graph, {}, notes)
        return _module(_Job(base, export, options, values, called, 0, uninitialized))
    if signatures:
        served = [(one.inputs, one.outputs) for one in signatures.values()]
        # One of several signatures may compute the input of another one.
        new_placeholders = _cut_before(base, starts, ends) if served.count(served[0]) == len(served) else []
        starts, ends = new_placeholders, ends if new_placeholders else [*ends, *starts]
    inside = _frozen_untrained(base, starts, ends, options) if options.constant else {}
    values = _live(values) if options.constant else values
    extra_ops = options.model.init_ops if kind == "saved_model" or _reads_tables(base, ends) else []
    export = export_graph(base, starts, ends, values if options.constant else None, options.device, request, extra_ops)
    signatures = _with_missing_inputs(base, export, signatures, kind, request)
    add_assets(export, base, options.model.asset_feeds)
    calls = _calls(base, options, signatures)
    job = _Job(base, export, options, values, calls, export.omitted_ops(base), uninitialized)
    return replace(_WRITERS[kind](job), untrained=inside)


def _with_missing_inputs(
    base: Graph, export: ExportedGraph, signatures: Mapping[str, Ends], kind: str, request: str
) -> dict[str, Ends]:
    """Returns signatures with an input for each placeholder that they need; refuses missing inputs of a SavedModel.

    Raises:
        PlanError: a placeholder of the exported part is not an input of a signature of a SavedModel.
    """
    within, complete = base.mask(base.index[name] for name in export.present_ops(base.names)), dict[str, Ends]()
    for key, one in signatures.items():
        cuts = frozenset(map(base.tensor, one.inputs.values()))
        goals = producers(base, map(base.tensor, one.outputs.values()), cuts)
        needed = placeholders_in(base, backward(base, goals, cuts, within=within))
        lacking = [tensor for tensor in needed if base.tensor(tensor) not in cuts]
        if lacking and kind == "saved_model":
            problem = f"signature {key!r} needs {few(map(repr, lacking))}, which is not an input"
            raise PlanError(request, problem, f"Type inputs={[*one.inputs.values(), *lacking]!r}")
        complete[key] = replace(one, inputs={**one.inputs, **{op_name(tensor): tensor for tensor in lacking}})
    return complete


def _reads_tables(base: Graph, ends: list[str]) -> bool:
    """Whether tensors are computed from tables, which init ops of the original file may fill."""
    needed = backward(base, producers(base, map(base.tensor, ends)))
    nodes = [base.nodes[i] for i in np.flatnonzero(needed).tolist()]
    return any("Table" in node.op for node in (*nodes, *nodes_in_calls(nodes, base.functions)))


def _frozen_untrained(base: Graph, sources: list[str], ends: list[str], options: SaveRequest) -> dict[str, str]:
    """Returns variable that is frozen at its initial value -> the reason; refuses it if the user did not allow this."""
    if not options.untrained:
        return {}
    inputs = list(dict.fromkeys(sources)) or None
    block = select(base, inputs=inputs, outputs=list(dict.fromkeys(ends))) if ends else select(base)
    frozen_names = {
        name: why for name, why in options.untrained.items() if name in block and name not in orphans_of(base.owner)
    }
    if frozen_names and not options.initial:
        how = "Train or restore them first, give values=session, or type values='initial' to freeze these as they are"
        raise PlanError(options.request, "; ".join(only_initial_text(frozen_names)), how)
    return frozen_names


def _calls(base: Graph, options: SaveRequest, signatures: Any) -> Any:
    """Returns the calls that verify a file: its signatures, the given outputs, or the last tensors without effects."""
    if signatures:
        return signatures
    call = options.model.limited_to(base.index).chosen(tensors_by_key(options.inputs), options.outputs)
    likely = () if call.outputs else outputs_of(base, forward(base, acting_ops(base)))[:_MAX_RUN]
    call = replace(call, outputs=call.outputs or {tensor: tensor for tensor in likely})
    return {"": call} if call.outputs else {}


def _live(values: Any) -> Any:
    return values() if callable(values) else values


def _total(infos: Iterable[VariableInfo]) -> int:
    return sum(map(variable_bytes, infos))


def read_batches(base: Graph, values: Any, infos: list[VariableInfo], request: str) -> Iterator[Mapping[str, Any]]:
    """Yields the values of variables in batches, from a session, a mapping, or a function that returns a session."""
    source = _live(values)
    if isinstance(source, Mapping):
        by_name = {info.op: info for info in infos}
        for names in batches({info.op: variable_bytes(info) for info in infos}):
            yield fetch(source, [by_name[name] for name in names], base.live_graph, request)
        return
    if getattr(source, "graph", None) is not base.owner:
        raise PlanError(
            request,
            "values= is not a session of this graph",
            "Give a session of this graph or {name: array}, or leave out values=",
        )
    yield from stream(source, infos, request)


# -- the formats ----------------------------------------------------------------------------------


def _checkpoint(base: Graph, values: Any, options: SaveRequest, uninitialized: frozenset[str]) -> Saved:
    candidates = {op: info for op, info in base.state.variables.items() if op not in uninitialized}
    only_named = bool(options.names) and not options.scope  # only the variables in `names`, such as those of a copy
    names = saved_names(base.live_graph, candidates.values(), options.scope, options.names, options.request, only_named)
    if not names:
        raise PlanError(
            options.request, "the graph has no variable to save", "Save the graph itself: a .pb or .meta file"
        )
    parts = slices(base.live_graph)
    keys = {op: (key, parts[op].spec if op in parts else "") for op, key in names.items()}
    for twice, count in Counter(key for key, spec in keys.values() if not spec).items():
        if count > 1:
            clash = [op for op, (key, _) in keys.items() if key == twice]
            raise PlanError(
                options.request, f"{few(clash)} would all be called {twice!r}", "Give them different names in names="
            )
    infos = [candidates[op] for op in names]
    prefix = options.path.removesuffix(".index")
    with staging_dir(prefix, options.request, _total(infos)) as folder:
        new = os.path.join(folder, "values")
        write_checkpoint(new, read_batches(base, values, infos, options.request), keys, _total(infos), options.request)
        if options.verify:
            verify_checkpoint(new, [key for key, _ in keys.values()], options.request)
        put_checkpoint(new, prefix)
    notes = [] if options.verify else [_NOT_VERIFIED]
    return Saved(prefix, "checkpoint", 0, tuple(names), 0, notes, "read again by TensorFlow" * options.verify)


def _graph_def(job: _Job) -> Saved:
    export, path = job.exported, job.path
    graph_def = nodes_of(export, job.request)
    text = path.removesuffix(".gz").endswith((".pbtxt", ".txt"))
    data = text_format.MessageToString(graph_def).encode() if text else encode(graph_def)
    variables = variable_infos(export.graph)
    if variables:
        whose = f"the values of {counted(len(variables), 'variables')}"
        export.notes.append(f"{whose} are not included: freeze=True keeps them as constants")
    fills = table_fillers(export.graph)
    starts = [name for ops in fills.values() for name in ops]
    if fills:
        export.notes.append(f"run first: {few(starts)}, to fill {few(fills)}")
    first = [*starts, *job.init_ops(starts)]
    data = gzip.compress(data) if path.endswith(".gz") else data
    with staging_dir(path, job.request, len(data)) as folder:
        new = os.path.join(folder, os.path.basename(path))
        Path(new).write_bytes(data)
        # A GraphDef contains no values. If none are given, source and file are compared with initial values.
        about = {"path": new, "first": first, "paths": export.assets}
        file = WrittenFile("tf.import_graph_def", "graph_def", about, by_tensor(export.name), bool(variables))
        proof = job.proof([file], with_values=False)
        put_file(new, path)
    return job.report(path, len(graph_def.node), (), proof)


def _tflite(job: _Job) -> Saved:
    export, path, request = job.exported, job.path, job.request
    require_trusted(job.base.owner, request)  # the converter runs ops when it folds constants
    ((key, call),) = job.calls.items()
    timeout = TIMEOUT if job.options.timeout is None else job.options.timeout
    graph_def = nodes_of(export, request)
    there = call.with_tensors(export.name)
    if call.defaults:
        export.notes.append(f"the defaults of {few(map(repr, call.defaults))} are not included: feed these inputs")
    result = convert_to_tflite(graph_def, there.inputs, there.outputs, key, timeout)
    if not result.model:
        obstacles = blockers(job.base, result)
        problem = f"TensorFlow's converter refuses the graph: {few(map(str, obstacles))}"
        raise Unconvertible(request, problem, "ed.check('tflite', outputs=...) lists a fix for each", result)
    with staging_dir(path, request, len(result.model)) as folder:
        new = os.path.join(folder, os.path.basename(path))
        Path(new).write_bytes(result.model)
        file = WrittenFile("tf.lite.Interpreter", "tflite", {"path": new}, by_signature)
        title = "run by TFLite's interpreter"
        proof = job.proof([file], with_values=True, title=title, timeout=timeout)
        put_file(new, path)
    return job.report(path, len(graph_def.node), job.saved_variables, proof)


def _keras(base: Graph, values: Any, options: SaveRequest) -> Saved:
    request = options.request
    if not options.path.endswith(".keras"):
        problem = "Keras only loads files whose names end in .keras"
        raise PlanError(request, problem, f"Give it such a name: path={options.path + '.keras'!r}")
    require_trusted(base.owner, request)  # Keras traces the layers
    try:
        model = options.keras_model()
    except PlanError as error:
        raise PlanError(request, error.problem, f"{error.suggestion}; or save format='saved_model_tf2'") from error
    package, (takes, gives) = keras_of(model), (model.surgery.inputs, model.surgery.outputs)
    proof, call = Proof("", [_NOT_VERIFIED]), Ends().chosen(takes, gives)
    custom = {kind.__name__: kind for kind in map(type, keras_layers(model))
              if kind.__module__.partition(".")[0] not in ("keras", "tf_keras")}  # fmt: skip
    how = "Save another format, such as 'saved_model_tf2'; or type verify=False, if Keras needs custom objects"
    inner = [tensor for tensor in options.feeds if tensor not in takes]
    if inner:
        problem = f"{few(map(repr, inner))} cannot be fed: the inputs of the model are {few(map(repr, takes))}"
        raise PlanError(request, problem, "Leave it out of feeds=")
    with staging_dir(options.path, request) as folder:
        new = os.path.join(folder, "model.keras")

        def run(feeds: Mapping[str, Any]) -> list[Any]:
            given = tf.nest.pack_sequence_as(keras_inputs(again), [tf.constant(feeds[tensor]) for tensor in takes])
            return [one.numpy() for one in tf.nest.flatten(again(given, training=False))]

        try:
            with eager():
                model.save(new)
                if options.verify:
                    again = package.models.load_model(new, custom, compile=False, safe_mode=False)
                    source = ProofSource(base, _live(values), request)
                    proof = prove_here(base, call, run, source, options.feeds, request, "loaded again by Keras")
        except (SurgeryError, OSError, MemoryError):
            raise
        except Exception as error:  # the layers of a model are any code
            raise PlanError(request, f"Keras cannot save or load the model: {error_text(error)}", how) from error
        put_file(new, options.path)
    variables = [name for name in inspect_part(base, [*takes], [*gives]).variables if name in base.state.variables]
    needed = few(list(custom))
    notes = ["the model is not compiled: call its method compile() before you train it"]
    notes += [f"a program that loads it must give these classes as custom_objects: {needed}"] if custom else []
    notes += [*str(model.surgery).splitlines(), *proof.notes]
    return Saved(options.path, "keras", 0, tuple(variables), notes=notes, proof=proof.text)


def _meta_graph(job: _Job) -> Saved:
    path, saver = job.path.removesuffix(".meta"), job.saver()
    with staging_dir(path, job.request, _total(job.infos)) as folder:
        new = os.path.join(folder, os.path.basename(path))
        fillers = list_fillers(job.exported.graph)
        meta = meta_graph(job.exported, saver, True, job.request)
        job.write_values(new)
        Path(new + ".meta").write_bytes(encode(meta))
        about = {"path": new + ".meta", "first": job.init_ops(fillers), "paths": job.exported.assets}
        file = WrittenFile("tf.train.Saver", "meta_graph", about, by_tensor(job.exported.name))
        proof = job.proof([file], bool(job.saved_variables), job.saved_variables)
        if job.saved_variables:
            put_checkpoint(new, path, (new + ".meta", path + ".meta"))
        else:
            put_file(new + ".meta", path + ".meta")
    return job.report(path + ".meta", len(meta.graph_def.node), job.saved_variables, proof)


def _write_saved_model(job: _Job) -> Saved:
    options, path, saver = job.options, job.path, job.saver()
    with staging_dir(path, job.request, _total(job.infos)) as folder:
        new = os.path.join(folder, "model")
        about = options.tags, saver, options.model.init_ops, job.request
        meta = write_saved_model(job.exported, new, job.calls, *about)
        job.write_values(os.path.join(new, "variables", "variables"))
        reading = {"path": new, "tags": list(meta.meta_info_def.tags)}
        files = [
            WrittenFile("tf.compat.v1.saved_model.load", "saved_model", reading, by_signature),
            WrittenFile("tf.saved_model.load", "served_model", reading, by_signature),
        ]
        proof = job.proof(files, bool(job.saved_variables), None if options.freeze else job.saved_variables)
        put_folder(new, path, job.request)
    return job.report(path, len(meta.graph_def.node), job.saved_variables, proof)


_WRITERS = {"graph_def": _graph_def, "tflite": _tflite, "meta_graph": _meta_graph, "saved_model": _write_saved_model}


def _module(job: _Job) -> Saved:
    path, request = job.path, job.request
    paths = job.options.model.variable_paths
    module, served, lost = function_module(job.base, job.calls, job.values, request, paths)
    job.note_lost_paths(lost)
    with staging_dir(path, request) as folder:
        new = os.path.join(folder, "model")
        job.exported.notes += write_module(module, new, served, job.base, request)
        file = WrittenFile("tf.saved_model.load", "served_model", {"path": new, "tags": None}, by_signature)
        proof = job.proof([file], bool(module.variables))
        put_folder(new, path, request)
    return job.report(path, 0, (v.name.removesuffix(":0") for v in module.variables), proof)
