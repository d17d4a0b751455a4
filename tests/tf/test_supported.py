"""A TensorFlow that is missing or too old: what is said, and what still works."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib

import pytest

from graphsurgeon.tf.import_tensorflow import OLDEST
from tests.needs import ROOT


def run(*arguments: str, path: str) -> subprocess.CompletedProcess[str]:
    """Runs Python where a folder comes first among the packages."""
    env = {**os.environ, "PYTHONPATH": f"{path}{os.pathsep}{ROOT}"}
    return subprocess.run([sys.executable, *arguments], env=env, cwd=path, capture_output=True, text=True)


@pytest.fixture(params=["missing", "old"])
def elsewhere(request, tmp_path):
    """A folder that stands before TensorFlow: of an old one, or of none."""
    lines = {"missing": 'raise ModuleNotFoundError("No module", name="tensorflow")', "old": "__version__ = '2.9.1'"}
    (tmp_path / "tensorflow.py").write_text(lines[request.param])
    (tmp_path / "model.pb").touch()
    return request.param, str(tmp_path)


def test_what_needs_tensorflow_says_what_is_missing(elsewhere):
    kind, path = elsewhere
    done = run("-m", "graphsurgeon", "view", "model.pb", "-o", "-", path=path)
    said = {"missing": "import tensorflow: it is not installed.", "old": "this is TensorFlow 2.9.1, which is too old"}
    assert done.returncode == 1, done.stderr
    assert said[kind] in done.stderr
    assert re.search(r"pip install (-U )?'tensorflow>=2\.16', in a separate environment", done.stderr)
    assert "Traceback" not in done.stderr


def test_what_needs_none_still_works(elsewhere):
    _, path = elsewhere
    assert run("-m", "graphsurgeon", "doctor", path=path).returncode == 0
    code = "import graphsurgeon as gs; print(gs.Graph.from_ops([('a', 'Const', []), ('b', 'Neg', ['a'])]).size)"
    assert run("-c", code, path=path).stdout == "2\n"


def test_the_oldest_is_that_of_the_package():
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    (tensorflow,) = [each for each in needed if each.startswith("tensorflow")]
    assert tensorflow.partition(">=")[2].startswith(".".join(map(str, OLDEST)))
