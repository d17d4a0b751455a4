"""Imports a graph in a separate process with a time limit, and reports the result in this process.

The separate process also returns the shapes that TensorFlow has inferred. It needs 400 MB of memory, and several
seconds to import TensorFlow. So no call waits for it, except for files that were opened with `trust=False`. It ends
when the parent process ends. Graphs that are known to crash TensorFlow are recognized without it, in crash_guards.py.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate, pairwise
from typing import Any

from ...errors import OpenError, counted, exit_text
from ...graph.names import op_name, rename_input
from ...graph.types import TFGraphDef, TFNodeDef
from ..messages import graph_pb2
from ..protos import encode

#: The number of pieces of a graph. If a piece ends the process, it is divided into as many pieces, and tried again.
_MAX_CHUNKS = 64
#: The time limits in seconds for the import of TensorFlow, and for each op.
_START, _EACH = 120.0, 0.001
#: The suffix of the file with the inferred shapes of a graph.
_SHAPES = ".shapes"
#: The maximum size of a message that protobuf can read.
_MAX_SIZE = 2**31 - 1
#: The number of nodes that are written at once, so that other threads can run in between.
_CHUNK = 500
#: The program of the separate process.
_BEGIN = f"""
import sys
from {__name__} import main
main(*sys.argv[1:])
"""
#: The suggestion that allows the import of a refused graph.
TRUST = "gs.open(..., trust=True) imports it anyway"


class SandboxImport:
    """One graph, imported at most once in a separate process.

    Args:
        graph_def: a function that returns the graph; its nodes are in the order of the importer.
        request: the request, for messages.
        timeout: the time limit for the import of the graph in seconds; one second per thousand ops is added.

    Attributes:
        shapes: op name -> the inferred shapes of its outputs (sizes, or None), only for ops with a known shape.
        over: whether the trial is finished, or will never run.
    """

    def __init__(self, graph_def: Callable[[], Any], request: str, timeout: float) -> None:
        self.shapes: Mapping[str, Sequence[Sequence[int | None] | None]] = {}
        self._graph_def, self._request, self._timeout = graph_def, request, timeout
        self._verdict: OpenError | None = None
        self._lock, self.over, self._is_abandoned = threading.Lock(), False, False
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def verdict(self) -> OpenError | None:
        """Imports the graph; returns the error if TensorFlow crashes or hangs, otherwise, or after `stop`, None.

        A call during an import waits for the end of the import.
        """
        with self._lock:
            with self._guard:
                self._is_abandoned = self.over
            if not self.over:
                verdict = self._try_import(self._graph_def())
                if not self._is_abandoned:
                    self._verdict, self.over = verdict, True
            return self._verdict

    def stop(self, permanently: bool = True) -> None:
        """Ends the process if its result is not needed now, or `permanently`; can be called from any thread."""
        with self._guard:
            self.over, self._is_abandoned = self.over or permanently, True
            if self._process is not None:
                self._process.kill()

    def _try_import(self, graph_def: TFGraphDef) -> OpenError | None:
        timeout = self._timeout + _EACH * len(graph_def.node)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph")
            if not _write_graph(graph_def, path):
                problem = "it has more than 2 GB, too much to send to a separate process"
                return OpenError(self._request, problem, "If you trust the file, leave out trust=False")
            first, last, how = 0, len(graph_def.node), ""
            while True:
                code, marks = self._run(path, first, last, timeout)
                if code == 0:
                    break
                how = _words(code, timeout)
                start, end = marks[-1] if marks else (first, last)
                if start < first or end - start >= last - first:
                    break
                first, last = start, end
                if last - first == 1:
                    break
            if not how and os.path.exists(path + _SHAPES):
                with open(path + _SHAPES, encoding="utf-8") as file:
                    self.shapes = json.load(file)
        return _refusal(graph_def, self._request, how, first, last) if how else None

    def _run(self, path: str, first: int, last: int, timeout: float) -> tuple[int, list[tuple[int, int]]]:
        """Runs one process; returns its exit code, and the pieces that it started."""
        environment = {
            **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TF_CPP_MIN_LOG_LEVEL": "3",
            "CUDA_VISIBLE_DEVICES": "-1",
        }  # fmt: skip
        command = [sys.executable, "-c", _BEGIN, path, str(first), str(last), str(timeout)]
        with _lifetime_pipe() as stdin:
            with self._guard:
                if self._is_abandoned:
                    return 0, []
                self._process = subprocess.Popen(
                    command, env=environment, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
                )
            with self._process as process:
                try:
                    output, _ = process.communicate(timeout=timeout + _START)
                except subprocess.TimeoutExpired:
                    process.kill()
                    output, _ = process.communicate()
                    return -getattr(signal, "SIGALRM", 0), _marks(output)
                except BaseException:  # an interrupt, for example by Ctrl+C
                    process.kill()
                    raise
        return (0 if self._is_abandoned else process.returncode), _marks(output)


@contextmanager
def _lifetime_pipe() -> Iterator[int]:
    """Yields the read end of a pipe for another process; it is closed when this process closes it or ends."""
    ends = os.pipe()
    try:
        yield ends[0]
    finally:
        for end in ends:
            os.close(end)


def _write_graph(graph_def: TFGraphDef, path: str) -> bool:
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


def _refusal(graph_def: TFGraphDef, request: str, outcome: str, first: int, last: int) -> OpenError:
    node, count = graph_def.node[first] if graph_def.node else None, last - first
    where = f" on op {node.name!r} ({node.op})" if node is not None and count == 1 else ""
    if node is not None and 1 < count < len(graph_def.node):
        where = f" on one of {counted(count, 'ops')}, from {node.name!r} ({node.op}) on"
    return OpenError(
        request, f"in a separate process, TensorFlow {outcome}{where}", f"You can still view the graph; {TRUST}"
    )


def _words(code: int, timeout: float) -> str:
    """Returns text about how a process ended."""
    if code == -getattr(signal, "SIGALRM", 0):
        return f"did not end within {timeout:.3g} s"
    return exit_text(code)


def _marks(output: bytes) -> list[tuple[int, int]]:
    rows = [line.split() for line in output.decode("ascii", "replace").splitlines() if line.startswith("piece ")]
    return [(int(row[1]), int(row[2])) for row in rows if len(row) == 3]


# -- in the separate process -------------------------------------------------------------------------


def pieces(nodes: Sequence[TFNodeDef], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yields the start and end of each piece of an import: one piece for the nodes before `first`, then more pieces.

    No piece reads a later piece; a loop is in a single piece.

    Example:
        >>> from graphsurgeon.graph.graph import PlainNode
        >>> rows = ("a", []), ("b", ["a", "c"]), ("c", ["b"]), ("d", ["c"])
        >>> nodes = [PlainNode(name, "NoOp", inputs) for name, inputs in rows]
        >>> list(pieces(nodes, 0, 4)), list(pieces(nodes, 3, 4))
        ([(0, 1), (1, 3), (3, 4)], [(0, 3), (3, 4)])
    """
    number = {node.name: i for i, node in enumerate(nodes)}
    furthest = accumulate((max([i, *(number.get(op_name(text), -1) for text in node.input)]) for i, node in
                           enumerate(nodes)), max)  # fmt: skip
    ends = [i + 1 for i, far in enumerate(furthest) if far <= i and first <= i + 1 <= last]
    starts = range(first, last, max(1, -(-(last - first) // _MAX_CHUNKS)))
    cuts = sorted({next((end for end in ends if end >= at), last) for at in starts if at} | {last})
    yield from ((a, b) for a, b in pairwise([0, *cuts]) if a < b)


def import_pieces(graph_def: TFGraphDef, first: int, last: int) -> dict[str, list[Any]]:
    """Imports a graph piece by piece, and prints each piece before it is imported.

    Nodes are renamed to numbers for the import. Otherwise TensorFlow would refuse an op with the name of a scope of an
    earlier piece, such as ``Reshape`` after ``Reshape/shape``.

    Args:
        graph_def: the graph; its nodes are in the order of the importer.
        first, last: the nodes to import in pieces; the nodes before them are one piece.

    Returns:
        op name -> the shapes of its outputs (sizes, or None), only for ops with a known shape.
    """
    from ..copy.imports import import_nodes
    from ..protos import empty_graph
    from ..values.variables import dims_of

    graph, nodes = empty_graph(), graph_def.node
    names = {node.name: f"n{i}" for i, node in enumerate(nodes)}
    for node in nodes:
        node.name, node.input[:] = names[node.name], [rename_input(text, names) for text in node.input]
    for start, end in pieces(nodes, first, last):
        print("piece", start, end, flush=True)
        part = graph_pb2.GraphDef(versions=graph_def.versions, node=nodes[start:end])
        if not start:
            part.library.CopyFrom(graph_def.library)
        part_names = {node.name for node in part.node}
        outside = {text for node in part.node for text in node.input if op_name(text) not in part_names}
        controls = {op_name(text): graph.get_operation_by_name(op_name(text)) for text in outside if text[0] == "^"}
        ends = [text if ":" in text else f"{text}:0" for text in outside if text[0] != "^"]
        tensors = {(op_name(text), int(text.rpartition(":")[2])): graph.get_tensor_by_name(text) for text in ends}
        import_nodes(graph, part, tensors, controls)
    new_ops = ((name, graph.get_operation_by_name(number)) for name, number in names.items())
    shapes = {name: [dims_of(tensor.shape) for tensor in op.outputs] for name, op in new_ops}
    return {name: dims for name, dims in shapes.items() if any(sizes is not None for sizes in dims)}


def main(path: str, first: str, last: str, timeout: str) -> None:
    """Imports the graph in a file; the exit code is the result. The process ends when its parent ends."""
    from ..copy.imports import import_nodes
    from ..protos import empty_graph

    threading.Thread(target=_end_with_the_other, daemon=True).start()
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, float(timeout))  # also interrupts TensorFlow
    with open(path, "rb") as file:
        data = file.read()
    graph_def = graph_pb2.GraphDef.FromString(data)
    try:
        shapes = import_pieces(graph_def, int(first), int(last))
        with open(path + _SHAPES, "w", encoding="utf-8") as out:
            json.dump(shapes, out)
    except Exception:  # TensorFlow refuses a piece, so the whole graph is imported at once
        print("piece", 0, len(graph_def.node), flush=True)
        with suppress(Exception):
            import_nodes(empty_graph(), graph_pb2.GraphDef.FromString(data))
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0.0)  # the end of the process has no time limit


def _end_with_the_other() -> None:
    os.read(0, 1)  # returns when the other end of the pipe is closed
    os.kill(os.getpid(), signal.SIGTERM)
