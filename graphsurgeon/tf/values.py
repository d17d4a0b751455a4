"""Values: where a graph that came from files finds what its variables hold."""

from __future__ import annotations

import glob
import os
from typing import Any, Protocol

import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from ..core.state import VARIABLE_TYPES
from ..errors import OpenError

tf1 = tf.compat.v1


class Values(Protocol):
    """Something that can fill the variables of a session."""

    def fill(self, session: Any) -> None:
        """Sets the variables of `session`; raises OpenError where the values cannot be had."""

    def covered(self) -> frozenset[str]:
        """Returns the names of the variable ops that `fill` sets."""

    def start(self, session: Any) -> None:
        """Fills the tables, where the source says how."""


class CheckpointValues:
    """The checkpoint that belongs to a MetaGraph or SavedModel, restored through the graph's own saver.

    Args:
        graph: the live graph; it holds the saver's ops.
        saver: SaverDef, or None where there is nothing to restore.
        prefix: path of the checkpoint without suffix.
        meta: MetaGraphDef of a SavedModel, whose init op is run after restoring.
        folder: the SavedModel folder, for its assets.
    """

    def __init__(self, graph: Any, saver: Any, prefix: str, meta: Any = None, folder: str = "") -> None:
        self._graph, self._saver, self._prefix, self._meta, self._folder = graph, saver, prefix, meta, folder

    def fill(self, session: Any) -> None:
        """Restores all variables of the checkpoint into `session`, then runs the model's own init op.

        Raises:
            OpenError: a file of the checkpoint is missing or damaged, or it is the checkpoint of another model.
        """
        asked = f"values from {self._prefix!r}"
        if self._saver is not None and self._saver.restore_op_name:
            if not os.path.exists(self._prefix) and not glob.glob(glob.escape(self._prefix) + ".data-*"):
                raise OpenError(asked, "the checkpoint's data file is missing", f"Put {self._prefix}.data-* beside it")
            feed = {self._saver.filename_tensor_name: self._prefix}
            try:
                session.run(session.graph.get_operation_by_name(self._saver.restore_op_name), feed)
            except tf.errors.OpError as error:
                line = str(error.message).strip().splitlines()[0]
                raise OpenError(
                    asked,
                    f"the checkpoint does not restore: {line}",
                    "Give the checkpoint of this very graph",
                ) from error
        self.start(session)

    def covered(self) -> frozenset[str]:
        """Returns the names of the variable ops that the checkpoint restores; a saver may leave some out."""
        if self._saver is None or not self._saver.restore_op_name:
            return frozenset()
        todo = [self._graph.get_operation_by_name(self._saver.restore_op_name)]
        seen: set[Any] = set()
        found: set[str] = set()
        while todo:
            op = todo.pop()
            if op not in seen:
                seen.add(op)
                todo.extend(op.control_inputs)
                found.update(t.op.name for t in op.inputs if t.op.type in VARIABLE_TYPES)
        return frozenset(found)

    def start(self, session: Any) -> None:
        """Runs the init op of a SavedModel, which fills its tables."""
        if self._meta is None:
            return
        for name in self.starters:
            session.run(session.graph.get_operation_by_name(name), self.asset_feeds)

    @property
    def asset_feeds(self) -> dict[str, str]:
        """Tensor that names an asset -> the path of its file: what the init op is fed."""
        if self._meta is None:
            return {}
        folder = os.path.join(self._folder, "assets")
        return {a.tensor_info.name: os.path.join(folder, a.filename) for a in asset_files(self._meta)}

    @property
    def starters(self) -> list[str]:
        """Names of the ops that a SavedModel wants run once, after its values are there."""
        if self._meta is None:
            return []
        signature = self._meta.signature_def
        if "__saved_model_init_op" in signature:
            name = signature["__saved_model_init_op"].outputs["__saved_model_init_op"].name
            return [str(name).partition(":")[0]]
        for key in ("saved_model_main_op", "legacy_init_op"):
            found = self._graph.get_collection(key)
            if found:
                return [str(getattr(op, "op", op).name) for op in found[:1]]
        return []


def asset_files(meta: Any) -> list[Any]:
    """Returns the AssetFileDefs of a SavedModel's MetaGraph; older files keep them in a collection."""
    found = list(meta.asset_file_def)
    for item in _old_assets(meta) if not found else ():
        asset = meta_graph_pb2.AssetFileDef()
        if item.Unpack(asset):
            found.append(asset)
    return found


def _old_assets(meta: Any) -> list[Any]:
    # Asking a map field for a key that is not there would put it there.
    key = "saved_model_assets"
    return list(meta.collection_def[key].any_list.value) if key in meta.collection_def else []
