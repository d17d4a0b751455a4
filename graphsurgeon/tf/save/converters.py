"""Runs the converters of TensorFlow Lite and TensorFlow.js on a frozen graph, in a separate process.

The package of TensorFlow.js is not imported, because it would import libraries that are not needed here.

The converter of TensorFlow Lite is native code that may crash the process. A crash is reported as an error. The
refused ops are read from the errors of the converter, because graphsurgeon has no list of ops.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import PlanError, exit_text
from ...graph.conversion_verdict import MISSING, ConversionResult, ConverterMessage
from ...graph.functions import nodes_in_calls
from ...graph.types import TFGraphDef
from ..import_tensorflow import tf
from ..messages import graph_pb2
from ..protos import decode, encode
from .worker import TIMEOUT, WORKER, environment, late_text


def converter(target: str) -> str:
    """Returns the name and version of the converter of a target."""
    return f"{_PACKAGE} {importlib.metadata.version(_PACKAGE)}" if target == "tfjs" else f"TensorFlow {tf.__version__}"


_PACKAGE = "tensorflowjs"
#: Ops that the converter removes first, so they are not in its lists.
_REMOVED_TYPES = frozenset({"Assert", "CheckNumerics", "Print"})
_TFJS_PROGRAM = (
    f"import runpy; runpy.run_module('{_PACKAGE}.converters.converter', run_name='__main__', alter_sys=True)"
)


def to_tfjs(graph: Path, outputs: Sequence[str], timeout: float, verify: bool, request: str) -> ConversionResult:
    """Returns the result of the TF.js converter for a frozen graph.

    Args:
        graph: the file with the graph.
        outputs: its output tensors.
        timeout: the time limit of the process, in seconds.
        verify: run the converter if its list contains all ops.
        request: the request, for messages.

    Raises:
        PlanError: the converter is not installed, or its list of ops is not found.
    """
    graph_def, supported = decode(graph_pb2.GraphDef, graph.read_bytes()), _supported_types(request)
    errors = tuple(
        ConverterMessage([name], op_type, MISSING, "")
        for name, op_type in _types(graph_def)
        if op_type not in supported
    )
    if errors or not verify:
        return ConversionResult(error_text="some ops are not in its list" if errors else "", errors=errors)
    with tempfile.TemporaryDirectory(prefix="graphsurgeon") as name:
        output_folder = Path(name, "made")
        ends = ",".join(tensor.removesuffix(":0") for tensor in outputs)
        arguments = ["--input_format=tf_frozen_model", f"--output_node_names={ends}", str(graph), str(output_folder)]
        how = run_in_process(_TFJS_PROGRAM, arguments, timeout)
        files = sorted(output_folder.iterdir()) if output_folder.is_dir() else []
        if how or not any(file.suffix == ".json" for file in files):
            return ConversionResult(error_text=f"the converter {how or 'wrote no model'}, in a separate process")
        return ConversionResult(b"".join(file.read_bytes() for file in files))


def _types(graph_def: TFGraphDef) -> Iterator[tuple[str, str]]:
    """Yields (op, op type) for each op of a graph, and (op, op type) for each op type in the functions of an op."""
    functions = {definition.signature.name: definition for definition in graph_def.library.function}
    for node in graph_def.node:
        yield from ((node.name, one.op) for one in (node, *nodes_in_calls([node], functions)))


def _supported_types(request: str) -> frozenset[str]:
    """Returns the op types that the installed converter supports."""
    spec = importlib.util.find_spec(_PACKAGE)
    places = [Path(place, "op_list") for place in spec.submodule_search_locations or ()] if spec is not None else []
    files = sorted(file for place in places for file in place.glob("*.json"))
    names = frozenset(entry["tfOpName"] for file in files for entry in json.loads(file.read_text(encoding="utf-8")))
    if not names:
        problem = "is not installed" if spec is None else "has no list of ops in its folder op_list"
        raise PlanError(request, f"the converter of TF.js, {_PACKAGE}, {problem}", f"Type pip install {_PACKAGE}")
    return names | _REMOVED_TYPES


def convert_to_tflite(
    graph_def: TFGraphDef,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str],
    signature: str,
    timeout: float = TIMEOUT,
) -> ConversionResult:
    """Returns the result of TensorFlow's converter for a frozen graph, with only the built-in ops of TFLite.

    Args:
        graph_def: the graph, without variables.
        inputs, outputs: argument or result -> its tensor, in order.
        signature: the name of the signature of the file.
        timeout: the time limit, in seconds.
    """
    with tempfile.TemporaryDirectory(prefix="graphsurgeon") as folder:
        graph, file = Path(folder, "graph.pb"), Path(folder, "model.tflite")
        graph.write_bytes(encode(graph_def))
        about = {"inputs": dict(inputs), "outputs": dict(outputs), "signature": signature}
        request = {"do": "convert", "graph": str(graph), "model": str(file), **about}
        answer = WORKER.send(Path(folder), request, timeout)
        if "how" in answer:
            return ConversionResult(error_text=f"the converter {answer['how']}, in a separate process")
        model = file.read_bytes() if not answer["said"] else b""
    errors = tuple(ConverterMessage(**error) for error in answer["errors"])
    return ConversionResult(model, answer["said"], errors)


def run_in_process(code: str, arguments: Sequence[str], timeout: float) -> str:
    """Runs Python code in a separate process; returns how it failed, with its error, or empty text on success.

    The process ends when this process ends, or after the timeout.
    """
    command = [sys.executable, "-c", code, *arguments]
    with tempfile.TemporaryFile() as errors:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": errors}
        with subprocess.Popen(command, env=environment(), bufsize=0, **pipes) as process:
            try:
                status = process.wait(timeout)
            except subprocess.TimeoutExpired:
                return late_text(timeout)
            finally:
                process.kill()
        if not status:
            return ""
        errors.seek(0)
        message = _error(errors.read().decode(errors="replace"))
    return f"{exit_text(status)}: {message}" if message else exit_text(status)


def _error(text: str) -> str:
    """Returns the error at the end of a traceback as one line: the text after the last line of code."""
    lines: list[str] = []
    for line in text.splitlines():
        lines = [] if line.startswith("  ") else [*lines, line.strip()]
    message = " ".join(filter(None, lines)) if "Traceback" in text else ""
    return textwrap.shorten(message, 300, placeholder=" ...")
