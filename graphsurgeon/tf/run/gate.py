"""Gate: the one place that makes sessions. A graph from a file with ops that reach out of it first needs trust."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...errors import TrustError
from ...graph.live import TFGraph
from ...graph.pending import filled, pending
from ...graph.risks import Risks
from ...graph.trust import Origin, origins
from ..importing import tf
from ..open.snapshot import snapshot

tf1 = tf.compat.v1


def session_of(graph: TFGraph, target: str = "", config: Any = None, request: str = "session()") -> Any:
    """Returns a new session of a graph.

    Args:
        graph: the graph.
        target: ``"grpc://host:port"`` of a server, or empty for this process.
        config: a ConfigProto, or None.
        request: the request, for messages.

    Raises:
        TrustError: the graph came from a file, has ops that reach out of it, and was not trusted.
    """
    refuse_untrusted(graph, request)
    return tf1.Session(target, graph=graph, config=config)


def refuse_untrusted(graph: TFGraph, request: str) -> None:
    """Refuses to run a graph that came from a file, has ops that reach out of it, and was not trusted.

    Raises:
        TrustError: the graph is such a graph; the message names the ops.
    """
    found = distrusted(graph)
    if found:
        raise TrustError(request, found, INSTEAD)


#: The suggestion for a graph that is not trusted.
INSTEAD = "ed.risks() describes these ops. If you trust the file, call ed.trust(), or gs.open(..., trust=True)"


def distrusted(graph: TFGraph) -> str:
    """Returns a sentence with the reason why a graph may not run; empty if it may."""
    for one, left in _reaching_out(graph):
        if not one.trusted:
            return _sentence(one, left.words)
    return ""


def reaches_out(graph: TFGraph) -> bool:
    """Returns whether a graph came from a file and still has ops of it that reach out, trusted or not."""
    return next(_reaching_out(graph), None) is not None


def _reaching_out(graph: TFGraph) -> Iterator[tuple[Origin, Risks]]:
    """Yields the files from which a graph still has ops that reach out of it, with the risks of these ops."""
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
    return f"{origin.title} came from a file that you have not trusted yet: it holds {words}"
