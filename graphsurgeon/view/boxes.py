"""The contents, labels and sizes of boxes, and flat names folded into blocks."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import repeat

import numpy as np

from ..graph.graph import Ints
from ..graph.traversal import connected_parts, strong_parts
from . import page_types

FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
"""Fonts of equal advance widths on Windows, Linux and macOS."""

LABEL = 12.0
"""Size of a label, px at 100 %."""
SUBLABEL = 11.0
"""Size of the second line of a box, px at 100 %."""
LINE_HEIGHT = 14.0
"""Height of a line of a label, px at 100 %."""
LONGEST = 80
"""The maximum number of characters of a label; the middle of longer labels is elided."""
LINE = 30
"""The maximum number of characters of a label on one line; longer labels have two lines."""

_ASCII = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 "
    "556 556 278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 "
    "667 778 722 667 611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 "
    "556 222 222 500 222 833 556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584"
)
_WIDTHS = dict(zip(map(chr, range(32, 127)), map(int, _ASCII.split()), strict=True)) | {
    "…": 1000, "·": 333, "×": 584, "−": 584, "→": 1000, "⚠": 1000, "Δ": 668,
}  # fmt: skip


@lru_cache(10_000)
def width(text: str, size: float = LABEL, bold: bool = False) -> float:
    """Returns the width of `text` in px at a font size in px; a character that is not in the table is one em wide.

    Example:
        >>> width("WWWWWWWWWW")
        113.28
    """
    units = sum(map(_WIDTHS.get, text, repeat(1000))) * (1.075 if bold else 1.0)
    return round(units * size / 1000, 2)


def is_measured(text: str) -> bool:
    """Returns whether the table has every character, so that `width` is exact for the fonts above."""
    return all(c in _WIDTHS for c in text)


_BAD = re.compile(
    "[^\t\n\r\x20-\x7e\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # characters that XML 1.0 cannot write, and C1
    "|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # characters that turn the direction of text
)


def clean(text: str) -> str:
    """Returns `text` with U+FFFD in place of characters that XML does not allow or that change the text direction.

    Example:
        >>> clean("a" + chr(0) + chr(0x202E) + "b")
        'a\ufffd\ufffdb'
    """
    return _BAD.sub("\ufffd", text)


def elide(text: str, longest: int = LONGEST) -> str:
    """Returns `text`; if it has more than `longest` characters, ``…`` replaces the middle.

    Example:
        >>> elide("a" * 30 + "b" * 30, 11)
        'aaaaa…bbbbb'
    """
    if len(text) <= longest:
        return text
    tail = (longest - 1) // 2
    return f"{text[: longest - 1 - tail]}…{text[-tail:]}"


def broken(label: str) -> list[str]:
    """Returns a label as one line, or a long label as two lines, broken near its middle.

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


MAX_UNFOLDED = 12
"""The maximum number of items of a level whose blocks are not folded."""
MAX_SHARE = 0.75
"""The maximum share of the items of a level in one block."""
TRIES = 8
"""The number of attempts to split the names of a level into blocks."""

_NUMBER = re.compile(r"\d{1,9}(?!\d)")
_DIMENSIONS = re.compile(r"[123]d$")
_LETTER = re.compile(r"[^\W\d_]")
_SEPARATORS = "_-."

Groups = dict[str, list[int]]


def heads(name: str) -> list[str]:
    """Returns the names of the blocks that a name may belong to: its prefixes up to a number, the shortest first.

    Example:
        >>> heads("conv2_block1_3_conv"), heads("block2a_dwconv"), heads("max_pool_1")
        (['conv2', 'conv2_block1', 'conv2_block1_3'], ['block2', 'block2a'], ['max_pool_1'])
    """
    out = []
    for number in _NUMBER.finditer(name):
        end, after = number.end(), name[number.end() :]
        if not _LETTER.search(name, 0, end):
            continue
        if not after or after[0] in _SEPARATORS:
            out.append(name[:end])
        elif after[0].islower() and (len(after) == 1 or after[1] in _SEPARATORS):
            out += [name[:end], name[: end + 1]]
    return out


