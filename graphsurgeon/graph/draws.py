"""Draws: which ops draw random numbers from a state of their own, and which of them have no seed."""

from __future__ import annotations

import numpy as np

from .graph import Graph

_SEEDS = ("seed", "seed2")


def drawing(graph: Graph) -> list[int]:
    """Returns the ops that draw numbers from a state of their own, which a seed starts; in graph order.

    Args:
        graph: of a live graph, whose ops have all their attributes.
    """
    kinds, first, kind_of = graph.kinds
    able = [
        kind for kind, at in enumerate(first.tolist()) if all(n in getattr(graph.nodes[at], "attr", ()) for n in _SEEDS)
    ]
    return [int(op) for op in np.flatnonzero(np.isin(kind_of, able))] if able and len(kinds) else []


def unseeded(graph: Graph) -> list[int]:
    """Returns those of them that have no seed: TensorFlow gives them another one in each session.

    Args:
        graph: of a live graph.
    """
    return [op for op in drawing(graph) if not any(graph.nodes[op].attr[name].i for name in _SEEDS)]
