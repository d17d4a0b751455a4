"""Orphans: ops without a role that an undo or a failure has left in a live graph; they are known to all its editors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .graph import Graph, Mask

_MARK = "graphsurgeon_orphans"


def orphans_of(graph: Any) -> dict[str, int]:
    """Returns the orphans of a live graph: name of the op -> the step that made it.

    Args:
        graph: a `tf.Graph`, or None.

    Example:
        >>> class Live: "As a `tf.Graph`."
        >>> graph = Live()
        >>> leave(graph, ["a", "b"], 1)
        >>> claim(graph, ["a"])
        >>> orphans_of(graph)
        {'b': 1}
    """
    return dict(getattr(graph, _MARK, {}))


def orphan_mask(graph: Graph) -> Mask:
    """Returns a mask of the orphans of the live graph that a snapshot is of, or that a plan is for.

    Args:
        graph: the snapshot.

    Example:
        >>> orphan_mask(Graph.of([("a", "Const", [])])).tolist()
        [False]
    """
    return graph.mask(graph.index[name] for name in orphans_of(graph.origin) if name in graph.index)


def leave(graph: Any, names: Iterable[str], step: int) -> None:
    """Notes ops of a live graph as orphans.

    Args:
        graph: a `tf.Graph`.
        names: the names of the ops.
        step: the number of the step that made them.
    """
    setattr(graph, _MARK, {**orphans_of(graph), **dict.fromkeys(names, step)})


def claim(graph: Any, names: Iterable[str]) -> None:
    """Notes that ops of a live graph have a role again.

    Args:
        graph: a `tf.Graph`.
        names: the names of the ops.
    """
    mine = set(names)
    setattr(graph, _MARK, {name: step for name, step in orphans_of(graph).items() if name not in mine})
