"""Maps names of variables to the names in a checkpoint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ...errors import PlanError, few, one_of
from ...graph.names import expand_wildcard
from ...graph.names import join_scope as under_scope
from ...graph.types import TFGraph
from ...graph.variables import VariableInfo
from ..private.sessions import slice_of
from .checkpoint_reader import Checkpoint, StoredValue
from .variables import variable_objects


def slices(graph: TFGraph) -> dict[str, Any]:
    """Returns op name of a part of a partitioned variable -> its `SaveSliceInfo`, the position in the variable."""
    infos = {op: slice_of(variable) for op, variable in variable_objects(graph).items()}
    return {op: about for op, about in infos.items() if about is not None}


def saved_names(
    graph: TFGraph,
    infos: Iterable[VariableInfo],
    scope: str,
    names: Mapping[str, str],
    request: str,
    only_named: bool = False,
) -> dict[str, str]:
    """Returns variable op -> its name in a checkpoint.

    Args:
        graph: the live graph.
        infos: its variables.
        scope: only the variables in this scope are used; the names in the checkpoint do not include the scope.
        names: name in the checkpoint -> variable, if the names differ. A ``*`` matches the same text on both sides. A
            partitioned variable may be given as a whole, or by its parts.
        request: the request, for messages.
        only_named: leave out the variables that `names` does not contain.

    Raises:
        PlanError: `names` or `scope` matches no variable, or two variables would have the same name.
    """
    lead, parts = scope.strip("/"), slices(graph)
    out, explicit_names = dict[str, str](), dict[str, str]()
    whole_names = {info.op: str(parts[info.op].full_name) if info.op in parts else info.op for info in infos}
    called: dict[str, list[str]] = {}
    for op, whole in whole_names.items():
        called.setdefault(whole, []).append(op)
        if whole != op:
            called[op] = [op]
        if not lead or op.startswith(lead + "/"):
            out[op] = whole.removeprefix(lead + "/") if lead else whole
    if lead and not out:
        raise PlanError(
            request, f"no variable is under {lead!r}", one_of(lead, {n.partition("/")[0] for n in whole_names})
        )
    for old, new in names.items():
        hits = _matching_variables(new, old, called, request) or _matching_variables(
            under_scope(lead, new), old, called, request
        )
        if not hits:
            raise PlanError(request, f"names={{{old!r}: {new!r}}} names no variable of the graph", one_of(new, called))
        for name, saved in hits.items():
            explicit_names |= {op: saved.removesuffix(op.removeprefix(whole_names[op])) for op in called[name]}
    return explicit_names if only_named else out | explicit_names


def _matching_variables(target: str, name: str, names: Mapping[str, Any], request: str) -> dict[str, str]:
    """Returns variable -> its name in the checkpoint, for all variables that a name or a pattern matches."""
    if "*" in target or "*" in name:
        return expand_wildcard(target, name, names, request)
    return {target: name} if target in names else {}


def match_variables(
    checkpoint: Checkpoint, checkpoint_names: Mapping[str, str], graph: TFGraph
) -> tuple[dict[str, StoredValue], list[str]]:
    """Returns the value in a checkpoint for each variable, and the variables without one.

    Args:
        checkpoint: the checkpoint.
        checkpoint_names: variable op -> name in the checkpoint.
        graph: the live graph.
    """
    parts, names = slices(graph), checkpoint.names
    stored: dict[str, StoredValue] = {}
    missing = []
    for op, name in checkpoint_names.items():
        own = name + op.removeprefix(parts[op].full_name) if op in parts else name
        if name not in names and own in names:
            stored[op] = checkpoint.stored_value(own)  # the part was saved as a separate variable
        elif name not in names:
            missing.append(op)
        else:
            stored[op] = checkpoint.stored_value(
                name, (parts[op].var_offset, parts[op].var_shape) if op in parts else None
            )
    return stored, missing


def rename_variables(old_names: list[str], names: Mapping[str, str], request: str) -> dict[str, str]:
    """Returns name -> new name, for all known names; a name without a rule stays the same.

    Raises:
        PlanError: a rule matches no name, or two values would have the same name.

    Example:
        >>> rename_variables(["a/w", "a/w/Adam", "b"], {"a/w": "c/v", "b": "a/b"}, "")
        {'a/w': 'c/v', 'a/w/Adam': 'c/v/Adam', 'b': 'a/b'}
        >>> rename_variables(["a/w/ema", "a/w"], {"*/ema": "*", "a/w": "raw"}, "")
        {'a/w/ema': 'a/w', 'a/w': 'raw'}
    """
    rules = {old: _by_rule(old, new, old_names, request) for old, new in names.items()}
    for old, matches in rules.items():
        if not matches:
            raise PlanError(request, f"the checkpoint has nothing called {old!r}", one_of(old, old_names))
    # The exact name has priority, then patterns, then scopes: the slots of a variable are in a scope of its name.
    new_names = {old: new for old, new in names.items() if old in rules[old]}
    for old in sorted(rules, key=lambda old: ("*" in old, len(old)), reverse=True):
        new_names = rules[old] | new_names
    out = {name: new_names.get(name, name) for name in old_names}
    counts = Counter(out.values())
    twice = [name for name in old_names if counts[out[name]] > 1]
    if twice:
        clash = [name for name in twice if out[name] == out[twice[0]]]
        problem = f"{few(map(repr, clash))} would both be called {out[twice[0]]!r}"
        raise PlanError(request, problem, "Give them different names")
    return out


def _by_rule(old: str, new: str, old_names: list[str], request: str) -> dict[str, str]:
    """Returns name -> new name, for the names that a rule matches: one name, all names in a scope, or a pattern."""
    if "*" in old or "*" in new:
        return expand_wildcard(old, new, old_names, request)
    lead, to = f"{old.rstrip('/')}/", new.rstrip("/")
    inside = {name: f"{to}/{name.removeprefix(lead)}".lstrip("/") for name in old_names if name.startswith(lead)}
    return inside | ({old: new} if old in old_names else {})


def stored_names(place: Any, request: str) -> frozenset[str]:
    """Returns the names of the values in a checkpoint.

    Raises:
        OpenError: the checkpoint cannot be read.
    """
    return frozenset(Checkpoint(place, request).names)
