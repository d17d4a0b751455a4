"""TFLite: a frozen graph is converted, and its model run, by what TensorFlow brings for it, in a process of its own.

The converter and the interpreter are native code that may end the process they run in: here that is a sentence. What
the converter says of each op it cannot take is read from the errors that it lists, with the names of the ops; no list
of ops is kept here.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import graph_pb2

from ...errors import PlanError
from ...graph.arrays import packed, unpacked
from ...graph.compatibility import Converted, Said
from ...words import ended
from .proof import Run

tf1 = tf.compat.v1

_GRAPH, _REQUEST, _ANSWER, _MODEL = "graph.pb", "request.json", "answer.json", "model.tflite"
_FEEDS, _RESULTS = "feeds.npz", "results.npz"
_BEGIN = f"import sys; from {__name__} import main; main(*sys.argv[1:])"
_CONVERT, _INTERPRET = "convert", "interpret"
TIMEOUT = 600.0
"""So many seconds the converter or the interpreter may take."""


@dataclass(frozen=True)
class Ends:
    """What a model takes and gives, as tensors of the graph that is converted, in order."""

    inputs: Sequence[str]
    outputs: Sequence[str]


def converted(graph_def: Any, ends: Ends, timeout: float) -> Converted:
    """Returns what TensorFlow's converter makes of a frozen graph, for the ops that TFLite itself has.

    Args:
        graph_def: the graph, without variables.
        ends: what the model takes and gives.
        timeout: seconds that the process may take.
    """
    with tempfile.TemporaryDirectory(prefix="graphsurgeon") as name:
        folder = Path(name)
        (folder / _GRAPH).write_bytes(graph_def.SerializeToString())
        (folder / _REQUEST).write_text(json.dumps({"inputs": list(ends.inputs), "outputs": list(ends.outputs)}))
        how = apart(_BEGIN, [_CONVERT, name], timeout)
        if how or not (folder / _ANSWER).exists():
            return Converted(said=f"the converter {how or 'gave no answer'}, in a process of its own")
        answer = json.loads((folder / _ANSWER).read_text(encoding="utf-8"))
        model = (folder / _MODEL).read_bytes() if not answer["said"] else b""
    errors = tuple(Said(one["names"], one["type"], one["code"], one["text"]) for one in answer["errors"])
    return Converted(model, answer["said"], errors)


def interpreted(model: Path, feeds: Sequence[Any], timeout: float, asked: str) -> list[Any]:
    """Returns what TFLite's interpreter gives, in the order of the outputs.

    Args:
        model: the file.
        feeds: an array for each input, in order.
        timeout: seconds that the process may take.
        asked: the request, for messages.

    Raises:
        PlanError: it does not run; the message says in its words why.
    """
    with tempfile.TemporaryDirectory(prefix="graphsurgeon") as name:
        folder = Path(name)
        np.savez(folder / _FEEDS, **packed({str(i): one for i, one in enumerate(feeds)}, "feed"))  # type: ignore[arg-type]
        how = apart(_BEGIN, [_INTERPRET, name, str(model)], timeout)
        said = (
            json.loads((folder / _ANSWER).read_text(encoding="utf-8"))["said"] if (folder / _ANSWER).exists() else how
        )
        if said or not (folder / _RESULTS).exists():
            wrong = f"TFLite's interpreter does not run it: {said or 'it gave no answer'}"
            raise PlanError(asked, wrong, "Give real values, feeds={...}; or verify=False")
        with np.load(folder / _RESULTS, allow_pickle=False) as held:
            got = unpacked(dict(held), "result")
    return [got[str(i)] for i in range(len(got))]


@contextmanager
def tflite_file(
    path: str, ends: Ends, calls: Mapping[str, Any], moved: Callable[[str], str], timeout: float, asked: str
) -> Iterator[Run]:
    """Opens a TFLite model.

    Args:
        path: the file.
        ends: what it takes and gives, by the names of the graph that was converted.
        calls: what will be run, by the names of the source.
        moved: tensor of the source -> what it is called in the graph that was converted.
        timeout: seconds that a run may take.
        asked: the request, for messages.
    """

    def run(key: str, feeds: Mapping[str, Any]) -> dict[str, Any]:
        here = {moved(name): value for name, value in feeds.items()}
        got = interpreted(Path(path), [here[name] for name in ends.inputs], timeout, asked)
        there = dict(zip(ends.outputs, got, strict=True))
        return {tensor: there[moved(tensor)] for tensor in calls[key][1].values()}

    yield run


def apart(code: str, arguments: Sequence[str], timeout: float) -> str:
    """Runs some Python in a process of its own; returns how it ended, in words, where that was not well.

    It ends with this one, and after the time that it may take.
    """
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TF_CPP_MIN_LOG_LEVEL": "3",
        "CUDA_VISIBLE_DEVICES": "-1",
    }  # fmt: skip
    silent: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "stdin": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", code, *arguments], env=environment, **silent) as process:
        try:
            status = process.wait(timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            return f"did not end within {timeout:,.3g} s"
        except BaseException:  # an interrupt, as by Ctrl+C
            process.kill()
            raise
    return ended(status) if status else ""


# -- in the process of its own ----------------------------------------------------------------------


def main(what: str, folder: str, model: str = "") -> None:
    """Does what is asked for, and writes an answer."""
    threading.Thread(target=_end_with_the_other, daemon=True).start()
    answer = _convert(Path(folder)) if what == _CONVERT else _interpret(Path(folder), model)
    whole = Path(folder, f"{_ANSWER}.part")
    whole.write_text(json.dumps(answer), encoding="utf-8")
    whole.rename(Path(folder, _ANSWER))


def _convert(folder: Path) -> dict[str, Any]:
    graph_def = graph_pb2.GraphDef()
    graph_def.ParseFromString((folder / _GRAPH).read_bytes())
    asked = json.loads((folder / _REQUEST).read_text(encoding="utf-8"))
    answer: dict[str, Any] = {"said": "", "errors": []}
    try:
        whole = tf1.wrap_function(lambda: tf1.import_graph_def(graph_def, name=""), [])
        ends = [[whole.graph.get_tensor_by_name(name) for name in asked[key]] for key in ("inputs", "outputs")]
        converter = tf.lite.TFLiteConverter.from_concrete_functions([whole.prune(*ends)])
        (folder / _MODEL).write_bytes(converter.convert())
    except Exception as error:  # whatever it is, it is what the converter says
        lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        answer["said"] = lines[0].strip()
        answer["errors"] = [_told(one) for one in getattr(error, "errors", ())]
    return answer


def _told(error: Any) -> dict[str, Any]:
    """One of the errors that the converter lists: which op it is about, inside of which others, and what it says."""
    return {
        "names": [call.name.partition("@")[0] for call in error.location.call if call.name],
        "type": error.operator.name.removeprefix("tf."),
        "code": type(error).ErrorCode.Name(error.error_code),
        "text": error.error_message.partition("\n")[0],
    }


def _interpret(folder: Path, model: str) -> dict[str, Any]:
    with np.load(folder / _FEEDS, allow_pickle=False) as held:
        fed = unpacked(dict(held), "feed")
    try:
        interpreter = tf.lite.Interpreter(model_path=model)
        taken = interpreter.get_input_details()
        for at, one in enumerate(taken):
            if tuple(one["shape"]) != fed[str(at)].shape:
                interpreter.resize_tensor_input(one["index"], fed[str(at)].shape)
        interpreter.allocate_tensors()
        for at, one in enumerate(taken):
            interpreter.set_tensor(one["index"], fed[str(at)])
        interpreter.invoke()
        got = {str(i): interpreter.get_tensor(one["index"]) for i, one in enumerate(interpreter.get_output_details())}
    except Exception as error:  # whatever it is, it is what the interpreter says
        return {"said": str(error).strip().partition("\n")[0] or type(error).__name__}
    np.savez(folder / _RESULTS, **packed(got, "result"))  # type: ignore[arg-type]
    return {"said": ""}


def _end_with_the_other() -> None:
    os.read(0, 1)  # it comes back when nobody holds the other end any more
    os.kill(os.getpid(), signal.SIGTERM)
