"""The wheel, installed into an empty environment: engine, widget, static files and command line are all there.

What the package needs comes from the environment of the tests, by path, so that nothing is downloaded; the package
itself comes from the wheel alone.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path
from typing import Any

import pytest

import graphsurgeon as gs
from tests.needs import ROOT

pytestmark = pytest.mark.deep

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


class Installed:
    """An environment that holds the wheel.

    Args:
        folder: an empty folder.
    """

    def __init__(self, folder: Path) -> None:
        from hatchling.builders.wheel import WheelBuilder

        self.work = folder / "work"
        self.work.mkdir()
        (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(folder), versions=["standard"])
        venv.create(folder / "env", symlinks=os.name != "nt")
        self.programs = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
        pip = [sys.executable, "-m", "pip", "--python", str(self.programs / "python"), "install", "-q"]
        subprocess.run([*pip, "--no-index", "--no-deps", "--no-warn-script-location", wheel], check=True)
        self.site = Path(self.run("-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip())
        # A folder that a .pth names is searched, and the .pth files in it are not read: the editable install stays out
        needed = dict.fromkeys(sysconfig.get_path(name) for name in ("purelib", "platlib"))
        (self.site / "needed.pth").write_text("\n".join(needed))

    def call(self, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs a program of the environment, with nothing of the checkout in reach."""
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYTEST_"))}
        command = [str(self.programs / program), *arguments]
        return subprocess.run(command, cwd=self.work, env=clean, capture_output=True, text=True, check=False)

    def run(self, *arguments: str) -> str:
        """Runs its Python; returns what it prints."""
        done = self.call("python", *arguments)
        assert done.returncode == 0, done.stderr[-3000:]
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Installed:
    """The wheel, installed."""
    return Installed(tmp_path_factory.mktemp("installed"))


#: What a program does with it: the engine, the widget, all modules and static files; printed as JSON.
USE = """
import importlib, importlib.metadata, importlib.resources, json, pkgutil
import graphsurgeon as gs
said = {"file": gs.__file__, "requires": importlib.metadata.requires("tf-graphsurgeon")}
said["names"] = [name for name in gs.__all__ if getattr(gs, name, None) is None]
said["modules"] = [
    importlib.import_module(found.name).__name__
    for found in pkgutil.walk_packages(gs.__path__, "graphsurgeon.")
    if not found.name.endswith("__main__")
]
import tensorflow as tf
tf1 = tf.compat.v1
with tf.Graph().as_default() as graph:
    x = tf1.placeholder(tf.float32, [None, 2], name="x")
    w = tf1.get_variable("w", initializer=[[1.0], [2.0]])
    y = tf.matmul(x, w, name="y")
    session = tf1.Session()
    session.run(tf1.global_variables_initializer())
ed = gs.open(session)
plan = ed.plan().copy(ed.select(inputs="x:0", outputs="y:0"), to="copy", inputs={"x:0": "x:0"}, values=session)
done = ed.apply(plan)
said["numbers"] = ed.session(session).run(done["y:0"], {"x:0": [[3.0, 4.0]]}).tolist()
view = ed.view()
view.simulate("select", names=["y"])
said["selected"] = ed.selection.names
said["esm"], said["css"] = len(str(view._esm)), len(str(view._css))
said["svg"] = str(ed.to_svg())[:4]
static = importlib.resources.files("graphsurgeon") / "ui" / "static"
said["static"] = {one.name: len(one.read_bytes()) for one in static.iterdir()}
ed.save("model.pb", outputs=["copy/y:0"], freeze=True)
print(json.dumps(said))
"""


@pytest.fixture(scope="module")
def used(installed) -> dict[str, Any]:
    """What a program that uses all of it has seen."""
    said: dict[str, Any] = json.loads(installed.run("-c", USE).splitlines()[-1])
    return said


def test_it_is_the_wheel_that_is_used(installed, used):
    assert Path(used["file"]).is_relative_to(installed.site)
    asked = [line for line in used["requires"] if "extra ==" not in line]
    assert sorted(asked) == sorted(PROJECT["dependencies"])


def test_the_engine_copies_and_runs(used):
    assert used["numbers"] == [[11.0]]


def test_every_name_and_every_module_is_there(used):
    assert used["names"] == []
    package = ROOT / "graphsurgeon"
    ours = [p.relative_to(ROOT).with_suffix("") for p in package.rglob("*.py") if "node_modules" not in p.parts]
    wanted = {".".join(p.parts).removesuffix(".__init__") for p in ours} - {"graphsurgeon", "graphsurgeon.__main__"}
    assert set(used["modules"]) == wanted


def test_the_widget_brings_its_page(used):
    folder = ROOT / "graphsurgeon" / "ui" / "static"
    assert used["static"] == {one.name: one.stat().st_size for one in folder.iterdir()}
    assert used["esm"] >= used["static"]["widget.js"] * 0.9
    assert used["css"] > 1000
    assert used["svg"] == "<svg"
    assert used["selected"] == ["y"]


def test_the_command_is_there(installed, used):
    said = installed.call("graphsurgeon", "--version")
    assert (said.returncode, said.stdout) == (0, f"graphsurgeon {gs.__version__}\n")
    assert installed.call("graphsurgeon", "--help").stdout.startswith("usage: graphsurgeon ")
    assert installed.run("-m", "graphsurgeon", "--help").startswith("usage: python -m graphsurgeon ")
    done = installed.call("graphsurgeon", "view", "model.pb", "-o", "model.html", "--no-open")
    assert done.returncode == 0, done.stderr
    assert (installed.work / "model.html").read_text().startswith("<!doctype html>")
    assert installed.call("graphsurgeon", "scan", "model.pb").returncode == 0
    assert installed.call("graphsurgeon", "doctor").stdout.startswith("layout: Graphviz (WebAssembly")
