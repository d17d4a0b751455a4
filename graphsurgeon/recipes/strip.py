"""Removes the ops that only training needs, and reports ops that still work as in training."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import PlanError, few
from ..graph.functions import CALLS
from ..graph.graph import Mask
from ..graph.names import op_name
from ..graph.parts import refuse_part, required
from ..graph.traversal import backward, end_of, forward, met_from
from ..graph.variables import FEED_TYPES, PLACEHOLDER_TYPES
from ..plan.dependencies import variable_ops, variable_parts
from ..plan.plan import Plan
from .batch_norm import NORMS, fold, settle, why_unfolded
from .cut import named_anew
from .freeze import constant, unknowns
from .quantization import settle_ranges
from .subject import Subject, Tensor, loosened, replaced, results, subject, tensors

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


#: Ops that inspect their input and forward it.
_LOOKING = ("CheckNumerics", "CheckNumericsV2", "Print")
#: Ops that inspect their input and have no output.
_WATCHING = ("Assert", "PrintV2")
_GUARDS = ("If", "StatelessIf")
#: Ops that forward their input; the last two differ in their gradients.
_SAME = ("Identity", "PreventGradient", "StopGradient")
_RANDOM = ("RandomUniform", "StatelessRandomUniform", "StatelessRandomUniformV2")
_SCALED = ("Add", "AddV2", "Identity", "Mul", "Sub")
_THRESHOLDS = ("Floor", "Greater", "GreaterEqual", "Less", "LessEqual")
_MASKED = ("Mul", "Select", "SelectV2")


def for_inference(
    thing: Any, outputs: Any = None, inputs: Any = None, *, training: Any = None, fold_batch_norm: bool | None = None
) -> Plan:
    """Prepares a graph for inference: removes everything that only training needs.

    Gradients, optimizers, summaries, savers, queues, dropout, checks and identities are removed. Batch normalization
    reads its moving averages, and is folded into the weights if these are constants. FakeQuant ops stay and read the
    stored ranges.

    Each part is also a separate recipe; a part without a match is skipped. Shapes and dtypes of the outputs stay. The
    warnings of the plan list the ops that still work as in training: random ops other than dropout, and batch
    normalization that is not folded, with the reason.

    Args:
        thing: an editor; or a plan, to add to.
        outputs: the outputs to keep, by name or object; default: those of the function that was opened. Their names
            stay.
        inputs: tensors to feed: each is replaced by a placeholder of the same dtype and shape.
        training: a scalar bool that switches training on, for example ``"is_training:0"``; it is set to False.
        fold_batch_norm: whether to fold batch normalization. Default: only if no weight is a variable. To fold in a
            graph with variables, freeze it first with ``gs.recipes.frozen(ed, outputs)``. If the graph reads the
            statistics of the batch, apply this plan before: freezing removes the ops that keep the averages.

    Raises:
        PlanError: if no outputs are given, no rule applies, or a part is refused. No rule applies to a graph that is in
            inference form already. The message names the op and the reason.
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
    found = subject(thing, "for_inference()")
    wanted = results(thing, outputs, found)
    fed = tensors(found.graph, inputs, found.request)
    found = start = subject(thing, found.request, [*wanted, *fed])
    if training is not None:
        found = found.after(found.plan.resolve_condition(training, False))
    needed = _needed(found, wanted, fed)
    found = found.after(settle(found, needed))
    found = found.after(settle_ranges(found, _needed(found, wanted, fed)))
    found = found.after(_without_training(found, wanted, fed))
    for part in (_without_checks, _without_dropout, _without_identities):
        found = found.after(part(found))
    variables = found.typed("Variable", "VariableV2", "VarHandleOp")
    if fold_batch_norm is None:
        fold_batch_norm = not variables
    made = fold(found) if fold_batch_norm else found.plan
    found = found.after(made)
    left = remaining(found, _needed(found, wanted, fed), bool(fold_batch_norm))
    if made is not start.plan:
        return replace(made, notes=(*made.notes, *(f"{one.text}. {one.suggestion}" for one in left)))
    if left:
        raise found.refused(f"no other rule applies: {few([one.text for one in left], 3)}", left[0].suggestion)
    suggestion = "There is nothing to remove"
    if variables:
        suggestion += f"; gs.recipes.frozen(ed, {wanted!r}) turns its variables into constants"
    raise found.refused("it is in inference form already", suggestion)


