"""Every fault a plan can have, by its text."""

from __future__ import annotations

import pytest

from graphsurgeon.graph.graph import Graph, TensorInfo
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.plan import Plan
from graphsurgeon.plan.steps.edit import RemoveStep
from graphsurgeon.plan.type_check import axis_text, fitting_text, shapes_differ
from tests.plain import chain, net, plain
from tests.plan.edits import FITTING, fault
from tests.refusal import reads

G = net()


# -- the scope ------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["net", "NET", "out", "net/w"])
def test_a_scope_that_is_taken(to):
    plan = Plan(G).copy(select(G, name="side"), to=to, control="drop")
    fault(plan, f"copy(to={to!r}): the name {to!r} is taken in net", f"Type to='{to}_2', which is free")


@pytest.mark.parametrize("to", ["a b", "a//b", "-a", "a:0"])
def test_no_scope(to):
    like = {"a b": "a_b", "a//b": "a/b", "-a": "a", "a:0": "a_0"}[to]
    fault(
        Plan(G).copy(select(G), to=to), f"{to!r} is not a name scope: ", "Use letters, digits", f"for example {like!r}"
    )


def test_no_scope_and_names_taken():
    fault(Plan(G).copy(select(G), to=""), "11 of the names are taken in net, 'x' first", "to='copy' is free")


def test_a_reused_scope_that_holds_something_else():
    base = Graph.from_ops([("t/out", "Const", [])], title="base")
    plan = Plan(base).copy(select(G), to="t", reuse={"x": "t/x"}, control="include")
    fault(plan, "copy(to='t'): 't/out' is there already and is not a copy of 'out'", "Choose another namespace")


# -- what is copied ---------------------------------------------------------------------------------


def test_nothing_selected():
    s = select(G)
    fault(Plan(G).copy(s - s, to="t"), "the selection is empty", "Select at least one op")


def test_keep_and_share_need_one_graph():
    other = Plan(Graph.from_ops([]))
    part = select(G, name=["net/mm", "net/w", "net/w/read"])
    fault(other.copy(part, to="t", unmapped="keep"), "unmapped='keep' would read tensors of net from another graph",
          "Give the replacements in inputs={...}, or choose unmapped='placeholder' or 'include'")  # fmt: skip
    fault(other.copy(part, to="t", unmapped="placeholder", control="keep"), "control='keep' would read",
          "Choose control='drop' or control='include'")  # fmt: skip
    fault(other.copy(part, to="t", unmapped="placeholder", variables="share"),
          "variables='share' is possible only within one graph", "Choose variables='copy' or 'initial'")  # fmt: skip


def test_unmapped_tensors_are_refused_by_name():
    plan = Plan(G).copy(select(G, name="net/drop"), to="t")
    fault(plan, "the copy needs 2 tensors that are not mapped: 'net/mm:0', 'rate:0'",
          "Map it: inputs={'net/mm:0': 'name:0'}, or choose unmapped='placeholder', 'include' or 'keep'")  # fmt: skip
    plan = Plan(Graph.from_ops([])).copy(select(G, name="parts"), to="t")
    fault(plan, "the copy needs 1 tensor that is not mapped: 'net/mm:0'", "unmapped='placeholder', 'include'.")
    wide = Graph.from_ops(
        [*((f"p{i}", "Placeholder", []) for i in range(6)), ("s", "AddN", [f"p{i}" for i in range(6)])]
    )
    fault(Plan(wide).copy(select(wide, name="s"), to="t"), "6 tensors", "'p3:0' and 2 more")


def test_a_mapping_of_what_does_not_enter():
    plan = Plan(G).copy(select(G, name="net/drop"), to="t", inputs={"x:0": "x:0"}, unmapped="keep")
    fault(
        plan, "inputs names 'x:0', which does not enter the selection", "The entering tensors are 'net/mm:0', 'rate:0'"
    )
    plan = Plan(G).copy(select(G, name="net/drop"), to="t", inputs={"net/w/read:0": "x:0"}, unmapped="keep")
    assert "net/w/read:0" in plan.check()[0].problem
    plan = Plan(G).copy(select(G, name="x"), to="t", inputs={"rate:0": "rate:0"})
    fault(plan, "does not enter", "No tensor enters this selection")


def test_control_inputs_from_another_graph():
    plan = Plan(Graph.from_ops([])).copy(select(G, name="out"), to="t", unmapped="placeholder")
    fault(plan, "'out' must run after 'side', which is not copied",
          "Choose control='drop' to copy without that order, or control='include' to copy it too")  # fmt: skip
    two = Graph.from_ops([("a", "NoOp", []), ("b", "NoOp", ["^a"]), ("c", "NoOp", ["^a"])])
    fault(
        Plan(Graph.from_ops([])).copy(select(two, name=["b", "c"]), to="t"), "'b' must run after 'a'", "(2 such edges)"
    )


