"""Boundary: the verbs that mark the tensors between which a region lies."""

from __future__ import annotations

from ..errors import SelectionError
from ..graph.layers import ends
from .marks import Marks, ops_of
from .shown import boundary_text
from .stage import Stage
from .state import State


def mark_input(stage: Stage, state: State, tensor: str) -> State:
    """Marks a tensor as boundary input; a Keras layer, or a scope that is one, for its output."""
    graph, marks = stage.source.snapshot, state.marks
    for one in ends(graph, stage.layers(graph), [tensor], f"mark_input({tensor!r})"):
        marks = marks.with_input(graph, one)
    return _marked(stage, state, marks)


def mark_output(stage: Stage, state: State, tensor: str) -> State:
    """Marks a tensor as boundary output; a Keras layer, or a scope that is one, for its output."""
    graph, marks = stage.source.snapshot, state.marks
    for one in ends(graph, stage.layers(graph), [tensor], f"mark_output({tensor!r})"):
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
        ops_of(stage.outer(state, "source"), state.view.selected, "boundary_of_selection")
    return _marked(stage, state, Marks.around(chosen))


def add_leak(stage: Stage, state: State, tensor: str) -> State:
    """Makes a leak a boundary input."""
    return mark_input(stage, state, tensor)


def _marked(stage: Stage, state: State, marks: Marks) -> State:
    state = state.but(marks=marks)
    region, problem = stage.region(state)
    if region is None:
        return state.saying(problem, "warn" if problem else "info")
    return state.saying(boundary_text(marks, region), "warn" if region.boundary.leaks else "info")
