"""Restore: sets variables of a session from a checkpoint; checkpoint_names.py finds the name of each variable."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

from ...errors import PlanError, nearest, one_of
from ...graph.live import TFGraph, TFSession
from ...graph.orphans import orphans_of
from ...graph.reports import Restored
from ...graph.variables import VariableInfo
from ...words import counted, few
from .checkpoint_names import matched, saved_names
from .checkpoints import Checkpoint
from .transfer import assign, unsettable
from .variables import fitting_stored, variable_infos


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
