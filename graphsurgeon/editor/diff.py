"""The differences between two graphs, given as anything that `open` accepts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import LayoutError, SelectionError
from ..graph.argument_types import GraphSource, Named, OpLike
from ..graph.diff import Diff
from ..graph.diff import diff as core_diff
from ..graph.graph import Graph
from ..graph.provenance import orphan_mask
from ..graph.references import ReferenceResolver
from ..graph.rewiring import cut_out
from ..plan.dependencies import needed_ops
from .editor import Editor
from .history import layers_of
from .open import open


def diff(
    a: GraphSource,
    b: GraphSource,
    *,
    by: str = "name",
    mapping: Mapping[str, OpLike | None] | Mapping[Named, OpLike | None] | None = None,
) -> Diff:
    """Returns the differences between two graphs: ops, inputs, control inputs, attributes, devices, shapes.

    Functions are compared by their computation, not by their names. Ops of undone plans are left out.

    Args:
        a, b: the old and the new graph: an editor, an earlier `Editor.snapshot`, or anything that `open` accepts, such
            as a `tf.Graph`, a session, a path or a TF2 object.
        by: how ops are paired: by ``name``; by ``structure`` too, if names differ; or only by the ``mapping``.
        mapping: op of `a` -> op of `b`, by names or objects; None means that the op has no partner.

    Returns:
        a `Diff`: print it, or read `counts`, `table()` and `marks`. As the last line of a cell it is drawn: both graphs
        in one picture, with added, removed and changed ops marked, and counted in folded scopes.

    Raises:
        OpenError: a graph cannot be read.
        SelectionError: `by` or the mapping is not valid.

    Example:
        >>> import tensorflow as tf
        >>> def graph(axis):
        ...     with tf.Graph().as_default() as made:
        ...         x = tf.compat.v1.placeholder(tf.float32, [2, 3], name="x")
        ...         tf.concat([x, x], axis=axis, name="y")
        ...     return made
        >>> print(diff(graph(0), graph(1)))
        graph -> graph: 1 attribute changed, 1 output of another dtype or shape
        attributes
          y/axis value: int32 (): 0 -> int32 (): 1
        dtypes and shapes
          y:0: float32 (4, 3) -> float32 (2, 6)
    """
    from ..tf.functions.library import meaning
    from ..tf.open.op_facts import attribute_text

    if mapping is not None and not isinstance(mapping, Mapping):
        raise SelectionError(f"diff(mapping={mapping!r})", "that is not a mapping", "Give {'op of a': 'op of b'}")
    old, new = _snapshot(a), _snapshot(b)
    if mapping is not None:
        ours, theirs = (ReferenceResolver(graph, layers_of(graph), "diff(mapping=...)") for graph in (old, new))
        mapping = {ours.op(a): None if b is None else theirs.op(b) for a, b in mapping.items()}
    means = meaning(old.origin), meaning(new.origin)  # a graph built anew has functions of other names
    return replace(core_diff(old, new, by, mapping, attribute_text, means), draw=picture)


def picture(difference: Diff) -> dict[str, str]:
    """Returns a difference drawn, as mime type -> text; nothing if it cannot be drawn."""
    from ..ui.pane import picture_html
    from ..view.comparison import contrast
    from ..view.layout import place
    from ..view.svg import to_svg

    try:
        svg = to_svg(place(contrast(difference)).to_dict(), title=repr(difference), legend=_legend(difference))
    except LayoutError:
        return {}
    return {"image/svg+xml": svg, "text/html": picture_html(svg, repr(difference))}


def _legend(difference: Diff) -> list[tuple[str, str]]:
    from ..view.boxes import elide

    marks = Counter(difference.marks.values())
    words = {"new": "only in {b}: {n}", "removed": "only in {a}: {n}", "changed": "in both, changed: {n}"}
    a, b = (elide(graph.title, 40) for graph in (difference.a, difference.b))
    if a == b:
        a, b = "the first", "the second"
    return [(state, text.format(a=a, b=b, n=f"{marks[state]:,}")) for state, text in words.items() if marks[state]]


def _snapshot(thing: Any) -> Graph:
    if isinstance(thing, Graph):
        return thing
    editor = thing if isinstance(thing, Editor) else open(thing)
    graph = editor.snapshot
    orphans = orphan_mask(graph)
    if not orphans.any():
        return graph
    removed = orphans & ~needed_ops(graph, ~orphans)  # orphans are not a difference, unless they have consumers
    return cut_out(graph, np.flatnonzero(removed).tolist())
