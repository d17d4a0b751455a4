"""Imports a graph in a separate process first, because TensorFlow may crash or hang when it imports a damaged graph.

The process needs 300 MB of memory, and a second to start, so it is kept for later graphs. On Linux, each graph is
imported in a child of it, which has limits of time and memory.
"""

from __future__ import annotations

import atexit
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from ...errors import OpenError
from ...graph.types import TFGraphDef, TFNodeDef
from ..import_tensorflow import when_imported
from ..messages import graph_pb2
from ..protos import encode
from ..save.worker import PROGRAM, Worker

#: The time limits in seconds: for the start of the process, for the search of an op, and for each op.
_START, _SEARCH, _EACH = 120.0, 5.0, 0.001
#: How much memory an import may need, in bytes, and in multiples of the size of the graph.
_MEMORY, _TIMES = 2 << 30, 8
#: The maximum number of letters of a number as text. The import of a longer one succeeds, but no run does.
_MAX_DIGITS = 10_000
#: The maximum size of a message that protobuf can read.
_MAX_SIZE = 2**31 - 1
#: The number of nodes that are written at once, so that other threads can run in between.
_CHUNK = 500
#: The suggestion that allows the import of a refused graph.
_TRUST = "You can still view the graph; gs.open(..., trust=True) imports it anyway"

#: Op name -> the inferred shapes of its outputs (sizes, or None), only for ops with a known shape.
Shapes = Mapping[str, Sequence[Sequence[int | None] | None]]

TRIALS = Worker((*PROGRAM[:2], str(Path(__file__).with_name("trial_main.py"))))
atexit.register(TRIALS.stop)


def prepare() -> None:
    """Starts the process as soon as this process has imported TensorFlow, or begins to import it."""
    when_imported(TRIALS.start)


def try_import(graph_def: TFGraphDef, request: str, timeout: float, shapes: bool) -> tuple[OpenError | None, Shapes]:
    """Imports a graph in the separate process.

    Args:
        graph_def: the graph; its nodes are in the order of the importer.
        request: the request, for messages.
        timeout: the time limit of the import in seconds; one second per thousand ops is added.
        shapes: whether to return inferred shapes.

    Returns:
        the error if TensorFlow crashes or hangs, otherwise None; and the inferred shapes, which are empty if
        TensorFlow refuses the graph.
    """
    with tempfile.TemporaryDirectory() as folder:
        return _Trial(Path(folder), request, timeout).run(graph_def, shapes)


class _Trial:
    """The trial of one graph, in a folder for files."""

    def __init__(self, folder: Path, request: str, timeout: float) -> None:
        self._folder, self._request, self._timeout = folder, request, timeout

    def run(self, graph_def: TFGraphDef, shapes: bool) -> tuple[OpenError | None, Shapes]:
        """Imports the graph; if TensorFlow crashes or hangs, finds the op."""
        endless = next((node for node in _all_nodes(graph_def) if _is_endless(node)), None)
        if endless is not None:
            problem = f"op {endless.name!r} (AsString) would write each number with more than {_MAX_DIGITS:,} letters"
            return self._refusal(problem), {}
        try:
            if not _write_graph(graph_def, self._folder / "graph"):
                return self._refusal("it has more than 2 GB, too much to send to a separate process"), {}
        except DecodeError:
            return self._refusal("a constant in it is nested too deeply"), {}
        count = len(graph_def.node)
        answer = self._send(count, self._timeout, shapes)
        how = answer.get("how")
        if how is None:
            return None, answer["shapes"]
        if not answer["started"]:
            return self._refusal(f"the separate process that would try the file {how}"), {}
        last = self._last_op(count)
        where = "" if last is None else f" on op {graph_def.node[last].name!r} ({graph_def.node[last].op})"
        return self._refusal(f"in a separate process, TensorFlow {how}{where}"), {}

    def _refusal(self, problem: str) -> OpenError:
        return OpenError(self._request, problem, _TRUST)

    def _send(self, count: int, seconds: float, shapes: bool = False) -> dict[str, Any]:
        """Imports the first ops; the answer has a text about a crash or timeout, if there was one: ``how``."""
        seconds += _EACH * count
        path = self._folder / "graph"
        limits = {"seconds": seconds, "memory": _MEMORY + _TIMES * path.stat().st_size}
        request = {"graph": str(path), "count": count, "shapes": shapes, **limits}
        answer = TRIALS.send(self._folder, request, seconds + _START)
        if answer.get("memory"):
            answer["how"] = "ran out of memory"
        if answer.get("code") == -getattr(signal, "SIGALRM", 0):
            answer["how"] = f"did not end within {seconds:.3g} s"
        return answer

    def _last_op(self, count: int) -> int | None:
        """Returns the number of the op without which the ops before it are accepted; None if it is not found in time.

        TensorFlow may refuse the ops before an op, for example half a loop.
        """
        if "how" in self._send(0, _SEARCH):  # it is not an op, but a function
            return None
        end, accepted, refused, failed = time.monotonic() + self._timeout, 0, 0, count
        while failed - max(accepted, refused) > 1 and time.monotonic() < end:
            middle = (max(accepted, refused) + failed) // 2
            answer = self._send(middle, min(self._timeout, _SEARCH))
            if "how" in answer:
                failed = middle
            elif answer["accepted"]:
                accepted = middle
            else:
                refused = middle
        return failed - 1 if failed - accepted == 1 else None


def _all_nodes(graph_def: TFGraphDef) -> Iterator[TFNodeDef]:
    yield from graph_def.node
    for function in graph_def.library.function:
        yield from function.node_def


def _is_endless(node: TFNodeDef) -> bool:
    """Whether an op would need too much memory when it runs: without memory for a text, TensorFlow ends the process."""
    sizes = (node.attr[key].i for key in ("width", "precision") if key in node.attr)
    return node.op == "AsString" and any(size > _MAX_DIGITS for size in sizes)


def _write_graph(graph_def: TFGraphDef, path: Path) -> bool:
    """Writes a graph into a GraphDef file; returns whether it is small enough to be read."""
    remainder = graph_pb2.GraphDef(versions=graph_def.versions, library=graph_def.library)
    with open(path, "wb") as out:
        size = out.write(encode(remainder))
        for start in range(0, len(graph_def.node), _CHUNK):
            if size > _MAX_SIZE:
                break
            part = graph_pb2.GraphDef(node=graph_def.node[start : start + _CHUNK])
            size += out.write(encode(part))  # several encoded GraphDefs in a row are one GraphDef
    return size <= _MAX_SIZE
