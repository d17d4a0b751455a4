"""After state: the variables, collections, contexts and initializers of the graph after a plan."""

from __future__ import annotations

from dataclasses import replace

from ..graph.names import op_name
from ..graph.variables import Entry, State, VariableInfo, renaming
from .copied import Copied, moved_entries
from .effect import Effect


def state_after(effect: Effect) -> State:
    """Returns the state that the snapshot of the graph will have after a plan.

    Args:
        effect: the effect of the plan.
    """
    after = effect.after
    parts = [_kept(effect), *map(_copied, effect.copies)]
    collections: dict[str, tuple[Entry, ...]] = {}
    for part in parts:
        for name, entries in part.collections.items():
            collections[name] = (*collections.get(name, ()), *entries)
    collections = dict(sorted(collections.items()))
    inside: dict[str, list[str]] = {}
    for name, entries in collections.items():
        for entry in entries:
            if entry.kind == "variable":
                inside.setdefault(entry.name, []).append(name)
    variables = [info for part in parts for info in part.variables.values()]

    def now(info: VariableInfo) -> VariableInfo:
        held = tuple(inside.get(info.op, ()))
        ends = after.input_names(after.index[info.initializer]) if info.initializer in after.index else []
        value = ends[1] if len(ends) > 1 else info.initial_value
        return replace(info, initial_value=value, trainable="trainable_variables" in held, collections=held)

    return State(
        {info.op: now(info) for info in sorted(variables, key=lambda info: after.index[info.op])},
        collections,
        tuple(context for part in parts for context in part.contexts),
        {op: fills for part in parts for op, fills in part.init_ops.items()},
    )


def _kept(effect: Effect) -> State:
    """The state of the base without removed ops; a graph that is built anew loses entries of unknown kinds.

    The state of a live graph is read when it is first needed: it may then have ops that the base does not have.
    """
    base, state, new = effect.base, effect.base.state, renaming(effect.renamed)
    anew = effect.mode != "append"

    def there(name: str) -> bool:
        return op_name(name) in base.index and op_name(new(name)) in effect.after.index

    def stays(entry: Entry) -> bool:
        if entry.kind in ("value", "other"):
            return not (anew and entry.kind == "other")
        return all(map(there, entry.parts or [entry.name]))

    collections = {name: tuple(filter(stays, entries)) for name, entries in state.collections.items()}
    return State(
        {op: info for op, info in state.variables.items() if there(op)},
        {name: entries for name, entries in collections.items() if entries or not anew},
        tuple(ops for ops in state.contexts if all(map(there, ops))),
        {op: kept for op, fills in state.init_ops.items() if there(op) and (kept := tuple(filter(there, fills)))},
    ).renamed(effect.renamed)


def _copied(copied: Copied) -> State:
    """The state that a copy adds."""
    source = copied.source.state
    return State(
        {variable.name: variable.made for variable in copied.variables},
        {one.name: moved_entries(copied, one.was) for one in copied.collections},
        tuple(frozenset(map(copied.renamed, ops)) for ops in source.contexts if all(map(copied.has, ops))),
        {copied.renamed(op): kept for op, fills in source.init_ops.items()
         if copied.has(op) and (kept := tuple(copied.renamed(name) for name in fills if copied.has(name)))},
    )  # fmt: skip
