"""Dtypes: the dtype of an op's output, from its node or from TensorFlow."""

from __future__ import annotations

from ..graph.graph import DTYPES, Graph
from ..graph.live import TFNodeDef

_ATTRS = ("dtype", "DstT", "out_type", "output_type", "type", "Tout", "T", "Tparams")


def dtypes_of(graph: Graph) -> list[str]:
    """Returns the dtype of the first output of each op; "" without an output, or if the dtype is not known.

    With a live graph TensorFlow's dtype counts: a comparison of floats is a bool, whatever its attribute T
    is. All ops of the same type with the same dtype in their attributes need one request.

    Example:
        >>> dtypes_of(Graph.of([("a", "NoOp", [])]))
        ['']
    """
    known: dict[tuple[str, str], str] = {}
    out = []
    for op, kind in enumerate(graph.types):
        said = _said(graph.nodes[op])
        name = known.get((kind, said)) if said else None
        if name is None:
            outputs = graph.stated(op)
            name = said if outputs is None else outputs[0].dtype.removesuffix("_ref") if outputs else ""
            known[kind, said] = name
        out.append(name)
    return out


def _said(node: TFNodeDef) -> str:
    """Returns the dtype in a node's attributes that is most likely that of its output."""
    attr = getattr(node, "attr", None) or {}
    for key in _ATTRS:
        if key in attr and attr[key].type:
            return DTYPES.get(attr[key].type % 100, "")
    return ""
