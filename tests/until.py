"""The one way in which a test waits: for a condition, never for a time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def until(holds: Callable[[], Any], timeout: float = 60, step: float = 0.01) -> Any:
    """Asks `holds` again and again until its answer counts as true, and returns that.

    Args:
        holds: the condition.
        timeout: seconds after which waiting is pointless; no test is right or wrong by this number.
        step: seconds between two questions, in which other threads go on.

    Raises:
        AssertionError: it never held.

    Example:
        >>> until(lambda: "yes")
        'yes'
    """
    end = time.monotonic() + timeout
    while not (answer := holds()):
        assert time.monotonic() < end, f"not within {timeout:g} s: the last answer is {answer!r}"
        time.sleep(step)
    return answer
