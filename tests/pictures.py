"""Pictures by what they show: boxes, edges and marks, wherever they stand."""

from __future__ import annotations

import base64
import hashlib
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any

SVG = "{http://www.w3.org/2000/svg}"
_FRAMES = ("#F7F9FB", "#EFF3F7")  # what frames are filled with
_MARKER = re.compile(r"url\(#gs[0-9a-f]{10}(\w*)\)")
_HTML = re.compile(
    r'<img alt="(.*?)" src="data:image/svg\+xml;base64,([^"]*)">(?:<p>.*?</p>)?(?:<style.*?</style>)?', re.S
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
Place = tuple[float, float, float, float]


def compared(text: Any, exact: bool) -> Any:
    """Returns what a notebook's output is compared by: of a picture, what it shows, and of what bytes it is.

    Args:
        text: an output of a cell; what holds no picture is returned as it is.
        exact: the bytes count as well.
    """
    if not isinstance(text, str):
        return text
    if text.startswith("<svg"):
        return "\n".join([*meaning(text), *([f"bytes {hashlib.sha256(text.encode()).hexdigest()}"] if exact else [])])

    def within(found: re.Match[str]) -> str:
        return f"{found[1]}\n{compared(base64.b64decode(found[2]).decode(), exact)}"

    return _HTML.sub(within, text)


def meaning(svg: str) -> list[str]:
    """Returns what a picture shows, in sorted lines.

    Args:
        svg: what `to_svg` or `panes` returned.
    """
    return list(_shown(ET.fromstring(svg)))


def _shown(root: ET.Element) -> Iterator[str]:
    yield f"picture {root.get('aria-label', '')}".strip()
    boxes, lines = list[tuple[str, Place]](), list[str]()
    for one in root.findall(f"{SVG}g"):
        if (name := one.findtext(f"{SVG}title")) is None:
            continue
        frame = one.find(f"{SVG}rect").get("fill") in _FRAMES  # type: ignore[union-attr]
        if not frame:
            boxes.append((name, _around(one)))
        inks = sorted({(e.get("stroke", ""), e.get("stroke-dasharray", "")) for e in one.iter(f"{SVG}rect")})
        said = " | ".join([t.text or "" for t in one.iter(f"{SVG}text")])
        lines.append(f"{'frame' if frame else 'box'} {name}: {said} {' '.join(filter(None, sum(inks, ())))}".rstrip())
    for one in root.findall(f"{SVG}path"):
        if (title := one.findtext(f"{SVG}title")) is not None:
            way = [float(n) for n in _NUMBER.findall(one.get("d", ""))]
            ends = " -> ".join(_nearest(boxes, *end) for end in (way[:2], way[-2:]))
            kind = _MARKER.sub(r"\1", one.get("marker-end", ""))
            lines.append(
                f"edge {ends}: {', '.join(title.splitlines())} {kind} {one.get('stroke-dasharray', '')}".rstrip()
            )
    for one in root.findall(f"{SVG}text"):
        said, at = one.text or "", (float(one.get("x", 0)), float(one.get("y", 0)))
        chip = re.fullmatch(r"(in|out|leak) \d+", said) and boxes
        lines.append(f"mark {said} on {_nearest(boxes, *at)}" if chip else f"text {said}")
    yield from sorted(lines)
    for one in root.findall(f"{SVG}svg"):
        yield from _shown(one)


def _around(box: ET.Element) -> Place:
    places = [tuple(float(r.get(k, 0)) for k in ("x", "y", "width", "height")) for r in box.iter(f"{SVG}rect")]
    left, top = min(p[0] for p in places), min(p[1] for p in places)
    return left, top, max(p[0] + p[2] for p in places), max(p[1] + p[3] for p in places)


def _nearest(boxes: list[tuple[str, Place]], x: float, y: float) -> str:
    """The box that a point is in or next to."""

    def away(box: tuple[str, Place]) -> float:
        left, top, right, bottom = box[1]
        return max(left - x, x - right, 0.0) + max(top - y, y - bottom, 0.0)

    return min(boxes, key=away)[0]
