"""Peak memory of one piece of work, each in a fresh process: python -m benchmarks.peak WHO WHAT SIZE (Linux only)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.rows import MEGABYTE

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak(who: str, what: str, size: int) -> float:
    """Returns the most memory that a copy held above what its process held before, in MB.

    Args:
        who: ``ours`` or ``theirs``.
        what: ``layered`` (ops and variables), ``heavy`` (constants of 25 MB), or, ours alone, values carried from one
            session to another, as ``resource values of 25 MB``.
        size: number of ops, of constants, or of variables.
    """
    command = [sys.executable, "-m", "benchmarks.peak", who, what, str(size)]
    run = subprocess.run(command, cwd=Path(__file__).parent.parent, check=True, stdout=subprocess.PIPE, text=True)
    return float(run.stdout)


def can_measure() -> bool:
    """Tells whether this system lets a process ask for its own peak."""
    return _STATUS.exists() and _RESET.exists()


def _held(key: str) -> int:
    """Bytes by a key of the process's status: VmRSS is now, VmHWM the peak."""
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(key + ":"))
    return int(line.split()[1]) * 1024


def _measure(who: str, what: str, size: int) -> float:
    import gc

    work = _carrying(what, size) if " values of " in what else _copying(who, what, size)
    gc.collect()
    _RESET.write_text("5")
    before = _held("VmRSS")
    work()
    return (_held("VmHWM") - before) / MEGABYTE


def _copying(who: str, what: str, size: int) -> Callable[[], Any]:
    from benchmarks.bench_copy import bare, copy, opened
    from benchmarks.graphs import heavy, layered

    make: dict[str, Any] = {"layered": layered, "heavy": partial(heavy, megabytes=25)}
    graph = make[what](size)
    return partial(copy, opened(graph)) if who == "ours" else partial(bare, graph.as_graph_def())


def _carrying(what: str, size: int) -> Callable[[], Any]:
    import graphsurgeon as gs
    from benchmarks.bench_values import filled
    from benchmarks.graphs import valued

    kind, _, _, megabytes, _ = what.split()
    old, new = (valued(size, int(megabytes), kind == "resource") for _ in range(2))
    editor = gs.open(new)
    editor.select()
    return partial(editor.session, filled(old))


if __name__ == "__main__":
    print(_measure(sys.argv[1], sys.argv[2], int(sys.argv[3])))
