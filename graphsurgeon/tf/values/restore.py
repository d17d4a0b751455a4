"""Restoring a session from a checkpoint: the names of its variables, and checkpoints with other names."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from ...errors import PlanError, counted, few, nearest, one_of
from ...graph.names import starred
from ...graph.names import under as under_scope
from ...graph.provenance import orphans_of
from ...graph.reports import Restored
from ...graph.tf_types import TFGraph, TFSession
from ...graph.variables import VariableInfo
from ..private.sessions import slice_of
from ..save.write import beside, claim_saved, put_checkpoint, read_back, refuse_taken, write_checkpoint
from .checkpoints import Checkpoint, Stored
from .transfer import assign, bounded, unsettable
from .variables import fitting_stored, variable_infos, variable_objects


def slices(graph: TFGraph) -> dict[str, Any]:
    """Returns op name -> the `SaveSliceInfo` of each part of a partitioned variable: its position in the whole."""
    found = {op: slice_of(variable) for op, variable in variable_objects(graph).items()}
    return {op: about for op, about in found.items() if about is not None}


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
        scope: a scope that limits the variables; the names in the checkpoint do not include it.
        names: name in the checkpoint -> variable, if it is not the variable's own. A ``*`` matches the same text on
            both sides. A partitioned variable may be given as a whole, or by its parts.
        request: the request, for messages.
        only_named: leave out the variables that `names` does not contain.

    Raises:
        PlanError: `names` or `scope` fits no variable, or one name is given to two variables.
    """
    lead, parts = scope.strip("/"), slices(graph)
    out, named = dict[str, str](), dict[str, str]()
    known = {info.op: str(parts[info.op].full_name) if info.op in parts else info.op for info in infos}
    called: dict[str, list[str]] = {}
    for op, whole in known.items():
        called.setdefault(whole, []).append(op)
        if whole != op:
            called[op] = [op]
        if not lead or op.startswith(lead + "/"):
            out[op] = whole.removeprefix(lead + "/") if lead else whole
    if lead and not out:
        raise PlanError(request, f"no variable is under {lead!r}", one_of(lead, {n.partition("/")[0] for n in known}))
    for old, new in names.items():
        hits = _meant(new, old, called, request) or _meant(under_scope(lead, new), old, called, request)
        if not hits:
            raise PlanError(request, f"names={{{old!r}: {new!r}}} names no variable of the graph", one_of(new, called))
        for name, saved in hits.items():
            named |= {op: saved.removesuffix(op.removeprefix(known[op])) for op in called[name]}
    return named if only_named else out | named


def _meant(target: str, saved: str, known: Mapping[str, Any], request: str) -> dict[str, str]:
    """The variables that a name or a pattern fits, each with its name in the checkpoint."""
    if "*" in target or "*" in saved:
        return starred(target, saved, known, request)
    return {target: saved} if target in known else {}


def matched(checkpoint: Checkpoint, wanted: Mapping[str, str], graph: TFGraph) -> tuple[dict[str, Stored], list[str]]:
    """Returns the value in a checkpoint for each variable, and the variables without one.

    Args:
        checkpoint: the checkpoint.
        wanted: variable op -> name in the checkpoint.
        graph: the live graph.
    """
    parts, names = slices(graph), checkpoint.names
    found: dict[str, Stored] = {}
    missing = []
    for op, name in wanted.items():
        own = name + op.removeprefix(parts[op].full_name) if op in parts else name
        if name not in names and own in names:
            found[op] = checkpoint.stored(own)  # saved separately, not as a part
        elif name not in names:
            missing.append(op)
        else:
            found[op] = checkpoint.stored(name, (parts[op].var_offset, parts[op].var_shape) if op in parts else None)
    return found, missing


#: The most bytes in memory at once; one larger value is allowed.
_BATCH = 64 << 20


