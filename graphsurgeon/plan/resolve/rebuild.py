"""What a rebuild step does: it removes the ops that earlier undos have left in the graph."""

from __future__ import annotations

from collections.abc import Iterator

from ...words import counted
from ..closure import needed
from ..delta import Delta
from ..steps import RebuildStep
from ..tally import Tally


def rebuild(step: RebuildStep, so_far: Tally) -> Iterator[Delta]:
    """Notes the orphans that nothing needs as removed."""
    graph = so_far.after
    gone = graph.mask(graph.index[name] for name in step.orphans if name in graph.index)
    gone &= ~needed(graph, ~gone)
    kept = len(step.orphans) - int(gone.sum())
    said = [f"{counted(kept, 'orphans')} that other ops need stay{'s' * (kept == 1)}"] if kept else []
    yield Delta(warnings=said, removed=frozenset(gone.nonzero()[0].tolist()), anew=True)
