"""Op types: their names, their documentation, and the attributes of their ops with the possible values."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from ...graph.live import TFNodeDef
from ..importing import tf
from ..registry import documentation as documentation
from ..registry import op_definition
from .outputs import dtype_name

_KINDS = frozenset(("bool", "float", "int", "list(float)", "list(int)", "shape", "string", "type"))
"""Kinds of attributes whose values can be typed."""


def op_types(query: str = "", like: str = "", inputs: int | None = None, most: int = 40) -> list[tuple[str, str]]:
    """Returns op types that match a text, with their documentation; matches in a name come first, the best at the top.

    Args:
        query: the text to look for; empty: names similar to `like`, or all.
        like: an op type: only types with the same number of inputs and outputs, which can replace it.
        inputs: only types with this number of inputs.
        most: the largest number of results.
    """
    old = op_definition(like)
    ends = None if old is None else (len(old.input_arg), len(old.output_arg))
    wanted, near = query.lower(), SequenceMatcher(b=like.lower())
    found: list[tuple[tuple[Any, ...], str]] = []
    for kind in dir(tf.raw_ops):
        definition = op_definition(kind) if kind[0].isupper() and kind != like else None
        if definition is None or (inputs is not None and len(definition.input_arg) != inputs):
            continue
        if ends not in (None, (len(definition.input_arg), len(definition.output_arg))):
            continue
        at = kind.lower().find(wanted)
        if at < 0 and wanted not in documentation(kind).lower():
            continue
        near.set_seq1(kind.lower())
        found.append(((at < 0, at, len(kind), kind) if wanted else (-near.ratio() if like else 0, kind), kind))
    return [(kind, documentation(kind)) for _, kind in sorted(found)[:most]]


def attributes(node: TFNodeDef) -> Iterator[tuple[str, str, list[str]]]:
    """Yields the attributes of an op that the user can type: name, value as `Plan.set_attr` reads it, and its choices.

    Args:
        node: its NodeDef; None and unknown op types have no attributes.
    """
    definition = op_definition(node.op) if node is not None else None
    for about in definition.attr if definition is not None else ():
        if about.type in _KINDS and about.name in node.attr:
            value = node.attr[about.name]
            yield about.name, _typed(value), _choices(about)


def _choices(about: Any) -> list[str]:
    """All values that an attribute may have, if it has a closed set of them."""
    allowed = about.allowed_values.list
    if about.type == "bool":
        return ["False", "True"]
    if about.type == "type":
        known = allowed.type or [kind for kind in range(1, 24) if kind not in (20, 21)]  # neither handles nor variants
        return sorted(dtype_name(kind) for kind in known)
    return sorted(text.decode("utf-8", "replace") for text in allowed.s)


def _typed(value: Any) -> str:
    """A value in the form in which the user types it."""
    kind = value.WhichOneof("value")
    if kind == "s":
        return str(value.s.decode("utf-8", "replace"))
    if kind == "type":
        return str(dtype_name(value.type))
    if kind == "shape":
        sizes = None if value.shape.unknown_rank else [None if d.size < 0 else d.size for d in value.shape.dim]
        return str(sizes)
    if kind == "list":
        return str(list(value.list.i) or [float(f"{one:.9g}") for one in value.list.f])
    return f"{np.float32(value.f):g}" if kind == "f" else str(getattr(value, kind)) if kind else ""
