"""The steps of a plan as values, and the roles of the names in them.

The type of each text in a step declares its role: `step_names` follows renames by these roles alone.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from enum import Enum
from functools import cache
from itertools import repeat
from typing import Annotated, Any, Union, cast, get_args, get_origin, get_type_hints

from ..graph.names import join_scope
from ..graph.pattern import Pattern
from ..graph.pattern_match import Match
from ..graph.selection import Selection
from .adapters import AdapterSpec

#: The value of `values` that requests initial values instead of current values.
INITIAL = "initial"


class Role(Enum):
    """The role of a text in a step: which graph it belongs to, if it is a name."""

    DESTINATION = "an op, tensor or scope of the destination, by its name after the earlier steps"
    NEW = "a name that the step gives to an op or scope of the destination"
    SOURCE = "an op, tensor or pattern of the source graph of a copy"
    POLICY = "a policy of a variable; with a colon, a tensor of the destination"
    TEXT = "not a name"


DestinationName = Annotated[str, Role.DESTINATION]
NewName = Annotated[str, Role.NEW]
SourceName = Annotated[str, Role.SOURCE]
Policy = Annotated[str, Role.POLICY]
PlainText = Annotated[str, Role.TEXT]


@dataclass(frozen=True)
class CopyStep:
    """Copy a selection under a name scope; see `Plan.copy`."""

    selection: Selection
    to: NewName
    inputs: tuple[tuple[SourceName, DestinationName], ...] = ()
    unmapped: PlainText = "refuse"
    control: PlainText = ""
    variables: tuple[tuple[SourceName, Policy], ...] = (("*", "copy"),)
    values: Any = None
    collections: PlainText = "rename"
    device: PlainText | tuple[tuple[PlainText, PlainText], ...] = "keep"
    seeds: PlainText = "keep"
    reuse: Mapping[SourceName, DestinationName] | None = (
        None  # source op -> op of the destination that is already its copy
    )
    constants: tuple[tuple[SourceName, Any], ...] = ()  # source tensor -> array that replaces it
    names: Mapping[SourceName, NewName] | None = (
        None  # source op, or tensor with a placeholder -> full name of the new op
    )
    trainable: bool = True


@dataclass(frozen=True)
class ConnectStep:
    """Set one input of one op; see `Plan.connect`."""

    tensor: DestinationName
    to: DestinationName
    input: int


@dataclass(frozen=True)
class RerouteStep:
    """All consumers of a tensor, or some of them, read another tensor; see `Plan.reroute`."""

    old: tuple[DestinationName, ...]
    to: tuple[DestinationName, ...]
    only: tuple[DestinationName, ...] | None = None
    exclude: tuple[DestinationName, ...] = ()


@dataclass(frozen=True)
class SwapStep:
    """The consumers of two tensors are exchanged; see `Plan.swap`."""

    a: tuple[DestinationName, ...]
    b: tuple[DestinationName, ...]


@dataclass(frozen=True)
class DetachStep:
    """Placeholders replace the inputs or the outputs of ops; see `Plan.detach`."""

    ops: tuple[DestinationName, ...]
    side: PlainText
    only: tuple[DestinationName, ...] | None = None
    exclude: tuple[DestinationName, ...] = ()


@dataclass(frozen=True)
class InsertStep:
    """A new op on an edge; see `Plan.insert`."""

    op: PlainText | Callable[..., Any]
    on: tuple[DestinationName, ...]
    name: NewName | tuple[NewName, ...]
    attributes: tuple[tuple[PlainText, Any], ...]
    only: tuple[DestinationName, ...] | None = None
    exclude: tuple[DestinationName, ...] = ()
    code_name: PlainText = ""  # the name of the function in code


@dataclass(frozen=True)
class AdaptStep:
    """A tensor is adapted to the dtype and shape of another tensor; see `Plan.adapt`.

    Args:
        tensor: the tensor.
        to, input: the op that will read the result, and the number of the input; or a tensor, or an op without inputs,
            that the result replaces; None if no op reads the result yet.
        name: the name of the result, and of the scope of the other new ops; empty for a free name.
        spec: how to adapt the tensor.
        only, exclude: the consumers of the replaced tensor.
    """

    tensor: DestinationName
    to: DestinationName | None
    input: int | None
    name: NewName
    spec: AdapterSpec
    only: tuple[DestinationName, ...] | None = None
    exclude: tuple[DestinationName, ...] = ()


@dataclass(frozen=True)
class BypassStep:
    """The consumers of ops read the inputs of these ops; see `Plan.bypass`."""

    ops: tuple[DestinationName, ...]
    input: int | DestinationName | None
    output: int | DestinationName | None
    code_argument: Selection | DestinationName | None = None  # the selection or scope, for its code


@dataclass(frozen=True)
class RemoveStep:
    """Ops are removed; see `Plan.remove`."""

    ops: tuple[DestinationName, ...]
    stitch: bool = False


@dataclass(frozen=True)
class SetStep:
    """Attributes or the device of ops are set; see `Plan.set_attr` and `Plan.set_device`."""

    ops: tuple[DestinationName, ...]
    attributes: tuple[tuple[PlainText, Any], ...] = ()
    device: PlainText | None = None


@dataclass(frozen=True)
class ControlStep:
    """An op runs after others, or no longer does; see `Plan.add_control` and `Plan.remove_control`."""

    op: DestinationName
    others: tuple[DestinationName, ...] | None
    remove: bool


@dataclass(frozen=True)
class RerouteControlStep:
    """The ops that wait for an op wait for other ops instead; see `Plan.reroute_control`."""

    old: DestinationName
    to: tuple[DestinationName, ...]
    only: tuple[DestinationName, ...] | None = None
    exclude: tuple[DestinationName, ...] = ()


@dataclass(frozen=True)
class RenameStep:
    """Ops and whole name scopes are renamed, all at once; see `Plan.rename`."""

    names: tuple[tuple[DestinationName, NewName], ...]
    values: Any = None


@dataclass(frozen=True)
class ReplaceStep:
    """Each match is replaced by another subgraph; see `Plan.replace`.

    Args:
        target: the pattern, or the matches.
        replacement: the function or op type.
        to, external, within: as requested.
        code_argument: the source of the pattern, for its code.
        code_names: the names, in the code, of the functions of the pattern and the replacement.
        options: the options with which the pattern was made.
    """

    target: Pattern | tuple[Match, ...]
    replacement: Callable[..., Any] | PlainText
    to: NewName = ""
    external: PlainText = "refuse"
    within: Selection | None = None
    code_argument: Any = None
    code_names: tuple[PlainText, PlainText] = ("pattern", "replacement")
    options: tuple[tuple[PlainText, Any], ...] = ()


@dataclass(frozen=True)
class CollapseStep:
    """Ops become one call of a function; see `Plan.collapse`."""

    ops: tuple[DestinationName, ...]
    name: NewName
    code_argument: Selection | DestinationName | None = None  # the selection or scope, for its code


@dataclass(frozen=True)
class InlineStep:
    """A function call is replaced by the ops of its function; see `Plan.inline`.

    Args:
        ops: the calls, and conds and loops inside them, by their names after the calls are inlined.
        is_implicit: whether the step was added only because a later step names an op inside.
    """

    ops: tuple[DestinationName, ...]
    is_implicit: bool = False


@dataclass(frozen=True)
class UnrollStep:
    """A loop is replaced by a fixed number of its rounds; see `Plan.unroll`."""

    loop: DestinationName
    times: int


@dataclass(frozen=True)
class ConditionStep:
    """The condition of conds gets a fixed value; see `Plan.resolve_condition`."""

    tensor: DestinationName
    value: bool | int


@dataclass(frozen=True)
class OnCopiesStep:
    """The edits so far are made on copies of the ops that they change; see `Plan.on_copies`."""

    to: NewName
    until: tuple[DestinationName, ...] = ()
    assign: PlainText = "leave"
    collections: PlainText = "none"


@dataclass(frozen=True)
class MutedStep:
    """A step that stays in its plan but has no effect until it is unmuted; see `Plan.with_muted`."""

    step: Step


@dataclass(frozen=True)
class RebuildStep:
    """The graph is rebuilt without its orphans; this is a step of the editor, not of a plan."""

    orphans: tuple[DestinationName, ...]


#: The steps that change an existing graph, except for a `ConnectStep`.
EditStep = (
    RerouteStep | SwapStep | DetachStep | InsertStep | AdaptStep | BypassStep | RemoveStep | SetStep | ControlStep
    | RerouteControlStep | RenameStep | ReplaceStep | CollapseStep | InlineStep | ConditionStep | UnrollStep
    | OnCopiesStep | RebuildStep
)  # fmt: skip
Step = CopyStep | ConnectStep | EditStep | MutedStep


def unwrap_muted(step: Step) -> Step:
    """Returns the step itself, or the step inside a `MutedStep`.

    Example:
        >>> unwrap_muted(MutedStep(ConnectStep("a:0", "b", 1)))
        ConnectStep(tensor='a:0', to='b', input=1)
    """
    return step.step if isinstance(step, MutedStep) else step


def renames_of(step: RenameStep, name: str) -> str:
    """Returns the name of an op or tensor after a rename."""
    op, colon, port = name.partition(":")
    lead = max((old for old, _ in step.names if op == old or op.startswith(f"{old}/")), key=len, default=None)
    return name if lead is None else dict(step.names)[lead] + op[len(lead) :] + colon + port


#: The roles of existing and new names in the destination.
DESTINATION = (Role.DESTINATION, Role.NEW, Role.POLICY)


@cache
def roles_of(kind: type) -> dict[str, Any]:
    """Returns the fields of a kind of step, with their types; the type of each text has a role."""
    hints = get_type_hints(kind, include_extras=True)
    return {one.name: hints[one.name] for one in fields(kind)}


def names_of(step: Step, roles: Container[Role] = DESTINATION) -> list[str]:
    """Returns the names in a step that have one of the given roles.

    Example:
        >>> from graphsurgeon.plan.steps import ConnectStep
        >>> names_of(ConnectStep("a:0", "b", 1))
        ['a:0', 'b']
    """
    names: list[str] = []

    def collect(name: str) -> str:
        names.append(name)
        return name

    with_names(step, collect, roles)
    return names


def with_names(step: Any, new: Callable[[str], str], roles: Container[Role] = DESTINATION) -> Any:
    """Returns a step with other names.

    Args:
        step: the step.
        new: returns the new name for an old name.
        roles: only names of these roles change.

    Example:
        >>> from graphsurgeon.plan.steps import ConnectStep
        >>> with_names(ConnectStep("a:0", "b", 1), str.upper)
        ConnectStep(tensor='A:0', to='B', input=1)
    """
    hints = roles_of(cast(type, type(step)))
    return replace(step, **{key: _with_names(getattr(step, key), hint, new, roles) for key, hint in hints.items()})


def _with_names(value: Any, hint: Any, new: Callable[[str], str], roles: Container[Role]) -> Any:
    """Returns the value of a field with other names; the type of the field shows where the names are."""
    if get_origin(hint) in (Union, types.UnionType):
        hint = next((arm for arm in get_args(hint) if _matches_hint(value, arm)), Any)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        is_name = args[1] in roles and (args[1] is not Role.POLICY or ":" in value)
        return new(value) if is_name else value
    if hint is str:
        raise TypeError(f"the text {value!r} of a step has no role")
    if origin is tuple:
        parts = repeat(args[0], len(value)) if args[-1] is Ellipsis else args
        return tuple(_with_names(one, part, new, roles) for one, part in zip(value, parts, strict=True))
    if origin is Mapping:
        pairs = value.items()
        return {_with_names(k, args[0], new, roles): _with_names(v, args[1], new, roles) for k, v in pairs}
    return with_names(value, new, roles) if isinstance(value, get_args(Step)) else value


def _matches_hint(value: Any, hint: Any) -> bool:
    """Whether a value matches a text, tuple or mapping type of a union; other values contain no names."""
    kinds = {Annotated: str, tuple: tuple, Mapping: Mapping}
    return isinstance(value, kinds.get(get_origin(hint), str if hint is str else ()))


def scope_change(
    old: str, new: str, existing: Container[str] = (), new_names: Container[str] = ()
) -> Callable[[str], str]:
    """Returns a function that converts names of ops and tensors after an op or a scope is renamed.

    Args:
        old, new: the old and new names of the op or scope.
        existing: the ops that existed before the op or scope was made; they keep their names.
        new_names: the ops in the scope; needed if `old` is empty.

    Example:
        >>> name = scope_change("copy", "new", {"copy/b"})
        >>> name("copy/a:0"), name("copy"), name("copy/b"), name("copy_1/a")
        ('new/a:0', 'new', 'copy/b', 'copy_1/a')
    """

    def rename(name: str) -> str:
        op = name.partition(":")[0]
        if op in existing:
            return name
        if not old:
            return join_scope(new, name) if op in new_names else name
        if op.startswith(f"{old}/"):
            return join_scope(new, name[len(old) + 1 :])
        return new + name[len(old) :] if op == old and new else name

    return rename


def later_steps(steps: Sequence[Step], old: str, rename: Callable[[str], str]) -> tuple[Step, ...]:
    """Returns later steps after an earlier step makes an op or scope under another name.

    Args:
        steps: the later steps.
        old: the old name. Steps after a step that renames it do not change, because other ops may then have this name.
        rename: the result of `scope_change`.
    """
    for at, step in enumerate(steps):
        if isinstance(step, RenameStep) and old in dict(step.names):
            return (*(with_names(one, rename) for one in steps[: at + 1]), *steps[at + 1 :])
    return tuple(with_names(step, rename) for step in steps)
