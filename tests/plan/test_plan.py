"""Plans are values; what their arguments may be."""

from __future__ import annotations

import dataclasses

import pytest

from graphsurgeon.errors import PlanError, SelectionError
from graphsurgeon.graph.names import op_name, tensor_name
from graphsurgeon.graph.pattern import Pattern
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.backend import Backend
from graphsurgeon.plan.fault import Fault
from graphsurgeon.plan.plan import Plan
from graphsurgeon.plan.plan_result import InferenceResult
from graphsurgeon.running.trace import materialized
from tests.plain import net, plain
from tests.refusal import reads, refuses


def test_each_verb_returns_a_new_plan():
    g = net()
    empty = Plan(g)
    one = empty.copy(select(g, scope="net"), to="copy", unmapped="placeholder")
    two = one.connect("x:0", to="copy/net/mm", input=0)
    assert (len(empty), len(one), len(two)) == (0, 1, 2)
    assert (empty.steps, two.steps[0]) == ((), one.steps[0])
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.steps = ()


def test_planning_twice_changes_nothing_twice():
    g = net()
    before = g.fingerprint
    plans = [Plan(g).copy(select(g, scope="net"), to="copy", unmapped="keep") for _ in range(2)]
    assert plans[0].after().fingerprint == plans[1].after().fingerprint
    assert plans[0].check() == plans[1].check() == ()
    assert g.fingerprint == before
    assert plans[0].after() is plans[0].after()


def test_an_empty_plan():
    g = net()
    plan = Plan(g)
    assert plan.check() == ()
    assert plan.mode == "append"
    assert plan.after() is g
    assert repr(plan) == "<Plan for net: empty>"
    assert "(no steps yet)" in str(plan)


def test_as_text():
    g = net()
    plan = Plan(g).copy(select(g, scope="net"), to="copy", unmapped="keep").connect("x", to="copy/net/mm")
    assert repr(plan) == "<Plan for net: copy 6 ops of net to copy/; connect x:0 to input 0 of copy/net/mm>"
    assert Plan(g).copy(select(g), to="").steps[0].describe() == "copy 11 ops of net to the top"


def test_objects_stand_for_their_names():
    class Named:
        name = "a/b:1"

    assert (tensor_name(Named()), op_name(Named())) == ("a/b:1", "a/b")
    assert (tensor_name("a/b"), op_name("a/b:3")) == ("a/b:0", "a/b")
    g = net()
    step = Plan(g).copy(select(g, name="out"), to="t", inputs={Named(): "x"}).steps[0]
    assert step.inputs == (("a/b:1", "x:0"),)


def test_control_defaults_to_what_the_two_graphs_allow():
    g = net()
    assert Plan(g).copy(select(g), to="t").steps[0].control == "keep"
    assert Plan(net()).copy(select(g), to="t").steps[0].control == "refuse"


@pytest.mark.parametrize(
    ("argument", "value", "choices"),
    [
        ("unmapped", "drop", "'include', 'keep', 'placeholder', 'refuse'"),
        ("control", "placeholder", "'drop', 'include', 'keep', 'refuse'"),
        ("variables", "thaw", "'copy', 'freeze', 'initial', 'share'"),
        ("variables", {"net/w": "steal"}, "'copy', 'freeze', 'initial', 'share'; a single variable can also be "),
        ("variables", "head/w:0", "'copy', 'freeze', 'initial', 'share'"),
        ("seeds", "other", "'keep', 'new'"),
        ("collections", "all", "'keep', 'none', 'rename', 'variables'"),
    ],
)
def test_a_choice_that_is_none(argument, value, choices):
    g = net()
    shown = value if isinstance(value, str) else "steal"
    with refuses(PlanError, "copy(to='t')", f"{argument}={shown!r} is not known", f"Choose one of {choices}"):
        Plan(g).copy(select(g), to="t", **{argument: value})


@pytest.mark.parametrize("device", ["gpu zero", {"/gpu:0": "nowhere"}, {"here": "/cpu:0"}])
def test_a_device_that_is_none(device):
    shown = device if isinstance(device, str) else next(n for n in ("nowhere", "here") if n in str(device))
    with refuses(
        PlanError, "copy(to='t')", f"device={shown!r} is not a device", "Choose 'clear', 'keep', a device such as"
    ):
        Plan(net()).copy(select(net()), to="t", device=device)