def test_a_loop_is_not_cut():
    g = Graph.from_ops(
        [
            ("start", "Const", []), ("enter", "Enter", ["start"]), ("merge", "Merge", ["enter", "next"]),
            ("switch", "Switch", ["merge", "merge"]), ("next", "NextIteration", ["switch:1"]),
            ("exit", "Exit", ["switch"]), ("use", "Neg", ["exit"]),
        ]
    )  # fmt: skip
    plan = Plan(Graph.from_ops([])).copy(select(g, name=["merge", "switch"]), to="t", unmapped="placeholder")
    fault(plan, "the selection cuts through a loop: 2 of its 5 ops are selected", "'enter:0' is computed in each round",
          "its inputs are start:0; its outputs are exit:0")  # fmt: skip
    whole = Plan(Graph.from_ops([])).copy(select(g), to="t")
    assert whole.check() == ()
    without = Plan(Graph.from_ops([])).copy(select(g, name="use"), to="t", unmapped="placeholder")
    assert without.check() == ()


# -- mappings ---------------------------------------------------------------------------------------


def test_mapped_names_must_be_there():
    s = select(G, name="net/drop")
    plan = Plan(G).copy(s, to="t", inputs={"net/mn:0": "x:0", "rate:0": "rats:0"})
    found = plan.check()
    reads(found[0], "copy(to='t', inputs={'net/mn:0': 'x:0'}): there is no tensor 'net/mn:0' in net", "'net/mm'")
    reads(found[1], "inputs={'rate:0': 'rats:0'}", "there is no tensor 'rats:0'", "Did you mean 'rate'")


def test_a_mapped_dtype_that_differs():
    base = plain(
        ("k", "Placeholder", []), ("f", "Placeholder", []), ("c", "Const", []), ("wide", "Placeholder", []),
        outputs={"k": [("int32", (None, 3))], "f": [("float32", (5, 3))], "wide": [("float32", (5, 4))]}, title="base",
    )  # fmt: skip
    plan = Plan(base).copy(select(G, name="parts"), to="t", inputs={"net/mm:0": "k:0"})
    reads(plan.check()[0], "copy(to='t', inputs={'net/mm:0': 'k:0'})",
          "'k:0' is int32 (?, 3), but 'net/mm:0' is float32 (?, 3): the dtypes int32 and float32 differ",
          "These would fit: 'f:0'.")  # fmt: skip
    only = plain(("k", "Placeholder", []), outputs={"k": [("int32", ())]}, title="only")
    plan = Plan(only).copy(select(G, name="parts"), to="t", inputs={"net/mm:0": "k:0"})
    reads(plan.check()[0], "No tensor of only is float32 (?, 3); convert one first")


def test_a_reference_may_take_the_place_of_its_value():
    plan = Plan(G).copy(select(G, name="net/mm"), to="t", inputs={"net/w/read:0": "net/w:0", "x:0": "x:0"})
    assert plan.check() == ()


# -- connect ----------------------------------------------------------------------------------------


def test_all_faults_at_once():
    plan = (
        Plan(FITTING)
        .copy(select(FITTING, name="add"), to="x")
        .copy(select(FITTING, name="add"), to="t")
        .connect("no", to="add")
    )
    assert [f.request for f in plan.check()] == ["copy(to='x')", "copy(to='t')", "connect('no:0', to='add', input=0)"]


# -- the helpers --------------------------------------------------------------------------------------


def test_shapes_and_axes():
    assert axis_text(None, (1,)) == "one rank is unknown"
    assert axis_text((1, None), (1, 5)) == "they agree"
    assert axis_text((3, 4), (3, 5)) == "axis 1 is 4 against 5"
    assert shapes_differ((), (1,))
    assert not shapes_differ((), ())


def test_candidates_are_few_and_no_helpers():
    g = plain(*((f"p{i}", "Neg", []) for i in range(9)), ("c", "Const", []))
    assert fitting_text(g, TensorInfo("float32_ref", ())) == "These would fit: 'p0:0', 'p1:0', 'p2:0', 'p3:0'"
    assert fitting_text(plain(("c", "Const", [])), TensorInfo("float32", ())).startswith(
        "No tensor of tiny is float32 ()"
    )
    assert fitting_text(chain(3), TensorInfo("float32", ())).startswith("No tensor")


def test_the_request_of_a_step_on_many_ops_names_three_of_them():
    names = tuple(f"op{i}" for i in range(9))
    assert RemoveStep(names, stitch=True).request == "remove(['op0', 'op1', 'op2', ...], stitch=True)"
    assert RemoveStep(names[:8]).request == f"remove({[*names[:8]]})"
