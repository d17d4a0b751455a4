"""Copies views with replaced inputs in one plan, and recomputes tensors from other tensors.

A plan reads the whole graph, because a copy may need names, loops, devices, variables, and other state. A few plain ops
of a large graph need none of these, and are imported without a plan; old programs often copy such ops. Measured with
TensorFlow 2.21 (`python -m benchmarks graph_editor` compares both ways): 10 ops of 30,000 take 32 ms, nearly all of it
in TensorFlow's import, instead of 160 ms; 1,000 ops take 95 ms instead of 245 ms. `tf.contrib.graph_editor` read all
ops of the graph for each copy, in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import lt
from typing import Any

from ..editor.editor import Editor
from ..errors import StalePlanError, counted, few
from ..graph.concurrency import gc_paused
from ..graph.open_graph import OpenedGraph
from ..graph.selection import selection_from
from ..graph.types import TFGraph
from ..tf.edit import edit_in_place as rewiring
from ..tf.graph_parts import (
    Graph,
    Tensor,
    as_tensor,
    copy_plain_ops,
    is_name_taken,
    is_plain,
    is_reference,
    is_variable_object,
    join_collections,
    missing_context_ops,
    number_of,
    unwrap,
    value_readers,
    variable_of,
)
from . import handlers
from .handlers import (
    CopyNames,
    OutputMap,
    TensorMap,
    TmpInfo,
    TransformerInfo,
    assign_renamed_collections_handler,
    copy_op_handler,
    keep_t_if_possible_handler,
    note_originals,
    place,
    replace_t_with_placeholder_handler,
    transform_op_if_inside_handler,
    unique_name,
)
from .select import compute_boundary_ts, get_backward_walk_ops, get_forward_walk_ops
from .subgraph import SubGraphView, ViewLike, make_view
from .util import (
    ControlOutputs,
    WrongValue,
    as_values,
    check_type,
    concatenate_unique,
    flatten_tree,
    get_consuming_ops,
    get_unique_graph,
    scope_finalize,
    transform_tree,
    type_error,
    warn,
)

#: A view with more than 1 / SHARE of the ops of the graph is copied by a plan.
SHARE = 8


def run(info: Any, transformer: Any, replacements: Mapping[Any, Any], variables: Mapping[str, Any]) -> list[Any]:
    """Copies the view of an info, and adds the copies of ops and tensors to the info.

    Args:
        info: the `TmpInfo`.
        transformer: the transformer, whose handlers of outside tensors, collections and original ops are used.
        replacements: tensor of the source, which may be inside the view -> tensor of the destination.
        variables: name of a variable's op -> tensor that replaces the variable.

    Returns:
        the ops of the copy in order.

    Raises:
        ValueError: the plan has an error. Then the destination has not changed.
    """
    inputs, stand_ins = _external_inputs(info, transformer, replacements, variables)
    pairs, applied = None if variables else copy_plain_view(info, inputs), None
    # The plan adds the copies to collections, unless another handler does.
    quiet = transformer.assign_collections_handler is not assign_renamed_collections_handler
    if pairs is None:
        # If only a scope is added to all names, the plan needs no table of names.
        plain = info.fresh and not info.scope and all(t in inputs or t.op.name in variables for t in info.sgv.edge[0])
        names = None if plain else CopyNames(info)
        try:
            applied, copied = _apply(info, inputs, variables, names, quiet)
        except StalePlanError:  # an edge has changed since the graph was read
            rewiring.journal(info.graph).store_snapshot(None)
            applied, copied = _apply(info, inputs, variables, names, quiet)
        old, new_names = info.graph.get_operations(), applied.applied_ops.ops
        # TensorFlow may have made the ops in another order, so they are found by name.
        live = dict(zip(new_names, info.graph_.get_operations()[-len(new_names) :], strict=True))
        pairs = [(old[i], live[name]) for i, name in zip(copied.ops.tolist(), copied.names, strict=True)]
    info.transformed_ops = dict(pairs)
    info.transformed_ts = OutputMap(info.transformed_ops)
    info.replacement_ts = TensorMap(inputs.items())
    for one in copied.placeholders if applied is not None else ():
        t = info.graph.as_graph_element(one.original)
        info.replacement_ts[t] = info.graph_.get_tensor_by_name(f"{one.name}:0")
    note_originals(info, transformer, pairs)
    if quiet or applied is None:
        place(info, transformer, pairs)
    if applied is not None:
        if quiet:  # variables, which the handler does not place
            by_name = {new.op.name: new for new in applied.variables}
            variables_by_name = {old.name: by_name[new.name] for old, new in pairs if new.name in by_name}
            join_collections(info.graph, info.graph_, variables_by_name, info.new_collection)
        _warn(info, copied, applied, stand_ins)
    return [new for _, new in pairs]


def copy_plain_view(info: Any, inputs: Mapping[Any, Any]) -> list[tuple[Any, Any]] | None:
    """Copies a view of a few plain ops within a large graph in one import, without reading the graph.

    Args:
        info: the `TmpInfo`.
        inputs: tensor from outside -> tensor to read instead.

    Returns:
        pairs (op, its copy) in order; None if nothing was copied, and a plan must be used.
    """
    if info.graph is not info.graph_ or len(info.sgv.ops) * SHARE > len(info.graph.get_operations()):
        return None
    ops = sorted(info.sgv.ops, key=number_of)
    inside = set(ops)
    if any(t.op in inside for t in inputs) or not all(map(is_plain, ops)):
        return None
    if any(t not in inputs and t.op not in inside for op in ops for t in op.inputs):
        return None
    if any(new is not t and (is_reference(t) or new.dtype != t.dtype) for t, new in inputs.items()):
        return None
    names = dict(CopyNames(info))
    # Ops that wait for the op of a replaced tensor wait for the op of the new tensor.
    waits = {t.op: new.op for t, new in inputs.items()}
    copies = copy_plain_ops(info.graph, ops, names, inputs, waits, info.scope_.rstrip("/"))
    return None if copies is None else [(op, copies[names[op.name]]) for op in ops]


def _external_inputs(
    info: Any, transformer: Any, replacements: Mapping[Any, Any], variables: Mapping[str, Any]
) -> tuple[TensorMap, set[int]]:
    """Calls the handlers once for each entering tensor. Tensors that become placeholders are left to the plan."""
    input_ids, same = {id(t) for t in info.sgv.inputs}, info.graph is info.graph_
    inputs, hidden = TensorMap(), set()
    inside = {id(op) for op in info.sgv.ops} if replacements else set()
    for t in replacements:
        if any(id(op) in inside for op in t.consumers()):
            inputs[t] = replacements[t]
    numbers, entering = [number_of(op) for op in info.sgv.ops], info.sgv.edge[0]
    if entering and not all(map(lt, numbers, numbers[1:])):  # handlers are called in the order of creation
        entering = compute_boundary_ts(sorted(info.sgv.ops, key=number_of))[0]
    for t in entering:
        if t in inputs or t.op.name in variables:
            continue
        handler = transformer.external_handler(id(t) in input_ids)
        if handler is replace_t_with_placeholder_handler or (handler is keep_t_if_possible_handler and not same):
            # A requested placeholder needs no warning; any other does.
            if handler is not replace_t_with_placeholder_handler:
                hidden.add(id(t))
            continue
        new = t if handler is keep_t_if_possible_handler else handler(info, t)
        check_type(f"a handler for {t.name!r}", new, Tensor)
        inputs[t] = new
    return inputs, hidden


def _apply(
    info: Any, inputs: TensorMap, variables: Mapping[str, Any], names: CopyNames | None, quiet: bool
) -> tuple[Any, Any]:
    same = info.graph is info.graph_
    with as_values():
        journal = rewiring.journal(info.graph)
        source = Editor(OpenedGraph(info.graph, "the source graph"), journal.current_snapshot())
        destination = source if same else Editor(OpenedGraph(info.graph_, "the destination graph"))
        snapshot = source.snapshot
        journal.store_snapshot(snapshot)
        selection = selection_from(snapshot, (snapshot.index[op.name] for op in info.sgv.ops))
        plan = destination.plan().copy(
            selection,
            to=info.scope_,
            inputs=inputs,
            unmapped="placeholder",
            control="keep" if same else "drop",
            variables={"*": "copy", **variables},
            collections="none" if quiet else "rename",
            names=names,
        )
        applied = destination.apply(plan, record=False)
    return applied, applied.effect.copies[0]


def _warn(info: Any, copied: Any, applied: Any, hidden: set[int]) -> None:
    """Gives one warning about everything that differs in the copy."""
    messages = []
    anew = [p.original for p in copied.placeholders if id(info.graph.as_graph_element(p.original)) in hidden]
    if anew:
        outside = f"{counted(len(anew), 'tensors')} from outside"
        messages.append(f"placeholders in the place of {outside}: {few(map(repr, anew))}")
    if copied.dropped_control:
        edges = [f"{a} after {b}" for a, b in copied.dropped_control]
        messages.append(f"{counted(len(edges), 'control inputs')} from outside left out: {few(map(repr, edges))}")
    if applied.applied_ops.partial_contexts:
        messages.append(
            f"no gradient goes through parts of loops or conds: {few(map(repr, applied.applied_ops.partial_contexts))}"
        )
    if messages:
        warn(f"copied {info.scope_ or 'the view'}: " + "; ".join(messages))


__all__ = [
    "replace_t_with_placeholder_handler", "keep_t_if_possible_handler", "assign_renamed_collections_handler",
    "transform_op_if_inside_handler", "copy_op_handler", "Transformer", "TransformerInfo", "copy",
    "copy_with_input_replacements", "graph_replace",
]  # fmt: skip


class Transformer:
    """Transforms a view into another view. By default, it makes a copy with placeholders as inputs.

    Assign other functions to these attributes to change the transformation:

    - `transform_op_handler(info, op, new_inputs)`: makes an op; returns it and its outputs.
    - `transform_control_input_handler(info, op)`: what a new op waits for instead of `op`; None for nothing.
    - `assign_collections_handler(info, elem, elem_)`: called for each op and tensor; variables are placed without it.
    - `transform_external_input_handler(info, t)`: the replacement of an input of the view; called once for each.
    - `transform_external_hidden_input_handler(info, t)`: the same for entering tensors that are not listed.
    - `transform_original_op_handler(info, op)`: the replacement of the `_original_op` of an op.

    With the first two defaults, the copy is made by one plan, including variables, loops and functions, completely or
    not at all. If one of them is changed, the copy is made op by op.
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
            sgv: a view, or an argument of `make_view`.
            dst_graph: the `tf.Graph` to copy into.
            dst_scope: the scope of the new ops.
            src_scope: a scope to remove from names: with ``a``, and ``b`` as `dst_scope`, ``a/x/y`` becomes ``b/x/y``.
            reuse_dst_scope: whether to use the scope if it exists; otherwise a number is added to its name.

        Returns:
            the view of the new ops, with inputs and outputs in the same order, and a `TransformerInfo`.

        Raises:
            TypeError: `dst_graph` is not a graph.
            ValueError: a name is not in `src_scope`, or something does not fit.
        """
        return self.run(sgv, dst_graph, dst_scope, src_scope, reuse_dst_scope, TensorMap(), {})

    def external_handler(self, is_input: bool) -> Any:
        """Returns the handler for a tensor from outside.

        Args:
            is_input: whether it is an input of the view, not a hidden input.
        """
        return self.transform_external_input_handler if is_input else self.transform_external_hidden_input_handler

    def run(
        self,
        sgv: ViewLike,
        dst_graph: TFGraph,
        dst_scope: str,
        src_scope: str,
        reuse_dst_scope: bool,
        replacements: Mapping[Any, Any],
        variables: Mapping[str, Any],
    ) -> tuple[Any, Any]:
        """Transforms a view, with tensors replaced and variables replaced by tensors; see `__call__`.

        Args:
            sgv: a view, or an argument of `make_view`.
            dst_graph: the graph to copy into.
            dst_scope: the scope of the copy.
            src_scope: the scope that it replaces.
            reuse_dst_scope: whether the scope may exist already.
            replacements: tensor from outside -> tensor to read instead.
            variables: name of a variable's op -> tensor that replaces the variable.
        """
        sgv = make_view(sgv)
        check_type("copy(..., dst_graph=...)", dst_graph, Graph)
        scope = dst_scope.rstrip("/")
        fresh = bool(scope) and not (reuse_dst_scope and is_name_taken(dst_graph, scope))
        if fresh:
            scope = unique_name(dst_graph, scope)
        info: Any = TmpInfo(sgv, dst_graph, scope_finalize(scope), scope_finalize(src_scope), fresh)
        if not sgv.ops:
            return SubGraphView(), TransformerInfo(info)
        plain = (
            self.transform_op_handler is copy_op_handler
            and self.transform_control_input_handler is transform_op_if_inside_handler
        )
        info.moved_as_it_is = plain
        with gc_paused():
            if plain:
                new = run(info, self, replacements, variables)
            else:
                new = handlers.run(info, self, replacements)
            return _view_of(info, new), TransformerInfo(info)


def _view_of(info: Any, ops: list[Any]) -> Any:
    """Returns the view of the copy, with inputs and outputs in the order of the source view."""
    own: set[Any] = set()

    def leaves(t: Any) -> bool:
        readers = info.transformed_ts[t].consumers()
        if readers and not own:
            own.update(ops)
        return not readers or not own.issuperset(readers)

    inputs = concatenate_unique([], [info.replacement_ts[t] for t in info.sgv.inputs if t in info.replacement_ts])
    outputs = [info.transformed_ts[t] for t in info.sgv.outputs if t in info.transformed_ts and leaves(t)]
    edge = None
    if len(ops) == len(info.sgv.ops) and info.moved_as_it_is:
        entering = concatenate_unique(
            [], [info.replacement_ts[t] for t in info.sgv.edge[0] if t in info.replacement_ts]
        )
        edge = entering, [info.transformed_ts[t] for t in info.sgv.edge[1] if leaves(t)]
    return SubGraphView().reset(info.graph_, ops, inputs, outputs, (), edge)


def copy(
    sgv: ViewLike,
    dst_graph: TFGraph | None = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[Any, Any]:
    """Copies a view; its inputs become placeholders, for example ``scope/geph__b_0`` for ``foo/b:0``.

    Args:
        sgv: a view, or an argument of `make_view`.
        dst_graph: the graph to copy into; None for the same graph.
        dst_scope, src_scope, reuse_dst_scope: see `Transformer`.

    Returns:
        the view of the copy, and a `TransformerInfo`.

    Raises:
        TypeError: `dst_graph` is not a graph.
        ValueError: the copy cannot be made. Then the graph has not changed.
    """
    sgv = make_view(sgv)
    dst_graph = sgv.graph if dst_graph is None else dst_graph
    return Transformer()(sgv, dst_graph, dst_scope, src_scope, reuse_dst_scope)


def copy_with_input_replacements(
    sgv: ViewLike,
    replacement_ts: Any,
    dst_graph: TFGraph | None = None,
    dst_scope: str = "",
    src_scope: str = "",
    reuse_dst_scope: bool = False,
) -> tuple[Any, Any]:
    """Copies a view with other inputs. Other inputs are kept within one graph, and else become placeholders.

    Args:
        sgv: a view, or an argument of `make_view`.
        replacement_ts: tensor -> tensor, array or variable of the destination to read instead. The replaced tensor may
            be an input of the view, a tensor computed in it, or a variable.
        dst_graph: the graph to copy into; None for the same graph.
        dst_scope, src_scope, reuse_dst_scope: see `Transformer`.

    Returns:
        the view of the copy, and a `TransformerInfo`.

    Raises:
        TypeError: `dst_graph` is not a graph, or `replacement_ts` is not a dict of tensors.
        ValueError: the copy cannot be made, for example because a replacement does not fit. Then the graph has not
            changed.
    """
    sgv = make_view(sgv)
    dst_graph = sgv.graph if dst_graph is None else dst_graph
    check_type("copy(..., dst_graph=...)", dst_graph, Graph)
    replaced, variables = _replacements(replacement_ts, dst_graph)
    transformer = Transformer()
    transformer.transform_external_input_handler = keep_t_if_possible_handler
    return transformer.run(sgv, dst_graph, dst_scope, src_scope, reuse_dst_scope, replaced, variables)


def _replacements(replacement_ts: Any, graph: TFGraph) -> tuple[TensorMap, dict[str, Any]]:
    """Returns the replacements of tensors, and of variables by the names of their ops."""
    if not isinstance(replacement_ts, Mapping):
        raise type_error("replacement_ts", "a dict of tensor to tensor", replacement_ts)
    tensors, variables = TensorMap(), {}
    for old, new in replacement_ts.items():
        old = unwrap(old.deref() if hasattr(old, "deref") else old)
        op = old.op if is_variable_object(old) else None
        if op is None and not isinstance(old, Tensor):
            raise type_error("replacement_ts", "tensors or variables as keys", old)
        tensor = as_tensor(new, graph, old.dtype)
        if op is None and old.dtype.name == "resource" and tensor.dtype.name != "resource":
            op = old.op  # the handle of a variable means its value
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
        replacement_ts: tensor or variable -> tensor, array or variable to use instead. If a variable is replaced, all
            ops that read its value read the replacement.
        dst_scope, src_scope, reuse_dst_scope: see `Transformer`.

    Returns:
        the new targets, in a tree of the same form. Targets that do not depend on a replaced tensor are the old ones.

    Raises:
        TypeError: a target is not a tensor.
        ValueError: no target depends on a replaced tensor, or a replacement does not fit. Then the graph has not
            changed.
    """
    target_ts = transform_tree(target_ts, unwrap)
    targets = flatten_tree(target_ts)
    graph = get_unique_graph(targets, check_types=Tensor)
    control_ios = ControlOutputs(graph)
    tensors, variables = _replacements(replacement_ts, graph)
    for t in list(tensors):  # a separate read of a variable, such as v.value(), means the variable
        holder = variable_of(t)
        if holder is not None and not _between([t], [], targets, control_ios):
            variables[holder.name] = tensors.pop(t)
    ops = _between(tensors, [graph.get_operation_by_name(name) for name in variables], targets, control_ios)
    direct_targets = [t for t in targets if t in tensors]
    if not ops and not direct_targets:
        olds = [t.name for t in tensors] + list(variables)
        request = f"graph_replace([{few(map(repr, [t.name for t in targets]))}], {{{few(map(repr, olds))}: ...}})"
        raise WrongValue(request, "targets and replacements are not connected: no target depends on a replaced tensor",
                         "Give tensors that the targets are computed from: ge.get_backward_walk_ops(targets) lists "
                         "their ops")  # fmt: skip
    if not ops:
        return transform_tree(target_ts, lambda t: tensors.get(t, t))
    ops += missing_context_ops(ops)
    transformer = Transformer()
    transformer.transform_external_input_handler = keep_t_if_possible_handler
    _, info = transformer.run(ops, graph, dst_scope, src_scope, reuse_dst_scope, tensors, variables)
    return transform_tree(target_ts, lambda t: tensors[t] if t in tensors else info.transformed(t, lambda t: t))


def _between(tensors: Iterable[Any], variables: list[Any], targets: list[Any], control_ios: Any) -> list[Any]:
    """Returns the ops that the targets need, and that depend on one of these tensors or variables."""
    tensors = list(tensors)
    seeds = get_consuming_ops(tensors)
    seeds += [op for holder in variables for op in value_readers(holder)]
    if not seeds:
        return []
    ahead = get_forward_walk_ops(seeds, stop_at_ts=tensors, control_outputs=control_ios)
    behind = set(get_backward_walk_ops(targets, stop_at_ts=tensors, control_inputs=True))
    return sorted((op for op in ahead if op in behind), key=number_of)
