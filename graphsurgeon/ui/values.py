"""The value of a constant or a tensor as numbers, a histogram or a small image."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..graph.arrays import size_text
from ..graph.graph import shape_text

BINS = 16
"""The number of bars of a histogram."""
FEW = 12
"""The maximum number of values that are shown as text."""


def numbers(array: Any) -> dict[str, Any]:
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


def _histogram(finite: Any) -> dict[str, Any]:
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
