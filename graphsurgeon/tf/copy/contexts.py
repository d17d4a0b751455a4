"""Copies the control-flow contexts of TF1. Without its context, a ``while_loop`` or ``cond`` has no gradient.

Contexts of loops and conds are copied as protos. Other contexts, such as those of functions that XLA compiles, have no
proto and are copied as Python objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ...errors import PlanError
from ...graph.control_flow import EXITS
from ...graph.types import TFGraph, TFOp
from ...plan.copy_result import CopyResult
from ..import_tensorflow import tf
from ..private.contexts import (
    context_proto,
    contexts_of,
    copy_context,
    differentiate_switch,
    differentiated_loop,
    from_proto,
    has_proto,
    innermost_context,
    inside_context,
    is_part,
    nested_contexts,
    outermost_context,
    outside_contexts,
    pivots,
    refuse_loop_gradients,
    set_context,
    set_differentiated_loop,
    within_contexts,
)


def context_ops(graph: TFGraph) -> tuple[frozenset[str], ...]:
    """Returns the names of the ops in each outermost control-flow context, including its pivots."""
    names_by_context: dict[int, set[str]] = {}
    for op, context in within_contexts(graph.get_operations()):
        names = {op.name}
        while context is not None:
            names.update(name.partition(":")[0] for name in pivots(context))
            context = context.outer_context
        names_by_context.setdefault(id(outermost_context(op)), set()).update(names)
    return tuple(frozenset(names) for names in names_by_context.values())


def copy_contexts(
    copy_result: CopyResult, graph: TFGraph, pairs: list[tuple[TFOp, TFOp]]
) -> tuple[dict[int, Any], list[str]]:
    """Copies the contexts of loops and conds, including nested contexts, and puts the copied ops into them.

    Args:
        copy_result: the copy.
        graph: the destination.
        pairs: (source op, new op).

    Returns:
        a mapping from the id of an outermost context to its copy; and the names of contexts that were not copied,
        because only a part of their ops was copied.
    """
    outermost: dict[int, Any] = {}
    for context in contexts_of([old for old, _ in pairs]):
        while context.outer_context is not None:
            context = context.outer_context
        outermost[id(context)] = context
    if not outermost:
        return {}, []
    joined = {id(innermost_context(old)) for old, new in pairs if old.type == new.type and is_part(old)}
    copier = _ContextCopier(copy_result, graph, joined)
    with graph.as_default(), outside_contexts(graph):
        for context in outermost.values():
            copier.copy(context)
    copier.keep_gradient_loops()
    # A proto also lists tensors that a context only uses, so the contexts of the ops are set from the source ops.
    for old, new in pairs:
        context = innermost_context(old)
        while context is not None and id(context) not in copier.copies:
            context = context.outer_context
        set_context(new, copier.copies.get(id(context)))
    return {key: copier.copies[key] for key in outermost if key in copier.copies}, copier.partial_names


def prepare_gradients(ops: Iterable[TFOp], name: str) -> None:
    """Prepares the loops and conds of TF1 in a function for gradients: in a function they have no contexts.

    The gradient of a loop raises an error. A Switch of a variable gets a gradient that needs no context.

    Args:
        ops: the ops of the function.
        name: the name of the function, for messages.
    """
    exits = []
    for op in ops:
        if op.type == "Switch" and op.inputs[0].dtype == tf.resource:
            differentiate_switch(op)
        elif op.type in EXITS:
            exits.append(op)
    refuse_loop_gradients(exits, PlanError(
        f"the gradient of {name!r}",
        "it has a while_loop of TF1, which TensorFlow does not differentiate in a function",
        "Differentiate in the graph with tf.compat.v1.gradients, and make a function of the result. To train only "
        "layers after it, stop the gradient there: keras.ops.stop_gradient(layer(x))",
    ))  # fmt: skip


class _ContextCopier:
    """Copies contexts into the current context of a graph."""

    def __init__(self, copy_result: CopyResult, graph: TFGraph, partial_contexts: set[int]) -> None:
        self._rename, self._graph, self._source = Renamer(copy_result), graph, copy_result.source.live_graph
        self._partial_contexts = partial_contexts  # contexts that are copied in part
        self.copies: dict[int, Any] = {}
        self.partial_names: list[str] = []
        self._loops: list[tuple[Any, Any]] = []

    def copy(self, old: Any) -> None:
        """Copies a context, and the contexts nested in it.

        If an op that the context requires was not copied, the context is not copied. Its ops then belong to the
        surrounding context.
        """
        new = self._new_context(old)
        if new is None:
            if id(old) in self._partial_contexts:
                self.partial_names.append(str(old.name))
            for inner in nested_contexts(old):
                self.copy(inner)
            return
        self.copies[id(old)] = new
        loop = differentiated_loop(old)
        if loop is not None:
            self._loops.append((new, loop[0]))
        with inside_context(self._graph, new):
            for inner in nested_contexts(old):
                self.copy(inner)

    def _new_context(self, old: Any) -> Any:
        if not has_proto(old):
            return copy_context(old, self._source, self._graph, self._rename)
        proto = context_proto(old)
        getattr(proto, proto.WhichOneof("ctxt")).ClearField("nested_contexts")
        return from_proto(proto) if _rename_context(proto, self._rename) else None

    def keep_gradient_loops(self) -> None:
        """Marks the loops that compute gradients of other loops, so that TensorFlow refuses to differentiate them.

        Their gradients would be wrong. The protos of TensorFlow do not contain this mark.
        """
        for new, forward in self._loops:
            set_differentiated_loop(new, self.copies.get(id(forward)))


class Renamer:
    """Returns the name of an op or tensor in the destination, given its source name; None if it was not copied."""

    def __init__(self, copy_result: CopyResult) -> None:
        self._copy_result = copy_result

    def __call__(self, name: str) -> str | None:
        copied, graph = self._copy_result, self._copy_result.source
        op, colon, port = name.partition(":")
        number = graph.index.get(op)
        if number is None:
            return None
        outside = copied.input_map.get((number, int(port))) if colon and port.isdecimal() else None
        if outside is not None:
            return f"{outside[0]}:{outside[1]}"
        return copied.renamed(name) if copied.positions[number] >= 0 else None

    def scope(self, name: str) -> str:
        """Returns the name of a context in the copy, which is also the frame name of its loop."""
        return self._copy_result.state_prefix + self._copy_result.keys.get(name, name)


def _rename_context(proto: Any, rename: Renamer) -> bool:
    """Replaces all names in the proto of a context; returns False if a required op was not copied."""
    kind = proto.WhichOneof("ctxt")
    context = getattr(proto, kind)
    pivots = ["pred_name", "pivot_name"] if kind == "cond_ctxt" else [
        "pivot_name", "pivot_for_pred_name", "pivot_for_body_name", "maximum_iterations_name"
    ]  # fmt: skip
    for field in pivots:
        if getattr(context, field):
            new = rename(getattr(context, field))
            if new is None:
                return False
            setattr(context, field, new)
    context.context_name = rename.scope(context.context_name)
    if kind == "while_ctxt":
        for names in (context.loop_exit_names, context.loop_enter_names):
            new_names = [rename(n) for n in names]
            if None in new_names:
                return False
            names[:] = new_names
    _rename_values(context.values_def, rename)
    return True


def _rename_values(values: Any, rename: Callable[[str], str | None]) -> None:
    inside = [new for new in map(rename, values.values) if new is not None]
    values.values[:] = inside
    outside = dict(values.external_values)
    values.external_values.clear()
    for key, value in outside.items():
        new_key, new_value = rename(key), rename(value)
        if new_key is not None and new_value is not None:
            values.external_values[new_key] = new_value
