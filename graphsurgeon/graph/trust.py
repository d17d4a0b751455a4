"""Trust: which live graphs came from files, and whether the user has allowed these to run.

A file with ops that reach out of a graph has an `Origin`. A live graph has a list of its origins, which is passed on to
graphs that are made from it. Before a graph runs, its origins must be trusted.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

from .functions import called_by
from .graph import Graph
from .live import TFGraph
from .pending import Deferred, current
from .risks import Risks, risks
from .risky_ops import RISKY

_MARK = "graphsurgeon_origins"
_numbers = itertools.count()
_trusted: set[bytes] = set()


class Origin:
    """A file, or a proto, with ops that reach out of its graph.

    Args:
        read: the graph, as written in the file.

    Attributes:
        title: its title.
        key: a digest of its bytes, which identifies it.
        load: op -> what runs it when the graph is loaded.
        assets: the paths of files that belong to it.
    """

    def __init__(self, read: Graph) -> None:
        self._read, self.title, self.key = read, read.title, b"%d" % next(_numbers)
        self.load: Mapping[str, str] = {}
        self.assets: Collection[str] = ()

    @cached_property
    def risks(self) -> Risks:
        """The risks that need the user's permission before the file runs, as they are in the file."""
        found = risks(self._read, self.load, self.assets)
        del self._read  # it may be large
        return found

    @property
    def trusted(self) -> bool:
        """Whether the user has allowed it to run: these very bytes, in this process."""
        return self.key in _trusted

    def trust(self) -> None:
        """Notes that it may run, for as long as this process lives."""
        _trusted.add(self.key)

    def left_in(self, graph: Graph) -> Risks:
        """Returns the risks that remain in a graph with parts of this file, without op types that the file lacks."""
        found, own = risks(graph, self.load, self.assets), {one.type for one in (*self.risks, *self.risks.harmless)}
        return replace(found, items=tuple(one for one in found if one.type in own))


def may_reach_out(graph: Graph, ops: Iterable[int] | None = None) -> bool:
    """Returns whether there is an op in a graph, or in its functions, of a type that can reach out of it.

    Args:
        graph: the snapshot.
        ops: only these of its ops; one that calls a function may do what any of the functions does.

    Example:
        >>> may_reach_out(Graph.of([("a", "NoOp", [])])), may_reach_out(Graph.of([("w", "WriteFile", [])]))
        (False, True)
    """
    numbers = None if ops is None else list(ops)
    if not RISKY.keys().isdisjoint(graph.types if numbers is None else [graph.types[i] for i in numbers]):
        return True
    if not any(node.op in RISKY for function in graph.functions.values() for node in function.node_def):
        return False
    return numbers is None or any(called_by(graph.nodes[i], graph.functions) for i in numbers)


def origins(graph: TFGraph | Deferred) -> tuple[Origin, ...]:
    """Returns the origins of a live graph, including trusted ones."""
    found: tuple[Origin, ...] = getattr(current(graph), _MARK, ())
    return found


def note(graph: TFGraph | Deferred, found: Iterable[Origin]) -> None:
    """Adds these origins to those of a live graph."""
    setattr(current(graph), _MARK, tuple(dict.fromkeys([*origins(graph), *found])))


def forget(graph: TFGraph) -> None:
    """Removes the origins of a live graph."""
    setattr(current(graph), _MARK, ())


def hand_on(graph: TFGraph, *sources: Any) -> None:
    """Adds the origins of other graphs to a live graph that has ops from them."""
    if any(map(origins, sources)):
        note(graph, [one for source in sources for one in origins(source)])
