"""Fresh: each live graph that this package makes, from what it is made: what came from a file stays known as that."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ..graph.live import TFGraph
from ..graph.trust import hand_on


def fresh(*sources: Any) -> TFGraph:
    """Returns a new, empty live graph.

    Args:
        sources: the live graphs whose ops it will hold; none where it holds only what this process makes up.
    """
    graph = tf.Graph()
    hand_on(graph, *sources)
    return graph
