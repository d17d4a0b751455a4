"""Targets: runs the converter of a target on a frozen graph, and returns its messages."""

from __future__ import annotations

from ...graph.compatibility import Converted
from ..importing import tf
from .tfjs import tfjs_version, to_tfjs
from .tflite import Frozen, converted, lite


def converter(target: str) -> str:
    """Returns the name of a target's converter, with its version."""
    return f"tensorflowjs {tfjs_version()}" if target == "tfjs" else f"TensorFlow {tf.__version__}"


def convert(target: str, part: Frozen, timeout: float, prove: bool, request: str) -> Converted:
    """Returns the result of a converter for a graph.

    Args:
        target: ``tflite`` or ``tfjs``.
        part: the graph.
        timeout: seconds that its process may take.
        prove: run the converter of TF.js too, if its list of ops contains all ops of the graph.
        request: the request, for messages.

    Raises:
        PlanError: the converter is not installed.
    """
    if target == "tfjs":
        return to_tfjs(part.graph_def, part.outputs, timeout, prove, request)
    with lite(timeout) as ask:
        return converted(part, ask)
