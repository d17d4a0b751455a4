"""The effect of a plan is the sum of the changes of its steps."""

from __future__ import annotations

import dataclasses

import pytest

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.backend import Backend
from graphsurgeon.plan.plan import Plan
from graphsurgeon.plan.plan_result import PlanResult
from graphsurgeon.plan.resolver import resolve
from graphsurgeon.plan.steps.base import step_kinds

OPS = [("a", "Const", []), ("b", "Const", []), ("s/x", "Neg", ["a"]), ("s/y", "Add", ["s/x", "b", "^a"]),
       ("z", "Exp", ["s/y"]), ("end", "NoOp", ["^z", "^s/x"])]  # fmt: skip
PLANS = {
    "edits": lambda p: p.reroute("a:0", to="b:0").set_attr("z", "_mark", b"x").add_control("z", "a"),
    "copy": lambda p: p.copy(select(p.base, scope="s"), to="copy", unmapped="keep").connect("b", to="copy/s/x"),
    "rename": lambda p: p.rename("s", to="t").add_control("z", after="b").swap("a", "b").rename("t", to="last"),
    "insert": lambda p: p.insert("Neg", on="a:0", name="new").detach("s/y", side="inputs").rename("new", to="old"),
    "on copies": lambda p: p.reroute("a:0", to="b:0").on_copies(scope="again").insert("Exp", on="a:0", name="late"),
    "remove": lambda p: p.bypass("s/x").remove_control("end").remove("s/x"),
    "faults": lambda p: p.connect("none:0", to="z").reroute_control("none", to="neither").connect("b", to="z"),
}


def shown(effect: PlanResult) -> dict[str, object]:
    """Returns an effect as data that can be compared."""
    after = effect.after
    plain = {f.name: getattr(effect, f.name) for f in dataclasses.fields(effect)}
    for name in ("base", "after", "shape_checker", "lock", "copies", "downstream_copies", "replacements"):
        plain.pop(name)
    edges = [(after.input_names(i), after.control_names(i)) for i in range(after.size)]
    copies = [(c.names, c.input_map, c.positions.tolist(), c.role) for c in effect.copies]
    return {**plain, "names": list(after.names), "types": list(after.types), "edges": edges, "copies": copies}


@pytest.mark.parametrize("kind", PLANS)
def test_later_steps_do_not_change_the_effect_of_earlier_steps(kind):
    base = Graph.from_ops(OPS)
    steps = PLANS[kind](Plan(base)).steps
    effects = [resolve(base, steps[:count], Backend()) for count in range(len(steps) + 1)]
    texts = [shown(effect) for effect in effects]
    assert len(effects[-1].faults) == (3 if kind == "faults" else 0), effects[-1].faults
    assert [shown(resolve(base, steps[:count], Backend())) for count in range(len(steps) + 1)] == texts
    assert [shown(effect) for effect in effects] == texts


def test_steps_and_their_results_cannot_be_changed():
    for kind in (PlanResult, *step_kinds()):
        assert kind.__dataclass_params__.frozen, kind


def test_a_plan_without_a_backend_says_what_it_cannot_do():
    g = Graph.from_ops(OPS)
    for plan, problem in (
        (Plan(g).insert(lambda x: x, on="a:0", name="f"), "this plan was made without TensorFlow"),
        (Plan(g).collapse(["s/x"], name="call"), "this plan was made without TensorFlow"),
        (Plan(g).inline("z"), "this plan was made without TensorFlow"),
    ):
        (fault,) = plan.check()
        assert fault.problem == problem
        assert fault.suggestion == "Make the plan with gs.open(graph).plan()"
