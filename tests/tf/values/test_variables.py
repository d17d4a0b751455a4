"""Copies of variables: real objects in their collections, independent, with the values asked for."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon import graph_editor as ge
from graphsurgeon.errors import PlanError
from graphsurgeon.tf.values.variables import fetch, place_of, refuse_unfit, variable_infos
from tests.graphs import KINDS, OPTIMIZERS, collections, keys, look, model, put
from tests.refusal import reads, refuses

tf1 = tf.compat.v1
CLASSES = {"ref": "RefVariable", "resource": "ResourceVariable"}


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def values(session, variables):
    """Returns the values of variables in a session, by name without its scope."""
    return {v.op.name.removeprefix("t/"): session.run(v) for v in variables}


def equal(a, b):
    assert a.keys() == b.keys()
    for name in a:
        np.testing.assert_array_equal(a[name], b[name], err_msg=name)


def all_of(graph):
    with graph.as_default():
        return tf1.global_variables()


def test_objects_in_their_collections(kind):
    m = model(kind)
    before = look(m.graph)
    src, dst = gs.open(m.graph), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(src.select(), to="t"))
    assert look(m.graph) == before
    for name in ("variables", "trainable_variables"):
        old, new = m.graph.get_collection(name), dst.graph.get_collection(name)
        assert [v.name for v in new] == [f"t/{v.name}" for v in old]
        assert {type(v).__name__ for v in new} == {CLASSES[kind]}
        for a, b in zip(old, new, strict=True):
            assert (a.dtype, a.shape, a.trainable) == (b.dtype, b.shape, b.trainable)
            assert b.graph is dst.graph
            assert b.initializer.name == f"t/{a.initializer.name}"
            assert done[a] is b
            assert done[a.op.name] is b
    assert dst.graph.get_collection("trainable_variables")[0] is dst.graph.get_collection("variables")[0]
    assert done.variables == all_of(dst.graph)
    assert dst.graph.get_collection("t/mine") == [done["net/y:0"], done["net/w"]]
    assert dst.graph.get_collection("losses") == [done["loss:0"]]
    assert dst.graph.get_collection("train_op") == [done["train"]]
    assert set(keys(dst.graph)) == {f"t/{k}" if k == "mine" else k for k in keys(m.graph)}


def test_trained_values_to_the_last_bit(kind):
    m = model(kind)
    m.train_steps()
    src, dst = gs.open(m.graph), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(src.select(), to="t", values=m.session))
    session = dst.session()
    equal(values(session, all_of(dst.graph)), values(m.session, all_of(m.graph)))
    feed = m.feed()
    got = session.run(done["loss:0"], {done[k]: v for k, v in feed.items()})
    assert got == m.session.run(m.loss, feed)


@pytest.mark.parametrize("given", ["editor", "session", "mapping", "mapping with :0"])
def test_where_values_come_from(kind, given):
    m = model(kind)
    m.train_steps()
    src, dst = gs.open(m.session), gs.open(tf.Graph())
    mapping = values(m.session, all_of(m.graph))
    source = {
        "editor": src, "session": m.session, "mapping": mapping,
        "mapping with :0": {f"{k}:0": v for k, v in mapping.items()},
    }[given]  # fmt: skip
    dst.apply(dst.plan().copy(src.select(outputs="net/y:0"), to="t", values=source))
    got = values(dst.session(), all_of(dst.graph))
    equal(got, {name: mapping[name] for name in ("net/w", "net/b")})


def test_initial_values(kind):
    m = model(kind)
    start = values(m.session, all_of(m.graph))
    m.train_steps()
    src, dst = gs.open(m.graph), gs.open(tf.Graph())
    dst.apply(dst.plan().copy(src.select(), to="t", variables="initial", values=m.session))
    equal(values(dst.session(), all_of(dst.graph)), start)


def test_a_choice_for_each_variable(kind):
    m = model(kind)
    start = values(m.session, all_of(m.graph))
    m.train_steps()
    now = values(m.session, all_of(m.graph))
    src, dst = gs.open(m.graph), gs.open(tf.Graph())
    dst.apply(dst.plan().copy(src.select(), to="t", variables={"net/*": "initial"}, values=m.session))
    got = values(dst.session(), all_of(dst.graph))
    equal(got, {name: start[name] if name.startswith("net/") else now[name] for name in now})


def test_values_are_read_when_the_plan_is_applied_and_are_the_copys_own(kind):
    m = model(kind)
    src, dst = gs.open(m.graph), gs.open(tf.Graph())
    plan = dst.plan().copy(src.select(), to="t", values=m.session)
    m.train_steps()
    dst.apply(plan)
    then = values(m.session, all_of(m.graph))
    m.train_steps()
    equal(values(dst.session(), all_of(dst.graph)), then)


def test_an_array_given_is_not_kept_by_tensorflow(kind):
    m = model(kind, optimizer=None)
    mine = {"net/w": np.ones([2, 3], np.float32), "net/b": np.ones(3, np.float32)}
    src, dst = gs.open(m.graph), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(src.select(), to="t", values=mine))
    session = dst.session()
    mine["net/w"][:] = 7
    np.testing.assert_array_equal(session.run(done["net/w"]), np.ones([2, 3]))


def test_two_copies_never_share(kind):
    m = model(kind, optimizer=None)
    ed = gs.open(m.session)
    block = ed.select(scope="net")
    one = ed.apply(ed.plan().copy(block, to="a", unmapped="keep", values=m.session))
    two = ed.apply(ed.plan().copy(block, to="b", unmapped="keep", values=m.session))
    session = ed.session()
    assert session is m.session
    three = [m.w, one[m.w], two[m.w]]
    for number, variable in enumerate(three):
        put(variable, number, session)
    for number, variable in enumerate(three):
        np.testing.assert_array_equal(session.run(variable), np.full([2, 3], number))
    handles = [v.op.get_attr("shared_name") for v in three] if kind == "resource" else []
    assert len(set(handles)) == len(handles)
    got = session.run([m.y, one["net/y:0"], two["net/y:0"]], m.feed())
    assert not np.array_equal(got[0], got[1])
    assert not np.array_equal(got[1], got[2])


def test_an_empty_shared_name_is_given_one():
    graph = tf.Graph()
    with graph.as_default():
        handle = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name="", name="h")
        tf.raw_ops.AssignVariableOp(resource=handle, value=1.0, name="h/Assign")
        tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32, name="h/Read")
    dst = gs.open(tf.Graph())
    one = dst.apply(dst.plan().copy(gs.open(graph).select(), to="a"))
    two = dst.apply(dst.plan().copy(gs.open(graph).select(), to="b"))
    names = {d["h"].op.get_attr("shared_name") for d in (one, two)}
    assert names == {b"a/h", b"b/h"}


def test_sharing(kind):
    m = model(kind, optimizer=None)
    ed = gs.open(m.session)
    with m.graph.as_default():
        count = len(tf1.global_variables())
    done = ed.apply(ed.plan().copy(ed.select(scope="net"), to="t", unmapped="keep", variables="share"))
    assert len(all_of(m.graph)) == count
    assert done.variables == []
    put(m.w, 2, m.session)
    got = ed.session().run([m.y, done["net/y:0"]], m.feed())
    np.testing.assert_array_equal(got[0], got[1])
    assert not {"t/net/w", "t/net/w/Assign", "t/net/b", "t/net/b/Assign"} & set(done.ops)


def test_variables_that_no_collection_holds(kind):
    m = model(kind, optimizer=None)
    for name in list(keys(m.graph)):
        m.graph.clear_collection(name)
    src, dst = gs.open(m.graph), gs.open(tf.Graph())
    assert sorted(src.snapshot.state.variables) == ["net/b", "net/w"]
    put(m.w, 5, m.session)
    done = dst.apply(dst.plan().copy(src.select(outputs="net/y:0"), to="t", values=m.session))
    assert type(done["net/w"]).__name__ == CLASSES[kind]
    np.testing.assert_array_equal(dst.session().run(done["net/w"]), np.full([2, 3], 5))


def test_local_metric_and_partitioned_variables():
    graph = tf.Graph()
    with graph.as_default():
        tf1.get_variable("local", [2], collections=["local_variables", "mine"], trainable=False)
        tf1.get_variable("parts", [4, 2], partitioner=tf1.fixed_size_partitioner(2), use_resource=False)
        tf1.metrics.mean(tf1.placeholder(tf.float32, [None], name="x"), name="metric")
    src, dst = gs.open(graph), gs.open(tf.Graph())
    dst.apply(dst.plan().copy(src.select(), to="t"))
    assert [v.name for v in dst.graph.get_collection("local_variables")] == [
        f"t/{v.name}" for v in graph.get_collection("local_variables")
    ]
    assert [v.op.name for v in dst.graph.get_collection("t/mine")] == ["t/local"]
    assert len(dst.graph.get_collection("metric_variables")) == 2
    parts = [v for v in dst.graph.get_collection("variables") if "parts" in v.name]
    assert [v.op.name for v in parts] == ["t/parts/part_0", "t/parts/part_1"]
    assert {v._get_save_slice_info().full_name for v in parts} == {"t/parts"}
    with dst.graph.as_default(), tf1.Session() as session:
        session.run([tf1.global_variables_initializer(), tf1.local_variables_initializer()])
        assert session.run(parts[0]).shape == (2, 2)


def test_constraints_are_kept(kind):
    graph = tf.Graph()
    with graph.as_default():
        clip = lambda v: tf.clip_by_value(v, 0, 1)  # noqa: E731
        tf1.get_variable("w", [2], constraint=clip, use_resource=kind == "resource")
    dst = gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(gs.open(graph).select(), to="t"))
    assert done["w"].constraint is clip


def test_the_order_of_collections_is_kept(kind):
    graph = tf.Graph()
    with graph.as_default(), tf1.variable_scope("", use_resource=kind == "resource"):
        made = {name: tf1.get_variable(name, [1]) for name in ("c", "a", "b")}
        for name in ("b", "c", "a", "b"):
            graph.add_to_collection("order", made[name])
        graph.add_to_collection("order", made["a"].initializer)
    dst = gs.open(tf.Graph())
    dst.apply(dst.plan().copy(gs.open(graph).select(), to="t"))
    assert [v.op.name for v in dst.graph.get_collection("variables")] == ["t/c", "t/a", "t/b"]
    assert [i.name for i in dst.graph.get_collection("t/order")] == ["t/b:0", "t/c:0", "t/a:0", "t/b:0", "t/a/Assign"]


def test_existing_collections_are_added_to(kind):
    m = model(kind, optimizer=None)
    ed = gs.open(m.graph)
    before = {name: list(m.graph.get_collection(name)) for name in keys(m.graph)}
    done = ed.apply(ed.plan().copy(ed.select(scope="net"), to="t", unmapped="keep"))
    after = {name: list(m.graph.get_collection(name)) for name in keys(m.graph)}
    assert after["variables"] == before["variables"] + [done[m.w], done[m.b]]
    assert after["mine"] == before["mine"]
    assert after["t/mine"] == [done[m.y], done[m.w]]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_original_and_copy_train_apart_on_the_same_path(kind, optimizer):
    m = model(kind, optimizer)
    m.train_steps(2)
    ed = gs.open(m.session)
    feed = m.feed()
    done = ed.apply(ed.plan().copy(ed.select(), to="t", values=m.session))
    session = ed.session()
    moved = {done[k]: v for k, v in feed.items()}
    held = values(session, [m.w, m.b])
    path = []
    for _ in range(3):
        session.run(done["train"], moved)
        path.append(session.run(done["loss:0"], moved))
    equal(values(session, [m.w, m.b]), held)
    mine = []
    for _ in range(3):
        session.run(m.train, feed)
        mine.append(session.run(m.loss, feed))
    assert path == mine
    np.testing.assert_array_equal(session.run(done[m.w]), session.run(m.w))


def test_gradients_of_a_copy(kind):
    m = model(kind, optimizer=None)
    src, dst = gs.open(m.session), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(src.select(), to="t", values=src))
    with m.graph.as_default():
        want = tf.gradients(m.loss, [m.w, m.b])
    with dst.graph.as_default():
        got = tf.gradients(done["loss:0"], tf1.trainable_variables())
        step = tf1.train.GradientDescentOptimizer(0.5).minimize(done["loss:0"])
    feed = m.feed()
    moved = {done[k]: v for k, v in feed.items()}
    session = dst.session()
    for a, b in zip(session.run(got, moved), m.session.run(want, feed), strict=True):
        np.testing.assert_array_equal(a, b)
    before = session.run(done["loss:0"], moved)
    session.run(step, moved)
    assert session.run(done["loss:0"], moved) < before


def test_saving_a_copy(tmp_path, kind):
    m = model(kind)
    m.train_steps()
    src, dst = gs.open(m.session), gs.open(tf.Graph())
    dst.apply(dst.plan().copy(src.select(), to="t", values=src))
    with dst.graph.as_default():
        prefix = tf1.train.Saver().save(dst.session(), str(tmp_path / "copy"))
    again = gs.open(prefix + ".meta")
    equal(values(again.session(), all_of(again.graph)), values(m.session, all_of(m.graph)))


# -- refusals -------------------------------------------------------------------------------------------


def refused(m, given, *words, **options):
    src, dst = gs.open(m.graph), gs.open(tf.Graph())
    plan = dst.plan().copy(src.select(), to="t", values=given, **options)
    before, source = look(dst.graph), look(m.graph)
    (fault,) = plan.check()
    reads(fault, "copy(to='t', values=...)", *words)
    assert "cannot be applied" in str(plan)
    with refuses(PlanError, "copy(to='t', values=...)", *words):
        dst.apply(plan)
    assert look(dst.graph) == before
    assert collections(dst.graph) == {}
    assert look(m.graph) == source


def test_values_that_cannot_be_had(kind):
    m = model(kind, optimizer=None)
    w = np.zeros([2, 3])
    refused(m, {"net/w": w}, "values= has no value for variable 'net/b'")
    refused(m, {"net/w": w, "net/c": 0}, "It has 'net/w', 'net/c'", "variables={'net/b': 'initial'}")
    refused(m, {}, "It has no names")
    refused(m, 3, "values=3 is not a source of values", "Give a session, an editor, or {name: array}")
    refused(m, "folder/model", "values='folder/model' is not a source of values", "gs.open('model.meta')")
    refused(m, gs.open(tf.Graph()), "values is a session of another graph")
    refused(m, tf1.Session(graph=tf.Graph()), "values is a session of another graph", "the graph that is copied from")
    fresh = tf1.Session(graph=m.graph)
    refused(
        m,
        fresh,
        "has no value in the session given",
        "session.run(variable.initializer), or gs.open(session).restore(checkpoint)",
    )
    refused(m, gs.open(fresh), "has no value in the session given", "Initialize or restore it there first")


def test_a_fault_of_values_goes_when_the_session_has_them(kind):
    m = model(kind, optimizer=None)
    fresh, dst = tf1.Session(graph=m.graph), gs.open(tf.Graph())
    for given in (fresh, gs.open(fresh)):
        plan = dst.plan().copy(gs.open(m.graph).select(), to="t", values=given)
        assert plan.check()
    with m.graph.as_default():
        fresh.run(tf1.global_variables_initializer())
    assert plan.check() == ()
    dst.apply(plan)


def test_no_preview_calls_a_value_current_that_cannot_be_had(kind):
    m = model(kind, optimizer=None)
    for given in (3, "m.meta", tf1.Session(graph=tf.Graph()), tf.Graph(), gs.open(tf.Graph())):
        plan = gs.open(tf.Graph()).plan().copy(gs.open(m.graph).select(), to="t", values=given)
        rows = [row["what"] for row in plan.preview().table() if row["kind"] == "variable"]
        assert rows
        assert all(row.endswith(", initial: values= cannot provide it") for row in rows), rows


def test_a_value_of_another_shape(kind):
    m = model(kind, optimizer=None)
    given = {"net/w": np.zeros([5, 3]), "net/b": np.zeros(3)}
    refused(
        m,
        given,
        "the value of 'net/w' has shape (5, 3), but the variable has (2, 3)",
        "Give an array of float32 and of shape (2, 3)",
    )
    refused(m, {"net/w": "words", "net/b": np.zeros(3)}, "the value of 'net/w' is not an array of float32")


def by_hand(graph, variable):
    """Makes an object over the ops of a variable and registers it, as programs did when copies had no variables."""
    with graph.as_default():
        made = tf1.Variable(variable_def=variable.to_proto(), use_resource=variable.to_proto().is_resource)
        tf1.add_to_collection(tf1.GraphKeys.GLOBAL_VARIABLES, made)
        tf1.add_to_collections([tf1.GraphKeys.TRAINABLE_VARIABLES], made)
    assert made is not variable
    return made


def copied_by(way, m):
    """Copies a model into its own graph or another; returns the editor or None, the graph, and where things went."""
    if way == "drop-in":
        copied, info = ge.copy(ge.make_view(m.y.op, *ge.get_backward_walk_ops(m.y)), dst_scope="N")
        return None, copied.graph, info.transformed
    if way == "rebuilt":
        ed = gs.open(m.graph)
        done = ed.apply(ed.plan().copy(ed.select(name="net/y").ancestors(), to="N").rename("x", to="words"))
        return ed, ed.graph, done.__getitem__
    ed = gs.open(m.graph if way == "same graph" else tf.Graph())
    done = ed.apply(ed.plan().copy(gs.open(m.graph).select(name="net/y").ancestors(), to="N"))
    return ed, ed.graph, done.__getitem__


@pytest.mark.parametrize("way", ["drop-in", "same graph", "other graph", "rebuilt"])
def test_a_variable_made_by_hand_takes_the_place_of_the_copied_one(kind, way):
    m = model(kind, optimizer=None)
    ed, graph, moved = copied_by(way, m)
    new = moved(m.y)
    names = [v.op.name for v in all_of(graph)]
    assert names[-2:] == ["N/net/w", "N/net/b"]
    made = [by_hand(graph, moved(v)) for v in (m.b, m.w)]
    with graph.as_default():
        plain = tf1.get_variable("plain", [], use_resource=kind == "resource")
        assert [v.op.name for v in tf1.global_variables()] == [*names, "plain"]
        assert [v.op.name for v in tf1.trainable_variables()][-3:] == ["N/net/w", "N/net/b", "plain"]
        assert tf1.global_variables()[-3:] == [made[1], made[0], plain]
        tf1.train.Saver()
        loss = tf.reduce_mean(tf.square(new - 1.0))
        pairs = tf1.train.GradientDescentOptimizer(1.0).compute_gradients(loss)
        assert [v.op.name for grad, v in pairs if grad is not None] == ["N/net/w", "N/net/b"]
    if ed is not None and way != "rebuilt":
        ed.undo()
        assert [v.op.name for v in all_of(ed.graph)] == [n for n in names if not n.startswith("N/")] + ["plain"]
        ed.redo()
        by_hand(graph, moved(m.w))
        assert sorted(v.op.name for v in all_of(ed.graph)) == sorted([*names, "plain"])


def test_a_collection_of_variables_is_a_list_in_all_else():
    m = model("ref", optimizer=None)
    done = gs.open(m.graph).apply(gs.open(m.graph).plan().copy(gs.open(m.graph).select(), to="N"))
    w, b = done[m.w], done[m.b]
    with m.graph.as_default():
        held = tf1.get_collection_ref("trainable_variables")
        assert held == [m.w, m.b, w, b]
        held.append(m.y)
        held.append(m.y)
        assert held == [m.w, m.b, w, b, m.y, m.y]
        del held[1:3]
        held += [m.b]
        other = by_hand(m.graph, b)
        assert held == [m.w, other, m.y, m.y, m.b]
        held[:] = [w, b]
        other = by_hand(m.graph, b)
        new = tf1.get_variable("new", [])
        assert held == [w, other, new]
        held[:] = [m.y] * 3
        held.append(w)
        assert held == [m.y] * 3 + [w]
        tf1.train.export_meta_graph()


def test_of_variables_that_are_no_copies_nothing_is_asked_but_their_op():
    m, asked = model("ref", optimizer=None), []
    gs.open(m.graph).apply(gs.open(m.graph).plan().copy(gs.open(m.graph).select(), to="N"))

    class Counting(type(m.w)):
        @property
        def op(self):
            asked.append(1)
            return super().op

    with m.graph.as_default():
        made = [Counting(variable_def=v.to_proto()) for v in (m.w, m.b)] * 500
    asked.clear()
    held = m.graph.get_collection_ref("variables")
    for variable in made:
        held.append(variable)
    assert len(held) == 4 + len(asked) == 4 + len(made)


def test_to_look_whether_values_fit_copies_none_of_them():
    with tf.Graph().as_default() as graph:
        tf1.get_variable("w", [1_000_000], initializer=tf1.zeros_initializer(), use_resource=True)
    infos, values = list(variable_infos(graph).values()), {"w": np.zeros(1_000_000, np.float32)}
    tracemalloc.start()
    try:
        refuse_unfit(values, infos, graph, "copy(...)")
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
        assert fetch(values, infos, graph, "copy(...)")["w"] is not values["w"]
        assert tracemalloc.get_traced_memory()[1] > 4_000_000
    finally:
        tracemalloc.stop()
    with refuses(PlanError, "copy(...)", "the value of 'w' has shape (2,)", "of shape (1000000,)"):
        refuse_unfit({"w": [1.0, 2.0]}, infos, graph, "copy(...)")


def test_variables_are_the_same_where_a_session_keeps_them_in_one_place():
    raw = tf.raw_ops
    with tf.Graph().as_default(), tf1.Session() as session:
        makes = {"VarHandleOp": raw.VarHandleOp, "VariableV2": raw.VariableV2}
        shared = {"a": "", "b": "", "c": "VarHandleOp_a", "d": "VariableV2_a", "e": "VariableV2_a"}
        made, reads = {}, {}
        for kind, make in makes.items():
            for name, place in shared.items():
                tensor = make(shape=[], dtype=tf.float32, shared_name=place, name=f"{kind}_{name}")
                made[kind, name] = tensor
                handle = kind == "VarHandleOp"
                reads[kind, name] = raw.ReadVariableOp(resource=tensor, dtype=tf.float32) if handle else tensor
        for number, (key, tensor) in enumerate(made.items(), 1):
            value = tf.constant(float(number))
            handle = key[0] == "VarHandleOp"
            done = raw.AssignVariableOp(resource=tensor, value=value) if handle else raw.Assign(ref=tensor, value=value)
            session.run(done if handle else done.op)
            for other, read in reads.items():
                try:
                    same = session.run(read) == number
                except tf.errors.FailedPreconditionError:
                    same = False
                assert same == (place_of(made[other].op) == place_of(tensor.op)), (key, other)
