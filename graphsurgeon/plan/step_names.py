"""Step names: the names in a step, by the roles that the types of its fields declare."""

from __future__ import annotations

import types
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import fields, replace
from functools import cache
from itertools import repeat
from typing import Annotated, Any, Union, cast, get_args, get_origin, get_type_hints

from ..graph.names import under
from .steps import RenameStep, Role, Step

#: The roles of names that ops and scopes of the destination have, or get.
DESTINATION = (Role.HERE, Role.MADE, Role.POLICY)


@cache
def roles_of(kind: type) -> dict[str, Any]:
    """Returns the fields of a kind of step, with their types; the type of each text has a role."""
    hints = get_type_hints(kind, include_extras=True)
    return {one.name: hints[one.name] for one in fields(kind)}


def named_by(step: Step, roles: Container[Role] = DESTINATION) -> list[str]:
    """Returns the names in a step that have one of some roles.

    Example:
        >>> from graphsurgeon.plan.steps import ConnectStep
        >>> named_by(ConnectStep("a:0", "b", 1))
        ['a:0', 'b']
    """
    found: list[str] = []

    def noted(name: str) -> str:
        found.append(name)
        return name

    with_names(step, noted, roles)
    return found


def with_names(step: Any, new: Callable[[str], str], roles: Container[Role] = DESTINATION) -> Any:
    """Returns a step with other names.

    Args:
        step: the step.
        new: name -> the name in its place.
        roles: only names of these roles change.

    Example:
        >>> from graphsurgeon.plan.steps import ConnectStep
        >>> with_names(ConnectStep("a:0", "b", 1), str.upper)
        ConnectStep(tensor='A:0', to='B', input=1)
    """
    hints = roles_of(cast(type, type(step)))
    return replace(step, **{key: _with_names(getattr(step, key), hint, new, roles) for key, hint in hints.items()})


def _with_names(value: Any, hint: Any, new: Callable[[str], str], roles: Container[Role]) -> Any:
    """The same for a value of a field, by the type of the field."""
    if get_origin(hint) in (Union, types.UnionType):
        hint = next((arm for arm in get_args(hint) if _is_like(value, arm)), Any)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        named = args[1] in roles and (args[1] is not Role.POLICY or ":" in value)
        return new(value) if named else value
    if hint is str:
        raise TypeError(f"the text {value!r} of a step has no role")
    if origin is tuple:
        parts = repeat(args[0], len(value)) if args[-1] is Ellipsis else args
        return tuple(_with_names(one, part, new, roles) for one, part in zip(value, parts, strict=True))
    if origin is Mapping:
        pairs = value.items()
        return {_with_names(k, args[0], new, roles): _with_names(v, args[1], new, roles) for k, v in pairs}
    return with_names(value, new, roles) if isinstance(value, get_args(Step)) else value


def _is_like(value: Any, hint: Any) -> bool:
    """Whether a type in a union is that of a text, tuple or mapping; no other value has names in it."""
    kinds = {Annotated: str, tuple: tuple, Mapping: Mapping}
    return isinstance(value, kinds.get(get_origin(hint), str if hint is str else ()))


def scope_change(old: str, new: str, there: Container[str] = (), made: Container[str] = ()) -> Callable[[str], str]:
    """Returns a function that gives the names of ops and tensors after an op, or a scope, gets another name.

    Args:
        old, new: the two names of the op or scope.
        there: the ops that have their names before it is made: they keep them.
        made: the ops in the scope; needed if `old` is empty.

    Example:
        >>> name = scope_change("copy", "new", {"copy/b"})
        >>> name("copy/a:0"), name("copy"), name("copy/b"), name("copy_1/a")
        ('new/a:0', 'new', 'copy/b', 'copy_1/a')
    """

    def changed(name: str) -> str:
        op = name.partition(":")[0]
        if op in there:
            return name
        if not old:
            return under(new, name) if op in made else name
        if op.startswith(f"{old}/"):
            return under(new, name[len(old) + 1 :])
        return new + name[len(old) :] if op == old and new else name

    return changed


def later_steps(steps: Sequence[Step], old: str, changed: Callable[[str], str]) -> tuple[Step, ...]:
    """Returns the steps after one that gives other names.

    Args:
        steps: the steps.
        old: the op or scope that gets another name. After a step that renames it, its name is free for others.
        changed: the result of `scope_change`.
    """
    for at, step in enumerate(steps):
        if isinstance(step, RenameStep) and old in dict(step.names):
            return (*(with_names(one, changed) for one in steps[: at + 1]), *steps[at + 1 :])
    return tuple(with_names(step, changed) for step in steps)
