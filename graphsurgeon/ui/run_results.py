"""Values as numbers, histograms or small images, and the results of a run on boxes, tensors and edges."""

from __future__ import annotations

import base64
import math
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LayoutError, counted
from ..graph.arrays import size_text
from ..graph.graph import Graph, shape_text
from ..graph.tensor_stats import FirstBad, TensorStats
from ..graph.trace import NUMBERS, FirstDifference, Trace
from ..plan.plan import Plan
from ..view import page_types

BINS = 16
"""The number of bars of a histogram."""
FEW = 12
"""The maximum number of values that are shown as text."""


def numbers(array: Any) -> page_types.Numbers:
    """Returns a description of an array in rows, and a histogram if it has many numbers.

    Args:
        array: an array of any dtype and shape.

    Returns:
        ``rows``: pairs of words; ``histogram``: None, or counts of equal bins between ``low`` and ``high``.

    Example:
        >>> numbers(np.array([1.0, 2.5], np.float32))["rows"][1]
        ['values', '1, 2.5']
    """
    array = np.asarray(array)
    shape = shape_text(array.shape)
    name = "string" if array.dtype.kind in "OSU" else str(array.dtype)
    flat = array.reshape(-1)
    # for texts, NumPy would count the size of pointers
    size = sum(len(text) for text in flat.tolist()) if array.dtype.kind == "O" else int(array.nbytes)
    rows = [["value", f"{name} {shape}, {size_text(size)}"]]
    first_values = ", ".join(_short(v) for v in flat[:FEW].tolist())
    rows.append(["values" if flat.size <= FEW else "first values", first_values + (" …" if flat.size > FEW else "")])
    flat_array = _numbers(flat)
    if flat_array is None or flat_array.size <= FEW:
        return {"rows": rows, "histogram": None}
    finite = flat_array[np.isfinite(flat_array)]
    odd = flat_array.size - finite.size
    if finite.size:
        rows.append(["range", f"{finite.min():.4g} to {finite.max():.4g}"])
        rows.append(["mean ± deviation", f"{finite.mean():.4g} ± {finite.std():.4g}"])
        rows.append(["zeros", f"{np.count_nonzero(finite == 0) / finite.size:.1%}"])
    if odd:
        rows.append(["not finite", f"{odd:,}"])
    return {"rows": rows, "histogram": _histogram(finite) if finite.size else None}


def output_data(tensor: str, array: Any) -> page_types.OutputValues:
    """Returns an output of a run for the page: its dtype and shape, its values, and a picture if it is an image.

    Args:
        tensor: the name of the output.
        array: its value.

    Returns:
        ``tensor`` and ``text``; ``values``: the index, the text and the length of the bar (0 to 1) of the largest
        elements of a vector, or of all elements of a short one, for the first example of a batch; ``picture``: a data
        URL, or empty.

    Example:
        >>> output_data("y:0", np.array([[0.1, 0.7, 0.2]], np.float32))["values"]
        [('0', '0.1', 0.14), ('1', '0.7', 1.0), ('2', '0.2', 0.29)]
    """
    array = np.asarray(array)
    rows = dict(numbers(array)["rows"][:2])
    text, values = rows.pop("value").rpartition(",")[0], list[tuple[str, str, float]]()
    example = array.reshape(-1, array.shape[-1])[0] if array.ndim > 1 and array.size else array
    flat = _numbers(example) if example.ndim == 1 and array.ndim <= 2 else None
    if flat is not None and flat.size > 1 and np.isfinite(flat).all():
        largest = np.argsort(-flat, kind="stable")[:_MAX_VALUES]
        order = np.arange(flat.size) if flat.size <= _MAX_VALUES else largest
        top = float(np.abs(flat).max()) or 1.0
        values = [(str(i), _short(float(flat[i])), round(max(0.0, float(flat[i]) / top), 2)) for i in order.tolist()]
        text += f"; the {counted(len(values), 'largest values')}" if flat.size > len(values) else ""
        text += f" of the first of {array.shape[0]} examples" if array.ndim == 2 and array.shape[0] > 1 else ""
    else:
        text += f": {next(iter(rows.values()))}" if array.size else ""
    return {"tensor": tensor, "text": text, "values": values, "picture": image(array) if array.ndim > 2 else ""}


