"""Sizes: how many bytes constants and variables hold, as numbers and in words."""

from __future__ import annotations

from math import prod

import numpy as np

from ..words import counted
from .graph import Graph, Mask, value_info
from .variables import VariableInfo

_BITS = {"bfloat16": 16, "half": 16, "bool": 8, "qint8": 8, "quint8": 8, "qint16": 16, "quint16": 16, "qint32": 32,
         "complex64": 64, "complex128": 128, "int4": 4, "uint4": 4}  # fmt: skip


def variable_bytes(info: VariableInfo) -> int:
    """Returns the size of a variable's value in bytes; 0 if its shape or dtype does not determine it.

    Example:
        >>> variable_bytes(VariableInfo("w", dtype="float32", shape="(2, 3)"))
        24
    """
    dims = value_info(info).shape
    if dims is None or None in dims:
        return 0
    bits = _BITS.get(info.dtype, 0)
    if not bits:
        digits = info.dtype.lstrip("abcdefghijklmnopqrstuvwxyz")
        bits = int(digits) if digits.isdigit() else 8 if info.dtype.startswith("float8") else 0
    return prod(d for d in dims if d is not None) * bits // 8


def constant_bytes(graph: Graph, mask: Mask) -> int:
    """Returns how many bytes the constants among the ops of `mask` take in a file."""
    total = 0
    for i in np.flatnonzero(mask & (graph.type_array == "Const")).tolist():
        attributes = getattr(graph.nodes[i], "attr", {})
        if "value" in attributes:
            total += attributes["value"].tensor.ByteSize()
    return total


def bytes_of(graph: Graph, mask: Mask) -> int:
    """Returns how many bytes the constants and variables among the ops of `mask` hold."""
    held = graph.state.variables.items()
    return constant_bytes(graph, mask) + sum(variable_bytes(v) for name, v in held if mask[graph.index[name]])


def size_text(count: int) -> str:
    """Returns a number of bytes as people write it.

    Example:
        >>> size_text(12), size_text(3_300_000), size_text(0)
        ('12 bytes', '3.3 MB', '0 bytes')
    """
    for unit, word in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.3g} {word}"
    return counted(count, "bytes")
