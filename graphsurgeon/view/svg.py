"""Draws a placed scene as a static, self-contained SVG picture. `escape` escapes all texts."""

from __future__ import annotations

import hashlib
import html
import json
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import counted
from .boxes import FONT, LABEL, LINE_HEIGHT, OP_RADIUS, RADIUS, SUBLABEL, clean, edge_title, elide, is_measured, width
from .edge_paths import QUIET_WIDTH, WIDTHS, path_data
from .op_colors import COLORS, UNKNOWN, Ink
from .plan_marks import MEANINGS, SIGNS, STATES

PLAIN_COLOR = "#8A93A0"
PAPER, INK, QUIET, LINE, FAINT = "#FFFFFF", "#1C2430", "#5D6875", "#8B96A3", "#B9C2CC"
INPUT, OUTPUT, LEAK, SELECTED = "#0072B2", "#B36B00", "#A84300", "#1F6FEB"
_EDGES = {
    "new": {"stroke-width": "2"},
    "joined": {"stroke-width": "3"},
    "removed": {"stroke-width": "2", "stroke-dasharray": "2 3"},
    "changed": {"stroke-width": "1.6"},
}  # the style of an edge of a state, in addition to its color
FOOT = 22.0
"""Height of the line of text below a picture, px."""
_ABREAST = 1400.0  # wider pictures are placed below one another
_SIZE = re.compile(r'width="([\d.]+)" height="([\d.]+)"')


def escape(text: str) -> str:
    """Returns text that is safe inside SVG and HTML, in elements and in attributes.

    U+FFFD replaces characters that XML does not allow or that change the text direction.

    Example:
        >>> escape('<a onclick="x">' + chr(0))
        '&lt;a onclick=&quot;x&quot;&gt;\ufffd'
    """
    return html.escape(clean(text), quote=True)


def to_svg(
    scene: Mapping[str, Any],
    *,
    selected: Iterable[str] = (),
    boundary: Mapping[str, Any] | None = None,
    title: str = "",
    legend: Iterable[tuple[str, str]] = (),
) -> str:
    """Draws a placed scene as SVG text; the same scene gives the same text.

    Args:
        scene: the result of `PlacedScene.to_dict`.
        selected: names of boxes to highlight.
        boundary: ``{"inputs": [{"tensor": ...}], "outputs": [...], "leaks": [...], "boxes": {box name: ops
            inside}}``.
        title: the subject of the picture, for screen readers and the tooltip.
        legend: pairs (state, text), shown below the picture with the signs of the states. Default: the signs in the
            picture.

    Example:
        >>> to_svg({"rev": "1", "w": 24, "h": 24, "boxes": [], "groups": [], "edges": [], "stats": {}})[:4]
        '<svg'
    """
    mark = "gs" + hashlib.blake2b(json.dumps(scene, sort_keys=True).encode(), digest_size=5).hexdigest()
    foot, signs = _foot(scene), list(legend) or _meanings(scene)
    w = max(float(scene["w"]), width(foot, SUBLABEL) + 24 if foot else 0.0, _wide(signs))
    colors, tall, wide = _colors(scene.get("legend") or {}, float(scene["h"]) + 8, max(w, 320.0))
    w = max(w, wide)
    h = float(scene["h"]) + tall + (FOOT if foot else 0) + (FOOT + 2 if signs else 0)
    title = title or f"graph of {counted(len(scene['boxes']), 'boxes')} and {counted(len(scene['edges']), 'edges')}"
    chosen = set(selected)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{w:g}" height="{h:g}" viewBox="0 0 {w:g} {h:g}" '
        'role="img" '
        f'aria-label="{escape(title)}" font-family="{FONT}" font-size="{LABEL:g}" fill="{INK}">',
        f"<title>{escape(title)}</title><defs>",
        *(_arrow(f"{mark}{key}", color) for key, color in _arrows(scene["edges"])),
        f'</defs><rect width="{w:g}" height="{h:g}" fill="{PAPER}"/>',
    ]
    out.extend(_group(g) for g in sorted(scene["groups"], key=lambda g: g["depth"]))
    lines = scene.get("lines", ())
    out.extend(_edge(e, lines, mark) for e in sorted(scene["edges"], key=lambda e: not e.get("quiet")))
    region = (boundary or {}).get("boxes") or {}
    out.extend(_heading(g) for g in scene["groups"])
    weak = _faded(scene)
    out.extend(_box(b, b["name"] in chosen, b["name"] in region, b["id"] in weak) for b in scene["boxes"])
    out.extend(_labels(scene["edges"]))
    if boundary:
        out.extend(_boundary(scene, boundary))
    out.extend(colors)
    if foot:
        out.append(_text(12, h - 8, foot, SUBLABEL, fill=QUIET))
    out.extend(_legend(signs, h - (FOOT if foot else 0) - 8))
    out.append("</svg>")
    return "".join(out)


