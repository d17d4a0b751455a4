"""What earlier tools get wrong around the ops: versions, places, contexts, changed calls, noise."""

from __future__ import annotations

import logging
import warnings
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

import graphsurgeon as gs
from tests.graphs import KINDS, look, model, run, tf1, tiny
from tests.refusal import reads
from tests.tf.copy.test_contexts import X, build


@pytest.fixture(autouse=True)
def _same_version_afterwards() -> Any:
    before = tf1.control_flow_v2_enabled()
    yield
    (tf1.enable_control_flow_v2 if before else tf1.disable_control_flow_v2)()


# -- an editor stays good while TensorFlow marks and changes ops in place --------------------------------------


@pytest.mark.parametrize("same", [True, False], ids=["one graph", "two graphs"])
@pytest.mark.parametrize("kind", ["v1 while", "v1 cond", "v2 while", "v2 cond", "v2 function"])
def test_a_gradient_taken_behind_an_editor(kind, same):
    graph = build(kind)
    src = gs.open(graph)
    src.select(outputs="y:0")
    dst = src if same else gs.open(tf.Graph())
    with graph.as_default():
        x, y = graph.get_tensor_by_name("x:0"), graph.get_tensor_by_name("y:0")
        tf.identity(tf.gradients(y, x)[0], name="slope")
    done = dst.apply(dst.plan().copy(src.select(outputs=["y:0", "slope:0"]), to="t"))
    session = dst.session()
    with graph.as_default(), tf1.Session() as first:
        first.run(tf1.global_variables_initializer())
        want = first.run([y, "slope:0"], {x: X})
    got = session.run([done["y:0"], done["slope:0"]], {done["x:0"]: X})
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_an_op_that_others_are_made_to_wait_for_has_not_changed():
    graph = tf.Graph()
    with graph.as_default():
        v = tf1.get_variable("v", initializer=1.0, use_resource=False)
    ed, dst = gs.open(graph), gs.open(tf.Graph())
    block = ed.select()
    with graph.as_default():
        tf1.global_variables_initializer()  # leaves a mark on every initializer
    assert "_has_manual_control_dependencies" in v.initializer.node_def.attr
    dst.apply(dst.plan().copy(block, to="t"))
    assert ed.apply(ed.plan().copy(ed.select(scope="v"), to="t"))["v"].op.name == "t/v"


def test_what_is_put_into_a_collection_later_goes_along():
    graph = tiny()
    src, dst = gs.open(graph), gs.open(tf.Graph())
    assert src.snapshot.state.collections == {}
    graph.add_to_collection("late", graph.get_tensor_by_name("y:0"))
    plan = dst.plan().copy(src.select(), to="t")
    assert [entry.name for entry in plan.effect.copies[0].collections] == ["t/late"]
    done = dst.apply(plan)
    assert dst.graph.get_collection("t/late") == [done["y:0"]]
    again = src.snapshot
    assert src.snapshot is again


# -- versions --------------------------------------------------------------------------------------------------


def old_graph(producer: int) -> Any:
    graph_def = graph_pb2.GraphDef()
    graph_def.versions.producer = producer
    node = graph_def.node.add(name="x", op="Placeholder")
    node.attr["dtype"].type = tf.float32.as_datatype_enum
    node.attr["shape"].shape.SetInParent()  # no dimensions: once that was any shape
    graph_def.node.add(name="y", op="Neg", input=["x"]).attr["T"].type = tf.float32.as_datatype_enum
    return graph_def


@pytest.mark.parametrize("producer", [0, 8, 21, 22])
@pytest.mark.parametrize("into", ["an empty graph", "a graph of today", "a new graph of today"])
def test_an_old_placeholder_of_any_shape_stays_so(producer, into):
    src = gs.open(old_graph(producer))
    any_shape = producer <= 21
    assert (src.tensor("x:0").shape.rank is None) is any_shape
    if into == "a new graph of today":
        other = tf.Graph()
        with other.as_default():
            tf1.placeholder(tf.float32, name="x")
        dst, today = src, gs.open(other)
        plan = dst.plan().copy(today.select(), to="t").connect("t/x:0", to="y")
        dst.apply(plan)
        assert (dst.tensor("x:0").shape.rank is None) is any_shape
        assert dst.graph.graph_def_versions.producer == tf.version.GRAPH_DEF_VERSION
        return
    dst = gs.open(tiny() if into == "a graph of today" else tf.Graph())
    now = dst.graph.graph_def_versions.producer
    done = dst.apply(dst.plan().copy(src.select(), to="t"))
    assert done["x:0"].shape == src.tensor("x:0").shape
    assert done["y:0"].shape == src.tensor("y:0").shape
    if any_shape:
        assert run(dst.graph, done["y:0"], {done["x:0"]: [1.0, 2.0]}).tolist() == [-1.0, -2.0]
    assert dst.graph.graph_def_versions.producer == (now if into == "a graph of today" else producer)
    with dst.graph.as_default():
        later = tf1.placeholder(tf.float32, [])
    assert (later.shape.rank is None) is (any_shape and into == "an empty graph")


