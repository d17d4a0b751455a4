"""Following a folder: whole checkpoints are taken whole, and nothing else is."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import OpenError, PlanError
from graphsurgeon.tf.values.replica_values import CheckpointFolder, CheckpointVariable
from tests.graphs import KINDS, model, put
from tests.needs import ROOT
from tests.refusal import reads, refuses
from tests.until import until

tf1 = tf.compat.v1


@pytest.fixture
def trained(tmp_path):
    """A model, its saver into a folder, and a replica of its net that follows there."""
    m = model("resource", "sgd")
    with m.graph.as_default():
        saver = tf1.train.Saver(max_to_keep=10)
    block = gs.open(m.graph).select(inputs=[m.x], outputs=[m.y])
    replica = gs.duplicate(block).follow(tmp_path)

    def save(value, **options):
        put(m.b, value, m.session)
        with m.graph.as_default():
            return saver.save(m.session, str(tmp_path / "model"), **options)

    yield m, save, replica
    replica.close()


def b_of(replica):
    return replica.run(replica["net/b"]).tolist()


def break_off(prefix, part, keep):
    """Cuts a file of a checkpoint off, as when its writer dies."""
    path = next(os.path.join(os.path.dirname(prefix), n) for n in os.listdir(os.path.dirname(prefix)) if n.startswith(
        os.path.basename(prefix) + part))  # fmt: skip
    with open(path, "r+b") as file:
        file.truncate(int(os.path.getsize(path) * keep))


@pytest.mark.parametrize("kind", KINDS)
def test_a_new_checkpoint_is_taken_whole(tmp_path, kind):
    m = model(kind)
    m.train_steps()
    with m.graph.as_default():
        saver = tf1.train.Saver()
    replica = gs.duplicate(gs.open(m.graph).select(inputs=[m.x], outputs=[m.y])).follow(tmp_path)
    assert not replica.update()  # nothing there yet
    with m.graph.as_default():
        saver.save(m.session, str(tmp_path / "model"), global_step=1)
    done = replica.update()
    assert done.origin == "model-1"
    np.testing.assert_array_equal(replica.run(m.y, {m.x: np.eye(2)}), m.session.run(m.y, {m.x: np.eye(2)}))
    again = replica.update()
    assert not again
    assert str(again) == "no update: there is nothing newer"
    m.train_steps()
    with m.graph.as_default():
        saver.save(m.session, str(tmp_path / "model"), global_step=2)
    assert len(replica.update().changed) == 2


def test_the_same_name_written_again_is_a_new_checkpoint(trained):
    _m, save, replica = trained
    save(1.0)
    replica.update()
    save(2.0)
    assert replica.update()
    assert b_of(replica) == [2, 2, 2]


@pytest.mark.parametrize(
    ("part", "keep", "why"),
    [
        (".index", 0.5, "its index ends too early"),
        (".index", 0.0, "its index ends too early, after 0 bytes"),
        (".data", 0.5, "its data has"),
        (".data", 0.0, "its data has 0 bytes"),
    ],
)
def test_a_training_that_dies_while_writing(trained, part, keep, why):
    _m, save, replica = trained
    save(1.0, global_step=1)
    replica.update()
    break_off(save(2.0, global_step=2), part, keep)
    for _ in range(2):  # asked again, it says so again
        with refuses(OpenError, "follow(", "checkpoint 'model-2' is not whole", why, "Nothing was read"):
            replica.update()
        assert b_of(replica) == [1, 1, 1]
    save(3.0, global_step=3)
    assert replica.update().origin == "model-3"


def test_the_newest_whole_one_is_taken_and_the_broken_one_named(trained):
    _m, save, replica = trained
    save(1.0, global_step=1)
    replica.update()
    save(2.0, global_step=2)
    break_off(save(3.0, global_step=3), ".data", 0.9)
    done = replica.update()
    assert done.origin == "model-2"
    assert list(done.skipped) == ["model-3"]
    assert "model-3 is not whole: its data has" in str(done)
    assert b_of(replica) == [2, 2, 2]


def test_a_missing_shard_and_a_missing_index(trained):
    _m, save, replica = trained
    prefix = save(1.0)
    whole = prefix + ".data-00000-of-00001"
    os.rename(whole, prefix + ".data-00000-of-00002")
    with refuses(OpenError, "shard 2 of 2 is missing"):
        replica.update()
    os.rename(prefix + ".data-00000-of-00002", prefix + ".elsewhere")
    with refuses(OpenError, "its data file is missing"):
        replica.update()
    os.rename(prefix + ".elsewhere", whole)
    os.rename(prefix + ".index", prefix + ".later")
    with refuses(OpenError, "its index is missing"):
        replica.update()
    os.rename(prefix + ".later", prefix + ".index")
    assert replica.update()


def test_a_sharded_checkpoint(tmp_path):
    m = model("resource", "sgd")
    with m.graph.as_default():
        saver = tf1.train.Saver(sharded=True)
        saver.save(m.session, str(tmp_path / "model"))
    replica = gs.duplicate(gs.open(m.graph).select(inputs=[m.x], outputs=[m.y])).follow(tmp_path)
    assert replica.update()
    np.testing.assert_array_equal(replica.run(replica["net/w"]), m.session.run(m.w))


def test_bytes_that_were_turned_over_are_seen(trained):
    _m, save, replica = trained
    path = save(1.0) + ".data-00000-of-00001"
    with open(path, "r+b") as file:
        data = bytearray(file.read())
        for i in range(len(data)):
            data[i] ^= 0xFF
        file.seek(0)
        file.write(data)
    with refuses(OpenError, "is not whole", "cannot be read"):
        replica.update()


def test_an_index_of_rubbish(trained):
    from graphsurgeon.tf.values.replica_values import _MAGIC

    _m, save, replica = trained
    path = save(1.0) + ".index"
    with open(path, "wb") as file:
        file.write(b"\xff" * 300 + _MAGIC)
    with refuses(OpenError, "its index cannot be read"):
        replica.update()


@pytest.mark.parametrize("text", [b'model_checkpoint_path: "mod', b"\xff\xfe\x00", b"rubbish {{{"])
def test_a_state_file_that_is_half_written(trained, tmp_path, text):
    _m, save, replica = trained
    save(1.0, global_step=1)
    replica.update()
    save(2.0, global_step=2)
    whole = (tmp_path / "checkpoint").read_bytes()
    (tmp_path / "checkpoint").write_bytes(text)
    with refuses(OpenError, "the file 'checkpoint' cannot be read", "Nothing was read"):
        replica.update()
    assert b_of(replica) == [1, 1, 1]
    (tmp_path / "checkpoint").write_bytes(whole)
    assert replica.update().origin == "model-2"


def test_a_state_file_cannot_lead_out_of_the_folder(trained, tmp_path):
    _m, save, replica = trained
    other = tmp_path / "other"
    other.mkdir()
    mine = tmp_path / "mine"
    save(1.0, global_step=1)
    mine.mkdir()
    for path in tmp_path.glob("model-1*"):
        shutil.copy(path, mine)
        shutil.copy(path, other / path.name.replace("model-1", "secret"))
    replica.follow(mine)
    (mine / "checkpoint").write_text('model_checkpoint_path: "../other/secret"')
    with refuses(OpenError, "checkpoint 'secret' is not whole: its index is missing"):
        replica.update()
    # written on another machine, under another path: the file of that name here is meant
    (mine / "checkpoint").write_text('model_checkpoint_path: "/somewhere/else/model-1"')
    assert replica.update().origin == "model-1"


def test_a_folder_without_a_state_file(trained, tmp_path):
    _m, save, replica = trained
    older, newer = (save(step, global_step=step) + ".index" for step in (1, 2))
    os.utime(newer, ns=(os.stat(older).st_mtime_ns + 10**9,) * 2)
    (tmp_path / "checkpoint").unlink()
    assert replica.update().origin == "model-2"


def test_the_checkpoint_of_another_model(trained, tmp_path):
    _m, save, replica = trained
    save(1.0, global_step=1)
    replica.update()
    graph = tf.Graph()
    with graph.as_default(), tf1.Session() as session:
        tf1.get_variable("net/c", [3])
        tf1.get_variable("net/w", [2, 3])
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver().save(session, str(tmp_path / "other"))
    with refuses(OpenError, "checkpoint 'other' has no variable 'net/b'", "of another model", "'net/c'"):
        replica.update()
    assert b_of(replica) == [1, 1, 1]


@pytest.mark.parametrize(("shape", "dtype", "said"), [([4], "float32", "(4,)"), ([3], "float64", "float64 (3,)")])
def test_shapes_and_dtypes_that_differ(trained, tmp_path, shape, dtype, said):
    _m, save, replica = trained
    save(1.0, global_step=1)
    replica.update()
    graph = tf.Graph()
    with graph.as_default(), tf1.Session() as session:
        tf1.get_variable("net/w", [2, 3])
        tf1.get_variable("net/b", shape, dtype)
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver().save(session, str(tmp_path / "other"))
    with refuses(OpenError, "variable 'net/b' is", said, "but float32 (3,) in the duplicate"):
        replica.update()
    assert b_of(replica) == [1, 1, 1]


def test_no_such_folder(trained, tmp_path):
    _m, _save, replica = trained
    with refuses(OpenError, "nowhere", "there is no such folder"):
        replica.follow(tmp_path / "nowhere")
    gone = tmp_path / "gone"
    gone.mkdir()
    replica.follow(gone)
    gone.rmdir()
    with refuses(OpenError, "there is no such folder"):
        replica.update()


def test_a_checkpoint_of_tf2_is_read_by_the_names_of_its_variables(tmp_path):
    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable([[1.0], [2.0]], name="w")

        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
        def __call__(self, x):
            return tf.matmul(x, self.w)

    net = Net()
    replica = gs.duplicate(net)
    names = replica.variables
    assert len(names) == 1
    net.w.assign([[5.0], [6.0]])
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(net=net), tmp_path, 2)
    manager.save()
    replica.follow(tmp_path)
    assert replica.update().origin == "ckpt-1"
    np.testing.assert_array_equal(replica.run(replica[names[0]]), [[5.0], [6.0]])
    net.w.assign([[7.0], [8.0]])
    manager.save()
    (data,) = tmp_path.glob("ckpt-2.data*")
    whole = data.read_bytes()
    data.write_bytes(whole[: len(whole) // 2])  # also half of the objects' own record
    with refuses(OpenError, "follow(", "checkpoint 'ckpt-2' is not whole", "Nothing was read"):
        replica.update()
    np.testing.assert_array_equal(replica.run(replica[names[0]]), [[5.0], [6.0]])


def test_partitioned_variables_are_read_by_their_slices(tmp_path):
    graph = tf.Graph()
    with graph.as_default():
        w = tf1.get_variable("w", [6, 2], partitioner=tf1.fixed_size_partitioner(3))
        y = tf.convert_to_tensor(w, name="y")
        session = tf1.Session(graph=graph)
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver().save(session, str(tmp_path / "model"))
    replica = gs.duplicate(graph).follow(tmp_path)
    replica.update()
    np.testing.assert_array_equal(replica.run(y), session.run(y))


def test_it_follows_by_itself_and_keeps_what_went_wrong(trained):
    _m, save, replica = trained
    replica.follow(os.path.dirname(save(1.0, global_step=1)), seconds=0.02)
    until(lambda: "1 update" in repr(replica))
    until(lambda: b_of(replica) == [1, 1, 1])
    break_off(save(2.0, global_step=2), ".data", 0.5)
    until(lambda: replica.error is not None)
    reads(replica.error, "checkpoint 'model-2' is not whole")
    assert "error" in repr(replica)
    assert b_of(replica) == [1, 1, 1]
    save(3.0, global_step=3)
    until(lambda: b_of(replica) == [3, 3, 3] and replica.error is None)
    replica.close()


TRAINER = """
import sys, time
import numpy as np, tensorflow as tf
tf1 = tf.compat.v1
with tf.Graph().as_default(), tf1.Session() as session:
    parts = [tf1.get_variable(f"v{i}", [50_000], initializer=tf1.zeros_initializer()) for i in range(4)]
    step = tf.group(*(v.assign_add(tf.ones([50_000])) for v in parts))
    session.run(tf1.global_variables_initializer())
    saver = tf1.train.Saver(max_to_keep=2)
    print("ready", flush=True)
    n = 0
    while True:
        session.run(step)
        n += 1
        saver.save(session, sys.argv[1] + "/model", global_step=n, write_meta_graph=False)
