"""The layers of `.keras` files and SavedModels, read from the files."""

from __future__ import annotations

import importlib
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from ...errors import OpenError, counted, few
from ...graph.arrays import size_text
from ...graph.calls import CallTree
from ...graph.graph import Graph
from ...graph.layers import (
    Layer,
    LayerCall,
    Layers,
    LazyLayers,
    VariableOwner,
    is_numbered_name,
    layers_from_variables,
    layers_in_scopes,
    owners_from_names,
)
from ..protos import decode
from ..run.errors import error_text
from .file_reader import read_bytes
from .signature import object_paths

_FUNCTIONS = ("activations", "constraints", "initializers", "losses", "metrics", "regularizers")
_GRAPH_LAYER = "graphsurgeon>GraphLayer"
_DESCRIPTION = ("config.json", "metadata.json")
#: The maximum size of each of these files, in bytes.
_LARGEST = 256 << 20
_TRUSTED_MODULES = ("builtins", "keras", "keras_hub", "keras_cv", "keras_nlp", "tf_keras")


def is_keras_file(path: Path) -> bool:
    """Returns whether a path is a `.keras` file, by its suffix."""
    return path.suffix.lower() == ".keras" and not path.is_dir()


def keras_model(path: Path, request: str) -> Any:
    """Returns the model of a `.keras` file, with its weights, not compiled.

    The version of Keras that wrote the file, Keras 2 or Keras 3, builds the layers from their descriptions. Code in the
    file, for example in a Lambda layer, is never run, and no module that the file names is imported.

    Args:
        path: the file.
        request: the request, for messages.

    Raises:
        OpenError: the file is damaged, is not a Keras model, contains code, or uses a class that is not known here; or
            Keras refuses it.
    """
    config, about = _parts(read_bytes(path, request), request)
    package = "tf_keras" if str(about.get("keras_version", "")).startswith("2.") else "keras"
    keras = _import_keras(package, request)
    if any(item.get("registered_name") == _GRAPH_LAYER for _, item in _entries(config)):
        from ..functions.keras_layer import GraphLayer as GraphLayer  # the import registers the class in Keras
    _refuse_code(config, str(path), package, request)
    _refuse_unknown(config, str(path), keras, request)
    try:
        from ..private.eager import eager

        with eager():
            return keras.saving.load_model(str(path), compile=False, safe_mode=True)
    except MemoryError:
        raise
    except Exception as error:  # the file may come from any source: any error is possible
        # The message of Keras contains the reason, surrounded by a full description of each outer object.
        reason = error_text(error).rpartition("Exception encountered: ")[2].partition(" Full object config")[0]
        problem = f"Keras {keras.__version__} cannot build the model: {reason[:300]}"
        raise OpenError(request, problem, _hint(about, keras, str(path))) from error


def _hint(config: dict[str, Any], keras: Any, path: str) -> str:
    wrote = str(config.get("keras_version", ""))
    if wrote and wrote != keras.__version__:
        return f"Keras {wrote} wrote the file: install that version, pip install keras=={wrote}"
    return _model_in_python(path)


