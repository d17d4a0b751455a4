"""The colors of a picture: families, devices, scopes, dtypes, equal structure, or given numbers."""

from __future__ import annotations

import csv
import hashlib
import math
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import LayoutError, counted
from ..graph.graph import DTYPES, Graph
from ..graph.traversal import connected_parts
from ..graph.types import TFNodeDef
from . import page_types
from .boxes import elide
from .op_colors import COLORS
from .scene import Scene
from .tree import Tree, find_item

_DTYPE_ATTRIBUTES = ("dtype", "DstT", "out_type", "output_type", "type", "Tout", "T", "Tparams")
_SHOWN_ATTRIBUTES = (
    "T",
    "dtype",
    "DstT",
    "strides",
    "padding",
    "ksize",
    "dilations",
    "axis",
    "transpose_a",
    "transpose_b",
    "N",
)


def dtypes_of(graph: Graph) -> list[str]:
    """Returns the dtype of the first output of each op; "" without an output, or if the dtype is not known.

    For a live graph it is the dtype in TensorFlow: the output of a comparison of floats is a bool, although its
    attribute T is a float. Ops of the same type and with the same dtype attribute are only looked up once.

    Example:
        >>> dtypes_of(Graph.from_ops([("a", "NoOp", [])]))
        ['']
    """
    dtypes: dict[tuple[str, str], str] = {}
    out = []
    for op, kind in enumerate(graph.types):
        stated = _dtype_attribute(graph.nodes[op])
        name = dtypes.get((kind, stated)) if stated else None
        if name is None:
            outputs = graph.declared_outputs(op)
            name = stated if outputs is None else outputs[0].dtype.removesuffix("_ref") if outputs else ""
            dtypes[kind, stated] = name
        out.append(name)
    return out


def _dtype_attribute(node: TFNodeDef) -> str:
    """Returns the dtype attribute of a node that is most likely the dtype of its output."""
    attr = getattr(node, "attr", None) or {}
    for key in _DTYPE_ATTRIBUTES:
        if key in attr and attr[key].type:
            return DTYPES.get(attr[key].type % 100, "")
    return ""


def repeated_scopes(tree: Tree, scopes: Iterable[str]) -> list[list[str]]:
    """Returns groups of scopes with the same structure, the largest group first, without single scopes.

    Two scopes have the same structure if their ops, in graph order or in the order of their names, have the same types,
    relevant attributes and edges.

    Args:
        tree: the graph.
        scopes: names with a slash at the end; others are ignored.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> ops = [op for s in "xy" for op in [(f"{s}/a", "Foo", []), (f"{s}/b", "Neg", [f"{s}/a"])]]
        >>> repeated_scopes(Tree(Graph.from_ops([*ops, ("z/a", "Foo", []), ("z/b", "Foo", [])])), ["x/", "y/", "z/"])
        [['x/', 'y/']]
    """
    graph, index = tree.graph, tree.graph.scopes.index
    rough: dict[tuple[int, int], list[str]] = defaultdict(list)
    for name in scopes:
        at = index.get(name.rstrip("/"))
        if name.endswith("/") and at:
            rough[int(tree.signature[at]), int(graph.scopes.counts[at])].append(name)
    out: list[list[str]] = []
    for names in rough.values():
        if len(names) > 1:
            out.extend(_equal_groups(tree, names))
    return sorted(out, key=lambda group: -len(group))


def _equal_groups(tree: Tree, names: Sequence[str]) -> list[list[str]]:
    """Groups scopes that are equal in one of the two orders."""
    first: list[int] = []
    for by_name in (False, True):
        first_of: dict[bytes, int] = {}
        first += [first_of.setdefault(_structure_digest(tree, name, by_name), i) for i, name in enumerate(names)]
    parts = connected_parts(np.array(first), np.tile(np.arange(len(names)), 2), len(names))
    groups: dict[int, list[str]] = defaultdict(list)
    for part, name in zip(parts.tolist(), names, strict=True):
        groups[part].append(name)
    return [group for group in groups.values() if len(group) > 1]


