"""Sizes: ops that encode the size of an input, other than the input itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from ..graph.graph import Graph

Shape = tuple[int, ...]

#: Ops that read the size of their output from a constant: the index of that input.
SIZED = {
    "Reshape": 1, "BroadcastTo": 1, "Slice": 2, "StridedSlice": 2, "Conv2DBackpropInput": 0,
    "Conv3DBackpropInputV2": 0,
}  # fmt: skip
#: Ops that create a tensor of a given size.
MADE = {
    "Fill": 0, "RandomStandardNormal": 0, "RandomUniform": 0, "RandomUniformInt": 0, "TruncatedNormal": 0, "Empty": 0,
}  # fmt: skip


def regrouped(old: Sequence[int], new: Sequence[int], shape: Sequence[int]) -> Shape | None:
    """Returns the new shape for a reshape whose input gets another size; None if the new shape is not certain.

    In row-major order, a reshape joins neighboring axes and splits others. If axes are only joined, or stay, the new
    shape is certain. If an axis is split and its size changes, the new shape is not certain.

    Args:
        old, new: the shape of the input, before and after.
        shape: the shape of the output before.

    Example:
        >>> regrouped((1, 8, 8, 4), (5, 8, 8, 4), (1, 256)), regrouped((2, 4, 4, 3), (2, 6, 6, 3), (2, 16, 3))
        ((5, 256), (2, 36, 3))
        >>> regrouped((8, 4), (12, 4), (2, 4, 4)), regrouped((1, 8), (3, 8), (1, 1, 8))
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
        given = list(shape[j:j_end])
        if tuple(old[i:i_end]) != tuple(new[i:i_end]):
            if i_end == len(old) or j_end == len(shape):  # the other axes are axes of 1
                i_end, j_end = _rest(old, i_end, shape, j_end)
                given = list(shape[j:j_end])
            if len(given) != 1 or _unsure(old, new, shape, range(i, i_end), given):
                return None
            given = [prod(new[i:i_end])]
        out += given
        i, j = i_end, j_end
    return tuple(out)


def _unsure(old: Sequence[int], new: Sequence[int], shape: Sequence[int], axes: range, given: list[int]) -> bool:
    """Whether an axis of 1 that grows might correspond to another axis of 1 than the one at its place."""
    if all(old[axis] != 1 or new[axis] == 1 for axis in axes):
        return False
    ones = [k for k, size in enumerate(shape) if size == 1]
    was = [k for k, size in enumerate(old) if size == 1]
    if given == [1]:
        return len(ones) > 1 and was != ones
    return len(ones) > len(was) - 1


def _rest(old: Sequence[int], i: int, shape: Sequence[int], j: int) -> tuple[int, int]:
    """The end of a group that includes all axes of 1 that follow."""
    return (len(old) if j == len(shape) else i), (len(shape) if i == len(old) else j)


def upscaled(graph: Graph, op: int, old: Sequence[int], new: Sequence[int], said: Sequence[int]) -> Shape | None:
    """Returns the new size for a transposed convolution whose input gets another size; None: not certain.

    Args:
        graph: the graph.
        op: the convolution.
        old, new: the shape of the input, before and after.
        said: the size that the op specifies before.
    """
    attr = graph.nodes[op].attr
    strides, form = list(attr["strides"].list.i), attr["data_format"].s.decode()
    channel = 1 if form.startswith("NC") else len(said) - 1
    out = list(said)
    for axis, (was, now) in enumerate(zip(old, new, strict=True)):
        if was == now or axis == channel:
            continue
        if said[axis] != was * (1 if axis == 0 else strides[axis]):
            return None
        out[axis] = now * (1 if axis == 0 else strides[axis])
    return tuple(out)


def kept_axes(old: Sequence[int], new: Sequence[int], said: Sequence[int]) -> Shape | None:
    """Returns the new shape for a broadcast: axes that it does not change follow the input; None: not certain."""
    lead = len(said) - len(old)
    if lead < 0:
        return None
    out = list(said)
    for axis, (was, now) in enumerate(zip(old, new, strict=True)):
        if was != now:
            if said[lead + axis] != was:
                return None
            out[lead + axis] = now
    return tuple(out)


def combined(some: Mapping[int, Shape], others: Mapping[int, Shape]) -> dict[int, Shape | None]:
    """Merges two shapes that were computed at two sizes: -1 if one axis differs; None if several do.

    Example:
        >>> combined({3: (5, 256), 4: (5, 5)}, {3: (7, 256), 4: (7, 7)})
        {3: (-1, 256), 4: None}
    """
    out: dict[int, Shape | None] = {}
    for op, shape in some.items():
        differ = [k for k, (a, b) in enumerate(zip(shape, others[op], strict=True)) if a != b]
        out[op] = None if len(differ) > 1 else tuple(-1 if k in differ else size for k, size in enumerate(shape))
    return out
