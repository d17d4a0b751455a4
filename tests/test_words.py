"""Two processes collect the same tests: workers that share the suite compare the names, in their order."""

from __future__ import annotations

import enum
import os
import re
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

from tests.needs import ROOT
from tests.words import LONGEST, WORDS, words

#: Two processes that differ in all that has no business in a name.
PROCESSES = [
    {"PYTHONHASHSEED": "1", "TZ": "UTC", "COLUMNS": "80"},
    {"PYTHONHASHSEED": "2", "TZ": "Asia/Tokyo", "COLUMNS": "200"},
]


@cache
def collected() -> list[list[str]]:
    """Returns the names that each process collects; it takes seconds, so that the second starts at another time."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    runs = [
        subprocess.run(command, cwd=ROOT, env=clean | process, capture_output=True, text=True) for process in PROCESSES
    ]
    for run in runs:
        assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-3000:]
    return [[line for line in run.stdout.splitlines() if "::" in line] for run in runs]


def test_every_process_collects_the_same_tests_in_the_same_order():
    first, second = collected()
    assert len(first) > 1000
    assert len(set(first)) == len(first)
    differ = [pair for pair in zip(first, second, strict=False) if pair[0] != pair[1]]
    assert not differ, differ[:5]
    assert len(first) == len(second)


def test_every_name_is_made_of_words():
    parts = [re.fullmatch(r"([\w./-]+(?:::[\w. -]+)+)(?:\[(.*)\])?", name, re.ASCII) for name in collected()[0]]
    odd = [name for name, found in zip(collected()[0], parts, strict=True) if not found]
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
