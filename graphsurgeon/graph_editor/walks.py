"""Walks: boundaries of ops, and what is reached from them. All walks are linear in what they touch.

A walk that starts from a tensor starts, forward, from the ops that read it, and, backward, from the op that computes
it. So the forward walk from `t` has `t.op` only where that is reached again; the one from `t.op` has it always.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain, compress
from operator import attrgetter
from typing import Any

from ..graph.live import TFOp
from ..tf import elements
from . import util, wiring
from .faults import WrongValue, expected

__all__ = [
    "check_cios", "get_ops_ios", "compute_boundary_ts", "get_within_boundary_ops", "get_forward_walk_ops",
    "get_backward_walk_ops", "get_walks_intersection_ops", "get_walks_union_ops",
]  # fmt: skip


def inputs_of(ops: Iterable[Any]) -> list[Any]:
    """Returns the tensors that ops read, each once."""
    return list(_read_by(ops).values())


def _read_by(ops: Iterable[Any]) -> dict[int, Any]:
    read = list(chain.from_iterable(map(_INPUTS, ops)))
    return dict(zip(map(id, read), read, strict=True))


_INPUTS, _OUTPUTS = attrgetter("inputs"), attrgetter("outputs")


def check_cios(control_inputs: Any = False, control_outputs: Any = None, control_ios: Any = None) -> tuple[Any, Any]:
    """Returns the two that the three ways to ask for control edges mean.

    Args:
        control_inputs: follow control inputs.
        control_outputs: a `ControlOutputs`, to follow control outputs; None: do not.
        control_ios: a `ControlOutputs` that stands for both.

    Raises:
        TypeError: it is no `ControlOutputs`.
        ValueError: both are given.
    """
    if control_ios is not None:
        if not isinstance(control_ios, util.ControlOutputs):
            raise expected("control_ios=...", "a ControlOutputs", control_ios)
        if control_outputs is not None:
            raise WrongValue("control_ios=..., control_outputs=...", "both are given", "Give control_ios alone")
        control_inputs, control_outputs = True, control_ios
    elif control_outputs is not None and not isinstance(control_outputs, util.ControlOutputs):
        raise expected("control_outputs=...", "a ControlOutputs", control_outputs)
    if control_outputs is not None:
        control_outputs.update()
    return control_inputs, control_outputs


def _neighbours(op: TFOp, control_inputs: Any, control_outputs: Any) -> list[Any]:
    found = [t.op for t in op.inputs]
    for t in op.outputs:
        found += t.consumers()
    if control_outputs is not None:
        found += control_outputs.get(op)
    if control_inputs:
        found += op.control_inputs
    return found


def get_ops_ios(
    ops: Any, control_inputs: Any = False, control_outputs: Any = None, control_ios: Any = None
) -> list[Any]:
    """Returns the ops that stand next to ops: what computes their inputs and what reads their outputs.

    Args:
        ops: what can be made a list of ops.
        control_inputs, control_outputs, control_ios: see `check_cios`.
    """
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    found = (o for op in util.make_list_of_op(ops) for o in _neighbours(op, control_inputs, control_outputs))
    return list(dict.fromkeys(found))


def compute_boundary_ts(ops: Any) -> tuple[list[Any], list[Any], list[Any]]:
    """Returns the tensors that enter ops, that leave them, and that run inside, each in the order of the ops.

    A tensor that nothing reads leaves; one that is read both inside and outside leaves and is inside.
    """
    return boundary_of(util.make_list_of_op(ops))


def boundary_of(ops: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Returns the same of what is a list of ops of one graph."""
    read = _read_by(ops)
    computed = list(chain.from_iterable(map(_OUTPUTS, ops)))
    made = dict(zip(map(id, computed), computed, strict=True))
    if ops and len(ops) == len(made_in := ops[0].graph.get_operations()) and ops == made_in:
        return [], [made[key] for key in made if key not in read], list(read.values())  # nobody is outside
    inside = [t for key, t in read.items() if key in made]
    entering = [t for key, t in read.items() if key not in made] if len(inside) < len(read) else []
    own = set(ops)
    hidden = {id(t) for t in inside if own.issuperset(t.consumers())}
    return entering, [t for key, t in made.items() if key not in hidden], inside


