"""Values under other names, and averages in place of what they are the averages of."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.recipes.models import numbers, ran, refusal

tf1 = tf.compat.v1


def trained(*, resource=True, average=True, scope="net", steps=4, partitions=None):
    """A regression that keeps averages of its weights, after some steps: session and graph."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        parts = tf1.fixed_size_partitioner(partitions) if partitions else None
        with tf1.variable_scope(scope, use_resource=resource, partitioner=parts):
            w = tf1.get_variable("w", [4, 2], initializer=tf1.random_normal_initializer(seed=3))
            b = tf1.get_variable("b", [2], initializer=tf1.zeros_initializer(), partitioner=None)
        y = tf.add(tf.matmul(x, tf.convert_to_tensor(w)), b, name="y")
        train = tf1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(tf.square(y - 1.0)))
        if average:
            keeper = tf.train.ExponentialMovingAverage(0.5)
            with tf.control_dependencies([train]):
                train = keeper.apply(list(tf1.trainable_variables()))
        session = tf1.Session()
        first = tf1.trainable_variables()
        for some in (first, [v for v in tf1.global_variables() if v not in first]):  # averages start from the weights
            session.run([v.initializer for v in some])
        for seed in range(steps):
            session.run(train, {x: numbers(3, 4, seed=seed)})
    return session


def saved(session, path):
    with session.graph.as_default():
        return tf1.train.Saver().save(session, str(path), write_meta_graph=False, write_state=False)


@pytest.mark.parametrize("resource", [True, False])
def test_an_old_checkpoint_fits_a_renamed_graph(tmp_path, resource):
    old = trained(resource=resource)
    prefix = saved(old, tmp_path / "old.ckpt")
    ed = gs.open(old.graph)
    done = ed.apply(ed.plan().rename({"net": "encoder/block_1"}))
    written = gs.recipes.rename_checkpoint(prefix, tmp_path / "new.ckpt", done)
    assert written["encoder/block_1/w"] == "net/w"
    with done.graph.as_default(), tf1.Session() as session:
        tf1.train.Saver(tf1.global_variables()).restore(session, str(tmp_path / "new.ckpt"))
        x = numbers(2, 4)
        np.testing.assert_array_equal(session.run("y:0", {"x:0": x}), old.run("y:0", {"x:0": x}))


def test_values_are_those_of_the_file_whatever_they_are_called(tmp_path):
    prefix = saved(trained(), tmp_path / "old.ckpt")
    names = {"net/w": "dense/kernel", "net/b": "dense/bias", "*/ExponentialMovingAverage": "averages/*"}
    written = gs.recipes.rename_checkpoint(prefix, tmp_path / "new.ckpt", names)
    reader, before = (tf.train.load_checkpoint(str(path)) for path in (tmp_path / "new.ckpt", prefix))
    assert set(reader.get_variable_to_shape_map()) == set(written) == {
        "dense/kernel", "dense/bias", "averages/net/w", "averages/net/b",
    }  # fmt: skip
    for new, old in written.items():
        assert reader.get_tensor(new).tobytes() == before.get_tensor(old).tobytes()


def test_a_partitioned_variable_is_restored_in_other_parts(tmp_path):
    old = trained(partitions=2, average=False)
    prefix = saved(old, tmp_path / "old.ckpt")
    gs.recipes.rename_checkpoint(prefix, tmp_path / "new.ckpt", {"net": "head"})
    new = trained(partitions=4, average=False, scope="head", steps=0)
    with new.graph.as_default():
        tf1.train.Saver().restore(new, str(tmp_path / "new.ckpt"))
    x = numbers(2, 4)
    np.testing.assert_array_equal(new.run("y:0", {"x:0": x}), old.run("y:0", {"x:0": x}))


