"""Text: how wide a label is, from a fixed table, so that every machine draws the same picture."""

from __future__ import annotations

import re

FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
"""Fonts of equal advance widths on Windows, Linux and macOS."""

LABEL = 12.0
"""Size of a label, px at 100 %."""
SUB = 11.0
"""Size of the second line of a box, px at 100 %."""
LEADING = 14.0
"""From one line of a label to the next, px at 100 %."""
LONGEST = 80
"""Labels of more characters than this lose their middle."""
LINE = 30
"""Labels of more characters than this stand on two lines."""

_ASCII = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 "
    "556 556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 "
    "667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 "
    "556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584"
)
_WIDTHS = dict(zip(map(chr, range(32, 127)), map(int, _ASCII.split()), strict=True)) | {
    "…": 1000, "·": 333, "×": 584, "−": 584, "→": 1000, "⚠": 1000, "Δ": 668,
}  # fmt: skip


def width(text: str, size: float = LABEL, bold: bool = False) -> float:
    """Returns the width of `text` in px at `size` px; a character that is not in the table counts one em.

    Example:
        >>> width("WWWWWWWWWW")
        113.28
    """
    units = sum(_WIDTHS.get(c, 1000) for c in text) * (1.075 if bold else 1.0)
    return round(units * size / 1000, 2)


def measured(text: str) -> bool:
    """Returns whether the table has every character, so that `width` is exact for the fonts above."""
    return all(c in _WIDTHS for c in text)


_BAD = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # characters that XML 1.0 cannot write, and C1
    "|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # characters that turn the direction of text
)


def clean(text: str) -> str:
    """Returns `text` with U+FFFD for characters XML cannot hold and for those that turn the text direction.

    Example:
        >>> clean("a" + chr(0) + chr(0x202E) + "b")
        'a\ufffd\ufffdb'
    """
    return _BAD.sub("\ufffd", text)


def elide(text: str, longest: int = LONGEST) -> str:
    """Returns `text`, its middle replaced by ``…`` where it has more than `longest` characters.

    Example:
        >>> elide("a" * 30 + "b" * 30, 11)
        'aaaaa…bbbbb'
    """
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail]}…{text[-tail:]}"


def broken(label: str) -> list[str]:
    """Returns a label as one line, or as two if it is long and has a place to break, nearest to its middle.

    Example:
        >>> broken("mixed4a"), broken("InceptionV3/Predictions/Reshape_1")
        (['mixed4a'], ['InceptionV3/', 'Predictions/Reshape_1'])
    """
    if len(label) <= LINE:
        return [label]
    middle = len(label) / 2
    for sign in ("/", "… ", " ", "_"):
        places = [m.end() for m in re.finditer(re.escape(sign), label) if 0.25 <= m.end() / len(label) <= 0.75]
        if places:
            at = min(places, key=lambda i: abs(i - middle))
            return [label[:at].rstrip(), label[at:].lstrip()]
    return [label[: round(middle)], label[round(middle) :]]
