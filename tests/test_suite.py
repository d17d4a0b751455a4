"""The suite itself: the core runs without TensorFlow, tests without a corpus are left out, examples are fixed."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import pytest

from tests.needs import ROOT

pytestmark = pytest.mark.deep


def run(*arguments: str, **environment: str) -> list[str]:
    """Returns the lines that a pytest of its own prints, which must succeed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=ROOT, env=clean | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout.splitlines()


def test_the_core_does_without_tensorflow():
    lines = run("--no-tensorflow", "tests/graph", "tests/plan")
    assert re.search(r"^\d{3,4} passed, \d+ deselected in ", "\n".join(lines), re.M)


def test_without_real_graphs_their_tests_are_left_out_and_the_run_says_so(tmp_path):
    files = ["tests/view/test_first_picture.py", "tests/tf/test_fuzz.py", "tests/tf/functions/test_insides.py"]
    lines = run("--collect-only", "--tier", "all", *files, GRAPHSURGEON_CORPUS=str(tmp_path), CI="")
    names = [line for line in lines if "::" in line]
    assert "tests/tf/test_fuzz.py::test_no_spoilt_file_does_harm[own]" in names
    assert not [name for name in names if "no-corpus" in name or "real" in name]
    assert "The tests on real graphs were left out: GRAPHSURGEON_CORPUS names no folder that holds some." in lines
    in_ci = run("--collect-only", "--tier", "all", *files, GRAPHSURGEON_CORPUS=str(tmp_path), CI="true")
    assert [name for name in in_ci if "no-corpus" in name]


DRAWS = """
import sys
sys.path.insert(0, ".")
import tests.tiers
if sys.argv[1:] == ["more"]:
    import graphsurgeon.plan.code, graphsurgeon.ui.commands.specs, graphsurgeon.view.grouping
from hypothesis import given, settings, strategies as st
seen = []

@settings(derandomize=True, database=None, deadline=None, max_examples=200)
@given(st.integers(), st.text())
def draw(number, text):
    seen.append((number, text))

draw()
print(ascii(seen))
"""


def test_a_property_is_given_the_same_examples_whatever_was_loaded_before():
    command = [sys.executable, "-c", DRAWS]
    few, many = (
        subprocess.run([*command, *more], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        for more in ([], ["more"])
    )
    assert few == many != ""
