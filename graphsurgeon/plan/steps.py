"""Steps: the steps of a plan, as values; `resolve` computes their effects, `step_text` describes them in words.

The type of each text in a step declares its role: `step_names` follows renames by these roles alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any

from ..graph.match.match import Match
from ..graph.match.pattern import Pattern
from ..graph.selection import Selection
from .adapters import Wish

#: As `values`: initial values are wanted, not the current ones.
INITIAL = "initial"


class Role(Enum):
    """The role of a text in a step: which graph it belongs to, if it is a name."""

    HERE = "an op, tensor or scope of the destination, by its name after the steps before"
    MADE = "a name that the step gives to an op or scope of the destination"
    SOURCE = "an op, tensor or pattern of the graph that is copied from"
    POLICY = "a policy of a variable; with a colon, a tensor of the destination"
    WORD = "not a name"


Here = Annotated[str, Role.HERE]
Made = Annotated[str, Role.MADE]
Source = Annotated[str, Role.SOURCE]
Policy = Annotated[str, Role.POLICY]
Word = Annotated[str, Role.WORD]


@dataclass(frozen=True)
class CopyStep:
    """Copy a selection under a name scope; see `Plan.copy`."""

    selection: Selection
    to: Made
    inputs: tuple[tuple[Source, Here], ...] = ()
    unmapped: Word = "refuse"
    control: Word = ""
    variables: tuple[tuple[Source, Policy], ...] = (("*", "copy"),)
    values: Any = None
    collections: Word = "rename"
    device: Word | tuple[tuple[Word, Word], ...] = "keep"
    seeds: Word = "keep"
    reuse: Mapping[Source, Here] | None = None  # source op -> op of the destination that is its copy already
    constants: tuple[tuple[Source, Any], ...] = ()  # source tensor -> array that takes its place
    names: Mapping[Source, Made] | None = None  # source op, or tensor with a placeholder -> full name of the new op
    trainable: bool = True


@dataclass(frozen=True)
class ConnectStep:
    """Set one input of one op; see `Plan.connect`."""

    tensor: Here
    to: Here
    input: int


@dataclass(frozen=True)
class RerouteStep:
    """All consumers of a tensor, or some of them, read another; see `Plan.reroute`."""

    old: tuple[Here, ...]
    to: tuple[Here, ...]
    only: tuple[Here, ...] | None = None
    exclude: tuple[Here, ...] = ()


@dataclass(frozen=True)
class SwapStep:
    """The consumers of two tensors change places; see `Plan.swap`."""

    a: tuple[Here, ...]
    b: tuple[Here, ...]


@dataclass(frozen=True)
class DetachStep:
    """Ops are cut off: placeholders feed them, or feed their consumers; see `Plan.detach`."""

    ops: tuple[Here, ...]
    side: Word
    only: tuple[Here, ...] | None = None
    exclude: tuple[Here, ...] = ()


@dataclass(frozen=True)
class InsertStep:
    """A new op on an edge; see `Plan.insert`."""

    op: Word | Callable[..., Any]
    on: tuple[Here, ...]
    name: Made | tuple[Made, ...]
    attributes: tuple[tuple[Word, Any], ...]
    only: tuple[Here, ...] | None = None
    exclude: tuple[Here, ...] = ()
    word: Word = ""  # the name of the function in code


@dataclass(frozen=True)
class AdaptStep:
    """A tensor is adapted to fit the place of another; see `Plan.adapt`.

    Args:
        tensor: the tensor.
        to, input: the op that will read it, and the number of the input; or a tensor, or an op without inputs, whose
            place it takes; None: nothing reads it yet.
        name: of the result, and of the scope of the other new ops; empty: a free name.
        wish: how to adapt it.
        only, exclude: which consumers of the tensor whose place it takes.
    """

    tensor: Here
    to: Here | None
    input: int | None
    name: Made
    wish: Wish
    only: tuple[Here, ...] | None = None
    exclude: tuple[Here, ...] = ()


@dataclass(frozen=True)
class BypassStep:
    """The consumers of ops read the inputs of these ops; see `Plan.bypass`."""

    ops: tuple[Here, ...]
    input: int | Here | None
    output: int | Here | None
    given: Selection | Here | None = None  # the selection or scope, for its code


@dataclass(frozen=True)
class RemoveStep:
    """Ops are taken out; see `Plan.remove`."""

    ops: tuple[Here, ...]
    stitch: bool = False


@dataclass(frozen=True)
class SetStep:
    """Attributes or the device of ops are set; see `Plan.set_attr` and `Plan.set_device`."""

    ops: tuple[Here, ...]
    attributes: tuple[tuple[Word, Any], ...] = ()
    device: Word | None = None


@dataclass(frozen=True)
class OrderStep:
    """An op runs after others, or no longer does; see `Plan.add_control` and `Plan.remove_control`."""

    op: Here
    others: tuple[Here, ...] | None
    remove: bool


@dataclass(frozen=True)
class RerouteOrderStep:
    """The ops that wait for an op wait for others; see `Plan.reroute_control`."""

    old: Here
    to: tuple[Here, ...]
    only: tuple[Here, ...] | None = None
    exclude: tuple[Here, ...] = ()


@dataclass(frozen=True)
class RenameStep:
    """Ops, and name scopes with all in them, get other names, all at once; see `Plan.rename`."""

    names: tuple[tuple[Here, Made], ...]
    values: Any = None


@dataclass(frozen=True)
class ReplaceStep:
    """Each match gets another subgraph; see `Plan.replace`.

    Args:
        what: the pattern, or the matches.
        by: the function or op type.
        to, external, within: as requested.
        given: the source of the pattern, for its code.
        words: the names in code of the functions of the pattern and of its replacement.
        options: the options with which the pattern was made.
    """

    what: Pattern | tuple[Match, ...]
    by: Callable[..., Any] | Word
    to: Made = ""
    external: Word = "refuse"
    within: Selection | None = None
    given: Any = None
    words: tuple[Word, Word] = ("pattern", "replacement")
    options: tuple[tuple[Word, Any], ...] = ()


@dataclass(frozen=True)
class CollapseStep:
    """Ops become one call of a function; see `Plan.collapse`."""

    ops: tuple[Here, ...]
    name: Made
    given: Selection | Here | None = None  # the selection or scope, for its code


@dataclass(frozen=True)
class InlineStep:
    """A function call is replaced by the ops of its function; see `Plan.inline`.

    Args:
        ops: the calls, and conds and loops inside them, by their names after the calls are inlined.
        opens: whether it is there only because a later step names an op inside.
    """

    ops: tuple[Here, ...]
    opens: bool = False


@dataclass(frozen=True)
class UnrollStep:
    """A loop is replaced by some of its rounds; see `Plan.unroll`."""

    loop: Here
    times: int


@dataclass(frozen=True)
class ConditionStep:
    """It is known what conds ask; see `Plan.resolve_condition`."""

    tensor: Here
    value: bool | int


@dataclass(frozen=True)
class OnCopiesStep:
    """The edits so far are made on copies of the ops that they change; see `Plan.on_copies`."""

    to: Made
    until: tuple[Here, ...] = ()
    assign: Word = "leave"
    collections: Word = "none"


@dataclass(frozen=True)
class MutedStep:
    """A step that stays in its plan and does nothing, until it is itself again; see `Plan.with_muted`."""

    step: Step


@dataclass(frozen=True)
class RebuildStep:
    """The graph is built anew without its orphans; this is a step of the editor, not of a plan."""

    orphans: tuple[Here, ...]


#: What changes a graph that is there, other than by new edges to one input.
EditStep = (
    RerouteStep | SwapStep | DetachStep | InsertStep | AdaptStep | BypassStep | RemoveStep | SetStep | OrderStep
    | RerouteOrderStep | RenameStep | ReplaceStep | CollapseStep | InlineStep | ConditionStep | UnrollStep
    | OnCopiesStep | RebuildStep
)  # fmt: skip
Step = CopyStep | ConnectStep | EditStep | MutedStep


def bare(step: Step) -> Step:
    """Returns a step as it is when it is not muted.

    Example:
        >>> bare(MutedStep(ConnectStep("a:0", "b", 1)))
        ConnectStep(tensor='a:0', to='b', input=1)
    """
    return step.step if isinstance(step, MutedStep) else step


def renamed_by(step: RenameStep, name: str) -> str:
    """Returns the name of an op or tensor after a rename."""
    op, colon, port = name.partition(":")
    lead = max((old for old, _ in step.names if op == old or op.startswith(f"{old}/")), key=len, default=None)
    return name if lead is None else dict(step.names)[lead] + op[len(lead) :] + colon + port
