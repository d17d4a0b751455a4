"""The picture of a graph as SVG and as a page that works without a kernel."""

from __future__ import annotations

import contextvars
import json
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from .. import tf
from ..errors import OpenError, SurgeryError, counted, did_you_mean
from ..graph.graph import Graph
from ..graph.lazy_graph import lazy_graph_of

THEMES = ("auto", "dark", "light")
LARGEST = 5 << 20
"""The maximum compressed size of a graph in a page, in bytes."""
_ATTRIBUTES = 3_000_000  # maximum letters of attributes in a page


PATIENCE = 1.0
"""The time that a static picture waits for shapes, in seconds."""


def infer(graph: Graph) -> None:
    """Makes the live graph of a file, so that TensorFlow infers shapes, and waits up to `PATIENCE` seconds.

    If TensorFlow is not imported yet, no shapes are inferred. A slower import of the graph continues in the background.

    Args:
        graph: the snapshot.
    """

    def make() -> None:
        with suppress(OpenError):  # the shapes stay as the file states them
            graph.live  # noqa: B018

    if lazy_graph_of(graph.owner) is not None and tf.import_tensorflow.is_loaded():
        # not a daemon: a process that exits inside TensorFlow may crash
        thread = threading.Thread(target=contextvars.copy_context().run, args=(make,), name="graphsurgeon-shapes")
        thread.start()
        thread.join(PATIENCE)


class Picture(str):
    """A picture as SVG text, which a notebook shows without a widget.

    Args:
        svg: the picture.
        words: a description of the picture.
    """

    words: str

    def __new__(cls, svg: str, words: str) -> Picture:
        """Returns the text with its words."""
        picture = super().__new__(cls, svg)
        picture.words = words
        return picture

    def __repr__(self) -> str:
        return f"<Picture of {self.words}>"

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        from ..ui.pane import picture_html

        svg = str(self)
        return {"image/svg+xml": svg, "text/html": picture_html(svg, self.words), "text/plain": self.words}


def svg_of(screen: Any, unfolded: Iterable[str] | None = None) -> Picture:
    """Returns the picture of a screen, as `Editor.to_svg` does, with the known shapes."""
    svg = screen.svg() if unfolded is None else screen.svg_of(fold_keys(screen, unfolded, "to_svg"))
    return Picture(svg, f"{screen.source.title}: {counted(screen.source.snapshot.size, 'ops')}")


def fold_keys(screen: Any, unfolded: Iterable[str], call: str) -> frozenset[str]:
    """Returns the scopes and calls to open.

    Raises:
        SurgeryError: if `unfolded` is not a list of names, for example a path, or a name is not a scope or call.
    """
    from ..view.tree import find_item

    alone = isinstance(unfolded, (str, bytes)) or not isinstance(unfolded, Iterable)
    names: list[Any] = [unfolded] if alone else list(unfolded)
    if alone or not all(isinstance(name, str) for name in names):
        how = f"Type {call}(unfolded=['net/', 'net/block1/']). Write a file with Path(...).write_text(...)"
        raise SurgeryError(f"{call}({unfolded!r})", "unfolded= is not a list of the scopes and calls to open", how)
    tree = screen.tree_of(frozenset(names))
    for name in names:
        there = name.endswith("/") and name[:-1] in tree.graph.scopes.index
        if not there and find_item(tree, name.removesuffix("+")) is None:
            names_of_graph = [*(f"{scope}/" for scope in tree.graph.scopes.names if scope), *tree.graph.names]
            problem = f"there is no scope or call {name!r} to open"
            raise SurgeryError(f"{call}({names!r})", problem, did_you_mean(name, names_of_graph))
    return frozenset(names)


def html_page(
    graph: Graph,
    unfolded: Iterable[str] = (),
    marks: Mapping[int, str] | None = None,
    theme: str = "auto",
    direction: str = "auto",
) -> str:
    """Returns an HTML page for a snapshot, as `Editor.to_html` does for an editor.

    Args:
        graph: the snapshot; the page has its title.
        unfolded: fold keys of the boxes that are open at first; hidden helpers stay hidden.
        marks: op number -> mark, such as ``orphan``.
        theme: auto, light or dark.
        direction: TB, LR or auto.

    Raises:
        SurgeryError: the theme does not exist.
        LayoutError: there would be more than 400 boxes, or no layout engine is installed.
    """
    from ..ui.page import ITEMS, compress, document, pack
    from ..view.layout import place
    from ..view.scene import build
    from ..view.svg import to_svg
    from ..view.tree import Tree

    if theme not in THEMES:
        themes = ", ".join(repr(name) for name in THEMES)
        raise SurgeryError(f"to_html(theme={theme!r})", "there is no such theme", f"The themes are {themes}")
    keys = frozenset(key for key in unfolded if not key.endswith("+"))
    tree = Tree(graph)
    first = place(build(tree, keys, marks), direction=direction).to_dict()
    most = ITEMS
    while True:
        packed = pack(tree, keys, marks, most)
        attributes, docs = _details(graph, packed)
        data = {
            "title": graph.title, "packed": packed, "first": first, "open": packed.pop("open"), "theme": theme,
            "direction": direction, "attributes": attributes, "docs": docs,
        }  # fmt: skip
        if most < 200 or len(compress(json.dumps(data).encode())) <= LARGEST:
            break
        most //= 2
    text = f"{graph.title}: {counted(graph.size, 'ops')}, {counted(len(first['boxes']), 'boxes')}"
    return document(data, svg=to_svg(first, title=graph.title), text=text)


def _details(graph: Graph, packed: dict[str, Any]) -> tuple[dict[str, list[list[str]]], dict[str, str]]:
    """Returns attributes of the ops in a page, up to `_ATTRIBUTES` letters, and documentation of their types."""
    attributes: dict[str, list[list[str]]] = {}
    docs: dict[str, str] = {}
    budget = _ATTRIBUTES
    for _, kind, name, *_ in packed["rows"]:
        op = graph.index.get(name, -1)
        if op < 0 or kind not in ("op", "variable"):
            continue
        docs.setdefault(graph.types[op], tf.open.op_facts.documentation(graph.types[op]))
        node = graph.nodes[op]
        rows = [["device", node.device]] if getattr(node, "device", "") else []
        attr = getattr(node, "attr", {})
        rows += [[key, tf.open.op_facts.attribute_text(attr[key])] for key in sorted(attr) if key != "_output_shapes"]
        budget -= sum(len(key) + len(value) for key, value in rows)
        if budget < 0:
            break
        if rows:
            attributes[name] = rows
    return attributes, docs
