"""Transform: copies of views, with inputs replaced, and computations repeated over other tensors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..graph.collector import gc_paused
from ..graph.live import TFGraph
from ..tf import elements
from ..words import few
from . import planned, protocol, select, subgraph, util
from .faults import WrongValue, expected
from .handlers import (
    assign_renamed_collections_handler,
    copy_op_handler,
    keep_t_if_possible_handler,
    replace_t_with_placeholder_handler,
    transform_op_if_inside_handler,
)
from .info import TensorMap, TmpInfo, TransformerInfo, unique_name

__all__ = [
    "replace_t_with_placeholder_handler", "keep_t_if_possible_handler", "assign_renamed_collections_handler",
    "transform_op_if_inside_handler", "copy_op_handler", "Transformer", "TransformerInfo", "copy",
    "copy_with_input_replacements", "graph_replace",
]  # fmt: skip


class Transformer:
    """Makes a view into another one; by itself, a copy with placeholders as inputs.

    Set these to something else to change what it does:

    - `transform_op_handler(info, op, new_inputs)`: makes an op; returns it and its outputs.
    - `transform_control_input_handler(info, op)`: what a new op waits for instead of `op`; None for nothing.
    - `assign_collections_handler(info, elem, elem_)`: called for each op and tensor; variables are placed without it.
    - `transform_external_input_handler(info, t)`: the replacement of an input of the view; called once for each.
    - `transform_external_hidden_input_handler(info, t)`: the same for entering tensors that are not listed.
    - `transform_original_op_handler(info, op)`: the replacement of the `_original_op` of an op.

    With the first two as they are, the copy is one plan of the engine: with variables, loops and functions,
    all or nothing. With a handler for either, it is made op by op.
    """

    def __init__(self) -> None:
        self.transform_op_handler: Any = copy_op_handler
        self.transform_control_input_handler: Any = transform_op_if_inside_handler
        self.assign_collections_handler: Any = assign_renamed_collections_handler
        self.transform_external_input_handler: Any = replace_t_with_placeholder_handler
        self.transform_external_hidden_input_handler: Any = keep_t_if_possible_handler
        self.transform_original_op_handler: Any = transform_op_if_inside_handler

    def __call__(
        self, sgv: Any, dst_graph: Any, dst_scope: str, src_scope: str = "", reuse_dst_scope: bool = False
    ) -> tuple[Any, Any]:
        """Transforms a view.

        Args:
            sgv: what can be made a view.
            dst_graph: the `tf.Graph` that gets the new ops.
            dst_scope: their scope.
            src_scope: a scope that their names lose: with ``a`` and ``b``, ``a/x/y`` becomes ``b/x/y``.
            reuse_dst_scope: put them into that scope if it is there; else they get one of its name and a number.

        Returns:
            the view of the new ops, its inputs and outputs in the order of the old ones, and a `TransformerInfo`.

        Raises:
            TypeError: `dst_graph` is not a graph.
            ValueError: a name is not in `src_scope`, or something does not fit.
        """
        return self.run(sgv, dst_graph, dst_scope, src_scope, reuse_dst_scope, TensorMap(), {})

    def external_handler(self, listed: bool) -> Any:
        """Returns the handler for a tensor from outside; listed: it is an input of the view.

        Args:
            listed: whether the view has it as an input.
        """
        return self.transform_external_input_handler if listed else self.transform_external_hidden_input_handler

    def run(
        self,
        sgv: Any,
        dst_graph: Any,
        dst_scope: str,
        src_scope: str,
        reuse_dst_scope: bool,
        replaced: Mapping[Any, Any],
        variables: Mapping[str, Any],
    ) -> tuple[Any, Any]:
        """Transforms a view, with tensors replaced and variables replaced by tensors; see `__call__`.

        Args:
            sgv: a subgraph view, or what `sgv` makes one of.
            dst_graph: the graph to copy into.
            dst_scope: the scope of the copy.
            src_scope: the scope that it replaces.
            reuse_dst_scope: whether the scope may exist already.
            replaced: tensor from outside -> what the copy reads.
            variables: what becomes of variables, as in `Plan.copy`.
        """
        sgv = subgraph.make_view(sgv)
        if not isinstance(dst_graph, elements.Graph):
            raise expected("copy(..., dst_graph=...)", "a tf.Graph", dst_graph)
        scope = dst_scope.rstrip("/")
        fresh = bool(scope) and not (reuse_dst_scope and elements.is_name_taken(dst_graph, scope))
        if fresh:
            scope = unique_name(dst_graph, scope)
        info: Any = TmpInfo(sgv, dst_graph, util.scope_finalize(scope), util.scope_finalize(src_scope), fresh)
        if not sgv.ops:
            return subgraph.SubGraphView(), TransformerInfo(info)
        plain = (
            self.transform_op_handler is copy_op_handler
            and self.transform_control_input_handler is transform_op_if_inside_handler
        )
        info.moved_as_it_is = plain
        with gc_paused():
            if plain:
                new = planned.run(info, self, replaced, variables)
            else:
                new = protocol.run(info, self, replaced)
            return _view_of(info, new), TransformerInfo(info)


def _view_of(info: Any, ops: list[Any]) -> Any:
    """The view of the copy: inputs and outputs in the order of the source's."""
    own: set[Any] = set()

    def leaves(t: Any) -> bool:
        readers = info.transformed_ts[t].consumers()
        if readers and not own:
            own.update(ops)
        return not readers or not own.issuperset(readers)

    inputs = util.concatenate_unique([], [info.given[t] for t in info.sgv.inputs if t in info.given])
    outputs = [info.transformed_ts[t] for t in info.sgv.outputs if t in info.transformed_ts and leaves(t)]
    edge = None
    if len(ops) == len(info.sgv.ops) and info.moved_as_it_is:
        entering = util.concatenate_unique([], [info.given[t] for t in info.sgv.edge[0] if t in info.given])
        edge = entering, [info.transformed_ts[t] for t in info.sgv.edge[1] if leaves(t)]
    return subgraph.SubGraphView().reset(info.graph_, ops, inputs, outputs, (), edge)


