"""Detaches, connects and bypasses views, in place."""

from __future__ import annotations

from typing import Any

from ..tf.graph_parts import placeholder
from .reroute import check_fit, remove_control_inputs, reroute_inputs, reroute_ts, swap_inputs
from .select import check_cios
from .subgraph import SubGraphView, ViewLike, make_view
from .util import ControlOutputs, check_graphs, check_type, concatenate_unique, placeholder_name

__all__ = [
    "detach_control_inputs", "detach_control_outputs", "detach_inputs", "detach_outputs", "detach", "connect", "bypass",
]  # fmt: skip


def detach_control_inputs(sgv: ViewLike) -> None:
    """Removes the control inputs of a view from outside.

    Args:
        sgv: a view, or an argument of `make_view`.
    """
    sgv = make_view(sgv)
    inside = set(sgv.ops)
    for op in sgv.ops:
        remove_control_inputs(op, [cop for cop in op.control_inputs if cop not in inside])


def detach_control_outputs(sgv: ViewLike, control_outputs: ControlOutputs) -> None:
    """Removes the control inputs of ops outside that wait for ops of a view.

    Args:
        sgv: a view, or an argument of `make_view`.
        control_outputs: a `ControlOutputs` of the graph.

    Raises:
        TypeError: `control_outputs` has another type.
    """
    check_type("detach_control_outputs(...)", control_outputs, ControlOutputs)
    control_outputs.update()
    sgv = make_view(sgv)
    inside = set(sgv.ops)
    waiting = [(cop, op) for op in sgv.ops for cop in control_outputs.get(op) if cop not in inside]
    for cop, op in waiting:
        remove_control_inputs(cop, op)


def _placeholders(tensors: list[Any], any_shape: bool = False) -> list[Any]:
    return [placeholder(t.graph, t.dtype, None if any_shape else t.shape, placeholder_name(t)) for t in tensors]


def detach_inputs(sgv: ViewLike, control_inputs: bool = False) -> tuple[Any, list[Any]]:
    """Replaces the inputs of a view by placeholders.

    Args:
        sgv: a view, which is changed in place, or an argument of `make_view`.
        control_inputs: whether to remove control inputs from outside, too.

    Returns:
        the view, and the placeholders in the order of its inputs, such as ``foo/geph__b_0`` for ``foo/b:0``. They
        accept any shape.
    """
    sgv = make_view(sgv)
    placeholders = _placeholders(list(sgv.inputs), any_shape=True)
    swap_inputs(sgv, placeholders)
    if control_inputs:
        detach_control_inputs(sgv)
    return sgv, placeholders


def detach_outputs(sgv: ViewLike, control_outputs: ControlOutputs | None = None) -> tuple[Any, list[Any]]:
    """Makes the consumers of a view's outputs read placeholders instead.

    Args:
        sgv: a view, or an argument of `make_view`.
        control_outputs: a `ControlOutputs`, to also remove the control inputs of ops outside that wait for the view.

    Returns:
        a view with only the outputs that had consumers outside, and the placeholders in their order.
    """
    sgv = make_view(sgv)
    inside = set(sgv.ops)
    outputs = [t for t in concatenate_unique([], sgv.outputs) if any(c not in inside for c in t.consumers())]
    view = sgv.remap_outputs(outputs)
    placeholders = _placeholders(outputs)
    reroute_ts(placeholders, outputs, cannot_modify=sgv.ops)
    if control_outputs is not None:
        detach_control_outputs(view, control_outputs)
    return view, placeholders


def detach(
    sgv: ViewLike,
    control_inputs: bool = False,
    control_outputs: ControlOutputs | None = None,
    control_ios: ControlOutputs | None = None,
) -> tuple[Any, list[Any], list[Any]]:
    """Detaches the inputs and the outputs of a view.

    Args:
        sgv: a view, which is changed in place, or an argument of `make_view`.
        control_inputs, control_outputs, control_ios: see `check_cios`.

    Returns:
        the view, the placeholders for its inputs, and the placeholders for its outputs.
    """
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    sgv = make_view(sgv)
    _, inputs = detach_inputs(sgv, control_inputs)
    _, outputs = detach_outputs(sgv, control_outputs)
    return sgv, inputs, outputs


def connect(
    sgv0: ViewLike,
    sgv1: ViewLike,
    disconnect_first: bool = False,
) -> tuple[Any, Any]:
    """Connects the inputs of the second view to the outputs of the first.

    Args:
        sgv0, sgv1: views, which are changed in place, or arguments of `make_view`.
        disconnect_first: whether placeholders replace the outputs of the first view for its current consumers.

    Raises:
        ValueError: the views are of two graphs, or the outputs do not fit the inputs in number, dtype or shape.
    """
    sgv0, sgv1 = make_view(sgv0), make_view(sgv1)
    check_graphs(sgv0, sgv1)
    outputs = list(sgv0.outputs)
    check_fit("connect(sgv0, sgv1)", outputs, list(sgv1.inputs))
    if disconnect_first:
        detach_outputs(sgv0)
    reroute_inputs(SubGraphView(passthrough_ts=outputs), sgv1)
    return sgv0, sgv1


def bypass(sgv: ViewLike) -> tuple[Any, list[Any]]:
    """Connects the consumers of a view's outputs to its inputs.

    Args:
        sgv: a view, which is changed in place, or an argument of `make_view`. It must have as many inputs as outputs.

    Returns:
        the view, and the placeholders that it now reads.

    Raises:
        ValueError: inputs and outputs do not fit.
    """
    view = make_view(sgv)
    inputs = list(view.inputs)
    check_fit("bypass(sgv)", inputs, list(view.outputs))
    view, placeholders = detach_inputs(view)
    reroute_ts(inputs, view.outputs)
    return view, placeholders
