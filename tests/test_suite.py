"""The suite itself: its tests have names of words; what it needs, what it leaves out."""

from __future__ import annotations

import enum
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tests.needs import ROOT
from tests.words import LONGEST, WORDS, words


def run(*arguments: str, **environment: str) -> list[str]:
    """Returns the lines that a pytest of its own prints, which must succeed."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *arguments]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=ROOT, env=clean | environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout.splitlines()


def test_the_core_does_without_tensorflow():
    """Each test but the large ones, which run nothing else: their size shows no import that a small graph does not."""
    last = run("--no-tensorflow", "-m", "not large", "tests/graph")[-1]
    assert re.fullmatch(r"\d{3} passed, 8 deselected in .*", last)


def test_without_real_graphs_their_tests_are_left_out_and_the_run_says_so(tmp_path):
    files = ["tests/view/test_first_picture.py", "tests/tf/test_fuzz.py", "tests/tf/functions/test_insides.py"]
    lines = run("--collect-only", *files, GRAPHSURGEON_CORPUS=str(tmp_path), CI="")
    names = [line for line in lines if "::" in line]
    assert "tests/tf/test_fuzz.py::test_no_spoilt_file_does_harm[own]" in names
    assert not [name for name in names if "no-corpus" in name or "real" in name]
    assert "The tests on real graphs were left out: GRAPHSURGEON_CORPUS names no folder that holds some." in lines
    in_ci = run("--collect-only", *files, GRAPHSURGEON_CORPUS=str(tmp_path), CI="true")
    assert [name for name in in_ci if "no-corpus" in name]


DRAWS = """
import sys
sys.path.insert(0, ".")
import tests.conftest
if sys.argv[1:] == ["more"]:
    import graphsurgeon.plan.code, graphsurgeon.screen.verbs, graphsurgeon.view.folding
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


def test_every_name_is_made_of_words(request):
    """Two workers collect each for itself, and pytest-xdist runs nothing where they differ."""
    names = [item.nodeid for item in request.session.items]
    assert len(set(names)) == len(names)
    parts = [re.fullmatch(r"([\w./-]+(?:::[\w. -]+)+)(?:\[(.*)\])?", name, re.ASCII) for name in names]
    odd = [name for name, found in zip(names, parts, strict=True) if not found]
    odd += [found[0] for found in parts if found and found[2] and not plain(found[2])]
    assert not odd, odd[:10]


def plain(text: str) -> bool:
    """Returns whether the name of a test may hold this between its brackets."""
    here = "|".join(rf"(?<![\w.]){re.escape(str(place))}\b" for place in (ROOT, tempfile.gettempdir()))
    return bool(WORDS.fullmatch(text)) and not re.search(rf"\b0x[0-9a-f]{{6,}}|\d\.\d{{6,}}|{here}", text)


class Colour(enum.Enum):
    RED = 1


def named():
    """A function with a name."""


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("a/b:0", "a/b:0"),
        ("<!doctype html>", "!doctype html"),
        ("a\\n\tb\n", "a n b"),
        ("é", "it"),
        ("", "it"),
        (b"PK\x03\x04", "it"),
        (object(), "it"),
        (lambda: 1, "it"),
        (named, "named"),
        (Path, "Path"),
        (Colour.RED, "RED"),
        (None, "None"),
        (0.5, "0.5"),
        (ROOT / "tests" / "words.py", "tests/words.py"),
        ({"scope": ["a", "b"], "op": None}, "scope=a, b, op=None"),
        ({"c", "a", "b"}, "a, b, c"),
        ((1, b"x", "y"), "1, , y"),
        ("word " * 40, ("word " * (LONGEST // 5)).strip()),
        ("n" * 300, "n" * LONGEST),
    ],
)
def test_what_stands_for_a_parameter(value, said):
    assert words(value, "it") == said


def test_the_check_sees_what_is_no_word():
    texts = ["a\\n", "[b'x']", "<lambda>", "object at 0x7f00aa11bb22", "0.123456789", f"in {ROOT}/x", "é"]
    assert not [text for text in texts if plain(text)]
    assert plain("src/a/b:0, 0.5 (3)")
