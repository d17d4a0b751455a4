"""The tree of items of a picture, which can be found by level and by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import counted
from ..graph.calls import CallSite, ExpandedGraph
from ..graph.graph import Graph, Ints, Mask
from ..graph.layers import Layer
from ..graph.traversal import forward
from ..graph.variables import FEED_TYPES, INPUT_TYPES
from . import grouping
from .boxes import Item
from .helper_ops import MIN_OPS, TRAINING, VARIABLES, Filters, Helpers, filter_helpers
from .op_colors import TELLING, family

_Number = TypeVar("_Number", np.int64, np.uint64)
FEW, FEWEST = 40, 5
"""A graph of up to `FEW` ops is also shown whole if fewer than `FEWEST` ops would not be hidden."""


@dataclass(eq=False)
class Tree:
    """The items of a graph under some filters. They are computed when needed, and cached.

    Args:
        graph: the snapshot.
        filters: the user's choices of ops to hide or show.
        layers: name scope that is exactly one call of a Keras layer, with a slash at the end -> the layer.
        calls: the graph with its calls: folded calls are boxes that can be opened, unfolded calls are frames.

    Example:
        >>> g = Graph.from_ops([("a/x", "Placeholder", []), ("a/y", "Neg", ["a/x"]), ("z", "Neg", ["a/y"])])
        >>> [item.name for item in Tree(g).inside(Tree(g).root)]
        ['a/', 'z']
    """

    graph: Graph
    filters: Filters = field(default_factory=Filters)
    layers: Mapping[str, Layer] = field(default_factory=dict)
    calls: ExpandedGraph | None = None
    _cache: dict[tuple[str, int], list[Item]] = field(default_factory=dict)
    _in_order: dict[str, list[Item]] = field(default_factory=dict)
    _ops: dict[tuple[str, str, tuple[int, ...], tuple[Item, ...], bool], Ints] = field(default_factory=dict)

    def layer_class(self, scope: str) -> str:
        """Returns the class of the layer of a name scope; empty for other scopes."""
        return self.layers[scope].class_name if scope in self.layers else ""

    @cached_property
    def layer_names(self) -> dict[str, str]:
        """Name scope -> the name of its layer, if the scope is this name with a number, and no other call has it."""
        scopes = {layer.path: scope for scope, layer in self.layers.items()}
        several = Counter(layer.path for layer in self.layers.values())
        return {
            scope: name
            for path, scope in scopes.items()
            if several[path] == 1
            and (name := self.layers[scope].name) != (own := scope.rstrip("/").rpartition("/")[2])
            and own.removeprefix(f"{name}_").isdigit()
        }

    @cached_property
    def helpers(self) -> Helpers:
        """The hidden ops."""
        return (
            self.default_helpers
            if self.filters == Filters()
            else filter_helpers(self.default_helpers, self.graph, self.filters)
        )

    @cached_property
    def default_helpers(self) -> Helpers:
        """The ops that are hidden by default."""
        return Helpers.from_graph(self.graph)

    @cached_property
    def core(self) -> NDArray[np.int64]:
        """For each scope, the number of ops that are not hidden, at any depth."""
        drawn = self.helpers.kind == 0
        return self._sum_over_scopes(drawn.astype(np.int64))

    @cached_property
    def drawable(self) -> NDArray[np.int64]:
        """For each scope, the number of ops at any depth that are not training ops, of hidden types, or orphans."""
        return self._sum_over_scopes((self.helpers.kind < TRAINING).astype(np.int64))

    @cached_property
    def family_ranks(self) -> NDArray[np.int64]:
        """For each op, the position of its family in `TELLING`; the length of `TELLING` for other families."""
        kinds, _, number = self.graph.type_index
        rank = {name: position for position, name in enumerate(TELLING)}
        return np.array([rank.get(family(kind), len(TELLING)) for kind in kinds], np.int64)[number]

    @cached_property
    def is_fully_shown(self) -> bool:
        """Whether the graph is so small that nothing is hidden."""
        return self.graph.size <= MIN_OPS or (self.graph.size <= FEW and int(self.core[0]) < FEWEST)

    @cached_property
    def signature(self) -> NDArray[np.uint64]:
        """For each scope, a sum of hashes of op types, which is equal for the same types and counts."""
        graph = self.graph
        kinds, _, number = graph.type_index
        hashes = np.array([grouping.hash_text(k) for k in kinds] or [0], np.uint64)
        return self._sum_over_scopes(hashes[number] if graph.size else np.empty(0, np.uint64))

    def _sum_over_scopes(self, values: NDArray[_Number]) -> NDArray[_Number]:
        """Sums values of ops over whole scopes."""
        ordered = values[self.graph.scopes.order]
        sums = np.zeros(len(ordered) + 1, values.dtype)
        np.cumsum(ordered, out=sums[1:])
        begin, end = self.graph.scopes.spans.T
        totals: NDArray[_Number] = sums[end] - sums[begin]
        return totals

    def ops_below(self, scope: int) -> Ints:
        """Returns the ops of a scope and of all scopes below it."""
        return self.graph.scopes.ops_below(scope)

    def ops_of(self, item: Item, helpers: bool = True) -> Ints:
        """Returns the ops of an item. Without helpers, an op with a scope of its name is only the op itself."""
        key = (item.kind, item.name, item.tops, item.members, helpers)
        if key not in self._ops:
            self._ops[key] = self._find_ops(item, helpers)
        return self._ops[key]

    def _find_ops(self, item: Item, helpers: bool) -> Ints:
        parts = []
        for one in item.flat():
            if one.one_op and not (helpers and one.tops):
                parts.append(np.array([one.op], np.int32))
            else:
                parts.extend(self.ops_below(top) for top in one.tops)
                if not one.tops:
                    parts.append(np.array([one.op], np.int32))
        return np.concatenate(parts) if parts else np.empty(0, np.int32)

    def signature_of(self, item: Item) -> tuple[int, int]:
        """Returns a value that is equal for items with the same op types and counts: a sum of hashes, and a number."""
        total = count = 0
        for one in item.flat():
            if one.tops:
                total += sum(int(self.signature[top]) for top in one.tops)
                count += sum(int(self.graph.scopes.counts[top]) for top in one.tops)
            else:
                total, count = total + grouping.hash_text(self.graph.types[one.op]), count + 1
        return total % 2**64, count

    def core_of(self, item: Item) -> int:
        """Returns the number of ops of an item that are not hidden."""
        return sum(int(self.core[one.tops[0]]) if one.tops else 1 for one in item.flat())

    @cached_property
    def root(self) -> Item:
        """The item of the whole graph."""
        return Item("scope", "", "", tops=(0,), bottom=0, keys=("",))

    def inside(self, item: Item, include_hidden: bool = False) -> list[Item]:
        """Returns the items to show when `item` is unfolded, in graph order.

        Args:
            item: a scope, series or variable.
            include_hidden: whether to include hidden ops.
        """
        if item.members:
            return list(item.members)
        if item.bottom < 0:
            return []
        scope = item.bottom
        bare = include_hidden or self.core[scope] == 0 or self.is_fully_shown
        key = (item.name, bare + include_hidden)
        if key not in self._cache:
            path = self.graph.scopes.names[scope]
            items = self._plain(scope, bare, include_hidden)
            if not self.is_fully_shown:
                items = grouping.fold_items(
                    self.graph, items, self.ops_of, self.signature_of, path + "/" if scope else ""
                )
            self._cache[key] = items
        return self._cache[key]

    def in_flow_order(self, item: Item) -> list[Item]:
        """Returns the items inside an item, each at the place of its first op that depends on an input of the model.

        In a graph that a plan has built anew, the ops without inputs, such as constants, may come before all others.
        """

        def place(inner: Item) -> int:
            ops = self.ops_of(inner)
            fed = ops[self._fed[ops]]
            return int(fed.min()) if len(fed) else inner.first

        if item.name not in self._in_order:
            self._in_order[item.name] = sorted(self.inside(item), key=place)
        return self._in_order[item.name]

    @cached_property
    def _fed(self) -> Mask:
        return forward(self.graph, self.graph.type_mask(FEED_TYPES | INPUT_TYPES), control=False)

    def _plain(self, scope: int, unfolded_only: bool, include_hidden: bool) -> list[Item]:
        graph, scopes = self.graph, self.graph.scopes
        visible = self.helpers.kind < TRAINING if unfolded_only else self.helpers.kind == 0
        items = []
        for op in scopes.ops(scope):
            if include_hidden or visible[op]:
                leaf = graph.names[op].rpartition("/")[2]
                if graph.types[op] in VARIABLES:
                    items.append(Item("variable", graph.names[op], leaf, op, first=op, leaf=leaf))
                else:
                    items.append(self._op(op, leaf, leaf))
        for child in scopes.children(scope):
            opened = scopes.names[child] in self._frames
            if include_hidden or opened or self.core[child] or (unfolded_only and self.drawable[child]):
                items.append(self._scope(child))
        items.sort(key=lambda item: item.first)
        return items

    @cached_property
    def _frames(self) -> Mapping[str, str]:
        """Scope of an unfolded call -> its function. Each has a separate frame."""
        return self.calls.descriptions if self.calls is not None else {}

    @cached_property
    def folded(self) -> Mapping[int, CallSite]:
        """Number of an op -> its call, for calls that are not unfolded."""
        return self.calls.folded if self.calls is not None else {}

    def call(self, item: Item) -> CallSite | None:
        """Returns the call of an item; None if the item is not a call, or is unfolded."""
        return self.folded.get(item.op) if item.one_op else None

    def _op(self, op: int, label: str, leaf: str, scopes: tuple[int, ...] = ()) -> Item:
        """Returns the item of an op; the item of a call can be opened."""
        call = self.folded.get(op)
        name = self.graph.names[op]
        if call is None:
            return Item("op", name, label, op, scopes, first=op, leaf=leaf)
        inner = counted(call.count(self.graph), "ops")
        words = (
            f"{call.function_names}, {inner}"
            if call.functions and call.is_plain
            else f"{self.graph.types[op]} · {call.function_names}"
        )
        keys = (f"{call.scope}/",) if call.functions else ()
        return Item("call" if keys else "op", name, label, op, scopes, keys=keys, first=op, leaf=leaf, holds=words)

    def _scope(self, scope: int) -> Item:
        """Returns the item of a scope. A scope with a single item is combined with it."""
        graph, scopes, core = self.graph, self.graph.scopes, self.core
        first, keys, at = int(self.ops_below(scope).min()), [scopes.names[scope] + "/"], scope
        above = len(scopes.names[int(scopes.parents[scope])]) + 1 if scopes.parents[scope] > 0 else 0
        leaf = scopes.names[scope][above:]
        kind = self.helpers.kind
        frame = self._frames.get(scopes.names[scope])
        if frame is not None:
            label = f"{leaf} · {frame}"
            return Item("scope", keys[0], label, -1, (scope,), scope, tuple(keys), first=first, leaf=leaf)
        own = graph.index.get(scopes.names[scope], -1)
        if own >= 0 and graph.types[own] in VARIABLES and (core[scope] == 0 or "variables" in self.filters.shown):
            return Item("variable", graph.names[own], leaf, own, (scope,), scope, tuple(keys), first=first, leaf=leaf)
        if core[scope] == 0:
            if scopes.counts[scope] == 1:
                op = int(self.ops_below(scope)[0])
                return replace(self._op(op, graph.names[op][above:], leaf, (scope,)), first=first)
            return Item("scope", keys[0], leaf, -1, (scope,), scope, tuple(keys), first=first, leaf=leaf)
        if core[scope] == 1:
            ops = self.ops_below(scope)
            op = int(ops[kind[ops] == 0][0])
            return replace(self._op(op, graph.names[op][above:], leaf, (scope,)), first=first)
        while True:
            direct = any(kind[op] == 0 for op in scopes.ops(at))
            busy = [c for c in scopes.children(at) if core[c]]
            if direct or len(busy) != 1 or scopes.names[busy[0]] in self._frames:
                break
            at = busy[0]
            keys.append(scopes.names[at] + "/")
        name = scopes.names[at]
        return Item("scope", name + "/", name[above:], -1, (scope,), at, tuple(keys), first=first, leaf=leaf)


def find_item(tree: Tree, name: str) -> Item | None:
    """Returns the item of a box or group by its name: ``a/b``, ``a/``, or the key of a series ``~a/block_[0..11]/``.

    A block ``~a/block_3/`` is also found without the ``~``, if no other item has this name.
    """
    item = _item_at(tree, name)
    return item if item is not None or name.startswith("~") else _item_at(tree, f"~{name.rstrip('/')}/")


def _item_at(tree: Tree, name: str) -> Item | None:
    path = name.lstrip("~").rstrip("/")
    while True:
        path = path.rpartition("/")[0]
        scope = tree.graph.scopes.index.get(path)
        if scope is not None:
            item = _among(tree, scope, name)
            if item is not None or not path:
                return item


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
    """Returns a mask of the ops of the box or group `name`; None if no box or group has that name.

    Example:
        >>> t = Tree(Graph.from_ops([("a/x", "Placeholder", []), ("a/y", "Neg", ["a/x"]), ("z", "Neg", ["a/y"])]))
        >>> ops_named(t, "a/").tolist(), ops_named(t, "z").tolist(), ops_named(t, "q") is None
        ([True, True, False], [False, False, True], True)
    """
    graph = tree.graph
    scope = name.endswith("/") and not name.startswith("~")
    if scope and graph.scope_mask(name).any():
        return graph.scope_mask(name)
    op = None if scope else graph.index.get(name.partition(":")[0])
    item = find_item(tree, name)
    if op is not None and (item is None or item.kind != "variable"):
        return graph.mask([op])
    return None if item is None else graph.mask(tree.ops_of(item).tolist())


def keys_to(tree: Tree, op: int, name: str = "") -> list[str]:
    """Returns the fold keys that must be open so that op number `op` has a separate box, outermost first.

    Args:
        tree: the graph.
        op: the number of the op.
        name: a scope, series or block around the op that should have the separate box instead.
    """
    keys: list[str] = []
    item = tree.root
    while True:
        everything = bool(tree.helpers.kind[op])
        below = tree.inside(item) or tree.inside(item, True)
        inner = next((i for i in below if op in _numbers(tree, i)), None)
        if inner is None and everything:
            keys.append((item.keys[0] if item.keys and item.keys[0] else "") + "+")
            inner = next((i for i in tree.inside(item, True) if op in _numbers(tree, i)), None)
        if inner is None or inner.op == op or not inner.keys or (name and name in (inner.name, *inner.keys)):
            return keys
        keys.append(inner.keys[0])
        item = inner


def _numbers(tree: Tree, item: Item) -> set[int]:
    return set(tree.ops_of(item).tolist())
