"""Bypassing: a plan step that lets what reads some ops read what these read themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.boundary import entering, leaving
from ..graph.graph import Graph, Mask
from ..graph.selection import Selection
from ..graph.traversal import components, forward
from ..words import counted, few, one_or_all
from .edits import EditStep, consumers_of, fault, numbers_of, rewire, tensors_of
from .fitting import bare, shapes_differ
from .rewiring import Edge
from .sources import Sources

if TYPE_CHECKING:
    from ..graph.boundary import Tensor
    from .effect import Effect


@dataclass(frozen=True)
class BypassStep(EditStep):
    """What reads ops reads what these read; see `Plan.bypass`."""

    ops: tuple[str, ...]
    input: int | str | None
    output: int | str | None
    given: Any = None  # the selection or scope, for its code

    @property
    def text(self) -> str:  # type: ignore[override]
        """The step in words."""
        return f"bypass {few(self.ops)}"

    @property
    def asked(self) -> str:
        """The request, for messages."""
        what = f"{self.ops[0]!r}{self._ends}" if len(self.ops) == 1 else counted(len(self.ops), "ops")
        return f"bypass({what})"

    @property
    def code(self) -> str:  # type: ignore[override]
        """The call that adds it to a plan."""
        return self.code_for("ed", Sources())

    def code_for(self, owner: str, sources: Sources) -> str:
        """Returns the call that adds it to a plan of the editor called `owner`."""
        what = repr(self.given) if isinstance(self.given, str) else repr(one_or_all(self.ops))
        if isinstance(self.given, Selection) and len(self.ops) != 1:
            what = sources.selection(self.given)
        return f".bypass({what}{self._ends})"

    @property
    def _ends(self) -> str:
        pairs = (("input", self.input), ("output", self.output))
        return "".join(f", {key}={value!r}" for key, value in pairs if value is not None)

    def carry(self, effect: Effect) -> None:
        """Sets the inputs of what reads the ops; each connected part of them by itself."""
        numbers = numbers_of(effect, self.asked, self.ops)
        if numbers is None:
            return
        if len(set(numbers)) == 1:
            self._one(effect, numbers[0])
            return
        parts = list(_parts(effect.after, numbers))
        if len(parts) > 1 and not (self.input is None and self.output is None):
            wrong = f"the ops are {len(parts)} parts that are not connected, and input= or output= is of one part"
            fault(effect, self.asked, wrong, "Bypass each part by itself, or leave input= and output= out")
            return
        before, done = len(effect.faults), 0
        for part in parts:
            done += self._around(effect, effect.after.mask(part))
        if not done and len(effect.faults) == before:
            wrong = "no op outside reads what they compute from a tensor that enters"
            fault(effect, self.asked, wrong, "Choose the ops between two tensors: ed.select(inputs=..., outputs=...)")

    def _one(self, effect: Effect, op: int) -> None:
        """One op: by default, its input 0 for its output 0."""
        graph, name = effect.bench, effect.bench.names[op]
        port = 0 if self.output is None else self.output
        found = tensors_of(effect, self.asked, port if isinstance(port, str) else f"{name}:{port}")
        if not found:
            return
        if found[0][0] != op:
            fault(effect, self.asked, f"{self.output!r} is no output of {name!r}", f"Choose one, as output='{name}:0'")
            return
        reads = graph.input_names(op)
        at = 0 if self.input is None else self.input
        if isinstance(at, str):
            whole = at if ":" in at else f"{at}:0"
            at = reads.index(whole) if whole in reads else -1
        if not 0 <= at < len(reads):
            have = f"it has {counted(len(reads), 'inputs')}" + f": {few(reads)}" * bool(reads)
            wrong = f"op {name!r} has no input {0 if self.input is None else self.input}; {have}"
            fault(effect, self.asked, wrong, "Choose another input=")
            return
        new = graph.row(op)[at]
        edges = consumers_of(graph, found[0])
        rewire(effect, self.asked, [(i, at, new) for i, at in edges if i != op], [(found[0], new)])

    def _around(self, effect: Effect, mask: Mask) -> bool:
        """One connected part: what enters takes the place of what leaves. Returns whether there is something to do."""
        graph = effect.after
        enters = entering(graph, mask)
        rows = graph.data.rows
        first = graph.mask(rows[mask[rows] & ~mask[graph.data.node]].tolist())
        below = forward(graph, first, control=False, within=mask)
        readers = {t: [(i, at) for i, at in consumers_of(graph, t) if not mask[i]] for t in leaving(graph, mask)
                   if below[t[0]]}  # fmt: skip
        leaves = [t for t, those in readers.items() if those]
        chosen = self._named(effect, "output", self.output, leaves)
        if chosen is not None:
            leaves = [chosen]
        new = self._named(effect, "input", self.input, enters)
        if effect.faults or not enters or not leaves:
            return bool(effect.faults)
        if new is None:
            new = self._choose(effect, mask, enters, leaves)
        if new is not None:
            edges: list[Edge] = [(i, at, new) for t in leaves for i, at in readers[t]]
            rewire(effect, self.asked, edges, [(t, new) for t in leaves])
        return True

    def _named(self, effect: Effect, word: str, wish: int | str | None, there: list[Tensor]) -> Tensor | None:
        """The tensor that `input` or `output` names, by number among those there are, or by name."""
        graph = effect.after
        if wish is None:
            return None
        if isinstance(wish, int):
            found = there[wish] if 0 <= wish < len(there) else None
        else:
            named = tensors_of(effect, self.asked, wish)
            if not named:
                return None
            found = named[0] if named[0] in there else None
        if found is None:
            does = "enters the ops" if word == "input" else "leaves the ops on the way from what enters"
            names = [repr(_name(graph, t)) for t in there]
            wrong = f"{word}={wish!r} is none: what {does} is {few(names, 6) or 'no tensor'}"
            instead = f"Choose one, as {word}={names[0]}" if names else "Select ops that read and are read"
            fault(effect, self.asked, wrong, instead)
        return found

    def _choose(self, effect: Effect, mask: Mask, enters: list[Tensor], leaves: list[Tensor]) -> Tensor | None:
        """The only tensor that leads to all that leave and is like them; None, and a fault, where that is not clear."""
        graph = effect.after
        if len(enters) == len(leaves) == 1:
            return enters[0]  # where it does not fit, it is said why
        fits = [t for t in enters if all(_alike(graph, t, out) for out in leaves) and _leads(graph, mask, t, leaves)]
        if len(fits) == 1:
            return fits[0]
        if fits:
            known = few([_name(graph, t) for t in fits], 6)
            wrong = f"{counted(len(fits), 'tensors')} enter that could be read instead: {known}"
            fault(effect, self.asked, wrong, f"Say which: input={_name(graph, fits[0])!r}")
            return None
        sides = [few([_said(graph, t) for t in side], 4) for side in (enters, leaves)]
        wrong = f"no tensor that enters can take the place of all that leave: {sides[0]} against {sides[1]}"
        pairs = [(t, out) for t in enters for out in leaves if _alike(graph, t, out) and _leads(graph, mask, t, [out])]
        way = f"input={_name(graph, pairs[0][0])!r}, output={_name(graph, pairs[0][1])!r}" if pairs else ""
        fault(effect, self.asked, wrong, f"Say which are meant: {way}" if way else "Select ops that keep the shape")
        return None


def _parts(graph: Graph, numbers: list[int]) -> Iterator[list[int]]:
    """The ops in parts that no data edge joins, in graph order."""
    outside = ~graph.mask(numbers)
    label = components(graph, outside, outside, control=False)
    parts: dict[int, list[int]] = {}
    for op in sorted(set(numbers)):
        parts.setdefault(int(label[op]), []).append(op)
    yield from parts.values()


def _alike(graph: Graph, new: Tensor, old: Tensor) -> bool:
    a, b = graph.info(*new), graph.info(*old)
    return a is None or b is None or (bare(a.dtype) == bare(b.dtype) and not shapes_differ(a.shape, b.shape))


def _leads(graph: Graph, mask: Mask, start: Tensor, ends: list[Tensor]) -> bool:
    readers = np.zeros(graph.size, np.bool_)
    readers[[op for op, _ in consumers_of(graph, start) if mask[op]]] = True
    below = forward(graph, readers, control=False, within=mask)
    return all(below[op] for op, _ in ends)


def _name(graph: Graph, tensor: Tensor) -> str:
    return f"{graph.names[tensor[0]]}:{tensor[1]}"


def _said(graph: Graph, tensor: Tensor) -> str:
    info = graph.info(*tensor)
    return _name(graph, tensor) + (f" {info}" if info is not None else "")
