"""Handlers: the ready ones of a `Transformer`; and how those that one has are asked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..graph.live import TFOp
from ..tf import elements
from . import util
from .faults import WrongType
from .info import unique_name


def replace_t_with_placeholder_handler(info: Any, t: Any) -> Any:
    """Returns a placeholder for a tensor, one for all its uses.

    Args:
        info: the `TransformerInfo` of the copy.
        t: the tensor from outside.
    """
    if t not in info.placeholders:
        name = unique_name(info.graph_, util.placeholder_name(t, scope=info.scope_))
        info.placeholders[t] = elements.placeholder(info.graph_, t.dtype, t.shape, name)
    return info.placeholders[t]


def keep_t_if_possible_handler(info: Any, t: Any) -> Any:
    """Returns the tensor itself within one graph, else a placeholder.

    Args:
        info: the `TransformerInfo` of the copy.
        t: the tensor from outside.
    """
    return t if info.graph is info.graph_ else replace_t_with_placeholder_handler(info, t)


def assign_renamed_collections_handler(info: Any, elem: Any, elem_: Any) -> None:
    """Puts an op or tensor into the collections of its original; those that TensorFlow does not know get the scope.

    Args:
        info: the `TmpInfo`.
        elem, elem_: the original and the new one.
    """
    for name in info.homes(elem):
        info.graph_.add_to_collection(info.new_collection(name), elem_)


def transform_op_if_inside_handler(info: Any, op: TFOp, keep_if_possible: bool = True) -> Any:
    """Returns what became of an op of the view; of another, itself within one graph, else None.

    Args:
        info: the `TmpInfo`.
        op: the op.
        keep_if_possible: False: None for any op outside.
    """
    if op in info.ops or op in info.transformed_ops:  # what is copied with a view is not in it
        return info.transformed_ops[op]
    return op if keep_if_possible and info.graph is info.graph_ else None


def copy_op_handler(
    info: Any, op: TFOp, new_inputs: Any, copy_shape: bool = True, nodedef_fn: Callable[[Any], Any] | None = None
) -> tuple[Any, Any]:
    """Copies an op.

    Args:
        info: the `TmpInfo`.
        op: the op.
        new_inputs: tensors of the destination that the copy reads.
        copy_shape: keep static shapes that were set by hand, if the inputs still have the same shapes.
        nodedef_fn: called with the NodeDef of the copy; returns the one to use.

    Returns:
        the new op, and its outputs.

    Raises:
        TypeError: `new_inputs` is a bool, as very old code has it.
    """
    if isinstance(new_inputs, bool):
        raise WrongType("copy_op_handler(info, op, new_inputs)", "new_inputs must be an iterable of tensors",
                        "Give copy_shape by its name")  # fmt: skip
    new_inputs = list(new_inputs)
    name, places = unique_name(info.graph_, info.new_name(op.name)), {}
    if elements.is_placed(op):
        places = {op.name: name, **{old.name: new.name for old, new in info.transformed_ops.items()}}
    node = elements.copied_node(op, name, info.key, places)
    node = node if nodedef_fn is None else nodedef_fn(node)
    new = elements.add_op(info.graph_, node, new_inputs)
    if copy_shape and elements.same_shapes(op.inputs, new_inputs):
        for old, made in zip(op.outputs, new.outputs, strict=False):
            made.set_shape(old.shape)
    return new, new.outputs


# -- asking ---------------------------------------------------------------------------------------


def place(info: Any, transformer: Any, pairs: Iterable[tuple[Any, Any]]) -> None:
    """Asks the handler of a transformer for the collections of new ops and their outputs.

    Args:
        info: the `TmpInfo`.
        transformer: the `Transformer`.
        pairs: ops and what became of them.
    """
    handler = transformer.assign_collections_handler
    for old, new in pairs:
        handler(info, old, new)
        for t, t_ in zip(old.outputs, new.outputs, strict=True):
            handler(info, t, t_)


def note_originals(info: Any, transformer: Any, pairs: Sequence[tuple[Any, Any]]) -> None:
    """Sets the original ops of new ops; arguments as for `place`."""
    handler = transformer.transform_original_op_handler
    originals = elements.originals_of([old for old, _ in pairs])
    for (_, new), original in originals and zip(pairs, originals, strict=True):
        moved = None if original is None else handler(info, original)
        if moved is not None:
            elements.set_original(new, moved)
