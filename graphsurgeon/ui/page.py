"""One HTML file with a graph and the front end, which loads nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Iterable
from operator import attrgetter, itemgetter
from pathlib import Path
from typing import Any

from ..errors import SurgeryError, counted
from ..graph.concurrency import gc_paused
from ..graph.graph import Graph
from ..plan.plan import Plan
from ..view.edge_paths import CONTROL_MOST
from ..view.layout import PlacedScene, place
from ..view.nesting import Nesting, nest
from ..view.op_colors import DESCRIPTIONS
from ..view.plan_marks import Marks
from ..view.scene import MAX_BOXES, Scene, build
from ..view.svg import escape, to_svg
from ..view.tree import Tree
from .inspector import all_details
from .page_data import boundary_data, plan_data
from .state import Facts
from .state import Marks as Boundary

ROWS = 12_000
"""The maximum number of boxes in a page. Deeper boxes stay folded, and the page shows the number of these folds."""
LARGEST = 3_500_000
"""The maximum compressed size of a graph in a page, in bytes. A larger graph has fewer boxes."""
NAMES = 200_000
"""The maximum number of ops that the search of a page finds."""


@gc_paused()
def html_page(
    graph: Graph,
    facts: Facts,
    open_folds: Iterable[str] = (),
    marks: Marks | None = None,
    theme: str = "auto",
    direction: str = "auto",
) -> str:
    """Returns an HTML page that shows a graph and works without a network, a kernel and this package.

    Its content security policy only allows our script, by its hash. Text of the graph is only in the compressed data,
    in the title and in the static picture, which browsers without scripts show.

    Args:
        graph: the snapshot; the page has its title.
        facts: facts on ops.
        open_folds: fold keys of the boxes that are open at first; hidden ops stay hidden.
        marks: op number -> mark, such as ``orphan``.
        theme: auto, light or dark.
        direction: TB, LR or auto.

    Raises:
        SurgeryError: the theme does not exist.
        LayoutError: there would be too many boxes, no engine is available, or the layout took too long.
    """
    if theme not in _GROUND:
        themes = ", ".join(map(repr, _GROUND))
        raise SurgeryError(f"to_html(theme={theme!r})", "there is no such theme", f"The themes are {themes}")
    tree = Tree(graph)
    first = build(tree, [key for key in open_folds if not key.endswith("+")], marks)
    layout = place(first, direction=direction)
    code = (_STATIC / "page.js").read_text(encoding="utf-8").rstrip("\n")
    hashed = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    scheme, paper, dark = _GROUND[theme]
    return _DOCUMENT.format(
        hash=f"'sha256-{hashed}'",
        title=escape(graph.title),
        css=(_STATIC / "widget.css").read_text(encoding="utf-8"),
        scheme=scheme,
        paper=paper,
        dark=dark,
        text=escape(f"{graph.title}: {counted(graph.size, 'ops')}, {counted(len(first.boxes), 'boxes')}"),
        svg=base64.b64encode(to_svg(layout.to_dict(), title=graph.title).encode("utf-8")).decode(),
        graph=_pack(tree, first, layout, facts, marks, theme),
        code=code,
    )


def _pack(tree: Tree, first: Scene, layout: PlacedScene, facts: Facts, marks: Marks | None, theme: str) -> str:
    """Returns the data that a page needs to draw a graph, to fold and unfold it, and to search it, compressed."""
    graph, rows = tree.graph, ROWS
    types, _, type_of = graph.type_index
    while True:
        nesting = nest(tree, first, layout, marks, rows)
        data = {
            "state": _state(graph, nesting, theme),
            "rows": _columns(nesting),
            **_insides(nesting),
            "open": nesting.open,
            "direction": layout.direction,
            "ops": graph.size,
            "families": DESCRIPTIONS,
            "limits": {"boxes": MAX_BOXES, "controls": CONTROL_MOST},
            "edges": nesting.edges,
            "controls": nesting.controls,
            "names": list(graph.names[:NAMES]),
            "types": types,
            "typeOf": type_of[:NAMES].tolist(),
            "holders": nesting.holder[:NAMES].tolist(),
            **_details(tree, nesting, facts),
            "tensors": nesting.tensors.rows,
        }
        text = json.dumps(data, separators=(",", ":"), check_circular=False).encode("ascii")
        packed = base64.b64encode(gzip.compress(text, 4, mtime=0)).decode()
        if len(packed) <= LARGEST or rows < 200:
            return packed
        rows = int(0.8 * LARGEST / len(packed) * len(nesting.rows))


def _state(graph: Graph, nesting: Nesting, theme: str) -> dict[str, Any]:
    """Returns what the page shows first; it draws the picture itself."""
    left = f" {nesting.closed_count:,} of its scopes are too deep for this page and stay folded."
    text = "A saved picture: it folds, unfolds and searches without a kernel."
    return {
        "scenes": {"source": None, "destination": None},
        "titles": {"source": graph.title, "destination": ""},
        "selected": [],
        "boundary": {**boundary_data(graph, Boundary(), None, "", None), "is_reversed": False},
        "plan": {**plan_data(Plan(graph), "", graph), "same": True, "saved": {}, "history": []},
        "status": {"text": text + left if nesting.closed_count else text, "level": "info"},
        "outline": {"rows": []},
        "theme": theme,
        "still": True,
    }


def _columns(nesting: Nesting) -> dict[str, list[Any]]:
    """Returns key -> its value in each row, which takes less space than rows that each have all keys."""
    boxes = nesting.rows
    keys = ("kind", "name", "label", "subtitle", "count", "family", "state", "outputs", "hidden", "w", "h")
    return {
        **{key: list(map(attrgetter(key), boxes)) for key in keys},
        "lines": [lines if len(lines := box.lines) > 1 else None for box in boxes],
        "parent": [box.group for box in boxes],
        "hub": nesting.hubs,
    }


def _insides(nesting: Nesting) -> dict[str, Any]:
    """Returns the inside of each fold, with numbers of paths, and the paths. Equal levels share their paths."""
    insides = nesting.inside.items()
    paths = list({id(path): path for _, inside in insides for _, _, path, *_ in inside["lines"]}.values())
    number = {id(path): i for i, path in enumerate(paths)}
    return {
        "paths": paths,
        "inside": {
            row: {**inside, "lines": [[a, b, number[id(path)], *label] for a, b, path, *label in inside["lines"]]}
            for row, inside in insides
        },
    }


def _details(tree: Tree, nesting: Nesting, facts: Facts) -> dict[str, Any]:
    """Returns key -> its value in the details of each row, the facts in these, and the documentation of op types."""
    names, index = [row.name for row in nesting.rows], tree.graph.index
    found, numbers = all_details(tree, names, facts, nesting.tensors.number), dict[Any, int]()
    keys = ("inputs", "outputs", "control_inputs", "consumers", "totals", "histogram")
    details = {
        "rows": [numbers.setdefault(tuple(map(tuple, one["rows"])), len(numbers)) for one in found],
        **{key: [value or None for value in map(itemgetter(key), found)] for key in keys},
        "title": [_unless(name, one["title"]) for name, one in zip(names, found, strict=True)],
        "python": [_unless(_code(name), one["python"]) for name, one in zip(names, found, strict=True)],
    }
    types = (
        (tree.graph.types[index[name]], one["doc"]) for name, one in zip(names, found, strict=True) if name in index
    )
    return {"details": details, "facts": list(numbers), "docs": dict(types)}


def _unless(known: str, text: str) -> str | None:
    """Returns a text, or None if it is the text that the page sets."""
    return None if text == known else text


def _code(name: str) -> str:
    """Returns the code that selects a box, if the page can derive the code from its name. Other code is written."""
    if name.startswith("~"):
        return ""
    return f"ed.select(scope='{name[:-1]}')" if name.endswith("/") else f"ed.op('{name}')"


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
    "dark": ("dark", "#111417", "\nbody { color: #e4e7eb; }"),
    "light": ("light", "#fff", ""),
}
