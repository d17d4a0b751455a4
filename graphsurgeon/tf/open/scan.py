"""Scan: finds ops of a file that reach outside the graph, from the protos alone; nothing is imported or run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ...errors import OpenError
from ...graph.live import TFGraphDef
from ...graph.names import op_name
from ...graph.risks import Risk, Risks, risks
from ...graph.risky_ops import PYTHON, READS
from ..values.assets import asset_files, asset_path, point_at
from ..values.file_values import CheckpointValues
from . import files
from .keras_files import code_in, is_keras_file
from .protos import written
from .unbound import bind_inputs


def scan(path: Path) -> list[Risks]:
    """Returns the risks of each graph in a file: of its ops and of all its functions, whether they are called or not.

    Args:
        path: a file or folder that `gs.open` opens.

    Raises:
        OpenError: the file cannot be read.
    """
    request = f"scan({str(path)!r})"
    if is_keras_file(path):
        reason = "contains Python code from the author of the file"
        return [Risks(path.name, tuple(Risk(*one, PYTHON, reason) for one in code_in(path, request)))]
    file = files.saved_model_file(path, request) if path.is_dir() else path
    proto = files.parse(files.read_bytes(file, request), file, request)
    if not hasattr(proto, "meta_graphs"):
        meta = proto if hasattr(proto, "graph_def") else None
        return [_scanned(proto.graph_def if meta is not None else proto, meta, None, path.name, request)]
    several = len(proto.meta_graphs) > 1
    tags = [f" ({', '.join(sorted(meta.meta_info_def.tags))})" * several for meta in proto.meta_graphs]
    return [_scanned(meta.graph_def, meta, file.parent, f"{path.name}{tag}", request)
            for meta, tag in zip(proto.meta_graphs, tags, strict=True)]  # fmt: skip


def _scanned(graph_def: TFGraphDef, meta: Any, folder: Path | None, title: str, request: str) -> Risks:
    """The risks of one graph; `folder` is the folder of a SavedModel."""
    load: dict[str, str] = {}
    inside, outside = dict[str, str](), list[Risk]()
    for asset in asset_files(meta) if folder is not None else ():
        name = op_name(asset.tensor_info.name)
        try:
            inside[name] = asset_path(str(folder), asset.filename, request)
        except OpenError as error:
            outside.append(Risk(name, "asset", READS, error.problem, load="the loader"))
    point_at(meta, inside)
    bind_inputs(graph_def, meta)
    graph = written(graph_def, meta, title, request)
    if meta is not None:
        saver = meta.saver_def if meta.saver_def.restore_op_name else None
        load = CheckpointValues(graph, saver, "", meta if folder is not None else None).load
    found = risks(graph, load, frozenset(inside.values()), whole=True)
    return Risks(found.title, (*outside, *found.items), found.harmless, found.unknown)