def copy(
    sgv: Any, dst_graph: Any = None, dst_scope: str = "", src_scope: str = "", reuse_dst_scope: bool = False
) -> tuple[Any, Any]:
    """Copies a view; its inputs become placeholders, for example ``scope/geph__b_0`` for ``foo/b:0``.

    Args:
        sgv: what can be made a view.
        dst_graph: the graph that gets the copy; None: the same.
        dst_scope, src_scope, reuse_dst_scope: see `Transformer`.

    Returns:
        the view of the copy, and a `TransformerInfo`.

    Raises:
        TypeError: `dst_graph` is not a graph.
        ValueError: the copy cannot be made; the graph is as it was.
    """
    sgv = subgraph.make_view(sgv)
    dst_graph = sgv.graph if dst_graph is None else dst_graph
    return Transformer()(sgv, dst_graph, dst_scope, src_scope, reuse_dst_scope)


def copy_with_input_replacements(
    sgv: Any,
    replacement_ts: Any,
    dst_graph: Any = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[Any, Any]:
    """Copies a view with other inputs. Inputs that are not replaced stay within one graph, else become placeholders.

    Args:
        sgv: what can be made a view.
        replacement_ts: tensor that the view reads -> tensor, array or variable of the destination that the copy reads
            instead; a tensor that the view itself computes can be replaced, too, and so can a variable.
        dst_graph: the graph that gets the copy; None: the same.
        dst_scope, src_scope, reuse_dst_scope: see `Transformer`.

    Returns:
        the view of the copy, and a `TransformerInfo`.

    Raises:
        TypeError: `dst_graph` is not a graph, or `replacement_ts` is not a dict of tensors.
        ValueError: the copy cannot be made, as when a replacement does not fit; the graph is as it was.
    """
    sgv = subgraph.make_view(sgv)
    dst_graph = sgv.graph if dst_graph is None else dst_graph
    if not isinstance(dst_graph, elements.Graph):
        raise expected("copy(..., dst_graph=...)", "a tf.Graph", dst_graph)
    replaced, variables = _replacements(replacement_ts, dst_graph)
    transformer = Transformer()
    transformer.transform_external_input_handler = keep_t_if_possible_handler
    return transformer.run(sgv, dst_graph, dst_scope, src_scope, reuse_dst_scope, replaced, variables)


def _replacements(replacement_ts: Any, graph: TFGraph) -> tuple[TensorMap, dict[str, Any]]:
    """Returns what is replaced: tensors, and variables by the name of their op."""
    if not isinstance(replacement_ts, Mapping):
        raise expected("replacement_ts", "a dict of tensor to tensor", replacement_ts)
    tensors, variables = TensorMap(), {}
    for old, new in replacement_ts.items():
        old = elements.bare(old.deref() if hasattr(old, "deref") else old)
        op = old.op if elements.is_variable_object(old) else None
        if op is None and not isinstance(old, elements.Tensor):
            raise expected("replacement_ts", "tensors or variables as keys", old)
        tensor = elements.as_tensor(new, graph, old.dtype)
        if op is None and old.dtype.name == "resource" and tensor.dtype.name != "resource":
            op = old.op  # the handle of a variable: its value is meant
        if op is None:
            tensors[old] = tensor
        else:
            variables[op.name] = tensor
    return tensors, variables


def graph_replace(
    target_ts: Any, replacement_ts: Any, dst_scope: str = "", src_scope: str = "", reuse_dst_scope: bool = False
) -> Any:
    """Recomputes tensors from other tensors; only the ops between them are copied.

    Args:
        target_ts: a tensor, or a tree of tensors.
        replacement_ts: tensor or variable -> tensor, array or variable that is used instead. For a variable, all that
            reads its value reads the other.
        dst_scope, src_scope, reuse_dst_scope: see `Transformer`.

    Returns:
        the new targets, in a tree of the same form; those that do not depend on what is replaced are the old ones.

    Raises:
        TypeError: a target is not a tensor.
        ValueError: no target depends on what is replaced, or a replacement does not fit; the graph is as it was.
    """
    target_ts = util.transform_tree(target_ts, elements.bare)
    targets = util.flatten_tree(target_ts)
    graph = util.get_unique_graph(targets, check_types=elements.Tensor)
    control_ios = util.ControlOutputs(graph)
    tensors, variables = _replacements(replacement_ts, graph)
    for t in list(tensors):  # a separate read of a variable, such as v.value(), means the variable
        holder = elements.variable_of(t)
        if holder is not None and not _between([t], [], targets, control_ios):
            variables[holder.name] = tensors.pop(t)
    ops = _between(tensors, [graph.get_operation_by_name(name) for name in variables], targets, control_ios)
    given = [t for t in targets if t in tensors]
    if not ops and not given:
        olds = [t.name for t in tensors] + list(variables)
        request = f"graph_replace([{few(map(repr, [t.name for t in targets]))}], {{{few(map(repr, olds))}: ...}})"
        raise WrongValue(request, "targets and replacements are not connected: no target depends on what is replaced",
                         "Give tensors that the targets are computed from: ge.get_backward_walk_ops(targets) lists "
                         "their ops")  # fmt: skip
    if not ops:
        return util.transform_tree(target_ts, lambda t: tensors.get(t, t))
    ops += elements.whole_contexts(ops)
    transformer = Transformer()
    transformer.transform_external_input_handler = keep_t_if_possible_handler
    _, info = transformer.run(ops, graph, dst_scope, src_scope, reuse_dst_scope, tensors, variables)
    return util.transform_tree(target_ts, lambda t: tensors[t] if t in tensors else info.transformed(t, lambda t: t))


def _between(tensors: Iterable[Any], holders: list[Any], targets: list[Any], control_ios: Any) -> list[Any]:
    """The ops that targets need and that need one of these tensors, or read one of these variables."""
    tensors = list(tensors)
    seeds = util.get_consuming_ops(tensors)
    seeds += [op for holder in holders for op in elements.value_readers(holder)]
    if not seeds:
        return []
    ahead = select.get_forward_walk_ops(seeds, stop_at_ts=tensors, control_outputs=control_ios)
    behind = set(select.get_backward_walk_ops(targets, stop_at_ts=tensors, control_inputs=True))
    return sorted((op for op in ahead if op in behind), key=elements.number_of)
