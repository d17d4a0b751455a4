"""Batch normalisation: read its moving averages, and fold it into the weights before it."""

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
#: Ops with weights as their second input -> the axis of these that is the channel of the result.
_WEIGHTED = {"Conv2D": 3, "Conv2DBackpropInput": 2, "Conv3D": 4, "DepthwiseConv2dNative": 3, "MatMul": 1}
_SCALING = ("Mul", "RealDiv")
#: Ops of two inputs that can be one with the weights before them.
_AFFINE = ("Add", "AddV2", "BiasAdd", "Sub", *_SCALING)


def settle_batch_norm(thing: Any) -> Plan:
    """Lets batch normalisation read its moving averages, as in inference, instead of the statistics of the batch.

    It may be one op, ``FusedBatchNorm``, or the single ops that Keras 3 and ``tf.nn.moments`` write in training. Which
    variables hold the averages is known by what keeps them: the mean and the variance of the batch are averaged into
    them. They stay variables. What else reads the statistics of the batch reads the averages too. Other ops, dtypes and
    shapes stay.

    Args:
        thing: an editor; or a plan, to go on with.

    Raises:
        PlanError: none is there that reads the batch; or nothing keeps averages of one: the op is named.

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
        wrong = "no batch normalisation in it reads the statistics of the batch"
        raise found.refused(wrong, "ed.select(op=['FusedBatchNorm*', 'Rsqrt']) lists what is there")
    return made


def settle(found: Subject, needed: Mask) -> Plan:
    """Does that for those of some ops; where there are none, the plan stays as it is.

    Args:
        found: what the recipe works on.
        needed: mask of the ops.

    Raises:
        PlanError: nothing keeps averages of one.
    """
    graph, plan = found.graph, found.plan
    norms = [op for op in found.typed(*NORMS) if needed[op] and _training(found, op)]
    averages = averaged(found)
    if not norms:
        return settle_moments(found, plan, needed, averages)
    names, empty = [graph.names[op] for op in norms], {one: None for op in norms for one in found.reads(op)[3:5]}
    ends = [(_average(found, averages, op, port), graph.names[op], port + 2) for op in norms for port in (1, 2)]
    # What it reads in training has no elements: it stands for one of any size, until the average is read.
    plan = plan.insert(lambda c: c[c > 0], on=[graph.name(one) for one in empty], name="any_size", only=names)
    made = [name for name in plan.after().names if name not in graph.index]
    read = {}
    for average, name, at in ends:
        plan = plan.connect(average, to=name, input=at)
        if found.readers(graph.index[name], at - 2):  # in inference it hands its averages on
            read[f"{name}:{at - 2}"] = average
    plan = plan.reroute(read) if read else plan
    return settle_moments(found, plan.remove(made).set_attr(names, "is_training", False), needed, averages)


def _training(found: Subject, op: int) -> bool:
    held = found.graph.nodes[op].attr
    return bool(held["is_training"].b) if "is_training" in held else True


def _average(found: Subject, averages: Averages, op: int, port: int) -> str:
    """The tensor that reads the variable which keeps an average of one output of a batch normalisation."""
    reads = averages_read(found, averages.of((op, port)))
    if len(reads) != 1:
        what = ("mean", "variance")[port - 1]
        name = found.graph.names[op]
        kept_by = few(reads) if reads else "no variable"
        wrong = f"{name!r} normalises by the statistics of the batch, and its {what} is averaged into {kept_by}"
        how = f"Connect what it is to read, plan.connect(mean, to={name!r}, input=3), the variance as input=4, and "
        raise found.refused(wrong, f"{how}plan.set_attr({name!r}, 'is_training', False)")
    return reads[0]


@dataclass(frozen=True)
class _Chain:
    """What follows some weights and can be one with them.

    Args:
        op: the op that has the weights.
        rest: the ops after it, in order.
        weights: what it multiplies by.
        scale, offset: what the rest does to each channel.
        shape: the shape in which the offset is added.
    """

    op: int
    rest: tuple[int, ...]
    weights: Any
    scale: Any
    offset: Any
    shape: tuple[int, ...]


def fold_batch_norm(thing: Any, outputs: Any = None) -> Plan:
    """Folds batch normalisation into the convolution or matrix product before it: other weights, and one offset.

    So too any other product, sum, difference or quotient with one constant per channel that follows at once, as an
    unfused batch normalisation is. Weights must be constants: a graph with variables is frozen first. The result keeps
    the name of the last op that is folded. Shapes and dtypes stay; numbers are equal but for rounding.

    Args:
        thing: an editor; or a plan, to go on with.
        outputs: tensors whose names stay, beside those of the function that was opened.

    Raises:
        PlanError: nothing can be folded; the message says of the first batch normalisation why.
        SelectionError: a tensor is not there.

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
    """Why nothing is folded, and what to do."""
    graph = found.graph
    norms = found.typed(*NORMS)
    if not norms:
        for op in found.typed(*_WEIGHTED):
            if variables := _waits_for(found, op):
                names, are = few(map(repr, variables)), "is a variable" if len(variables) == 1 else "are variables"
                wrong = f"what follows {graph.names[op]!r} could be folded, but {names} {are}, not constant"
                return wrong, _FREEZE
        return "nothing multiplies a weighted result by one constant per channel", "There is nothing to fold"
    return why_unfolded(found, norms[0], found.reads(norms[0])[0])


