"""Finds dtypes and shapes that do not match, and proposes other tensors."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np

from ..graph.boundary import Tensor, downstream_of_feeds
from ..graph.control_flow import loops_of
from ..graph.graph import Graph, Ints, Mask, TensorInfo, shape_text, value_info
from ..graph.traversal import backward, forward
from .fault import Fault
from .mutable_graph import MutableGraph

Shape = tuple[int | None, ...] | None
#: The largest number of ops to search, so that a message does not take long.
_MAX_SEARCHED = 20_000
_MAX_SHOWN = 4
_IGNORED_TYPES = ("Const", "NoOp", "Assign", "AssignVariableOp")
#: Scopes of gradients, training ops and savers. Their tensors are not data of the model.
_HELPER_SCOPES = re.compile(r"(?:^|/)(?:gradients?|save|train_op|report_uninitialized_variables)(?:_\d+)?/")
_SAVERS = ("Save", "Restore", "MergeV2Checkpoints", "ShardedFilename")


def mismatch(
    mutable_graph: MutableGraph,
    request: str,
    old: Tensor,
    new: Tensor,
    readers: Sequence[int] = (),
    *,
    reroute: bool = False,
) -> Fault | None:
    """Returns a fault if dtype or shape prevents a tensor from replacing another tensor; otherwise None.

    Args:
        mutable_graph: the graph.
        request: the request, for messages.
        old, new: the tensors.
        readers: the ops that should read the new tensor.
        reroute: whether to suggest a reroute, because the request itself cannot name another tensor.
    """
    a, b = mutable_graph.info(*old), mutable_graph.info(*new)
    if a is None or b is None:
        return None
    clash = handle_mismatch(mutable_graph, old, new)
    if clash:
        return Fault(request, *clash)
    why = difference(b, a)
    if not why:
        return None
    there, replacement = mutable_graph.name(old), mutable_graph.name(new)
    graph, readers = mutable_graph.snapshot(), list(dict.fromkeys(readers))
    suggestion = fit_suggestions(graph, a, new, b, readers, old)
    if reroute and _fitting_tensors(graph, a, readers, old):
        suggestion = f"Connect its consumers to another tensor: .reroute({there!r}, to=...). {suggestion}"
    return Fault(request, f"{replacement!r} is {b}, but {there!r} is {a}: {why}", suggestion)


def fitting_text(graph: Graph, info: TensorInfo, readers: Iterable[int] = (), exclude: Tensor | None = None) -> str:
    """Returns a sentence that names tensors of `graph` with this dtype and a shape that fits.

    Args:
        graph: the graph to search.
        info: the required dtype and shape.
        readers: the ops that would read the tensor. Tensors that are computed from them or are in another loop are not
            proposed.
        exclude: the tensor that the ops read now, which is not proposed either. If it is computed from an input of the
            graph, each proposed tensor is too: a weight cannot replace data, even if its shape fits.
    """
    tensors = _fitting_tensors(graph, info, list(readers), exclude)
    if not tensors:
        other = "other " if exclude else ""
        data = " that is computed from an input" if exclude and _data_mask(graph)[exclude[0]] else ""
        wanted = f"{base_dtype(info.dtype)} {shape_text(info.shape)}"
        return f"No {other}tensor of {graph.title}{data} is {wanted}; convert one first"
    return "These would fit: " + ", ".join(map(repr, tensors))


def _fitting_tensors(graph: Graph, info: TensorInfo, readers: Sequence[int], exclude: Tensor | None) -> list[str]:
    below = forward(graph, graph.mask(readers))
    loop = loops_of(graph)
    frames = {int(loop[op]) for op in readers}
    possible = ~below
    if exclude is not None and (computed := _data_mask(graph))[exclude[0]]:
        possible &= computed
    data = not any(is_training_op(graph, op) for op in readers)
    tensors = (
        t for t in _similar_tensors(graph, info, data) if possible[t[0]] and (not frames or int(loop[t[0]]) in frames)
    )
    return [graph.name(tensor) for tensor in islice((t for t in tensors if t != exclude), _MAX_SHOWN)]


def _data_mask(graph: Graph) -> Mask:
    """Returns the inputs of the graph and the ops that are computed from them."""
    return downstream_of_feeds(graph, np.ones(graph.size, np.bool_))


def accepting_text(graph: Graph, tensor: Tensor, info: TensorInfo) -> str:
    """Returns a sentence with inputs of ops that could read a tensor; empty if there are none.

    Example:
        >>> f2, f3 = TensorInfo("float32", (2,)), TensorInfo("float32", (3,))
        >>> ops = [("a", "Placeholder", []), ("b", "Placeholder", []), ("c", "Neg", ["b"])]
        >>> g = Graph.from_ops(ops, outputs_of=lambda i: [(f2, f3, f3)[i]])
        >>> accepting_text(g, (2, 0), f3), accepting_text(g, (0, 0), f3)
        ('', "'a:0' would fit input 0 of 'c'")
    """
    above, loop = backward(graph, graph.mask([tensor[0]])), loops_of(graph)
    inputs = []
    for op, port in _similar_tensors(graph, info, not is_training_op(graph, tensor[0])):
        if (op, port) == tensor:
            continue
        for reader in dict.fromkeys(graph.consumers.row(op)[graph.consumers.ports(op) == port].tolist()):
            if (
                above[reader]
                or is_training_op(graph, reader)
                or loop[reader] != loop[tensor[0]]
                or graph.types[reader] in _IGNORED_TYPES
            ):
                continue
            at = graph.input_names(reader).index(graph.name((op, port)))
            inputs.append(f"input {at} of {graph.names[reader]!r}")
        if len(inputs) >= _MAX_SHOWN:
            break
    if not inputs:
        return ""
    *first, last = inputs[:_MAX_SHOWN]
    return f"{graph.name(tensor)!r} would fit " + (f"{', '.join(first)} and {last}" if first else last)


def fit_suggestions(
    graph: Graph, target: TensorInfo, tensor: Tensor, source: TensorInfo, readers: Iterable[int], old: Tensor
) -> str:
    """Returns, as text, other tensors that fit the consumers, and other inputs that fit the refused tensor.

    Args:
        graph: the graph to search.
        target: dtype and shape of the tensor that the consumers read now.
        tensor, source: the refused tensor, and its dtype and shape.
        readers: the consumers.
        old: the tensor that the consumers read now.
    """
    other = accepting_text(graph, tensor, source)
    return fitting_text(graph, target, readers, old) + (f". {other}" if other else "")


def handle_mismatch(graph: MutableGraph, old: Tensor, new: Tensor) -> tuple[str, str] | None:
    """Returns the problem and a suggestion if a variable handle cannot replace another handle; None if it can.

    A handle has neither dtype nor shape itself, and TensorFlow would refuse its consumers later.
    """
    variables = graph.state.variables if graph.types[new[0]] == graph.types[old[0]] == "VarHandleOp" else {}
    a, b = (variables.get(graph.names[op]) for op, _ in (new, old))
    if a is None or b is None:
        return None
    value = value_info(b)
    why = difference(value_info(a), value)
    if not why:
        return None
    fit = (v.op for v in variables.values() if v.resource and v.op != b.op and v.op in graph.index
           and fits(value_info(v), value))  # fmt: skip
    candidates = ", ".join(repr(f"{op}:0") for op in islice(fit, _MAX_SHOWN))
    names = [graph.name(tensor) for tensor in (new, old)]
    problem = f"{names[0]!r} is a variable of {a.dtype} {a.shape}, but {names[1]!r} of {b.dtype} {b.shape}"
    none = f"No other variable of {graph.title} is {b.dtype} {b.shape}"
    return f"{problem}: {why}", f"These would fit: {candidates}" if candidates else none


def is_training_op(graph: Graph | MutableGraph, op: int) -> bool:
    """Returns whether an op belongs to a gradient, a training op or a saver."""
    return graph.types[op].startswith(_SAVERS) or _HELPER_SCOPES.search(graph.names[op]) is not None


def _similar_tensors(graph: Graph, info: TensorInfo, data: bool) -> Iterator[Tensor]:
    """Yields tensors with a fitting dtype and shape, those of the model first; with `data`, only data of the model."""
    for i in _model_first(graph)[:_MAX_SEARCHED].tolist():
        if graph.types[i] not in _IGNORED_TYPES and not (data and is_training_op(graph, i)):
            for port, other in enumerate(graph.outputs(i) or ()):
                if other is not None and fits(other, info):
                    yield i, port


def _model_first(graph: Graph) -> Ints:
    """Returns all ops in graph order, except that ops which only assignments need are last.

    These ops initialize or restore variables.
    """
    ends = (graph.consumers.degrees == 0) & ~graph.type_mask(_IGNORED_TYPES)
    model = backward(graph, ends)
    return np.concatenate([np.flatnonzero(model), np.flatnonzero(~model)])


def fits(a: TensorInfo, b: TensorInfo) -> bool:
    """Returns whether two dtypes are the same and two shapes can be the same.

    Example:
        >>> fits(TensorInfo("float32_ref", (3,)), TensorInfo("float32", (None,)))
        True
    """
    return not difference(a, b)


def difference(new: TensorInfo, old: TensorInfo) -> str:
    """Returns why a tensor cannot replace another tensor: its dtype or its shape; empty if it can.

    Example:
        >>> difference(TensorInfo("int32", ()), TensorInfo("int64", ()))
        'the dtypes differ'
    """
    if base_dtype(new.dtype) != base_dtype(old.dtype):
        return "the dtypes differ"
    return axis_text(new.shape, old.shape) if shapes_differ(new.shape, old.shape) else ""


def shapes_differ(a: Shape, b: Shape) -> bool:
    """Returns whether two static shapes cannot be the same.

    Example:
        >>> shapes_differ((None, 3), (5, 4)), shapes_differ((None, 3), (5, 3)), shapes_differ(None, (1,))
        (True, False, False)
    """
    if a is None or b is None:
        return False
    if len(a) != len(b):
        return True
    return any(x is not None and y is not None and x != y for x, y in zip(a, b, strict=True))


def axis_text(a: Shape, b: Shape) -> str:
    """Returns a description of the difference of two shapes.

    Example:
        >>> axis_text((None, 64), (None, 128))
        'axis 1 is 64 against 128'
    """
    if a is None or b is None:
        return "one rank is unknown"
    if len(a) != len(b):
        return f"rank {len(a)} against rank {len(b)}"
    for axis, (x, y) in enumerate(zip(a, b, strict=True)):
        if x is not None and y is not None and x != y:
            return f"axis {axis} is {x} against {y}"
    return "they agree"


def base_dtype(dtype: str) -> str:
    """Returns a dtype without the suffix of a reference.

    Example:
        >>> base_dtype("float32_ref")
        'float32'
    """
    return dtype.removesuffix("_ref")
