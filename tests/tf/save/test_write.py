"""Files are there whole or not at all: whatever write fails, what was there before is as it was."""

from __future__ import annotations

import errno
import os
import shutil
import signal
from contextlib import suppress
from itertools import count
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.graph.atomic_files import TargetExistsError
from tests.refusal import refuses
from tests.writers import say, small_disk, stopping, writers

tf1 = tf.compat.v1
#: Format -> where to, below a folder.
PATHS = {"graph_def": "m.pb", "meta_graph": "m.meta", "checkpoint": "m.ckpt"}
PATHS |= {"saved_model": "m", "saved_model_tf2": "n"}


def model(value):
    """An editor of a graph with one variable."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None], name="x")
        tf.multiply(x, tf1.get_variable("w", initializer=value, use_resource=True), name="y")
    return gs.open(graph)


def save(value, kind, folder, **more):
    ends = {} if kind == "checkpoint" else {"inputs": "x:0", "outputs": "y:0"}
    freeze = {"freeze": True} if kind == "graph_def" else {}
    given = {"values": "initial", "verify": False, **ends, **freeze, **more}
    return model(value).save(os.path.join(folder, PATHS[kind]), format=kind, **given)


def replaced(kind, folder):
    """What a child does that is stopped: another value takes the place of the first."""
    save(2.0, kind, folder, values={"w": np.float32(2.0)}, overwrite=True)


def state(folder):
    """All files below a folder, with what they hold."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def stopped():
    """A process whose children save, and are stopped."""
    also = ("open.source", "save.save", "values.assign_values", "values.initialization", "run.sessions")
    with writers("tests.tf.save.test_write", *(f"graphsurgeon.tf.{name}" for name in also)) as made:
        yield made


@pytest.fixture
def folder(stopped, tmp_path, kind):
    """A folder with a file of a kind, as text."""
    assert stopped.run("save", 1.0, kind, str(tmp_path)).error == ""
    return str(tmp_path)


def left(folder):
    """All files below a folder, without what a stopped writer has left beside; that is deleted."""
    for aside in Path(folder).glob(".being_written_*"):
        shutil.rmtree(aside)
    return state(folder)


#: The kinds that are put to their place in ways of their own: one file, several, a folder.
PLACED = (
    pytest.param("graph_def", marks=pytest.mark.deep),
    pytest.param("meta_graph", marks=pytest.mark.deep),
    "saved_model",
)


@pytest.mark.parametrize("kind", PLACED)
def test_a_save_killed_at_any_write_loses_no_file(stopped, folder, kind):
    """Each old file stays, or waits beside, until the new ones are there."""
    before, seen = state(folder), []
    for at in count(1):
        end = stopped.run("replaced", kind, folder, at=at)
        waiting = [path.rglob("*") for path in Path(folder).glob(".being_written_*/before")]
        moved = [path.read_bytes() for paths in waiting for path in paths if path.is_file()]
        found = left(folder)
        if not end.hit:
            break
        assert end.signal == signal.SIGKILL
        if found != before:
            assert found.keys() == before.keys() or not set(before.values()) - {*moved, *found.values()}
            save(1.0, kind, folder, overwrite=True)
            before = state(folder)
            seen.append(at)
    assert end.error == ""
    assert seen or kind == "graph_def"
    assert ends_in(folder, kind) == 6.0


@pytest.mark.parametrize("kind", [pytest.param("checkpoint", marks=pytest.mark.deep), "saved_model_tf2"])
def test_a_save_killed_where_tensorflow_writes_leaves_the_old(stopped, folder, kind):
    """The system itself kills whoever writes more than so many bytes into a file, in whichever thread."""
    before, killed = state(folder), 0
    for size in (0, *(1 << power for power in range(20))):
        end = stopped.run("replaced", kind, folder, size=size)
        if not end.signal:
            break
        killed += 1
        assert end.signal == signal.SIGXFSZ
        assert left(folder) == before
    assert end.error == ""
    assert killed > 1
    assert ends_in(folder, kind) == 6.0


