"""The ops and tensors to run and to feed, from names and objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ...errors import SelectionError
from ...graph.names import tensor_name
from ...graph.types import TFGraph
from ..open.snapshot import snapshot

Translate = Callable[[Any], Any]


def resolve_fetches(obj: Any, request: str, graph: TFGraph, title: str, translate: Translate | None = None) -> Any:
    """Returns the ops and tensors to run, in the given structure; names are replaced by ops and tensors.

    Args:
        obj: a name, an op, tensor or variable, or a structure of these, as for `Session.run`.
        request: the request, for messages; the name replaces ``{}``.
        graph: the graph of the run.
        title: the name of the graph in messages.
        translate: a function that returns the counterpart of an object of another graph; None if there are none.

    Raises:
        SelectionError: a name does not exist (the message proposes similar names), or an object is of another graph.
    """
    if isinstance(obj, Mapping):
        return {key: resolve_fetches(value, request, graph, title, translate) for key, value in obj.items()}
    if isinstance(obj, (list, tuple)):
        items = [resolve_fetches(item, request, graph, title, translate) for item in obj]
        return type(obj)(*items) if hasattr(obj, "_fields") else type(obj)(items)
    if isinstance(obj, str):
        with suppress(KeyError, ValueError):
            return graph.as_graph_element(obj)
        base = snapshot(graph, title=title)
        (base.tensor if ":" in obj else base.find)(obj, request.format(repr(obj)))
        return graph.as_graph_element(obj)
    other = getattr(obj, "graph", graph)
    if other is None or other is graph:
        return obj
    if translate is not None:
        return translate(obj)
    name = getattr(obj, "name", type(obj).__name__)
    problem = f"{name!r} is an object of another graph, not of {title}"
    raise SelectionError(request.format(repr(name)), problem, "Give the object of this graph, or its name as text")


def resolve_feeds(
    feeds: Any, request: str, graph: TFGraph, title: str, translate: Translate | None = None
) -> dict[Any, Any]:
    """Returns the feeds, tensor -> value; arguments as in `resolve_fetches`.

    Raises:
        SelectionError: as in `resolve_fetches`; or the feeds are not a mapping.
    """
    if feeds is not None and not isinstance(feeds, Mapping):
        problem = f"{type(feeds).__name__} is not a mapping"
        raise SelectionError(request.format("feeds=..."), problem, "Give {'x:0': array}")
    items = ((tensor_name(key) if isinstance(key, str) else key, value) for key, value in (feeds or {}).items())
    return {resolve_fetches(key, request, graph, title, translate): value for key, value in items}
