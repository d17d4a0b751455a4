"""Preview: what a plan changes, as text, as a table and as marks on a picture."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..graph.graph import value_info
from ..words import counted, few
from .backend import Backend
from .calls import one_line, step_text
from .copied import Copied
from .effect import Effect
from .resolve.on_copies import slice_size


@dataclass(frozen=True, eq=False)
class Preview:
    """The effect of a plan, for people. `print` it, or ask for `table()` or `marks`.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> from graphsurgeon.plan.plan import Plan
        >>> from graphsurgeon.graph.selection import select
        >>> g = Graph.of([("x", "Const", []), ("y", "Neg", ["x"])], title="tiny")
        >>> print(Plan(g).copy(select(g), to="copy").preview())
        plan for tiny
          1. copy 2 ops of tiny to copy/
        makes
          2 ops: 1 Const, 1 Neg
        nothing that exists is touched
    """

    effect: Effect
    backend: Backend

    @cached_property
    def counts(self) -> dict[str, int]:
        """How many ops, variables, placeholders and connections the plan makes, and ops it changes or removes."""
        effect = self.effect
        return {
            "ops": len(effect.new_names),
            "variables": len(effect.variables),
            "placeholders": len(effect.placeholders),
            "connections": len(effect.connections),
            "changed": len(effect.changes) + len(effect.reordered),
            "removed": len(effect.removed),
            "renamed": len(effect.renamed),
        }

    @property
    def marks(self) -> dict[int, str]:
        """Op number after the plan -> ``new``, or ``changed`` for ops that get other inputs, attributes or a device."""
        effect, after = self.effect, self.effect.after
        out = dict.fromkeys(range(effect.first, after.size), "new")
        touched = [*(op for op, _, _ in effect.edits), *effect.changes, *effect.reordered, *effect.renamed.values()]
        out.update({after.index[op]: "changed" for op in touched if after.index.get(op, effect.first) < effect.first})
        return out

    def table(self) -> list[dict[str, Any]]:
        """Returns one row for each thing the plan makes or joins: kind, name, what it was, and details."""
        rows: list[dict[str, Any]] = []
        for copied in self.effect.copies:
            source, held = copied.source, {v.name for v in copied.variables}
            built = copied.role == "graft"  # what a plan builds was nothing before
            for p in copied.placeholders:
                rows.append({"kind": "placeholder", "name": p.name, "was": p.was, "what": str(p.info)})
            for number, name in zip(copied.ops.tolist(), copied.names, strict=True):
                if name not in held:
                    rows.append(
                        {
                            "kind": "op",
                            "name": name,
                            "was": "" if built else source.names[number],
                            "what": copied.turned.get(number, source.types[number]),
                        }
                    )
            for v in copied.variables:
                what = f"{v.info.dtype} {v.info.shape}, {self.start_of(copied, v.was, v.policy)}"
                rows.append({"kind": "variable", "name": v.name, "was": v.was, "what": what})
            for info in copied.shared:
                what = f"{info.dtype} {info.shape}, the original's"
                rows.append({"kind": "shared", "name": info.op, "was": info.op, "what": what})
            for sub in copied.closure.substitutes:
                kind, what = ("replaced", f"by {sub.tensor}") if sub.tensor else ("frozen", "")
                what = what or f"at its {self.start_of(copied, sub.info.op, 'freeze')}"
                name = sub.tensor if sub.tensor else copied.renamed(sub.info.op)
                rows.append({"kind": kind, "name": name, "was": sub.info.op, "what": f"{value_info(sub.info)}, {what}"})
            for held_in in copied.collections:
                what = counted(held_in.count, "entries")
                rows.append({"kind": "collection", "name": held_in.name, "was": held_in.was, "what": what})
        for r in self.effect.replaced:
            for old, new in r.outputs.items():
                rows.append({"kind": "replaced", "name": new, "was": old, "what": f"in {r.scope}/"})
        for c in self.effect.connections:
            rows.append(
                {
                    "kind": "connection",
                    "name": f"{c.to} input {c.input}",
                    "was": c.was,
                    "what": f"reads {c.tensor}",
                }
            )
        for node in self.effect.added:
            rows.append({"kind": "op", "name": node.name, "was": "", "what": node.op})
        for name, change in (*self.effect.changes.items(), *self.effect.reordered.items()):
            rows.append({"kind": "change", "name": name, "was": name, "what": change.text})
        for old, new in self.effect.renamed.items():
            rows.append({"kind": "renamed", "name": new, "was": old, "what": ""})
        base = self.effect.base
        for number in sorted(self.effect.removed):
            rows.append({"kind": "removed", "name": "", "was": base.names[number], "what": base.types[number]})
        return rows

    @cached_property
    def _unproved(self) -> dict[int, dict[str, str]]:
        """For each copy, which variables of the source have no value but their initial one, and why."""
        return {id(copied): self.backend.unproved(copied) for copied in self.effect.copies}

    def start_of(self, copied: Copied, variable: str, policy: str) -> str:
        """Returns what a variable of the source gives its copy, in words.

        Args:
            copied: the copy.
            variable: the variable of the source.
            policy: ``copy``, ``freeze`` or ``initial``.
        """
        if policy == "initial" or copied.step.values is None:
            return "initial value"
        why = self._unproved[id(copied)].get(variable)
        return f"initial: {why}" if why else "current value"

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        drawn = self.backend.picture(self.effect, self.marks, one_line(self.effect.base.title, self.effect.steps))
        return {"text/plain": str(self), **drawn}

    def __str__(self) -> str:
        effect = self.effect
        lines = [f"plan for {effect.base.title}"]
        lines += [f"  {i}. {step_text(step)}" for i, step in enumerate(effect.steps, 1)] or ["  (no steps yet)"]
        made: list[str] = []
        copies = [copied for copied in effect.copies if copied.role == "copy"]
        for copied in copies:
            made += _copied_lines(self, copied, len(copies) == 1)
            made += [f"  {note}" for note in self.backend.notes(copied)]
        if made:
            lines += ["makes", *made]
        if effect.connections:
            lines.append("connects")
            lines += _some(
                [
                    f"{c.tensor} -> {c.to} input {c.input}" + (f" (was {c.was})" if c.was else "")
                    for c in effect.connections
                ]
            )
        lines += _slice_lines(effect)
        lines += _edit_lines(effect)
        if effect.mode == "materialise":
            lines.append(f"builds a new graph, because {_why_anew(effect)}; the old graph stays usable")
            lines.append("a session that is open goes on with the old graph: ed.session(session) gives one of the new")
            count = slice_size(effect)
            if count:
                anew = counted(count, "ops")
                lines.append(f"  on_copies(scope=...) would touch nothing, and make {anew} downstream again instead")
        elif effect.steps and not effect.faults:
            lines.append("nothing that exists is touched")
        if effect.warnings:
            lines += ["warnings", *(f"  {w}" for w in effect.warnings)]
        faults = self.backend.check(effect)
        if faults:
            lines += ["cannot be applied", *("  " + str(f).replace("\n", "\n    ") for f in faults)]
        return "\n".join(lines)


def _edit_lines(effect: Effect) -> list[str]:
    lines: list[str] = []
    if effect.replaced:
        count = len(effect.replaced)
        lines += [
            "replaces",
            f"  {counted(count, 'matches')}:",
            *_some([str(r) for r in effect.replaced], "    "),
        ]
    if effect.added:
        lines += ["inserts", *_some([f"{node.name}  {node.op}" for node in effect.added])]
    if effect.renamed:
        lines += ["renames", *_some([f"{old} to {new}" for old, new in effect.renamed.items()])]
    changes = {**effect.changes, **effect.reordered}
    if changes:
        lines += ["changes", *_some([f"{name}: {change.text}" for name, change in changes.items()])]
    if effect.removed:
        names = effect.base.names
        lines += ["removes", *_some([names[number] for number in sorted(effect.removed)])]
    return lines


def _slice_lines(effect: Effect) -> list[str]:
    lines: list[str] = []
    for one in effect.slices:
        copied, indent = one.copied, "    "
        lines += ["makes again", f"  {one.text}:", f"{indent}{_kinds(copied.types)}"]
        own = sorted(set(copied.closure.shared.nonzero()[0].tolist()) & {op for op, _ in copied.external})
        state = [name for name in copied.source.state.variables if name in {copied.source.names[i] for i in own}]
        lines += [f"{indent}also copied: {sentence}" for sentence in one.along]
        lines += [f"{indent}shares {counted(len(state), 'variables')}"] if state else []
    return lines


def _kinds(types: list[str]) -> str:
    kinds = Counter(types)
    top = few([f"{n} {kind}" for kind, n in sorted(kinds.items(), key=lambda p: (-p[1], p[0]))], 5)
    return top + " types" * (len(kinds) > 5)


def _why_anew(effect: Effect) -> str:
    reasons = {
        "get other inputs": effect.edits,
        "change": effect.changes,
        "go": effect.removed,
        "get other names": effect.renamed,
    }
    why = [text for text, there in reasons.items() if there] or ["were rewired, and back again"]
    return "ops that exist " + " and ".join(why)


def _copied_lines(preview: Preview, copied: Copied, alone: bool) -> list[str]:
    place = "" if alone else f"{copied.step.to or 'the top'}/  "
    lines = [f"  {place}{counted(len(copied.ops), 'ops')}: {_kinds(copied.types)}"]
    if copied.placeholders:
        lines.append(f"  {counted(len(copied.placeholders), 'placeholders')}:")
        lines += _some([f"{p.name}  {p.info}  for {p.was}" for p in copied.placeholders], "    ")
    if copied.variables:
        lines.append(f"  {counted(len(copied.variables), 'variables')} of their own:")
        lines += _some(
            [
                f"{v.name}  {v.info.dtype} {v.info.shape}  {preview.start_of(copied, v.was, v.policy)}"
                for v in copied.variables[:6]
            ],
            "    ",
            of=len(copied.variables),
        )
    shared = copied.shared
    if shared:
        lines.append(f"  {counted(len(shared), 'variables')} shared with the original:")
        lines += _some([f"{v.op}  {v.dtype} {v.shape}" for v in shared], "    ")
    frozen = [s for s in copied.closure.substitutes if not s.tensor]
    if frozen:
        lines.append(f"  {counted(len(frozen), 'variables')} frozen to constants:")
        start = {s.info.op: preview.start_of(copied, s.info.op, "freeze") for s in frozen[:6]}
        rows = [f"{copied.renamed(s.info.op)}  {value_info(s.info)}  {start[s.info.op]}" for s in frozen[:6]]
        lines += _some(rows, "    ", of=len(frozen))
    replaced = [s for s in copied.closure.substitutes if s.tensor]
    if replaced:
        lines.append(f"  {counted(len(replaced), 'variables')} replaced:")
        lines += _some([f"{s.info.op}  {value_info(s.info)}  by {s.tensor}" for s in replaced], "    ")
    if copied.collections:
        lines.append("  entries in collections:")
        lines += _some([f"{c.name}  {c.count}" for c in copied.collections], "    ", 8)
    lines += [f"  also copied: {p}" for p in copied.closure.pulled]
    return lines


def _some(items: list[str], indent: str = "  ", most: int = 6, of: int = 0) -> list[str]:
    shown, count = [indent + item for item in items[:most]], max(of, len(items))
    return [*shown, f"{indent}… and {count - most} more"] if count > most else shown
