"""Exporting: an editor's picture as SVG, as DOT and as a page of its own."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from .errors import SurgeryError
from .graph.graph import Graph
from .words import counted

if TYPE_CHECKING:
    from .screen.screen import Screen

THEMES = ("auto", "dark", "light")
LARGEST = 5 << 20
"""A page holds at most so many bytes of a graph, compressed."""
_ATTRIBUTES = 3_000_000  # letters of attributes that a page holds


class Picture:
    """A picture that a notebook shows by itself, with no widget.

    Args:
        svg: the picture.
        text: what it shows, in words.
    """

    def __init__(self, svg: str, text: str) -> None:
        self.svg, self.text = svg, text

    def __repr__(self) -> str:
        return f"<Picture of {self.text}>"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        from .screen.pane import picture_html

        return {"image/svg+xml": self.svg, "text/html": picture_html(self.svg, self.text), "text/plain": self.text}


class Exporting:
    """The part of an `Editor` that gives its picture to people without a kernel."""

    if TYPE_CHECKING:

        @property
        def snapshot(self) -> Graph:
            """The graph as it is now."""

        @property
        def screen(self) -> Screen:
            """What the widget shows."""

        @property
        def orphans(self) -> frozenset[str]:
            """Names of ops left without a role."""

    def to_svg(self, unfolded: Iterable[str] | None = None) -> str:
        """Returns the picture as a static, self-contained SVG text.

        Args:
            unfolded: the scopes to open, as ``["net/", "net/block1/"]``; default: as on screen, with what is picked
                and marked there.

        Raises:
            LayoutError: there would be more than 400 boxes, or no layout engine is there.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.exp(tf.constant(1.0, name="x"), name="y")
            >>> gs.open(graph).to_svg()[:4]
            '<svg'
        """
        return self.screen.svg() if unfolded is None else self.screen.svg_of(frozenset(unfolded))

    def picture(self, unfolded: Iterable[str] | None = None) -> Picture:
        """Returns the picture as an output that needs no kernel: for notebooks that others will open.

        The widget itself is a picture everywhere but in a trusted notebook that JupyterLab opens again: there it asks
        for the kernel that made it.

        Args:
            unfolded: the scopes to open; default: as on screen.

        Raises:
            LayoutError: there would be more than 400 boxes, or no layout engine is there.
        """
        return Picture(self.to_svg(unfolded), f"{self.snapshot.title}: {counted(self.snapshot.size, 'ops')}")

    def to_dot(self, unfolded: Iterable[str] | None = None) -> Any:
        """Returns the picture as a labelled `graphviz.Digraph`, to render as you like.

        Args:
            unfolded: the scopes to open; default: as on screen.

        Raises:
            LayoutError: there would be more than 400 boxes.
        """
        from .view.dot import to_dot
        from .view.tree import Tree

        return to_dot(Tree(self.snapshot), self.screen.unfolded if unfolded is None else frozenset(unfolded))

    def to_html(self, unfolded: Iterable[str] | None = None, theme: str = "auto") -> str:
        """Returns one HTML text that shows the graph and still folds, unfolds and searches, without kernel or network.

        It is at most some 6 MB, whatever the graph: of very large ones the deepest scopes stay folded, and the page
        says how many. What is planned on screen is not in it: apply it first.

        Args:
            unfolded: the scopes that are open at first; default: as on screen.
            theme: ``auto`` follows the reader's system, else ``light`` or ``dark``.

        Raises:
            SurgeryError: there is no such theme.
            LayoutError: there would be more than 400 boxes, or no layout engine is there.

        Example:
            >>> import graphsurgeon as gs, tensorflow as tf
            >>> with tf.Graph().as_default() as graph:
            ...     y = tf.exp(tf.constant(1.0, name="x"), name="y")
            >>> page = gs.open(graph).to_html()
            >>> page.splitlines()[0], "http:" in page.replace("http://www.w3.org/2000/svg", "")
            ('<!doctype html>', False)
        """
        shown = self.screen.unfolded if unfolded is None else frozenset(unfolded)
        marks = {self.snapshot.index[name]: "orphan" for name in self.orphans}
        return page_of(self.snapshot, shown, marks, theme, self.screen.direction)


def page_of(
    graph: Graph,
    unfolded: Iterable[str] = (),
    marks: Mapping[int, str] | None = None,
    theme: str = "auto",
    direction: str = "auto",
) -> str:
    """Returns the page of a snapshot, as `Editor.to_html` does of an editor.

    Args:
        graph: the snapshot; its title is the page's.
        unfolded: fold keys of what is open at first; what steps aside stays aside.
        marks: op number -> orphan.
        theme: auto, light or dark.
        direction: TB, LR or auto.

    Raises:
        SurgeryError: there is no such theme.
        LayoutError: there would be more than 400 boxes, or no layout engine is there.
    """
    from .view.layout import place
    from .view.packing import ITEMS, pack
    from .view.scene import build
    from .view.svg import to_svg
    from .view.tree import Tree
    from .widget.page import document, squeezed

    if theme not in THEMES:
        known = ", ".join(repr(name) for name in THEMES)
        raise SurgeryError(f"to_html(theme={theme!r})", "there is no such theme", f"The themes are {known}")
    keys = frozenset(key for key in unfolded if not key.endswith("+"))
    tree = Tree(graph)
    first = place(build(tree, keys, marks), direction=direction).to_dict()
    most = ITEMS
    while True:
        packed = pack(tree, keys, marks, most)
        attributes, docs = _told(graph, packed)
        data = {
            "title": graph.title, "packed": packed, "first": first, "open": packed.pop("open"), "theme": theme,
            "direction": direction, "attributes": attributes, "docs": docs,
        }  # fmt: skip
        if most < 200 or len(squeezed(json.dumps(data).encode())) <= LARGEST:
            break
        most //= 2
    text = f"{graph.title}: {counted(graph.size, 'ops')}, {counted(len(first['boxes']), 'boxes')}"
    return document(data, svg=to_svg(first, title=graph.title), text=text)


def _told(graph: Graph, packed: dict[str, Any]) -> tuple[dict[str, list[list[str]]], dict[str, str]]:
    """Returns the attributes of the ops in a page by name, as far as there is room, and what their types do."""
    from .tf.open.describe import attribute_text, documentation

    attributes: dict[str, list[list[str]]] = {}
    docs: dict[str, str] = {}
    room = _ATTRIBUTES
    for _, kind, name, *_ in packed["rows"]:
        op = graph.index.get(name, -1)
        if op < 0 or kind not in ("op", "variable"):
            continue
        docs.setdefault(graph.types[op], documentation(graph.types[op]))
        node = graph.nodes[op]
        rows = [["device", node.device]] if getattr(node, "device", "") else []
        held = getattr(node, "attr", {})
        rows += [[key, attribute_text(held[key])] for key in sorted(held) if key != "_output_shapes"]
        room -= sum(len(key) + len(value) for key, value in rows)
        if room < 0:
            break
        if rows:
            attributes[name] = rows
    return attributes, docs
