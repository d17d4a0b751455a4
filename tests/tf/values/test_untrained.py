"""Initial values are distinguished from trained ones, and are frozen or connected only on request."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.graph.variables import NOT_IN_SESSION
from graphsurgeon.tf.values import initialization
from graphsurgeon.tf.values.initialization import initialized_variables, within_reach
from graphsurgeon.tf.values.variables import variable_infos
from tests.graphs import KINDS, look, put
from tests.refusal import refuses

tf1 = tf.compat.v1
NOWHERE = "no session or checkpoint was given"


def net(kind: str = "resource") -> Any:
    """Returns a graph with an input, two variables, a global step and a step of training."""
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=kind == "resource"):
        x = tf1.placeholder(tf.float32, [], name="x")
        w, b = (tf1.get_variable(name, initializer=start) for name, start in (("w", 2.0), ("b", 1.0)))
        step = tf1.train.get_or_create_global_step()
        tf.add(x * w, b, name="y")
        tf.group(tf1.assign_add(w, 1.0), tf1.assign_add(step, 1), name="train")
    return graph


def variable(graph: Any, name: str) -> Any:
    return next(v for v in graph.get_collection("variables") if v.op.name == name)


def some_saved(kind: str, folder: Any) -> str:
    """Trains w and the global step, and saves w alone; returns the .meta file."""
    graph = net(kind)
    with graph.as_default(), tf1.Session(graph=graph) as session:
        session.run(tf1.global_variables_initializer())
        session.run("train")
        tf1.train.Saver([variable(graph, "w")]).save(session, str(folder / "m"))
    return str(folder / "m.meta")


def starts(ed: Any, **how: Any) -> dict[str, str]:
    """What the preview of a copy says of each variable."""
    rows = gs.open(tf.Graph()).plan().copy(ed.select(), to="t", values=ed, **how).preview().table()
    return {row["was"]: row["what"].partition(", ")[2] for row in rows if row["kind"] in ("variable", "frozen")}


@pytest.mark.parametrize("kind", KINDS)
def test_a_checkpoint_that_lacks_variables_is_told_for_each(kind, tmp_path):
    ed = gs.open(some_saved(kind, tmp_path))
    lacking = {"b": "not in the checkpoint", "global_step": "not in the checkpoint"}
    for _ in range(2):  # before there is a session, and with one
        assert ed.untrained() == lacking
        assert starts(ed) == {
            "w": "current value",
            "b": "initial: not in the checkpoint", "global_step": "initial: not in the checkpoint",
        }  # fmt: skip
        ed.session()
    dst = gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(ed.select(), to="t", values=ed))
    assert done.untrained == {f"t/{name}": why for name, why in lacking.items()}
    assert "2 variables have initial values, not in the checkpoint: t/b, t/global_step" in repr(done)
    assert dst.untrained() == done.untrained
    ed.session().run("train")
    assert ed.untrained() == {}
    assert set(starts(ed).values()) == {"current value"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_without_a_session_has_initial_values_until_it_is_trained(kind):
    ed = gs.open(net(kind))
    all_of_them = dict.fromkeys(("w", "b", "global_step"), NOWHERE)
    assert ed.untrained() == all_of_them
    ed.session()
    assert ed.untrained() == all_of_them
    assert set(starts(ed).values()) == {f"initial: {NOWHERE}"}
    ed.apply(ed.plan().rename("w", to="v"))
    ed.session()
    assert ed.untrained() == {"v": NOWHERE, "b": NOWHERE, "global_step": NOWHERE}
    ed.session().run("train")
    assert ed.untrained() == {}


def test_a_plan_before_the_first_session_leaves_the_values_of_a_keras_model():
    image = keras.Input((4,), name="image")
    hidden = keras.layers.Dropout(0.1, name="drop")(keras.layers.Dense(3, name="hidden")(image))
    model = keras.Model(image, keras.layers.Dense(2, name="scores")(hidden))
    ed = gs.open(model, training=True)
    scores = ed.layer("scores").outputs[0]
    ed.apply(gs.recipes.for_inference(ed, scores))
    assert ed.untrained() == {}
    small = gs.recipes.frozen(ed, {"scores": scores})
    rows = np.ones([2, 4], np.float32)
    np.testing.assert_allclose(small.session().run(scores, {"image:0": rows}), model(rows), rtol=1e-6)


def test_a_missing_index_file_is_told(tmp_path):
    path = some_saved("resource", tmp_path)
    (tmp_path / "m.index").unlink()
    ed = gs.open(path)
    assert ed.untrained()["w"] == "there is no m.index"
    assert starts(ed)["w"] == "initial: there is no m.index"
    with refuses(PlanError, "save(", "3 variables have initial values, there is no m.index"):
        ed.save(tmp_path / "f.pb", freeze=True)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_session_of_the_caller_holds_is_current_and_nothing_else(kind):
    graph = net(kind)
    session = tf1.Session(graph=graph)
    session.run(variable(graph, "w").initializer)
    ed = gs.open(session)
    assert ed.untrained() == dict.fromkeys(("b", "global_step"), NOT_IN_SESSION)
    assert starts(ed)["w"] == "current value"
    ed.session()
    assert ed.untrained() == dict.fromkeys(("b", "global_step"), NOT_IN_SESSION)
    put(variable(graph, "b"), 5.0, session)
    assert ed.untrained() == {}


@pytest.mark.parametrize("kind", KINDS)
def test_untrained_values_are_frozen_only_when_asked_for(kind, tmp_path):
    ed = gs.open(some_saved(kind, tmp_path))
    with refuses(PlanError, "save(", "1 variable has an initial value, not in the checkpoint: b", "values='initial'"):
        ed.save(tmp_path / "f.pb", outputs="y:0", freeze=True)
    assert not (tmp_path / "f.pb").exists()
    saved = ed.save(tmp_path / "f.pb", outputs="y:0", freeze=True, values="initial")
    assert saved.untrained == {"b": "not in the checkpoint"}  # the global step is not in the file
    assert gs.open(saved.path).session().run("y:0", {"x:0": 1.0}) == 4.0
    assert "not in the checkpoint: b" in repr(saved)
    put(variable(ed.graph, "b"), 7.0, ed.session())
    assert ed.save(tmp_path / "g.pb", outputs="y:0", freeze=True).untrained == {}
    assert ed.save(tmp_path / "all.ckpt").untrained == {}


def test_a_checkpoint_of_initial_values_says_so(tmp_path):
    saved = gs.open(net()).save(tmp_path / "all.ckpt")
    assert saved.untrained == dict.fromkeys(("w", "b", "global_step"), NOWHERE)
    assert f"3 variables have initial values, {NOWHERE}: w, b, global_step" in repr(saved)


@pytest.mark.parametrize("kind", KINDS)
def test_untrained_values_are_connected_only_when_asked_for(kind, tmp_path):
    trained = gs.open(net(kind))
    trained.session().run("train")
    pairs = {"a/y:0": "b/x:0"}
    with refuses(
        PlanError, "connect(['a', 'b'])", f"3 variables have initial values, {NOWHERE}: b/w, b/b, b/global_step",
        "Give values={'b': session}; or use initial values: values={'b': 'initial'}",
    ):  # fmt: skip
        gs.connect({"a": trained, "b": net(kind)}, pairs)
    one = gs.connect({"a": trained, "b": net(kind)}, pairs, values={"b": "initial"})
    assert one.history[0].result.untrained == dict.fromkeys(("b/w", "b/b", "b/global_step"), NOWHERE)
    assert one.session().run("b/y:0", {"a/x:0": 1.0}) == 9.0
    assert one.session().run(variable(one.graph, "a/global_step")) == 1
    with refuses(PlanError, f"2 variables have initial values, {NOWHERE}: b/w, b/b"):
        one.save(tmp_path / "f.pb", outputs="b/y:0", freeze=True)
    both = gs.connect({"a": net(kind), "b": net(kind)}, pairs, values="initial")
    assert both.session().run("b/y:0", {"a/x:0": 1.0}) == 7.0
    with refuses(PlanError, "values={'b': 'intial'} is not a source of values", "or 'initial'"):
        gs.connect({"a": trained, "b": net(kind)}, pairs, values={"b": "intial"})


@pytest.mark.parametrize("kind", KINDS)
def test_local_variables_and_those_of_other_collections_keep_their_values(kind, tmp_path):
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=kind == "resource"):
        for name, key in (("counter", "local_variables"), ("mine", "my_collection"), ("w", "variables")):
            tf.identity(tf1.get_variable(name, initializer=1.0, collections=[key]), name=f"now_{name}")
    ed = gs.open(graph)
    for name in ("counter", "mine", "w"):
        held = next(v for key in graph.get_all_collection_keys() for v in graph.get_collection(key)
                    if v.op.name == name)  # fmt: skip
        put(held, 200.0, ed.session())
    fetches = ["now_counter:0", "now_mine:0", "now_w:0"]
    path = ed.save(tmp_path / "m.meta").path
    assert gs.open(path).session().run(fetches) == [200.0, 200.0, 200.0]
    dst = gs.open(tf.Graph())
    dst.apply(dst.plan().copy(ed.select(), to="t", values=ed))
    assert dst.session().run([f"t/{name}" for name in fetches]) == [200.0, 200.0, 200.0]
    ed.apply(ed.plan().rename("counter", to="count"))
    assert ed.session().run(fetches) == [200.0, 200.0, 200.0]


class Runs:
    """A session that counts its runs."""

    def __init__(self, session: Any) -> None:
        self.session, self.graph, self.count = session, session.graph, 0

    def run(self, *args: Any, **how: Any) -> Any:
        self.count += 1
        return self.session.run(*args, **how)


def asked_in(session: Any) -> tuple[frozenset[str], int]:
    """Which variables hold a value in a session, and in how many runs it was asked; the graph must stay as it is."""
    counted, before = Runs(session), look(session.graph)
    found = initialized_variables(counted, list(variable_infos(session.graph).values()), "session()")
    assert look(session.graph) == before
    return found, counted.count


@pytest.fixture(params=["in this process", "of a server"])
def target(request):
    return "" if request.param == "in this process" else tf1.train.Server.create_local_server().target


@pytest.mark.parametrize("kind", KINDS)
def test_of_a_hundred_new_variables_the_one_that_holds_a_value_keeps_it(kind):
    with tf.Graph().as_default() as source, tf1.variable_scope("", use_resource=kind == "resource"):
        for n in range(100):
            tf1.get_variable(f"v{n}", initializer=float(n))
    ed = gs.open(tf.Graph())
    session = ed.session()
    ed.apply(ed.plan().copy(gs.open(source).select(), to="t"))
    put(variable(ed.graph, "t/v67"), -5.0, session)
    assert asked_in(session) == ({"t/v67"}, 1)
    names = [f"t/v{n}" for n in range(100)]
    want = [-5.0 if n == 67 else float(n) for n in range(100)]
    assert ed.session(session) is session
    assert session.run([variable(ed.graph, name) for name in names]) == want


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("which", [(), (67,), (0, 99), range(100), range(1, 100, 7)])
def test_what_holds_a_value_is_answered_in_runs_that_do_not_grow_with_the_variables(kind, which, target):
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=kind == "resource"):
        made = [tf1.get_variable(f"v{n}", [n % 3], initializer=tf1.zeros_initializer()) for n in range(100)]
    with tf1.Session(target, graph=graph) as session:
        session.run([made[n].initializer for n in which])
        found, runs = asked_in(session)
    # A reference variable without elements holds all it ever can.
    empty = {f"v{n}" for n in range(0, 100, 3)} if kind == "ref" else set()
    assert found == {f"v{n}" for n in which} | empty
    assert runs <= 2


def test_variables_that_no_op_asks_about_are_read_and_each_failure_names_one():
    with tf.Graph().as_default() as graph:
        handles = [tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name=f"h{n}") for n in range(100)]
        for n, handle in enumerate(handles):
            tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
            tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant(float(n)), name=f"set{n}")
        again = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="h1")
        unread = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="unread")
    with tf1.Session(graph=graph) as session:
        session.run([f"set{n}" for n in range(100) if n not in (7, 67)])
        found, runs = asked_in(session)
    assert found == {h.op.name for h in [*handles, again, unread]} - {handles[7].op.name, handles[67].op.name}
    assert runs == 3


def unasked(count: int, first: int = 0) -> Any:
    """Adds variables to the default graph of which no op asks whether they hold a value; returns their handles."""
    made = []
    for n in range(first, first + count):
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name=f"h{n}", name=f"h{n}")
        tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32, name=f"read{n}")
        tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant(float(n)), name=f"set{n}")
        made.append(handle)
    return made


class Reads:
    """Counts the runs of a session, whoever makes them."""

    def __init__(self, session: Any) -> None:
        self.count, self.run = 0, session.run
        session.run = self

    def __call__(self, *args: Any, **how: Any) -> Any:
        self.count += 1
        return self.run(*args, **how)


def test_variables_that_came_after_all_that_a_session_ran_are_not_read():
    with tf.Graph().as_default() as graph:
        unasked(3)
        with tf1.Session(graph=graph) as session:
            session.run(["set0", "set2"])
            unasked(50, first=3)
            infos, reads, before = list(variable_infos(graph).values()), Reads(session), look(graph)
            assert initialized_variables(session, infos, "session()") == {"h0", "h2"}
            assert (reads.count, look(graph)) == (2, before)
            session.run(["set7", "set51"])
            assert initialized_variables(session, infos, "session()") == {"h0", "h2", "h7", "h51"}


def test_variables_that_no_op_of_the_graph_sets_are_not_read():
    with tf.Graph().as_default() as graph:
        unasked(2)
        for name in ("loose", "h1"):  # the second by another op of a variable that is set
            handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name=name, name=f"{name}/again")
            tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
        handed = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="handed", name="handed")
        tf.raw_ops.ReadVariableOp(resource=handed, dtype=tf.float32)
        tf.raw_ops.AssignVariableOp(resource=tf.identity(handed), value=tf.constant(3.0), name="set_handed")
        with tf1.Session(graph=graph) as session:
            session.run(["set1", "set_handed"])
            infos, reads = list(variable_infos(graph).values()), Reads(session)
            assert initialized_variables(session, infos, "session()") == {"h1", "h1/again", "handed"}
            assert reads.count == 2  # h0 fails, and the rest


def test_a_new_op_of_an_old_variable_and_a_variable_that_others_set_too_are_read():
    with tf.Graph().as_default() as graph:
        unasked(2)
        with tf1.Session(graph=graph) as session:
            session.run("set1")
            again = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="h1", name="again")
            tf.raw_ops.ReadVariableOp(resource=again, dtype=tf.float32)
            assert initialized_variables(session, list(variable_infos(graph).values()), "session()") == {"h1", "again"}
    target = tf1.train.Server.create_local_server().target
    with tf.Graph().as_default() as other, tf1.Session(target, graph=other) as elsewhere:
        unasked(1)
        elsewhere.run("set0")
        with tf.Graph().as_default() as graph, tf1.Session(target, graph=graph) as session:
            session.run(tf.constant(1.0))
            unasked(2)
            assert initialized_variables(session, list(variable_infos(graph).values()), "session()") == {"h0"}


def test_a_variable_that_a_function_has_an_op_for_is_read():
    @tf.function
    def start():
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="h0")
        tf.raw_ops.AssignVariableOp(resource=handle, value=3.0)
        return tf.constant(0.0)

    with tf.Graph().as_default() as graph:
        started = start()
        with tf1.Session(graph=graph) as session:
            session.run(started)
            unasked(2)
            assert initialized_variables(session, list(variable_infos(graph).values()), "session()") == {"h0"}


def test_a_copy_of_variables_that_no_op_asks_about_starts_in_an_open_session_without_reading_them():
    with tf.Graph().as_default() as source:
        for handle in unasked(40):
            source.add_to_collection("kept", handle)
    ed = gs.open(tf.Graph())
    session = ed.session()
    ed.apply(ed.plan().copy(gs.open(source).select(), to="t"))
    reads = Reads(session)
    assert ed.session() is session
    assert reads.count < 5
    assert session.run("t/read7:0") == 7.0


def test_of_a_saved_model_only_what_its_init_op_can_have_set_is_asked_about(tmp_path, monkeypatch):
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", initializer=2.0, use_resource=True)
        unasked(40)
        again = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="h7", name="again")
        tf.raw_ops.ReadVariableOp(resource=again, dtype=tf.float32)
        with tf.control_dependencies([graph.get_operation_by_name("set7")]):
            once = tf.no_op("once")
        with tf1.Session(graph=graph) as session:
            session.run(w.initializer)
            builder = tf1.saved_model.Builder(str(tmp_path / "saved"))
            builder.add_meta_graph_and_variables(session, ["serve"], main_op=once, saver=tf1.train.Saver([w]))
            builder.save()
    asked: list[Any] = []
    monkeypatch.setattr(
        initialization, "_readable", lambda session, reads, asked_for: asked.extend(reads) or set(reads)
    )
    ed = gs.open(tmp_path / "saved")
    assert ed.session().run(["w/Read/ReadVariableOp:0", "read7:0"]) == [2.0, 7.0]
    assert sorted(asked) == ["again", "h7"]


def test_what_ops_can_have_set_is_told_by_what_they_read_and_by_no_function_that_has_variables_of_its_own():
    @tf.function
    def start():
        tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="h0")
        return tf.constant(0.0)

    with tf.Graph().as_default() as graph:
        unasked(3)
        tf1.get_variable("old", initializer=1.0, use_resource=False)
        infos = list(variable_infos(graph).values())
        near = within_reach(graph, ["set1", "not there"], infos)
        start()
        assert [info.op for info in near] == ["h1", "old"]
        assert within_reach(graph, ["set1"], infos) == infos


def test_a_question_answers_for_every_op_of_the_same_variable_and_one_that_does_more_is_not_asked():
    with tf.Graph().as_default() as graph:
        one, other = (tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name=name) for name in ("a", "b"))
        tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="a")
        setter = tf.raw_ops.AssignVariableOp(resource=other, value=tf.constant(1.0))
        with tf.control_dependencies([setter]):
            tf.raw_ops.VarIsInitializedOp(resource=other)
        tf.raw_ops.VarIsInitializedOp(resource=one)
        tf.raw_ops.ReadVariableOp(resource=other, dtype=tf.float32)
    with tf1.Session(graph=graph) as session:
        assert asked_in(session)[0] == set()
        session.run(setter)
        assert asked_in(session) == ({other.op.name}, 2)


def test_a_failure_that_lies_before_what_is_read_is_asked_about_alone():
    with tf.Graph().as_default() as graph:
        handles = [tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name=f"h{n}") for n in range(4)]
        made = []
        for n, handle in enumerate(handles):
            read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)
            made.append(tf.identity(read, name=f"now{n}"))
            tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant(float(n)), name=f"set{n}")
    with tf1.Session(graph=graph) as session:
        session.run(["set1", "set3"])
        infos = [replace(info, snapshot=f"now{n}:0") for n, info in enumerate(variable_infos(graph).values())]
        assert initialized_variables(session, infos, "session()") == {handles[1].op.name, handles[3].op.name}


def with_counter(kind: str) -> Any:
    """Returns the net with a local variable, and a step that counts in it."""
    graph = net(kind)
    with graph.as_default(), tf1.variable_scope("", use_resource=kind == "resource"):
        seen = tf1.get_variable("seen", initializer=0.0, collections=[tf1.GraphKeys.LOCAL_VARIABLES])
        tf.group(tf1.assign_add(seen, 1.0), name="count")
    return graph


@pytest.mark.parametrize("kind", KINDS)
def test_the_preview_says_of_a_local_variable_what_it_starts_from(kind, tmp_path):
    graph = with_counter(kind)
    with graph.as_default(), tf1.Session(graph=graph) as session:
        session.run([tf1.global_variables_initializer(), tf1.local_variables_initializer()])
        tf1.train.Saver().save(session, str(tmp_path / "m"))
    ed = gs.open(str(tmp_path / "m.meta"))
    for _ in range(2):  # before there is a session, and with one
        assert starts(ed)["seen"] == "initial: not in the checkpoint"
        assert starts(ed)["w"] == "current value"
        assert ed.untrained() == {}
        ed.session()
    dst = gs.open(tf.Graph())
    assert dst.apply(dst.plan().copy(ed.select(), to="t", values=ed)).untrained == {}
    ed.session().run("count")
    assert starts(ed)["seen"] == "current value"


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_counted_in_a_local_variable_proves_no_other_value(kind):
    ed = gs.open(with_counter(kind))
    ed.session().run("count")
    assert set(ed.untrained()) == {"w", "b", "global_step"}
    assert starts(ed)["seen"] == "current value"
    ed.session().run("train")
    assert ed.untrained() == {}
    assert set(starts(ed).values()) == {"current value"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_of_a_file_says_once_what_its_checkpoint_lacks(kind, tmp_path):
    ed = gs.open(some_saved(kind, tmp_path))
    with ed.graph.as_default(), tf1.variable_scope("head", use_resource=kind == "resource"):
        tf1.get_variable("new", initializer=1.0)
    ed.apply(ed.plan().copy(ed.select(name="b"), to="t"))
    with pytest.warns(UserWarning, match="^session.*2 variables have initial values, not in") as reported:
        _ = ed.session(), ed.session()
    assert [one.filename for one in reported] == [__file__]
    text = str(reported[0].message)
    assert "not in the checkpoint: b, global_step." in text
    assert "ed.restore(checkpoint, partial=True)" in text
    assert "ed.untrained()" in text


def test_a_session_of_a_file_without_its_index_says_so(tmp_path):
    path = some_saved("resource", tmp_path)
    (tmp_path / "m.index").unlink()
    with pytest.warns(UserWarning, match="3 variables have initial values, there is no m.index: w, b, global_step"):
        gs.open(path).session()


def test_the_old_name_is_not_the_one_that_is_told_after_a_rename(tmp_path):
    ed = gs.open(some_saved("resource", tmp_path))
    ed.apply(ed.plan().rename("b", to="bias"))
    with pytest.warns(UserWarning, match="not in the checkpoint: bias, global_step"):
        ed.session()


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_of_what_has_no_file_or_has_all_values_needs_no_word(kind, tmp_path, recwarn):
    ed = gs.open(with_counter(kind))
    path = ed.save(tmp_path / "all.meta").path
    gs.open(path).session()
    assert not [w for w in recwarn if w.category is UserWarning]


def test_a_plan_asks_a_session_about_what_it_copies_and_once_about_what_holds_a_value(monkeypatch):
    """No op of the graph says whether one of these variables holds a value: each that holds none fails a run."""
    with tf.Graph().as_default() as graph:
        for n in range(20):
            handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name=f"h{n}", name=f"h{n}")
            tf.raw_ops.AssignVariableOp(resource=handle, value=tf.constant(float(n)), name=f"set{n}")
            tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32, name=f"read{n}")
    asked = []
    with tf1.Session(graph=graph) as session:
        session.run(["set3", "set4"])
        ed, dst = gs.open(session), gs.open(tf.Graph())
        run = session.run
        monkeypatch.setattr(session, "run", lambda *args, **how: asked.append(args) or run(*args, **how))
        plan = dst.plan().copy(ed.select(name=["h3", "read3", "h4", "read4"]), to="t", values=ed)
        assert plan.check() == ()
        assert len(asked) == 1
        assert plan.check() == ()
        assert len(asked) == 1
        assert set(ed.untrained()) == {f"h{n}" for n in range(20) if n not in (3, 4)}
        late = dst.plan().copy(ed.select(name=["h5", "read5"]), to="l", values=ed)
        assert "'h5'" in str(late.check()[0])
        session.run("set5")
        assert late.check() == ()
