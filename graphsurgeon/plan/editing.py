"""Editing: the part of a plan that changes what the graph has already; each method returns a new plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import PlanError
from ..graph.selection import Selection
from ..words import counted
from .bypassing import BypassStep
from .grafting import Grafting
from .removal import RemoveStep
from .renaming import RenameStep
from .rewires import DetachStep, InsertStep, RerouteStep, SwapStep
from .settings import OrderStep, RerouteOrderStep, SetStep

if TYPE_CHECKING:
    from ..graph.graph import Graph

Self = TypeVar("Self", bound="Editing")
SIDES = ("both", "inputs", "outputs")


class Editing(Grafting):
    """The editing steps of a `Plan`. An edit of an op that is there already builds the graph anew: `mode` says so.

    With `forward`, the edits before it are carried out on copies instead, and the graph stays as it is.
    """

    if TYPE_CHECKING:
        base: Graph

        def added(self: Self, step: Any) -> Self:
            """Returns the plan with one step more."""

        def named(self, thing: Any, asked: str) -> str:
            """Returns the name of an op or tensor, given by name or object of this graph."""

    def reroute(self: Self, old: Any, *, to: Any = None, only: Any = None, but: Any = ()) -> Self:
        """Lets the consumers of a tensor read another.

        Args:
            old, to: tensors, by name or object, or as many in two lists; or `old` a dict of old -> new, and no `to`.
                Dtypes and shapes must fit. Several are rerouted at once: they may change places.
            only: ops that are meant, as a selection, names or objects; None: all.
            but: ops that are not.

        Example:
            >>> from graphsurgeon.graph.graph import Graph
            >>> from graphsurgeon.plan.plan import Plan
            >>> g = Graph.of([("a", "Const", []), ("b", "Const", []), ("y", "Neg", ["a"]), ("z", "Neg", ["a"])])
            >>> after = Plan(g).reroute("a:0", to="b:0", but="z").after()
            >>> after.input_names(2), after.input_names(3)
            (['b:0'], ['a:0'])
        """
        asked = f"reroute({_text(old)!r}, to={_text(to)!r})"
        limits = None if only is None else self._ops(only, asked)
        return self.added(RerouteStep(*self._two(old, to, asked), limits, self._ops(but, asked)))

    def swap(self: Self, a: Any, b: Any = None) -> Self:
        """Lets the consumers of two tensors change places; of as many in two lists, or of the pairs of a dict."""
        asked = f"swap({_text(a)!r}, {_text(b)!r})"
        return self.added(SwapStep(*self._two(a, b, asked)))

    def bypass(self: Self, ops: Any, *, input: int | str | None = None, output: int | str | None = None) -> Self:
        """Lets what reads ops read what these read themselves; the ops stay.

        Args:
            ops: an op, several, a selection, or a name scope. Each connected part of them is bypassed by itself.
            input: what is read instead. Of one op the number of its input, by default 0; of several the tensor that
                enters, by name or by number among those that enter; by default the only one that fits.
            output: what is read no more. Of one op the number of its output, by default 0; of several the tensor that
                leaves, by name or number; by default all that come from what enters and are read outside.

        Example:
            >>> from graphsurgeon.graph.graph import Graph
            >>> from graphsurgeon.plan.plan import Plan
            >>> g = Graph.of([("x", "Placeholder", []), ("s/a", "Neg", ["x"]), ("s/b", "Exp", ["s/a"]),
            ...               ("y", "Neg", ["s/b"])])
            >>> Plan(g).bypass("s").after().input_names(3)
            ['x:0']
        """
        asked = f"bypass({_text(ops)!r})"
        first, last = (end if end is None or isinstance(end, int) else self._tensor(end, asked)
                       for end in (input, output))  # fmt: skip
        given, names = self._scope_or_ops(ops, asked)
        if not names:
            raise PlanError(asked, "it has no ops", "Give at least one op")
        return self.added(BypassStep(names, first, last, given))

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

    def insert(
        self: Self, op: Any, *, on: Any, name: str | Iterable[str], only: Any = None, but: Any = (), **attributes: Any
    ) -> Self:
        """Puts a new op of one input, or a subgraph, on the edges between a tensor and its consumers.

        Args:
            op: its type, as ``"Identity"`` or ``"Relu"``; or a Python function of one tensor, which gives one.
            on: the tensor it reads; or several in a list, each of which gets one.
            name: what to call it; the scope of the ops that a function makes. Of several the first is called this,
                the others ``name_1``, ``name_2`` …; or a list of as many names.
            only, but: which consumers, as in `reroute`.
            attributes: values of its attributes; its dtype is that of the tensor.

        Raises:
            PlanError: a tensor is named twice, there are more or fewer names than tensors, or a function gets
                attributes.

        Example:
            >>> from graphsurgeon.graph.graph import Graph
            >>> from graphsurgeon.plan.plan import Plan
            >>> g = Graph.of([("a", "Const", []), ("b", "Const", []), ("y", "Add", ["a", "b"])])
            >>> Plan(g).insert("Identity", on=["a", "b"], name="probe").after().input_names(2)
            ['probe:0', 'probe_1:0']
        """
        word = self._word(op, "function") if callable(op) else ""
        asked = f"insert({word or repr(op)}, on={_text(on)!r})"
        limits = None if only is None else self._ops(only, asked)
        held = tuple(attributes.items())
        if callable(op) and held:
            wrong = f"a function has no attribute {held[0][0]!r}"
            raise PlanError(asked, wrong, "Give what it needs inside: lambda x: f(x, ...)")
        several = on if isinstance(on, (list, tuple)) else [on]
        tensors = tuple(self._tensor(one, asked) for one in several)
        if len(set(tensors)) < len(tensors) or not tensors:
            wrong = "a tensor is named twice" if tensors else "it names no tensor"
            raise PlanError(asked, wrong, "Name each once")
        names = name if isinstance(name, str) else tuple(map(str, name))
        if not isinstance(names, str) and len(names) != len(tensors):
            wrong = f"{counted(len(names), 'names')} against {counted(len(tensors), 'tensors')}"
            raise PlanError(asked, wrong, "Give as many names, or one for all")
        return self.added(InsertStep(op, tensors, names, held, limits, self._ops(but, asked), ("", word)))

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

    def reroute_control(self: Self, old: Any, *, to: Any, only: Any = None, but: Any = ()) -> Self:
        """Lets what waits for an op wait for others instead.

        Args:
            old: the op that is waited for, by name or object.
            to: one op or several.
            only, but: which ops that wait, as in `reroute`.
        """
        asked = f"reroute_control({_text(old)!r}, to={_text(to)!r})"
        limits = None if only is None else self._ops(only, asked)
        first = self._ops(old, asked)[0]
        return self.added(RerouteOrderStep(first, self._ops(to, asked), limits, self._ops(but, asked)))

    def rename(self: Self, old: Any, to: str | None = None, *, values: Any = None) -> Self:
        """Gives ops, or name scopes with all in them, other names: those of the graph, or what the plan makes.

        Nothing else changes: what reads them reads them under the new names, and so does what is placed with them, or
        lists them in a collection. Steps after this one use the new names.

        Its variables keep the values they hold: `session` hands them over, and back again after an undo.

        Args:
            old: an op or name scope; or a dict of old -> new, all of which change at once: names may change places.
                An op that is named itself goes where it is sent, whatever happens to its scope.
            to: the new name, which must be free.
            values: other values for its variables: ``"initial"`` resets them; else as in `copy`. An undo brings back
                what they held before.

        Raises:
            PlanError: no new name is given, or two.

        Example:
            >>> from graphsurgeon.graph.graph import Graph
            >>> from graphsurgeon.plan.plan import Plan
            >>> g = Graph.of([("a/x", "Const", []), ("b/x", "Neg", ["a/x"])])
            >>> Plan(g).rename({"a": "b", "b": "a"}).after().names
            ['b/x', 'a/x']
        """
        asked = f"rename({_text(old)!r})"
        if isinstance(old, Mapping) == (to is not None):
            wrong = "a dict says both names" if to is not None else "it has no new name"
            raise PlanError(asked, wrong, "Type rename('old', to='new'), or rename({'old': 'new', ...})")
        pairs = old.items() if isinstance(old, Mapping) else [(old, to)]
        names = tuple((self.named(one, asked).partition(":")[0].strip("/"), str(new).strip("/")) for one, new in pairs)
        if not names or len({name for name, _ in names}) < len(names):
            raise PlanError(asked, "an op or scope is named twice" if names else "it is empty", "Name each once")
        return self.added(RenameStep(names, values))

    def _two(self, old: Any, new: Any, asked: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Names of tensors given as two, as two lists, or as a dict."""
        if isinstance(old, Mapping):
            if new is not None:
                raise PlanError(asked, "a dict says both, and so does the other argument", "Give the dict alone")
            old, new = list(old), list(old.values())
        olds, news = ([x] if isinstance(x, str) or not isinstance(x, (list, tuple)) else list(x) for x in (old, new))
        if len(olds) != len(news) or new is None:
            wrong = f"{counted(len(olds), 'tensors')} against {0 if new is None else len(news)}"
            raise PlanError(asked, wrong, "Give as many of the one as of the other, or a dict")
        first, second = ([self._tensor(thing, asked) for thing in things] for things in (olds, news))
        if len(set(first)) < len(first):
            raise PlanError(asked, "a tensor is named twice", "Name each once")
        return tuple(first), tuple(second)

    def _tensor(self, thing: Any, asked: str) -> str:
        name = self.named(thing, asked)
        return name if ":" in name else f"{name}:0"

    def _ops(self, things: Any, asked: str) -> tuple[str, ...]:
        """Names of ops given as a selection, a name, an object, or several."""
        if isinstance(things, Selection):
            return tuple(things.names)
        one = isinstance(things, str) or hasattr(things, "name") or not hasattr(things, "__iter__")
        several: Iterable[Any] = [things] if one else things
        return tuple(self.named(thing, asked).partition(":")[0] for thing in several)


def _text(things: Any) -> Any:
    """What was given, for a message."""
    if isinstance(things, Selection):
        return counted(len(things), "ops")
    # A tensor says that it can be iterated, and cannot.
    if isinstance(things, str) or hasattr(things, "name") or not isinstance(things, Iterable):
        return str(getattr(things, "name", things))
    return [str(getattr(thing, "name", thing)) for thing in things]
