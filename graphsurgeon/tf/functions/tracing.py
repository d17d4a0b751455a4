"""Tracing: makes TF2 functions of ops of a graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...graph.contexts import branch_around
from ...graph.frames import in_the_open
from ...graph.graph import Graph, Mask
from ...graph.selection import Query, Selection
from ...graph.traversal import backward
from ..copy.append import copied_into
from ..copy.contexts import prepare_gradients
from ..importing import tf
from ..private.functions import run_along
from .calls import Calls

tf1 = tf.compat.v1

#: TensorFlow orders the ops of a function that have a state. The ops of a graph have the order that the graph gives
#: them. TensorFlow's own order breaks the conds of TF1: it makes ops wait for a branch that does not run.
_AS_WRITTEN = {"_disable_acd": True}


def traced_function(
    build: Callable[..., Sequence[Any]], name: str, specs: Sequence[Any] | None = None, arguments: Sequence[str] = ()
) -> Any:
    """Returns a `tf.function` whose ops run in the order that the graph gives them.

    Args:
        build: takes tensors; calls `copied_ops`, and returns tensors.
        name: the name of the function.
        specs: the dtype and shape of each argument. Default: it is traced for each call.
        arguments: the names of the arguments.
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    build.__name__ = name
    build.__signature__ = inspect.Signature([inspect.Parameter(a, kind) for a in arguments])  # type: ignore[attr-defined]
    return tf.function(build, specs, autograph=False, experimental_attributes=_AS_WRITTEN)


def copied_ops(base: Graph, mask: Mask, inputs: Mapping[str, Any], outputs: Sequence[str], name: str) -> list[Any]:
    """Copies ops into the function that is being traced, and returns some of their tensors.

    Ops that change something that lasts also run if no output needs them.

    Args:
        base: snapshot of the graph.
        mask: the ops.
        inputs: tensor that the ops read from outside -> tensor of the function.
        outputs: the tensors to return.
        name: the name of the function, for messages.
    """
    graph = tf1.get_default_graph()
    taken = {tensor: given.name for tensor, given in inputs.items()}
    block = Selection(base, mask, Query("select"))
    copied = copied_into(graph, block, apart=True, exact=True, inputs=taken, control="drop", collections="none")

    def made(op: int) -> Any:
        return graph.get_operation_by_name(copied.renamed(base.names[op]))

    prepare_gradients(map(made, copied.ops.tolist()), name)
    calls, needed = Calls(base), backward(base, base.mask(base.tensor(t)[0] for t in outputs), within=mask)
    alone = [op for op in np.flatnonzero(mask & ~needed).tolist() if calls.acts(base.nodes[op])]
    run_along(graph, [_whatever_runs(base, mask, op, made) for op in alone])
    found = [graph.get_tensor_by_name(copied.renamed(tensor)) for tensor in outputs]
    ends, plain = [base.tensor(tensor)[0] for tensor in outputs], in_the_open(base)
    return [
        _or_error(base, mask, name, op, tensor, made) if mask[op] and not plain[op] else tensor
        for name, op, tensor in zip(outputs, ends, found, strict=True)
    ]


def _or_error(base: Graph, mask: Mask, name: str, op: int, tensor: Any, made: Callable[[int], Any]) -> Any:
    """Returns a tensor. If the tensor is in a branch of TF1 that does not run, the call fails with a message."""
    shape = tensor.shape
    for switch, taken, sides in _branches(base, mask, op, made):
        other = sides[1 - taken]
        problem = f"{name} has no value: {switch} takes the other branch"
        failure = tf.raw_ops.Assert(condition=other if taken else tf.logical_not(other), data=[problem])
        with tf.control_dependencies([failure]):
            nothing = tf.zeros([], tensor.dtype)
        tensor = tf.raw_ops.Merge(inputs=[tensor, nothing]).output
    tensor.set_shape(shape)
    return tensor


def _whatever_runs(base: Graph, mask: Mask, op: int, made: Callable[[int], Any]) -> Any:
    """Returns an op that runs after another, even if the other op is in a branch of TF1 that does not run.

    A call of the function waits for this op. An op of a branch that does not run would stop all ops that wait for it.
    """
    last = made(op)
    for _, taken, sides in _branches(base, mask, op, made):
        with tf.control_dependencies([last]):
            sides[taken] = tf.identity(sides[taken])
        last = tf.raw_ops.Merge(inputs=sides).output.op
    return last


def _branches(base: Graph, mask: Mask, op: int, made: Callable[[int], Any]) -> Iterator[tuple[str, int, list[Any]]]:
    """Yields the branches of TF1 around an op, from the inside, as far as their Switches are copied.

    Yields:
        the name of a Switch, its output that leads to the op, and the condition on both sides.
    """
    while (branch := branch_around(base, op)) and mask[branch[0]]:
        op, taken = branch
        pred = made(op).inputs[1]
        yield base.names[op], taken, list(tf.raw_ops.Switch(data=pred, pred=pred))
