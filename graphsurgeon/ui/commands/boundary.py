"""Commands that mark the boundary of a region, suggest boundaries, and find paths."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any

import numpy as np

from ...errors import LayoutError, SelectionError, counted, few
from ...graph.boundary import Tensor
from ...graph.control_flow import context_fault
from ...graph.explain import link_between
from ...graph.graph import Graph, Ints, Mask
from ...graph.layers import expand_layers
from ...graph.names import scopes_around, shared_scope, tensor_name
from ...graph.rewiring import TURNING
from ...graph.selection import Query, Selection, selection_from
from ...graph.training import Gradients
from ...graph.traversal import backward, forward, reachable_mask, shortest_between
from ...graph.variables import FEED_TYPES
from ...view import page_types
from ..page_data import boundary_data, boundary_text, leak_count
from ..render_context import RenderContext
from ..state import Marks, State, ops_of
from .specs import Names, PaneName, Text, edit, look

_CUTS_PER_SIDE = 4
"""The number of places that are tried above, and below: the nearest one, and the narrowest ones."""


@dataclass(frozen=True)
class Cut:
    """A boundary around some ops.

    Args:
        inputs, outputs: the names of the tensors that enter and leave.
        ops: the number of ops between them that depend on an input of the model.
        has_known_rank: whether the rank of all these tensors is known.
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    ops: int
    has_known_rank: bool = True

    @property
    def width(self) -> int:
        """The number of tensors that cross the boundary."""
        return len(self.inputs) + len(self.outputs)


def cuts(graph: Graph, mask: Mask, limit: int = 3) -> list[Cut]:
    """Returns boundaries around some ops, the nearest first. Fewer tensors cross each further boundary.

    Only fed tensors and tensors computed from them count, without constants, variables, gradients and updates. If there
    are fewer boundaries than `limit`, boundaries of name scopes around the ops are added.

    Args:
        graph: the snapshot.
        mask: the ops.
        limit: the largest number of boundaries.

    Example:
        >>> ops = [("a", "Neg", ["x"]), ("b", "Exp", ["a"]), ("c", "Add", ["a", "b"]), ("d", "Exp", ["c"])]
        >>> g = Graph.from_ops([("x", "Placeholder", []), *ops])
        >>> [(cut.inputs, cut.outputs) for cut in cuts(g, g.mask([2]))]
        [(('a:0',), ('b:0',))]
        >>> [(cut.inputs, cut.outputs) for cut in cuts(g, g.mask([1, 2]))]
        [(('x:0',), ('a:0', 'b:0')), (('x:0',), ('c:0',))]
    """
    flow = _Flow(graph)
    inside = flow.convex_closure(mask & flow.ops & ~flow.feeds)
    if not inside.any():
        return []
    ways = product(flow.cuts_above(inside), flow.cuts_below(inside))
    candidates = [cut for into, out in ways if (cut := flow.cut(inside, into, out)) is not None]
    out = _narrower(candidates)[:limit]
    for scope in _scopes(graph, inside):
        if len(out) == limit:
            break
        around = flow.convex_closure(graph.scope_mask(scope) & flow.ops & ~flow.feeds)
        cut = flow.cut(around, flow.entering_tensors(around), flow.leaving_tensors(around))
        if cut is not None and (cut.inputs, cut.outputs) not in [(c.inputs, c.outputs) for c in out]:
            out.append(cut)
    return out


def _narrower(candidates: list[Cut]) -> list[Cut]:
    """Returns the boundaries that are narrower than all nearer ones, the nearest first."""
    out: list[Cut] = []
    for cut in sorted(candidates, key=lambda cut: (not cut.has_known_rank, cut.ops, cut.width)):
        if all(cut.width < other.width for other in out):
            out.append(cut)
    return out


def _scopes(graph: Graph, mask: Mask) -> Iterator[str]:
    """Yields the name scopes around some ops, the innermost first."""
    scopes = graph.scopes
    homes = np.unique(scopes.scope_of[np.flatnonzero(mask)]).tolist()
    shared = shared_scope([f"{scopes.names[scope]}/" for scope in homes])
    yield from scopes_around(f"{shared}/") if shared else ()


