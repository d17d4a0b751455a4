"""Paths: the boxes between two boxes, and the shortest path from one to the other."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ..errors import SelectionError
from ..graph.explain import link
from ..graph.graph import Graph, Mask
from ..graph.selection import listed
from ..graph.traversal import backward, forward, shortest_between
from ..words import counted
from .marks import ops_of
from .stage import Stage
from .state import State


def select_between(stage: Stage, state: State, a: str, b: str) -> State:
    """Selects the boxes of the source on any way from one box to another, both included, whichever comes first.

    Args:
        a: the name of a box.
        b: the name of another.

    Raises:
        SelectionError: no way leads from one to the other; or there is no such box.
    """
    graph, first, last = _ends(stage, state, a, b, "source", "select_between")
    inside = listed(graph, forward(graph, first) & backward(graph, last))
    state = stage.settled(state)
    stage.draw(state, "source")
    scene = stage.panes["source"].scene
    assert scene is not None
    names = tuple(scene.held(stage.spots(state, inside)))
    return state.seen(selected=names).saying(f"{counted(len(inside), 'ops')} are between {a} and {b}")


def why(stage: Stage, state: State, a: str, b: str, pane: str = "source") -> tuple[State, dict[str, Any]]:
    """Returns the shortest path from one box to another: the reason why one needs the other.

    Args:
        a, b: the boxes, in any order.
        pane: the pane of the boxes.

    Returns:
        the answer in one line, and its steps from the one that is needed to the one that needs it.

    Raises:
        SelectionError: neither needs the other; or there is no such box.
    """
    graph, first, last = _ends(stage, state, a, b, pane, "why")
    way = shortest_between(graph, first, last)
    plain = shortest_between(graph, first, last, control=False)
    way = plain if len(plain) == len(way) else way
    names = [graph.names[op] for op in way]
    steps = [{"op": names[0], "text": names[0]}]
    steps += [{"op": graph.names[v], "text": str(link(graph, u, v))} for u, v in pairwise(way)]
    text = f"{names[-1]} needs {names[0]}: {counted(len(way) - 1, 'steps')}"
    return state.saying(text), {"text": text, "steps": steps}


def _ends(stage: Stage, state: State, a: str, b: str, pane: str, verb: str) -> tuple[Graph, Mask, Mask]:
    """The graph, and the ops of two boxes: those that are needed first."""
    tree, boxes = stage.holding(state, pane, [a, b])
    one, other = (ops_of(tree, [box], verb) for box in boxes)
    for first, last in ((one, other), (other, one)):
        if (forward(tree.graph, first) & last & ~first).any():
            return tree.graph, first, last
    problem = f"no path of data or control edges connects the two boxes in {tree.graph.title}"
    raise SelectionError(f"{verb}({a!r}, {b!r})", problem, "Choose two boxes of which one depends on the other")
