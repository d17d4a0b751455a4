"""Runs the converters of TensorFlow Lite and TensorFlow.js on a frozen graph, in a separate process.

The package of TensorFlow.js is not imported, because it would import libraries that are not needed here.

The converter and the interpreter of TensorFlow Lite are native code that may crash the process. A crash is reported as
an error. The refused ops are read from the errors of the converter, because graphsurgeon has no list of ops.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any

import numpy as np

from ...errors import PlanError, exit_text
from ...graph.arrays import pack_arrays, unpack_arrays
from ...graph.compatibility import MISSING, ConversionResult, ConverterMessage
from ...graph.functions import callees_of, reachable_functions
from ...graph.types import TFGraphDef
from ...graph.variables import PLACEHOLDER_TYPES
from ..importing import tf
from ..messages import graph_pb2
from ..protos import decode, encode
from .proof import Run


def converter(target: str) -> str:
    """Returns the name and version of the converter of a target."""
    return f"tensorflowjs {tfjs_version()}" if target == "tfjs" else f"TensorFlow {tf.__version__}"


def convert(target: str, part: FrozenPart, timeout: float, prove: bool, request: str) -> ConversionResult:
    """Returns the result of a converter for a graph.

    Args:
        target: ``tflite`` or ``tfjs``.
        part: the graph.
        timeout: the time limit of the process, in seconds.
        prove: for TF.js, also run the converter if its list of ops contains all ops of the graph.
        request: the request, for messages.

    Raises:
        PlanError: the converter is not installed.
    """
    if target == "tfjs":
        return to_tfjs(part.graph_def, part.outputs, timeout, prove, request)
    with tflite_process(timeout) as send:
        return convert_to_tflite(part, send)


_PACKAGE = "tensorflowjs"
#: Ops that the converter removes first, so they are not in its lists.
_TAKEN_OUT = frozenset({"Assert", "CheckNumerics", "Print"})
_TFJS_PROGRAM = (
    f"import runpy; runpy.run_module('{_PACKAGE}.converters.converter', run_name='__main__', alter_sys=True)"
)


def to_tfjs(
    graph_def: TFGraphDef, outputs: Sequence[str], timeout: float, prove: bool, request: str
) -> ConversionResult:
    """Returns the result of the TF.js converter for a frozen graph.

    Args:
        graph_def: the graph.
        outputs: its output tensors.
        timeout: the time limit of the process, in seconds.
        prove: run the converter if its list contains all ops.
        request: the request, for messages.

    Raises:
        PlanError: the converter is not installed, or its list of ops is not found.
    """
    supported = _supported_types(request)
    errors = tuple(
        ConverterMessage([name], op_type, MISSING, "")
        for name, op_type in _types(graph_def)
        if op_type not in supported
    )
    if errors or not prove:
        return ConversionResult(said="some ops are not in its list" if errors else "", errors=errors)
    with tempfile.TemporaryDirectory(prefix="graphsurgeon") as name:
        path, output_folder = Path(name, "frozen.pb"), Path(name, "made")
        path.write_bytes(encode(graph_def))
        ends = ",".join(tensor.removesuffix(":0") for tensor in outputs)
        arguments = ["--input_format=tf_frozen_model", f"--output_node_names={ends}", str(path), str(output_folder)]
        how = run_in_process(_TFJS_PROGRAM, arguments, timeout)
        files = sorted(output_folder.iterdir()) if output_folder.is_dir() else []
        if how or not any(file.suffix == ".json" for file in files):
            return ConversionResult(said=f"the converter {how or 'wrote no model'}, in a separate process")
        return ConversionResult(b"".join(file.read_bytes() for file in files))


def tfjs_version() -> str:
    """Returns the version of the converter that is installed."""
    return importlib.metadata.version(_PACKAGE)


def _types(graph_def: TFGraphDef) -> Iterator[tuple[str, str]]:
    """Yields (op, op type) for each op of a graph, and (op, op type) for each op type in the functions of an op."""
    functions = {definition.signature.name: definition for definition in graph_def.library.function}
    for node in graph_def.node:
        yield node.name, node.op
        for name in reachable_functions([definition.function for definition in callees_of(node, functions)], functions):
            yield from ((node.name, inner.op) for inner in functions[name].node_def)


def _supported_types(request: str) -> frozenset[str]:
    """Returns the op types that the installed converter supports."""
    spec = importlib.util.find_spec(_PACKAGE)
    places = [Path(place, "op_list") for place in spec.submodule_search_locations or ()] if spec is not None else []
    files = sorted(file for place in places for file in place.glob("*.json"))
    names = frozenset(entry["tfOpName"] for file in files for entry in json.loads(file.read_text(encoding="utf-8")))
    if not names:
        problem = "is not installed" if spec is None else "has no list of ops in its folder op_list"
        raise PlanError(request, f"the converter of TF.js, {_PACKAGE}, {problem}", f"Type pip install {_PACKAGE}")
    return names | _TAKEN_OUT


tf1 = tf.compat.v1

_GRAPH, _MODEL, _FEEDS, _RESULTS = "graph.pb", "model.tflite", "feeds.npz", "results.npz"
_TFLITE_PROGRAM = f"from {__name__} import main; main()"
TIMEOUT = 600.0
"""The time limit of the converter or the interpreter, in seconds."""
#: A function that sends a request to the separate process, and returns its answer; ``how`` is how the process ended.
Send = Callable[[dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class FrozenPart:
    """A frozen graph.

    Args:
        graph_def: the graph, without variables.
        outputs: names of its output tensors, in order.
        signature: the name of the signature of the file; empty for none.
        arguments: tensor -> its name in the signature.
        results: the names of the outputs in the signature, in order.
    """

    graph_def: TFGraphDef
    outputs: Sequence[str]
    signature: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    results: Sequence[str] = ()

    @classmethod
    def read(cls, path: Path, outputs: Sequence[str]) -> FrozenPart:
        """Reads a file that `Editor.save` has written."""
        return cls(decode(graph_pb2.GraphDef, path.read_bytes()), outputs)

    @property
    def inputs(self) -> list[str]:
        """Names of the tensors that must be fed, in order."""
        return [f"{node.name}:0" for node in self.graph_def.node if node.op in PLACEHOLDER_TYPES]


@contextmanager
def tflite_process(timeout: float) -> Iterator[Send]:
    """Starts a process for both the converter and the interpreter, because TensorFlow takes seconds to import.

    Args:
        timeout: the time limit for each request, in seconds.
    """
    with _start_process(_TFLITE_PROGRAM, [], subprocess.PIPE) as process:

        def send(request: dict[str, Any]) -> dict[str, Any]:
            assert process.stdin is not None
            assert process.stdout is not None
            late = threading.Event()

            def end() -> None:
                late.set()
                process.kill()

            clock = threading.Timer(timeout, end)
            clock.start()
            try:
                with suppress(OSError):  # the process may have ended
                    process.stdin.write(json.dumps(request).encode() + b"\n")
                line = process.stdout.readline()
            finally:
                clock.cancel()
            if line and not late.is_set():
                answer: dict[str, Any] = json.loads(line)
                return answer
            return {"how": _late(timeout) if late.is_set() else exit_text(process.wait())}

        yield send


def convert_to_tflite(part: FrozenPart, send: Send) -> ConversionResult:
    """Returns the result of TensorFlow's converter for a frozen graph, with only the built-in ops of TFLite.

    Args:
        part: the graph.
        send: from `tflite_process`.
    """
    with tempfile.TemporaryDirectory(prefix="graphsurgeon") as folder:
        Path(folder, _GRAPH).write_bytes(encode(part.graph_def))
        about = (
            part.signature,
            [part.arguments.get(name, name.removesuffix(":0")) for name in part.inputs],
            part.results,
        )
        answer = send({"folder": folder, "outputs": list(part.outputs), "signature": about})
        if "how" in answer:
            return ConversionResult(said=f"the converter {answer['how']}, in a separate process")
        model = Path(folder, _MODEL).read_bytes() if not answer["said"] else b""
    errors = tuple(
        ConverterMessage(error["names"], error["type"], error["code"], error["text"]) for error in answer["errors"]
    )
    return ConversionResult(model, answer["said"], errors)


def run_interpreter(model: str, feeds: Sequence[Any], send: Send, request: str) -> list[Any]:
    """Returns the results of the TFLite interpreter, in the order of the outputs.

    Args:
        model: the file.
        feeds: an array for each input, in order.
        send: from `tflite_process`.
        request: the request, for messages.

    Raises:
        PlanError: the model cannot be run; the message contains the error of the interpreter.
    """
    with tempfile.TemporaryDirectory(prefix="graphsurgeon") as folder:
        arrays = pack_arrays({str(i): feed for i, feed in enumerate(feeds)}, "feed")
        np.savez(Path(folder, _FEEDS), **arrays)  # type: ignore[arg-type]
        answer = send({"folder": folder, "model": model})
        failure = answer.get("how") or answer["said"]
        if failure:
            problem = f"TFLite's interpreter cannot run the model: {failure}"
            raise PlanError(request, problem, "Give real values, feeds={...}; or verify=False")
        with np.load(Path(folder, _RESULTS), allow_pickle=False) as file:
            got = unpack_arrays(dict(file), "result")
    return [got[str(i)] for i in range(len(got))]


@contextmanager
def tflite_file(
    path: str, part: FrozenPart, calls: Mapping[str, Any], new_name: Callable[[str], str], send: Send, request: str
) -> Iterator[Run]:
    """Opens a TFLite model.

    Args:
        path: the file.
        part: the graph that was converted.
        calls: the calls that will be run, with the names of tensors in the source.
        new_name: tensor of the source -> its name in the graph that was converted.
        send: from `tflite_process`.
        request: the request, for messages.
    """

    def run(key: str, feeds: Mapping[str, Any]) -> dict[str, Any]:
        renamed = {new_name(name): value for name, value in feeds.items()}
        got = run_interpreter(path, [renamed[name] for name in part.inputs], send, request)
        results = dict(zip(part.outputs, got, strict=True))
        return {tensor: results[new_name(tensor)] for tensor in calls[key][1].values()}

    yield run


def run_in_process(code: str, arguments: Sequence[str], timeout: float) -> str:
    """Runs Python code in a separate process; returns how it failed, with its error, or empty text on success.

    The process ends when this process ends, or after the timeout.
    """
    with tempfile.TemporaryFile() as errors, _start_process(code, arguments, subprocess.DEVNULL, errors) as process:
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            return _late(timeout)
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


@contextmanager
def _start_process(
    code: str, arguments: Sequence[str], stdout: int, stderr: int | IO[bytes] = subprocess.DEVNULL
) -> Iterator[subprocess.Popen[bytes]]:
    """Starts a process that runs Python code; the process is ended when the block ends."""
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
    }  # fmt: skip
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": stdout, "stderr": stderr}
    command = [sys.executable, "-c", code, *arguments]
    with subprocess.Popen(command, env=environment, bufsize=0, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def _late(timeout: float) -> str:
    return f"did not end within timeout={timeout:g} s"


# -- in the separate process --------------------------------------------------------------------------


def main() -> None:
    """Processes a request per line, and answers each with a line."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # ops print to standard error
    requests: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=[requests], daemon=True).start()
    while True:
        job = json.loads(requests.get())
        print(json.dumps((_interpret if "model" in job else _convert)(**job)), file=answers, flush=True)


