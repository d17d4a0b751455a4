"""Trial: a graph is imported in a process of its own, within a limit of time, and this one hears how that ended.

It hears the shapes, too, that TensorFlow has inferred there. Such a process takes as long to start as TensorFlow takes
to load, some seconds, and 400 MB while it lives. So nothing waits for one, except a file opened with `trust=False`, and
it ends with this one. What is known to end TensorFlow is found without it, by `dangers`.
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

from tensorflow.core.framework import graph_pb2

from ...errors import OpenError
from ...graph.live import TFGraphDef, TFNodeDef
from ...graph.names import op_name, renamed_end
from ...words import counted, ended
from ..copy.imports import import_nodes
from ..fresh import fresh
from ..values.variables import dims_of
from ..wire import encoded

#: A graph goes in as so many pieces: the one that ends the process is looked at again, in as many.
_PIECES = 64
#: So many seconds TensorFlow may take to load, and so many more to import each op.
_START, _EACH = 120.0, 0.001
#: What is added to the path of a graph for the file with its shapes.
_SHAPES = ".shapes"
#: A message of more bytes cannot be read.
_MOST = 2**31 - 1
#: So many nodes are written at once: in between, other threads have their turn.
_AT_ONCE = 500
#: The program of the process.
_BEGIN = f"""
import sys
from {__name__} import main
main(*sys.argv[1:])
"""
#: How a message tells people to import a graph that is refused.
TRUST = "gs.open(..., trust=True) imports it here all the same"


class Trial:
    """One graph, imported in a process of its own at most once.

    Args:
        graph_def: gives the graph; its nodes are in the order of the importer.
        asked: the request, for messages.
        timeout: seconds that the import may take once TensorFlow is there, and one more for each thousand ops.

    Attributes:
        shapes: op name -> what TensorFlow has inferred of its outputs there, sizes or None each, where it knows any.
        over: whether it was done, or will never be.
    """

    def __init__(self, graph_def: Callable[[], Any], asked: str, timeout: float) -> None:
        self.shapes: Mapping[str, Sequence[Sequence[int | None] | None]] = {}
        self._graph_def, self._asked, self._timeout = graph_def, asked, timeout
        self._verdict: OpenError | None = None
        self._running, self.over, self._left = threading.Lock(), False, False
        self._guard = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def verdict(self) -> OpenError | None:
        """Imports the graph; returns what to say of one that dies or hangs, None of any other, or once it is stopped.

        Whoever asks while it is being imported waits.
        """
        with self._running:
            with self._guard:
                self._left = self.over
            if not self.over:
                verdict = self._tried(self._graph_def())
                if not self._left:
                    self._verdict, self.over = verdict, True
            return self._verdict

    def stop(self, for_good: bool = True) -> None:
        """Ends it, where nobody needs the answer any more, or not now; callable from any thread."""
        with self._guard:
            self.over, self._left = self.over or for_good, True
            if self._process is not None:
                self._process.kill()

    def _tried(self, graph_def: TFGraphDef) -> OpenError | None:
        timeout = self._timeout + _EACH * len(graph_def.node)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "graph")
            if not _written(graph_def, path):
                wrong = "it has more than 2 GB, which cannot be handed to another process"
                return OpenError(self._asked, wrong, "Leave out trust=False, where you know who has written it")
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
        return _refusal(graph_def, self._asked, how, first, last) if how else None

    def _run(self, path: str, first: int, last: int, timeout: float) -> tuple[int, list[tuple[int, int]]]:
        """Runs one process; returns how it ended, and which pieces it began with."""
        environment = {
            **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TF_CPP_MIN_LOG_LEVEL": "3",
            "CUDA_VISIBLE_DEVICES": "-1",
        }  # fmt: skip
        command = [sys.executable, "-c", _BEGIN, path, str(first), str(last), str(timeout)]
        with _held() as held:
            with self._guard:
                if self._left:
                    return 0, []
                self._process = subprocess.Popen(
                    command, env=environment, stdin=held, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
                )
            with self._process as process:
                try:
                    said, _ = process.communicate(timeout=timeout + _START)
                except subprocess.TimeoutExpired:
                    process.kill()
                    said, _ = process.communicate()
                    return -getattr(signal, "SIGALRM", 0), _marks(said)
                except BaseException:  # an interrupt, as by Ctrl+C
                    process.kill()
                    raise
        return (0 if self._left else process.returncode), _marks(said)


@contextmanager
def _held() -> Iterator[int]:
    """Gives what another process can read until this one lets go of it, as it does when it ends."""
    ends = os.pipe()
    try:
        yield ends[0]
    finally:
        for end in ends:
            os.close(end)


def _written(graph_def: TFGraphDef, path: str) -> bool:
    """Writes a graph into a file, as a GraphDef; returns whether it is small enough to be read."""
    whole = graph_pb2.GraphDef(versions=graph_def.versions, library=graph_def.library)
    with open(path, "wb") as out:
        size = out.write(encoded(whole))
        for start in range(0, len(graph_def.node), _AT_ONCE):
            if size > _MOST:
                break
            part = graph_pb2.GraphDef(node=graph_def.node[start : start + _AT_ONCE])
            size += out.write(encoded(part))  # one after the other, they are the whole
    return size <= _MOST


def _refusal(graph_def: TFGraphDef, asked: str, how: str, first: int, last: int) -> OpenError:
    node, count = graph_def.node[first] if graph_def.node else None, last - first
    where = f" on op {node.name!r} ({node.op})" if node is not None and count == 1 else ""
    if node is not None and 1 < count < len(graph_def.node):
        where = f" on one of {counted(count, 'ops')}, from {node.name!r} ({node.op}) on"
    return OpenError(asked, f"in a process of its own, TensorFlow {how}{where}", f"It can be looked at; {TRUST}")


def _words(code: int, timeout: float) -> str:
    """How a process has ended."""
    if code == -getattr(signal, "SIGALRM", 0):
        return f"did not end within {timeout:.3g} s"
    return ended(code)


def _marks(said: bytes) -> list[tuple[int, int]]:
    rows = [line.split() for line in said.decode("ascii", "replace").splitlines() if line.startswith("piece ")]
    return [(int(row[1]), int(row[2])) for row in rows if len(row) == 3]


# -- in the process of its own ----------------------------------------------------------------------


def pieces(nodes: Sequence[TFNodeDef], first: int, last: int) -> Iterator[tuple[int, int]]:
    """Yields where the pieces begin and end that nodes are imported in: what is before `first` is one, then many.

    No piece reads what comes later; a loop is in one piece.

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
    wanted = range(first, last, max(1, -(-(last - first) // _PIECES)))
    cuts = sorted({next((end for end in ends if end >= at), last) for at in wanted if at} | {last})
    yield from ((a, b) for a, b in pairwise([0, *cuts]) if a < b)


def imported(graph_def: TFGraphDef, first: int, last: int) -> dict[str, list[Any]]:
    """Imports a graph piece by piece, and says before each which it is.

    The nodes have numbers for names there, and keep them: TensorFlow refuses an op that is named as a scope of an
    earlier piece, as ``Reshape`` after ``Reshape/shape``.

    Args:
        graph_def: the graph; its nodes are in the order of the importer.
        first, last: the nodes to look at in pieces; what is before them is one.

    Returns:
        op name -> the shapes of its outputs, sizes or None each; of ops with any that is known.
    """
    graph, nodes = fresh(), graph_def.node
    names = {node.name: f"n{i}" for i, node in enumerate(nodes)}
    for node in nodes:
        node.name, node.input[:] = names[node.name], [renamed_end(text, names) for text in node.input]
    for start, end in pieces(nodes, first, last):
        print("piece", start, end, flush=True)
        part = graph_pb2.GraphDef(versions=graph_def.versions, node=nodes[start:end])
        if not start:
            part.library.CopyFrom(graph_def.library)
        own = {node.name for node in part.node}
        read = {text for node in part.node for text in node.input if op_name(text) not in own}
        controls = {op_name(text): graph.get_operation_by_name(op_name(text)) for text in read if text[0] == "^"}
        ends = [text if ":" in text else f"{text}:0" for text in read if text[0] != "^"]
        tensors = {(op_name(text), int(text.rpartition(":")[2])): graph.get_tensor_by_name(text) for text in ends}
        import_nodes(graph, part, tensors, controls)
    made = ((name, graph.get_operation_by_name(number)) for name, number in names.items())
    shapes = {name: [dims_of(tensor.shape) for tensor in op.outputs] for name, op in made}
    return {name: dims for name, dims in shapes.items() if any(known is not None for known in dims)}


def main(path: str, first: str, last: str, timeout: str) -> None:
    """Imports the graph in a file; how the process ends is the answer, and it ends with the one that wants it."""
    threading.Thread(target=_end_with_the_other, daemon=True).start()
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, float(timeout))  # whatever it is at, also in TensorFlow
    with open(path, "rb") as file:
        data = file.read()
    graph_def = graph_pb2.GraphDef.FromString(data)
    try:
        shapes = imported(graph_def, int(first), int(last))
        with open(path + _SHAPES, "w", encoding="utf-8") as out:
            json.dump(shapes, out)
    except Exception:  # TensorFlow refuses a piece in words: all of it at once, as it will come here
        print("piece", 0, len(graph_def.node), flush=True)
        with suppress(Exception):
            import_nodes(fresh(), graph_pb2.GraphDef.FromString(data))
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0.0)  # it has survived: how long TensorFlow takes to go does not count


def _end_with_the_other() -> None:
    os.read(0, 1)  # it comes back when nobody holds the other end any more
    os.kill(os.getpid(), signal.SIGTERM)
