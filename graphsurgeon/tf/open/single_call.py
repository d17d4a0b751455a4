"""Unwrapping: a graph that is nothing but a call, as a signature's is, as what the call computes."""

from __future__ import annotations

from collections.abc import Iterable

from ...graph.graph import Graph
from ...graph.live import TFGraph
from ..functions.inline import Inlined, Inlining
from .snapshot import snapshot


def unwrapped(graph: TFGraph, outputs: Iterable[str]) -> Inlined:
    """Returns a graph that is nothing but a call, as that of a signature, as what the call computes.

    Args:
        graph: the `tf.Graph`; it stays as it is.
        outputs: names of its result tensors.

    Returns:
        the new graph, with its ops under their names in the called function; the results under `tensors`.
    """
    found = Inlined(graph, {name: name for name in outputs})
    while True:
        base = snapshot(found.graph)
        ends = {name: _through(base, name, "Identity") for name in found.tensors.values()}
        work = Inlining(base, deep=False)
        doers = {base.names[op] for op, _ in ends.values()}
        call = doers.pop() if len(doers) == 1 else ""
        if not call or work.calls.obstacle(base.nodes[base.index[call]]):
            return found
        steps = {name for tensor in ends for name in _chain(base, tensor)}
        waiting = {i for i, kind in enumerate(base.types) if kind == "NoOp"}
        steps |= {base.names[i] for i in waiting if _read_by(base, i) <= steps}
        deeper = work.done({call}, flat=True, drop=steps)
        texts = {tensor: f"{base.names[op]}:{port}" for tensor, (op, port) in ends.items()}
        moved = {key: deeper.tensors[texts[name]] for key, name in found.tensors.items()}
        found = Inlined(deeper.graph, moved)


def _read_by(base: Graph, op: int) -> set[str]:
    readers = [*base.consumers.row(op).tolist(), *base.control_consumers.row(op).tolist()]
    return {base.names[i] for i in readers}


def _chain(base: Graph, tensor: str) -> list[str]:
    """The Identity ops between a result and what computes it."""
    op, _ = base.tensor(tensor)
    found = []
    while base.types[op] == "Identity":
        found.append(base.names[op])
        op, _ = base.tensor(base.input_names(op)[0])
    return found


def _through(base: Graph, tensor: str, kind: str) -> tuple[int, int]:
    op, port = base.tensor(tensor)
    while base.types[op] == kind:
        op, port = base.tensor(base.input_names(op)[0])
    return op, port