def copy_checkpoint(place: Any, path: Any, names: Mapping[str, str], request: str, overwrite: bool) -> dict[str, str]:
    """Writes a checkpoint with the values of another, under other names; returns new name -> old name.

    Args:
        place: the checkpoint to read.
        path: the prefix to write.
        names: old name -> new one: of a variable, of a scope with all its variables, or with one ``*`` on both sides.
        request: the request, for messages.
        overwrite: replace an existing checkpoint.

    Raises:
        OpenError: the checkpoint cannot be read.
        PlanError: an old name does not exist, two values would have one name, or the checkpoint cannot be written.
    """
    checkpoint, prefix = Checkpoint(place, request), os.fspath(path).removesuffix(".index")
    if os.path.abspath(prefix) == os.path.abspath(checkpoint.prefix):
        raise PlanError(request, f"{prefix!r} is the checkpoint that is read", "Choose another path")
    refuse_taken(prefix, "checkpoint", overwrite, request)
    known = sorted(checkpoint.labels.values())
    written = renamed(known, names, request)
    keys = {name: (written[name], "") for name in known}
    stored = {name: checkpoint.stored(name) for name in known}
    sizes = {name: one.nbytes for name, one in stored.items()}
    total = sum(sizes.values())
    values = ({name: stored[name].read() for name in names} for names in bounded(sizes, _BATCH))
    with beside(prefix, request, total) as folder:
        new = os.path.join(folder, "values")
        write_checkpoint(new, values, keys, total, request)
        read_back(new, written.values(), request)
        put_checkpoint(new, prefix)
    claim_saved(prefix, "checkpoint")
    return {new_name: name for name, new_name in written.items()}


def renamed(known: list[str], names: Mapping[str, str], request: str) -> dict[str, str]:
    """Returns name -> new name, for all known names; a name without a rule stays the same.

    Raises:
        PlanError: a rule fits no name, or two values would have one name.

    Example:
        >>> renamed(["a/w", "a/w/Adam", "b"], {"a/w": "c/v", "b": "a/b"}, "")
        {'a/w': 'c/v', 'a/w/Adam': 'c/v/Adam', 'b': 'a/b'}
        >>> renamed(["a/w/ema", "a/w"], {"*/ema": "*", "a/w": "raw"}, "")
        {'a/w/ema': 'a/w', 'a/w': 'raw'}
    """
    rules = {old: _by_rule(old, new, known, request) for old, new in names.items()}
    for old, found in rules.items():
        if not found:
            raise PlanError(request, f"the checkpoint has nothing called {old!r}", one_of(old, known))
    # The exact name has priority, then patterns, then scopes: the slots of a variable are in a scope of its name.
    meant = {old: new for old, new in names.items() if old in rules[old]}
    for old in sorted(rules, key=lambda old: ("*" in old, len(old)), reverse=True):
        meant = rules[old] | meant
    out = {name: meant.get(name, name) for name in known}
    counts = Counter(out.values())
    twice = [name for name in known if counts[out[name]] > 1]
    if twice:
        clash = [name for name in twice if out[name] == out[twice[0]]]
        problem = f"{few(map(repr, clash))} would both be called {out[twice[0]]!r}"
        raise PlanError(request, problem, "Give them different names")
    return out


def _by_rule(old: str, new: str, known: list[str], request: str) -> dict[str, str]:
    """The names that a rule fits (the name itself, all names in a scope, or those of a pattern) -> their new names."""
    if "*" in old or "*" in new:
        return starred(old, new, known, request)
    lead, to = f"{old.rstrip('/')}/", new.rstrip("/")
    inside = {name: f"{to}/{name.removeprefix(lead)}".lstrip("/") for name in known if name.startswith(lead)}
    return inside | ({old: new} if old in known else {})


def stored_names(place: Any, request: str) -> frozenset[str]:
    """Returns the names of the values that a checkpoint holds.

    Raises:
        OpenError: the checkpoint cannot be read.
    """
    return frozenset(Checkpoint(place, request).names)


