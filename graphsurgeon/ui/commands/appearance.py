"""Commands that change the hidden ops and the colors of a picture."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

from ...errors import LayoutError, SelectionError, counted, did_you_mean
from ...graph.names import op_name
from ...graph.references import ReferenceResolver
from ...view.helper_ops import KINDS, Filters
from ...view.paint import Paint, read_numbers
from ..render_context import RenderContext
from ..run_results import MEASURES
from ..state import State
from .specs import ColorBy, Names, Text, YesOrNo, look


@look("show or hide helpers of one kind", gesture="menu")
def show_helpers(context: RenderContext, state: State, kind: Text, on: YesOrNo = True) -> State:
    """Draws helpers of one kind (constants, variables, ...) as any other op, or hides them again.

    Args:
        kind: the kind, by its name in the menu.
        on: whether they are drawn.
    """
    if kind not in KINDS[1:]:
        kinds = ", ".join(sorted(KINDS[1:]))
        raise SelectionError(f"show_helpers({kind!r})", "no helpers have this kind", f"Choose one of {kinds}")
    shown_kinds = state.filters.shown | {kind} if on else state.filters.shown - {kind}
    message = f"{kind} {'are shown' if on else 'are hidden'}"
    return _with_filters(context, state, replace(state.filters, shown=shown_kinds), message)


@look("hide ops of some types", gesture="menu")
def hide_ops(context: RenderContext, state: State, types: Names) -> State:
    """Hides all ops of these types, and shows all others; ``hide_ops([])`` shows all ops.

    Args:
        types: op types.
    """
    op_types = frozenset(types)
    graph = context.graph(state, "source")
    for kind in sorted(op_types):
        if kind not in graph.types:
            raise SelectionError(
                f"hide_ops([{kind!r}])",
                f"{graph.title} has no op of that type",
                did_you_mean(kind, set(graph.types)),
            )
    message = f"hidden: {', '.join(sorted(op_types))}" if op_types else "no op type is hidden"
    return _with_filters(context, state, replace(state.filters, hidden=op_types), message)


@look("show or hide gradients and updates", gesture="menu")
def show_training(context: RenderContext, state: State, on: YesOrNo = True) -> State:
    """Draws gradients and updates, or hides them.

    Args:
        on: whether they are drawn.
    """
    message = f"gradients and updates are {'drawn' if on else 'hidden'}"
    return _with_filters(context, state, replace(state.filters, training=on), message)


def _with_filters(context: RenderContext, state: State, filters: Filters, message: str) -> State:
    before = state.filters
    state = state.replace(filters=filters)
    if filters.hidden - before.hidden or (before.training and not filters.training):
        # a scope opened with all its helpers would still show the ops that are now hidden
        keys = state.view.unfolded
        state = state.with_view(unfolded=keys and frozenset(key.removesuffix("+") for key in keys) - {""})
    state = context.current_state(state)
    scene = context.draw(state, "source")
    if context.panes["destination"].placed is not None and (context.draft(state).steps or not context.is_single_graph):
        context.draw(state, "destination")
    hidden = sum(scene["stats"]["hidden"].values())
    return state.with_status(f"{message}: {counted(len(scene['boxes']), 'boxes')}, {counted(hidden, 'hidden helpers')}")


@look("color the boxes", gesture="menu")
def paint(
    context: RenderContext,
    state: State,
    by: ColorBy = "family",
    values: Mapping[Any, float] | None = None,
    name: str = "value",
    reduce: str = "auto",
    scale: str = "auto",
    words: Mapping[Any, str] | None = None,
) -> State:
    """Colors the boxes.

    Args:
        by: ``family`` (of the op type), ``device``, ``scope``, ``dtype``, ``structure`` (scopes with equal structure)
            or ``values``; for a run ``ms``, ``bytes``, ``magnitude``, ``zeros``, ``not finite`` or ``difference``.
        values: op, by name or object -> a number, for example a time, a size or a gradient norm. The numbers of ops
            inside a folded call count for the call.
        name: the name of the numbers, with their unit, or of the words.
        reduce: ``sum``, ``max`` (furthest from zero) or ``mean`` of the numbers in a fold; ``auto``: the sum, or
            ``max`` if sums of many small numbers would hide the op with the largest number.
        scale: ``linear`` or ``log``; ``auto``: ``log`` if numbers differ by a factor of 1000 or more. Zero, and numbers
            that are not finite, have separate colors.
        words: op -> a word, instead of numbers. Each word has its color.
    """
    op_values = values if words is None else words
    if op_values is None and by in MEASURES:
        if state.run is None:
            problem = "no run is shown"
            raise LayoutError(f"paint({by!r})", problem, "Run the graph first, with the button Run or ed.screen.run()")
        state = state.replace(paint=Paint("values", state.run.numbers(by), by, reduce, scale), faded=())
        return state.with_status(f"colored by {by}")
    graph, values_by_op = context.calls(state, "source").searchable.graph, dict[str, Any]()
    if op_values is not None and not isinstance(op_values, Mapping):
        raise LayoutError(
            f"paint({op_values!r})", "values must be a mapping", "Give {'conv1/Conv2D': 3.2}: op -> number"
        )
    for key, value in (op_values or {}).items():
        try:
            parsed = float(value) if words is None else str(value)
        except (TypeError, ValueError):
            problem = f"{value!r} is not a number"
            raise LayoutError(f"paint({{{op_name(key)!r}: ...}})", problem, "Give one number for each op") from None
        values_by_op[graph.names[graph.find(op_name(key), f"paint({{{op_name(key)!r}: ...}})")]] = parsed
    way = by if op_values is None else "values" if words is None else "words"
    state = state.replace(paint=Paint(way, values_by_op, name, reduce, scale), faded=())
    message = f"colored by {by if op_values is None else name}"
    if state.paint.by == "structure" and not context.draw(state, "source")["legend"]["items"]:
        message = "no scopes of this picture have the same structure: unfold a scope to see repeated scopes in it"
    return state.with_status(message)


@look("color the boxes by numbers in a file", gesture="menu")
def paint_file(context: RenderContext, state: State, path: Annotated[Text, "CSV file", "numbers.csv"]) -> State:
    """Colors the boxes by the numbers in a CSV file.

    Args:
        path: the file. Each row has the name of an op or layer, and a number. A first row without a number is the
            heading; its second column is the name of the numbers.
    """
    numbers, name = read_numbers(path)
    values: dict[str, float] = {}
    graph = context.graph(state, "source")
    resolver = ReferenceResolver(graph, context.layers(graph), f"paint_file({path!r})")
    for key, number in numbers.items():
        values |= dict.fromkeys(resolver.ops(key), number)
    return paint(context, state, values=values, name=name)


@look("fade the boxes of some legend entries", gesture="click the legend")
def fade(context: RenderContext, state: State, keys: Names) -> State:
    """Fades the boxes of these entries of the legend; ``fade([])`` fades nothing.

    Args:
        keys: entries of the legend.
    """
    legend = context.draw(state, "source")["legend"]
    labels = {item["key"]: item["text"] for item in legend["items"]}
    faded_keys = tuple(dict.fromkeys(keys))
    for key in faded_keys:
        if key not in labels:
            entries = ", ".join(f"{k} ({text})" for k, text in labels.items())
            raise SelectionError(
                f"fade([{key!r}])", "the legend has no such entry", f"Its entries are: {entries or 'none'}"
            )
    message = f"faded: {', '.join(labels[k] for k in faded_keys)}" if faded_keys else "nothing is faded"
    return state.replace(faded=faded_keys).with_status(message)
