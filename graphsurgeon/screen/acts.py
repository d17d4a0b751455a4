"""Acts: the function of each verb, from a stage and a state to the next state, and an answer where there is one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import alike, boundary, drafts, edits, folds, looks, places, runs, undo
from .verbs import VERBS

_ROOMS = (alike, boundary, drafts, edits, folds, looks, places, runs, undo)

ACTS: dict[str, Callable[..., Any]] = {
    name: act
    for room in _ROOMS
    for name, act in vars(room).items()
    if name in VERBS and act.__module__ == room.__name__
}
"""All acts by the name of their verb; `cancel` and `infer` are none: they are done beside them."""