def _convert(folder: str, outputs: Sequence[str], signature: tuple[str, list[str], list[str]]) -> dict[str, Any]:
    part = FrozenPart.read(Path(folder, _GRAPH), outputs)
    answer: dict[str, Any] = {"said": "", "errors": []}
    try:
        function = tf1.wrap_function(lambda: tf1.import_graph_def(part.graph_def, name=""), [])
        ends = [[function.graph.get_tensor_by_name(name) for name in names] for names in (part.inputs, outputs)]
        converter = tf.lite.TFLiteConverter.from_concrete_functions([function.prune(*ends)])
        Path(folder, _MODEL).write_bytes(_with_signature(converter.convert(), *signature))
    except Exception as error:  # any error is reported as a message of the converter
        lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        answer["said"] = lines[0].strip()
        answer["errors"] = [_error_row(item) for item in getattr(error, "errors", ())]
    return answer


def _with_signature(model: bytes, key: str, arguments: Sequence[str], results: Sequence[str]) -> bytes:
    """Returns a TFLite model with a signature; the converter writes signatures only for SavedModels.

    Args:
        model: the file.
        key: the name of the signature; empty for none.
        arguments, results: the names of its inputs and outputs, in order.
    """
    from tensorflow.lite.python import schema_py_generated as schema
    from tensorflow.lite.tools import flatbuffer_utils

    content = flatbuffer_utils.convert_bytearray_to_object(bytearray(model))
    ends = content.subgraphs[0].inputs, content.subgraphs[0].outputs
    if not key or (len(ends[0]), len(ends[1])) != (len(arguments), len(results)):
        return model
    signature = schema.SignatureDefT()
    signature.signatureKey, signature.subgraphIndex, sides = key, 0, []
    for names, tensors in zip((arguments, results), ends, strict=True):
        side = []
        for name, tensor in zip(names, tensors, strict=True):
            entry = schema.TensorMapT()
            entry.name, entry.tensorIndex = name, tensor
            side.append(entry)
        sides.append(side)
    signature.inputs, signature.outputs = sides
    content.signatureDefs = [signature]
    return bytes(flatbuffer_utils.convert_object_to_bytearray(content))