def panes(pictures: Sequence[tuple[str, str]]) -> str:
    """Combines pictures with titles into one, next to each other, or below one another if that is too wide.

    Args:
        pictures: (title, result of `to_svg`).

    Example:
        >>> empty = to_svg({"rev": "1", "w": 24, "h": 24, "boxes": [], "groups": [], "edges": [], "stats": {}})
        >>> panes([("before", empty), ("after", empty)]).count("<svg")
        3
    """
    sizes = []
    for title, svg in pictures:
        wide, high = map(float, _SIZE.search(svg).groups())  # type: ignore[union-attr]
        sizes.append((max(wide, width(title, LABEL, bold=True) + 24), high + 24))
    abreast = sum(w for w, _ in sizes) <= _ABREAST
    put = (sum, max) if abreast else (max, sum)
    w, h = put[0](w for w, _ in sizes), put[1](h for _, h in sizes)
    title = ", ".join(title for title, _ in pictures)
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{w:g}" height="{h:g}" viewBox="0 0 {w:g} {h:g}" role="img" '
        f'aria-label="{escape(title)}" font-family="{FONT}" fill="{INK}"><title>{escape(title)}</title>'
        f'<rect width="{w:g}" height="{h:g}" fill="{PAPER}"/>'
    ]
    x = y = 0.0
    for (title, svg), (wide, high) in zip(pictures, sizes, strict=True):
        out += [_text(x + 12, y + 17, title, font_weight="600"), f'<svg x="{x:g}" y="{y + 24:g}"{svg[4:]}']
        if x or y:
            out.append(f'<path d="M{x:g},{y:g}{f"v{h:g}" if abreast else f"h{w:g}"}" stroke="{FAINT}"/>')
        x, y = (x + wide, y) if abreast else (x, y + high)
    return "".join([*out, "</svg>"])


def words(title: str, text: str) -> str:
    """Returns a sentence as an SVG picture, to show instead of a graph that cannot be drawn.

    Example:
        >>> "it timed out" in words("model.pb", "it timed out")
        True
    """
    title = elide(title, 90)
    lines = [line for part in text.splitlines() for line in textwrap.wrap(part, 90)][:12]
    w = max([width(title, LABEL, bold=True), *(width(line) for line in lines)]) + 24
    h = 34 + 18 * len(lines)
    return "".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{w:g}" height="{h:g}" viewBox="0 0 {w:g} {h:g}" role="img" '
        f'aria-label="{escape(title)}" font-family="{FONT}" fill="{INK}">',
        f'<rect width="{w:g}" height="{h:g}" fill="{PAPER}"/>',
        _text(12, 20, title, font_weight="600"),
        *(_text(12, 40 + 18 * i, line, fill=QUIET) for i, line in enumerate(lines)),
        "</svg>",
    ])  # fmt: skip


def _arrows(edges: Iterable[Mapping[str, Any]]) -> list[tuple[str, str]]:
    """Returns the keys and colors of the arrowheads that edges need."""
    there = {e.get("state") for e in edges}
    more = [key for key in ("changed", "joined") if key in there]
    return [("", LINE), ("faint", FAINT), *((key, STATES[key][0]) for key in ("new", "removed", *more))]


def _arrow(key: str, color: str) -> str:
    head, size = f'<path d="M0,0.8L8,4L0,7.2z" fill="{color}"/>', 7
    if key.endswith("joined"):  # open, and larger: its line is thick
        head, size = f'<path d="M1,1L7,4L1,7z" fill="{PAPER}" stroke="{color}" stroke-width="1.3"/>', 13
    return (
        f'<marker id="{key}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="{size}" markerHeight="{size}" '
        f'markerUnits="userSpaceOnUse" orient="auto">{head}</marker>'
    )


def _attributes(style: Mapping[str, str]) -> str:
    return "".join(f' {key.replace("_", "-")}="{value}"' for key, value in style.items() if value)


def _text(x: float, y: float, text: str, size: float = LABEL, **style: str) -> str:
    how = _attributes(style)
    if is_measured(text):  # whatever font there is, the words stay as wide as their box was made for
        wide = width(text, size, bold=style.get("font_weight") in ("600", "700"))
        how += f' textLength="{wide:g}" lengthAdjust="spacingAndGlyphs"'
    return f'<text x="{x:g}" y="{y:g}" font-size="{size:g}"{how}>{escape(text)}</text>'


