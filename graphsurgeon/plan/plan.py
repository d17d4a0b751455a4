"""Plan: what is to be done to a graph, as an immutable value."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from operator import index
from typing import TYPE_CHECKING, Any

from ..errors import PlanError
from ..graph.devices import parts
from ..graph.graph import Graph
from ..graph.names import op_name as op_name
from ..graph.names import tensor_name as tensor_name
from ..graph.selection import Selection
from ..words import counted
from .editing import Editing
from .edits import EditStep
from .grafts import Tools
from .policies import POLICIES, is_tensor
from .renaming import RenameStep
from .steps import ConnectStep as ConnectStep  # steps are known from here, too
from .steps import CopyStep as CopyStep
from .steps import Fault as Fault

if TYPE_CHECKING:
    from .code import Opener
    from .copied import Copied
    from .effect import Effect
    from .preview import Preview

UNMAPPED = ("include", "keep", "placeholder", "refuse")
CONTROL = ("drop", "include", "keep", "refuse")
SEEDS = ("keep", "new")
COLLECTIONS = ("keep", "none", "rename", "variables")
DEVICES = ("clear", "keep")
#: How the arguments of a copy that are mappings are typed.
_MAPPINGS = {
    "inputs": "{'x:0': 'new:0'}", "reuse": "{'w': 'net/w'}", "constants": "{'x:0': array}",
    "names": "{'x': 'net/y'}", "variables": "'copy' or {'w': 'freeze'}", "device": "'/cpu:0' or {'/gpu:0': '/cpu:0'}",
}  # fmt: skip


Step = CopyStep | ConnectStep | EditStep


@dataclass(frozen=True, eq=False)
class Plan(Editing):
    """Steps over a destination graph. Each method returns a new plan; nothing changes before `apply`.

    Args:
        base: snapshot of the destination.
        steps: what to do, in order.
        probe: asks TensorFlow's own shape inference about an effect; None where there is no TensorFlow.
        picture: draws a plan, as mime type -> text; None where nothing draws.
        notes: says what a copy takes along that is not in the snapshot, as functions; None where nobody can.
        unproved: says which variables a copy would get initial values of, though it was given values, and why.
        supply: says why values that copies are given cannot be had; asked anew each time, for sessions go on.
        tools: builds subgraphs from Python functions; None where there is no TensorFlow.
        opener: says how the graph of a snapshot was opened; None where nobody has opened it.
        parts: takes an object apart into the tensors it is made of, as a SparseTensor; None where none is known.

    Example:
        >>> g = Graph.of([("x", "Placeholder", []), ("y", "Neg", ["x"])])
        >>> from graphsurgeon.graph.selection import select
        >>> plan = Plan(g).copy(select(g), to="copy")
        >>> plan.check(), plan.after().names
        ((), ['x', 'y', 'copy/x', 'copy/y'])
    """

    base: Graph
    steps: tuple[Step, ...] = ()
    probe: Callable[[Effect], list[Fault]] | None = None
    picture: Callable[[Plan], dict[str, str]] | None = None
    parts: Callable[[Any], list[Any]] | None = None
    notes: Callable[[Copied], list[str]] | None = None
    tools: Tools | None = None
    unproved: Callable[[Copied], dict[str, str]] | None = None
    opener: Callable[[Graph], Opener | None] | None = None
    supply: Callable[[Effect], list[Fault]] | None = None

    def copy(
        self,
        selection: Selection,
        to: str = "",
        *,
        inputs: Mapping[Any, Any] | None = None,
        unmapped: str = "refuse",
        control: str | None = None,
        variables: str | Mapping[str, Any] = "copy",
        values: Any = None,
        collections: str = "rename",
        device: str | Mapping[str, str] = "keep",
        seeds: str = "keep",
        reuse: Mapping[str, str] | None = None,
        constants: Mapping[str, Any] | None = None,
        names: Mapping[str, str] | None = None,
        trainable: bool = True,
    ) -> Plan:
        """Adds a copy of a selection, of this graph or another, under a name scope.

        Args:
            selection: the ops to copy; what their variables need comes along.
            to: the scope: every op is called ``to/`` plus its old name. Empty: the old names.
            inputs: tensor of the source -> tensor of the destination that takes its place.
            unmapped: what to do with entering tensors that `inputs` does not name: ``refuse`` the plan,
                make a ``placeholder``, ``keep`` the original tensor (same graph only), ``include`` what computes it.
            control: the same for control inputs from outside: ``keep``, ``drop``, ``include``, ``refuse``. Default:
                keep in the same graph, else refuse.
            variables: ``copy`` (independent, with current values where `values` has them), ``initial``
                (independent, with initial values), ``share`` (same graph only), ``freeze`` (its current value becomes
                a constant); or a mapping of variable name or pattern to one of these, or to a tensor of the
                destination that replaces the variable, with ``"*"`` for all others.
            values: where current values come from: a session, an editor, or a mapping of variable name to array.
            collections: ``rename`` (variable and training collections keep their names, others get the scope),
                ``keep`` all names, ``variables`` (only the two lists of variables keep their names), or ``none``.
            device: ``keep`` or ``clear`` the devices the ops ask for; or a device for all of them, as ``"/cpu:0"``; or
                a mapping of old to new ones: ``{"/gpu:0": "/cpu:0", "/job:ps": "/job:worker"}`` changes these parts.
            seeds: ``keep`` the seeds of random ops (the copy draws the same numbers), or give them ``new`` ones.
            reuse: source op -> op of the destination that is its copy already, from an earlier call; given (even
                empty), the scope may be in use.
            constants: source tensor -> array: a constant of that value takes its place.
            names: source op -> the full name of its copy, and source tensor -> that of its placeholder, where it is
                not ``to/`` and the old name; given (even empty), the scope may be in use.
            trainable: false keeps the new variables out of the list of those that an optimizer trains by itself.

        Raises:
            PlanError: an argument is not one of its allowed values. All else is found by `check`.
        """
        asked = f"copy(to={to!r})"
        if not isinstance(selection, Selection):
            raise PlanError(asked, f"{selection!r} is not a selection", "Make one with ed.select(...)")
        for what, given in (("inputs", inputs), ("reuse", reuse), ("constants", constants), ("names", names)):
            _mapping(asked, what, {} if given is None else given, "a mapping")
        _mapping(asked, "variables", {} if isinstance(variables, str) else variables, "a text or a mapping")
        _mapping(asked, "device", {} if isinstance(device, str) else device, "a text or a mapping")
        policy = {"*": variables} if isinstance(variables, str) else {"*": "copy", **variables}
        for rule, value in policy.items():
            policy[rule] = _policy(asked, rule, _of(value, self.base, asked))
        _one_of(asked, "unmapped", unmapped, UNMAPPED)
        _one_of(asked, "collections", collections, COLLECTIONS)
        _one_of(asked, "seeds", seeds, SEEDS)
        rules = device if isinstance(device, str) and device in DEVICES else _devices(asked, device)
        if control is None:
            control = "keep" if selection.graph.owner is self.base.owner else "refuse"
        _one_of(asked, "control", control, CONTROL)
        source = selection.graph
        mapped = [pair for a, b in (inputs or {}).items() for pair in self._pairs(a, b, asked)]
        pairs = tuple((tensor_name(_end(a, source, asked)), tensor_name(self.named(b, asked))) for a, b in mapped)
        step = CopyStep(
            selection, str(to).strip("/"), pairs, unmapped, control, tuple(policy.items()), values, collections, rules,
            seeds, reuse, tuple((constants or {}).items()), names, bool(trainable),
        )  # fmt: skip
        return replace(self, steps=(*self.steps, step))

    def _pairs(self, old: Any, new: Any, asked: str) -> list[tuple[Any, Any]]:
        """Pairs the tensors of two objects: one pair for plain tensors, several for sparse and ragged ones."""
        if self.parts is None or isinstance(old, str):
            return [(old, new)]
        olds, news = self.parts(old), self.parts(new)
        if len(olds) != len(news):
            raise PlanError(
                asked,
                f"{type(old).__name__} is made of {counted(len(olds), 'tensors')}, "
                f"and {type(new).__name__} of {len(news)}",
                "Replace it by one of its own kind, or map its tensors one by one",
            )
        return list(zip(olds, news, strict=True))

    def connect(self, tensor: Any, *, to: Any, input: int = 0) -> Plan:
        """Makes input `input` of op `to` read `tensor`; both by their names in the destination after the steps so far.

        An input of an op that the plan itself copies is set before the copy is made. An input of an op that is
        there already needs the graph to be materialised anew: `mode` says so. A list of tensors sets the inputs from
        `input` on, one by one; with a list of ops too, input `input` of each.

        Raises:
            PlanError: two lists are not of one length.
        """
        if isinstance(tensor, (list, tuple)):
            ends = list(to) if isinstance(to, (list, tuple)) else [to] * len(tensor)
            if len(ends) != len(tensor):
                wrong = f"{counted(len(tensor), 'tensors')} against {counted(len(ends), 'ops')}"
                raise PlanError(f"connect({counted(len(tensor), 'tensors')})", wrong, "Give as many, or one op for all")
            several, plan = isinstance(to, (list, tuple)), self
            for at, (one, end) in enumerate(zip(tensor, ends, strict=True)):
                plan = plan.connect(one, to=end, input=input if several else input + at)
            return plan
        asked = f"connect({_shown(tensor, tensor_name)}, to={_shown(to, op_name)})"
        source, end = self.named(tensor, asked), self.named(to, asked)
        try:
            number = index(input)
        except TypeError:
            wrong = f"input={input!r} is not the number of an input"
            raise PlanError(asked, wrong, "Type the first one as input=0") from None
        step = ConnectStep(tensor_name(source), op_name(end), number)
        return replace(self, steps=(*self.steps, step))

    def with_policy(self, step: int, variable: str, policy: Any) -> Plan:
        """Returns the plan with another policy for a variable of one of its copies.

        Args:
            step: which step, from 0.
            variable: the variable's op in the source, a pattern, or ``"*"`` for all that no other rule fits.
            policy: as in `copy`.

        Raises:
            PlanError: that step is no copy, or the policy is none.
        """
        asked = f"with_policy({step}, {variable!r}, {policy!r})"
        old = self.steps[step] if 0 <= step < len(self.steps) else None
        if not isinstance(old, CopyStep):
            copies = [str(i) for i, s in enumerate(self.steps) if isinstance(s, CopyStep)]
            raise PlanError(asked, f"step {step} is no copy", f"The copies are steps {', '.join(copies) or '(none)'}")
        rules = {**dict(old.variables), variable: _policy(asked, variable, _of(policy, self.base, asked))}
        new = replace(old, variables=tuple(rules.items()))
        return replace(self, steps=(*self.steps[:step], new, *self.steps[step + 1 :]))

    def added(self, step: Any) -> Plan:
        """Returns the plan with one step more."""
        return replace(self, steps=(*self.steps, step))

    def named(self, thing: Any, asked: str) -> str:
        """Returns the name that an op or tensor has after the steps so far, given by that name or as an object."""
        return self._called(_end(thing, self.base, asked))

    def _called(self, thing: Any) -> str:
        name = str(getattr(thing, "name", thing))
        if isinstance(thing, str) or getattr(thing, "graph", None) is None:
            return name
        for step in self.steps:  # an object is called what it was before any of them
            if isinstance(step, RenameStep):
                name = step.called(name)
        return name

    @cached_property
    def effect(self) -> Effect:
        """All that applying this plan would do, worked out once."""
        from .effect import resolve

        return resolve(self)

    @property
    def mode(self) -> str:
        """``append`` (nothing that exists is touched) or ``materialise`` (a new graph is built)."""
        return self.effect.mode

    @cached_property
    def _faults(self) -> tuple[Fault, ...]:
        found = list(self.effect.faults)
        if not found and self.probe is not None:
            found = self.probe(self.effect)
        return tuple(found)

    def check(self) -> tuple[Fault, ...]:
        """Returns every fault at once; empty when the plan can be applied."""
        return self._faults or (tuple(self.supply(self.effect)) if self.supply is not None else ())

    def after(self) -> Graph:
        """Returns the destination as it would be after the plan."""
        return self.effect.after

    def preview(self) -> Preview:
        """Returns what the plan changes, as text, table and marks; touches no graph."""
        from .preview import Preview

        return Preview(self)

    def to_code(self) -> str:
        """Returns Python that makes and applies the same plan."""
        from .code import plan_code

        return plan_code(self)

    def __len__(self) -> int:
        return len(self.steps)

    def __repr__(self) -> str:
        return f"<Plan for {self.base.title}: " + ("; ".join(s.text for s in self.steps) or "empty") + ">"

    def __str__(self) -> str:
        return str(self.preview())

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        drawn = self.picture(self) if self.picture is not None else {}
        return {"text/plain": str(self), **drawn}


def _of(thing: Any, graph: Graph, asked: str) -> Any:
    """Returns an op, tensor or variable given as an object; refuses one that is of another graph than this."""
    owner = None if isinstance(thing, str) else getattr(thing, "graph", None)
    if owner is not None and owner is not graph.owner:
        name = str(getattr(thing, "name", thing))
        raise PlanError(
            asked,
            f"{name!r} is an object of another graph, not of {graph.title}",
            "Give the one of this graph, or its name as text",
        )
    return thing


def _end(thing: Any, graph: Graph, asked: str) -> Any:
    """Returns an op or tensor given by its name or as an object of this graph; refuses all else."""
    if not _is_named(thing):
        wrong = f"{thing!r} is not an op or a tensor, nor the name of one"
        raise PlanError(asked, wrong, "Give the object, or its name as text: 'x' or 'x:0'")
    return _of(thing, graph, asked)


def _is_named(thing: Any) -> bool:
    return isinstance(thing, str) or hasattr(thing, "name")


def _shown(thing: Any, name: Callable[[Any], str]) -> str:
    return repr(name(thing) if _is_named(thing) else thing)


def _mapping(asked: str, what: str, value: Any, kind: str) -> None:
    if not isinstance(value, Mapping):
        raise PlanError(asked, f"{what}={value!r} is not {kind}", f"Give {what} as {_MAPPINGS[what]}")


def _policy(asked: str, rule: str, value: Any) -> str:
    """Reads what is to become of a variable: a word, or the tensor that replaces it."""
    if isinstance(value, str) and value in POLICIES:
        return value
    if rule != "*" and (is_tensor(value) if isinstance(value, str) else hasattr(value, "name")):
        return tensor_name(value)
    raise PlanError(
        asked,
        f"variables={value!r} is not known",
        f"Choose one of {', '.join(map(repr, POLICIES))}; a single variable can also be replaced by a tensor: "
        "variables={'w': 'name:0'}",
    )


def _devices(asked: str, device: Any) -> tuple[tuple[str, str], ...]:
    """Reads a device for all ops, or a mapping of old devices to new ones."""
    rules = {"*": device} if isinstance(device, str) else device
    for name in [n for pair in rules.items() for n in pair if n != "*"]:
        if parts(name) is None:
            raise PlanError(
                asked,
                f"device={name!r} is no device",
                "Choose 'clear', 'keep', a device as '/cpu:0' or '/job:ps/task:1', or {old: new}",
            )
    return tuple(rules.items())


def _one_of(asked: str, what: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise PlanError(asked, f"{what}={value!r} is not known", f"Choose one of {', '.join(map(repr, allowed))}")
