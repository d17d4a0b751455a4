"""Batch normalization: use its moving averages, and fold it into the weights."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..editor.editor import Editor
from ..errors import PlanError, few
from ..graph.names import free_name, op_name
from ..graph.traversal import backward, reachable_from
from ..graph.types import TensorsLike
from ..graph.variables import VARIABLE_TYPES
from ..plan.plan import Plan
from .recipe_context import ASSIGNS, RecipeContext, Tensor, below, recipe_context, remove_unused
from .variables import constant, unknowns

#: Ops between the statistics of a batch and the op that updates their moving average.
_AVERAGED = frozenset({"Add", "AddV2", "Cast", "Identity", "Mul", "RealDiv", "Reshape", "Squeeze", "Sub", "Switch"})
#: Ops that forward the same numbers, in another shape or dtype.
_IDENTITY_TYPES = frozenset({"Cast", "ExpandDims", "Identity", "Reshape", "Squeeze", "StopGradient"})
_REDUCED = frozenset({"Mean", "Sum"})
#: Ops between a batch and its moments.
_COMPUTED = _AVERAGED | _IDENTITY_TYPES | _REDUCED | {"DivNoNan", "Maximum", "Neg", "Select", "SelectV2", "Square",
                                           "SquaredDifference"}  # fmt: skip
#: Ops between an average and the averaged tensor.
_AVERAGE_SOURCES = _AVERAGED | {"DivNoNan", "Select", "SelectV2", "StopGradient"}
_ROOTS = ("Pow", "Rsqrt", "Sqrt")
#: Ops between a variance and its root.
_PADDED = _IDENTITY_TYPES | {"Add", "AddV2", "Maximum"}
#: Ops between a variance and the squares that it is the mean of.
_LINEAR_TYPES = _IDENTITY_TYPES | _REDUCED | {"DivNoNan", "Mul", "RealDiv"}


#: Tensor -> the variables with its moving average.
Averages = Mapping[Tensor, set[int]]


def settle_moments(context: RecipeContext, plan: Plan, averages: Averages) -> Plan:
    """Makes unfused batch normalization read the moving averages of mean and variance.

    Args:
        context: the subject of the recipe.
        plan: the plan to add to, with the names after its steps.
        averages: the averages in the graph.

    Raises:
        PlanError: if no variable keeps the average of a mean or variance.
    """
    graph = context.graph
    reroutes: dict[str, str] = {}
    fitted: list[tuple[str, str, list[str]]] = []

    def follow(tensor: Tensor, average: str, moment_ops: set[int]) -> None:
        """Collects how the consumers of a statistic will read the average, also if its shape differs."""
        while graph.types[tensor[0]] in _IDENTITY_TYPES:
            tensor = context.inputs_of(tensor[0])[0]
        average_info, todo = graph.info(*graph.tensor(average)), [tensor]
        for one in todo:
            info = graph.info(*one)
            if info is not None and info == average_info:
                reroutes[graph.name(one)] = average
                continue
            readers = dict.fromkeys(op for op, _ in context.consumers_of(*one))
            todo += [(op, 0) for op in readers if graph.types[op] in _IDENTITY_TYPES]
            others = [op for op in readers if op not in moment_ops and graph.types[op] not in _IDENTITY_TYPES]
            if others:
                fitted.append((graph.name(one), average, [graph.names[op] for op in others]))

    for root in context.needed_ops_of_type(*_ROOTS):
        ways = _back(context, context.inputs_of(root)[0], _PADDED)
        variance = next((one for one in ways if _is_batch(context, one, averages)), None)
        if variance is None:
            _check_variances(context, root, ways)
            continue
        cone = _back(context, variance, _COMPUTED)
        own = averages[variance]
        centres = [
            one
            for op, _ in cone
            for _, centre in _centered_pairs(context, op)
            for one in _back(context, centre, _IDENTITY_TYPES)
        ]
        mean = next((one for one in centres if averages[one] - own and _is_batch(context, one, averages)), None)
        if mean is None:
            raise _no_average_error(context, root, "its mean is averaged into no variable", [("variance", variance)])
        ends = [("mean", mean), ("variance", variance)]
        for (what, tensor), average_reads in zip(ends, (averages[mean] - own, own), strict=True):
            reads = reads_of_averages(context, average_reads)
            if len(reads) != 1:
                why = f"its {what} is averaged into {few(reads) if reads else 'no variable'}"
                raise _no_average_error(context, root, why, ends)
            follow(tensor, reads[0], {op for op, _ in cone})
    if not reroutes and not fitted:
        return plan
    used_names = set[str]()
    for old, average, readers in fitted:
        name = free_name(f"{op_name(old)}_kept", lambda one: one in used_names or graph.is_name_used(one))
        used_names.add(name)
        plan = plan.adapt(average, to=old, kinds="reshape", name=name, only=readers)
    plan = plan.reroute(reroutes) if reroutes else plan
    replaced_ops = map(op_name, [*reroutes, *(old for old, *_ in fitted)])
    return remove_unused(plan, graph, replaced_ops, context.protected_ops)


def reads_of_averages(context: RecipeContext, variables: set[int]) -> list[str]:
    """Returns the tensors that read some variables."""
    return [tensor for variable in sorted(variables) if (tensor := context.read_tensor(variable))]


def moving_averages(context: RecipeContext) -> Averages:
    """Returns the averages of tensors, found from the ops that assign to variables.

    A variable on the way to another average of a tensor is not its average.
    """
    graph = context.graph
    variables, passed = defaultdict[Tensor, set[int]](set), defaultdict[Tensor, set[int]](set)

    def ahead(tensor: Tensor) -> list[Tensor]:
        sources = context.inputs_of(tensor[0]) if graph.types[tensor[0]] in _AVERAGE_SOURCES else []
        return sources + [context.inputs_of(one)[1] for one in _assignments(context, tensor[0])]  # a debiased average

    for op in context.ops_of_type(*ASSIGNS):
        reads = context.inputs_of(op)
        variable = reads[0][0]
        if graph.types[variable] not in VARIABLE_TYPES or len(reads) < 2:
            continue
        above = reachable_from([reads[1]], ahead)
        between = {context.inputs_of(one)[0][0] for tensor in above for one in _assignments(context, tensor[0])}
        for tensor in above:
            variables[tensor].add(variable)
            passed[tensor] |= between - {variable}
    return defaultdict(set, {tensor: ops - passed[tensor] for tensor, ops in variables.items()})


def _assignments(context: RecipeContext, op: int) -> list[int]:
    """Returns the op itself if it assigns a variable, else the assignments that a read of a variable waits for."""
    graph = context.graph
    if graph.types[op] in ASSIGNS:
        return [op]
    assigns = [one for one in graph.control.row(op).tolist() if graph.types[one] in ASSIGNS]
    return [one for one in assigns if context.inputs_of(one)[0] in context.inputs_of(op)]


def _back(context: RecipeContext, tensor: Tensor, through: frozenset[str]) -> list[Tensor]:
    """Returns a tensor, and the tensors that it is computed from by ops of some types, the nearest first."""
    out, visited = [tensor], {tensor}
    for one in out:
        if context.graph.types[one[0]] in through:
            new = [ahead for ahead in dict.fromkeys(context.inputs_of(one[0])) if ahead not in visited]
            visited.update(new)
            out += new
    return out


def _is_batch(context: RecipeContext, tensor: Tensor, averages: Averages) -> bool:
    """Returns whether a tensor is a statistic of the batch: averaged, and computed from sums, not from its average."""
    variables = averages[tensor]
    if not variables:
        return False
    cone = {op for op, _ in _back(context, tensor, _COMPUTED)}
    cone_inputs = {ahead for op in cone for ahead in (op, *context.graph.data.row(op).tolist())}
    return not variables & cone_inputs and any(context.graph.types[op] in _REDUCED for op in cone)


def _no_average_error(context: RecipeContext, root: int, reason: str, ends: list[tuple[str, Tensor]]) -> PlanError:
    problem = f"{context.graph.names[root]!r} normalizes by the statistics of the batch, and {reason}"
    old = ", ".join(f"{context.graph.name(tensor)!r}: {what}" for what, tensor in ends)
    suggestion = "Open the model for inference, gs.open(model, training=False); or connect the averages yourself, "
    return context.precondition_error(problem, f"{suggestion}plan.reroute({{{old}}})")


def _centered_pairs(context: RecipeContext, op: int) -> list[tuple[Tensor, Tensor]]:
    """Returns pairs (data, center) if an op squares the difference of data and center, in either order."""
    types, reads = context.graph.types, context.inputs_of(op)
    if types[op] == "SquaredDifference":
        return [(reads[0], reads[1]), (reads[1], reads[0])]
    if not _is_square(context, op):
        below = [context.inputs_of(one)[0] for one, _ in reads[1:2] if types[op] == "Sub" and _is_square(context, one)]
        return [(reads[0], centre) for centre in below]  # the mean of squares minus the square of the mean
    inner = reads[0][0]
    return [(context.inputs_of(inner)[0], context.inputs_of(inner)[1])] if types[inner] == "Sub" else []


def _is_square(context: RecipeContext, op: int) -> bool:
    kind, reads = context.graph.types[op], context.inputs_of(op)
    return kind == "Square" or (kind == "Mul" and reads[0] == reads[1])


def _check_variances(context: RecipeContext, root: int, candidates: list[Tensor]) -> None:
    """Raises if a root is taken of a variance of the batch and no variable keeps the average of the variance."""
    graph = context.graph
    variances = [way for way in candidates if graph.types[way[0]] not in _PADDED]
    spread = [(way, one) for way in variances for one, _ in _back(context, way, _LINEAR_TYPES)]
    for way, op, (data, centre) in [(way, one, ends) for way, one in spread for ends in _centered_pairs(context, one)]:
        near = _back(context, centre, _IDENTITY_TYPES)[-1]
        sums = [one for one, _ in _back(context, near, _LINEAR_TYPES) if graph.types[one] in _REDUCED]
        below = {one for tensor in sums for one in _back(context, context.inputs_of(tensor)[0], _COMPUTED)}
        again = below & {data, *(_back(context, data, _COMPUTED) if graph.types[op] == "Sub" else ())}
        sources = backward(graph, graph.mask([data[0]]), control=False) & (graph.data.degrees == 0)
        fed = (sources & ~graph.type_mask(("Const", *VARIABLE_TYPES))).any()
        if again and fed and any(_over_batch(context, one) for one in sums):
            raise _no_average_error(
                context, root, "no variable keeps an average of them", [("mean", near), ("variance", way)]
            )


def _over_batch(context: RecipeContext, mean: int) -> bool:
    """Returns whether a mean reduces the batch axis and keeps another axis, so that it is a mean per channel."""
    data, axes = context.inputs_of(mean)
    over, info = constant(context, axes), context.graph.info(*data)
    rank = None if info is None or info.shape is None else len(info.shape)
    if over is None:
        return False
    at: set[Any] = {int(axis) if axis >= 0 or rank is None else int(axis) + rank for axis in np.ravel(over)}
    return 0 in at and (rank is None or len(at) < rank)


NORMS = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
#: Type of an op with weights as its second input -> the axis of the weights for the channels of the result.
_WEIGHTED = {"Conv2D": 3, "Conv2DBackpropInput": 2, "Conv3D": 4, "DepthwiseConv2dNative": 3, "MatMul": 1}
_SCALING = ("Mul", "RealDiv")
#: Ops of two inputs that can be merged with the weights before them.
_AFFINE = ("Add", "AddV2", "BiasAdd", "Sub", *_SCALING)


def settle_batch_norm(obj: Editor | Plan) -> Plan:
    """Makes batch normalization read its moving averages, as in inference, instead of the statistics of the batch.

    The batch normalization may be one op, ``FusedBatchNorm``, or the single ops of Keras 3 and ``tf.nn.moments`` in
    training. The variables with the moving averages are found by the ops that update them. They stay variables. Other
    consumers of the statistics read the averages too. Other ops, dtypes and shapes do not change.

    Args:
        obj: an editor; or a plan, to add to.

    Raises:
        PlanError: if no batch normalization reads the statistics of the batch, or if no variable has the averages of
            one of the batch normalizations. The message names the op.

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
    context = recipe_context(obj, "settle_batch_norm()")
    problem = "no batch normalization reads the statistics of the batch"
    return context.changed(settle(context), problem, "ed.select(op=['FusedBatchNorm*', 'Rsqrt']) lists the candidates")


