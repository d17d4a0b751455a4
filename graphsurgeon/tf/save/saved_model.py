"""SavedModel: writes the folder in TF1 format: a MetaGraph with signatures, assets, and the op that fills tables."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ...graph.live import TFGraph, TFOp, TFTensor
from ...graph.traversal import met_from
from ..copy.resources import ready_fillers
from ..importing import tf
from ..messages import meta_graph_pb2, saved_model_pb2
from ..wire import encoded
from .export import Exported, meta_graph, mutable_tables

tf1 = tf.compat.v1
_INIT = "__saved_model_init_op"


def write_saved_model(
    made: Exported,
    folder: str,
    signatures: Mapping[str, tuple[Mapping[str, str], Mapping[str, str]]],
    tags: str | Iterable[str],
    saver: Any,
    init_ops: list[str],
    request: str,
) -> Any:
    """Writes all of a SavedModel except the values of its variables; returns its MetaGraphDef.

    Args:
        made: the graph that is saved.
        folder: a new folder.
        signatures: name -> (inputs, outputs), each name -> tensor of the old graph.
        tags: its tags.
        saver: its SaverDef, or None.
        init_ops: the init ops of the file that the graph came from.
        request: the request, for messages.

    Raises:
        PlanError: the graph is too large for a file.
    """
    graph = made.graph
    known = {op.name: op for op in graph.get_operations()}
    assets = _assets(made.assets, folder)
    init = _init_op(graph, known, [name for name in init_ops if name in known])
    meta = meta_graph(made, saver, False, request)
    meta.asset_file_def.extend(assets)
    meta.meta_info_def.tags.extend([tags] if isinstance(tags, str) else tags)
    for key, (ins, outs) in signatures.items():
        about = meta.signature_def[key]
        about.method_name = tf1.saved_model.signature_constants.PREDICT_METHOD_NAME
        for infos, tensors in ((about.inputs, ins), (about.outputs, outs)):
            for name, tensor in tensors.items():
                infos[name].CopyFrom(_info(made.tensor(tensor)))
    if init is not None:
        meta.signature_def[_INIT].outputs[_INIT].name = init.name
    tables = mutable_tables(graph)
    if tables:
        made.notes.append(f"the content of {tables} is not included: such tables start empty")
    model = saved_model_pb2.SavedModel(saved_model_schema_version=1, meta_graphs=[meta])
    os.makedirs(folder, exist_ok=True)
    Path(folder, "saved_model.pb").write_bytes(encoded(model))
    return meta


def _info(tensor: TFTensor) -> Any:
    dtype = tensor.dtype.base_dtype.as_datatype_enum
    return meta_graph_pb2.TensorInfo(name=tensor.name, dtype=dtype, tensor_shape=tensor.shape.as_proto())


def _assets(paths: Mapping[str, str], folder: str) -> list[Any]:
    """Copies files to the assets of a folder; returns their AssetFileDefs.

    Args:
        paths: tensor that names a file -> its path.
        folder: the folder of the SavedModel.
    """
    out, taken = [], set()
    for tensor, path in paths.items():
        name, n = os.path.basename(path), 1
        while name in taken:
            n += 1
            name = f"{n}_{os.path.basename(path)}"
        taken.add(name)
        os.makedirs(os.path.join(folder, "assets"), exist_ok=True)
        shutil.copyfile(path, os.path.join(folder, "assets", name))
        about = meta_graph_pb2.AssetFileDef(filename=name)
        about.tensor_info.name = tensor
        out.append(about)
    return out


def _init_op(graph: TFGraph, known: Mapping[str, TFOp], init_ops: list[str]) -> TFOp | None:
    """The op that a loader runs once: it fills tables and sets local variables; None if there is nothing to do."""
    fills = [known[name] for name in init_ops]
    fills += [op for op in ready_fillers(graph) if op not in fills]
    # A collection may hold any object: a function that fills a table is in it by its return value.
    held = [getattr(item, "op", item) for item in graph.get_collection(tf1.GraphKeys.TABLE_INITIALIZERS)]
    fills += [item for item in held if isinstance(item, tf.Operation)]
    fills += [v.initializer for v in graph.get_collection("local_variables") if hasattr(v, "initializer")]
    # The lists of the original file do not apply to this one.
    for key in ("saved_model_main_op", "legacy_init_op", "saved_model_assets"):
        graph.get_collection_ref(key).clear()
    others = met_from((waited for op in fills for waited in op.control_inputs), lambda op: op.control_inputs)
    fills = [op for op in dict.fromkeys(fills) if op not in others]
    if len(fills) < 2:
        return next(iter(fills), None)
    with graph.as_default():
        return tf.group(*fills, name="init_of_the_saved_model")