def test_a_selection_is_copied_or_ops_and_scopes_by_name():
    plan = Plan(net())
    assert plan.copy("net/mm", to="t").steps[0].selection.names == ["net/mm"]
    assert plan.copy(["net"], to="t").steps[0].selection.names == select(plan.base, scope="net").names
    with refuses(PlanError, "copy(to='t'): 3 is not a selection", "ed.select(...)"):
        plan.copy(3, to="t")
    with refuses(SelectionError, "copy(to='t')", "'net/mn'", "Did you mean 'net/mm'"):
        plan.copy("net/mn", to="t")


def test_a_fault_becomes_an_error_that_counts_the_others():
    fault = Fault("copy()", "nothing is there", "Pick something")
    reads(fault, "copy(): nothing is there.\nPick something.")
    reads(fault.to_error(2), "nothing is there (and 2 more: see plan.check())")


def test_the_backend_is_asked_only_of_a_faultless_plan():
    g, asked = net(), []

    class Strict(Backend):
        def infer_shapes(self, effect):
            asked.append(effect)
            return InferenceResult((Fault("apply", "TensorFlow says no", "Do not"),))

    good = Plan(g, backend=Strict()).copy(select(g, scope="net"), to="t", unmapped="keep")
    assert [f.problem for f in good.check()] == ["TensorFlow says no"]
    assert good.check() is good.check()
    assert asked == [good.effect]
    bad = Plan(g, backend=Strict()).copy(select(g, scope="net"), to="net")
    assert "is taken" in bad.check()[0].problem
    assert asked == [good.effect]


def test_memory_that_runs_out_while_a_plan_is_worked_out_names_it():
    class Full(Backend):
        def build_subgraphs(self, *request):
            raise MemoryError("Unable to allocate 8 GiB")

        def infer_shapes(self, effect):
            raise MemoryError

    g, room = net(), "there is not enough memory"
    relu = Pattern.from_graph(plain(("a", "Placeholder", []), ("b", "Relu", ["a"])))
    with pytest.raises(MemoryError, match=rf"^plan: replace .*: {room} \(Unable to allocate 8 GiB\)\. Close unused"):
        Plan(g, backend=Full()).replace(relu, lambda a: a).check()
    with pytest.raises(MemoryError, match=rf"^plan: rename x to y: {room}\. Close unused programs"):
        Plan(g, backend=Full()).rename("x", to="y").check()


def test_another_policy_for_a_variable():
    g = net()
    plan = Plan(g).copy(select(g), to="t").with_policy(0, "net/w", "share").with_policy(0, "*", "initial")
    assert dict(plan.steps[0].variables) == {"*": "initial", "net/w": "share"}
    again = plan.with_policy(0, "net/w", "other:0")
    assert dict(again.steps[0].variables)["net/w"] == "other:0"
    assert dict(plan.steps[0].variables)["net/w"] == "share"


def test_a_policy_for_a_step_that_is_no_copy():
    plan = Plan(net()).connect("x:0", to="net/mm")
    with refuses(PlanError, "with_policy(0, 'net/w', 'share')", "step 0 is not a copy", "The copies are steps (none)"):
        plan.with_policy(0, "net/w", "share")
    with refuses(PlanError, "with_policy(0, 'net/w', 'melt')", "variables='melt' is not known"):
        Plan(net()).copy(select(net()), to="t").with_policy(0, "net/w", "melt")


def test_another_feed_for_an_input_of_a_copy():
    g = net()
    plan = Plan(g).copy(select(g, scope="net"), to="t", unmapped="placeholder")
    assert "t/x" in plan.after().names
    kept = plan.with_input(0, "x:0", "keep")
    assert dict(kept.steps[0].inputs) == {"x:0": "x:0"}
    assert "t/x" not in kept.after().names
    assert kept.with_input(0, "x:0", "placeholder").steps == plan.steps
    number = kept.with_input(0, "x:0", 3.0)
    assert (number.steps[0].inputs, dict(number.steps[0].constants)) == ((), {"x:0": 3.0})
    # of a copy that keeps all, one becomes a placeholder and the others stay
    every = Plan(g).copy(select(g, scope="net"), to="t", unmapped="keep")
    names = every.with_input(0, "x:0", "placeholder").after().names
    assert ("t/x" in names, "t/rate" in names, "t/rate" in plan.after().names) == (True, False, True)
    with refuses(PlanError, "with_input(1, 'x:0', 'keep')", "step 1 is not a copy", "The copies are steps 0"):
        plan.with_input(1, "x:0", "keep")
    closed = Plan(g).copy(select(g, scope="net"), to="t")
    problem = "the copy was requested with unmapped='refuse'"
    with refuses(PlanError, "with_input(0, 'x:0', 'placeholder')", problem, "Copy with unmapped='placeholder'"):
        closed.with_input(0, "x:0", "placeholder")


