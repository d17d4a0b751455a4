"""Functions that copies take along: shared, renamed, or of the same name as another."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.graphs import run

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
    assert "2 functions as they are: inner, outer" in text
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
    assert "2 functions under names of their own, branches of conds and loops" in str(
        ed.plan().copy(ed.select(), to="t")
    )
