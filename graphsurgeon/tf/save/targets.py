"""Targets: a frozen graph goes to the converter of a target, and what that says comes back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import graph_pb2

from ...graph.compatibility import Converted
from ..wire import decoded
from .tfjs import tfjs_version, to_tfjs
from .tflite import Ends, converted, lite


@dataclass(frozen=True)
class Frozen:
    """A frozen graph, and what it takes and gives.

    Args:
        graph_def: the graph.
        inputs, outputs: names of its tensors.
    """

    graph_def: Any
    inputs: Sequence[str]
    outputs: Sequence[str]

    @classmethod
    def read(cls, path: Path, outputs: Sequence[str]) -> Frozen:
        """Reads a file that `Editor.save` has written."""
        graph_def = decoded(graph_pb2.GraphDef, path.read_bytes())
        return cls(graph_def, placeholders(graph_def), outputs)

    @property
    def size(self) -> int:
        """How many ops it has."""
        return len(self.graph_def.node)


def placeholders(graph_def: Any) -> list[str]:
    """Returns the tensors that must be fed to a graph."""
    return [f"{node.name}:0" for node in graph_def.node if node.op in ("Placeholder", "PlaceholderV2")]


def converter(target: str) -> str:
    """Returns what the converter of a target is called, with its version."""
    return f"tensorflowjs {tfjs_version()}" if target == "tfjs" else f"TensorFlow {tf.__version__}"


def convert(target: str, part: Frozen, timeout: float, prove: bool, asked: str) -> Converted:
    """Returns what a converter makes of a graph.

    Args:
        target: ``tflite`` or ``tfjs``.
        part: the graph.
        timeout: seconds that its process may take.
        prove: run the converter of TF.js too, where its list of ops has all that is there.
        asked: the request, for messages.

    Raises:
        PlanError: the converter is not installed.
    """
    if target == "tfjs":
        return to_tfjs(part.graph_def, part.outputs, timeout, prove, asked)
    with lite(timeout) as ask:
        return converted(part.graph_def, Ends(part.inputs, part.outputs), ask)
