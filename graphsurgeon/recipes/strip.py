"""Removes the ops that only training needs, and reports ops that still behave as in training."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..editor.editor import Editor
from ..errors import PlanError, few
from ..graph.functions import CALLS
from ..graph.graph import Mask
from ..graph.names import op_name
from ..graph.parts import refuse_part, required_ops
from ..graph.traversal import backward, follow_chain, forward, reachable_from
from ..graph.types import OpsLike, TensorLike, TensorsLike
from ..graph.variables import FEED_TYPES, PLACEHOLDER_TYPES
from ..plan.dependencies import variable_ops, variable_parts
from ..plan.plan import Plan
from .batch_norm import NORMS, fold, settle, why_unfolded
from .cut import restore_names
from .freeze import constant, unknowns
from .quantization import settle_ranges
from .recipe_context import RecipeContext, Tensor, recipe_context, remove_unused, replace_op, results, tensors

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
#: Ops that compute the size of a tensor and read none of its values.
_SIZES = ("Rank", "Shape", "ShapeN", "Size")
_ROOTS = frozenset({"Rsqrt", "Sqrt"})


class Remaining(NamedTuple):
    """An op that still behaves as in training.

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
    return kind.startswith(_RANDOM_PREFIXES) and kind not in _NOT_DRAWING


def remaining_ops(context: RecipeContext, needed_ops: Mask, folded: bool) -> list[Remaining]:
    """Returns the ops that some outputs need and that still behave as in training.

    Args:
        context: the graph, after all removals.
        needed_ops: mask of the ops that the outputs need.
        folded: whether folding of batch normalization was requested.
    """
    return [*_random(context, needed_ops), *_unfolded(context, needed_ops, folded)]


def _random(context: RecipeContext, needed_ops: Mask) -> list[Remaining]:
    graph, out = context.graph, []
    for op in np.flatnonzero(needed_ops).tolist():
        name, kind = graph.names[op], graph.types[op]
        if draws(kind):
            out.append(
                Remaining(f"{name!r} ({kind}) still draws random numbers", _bypass_suggestion(context, op, needed_ops))
            )
        elif kind in CALLS and (inside := sorted(filter(draws, context.inner_types(op)))):
            text = f"the call {name!r} still draws random numbers, by {few(inside)}"
            out.append(Remaining(text, f"Open the call, ed = ed.inlined({name!r}), and repeat this"))
    return out


def _bypass_suggestion(context: RecipeContext, random: int, needed_ops: Mask) -> str:
    """Returns a suggestion to bypass the op that combines random numbers with a tensor, or a general suggestion."""
    graph = context.graph
    fed = forward(graph, graph.type_mask(FEED_TYPES), control=False, within=~graph.type_mask(_SIZES))
    below = forward(graph, graph.mask([random]), control=False, within=needed_ops)
    for op in np.flatnonzero(below & fed).tolist():
        plain = [one for one in context.inputs_of(op) if fed[one[0]] and not below[one[0]]]
        if len(plain) == 1 and context.consumers_of(op) and graph.info(*plain[0]) == graph.info(op, 0):
            return f"Remove them: ed.plan().reroute({graph.name((op, 0))!r}, to={graph.name(plain[0])!r})"
        break
    return "Keep them if the model needs them; otherwise open the model for inference, gs.open(model, training=False)"


def _unfolded(context: RecipeContext, needed_ops: Mask, folded: bool) -> list[Remaining]:
    graph, out, variable = context.graph, [], []
    for op in [one for one in context.ops_of_type(*NORMS, "Mul") if needed_ops[one]]:
        data = _batch_norm_input(context, op)
        if data is None:
            continue
        name = f"{graph.names[op]!r} ({graph.types[op]})"
        if folded:
            why, suggestion = why_unfolded(context, op, data)
            out.append(Remaining(f"the batch normalization {name} is not folded: {why}", suggestion))
        else:
            variable.append(name)
    if variable:
        text = f"batch normalization is not folded into weights that are variables: {few(variable)}"
        out.append(Remaining(text, "Freeze first: ed = gs.recipes.frozen(ed, outputs)"))
    return out


