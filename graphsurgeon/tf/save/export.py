"""Export: copies the part of a graph that will be saved, with everything that the file needs, to a separate graph."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...errors import Kind, PlanError, few
from ...graph.control_flow import ENTERS, MERGES, SWITCHES
from ...graph.conversion_verdict import ConversionResult, Unconvertible
from ...graph.functions import callees_of
from ...graph.graph import Graph
from ...graph.names import op_name
from ...graph.op_packages import refuse_unknown
from ...graph.parts import refuse_part
from ...graph.provenance import orphan_mask, orphans_of
from ...graph.security import may_reach_out
from ...graph.selection import Query, Selection, select
from ...graph.traversal import backward, reachable_from
from ...graph.types import TFGraph, TFTensor, TFVariable
from ...graph.variables import PLACEHOLDER_TYPES, VARIABLE_TYPES, VariableInfo
from ...plan.dependencies import substitutes_of
from ...plan.fault import warning_kind
from ...plan.plan import Plan
from ..copy.append import apply_effect
from ..copy.imports import LIMIT, import_nodes
from ..copy.tables_and_queues import ready_fillers
from ..import_tensorflow import tf
from ..messages import saver_pb2, variable_pb2
from ..private.contexts import has_proto, hide_nested
from ..private.graphs import differently_shaped
from ..protos import empty_graph
from ..run.sessions import untrusted_reason
from ..values.file_variables import restore_sources
from ..values.variables import assign_op, fetch, read_op, rebuild_variable, variable_infos, variable_objects
from .freeze_functions import Unfreezable, frozen_graph
from .write import Portable

tf1 = tf.compat.v1


@dataclass
class ExportedGraph:
    """A part of a graph as a separate graph.

    Args:
        graph: the new graph; every op has its old name.
        tensors: tensor of the old graph that a placeholder with another name replaces -> its new name.
        notes: remarks for the user.
        assets: tensor of the new graph that contains the path of a file -> the path of the file.
    """

    graph: TFGraph
    tensors: dict[str, str]
    notes: list[str] = field(default_factory=list)
    assets: dict[str, str] = field(default_factory=dict)

    def name(self, tensor: str) -> str:
        """Returns the name of a tensor of the old graph in the new graph."""
        return self.tensors.get(tensor, tensor)

    def tensor(self, name: str) -> TFTensor:
        """Returns the tensor of the new graph for a tensor of the old graph."""
        return self.graph.get_tensor_by_name(self.name(name))

    def op_names(self) -> set[str]:
        """Returns the names of the ops of the new graph."""
        return {op.name for op in self.graph.get_operations()}

    def present_ops(self, ops: Iterable[str]) -> list[str]:
        """Returns the ops, out of some ops of the old graph, that are also in the new graph."""
        names = self.op_names()
        return [name for name in ops if name in names]

    def omitted_ops(self, base: Graph) -> int:
        """Returns the number of ops of the old graph that are missing in the new graph, or are placeholders there.

        Args:
            base: snapshot of the old graph.
        """
        replaced = {op for op in map(op_name, self.tensors) if base.types[base.index[op]] not in PLACEHOLDER_TYPES}
        kept = self.op_names() - replaced | orphans_of(base.owner).keys()
        return sum(name not in kept for name in base.names)


def export_graph(
    base: Graph,
    inputs: list[str],
    outputs: list[str],
    frozen_values: Any,
    device: str | Mapping[str, str],
    request: str,
    extra_ops: Iterable[str] = (),
) -> ExportedGraph:
    """Returns a part of a graph as a separate graph; the old graph is not changed.

    Args:
        base: the snapshot.
        inputs, outputs: the tensors at the boundary of the part; without outputs, the whole graph.
        frozen_values: the source of values, if variables become constants; None if they stay variables.
        device: as in `Plan.copy`.
        request: the request, for messages.
        extra_ops: ops to save in addition, with their ancestors, such as the init op of a SavedModel.

    Raises:
        SelectionError: a tensor does not exist, or an input has no path to the outputs.
        PlanError: the part is not complete.
        Unconvertible: a variable cannot be frozen.
    """
    if outputs:
        block = select(base, inputs=list(dict.fromkeys(inputs)) or None, outputs=list(dict.fromkeys(outputs)))
        goals = [base.index[name] for name in extra_ops if name in base.index]
        if goals:
            block = replace(block, mask=block.mask | backward(base, base.mask(goals)))
    else:
        block = Selection(base, ~orphan_mask(base), Query("select"))
    refuse_unknown(base, block.mask, request)
    refuse_part(base, block.mask, map(base.tensor, inputs), request, map(base.tensor, outputs))
    plan = Plan(Graph.from_ops([], owner=object())).copy(
        block,
        to="",
        unmapped="placeholder" if inputs else "refuse",
        # Ops of a loop that the outputs do not need may wait for other ops, which are included too.
        control="drop" if inputs else "include" if outputs else "refuse",
        variables="initial" if frozen_values is None else "freeze",
        values=frozen_values,
        collections="keep",
        device=device,
    )
    faults = plan.effect.faults
    if faults and frozen_values is not None and all(fault.kind is Kind.NEEDS_VARIABLE for fault in faults):
        unfrozen = export_graph(base, inputs, outputs, None, device, request, extra_ops)
        ends = [unfrozen.tensor(name).op.name for name in outputs]
        if not ends:  # for a whole graph, only the ops that make variables are removed
            _, removed = substitutes_of(base, block.mask, dict.fromkeys(base.state.variables, "freeze"))
            ends = [base.names[i] for i in np.flatnonzero(block.mask & ~removed).tolist()]
        infos = [base.state.variables[op] for op in variable_infos(unfrozen.graph)]
        values = fetch(frozen_values, infos, base.live_graph, request)
        try:
            return replace(unfrozen, graph=frozen_graph(unfrozen.graph, values, [*ends, *extra_ops]))
        except Unfreezable as error:
            variables = _variables_behind(base, [name for stuck in error.ops for name in stuck.names])
            problem = f"{error}: {few(map(repr, variables))}" if variables else str(error)
            how = "Keep the variables: save a .meta file or a SavedModel"
            raise Unconvertible(
                request, problem, how, ConversionResult(error_text=str(error), errors=error.ops)
            ) from error
    if faults:
        raise PlanError(request, faults[0].problem, faults[0].suggestion)
    applied = apply_effect(plan.effect, empty_graph(base.owner))
    notes = [w for w in plan.effect.warnings if warning_kind(w) in (Kind.LEAK, Kind.DROPPED_CONTROL)]
    return ExportedGraph(applied.graph, plan.effect.copies[0].mapped_tensors, notes)


def _variables_behind(base: Graph, ops: Iterable[str]) -> list[str]:
    """Returns the variables whose handles or references are inputs of some ops, also through TF1 loops and conds."""
    handing = {*SWITCHES, *ENTERS, *MERGES}
    sources = []
    for op in (base.index[name] for name in ops if name in base.index):
        sources += base.data.row(op).tolist()[: None if callees_of(base.nodes[op]) else 1]
    reached = reachable_from(sources, lambda op: base.data.row(op).tolist() if base.types[op] in handing else ())
    return [base.names[op] for op in sorted(reached) if base.types[op] in VARIABLE_TYPES]


def with_saver(graph: TFGraph, infos: Mapping[str, VariableInfo], keys: Mapping[str, tuple[str, str]]) -> Any:
    """Returns the SaverDef of an exported graph, or None without variables; adds a saver if there is none.

    Args:
        graph: the graph.
        infos: its variables.
        keys: variable op -> its name and slice in the checkpoint.
    """
    if not infos:
        return None
    saver = _saver(graph, keys)
    if saver is not None:
        return saver
    objects = variable_objects(graph)
    variables = [objects[op] if op in objects else _object(graph, info) for op, info in infos.items()]
    with graph.as_default():
        return tf1.train.Saver(variables).as_saver_def()


def _saver(graph: TFGraph, keys: Mapping[str, tuple[str, str]]) -> Any:
    """Returns the SaverDef of a saver in a graph that saves exactly these variables; None if there is none."""
    ops = graph.get_operations()
    for save in (op for op in ops if op.type == "SaveV2"):
        file, names, specs, *values = save.inputs
        saved = dict(zip(map(_read, values), zip(_texts(names), _texts(specs), strict=False), strict=False))
        end_op = next((op for op in file.consumers() if op.type == "Identity" and op.control_inputs == [save]), None)
        if saved != keys or end_op is None:
            continue
        expected = {op: (file.name, *key) for op, key in keys.items()}
        restore = next((op for op in ops if op.type == "NoOp" and restore_sources(op) == expected), None)
        if restore is not None:
            return saver_pb2.SaverDef(
                filename_tensor_name=file.name,
                save_tensor_name=end_op.outputs[0].name,
                restore_op_name=restore.name,
                max_to_keep=5,
                keep_checkpoint_every_n_hours=10000,
                version=saver_pb2.SaverDef.V2,
            )
    return None


def _read(value: TFTensor) -> str:
    """Returns the variable that a saver reads."""
    while value.op.type in ("Identity", "ReadVariableOp"):
        value = value.op.inputs[0]
    return str(value.op.name)


def _texts(tensor: TFTensor) -> list[str]:
    """Returns the values of a string constant; empty for other tensors."""
    value = tf.get_static_value(tensor)
    return [] if value is None else [text.decode() for text in value.ravel().tolist()]


def _object(graph: TFGraph, info: VariableInfo) -> TFVariable | None:
    """Returns an object for a variable that is in no collection; missing ops are added to the exported graph."""
    op = graph.get_operation_by_name(info.op)
    with graph.as_default(), tf1.name_scope("for_the_saver/"):
        if not info.snapshot:
            info = replace(info, snapshot=read_op(op).name)
        if not info.initializer:
            value = tf1.placeholder(info.dtype, tf.TensorShape(op.get_attr("shape")))
            info = replace(info, initializer=assign_op(op, value).name, initial_value=value.name)
    return rebuild_variable(graph, info, None)


def small_enough(proto: Any, request: str) -> Any:
    """Returns a GraphDef or MetaGraphDef unchanged, if it is small enough for a file.

    Raises:
        PlanError: it is too large.
    """
    if proto.ByteSize() > LIMIT:
        raise PlanError(
            request,
            f"the graph has {proto.ByteSize() / 1e9:.1f} GB of nodes, but a file can hold only 2 GB",
            "Keep large constants as variables: freeze=False, format='saved_model'",
        )
    return proto


def add_assets(export: ExportedGraph, base: Graph, paths: Mapping[str, str]) -> None:
    """Adds the files to which ops of an exported graph refer to its assets.

    Args:
        export: the exported graph.
        base: snapshot of the old graph. If it is not trusted, only the files in `paths` are added.
        paths: tensor -> file, for the files of the SavedModel from which the graph was opened.
    """
    collection = export.graph.get_collection(tf1.GraphKeys.ASSET_FILEPATHS)  # from a file, it may contain any items
    tensors = {
        tensor.name: tensor for tensor in collection if isinstance(tensor, tf.Tensor) and tensor.dtype == tf.string
    }
    names = export.op_names()
    tensors |= {name: export.graph.get_tensor_by_name(name) for name in paths if op_name(name) in names}
    may_read = may_reach_out(base) and not untrusted_reason(base.owner)
    for name, tensor in tensors.items():
        if not may_read and name not in paths:
            export.notes.append(f"the file that {name} names is not included: no trusted op reads files")
            continue
        value = tf.get_static_value(tensor)
        path = paths.get(name, value.item() if value is not None and value.size == 1 else None)
        path = path.decode(errors="replace") if isinstance(path, bytes) else path
        if not path or not os.path.isfile(path):
            export.notes.append(f"the file that {name} names does not exist, and is not included")
            continue
        export.assets[name] = path


def nodes_of(export: ExportedGraph, request: str) -> Any:
    """Returns the GraphDef of an exported graph, with static shapes that TensorFlow would not infer from its nodes.

    Raises:
        PlanError: it is too large for a file.
    """
    nodes = _with_shapes(export.graph, request)
    _make_portable(export, nodes, embed=True)
    return small_enough(nodes, request)


def _make_portable(export: ExportedGraph, nodes: Any, embed: bool) -> Mapping[str, str]:
    """Makes the GraphDef of an exported graph portable; returns variable -> the new name of its initial value.

    Only the asset files that are not embedded are kept. If the format has no place for files, notes list them.
    """
    portable = Portable(export.graph, nodes, export.assets, embed)
    export.assets = portable.left
    files = [f"the file {os.path.basename(path)!r} is not included: feed its path to {tensor!r}"
             for tensor, path in export.assets.items()]  # fmt: skip
    export.notes += files if embed else []
    return portable.initial


def _with_shapes(graph: TFGraph, request: str) -> Any:
    graph_def = small_enough(graph.as_graph_def(), request)
    new_graph = empty_graph(graph)
    new_ops = import_nodes(new_graph, graph_def)
    pairs = [(op, new_ops[op.name]) for op in graph.get_operations()]
    refined = {old.op.name for old, new in differently_shaped(pairs) if new.shape.is_compatible_with(old.shape)}
    for node in graph_def.node if refined else ():
        if node.name in refined:
            shapes = [tensor.shape.as_proto() for tensor in graph.get_operation_by_name(node.name).outputs]
            node.attr["_output_shapes"].list.shape.extend(shapes)
    return graph_def


def meta_graph(export: ExportedGraph, saver: Any, embed: bool, request: str) -> Any:
    """Returns the MetaGraphDef of an exported graph.

    Args:
        export: the exported graph.
        saver: its SaverDef, or None.
        embed: whether the contents of its assets are written into it, because the format cannot contain files.
        request: the request, for messages.

    Raises:
        PlanError: it is too large for a file.
    """
    graph = export.graph
    small_enough(graph.as_graph_def(), request)
    context_items = [item for key in ("while_context", "cond_context") for item in graph.get_collection(key)]
    contexts = filter(has_proto, context_items)  # from a file, the collection may contain any items
    with graph.as_default(), hide_nested(contexts):
        meta = tf1.train.export_meta_graph(graph=graph, saver_def=saver, strip_default_attrs=True)
    initial = _make_portable(export, meta.graph_def, embed)
    for key in graph.collections if initial else ():
        values = meta.collection_def[key].bytes_list.value
        for i, item in enumerate(graph.get_collection(key)):
            if isinstance(item, tf.Variable) and item.op.name in initial:
                about = variable_pb2.VariableDef.FromString(values[i])
                about.initial_value_name = initial[item.op.name]
                values[i] = about.SerializeToString()
    return small_enough(meta, request)


def list_fillers(graph: TFGraph) -> list[str]:
    """Adds the ops that fill tables to the collection of `tf.tables_initializer`; returns the names in it."""
    names = [str(getattr(item, "name", "")) for item in graph.get_collection(tf1.GraphKeys.TABLE_INITIALIZERS)]
    for op in ready_fillers(graph):
        if op.name not in names:
            graph.add_to_collection(tf1.GraphKeys.TABLE_INITIALIZERS, op)
            names.append(op.name)
    return names


def mutable_tables(graph: TFGraph) -> str:
    """Returns text about the mutable tables, whose content can only be in a checkpoint; empty without such tables."""
    return few([op.name for op in graph.get_operations() if op.type.startswith("Mutable") and "Table" in op.type])
