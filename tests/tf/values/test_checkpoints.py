"""Checkpoints: their names, their values one at a time, and values of a file that stay unread until they are wanted."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import OpenError
from graphsurgeon.tf.values.checkpoint_reader import Checkpoint, StoredValue
from tests.graphs import KINDS, model
from tests.refusal import refuses

tf1 = tf.compat.v1


def on_disk(kind, folder):
    """Returns a trained model and the path of its MetaGraph."""
    m = model(kind)
    m.train_steps()
    with m.graph.as_default():
        tf1.train.Saver().save(m.session, str(folder / "m"))
    return m, folder / "m.meta"


def test_an_unknown_name_proposes_the_nearest(tmp_path):
    on_disk("ref", tmp_path)
    with refuses(OpenError, "has no 'net/v'", "Did you mean 'net/w'"):
        Checkpoint(tmp_path / "m", "asked").stored_value("net/v")


def test_a_checkpoint_that_is_written_anew_is_not_mixed_with_the_old(tmp_path):
    m, _ = on_disk("ref", tmp_path)
    value = Checkpoint(tmp_path / "m", "asked").stored_value("net/w")
    np.testing.assert_array_equal(value.read(), m.session.run(m.w))
    m.train_steps()
    with m.graph.as_default():
        tf1.train.Saver().save(m.session, str(tmp_path / "m"))
    with refuses(OpenError, "was overwritten after it was opened"):
        value.read()


def test_the_same_name_twice_in_an_object_based_checkpoint_is_none(tmp_path):
    module = tf.Module()
    module.a, module.b, module.c = (tf.Variable(float(i), name=n) for i, n in enumerate(["v", "v", "w"]))
    prefix = tf.train.Checkpoint(m=module).write(str(tmp_path / "c"))
    names = Checkpoint(prefix, "asked").names
    assert set(names) == {"m/a", "m/b", "m/c", "w"}
    assert Checkpoint(prefix, "asked").stored_value("w").read() == 2.0


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_of_a_file_reads_it_only_when_its_session_is_made(tmp_path, kind, monkeypatch):
    m, path = on_disk(kind, tmp_path)
    read = []
    whole = StoredValue.read
    monkeypatch.setattr(StoredValue, "read", lambda self: read.append(self.key) or whole(self))
    src, dst = gs.open(path), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(src.select(), to="t", values=src))
    assert read == []
    assert src.values.stored_values() is not None
    np.testing.assert_array_equal(dst.session().run(done["net/w"]), m.session.run(m.w))
    assert len(read) == 9


def test_a_partitioned_variable_is_copied_from_its_file(tmp_path):
    with tf.Graph().as_default() as graph, tf1.Session() as session:
        tf1.get_variable("emb", [7, 3], partitioner=tf1.fixed_size_partitioner(3))
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver().save(session, str(tmp_path / "m"))
        want = session.run(graph.get_collection("variables"))
    src, dst = gs.open(tmp_path / "m.meta"), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(src.select(), to="t", values=src))
    for i, value in enumerate(want):
        np.testing.assert_array_equal(dst.session().run(done[f"emb/part_{i}"]), value)


def test_a_frozen_copy_reads_its_file(tmp_path):
    m, path = on_disk("resource", tmp_path)
    src, dst = gs.open(path), gs.open(tf.Graph())
    block = src.select(outputs="net/y:0")
    done = dst.apply(dst.plan().copy(block, to="t", variables="freeze", values=src))
    feed = m.feed()
    got = dst.session().run(done["net/y:0"], {done["x:0"]: feed[m.x]})
    np.testing.assert_array_equal(got, m.session.run(m.y, {m.x: feed[m.x]}))


@pytest.mark.parametrize("field", ["restore_op_name", "filename_tensor_name"])
@pytest.mark.parametrize(
    "name", ["no/such", "no/such:0", "^net/w", "net/w:7", "é"], ids=["none", "port", "control", "output", "letter"]
)
def test_a_saver_that_names_what_is_not_there_is_refused_in_words(tmp_path, field, name):
    _, path = on_disk("resource", tmp_path)
    meta = tf1.MetaGraphDef.FromString(path.read_bytes())
    setattr(meta.saver_def, field, name)
    path.write_bytes(meta.SerializeToString())
    ed = gs.open(path)
    assert str(ed)
    assert isinstance(ed.untrained(), dict)
    with refuses(OpenError, f"values from '{path.with_suffix('')}'", "Give the checkpoint of the same graph"):
        ed.session()
