"""Replicas: a duplicate in another session or in the same one, kept up to date; readers never see a mix."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from tests.graphs import KINDS, look, model, put
from tests.refusal import refuses

tf1 = tf.compat.v1
X = np.float32([[1, 2], [3, 4]])


def net(m):
    """The net of a model, without its loss and training."""
    return gs.open(m.session).select(inputs=[m.x], outputs=[m.y])


@pytest.mark.parametrize("kind", KINDS)
def test_a_replica_has_the_values_of_the_original_and_its_own_numbers_until_the_next_update(kind):
    m = model(kind)
    m.train_steps()
    with gs.duplicate(net(m), values=m.session, device="/cpu:0") as replica:
        first = m.session.run(m.y, {m.x: X})
        np.testing.assert_array_equal(replica.run(m.y, {m.x: X}), first)
        m.train_steps()
        np.testing.assert_array_equal(replica.run(m.y, {m.x: X}), first)
        done = replica.update()
        assert set(done.changed) == {"net/w", "net/b"}
        assert done.bytes == 4 * (6 + 3)
        np.testing.assert_array_equal(replica.run(m.y, {m.x: X}), m.session.run(m.y, {m.x: X}))
        assert replica[m.y].device.endswith("CPU:0")


def test_only_what_changed_is_fed():
    m = model("resource", optimizer=None)
    replica = gs.duplicate(net(m), values=m.session)
    assert not replica.update()
    put(m.b, 7.0, m.session)
    done = replica.update()
    assert done.changed == ("net/b",)
    assert done.bytes == 12
    assert str(done) == "update 2: 1 of 2 variables, from its session, 12 bytes"
    assert replica.run(replica["net/b"]).tolist() == [7, 7, 7]


@pytest.mark.parametrize("edit", ["other", "guarded"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_replica_follows_where_an_initializer_assigns_another_tensor_than_the_initial_value(kind, edit):
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=kind == "resource"):
        w = tf1.get_variable("w", initializer=[1.0, 2.0])
        v = tf1.get_variable("v", initializer=[5.0, 6.0] if edit == "other" else lambda: w + 1.0)
        tf.constant([9.0, 9.0], name="other")
        tf.multiply(w, v, name="out")
    ed = gs.open(graph)
    if edit == "other":
        ed.apply(ed.plan().connect("other:0", to=v.initializer, input=1))
    new = {x.op.name: x for x in ed.graph.get_collection("variables")}
    with tf1.Session(graph=ed.graph) as session:
        session.run(new["w"].initializer)
        session.run(new["v"].initializer)
        with gs.duplicate(gs.open(session), values=session) as replica:
            for values in ([30.0, 40.0], [50.0, 60.0]):
                put(new["v"], values, session)
                assert replica.update().changed == ("v",)
                assert replica.run("out:0").tolist() == [values[0], 2 * values[1]]


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_duplicate_changed_by_itself_is_set_back(kind):
    m = model(kind, "sgd")
    ed = gs.open(m.session)
    replica = gs.duplicate(ed.select(), values=m.session)
    replica.run(replica[m.train], {replica[m.x]: X, replica[m.target]: np.ones([2, 3])})
    assert not np.array_equal(replica.run(replica[m.w]), m.session.run(m.w))
    assert "net/w" in replica.update().changed
    np.testing.assert_array_equal(replica.run(replica[m.w]), m.session.run(m.w))


def test_the_original_is_not_touched_and_has_not_one_op_more():
    m = model()
    before = look(m.graph)
    replica = gs.duplicate(net(m), values=m.session)
    ops = len(replica.graph.get_operations())
    for _ in range(3):
        m.train_steps(1)
        replica.update()
    assert look(m.graph) == before
    assert len(replica.graph.get_operations()) == ops


@pytest.mark.parametrize("kind", KINDS)
def test_in_one_session_an_update_is_one_op_made_once(kind):
    m = model(kind)
    replica = gs.duplicate(net(m), graph=m.session, to="serving")
    assert replica.session is m.session
    m.graph.finalize()  # from here on, an op more would be an error
    for _ in range(3):
        m.train_steps(1)
        assert not np.array_equal(replica.run(replica[m.w]), m.session.run(m.w))
        done = replica.update()
        assert (len(done.changed), done.bytes) == (2, 0)
        np.testing.assert_array_equal(replica.run(replica[m.w]), m.session.run(m.w))
    assert replica[m.y].name == "serving/net/y:0"


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_a_soft_update_goes_a_part_of_the_way_and_copies_counters(kind, same):
    m = model(kind, "sgd")
    ed = gs.open(m.session)
    block = ed.select(inputs=[m.x], outputs=[m.y]) | ed.select(name=["global_step*"])
    replica = gs.duplicate(block, graph=m.graph if same else None, values=m.session, tau=0.25)
    old = replica.run(replica["net/b"])
    put(m.b, 8.0, m.session)
    m.session.run(m.train, m.feed())
    new = m.session.run(m.b)
    replica.update()
    np.testing.assert_allclose(replica.run(replica["net/b"]), old + 0.25 * (new - old), rtol=1e-6)
    assert replica.run(replica["global_step"]) == m.session.run(m.graph.get_collection("global_step")[0])
    replica.update(tau=1)
    np.testing.assert_array_equal(replica.run(replica["net/b"]), new)


def test_every_n_th_step_updates():
    m = model()
    replica = gs.duplicate(net(m), values=m.session, every=3)
    done = []
    for _ in range(7):
        m.train_steps(1)
        done.append(replica.step() is not None)
    assert done == [False, False, True, False, False, True, False]


@pytest.mark.parametrize("same", [True, False])
def test_a_hook_updates_inside_a_monitored_session(same):
    m = model("resource", "sgd")
    block = gs.open(m.graph).select(inputs=[m.x], outputs=[m.y])
    replica = gs.duplicate(block, graph=m.graph if same else None, every=2)
    seen = []
    with m.graph.as_default(), tf1.train.MonitoredSession(hooks=[replica.hook()]) as session:
        for _ in range(4):
            session.run(m.train, m.feed())
            raw = replica.session if same else replica._source.session  # past the hook, which counts runs
            seen.append(bool(np.array_equal(replica.run(replica[m.w]), raw.run(m.w))))
    assert seen == [False, True, False, True]


@pytest.mark.parametrize("same", [True, False])
def test_readers_never_see_old_and_new_values_together(same):
    graph = tf.Graph()
    with graph.as_default():
        parts = [tf1.get_variable(f"v{i}", initializer=np.zeros(20_000, np.float32)) for i in range(6)]
        ends = tf.stack([v[0] for v in parts] + [v[-1] for v in parts], name="ends")
        step = tf.group(*(v.assign_add(tf.ones(20_000)) for v in parts))
        session = tf1.Session(graph=graph)
        session.run(tf1.global_variables_initializer())
    replica = gs.duplicate(gs.open(session).select(outputs=ends), graph=graph if same else None, values=session)
    mixed, reads, stop = [], [0], threading.Event()

    def read():
        while not stop.is_set():
            with replica.reading() as reader:  # two runs, of which the second must be of the same update
                both = [reader.run(replica[ends]), reader.run(replica[ends])]
            reads[0] += 1
            if len(np.unique(both)) != 1:
                mixed.append(both)

    readers = [threading.Thread(target=read) for _ in range(3)]
    for thread in readers:
        thread.start()
    for _ in range(40):
        session.run(step)
        replica.update()
    stop.set()
    for thread in readers:
        thread.join(20)
    assert not mixed
    assert reads[0] > 10
    assert replica.run(replica[ends])[0] == 40


def test_the_threads_would_see_a_mix_without_the_door(monkeypatch):
    """The test above can fail: with a door that is always open, and a pause inside the update, it does."""
    from contextlib import nullcontext

    from graphsurgeon.graph.concurrency import RWLock
    from graphsurgeon.tf.values import replica_values

    monkeypatch.setattr(RWLock, "exclusive", lambda self, timeout: nullcontext())
    m = model("resource", optimizer=None)
    replica = gs.duplicate(net(m), values=m.session)
    real, seen = replica_values.feed, []

    def slow(session, values, pairs):
        for name, value in values.items():
            real(session, {name: value}, pairs)
            replica._torn = False
            seen.append((replica.run(replica["net/w"]).flat[0], replica.run(replica["net/b"])[0]))

    monkeypatch.setattr(replica_values, "feed", slow)
    put(m.w, 5.0, m.session)
    put(m.b, 5.0, m.session)
    replica.update()
    assert len(set(seen[0])) == 2


def test_an_update_that_fails_half_way_keeps_readers_out_until_the_next(monkeypatch):
    from graphsurgeon.tf.values import replica_values

    m = model("resource", optimizer=None)
    put(m.w, 0.0, m.session)
    replica = gs.duplicate(net(m), values=m.session)
    real = replica_values.feed

    def breaks(session, values, pairs):
        real(session, {"net/w": values["net/w"]}, pairs)
        raise RuntimeError("the line is cut")

    put(m.w, 5.0, m.session)
    put(m.b, 5.0, m.session)
    with monkeypatch.context() as patch:
        patch.setattr(replica_values, "feed", breaks)
        with pytest.raises(RuntimeError, match="the line is cut"):
            replica.update()
    with refuses(PlanError, "run(...)", "was not completed", "replica.update()"):
        replica.run(replica["net/b"])
    put(m.w, 0.0, m.session)  # as it was when it was last taken over, but the duplicate has 5 by now
    replica.update()
    assert replica.run(replica["net/b"]).tolist() == [5, 5, 5]
    assert replica.session.run(replica["net/w"]).tolist() == [[0, 0, 0], [0, 0, 0]]


def test_a_file_with_its_checkpoint_is_duplicated_with_its_values(tmp_path):
    m = model()
    m.train_steps()
    with m.graph.as_default():
        tf1.train.Saver().save(m.session, str(tmp_path / "model"))
    replica = gs.duplicate(tmp_path / "model.meta", device={"/gpu:0": "/cpu:0"})
    np.testing.assert_array_equal(replica.run("net/y:0", {"x:0": X}), m.session.run(m.y, {m.x: X}))
    m.train_steps()
    with m.graph.as_default():
        tf1.train.Saver().save(m.session, str(tmp_path / "model"), global_step=9)
    replica.follow(tmp_path).update()
    np.testing.assert_array_equal(replica.run("net/y:0", {"x:0": X}), m.session.run(m.y, {m.x: X}))


def test_the_whole_of_a_training_is_duplicated_and_learns_by_itself():
    m = model("resource", "adam")
    m.train_steps()
    replica = gs.duplicate(m.graph, device="/cpu:0", values=m.session)
    assert len(replica.variables) == len(m.graph.get_collection("variables"))
    for _ in range(3):
        m.train_steps(1)
        replica.run(replica[m.train], {replica[k]: v for k, v in m.feed().items()})
    for variable in m.graph.get_collection("variables"):  # slots and counters too: the same steps from the same start
        np.testing.assert_allclose(replica.run(replica[variable]), m.session.run(variable), rtol=1e-5)


def test_arrays_are_taken_over_once():
    m = model("resource", optimizer=None)
    replica = gs.duplicate(net(m), values={"net/w": np.ones([2, 3]), "net/b": np.zeros(3)})
    assert replica.run(replica["net/w"]).tolist() == [[1, 1, 1], [1, 1, 1]]
    with refuses(PlanError, "values= has no value for variable 'net/b'"):
        gs.duplicate(net(m), values={"net/w": np.ones([2, 3])})


def test_a_part_beside_ops_that_tensorflow_does_not_know_is_duplicated_as_it_is_copied():
    with tf.Graph().as_default() as graph:
        y = tf.multiply(tf1.placeholder(tf.float32, name="x"), tf1.get_variable("w", initializer=3.0), name="y")
        tf.identity(y, name="z")
    graph_def = graph.as_graph_def()
    next(node for node in graph_def.node if node.name == "z").op = "NobodyKnowsIt"
    ed = gs.open(graph_def)
    with gs.duplicate(ed.select(outputs="y:0"), values={"w": 5.0}) as replica:
        assert replica.run("y:0", {"x:0": 2.0}) == 10.0
    with refuses(PlanError, "'z'", "NobodyKnowsIt"):
        gs.duplicate(ed)


def test_the_destination_may_be_a_graph_that_runs_already():
    m = model()
    m.train_steps()
    other = tf.Graph()
    with other.as_default():
        images = tf1.placeholder(tf.float32, [None, 2], name="images")
    there = tf1.Session(graph=other)
    replica = gs.duplicate(net(m), graph=there, to="judge", values=m.session, inputs={m.x: images})
    assert replica.session is there
    np.testing.assert_array_equal(there.run("judge/net/y:0", {images: X}), m.session.run(m.y, {m.x: X}))
    m.train_steps()
    replica.update()
    np.testing.assert_array_equal(there.run("judge/net/y:0", {images: X}), m.session.run(m.y, {m.x: X}))
    replica.close()
    there.run("judge/net/y:0", {images: X})  # not the replica's session, so it is not closed


def test_partitioned_variables_follow():
    graph = tf.Graph()
    with graph.as_default():
        w = tf1.get_variable("w", [6, 2], partitioner=tf1.fixed_size_partitioner(3), initializer=tf1.ones_initializer())
        y = tf.convert_to_tensor(w, name="y")
        session = tf1.Session(graph=graph)
        session.run(tf1.global_variables_initializer())
    replica = gs.duplicate(graph, values=session)
    put(list(w)[1], 4.0, session)
    assert replica.update().changed == ("w/part_1",)
    np.testing.assert_array_equal(replica.run(y), session.run(y))


def test_a_replica_that_nobody_holds_is_forgotten():
    import gc
    import weakref

    m = model("resource", optimizer=None)
    replica = gs.duplicate(net(m), values=m.session)
    gone = weakref.ref(replica.graph)
    replica.close()
    del replica
    gc.collect()
    assert gone() is None


# -- refusals -----------------------------------------------------------------------------------------------


def test_a_device_that_does_not_exist():
    m = model()
    before = look(m.graph)
    for graph in (None, m.session):
        with refuses(PlanError, "duplicate(device='/gpu:3')", "there is no such device", "'/cpu:0'"):
            gs.duplicate(net(m), device="/gpu:3", graph=graph, values=m.session)
        with refuses(PlanError, "'/job:worker/task:1'", "there is no such device", "'/cpu:0'"):
            gs.duplicate(net(m), device="/job:worker/task:1", graph=graph, values=m.session)
    with refuses(PlanError, "device='gpu zero' is not a device"):
        gs.duplicate(net(m), device="gpu zero")
    assert look(m.graph) == before


def test_soft_placement_leaves_the_choice_to_tensorflow():
    m = model()
    replica = gs.duplicate(net(m), device="/gpu:3", values=m.session, config=tf1.ConfigProto(allow_soft_placement=True))
    np.testing.assert_array_equal(replica.run(m.y, {m.x: X}), m.session.run(m.y, {m.x: X}))


def test_numbers_that_make_no_sense():
    m = model()
    for tau in (0, 1.5, "much"):
        with refuses(PlanError, f"duplicate(tau={tau!r})", "above 0 and at most 1"):
            gs.duplicate(net(m), tau=tau)
    for every in (0, 2.5):
        with refuses(PlanError, f"duplicate(every={every!r})", "at least 1"):
            gs.duplicate(net(m), every=every)
    replica = gs.duplicate(net(m), graph=m.session)
    with refuses(
        PlanError,
        "update(tau=0.5)",
        "the duplicate was made without ops for soft updates",
        "gs.duplicate(..., tau=...)",
    ):
        replica.update(tau=0.5)


def test_a_replica_without_anything_to_follow():
    m = model()
    block = gs.open(m.graph).select(inputs=[m.x], outputs=[m.y])
    apart, beside = gs.duplicate(block), gs.duplicate(block, graph=m.graph)
    with refuses(PlanError, "update()", "the duplicate has no session or folder to follow"):
        apart.update()
    with refuses(PlanError, "update()", "has no session yet", "replica.attach(session)"):
        beside.update()
    with refuses(PlanError, "run(...)", "has no session yet"):
        beside.run("replica/net/y:0")
    with refuses(PlanError, "attach(session)", "not a session of the original's graph"):
        apart.attach(tf1.Session(graph=tf.Graph()))
    size = len(m.graph.get_operations())
    with refuses(PlanError, "duplicate(graph=..., values=session)", "not a session of the original's graph"):
        gs.duplicate(block, values=tf1.Session(graph=tf.Graph()), graph=m.graph)
    assert len(m.graph.get_operations()) == size
    apart.attach(m.session)
    np.testing.assert_array_equal(apart.run(apart["net/w"]), m.session.run(m.w))
    apart.close()
    with refuses(PlanError, "run(...)", "the duplicate is closed"):
        apart.run(m.y)
    with refuses(PlanError, "update()", "the duplicate is closed"):
        apart.update()


def test_what_does_not_go_together():
    m = model()
    with refuses(PlanError, "target='grpc://127.0.0.1:1'", "runs in the session of the original"):
        gs.duplicate(net(m), graph=m.session, target="grpc://127.0.0.1:1")
    with refuses(PlanError, "values={...}", "runs in the session of the original"):
        gs.duplicate(net(m), graph=m.session, values={"net/w": 1})
    with refuses(PlanError, "target='grpc://127.0.0.1:1'", "keeps its session"):
        gs.duplicate(net(m), graph=tf.Graph(), target="grpc://127.0.0.1:1")
    replica = gs.duplicate(net(m), graph=m.session)
    with refuses(PlanError, "follow('.')", "and its original are in the same graph"):
        replica.follow(".")
    with refuses(PlanError, "'replica'"):
        gs.duplicate(net(m), graph=m.session, to="replica")
    with refuses(PlanError, "update()", "this thread is reading"), replica.reading():
        replica.update()


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_without_its_variables(kind):
    m = model(kind)
    ed = gs.open(m.session)
    block = ed.select(scope="net").where(lambda op: not op.name.startswith("net/w"))
    for graph in (None, m.session):
        with refuses(PlanError, "reads variable 'net/w'", "its duplicate could not be updated", "variables='share'"):
            gs.duplicate(block, graph=graph, values=m.session, inputs={m.x: m.x} if graph else None)
    replica = gs.duplicate(block, graph=m.session, variables="share")
    assert replica.variables == []


def test_a_variable_without_a_value_is_named():
    m = model()
    empty = tf1.Session(graph=m.graph)
    with refuses(PlanError, "variable 'net/", "has no value in the session given"):
        gs.duplicate(net(m), values=empty)


def test_an_initializer_without_an_initial_value(monkeypatch):
    from dataclasses import replace

    from graphsurgeon.tf.values import replica_values

    m = model()
    real = replica_values.pairs_of
    broken = lambda *a: [replace(p, new=replace(p.new, initial_value="")) for p in real(*a)]  # noqa: E731
    monkeypatch.setattr(replica_values, "pairs_of", broken)
    with refuses(PlanError, "duplicate(...)", "no op can set variable 'net/"):
        gs.duplicate(net(m), values=m.session)


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_variable_without_a_value_is_named_and_nothing_is_made(kind, same):
    with tf.Graph().as_default() as graph:
        a, b = (tf1.get_variable(name, initializer=1.0, use_resource=kind == "resource") for name in "ab")
        tf.add(a, b, name="y")
    session = tf1.Session(graph=graph)
    session.run(a.initializer)  # "a" is a letter of TensorFlow's own message
    before = look(graph)
    with refuses(PlanError, "duplicate(...)", "variable 'b' has no value", "Initialize or restore it there") as caught:
        gs.duplicate(session, graph=graph if same else None)
    assert "variables='initial'" not in str(caught.value)
    assert look(graph) == before
    session.run(b.initializer)
    replica = gs.duplicate(session, graph=graph if same else None)
    assert replica.run(replica["y:0"]) == 2


@pytest.mark.parametrize("same", [False, True])
def test_a_session_that_was_lost(same):
    m = model()
    replica = gs.duplicate(net(m), values=m.session, graph=m.graph if same else None)
    if same:
        with refuses(PlanError, "update()", "has no value in the session given"):
            replica.attach(tf1.Session(graph=m.graph))
        replica.attach(m.session)
    m.session.close()
    with refuses(PlanError, "update()", "the session that has the values is closed", "replica.attach(session)"):
        replica.update()
    other = tf1.Session(graph=m.graph)
    with m.graph.as_default():
        other.run(tf1.global_variables_initializer())
    assert replica.attach(other).update().number == 2 + same


def test_a_closed_session_gives_no_values(tmp_path):
    m = model()
    ed = gs.open(m.session)
    m.session.close()
    with refuses(PlanError, "the session that has the values is closed", "Give an open session"):
        ed.save(tmp_path / "x.ckpt")


def test_numbers_of_numpy_are_numbers():
    m = model("ref")
    replica = gs.duplicate(net(m), values=m.session, tau=np.float32(0.5), every=np.int64(3))
    assert (replica.tau, replica.every) == (0.5, 3)
    with refuses(PlanError, "duplicate(tau=True)", "above 0 and at most 1"):
        gs.duplicate(net(m), tau=True)


@pytest.mark.parametrize("seconds", [0, -1, "soon", True, float("nan")])
def test_a_time_to_wait_that_is_none(tmp_path, seconds):
    replica = gs.duplicate(net(model()))
    with refuses(PlanError, f"follow(seconds={seconds!r})", "a number above 0", "seconds=5"):
        replica.follow(tmp_path, seconds=seconds)


@pytest.mark.parametrize("private", [True, False])
@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("tau", [1.0, 0.5])
@pytest.mark.parametrize("kind", KINDS)
def test_a_variable_that_grows_is_followed(kind, tau, same, private, monkeypatch):
    from graphsurgeon.tf.values import transfer
    from tests.tf.values.test_transfer import growing

    if not private:
        monkeypatch.setattr(transfer, "callable_of", lambda *_: None)
    session, more = growing(kind)
    replica = gs.duplicate(session, graph=session.graph if same else None, tau=tau)
    now = replica["now:0"]
    for count in range(3):  # one value is broadcast by arithmetic: it must not be mixed
        more()
        replica.update()
        assert replica.run(now).tolist() == [1] + [2] * (count + 1)
    v = session.graph.get_collection("variables")[0]
    session.run(v.initializer, {v.initializer.inputs[1]: [3.0]})
    replica.update()
    assert replica.run(now).tolist() == [3]
    session.run(v.initializer, {v.initializer.inputs[1]: [5.0]})
    replica.update()
    assert replica.run(now).tolist() == [5 if tau == 1 else 4]


def test_a_keras_model_is_followed_as_it_is_trained():
    import keras

    model_of_keras = keras.Sequential([keras.layers.Input((2,)), keras.layers.Dense(3), keras.layers.Dense(1)])
    replica = gs.duplicate(model_of_keras, tau=0.5)
    feed = {replica.graph.get_operation_by_name(next(iter(gs.open(model_of_keras).inputs))).outputs[0]: X}
    y = replica.graph.get_tensor_by_name(next(iter(gs.open(model_of_keras).outputs.values())))
    np.testing.assert_allclose(replica.run(y, feed), model_of_keras(X), rtol=1e-5)
    for v in model_of_keras.variables:
        v.assign(tf.zeros_like(v) + 3.0)
    done = replica.update(1.0)
    assert (done.origin, len(done.changed)) == ("the object", 4)
    np.testing.assert_allclose(replica.run(y, feed), model_of_keras(X), rtol=1e-5)
    model_of_keras.variables[-1].assign([5.0])
    assert replica.run(replica[replica.update().changed[0]]).tolist() == [4.0]
    still = replica.run(y, feed)
    del model_of_keras, v
    np.testing.assert_array_equal(replica.run(y, feed), still)
    assert replica.update(1.0)


def test_an_opened_object_is_held_by_nobody():
    import gc
    import weakref

    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable([1.0, 2.0], name="w")

        @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="x")])
        def __call__(self, x):
            return x * self.w

    net = Net()
    ed = gs.open(net)
    gone = weakref.ref(net.w)
    net.w.assign([3.0, 4.0])
    assert ed.session().run(ed.outputs["output"], {"x:0": 1.0}).tolist() == [1, 2]
    of_editor, of_net = gs.duplicate(ed), gs.duplicate(net)
    net.w.assign([5.0, 6.0])
    assert not of_editor.update()  # its original is the session of the editor
    assert of_net.update()
    assert of_net.run("w/Read/ReadVariableOp:0").tolist() == [5, 6]
    del net
    gc.collect()
    assert gone() is None


def test_fetches_of_the_original_of_any_structure():
    from collections import namedtuple

    pair = namedtuple("pair", "y w")
    m = model("ref")
    replica = gs.duplicate(m.session)
    feed = m.feed()
    want = m.session.run(pair(m.y, {"w": [m.w, (m.b,)]}), feed)
    got = replica.run(pair(m.y, {"w": [m.w, (m.b,)]}), feed)
    assert type(got) is pair
    np.testing.assert_array_equal(got.y, want.y)
    np.testing.assert_array_equal(got.w["w"][1][0], want.w["w"][1][0])


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_what_starts_from_initial_values_needs_none_of_the_original_and_follows_from_the_first_update(kind, same):
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=kind == "resource"):
        a, b = (tf1.get_variable(name, initializer=1.0) for name in "ab")
        session = tf1.Session()
    block = gs.open(graph).select()
    place = {"graph": session} if same else {}
    replica = gs.duplicate(block, values=session, variables="initial", tau=0.5, **place)
    assert replica.run([replica[a], replica[b]]) == [1.0, 1.0]
    with refuses(PlanError, "has no value in the session", "session.run(variable.initializer)"):
        replica.update()
    session.run([a.initializer, b.initializer])
    put(a, 3.0, session)
    replica.update()
    assert replica.run([replica[a], replica[b]]) == [2.0, 1.0]


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_some_variables_start_from_initial_values_and_the_others_as_the_original(kind, same):
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=kind == "resource"):
        a, b = (tf1.get_variable(name, initializer=1.0) for name in "ab")
        session = tf1.Session()
    put(a, 5.0, session)
    block = gs.open(graph).select()
    place = {"graph": session} if same else {}
    replica = gs.duplicate(block, values=session, variables={"b": "initial"}, **place)
    assert replica.run([replica[a], replica[b]]) == [5.0, 1.0]
    put(b, 7.0, session)
    replica.update()
    assert replica.run([replica[a], replica[b]]) == [5.0, 7.0]


@pytest.mark.parametrize("place", ["own", "under", "beside", "later"])
def test_a_replica_of_a_replica_is_told_what_to_type(place):
    m = model("resource", optimizer=None)
    here = m.session if place == "beside" else m.graph
    options = {"own": {}, "scope": {"to": "in"}}.get(place, {"graph": here})
    values = {} if place == "later" else {"values": m.session}
    replica = gs.duplicate(net(m), **options, **values)
    with refuses(PlanError, "is a duplicate, not a graph", "<Replica of graph", "Type gs.duplicate(") as caught:
        gs.duplicate(replica)
    typed = caught.value.suggestion.removeprefix("Type ").removesuffix(".")
    second = eval(typed, {"gs": gs, "replica": replica})
    assert len(second.variables) == len(replica.variables) == 2
    if place != "later":
        np.testing.assert_array_equal(second.run(second[replica[m.w]]), m.session.run(m.w))


@pytest.mark.parametrize("same", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_variables_of_a_duplicate_are_not_trained_by_an_optimizer_unless_asked(kind, same):
    m = model(kind, optimizer=None)
    place = {"graph": m.session} if same else {}
    for trainable in (False, True):
        replica = gs.duplicate(net(m), values=m.session, trainable=trainable, **place)
        there = [v.op.name for v in replica.graph.get_collection(tf1.GraphKeys.TRAINABLE_VARIABLES)]
        assert [name for name in replica.variables if name in there] == (replica.variables if trainable else [])
        assert {replica[m.w].trainable, replica[m.b].trainable} == {trainable}
        assert replica[m.w].op.name in [v.op.name for v in replica.graph.get_collection("variables")]
    with m.graph.as_default():
        learn = tf1.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(m.y))
    before = replica.run([replica[m.w], replica[m.b]])
    m.session.run(learn, {m.x: X})
    np.testing.assert_array_equal(replica.run(replica[m.w]), before[0])


def test_the_code_of_a_plan_says_that_nothing_is_to_be_trained():
    m = model("resource", optimizer=None)
    ed = gs.open(m.session)
    plan = ed.plan().copy(ed.select(scope="net"), to="still", unmapped="keep", trainable=False)
    assert "trainable=False" in plan.to_code()
    assert "trainable" not in ed.plan().copy(ed.select(scope="net"), to="still", unmapped="keep").to_code()
    done = ed.apply(plan)
    assert "still/net/w" not in [v.op.name for v in done.graph.get_collection("trainable_variables")]


@pytest.mark.parametrize("kind", KINDS)
def test_answers_from_values_that_nobody_gave_are_told_once(kind):
    m = model(kind, None)
    replica, other = (gs.duplicate(m.graph) for _ in range(2))
    with pytest.warns(
        UserWarning,
        match="^run.*2 variables have initial values, because the duplicate has not received values yet: net/w, net/b",
    ) as reported:
        _ = replica.run(m.w), replica.run(m.b)
    assert [one.filename for one in reported] == [__file__]
    with (
        pytest.warns(UserWarning, match="because the duplicate has not received values yet"),
        other.reading() as session,
    ):
        session.run(other[m.b])
    for words in ("replica.attach(session)", "replica.follow(folder)", "values=session", "variables='initial'"):
        assert words in str(reported[0].message)


@pytest.mark.parametrize("kind", KINDS)
def test_initial_values_that_were_asked_for_and_those_that_were_given_need_no_word(kind, tmp_path, recwarn):
    m = model(kind, None)
    gs.duplicate(m.graph, variables="initial").run(["net/b:0"])
    gs.duplicate(m.graph).follow(tmp_path, values="initial").run(["net/b:0"])
    gs.duplicate(m.graph).attach(m.session).run(["net/b:0"])
    gs.duplicate(m.session).run(["net/b:0"])
    assert not [w for w in recwarn if w.category is UserWarning]
    some = gs.duplicate(m.graph, variables={"net/w": "initial", "*": "copy"})
    with pytest.warns(
        UserWarning, match="1 variable has an initial value, because the duplicate has not received values yet: net/b"
    ):
        some.run(["net/b:0"])


@pytest.mark.parametrize("same", [True, False])
def test_names_that_are_not_there_are_told_with_the_nearest(same):
    m = model("resource", "sgd")
    replica = gs.duplicate(m.session, graph=m.session if same else None, to="serving")
    assert replica.graph.get_operation_by_name("serving/net/w")
    with refuses(SelectionError, "run('net/logits:0')", "there is no tensor 'net/logits:0' in the duplicate"):
        replica.run([replica[m.y], {"more": "net/logits:0"}])
    with refuses(SelectionError, "run('serving/net/v')", "Did you mean", "'serving/net/w'"):
        replica.run("serving/net/v")
    with refuses(SelectionError, "run('q:0')", "there is no tensor 'q:0' in the duplicate"):
        replica.run(replica[m.y], {"q:0": 1.0})
    with refuses(SelectionError, "train('trian')", "no op is called 'trian' in the original"):
        replica.train("trian", m.feed())
    with refuses(SelectionError, "train('q:0')", "there is no tensor 'q:0' in the original"):
        replica.train(m.train, {"q": 1.0})
    with tf.Graph().as_default(), refuses(SelectionError, "train('far:0')", "an object of another graph"):
        replica.train(tf.constant(1.0, name="far"))


def test_what_is_not_a_folder_and_what_is_not_in_the_duplicate_are_told_in_words_of_the_call():
    m = model("resource")
    replica = gs.duplicate(gs.open(m.session).select(scope="net"), values=m.session, unmapped="placeholder")
    with refuses(PlanError, "is not a folder", "replica.attach(session)"):
        replica.follow(m.session)
    outside = m.graph.get_operations()[-1]  # of the optimizer
    with refuses(SelectionError, f"run({outside.name!r}): the duplicate has no copy of {outside.name!r}"):
        replica.run(outside)