def _rect(x: float, y: float, w: float, h: float, radius: float, **style: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{w:g}" height="{h:g}" rx="{radius:g}"{_attributes(style)}/>'


def _group(g: Mapping[str, Any]) -> str:
    color, dash = STATES.get(g["state"], ("#C3CAD3", ""))
    fill = "#F7F9FB" if g["depth"] % 2 == 0 else "#EFF3F7"
    x, y, w = float(g["x"]), float(g["y"]), float(g["w"])
    out = [f"<g><title>{escape(g['name'])}</title>"]
    out.append(_rect(x, y, w, g["h"], RADIUS, fill=fill, stroke=color, stroke_dasharray=dash))
    count = counted(int(g["count"]), "ops")
    if w > width(g["label"], LABEL, bold=True) + width(count, SUBLABEL) + 34:
        out.append(_text(x + w - 10, y + 16, count, SUBLABEL, fill=QUIET, text_anchor="end"))
    return "".join(out) + "</g>"


def _heading(g: Mapping[str, Any]) -> str:
    """Draws the name of a frame on top of the edges that cross it."""
    fill = "#F7F9FB" if g["depth"] % 2 == 0 else "#EFF3F7"
    x, y = float(g["x"]) + 10, float(g["y"])
    plate = _rect(x - 3, y + 4, width(g["label"], LABEL, bold=True) + 6, 16, 3, fill=fill, fill_opacity="0.9")
    return plate + _text(x, y + 16, g["label"], font_weight="600", fill="#3A4656")


def _edge(e: Mapping[str, Any], lines: Sequence[str], mark: str) -> str:
    state, style = e.get("state", ""), {"stroke": LINE, "stroke-width": f"{WIDTHS[0]:g}"}
    end = mark
    if e.get("control"):
        style["stroke-dasharray"] = "4 3"
    else:
        style["stroke-width"] = f"{WIDTHS[min(int(e['count']), len(WIDTHS)) - 1]:.2f}"
    if state in _EDGES:
        style |= {"stroke": STATES[state][0], **_EDGES[state]}
        end = f"{mark}{state}"
    elif not state and e.get("quiet"):
        style |= {"stroke": FAINT, "stroke-width": f"{QUIET_WIDTH:g}"}
        end = f"{mark}faint"
    data, title = escape(path_data(lines, e["path"])), escape(edge_title(e["tensor"], int(e["count"])))
    out = f'<path d="{data}" fill="none"{_attributes(style)} marker-end="url(#{end})"><title>{title}</title></path>'
    if state == "removed":
        out += _sign(e["label_x"], e["label_y"], state)
    return out


def _meanings(scene: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Returns the legend of the signs on boxes, frames and edges."""
    there = {one["state"] for one in (*scene["boxes"], *scene["groups"])}
    there |= {"removed", "joined"} & {edge.get("state") for edge in scene["edges"]}
    return [(state, said) for state, said in MEANINGS.items() if state in there]


def _wide(signs: list[tuple[str, str]]) -> float:
    return sum(width(words, SUBLABEL) + 34 for _, words in signs) + 12


def _legend(signs: list[tuple[str, str]], y: float) -> list[str]:
    """Draws the meanings of signs in one line."""
    out, x = [], 12.0
    for state, words in signs:
        out += [_sign(x + 7, y - 4, state), _text(x + 19, y, words, SUBLABEL, fill=INK)]
        x += width(words, SUBLABEL) + 34
    return out


def _sign(x: float, y: float, state: str) -> str:
    color, sign = STATES[state][0], SIGNS.get(state, "?")
    mark = _text(x, y + 4, sign, 11, text_anchor="middle", fill=PAPER, font_weight="700")
    return f'<circle cx="{x:g}" cy="{y:g}" r="7" fill="{color}"/>{mark}'


def _labels(edges: Iterable[Mapping[str, Any]]) -> list[str]:
    return [
        _text(e["label_x"], e["label_y"] + 3.5, e["label"], SUBLABEL, text_anchor="middle", fill=QUIET)
        for e in edges
        if e.get("label")
    ]


def _box(b: Mapping[str, Any], selected: bool, in_region: bool, faded: bool) -> str:
    ink, paint = COLORS.get(b["family"], COLORS["other"]), b.get("paint")
    if paint:
        color = paint["color"] or PLAIN_COLOR
        ink = Ink(blend(color, 0.3) if paint["color"] else PAPER, color, INK)
    x, y, w, h = float(b["x"]), float(b["y"]), float(b["w"]), float(b["h"])
    radius = {"op": OP_RADIUS, "variable": h / 2}.get(b["kind"], RADIUS)
    color, dash = STATES.get(b["state"], (ink.line, ""))
    text = f" · {paint['text']}" if paint and paint["text"] else ""
    fading = ' opacity="0.22"' if faded else ""
    helped = ", ".join(counted(n, kind) for kind, n in b["hidden"].items())
    parts = (elide(b["name"], 400), b["subtitle"], f"with {helped}" if helped else "")
    out = [f"<g{fading}><title>{escape(' · '.join(filter(None, parts)) + text)}</title>"]
    if selected:
        out.append(_rect(x - 4, y - 4, w + 8, h + 8, radius + 4, fill="none", stroke=SELECTED, stroke_width="3"))
    if b["state"] == "conflict":
        out.append(_rect(x - 3, y - 3, w + 6, h + 6, radius + 3, fill="none", stroke=color))
    for k in {"series": (5, 2.5), "call": (2.5,)}.get(b["kind"], ()):
        out.append(_rect(x + k, y + k, w, h, radius, fill=PAPER, stroke=ink.line))
    wide = "1.6" if b["state"] else "1.1"
    out.append(_rect(x, y, w, h, radius, fill=ink.fill, stroke=color, stroke_width=wide, stroke_dasharray=dash))
    if b["family"] == UNKNOWN:
        out.append(_hatched(x, y, w, h))
    if in_region:
        out.append(_rect(x, y, w, h, radius, fill=INPUT, fill_opacity="0.1"))
    hidden = sum(b["hidden"].values())
    middle, weight = x + w / 2, "500" if b["kind"] == "op" else "600"
    lines = b.get("lines") or [b["label"]]
    for i, line in enumerate(lines):
        out.append(
            _text(middle, y + 17 + LINE_HEIGHT * i, line, text_anchor="middle", font_weight=weight, fill=ink.text)
        )
    more = f" · {hidden:,} hidden" if hidden else ""
    out.append(_text(middle, y + h - 8, b["subtitle"] + more, SUBLABEL, text_anchor="middle", fill=QUIET))
    if hidden:
        out.append(
            f'<path d="M{x:g},{y + h / 2:g}h-7" stroke="{ink.line}" stroke-width="1.1"/>'
            f'<circle cx="{x - 9:g}" cy="{y + h / 2:g}" r="2.2" fill="{PAPER}" stroke="{ink.line}"/>'
        )
    if paint:
        out.extend(_bars(paint["bars"], x + 7, y + h - 5, w - 14))
    if b["kind"] != "op":
        out.append(
            f'<path d="M{x + w - 13:g},{y + 8:g}h6m-3,-3v6" fill="none" stroke="{ink.line}" stroke-width="1.2"/>'
        )
    if b["state"]:
        out.append(_sign(x + 2, y + 2, b["state"]))
    out.append("</g>")
    return "".join(out)


def _hatched(x: float, y: float, w: float, h: float, step: float = 7.0, **style: str) -> str:
    """Draws slanting lines that fill a box, nearly to its edge."""
    x, y, w, h = x + 1.5, y + 1.5, w - 3, h - 3
    lines = []
    for k in range(1, int((w + h) / step) + 1):
        right, low = min(k * step, w), min(k * step, h)
        lines.append(f"M{x + right:g},{y + k * step - right:g}L{x + k * step - low:g},{y + low:g}")
    how = _attributes({"stroke_opacity": "0.4", **style})
    return f'<path d="{"".join(lines)}" fill="none" stroke="{COLORS[UNKNOWN].line}"{how}/>'


def _bars(bars: Iterable[tuple[str, float]], x: float, y: float, w: float) -> list[str]:
    """Draws the shares of colors in a box."""
    out, at = [], x
    for color, share in bars:
        out.append(_rect(round(at, 1), y, round(w * share, 1), 3, 1, fill=escape(color)))
        at += w * share
    return out


def blend(color: str, share: float) -> str:
    """Returns a color with paper mixed in.

    Example:
        >>> blend("#000000", 0.5)
        '#808080'
    """
    parts = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(255 + (part - 255) * share):02X}" for part in parts)


def _colors(legend: Mapping[str, Any], y: float, limit: float) -> tuple[list[str], float, float]:
    """Draws the entries of a legend in rows below the picture; returns them, their height and their width."""
    if not legend.get("items"):
        return [], 0.0, 0.0
    entries = [(item["color"], _entry(item), item["key"]) for item in legend["items"]]
    out, x, row, wide = [], 12.0, 0, 0.0
    if legend["title"]:
        out.append(_text(x, y, f"{legend['title']}:", SUBLABEL, fill=INK, font_weight="600"))
        x += width(f"{legend['title']}:", SUBLABEL, bold=True) + 10
    for color, words, key in entries:
        long = width(words, SUBLABEL) + 30
        if x > 12 and x + long > limit:
            x, row = 12.0, row + 1
        top = y + row * 18
        weak = {"opacity": "0.35"} if key in legend.get("faded", ()) else {}
        out.append(_rect(x, top - 9, 10, 10, 3, fill=blend(color, 0.45), stroke=color, **weak))
        if key == UNKNOWN:
            out.append(_hatched(x, top - 9, 10, 10, 4, **weak))
        out.append(_text(x + 15, top, words, SUBLABEL, fill=INK, **weak))
        x += long
        wide = max(wide, x)
    return out, 18.0 * (row + 1) + 4, wide


def _entry(item: Mapping[str, Any]) -> str:
    return f"{item['text']} ({item['boxes']})" if item["boxes"] else str(item["text"])


def _faded(scene: Mapping[str, Any]) -> set[str]:
    """Returns the ids of the boxes of faded entries of the legend."""
    keys = set((scene.get("legend") or {}).get("faded", ()))
    return {b["id"] for b in scene["boxes"] if (b["paint"]["key"] if "paint" in b else b["family"]) in keys}


def _boundary(scene: Mapping[str, Any], boundary: Mapping[str, Any]) -> list[str]:
    """Marks the boxes with boundary tensors: ▷ inputs on the left, ◁ outputs on the right; and leaks: ⚠."""
    out = []
    for key, color, word in (("inputs", INPUT, "in"), ("outputs", OUTPUT, "out"), ("leaks", LEAK, "leak")):
        used: dict[str, float] = {}
        for i, one in enumerate(boundary.get(key) or (), 1):
            box = _holder(scene, str(one["tensor"]).rpartition(":")[0])
            if box is None:
                continue
            x, y, w, h = float(box["x"]), float(box["y"]), float(box["w"]), float(box["h"])
            wide, left = width(f"{word} {i}", SUBLABEL, bold=True) + 23, key != "outputs"
            if box["id"] not in used:
                side = x if left else x + w
                out.append(
                    f'<path d="M{side:g},{y:g}v{h:g}" stroke="{color}" stroke-width="3" stroke-dasharray="4 2"/>'
                )
            shift = used.get(box["id"], -6.0)
            used[box["id"]] = shift + wide + 3
            at, top = (x + shift if left else x + w - shift - wide), y + h - 5
            out.append(_rect(at, top, wide, 15, 7.5, fill=color))
            tip = {"inputs": "l7,4.5l-7,4.5z", "outputs": "m7,0l-7,4.5l7,4.5z", "leaks": "m4,0l4,8.5h-8z"}[key]
            out.append(f'<path d="M{at + 6:g},{top + 3:g}{tip}" fill="{PAPER}"/>')
            out.append(_text(at + 16, top + 11, f"{word} {i}", SUBLABEL, fill=PAPER, font_weight="600"))
    return out


def _holder(scene: Mapping[str, Any], op: str) -> Mapping[str, Any] | None:
    """Returns the box of an op, or of the folded scope around it."""
    best: Mapping[str, Any] | None = None
    for box in scene["boxes"]:
        name = box["name"]
        if name == op:
            return dict(box)
        lead = {"scope": name, "call": f"{name}/"}.get(box["kind"])
        if lead and op.startswith(lead) and (best is None or len(name) > len(best["name"])):
            best = dict(box)
    return best


def _foot(scene: Mapping[str, Any]) -> str:
    """Returns the line below the picture, with the numbers of ops, boxes and hidden ops."""
    stats = scene.get("stats") or {}
    hidden = ", ".join(counted(n, kind) for kind, n in stats.get("hidden", {}).items())
    parts = [f"{counted(stats['ops'], 'ops')} in {counted(stats['boxes'], 'boxes')}"] if "ops" in stats else []
    if hidden:
        parts.append(f"hidden: {hidden}")
    if stats.get("degraded"):
        parts.append(str(stats["degraded"]))
    return " · ".join(parts)
