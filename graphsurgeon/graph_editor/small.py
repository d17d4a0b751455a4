"""Small: a few plain ops copied within one large graph, without reading all of the graph.

The engine reads the whole graph to know what a copy needs besides its ops. Plain ops need nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..tf import elements
from .naming import Names

#: the engine copies what is more than one op in so many of the graph
SHARE = 8


def pairs(info: Any, inputs: Mapping[Any, Any], fresh: bool) -> list[tuple[Any, Any]] | None:
    """Copies the view of an info, in one import, all of it or nothing.

    Args:
        info: the `TmpInfo`.
        inputs: tensor from outside -> tensor that is read in its place.
        fresh: nothing is in the destination scope yet.

    Returns:
        (op, its copy) in order; None where the engine is to do it, as it must where TensorFlow refuses: it knows why.
    """
    if info.graph is not info.graph_ or len(info.sgv.ops) * SHARE > len(info.graph.get_operations()):
        return None
    ops = sorted(info.sgv.ops, key=elements.number_of)
    inside = set(ops)
    if any(t.op in inside for t in inputs) or not all(map(elements.is_plain, ops)):
        return None
    if any(t not in inputs and t.op not in inside for op in ops for t in op.inputs):
        return None
    if any(new is not t and (elements.is_held(t) or new.dtype != t.dtype) for t, new in inputs.items()):
        return None
    names = dict(Names(info, fresh))
    # What waits for a replaced tensor waits for the new one.
    instead = {t.op: new.op for t, new in inputs.items()}
    made = elements.copied_plainly(info.graph, ops, names, inputs, instead, info.scope_.rstrip("/"))
    return None if made is None else [(op, made[names[op.name]]) for op in ops]
