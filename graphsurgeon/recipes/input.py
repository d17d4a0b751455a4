"""Changes the shape, batch size or dtype of an input, and repairs ops that depend on the old size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ..editor.editor import Editor
from ..errors import PlanError, about, few
from ..graph.arrays import same_numbers
from ..graph.boundary import Tensor
from ..graph.graph import Graph, Mask, TensorInfo
from ..graph.names import free_name, tensor_name
from ..graph.selection import select
from ..graph.traversal import backward, forward, producers
from ..graph.types import DTypeLike, FeedDict, Named, ShapeLike, TensorLike, TensorsLike
from ..graph.variables import PLACEHOLDER_TYPES
from ..plan.plan import Plan
from .batch_norm import NORMS
from .recipe_context import RecipeContext, recipe_context, tensors, trace_targets, verification_errors
from .variables import constant

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
    changes = [
        _input_change(context, name, new_shape, dtype)
        for name, new_shape in zip(names, shapes_by_input.values(), strict=True)
    ]
    if all(change.old == change.new for change in changes):
        raise context.precondition_error("nothing would change", "Give another shape, or another dtype")
    ops = {context.resolver.op(op): tuple(map(int, numbers)) for op, numbers in (sizes or {}).items()}
    given = {context.graph.find(str(getattr(op, "name", op)), request): numbers for op, numbers in ops.items()}
    shapes = {change.op: change.new.shape for change in changes if change.resizes}
    plan = _apply_sizes(context, shapes, _repair_sizes(context, changes, given))
    for op, old, new in changes:
        if new.dtype != old.dtype:  # its consumers read a cast to the old dtype
            name = free_name(f"{op}_cast", plan.after().is_name_used)
            plan = plan.insert("Cast", on=f"{op}:0", name=name, SrcT=new.dtype, DstT=old.dtype)
            plan = plan.set_attr(op, "dtype", new.dtype)
    for fault in plan.check():
        raise _incompatibility(context, changes, fault)
    if verify and isinstance(obj, Editor):
        feed_arrays = {
            tensor_name(name): np.asarray(array) for name, array in context.resolver.tensor_mapping(feeds or {}).items()
        }
        compared = tensors(context.graph, outputs, request) or list(obj.outputs.values()) or None
        _Verification(
            context, obj, plan, {f"{change.op}:0": change for change in changes}, feed_arrays, compared
        ).verify()
    return plan


class _InputChange(NamedTuple):
    """A placeholder, with its dtype and shape before and after the change."""

    op: str
    old: TensorInfo
    new: TensorInfo

    @property
    def resizes(self) -> bool:
        return self.new.shape != self.old.shape

    def trial_shape(self, times: int) -> Shape | None:
        """Returns the new shape, with a trial number for each size that is not fixed."""
        if self.new.shape is None or self.old.shape is None:
            return None
        pairs = zip(self.new.shape, self.old.shape, strict=True)
        return tuple(times * (was or 1) if now is None else now for now, was in pairs)


def _input_change(context: RecipeContext, name: str, shape: Any, dtype: Any) -> _InputChange:
    graph = context.graph
    with about("tensor"):
        op, port = graph.tensor(name)
        if graph.types[op] not in PLACEHOLDER_TYPES or port:
            raise context.precondition_error(
                f"{name!r} is an output of an op of type {graph.types[op]}, not a placeholder",
                f"Make it an input first: gs.recipes.strip_training(ed, outputs, inputs={name!r})",
            )
    old = graph.info(op, port) or TensorInfo("float32", None)
    sizes, kind = old.shape, old.dtype
    with about("shape"):
        try:
            if shape is not None:
                axes = shape.as_list() if hasattr(shape, "as_list") else shape
                sizes = tuple(None if size in (None, -1) else _size(size) for size in axes)
        except (TypeError, ValueError) as error:
            raise context.precondition_error(
                f"{shape!r} is not a shape for {name!r}",
                "Type a shape, for example [None, 224, 224, 3]; None is a size that is not fixed",
            ) from error
        if sizes is not None and old.shape is not None and len(sizes) != len(old.shape):
            raise context.precondition_error(
                f"{name!r} has {len(old.shape)} axes, {_text(old.shape)}, and {_text(sizes)} has {len(sizes)}",
                "Give a shape with the same number of axes, or change the rank with ed.plan().adapt(...)",
            )
    with about("dtype"):
        try:
            kind = kind if dtype is None else str(getattr(dtype, "name", None) or np.dtype(dtype).name)
        except (TypeError, ValueError, SyntaxError) as error:
            raise context.precondition_error(
                f"{dtype!r} is not a dtype", "Type a dtype, for example 'uint8'"
            ) from error
    return _InputChange(graph.names[op], old, TensorInfo(kind, sizes))


def _size(size: Any) -> int:
    if int(size) != size or size < 1:
        raise ValueError(size)
    return int(size)


def _text(shape: Sequence[int | None]) -> str:
    return f"({', '.join('?' if size is None else str(size) for size in shape)})"


# -- ops that encode the old size -------------------------------------------------------------------


def _downstream(context: RecipeContext, changes: list[_InputChange]) -> Mask:
    """Returns a mask of the changed placeholders and of the ops that depend on them."""
    graph = context.graph
    return forward(graph, graph.mask(graph.index[change.op] for change in changes), control=False)


def _size_input(context: RecipeContext, op: int) -> int:
    """Returns the index of the input that specifies the size of the output of an op."""
    kind = context.graph.types[op]
    at = SIZE_INPUTS.get(kind, CREATED_SIZES.get(kind))
    if at is None:
        problem = f"{context.graph.names[op]!r} is of type {kind}, which does not specify a size"
        raise context.precondition_error(problem, f"sizes= is for {few(sorted({*SIZE_INPUTS, *CREATED_SIZES}), 20)}")
    return at


def _numbers_of(context: RecipeContext, op: int) -> Shape | None:
    """Returns the size that an op specifies; None if it is computed."""
    array = constant(context, context.inputs_of(op)[_size_input(context, op)])
    return None if array is None else tuple(array.ravel().tolist())


def _repair_sizes(
    context: RecipeContext, changes: list[_InputChange], given: Mapping[int, Shape]
) -> Mapping[int, Shape]:
    """Returns op number -> its new size, for the ops that encode the old size."""
    if not any(change.resizes and change.old.shape is not None for change in changes):
        return given
    one, other = (_solve_sizes(context, changes, times, given) for times in _TRIAL_FACTORS)
    out = dict(given)
    for op, numbers in merge_shapes(one, other).items():
        kind = context.graph.types[op]
        if numbers is None or (kind != "Reshape" and -1 in numbers):
            name = context.graph.names[op]
            choices = " or ".join(map(_text, dict.fromkeys((one[op], other[op]))))
            raise context.precondition_error(
                f"{name!r} ({kind}) has its size as a constant, which would be {choices}",
                f"Replace each None by a number, or give the size of the op: sizes={{{name!r}: [...]}}",
            )
        out[op] = numbers
    return out


def _solve_sizes(
    context: RecipeContext, changes: list[_InputChange], times: int, given: Mapping[int, Shape]
) -> dict[int, Shape]:
    """Returns op -> its new size, if the size changes; raises if a new size is not certain.

    Args:
        context: the subject of the recipe.
        changes: the changes of placeholders.
        times: the factor of the trial number for each size that is not fixed.
        given: op -> its new size, for the sizes that were given.
    """
    graph, solved = context.graph, dict[int, Shape]()
    shapes = {change.op: change.trial_shape(times) for change in changes if change.resizes}
    downstream = _downstream(context, changes)

    def data_of(op: int) -> Tensor:
        return context.inputs_of(op)[2 if "Backprop" in graph.types[op] else 0]

    undecided = [
        op
        for op in context.ops_of_type(*SIZE_INPUTS)
        if downstream[data_of(op)[0]] and _numbers_of(context, op) is not None
    ]
    behind = {op: forward(graph, graph.mask([op]), control=False) for op in undecided}
    while undecided:
        ready = [
            op for op in undecided if not any(behind[other][op] for other in undecided if other != op)
        ] or undecided[:1]
        # The undecided ops are disconnected, and TensorFlow infers the shapes with the repairs so far.
        plan = _apply_sizes(context, shapes, {**given, **solved})
        plan = plan.detach([graph.names[op] for op in undecided], side="inputs")
        inference, index = plan.effect.inference, plan.after().index
        for fault in inference.faults:
            raise _incompatibility(context, changes, fault)
        texts, hints = [], []
        for op in ready:
            source, port = data_of(op)
            info, now = graph.info(source, port), inference.inferred.get(index[graph.names[source]])
            after = None if now is None else now[port].shape
            if info is None or info.shape is None or after is None or None in after or len(after) != len(info.shape):
                continue  # no shape contradicts the size of the op
            sizes = tuple(size or 0 for size in after)
            was = tuple(b if a is None else a for a, b in zip(info.shape, sizes, strict=True))
            if op in given or was == sizes:
                continue
            numbers = _numbers_of(context, op) or ()
            new = _new_size(context, op, was, sizes, numbers)
            if new is None:
                name = graph.names[op]
                word = f"{name!r} ({graph.types[op]}), which has {_text(numbers)}"
                texts.append(f"{word}: its input was {_text(was)} and would be {_text(sizes)}")
                hints.append(f"{name!r}: {list(numbers)}")
            elif new != numbers:
                solved[op] = new
        if texts:
            problem = f"cannot infer the new size of {few(texts)}"
            raise context.precondition_error(problem, f"Give the size, with your numbers: sizes={{{', '.join(hints)}}}")
        undecided = [op for op in undecided if op not in ready]
    return solved


def _new_size(context: RecipeContext, op: int, old: Shape, new: Shape, numbers: Shape) -> Shape | None:
    """Returns the size that an op will specify if the shape of its input changes; None if it is not certain."""
    graph, kind = context.graph, context.graph.types[op]
    if kind == "Reshape":
        rest = prod(n for n in numbers if n != -1)
        size = regroup_shape(old, new, [prod(old) // max(rest, 1) if n == -1 else n for n in numbers])
        same = size and -1 in numbers and all(a in (b, -1) for a, b in zip(numbers, size, strict=True))
        return numbers if same else size
    if kind == "BroadcastTo":
        return unchanged_axes(old, new, numbers)
    if "Slice" in kind:
        return None if _is_slice_end(context, op, old, new, numbers) else numbers
    return upscale_size(graph, op, old, new, numbers)


def _is_slice_end(context: RecipeContext, op: int, old_shape: Shape, new_shape: Shape, numbers: Shape) -> bool:
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
    """Sets the shapes of placeholders, and the sizes of ops: in their own constants, or in copies of shared ones."""
    plan, graph = context.plan, context.graph
    for name, shape in shapes.items():
        plan = plan.set_attr(name, "shape", None if shape is None else list(shape))
        if "_output_shapes" in graph.nodes[graph.index[name]].attr:
            plan = plan.set_attr(name, "_output_shapes", None)
    for op, numbers in sizes.items():
        at = _size_input(context, op)
        source, port = context.inputs_of(op)[at]
        old = constant(context, (source, port))
        if old is None:
            raise context.precondition_error(
                f"the size that {graph.names[op]!r} reads is computed", "Change the ops that compute it"
            )
        array, model = np.asarray(numbers, old.dtype), graph.names[source]
        if graph.types[source] != "Const":  # a constant of the same dtype is copied
            info = graph.info(source, port)
            candidates = [(one, graph.info(one, 0)) for one in context.ops_of_type("Const")]
            same = [one for one, other in candidates if info and other and other.dtype == info.dtype]
            if not same:
                raise context.precondition_error(
                    f"the output of {model!r} is computed", "Freeze the graph first: gs.recipes.frozen(ed)"
                )
            model = graph.names[same[0]]
        elif len(graph.consumers.row(source)) == 1:
            plan = plan.set_attr(model, "value", array)
            continue
        new = free_name(f"{graph.names[op]}_size", plan.after().is_name_used)
        plan = plan.copy(select(graph, name=[model]), names={model: new}, control="drop")
        plan = plan.set_attr(new, "value", array)
        plan = plan.connect(f"{new}:0", to=graph.names[op], input=at)
    return plan


def _incompatibility(context: RecipeContext, changes: list[_InputChange], fault: Any) -> PlanError:
    """Returns the error for an op that does not accept the new size, with the ops that may encode the old size."""
    graph, below = context.graph, _downstream(context, changes)
    sizes = {
        a
        for _, old, new in changes
        for a, b in zip(old.shape or (), new.shape or (), strict=False)
        if a != b and a is not None
    }
    hints = []
    for op in context.ops_of_type(*CREATED_SIZES):
        numbers = _numbers_of(context, op)
        if numbers is not None and not below[op] and sizes & set(numbers):
            hints.append(f"{graph.names[op]!r}: {list(numbers)}")
    how = "Its weights or its numbers are made for the old size: retrain it, or keep the size"
    if hints and any(name in graph.index and below[graph.index[name]] for name in fault.names):
        how = f"Some of these ops may encode the old size; give them other sizes: sizes={{{', '.join(hints[:5])}}}"
    return context.precondition_error(f"its consumers do not accept the new size: {fault.problem}", how)


# -- the verification -------------------------------------------------------------------------------


#: The feeds of a run, and the plan for this run; None for the current graph.
_Run = tuple[Mapping[str, Any], Plan | None]


@dataclass
class _Verification:
    """Compares runs of a graph before and after a plan.

    Args:
        context: the graph.
        editor: its editor.
        plan: the plan.
        changes: the placeholders that change, by tensor.
        feeds: the feeds that were given.
        outputs: the tensors to compare; None: all tensors without a consumer.
    """

    context: RecipeContext
    editor: Editor
    plan: Plan
    changes: Mapping[str, _InputChange]
    feeds: Mapping[str, Any]
    outputs: list[str] | None

    def verify(self) -> None:
        """Raises a PlanError if the results after the plan differ in numbers or in shapes, or if a run fails."""
        with verification_errors(self.context):
            whole = self._run(self._trial_feeds(0), None)
            self.outputs, self.feeds = list(whole.results), {**whole.feeds, **self.feeds}
            old = self._trial_feeds(0)
            if self._fits(old):
                self._refuse_other(whole.results, self._run(old, self.plan).results, "at the old size")
            if not any(change.resizes for change in self.changes.values()):
                return
            shapes = {name: change.trial_shape(_TRIAL_FACTORS[0]) for name, change in self.changes.items()}
            trial = self._trial_feeds(1, shapes)
            rows = {(len(old[name]), len(trial[name])) if old[name].ndim and trial[name].ndim else () for name in old}
            before, after = (*rows.pop(), 0, 0)[:2] if len(rows) == 1 else (0, 0)
            batch = self._compare_parts(old, trial, before, after)
            if batch is None or any(array.shape != trial[name].shape for name, array in batch.items()):
                results = self._run(trial, self.plan).results
                if batch is None and before != after:
                    self._refuse_fewer(whole.results, old, results, trial, before, after)

    def _compare_parts(
        self, old: Mapping[str, Any], trial: Mapping[str, Any], before: int, after: int
    ) -> Mapping[str, Any] | None:
        """Runs a larger batch, and each part of it alone; raises if the results of the batch and of its parts differ.

        The parts run in the current graph if they have the old sizes, otherwise with the plan.

        Returns:
            the feeds of the batch; None if the larger batch does not consist of such parts.
        """
        if not before < after or after % before or self._mixes():
            return None
        for sizes, plan in ((old, None), (trial, self.plan)):
            shapes = {name: (before, *array.shape[1:]) for name, array in sizes.items()}
            parts = [self._trial_feeds(seed, shapes) for seed in range(after // before)]
            batch = {name: np.concatenate([part[name] for part in parts]) for name in old}
            if all(map(self._fits, [batch] if plan is None else [batch, *parts])):
                break
        else:
            return None
        alone = [self._run(part, plan).results for part in parts]
        for name, other in self._run(batch, self.plan).results.items():
            each, shape = [np.asarray(results[name]) for results in alone], np.shape(other)
            form = each[0].shape
            if any(one.shape != form for one in each):
                continue  # the number of results depends on the values
            grown = [k for k, size in enumerate(form) if shape == (*form[:k], size * len(each), *form[k + 1 :])]
            batch_axis = next((axis for axis in grown if form[axis] == before), None)
            if batch_axis is not None:
                whole = {name: np.concatenate(each, batch_axis)}
                self._refuse_other(whole, {name: other}, f"in a batch of {after}")
            elif shape == form:
                equal = [same_numbers(one, other) for one in each]
                if any(equal) and not all(equal):
                    raise self._fewer(name, form, before, after, (parts[0], plan), (batch, self.plan))
            elif not grown:
                one, many = (f"{_text(dims)} for {rows} rows" for dims, rows in ((form, before), (shape, after)))
                raise self.context.precondition_error(
                    f"{name!r} has the shape {one}, and {many}, which are not the concatenated rows",
                    "Keep the number of rows, or type verify=False to skip the verification",
                )
        return batch

    def _refuse_fewer(
        self,
        full_results: Mapping[str, Any],
        old: Mapping[str, Any],
        results: Mapping[str, Any],
        trial: Mapping[str, Any],
        before: int,
        after: int,
    ) -> None:
        """Raises if a result has the old number of rows, and some of the fed rows do not change it."""
        graph = self.context.graph
        below = forward(graph, producers(graph, map(graph.tensor, self.changes)), control=False)
        as_before = [
            name
            for name, one in results.items()
            if below[graph.tensor(name)[0]] and np.shape(one)[:1] == np.shape(full_results[name])[:1] == (before,)
        ]
        tested = bool(as_before) and before < after and not self._mixes()
        constant_rows = set() if tested else set(as_before)
        other = self._trial_feeds(2, {name: array.shape for name, array in trial.items()})
        for rows in (slice(before, None), slice(None, after - before)) if tested else ():
            changed_feeds = {name: array.copy() for name, array in trial.items()}
            for name, array in changed_feeds.items():
                array[rows] = other[name][rows]
            now = self._run(changed_feeds, self.plan).results
            constant_rows |= {name for name in as_before if same_numbers(results[name], now[name])}
        for name in as_before:
            if name in constant_rows:
                raise self._fewer(name, np.shape(results[name]), before, after, (old, None), (trial, self.plan))

    def _fewer(self, name: str, form: Shape, before: int, after: int, one: _Run, large_run: _Run) -> PlanError:
        """Returns the error for a result without the new number of rows.

        The error names the ops that cause it: their inputs grow with the batch, and their outputs do not.
        """
        graph = self.context.graph
        starts = producers(graph, map(graph.tensor, self.changes))
        way = forward(graph, starts, control=False)
        way &= backward(graph, graph.mask([graph.tensor(name)[0]]), control=False)
        few_rows, all_rows = (
            self.editor.trace(self._cast_feeds(fed, plan), [name], random=0, plan=plan)
            for fed, plan in (one, large_run)
        )

        def grows(tensor: str) -> bool | None:
            in_both = tensor in few_rows and tensor in all_rows
            return few_rows[tensor].shape[:1] != all_rows[tensor].shape[:1] if in_both else None

        ops = []
        for op in np.flatnonzero(way).tolist():
            inputs = [grows(graph.name(tensor)) is not False for tensor in self.context.inputs_of(op) if way[tensor[0]]]
            outputs = [grows(f"{graph.names[op]}:{port}") for port in range(len(graph.outputs(op) or ()))]
            if any(inputs) and outputs and all(grown is False for grown in outputs):
                ops.append(f"{graph.names[op]!r} ({graph.types[op]})")
        how = f"Change {few(ops, 3)}, which accepts no more rows than before, or keep" if ops else "Keep"
        return self.context.precondition_error(
            f"{name!r} has the shape {_text(form)} for {after} rows, the same as for {before}: its rows do not "
            "follow the batch",
            f"{how} the number of rows; or type verify=False to skip the verification",
        )

    def _trial_feeds(self, seed: int, shapes: Mapping[str, Shape | None] | None = None) -> dict[str, Any]:
        """Returns feeds for the placeholders that change: the given feeds, rotated by the seed, or random numbers.

        Args:
            seed: the seed; different seeds result in different numbers.
            shapes: the shapes to feed; None for the shapes in the graph.
        """
        out = {}
        for name, change in self.changes.items():
            shape = change.old.shape if shapes is None else shapes[name]
            sizes = tuple(1 if size is None else size for size in shape or ())
            if name not in self.feeds:
                out[name] = _random_numbers(change, sizes, seed)
            else:
                turned = np.roll(self.feeds[name], seed)
                out[name] = turned if shapes is None else np.resize(turned, sizes)
        return out

    def _fits(self, feeds: Mapping[str, Any]) -> bool:
        """Returns whether the placeholders accept some feeds after the plan."""
        return all(self.changes[name].new.fits(array.shape) for name, array in feeds.items())

    def _cast_feeds(self, feeds: Mapping[str, Any], plan: Plan | None) -> dict[str, Any]:
        """Returns the feeds of a run, in the dtypes of its graph, with the given feeds of other inputs."""
        if plan is not None:
            ends = {
                name: change.new.dtype for name, change in self.changes.items() if change.new.dtype != change.old.dtype
            }
            feeds = {name: array.astype(ends.get(name, array.dtype)) for name, array in feeds.items()}
        return {**self.feeds, **feeds}

    def _run(self, feeds: Mapping[str, Any], plan: Plan | None) -> Any:
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
        return any(
            "Random" in graph.types[op] or (graph.types[op] in NORMS and graph.nodes[op].attr["is_training"].b)
            for op in np.flatnonzero(backward(graph, ends)).tolist()
        )

    def _refuse_other(self, first: Mapping[str, Any], second: Mapping[str, Any], situation: str) -> None:
        for name, one in first.items():
            if not same_numbers(one, second[name]):
                raise self.context.precondition_error(
                    f"{name!r} has other numbers {situation} than in the current graph",
                    "The result mixes the rows of its input. Type sizes={...}, or verify=False if this is intended",
                )


def _random_numbers(change: _InputChange, shape: Shape, seed: int) -> Any:
    """Returns random numbers that both dtypes can represent."""
    try:
        rng, kinds = np.random.RandomState(seed), {np.dtype(one.dtype).kind for one in (change.old, change.new)}
    except TypeError as error:
        problem = f"'{change.op}:0' ({change.old.dtype}) needs a feed"
        raise PlanError("trace()", problem, f"Type feeds={{'{change.op}:0': array}}") from error
    if kinds <= {"f", "c"}:
        return rng.standard_normal(shape).astype(change.old.dtype)
    return rng.randint(0, 2 if "b" in kinds else 5, shape).astype(change.old.dtype)
