"""Keras files: builds the model that a `.keras` file describes; no code of the file is run."""

from __future__ import annotations

import importlib
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import OpenError
from ...graph.graph import Graph
from ...graph.layers import Call, Layer, Layers
from ...graph.sizes import size_text
from ...words import few
from ..run.errors import words_of
from .files import read_bytes

_FUNCTIONS = ("activations", "constraints", "initializers", "losses", "metrics", "regularizers")
_GRAPH_LAYER = "graphsurgeon>GraphLayer"
_DESCRIPTION = ("config.json", "metadata.json")
#: Bytes that each of these may have.
_LARGEST = 256 << 20
_OURS = ("builtins", "keras", "keras_hub", "keras_cv", "keras_nlp", "tf_keras")


def is_keras_file(path: Path) -> bool:
    """Returns whether a path is a `.keras` file, by its suffix."""
    return path.suffix.lower() == ".keras" and not path.is_dir()


def keras_model(path: Path, request: str) -> Any:
    """Returns the model of a `.keras` file, with its weights, not compiled.

    Keras 2 or Keras 3, whichever wrote the file, builds the layers from their descriptions. Code in the file, such as
    that of a Lambda layer, is never run, and no module that the file names is imported.

    Args:
        path: the file.
        request: the request, for messages.

    Raises:
        OpenError: the file is damaged, is not a Keras model, holds code, or uses a class that is not known here; or
            Keras refuses it.
    """
    config, about = _parts(read_bytes(path, request), request)
    package = "tf_keras" if str(about.get("keras_version", "")).startswith("2.") else "keras"
    keras = _imported(package, request)
    if any(item.get("registered_name") == _GRAPH_LAYER for _, item in _entries(config)):
        from ..functions.keras_layer import GraphLayer as GraphLayer  # Keras knows it from then on
    _refuse_code(config, str(path), package, request)
    _refuse_unknown(config, str(path), keras, request)
    try:
        from ..private.eager import eager

        with eager():
            return keras.saving.load_model(str(path), compile=False, safe_mode=True)
    except MemoryError:
        raise
    except Exception as error:  # the file may come from any source: any error is possible
        # Keras wraps the reason once for each object around it, and prints each of them whole.
        reason = words_of(error).rpartition("Exception encountered: ")[2].partition(" Full object config")[0]
        problem = f"Keras {keras.__version__} cannot build the model: {reason[:300]}"
        raise OpenError(request, problem, _hint(about, keras)) from error


def _hint(about: dict[str, Any], keras: Any) -> str:
    wrote = str(about.get("keras_version", ""))
    if wrote and wrote != keras.__version__:
        return f"Keras {wrote} wrote the file: install that version, pip install keras=={wrote}"
    return "Build the model in Python, call its load_weights(), and give it: gs.open(model)"


