"""Writes SavedModels, of TF1 and of TF2, with their signatures, assets and init ops."""

from __future__ import annotations

import io
import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, redirect_stderr
from functools import partial
from pathlib import Path
from typing import Any

from ...errors import PlanError, few
from ...graph.functions import own_gradient
from ...graph.graph import Graph
from ...graph.open_graph import Ends
from ...graph.traversal import reachable_from
from ...graph.types import TFOp, TFTensor
from ..copy.tables_and_queues import ready_fillers
from ..import_tensorflow import tf
from ..messages import meta_graph_pb2, saved_model_pb2
from ..protos import encode
from ..run.errors import errors_as
from ..values.file_variables import INIT
from .export import (
    ExportedGraph,
    meta_graph,
    mutable_tables,
)

tf1 = tf.compat.v1


def write_saved_model(
    export: ExportedGraph,
    folder: str,
    signatures: Mapping[str, Ends],
    tags: str | Iterable[str],
    saver: Any,
    init_ops: Sequence[str],
    request: str,
) -> Any:
    """Writes a SavedModel without the values of its variables; returns its MetaGraphDef.

    Args:
        export: the graph that is saved.
        folder: a new folder.
        signatures: the ends of each signature, by name, with tensors of the old graph.
        tags: the tags of the SavedModel.
        saver: its SaverDef, or None.
        init_ops: the init ops of the file from which the graph was opened.
        request: the request, for messages.

    Raises:
        PlanError: the graph is too large for a file.
    """
    assets = _assets(export.assets, folder)
    init = _init_op(export, init_ops)
    meta = meta_graph(export, saver, False, request)
    meta.asset_file_def.extend(assets)
    meta.meta_info_def.tags.extend([tags] if isinstance(tags, str) else tags)
    for key, one in signatures.items():
        about = meta.signature_def[key]
        about.method_name = tf1.saved_model.signature_constants.PREDICT_METHOD_NAME
        for infos, tensors in ((about.inputs, one.inputs), (about.outputs, one.outputs)):
            for name, tensor in tensors.items():
                infos[name].CopyFrom(_info(export.tensor(tensor)))
        for name, array in one.defaults.items():
            dtype = export.tensor(one.inputs[name]).dtype.base_dtype
            about.defaults[name].CopyFrom(tf.make_tensor_proto(array, dtype))
    if init is not None:
        meta.signature_def[INIT].outputs[INIT].name = init.name
    tables = mutable_tables(export.graph)
    if tables:
        export.notes.append(f"the content of {tables} is not included: such tables start empty")
    model = saved_model_pb2.SavedModel(saved_model_schema_version=1, meta_graphs=[meta])
    os.makedirs(folder, exist_ok=True)
    Path(folder, "saved_model.pb").write_bytes(encode(model))
    return meta


def _info(tensor: TFTensor) -> Any:
    dtype = tensor.dtype.base_dtype.as_datatype_enum
    return meta_graph_pb2.TensorInfo(name=tensor.name, dtype=dtype, tensor_shape=tensor.shape.as_proto())


def _assets(paths: Mapping[str, str], folder: str) -> list[Any]:
    """Copies files to the assets of a folder; returns their AssetFileDefs.

    Args:
        paths: tensor that contains the path of a file -> the path.
        folder: the folder of the SavedModel.
    """
    out, names = [], set()
    for tensor, path in paths.items():
        name, n = os.path.basename(path), 1
        while name in names:
            n += 1
            name = f"{n}_{os.path.basename(path)}"
        names.add(name)
        os.makedirs(os.path.join(folder, "assets"), exist_ok=True)
        shutil.copyfile(path, os.path.join(folder, "assets", name))
        about = meta_graph_pb2.AssetFileDef(filename=name)
        about.tensor_info.name = tensor
        out.append(about)
    return out


def _init_op(export: ExportedGraph, init_ops: Sequence[str]) -> TFOp | None:
    """Returns the op that a loader runs once to fill tables and set local variables; None if none is needed."""
    graph = export.graph
    fills = [graph.get_operation_by_name(name) for name in export.present_ops(init_ops)]
    fills += ready_fillers(graph)
    # A collection may contain any object; for a call that fills a table, it contains a result of the call.
    items = [getattr(item, "op", item) for item in graph.get_collection(tf1.GraphKeys.TABLE_INITIALIZERS)]
    fills += [item for item in items if isinstance(item, tf.Operation)]
    fills += [v.initializer for v in graph.get_collection("local_variables") if hasattr(v, "initializer")]
    # The lists of the original file do not apply to the new file.
    for key in ("saved_model_main_op", "legacy_init_op", "saved_model_assets"):
        graph.get_collection_ref(key).clear()
    upstream = reachable_from((waited for op in fills for waited in op.control_inputs), lambda op: op.control_inputs)
    fills = [op for op in dict.fromkeys(fills) if op not in upstream]
    if len(fills) < 2:
        return next(iter(fills), None)
    with graph.as_default():
        return tf.group(*fills, name="init_of_the_saved_model")


def write_module(module: Any, folder: str, served: Any, base: Graph, request: str) -> list[str]:
    """Writes a module; returns remarks for the user.

    Raises:
        PlanError: TensorFlow cannot write the module.
    """
    overridden = sorted({own_gradient(node) for node in base.nodes} - {""})
    save = partial(tf.saved_model.save, module, folder, signatures=served)
    # TensorFlow would log the whole stack of the error that is caught here.
    try:
        with _translate_errors(request), redirect_stderr(io.StringIO()) if overridden else nullcontext():
            save()
            return []
    except PlanError:
        if not overridden:
            raise
    with _translate_errors(request):
        save(options=tf.saved_model.SaveOptions(experimental_custom_gradients=False))
    return [f"the gradient registered as {few(overridden)} is not included, because TensorFlow cannot trace it: "
            "register it again in the program that loads the model, before you differentiate the model"]  # fmt: skip


def _translate_errors(request: str) -> AbstractContextManager[None]:
    kinds = (ValueError, TypeError, LookupError, AttributeError, tf.errors.OpError)
    return errors_as(
        PlanError, request, "TensorFlow cannot write it", "Save it in the TF1 format: format='saved_model'", *kinds
    )
