"""Search: find ops by name, pattern, type, dtype or shape in graphs of any size."""

from __future__ import annotations

import fnmatch
import re

import numpy as np

from ..errors import SelectionError
from .graph import Graph


def search(graph: Graph, query: str) -> list[str]:
    """Returns names of ops that fit all words of a query, best first; those that fit a pattern in graph order.

    Args:
        graph: the snapshot.
        query: words; ``op:Conv2D`` asks for a type, ``/regular expression/`` and patterns with ``*`` work on whole
            names, anything else is looked for inside names, with no regard to case.

    Raises:
        SelectionError: a regular expression does not compile.

    Example:
        >>> g = Graph.of([("net/conv1", "Conv2D", []), ("net/relu", "Relu", ["net/conv1"])])
        >>> search(g, "conv"), search(g, "op:Relu"), search(g, "net/*")
        (['net/conv1'], ['net/relu'], ['net/conv1', 'net/relu'])
    """
    hits = list(range(graph.size))
    words = query.split()
    for word in words:
        if word.lower().startswith(("op:", "type:")):
            wanted = word.partition(":")[2].lower()
            kinds = {k for k in set(graph.types) if fnmatch.fnmatchcase(k.lower(), wanted)}
            fits = np.isin(graph.type_array, sorted(kinds)) if kinds else np.zeros(graph.size, np.bool_)
            hits = [i for i in hits if fits[i]]
        elif len(word) > 2 and word[0] == word[-1] == "/":
            try:
                pattern = re.compile(word[1:-1])
            except re.error as error:
                raise SelectionError(
                    f"find({query!r})",
                    f"{word!r} is not a regular expression: {error}",
                    "Escape special characters with \\",
                ) from None
            hits = [i for i in hits if pattern.search(graph.names[i])]
        elif any(c in word for c in "*?"):
            pattern = re.compile(fnmatch.translate(word.lower()))
            hits = [i for i in hits if pattern.match(graph.names[i].lower())]
        else:
            low = word.lower().partition(":")[0]
            hits = [i for i in hits if low in graph.names[i].lower()]
    if not words:
        return []
    last = words[-1].lower()

    if any(c in last for c in "*?") or last.startswith(("op:", "type:", "/")):
        return [graph.names[i] for i in hits]

    def rank(i: int) -> tuple[int, int, int]:
        name = graph.names[i].lower()
        leaf = name.rpartition("/")[2]
        return (0 if name == last or leaf == last else 1 if leaf.startswith(last) else 2, len(name), i)

    return [graph.names[i] for i in sorted(hits, key=rank)]
