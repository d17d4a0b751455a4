"""The origin of each op of a graph, its records in the graph, and the ops that remain after an undo."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from .graph import Graph, Mask
from .names import join_scope

_ORPHANS = "graphsurgeon_orphans"


def orphans_of(graph: Any) -> dict[str, int]:
    """Returns the orphans of a live graph: name of the op -> the step that made it.

    Args:
        graph: a `tf.Graph`, or None.

    Example:
        >>> class Live: "As a `tf.Graph`."
        >>> graph = Live()
        >>> mark_orphans(graph, ["a", "b"], 1)
        >>> unmark_orphans(graph, ["a"])
        >>> orphans_of(graph)
        {'b': 1}
    """
    return dict(getattr(graph, _ORPHANS, {}))


def orphan_mask(graph: Graph) -> Mask:
    """Returns a mask of the orphans of the live graph of a snapshot.

    Args:
        graph: the snapshot; it may be the graph after a plan.

    Example:
        >>> orphan_mask(Graph.from_ops([("a", "Const", [])])).tolist()
        [False]
    """
    return graph.mask(graph.index[name] for name in orphans_of(graph.origin) if name in graph.index)


def mark_orphans(graph: Any, names: Iterable[str], step: int) -> None:
    """Records ops of a live graph as orphans.

    Args:
        graph: a `tf.Graph`.
        names: the names of the ops.
        step: the number of the step that made them.
    """
    setattr(graph, _ORPHANS, {**orphans_of(graph), **dict.fromkeys(names, step)})


def unmark_orphans(graph: Any, names: Iterable[str]) -> None:
    """Records that ops of a live graph are no longer orphans.

    Args:
        graph: a `tf.Graph`.
        names: the names of the ops.
    """
    mine = set(names)
    setattr(graph, _ORPHANS, {name: step for name, step in orphans_of(graph).items() if name not in mine})


#: The collection of a graph with the records: bytes for each step.
COLLECTION = "graphsurgeon/provenance"
#: The attribute with the origin of one node, in a GraphDef that was requested with origins.
ATTRIBUTE = "_graphsurgeon"
_RECORD = b"graphsurgeon provenance 1"
#: Longer records are compressed; and the largest size of an unpacked record from an unknown file.
_SHORT, _MAX_SIZE = 1 << 16, 1 << 28
_KIND_TEXTS = {
    "copied": "copied from op {was!r} of {graph} in step {step}",
    "placeholder": "placeholder made in step {step} in place of {was!r} of {graph}",
    "constant": "constant made in step {step} in place of {was!r} of {graph}",
    "setter": "made in step {step} to set the copy of {was!r} of {graph}",
    "inserted": "inserted in step {step}",
    "orphan": "an orphan, left by step {step}",
    "original": "original",
}


@dataclass(frozen=True)
class OpOrigin:
    """The origin of an op; prints as one line.

    Args:
        op: its name.
        kind: ``original``, ``copied``, ``placeholder`` or ``constant`` (in place of a tensor of the source),
            ``setter`` (sets a copied variable), ``inserted``, ``orphan`` (its step was undone).
        step: the step of the history that made it; 0 for an original.
        original: the op or tensor of the source.
        graph: the title of the source.
        source_origin: the origin of the op of the source, as text; empty if that op was an original.
        changes: (step, the change).

    Example:
        >>> print(OpOrigin("copy/x", "copied", 3, "x", "net.pb", changes=((4, "input 0 reads y:0"),)))
        copied from op 'x' of net.pb in step 3, changed in step 4 (input 0 reads y:0)
    """

    op: str
    kind: str = "original"
    step: int = 0
    original: str = ""
    graph: str = ""
    source_origin: str = ""
    changes: tuple[tuple[int, str], ...] = ()

    @property
    def steps(self) -> list[int]:
        """The steps that made or changed it."""
        return [step for step in (self.step, *(step for step, _ in self.changes)) if step]

    def __str__(self) -> str:
        text = _KIND_TEXTS[self.kind].format(was=self.original, graph=self.graph, step=self.step)
        text += f" (there {self.source_origin})" if self.source_origin else ""
        return ", ".join([text, *(f"changed in step {step} ({what})" for step, what in self.changes)])


def serialize_origin(step: int, record: Mapping[str, Any]) -> bytes:
    r"""Returns a record as bytes: a header line, and JSON, which is compressed if it is long.

    Example:
        >>> serialize_origin(3, {"made": {}})
        b'graphsurgeon provenance 1 step 3 json\n{"made":{}}'
    """
    body = json.dumps(record, separators=(",", ":"), ensure_ascii=True).encode()
    how, body = (b"json", body) if len(body) < _SHORT else (b"zlib", zlib.compress(body, 1))
    return b"%s step %d %s\n%s" % (_RECORD, step, how, body)


def step_of(data: Any) -> int:
    """Returns the step of a record; 0 if the data is not a record.

    Example:
        >>> step_of(serialize_origin(3, {})), step_of(b"something else")
        (3, 0)
    """
    if not isinstance(data, bytes) or not data.startswith(_RECORD):
        return 0
    words = data[len(_RECORD) : len(_RECORD) + 40].partition(b"\n")[0].split()
    return int(words[1]) if len(words) == 3 and words[1].isdigit() and len(words[1]) < 10 else 0


def read_origins(records: Sequence[Any]) -> Mapping[str, OpOrigin]:
    """Returns op name -> origin, for all ops that are not originals; data that is not a record is ignored.

    Example:
        >>> about = {"copies": [{"graph": "net", "to": "copy", "ops": ["x"]}], "changed": {"y": "T=1"}}
        >>> for origin in read_origins([serialize_origin(1, about)]).values():
        ...     print(origin.op, origin)
        copy/x copied from op 'x' of net in step 1
        y original, changed in step 1 (T=1)
    """
    return _origins(tuple(data for data in records if step_of(data)))


@lru_cache(maxsize=8)
def _origins(records: tuple[bytes, ...]) -> Mapping[str, OpOrigin]:
    out: dict[str, OpOrigin] = {}
    for data in sorted(records, key=step_of):
        try:
            _read(step_of(data), _decompress(data), out)
        except (ValueError, TypeError, KeyError, AttributeError, zlib.error, RecursionError):
            continue  # a file from an unknown source may contain anything
    return out


def _decompress(data: bytes) -> dict[str, Any]:
    head, _, body = data.partition(b"\n")
    if head.endswith(b"zlib"):
        work = zlib.decompressobj()
        body = work.decompress(body, _MAX_SIZE)
        if work.unconsumed_tail:
            raise ValueError("too long")
    return dict(json.loads(body))


def _read(step: int, record: Mapping[str, Any], out: dict[str, OpOrigin]) -> None:
    new: dict[str, OpOrigin] = {}
    for copy in record.get("copies", ()):
        names, earlier, scope, graph = (
            copy.get("names", {}),
            copy.get("before", {}),
            str(copy["to"]),
            str(copy["graph"]),
        )
        for op in copy["ops"]:
            name = names.get(op) or join_scope(scope, op)
            new[name] = OpOrigin(name, "copied", step, op, graph, str(earlier.get(op, "")))
    for name, (kind, was, graph) in record.get("made", {}).items():
        new[name] = OpOrigin(name, kind if kind in _KIND_TEXTS else "inserted", step, str(was), str(graph))
    for name in record.get("removed", ()):
        out.pop(name, None)
    renamed_origins = {str(now): out.pop(name) for name, now in record.get("renamed", {}).items() if name in out}
    out |= {name: replace(origin, op=name) for name, origin in renamed_origins.items()}
    out |= new
    for name, what in record.get("changed", {}).items():
        old = out.get(name, OpOrigin(name))
        out[name] = replace(old, changes=(*old.changes, (step, str(what))))


def attribute(origin: OpOrigin) -> bytes:
    """Returns an origin as the value of an attribute of its node."""
    about = {key: getattr(origin, key) for key in ("kind", "step", "original", "graph", "source_origin", "changes")}
    return json.dumps({k: v for k, v in about.items() if v}, separators=(",", ":")).encode()


def from_attribute(op: str, data: bytes) -> OpOrigin:
    """Returns the origin in such an attribute; an original if the attribute cannot be read.

    Example:
        >>> origin = OpOrigin("copy/x", "copied", 3, "x", "net.pb")
        >>> from_attribute("copy/x", attribute(origin)) == origin, from_attribute("x", b"?").kind
        (True, 'original')
    """
    try:
        about = dict(json.loads(data))
        kind = about.get("kind", "original")
        changes = tuple((int(step), str(what)) for step, what in about.get("changes", ()))
        keys = "original", "graph", "source_origin"
        original, graph, source_origin = (str(about.get(key, "")) for key in keys)
        return OpOrigin(
            op,
            kind if kind in _KIND_TEXTS else "inserted",
            int(about.get("step", 0)),
            original,
            graph,
            source_origin,
            changes,
        )
    except (ValueError, TypeError, AttributeError, RecursionError):
        return OpOrigin(op)
