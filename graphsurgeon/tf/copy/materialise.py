"""Materialise: builds a new graph from an edited one, for edits that keep the names of the ops."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...graph.graph import Graph
from ...graph.selection import select
from ...plan.copied import Copied, without
from ...plan.effect import Effect
from ...plan.made import Made
from ...plan.plan import Plan
from ...plan.resolve.rename import keys_renamed
from ...plan.steps import INITIAL
from ..fresh import fresh
from .append import carry_out, read_values


def materialise(effect: Effect) -> Made:
    """Carries out a plan in a new `tf.Graph` that also holds everything of the old one.

    Args:
        effect: a faultless effect; its base is copied whole, under the same names, with the edited inputs.

    Raises:
        PlanError: TensorFlow refuses the edited nodes; the old graph is unchanged.
    """
    base = effect.base
    names = effect.renamed
    whole = Plan(Graph.of([], owner=object())).copy(
        select(base), to="", variables="initial", collections="keep", names=names or None
    )
    if base.size and whole.effect.faults:  # an empty graph needs no copy
        raise whole.effect.faults[0].error()
    about: dict[str, Any] = {"key": "", "keys": keys_renamed(base, names)}
    less = len(effect.removed)
    moved = [replace(c, place=np.where(c.place >= 0, c.place - less, -1)) if less else c for c in effect.copies]
    both = Effect(
        base=whole.base,
        steps=effect.steps,
        after=effect.after,
        copies=(*(replace(without(c, effect.removed), **about) for c in whole.effect.copies), *moved),
        connections=effect.connections,
        added=effect.added,
        replaced=effect.replaced,
        changes={name: change for name, change in effect.changes.items() if name in effect.after.index},
    )
    made = carry_out(both, fresh(base.owner))
    # Variables of the base keep the values in their session: the plan does not set them.
    new = {v.name for c in effect.copies for v in c.variables}
    own = new | _revalued(effect, both.copies[0], made)
    made.origins = _origins(effect)
    made.initial = [name for name in made.initial if name in own and name not in made.origins]
    made.infos = {name: info for name, info in made.infos.items() if name in own}
    made.ops = effect.new_names
    made.carried = {name: v for name, v in made.variables.items() if name not in new}
    made.variables = {name: v for name, v in made.variables.items() if name in new}
    return made


def _origins(effect: Effect) -> dict[str, str]:
    """Variable of the new graph -> the same variable in the old graph, if it stays or is renamed.

    A variable that was renamed with separate values, or with initial ones, counts as another variable.
    """
    base, other = effect.base, set[str]()
    for step, numbers in effect.revalued.items():
        if getattr(getattr(effect.steps[step], "values", None), "graph", None) is not base.owner:
            other |= {base.names[i] for i in numbers if i < base.size}
    stay = (name for name in base.state.variables if base.index[name] not in effect.removed and name not in other)
    return {effect.renamed.get(name, name): name for name in stay}


def _revalued(effect: Effect, whole: Copied, made: Made) -> set[str]:
    """Reads the values that a rename gives to variables; returns the new names of these variables."""
    out: set[str] = set()
    init_ops = list(made.init_ops)
    for step, numbers in effect.revalued.items():
        values = getattr(effect.steps[step], "values", None)
        names = {effect.base.names[i] for i in numbers if i < effect.base.size}
        policy, given = ("initial", None) if values == INITIAL else ("copy", values)
        # Values in a session of this same graph are carried over, also if no op sets the variable.
        carried = getattr(given, "graph", None) is effect.base.owner
        mine = [v for v in whole.variables if v.was in names and not (carried and not v.info.initializer)]
        mine = [replace(v, policy=policy) for v in mine]
        for name in [v.name for v in mine]:
            made.initial = [known for known in made.initial if known != name]
            made.values.pop(name, None)
        read_values(replace(whole, step=replace(whole.step, values=given), variables=mine), made)
        out |= {v.name for v in mine}
    made.init_ops = init_ops  # tables are filled as before
    return out
