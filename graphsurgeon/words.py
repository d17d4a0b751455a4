"""Words: how messages count things and list names. As `errors`, every layer may import it."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Sequence
from typing import Any


def counted(n: int, things: str) -> str:
    """Returns a count with its noun, which is given in the plural.

    Example:
        >>> counted(1, "ops"), counted(1, "edges of gradients"), counted(1, "matches"), counted(2000, "summaries")
        ('1 op', '1 edge of gradients', '1 match', '2,000 summaries')
    """
    head, of, whose = things.partition(" of ")
    if n == 1:
        es = head.endswith(("ches", "shes", "sses", "xes"))
        head = f"{head[:-3]}y" if head.endswith("ies") else head[: -2 if es else -1]
    return f"{n:,} {head}{of}{whose}"


def few(names: Iterable[str], most: int = 3) -> str:
    """Returns the first names, and how many more there are.

    Example:
        >>> few("abcdef"), few(map(repr, "ab")), few("abc", 1)
        ('a, b, c and 3 more', "'a', 'b'", 'a and 2 more')
    """
    listed = list(names)
    return ", ".join(listed[:most]) + (f" and {len(listed) - most:,} more" if len(listed) > most else "")


def one_or_all(names: Sequence[str]) -> Any:
    """Returns the only name, or all as a list: as a person would type them.

    Example:
        >>> one_or_all(("a",)), one_or_all(("a", "b"))
        ('a', ['a', 'b'])
    """
    return names[0] if len(names) == 1 else list(names)


def ended(code: int) -> str:
    """Returns how a process ended that did not end well, from its exit code: minus the number of a signal, or more.

    Example:
        >>> ended(-11), ended(3)
        ('died (SIGSEGV)', 'died (code 3)')
    """
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"code {code}"
    return f"died ({name})"
