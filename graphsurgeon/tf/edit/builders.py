"""Builders: functions that build adapters, calls of collapsed ops, expanded calls and unrolled loops."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import PlanError
from ...graph.boundary import entering_tensors
from ...graph.control_flow import FLOW_TYPES, Loop, body_of
from ...graph.functions import functions_in_node, reachable_functions
from ...graph.graph import Graph, Mask
from ...graph.names import free_name
from ...graph.selection import Query, Selection
from ...graph.types import TFOp
from ...graph.variables import VARIABLE_TYPES
from ...plan.adapters import Adapter, AdapterPart, Cast, Dense, Pad, Pool, Reshape, Resize, Transpose, kind_of
from ..copy.append import copy_into
from ..functions.expand import FunctionCalls
from ..functions.graph_function import copy_ops, trace_function
from ..functions.lower import FlowBuilder
from ..import_tensorflow import tf
from ..op_types import is_stateful
from ..private.c_api import functions_of
from ..private.contexts import innermost_context
from ..private.graphs import set_control_inputs

tf1 = tf.compat.v1
_RESIZES = {
    "area": tf.raw_ops.ResizeArea, "bicubic": tf.raw_ops.ResizeBicubic, "bilinear": tf.raw_ops.ResizeBilinear,
    "nearest": tf.raw_ops.ResizeNearestNeighbor,
}  # fmt: skip


def adapter_builder(adapter: Adapter) -> Callable[[Any], Any]:
    """Returns a function of a tensor that builds an adapter in the current name scope.

    The result has the name of the scope itself, and all other ops are inside the scope.

    Args:
        adapter: the adapter.

    Example:
        >>> with tf.Graph().as_default() as graph, tf1.name_scope("fit/"):
        ...     print(adapter_builder(Adapter((Cast("int32"), Reshape((4,)))))(tf.zeros([2, 2], name="x")).name)
        fit:0
    """

    def build(x: Any) -> Any:
        scope = tf1.get_default_graph().get_name_scope()
        *first, last = adapter.parts
        for part in first:
            x = _build(part, x, kind_of(part))
        x = _build(last, x, f"{scope}/")
        return x if x.op.name == scope else tf.identity(x, name=f"{scope}/")

    return build


def _build(part: AdapterPart, x: Any, name: str) -> Any:
    match part:
        case Cast():
            return tf.cast(x, part.dtype, name=name)
        case Reshape():
            return tf.reshape(x, _sizes(part, x), name=name)
        case Transpose():
            return tf.transpose(x, part.perm, name=name)
        case Pad():
            return tf.pad(x, part.paddings, constant_values=part.value, name=name)
        case Pool(window=None):
            axes = range(2, x.shape.rank) if part.data_format == "NCHW" else range(1, x.shape.rank - 1)
            reduce = tf.reduce_mean if part.mode == "avg" else tf.reduce_max
            return reduce(x, list(axes), keepdims=part.keep_dims, name=name)
    if part.data_format == "NHWC" or x.shape.rank < 3:
        return _channels_last(part, x, name)
    rank = x.shape.rank  # not every device has kernels for "channels first"
    x = tf.transpose(x, [0, *range(2, rank), 1], name="channels_last")
    return tf.transpose(_channels_last(part, x, kind_of(part)), [0, rank - 1, *range(1, rank - 1)], name=name)


def _channels_last(part: Resize | Pool | Dense, x: Any, name: str) -> Any:
    match part:
        case Resize():
            about = {} if part.method == "area" else {"half_pixel_centers": True}  # as tf.image.resize does
            return _RESIZES[part.method](images=x, size=list(part.size), name=name, **about)
        case Pool():
            pool = tf.nn.avg_pool if part.mode == "avg" else tf.nn.max_pool
            return pool(x, part.window, part.strides, "VALID", name=name)
        case Dense():
            return _dense(part, x, name)


def _dense(part: Dense, x: Any, name: str) -> Any:
    initial = tf1.glorot_uniform_initializer(seed=part.seed)
    kernel = tf1.get_variable(
        _free("kernel"), [x.shape[-1], part.units], x.dtype, initializer=initial, use_resource=True
    )
    if not part.bias:
        return tf.matmul(x, kernel, name=name)
    zeros = tf1.zeros_initializer()
    bias = tf1.get_variable(_free("bias"), [part.units], x.dtype, initializer=zeros, use_resource=True)
    return tf.nn.bias_add(tf.matmul(x, kernel, name="matmul"), bias, name=name)


def _free(name: str) -> str:
    """Returns an unused name for a new variable: an adapter may contain several dense layers."""
    lead = f"{tf1.get_variable_scope().name}/"
    names = {variable.op.name for variable in tf1.global_variables(lead)}
    return free_name(name, lambda wish: lead + wish in names, as_tensorflow=True)


def _sizes(part: Reshape, x: Any) -> Any:
    """Returns the sizes of a new shape: a single unknown size is inferred; several come from the tensor."""
    if not part.sizes:
        return [-1 if n is None else n for n in part.shape]
    shape, axes = tf.shape(x, name="shape_of"), iter(part.sizes)
    return tf.stack([shape[next(axes)] if n is None else n for n in part.shape], name="shape_to")


def collapse_ops(
    base: Graph, mask: Any, inputs: Sequence[str], outputs: Sequence[str], name: str
) -> Callable[..., list[Any]]:
    """Returns a function of tensors that replaces some ops of a graph by a single call.

    Args:
        base: snapshot of the graph.
        mask: the ops.
        inputs, outputs: the names of the input and output tensors of the ops.
        name: the name of the call.
    """

    def call(*tensors: Any) -> list[Any]:
        _refuse_own_gradients(base, mask, name)

        def body() -> list[Any]:
            graph = tf1.get_default_graph()
            captures = {name: graph.capture(tensor) for name, tensor in zip(inputs, tensors, strict=True)}
            return copy_ops(base, mask, captures, outputs, name)

        return list(trace_function(body, re.sub(r"\W", "_", name))())

    return call


def _refuse_own_gradients(base: Graph, mask: Any, name: str) -> None:
    """Refuses calls with a custom gradient, because they would lose it inside another function."""
    functions = functions_of(base.live_graph)
    for i in mask.nonzero()[0].tolist() if functions else ():
        for called in reachable_functions(functions_in_node(base.nodes[i], functions), base.functions):
            function = functions[called]
            if getattr(function, "grad_func_name", None) or getattr(function, "python_grad_func", None):
                problem = f"{base.names[i]!r} calls {called!r}, whose custom gradient would be lost inside a function"
                raise PlanError(f"collapse(name={name!r})", problem, "Leave it out of the selection")


def branch_of(base: Graph, name: str, input_values: Mapping[str, Any]) -> Callable[..., list[Any]]:
    """Returns a function of tensors that does the same as a v2 cond or case with a known condition.

    Args:
        base: snapshot of the graph.
        name: the cond or case.
        input_values: input tensor with a known value -> the value.

    Raises:
        PlanError: the branch cannot be inlined.
    """
    number = base.find(name)
    node, flow = base.nodes[number], FlowBuilder(base)
    flow.calls.check_inlinable(node, f"resolve_condition({name!r})", flow=True)
    conditions = {k: input_values[text] for k, text in enumerate(base.input_names(number)) if text in input_values}
    count = len(base.outputs(number) or ())

    def call(*tensors: Any) -> list[Any]:
        return flow.build_branch(node, tensors, tf1.get_default_graph().get_name_scope(), conditions)[:count]

    return call


def expand_call(base: Graph, name: str, inside: Sequence[str] = ()) -> Callable[..., list[Any]]:
    """Returns a function of tensors that does the same as a call of a graph, without the call.

    Args:
        base: snapshot of the graph.
        name: the call.
        inside: conds, cases and loops in the call that are inlined too, by their names in the called function.

    Raises:
        PlanError: the op is not a call, or the call cannot be inlined.
    """
    node, flow = base.nodes[base.find(name)], FlowBuilder(base, inlined=inside)
    flow.calls.check_inlinable(node, f"inline({name!r})", flow=True)
    count = len(base.outputs(base.index[name]) or ())

    def call(*tensors: Any) -> list[Any]:
        return flow.build(node, tensors, tf1.get_default_graph().get_name_scope())[:count]

    return call


def unroll_loop(base: Graph, op: int, loop: Loop | None, times: int) -> Callable[..., list[Any]]:
    """Returns a function of tensors that does the same as a given number of rounds of a loop.

    Args:
        base: snapshot of the graph.
        op: the number of a v2 loop, or of the condition of a loop of TF1.
        loop: the loop of TF1; None for a v2 loop.
        times: the number of rounds.

    Raises:
        PlanError: the loop cannot be unrolled.
    """
    if loop is not None:
        return _rounds_of_tf1(base, loop, times)
    node, flow = base.nodes[op], FlowBuilder(base)
    flow.calls.check_inlinable(node, f"unroll({base.names[op]!r}, {times})", flow=True)
    acts = flow.calls.has_effects(node)
    flow = FlowBuilder(base, ordered=acts)
    shapes = [tf.TensorShape(shape) for shape in node.attr["output_shapes"].list.shape]

    def call(*tensors: Any) -> list[Any]:
        scope, values, order = tf1.get_default_graph().get_name_scope(), list(tensors), _OpOrder(acts)
        for number in range(times):
            values = flow.build_function(
                node.attr["body"].func.name, values, f"{scope}/{_round(number)}", node.device, False
            )
            for tensor, shape in zip(values, shapes, strict=False):
                tensor.set_shape(shape)  # nodes do not contain the static shapes of a function
            order.next()
        return values

    return call


def _rounds_of_tf1(base: Graph, loop: Loop, times: int) -> Callable[..., list[Any]]:
    body, lead = body_of(base, loop), base.names[loop.loop_cond].rpartition("/")[0]
    block = Selection(base, body, Query("select"))
    enters = [f"{base.names[i]}:1" for i in loop.switches] + [f"{base.names[i]}:0" for i in loop.constants]
    used = {f"{base.names[i]}:{port}" for i, port in entering_tensors(base, body)}
    acts = _sets_state(base, loop, body)

    def call(*tensors: Any) -> list[Any]:
        graph, values, order = tf1.get_default_graph(), list(tensors), _OpOrder(acts)
        for number in range(times):
            scope = f"{graph.get_name_scope()}/{_round(number)}"
            ends, copy = dict(zip(enters, values, strict=True)), None
            if len(block):
                inputs = {text: tensor.name for text, tensor in ends.items() if text in used}
                names = {n: f"{scope}/{n.removeprefix(f'{lead}/')}" for n in block.names}
                copy = copy_into(graph, block, inputs=inputs, names=names, control="drop", collections="none")
            turned = [base.input_names(i)[0] for i in loop.next_iterations]
            values[: len(turned)] = [
                ends[text] if text in ends or copy is None else graph.get_tensor_by_name(copy.renamed(text))
                for text in turned
            ]
            order.next()
        return [value for value, end in zip(values, loop.exits, strict=False) if end >= 0]

    return call


def _sets_state(base: Graph, loop: Loop, body: Mask) -> bool:
    """Returns whether the rounds of a TF1 loop set state; refuses a loop in which only some rounds may do so."""
    calls, numbers = FunctionCalls(base), np.flatnonzero(body).tolist()
    if not any(calls.has_effects(base.nodes[i]) for i in numbers):
        return False
    live = base.live_graph.get_operations()
    outer = innermost_context(live[loop.loop_cond])
    inside = [i for i in numbers if base.types[i] not in FLOW_TYPES and _is_lasting(live[i])]
    nested = next((i for i in inside if innermost_context(live[i]) is not outer), None)
    if nested is None and outer is None and (base.type_mask(FLOW_TYPES) & body).any():
        nested = inside[0]
    if nested is not None:
        problem = f"its rounds set state, but {base.names[nested]!r}, in a cond or loop inside them, may not run"
        raise PlanError("unroll()", problem, "Resolve that condition in an earlier plan, or leave the loop unchanged")
    return True


def _round(number: int) -> str:
    return f"body_{number}" if number else "body"


class _OpOrder:
    """Makes the state ops of each round wait for the state ops of the previous round, like in a loop.

    Args:
        ordered: whether the rounds set state; otherwise no order is needed.
    """

    def __init__(self, ordered: bool) -> None:
        self._graph, self._ordered = tf1.get_default_graph(), ordered
        self._position, self._previous = len(self._graph.get_operations()), list[Any]()

    def next(self) -> None:
        """Orders the ops that were made since the last call."""
        if not self._ordered:
            return
        new_ops = self._graph.get_operations()[self._position :]
        self._position += len(new_ops)
        lasting = [op for op in new_ops if op.type not in VARIABLE_TYPES and _is_lasting(op)]
        for op in lasting if self._previous else ():
            set_control_inputs(op, list(op.control_inputs), [*op.control_inputs, *self._previous])
        self._previous = lasting or self._previous


def _is_lasting(op: TFOp) -> bool:
    refers = any(tensor.dtype.name.endswith("_ref") for tensor in op.inputs)
    return refers or is_stateful(op.type)
