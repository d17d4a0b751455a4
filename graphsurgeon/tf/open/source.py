"""Opening: makes a `tf.Graph` from an object or file with a TensorFlow graph, and finds its values."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import Message

from ...errors import OpenError, counted, did_you_mean, few, nearest
from ...graph.concurrency import gc_paused
from ...graph.graph import Graph, TensorInfo, output_at
from ...graph.lazy_graph import DeferredGraph, LazyGraph, materialize
from ...graph.names import op_name
from ...graph.op_packages import EXCLUSIONS, packages_of, unknown_counts
from ...graph.open_graph import DEFAULT, Ends, OpenedFile, OpenedGraph, ServingInfo, Signature
from ...graph.provenance import COLLECTION
from ...graph.security import GraphOrigin, add_origins, clear_origins, inherit_origins, may_reach_out, origins
from ...graph.types import TFGraph, TFGraphDef
from ..import_tensorflow import tf
from ..messages import graph_pb2, meta_graph_pb2
from ..protos import empty_graph, encode, naming_memory
from ..values.checkpoint_reader import Checkpoint, refuse_incomplete
from ..values.file_variables import (
    CheckpointValues,
    KeyedValues,
    ValueSource,
    asset_files,
    asset_path,
    init_ops_of,
    point_at,
)
from . import file_reader
from .file_reader import linked_away, refuse_linked_away
from .layers import file_layers, is_keras_file, keras_model, saved_layers
from .outputs import FileOutputs, with_shapes
from .protos import bind_inputs, file_snapshot
from .signature import extract_signature, functions, meta_with_call, object_paths, signature_tensors, signatures
from .trial_import import prepare, try_import

#: The op type of stand-ins. It accepts tensors of any dtypes; a run fails with a message that contains the token.
_TYPE = "PyFunc"


def with_stand_ins(graph_def: TFGraphDef, snapshot: Graph) -> TFGraphDef:
    """Returns a GraphDef with stand-ins for the ops of unknown types; the same GraphDef if there are none.

    A stand-in has the name and inputs of the op, and the outputs that are read. It is never run or written: plans,
    functions and files that would contain it are refused.

    Args:
        graph_def: the graph to import.
        snapshot: its snapshot.
    """
    refused = {snapshot.names[i]: i for i in np.flatnonzero(snapshot.refused_ops).tolist()}
    if not refused:
        return graph_def
    out = graph_pb2.GraphDef(versions=graph_def.versions, library=graph_def.library)
    for node in graph_def.node:
        new = out.node.add()
        if node.name not in refused:
            new.CopyFrom(node)
            continue
        op = refused[node.name]
        new.name, new.op, new.device = node.name, _TYPE, node.device
        new.input.extend(node.input)
        if "_class" in node.attr:
            new.attr["_class"].CopyFrom(node.attr["_class"])
        ends = list(snapshot.data.ends(op))
        outputs = {
            maker: snapshot.declared_outputs(maker) for maker in {maker for maker, _ in ends}
        }  # without duplicates
        reads = [output_at(outputs[maker], port) for maker, port in ends]
        new.attr["Tin"].list.type.extend(map(_number, reads))
        new.attr["Tout"].list.type.extend(map(_number, snapshot.declared_outputs(op) or ()))
        new.attr["token"].s = f"op {node.name!r} of type {node.op!r}, which TensorFlow does not know here".encode()
    return out


def _number(info: TensorInfo | None) -> int:
    """Returns the number of a dtype; the number of float32 if the dtype is unknown."""
    try:
        return int(tf.as_dtype("float32" if info is None else info.dtype.removesuffix("_ref")).as_datatype_enum)
    except TypeError:
        return int(tf.float32.as_datatype_enum)


_ACCEPTED_KINDS = (
    "Give a tf.Graph, a session, a GraphDef or MetaGraphDef, the path of a .pb, .pbtxt, .meta or .keras file "
    "or of a SavedModel folder, or a tf.function, Keras model or tf.Module"
)


def open_source(
    obj: Any,
    tags: Any = None,
    signature: Any = None,
    function: str | None = None,
    training: bool | None = None,
    raw: bool = False,
    trust: bool = False,
    timeout: float = 60.0,
) -> OpenedGraph:
    """Opens a graph from an object or a file.

    Args:
        obj: a `tf.Graph`, a `tf.compat.v1.Session`, a GraphDef, MetaGraphDef or SavedModel proto, a path (including
            ``.keras`` files), or a TF2 object: ConcreteFunction, `tf.function`, Keras model, `tf.Module`.
        tags: the tags of a graph of a SavedModel; not needed if it has only one graph.
        signature: for a SavedModel, the name of a signature; for a TF2 object, the `tf.TensorSpec` of its arguments.
        function: the name of a function of a `tf.Module`, file or graph.
        training: whether a Keras model is called for training.
        raw: open the stored graph of a SavedModel, instead of the computation of one signature.
        trust: whether a file may be imported, and run, without a trial import in a separate process.
        timeout: the time limit of that import in seconds; one second per thousand ops is added.

    Raises:
        OpenError: the file cannot be read, has another format, or contains ops that this TensorFlow does not know; or a
            TF2 object has several functions.
    """
    if isinstance(obj, DeferredGraph):  # the owner of a snapshot
        obj = materialize(obj)
    is_path = isinstance(obj, (str, os.PathLike))
    if is_path:
        file_reader.refuse_unreachable(Path(obj), f"open({os.fspath(obj)!r})")
    keras_file, traceable = is_path and is_keras_file(Path(obj)), not is_path and _is_traceable(obj)
    if raw and (keras_file or traceable):
        description = "a .keras file, which holds no graph" if keras_file else f"of type {type(obj).__name__}"
        problem = f"raw=True opens the stored graph of a SavedModel, but this is {description}"
        name = repr(os.fspath(obj)) if keras_file else _short(obj)
        raise OpenError(f"open({name}, raw=True)", problem, "Leave out raw=True")
    if keras_file:
        return _record_origins(
            _from_keras(Path(obj), tags, signature, function, bool(training)), trust, Path(obj).read_bytes
        )
    if traceable:
        from ..functions.trace import trace

        traced = trace(obj, signature, function, bool(training))
        return _from_trace(traced, f"open({traced.title})")
    wish = _OpenOptions(tags, signature, raw, function, trust, timeout)
    if is_path:
        _refuse_options(obj, training=training)
        return _from_path(Path(obj), wish)
    _refuse_options(obj, training=training, signature=None if hasattr(obj, "meta_graphs") else signature)
    if isinstance(obj, tf.Graph):
        if function is None:
            return OpenedGraph(materialize(obj), "graph", "gs.open(graph)")
        opened_graph = _from_proto(obj.as_graph_def(), None, wish.request("graph"), replace(wish, trust=True))
        clear_origins(opened_graph.graph)  # this package has made the graph; the origins of its parts come from `thing`
        inherit_origins(opened_graph.graph, obj)
        return replace(opened_graph, code=wish.code("graph"))
    if isinstance(obj, (tf.compat.v1.Session, tf.compat.v1.InteractiveSession)) and function is None:
        from ..private.graphs import is_closed

        if is_closed(obj):
            raise OpenError(
                "open(session)",
                "the session is closed, and its values are lost",
                "Open its graph: gs.open(session.graph)",
            )
        return OpenedGraph(obj.graph, "graph", "gs.open(session)", session=obj)
    if isinstance(obj, Message):
        message = type(obj)()
        message.CopyFrom(obj)  # a copy: the caller may change the proto, and reading it adds attributes
        opened_graph = _from_proto(message, None, wish.request(type(obj).__name__), wish)
        return _record_origins(opened_graph, trust, lambda: encode(obj, deterministic=True))
    raise OpenError(
        f"open({_short(obj)})",
        f"an object of type {type(obj).__name__} cannot be opened as a graph",
        _ACCEPTED_KINDS,
    )


def _is_traceable(value: Any) -> bool:
    from ..functions.trace import is_traceable

    return is_traceable(value)


def _refuse_options(source: Any, **options: Any) -> None:
    names = [name for name, value in options.items() if value is not None]
    if names:
        raise OpenError(
            f"open({_short(source)}, {names[0]}={options[names[0]]!r})",
            f"{names[0]}= is not possible for an object of type {type(source).__name__}",
            f"Leave out {names[0]}=",
        )


def _from_keras(path: Path, tags: Any, signature: Any, function: str | None, training: bool) -> OpenedGraph:
    """Opens a `.keras` file like its model in Python; if Keras cannot build it, returns a graph of its layers."""
    request = f"open({str(path)!r})"
    for word, value in (("tags", tags), ("function", function)):
        if value is not None:
            problem = "a .keras file holds one model only"
            raise OpenError(f"{request[:-1]}, {word}={value!r})", problem, f"Leave out {word}=")
    try:
        model = keras_model(path, request)
    except OpenError as refusal:
        layer_graph = file_layers(path, request)
        if layer_graph is None:
            raise
        graph = DeferredGraph(empty_graph)
        LazyGraph(replace(layer_graph[0], owner=graph), None, refusal=refusal).attach_to(graph)
        return OpenedGraph(graph, path.name, f"gs.open({str(path)!r})", layers=layer_graph[1])
    from ..functions.trace import trace
    from .snapshot import snapshot

    traced = trace(model, signature, None, training)
    code = traced.code.replace("gs.open(model", f"gs.open({str(path)!r}", 1)
    file = OpenedFile.from_path(path, path, {"signature": signature, "training": training or None})
    out = replace(_from_trace(traced, request), title=path.name, code=code, file=file)
    live_snapshot = snapshot(out.graph)
    add_origins(out.graph, [GraphOrigin(live_snapshot)] if may_reach_out(live_snapshot) else [])
    return out


def _from_trace(function: Any, request: str) -> OpenedGraph:
    from ..functions.layers import layers_of, origin_of
    from ..functions.trace import lift

    lifted = lift(function.concrete, request, function.variable_names, function.frozen_handles)
    paths, handles = function.handle_paths, lifted.values.identities()
    return OpenedGraph(
        lifted.graph, function.title, function.code, None, lifted.values, inputs=lifted.inputs, outputs=lifted.outputs,
        pack_outputs=lifted.pack_outputs, layers=layers_of(function, lifted),
        variable_paths={op: paths[handle] for op, handle in handles.items() if handle in paths},
        serving=ServingInfo(functions=function.other_functions),
        origin=None if function.model is None else origin_of(function, lifted),
    )  # fmt: skip


#: Names in attribute paths of internal or duplicate objects of a SavedModel.
_INTERNAL_NAMES = ("keras_api", "signatures")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else text[:57] + "..."


@dataclass(frozen=True)
class _OpenOptions:
    """The chosen part of a SavedModel.

    Args:
        tags: the tags of one of its graphs.
        signature: the name of a signature of this graph.
        raw: open the whole stored graph.
        function: the name of one of its functions.
        trust, timeout: as in `open_source`.
    """

    tags: Any = None
    signature: Any = None
    raw: bool = False
    function: Any = None
    trust: bool = False
    timeout: float = 60.0

    def request(self, source: str) -> str:
        """Returns the `open` call with the chosen part, for messages."""
        return f"open({self._source_text(source, signature=self.signature, function=self.function)})"

    @property
    def options(self) -> dict[str, Any]:
        """The chosen part, in the form of arguments of `open_source`."""
        return {"tags": self.tags, "signature": self.signature, "raw": self.raw or None, "function": self.function}

    def code(self, source: str) -> str:
        """Returns the code that opens the same part again."""
        options = {"signature": self.signature, "raw": self.raw or None, "function": self.function}
        options["trust"] = self.trust or None
        return f"gs.open({self._source_text(source, tags=self.tags, **options)})"

    def _source_text(self, source: str, **options: Any) -> str:
        return ", ".join([source, *(f"{key}={value!r}" for key, value in options.items() if value is not None)])


@gc_paused()
def _from_path(path: Path, options: _OpenOptions) -> OpenedGraph:
    original = path
    request = options.request(repr(str(path)))
    if path.suffix in (".h5", ".hdf5") and path.is_file():
        how = f"Load it with Keras, and open the model: gs.open(keras.models.load_model({str(path)!r}))"
        raise OpenError(request, "this is a Keras model in HDF5 format, which only Keras can read", how)
    if path.is_dir():
        path = file_reader.saved_model_file(path, request)
    file = OpenedFile.from_path(original, path, options.options)
    with naming_memory(request):
        data = file_reader.read_bytes(path, request)
        proto = file_reader.parse(data, path, request)
        out = _from_proto(proto, path, request, options)
    if out.serving.signatures and path.parent == original:
        out = replace(
            out,
            serving=_add_signatures(out.serving, _choose_meta_graph(proto, options.tags, request), original, options),
        )
    out = replace(out, title=original.name.removesuffix(".gz"), code=options.code(repr(str(original))), file=file)
    return _record_origins(out, options.trust, lambda: data)


def _record_origins(result: OpenedGraph, trust: bool, data: Callable[[], bytes]) -> OpenedGraph:
    """Completes the origins of a graph: title, digest of the file, ops that run at load, and assets."""
    for origin in origins(result.graph):
        origin.title, origin.key = result.title, hashlib.sha256(data()).digest()
        origin.load, origin.assets = getattr(result.values, "load", {}), result.assets
        if trust:
            origin.trust()
    return result


def _add_signatures(serving: ServingInfo, meta: Any, folder: Path, options: _OpenOptions) -> ServingInfo:
    """Adds the signatures and functions of a SavedModel, and a function that opens another one of them."""
    names = {candidate.name for candidate in serving.signatures}
    ways = [way for way, traces in functions(meta).items() if len(traces) == 1 and way not in names]
    ways = [way for way in ways if not any(part[:1] == "_" or part in _INTERNAL_NAMES for part in way.split("."))]

    def open_other(name: str) -> OpenedGraph:
        signature, function = (name, None) if name in names else (None, name)
        return _from_path(folder, replace(options, raw=False, signature=signature, function=function))

    return replace(serving, functions=tuple(ways), open_other=open_other)


@gc_paused()
def _from_proto(proto: Any, path: Path | None, request: str, options: _OpenOptions) -> OpenedGraph:
    if hasattr(proto, "meta_graphs"):
        proto = _choose_meta_graph(proto, options.tags, request)
        folder = path.parent if path is not None else None
        root, stored = (str(folder.resolve()), asset_files(proto)) if folder is not None else ("", [])
        feeds = {asset.tensor_info.name: asset_path(root, asset.filename, request) for asset in stored}
        point_at(proto, {op_name(tensor): path for tensor, path in feeds.items()})
        assets, signature_list = frozenset(feeds.values()), signatures(proto)
        name = _signature_of(signature_list, options.signature, request) if options.function is None else ""
        if options.function is not None or (not options.raw and name and proto.object_graph_def.nodes):
            result = _from_served(proto, signature_list, name, folder, request, options)
            return replace(result, assets=assets | result.assets)
        file_graph = _read_meta(proto, request, options)
        init_ops = init_ops_of(proto, file_graph) if folder is not None else []
        values = _saved_values(proto, folder, file_graph, init_ops, feeds)
        lack = "" if folder is None else _missing_values(folder / "variables" / "variables", folder)
        clear = not options.raw and (name == DEFAULT or len(signature_list) == 1)
        inputs, outputs = signature_tensors(proto, name) if options.signature is not None or clear else ({}, {})
        in_graph = all(op_name(tensor) in file_graph.index for tensor in (*inputs.values(), *outputs.values()))
        if options.signature is None and not in_graph:
            inputs, outputs = {}, {}  # a damaged signature: the graph can still be viewed
        return OpenedGraph(
            file_graph.owner, "saved model", options.code("saved_model"), values=values, inputs=inputs, outputs=outputs,
            serving=ServingInfo(signature_list), init_ops=init_ops, asset_feeds=feeds,
            signature=name * bool(outputs), defaults=_defaults_of(signature_list, name, inputs),
            other_signatures=_others(proto, signature_list, name * bool(outputs), file_graph),
            missing_values_reason=lack, assets=assets,
        )  # fmt: skip
    if options.signature is not None:
        problem = "signature= chooses a signature of a SavedModel, and this is not a SavedModel"
        raise OpenError(request, problem, "Leave out signature=")
    if options.function is not None and (hasattr(proto, "graph_def") or hasattr(proto, "node")):
        meta = proto if hasattr(proto, "graph_def") else meta_graph_pb2.MetaGraphDef(graph_def=proto)
        title = "meta_graph" if hasattr(proto, "graph_def") else "graph_def"
        return replace(_from_served(meta, (), "", None, request, options), code=options.code(title))
    if hasattr(proto, "graph_def"):
        notes = bind_inputs(proto.graph_def, proto)
        file_graph, signature_list = _read_meta(proto, request, options), signatures(proto)
        values = _checkpoint_values(proto, path, file_graph)
        lack = "" if path is None else _missing_values(_prefix(path), path.parent)
        if path is not None and values is None:
            lack = lack or "the file does not contain a Saver"
        return OpenedGraph(
            file_graph.owner, "meta graph", "gs.open(meta_graph)", values=values, missing_values_reason=lack,
            other_signatures=_others(proto, signature_list, "", file_graph),
            serving=ServingInfo(signature_list, notes=notes),
        )  # fmt: skip
    if hasattr(proto, "node"):
        notes = bind_inputs(proto)
        file_graph = _read_graph(proto, request, options)
        return OpenedGraph(file_graph.owner, "graph def", "gs.open(graph_def)", serving=ServingInfo(notes=notes))
    raise OpenError(request, f"a message of type {type(proto).__name__} holds no graph", _ACCEPTED_KINDS)


def _defaults_of(signature_list: Sequence[Signature], name: str, inputs: Container[str]) -> dict[str, Any]:
    pairs = [pair for one in signature_list if one.name == name for pair in one.defaults.items()]
    return {key: array for key, array in pairs if key in inputs}


def _others(meta: Any, signature_list: Sequence[Signature], name: str, file_graph: Graph) -> dict[str, Ends]:
    """Returns the signatures except one, if all their tensors are in the graph."""
    others = {}
    for one in signature_list:
        inputs, outputs = signature_tensors(meta, one.name)
        there = all(op_name(tensor) in file_graph.index for tensor in (*inputs.values(), *outputs.values()))
        if one.name != name and outputs and there:
            others[one.name] = Ends(inputs=inputs, outputs=outputs, defaults=_defaults_of([one], one.name, inputs))
    return others


def _signature_of(signature_list: Sequence[Signature], wish: Any, request: str) -> str:
    """Returns the name of the signature to open: the given name, ``serving_default``, or the first name."""
    names = [candidate.name for candidate in signature_list]
    if wish is None:
        return names[0] if names else ""
    if not isinstance(wish, str):
        how = f"Type signature={(names[0] if names else DEFAULT)!r}"
        raise OpenError(request, "for a SavedModel, signature= is the name of a signature", how)
    if wish not in names:
        near = did_you_mean(wish, names) + " " if nearest(wish, names) else ""
        choose = "Choose signature=" + " or ".join(map(repr, sorted(names))) if names else "Open it without signature="
        raise OpenError(request, f"it has no signature {wish!r}", near + choose)
    return wish


def _from_served(
    meta: Any,
    signature_list: tuple[Signature, ...],
    name: str,
    folder: Path | None,
    request: str,
    options: _OpenOptions,
) -> OpenedGraph:
    """Opens one signature of a SavedModel of TF2, or the chosen function."""
    prefix = str(folder / "variables" / "variables") if folder is not None else ""
    checkpoint, lack = None, "there is no variables/variables.index"
    if os.path.exists(prefix + ".index"):
        try:
            refuse_linked_away(prefix, str(folder), request)
            checkpoint, lack = Checkpoint(prefix, request), ""
        except OpenError as error:  # the graph can still be viewed
            lack = error.problem
    if name:
        inputs, outputs = signature_tensors(meta, name)
    else:
        meta, inputs, outputs = meta_with_call(meta, options.function, request)
    title = f"signature {name!r}" if name else f"function {options.function!r}"
    place = str(folder.resolve()) if folder is not None else ""
    served_part = extract_signature(meta, inputs, outputs, title, place, checkpoint, request)
    file_graph = _read_graph(
        served_part.meta.graph_def, request, options, served_part.meta
    )  # this package has made the collections, so they are not damaged
    notes, ways = tuple(served_part.notes), object_paths(meta.object_graph_def)
    paths = {op: ways[number] for op, number in served_part.objects.items() if number in ways}
    if served_part.valueless_variables and not lack:
        lacking = counted(served_part.valueless_variables, "variables")
        notes = (*notes, f"no value for {lacking}: not in the checkpoint")
    if name and options.signature is None and name != DEFAULT and len(signature_list) > 1:
        others = few([repr(candidate.name) for candidate in signature_list if candidate.name != name])
        notes = (f"this is signature {name!r}, the first by name; signature= opens another: {others}", *notes)
    return OpenedGraph(
        file_graph.owner, "saved model" if signature_list else str(options.function), options.code("saved_model"),
        inputs=served_part.inputs, outputs=served_part.outputs, values=KeyedValues(served_part.keys, prefix),
        signature=name, defaults=_defaults_of(signature_list, name, served_part.inputs),
        variable_paths=paths, missing_values_reason=lack,
        serving=ServingInfo(signature_list, name or f"function {options.function}", served_part.omitted_ops, notes),
        layers=saved_layers(folder, file_graph, meta.object_graph_def, served_part.objects),
        assets=frozenset({checkpoint.prefix} if checkpoint is not None else ()),
    )  # fmt: skip


def _read_graph(graph_def: TFGraphDef, request: str, options: _OpenOptions, meta: Any = None) -> Graph:
    """Reads the graph of a file; its owner is a deferred graph, which is made and filled on first use."""
    graph = DeferredGraph(empty_graph)
    file_graph = file_snapshot(graph_def, meta, request=request, owner=graph)
    _refuse_names(file_graph.names, request)
    if not options.trust:
        prepare()
    if may_reach_out(file_graph):
        add_origins(graph, [GraphOrigin(file_graph)])

    def full_graph_def() -> Any:
        return with_stand_ins(with_shapes(graph_def, file_graph), file_graph)

    def run_trial(shapes: bool) -> tuple[Graph, OpenError | None]:
        refusal, inferred = try_import(full_graph_def(), request, options.timeout, shapes)
        outputs = file_graph.outputs_of
        if not isinstance(outputs, FileOutputs) or not inferred:
            return file_graph, refusal
        return replace(file_graph, outputs_of=outputs.with_inferred(inferred)), refusal

    def fill(graph: TFGraph) -> None:
        from ..copy.imports import fill_collections, import_graph

        try:
            import_graph(graph, full_graph_def(), request)
            fill_collections(graph, meta, request)
        except OpenError:
            raise
        except BaseException:  # an interrupt, for example by Ctrl+C
            if graph.get_operations():
                waiting.fail(OpenError(request, "making its live graph was stopped halfway", "Open it again"))
            raise

    has_records = meta is not None and COLLECTION in meta.collection_def
    records = tuple(meta.collection_def[COLLECTION].bytes_list.value) if has_records else ()
    refusal = _unknown_ops_error(file_graph, request)
    waiting = LazyGraph(file_graph, fill, records, refusal, None if options.trust else run_trial)
    waiting.attach_to(graph)
    return file_graph


_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
_NAMES = re.compile(rf"{_NAME.pattern}(?:\n{_NAME.pattern})*")
#: The limits of op names. TensorFlow stores each prefix of a name separately, so long names would need gigabytes.
_MOST_LETTERS, _MOST_LEVELS = 2_000, 100


def _refuse_names(names: Sequence[str], request: str) -> None:
    """Refuses names of ops that TensorFlow does not accept, or that do not fit in memory; raises OpenError."""
    if _NAMES.fullmatch("\n".join(names)) and max(map(len, names)) <= _MOST_LEVELS:  # faster than one by one
        return
    for name in names:
        if not _NAME.fullmatch(name):
            raise OpenError(
                request,
                f"{name[:80]!r} is not an op name that TensorFlow accepts",
                "Rename the op in the code that made the graph: names start with a letter, digit or dot",
            )
        if len(name) > _MOST_LETTERS or name.count("/") > _MOST_LEVELS:
            raise OpenError(
                request,
                f"the name of an op, {name[:40]!r} ..., has {counted(len(name), 'letters')} "
                f"and {counted(name.count('/'), 'slashes')}",
                f"Up to {_MOST_LETTERS:,} letters and {_MOST_LEVELS} slashes are possible: "
                "rename the op in the code that made the graph",
            )


def _read_meta(meta: Any, request: str, options: _OpenOptions) -> Graph:
    """Reads the graph of a MetaGraphDef of a file."""
    file_graph = _read_graph(meta.graph_def, request, options, meta)
    file_graph.state  # noqa: B018  raises an error if a collection is damaged
    return file_graph


def _choose_meta_graph(saved_model: Any, tags: Any, request: str) -> Any:
    stored_tags = [sorted(m.meta_info_def.tags) for m in saved_model.meta_graphs]
    if tags is None:
        chosen_tags = ["serve"] if ["serve"] in stored_tags else stored_tags[0]
        if len(stored_tags) > 1 and ["serve"] not in stored_tags:
            raise OpenError(
                request,
                f"it holds {counted(len(stored_tags), 'graphs')}",
                f"Choose one: tags={' or tags='.join(map(str, stored_tags))}",
            )
    else:
        chosen_tags = sorted([tags] if isinstance(tags, str) else tags)
    if chosen_tags not in stored_tags:
        raise OpenError(
            request,
            f"it has no graph with tags {chosen_tags}",
            f"It has tags={' and tags='.join(map(str, stored_tags))}",
        )
    return saved_model.meta_graphs[stored_tags.index(chosen_tags)]


def _unknown_ops_error(file_graph: Graph, request: str) -> OpenError | None:
    """Returns the error if a graph has ops of types that this TensorFlow does not know; otherwise None."""
    if not file_graph.refused_ops.any():
        return None
    kinds = {op_type: n for op_type, n in unknown_counts(file_graph).items() if n} or unknown_counts(file_graph)
    types = few([f"op type {op_type!r} ({_describe_ops(file_graph, op_type, n)})" for op_type, n in kinds.items()], 4)
    close = nearest(next(iter(kinds)), [n for n in dir(tf.raw_ops) if n[0].isupper()])
    hint = f"TensorFlow has {' and '.join(map(repr, close))}. " if close else ""
    packages = packages_of(kinds)
    way = "If it is a custom op, load it first with tf.load_op_library(...)"
    if packages:
        way = f"The op types are probably from {few(packages)}: import it before you open the graph"
    return OpenError(request, f"this TensorFlow ({tf.__version__}) does not know {types}", f"{hint}{way}; {EXCLUSIONS}")


def _describe_ops(file_graph: Graph, op_type: str, count: int) -> str:
    """Returns text about the ops of a type, for messages: the only op, or the number of ops and the first one."""
    if not count:
        return "in a function"
    first = file_graph.names[list(file_graph.types).index(op_type)]
    return f"op {first!r}" if count == 1 else f"{counted(count, 'ops')}, {first!r} first"


def _prefix(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".gz").removesuffix(".meta"))


def _missing_values(prefix: Path, folder: Path) -> str:
    """Returns why the values of the variables of a file are missing: its checkpoint is; empty if it is complete."""
    problem = linked_away(str(prefix), str(folder))
    if problem:
        return problem
    try:
        refuse_incomplete(str(prefix), "")
    except OpenError as error:
        absent = f"there is no {prefix.relative_to(folder).as_posix()}.index"
        return error.problem if os.path.exists(f"{prefix}.index") else absent
    return ""


def _checkpoint_values(meta: Any, path: Path | None, file_graph: Graph) -> ValueSource | None:
    if path is None or not meta.saver_def.restore_op_name:
        return None
    prefix = str(_prefix(path))
    if not (os.path.exists(prefix + ".index") or os.path.exists(prefix)) or linked_away(prefix, str(path.parent)):
        return None
    return CheckpointValues(file_graph, meta.saver_def, prefix)


def _saved_values(
    meta: Any, folder: Path | None, file_graph: Graph, init_ops: Sequence[str], asset_feeds: Mapping[str, str]
) -> ValueSource | None:
    if folder is None:
        return None
    prefix = str(folder / "variables" / "variables")
    has_index = os.path.exists(prefix + ".index") and not linked_away(prefix, str(folder))
    return CheckpointValues(file_graph, meta.saver_def if has_index else None, prefix, init_ops, asset_feeds)
