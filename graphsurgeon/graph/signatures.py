"""Signatures: what a file serves, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .graph import TensorInfo


@dataclass(frozen=True)
class Signature:
    """An entry of a SavedModel: what it takes and what it gives.

    Args:
        name: its name, as ``"serving_default"``.
        inputs: argument -> dtype and shape.
        outputs: result -> dtype and shape.
    """

    name: str
    inputs: Mapping[str, TensorInfo] = field(default_factory=dict)
    outputs: Mapping[str, TensorInfo] = field(default_factory=dict)

    def __str__(self) -> str:
        takes, gives = (
            ", ".join(f"{key}: {info}" for key, info in side.items()) for side in (self.inputs, self.outputs)
        )
        return f"{self.name}({takes}) -> {gives or 'nothing'}"


@dataclass(frozen=True)
class Serving:
    """What a file serves, and what of it was opened.

    Args:
        signatures: its signatures.
        opened: the name of the one that was opened; empty where the file was opened as it lies.
        left: how many ops of the file were left out then.
        notes: what to know of it.
        functions: the ways to its other functions from the object that was saved.
        other: opens another of its signatures, or one of these functions, by name; None where it cannot be asked.
    """

    signatures: tuple[Signature, ...] = ()
    opened: str = ""
    left: int = 0
    notes: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    other: Callable[[str], Any] | None = field(default=None, compare=False, repr=False)

    @property
    def names(self) -> list[str]:
        """All that can be opened of it, by name: signatures, then functions."""
        return [*(one.name for one in self.signatures), *self.functions] if self.other is not None else []