def _batch_norm_input(context: RecipeContext, op: int) -> Tensor | None:
    """Returns the input of a batch normalization; None for other ops."""
    reads = context.inputs_of(op)
    if context.graph.types[op] in NORMS:
        return reads[0]
    scaled = [at for at, side in enumerate(reads) if _is_scale(context, side)]
    other = reads[1 - scaled[0]] if len(scaled) == 1 else None
    return other if other is not None and constant(context, other) is None else None


def _is_scale(context: RecipeContext, tensor: Tensor) -> bool:
    """Returns whether a tensor is computed with a square root, and does not depend on the inputs."""
    graph = context.graph
    above = reachable_from([tensor[0]], lambda op: graph.data.row(op).tolist())
    kinds = {graph.types[op] for op in above}
    return not _ROOTS.isdisjoint(kinds) and FEED_TYPES.isdisjoint(kinds)


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
    context = recipe_context(obj, "for_inference()")
    targets = results(obj, outputs, context)
    input_tensors = tensors(context.graph, inputs, context.request)
    context = start = recipe_context(obj, context.request, [*targets, *input_tensors])
    if training is not None:
        context = context.with_plan(context.plan.resolve_condition(training, False))
    needed = _needed_ops(context, targets, input_tensors)
    context = context.with_plan(settle(context, needed))
    context = context.with_plan(settle_ranges(context, _needed_ops(context, targets, input_tensors)))
    context = context.with_plan(_without_training(context, targets, input_tensors))
    for part in (_without_checks, _without_dropout, _without_identities):
        context = context.with_plan(part(context))
    variables = context.ops_of_type("Variable", "VariableV2", "VarHandleOp")
    if fold_batch_norm is None:
        fold_batch_norm = not variables
    new_plan = fold(context) if fold_batch_norm else context.plan
    context = context.with_plan(new_plan)
    leftovers = remaining_ops(context, _needed_ops(context, targets, input_tensors), bool(fold_batch_norm))
    if new_plan is not start.plan:
        return replace(new_plan, notes=(*new_plan.notes, *(f"{one.text}. {one.suggestion}" for one in leftovers)))
    if leftovers:
        raise context.precondition_error(
            f"no other rule applies: {few([one.text for one in leftovers], 3)}", leftovers[0].suggestion
        )
    suggestion = "There is nothing to remove"
    if variables:
        suggestion += f"; gs.recipes.frozen(ed, {targets!r}) turns its variables into constants"
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
    context = recipe_context(obj, "strip_training()")
    targets = results(obj, outputs, context)
    fed = tensors(context.graph, inputs, context.request)
    new_plan = _without_training(context, targets, fed)
    problem = f"{few(targets)} need{'s' * (len(targets) == 1)} every op of the graph"
    return _require_change(context, new_plan, problem, "There is nothing to remove")


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
    new_plan = _without_dropout(context, excluded)
    return _require_change(context, new_plan, "no op masks a tensor with random numbers", "There is nothing to remove")


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
    problem = f"the graph has no {few([*_ASSERT_TYPES, *_CHECK_TYPES], 5)}"
    return _require_change(context, _without_checks(context), problem, "There is nothing to remove")


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
    return _require_change(context, _without_identities(context), problem, "ed.select(op='Identity') lists all")


def _require_change(context: RecipeContext, new_plan: Plan, problem: str, suggestion: str) -> Plan:
    """Returns a plan with steps; raises if a recipe found nothing to do."""
    if new_plan is context.plan:
        raise context.precondition_error(problem, suggestion)
    return new_plan


# -- ops that the outputs do not need -------------------------------------------------------------


def _needed_ops(context: RecipeContext, targets: Iterable[str], fed_tensors: Iterable[str]) -> Mask:
    """Returns a mask of the ops that some tensors need, if some tensors are fed."""
    graph = context.graph
    ends = graph.mask(graph.index[name.partition(":")[0]] for name in targets if name not in fed_tensors)
    return required_ops(graph, ends, frozenset(map(graph.tensor, fed_tensors)))