def _parts(data: bytes, request: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The description of the model, and the metadata of its writer."""
    again = "Save it again: model.save('model.keras')"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            missing = [name for name in ("config.json", "model.weights.h5") if name not in names]
            if missing:
                held = few(sorted(names), 4) or "nothing"
                raise OpenError(request, f"it is not a Keras model: it contains {held}, but no {missing[0]}", again)
            present = [name for name in _DESCRIPTION if name in names]
            if max(archive.getinfo(name).file_size for name in present) > _LARGEST:  # no more is ever unpacked
                problem = f"its description alone has more than {size_text(_LARGEST)}, as in a file made to fill memory"
                raise OpenError(request, problem, "Get the model from a source you trust")
            config, about = (json.loads(archive.read(name)) if name in present else {} for name in _DESCRIPTION)
    except (zipfile.BadZipFile, ValueError, EOFError, RuntimeError, NotImplementedError) as error:
        raise OpenError(request, f"the file is damaged ({error})", again) from error
    if not isinstance(config, dict) or not isinstance(about, dict):
        raise OpenError(request, "it is not a Keras model: its config.json describes no model", again)
    return config, about


def _imported(package: str, request: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        problem = f"{'Keras 2' if package == 'tf_keras' else 'Keras'}, which wrote it, is not installed ({error})"
        raise OpenError(request, problem, f"Install it: pip install {package.replace('_', '-')}") from error


def _entries(config: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields each object of a description, with the name of its layer; training settings are left out."""
    todo: list[tuple[str, Any]] = [("", {key: value for key, value in config.items() if key != "compile_config"})]
    while todo:
        layer, item = todo.pop()
        if isinstance(item, dict):
            own = item.get("config")
            if "class_name" in item:
                layer = str(own["name"]) if isinstance(own, dict) and isinstance(own.get("name"), str) else layer
                yield layer, item
            todo += [(layer, value) for key, value in item.items() if key != "compile_config"]
        elif isinstance(item, list):
            todo += [(layer, value) for value in item]


def code_in(path: Path, request: str) -> list[tuple[str, str]]:
    """Returns the layers of a `.keras` file with Python code, each with the class of the object that holds the code.

    Args:
        path: the file.
        request: the request, for messages.

    Raises:
        OpenError: the file is damaged, or not a Keras model.
    """
    return list(_code(_parts(read_bytes(path, request), request)[0]))


def _code(config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields each layer with Python code in it, with the class of the object that holds the code."""
    for layer, item in _entries(config):
        own = item.get("config")
        if item["class_name"] == "__lambda__" or (isinstance(own, dict) and own.get("function_type") == "lambda"):
            yield layer, str(item["class_name"])


def _refuse_code(config: dict[str, Any], path: str, package: str, request: str) -> None:
    """Refuses a description with Python code in it."""
    for layer, _ in _code(config):
        raise OpenError(
            request,
            f"its layer {layer!r} contains Python code (a lambda), which graphsurgeon never runs",
            f"If you trust the file: model = {package}.saving.load_model({path!r}, safe_mode=False), "
            "then gs.open(model)",
        )


def _refuse_unknown(config: dict[str, Any], path: str, keras: Any, request: str) -> None:
    """Refuses classes and functions that are neither Keras's own nor registered in this process."""
    unknown: dict[str, str] = {}
    for layer, item in _entries(config):
        module, registered, name = item.get("module"), item.get("registered_name"), str(item["class_name"])
        kind = "class"
        if name == "function":
            kind, name = "function", str(item.get("config"))
        if name.startswith("__") or ("module" not in item and not registered):
            continue
        plain = kind == "function" and module == "builtins"  # Keras writes this for every function
        if plain and any(hasattr(getattr(keras, part), name) for part in _FUNCTIONS):
            continue
        if not plain and isinstance(module, str) and module.partition(".")[0] in _OURS:
            continue
        if all(keras.saving.get_registered_object(str(one)) is None for one in (registered, name)):
            unknown.setdefault(name.rpartition(">")[2], f"{kind} {name!r}" + (f" (of {layer!r})" if layer else ""))
    if unknown:
        first = next(iter(unknown))
        raise OpenError(
            request,
            f"it uses {few(unknown.values())}, not known here; graphsurgeon does not import modules named in a file",
            f"Import the module that defines {first!r} with @{keras.__name__}.saving.register_keras_serializable, or "
            f"type: with {keras.__name__}.saving.custom_object_scope({{{first!r}: {first}}}): ed = gs.open({path!r})",
        )


# -- the layers that a file describes, without building them ----------------------------------------------


def described(path: Path, request: str) -> tuple[Graph, Layers] | None:
    """Returns the layers of a `.keras` file as a graph to view: each call of a layer is an op with the layer's class.

    Args:
        path: the file.
        request: the request, for messages.

    Returns:
        the graph and its layers; None if the file does not contain their connections, for example for a model that is
        written as a class.

    Raises:
        OpenError: the file is damaged, or not a Keras model.
    """
    config, _ = _parts(read_bytes(path, request), request)
    own = config.get("config")
    listed = own.get("layers") if isinstance(own, dict) else None
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        return None
    ops: list[tuple[str, str, list[str]]] = []
    calls: dict[str, list[Call]] = {}
    kinds: dict[str, str] = {}
    placed: dict[tuple[str, int], str] = {}
    waiting: list[tuple[str, str, list[tuple[str, int, int]]]] = []
    for one in listed:
        about = one.get("config") if isinstance(one.get("config"), dict) else {}
        name, kind = str(one.get("name") or about.get("name")), str(one.get("class_name"))
        kinds[name] = kind
        nodes = one.get("inbound_nodes")
        if nodes is None:  # of a Sequential model, each reads the one before it
            nodes = [[[waiting[-1][0], 0, 0]]] if waiting else []
        for number, node in enumerate(nodes or [[]]):
            op = name if number == 0 else f"{name}_{number}"
            placed[name, number] = op
            waiting.append((name, op, list(_read(node))))
    for name, op, read in waiting:
        if not all((giver, number) in placed for giver, number, _ in read):
            return None
        tensors = [f"{placed[giver, number]}:{port}" for giver, number, port in read]
        ops.append((op, kinds[name], tensors))
        calls.setdefault(name, []).append(Call((op,), tuple(tensors), (f"{op}:0",)))
    if len({op for op, _, _ in ops}) != len(ops):
        return None
    found = (Layer(name, kinds[name], name, tuple(made)) for name, made in calls.items())
    return Graph.of(ops), Layers(tuple(found))


def _read(node: Any) -> Iterator[tuple[str, int, int]]:
    """Yields the inputs of a call of a layer: (layer, number of its call, number of the output), from Keras 3 or 2."""
    todo = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, dict) and item.get("class_name") == "__keras_tensor__":
            item = item.get("config", {}).get("keras_history")
        if isinstance(item, list) and len(item) >= 3 and isinstance(item[0], str) and isinstance(item[1], int):
            yield item[0], item[1], int(item[2])
        elif isinstance(item, dict | list):
            todo += reversed(list(item.values()) if isinstance(item, dict) else item)