def strip_training(thing: Any, outputs: Any = None, inputs: Any = None) -> Plan:
    """Removes everything that the outputs do not need: gradients, optimizers, summaries, savers, queues, losses.

    Variables that the outputs read keep their initializers. Tables keep the ops that fill them, for example the init op
    of a SavedModel. A variable of a TF2 SavedModel has no initializer in the graph, only a saver. The call that
    restores it stays, with all variables that this call restores, and the ops that save them to the same file.

    Args:
        thing: an editor; or a plan, to add to.
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
    found = subject(thing, "strip_training()")
    wanted = results(thing, outputs, found)
    fed = tensors(found.graph, inputs, found.request)
    made = _without_training(found, wanted, fed)
    problem = f"{few(wanted)} need{'s' * (len(wanted) == 1)} every op of the graph"
    return _some(found, made, problem, "There is nothing to remove")


def strip_dropout(thing: Any, *, exclude: Any = ()) -> Plan:
    """Removes dropout: the consumers of its result read its input instead.

    Dropout is recognized by its ops: random numbers compared with a rate, a mask of the comparison, and a scale that
    compensates for the dropped elements. This covers dropout of TF1, TF2 and Keras. Dtypes, shapes and the names of
    outputs stay.

    Args:
        thing: an editor; or a plan, to add to.
        exclude: ops that mask with random numbers and must stay, by name or object.

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
    found = subject(thing, "strip_dropout()")
    left = set(map(op_name, found.given.ops(exclude)))
    made = _without_dropout(found, left)
    return _some(found, made, "no op masks a tensor with random numbers", "There is nothing to remove")


def strip_checks(thing: Any) -> Plan:
    """Removes ``Assert``, ``CheckNumerics`` and ``Print``, with all ops that only they need.

    Control edges from the removed ops are removed too.

    Args:
        thing: an editor; or a plan, to add to.

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
    found = subject(thing, "strip_checks()")
    problem = f"the graph has no {few([*_WATCHING, *_LOOKING], 5)}"
    return _some(found, _without_checks(found), problem, "There is nothing to remove")


def strip_identities(thing: Any, outputs: Any = None) -> Plan:
    """Removes ``Identity``, ``StopGradient`` and ``PreventGradient``: their consumers read their inputs instead.

    An identity with another purpose stays. For example, it orders ops, reads a reference variable, fills a table, is in
    a collection, is part of a variable or of a TF1 loop or cond, or has the name of an input or output.

    Args:
        thing: an editor; or a plan, to add to.
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
    found = subject(thing, "strip_identities()", outputs)
    problem = "no identity can be removed without another change than of a name"
    return _some(found, _without_identities(found), problem, "ed.select(op='Identity') lists all")


def _some(found: Subject, made: Plan, problem: str, suggestion: str) -> Plan:
    """Returns a plan with steps; raises if a recipe found nothing to do."""
    if made is found.plan:
        raise found.refused(problem, suggestion)
    return made


# -- ops that the outputs do not need -------------------------------------------------------------


def _needed(found: Subject, wanted: Iterable[str], fed: Iterable[str]) -> Mask:
    """A mask of the ops that some tensors need, starting from the fed tensors."""
    graph = found.graph
    ends = graph.mask(graph.index[name.partition(":")[0]] for name in wanted if name not in fed)
    return required(graph, ends, frozenset(map(graph.tensor, fed)))


def _without_training(found: Subject, wanted: list[str], fed: list[str]) -> Plan:
    plan, graph = found.plan, found.graph
    needed = _needed(found, wanted, fed)
    ends = [graph.tensor(name) for name in wanted if ":" in name and name not in fed]
    refuse_part(graph, needed, map(graph.tensor, fed), found.request, ends)
    for name in fed:
        op, _ = graph.tensor(name)
        if graph.types[op] == "Placeholder":
            continue
        if needed[op]:
            read = [f"{graph.names[op]}:{at}" for reader, at in graph.consumers.ends(op) if needed[reader]]
            other = next(one for one in [*read, *wanted] if one.startswith(f"{graph.names[op]}:") and one not in fed)
            problem = f"{name!r} is an input, but the outputs need {other!r} of the same op"
            raise found.refused(problem, f"Feed that too: inputs={[*fed, other]!r}")
        plan = plan.detach(graph.names[op], side="outputs")
    kept = {graph.tensor(name)[0] for name in fed if graph.types[graph.tensor(name)[0]] == "Placeholder"}
    gone = ~_held(found, needed | graph.mask(sorted(kept)), fed)
    names = [graph.names[i] for i in np.flatnonzero(gone).tolist()]
    plan, renamed = named_anew(plan, found, fed) if plan is not found.plan else (plan, {})
    return plan.remove([renamed.get(name, name) for name in names]) if names else plan