def _without_training(context: RecipeContext, targets: list[str], fed_tensors: list[str]) -> Plan:
    plan, graph = context.plan, context.graph
    needed_ops = _needed_ops(context, targets, fed_tensors)
    ends = [graph.tensor(name) for name in targets if ":" in name and name not in fed_tensors]
    refuse_part(graph, needed_ops, map(graph.tensor, fed_tensors), context.request, ends)
    for name in fed_tensors:
        op, _ = graph.tensor(name)
        if graph.types[op] == "Placeholder":
            continue
        if needed_ops[op]:
            tensors_read = [f"{graph.names[op]}:{at}" for reader, at in graph.consumers.ends(op) if needed_ops[reader]]
            other = next(
                one
                for one in [*tensors_read, *targets]
                if one.startswith(f"{graph.names[op]}:") and one not in fed_tensors
            )
            problem = f"{name!r} is an input, but the outputs need {other!r} of the same op"
            raise context.precondition_error(problem, f"Feed that too: inputs={[*fed_tensors, other]!r}")
        plan = plan.detach(graph.names[op], side="outputs")
    placeholder_ops = {
        graph.tensor(name)[0] for name in fed_tensors if graph.types[graph.tensor(name)[0]] == "Placeholder"
    }
    removed = ~_needed_with_state(context, needed_ops | graph.mask(sorted(placeholder_ops)), fed_tensors)
    names = [graph.names[i] for i in np.flatnonzero(removed).tolist()]
    plan, renamed = restore_names(plan, context, fed_tensors) if plan is not context.plan else (plan, {})
    return plan.remove([renamed.get(name, name) for name in names]) if names else plan


def _needed_with_state(context: RecipeContext, needed_ops: Mask, fed_tensors: list[str]) -> Mask:
    """Returns some ops, with all ops of their variables, loops, conds and tables, and the ops that fill the tables."""
    graph, state = context.graph, context.graph.state
    mask, savers = needed_ops.copy(), _savers(context)
    fills = graph.mask(graph.index[name] for names in state.init_ops.values() for name in names if name in graph.index)
    starts = {op: backward(graph, graph.mask([op])) for op in map(graph.index.__getitem__, context.init_ops)}
    cuts = frozenset(map(graph.tensor, fed_tensors))
    while True:
        for variable in state.variables.values():
            if variable.op in graph.index and mask[graph.index[variable.op]]:
                mask |= variable_parts(graph, variable)
                mask[savers.get(graph.index[variable.op], [])] = True
        for whole in _contexts(context):
            mask[sorted(whole)] |= bool(mask[sorted(whole)].any())
        for holder, names in state.init_ops.items():
            if holder in graph.index and mask[graph.index[holder]]:
                mask[[graph.index[name] for name in names if name in graph.index]] = True
        for op, run in starts.items():  # ops that run first, if they fill one of these tables
            mask[op] |= bool((mask & fills & run).any())
        wider = required_ops(graph, mask, cuts)
        if (wider == needed_ops).all():
            return wider
        mask, needed_ops = wider.copy(), wider


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


def _contexts(context: RecipeContext) -> list[set[int]]:
    """Returns the ops of each TF1 loop and cond that still exists."""
    graph = context.graph
    wholes = [{graph.index[name] for name in names if name in graph.index} for names in graph.state.contexts]
    return [whole for whole in wholes if any(graph.types[op] in _LOOP_TYPES for op in whole)]


#: Ops that every loop or cond has.
_LOOP_TYPES = frozenset({"Enter", "Exit", "Merge", "NextIteration", "RefEnter", "RefMerge", "RefSwitch", "Switch"})


# -- checks ---------------------------------------------------------------------------------------


def _without_checks(context: RecipeContext) -> Plan:
    graph, plan = context.graph, context.plan
    looking = [
        op
        for op in context.ops_of_type(*_CHECK_TYPES)
        if graph.names[op] not in context.protected_ops and context.consumers_of(op)
    ]
    watching = [op for op in context.ops_of_type(*_ASSERT_TYPES) if graph.names[op] not in context.protected_ops]
    watching += [op for op in context.ops_of_type(*_GUARDS) if _is_guard(context, op)]
    removed = set(watching)
    for numbers in _contexts(context):  # a cond of TF1 around a check
        if removed & numbers and not any(r not in numbers for op in numbers for r in graph.consumers.row(op).tolist()):
            removed |= numbers
    removed = {op for op in removed if all(whole <= removed for whole in _contexts(context) if op in whole)}
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
        if (
            graph.types[reader] != "Identity"
            or len(graph.consumers.row(reader))
            or graph.names[reader] in context.protected_ops
        ):
            return False
    inner = context.inner_types(op)
    return "Assert" in inner and inner <= {"Assert", "Const", "Identity", "NoOp"}


