"""Edits: what all plan steps share that change what a graph has already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import SelectionError
from ..graph.boundary import Tensor
from ..graph.edges import Edges
from ..graph.graph import Graph, TensorInfo
from ..words import few, one_or_all
from .fitting import axis_text, bare, both_ways, handle_clash, shapes_differ
from .rewiring import Edge, frame_fault, reference_fault
from .workbench import Workbench

if TYPE_CHECKING:
    from .effect import Effect
    from .sources import Sources


@dataclass
class Change:
    """What becomes of one op: attributes (None clears one), a device, control inputs."""

    attributes: dict[str, Any] = field(default_factory=dict)
    device: str | None = None
    waits: list[str] = field(default_factory=list)
    frees: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What changes, in words."""
        parts = [f"{name} cleared" if value is None else f"{name}={value!r}" for name, value in self.attributes.items()]
        parts += [] if self.device is None else [f"on {self.device or 'any device'}"]
        parts += [f"after {few(self.waits)}"] if self.waits else []
        parts += [f"no longer after {few(self.frees)}"] if self.frees else []
        return ", ".join(parts)


@dataclass(frozen=True)
class NewNode:
    """An op that is made anew.

    Args:
        name, op: its name and type.
        inputs: numbers of the tensors it reads.
        attributes: as Python values.
        info: dtype and static shape of its output, as far as known.
        reads: the same of what it reads; where that is new too and nothing is known, of what this one reads.
    """

    name: str
    op: str
    inputs: tuple[Tensor, ...]
    attributes: Mapping[str, Any]
    info: TensorInfo | None
    reads: TensorInfo | None = None


class Link(NamedTuple):
    """An edge that a step has made, which may close a circle.

    Args:
        step: number of the step.
        op: the op that reads, or waits.
        source: the op that it reads, or waits for.
        at: number of the input; None where it waits.
        was: what it read before.
    """

    step: int
    op: int
    source: int
    at: int | None = None
    was: Tensor = (-1, 0)

    def stands(self, bench: Workbench) -> bool:
        """Returns whether the edge is still there."""
        waits = self.at is None and self.source in bench.waits(self.op)
        return waits or (self.at is not None and bench.row(self.op)[self.at][0] == self.source)

    def take_back(self, bench: Workbench) -> None:
        """Takes the edge away."""
        if self.at is None:
            bench.set_waits(self.op, [i for i in bench.waits(self.op) if i != self.source])
        else:
            bench.set_input(self.op, self.at, self.was)


class EditStep:
    """A step that changes what is there; `carry` works out what it does, or notes its faults."""

    text: str
    code: str
    #: It looks at all that the steps before it have done.
    whole = False

    def carry(self, effect: Effect) -> None:
        """Adds what the step does to an effect."""
        raise NotImplementedError

    def code_for(self, owner: str, sources: Sources) -> str:
        """Returns the call that adds it to a plan of the editor called `owner`; notes the functions it uses."""
        return self.code

    @property
    def asked(self) -> str:
        """The request, for messages."""
        return self.code.removeprefix(".")


def misfit(effect: Effect, asked: str, old: Tensor, new: Tensor, readers: Sequence[int] = ()) -> bool:
    """Returns whether a tensor cannot take another's place, by dtype or shape; notes the fault.

    Args:
        effect: where the fault is noted.
        asked: the request, for messages.
        old, new: the tensors.
        readers: the ops that are to read the new one.
    """
    bench = effect.bench
    a, b = bench.info(*old), bench.info(*new)
    if a is None or b is None:
        return False
    differ = bare(a.dtype) != bare(b.dtype)
    clash = handle_clash(bench, old, new)
    if clash:
        fault(effect, asked, *clash)
        return True
    if not differ and not shapes_differ(a.shape, b.shape):
        return False
    graph = effect.after
    why = "the dtypes differ" if differ else axis_text(b.shape, a.shape)
    names = [f"{graph.names[op]}:{port}" for op, port in (new, old)]
    wrong = f"{names[0]!r} is {b}, but {names[1]!r} is {a}: {why}"
    instead = both_ways(graph, a, new, b, list(readers), old)
    if asked.startswith(("bypass(", "remove(")) and instead.startswith("These"):
        instead = f"Let its consumers read another: .reroute({names[1]!r}, to=...). {instead}"
    fault(effect, asked, wrong, instead)
    return True


