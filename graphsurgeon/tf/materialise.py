"""Materialise: build a new graph from an edited one, for rewires that keep their names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from ..core.copied import without
from ..core.effect import Effect
from ..core.graph import Graph
from ..core.plan import Plan
from ..core.selection import select
from .copying import Made, carry_out
from .elements import collections_in
from .variables import is_variable


def materialise(effect: Effect, resolve_values: Callable[[Any], Any]) -> Made:
    """Returns what a plan makes, in a new `tf.Graph` that also holds everything of the old one.

    Args:
        effect: a faultless effect; its base is copied whole, every name kept, with the edited inputs.
        resolve_values: turns the `values` of a step into a session or mapping.

    Raises:
        PlanError: TensorFlow refuses the edited nodes; the old graph is as it was.
    """
    base = effect.plan.base
    whole = Plan(Graph.of([], owner=object())).copy(select(base), to="", variables="initial", collections="keep")
    less = len(effect.removed)
    moved = [replace(c, place=np.where(c.place >= 0, c.place - less, -1)) if less else c for c in effect.copies]
    both = Effect(
        plan=replace(effect.plan, base=whole.base),
        after=effect.after,
        copies=[*(without(c, effect.removed) for c in whole.effect.copies), *moved],
        connections=effect.connections,
        added=effect.added,
        replaced=effect.replaced,
        changes={name: change for name, change in effect.changes.items() if name in effect.after.index},
    )
    made = carry_out(both, tf.Graph(), resolve_values)
    _keep_order(made.graph, base.owner, _renamed(effect))
    # Variables of the base keep the values their session has: they are not the plan's to set.
    own = {v.name for c in effect.copies for v in c.variables}
    made.origins = _origins(effect)
    made.initial = [name for name in made.initial if name in own and name not in made.origins]
    made.infos = {name: info for name, info in made.infos.items() if name in own}
    made.ops = effect.new_names
    made.carried = {name: v for name, v in made.variables.items() if name not in own}
    made.variables = {name: v for name, v in made.variables.items() if name in own}
    return made


def _origins(effect: Effect) -> dict[str, str]:
    """Variable of the new graph -> the variable of the old one that it is: those that stay, and those that are renamed.

    What was renamed with values of its own, or with initial ones, is another variable.
    """
    base = effect.plan.base
    stay = {name: name for name in base.state.variables if base.index[name] not in effect.removed}
    renamed = _renamed(effect)
    kept = [v for c in effect.copies if c.step.values is None or getattr(c.step.values, "graph", None) is base.owner
            for v in c.variables if v.policy == "copy" and v.name in renamed]  # fmt: skip
    return stay | {v.name: v.was for v in kept}


def _renamed(effect: Effect) -> dict[str, str]:
    """New name -> old name of the ops that are renamed: their copies stay, and they go."""
    base = effect.plan.base
    copies = [c for c in effect.copies if c.role == "copy" and c.source is base and c.step.names is not None]
    pairs = [pair for c in copies for pair in zip(c.names, c.ops.tolist(), strict=True)]
    return {name: base.names[op] for name, op in pairs if op in effect.removed}


def _keep_order(graph: Any, old: Any, renamed: dict[str, str]) -> None:
    """Puts renamed variables where they were in their collections: a trainer pairs them with values by order."""
    there = set(graph.get_all_collection_keys()) if renamed else set()
    for key, items in collections_in(old).items() if there else ():
        now = graph.get_collection_ref(key) if key in there else []
        if all(is_variable(item) for item in (*items, *now)):
            rank = {item.op.name: at for at, item in enumerate(items)}
            now.sort(key=partial(_place, rank, renamed))


def _place(rank: dict[str, int], renamed: dict[str, str], variable: Any) -> int:
    name = variable.op.name
    return rank.get(renamed.get(name, name), len(rank))
