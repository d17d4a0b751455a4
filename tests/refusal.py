"""Reading an error: its kind, its three parts, and words that must be in it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from graphsurgeon.errors import SurgeryError


@contextmanager
def refuses(kind: type[SurgeryError], *words: str) -> Iterator[Any]:
    """Expects exactly this kind of error, with all of `words` in its text.

    Example:
        >>> with refuses(SurgeryError, "empty"):
        ...     raise SurgeryError("open('a')", "the file is empty", "Give a graph")
    """
    with pytest.raises(kind) as caught:
        yield caught
    assert type(caught.value) is kind
    reads(caught.value, *words)


def reads(fault: Any, *words: str) -> None:
    """Asserts that a fault or error has its three parts, and that all of `words` are in its text."""
    assert fault.request
    assert fault.problem
    assert fault.suggestion
    text = str(fault)
    assert text.startswith(f"{fault.request}: {fault.problem}".rstrip(".")), text
    for word in words:
        assert word in text, f"{word!r} is not in: {text}"