def blocks(names: Sequence[str], edges: Ints, prefix: str = "") -> Groups:
    """Returns name of a block -> the places of its members, for the blocks of one level.

    No path leaves a block and enters it again, so that folding does not hide the direction of edges. An item between
    members of only one block is a member too, even with another name, such as ``re_lu_7``. If there are numbered
    blocks, other names with a common prefix form a block, too: ``stem_conv``, ``stem_bn``, ``stem_activation``.

    Args:
        names: the names of the items of the level.
        edges: the edges between them, of shape (edges, 2).
        prefix: the name of the block that the items belong to; empty if there is none.

    Example:
        >>> names = ["x", "b1_conv", "b1_relu", "b2_conv", "b2_relu", "y"]
        >>> blocks(names, np.array([[i, i + 1] for i in range(5)]))
        {'b1': [1, 2], 'b2': [3, 4]}
    """
    prefixes = _name_heads(names)
    used_lengths = [len(prefix)] * len(names)
    groups: Groups = {}
    for turn in range(TRIES + 4):
        groups = _group_names(prefixes, used_lengths)
        refused = [head for head, places in groups.items() if not _is_block(names, head, places)]
        if not refused:
            groups = _extend_groups(groups, edges, len(names))
            torn = _torn(groups, edges, len(names))
            refused = _scattered_groups(torn, edges, len(names)) or list(torn)
        if not refused:
            break
        for head in refused:
            for place in groups[head]:
                if names[place].startswith(head):
                    used_lengths[place] = len(head) if turn < TRIES else len(names[place])
    stems = Counter(stem(head) for head in groups)
    groups = {head: places for head, places in groups.items() if len(places) > 2 or stems[stem(head)] > 1}
    if len(groups) < 2:
        return {}
    words = _group_by_words(names, {place for places in groups.values() for place in places}, prefix)
    whole = _extend_groups({**groups, **words}, edges, len(names))
    torn = _torn(whole, edges, len(names))
    return {**groups, **{head: whole[head] for head in words if head not in torn}}


def _name_heads(names: Sequence[str]) -> list[list[str]]:
    """Returns the heads of each name. The 2d of conv2d is a number of dimensions; block2d follows block2c."""
    all_prefixes = [heads(name) for name in names]
    there = {head for prefixes in all_prefixes for head in prefixes}
    flat = {head for head in there if _DIMENSIONS.search(head) and not there & {f"{head[:-1]}a", f"{head[:-1]}c"}}
    flat |= {head[:-1] for head in flat}
    return [[head for head in prefixes if head not in flat] for prefixes in all_prefixes] if flat else all_prefixes


def _group_names(all_prefixes: Sequence[Sequence[str]], used_lengths: Sequence[int]) -> Groups:
    """Groups names by the first head that is longer than the part already used."""
    out: Groups = defaultdict(list)
    for place, prefixes in enumerate(all_prefixes):
        head = next((h for h in prefixes if len(h) > used_lengths[place]), None)
        if head is not None:
            out[head].append(place)
    return dict(out)


def _is_block(names: Sequence[str], head: str, places: Sequence[int]) -> bool:
    """Returns whether names are parts of one thing, not only numbered, such as ``Relu_1`` and ``Relu_2``."""
    tails = [names[place][len(head) :] for place in places]
    return 1 < len(places) <= MAX_SHARE * len(names) and any(_LETTER.search(tail) for tail in tails)


def stem(head: str) -> str:
    """Returns the name of a block without its number, which numbered blocks have in common.

    Example:
        >>> stem("block2a"), stem("block12b"), stem("stem")
        ('block', 'block', '')
    """
    return head.rstrip("abcdefghijklmnopqrstuvwxyz").rstrip("0123456789")


def _group_by_words(names: Sequence[str], used_places: set[int], prefix: str) -> Groups:
    """Groups three or more names with the same first words, such as ``stem_conv_pad`` and ``stem_bn``."""
    groups: Groups = defaultdict(list)
    for place, name in enumerate(names):
        if place not in used_places:
            groups[re.split(r"[_.\-]", name.removeprefix(prefix).lstrip(_SEPARATORS), maxsplit=1)[0]].append(place)
    out = {}
    for places in groups.values():
        if not 2 < len(places) <= MAX_SHARE * len(names):
            continue
        head = _common(names[places[0]], names[places[-1]])
        for place in places:
            head = _common(head, names[place])
        tails = [names[place][len(head) :] for place in places]
        if len(head) > len(prefix) and sum(_LETTER.search(tail) is not None for tail in tails) >= len(places) - 1:
            out[head] = places
    return out


