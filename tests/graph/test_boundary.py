"""Boundaries: what enters, leaves and leaks; and boundaries that do not connect."""

from __future__ import annotations

import pytest

from graphsurgeon.errors import SelectionError
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import select
from tests.plain import net, plain, variable
from tests.refusal import refuses

G = net()


def test_what_crosses():
    b = select(G, scope="net").boundary
    assert b.inputs == ("x:0", "rate:0")
    assert b.outputs == ("net/mm:0", "net/drop:0")
    assert b.variables == ("net/w",)
    assert b.control_inputs == ()
    assert b.leaks == ()


@pytest.mark.parametrize("kind", ["VariableV2", "VarHandleOp"])
def test_what_sets_or_asks_of_a_variable_is_no_output(kind):
    ops, info = variable("s/v", kind)
    ask = "VarIsInitializedOp" if kind == "VarHandleOp" else "IsVariableInitialized"
    g = plain(*ops, ("s/v/ask", ask, ["s/v"]), ("s/y", "Neg", [ops[-1][0]]), variables=[info])
    assert select(g, scope="s").boundary.outputs == ("s/y:0",)


def test_control_inputs():
    b = select(G, name="out").boundary
    assert b.control_inputs == (("out", "side"),)
    assert b.inputs == ("net/drop:0",)
    assert b.outputs == ("out:0",)


def test_each_output_of_an_op_by_itself():
    g = plain(
        ("a", "Split", []),
        ("b", "Neg", ["a:1"]),
        ("c", "Neg", ["a"]),
        ("d", "Neg", ["a:1"]),
        outputs={"a": [("float32", ())] * 3},
    )
    assert select(g, name="a").boundary.outputs == ("a:0", "a:1")
    assert select(g, name=["b", "d"]).boundary.inputs == ("a:1",)


def test_a_boundary_keeps_the_order_asked_for():
    b = select(G, inputs=["rate:0", "x:0"], outputs=["parts:1", "out:0"]).boundary
    assert b.inputs == ("rate:0", "x:0")
    assert b.outputs == ("parts:1", "out:0")
    assert b.leaks == ()


def test_a_cut_inside_enters_from_inside():
    s = select(G, inputs=["net/mm:0", "rate:0"], outputs=["out:0"])
    assert set(s.names) == {"net/drop", "side", "out"}
    assert s.boundary.inputs == ("net/mm:0", "rate:0")
    assert s.boundary.control_inputs == (("side", "rate"),)
    assert s.boundary.leaks == ()


def test_an_op_with_one_output_cut_and_one_needed():
    g = plain(("a", "Split", []), ("b", "Add", ["a", "a:1"]), outputs={"a": [("float32", ())] * 2})
    s = select(g, inputs=["a:0"], outputs=["b:0"])
    assert s.names == ["a", "b"]
    assert s.boundary.inputs == ("a:0",)
    assert s.boundary.leaks == ()


def test_leaks_are_named_with_their_source():
    s = select(G, inputs=["net/mm:0"], outputs=["out:0"])
    assert set(s.names) == {"net/drop", "side", "out"}
    (leak,) = s.boundary.leaks
    assert (leak.tensor, leak.needed_by, leak.source) == ("rate:0", ("net/drop",), "rate")
    assert str(leak) == "rate:0 (needed by net/drop; comes from rate)"
    assert s.boundary.inputs == ("net/mm:0", "rate:0")
    assert s.boundary.control_inputs == (("side", "rate"),)


def test_a_leak_far_from_its_source():
    g = Graph.from_ops(
        [
            ("x", "Placeholder", []),
            ("q", "QueueDequeueV2", []),
            ("far", "Neg", ["q"]),
            ("one", "Add", ["x", "far"]),
            ("two", "Add", ["one", "far"]),
        ]
    )
    s = select(g, inputs=["x:0"], outputs=["two:0"])
    assert s.names == ["one", "two"]
    (leak,) = s.boundary.leaks
    assert str(leak) == "far:0 (needed by one and 1 more; comes from q)"


def test_constants_and_variables_come_into_the_region():
    ops, info = variable("v", "VarHandleOp")
    g = plain(("x", "Placeholder", []), ("c", "Const", []), ("y", "Add", ["x", "c"]), *ops,
              ("z", "Mul", ["y", "v/Read/ReadVariableOp"]), variables=[info])  # fmt: skip
    s = select(g, inputs=["x:0"], outputs=["z:0"])
    assert set(s.names) == {"c", "y", "v", "v/Read/ReadVariableOp", "z"}
    assert s.boundary.variables == ("v",)
    assert s.boundary.leaks == ()