def _held(found: Subject, needed: Mask, fed: list[str]) -> Mask:
    """Some ops, with the ops that their variables, loops, conds and tables need, including those that fill them."""
    graph, state = found.graph, found.graph.state
    held, savers = needed.copy(), _savers(found)
    fills = graph.mask(graph.index[name] for names in state.init_ops.values() for name in names if name in graph.index)
    starts = {op: backward(graph, graph.mask([op])) for op in map(graph.index.__getitem__, found.first)}
    cuts = frozenset(map(graph.tensor, fed))
    while True:
        for variable in state.variables.values():
            if variable.op in graph.index and held[graph.index[variable.op]]:
                held |= variable_parts(graph, variable)
                held[savers.get(graph.index[variable.op], [])] = True
        for whole in _contexts(found):
            held[sorted(whole)] |= bool(held[sorted(whole)].any())
        for holder, names in state.init_ops.items():
            if holder in graph.index and held[graph.index[holder]]:
                held[[graph.index[name] for name in names if name in graph.index]] = True
        for op, run in starts.items():  # ops that run first, if they fill one of these tables
            held[op] |= bool((held & fills & run).any())
        wider = required(graph, held, cuts)
        if (wider == needed).all():
            return wider
        held, needed = wider.copy(), wider


def _savers(found: Subject) -> dict[int, list[int]]:
    """Variables that no op of the graph sets -> the calls that restore them, and those that save to the same file.

    A call restores the variables whose handles it takes, if its function reads a checkpoint and assigns. The file is
    the placeholder that it reads.
    """
    graph = found.graph
    variables = graph.state.variables.values()
    mute = {graph.index[v.op] for v in variables if v.op in graph.index and v.initializer not in graph.index}
    inner = {op: found.inside(op) for op in found.typed(*CALLS)} if mute else {}
    savers: dict[int, list[int]] = {one: [] for one in mute}
    for op, kinds in inner.items():
        if kinds >= {"RestoreV2", "AssignVariableOp"}:
            read = graph.data.row(op).tolist()
            files = [one for one in read if graph.types[one] in PLACEHOLDER_TYPES]
            saves = [one for file in files for one in graph.consumers.row(file).tolist()
                     if "SaveV2" in inner.get(one, ())]  # fmt: skip
            for one in mute.intersection(read):
                savers[one] += [op, *saves]
    return savers


def _contexts(found: Subject) -> list[set[int]]:
    """The loops and conds of TF1 that still exist: the ops of each."""
    graph = found.graph
    wholes = [{graph.index[name] for name in names if name in graph.index} for names in graph.state.contexts]
    return [whole for whole in wholes if any(graph.types[op] in _TURNS for op in whole)]


#: Ops that every loop or cond has.
_TURNS = frozenset({"Enter", "Exit", "Merge", "NextIteration", "RefEnter", "RefMerge", "RefSwitch", "Switch"})


# -- checks ---------------------------------------------------------------------------------------


def _without_checks(found: Subject) -> Plan:
    graph, plan = found.graph, found.plan
    looking = [op for op in found.typed(*_LOOKING) if graph.names[op] not in found.ends and found.readers(op)]
    watching = [op for op in found.typed(*_WATCHING) if graph.names[op] not in found.ends]
    watching += [op for op in found.typed(*_GUARDS) if _is_guard(found, op)]
    gone = set(watching)
    for numbers in _contexts(found):  # a cond of TF1 around a check
        if gone & numbers and not any(r not in numbers for op in numbers for r in graph.consumers.row(op).tolist()):
            gone |= numbers
    gone = {op for op in gone if all(whole <= gone for whole in _contexts(found) if op in whole)}
    for op in sorted(gone):  # an identity that only forwards the end of a check
        gone |= {r for r in graph.consumers.row(op).tolist() if not len(graph.consumers.row(r))}
    if looking:
        plan = plan.remove([graph.names[op] for op in looking], stitch=True)
    if gone:
        read = {one for op in gone for one in graph.needed.row(op).tolist()} - gone
        plan = plan.remove([graph.names[op] for op in sorted(gone)])
        plan = loosened(plan, graph, [graph.names[op] for op in sorted(read)], found.ends)
    return plan


