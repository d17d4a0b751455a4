"""The cookbook: each entry answers a question, with a few lines that run on `gs.examples` and print their result."""

from __future__ import annotations

import contextlib
import io
import re
from functools import partial
from typing import Any

import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.needs import ROOT

TEXT = (ROOT / "docs" / "cookbook.md").read_text()
ENTRIES = re.findall(r"^## (.+?)$(.+?)(?=^## |\Z)", TEXT, re.DOTALL | re.MULTILINE)


PICTURES = ROOT / "docs" / "cookbook"
#: The TensorFlow that the stored pictures were drawn with; others may build a graph of other ops.
DRAWN_WITH = "2.21"


def code_of(text: str) -> str:
    """The lines of an entry."""
    (code,) = re.findall(r"```python\n(.+?)```", text, re.DOTALL)
    return str(code)


def printed_of(text: str) -> str:
    """The output that an entry shows."""
    (output,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    return str(output)


def done(code: str) -> tuple[Any, Any, str]:
    """Runs the lines of an entry in the current folder.

    Returns:
        the editor before, the last editor after the lines, and the printed text.
    """
    before, after = {"gs": gs}, {"gs": gs}
    exec(code.partition("\n")[0] if code.startswith("path = ") else "", before)
    (opening,) = re.findall(r"^ed = gs\.open\(.+\)$", code, re.M)
    exec(opening, before)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, after)
    return before["ed"], [one for one in after.values() if isinstance(one, gs.Editor)][-1], out.getvalue()


def drawn(question: str, before: Any, after: Any) -> dict[str, str]:
    """Name of a file -> the picture of a graph, before an entry, and after it if it differs."""
    one, other = (str(ed.to_svg()) for ed in (before, after))
    stem = re.sub(r"\W+", "_", question.lower()).strip("_")
    pictures = {f"{before.title.partition('.')[0]}.svg": one}
    return pictures if shown(one) == shown(other) else {**pictures, f"{stem}.svg": other}


def shown(picture: str) -> list[str]:
    """The words in a picture; places and fonts are another matter."""
    return sorted(re.findall(r">([^<>\s][^<>]*)<", picture))


@pytest.mark.parametrize(("question", "text"), ENTRIES, ids=[question for question, _ in ENTRIES])
def test_an_entry_answers_its_question(question, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(gs, "open", partial(gs.open, trust=True))  # no process of its own imports these for a picture
    assert question.endswith("?")
    assert "**Check**" in text
    code = code_of(text)
    assert len([line for line in code.splitlines() if line]) <= 7
    before, after, printed = done(code)
    assert printed
    assert printed == printed_of(text), "python tools/write_cookbook.py"
    pictures = drawn(question, before, after)
    for name, picture in pictures.items():
        assert f"](cookbook/{name})" in text, f"the entry does not show {name}"
        assert len(picture) < 30_000
        if tf.__version__.startswith(DRAWN_WITH):
            stored = (PICTURES / name).read_text()
            assert shown(stored) == shown(picture), f"{name} is of another day: python tools/write_cookbook.py"


def test_each_picture_is_of_an_entry():
    assert {path.name for path in PICTURES.iterdir()} == set(re.findall(r"\]\(cookbook/(\w+\.svg)\)", TEXT))


def test_a_picture_that_is_of_another_day_is_seen():
    ed = gs.open(tf.Graph())
    with ed.graph.as_default():
        tf.constant(1.0, name="one")
    before = str(gs.open(ed.graph).to_svg())
    with ed.graph.as_default():
        tf.constant(2.0, name="two")
    assert shown(before) != shown(str(gs.open(ed.graph).to_svg()))
