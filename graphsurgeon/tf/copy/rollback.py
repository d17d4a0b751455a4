"""Atomic: what Python keeps beside the nodes of a graph, put back as it was when a plan fails."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from ..functions.library import adopt
from ..private import all_collections, function_names, names_in_use, outside_contexts
from .imports import adopt_ops

_GUARDS = ("_unfetchable_ops", "_unfeedable_tensors")


class Held:
    """What a live graph holds now beside its nodes. TensorFlow takes the nodes of a plan all or none, for good.

    Args:
        graph: a `tf.Graph`.
    """

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._size = len(graph.get_operations())
        self._collections = {name: list(items) for name, items in all_collections(graph).items()}
        self._names = dict(names_in_use(graph))
        self._functions = frozenset(function_names(graph))
        self._guards = {name: list(getattr(graph, name, ())) for name in _GUARDS}
        self._callbacks = list(getattr(graph, "_py_funcs_used_in_graph", ()))

    def put_back(self, scopes: Iterable[str] = ()) -> list[str]:
        """Makes the graph what it was, but for ops that have come in.

        Args:
            scopes: the scopes of the plan; they stay taken where ops have come in.

        Returns:
            the names of these ops. They keep the functions they call: TensorFlow runs nothing of a graph in which
            any op calls an unknown one.
        """
        graph = self._graph
        with outside_contexts(graph):
            adopt_ops(graph)
        orphans = [str(op.name) for op in graph.get_operations()[self._size :]]
        self._put_back_collections()
        self._put_back_names([*orphans, *scopes] if orphans else [])
        if orphans:
            with suppress(Exception):
                adopt(graph, graph.as_graph_def().library)
            return orphans
        for name in [n for n in function_names(graph) if n not in self._functions]:
            graph._remove_function(name)
        return []

    def _put_back_collections(self) -> None:
        graph, lists = self._graph, all_collections(self._graph)
        for name in [n for n in lists if n not in self._collections]:
            del lists[name]
        for name, items in self._collections.items():
            lists.setdefault(name, [])[:] = items
        for name, items in self._guards.items():
            guards = getattr(graph, name, None)
            if guards is not None and len(guards) != len(items):
                guards.clear()
                for item in items:
                    guards.add(item)
        if len(getattr(graph, "_py_funcs_used_in_graph", ())) != len(self._callbacks):
            graph._py_funcs_used_in_graph = self._callbacks

    def _put_back_names(self, burnt: list[str]) -> None:
        names = names_in_use(self._graph)
        names.clear()
        names.update({name.lower(): 1 for name in burnt if name} | self._names)


@contextmanager
def all_or_nothing(graph: Any) -> Iterator[None]:
    """Puts back what the block has changed, if it fails."""
    held = Held(graph)
    try:
        yield
    except BaseException:
        held.put_back()
        raise
