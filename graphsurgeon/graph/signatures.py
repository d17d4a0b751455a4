"""Signatures: the functions that a file serves, as values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .graph import TensorInfo


@dataclass(frozen=True)
class Signature:
    """A signature of a SavedModel: its arguments and results.

    Args:
        name: its name, such as ``"serving_default"``.
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
    """The signatures of a file, and the one that was opened.

    Args:
        signatures: its signatures.
        opened: the name of the one that was opened; empty if the whole file was opened.
        left: the number of ops of the file that were left out.
        notes: notes about the file.
        functions: the paths to its other functions from the saved object.
        other: opens another of its signatures, or one of these functions, by name; None if that is not possible.
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
