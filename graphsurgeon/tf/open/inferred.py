"""Inferred: dtype and static shape of the outputs of live ops, as TensorFlow infers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...graph.graph import TensorInfo
from ...graph.live import TFGraph, TFTensor
from ..private.graphs import static_shape


class Inferred:
    """Returns dtype and shape of the outputs of an op of a live graph, given its number."""

    def __init__(self, graph: TFGraph) -> None:
        self._graph = graph
        self._ops: Sequence[Any] = ()

    def __call__(self, number: int) -> Sequence[TensorInfo]:
        if number >= len(self._ops):
            self._ops = self._graph.get_operations()
        return [tensor_info(t) for t in self._ops[number].outputs]


def tensor_info(tensor: TFTensor) -> TensorInfo:
    """Returns dtype and static shape of a `tf.Tensor`."""
    return TensorInfo(tensor.dtype.name, static_shape(tensor))
