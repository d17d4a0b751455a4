"""Converts the steps of a plan to plain data for JSON, and back.

The caller packs the parts of a step that are not plain values, such as a selection or an editor as source of values.
"""

from __future__ import annotations

import base64
import types
from collections.abc import Callable, Mapping
from dataclasses import fields
from functools import cache
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from . import steps
from .adapters import AdapterSpec

#: Name in the data -> class that can be packed.
_KINDS: dict[str, type] = {kind.__name__: kind for kind in (*get_args(steps.Step), AdapterSpec)}
#: The largest depth of nested values.
_DEEPEST = 40
_Other = Callable[[Any], Any]


class NotSerializable(Exception):
    """Raised if a value cannot be packed; the text names the value."""


class NotDeserializable(Exception):
    """Raised for data that `serialize` cannot have made; the text names the place."""


def serialize(value: Any, other: _Other) -> Any:
    """Returns a step, or a value in one, as plain data.

    Args:
        value: the step or value.
        other: packs a value that is not plain, as a dict with one key that is not used here; raises `NotSerializable`
            if that is not possible.

    Raises:
        NotSerializable: if the value contains something that cannot be packed, such as a Python function.

    Example:
        >>> def no(value):
        ...     raise NotSerializable(f"a value of type {type(value).__name__}")
        >>> serialize(steps.ConnectStep("a:0", "b", 1), no)
        {'step': ['ConnectStep', {'tensor': 'a:0', 'to': 'b', 'input': 1}]}
        >>> deserialize(serialize(steps.SetStep(("a",), (("T", 1.5),)), no), no)
        SetStep(ops=('a',), attributes=(('T', 1.5),), device=None)
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return {"float": value.hex()}
    if type(value) is tuple:
        return [serialize(one, other) for one in value]
    if type(value) is list:
        return {"list": [serialize(one, other) for one in value]}
    if type(value) is bytes:
        return {"bytes": _text(value)}
    if isinstance(value, Mapping):
        return {"map": [[serialize(key, other), serialize(one, other)] for key, one in value.items()]}
    if isinstance(value, np.ndarray | np.generic):
        return _serialize_array(np.asarray(value), isinstance(value, np.generic))
    if isinstance(value, np.dtype):
        return {"dtype": value.name}
    if isinstance(value, type) and issubclass(value, np.generic):
        return {"dtype": np.dtype(value).name}
    if _KINDS.get(type(value).__name__) is type(value):
        values = {key: serialize(getattr(value, key), other) for key in _hints(cast(type, type(value)))}
        return {"step": [type(value).__name__, values]}
    return other(value)


def deserialize(data: Any, other: _Other, depth: int = 0) -> Any:
    """Returns the step or value that plain data describes.

    Args:
        data: the data.
        other: unpacks a dict with one key that is not known here; raises `NotDeserializable` if it cannot.
        depth: the depth of the data in other data.

    Raises:
        NotDeserializable: if `serialize` cannot have made the data; for example, if a step has a missing field, an
            additional field, or a field of another type.
    """
    if depth > _DEEPEST:
        raise NotDeserializable("values are nested too deeply")
    if data is None or type(data) in (bool, int, str):
        return data
    if type(data) is list:
        return tuple(deserialize(one, other, depth + 1) for one in data)
    if type(data) is not dict or len(data) != 1:
        raise NotDeserializable(f"{_short(data)} is not a value")
    [(kind, payload)] = data.items()
    reader = _READERS.get(kind)
    if reader is None:
        return other(data)
    try:
        return reader(payload, other, depth + 1)
    except (ValueError, TypeError, OverflowError) as error:
        raise NotDeserializable(f"{_short(data)} cannot be read as {kind}: {error}") from error


def _step(payload: Any, other: _Other, depth: int) -> Any:
    name, field_values = payload
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise NotDeserializable(f"there is no step {_short(name)}")
    hints = _hints(kind)
    if type(field_values) is not dict or field_values.keys() != hints.keys():
        raise NotDeserializable(
            f"{name} has the fields {', '.join(hints)}, not {_short(sorted(map(str, field_values)))}"
        )
    values = {key: deserialize(one, other, depth) for key, one in field_values.items()}
    for key, value in values.items():
        if not fits(value, hints[key]):
            raise NotDeserializable(f"{key} of {name} cannot be {_short(value)}")
    return kind(**values)


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind)}


def fits(value: Any, hint: Any) -> bool:
    """Returns whether a value has the declared type of a field of a step; functions are never accepted.

    Example:
        >>> fits(("a", 1), tuple[str, int]), fits(True, int), fits(None, str | None), fits(len, Callable[..., Any])
        (True, False, True, False)
    """
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in args)
    if origin is tuple:
        if type(value) is not tuple:
            return False
        if args[-1:] == (Ellipsis,):
            return all(fits(one, args[0]) for one in value)
        return len(value) == len(args) and all(map(fits, value, args))
    if origin is not None:
        if not (isinstance(origin, type) and issubclass(origin, Mapping)):
            return False
        return isinstance(value, Mapping) and all(fits(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    if hint in (bool, int, str):
        return type(value) is hint
    return isinstance(value, hint)


# -- arrays and the like --------------------------------------------------------------------------


def _serialize_array(array: np.ndarray, scalar: bool) -> dict[str, Any]:
    if array.dtype.hasobject:
        items = array.ravel().tolist()
        if not all(isinstance(one, bytes | str) for one in items):
            raise NotSerializable("an array of Python objects")
        return {"texts": [list(array.shape), [_text(one) if isinstance(one, bytes) else [one] for one in items]]}
    if array.dtype.fields is not None:
        raise NotSerializable("an array of records")
    if array.dtype.kind in "SU":
        return _serialize_array(array.astype(object), scalar)
    data = _text(np.ascontiguousarray(array).tobytes())
    return {"scalar" if scalar else "array": [array.dtype.name, list(array.shape), data]}


def _array(payload: Any, other: _Other, depth: int) -> Any:
    name, shape, data = payload
    return np.frombuffer(_bytes(data), _dtype(name, other, depth)).reshape(_shape(shape)).copy()


def _scalar(payload: Any, other: _Other, depth: int) -> Any:
    return _array(payload, other, depth)[()]


def _texts(payload: Any, other: _Other, depth: int) -> Any:
    shape, items = payload
    out = np.empty(len(items), object)
    out[:] = [one[0] if isinstance(one, list) else _bytes(one) for one in items]
    return out.reshape(_shape(shape))


def _dtype(payload: Any, other: _Other, depth: int) -> np.dtype[Any]:
    dtype = np.dtype(payload) if isinstance(payload, str) and payload.replace("_", "").isalnum() else np.dtype(object)
    if dtype.hasobject or dtype.fields is not None:
        raise ValueError(f"{_short(payload)} is not a dtype of numbers")
    return dtype


def _shape(payload: Any) -> tuple[int, ...]:
    if not all(type(one) is int and one >= 0 for one in payload):
        raise ValueError(f"{_short(payload)} is not a shape")
    return tuple(payload)


def _map(payload: Any, other: _Other, depth: int) -> dict[Any, Any]:
    return {deserialize(key, other, depth): deserialize(one, other, depth) for key, one in payload}


_READERS: dict[str, Callable[[Any, _Other, int], Any]] = {
    "step": _step,
    "float": lambda held, other, depth: float.fromhex(held),
    "list": lambda held, other, depth: [deserialize(one, other, depth) for one in held],
    "bytes": lambda held, other, depth: _bytes(held),
    "map": _map,
    "array": _array,
    "scalar": _scalar,
    "texts": _texts,
    "dtype": _dtype,
}


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(text: Any) -> bytes:
    return base64.b64decode(text, validate=True)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."
