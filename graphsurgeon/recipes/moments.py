"""Moments: the mean and the variance of a batch, as single ops, and the variables that keep their averages."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import PlanError
from ..graph.graph import Mask
from ..graph.names import free_name
from ..graph.traversal import backward, met_from
from ..graph.variables import VARIABLE_TYPES
from ..plan.plan import Plan
from ..words import few
from .constants import constant
from .subject import ASSIGNS, Subject, loosened

#: Ops between the statistics of a batch and the op that keeps their average.
_AVERAGED = frozenset({"Add", "AddV2", "Cast", "Identity", "Mul", "RealDiv", "Reshape", "Squeeze", "Sub", "Switch"})
#: Ops that forward the same numbers, in another shape or dtype.
_SAME = frozenset({"Cast", "ExpandDims", "Identity", "Reshape", "Squeeze", "StopGradient"})
_REDUCED = frozenset({"Mean", "Sum"})
#: Ops between a batch and its moments.
_COMPUTED = _AVERAGED | _SAME | _REDUCED | {"DivNoNan", "Maximum", "Neg", "Select", "SelectV2", "Square",
                                           "SquaredDifference"}  # fmt: skip
#: Ops between an average and the averaged tensor.
_KEPT = _AVERAGED | {"DivNoNan", "Select", "SelectV2", "StopGradient"}
_ROOTS = ("Pow", "Rsqrt", "Sqrt")
#: Ops between a variance and its root.
_PADDED = _SAME | {"Add", "AddV2", "Maximum"}
#: Ops between a variance and the squares that it is the mean of.
_SPREAD = _SAME | _REDUCED | {"DivNoNan", "Mul", "RealDiv"}

Tensor = tuple[int, int]


@dataclass(frozen=True)
class Averages:
    """The averaged tensors: tensor -> the variables that keep its average, and those that only lead to others."""

    kept: dict[Tensor, set[int]] = field(default_factory=lambda: defaultdict(set))
    between: dict[Tensor, set[int]] = field(default_factory=lambda: defaultdict(set))

    def of(self, tensor: Tensor) -> set[int]:
        return self.kept.get(tensor, set()) - self.between.get(tensor, set())


def settle_moments(found: Subject, plan: Plan, needed: Mask, averages: Averages) -> Plan:
    """Makes ops that normalize by a mean and a variance of the batch, as single ops, read the averages of these.

    Args:
        found: the subject of the recipe.
        plan: the plan to add to, with the names after its steps.
        needed: mask of the ops to examine.
        averages: the averages in the graph.

    Raises:
        PlanError: if no variable keeps an average of one.
    """
    graph = found.graph
    roots = [op for op in found.typed(*_ROOTS) if needed[op]]
    moved: dict[str, str] = {}
    fitted: list[tuple[str, str, list[str]]] = []
    for root in roots:
        ways = _back(found, found.reads(root)[0], _PADDED)
        variance = next((one for one in ways if _is_batch(found, one, averages)), None)
        if variance is None:
            _see(found, root, ways)
            continue
        cone = _back(found, variance, _COMPUTED)
        own = averages.of(variance)
        centres = [one for op, _ in cone for _, centre in _centred(found, op) for one in _back(found, centre, _SAME)]
        mean = next((one for one in centres if averages.of(one) - own and _is_batch(found, one, averages)), None)
        if mean is None:
            raise _unkept(found, root, "its mean is averaged into no variable", [("variance", variance)])
        ends = [("mean", mean), ("variance", variance)]
        inside = {op for op, _ in cone}
        for (what, tensor), kept in zip(ends, (averages.of(mean) - own, own), strict=True):
            reads = averages_read(found, kept)
            if len(reads) != 1:
                why = f"its {what} is averaged into {few(reads) if reads else 'no variable'}"
                raise _unkept(found, root, why, ends)
            _follow(found, tensor, reads[0], inside, moved, fitted)
    if not moved and not fitted:
        return plan
    taken = set[str]()
    for old, average, readers in fitted:
        wish = f"{old.partition(':')[0]}_kept"
        name = free_name(wish, lambda one: one in taken or graph.taken(one))
        taken.add(name)
        plan = plan.adapt(average, to=old, by="reshape", name=name, only=readers)
    plan = plan.reroute(moved) if moved else plan
    left = [old.partition(":")[0] for old in [*moved, *(old for old, *_ in fitted)]]
    return loosened(plan, graph, left, found.ends)


def averages_read(found: Subject, kept: set[int]) -> list[str]:
    """Returns the tensors that read some variables."""
    return [tensor for variable in sorted(kept) if (tensor := found.read(variable))]


def averaged(found: Subject) -> Averages:
    """Returns the averages and their variables, found from the ops that assign to the variables."""
    graph, out = found.graph, Averages()

    def ahead(tensor: Tensor) -> list[Tensor]:
        kept = found.reads(tensor[0]) if graph.types[tensor[0]] in _KEPT else []
        return kept + [found.reads(one)[1] for one in _assigned(found, tensor[0])]  # an average without its bias

    for op in found.typed(*ASSIGNS):
        reads = found.reads(op)
        variable = reads[0][0]
        if graph.types[variable] not in VARIABLE_TYPES or len(reads) < 2:
            continue
        above = met_from([reads[1]], ahead)
        between = {found.reads(one)[0][0] for tensor in above for one in _assigned(found, tensor[0])}
        for tensor in above:
            out.kept[tensor].add(variable)
            out.between[tensor] |= between - {variable}
    return out


def _assigned(found: Subject, op: int) -> list[int]:
    """The ops that assign the output of an op: the op itself, or those that a read of their variable waits for."""
    graph = found.graph
    if graph.types[op] in ASSIGNS:
        return [op]
    assigns = [one for one in graph.control.row(op).tolist() if graph.types[one] in ASSIGNS]
    return [one for one in assigns if found.reads(one)[0] in found.reads(op)]


def _back(found: Subject, tensor: Tensor, through: frozenset[str]) -> list[Tensor]:
    """A tensor and the tensors it is computed from through some types of ops, the nearest first."""
    out, seen = [tensor], {tensor}
    for one in out:
        if found.graph.types[one[0]] in through:
            new = [ahead for ahead in dict.fromkeys(found.reads(one[0])) if ahead not in seen]
            seen.update(new)
            out += new
    return out


def _is_batch(found: Subject, tensor: Tensor, averages: Averages) -> bool:
    """Whether a tensor is averaged, and computed from sums but not from a variable that keeps its average."""
    kept = averages.of(tensor)
    if not kept:
        return False
    cone = {op for op, _ in _back(found, tensor, _COMPUTED)}
    read = {ahead for op in cone for ahead in (op, *found.graph.data.row(op).tolist())}
    return not kept & read and any(found.graph.types[op] in _REDUCED for op in cone)


def _unkept(found: Subject, root: int, why: str, ends: list[tuple[str, Tensor]]) -> PlanError:
    problem = f"{found.graph.names[root]!r} normalizes by the statistics of the batch, and {why}"
    old = ", ".join(f"{found.graph.name(tensor)!r}: {what}" for what, tensor in ends)
    suggestion = "Open the model for inference, gs.open(model, training=False); or connect the averages yourself, "
    return found.refused(problem, f"{suggestion}plan.reroute({{{old}}})")


def _follow(
    found: Subject, tensor: Tensor, average: str, inside: set[int], moved: dict[str, str],
    fitted: list[tuple[str, str, list[str]]],
) -> None:  # fmt: skip
    """Collects, for the consumers of a statistic in any shape, how they will read the average.

    Args:
        found: the subject of the recipe.
        tensor: the statistic.
        average: the tensor that reads the average.
        inside: the ops that compute the moments.
        moved: statistic -> average, of the same shape; the function adds to it.
        fitted: (statistic, average, consumers) if the shape differs; the function adds to it.
    """
    graph = found.graph
    while graph.types[tensor[0]] in _SAME:
        tensor = found.reads(tensor[0])[0]
    wanted, todo = graph.info(*graph.tensor(average)), [tensor]
    while todo:
        one = todo.pop()
        info = graph.info(*one)
        if info is not None and wanted is not None and (info.dtype, info.shape) == (wanted.dtype, wanted.shape):
            moved[graph.name(one)] = average
            continue
        readers = [op for op, _ in found.readers(*one)]
        handing = [op for op in readers if graph.types[op] in _SAME]
        todo += [(op, 0) for op in handing]
        others = [graph.names[op] for op in dict.fromkeys(readers) if op not in inside and op not in handing]
        fitted += [(graph.name(one), average, others)] if others else []


def _centred(found: Subject, op: int) -> list[tuple[Tensor, Tensor]]:
    """(data, center) of the difference that an op squares, in either order of the inputs."""
    types, reads = found.graph.types, found.reads(op)
    if types[op] == "SquaredDifference":
        return [(reads[0], reads[1]), (reads[1], reads[0])]
    if not _is_square(found, op):
        below = [found.reads(one)[0] for one, _ in reads[1:2] if types[op] == "Sub" and _is_square(found, one)]
        return [(reads[0], centre) for centre in below]  # the mean of squares less the square of the mean
    inner = reads[0][0]
    return [(found.reads(inner)[0], found.reads(inner)[1])] if types[inner] == "Sub" else []


def _is_square(found: Subject, op: int) -> bool:
    kind, reads = found.graph.types[op], found.reads(op)
    return kind == "Square" or (kind == "Mul" and reads[0] == reads[1])


def _see(found: Subject, root: int, ways: list[Tensor]) -> None:
    """Raises if a root is taken of a variance of the batch and no variable keeps the average of the variance."""
    graph = found.graph
    variances = [way for way in ways if graph.types[way[0]] not in _PADDED]
    spread = [(way, one) for way in variances for one, _ in _back(found, way, _SPREAD)]
    for way, op, (data, centre) in [(way, one, ends) for way, one in spread for ends in _centred(found, one)]:
        near = _back(found, centre, _SAME)[-1]
        sums = [one for one, _ in _back(found, near, _SPREAD) if graph.types[one] in _REDUCED]
        below = {one for read in sums for one in _back(found, found.reads(read)[0], _COMPUTED)}
        again = below & {data, *(_back(found, data, _COMPUTED) if graph.types[op] == "Sub" else ())}
        if again and any(_over_batch(found, one) for one in sums) and _is_fed(found, data[0]):
            raise _unkept(found, root, "no variable keeps an average of them", [("mean", near), ("variance", way)])


def _over_batch(found: Subject, mean: int) -> bool:
    """Whether a mean is over the first axis and keeps another axis: for each channel, not for each example."""
    data, axes = found.reads(mean)
    over, info = constant(found, axes), found.graph.info(*data)
    rank = None if info is None or info.shape is None else len(info.shape)
    if over is None:
        return False
    at: set[Any] = {int(axis) if axis >= 0 or rank is None else int(axis) + rank for axis in np.ravel(over)}
    return 0 in at and (rank is None or len(at) < rank)


def _is_fed(found: Subject, op: int) -> bool:
    """Whether the output of an op depends on more than constants and variables."""
    graph = found.graph
    first = backward(graph, graph.mask([op]), control=False) & (graph.data.degrees == 0)
    return bool((first & ~graph.typed(("Const", *VARIABLE_TYPES))).any())