def _structure_digest(tree: Tree, name: str, by_name: bool) -> bytes:
    """Returns a 256-bit digest of the structure of a scope, for one order of its ops."""
    graph = tree.graph
    ops = np.sort(tree.ops_below(graph.scopes.index[name.rstrip("/")]))
    if by_name:
        ops = np.array(sorted(ops.tolist(), key=lambda op: graph.names[op][len(name) :]), np.int32)
    place: dict[int, int] = {op: i for i, op in enumerate(ops.tolist())}
    digest = hashlib.blake2b(digest_size=32)
    for op in ops.tolist():
        sources = [(place.get(maker, -1), port) for maker, port in graph.data.ends(op)]
        waits = sorted(place.get(maker, -1) for maker in graph.control.row(op).tolist())
        attr = getattr(graph.nodes[op], "attr", None) or {}
        attributes = [(key, str(attr[key])) for key in _SHOWN_ATTRIBUTES if key in attr]
        digest.update(repr((graph.types[op], sources, waits, attributes)).encode("utf-8", "surrogatepass"))
    return digest.digest()


MEASURES = ("device", "dtype", "family", "scope", "structure", "values", "words")
"""The measures for the colors of boxes."""
REDUCTIONS = ("auto", "max", "mean", "sum")
"""How the numbers of ops in a fold are combined. ``auto`` is the sum, or ``max`` if sums of many small numbers would
hide the op with the largest number."""
SCALES = ("auto", "linear", "log")
"""How numbers are mapped to colors. ``auto`` is logarithmic if they differ by a factor of 1000 or more."""
HUES = (
    "#4E79A7", "#F28E2B", "#59A14F", "#B07AA1", "#C9A227", "#3AA6A0", "#E15759", "#9C755F", "#D37295", "#6B9E3F",
)  # fmt: skip
"""Colors of categories; others are gray."""
WORD_COLORS = ("#E15759", "#B07AA1", "#F28E2B", "#4E79A7", "#59A14F", "#C9A227")
"""Colors of words, in the order of their first use."""
GREY = "#8A93A0"
STEPS = ("#3B4CC0", "#4F8BC9", "#43A58C", "#C9A227", "#C8452F")
"""Colors of numbers, from the smallest to the largest; numbers between have colors between."""
ZERO, ODD = "#C9CDD3", "#B5179E"
"""Colors of zero, and of values that are not finite."""
_MAX_WIDTH = 1000.0


@dataclass(frozen=True, eq=False)
class Paint:
    """The measure for the colors.

    Args:
        by: one of `WAYS`.
        values: op name -> number for ``values``, or a word for ``words``. Names that are not in a graph are ignored.
        name: the name of the numbers, with their unit.
        reduce: one of `REDUCTIONS`.
        scale: one of `SCALES`.
    """

    by: str = "family"
    values: Mapping[str, Any] = field(default_factory=dict)
    name: str = "value"
    reduce: str = "auto"
    scale: str = "auto"

    def __post_init__(self) -> None:
        for word, choices in (("by", MEASURES), ("reduce", REDUCTIONS), ("scale", SCALES)):
            value = getattr(self, word)
            if value not in choices:
                problem = f"{value!r} is not a value of {word}"
                raise LayoutError(f"paint({word}={value!r})", problem, f"Choose one of {', '.join(choices)}")


def read_numbers(path: str | os.PathLike[str]) -> tuple[dict[str, float], str]:
    """Returns the numbers in a CSV file, by the name of an op or layer, and the name of the numbers.

    Args:
        path: the file. Each row has a name and a number. A first row without a number is the heading.

    Raises:
        LayoutError: the file cannot be read, or a row does not have a name and a number. The message has the row.
    """
    request, how = f"paint({os.fspath(path)!r})", "Write one row for each op: its name, a comma, and its number"
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            rows = [(number, row) for number, row in enumerate(csv.reader(file), 1) if row]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        problem = getattr(error, "strerror", None) or str(error)
        raise LayoutError(request, problem, "Give the path of a CSV file") from error
    name, numbers = "value", dict[str, float]()
    for number, row in rows:
        try:
            op, text = row
            numbers[op.strip()] = float(text)
        except ValueError:
            if (number, len(row)) != (rows[0][0], 2):
                raise LayoutError(request, f"row {number} is not a name and a number: {row!r}", how) from None
            name = row[1].strip()
    if not numbers:
        raise LayoutError(request, "the file has no numbers", how)
    return numbers, name


Items = list[page_types.LegendItem]


