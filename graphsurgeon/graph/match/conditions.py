"""Conditions: what an op must be, in addition to its type and its edges, to match an op of a pattern."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..graph import DTYPES, TensorInfo, shape_text
from ..pairs import attribute_bytes
from ..selection import OpView

_FIELDS = ("s", "i", "f", "b", "type", "shape", "tensor", "func")


@dataclass(frozen=True, eq=False)
class Condition:
    """The conditions on an op; a condition that is not given is not checked.

    Args:
        attributes: attribute -> value as Python writes it.
        same: attribute -> its bytes.
        dtypes: of its outputs, in order; None for any.
        shape: of output 0; None in it for any size.
        test: is called with an `OpView`, and must be true.
        value: the array that a constant must hold.
        read: reads the array of a constant.
    """

    attributes: tuple[tuple[str, Any], ...] = ()
    same: tuple[tuple[str, bytes], ...] = ()
    dtypes: tuple[str | None, ...] = ()
    shape: tuple[int | None, ...] | None = None
    test: Callable[[OpView], bool] | None = None
    value: Any = None
    read: Callable[[Any], Any] | None = None

    def incompatibility(self, op: OpView) -> str:
        """Returns why an op does not fit, in words; empty if it fits."""
        held: Mapping[str, Any] = getattr(op.node, "attr", None) or {}
        for key, value in self.attributes:
            if key not in held or not attribute_is(held[key], value):
                return f"its attribute {key!r} is not {value!r}"
        for key, raw in self.same:
            if key not in held or attribute_bytes(held[key]) != raw:
                return f"its attribute {key!r} has another value"
        outputs = op.outputs if self.dtypes or self.shape is not None else ()
        return self._wrong_dtype(outputs) or self._wrong_shape(outputs) or self._wrong_value(op) or self._wrong_test(op)

    def _wrong_dtype(self, outputs: Sequence[TensorInfo]) -> str:
        for port, wanted in enumerate(self.dtypes):
            dtype = outputs[port].dtype.removesuffix("_ref") if port < len(outputs) else "nothing"
            if wanted is not None and dtype != wanted:
                return f"its output {port} is {dtype}, not {wanted}"
        return ""

    def _wrong_shape(self, outputs: Sequence[TensorInfo]) -> str:
        if self.shape is None:
            return ""
        shape = outputs[0].shape if outputs else None
        if shape is None:
            return f"its rank is open, and the condition requires {shape_text(self.shape)}: leave shape= out"
        if len(shape) != len(self.shape):
            return f"its shape is {shape_text(shape)}, not {shape_text(self.shape)}"
        pairs = list(zip(self.shape, shape, strict=True))
        if any(want is not None and have is not None and want != have for want, have in pairs):
            return f"its shape is {shape_text(shape)}, not {shape_text(self.shape)}"
        if any(want is not None and have is None for want, have in pairs):
            ask = [None if have is None else want for want, have in pairs]
            unclear = f"which cannot be compared with {shape_text(self.shape)}"
            return f"its shape is {shape_text(shape)}, {unclear}: use shape={ask}"
        return ""

    def _wrong_value(self, op: OpView) -> str:
        if self.read is None:
            return ""
        value = self.read(op.node)
        same = value is not None and value.dtype == self.value.dtype and np.array_equal(value, self.value)
        return "" if same else "it holds another value"

    def _wrong_test(self, op: OpView) -> str:
        return "" if self.test is None or self.test(op) else "the test given for it is false"


def attribute_is(held: Any, value: Any) -> bool:
    """Returns whether an attribute has a value, given as Python writes it: text, number, list, dtype or shape.

    Example:
        >>> attribute_is([1, 2], [1, 2]), attribute_is(True, False)
        (True, False)
    """
    which = getattr(held, "WhichOneof", None)
    if which is None:
        return bool(held == value)
    kind = which("value")
    if kind == "list":
        wanted = list(value) if isinstance(value, (list, tuple)) else [value]
        for name in _FIELDS:
            items = list(getattr(held.list, name))
            if items:
                return len(items) == len(wanted) and all(map(_is, [name] * len(items), items, wanted))
        return not wanted
    return kind is not None and _is(kind, getattr(held, kind), value)


def _is(kind: str, held: Any, value: Any) -> bool:
    if kind == "s":
        return bool(held == (value.encode() if isinstance(value, str) else value))
    if kind == "f":
        return isinstance(value, (int, float)) and bool(np.float32(held) == np.float32(value))
    if kind == "type":
        return _is_type(held, value)
    if kind == "shape":
        if held.unknown_rank or value is None:
            return bool(held.unknown_rank) and value is None
        return [None if d.size < 0 else d.size for d in held.dim] == list(value)
    if kind == "func":
        return bool(held.name == value)
    return bool(held == value)


def _is_type(number: int, value: Any) -> bool:
    wanted = getattr(value, "as_datatype_enum", value)
    if isinstance(wanted, int):
        return number == wanted
    return DTYPES.get(number) == str(wanted)