def test_what_only_a_leak_needs_stays_outside():
    g = Graph.from_ops(
        [
            ("x", "Placeholder", []),
            ("w", "Const", []),
            ("left", "MatMul", ["x", "w"]),
            ("v", "Const", []),
            ("right", "MatMul", ["x", "v"]),
            ("y", "Add", ["left", "right"]),
        ]
    )
    s = select(g, inputs=["left:0"], outputs=["y:0"])
    assert s.names == ["y"]
    assert [leak.tensor for leak in s.boundary.leaks] == ["right:0"]


def test_an_output_that_stands_on_a_leak_alone():
    g = Graph.from_ops([("x", "Placeholder", []), ("r", "Placeholder", []), ("a", "Neg", ["x"]), ("b", "Neg", ["r"])])
    s = select(g, inputs=["x:0"], outputs=["a:0", "b:0"])
    assert s.names == ["a", "b"]
    assert [leak.tensor for leak in s.boundary.leaks] == ["r:0"]


def test_an_output_that_is_an_input_of_the_region():
    g = Graph.from_ops([("x", "Placeholder", []), ("a", "Neg", ["x"]), ("b", "Neg", ["a"])])
    assert select(g, inputs=["x:0"], outputs=["a:0", "b:0"]).names == ["a", "b"]
    assert select(g, inputs=["x:0", "a:0"], outputs=["a:0", "b:0"]).names == ["a", "b"]


def test_as_text():
    text = str(select(G, inputs=["net/mm:0"], outputs=["out:0"]).boundary)
    assert text.splitlines() == [
        "boundary",
        "  inputs         net/mm:0, rate:0",
        "  outputs        out:0",
        "  control inputs side after rate",
        "  variables      none",
        "  leaks          rate:0 (needed by net/drop; comes from rate)",
    ]
    wide = Graph.from_ops(
        [*((f"p{i}", "Placeholder", []) for i in range(9)), ("s", "AddN", [f"p{i}" for i in range(9)])]
    )
    assert "p5:0 and 3 more" in str(select(wide, name="s").boundary)


@pytest.mark.parametrize(
    ("inputs", "outputs", "words"),
    [
        (
            ["out:0"],
            ["net/mm:0"],
            ["'out:0' does not lead to 'net/mm:0'", "computed from. Inputs and outputs seem to be swapped"],
        ),
        (["net/mm:0", "parts:1"], ["out:0"], ["'parts:1' does not lead to 'out:0'", "Leave it out"]),
        (["rate:0"], ["net/mm:0", "parts:0"], ["'rate:0' does not lead to 'net/mm:0' or 'parts:0'"]),
        (["parts:0", "rate:0"], ["net/mm:0"], ["'parts:0' and 'rate:0' do not lead", "Leave them out"]),
    ],
)
def test_a_boundary_that_does_not_connect(inputs, outputs, words):
    with refuses(SelectionError, "the boundary does not connect:", "out, or name a tensor", *words):
        select(G, inputs=inputs, outputs=outputs)


def test_no_output_is_proposed_for_an_input():
    g = Graph.from_ops([("in_1", "Placeholder", []), ("in_2", "Neg", ["in_1"]), ("in_3", "Placeholder", [])])
    with refuses(SelectionError, "'in_3:0' does not lead to 'in_2:0'", "Did you mean 'in_1'?"):
        select(g, inputs=["in_3:0"], outputs=["in_2:0"])


def test_an_input_behind_another_is_not_needed():
    with refuses(SelectionError, "'x:0' does not lead to 'out:0'"):
        select(G, inputs=["x:0", "net/mm:0"], outputs=["out:0"])


def test_a_placeholder_nobody_reads_is_no_output():
    assert select(plain(("x", "Placeholder", []), ("y", "Neg", []))).boundary.outputs == ("y:0",)


def test_a_tensor_that_is_input_and_output_passes_through():
    g = Graph.from_ops([("x", "Placeholder", []), ("k", "Placeholder", []), ("y", "Add", ["x", "k"])])
    block = select(g, inputs=["x:0", "k:0"], outputs=["y:0", "k:0"])
    assert block.names == ["y"]
