"""Dtypes: what an op gives, as far as its node or TensorFlow says."""

from __future__ import annotations

from ..core.graph import Graph

DTYPES = {
    1: "float32", 2: "float64", 3: "int32", 4: "uint8", 5: "int16", 6: "int8", 7: "string", 8: "complex64",
    9: "int64", 10: "bool", 11: "qint8", 12: "quint8", 13: "qint32", 14: "bfloat16", 15: "qint16", 16: "quint16",
    17: "uint16", 18: "complex128", 19: "float16", 20: "resource", 21: "variant", 22: "uint32", 23: "uint64",
    24: "float8_e5m2", 25: "float8_e4m3fn", 29: "int4", 30: "uint4",
}  # fmt: skip
"""Names of TensorFlow's dtypes by their numbers in files."""

_ATTRS = ("dtype", "DstT", "out_type", "output_type", "Tout", "T", "Tparams")


def dtype_of(graph: Graph, op: int) -> str:
    """Returns the dtype of an op's first output; "" where it has none or nobody can say.

    Example:
        >>> dtype_of(Graph.of([("a", "NoOp", [])]), 0)
        ''
    """
    attr = getattr(graph.nodes[op], "attr", None)
    if attr:
        for key in _ATTRS:
            if key in attr and attr[key].type:
                return DTYPES.get(attr[key].type % 100, "")
        return ""
    info = graph.info(op, 0)
    return info.dtype.removesuffix("_ref") if info else ""
