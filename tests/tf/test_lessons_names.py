"""Names and numbers: what TensorFlow's importers rename, refuse or grow slow on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.cost import growth, lines
from tests.graphs import look, run, tf1, tiny
from tests.refusal import reads, refuses


def constants(*names: str) -> Any:
    """Returns a GraphDef of constants 0, 1, 2 ... under these names."""
    graph_def = graph_pb2.GraphDef()
    graph_def.versions.producer = tf.version.GRAPH_DEF_VERSION
    for value, name in enumerate(names):
        node = graph_def.node.add(name=name, op="Const")
        node.attr["dtype"].type = tf.int32.as_datatype_enum
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value))
    return graph_def


ODD = [
    ("A/x", "a/X"), ("x/y", "x/y/z"), ("x/y/z", "x/y"), ("x//y",), ("x/",), (".x",), ("a>b",), ("x-1", "x_1"),
    ("n" * 300,), ("/".join("deep" for _ in range(60)),),
]  # fmt: skip


@pytest.mark.parametrize("names", ODD)
@pytest.mark.parametrize("same", [True, False], ids=["one graph", "two graphs"])
def test_every_name_is_kept_exactly(names, same):
    src = gs.open(constants(*names))
    dst = src if same else gs.open(tf.Graph())
    for to in ("t", "T/u"):
        scope = to if not (same and to == "T/u") else "u/T"
        done = dst.apply(dst.plan().copy(src.select(name=list(names)), to=scope))
        assert done.ops == [f"{scope}/{name}" for name in names]
        assert run(dst.graph, [f"{scope}/{name}:0" for name in names]) == list(range(len(names)))


def test_under_an_op_and_beside_a_scope_that_starts_alike():
    dst, src = gs.open(tiny()), gs.open(tiny())
    for to in ("y/inside", "y_", "yy/y/y"):
        assert dst.apply(dst.plan().copy(src.select(), to=to))["y"].name == f"{to}/y"
    for to in ("y", "Y", "y/inside", "yy", "yy/Y"):
        reads(dst.plan().copy(src.select(), to=to).check()[0], f"copy(to={to!r}): the name {to!r} is taken in graph")


def test_a_scope_that_only_a_name_scope_has_taken():
    """A name scope that is open and empty is a name in Python's table only: the copy gets exactly what was asked."""
    graph = tiny()
    with graph.as_default(), tf.name_scope("t"):
        pass
    ed = gs.open(graph)
    done = ed.apply(ed.plan().copy(ed.select(name="y"), to="t", unmapped="keep"))
    assert done.ops == ["t/y"]
    with graph.as_default(), tf.name_scope("t") as scope:
        assert scope == "t_1/"


def test_twice_under_one_scope_in_one_plan():
    dst, src = gs.open(tf.Graph()), gs.open(tiny())
    before = look(dst.graph)
    plan = dst.plan().copy(src.select(), to="t").copy(src.select(), to="t")
    with refuses(PlanError, "copy(to='t'): the name 't' is taken", "Type to='t_2', which is free"):
        dst.apply(plan)
    assert look(dst.graph) == before


# -- numbers ----------------------------------------------------------------------------------------------------


def copy(count: int) -> Callable[[], None]:
    """Returns the copy of `count` ops in a row, all of them in a collection."""
    graph = tf.Graph()
    graph_def = constants("c0")
    for i in range(1, count):
        graph_def.node.add(name=f"c{i}", op="Neg", input=[f"c{i - 1}"]).attr["T"].type = tf.int32.as_datatype_enum
    with graph.as_default():
        tf1.import_graph_def(graph_def, name="")
    for op in graph.get_operations():
        graph.add_to_collection("many", op.outputs[0])
    dst, src = gs.open(tf.Graph()), gs.open(graph)

    def carry_out():
        done = dst.apply(dst.plan().copy(src.select(), to="t"))
        assert len(done.ops) == count
        assert len(dst.graph.get_collection("t/many")) == count

    return carry_out


def test_a_collection_of_eight_thousand_costs_no_square():
    lines(copy(100))  # what is made at the first
    assert growth(copy, 1000, 8000) < 10  # the square would be 64


def test_one_tensor_that_many_read():
    lines(read_by(100))  # what is made at the first
    assert growth(read_by, 1000, 8000) < 10


def read_by(count: int) -> Callable[[], None]:
    """Returns the copy of `count` ops that all read one tensor, which is in the destination already."""
    graph_def = constants("x")
    for i in range(count):
        graph_def.node.add(name=f"n{i}", op="Neg", input=["x"]).attr["T"].type = tf.int32.as_datatype_enum
    src, dst = gs.open(graph_def), gs.open(tf.Graph())
    with dst.graph.as_default():
        x = tf.constant(5, name="x")
    block = src.select(op="Neg")
    plan = dst.plan().copy(block, to="t", inputs={"x:0": x})

    def carry_out():
        done = dst.apply(plan)
        assert len(x.consumers()) == count
        assert run(dst.graph, done[f"n{count - 1}:0"]) == -5

    return carry_out
