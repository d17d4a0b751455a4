"""Links: the names of ops and tensors in the messages about a plan, each with the pane that shows it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from ..graph.graph import Graph
from ..graph.names import op_name

_WORD = re.compile(r"""[^\s,;'"()\[\]]*[^\s,;'"()\[\].:]""")


def links(texts: Iterable[str], graphs: Mapping[str, Graph]) -> dict[str, list[list[str]]]:
    """Returns those of some texts that name ops, tensors or scopes, in parts.

    Args:
        texts: the messages.
        graphs: pane -> its graph; a name is a link to the first that has it.

    Returns:
        for each such text its parts, in order: words alone, or a name, its target and its pane.

    Example:
        >>> g = Graph.of([("a/x", "Placeholder", []), ("reader", "Neg", ["a/x"])])
        >>> links(["no reader: a/x:0", "no reader"], {"source": g})
        {'no reader: a/x:0': [['no reader: '], ['a/x:0', 'a/x', 'source']]}
    """
    return {text: parts for text in dict.fromkeys(texts) if len(parts := _parts(text, graphs)) > 1}


def _parts(text: str, graphs: Mapping[str, Graph]) -> list[list[str]]:
    found, end = [], 0
    for word in _WORD.finditer(text):
        if _is_name(text, *word.span()):
            name = op_name(word[0].removeprefix("^"))
            pane = next((pane for pane, graph in graphs.items() if _has(graph, name)), "")
            if pane:
                found += [[text[end : word.start()]]] if word.start() > end else []
                found.append([word[0], name, pane])
                end = word.end()
    return [*found, [text[end:]]] if end < len(text) else found


def _is_name(text: str, start: int, end: int) -> bool:
    """Whether a word is a name: it is in quotes, has a scope or an output, or is an entry of a list after a colon."""
    before, word, after = text[:start], text[start:end], text[end:]
    if "/" in word or ":" in word or before.endswith("'"):
        return True
    listed = before.endswith((": ", ", ", " and ")) and (after in ("", ".") or after.startswith((", ", " and ")))
    return listed and ": " in before


def _has(graph: Graph, name: str) -> bool:
    return name in graph.index or (name.endswith("/") and name[:-1] in graph.scopes.index)
