"""Plans are resolved in time that is linear in their edits, also if all of them concern one op."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import pytest

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.backend import Backend
from graphsurgeon.plan.plan import Plan
from graphsurgeon.plan.resolver import resolve
from tests.cost import growth

Step = Callable[[Plan, int], Plan]


def graph(n: int) -> Graph:
    """Returns a graph with three ops in each of n rows, and ops that read all rows, or wait for all of them."""
    ops = [(f"x{i}", "Placeholder", []) for i in range(n)]
    ops += [(f"y{i}", "Identity", [f"x{i}"]) for i in range(n)]
    ops += [(f"w{i}", "Mul", [f"y{i}", f"x{i}"]) for i in range(n)]
    ops += [("sum", "AddN", [f"w{i}" for i in range(n)]), ("all", "NoOp", [f"^w{i}" for i in range(n)])]
    return Graph.from_ops([*ops, ("last", "NoOp", [])], owner=object())


def names(word: str, n: int) -> list[str]:
    return [f"{word}{i}" for i in range(n)]


def tensors(word: str, n: int) -> list[str]:
    return [f"{word}{i}:0" for i in range(n)]


ONE_STEP: dict[str, Step] = {
    "copy": lambda plan, n: plan.copy(select(plan.base, name="w*"), to="copies", unmapped="placeholder"),
    "copy with inputs": lambda plan, n: plan.copy(
        select(plan.base, inputs=tensors("y", n), outputs="sum:0"), to="copies",
        inputs=dict(zip(tensors("y", n), tensors("x", n), strict=True)), unmapped="keep",
    ),
    "reroute": lambda plan, n: plan.reroute(tensors("w", n), to=tensors("x", n)),
    "connect": lambda plan, n: plan.connect(tensors("x", n), to=names("y", n)),
    "swap": lambda plan, n: plan.swap({f"w{i}:0": f"w{i + 1}:0" for i in range(0, n, 2)}),
    "insert": lambda plan, n: plan.insert("Neg", on=tensors("w", n), name="new"),
    "detach": lambda plan, n: plan.detach(names("w", n)),
    "bypass": lambda plan, n: plan.bypass(names("y", n)),
    "remove": lambda plan, n: plan.remove(names("w", n), stitch=True),
    "rename": lambda plan, n: plan.rename(dict(zip(names("w", n), names("z", n), strict=True))),
    "set_attr": lambda plan, n: plan.set_attr(names("w", n), "_mark", b"x"),
    "add_control": lambda plan, n: plan.add_control("last", after=names("y", n)),
    "remove_control": lambda plan, n: plan.remove_control("all"),
    "on_copies": lambda plan, n: plan.reroute(tensors("w", n), to=tensors("x", n)).on_copies(scope="copies"),
}  # fmt: skip
MANY_STEPS: dict[str, Step] = {
    "reroute": lambda plan, i: plan.reroute(f"w{i}:0", to=f"x{i}:0"),
    "connect": lambda plan, i: plan.connect(f"x{i}:0", to="sum", input=i),
    "swap": lambda plan, i: plan.swap(f"w{i}:0", f"w{i ^ 1}:0"),
    "insert": lambda plan, i: plan.insert("Neg", on=f"w{i}:0", name=f"new{i}"),
    "detach": lambda plan, i: plan.detach(f"w{i}", side="outputs"),
    "bypass": lambda plan, i: plan.bypass(f"w{i}"),
    "remove": lambda plan, i: plan.remove(f"y{i}", stitch=True),
    "rename": lambda plan, i: plan.rename(f"w{i}", to=f"z{i}"),
    "set_attr": lambda plan, i: plan.set_attr("sum", f"_mark{i}", b"x"),
    "add_control": lambda plan, i: plan.add_control("last", after=f"y{i}"),
    "remove_control": lambda plan, i: plan.remove_control("all", f"w{i}"),
    "reroute_control": lambda plan, i: plan.reroute_control(f"w{i}", to=f"y{i}"),
}


def check(made: Step) -> None:
    def work(n: int) -> Callable[[], object]:
        plan = made(Plan(graph(n)), n)
        return lambda: resolve(plan.base, plan.steps, Backend())

    assert not made(Plan(graph(4)), 4).effect.faults
    assert growth(work, 50, 400) < 10


@pytest.mark.parametrize("kind", ONE_STEP)
def test_one_step(kind):
    check(ONE_STEP[kind])


@pytest.mark.parametrize("kind", MANY_STEPS)
def test_many_steps(kind):
    check(lambda plan, n: reduce(MANY_STEPS[kind], range(n), plan))
