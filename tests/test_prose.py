"""The prose lint of `make check`: each phrase is found, good sentences pass, and code is left out."""

from __future__ import annotations

import json
import runpy
import tomllib
from typing import Any

import pytest

from tests.needs import ROOT

LINT: dict[str, Any] = runpy.run_path(str(ROOT / "tools" / "prose.py"))
RULES = tomllib.loads((ROOT / "tools" / "prose.toml").read_text())["rule"]


def hits(text: str, kind: str = "page") -> list[str]:
    """The names of the rules that a text breaks."""
    return [hit.rule for hit in LINT["hits_in"](LINT["Text"](kind, 1, text), RULES)]


@pytest.mark.parametrize(
    ("rule", "bad", "good"),
    [
        ("where", "It is refused where a loop has a gradient.", "It shows the place where the loop begins."),
        (", as", "Verbs that take ops, as `remove`, are listed.", "Take as many as you like, as far as they fit."),
        ("is none", "The pattern is none.", "None of the patterns is valid."),
        ("nobody", "Until somebody trusts the file, it is not run.", "Until you trust the file, it is not run."),
        ("software says", "The file says which ops are meant.", "The file lists the ops."),
        ("of its own", "It runs in a process of its own.", "It runs in a separate process."),
        ("so many", "It stops after so many steps.", "It stops after 12 steps, not so many as before."),
        ("beside, behind", "The button beside the picture.", "The button next to the picture."),
        ("lets X read", "It lets the consumers read another tensor.", "It lets you choose another tensor."),
        ("is no X", "That is no name.", "That is not a name; there is no longer one."),
        ("come along", "The variables come along.", "The variables are copied too."),
    ],
)
def test_a_phrase_is_found_and_a_good_sentence_passes(rule, bad, good):
    assert hits(bad) == [rule]
    assert hits(good) == []


def test_each_rule_has_a_test():
    (mark,) = test_a_phrase_is_found_and_a_good_sentence_passes.pytestmark
    assert [case[0] for case in mark.args[1]] == [rule["name"] for rule in RULES]


def test_prose_is_found_in_each_kind_of_file_and_code_is_left_out(tmp_path):
    python = tmp_path / "a.py"
    python.write_text('"""Nobody."""\nx = "nobody reads it"  # nobody\nnobody = 1\n')
    script = tmp_path / "b.ts"
    script.write_text("// nobody\nconst nobody = 'nobody is here';\n/* nobody */\n")
    page = tmp_path / "c.md"
    page.write_text("Nobody `nobody`\n\n```python\nnobody = 1\n```\n")
    notebook = tmp_path / "d.ipynb"
    cells = [{"cell_type": kind, "source": ["nobody"]} for kind in ("markdown", "code")]
    notebook.write_text(json.dumps({"cells": cells}))
    found = [
        [(hit.kind, hit.line) for text in LINT["texts_of"](path) for hit in LINT["hits_in"](text, RULES)]
        for path in (python, script, page, notebook)
    ]
    assert found == [
        [("docstring", 1), ("message", 2), ("comment", 2)],
        [("comment", 1), ("message", 2), ("comment", 3)],
        [("page", 1)],
        [("notebook", 1)],
    ]