def _is_guard(found: Subject, op: int) -> bool:
    """Whether a cond of TF2 only checks: one of its branches has an ``Assert``, and its outputs have no consumers."""
    graph = found.graph
    for reader in graph.consumers.row(op).tolist():
        if graph.types[reader] != "Identity" or len(graph.consumers.row(reader)) or graph.names[reader] in found.ends:
            return False
    inner = found.inside(op)
    return "Assert" in inner and inner <= {"Assert", "Const", "Identity", "NoOp"}


# -- identities -----------------------------------------------------------------------------------


def _without_identities(found: Subject) -> Plan:
    graph = found.graph
    state = graph.state
    listed = {entry.name.partition(":")[0] for entries in state.collections.values() for entry in entries}
    held = {graph.names[op] for whole in _contexts(found) for op in whole} | found.ends | listed
    held |= {name for names in state.init_ops.values() for name in names}
    here = [info for info in state.variables.values() if info.op in graph.index]
    held |= {graph.names[op] for info in here for op in variable_ops(graph, info)}
    gone = []
    for op in found.typed(*_SAME):
        if graph.names[op] in held or len(graph.control.row(op)) or len(graph.control_consumers.row(op)):
            continue
        given, made = graph.info(*found.reads(op)[0]), graph.info(op, 0)
        if not found.readers(op) or given is None or made is None or given.dtype != made.dtype:
            continue
        near = [found.reads(op)[0][0], *graph.consumers.row(op).tolist()]
        if any(graph.types[one] in _TURNS | {"LoopCond"} for one in near):  # it may mark a loop or branch
            continue
        if given.dtype in ("resource", "variant") or (given.shape != made.shape and made.shape is not None):
            continue
        gone.append(graph.names[op])
    return found.plan.remove(gone, stitch=True) if gone else found.plan


# -- dropout --------------------------------------------------------------------------------------


def _without_dropout(found: Subject, left: Collection[str] | None = None) -> Plan:
    """Removes dropouts; `left` are those to keep, None if the recipe has no such choice."""
    graph, plan = found.graph, found.plan
    pairs: dict[int, tuple[int, int]] = {}
    masks: dict[tuple[int, int], int] = {}
    others: list[tuple[int, tuple[int, int], PlanError]] = []
    for random in found.typed(*_RANDOM):
        for masked, at in _masked(found, random):
            if graph.names[masked] in (left or ()):
                continue
            mask = found.reads(masked)[at]
            try:
                source = _source(found, masked, at, excludes=left is not None)
            except PlanError as error:
                others.append((masked, mask, error))
                continue
            if source is not None:
                pairs[masked], masks[mask] = source, masked
    for masked, mask, refused in others:
        if mask not in masks:
            raise refused
        problem = f"{graph.names[masked]!r} is the gradient of the dropout {graph.names[masks[mask]]!r}"
        raise found.refused(problem, "Remove the gradients first: ed.apply(gs.recipes.strip_training(ed, outputs))")
    if not pairs:
        return plan

    def kept(tensor: tuple[int, int]) -> tuple[int, int]:
        while tensor[0] in pairs and tensor[1] == 0:
            tensor = pairs[tensor[0]]
        return tensor

    moved = {graph.name((op, 0)): graph.name(kept(source)) for op, source in pairs.items() if found.readers(op)}
    named = [op for op in pairs if graph.names[op] in found.ends or not found.readers(op)]
    ends = {op: graph.name(kept(pairs[op])) for op in named}
    for op, end in ends.items():  # an identity with its name
        reader = graph.names[found.readers(*graph.tensor(end))[0][0]]
        plan = replaced(plan, found, op, end, reader, "dropped")
        moved.pop(graph.name((op, 0)), None)
    plan = plan.reroute(moved) if moved else plan
    for op, source in pairs.items():
        if len(graph.control_consumers.row(op)) and op not in ends:
            plan = plan.reroute_control(graph.names[op], to=graph.names[kept(source)[0]])
    names = [graph.names[op] for op in pairs if op not in ends]
    names += [graph.names[one] for op in ends for one in graph.data.row(op).tolist()]
    return loosened(plan, graph, names, found.ends)


