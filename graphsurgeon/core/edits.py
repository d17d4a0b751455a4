"""Edits: what all plan steps share that change what a graph has already."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import SelectionError
from .fitting import axis_text, bare, both_ways, handle_clash, shapes_differ
from .graph import Graph, TensorInfo
from .rewiring import Edge, cycle_fault, frame_fault, grown, reference_fault, rewired

if TYPE_CHECKING:
    from .boundary import Tensor
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
    """An op that is made anew: its name, type, inputs by tensor name, attributes as Python values."""

    name: str
    op: str
    inputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    info: TensorInfo | None


class EditStep:
    """A step that changes what is there; `carry` works out what it does, or notes its faults."""

    text: str
    code: str

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
    graph = effect.after
    a, b = graph.info(*old), graph.info(*new)
    if a is None or b is None:
        return False
    differ = bare(a.dtype) != bare(b.dtype)
    clash = handle_clash(graph, old, new)
    if clash:
        fault(effect, asked, *clash)
        return True
    if not differ and not shapes_differ(a.shape, b.shape):
        return False
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
    graph = effect.after
    if any(misfit(effect, asked, old, new, _readers(edges, new)) for old, new in pairs):
        return
    from .copied import Connection  # it knows plans, and plans know edits

    if not edges and pairs:
        fault(effect, asked, "no op reads it, so nothing would change", "Name another tensor, or widen only=")
        return
    after = rewired(graph, edges)
    trouble = next((f for f in (reference_fault(graph, edge, asked) for edge in edges) if f), None)
    trouble = trouble or frame_fault(graph, edges, asked)
    if not trouble and not checked:
        trouble = cycle_fault(after, [(op, new[0]) for op, _, new in edges], asked, graph)
    if trouble:
        effect.faults.append(trouble)
        return
    effect.after = after
    base = effect.plan.base.size
    set_now = {(graph.names[op], at) for op, at, _ in edges}
    effect.connections = [c for c in effect.connections if (c.to, c.input) not in set_now]
    for op, at, (source, port) in edges:
        name, was = graph.names[op], graph.input_names(op)[at]
        effect.connections.append(Connection(f"{graph.names[source]}:{port}", name, at, was))
        if op < base:
            effect.mode = "materialise"
            effect.edits.append((name, at, f"{graph.names[source]}:{port}"))


def _readers(edges: Sequence[Edge], tensor: Tensor) -> list[int]:
    return list(dict.fromkeys(op for op, _, new in edges if new == tensor))


def touch(effect: Effect, op: int) -> Change:
    """Returns the change of an op, to be added to; an op of the base needs the graph built anew."""
    if op < effect.plan.base.size:
        effect.mode = "materialise"
    return effect.changes.setdefault(effect.after.names[op], Change())


def add_changes(effect: Effect, before: Graph, waits: Mapping[int, Sequence[int]]) -> None:
    """Notes for ops what they wait for now, and no longer.

    Args:
        effect: what to add it to.
        before: the graph before.
        waits: op -> all its control inputs now.
    """
    for op, now in waits.items():
        old = before.control.row(op).tolist()
        change = touch(effect, op)
        change.waits += [before.names[i] for i in now if i not in old and before.names[i] not in change.waits]
        change.frees += [before.names[i] for i in old if i not in now]


def add_node(effect: Effect, node: NewNode) -> int:
    """Adds an op to the prediction; returns its number."""
    effect.after = grown(effect.after, node)
    effect.added.append(node)
    return effect.after.size - 1


def fault(effect: Effect, asked: str, wrong: str, instead: str) -> None:
    """Notes a fault."""
    from .steps import Fault

    effect.faults.append(Fault(asked, wrong, instead))


def tensors_of(effect: Effect, asked: str, *names: str) -> list[Tensor]:
    """Returns tensors by name; none, and a fault, where one is not there."""
    try:
        return [effect.after.tensor(name, asked) for name in names]
    except SelectionError as error:
        fault(effect, error.asked, error.wrong, error.instead)
        return []


def numbers_of(effect: Effect, asked: str, names: Sequence[str]) -> list[int] | None:
    """Returns ops by name; None, and a fault, where one is not there."""
    try:
        return [effect.after.find(name, asked) for name in names]
    except SelectionError as error:
        fault(effect, error.asked, error.wrong, error.instead)
        return None


def consumers_of(
    graph: Graph, tensor: Tensor, only: Sequence[str] | None = None, but: Sequence[str] = ()
) -> list[tuple[int, int]]:
    """Returns (op, input) for what reads a tensor."""
    hit = np.flatnonzero((graph.data.node == tensor[0]) & (graph.data.port == tensor[1]))
    ops = np.searchsorted(graph.data.ptr, hit, side="right") - 1
    out = [(int(op), int(at - graph.data.ptr[op])) for op, at in zip(ops, hit, strict=True)]
    keep = None if only is None else set(only)
    return [(op, at) for op, at in out if graph.names[op] not in but and (keep is None or graph.names[op] in keep)]


def free_name(graph: Graph, wish: str) -> str:
    """Returns a name that no op and no scope has."""
    name, n = wish, 1
    while name.lower() in graph.lowered:
        n += 1
        name = f"{wish}_{n}"
    return name


def few(names: Sequence[str], most: int = 3) -> str:
    """Returns the first names, and how many more there are."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def one_or_all(names: tuple[str, ...]) -> Any:
    """Returns the only name, or all as a list: as a person would type them."""
    return names[0] if len(names) == 1 else list(names)


def whose(tensor: str, only: tuple[str, ...] | None, but: tuple[str, ...]) -> str:
    """Returns in words which consumers of a tensor are meant."""
    if only is not None:
        return f"what {few(only)} read{'s' * (len(only) == 1)} of {tensor}"
    return f"the consumers of {tensor}" + (f" but {few(but)}" if but else "")


def limits(only: tuple[str, ...] | None, but: tuple[str, ...]) -> str:
    """Returns the arguments `only` and `but` as code."""
    return (f", only={one_or_all(only)!r}" if only is not None else "") + (f", but={one_or_all(but)!r}" if but else "")
