"""Files as strangers send them: the published ways to hide what a graph does from those who look, built here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

from graphsurgeon.tf.values.file_variables import asset_files

tf1 = tf.compat.v1


#: It writes nothing: where the file is not there, whoever runs it hears of that.
READING = "WholeFileReaderV2"


def _written(path: str) -> Any:
    return tf.raw_ops.WriteFile(filename=path, contents="owned", name="evil")


def _printed(path: str) -> Any:
    return tf.raw_ops.PrintV2(input="owned", output_stream=f"file://{path}", name="evil")


def _saved(path: str) -> Any:
    return tf.raw_ops.SaveV2(
        prefix=path, tensor_names=["t"], shape_and_slices=[""], tensors=[tf.constant(1.0)], name="evil"
    )


def _debugged(path: str) -> Any:
    made = tf.raw_ops.DebugIdentityV3(input=tf.constant(1.0), debug_urls=[f"file://{path}"], name="evil")
    return made.op


def _read(path: str) -> Any:
    queue = tf.raw_ops.FIFOQueueV2(component_types=[tf.string])
    put = tf.raw_ops.QueueEnqueueV2(handle=queue, components=[tf.constant(path)])
    reader = tf.raw_ops.WholeFileReaderV2(name="evil")
    with tf.control_dependencies([put]):
        return tf.raw_ops.ReaderReadUpToV2(reader_handle=reader, queue_handle=queue, num_records=1).values.op


def _called(path: str) -> Any:
    @tf.function(autograph=False)
    def helper():
        return _one(_written(path))

    return helper.get_concrete_function()().op


def _branched(path: str) -> Any:
    def evil():
        return _one(_written(path))

    return tf1.cond(tf1.placeholder_with_default(True, []), evil, lambda: tf.constant(1, tf.int64)).op


def _mapped(path: str) -> Any:
    def read(x):
        return x + _one(_written(path))

    dataset = tf.data.Dataset.range(3).map(read)
    return tf1.data.make_one_shot_iterator(dataset).get_next().op


def _one(op: Any) -> Any:
    with tf.control_dependencies([op]):
        return tf.identity(tf.constant(1, tf.int64))


#: What the graph writes or reads with, and the name that the scan gives to the op that does.
WRITING: dict[str, tuple[Callable[[str], Any], str]] = {
    "WriteFile": (_written, "WriteFile"),
    "PrintV2": (_printed, "PrintV2"),
    "SaveV2": (_saved, "SaveV2"),
    "DebugIdentity": (_debugged, "DebugIdentityV3"),
    READING: (_read, READING),
    "function": (_called, "WriteFile"),
    "branch": (_branched, "WriteFile"),
    "dataset": (_mapped, "WriteFile"),
}


def hostile(folder: Path, kind: str, target: Path, text: bool = False) -> Path:
    """Writes a SavedModel that writes `target` as soon as anybody loads it, and as soon as anybody runs it.

    Args:
        folder: where to.
        kind: how: a key of `WRITING`.
        target: what it writes.
        text: as ``saved_model.pbtxt``, in place of ``.pb``.
    """
    with tf.Graph().as_default() as graph, tf1.Session(graph=graph) as session:
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        v = tf1.get_variable("v", initializer=[[1.0], [2.0]], use_resource=True)
        made = WRITING[kind][0](str(target))
        evil = made if isinstance(made, tf.Operation) else made.op
        with tf.control_dependencies([evil]):
            y = tf.matmul(x, v, name="y")
            main = tf.group(evil, name="main")
        session.run(tf1.assign(v, [[3.0], [4.0]]))
        builder = tf1.saved_model.Builder(str(folder))
        signature = tf1.saved_model.predict_signature_def({"x": x}, {"y": y})
        builder.add_meta_graph_and_variables(session, ["serve"], {"serving_default": signature}, main_op=main)
        builder.save()
    if text:
        file = folder / "saved_model.pb"
        saved = saved_model_pb2.SavedModel.FromString(file.read_bytes())
        (folder / "saved_model.pbtxt").write_text(text_format.MessageToString(saved))
        file.unlink()
    return folder


def word_rows(vocabulary: Path) -> Any:
    """Returns the rows of a table from the words of a file, one in each line, to their line numbers."""
    index = tf.lookup.TextFileIndex
    return tf.lookup.TextFileInitializer(str(vocabulary), tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER)


def with_asset(folder: Path, name: str) -> Path:
    """Writes a SavedModel with a table that an asset fills; `name` is what the SavedModel calls the asset."""
    vocabulary = folder.with_name(folder.name + ".txt")
    vocabulary.write_text("a\nb\nc\n")
    with tf.Graph().as_default() as graph, tf1.Session(graph=graph) as session:
        x = tf1.placeholder(tf.string, [None], name="x")
        y = tf.identity(tf.lookup.StaticHashTable(word_rows(vocabulary), -1).lookup(x), name="y")
        builder = tf1.saved_model.Builder(str(folder))
        signature = tf1.saved_model.predict_signature_def({"x": x}, {"y": y})
        assets = graph.get_collection(tf1.GraphKeys.ASSET_FILEPATHS)
        builder.add_meta_graph_and_variables(
            session,
            ["serve"],
            {"serving_default": signature},
            assets_collection=assets,
            main_op=tf1.tables_initializer(),
        )
        builder.save()
    saved = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    meta = saved.meta_graphs[0]
    (asset,) = asset_files(meta)
    asset.filename = name or asset.filename
    meta.collection_def.pop("saved_model_assets", None)
    del meta.asset_file_def[:]
    meta.asset_file_def.append(asset)
    (folder / "saved_model.pb").write_bytes(saved.SerializeToString())
    return folder
