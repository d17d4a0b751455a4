"""Compares values with the types that the page declares for them."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from typing import Any


def misfits(value: Any, hint: Any, place: str = "") -> Iterator[str]:
    """Yields the places at which a value does not have a type of `graphsurgeon.view.page_types`.

    Example:
        >>> from graphsurgeon.view.page_types import OpType
        >>> list(misfits([{"name": "Neg", "doc": ""}, {"name": 3}], list[OpType]))
        ['[1].name: int, not str', '[1]: no doc']
    """
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if typing.is_typeddict(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        if not isinstance(value, dict):
            yield f"{place}: {type(value).__name__}, not {hint.__name__}"
            return
        for key, one in value.items():
            inner = hints.get(key)
            if inner is None:
                yield f"{place}: {key} is not declared"
                continue
            optional = typing.get_origin(inner) is typing.NotRequired
            yield from misfits(one, typing.get_args(inner)[0] if optional else inner, f"{place}.{key}")
        for key, inner in hints.items():
            if key not in value and typing.get_origin(inner) is not typing.NotRequired:
                yield f"{place}: no {key}"
    elif origin in (typing.Union, types.UnionType):
        if all(any(misfits(value, one)) for one in args):
            yield f"{place}: {value!r} is none of its types"
    elif origin is typing.Literal:
        if value not in args:
            yield f"{place}: {value!r} is not in {args}"
    elif origin is tuple:
        if not isinstance(value, list | tuple) or len(value) != len(args):
            yield f"{place}: {value!r}, not {len(args)} values"
            return
        for i, (one, inner) in enumerate(zip(value, args, strict=True)):
            yield from misfits(one, inner, f"{place}[{i}]")
    elif origin is list:
        if not isinstance(value, list):
            yield f"{place}: {type(value).__name__}, not list"
            return
        for i, one in enumerate(value):
            yield from misfits(one, args[0], f"{place}[{i}]")
    elif origin is dict:
        if not isinstance(value, dict):
            yield f"{place}: {type(value).__name__}, not dict"
            return
        for key, one in value.items():
            yield from misfits(key, args[0], f"{place}.{key}")
            yield from misfits(one, args[1], f"{place}.{key}")
    elif not (isinstance(value, str) if hint is str else type(value) is hint or (hint is float and type(value) is int)):
        yield f"{place}: {type(value).__name__}, not {hint.__name__}"