def test_another_scope_for_a_copy_goes_on_in_later_steps():
    g = net()
    plan = Plan(g).copy(select(g, scope="net"), to="t", unmapped="keep").set_device("t/net/mm", "/cpu:0")
    moved = plan.with_scope(0, "u/")
    assert (moved.steps[0].to, moved.steps[1].ops) == ("u", ("u/net/mm",))
    assert not moved.check()
    with refuses(PlanError, "with_scope(1, 'v')", "step 1 is not a copy", "The copies are steps 0"):
        plan.with_scope(1, "v")


def test_a_step_is_exchanged_taken_out_or_moved():
    plan = Plan(net()).set_device("x", "/cpu:0").set_device("x", "/cpu:1").set_device("x", "/cpu:2")
    a, b, c = plan.steps
    assert plan.with_step(1, None).steps == (a, c)
    assert plan.with_step(0, c).steps == (c, b, c)
    assert plan.with_step(0, a, before=2).steps == (b, a, c)
    assert plan.with_step(2, c, before=0).steps == (c, a, b)
    assert plan.with_step(0, a, before=3).steps == (b, c, a)


@pytest.mark.parametrize(
    ("what", "given", "kind", "typed"),
    [
        ("inputs", ["x:0"], "a mapping", "{'x:0': 'new:0'}"),
        ("inputs", [], "a mapping", "{'x:0': 'new:0'}"),
        ("reuse", "w", "a mapping", "{'w': 'net/w'}"),
        ("names", ("x",), "a mapping", "{'x': 'net/y'}"),
        ("variables", ["w"], "a text or a mapping", "'copy' or {'w': 'freeze'}"),
        ("variables", None, "a text or a mapping", "'copy' or {'w': 'freeze'}"),
        ("device", 3, "a text or a mapping", "'/cpu:0' or {'/gpu:0': '/cpu:0'}"),
    ],
)
def test_what_is_to_be_a_mapping_is_one(what, given, kind, typed):
    g = net()
    with refuses(PlanError, f"copy(to='t'): {what}={given!r} is not {kind}", f"Give {what} as {typed}"):
        Plan(g).copy(select(g, scope="net"), to="t", **{what: given})


@pytest.mark.parametrize("thing", [3, None, 2.5, b"x", object()])
def test_what_has_no_name_is_not_an_op_or_a_tensor(thing):
    g, problem, way = net(), f"{thing!r} is not an op or a tensor", "Give the object, or its name as text"
    plan = Plan(g)
    with refuses(PlanError, f"connect({thing!r}, to='y')", problem, way):
        plan.connect(thing, to="y")
    with refuses(PlanError, f"connect('x:0', to={thing!r})", problem, way):
        plan.connect("x", to=thing)
    with refuses(PlanError, "copy(to='t')", problem, way):
        plan.copy(select(g, scope="net"), to="t", inputs={thing: "x"})
    if thing is None or type(thing) is object:  # numbers and bytes are constants
        with refuses(PlanError, "copy(to='t')", problem, way):
            plan.copy(select(g, scope="net"), to="t", inputs={"x": thing})
    with refuses(PlanError, problem, way):
        plan.swap(thing, "x")
    with refuses(PlanError, problem, way):
        plan.rename({thing: "z"})
    with refuses(PlanError, "is not an op or a tensor", way):
        plan.bypass(thing)


def test_any_plan_can_be_carried_out_in_a_new_graph():
    g = net()
    plan = Plan(g).copy(select(g, scope="net"), to="copy", unmapped="placeholder")
    anew = materialized(plan)
    assert (plan.mode, anew.mode) == ("append", "materialize")
    assert anew.steps == plan.steps
    assert anew.after().names == plan.after().names
