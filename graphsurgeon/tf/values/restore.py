"""Restoring: which value of a checkpoint belongs to which variable of a graph, under new names or old ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from ...errors import PlanError, one_of
from ...graph.live import TFGraph, TFSession
from ...graph.names import under as under_scope
from ...graph.reports import Restored
from ...graph.variables import VariableInfo
from ...words import counted, few
from ..private.variables import slice_of
from .checkpoints import Checkpoint, Stored
from .transfer import assign, unsettable
from .variables import fitting_stored, variable_infos, variable_objects


@dataclass
class Slice:
    """Where the value of a partitioned variable lies in the whole one, and how a checkpoint writes that."""

    name: str
    start: tuple[int, ...]
    shape: tuple[int, ...]
    spec: str


def slices(graph: TFGraph) -> dict[str, Slice]:
    """Returns the parts of partitioned variables, by op name."""
    found = {}
    for op, variable in variable_objects(graph).items():
        about = slice_of(variable)
        if about is not None:
            found[op] = Slice(about.full_name, tuple(about.var_offset), tuple(about.var_shape), about.spec)
    return found


def saved_names(
    graph: TFGraph, infos: Iterable[VariableInfo], scope: str, names: Mapping[str, str], asked: str
) -> dict[str, str]:
    """Returns variable op -> its name in a checkpoint.

    Args:
        graph: the live graph.
        infos: its variables.
        scope: the one whose variables are meant; the checkpoint has them without it.
        names: name in the checkpoint -> variable, where it is not the variable's own; ``*`` stands for the same text
            on both sides.
        asked: the request, for messages.

    Raises:
        PlanError: `names` or `scope` names no variable, or gives one name to two variables.
    """
    lead, parts = scope.strip("/"), slices(graph)
    out: dict[str, str] = {}
    known = [info.op for info in infos]
    for op in known:
        if lead and not op.startswith(lead + "/"):
            continue
        whole = parts[op].name if op in parts else op
        out[op] = whole.removeprefix(lead + "/") if lead else whole
    if lead and not out:
        raise PlanError(asked, f"no variable is under {lead!r}", one_of(lead, {n.partition("/")[0] for n in known}))
    for old, new in names.items():
        hits = _pattern_hits(old, new, known, lead)
        if not hits:
            raise PlanError(asked, f"names={{{old!r}: {new!r}}} names no variable of the graph", one_of(new, known))
        out.update(hits)
    return out


def _pattern_hits(old: str, new: str, known: list[str], scope: str) -> dict[str, str]:
    """Variables that a pair of names means, in full or without the scope, with their names in the checkpoint."""
    out = {}
    for target in (new, under_scope(scope, new)):
        head, star, tail = target.partition("*")
        for op in known:
            if not star and op == target:
                out[op] = old
            elif star and op.startswith(head) and op.endswith(tail) and len(op) >= len(head) + len(tail):
                out[op] = old.replace("*", op[len(head) : len(op) - len(tail)], 1)
        if out:
            break
    return out


def restore(
    session: TFSession,
    place: Any,
    *,
    scope: str = "",
    names: Mapping[str, str] | None = None,
    exclude: Iterable[str] = (),
    partial: bool = False,
    fresh: bool = False,
    orphans: Iterable[str] = (),
) -> Restored:
    """Sets the variables of a session from a checkpoint, each through its own initialiser; adds no op.

    Args:
        session: the session.
        place: the checkpoint; see `Checkpoint`.
        scope, names: see `saved_names`.
        exclude: names or patterns of variables that stay as they are.
        partial: variables that the checkpoint does not have stay as they are; without it they are a fault.
        orphans: ops without a role; a variable among them is none of those to restore.
        fresh: nobody uses the session yet, so that a failure may leave it half set.

    Raises:
        OpenError: the checkpoint cannot be read.
        PlanError: it is of another model, has not all variables, or a shape or dtype differs. Nothing is set then.
    """
    asked = f"restore({str(place)!r}" + (f", scope={scope!r})" if scope else ")")
    graph, checkpoint = session.graph, Checkpoint(place, asked)
    gone = frozenset(orphans)
    infos = {op: info for op, info in variable_infos(graph).items() if op not in gone}
    held = {op: info for op, info in infos.items() if not any(fnmatchcase(op, rule) for rule in exclude)}
    wanted = saved_names(graph, held.values(), scope, dict(names or {}), asked)
    found, missing = matched(checkpoint, wanted, graph)
    if not found:
        have = [checkpoint.labels[key] for key in checkpoint.labels][:4]
        first = next(iter(wanted.values()), "")
        raise PlanError(
            asked,
            f"it is the checkpoint of another model: it has {few(have)} and nothing called {first!r}"
            if wanted
            else "exclude= leaves no variable to restore"
            if infos
            else "the graph has no variable to restore",
            "Leave out less: exclude=['head/*']"
            if infos and not wanted
            else "Say which name is which: scope='net', or names={'name in the checkpoint': 'variable'}",
        )
    if missing and not partial:
        raise PlanError(
            asked,
            f"the checkpoint has no value for {len(missing)} of {counted(len(wanted), 'variables')}: {few(missing)}",
            "Type partial=True to restore the others, or say how they are called there: names={...}",
        )
    for op, stored in found.items():
        fitting_stored(stored, infos[op], graph, asked)
    mute = [op for op in found if not infos[op].initializer]
    if mute:
        raise unsettable(mute, asked)
    if not fresh:
        checkpoint.verify(_once(found.values()))  # what turns out to be damaged must do so before anything is set
    try:
        assign(session, graph, found, infos, "restoring")
    except KeyboardInterrupt as stop:
        stop.add_note("Each variable has either its old or its new value, whole. The same call again restores all.")
        raise
    used = {stored.key for stored in found.values()}
    labels = {op: checkpoint.labels.get(stored.key, stored.key) for op, stored in found.items()}
    unused = tuple(name for key, name in sorted(checkpoint.labels.items()) if key not in used)
    left = tuple(op for op in infos if op not in held)
    return Restored(checkpoint.prefix, labels, tuple(missing), unused, left)


def matched(checkpoint: Checkpoint, wanted: Mapping[str, str], graph: TFGraph) -> tuple[dict[str, Stored], list[str]]:
    """Returns the value that a checkpoint has for each variable, and the variables it has none for.

    Args:
        checkpoint: the checkpoint.
        wanted: variable op -> name in the checkpoint.
        graph: the live graph.
    """
    parts, names = slices(graph), checkpoint.names
    found: dict[str, Stored] = {}
    missing = []
    for op, name in wanted.items():
        if name not in names and op in parts and op in names:
            found[op] = checkpoint.stored(op)  # saved on its own, not as a part
        elif name not in names:
            missing.append(op)
        else:
            found[op] = checkpoint.stored(name, (parts[op].start, parts[op].shape) if op in parts else None)
    return found, missing


def _once(values: Iterable[Stored]) -> list[Stored]:
    return list({stored.key: stored for stored in values}.values())