def get_within_boundary_ops(
    ops: Any,
    seed_ops: Any,
    boundary_ops: Any = (),
    inclusive: bool = True,
    control_inputs: Any = False,
    control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Any]:
    """Returns the ops that are reached from seeds, along and against the edges, without crossing a boundary.

    Args:
        ops: the ops to stay within: a `tf.Graph` for all of it.
        seed_ops: ops to start from; a tensor stands for the op that computes it.
        boundary_ops: ops to stop at; a tensor stands for the op that computes it.
        inclusive: take the boundary ops that are reached, too.
        control_inputs, control_outputs, control_ios: see `check_cios`.

    Raises:
        ValueError: a seed is a boundary op.
    """
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    seeds, boundary = _ops_of(seed_ops), set(_ops_of(boundary_ops))
    whole = isinstance(ops, elements.Graph) and all(op.graph is ops for op in seeds[:1])
    ops = util.make_list_of_op(ops)
    both = [op.name for op in seeds if op in boundary]
    if both:
        raise WrongValue(
            f"get_within_boundary_ops(..., seed_ops=[{both[0]!r}])",
            "the boundary is intersecting with the seeds",
            "Start from ops inside of the boundary",
        )
    within, found, wave = None if whole else set(ops), set(seeds), list(seeds)
    plain = not control_inputs and control_outputs is None
    while wave:
        if plain and wiring.is_worth(len(found), seeds[0].graph):
            plain, known = False, wiring.wiring_of(seeds[0].graph)
            if known is not None:
                mask = known.around(seeds, boundary, within)
                if not inclusive:
                    mask[known.numbers(boundary)] = False
                hit = mask if whole else mask[known.numbers(ops)]
                return list(compress(ops, hit.tolist()))
        op = wave.pop()
        for near in _neighbours(op, control_inputs, control_outputs):
            if near in found or (within is not None and near not in within):
                continue
            if near not in boundary:
                wave.append(near)
            elif not inclusive:
                continue
            found.add(near)
    return [op for op in ops if op in found]


def _ops_of(tops: Any) -> list[Any]:
    """Ops; tensors stand for the ops that compute them."""
    if isinstance(tops, elements.Graph):
        return util.make_list_of_op(tops, allow_graph=False)
    tops = util.bare_list(tops)
    util.get_unique_graph(tops, none_if_empty=True)
    return list(dict.fromkeys(top.op if isinstance(top, elements.Tensor) else top for top in tops))


def _walk(
    seeds: list[Any],
    step: Callable[[Any], Iterable[Any]],
    inclusive: bool,
    within_ops: Any,
    within_ops_fn: Any,
    ready: Callable[[wiring.Wiring, list[Any], Any], Any] | None = None,
) -> wiring.Found:
    """The ops that a walk meets; once it has become a large one, by the edges that are kept of the graph."""
    within = None if within_ops is None else set(util.make_list_of_op(within_ops, allow_graph=False))
    first = [op for op in dict.fromkeys(seeds) if within is None or op in within]
    found = dict.fromkeys(first)
    wave = first
    while wave:
        if ready is not None and within_ops_fn is None and wiring.is_worth(len(found), first[0].graph):
            known, walk, ready = wiring.wiring_of(first[0].graph), ready, None
            if known is not None:
                order = walk(known, first, within)
                return wiring.Found(known, order if inclusive else order[len(first) :])
        fresh = []
        for op in wave:
            for near in step(op):
                if near in found or (within is not None and near not in within):
                    continue
                if within_ops_fn is not None and not within_ops_fn(near):
                    continue
                found[near] = None
                fresh.append(near)
        wave = fresh
    return wiring.Found(None, list(found) if inclusive else list(found)[len(first) :])


def _seeds(seeds: Any, of_tensors: Callable[[Any], list[Any]]) -> list[Any]:
    seeds = list(seeds) if util.is_iterable(seeds) else [seeds]
    if seeds and isinstance(seeds[0], elements.Tensor):
        return of_tensors(seeds)
    return util.make_list_of_op(seeds, allow_graph=False)


