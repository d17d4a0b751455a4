"""Changes the inputs of ops in place. All changes of a call are checked before the first one is made.

A session that has run an op continues to use its old inputs. Make a new session after an edit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import counted, few
from ..graph.types import TFGraph, TFOp
from ..tf.edit.edit_in_place import connect, journal, order, stale_sessions, unlike
from ..tf.graph_parts import Operation, unwrap
from .subgraph import ViewLike, make_view
from .util import (
    Ops,
    Tensors,
    WrongValue,
    as_values,
    check_graphs,
    check_type,
    get_consuming_ops,
    make_list_of_op,
    make_list_of_t,
    warn,
)

__all__ = [
    "swap_ts", "reroute_ts", "swap_inputs", "reroute_inputs", "swap_outputs", "reroute_outputs", "swap_ios",
    "reroute_ios", "reroute_a2b_ts", "reroute_b2a_ts", "remove_control_inputs", "add_control_inputs",
]  # fmt: skip


def swap_ts(ts0: Tensors, ts1: Tensors, can_modify: Ops | None = None, cannot_modify: Ops | None = None) -> int:
    """Swaps the consumers of each pair of tensors.

    Args:
        ts0, ts1: tensors, or lists of tensors of the same length.
        can_modify: only these ops may change. Default: all ops.
        cannot_modify: these ops must not change.

    Returns:
        the number of changed inputs of ops.

    Raises:
        ValueError: the lengths differ, dtypes or shapes do not fit, or there would be a cycle. Then nothing changes.
    """
    return _reroute("swap_ts", ts0, ts1, True, can_modify, cannot_modify)


def reroute_ts(ts0: Tensors, ts1: Tensors, can_modify: Ops | None = None, cannot_modify: Ops | None = None) -> int:
    """Makes the consumers of each tensor of `ts1` read the tensor of `ts0` instead.

    Args:
        ts0: a tensor, or a list of tensors.
        ts1: a tensor, or a list of the same length.
        can_modify: only these ops may change. Default: all consumers.
        cannot_modify: these ops must not change.
    """
    return _reroute("reroute_ts", ts0, ts1, False, can_modify, cannot_modify)


#: The name of `reroute_ts` of 2016.
reroute_a2b_ts = reroute_ts


def reroute_b2a_ts(ts0: Tensors, ts1: Tensors, can_modify: Ops | None = None, cannot_modify: Ops | None = None) -> int:
    """Makes the consumers of each tensor of `ts0` read the tensor of `ts1` instead; this is a name of 2016.

    Args:
        ts0: a tensor, or a list of tensors.
        ts1: a tensor, or a list of the same length.
        can_modify: only these ops may change. Default: all consumers.
        cannot_modify: these ops must not change.
    """
    return reroute_ts(ts1, ts0, can_modify, cannot_modify)


def _reroute(verb: str, ts0: Any, ts1: Any, swap: bool, can_modify: Any, cannot_modify: Any) -> int:
    ts0, ts1 = make_list_of_t(ts0), make_list_of_t(ts1)
    request = f"{verb}([{few(map(repr, [t.name for t in ts0]))}], [{few(map(repr, [t.name for t in ts1]))}])"
    check_fit(request, ts0, ts1)
    allowed = None if can_modify is None else set(make_list_of_op(can_modify))
    denied = set() if cannot_modify is None else set(make_list_of_op(cannot_modify))

    def edges(old: Any, new: Any) -> list[tuple[Any, int, Any]]:
        readers = dict.fromkeys(old.consumers() if old is not new else ())
        ops = [op for op in readers if op not in denied and (allowed is None or op in allowed)]
        return [(op, at, new) for op in ops for at, t in enumerate(op.inputs) if t is old]

    # All pairs use the consumers from before the edit, so that a later pair does not depend on an earlier one.
    changes: dict[tuple[Any, int], Any] = {}
    for t0, t1 in zip(ts0, ts1, strict=True):
        for op, at, new in (*edges(t1, t0), *(edges(t0, t1) if swap else ())):
            changes.setdefault((op, at), new)
    with as_values():
        count = connect([(op, at, new) for (op, at), new in changes.items()], request)
    if count:
        graph = ts0[0].graph
        _notify_sessions(graph)
        unsure = journal(graph).unsure
        if unsure:
            problem = "static shapes that TensorFlow keeps, but that are not sure any more"
            warn(f"{request}: {problem}: {few(map(repr, unsure))}")
    return count


def check_fit(request: str, ts0: list[Any], ts1: list[Any]) -> None:
    """Raises a `ValueError` that names the tensors if one list of tensors cannot replace the other."""
    if len(ts0) != len(ts1):
        raise WrongValue(
            request, f"the lists have different sizes: {len(ts0)} != {len(ts1)}", "Give lists of one length"
        )
    for t0, t1 in zip(ts0, ts1, strict=True):
        incompatibility = unlike(t0, t1)
        if incompatibility:
            raise WrongValue(
                request, f"{incompatibility}; they are not compatible", "Choose tensors that fit, or convert first"
            )


def _notify_sessions(graph: TFGraph) -> None:
    stale = stale_sessions(graph)
    if stale:
        warn(
            f"{counted(len(stale), 'open sessions')} of the edited graph: a session that has run an op continues "
            "to run it with the old edges. Make a new tf.compat.v1.Session after an edit"
        )


# -- views ----------------------------------------------------------------------------------------


def swap_inputs(sgv0: ViewLike, sgv1: ViewLike) -> tuple[Any, Any]:
    """Swaps the inputs of two views; changes the views in place and returns them.

    Args:
        sgv0: the first view, or an argument of `make_view`.
        sgv1: the second view, of the same graph.
    """
    return _inputs("swap_inputs", sgv0, sgv1, True)


def reroute_inputs(sgv0: ViewLike, sgv1: ViewLike) -> tuple[Any, Any]:
    """Makes the second view read the inputs of the first; changes the views in place and returns them.

    Args:
        sgv0: the first view, or an argument of `make_view`.
        sgv1: the second view, of the same graph.
    """
    return _inputs("reroute_inputs", sgv0, sgv1, False)


def swap_outputs(sgv0: ViewLike, sgv1: ViewLike) -> tuple[Any, Any]:
    """Swaps the consumers of the outputs of two views; returns the views.

    Args:
        sgv0: the first view, or an argument of `make_view`.
        sgv1: the second view, of the same graph.
    """
    return _outputs(sgv0, sgv1, swap_ts)


def reroute_outputs(sgv0: ViewLike, sgv1: ViewLike) -> tuple[Any, Any]:
    """Makes the consumers of the second view's outputs read the outputs of the first; returns the views.

    Args:
        sgv0: the first view, or an argument of `make_view`.
        sgv1: the second view, of the same graph.
    """
    return _outputs(sgv0, sgv1, reroute_ts)


def swap_ios(sgv0: ViewLike, sgv1: ViewLike) -> tuple[Any, Any]:
    """Swaps the inputs and the outputs of two views.

    Args:
        sgv0: the first view, or an argument of `make_view`.
        sgv1: the second view, of the same graph.
    """
    return swap_inputs(*swap_outputs(sgv0, sgv1))


def reroute_ios(sgv0: ViewLike, sgv1: ViewLike) -> tuple[Any, Any]:
    """Replaces the second view by the first, for inputs and outputs.

    Args:
        sgv0: the first view, or an argument of `make_view`.
        sgv1: the second view, of the same graph.
    """
    return reroute_inputs(*reroute_outputs(sgv0, sgv1))


def _inputs(verb: str, sgv0: Any, sgv1: Any, swap: bool) -> tuple[Any, Any]:
    sgv0, sgv1 = make_view(sgv0), make_view(sgv1)
    check_graphs(sgv0, sgv1)
    before = [(list(v.inputs), list(v.passthroughs), list(v.outputs)) for v in (sgv0, sgv1)]
    can_modify = [*sgv0.ops, *sgv1.ops]
    can_modify += get_consuming_ops([*sgv0.passthroughs, *sgv1.passthroughs])
    _reroute(verb, before[0][0], before[1][0], swap, can_modify, None)
    new0, new1 = (_with_inputs(v, *mine) for v, mine in ((sgv0, before), (sgv1, before[::-1])))
    if swap:
        sgv0.assign_from(new0)
    sgv1.assign_from(new1)
    return sgv0, sgv1


def _with_inputs(view: Any, own: Any, other: Any) -> Any:
    """Returns the view with the inputs of the other view. Passthrough outputs become the new passthrough tensors."""
    inputs, passing, outputs = other[0], other[1], own[2]
    at = {id(t): n for n, t in enumerate(own[0])}
    removed = {id(t) for t in own[1]}
    new_outputs = [
        inputs[at[id(t)]] if id(t) in removed and id(t) in at and at[id(t)] < len(inputs) else t for t in outputs
    ]
    return view.with_ends(inputs, passing, new_outputs)


def _outputs(sgv0: Any, sgv1: Any, reroute: Callable[..., int]) -> tuple[Any, Any]:
    sgv0, sgv1 = make_view(sgv0), make_view(sgv1)
    check_graphs(sgv0, sgv1)
    reroute(sgv0.outputs, sgv1.outputs, cannot_modify=[*sgv0.ops, *sgv1.ops])
    return sgv0, sgv1


# -- control inputs -------------------------------------------------------------------------------


def remove_control_inputs(op: TFOp, cops: Ops) -> None:
    """Removes control inputs of an op.

    Args:
        op: the op.
        cops: an op, or a list of ops.

    Raises:
        TypeError: `op` is not an op.
        ValueError: `op` does not wait for one of the ops.
    """
    op, request, cops = _control(op, cops, "remove_control_inputs")
    missing = [cop.name for cop in cops if cop not in op.control_inputs]
    if missing:
        problem = f"{missing[0]!r} is not a control_input of {op.name!r}"
        raise WrongValue(request, problem, f"It has: {few(map(repr, [c.name for c in op.control_inputs])) or 'none'}")
    removed = set(cops)
    _order(op, [c for c in op.control_inputs if c not in removed], request)


def add_control_inputs(op: TFOp, cops: Ops) -> None:
    """Adds control inputs to an op.

    Args:
        op: the op.
        cops: an op, or a list of ops.

    Raises:
        TypeError: `op` is not an op.
        ValueError: `op` already waits for one of the ops, there would be a cycle, or the ops are of another graph.
    """
    op, request, cops = _control(op, cops, "add_control_inputs")
    there = [cop.name for cop in cops if cop in op.control_inputs]
    if there:
        raise WrongValue(request, f"{there[0]!r} is already a control_input of {op.name!r}", "Leave it out")
    _order(op, [*op.control_inputs, *cops], request)


def _order(op: TFOp, control_inputs: list[TFOp], request: str) -> None:
    differs = len(control_inputs) != len(op.control_inputs)
    with as_values():
        order(op, control_inputs, request)
    if differs:
        _notify_sessions(op.graph)


def _control(op: TFOp, cops: Any, verb: str) -> tuple[Any, str, list[Any]]:
    op = unwrap(op)
    check_type(f"{verb}(...)", op, Operation)
    cops = make_list_of_op(cops, allow_graph=False)
    return op, f"{verb}({op.name!r}, [{few(map(repr, [c.name for c in cops]))}])", list(dict.fromkeys(cops))
