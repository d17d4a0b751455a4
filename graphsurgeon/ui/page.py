"""One HTML file with a graph and the front end, which loads nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

from ..graph.graph import Graph
from ..view.edges import CONTROL_MOST
from ..view.families import DESCRIPTIONS
from ..view.layout import PlacedScene
from ..view.nesting import Nesting, connections, nest
from ..view.plan_marks import Marks
from ..view.scene import MAX_BOXES, Scene
from ..view.svg import escape
from ..view.tree import Tree
from .inspector import details_of
from .state import Facts

ROWS = 12_000
"""The maximum number of boxes in a page. Deeper boxes stay folded, and the page shows the number of these folds."""
LARGEST = 3_500_000
"""The maximum compressed size of a graph in a page, in bytes. A larger graph has fewer boxes."""
NAMES = 200_000
"""The maximum number of ops that the search of a page finds."""


def pack(
    tree: Tree, first: Scene, placed: PlacedScene, facts: Facts, marks: Marks | None = None, theme: str = "auto"
) -> str:
    """Returns the data that a page needs to draw a graph, to fold and unfold it, and to search it, compressed.

    Args:
        tree: the graph, with its hidden helpers.
        first: the first picture.
        placed: its layout.
        facts: facts on ops.
        marks: op number -> mark, such as ``orphan``.
        theme: auto, light or dark.
    """
    graph, rows = tree.graph, ROWS
    while True:
        nesting = nest(tree, first, placed, marks, rows)
        data = {
            "title": graph.title,
            "theme": theme,
            "rows": nesting.rows,
            "inside": nesting.inside,
            "open": [row for row, box in enumerate(nesting.rows) if box["name"] in {g.name for g in first.groups}],
            "direction": placed.direction,
            "ops": graph.size,
            "families": DESCRIPTIONS,
            "limits": {"boxes": MAX_BOXES, "controls": CONTROL_MOST},
            "shut": nesting.shut,
            **connections(graph, nesting),
            **_search_data(graph, nesting),
            **_details(tree, nesting, facts),
        }
        text = json.dumps(data, separators=(",", ":")).encode("ascii")
        packed = base64.b64encode(gzip.compress(text, 9, mtime=0)).decode()
        if len(packed) <= LARGEST or rows < 200:
            return packed
        rows = int(0.8 * LARGEST / len(packed) * len(nesting.rows))


def _search_data(graph: Graph, nesting: Nesting) -> dict[str, Any]:
    """Returns the names and types of ops, and the row that contains each or that it helps."""
    types, _, number = graph.kinds
    return {
        "names": list(graph.names[:NAMES]),
        "types": list(types),
        "typeOf": number[:NAMES].tolist(),
        "holders": nesting.holder[:NAMES].tolist(),
    }


def _details(tree: Tree, nesting: Nesting, facts: Facts) -> dict[str, Any]:
    """Returns the details of each row for the inspector, and the documentation of op types."""
    details, docs = [], dict[str, str]()
    for row in nesting.rows:
        found = details_of(tree, row["name"], facts)
        op = tree.graph.index.get(row["name"])
        if op is not None:
            docs.setdefault(tree.graph.types[op], found["doc"])
        details.append({key: value for key, value in found.items() if value and key not in ("doc", "value")})
    return {"details": details, "docs": docs}


_STATIC = Path(__file__).parent / "static"

_DOCUMENT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src {hash}; style-src 'unsafe-inline'; \
img-src data:">
<meta name="generator" content="graphsurgeon">
<title>{title}</title>
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
<script>{code}</script>
</body>
</html>
"""
_DARK = "@media (prefers-color-scheme: dark) { body { background: #111417; color: #e4e7eb; } }"
_GROUND = {  # theme -> color-scheme, ground before the code runs, more style
    "auto": ("light dark", "#fff", "\n" + _DARK),
    "light": ("light", "#fff", ""),
    "dark": ("dark", "#111417", "\nbody { color: #e4e7eb; }"),
}


def document(graph: str, *, title: str, theme: str, svg: str, text: str) -> str:
    """Returns an HTML page that shows a graph and works without a network, a kernel and this package.

    Its content security policy only allows our script, by its hash. Text of the graph is only in the compressed data,
    in the title and in the static picture.

    Args:
        graph: the result of `pack`.
        title: the title of the graph.
        theme: auto, light or dark.
        svg: the static picture, for browsers without scripts.
        text: the contents of the picture, in words.
    """
    code = (_STATIC / "page.js").read_text(encoding="utf-8").rstrip("\n")
    hashed = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    scheme, paper, dark = _GROUND[theme]
    return _DOCUMENT.format(
        hash=f"'sha256-{hashed}'",
        title=escape(title),
        css=(_STATIC / "widget.css").read_text(encoding="utf-8"),
        scheme=scheme,
        paper=paper,
        dark=dark,
        text=escape(text),
        svg=base64.b64encode(svg.encode("utf-8")).decode(),
        graph=graph,
        code=code,
    )
