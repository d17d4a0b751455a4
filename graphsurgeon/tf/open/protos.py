"""Reads a graph, its unbound inputs and its risks from the protos of its file, without an import or a run.

``export_meta_graph(export_scope=...)`` writes files with unbound inputs: inputs with names that no op has. Placeholders
replace them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from ...errors import OpenError, SelectionError, counted, few
from ...graph.concurrency import gc_paused
from ...graph.functions import CALLS, called_function, gradients_in, op_types_finder
from ...graph.graph import Graph, shape_text
from ...graph.names import free_name, op_name
from ...graph.provenance import COLLECTION
from ...graph.rewiring import import_order, reorder_ops
from ...graph.security import PYTHON, READS, Risk, Risks, risks
from ...graph.types import TFGraphDef, TFNodeDef
from ...graph.variables import (
    ASSIGN_TYPES,
    RESOURCE_TYPES,
    VARIABLE_TYPES,
    CollectionEntry,
    GraphState,
    VariableInfo,
    fills_table,
    makes_table,
    variable_from_def,
    variable_from_reads,
)
from ..messages import control_flow_pb2, queue_runner_pb2, saver_pb2, types_pb2, variable_pb2
from ..op_types import collection_message, is_registered_op, op_definition
from ..protos import decode, encode
from ..values.file_variables import CheckpointValues, asset_files, asset_path, init_ops_of, point_at
from . import file_reader
from .layers import code_in, is_keras_file
from .outputs import FileOutputs, dims_of_proto, dtype_name, expand_arguments

#: The prefix that TensorFlow adds to the name of an unbound input.
PREFIX = "$unbound_inputs_"
_CONTEXTS = {"while_context": control_flow_pb2.WhileContextDef, "cond_context": control_flow_pb2.CondContextDef}


def bind_inputs(graph_def: TFGraphDef, meta: Any = None) -> tuple[str, ...]:
    """Adds placeholders for the unbound inputs of a graph, in place; returns a note if there are any.

    Args:
        graph_def: the GraphDef.
        meta: the MetaGraphDef around it, whose loops and conds also contain names of unbound inputs.
    """
    dtypes = _unbound_inputs(graph_def)
    if not dtypes:
        return ()
    used_names = {node.name for node in graph_def.node}
    new: dict[str, str] = {}
    for text, dtype in dtypes.items():
        wish = text.removeprefix("$").removesuffix(":0").replace(":", "_")
        name = free_name(wish, used_names.__contains__, as_tensorflow=True)
        used_names.add(name)
        node = graph_def.node.add(name=name, op="NoOp" if dtype is None else "Placeholder")
        if dtype is not None:
            node.attr["dtype"].type = dtype
            node.attr["shape"].shape.unknown_rank = True
        new[text] = name
    for node in graph_def.node:
        for at, text in enumerate(node.input):
            sign = "^" if text.startswith("^") else ""
            node.input[at] = sign + new.get(text.removeprefix("^").removesuffix(":0"), text.removeprefix("^"))
    outside = {text.removeprefix(PREFIX): name for text, name in new.items()}
    for key, proto_type in _CONTEXTS.items() if meta is not None else ():
        if key in meta.collection_def:
            values = meta.collection_def[key].bytes_list.value
            values[:] = [_context(proto_type.FromString(item), outside).SerializeToString() for item in values]
    names = [name for text, name in new.items() if dtypes[text] is not None]
    return (f"it is a part of a graph; tensors of other parts are replaced by {counted(len(names), 'placeholders')}, "
            f"{few(names)}",)  # fmt: skip


def _unbound_inputs(graph_def: TFGraphDef) -> dict[str, int | None]:
    """Returns unbound input -> its dtype; None instead of a dtype if it is only a control input."""
    functions = {function.signature.name: function for function in graph_def.library.function}
    inputs: dict[str, int | None] = {}
    for node in graph_def.node:
        if not any(PREFIX in text for text in node.input):
            continue
        signature = op_definition(node.op, functions)
        dtypes = [dtype for _, _, dtype in expand_arguments(signature.input_arg, node, signature)] if signature else []
        data = [text for text in node.input if not text.startswith("^")]
        for text, dtype in zip(data, [*dtypes, *[types_pb2.DT_FLOAT] * len(data)], strict=False):
            if text.startswith(PREFIX):
                inputs[text.removesuffix(":0")] = dtype
        for text in node.input:
            if text.startswith(f"^{PREFIX}"):
                inputs.setdefault(text[1:], None)
    return inputs


def _context(proto: Any, outside: dict[str, str]) -> Any:
    """Replaces the names of unbound inputs in a loop or cond."""
    for values in _values_of(proto):
        values.values[:] = [_rename(name, outside) for name in values.values]
        pairs = dict(values.external_values)
        values.external_values.clear()
        values.external_values.update({_rename(name, outside): inner for name, inner in pairs.items()})
    if hasattr(proto, "pred_name"):
        proto.pred_name = _rename(proto.pred_name, outside)
    return proto


def _values_of(proto: Any) -> Iterator[Any]:
    yield proto.values_def
    for nested in proto.nested_contexts:
        field = nested.WhichOneof("ctxt")
        if field is not None:
            yield from _values_of(getattr(nested, field))


def _rename(tensor: str, outside: dict[str, str]) -> str:
    name = outside.get(tensor.removesuffix(":0"))
    return tensor if name is None else f"{name}:0"


def file_snapshot(
    graph_def: TFGraphDef, meta: Any = None, title: str = "graph", request: str = "open", owner: Any = None
) -> Graph:
    """Returns the snapshot of a graph in a file, with the order, names and attributes as after an import by TensorFlow.

    Dtypes are known from the definitions of ops and functions, and shapes only from the file. The outputs of an op of
    an unknown type are not known.

    Args:
        graph_def: the GraphDef. Its nodes are not copied; the attributes that the importer would add are added to them.
        meta: the MetaGraphDef around it, for variables and collections.
        title: the name of the graph in messages.
        request: the request, for messages.
        owner: the owner that all snapshots of the same graph share.

    Raises:
        OpenError: two ops have the same name, an op reads a missing op, or a collection is damaged.
    """
    about = {"title": title, "owner": object() if owner is None else owner}
    with gc_paused():
        nodes = list(graph_def.node)
        functions = {f.signature.name: f for f in graph_def.library.function}
        file_shapes = _normalize(nodes, functions)
        graph = _read_graph(nodes, request, about)
        order = import_order(graph)
        if order is not None:
            graph = reorder_ops(graph, order)
    graph = replace(
        graph, outputs_of=FileOutputs(about["owner"], graph, functions, graph_def.versions.producer, file_shapes)
    )
    unknown = unknown_types([graph.types, *((node.op for node in f.node_def) for f in functions.values())], functions)
    state_of = _ProtoState(graph, graph.nodes, functions, meta, request)
    gradients = gradients_in(graph_def.library)
    return replace(
        graph, state_of=state_of, functions_of=lambda: functions, gradients_of=lambda: gradients, unknown_types=unknown
    )


def unknown_types(types: Iterable[Iterable[str]], functions: Container[str]) -> frozenset[str]:
    """Returns the op types that are not registered in this TensorFlow; names of functions are allowed as op types."""
    kinds = set[str]().union(*types)
    return frozenset(op_type for op_type in kinds if op_type not in functions and not is_registered_op(op_type))


def _normalize(nodes: Iterable[TFNodeDef], functions: Container[str]) -> dict[str, Any]:
    """Adds and removes attributes of nodes as the importer does; returns the removed output shapes, by op name."""
    file_shapes: dict[str, Any] = {}
    alike: dict[bytes, Any] = {}  # a cache: many ops have the same shapes
    defaults: dict[str, list[tuple[str, Any]]] = {}
    for node in nodes:
        attributes = node.attr
        if "_output_shapes" in attributes:
            output_shapes = attributes["_output_shapes"]
            content = encode(output_shapes)
            if content not in alike:
                alike[content] = [dims_of_proto(shape) for shape in output_shapes.list.shape]
            file_shapes[node.name] = alike[content]
            del attributes["_output_shapes"]
        op_type = node.op
        if op_type not in defaults:
            definition = op_definition(op_type) if op_type not in functions else None
            attributes_of_type = definition.attr if definition is not None else ()
            defaults[op_type] = [
                (attr.name, attr.default_value) for attr in attributes_of_type if attr.HasField("default_value")
            ]
        for name, value in defaults[op_type]:
            if name not in attributes:
                attributes[name].CopyFrom(value)
    return file_shapes


def _read_graph(nodes: list[TFNodeDef], request: str, fields: Mapping[str, Any]) -> Graph:
    try:
        graph = Graph.from_nodes(nodes, **fields)
    except SelectionError as error:
        (op,) = error.names
        raise OpenError(request, f"op {op!r}: {error.problem}", error.suggestion) from error
    if len(graph.index) < len(nodes):
        names: set[str] = set()
        twice = next(name for name in graph.names if name in names or names.add(name))  # type: ignore[func-returns-value]
        raise OpenError(request, f"two ops are called {twice!r}", "Rename one of them in the code that made the graph")
    return graph


class _ProtoState:
    """Returns the variables and collections of a file, which are read on first use."""

    def __init__(
        self, graph: Graph, nodes: Sequence[TFNodeDef], functions: Mapping[str, Any], meta: Any, request: str
    ) -> None:
        self._graph, self._nodes, self._request = graph, nodes, request
        self._collections = meta.collection_def if meta is not None else {}
        self._types_in = op_types_finder(functions)

    def __call__(self) -> GraphState:
        items = {name: list(self._items(name)) for name in sorted(self._collections) if name != COLLECTION}
        entries = {name: tuple(map(self._entry, contents)) for name, contents in items.items()}
        protos = [item for contents in items.values() for item in contents]
        return GraphState(self._variables(items), entries, self._contexts(protos), self._init_ops(protos))

    def _items(self, name: str) -> Iterator[Any]:
        """Yields the items of a collection: protos, ops and tensors as `CollectionEntry`, and values."""
        collection = self._collections[name]
        field = collection.WhichOneof("kind")
        values = getattr(collection, field).value if field else ()
        if field == "node_list":
            for text in values:
                try:
                    (self._graph.tensor if ":" in text else self._graph.find)(text, self._request)
                except SelectionError as error:
                    raise self._damage_error(name, error.problem) from error
                yield CollectionEntry("tensor" if ":" in text else "op", text)
            return
        proto = collection_message(name) if field == "bytes_list" else None
        for value in values:
            if proto is None:
                yield value
                continue
            try:
                item = decode(proto, value)
            except DecodeError as error:
                raise self._damage_error(name, error) from error
            yield item

    def _damage_error(self, name: str, reason: object) -> OpenError:
        suggestion = "Give the GraphDef alone, gs.open(meta.graph_def), to open it without its collections"
        return OpenError(self._request, f"collection {name!r} is damaged: {reason}", suggestion)

    def _entry(self, item: Any) -> CollectionEntry:
        if isinstance(item, CollectionEntry):
            return item
        if isinstance(item, variable_pb2.VariableDef):
            return CollectionEntry("variable", op_name(item.variable_name))
        if isinstance(item, queue_runner_pb2.QueueRunnerDef):
            return CollectionEntry("runner", op_name(item.queue_name))
        if isinstance(item, saver_pb2.SaverDef):
            names = (item.filename_tensor_name, item.save_tensor_name, item.restore_op_name)
            return CollectionEntry("structure", "Saver", tuple(op_name(name) for name in names if name))
        if isinstance(item, (control_flow_pb2.WhileContextDef, control_flow_pb2.CondContextDef)):
            parts = (op_name(item.pivot_name),) if item.pivot_name else ()
            return CollectionEntry("structure", type(item).__name__.removesuffix("Def"), parts)
        return CollectionEntry("value", repr(item)[:80])

    # -- variables ------------------------------------------------------------------------------

    def _variables(self, items: Mapping[str, Iterable[Any]]) -> dict[str, VariableInfo]:
        variables: dict[str, Any] = {}
        inside: dict[str, list[str]] = {}
        for collection, contents in items.items():
            for item in contents:
                if isinstance(item, variable_pb2.VariableDef):
                    name = op_name(item.variable_name)
                    variables.setdefault(name, item)
                    inside.setdefault(name, []).append(collection)
        infos = {}
        for number in np.flatnonzero(self._graph.type_mask(VARIABLE_TYPES)).tolist():
            name = self._graph.names[number]
            info = self._info(number)
            infos[name] = (
                info if name not in variables else self._variable_from_def(info, variables[name], inside[name])
            )
        return infos

    def _info(self, number: int) -> VariableInfo:
        """Returns the description of a variable that is in no collection, from its consumers."""
        graph, node = self._graph, self._nodes[number]
        users = [
            (user, graph.types[user] in ASSIGN_TYPES and int(graph.data.row(user)[0]) == number)
            for user in graph.consumers.row(number).tolist()
        ]
        return variable_from_reads(
            node.name,
            (
                (graph.types[user], graph.names[user], self._assigned_value(user) if sets else None)
                for user, sets in users
            ),
            dtype=dtype_name(node.attr["dtype"].type),
            shape=shape_text(dims_of_proto(node.attr["shape"].shape)),
            resource=node.op == "VarHandleOp",
        )

    def _variable_from_def(self, info: VariableInfo, proto: Any, scopes: list[str]) -> VariableInfo:
        """Returns the description of a variable from its VariableDef in a collection."""
        assign = self._graph.index.get(op_name(proto.initializer_name))
        return variable_from_def(info, proto, self._assigned_value(assign) if assign is not None else "", scopes)

    def _assigned_value(self, assign: int) -> str:
        inputs = self._graph.input_names(assign)
        return inputs[1] if len(inputs) > 1 else ""

    # -- loops, conds, tables, queues -----------------------------------------------------------

    def _contexts(self, protos: Iterable[Any]) -> tuple[frozenset[str], ...]:
        kinds = (control_flow_pb2.WhileContextDef, control_flow_pb2.CondContextDef)
        index = self._graph.index
        members = [frozenset(n for n in _parts_of(p) if n in index) for p in protos if isinstance(p, kinds)]
        groups = [group for group in members if group]  # all ops of a damaged context may be missing
        outer = [group for group in dict.fromkeys(groups) if not any(group < larger for larger in groups)]
        first = {group: min(index[name] for name in group) for group in outer}
        return tuple(sorted(outer, key=first.__getitem__))

    def _init_ops(self, protos: Iterable[Any]) -> dict[str, tuple[str, ...]]:
        graph, init_ops = self._graph, {}
        for number in np.flatnonzero(graph.type_mask({*RESOURCE_TYPES, *CALLS})).tolist():
            if not self._holds(number):
                continue
            readers = [consumer for port in self._handles(number) for consumer, _ in graph.consumers_of((number, port))]
            names = [graph.names[reader] for reader in dict.fromkeys(readers) if self._fills(reader)]
            if names:
                init_ops[graph.names[number]] = tuple(names)
        for proto in protos:
            if isinstance(proto, queue_runner_pb2.QueueRunnerDef):
                names = [*proto.enqueue_op_name, proto.close_op_name, proto.cancel_op_name]
                init_ops[op_name(proto.queue_name)] = tuple(op_name(name) for name in names if name)
        return init_ops

    def _handles(self, number: int) -> Sequence[int]:
        """Returns the outputs of an op that may be handles of tables; for a call, its resource outputs."""
        if self._graph.types[number] in RESOURCE_TYPES:
            return (0,)
        dtypes = self._nodes[number].attr["Tout"].list.type
        return [port for port, dtype in enumerate(dtypes) if dtype == types_pb2.DT_RESOURCE]

    def _holds(self, number: int) -> bool:
        op_type = self._graph.types[number]
        return bool(self._handles(number)) and makes_table(op_type, self._inner(number))

    def _fills(self, reader: int) -> bool:
        kinds = [self._graph.types[i] for i in self._graph.data.row(reader).tolist()]
        return fills_table(self._graph.types[reader], self._inner(reader), kinds)

    def _inner(self, number: int) -> frozenset[str]:
        """Returns the op types in all functions that a call runs, directly or indirectly; empty for other ops."""
        return self._types_in(called_function(self._nodes[number], ()))


def _parts_of(proto: Any) -> Iterator[str]:
    """Yields the ops of a loop or cond, including the ops of nested loops and conds."""
    outside = set(proto.values_def.external_values)
    yield from (op_name(name) for name in proto.values_def.values if name not in outside)
    fields = ("pred_name", "pivot_name", "pivot_for_pred_name", "pivot_for_body_name", "maximum_iterations_name")
    yield from (op_name(name) for field in fields if (name := getattr(proto, field, "")))
    for nested in proto.nested_contexts:
        context_type = nested.WhichOneof("ctxt")
        if context_type is not None:  # missing if the context is damaged
            yield from _parts_of(getattr(nested, context_type))


def scan(path: Path) -> list[Risks]:
    """Returns the risks of each graph in a file: the risks of its ops, and of all its functions, even if not called.

    Args:
        path: a file or folder of a type that `gs.open` can open.

    Raises:
        OpenError: the file cannot be read.
    """
    request = f"scan({str(path)!r})"
    if is_keras_file(path):
        reason = "contains Python code from the author of the file"
        return [Risks(path.name, tuple(Risk(*code, PYTHON, reason) for code in code_in(path, request)))]
    file = file_reader.saved_model_file(path, request) if path.is_dir() else path
    proto = file_reader.parse(file_reader.read_bytes(file, request), file, request)
    if not hasattr(proto, "meta_graphs"):
        meta = proto if hasattr(proto, "graph_def") else None
        return [_graph_risks(proto.graph_def if meta is not None else proto, meta, None, path.name, request)]
    several = len(proto.meta_graphs) > 1
    tags = [f" ({', '.join(sorted(meta.meta_info_def.tags))})" * several for meta in proto.meta_graphs]
    return [_graph_risks(meta.graph_def, meta, file.parent, f"{path.name}{tag}", request)
            for meta, tag in zip(proto.meta_graphs, tags, strict=True)]  # fmt: skip


def _graph_risks(graph_def: TFGraphDef, meta: Any, folder: Path | None, title: str, request: str) -> Risks:
    """Returns the risks of one graph; `folder` is the folder of a SavedModel."""
    load: dict[str, str] = {}
    inside, outside = dict[str, str](), list[Risk]()
    for asset in asset_files(meta) if folder is not None else ():
        name = op_name(asset.tensor_info.name)
        try:
            inside[name] = asset_path(str(folder), asset.filename, request)
        except OpenError as error:
            outside.append(Risk(name, "asset", READS, error.problem, load="the loader"))
    point_at(meta, inside)
    bind_inputs(graph_def, meta)
    graph = file_snapshot(graph_def, meta, title, request)
    if meta is not None:
        saver = meta.saver_def if meta.saver_def.restore_op_name else None
        load = CheckpointValues(graph, saver, "", init_ops_of(meta, graph) if folder is not None else None).load
    result = risks(graph, load, frozenset(inside.values()), all_functions=True)
    return Risks(result.title, (*outside, *result.items), result.harmless, result.unknown)
