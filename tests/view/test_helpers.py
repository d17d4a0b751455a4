from __future__ import annotations

from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.helper_ops import KINDS, Helpers, behind
from tests.view.graphs import network, node


def kinds(graph):
    found = Helpers.from_graph(graph)
    return {name: KINDS[k] for name, k in zip(graph.names, found.kind.tolist(), strict=True)}


def test_what_is_hidden_in_a_network():
    found = kinds(network())
    assert found["x"] == found["densea/MatMul"] == found["gradients/mul"] == ""
    assert {found[f"densea/w{tail}"] for tail in ("", "/Assign", "/read", "/Initializer/zeros")} == {"variables"}
    assert found["densea/shape"] == "constants"
    assert found["save/SaveV2"] == found["save/Const"] == "saving ops"
    assert found["init"] == "no-ops"


def test_a_variable_and_its_helpers_are_one_thing():
    graph = network()
    thing = Helpers.from_graph(graph).owner
    variable = graph.index["densea/w"]
    assert thing[graph.index["densea/w/read"]] == thing[graph.index["densea/w/Assign"]] == variable


def test_initializers_outside_the_scope_of_their_variable():
    found = kinds(
        Graph.from_ops(
            [
                ("start/shape", "Const", []),
                ("start/normal", "RandomNormal", ["start/shape"]),
                ("start/mul", "Mul", ["start/normal", "start/shape"]),
                ("w", "VariableV2", []),
                ("w/Assign", "Assign", ["w", "start/mul"]),
                ("given", "Placeholder", []),
                ("given_x2", "Neg", ["given"]),
                ("load", "Assign", ["w", "given_x2"]),
                ("restored", "RestoreV2", ["start/shape"]),
                ("restore", "Assign", ["w", "restored"]),
                *((f"y{i}q", "Neg", ["w"]) for i in range(5)),
            ]
        )
    )
    assert found["start/normal"] == found["start/mul"] == found["restored"] == found["restore"] == "initializers"
    assert found["given"] == found["given_x2"] == found["load"] == ""  # it hangs on an input


def test_captured_variables_of_a_function():
    found = kinds(
        Graph.from_nodes(
            [
                node("x", "_Arg", []),
                node("kernel", "_Arg", []),
                node("slot", "_Arg", [], dtype=20),
                node("read", "ReadVariableOp", ["kernel"]),
                node("y", "MatMul", ["x", "read"]),
                node("step", "ResourceApplyKerasMomentum", ["kernel", "slot", "y"]),
            ]
        )
    )
    assert found == {"x": "", "kernel": "variables", "slot": "variables", "read": "variables", "y": "", "step": ""}


def test_summaries_and_unconnected_ops():
    graph = Graph.from_ops(
        [("a", "Placeholder", []), ("b", "HistogramSummary", ["a"]), ("c", "Foo", [])]
        + [(f"n{i}q", "Neg", ["a"]) for i in range(12)]
    )
    assert kinds(graph)["b"] == "summaries"
    assert kinds(graph)["c"] == "unconnected ops"


def test_behind():
    assert all(map(behind, ("gradients", "train", "Adam", "RMSProp", "optimizer", "save", "summaries", "loss_1")))
    assert not any(map(behind, ("block1", "InceptionV3", "conv1", "logits", "tower_0")))


def test_empty_graph():
    assert Helpers.from_graph(Graph.from_ops([])).kind.tolist() == []