# -- loops -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("same", [True, False], ids=["one graph", "two graphs"])
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_scan_and_map_twice_with_gradients(version, same):
    (tf1.enable_control_flow_v2 if version == "v2" else tf1.disable_control_flow_v2)()
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [5], name="x")
        w = tf1.get_variable("w", initializer=2.0, use_resource=version == "v2")
        scan = tf.scan(lambda a, b: a * w + b, x)
        tf.add(scan, tf.map_fn(lambda a: a * a * w, x), name="y")
    src = gs.open(graph)
    dst = src if same else gs.open(tf.Graph())
    block = src.select(outputs="y:0")
    ends = [dst.apply(dst.plan().copy(block.on(src.snapshot), to=to)) for to in ("a", "b")]
    with dst.graph.as_default():
        slopes = [tf.gradients(d["y:0"], [d["x:0"], d["w"]]) for d in ends]
    with graph.as_default():
        want_slopes = tf.gradients(graph.get_tensor_by_name("y:0"), [x, w])
        first = tf1.Session()
        first.run(tf1.global_variables_initializer())
    values = np.arange(5, dtype=np.float32)
    want = first.run(["y:0", *want_slopes], {x: values})
    session = dst.session()
    for end, slope in zip(ends, slopes, strict=True):
        got = session.run([end["y:0"], *slope], {end["x:0"]: values})
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_loop_in_a_cond_in_a_loop_keeps_its_gradient_that_was_built_before():
    tf1.disable_control_flow_v2()
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [3], name="x")
        inner = lambda a: tf1.while_loop(lambda j, _: j < 2, lambda j, b: (j + 1, tf.sin(b)), [0, a])[1]  # noqa: E731
        step = lambda i, a: (i + 1, tf1.cond(i > 0, lambda: inner(a), lambda: a * x))  # noqa: E731
        y = tf.identity(tf1.while_loop(lambda i, _: i < 3, step, [0, x])[1], name="y")
        tf.identity(tf.gradients(y, x)[0], name="slope")
    ed = gs.open(graph)
    done = ed.apply(ed.plan().copy(ed.select(), to="t"))
    with graph.as_default():
        (again,) = tf.gradients(done["y:0"], done["x:0"])
    assert not done.applied_ops.partial_contexts
    got = run(graph, ["slope:0", done["slope:0"], again], {"x:0": X, done["x:0"]: X})
    np.testing.assert_array_equal(got[0], got[1])
    np.testing.assert_array_equal(got[0], got[2])


def test_a_copy_made_while_a_loop_is_being_built_is_no_part_of_it():
    tf1.disable_control_flow_v2()
    src, graph = gs.open(tiny()), tf.Graph()
    dst = gs.open(graph)

    def body(i: Any) -> Any:
        dst.apply(dst.plan().copy(src.select(), to="t"))
        return i + 1

    with graph.as_default():
        last = tf1.while_loop(lambda i: i < 3, body, [0])
    copied = [op for op in graph.get_operations() if op.name.startswith("t/")]
    assert {op._get_control_flow_context() for op in copied} == {None}
    got = run(graph, [last, "t/z:0"], {"t/x:0": [[1.0, 2.0]]})
    assert (int(got[0]), got[1].tolist()) == (3, [[2.0, 5.0]])


def test_a_cut_between_two_loops_that_follow_each_other():
    tf1.disable_control_flow_v2()
    graph = tf.Graph()
    with graph.as_default():
        loop = lambda x, f: tf1.while_loop(lambda i, _: i < 2, lambda i, a: (i + 1, f(a)), [0, x])[1]  # noqa: E731
        end = loop(loop(tf1.placeholder(tf.float32, [3], name="x"), lambda a: a + 1.0), lambda a: a * 2.0)
        tf.identity(end, name="y")
    src = gs.open(graph)
    between = next(op for op in graph.get_operations() if op.type == "Exit" and op.outputs[0].dtype == tf.float32)
    dst = gs.open(tf.Graph())
    plan = dst.plan().copy(src.select(inputs=between, outputs="y:0"), to="t", unmapped="placeholder")
    assert plan.check() == ()
    done = dst.apply(plan)
    assert run(dst.graph, done["y:0"], {done[between.outputs[0]]: X}).tolist() == (X * 4).tolist()


