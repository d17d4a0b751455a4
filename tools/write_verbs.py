"""Writes the files of the page and of the documentation that repeat tables: of verbs, keys, signs, sizes and colors."""

from __future__ import annotations

import ast
import inspect
import json
import re
import types
import typing
from pathlib import Path
from typing import Any

from graphsurgeon.ui.commands.specs import (
    COLORS,
    CONTROL_POLICY,
    MODE,
    PANE,
    PLAN_VIEW,
    POLICY,
    RUN_TARGET,
    UNMAPPED,
    FieldType,
)
from graphsurgeon.ui.screen import COMMAND_SPECS  # with the commands that are methods
from graphsurgeon.view import page_types
from graphsurgeon.view.boxes import OP_RADIUS, RADIUS
from graphsurgeon.view.edge_paths import QUIET_WIDTH, WIDTHS
from graphsurgeon.view.op_colors import COLORS as FAMILIES
from graphsurgeon.view.plan_marks import SIGNS

ROOT = Path(__file__).resolve().parent.parent
FRONTEND = ROOT / "graphsurgeon" / "ui" / "frontend"
ALIASES = {"Mode": MODE, "Unmapped": UNMAPPED, "ColorBy": COLORS, "Policy": POLICY, "Waits": CONTROL_POLICY}
"""Kinds that have their own name in TypeScript, next to those in page_types.py."""
_REFERENCE = "reference/screen.md#graphsurgeon.ui.screen.Screen"
_PAGE = """# All verbs of the screen

Each gesture has a method of `ed.screen`. In the browser, each gesture sends a message with the name of its method. In
Python, `widget.simulate("select", names=["a"])` sends the same message as a click on the box `a`.

"""


def written() -> dict[Path, str]:
    """Returns what each file must hold."""
    return {
        FRONTEND / "src" / "model" / "types.generated.ts": typescript(),
        FRONTEND / "src" / "model" / "forms.generated.ts": typescript_forms(),
        FRONTEND / "src" / "model" / "drawing.generated.ts": typescript_drawing(),
        FRONTEND / "src" / "css" / "palette.generated.css": palette(),
        FRONTEND / "tests" / "examples.ts": typescript_examples(),
        ROOT / "docs" / "verbs.md": f"{_PAGE}{verbs_table()}\n\n## All keys\n\n{keys_table()}\n",
    }


def typescript() -> str:
    """Returns the types of the data of the page, of the messages that it may send, and of the answers to them."""
    out = ["// The data from Python and the messages to it, written from graphsurgeon/view/page_types.py and from the",
           "// signatures of the commands in graphsurgeon/ui/commands by tools/write_verbs.py.", ""]  # fmt: skip
    for name, kind in vars(page_types).items():
        if typing.is_typeddict(kind):
            out += [f"/** {inspect.cleandoc(kind.__doc__)} */"] if kind.__doc__ else []
            bases = f" extends {', '.join(_BASES[name])}" if _BASES.get(name) else ""
            out += [f"export interface {name}{bases} {_fields(kind)}", ""]
        elif typing.get_origin(kind) in (typing.Literal, types.UnionType, typing.Union):
            out += [f"export type {name} = {_kind(kind, expand=True)};", ""]
    out += [f"export type {alias} = {kind.ts};" for alias, kind in ALIASES.items()]
    out += ["", "/** Verb -> its arguments. */", "export interface Verbs {"]
    for verb in COMMAND_SPECS.values():
        fields = "; ".join(f"{arg.name}: {_ts(arg.kind)}" for arg in verb.args)
        out.append(f"  {verb.name}: " + (f"{{ {fields} }};" if fields else "Record<string, never>;"))
    out += ["}", "", "/** Verb -> its answer, for the verbs that have one. */", "export interface Results {"]
    out += [f"  {verb.name}: {_kind(verb.result_type)};" for verb in COMMAND_SPECS.values() if verb.result_type]
    return "\n".join([*out, "}", ""])


_BASES = {
    node.name: [base.id for base in node.bases if isinstance(base, ast.Name) and base.id != "TypedDict"]
    for node in ast.parse(inspect.getsource(page_types)).body
    if isinstance(node, ast.ClassDef)
}
"""The bases of each type of the data."""
_PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}


