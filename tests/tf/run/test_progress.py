"""Progress: a bar for long work, nothing for short work, and none that stays."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, suppress

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.tf.run import progress
from graphsurgeon.tf.run.progress import Phases, Progress, phase, silent
from tests.graphs import model

tf1 = tf.compat.v1


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
    monkeypatch.setattr(progress, "DELAY", 0.0)
    shown = work(Terminal(), fail)
    assert "carrying values:  33%" in shown
    assert shown.endswith(" \r")


def test_nobody_looks_at_a_file(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    assert work(io.StringIO()) == ""


def shown_by(monkeypatch, act, stream=None):
    """What `act` shows, were all work long."""
    monkeypatch.setattr(progress, "DELAY", 0.0)
    stream = stream or Terminal()
    with redirect_stderr(stream):
        act()
    return stream.getvalue()


def copying():
    there = gs.open(tf.Graph())
    return there, there.plan().copy(gs.open(model("ref").graph).select(), to="a")


def test_a_copy_shows_its_phases(monkeypatch):
    there, plan = copying()
    shown = shown_by(monkeypatch, lambda: there.apply(plan))
    for words in ("writing nodes", "importing", "shapes, variables, collections", "reading back"):
        assert f"applying: {words}" in shown
    assert shown.endswith(" \r")


def test_nobody_is_shown_the_phases_of_a_short_copy_or_in_a_file(monkeypatch):
    there, plan = copying()
    stream = Terminal()
    with redirect_stderr(stream):
        there.apply(plan)
    assert stream.getvalue() == ""
    there, plan = copying()
    assert shown_by(monkeypatch, lambda: there.apply(plan), io.StringIO()) == ""


def test_updates_show_their_phases_and_a_checkpoint_its_variables(monkeypatch, tmp_path):
    m = model("resource", "sgd")
    replica = gs.duplicate(gs.open(m.graph).select(inputs=[m.x], outputs=[m.y]), values=m.session)
    m.train_steps()
    shown = shown_by(monkeypatch, replica.update)
    assert "updating the duplicate: comparing values" in shown
    assert "updating the duplicate: setting 2 variables" in shown
    with m.graph.as_default():
        tf1.train.Saver().save(m.session, str(tmp_path / "model"), global_step=7)
    assert "reading model-7" in shown_by(monkeypatch, replica.follow(tmp_path).update)


def test_work_that_nobody_waits_for_shows_nothing(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.0)
    with silent():
        assert work(Terminal()) == ""
    assert work(Terminal())


def test_a_phase_belongs_to_the_innermost_work():
    with Phases("outer", 2) as outer:
        phase("one")
        with Phases("inner", 1) as inner:
            phase("all")
        phase("two")
    phase("nobody is informed")
    assert (outer.what, outer.done, inner.what) == ("outer: two", 1, "inner: all")


@pytest.mark.parametrize(("said", "shown"), [(None, True), ("0", True), ("1", False)])
def test_a_notebook_shows_bars_unless_the_environment_says_no(monkeypatch, said, shown):
    import tqdm.auto

    asked = []

    class tqdm_notebook:
        def __init__(self, **options):
            asked.append(options["disable"])

    monkeypatch.setattr(tqdm.auto, "tqdm", tqdm_notebook)
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    if said is not None:
        monkeypatch.setenv("TQDM_DISABLE", said)
    progress._bar("carrying", 3, 1, "B")
    assert asked == [not shown]
