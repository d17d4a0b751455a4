"""Acts: the function of each verb, from a stage and a state to the next state, and an answer if the verb has one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import (
    alike,
    attributes,
    boundary,
    copies,
    drafts,
    edits,
    folds,
    leave,
    looks,
    paths,
    places,
    recipes,
    runs,
    stages,
    steps,
    undo,
    wires,
)
from .verbs import VERBS

_ROOMS = (
    alike,
    attributes,
    boundary,
    copies,
    drafts,
    edits,
    folds,
    leave,
    looks,
    paths,
    places,
    recipes,
    runs,
    stages,
    steps,
    undo,
    wires,
)

ACTS: dict[str, Callable[..., Any]] = {
    name: act
    for room in _ROOMS
    for name, act in vars(room).items()
    if name in VERBS and act.__module__ == room.__name__
}
"""All acts by the name of their verb; without `cancel` and `infer`, which run parallel to them."""
