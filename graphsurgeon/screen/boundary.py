"""Boundary: the verbs that mark the tensors between which a region lies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from ..errors import LayoutError, SelectionError
from ..graph.cuts import cuts
from ..graph.graph import Graph
from ..graph.layers import ends
from ..graph.names import tensor_name
from ..graph.selection import Query, Selection
from ..words import counted, few
from .marks import Marks, ops_of
from .shown import boundary_shown, boundary_text, leaked
from .stage import Stage
from .state import State


def mark_input(stage: Stage, state: State, tensor: str) -> State:
    """Marks a tensor as boundary input; a layer, or a box with one output, for that.

    Args:
        tensor: the name of the tensor, layer or box.
    """
    marks = state.marks
    for graph, one in _ends(stage, state, tensor, "mark_input"):
        marks = marks.with_input(graph, one)
    return _marked(stage, state, marks)


def mark_output(stage: Stage, state: State, tensor: str) -> State:
    """Marks a tensor as boundary output; a layer, or a box with one output, for that.

    Args:
        tensor: the name of the tensor, layer or box.
    """
    marks = state.marks
    for graph, one in _ends(stage, state, tensor, "mark_output"):
        marks = marks.with_output(graph, one)
    return _marked(stage, state, marks)


def unmark(stage: Stage, state: State, tensor: str) -> State:
    """Takes a tensor out of the boundary.

    Args:
        tensor: the name of the tensor.
    """
    return _marked(stage, state, state.marks.without(tensor))


def clear_boundary(stage: Stage, state: State) -> State:
    """Takes all tensors out of the boundary."""
    return _marked(stage, state, Marks())


def boundary_of_selection(stage: Stage, state: State) -> State:
    """Marks the tensors that enter and leave the selection."""
    if not state.view.selected:
        raise SelectionError("boundary_of_selection()", "nothing is selected", "Click a box first")
    chosen = stage.selection(state)
    if not chosen:
        ops_of(*stage.holding(state, "source", state.view.selected), "boundary_of_selection")
    return _marked(stage, state, Marks.around(chosen))


def set_boundary(stage: Stage, state: State, inputs: list[str], outputs: list[str]) -> State:
    """Makes these tensors the boundary, and no others.

    Args:
        inputs, outputs: names of tensors.
    """
    marks, base = Marks(), stage.source.snapshot
    for tensor in inputs:
        marks = marks.with_input(stage.around(base, [tensor]).graph, tensor)
    for tensor in outputs:
        marks = marks.with_output(stage.around(base, [tensor]).graph, tensor)
    return _marked(stage, state, marks)


def suggest_boundaries(stage: Stage, state: State) -> tuple[State, list[dict[str, Any]]]:
    """Suggests boundaries around the selection: directly around it, and around it at edges that few tensors cross.

    Returns:
        up to four, the nearest first: the tensors, a line of text, and the boxes that would be in the region.
    """
    if not state.view.selected:
        raise SelectionError("suggest_boundaries()", "nothing is selected", "Click a box first")
    tree, boxes = stage.holding(state, "source", state.view.selected)
    mask = ops_of(tree, boxes, "suggest_boundaries")
    state = stage.settled(state)
    with suppress(LayoutError):  # without a picture there are no boxes to highlight
        stage.draw(state, "source")
    own = Marks.around(stage.selection(state))
    found = [own, *(Marks(cut.inputs, cut.outputs) for cut in cuts(tree.graph, mask))]
    listed = []
    for marks in dict.fromkeys(found):
        region = stage.region(state.but(marks=marks))[0]
        if region is None:
            continue
        shown = boundary_shown(tree.graph, marks, region, "", stage.panes["source"].scene, stage.spots(state, region))
        ends = [few(ends, 2) or "nothing" for ends in (marks.inputs, marks.outputs)]
        lead = "of the selection: " if marks == own else ""
        text = f"{lead}{len(marks.inputs)} in, {len(marks.outputs)} out, {counted(len(region), 'ops')}"
        listed.append({**shown, "text": f"{text}: {ends[0]} → {ends[1]}"})
    return state, listed


def add_leak(stage: Stage, state: State, tensor: str) -> State:
    """Makes a leak a boundary input.

    Args:
        tensor: the name of the tensor that leaks.
    """
    return mark_input(stage, state, tensor)


def include(stage: Stage, state: State, tensor: str) -> State:
    """Takes the producers of a leak into the region, up to the boundary inputs.

    Args:
        tensor: the name of the tensor that leaks; or ``^op``, for an op that the region waits for.
    """
    marks, request = state.marks.without(tensor), f"include({tensor!r})"
    if waited := tensor.startswith("^"):
        stage.around(stage.source.snapshot, [tensor[1:]]).graph.find(tensor[1:], request)
    else:
        stage.around(stage.source.snapshot, [tensor]).graph.tensor(tensor_name(tensor), request)
    name = tensor if waited else tensor_name(tensor)
    return _marked(stage, state, replace(marks, included=(*marks.included, name)))


def swap_boundary(stage: Stage, state: State) -> State:
    """Swaps the boundary inputs and outputs, if they were marked the wrong way round."""
    return _marked(stage, state, state.marks.swapped)


def _ends(stage: Stage, state: State, tensor: str, verb: str) -> Iterator[tuple[Graph, Any]]:
    """The tensors of a name, each with a graph that has it: calls unfolded, if it is inside of some."""
    base = stage.source.snapshot
    for one in ends(stage.around(base, [tensor]).graph, stage.layers(base), [tensor], f"{verb}({tensor!r})"):
        if str(one).endswith("/"):
            one = only_output(stage, state, one, verb)
        yield stage.around(base, [str(getattr(one, "name", one))]).graph, one


def only_output(stage: Stage, state: State, box: str, verb: str, pane: str = "source") -> str:
    """Returns the tensor that leaves a box.

    Raises:
        SelectionError: if not exactly one tensor leaves the box, or the box does not exist.
    """
    tree, boxes = stage.holding(state, pane, [box])
    inside = Selection(tree.graph, ops_of(tree, boxes, verb), Query("select"))
    given = Marks.around(inside).outputs
    if len(given) != 1:
        listed = f": {few(map(repr, given))}" if given else ""
        problem = f"{counted(len(given), 'tensors')} leave {box.strip('~/')!r}{listed}"
        suggestion = "Unfold it (Enter) and mark an op, or mark the boundary of the selection (Shift+B)"
        raise SelectionError(f"{verb}({box!r})", problem, suggestion)
    return given[0]


def _marked(stage: Stage, state: State, marks: Marks) -> State:
    state = state.but(marks=marks)
    region, problem = stage.region(state)
    if region is None:
        return state.saying(problem, "warn" if marks.outputs else "info")  # an output to come is the next step
    return state.saying(boundary_text(marks, region), "warn" if leaked(region) else "info")
