"""Remains: ops that still work as in training because no rule removes them, with the reason and a suggestion."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..graph.functions import CALLS
from ..graph.graph import Mask
from ..graph.traversal import forward, met_from
from ..graph.variables import FEED_TYPES
from ..words import few
from .batch_norm import NORMS, why_unfolded
from .constants import constant
from .subject import Subject, Tensor

#: Prefixes of op types that draw random numbers, and of op types with such a prefix that draw none.
_DRAWING = ("Multinomial", "Parameterized", "Random", "SampleDistorted", "Stateful", "Stateless", "TruncatedNormal")
_NOT_DRAWING = frozenset(
    {
        *("RandomDataset", "RandomDatasetV2", "RandomShuffleQueue", "RandomShuffleQueueV2", "StatefulPartitionedCall"),
        *("StatelessCase", "StatelessIf", "StatelessRandomGetAlg", "StatelessRandomGetKeyCounter"),
        *("StatelessRandomGetKeyCounterAlg", "StatelessWhile"),
    }
)
#: Ops that compute the size of a tensor and read none of its numbers.
_SIZES = ("Rank", "Shape", "ShapeN", "Size")
_ROOTS = frozenset({"Rsqrt", "Sqrt"})


class Remaining(NamedTuple):
    """An op that still works as in training.

    Args:
            text: a sentence about the behavior.
            suggestion: a suggestion.
    """

    text: str
    suggestion: str


def draws(kind: str) -> bool:
    """Returns whether ops of a type draw random numbers.

    Example:
        >>> draws("RandomUniform"), draws("StatelessRandomNormalV2"), draws("StatelessIf")
        (True, True, False)
    """
    return kind.startswith(_DRAWING) and kind not in _NOT_DRAWING


def remaining(found: Subject, needed: Mask, folded: bool) -> list[Remaining]:
    """Returns the ops of training that some outputs still need.

    Args:
        found: the graph, after all removals.
        needed: mask of the ops that the outputs need.
        folded: whether batch normalization was to be folded.
    """
    return [*_random(found, needed), *_unfolded(found, needed, folded)]


def _random(found: Subject, needed: Mask) -> list[Remaining]:
    graph, out = found.graph, []
    for op in np.flatnonzero(needed).tolist():
        name, kind = graph.names[op], graph.types[op]
        if draws(kind):
            out.append(Remaining(f"{name!r} ({kind}) still draws random numbers", _past(found, op, needed)))
        elif kind in CALLS and (inside := sorted(filter(draws, found.inside(op)))):
            text = f"the call {name!r} still draws random numbers, by {few(inside)}"
            out.append(Remaining(text, f"Open the call, ed = ed.inlined({name!r}), and repeat this"))
    return out


def _past(found: Subject, random: int, needed: Mask) -> str:
    """A suggestion to bypass random numbers, if one op combines them with a tensor."""
    graph = found.graph
    fed = forward(graph, graph.typed(FEED_TYPES), control=False, within=~graph.typed(_SIZES))
    below = forward(graph, graph.mask([random]), control=False, within=needed)
    for op in np.flatnonzero(below & fed).tolist():
        plain = [one for one in found.reads(op) if fed[one[0]] and not below[one[0]]]
        if len(plain) == 1 and found.readers(op) and graph.info(*plain[0]) == graph.info(op, 0):
            return f"Remove them: ed.plan().reroute({graph.name((op, 0))!r}, to={graph.name(plain[0])!r})"
        break
    return "Keep them if the model needs them; otherwise open the model for inference, gs.open(model, training=False)"


def _unfolded(found: Subject, needed: Mask, folded: bool) -> list[Remaining]:
    graph, out, variable = found.graph, [], []
    for op in [one for one in found.typed(*NORMS, "Mul") if needed[one]]:
        data = _normed(found, op)
        if data is None:
            continue
        name = f"{graph.names[op]!r} ({graph.types[op]})"
        if folded:
            why, suggestion = why_unfolded(found, op, data)
            out.append(Remaining(f"the batch normalization {name} is not folded: {why}", suggestion))
        else:
            variable.append(name)
    if variable:
        text = f"batch normalization is not folded into weights that are variables: {few(variable)}"
        out.append(Remaining(text, "Freeze first: ed = gs.recipes.frozen(ed, outputs)"))
    return out


def _normed(found: Subject, op: int) -> Tensor | None:
    """The tensor that an op normalizes by an average of each channel; None for other ops."""
    reads = found.reads(op)
    if found.graph.types[op] in NORMS:
        return reads[0]
    scaled = [at for at, side in enumerate(reads) if _is_scale(found, side)]
    other = reads[1 - scaled[0]] if len(scaled) == 1 else None
    return other if other is not None and constant(found, other) is None else None


def _is_scale(found: Subject, tensor: Tensor) -> bool:
    """Whether a tensor is divided by a deviation and does not depend on the inputs."""
    graph = found.graph
    above = met_from([tensor[0]], lambda op: graph.data.row(op).tolist())
    kinds = {graph.types[op] for op in above}
    return not _ROOTS.isdisjoint(kinds) and FEED_TYPES.isdisjoint(kinds)
