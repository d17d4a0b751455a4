"""What `make compat` installs and runs; it is run itself by hand, for it installs TensorFlow twice."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
from typing import Any

import pytest

from tests.needs import ROOT

COMPAT: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "compat.py"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"


def test_the_lowest_are_the_bounds_and_the_newest_are_free():
    lowest, newest = (COMPAT["requirements"](which) for which in ("lowest", "newest"))
    assert [line.replace("==", ">=") for line in lowest] == newest
    assert set(PROJECT["dependencies"]) < set(newest)
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", line) for line in lowest)


def test_the_pythons_are_the_ends_of_what_is_supported():
    said = [c.rpartition(" ")[2] for c in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", c)]
    assert list(COMPAT["PYTHONS"].values()) == [said[0], said[-1]]


def test_an_interpreter_is_one_that_runs_and_has_the_version(tmp_path, monkeypatch):
    broken = tmp_path / f"{HERE}.0" / "bin" / "python"
    broken.parent.mkdir(parents=True)
    broken.write_text("#!/bin/sh\nexit 127\n")
    broken.chmod(0o755)
    monkeypatch.setenv("GRAPHSURGEON_PYTHONS", str(tmp_path))
    found = COMPAT["interpreter"](HERE)
    assert found
    assert found != str(broken)
    assert COMPAT["interpreter"]("2.5") is None


def test_without_an_interpreter_it_fails_and_says_what_was_not_run(monkeypatch, capsys):
    monkeypatch.setitem(COMPAT["main"].__globals__, "interpreter", lambda version: None)
    assert COMPAT["main"](["newest"]) == 1
    assert "newest: NOT RUN, there is no Python 3.13 on the PATH" in capsys.readouterr().out


def test_an_environment_is_kept_until_its_packages_change(tmp_path, monkeypatch):
    asked: list[list[str]] = []
    monkeypatch.setattr(
        subprocess, "run", lambda command, **_: (tmp_path / "env").mkdir(exist_ok=True) or asked.append(command)
    )
    prepared = COMPAT["prepared"]
    prepared(tmp_path / "env", "python", ["numpy==1"])
    assert [command[1:3] for command in asked] == [["-m", "venv"], ["-m", "pip"], ["-m", "pip"]]
    prepared(tmp_path / "env", "python", ["numpy==1"])
    assert len(asked) == 3
    prepared(tmp_path / "env", "python", ["numpy==2"])
    assert len(asked) == 6


def test_the_exit_code_is_that_of_the_tests(tmp_path, monkeypatch, capsys):
    space = COMPAT["main"].__globals__
    monkeypatch.setitem(space, "interpreter", lambda version: sys.executable)
    monkeypatch.setitem(space, "prepared", lambda folder, python, packages: folder)
    monkeypatch.setitem(space, "versions", lambda folder: "Python 3")
    for code, said in ((0, "2 passed\n"), (1, "1 failed\n")):
        monkeypatch.setitem(space, "run", lambda f, t, c=code, s=said: subprocess.CompletedProcess(t, c, s, ""))
        assert COMPAT["main"](["lowest", "--tests", "tests/graph", "--folder", str(tmp_path)]) == code
        assert capsys.readouterr().out.endswith(f"lowest: Python 3: {said}")


@pytest.mark.parametrize("word", ["oldest", "3.11"])
def test_a_wrong_word_is_refused(word, capsys):
    with pytest.raises(SystemExit):
        COMPAT["main"]([word])
    assert f"{word!r} is not one of lowest, newest" in capsys.readouterr().err


def test_what_needs_more_than_packages_is_left_out_unless_asked_for(monkeypatch, tmp_path):
    asked: list[list[str]] = []
    monkeypatch.setattr(subprocess, "run", lambda command, **_: asked.append(command))
    COMPAT["run"](tmp_path, ["tests/graph", "-m", "large"])
    marks = [asked[0][i + 1] for i, word in enumerate(asked[0]) if word == "-m"]
    assert marks == ["pytest", "not browser and not corpus", "large"], "of pytest's, the last one holds"
