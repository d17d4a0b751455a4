"""Draws: which ops draw random numbers from their own state, and which of them have no seed."""

from __future__ import annotations

import numpy as np

from .graph import Graph

_SEEDS = ("seed", "seed2")


def drawing(graph: Graph) -> list[int]:
    """Returns the ops that draw numbers from their own seeded state, in graph order.

    Args:
        graph: the snapshot of a live graph, whose ops have all their attributes.
    """
    kinds, first, kind_of = graph.kinds
    able = [
        kind for kind, at in enumerate(first.tolist()) if all(n in getattr(graph.nodes[at], "attr", ()) for n in _SEEDS)
    ]
    return [int(op) for op in np.flatnonzero(np.isin(kind_of, able))] if able and len(kinds) else []


def unseeded(graph: Graph) -> list[int]:
    """Returns the drawing ops without a seed: TensorFlow gives them another one in each session.

    Args:
        graph: the snapshot of a live graph.
    """
    return [op for op in drawing(graph) if not any(graph.nodes[op].attr[name].i for name in _SEEDS)]
