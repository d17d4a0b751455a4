"""What could take a tensor is what `connect` does not refuse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphsurgeon.graph.graph import Graph
from graphsurgeon.plan.edge_checks import find_input_candidates
from graphsurgeon.plan.mutable_graph import MutableGraph
from graphsurgeon.plan.plan import Plan
from tests.plain import net, plain, unjudged

KINDS = [("float32", (2,)), ("float32", (None,)), ("float32", (3,)), ("int32", (2,)), ("float32", None)]


def _inputs(graph: Graph) -> list[tuple[int, int]]:
    return [(op, at) for op in range(graph.size) for at in range(len(graph.input_names(op)))]


def _agrees(graph: Graph, tensor: tuple[int, int]) -> None:
    for taker in find_input_candidates(MutableGraph(graph), tensor, _inputs(graph)):
        faults = unjudged(Plan(graph).connect(graph.name(tensor), to=taker.op, input=taker.input)).check()
        if taker.current_input == graph.name(tensor):
            assert taker.reason == "it already reads this tensor"
        else:
            assert bool(taker.reason) == bool(faults), (taker, faults)


@given(st.data())
def test_fitting_is_what_connect_accepts(data):
    ops, kinds = [("x", "Placeholder", [])], {"x": [data.draw(st.sampled_from(KINDS))]}
    for i in range(data.draw(st.integers(1, 7))):
        name = f"op{i}"
        ops.append((name, "Add", [data.draw(st.sampled_from([op for op, *_ in ops])) for _ in range(2)]))
        kinds[name] = [data.draw(st.sampled_from(KINDS))]
    graph = plain(*ops, outputs=kinds)
    _agrees(graph, (data.draw(st.integers(0, graph.size - 1)), 0))


@pytest.mark.parametrize("tensor", ["x", "rate", "net/w", "net/w/read", "net/mm", "parts:1"])
def test_variables_too(tensor):
    graph = net()
    _agrees(graph, graph.tensor(tensor))


def test_a_reason_says_dtype_shape_or_order():
    graph = net()
    found = {
        (t.op, t.input): t.reason
        for t in find_input_candidates(MutableGraph(graph), graph.tensor("net/mm:0"), _inputs(graph))
    }
    assert found["net/mm", 0] == "that makes a cycle: 'net/mm:0' is computed from it"
    assert found["net/drop", 0] == "it already reads this tensor"
    assert found["out", 0] == ""
    (other,) = find_input_candidates(MutableGraph(graph), graph.tensor("x:0"), [(graph.index["out"], 0)])
    assert other.reason == "reads 'net/drop:0', float32 (?, 3): axis 1 is 2 against 3"


def test_a_loop_keeps_to_itself():
    graph = plain(
        ("x", "Placeholder", []), ("enter", "Enter", ["x"]), ("merge", "Merge", ["enter", "next"]),
        ("cond", "LoopCond", ["merge"]), ("switch", "Switch", ["merge", "cond"]), ("body", "Neg", ["switch:1"]),
        ("next", "NextIteration", ["body"]), ("exit", "Exit", ["switch"]), ("after", "Neg", ["exit"]),
        outputs={"switch": [("float32", ()), ("float32", ())], "merge": [("float32", ()), ("int32", ())]},
    )  # fmt: skip
    (inside,) = find_input_candidates(MutableGraph(graph), graph.tensor("body:0"), [(graph.index["after"], 0)])
    assert "is inside a loop" in inside.reason
    (back,) = find_input_candidates(MutableGraph(graph), graph.tensor("exit:0"), [(graph.index["enter"], 0)])
    assert back.reason == "that makes a cycle: 'exit:0' is computed from it"
