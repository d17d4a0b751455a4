"""Pairs of corresponding ops of two graphs, and the differences between them as data, text, table and marks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import SelectionError, counted
from .edges import Edges, stack_edges
from .graph import Graph, Ints, TensorInfo
from .names import op_name
from .types import TFNodeDef

PAIRING_MODES = ("mapping", "name", "structure")
#: Attributes for TensorFlow's own use, or with the origin of an op: a difference in them is not a change of the op.
VOLATILE = frozenset({"_output_shapes", "_has_manual_control_dependencies", "_gs_origin"})
#: Attributes that contain names of ops, so that they change when an op is renamed.
NAME_ATTRIBUTES = frozenset({"_class", "shared_name", "frame_name"})
#: The distance around an op, in edges, within which its surroundings are compared.
_RADIUS = 6

Hashes = NDArray[np.uint64]


#: Returns the meaning of an attribute as bytes; equal bytes have an equal meaning.
Meaning = Callable[[Any], bytes]


def attribute_bytes(value: Any) -> bytes:
    """Returns an attribute as bytes; equal bytes have an equal value."""
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
        meanings: return the meaning of an attribute of `a`, and of an attribute of `b`.

    Raises:
        SelectionError: if `by` has another value, or the mapping names an op that does not exist, or an op of `b`
            twice.

    Example:
        >>> a = Graph.from_ops([("x", "Const", []), ("y", "Neg", ["x"])])
        >>> b = Graph.from_ops([("n/x", "Const", []), ("n/y", "Neg", ["n/x"])])
        >>> pair(a, b).tolist(), pair(a, b, "structure").tolist(), pair(a, b, mapping={"x": "n/x"}).tolist()
        ([-1, -1], [0, 1], [0, -1])
    """
    if by not in PAIRING_MODES:
        raise SelectionError(
            f"diff(by={by!r})", f"{by!r} is not a way to pair ops", f"Choose one of {', '.join(PAIRING_MODES)}"
        )
    place, used = np.full(a.size, -1, np.int32), np.zeros(b.size, np.bool_)
    alone = _pair_by_mapping(a, b, mapping or {}, place, used)
    if by in ("name", "structure"):
        _pair_by_name(a, b, place, used, alone, strict=by == "structure")
    if by == "structure" and not (used.all() or ((place >= 0) | alone).all()):
        _NeighborhoodMatcher(a, b, place, used, alone, meanings).pair()
        _pair_by_name(a, b, place, used, alone, strict=False)
    return place


