"""The program of the worker process, which reads written files and runs the converter of TensorFlow Lite.

It imports TensorFlow, and nothing of this package. So it reads a file in the same way as any other program.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.framework.tensor_pb2 import TensorProto

tf1 = tf.compat.v1
#: A function that runs a call of a file: (name of the call, feeds, names of results) -> results.
Run = Callable[[str, Mapping[str, Any], Sequence[str]], Mapping[str, Any]]
_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")
_UNKNOWN_OP = re.compile(r"Op type not registered '([^']+)'")


def work(do: str, **request: Any) -> dict[str, Any]:
    """Returns the answer to a request: reads a written file, or converts a graph."""
    return (_convert if do == "convert" else _read)(**request)


# -- written files ------------------------------------------------------------------------------------


def _read(folder: str, kind: str, calls: Sequence[Any], **about: Any) -> dict[str, Any]:
    """Loads a file and runs its calls.

    Args:
        folder: the folder of feeds and results.
        kind: a key of `_READERS`.
        calls: the calls: name, feeds, names of results.
        about: the arguments of the reader.

    Returns:
        The error, if the file cannot be opened; otherwise the results or the error of each call.
    """
    answers: list[dict[str, Any]] = []
    try:
        if "values" in about:
            about["values"] = _load(folder, about["values"])
        with _READERS[kind](**about) as run:
            for key, feeds, results in calls:
                try:
                    got = run(key, _load(folder, feeds), results)
                    answers.append({"results": _store(folder, len(answers), got)})
                except Exception as error:  # any error is reported as a message of TensorFlow
                    answers.append(_error(error))
    except Exception as error:
        return _error(error)
    return {"calls": answers}


def _error(error: Exception) -> dict[str, Any]:
    text = str(getattr(error, "message", error)) or type(error).__name__
    unknown = _UNKNOWN_OP.search(text)
    memory = isinstance(error, (MemoryError, tf.errors.ResourceExhaustedError))
    return {"error": text, "memory": memory, "unknown": unknown[1] if unknown else ""}


def _load(folder: str, names: Mapping[str, str]) -> dict[str, Any]:
    """Returns arrays by name, from files by name."""
    return {
        name: tf.make_ndarray(TensorProto.FromString(Path(folder, file).read_bytes())) for name, file in names.items()
    }


def _store(folder: str, number: int, values: Mapping[str, Any]) -> dict[str, str]:
    """Writes values into files; returns the names of the files."""
    files = {name: f"result_{number}_{i}" for i, name in enumerate(values)}
    for name, value in values.items():
        Path(folder, files[name]).write_bytes(tf.make_tensor_proto(value).SerializeToString())
    return files


@contextmanager
def _graph_def(
    path: str, first: Sequence[str], paths: Mapping[str, str], values: Mapping[str, Any] | None = None
) -> Iterator[Run]:
    """Opens a GraphDef.

    Args:
        path: the file.
        first: ops that must run first.
        paths: tensor that contains the path of a file, and is fed in each run -> the path.
        values: variable -> its value, because a GraphDef contains no values.
    """
    data = Path(path).read_bytes()
    data = gzip.decompress(data) if path.endswith(".gz") else data
    if path.removesuffix(".gz").endswith((".pbtxt", ".txt")):
        graph_def = text_format.Parse(data.decode(), tf1.GraphDef())
    else:
        graph_def = tf1.GraphDef.FromString(data)
    for node in graph_def.node:
        node.device = ""
    with tf.Graph().as_default() as graph, tf1.Session(graph=graph, config=_config()) as session:
        tf1.import_graph_def(graph_def, name="")
        variables = [op for op in graph.get_operations() if op.name in (values or ()) and op.type in _VARIABLES]
        placeholders = {op.name: tf1.placeholder(op.get_attr("dtype"), None) for op in variables}
        assigns = {op.name: _assign(op.outputs[0], placeholders[op.name]) for op in variables}
        for name, assign in assigns.items():
            session.run(assign, {placeholders[name]: (values or {})[name]})
        yield _session_run(session, first, paths)


def _assign(variable: Any, value: Any) -> Any:
    if variable.dtype == tf.resource:
        return tf.raw_ops.AssignVariableOp(resource=variable, value=value)
    return tf.raw_ops.Assign(ref=variable, value=value, validate_shape=False)


@contextmanager
def _meta_graph(path: str, first: Sequence[str], paths: Mapping[str, str]) -> Iterator[Run]:
    """Opens a MetaGraph with its checkpoint; see `_graph_def`."""
    with tf.Graph().as_default() as graph, tf1.Session(graph=graph, config=_config()) as session:
        saver = tf1.train.import_meta_graph(path, clear_devices=True)
        if saver is not None:
            saver.restore(session, path.removesuffix(".meta"))
        initializers = [item.name for item in graph.get_collection(tf1.GraphKeys.TABLE_INITIALIZERS)]
        yield _session_run(session, [*initializers, *first], paths)


def _config() -> Any:
    """Returns the configuration of a session for a single run, on any device, without optimizers that may crash."""
    proto = tf1.ConfigProto(allow_soft_placement=True)
    proto.graph_options.rewrite_options.disable_meta_optimizer = True
    return proto


def _session_run(session: Any, init_ops: Iterable[str], paths: Mapping[str, str]) -> Run:
    """Returns a function that runs a call. The first call first runs the ops that fill tables.

    If the file of a table does not exist, the table stays empty.
    """
    graph, remaining = session.graph, list(init_ops)

    def run(key: str, feeds: Mapping[str, Any], results: Sequence[str]) -> Mapping[str, Any]:
        names = {op.name for op in graph.get_operations()}
        fed = {name: value for name, value in {**feeds, **paths}.items() if name.partition(":")[0] in names}
        while remaining:
            with suppress(tf.errors.FailedPreconditionError, tf.errors.NotFoundError):
                session.run(graph.get_operation_by_name(remaining.pop(0).partition(":")[0]), fed)
        return dict(zip(results, session.run(list(results), fed), strict=True))

    return run


@contextmanager
def _saved_model(path: str, tags: Sequence[str]) -> Iterator[Run]:
    """Loads a SavedModel like TF1 and servers, which feed and fetch the tensors of its signatures."""
    with tf.Graph().as_default() as graph, tf1.Session(graph=graph, config=_config()) as session:
        signatures = tf1.saved_model.loader.load(session, list(tags), path, clear_devices=True).signature_def

        def run(key: str, feeds: Mapping[str, Any], results: Sequence[str]) -> Mapping[str, Any]:
            takes, gives = signatures[key].inputs, signatures[key].outputs
            fed = {takes[name].name: value for name, value in feeds.items()}
            return dict(zip(results, session.run([gives[name].name for name in results], fed), strict=True))

        yield run


@contextmanager
def _served_model(path: str, tags: Sequence[str] | None) -> Iterator[Run]:
    """Loads a SavedModel like TF2, which calls its signatures."""
    loaded = tf.saved_model.load(path, tags)

    def run(key: str, feeds: Mapping[str, Any], results: Sequence[str]) -> Mapping[str, Any]:
        got = loaded.signatures[key](**{name: tf.constant(value) for name, value in feeds.items()})
        return {name: got[name].numpy() for name in results}

    yield run


@contextmanager
def _tflite_model(path: str) -> Iterator[Run]:
    """Opens a TFLite model. A model without the signature gets its feeds, and returns its results, in order."""
    interpreter = tf.lite.Interpreter(model_path=path)

    def run(key: str, feeds: Mapping[str, Any], results: Sequence[str]) -> Mapping[str, Any]:
        if key in interpreter.get_signature_list():
            return dict(interpreter.get_signature_runner(key)(**feeds))
        inputs = interpreter.get_input_details()
        for item, value in zip(inputs, feeds.values(), strict=True):
            if tuple(item["shape"]) != value.shape:
                interpreter.resize_tensor_input(item["index"], value.shape)
        interpreter.allocate_tensors()
        for item, value in zip(inputs, feeds.values(), strict=True):
            interpreter.set_tensor(item["index"], value)
        interpreter.invoke()
        tensors = [interpreter.get_tensor(item["index"]) for item in interpreter.get_output_details()]
        return dict(zip(results, tensors, strict=True))

    yield run


_READERS: dict[str, Any] = {
    "graph_def": _graph_def,
    "meta_graph": _meta_graph,
    "saved_model": _saved_model,
    "served_model": _served_model,
    "tflite": _tflite_model,
}


# -- the converter of TensorFlow Lite -----------------------------------------------------------------


def _convert(
    graph: str, model: str, inputs: Mapping[str, str], outputs: Mapping[str, str], signature: str
) -> dict[str, Any]:
    """Converts a frozen graph.

    Args:
        graph: the file with the graph.
        model: the file to write.
        inputs, outputs: argument or result -> its tensor, in order.
        signature: the name of the signature.
    """
    graph_def = tf1.GraphDef.FromString(Path(graph).read_bytes())
    answer: dict[str, Any] = {"said": "", "errors": []}
    try:
        function = tf1.wrap_function(lambda: tf1.import_graph_def(graph_def, name=""), [])
        ends = [[function.graph.get_tensor_by_name(name) for name in side.values()] for side in (inputs, outputs)]
        converter = tf.lite.TFLiteConverter.from_concrete_functions([function.prune(*ends)])
        Path(model).write_bytes(_with_signature(converter.convert(), signature, inputs, outputs))
    except Exception as error:  # any error is reported as a message of the converter
        lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
        answer["said"] = lines[0].strip()
        answer["errors"] = [_error_row(item) for item in getattr(error, "errors", ())]
    return answer


def _with_signature(model: bytes, key: str, arguments: Collection[str], results: Collection[str]) -> bytes:
    """Returns a TFLite model with a signature; the converter writes signatures only for SavedModels.

    Args:
        model: the file.
        key: the name of the signature.
        arguments, results: the names of its inputs and outputs, in order.
    """
    from tensorflow.lite.python import schema_py_generated as schema
    from tensorflow.lite.tools import flatbuffer_utils

    content = flatbuffer_utils.convert_bytearray_to_object(bytearray(model))
    ends = content.subgraphs[0].inputs, content.subgraphs[0].outputs
    if (len(ends[0]), len(ends[1])) != (len(arguments), len(results)):
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
