"""Selects ops and tensors by name, test, boundary or walk.

A walk reads the neighbors of each op from TensorFlow, which takes most of its time. If a graph is walked repeatedly,
its edges are cached. Each use of the cache checks that the inputs of all ops are still the same.

Measured with TensorFlow 2.21 on a graph of 60,000 ops: 30 ms instead of 75 ms for a repeated walk, 33 ms instead of 149
ms for the intersection of two walks, 34 ms instead of 127 ms for `get_within_boundary_ops`. `python -m benchmarks
graph_editor` has rows for these. Walks by chains of C calls over the live ops were not faster.

A forward walk from a tensor starts from its consumers, a backward walk from the op that computes it. So a forward walk
from `t` only contains `t.op` if a path leads back to it, unlike a walk from `t.op`. The time of a walk is linear in the
visited ops and edges.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from itertools import chain, compress
from operator import attrgetter, is_
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.concurrency import gc_paused
from ..graph.traversal import nearest_first
from ..graph.types import TFGraph, TFOp
from ..tf import graph_parts
from ..tf.edit.edit_in_place import journal
from ..tf.graph_parts import Graph, Tensor, input_marks
from .util import (
    ControlOutputs,
    Ops,
    Tensors,
    WrongValue,
    bare_list,
    check_type,
    concatenate_unique,
    get_consuming_ops,
    get_generating_ops,
    get_unique_graph,
    is_iterable,
    make_list_of_op,
    make_list_of_t,
    type_error,
)

#: A walk is large if it visits more than LARGE ops, and more than 1 / SHARE of the ops of the graph.
LARGE, SHARE = 4_000, 24
#: The number of large walks of a graph before its edges are cached; reading them takes as long as some walks.
FIRST = 2

Numbers = NDArray[np.int32]


class Wiring:
    """The ops of a graph by number, and their data edges.

    Args:
        graph: a `tf.Graph`.
    """

    def __init__(self, graph: TFGraph) -> None:
        self.graph = graph
        with gc_paused():
            self.ops: list[Any] = graph.get_operations()
            inputs = [op.inputs for op in self.ops]
            outputs = [op.outputs for op in self.ops]
            self._marks = input_marks(self.ops)
            tensors = list(chain.from_iterable(outputs))
            self._tensor = dict(zip(map(id, tensors), range(len(tensors)), strict=True))
            self._number = dict(zip(self.ops, range(len(self.ops)), strict=True))
            owner = np.repeat(np.arange(len(self.ops), dtype=np.int32), list(map(len, outputs)))
            operands = np.asarray([self._tensor[id(t)] for t in chain.from_iterable(inputs)], np.int32)
            rows = np.repeat(np.arange(len(self.ops), dtype=np.int32), list(map(len, inputs)))
            consumers = [t.consumers() for t in tensors]
            carry = np.repeat(np.arange(len(tensors), dtype=np.int32), list(map(len, consumers)))
            ends = np.asarray([self._number[op] for op in chain.from_iterable(consumers)], np.int32)
            # From an op, to an op, by a tensor; for a walk to the consumers, to the producers, and in both directions.
            edges = (carry, owner[carry], ends), (operands, rows, owner[operands])
            by, start, end = (np.concatenate(parts) for parts in zip(*edges, strict=True))
            order = np.argsort(start, kind="stable")
            self._edges = {True: edges[0], False: edges[1], None: (by[order], start[order], end[order])}

    def fresh(self) -> bool:
        """Returns whether all ops still have the inputs from the time of the cache; the graph must not have grown."""
        return all(map(is_, input_marks(self.ops), self._marks))

    def numbers(self, ops: Iterable[Any]) -> Numbers:
        """Returns the numbers of ops."""
        return np.fromiter((self._number[op] for op in ops), np.int32)

    def mask(self, ops: Iterable[Any] | Numbers) -> NDArray[np.bool_]:
        """Returns a mask of ops."""
        out = np.zeros(len(self.ops), np.bool_)
        out[ops if isinstance(ops, np.ndarray) else self.numbers(ops)] = True
        return out

    def walk(
        self, seeds: list[Any], forward: bool | None, stop: Iterable[int], within: Any, boundary: Iterable[Any] = ()
    ) -> Numbers:
        """Returns the ops that some ops lead to, nearest first, including these ops.

        Args:
            seeds: the ops to start from, without duplicates.
            forward: True for descendants, False for ancestors, None for both directions.
            stop: ids of tensors that are not followed.
            within: ops to stay within, or None.
            boundary: ops at which the walk stops.
        """
        by, rows, ends = self._edges[forward]
        keep = ~np.isin(by, [self._tensor[key] for key in stop if key in self._tensor]) & ~self.mask(boundary)[rows]
        if within is not None:
            keep &= self.mask(within)[ends]
        return nearest_first(rows[keep], ends[keep], self.numbers(seeds), len(self.ops))


class OpWalk:
    """The ops that a walk has visited, in order.

    Args:
        wiring: the cached edges that were used, or None.
        order: the numbers of its ops; without cached edges, the ops themselves.
    """

    def __init__(self, wiring: Wiring | None, order: Any) -> None:
        self.wiring, self.order = wiring, order

    @cached_property
    def ops(self) -> list[Any]:
        """The ops."""
        return self.order if self.wiring is None else [self.wiring.ops[i] for i in self.order.tolist()]

    def also_in(self, other: OpWalk) -> list[Any]:
        """Returns the ops that the other walk has visited, too."""
        if self.wiring is None or self.wiring is not other.wiring:
            members = set(other.ops)
            return [op for op in self.ops if op in members]
        return OpWalk(self.wiring, self.order[self.wiring.mask(other.order)[self.order]]).ops


def is_worth(count: int, graph: TFGraph) -> bool:
    """Returns whether a walk that has visited this number of ops is large."""
    return count > LARGE and count * SHARE > graph.version


def wiring_of(graph: TFGraph) -> Wiring | None:
    """Returns the cached edges of a graph for a large walk; None for the first `FIRST` large walks of the graph."""
    log = journal(graph)
    state = (graph.version, log.count)
    _, walks, wiring = log.wiring if log.wiring is not None and log.wiring[0] == state else (state, 0, None)
    if wiring is not None and not wiring.fresh():
        walks, wiring = 0, None
    elif wiring is None and walks >= FIRST and graph_parts.MARKS_INPUTS:
        wiring = Wiring(graph)
    log.wiring = (state, walks + 1, wiring)
    return wiring


__all__ = [
    "can_be_regex", "make_regex", "filter_ts", "filter_ts_from_regex", "filter_ops", "filter_ops_from_regex",
    "get_name_scope_ops", "check_cios", "get_ops_ios", "compute_boundary_ts", "get_within_boundary_ops",
    "get_forward_walk_ops", "get_backward_walk_ops", "get_walks_intersection_ops", "get_walks_union_ops", "select_ops",
    "select_ts", "select_ops_and_ts",
]  # fmt: skip


def can_be_regex(obj: object) -> bool:
    """Returns whether this is text or a compiled regular expression.

    Args:
        obj: any object.
    """
    return isinstance(obj, str | re.Pattern)


def make_regex(obj: str | re.Pattern[str]) -> re.Pattern[str]:
    """Returns a compiled regular expression.

    Args:
        obj: a text, or a compiled regular expression.

    Raises:
        ValueError: `obj` is neither text nor a regular expression.
    """
    if not can_be_regex(obj):
        raise type_error("make_regex(...)", "text or a regular expression", obj, WrongValue)
    return re.compile(obj)


def _get_input_ts(ops: Any) -> list[Any]:
    """Returns the tensors that ops read, without duplicates. Existing programs use this private name."""
    return list(_inputs_of(make_list_of_op(ops)).values())


def _get_output_ts(ops: Any) -> list[Any]:
    """Returns the tensors that ops compute. Existing programs use this private name."""
    return [t for op in make_list_of_op(ops) for t in op.outputs]


def filter_ts(ops: Ops, positive_filter: Any) -> list[Any]:
    """Returns the tensors that ops read or compute and that pass a test.

    Args:
        ops: ops, or a graph.
        positive_filter: a test for tensors, or True for all tensors.
    """
    ops = make_list_of_op(ops)
    ts = concatenate_unique(_get_input_ts(ops), _get_output_ts(ops))
    return ts if positive_filter is True else [t for t in ts if positive_filter(t)]


def filter_ts_from_regex(ops: Ops, regex: str | re.Pattern[str]) -> list[Any]:
    r"""Returns the tensors around ops whose names match a regular expression such as ``r"^foo(/.*)?:\d+$"``.

    Args:
        ops: ops, or a graph.
        regex: a regular expression, as text or compiled.
    """
    pattern = make_regex(regex)
    return filter_ts(ops, lambda t: pattern.search(t.name))


def filter_ops(ops: Ops, positive_filter: Any) -> list[Any]:
    """Returns the ops that pass a test.

    Args:
        ops: ops, or a graph.
        positive_filter: a test for ops, or True for all ops.
    """
    ops = make_list_of_op(ops)
    return ops if positive_filter is True else [op for op in ops if positive_filter(op)]


def filter_ops_from_regex(ops: Ops, regex: str | re.Pattern[str]) -> list[Any]:
    """Returns the ops whose names match a regular expression such as ``"^foo(/.*)?$"``.

    Args:
        ops: ops, or a graph.
        regex: a regular expression, as text or compiled.
    """
    pattern = make_regex(regex)
    return filter_ops(ops, lambda op: pattern.search(op.name))


def get_name_scope_ops(ops: Ops, scope: str) -> list[Any]:
    """Returns the ops in a name scope. The scope is not a regular expression: ``a.b`` does not match ``axb``.

    Args:
        ops: ops, or a graph.
        scope: the name scope.
    """
    return filter_ops_from_regex(ops, f"^{re.escape(scope.removesuffix('/'))}(/.*)?$")


def select_ops(*args: Any, **kwargs: Any) -> list[Any]:
    """Returns ops by regular expression, or from lists; tensors among the arguments are left out.

    Args:
        args: regular expressions, ops, or lists of ops. Expressions that begin with ``(?#ts)`` are ignored.
        kwargs: `graph`, needed for regular expressions; `positive_filter`, a test; `restrict_ops_regex`, true to use
            only expressions that begin with ``(?#ops)``.

    Raises:
        TypeError: an argument has another type.
        ValueError: a keyword is unknown, or an expression is given without a graph.
    """
    return _select("ops", args, kwargs, filter_ops_from_regex, lambda arg: make_list_of_op(arg, ignore_ts=True))


def select_ts(*args: Any, **kwargs: Any) -> list[Any]:
    """Returns tensors by regular expression, or from lists; ops among the arguments are left out.

    Args:
        args: regular expressions, tensors, or lists of tensors. Expressions that begin with ``(?#ops)`` are ignored.
        kwargs: `graph`, needed for regular expressions; `positive_filter`, a test; `restrict_ts_regex`, true to use
            only expressions that begin with ``(?#ts)``.

    Raises:
        TypeError: an argument has another type.
        ValueError: a keyword is unknown, or an expression is given without a graph.
    """
    return _select("ts", args, kwargs, filter_ts_from_regex, lambda arg: make_list_of_t(arg, ignore_ops=True))


_KEYWORDS = ("graph", "positive_filter", "restrict_ops_regex", "restrict_ts_regex")


def _select(kind: str, args: Any, kwargs: dict[str, Any], by_regex: Any, from_list: Any) -> list[Any]:
    other = "ts" if kind == "ops" else "ops"
    for key in kwargs:
        if key not in _KEYWORDS:
            raise WrongValue(f"select_{kind}(..., {key}=...)", f"wrong keyword argument: {key}",
                             f"Choose one of {', '.join(_KEYWORDS)}")  # fmt: skip
    graph, test = kwargs.get("graph"), kwargs.get("positive_filter")
    if graph is not None:
        check_type(f"select_{kind}(..., graph=...)", graph, Graph)
    tops: list[Any] = []
    for arg in args:
        if can_be_regex(arg):
            if graph is None:
                raise WrongValue(f"select_{kind}({arg!r})", "a regular expression needs a graph to look in",
                                 "Use the keyword argument 'graph'")  # fmt: skip
            regex = make_regex(arg)
            applies = not kwargs.get(f"restrict_{kind}_regex") or regex.pattern.startswith(f"(?#{kind})")
            if not applies or regex.pattern.startswith(f"(?#{other})"):
                continue
            tops += by_regex(graph, regex)
        else:
            tops += from_list(arg)
    tops = concatenate_unique([], tops)
    return tops if test is None else [top for top in tops if test(top)]


def select_ops_and_ts(*args: Any, **kwargs: Any) -> tuple[list[Any], list[Any]]:
    """Returns ops and tensors. See `select_ops`.

    Args:
        args: ops, tensors, or regular expressions for names; expressions for tensors begin with ``(?#ts)``.
        kwargs: keywords of both `select_ops` and `select_ts`: ``graph``, and filters.
    """
    ops = select_ops(*args, restrict_ops_regex=False, **kwargs)
    return ops, select_ts(*args, restrict_ts_regex=True, **kwargs)


# -- boundaries ------------------------------------------------------------------------------------


def _inputs_of(ops: Iterable[Any]) -> dict[int, Any]:
    return _by_id(chain.from_iterable(map(_INPUTS, ops)))


def _by_id(tensors: Iterable[Any]) -> dict[int, Any]:
    items = list(tensors)
    return dict(zip(map(id, items), items, strict=True))


_INPUTS, _OUTPUTS = attrgetter("inputs"), attrgetter("outputs")


def check_cios(
    control_inputs: bool = False,
    control_outputs: ControlOutputs | None = None,
    control_ios: ControlOutputs | None = None,
) -> tuple[Any, Any]:
    """Converts three arguments about control edges to two: `control_inputs` and `control_outputs`.

    Args:
        control_inputs: whether to follow control inputs.
        control_outputs: a `ControlOutputs`, to follow control outputs; None to not follow them.
        control_ios: a `ControlOutputs`, to follow both.

    Raises:
        TypeError: an argument is not a `ControlOutputs`.
        ValueError: both `control_outputs` and `control_ios` are given.
    """
    if control_ios is not None:
        check_type("control_ios=...", control_ios, ControlOutputs)
        if control_outputs is not None:
            raise WrongValue("control_ios=..., control_outputs=...", "both are given", "Give control_ios alone")
        control_inputs, control_outputs = True, control_ios
    if control_outputs is not None:
        check_type("control_outputs=...", control_outputs, ControlOutputs)
        control_outputs.update()
    return control_inputs, control_outputs


def _neighbors(op: TFOp, control_inputs: Any, control_outputs: Any) -> list[Any]:
    neighbors = [t.op for t in op.inputs]
    for t in op.outputs:
        neighbors += t.consumers()
    if control_outputs is not None:
        neighbors += control_outputs.get(op)
    if control_inputs:
        neighbors += op.control_inputs
    return neighbors


def get_ops_ios(
    ops: Ops,
    control_inputs: bool = False,
    control_outputs: ControlOutputs | None = None,
    control_ios: ControlOutputs | None = None,
) -> list[Any]:
    """Returns the neighbors of ops: the producers of their inputs and the consumers of their outputs.

    Args:
        ops: ops, or a graph.
        control_inputs, control_outputs, control_ios: see `check_cios`.
    """
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    neighbors = (o for op in make_list_of_op(ops) for o in _neighbors(op, control_inputs, control_outputs))
    return list(dict.fromkeys(neighbors))


def compute_boundary_ts(ops: Ops) -> tuple[list[Any], list[Any], list[Any]]:
    """Returns the tensors that enter some ops, that leave them, and that are inside, in the order of the ops.

    A tensor without consumers leaves. A tensor with consumers both inside and outside leaves, and is inside.

    Args:
        ops: the ops.
    """
    return boundary_of(make_list_of_op(ops))


def boundary_of(ops: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Returns the same as `compute_boundary_ts`, for a list of ops of one graph."""
    operands = _inputs_of(ops)
    outputs = _by_id(chain.from_iterable(map(_OUTPUTS, ops)))
    if ops and len(ops) == len(made_in := ops[0].graph.get_operations()) and ops == made_in:
        return (
            [],
            [outputs[key] for key in outputs if key not in operands],
            list(operands.values()),
        )  # there is no op outside
    inside = [t for key, t in operands.items() if key in outputs]
    entering = [t for key, t in operands.items() if key not in outputs] if len(inside) < len(operands) else []
    own = set(ops)
    hidden = {id(t) for t in inside if own.issuperset(t.consumers())}
    return entering, [t for key, t in outputs.items() if key not in hidden], inside


# -- walks ------------------------------------------------------------------------------------------


def get_within_boundary_ops(
    ops: Ops,
    seed_ops: Ops,
    boundary_ops: Ops = (),
    inclusive: bool = True,
    control_inputs: bool = False,
    control_outputs: ControlOutputs | None = None,
    control_ios: ControlOutputs | None = None,
) -> list[Any]:
    """Returns the ops that are reached from some ops, in both directions, without crossing a boundary.

    Args:
        ops: the ops to stay within, or a `tf.Graph` for all its ops.
        seed_ops: ops to start from; a tensor means its op.
        boundary_ops: ops to stop at; a tensor means its op.
        inclusive: whether to include the boundary ops that are reached.
        control_inputs, control_outputs, control_ios: see `check_cios`.

    Raises:
        ValueError: an op to start from is a boundary op.
    """
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    seeds, boundary = _ops_of(seed_ops), set(_ops_of(boundary_ops))
    is_graph = isinstance(ops, Graph) and all(op.graph is ops for op in seeds[:1])
    ops = make_list_of_op(ops)
    both = [op.name for op in seeds if op in boundary]
    if both:
        raise WrongValue(
            f"get_within_boundary_ops(..., seed_ops=[{both[0]!r}])",
            "the boundary is intersecting with the seeds",
            "Start from ops inside of the boundary",
        )
    within, reached, wave = None if is_graph else set(ops), set(seeds), list(seeds)
    plain = not control_inputs and control_outputs is None
    while wave:
        if plain and is_worth(len(reached), seeds[0].graph):
            plain, wiring = False, wiring_of(seeds[0].graph)
            if wiring is not None:
                mask = wiring.mask(wiring.walk(seeds, None, (), within, boundary))
                if not inclusive:
                    mask[wiring.numbers(boundary)] = False
                hit = mask if is_graph else mask[wiring.numbers(ops)]
                return list(compress(ops, hit.tolist()))
        op = wave.pop()
        for near in _neighbors(op, control_inputs, control_outputs):
            if near in reached or (within is not None and near not in within):
                continue
            if near not in boundary:
                wave.append(near)
            elif not inclusive:
                continue
            reached.add(near)
    return [op for op in ops if op in reached]


def _ops_of(elements: Any) -> list[Any]:
    """Returns ops; a tensor means its op."""
    if isinstance(elements, Graph):
        return make_list_of_op(elements, allow_graph=False)
    elements = bare_list(elements)
    get_unique_graph(elements, none_if_empty=True)
    return list(dict.fromkeys(top.op if isinstance(top, Tensor) else top for top in elements))


def _walk(
    seed_ops: Any,
    forward: bool,
    control: Any,
    inclusive: bool,
    within_ops: Any,
    within_ops_fn: Any,
    stop_at_ts: Any = (),
    wiring: Wiring | None = None,
) -> OpWalk:
    """Returns the ops that a walk visits. A large walk may use the cached edges of the graph.

    Args:
        seed_ops, inclusive, within_ops, within_ops_fn, stop_at_ts: see `get_forward_walk_ops`.
        forward: whether the walk leads to descendants.
        control: for a forward walk, the control outputs to follow; otherwise whether to follow control inputs.
        wiring: the cached edges that an earlier walk of the same call has used.
    """
    seeds = list(seed_ops) if is_iterable(seed_ops) else [seed_ops]
    if seeds and isinstance(seeds[0], Tensor):
        seeds = get_consuming_ops(seeds) if forward else get_generating_ops(seeds)
    else:
        seeds = make_list_of_op(seeds, allow_graph=False)
    after = None if not control else control.get if forward else attrgetter("control_inputs")
    within = None if within_ops is None else set(make_list_of_op(within_ops, allow_graph=False))
    stop = {id(t) for t in make_list_of_t(stop_at_ts)}
    first = [op for op in dict.fromkeys(seeds) if within is None or op in within]
    reached, wave = dict.fromkeys(first), first
    plain = not control and within_ops_fn is None
    while wave:
        graph = first[0].graph
        if plain and (wiring is not None or is_worth(len(reached), graph)):
            plain, wiring = False, wiring if wiring is not None and wiring.graph is graph else wiring_of(graph)
            if wiring is not None:
                order = wiring.walk(first, forward, stop, within)
                return OpWalk(wiring, order if inclusive else order[len(first) :])
        fresh = []
        for op in wave:
            for near in _next(op, forward, after, stop):
                if near in reached or (within is not None and near not in within):
                    continue
                if within_ops_fn is not None and not within_ops_fn(near):
                    continue
                reached[near] = None
                fresh.append(near)
        wave = fresh
    return OpWalk(None, list(reached) if inclusive else list(reached)[len(first) :])


def _next(op: TFOp, forward: bool, control: Callable[[Any], Iterable[Any]] | None, stop: set[int]) -> Iterator[Any]:
    for t in op.outputs if forward else op.inputs:
        if id(t) not in stop:
            yield from t.consumers() if forward else (t.op,)
    if control is not None:
        yield from control(op)


def get_forward_walk_ops(
    seed_ops: Ops | Tensors,
    inclusive: bool = True,
    within_ops: Ops | None = None,
    within_ops_fn: Callable[[TFOp], bool] | None = None,
    stop_at_ts: Tensors | None = (),
    control_outputs: ControlOutputs | None = None,
) -> list[Any]:
    """Returns the descendants of some ops, nearest first.

    Args:
        seed_ops: the ops to start from; or tensors, to start from their consumers.
        inclusive: whether to include the ops to start from.
        within_ops: ops to stay within; starting ops outside of them are left out.
        within_ops_fn: a test that further ops must pass.
        stop_at_ts: tensors that are not followed.
        control_outputs: a `ControlOutputs`, to follow control edges too.
    """
    _, control_outputs = check_cios(False, control_outputs)
    return _walk(seed_ops, True, control_outputs, inclusive, within_ops, within_ops_fn, stop_at_ts).ops


def get_backward_walk_ops(
    seed_ops: Ops | Tensors,
    inclusive: bool = True,
    within_ops: Ops | None = None,
    within_ops_fn: Callable[[TFOp], bool] | None = None,
    stop_at_ts: Tensors | None = (),
    control_inputs: bool = False,
) -> list[Any]:
    """Returns the ancestors of some ops, nearest first.

    Args:
        seed_ops: the ops to start from; or tensors, to start from the ops that compute them.
        inclusive: whether to include the ops to start from.
        within_ops: ops to stay within; starting ops outside of them are left out.
        within_ops_fn: a test that further ops must pass.
        stop_at_ts: tensors that are not followed.
        control_inputs: whether to follow control inputs too.
    """
    return _walk(seed_ops, False, control_inputs, inclusive, within_ops, within_ops_fn, stop_at_ts).ops


def _both(
    seed_ops: tuple[Any, Any], inclusive: tuple[bool, bool], within: tuple[Any, Any], control: tuple[Any, Any, Any]
) -> tuple[OpWalk, OpWalk]:
    """Returns the ops that a forward and a backward walk visit."""
    control_inputs, control_outputs = check_cios(*control)
    ahead = _walk(seed_ops[0], True, control_outputs, inclusive[0], *within)
    return ahead, _walk(seed_ops[1], False, control_inputs, inclusive[1], *within, wiring=ahead.wiring)


def get_walks_intersection_ops(
    forward_seed_ops: Ops | Tensors,
    backward_seed_ops: Ops | Tensors,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Ops | None = None,
    within_ops_fn: Callable[[TFOp], bool] | None = None,
    control_inputs: bool = False,
    control_outputs: ControlOutputs | None = None,
    control_ios: ControlOutputs | None = None,
) -> list[Any]:
    """Returns the ops that both a forward and a backward walk visit.

    Args:
        forward_seed_ops: ops or tensors to start the forward walk from.
        backward_seed_ops: ops or tensors to start the backward walk from.
        forward_inclusive: whether to include the ops that the forward walk starts from.
        backward_inclusive: whether to include the ops that the backward walk starts from.
        within_ops: ops to stay within. Default: the whole graph.
        within_ops_fn: a test that further ops must pass.
        control_inputs: whether the backward walk follows control inputs.
        control_outputs: a `ControlOutputs`, for the forward walk to follow; None to not follow control edges.
        control_ios: a `ControlOutputs`, for both walks.
    """
    ahead, behind = _both((forward_seed_ops, backward_seed_ops), (forward_inclusive, backward_inclusive),
                          (within_ops, within_ops_fn), (control_inputs, control_outputs, control_ios))  # fmt: skip
    return ahead.also_in(behind)


def get_walks_union_ops(
    forward_seed_ops: Ops | Tensors,
    backward_seed_ops: Ops | Tensors,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Ops | None = None,
    within_ops_fn: Callable[[TFOp], bool] | None = None,
    control_inputs: bool = False,
    control_outputs: ControlOutputs | None = None,
    control_ios: ControlOutputs | None = None,
) -> list[Any]:
    """Returns the ops that a forward or a backward walk visits.

    Args:
        forward_seed_ops: ops or tensors to start the forward walk from.
        backward_seed_ops: ops or tensors to start the backward walk from.
        forward_inclusive: whether to include the ops that the forward walk starts from.
        backward_inclusive: whether to include the ops that the backward walk starts from.
        within_ops: ops to stay within. Default: the whole graph.
        within_ops_fn: a test that further ops must pass.
        control_inputs: whether the backward walk follows control inputs.
        control_outputs: a `ControlOutputs`, for the forward walk to follow; None to not follow control edges.
        control_ios: a `ControlOutputs`, for both walks.
    """
    ahead, behind = _both((forward_seed_ops, backward_seed_ops), (forward_inclusive, backward_inclusive),
                          (within_ops, within_ops_fn), (control_inputs, control_outputs, control_ios))  # fmt: skip
    return list(dict.fromkeys([*ahead.ops, *behind.ops]))
