"""Commands that fold and unfold scopes, in the picture and in the outline."""

from __future__ import annotations

from ...errors import LayoutError, SelectionError, counted, did_you_mean
from ...view.first_picture import first_unfolded, folds_to_depth
from ...view.scene import MAX_BOXES
from ...view.tree import find_item
from ..render_context import RenderContext
from ..state import State
from .navigation import with_visit
from .specs import Count, PaneName, Text, look


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