def get_forward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    stop_at_ts: Any = (),
    control_outputs: Any = None,
) -> list[Any]:
    """Returns the ops that need the seeds, nearest first.

    Args:
        seed_ops: ops; or tensors: then their consumers are the seeds.
        inclusive: take the seeds too.
        within_ops: ops to stay within; seeds outside of them are left out.
        within_ops_fn: a test that each further op must pass.
        stop_at_ts: tensors that are not followed.
        control_outputs: a `ControlOutputs`, to follow control edges too.
    """
    return _forward(seed_ops, inclusive, within_ops, within_ops_fn, stop_at_ts, control_outputs).ops


def _forward(
    seed_ops: Any,
    inclusive: bool,
    within_ops: Any,
    within_ops_fn: Any,
    stop_at_ts: Any = (),
    control_outputs: Any = None,
) -> wiring.Found:
    _, control_outputs = check_cios(False, control_outputs)
    stop = {id(t) for t in util.make_list_of_t(stop_at_ts)}

    def step(op: TFOp) -> Iterable[Any]:
        for t in op.outputs:
            if id(t) not in stop:
                yield from t.consumers()
        if control_outputs is not None:
            yield from control_outputs.get(op)

    def ready(known: wiring.Wiring, first: list[Any], within: Any) -> Any:
        return known.ahead_of(first, stop, within)

    seeds, plain = _seeds(seed_ops, util.get_consuming_ops), control_outputs is None
    return _walk(seeds, step, inclusive, within_ops, within_ops_fn, ready if plain else None)


def get_backward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    stop_at_ts: Any = (),
    control_inputs: Any = False,
) -> list[Any]:
    """Returns the ops that the seeds need, nearest first.

    Args:
        seed_ops: ops; or tensors: then the ops that compute them are the seeds.
        inclusive: take the seeds too.
        within_ops: ops to stay within; seeds outside of them are left out.
        within_ops_fn: a test that each further op must pass.
        stop_at_ts: tensors that are not followed.
        control_inputs: follow control inputs too.
    """
    return _backward(seed_ops, inclusive, within_ops, within_ops_fn, stop_at_ts, control_inputs).ops


def _backward(
    seed_ops: Any,
    inclusive: bool,
    within_ops: Any,
    within_ops_fn: Any,
    stop_at_ts: Any = (),
    control_inputs: Any = False,
) -> wiring.Found:
    stop = {id(t) for t in util.make_list_of_t(stop_at_ts)}

    def step(op: TFOp) -> Iterable[Any]:
        for t in op.inputs:
            if id(t) not in stop:
                yield t.op
        if control_inputs:
            yield from op.control_inputs

    def ready(known: wiring.Wiring, first: list[Any], within: Any) -> Any:
        return known.behind_of(first, stop, within)

    seeds, plain = _seeds(seed_ops, util.get_generating_ops), not control_inputs
    return _walk(seeds, step, inclusive, within_ops, within_ops_fn, ready if plain else None)


def _both(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool,
    backward_inclusive: bool,
    within: tuple[Any, Any],
    control: tuple[Any, Any, Any],
) -> tuple[wiring.Found, wiring.Found]:
    control_inputs, control_outputs = check_cios(*control)
    with wiring.one_look():
        ahead = _forward(forward_seed_ops, forward_inclusive, *within, control_outputs=control_outputs)
        behind = _backward(backward_seed_ops, backward_inclusive, *within, control_inputs=control_inputs)
    return ahead, behind


def get_walks_intersection_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    control_inputs: Any = False,
    control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Any]:
    """Returns the ops that both a forward and a backward walk reach; arguments as for the two walks."""
    ahead, behind = _both(forward_seed_ops, backward_seed_ops, forward_inclusive, backward_inclusive,
                          (within_ops, within_ops_fn), (control_inputs, control_outputs, control_ios))  # fmt: skip
    return ahead.also_in(behind)


def get_walks_union_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    control_inputs: Any = False,
    control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Any]:
    """Returns the ops that a forward or a backward walk reaches; arguments as for the two walks."""
    ahead, behind = _both(forward_seed_ops, backward_seed_ops, forward_inclusive, backward_inclusive,
                          (within_ops, within_ops_fn), (control_inputs, control_outputs, control_ios))  # fmt: skip
    return list(dict.fromkeys([*ahead.ops, *behind.ops]))
