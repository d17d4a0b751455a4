"""Adapters: the ops that convert a tensor to the dtype or shape that a consumer requires."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...graph.names import free_name
from ...plan.adapters import Adapter, Cast, Dense, Pad, Part, Pool, Reshape, Resize, Transpose, kind_of
from ..importing import tf

tf1 = tf.compat.v1
_RESIZES = {
    "area": tf.raw_ops.ResizeArea, "bicubic": tf.raw_ops.ResizeBicubic, "bilinear": tf.raw_ops.ResizeBilinear,
    "nearest": tf.raw_ops.ResizeNearestNeighbor,
}  # fmt: skip


def adapting(adapter: Adapter) -> Callable[[Any], Any]:
    """Returns a function of a tensor that builds an adapter in the name scope that is open.

    The result has the name of the scope itself, and all other ops are in it.

    Args:
        adapter: its parts.

    Example:
        >>> with tf.Graph().as_default() as graph, tf1.name_scope("fit/"):
        ...     print(adapting(Adapter((Cast("int32"), Reshape((4,)))))(tf.zeros([2, 2], name="x")).name)
        fit:0
    """

    def build(x: Any) -> Any:
        scope = tf1.get_default_graph().get_name_scope()
        *first, last = adapter.parts
        for part in first:
            x = _built(part, x, kind_of(part))
        x = _built(last, x, f"{scope}/")
        return x if x.op.name == scope else tf.identity(x, name=f"{scope}/")

    return build


def _built(part: Part, x: Any, name: str) -> Any:
    match part:
        case Cast():
            return tf.cast(x, part.dtype, name=name)
        case Reshape():
            return tf.reshape(x, _sizes(part, x), name=name)
        case Transpose():
            return tf.transpose(x, part.perm, name=name)
        case Pad():
            return tf.pad(x, part.paddings, constant_values=part.value, name=name)
        case Pool(window=None):
            axes = range(2, x.shape.rank) if part.data_format == "NCHW" else range(1, x.shape.rank - 1)
            reduce = tf.reduce_mean if part.mode == "avg" else tf.reduce_max
            return reduce(x, list(axes), keepdims=part.keep, name=name)
    if part.data_format == "NHWC" or x.shape.rank < 3:
        return _channels_last(part, x, name)
    rank = x.shape.rank  # the kernels for channels first are not on every device
    x = tf.transpose(x, [0, *range(2, rank), 1], name="channels_last")
    return tf.transpose(_channels_last(part, x, kind_of(part)), [0, rank - 1, *range(1, rank - 1)], name=name)


def _channels_last(part: Resize | Pool | Dense, x: Any, name: str) -> Any:
    match part:
        case Resize():
            about = {} if part.method == "area" else {"half_pixel_centers": True}  # as tf.image.resize does
            return _RESIZES[part.method](images=x, size=list(part.size), name=name, **about)
        case Pool():
            pool = tf.nn.avg_pool if part.mode == "avg" else tf.nn.max_pool
            return pool(x, part.window, part.strides, "VALID", name=name)
        case Dense():
            return _dense(part, x, name)


def _dense(part: Dense, x: Any, name: str) -> Any:
    initial = tf1.glorot_uniform_initializer(seed=part.seed)
    kernel = tf1.get_variable(
        _free("kernel"), [x.shape[-1], part.units], x.dtype, initializer=initial, use_resource=True
    )
    if not part.bias:
        return tf.matmul(x, kernel, name=name)
    zeros = tf1.zeros_initializer()
    bias = tf1.get_variable(_free("bias"), [part.units], x.dtype, initializer=zeros, use_resource=True)
    return tf.nn.bias_add(tf.matmul(x, kernel, name="matmul"), bias, name=name)


def _free(name: str) -> str:
    """A name for a new variable that is not in use yet: an adapter may have two dense layers."""
    lead = f"{tf1.get_variable_scope().name}/"
    there = {variable.op.name for variable in tf1.global_variables(lead)}
    return free_name(name, lambda wish: lead + wish in there, as_tensorflow=True)


def _sizes(part: Reshape, x: Any) -> Any:
    """The sizes of a new shape: a single unknown size is inferred; several are taken from the tensor."""
    if not part.sizes:
        return [-1 if n is None else n for n in part.shape]
    shape, axes = tf.shape(x, name="shape_of"), iter(part.sizes)
    return tf.stack([shape[next(axes)] if n is None else n for n in part.shape], name="shape_to")
