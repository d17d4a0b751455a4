"""Places: the history of visited places in the source picture, and the saved views."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import SelectionError, did_you_mean
from ..view.tree import ops_named
from .stage import Stage
from .state import Place, State

MOST = 100
"""So many steps back are kept."""


def leaving(state: State, pane: str = "source") -> State:
    """Returns the state with this place remembered, because another is gone to."""
    if pane != "source":
        return state
    here, back = state.view.place, state.view.back
    if not back or back[-1] != here:
        back = (*back[-MOST + 1 :], here)
    return state.seen(back=back, forward=())


def back(stage: Stage, state: State) -> State:
    """Goes back to the previous place of the source picture: its open folds and its selection."""
    return _stepped(stage, state, "back", "forward", "there is no earlier view", "Unfold or reveal something")


def forward(stage: Stage, state: State) -> State:
    """Goes to where the source picture was before going back."""
    return _stepped(stage, state, "forward", "back", "there is no later view", "Go back first")


def save_view(stage: Stage, state: State, name: str | None = None, at: Sequence[float] = ()) -> tuple[State, str]:
    """Saves the open folds and the selection under a name, and returns the name.

    Args:
        name: the name of the view; a view of that name is replaced. By default ``view 1`` and so on.
        at: the camera of the page: x, y and scale.
    """
    saved = dict(state.views)
    free = next(f"view {i}" for i in range(1, len(saved) + 2) if f"view {i}" not in saved)
    called = (name or "").strip() or free
    saved[called] = Place(state.view.place.unfolded, state.view.selected, tuple(at))
    return state.but(views=saved).saying(f"saved as {called!r}"), called


def show_view(stage: Stage, state: State, name: str) -> tuple[State, list[float]]:
    """Goes to a saved view and returns its camera.

    Args:
        name: the name of the view.

    Raises:
        SelectionError: no saved view has this name.
    """
    view = _saved(state, name, "show_view")
    return _go(stage, leaving(state), view).saying(f"{name!r} is shown"), list(view.at)


def forget_view(stage: Stage, state: State, name: str) -> State:
    """Takes a saved view away.

    Args:
        name: the name of the view.

    Raises:
        SelectionError: no saved view has this name.
    """
    _saved(state, name, "forget_view")
    left = {known: place for known, place in state.views.items() if known != name}
    return state.but(views=left).saying(f"{name!r} is deleted")


def _stepped(stage: Stage, state: State, way: str, other: str, problem: str, suggestion: str) -> State:
    """Goes to the last place of one way that is not here; here becomes the last of the other."""
    here, places = state.view.place, getattr(state.view, way)
    while places and places[-1] == here:
        places = places[:-1]
    if not places:
        raise SelectionError(f"{way}()", problem, suggestion)
    state = state.seen(**{way: places[:-1], other: (*getattr(state.view, other), here)})
    return _go(stage, state, places[-1])


def _saved(state: State, name: str, verb: str) -> Place:
    if name not in state.views:
        raise SelectionError(
            f"{verb}({name!r})",
            "no saved view has this name",
            did_you_mean(name, state.views) if state.views else "Save one first, with save_view(name)",
        )
    return state.views[name]


def _go(stage: Stage, state: State, place: Place) -> State:
    tree = stage.tree(state, "source", place.unfolded)
    selected = tuple(name for name in place.selected if ops_named(tree, name) is not None)
    return stage.fold(state.seen(selected=selected), "source", lambda _: place.unfolded)