def _histogram(finite: Any) -> page_types.Histogram:
    low, high = float(finite.min()), float(finite.max())
    counts = np.histogram(finite, BINS, (low, high if high > low else low + 1.0))[0]
    return {"counts": [int(n) for n in counts], "low": low, "high": high}


def _numbers(flat: Any) -> Any:
    if flat.dtype.kind in "iuf":
        return flat.astype(np.float64)
    try:
        return flat.astype(np.float64) if flat.dtype.kind == "V" or "float" in str(flat.dtype) else None
    except (TypeError, ValueError):
        return None


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:37]}…"


Pixels = NDArray[np.uint8]

SIDE = 192
"""The maximum width and height of a picture, in pixels. Larger tensors are sampled with a step."""
TILES = 16
"""The maximum number of channels that are drawn side by side."""
BARS = 128
"""The maximum number of elements of a vector that is drawn as bars."""
_HIGH = 40
_INK, _PAPER, _ODD = (np.array(c, np.uint8) for c in ((59, 102, 178), (255, 255, 255), (181, 23, 158)))


def image(array: Any) -> str:
    """Returns the picture of an array as the data URL of a PNG; empty if the array cannot be drawn.

    A matrix is drawn in gray, from its smallest element to its largest. Elements that are not finite have a separate
    color. The axes of a 3-D array are height, width and channels; of a 4-D array the first element of the batch is
    drawn. One, three or four channels are drawn as an image, other numbers of channels side by side. A vector is drawn
    as bars from zero.

    Args:
        array: an array of numbers or booleans.

    Example:
        >>> image(np.eye(8))[:22], image(np.float32(1)), image(np.array([b"text"]))
        ('data:image/png;base64,', '', '')
    """
    values = np.asarray(array)
    if values.dtype.kind not in "biufV" or not values.size:
        return ""
    values = np.asarray(values, np.float32)
    while values.ndim > 1 and values.shape[0] == 1:
        values = values[0]
    if values.ndim == 4:
        values = values[0]
    if values.ndim == 1 and 1 < len(values) <= BARS:
        return _png(_bars(values))
    if values.ndim == 2 and min(values.shape) > 1:
        return _png(_grey(_thin(values)))
    if values.ndim == 3 and min(values.shape[:2]) > 1:
        return _png(_channels(_thin(values)))
    return ""