def test_a_checkpoint_of_objects_is_written_for_a_saver(tmp_path):
    module = tf.Module()
    module.kernel, module.words = tf.Variable(numbers(3, 2)), tf.Variable(["a", "b\0"])
    prefix = tf.train.Checkpoint(model=module).write(str(tmp_path / "objects"))
    written = gs.recipes.rename_checkpoint(prefix, tmp_path / "flat", {"model/kernel": "dense/w"})
    assert written["dense/w"] == "model/kernel"
    np.testing.assert_array_equal(tf.train.load_variable(str(tmp_path / "flat"), "dense/w"), module.kernel.numpy())
    assert tf.train.load_variable(str(tmp_path / "flat"), "model/words").tolist() == [b"a", b"b\0"]


@pytest.mark.parametrize(
    ("names", "why"),
    [
        ({"net/v": "x"}, "the checkpoint has nothing called 'net/v'"),
        ({"net/w": "net/b"}, "'net/b', 'net/w' would both be called 'net/b'.\nGive them different names."),
        ({}, "names= is empty.\nType names={'old': 'new'}"),
        ("net", "'net' is not a mapping.\nType names="),
    ],
)
def test_names_that_mean_nothing_are_refused(tmp_path, names, why):
    prefix = saved(trained(average=False, steps=0), tmp_path / "old.ckpt")
    said = refusal(gs.PlanError, gs.recipes.rename_checkpoint, prefix, tmp_path / "new.ckpt", names)
    assert f": {why}" in said, said
    assert not (tmp_path / "new.ckpt.index").exists()


def test_a_checkpoint_is_not_written_over_itself(tmp_path):
    prefix = saved(trained(average=False, steps=0), tmp_path / "old.ckpt")
    said = refusal(gs.PlanError, gs.recipes.rename_checkpoint, prefix, prefix, {"net": "x"})
    assert "is the checkpoint that is read" in said
    said = refusal(gs.OpenError, gs.recipes.rename_checkpoint, tmp_path / "none", prefix, {"net": "x"})
    assert "there is no checkpoint" in said


@pytest.mark.parametrize("resource", [True, False])
def test_outputs_are_computed_with_averages(resource):
    session = trained(resource=resource)
    ed, x = gs.open(session), numbers(2, 4)
    w, b = (session.run(f"net/{name}/ExponentialMovingAverage:0") for name in "wb") if not resource else (
        ed.value(f"net/{name}/ExponentialMovingAverage") for name in "wb"
    )  # fmt: skip
    raw = ran(ed, x=x)
    ed.apply(gs.recipes.use_averages(ed, "y:0"))
    np.testing.assert_allclose(ran(ed, x=x), x @ w + b, rtol=1e-5)
    assert np.abs(ran(ed, x=x) - raw).max() > 1e-3
    small = gs.recipes.frozen(ed, "y:0")
    np.testing.assert_allclose(ran(small, x=x), x @ w + b, rtol=1e-5)
    ed.undo()
    np.testing.assert_array_equal(ran(ed, x=x), raw)


def test_averages_of_a_checkpoint_go_into_a_graph_that_has_none(tmp_path):
    session = trained()
    prefix = saved(session, tmp_path / "old.ckpt")
    ed = gs.open(trained(average=False, steps=0).graph)
    report = gs.recipes.restore_averages(ed, prefix)
    assert report.restored == {f"net/{name}": f"net/{name}/ExponentialMovingAverage" for name in "wb"}
    np.testing.assert_array_equal(ed.value("net/w"), gs.open(session).value("net/w/ExponentialMovingAverage"))


def test_where_there_are_no_averages_it_is_said(tmp_path):
    session = trained(average=False, steps=0)
    ed = gs.open(session)
    said = refusal(gs.PlanError, gs.recipes.use_averages, ed, "y:0")
    assert said.startswith("use_averages(): no variable has an average, a variable with its name and the suffix")
    said = refusal(gs.PlanError, gs.recipes.restore_averages, ed, saved(session, tmp_path / "old.ckpt"))
    assert "it has no average of 2 variables" in said
    said = refusal(gs.PlanError, gs.recipes.use_averages, gs.open(trained(steps=0)), "x:0")
    assert said.startswith("use_averages(): 'x:0': not computed from 'net/w', 'net/b'"), said