def paint_scene(scene: Scene, tree: Tree, layout: page_types.Scene, paint: Paint) -> page_types.Scene:
    """Returns a placed scene with ``paint`` on its boxes and a legend.

    The paint of a box is ``{"key", "color", "bars", "text"}``: its entry of the legend, its color, the shares of its
    ops by color, and a text.

    Args:
        scene: the scene that was laid out.
        tree: its graph, with its hidden helpers.
        layout: the result of `PlacedScene.to_dict`.
        paint: the measure for the colors.

    Example:
        >>> from .scene import build
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"])])
        >>> boxes = [{"name": "x", "family": "state"}, {"name": "y", "family": "math"}]
        >>> shown = paint_scene(build(Tree(g)), Tree(g), {"boxes": boxes}, Paint("values", {"y": 2.5}, "ms"))
        >>> [(b["paint"]["text"]) for b in shown["boxes"]], shown["legend"]["title"]
        (['', '2.5 ms'], 'ms')
    """
    if paint.by == "family":
        return {**layout, "legend": _families(layout["boxes"])}
    if paint.by == "values":
        colors, items, title = _numbers(scene, tree.graph, paint)
    elif paint.by == "words":
        colors, items = _word_colors(scene, tree.graph, paint)
        title = paint.name
    elif paint.by == "structure":
        colors, items = _structure(scene, tree)
        title = "same structure" if items else ""
    else:
        colors, items = _kinds(scene, tree.graph, paint.by)
        title = paint.by
    boxes: list[page_types.Box] = [{**box, "paint": one} for box, one in zip(layout["boxes"], colors, strict=True)]
    counts = Counter(one["key"] for one in colors)
    for item in items:
        item["boxes"] = counts[item["key"]]
    return {**layout, "boxes": boxes, "legend": {"by": paint.by, "title": title, "items": items, "faded": []}}


def _families(boxes: Sequence[page_types.Box]) -> page_types.Legend:
    there = Counter(box["family"] for box in boxes)
    items: Items = [
        {"key": kin, "text": ink.description, "color": ink.line, "boxes": there[kin]}
        for kin, ink in COLORS.items()
        if there[kin]
    ]
    return {"by": "family", "title": "", "items": items, "faded": []}


def _item(key: str, text: str, color: str) -> page_types.LegendItem:
    """Returns an item of the legend; `paint_scene` counts its boxes."""
    return {"key": key, "text": text, "color": color, "boxes": 0}


def _kinds(scene: Scene, graph: Graph, by: str) -> tuple[list[page_types.Paint], Items]:
    words = _words(graph, by)
    inside: list[Counter[str]] = [Counter() for _ in scene.boxes]
    for op, box in enumerate(scene.op_box.tolist()):
        if box >= 0:
            inside[box][words[op]] += 1
    total: Counter[str] = sum(inside, Counter())
    order = [word for word, _ in total.most_common()]
    color = {word: HUES[i] if i < len(HUES) else GREY for i, word in enumerate(order)}
    key = {word: f"c{min(i, len(HUES))}" for i, word in enumerate(order)}
    colors = list[page_types.Paint]()
    for counts in inside:
        whole = sum(counts.values()) or 1
        most = counts.most_common(1)[0][0] if counts else order[0] if order else ""
        bars = [(color[w], round(n / whole, 4)) for w, n in counts.most_common(6)] if len(counts) > 1 else []
        text = ", ".join(f"{w} {n / whole:.0%}" for w, n in counts.most_common(3)) if len(counts) > 1 else most
        colors.append({"key": key.get(most, "c10"), "color": color.get(most, GREY), "bars": bars, "text": text})
    items = [_item(key[w], elide(w, 40), color[w]) for w in order[: len(HUES)]]
    if len(order) > len(HUES):
        items.append(_item("c10", counted(len(order) - len(HUES), "others"), GREY))
    return colors, items


def _words(graph: Graph, by: str) -> list[str]:
    if by == "device":
        return [getattr(node, "device", "") or "no device" for node in graph.nodes]
    if by == "dtype":
        return [name or "no tensor" for name in dtypes_of(graph)]
    depth = 0
    while True:  # the first level at which names differ
        heads = {tuple(name.split("/")[: depth + 1]) for name in graph.names if name.count("/") > depth}
        if len(heads) != 1 or depth > 20:
            break
        depth += 1
    return ["/".join(n.split("/")[: depth + 1]) if n.count("/") > depth else "top level" for n in graph.names]


