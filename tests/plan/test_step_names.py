"""Names in steps: each text in a step has a role, and names follow a change of scope by these roles alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any, get_args, get_origin

import pytest

from graphsurgeon.editor.serialization import serialize
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.selection import Selection, select
from graphsurgeon.plan.adapters import AdapterSpec
from graphsurgeon.plan.plan import Plan
from graphsurgeon.plan.steps.base import (
    DESTINATION,
    MutedStep,
    Role,
    Step,
    names_of,
    roles_of,
    scope_change,
    step_kinds,
    with_names,
)
from graphsurgeon.plan.steps.copy import CopyStep
from graphsurgeon.plan.steps.edit import RemoveStep, later_steps
from graphsurgeon.plan.steps.replace import ReplaceStep
from graphsurgeon.plan.steps.wiring import ConnectStep
from tests.plain import net, plain, variable

KINDS = step_kinds()
G = Graph.from_ops([("copy/x", "Placeholder", []), ("copy/y", "Neg", ["copy/x"])])
BLOCK = select(G, name="copy/y")


def texts(hint: Any) -> list[Any]:
    """The types of all texts in the type of a field, with their roles."""
    if hint is str or get_origin(hint) is Annotated:
        return [hint]
    return [one for part in get_args(hint) for one in texts(part)]


@pytest.mark.parametrize("kind", KINDS)
def test_each_text_of_a_step_has_a_role(kind):
    found = [(name, text) for name, hint in roles_of(kind).items() for text in texts(hint)]
    assert [name for name, text in found if text is str] == []
    assert all(isinstance(text.__metadata__[0], Role) for _, text in found)


def values(hint: Any, name: str) -> Any:
    """A value of the type of a field: each text is under the scope ``copy``, and has the name of its role."""
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return f"copy/{args[1].name}:0" if args[1] is Role.POLICY else f"copy/{args[1].name}"
    if origin is tuple and args[-1] is Ellipsis:
        return (values(args[0], name),)
    if origin is tuple:
        return tuple(values(one, name) for one in args)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {values(args[0], name): values(args[1], name)}
    if origin is not None and type(None) in args:
        return values(next(one for one in args if one is not type(None)), name)
    if origin is not None and args:
        return values(next((one for one in args if one is not Callable and texts(one)), args[0]), name)
    known = {
        Selection: BLOCK,
        AdapterSpec: AdapterSpec(("copy/cast",)),
        bool: True,
        int: 1,
        Step: RemoveStep(("copy/OP",)),
    }
    return known.get(hint, "copy/any")


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not ReplaceStep])
def test_names_of_the_destination_follow_a_change_of_scope_and_no_other_text_does(kind):
    step = kind(**{
        name: RemoveStep(("copy/OP",)) if kind is MutedStep else values(hint, name)
        for name, hint in roles_of(kind).items()
    })  # fmt: skip
    moved = with_names(step, scope_change("copy", "new"))

    def reported(value: Any) -> str:
        return repr(serialize(value, lambda other: {"other": str(other)}))

    expected = reported(step)
    for role in DESTINATION:
        expected = expected.replace(f"copy/{role.name}", f"new/{role.name}")
    assert reported(moved) == expected
    assert ("new/" in expected) == bool(names_of(step))
    assert with_names(moved, scope_change("new", "copy")) == step


def test_a_replacement_has_its_scope_and_its_selection_of_the_graph_as_it_is():
    step = ReplaceStep((), "Neg", to="copy/MADE", within=BLOCK)
    moved = with_names(step, scope_change("copy", "new"))
    assert moved == replace(step, to="new/MADE")


def test_a_policy_is_a_word_or_a_tensor():
    step = CopyStep(BLOCK, "c", variables=(("copy/w", "copy"), ("*", "copy/z:0")))
    assert with_names(step, scope_change("copy", "new")).variables == (("copy/w", "copy"), ("*", "new/z:0"))


def test_a_text_without_a_role_is_found_when_names_are_changed():
    class Odd(ConnectStep):
        pass

    roles_of.cache_clear()
    hints = {**roles_of(ConnectStep), "to": str}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("graphsurgeon.plan.steps.base.roles_of", lambda kind: hints)
        with pytest.raises(TypeError, match="the text 'b' of a step has no role"):
            with_names(ConnectStep("a:0", "b", 1), str)


# -- whole plans --------------------------------------------------------------------------------


def two_copies(scope: str) -> Plan:
    """A copy of a net that has a scope ``t`` itself, and a second copy that reads the first."""
    weights, info = variable("t/w")
    source = plain(("t/x", "Placeholder", []), *weights, ("t/y", "Add", ["t/x", "t/w/read"]), variables=[info])
    name = f"{scope}/" if scope else ""
    first = Plan(net()).copy(select(source), to=scope, names={"t/y": f"{name}sum"})
    return first.copy(
        select(source, scope="t"), to="u", inputs={"t/x:0": f"{name}sum"}, names={"t/y": "u/second"},
        reuse={"t/w": f"{name}t/w", "t/w/read": f"{name}t/w/read"}, variables={"t/w": "copy"},
    )  # fmt: skip


@pytest.mark.parametrize(("old", "new"), [("t", "v"), ("t", "t/v"), ("t", ""), ("", "v"), ("", "t")])
def test_another_scope_for_a_copy_gives_the_plan_that_names_that_scope_from_the_start(old, new):
    moved, wanted = two_copies(old).with_scope(0, new), two_copies(new)
    assert wanted.check() == ()
    assert moved.check() == ()
    assert moved.after().names == wanted.after().names
    assert moved.after().fingerprint == wanted.after().fingerprint


def test_ops_that_the_graph_has_under_the_scope_keep_their_names():
    g = plain(("x", "Placeholder", []), ("t/z", "Neg", ["x"]))
    plan = Plan(g).copy(select(g, name="t/z"), to="t", inputs={"x:0": "t/z:0"}, names={})
    plan = plan.connect("t/t/z:0", to="t/z").connect("x", to="t/t/z")
    moved = plan.with_scope(0, "v")
    assert moved.steps[0].inputs == (("x:0", "t/z:0"),)
    assert [(step.tensor, step.to) for step in moved.steps[1:]] == [("v/t/z:0", "t/z"), ("x:0", "v/t/z")]
    assert moved.check() == ()


def test_a_scope_that_a_later_step_renames_is_free_for_others():
    g = plain(("x", "Placeholder", []), ("y", "Neg", ["x"]))
    block = select(g, name="y")
    plan = Plan(g).copy(block, to="t", unmapped="keep").rename("t", to="s").copy(block, to="t", unmapped="keep")
    moved = plan.set_device("t/y", "/cpu:0").with_scope(0, "v")
    assert [moved.steps[1].names, moved.steps[2].to, moved.steps[3].ops] == [(("v", "s"),), "t", ("t/y",)]
    assert moved.after().names == ["x", "y", "s/y", "t/y"]
    assert later_steps((MutedStep(moved.steps[1]),), "v", scope_change("v", "w"))[0].step.names == (("w", "s"),)