def why_unfolded(found: Subject, op: int, data: Tensor) -> tuple[str, str]:
    """Returns why a batch normalization is not folded, and what to do.

    Args:
        found: the graph.
        op: the op that normalizes: a fused op, or the product with a scale.
        data: the tensor that it normalizes.
    """
    graph = found.graph
    name, before = graph.names[op], data[0]
    if graph.types[op] in NORMS and _training(found, op):
        instead = "gs.recipes.settle_batch_norm(ed) lets it read its moving averages"
        return f"{name!r} normalises by the statistics of the batch", instead
    while graph.types[before] in _AFFINE and graph.types[op] not in NORMS:
        before = next(one for one, port in found.reads(before) if constant(found, (one, port)) is None)
    reads = found.reads(op)[1:] if graph.types[op] in NORMS else []
    for tensor in [*reads, *found.reads(before)[1:2]]:
        if graph.types[before] in _WEIGHTED and constant(found, tensor) is None:
            wrong = f"{name!r} needs {graph.name(tensor)!r} ({graph.types[tensor[0]]}), which is not a constant"
            return wrong, _FREEZE
    held = f"{graph.names[before]!r} ({graph.types[before]})"
    if not found.inside(before).isdisjoint(_WEIGHTED):
        instead = f"Open the call, ed = ed.inlined({graph.names[before]!r}), and do it again"
        return f"the weights before it are inside the call {held}", instead
    if graph.types[before] not in _WEIGHTED:
        return f"{name!r} reads {held}, which has no weights", "Leave it as it is"
    return f"others read {graph.names[before]!r} too, or an inner result of {name!r}", "Leave it as it is"


def _waits_for(found: Subject, op: int) -> list[str]:
    """The variables, and nothing else, that would have to be constants so that the channels of a result are scaled."""
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
    """Folds what can be; where nothing can, the plan stays as it is."""
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
    """(scale, offset, whether it scales) of what an op does to each channel of its input `at`; None for others."""
    graph, reads = found.graph, found.reads(op)
    kind, held = graph.types[op], graph.nodes[op].attr
    if len(graph.control.row(op)):
        return None
    if kind in NORMS:
        parts = [constant(found, tensor) for tensor in reads[1:]]
        wrong = at or _training(found, op) or any(part is None or part.size != shape[0] for part in parts)
        if wrong or any(port for _, port in graph.consumers.ends(op)) or _first(held) != (len(shape) > 1):
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
    """A constant as one number for each channel; None where it is more than that."""
    if value.dtype.kind != "f":
        return None
    if value.size == 1:
        return np.full(shape[0], float(value.ravel()[0])) if value.ndim <= len(shape) else None
    trailing = (
        value.reshape(value.shape[-len(shape) :]) if value.size == shape[0] and value.ndim >= len(shape) else None
    )
    return None if trailing is None or trailing.shape != shape else trailing.reshape(-1).astype(np.float64)
