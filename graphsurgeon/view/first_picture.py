"""Chooses the scopes to open in a readable first picture, and the inputs and outputs of the model."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from ..graph.graph import Graph, Ints, Mask
from ..graph.names import op_name
from ..graph.open_graph import likely_ends
from .boxes import Item
from .helper_ops import ORPHAN, behind
from .tree import Tree

Endpoints = tuple[Sequence[str], Sequence[str]]
"""Names of inputs and of outputs; empty if they are not known."""
MOST, LISTED = 6, 20
"""The maximum number of inputs, and of outputs, that are drawn outside their scopes; the second one for known names."""


def ends(tree: Tree, interface: Endpoints = ((), ())) -> tuple[Ints, Ints]:
    """Returns the ops that feed the model and those that compute its results, at most `MOST` of each.

    Args:
        tree: the graph, with its hidden helpers.
        interface: names of its inputs and outputs; empty if they are not known.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"]), ("z", "Exp", ["y"])])
        >>> ends(Tree(g))
        (array([0], dtype=int32), array([2], dtype=int32))
    """
    graph = tree.graph
    if interface[0] or interface[1]:
        numbers = [[graph.index.get(op_name(n), -1) for n in names] for names in interface]
        inputs, outputs = (np.array(sorted({*ops} - {-1}), np.int32) for ops in numbers)
        return inputs[:LISTED], outputs[:LISTED]
    visible = (tree.default_helpers.kind == 0) & (tree.helpers.kind != ORPHAN)
    likely = likely_ends(graph)
    inputs, outputs = (
        graph.mask(graph.index[op_name(n)] for n in side.values()) & visible for side in (likely.inputs, likely.outputs)
    )
    return _first(graph, inputs), _first(graph, outputs)


def pinned_ops(tree: Tree, interface: Endpoints = ((), ())) -> tuple[int, ...]:
    """Returns the ops of `ends`, inputs first."""
    fed, outputs = ends(tree, interface)
    return tuple(dict.fromkeys([*fed.tolist(), *outputs.tolist()]))


def _first(graph: Graph, ops: Mask) -> Ints:
    """Returns up to `MOST` ops in graph order; ops in fewer scopes are preferred."""
    numbers = np.flatnonzero(ops)
    if len(numbers) > MOST:
        depth = np.array([graph.names[i].count("/") for i in numbers.tolist()])
        numbers = np.sort(numbers[np.argsort(depth, kind="stable")[:MOST]])
    return numbers.astype(np.int32)


FEW, GOOD, FULL, LIMIT = 8, 20, 40, 60
"""Numbers of boxes in a first picture: the minimum, a good number, the preferred maximum, and the maximum."""
SHARE = 0.3
"""If there are at least `FEW` boxes, a scope must have at least this share of the forward model to be opened."""
NEARLY = 0.9
"""A series of layers with more than this share of a graph is opened before other folds."""


def first_unfolded(tree: Tree, pins: Iterable[int] = ()) -> frozenset[str]:
    """Returns the fold keys to open for a first picture: 8 to 40 boxes if the graph has enough.

    The largest scope of the forward model is opened first. Gradients, optimizers, savers and series of similar scopes
    stay folded as long as there are other scopes to open. Blocks that consist of blocks are opened all together or not
    at all. Consecutive layers that are alike stay folded. A fold that mostly contains `pins`, ops that are always
    shown, is opened too.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> g = Graph.from_ops([(f"net/op{i}", "Neg", [f"net/op{i-1}"] if i else []) for i in range(3)])
        >>> sorted(first_unfolded(Tree(g)))
        ['net/']
    """
    items = list(tree.inside(tree.root))
    opened: set[str] = set()
    while True:
        best = _stages(tree, items) or _best(tree, items)
        if not best:
            break
        for item in best:
            open_item(tree, item, items, opened)
    pending_pins = set(pins)
    while pending_pins:
        full = next(
            (i for i in items if i.keys and _mostly(tree, i, pending_pins, LIMIT - len(pending_pins) - len(items))),
            None,
        )
        if full is None:
            break
        open_item(tree, full, items, opened)
    return frozenset(opened)


def folds_to_depth(tree: Tree, depth: int) -> frozenset[str]:
    """Returns the fold keys to open so that scopes down to `depth` levels are open; series stay folded.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> t = Tree(Graph.from_ops([("a/b/x", "Neg", []), ("a/b/y", "Neg", []), ("a/z", "Neg", [])]))
        >>> sorted(folds_to_depth(t, 1)), sorted(folds_to_depth(t, 2))
        (['a/'], ['a/', 'a/b/'])
    """
    keys: set[str] = set()
    level = [item for item in tree.inside(tree.root) if item.kind in ("scope", "block")]
    for _ in range(depth):
        keys.update(item.name for item in level)
        level = [inner for item in level for inner in tree.inside(item) if inner.kind in ("scope", "block")]
        if not level:
            break
    return frozenset(keys)


def open_item(tree: Tree, item: Item, items: list[Item], open_folds: set[str]) -> None:
    """Replaces an item in `items` by its contents, and adds its key to `open_folds`."""
    open_folds.add(item.keys[0] if item.members else item.name)
    at = items.index(item)
    items[at : at + 1] = tree.inside(item)


def _mostly(tree: Tree, item: Item, pins: set[int], budget: int) -> bool:
    """Returns whether at least half of the contents of an item are pinned ops, and the others fit into the budget."""
    inner = tree.inside(item)
    hits = sum(1 for i in inner if i.op in pins)
    return hits > 0 and 2 * hits >= len(inner) and len(inner) - hits <= budget


def _stages(tree: Tree, items: list[Item]) -> list[Item]:
    """Returns the blocks that consist of blocks, such as conv2 with conv2_block1, to be opened together.

    Returns nothing if a scope has more ops than all of them, such as the second of two towers: it is opened first.
    """
    stages = [item for item in items if len(item.blocks()) > 1]
    if not FEW <= len(items) < GOOD or len(items) + sum(len(item.members) - 1 for item in stages) > FULL:
        return []
    size = sum(tree.core_of(item) for item in stages)
    larger = any(item.kind == "scope" and not behind(item.leaf) and tree.core_of(item) > size for item in items)
    return [] if larger else stages


def _repeated_ops(tree: Tree, visible_items: list[Item]) -> int:
    """Returns the number of ops in large scopes that are alike and connected, and so should stay folded."""
    alike: dict[tuple[int, int], list[Item]] = defaultdict(list)
    for item in visible_items:
        if item.kind in ("scope", "block") and tree.core_of(item) > GOOD:
            alike[tree.signature_of(item)].append(item)
    return sum(_layers(tree, items) for items in alike.values() if len(items) > 1)


def _layers(tree: Tree, items: list[Item]) -> int:
    """Returns the number of ops in some items if all of them are connected to others of them; else 0."""
    graph = tree.graph
    of = np.full(graph.size, -1, np.int32)
    for number, item in enumerate(items):
        of[tree.ops_of(item)] = number
    a, b = of[graph.data.node], of[graph.data.rows]
    across = (a >= 0) & (b >= 0) & (a != b)
    joined = set(a[across].tolist()) | set(b[across].tolist())
    return sum(tree.core_of(item) for item in items) if len(joined) == len(items) else 0


def _best(tree: Tree, items: list[Item]) -> list[Item]:
    """Returns the item to open next; empty if the picture is good."""
    n = len(items)
    if n >= GOOD:
        return []
    ranked = []
    ahead = [i for i in items if not i.alike and not behind(i.leaf)]
    op_count, total = max(1, sum(tree.core_of(i) for i in ahead)), int(tree.core[0])
    if 2 * _repeated_ops(tree, ahead) > op_count:
        return []
    for item in items:
        if not item.keys or item.kind == "variable" or (n >= FEW and len(item.blocks()) > 1):
            continue
        inner = len(tree.inside(item))
        if item.alike and tree.graph.types[item.first] == "_Arg":
            continue  # captures of a function: a hundred names without information
        if inner < (2 if n >= FEW else 1):
            continue
        back = behind(item.leaf)
        size = tree.core_of(item)
        if item.alike or back:
            limit = LIMIT if n < FEW else 0
        else:
            limit = LIMIT if n < FEW else FULL if size >= SHARE * op_count else 0
        if n - 1 + inner <= limit:
            layered = item.alike and size > NEARLY * total and _layers(tree, item.units()) > 0
            ranked.append((item.alike and not layered, back, n - 1 + inner > FULL, -size, item.first, item))
    return [min(ranked, key=lambda r: r[:5])[-1]] if ranked else []
