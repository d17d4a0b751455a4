"""Files are there whole or not at all: whatever write fails, what was there before is as it was."""

from __future__ import annotations

import errno
import os

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.refusal import refuses

tf1 = tf.compat.v1
#: Format -> where to, below a folder.
PATHS = {"graph_def": "m.pb", "meta_graph": "m.meta", "checkpoint": "m.ckpt"}
PATHS |= {"saved_model": "m", "saved_model_tf2": "n"}
#: What of the system a save asks to write.
CALLS = ("replace", "fsync")


def model(value):
    """An editor of a graph with one variable."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None], name="x")
        tf.multiply(x, tf1.get_variable("w", initializer=value, use_resource=True), name="y")
    return gs.open(graph)


def save(value, kind, folder):
    ends = {} if kind == "checkpoint" else {"inputs": "x:0", "outputs": "y:0"}
    freeze = {"freeze": True} if kind == "graph_def" else {}
    return model(value).save(folder / PATHS[kind], format=kind, values="initial", verify=False, **ends, **freeze)


def state(folder):
    """All files below a folder, with what they hold."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


class Full:
    """A disk that is full at the n-th call of one kind."""

    def __init__(self, monkeypatch, name, number):
        self.left, self.real = number, getattr(os, name)
        self.hit = False
        monkeypatch.setattr(os, name, self)

    def __call__(self, *args, **kwargs):
        self.left -= 1
        if self.left == 0:
            self.hit = True
            raise OSError(errno.ENOSPC, "No space left on device")
        return self.real(*args, **kwargs)


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", PATHS)
def test_wherever_the_disk_is_full_the_old_file_is_as_it_was(kind, call, tmp_path, monkeypatch):
    save(1.0, kind, tmp_path)
    before, number = state(tmp_path), 1
    while True:
        with monkeypatch.context() as patched:
            full = Full(patched, call, number)
            try:
                save(2.0, kind, tmp_path)
            except PlanError as error:
                refusal = error
        if not full.hit:
            break
        assert "No space left on device" in str(refusal)
        assert " free" in str(refusal)
        assert state(tmp_path) == before
        number += 1
    assert number > 1
    assert state(tmp_path) != before


@pytest.mark.parametrize("kind", PATHS)
def test_nothing_is_left_where_there_was_nothing(kind, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        Full(patched, "replace", 1)
        with refuses(PlanError, "cannot be written: No space left on device", " free", "What was there is as it was"):
            save(1.0, kind, tmp_path)
    assert state(tmp_path) == {}


@pytest.mark.parametrize("kind", PATHS)
def test_a_new_file_takes_the_place_of_the_old_one(kind, tmp_path):
    save(1.0, kind, tmp_path)
    save(2.0, kind, tmp_path)
    if kind == "checkpoint":
        ed = model(0.0)
        ed.restore(tmp_path / PATHS[kind])
        assert ed.session().run("y:0", {"x:0": [3.0]}).tolist() == [6.0]
        return
    ed = gs.open(tmp_path / PATHS[kind])
    given, got = ed.inputs.get("x", "x:0"), next(iter(ed.outputs.values()), "y:0")
    assert ed.session().run(got, {given: [3.0]}).tolist() == [6.0]


def test_what_cannot_be_written_is_said(tmp_path):
    (tmp_path / "file").write_text("x")
    with refuses(PlanError, "nothing can be written in"):
        save(1.0, "graph_def", tmp_path / "file")
    (tmp_path / "m.pb").mkdir()
    with refuses(PlanError, "cannot be written: Is a directory"):
        save(1.0, "graph_def", tmp_path)


def test_what_is_no_saved_model_is_not_replaced(tmp_path):
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / "letter.txt").write_text("x")
    with refuses(PlanError, "is there and is not a SavedModel"):
        save(1.0, "saved_model", tmp_path)
    assert state(tmp_path) == {"m/letter.txt": b"x"}
