"""Isolated: a graph is run in a separate process. If that process dies, this one reports how.

The process is given the graph as a file with its values, and what to run; it gives back the trace as data. Nothing that
it writes is executed here.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .errors import PlanError, SelectionError, SurgeryError
from .graph.arrays import packed
from .graph.noted import Watch
from .graph.trace import Trace
from .plan.subject import Subject
from .words import ended

GRAPH, REQUEST, FEEDS, ANSWER, FAULT = "graph.meta", "request.json", "feeds.npz", "trace.npz", "fault.json"
STOP = b"stop\n"
_BEGIN = "from graphsurgeon.isolated_child import main; main()"
_PROGRESS = re.compile(rb"seen (\d{1,12}) (\d{1,12})")
_REFUSED = {kind.__name__: kind for kind in (PlanError, SelectionError)}


def isolated_trace(
    editor: Subject,
    wanted: Sequence[str],
    fed: Mapping[str, Any],
    *,
    session: Any = None,
    watch: Watch | None = None,
    **how: Any,
) -> Trace:
    """Returns a trace of a run that another process makes.

    Args:
        editor: of the graph; it is written with its values.
        wanted: what is asked for, by name.
        fed: tensor -> array.
        session: whose values are taken; None for those of the editor.
        watch: called with how many tensors have been noted, and of how many; if it returns False, the run ends.
        how: the other arguments of `graphsurgeon.run.trace`, as JSON.

    Raises:
        PlanError: the process ended before the run did, or it refused what was asked.
    """
    with tempfile.TemporaryDirectory(prefix="graphsurgeon") as name:
        folder = Path(name)
        editor.save(folder / GRAPH, values=session, verify=False)
        np.savez(folder / FEEDS, **packed(fed, "feed"))  # type: ignore[arg-type]
        request = {"title": editor.title, "fetches": list(wanted), "how": how}
        (folder / REQUEST).write_text(json.dumps(request), encoding="utf-8")
        code = _run(folder, watch)
        if (folder / FAULT).exists():
            raise _refusal(json.loads((folder / FAULT).read_text(encoding="utf-8")))
        if code or not (folder / ANSWER).exists():
            problem = f"the separate process in which {editor.title} was run {ended(code)}"
            raise PlanError("trace()", problem, "This process goes on. Run a part of it: fetches=[...]")
        return replace(Trace.load(folder / ANSWER), feeds=dict(fed))


def _run(folder: Path, watch: Watch | None) -> int:
    """Runs the process to its end, and tells of its progress; returns how it ended."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-c", _BEGIN, str(folder)]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    process: subprocess.Popen[bytes] = subprocess.Popen(command, env=environment, **pipes)
    with process:
        try:
            assert process.stdout is not None
            assert process.stdin is not None
            for line in process.stdout:
                seen = _PROGRESS.fullmatch(line.strip())  # ops that print write there too
                if seen and watch is not None and not watch(int(seen[1]), int(seen[2])):
                    with suppress(OSError):  # it may be at its end
                        process.stdin.write(STOP)
                        process.stdin.flush()
            return process.wait()
        finally:  # however this ends, that process ends with it
            if process.poll() is None:
                process.kill()


def _refusal(fault: Mapping[str, str]) -> SurgeryError:
    kind = _REFUSED.get(fault["kind"], PlanError)
    return kind(fault["request"], fault["problem"], fault["suggestion"])
