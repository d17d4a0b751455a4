"""Nodes: the NodeDefs of live ops, read many at once, and stamps that show whether a node has changed."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from google.protobuf.message import DecodeError

from ...errors import StalePlanError
from ...graph.live import TFGraphDef, TFNodeDef, TFOp
from ...plan.copied import Copied
from ...plan.step_text import step_text
from ...words import counted
from ..messages import graph_pb2, node_def_pb2
from ..private.graphs import node_bytes

#: The number of ops read at once: large enough to be quick, and small enough that few bytes are held twice.
_RUN = 8192
#: Above this size, a stamp is a digest: a snapshot must not hold large constants a second time.
_LARGE = 4096
#: The length of a digest, in bytes.
DIGEST = 32
#: A GraphDef above 2 GB cannot be parsed.
_MOST = 1 << 30


def read(ops: Sequence[TFOp]) -> tuple[list[TFNodeDef], list[bytes]]:
    """Returns the NodeDefs of live ops, and their stamps."""
    nodes: list[TFNodeDef] = []
    stamps: list[bytes] = []
    for _, found, marks in pieces(ops):
        nodes += found
        stamps += marks
    return nodes, stamps


def pieces(ops: Sequence[TFOp]) -> Iterator[tuple[int, list[TFNodeDef], list[bytes]]]:
    """Yields the same a few thousand at a time: number of the first op, NodeDefs, stamps."""
    start = 0
    for some in runs(ops):
        raws = node_bytes(some)
        part = graph_pb2.GraphDef()
        append(part, raws)
        yield start, list(part.node), stamps_of(raws)
        start += len(some)


def stamp(raw: bytes) -> bytes:
    """Returns the stamp of a NodeDef, given as bytes: equal stamps mean equal nodes."""
    return raw if len(raw) < _LARGE else hashlib.blake2b(raw, digest_size=DIGEST).digest()


def stamps_of(raws: list[bytes]) -> list[bytes]:
    """Returns the stamps of many nodes."""
    return raws if max(map(len, raws), default=0) < _LARGE else list(map(stamp, raws))


def append(graph_def: TFGraphDef, raws: Sequence[bytes]) -> None:
    """Adds the nodes that these bytes hold to a GraphDef; TensorFlow wrote them, so only a lack of memory can fail."""
    try:
        if sum(map(len, raws)) < _MOST:
            graph_def.MergeFromString(_wire(raws))
        else:
            for raw in raws:
                graph_def.node.add().MergeFromString(raw)
    except DecodeError as error:
        raise MemoryError(str(error)) from error


def runs(items: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """Yields a few thousand items at a time."""
    for start in range(0, len(items), _RUN):
        yield items[start : start + _RUN]


def add_current(copied: Copied, graph_def: TFGraphDef) -> None:
    """Adds the current source ops of a copy to a GraphDef.

    Raises:
        StalePlanError: an op has changed since the plan was made.
    """
    source, live = copied.source, copied.source.live.get_operations()
    stale: list[str] = []
    for some in runs(copied.ops.tolist()):
        raws = node_bytes(live[i] for i in some)
        append(graph_def, raws)
        now = stamps_of(raws)
        then = [source.stamps[i] for i in some] if source.stamps else [b""] * len(some)
        if now != then:
            found = zip(some, graph_def.node[-len(some) :], now, then, strict=True)
            stale += [source.names[i] for i, node, a, b in found if a != b and _differs(node, source.nodes[i])]
    if stale:
        raise StalePlanError(
            f"apply: {step_text(copied.step)}",
            f"{counted(len(stale), 'ops')} changed since the plan was made, {stale[0]!r} first",
            "Open the graph again, and make the plan again",
        )


def _differs(now: Any, then: Any) -> bool:
    """Whether a node has really changed: control inputs have no fixed order, and output 0 is written in two ways.

    TensorFlow marks an op that another op was made to wait for; an import notes the types it infers.
    """
    if now == then:
        return False
    a, b = node_def_pb2.NodeDef(), node_def_pb2.NodeDef()
    for copy, node in ((a, now), (b, then)):
        copy.CopyFrom(node)
        copy.attr.pop("_has_manual_control_dependencies", None)
        copy.ClearField("experimental_type")
        data = [i.removesuffix(":0") for i in node.input if i[0] != "^"]
        copy.input[:] = data + sorted(i for i in node.input if i[0] == "^")
    return bool(a != b)


def _wire(raws: Sequence[bytes]) -> bytes:
    """A GraphDef of these nodes as it goes over the wire: each is field 1, with its length before it."""
    parts = [b""] * (2 * len(raws))
    parts[::2] = [_LEADS[size] if size < len(_LEADS) else _lead(size) for size in map(len, raws)]
    parts[1::2] = raws
    return b"".join(parts)


def _lead(size: int) -> bytes:
    out = bytearray(b"\n")
    while size > 127:
        out.append(size & 127 | 128)
        size >>= 7
    out.append(size)
    return bytes(out)


_LEADS = [_lead(size) for size in range(1024)]
