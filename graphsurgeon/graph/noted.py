"""Noted: what one tensor held at one moment of a run, and what an op cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .sizes import size_text

#: About so many elements of a tensor are kept; of one that has no more, all.
SAMPLE = 1024

# What the numbers of a tensor are, in the order in which TensorFlow's DebugNumericSummary gives them.
_COUNT, _NAN, _LOW, _NEGATIVE, _ZEROS, _POSITIVE, _HIGH, _MIN, _MAX, _MEAN, _VARIANCE, _KIND, _RANK, _DIMS = range(
    1, 15
)


@dataclass(frozen=True, eq=False)
class Noted:
    """What one tensor held at one moment of a run.

    Args:
        tensor: its name.
        rounds: in which round of each loop around it, the outermost first; rounds are counted from 0.
        numbers: as TensorFlow's ``DebugNumericSummary`` gives them; of text, its shape alone.
        sample: some of its elements, at equal distances; all where it is small.
        dtype: its dtype; of half precision and complex numbers those of `numbers` are of float32 and absolute values.
    """

    tensor: str
    rounds: tuple[int, ...]
    numbers: NDArray[np.float64]
    sample: NDArray[np.float32]
    dtype: str = ""

    @property
    def numeric(self) -> bool:
        """Whether it holds numbers, and not text."""
        return self.dtype != "string"

    @property
    def shape(self) -> tuple[int, ...]:
        """Its shape in this run."""
        dims = self.numbers[_DIMS : _DIMS + int(self.numbers[_RANK])] if self.numeric else self.numbers
        return tuple(dims.astype(int).tolist())

    @property
    def size(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    def _number(self, at: int) -> float:
        return float(self.numbers[at]) if self.numeric else 0.0

    @property
    def nans(self) -> int:
        """How many elements are no numbers."""
        return int(self._number(_NAN))

    @property
    def infinite(self) -> int:
        """How many elements are infinite."""
        return int(self._number(_LOW) + self._number(_HIGH))

    @property
    def bad(self) -> bool:
        """Whether an element is not finite."""
        return self.nans + self.infinite > 0

    @property
    def zeros(self) -> int:
        """How many elements are zero."""
        return int(self._number(_ZEROS))

    @property
    def min(self) -> float:
        """The smallest of the finite elements; NaN where there is none."""
        return self._finite(_MIN)

    @property
    def max(self) -> float:
        """The largest of the finite elements; NaN where there is none."""
        return self._finite(_MAX)

    @property
    def mean(self) -> float:
        """The mean of the finite elements; NaN where there is none."""
        return self._finite(_MEAN)

    @property
    def std(self) -> float:
        """The standard deviation of the finite elements; NaN where there is none."""
        return math.sqrt(max(self._finite(_VARIANCE), 0.0)) if not math.isnan(self._finite(_VARIANCE)) else math.nan

    def _finite(self, at: int) -> float:
        some = self.numeric and sum(self.numbers[[_NEGATIVE, _ZEROS, _POSITIVE]]) > 0
        return float(self.numbers[at]) if some else math.nan

    @property
    def histogram(self) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """How many elements of the sample lie between which edges: 16 counts and 17 edges; both empty without any."""
        finite = self.sample[np.isfinite(self.sample)].astype(np.float64)
        if not len(finite):
            return np.zeros(0, np.int64), np.zeros(0, np.float64)
        counts, edges = np.histogram(finite, bins=16)
        return counts.astype(np.int64), edges

    @property
    def where(self) -> str:
        """Its name, and the round."""
        return f"{self.tensor}{_rounds(self.rounds)}"

    def __repr__(self) -> str:
        shape = ", ".join(map(str, self.shape))
        words = [f"{self.where}  {self.dtype} ({shape})"]
        if self.numeric and self.size:
            if not math.isnan(self.mean):
                words.append(f"min {self.min:.4g}, max {self.max:.4g}, mean {self.mean:.4g}, std {self.std:.4g}")
            words += [f"{100 * self.zeros / self.size:.0f} % zeros"] * bool(self.zeros)
            words += [f"{self.nans:,} NaN"] * bool(self.nans) + [f"{self.infinite:,} infinite"] * bool(self.infinite)
        return ", ".join(words)


def _rounds(rounds: Sequence[int]) -> str:
    return f" in round {'.'.join(map(str, rounds))}" if rounds else ""


def noted(tensor: str, array: NDArray[np.generic], dtype: str) -> Noted:
    """Returns what is noted of a tensor whose value is known without a run.

    Args:
        tensor: its name.
        array: its value; of half precision as float32, of text as objects.
        dtype: its dtype.

    Example:
        >>> noted("c:0", np.array([0.0, 2.0, np.inf]), "float32")
        c:0  float32 (3), min 0, max 2, mean 1, std 1, 33 % zeros, 1 infinite
    """
    dims = np.asarray(array.shape, np.float64)
    if dtype == "string":
        return Noted(tensor, (), dims, np.zeros(0, np.float32), dtype)
    values = np.abs(array) if np.iscomplexobj(array) else array
    flat = np.asarray(values, np.float64).ravel()
    finite = flat[np.isfinite(flat)]
    counts = [1, flat.size, np.isnan(flat).sum(), (flat == -np.inf).sum(), (finite < 0).sum(), (finite == 0).sum(),
              (finite > 0).sum(), (flat == np.inf).sum()]  # fmt: skip
    moments = [finite.min(), finite.max(), finite.mean(), finite.var()] if len(finite) else [math.nan] * 4
    numbers = np.concatenate([np.asarray([*counts, *moments, 0, len(dims)], np.float64), dims])
    sample = flat[:: step_of(flat.size)] if flat.size > SAMPLE else flat
    return Noted(tensor, (), numbers, sample.astype(np.float32), dtype)


def step_of(size: int) -> int:
    """Returns how far apart the elements of a sample are: an odd number, for most sizes are even."""
    return size // SAMPLE | 1


def sampled(size: int) -> int:
    """Returns how many elements the sample of a tensor has.

    Example:
        >>> sampled(10), sampled(1024), sampled(5000)
        (10, 1024, 1000)
    """
    return size if size <= SAMPLE else -(-size // step_of(size))


@dataclass(frozen=True)
class Cost:
    """What an op cost in a run, in all of its rounds.

    Args:
        op: its name.
        seconds: how long it took.
        bytes: the memory that was allocated for it.
        runs: how often it ran.
        device: where.
    """

    op: str
    seconds: float
    bytes: int
    runs: int
    device: str

    def __repr__(self) -> str:
        often = f", {self.runs:,} times" if self.runs > 1 else ""
        return f"{self.op}  {1e6 * self.seconds:,.0f} us, {size_text(self.bytes)}{often} on {self.device}"