def restore(
    session: TFSession,
    place: Any,
    *,
    scope: str = "",
    names: Mapping[str, str] | None = None,
    exclude: Iterable[str] = (),
    partial: bool = False,
    fresh: bool = False,
) -> Restored:
    """Sets the variables of a session from a checkpoint, each through its own initialiser; adds no op.

    Args:
        session: the session.
        place: the checkpoint; see `Checkpoint`.
        scope, names: see `saved_names`.
        exclude: names or patterns of variables that stay as they are.
        partial: variables that the checkpoint does not have stay as they are; otherwise they are a fault.
        fresh: the session is not in use yet, so that a failure may leave it half set.

    Raises:
        OpenError: the checkpoint cannot be read.
        PlanError: it is of another model, does not have all variables, or a shape or dtype differs. Nothing is set.
    """
    request = f"restore({str(place)!r}" + (f", scope={scope!r})" if scope else ")")
    graph, checkpoint = session.graph, Checkpoint(place, request)
    gone = orphans_of(graph)
    infos = {op: info for op, info in variable_infos(graph).items() if op not in gone}
    held = {op: info for op, info in infos.items() if not any(fnmatchcase(op, rule) for rule in exclude)}
    if scope.strip("/") and not any(op.startswith(scope.strip("/") + "/") for op in held):
        problem, there = f"no variable is under {scope.strip('/')!r}", {op.partition("/")[0] for op in held}
        how = f"{one_of(scope, there).rstrip('.')}. " if nearest(scope, there) else ""
        raise PlanError(request, problem, how + _advice(checkpoint, held, graph, request, names))
    names = {old: new for old, new in (names or {}).items() if new in held or new not in infos}
    wanted = saved_names(graph, held.values(), scope, names, request)
    found, missing = matched(checkpoint, wanted, graph)
    if not found:
        have = [checkpoint.labels[key] for key in checkpoint.labels][:4]
        first = next(iter(wanted.values()), "")
        raise PlanError(
            request,
            f"it is the checkpoint of another model: it has {few(have)} and nothing called {first!r}"
            if wanted
            else "exclude= leaves no variable to restore"
            if infos
            else "the graph has no variable to restore",
            "Exclude fewer variables, such as exclude=['head/*']"
            if infos and not wanted
            else _advice(checkpoint, held, graph, request, names)
            if infos
            else "Restore it into the graph that has its variables",
        )
    if missing and not partial:
        raise PlanError(
            request,
            f"the checkpoint has no value for {len(missing)} of {counted(len(wanted), 'variables')}: {few(missing)}",
            "Type partial=True to restore the others. "
            f"{_advice(checkpoint, held, graph, request, names, len(missing))}",
        )
    for op, stored in found.items():
        fitting_stored(stored, infos[op], graph, request)
    mute = [op for op in found if not infos[op].initializer]
    if mute:
        raise unsettable(mute, request)
    if not fresh:
        # Damaged values must be found before anything is set.
        checkpoint.verify({stored.key: stored for stored in found.values()}.values())
    try:
        assign(session, found, infos, "restoring")
    except KeyboardInterrupt as stop:
        stop.add_note("Each variable has its complete old value or new value. The same call again restores all.")
        raise
    used = {stored.key for stored in found.values()}
    labels = {op: checkpoint.labels.get(stored.key, stored.key) for op, stored in found.items()}
    unused = tuple(name for key, name in sorted(checkpoint.labels.items()) if key not in used)
    left = tuple(op for op in infos if op not in held)
    return Restored(checkpoint.prefix, labels, tuple(missing), unused, left)


def _advice(
    checkpoint: Checkpoint,
    held: Mapping[str, VariableInfo],
    graph: TFGraph,
    request: str,
    names: Mapping[str, str] | None,
    most: int | None = None,
) -> str:
    """A suggestion of arguments with which the values of a checkpoint fit in name, dtype and shape.

    Args:
        checkpoint: the checkpoint.
        held: variable op -> variable, of those to restore.
        graph, request, names: as in `restore`.
        most: how many variables have no value with the given arguments.
    """

    def left(scope: str, renames: Mapping[str, str]) -> list[str] | None:
        """The variables without a value for these arguments; None if no value is found, or one does not fit."""
        try:
            found, missing = matched(checkpoint, saved_names(graph, held.values(), scope, renames, request), graph)
            for op, stored in found.items():
                fitting_stored(stored, held[op], graph, request)
        except PlanError:
            return None
        return missing if found else None

    ways: list[tuple[int, str]] = []
    renames, missing = dict(names or {}), left("", names or {})
    if missing is not None:
        ways.append((len(missing), "no scope="))
    for _ in range(8):  # one pattern after another, as long as each finds more
        best = None
        for old, new in _scopes(checkpoint.names, held if missing is None else missing):
            if not old and new and not renames:
                alone = left(new, {})
                ways += [(len(alone), f"scope={new!r}")] if alone is not None else []
            more = {**renames, f"{old}/*".lstrip("/"): f"{new}/*".lstrip("/")}
            then = left("", more)
            if then is not None and len(then) < len(held if best is None else best[0]):
                best = then, more
        if best is None or (missing is not None and len(best[0]) >= len(missing)):
            break
        missing, renames = best
        ways.append((len(missing), f"names={renames!r}"))
    ways.sort(key=lambda way: way[0])
    if not ways or (most is not None and ways[0][0] >= most):
        return "Give pairs of names: names={'name in the checkpoint': 'variable'}"
    return f"Type {ways[0][1]}" + (", partial=True" if ways[0][0] else "")


def _scopes(saved: Iterable[str], variables: Iterable[str]) -> list[tuple[str, str]]:
    """Pairs of scopes, of a checkpoint and of a graph, with the same names below them; those with most names first."""
    below: dict[str, list[str]] = {}
    for name in saved:
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
