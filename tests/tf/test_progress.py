"""Progress: a bar for long work, nothing for short work, and none that stays."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, suppress

import pytest

from graphsurgeon.tf import progress
from graphsurgeon.tf.progress import Progress


class Terminal(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self):
        return True


def work(stream, fail=None):
    """Does three steps of work while `stream` is the terminal, and maybe stops at the third; returns what it showed."""
    with redirect_stderr(stream), suppress(KeyboardInterrupt), Progress("carrying values", 300) as bar:
        for step in range(3):
            if step == fail:
                raise KeyboardInterrupt
            bar.step(100)
    return stream.getvalue()


def test_short_work_shows_nothing():
    assert work(Terminal()) == ""


@pytest.mark.parametrize("fail", [None, 2])
def test_long_work_shows_a_bar_that_goes_also_after_an_interrupt(monkeypatch, fail):
    monkeypatch.setattr(progress, "QUIET", 0.0)
    shown = work(Terminal(), fail)
    assert "carrying values:  33%" in shown
    assert shown.endswith(" \r")


def test_nobody_looks_at_a_file(monkeypatch):
    monkeypatch.setattr(progress, "QUIET", 0.0)
    assert work(io.StringIO()) == ""
