"""Updates: which ops change the state of a region as a part of it."""

from __future__ import annotations

import pytest

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.training import updates
from graphsurgeon.graph.variables import CollectionEntry, GraphState, VariableInfo

#: Two blocks, each with a moving average; a counter that the first reads; an optimizer, and a step that counts.
OPS = [
    ("x", "Placeholder", []),
    ("label", "Placeholder", []),
    *((name, "VarHandleOp", []) for name in ("seen1", "seen2", "seed", "w", "slot", "step", "total")),
    ("one", "Const", []),
    ("seed/start", "AssignVariableOp", ["seed", "one"]),
    ("seed/read", "ReadVariableOp", ["seed"]),
    ("seed/next", "AddV2", ["seed/read", "one"]),
    ("seed/update", "AssignVariableOp", ["seed", "seed/next"]),
    ("a/mean", "Mean", ["x", "seed/read"]),
    ("a/old", "ReadVariableOp", ["seen1"]),
    ("a/less", "Sub", ["a/old", "a/mean"]),
    ("a/update", "AssignSubVariableOp", ["seen1", "a/less"]),
    ("a", "Sub", ["x", "a/mean"]),
    ("b/mean", "Mean", ["a"]),
    ("b/update", "AssignSubVariableOp", ["seen2", "b/mean"]),
    ("b", "Sub", ["a", "b/mean"]),
    ("slope", "Sub", ["b", "label"]),
    ("w/update", "AssignSubVariableOp", ["w", "slope"]),
    ("slot/update", "AssignSubVariableOp", ["slot", "slope"]),
    ("step/update", "AssignAddVariableOp", ["step", "one"]),
    ("right", "Equal", ["b", "label"]),
    ("total/update", "AssignAddVariableOp", ["total", "right"]),
    ("apply", "ApplyGradientDescent", ["w", "slope"]),
]


def graph(said=(), metrics=()):
    variables = {name: VariableInfo(name, f"{name}/start", trainable=name == "w", collections=("variables",))
                 for name in ("seen1", "seen2", "seed", "w", "slot", "step", "total")}  # fmt: skip
    collections = {
        "update_ops": tuple(CollectionEntry("op", name) for name in said),
        "global_step": (CollectionEntry("variable", "step"),),
        "metric_variables": tuple(CollectionEntry("variable", name) for name in metrics),
    }
    return Graph.from_ops(OPS, state_of=lambda: GraphState(variables, collections))


def of(g, names, *inputs):
    return updates(g, g.mask(g.index[name] for name in names), [g.tensor(name) for name in inputs])


A = ("a", "a/mean", "seed/read")


@pytest.mark.parametrize(
    ("region", "inputs", "wanted"),
    [
        (A, ["x:0"], ("seed/update", "a/update")),
        (("b", "b/mean"), ["a:0"], ("b/update",)),
        ((*A, "b", "b/mean"), ["x:0"], ("seed/update", "a/update", "b/update")),
        (("a",), ["x:0", "a/mean:0"], ("a/update",)),
        (("slope",), ["b:0", "label:0"], ("slot/update", "total/update")),
    ],
    ids=["the first block", "the second", "both", "the average of an input", "what is below"],
)
def test_those_of_a_region(region, inputs, wanted):
    assert of(graph(), region, *inputs).inside == wanted


def test_those_that_need_what_no_input_gives():
    found = of(graph(), (*A, "b", "b/mean"), "x:0")
    assert found.outside == {"total/update": "label:0"}
    assert of(graph(metrics=["total"]), (*A, "b", "b/mean"), "x:0").outside == {}


def test_the_collection_says_which_they_are():
    assert of(graph(said=["a/update"]), (*A, "b", "b/mean"), "x:0").inside == ("a/update",)


def test_a_graph_without_variables_has_none():
    g = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"])], state_of=GraphState)
    assert of(g, ["y"], "x:0") == of(g, [], "x:0")
