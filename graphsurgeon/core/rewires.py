"""Rewires: plan steps that let ops read other tensors: reroute, swap, detach, insert."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .edits import (
    EditStep,
    NewNode,
    add_node,
    consumers_of,
    fault,
    few,
    free_name,
    limits,
    numbers_of,
    one_or_all,
    rewire,
    tensors_of,
    whose,
)
from .fitting import bare
from .grafts import Site, built, graft
from .graph import TensorInfo
from .naming import valid_scope
from .rewiring import Edge
from .sources import Sources, literal

if TYPE_CHECKING:
    from .boundary import Tensor
    from .effect import Effect


@dataclass(frozen=True)
class RerouteStep(EditStep):
    """All consumers of a tensor, or some of them, read another; see `Plan.reroute`."""

    old: tuple[str, ...]
    to: tuple[str, ...]
    only: tuple[str, ...] | None = None
    but: tuple[str, ...] = ()

    @property
    def text(self) -> str:  # type: ignore[override]
        """The step in words."""
        return f"reroute {whose(few(self.old), self.only, self.but)} to {few(self.to)}"

    @property
    def code(self) -> str:  # type: ignore[override]
        """The call that adds it to a plan."""
        return f".reroute({one_or_all(self.old)!r}, to={one_or_all(self.to)!r}{limits(self.only, self.but)})"

    def carry(self, effect: Effect) -> None:
        """Sets the inputs of the consumers; all of them at once, so that tensors may change places."""
        found = tensors_of(effect, self.asked, *self.old, *self.to)
        if found:
            pairs = list(zip(found[: len(self.old)], found[len(self.old) :], strict=True))
            edges: list[Edge] = []
            for old, new in pairs:
                edges += [(op, at, new) for op, at in consumers_of(effect.after, old, self.only, self.but)]
            rewire(effect, self.asked, edges, pairs)


@dataclass(frozen=True)
class SwapStep(EditStep):
    """The consumers of two tensors change places; see `Plan.swap`."""

    a: tuple[str, ...]
    b: tuple[str, ...]

    @property
    def text(self) -> str:  # type: ignore[override]
        """The step in words."""
        return f"swap the consumers of {few(self.a)} and {few(self.b)}"

    @property
    def code(self) -> str:  # type: ignore[override]
        """The call that adds it to a plan."""
        return f".swap({one_or_all(self.a)!r}, {one_or_all(self.b)!r})"

    def carry(self, effect: Effect) -> None:
        """Sets the inputs of the consumers of both."""
        found = tensors_of(effect, self.asked, *self.a, *self.b)
        pairs = list(zip(found[: len(self.a)], found[len(self.a) :], strict=True)) if found else []
        edges: list[Edge] = []
        for a, b in pairs:
            edges += [(op, at, b) for op, at in consumers_of(effect.after, a)]
            edges += [(op, at, a) for op, at in consumers_of(effect.after, b)]
        if pairs:
            rewire(effect, self.asked, edges, [(a, b) for pair in pairs for a, b in (pair, pair[::-1])])


@dataclass(frozen=True)
class DetachStep(EditStep):
    """Ops are cut off: placeholders feed them, or feed what reads them; see `Plan.detach`."""

    ops: tuple[str, ...]
    side: str

    @property
    def text(self) -> str:  # type: ignore[override]
        """The step in words."""
        return f"detach the {'inputs and outputs' if self.side == 'both' else self.side} of {few(self.ops)}"

    @property
    def code(self) -> str:  # type: ignore[override]
        """The call that adds it to a plan."""
        return f".detach({one_or_all(self.ops)!r}, side={self.side!r})"

    def carry(self, effect: Effect) -> None:
        """Makes the placeholders and sets the inputs."""
        numbers = numbers_of(effect, self.asked, self.ops)
        if numbers is None:
            return
        mask = effect.after.mask(numbers)
        for side in ("inputs", "outputs") if self.side == "both" else (self.side,):
            self._cut(effect, mask, side)

    def _cut(self, effect: Effect, mask: Any, side: str) -> None:
        graph = effect.after
        inside = np.zeros(graph.size, np.bool_)
        inside[: len(mask)] = mask
        rows = np.repeat(np.arange(graph.size), np.diff(graph.data.ptr))
        cross = inside[rows] & ~inside[graph.data.node]
        if side == "outputs":
            cross = ~inside[rows] & inside[graph.data.node]
        edges: dict[Tensor, list[tuple[int, int]]] = {}
        for at in np.flatnonzero(cross).tolist():
            tensor = int(graph.data.node[at]), int(graph.data.port[at])
            edges.setdefault(tensor, []).append((int(rows[at]), at - int(graph.data.ptr[rows[at]])))
        for tensor, readers in edges.items():
            info = graph.info(*tensor) or TensorInfo("float32", None)
            name = free_name(effect.after, f"{graph.names[tensor[0]]}_{tensor[1]}_detached")
            held = {"dtype": bare(info.dtype), "shape": info.shape}
            new = add_node(effect, NewNode(name, "Placeholder", (), held, TensorInfo(bare(info.dtype), info.shape)))
            rewire(effect, self.asked, [(op, at, (new, 0)) for op, at in readers], [])


@dataclass(frozen=True)
class InsertStep(EditStep):
    """A new op on an edge; see `Plan.insert`."""

    op: str | Callable[..., Any]
    on: str
    name: str
    attributes: tuple[tuple[str, Any], ...]
    only: tuple[str, ...] | None = None
    but: tuple[str, ...] = ()
    words: tuple[str, str] = ("", "")

    @property
    def given(self) -> Any:
        """What was given beside the function: nothing."""

    @property
    def by(self) -> Any:
        """The function, where one is inserted."""
        return self.op

    @property
    def text(self) -> str:  # type: ignore[override]
        """The step in words."""
        what = self.op if isinstance(self.op, str) else f"{self.words[1]} as"
        return f"insert {what} {self.name} between {self.on} and {whose(self.on, self.only, self.but)}"

    @property
    def code(self) -> str:  # type: ignore[override]
        """The call that adds it to a plan."""
        return self.code_for("ed", Sources())

    def code_for(self, owner: str, sources: Sources) -> str:
        """Returns the call that adds it to a plan of the editor called `owner`; notes the function it uses."""
        held = "".join(f", {key}={literal(value, sources)}" for key, value in self.attributes)
        what = repr(self.op) if isinstance(self.op, str) else sources.word(self.op, self.words[1])
        return f".insert({what}, on={self.on!r}, name={self.name!r}{limits(self.only, self.but)}{held})"

    def carry(self, effect: Effect) -> None:
        """Adds the op and lets the consumers read it."""
        graph = effect.after
        found = tensors_of(effect, self.asked, self.on)
        if not found:
            return
        if not valid_scope(self.name) or self.name.lower() in graph.lowered:
            wrong = f"the name {self.name!r} is taken, or none" if self.name else "the new op has no name"
            fault(effect, self.asked, wrong, f"Type name={free_name(graph, 'inserted')!r}, which is free")
            return
        edges = consumers_of(graph, found[0], self.only, self.but)
        if isinstance(self.op, str):
            new = add_node(effect, NewNode(self.name, self.op, (self.on,), dict(self.attributes), None)), 0
            rewire(effect, self.asked, [(op, at, new) for op, at in edges], [])
            return
        sites = [Site(self.name, {"x": found[0]}, ("output",))]
        piece = built(effect, self.asked, self.op, sites)
        grafted = graft(effect, piece, sites) if piece is not None else None
        if grafted is not None:
            new = grafted.outputs[0]["output"]
            rewire(effect, self.asked, [(op, at, new) for op, at in edges], [(found[0], new)])