@pytest.mark.parametrize("kind", ["v1 cond", "v1 while"])
def test_loops_and_conds_are_whole_though_control_inputs_are_dropped(kind):
    graph = build(kind)
    with graph.as_default():
        first = tf1.placeholder(tf.float32, [3], name="first")
        x = graph.get_tensor_by_name("x:0")
        with tf.control_dependencies([first]):
            tf1.disable_control_flow_v2()
            tf.identity(tf1.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(x), lambda: x * x), name="z")
    src, dst = gs.open(graph), gs.open(tf.Graph())
    block = src.select(inputs="x:0", outputs=["y:0", "z:0"])
    done = dst.apply(dst.plan().copy(block, to="t", unmapped="placeholder", control="drop"))
    assert "first" not in done
    assert not done.applied_ops.partial_contexts
    with dst.graph.as_default():
        assert None not in tf.gradients([done["y:0"], done["z:0"]], done["x:0"])


@pytest.mark.parametrize("way", ["placeholder", "mapped"])
def test_a_tensor_cannot_stand_for_a_variable_that_is_changed(way):
    m = model("ref", optimizer=None)
    ed = gs.open(m.graph)
    block = ed.select(name=["net/w/Assign", "net/w/Initializer*"])
    inputs = {"net/w:0": "net/w/read:0"} if way == "mapped" else {}
    plan = ed.plan().copy(block, to="t", inputs=inputs, unmapped="placeholder")
    (fault,) = plan.check()
    reads(fault, "copy(to='t')", "'net/w/Assign' changes 'net/w', so it needs that variable there, not a tensor",
          "Select 'net/w' too, or leave 'net/w/Assign' out")  # fmt: skip
    assert ed.plan().copy(block, to="t", unmapped="keep").check() == ()


# -- places ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_gradient_alone_is_placed_with_nothing_that_is_not_there(kind):
    m = model(kind, None)
    with m.graph.as_default():
        tf1.gradients(m.loss, [m.w, m.b], colocate_gradients_with_ops=True)
    src, dst = gs.open(m.graph), gs.open(tf.Graph())
    block = src.select(scope="gradients")
    assert any(b"loc:@net" in g for op in block.names for g in m.graph.get_operation_by_name(op).colocation_groups())
    dst.apply(dst.plan().copy(block, to="t", unmapped="placeholder", control="drop"))
    again = tf.Graph()
    with again.as_default():
        tf.graph_util.import_graph_def(dst.graph.as_graph_def(), name="")
    known = {op.name for op in again.get_operations()}
    places = {g.removeprefix(b"loc:@").decode() for op in again.get_operations() for g in op.colocation_groups()}
    assert places <= known


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_made_can_be_imported_anywhere(kind):
    m = model(kind)
    dst = gs.open(tf.Graph())
    dst.apply(dst.plan().copy(gs.open(m.graph).select(), to="t", values=m.session))
    again = tf.Graph()
    with again.as_default():
        tf.graph_util.import_graph_def(dst.graph.as_graph_def(), name="")
    assert again.as_graph_def() == dst.graph.as_graph_def()


# -- manners ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_looking_planning_and_printing_leave_both_graphs_alone(kind):
    m = model(kind)
    src, dst = gs.open(m.session), gs.open(tf.Graph())
    before = look(m.graph)
    plan = dst.plan().copy(src.select(), to="t", values=src)
    assert plan.check() == ()
    assert str(src)
    assert str(plan)
    assert plan.to_code()
    assert plan.preview().table()
    assert src.select(outputs="loss:0").boundary
    assert look(m.graph) == before
    assert look(dst.graph) == look(tf.Graph())
    dst.apply(plan)
    dst.session()
    assert look(m.graph) == before


def test_a_copy_says_nothing_by_itself(caplog):
    m = model("resource")
    dst = gs.open(tf.Graph())
    with warnings.catch_warnings(), caplog.at_level(logging.INFO):
        warnings.simplefilter("error")
        dst.apply(dst.plan().copy(gs.open(m.graph).select(), to="t", values=m.session))
        dst.session()
    assert caplog.records == []


def test_one_queue_runner_for_each_copy():
    graph = tf.Graph()
    with graph.as_default():
        numbers = tf1.train.range_input_producer(3, shuffle=False, num_epochs=1, name="numbers")
        batch = tf1.train.batch([numbers.dequeue()], 1, name="batch")
        tf.multiply(batch, 2, name="y")
    src, dst = gs.open(graph), gs.open(tf.Graph())
    for to in ("a", "b"):
        dst.apply(dst.plan().copy(src.select(outputs="y:0"), to=to))
    runners = dst.graph.get_collection("queue_runners")
    assert [r.name for r in runners] == [f"{to}/{q}" for to in ("a", "b") for q in ("numbers", "batch/fifo_queue")]
    with dst.graph.as_default(), tf1.Session() as session:
        session.run(tf1.local_variables_initializer())
        coordinator = tf1.train.Coordinator()
        threads = tf1.train.start_queue_runners(session, coordinator)
        got = [[int(session.run(f"{to}/y:0")[0]) for _ in range(3)] for to in ("a", "b")]
        assert got == [[0, 2, 4], [0, 2, 4]]
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=10)
