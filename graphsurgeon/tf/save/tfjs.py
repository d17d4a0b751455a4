"""TF.js: checks ops against the list of the installed converter, and runs the converter in a separate process.

Its package is not imported: this would import libraries that have nothing to do with graphs.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...errors import PlanError
from ...graph.compatibility import MISSING, Converted, Said
from ...graph.functions import called_by, reachable
from ...graph.live import TFGraphDef
from ..wire import encoded
from .tflite import apart

_PACKAGE = "tensorflowjs"
#: The converter removes these before it converts, so they are not in its lists.
_TAKEN_OUT = frozenset({"Assert", "CheckNumerics", "Print"})
_BEGIN = f"import runpy; runpy.run_module('{_PACKAGE}.converters.converter', run_name='__main__', alter_sys=True)"


def to_tfjs(graph_def: TFGraphDef, outputs: Sequence[str], timeout: float, prove: bool, request: str) -> Converted:
    """Returns the result of the TF.js converter for a frozen graph.

    Args:
        graph_def: the graph.
        outputs: its output tensors.
        timeout: seconds that the process may take.
        prove: run the converter, if its list contains all ops.
        request: the request, for messages.

    Raises:
        PlanError: the converter is not installed, or its list of ops is not found.
    """
    known = _known(request)
    errors = tuple(Said([name], kind, MISSING, "") for name, kind in _types(graph_def) if kind not in known)
    if errors or not prove:
        return Converted(said="some ops are not in its list" if errors else "", errors=errors)
    with tempfile.TemporaryDirectory(prefix="graphsurgeon") as name:
        path, made = Path(name, "frozen.pb"), Path(name, "made")
        path.write_bytes(encoded(graph_def))
        ends = ",".join(tensor.removesuffix(":0") for tensor in outputs)
        arguments = ["--input_format=tf_frozen_model", f"--output_node_names={ends}", str(path), str(made)]
        how = apart(_BEGIN, arguments, timeout)
        files = sorted(made.iterdir()) if made.is_dir() else []
        if how or not any(file.suffix == ".json" for file in files):
            return Converted(said=f"the converter {how or 'wrote no model'}, in a separate process")
        return Converted(b"".join(file.read_bytes() for file in files))


def tfjs_version() -> str:
    """Returns the version of the converter that is installed."""
    return importlib.metadata.version(_PACKAGE)


def _types(graph_def: TFGraphDef) -> Iterator[tuple[str, str]]:
    """Yields each op of a graph with its type, and with the types of the ops in its functions."""
    functions = {one.signature.name: one for one in graph_def.library.function}
    for node in graph_def.node:
        yield node.name, node.op
        for name in reachable([one.function for one in called_by(node, functions)], functions):
            yield from ((node.name, inner.op) for inner in functions[name].node_def)


def _known(request: str) -> frozenset[str]:
    """The op types that the installed converter has."""
    found = importlib.util.find_spec(_PACKAGE)
    places = [Path(place, "op_list") for place in found.submodule_search_locations or ()] if found is not None else []
    files = sorted(file for place in places for file in place.glob("*.json"))
    names = frozenset(one["tfOpName"] for file in files for one in json.loads(file.read_text(encoding="utf-8")))
    if not names:
        what = "is not installed" if found is None else "has no list of ops in its folder op_list"
        raise PlanError(request, f"the converter of TF.js, {_PACKAGE}, {what}", f"Type pip install {_PACKAGE}")
    return names | _TAKEN_OUT