def _common(a: str, b: str) -> str:
    """Returns the words that two names begin with."""
    same = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    while same and any(len(name) > same and name[same] not in _SEPARATORS for name in (a, b)):
        same -= 1
    return a[:same].rstrip(_SEPARATORS)


def _extend_groups(groups: Groups, edges: Ints, size: int) -> Groups:
    """Returns the groups, extended by items that are only between members of one group."""
    if not groups or not len(edges):
        return groups
    of = np.full(size, -1)
    for number, places in enumerate(groups.values()):
        of[places] = number
    loose = of < 0
    a, b = edges.T
    within = edges[loose[a] & loose[b]]
    part = connected_parts(within[:, 0], within[:, 1], size)
    above, below = defaultdict[int, set[int]](set), defaultdict[int, set[int]](set)
    for one, other in edges[loose[a] != loose[b]].tolist():
        if loose[other]:
            above[int(part[other])].add(int(of[one]))
        else:
            below[int(part[one])].add(int(of[other]))
    owner = {piece: next(iter(one)) for piece, one in above.items() if len(one) == 1 and below[piece] == one}
    more = defaultdict[int, list[int]](list)
    for place in np.flatnonzero(loose).tolist():
        if int(part[place]) in owner:
            more[owner[int(part[place])]].append(place)
    return {head: sorted([*places, *more[number]]) for number, (head, places) in enumerate(groups.items())}


def _torn(groups: Mapping[str, list[int]], edges: Ints, size: int) -> Groups:
    """Returns the groups that a path leaves and enters again, except groups in a loop."""
    if not groups or not len(edges):
        return {}
    into = np.arange(size, dtype=np.int32)
    for places in groups.values():
        into[places] = places[0]
    strong, loops = (strong_parts(e[:, 0], e[:, 1], size) for e in (into[edges], edges))
    crowd, loop = np.bincount(strong[list(set(into.tolist()))], minlength=size), np.bincount(loops, minlength=size)
    return {
        head: places
        for head, places in groups.items()
        if crowd[strong[places[0]]] > 1 and loop[loops[places]].max() == 1
    }


def _scattered_groups(groups: Mapping[str, list[int]], edges: Ints, size: int) -> list[str]:
    """Returns the groups whose members are not connected."""
    of = np.full(size, -1)
    for number, places in enumerate(groups.values()):
        of[places] = number
    a, b = of[edges].T
    same = edges[(a == b) & (a >= 0)]
    part = connected_parts(same[:, 0], same[:, 1], size) if len(edges) else np.arange(size)
    return [head for head, places in groups.items() if len(set(part[places].tolist())) > 1]


@dataclass
class Box:
    """A rectangle of an op, a scope, a series or a variable; sizes in px."""

    id: str
    kind: page_types.BoxKind
    name: str
    label: str
    subtitle: str
    count: int
    family: str
    group: int = -1
    state: page_types.Mark = ""
    outputs: int = 0
    hidden: dict[str, int] = field(default_factory=dict)
    x: float = 0.0
    y: float = 0.0
    w: float = 0.0
    h: float = 0.0

    @property
    def lines(self) -> list[str]:
        """The lines of the drawn label: one, or two if it is long."""
        return broken(self.label)


@dataclass
class Group:
    """An unfolded scope or series, drawn as a frame with a heading; `group` is the number of the frame around it."""

    id: str
    name: str
    label: str
    count: int
    depth: int
    group: int = -1
    state: page_types.Mark = ""
    x: float = 0.0
    y: float = 0.0
    w: float = 0.0
    h: float = 0.0


@dataclass
class Edge:
    """All tensors, or all control inputs, from one box to another. A `quiet` edge is drawn faint.

    `tensor` is the first of its tensors, or ``^op`` for a control input. `path` has the numbers of the lines of the
    scene that form it: edges that cross the same frames have lines in common.
    """

    id: str
    source: str
    target: str
    count: int
    control: bool
    tensor: str
    state: page_types.EdgeMark = ""
    label: str = ""
    quiet: bool = False
    path: list[int] = field(default_factory=list)
    label_x: float = 0.0
    label_y: float = 0.0


