"""Inputs: a new graph with the placeholders that are to take the place of inputs of other graphs."""

from __future__ import annotations

from collections.abc import Mapping

import tensorflow as tf

from ...errors import PlanError
from ...graph.live import TFGraph, TFTensor

tf1 = tf.compat.v1


def graph_with_placeholders(wanted: Mapping[str, TFTensor], asked: str) -> TFGraph:
    """Returns a new `tf.Graph` with placeholders.

    Args:
        wanted: name -> tensor whose dtype and static shape the placeholder gets.
        asked: the request, for messages.

    Raises:
        PlanError: a name is none that TensorFlow takes.
    """
    graph = tf.Graph()
    with graph.as_default(), tf1.device(None):
        for name, tensor in wanted.items():
            try:
                made = tf1.placeholder(tensor.dtype.base_dtype, tensor.shape, name=name)
            except ValueError as error:
                raise PlanError(
                    asked, f"{name!r} is not a name of an op", "Use letters, digits, '_' and '/'"
                ) from error
            assert made.op.name == name, f"{made.op.name} instead of {name}"
    return graph
