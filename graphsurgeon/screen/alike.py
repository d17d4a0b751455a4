"""Alike: finds and replaces all parts of a graph that are similar to the selection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..errors import PlanError
from ..graph.match.match import Matches, match
from ..graph.selection import Query, Selection, listed
from ..view.tree import Tree, ops_named
from ..words import counted, few
from .drafts import edited, without_last
from .folds import select
from .marks import ops_of
from .shown import hits_shown
from .stage import Stage
from .state import State

#: For more ops than these the search for the nearest miss takes seconds, and its result is of little use.
_SMALL = 100


def find_like(stage: Stage, state: State, names: Sequence[str]) -> tuple[State, dict[str, Any]]:
    """Finds all parts of the source that are similar to some boxes together, and selects them.

    Args:
        names: boxes of the source pane. Their ops, with the edges between them, are the pattern: the types
            count, not the names, attributes or constants. For boxes inside of calls the search is in the same function.

    Returns:
        how many places in ``count``, how many ops in ``ops``, in ``boxes`` how many of them each box holds that is
        not selected itself, and in ``near`` the nearest miss, in which at least half of the ops fit. It is
        given for up to 100 ops.

    Raises:
        SelectionError: there is no such box, or the boxes are not connected.
    """
    tree, inside = stage.holding(state, "source", names)
    graph, chosen = tree.graph, _selection(tree, inside, "find_like")
    found = match(graph, stage.facts.pattern(chosen))
    small = len(chosen) <= _SMALL
    best, ops = found.nearest() if small else None, found.selection
    near = str(best) if best is not None and 2 * len(best.ops) >= best.of else ""
    stage.draw(state, "source")
    at = np.flatnonzero(ops.mask)
    spots = stage.around(stage.graph(state, "source"), inside).seen_in(stage.shown(state, "source"))[at]
    boxes = hits_shown(graph, at.tolist(), stage.panes["source"].scene, spots)["boxes"]
    selected = _as_boxes(tree, ops, boxes)
    boxes = {name: count for name, count in boxes.items() if name not in selected}
    state = select(stage, state, selected, "set").saying(_message(found, len(ops), near or ("" if small else None)))
    return state, {"count": len(found), "ops": len(ops), "boxes": boxes, "near": near}


def replace(
    stage: Stage, state: State, names: Sequence[str], by: str | Callable[..., Any], external: str = "refuse"
) -> State:
    """Replaces all parts similar to some boxes together by an op, or by the ops that a function makes.

    Args:
        names: boxes whose ops, with the edges between them, are the pattern.
        by: an op type of as many inputs and outputs, such as ``"Softplus"``; or a Python function, as for
            `Plan.replace`.
        external: the effect on places with inner tensors that other ops read: ``refuse`` or ``keep``.

    Raises:
        PlanError: an op of the boxes is made by the plan itself.
        SelectionError: there is no such box, or the boxes are not connected.
    """
    old, inside = stage.holding_of(state, stage.draft(state).base, names)
    now, there = stage.holding(state, "destination", names)
    for name, was, box in zip(names, inside, there, strict=True):
        if ops_named(old, was) is None and ops_named(now, box) is not None:
            raise PlanError(f"replace({name!r})", f"{name!r} is made by this plan", "Apply the plan first")
    chosen = _selection(old, inside, "replace")
    more: dict[str, Any] = {} if external == "refuse" else {"external": external}
    word = by if isinstance(by, str) else getattr(by, "__name__", "a function")
    plan = stage.draft(state).replace(chosen, by, **more)
    before = len(without_last(plan).effect.replaced)
    count = counted(len(plan.effect.replaced) - before, "places")
    return edited(stage, state, plan, f"{count} like {few(chosen.names)} will be replaced by {word}")


def _selection(tree: Tree, names: Sequence[str], verb: str) -> Selection:
    """The ops of all boxes of these names; a scope alone stays one in code."""
    graph, mask = tree.graph, ops_of(tree, names, verb)
    if len(names) == 1 and names[0].endswith("/") and not names[0].startswith("~"):
        return Selection(graph, mask, Query("select", (("scope", names[0].rstrip("/")),)))
    return listed(graph, mask)


def _as_boxes(tree: Tree, ops: Selection, boxes: dict[str, int]) -> list[str]:
    """Names of boxes that hold nothing else, and of the other ops."""
    left, out = ops.mask.copy(), []
    for name in boxes:
        held = ops_named(tree, name)
        if held is not None and (held <= ops.mask).all():
            out.append(name)
            left &= ~held
    return [*out, *(tree.graph.names[i] for i in np.flatnonzero(left).tolist())]


def _message(found: Matches, ops: int, near: str | None) -> str:
    lines = [f"{counted(len(found), 'places')} like this, {counted(ops, 'ops')}"]
    if near is not None:
        lines.append(f"nearest miss: {near}" if near else "nothing else is similar")
    lines += [f"undecided for {counted(found.undecided, 'ops')}"] if found.undecided else []
    return " · ".join(lines)
