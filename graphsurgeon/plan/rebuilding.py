"""Rebuilding: a plan step that takes out what earlier undos have left behind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..graph.graph import Graph, Mask
from ..graph.traversal import backward
from ..words import counted
from .closure import variable_parts
from .edits import EditStep

if TYPE_CHECKING:
    from .effect import Effect


@dataclass(frozen=True)
class RebuildStep(EditStep):
    """The graph is built anew without its orphans."""

    orphans: tuple[str, ...]

    whole = True

    @property
    def text(self) -> str:  # type: ignore[override]
        """The step in words."""
        count = len(self.orphans)
        return f"rebuild the graph without {counted(count, 'orphans')}" if count else "rebuild the graph"

    @property
    def code(self) -> str:  # type: ignore[override]
        """The call, which is one of the editor: a plan made from code has no orphans."""
        return "rebuild()"

    def carry(self, effect: Effect) -> None:
        """Notes the orphans that nothing needs as removed."""
        graph = effect.after
        gone = graph.mask(graph.index[name] for name in self.orphans if name in graph.index)
        gone &= ~needed(graph, ~gone)
        kept = len(self.orphans) - int(gone.sum())
        if kept:
            effect.warnings.append(f"{counted(kept, 'orphans')} that other ops need stay{'s' * (kept == 1)}")
        effect.removed.update(int(i) for i in gone.nonzero()[0])
        effect.mode = "materialise"


def needed(graph: Graph, living: Mask) -> Mask:
    """Returns the living, all they need, and what belongs to that: parts of variables, of loops, table fillers."""
    state = graph.state
    wholes = [graph.mask(graph.index[n] for n in names if n in graph.index) for names in state.contexts]
    while True:
        found = backward(graph, living)
        for variable in state.variables.values():
            number = graph.index.get(variable.op)
            if number is not None and found[number] and not living[number]:
                found |= variable_parts(graph, variable)
        for whole in wholes:
            if (found & whole).any():
                found |= whole
        for holder, starters in state.starters.items():
            if holder in graph.index and found[graph.index[holder]]:
                found |= graph.mask(graph.index[s] for s in starters if s in graph.index)
        if (found == living).all():
            return found
        living = found
