"""Step: a step of a plan, as a value. A kind of step is one class, with its fields, its effect, its code and its words.

The type of each text in a step declares its role: `with_names` follows renames by these roles alone.
"""

from __future__ import annotations

import types
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from enum import Enum
from functools import cache, cached_property
from inspect import isabstract
from itertools import repeat
from typing import Annotated, Any, ClassVar, Self, Union, cast, get_args, get_origin, get_type_hints

from ...errors import counted, few, one_or_all
from ...graph.names import join_scope
from ...graph.selection import Selection
from ..function_source import Sources

#: The maximum length of a list of names that is complete in the request of a step.
_MAX_NAMES = 8
#: The value of `values` that requests initial values instead of current values.
INITIAL = "initial"


class Role(Enum):
    """The role of a text in a step: which graph it belongs to, if it is a name."""

    TENSOR = "a tensor of the destination, by its name after the earlier steps"
    OP = "an op of the destination, by its name after the earlier steps"
    DESTINATION = "an op, tensor or scope of the destination, by its name after the earlier steps"
    NEW = "a name that the step gives to an op or scope of the destination"
    NEW_SCOPE = "the same, for a scope that can be left out"
    SOURCE = "an op, tensor or pattern of the source graph of a copy"
    POLICY = "a policy of a variable; with a colon, a tensor of the destination"
    TEXT = "not a name"


TensorName = Annotated[str, Role.TENSOR]
TensorNames = tuple[TensorName, ...]
OpName = Annotated[str, Role.OP]
OpNames = tuple[OpName, ...]
DestinationName = Annotated[str, Role.DESTINATION]
DestinationNames = tuple[DestinationName, ...]
NewName = Annotated[str, Role.NEW]
NewNames = NewName | tuple[NewName, ...]
NewScope = Annotated[str, Role.NEW_SCOPE]
SourceName = Annotated[str, Role.SOURCE]
Policy = Annotated[str, Role.POLICY]
PlainText = Annotated[str, Role.TEXT]
OpType = PlainText | Callable[..., Any]
Attributes = tuple[tuple[PlainText, Any], ...]


@dataclass(frozen=True)
class Step(ABC):
    """A step of a plan."""

    #: Whether the step needs the complete graph after all earlier steps, without cycles.
    needs_complete_graph: ClassVar[bool] = False
    #: The method of a plan that adds the step, and its positional arguments. The other fields are keyword arguments.
    call: ClassVar[tuple[str, ...]]

    @abstractmethod
    def resolve(self, state: Any) -> None:
        """Makes the changes of the step in the state.

        If the step cannot be carried out, it adds a fault to the state, or raises an error.

        Args:
            state: the `EditState` after the earlier steps.
        """

    def code(self, sources: Sources) -> str:
        """Returns the call that adds the step to a plan.

        Args:
            sources: gets the functions and parameters that the call uses.
        """
        method, *names = self.call
        others = self.given(*(name for name in roles_of(type(self)) if name not in names))
        return call_code(method, *(getattr(self, name) for name in names), **others)

    @abstractmethod
    def describe(self) -> str:
        """Returns the step in words."""

    @cached_property
    def request(self) -> str:
        """The request, for messages."""
        return self.shortened().code(Sources()).removeprefix(".")

    def shortened(self) -> Self:
        """Returns the step for messages: lists of more than `_MAX_NAMES` names have only the first three names."""
        given = ((name, getattr(self, name)) for name in roles_of(type(self)))
        return replace(
            self,
            **{
                name: (*value[:3], Code("..."))
                for name, value in given
                if type(value) is tuple and len(value) > _MAX_NAMES and all(isinstance(one, str) for one in value)
            },
        )

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        """The functions of the step, by their names in code."""
        return {}

    def adapted(self, old: str, new: str, name: str) -> Adaptation | None:
        """Returns how an adapter can make a tensor of this step fit; None if no adapter can.

        Args:
            old, new: the tensor that is read now, and the tensor that is requested instead.
            name: the name of the adapter.
        """
        return None

    def inner_names(self) -> Iterator[str]:
        """Yields the names in the step that may be inside a call, which is then inlined first."""
        yield from names_of(self, EXISTING)

    def given(self, *names: str) -> dict[str, Any]:
        """Returns the fields that do not have their default values."""
        kind = type(self)
        return {name: value for name in names if (value := getattr(self, name)) != getattr(kind, name, MISSING)}


#: The steps that replace a step with a tensor that does not fit: arguments of an `AdaptStep`, other steps after the
#: `AdaptStep`, and the text about these.
Adaptation = tuple[dict[str, Any], tuple[Step, ...], str]


