"""Loops and conds of TF1: found, entered, written and read again."""

from __future__ import annotations

import pytest
import tensorflow as tf

from graphsurgeon.tf.private import contexts

tf1 = tf.compat.v1


def loop_in_cond():
    """Returns a graph with a loop inside of a cond, both of TF1, the op in the loop, and one outside."""
    graph = tf.Graph()
    with graph.as_default():
        tf1.disable_control_flow_v2()
        try:
            x = tf1.placeholder(tf.float32, [], name="x")
            loop = lambda: tf1.while_loop(lambda v: v < 9.0, lambda v: tf.add(v, 1.0, name="inner"), [x])  # noqa: E731
            tf1.cond(x > 0.0, loop, lambda: x, name="choice")
        finally:
            tf1.enable_control_flow_v2()
    inner = next(op for op in graph.get_operations() if op.name.endswith("/inner"))
    return graph, inner, x.op


def test_the_contexts_of_ops():
    graph, inner, outside = loop_in_cond()
    loop = contexts.innermost_context(inner)
    assert contexts.contexts_of([outside, inner]) == [loop]
    assert contexts.context_of(inner) is loop
    assert contexts.within_contexts([outside, inner]) == [(inner, loop)]
    assert contexts.within_contexts([outside]) == []
    assert contexts.loop_around(loop) is loop
    cond = contexts.outermost_context(inner)
    assert cond is loop.outer_context
    assert contexts.loop_around(cond) is None
    assert contexts.nested_contexts(cond) == [loop]
    assert contexts.context_of(outside) is contexts.outermost_context(outside) is None
    names = {op.name for op in graph.get_operations()}
    for context in (loop, cond):
        assert {name.partition(":")[0] for name in contexts.pivots(context)} <= names
        assert contexts.pivots(context)


def test_a_context_without_a_pivot_holds_nothing_together():
    _, inner, _ = loop_in_cond()
    contexts.set_context(inner, Alone())
    assert contexts.innermost_context(inner).name == "alone"
    assert contexts.context_of(inner) is None
    assert contexts.within_contexts([inner]) == []
    contexts.set_context(inner, None)
    assert contexts.contexts_of([inner]) == []


def test_conds_and_loops_are_built():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        (chosen,) = contexts.conditional(x > 0.0, lambda: [x * 2.0], lambda: [x - 1.0])
        (last,) = contexts.loop(lambda v: v < 9.0, lambda v: [v + 3.0], [chosen], [chosen.shape], 10)
        (slope,) = tf.gradients(last, x)
    with tf1.Session(graph=graph) as session:
        assert session.run([last, slope], {x: 3.0}) == [9.0, 2.0]
        assert session.run([last, slope], {x: -1.0}) == [10.0, 1.0]
    assert [len(graph.get_collection(f"{kind}_context")) for kind in ("cond", "while")] == [2, 1]


def test_what_is_imported_joins_the_context_that_is_now():
    graph, inner, outside = loop_in_cond()
    loop = contexts.context_of(inner)
    new = tf1.GraphDef()
    new.node.add(name="far", op="NoOp")
    with graph.as_default(), contexts.inside_context(graph, loop):
        with contexts.outside_contexts(graph):
            tf.import_graph_def(new, name="")
        far = graph.get_operation_by_name("far")
        assert contexts.context_of(far) is None
        contexts.join_context(graph, [far, inner])
    assert contexts.context_of(far) is loop
    contexts.join_context(graph, [outside])  # there is none now
    assert contexts.context_of(outside) is None


def test_ops_that_a_context_is_made_of():
    graph, inner, _ = loop_in_cond()
    parts = {op.type for op in graph.get_operations() if contexts.innermost_context(op) and contexts.is_part(op)}
    assert {"Switch", "Enter", "LoopCond", "NextIteration"} <= parts
    assert inner.type not in parts


def test_ops_are_made_inside_and_outside():
    graph, inner, _ = loop_in_cond()
    loop = contexts.context_of(inner)
    with graph.as_default(), contexts.inside_context(graph, loop):
        assert contexts.context_of(tf.no_op()) is loop
        with contexts.outside_contexts(graph):
            assert contexts.context_of(tf.no_op()) is None
        assert contexts.context_of(tf.no_op()) is loop
    with graph.as_default():
        assert contexts.context_of(tf.no_op()) is None


class Alone:
    """A context that TensorFlow has no proto of."""

    name, outer_context = "alone", None

    def __init__(self, **held):
        vars(self).update(held)
        self._values, self._external_values, self._nested_contexts, self._context_stack = {"x", "gone"}, {}, [], []


def test_contexts_are_written_and_read():
    graph, inner, _ = loop_in_cond()
    cond, odd = contexts.outermost_context(inner), Alone()
    assert contexts.has_proto(cond)
    assert not contexts.has_proto(odd)
    cond._nested_contexts.append(odd)
    proto = contexts.context_proto(cond)
    assert [nested.WhichOneof("ctxt") for nested in proto.cond_ctxt.nested_contexts] == ["while_ctxt"]
    assert contexts.nested_contexts(cond)[-1] is odd  # it was laid aside only while the proto was written
    with contexts.hide_nested([cond]):
        assert odd not in contexts.nested_contexts(cond)
    again = tf.Graph()
    with again.as_default():
        tf1.import_graph_def(graph.as_graph_def(), name="")
        made = contexts.from_proto(proto)
    assert contexts.pivots(made) == contexts.pivots(cond)
    (loop,) = contexts.nested_contexts(made)
    assert loop.name == contexts.context_of(inner).name


def test_a_loop_that_computes_a_gradient_says_whose():
    loop, other = (contexts.innermost_context(loop_in_cond()[1]) for _ in range(2))
    assert contexts.differentiated_loop(loop) is None
    contexts.set_differentiated_loop(loop, other)
    assert contexts.differentiated_loop(loop) == (other,)


def test_a_context_without_a_proto_is_copied_as_it_is():
    graph, inner, x = loop_in_cond()
    again = tf.Graph()
    with again.as_default():
        tf1.import_graph_def(graph.as_graph_def(), name="new")
    rename = {"x": "new/x", "x:0": "new/x:0"}.get
    new = contexts.copy_context(Alone(held=x), graph, again, rename)
    assert new.held is again.get_operation_by_name("new/x")
    assert new._values == {"new/x"}
    assert contexts.copy_context(Alone(held=inner), graph, again, rename) is None
    around = Alone()
    with contexts.inside_context(again, around):
        new = contexts.copy_context(Alone(), graph, again, rename)
    assert new._outer_context is around
    assert contexts.nested_contexts(around) == [new]


def test_a_loop_whose_gradient_is_refused_raises_the_error_before_anything_is_changed():
    graph, inner, _ = loop_in_cond()
    bare = tf.Graph()
    with bare.as_default():
        tf1.import_graph_def(graph.as_graph_def(), name="")  # without contexts
    for one in (graph, bare):
        exits = [op for op in one.get_operations() if op.type == "Exit"]
        contexts.refuse_loop_gradients(exits, KeyError("no gradient"))
        before = [op.node_def for op in one.get_operations()]
        with one.as_default(), pytest.raises(KeyError, match="no gradient"):
            tf1.gradients(exits[0].outputs[0], one.get_tensor_by_name("x:0"))
        assert [op.node_def for op in one.get_operations() if not op.name.startswith("gradients")] == before
    again = tf.Graph()
    assert contexts.copy_context(contexts.innermost_context(exits[0]), bare, again, str) is None
    assert contexts.context_of(inner) is not None