def stop_at_each(kind, folder, happens):
    """What a child does: it saves, and is stopped at the first write, then at the second, until it gets through."""
    before = state(folder)
    for at in count(1):
        error = ""
        with stopping(at, happens) as stop:
            try:
                replaced(kind, folder)
            except (PlanError, KeyboardInterrupt) as raised:
                error = str(raised) or "interrupted"
        found = left(folder)
        if not stop.hit:
            say(str(at))
            break
        if happens == "full" and error:
            assert found == before, at
            assert "No space left on device" in error, error
            assert " free" in error, error
        elif found != before:  # it was in its place by then
            save(1.0, kind, folder, overwrite=True)
            before = state(folder)
        else:
            assert error, at
    assert not error
    assert ends_in(folder, kind) == 6.0


@pytest.mark.parametrize("happens", ["full", pytest.param("interrupt", marks=pytest.mark.deep)])
@pytest.mark.parametrize("kind", PATHS)
def test_a_save_stopped_at_any_write_leaves_the_old_or_the_new(stopped, folder, kind, happens):
    end = stopped.run("stop_at_each", kind, folder, happens)
    assert end.error == ""
    assert int(end.said[0]) > 5


def on_small_disk(folder):
    """What a child does: it saves on a disk that has no room left, then a little, until there is enough."""
    if not small_disk(folder, 1 << 20):
        say("no")
        return
    for kind in PATHS:
        save(1.0, kind, folder)
        before, filler = state(folder), os.path.join(folder, "filler")
        with open(filler, "wb", buffering=0) as file, suppress(OSError):
            while True:
                file.write(bytes(4096))
        refused = 0
        while error := refusal(kind, folder):
            assert "No space left on device" in error, error
            assert {name: data for name, data in left(folder).items() if name != "filler"} == before
            os.truncate(filler, os.path.getsize(filler) - 4096)
            refused += 1
        assert refused
        os.unlink(filler)
        assert ends_in(folder, kind) == 6.0


def refusal(kind, folder):
    """Saves; returns why it cannot be done."""
    try:
        replaced(kind, folder)
    except PlanError as error:
        return str(error)
    return ""


def test_a_disk_that_is_full_leaves_the_old(stopped, tmp_path):
    end = stopped.run("on_small_disk", str(tmp_path))
    if end.said == ["no"]:
        pytest.skip("the system lets nobody make a disk here")
    assert end.error == ""


def ends_in(folder, kind):
    """What a saved model makes of 3.0."""
    path = os.path.join(folder, PATHS[kind])
    if kind == "checkpoint":
        ed = model(0.0)
        ed.restore(path)
        return ed.session().run("y:0", {"x:0": [3.0]}).tolist()[0]
    ed = gs.open(path)
    given, got = ed.inputs.get("x", "x:0"), next(iter(ed.outputs.values()), "y:0")
    return ed.session().run(got, {given: [3.0]}).tolist()[0]


@pytest.mark.parametrize("kind", PATHS)
def test_nothing_is_left_where_there_was_nothing(kind, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", full)
        with refuses(PlanError, "cannot be written: No space left on device", " free", "The old file is unchanged"):
            save(1.0, kind, tmp_path)
    assert state(tmp_path) == {}


@pytest.mark.parametrize("kind", PATHS)
def test_a_new_file_takes_the_place_of_the_old_one(kind, tmp_path):
    save(1.0, kind, tmp_path)
    save(2.0, kind, tmp_path)
    assert ends_in(tmp_path, kind) == 6.0


def test_what_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("x")
    with refuses(PlanError, "nothing can be written in"):
        save(1.0, "graph_def", tmp_path / "file")
    (tmp_path / "m.pb").mkdir()
    with refuses(PlanError, "m.pb' is a folder", "Give the path of a file"):
        save(1.0, "graph_def", tmp_path)


@pytest.mark.parametrize("kind", PATHS)
def test_a_file_of_somebody_else_is_replaced_only_when_asked(kind, tmp_path):
    save(1.0, kind, tmp_path)
    for path in [path for path in tmp_path.rglob("*") if path.is_file()]:
        os.utime(path, (1, 1))  # as if another program had written it
    before = state(tmp_path)
    with refuses(TargetExistsError, f"save({str(tmp_path / PATHS[kind])!r}", " already exists", "type overwrite=True"):
        save(2.0, kind, tmp_path)
    assert state(tmp_path) == before
    save(2.0, kind, tmp_path, overwrite=True)
    assert state(tmp_path) != before


def test_what_is_no_saved_model_is_not_replaced(tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "letter.txt").write_text("x")
    with refuses(PlanError, "exists and is not a SavedModel"):
        save(1.0, "saved_model", tmp_path)
    assert state(tmp_path) == {"m/letter.txt": b"x"}
