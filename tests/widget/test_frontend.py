"""The front end's own checks, run from here; and what its source and its bundle may not hold."""

from __future__ import annotations

import json
import posixpath
import re
import subprocess

import pytest

from tests.cycles import shortest_cycle
from tests.needs import ROOT, need

FRONTEND = ROOT / "graphsurgeon" / "ui" / "frontend"
STATIC = ROOT / "graphsurgeon" / "ui" / "static"
_IMPORT = re.compile(r'\bfrom "(\.[^"]+)"')
SOURCES = sorted([*FRONTEND.glob("src/**/*.ts"), *FRONTEND.glob("src/css/*.css")])


def run(*command: str) -> None:
    """Runs a command in the front end's folder; its output is the failure's text."""
    need("front end")
    done = subprocess.run(command, cwd=FRONTEND, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_vitest():
    run("node_modules/.bin/vitest", "run")


def test_the_committed_bundle_is_what_the_source_builds(tmp_path):
    run("node", "build.mjs", str(tmp_path))
    for name in ("widget.js", "page.js", "widget.css"):
        assert (tmp_path / name).read_bytes() == (STATIC / name).read_bytes(), f"{name} is old: make build"


def test_no_source_makes_markup_from_text():
    banned = re.compile(r"innerHTML|outerHTML|insertAdjacent|document\.write|\beval\b|new Function|DOMParser")
    found = {path.name: banned.findall(path.read_text()) for path in SOURCES if banned.search(path.read_text())}
    assert not found, found


def test_no_cycle_of_imports():
    source = FRONTEND / "src"
    files = {path.relative_to(source).with_suffix("").as_posix(): path for path in source.rglob("*.ts")}
    read = {
        name: {posixpath.normpath(f"{name}/../{end}") for end in _IMPORT.findall(path.read_text())}
        for name, path in files.items()
    }
    cycle = shortest_cycle({name: found & set(files) for name, found in read.items()})
    assert not cycle, " -> ".join(cycle)


@pytest.mark.parametrize("name", ["widget.js", "page.js", "widget.css"])
def test_bundle_reaches_nothing_outside(name):
    boxes = (STATIC / name).read_text().replace("http://www.w3.org/2000/svg", "")
    assert not re.findall(
        r"https?:|//[a-z]+\.|url\(|@import|@font-face|fetch\(|XMLHttpRequest|WebSocket|innerHTML", boxes
    )


def test_bundle_is_small():
    # It is sent with every widget and saved in every notebook.
    assert sum((STATIC / name).stat().st_size for name in ("widget.js", "widget.css")) < 190_000


def test_the_lock_file_names_no_registry():
    lock = json.loads((FRONTEND / "package-lock.json").read_text())
    assert not [name for name, package in lock["packages"].items() if "resolved" in package]
    versions = json.loads((FRONTEND / "package.json").read_text())["devDependencies"].values()
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions), "pinned, for the same bytes everywhere"


def test_the_page_has_the_text_table_of_the_layout():
    from graphsurgeon.view import boxes

    source = (FRONTEND / "src" / "model" / "text.ts").read_text()
    numbers = [int(n) for line in re.findall(r'^  "([\d ]+)"', source, re.M) for n in line.split()]
    table = dict(zip(map(chr, range(32, 127)), numbers, strict=True))
    table |= {chr(int(code, 16)): int(n) for code, n in re.findall(r'\["\\u([0-9a-f]{4})", (\d+)\]', source)}
    assert table == boxes._WIDTHS
    assert f"LABEL = {boxes.LABEL:g};" in source
    assert f"SUB = {boxes.SUBLABEL:g};" in source
