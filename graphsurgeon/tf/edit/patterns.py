"""Patterns: makes a search pattern from a plain Python function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import product
from math import inf
from typing import Any

import numpy as np

from ...errors import SelectionError, SurgeryError, one_of
from ...graph.graph import Graph
from ...graph.pattern import Pattern
from ...graph.selection import Selection
from ...graph.types import TFNodeDef
from ..import_tensorflow import tf
from ..open.outputs import array_in
from ..protos import empty_graph, lacks_memory

#: The ranks that are tried for inputs of unknown rank, the most frequent first; and the maximum number of combinations.
_RANKS, _TRIES = (2, 4, 3, 1, 0, 5), 64


def pattern_of(
    function: Callable[..., Any],
    inputs: Mapping[str, Any] | None = None,
    *,
    attributes: str | Iterable[str] = (),
    constants: str = "any",
) -> Pattern:
    """Makes a pattern from a plain Python function, which is called once in a separate graph.

    Args:
        function: a function of tensors that returns a tensor, or a list or dict of tensors. Its arguments are the
            inputs of the pattern, and its results are the outputs. An op with a ``name=`` can have conditions under
            this name.
        inputs: argument -> dtype or `tf.TensorSpec`. The specs only determine which ops the function makes:
            `tf.matmul`, for example, makes another op for tensors of unknown rank. They do not restrict the matches.
            Default: the default value of the argument, or float32 of unknown shape.
        attributes, constants: as for `Pattern.from_graph`.

    Raises:
        SelectionError: the function cannot be called with these inputs, returns no tensor, or makes no op.

    Example:
        >>> print(pattern_of(lambda x: tf.nn.relu(-x, name="act")))
        pattern of 2 ops: Neg (Neg), act (Relu); inputs x; outputs act
    """
    request = f"pattern({getattr(function, '__name__', 'function')})"
    specs = _specs(function, inputs or {}, request)
    trace = partial(_trace, function, attributes, constants)
    pattern = trace(specs, request)
    open_ = [name for name, spec in specs.items() if spec.shape.rank is None]
    return replace(pattern, ranked_variants=lambda: _patterns_by_rank(trace, specs, pattern)) if open_ else pattern


def _trace(
    function: Callable[..., Any],
    attributes: str | Iterable[str],
    constants: str,
    specs: Mapping[str, Any],
    request: str,
) -> Pattern:
    from ..open.snapshot import snapshot

    graph = empty_graph()
    with graph.as_default():
        placeholders = {
            name: tf.compat.v1.placeholder(spec.dtype, spec.shape, name=name) for name, spec in specs.items()
        }
        try:
            result = function(**placeholders)
        except Exception as error:
            if lacks_memory(error):
                raise
            message = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            raise SelectionError(
                request,
                f"calling it fails: {message}",
                "Give the dtypes and shapes it needs: inputs={'x': tf.TensorSpec(…)}",
            ) from error
    outputs = _outputs(graph, result, request)
    return Pattern.from_graph(
        snapshot(graph, title=request),
        {name: tensor.name for name, tensor in placeholders.items()},
        outputs,
        attributes=attributes,
        constants=constants,
        read_array=array_of,
    )


def _patterns_by_rank(
    trace: Callable[..., Pattern], specs: Mapping[str, Any], base_pattern: Pattern
) -> Iterator[tuple[str, Pattern]]:
    """Yields (code, pattern) for other patterns that a function makes if the ranks of its inputs are known."""
    open_ = [name for name, spec in specs.items() if spec.shape.rank is None]
    ranks = sorted(product(_RANKS, repeat=len(open_)), key=lambda those: len(set(those)))
    signatures = {_node_signature(base_pattern)}
    for those in ranks[:_TRIES]:
        specs_of_rank = {
            name: tf.TensorSpec([None] * n, specs[name].dtype) for name, n in zip(open_, those, strict=True)
        }
        try:
            pattern = trace({**specs, **specs_of_rank}, "pattern")
        except SelectionError:
            continue
        if _node_signature(pattern) not in signatures:
            signatures.add(_node_signature(pattern))
            for name in open_:  # leaves out ranks that make no difference
                fewer = {other_name: spec for other_name, spec in specs_of_rank.items() if other_name != name}
                with suppress(SelectionError):
                    less = trace({**specs, **fewer}, "pattern")
                    specs_of_rank = fewer if _node_signature(less) == _node_signature(pattern) else specs_of_rank
            texts = [f"{n!r}: tf.TensorSpec({s.shape.as_list()}, tf.{s.dtype.name})" for n, s in specs_of_rank.items()]
            yield f"inputs={{{', '.join(texts)}}}", pattern


def _node_signature(pattern: Pattern) -> Any:
    graph = pattern.graph
    return tuple((graph.types[i], tuple(graph.input_names(i))) for i in pattern.numbers)


def array_of(node: TFNodeDef, limit: float = inf) -> Any:
    """Returns the value of a constant as an array; None if it has no value, or one of more than `limit` bytes."""
    attr = getattr(node, "attr", None)
    if not attr or "value" not in attr or attr["value"].WhichOneof("value") != "tensor":
        return None
    array = array_in(attr["value"].tensor, limit)
    return None if array is None else np.asarray(array)


def as_pattern(
    source: Any,
    *,
    inputs: Mapping[str, Any] | None = None,
    where: Mapping[str, Any] | None = None,
    attributes: str | Iterable[str] = (),
    constants: str = "any",
    request: str = "match",
) -> Pattern:
    """Makes a pattern from a function, selection, graph or pattern; see `Editor.match`.

    Raises:
        SelectionError: the argument cannot be a pattern, or a condition is for an op that is not in the pattern.
    """
    pattern = _make_pattern(source, inputs, attributes, constants, request)
    for op, condition in (where or {}).items():
        pattern = pattern.where(op, **condition) if isinstance(condition, Mapping) else pattern.where(op, condition)
    if isinstance(source, Pattern):
        return pattern
    options = {"inputs": inputs, "where": where, "attributes": attributes, "constants": constants}
    default = {"inputs": None, "where": None, "attributes": (), "constants": "any"}
    return replace(
        pattern, source=(source, tuple((key, option) for key, option in options.items() if option != default[key]))
    )


def _make_pattern(
    source: Any, inputs: Mapping[str, Any] | None, attributes: str | Iterable[str], constants: str, request: str
) -> Pattern:
    if isinstance(source, Pattern):
        return source
    if isinstance(source, Selection):
        return Pattern.from_selection(source, attributes=attributes, constants=constants, read_array=array_of)
    small = source if isinstance(source, Graph) else getattr(source, "snapshot", None)
    if small is None and hasattr(source, "get_operations"):
        from ..open.snapshot import snapshot

        small = snapshot(source)
    if isinstance(small, Graph):
        return Pattern.from_graph(small, attributes=attributes, constants=constants, read_array=array_of)
    if callable(source) and not isinstance(source, type):
        return pattern_of(source, inputs, attributes=attributes, constants=constants)
    raise SelectionError(
        f"{request}({source!r})",
        f"{type(source).__name__} is not a pattern",
        "Give a function of tensors, a selection, a small graph or a Pattern",
    )


def parameters_of(function: Callable[..., Any], kind: type[SurgeryError], request: str) -> list[inspect.Parameter]:
    """Returns the parameters of a function or `tf.function`; raises an error of type `kind` if they are unknown."""
    try:
        return list(inspect.signature(getattr(function, "python_function", function)).parameters.values())
    except (TypeError, ValueError):
        raise kind(request, "its arguments cannot be read", "Wrap it: lambda x: ...") from None


def _specs(function: Callable[..., Any], inputs: Mapping[str, Any], request: str) -> dict[str, tf.TensorSpec]:
    parameters = parameters_of(function, SelectionError, request)
    free = [p for p in parameters if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD, p.POSITIONAL_ONLY)]
    if free:
        raise SelectionError(request, f"its argument {free[0].name!r} has no fixed name", "Wrap it: lambda x, y: ...")
    names = {p.name: p.default for p in parameters}
    for name in inputs:
        if name not in names:
            problem = f"it has no argument {name!r}"
            raise SelectionError(
                request, problem, one_of(name, names) if names else "Leave it out: it has no arguments"
            )
    out = {}
    empty = inspect.Parameter.empty
    for name, default in names.items():
        if name not in inputs and not isinstance(default, (tf.TensorSpec, tf.DType)) and default is not empty:
            continue  # the parameter is an option, not a tensor
        spec = inputs.get(name, tf.float32 if default is empty else default)
        out[name] = spec if isinstance(spec, tf.TensorSpec) else tf.TensorSpec(None, tf.as_dtype(spec))
    return out


def _outputs(graph: tf.Graph, result: Any, request: str) -> dict[str, str]:
    if isinstance(result, Mapping):
        pairs = [(str(key), value) for key, value in result.items()]
    else:
        flat = list(result) if isinstance(result, (list, tuple)) else [result]
        pairs = [(str(getattr(value, "name", value)).removesuffix(":0"), value) for value in flat]
    foreign = [value for _, value in pairs if getattr(value, "graph", None) is not graph]
    if foreign or not pairs:
        type_name = type(foreign[0]).__name__ if foreign else "nothing"
        raise SelectionError(
            request,
            f"it returns {type_name}, not a tensor made of its arguments",
            "Return tensors made of its arguments",
        )
    return {key: str(value.name) for key, value in pairs}
