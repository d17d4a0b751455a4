"""Naming: the names that a copy gets: the old ones under another scope, made unique as TensorFlow does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from ..graph.live import TFGraph
from ..graph.names import free_name
from ..tf import elements
from . import util


def unique_name(graph: TFGraph, name: str) -> str:
    """Returns a name, or the first of ``name_1``, ``name_2`` ... that no op or scope of a graph has."""
    return free_name(name, partial(elements.is_name_taken, graph), as_tensorflow=True)


class Names(Mapping[str, str]):
    """Source op -> name of its copy; source tensor -> name of the placeholder that stands for it.

    Args:
        info: the `TmpInfo`.
        fresh: nothing is in the destination scope yet.
    """

    def __init__(self, info: Any, fresh: bool) -> None:
        self._info, self._fresh = info, fresh
        self._known: dict[str, str] = {}
        self._given: set[str] = set()
        ops = sorted(info.sgv.ops, key=elements.number_of)
        if fresh and not info.scope:  # as unique as they are in the source
            self._known = {op.name: info.scope_ + op.name for op in ops}
            self._given = set(map(str.lower, self._known.values()))
            return
        for op in ops:
            self._known[op.name] = self._unique(info.new_name(op.name))

    def _unique(self, wish: str) -> str:
        def taken(name: str) -> bool:
            there = not self._fresh and elements.is_name_taken(self._info.graph_, name)
            return name.lower() in self._given or there

        name = free_name(wish, taken, as_tensorflow=True)
        self._given.add(name.lower())
        return name

    def __getitem__(self, key: str) -> str:
        """Returns the name; of an op outside the view, that comes along with it, too."""
        if key not in self._known:
            info = self._info
            op, colon, port = key.partition(":")
            if colon:
                wish = util.named_placeholder(op, int(port), info.scope_)
            else:
                wish = info.scope_ + op.removeprefix(info.scope)
            self._known[key] = self._unique(wish)
        return self._known[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