def _pair_by_mapping(
    a: Graph, b: Graph, mapping: Mapping[Any, Any], place: Ints, used: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    alone = np.zeros(a.size, np.bool_)
    for old, new in mapping.items():
        request = f"diff(mapping={{{op_name(old)!r}: {None if new is None else op_name(new)!r}}})"
        i = a.find(op_name(old), request)
        if new is None:
            alone[i] = True
            continue
        j = b.find(op_name(new), request)
        if used[j] and place[i] != j:
            first = a.names[int(np.flatnonzero(place == j)[0])]
            raise SelectionError(
                request,
                f"{b.names[j]!r} is already the partner of {first!r}",
                "Give each op a separate partner",
            )
        place[i], used[j] = j, True
    return alone


def _pair_by_name(
    a: Graph, b: Graph, place: Ints, used: NDArray[np.bool_], unmatched: NDArray[np.bool_], strict: bool
) -> None:
    """Pairs ops with the same name; with `strict`, the type must also be the same."""
    find = b.index.get
    for i in np.flatnonzero((place < 0) & ~unmatched).tolist():
        j = find(a.names[i])
        if j is not None and not used[j] and not (strict and a.types[i] != b.types[j]):
            place[i], used[j] = j, True


def attributes(node: TFNodeDef | None, meaning: Meaning = attribute_bytes) -> dict[str, bytes] | None:
    """Returns the meanings of the attributes of a NodeDef, except volatile ones; None if the node is not known."""
    if node is None:
        return None
    values = getattr(node, "attr", None) or {}
    return {key: meaning(values[key]) for key in values if key not in VOLATILE}


class _DiffSide(NamedTuple):
    """One of the two graphs, with the parts that are compared."""

    graph: Graph
    labels: Ints
    rounds: list[Hashes]


class _NeighborhoodMatcher:
    """Pairs ops with similar types, attributes and surroundings. Hashes of the surroundings propose the pairs."""

    def __init__(
        self,
        a: Graph,
        b: Graph,
        place: Ints,
        used: NDArray[np.bool_],
        unmatched: NDArray[np.bool_],
        meanings: tuple[Meaning, Meaning],
    ) -> None:
        self.place, self.is_matched, self.is_settled = place, used, unmatched | (place >= 0)
        key_ids: dict[Any, int] = {}
        labels = [_labels(graph, key_ids, meaning) for graph, meaning in zip((a, b), meanings, strict=True)]
        starts = [_mix_bits(label.astype(np.uint64)) for label in labels]
        there = np.flatnonzero(place >= 0)
        # Each pair of partners has its own hash, so that their neighbors differ from all other ops.
        own = _mix_bits(np.arange(len(there), dtype=np.uint64) + np.uint64(1 << 40))
        starts[0][there], starts[1][place[there]] = own, own
        self.a, self.b = (
            _DiffSide(graph, label, _rounds(graph, start))
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
        """Pairs ops with equal surroundings; with `exact`, only if there is exactly one such op on each side."""
        ours = np.flatnonzero(~self.is_settled)
        theirs = np.flatnonzero(~self.is_matched)
        groups_a, groups_b = _groups(self.a.rounds[level], ours), _groups(self.b.rounds[level], theirs)
        for key, mine in groups_a.items():
            other = groups_b.get(key, ())
            if exact and not len(mine) == len(other) == 1:
                continue
            free = iter(other)
            for i in mine:
                if self.is_settled[i]:
                    continue  # a neighbor has led to its partner meanwhile
                j = next((j for j in free if not self.is_matched[j]), None)
                if j is None:
                    break
                self._take(i, j)
                self._spread()

    def _take(self, i: int, j: int) -> None:
        if self.a.labels[i] == self.b.labels[j] and not self.is_settled[i] and not self.is_matched[j]:
            self.place[i], self.is_settled[i], self.is_matched[j] = j, True, True
            self.todo.append((i, j))

    def _spread(self) -> None:
        """Pairs the neighbors of partners: the same input of both, and consumers that are the only one of a kind."""
        a, b = self.a.graph, self.b.graph
        while self.todo:
            i, j = self.todo.pop()
            for x, y in zip(a.data.row(i).tolist(), b.data.row(j).tolist(), strict=False):
                self._take(x, y)
            for edges in ("consumers", "control_consumers", "control"):
                self._single(
                    _kinds(getattr(a, edges), i, self.a.labels, self.is_settled),
                    _kinds(getattr(b, edges), j, self.b.labels, self.is_matched),
                )

    def _single(self, labels_a: dict[Any, int], labels_b: dict[Any, int]) -> None:
        """Pairs neighbors if each side has exactly one of a kind; -1 means more than one."""
        for key, i in labels_a.items():
            j = labels_b.get(key, -1)
            if i >= 0 and j >= 0:
                self._take(i, j)


def _kinds(edges: Edges, op: int, labels: Ints, matched: NDArray[np.bool_]) -> dict[Any, int]:
    """Returns the ops without partner in a row of edges, by label and port; -1 if there is more than one."""
    neighbors: dict[Any, int] = {}
    for other, port in edges.ends(op):
        if not matched[other]:
            key = int(labels[other]), port
            neighbors[key] = other if neighbors.get(key, other) == other else -1
    return neighbors


def _labels(graph: Graph, key_ids: dict[Any, int], meaning: Meaning) -> Ints:
    """Returns a number for each op, for its type, its attributes without names of ops, and its number of inputs."""
    counts = graph.data.degrees.tolist()
    out = np.empty(graph.size, np.int32)
    for i, node in enumerate(graph.nodes):
        values = attributes(node, meaning) or {}
        key = (graph.types[i], counts[i], *((k, values[k]) for k in sorted(values) if k not in NAME_ATTRIBUTES))
        out[i] = key_ids.setdefault(key, len(key_ids))
    return out


def _rounds(graph: Graph, start: Hashes) -> list[Hashes]:
    """Returns hashes of the surroundings of each op; round n includes all ops that are up to n edges away."""
    data, control = graph.data, graph.control
    data_rows, control_rows = data.rows, control.rows
    slot = np.arange(len(data.node)) - data.ptr[:-1].astype(np.int64)[data_rows]
    which = _mix_bits((slot * 4096 + data.port + 1).astype(np.uint64))
    rounds = [start]
    for _ in range(_RADIUS):
        now = rounds[-1]
        new = _mix_bits(now)
        np.add.at(new, data_rows, _mix_bits(now[data.node] ^ which))
        np.add.at(new, data.node, _mix_bits(now[data_rows] ^ ~which))
        np.add.at(new, control_rows, _mix_bits(now[control.node] + np.uint64(3)))
        np.add.at(new, control.node, _mix_bits(now[control_rows] + np.uint64(5)))
        rounds.append(_mix_bits(new))
    return rounds


def _mix_bits(values: Hashes) -> Hashes:
    """Mixes 64 bits (the finalizer of splitmix64)."""
    x = values + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _groups(hashes: Hashes, ops: NDArray[Any]) -> dict[int, list[int]]:
    """Returns hash -> the ops with this hash, in graph order; the groups are in the order of their first ops."""
    groups: dict[int, list[int]] = {}
    for key, op in zip(hashes[ops].tolist(), ops.tolist(), strict=True):
        groups.setdefault(key, []).append(op)
    return groups


#: Kinds of changes, in the order in which they are listed.
KINDS = ("type", "input", "control", "attribute", "device", "output")
_TITLES = {
    "type": "another type", "input": "rewired", "control": "control inputs", "attribute": "attributes",
    "device": "devices", "output": "dtypes and shapes",
}  # fmt: skip
_MAX_LISTED = 12


@dataclass(frozen=True)
class OpDifference:
    """One difference of an op that both graphs have.

    Args:
        kind: ``type``, ``input`` (rewired), ``control``, ``attribute``, ``device``, ``output`` (dtype or shape).
        op: its name in the second graph.
        old_op: its name in the first graph.
        detail: the number of the input or output, or the attribute; empty for the other kinds.
        old, new: its old and new text; empty if there is none.
    """

    kind: str
    op: str
    old_op: str
    detail: str
    old: str
    new: str

    def __str__(self) -> str:
        part = {"input": f" input {self.detail}", "attribute": f" {self.detail}", "output": f":{self.detail}"}
        return f"{self.op}{part.get(self.kind, '')}: {self.old or 'nothing'} -> {self.new or 'nothing'}"


@dataclass(frozen=True, eq=False)
class Diff:
    """The differences between two graphs; true if there are any, including other names.

    Args:
        a, b: the graphs.
        partners: for each op of `a` the number of its partner in `b`, -1 for none.
        changes: the differences of ops that both graphs have.
        draw: draws the differences, as mime type -> text; None if they cannot be drawn.
    """

    a: Graph
    b: Graph
    partners: Ints
    changes: tuple[OpDifference, ...] = field(repr=False)
    draw: Callable[[Diff], dict[str, str]] | None = None

    @cached_property
    def added(self) -> tuple[str, ...]:
        """Names of the ops that only the second graph has."""
        there = self.b.mask(self.partners[self.partners >= 0])
        return tuple(self.b.names[i] for i in np.flatnonzero(~there).tolist())

    @cached_property
    def removed(self) -> tuple[str, ...]:
        """Names of the ops that only the first graph has."""
        return tuple(self.a.names[i] for i in np.flatnonzero(self.partners < 0).tolist())

    @cached_property
    def renamed(self) -> tuple[tuple[str, str], ...]:
        """(old, new) names of the ops that have another name in the second graph."""
        old, new, place = self.a.names, self.b.names, self.partners.tolist()
        return tuple((old[i], new[j]) for i, j in enumerate(place) if j >= 0 and old[i] != new[j])

    def of_kind(self, kind: str) -> tuple[OpDifference, ...]:
        """Returns the changes of one kind, such as ``input`` or ``attribute``.

        Args:
            kind: the kind of change.
        """
        return tuple(change for change in self.changes if change.kind == kind)

    @property
    def rewired(self) -> tuple[OpDifference, ...]:
        """The inputs that read another tensor."""
        return self.of_kind("input")

    @cached_property
    def counts(self) -> dict[str, int]:
        """The numbers of ops added, removed and renamed, and of changes of each kind."""
        ops = {"added": len(self.added), "removed": len(self.removed), "renamed": len(self.renamed)}
        return {**ops, **{kind: len(self.of_kind(kind)) for kind in KINDS}}

    def __bool__(self) -> bool:
        return any(self.counts.values())

    def table(self) -> list[dict[str, Any]]:
        """Returns one row for each difference: kind, op, what, was, now."""
        rows = [_row("added", name, new=self.b.types[self.b.index[name]]) for name in self.added]
        rows += [_row("removed", name, old=self.a.types[self.a.index[name]]) for name in self.removed]
        rows += [_row("renamed", new, old=old, new=new) for old, new in self.renamed]
        return rows + [_row(c.kind, c.op, c.detail, c.old, c.new) for c in self.changes]

    @cached_property
    def marks(self) -> dict[int, str]:
        """Op number in `picture` -> ``new``, ``changed`` or ``removed``; ops of `b` have the same numbers there."""
        out = dict.fromkeys((self.b.index[change.op] for change in self.changes), "changed")
        out.update((self.b.index[name], "new") for name in self.added)
        out.update(dict.fromkeys(range(self.b.size, self.picture.size), "removed"))
        return out

    @cached_property
    def picture(self) -> Graph:
        """The second graph plus the removed ops of the first, to draw both at once."""
        a, b = self.a, self.b
        removed = np.flatnonzero(self.partners < 0).astype(np.int32)
        spot = self.partners.copy()
        spot[removed] = np.arange(b.size, b.size + len(removed))
        names, used_names = [], set(b.names)
        for i in removed.tolist():
            name = a.names[i]
            while name in used_names:
                name += "_removed"
            used_names.add(name)
            names.append(name)
        outputs = _combined_outputs(a, b, removed.tolist()) if a.outputs_of or b.outputs_of else None
        return replace(
            b,
            names=[*b.names, *names],
            types=[*b.types, *(a.types[i] for i in removed.tolist())],
            nodes=[*b.nodes, *(a.nodes[i] for i in removed.tolist())],
            data=stack_edges(b.data, a.data.remap(removed, spot)),
            control=stack_edges(b.control, a.control.remap(removed, spot)),
            index={**b.index, **{name: b.size + at for at, name in enumerate(names)}},
            stamps=(),
            outputs_of=outputs,
            owner=object(),
            title=f"{a.title} and {b.title}",
        )

    def __repr__(self) -> str:
        return f"<Diff {self._head}>"

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        return {"text/plain": str(self), **(self.draw(self) if self.draw is not None else {})}

    @property
    def _head(self) -> str:
        counts = [f"{n} {_TEXTS[kind]}".replace("{s}", "s" * (n > 1)) for kind, n in self.counts.items() if n]
        return f"{self.a.title} -> {self.b.title}: {', '.join(counts) or 'no difference'}"

    def __str__(self) -> str:
        a, b = self.a, self.b
        parts = {
            "added": [f"+ {name}  {b.types[b.index[name]]}" for name in self.added],
            "removed": [f"- {name}  {a.types[a.index[name]]}" for name in self.removed],
            "renamed": [f"{old} -> {new}" for old, new in self.renamed],
            **{_TITLES[kind]: [str(change) for change in self.of_kind(kind)] for kind in KINDS},
        }
        lines = [self._head]
        for title, items in parts.items():
            if items:
                more = [f"  … and {len(items) - _MAX_LISTED:,} more"] if len(items) > _MAX_LISTED else []
                lines += [title, *(f"  {item}" for item in items[:_MAX_LISTED]), *more]
        return "\n".join(lines)


_TEXTS = {
    "added": "added", "removed": "removed", "renamed": "renamed", "type": "of another type", "input": "rewired",
    "control": "with other control inputs", "attribute": "attribute{s} changed", "device": "on another device",
    "output": "output{s} of another dtype or shape",
}  # fmt: skip


def diff(
    a: Graph,
    b: Graph,
    by: str = "name",
    mapping: Mapping[Any, Any] | None = None,
    describe: Callable[[Any], str] | None = None,
    meanings: tuple[Meaning, Meaning] = (attribute_bytes, attribute_bytes),
) -> Diff:
    """Returns what differs between two graphs.

    Args:
        a, b: the snapshots, old and new.
        by: how ops are paired: by ``name``; also by ``structure``, if names differ; only by the ``mapping``.
        mapping: op of `a` -> op of `b` (None: it has no partner); takes precedence over names and structure.
        describe: formats an attribute; default: its own text, shortened.
        meanings: return the meaning of an attribute of `a`, and of an attribute of `b`, as bytes; these are equal for
            the same function under another name.

    Raises:
        SelectionError: if `by` has another value, or the mapping does not fit the graphs.

    Example:
        >>> a = Graph.from_ops([("x", "Const", []), ("y", "Neg", ["x"]), ("z", "Exp", ["y"])], title="old")
        >>> ops = [("x", "Const", []), ("y", "Abs", ["x"]), ("z", "Exp", ["x"]), ("w", "Neg", ["z"])]
        >>> b = Graph.from_ops(ops, title="new")
        >>> print(diff(a, b))
        old -> new: 1 added, 1 of another type, 1 rewired
        added
          + w  Neg
        another type
          y: Neg -> Abs
        rewired
          z input 0: y:0 -> x:0
    """
    place = pair(a, b, by, mapping, meanings)
    work = _Differ(a, b, place, describe or _attribute_text, meanings)
    pairs = [*work.types(), *work.inputs(), *work.control(), *work.inside(), *work.outputs()]
    order = {kind: number for number, kind in enumerate(KINDS)}
    pairs.sort(key=lambda pair: (order[pair[1].kind], pair[0]))
    return Diff(a, b, place, tuple(change for _, change in pairs))


class _Differ:
    """Finds the changes, each with the number of its op in the second graph."""

    def __init__(
        self,
        a: Graph,
        b: Graph,
        place: Ints,
        describe: Callable[[Any], str],
        meanings: tuple[Meaning, Meaning],
    ) -> None:
        self.a, self.b, self.place, self.describe, self.meanings = a, b, place, describe, meanings
        self.ours = np.flatnonzero(place >= 0)
        self.theirs = place[self.ours]
        self.pairs: list[tuple[int, int]] = list(zip(self.ours.tolist(), self.theirs.tolist(), strict=True))

    def _change(self, i: int, j: int, kind: str, detail: Any, old: str, new: str) -> tuple[int, OpDifference]:
        return j, OpDifference(kind, self.b.names[j], self.a.names[i], str(detail), old, new)

    def types(self) -> Iterator[tuple[int, OpDifference]]:
        a, b = self.a.types, self.b.types
        return (self._change(i, j, "type", "", a[i], b[j]) for i, j in self.pairs if a[i] != b[j])

    def inputs(self) -> Iterator[tuple[int, OpDifference]]:
        a, b, place = self.a.data, self.b.data, self.place
        same = np.zeros(self.a.size, np.bool_)
        same[self.ours] = a.degrees[self.ours] == b.degrees[self.theirs]
        rows = a.rows
        at = np.flatnonzero(same[rows])
        other = at + b.ptr[place[rows[at]]] - a.ptr[rows[at]]
        differs = (place[a.node[at]] != b.node[other]) | (a.port[at] != b.port[other])
        hit = set(rows[at[differs]].tolist()) | set(self.ours[~same[self.ours]].tolist())
        for i in sorted(hit):
            j = int(place[i])
            pairs = zip_longest(a.ends(i), b.ends(j))
            for slot, (old, new) in enumerate(pairs):
                if old is None or new is None or (int(place[old[0]]), old[1]) != new:
                    was, now = (g.name(t) if t else "" for g, t in ((self.a, old), (self.b, new)))
                    yield self._change(i, j, "input", slot, was, now)

    def control(self) -> Iterator[tuple[int, OpDifference]]:
        a, b, place = self.a.control, self.b.control, self.place
        rows = a.rows
        paired = place[rows] >= 0
        back = np.full(self.b.size, -1, np.int32)
        back[self.theirs] = self.ours
        wide = max(self.b.size, 1)
        source = place[a.node[paired]].astype(np.int64)
        old_keys = place[rows[paired]].astype(np.int64) * wide + source
        there = back[b.rows] >= 0
        new_keys = b.rows[there].astype(np.int64) * wide + b.node[there]
        lost = np.flatnonzero((source < 0) | ~np.isin(old_keys, new_keys))
        won = np.flatnonzero(~np.isin(new_keys, old_keys[source >= 0]))
        hit = set(place[rows[paired][lost]].tolist()) | set(b.rows[there][won].tolist())
        for j in sorted(hit):
            i = int(back[j])
            was, now = sorted(self.a.control_names(i)), sorted(self.b.control_names(j))
            yield self._change(i, j, "control", "", ", ".join(was), ", ".join(now))

    def inside(self) -> Iterator[tuple[int, OpDifference]]:
        """Yields the changes of attributes and devices; nodes that are known to be the same are skipped."""
        a, b = self.a, self.b
        stamped = len(a.stamps) == a.size and len(b.stamps) == b.size
        for i, j in self.pairs:
            old, new = a.nodes[i], b.nodes[j]
            if old is new or old is None or new is None or (stamped and a.stamps[i] == b.stamps[j]):
                continue
            was, now = str(getattr(old, "device", "")), str(getattr(new, "device", ""))
            if was != now:
                yield self._change(i, j, "device", "", was, now)
            yield from self._attributes(i, j, old, new)

    def _attributes(self, i: int, j: int, old: Any, new: Any) -> Iterator[tuple[int, OpDifference]]:
        was, now = (attributes(node, meaning) or {} for node, meaning in zip((old, new), self.meanings, strict=True))
        if was == now:
            return
        for key in sorted(was.keys() | now.keys()):
            if was.get(key) == now.get(key) or (key in NAME_ATTRIBUTES and self._follows(i, j, old, new, key)):
                continue
            texts = [self.describe(n.attr[key]) if key in values else "" for n, values in ((old, was), (new, now))]
            yield self._change(i, j, "attribute", key, *texts)

    def _follows(self, i: int, j: int, old: Any, new: Any, key: str) -> bool:
        """Returns whether an attribute with names of ops still names the same ops, by their new names."""
        if key not in old.attr or key not in new.attr:
            return False
        texts = [_texts(node.attr[key]) for node in (old, new)]
        before, after = self.a.names[i], self.b.names[j]
        lead = after.removesuffix(before) if after.endswith(before) else ""
        carried = set()
        for text in texts[0]:
            mark = "loc:@" if text.startswith("loc:@") else ""
            name = text.removeprefix(mark)
            number = self.a.index.get(name)
            partner = -1 if number is None else int(self.place[number])
            carried.add(mark + (self.b.names[partner] if partner >= 0 else lead + name))
        return carried == set(texts[1])

    def outputs(self) -> Iterator[tuple[int, OpDifference]]:
        a, b = self.a, self.b
        if a.outputs_of is None or b.outputs_of is None:
            return
        live = a.owner is b.owner and a.outputs_of is b.outputs_of
        for i, j in self.pairs:
            if live and i == j:
                continue
            was, now = a.outputs_of(i), b.outputs_of(j)
            if was is None or now is None or was == now:
                continue
            for port, (old, new) in enumerate(zip_longest(was, now)):
                if old != new:
                    yield self._change(i, j, "output", port, str(old or ""), str(new or ""))


def _row(kind: str, op: str, detail: str = "", old: str = "", new: str = "") -> dict[str, Any]:
    return {"kind": kind, "op": op, "what": detail, "was": old, "now": new}


def _texts(value: Any) -> list[str]:
    texts = list(value.list.s) or [value.s]
    return [text.decode("utf-8", "replace") for text in texts]


def _attribute_text(value: Any, limit: int = 80) -> str:
    """Returns an attribute as its own text, on one line; for a large attribute, only its size."""
    size = len(attribute_bytes(value))
    if size > 4096:
        return counted(size, "bytes")
    text = " ".join(str(value).split())
    return text if len(text) <= limit else f"{text[:limit]}…"


def _combined_outputs(a: Graph, b: Graph, removed: list[int]) -> Callable[[int], Sequence[TensorInfo] | None]:
    return lambda i: b.outputs(i) if i < b.size else a.outputs(removed[i - b.size])
