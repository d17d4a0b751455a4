"""Importing a package of graphsurgeon loads nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.needs import ROOT


@pytest.mark.parametrize(
    ("what", "without"),
    [
        ("graphsurgeon", ["tensorflow", "keras", "anywidget", "wasmtime"]),
        ("graphsurgeon.graph", ["tensorflow", "keras", "anywidget", "wasmtime", "graphviz"]),
        ("graphsurgeon.plan", ["tensorflow", "keras", "anywidget", "wasmtime", "graphviz"]),
        ("graphsurgeon.view", ["tensorflow", "keras", "anywidget"]),
        ("graphsurgeon.widget", ["tensorflow", "keras"]),
    ],
)
def test_import_is_light(what, without):
    code = (
        "import importlib, pkgutil, sys\n"
        f"module = importlib.import_module({what!r})\n"
        f"if {what!r} != 'graphsurgeon':\n"
        "    for info in pkgutil.walk_packages(module.__path__, module.__name__ + '.'):\n"
        "        importlib.import_module(info.name)\n"
        f"print([name for name in {without!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]", f"importing {what} brings in {done.stdout.strip()}"
