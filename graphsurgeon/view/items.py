"""Items by name: which ops a box or group on screen stands for, and what must be unfolded to see an op."""

from __future__ import annotations

from ..graph.graph import Mask
from .item import Item
from .tree import Tree


def find_item(tree: Tree, name: str) -> Item | None:
    """Returns the item a box or group is called after: ``a/b``, ``a/`` or a series key ``~a/block_[0..11]``."""
    path = name.lstrip("~").rstrip("/")
    while True:
        path = path.rpartition("/")[0]
        scope = tree.graph.scopes.index.get(path)
        if scope is not None:
            found = _among(tree, scope, name)
            if found is not None or not path:
                return found


def _among(tree: Tree, scope: int, name: str) -> Item | None:
    holder = Item("scope", tree.graph.scopes.names[scope] + "/", "", tops=(scope,), bottom=scope)
    for everything in (False, True):
        stack = list(tree.inside(holder, everything))
        while stack:
            item = stack.pop()
            if item.name == name or name in item.keys:
                return item
            stack = [*stack, *item.members]
    return None


def ops_named(tree: Tree, name: str) -> Mask | None:
    """Returns a mask of the ops that the box or group `name` stands for; None where there is nothing of that name.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> t = Tree(Graph.of([("a/x", "Placeholder", []), ("a/y", "Neg", ["a/x"]), ("z", "Neg", ["a/y"])]))
        >>> ops_named(t, "a/").tolist(), ops_named(t, "z").tolist(), ops_named(t, "q") is None
        ([True, True, False], [False, False, True], True)
    """
    graph = tree.graph
    if not name.startswith("~"):
        if name.endswith("/"):
            mask = graph.scope_mask(name)
            return mask if mask.any() else None
        op = graph.index.get(name.partition(":")[0])
        if op is None:
            return None
        item = find_item(tree, name)
        if item is not None and item.kind == "variable":
            return graph.mask(tree.ops_of(item).tolist())
        return graph.mask([op])
    item = find_item(tree, name)
    return None if item is None else graph.mask(tree.ops_of(item).tolist())


def keys_to(tree: Tree, op: int) -> list[str]:
    """Returns the fold keys that must be open so that op number `op` has a box of its own, outermost first."""
    keys: list[str] = []
    item = tree.root
    while True:
        everything = bool(tree.helpers.kind[op])
        below = tree.inside(item) or tree.inside(item, True)
        inner = next((i for i in below if op in _numbers(tree, i)), None)
        if inner is None and everything:
            keys.append((item.keys[0] if item.keys and item.keys[0] else "") + "+")
            inner = next((i for i in tree.inside(item, True) if op in _numbers(tree, i)), None)
        if inner is None or inner.op == op or not inner.keys:
            return keys
        keys.append(inner.keys[0])
        item = inner


def _numbers(tree: Tree, item: Item) -> set[int]:
    return set(tree.ops_of(item).tolist())
