"""Boundary: the verbs that mark the tensors between which a region lies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import SelectionError
from ..graph.graph import Graph
from ..graph.layers import ends
from ..graph.selection import Query, Selection
from ..words import counted, few
from .marks import Marks, ops_of
from .shown import boundary_text
from .stage import Stage
from .state import State


def mark_input(stage: Stage, state: State, tensor: str) -> State:
    """Marks a tensor as boundary input; a layer, or a box with one output, for that."""
    marks = state.marks
    for graph, one in _ends(stage, state, tensor, "mark_input"):
        marks = marks.with_input(graph, one)
    return _marked(stage, state, marks)


def mark_output(stage: Stage, state: State, tensor: str) -> State:
    """Marks a tensor as boundary output; a layer, or a box with one output, for that."""
    marks = state.marks
    for graph, one in _ends(stage, state, tensor, "mark_output"):
        marks = marks.with_output(graph, one)
    return _marked(stage, state, marks)


def unmark(stage: Stage, state: State, tensor: str) -> State:
    """Takes a tensor out of the boundary."""
    return _marked(stage, state, state.marks.without(tensor))


def clear_boundary(stage: Stage, state: State) -> State:
    """Takes all tensors out of the boundary."""
    return _marked(stage, state, Marks())


def boundary_of_selection(stage: Stage, state: State) -> State:
    """Marks the tensors that enter and leave what is selected."""
    if not state.view.selected:
        raise SelectionError("boundary_of_selection()", "nothing is selected", "Click a box first")
    chosen = stage.selection(state)
    if not chosen:
        ops_of(*stage.holding(state, "source", state.view.selected), "boundary_of_selection")
    return _marked(stage, state, Marks.around(chosen))


def add_leak(stage: Stage, state: State, tensor: str) -> State:
    """Makes a leak a boundary input."""
    return mark_input(stage, state, tensor)


def _ends(stage: Stage, state: State, tensor: str, verb: str) -> Iterator[tuple[Graph, Any]]:
    """The tensors that a name stands for, each with a graph that has it: calls unfolded, where it is inside of some."""
    base = stage.source.snapshot
    for one in ends(stage.around(base, [tensor]).graph, stage.layers(base), [tensor], f"{verb}({tensor!r})"):
        if str(one).endswith("/"):
            one = _only_output(stage, state, one, verb)
        yield stage.around(base, [str(getattr(one, "name", one))]).graph, one


def _only_output(stage: Stage, state: State, box: str, verb: str) -> str:
    """The tensor that leaves a box, where there is one."""
    tree, boxes = stage.holding(state, "source", [box])
    inside = Selection(tree.graph, ops_of(tree, boxes, verb), Query("select"))
    given = Marks.around(inside).outputs
    if len(given) != 1:
        told = f": {few(map(repr, given))}" if given else ""
        wrong = f"{counted(len(given), 'tensors')} leave {box.strip('~/')!r}{told}"
        instead = "Unfold it (Enter) and mark an op, or mark the boundary of what is selected (Shift+B)"
        raise SelectionError(f"{verb}({box!r})", wrong, instead)
    return given[0]


def _marked(stage: Stage, state: State, marks: Marks) -> State:
    state = state.but(marks=marks)
    region, problem = stage.region(state)
    if region is None:
        return state.saying(problem, "warn" if problem else "info")
    return state.saying(boundary_text(marks, region), "warn" if region.boundary.leaks else "info")
