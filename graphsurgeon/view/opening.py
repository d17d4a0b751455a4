"""Opening: what to unfold for a first picture that a person can read."""

from __future__ import annotations

from ..core.graph import Graph
from .asides import behind
from .tree import Item, Tree, tree_of

FEW, GOOD, FULL, LIMIT = 8, 20, 40, 60
"""Boxes of a first picture: at least, enough, at most where there is a choice, at most in any case."""
SHARE = 0.3
"""From `FEW` boxes on, a scope opens only when it holds at least this part of the forward model."""


def first_unfolded(graph: Graph) -> frozenset[str]:
    """Returns the fold keys to open for a first picture: 8 to 40 boxes where the graph has so many.

    The largest scope of the forward model opens first; gradients, optimisers and savers, and series
    of similar scopes, stay folded as long as there is something else to show.

    Example:
        >>> g = Graph.of([(f"net/op{i}", "Neg", [f"net/op{i-1}"] if i else []) for i in range(3)])
        >>> sorted(first_unfolded(g))
        ['net/']
    """
    tree = tree_of(graph)
    shown = list(tree.inside(tree.root))
    opened: set[str] = set()
    while True:
        best = _best(tree, shown)
        if best is None:
            return frozenset(opened)
        opened.add(best.keys[0] if best.members else best.name)
        at = shown.index(best)
        shown[at : at + 1] = tree.inside(best)


def _best(tree: Tree, shown: list[Item]) -> Item | None:
    """Returns the item to open next, or None when the picture is good."""
    n = len(shown)
    if n >= GOOD:
        return None
    ranked = []
    ahead = [i for i in shown if not i.alike and not behind(i.leaf)]
    whole = max(1, sum(tree.core_of(i) for i in ahead))
    for item in shown:
        if not item.keys or item.kind == "variable":
            continue
        inner = len(tree.inside(item))
        if inner < (2 if n >= FEW else 1):
            continue
        back = behind(item.leaf)
        size = tree.core_of(item)
        if item.alike or back:
            limit = LIMIT if n < FEW else 0
        else:
            limit = LIMIT if n < FEW else FULL if size >= SHARE * whole else 0
        if n - 1 + inner <= limit:
            ranked.append((item.alike, back, n - 1 + inner > FULL, -size, item.first, item))
    return min(ranked, key=lambda r: r[:5])[-1] if ranked else None
