"""Preview: the changes of a plan, as text, as a table and as marks on a picture."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..errors import counted, few
from ..graph.graph import value_info
from .backend import Backend
from .copy_result import CopyResult
from .plan_result import PlanResult
from .resolver import unused_ops
from .steps.base import one_line
from .steps.on_copies import slice_size


@dataclass(frozen=True, eq=False)
class Preview:
    """The effect of a plan. `print` it, or use `table()` or `marks`.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     y = tf.negative(tf.constant(1.0, name="x"), name="y")
        >>> ed = gs.open(graph, title="tiny")
        >>> print(ed.plan().copy(ed.select(), to="copy").preview())
        plan for tiny
          1. copy 2 ops of tiny to copy/
        makes
          2 ops: 1 Const, 1 Neg
        no existing op changes
    """

    effect: PlanResult
    backend: Backend

    @cached_property
    def counts(self) -> dict[str, int]:
        """The numbers of ops, variables, placeholders and connections that the plan makes, and of ops it changes or
        removes.
        """
        effect = self.effect
        return {
            "ops": len(effect.new_names),
            "variables": len(effect.variables),
            "placeholders": len(effect.placeholders),
            "connections": len(effect.connections),
            "changed": len(effect.changes) + len(effect.implied_control_changes),
            "removed": len(effect.removed),
            "renamed": len(effect.renamed),
        }

    @property
    def marks(self) -> dict[int, str]:
        """Op number after the plan -> its state.

        ``new``; ``changed`` for ops with other inputs, attributes or another device; ``orphan`` for ops that only ops
        without a consumer still use; ``shape`` for other ops whose output shapes change.
        """
        effect, after = self.effect, self.effect.after
        out = dict.fromkeys(range(effect.first_new, after.size), "new")
        touched = [
            *(join.to for join in effect.edits),
            *effect.changes,
            *effect.implied_control_changes,
            *effect.renamed.values(),
        ]
        out.update(
            {after.index[op]: "changed" for op in touched if after.index.get(op, effect.first_new) < effect.first_new}
        )
        return dict.fromkeys(effect.inference.resized, "shape") | dict.fromkeys(unused_ops(effect), "orphan") | out

    def table(self) -> list[dict[str, Any]]:
        """Returns one row for each change: its kind, name, origin and details."""
        rows: list[dict[str, Any]] = []

        def row(kind: str, name: str, old: str, label: str) -> None:
            rows.append({"kind": kind, "name": name, "was": old, "what": label})

        for copied in self.effect.copies:
            source, variables = copied.source, {v.name for v in copied.variables}
            is_graft = copied.role == "graft"  # ops that were built for the plan have no original
            for p in copied.placeholders:
                row("placeholder", p.name, p.original, str(p.info))
            for number, name in zip(copied.ops.tolist(), copied.names, strict=True):
                if name not in variables:
                    kind = copied.new_types.get(number, source.types[number])
                    row("op", name, "" if is_graft else source.names[number], kind)
            for v in copied.variables:
                start = self.start_value(copied, v.original, v.policy)
                row("variable", v.name, v.original, f"{v.info.dtype} {v.info.shape}, {start}")
            for info in copied.shared:
                row("shared", info.op, info.op, f"{info.dtype} {info.shape}, the original's")
            for sub in copied.closure.substitutes:
                kind, what = ("replaced", f"by {sub.tensor}") if sub.tensor else ("frozen", "")
                what = what or f"at its {self.start_value(copied, sub.info.op, 'freeze')}"
                name = sub.tensor if sub.tensor else copied.renamed(sub.info.op)
                row(kind, name, sub.info.op, f"{value_info(sub.info)}, {what}")
            for held_in in copied.collections:
                row("collection", held_in.name, held_in.original, counted(held_in.count, "entries"))
        for r in self.effect.replacements:
            for old, new in r.outputs.items():
                row("replaced", new, old, f"in {r.scope}/")
        for c in self.effect.connections:
            row("connection", f"{c.to} input {c.input}", c.previous, f"reads {c.tensor}")
        for node in self.effect.added:
            row("op", node.name, "", node.op)
        for name, change in (*self.effect.changes.items(), *self.effect.implied_control_changes.items()):
            row("change", name, name, change.text)
        for old, new in self.effect.renamed.items():
            row("renamed", new, old, "")
        base = self.effect.base
        for number in sorted(self.effect.removed):
            row("removed", "", base.names[number], base.types[number])
        return rows

    @cached_property
    def _untrained_copies(self) -> dict[int, dict[str, str]]:
        """Copy -> variables of the source that have only their initial value, with the reason."""
        return {id(copied): self.backend.untrained_copies(copied) for copied in self.effect.copies}

    def start_value(self, copy_result: CopyResult, variable: str, policy: str) -> str:
        """Returns a description of the value that a copy of a variable starts from.

        Args:
            copy_result: the copy.
            variable: the variable of the source.
            policy: ``copy``, ``freeze`` or ``initial``.
        """
        if policy == "initial" or copy_result.step.values is None:
            return "initial value"
        why = self._untrained_copies[id(copy_result)].get(variable)
        return f"initial: {why}" if why else "current value"

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        drawn = self.backend.draw(self.effect, self.marks, one_line(self.effect.base.title, self.effect.steps))
        return {"text/plain": str(self), **drawn}

    def __str__(self) -> str:
        effect = self.effect
        lines = [f"plan for {effect.base.title}"]
        lines += [f"  {i}. {step.describe()}" for i, step in enumerate(effect.steps, 1)] or ["  (no steps yet)"]
        rows: list[str] = []
        copies = [copied for copied in effect.copies if copied.role == "copy" or copied.variables]
        for copied in copies:
            rows += _copied_lines(self, copied, len(copies) == 1)
            rows += [f"  {note}" for note in self.backend.copy_notes(copied)]
        if rows:
            lines += ["makes", *rows]
        lines += _part(
            "connects",
            effect.connections,
            lambda c: f"{c.tensor} -> {c.to} input {c.input}" + (f" (was {c.previous})" if c.previous else ""),
        )
        lines += _slice_lines(effect)
        lines += _edit_lines(effect)
        if effect.mode == "materialize":
            lines.append(f"builds a new graph, because {_why_anew(effect)}; the old graph stays usable")
            lines.append("an open session keeps the old graph; ed.session(session) returns one of the new graph")
            count = slice_size(effect)
            if count:
                anew = counted(count, "ops")
                lines.append(f"  on_copies(scope=...) would change no existing op, and copy {anew} downstream instead")
        elif effect.steps and not effect.faults:
            lines.append("no existing op changes")
        if effect.warnings:
            lines += ["warnings", *(f"  {w}" for w in effect.warnings)]
        faults = self.backend.check(effect)
        if faults:
            lines += ["cannot be applied", *("  " + str(f).replace("\n", "\n    ") for f in faults)]
        return "\n".join(lines)


def _edit_lines(effect: PlanResult) -> list[str]:
    names, changes = effect.base.names, {**effect.changes, **effect.implied_control_changes}
    count = len(effect.replacements)
    return [
        *(["replaces", *_part(f"{counted(count, 'matches')}:", effect.replacements, indent="  ")] if count else []),
        *_part("inserts", effect.added, lambda node: f"{node.name}  {node.op}"),
        *_part("renames", list(effect.renamed.items()), " to ".join),
        *_part("changes", list(changes), lambda name: f"{name}: {changes[name].text}"),
        *_part("removes", sorted(effect.removed), lambda number: names[number]),
    ]


def _slice_lines(effect: PlanResult) -> list[str]:
    lines: list[str] = []
    for one in effect.downstream_copies:
        copied, indent = one.copy_result, "    "
        lines += ["copies", f"  {one.text}:", f"{indent}{_kinds(copied.types)}"]
        own = sorted(set(copied.closure.shared.nonzero()[0].tolist()) & {op for op, _ in copied.input_map})
        state = [name for name in copied.source.state.variables if name in {copied.source.names[i] for i in own}]
        lines += [f"{indent}also copied: {sentence}" for sentence in one.unchanged]
        lines += [f"{indent}shares {counted(len(state), 'variables')}"] if state else []
    return lines


def _kinds(types: list[str]) -> str:
    kinds = Counter(types)
    top = few([f"{n} {kind}" for kind, n in sorted(kinds.items(), key=lambda p: (-p[1], p[0]))], 5)
    return top + " types" * (len(kinds) > 5)


def _why_anew(effect: PlanResult) -> str:
    reasons = {
        "get other inputs": effect.edits,
        "change": effect.changes,
        "are removed": effect.removed,
        "get other names": effect.renamed,
    }
    why = [text for text, there in reasons.items() if there] or ["were rewired and restored"]
    return "existing ops " + " and ".join(why)


def _copied_lines(preview: Preview, copy_result: CopyResult, alone: bool) -> list[str]:
    place = "" if alone else f"{copy_result.step.to or 'the top'}/  "
    lines = [f"  {place}{counted(len(copy_result.ops), 'ops')}: {_kinds(copy_result.types)}"]

    def some(word: str, what: str, objects: Sequence[Any], row: Callable[[Any], str]) -> None:
        lines.extend(_part(f"{counted(len(objects), word)}{what}:", objects, row, "  "))

    subs = copy_result.closure.substitutes
    frozen, replaced = ([s for s in subs if bool(s.tensor) == has_tensor] for has_tensor in (False, True))
    some("placeholders", "", copy_result.placeholders, lambda p: f"{p.name}  {p.info}  for {p.original}")
    some("separate variables", "", copy_result.variables, lambda v: (
        f"{v.name}  {v.info.dtype} {v.info.shape}  {preview.start_value(copy_result, v.original, v.policy)}"
    ))  # fmt: skip
    some("variables", " shared with the original", copy_result.shared, lambda v: f"{v.op}  {v.dtype} {v.shape}")
    some("variables", " frozen to constants", frozen, lambda s: (
        f"{copy_result.renamed(s.info.op)}  {value_info(s.info)}  "
        f"{preview.start_value(copy_result, s.info.op, 'freeze')}"
    ))  # fmt: skip
    some("variables", " replaced", replaced, lambda s: f"{s.info.op}  {value_info(s.info)}  by {s.tensor}")
    lines += _part("entries in collections:", copy_result.collections, lambda c: f"{c.name}  {c.count}", "  ", 8)
    lines += [f"  also copied: {p}" for p in copy_result.closure.dependencies]
    return lines


def _part(
    title: str, objects: Sequence[Any], row: Callable[[Any], str] = str, indent: str = "", limit: int = 6
) -> list[str]:
    """Returns lines for some items under a title; empty if there are no items."""
    more = [f"{indent}  … and {len(objects) - limit} more"] if len(objects) > limit else []
    return [indent + title, *(f"{indent}  {row(thing)}" for thing in objects[:limit]), *more] if objects else []
