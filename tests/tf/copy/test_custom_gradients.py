"""Gradients that `tf.custom_gradient` and `gradient_override_map` give: those of a copy are over the copy."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.graphs import look, run
from tests.refusal import refuses

tf1 = tf.compat.v1
OUTSIDE: dict = {}


def built(inner=None, **about):
    """Returns a graph in which y = x² w has the gradient 100 x w, made by hand."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [], name="x")
        w = tf1.get_variable("w", initializer=2.0, use_resource=True)

        @tf.custom_gradient
        def square(a):
            def slope(dy, variables=()):
                own = dy * a * 100.0 * w
                return (own, [dy * a * a * 7.0 for _ in variables]) if variables else own

            return a * a * w, (inner(a) if inner else slope)

        y = tf.identity(square(x), name="y")
    return graph, x, w, y


def copied(graph, to_graph=None, **about):
    dst = gs.open(graph if to_graph is None else to_graph)
    done = dst.apply(dst.plan().copy(gs.open(graph).select(), to="t", **about))
    return dst, done


@pytest.mark.parametrize("same", [True, False])
def test_the_gradient_of_a_copy_is_over_the_copy(same):
    graph, x, w, y = built()
    before = look(graph)
    dst, done = copied(graph, None if same else tf.Graph())
    if not same:
        assert look(graph) == before
    with dst.graph.as_default():
        slopes = tf1.gradients(done[y], [done[x], done[w]])
    with tf1.Session(graph=dst.graph) as session:
        with dst.graph.as_default():
            session.run(tf1.global_variables_initializer())
        session.run(done[w].initializer, {done[w].initializer.inputs[1]: 5.0})
        got = session.run(slopes, {done[x]: 3.0, **({x: -1.0} if same else {})})
    assert got == [3.0 * 100.0 * 5.0, 9.0 * 7.0]
    with graph.as_default():
        old = tf1.gradients(y, [x, w])
    with tf1.Session(graph=graph) as session:
        session.run(w.initializer)
        assert session.run(old, {x: 3.0}) == [600.0, 63.0]


def test_copies_of_copies():
    graph, x, _, y = built()
    one, first = copied(graph, tf.Graph())
    two = gs.open(tf.Graph())
    done = two.apply(two.plan().copy(one.select(), to="u", values=one))
    with two.graph.as_default():
        (slope,) = tf1.gradients(done[first[y]], done[first[x]])
    assert two.session().run(slope, {done[first[x]]: 3.0}) == 600.0


def test_a_gradient_built_before_the_copy_goes_along():
    graph, x, _, y = built()
    with graph.as_default():
        (slope,) = tf1.gradients(y, x)
    dst, done = copied(graph, tf.Graph())
    assert dst.session().run(done[slope], {done[x]: 3.0}) == 600.0


def test_partials_globals_and_containers_are_looked_into():
    def inner(a):
        OUTSIDE["factor"] = tf.constant(10.0, name="factor")
        pair = (a, [1.0])

        def slope(times, dy, variables=()):
            own = dy * pair[0] * times * OUTSIDE["factor"]
            return (own, [dy for _ in variables]) if variables else own

        return functools.partial(slope, tf.constant(4.0, name="times"))

    graph, x, _, y = built(inner)
    dst, done = copied(graph, tf.Graph())
    with dst.graph.as_default():
        (slope,) = tf1.gradients(done[y], done[x])
    assert dst.session().run(slope, {done[x]: 3.0}) == 120.0


class Holder:
    def __init__(self, tensor):
        self.tensor = tensor


def test_what_cannot_be_looked_into_refuses_rather_than_lie():
    def inner(a):
        held = Holder(a)

        def slope(dy, variables=()):
            own = dy * held.tensor
            return (own, [dy for _ in variables]) if variables else own

        return slope

    graph, x, _, y = built(inner)
    dst, done = copied(graph, tf.Graph())
    with (
        dst.graph.as_default(),
        refuses(
            PlanError,
            "gradient through 't/IdentityN'",
            "uses an object of type Holder",
            "Compute the gradient before you copy",
        ),
    ):
        tf1.gradients(done[y], done[x])
    with graph.as_default():
        assert tf1.gradients(y, x)


def test_a_gradient_that_uses_what_was_not_copied_refuses():
    graph = tf.Graph()
    with graph.as_default():
        x, other = (tf1.placeholder(tf.float32, [], name=n) for n in ("x", "other"))

        @tf.custom_gradient
        def same(a):
            return tf.identity(a), lambda dy: dy * other

        y = tf.identity(same(x), name="y")
    dst = gs.open(tf.Graph())
    plan = dst.plan().copy(gs.open(graph).select(outputs=y), to="t")
    assert "1 op with a tf.custom_gradient" in str(plan.preview())
    done = dst.apply(plan)
    assert run(dst.graph, done[y], {done[x]: 2.0}) == 2.0
    with dst.graph.as_default(), refuses(PlanError, "uses 'other:0', which was not copied"):
        tf1.gradients(done[y], done[x])


def test_overridden_gradients_go_along():
    @tf.RegisterGradient("TestOfOverriddenGradients")
    def gradient(op, slope):
        return slope * 33.0

    graph = tf.Graph()
    with graph.as_default(), graph.gradient_override_map({"Square": "TestOfOverriddenGradients"}):
        x = tf1.placeholder(tf.float32, [], name="x")
        y = tf.square(x, name="y")
    dst, done = copied(graph, tf.Graph())
    assert done["y"].get_attr("_gradient_op_type") == b"TestOfOverriddenGradients"
    with dst.graph.as_default():
        (slope,) = tf1.gradients(done[y], done[x])
    np.testing.assert_array_equal(run(dst.graph, slope, {done[x]: 2.0}), 33.0)


def test_a_gradient_of_another_process_is_left_as_it_is(tmp_path):
    graph, _, _, _ = built()
    graph_def = graph.as_graph_def()
    for node in graph_def.node:
        if "_gradient_op_type" in node.attr:
            node.attr["_gradient_op_type"].s = b"CustomGradient-of-elsewhere"
    (tmp_path / "g.pb").write_bytes(graph_def.SerializeToString())
    ed = gs.open(str(tmp_path / "g.pb"))
    dst = gs.open(tf.Graph())
    dst.apply(dst.plan().copy(ed.select(), to="t"))
    op = next(op for op in dst.graph.get_operations() if op.type == "IdentityN")
    assert op.get_attr("_gradient_op_type") == b"CustomGradient-of-elsewhere"
