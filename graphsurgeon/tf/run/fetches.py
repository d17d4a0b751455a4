"""Fetches: looks up the ops and tensors of a run by name before TensorFlow gets them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ...errors import SelectionError
from ...graph.live import TFGraph
from ...graph.names import tensor_name
from ..open.snapshot import snapshot

Moved = Callable[[Any], Any]


def fetched(thing: Any, request: str, graph: TFGraph, title: str, moved: Moved | None = None) -> Any:
    """Returns the ops and tensors to run, in the given structure, with each name looked up.

    Args:
        thing: a name, an op, tensor or variable, or a structure of these, in the form of `Session.run`.
        request: the request, for messages; the name replaces ``{}``.
        graph: the graph of the run.
        title: the name of the graph in messages.
        moved: returns the counterpart of an object of another graph, if there may be one.

    Raises:
        SelectionError: a name does not exist (the message proposes similar names), or an object is of another graph.
    """
    if isinstance(thing, Mapping):
        return {key: fetched(value, request, graph, title, moved) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        found = [fetched(item, request, graph, title, moved) for item in thing]
        return type(thing)(*found) if hasattr(thing, "_fields") else type(thing)(found)
    if isinstance(thing, str):
        with suppress(KeyError, ValueError):
            return graph.as_graph_element(thing)
        known = snapshot(graph, title=title)
        (known.tensor if ":" in thing else known.find)(thing, request.format(repr(thing)))
        return graph.as_graph_element(thing)
    other = getattr(thing, "graph", graph)
    if other is None or other is graph:
        return thing
    if moved is not None:
        return moved(thing)
    name = getattr(thing, "name", type(thing).__name__)
    problem = f"{name!r} is an object of another graph, not of {title}"
    raise SelectionError(request.format(repr(name)), problem, "Give the one of this graph, or its name as text")


def fed(feeds: Any, request: str, graph: TFGraph, title: str, moved: Moved | None = None) -> dict[Any, Any]:
    """Returns the feeds, tensor -> value; arguments as in `fetched`.

    Raises:
        SelectionError: as in `fetched`; or the feeds are not a mapping.
    """
    if feeds is not None and not isinstance(feeds, Mapping):
        problem = f"{type(feeds).__name__} is not a mapping"
        raise SelectionError(request.format("feeds=..."), problem, "Give {'x:0': array}")
    named = ((tensor_name(key) if isinstance(key, str) else key, value) for key, value in (feeds or {}).items())
    return {fetched(key, request, graph, title, moved): value for key, value in named}