def _error_row(error: Any) -> dict[str, Any]:
    """Returns one of the errors of the converter: the op, the calls around the op, and the message."""
    return {
        "names": [call.name.partition("@")[0] for call in error.location.call if call.name],
        "type": error.operator.name.removeprefix("tf."),
        "code": type(error).ErrorCode.Name(error.error_code),
        "text": error.error_message.partition("\n")[0],
    }


def _interpret(folder: str, model: str) -> dict[str, Any]:
    with np.load(Path(folder, _FEEDS), allow_pickle=False) as file:
        fed = unpack_arrays(dict(file), "feed")
    try:
        interpreter = tf.lite.Interpreter(model_path=model)
        inputs = interpreter.get_input_details()
        for at, item in enumerate(inputs):
            if tuple(item["shape"]) != fed[str(at)].shape:
                interpreter.resize_tensor_input(item["index"], fed[str(at)].shape)
        interpreter.allocate_tensors()
        for at, item in enumerate(inputs):
            interpreter.set_tensor(item["index"], fed[str(at)])
        interpreter.invoke()
        got = {str(i): interpreter.get_tensor(item["index"]) for i, item in enumerate(interpreter.get_output_details())}
    except Exception as error:  # any error is reported as a message of the interpreter
        return {"said": str(error).strip().partition("\n")[0] or type(error).__name__}
    np.savez(Path(folder, _RESULTS), **pack_arrays(got, "result"))  # type: ignore[arg-type]
    return {"said": ""}


def _listen(requests: SimpleQueue[bytes]) -> None:
    """Reads requests; ends this process when the parent process ends."""
    with os.fdopen(0, "rb") as lines:
        for line in lines:
            requests.put(line)
    os.kill(os.getpid(), signal.SIGTERM)
