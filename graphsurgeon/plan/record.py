"""Record: the facts of an applied plan that its graph keeps."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..graph.graph import Graph
from ..graph.names import under
from ..graph.provenance import Origin, written
from .copied import Copied, NewPlaceholder
from .effect import Effect
from .step_text import step_text


def record(effect: Effect, step: int, before: Callable[[Graph], Mapping[str, Origin]]) -> bytes:
    """Returns the facts of a plan that its graph keeps.

    Args:
        effect: the effect of the plan.
        step: its number in the history.
        before: returns the origins of the ops of a source.
    """
    copies, made, covered = [], {}, set()
    origins: dict[int, Mapping[str, Origin]] = {}  # many copies may be of one source
    for copied in effect.copies:
        if copied.role == "graft":
            continue  # ops that a plan builds come from no other graph
        if id(copied.source) not in origins:
            origins[id(copied.source)] = before(copied.source)
        copies.append(_copy_record(copied, origins[id(copied.source)]))
        title = copied.source.title
        covered.update(copied.names)
        for new in copied.stand_ins:
            made[new.name] = ("placeholder" if isinstance(new, NewPlaceholder) else "constant", new.was, title)
        made.update({op.name: ("setter", v.was, title) for v in copied.variables for op in v.setter})
    made.update({name: ("inserted", "", "") for name in effect.new_names if name not in made and name not in covered})
    changed: dict[str, list[str]] = {}
    for op, at, tensor in effect.edits:
        changed.setdefault(op, []).append(f"input {at} reads {tensor}")
    for op, change in effect.changes.items():
        changed.setdefault(op, []).append(change.text)
    for was, now in effect.renamed.items():
        changed.setdefault(now, []).append(f"was called {was}")
    names, there = effect.base.names, effect.after.index
    about = {
        "text": "; ".join(map(step_text, effect.steps)),
        "copies": copies,
        "made": made,
        "changed": {op: ", ".join(what) for op, what in changed.items() if op in there},
        "removed": [names[i] for i in sorted(effect.removed)],
        "renamed": effect.renamed,
    }
    return written(step, about)


def _copy_record(copied: Copied, known: Mapping[str, Origin]) -> dict[str, Any]:
    source = copied.source
    ops = [source.names[i] for i in copied.ops.tolist()]
    out: dict[str, Any] = {"graph": source.title, "to": copied.step.to, "ops": ops}
    lead = under(copied.step.to, "")
    other = {old: new for old, new in zip(ops, copied.names, strict=True) if new != lead + old}
    if other:
        out["names"] = other
    earlier = {op: str(known[op]) for op in ops if op in known} if known else {}
    if earlier:
        out["before"] = earlier
    return out