def _structure(scene: Scene, tree: Tree) -> tuple[list[page_types.Paint], Items]:
    groups = repeated_scopes(tree, [box.name for box in scene.boxes if box.kind == "scope"])
    of = {name: i for i, group in enumerate(groups) for name in group}
    for box in scene.boxes:
        item = find_item(tree, box.name) if box.kind == "series" else None
        inner = [one.name for one in item.flat() if one.kind == "scope"] if item is not None else []
        alike = repeated_scopes(tree, inner)
        if alike and len(alike[0]) == len(inner):
            of[box.name] = len(groups)
            groups.append(alike[0])
    colors, items = list[page_types.Paint](), Items()
    for i, group in enumerate(groups[: len(HUES)]):
        size = len(tree.ops_below(tree.graph.scopes.index[group[0].rstrip("/")]))
        items.append(_item(f"c{i}", f"{len(group)} × {counted(size, 'ops')}", HUES[i]))
    for box in scene.boxes:
        at = of.get(box.name, len(HUES))
        has_color = at < len(HUES)
        text = f"one of {len(groups[at])} of the same structure" if has_color else ""
        if has_color and box.kind == "series":
            text = f"{len(groups[at])} of the same structure"
        colors.append(
            {"key": f"c{at}" if has_color else "c10", "color": HUES[at] if has_color else "", "bars": [], "text": text}
        )
    return colors, items


@dataclass(frozen=True)
class _ColorScale:
    """A scale from the smallest to the largest number. Zero has no position on a logarithmic scale."""

    low: float
    high: float
    tiny: float  # the smallest absolute value; 0 if the scale is linear

    @classmethod
    def from_numbers(cls, numbers: Sequence[float], preferred: str) -> _ColorScale:
        """Returns the scale of some numbers."""
        sizes = [abs(n) for n in numbers if n]
        wide = bool(sizes) and max(sizes) >= _MAX_WIDTH * min(sizes)
        tiny = min(sizes) if sizes and (preferred == "log" or (preferred == "auto" and wide)) else 0.0
        known = [_log_position(n, tiny) for n in numbers if n or not tiny]
        return cls(min(known, default=0.0), max(known, default=0.0), tiny)

    @property
    def _span(self) -> float:
        return self.high - self.low

    def position(self, number: float) -> float:
        """Returns the position of a number on the scale, from 0 to 1; it is 1 if all numbers are equal."""
        return (_log_position(number, self.tiny) - self.low) / self._span if self._span else 1.0

    def step(self, number: float) -> int:
        """Returns the index of the color of a number in `STEPS`."""
        return min(len(STEPS) - 1, int(self.position(number) * len(STEPS)))

    def color(self, number: float) -> str:
        """Returns the color of a number: a mix of two of `STEPS`, which are the colors of the middles of the ranges."""
        place = min(max(self.position(number) * len(STEPS) - 0.5, 0.0), len(STEPS) - 1.0)
        low, high = (bytes.fromhex(STEPS[i][1:]) for i in (math.floor(place), math.ceil(place)))
        return "#" + bytes(round(a + (b - a) * (place % 1)) for a, b in zip(low, high, strict=True)).hex().upper()

    def labels(self) -> list[str]:
        """Returns for each color the text of its range of numbers."""
        places = [self.low + self._span * i / len(STEPS) for i in range(len(STEPS) + 1)]
        edges = [figure(_straight(place, self.tiny)) for place in places]
        return [f"{a} to {b}" if self._span else a for a, b in pairwise(edges)]


def _log_position(number: float, tiny: float) -> float:
    """Returns the position of a number: itself, or on a logarithmic scale, 1 plus its decades above `tiny`, signed."""
    return math.copysign(1 + math.log10(abs(number) / tiny), number) if tiny and number else number


def _straight(place: float, tiny: float) -> float:
    if not tiny:
        return place
    return math.copysign(tiny * 10 ** (abs(place) - 1), place) if abs(place) >= 1 else 0.0


