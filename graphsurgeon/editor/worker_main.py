"""The program of a worker process: it reads a graph and a request, and writes a trace."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import SurgeryError
from ..graph.arrays import unpack_arrays
from ..running.trace import ANSWER, FAULT, FEEDS, GRAPH, REQUEST, STOP, trace
from .open import open as open_graph


def main() -> None:
    """Runs the request in the folder that the command line names."""
    folder = Path(sys.argv[1])
    request = json.loads((folder / REQUEST).read_text(encoding="utf-8"))
    stopped = threading.Event()
    threading.Thread(target=_listen, args=[stopped], daemon=True).start()
    try:
        run(folder, request, stopped)
    except SurgeryError as error:
        fault = {
            "kind": type(error).__name__,
            "request": error.request,
            "problem": error.problem,
            "suggestion": error.suggestion,
        }
        (folder / FAULT).write_text(json.dumps(fault), encoding="utf-8")


def run(folder: Path, request: Any, stop_event: threading.Event) -> None:
    """Runs a graph, and writes the trace.

    Args:
        folder: the folder of the graph and its feeds.
        request: the request.
        stop_event: once it is set, the run ends, and the trace contains the ops that ran until then.
    """

    def watch(count: int, total: int) -> bool:
        print("seen", count, total, flush=True)
        return not stop_event.is_set()

    with np.load(folder / FEEDS, allow_pickle=False) as arrays:
        fed = unpack_arrays(dict(arrays), "feed")
    editor = open_graph(folder / GRAPH, title=request["title"], trust=True)
    trace(editor, fed, request["fetches"], watch=watch, isolated=False, **request["how"]).save(folder / ANSWER)


def _listen(stop_event: threading.Event) -> None:
    """Waits for the message to stop. Ends this process when the parent process ends."""
    while os.read(0, len(STOP)):  # not `sys.stdin`: a thread that reads it keeps Python from ending
        stop_event.set()
    os.kill(os.getpid(), signal.SIGTERM)
