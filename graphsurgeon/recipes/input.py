"""Changes the shape, batch size or dtype of an input, and repairs ops that depend on the old size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..editor.editor import Editor
from ..errors import PlanError, about, few
from ..graph.graph import Graph, TensorInfo
from ..graph.names import free_name, tensor_name
from ..graph.selection import select
from ..graph.traversal import backward, forward, producers
from ..graph.types import DTypeLike, FeedDict, Named, ShapeLike, TensorLike, TensorsLike
from ..graph.variables import PLACEHOLDER_TYPES
from ..plan.plan import Plan
from .freeze import constant
from .recipe_context import RecipeContext, recipe_context, tensors, trace_targets, verification_errors

Shape = tuple[int, ...]

#: Ops that read the size of their output from a constant: the index of that input.
SIZE_INPUTS = {
    "Reshape": 1, "BroadcastTo": 1, "Slice": 2, "StridedSlice": 2, "Conv2DBackpropInput": 0,
    "Conv3DBackpropInputV2": 0,
}  # fmt: skip
#: Ops that create a tensor of a given size.
CREATED_SIZES = {
    "Fill": 0, "RandomStandardNormal": 0, "RandomUniform": 0, "RandomUniformInt": 0, "TruncatedNormal": 0, "Empty": 0,
}  # fmt: skip


def regroup_shape(old: Sequence[int], new: Sequence[int], shape: Sequence[int]) -> Shape | None:
    """Returns the new shape for a reshape whose input gets another size; None if the new shape is not certain.

    In row-major order, a reshape joins or splits neighboring axes. The new shape is certain if the axes that change are
    kept or joined. It is not certain if an axis that changes is split.

    Args:
        old, new: the shape of the input, before and after.
        shape: the shape of the output before.

    Example:
        >>> regroup_shape((1, 8, 8, 4), (5, 8, 8, 4), (1, 256)), regroup_shape((2, 4, 4, 3), (2, 6, 6, 3), (2, 16, 3))
        ((5, 256), (2, 36, 3))
        >>> regroup_shape((8, 4), (12, 4), (2, 4, 4)), regroup_shape((1, 8), (3, 8), (1, 1, 8))
        (None, None)
    """
    if len(old) != len(new) or prod(old) != prod(shape) or not prod(old):
        return None
    out: list[int] = []
    i = j = 0
    while i < len(old) or j < len(shape):
        i_end, j_end = min(i + 1, len(old)), min(j + 1, len(shape))
        a, b = prod(old[i:i_end]), prod(shape[j:j_end])
        while a != b:
            if a < b:
                a *= old[i_end]
                i_end += 1
            else:
                b *= shape[j_end]
                j_end += 1
        sizes = list(shape[j:j_end])
        if tuple(old[i:i_end]) != tuple(new[i:i_end]):
            if i_end == len(old) or j_end == len(shape):  # the remaining axes have size 1
                i_end, j_end = _rest(old, i_end, shape, j_end)
                sizes = list(shape[j:j_end])
            if len(sizes) != 1 or _is_ambiguous(old, new, shape, range(i, i_end), sizes):
                return None
            sizes = [prod(new[i:i_end])]
        out += sizes
        i, j = i_end, j_end
    return tuple(out)


def _is_ambiguous(old: Sequence[int], new: Sequence[int], shape: Sequence[int], axes: range, sizes: list[int]) -> bool:
    """Returns whether an axis of size 1 that grows may correspond to several axes of size 1 of the output."""
    if all(old[axis] != 1 or new[axis] == 1 for axis in axes):
        return False
    ones = [k for k, size in enumerate(shape) if size == 1]
    was = [k for k, size in enumerate(old) if size == 1]
    if sizes == [1]:
        return len(ones) > 1 and was != ones
    return len(ones) > len(was) - 1


def _rest(old: Sequence[int], i: int, shape: Sequence[int], j: int) -> tuple[int, int]:
    """Returns the ends of a group of axes, extended by all following axes of size 1."""
    return (len(old) if j == len(shape) else i), (len(shape) if i == len(old) else j)


def upscale_size(graph: Graph, op: int, old: Sequence[int], new: Sequence[int], sizes: Sequence[int]) -> Shape | None:
    """Returns the new size for a transposed convolution whose input gets another size; None if it is not certain.

    Args:
        graph: the graph.
        op: the convolution.
        old, new: the shape of the input, before and after.
        sizes: the size that the op specifies before.
    """
    attr = graph.nodes[op].attr
    strides, form = list(attr["strides"].list.i), attr["data_format"].s.decode()
    channel = 1 if form.startswith("NC") else len(sizes) - 1
    out = list(sizes)
    for axis, (was, now) in enumerate(zip(old, new, strict=True)):
        if was == now or axis == channel:
            continue
        if sizes[axis] != was * (1 if axis == 0 else strides[axis]):
            return None
        out[axis] = now * (1 if axis == 0 else strides[axis])
    return tuple(out)


def unchanged_axes(old: Sequence[int], new: Sequence[int], sizes: Sequence[int]) -> Shape | None:
    """Returns the new shape for a broadcast: unchanged axes follow the input. Returns None if it is not certain."""
    lead = len(sizes) - len(old)
    if lead < 0:
        return None
    out = list(sizes)
    for axis, (was, now) in enumerate(zip(old, new, strict=True)):
        if was != now:
            if sizes[lead + axis] != was:
                return None
            out[lead + axis] = now
    return tuple(out)


def merge_shapes(first: Mapping[int, Shape], second: Mapping[int, Shape]) -> dict[int, Shape | None]:
    """Merges shapes that were computed at two trial sizes: -1 for an axis that differs; None if several axes differ.

    Example:
        >>> merge_shapes({3: (5, 256), 4: (5, 5)}, {3: (7, 256), 4: (7, 7)})
        {3: (-1, 256), 4: None}
    """
    out: dict[int, Shape | None] = {}
    for op, shape in first.items():
        differ = [k for k, (a, b) in enumerate(zip(shape, second[op], strict=True)) if a != b]
        out[op] = None if len(differ) > 1 else tuple(-1 if k in differ else size for k, size in enumerate(shape))
    return out


#: Unknown sizes are tried with these multiples of the old size.
_TRIAL_FACTORS = (2, 3)
#: Ops that combine the rows of a batch.
_BATCH_TYPES = ("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")


def set_input(
    obj: Editor | Plan,
    tensor: TensorLike | Mapping[str, ShapeLike | None] | Mapping[Named, ShapeLike | None],
    shape: ShapeLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    sizes: Mapping[str, Sequence[int]] | None = None,
    outputs: TensorsLike | None = None,
    feeds: FeedDict | None = None,
    verify: bool = True,
) -> Plan:
    """Changes the shape, batch size or dtype of an input, and repairs the constants that encode the old size.

    A constant is repaired only if its new value is certain. This covers the shape of a ``Reshape`` that joins or keeps
    axes, the shape of a ``BroadcastTo``, and the size of a transposed convolution. If another op needs the old size,
    the error names the op. Weights do not change. If weights need the old size, for example in a dense layer after a
    flattened image, the error names the weights.

    The plan of an editor is verified: the graphs before and after it run with the same feeds, if the op types allow
    that. At the old size, results must be equal. In a larger batch, each part must have the same result as when it runs
    alone. With any other new size, the graph must run. The results must have a row for each fed row.

    Args:
        obj: an editor; or a plan, to add to, which is not verified.
        tensor: the placeholder, by name or object. Or several placeholders that change together: a dict of tensor ->
            shape.
        shape: its new shape, with None for a size that is not fixed; default: unchanged.
        dtype: the new dtype of the placeholder. A new op casts its value to the old dtype.
        sizes: op -> its new size, if the size cannot be inferred.
        outputs: the tensors to compare; default: the outputs of the function that was opened, otherwise all tensors
            without a consumer.
        feeds: tensor -> array, for the verification. Other inputs get random numbers, if their dtype and shape allow
            it.
        verify: False skips the verification.

    Raises:
        PlanError: if the tensor is not a placeholder, the rank differs, the new size of an op cannot be inferred,
            weights or numbers of the graph need the old size, or the verification fails. The message names the op.
        SelectionError: if a tensor or op does not exist.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [1, 8, 8, 3], name="x")
        ...     y = tf.nn.softmax(tf.reshape(tf.nn.relu(x), [1, 192], name="flat"), name="y")
        >>> ed = gs.open(graph)
        >>> done = ed.apply(gs.recipes.set_input(ed, "x:0", [None, 8, 8, 3]))
        >>> ed.value("flat/shape").tolist(), ed.graph.get_tensor_by_name("y:0").shape.as_list()
        ([-1, 192], [None, 192])
    """
    shapes_by_input = dict(tensor) if isinstance(tensor, Mapping) else {tensor: shape}
    request = f"set_input({', '.join(repr(tensor_name(one)) for one in shapes_by_input)})"
    context = recipe_context(obj, request, outputs)
    with about("tensor"):
        names = tensors(context.graph, list(shapes_by_input), request)
    wishes = [
        _input_change(context, name, new_shape, dtype)
        for name, new_shape in zip(names, shapes_by_input.values(), strict=True)
    ]
    if not any(wish.changes for wish in wishes):
        raise context.precondition_error("nothing would change", "Give another shape, or another dtype")
    sizes_by_op = {context.resolver.op(op): numbers for op, numbers in (sizes or {}).items()}
    sizes_by_name = {str(getattr(op, "name", op)): [int(n) for n in numbers] for op, numbers in sizes_by_op.items()}
    for op in sizes_by_name:
        context.graph.find(op, request)
    shapes = {wish.op: wish.shape for wish in wishes if wish.changes_shape}
    plan = _apply_sizes(context, shapes, _repair_sizes(context, wishes, sizes_by_name))
    for wish in wishes:
        plan = _cast(plan, wish)
    for fault in plan.check():
        raise _incompatibility(context, wishes, fault)
    if verify and isinstance(obj, Editor):
        ends = {f"{wish.op}:0": wish for wish in wishes}
        feed_arrays = {
            tensor_name(name): np.asarray(array) for name, array in context.resolver.tensor_mapping(feeds or {}).items()
        }
        compared = tensors(context.graph, outputs, request) or list(obj.outputs.values()) or None
        _Verification(context, obj, plan, ends, feed_arrays, compared).verify()
    return plan


@dataclass(frozen=True)
class _InputChange:
    """The changes to one placeholder."""

    op: str
    old: TensorInfo
    shape: tuple[int | None, ...] | None
    dtype: str

    @property
    def changes_shape(self) -> bool:
        return self.shape is not None and self.shape != self.old.shape

    @property
    def changes(self) -> bool:
        return self.changes_shape or self.dtype != self.old.dtype

    def trial_shape(self, times: int) -> tuple[int, ...] | None:
        """Returns the new shape, with a trial number for each size that is not fixed."""
        if self.shape is None or self.old.shape is None:
            return None
        pairs = zip(self.shape, self.old.shape, strict=True)
        return tuple(times * (was or 1) if now is None else now for now, was in pairs)


def _input_change(context: RecipeContext, name: str, shape: Any, dtype: Any) -> _InputChange:
    graph = context.graph
    with about("tensor"):
        op, port = graph.tensor(name)
    if graph.types[op] not in PLACEHOLDER_TYPES or port:
        problem = f"{name!r} is an output of an op of type {graph.types[op]}, not a placeholder"
        with about("tensor"):
            raise context.precondition_error(
                problem,
                f"Make it an input first: gs.recipes.strip_training(ed, outputs, inputs={name!r})",
            )
    old = graph.info(op, port) or TensorInfo("float32", None)
    new = old.shape if shape is None else _shape(context, name, shape)
    if new is not None and old.shape is not None and len(new) != len(old.shape):
        problem = f"{name!r} has {len(old.shape)} axes, {_text(old.shape)}, and {_text(new)} has {len(new)}"
        with about("shape"):
            raise context.precondition_error(
                problem,
                "Give a shape with the same number of axes, or change the rank with ed.plan().adapt(...)",
            )
    kind = old.dtype if dtype is None else _kind(context, dtype)
    return _InputChange(graph.names[op], old, new, kind)


def _kind(context: RecipeContext, dtype: Any) -> str:
    try:
        return str(getattr(dtype, "name", None) or np.dtype(dtype).name)
    except (TypeError, ValueError, SyntaxError) as error:
        with about("dtype"):
            raise context.precondition_error(
                f"{dtype!r} is not a dtype", "Type a dtype, for example 'uint8'"
            ) from error


def _shape(context: RecipeContext, name: str, shape: Any) -> tuple[int | None, ...]:
    axes = shape.as_list() if hasattr(shape, "as_list") else shape
    try:
        return tuple(None if size in (None, -1) else _size(size) for size in axes)
    except (TypeError, ValueError) as error:
        problem = f"{shape!r} is not a shape for {name!r}"
        with about("shape"):
            raise context.precondition_error(
                problem,
                "Type a shape, for example [None, 224, 224, 3]; None is a size that is not fixed",
            ) from error


def _size(size: Any) -> int:
    if int(size) != size or size < 1:
        raise ValueError(size)
    return int(size)


def _text(shape: Sequence[int | None]) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"


# -- ops that encode the old size -------------------------------------------------------------------


def _repair_sizes(
    context: RecipeContext, changes: list[_InputChange], sizes_by_op: Mapping[str, list[int]]
) -> dict[int, Shape]:
    """Returns op number -> its new size, for the ops that encode the old size."""
    constants: dict[int, Shape] = {context.graph.index[op]: tuple(numbers) for op, numbers in sizes_by_op.items()}
    if not any(wish.changes_shape and wish.old.shape is not None for wish in changes):
        return constants
    one, other = (_SizeSolver(context, changes, times, constants).solve() for times in _TRIAL_FACTORS)
    out = dict(constants)
    for op, numbers in merge_shapes(one, other).items():
        fixed = context.graph.types[op] != "Reshape"
        if numbers is None or (fixed and -1 in numbers):
            name = context.graph.names[op]
            choices = " or ".join(map(_text, dict.fromkeys((one[op], other[op]))))
            problem = f"{name!r} ({context.graph.types[op]}) has its size as a constant, which would be {choices}"
            raise context.precondition_error(
                problem,
                f"Replace each None by a number, or give the size of the op: sizes={{{name!r}: [...]}}",
            )
        out[op] = numbers
    return out


class _SizeSolver:
    """Finds the new sizes of the ops that encode the old size, with a trial number for each size that is not fixed."""

    def __init__(
        self, context: RecipeContext, changes: list[_InputChange], times: int, constants: Mapping[int, Shape]
    ) -> None:
        graph = context.graph
        self._context, self._changes, self._given_sizes = context, changes, constants
        self._sizes = {wish.op: wish.trial_shape(times) for wish in changes if wish.changes_shape}
        self._downstream = forward(graph, graph.mask([graph.index[wish.op] for wish in changes]), control=False)
        self._new_sizes: dict[int, Shape] = {}

    def solve(self) -> dict[int, Shape]:
        """Returns op -> its new size, if the size changes; raises if a new size is not certain."""
        context, graph = self._context, self._context.graph
        undecided = [
            op
            for op in context.ops_of_type(*SIZE_INPUTS)
            if self._downstream[context.inputs_of(op)[_data(context, op)][0]]
        ]
        undecided = [
            op for op in undecided if constant(context, context.inputs_of(op)[SIZE_INPUTS[graph.types[op]]]) is not None
        ]
        behind = {op: forward(graph, graph.mask([op]), control=False) for op in undecided}
        while undecided:
            ready = [
                op for op in undecided if not any(behind[other][op] for other in undecided if other != op)
            ] or undecided[:1]
            inferred, index = self._infer_shapes(undecided)
            unsure = []
            for op in ready:
                source, port = context.inputs_of(op)[_data(context, op)]
                info = graph.info(source, port)
                now = inferred.get(index[graph.names[source]])
                now_shape = None if now is None else now[port].shape
                if info is None or info.shape is None or now_shape is None or None in now_shape:
                    continue  # no shape contradicts the size of the op
                after = tuple(size for size in now_shape if size is not None)
                if len(after) != len(info.shape):
                    continue
                was = tuple(b if a is None else a for a, b in zip(info.shape, after, strict=True))
                if op not in self._given_sizes and was != after and not self._decide(op, was, after):
                    unsure.append((op, was, after))
            if unsure:
                raise self._missing_size_error(unsure)
            undecided = [op for op in undecided if op not in ready]
        return self._new_sizes

    def _infer_shapes(self, undecided: list[int]) -> tuple[Mapping[int, Sequence[TensorInfo]], Mapping[str, int]]:
        """Returns the shapes that TensorFlow infers with the repairs so far. Undecided ops are disconnected."""
        graph = self._context.graph
        plan = _apply_sizes(self._context, self._sizes, {**self._given_sizes, **self._new_sizes})
        plan = plan.detach([graph.names[op] for op in undecided], side="inputs")
        verdict = plan.effect.inference
        for fault in verdict.faults:
            raise _incompatibility(self._context, self._changes, fault)
        return verdict.inferred, plan.after().index

    def _decide(self, op: int, old_shape: Shape, new_shape: Shape) -> bool:
        """Notes the new size of an op; returns False if it is not certain."""
        context, graph = self._context, self._context.graph
        kind = graph.types[op]
        numbers = [int(n) for n in constant(context, context.inputs_of(op)[SIZE_INPUTS[kind]]).ravel()]
        if kind == "Reshape":
            rest = int(np.prod([n for n in numbers if n != -1], dtype=np.int64))
            whole = [int(np.prod(old_shape)) // max(rest, 1) if n == -1 else n for n in numbers]
            new = regroup_shape(old_shape, new_shape, whole)
            if new is not None and -1 in numbers and all(a in (b, -1) for a, b in zip(numbers, new, strict=True)):
                return True
        elif kind == "BroadcastTo":
            new = unchanged_axes(old_shape, new_shape, numbers)
        elif kind in ("Slice", "StridedSlice"):
            return not _is_slice_end(context, op, old_shape, new_shape, numbers)
        else:
            new = upscale_size(graph, op, old_shape, new_shape, numbers)
        if new is not None and new != tuple(numbers):
            self._new_sizes[op] = new
        return new is not None

    def _missing_size_error(self, uncertain_ops: list[tuple[int, Shape, Shape]]) -> PlanError:
        context, graph, texts, hints = self._context, self._context.graph, [], []
        for op, was, now in uncertain_ops:
            numbers = constant(context, context.inputs_of(op)[SIZE_INPUTS[graph.types[op]]]).ravel().tolist()
            word = f"{graph.names[op]!r} ({graph.types[op]}), which has {_text(numbers)}"
            texts.append(f"{word}: its input was {_text(was)} and would be {_text(now)}")
            hints.append(f"{graph.names[op]!r}: {numbers}")
        problem = f"cannot infer the new size of {few(texts)}"
        return context.precondition_error(problem, f"Give the size, with your numbers: sizes={{{', '.join(hints)}}}")


def _data(context: RecipeContext, op: int) -> int:
    """Returns the index of the data input of an op that specifies a size."""
    return 2 if "Backprop" in context.graph.types[op] else 0


def _is_slice_end(context: RecipeContext, op: int, old_shape: Shape, new_shape: Shape, numbers: list[int]) -> bool:
    """Returns whether a slice ends at the end of an axis: it may mean the whole axis, or this number of elements."""
    graph = context.graph
    axes = [
        axis for axis, (a, b) in enumerate(zip(old_shape, new_shape, strict=True)) if a != b and axis < len(numbers)
    ]
    if graph.types[op] == "Slice":
        begin = constant(context, context.inputs_of(op)[1])
        starts = [0] * len(numbers) if begin is None else begin.ravel().tolist()
        return any(starts[axis] + numbers[axis] == old_shape[axis] for axis in axes)
    attr = graph.nodes[op].attr
    mask = attr["ellipsis_mask"].i | attr["new_axis_mask"].i
    free = attr["end_mask"].i | attr["shrink_axis_mask"].i
    if mask:
        return any(not (mask | free) >> place & 1 for place in range(len(numbers)))
    return any(numbers[axis] == old_shape[axis] and not free >> axis & 1 for axis in axes)


# -- the plan ---------------------------------------------------------------------------------------


def _apply_sizes(context: RecipeContext, shapes: Mapping[str, Any], sizes: Mapping[int, Shape]) -> Plan:
    """Sets the shapes of placeholders, and the sizes of ops that specify a size."""
    plan = context.plan
    for name, shape in shapes.items():
        plan = plan.set_attr(name, "shape", None if shape is None else list(shape))
        if "_output_shapes" in context.graph.nodes[context.graph.index[name]].attr:
            plan = plan.set_attr(name, "_output_shapes", None)
    for op, numbers in sizes.items():
        plan = _set_size(plan, context, op, numbers)
    return plan


def _set_size(plan: Plan, context: RecipeContext, op: int, numbers: Shape) -> Plan:
    """Sets the size of an op: in its own constant, or in a copy if other ops read the constant too."""
    graph, kind = context.graph, context.graph.types[op]
    at = SIZE_INPUTS.get(kind, CREATED_SIZES.get(kind))
    if at is None:
        problem = f"{graph.names[op]!r} is of type {kind}, which does not specify a size"
        raise context.precondition_error(problem, f"sizes= is for {few(sorted({*SIZE_INPUTS, *CREATED_SIZES}), 20)}")
    source, port = context.inputs_of(op)[at]
    old = constant(context, (source, port))
    if old is None:
        raise context.precondition_error(
            f"the size that {graph.names[op]!r} reads is computed", "Change the ops that compute it"
        )
    array = np.asarray(numbers, old.dtype)
    if graph.types[source] == "Const" and len(graph.consumers.row(source)) == 1:
        return plan.set_attr(graph.names[source], "value", array)
    model = source if graph.types[source] == "Const" else _some_constant(context, source, port)
    new = free_name(f"{graph.names[op]}_size", plan.after().is_name_used)
    plan = plan.copy(select(graph, name=[graph.names[model]]), names={graph.names[model]: new}, control="drop")
    return plan.set_attr(new, "value", array).connect(f"{new}:0", to=graph.names[op], input=at)


def _some_constant(context: RecipeContext, source: int, port: int) -> int:
    """Returns a constant with the dtype of a tensor, to be copied with another value."""
    graph = context.graph
    info_of_source = graph.info(source, port)
    for op in context.ops_of_type("Const"):
        info = graph.info(op, 0)
        if info_of_source is not None and info is not None and info.dtype == info_of_source.dtype:
            return op
    raise context.precondition_error(
        f"the output of {graph.names[source]!r} is computed", "Freeze the graph first: gs.recipes.frozen(ed)"
    )


def _cast(plan: Plan, change: _InputChange) -> Plan:
    """Changes the dtype of a placeholder, and inserts a cast to the old dtype for its consumers."""
    if change.dtype == change.old.dtype:
        return plan
    name = free_name(f"{change.op}_cast", plan.after().is_name_used)
    plan = plan.insert("Cast", on=f"{change.op}:0", name=name, SrcT=change.dtype, DstT=change.old.dtype)
    return plan.set_attr(change.op, "dtype", change.dtype)


def _incompatibility(context: RecipeContext, changes: list[_InputChange], fault: Any) -> PlanError:
    """Returns the error for an op that does not accept the new size, with the ops that may encode the old size."""
    graph, sizes = context.graph, set[int]()
    for wish in changes:
        if wish.changes_shape and wish.old.shape is not None and wish.shape is not None:
            sizes |= {a for a, b in zip(wish.old.shape, wish.shape, strict=True) if a != b and a is not None}
    below = forward(graph, graph.mask([graph.index[wish.op] for wish in changes]), control=False)
    names_dependent = any(name in graph.index and below[graph.index[name]] for name in fault.names)
    hints = []
    for op in context.ops_of_type(*CREATED_SIZES):
        numbers = constant(context, context.inputs_of(op)[CREATED_SIZES[graph.types[op]]])
        if numbers is not None and not below[op] and sizes & set(numbers.ravel().tolist()):
            hints.append(f"{graph.names[op]!r}: {numbers.ravel().tolist()}")
    how = "Its weights or its numbers are made for the old size: retrain it, or keep the size"
    if hints and names_dependent:
        how = f"Some of these ops may encode the old size; give them other sizes: sizes={{{', '.join(hints[:5])}}}"
    return context.precondition_error(f"its consumers do not accept the new size: {fault.problem}", how)


# -- the verification -------------------------------------------------------------------------------


class _BatchParts(NamedTuple):
    """A batch, and the results of its parts.

    Args:
        part_rows, batch_rows: the rows of a part and of the batch.
        part_feeds: the feeds of the first part.
        batch_feeds: the feeds of the batch.
        plan: the plan for the runs of the parts; None for the current graph.
        part_results: the results of each part.
        batch_results: the results of the batch.
    """

    part_rows: int
    batch_rows: int
    part_feeds: Mapping[str, Any]
    batch_feeds: Mapping[str, Any]
    plan: Plan | None
    part_results: list[Mapping[str, Any]]
    batch_results: Mapping[str, Any]

    @property
    def sizes(self) -> dict[str, tuple[int, ...]]:
        """The shapes of the feeds of the batch."""
        return {name: array.shape for name, array in self.batch_feeds.items()}


#: The feeds of a run, and the plan for this run.
_Run = tuple[Mapping[str, Any], Plan | None]


@dataclass(frozen=True)
class _Verification:
    """Compares runs of a graph before and after a plan.

    Args:
        context: the graph.
        editor: its editor.
        plan: the plan.
        changed_inputs: the placeholders that change, by tensor.
        feeds: the feeds that were given.
        outputs: the tensors to compare; None: all tensors without a consumer.
    """

    context: RecipeContext
    editor: Editor
    plan: Plan
    changed_inputs: Mapping[str, _InputChange]
    feeds: Mapping[str, Any]
    outputs: list[str] | None

    def verify(self) -> None:
        """Verifies the plan by runs.

        Raises:
            PlanError: if the results differ, or a run fails.
        """
        with verification_errors(self.context):
            whole = self._run_with(self._trial_feeds(0), None)
            proof = replace(self, outputs=list(whole.results), feeds={**whole.feeds, **self.feeds})
            proof.compare(whole.results)

    def compare(self, full_results: Mapping[str, Any]) -> None:
        """Raises if the results after the plan differ from those of the graph, in numbers or in shapes."""
        old = self._trial_feeds(0)
        if all(_fits(array, self.changed_inputs[name].shape) for name, array in old.items()):
            self._refuse_other(full_results, self._run_with(old, self.plan).results, "at the old size")
        if not any(wish.changes_shape for wish in self.changed_inputs.values()):
            return
        trial_feeds = self._trial_feeds(
            1, {name: wish.trial_shape(_TRIAL_FACTORS[0]) for name, wish in self.changed_inputs.items()}
        )
        rows = {
            (len(old[name]), len(trial_feeds[name])) if old[name].ndim and trial_feeds[name].ndim else ()
            for name in old
        }
        before, after = (*rows.pop(), 0, 0)[:2] if len(rows) == 1 else (0, 0)
        parts = self._parts(old, trial_feeds, before, after)
        if parts is not None:
            self._refuse_mixed(parts)
        if parts is None or parts.sizes != {name: array.shape for name, array in trial_feeds.items()}:
            results = self._run_with(trial_feeds, self.plan).results
            if parts is None and before != after:
                self._refuse_fewer(full_results, old, results, trial_feeds, before, after)

    def _parts(
        self, old: Mapping[str, Any], trial_feeds: Mapping[str, Any], old_size: int, after: int
    ) -> _BatchParts | None:
        """Runs a larger batch, and each part of it alone; None if the larger batch does not consist of such parts.

        The parts run in the current graph if they have the old sizes, otherwise with the plan.
        """
        if not old_size < after or after % old_size or self._mixes():
            return None
        for sizes, plan in ((old, None), (trial_feeds, self.plan)):
            shapes = {name: (old_size, *array.shape[1:]) for name, array in sizes.items()}
            parts = [self._trial_feeds(seed, shapes) for seed in range(after // old_size)]
            joined = {name: np.concatenate([part[name] for part in parts]) for name in old}
            fed = [joined] if plan is None else [joined, *parts]
            if all(_fits(array, self.changed_inputs[name].shape) for one in fed for name, array in one.items()):
                alone = [self._run_with(part, plan).results for part in parts]
                return _BatchParts(
                    old_size, after, parts[0], joined, plan, alone, self._run_with(joined, self.plan).results
                )
        return None

    def _refuse_mixed(self, parts: _BatchParts) -> None:
        """Raises if the results of a batch have other numbers, or fewer rows, than the results of its parts."""
        for name, other in parts.batch_results.items():
            each, shape = [np.asarray(results[name]) for results in parts.part_results], np.shape(other)
            if len({one.shape for one in each}) > 1:
                continue  # the number of results depends on the values
            (form,) = {one.shape for one in each}
            grown = [k for k, size in enumerate(form) if shape == (*form[:k], size * len(each), *form[k + 1 :])]
            batch_axis = next((axis for axis in grown if form[axis] == parts.part_rows), None)
            if batch_axis is not None:
                whole = {name: np.concatenate(each, batch_axis)}
                self._refuse_other(whole, {name: other}, f"in a batch of {parts.batch_rows}")
            elif shape == form:
                if not all(_same(one, each[0]) for one in each) and any(_same(one, other) for one in each):
                    runs = ((parts.part_feeds, parts.plan), (parts.batch_feeds, self.plan))
                    raise self._fewer(name, form, parts.part_rows, parts.batch_rows, *runs)
            elif not grown:
                one, many = (
                    f"{_text(dims)} for {rows} rows"
                    for dims, rows in ((form, parts.part_rows), (shape, parts.batch_rows))
                )
                problem = f"{name!r} has the shape {one}, and {many}, which are not the concatenated rows"
                raise self.context.precondition_error(
                    problem,
                    "Keep the number of rows, or type verify=False to skip the verification",
                )

    def _refuse_fewer(
        self,
        full_results: Mapping[str, Any],
        old: Mapping[str, Any],
        results: Mapping[str, Any],
        trial_feeds: Mapping[str, Any],
        old_size: int,
        after: int,
    ) -> None:
        """Raises if a result has the old number of rows, and some of the fed rows do not change it."""
        graph = self.context.graph
        below = forward(graph, producers(graph, map(graph.tensor, self.changed_inputs)), control=False)
        as_before = [
            name
            for name, one in results.items()
            if below[graph.tensor(name)[0]] and np.shape(one)[:1] == np.shape(full_results[name])[:1] == (old_size,)
        ]
        tested = bool(as_before) and old_size < after and not self._mixes()
        constant_rows = set() if tested else set(as_before)
        other = self._trial_feeds(2, {name: array.shape for name, array in trial_feeds.items()})
        for rows in (slice(old_size, None), slice(None, after - old_size)) if tested else ():
            changed_feeds = {name: array.copy() for name, array in trial_feeds.items()}
            for name, array in changed_feeds.items():
                array[rows] = other[name][rows]
            now = self._run_with(changed_feeds, self.plan).results
            constant_rows |= {name for name in as_before if _same(results[name], now[name])}
        for name in as_before:
            if name in constant_rows:
                raise self._fewer(name, np.shape(results[name]), old_size, after, (old, None), (trial_feeds, self.plan))

    def _fewer(self, name: str, form: Shape, old_size: int, after: int, one: _Run, large_run: _Run) -> PlanError:
        """Returns the error for a result without the new number of rows. It names the ops that cause it."""
        narrow_ops = self._narrow(name, one, large_run)
        how = f"Change {few(narrow_ops, 3)}, which accepts no more rows than before, or keep" if narrow_ops else "Keep"
        return self.context.precondition_error(
            f"{name!r} has the shape {_text(form)} for {after} rows, the same as for {old_size}: its rows do not "
            f"follow "
            "the batch",
            f"{how} the number of rows; or type verify=False to skip the verification",
        )

    def _narrow(self, name: str, one: _Run, large_run: _Run) -> list[str]:
        """Returns the ops before a result that do not follow the batch: their inputs grow, their outputs do not."""
        graph = self.context.graph
        starts, end = [graph.tensor(start)[0] for start in self.changed_inputs], graph.tensor(name)[0]
        way = forward(graph, graph.mask(starts), control=False) & backward(graph, graph.mask([end]), control=False)
        few_rows, all_rows = (
            self.editor.trace(self._cast_feeds(fed, plan), [name], random=0, plan=plan)
            for fed, plan in (one, large_run)
        )

        def grows(tensor: str) -> bool | None:
            in_both = tensor in few_rows and tensor in all_rows
            return few_rows[tensor].shape[:1] != all_rows[tensor].shape[:1] if in_both else None

        ops = []
        for op in np.flatnonzero(way).tolist():
            input_growth = [
                grows(graph.name(tensor)) is not False for tensor in self.context.inputs_of(op) if way[tensor[0]]
            ]
            output_growth = [grows(f"{graph.names[op]}:{port}") for port in range(len(graph.outputs(op) or ()))]
            if any(input_growth) and output_growth and all(grown is False for grown in output_growth):
                ops.append(f"{graph.names[op]!r} ({graph.types[op]})")
        return ops

    def _trial_feeds(self, seed: int, shapes: Mapping[str, Shape | None] | None = None) -> dict[str, Any]:
        """Returns feeds for the placeholders that change: the given feeds, rotated by the seed, or random numbers.

        Args:
            seed: the seed; different seeds result in different numbers.
            shapes: the shapes to feed; None for the shapes in the graph.
        """
        out = {}
        for name, wish in self.changed_inputs.items():
            shape = wish.old.shape if shapes is None else shapes[name]
            sizes = tuple(1 if size is None else size for size in shape or ())
            if name not in self.feeds:
                out[name] = _numbers(wish, sizes, seed)
            else:
                turned = np.roll(self.feeds[name], seed)
                out[name] = turned if shapes is None else np.resize(turned, sizes)
        return out

    def _cast_feeds(self, feeds: Mapping[str, Any], plan: Plan | None) -> dict[str, Any]:
        """Returns the feeds of a run, in the dtypes of its graph, with the given feeds of other inputs."""
        other_feeds = {name: array for name, array in self.feeds.items() if name not in self.changed_inputs}
        if plan is not None:
            ends = self.changed_inputs
            feeds = {n: a if ends[n].dtype == ends[n].old.dtype else a.astype(ends[n].dtype) for n, a in feeds.items()}
        return {**other_feeds, **feeds}

    def _run_with(self, feeds: Mapping[str, Any], plan: Plan | None) -> Any:
        try:
            return trace_targets(self.editor, self._cast_feeds(feeds, plan), self.outputs, plan)
        except PlanError as error:
            if plan is None:
                raise
            sizes = ", ".join(f"{name!r} of shape {_text(array.shape)}" for name, array in feeds.items())
            how = "Its weights or its numbers are made for the old size: keep the size, or change the op first"
            raise self.context.precondition_error(f"it does not run with {sizes}: {error.problem}", how) from error

    def _mixes(self) -> bool:
        """Returns whether rows depend on each other or on chance: by batch normalization in training, or random ops."""
        graph = self.context.graph
        ends = producers(graph, map(graph.tensor, self.outputs or ()))
        for op in np.flatnonzero(backward(graph, ends)).tolist():
            kind = graph.types[op]
            if "Random" in kind or (kind in _BATCH_TYPES and graph.nodes[op].attr["is_training"].b):
                return True
        return False

    def _refuse_other(self, first: Mapping[str, Any], second: Mapping[str, Any], situation: str) -> None:
        for name, one in first.items():
            if not _same(one, second[name]):
                problem = f"{name!r} has other numbers {situation} than in the current graph"
                raise self.context.precondition_error(
                    problem,
                    "The result mixes the rows of its input. Type sizes={...}, or verify=False if this is intended",
                )


def _same(one: Any, other: Any) -> bool:
    """Returns whether two results are equal except for rounding."""
    a, b = np.asarray(one), np.asarray(other)
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    return a.shape == b.shape and bool(np.allclose(a, b, rtol=1e-3, atol=1e-5, equal_nan=True))


def _fits(array: Any, shape: Sequence[int | None] | None) -> bool:
    if shape is None:
        return True
    return array.ndim == len(shape) and all(b in (None, a) for a, b in zip(array.shape, shape, strict=True))


def _numbers(change: _InputChange, shape: tuple[int, ...], seed: int) -> Any:
    """Returns random numbers that both dtypes can represent."""
    try:
        rng, kinds = np.random.RandomState(seed), {np.dtype(one).kind for one in (change.old.dtype, change.dtype)}
    except TypeError as error:
        problem = f"'{change.op}:0' ({change.old.dtype}) needs a feed"
        raise PlanError("trace()", problem, f"Type feeds={{'{change.op}:0': array}}") from error
    if kinds <= {"f", "c"}:
        return rng.standard_normal(shape).astype(change.old.dtype)
    return rng.randint(0, 2 if "b" in kinds else 5, shape).astype(change.old.dtype)
