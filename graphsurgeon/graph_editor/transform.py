"""Copies views with replaced inputs, as one plan, and repeats computations on other tensors.

The engine reads the whole graph to know what a copy needs besides its ops: names, loops, places, variables, a dozen
tables of it. Plain ops need nothing else, and a few of them in a large graph, as old programs copy them over and over,
are imported without a plan. Measured with TensorFlow 2.21 (`python -m benchmarks graph_editor` compares the two in each
run): 10 ops of 30,000 in 32 ms, nearly all of it TensorFlow's own import, instead of 160 ms; 1,000 in 95 ms instead of
245 ms. `tf.contrib.graph_editor` read all ops of the graph for each copy, in Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import lt
from typing import Any

from ..editor.editor import Editor
from ..errors import StalePlanError, counted, few
from ..graph.concurrency import gc_paused
from ..graph.open_graph import OpenedGraph
from ..graph.selection import listed
from ..graph.tf_types import TFGraph
from ..tf import graph_parts
from ..tf.edit import rewire as rewiring
from . import handlers, select, subgraph, util
from .handlers import (
    assign_renamed_collections_handler,
    copy_op_handler,
    keep_t_if_possible_handler,
    note_originals,
    place,
    replace_t_with_placeholder_handler,
    transform_op_if_inside_handler,
)
from .info import CopyNames, OutputMap, TensorMap, TmpInfo, TransformerInfo, unique_name
from .util import WrongValue, as_values, expected, tell

#: a plan copies a part that has more than one of this number of ops of the graph
SHARE = 8


def run(info: Any, transformer: Any, replaced: Mapping[Any, Any], variables: Mapping[str, Any]) -> list[Any]:
    """Copies the view of an info, and notes the new place of each op and tensor in it.

    Args:
        info: the `TmpInfo`.
        transformer: for its handlers of tensors from outside, of collections and of original ops.
        replaced: tensors of the source -> tensors of the destination; those inside the view count too.
        variables: name of a variable's op -> tensor that replaces the variable.

    Returns:
        the ops of the copy in order.

    Raises:
        ValueError: the engine refuses; the destination is as it was.
    """
    inputs, stand_ins = _external_inputs(info, transformer, replaced, variables)
    few = None if variables else copied_plainly(info, inputs)
    if few is not None:
        _keep(info, inputs, few)
        note_originals(info, transformer, few)
        place(info, transformer, few)
        return [new for _, new in few]
    # If all names are the old ones under a new scope, the engine needs no table of them.
    plain = info.fresh and not info.scope and all(t in inputs or t.op.name in variables for t in info.sgv.edge[0])
    names = None if plain else CopyNames(info)
    quiet = transformer.assign_collections_handler is not assign_renamed_collections_handler
    try:
        applied, copied = _apply(info, inputs, variables, names, quiet)
    except StalePlanError:  # an edge has changed since it was read: read again
        rewiring.journal(info.graph).keep(None)
        applied, copied = _apply(info, inputs, variables, names, quiet)
    old, new_names = info.graph.get_operations(), applied.made.ops
    # TensorFlow may have made them in another order than they were asked for, so by name.
    live = dict(zip(new_names, info.graph_.get_operations()[-len(new_names) :], strict=True))
    pairs = [(old[i], live[name]) for i, name in zip(copied.ops.tolist(), copied.names, strict=True)]
    _keep(info, inputs, pairs)
    for placeholder in copied.placeholders:
        info.given[info.graph.as_graph_element(placeholder.was)] = info.graph_.get_tensor_by_name(
            f"{placeholder.name}:0"
        )
    note_originals(info, transformer, pairs)
    if quiet:
        _custom_collections(info, transformer, pairs, applied)
    _warn(info, copied, applied, stand_ins)
    return [new for _, new in pairs]


def copied_plainly(info: Any, inputs: Mapping[Any, Any]) -> list[tuple[Any, Any]] | None:
    """Copies a view of a few plain ops within a large graph in one import, without reading the graph: all or nothing.

    Args:
        info: the `TmpInfo`.
        inputs: tensor from outside -> tensor that is read in its place.

    Returns:
        (op, its copy) in order; None if the engine must do it, because TensorFlow refuses: the engine reports why.
    """
    if info.graph is not info.graph_ or len(info.sgv.ops) * SHARE > len(info.graph.get_operations()):
        return None
    ops = sorted(info.sgv.ops, key=graph_parts.number_of)
    inside = set(ops)
    if any(t.op in inside for t in inputs) or not all(map(graph_parts.is_plain, ops)):
        return None
    if any(t not in inputs and t.op not in inside for op in ops for t in op.inputs):
        return None
    if any(new is not t and (graph_parts.is_reference(t) or new.dtype != t.dtype) for t, new in inputs.items()):
        return None
    names = dict(CopyNames(info))
    # What waits for a replaced tensor waits for the new one.
    waits = {t.op: new.op for t, new in inputs.items()}
    copies = graph_parts.copy_plain_ops(info.graph, ops, names, inputs, waits, info.scope_.rstrip("/"))
    return None if copies is None else [(op, copies[names[op.name]]) for op in ops]


def _keep(info: Any, inputs: TensorMap, pairs: list[tuple[Any, Any]]) -> None:
    info.transformed_ops = dict(pairs)
    info.transformed_ts = OutputMap(info.transformed_ops)
    info.given = TensorMap(inputs.items())


def _external_inputs(
    info: Any, transformer: Any, replaced: Mapping[Any, Any], variables: Mapping[str, Any]
) -> tuple[TensorMap, set[int]]:
    """Asks the handlers about each tensor that enters, once; what is to become a placeholder is left to the engine."""
    input_ids, same = {id(t) for t in info.sgv.inputs}, info.graph is info.graph_
    inputs, hidden = TensorMap(), set()
    inside = {id(op) for op in info.sgv.ops} if replaced else set()
    for t in replaced:
        if any(id(op) in inside for op in t.consumers()):
            inputs[t] = replaced[t]
    for t in _entering(info.sgv):
        if t in inputs or t.op.name in variables:
            continue
        handler = transformer.external_handler(id(t) in input_ids)
        if handler is replace_t_with_placeholder_handler or (handler is keep_t_if_possible_handler and not same):
            # A requested placeholder needs no warning; any other does.
            if handler is not replace_t_with_placeholder_handler:
                hidden.add(id(t))
            continue
        new = t if handler is keep_t_if_possible_handler else handler(info, t)
        if not isinstance(new, graph_parts.Tensor):
            raise expected(f"a handler for {t.name!r}", "a tf.Tensor", new)
        inputs[t] = new
    return inputs, hidden


def _entering(sgv: Any) -> list[Any]:
    """The tensors that enter a view, in the order in which its ops were made."""
    if not sgv.edge[0]:
        return []
    numbers = [graph_parts.number_of(op) for op in sgv.ops]
    if all(map(lt, numbers, numbers[1:])):
        return list(sgv.edge[0])
    return select.compute_boundary_ts(sorted(sgv.ops, key=graph_parts.number_of))[0]


def _apply(
    info: Any, inputs: TensorMap, variables: Mapping[str, Any], names: CopyNames | None, quiet: bool
) -> tuple[Any, Any]:
    same = info.graph is info.graph_
    with as_values():
        journal = rewiring.journal(info.graph)
        source = Editor(OpenedGraph(info.graph, "the source graph"), journal.known())
        destination = source if same else Editor(OpenedGraph(info.graph_, "the destination graph"))
        snapshot = source.snapshot
        journal.keep(snapshot)
        selection = listed(snapshot, (snapshot.index[op.name] for op in info.sgv.ops))
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


def _custom_collections(info: Any, transformer: Any, pairs: list[tuple[Any, Any]], applied: Any) -> None:
    """Calls the handler to place ops and tensors, and places variables, which it does not handle."""
    place(info, transformer, pairs)
    by_name = {new.op.name: new for new in applied.variables}
    variables_by_name = {old.name: by_name[new.name] for old, new in pairs if new.name in by_name}
    graph_parts.join_collections(info.graph, info.graph_, variables_by_name, info.new_collection)


def _warn(info: Any, copied: Any, applied: Any, hidden: set[int]) -> None:
    """Says, in one warning, what was not copied as it was."""
    messages = []
    anew = [p.was for p in copied.placeholders if id(info.graph.as_graph_element(p.was)) in hidden]
    if anew:
        outside = f"{counted(len(anew), 'tensors')} from outside"
        messages.append(f"placeholders in the place of {outside}: {few(map(repr, anew))}")
    if copied.dropped:
        edges = [f"{a} after {b}" for a, b in copied.dropped]
        messages.append(f"{counted(len(edges), 'control inputs')} from outside left out: {few(map(repr, edges))}")
    if applied.made.missed:
        messages.append(f"no gradient goes through parts of loops or conds: {few(map(repr, applied.made.missed))}")
    if messages:
        tell(f"copied {info.scope_ or 'the view'}: " + "; ".join(messages))


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
        if not isinstance(dst_graph, graph_parts.Graph):
            raise expected("copy(..., dst_graph=...)", "a tf.Graph", dst_graph)
        scope = dst_scope.rstrip("/")
        fresh = bool(scope) and not (reuse_dst_scope and graph_parts.is_name_taken(dst_graph, scope))
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
                new = run(info, self, replaced, variables)
            else:
                new = handlers.run(info, self, replaced)
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
    if not isinstance(dst_graph, graph_parts.Graph):
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
        old = graph_parts.unwrap(old.deref() if hasattr(old, "deref") else old)
        op = old.op if graph_parts.is_variable_object(old) else None
        if op is None and not isinstance(old, graph_parts.Tensor):
            raise expected("replacement_ts", "tensors or variables as keys", old)
        tensor = graph_parts.as_tensor(new, graph, old.dtype)
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
    target_ts = util.transform_tree(target_ts, graph_parts.unwrap)
    targets = util.flatten_tree(target_ts)
    graph = util.get_unique_graph(targets, check_types=graph_parts.Tensor)
    control_ios = util.ControlOutputs(graph)
    tensors, variables = _replacements(replacement_ts, graph)
    for t in list(tensors):  # a separate read of a variable, such as v.value(), means the variable
        holder = graph_parts.variable_of(t)
        if holder is not None and not _between([t], [], targets, control_ios):
            variables[holder.name] = tensors.pop(t)
    ops = _between(tensors, [graph.get_operation_by_name(name) for name in variables], targets, control_ios)
    direct_targets = [t for t in targets if t in tensors]
    if not ops and not direct_targets:
        olds = [t.name for t in tensors] + list(variables)
        request = f"graph_replace([{few(map(repr, [t.name for t in targets]))}], {{{few(map(repr, olds))}: ...}})"
        raise WrongValue(request, "targets and replacements are not connected: no target depends on what is replaced",
                         "Give tensors that the targets are computed from: ge.get_backward_walk_ops(targets) lists "
                         "their ops")  # fmt: skip
    if not ops:
        return util.transform_tree(target_ts, lambda t: tensors.get(t, t))
    ops += graph_parts.missing_context_ops(ops)
    transformer = Transformer()
    transformer.transform_external_input_handler = keep_t_if_possible_handler
    _, info = transformer.run(ops, graph, dst_scope, src_scope, reuse_dst_scope, tensors, variables)
    return util.transform_tree(target_ts, lambda t: tensors[t] if t in tensors else info.transformed(t, lambda t: t))


def _between(tensors: Iterable[Any], holders: list[Any], targets: list[Any], control_ios: Any) -> list[Any]:
    """The ops that targets need and that need one of these tensors, or read one of these variables."""
    tensors = list(tensors)
    seeds = util.get_consuming_ops(tensors)
    seeds += [op for holder in holders for op in graph_parts.value_readers(holder)]
    if not seeds:
        return []
    ahead = select.get_forward_walk_ops(seeds, stop_at_ts=tensors, control_outputs=control_ios)
    behind = set(select.get_backward_walk_ops(targets, stop_at_ts=tensors, control_inputs=True))
    return sorted((op for op in ahead if op in behind), key=graph_parts.number_of)