def rewire(
    effect: Effect,
    asked: str,
    edges: Sequence[Edge],
    pairs: Sequence[tuple[Tensor, Tensor]],
    checked: bool = False,
) -> None:
    """Sets inputs of ops, after all checks: dtypes and shapes of `pairs` (old, new), cycles, frames of loops.

    Args:
        effect: what to add it to.
        asked: the request, for messages.
        edges: the inputs to set.
        pairs: tensors of which the second takes the place of the first.
        checked: it is known that no circle is closed.
    """
    bench = effect.bench
    if any(misfit(effect, asked, old, new, _readers(edges, new)) for old, new in pairs):
        return
    from .copied import Connection  # it knows plans, and plans know edits

    if not edges and pairs:
        fault(effect, asked, "no op reads it, so nothing would change", "Name another tensor, or widen only=")
        return
    trouble = next((f for f in (reference_fault(bench, edge, asked) for edge in edges) if f), None)
    trouble = trouble or frame_fault(bench, edges, asked)
    if trouble:
        effect.faults.append(trouble)
        return
    base = effect.plan.base.size
    for op, at, new in edges:
        name, was = bench.names[op], bench.name(bench.row(op)[at])
        effect.connections.append(Connection(bench.name(new), name, at, was))
        if op < base:
            effect.mode = "materialise"
            effect.edits.append((name, at, bench.name(new)))
    for op, at, new in edges:
        if not checked:
            effect.links.append(Link(effect.step, op, new[0], at, bench.row(op)[at]))
        bench.set_input(op, at, new)
        effect.by[op] = effect.step


def _readers(edges: Sequence[Edge], tensor: Tensor) -> list[int]:
    return list(dict.fromkeys(op for op, _, new in edges if new == tensor))


def touch(effect: Effect, op: int) -> Change:
    """Returns the change of an op, to be added to; an op of the base needs the graph built anew."""
    if op < effect.plan.base.size:
        effect.mode = "materialise"
    return effect.changes.setdefault(effect.bench.names[op], Change())


def wait(effect: Effect, op: int, waits: Sequence[int], checked: bool = False) -> None:
    """Lets an op wait for just these others."""
    bench, change = effect.bench, effect.orders.setdefault(op, ([], []))
    old = bench.waits(op)
    touch(effect, op)
    change[0].extend(i for i in waits if i not in old and i not in change[0])
    change[1].extend(i for i in old if i not in waits)
    bench.set_waits(op, waits)
    if not checked:
        effect.links += [Link(effect.step, op, i) for i in waits if i not in old]


def add_node(effect: Effect, node: NewNode) -> int:
    """Adds an op to the prediction; returns its number."""
    node_of, port_of = ([tensor[k] for tensor in node.inputs] for k in (0, 1))
    reads = Edges(np.array([0, len(node_of)], np.int32), np.array(node_of, np.int32), np.array(port_of, np.int32))
    nothing = Edges(np.zeros(2, np.int32), np.empty(0, np.int32), np.empty(0, np.int32))
    told = None if node.info is None else [node.info]
    number = effect.bench.add([node.name], [node.op], [None], reads, nothing, lambda _: told)
    effect.added.append(node)
    effect.by[number] = effect.step
    effect.reads[number] = node.reads
    return number


def reading(effect: Effect, tensor: Tensor) -> TensorInfo | None:
    """Returns what is known of a tensor; where it is that of an op the plan inserts, of what that op reads."""
    known = effect.bench.info(*tensor)
    return effect.reads.get(tensor[0]) if known is None else known


def fault(effect: Effect, asked: str, wrong: str, instead: str) -> None:
    """Notes a fault."""
    from .steps import Fault

    effect.faults.append(Fault(asked, wrong, instead))


def tensors_of(effect: Effect, asked: str, *names: str) -> list[Tensor]:
    """Returns tensors by name; none, and a fault, where one is not there."""
    try:
        return [effect.bench.tensor(name, asked) for name in names]
    except SelectionError as error:
        fault(effect, error.asked, error.wrong, error.instead)
        return []


def numbers_of(effect: Effect, asked: str, names: Sequence[str]) -> list[int] | None:
    """Returns ops by name; None, and a fault, where one is not there."""
    try:
        return [effect.bench.find(name, asked) for name in names]
    except SelectionError as error:
        fault(effect, error.asked, error.wrong, error.instead)
        return None


def consumers_of(
    graph: Graph | Workbench, tensor: Tensor, only: Sequence[str] | None = None, but: Sequence[str] = ()
) -> list[tuple[int, int]]:
    """Returns (op, input) for what reads a tensor."""
    out = graph.readers(tensor) if isinstance(graph, Workbench) else _consumers(graph, tensor)
    if only is None and not but:
        return out
    keep, leave = None if only is None else set(only), set(but)
    names = graph.names
    return [(op, at) for op, at in out if names[op] not in leave and (keep is None or names[op] in keep)]


def _consumers(graph: Graph, tensor: Tensor) -> list[tuple[int, int]]:
    hit = np.flatnonzero((graph.data.node == tensor[0]) & (graph.data.port == tensor[1]))
    ops = np.searchsorted(graph.data.ptr, hit, side="right") - 1
    return [(int(op), int(at - graph.data.ptr[op])) for op, at in zip(ops, hit, strict=True)]


def whose(tensor: str, only: tuple[str, ...] | None, but: tuple[str, ...]) -> str:
    """Returns in words which consumers of a tensor are meant."""
    if only is not None:
        return f"what {few(only)} read{'s' * (len(only) == 1)} of {tensor}"
    return f"the consumers of {tensor}" + (f" but {few(but)}" if but else "")


def limits(only: tuple[str, ...] | None, but: tuple[str, ...]) -> str:
    """Returns the arguments `only` and `but` as code."""
    return (f", only={one_or_all(only)!r}" if only is not None else "") + (f", but={one_or_all(but)!r}" if but else "")
