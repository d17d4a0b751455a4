"""Assets: the files of a SavedModel that its ops read, such as vocabularies: always inside its folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ...errors import OpenError
from ..messages import meta_graph_pb2, tensor_pb2, types_pb2


def asset_files(meta: Any) -> list[Any]:
    """Returns the AssetFileDefs of a SavedModel's MetaGraph; older files have them in a collection."""
    found = list(meta.asset_file_def)
    for item in _old_assets(meta) if not found else ():
        asset = meta_graph_pb2.AssetFileDef()
        if item.Unpack(asset):
            found.append(asset)
    return found


def _old_assets(meta: Any) -> list[Any]:
    # A look-up in a map field adds a missing key.
    key = "saved_model_assets"
    return list(meta.collection_def[key].any_list.value) if key in meta.collection_def else []


def asset_path(folder: str | os.PathLike[str], name: str, request: str) -> str:
    """Returns the path of an asset, which must be inside the folder of assets, also if links are followed.

    Args:
        folder: the folder of the SavedModel.
        name: the name of the asset in the SavedModel.
        request: the request, for messages.

    Raises:
        OpenError: the name, or a link in that place, leads out of the folder.
    """
    assets, problem = Path(folder).resolve() / "assets", ""
    if "\0" in name or os.path.isabs(name) or ".." in Path(name.replace("\\", "/")).parts:
        problem = f"its asset {name!r} is outside of its folder 'assets'"
    elif not (assets / name).resolve().is_relative_to(assets):
        problem = f"its asset {name!r} is a link that leads out of its folder 'assets'"
    if problem:
        raise OpenError(request, problem, "It was not read. Get the model from a source that you trust")
    return os.path.join(folder, "assets", name)


def point_at(meta: Any, paths: Mapping[str, str]) -> None:
    """Writes the paths of asset files into the constants that name them, so that copies have them too.

    Args:
        meta: the MetaGraphDef of a SavedModel.
        paths: op -> the path that it outputs.
    """
    for node in meta.graph_def.node if paths else ():
        if node.name in paths and node.op == "Const":
            path = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=[paths[node.name].encode()])
            path.tensor_shape.SetInParent()
            node.attr["value"].tensor.CopyFrom(path)
