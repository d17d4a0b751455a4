"""Copies custom gradients: functions of `tf.custom_gradient`, and the tensors and variables that they use."""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import PlanError
from ...graph.types import TFGraph, TFOp, TFVariable
from ...plan.copy_result import CopyResult
from ...plan.static_checks import custom_gradients
from ..import_tensorflow import tf
from ..private.graphs import is_composite, registered_gradient
from .contexts import Renamer

_numbers = itertools.count(1)
#: The types of values that cannot contain a tensor.
_PLAIN_TYPES = (type(None), bool, int, float, complex, str, bytes, np.ndarray, np.generic, tf.DType, tf.TensorShape,
                type,
          types.ModuleType, types.BuiltinFunctionType, slice, range, type(...))  # fmt: skip


class _NotCopied(Exception):
    """Raised if a gradient uses something that was not copied."""


@dataclass
class CopiedGradient:
    """The gradient of one copied op. It is registered before the import, and bound to its tensors after the import.

    Args:
        source: number of the source op.
        original: the gradient function of the original.
        name: the name under which the new gradient is registered.
    """

    source: int
    original: Callable[..., Any] | None
    name: str
    call: Callable[..., Any] | None = None
    reason: str = ""

    def __call__(self, op: TFOp, *slopes: Any) -> Any:
        """Returns the gradients of the op's inputs, in the form that TensorFlow requires."""
        if self.call is None:
            raise PlanError(
                f"gradient through {op.name!r}",
                f"its tf.custom_gradient {self.reason or 'was never given to this copy'}",
                "Compute the gradient before you copy, or also copy the tensors and variables that it uses",
            )
        return self.call(op, *slopes)


def register_gradients(copy_result: CopyResult) -> list[CopiedGradient]:
    """Registers a gradient for the copy of each op with a `tf.custom_gradient`; unknown gradients are left out."""
    mask = copy_result.positions >= 0
    gradients = []
    for number, name in custom_gradients(copy_result.source, mask).items():
        try:
            original = registered_gradient(name)
        except LookupError:  # the graph came from a file, which does not contain gradients
            continue
        why = ""
        if isinstance(original, CopiedGradient):  # a copy of a copy
            why, original = original.reason, original.call
        new = CopiedGradient(number, original, f"{name.partition('-copy-')[0]}-copy-{next(_numbers)}", reason=why)
        tf.RegisterGradient(new.name)(new)
        gradients.append(new)
    return gradients


def bind_gradients(
    copy_result: CopyResult, graph: TFGraph, variables: dict[str, TFVariable], gradients: list[CopiedGradient]
) -> None:
    """Binds the gradients of a copy to the tensors and variables of the copy, after these were made.

    Args:
        copy_result: the copy.
        graph: the destination.
        variables: new variable op name -> object.
        gradients: the result of `register_gradients`.
    """
    for new in gradients:
        if new.original is None:
            continue
        try:
            new.call = _GradientCopier(copy_result, graph, variables).function(new.original)
        except _NotCopied as stuck:
            new.reason = f"uses {stuck}"


class _GradientCopier:
    """Copies a Python function: the code stays the same, and captured tensors are replaced by their copies."""

    def __init__(self, copy_result: CopyResult, graph: TFGraph, variables: dict[str, TFVariable]) -> None:
        self._copy_result, self._graph, self._variables = copy_result, graph, variables
        self._source = copy_result.source.live_graph
        self._copies: dict[int, Any] = {}

    def function(self, old: Any) -> Any:
        if id(old) in self._copies:
            return self._copies[id(old)]
        module = str(getattr(old, "__module__", ""))
        if module.startswith(("tensorflow.", "keras.")) and not module.endswith("custom_gradient"):
            return old
        self._copies[id(old)] = old  # a function that calls itself
        cells = tuple(types.CellType(self.value(cell.cell_contents)) for cell in old.__closure__ or ())
        space = dict(old.__globals__)
        for name in old.__code__.co_names:
            if name in space and self._concerns(space[name]):
                space[name] = self.value(space[name])
        new = types.FunctionType(old.__code__, space, old.__name__, self.value(old.__defaults__), cells or None)
        new.__kwdefaults__ = self.value(old.__kwdefaults__)
        self._copies[id(old)] = new
        return new

    def _concerns(self, obj: Any) -> bool:
        """Whether a global variable of the module of the gradient is a tensor, a variable, or a plain container."""
        return isinstance(obj, (tf.Tensor, tf.Variable, list, tuple, dict)) or is_composite(obj)

    def value(self, old: Any) -> Any:
        if isinstance(old, _PLAIN_TYPES):
            return old
        if isinstance(old, tf.Variable):
            return self._variable(old)
        if isinstance(old, tf.Tensor):
            return self._tensor(old)
        if isinstance(old, types.FunctionType):
            return self.function(old)
        if isinstance(old, functools.partial):
            return functools.partial(self.value(old.func), *self.value(old.args), **self.value(old.keywords))
        if isinstance(old, (list, tuple, dict)) or is_composite(old):
            leaves = tf.nest.flatten(old, expand_composites=True)
            copies = [leaf if leaf is old else self.value(leaf) for leaf in leaves]
            return tf.nest.pack_sequence_as(old, copies, expand_composites=True)
        if isinstance(old, (set, frozenset)):
            return type(old)(self.value(item) for item in old)
        raise _NotCopied(f"an object of type {type(old).__name__}, which may hold anything")

    def _tensor(self, old: Any) -> Any:
        if getattr(old, "graph", None) is not self._source:
            return old
        new = Renamer(self._copy_result)(old.name)
        if new is None:
            raise _NotCopied(f"{old.name!r}, which was not copied")
        return self._graph.get_tensor_by_name(new)

    def _variable(self, old: Any) -> Any:
        if getattr(old, "graph", None) is not self._source:
            return old
        copied = self._copy_result
        new = self._variables.get(copied.renamed(old.op.name))
        if new is not None and copied.positions[copied.source.index[old.op.name]] >= 0:
            return new
        if copied.closure.shared[copied.source.index[old.op.name]]:
            return old
        raise _NotCopied(f"the variable {old.op.name!r}, which was not copied")
