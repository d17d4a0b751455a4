"""Fresh: makes every new live graph of this package, and marks it as coming from a file if one of its sources does."""

from __future__ import annotations

from typing import Any

from ..graph.live import TFGraph
from ..graph.trust import hand_on
from .importing import tf


def fresh(*sources: Any) -> TFGraph:
    """Returns a new, empty live graph.

    Args:
        sources: the live graphs whose ops it will hold; give none if this package makes all of its ops.
    """
    graph = tf.Graph()
    hand_on(graph, *sources)
    return graph