def _fields(kind: type) -> str:
    hints = typing.get_type_hints(kind, include_extras=True)
    inherited = {name for base in _BASES.get(kind.__name__, []) for name in vars(page_types)[base].__annotations__}
    lines = []
    for name, hint in hints.items():
        if name in inherited:
            continue
        optional = typing.get_origin(hint) is typing.NotRequired
        lines.append(f"  {name}{'?' if optional else ''}: {_kind(typing.get_args(hint)[0] if optional else hint)};")
    return "\n".join(["{", *lines, "}"]) if lines else "{}"


def _kind(hint: Any, expand: bool = False) -> str:
    """Returns a type in TypeScript; a type that has a name in page_types.py by this name."""
    named = next((name for name, kind in vars(page_types).items() if kind == hint and not name.startswith("_")), "")
    if hint is page_types.Empty:
        return "Record<string, never>"
    if named and not expand:
        return named
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return " | ".join(_quoted(one) for one in args)
    if origin in (types.UnionType, typing.Union):
        return " | ".join(map(_kind, args))
    if origin is list:
        inner = _kind(args[0])
        return f"({inner})[]" if " | " in inner else f"{inner}[]"
    if origin is tuple:
        return f"[{', '.join(map(_kind, args))}]"
    if origin is dict:
        return f"Record<string, {_kind(args[1])}>"
    return _PLAIN[hint]


def key_groups() -> dict[str, list[list[Any]]]:
    """Returns the keys of the page: group -> rows of action, keys, sign, text and verb."""
    source = (FRONTEND / "src" / "commands" / "keys.ts").read_text(encoding="utf-8")
    table = source.partition("TABLE = ")[2].partition(" as const")[0]
    groups = json.loads(re.sub(r",(\s*\])", r"\1", table))
    return {group: [[*row, *[""] * (5 - len(row))] for row in rows] for group, rows in groups}


def typescript_forms() -> str:
    """Returns the fields of the forms of commands that the kernel does not fill in."""
    out = ["// The fields of the forms of commands, written from their signatures in graphsurgeon/ui/commands by",
           "// tools/write_verbs.py. The kernel sends the others.",
           'import type { Field, Verbs } from "./types.generated";', "",
           "export const FORMS = {"]  # fmt: skip
    for verb in COMMAND_SPECS.values():
        if f"{verb.name}_form" not in COMMAND_SPECS and (fields := verb.form()):
            texts = [", ".join(f"{key}: {_quoted(value)}" for key, value in one.items() if value) for one in fields]
            out.append(f"  {verb.name}: [{', '.join(f'{{ {text} }}' for text in texts)}],")
    return "\n".join([*out, "} satisfies Partial<Record<keyof Verbs, Partial<Field>[]>>;", ""])


def typescript_drawing() -> str:
    """Returns the signs of plans, the radii of boxes and the widths of edges, as static pictures have them."""
    out = ["// Signs on boxes and edges, radii of boxes and widths of edges in px, written from graphsurgeon/view by",
           "// tools/write_verbs.py.", 'import type { EdgeMark, Mark } from "./types.generated";', "",
           "export const SIGN: Record<Mark | EdgeMark, string> = {"]  # fmt: skip
    out += [f"  {state or _quoted('')}: {_quoted(sign)}," for state, sign in {"": "", **SIGNS}.items()]
    widths = ", ".join(f"{width:g}" for width in WIDTHS)
    out += ["};", f"export const OP_RADIUS = {OP_RADIUS:g},", f"  RADIUS = {RADIUS:g},",
            "  /** Of edges with 1, 2, ... tensors; edges with more tensors have the last width. */",
            f"  WIDTHS = [{widths}] as const,", f"  QUIET_WIDTH = {QUIET_WIDTH:g};"]  # fmt: skip
    return "\n".join([*out, ""])


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
           'import type { Verbs } from "../src/model/types.generated";', "",
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


def _ts(kind: FieldType) -> str:
    shared = {"PaneName": PANE, "PlanView": PLAN_VIEW, "RunTarget": RUN_TARGET}
    return next((alias for alias, known in (ALIASES | shared).items() if known is kind), kind.ts)


def _quoted(text: Any) -> str:
    return json.dumps(text, ensure_ascii=False)


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text)
