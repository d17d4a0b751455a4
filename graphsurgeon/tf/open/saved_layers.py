"""Saved layers: the layers of a SavedModel that Keras 2 wrote: it keeps their names and classes beside the graph."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ...errors import SelectionError
from ...graph.graph import Graph
from ...graph.layers import NO_LAYERS, Layers, in_scopes
from ..private.eager import keras_metadata

FILE = "keras_metadata.pb"
_UNTOLD = "this SavedModel does not say which ops are of which layer"


def saved_layers(folder: Path | None, graph_def: Any) -> Layers:
    """Returns the layers of a SavedModel, as far as it is certain which ops are theirs: by the names of scopes.

    Args:
        folder: where it lies.
        graph_def: the graph of one of its signatures.
    """
    if folder is None or not (folder / FILE).exists():
        return Layers(why=f"{_UNTOLD}; Keras writes that to .keras files")
    told = {}
    for path, kind, text in keras_metadata((folder / FILE).read_bytes()) or ():
        try:
            about = json.loads(text)
        except ValueError:
            about = {}
        if kind.startswith("_tf_keras_") and kind != "_tf_keras_metric" and isinstance(about, dict):
            told[path] = str(about.get("name", "")), str(about.get("class_name", ""))
    names = {}
    for path, (_, kind) in told.items():
        parts = path.split(".")
        around = [told.get(".".join(parts[: i + 1]), ("", ""))[0] for i in range(len(parts))]
        if len(around) > 1 and all(around):
            names["/".join(around[1:])] = kind
    try:
        graph = Graph.read(graph_def.node)
    except SelectionError:  # what is wrong with it is said where it is read
        return NO_LAYERS
    found = in_scopes(graph, told.get("root", ("", ""))[0], names)
    return Layers(found, why=f"{_UNTOLD}: none of the {len(names):,} that Keras lists is a scope of its graph")
