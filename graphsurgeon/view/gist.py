"""Gist: a block in a few words: its main layers, and whether there is a path around them."""

from __future__ import annotations

import re
from itertools import groupby

from .item import Item
from .tree import Tree

PARTS = 4
"""A gist of more parts than this only counts them."""
_TELLING = (
    (re.compile(r"_?(Fused)?DepthwiseConv.*"), "DepthwiseConv"),
    (re.compile(r"Conv\dDBackpropInput(V2)?"), "ConvTranspose"),
    (re.compile(r"_?(Fused)?Conv\dD"), "Conv"),
    (re.compile(r"_?(Fused)?(Batch|Sparse)?MatMul(V\d)?|Einsum"), "MatMul"),
    (re.compile(r"(Max|Avg)Pool(\dD)?(V2)?"), r"\1Pool"),
    (re.compile(r"Softmax"), "Softmax"),
    (re.compile(r"(Stateless)?While|LoopCond"), "loop"),
)
_SUMS = frozenset({"Add", "AddN", "AddV2"})


def gist(tree: Tree, item: Item) -> str:
    """Returns a summary of the ops of a block, in the order of the graph; empty if there is nothing to summarize.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> g = Graph.of([("x", "Placeholder", []), ("c", "Conv2D", ["x"]), ("s", "AddV2", ["x", "c"])])
        >>> ops = [Item("op", g.names[i], g.names[i], i) for i in (1, 2)]
        >>> gist(Tree(g), Item("block", "~b/", "b", members=tuple(ops)))
        'Conv + residual'
    """
    graph = tree.graph
    words = [word for op in sorted(tree.ops_of(item).tolist()) if (word := _word(graph.types[op]))]
    runs = [(word, len(list(run))) for word, run in groupby(words)]
    if len(runs) > PARTS:
        runs = [(word, words.count(word)) for word in dict.fromkeys(words)]
    parts = [f"{word} ×{n}" if n > 1 else word for word, n in runs[:PARTS]]
    return "·".join(parts) + (" + residual" if parts and _residual(tree, item) else "")


def _word(op_type: str) -> str:
    for pattern, word in _TELLING:
        match = pattern.fullmatch(op_type)
        if match:
            return match.expand(word)
    return ""


def _residual(tree: Tree, item: Item) -> bool:
    """Returns whether a layer of a block adds two tensors that both hang on one that enters the block."""
    graph, drawn = tree.graph, tree.helpers.kind == 0
    inside = set(tree.ops_of(item).tolist())
    sums = {one.op for one in item.flat() if one.kind == "op" and graph.types[one.op] in _SUMS}
    if not sums:
        return False
    entries: dict[int, int] = {}
    hang: dict[int, int] = {}  # for each op, the tensors it hangs on, as bits
    for op in sorted(inside):
        bits = []
        for maker in graph.data.row(op).tolist():
            if maker in inside:
                bits.append(hang.get(maker, 0))
            elif drawn[maker]:
                bits.append(1 << entries.setdefault(maker, len(entries)))
        if op in sums and len(bits) == 2 and bits[0] & bits[1]:
            return True
        hang[op] = 0
        for some in bits:
            hang[op] |= some
    return False
