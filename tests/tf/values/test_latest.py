"""A folder leads to its own checkpoints and to no others, through whichever door it is given."""

from __future__ import annotations

import os
import shutil

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import OpenError
from graphsurgeon.tf.open.file_reader import leads_out, linked_away, newest_checkpoint, state_checkpoints
from tests.refusal import refuses

tf1 = tf.compat.v1


def net(value=0.0):
    """A graph with one variable, and an editor of it."""
    with tf.Graph().as_default() as graph:
        tf.multiply(tf1.placeholder(tf.float32, [], name="x"), tf1.get_variable("w", initializer=value), name="y")
    return graph


def saved(folder, value):
    """Writes a checkpoint as TensorFlow's trainings do, with its graph."""
    folder.mkdir(parents=True)
    graph = net(value)
    with tf1.Session(graph=graph) as session, graph.as_default():
        session.run(tf1.global_variables_initializer())
        return tf1.train.Saver().save(session, str(folder / "model"))


@pytest.fixture
def stranger(tmp_path):
    """A stranger's folder, and the prefix of a checkpoint of one's own, elsewhere."""
    own = saved(tmp_path / "own", 7.0)
    folder = tmp_path / "stranger"
    folder.mkdir()
    return folder, own


def says(folder, path):
    (folder / "checkpoint").write_text(f'model_checkpoint_path: "{path}"\nall_model_checkpoint_paths: "{path}"\n')


#: Door -> what is done there with a folder.
DOORS = {
    "open": lambda folder: gs.open(folder),
    "restore": lambda folder: gs.open(net()).restore(folder),
    "transfer": lambda folder: gs.transfer(folder, gs.open(net())),
    "follow": lambda folder: gs.duplicate(gs.open(net()).select()).follow(folder).update() or None,
    "connect": lambda folder: gs.connect({"a": folder, "b": net()}, {"a/y:0": "b/x:0"}, values={"b": "initial"}),
    "duplicate": lambda folder: gs.duplicate(folder),
}


@pytest.mark.parametrize("way", ["absolute", "up", "down and up"])
@pytest.mark.parametrize("door", DOORS)
def test_a_state_file_does_not_lead_out(door, way, stranger):
    folder, own = stranger
    says(folder, {"absolute": own, "up": "../own/model", "down and up": "a/../../own/model"}[way])
    with refuses(OpenError, str(folder)):
        DOORS[door](folder)


@pytest.mark.parametrize("door", DOORS)
def test_what_is_in_the_folder_is_taken_though_it_has_moved(door, tmp_path):
    saved(tmp_path / "was", 7.0)
    folder = tmp_path / "is"
    shutil.move(tmp_path / "was", folder)
    says(folder, str(tmp_path / "was" / "model"))  # as a training writes it that runs under another path
    assert DOORS[door](folder) is not None


@pytest.mark.parametrize("door", ["restore", "transfer", "follow"])
def test_a_link_does_not_lead_out(door, stranger):
    folder, own = stranger
    for suffix in (".index", ".data-00000-of-00001"):
        (folder / f"model{suffix}").symlink_to(own + suffix)
    says(folder, "model")
    with refuses(OpenError, "its file 'model.index' is a link that leads out of its folder"):
        DOORS[door](folder)


def test_values_behind_links_are_none_of_the_file_s(stranger):
    folder, own = stranger
    shutil.copy(own + ".meta", folder / "model.meta")
    for suffix in (".index", ".data-00000-of-00001"):
        (folder / f"model{suffix}").symlink_to(own + suffix)
    ed = gs.open(folder / "model.meta")
    assert ed.untrained() == {"w": "its file 'model.index' is a link that leads out of its folder"}


@pytest.mark.parametrize("tf2", [False, True], ids=["TF1", "TF2"])
def test_values_of_a_saved_model_behind_links_are_none_of_its(tf2, tmp_path):
    gs.open(net(7.0)).save(tmp_path / "own", inputs="x:0", outputs="y:0", values="initial",
                           format="saved_model_tf2" if tf2 else "saved_model")  # fmt: skip
    shutil.copytree(tmp_path / "own", tmp_path / "stranger")
    data = tmp_path / "stranger" / "variables" / "variables.data-00000-of-00001"
    data.unlink()
    data.symlink_to(tmp_path / "own" / "variables" / data.name)
    ed = gs.open(tmp_path / "stranger")
    assert "'variables.data-00000-of-00001' is a link that leads out of its folder" in str(ed) + str(ed.untrained())
    with refuses(OpenError, "'variables.data-00000-of-00001' is a link that leads out of its folder", "cp -RL"):
        gs.open(net()).restore(tmp_path / "stranger")


def test_a_folder_that_is_itself_a_link_is_the_folder_it_leads_to(tmp_path):
    saved(tmp_path / "there", 7.0)
    (tmp_path / "here").symlink_to(tmp_path / "there")
    assert gs.open(net()).restore(tmp_path / "here").restored == {"w": "w"}


def test_names_stay_inside(tmp_path):
    folder = str(tmp_path)
    assert state_checkpoints(folder) is None
    for said, meant in (("model", "model"), ("/else/where/model-3", "model-3"), ("../model", "model"), ("a/b", "a/b")):
        says(tmp_path, said)
        assert state_checkpoints(folder) == [os.path.join(folder, meant)]
        assert newest_checkpoint(folder) is None  # nothing is there
    (tmp_path / "checkpoint").write_bytes(b"\xff")
    assert newest_checkpoint(folder) is None
    (tmp_path / "checkpoint").unlink()
    (tmp_path / "checkpoint").symlink_to("/etc/hostname")
    assert state_checkpoints(folder) is None
    assert leads_out("/etc/hostname", folder)
    assert linked_away(str(tmp_path / "none"), folder) == ""
