"""Sketch: the sizes of boxes."""

from __future__ import annotations

import math

from .boxes import Box
from .text import LABEL, LEADING, SUB, width

PAD = 12.0
"""Room left and right of a label, px."""
HEIGHT = 40.0
"""Height of a box with one line of label, px."""
HEADING = 12.0
"""Size of the heading of a group, px."""


def second_line(box: Box) -> tuple[str, str]:
    """Returns the two parts of the second line of a box: its type, and the number of hidden ops."""
    hidden = sum(box.hidden.values())
    return box.sub, f"{hidden:,} hidden" if hidden else ""


def size_of(box: Box) -> tuple[float, float]:
    """Returns width and height of a box, px: as wide as its words need."""
    sub, hidden = second_line(box)
    second = width(sub, SUB) + (width(hidden, SUB) + 10 if hidden else 0)
    sign = 12 if box.kind in ("call", "scope", "series", "variable") else 0
    lines = box.lines
    words = max(*(width(line, LABEL, bold=True) + sign for line in lines), second)
    return math.ceil(max(64.0, words + 2 * PAD)), HEIGHT + LEADING * (len(lines) - 1)
