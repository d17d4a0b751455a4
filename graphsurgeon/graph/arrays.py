"""Arrays: values by name for a NumPy archive without pickles, which texts and dtypes that NumPy lacks survive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ..errors import PlanError
from .graph import TensorInfo

_PARTS = "::"


def packed(values: Mapping[str, Any], lead: str) -> dict[str, NDArray[Any]]:
    r"""Returns arrays that `np.savez` writes as they are, for `unpacked`.

    Args:
        values: name -> array. Texts are bytes in object arrays, the form that a session returns.
        lead: the beginning of each key.

    Example:
        >>> values = {"a:0": np.array([b"x", b"y\0"], object), "b:0": np.float32(2)}
        >>> {name: array.tolist() for name, array in unpacked(packed(values, "result"), "result").items()}
        {'a:0': [b'x', b'y\x00'], 'b:0': 2.0}
    """
    found: dict[str, NDArray[Any]] = {}
    for name, value in values.items():
        array = np.asarray(value)
        if array.dtype.kind in "OSU":
            texts = [text.encode() if isinstance(text, str) else bytes(text) for text in array.ravel().tolist()]
            ends = np.cumsum([len(text) for text in texts], dtype=np.int64).reshape(array.shape)
            found[f"{lead}{_PARTS}text{_PARTS}{name}"] = np.frombuffer(b"".join(texts), np.uint8)
            found[f"{lead}{_PARTS}ends{_PARTS}{name}"] = ends
        elif array.dtype.kind == "V":  # as bfloat16: NumPy would forget its name
            raw = np.ascontiguousarray(array).reshape(*array.shape, 1).view(np.uint8)
            found[f"{lead}{_PARTS}{array.dtype.name}{_PARTS}{name}"] = raw
        else:
            found[f"{lead}{_PARTS}{_PARTS}{name}"] = array
    return found


def unpacked(arrays: Mapping[str, NDArray[Any]], lead: str) -> dict[str, Any]:
    """Returns the values by name that `packed` was given.

    Raises:
        TypeError: a dtype is not known here.
    """
    found: dict[str, Any] = {}
    for key, array in arrays.items():
        first, _, rest = key.partition(_PARTS)
        kind, _, name = rest.partition(_PARTS)
        if first != lead or kind == "text":
            continue
        if kind == "ends":
            whole, ends = arrays[f"{lead}{_PARTS}text{_PARTS}{name}"].tobytes(), array.ravel().tolist()
            texts = np.empty(len(ends), object)
            texts[:] = [whole[start:end] for start, end in zip([0, *ends], ends, strict=False)]
            found[name] = texts.reshape(array.shape)
        else:
            found[name] = array.view(np.dtype(kind)).reshape(array.shape[:-1]) if kind else array
    return found


def loaded(path: Any, request: str, suggestion: str) -> Any:
    """Returns the array of an ``.npy`` file, or those of an ``.npz`` file by name.

    Args:
        path: the file.
        request, suggestion: the request and the suggestion, for messages.

    Raises:
        PlanError: the file is neither, or cannot be read.
    """
    try:
        with open(path, "rb") as file:  # NumPy leaves one open that is not an archive
            held = np.load(file, allow_pickle=False)
            return dict(held) if hasattr(held, "files") else held
    except OSError as error:
        problem = f"the file cannot be read: {error.strerror or error}"
    except (ValueError, EOFError, BadZipFile):
        problem = "that is not a file of arrays of numbers or texts, as NumPy writes them (.npz)"
    raise PlanError(request, problem, suggestion)


def can_be_made_up(info: TensorInfo) -> bool:
    """Returns whether a tensor can be given random numbers: its rank is known, and it holds numbers.

    Example:
        >>> can_be_made_up(TensorInfo("float32", (None, 2))), can_be_made_up(TensorInfo("string", ()))
        (True, False)
    """
    return info.shape is not None and info.dtype.startswith(("float", "bfloat", "int", "uint", "bool"))
