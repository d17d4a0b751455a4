"""Peak memory of one piece of work in a fresh process (Linux only): python -m benchmarks.peak MODULE FUNCTION ARGS."""

from __future__ import annotations

import gc
import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.rows import MEGABYTE

_STATUS, _RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peak(module: str, function: str, *args: Any) -> float:
    """Returns the most memory that a piece of work held above what its process held before, in MB.

    Args:
        module: the module that defines the work, for example ``benchmarks.bench_copy``.
        function: its maker there: called with `args` before anything is measured, it returns the work as a callable.
        args: plain values, as JSON has them.
    """
    command = [sys.executable, "-m", "benchmarks.peak", module, function, json.dumps(args)]
    run = subprocess.run(command, cwd=Path(__file__).parent.parent, check=True, stdout=subprocess.PIPE, text=True)
    return float(run.stdout)


def can_measure() -> bool:
    """Returns whether a process can read its own peak on this system."""
    return _STATUS.exists() and _RESET.exists()


def _held(key: str) -> int:
    """Bytes by a key of the process's status: VmRSS is now, VmHWM the peak."""
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(key + ":"))
    return int(line.split()[1]) * 1024


def _measure(module: str, function: str, args: str) -> float:
    work = getattr(importlib.import_module(module), function)(*json.loads(args))
    gc.collect()
    _RESET.write_text("5")
    before = _held("VmRSS")
    work()
    return (_held("VmHWM") - before) / MEGABYTE


if __name__ == "__main__":
    print(_measure(*sys.argv[1:]))
