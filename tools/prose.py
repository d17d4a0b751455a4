"""Looks for phrases that read as translated: python tools/prose.py [PATH ...].

Reads the text of Markdown pages and notebook cells, and the docstrings, comments and messages of Python and TypeScript;
code is left out. tools/prose.toml lists the phrases. Prints the number of hits of each phrase by kind of text, and each
hit. The exit code is 1 if there is one.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PLACES = (
    *("*.md", "docs/**/*.md", "notebooks/*.ipynb", "graphsurgeon/**/*.py", "tools/*.py", "benchmarks/*.py"),
    "graphsurgeon/ui/frontend/src/**/*.ts",
)
LEFT_OUT = ("CODE_OF_CONDUCT.md", "docs/style.md", "tools/prose.py")
KINDS = ("page", "notebook", "docstring", "comment", "message")
_CODE = re.compile(
    r"^ *(`{3,}).*?^ *\1|`[^`\n]+`|^ *(?:>>>|\.\.\.) .*?$|\[[^]]*\]\(([^)]*)\)", re.MULTILINE | re.DOTALL
)
_SCRIPT = re.compile(
    r"//(?P<line>[^\n]*)|/\*(?P<block>.*?)\*/"
    r"|(?P<text>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)",
    re.DOTALL,
)


class Text(NamedTuple):
    """A piece of prose: its kind, the line of its file that it starts in, and its words."""

    kind: str
    line: int
    words: str


class Hit(NamedTuple):
    """A phrase in a file."""

    path: str
    line: int
    kind: str
    rule: str
    excerpt: str


def without_code(text: str) -> str:
    """Returns a text with its code blanked out; lines and columns stay."""
    return _CODE.sub(
        lambda match: re.sub(r"[^\n]", "`", match[0]) if not match[2] else match[0].replace(match[2], ""), text
    )


def texts_of(path: Path) -> Iterator[Text]:
    """Yields the prose of a file."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield Text("page", 1, source)
    elif path.suffix == ".ipynb":
        cells = json.loads(source)["cells"]
        yield from (Text("notebook", 1, "".join(cell["source"])) for cell in cells if cell["cell_type"] == "markdown")
    elif path.suffix == ".ts":
        for match in _SCRIPT.finditer(source):
            if match["text"] and " " not in match["text"]:  # a name
                continue
            kind = "message" if match["text"] else "comment"
            yield Text(
                kind, source.count("\n", 0, match.start()) + 1, match["text"] or match["line"] or match["block"] or ""
            )
    else:
        yield from _python(source)


def _python(source: str) -> Iterator[Text]:
    tree = ast.parse(source)
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in docstrings:
                yield Text("docstring", node.lineno, node.value)
            elif " " in node.value:
                yield Text("message", node.lineno, node.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Text("comment", token.start[0], token.string)


def hits_in(text: Text, rules: Sequence[dict[str, Any]], path: str = "") -> Iterator[Hit]:
    """Yields the hits of rules in a text."""
    words = without_code(text.words)
    flat = words.replace("\n", " ")
    for rule in rules:
        allowed = [match.span() for match in re.finditer(rule["allow"], flat, re.IGNORECASE)] if "allow" in rule else []
        for match in re.finditer(rule["find"], flat, re.IGNORECASE):
            start, end = match.span()
            if not any(a < end and start < b for a, b in allowed):
                excerpt = flat[max(0, start - 40) : end + 40].strip()
                yield Hit(path, text.line + words.count("\n", 0, start), text.kind, rule["name"], excerpt)


def search(paths: Iterable[Path], rules: Sequence[dict[str, Any]]) -> list[Hit]:
    """Returns all hits in some files."""
    return [
        hit
        for path in paths
        for text in texts_of(path)
        for hit in hits_in(text, rules, str(path.relative_to(ROOT)))
    ]  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> int:
    """Searches; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python tools/prose.py", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("paths", nargs="*", type=Path, help="files or folders; default: all of the project")
    given = parser.parse_args(arguments)
    settings = tomllib.loads((ROOT / "tools" / "prose.toml").read_text(encoding="utf-8"))
    files = sorted({path for place in PLACES for path in ROOT.glob(place) if "node_modules" not in path.parts})
    files = [path for path in files if str(path.relative_to(ROOT)) not in LEFT_OUT]
    if given.paths:
        chosen = [path.resolve() for path in given.paths]
        files = [path for path in files if any(path == one or one in path.parents for one in chosen)]
    hits = search(files, settings["rule"])
    counts = Counter((hit.rule, hit.kind) for hit in hits)
    print(f"{'phrase':<16}" + "".join(f"{kind:>11}" for kind in KINDS))
    for rule in settings["rule"]:
        print(f"{rule['name']:<16}" + "".join(f"{counts[rule['name'], kind]:>11}" for kind in KINDS))
    instead = {rule["name"]: rule["instead"] for rule in settings["rule"]}
    for hit in hits:
        print(f"{hit.path}:{hit.line}: {hit.rule}: ...{hit.excerpt}... ({instead[hit.rule]})")
    return int(bool(hits))


if __name__ == "__main__":
    sys.exit(main())
