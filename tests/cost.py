"""What work costs, counted instead of timed: the same number on a fast machine and on a busy one.

Seconds belong to benchmarks/. A test asks how the number grows with the size of the graph.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def lines(work: Callable[[], Any]) -> int:
    """Returns how many lines of Python `work` runs in this thread, those of libraries included.

    What NumPy, SciPy or TensorFlow do inside one call counts as nothing: a loop over ops does, a pass over an array
    does not.
    """
    count = 0

    def trace(frame: Any, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


def growth(made: Callable[[int], Callable[[], Any]], small: int, large: int) -> float:
    """Returns how many times the lines at size `small` the work takes at size `large`: about large / small if linear.

    Args:
        made: makes the work of a size; what that costs is not counted.
        small: one size.
        large: another.
    """
    counts = [lines(made(size)) for size in (large, small)]
    print("lines at", large, "and", small, counts)
    return counts[0] / counts[1]
