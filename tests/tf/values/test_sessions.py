"""Sessions: values of a checkpoint that does not hold all variables, and values carried over."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.graphs import KINDS, model
from tests.refusal import refuses

tf1 = tf.compat.v1


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_without_the_slots(tmp_path, kind):
    m = model(kind)
    m.train_steps()
    with m.graph.as_default():
        tf1.train.Saver([m.w, m.b]).save(m.session, str(tmp_path / "model"))
    ed = gs.open(tmp_path / "model.meta")
    variables = {v.op.name: v for v in ed.graph.get_collection("variables")}
    session = ed.session()
    np.testing.assert_array_equal(session.run(variables["net/w"]), m.session.run(m.w))
    np.testing.assert_array_equal(session.run(variables["net/w/Adam"]), np.zeros([2, 3]))
    dst = gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(ed.select(), to="t", values=ed))
    np.testing.assert_array_equal(dst.session().run(done["net/w"]), m.session.run(m.w))


@pytest.mark.parametrize("kind", KINDS)
def test_the_variable_without_a_value_is_named_in_full(kind):
    m = model(kind)
    session = tf1.Session(graph=m.graph)
    names = ["net/w", "net/b", "global_step", "beta1_power", "beta2_power", "net/w/Adam", "net/b/Adam", "net/b/Adam_1"]
    held = {v.op.name: v for v in m.graph.get_collection("variables")}
    session.run([held[n].initializer for n in names])
    src, dst = gs.open(m.graph), gs.open(tf.Graph())
    with refuses(PlanError, "variable 'net/w/Adam_1' has no value in the session given"):
        dst.apply(dst.plan().copy(src.select(), to="t", values=session))


def test_the_session_given_is_not_closed_or_changed():
    m = model("resource")
    ed = gs.open(m.session)
    ed.apply(ed.plan().connect("net/y:0", to="SquaredDifference", input=1))
    new = ed.session()
    assert new is ed.session()
    m.train_steps(1)
    assert new.graph is ed.graph
    assert not np.array_equal(new.run("net/w/Read/ReadVariableOp:0"), m.session.run(m.w))


def test_two_plans_give_their_values_once():
    m = model("ref", optimizer=None)
    ed = gs.open(m.session)
    one = ed.apply(ed.plan().copy(ed.select(scope="net"), to="a", unmapped="keep", values=m.session))
    session = ed.session()
    copied = one[m.w]
    session.run(copied.initializer, {copied.initializer.inputs[1]: np.full([2, 3], 9)})
    two = ed.apply(ed.plan().copy(ed.select(scope="net"), to="b", unmapped="keep", values=m.session))
    assert ed.session() is session
    np.testing.assert_array_equal(session.run(copied), np.full([2, 3], 9))
    np.testing.assert_array_equal(session.run(two[m.w]), session.run(m.w))


class Counter(tf.Module):
    """w, which `grow` changes, and a table."""

    def __init__(self):
        super().__init__()
        self.w = tf.Variable([1.0, 2.0], name="w")
        self.v = tf.Variable([7.0, 8.0], name="v")
        filled = tf.lookup.KeyValueTensorInitializer(["a", "b"], [10.0, 20.0])
        self.table = tf.lookup.StaticHashTable(filled, -1.0)

    @tf.function(input_signature=[tf.TensorSpec([], tf.string, name="key")])
    def look(self, key):
        return {"y": self.w * self.table.lookup(key)}

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="by")])
    def grow(self, by):
        return {"w": self.w.assign_add(tf.fill([2], by))}


def saved_counter(folder):
    """Opens it as a SavedModel; returns the editor, the names of y and key, and of the call that lets w grow."""
    module = Counter()
    tf.saved_model.save(module, str(folder), signatures={"look": module.look, "grow": module.grow})
    ed = gs.open(folder, raw=True)
    reads = {ed.op(name).inputs[0].name: name for name in ed.select(op="StatefulPartitionedCall").names}
    return ed, f"{reads['look_key:0']}:0", f"{reads['grow_by:0']}:0"


def test_what_a_saved_model_of_tf2_holds_by_now_goes_into_the_session_of_an_edited_graph(tmp_path):
    ed, look, grow = saved_counter(tmp_path / "sm")
    first = ed.session()
    first.run(grow, {"grow_by:0": 0.5})
    assert first.run(look, {"look_key:0": "b"}).tolist() == [30.0, 50.0]
    ed.apply(ed.plan().insert("Identity", on=look, name="more").set_attr("w", "_mark", 1))
    new = ed.session()
    assert new.graph is ed.graph
    assert new is not first
    assert new.run(look, {"look_key:0": "b"}).tolist() == [30.0, 50.0]
    assert new.run(look, {"look_key:0": "none"}).tolist() == [-1.5, -2.5]


@pytest.mark.parametrize("ran", [False, True], ids=["before any run", "after one"])
def test_the_saver_and_the_init_op_are_found_under_new_names(tmp_path, ran):
    ed, look, grow = saved_counter(tmp_path / "sm")
    if ran:
        ed.session().run(grow, {"grow_by:0": 0.5})
    for scope in ("once", "twice"):
        tops = dict.fromkeys(name.partition("/")[0] for name in ed.snapshot.names)
        ed.apply(gs.recipes.rename(ed, {top: f"{scope}/{top}" for top in tops}))
    found = ed.session().run(f"twice/once/{look}", {"twice/once/look_key:0": "b"})
    assert found.tolist() == ([30.0, 50.0] if ran else [20.0, 40.0])
    for _ in range(2):
        ed.undo()
    assert ed.session().run(look, {"look_key:0": "b"}).tolist() == found.tolist()


def test_a_variable_that_nothing_sets_any_more_is_named_and_not_lost_in_silence(tmp_path):
    ed, look, _ = saved_counter(tmp_path / "sm")
    first = ed.session()
    restore = ed.opened_graph.values._saver.restore_op_name
    ed.apply(ed.plan().remove(restore))
    with refuses(PlanError, "session(old): no op of the graph sets 'v', 'w'", "with values=..."):
        ed.session()
    ed.undo()
    ed.apply(ed.plan().detach("w", side="outputs"))
    with refuses(
        PlanError, "session(old): no op of the graph sets 'v', 'w'", "Undo the edit that removed the ops that restore"
    ):
        ed.session()
    ed.undo()
    restores = [c.name for c in ed.op("v").outputs[0].consumers() if c.name == restore]
    ed.apply(ed.plan().swap("w", "v"))
    with refuses(PlanError, "session(old): no op of the graph sets 'v', 'w'", "(leave them out: exclude=[...])"):
        ed.session()
    ed.undo()
    ed.apply(ed.plan().reroute({"w": "v", "v": "w"}, exclude=restores))
    assert ed.session().run(look, {"look_key:0": "a"}).tolist() == [70.0, 80.0]
    ed.undo()
    ed.apply(ed.plan().rename("w", to="fresh", values=first))
    assert ed.session(first).run(look, {"look_key:0": "a"}).tolist() == [10.0, 20.0]
    ed.undo()
    assert ed.session(first).run(look, {"look_key:0": "a"}).tolist() == [10.0, 20.0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("edit", [
    lambda p: p.insert("Neg", on="w/start:0", name="more"),
    lambda p: p.detach("w/start", side="outputs"),
    lambda p: p.replace(lambda x: tf.exp(x), lambda x: tf.square(x)),
], ids=["insert", "detach", "replace"])  # fmt: skip
def test_trained_values_are_carried_where_an_edit_gives_the_initializer_another_tensor(kind, edit):
    with tf.Graph().as_default() as graph:
        with tf1.variable_scope("", use_resource=kind == "resource"):
            start = tf.exp(tf.constant([1.0, 2.0], name="one"), name="w/start")
            w = tf1.get_variable("w", initializer=start)
        tf.identity(w * 2.0, name="y")
    with tf1.Session(graph=graph) as session:
        session.run(w.initializer)
        session.run(w.assign([5.0, 6.0]))
        ed = gs.open(session)
        ed.apply(edit(ed.plan()))
        new = ed.session(session)
        assert new.run("y:0").tolist() == [10.0, 12.0]
        new.close()
    with tf1.Session(graph=graph):  # of a new session without values: what would have to be fed is left alone
        gs.open(ed.graph).session().close()


@pytest.mark.parametrize("kind", KINDS)
def test_a_device_that_is_not_there_is_named_where_an_op_is_only_colocated_with_what_asks_for_it(kind):
    graph, places = tf.Graph(), tf1.train.replica_device_setter(ps_tasks=2)
    with graph.as_default(), tf1.variable_scope("", use_resource=kind == "resource"), tf1.device(places):
        tf1.get_variable("w", [3, 2])
    with refuses(
        PlanError, "session()", "requires the device '/job:ps/task:0', which is not available; there are CPU:0"
    ):
        gs.open(graph).session()
