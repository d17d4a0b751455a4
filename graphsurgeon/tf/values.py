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

    def start(self, session: Any) -> None:
        """Runs the init op of a SavedModel, which fills its tables."""
        if self._meta is None:
            return
        feeds = {a.tensor_info.name: os.path.join(self._folder, "assets", a.filename) for a in asset_files(self._meta)}
        for name in self.starters:
            session.run(session.graph.get_operation_by_name(name), feeds)

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
