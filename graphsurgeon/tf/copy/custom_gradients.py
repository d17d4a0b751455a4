"""Custom gradients: `tf.custom_gradient` binds a gradient to tensors of the original. Copies get a separate one."""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import PlanError
from ...graph.live import TFGraph, TFOp, TFVariable
from ...plan.copied import Copied
from ...plan.preflight import custom_gradients
from ..importing import tf
from ..private.graphs import is_composite, registered_gradient
from .contexts import Renamer

_numbers = itertools.count(1)
#: Values that hold no tensor.
_PLAIN = (type(None), bool, int, float, complex, str, bytes, np.ndarray, np.generic, tf.DType, tf.TensorShape, type,
          types.ModuleType, types.BuiltinFunctionType, slice, range, type(...))  # fmt: skip


class _Stuck(Exception):
    """A gradient uses something that was not copied."""


@dataclass
class Moved:
    """The gradient of one copied op: registered before the import, and given its tensors after it.

    Args:
        source: number of the source op.
        original: the function that TensorFlow holds for the original.
        name: the name under which the new function is registered.
    """

    source: int
    original: Callable[..., Any] | None
    name: str
    call: Callable[..., Any] | None = None
    why: str = ""

    def __call__(self, op: TFOp, *slopes: Any) -> Any:
        """Returns the gradients of the op's inputs, in the form that TensorFlow requires."""
        if self.call is None:
            raise PlanError(
                f"gradient through {op.name!r}",
                f"its tf.custom_gradient {self.why or 'was never given to this copy'}",
                "Compute the gradient before you copy, or also copy the tensors and variables that it uses",
            )
        return self.call(op, *slopes)


def registered(copied: Copied) -> list[Moved]:
    """Registers a gradient for the copy of each op with a `tf.custom_gradient`; unknown gradients are left out."""
    mask = copied.place >= 0
    made = []
    for number, name in custom_gradients(copied.source, mask).items():
        try:
            original = registered_gradient(name)
        except LookupError:  # the graph came from a file: its gradients stayed in another process
            continue
        why = ""
        if isinstance(original, Moved):  # a copy of a copy
            why, original = original.why, original.call
        new = Moved(number, original, f"{name.partition('-copy-')[0]}-copy-{next(_numbers)}", why=why)
        tf.RegisterGradient(new.name)(new)
        made.append(new)
    return made


def settle(copied: Copied, graph: TFGraph, variables: dict[str, TFVariable], made: list[Moved]) -> None:
    """Binds the gradients of a copy to its own tensors and variables, which exist now.

    Args:
        copied: the copy.
        graph: the destination.
        variables: new variable op name -> object.
        made: what `registered` returned.
    """
    for new in made:
        if new.original is None:
            continue
        try:
            new.call = _Mover(copied, graph, variables).function(new.original)
        except _Stuck as stuck:
            new.why = f"uses {stuck}"


class _Mover:
    """Makes a function for the copy from one of the original: the same code with other captured tensors."""

    def __init__(self, copied: Copied, graph: TFGraph, variables: dict[str, TFVariable]) -> None:
        self._copied, self._graph, self._variables = copied, graph, variables
        self._source = copied.source.live
        self._done: dict[int, Any] = {}

    def function(self, old: Any) -> Any:
        if id(old) in self._done:
            return self._done[id(old)]
        module = str(getattr(old, "__module__", ""))
        if module.startswith(("tensorflow.", "keras.")) and not module.endswith("custom_gradient"):
            return old
        self._done[id(old)] = old  # a function that calls itself
        cells = tuple(types.CellType(self.value(cell.cell_contents)) for cell in old.__closure__ or ())
        space = dict(old.__globals__)
        for name in old.__code__.co_names:
            if name in space and self._concerns(space[name]):
                space[name] = self.value(space[name])
        new = types.FunctionType(old.__code__, space, old.__name__, self.value(old.__defaults__), cells or None)
        new.__kwdefaults__ = self.value(old.__kwdefaults__)
        self._done[id(old)] = new
        return new

    def _concerns(self, thing: Any) -> bool:
        """Whether a global of the gradient's module is a tensor or variable, or a plain container."""
        return isinstance(thing, (tf.Tensor, tf.Variable, list, tuple, dict)) or is_composite(thing)

    def value(self, old: Any) -> Any:
        if isinstance(old, _PLAIN):
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
            moved = [leaf if leaf is old else self.value(leaf) for leaf in leaves]
            return tf.nest.pack_sequence_as(old, moved, expand_composites=True)
        if isinstance(old, (set, frozenset)):
            return type(old)(self.value(item) for item in old)
        raise _Stuck(f"an object of type {type(old).__name__}, which may hold anything")

    def _tensor(self, old: Any) -> Any:
        if getattr(old, "graph", None) is not self._source:
            return old
        new = Renamer(self._copied)(old.name)
        if new is None:
            raise _Stuck(f"{old.name!r}, which was not copied")
        return self._graph.get_tensor_by_name(new)

    def _variable(self, old: Any) -> Any:
        if getattr(old, "graph", None) is not self._source:
            return old
        copied = self._copied
        new = self._variables.get(copied.renamed(old.op.name))
        if new is not None and copied.place[copied.source.index[old.op.name]] >= 0:
            return new
        if copied.closure.shared[copied.source.index[old.op.name]]:
            return old
        raise _Stuck(f"the variable {old.op.name!r}, which was not copied")
