"""Removes the ops that only training needs, and reports ops that still behave as in training."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from ..editor.editor import Editor
from ..errors import PlanError, few
from ..graph.control_flow import FLOW_TYPES
from ..graph.functions import CALLS
from ..graph.graph import Mask
from ..graph.names import op_name
from ..graph.parts import refuse_part, required_ops
from ..graph.selection import selection_from
from ..graph.training import SIZE_TYPES
from ..graph.traversal import backward, follow_chain, forward, reachable_from
from ..graph.types import OpsLike, TensorLike, TensorsLike
from ..graph.variables import FEED_TYPES, PLACEHOLDER_TYPES
from ..plan.dependencies import variable_parts
from ..plan.plan import Plan
from ..plan.removal import find_removal_blockers
from .batch_norm import NORMS, fold, settle, why_unfolded
from .cut import restore_names
from .quantization import settle_ranges
from .recipe_context import RecipeContext, Tensor, context_with_ends, recipe_context, remove_unused, replace_op
from .variables import constant, unknowns

#: Prefixes of op types that draw random numbers; `_NOT_DRAWING` lists exceptions.
_RANDOM_PREFIXES = (
    "Multinomial",
    "Parameterized",
    "Random",
    "SampleDistorted",
    "Stateful",
    "Stateless",
    "TruncatedNormal",
)
_NOT_DRAWING = frozenset(
    {
        *("RandomDataset", "RandomDatasetV2", "RandomShuffleQueue", "RandomShuffleQueueV2", "StatefulPartitionedCall"),
        *("StatelessCase", "StatelessIf", "StatelessRandomGetAlg", "StatelessRandomGetKeyCounter"),
        *("StatelessRandomGetKeyCounterAlg", "StatelessWhile"),
    }
)
_ROOTS = frozenset({"Rsqrt", "Sqrt"})


def draws(kind: str) -> bool:
    """Returns whether ops of a type draw random numbers.

    Example:
        >>> draws("RandomUniform"), draws("StatelessRandomNormalV2"), draws("StatelessIf")
        (True, True, False)
    """
    return kind.startswith(_RANDOM_PREFIXES) and kind not in _NOT_DRAWING


def remaining_ops(context: RecipeContext, folded: bool) -> list[tuple[str, str]]:
    """Returns a sentence and a suggestion for each needed op that still behaves as in training.

    Args:
        context: the graph, after all removals.
        folded: whether folding of batch normalization was requested.
    """
    graph, out, variable = context.graph, list[tuple[str, str]](), list[str]()
    for op in np.flatnonzero(context.needed_ops).tolist():
        name, kind = graph.names[op], graph.types[op]
        if draws(kind):
            out.append((f"{name!r} ({kind}) still draws random numbers", _bypass_suggestion(context, op)))
        elif kind in CALLS and (inside := sorted(filter(draws, context.inner_types(op)))):
            text = f"the call {name!r} still draws random numbers, by {few(inside)}"
            out.append((text, f"Open the call, ed = ed.inlined({name!r}), and repeat this"))
    for op in context.needed_ops_of_type(*NORMS, "Mul"):
        data = _batch_norm_input(context, op)
        if data is None:
            continue
        name = f"{graph.names[op]!r} ({graph.types[op]})"
        if folded:
            why, suggestion = why_unfolded(context, op, data)
            out.append((f"the batch normalization {name} is not folded: {why}", suggestion))
        else:
            variable.append(name)
    if variable:
        text = f"batch normalization is not folded into weights that are variables: {few(variable)}"
        out.append((text, "Freeze first: ed = gs.recipes.frozen(ed, outputs)"))
    return out


def _bypass_suggestion(context: RecipeContext, random: int) -> str:
    """Returns a suggestion to bypass the op that combines random numbers with a tensor, or a general suggestion."""
    graph = context.graph
    fed = forward(graph, graph.type_mask(FEED_TYPES), control=False, within=~graph.type_mask(SIZE_TYPES))
    below = forward(graph, graph.mask([random]), control=False, within=context.needed_ops)
    for op in np.flatnonzero(below & fed)[:1].tolist():
        plain = [one for one in context.inputs_of(op) if fed[one[0]] and not below[one[0]]]
        if len(plain) == 1 and context.consumers_of(op) and graph.info(*plain[0]) == graph.info(op, 0):
            return f"Remove them: ed.plan().reroute({graph.name((op, 0))!r}, to={graph.name(plain[0])!r})"
    return "Keep them if the model needs them; otherwise open the model for inference, gs.open(model, training=False)"


def _batch_norm_input(context: RecipeContext, op: int) -> Tensor | None:
    """Returns the input of a batch normalization; None for other ops.

    A product is a batch normalization if one factor, its scale, is computed with a square root, and not from inputs.
    """
    graph, reads = context.graph, context.inputs_of(op)
    if graph.types[op] in NORMS:
        return reads[0]
    above = [reachable_from([source], lambda one: graph.data.row(one).tolist()) for source, _ in reads]
    kinds = [{graph.types[one] for one in ops} for ops in above]
    scaled = [not _ROOTS.isdisjoint(one) and FEED_TYPES.isdisjoint(one) for one in kinds]
    other = reads[scaled.index(False)] if sum(scaled) == 1 else None
    return other if other is not None and constant(context, other) is None else None


#: Ops that inspect their input and forward it.
_CHECK_TYPES = ("CheckNumerics", "CheckNumericsV2", "Print")
#: Ops that inspect their input and have no output.
_ASSERT_TYPES = ("Assert", "PrintV2")
_GUARDS = ("If", "StatelessIf")
#: Ops that forward their input. `PreventGradient` and `StopGradient` differ in their gradients.
_IDENTITY_TYPES = ("Identity", "PreventGradient", "StopGradient")
_RANDOM = ("RandomUniform", "StatelessRandomUniform", "StatelessRandomUniformV2")
_SCALED = ("Add", "AddV2", "Identity", "Mul", "Sub")
_THRESHOLDS = ("Floor", "Greater", "GreaterEqual", "Less", "LessEqual")
_MASKED = ("Mul", "Select", "SelectV2")


def for_inference(
    obj: Editor | Plan,
    outputs: TensorsLike | None = None,
    inputs: TensorsLike | None = None,
    *,
    training: TensorLike | None = None,
    fold_batch_norm: bool | None = None,
) -> Plan:
    """Prepares a graph for inference: removes everything that only training needs.

    Gradients, optimizers, summaries, savers, queues, dropout, checks and identities are removed. Batch normalization
    reads its moving averages, and is folded into the weights if these are constants. FakeQuant ops stay and read the
    stored ranges.

    Each part is also a separate recipe. A part that finds no op is skipped. Shapes and dtypes of the outputs do not
    change. The warnings of the plan list the ops that still behave as in training: random ops other than dropout, and
    batch normalization that is not folded, with the reason.

    Args:
        obj: an editor; or a plan, to add to.
        outputs: the outputs to keep, by name or object; default: those of the function that was opened. They keep their
            names.
        inputs: tensors to feed: each is replaced by a placeholder of the same dtype and shape.
        training: the scalar bool that enables training, for example ``"is_training:0"``; it is set to False.
        fold_batch_norm: whether to fold batch normalization. Default: only if no weight is a variable. To fold in a
            graph with variables, freeze it first with ``gs.recipes.frozen(ed, outputs)``. If the graph reads the
            statistics of the batch, apply this plan before you freeze it: freezing removes the ops that update the
            averages.

    Raises:
        PlanError: if no outputs are given, a part is refused, or no rule applies because the graph is in inference form
            already. The message names the op and the reason.
        SelectionError: if a tensor does not exist.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        ...     y = tf.identity(tf.nn.dropout(tf.nn.relu(x, name="act"), rate=0.5), name="y")
        ...     loss = tf.compat.v1.summary.scalar("loss", tf.reduce_sum(y))
        >>> ed = gs.open(graph)
        >>> plan = gs.recipes.for_inference(ed, "y:0")
        >>> plan.after().names
        ['x', 'act', 'y']
    """
    context = start = context_with_ends(obj, "for_inference()", outputs, inputs)
    if training is not None:
        context = context.with_plan(context.plan.resolve_condition(training, False))
    for part in (settle, settle_ranges, _without_training, _without_checks, _without_dropout, _without_identities):
        context = context.with_plan(part(context))
    variables = context.ops_of_type("Variable", "VariableV2", "VarHandleOp")
    if fold_batch_norm is None:
        fold_batch_norm = not variables
    context = context.with_plan(fold(context) if fold_batch_norm else context.plan)
    leftovers, plan = remaining_ops(context, bool(fold_batch_norm)), context.plan
    if plan is not start.plan:
        return replace(plan, notes=(*plan.notes, *(f"{text}. {suggestion}" for text, suggestion in leftovers)))
    if leftovers:
        raise context.precondition_error(
            f"no other rule applies: {few([text for text, _ in leftovers], 3)}", leftovers[0][1]
        )
    suggestion = "There is nothing to remove"
    if variables:
        suggestion += f"; gs.recipes.frozen(ed, {context.targets!r}) turns its variables into constants"
    raise context.precondition_error("it is in inference form already", suggestion)


def strip_training(obj: Editor | Plan, outputs: TensorsLike | None = None, inputs: TensorsLike | None = None) -> Plan:
    """Removes everything that the outputs do not need: gradients, optimizers, summaries, savers, queues, losses.

    Variables that the outputs read keep their initializers. Tables keep the ops that fill them, for example the init op
    of a SavedModel. A variable of a TF2 SavedModel has no initializer in the graph, only a call that restores it. This
    call stays, with all variables that it restores, and with the ops that save them to the same file.

    Args:
        obj: an editor; or a plan, to add to.
        outputs: the outputs to keep; default: those of the function that was opened.
        inputs: tensors to feed: each is replaced by a placeholder of the same dtype and shape. The ops that computed
            them are removed too, for example a queue.

    Raises:
        PlanError: if no outputs were given, or the outputs need every op.
        SelectionError: if a tensor does not exist.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
        ...     y = tf.square(x, name="y")
        ...     slope = tf.compat.v1.gradients(y, x)
        >>> gs.recipes.strip_training(gs.open(graph), "y:0").after().names
        ['x', 'y']
    """
    context = context_with_ends(obj, "strip_training()", outputs, inputs)
    problem = f"{few(context.targets)} need{'s' * (len(context.targets) == 1)} every op of the graph"
    return context.changed(_without_training(context), problem)


def strip_dropout(obj: Editor | Plan, *, exclude: OpsLike = ()) -> Plan:
    """Removes dropout: the consumers of its result read its input instead.

    Dropout is recognized by its ops: random numbers compared with a rate, a mask from the comparison, and a scale that
    compensates for the dropped elements. This covers dropout of TF1, TF2 and Keras. Dtypes, shapes and the names of
    outputs do not change.

    Args:
        obj: an editor; or a plan, to add to.
        exclude: ops to keep that mask with random numbers, by name or object.

    Raises:
        PlanError: if the graph has no dropout, the scale does not compensate for the dropped elements, or the gradient
            of the dropout is in the graph. The message names the op.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        ...     y = tf.nn.relu(tf.nn.dropout(x, rate=0.5), name="y")
        >>> gs.recipes.strip_dropout(gs.open(graph)).after().names
        ['x', 'y']
    """
    context = recipe_context(obj, "strip_dropout()")
    excluded = set(map(op_name, context.resolver.ops(exclude)))
    return context.changed(_without_dropout(context, excluded), "no op masks a tensor with random numbers")


def strip_checks(obj: Editor | Plan) -> Plan:
    """Removes ``Assert``, ``CheckNumerics`` and ``Print``, with all ops that only they need.

    Control edges from the removed ops are removed too.

    Args:
        obj: an editor; or a plan, to add to.

    Raises:
        PlanError: if the graph has no such op.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        ...     y = tf.nn.relu(tf.debugging.check_numerics(x, "x is broken"), name="y")
        >>> gs.recipes.strip_checks(gs.open(graph)).after().names
        ['x', 'y']
    """
    context = recipe_context(obj, "strip_checks()")
    return context.changed(_without_checks(context), f"the graph has no {few([*_ASSERT_TYPES, *_CHECK_TYPES], 5)}")


def strip_identities(obj: Editor | Plan, outputs: TensorsLike | None = None) -> Plan:
    """Removes ``Identity``, ``StopGradient`` and ``PreventGradient``: their consumers read their inputs instead.

    An identity with another purpose stays, for example to order ops, to read a reference variable or to fill a table.
    So does an identity that is in a collection, is part of a variable or of a TF1 loop or cond, or has the name of an
    input or output.

    Args:
        obj: an editor; or a plan, to add to.
        outputs: tensors that keep their names, in addition to those of the function that was opened and those without a
            consumer.

    Raises:
        PlanError: if no identity can be removed.
        SelectionError: if a tensor does not exist.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        ...     y = tf.nn.relu(tf.identity(x), name="y")
        >>> gs.recipes.strip_identities(gs.open(graph)).after().names
        ['x', 'y']
    """
    context = recipe_context(obj, "strip_identities()", outputs)
    problem = "no identity can be removed without another change than of a name"
    return context.changed(_without_identities(context), problem, "ed.select(op='Identity') lists all")


# -- ops that the outputs do not need -------------------------------------------------------------


def _without_training(context: RecipeContext) -> Plan:
    plan, graph, targets, fed = context.plan, context.graph, context.targets, context.fed
    needed_ops = context.needed_ops
    ends = [graph.tensor(name) for name in targets if ":" in name and name not in fed]
    refuse_part(graph, needed_ops, map(graph.tensor, fed), context.request, ends)
    kept = needed_ops.copy()
    for name in fed:
        op, _ = graph.tensor(name)
        kept[op] = graph.types[op] == "Placeholder"
        if kept[op]:
            continue
        if needed_ops[op]:
            reads = [graph.name((op, at)) for reader, at in graph.consumers.ends(op) if needed_ops[reader]]
            also = (one for one in [*reads, *targets] if one.startswith(f"{graph.names[op]}:") and one not in fed)
            other = next(also)
            problem = f"{name!r} is an input, but the outputs need {other!r} of the same op"
            raise context.precondition_error(problem, f"Feed that too: inputs={[*fed, other]!r}")
        plan = plan.detach(graph.names[op], side="outputs")
    names = selection_from(graph, ~_needed_with_state(context, kept)).names
    plan, renamed = restore_names(plan, context, fed)
    return plan.remove([renamed.get(name, name) for name in names]) if names else plan


def _needed_with_state(context: RecipeContext, mask: Mask) -> Mask:
    """Returns some ops, with all ops of their variables, loops, conds and tables, and the ops that fill the tables."""
    graph, state, savers = context.graph, context.graph.state, _savers(context)
    fills = graph.mask(graph.index[name] for names in state.init_ops.values() for name in names if name in graph.index)
    starts = {op: backward(graph, graph.mask([op])) for op in map(graph.index.__getitem__, context.init_ops)}
    while True:
        needed_ops = mask.copy()
        for variable in state.variables.values():
            if variable.op in graph.index and mask[graph.index[variable.op]]:
                mask |= variable_parts(graph, variable)
                mask[savers.get(graph.index[variable.op], [])] = True
        mask = context.with_contexts(mask)
        for holder, names in state.init_ops.items():
            if holder in graph.index and mask[graph.index[holder]]:
                mask[[graph.index[name] for name in names if name in graph.index]] = True
        for op, run in starts.items():  # ops that run first, if they fill one of these tables
            mask[op] |= bool((mask & fills & run).any())
        mask = required_ops(graph, mask, frozenset(map(graph.tensor, context.fed)))
        if (mask == needed_ops).all():
            return mask


def _savers(context: RecipeContext) -> dict[int, list[int]]:
    """Returns variable without an initializer -> the calls that restore it, and the calls that save to the same file.

    A call restores the variables that are its inputs, if its function reads a checkpoint and assigns. The name of the
    file is a placeholder that the call reads.
    """
    graph = context.graph
    variables = graph.state.variables.values()
    mute = {graph.index[v.op] for v in variables if v.op in graph.index and v.initializer not in graph.index}
    inner = {op: context.inner_types(op) for op in context.ops_of_type(*CALLS)} if mute else {}
    savers: dict[int, list[int]] = {one: [] for one in mute}
    for op, kinds in inner.items():
        if kinds >= {"RestoreV2", "AssignVariableOp"}:
            inputs = graph.data.row(op).tolist()
            files = [one for one in inputs if graph.types[one] in PLACEHOLDER_TYPES]
            saves = [one for file in files for one in graph.consumers.row(file).tolist()
                     if "SaveV2" in inner.get(one, ())]  # fmt: skip
            for one in mute.intersection(inputs):
                savers[one] += [op, *saves]
    return savers


# -- checks ---------------------------------------------------------------------------------------


def _without_checks(context: RecipeContext) -> Plan:
    graph, plan = context.graph, context.plan
    looking, watching = (
        [op for op in context.ops_of_type(*types) if graph.names[op] not in context.protected_ops]
        for types in (_CHECK_TYPES, _ASSERT_TYPES)
    )
    looking = [op for op in looking if context.consumers_of(op)]
    watching += [op for op in context.ops_of_type(*_GUARDS) if _is_guard(context, op)]
    removed = set(watching)
    for numbers in context.contexts:  # a cond of TF1 around a check
        if removed & numbers and not any(r not in numbers for op in numbers for r in graph.consumers.row(op).tolist()):
            removed |= numbers
    removed = {op for op in removed if all(whole <= removed for whole in context.contexts if op in whole)}
    for op in sorted(removed):  # an identity that only forwards the end of a check
        removed |= {r for r in graph.consumers.row(op).tolist() if not len(graph.consumers.row(r))}
    if looking:
        plan = plan.remove([graph.names[op] for op in looking], stitch=True)
    if removed:
        inputs = {one for op in removed for one in graph.all_inputs.row(op).tolist()} - removed
        plan = plan.remove([graph.names[op] for op in sorted(removed)])
        plan = remove_unused(plan, graph, [graph.names[op] for op in sorted(inputs)], context.protected_ops)
    return plan


def _is_guard(context: RecipeContext, op: int) -> bool:
    """Returns whether a TF2 cond is only a check: it has an ``Assert``, and its outputs have no consumers."""
    graph = context.graph
    for reader in graph.consumers.row(op).tolist():
        used = graph.types[reader] != "Identity" or len(graph.consumers.row(reader))
        if used or graph.names[reader] in context.protected_ops:
            return False
    inner = context.inner_types(op)
    return "Assert" in inner and inner <= {"Assert", "Const", "Identity", "NoOp"}


# -- identities -----------------------------------------------------------------------------------


def _without_identities(context: RecipeContext) -> Plan:
    graph = context.graph
    candidates = [graph.names[op] for op in context.ops_of_type(*_IDENTITY_TYPES)]
    if not candidates:
        return context.plan
    blockers = find_removal_blockers(graph, candidates)
    parts = (*blockers.collections, *blockers.variables, *blockers.contexts, *blockers.init_ops)
    protected = {name for name, _ in parts} | context.protected_ops
    removed = []
    for op in context.ops_of_type(*_IDENTITY_TYPES):
        source, after = context.inputs_of(op)[0], graph.consumers.row(op).tolist()
        waits = len(graph.control.row(op)) or len(graph.control_consumers.row(op))
        # It may mark a loop or branch.
        marks = any(graph.types[one] in FLOW_TYPES for one in (source[0], *after))
        if not after or waits or marks or graph.names[op] in protected:
            continue
        old, new = graph.info(*source), graph.info(op, 0)
        if old is None or new is None or old.dtype != new.dtype or old.dtype in ("resource", "variant"):
            continue
        if new.shape in (None, old.shape):
            removed.append(graph.names[op])
    return context.plan.remove(removed, stitch=True) if removed else context.plan


# -- dropout --------------------------------------------------------------------------------------


def _without_dropout(context: RecipeContext, excluded: Collection[str] | None = None) -> Plan:
    """Removes dropout, except the ops in `excluded`; None if the recipe has no argument ``exclude``."""
    graph, plan = context.graph, context.plan
    pairs, masks, others = dict[int, Tensor](), dict[Tensor, int](), list[tuple[int, Tensor, PlanError]]()
    for random in context.ops_of_type(*_RANDOM):
        for masked, at in _masked_ops(context, random):
            if graph.names[masked] in (excluded or ()):
                continue
            mask = context.inputs_of(masked)[at]
            try:
                source = _source(context, masked, at, excludes=excluded is not None)
            except PlanError as error:
                others.append((masked, mask, error))
                continue
            if source is not None:
                pairs[masked], masks[mask] = source, masked
    for masked, mask, refused in others:
        if mask not in masks:
            raise refused
        problem = f"{graph.names[masked]!r} is the gradient of the dropout {graph.names[masks[mask]]!r}"
        raise context.precondition_error(
            problem, "Remove the gradients first: ed.apply(gs.recipes.strip_training(ed, outputs))"
        )
    if not pairs:
        return plan

    def source_of(tensor: Tensor) -> Tensor:
        while tensor[0] in pairs and tensor[1] == 0:
            tensor = pairs[tensor[0]]
        return tensor

    reroutes = {
        graph.name((op, 0)): graph.name(source_of(source)) for op, source in pairs.items() if context.consumers_of(op)
    }
    end_ops = [op for op in pairs if graph.names[op] in context.protected_ops or not context.consumers_of(op)]
    ends = {op: graph.name(source_of(pairs[op])) for op in end_ops}
    for op, end in ends.items():  # an identity gets its name
        reader = graph.names[context.consumers_of(*graph.tensor(end))[0][0]]
        plan = replace_op(plan, context, op, end, reader, "dropped")
        reroutes.pop(graph.name((op, 0)), None)
    plan = plan.reroute(reroutes) if reroutes else plan
    for op, source in pairs.items():
        if len(graph.control_consumers.row(op)) and op not in ends:
            plan = plan.reroute_control(graph.names[op], to=graph.names[source_of(source)[0]])
    names = [graph.names[op] for op in pairs if op not in ends]
    names += [graph.names[one] for op in ends for one in graph.data.row(op).tolist()]
    return remove_unused(plan, graph, names, context.protected_ops)


def _masked_ops(context: RecipeContext, random: int) -> list[tuple[int, int]]:
    """Returns pairs (op that masks, index of its mask input) for the masks that are computed from random numbers."""
    graph, out = context.graph, list[tuple[int, int]]()

    def onward(state: tuple[int, bool]) -> Iterator[tuple[int, bool]]:
        op, compared = state
        for reader, at in context.consumers_of(op):
            kind = graph.types[reader]
            if compared and kind in _MASKED:
                out.append((reader, at))
            elif kind in _THRESHOLDS or kind in (("Cast", "Identity") if compared else _SCALED):
                yield reader, compared or kind in _THRESHOLDS

    reachable_from([(random, False)], onward)
    return out


def _source(context: RecipeContext, masked: int, mask: int, excludes: bool) -> Tensor | None:
    """Returns the input of a dropout; None if the op is not a dropout."""
    graph, reads = context.graph, context.inputs_of(masked)
    if graph.types[masked] == "Mul":
        scaled = reads[1 - mask]
    elif mask == 0 and np.all(constant(context, reads[2]) == 0):
        scaled = reads[1]
    else:
        return None  # it selects between two tensors
    factor = scaled[0]
    kind, sides = graph.types[factor], context.inputs_of(factor)
    for at in (1,) if kind == "RealDiv" else (0, 1) if kind == "Mul" else ():
        if _makes_up(context, sides[at], kind, reads[mask]):
            return sides[1 - at]
    name = graph.names[masked]
    problem = (
        f"{name!r} masks {graph.name(scaled)!r} with random numbers, and no scale compensates for the dropped elements"
    )
    keeps = f", or exclude={name!r}" if excludes else ""
    way = f"ed.plan().reroute({f'{name}:0'!r}, to={graph.name(scaled)!r})"
    raise context.precondition_error(problem, f"Remove the mask, {way}{keeps}")


def _makes_up(context: RecipeContext, scale: Tensor, kind: str, mask: Tensor) -> bool:
    """Returns whether a scale compensates for the dropped elements, for any rate."""
    share = _share(context, mask)
    if share is None:
        return False
    end, keep_rate = share
    open_ = unknowns(context, [scale, end])
    trials: list[dict[int, Any]] = [{}] if not open_ else [dict.fromkeys(open_, np.float32(p)) for p in (0.3, 0.6)]
    for values_by_op in trials if len(open_) < 2 else ():
        values = [constant(context, tensor, values_by_op) for tensor in (scale, end)]
        if any(value is None or np.size(value) != 1 for value in values):
            return False
        by, rate = (float(np.ravel(value)[0]) for value in values)
        if not np.isclose(by if kind == "RealDiv" else 1 / by if by else np.inf, keep_rate(rate), rtol=1e-3):
            return False
    return len(open_) < 2


def _share(context: RecipeContext, mask: Tensor) -> tuple[Tensor, Callable[[float], float]] | None:
    """Returns the tensor with the rate of a mask, and a function from its value to the share of kept elements."""
    graph = context.graph
    passing = ("Cast", "Identity")
    op = follow_chain(mask[0], lambda at: next(iter(graph.data.row(at).tolist() * (graph.types[at] in passing)), None))
    floor = graph.types[op] == "Floor"
    sides = context.inputs_of(context.inputs_of(op)[0][0] if floor else op)
    above = [
        reachable_from([side], lambda one: graph.data.row(one).tolist() if graph.types[one] in _SCALED else ())
        for side, _ in sides
    ]
    plain = [at for at, ops in enumerate(above) if not any(graph.types[one] in _RANDOM for one in ops)]
    if len(sides) != 2 or len(plain) != 1:
        return None
    if floor:  # the kept share plus random numbers
        return sides[plain[0]], lambda keep: keep
    keeps_larger = graph.types[op].startswith("Greater") == (plain[0] == 1)
    return sides[plain[0]], (lambda rate: 1 - rate) if keeps_larger else (lambda rate: rate)