def _masked(found: Subject, random: int) -> list[tuple[int, int]]:
    """(op that masks, index of its mask input) for the masks that are computed from random numbers."""
    graph, out = found.graph, []
    todo, seen = [(random, False)], {(random, False)}
    while todo:
        op, cut = todo.pop()
        for reader, at in found.readers(op):
            kind = graph.types[reader]
            if cut and kind in _MASKED:
                out.append((reader, at))
            elif kind in _THRESHOLDS or (kind in _SCALED and not cut) or (cut and kind in ("Cast", "Identity")):
                step = reader, cut or kind in _THRESHOLDS
                todo += [step] if step not in seen else []
                seen.add(step)
    return out


def _source(found: Subject, masked: int, mask: int, excludes: bool) -> tuple[int, int] | None:
    """The tensor that a dropout drops from; None if the op is not a dropout."""
    graph, reads = found.graph, found.reads(masked)
    if graph.types[masked] == "Mul":
        scaled = reads[1 - mask]
    elif mask == 0 and np.all(constant(found, reads[2]) == 0):
        scaled = reads[1]
    else:
        return None  # it selects between two tensors
    factor = scaled[0]
    kind, sides = graph.types[factor], found.reads(factor)
    for at in (1,) if kind == "RealDiv" else (0, 1) if kind == "Mul" else ():
        if _makes_up(found, sides[at], kind, reads[mask]):
            return sides[1 - at]
    name = graph.names[masked]
    problem = (
        f"{name!r} masks {graph.name(scaled)!r} with random numbers, and no scale compensates for the dropped elements"
    )
    keeps = f", or exclude={name!r}" if excludes else ""
    way = f"ed.plan().reroute({f'{name}:0'!r}, to={graph.name(scaled)!r})"
    raise found.refused(problem, f"Remove the mask, {way}{keeps}")


def _makes_up(found: Subject, scale: tuple[int, int], kind: str, mask: tuple[int, int]) -> bool:
    """Whether a scale compensates for the elements that a mask drops, for any rate."""
    share = _share(found, mask)
    if share is None:
        return False
    end, kept = share
    open_ = unknowns(found, [scale, end])
    trials: list[dict[int, Any]] = [{}] if not open_ else [dict.fromkeys(open_, np.float32(p)) for p in (0.3, 0.6)]
    for given in trials if len(open_) < 2 else ():
        values = [constant(found, tensor, given) for tensor in (scale, end)]
        if any(value is None or np.size(value) != 1 for value in values):
            return False
        by, rate = (float(np.ravel(value)[0]) for value in values)
        if not np.isclose(by if kind == "RealDiv" else 1 / by if by else np.inf, kept(rate), rtol=1e-3):
            return False
    return len(open_) < 2


def _share(found: Subject, mask: tuple[int, int]) -> tuple[tuple[int, int], Callable[[float], float]] | None:
    """The tensor with the rate that is dropped or kept, and a function from its value to the share of ones."""
    graph = found.graph
    passing = ("Cast", "Identity")
    op = end_of(mask[0], lambda at: next(iter(graph.data.row(at).tolist() * (graph.types[at] in passing)), None))
    floor = graph.types[op] == "Floor"
    sides = found.reads(found.reads(op)[0][0] if floor else op)
    plain = [at for at, side in enumerate(sides) if not _is_random(found, side[0])]
    if len(sides) != 2 or len(plain) != 1:
        return None
    if floor:  # the kept share plus random numbers
        return sides[plain[0]], lambda keep: keep
    above = graph.types[op].startswith("Greater") == (plain[0] == 1)
    return sides[plain[0]], (lambda rate: 1 - rate) if above else (lambda rate: rate)


def _is_random(found: Subject, op: int) -> bool:
    types, data = found.graph.types, found.graph.data
    above = met_from([op], lambda one: data.row(one).tolist() if types[one] in _SCALED else ())
    return any(types[one] in _RANDOM for one in above)
