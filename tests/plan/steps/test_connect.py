"""Inputs that are set one by one."""

from __future__ import annotations

import pytest

from graphsurgeon.errors import PlanError
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.plan import Plan
from tests.plain import net
from tests.plan.edits import FITTING, clean, edges, fault
from tests.refusal import refuses

G = net()


def test_connect_inside_the_plan():
    plan = clean(
        Plan(G).copy(select(G, name="net/drop"), to="t", unmapped="placeholder").connect("out:0", to="t/net/drop")
    )
    assert edges(plan.after(), "t/net/drop") == {"t/net/drop": ["out:0", "t/rate:0"]}
    assert plan.mode == "append"
    (join,) = plan.effect.connections
    assert (join.tensor, join.to, join.input, join.previous) == ("out:0", "t/net/drop", 0, "t/net/mm:0")


def test_connecting_an_input_twice_keeps_the_last():
    plan = clean(
        Plan(G).copy(select(G, name="net/drop"), to="t", unmapped="placeholder")
        .connect("out:0", to="t/net/drop").connect("net/drop:0", to="t/net/drop")
    )  # fmt: skip
    assert edges(plan.after(), "t/net/drop") == {"t/net/drop": ["net/drop:0", "t/rate:0"]}
    assert [c.tensor for c in plan.effect.connections] == ["net/drop:0"]


def test_connecting_what_exists_needs_a_new_graph():
    plan = clean(Plan(G).copy(select(G, name="net/mm"), to="t", unmapped="keep").connect("t/net/mm:0", to="net/drop"))
    assert plan.mode == "materialize"
    assert edges(plan.after(), "net/drop") == {"net/drop": ["t/net/mm:0", "rate:0"]}
    (edit,) = plan.effect.edits
    assert (edit.to, edit.input, edit.tensor, edit.previous) == ("net/drop", 0, "t/net/mm:0", "net/mm:0")
    assert G.input_names(G.index["net/drop"]) == ["net/mm:0", "rate:0"]


@pytest.mark.parametrize(
    ("tensor", "to", "input", "words"),
    [
        ("yy:0", "z", 0, ["there is no tensor 'yy:0' in net", "Did you mean"]),
        ("y:3", "z", 0, ["op 'y' (Neg) has 1 output", "It has 'y:0'"]),
        ("x:0", "zz", 0, ["no op is called 'zz' in net"]),
        ("x:0", "add", 2, ["op 'add' (Add) has no input 2; it has 2 inputs", "Choose input=0 or 1"]),
        ("x:0", "add", -1, ["has no input -1"]),
        ("y:0", "x", 0, ["op 'x' (Placeholder) has no input 0; it has 0 inputs", "Choose another op"]),
        ("k:0", "z", 0, ["'k:0' is int32 (?, 64), but input 0 of 'z' takes float32 (it reads 'y:0', float32 (?, 64))",
                         "These would fit: 'x:0', 'fits:0', 'loose:0'"]),
        ("wide:0", "add", 1, ["'wide:0' is float32 (?, 128), but input 1 of 'add' reads 'z:0', float32 (?, 64): "
                              "axis 1 is 128 against 64", "These would fit: 'x:0'"]),
        ("deep:0", "z", 0, ["rank 3 against rank 2"]),
        ("add:0", "y", 0, ["that makes a cycle: 'add:0' is computed from 'y'", "Choose a tensor above it"]),
        ("z:0", "z", 0, ["that makes a cycle: 'z:0' is computed from 'z'"]),
    ],
)  # fmt: skip
def test_connections_refused(tensor, to, input, words):
    fault(Plan(FITTING).connect(tensor, to=to, input=input), f"connect({tensor!r}, to={to!r}, input={input})", *words)


@pytest.mark.parametrize("number", ["a", "0", 1.0, None])
def test_the_number_of_an_input_is_a_whole_number(number):
    with refuses(PlanError, f"input={number!r} is not the number of an input", "Type the first input as input=0"):
        Plan(FITTING).connect("x:0", to="add", input=number)


@pytest.mark.parametrize("tensor", ["fits:0", "loose:0", "y:0", "x"])
def test_connections_that_fit(tensor):
    plan = Plan(FITTING).connect(tensor, to="add", input=1)
    assert plan.check() == ()
    assert plan.after().input_names(FITTING.index["add"])[1] == (tensor if ":" in tensor else f"{tensor}:0")
