"""Arrays by name in a NumPy archive without pickles, and the sizes of constants and variables in bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod
from typing import Any
from zipfile import BadZipFile
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from ..errors import PlanError, counted
from .graph import Graph, TensorInfo, value_info
from .variables import VariableInfo

_BITS = {"bfloat16": 16, "half": 16, "bool": 8, "qint8": 8, "quint8": 8, "qint16": 16, "quint16": 16, "qint32": 32,
         "complex64": 64, "complex128": 128, "int4": 4, "uint4": 4}  # fmt: skip


def variable_bytes(info: VariableInfo) -> int:
    """Returns the size of a variable's value in bytes; 0 if shape and dtype do not determine the size.

    Example:
        >>> variable_bytes(VariableInfo("w", dtype="float32", shape="(2, 3)"))
        24
    """
    return tensor_bytes(value_info(info))


def tensor_bytes(info: TensorInfo) -> int:
    """Returns the size of a tensor in bytes; 0 if shape and dtype do not determine the size.

    Example:
        >>> tensor_bytes(TensorInfo("float32", (2, 3))), tensor_bytes(TensorInfo("float32", (2, None)))
        (24, 0)
    """
    if info.shape is None or None in info.shape:
        return 0
    dtype = info.dtype.removesuffix("_ref")
    bits = _BITS.get(dtype, 0)
    if not bits:
        digits = dtype.lstrip("abcdefghijklmnopqrstuvwxyz")
        bits = int(digits) if digits.isdigit() else 8 if dtype.startswith("float8") else 0
    return prod(d for d in info.shape if d is not None) * bits // 8


def bytes_of(graph: Graph, ops: Iterable[int]) -> int:
    """Returns the size of the constants, in a file, and of the variables among some ops in bytes."""
    variables, total = graph.state.variables, 0
    for i in ops:
        if graph.types[i] == "Const":
            attributes = getattr(graph.nodes[i], "attr", {})
            total += attributes["value"].tensor.ByteSize() if "value" in attributes else 0
        if graph.names[i] in variables:
            total += variable_bytes(variables[graph.names[i]])
    return total


def size_text(count: int) -> str:
    """Returns a number of bytes as text with a unit.

    Example:
        >>> size_text(12), size_text(3_300_000), size_text(0)
        ('12 bytes', '3.3 MB', '0 bytes')
    """
    for unit, word in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count / unit:.3g} {word}"
    return counted(count, "bytes")


_PARTS = "::"


def pack_arrays(values: Mapping[str, Any], lead: str) -> dict[str, NDArray[Any]]:
    r"""Converts values to arrays that `np.savez` can write. `unpack_arrays` converts them back.

    Args:
        values: name -> array. Texts are bytes in object arrays, the form that a session returns.
        lead: the beginning of each key.

    Example:
        >>> values = {"a:0": np.array([b"x", b"y\0"], object), "b:0": np.float32(2)}
        >>> {name: array.tolist() for name, array in unpack_arrays(pack_arrays(values, "result"), "result").items()}
        {'a:0': [b'x', b'y\x00'], 'b:0': 2.0}
    """
    arrays: dict[str, NDArray[Any]] = {}
    for name, value in values.items():
        array = np.asarray(value)
        if array.dtype.kind in "OSU":
            texts = [text.encode() if isinstance(text, str) else bytes(text) for text in array.ravel().tolist()]
            ends = np.cumsum([len(text) for text in texts], dtype=np.int64).reshape(array.shape)
            arrays[f"{lead}{_PARTS}text{_PARTS}{name}"] = np.frombuffer(b"".join(texts), np.uint8)
            arrays[f"{lead}{_PARTS}ends{_PARTS}{name}"] = ends
        elif array.dtype.kind == "V":  # for example bfloat16; NumPy would not save the name of the dtype
            raw = np.ascontiguousarray(array).reshape(*array.shape, 1).view(np.uint8)
            arrays[f"{lead}{_PARTS}{array.dtype.name}{_PARTS}{name}"] = raw
        else:
            arrays[f"{lead}{_PARTS}{_PARTS}{name}"] = array
    return arrays


def unpack_arrays(arrays: Mapping[str, NDArray[Any]], lead: str) -> dict[str, Any]:
    """Returns the values by name that were given to `pack_arrays`.

    Raises:
        TypeError: if a dtype is not known in this process.
    """
    result: dict[str, Any] = {}
    for key, array in arrays.items():
        first, _, rest = key.partition(_PARTS)
        kind, _, name = rest.partition(_PARTS)
        if first != lead or kind == "text":
            continue
        if kind == "ends":
            whole, ends = arrays[f"{lead}{_PARTS}text{_PARTS}{name}"].tobytes(), array.ravel().tolist()
            texts = np.empty(len(ends), object)
            texts[:] = [whole[start:end] for start, end in zip([0, *ends], ends, strict=False)]
            result[name] = texts.reshape(array.shape)
        else:
            result[name] = array.view(np.dtype(kind)).reshape(array.shape[:-1]) if kind else array
    return result


def load_arrays(path: Any, request: str, suggestion: str) -> Any:
    """Returns the array of an ``.npy`` file, or the arrays of an ``.npz`` file by name.

    Args:
        path: the file.
        request, suggestion: the request and the suggestion, for messages.

    Raises:
        PlanError: if the file has another format, or cannot be read.
    """
    try:
        with open(path, "rb") as file:  # NumPy does not close a file that is not an archive
            archive = np.load(file, allow_pickle=False)
            return dict(archive) if hasattr(archive, "files") else archive
    except OSError as error:
        problem = f"the file cannot be read: {error.strerror or error}"
    except (ValueError, EOFError, BadZipFile):
        problem = "the file is not a NumPy file (.npz) with arrays of numbers or texts"
    raise PlanError(request, problem, suggestion)


def same_numbers(one: Any, other: Any) -> bool:
    """Returns whether two arrays are equal, except for the rounding of sums that are added in another order.

    Floats may differ by the square root of their precision, relative to the largest value. NaN equals NaN.

    Args:
        one, other: the arrays; they must have the same shape and dtype to be equal.

    Example:
        >>> one = np.array([1.0, 2.0, np.nan], np.float32)
        >>> same_numbers(one, one * np.float32(1.0000001)), same_numbers(one, one * 2), same_numbers([1], [2])
        (True, False, False)
    """
    a, b = np.asarray(one), np.asarray(other)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "OSUb" or np.issubdtype(a.dtype, np.integer):
        return bool(np.array_equal(a, b))
    # `np.finfo` has no precision for short floats.
    close = float(np.sqrt(np.finfo(a.dtype).eps)) if a.dtype.kind in "fc" else 0.1
    return bool(np.allclose(widened(a), widened(b), rtol=close, atol=close * magnitude(a), equal_nan=True))


def widened(array: NDArray[Any]) -> NDArray[Any]:
    """Returns an array of floats in double precision, also one of a dtype that NumPy cannot compute with."""
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def magnitude(array: NDArray[Any]) -> float:
    """Returns the largest absolute value of the finite numbers in an array; 0.0 if there is none.

    Example:
        >>> magnitude(np.array([1.0, -3.0, np.inf])), magnitude(np.zeros(0))
        (3.0, 0.0)
    """
    wide = widened(array)
    return float(np.abs(wide[np.isfinite(wide)]).max(initial=0.0))


def can_be_random(info: TensorInfo) -> bool:
    """Returns whether a tensor can be fed with random numbers: its rank is known, and it contains numbers.

    Example:
        >>> can_be_random(TensorInfo("float32", (None, 2))), can_be_random(TensorInfo("string", ()))
        (True, False)
    """
    return info.shape is not None and info.dtype.startswith(("float", "bfloat", "int", "uint", "bool"))


def random_array(tensor: str, info: TensorInfo, seed: int) -> NDArray[Any]:
    """Returns the random feed of a tensor: normal numbers for floats, otherwise 0 and 1. Unknown sizes become 1.

    A seed gives each tensor its own numbers.

    Args:
        tensor: the name of the tensor.
        info: its dtype and shape; see `can_be_random`.
        seed: the seed.

    Example:
        >>> random_array("x:0", TensorInfo("bool", (None, 4)), 1)
        array([[ True, False, False, False]])
    """
    seeds, method, arguments = _random_draw(tensor, info, seed)
    try:
        dtype = np.dtype(info.dtype.removesuffix("_ref"))
    except TypeError:  # such as bfloat16, before TensorFlow is imported; the run casts the array
        dtype = np.dtype("float32")
    return np.asarray(getattr(np.random.default_rng(seeds), method)(**arguments)).astype(dtype)


def random_code(tensor: str, info: TensorInfo, seed: int) -> str:
    """Returns the Python code of `random_array`, without the cast.

    Example:
        >>> random_code("x:0", TensorInfo("float32", (1, 4)), 0)
        'np.random.default_rng([0, 2798849583]).standard_normal(size=(1, 4))'
    """
    seeds, method, arguments = _random_draw(tensor, info, seed)
    return f"np.random.default_rng({seeds}).{method}({', '.join(f'{key}={one!r}' for key, one in arguments.items())})"


def _random_draw(tensor: str, info: TensorInfo, seed: int) -> tuple[list[int], str, dict[str, Any]]:
    """Returns the seeds, the method and the arguments of a `numpy.random.Generator` for the random feed of a tensor."""
    size = {"size": tuple(1 if one is None else one for one in info.shape or ())}
    floats = info.dtype.startswith(("float", "bfloat"))
    return [seed, crc32(tensor.encode())], *(("standard_normal", size) if floats else ("integers", {"low": 2, **size}))
