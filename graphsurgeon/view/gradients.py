"""Gradients: each box has those of its ops next to it, found by the names TensorFlow gives them."""

from __future__ import annotations

import re

import numpy as np

from ..graph.graph import Ints
from ..words import counted
from .boxes import Box, Edge
from .helpers import TRAINING
from .item import Item
from .tree import Tree, find_item

_ROOT = re.compile(r"gradients?(_\d+)?")


def put_beside(tree: Tree, boxes: list[Box], items: list[Item], op_box: Ints) -> None:
    """Adds a box ``∇ name`` for each box whose ops have gradients; gradients without a box stay hidden."""
    graph = tree.graph
    scopes = graph.scopes
    roots = [name for name in scopes.names[1:] if _ROOT.fullmatch(name.rpartition("/")[2])]
    before = len(boxes)  # also out of a folded scope that has the gradients in it, never out of another ∇
    for box in list(boxes):
        for root in roots:
            if box.kind not in ("op", "scope"):
                continue
            tail = box.name.rstrip("/") if box.kind == "scope" else f"{box.name}_grad"
            name, scope = f"{root}/{tail}/", scopes.index.get(f"{root}/{tail}")
            if box.name.startswith("~"):  # a block: its gradients are a block of theirs
                name = f"~{root}/{box.name[1:]}"
                block = find_item(tree, name)
                ops = np.empty(0, np.int32) if block is None else tree.ops_of(block)
            else:
                ops = np.empty(0, np.int32) if scope is None else tree.ops_below(scope)
            ops = ops[(op_box[ops] < before) & (tree.helpers.kind[ops] == TRAINING)]
            if not len(ops):
                continue
            new = Box(
                f"b{len(boxes)}", "scope", name, f"∇ {box.label}", counted(len(ops), "ops"), len(ops), "other",
                box.group, beside=box.id,
            )  # fmt: skip
            op_box[ops] = len(boxes)
            boxes.append(new)
            items.append(Item("scope", name, new.label, leaf="gradients"))


def without_far(boxes: list[Box], edges: list[Edge]) -> tuple[list[Edge], int]:
    """Returns the edges without those of gradients that go against no forward edge, and how many those are.

    A gradient hangs on its forward box and goes back along the model; all else would cover the picture.
    """
    of = {box.id: box.beside for box in boxes if box.beside}
    forward = {(e.source, e.target) for e in edges if e.source not in of and e.target not in of}
    kept = []
    for edge in edges:
        a, b = of.get(edge.source), of.get(edge.target)
        own = edge.source == b or edge.target == a
        if (a is None and b is None) or own or (a and b and (b, a) in forward):
            kept.append(edge)
    return kept, len(edges) - len(kept)
