"""Rewires: plan steps that let ops read other tensors: reroute, swap, detach, insert."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..graph.graph import TensorInfo
from ..graph.names import free_name, valid_scope
from ..words import few, one_or_all
from .edits import (
    EditStep,
    NewNode,
    add_node,
    consumers_of,
    fault,
    limits,
    numbers_of,
    reading,
    rewire,
    tensors_of,
    whose,
)
from .fitting import bare
from .grafts import Site, built, graft
from .rewiring import Edge
from .sources import Sources, literal

if TYPE_CHECKING:
    from ..graph.boundary import Tensor
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
                edges += [(op, at, new) for op, at in consumers_of(effect.bench, old, self.only, self.but)]
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
            edges += [(op, at, b) for op, at in consumers_of(effect.bench, a)]
            edges += [(op, at, a) for op, at in consumers_of(effect.bench, b)]
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
        inside = set(numbers)
        for side in ("inputs", "outputs") if self.side == "both" else (self.side,):
            self._cut(effect, inside, side)

    def _cut(self, effect: Effect, inside: set[int], side: str) -> None:
        graph = effect.bench
        rows = inside if side == "inputs" else {op for one in inside for op in graph.reading(one)} - inside
        edges: dict[Tensor, list[tuple[int, int]]] = {}
        for op in sorted(rows):
            for at, tensor in enumerate(graph.row(op)):
                if (tensor[0] in inside) == (side == "outputs"):
                    edges.setdefault(tensor, []).append((op, at))
        for tensor, readers in edges.items():
            info = graph.info(*tensor) or TensorInfo("float32", None)
            name = free_name(f"{graph.names[tensor[0]]}_{tensor[1]}_detached", graph.taken)
            held = {"dtype": bare(info.dtype), "shape": info.shape}
            new = add_node(effect, NewNode(name, "Placeholder", (), held, TensorInfo(bare(info.dtype), info.shape)))
            rewire(effect, self.asked, [(op, at, (new, 0)) for op, at in readers], [])


@dataclass(frozen=True)
class InsertStep(EditStep):
    """A new op on an edge; see `Plan.insert`."""

    op: str | Callable[..., Any]
    on: tuple[str, ...]
    name: str | tuple[str, ...]
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
        name = self.name if isinstance(self.name, str) else few(self.name)
        return f"insert {what} {name} between {few(self.on)} and {whose(few(self.on), self.only, self.but)}"

    @property
    def code(self) -> str:  # type: ignore[override]
        """The call that adds it to a plan."""
        return self.code_for("ed", Sources())

    def code_for(self, owner: str, sources: Sources) -> str:
        """Returns the call that adds it to a plan of the editor called `owner`; notes the function it uses."""
        held = "".join(f", {key}={literal(value, sources)}" for key, value in self.attributes)
        what = repr(self.op) if isinstance(self.op, str) else sources.word(self.op, self.words[1])
        name = self.name if isinstance(self.name, str) else list(self.name)
        return f".insert({what}, on={one_or_all(self.on)!r}, name={name!r}{limits(self.only, self.but)}{held})"

    def carry(self, effect: Effect) -> None:
        """Adds the ops and lets the consumers read them."""
        graph = effect.bench
        found = tensors_of(effect, self.asked, *self.on)
        names = self._names(effect) if found else []
        if not names:
            return
        edges = [consumers_of(graph, tensor, self.only, self.but) for tensor in found]
        if isinstance(self.op, str):
            for name, tensor, readers in zip(names, found, edges, strict=True):
                about = NewNode(name, self.op, (tensor,), dict(self.attributes), None, reading(effect, tensor))
                new = add_node(effect, about), 0
                rewire(effect, self.asked, [(op, at, new) for op, at in readers], [])
            return
        sites = [Site(name, {"x": tensor}, ("output",)) for name, tensor in zip(names, found, strict=True)]
        piece = built(effect, self.asked, self.op, sites)
        grafted = graft(effect, piece, sites) if piece is not None else None
        for tensor, readers, ends in zip(found, edges, grafted.outputs, strict=True) if grafted is not None else ():
            new = ends["output"]
            rewire(effect, self.asked, [(op, at, new) for op, at in readers], [(tensor, new)])

    def _names(self, effect: Effect) -> list[str]:
        """A name for each new op; none, and a fault, where one is taken."""
        graph = effect.bench
        names = list(self.name) if not isinstance(self.name, str) else [self.name]
        n = 0
        while isinstance(self.name, str) and len(names) < len(self.on):
            n += 1
            if not graph.taken(f"{self.name}_{n}"):
                names.append(f"{self.name}_{n}")
        given: set[str] = set()
        for name in names:
            if not valid_scope(name) or graph.taken(name) or name.lower() in given:
                wrong = f"the name {name!r} is taken, or none" if name else "the new op has no name"
                fault(effect, self.asked, wrong, f"Type name={free_name('inserted', graph.taken)!r}, which is free")
                return []
            given.add(name.lower())
        return names
