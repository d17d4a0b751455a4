"""Rollback: restores what Python keeps in addition to the nodes of a graph, if a plan fails.

Nodes cannot be removed again. So append.py does all that can fail before it makes any.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from ...graph.live import TFGraph
from ...plan.copied import Copied
from ..functions.library import adopt
from ..private.c_api import adopt_ops
from ..private.contexts import outside_contexts
from ..private.eager import held_mode
from ..private.functions import functions_of, remove_function
from ..private.graphs import (
    all_collections,
    callbacks,
    free_lock,
    guarded_ops,
    guarded_tensors,
    names_in_use,
    set_callbacks,
)


class Held:
    """The current state of a live graph apart from its nodes. TensorFlow adds all nodes of a plan, or none.

    Args:
        graph: a `tf.Graph`.
    """

    def __init__(self, graph: TFGraph) -> None:
        self._graph = graph
        self._put_back_mode = held_mode()
        self._size = len(graph.get_operations())
        self._collections = {name: list(items) for name, items in all_collections(graph).items()}
        self._names = dict(names_in_use(graph))
        self._functions = frozenset(functions_of(graph))
        self._guards = [list(guarded or ()) for guarded in _guards(graph)]
        self._callbacks = callbacks(graph)

    def put_back(self, copies: Sequence[Copied] | None = None) -> list[str]:
        """Restores the graph, except for ops that were added.

        Args:
            copies: the copies of the plan: if ops were added, their scopes stay taken. Default: not known.

        Returns:
            the names of the added ops. They keep the functions they call: TensorFlow cannot run any op of a graph in
            which an op calls an unknown function.
        """
        self._put_back_mode()
        graph = self._graph
        free_lock(graph)
        with outside_contexts(graph):
            adopt_ops(graph)
        orphans = [str(op.name) for op in graph.get_operations()[self._size :]]
        self._put_back_collections()
        self._put_back_names([*orphans, *(c.step.to for c in copies or ())] if orphans else [])
        if orphans:
            # If memory is short for the whole graph, TensorFlow may keep it locked for ever.
            if copies is None or any(functions_of(c.source.live) for c in copies):
                with suppress(Exception):
                    adopt(graph, graph.as_graph_def().library)
            return orphans
        for name in [n for n in functions_of(graph) if n not in self._functions]:
            remove_function(graph, name)
        return []

    def _put_back_collections(self) -> None:
        graph, lists = self._graph, all_collections(self._graph)
        for name in [n for n in lists if n not in self._collections]:
            del lists[name]
        for name, items in self._collections.items():
            lists.setdefault(name, [])[:] = items
        for guards, items in zip(_guards(graph), self._guards, strict=True):
            if guards is not None and len(guards) != len(items):
                guards.clear()
                for item in items:
                    guards.add(item)
        set_callbacks(graph, self._callbacks)

    def _put_back_names(self, burnt: list[str]) -> None:
        names = names_in_use(self._graph)
        names.clear()
        names.update({name.lower(): 1 for name in burnt if name} | self._names)


def _guards(graph: TFGraph) -> tuple[Any, Any]:
    return guarded_ops(graph), guarded_tensors(graph)


@contextmanager
def all_or_nothing(graph: TFGraph) -> Iterator[None]:
    """Restores the state before the block if the block fails."""
    held = Held(graph)
    try:
        yield
    except BaseException:
        held.put_back()
        raise