"""


def test_a_training_in_another_process_is_followed_and_killed_while_it_writes(tmp_path):
    graph = tf.Graph()
    with graph.as_default():
        parts = [tf1.get_variable(f"v{i}", [50_000], initializer=tf1.zeros_initializer()) for i in range(4)]
        ends = tf.stack([v[0] for v in parts] + [v[-1] for v in parts])
    replica = gs.duplicate(gs.open(graph).select(outputs=ends)).follow(tmp_path)
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    trainer = subprocess.Popen(
        [sys.executable, "-c", TRAINER, str(tmp_path)], cwd=ROOT, env=environment, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert trainer.stdout.readline() == "ready\n"
        seen = []
        while len(seen) < 5:
            assert replica.update(wait=240.0)
            values = set(replica.run(ends).tolist())
            assert len(values) == 1  # of one moment
            seen.append(values.pop())
        assert seen == sorted(set(seen))
    finally:
        trainer.send_signal(signal.SIGKILL)
        trainer.wait()
        trainer.stdout.close()
    before = replica.run(ends)
    try:
        replica.update()
    except OpenError as error:  # it was killed in the middle of a file
        reads(error, "not whole")
        np.testing.assert_array_equal(replica.run(ends), before)
    assert len(set(replica.run(ends).tolist())) == 1


def test_damage_of_any_kind_never_brings_a_wrong_value(trained, tmp_path):
    """Bits turned over, ends cut off, holes: either the very values are taken, or nothing is."""
    import random

    m, save, _replica = trained
    prefix = save(1.0)
    paths = [prefix + ".index", prefix + ".data-00000-of-00001"]
    whole = [Path(path).read_bytes() for path in paths]
    values = {"net/w": m.session.run(m.w), "net/b": m.session.run(m.b)}
    wanted = [CheckpointVariable(name, name, tf.float32, value.shape) for name, value in values.items()]
    chance, taken = random.Random(0), 0
    for _ in range(150):
        broken = [bytearray(data) for data in whole]
        data = chance.choice(broken)
        at = chance.randrange(len(data))
        kind = chance.randrange(3)
        if kind == 0:
            data[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del data[at:]
        else:
            data[at : at + 20] = bytes(len(data[at : at + 20]))
        for path, content in zip(paths, broken, strict=True):
            Path(path).write_bytes(content)
        folder = CheckpointFolder(tmp_path)
        found = folder.newest(wanted)
        if found is None:
            reads(folder.incomplete_error, "is not whole")
        else:
            taken += 1
            for name, value in values.items():
                np.testing.assert_array_equal(found[1][name], value)
    assert taken < 75  # most damage is in what matters


def test_a_checkpoint_that_changes_while_it_is_read_is_not_taken(trained, monkeypatch):
    from graphsurgeon.tf.values import replica_values

    _m, save, replica = trained
    prefix = save(1.0)
    real = replica_values.read_variables

    def slow(*arguments):
        found = real(*arguments)
        save(2.0)
        return found

    with monkeypatch.context() as patch:
        patch.setattr(replica_values, "read_variables", slow)
        with refuses(OpenError, os.path.basename(prefix), "it changed while it was read"):
            replica.update()
    replica.update()
    assert b_of(replica) == [2, 2, 2]


def test_a_soft_update_from_a_checkpoint_goes_a_part_of_the_way(trained):
    _m, save, replica = trained
    save(1.0, global_step=1)
    replica.update(tau=0.5)  # the first one takes all over: there is nothing to start from
    assert b_of(replica) == [1, 1, 1]
    save(3.0, global_step=2)
    replica.update(tau=0.5)
    assert b_of(replica) == [2, 2, 2]


def test_a_checkpoint_that_is_deleted_while_it_is_looked_at_gives_way_to_the_newer_one(trained, monkeypatch):
    from graphsurgeon.tf.values import replica_values

    _m, save, replica = trained
    prefix = save(1.0, global_step=1)
    real = replica_values.incompleteness

    def slow(looked_at):
        said = real(looked_at)
        if looked_at == prefix:
            save(2.0, global_step=2)
            for path in Path(prefix).parent.glob("model-1.*"):
                path.unlink()
        return said

    monkeypatch.setattr(replica_values, "incompleteness", slow)
    assert replica.update().origin == "model-2"
    assert b_of(replica) == [2, 2, 2]


def test_files_that_go_while_they_are_looked_at(trained, monkeypatch):
    from graphsurgeon.tf.values import replica_values

    _m, save, replica = trained
    prefix = save(1.0)
    monkeypatch.setattr(replica_values.os.path, "getsize", lambda path: os.stat(path + ".gone").st_size)
    with refuses(OpenError, os.path.basename(prefix), "it was deleted while it was read"):
        replica.update()


def test_what_goes_wrong_once_does_not_end_the_following(trained, monkeypatch):
    from graphsurgeon.tf.values import replica_values

    def broken(*_):
        raise RuntimeError("of no kind that is known")

    _m, save, replica = trained
    with monkeypatch.context() as patch:
        patch.setattr(replica_values.CheckpointFolder, "newest", broken)
        replica.follow(os.path.dirname(save(1.0)), seconds=0.01)
        until(lambda: replica.error is not None)
        assert "of no kind" in repr(replica)
    until(lambda: replica.error is None)
    assert b_of(replica) == [1, 1, 1]


def test_two_variables_of_one_name_in_a_checkpoint_of_tf2(trained, tmp_path):
    replica = trained[2]
    names = ("net/w", "net/b", "net/b")
    several = [tf.Variable(tf.zeros([2, 3] if name == "net/w" else [3]), name=name) for name in names]
    tf.train.CheckpointManager(tf.train.Checkpoint(several=several), tmp_path, 2).save()
    with refuses(OpenError, "has several variables called 'net/b'", "its own name in the training"):
        replica.update()
    tf.train.CheckpointManager(tf.train.Checkpoint(several=several[:2]), tmp_path / "other", 2).save()
    assert replica.follow(tmp_path / "other").update().origin == "ckpt-1"


@pytest.mark.parametrize("sharded", [False, True])
def test_the_format_of_before_2016_is_not_followed(trained, tmp_path, sharded):
    m, _save, replica = trained
    with m.graph.as_default():
        tf1.train.Saver(write_version=1, sharded=sharded).save(m.session, str(tmp_path / "old"))
    with refuses(OpenError, "'old", "has the format used before 2016", "without write_version=1"):
        replica.update()


def test_a_follower_answers_nothing_before_its_first_checkpoint(trained, tmp_path):
    _m, save, replica = trained
    words = f"no checkpoint in {str(tmp_path)!r} yet", "follow(folder, values='initial')"
    with refuses(PlanError, "run(...)", *words):
        replica.run(replica["net/b"])
    assert not replica.update()
    with refuses(PlanError, "run(...)", "no checkpoint in"), replica.reading():
        pass
    save(3.0, global_step=1)
    replica.update()
    assert b_of(replica) == [3, 3, 3]
    replica.follow(tmp_path / "..")  # it has values now, and keeps them
    assert b_of(replica) == [3, 3, 3]


def test_a_follower_answers_before_its_first_checkpoint_where_that_is_asked_for(trained, tmp_path):
    m, _, replica = trained
    assert replica.follow(tmp_path, values="initial").run(replica["net/b"]).tolist() == [0, 0, 0]
    with refuses(PlanError, "follow(values='zero')", "can only be 'initial' or None here", "Use values='initial'"):
        replica.follow(tmp_path, values="zero")
    block = gs.open(m.graph).select(inputs=[m.x], outputs=[m.y])
    assert b_of(gs.duplicate(block, values=m.session).follow(tmp_path)) == [0, 0, 0]
    assert b_of(gs.duplicate(block, variables="initial").follow(tmp_path)) == [0, 0, 0]
    some = gs.duplicate(block, variables={"net/b": "initial"}).follow(tmp_path)
    with refuses(PlanError, "run(...)", "no checkpoint in"):
        b_of(some)
