"""What a detach step does: placeholders feed ops, or feed their consumers."""

from __future__ import annotations

from collections.abc import Iterator

from ...errors import PlanError
from ...graph.boundary import Tensor
from ...graph.graph import TensorInfo
from ...graph.names import free_name
from ..delta import Delta
from ..effect import NewNode
from ..mismatch import bare
from ..step_code import request_of
from ..steps import DetachStep
from ..tally import Tally
from .rewire import ops_of, rewire


def detach(step: DetachStep, so_far: Tally) -> Iterator[Delta]:
    """Makes the placeholders and sets the inputs."""
    request, graph = request_of(step), so_far.bench
    ops, only, exclude = ops_of(so_far, request, step.ops, step.only or (), step.exclude)
    inside, limited, cut = set(ops), step.only is not None or bool(exclude), False
    for side in ("inputs", "outputs") if step.side == "both" else (step.side,):
        rows = inside if side == "inputs" else {op for one in inside for op in graph.reading(one)} - inside
        rows = (rows if step.only is None else rows & set(only)) - set(exclude)
        edges: dict[Tensor, list[tuple[int, int]]] = {}
        for op in sorted(rows):
            for at, tensor in enumerate(graph.row(op)):
                if (tensor[0] in inside) == (side == "outputs"):
                    edges.setdefault(tensor, []).append((op, at))
        for tensor, readers in edges.items():
            cut = True
            info = graph.info(*tensor) or TensorInfo("float32", None)
            name = free_name(f"{graph.names[tensor[0]]}_{tensor[1]}_detached", graph.taken)
            held = {"dtype": bare(info.dtype), "shape": info.shape}
            new = graph.size, 0
            yield Delta(nodes=[NewNode(name, "Placeholder", (), held, TensorInfo(bare(info.dtype), info.shape))])
            yield rewire(so_far, request, [(op, at, new) for op, at in readers])
    if limited and not cut:
        raise PlanError(request, "no op that is meant reads a tensor there, so nothing would change", "Widen only=")
