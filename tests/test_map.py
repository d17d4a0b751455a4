"""The map of the house in CONTRIBUTING.md is the tree, and what it says where things are is so."""

from __future__ import annotations

import ast
import re

import pytest

from tests.needs import ROOT

TEXT = (ROOT / "CONTRIBUTING.md").read_text()
PACKAGE = ROOT / "graphsurgeon"
SKIPPED = {"__init__.py", "__pycache__", "py.typed"}


def mapped() -> set[str]:
    """Returns the paths that the map names, below the package."""
    block = TEXT.partition("## Map")[2].partition("```")[2].partition("```")[0]
    found, room = set[str](), ""
    for line in block.splitlines()[2:]:
        inside = line.startswith("    ")
        names = re.findall(r"\w+\.py\b|\w+/(?= |$)", line)
        found |= {room + name if inside else name for name in names}
        if names and not inside:
            room = names[0] if names[0].endswith("/") else ""
    return found


def rooms() -> set[str]:
    """Returns the folders and modules of the package, and the folders in its rooms."""
    found = set()
    for path in PACKAGE.iterdir():
        if path.name in SKIPPED:
            continue
        found.add(path.name + "/" * path.is_dir())
        if path.is_dir():
            inner = [p for p in path.iterdir() if p.is_dir() and (p / "__init__.py").exists()]
            found |= {f"{path.name}/{p.name}/" for p in inner}
    return found


def test_the_map_shows_every_room_and_no_other():
    shown = {path for path in mapped() if path.endswith("/") or "/" not in path}
    assert rooms() <= shown, sorted(rooms() - shown)
    assert all((PACKAGE / path).exists() for path in mapped()), [p for p in mapped() if not (PACKAGE / p).exists()]


def places() -> list[tuple[str, str, str]]:
    """Returns the rows of the table of look-ups: what is looked for, the file, the name in it."""
    table = TEXT.partition("## Where is …?")[2].partition("\n## ")[0]
    return re.findall(r"^\| (.+?) \| `(.+?)` \| `(.+?)` \|$", table, re.MULTILINE)


def test_there_are_look_ups():
    assert len(places()) >= 12


@pytest.mark.parametrize(("what", "file", "name"), places())
def test_it_is_where_the_table_says(what, file, name):
    source = (PACKAGE / file).read_text()
    if file.endswith(".py"):
        nodes = list(ast.walk(ast.parse(source)))
        defined = {n.name for n in nodes if isinstance(n, ast.FunctionDef | ast.ClassDef)}
        defined |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        assert name in defined, f"{what}: {file} defines no {name}"
    else:
        assert name in source
