"""Contexts: uses private parts of the contexts of TF1, such as loops and conds; tried on TF 2.16 to 2.21."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from operator import attrgetter
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import control_flow_pb2
from tensorflow.python.framework import ops
from tensorflow.python.ops import control_flow_ops, control_flow_util
from tensorflow.python.ops.handle_data_util import get_resource_handle_data, set_handle_data

_PART_ATTRIBUTES = ("_pred", "_pivot", "_pivot_for_pred", "_pivot_for_body", "_maximum_iterations")
_CONTEXT = attrgetter("_control_flow_context")


def contexts_of(ops_in: Iterable[Any]) -> list[Any]:
    """Returns the contexts of ops, without duplicates."""
    return [context for context in dict.fromkeys(map(_CONTEXT, ops_in)) if context is not None]


def within_contexts(op_list: Sequence[Any]) -> list[tuple[Any, Any]]:
    """Returns (op, innermost loop or cond) for each op that is in a loop or cond of TF1."""
    if not contexts_of(op_list):  # true for most graphs: a single check for all ops
        return []
    return [(op, context) for op in op_list if (context := context_of(op)) is not None]


def innermost_context(op: Any) -> Any:
    """Returns the context that an op is in, of any kind; None if there is none."""
    return op._get_control_flow_context()


def set_context(op: Any, context: Any) -> None:
    """Sets the context of an op; None for no context."""
    op._set_control_flow_context(context)


def context_of(op: Any) -> Any:
    """Returns the loop or cond of TF1 that an op is in, or None.

    The context of a function that XLA compiles does not count: several calls share it, and it groups no ops.
    """
    return next(_contexts_around(op), None)


def outermost_context(op: Any) -> Any:
    """Returns the outermost loop or cond of TF1 that an op is in, or None."""
    return next(reversed(list(_contexts_around(op))), None)


def _contexts_around(op: Any) -> Iterator[Any]:
    context = op._get_control_flow_context()
    while context is not None:
        if getattr(context, "_pivot", None) is not None:
            yield context
        context = context.outer_context


def loop_around(context: Any) -> Any:
    """Returns the innermost loop around a context, or the context itself if it is a loop; None if there is none."""
    return control_flow_util.GetContainingWhileContext(context)


def pivots(context: Any) -> list[str]:
    """Returns the names of the tensors and ops that a context requires."""
    names = (getattr(getattr(context, part, None), "name", None) for part in _PART_ATTRIBUTES)
    return [name for name in names if isinstance(name, str)]


_LOOP_TYPES = frozenset({"Enter", "RefEnter", "NextIteration", "RefNextIteration", "LoopCond"})


def is_part(op: Any) -> bool:
    """Returns whether an op is a necessary part of its innermost context: the entry of a branch, or part of a loop."""
    pred = getattr(op._get_control_flow_context(), "_pred", None)
    is_condition_switch = pred is not None and op.type in ("Switch", "RefSwitch") and op.inputs[1].name == pred.name
    return is_condition_switch or op.type in _LOOP_TYPES


@contextmanager
def inside_context(graph: Any, context: Any) -> Iterator[None]:
    """Adds the new ops of the block to a context instead of the current context; None for no context."""
    outer = graph._get_control_flow_context()
    try:
        graph._set_control_flow_context(context)
        yield
    finally:
        graph._set_control_flow_context(outer)


def outside_contexts(graph: Any) -> AbstractContextManager[None]:
    """Leaves the loop or cond that the caller is building, so that imported ops are not part of it."""
    return inside_context(graph, None)


class _UnknownLoop(control_flow_ops.ControlFlowContext):
    """The context of an Exit if no file contains the context of its loop; a copy of the Exit has no context."""

    def to_control_flow_context_def(self, *_: Any, **__: Any) -> None:
        """Writes nothing."""


def refuse_loop_gradients(exit_ops: Iterable[Any], error: Exception) -> None:
    """Makes TensorFlow raise an error when it differentiates loops of TF1, before it changes anything.

    Args:
        exit_ops: the Exit ops of the loops.
        error: the error to raise.
    """

    def fail() -> None:
        raise error

    for op in exit_ops:
        if op._get_control_flow_context() is None:
            op._set_control_flow_context(_UnknownLoop())
        op._get_control_flow_context().GetWhileContext = fail


def differentiate_switch(op: Any) -> None:
    """Sets a separate gradient for a Switch of a variable in a function.

    TensorFlow's gradient needs the context of a cond, which many files lack. It also makes another Switch of the
    variable, which TensorFlow refuses in a function with automatic control dependencies.
    """
    op._gradient_function = _switch_gradient
    for handle in op.outputs:
        data = get_resource_handle_data(handle)
        if not handle.consumers() and len(data.shape_and_type) == 1:
            # TensorFlow makes zeros for an output only if its handle data has the shape of a single variable.
            data.shape_and_type.append(data.shape_and_type[0])
            set_handle_data(handle, data)


def _switch_gradient(op: Any, *output_gradients: Any) -> tuple[Any, None]:
    """The gradient of the branch that runs, which is zero if the branch does not use the variable."""
    gradients = [tf.convert_to_tensor(dy) for dy in output_gradients if dy is not None]
    if not gradients:
        return None, None
    handle = op.inputs[0]
    while handle.op.type == "Switch":
        handle = handle.op.inputs[0]
    zeros = tf.raw_ops.Switch(
        data=tf.zeros(tf.raw_ops.VariableShape(input=handle), gradients[0].dtype), pred=op.inputs[1]
    )
    branches = [
        zero if dy is None else tf.convert_to_tensor(dy) for zero, dy in zip(zeros, output_gradients, strict=True)
    ]
    return tf.raw_ops.Merge(inputs=branches).output, None


def has_proto(context: Any) -> bool:
    """Returns whether TensorFlow can write this context as a proto: it is a loop or a cond of TF1."""
    return isinstance(context, (control_flow_ops.WhileContext, control_flow_ops.CondContext))


def nested_contexts(context: Any) -> list[Any]:
    """Returns the contexts in a context."""
    return list(context._nested_contexts)


@contextmanager
def hide_nested(contexts: Iterable[Any]) -> Iterator[None]:
    """Hides nested contexts without a proto during the block, so that TensorFlow can write the contexts around them."""
    with ExitStack() as restore:
        todo = list(contexts)
        while todo:
            context = todo.pop()
            nested = context._nested_contexts
            todo += nested
            if not all(map(has_proto, nested)):
                context._nested_contexts = [inner for inner in nested if has_proto(inner)]
                restore.callback(setattr, context, "_nested_contexts", nested)
        yield


def context_proto(context: Any) -> Any:
    """Returns a context and all contexts nested in it as a proto."""
    proto = control_flow_pb2.ControlFlowContextDef()
    with hide_nested([context]):
        context.to_control_flow_context_def(proto)
    return proto


def from_proto(proto: Any) -> Any:
    """Returns the context of a proto, in the default graph, inside the current context."""
    return control_flow_ops.from_control_flow_context_def(proto)


class _GradientLoop:
    """The state of the loop of a gradient, as far as TensorFlow uses it after the loop is built."""

    def __init__(self, forward: Any) -> None:
        self.forward_context = forward


def differentiated_loop(context: Any) -> tuple[Any] | None:
    """Returns the loop whose gradient this loop computes, as a tuple of one item; None if it computes no gradient."""
    state = getattr(context, "_grad_state", None)
    return (state.forward_context,) if state else None


def set_differentiated_loop(context: Any, forward: Any) -> None:
    """Marks a loop as the gradient of another loop: TensorFlow refuses to differentiate a marked loop."""
    context._grad_state = _GradientLoop(forward)


def copy_context(old: Any, source: Any, graph: Any, rename: Callable[[str], str | None]) -> Any:
    """Returns a copy of a context without a proto, inside the current context; None if it cannot be copied.

    Args:
        old: the context; references to its graph are replaced by references to the copy.
        source: its graph.
        graph: the graph of the copy.
        rename: name of an op or tensor -> its name in the copy. If it returns None, the context cannot be copied.
    """
    if isinstance(old, _UnknownLoop):
        return None
    new = copy.copy(old)
    for key, value in vars(old).items():
        if getattr(value, "graph", None) is source:
            name = rename(value.name)
            if name is None:
                return None
            setattr(new, key, graph.as_graph_element(name))
    new._values = {name for name in map(rename, old._values) if name is not None}
    external = ((rename(name), rename(thing.name)) for name, thing in old._external_values.items())
    new._external_values = {a: graph.as_graph_element(b) for a, b in external if a and b}
    new._context_stack, new._nested_contexts = [], []
    new._outer_context = outer = graph._get_control_flow_context()
    if outer is not None:
        outer._nested_contexts.append(new)
    return new


# -- loops and conds that are built ---------------------------------------------------------------


def conditional(pred: Any, true_branch: Callable[[], list[Any]], false_branch: Callable[[], list[Any]]) -> list[Any]:
    """Builds a cond of TF1 in the default graph, inside the current context; returns its results.

    Args:
        pred: a scalar bool.
        true_branch, false_branch: functions that build the branches; they return lists of tensors with the same dtypes.
    """
    graph = ops.get_default_graph()
    off, on = tf.raw_ops.Switch(data=pred, pred=pred, name="Switch")
    pivots_of = tf.identity(off, name="switch_f"), tf.identity(on, name="switch_t")
    pred = tf.identity(pred, name="pred_id")
    for tensor in (off, on, *pivots_of, pred):
        graph.prevent_fetching(tensor.op)
    results = []
    for branch, build in enumerate((false_branch, true_branch)):
        context = control_flow_ops.CondContext(pred, pivots_of[branch], branch=branch)
        try:
            context.Enter()
            _, outputs = context.BuildCondBranch(build)
            context.ExitResult(outputs)
        finally:
            context.Exit()
        results.append(outputs)
        if context.outer_context is None:
            graph.add_to_collection(ops.GraphKeys.COND_CONTEXT, context)
    return [tf.raw_ops.Merge(inputs=list(pair), name="Merge").output for pair in zip(*results, strict=True)]


def loop(
    test: Callable[..., Any], body: Callable[..., list[Any]], start: list[Any], shapes: list[Any], parallel: int
) -> list[Any]:
    """Builds a ``while_loop`` of TF1 in the default graph, inside the current context; returns its results.

    Args:
        test, body: functions of the loop variables; they return a scalar bool, and the next values.
        start: the first values of the loop variables.
        shapes: the static shapes of the loop variables in all rounds.
        parallel: how many rounds may run in parallel.
    """
    context = control_flow_ops.WhileContext(parallel_iterations=parallel)
    if context.outer_context is None:
        ops.get_default_graph().add_to_collection(ops.GraphKeys.WHILE_CONTEXT, context)
    return list(context.BuildLoop(test, body, start, shapes, True))


def join_context(graph: Any, new: Iterable[Any]) -> None:
    """Adds imported ops to the current context, as TensorFlow does for ops that it makes itself."""
    context = graph._get_control_flow_context()
    joining = [op for op in new if op._get_control_flow_context() is None] if context is not None else []
    for op in joining:  # before the next step, so that none of them counts as an op from outside
        op._set_control_flow_context(context)
        outer = context
        while outer is not None:
            outer._values.update(tensor.name for tensor in op.outputs)
            outer = outer.outer_context
    for op in joining:
        context.AddOp(op)
