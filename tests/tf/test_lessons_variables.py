"""Variables of every sort: what TensorFlow's own tools lose or mix up stays whole and apart in a copy."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.graphs import KINDS, keys, model, put, tf1
from tests.refusal import refuses


@pytest.fixture(params=KINDS)
def kind(request: Any) -> str:
    return request.param


def started(graph: Any) -> Any:
    """Returns a session of a graph in which all variables have their initial values."""
    with graph.as_default():
        session = tf1.Session()
        session.run([tf1.global_variables_initializer(), tf1.local_variables_initializer()])
    return session


def all_of(graph: Any, collection: str = "variables") -> dict[str, Any]:
    return {v.op.name: v for v in graph.get_collection(collection)}


# -- partitioned ----------------------------------------------------------------------------------------------


def sliced(kind: str) -> Any:
    """Returns a graph with a matrix in three parts, and their sum."""
    graph = tf.Graph()
    with graph.as_default():
        parts = tf1.get_variable(
            "net/m",
            [6, 2],
            partitioner=tf1.fixed_size_partitioner(3),
            use_resource=kind == "resource",
        )
        tf.identity(tf.convert_to_tensor(parts), name="whole")
    return graph


def test_the_parts_of_a_matrix_are_saved_as_one_and_come_back(kind, tmp_path):
    graph = sliced(kind)
    session = started(graph)
    for number, part in enumerate(graph.get_collection("variables")):
        put(part, number, session)
    dst, src = gs.open(tf.Graph()), gs.open(session)
    for to in ("a", "b"):
        dst.apply(dst.plan().copy(src.select(), to=to, values=session))
    own = dst.session()
    with dst.graph.as_default():
        saver = tf1.train.Saver()
        for v in dst.graph.get_collection("variables"):
            if v.name.startswith("b/"):
                put(v, 9, own)
        prefix = saver.save(own, str(tmp_path / "model"))
        names = {name: tuple(shape) for name, shape in tf.train.list_variables(prefix)}
        assert names == {"a/net/m": (6, 2), "b/net/m": (6, 2)}
        fresh = tf1.Session()
        saver.restore(fresh, prefix)
    want = np.repeat([0.0, 1.0, 2.0], 4).reshape(6, 2)
    np.testing.assert_array_equal(fresh.run("a/whole:0"), want)
    np.testing.assert_array_equal(fresh.run("b/whole:0"), np.full((6, 2), 9))
    assert [v._get_save_slice_info().spec for v in all_of(dst.graph).values()] == 2 * [
        v._get_save_slice_info().spec for v in graph.get_collection("variables")
    ]


def test_a_checkpoint_of_the_original_restores_into_the_copy(kind, tmp_path):
    m = model(kind)
    m.train_steps()
    with m.graph.as_default():
        prefix = tf1.train.Saver().save(m.session, str(tmp_path / "model"))
    dst = gs.open(tf.Graph())
    dst.apply(dst.plan().copy(gs.open(m.graph).select(), to="t"))
    with dst.graph.as_default(), tf1.Session() as session:
        old_names = {name.removeprefix("t/"): v for name, v in all_of(dst.graph).items()}
        tf1.train.Saver(old_names).restore(session, prefix)
        feed = {f"t/{tensor.name}": value for tensor, value in m.feed().items()}
        assert session.run("t/loss:0", feed) == m.session.run(m.loss, m.feed())


# -- odd ones -------------------------------------------------------------------------------------------------


def test_in_no_collection_in_many_and_not_trainable(kind):
    graph = tf.Graph()
    resource = kind == "resource"
    with graph.as_default():
        make = {"use_resource": resource, "shape": [2], "initializer": tf1.ones_initializer()}
        tf1.get_variable("free", collections=["nobody"], trainable=False, **make)
        graph.clear_collection("nobody")
        tf1.get_variable("many", collections=["variables", "one", "two"], **make)
        tf1.get_variable("still", trainable=False, **make)
        tf1.get_variable("local", collections=["local_variables"], trainable=False, **make)
        reads = [graph.get_tensor_by_name(f"{n}/{'Read/ReadVariableOp' if resource else 'read'}:0")
                 for n in ("free", "many", "still", "local")]  # fmt: skip
        tf.add_n(reads, name="sum")
    session = started(graph)
    session.run("free/Assign")
    src, dst = gs.open(session), gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(src.select(outputs="sum:0"), to="t", values=session))
    lists = {name: [v.op.name for v in dst.graph.get_collection(name)] for name in keys(dst.graph)}
    assert lists == {
        "variables": ["t/many", "t/still"],
        "trainable_variables": ["t/many"],
        "local_variables": ["t/local"],
        "t/one": ["t/many"],
        "t/two": ["t/many"],
    }
    assert done["free"].trainable is False
    assert done["still"].trainable is False
    assert dst.graph.get_collection("t/one")[0] is dst.graph.get_collection("variables")[0]
    np.testing.assert_array_equal(dst.session().run("t/sum:0"), [4.0, 4.0])
    with dst.graph.as_default(), tf1.Session() as other:
        other.run([tf1.global_variables_initializer(), tf1.local_variables_initializer(), done["free"].initializer])
        assert other.run(tf1.report_uninitialized_variables()).tolist() == []
        np.testing.assert_array_equal(other.run("t/sum:0"), [4.0, 4.0])


@pytest.mark.parametrize("dtype", ["bool", "int64", "string", "complex64", "float16", "bfloat16", "uint8", "float64"])
def test_of_every_dtype(kind, dtype):
    start = {"bool": [True, False], "string": ["a", "ü"], "complex64": [1 + 2j, 3]}.get(dtype, [1, 2])
    graph = tf.Graph()
    with graph.as_default():
        v = tf1.get_variable("v", initializer=tf.constant(start, dtype), use_resource=kind == "resource")
        tf.identity(v, name="y")
    session = started(graph)
    other = {"string": np.array(["zz", "é"], object), "bool": np.array([False, False])}.get(dtype, np.array([3, 4]))
    session.run(v.initializer, {v.initializer.inputs[1]: other.astype(tf.as_dtype(dtype).as_numpy_dtype)})
    dst = gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(gs.open(session).select(), to="t", values=session))
    assert done["v"].dtype.base_dtype == tf.as_dtype(dtype)
    got = dst.session().run("t/y:0").tolist()
    assert got == session.run("y:0").tolist() != session.run(v.initializer.inputs[1]).tolist()


def test_without_a_shape(kind):
    graph = tf.Graph()
    with graph.as_default():
        start = tf1.placeholder_with_default(np.zeros([1, 2], np.float32), [None, 2])
        tf1.Variable(start, validate_shape=False, name="v", use_resource=kind == "resource")
    session = started(graph)
    session.run("v/Assign", {start: np.ones([3, 2])})
    dst = gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(gs.open(session).select(), to="t", values=session))
    assert done["v"].shape.as_proto() == graph.get_collection("variables")[0].shape.as_proto()
    np.testing.assert_array_equal(dst.session().run(done["v"]), np.ones([3, 2]))


def test_what_a_variable_can_do_its_copy_can(kind):
    graph = tf.Graph()
    with graph.as_default():
        tf1.get_variable(
            "v",
            initializer=np.arange(4.0, dtype=np.float32),
            use_resource=kind == "resource",
            aggregation=tf1.VariableAggregation.MEAN,
            synchronization=tf1.VariableSynchronization.ON_WRITE,
        )
    dst = gs.open(tf.Graph())
    v = dst.apply(dst.plan().copy(gs.open(graph).select(), to="t"))["v"]
    assert v.aggregation == tf1.VariableAggregation.MEAN
    assert v.synchronization == tf1.VariableSynchronization.ON_WRITE
    with dst.graph.as_default(), tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        session.run(v.assign_add([1.0, 1.0, 1.0, 1.0]))
        session.run(tf1.scatter_update(v, [0], [9.0]))
        session.run(v[1:2].assign([7.0]))
        assert session.run(v).tolist() == [9.0, 7.0, 3.0, 4.0]
        (slope,) = tf.gradients(tf.reduce_sum(tf.square(v)), v)
        assert session.run(slope).tolist() == [18.0, 14.0, 6.0, 8.0]
        v.load([0.0] * 4, session)
        assert session.run(v.read_value()).tolist() == [0.0] * 4


def test_a_variable_that_starts_from_another_of_the_copy(kind):
    graph = tf.Graph()
    with graph.as_default(), tf1.variable_scope("", use_resource=kind == "resource"):
        first = tf1.get_variable("first", initializer=3.0)
        tf1.get_variable("second", initializer=first.read_value() * 2)
    dst = gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(gs.open(graph).select(), to="t"))
    with dst.graph.as_default(), tf1.Session() as session:
        assert done["second"].initial_value.graph is dst.graph
        session.run(done["first"].initializer)
        put(done["first"], 5.0, session)
        session.run(done["second"].initializer)
        assert session.run(done["second"]) == 10.0


# -- names ----------------------------------------------------------------------------------------------------


def test_a_scope_does_not_take_what_only_starts_like_it(kind):
    graph = tf.Graph()
    with graph.as_default(), tf1.variable_scope("", use_resource=kind == "resource"):
        for scope in ("net", "net2", "network/net"):
            with tf1.variable_scope(scope):
                tf1.get_variable("b", [2])
    ed = gs.open(graph)
    done = ed.apply(ed.plan().copy(ed.select(scope="net"), to="net_copy"))
    assert {name.partition("/")[2] for name in done.ops} == {n for n in ed.snapshot.names if n.startswith("net/")}
    assert [v.op.name for v in done.variables] == ["net_copy/net/b"]
    done = ed.apply(ed.plan().copy(ed.select(scope="net2"), to="net/copy"))
    assert [v.op.name for v in done.variables] == ["net/copy/net2/b"]


def test_a_scope_with_a_dot_is_no_pattern():
    graph = tf.Graph()
    with graph.as_default():
        for name in ("a.b/x", "axb/x"):
            tf.constant(1.0, name=name)
    assert gs.open(graph).select(scope="a.b").names == ["a.b/x"]


# -- copies one after the other -------------------------------------------------------------------------------


@pytest.mark.parametrize("order", list(permutations(["w", "y", "loss", "train"])), ids=" ".join)
def test_parts_that_an_earlier_call_has_made_are_used_in_any_order(kind, order):
    m = MODELS[kind]
    to_graph, copied = tf.Graph(), {}
    for name in order:
        gs.copy_to_graph(getattr(m, name), to_graph, copied, "N")
    names = [op.name for op in to_graph.get_operations()]
    at_once, src = gs.open(tf.Graph()), gs.open(m.graph)
    block = src.select(name=["train", "loss"]).ancestors()
    at_once.apply(at_once.plan().copy(block, to="N", collections="variables"))
    whole = at_once.graph
    assert sorted(names) == sorted(op.name for op in whole.get_operations())
    for op in whole.get_operations():
        new = to_graph.get_operation_by_name(op.name)
        assert [t.name for t in new.inputs] == [t.name for t in op.inputs]
        assert {c.name for c in new.control_inputs} == {c.name for c in op.control_inputs}
    for name in keys(whole):
        assert sorted(i.name for i in to_graph.get_collection(name)) == sorted(
            i.name for i in whole.get_collection(name)
        )


MODELS = {kind: model(kind) for kind in KINDS}


def test_a_copy_of_a_copy_in_a_third_graph_trains_as_the_first(kind):
    m = model(kind)
    m.train_steps(2)
    editors, sessions, name = [gs.open(m.session)], [m.session], ""
    for to in ("a", "b", "c"):
        dst = gs.open(tf.Graph())
        dst.apply(dst.plan().copy(editors[-1].select(), to=to, values=sessions[-1]))
        editors.append(dst)
        sessions.append(dst.session())
        name = f"{to}/{name}"
    paths = []
    for session, lead in zip(sessions, ("", "a/", "b/a/", "c/b/a/"), strict=True):
        feed = {f"{lead}{tensor.name}": value for tensor, value in m.feed().items()}
        path = []
        for _ in range(3):
            session.run(f"{lead}train", feed)
            path.append(float(session.run(f"{lead}loss:0", feed)))
        paths.append(path)
    assert paths[0] == paths[1] == paths[2] == paths[3]
    assert name == "c/b/a/"
    names = [v.op.name for v in editors[-1].graph.get_collection("trainable_variables")]
    assert names == ["c/b/a/net/w", "c/b/a/net/b"]


def test_copies_of_copies_in_one_graph_share_nothing(kind):
    m = model(kind, optimizer=None)
    ed = gs.open(m.session)
    ed.apply(ed.plan().copy(ed.select(scope="net"), to="a", unmapped="keep", values=m.session))
    ed.session()
    ed.apply(ed.plan().copy(ed.select(scope="a"), to="b", unmapped="keep", values=m.session))
    ed.session()
    ed.apply(ed.plan().copy(ed.select(scope="b"), to="a/again", unmapped="keep", values=m.session))
    session = ed.session()
    variables = all_of(m.graph, "trainable_variables")
    assert list(variables) == [f"{lead}net/{v}" for lead in ("", "a/", "b/a/", "a/again/b/a/") for v in ("w", "b")]
    for number, v in enumerate(variables.values()):
        put(v, number, session)
    assert [int(session.run(v).flat[0]) for v in variables.values()] == list(range(8))


# -- what tells the value of a variable ------------------------------------------------------------------------


def handles(*, wait: bool) -> Any:
    """Returns a graph with a bare resource variable: one op sets it, another reads it under a name of its own."""
    raw, graph = tf.raw_ops, tf.Graph()
    with graph.as_default():
        handle = raw.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="kept", name="v")
        again = raw.VarHandleOp(dtype=tf.float32, shape=[2], shared_name="kept", name="w")
        raw.AssignVariableOp(resource=handle, value=tf.zeros([2]), name="set")
        with tf.control_dependencies([tf.no_op()] if wait else None):
            for name, resource in (("r", handle), ("s", again)):
                tf.identity(raw.ReadVariableOp(resource=resource, dtype=tf.float32, name=name), name=f"{name}_out")
    session = tf1.Session(graph=graph)
    session.run("set", {"zeros:0": [3.0, 4.0]})
    return session


@pytest.mark.parametrize("policy", ["copy", "freeze"])
@pytest.mark.parametrize("end", ["r_out:0", "s_out:0"])
def test_the_value_of_a_bare_handle_is_read_not_the_handle(policy, end):
    session = handles(wait=False)
    src, dst = gs.open(session), gs.open(tf.Graph())
    dst.apply(dst.plan().copy(src.select(outputs=end), to="t", variables=policy, values=session))
    assert dst.session().run(f"t/{end}").tolist() == [3.0, 4.0]


def test_a_value_that_nothing_tells_by_itself_is_asked_for():
    session = handles(wait=True)
    src, dst = gs.open(session), gs.open(tf.Graph())
    block = src.select(outputs="r_out:0")
    with refuses(PlanError, "copy(to='t', values=...): no op reads variable 'v' without running other ops, so its "
                 "value cannot be read from a session", "Give values={name: array}"):  # fmt: skip
        dst.apply(dst.plan().copy(block, to="t", values=session, control="include"))
    assert dst.graph.get_operations() == []
    dst.apply(dst.plan().copy(block, to="t", values={"v": [5.0, 6.0]}, control="include"))
    assert dst.session().run("t/r_out:0").tolist() == [5.0, 6.0]
