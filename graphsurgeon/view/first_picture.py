"""First picture: what to unfold for a first picture that a person can read."""

from __future__ import annotations

from collections.abc import Iterable

from .helpers import behind
from .item import Item
from .tree import Tree

FEW, GOOD, FULL, LIMIT = 8, 20, 40, 60
"""Boxes of a first picture: at least, enough, at most where there is a choice, at most in any case."""
SHARE = 0.3
"""From `FEW` boxes on, a scope opens only when it holds at least this part of the forward model."""


def first_unfolded(tree: Tree, pins: Iterable[int] = ()) -> frozenset[str]:
    """Returns the fold keys to open for a first picture: 8 to 40 boxes where the graph has so many.

    The largest scope of the forward model opens first; gradients, optimisers and savers, and series
    of similar scopes, stay folded as long as there is something else to show. What holds little beside
    `pins`, ops that are shown in any case, opens as well.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> g = Graph.of([(f"net/op{i}", "Neg", [f"net/op{i-1}"] if i else []) for i in range(3)])
        >>> sorted(first_unfolded(Tree(g)))
        ['net/']
    """
    shown = list(tree.inside(tree.root))
    opened: set[str] = set()
    while True:
        best = _best(tree, shown)
        if best is None:
            break
        open_item(tree, best, shown, opened)
    wanted = set(pins)
    while wanted:
        full = next((i for i in shown if i.keys and _mostly(tree, i, wanted, LIMIT - len(wanted) - len(shown))), None)
        if full is None:
            break
        open_item(tree, full, shown, opened)
    return frozenset(opened)


def unfolded_to(tree: Tree, depth: int) -> frozenset[str]:
    """Returns the fold keys to open so that scopes down to `depth` levels are open; series stay folded.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> t = Tree(Graph.of([("a/b/x", "Neg", []), ("a/b/y", "Neg", []), ("a/z", "Neg", [])]))
        >>> sorted(unfolded_to(t, 1)), sorted(unfolded_to(t, 2))
        (['a/'], ['a/', 'a/b/'])
    """
    keys: set[str] = set()
    level = [item for item in tree.inside(tree.root) if item.kind == "scope"]
    for _ in range(depth):
        keys.update(item.name for item in level)
        level = [inner for item in level for inner in tree.inside(item) if inner.kind == "scope"]
        if not level:
            break
    return frozenset(keys)


def open_item(tree: Tree, item: Item, shown: list[Item], opened: set[str]) -> None:
    """Puts what is inside an item in its place among those shown, and its key among those opened."""
    opened.add(item.keys[0] if item.members else item.name)
    at = shown.index(item)
    shown[at : at + 1] = tree.inside(item)


def _mostly(tree: Tree, item: Item, wanted: set[int], room: int) -> bool:
    """Returns whether nearly all that an item would show are ops wanted by themselves."""
    inner = tree.inside(item)
    found = sum(1 for i in inner if i.op in wanted)
    return found > 0 and 2 * found >= len(inner) and len(inner) - found <= room


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
        if item.alike and tree.graph.types[item.first] == "_Arg":
            continue  # what a function captures: a hundred names that say nothing
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
