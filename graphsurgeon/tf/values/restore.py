"""Restores a session from a checkpoint, also under other names, and writes checkpoints with new names."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from ...errors import PlanError, counted, few, nearest, one_of
from ...graph.names import expand_wildcard
from ...graph.names import join_scope as under_scope
from ...graph.provenance import orphans_of
from ...graph.reports import Restored
from ...graph.types import TFGraph, TFSession
from ...graph.variables import VariableInfo
from ..private.graphs import slice_of
from ..save.write import mark_written, put_checkpoint, refuse_existing, staging_dir, verify_checkpoint, write_checkpoint
from .checkpoint_reader import Checkpoint, StoredValue
from .transfer import assign, groups_within, no_initializer_error
from .variables import fitting_stored, variable_infos, variable_objects


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


def _match_variables(
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


#: The maximum number of bytes in memory at once; a single value may be larger.
_BATCH = 64 << 20


def copy_checkpoint(place: Any, path: Any, names: Mapping[str, str], request: str, overwrite: bool) -> dict[str, str]:
    """Writes a checkpoint with the values of another, under other names; returns new name -> old name.

    Args:
        place: the checkpoint to read.
        path: the prefix to write.
        names: old name -> new name, for a variable or a scope with all its variables; or patterns with one ``*``.
        request: the request, for messages.
        overwrite: replace an existing checkpoint.

    Raises:
        OpenError: the checkpoint cannot be read.
        PlanError: an old name does not exist, two values would have the same name, or the checkpoint cannot be written.
    """
    checkpoint, prefix = Checkpoint(place, request), os.fspath(path).removesuffix(".index")
    if os.path.abspath(prefix) == os.path.abspath(checkpoint.prefix):
        raise PlanError(request, f"{prefix!r} is the checkpoint that is read", "Choose another path")
    refuse_existing(prefix, "checkpoint", overwrite, request)
    old_names = sorted(checkpoint.labels.values())
    new_names = rename_variables(old_names, names, request)
    keys = {name: (new_names[name], "") for name in old_names}
    stored = {name: checkpoint.stored_value(name) for name in old_names}
    sizes = {name: one.nbytes for name, one in stored.items()}
    total = sum(sizes.values())
    values = ({name: stored[name].read() for name in names} for names in groups_within(sizes, _BATCH))
    with staging_dir(prefix, request, total) as folder:
        new = os.path.join(folder, "values")
        write_checkpoint(new, values, keys, total, request)
        verify_checkpoint(new, new_names.values(), request)
        put_checkpoint(new, prefix)
    mark_written(prefix, "checkpoint")
    return {new_name: name for name, new_name in new_names.items()}


def restore(
    session: TFSession,
    place: Any,
    *,
    scope: str = "",
    names: Mapping[str, str] | None = None,
    exclude: Iterable[str] = (),
    partial: bool = False,
    is_new_session: bool = False,
) -> Restored:
    """Sets the variables of a session from a checkpoint, each through its own initializer; adds no op.

    Args:
        session: the session.
        place: the checkpoint; see `Checkpoint`.
        scope, names: see `saved_names`.
        exclude: names or patterns of variables that are not changed.
        partial: whether variables that are not in the checkpoint keep their values; otherwise they are an error.
        is_new_session: whether the session is not in use yet, so a failure may leave some of its variables set.

    Raises:
        OpenError: the checkpoint cannot be read.
        PlanError: the checkpoint is of another model, does not contain all variables, or a shape or dtype differs. No
            variable is set.
    """
    request = f"restore({str(place)!r}" + (f", scope={scope!r})" if scope else ")")
    graph, checkpoint = session.graph, Checkpoint(place, request)
    orphans = orphans_of(graph)
    infos = {op: info for op, info in variable_infos(graph).items() if op not in orphans}
    variables = {op: info for op, info in infos.items() if not any(fnmatchcase(op, rule) for rule in exclude)}
    if scope.strip("/") and not any(op.startswith(scope.strip("/") + "/") for op in variables):
        problem, there = f"no variable is under {scope.strip('/')!r}", {op.partition("/")[0] for op in variables}
        how = f"{one_of(scope, there).rstrip('.')}. " if nearest(scope, there) else ""
        raise PlanError(request, problem, how + _advice(checkpoint, variables, graph, request, names))
    names = {old: new for old, new in (names or {}).items() if new in variables or new not in infos}
    targets = saved_names(graph, variables.values(), scope, names, request)
    stored_values, missing = _match_variables(checkpoint, targets, graph)
    if not stored_values:
        have = [checkpoint.labels[key] for key in checkpoint.labels][:4]
        first = next(iter(targets.values()), "")
        raise PlanError(
            request,
            f"it is the checkpoint of another model: it has {few(have)} and nothing called {first!r}"
            if targets
            else "exclude= leaves no variable to restore"
            if infos
            else "the graph has no variable to restore",
            "Exclude fewer variables, such as exclude=['head/*']"
            if infos and not targets
            else _advice(checkpoint, variables, graph, request, names)
            if infos
            else "Restore it into the graph that has its variables",
        )
    if missing and not partial:
        raise PlanError(
            request,
            f"the checkpoint has no value for {len(missing)} of {counted(len(targets), 'variables')}: {few(missing)}",
            "Type partial=True to restore the others. "
            f"{_advice(checkpoint, variables, graph, request, names, len(missing))}",
        )
    for op, stored in stored_values.items():
        fitting_stored(stored, infos[op], graph, request)
    mute = [op for op in stored_values if not infos[op].initializer]
    if mute:
        raise no_initializer_error(mute, request)
    if not is_new_session:
        # Damaged values must be found before anything is set.
        checkpoint.verify({stored.key: stored for stored in stored_values.values()}.values())
    try:
        assign(session, stored_values, infos, "restoring")
    except KeyboardInterrupt as stop:
        stop.add_note("Each variable has its complete old value or new value. The same call again restores all.")
        raise
    used_keys = {stored.key for stored in stored_values.values()}
    labels = {op: checkpoint.labels.get(stored.key, stored.key) for op, stored in stored_values.items()}
    unused = tuple(name for key, name in sorted(checkpoint.labels.items()) if key not in used_keys)
    excluded = tuple(op for op in infos if op not in variables)
    return Restored(checkpoint.prefix, labels, tuple(missing), unused, excluded)


def _advice(
    checkpoint: Checkpoint,
    variables: Mapping[str, VariableInfo],
    graph: TFGraph,
    request: str,
    names: Mapping[str, str] | None,
    limit: int | None = None,
) -> str:
    """Suggests arguments with which the values of a checkpoint match the variables in name, dtype and shape.

    Args:
        checkpoint: the checkpoint.
        variables: variable op -> variable, for the variables to restore.
        graph, request, names: as in `restore`.
        limit: the number of variables that have no value with the given arguments.
    """

    def missing_for(scope: str, renames: Mapping[str, str]) -> list[str] | None:
        """Returns the variables without a value; None if no value is found, or a value does not fit."""
        try:
            stored_values, missing = _match_variables(
                checkpoint, saved_names(graph, variables.values(), scope, renames, request), graph
            )
            for op, stored in stored_values.items():
                fitting_stored(stored, variables[op], graph, request)
        except PlanError:
            return None
        return missing if stored_values else None

    suggestions: list[tuple[int, str]] = []
    renames, missing = dict(names or {}), missing_for("", names or {})
    if missing is not None:
        suggestions.append((len(missing), "no scope="))
    for _ in range(8):  # adds one pattern after another, as long as each one finds more values
        best = None
        for old, new in _scopes(checkpoint.names, variables if missing is None else missing):
            if not old and new and not renames:
                alone = missing_for(new, {})
                suggestions += [(len(alone), f"scope={new!r}")] if alone is not None else []
            more = {**renames, f"{old}/*".lstrip("/"): f"{new}/*".lstrip("/")}
            then = missing_for("", more)
            if then is not None and len(then) < len(variables if best is None else best[0]):
                best = then, more
        if best is None or (missing is not None and len(best[0]) >= len(missing)):
            break
        missing, renames = best
        suggestions.append((len(missing), f"names={renames!r}"))
    suggestions.sort(key=lambda way: way[0])
    if not suggestions or (limit is not None and suggestions[0][0] >= limit):
        return "Give pairs of names: names={'name in the checkpoint': 'variable'}"
    return f"Type {suggestions[0][1]}" + (", partial=True" if suggestions[0][0] else "")


def _scopes(names: Iterable[str], variables: Iterable[str]) -> list[tuple[str, str]]:
    """Returns (scope in the checkpoint, scope in the graph) with the same names in them; most names first."""
    below: dict[str, list[str]] = {}
    for name in names:
        parts = name.split("/")
        for i in range(len(parts)):
            below.setdefault("/".join(parts[i:]), []).append("/".join(parts[:i]))
    count: Counter[tuple[str, str]] = Counter()
    for op in variables:
        parts = op.split("/")
        rests = ((i, below.get("/".join(parts[i:]), [])) for i in range(len(parts)))
        i, heads = next(((i, heads) for i, heads in rests if heads), (0, []))
        count.update((head, "/".join(parts[:i])) for head in heads[:50])
    return [pair for pair, _ in count.most_common(6) if pair[0] != pair[1]]
