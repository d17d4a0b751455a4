"""Commands that navigate: folds, selection, search, visited places, saved views, and before or after the plan."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

from ...errors import LayoutError, PlanError, SelectionError, counted, did_you_mean, few
from ...graph.functions import callees_of
from ...graph.graph import Graph
from ...graph.names import op_name
from ...graph.search import search_hits
from ...plan.plan_result import OpChange
from ...view import page_types
from ...view.first_picture import first_unfolded, folds_to_depth
from ...view.helper_ops import ORPHAN
from ...view.scene import MAX_BOXES
from ...view.tree import find_item, keys_to, ops_named
from ..inspector import details_of, layer_rows, ops_inside, reasons
from ..page_data import hits_data, scope_hits
from ..pane import keys_above
from ..render_context import RenderContext
from ..run_results import numbers
from ..state import Facts, NavEntry, State, ops_of, selected_after
from .specs import Count, Direction, Mode, Names, Numbers, PaneName, PlanView, Text, TextOrNone, YesOrNo, edit, look


@look("select boxes", gesture="click a box, Shift+drag a frame")
def select(context: RenderContext, state: State, names: Names, mode: Mode = "set") -> State:
    """Selects boxes of the source pane by name; `mode` is ``set``, ``add`` or ``toggle``.

    Args:
        names: names of boxes.
        mode: ``set`` to select only them, ``add`` to add them, or ``toggle`` to add or remove them.
    """
    selected = selected_after(state.view.selected, names, mode)
    tree = context.tree(state, "source", context.scopes_to(context.graph(state, "source"), [*names, *selected]))
    ops_of(tree, names, "select")
    message = f"{counted(int(ops_of(tree, selected).sum()), 'ops')} selected" if selected else "nothing selected"
    inside = context.tree_containing(state, "source", selected)[0].graph.unfolded
    if inside is not None:
        slopes = [name for name, node in inside.calls.items() if not callees_of(node, inside.graph.functions)]
        message += (
            f", in the gradient of {few(slopes)}"
            if slopes
            else f", inside {few(inside.outer_calls)}: an edit inlines the call"
        )
        message += ": a copy does not change it" if slopes else ", a copy does not change it"
    return state.with_view(selected=selected).with_status(message)


@look("go to a box, even if it is folded", gesture="click a result")
def reveal(context: RenderContext, state: State, name: Text, pane: PaneName = "source") -> State:
    """Unfolds the folds around an op or scope, and selects it.

    Args:
        name: the name of the op or scope.
        pane: ``source`` or ``destination``.
    """
    calls = {f"{scope}/" for scope in context.calls(state, pane).scopes_to(name)}
    tree = context.tree(state, pane, calls)
    op = tree.graph.index.get(op_name(name))
    if op is None and f"{op_name(name)}/" in calls | context.unfolded(state, pane):
        name = f"{op_name(name)}/"  # the frame of a call that is unfolded
    if op is None and ops_named(tree, name) is None:
        tree.graph.find(name, f"reveal({name!r})")
    keys = keys_above(tree, name) if op is None else keys_to(tree, op)
    state = context.fold(with_visit(state, pane), pane, lambda open_keys: open_keys | calls | set(keys))
    return select(context, state, [name]) if pane == "source" else state


@edit("show another signature or function of the file", gesture="menu")
def show_signature(context: RenderContext, state: State, name: Text) -> State:
    """Shows another signature, or a function, of the SavedModel in the source pane. Its editor changes too.

    Args:
        name: the name of the signature or function.

    Raises:
        PlanError: if a plan is being made, or was applied, for the graph on screen.
    """
    plan = context.draft(state)
    if plan.steps:
        problem = f"a plan of {counted(len(plan.steps), 'steps')} is being made for the graph on screen"
        raise PlanError(f"show_signature({name!r})", problem, "Apply or undo the plan first")
    context.source.show_signature(name)
    new_state = State(direction=state.direction, filters=state.filters, budget=state.budget)
    return new_state.with_status(f"{name} of {context.source.title}")


@look("show the details of a box", gesture="click a box")
def details(
    context: RenderContext, state: State, name: Text, pane: PaneName = "source"
) -> tuple[State, page_types.Details]:
    """Returns the details of a box for the inspector; for an op also its origin, and why it is in the region.

    Args:
        name: the name of the box.
        pane: ``source`` or ``destination``.
    """
    subject = context.editor(pane)
    result = details_of(context.tree(state, pane), name, context.facts, context.calls(state, pane))
    layers = context.layers(context.graph(state, pane))
    rows, python = layer_rows(context.picture(state, pane).graph, layers, name)
    result["rows"], result["python"] = rows + result["rows"], python or result["python"]
    if state.run is not None and state.run.pane == pane:
        result["rows"] += state.run.rows(ops_inside(context.tree(state, pane), name, context.calls(state, pane)))
        result["run"] = state.run.tensors(name)
    op = context.picture(state, pane).graph.index.get(name)
    if op is not None:
        changes, graph = context.draft(state).effect.changes, context.picture(state, pane).graph
        result["device"] = device_of(graph, op, changes)
        result["attributes"] = attributes_of(context.facts, graph, [op], changes)
    if pane == "source":
        result["rows"] += reasons(subject, name, context.region(state)[0])
    return state, result


_EDGE_TENSORS = 100
"""The maximum number of tensors in the details of an edge."""
_EDGE_VALUES = 8
"""The maximum number of these tensors with their values in a run."""


@look("show the tensors of an edge", gesture="click an edge")
def edge_tensors(
    context: RenderContext,
    state: State,
    source: Text,
    target: Text,
    control: YesOrNo = False,
    pane: PaneName = "source",
) -> tuple[State, page_types.EdgeTensors]:
    """Returns the tensors of an edge, each with its dtype and shape, and their values in the run on the screen.

    Args:
        source, target: the names of the boxes at its ends.
        control: whether it is a control edge.
        pane: ``source`` or ``destination``.

    Raises:
        SelectionError: if there is no such edge in the picture.
    """
    context.draw(state, pane)
    scene, graph = context.panes[pane].scene, context.picture(state, pane).graph
    found = scene.tensors_between(graph, source, target, control) if scene is not None else []
    if not found:
        raise SelectionError(
            f"edge_tensors({source!r}, {target!r})", "no such edge is in the picture", "Choose two boxes with an edge"
        )
    run = state.run if state.run is not None and state.run.pane == pane and not control else None
    tensors, values = list[page_types.TensorText](), list[page_types.TensorValues]()
    for op, port in found[:_EDGE_TENSORS]:
        name = f"^{graph.names[op]}" if control else f"{graph.names[op]}:{port}"
        info = None if control else graph.declared_info(op, port)
        tensors.append({"tensor": name, "text": (run and run.shape_of(name)) or str(info or "")})
        values += run.tensor(name) if run and len(values) < _EDGE_VALUES else ()
    return state, {"tensors": tensors, "values": values}


@look("fetch the value of a constant or variable", gesture="button")
def value(context: RenderContext, state: State, name: Text) -> tuple[State, page_types.Numbers]:
    """Fetches the value of a constant or variable, and returns it as rows and a histogram.

    Args:
        name: the name of the constant or variable.
    """
    return state, numbers(context.source.value(name))


@look("find ops that match a query", gesture="search field")
def find(
    context: RenderContext, state: State, query: Text, pane: PaneName = "source"
) -> tuple[State, page_types.SearchResult]:
    """Returns the ops of a pane that match a query, also inside calls, with the boxes that contain them.

    Args:
        query: the words of the search, such as ``op:Conv2D dense``.
        pane: ``source`` or ``destination``.
    """
    searchable = context.calls(state, pane).searchable
    context.draw(state, pane)
    layers, picture = context.layers(context.graph(state, pane)), context.picture(state, pane)
    spots, tree = searchable.positions_in(picture), context.tree(state, pane)
    graph, kind = searchable.graph, tree.helpers.kind[spots] * (spots >= 0)
    hidden, orphans = (kind > 0) & (not tree.is_fully_shown), kind == ORPHAN
    # this may make the live graph of a file
    ops = [op for op in search_hits(graph, query, context.facts.attribute_text, layers, hidden) if not orphans[op]]
    shown_hits = hits_data(graph, ops, context.panes[pane].scene, spots[ops])
    scopes = [hit for hit in scope_hits(graph, query, hidden) if not orphans[graph.scope_mask(hit["name"])].all()]
    return state, {**shown_hits, "hits": scopes + shown_hits["hits"], "total": len(scopes) + shown_hits["total"]}


@look("draw top to bottom or left to right", gesture="button")
def set_direction(context: RenderContext, state: State, direction: Direction) -> State:
    """Draws top to bottom (``TB``), left to right (``LR``), or in the direction that fits better (``auto``).

    Args:
        direction: ``TB``, ``LR`` or ``auto``.
    """
    state = state.replace(direction=direction)
    context.draw(state, "source")
    return state.with_status(
        {"TB": "top to bottom", "LR": "left to right"}.get(direction, "the direction that fits better")
    )


MAX_VISITS = 100
"""The number of visited places that are kept."""


def with_visit(state: State, pane: str = "source") -> State:
    """Returns the state with its current place added to the visited places."""
    if pane != "source":
        return state
    here, back = state.view.place, state.view.back
    if not back or back[-1] != here:
        back = (*back[-MAX_VISITS + 1 :], here)
    return state.with_view(back=back, forward=())


@look("go back to the previous place", gesture="button")
def back(context: RenderContext, state: State) -> State:
    """Goes back to the previous place of the source picture: its open folds and its selection."""
    return _step_through_visits(
        context, state, "back", "forward", "there is no earlier view", "Unfold or reveal something"
    )


@look("go forward to the next place", gesture="button")
def forward(context: RenderContext, state: State) -> State:
    """Goes to the place that `back` has left."""
    return _step_through_visits(context, state, "forward", "back", "there is no later view", "Go back first")


@look("save this view under a name", gesture="menu")
def save_view(
    context: RenderContext, state: State, name: Annotated[TextOrNone, "Name"] = None, at: Numbers = ()
) -> tuple[State, str]:
    """Saves the open folds and the selection under a name, and returns the name.

    Args:
        name: the name of the view; a view of this name is replaced. Default: ``view 1``, ``view 2`` and so on.
        at: the camera of the page: x, y and scale.
    """
    saved = dict(state.views)
    free = next(f"view {i}" for i in range(1, len(saved) + 2) if f"view {i}" not in saved)
    called = (name or "").strip() or free
    saved[called] = NavEntry(state.view.place.unfolded, state.view.selected, tuple(at))
    return state.replace(views=saved).with_status(f"saved as {called!r}"), called


@look("go to a saved view", gesture="menu")
def show_view(context: RenderContext, state: State, name: Text) -> tuple[State, list[float]]:
    """Goes to a saved view and returns its camera.

    Args:
        name: the name of the view.

    Raises:
        SelectionError: no saved view has this name.
    """
    view = _saved_view(state, name, "show_view")
    return _go(context, with_visit(state), view).with_status(f"{name!r} is shown"), list(view.viewport)


@look("delete a saved view", gesture="menu")
def delete_view(context: RenderContext, state: State, name: Text) -> State:
    """Deletes a saved view.

    Args:
        name: the name of the view.

    Raises:
        SelectionError: no saved view has this name.
    """
    _saved_view(state, name, "delete_view")
    remaining = {view_name: place for view_name, place in state.views.items() if view_name != name}
    return state.replace(views=remaining).with_status(f"{name!r} is deleted")


def _step_through_visits(
    context: RenderContext, state: State, direction: str, other: str, problem: str, suggestion: str
) -> State:
    """Goes one step back or forward, to the last place that differs. The current place is added to the other list."""
    here, places = state.view.place, getattr(state.view, direction)
    while places and places[-1] == here:
        places = places[:-1]
    if not places:
        raise SelectionError(f"{direction}()", problem, suggestion)
    state = state.with_view(**{direction: places[:-1], other: (*getattr(state.view, other), here)})
    return _go(context, state, places[-1])


def _saved_view(state: State, name: str, verb: str) -> NavEntry:
    if name not in state.views:
        raise SelectionError(
            f"{verb}({name!r})",
            "no saved view has this name",
            did_you_mean(name, state.views) if state.views else "Save one first, with save_view(name)",
        )
    return state.views[name]


def _go(context: RenderContext, state: State, place: NavEntry) -> State:
    tree = context.tree(state, "source", place.unfolded)
    selected = tuple(name for name in place.selected if ops_named(tree, name) is not None)
    return context.fold(state.with_view(selected=selected), "source", lambda _: place.unfolded)


STAGES = {
    "before": "Before: the current graph",
    "after": "After: the graph with the plan applied",
    "both": "Both: the current graph, and the graph with the plan applied",
}


@look("show the graph before the plan, after it, or both", gesture="button")
def set_plan_view(context: RenderContext, state: State, show: PlanView = "both") -> State:
    """Shows the graph ``before`` the plan, ``after`` it, or ``both``. Ops in both graphs have the same place.

    Args:
        show: ``before``, ``after`` or ``both``.

    Raises:
        PlanError: if there is no plan, or it joins two graphs, which are shown next to each other.
    """
    if not context.shows_before_and_after(state):
        request = f"set_plan_view({show!r})"
        if context.draft(state).steps:
            raise PlanError(
                request,
                "the plan joins two graphs, which are both shown",
                "Hide one with the button of its pane, or make the plan in one graph",
            )
        raise PlanError(request, "there is no plan: before and after are the same", "Copy or edit something first")
    return state.replace(plan_view=show).with_status(STAGES[show])


_MAX_OPS = 500
"""The maximum number of ops whose attributes are compared."""


def attributes_of(
    facts: Facts, graph: Graph, ops: Sequence[int], changes: Mapping[str, OpChange] = {}
) -> list[page_types.Attribute]:
    """Returns the editable attributes that some ops have in common.

    Args:
        facts: facts on ops.
        graph: the snapshot with the ops.
        ops: their numbers.
        changes: the effects of the plan on ops, by name.

    Returns:
        for each attribute its ``name``, its ``value`` as text (empty if the ops differ), in ``previous`` its value
        before the plan if the plan changes it, and its possible ``choices`` if these are few.
    """
    rows_by_attribute: dict[str, list[tuple[str, str, list[str]]]] = {}
    for op in ops:
        change = changes.get(graph.names[op], OpChange()).attributes
        for name, value, choices in facts.attributes(graph.nodes[op]):
            rows_by_attribute.setdefault(name, []).append((str(change.get(name, value)), value, choices))
    out = list[page_types.Attribute]()
    for name, rows in rows_by_attribute.items():
        now, was = {row[0] for row in rows}, {row[1] for row in rows}
        if len(rows) == len(ops):
            choices = [one for one in rows[0][2] if all(one in row[2] for row in rows)]
            before = next(iter(was)) if now != was and len(was) == 1 else ""
            value = next(iter(now)) if len(now) == 1 else ""
            out.append({"name": name, "value": value, "previous": before, "choices": choices})
    return out


@look("list the attributes of boxes", gesture="click a box")
def attributes(
    context: RenderContext, state: State, names: Names, pane: PaneName = "source"
) -> tuple[State, page_types.Attributes]:
    """Returns the attributes that all ops of boxes have in common.

    Args:
        names: names of boxes.
        pane: ``source`` or ``destination``.

    Returns:
        ``types``, with the number of ops of each; ``device``, if it is the same for all; and ``attributes``, the result
        of `attributes_of`.

    Raises:
        SelectionError: a box does not exist.
    """
    tree, boxes = context.tree_containing(state, pane, names)
    ops = ops_of(tree, boxes, "attributes").nonzero()[0].tolist()
    graph, changes = tree.graph, context.draft(state).effect.changes
    counts = Counter(graph.types[op] for op in ops)
    devices = {device_of(graph, op, changes) for op in ops}
    return state, {
        "types": counts.most_common(),
        "device": next(iter(devices)) if len(devices) == 1 else "",
        "attributes": attributes_of(context.facts, graph, ops, changes) if len(ops) <= _MAX_OPS else [],
    }


def device_of(graph: Graph, op: int, changes: Mapping[str, OpChange]) -> str:
    """Returns the device that an op requests, after a plan."""
    change = changes.get(graph.names[op], OpChange()).device
    return str(getattr(graph.nodes[op], "device", "") or "") if change is None else change


@look("find op types by name or description", gesture="button")
def op_types(
    context: RenderContext, state: State, query: Text = "", names: Names = (), inputs: Count = 0
) -> tuple[State, list[page_types.OpType]]:
    """Returns op types and their descriptions, best first.

    Args:
        query: part of a name, or of the documentation.
        names: boxes to replace. For one op, types with the same number of inputs and outputs are returned.
        inputs: the number of inputs; 0 for any number.
    """
    graph = context.graph(state, "destination")
    at = graph.index.get(op_name(names[0])) if len(names) == 1 else None
    like = "" if at is None else graph.types[at]
    matches: Iterable[tuple[str, str]] = context.facts.op_types(query, like, inputs or None)
    return state, [{"name": kind, "doc": doc} for kind, doc in matches]


@look("open a scope, series or call", gesture="double click")
def unfold(context: RenderContext, state: State, name: Text, pane: PaneName = "source") -> State:
    """Opens a closed scope, series, block or call in its place.

    Args:
        name: the fold key: a scope with its ``/``, or the name of a series, block or call.
        pane: ``source`` or ``destination``.
    """
    tree = context.tree(state, pane)
    item = find_item(tree, name)
    call = None if item is None else tree.call(item)
    if call is not None:
        context.calls(state, pane).check_unfoldable(call.scope, f"unfold({name!r})")
    if item is None or not item.keys:
        raise SelectionError(
            f"unfold({name!r})",
            "no scope, series, block or call has this name",
            did_you_mean(name.rstrip("/") + "/", [f"{path}/" for path in tree.graph.scopes.names[1:]]),
        )
    key = item.name if item.members else item.keys[-1]
    return context.fold(with_visit(state, pane), pane, lambda keys: keys | {key})


@look("close a scope, series or call", gesture="double click its frame")
def fold(context: RenderContext, state: State, name: Text, pane: PaneName = "source") -> State:
    """Closes an open scope, series or block, with all open boxes inside.

    Args:
        name: the fold key: a scope with its ``/``, or the name of a series, block or call.
        pane: ``source`` or ``destination``.
    """
    item = find_item(context.tree(state, pane), name)
    inner, stack = {name, name.rstrip("/")}, [item] if item is not None else []
    while stack:
        one = stack.pop()
        inner |= {one.name, *one.keys}
        stack.extend(one.members)
    paths = tuple(f"{key.rstrip('/')}/" for key in inner if not key.startswith("~"))
    return context.fold(
        with_visit(state, pane),
        pane,
        lambda keys: frozenset(k for k in keys if k not in inner and not k.lstrip("~").startswith(paths)),
    )


@look("return to the initial view", gesture="button")
def fold_all(context: RenderContext, state: State, pane: PaneName = "source") -> State:
    """Shows the folds of the first picture.

    Args:
        pane: ``source`` or ``destination``.
    """
    tree = context.tree(state, pane)
    keys = first_unfolded(tree, context.panes[pane].pins(tree, context.ends(pane)))
    return context.fold(with_visit(state, pane), pane, lambda _: keys)


@look("open all scopes down to a depth", gesture="menu")
def set_depth(context: RenderContext, state: State, depth: Count, pane: PaneName = "source") -> State:
    """Opens all scopes down to `depth` levels and folds deeper scopes; 0 folds all.

    Args:
        depth: the number of open levels of scopes.
        pane: ``source`` or ``destination``.
    """
    tree = context.tree(state, pane)
    return context.fold(state, pane, lambda _: folds_to_depth(tree, depth))


@look("set the largest number of boxes", gesture="menu")
def set_budget(context: RenderContext, state: State, boxes: Count) -> State:
    """Sets the maximum number of boxes in a picture, up to 400; the default is 200.

    Args:
        boxes: the number of boxes.
    """
    if not 1 <= boxes <= MAX_BOXES:
        raise LayoutError(
            f"set_budget({boxes!r})",
            f"the limit is {MAX_BOXES} boxes",
            f"Choose a number from 1 to {MAX_BOXES}",
        )
    return state.replace(budget=boxes).with_status(f"up to {counted(boxes, 'boxes')}")


@look("open a row of the outline", gesture="click its arrow")
def outline_open(context: RenderContext, state: State, name: Text) -> State:
    """Opens a row of the outline.

    Args:
        name: the name of the scope.
    """
    return state.with_view(rows=state.view.rows | {*_row_keys(context, state, name)})


@look("close a row of the outline", gesture="click its arrow")
def outline_close(context: RenderContext, state: State, name: Text) -> State:
    """Closes a row of the outline.

    Args:
        name: the name of the scope.
    """
    return state.with_view(rows=state.view.rows - {name, *_row_keys(context, state, name)})


def _row_keys(context: RenderContext, state: State, name: str) -> tuple[str, ...]:
    item = find_item(context.tree(state, "source", state.view.rows), name)
    return item.keys if item is not None and item.keys else (name,)
