"""Control flow of TF1: the contexts of ``while_loop`` and ``cond``, without which a copy has no gradient."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tensorflow.core.protobuf import control_flow_pb2
from tensorflow.python.ops import control_flow_ops

from ..core.copied import Copied
from .internals import contexts_of


def context_ops(graph: Any) -> tuple[frozenset[str], ...]:
    """Returns for each outermost control-flow context the names of the ops it is made of, pivots included."""
    found: dict[int, set[str]] = {}
    for op in graph.get_operations():
        context = op._get_control_flow_context()
        if context is None:
            continue
        names = {op.name}
        while True:
            for part in ("_pred", "_pivot", "_pivot_for_pred", "_pivot_for_body", "_maximum_iterations"):
                thing = getattr(context, part, None)
                name = getattr(thing, "name", None)
                if isinstance(name, str):
                    names.add(name.partition(":")[0])
            if context.outer_context is None:
                break
            context = context.outer_context
        found.setdefault(id(context), set()).update(names)
    return tuple(frozenset(names) for names in found.values())


def keep_contexts(copied: Copied, graph: Any, pairs: list[tuple[Any, Any]]) -> tuple[dict[int, Any], list[str]]:
    """Gives the copies of ops in loops and conds their contexts, nested ones with their outer ones.

    Args:
        copied: the copy.
        graph: the destination.
        pairs: (source op, new op).

    Returns:
        id of an outermost context -> the one of the copy; and the names of those that could not be given, because
        the copy has only a part of them.
    """
    if not copied.source.state.contexts:
        return {}, []
    tops: dict[int, Any] = {}
    for context in contexts_of(old for old, _ in pairs):
        while context.outer_context is not None:
            context = context.outer_context
        tops[id(context)] = context
    rename = _Renamer(copied)
    made, missed = {}, []
    with graph.as_default():
        for context in tops.values():
            if not hasattr(context, "to_control_flow_context_def"):
                missed.append(str(context.name))
                continue
            proto = control_flow_pb2.ControlFlowContextDef()
            context.to_control_flow_context_def(proto)
            if _moved(proto, rename):
                made[id(context)] = control_flow_ops.from_control_flow_context_def(proto)
            else:
                missed.append(str(context.name))
    return made, missed


class _Renamer:
    """Source name of an op or tensor -> its name in the destination, or None where the copy has none."""

    def __init__(self, copied: Copied) -> None:
        self._copied = copied

    def __call__(self, name: str) -> str | None:
        copied, graph = self._copied, self._copied.source
        op, colon, port = name.partition(":")
        number = graph.index.get(op)
        if number is None:
            return None
        outside = copied.external.get((number, int(port))) if colon and port.isdecimal() else None
        if outside is not None:
            return f"{outside[0]}:{outside[1]}"
        return copied.renamed(name) if copied.place[number] >= 0 else None

    def scope(self, name: str) -> str:
        """Returns the name a context has in the copy; it is the frame of its loop."""
        return self._copied.key + name


def _moved(proto: Any, rename: _Renamer) -> bool:
    """Renames all names in a context; False where one that it cannot do without is missing."""
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
            moved = [rename(n) for n in names]
            if None in moved:
                return False
            names[:] = moved
    _move_values(context.values_def, rename)
    return all(_moved(nested, rename) for nested in context.nested_contexts)


def _move_values(values: Any, rename: Callable[[str], str | None]) -> None:
    inside = [new for new in map(rename, values.values) if new is not None]
    values.values[:] = inside
    outside = dict(values.external_values)
    values.external_values.clear()
    for key, value in outside.items():
        new_key, new_value = rename(key), rename(value)
        if new_key is not None and new_value is not None:
            values.external_values[new_key] = new_value
