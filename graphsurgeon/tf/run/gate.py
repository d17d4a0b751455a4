"""Gate: the one place where sessions are made. What came from a file, and reaches out of it, first needs trust."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from ...errors import TrustError
from ...graph.live import TFGraph
from ...graph.pending import filled, pending
from ...graph.risks import Risks
from ...graph.trust import Origin, origins
from ..open.snapshot import snapshot

tf1 = tf.compat.v1


def session_of(graph: TFGraph, target: str = "", config: Any = None, asked: str = "session()") -> Any:
    """Returns a new session of a graph.

    Args:
        graph: the graph.
        target: ``"grpc://host:port"`` of a server, or empty for this process.
        config: a ConfigProto, or None.
        asked: the request, for messages.

    Raises:
        TrustError: the graph has come from a file, holds ops that reach out of it, and nobody has trusted it.
    """
    refuse_untrusted(graph, asked)
    return tf1.Session(target, graph=graph, config=config)


def refuse_untrusted(graph: TFGraph, asked: str) -> None:
    """Refuses to run what came from a file, holds ops that reach out of it, and is trusted by nobody.

    Raises:
        TrustError: it names the ops.
    """
    found = distrusted(graph)
    if found:
        raise TrustError(asked, found, INSTEAD)


#: What to type where a graph is not trusted.
INSTEAD = "ed.risks() tells what they do. Where you trust the file: ed.trust(), or gs.open(..., trust=True)"


def distrusted(graph: TFGraph) -> str:
    """Returns why a graph is not run, as a sentence; empty where it may be."""
    for one, left in _reaching_out(graph):
        if not one.trusted:
            return _sentence(one, left.words)
    return ""


def reaches_out(graph: TFGraph) -> bool:
    """Returns whether a graph came from a file and holds ops of it that reach out, trusted or not."""
    return next(_reaching_out(graph), None) is not None


def _reaching_out(graph: TFGraph) -> Iterator[tuple[Origin, Risks]]:
    """Yields the files that a graph came from and still holds ops of that reach out of it, with what these do."""
    strange = [one for one in origins(graph) if one.risks]
    if not strange:
        return
    waiting = pending(graph)
    now = waiting.read if waiting is not None and not filled(graph) else snapshot(graph)
    for one in strange:
        left = one.left_in(now)
        if left:
            yield one, left


def _sentence(origin: Origin, words: str) -> str:
    return f"{origin.title} came from a file, and nobody has said that it may run: it holds {words}"
