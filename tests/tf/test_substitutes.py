"""Variables that are no variables in the copy: frozen to constants, or replaced by a tensor."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.graphs import KINDS, keys, look, model, run
from tests.refusal import reads, refuses

tf1 = tf.compat.v1


@pytest.fixture(params=KINDS)
def m(request):
    made = model(request.param)
    made.train_steps()
    return made


def inference(m):
    return gs.open(m.graph).select(inputs=m.x, outputs=m.y)


def test_a_frozen_copy_has_no_variables_and_the_same_numbers(m):
    dst = gs.open(tf.Graph())
    plan = dst.plan().copy(inference(m), to="t", unmapped="placeholder", variables="freeze", values=m.session)
    before = look(m.graph)
    done = dst.apply(plan)
    assert look(m.graph) == before
    assert dst.snapshot.fingerprint == plan.after().fingerprint
    assert not {op.type for op in dst.graph.get_operations()} & {
        "VariableV2",
        "VarHandleOp",
        "Assign",
        "AssignVariableOp",
    }
    assert keys(dst.graph) == [] or not dst.graph.get_collection("variables")
    want = m.session.run(m.y, {m.x: m.feed()[m.x]})
    np.testing.assert_array_equal(run(dst.graph, done[m.y], {done[m.x]: m.feed()[m.x]}), want)
    assert done["net/w"].type == "Const"
    assert done[m.w] is done["net/w"]
    np.testing.assert_array_equal(tf.get_static_value(done["net/w"].outputs[0]), m.session.run(m.w))
    m.train_steps()
    np.testing.assert_array_equal(run(dst.graph, done[m.y], {done[m.x]: m.feed()[m.x]}), want)


def test_the_preview_says_what_is_frozen_and_what_is_replaced(m):
    ed = gs.open(m.graph)
    with m.graph.as_default():
        other = tf.zeros([3], name="other")
    plan = ed.plan().copy(
        inference(m), to="t", unmapped="keep", variables={"net/w": "freeze", "net/b": other}, values=m.session
    )
    text = str(plan.preview())
    assert "1 variable frozen to constants:\n    t/net/w  float32 (2, 3)  current value" in text
    assert "1 variable replaced:\n    net/b  float32 (3,)  by other:0" in text
    kinds = {(row["kind"], row["name"], row["was"]) for row in plan.preview().table()}
    assert {("frozen", "t/net/w", "net/w"), ("replaced", "other:0", "net/b")} <= kinds
    code = plan.to_code()
    assert "variables={'*': 'copy', 'net/w': 'freeze', 'net/b': 'other:0'}" in code
    space = {"graph": m.graph, "session": m.session}
    exec(code, space)
    want = np.tanh(m.feed()[m.x] @ m.session.run(m.w))
    np.testing.assert_allclose(m.session.run(space["done"][m.y], m.feed()), want, rtol=1e-5)


def test_a_variable_replaced_in_another_graph(m):
    graph = tf.Graph()
    with graph.as_default():
        w = tf1.placeholder(tf.float32, [2, 3], name="mine/w")
    dst = gs.open(graph)
    done = dst.apply(
        dst.plan().copy(inference(m), to="t", unmapped="placeholder", variables={"net/*": "copy", "net/w": w},
                        values=m.session)
    )  # fmt: skip
    with pytest.raises(Exception, match="no copy was made"):
        done["net/w/Assign"]
    assert done["net/w:0"] is w
    x = m.feed()[m.x]
    got = dst.session().run(done[m.y], {done[m.x]: x, w: np.ones((2, 3))})
    np.testing.assert_allclose(got, np.tanh(x @ np.ones((2, 3), np.float32) + m.session.run(m.b)), rtol=1e-6)
    with graph.as_default():
        assert [v.op.name for v in tf1.global_variables()] == ["t/net/b"]
        (slope,) = tf1.gradients(done[m.y], w)
    assert slope.shape == (2, 3)


def test_a_name_goes_before_a_pattern(m):
    rules = {"net/*": "share", "net/w": "freeze"}
    plan = gs.open(m.graph).plan().copy(inference(m), to="t", unmapped="keep", variables=rules, values=m.session)
    assert [s.info.op for s in plan.effect.copies[0].closure.substitutes] == ["net/w"]
    assert plan.effect.variables == []


def test_frozen_where_only_its_reader_is_selected(m):
    ed = gs.open(m.graph)
    dst = gs.open(tf.Graph())
    reader = [
        op.name
        for op in m.graph.get_operations()
        if op.type in ("MatMul", "BiasAdd", "AddV2") and "grad" not in op.name
    ]
    block = ed.select(name=[n for n in reader if n.startswith("net/")])
    plan = dst.plan().copy(block, to="t", unmapped="placeholder", variables="freeze", values=m.session)
    assert plan.check() == ()
    dst.apply(plan)


def test_gathers_and_shapes_of_a_frozen_resource():
    graph = tf.Graph()
    with graph.as_default():
        table = tf1.get_variable("table", initializer=np.arange(12.0).reshape(4, 3), use_resource=True)
        rows = tf.gather(table, [2, 0], name="rows")
        deep = tf.gather_nd(table, [[1, 1], [3, 2]], name="deep")
        size = tf.shape(table, name="size")
        raw = tf.raw_ops.VariableShape(input=table.handle, name="raw")
        session = tf1.Session()
        session.run(tf1.global_variables_initializer())
    dst = gs.open(tf.Graph())
    block = gs.open(graph).select(outputs=[rows, deep, size, raw])
    done = dst.apply(dst.plan().copy(block, to="t", variables="freeze", values=session))
    for tensor in (rows, deep, size, raw):
        np.testing.assert_array_equal(run(dst.graph, done[tensor]), session.run(tensor))
        assert done[tensor].shape == tensor.shape
    assert done["rows"].type == "Gather"


def test_whole_graphs_freeze_without_their_initializers():
    made = model("resource", optimizer=None)
    dst = gs.open(tf.Graph())
    with made.graph.as_default():
        tf1.global_variables_initializer()
    plan = dst.plan().copy(gs.open(made.graph).select(), to="t", variables="freeze", values=made.session)
    assert any(
        "4 control inputs on ops that set frozen or replaced variables left out: init" in warning
        for warning in plan.effect.warnings
    )
    dst.apply(plan)
    names = {op.name for op in dst.graph.get_operations()}
    assert not [n for n in names if "Initializer" in n or "Assign" in n or "IsInitialized" in n]


def test_strings_and_halves_freeze():
    graph = tf.Graph()
    with graph.as_default():
        word = tf1.get_variable("word", initializer=tf.constant(["a", "b"]), use_resource=True)
        half = tf1.get_variable("half", initializer=tf.constant([1.5], tf.bfloat16), use_resource=False)
        ends = [tf.identity(word, name="e0"), tf.identity(half, name="e1")]
        session = tf1.Session()
        session.run(tf1.global_variables_initializer())
    dst = gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(gs.open(graph).select(outputs=ends), to="t", variables="freeze", values=session))
    got = run(dst.graph, [done[e] for e in ends])
    assert got[0].tolist() == [b"a", b"b"]
    assert got[1].astype(np.float32).tolist() == [1.5]


def test_what_changes_a_variable_cannot_be_frozen(m):
    plan = (
        gs.open(tf.Graph())
        .plan()
        .copy(gs.open(m.graph).select(), to="t", variables={"net/w": "freeze"}, values=m.session)
    )
    (fault,) = plan.check()
    reads(fault, "copy(to='t', variables={'net/w': 'freeze'})", "needs a variable there, not a tensor",
          "Leave it out of the selection, or choose 'copy' or 'initial'")  # fmt: skip


def test_freezing_needs_values(m):
    plan = gs.open(tf.Graph()).plan().copy(inference(m), to="t", unmapped="placeholder", variables="freeze")
    assert len(plan.check()) == 2
    reads(plan.check()[0], "there is no value to freeze 'net/w' at", "Give values=session",
          "or choose variables={'net/w': 'initial'}")  # fmt: skip


def test_freezing_reads_values_before_anything_changes(m):
    with tf1.Session(graph=m.graph) as empty:
        dst = gs.open(tf.Graph())
        plan = dst.plan().copy(inference(m), to="t", unmapped="placeholder", variables="freeze", values=empty)
        with refuses(PlanError, "has no value in the session given"):
            dst.apply(plan)
    assert dst.graph.get_operations() == []


@pytest.mark.parametrize(
    ("tensor", "words"),
    [
        ("net/y:0", ("net/y:0' is float32 (?, 3), but 'net/w' is float32 (2, 3)",)),
        ("odd:0", ("odd:0' is int32 (2, 3), but 'net/w' is float32 (2, 3)", "These would fit")),
        ("tall:0", ("axis 0 is 5 against 2",)),
        ("no/such:0", ("there is no tensor 'no/such:0'",)),
    ],
)
def test_a_replacement_that_does_not_fit(m, tensor, words):
    with m.graph.as_default():
        tf.zeros([2, 3], tf.int32, name="odd")
        tf.zeros([5, 3], name="tall")
    ed = gs.open(m.graph)
    plan = ed.plan().copy(inference(m), to="t", unmapped="keep", variables={"net/w": tensor})
    if tensor == "net/y:0":  # an open axis may fit
        assert plan.check() == ()
        return
    (fault,) = plan.check()
    reads(fault, *words)


def test_a_rule_that_names_no_variable(m):
    plan = gs.open(m.graph).plan().copy(inference(m), to="t", unmapped="keep", variables={"net/v": "share"})
    reads(plan.check()[0], "no variable of graph is called 'net/v'", "'net/w'")


def test_a_copy_with_frozen_variables_is_taken_back_and_done_again(m):
    ed = gs.open(m.graph)
    done = ed.apply(ed.plan().copy(inference(m), to="t", unmapped="keep", variables="freeze", values=m.session))
    ed.undo()
    assert "t/net/w" in ed.orphans
    ed.redo()
    np.testing.assert_array_equal(m.session.run(done[m.y], m.feed()), m.session.run(m.y, m.feed()))


def test_sharing_leaves_no_dead_initializers(m):
    ed = gs.open(m.graph)
    done = ed.apply(ed.plan().copy(ed.select(scope="net"), to="t", unmapped="keep", variables="share"))
    assert not [n for n in done.ops if "Initializer" in n or "Assign" in n]
    np.testing.assert_array_equal(m.session.run(done[m.y], m.feed()), m.session.run(m.y, m.feed()))
