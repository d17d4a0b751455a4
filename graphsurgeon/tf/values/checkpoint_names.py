"""Checkpoint names: assigns names in a checkpoint to variables of a graph, and to parts of variables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...errors import PlanError, one_of
from ...graph.live import TFGraph
from ...graph.names import starred
from ...graph.names import under as under_scope
from ...graph.variables import VariableInfo
from ..private.variables import slice_of
from .checkpoints import Checkpoint, Stored
from .variables import variable_objects


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
