"""Pairs: which op of one graph is which op of another, by name, by a mapping, or by structure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import SelectionError
from .edges import Edges
from .graph import Graph, Ints
from .live import TFNodeDef
from .names import op_name

WAYS = ("mapping", "name", "structure")
#: Attributes for TensorFlow's own use, or with the origin of an op: a difference in them is not a change of the op.
VOLATILE = frozenset({"_output_shapes", "_has_manual_control_dependencies", "_gs_origin"})
#: Attributes that hold names of ops: they change when an op gets another name.
NAMING = frozenset({"_class", "shared_name", "frame_name"})
#: So far around an op its surroundings are compared, in edges.
_RADIUS = 6

Hashes = NDArray[np.uint64]


#: Returns the meaning of an attribute as bytes: equal bytes, equal meaning.
Meaning = Callable[[Any], bytes]


def attribute_bytes(value: Any) -> bytes:
    """Returns an attribute as bytes: equal bytes, equal value."""
    write = getattr(value, "SerializeToString", None)
    return write(deterministic=True) if write else repr(value).encode()


def pair(
    a: Graph,
    b: Graph,
    by: str = "name",
    mapping: Mapping[Any, Any] | None = None,
    meanings: tuple[Meaning, Meaning] = (attribute_bytes, attribute_bytes),
) -> Ints:
    """Returns for each op of `a` the number of its partner in `b`; -1 for none.

    Args:
        a, b: the graphs.
        by: ``name``; ``structure``: by name if the type is the same, and then by the surroundings of an op;
            ``mapping``: only by the mapping.
        mapping: op of `a` -> op of `b`, or None for an op without partner; it takes precedence.
        meanings: the meaning of an attribute of `a`, and of one of `b`.

    Raises:
        SelectionError: `by` is not one of these, the mapping names an op that does not exist, or one of `b` twice.

    Example:
        >>> a = Graph.of([("x", "Const", []), ("y", "Neg", ["x"])])
        >>> b = Graph.of([("n/x", "Const", []), ("n/y", "Neg", ["n/x"])])
        >>> pair(a, b).tolist(), pair(a, b, "structure").tolist(), pair(a, b, mapping={"x": "n/x"}).tolist()
        ([-1, -1], [0, 1], [0, -1])
    """
    if by not in WAYS:
        raise SelectionError(f"diff(by={by!r})", f"{by!r} is not a way to pair ops", f"Choose one of {', '.join(WAYS)}")
    place, taken = np.full(a.size, -1, np.int32), np.zeros(b.size, np.bool_)
    alone = _mapped(a, b, mapping or {}, place, taken)
    if by in ("name", "structure"):
        _named(a, b, place, taken, alone, strict=by == "structure")
    if by == "structure" and not (taken.all() or ((place >= 0) | alone).all()):
        _Surroundings(a, b, place, taken, alone, meanings).pair()
        _named(a, b, place, taken, alone, strict=False)
    return place


def _mapped(a: Graph, b: Graph, mapping: Mapping[Any, Any], place: Ints, taken: NDArray[np.bool_]) -> NDArray[np.bool_]:
    alone = np.zeros(a.size, np.bool_)
    for old, new in mapping.items():
        request = f"diff(mapping={{{op_name(old)!r}: {None if new is None else op_name(new)!r}}})"
        i = a.find(op_name(old), request)
        if new is None:
            alone[i] = True
            continue
        j = b.find(op_name(new), request)
        if taken[j] and place[i] != j:
            first = a.names[int(np.flatnonzero(place == j)[0])]
            raise SelectionError(
                request,
                f"{b.names[j]!r} is the partner of {first!r} already",
                "Map each op of one to one op of the other",
            )
        place[i], taken[j] = j, True
    return alone


def _named(a: Graph, b: Graph, place: Ints, taken: NDArray[np.bool_], alone: NDArray[np.bool_], strict: bool) -> None:
    """Pairs ops with the same name; `strict`: and the same type."""
    find = b.index.get
    for i in np.flatnonzero((place < 0) & ~alone).tolist():
        j = find(a.names[i])
        if j is not None and not taken[j] and not (strict and a.types[i] != b.types[j]):
            place[i], taken[j] = j, True


def attributes(node: TFNodeDef | None, meaning: Meaning = attribute_bytes) -> dict[str, bytes] | None:
    """Returns the meanings of the attributes of a NodeDef, without volatile ones; None if the node is not known."""
    if node is None:
        return None
    held = getattr(node, "attr", None) or {}
    return {key: meaning(held[key]) for key in held if key not in VOLATILE}


class _Side(NamedTuple):
    """One of the two graphs, with the parts that are compared."""

    graph: Graph
    labels: Ints
    rounds: list[Hashes]


class _Surroundings:
    """Pairs ops that look alike and stand alike: hashes propose, types, attributes and edges decide."""

    def __init__(
        self,
        a: Graph,
        b: Graph,
        place: Ints,
        taken: NDArray[np.bool_],
        alone: NDArray[np.bool_],
        meanings: tuple[Meaning, Meaning],
    ) -> None:
        self.place, self.taken, self.gone = place, taken, alone | (place >= 0)
        known: dict[Any, int] = {}
        labels = [_labels(graph, known, meaning) for graph, meaning in zip((a, b), meanings, strict=True)]
        starts = [_mixed(label.astype(np.uint64)) for label in labels]
        there = np.flatnonzero(place >= 0)
        # Partners have their own hash, so that the ops next to them differ from all others.
        own = _mixed(np.arange(len(there), dtype=np.uint64) + np.uint64(1 << 40))
        starts[0][there], starts[1][place[there]] = own, own
        self.a, self.b = (
            _Side(graph, label, _rounds(graph, start))
            for graph, label, start in zip((a, b), labels, starts, strict=True)
        )
        self.todo = list(zip(there.tolist(), place[there].tolist(), strict=True))

    def pair(self) -> None:
        """Pairs all that can be paired."""
        self._spread()
        for exact in (True, False):
            for level in range(_RADIUS, 0, -1):
                self._level(level, exact)

    def _level(self, level: int, exact: bool) -> None:
        """Pairs ops with equal surroundings; `exact`: only where there is one of them on each side."""
        ours = np.flatnonzero(~self.gone)
        theirs = np.flatnonzero(~self.taken)
        groups_a, groups_b = _groups(self.a.rounds[level], ours), _groups(self.b.rounds[level], theirs)
        for key, mine in groups_a.items():
            other = groups_b.get(key, ())
            if exact and not len(mine) == len(other) == 1:
                continue
            free = iter(other)
            for i in mine:
                if self.gone[i]:
                    continue  # it got its partner through a neighbour meanwhile
                j = next((j for j in free if not self.taken[j]), None)
                if j is None:
                    break
                self._take(i, j)
                self._spread()

    def _take(self, i: int, j: int) -> None:
        if self.a.labels[i] == self.b.labels[j] and not self.gone[i] and not self.taken[j]:
            self.place[i], self.gone[i], self.taken[j] = j, True, True
            self.todo.append((i, j))

    def _spread(self) -> None:
        """Goes from partners to their neighbors: the same input of both, and consumers if there is one of a kind."""
        a, b = self.a.graph, self.b.graph
        while self.todo:
            i, j = self.todo.pop()
            for x, y in zip(a.data.row(i).tolist(), b.data.row(j).tolist(), strict=False):
                self._take(x, y)
            for edges in ("consumers", "control_consumers", "control"):
                self._single(
                    _kinds(getattr(a, edges), i, self.a.labels, self.gone),
                    _kinds(getattr(b, edges), j, self.b.labels, self.taken),
                )

    def _single(self, ours: dict[Any, int], theirs: dict[Any, int]) -> None:
        """Pairs neighbors if there is one of a kind on each side; -1 means several."""
        for key, i in ours.items():
            j = theirs.get(key, -1)
            if i >= 0 and j >= 0:
                self._take(i, j)


def _kinds(edges: Edges, op: int, labels: Ints, used: NDArray[np.bool_]) -> dict[Any, int]:
    """The ops in a row of edges that have no partner yet, by label and output that is read; -1 for several."""
    found: dict[Any, int] = {}
    for other, port in edges.ends(op):
        if not used[other]:
            key = int(labels[other]), port
            found[key] = other if found.get(key, other) == other else -1
    return found


def _labels(graph: Graph, known: dict[Any, int], meaning: Meaning) -> Ints:
    """The op itself, as numbers: type, attributes that name no op, and number of inputs."""
    counts = graph.data.degrees.tolist()
    out = np.empty(graph.size, np.int32)
    for i, node in enumerate(graph.nodes):
        held = attributes(node, meaning) or {}
        key = (graph.types[i], counts[i], *((k, held[k]) for k in sorted(held) if k not in NAMING))
        out[i] = known.setdefault(key, len(known))
    return out


def _rounds(graph: Graph, start: Hashes) -> list[Hashes]:
    """Hashes of what surrounds each op: round n knows all ops that are n edges away."""
    data, control = graph.data, graph.control
    data_rows, control_rows = data.rows, control.rows
    slot = np.arange(len(data.node)) - data.ptr[:-1].astype(np.int64)[data_rows]
    which = _mixed((slot * 4096 + data.port + 1).astype(np.uint64))
    found = [start]
    for _ in range(_RADIUS):
        now = found[-1]
        new = _mixed(now)
        np.add.at(new, data_rows, _mixed(now[data.node] ^ which))
        np.add.at(new, data.node, _mixed(now[data_rows] ^ ~which))
        np.add.at(new, control_rows, _mixed(now[control.node] + np.uint64(3)))
        np.add.at(new, control.node, _mixed(now[control_rows] + np.uint64(5)))
        found.append(_mixed(new))
    return found


def _mixed(values: Hashes) -> Hashes:
    """Scatters 64 bits (the finaliser of splitmix64)."""
    x = values + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _groups(hashes: Hashes, ops: NDArray[Any]) -> dict[int, list[int]]:
    """The ops with the same hash, in graph order; the groups by their first op."""
    found: dict[int, list[int]] = {}
    for key, op in zip(hashes[ops].tolist(), ops.tolist(), strict=True):
        found.setdefault(key, []).append(op)
    return found
