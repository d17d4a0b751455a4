"""Steps: what a plan is made of, as values; what they do is worked out in `resolve`, what they say in `step_text`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from ..graph.match.match import Match
from ..graph.match.pattern import Pattern
from ..graph.selection import Selection
from .adapters import Wish

#: As `values`: initial values are wanted, whatever the variables hold.
INITIAL = "initial"


@dataclass(frozen=True)
class CopyStep:
    """Copy a selection under a name scope; see `Plan.copy`."""

    selection: Selection
    to: str
    inputs: tuple[tuple[str, str], ...] = ()
    unmapped: str = "refuse"
    control: str = ""
    variables: tuple[tuple[str, str], ...] = (("*", "copy"),)
    values: Any = None
    collections: str = "rename"
    device: str | tuple[tuple[str, str], ...] = "keep"
    seeds: str = "keep"
    reuse: Mapping[str, str] | None = None  # source op -> op of the destination that is its copy already
    constants: tuple[tuple[str, Any], ...] = ()  # source tensor -> array that takes its place
    names: Mapping[str, str] | None = None  # source op, or tensor that gets a placeholder -> full name of the new op
    trainable: bool = True


@dataclass(frozen=True)
class ConnectStep:
    """Set one input of one op; see `Plan.connect`."""

    tensor: str
    to: str
    input: int


@dataclass(frozen=True)
class RerouteStep:
    """All consumers of a tensor, or some of them, read another; see `Plan.reroute`."""

    old: tuple[str, ...]
    to: tuple[str, ...]
    only: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True)
class SwapStep:
    """The consumers of two tensors change places; see `Plan.swap`."""

    a: tuple[str, ...]
    b: tuple[str, ...]


@dataclass(frozen=True)
class DetachStep:
    """Ops are cut off: placeholders feed them, or feed what reads them; see `Plan.detach`."""

    ops: tuple[str, ...]
    side: str


@dataclass(frozen=True)
class InsertStep:
    """A new op on an edge; see `Plan.insert`."""

    op: str | Callable[..., Any]
    on: tuple[str, ...]
    name: str | tuple[str, ...]
    attributes: tuple[tuple[str, Any], ...]
    only: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    word: str = ""  # what code calls the function


@dataclass(frozen=True)
class AdaptStep:
    """A tensor is made to fit where another is read; see `Plan.adapt`.

    Args:
        tensor: the tensor.
        to, input: the op that is to read it, and where; or a tensor, or an op without inputs, whose place it takes;
            None: nothing reads it yet.
        name: of the tensor that comes out, and the scope of what else is made; empty: a free one.
        wish: how it is to be adapted.
        only, exclude: which consumers of the tensor whose place it takes.
    """

    tensor: str
    to: str | None
    input: int | None
    name: str
    wish: Wish
    only: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True)
class BypassStep:
    """What reads ops reads what these read; see `Plan.bypass`."""

    ops: tuple[str, ...]
    input: int | str | None
    output: int | str | None
    given: Any = None  # the selection or scope, for its code


@dataclass(frozen=True)
class RemoveStep:
    """Ops are taken out; see `Plan.remove`."""

    ops: tuple[str, ...]
    stitch: bool = False


@dataclass(frozen=True)
class SetStep:
    """Attributes or the device of ops are set; see `Plan.set_attr` and `Plan.set_device`."""

    ops: tuple[str, ...]
    attributes: tuple[tuple[str, Any], ...] = ()
    device: str | None = None


@dataclass(frozen=True)
class OrderStep:
    """An op runs after others, or no longer does; see `Plan.add_control` and `Plan.remove_control`."""

    op: str
    others: tuple[str, ...] | None
    remove: bool


@dataclass(frozen=True)
class RerouteOrderStep:
    """What waits for an op waits for others; see `Plan.reroute_control`."""

    old: str
    to: tuple[str, ...]
    only: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()


@dataclass(frozen=True)
class RenameStep:
    """Ops, and name scopes with all in them, get other names, all at once; see `Plan.rename`."""

    names: tuple[tuple[str, str], ...]
    values: Any = None


@dataclass(frozen=True)
class ReplaceStep:
    """Each match gets another subgraph; see `Plan.replace`.

    Args:
        what: the pattern, or the matches.
        by: the function or op type.
        to, external, within: as they were asked for.
        given: what the pattern was made of, for its code.
        words: what code calls the functions of the pattern, and of what replaces it.
        options: how the pattern was made of what was given.
    """

    what: Pattern | tuple[Match, ...]
    by: Callable[..., Any] | str
    to: str = ""
    external: str = "refuse"
    within: Selection | None = None
    given: Any = None
    words: tuple[str, str] = ("pattern", "replacement")
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class CollapseStep:
    """Ops become one call of a function; see `Plan.collapse`."""

    ops: tuple[str, ...]
    name: str
    given: Any = None  # the selection or scope, for its code


@dataclass(frozen=True)
class InlineStep:
    """A function call gives way to what it computes; see `Plan.inline`.

    Args:
        ops: the calls; and conds and loops inside of them, by the names that these have then.
        opens: nobody asked for it, but a later step names something inside.
    """

    ops: tuple[str, ...]
    opens: bool = False


@dataclass(frozen=True)
class UnrollStep:
    """A loop gives way to some of its rounds; see `Plan.unroll`."""

    loop: str
    times: int


@dataclass(frozen=True)
class ConditionStep:
    """It is known what conds ask; see `Plan.resolve_condition`."""

    tensor: str
    value: bool | int


@dataclass(frozen=True)
class OnCopiesStep:
    """The edits so far are carried out on copies of what they change; see `Plan.on_copies`."""

    to: str
    until: tuple[str, ...] = ()
    assign: str = "leave"
    collections: str = "none"


@dataclass(frozen=True)
class MutedStep:
    """A step that stays in its plan and does nothing, until it is itself again; see `Plan.with_muted`."""

    step: Step


@dataclass(frozen=True)
class RebuildStep:
    """The graph is built anew without its orphans; a step of the editor, no plan is given one."""

    orphans: tuple[str, ...]


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
    """Returns what an op or tensor is called after a rename.

    Example:
        >>> renamed_by(RenameStep((("a", "b"), ("a/x", "c"))), "a/x:1"), renamed_by(RenameStep((("a", "b"),)), "a/y")
        ('c:1', 'b/y')
    """
    op, colon, port = name.partition(":")
    lead = max((old for old, _ in step.names if op == old or op.startswith(f"{old}/")), key=len, default=None)
    return name if lead is None else dict(step.names)[lead] + op[len(lead) :] + colon + port


#: Fields that hold words: what they say is not a name.
_WORDS = frozenset({
    "assign", "attributes", "by", "collections", "constants", "control", "device", "external", "options", "seeds",
    "side", "unmapped", "variables", "wish", "word", "words",
})  # fmt: skip


def under_scope(step: Step, old: str, new: str) -> Step:
    """Returns a step that names what is under one scope, or is that scope, as it does where it has another name.

    Example:
        >>> under_scope(ConnectStep("copy/a:0", "b", 1), "copy", "new")
        ConnectStep(tensor='new/a:0', to='b', input=1)
    """

    def moved(value: Any) -> Any:
        if isinstance(value, str):
            return new + value[len(old) :] if value == old or value.startswith(f"{old}/") else value
        return tuple(map(moved, value)) if type(value) is tuple else value

    if isinstance(step, MutedStep):
        return MutedStep(under_scope(step.step, old, new))
    names = {f.name: moved(getattr(step, f.name)) for f in fields(step) if f.name not in _WORDS}
    if isinstance(step, CopyStep):  # a policy is a word, or a tensor
        names["variables"] = tuple((v, moved(how) if ":" in how else how) for v, how in step.variables)
    if isinstance(step, InsertStep):  # its `op` is a type, or a function
        names["op"] = step.op
    return replace(step, **names)
