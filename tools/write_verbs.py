"""Writes the files of the page and of the documentation that repeat tables: of verbs, keys, signs, sizes and colors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from graphsurgeon.ui.commands.specs import (
    COLORS,
    CONTROL_POLICY,
    MODE,
    PANE,
    PLAN_VIEW,
    POLICY,
    UNMAPPED,
    ArgType,
)
from graphsurgeon.ui.screen import COMMAND_SPECS  # with the commands that are methods
from graphsurgeon.view.boxes import OP_RADIUS, RADIUS
from graphsurgeon.view.edge_paths import QUIET_WIDTH, WIDTHS
from graphsurgeon.view.op_colors import COLORS as FAMILIES
from graphsurgeon.view.plan_marks import SIGNS

ROOT = Path(__file__).resolve().parent.parent
FRONTEND = ROOT / "graphsurgeon" / "ui" / "frontend"
ALIASES = {
    "PaneName": PANE, "Mode": MODE, "Unmapped": UNMAPPED,
    "ColorBy": COLORS, "Policy": POLICY, "PlanView": PLAN_VIEW, "Waits": CONTROL_POLICY,
}  # fmt: skip
"""Kinds that have their own name in TypeScript."""
_REFERENCE = "reference/screen.md#graphsurgeon.ui.screen.Screen"
_PAGE = """# All verbs of the screen

Each gesture has a method of `ed.screen`. In the browser, each gesture sends a message with the name of its method. In
Python, `widget.simulate("select", names=["a"])` sends the same message as a click on the box `a`.

"""


def written() -> dict[Path, str]:
    """Returns what each file must hold."""
    return {
        FRONTEND / "src" / "model" / "verbs.generated.ts": typescript(),
        FRONTEND / "src" / "model" / "results.generated.ts": typescript_results(),
        FRONTEND / "src" / "model" / "signs.generated.ts": typescript_signs(),
        FRONTEND / "src" / "model" / "sizes.generated.ts": typescript_sizes(),
        FRONTEND / "src" / "css" / "palette.generated.css": palette(),
        FRONTEND / "tests" / "examples.ts": typescript_examples(),
        ROOT / "docs" / "verbs.md": f"{_PAGE}{verbs_table()}\n\n## All keys\n\n{keys_table()}\n",
    }


def typescript() -> str:
    """Returns the types of what the page may ask for."""
    out = ["// The verbs, written from graphsurgeon/ui/commands/specs.py by tools/write_verbs.py.", ""]
    out += [f"export type {alias} = {kind.ts};" for alias, kind in ALIASES.items()]
    out += ["", "/** Verb -> its arguments. */", "export interface Verbs {"]
    for verb in COMMAND_SPECS.values():
        fields = "; ".join(f"{arg.name}: {_ts(arg.kind)}" for arg in verb.args)
        out.append(f"  {verb.name}: " + (f"{{ {fields} }};" if fields else "Record<string, never>;"))
    return "\n".join([*out, "}", ""])


def key_groups() -> dict[str, list[list[Any]]]:
    """Returns the keys of the page: group -> rows of action, keys, sign, text and verb."""
    source = (FRONTEND / "src" / "commands" / "keys.ts").read_text(encoding="utf-8")
    table = source.partition("TABLE = ")[2].partition(" as const")[0]
    groups = json.loads(re.sub(r",(\s*\])", r"\1", table))
    return {group: [[*row, *[""] * (5 - len(row))] for row in rows] for group, rows in groups}


def typescript_results() -> str:
    """Returns the types of what verbs answer."""
    answers = {verb.name: verb.result_type for verb in COMMAND_SPECS.values() if verb.result_type}
    named = sorted({name for answer in answers.values() for name in re.findall(r"\b[A-Z]\w+", answer)})
    out = ["// What the verbs answer, written from graphsurgeon/ui/commands/specs.py by tools/write_verbs.py.",
           f'import type {{ {", ".join(named)} }} from "./types";', ""]  # fmt: skip
    out += ["/** Verb -> what it answers, for the verbs that answer something. */", "export interface Results {"]
    out += [f"  {name}: {answer};" for name, answer in answers.items()]
    return "\n".join([*out, "}", ""])


def typescript_signs() -> str:
    """Returns the signs of what a plan does, as static pictures have them."""
    out = ["// The signs on boxes and edges, written from graphsurgeon/view/plan_marks.py by tools/write_verbs.py.",
           'import type { EdgeMark, Mark } from "./types";', "",
           "export const SIGN: Record<Mark | EdgeMark, string> = {"]  # fmt: skip
    out += [f"  {state or _quoted('')}: {_quoted(sign)}," for state, sign in {"": "", **SIGNS}.items()]
    return "\n".join([*out, "};", ""])


def typescript_sizes() -> str:
    """Returns the radii of boxes and the widths of edges, as static pictures have them."""
    widths = ", ".join(f"{width:g}" for width in WIDTHS)
    return (
        "// Radii of boxes and widths of edges in px, written from graphsurgeon/view by tools/write_verbs.py.\n"
        f"export const OP_RADIUS = {OP_RADIUS:g},\n  RADIUS = {RADIUS:g};\n"
        "/** Of edges with 1, 2, ... tensors; edges with more tensors have the last width. */\n"
        f"export const WIDTHS = [{widths}] as const;\nexport const QUIET_WIDTH = {QUIET_WIDTH:g};\n"
    )


def palette() -> str:
    """Returns the colors of the families as CSS."""
    rules = []
    for family, ink in FAMILIES.items():
        hue = f"light-dark({ink.line}, {ink.dark})" if ink.dark else ink.line
        rules.append(f".gs-f-{family} {{\n  --gs-hue: {hue.lower()};\n}}\n")
    return "".join(["/* Written from graphsurgeon/view/op_colors.py by tools/write_verbs.py. */\n", *rules])


def typescript_examples() -> str:
    """Returns a message for each verb, with types: the source of the page's `tests/examples.ts`."""
    out = ["// A few messages of each verb, written by tools/write_verbs.py; the compiler checks their types.",
           'import type { Verbs } from "../src/model/verbs.generated";', "",
           "export type Example = { [V in keyof Verbs]: { verb: V; args: Verbs[V] } }[keyof Verbs];", "",
           "export const EXAMPLES: Example[] = ["]  # fmt: skip
    for verb in COMMAND_SPECS.values():
        out += [f"  {{ verb: {_quoted(verb.name)}, args: {json.dumps(args)} }}," for args in verb.examples()]
    return "\n".join([*out, "];", ""])