def _numbers(scene: Scene, graph: Graph, paint: Paint) -> tuple[list[page_types.Paint], Items, str]:
    by_box: list[list[float]] = [[] for _ in scene.boxes]
    for at, value in _op_values(scene, graph, paint):
        by_box[at].append(float(value))
    reduce = paint.reduce if paint.reduce != "auto" else _reduction(by_box, paint.scale)
    totals = [_total(values, reduce) if values else None for values in by_box]
    finite = [t for t in totals if t is not None and math.isfinite(t)]
    scale = _ColorScale.from_numbers([t for t in finite if t], paint.scale)

    colors = list[page_types.Paint]()
    for total, values in zip(totals, by_box, strict=True):
        if total is None:
            colors.append({"key": "c10", "color": "", "bars": [], "text": ""})
            continue
        of = f" ({reduce} of {len(values)})" if len(values) > 1 and reduce != "sum" else ""
        text = f"{figure(total, 4)} {paint.name}{of}"
        if not math.isfinite(total):
            colors.append({"key": "odd", "color": ODD, "bars": [(ODD, 1.0)], "text": text})
        elif not total:
            colors.append({"key": "zero", "color": ZERO, "bars": [], "text": text})
        else:
            at, color = scale.step(total), scale.color(total)
            share = abs(total) / max(map(abs, finite)) if not scale.tiny else max(0.04, scale.position(total))
            colors.append({"key": f"c{at}", "color": color, "bars": [(color, round(share, 4))], "text": text})
    used_steps = {scale.step(t) for t in finite if t}
    items = [_item(f"c{i}", words, STEPS[i]) for i, words in enumerate(scale.labels()) if i in used_steps]
    if 0.0 in finite:
        items.insert(0, _item("zero", "0", ZERO))
    if len(finite) < sum(t is not None for t in totals):
        items.append(_item("odd", "not finite", ODD))
    if any(t is None for t in totals):
        items.append(_item("c10", "no value", GREY))
    folds = any(len(values) > 1 for values in by_box)
    folded = f"{reduce} in each fold" if folds and reduce != "sum" else ""
    words = [paint.name, folded, "log scale" if scale.tiny else ""]
    return colors, items, ", ".join(filter(None, words))


def _op_values(scene: Scene, graph: Graph, paint: Paint) -> Iterator[tuple[int, Any]]:
    """Yields the values that were given for ops, with the number of the box of the op."""
    for name, value in paint.values.items():
        op = graph.index.get(name)
        while op is None and "/" in name:  # ops inside a call count for the call
            name = name.rpartition("/")[0]
            op = graph.index.get(name) if name == graph.enclosing_call(f"{name}/") else None
        if op is not None:
            at = int(scene.op_box[op]) if scene.op_box[op] >= 0 else int(scene.helped_box[op])
            if at >= 0:
                yield at, value


def _word_colors(scene: Scene, graph: Graph, paint: Paint) -> tuple[list[page_types.Paint], Items]:
    """Returns colors by words. A fold has the color of the most frequent word of its ops."""
    inside: list[Counter[str]] = [Counter() for _ in scene.boxes]
    for at, word in _op_values(scene, graph, paint):
        inside[at][str(word)] += 1
    order = list(dict.fromkeys(str(word) for word in paint.values.values()))
    key = {word: f"c{i}" if i < len(WORD_COLORS) else "c10" for i, word in enumerate(order)}
    color = {word: WORD_COLORS[i] if i < len(WORD_COLORS) else GREY for i, word in enumerate(order)}
    colors = list[page_types.Paint]()
    for counts in inside:
        most = counts.most_common(1)[0][0] if counts else ""
        text = ", ".join(f"{word}: {counted(n, 'ops')}" if sum(counts.values()) > 1 else word
                         for word, n in counts.most_common(3))  # fmt: skip
        colors.append({"key": key.get(most, "none"), "color": color.get(most, ""), "bars": [], "text": text})
    items = [_item(key[word], elide(word, 40), color[word]) for word in order[: len(WORD_COLORS)]]
    return colors, [*items, _item("none", "all others", GREY)]


def _reduction(by_box: Sequence[Sequence[float]], preferred: str) -> str:
    """Returns "sum", or "max" if the box of the op with the largest number would get a color of the lower half."""
    sizes = [max(map(abs, filter(math.isfinite, values)), default=0.0) for values in by_box]
    sums = [abs(_total([v for v in values if math.isfinite(v)], "sum")) for values in by_box]
    if not any(sizes):
        return "sum"
    scale = _ColorScale.from_numbers([total for total in sums if total], preferred)
    hit = sums[sizes.index(max(sizes))]
    hidden = not hit or (hit < max(sums) and scale.step(hit) < len(STEPS) // 2)
    return "max" if hidden else "sum"


def _total(values: Sequence[float], reduce: str) -> float:
    """Combines numbers; ``max`` is the number furthest from zero. The result is not finite if one number is not."""
    odd = [value for value in values if not math.isfinite(value)]
    if odd:
        return odd[0]
    if reduce == "max":
        return max(values, key=abs)
    return math.fsum(values) / (len(values) if reduce == "mean" else 1)


def figure(value: float, digits: int = 3) -> str:
    """Returns a number rounded to some significant digits, as text.

    Example:
        >>> figure(1536.2), figure(0.0482), figure(2.56e-9)
        ('1,540', '0.0482', '2.56e-09')
    """
    return (
        f"{float(f'{value:.{digits}g}'):,.10g}" if math.isfinite(value) else {"nan": "NaN"}.get(str(value), str(value))
    )