# -- identities -----------------------------------------------------------------------------------


def _without_identities(context: RecipeContext) -> Plan:
    graph = context.graph
    state = graph.state
    collection_ops = {entry.name.partition(":")[0] for entries in state.collections.values() for entry in entries}
    protected = (
        {graph.names[op] for whole in _contexts(context) for op in whole} | context.protected_ops | collection_ops
    )
    protected |= {name for names in state.init_ops.values() for name in names}
    here = [info for info in state.variables.values() if info.op in graph.index]
    protected |= {graph.names[op] for info in here for op in variable_ops(graph, info)}
    removed = []
    for op in context.ops_of_type(*_IDENTITY_TYPES):
        if graph.names[op] in protected or len(graph.control.row(op)) or len(graph.control_consumers.row(op)):
            continue
        input_info, output_info = graph.info(*context.inputs_of(op)[0]), graph.info(op, 0)
        if (
            not context.consumers_of(op)
            or input_info is None
            or output_info is None
            or input_info.dtype != output_info.dtype
        ):
            continue
        near = [context.inputs_of(op)[0][0], *graph.consumers.row(op).tolist()]
        if any(graph.types[one] in _LOOP_TYPES | {"LoopCond"} for one in near):  # it may mark a loop or branch
            continue
        if input_info.dtype in ("resource", "variant") or (
            input_info.shape != output_info.shape and output_info.shape is not None
        ):
            continue
        removed.append(graph.names[op])
    return context.plan.remove(removed, stitch=True) if removed else context.plan


# -- dropout --------------------------------------------------------------------------------------


def _without_dropout(context: RecipeContext, excluded: Collection[str] | None = None) -> Plan:
    """Removes dropout, except the ops in `excluded`; None if the recipe has no argument ``exclude``."""
    graph, plan = context.graph, context.plan
    pairs: dict[int, tuple[int, int]] = {}
    masks: dict[tuple[int, int], int] = {}
    others: list[tuple[int, tuple[int, int], PlanError]] = []
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

    def source_of(tensor: tuple[int, int]) -> tuple[int, int]:
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
    graph, out = context.graph, []
    todo, visited = [(random, False)], {(random, False)}
    while todo:
        op, compared = todo.pop()
        for reader, at in context.consumers_of(op):
            kind = graph.types[reader]
            if compared and kind in _MASKED:
                out.append((reader, at))
            elif (
                kind in _THRESHOLDS or (kind in _SCALED and not compared) or (compared and kind in ("Cast", "Identity"))
            ):
                step = reader, compared or kind in _THRESHOLDS
                todo += [step] if step not in visited else []
                visited.add(step)
    return out


def _source(context: RecipeContext, masked: int, mask: int, excludes: bool) -> tuple[int, int] | None:
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


def _makes_up(context: RecipeContext, scale: tuple[int, int], kind: str, mask: tuple[int, int]) -> bool:
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


def _share(context: RecipeContext, mask: tuple[int, int]) -> tuple[tuple[int, int], Callable[[float], float]] | None:
    """Returns the tensor with the rate of a mask, and a function from its value to the share of kept elements."""
    graph = context.graph
    passing = ("Cast", "Identity")
    op = follow_chain(mask[0], lambda at: next(iter(graph.data.row(at).tolist() * (graph.types[at] in passing)), None))
    floor = graph.types[op] == "Floor"
    sides = context.inputs_of(context.inputs_of(op)[0][0] if floor else op)
    plain = [at for at, side in enumerate(sides) if not _is_random(context, side[0])]
    if len(sides) != 2 or len(plain) != 1:
        return None
    if floor:  # the kept share plus random numbers
        return sides[plain[0]], lambda keep: keep
    above = graph.types[op].startswith("Greater") == (plain[0] == 1)
    return sides[plain[0]], (lambda rate: 1 - rate) if above else (lambda rate: rate)


def _is_random(context: RecipeContext, op: int) -> bool:
    types, data = context.graph.types, context.graph.data
    above = reachable_from([op], lambda one: data.row(one).tolist() if types[one] in _SCALED else ())
    return any(types[one] in _RANDOM for one in above)