def _thin(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns a sample of the elements, with at most `SIDE` along each of the first two axes."""
    step = [-(-size // SIDE) for size in values.shape[:2]]
    return values[:: step[0], :: step[1]]


def _unit(values: NDArray[np.float32]) -> NDArray[np.float64]:
    """Returns the values scaled to 0 to 1; values that are not finite become NaN."""
    finite = np.where(np.isfinite(values), values, np.nan).astype(np.float64)
    if np.isnan(finite).all():
        return finite
    low, high = float(np.nanmin(finite)), float(np.nanmax(finite))
    unit: NDArray[np.float64] = (finite - low) / ((high - low) or 1.0)
    return unit


def _grey(values: NDArray[np.float32]) -> Pixels:
    return _inked(np.repeat(_unit(values)[..., None], 3, axis=-1))


def _channels(values: NDArray[np.float32]) -> Pixels:
    many = values.shape[-1]
    if many in (3, 4):
        return _inked(_unit(values[..., :3]))
    if many == 1:
        return _grey(values[..., 0])
    wide = int(np.ceil(np.sqrt(min(many, TILES))))
    step = -(-max(values.shape[:2]) * wide // SIDE)
    tiles = [_grey(values[::step, ::step, k]) for k in range(min(many, TILES))]
    empty = np.full_like(tiles[0], 255)
    tiles += [empty] * (-len(tiles) % wide)
    gap = [(0, 1), (0, 1), (0, 0)]
    padded = [np.pad(tile, gap, constant_values=255) for tile in tiles]
    return np.concatenate([np.concatenate(padded[at : at + wide], 1) for at in range(0, len(padded), wide)])


def _bars(values: NDArray[np.float32]) -> Pixels:
    finite = values[np.isfinite(values)]
    low, high = (min(float(finite.min()), 0.0), max(float(finite.max()), 0.0)) if len(finite) else (0.0, 0.0)
    scale = (_HIGH - 1) / ((high - low) or 1.0)
    zero, rows = round(high * scale), np.arange(_HIGH)[:, None]
    ends = np.round((high - np.nan_to_num(values, nan=high, posinf=high, neginf=low)) * scale).astype(int)
    filled = (rows >= np.minimum(ends, zero)) & (rows <= np.maximum(ends, zero))
    pixels = np.where(filled[..., None], _INK, _PAPER)
    pixels[:, ~np.isfinite(values)] = _ODD
    return np.repeat(pixels, max(1, SIDE // len(values)), axis=1)


def _inked(unit: NDArray[np.float64]) -> Pixels:
    odd = np.isnan(unit).any(-1)
    pixels = np.nan_to_num(255 * unit).round().astype(np.uint8)
    pixels[odd] = _ODD
    return pixels


def _png(pixels: Pixels) -> str:
    """Returns an RGB picture as the data URL of a PNG."""
    high, wide, _ = pixels.shape
    lines = b"".join(b"\0" + row.tobytes() for row in pixels)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", wide, high, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + parts).decode("ascii")


MEASURES = (*NUMBERS, "difference")
"""The measures of a run for the colors of boxes."""
_MAX_LISTED = 8
"""The number of ops in the list of the most expensive ones."""
_MAX_VALUES = 5
"""The number of elements of an output that are shown as bars."""


@dataclass(frozen=True, eq=False)
class RunOverlay:
    """A run that is on the screen.

    Args:
        trace: the run.
        graph: the graph that ran, in the form that the pane shows.
        pane: source, or destination for a plan that was tried.
        code: the Python code of the same run.
        distances: op -> the difference of its outputs between the two graphs; None without a comparison.
        first: the first op whose outputs differ; None if no outputs differ.
        plan: the plan that was tried; None if the graph itself ran.
    """

    trace: Trace
    graph: Graph
    pane: page_types.PaneName = "source"
    code: str = ""
    distances: Mapping[str, float] | None = None
    first: FirstDifference | None = None
    plan: Plan | None = None

    def numbers(self, measure: str) -> dict[str, float]:
        """Returns op -> number, for coloring by one of `MEASURES`.

        Raises:
            LayoutError: the run has no comparison.
        """
        if measure != "difference":
            return self.trace.numbers(measure)
        if self.distances is None:
            problem = "this run has no comparison"
            raise LayoutError(
                f"paint({measure!r})", problem, "Try the plan first, with the button Try or ed.screen.run(of='plan')"
            )
        return dict(self.distances)

    def fits(self, graph: Graph) -> bool:
        """Returns whether a graph has the same ops and data edges as the graph that ran."""
        mine = self.graph
        return graph is mine or (
            graph.names == mine.names
            and np.array_equal(graph.data.rows, mine.data.rows)
            and np.array_equal(graph.data.node, mine.data.node)
        )

    @cached_property
    def report_data(self) -> page_types.RunReport:
        """The report for the page: one line, the outputs, the first value that is not finite, the costs, the code."""
        trace, first_bad = self.trace, self._first_bad
        shown_bad: page_types.BadOp | None = None if first_bad is None else {
            "op": first_bad.op,
            "text": f"{repr(first_bad.stats)[len(first_bad.tensor) :].strip()}, by {first_bad.type}",
            "inputs": [repr(note) for note in first_bad.inputs],
            "path": list(first_bad.path),
        }  # fmt: skip
        return {
            "line": self.line,
            "outputs": [output_data(*one) for one in list(trace.results.items())[:_MAX_LISTED]],
            "pane": self.pane,
            "stop_reason": trace.stop_reason,
            "bad": shown_bad,
            "first_difference": self.distance_data,
            "tops": {"ms": self._largest("ms"), "bytes": self._largest("bytes")},
            "code": self.code,
        }

    def _largest(self, measure: str) -> list[tuple[str, str]]:
        """Returns the ops with the largest costs."""
        top = sorted(self.trace.numbers(measure).items(), key=lambda one: -one[1])[:_MAX_LISTED]
        return [(op, self.cost_text(measure, number)) for op, number in top if number]

    @property
    def first_op(self) -> str:
        """The first op whose outputs differ, by its name in this run; empty if no outputs differ."""
        return "" if self.first is None else self.first.other_stats.tensor.partition(":")[0]

    @property
    def measure(self) -> str:
        """The most useful measure for colors."""
        if self.report_data["bad"]:
            return "not finite"
        return "ms" if self.distances is None else "difference"

    @property
    def distance_data(self) -> page_types.DifferentOp | None:
        """The report of the comparison for the page: the first op whose outputs differ; None without a comparison."""
        if self.distances is None:
            return None
        if self.first is None:
            return {"op": "", "text": "all compared values are equal", "before": ""}
        text = repr(self.first.other_stats)[len(self.first.other_stats.tensor) :].strip()
        return {"op": self.first_op, "text": text, "before": repr(self.first.stats)}

    @property
    def line(self) -> str:
        """The run in one line."""
        trace, bad = self.trace, self._first_bad
        many = f"{counted(len(trace), 'tensors')}, {1e3 * trace.seconds:,.1f} ms in ops"
        if trace.stop_reason:
            many += f"; stopped: {trace.stop_reason}"
        finite = "all values so far are finite" if trace.stop_reason else "all values are finite"
        words = [many, f"first not finite: {bad.stats.label}" if bad else finite]
        if self.distances is not None:
            words.append(f"first difference: {self.first_op}" if self.first is not None else "no values differ")
        return "; ".join(words)

    @staticmethod
    def cost_text(measure: str, number: float) -> str:
        """Returns the time or the memory of an op in words.

        Example:
            >>> RunOverlay.cost_text("ms", 1.234), RunOverlay.cost_text("bytes", 2048.0)
            ('1.23 ms', '2.05 kB')
        """
        return f"{number:,.3g} ms" if measure == "ms" else size_text(int(number))

    def rows(self, ops: Iterable[str]) -> list[list[str]]:
        """Returns rows with the total time and memory of some ops, and the number of ops with NaN or infinity."""
        names, trace = list(ops), self.trace
        costs = [trace.costs[name] for name in names if name in trace.costs]
        if not costs:
            has_notes = any(name in self._by_op for name in names)  # fed tensors and constants have values but no costs
            return (
                [] if has_notes else [["in the run", f"it did not run{trace.stop_reason and f': {trace.stop_reason}'}"]]
            )
        rows = [["took", self.cost_text("ms", 1e3 * sum(cost.seconds for cost in costs))]]
        size = sum(cost.bytes for cost in costs)
        rows += [["allocated", size_text(size)]] if size else []
        rows += [["ran", f"{costs[0].runs:,} times"]] if len(costs) == 1 and costs[0].runs > 1 else []
        if len(names) > 1:
            rows += [["ops that ran", f"{len(costs):,} of {len(names):,}"]]
            odd = sum(name in self._nonfinite_tensors for name in names)
            rows += [["not finite", f"{odd:,} of these"]] if odd else []
        return rows

    @cached_property
    def _first_bad(self) -> FirstBad | None:
        return self.trace.first_bad()

    @cached_property
    def _nonfinite_tensors(self) -> frozenset[str]:
        """The ops with an output that is not finite."""
        trace, notes = self.trace, self.trace.by_tensor
        bad = {tensor for tensor, tensor_notes in notes.items() if any(note.bad for note in tensor_notes)}
        bad |= {tensor for tensor, source in trace.passthrough.items() if source in bad}
        return frozenset(tensor.partition(":")[0] for tensor in bad)

    @cached_property
    def _by_op(self) -> Mapping[str, list[str]]:
        """Op -> its outputs that the trace has values of, in their order."""
        tensors_by_op: dict[str, list[str]] = {}
        for tensor in {**self.trace.by_tensor, **self.trace.passthrough}:
            if tensor in self.trace:
                tensors_by_op.setdefault(tensor.partition(":")[0], []).append(tensor)
        return {
            op: sorted(tensors, key=lambda one: int(one.partition(":")[2])) for op, tensors in tensors_by_op.items()
        }

    def tensors(self, op: str) -> list[page_types.TensorValues]:
        """Returns the values of each output of an op: rows, a histogram and a picture."""
        return [one for name in self._by_op.get(op, ()) for one in self.tensor(name)]

    def tensor(self, name: str, full_array: Any = None) -> list[page_types.TensorValues]:
        """Returns the values of one tensor in the same form; empty if the trace does not have it.

        Args:
            name: the name of the tensor.
            full_array: all elements of the tensor, if they were fetched.
        """
        return [self._tensor(self.trace[name], name, full_array)] if name in self.trace else []

    def _tensor(self, stats: TensorStats, name: str, full_array: Any) -> page_types.TensorValues:
        rows, rounds = [["held", f"{stats.dtype} {shape_text(stats.shape)}"]], self.trace.rounds(stats.tensor)
        if stats.rounds:
            rows.append(["round", f"{'.'.join(map(str, stats.rounds))} of {len(rounds):,} recorded"])
        if stats.numeric and stats.size:
            if stats.size == len(stats.sample) and stats.size <= FEW:
                rows.append(["values", ", ".join(f"{value:.6g}" for value in stats.sample.tolist())])
            if not math.isnan(stats.mean):
                rows.append(["range", f"{stats.min:.4g} to {stats.max:.4g}"])
                rows.append(["mean ± deviation", f"{stats.mean:.4g} ± {stats.std:.4g}"])
            rows += [["zeros", f"{stats.zeros / stats.size:.1%}"]] if stats.zeros else []
            rows += [["NaN", f"{stats.nans:,}"]] if stats.nans else []
            rows += [["infinite", f"{stats.infinite:,}"]] if stats.infinite else []
        counts, edges = stats.histogram
        some = stats.numeric and stats.size > 1 and len(counts)
        about: page_types.Histogram | None = None
        if some:
            about = {"counts": counts.tolist(), "low": float(edges[0]), "high": float(edges[-1])}
        array = self._array_of(stats) if full_array is None else full_array
        own = name.partition(":")[0] in self.graph.index and not stats.rounds  # otherwise it cannot be fetched
        return {
            "tensor": name,
            "rows": rows,
            "histogram": about,
            "picture": "" if array is None else image(array),
            "more": bool(array is None and own and stats.numeric and len(stats.shape) > 1),
        }

    def _array_of(self, stats: TensorStats) -> Any:
        """Returns all elements of a tensor; None if the trace does not have them."""
        if not stats.numeric:
            return None
        for arrays in (self.trace.results, self.trace.feeds):
            if stats.tensor in arrays:
                return np.asarray(arrays[stats.tensor])
        return stats.sample.reshape(stats.shape) if stats.size == len(stats.sample) else None

    def with_run_shapes(self, scene: page_types.Scene) -> page_types.Scene:
        """Returns a placed scene with the shapes of this run on its edges.

        Args:
            scene: the scene for the page.
        """
        return {**scene, "edges": [self._on_edge(edge) for edge in scene["edges"]]}

    def _on_edge(self, edge: page_types.Edge) -> page_types.Edge:
        text = self.shape_of(edge["tensor"])
        return {**edge, "label": text} if text and edge.get("label") and edge["count"] == 1 else edge

    def shape_of(self, tensor: str) -> str:
        """Returns the dtype and shape of a tensor in this run; empty without a value of it."""
        if tensor not in self.trace:
            return ""
        stats = self.trace[tensor]
        return f"{stats.dtype} {shape_text(stats.shape)}"
