"""Finds the preprocessing, the head and the postprocessing of a model, and cuts or replaces them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from ..editor.editor import Editor
from ..errors import counted, few, one_of
from ..graph.boundary import entering_tensors
from ..graph.functions import BRANCHING, CALLS, inline_suggestion
from ..graph.graph import Mask
from ..graph.names import free_name
from ..graph.open_graph import likely_ends
from ..graph.selection import select, selection_from
from ..graph.training import SIZE_TYPES
from ..graph.traversal import backward, forward
from ..graph.types import TensorLike
from ..graph.variables import INPUT_TYPES
from ..plan.editor_like import default_ends
from ..plan.plan import Plan
from .recipe_context import RecipeContext, below, recipe_context, remove_unused, tensors
from .variables import constant

_SUMS = ("Add", "AddV2", "Div", "Mul", "RealDiv", "Sub")
#: Patterns of preprocessing: name -> op types.
_CONTEXT_ATTRIBUTES = {
    "decode": ("Decode*", "ParseExample*", "ParseSingle*", "ParseSequence*", "ParseTensor", "StringToNumber"),
    "resize": ("CropAndResize*", "Resize*", "ScaleAndTranslate"),
    "scale": (*_SUMS, "AdjustContrast*", "AdjustHue", "AdjustSaturation"),
    "sound": ("AudioSpectrogram", "Mfcc", "RFFT"),
}
#: Patterns of postprocessing: name -> op types.
_AFTER = {
    "best": ("ArgMax", "ArgMin", "InTopK*", "TopK*"),
    "nms": ("CombinedNonMaxSuppression", "NonMaxSuppression*"),
    "probabilities": ("LogSoftmax", "Sigmoid", "Softmax"),
}
#: Ops that forward, select or combine tensors, without learned numbers.
_IDENTITY_PATTERNS = (
    "BroadcastTo", "Cast", "ConcatV2", "Const", "ExpandDims", "Fill", "Gather", "GatherNd", "GatherV2", "Identity",
    "IdentityN", "Pack", "Pad", "PadV2", "Range", "Rank", "Reshape", "ReverseV2", "Shape", "ShapeN", "Size", "Slice",
    "Split", "SplitV", "Squeeze", "StridedSlice", "Tile", "Transpose", "Unpack", "ZerosLike",
)  # fmt: skip
_COMPARING = (
    "Equal", "Greater", "GreaterEqual", "Less", "LessEqual", "LogicalAnd", "LogicalNot", "LogicalOr", "Maximum",
    "Minimum", "NotEqual", "Select", "SelectV2", "Where",
)  # fmt: skip
_COUNTING = ("Ceil", "Div", "Exp", "Floor", "FloorDiv", "FloorMod", "Neg", "Prod", "Round", "Sum", "Max", "Min")
_REPEATING = (
    "Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch", "TensorArray*", "TensorList*", "If", "While",
    "StatelessIf", "StatelessWhile", "PartitionedCall", "StatefulPartitionedCall",
)  # fmt: skip
#: Ops that return the results of a loop or of a tensor array.
_SOURCE_PATTERNS = ("Exit", "TensorArrayGather*", "TensorArrayConcat*", "TensorArrayRead*", "TensorArraySize*")
_ARRAYS = ("TensorArray*", "TensorList*")
_LABELS = ("AsString", "LookupTableFind*", "StringJoin", "HashTable*")
_PREPARING = (
    *_IDENTITY_PATTERNS, *_COMPARING, *_COUNTING, *_REPEATING,
    *(kind for kinds in _CONTEXT_ATTRIBUTES.values() for kind in kinds),
)  # fmt: skip
_FINISHING = (
    *_IDENTITY_PATTERNS, *_COMPARING, *_COUNTING, *_REPEATING, *_LABELS, *_AFTER["best"], *_AFTER["nms"],
    "Add", "AddV2", "Mul", "RealDiv", "Sub", "Assert", "NoOp",
)  # fmt: skip
#: A shift or a factor has at most one number for each channel of a picture.
_CHANNELS = 4


def cut_preprocessing(obj: Editor | Plan, patterns: str | Iterable[str] | None = None) -> Plan:
    """Cuts the preprocessing off a model, and makes its results the new inputs, as placeholders.

    Preprocessing is recognized by its ops: decoding of bytes, files and examples; resizing of pictures; spectrograms of
    sound; shifting and scaling of tensors with three or more axes by at most four constants, one for each channel.
    Loops and called functions that only preprocess are cut off too. Ops after the preprocessing, such as a reshape,
    stay. Each new placeholder has the name, dtype and shape of the tensor that it replaces. An old input that still has
    consumers also stays.

    Args:
        obj: an editor; or a plan, to continue.
        patterns: the kinds to cut off: ``"decode"``, ``"resize"``, ``"scale"``, ``"sound"``. Default: all.

    Raises:
        PlanError: if there is no preprocessing, or no model would remain after it.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     data = tf.compat.v1.placeholder(tf.string, [], name="jpeg")
        ...     image = tf.cast(tf.image.decode_jpeg(data, channels=3), tf.float32) / 127.5 - 1.0
        ...     y = tf.nn.relu(tf.expand_dims(image, 0), name="y")
        >>> plan = gs.recipes.cut_preprocessing(gs.open(graph))
        >>> after = plan.after()
        >>> [name for name, kind in zip(after.names, after.types) if kind != "Const"]
        ['ExpandDims', 'y', 'sub']
        >>> after.types[after.index["sub"]]
        'Placeholder'
    """
    context = recipe_context(obj, "cut_preprocessing()")
    graph = context.graph
    names = _pattern_names(context, patterns, _CONTEXT_ATTRIBUTES)
    kinds = tuple(kind for name in names for kind in _CONTEXT_ATTRIBUTES[name])
    sources = graph.type_mask(INPUT_TYPES)
    fed = forward(graph, sources, control=False)
    allowed = ~forward(graph, ~(sources | _ops_of_types(context, _PREPARING)), control=False)
    core = fed & allowed & _ops_of_types(context, kinds) & ~sources
    sums = core & graph.type_mask(_SUMS)
    core &= ~sums
    # A sum or product scales an image or sound if one input is a constant of up to `_CHANNELS` numbers. The other input
    # must be computed by other ops of the core, or the output must have at least three axes.
    after_core = forward(graph, core, control=False)
    for op in np.flatnonzero(sums).tolist():
        sides = [constant(context, tensor) for tensor in context.inputs_of(op)]
        few_numbers = [side is not None and side.size <= _CHANNELS and side.dtype.kind == "f" for side in sides]
        info = graph.info(op, 0)
        picture = after_core[op] or (info is not None and info.shape is not None and len(info.shape) > 2)
        core[op] = any(few_numbers) and picture
    if not core.any():
        raise context.precondition_error(
            f"nothing that a placeholder feeds matches {few(map(repr, names))}",
            "There is nothing to cut off; gs.recipes.split_at(ed, tensor) cuts at any tensor",
        )
    computed = forward(graph, core, control=False, within=allowed)
    core |= computed & (
        _ops_of_types(context, _SOURCE_PATTERNS) | ~backward(graph, ~allowed)
    )  # ops without another use are cut off too
    before = backward(graph, context.with_contexts(core), control=False, within=allowed)
    edges = [tensor for tensor in entering_tensors(graph, ~before) if computed[tensor[0]]]
    if not edges:
        first = graph.names[int(np.flatnonzero(core)[0])]
        kind = graph.types[graph.index[first]]
        problem = f"{first!r} ({kind}) is preprocessing, and its output has no other consumer"
        raise context.precondition_error(problem, "Nothing would remain after this cut")
    above = backward(graph, before)
    removed = above & ~backward(graph, ~above, frozenset(edges))  # other ops may need a part, such as a size
    names = selection_from(graph, removed).names
    output_ops = [name for name in names if name in context.protected_ops and not sources[graph.index[name]]]
    if output_ops:
        problem = f"{output_ops[0]!r}, a part of the preprocessing, is an output"
        raise context.precondition_error(problem, "Leave that out first: gs.recipes.set_signature(ed, outputs)")
    plan = context.plan.detach(names, side="outputs")
    plan, renamed = restore_names(plan, context, [graph.name(edge) for edge in edges])
    return plan.remove([renamed.get(name, name) for name in names])


def restore_names(plan: Plan, context: RecipeContext, fed_tensors: Iterable[str]) -> tuple[Plan, dict[str, str]]:
    """Gives placeholders the names of the ops whose outputs they replace.

    Only a placeholder for output 0 of an op gets the name of the op.

    Args:
        plan: the plan that has inserted the placeholders.
        context: the subject of the recipe.
        fed_tensors: the replaced tensors.

    Returns:
        the plan; and old name -> new name, for the ops that had these names.
    """
    graph, names = plan.after(), dict[str, str]()
    for name in fed_tensors:
        old, _, port = name.partition(":")
        new = f"{old}_0_detached"
        if port == "0" and new in graph.index and new not in context.graph.index:
            names |= {**below(context.graph, old), old: free_name(f"{old}_before", graph.is_name_used), new: old}
    return (plan.rename(names) if names else plan), {old: new for old, new in names.items() if old != new}


def cut_postprocessing(obj: Editor | Plan, patterns: str | Iterable[str] | None = None) -> Plan:
    """Cuts the postprocessing off a model. The inputs of the postprocessing become the new outputs.

    Postprocessing is recognized by its ops: the choice of the best class, non-maximum suppression with the ops that
    arrange its boxes, and probabilities such as those of a softmax. It is cut off only if no other op of the model
    reads its results. Loops that contain it are removed as a whole. The names of the other ops do not change. The new
    outputs have no consumers. Name them in `outputs=` when you save the model.

    Args:
        obj: an editor; or a plan, to continue.
        patterns: the kinds to cut off: ``"best"``, ``"nms"``, ``"probabilities"``. Default: all.

    Raises:
        PlanError: if there is no postprocessing, or the model continues after it; the message names the op that uses
            it.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        ...     best = tf.argmax(tf.nn.softmax(tf.matmul(x, tf.ones([4, 2]), name="scores")), 1)
        >>> gs.recipes.cut_postprocessing(gs.open(graph)).after().names
        ['x', 'ones', 'scores']
    """
    return _cut_after(obj, "cut_postprocessing()", patterns)


def cut_nms(obj: Editor | Plan) -> Plan:
    """Cuts non-maximum suppression and everything after it off a model, which then returns boxes and scores.

    This recipe is the same as ``cut_postprocessing(thing, "nms")``.

    Args:
        obj: an editor; or a plan, to continue.

    Raises:
        PlanError: if there is no non-maximum suppression, or the model continues after it, for example in a two-stage
            detector.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     boxes = tf.nn.relu(tf.compat.v1.placeholder(tf.float32, [9, 4]), name="boxes")
        ...     scores = tf.nn.relu(tf.compat.v1.placeholder(tf.float32, [9]), name="scores")
        ...     best = tf.gather(boxes, tf.image.non_max_suppression(boxes, scores, 3), name="best")
        >>> gs.recipes.cut_nms(gs.open(graph)).after().names
        ['Placeholder', 'boxes', 'Placeholder_1', 'scores']
    """
    return _cut_after(obj, "cut_nms()", "nms")


#: Ops that can follow the last dense layer of a classifier, whatever its number of classes is.
_AFTER_DENSE = ("ArgMax", "ArgMin", "Identity", "IdentityN", "LogSoftmax", "Sigmoid", "Softmax")
_BIASES = ("Add", "AddV2", "BiasAdd")


def replace_head(obj: Editor | Plan, units: int, *, output: TensorLike | None = None, name: str = "head") -> Plan:
    """Replaces the last dense layer of a classifier by a layer with another number of classes.

    The new layer reads the same features. Its kernel and bias are variables with random initial values: train them
    before you use the model. What follows the old layer, such as a softmax, follows the new one. The names of inputs
    and outputs do not change. The old layer is removed with its constants; its variables stay.

    Args:
        obj: an editor; or a plan, to add to.
        units: the number of classes.
        output: the output of the classifier, for a model with several. Default: its only output.
        name: the scope of the new layer, which no op may be in yet.

    Raises:
        PlanError: if `units` is not a positive whole number, the output is not computed by a dense layer, or ops after
            the layer may depend on its number of classes; the message names them.
        SelectionError: if the output does not exist.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        ...     y = tf.nn.softmax(tf.matmul(x, tf.ones([4, 10]), name="logits"), name="y")
        >>> after = gs.recipes.replace_head(gs.open(graph), 3).after()
        >>> after.input_names(after.index["y"]), "logits" in after.index
        (['head:0'], False)
    """
    context = recipe_context(obj, f"replace_head({units!r})", output)
    if not str(units).isdecimal() or int(units) < 1:
        raise context.precondition_error(f"units={units!r} is not a positive whole number", "Type units=10")
    graph = context.graph
    fed = forward(graph, graph.type_mask(INPUT_TYPES), control=False)
    model = default_ends(obj) if isinstance(obj, Editor) else likely_ends(graph)
    ends = tensors(graph, output, context.request) or list(model.outputs.values())
    if len(ends) != 1:
        problem = f"the model has {counted(len(ends), 'outputs')}" + (f": {few(ends)}" if ends else "")
        raise context.precondition_error(problem, "Type output=, the tensor with the numbers of the classes")
    dense = _last_dense(context, graph.tensor(ends[0])[0], fed)
    readers, last = context.consumers_of(dense), dense
    if len(readers) == 1 and graph.types[readers[0][0]] in _BIASES:
        adds = readers[0][0]
        last = adds if sum(bool(fed[one]) for one, _ in context.inputs_of(adds)) == 1 else dense
    after = forward(graph, graph.mask([last]), control=False) & ~graph.mask([last])
    later, strange = (np.flatnonzero(ops).tolist() for ops in (after, after & ~graph.type_mask(_AFTER_DENSE)))
    if strange:
        problem = f"{graph.names[last]!r} is also used by {few([repr(graph.names[op]) for op in strange])}"
        suggestion = "Remove training-only ops first: gs.recipes.strip_training(ed); or build the head with plan.adapt"
        raise context.precondition_error(problem, suggestion)
    features = context.inputs_of(dense)[0]
    info = graph.info(*features)
    shape = None if info is None or info.shape is None else [*info.shape[:-1], int(units)]
    plan = context.plan.adapt(graph.name(features), kinds="dense", shape=shape, name=name)
    if not later:
        old = [graph.names[last]]
        made = {**below(plan.after(), name), name: graph.names[last]}
    else:
        old = [graph.names[op] for op in later]
        copies = free_name(f"{name}_after", graph.is_name_used)
        inputs = {f"{graph.names[last]}:0": f"{name}:0"}
        plan = plan.copy(select(plan.base, name=old), to=copies, inputs=inputs, unmapped="keep")
        made = {f"{copies}/{one}": one for one in old}
    aside = {one: free_name(f"{one}_before", graph.is_name_used) for one in old}
    inside = {one: one for kept in old for one in below(graph, kept)}
    plan = plan.rename({**inside, **aside, **made}).remove([*aside.values()])
    entries = [op for one in (last, *later) for op, _ in context.inputs_of(one)]
    return remove_unused(plan, graph, [graph.names[op] for op in entries], context.protected_ops - {graph.names[last]})


def _last_dense(context: RecipeContext, op: int, fed: Mask) -> int:
    """Returns the last MatMul before an output, if only ops that can follow a dense layer are between them.

    Args:
        context: the subject of the recipe.
        op: the op of the output.
        fed: mask of the ops that depend on an input.
    """
    graph = context.graph
    while graph.types[op] != "MatMul":
        before = [one for one, _ in context.inputs_of(op) if fed[one]]
        if graph.types[op] not in (*_AFTER_DENSE, *_BIASES) or len(before) != 1:
            problem = f"{graph.names[op]!r} ({graph.types[op]}) is not a dense layer, and does not follow one"
            inside = inline_suggestion([graph.names[op]], [graph.nodes[op]], graph.functions, "MatMul")
            by_hand = "Build the head by hand: ed.plan().adapt(features, kinds='dense', shape=[None, 10])"
            raise context.precondition_error(problem, inside or by_hand)
        (op,) = before
    features, weights = (fed[one] for one, _ in context.inputs_of(op))
    if not features or weights or graph.nodes[op].attr["transpose_a"].b:
        problem = f"{graph.names[op]!r} is not a dense layer: it does not multiply features by weights"
        raise context.precondition_error(
            problem, "Type output=, the output of another layer, or build the head by hand"
        )
    return op


def _cut_after(obj: Any, request: str, patterns: Any) -> Plan:
    context = recipe_context(obj, request)
    graph = context.graph
    pattern_names, region, why = _pattern_names(context, patterns, _AFTER), graph.mask([]), ""
    finishing, handing = _ops_of_types(context, _FINISHING), _ops_of_types(context, _IDENTITY_PATTERNS)
    for name in ("nms", "best", "probabilities"):  # from the end of a graph to its middle
        allowed = finishing | region if name != "probabilities" else handing | region
        core = _ops_of_types(context, _AFTER[name]) & (
            finishing | ~graph.type_mask(_CALLING)
        )  # a call may contain the model too
        for op in np.flatnonzero(core).tolist() if name in pattern_names else ():
            this = graph.mask([op])
            later = forward(graph, context.with_contexts(this), control=False)
            on = later & ~allowed & ~this
            if not on.any():
                region |= later
            elif not why:
                reader = int(np.flatnonzero(on)[0])
                one, other = (f"{graph.names[i]!r} ({graph.types[i]})" for i in (op, reader))
                why = f"{one} leads to {other}"
    if not region.any():
        nothing = f"nothing at its end matches {few(map(repr, pattern_names))}"
        how = "gs.recipes.split_at(ed, tensor) cuts at any tensor"
        raise context.precondition_error(
            f"{why}, which is not postprocessing" if why else nothing,
            f"Remove training-only ops first, or {how}" if why else f"There is nothing to cut off; {how}",
        )
    arrays = backward(graph, region, within=region | _ops_of_types(context, _ARRAYS))
    region |= arrays & ~backward(graph, ~(region | arrays))  # ops that pass boxes to a loop are cut off too
    entries = entering_tensors(graph, region)
    fed = forward(graph, graph.type_mask(INPUT_TYPES), control=False, within=~graph.type_mask(SIZE_TYPES))
    # The first two inputs of a non-maximum suppression are boxes and scores.
    suppressing = [op for op in np.flatnonzero(region).tolist() if "NonMaxSuppression" in graph.types[op]]
    boxes = {one for op in suppressing for one in context.inputs_of(op)[:2]}
    ends = [one for one in entries if fed[one[0]] or one in boxes]
    names = selection_from(graph, region).names
    keep = {*context.protected_ops, *(graph.names[op] for op, _ in ends)}
    return remove_unused(context.plan.remove(names), graph, [graph.names[op] for op, _ in entries], keep)


def _pattern_names(context: RecipeContext, patterns: Any, known: Collection[str]) -> list[str]:
    """Returns the names of some patterns, or of all.

    Raises:
        PlanError: a pattern does not exist, or no pattern is given.
    """
    names = sorted(known) if patterns is None else [patterns] if isinstance(patterns, str) else list(patterns)
    for name in names:
        if name not in known:
            raise context.precondition_error(f"{name!r} is not a pattern", one_of(name, known))
    if not names:
        raise context.precondition_error("no pattern is given", f"Choose some of {few(map(repr, sorted(known)))}")
    return names


def _ops_of_types(context: RecipeContext, kinds: tuple[str, ...]) -> Mask:
    """Returns the ops of some types. Calls, loops and branches are included by the ops in their functions."""
    graph = context.graph
    fits: Callable[[str], bool] = lambda one: any(fnmatchcase(one, kind) for kind in kinds)  # noqa: E731
    out = graph.type_mask(tuple(one for one in dict.fromkeys(graph.types) if fits(one)))
    for op in context.ops_of_type(*_CALLING):
        inner = context.inner_types(op)
        whole = "Const" in kinds  # allowed types: all inner ops must fit; searched types: one is enough
        out[op] = all(map(fits, inner)) if whole else any(map(fits, inner))
    return out


_CALLING = BRANCHING | CALLS
