"""Batch normalization: make it read its moving averages, and fold it into the weights before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graph.graph import Mask
from ..graph.names import free_name
from ..graph.variables import VARIABLE_TYPES
from ..plan.plan import Plan
from ..words import few
from .constants import constant, unknowns
from .moments import Averages, averaged, averages_read, settle_moments
from .subject import Subject, Tensor, below, loosened, subject

NORMS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
#: Ops whose second input is their weights -> the axis of the weights that is the channel of the result.
_WEIGHTED = {"Conv2D": 3, "Conv2DBackpropInput": 2, "Conv3D": 4, "DepthwiseConv2dNative": 3, "MatMul": 1}
_SCALING = ("Mul", "RealDiv")
#: Ops of two inputs that can be merged with the weights before them.
_AFFINE = ("Add", "AddV2", "BiasAdd", "Sub", *_SCALING)


def settle_batch_norm(thing: Any) -> Plan:
    """Makes batch normalization read its moving averages, as in inference, instead of the statistics of the batch.

    The batch normalization may be one op, ``FusedBatchNorm``, or the single ops of Keras 3 and ``tf.nn.moments`` in
    training. The ops that average the mean and the variance of the batch identify the variables that hold the averages.
    These variables stay variables. Other consumers of the statistics read the averages too. Other ops, dtypes and
    shapes stay.

    Args:
        thing: an editor; or a plan, to add to.

    Raises:
        PlanError: if no batch normalization reads the statistics of the batch, or if no variable keeps the averages of
            one. The message names the op.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> v1 = tf.compat.v1
        >>> with tf.Graph().as_default() as graph:
        ...     x = v1.placeholder(tf.float32, [None, 2, 2, 1], name="x")
        ...     kept = [v1.get_variable(n, [1], use_resource=False) for n in ("mean", "variance")]
        ...     y, mean, variance = v1.nn.fused_batch_norm(x, [1.0], [0.0], name="bn")
        ...     learn = [v1.assign(a, 0.9 * a + 0.1 * b) for a, b in zip(kept, (mean, variance))]
        >>> plan = gs.recipes.settle_batch_norm(gs.open(graph))
        >>> plan.after().input_names(plan.after().index["bn"])[3:]
        ['mean/read:0', 'variance/read:0']
    """
    found = subject(thing, "settle_batch_norm()")
    made = settle(found, np.ones(found.graph.size, np.bool_))
    if made is found.plan:
        problem = "no batch normalization reads the statistics of the batch"
        raise found.refused(problem, "ed.select(op=['FusedBatchNorm*', 'Rsqrt']) lists the candidates")
    return made


def settle(found: Subject, needed: Mask) -> Plan:
    """Makes the batch normalizations among some ops read their averages; without any, returns the plan unchanged.

    Args:
        found: the subject of the recipe.
        needed: mask of the ops.

    Raises:
        PlanError: if no variable keeps the averages of one.
    """
    graph, plan = found.graph, found.plan
    norms = [op for op in found.typed(*NORMS) if needed[op] and _training(found, op)]
    averages = averaged(found)
    if not norms:
        return settle_moments(found, plan, needed, averages)
    names, empty = [graph.names[op] for op in norms], {one: None for op in norms for one in found.reads(op)[3:5]}
    ends = [(_average(found, averages, op, port), graph.names[op], port + 2) for op in norms for port in (1, 2)]
    # In training this input has no elements. It accepts an input of any size until the average is read.
    plan = plan.insert(lambda c: c[c > 0], on=[graph.name(one) for one in empty], name="any_size", only=names)
    made = [name for name in plan.after().names if name not in graph.index]
    read = {}
    for average, name, at in ends:
        plan = plan.connect(average, to=name, input=at)
        if found.readers(graph.index[name], at - 2):  # in inference the op forwards its averages
            read[f"{name}:{at - 2}"] = average
    plan = plan.reroute(read) if read else plan
    return settle_moments(found, plan.remove(made).set_attr(names, "is_training", False), needed, averages)


def _training(found: Subject, op: int) -> bool:
    held = found.graph.nodes[op].attr
    return bool(held["is_training"].b) if "is_training" in held else True


def _average(found: Subject, averages: Averages, op: int, port: int) -> str:
    """The tensor that reads the variable with the average of one output of a batch normalization."""
    reads = averages_read(found, averages.of((op, port)))
    if len(reads) != 1:
        what = ("mean", "variance")[port - 1]
        name = found.graph.names[op]
        kept_by = few(reads) if reads else "no variable"
        problem = f"{name!r} normalizes by the statistics of the batch, and its {what} is averaged into {kept_by}"
        how = f"Connect the averages yourself: plan.connect(mean, to={name!r}, input=3), the variance as input=4, and "
        raise found.refused(problem, f"{how}plan.set_attr({name!r}, 'is_training', False)")
    return reads[0]


@dataclass(frozen=True)
class _Chain:
    """Ops after some weights that can be merged with the weights.

    Args:
        op: the op that has the weights.
        rest: the ops after it, in order.
        weights: the factor of the weights.
        scale, offset: the scale and the offset of each channel in the other ops.
        shape: the shape in which the offset is added.
    """

    op: int
    rest: tuple[int, ...]
    weights: Any
    scale: Any
    offset: Any
    shape: tuple[int, ...]


def fold_batch_norm(thing: Any, outputs: Any = None) -> Plan:
    """Folds batch normalization into the convolution or matrix product before it: new weights, and one offset.

    An unfused batch normalization is folded too: any product, sum, difference or quotient with one constant per channel
    that follows at once. Weights must be constants: freeze a graph with variables first. The result keeps the name of
    the last op that is folded. Shapes and dtypes stay. Numbers are equal except for rounding.

    Args:
        thing: an editor; or a plan, to add to.
        outputs: tensors that keep their names, in addition to those of the function that was opened.

    Raises:
        PlanError: if nothing can be folded. The message gives the reason for the first batch normalization.
        SelectionError: if a tensor does not exist.

    Example:
        >>> import graphsurgeon as gs, numpy as np, tensorflow as tf
        >>> v1 = tf.compat.v1
        >>> with tf.Graph().as_default() as graph:
        ...     x = v1.placeholder(tf.float32, [None, 2, 2, 1], name="x")
        ...     y = tf.nn.conv2d(x, tf.constant(np.ones([1, 1, 1, 2], np.float32), name="w"), 1, "SAME", name="conv")
        ...     bn, _, _ = v1.nn.fused_batch_norm(y, [2.0, 3.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0], epsilon=1e-5,
        ...                                       is_training=False, name="bn")
        >>> ed = gs.open(graph)
        >>> _ = ed.apply(gs.recipes.fold_batch_norm(ed))
        >>> ed.snapshot.types
        ['Placeholder', 'Const', 'Conv2D', 'Const', 'AddV2']
        >>> ed.value("w").round(3).ravel().tolist()
        [2.0, 3.0]
    """
    found = subject(thing, "fold_batch_norm()", outputs)
    made = fold(found)
    if made is found.plan:
        raise found.refused(*_why(found))
    return made


_FREEZE = "Freeze first: ed = gs.recipes.frozen(ed, outputs)"


def _why(found: Subject) -> tuple[str, str]:
    """Returns the reason that nothing is folded, and a suggestion."""
    graph = found.graph
    norms = found.typed(*NORMS)
    if not norms:
        for op in found.typed(*_WEIGHTED):
            if variables := _waits_for(found, op):
                names, are = few(map(repr, variables)), "is a variable" if len(variables) == 1 else "are variables"
                problem = f"the ops after {graph.names[op]!r} could be folded, but {names} {are}, not constant"
                return problem, _FREEZE
        return "no weighted result is multiplied by one constant per channel", "There is nothing to fold"
    return why_unfolded(found, norms[0], found.reads(norms[0])[0])


def why_unfolded(found: Subject, op: int, data: Tensor) -> tuple[str, str]:
    """Returns why a batch normalization is not folded, and a suggestion.

    Args:
        found: the graph.
        op: the op that normalizes: a fused op, or the product with a scale.
        data: the tensor that it normalizes.
    """
    graph = found.graph
    name, before = graph.names[op], data[0]
    if graph.types[op] in NORMS and _training(found, op):
        suggestion = "gs.recipes.settle_batch_norm(ed) makes it read its moving averages"
        return f"{name!r} normalizes by the statistics of the batch", suggestion
    while graph.types[before] in _AFFINE and graph.types[op] not in NORMS:
        before = next(one for one, port in found.reads(before) if constant(found, (one, port)) is None)
    reads = found.reads(op)[1:] if graph.types[op] in NORMS else []
    for tensor in [*reads, *found.reads(before)[1:2]]:
        if graph.types[before] in _WEIGHTED and constant(found, tensor) is None:
            problem = f"{name!r} needs {graph.name(tensor)!r} ({graph.types[tensor[0]]}), which is not a constant"
            return problem, _FREEZE
    held = f"{graph.names[before]!r} ({graph.types[before]})"
    if not found.inside(before).isdisjoint(_WEIGHTED):
        suggestion = f"Open the call, ed = ed.inlined({graph.names[before]!r}), and repeat this"
        return f"the weights before it are inside the call {held}", suggestion
    if graph.types[before] not in _WEIGHTED:
        return f"{name!r} reads {held}, which has no weights", "Leave it as it is"
    return f"other ops read {graph.names[before]!r} too, or an inner result of {name!r}", "Leave it as it is"


def _waits_for(found: Subject, op: int) -> list[str]:
    """The variables that would have to be constants, and nothing else, so that the channels of a result are scaled."""
    graph, needed, scaled, last = found.graph, found.reads(op)[1:2], False, op
    while len(readers := found.readers(last)) == 1 and graph.types[readers[0][0]] in _AFFINE:
        last, at = readers[0]
        other = found.reads(last)[1 - at]
        info = graph.info(*other)
        scaled |= graph.types[last] in _SCALING and (info is None or info.shape != ())
        needed.append(other)
    read = {found.reads(one)[0][0] if graph.types[one] == "ReadVariableOp" else one for one in unknowns(found, needed)}
    known = scaled and all(graph.types[one] in VARIABLE_TYPES for one in read)
    return [graph.names[one] for one in sorted(read)] if known else []


def fold(found: Subject) -> Plan:
    """Folds the batch normalizations that can be folded; without any, returns the plan unchanged."""
    graph, plan = found.graph, found.plan
    chains = [chain for op in found.typed(*_WEIGHTED) if (chain := _chain(found, op)) is not None]
    if not chains:
        return plan
    renames: dict[str, str] = {}
    moved: dict[str, str] = {}
    gone: list[str] = []
    for chain in chains:
        op, last, first = (graph.names[one] for one in (chain.op, chain.rest[-1], chain.rest[0]))
        weights, port = found.reads(chain.op)[1]
        held, made = graph.names[weights], free_name(f"{last}_folded", graph.taken)
        alone = graph.types[weights] == "Const" and found.readers(weights) == [(chain.op, 1)]
        if alone:
            folded = (chain.weights.astype(np.float64) * chain.scale).astype(chain.weights.dtype)
            plan = plan.set_attr(held, "value", folded)
        else:
            scale = chain.scale.astype(chain.weights.dtype)
            by = lambda w, scale=scale: w * scale  # noqa: E731  a plan prints it as code
            plan = plan.insert(by, on=f"{held}:{port}", name=free_name(f"{op}_scaled", graph.taken), only=op)
        offset = chain.offset.reshape(chain.shape).astype(chain.weights.dtype)
        more = lambda x, offset=offset: x + offset  # noqa: E731
        plan = plan.insert(more, on=f"{op}:0", name=made, only=first)
        moved |= {f"{last}:0": f"{made}/add:0"} if found.readers(chain.rest[-1]) else {}
        old = free_name(f"{last}_unfolded", graph.taken)
        renames |= below(graph, last)
        renames |= {last: old, f"{made}/add": last, f"{made}/add/y": free_name(f"{last}/offset", graph.taken)}
        gone += [graph.names[one] for one in chain.rest[:-1]] + [old]
    plan = plan.reroute(moved) if moved else plan
    ahead = {one for chain in chains for op in chain.rest for one in graph.data.row(op).tolist()}
    ahead -= {op for chain in chains for op in chain.rest}
    plan = plan.rename(renames).remove(gone)
    return loosened(plan, graph, [graph.names[op] for op in sorted(ahead)], found.ends)


def _chain(found: Subject, op: int) -> _Chain | None:
    graph = found.graph
    weights = constant(found, found.reads(op)[1])
    if weights is None or weights.dtype.kind != "f" or weights.dtype.itemsize < 4:
        return None
    kind, held = graph.types[op], graph.nodes[op].attr
    axis = _WEIGHTED[kind]
    if kind == "MatMul" and held["transpose_b"].b:
        axis = 0
    channels = weights.shape[2] * weights.shape[3] if kind == "DepthwiseConv2dNative" else weights.shape[axis]
    shape = (channels, *[1] * (weights.ndim - 2)) if _first(held) else (channels,)
    scale, offset, rest, pays = np.ones(channels), np.zeros(channels), [], False
    last = op
    while graph.names[last] not in found.ends and not len(graph.control_consumers.row(last)):
        readers = found.readers(last)
        step = _affine(found, *readers[0], shape) if len(graph.consumers.row(last)) == len(readers) == 1 else None
        if step is None:
            break
        scale, offset, pays = scale * step[0], offset * step[0] + step[1], pays or step[2]
        last = readers[0][0]
        rest.append(last)
    if not pays or not (np.isfinite(scale).all() and np.isfinite(offset).all()):
        return None
    if kind == "DepthwiseConv2dNative":
        scale = scale.reshape(weights.shape[2:])
    elif axis < weights.ndim - 1:
        scale = scale.reshape([-1] + [1] * (weights.ndim - 1 - axis))
    return _Chain(op, tuple(rest), weights, scale, offset, shape)


def _affine(found: Subject, op: int, at: int, shape: tuple[int, ...]) -> tuple[Any, Any, bool] | None:
    """Returns (scale, offset, whether it scales) of an op for each channel of its input `at`; None for other ops."""
    graph, reads = found.graph, found.reads(op)
    kind, held = graph.types[op], graph.nodes[op].attr
    if len(graph.control.row(op)):
        return None
    if kind in NORMS:
        parts = [constant(found, tensor) for tensor in reads[1:]]
        unfit = at or _training(found, op) or any(part is None or part.size != shape[0] for part in parts)
        if unfit or any(port for _, port in graph.consumers.ends(op)) or _first(held) != (len(shape) > 1):
            return None
        gamma, beta, mean, variance = (part.astype(np.float64) for part in parts)
        scale = gamma / np.sqrt(variance + (held["epsilon"].f if "epsilon" in held else 1e-4))
        return scale, beta - mean * scale, True
    if len(reads) != 2 or kind not in _AFFINE:
        return None
    other = constant(found, reads[1 - at])
    if kind == "BiasAdd":
        fits = at == 0 and other is not None and other.shape == shape[:1] and _first(held) == (len(shape) > 1)
        return (np.ones(shape[0]), other.astype(np.float64), False) if fits else None
    value = None if other is None else _by_channel(other, shape)
    if value is None or (kind == "RealDiv" and at):
        return None
    ones, nothing = np.ones(shape[0]), np.zeros(shape[0])
    if kind in _SCALING:
        return (value if kind == "Mul" else 1 / value), nothing, other.size > 1
    if kind == "Sub":
        return (ones, -value, False) if at == 0 else (-ones, value, False)
    return ones, value, False


def _first(held: Any) -> bool:
    return "data_format" in held and bool(held["data_format"].s.startswith(b"NC"))


def _by_channel(value: Any, shape: tuple[int, ...]) -> Any:
    """A constant as one number for each channel; None if it has more dimensions than that."""
    if value.dtype.kind != "f":
        return None
    if value.size == 1:
        return np.full(shape[0], float(value.ravel()[0])) if value.ndim <= len(shape) else None
    trailing = (
        value.reshape(value.shape[-len(shape) :]) if value.size == shape[0] and value.ndim >= len(shape) else None
    )
    return None if trailing is None or trailing.shape != shape else trailing.reshape(-1).astype(np.float64)