def settle(context: RecipeContext) -> Plan:
    """Makes the needed batch normalizations read their averages; without any, returns the plan unchanged.

    Raises:
        PlanError: if the averages of a batch normalization are not kept in a variable.
    """
    graph, plan = context.graph, context.plan
    norms = [op for op in context.needed_ops_of_type(*NORMS) if _is_training(context, op)]
    averages = moving_averages(context)
    if not norms:
        return settle_moments(context, plan, averages)
    names, empty = [graph.names[op] for op in norms], {one: None for op in norms for one in context.inputs_of(op)[3:5]}
    ends = [(_average(context, averages, op, port), graph.names[op], port + 2) for op in norms for port in (1, 2)]
    # In training this input has no elements. It accepts an input of any size until the average is read.
    plan = plan.insert(lambda c: c[c > 0], on=[graph.name(one) for one in empty], name="any_size", only=names)
    inserted = [name for name in plan.after().names if name not in graph.index]
    reroutes = {}
    for average, name, at in ends:
        plan = plan.connect(average, to=name, input=at)
        if context.consumers_of(graph.index[name], at - 2):  # in inference the op forwards its averages
            reroutes[f"{name}:{at - 2}"] = average
    plan = plan.reroute(reroutes) if reroutes else plan
    return settle_moments(context, plan.remove(inserted).set_attr(names, "is_training", False), averages)


