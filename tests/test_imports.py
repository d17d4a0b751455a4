"""Imports: no module imports itself through others, and importing a package loads nothing heavy."""

from __future__ import annotations

import ast
import subprocess
import sys

import grimp
import pytest

from tests.cycles import shortest_cycle
from tests.needs import ROOT
from tests.test_house import modules


@pytest.mark.parametrize("package", ["graphsurgeon", "benchmarks"])
def test_no_cycle_of_imports(package):
    """Imports inside functions and for the type checker count too; the contracts compare whole packages only."""
    graph = grimp.build_graph(package, cache_dir=None)
    cycle = shortest_cycle({module: graph.find_modules_directly_imported_by(module) for module in graph.modules})
    assert not cycle, " -> ".join(cycle)


def test_the_shortest_cycle_is_found():
    assert shortest_cycle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    ring = {"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": {"a", "c"}}
    assert shortest_cycle(ring) == ["c", "d", "c"]


def test_no_private_name_of_another_module_is_imported():
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {alias.name}"
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name.startswith("_") and not alias.name.startswith("__")
    ]
    assert not found, found


@pytest.mark.parametrize(
    ("what", "without"),
    [
        (
            "graphsurgeon",
            [
                "tensorflow",
                "google.protobuf",
                "keras",
                "scipy",
                "anywidget",
                "wasmtime",
                "graphviz",
                "graphsurgeon.tf",
                "graphsurgeon.recipes",
                "graphsurgeon.ui",
                "graphsurgeon.view",
                "graphsurgeon.graph",
                "numpy",
            ],
        ),
        ("graphsurgeon.__main__", ["tensorflow", "scipy", "graphsurgeon.tf", "graphsurgeon.recipes"]),
        ("graphsurgeon.editor.editor", ["tensorflow", "google.protobuf", "graphsurgeon.tf.open", "graphsurgeon.ui"]),
        ("graphsurgeon.tf.open.source", ["tensorflow", "keras", "scipy"]),
        ("graphsurgeon.tf.open.op_facts", ["tensorflow", "keras", "scipy"]),
        ("graphsurgeon.graph", ["tensorflow", "keras", "anywidget", "wasmtime", "graphviz"]),
        ("graphsurgeon.plan", ["tensorflow", "keras", "anywidget", "wasmtime", "graphviz"]),
        ("graphsurgeon.view", ["tensorflow", "keras", "anywidget"]),
        ("graphsurgeon.ui", ["tensorflow", "keras"]),
    ],
)
def test_import_is_light(what, without):
    code = (
        "import importlib, pkgutil, sys\n"
        f"module = importlib.import_module({what!r})\n"
        f"if {what!r} != 'graphsurgeon' and hasattr(module, '__path__'):\n"
        "    for info in pkgutil.walk_packages(module.__path__, module.__name__ + '.'):\n"
        "        importlib.import_module(info.name)\n"
        f"print([name for name in {without!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]", f"importing {what} brings in {done.stdout.strip()}"


def test_a_function_keeps_its_name_when_the_module_of_that_name_is_imported():
    code = (
        "import importlib, types\n"
        "import graphsurgeon as gs\n"
        "names = [name for name in gs.__all__ if name not in ('examples', 'recipes')]\n"
        "for name in ('evolve',):\n"
        "    assert name in names\n"
        "    importlib.import_module(f'graphsurgeon.{name}')\n"
        "print([name for name in names if isinstance(getattr(gs, name), types.ModuleType)], set(names) - set(dir(gs)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[] set()"
