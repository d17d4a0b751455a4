"""Resolves the steps that rename ops, set attributes and devices, or rebuild the graph."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ...errors import PlanError, counted, did_you_mean
from ...graph.devices import device_parts
from ...graph.graph import Graph
from ...graph.names import free_name, invalid_name_fault, valid_name
from ..dependencies import needed_ops
from ..edit_state import EditState, GraphDelta
from ..plan_result import OpChange
from ..steps.edge_checks import ops_of
from ..steps.edit import RebuildStep, RenameStep, SetStep

#: Attributes that name state which ops share. The value is often the name of the op, or begins with its scope.
_KEYS = ("shared_name", "frame_name", "var_name")


def rename(step: RenameStep, state: EditState) -> Iterator[GraphDelta]:
    """Renames ops and scopes, after all checks."""
    bench, names = state.bench, dict(step.names)
    names_by_op: dict[int, str] = {}
    for old in sorted(names, key=len):  # a new name for an op overrides that of its scope
        own = [bench.index[old]] if old in bench.index else []
        ops = [*own, *bench.ops_in_scope(old)]
        if not ops:
            now = state.new_name(old)
            near = f"An earlier step renamed it to {now!r}" if now else ""
            near = near or did_you_mean(old, [*state.after.scopes.names[1:], *state.after.names])
            raise PlanError(step.request, f"no op and no scope is called {old!r}", near)
        names_by_op.update({op: names[old] + bench.names[op][len(old) :] for op in ops})
    _refuse(step, state, names_by_op)
    new_names = {op: name for op, name in names_by_op.items() if name != bench.names[op]}
    yield GraphDelta(new_names=new_names, revalued=() if step.values is None else tuple(names_by_op))


def _refuse(step: RenameStep, state: EditState, new_names: Mapping[int, str]) -> None:
    """Raises PlanError if a new name is not valid or already taken."""
    bench, owners = state.bench, dict[str, int]()
    bad = next((new for old, new in step.names if new != old and not valid_name(new)), None)
    if bad is not None:
        raise PlanError(step.request, *invalid_name_fault(bad, "a name of an op", bench.is_name_used))
    for op, name in new_names.items():
        there = bench.index.get(name)
        problem = ""
        if there is not None and there not in new_names:
            problem = f"the name {name!r} is taken in {bench.title}"
        if name in owners:
            problem = problem or f"{bench.names[owners[name]]!r} and {bench.names[op]!r} would both be called {name!r}"
        if problem:
            wish = next((new for _, new in step.names if name == new or name.startswith(f"{new}/")), name)
            way = f"Type a name that is free, such as {free_name(wish, bench.is_name_used)!r}"
            raise PlanError(step.request, problem, f"{way}, or rename both at once: {{old: new, ...}}")
        owners[name] = op


def rename_keys(graph: Graph, names: Mapping[str, str]) -> dict[str, str]:
    """Returns the new keys of shared state and of loops after ops are renamed: old key -> new key.

    A key changes if it is the name of a renamed op or begins with the scope of a renamed op. The old key is not kept,
    because another graph may later have state under it.

    Args:
        graph: the graph before the ops are renamed.
        names: old name -> new name of each renamed op.
    """
    attrs = [getattr(node, "attr", {}) for node in graph.nodes] if names else []
    keys = [{key: a[key].s.decode("utf-8", "replace") for key in _KEYS if key in a and a[key].s} for a in attrs]
    out: dict[str, str] = {}
    for name, mine in zip(graph.names, keys, strict=False):
        for key in mine.values() if name in names else ():
            new = _rename_key(key, name, names[name])
            if new != key:
                out.setdefault(key, new)
    there = {key for mine in keys for key in mine.values()} - out.keys()
    return {key: new for key, new in out.items() if new not in there}


def _rename_key(key: str, old: str, new: str) -> str:
    if key == old:
        return new
    before, after = old.split("/"), new.split("/")
    while before and after and before[-1] == after[-1]:
        before, after = before[:-1], after[:-1]
    scope = "/".join(before)
    return "/".join([*after, key[len(scope) + 1 :]]) if scope and key.startswith(f"{scope}/") else key


def set_op_attributes(step: SetStep, state: EditState) -> Iterator[GraphDelta]:
    """Sets attributes or the device of ops."""
    request = step.request
    (ops,) = ops_of(state, request, step.ops)
    if step.device is not None and device_parts(step.device) is None:
        raise PlanError(request, f"{step.device!r} is not a device", "Type one, such as '/cpu:0' or '/job:ps/task:1'")
    for name, value in step.attributes:
        if value is None and not name.startswith("_"):
            problem = f"{name!r} is an attribute that the op type needs"
            raise PlanError(request, problem, "Only attributes that begin with '_' can be cleared")
    yield GraphDelta(changes=dict.fromkeys(ops, OpChange(dict(step.attributes), step.device)))


def rebuild(step: RebuildStep, state: EditState) -> Iterator[GraphDelta]:
    """Marks the orphans that no other op needs as removed."""
    graph = state.after
    removed = graph.mask(graph.index[name] for name in step.orphans if name in graph.index)
    removed &= ~needed_ops(graph, ~removed)
    needed_count = len(step.orphans) - int(removed.sum())
    them = "it" if needed_count == 1 else "them"
    kept = f"{counted(needed_count, 'orphans')} kept, because other ops need {them}"
    warnings = [kept] if needed_count else []
    yield GraphDelta(warnings=warnings, removed=frozenset(removed.nonzero()[0].tolist()), needs_new_graph=True)