def _is_training(context: RecipeContext, op: int) -> bool:
    attributes = context.graph.nodes[op].attr
    return bool(attributes["is_training"].b) if "is_training" in attributes else True


def _average(context: RecipeContext, averages: Averages, op: int, port: int) -> str:
    """Returns the tensor that reads the moving average of one output of a batch normalization."""
    reads = reads_of_averages(context, averages[op, port])
    if len(reads) != 1:
        what = ("mean", "variance")[port - 1]
        name = context.graph.names[op]
        kept_by = few(reads) if reads else "no variable"
        problem = f"{name!r} normalizes by the statistics of the batch, and its {what} is averaged into {kept_by}"
        how = f"Connect the averages yourself: plan.connect(mean, to={name!r}, input=3), the variance as input=4, and "
        raise context.precondition_error(problem, f"{how}plan.set_attr({name!r}, 'is_training', False)")
    return reads[0]


class _Chain(NamedTuple):
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


def fold_batch_norm(obj: Editor | Plan, outputs: TensorsLike | None = None) -> Plan:
    """Folds batch normalization into the convolution or matrix product before it: new weights, and one offset.

    An unfused batch normalization is folded too: any product, sum, difference or quotient with one constant per channel
    directly after the weighted op. Weights must be constants: freeze a graph with variables first. The result has the
    name of the last folded op. Shapes and dtypes do not change. Numbers are equal except for rounding.

    Args:
        obj: an editor; or a plan, to add to.
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
    context = recipe_context(obj, "fold_batch_norm()", outputs)
    plan = fold(context)
    return plan if plan is not context.plan else context.changed(plan, *_why(context))


_FREEZE = "Freeze first: ed = gs.recipes.frozen(ed, outputs)"


def _why(context: RecipeContext) -> tuple[str, str]:
    """Returns the reason that nothing is folded, and a suggestion."""
    graph = context.graph
    norms = context.ops_of_type(*NORMS)
    if not norms:
        for op in context.ops_of_type(*_WEIGHTED):
            if variables := _waits_for(context, op):
                names, are = few(map(repr, variables)), "is a variable" if len(variables) == 1 else "are variables"
                problem = f"the ops after {graph.names[op]!r} could be folded, but {names} {are}, not constant"
                return problem, _FREEZE
        return "no weighted result is multiplied by one constant per channel", "There is nothing to fold"
    return why_unfolded(context, norms[0], context.inputs_of(norms[0])[0])


def why_unfolded(context: RecipeContext, op: int, data: Tensor) -> tuple[str, str]:
    """Returns why a batch normalization is not folded, and a suggestion.

    Args:
        context: the graph.
        op: the op that normalizes: a fused op, or the product with a scale.
        data: the tensor that it normalizes.
    """
    graph = context.graph
    name, before = graph.names[op], data[0]
    if graph.types[op] in NORMS and _is_training(context, op):
        suggestion = "gs.recipes.settle_batch_norm(ed) makes it read its moving averages"
        return f"{name!r} normalizes by the statistics of the batch", suggestion
    while graph.types[before] in _AFFINE and graph.types[op] not in NORMS:
        before = next(one for one, port in context.inputs_of(before) if constant(context, (one, port)) is None)
    reads = context.inputs_of(op)[1:] if graph.types[op] in NORMS else []
    for tensor in [*reads, *context.inputs_of(before)[1:2]]:
        if graph.types[before] in _WEIGHTED and constant(context, tensor) is None:
            problem = f"{name!r} needs {graph.name(tensor)!r} ({graph.types[tensor[0]]}), which is not a constant"
            return problem, _FREEZE
    producer = f"{graph.names[before]!r} ({graph.types[before]})"
    if not context.inner_types(before).isdisjoint(_WEIGHTED):
        suggestion = f"Open the call, ed = ed.inlined({graph.names[before]!r}), and repeat this"
        return f"the weights before it are inside the call {producer}", suggestion
    if graph.types[before] not in _WEIGHTED:
        return f"{name!r} reads {producer}, which has no weights", "Leave it as it is"
    return f"other ops read {graph.names[before]!r} too, or an inner result of {name!r}", "Leave it as it is"


def _waits_for(context: RecipeContext, op: int) -> list[str]:
    """Returns the variables that prevent folding after an op; empty if other ops prevent it, too."""
    graph, tensors_to_check, scaled, last = context.graph, context.inputs_of(op)[1:2], False, op
    while len(readers := context.consumers_of(last)) == 1 and graph.types[readers[0][0]] in _AFFINE:
        last, at = readers[0]
        other = context.inputs_of(last)[1 - at]
        info = graph.info(*other)
        scaled |= graph.types[last] in _SCALING and (info is None or info.shape != ())
        tensors_to_check.append(other)
    sources = {
        context.inputs_of(one)[0][0] if graph.types[one] == "ReadVariableOp" else one
        for one in unknowns(context, tensors_to_check)
    }
    all_variables = scaled and all(graph.types[one] in VARIABLE_TYPES for one in sources)
    return [graph.names[one] for one in sorted(sources)] if all_variables else []


def fold(context: RecipeContext) -> Plan:
    """Folds the batch normalizations that can be folded; without any, returns the plan unchanged."""
    graph, plan = context.graph, context.plan
    chains = [chain for op in context.ops_of_type(*_WEIGHTED) if (chain := _chain(context, op)) is not None]
    if not chains:
        return plan
    renames, reroutes, removed = dict[str, str](), dict[str, str](), list[str]()
    for chain in chains:
        op, last, first = (graph.names[one] for one in (chain.op, chain.rest[-1], chain.rest[0]))
        weights, port = context.inputs_of(chain.op)[1]
        weights_name, offset_scope = graph.names[weights], free_name(f"{last}_folded", graph.is_name_used)
        alone = graph.types[weights] == "Const" and context.consumers_of(weights) == [(chain.op, 1)]
        if alone:
            folded = (chain.weights.astype(np.float64) * chain.scale).astype(chain.weights.dtype)
            plan = plan.set_attr(weights_name, "value", folded)
        else:
            scale = chain.scale.astype(chain.weights.dtype)
            by = lambda w, scale=scale: w * scale  # noqa: E731  a plan prints it as code
            plan = plan.insert(
                by, on=f"{weights_name}:{port}", name=free_name(f"{op}_scaled", graph.is_name_used), only=op
            )
        offset = chain.offset.reshape(chain.shape).astype(chain.weights.dtype)
        more = lambda x, offset=offset: x + offset  # noqa: E731
        plan = plan.insert(more, on=f"{op}:0", name=offset_scope, only=first)
        reroutes |= {f"{last}:0": f"{offset_scope}/add:0"} if context.consumers_of(chain.rest[-1]) else {}
        old = free_name(f"{last}_unfolded", graph.is_name_used)
        renames |= {
            **below(graph, last),
            last: old,
            f"{offset_scope}/add": last,
            f"{offset_scope}/add/y": free_name(f"{last}/offset", graph.is_name_used),
        }
        removed += [graph.names[one] for one in chain.rest[:-1]] + [old]
    plan = plan.reroute(reroutes) if reroutes else plan
    ahead = {one for chain in chains for op in chain.rest for one in graph.data.row(op).tolist()}
    ahead -= {op for chain in chains for op in chain.rest}
    plan = plan.rename(renames).remove(removed)
    return remove_unused(plan, graph, [graph.names[op] for op in sorted(ahead)], context.protected_ops)


def _chain(context: RecipeContext, op: int) -> _Chain | None:
    graph = context.graph
    weights = constant(context, context.inputs_of(op)[1])
    if weights is None or weights.dtype.kind != "f" or weights.dtype.itemsize < 4:
        return None
    kind, attributes = graph.types[op], graph.nodes[op].attr
    axis = _WEIGHTED[kind]
    if kind == "MatMul" and attributes["transpose_b"].b:
        axis = 0
    channels = weights.shape[2] * weights.shape[3] if kind == "DepthwiseConv2dNative" else weights.shape[axis]
    shape = (channels, *[1] * (weights.ndim - 2)) if _first(attributes) else (channels,)
    scale, offset, rest, pays = np.ones(channels), np.zeros(channels), [], False
    last = op
    while graph.names[last] not in context.protected_ops and not len(graph.control_consumers.row(last)):
        readers = context.consumers_of(last)
        step = _affine(context, *readers[0], shape) if len(graph.consumers.row(last)) == len(readers) == 1 else None
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


def _affine(context: RecipeContext, op: int, index: int, shape: tuple[int, ...]) -> tuple[Any, Any, bool] | None:
    """Returns (scale, offset, whether it scales) of an op for each channel of its input `index`; None for other ops."""
    graph, reads = context.graph, context.inputs_of(op)
    kind, attributes = graph.types[op], graph.nodes[op].attr
    if len(graph.control.row(op)):
        return None
    if kind in NORMS:
        parts = [constant(context, tensor) for tensor in reads[1:]]
        unfit = index or _is_training(context, op) or any(part is None or part.size != shape[0] for part in parts)
        if unfit or any(port for _, port in graph.consumers.ends(op)) or _first(attributes) != (len(shape) > 1):
            return None
        gamma, beta, mean, variance = (part.astype(np.float64) for part in parts)
        scale = gamma / np.sqrt(variance + (attributes["epsilon"].f if "epsilon" in attributes else 1e-4))
        return scale, beta - mean * scale, True
    if len(reads) != 2 or kind not in _AFFINE:
        return None
    other = constant(context, reads[1 - index])
    if kind == "BiasAdd":
        fits = index == 0 and other is not None and other.shape == shape[:1] and _first(attributes) == (len(shape) > 1)
        return (np.ones(shape[0]), other.astype(np.float64), False) if fits else None
    value = None if other is None else _by_channel(other, shape)
    if value is None or (kind == "RealDiv" and index):
        return None
    ones, nothing = np.ones(shape[0]), np.zeros(shape[0])
    if kind in _SCALING:
        return (value if kind == "Mul" else 1 / value), nothing, other.size > 1
    if kind == "Sub":
        return (ones, -value, False) if index == 0 else (-ones, value, False)
    return ones, value, False


def _first(attributes: Any) -> bool:
    return "data_format" in attributes and bool(attributes["data_format"].s.startswith(b"NC"))


def _by_channel(value: Any, shape: tuple[int, ...]) -> Any:
    """Returns a constant as one number per channel; None if it has more dimensions than that."""
    if value.dtype.kind != "f":
        return None
    if value.size == 1:
        return np.full(shape[0], float(value.ravel()[0])) if value.ndim <= len(shape) else None
    fits = value.size == shape[0] and value.ndim >= len(shape) and value.shape[-len(shape) :] == shape
    return value.reshape(-1).astype(np.float64) if fits else None
