"""Control flow of TF1: the contexts of ``while_loop`` and ``cond``, without which a copy has no gradient.

TensorFlow writes these two as protos. What else it puts ops in, as the context of a function that XLA compiles, is
carried over as the Python object it is.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tensorflow.core.protobuf import control_flow_pb2
from tensorflow.python.ops import control_flow_ops

from ...plan.copied import Copied
from ..private import context_of, contexts_of, outermost_context, outside_contexts


def context_ops(graph: Any) -> tuple[frozenset[str], ...]:
    """Returns for each outermost control-flow context the names of the ops it is made of, pivots included."""
    found: dict[int, set[str]] = {}
    for op in graph.get_operations():
        context = context_of(op)
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
        found.setdefault(id(outermost_context(op)), set()).update(names)
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
    tops: dict[int, Any] = {}
    for context in contexts_of(old for old, _ in pairs):
        while context.outer_context is not None:
            context = context.outer_context
        tops[id(context)] = context
    if not tops:
        return {}, []
    carrier = _Carrier(copied, graph)
    with graph.as_default(), outside_contexts(graph):
        for context in tops.values():
            carrier.carry(context)
    carrier.keep_gradient_loops()
    # A proto lists what a context uses, too: which one an op is in, only the op says.
    for old, new in pairs:
        context = old._get_control_flow_context()
        if context is None or id(context) in carrier.made:
            new._set_control_flow_context(carrier.made.get(id(context)))
    return {key: carrier.made[key] for key in tops if key in carrier.made}, carrier.missed


def mark_loop(ops: Iterable[Any]) -> None:
    """Says of ops inside loops of TF1 that they are, where they come from a file that does not.

    A function that is traced orders what has state by control edges of its own, but not inside loops, where such an
    edge would cross into another frame.
    """
    context = control_flow_ops.WhileContext(name="while_context")
    for op in ops:
        if not contexts_of([op]):
            op._set_control_flow_context(context)


@contextmanager
def written_alone(contexts: Iterable[Any]) -> Iterator[None]:
    """Lays nested contexts aside that TensorFlow has no proto of: it can then write those around them."""
    with ExitStack() as back:
        todo = list(contexts)
        while todo:
            context = todo.pop()
            nested = context._nested_contexts
            todo += nested
            if not all(map(_has_proto, nested)):
                context._nested_contexts = [inner for inner in nested if _has_proto(inner)]
                back.callback(setattr, context, "_nested_contexts", nested)
        yield


def _has_proto(context: Any) -> bool:
    return hasattr(context, "to_proto")


class _GradientLoop:
    """What TensorFlow asks of the state of a gradient's loop once it is built."""

    def __init__(self, forward: Any) -> None:
        self.forward_context = forward


class _Carrier:
    """Makes the contexts of a copy; the graph's own context is the one around what is made."""

    def __init__(self, copied: Copied, graph: Any) -> None:
        self._rename, self._graph, self._source = _Renamer(copied), graph, copied.source.owner
        self.made: dict[int, Any] = {}
        self.missed: list[str] = []
        self._loops: list[tuple[Any, Any]] = []

    def carry(self, old: Any) -> None:
        """Makes the like of a context, and of all that are nested in it."""
        if not _has_proto(old):
            self._carry_object(old)
            return
        proto = control_flow_pb2.ControlFlowContextDef()
        with written_alone([old]):
            old.to_control_flow_context_def(proto)
        if _moved(proto, self._rename):
            self._pair(old, control_flow_ops.from_control_flow_context_def(proto))
        else:
            self.missed.append(str(old.name))

    def _pair(self, old: Any, new: Any) -> None:
        self.made[id(old)] = new
        if getattr(old, "_grad_state", None):
            self._loops.append((old, new))
        # TensorFlow does not keep their order.
        found = {inner.name: inner for inner in new._nested_contexts}
        for inner in filter(_has_proto, old._nested_contexts):
            self._pair(inner, found[self._rename.scope(inner.name)])
        self._inside(new, (inner for inner in old._nested_contexts if not _has_proto(inner)))

    def keep_gradient_loops(self) -> None:
        """Says of loops that compute the gradient of others that they do: TensorFlow refuses to differentiate them.

        It would get them wrong, and its protos do not say which they are.
        """
        for old, new in self._loops:
            new._grad_state = _GradientLoop(self.made.get(id(old._grad_state.forward_context)))

    def _inside(self, new: Any, nested: Iterable[Any]) -> None:
        around = self._graph._get_control_flow_context()
        try:
            self._graph._set_control_flow_context(new)
            for inner in nested:
                self.carry(inner)
        finally:
            self._graph._set_control_flow_context(around)

    def _carry_object(self, old: Any) -> None:
        """Copies a context that TensorFlow has no proto of; what it holds of the graph becomes that of the copy."""
        new = copy.copy(old)
        for key, value in vars(old).items():
            if getattr(value, "graph", None) is self._source:
                name = self._rename(value.name)
                if name is None:
                    self.missed.append(str(old.name))
                    return
                setattr(new, key, self._graph.as_graph_element(name))
        moved = {name: self._rename(name) for name in old._values}
        new._values = {name for name in moved.values() if name is not None}
        outside = ((self._rename(name), self._rename(thing.name)) for name, thing in old._external_values.items())
        new._external_values = {a: self._graph.as_graph_element(b) for a, b in outside if a and b}
        new._context_stack, new._nested_contexts = [], []
        new._outer_context = around = self._graph._get_control_flow_context()
        if around is not None:
            around._nested_contexts.append(new)
        self.made[id(old)] = new
        self._inside(new, old._nested_contexts)


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
        return self._copied.key + self._copied.keys.get(name, name)


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
