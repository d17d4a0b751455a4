"""What would end the process inside TensorFlow is refused before."""

from __future__ import annotations

import graphsurgeon as gs
from tests.graphs import tf1
from tests.refusal import refuses


def calling(*pairs: tuple[str, str]) -> tf1.GraphDef:
    """Returns a GraphDef with functions that call each other, and one op that calls the first."""
    graph_def = tf1.GraphDef()
    for name, callee in pairs:
        function = graph_def.library.function.add()
        function.signature.name = name
        node = function.node_def.add(name="call", op="PartitionedCall")
        node.attr["f"].func.name = callee
        for key in ("Tin", "Tout"):
            node.attr[key].list.SetInParent()
    node = graph_def.node.add(name="start", op="PartitionedCall")
    node.attr["f"].func.name = pairs[0][0]
    for key in ("Tin", "Tout"):
        node.attr[key].list.SetInParent()
    return graph_def


def test_a_function_that_calls_itself():
    with refuses(gs.OpenError, "function 'f' calls itself: f -> f", "write it as a loop"):
        gs.open(calling(("f", "f")))


def test_two_functions_that_call_each_other():
    with refuses(gs.OpenError, "calls itself: f -> g -> f"):
        gs.open(calling(("f", "g"), ("g", "f")))


def test_more_inputs_than_there_are():
    graph_def = tf1.GraphDef()
    graph_def.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    node = graph_def.node.add(name="sum", op="AddN", input=["x"])
    node.attr["T"].type = 1
    node.attr["N"].i = 10**9
    with refuses(gs.OpenError, "'sum' (AddN) says it has 1,000,000,000 inputs, and has 1"):
        gs.open(graph_def)