def keys_table() -> str:
    """Returns all keys as a Markdown table: the group, the key, its effect, and the method of the screen for it."""
    rows = ["| | key | effect | method of `ed.screen` |", "|---|---|---|---|"]
    for group, keys in key_groups().items():
        shown = [(sign, text, verb) for _, _, sign, text, verb in keys if sign]
        for number, (sign, text, verb) in enumerate(shown):
            rows.append(f"| {'' if number else f'**{group}**'} | {sign} | {text} | {verb and f'`{verb}`'} |")
    return "\n".join(rows)


def verbs_table() -> str:
    """Returns all verbs as a Markdown table: effect, mouse, key, method."""
    signs: dict[str, str] = {}
    for rows_of_group in key_groups().values():
        for _, _, sign, _, verb in rows_of_group:
            signs.setdefault(verb, sign)
    rows = ["| effect | by mouse | key | method of `ed.screen` |", "|---|---|---|---|"]
    rows += [
        f"| {v.summary} | {v.gesture} | {signs.get(v.name, '')} | [`{v.usage}`]({_REFERENCE}.{v.name}) |"
        for v in COMMAND_SPECS.values()
    ]
    return "\n".join(rows)


def _ts(kind: ArgType) -> str:
    return next((alias for alias, known in ALIASES.items() if known is kind), kind.ts)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _wrapped(names: Iterable[str]) -> list[str]:
    lines, line = [], "  "
    for name in names:
        if len(line) > 110:
            lines.append(line.rstrip())
            line = "  "
        line += f'| "{name}" '
    return [*lines, line.rstrip() + ";"]


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text)
