"""Why an op is in a selection or not: the part of the query that adds or excludes it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..errors import counted, few
from .boundary import Tensor
from .graph import Graph, Mask
from .names import op_name
from .selection import Query, Selection, select
from .traversal import backward, forward, shortest, uncut_edges, walk_edges
from .variables import FEED_TYPES

_WALKS = ("ancestors", "descendants")


@dataclass(frozen=True, eq=False)
class Cause:
    """The part of a query that selects or excludes an op: a walk along edges, or a list.

    Args:
        kind: ``walk``; or why an op is not selected: ``unlisted``, ``removed``.
        ends: the ops at which the walk began; None without a walk.
        upstream: whether the walk went up, from the targets to the ops that they need.
        control: whether it followed control edges.
        stop_tensors: the tensors at which it stopped.
        within: the ops that it selected.
        text: the sentence for an op that is one of the ends, or that is not selected.
    """

    kind: str
    ends: Mask | None = None
    upstream: bool = True
    control: bool = True
    stop_tensors: frozenset[Tensor] = frozenset()
    within: Mask | None = None
    text: str = ""


def evaluate_query(graph: Graph, query: Query) -> dict[int, Mask]:
    """Returns the ops of a query and of each query in it, by their `id`.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b", "Neg", ["a"])])
        >>> query = Query("not", (), (Query("names", ("a",)),))
        >>> evaluate_query(g, query)[id(query)].tolist()
        [False, True]
    """
    masks: dict[int, Mask] = {}
    todo = [query]
    while todo:
        top = todo[-1]
        open_parts = [part for part in top.operands if id(part) not in masks]
        if open_parts:
            todo += open_parts
            continue
        masks[id(todo.pop())] = _mask(graph, top, [masks[id(part)] for part in top.operands])
    return masks


def _mask(graph: Graph, query: Query, parts: list[Mask]) -> Mask:
    if query.method == "select":
        return select(graph, **dict(query.args)).mask
    if query.method == "names":
        return graph.mask(graph.index[name] for name in query.args if name in graph.index)
    if query.method == "or":
        return parts[0] | parts[1]
    if query.method == "and":
        return parts[0] & parts[1]
    if query.method == "minus":
        return parts[0] & ~parts[1]
    if query.method == "not":
        return ~parts[0]
    walk = backward if query.method == "ancestors" else forward
    return walk(graph, parts[0], control=query.args[0])


def causes(selection: Selection, number: int) -> list[Cause]:
    """Returns the walks that select an op; empty if the op is listed and needs no walk."""
    graph, masks = selection.graph, evaluate_query(selection.graph, selection.query)
    result: list[Cause] = []
    todo = [selection.query]
    while todo:
        query = todo.pop()
        if query.method == "or":
            todo += [part for part in query.operands if masks[id(part)][number]]
        elif query.method == "and":
            todo.append(next((part for part in query.operands if _is_walk(part)), query.operands[0]))
        elif query.method == "minus":
            todo.append(query.operands[0])
        else:
            cause = _cause(graph, query, masks)
            if cause is None:
                return []
            result.append(cause)
    return result


def excluding_cause(selection: Selection, number: int) -> Cause:
    """Returns the part of a query that excludes an op."""
    graph, masks = selection.graph, evaluate_query(selection.graph, selection.query)
    query = selection.query
    while True:
        if query.method == "or":
            query = next((part for part in query.operands if _is_walk(part)), query.operands[0])
        elif query.method == "and" or (query.method == "minus" and not masks[id(query.operands[0])][number]):
            query = next(part for part in query.operands if not masks[id(part)][number])
        elif query.method in ("minus", "not"):
            sign = "-" if query.method == "minus" else "~"
            return Cause("removed", text=f"it is in the part that {sign} removes")
        else:
            return _cause(graph, query, masks) or Cause("unlisted", text=_unmet_condition(graph, query, number))


def _is_walk(query: Query) -> bool:
    return query.method in _WALKS or (query.method == "select" and "outputs" in dict(query.args))


def _cause(graph: Graph, query: Query, masks: dict[int, Mask]) -> Cause | None:
    if query.method in _WALKS:
        up = query.method == "ancestors"
        text = "it is one of the targets" if up else "it is one of the ops the walk began at"
        return Cause("walk", masks[id(query.operands[0])], up, query.args[0], within=masks[id(query)], text=text)
    if not _is_walk(query):
        return None
    arguments = dict(query.args)
    ends = [graph.tensor(name)[0] for name in arguments["outputs"]]
    cuts = frozenset(graph.tensor(name) for name in arguments.get("inputs", ()))
    text = "it computes one of the boundary's outputs"
    return Cause("walk", graph.mask(ends), stop_tensors=cuts, within=masks[id(query)], text=text)


def _unmet_condition(graph: Graph, query: Query, number: int) -> str:
    """Returns a sentence about the first condition of a query that an op does not meet."""
    name, kind = graph.names[number], graph.types[number]
    if query.method == "names":
        return "it is not among the ops listed"
    arguments = dict(query.args)
    kinds = arguments.get("op", kind)
    if kind != kinds and kind not in np.atleast_1d(kinds):
        required = " or ".join(np.atleast_1d(kinds).tolist())
        return f"it is of type {kind}, but the query selects {required}"
    scope = str(arguments.get("scope", "")).rstrip("/")
    if scope and name != scope and not graph.scope_mask(scope)[number]:
        return f"it is not in the scope {scope!r}"
    patterns = np.atleast_1d(arguments.get("name", name)).tolist()
    return f"its name does not fit {' or '.join(map(repr, patterns))}"


#: The largest number of printed steps of a path.
_MAX_LINKS = 12


@dataclass(frozen=True)
class PathStep:
    """One step of a path: `target` needs `source`.

    Args:
        source, target: op names.
        tensor: the tensor that `target` reads; empty for a control edge.
        input: the input of `target` that reads it; -1 for a control edge.
    """

    source: str
    target: str
    tensor: str = ""
    input: int = -1

    @property
    def control(self) -> bool:
        """True for a control edge."""
        return not self.tensor

    def __str__(self) -> str:
        if self.control:
            return f"{self.target}  waits for {self.source} (control)"
        return f"{self.target}  input {self.input} reads {self.tensor}"


@dataclass(frozen=True)
class Path:
    """The reason why an op is in a selection: the shortest path along which it was selected.

    Args:
        op: the op.
        end: the op at the other end, which needs `op` (or from which `op` is computed).
        steps: the steps, beginning at `op`; in graph direction if an op that needs it is the reason.
        cause: the reason as a clause.
    """

    op: str
    end: str
    steps: tuple[PathStep, ...]
    cause: str

    @property
    def reason(self) -> str:
        """The reason as a sentence."""
        return f"{self.op!r} is in the selection because {self.cause}"

    def __len__(self) -> int:
        return len(self.steps)

    @property
    def names(self) -> list[str]:
        """The ops on the path, including both ends."""
        down = not self.steps or self.steps[0].source == self.op
        return [self.op, *(link.target if down else link.source for link in self.steps)]

    @property
    def control(self) -> int:
        """The number of steps that are control edges."""
        return sum(link.control for link in self.steps)

    def __str__(self) -> str:
        return "\n".join([self.reason, *_shorten(self.steps)])


@dataclass(frozen=True)
class WhyNot:
    """The reason why an op is not in a selection.

    Args:
        op: the op.
        reason: one of these:

            - ``cut``: only boundary inputs need it,
            - ``feed``: it depends on a feed that is not a boundary input,
            - ``control``: only control edges lead to it, and the selection follows only data,
            - ``below``: it is computed from the targets,
            - ``above``: the starts are computed from it,
            - ``apart``: there is no path,
            - ``removed``: another part of the query removes it,
            - ``unlisted``: it does not fit the query.
        cause: the reason as a clause.
        tensors: the boundary inputs at which it is cut.
        steps: the path that the reason is about, beginning at the op; empty if there is none.
    """

    op: str
    reason: str
    cause: str
    tensors: tuple[str, ...] = ()
    steps: tuple[PathStep, ...] = ()

    @property
    def text(self) -> str:
        """The reason as a sentence."""
        return f"{self.op!r} is not in the selection because {self.cause}"

    def __str__(self) -> str:
        return "\n".join([self.text, *_shorten(self.steps)])


def explain(graph: Graph, op: Any, selection: Any) -> Path | WhyNot:
    """Returns why an op is in a selection, or why it is not, as sentences and as data.

    Args:
        graph: the snapshot.
        op: the op, by name or object.
        selection: a selection of ancestors, of descendants or by boundary; or names of targets, for all ops that they
            need.

    Returns:
        for an op in the selection, the shortest path along data and control edges that selects it; otherwise the
        reason.

    Raises:
        SelectionError: if there is no such op, or the selection is of another graph.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b", "NoOp", ["^a"]), ("c", "Neg", ["a"]),
        ...                     ("d", "Exp", ["c", "^b"])])
        >>> print(explain(g, "a", "d"))
        'a' is in the selection because 'd' needs it
          c  input 0 reads a:0
          d  input 0 reads c:0
        >>> print(explain(g, "d", "c"))
        'd' is not in the selection because it is below: it is computed from 'c'
          d  input 0 reads c:0
    """
    name = op_name(op)
    request = f"explain({name!r})"
    number, selected = graph.find(name, request), _selection(graph, selection, request)
    return _why(graph, number, selected) if selected.mask[number] else _why_not(graph, number, selected)


def _why(graph: Graph, number: int, selected: Selection) -> Path:
    name = graph.names[number]
    pairs = [(cause, _shortest_chain(graph, cause, number)) for cause in causes(selected, number)]
    ways = [(cause, way) for cause, way in pairs if way]
    if not ways:
        return Path(name, name, (), "it was selected itself")
    cause, way = min(ways, key=lambda pair: len(pair[1]))
    end, links = graph.names[way[-1]], _links(graph, way, cause)
    if not links:
        return Path(name, name, (), cause.text)
    way_text = f"{end!r} needs it" if cause.upstream else f"it needs {end!r}"
    controls = sum(link.control for link in links)
    if controls:
        way_text += f", through {counted(controls, 'control edges')}"
    return Path(name, end, links, way_text)


def _why_not(graph: Graph, number: int, selected: Selection) -> WhyNot:
    name = graph.names[number]
    cause = excluding_cause(selected, number)
    if cause.ends is None:
        return WhyNot(name, cause.kind, cause.text)
    return _unreached_reason(graph, number, cause)


def _unreached_reason(graph: Graph, number: int, cause: Cause) -> WhyNot:
    """Returns why a walk did not reach an op."""
    assert cause.ends is not None
    name = graph.names[number]
    free = replace(cause, stop_tensors=frozenset(), control=True, within=None)
    data = replace(free, control=False)
    if cause.stop_tensors:
        way = _shortest_chain(graph, data, number) or _shortest_chain(graph, free, number)
        crossed = _crossed_inputs(graph, number, cause)
        if way and crossed and not _shortest_chain(graph, replace(cause, within=None), number):
            barriers = few(map(repr, crossed))
            is_are = "which is a boundary input" if len(crossed) == 1 else "which are boundary inputs"
            text = f"it is needed only through {barriers}, {is_are}"
            return WhyNot(name, "cut", text, tuple(crossed), _links(graph, way, free))
        if way:
            above = np.flatnonzero(backward(graph, graph.mask([number])) & graph.type_mask(FEED_TYPES)).tolist()
            feed = graph.names[above[0]] if above else name
            text = f"it depends on {feed!r}, which is not a boundary input; such tensors are leaks of the boundary"
            return WhyNot(name, "feed", text, (), _links(graph, way, free))
    way = [] if cause.control else _shortest_chain(graph, free, number)
    if way:
        links = _links(graph, way, free)
        hops = sum(link.control for link in links)
        text = f"only control edges lead to it ({hops} on the shortest path), and the selection follows only data"
        return WhyNot(name, "control", text, (), links)
    other = replace(free, upstream=not cause.upstream)
    way = _shortest_chain(graph, other, number)
    if way:
        links, end = _links(graph, way, other), graph.names[way[-1]]
        if cause.upstream:
            return WhyNot(name, "below", f"it is below: it is computed from {end!r}", (), links)
        return WhyNot(name, "above", f"it is above: {end!r} is computed from it", (), links)
    names = [graph.names[i] for i in np.flatnonzero(cause.ends)[:3].tolist()]
    ends = ", ".join(map(repr, names)) + (", …" if int(cause.ends.sum()) > 3 else "")
    return WhyNot(name, "apart", f"no path of data or control edges connects it with {ends}")


def _selection(graph: Graph, value: Any, request: str) -> Selection:
    if isinstance(value, Selection):
        return value.on_strict(graph, request)
    targets = [value] if isinstance(value, str) or hasattr(value, "name") else list(value)
    names = [op_name(target) for target in targets]
    start = graph.mask(graph.find(n, request) for n in names)
    return Selection(graph, backward(graph, start), Query("ancestors", (True,), (Query("names", tuple(names)),)))


def _crossed_inputs(graph: Graph, number: int, cause: Cause) -> list[str]:
    """Returns the boundary inputs that are computed from an op and that the ends need."""
    assert cause.ends is not None
    below = forward(graph, graph.mask([number]), control=True)
    ancestry = backward(graph, cause.ends)
    keep = uncut_edges(graph, cause.stop_tensors)
    assert keep is not None
    carried = np.flatnonzero(~keep & below[graph.data.node] & ancestry[graph.data.rows])
    pairs = zip(graph.data.node[carried].tolist(), graph.data.port[carried].tolist(), strict=True)
    return [f"{graph.names[o]}:{port}" for o, port in dict.fromkeys(pairs)]


def _shortest_chain(graph: Graph, cause: Cause, number: int) -> list[int]:
    """Returns a shortest path of ops from an op to an end: along consumers, or for `descendants` along inputs."""
    if cause.ends is None:
        return []
    if cause.ends[number]:
        return [number]
    for within in [cause.within, None] if cause.within is not None else [None]:
        way = _search(graph, cause, number, within)
        if way:
            # If there are two shortest paths, the path without control edges is the better reason.
            plain = _search(graph, replace(cause, control=False), number, within) if cause.control else []
            return plain if len(plain) == len(way) else way
    return []


def _search(graph: Graph, cause: Cause, number: int, within: Mask | None) -> list[int]:
    assert cause.ends is not None
    row, col = walk_edges(graph, uncut_edges(graph, cause.stop_tensors), cause.control, within)
    return shortest(*((col, row) if cause.upstream else (row, col)), number, cause.ends)


def _links(graph: Graph, path: list[int], cause: Cause) -> tuple[PathStep, ...]:
    return tuple(
        link_between(graph, *(pair if cause.upstream else pair[::-1]), cause.stop_tensors) for pair in pairwise(path)
    )


def link_between(graph: Graph, source: int, target: int, cuts: frozenset[Tensor] = frozenset()) -> PathStep:
    """Returns the step in which an op reads another op, except for cut tensors; otherwise a control step."""
    for at, (op, port) in enumerate(graph.data.ends(target)):
        if op == source and (source, port) not in cuts:
            return PathStep(graph.names[source], graph.names[target], f"{graph.names[source]}:{port}", at)
    return PathStep(graph.names[source], graph.names[target])


def _shorten(links: tuple[PathStep, ...]) -> list[str]:
    lines = [f"  {link}" for link in links]
    if len(lines) <= _MAX_LINKS:
        return lines
    half = _MAX_LINKS // 2
    return [*lines[:half], f"  … {counted(len(lines) - 2 * half, 'steps')} more …", *lines[-half:]]
