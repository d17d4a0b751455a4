"""Numbers: the value of a constant or a variable, in numbers and a small histogram, for people to look at."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..graph.graph import shape_text
from ..graph.sizes import size_text

BINS = 16
"""Bars of a histogram."""
FEW = 12
"""So many numbers are shown as they are."""


def numbers(array: Any) -> dict[str, Any]:
    """Returns an array as rows for people, and as a histogram if it has many numbers.

    Args:
        array: of any dtype and shape.

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
    # of texts NumPy counts the pointers to them
    size = sum(len(text) for text in flat.tolist()) if array.dtype.kind == "O" else int(array.nbytes)
    rows = [["value", f"{name} {shape}, {size_text(size)}"]]
    shown = ", ".join(_short(v) for v in flat[:FEW].tolist())
    rows.append(["values" if flat.size <= FEW else "first values", shown + (" …" if flat.size > FEW else "")])
    found = _numbers(flat)
    if found is None or found.size <= FEW:
        return {"rows": rows, "histogram": None}
    finite = found[np.isfinite(found)]
    odd = found.size - finite.size
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