@dataclass(frozen=True)
class MutedStep(Step):
    """A step that stays in its plan but has no effect until it is unmuted; see `Plan.with_muted`."""

    step: Step

    def resolve(self, state: Any) -> None:
        pass

    def code(self, sources: Sources) -> str:
        return self.step.code(sources)

    def describe(self) -> str:
        return f"muted: {self.step.describe()}"

    @cached_property
    def request(self) -> str:
        return self.step.request


def step_kinds() -> list[type[Step]]:
    """Returns the classes of all steps."""
    return [kind for kind in Step.__subclasses__() if not isabstract(kind)]


def unwrap_muted(step: Step) -> Step:
    """Returns the step itself, or the step inside a `MutedStep`.

    Example:
        >>> from graphsurgeon.plan.steps.wiring import ConnectStep
        >>> unwrap_muted(MutedStep(ConnectStep("a:0", "b", 1)))
        ConnectStep(tensor='a:0', to='b', input=1)
    """
    return step.step if isinstance(step, MutedStep) else step


class Code(str):
    """Code in the place of a value, for `call_code`."""

    __repr__ = str.__str__


def call_code(method: str, /, *values: Any, **options: Any) -> str:
    """Returns the call of a method as code. It leaves out options with the value None.

    Example:
        >>> call_code("rewire", ("a:0",), ("b:0", "c:0"), to=Code("x"), only=None)
        ".rewire('a:0', ['b:0', 'c:0'], to=x)"
    """
    pairs = [*(("", value) for value in values), *((f"{key}=", value) for key, value in options.items())]
    texts = [
        f"{key}{(one_or_all(value) if isinstance(value, tuple) else value)!r}"
        for key, value in pairs
        if value is not None
    ]
    return f".{method}({', '.join(texts)})"


def ops_code(ops: tuple[str, ...], given: Any, sources: Sources) -> Any:
    """Returns ops as they were given, for `call_code`: a selection, a scope or names."""
    if isinstance(given, Selection):
        return Code(sources.selection(given))
    return given if isinstance(given, str) else ops


def consumers_text(tensor: str, only: Sequence[str] | None, exclude: Sequence[str]) -> str:
    """Returns the consumers of a tensor that a step changes, in words.

    Example:
        >>> consumers_text("a:0", None, ["b"])
        'the consumers of a:0 except b'
    """
    if only is not None:
        return f"the consumer{'s' * (len(only) != 1)} {few(only)} of {tensor}"
    return f"the consumers of {tensor}" + (f" except {few(exclude)}" if exclude else "")


def steps_text(steps: Sequence[Step]) -> str:
    """Returns the first two steps in words, and how many more there are.

    Example:
        >>> from graphsurgeon.plan.steps.edit import RemoveStep
        >>> steps_text([RemoveStep((name,)) for name in "abcd"])
        'remove a; remove b; and 2 more steps'
    """
    more = [f"and {counted(len(steps) - 2, 'more steps')}"] if len(steps) > 2 else []
    return "; ".join([*(step.describe() for step in steps[:2]), *more])


def one_line(title: str, steps: Sequence[Step]) -> str:
    """Returns a plan for a graph of this title in one line."""
    return f"<Plan for {title}: {'; '.join(step.describe() for step in steps) or 'empty'}>"


#: The roles of existing names in the destination, and of existing and new names.
EXISTING = (Role.TENSOR, Role.OP, Role.DESTINATION, Role.POLICY)
DESTINATION = (*EXISTING, Role.NEW, Role.NEW_SCOPE)


@cache
def form_types(kind: type) -> dict[str, tuple[Any, ...]]:
    """Returns the type of each field of a kind of step, with roles; and the label, if a form shows the field.

    If a field has only a few possible values, a tuple of these follows the label.
    """
    hints, out = get_type_hints(kind, include_extras=True), dict[str, tuple[Any, ...]]()
    for one in fields(kind):
        hint = hints[one.name]
        base, *marks = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        roles = [mark for mark in marks if isinstance(mark, Role)]
        out[one.name] = Annotated[base, *roles] if roles else base, *marks[len(roles) :]
    return out


@cache
def roles_of(kind: type) -> dict[str, Any]:
    """Returns the fields of a kind of step, with their types; the type of each text has a role."""
    return {name: hint for name, (hint, *_) in form_types(kind).items()}


def names_of(step: Step, roles: Container[Role] = DESTINATION) -> list[str]:
    """Returns the names in a step that have one of the given roles.

    Example:
        >>> from graphsurgeon.plan.steps.wiring import ConnectStep
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
        >>> from graphsurgeon.plan.steps.wiring import ConnectStep
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
    return with_names(value, new, roles) if isinstance(value, Step) else value


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
