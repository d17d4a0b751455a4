"""Growth: graphs made of randomly chosen functions."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import PlanError
from ...graph.live import TFGraph, TFTensor
from ..fresh import fresh
from ..importing import tf
from .errors import errors_as

tf1 = tf.compat.v1


def arity(function: Callable[..., Any]) -> int:
    """Returns the number of tensors that a function takes: its arguments without a default.

    Raises:
        PlanError: the number is not known, or is zero.

    Example:
        >>> arity(tf.add), arity(lambda a: a * a)
        (2, 1)
    """
    name = getattr(function, "__name__", repr(function))
    try:
        parameters = inspect.signature(function).parameters.values()
        count = sum(p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)
    except (TypeError, ValueError):
        count = 0
    if not count:
        raise PlanError(f"functions=[{name}]", "it is not known how many tensors it takes", "Wrap it: lambda a, b: ...")
    return count


def grown(
    specs: Mapping[str, Any],
    functions: Sequence[Callable[..., Any]],
    constants: tuple[float, float],
    depth: int,
    rng: Any,
) -> tuple[TFGraph, str]:
    """Returns a graph that computes a random expression of its inputs, and the name of the output.

    Args:
        specs: name -> `tf.TensorSpec` of each input.
        functions: the functions to choose from.
        constants: the least and the greatest constant.
        depth: how deep functions are nested at most.
        rng: a NumPy random generator.

    Raises:
        PlanError: a function refuses such inputs, or returns a tensor of another dtype or shape.
    """
    graph = fresh()
    with graph.as_default():
        given = [tf1.placeholder(spec.dtype, spec.shape, name=name) for name, spec in specs.items()]

        def leaf(constant: bool) -> TFTensor:
            if constant and rng.random() < 0.4:
                return tf.constant(_number(rng.uniform(*constants), given[0].dtype), dtype=given[0].dtype)
            return given[rng.integers(len(given))]

        def node(level: int, constant: bool) -> TFTensor:
            if level == 0 or (level < depth and rng.random() < 0.2):
                return leaf(constant)
            function = functions[rng.integers(len(functions))]
            count = arity(function)
            # At least one argument is not a constant, so that the result has the shape of the inputs.
            fixed = rng.integers(count)
            return _call(function, [node(level - 1, i != fixed) for i in range(count)], given[0])

        output = node(max(1, depth), False)
    return graph, str(output.name)


def _number(value: float, dtype: Any) -> Any:
    """A constant of a dtype: the nearest integer for integers, True above zero for booleans."""
    if dtype.is_bool:
        return value > 0
    return np.round(value) if dtype.is_integer else np.round(value, 3)


def _call(function: Callable[..., Any], args: list[TFTensor], like: TFTensor) -> TFTensor:
    name = getattr(function, "__name__", repr(function))
    request, kinds = f"functions=[{name}]", (TypeError, ValueError, tf.errors.OpError)
    with errors_as(PlanError, request, "it does not accept tensors like the inputs", "Leave it out", *kinds):
        out = function(*args)
    same = getattr(out, "dtype", None) == like.dtype and out.shape.is_compatible_with(like.shape)
    if not same:
        got = f"{getattr(out, 'dtype', type(out))!r} {getattr(out, 'shape', '')}"
        raise PlanError(
            request,
            f"it returns {got}, which does not fit the dtype and shape of the inputs",
            "Leave it out, or wrap it in a function that converts its result",
        )
    return out


def expression(function: Callable[..., Any], spec: Any) -> tuple[TFGraph, list[str], str]:
    """Returns the graph of a function of tensors, the names of its inputs in order, and the name of its output."""
    names = list(inspect.signature(function).parameters)
    graph = fresh()
    with graph.as_default():
        given = [tf1.placeholder(spec.dtype, spec.shape, name=name) for name in names]
        output = _call(function, given, given[0])
    return graph, names, str(output.name)


def specs_of(graph: TFGraph, inputs: Sequence[str]) -> dict[str, Any]:
    """Returns dtype and shape of the placeholders of a graph, by name."""
    tensors = {name: graph.get_tensor_by_name(f"{name}:0") for name in inputs}
    return {name: tf.TensorSpec(t.shape, t.dtype) for name, t in tensors.items()}


def refuse_mixed(specs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns specs as `tf.TensorSpec`; a dtype without a shape becomes a vector of any length.

    Raises:
        PlanError: there are no inputs, or a name or dtype is not valid. Also if the inputs differ in dtype or shape,
            because a random expression may then not fit.
    """
    request = "evolve(inputs=...)"
    if not isinstance(specs, Mapping):
        raise PlanError(request, f"{specs!r} is not a mapping", "Give a mapping such as inputs={'x': tf.float32}")
    out = {}
    for name, spec in specs.items():
        if not re.fullmatch(r"[A-Za-z0-9.][A-Za-z0-9_.-]*", str(name)):
            raise PlanError(
                request,
                f"{name!r} cannot be the name of a placeholder",
                "Use letters, digits, '_', '.', '-', and begin with a letter or digit",
            )
        try:
            out[name] = spec if isinstance(spec, tf.TensorSpec) else tf.TensorSpec([None], tf.as_dtype(spec))
        except TypeError:
            problem = f"{spec!r}, for {name!r}, is neither a dtype nor a tf.TensorSpec"
            raise PlanError(request, problem, "Give one such as tf.float32 or tf.TensorSpec([None, 3])") from None
        dtype = out[name].dtype
        if dtype in (tf.string, tf.resource, tf.variant) or dtype.is_quantized:
            problem = f"{name!r} is {dtype.name}: there are no random constants of this dtype"
            raise PlanError(request, problem, "Give numbers or booleans, or only your own graphs: initial=[graph, ...]")
    if len({(s.dtype, str(s.shape)) for s in out.values()}) != 1:
        shown = ", ".join(f"{n}: {s.dtype.name} {s.shape}" for n, s in out.items()) or "none at all"
        raise PlanError(
            request,
            f"the inputs are not of one dtype and shape: {shown}",
            "Give inputs of one dtype and shape, or only your own graphs: initial=[graph, ...]",
        )
    return out
