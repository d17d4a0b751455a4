"""Fetches: what people name to be run and fed, looked up before TensorFlow sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ...errors import SelectionError
from ...graph.live import TFGraph
from ...graph.names import tensor_name
from ..open.snapshot import snapshot

Moved = Callable[[Any], Any]


def fetched(thing: Any, asked: str, graph: TFGraph, title: str, moved: Moved | None = None) -> Any:
    """Returns what is to be run, in the structure that it was given in, with each name looked up.

    Args:
        thing: a name, an op, tensor or variable, or a structure of these, as `Session.run` takes them.
        asked: the request, for messages: ``{}`` stands for the name.
        graph: the graph it is run in.
        title: what the graph is called in messages.
        moved: gives what an object of another graph stands for here; None where there is no such thing.

    Raises:
        SelectionError: there is nothing of this name, and the nearest names are proposed; or an object is of another
            graph.
    """
    if isinstance(thing, Mapping):
        return {key: fetched(value, asked, graph, title, moved) for key, value in thing.items()}
    if isinstance(thing, (list, tuple)):
        found = [fetched(item, asked, graph, title, moved) for item in thing]
        return type(thing)(*found) if hasattr(thing, "_fields") else type(thing)(found)
    if isinstance(thing, str):
        with suppress(KeyError, ValueError):
            return graph.as_graph_element(thing)
        known = snapshot(graph, title=title)
        (known.tensor if ":" in thing else known.find)(thing, asked.format(repr(thing)))
        return graph.as_graph_element(thing)
    other = getattr(thing, "graph", graph)
    if other is None or other is graph:
        return thing
    if moved is not None:
        return moved(thing)
    name = getattr(thing, "name", type(thing).__name__)
    wrong = f"{name!r} is an object of another graph, not of {title}"
    raise SelectionError(asked.format(repr(name)), wrong, "Give the one of this graph, or its name as text")


def fed(feeds: Any, asked: str, graph: TFGraph, title: str, moved: Moved | None = None) -> dict[Any, Any]:
    """Returns what is to be fed, tensor -> value; as `fetched`.

    Raises:
        SelectionError: as `fetched`; or this is not a mapping.
    """
    if feeds is not None and not isinstance(feeds, Mapping):
        asked = asked.partition("(")[0]
        raise SelectionError(f"{asked}(feeds=...)", f"{type(feeds).__name__} is not a mapping", "Give {'x:0': array}")
    named = ((tensor_name(key) if isinstance(key, str) else key, value) for key, value in (feeds or {}).items())
    return {fetched(key, asked, graph, title, moved): value for key, value in named}