def _parts(data: bytes, request: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns the description of the model, and the metadata of the program that wrote it."""
    suggestion = "Save it again: model.save('model.keras')"
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = archive.namelist()
            missing = [name for name in ("config.json", "model.weights.h5") if name not in names]
            if missing:
                contents = few(sorted(names), 4) or "nothing"
                raise OpenError(
                    request, f"it is not a Keras model: it contains {contents}, but no {missing[0]}", suggestion
                )
            present = [name for name in _DESCRIPTION if name in names]
            if max(archive.getinfo(name).file_size for name in present) > _LARGEST:  # larger files are not unpacked
                problem = f"its description alone has more than {size_text(_LARGEST)}, as in a file made to fill memory"
                raise OpenError(request, problem, "Get the model from a source you trust")
            config, about = (json.loads(archive.read(name)) if name in present else {} for name in _DESCRIPTION)
    except (zipfile.BadZipFile, ValueError, EOFError, RuntimeError, NotImplementedError) as error:
        raise OpenError(request, f"the file is damaged ({error})", suggestion) from error
    if not isinstance(config, dict) or not isinstance(about, dict):
        raise OpenError(request, "it is not a Keras model: its config.json describes no model", suggestion)
    return config, about


def _import_keras(package: str, request: str) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as error:
        problem = f"{'Keras 2' if package == 'tf_keras' else 'Keras'}, which wrote it, is not installed ({error})"
        raise OpenError(request, problem, f"Install it: pip install {package.replace('_', '-')}") from error


def _entries(config: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields (layer name, object) for the objects of a description, without training settings."""
    todo: list[tuple[str, Any]] = [("", {key: value for key, value in config.items() if key != "compile_config"})]
    while todo:
        layer, item = todo.pop()
        if isinstance(item, dict):
            item_config = item.get("config")
            if "class_name" in item:
                layer = (
                    str(item_config["name"])
                    if isinstance(item_config, dict) and isinstance(item_config.get("name"), str)
                    else layer
                )
                yield layer, item
            todo += [(layer, value) for key, value in item.items() if key != "compile_config"]
        elif isinstance(item, list):
            todo += [(layer, value) for value in item]


def code_in(path: Path, request: str) -> list[tuple[str, str]]:
    """Returns (layer, class) for each object with Python code in a `.keras` file.

    Args:
        path: the file.
        request: the request, for messages.

    Raises:
        OpenError: the file is damaged, or not a Keras model.
    """
    return list(_code(_parts(read_bytes(path, request), request)[0]))


def _code(config: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields (layer, class) for each object with Python code in a description."""
    for layer, item in _entries(config):
        item_config = item.get("config")
        if item["class_name"] == "__lambda__" or (
            isinstance(item_config, dict) and item_config.get("function_type") == "lambda"
        ):
            yield layer, str(item["class_name"])


def _refuse_code(config: dict[str, Any], path: str, package: str, request: str) -> None:
    """Refuses a description with Python code in it. Keras itself can load only the code of `Lambda` layers."""
    places = [layer for layer, _ in _code(config)]
    if not places:
        return
    loadable = {layer for layer, item in _entries(config) if item["class_name"] == "Lambda"}
    how = _model_in_python(path)
    if loadable.issuperset(places):
        how = (
            f"If you trust the file: model = {package}.saving.load_model({path!r}, compile=False, safe_mode=False), "
            f"then gs.open(model). If the code uses names of your program: {how[0].lower()}{how[1:]}"
        )
    problem = f"its layer {places[0]!r} contains Python code (a lambda), which graphsurgeon never runs"
    raise OpenError(request, problem, how)


def _model_in_python(path: str) -> str:
    return f"Make the model in Python, then type model.load_weights({path!r}) and gs.open(model)"


def _refuse_unknown(config: dict[str, Any], path: str, keras: Any, request: str) -> None:
    """Refuses classes and functions that are neither part of Keras nor registered in this process."""
    unknown: dict[str, str] = {}
    for layer, item in _entries(config):
        module, registered, name = item.get("module"), item.get("registered_name"), str(item["class_name"])
        object_kind = "class"
        if name == "function":
            object_kind, name = "function", str(item.get("config"))
        if name.startswith("__") or ("module" not in item and not registered):
            continue
        plain = object_kind == "function" and module == "builtins"  # Keras writes this module for every function
        if plain and any(hasattr(getattr(keras, part), name) for part in _FUNCTIONS):
            continue
        if not plain and isinstance(module, str) and module.partition(".")[0] in _TRUSTED_MODULES:
            continue
        if all(keras.saving.get_registered_object(str(object_name)) is None for object_name in (registered, name)):
            unknown.setdefault(
                name.rpartition(">")[2], f"{object_kind} {name!r}" + (f" (of {layer!r})" if layer else "")
            )
    if unknown:
        first = next(iter(unknown))
        raise OpenError(
            request,
            f"it uses {few(unknown.values())}, not known here; graphsurgeon does not import modules named in a file",
            f"Import the module that defines {first!r} with @{keras.__name__}.saving.register_keras_serializable, or "
            f"type: with {keras.__name__}.saving.custom_object_scope({{{first!r}: {first}}}): ed = gs.open({path!r})",
        )


# -- the layers that a file describes, without building them ----------------------------------------------


def file_layers(path: Path, request: str) -> tuple[Graph, Layers] | None:
    """Returns the layers of a `.keras` file as a graph for viewing, with an op for each call of a layer.

    The op type is the class of the layer.

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
    model_config = config.get("config")
    entries = model_config.get("layers") if isinstance(model_config, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        return None
    ops: list[tuple[str, str, list[str]]] = []
    calls: dict[str, list[LayerCall]] = {}
    kinds: dict[str, str] = {}
    ops_by_call: dict[tuple[str, int], str] = {}
    waiting: list[tuple[str, str, list[tuple[str, int, int]]]] = []
    for entry in entries:
        layer_config = entry.get("config") if isinstance(entry.get("config"), dict) else {}
        name, class_name = str(entry.get("name") or layer_config.get("name")), str(entry.get("class_name"))
        kinds[name] = class_name
        nodes = entry.get("inbound_nodes")
        if nodes is None:  # in a Sequential model, each layer reads the previous layer
            nodes = [[[waiting[-1][0], 0, 0]]] if waiting else []
        for number, node in enumerate(nodes or [[]]):
            op = name if number == 0 else f"{name}_{number}"
            ops_by_call[name, number] = op
            waiting.append((name, op, list(_read(node))))
    for name, op, reads in waiting:
        if not all((giver, number) in ops_by_call for giver, number, _ in reads):
            return None
        tensors = [f"{ops_by_call[giver, number]}:{port}" for giver, number, port in reads]
        ops.append((op, kinds[name], tensors))
        calls.setdefault(name, []).append(LayerCall((op,), tuple(tensors), (f"{op}:0",)))
    if len({op for op, _, _ in ops}) != len(ops):
        return None
    layers = (Layer(name, kinds[name], name, tuple(op_names)) for name, op_names in calls.items())
    return Graph.from_ops(ops), Layers(tuple(layers))


def _read(node: Any) -> Iterator[tuple[str, int, int]]:
    """Yields the inputs of a layer call, as (layer, number of its call, output number); for Keras 2 and 3."""
    todo = [node]
    while todo:
        item = todo.pop()
        if isinstance(item, dict) and item.get("class_name") == "__keras_tensor__":
            item = item.get("config", {}).get("keras_history")
        if isinstance(item, list) and len(item) >= 3 and isinstance(item[0], str) and isinstance(item[1], int):
            yield item[0], item[1], int(item[2])
        elif isinstance(item, dict | list):
            todo += reversed(list(item.values()) if isinstance(item, dict) else item)


FILE = "keras_metadata.pb"
_NO_LAYERS = "this SavedModel does not state which ops belong to which layer"


def saved_layers(folder: Path | None, graph: Graph, objects: Any, handle_objects: Mapping[str, int]) -> Layers:
    """Returns the layers of a SavedModel, only if it is certain which ops belong to them.

    Keras 2 writes a list of layers next to the graph: the ops of a layer are in the scope with its name. Keras 3,
    `tf.Module` and others store only which object owns which variable. The ops of a layer are then in a scope with its
    name in which its variables are read. The file contains no classes, and no layers without variables.

    Args:
        folder: the folder of the SavedModel.
        graph: the graph of one of its signatures.
        objects: its object graph.
        handle_objects: variable op of the graph -> number of its object.
    """
    if folder is None or not (folder / FILE).exists():
        return Layers(
            LazyLayers(lambda: _by_objects(graph, objects, handle_objects)),
            reason=lambda: _why(objects, handle_objects),
        )
    classes = {}
    for path, class_name, text in _keras_metadata((folder / FILE).read_bytes()) or ():
        try:
            about = json.loads(text)
        except ValueError:
            about = {}
        if class_name.startswith("_tf_keras_") and class_name != "_tf_keras_metric" and isinstance(about, dict):
            classes[path] = str(about.get("name", "")), str(about.get("class_name", ""))
    names = {}
    for path, (_, class_name) in classes.items():
        parts = path.split(".")
        scopes = [classes.get(".".join(parts[: i + 1]), ("", ""))[0] for i in range(len(parts))]
        if len(scopes) > 1 and all(scopes):
            names["/".join(scopes[1:])] = class_name
    layers = layers_in_scopes(graph, classes.get("root", ("", ""))[0], names)
    return Layers(layers, reason=f"{_NO_LAYERS}: none of the {len(names):,} that Keras lists is a scope of its graph")


def _why(objects: Any, handle_objects: Mapping[str, int]) -> str:
    """Returns why no layers were found by their variables, with a list of the modules in the object graph."""
    modules = _Modules(objects, {number: op for op, number in handle_objects.items()}).owners()
    if not modules:
        return f"{_NO_LAYERS}, and no name scope that reads variables has the name of a layer; a .keras file lists them"
    names = f"{counted(len(modules), 'modules')} with variables, {few(repr(owner.path) for owner in modules)}"
    return f"{_NO_LAYERS}. It has {names}, but no name scope that reads these variables has the name of its module"


def _keras_metadata(data: bytes) -> list[tuple[str, str, str]] | None:
    """Returns (path, kind, description) of each object that Keras 2 lists in a SavedModel; None if the list is damaged.

    Args:
        data: the content of ``keras_metadata.pb``.
    """
    try:
        from ..messages import saved_metadata_pb2
    except ImportError:
        return None
    try:
        metadata = decode(saved_metadata_pb2.SavedMetadata, data)
    except DecodeError:
        return None
    return [(node.node_path, node.identifier, node.metadata) for node in metadata.nodes]


def _by_objects(graph: Graph, objects: Any, handle_objects: Mapping[str, int]) -> tuple[Layer, ...]:
    """Returns layers by the owners of variables: modules of the object graph, otherwise scopes in variable names."""
    from ..functions.expand import function_body

    ops = {number: op for op, number in handle_objects.items()}
    modules = _Modules(objects, ops)
    owners = modules.owners()
    owned = {name for owner in owners for name in owner.variables}
    unowned = {op: str(objects.nodes[number].variable.name) for op, number in handle_objects.items() if op not in owned}
    layers = layers_from_variables(CallTree(graph, function_body), [*owners, *owners_from_names(unowned)])
    # Keras traces a call of the model to save it, so all ops are in the scope with the name of the model.
    every = {op for layer in layers for op in layer.ops}
    model = next(
        (candidate for candidate in layers if is_numbered_name(candidate.path, candidate.ops[0].partition("/")[0])),
        None,
    )
    if owners or model is None or len(model.ops) < len(every) or len(layers) == 1:
        return layers
    return tuple(
        replace(candidate, path=candidate.path.removeprefix(f"{model.path}/"))
        for candidate in layers
        if candidate.path != model.path
    )


class _Modules:
    """The modules of an object graph: objects with variables that are not internal objects of Keras."""

    def __init__(self, objects: Any, ops: Mapping[int, str]) -> None:
        self._nodes, self._ops, self._paths = objects.nodes, ops, object_paths(objects)
        self._scopes: dict[int, str] = {}

    @cached_property
    def optimizers(self) -> frozenset[int]:
        """The optimizers of Keras 3, whose children include the variables that they train."""
        return frozenset(
            number
            for number, node in enumerate(self._nodes)
            if {child.local_name for child in node.children} >= {"_iterations", "_trainable_variables_indices"}
        )

    def owners(self) -> list[VariableOwner]:
        """Returns the owners of variables, with their attribute paths."""
        result = []
        for number, path in self._paths.items():
            node = self._nodes[number]
            hidden = any(part.startswith("_") or part == "keras_api" for part in path.split("/"))
            if not path or hidden or number in self.optimizers or not self._is_module(number):
                continue
            variables = tuple(self._ops[n] for n in self._below(number) if n in self._ops)
            methods = tuple(child.local_name for child in node.children if self._kind(child.node_id) == "function")
            if variables:
                result.append(VariableOwner(path, self._scope(number), "", variables, methods))
        return result

    def _kind(self, number: int) -> str:
        return str(self._nodes[number].WhichOneof("kind"))

    def _is_module(self, number: int) -> bool:
        node = self._nodes[number]
        names = {child.local_name for child in node.children}
        return self._kind(number) == "user_object" and node.user_object.identifier == "_generic_user_object" and not (
            names & {"_inbound_nodes", "_operations", "_all_variables", "keras_api"}
        )  # fmt: skip

    def _below(self, number: int) -> dict[int, None]:
        """Returns the objects that can be reached from an object."""
        reached, todo = dict.fromkeys([number]), [number]
        for at in todo:
            for child in self._nodes[at].children:
                if child.node_id not in reached and 0 < child.node_id < len(self._nodes):
                    reached[child.node_id] = None
                    todo.append(child.node_id)
        return reached

    def _scope(self, number: int) -> str:
        """Returns the name scope of the variables of an object, or of its modules; empty if there are several."""
        if number in self._scopes:
            return self._scopes[number]
        self._scopes[number] = ""  # ends the recursion in a cycle
        scope_names, inner = set(), set()
        todo = [number]
        for at in todo:
            for child in self._nodes[at].children:
                if self._kind(child.node_id) == "variable":
                    scope_names.add(str(self._nodes[child.node_id].variable.name).rpartition("/")[0])
                elif self._is_module(child.node_id):
                    inner.add(self._scope(child.node_id).rpartition("/")[0])
                elif self._kind(child.node_id) == "user_object" and child.node_id not in todo:
                    todo.append(child.node_id)  # the child is a list or dict
        scopes = scope_names or inner
        self._scopes[number] = scopes.pop() if len(scopes) == 1 else ""
        return self._scopes[number]
