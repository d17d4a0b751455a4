"""Measures boxes, and makes labeled `graphviz.Digraph` objects of graphs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .boxes import LABEL, LEADING, SUB, Box, clean, elide, width
from .families import COLOURS, UNKNOWN
from .scene import Scene, build
from .tree import Tree

if TYPE_CHECKING:
    import graphviz


PAD = 12.0
"""Space to the left and right of a label, px."""
HEIGHT = 40.0
"""Height of a box with one line of label, px."""
HEADING = 12.0
"""Size of the heading of a group, px."""


def second_line(box: Box) -> tuple[str, str]:
    """Returns the two parts of the second line of a box: its type, and the number of hidden ops."""
    hidden = sum(box.hidden.values())
    return box.sub, f"{hidden:,} hidden" if hidden else ""


def size_of(box: Box) -> tuple[float, float]:
    """Returns width and height of a box in px, which depend on its texts."""
    sub, hidden = second_line(box)
    second = width(sub, SUB) + (width(hidden, SUB) + 10 if hidden else 0)
    sign = 12 if box.kind in ("call", "scope", "series", "variable") else 0
    lines = box.lines
    words = max(*(width(line, LABEL, bold=True) + sign for line in lines), second)
    return math.ceil(max(64.0, words + 2 * PAD)), HEIGHT + LEADING * (len(lines) - 1)


_LONGEST = 1000  # characters of a name; Graphviz limits the length of strings


def quote(text: str) -> Any:
    r"""Returns `text` quoted for DOT, so that escapes, HTML labels and quotes are shown literally.

    Example:
        >>> print(quote(r"a\N<b>"))
        a\\N<b>
    """
    import graphviz

    return graphviz.escape(clean(text))


def _tooltip(text: str) -> Any:
    return quote(elide(text, _LONGEST))


def to_dot(tree: Tree, unfolded: Iterable[str] = frozenset()) -> graphviz.Digraph:
    """Returns a picture in a `graphviz.Digraph`, with labels and scopes as clusters.

    Nodes are named b0, b1, ... in reading order; labels and tooltips contain the names.

    Args:
        tree: the graph, with its hidden helpers.
        unfolded: keys of the open folds, see `graphsurgeon.view.scene.build`.

    Raises:
        LayoutError: there would be more than 400 boxes.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> g = Graph.of([("a", "Placeholder", []), ("b", "Neg", ["a"])])
        >>> "b0 -> b1" in to_dot(Tree(g)).source
        True
    """
    import graphviz

    scene = build(tree, unfolded)
    font = {"fontname": "Helvetica,Arial,sans-serif"}
    out = graphviz.Digraph(
        "graph",
        graph_attr={"rankdir": "TB", "nslimit": "2", "nslimit1": "2", **font},
        node_attr={"shape": "box", "style": "rounded,filled", "fontsize": "12", **font},
        edge_attr={"arrowsize": "0.7", "fontsize": "10", "color": "#8B96A3", **font},
    )
    _fill(out, scene, -1)
    for edge in scene.edges:
        style = {"style": "dashed"} if edge.control else {}
        label = f"×{edge.n}" if edge.n > 1 else ""
        out.edge(edge.source, edge.target, label=label, tooltip=_tooltip(", ".join(edge.tensors)), **style)
    return out


def _fill(into: graphviz.Digraph, scene: Scene, group: int) -> None:
    """Adds the boxes and clusters of a level, and of all levels inside it."""
    for box in scene.boxes:
        if box.group == group:
            ink = COLOURS[box.family]
            label = quote(f"{box.label}\n{box.sub}")
            into.node(
                box.id,
                label,
                tooltip=_tooltip(box.name),
                fillcolor=ink.fill,
                color=ink.line,
                fontcolor=ink.text,
                **({"style": "rounded,filled,dashed"} if box.family == UNKNOWN else {}),
            )
    for i, inner in enumerate(scene.groups):
        if inner.group == group:
            with into.subgraph(name=f"cluster_{i}") as cluster:
                cluster.attr(label=quote(inner.label), tooltip=_tooltip(inner.name), labeljust="l", style="rounded")
                _fill(cluster, scene, i)
