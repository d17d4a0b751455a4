"""Progress: a bar for long work, nothing for short work, and none that stays."""

from __future__ import annotations

import io
import sys

import pytest

from graphsurgeon.tf import progress
from graphsurgeon.tf.progress import Progress


class Terminal(io.StringIO):
    """A stream that somebody looks at."""

    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    return stream


def work(fail=None):
    """Does three steps of work, and maybe stops at the second."""
    with Progress("carrying values", 300) as bar:
        for step in range(3):
            if step == fail:
                raise KeyboardInterrupt
            bar.step(100)


def test_short_work_shows_nothing(terminal):
    work()
    assert terminal.getvalue() == ""


def test_long_work_shows_a_bar_that_goes(terminal, monkeypatch):
    monkeypatch.setattr(progress, "QUIET", 0.0)
    work()
    assert "carrying values:  33%" in terminal.getvalue()
    assert terminal.getvalue().rstrip(" ").endswith("\r")


def test_an_interrupt_takes_the_bar_away_too(terminal, monkeypatch):
    monkeypatch.setattr(progress, "QUIET", 0.0)
    with pytest.raises(KeyboardInterrupt):
        work(fail=2)
    assert terminal.getvalue().rstrip(" ").endswith("\r")


def test_nobody_looks_at_a_file(monkeypatch):
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "QUIET", 0.0)
    work()
    assert stream.getvalue() == ""