class _Flow:
    """The fed ops and the ops computed from them, without gradients and updates, and the edges between them."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.feeds = graph.type_mask(FEED_TYPES)
        gradients = Gradients(graph).ops
        model = ~forward(graph, gradients) if gradients.any() else np.ones(graph.size, np.bool_)
        self.ops = forward(graph, self.feeds & model, control=False, within=model)
        source, reader, port = graph.data.node, graph.data.rows, graph.data.port
        mask = self.ops[source] & self.ops[reader] & ~graph.type_mask(TURNING)[source]
        self.source, self.reader, self.port = source[mask], reader[mask], port[mask]
        # a number for each tensor
        self.tensor = self.source.astype(np.int64) * (int(port.max(initial=0)) + 1) + self.port
        self.read = graph.mask(np.unique(self.source).tolist())

    def convex_closure(self, mask: Mask) -> Mask:
        """Returns some ops and all ops between them."""
        up, down = reachable_mask(self.reader, self.source, mask), reachable_mask(self.source, self.reader, mask)
        inside: Mask = up & down & ~self.feeds
        return inside

    def entering_tensors(self, mask: Mask) -> list[Tensor]:
        """Returns the tensors that enter some ops, in order of first use."""
        cross = mask[self.reader] & ~mask[self.source]
        return list(dict.fromkeys(zip(self.source[cross].tolist(), self.port[cross].tolist(), strict=True)))

    def leaving_tensors(self, mask: Mask) -> list[Tensor]:
        """Returns the tensors of some ops that have consumers outside, or none at all."""
        cross = mask[self.source] & ~mask[self.reader]
        ends = np.flatnonzero(mask & ~self.read).tolist()
        end_tensors = [(op, 0) for op in ends if self.graph.outputs(op) != ()]
        return sorted({*zip(self.source[cross].tolist(), self.port[cross].tolist(), strict=True), *end_tensors})

    def cuts_above(self, inside: Mask) -> list[list[Tensor]]:
        """Returns cuts above some ops: sets of tensors that all paths into them cross, higher cuts being narrower."""
        part = reachable_mask(self.reader, self.source, inside) & ~inside
        order, place = self._topological_order(part)
        place[inside] = len(order)
        mine = (place[self.source] < len(order)) & (place[self.source] >= 0) & (place[self.reader] >= 0)
        first, last = self._spans(mine, place)
        width = np.cumsum(np.bincount(first, minlength=len(order) + 1) - np.bincount(last, minlength=len(order) + 1))
        fed = int(np.count_nonzero(self.feeds & part))
        cuts_at = _records(width[max(fed - 1, 0) : len(order)][::-1])
        places = [len(order) - 1 - at for at in cuts_at]
        after = [(place > at) & (part | inside) for at in places]
        return [self.entering_tensors(mask) for mask in after] or [self.entering_tensors(inside)]

    def cuts_below(self, inside: Mask) -> list[list[Tensor]]:
        """Returns cuts below some ops: sets of tensors that all paths from them cross, lower cuts being narrower."""
        part = reachable_mask(self.source, self.reader, inside) & ~inside
        order, place = self._topological_order(part)
        place[place >= 0] += 1
        place[inside] = 0
        mine = (place[self.source] >= 0) & (place[self.reader] > 0)
        first, last = self._spans(mine, place)
        size = len(order) + 1
        ends = place[np.flatnonzero((part | inside) & ~self.read)]
        width = np.cumsum(
            np.bincount(first, minlength=size) - np.bincount(last, minlength=size) + np.bincount(ends, minlength=size)
        )
        upto = [(place <= at) & (part | inside) for at in _records(width)]
        return [self.leaving_tensors(mask) for mask in upto]

    def cut(self, inside: Mask, entering: list[Tensor], leaving: list[Tensor]) -> Cut | None:
        """Returns the boundary between tensors; None if there is no such boundary."""
        graph = self.graph
        stops = np.isin(self.tensor, [self._number(tensor) for tensor in entering])
        reader, source = self.reader[~stops], self.source[~stops]
        above = reachable_mask(reader, source, graph.mask(op for op, _ in leaving))
        core = reachable_mask(self.source, self.reader, graph.mask(self.reader[stops].tolist())) & above & ~self.feeds
        core |= inside
        inputs, outputs = self.entering_tensors(core), self.leaving_tensors(core)
        if not inputs or not outputs or core.sum() == (self.ops & ~self.feeds).sum():
            return None
        if context_fault(graph, core, inputs) is not None:
            return None
        infos: list[Any] = [graph.declared_info(*tensor) for tensor in (*inputs, *outputs)]
        shapes_known = all(info is not None and info.shape is not None for info in infos)
        return Cut(tuple(map(graph.name, inputs)), tuple(map(graph.name, outputs)), int(core.sum()), shapes_known)

    def _number(self, tensor: Tensor) -> int:
        return tensor[0] * (int(self.graph.data.port.max(initial=0)) + 1) + tensor[1]

    def _spans(self, region: Mask, place: Ints) -> tuple[Ints, Ints]:
        """Returns for each tensor the place of its producer, and that of its last consumer."""
        _, which = np.unique(self.tensor[region], return_inverse=True)
        first, last = (np.zeros(int(which.max(initial=-1)) + 1, np.int32) for _ in range(2))
        first[which] = place[self.source[region]]
        np.maximum.at(last, which, place[self.reader[region]])
        return first, last

    def _topological_order(self, part: Mask) -> tuple[list[int], Ints]:
        """Returns some ops in topological order, fed ops first; and op -> its place in this order, or -1."""
        mine = part[self.source] & part[self.reader]
        pending_counts = np.bincount(self.reader[mine], minlength=self.graph.size)
        by = np.argsort(self.source[mine], kind="stable")
        readers = self.reader[mine][by].tolist()
        starts = np.concatenate([[0], np.cumsum(np.bincount(self.source[mine], minlength=self.graph.size))]).tolist()
        fed = np.flatnonzero(part & self.feeds).tolist()
        ready = [*fed, *np.flatnonzero(part & ~self.feeds & (pending_counts == 0)).tolist()]
        pending_inputs, order = pending_counts.tolist(), []
        for op in ready:  # it grows
            order.append(op)
            for reader in readers[starts[op] : starts[op + 1]]:
                pending_inputs[reader] -= 1
                if not pending_inputs[reader]:
                    ready.append(reader)
        place = np.full(self.graph.size, -1, np.int32)
        place[order] = np.arange(len(order), dtype=np.int32)
        return order, place


def _records(width: Ints) -> list[int]:
    """Returns the positions of widths that are less than all before: the first position, and the last few.

    Example:
        >>> _records(np.array([3, 4, 2, 2, 1]))
        [0, 2, 4]
    """
    if not len(width):
        return []
    least = np.minimum.accumulate(width)
    at = np.flatnonzero(np.concatenate([[True], width[1:] < least[:-1]]) & (width > 0)).tolist()
    return at[:1] + at[1:][-(_CUTS_PER_SIDE - 1) :]


@look("select all boxes between two boxes", gesture="menu")
def select_between(context: RenderContext, state: State, a: Text, b: Text) -> State:
    """Selects the boxes of the source on all paths between two boxes, including these, in either direction.

    Args:
        a: the name of a box.
        b: the name of another box.

    Raises:
        SelectionError: no path connects the boxes, or a box does not exist.
    """
    graph, first, last = _path_ends(context, state, a, b, "source", "select_between")
    inside = selection_from(graph, forward(graph, first) & backward(graph, last))
    state = context.current_state(state)
    context.draw(state, "source")
    scene = context.panes["source"].scene
    assert scene is not None
    names = tuple(scene.count_by_box(context.visible_positions(state, inside)))
    return state.with_view(selected=names).with_status(f"{counted(len(inside), 'ops')} are between {a} and {b}")


@look("show the shortest path between two boxes: why one needs the other", gesture="menu")
def show_path(
    context: RenderContext, state: State, a: Text, b: Text, pane: PaneName = "source"
) -> tuple[State, page_types.DependencyPath]:
    """Returns the shortest path between two boxes, which is the reason why one depends on the other.

    Args:
        a, b: the boxes, in any order.
        pane: the pane of the boxes.

    Returns:
        the answer in one line, and the steps of the path in the direction of the data.

    Raises:
        SelectionError: the boxes do not depend on each other, or a box does not exist.
    """
    graph, first, last = _path_ends(context, state, a, b, pane, "show_path")
    way = shortest_between(graph, first, last)
    plain = shortest_between(graph, first, last, control=False)
    way = plain if len(plain) == len(way) else way
    names = [graph.names[op] for op in way]
    steps: list[page_types.PathStep] = [{"op": names[0], "text": names[0]}]
    steps += [{"op": graph.names[v], "text": str(link_between(graph, u, v))} for u, v in pairwise(way)]
    text = f"{names[-1]} needs {names[0]}: {counted(len(way) - 1, 'steps')}"
    return state.with_status(text), {"text": text, "steps": steps}


def _path_ends(context: RenderContext, state: State, a: str, b: str, pane: str, verb: str) -> tuple[Graph, Mask, Mask]:
    """Returns the graph, and the ops of two boxes, the required box first."""
    tree, boxes = context.tree_containing(state, pane, [a, b])
    one, other = (ops_of(tree, [box], verb) for box in boxes)
    for first, last in ((one, other), (other, one)):
        if (forward(tree.graph, first) & last & ~first).any():
            return tree.graph, first, last
    problem = f"no path of data or control edges connects the two boxes in {tree.graph.title}"
    raise SelectionError(f"{verb}({a!r}, {b!r})", problem, "Choose two boxes of which one depends on the other")


@edit("mark a boundary input", gesture="menu")
def mark_input(context: RenderContext, state: State, tensor: Text) -> State:
    """Marks a tensor as boundary input. A layer, or a box with one output, means its output.

    Args:
        tensor: the name of the tensor, layer or box.
    """
    marks = state.marks
    for graph, one in _tensor_ends(context, state, tensor, "mark_input"):
        marks = marks.with_input(graph, one)
    return _with_marks(context, state, marks)


@edit("mark a boundary output", gesture="menu")
def mark_output(context: RenderContext, state: State, tensor: Text) -> State:
    """Marks a tensor as boundary output. A layer, or a box with one output, means its output.

    Args:
        tensor: the name of the tensor, layer or box.
    """
    marks = state.marks
    for graph, one in _tensor_ends(context, state, tensor, "mark_output"):
        marks = marks.with_output(graph, one)
    return _with_marks(context, state, marks)


@edit("unmark a boundary tensor", gesture="button")
def unmark(context: RenderContext, state: State, tensor: Text) -> State:
    """Removes a tensor from the boundary.

    Args:
        tensor: the name of the tensor.
    """
    return _with_marks(context, state, state.marks.without(tensor))


@edit("clear the boundary", gesture="button")
def clear_boundary(context: RenderContext, state: State) -> State:
    """Removes all tensors from the boundary."""
    return _with_marks(context, state, Marks())


@edit("mark the boundary of the selection", gesture="menu")
def mark_boundary(context: RenderContext, state: State) -> State:
    """Marks the tensors that enter and leave the selection."""
    if not state.view.selected:
        raise SelectionError("mark_boundary()", "nothing is selected", "Click a box first")
    selection = context.selection(state)
    if not selection:
        ops_of(*context.tree_containing(state, "source", state.view.selected), "mark_boundary")
    return _with_marks(context, state, Marks.around(selection))


@edit("replace the boundary by other tensors", gesture="menu")
def set_boundary(context: RenderContext, state: State, inputs: Names, outputs: Names) -> State:
    """Makes these tensors the boundary, and no others.

    Args:
        inputs, outputs: names of tensors.
    """
    marks, base = Marks(), context.source.snapshot
    for tensor in inputs:
        marks = marks.with_input(context.around(base, [tensor]).graph, tensor)
    for tensor in outputs:
        marks = marks.with_output(context.around(base, [tensor]).graph, tensor)
    return _with_marks(context, state, marks)


@look("suggest boundaries near the selection that few tensors cross", gesture="menu")
def suggest_boundaries(context: RenderContext, state: State) -> tuple[State, list[page_types.SuggestedBoundary]]:
    """Suggests boundaries: directly around the selection, and further away at places that few tensors cross.

    Returns:
        up to four suggestions, the nearest first: the tensors, a line of text, and the boxes of the region.
    """
    if not state.view.selected:
        raise SelectionError("suggest_boundaries()", "nothing is selected", "Click a box first")
    tree, boxes = context.tree_containing(state, "source", state.view.selected)
    mask = ops_of(tree, boxes, "suggest_boundaries")
    state = context.current_state(state)
    with suppress(LayoutError):  # without a picture there are no boxes to highlight
        context.draw(state, "source")
    own = Marks.around(context.selection(state))
    candidates = [own, *(Marks(cut.inputs, cut.outputs) for cut in cuts(tree.graph, mask))]
    suggestions = list[page_types.SuggestedBoundary]()
    for marks in dict.fromkeys(candidates):
        region = context.region(state.replace(marks=marks))[0]
        if region is None:
            continue
        boundary = boundary_data(
            tree.graph, marks, region, "", context.panes["source"].scene, context.visible_positions(state, region)
        )
        ends = [few(ends, 2) or "nothing" for ends in (marks.inputs, marks.outputs)]
        lead = "of the selection: " if marks == own else ""
        text = f"{lead}{len(marks.inputs)} in, {len(marks.outputs)} out, {counted(len(region), 'ops')}"
        suggestions.append({**boundary, "text": f"{text}: {ends[0]} → {ends[1]}"})
    return state, suggestions


@edit("make a leak a boundary input", gesture="button")
def add_leak(context: RenderContext, state: State, tensor: Text) -> State:
    """Makes a leak a boundary input.

    Args:
        tensor: the name of the tensor that leaks.
    """
    return mark_input(context, state, tensor)


@edit("copy the producers of a leak, too", gesture="button")
def include(context: RenderContext, state: State, tensor: Text) -> State:
    """Includes the producers of a leak in the region, up to the boundary inputs.

    Args:
        tensor: the name of the tensor that leaks; or ``^op``, for an op that the region waits for.
    """
    marks, request = state.marks.without(tensor), f"include({tensor!r})"
    if waited := tensor.startswith("^"):
        context.around(context.source.snapshot, [tensor[1:]]).graph.find(tensor[1:], request)
    else:
        context.around(context.source.snapshot, [tensor]).graph.tensor(tensor_name(tensor), request)
    name = tensor if waited else tensor_name(tensor)
    return _with_marks(context, state, replace(marks, included=(*marks.included, name)))


@edit("swap the boundary inputs and outputs", gesture="button")
def swap_boundary(context: RenderContext, state: State) -> State:
    """Swaps the boundary inputs and outputs, if they were marked the wrong way round."""
    return _with_marks(context, state, state.marks.swapped)


def _tensor_ends(context: RenderContext, state: State, tensor: str, verb: str) -> Iterator[tuple[Graph, Any]]:
    """Yields the tensors of a name, with a graph that has the tensor. Calls that contain it are unfolded there."""
    base = context.source.snapshot
    for one in expand_layers(
        context.around(base, [tensor]).graph, context.layers(base), [tensor], f"{verb}({tensor!r})"
    ):
        if str(one).endswith("/"):
            one = only_output(context, state, one, verb)
        yield context.around(base, [str(getattr(one, "name", one))]).graph, one


def only_output(context: RenderContext, state: State, box: str, verb: str, pane: str = "source") -> str:
    """Returns the tensor that leaves a box.

    Raises:
        SelectionError: if not exactly one tensor leaves the box, or the box does not exist.
    """
    tree, boxes = context.tree_containing(state, pane, [box])
    inside = Selection(tree.graph, ops_of(tree, boxes, verb), Query("select"))
    outputs = Marks.around(inside).outputs
    if len(outputs) != 1:
        names_text = f": {few(map(repr, outputs))}" if outputs else ""
        problem = f"{counted(len(outputs), 'tensors')} leave {box.strip('~/')!r}{names_text}"
        suggestion = "Unfold it (Enter) and mark an op, or mark the boundary of the selection (Shift+B)"
        raise SelectionError(f"{verb}({box!r})", problem, suggestion)
    return outputs[0]


def _with_marks(context: RenderContext, state: State, marks: Marks) -> State:
    state = state.replace(marks=marks)
    region, problem = context.region(state)
    if region is None:
        return state.with_status(problem, "warn" if marks.outputs else "info")  # the next step is to mark an output
    return state.with_status(boundary_text(marks, region), "warn" if leak_count(region) else "info")