def edge_title(tensor: str, count: int) -> str:
    """Returns the title of an edge: its first tensor, and the number of the others.

    Example:
        >>> edge_title("x:0", 3)
        'x:0 and 2 more'
    """
    return f"{tensor} and {count - 1:,} more" if count > 1 else tensor


def frames(groups: Sequence[Group] | Mapping[int, Group], group: int) -> Iterator[int]:
    """Yields the number of a group and of the groups around it, the innermost first."""
    while group >= 0:
        yield group
        group = groups[group].group


@dataclass(eq=False)
class Item:
    """One thing that is a box when folded, and a group of other items when unfolded.

    Args:
        kind: op, call (an op that can be unfolded), scope, block, series or variable.
        name: op name, scope path + "/", or the key of a series or block.
        label: the part of the name that is drawn.
        op: number of the op, for op, call and variable; else -1.
        tops: the scopes that it contains completely.
        bottom: the scope with the items to show when it is unfolded; -1 for none.
        keys: fold keys that unfold it; empty if nothing is inside.
        members: the items of a series or block.
        alike: whether the members of a series are alike.
        first: number of the first op in it.
        leaf: its name among its siblings.
        holds: a text about the members of a series or block, or about the function of a call.
    """

    kind: page_types.ItemKind
    name: str
    label: str
    op: int = -1
    tops: tuple[int, ...] = ()
    bottom: int = -1
    keys: tuple[str, ...] = ()
    members: tuple[Item, ...] = ()
    alike: bool = False
    first: int = 0
    leaf: str = ""
    holds: str = ""

    @property
    def one_op(self) -> bool:
        """Whether it is an op itself."""
        return self.kind in ("op", "call")

    def flat(self) -> list[Item]:
        """Returns the ops and scopes in it; series and blocks are replaced by their members."""
        return self._apart(("series", "block"))

    def units(self) -> list[Item]:
        """Returns the ops, scopes and blocks in it; series are replaced by their members."""
        return self._apart(("series",))

    def blocks(self) -> list[Item]:
        """Returns the blocks that a block consists of; empty for other items.

        Scopes count as blocks if all members are numbered alike, such as Mixed_6a and Mixed_6b.
        """
        inner = [one for member in self.members for one in member.units()] if self.kind == "block" else []
        counted = all(one.kind in ("block", "scope") and one.leaf in heads(one.leaf) for one in inner)
        whole = counted and len({stem(one.leaf) for one in inner}) == 1
        return inner if whole else [one for one in inner if one.kind == "block"]

    def _apart(self, kinds: tuple[str, ...]) -> list[Item]:
        out, stack = [], [self]
        while stack:
            item = stack.pop()
            if item.kind in kinds:
                stack.extend(reversed(item.members))
            else:
                out.append(item)
        return out


PAD = 12.0
"""Space to the left and right of a label, px."""
HEIGHT = 40.0
"""Height of a box with one line of label, px."""
OP_RADIUS, RADIUS = 5.0, 8.0
"""Radius of the corners of ops, and of other boxes and frames, px; the ends of a variable are half circles."""
HEADING = 12.0
"""Size of the heading of a group, px."""


def second_line(box: Box) -> tuple[str, str]:
    """Returns the two parts of the second line of a box: its type, and the number of hidden ops."""
    hidden = sum(box.hidden.values())
    return box.subtitle, f"{hidden:,} hidden" if hidden else ""


def size_of(box: Box) -> tuple[float, float]:
    """Returns width and height of a box in px, which depend on its texts."""
    sub, hidden = second_line(box)
    second = width(sub, SUBLABEL) + (width(hidden, SUBLABEL) + 10 if hidden else 0)
    sign = 12 if box.kind in ("call", "scope", "series", "variable") else 0
    lines = box.lines
    words = max(*(width(line, LABEL, bold=True) + sign for line in lines), second)
    return math.ceil(max(64.0, words + 2 * PAD)), HEIGHT + LINE_HEIGHT * (len(lines) - 1)
