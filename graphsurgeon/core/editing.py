"""Editing: the part of a plan that changes what the graph has already; each method returns a new plan."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import PlanError
from .removal import RemoveStep
from .rewires import BypassStep, DetachStep, InsertStep, RerouteStep, SwapStep
from .selection import Selection
from .settings import OrderStep, SetStep

if TYPE_CHECKING:
    from .graph import Graph

Self = TypeVar("Self", bound="Editing")
SIDES = ("both", "inputs", "outputs")


class Editing:
    """The editing steps of a `Plan`. An edit of an op that is there already builds the graph anew: `mode` says so."""

    if TYPE_CHECKING:
        base: Graph

        def added(self: Self, step: Any) -> Self:
            """Returns the plan with one step more."""

        def named(self, thing: Any, asked: str) -> str:
            """Returns the name of an op or tensor, given by name or object of this graph."""

    def reroute(self: Self, old: Any, *, to: Any, only: Any = None, but: Any = ()) -> Self:
        """Lets the consumers of a tensor read another.

        Args:
            old, to: tensors, by name or object; dtypes and shapes must fit.
            only: ops that are meant, as a selection, names or objects; None: all.
            but: ops that are not.

        Example:
            >>> from graphsurgeon.core.graph import Graph
            >>> from graphsurgeon.core.plan import Plan
            >>> g = Graph.of([("a", "Const", []), ("b", "Const", []), ("y", "Neg", ["a"]), ("z", "Neg", ["a"])])
            >>> after = Plan(g).reroute("a:0", to="b:0", but="z").after()
            >>> after.input_names(2), after.input_names(3)
            (['b:0'], ['a:0'])
        """
        asked = f"reroute({_text(old)!r}, to={_text(to)!r})"
        limits = None if only is None else self._ops(only, asked)
        return self.added(RerouteStep(self._tensor(old, asked), self._tensor(to, asked), limits, self._ops(but, asked)))

    def swap(self: Self, a: Any, b: Any) -> Self:
        """Lets the consumers of two tensors change places."""
        asked = f"swap({_text(a)!r}, {_text(b)!r})"
        return self.added(SwapStep(self._tensor(a, asked), self._tensor(b, asked)))

    def bypass(self: Self, op: Any, *, input: int = 0, output: int = 0) -> Self:
        """Lets what reads output `output` of an op read what its input `input` reads; the op itself stays."""
        asked = f"bypass({_text(op)!r})"
        return self.added(BypassStep(self.named(op, asked).partition(":")[0], int(input), int(output)))

    def detach(self: Self, ops: Any, *, side: str = "both") -> Self:
        """Cuts ops off: placeholders feed them (``inputs``), or feed what reads them (``outputs``), or ``both``.

        Raises:
            PlanError: `side` is none of these.
        """
        asked = f"detach({_text(ops)!r})"
        if side not in SIDES:
            choices = ", ".join(map(repr, SIDES))
            raise PlanError(asked, f"side={side!r} is not known", f"Choose one of {choices}")
        return self.added(DetachStep(self._ops(ops, asked), side))

    def insert(self: Self, op: str, *, on: Any, name: str, only: Any = None, but: Any = (), **attributes: Any) -> Self:
        """Puts a new op of one input on the edges between a tensor and its consumers.

        Args:
            op: its type, as ``"Identity"`` or ``"Relu"``.
            on: the tensor it reads.
            name: what to call it.
            only, but: which consumers, as in `reroute`.
            attributes: values of its attributes; its dtype is that of the tensor.
        """
        asked = f"insert({op!r}, on={_text(on)!r})"
        limits = None if only is None else self._ops(only, asked)
        held = tuple(attributes.items())
        return self.added(InsertStep(op, self._tensor(on, asked), name, held, limits, self._ops(but, asked)))

    def remove(self: Self, ops: Any, *, stitch: bool = False) -> Self:
        """Takes ops out of the graph.

        Args:
            ops: a selection, names or objects. Nothing that stays may read them.
            stitch: what reads output 0 of a removed op reads what its first input reads.
        """
        return self.added(RemoveStep(self._ops(ops, f"remove({_text(ops)!r})"), bool(stitch)))

    def set_attr(self: Self, ops: Any, name: str, value: Any) -> Self:
        """Sets an attribute of ops; None clears one that begins with ``_``."""
        return self.added(SetStep(self._ops(ops, f"set_attr({_text(ops)!r}, {name!r})"), ((name, value),)))

    def set_device(self: Self, ops: Any, device: str) -> Self:
        """Sets the device of ops; an empty text lets TensorFlow choose."""
        return self.added(SetStep(self._ops(ops, f"set_device({_text(ops)!r}, {device!r})"), (), str(device)))

    def add_control(self: Self, op: Any, after: Any) -> Self:
        """Lets an op run after others."""
        asked = f"add_control({_text(op)!r})"
        return self.added(OrderStep(self._ops(op, asked)[0], self._ops(after, asked), False))

    def remove_control(self: Self, op: Any, after: Any = None) -> Self:
        """Lets an op no longer wait for others; for none at all where `after` is not given."""
        asked = f"remove_control({_text(op)!r})"
        others = None if after is None else self._ops(after, asked)
        return self.added(OrderStep(self._ops(op, asked)[0], others, True))

    def _tensor(self, thing: Any, asked: str) -> str:
        name = self.named(thing, asked)
        return name if ":" in name else f"{name}:0"

    def _ops(self, things: Any, asked: str) -> tuple[str, ...]:
        """Names of ops given as a selection, a name, an object, or several."""
        if isinstance(things, Selection):
            return tuple(things.names)
        several: Iterable[Any] = [things] if isinstance(things, str) or hasattr(things, "name") else things
        return tuple(self.named(thing, asked).partition(":")[0] for thing in several)


def _text(things: Any) -> Any:
    """What was given, for a message."""
    if isinstance(things, Selection):
        return f"{things.count} ops"
    if isinstance(things, str) or hasattr(things, "name") or not isinstance(things, Iterable):
        return str(getattr(things, "name", things))
    return [str(getattr(thing, "name", thing)) for thing in things]
