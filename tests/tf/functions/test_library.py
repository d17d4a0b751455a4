"""Functions that copies take along: shared, renamed, or of the same name as another."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.tf.functions.definitions import Library, import_functions
from tests.graphs import run
from tests.refusal import refuses

tf1 = tf.compat.v1


def caller(path, factor):
    """Writes a graph that calls a function `outer`, which calls `inner`, which multiplies by `factor`."""

    @tf.function
    def inner(x):
        return x * factor

    @tf.function
    def outer(x):
        return inner(x) + 1.0

    with tf.Graph().as_default() as graph:
        tf.identity(outer(tf1.placeholder(tf.float32, [], name="x")), name="y")
    graph_def = graph.as_graph_def()
    names = {
        f.signature.name: ("inner" if "inner" in f.signature.name else "outer") for f in graph_def.library.function
    }
    text = graph_def.SerializeToString()
    graph_def = type(graph_def).FromString(text)
    for node in [*graph_def.node, *(n for f in graph_def.library.function for n in f.node_def)]:
        if node.attr["f"].func.name in names:
            node.attr["f"].func.name = names[node.attr["f"].func.name]
        elif "f" in node.attr:
            del node.attr["f"]
    for function in graph_def.library.function:
        function.signature.name = names[function.signature.name]
    path.write_bytes(graph_def.SerializeToString())
    return str(path)


@pytest.mark.parametrize("together", [True, False])
def test_two_files_whose_functions_have_the_same_names(tmp_path, together):
    one, two = (gs.open(caller(tmp_path / f"{n}.pb", n)) for n in (2.0, 5.0))
    dst = gs.open(tf.Graph())
    if together:
        dst.apply(dst.plan().copy(one.select(), to="a").copy(two.select(), to="b"))
    else:
        dst.apply(dst.plan().copy(one.select(), to="a"))
        dst.apply(dst.plan().copy(two.select(), to="b"))
    assert run(dst.graph, ["a/y:0", "b/y:0"], {"a/x:0": 10.0, "b/x:0": 10.0}) == [21.0, 51.0]
    names = set(dst.graph._functions)
    assert {"inner", "outer"} <= names
    assert len(names) == 4
    again = gs.open(tf.Graph())
    again.apply(again.plan().copy(dst.select(), to="c"))
    assert run(again.graph, ["c/a/y:0", "c/b/y:0"], {"c/a/x:0": 1.0, "c/b/x:0": 1.0}) == [3.0, 6.0]


def test_the_same_functions_are_there_once(tmp_path):
    path = caller(tmp_path / "f.pb", 2.0)
    dst = gs.open(tf.Graph())
    for scope in ("a", "b"):
        dst.apply(dst.plan().copy(gs.open(path).select(), to=scope))
    assert set(dst.graph._functions) == {"inner", "outer"}
    assert run(dst.graph, ["a/y:0", "b/y:0"], {"a/x:0": 1.0, "b/x:0": 2.0}) == [3.0, 5.0]


def test_the_preview_names_the_functions(tmp_path):
    src = gs.open(caller(tmp_path / "f.pb", 2.0))
    text = str(gs.open(tf.Graph()).plan().copy(src.select(), to="t").preview())
    assert "2 functions shared: inner, outer" in text
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [], name="x")
        v2 = tf1.control_flow_v2_enabled()
        tf1.enable_control_flow_v2()
        try:
            tf1.cond(x > 0, lambda: x * 2.0, lambda: x)
        finally:
            if not v2:
                tf1.disable_control_flow_v2()
    ed = gs.open(graph)
    assert "2 functions under new names, branches of conds and loops" in str(ed.plan().copy(ed.select(), to="t"))


def twice(graph, same):
    """Returns two copies of a whole graph, in it or in another, and the graph they are in."""
    src = gs.open(graph)
    dst = src if same else gs.open(tf.Graph())
    block = src.select()
    return [dst.apply(dst.plan().copy(block, to=scope)) for scope in ("a", "b")], dst.graph


def slopes_of(graph, done, y, x, feeds):
    with graph.as_default():
        made = [tf1.gradients(d[y], d[x])[0] for d in done]
    return run(graph, [*made, *(d[y] for d in done)], {d[k]: v for d in done for k, v in feeds.items()})


@pytest.mark.parametrize("same", [True, False])
def test_a_switch_case_is_copied_twice_and_differentiated(same):
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [], name="x")
        which = tf1.placeholder(tf.int32, [], name="which")
        v2 = tf1.control_flow_v2_enabled()
        tf1.enable_control_flow_v2()
        try:
            y = tf.switch_case(which, [lambda: x * 2.0, lambda: x * x, lambda: tf.exp(x)])
        finally:
            if not v2:
                tf1.disable_control_flow_v2()
    assert {"Case", "StatelessCase"} & {op.type for op in graph.get_operations()}
    done, where = twice(graph, same)
    assert slopes_of(where, done, y, x, {x: 3.0, which: 1}) == [6.0, 6.0, 9.0, 9.0]
    with graph.as_default():
        (own,) = tf1.gradients(y, x)
    assert run(graph, own, {x: 3.0, which: 0}) == 2.0


@pytest.mark.parametrize("same", [True, False])
def test_a_defun_with_a_gradient_of_its_own_is_copied_twice(same):
    from tensorflow.python.framework.function import Defun

    @Defun(tf.float32, tf.float32)
    def slope(x, dy):
        return dy * x * 100.0

    @Defun(tf.float32, grad_func=slope)
    def square(x):
        return x * x

    @Defun(tf.float32, python_grad_func=lambda op, dy: dy * 55.0)
    def triple(x):
        return x * 3.0

    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [], name="x")
        y = tf.add(square(x), triple(x), name="y")
    done, where = twice(graph, same)
    assert slopes_of(where, done, y, x, {x: 2.0}) == [255.0, 255.0, 10.0, 10.0]


@pytest.mark.parametrize("same", [True, False])
def test_the_functions_of_a_dataset_come_along(same):
    graph = tf.Graph()
    with graph.as_default():
        offset = tf.constant(100, tf.int64)
        data = tf.data.Dataset.range(6).map(lambda v: v * 2 + offset).filter(lambda v: tf.equal(v % 4, 0))
        data = data.interleave(lambda v: tf.data.Dataset.from_tensors(v + 1), cycle_length=1)
        iterator = tf1.data.make_initializable_iterator(data)
        tf.identity(iterator.get_next(), name="value")
    done, where = twice(graph, same)
    with tf1.Session(graph=where) as session:
        starts = [op for op in where.get_operations() if op.type == "MakeIterator"]
        session.run(starts)
        got = [session.run(done[0]["value:0"]) for _ in range(2)] + [session.run(done[1]["value:0"])]
    assert got == [101, 105, 101]


@pytest.mark.parametrize("same", [True, False])
def test_a_call_with_captured_variables_trains_apart(same):
    graph = tf.Graph()
    with graph.as_default():
        w = tf1.get_variable("w", initializer=3.0, use_resource=True)
        x = tf1.placeholder(tf.float32, [], name="x")
        y = tf.identity(tf.function(lambda v: v * w)(x), name="y")
    done, where = twice(graph, same)
    with where.as_default():
        slopes = [tf1.gradients(d[y], d[w])[0] for d in done]
    with tf1.Session(graph=where) as session:
        with where.as_default():
            session.run(tf1.global_variables_initializer())
        session.run(done[0][w].initializer, {done[0][w].initializer.inputs[1]: 10.0})
        feeds = {d[x]: 2.0 for d in done}
        assert session.run([d[y] for d in done], feeds) == [20.0, 6.0]
        assert session.run(slopes, feeds) == [2.0, 2.0]


def test_a_damaged_function_that_has_to_be_made_anew_is_named():
    with tf.Graph().as_default() as graph:
        tf.identity(tf.function(tf.negative)(tf.ones([])))
    graph_def = graph.as_graph_def()
    damaged = graph_def.library.function[0]
    damaged.node_def[0].input[0] = "gone:output:0"
    problem = "TensorFlow cannot make such a function: 'gone:output:0'"
    with refuses(PlanError, "copying 'f'", problem, "Leave out its calls"):
        import_functions(Library(), iter(["f"]), {"f": damaged}, {"f": damaged})
