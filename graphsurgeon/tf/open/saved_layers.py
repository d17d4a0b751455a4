"""Saved layers: the layers of a SavedModel, if its file shows which ops belong to them; nothing is run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from ...graph.calls import Calls
from ...graph.graph import Graph
from ...graph.layers import Later, Layer, Layers, Owner, by_variables, in_scopes, is_like, named_owners
from ...words import counted, few
from ..wire import decoded
from .called import paths

FILE = "keras_metadata.pb"
_UNKNOWN = "this SavedModel does not state which ops belong to which layer"


def saved_layers(folder: Path | None, graph: Graph, objects: Any, held: Mapping[str, int]) -> Layers:
    """Returns the layers of a SavedModel for which it is certain which ops belong to them.

    Keras 2 writes a list of its layers next to the graph: each is the scope with its name. Others, such as Keras 3 and
    `tf.Module`, store only which object holds which variable. A layer is then a scope with its name in which its
    variables are read. The file has no information about classes, or about layers without variables.

    Args:
        folder: the folder of the SavedModel.
        graph: one of its signatures.
        objects: its object graph.
        held: variable op of the graph -> number of its object.
    """
    if folder is None or not (folder / FILE).exists():
        return Layers(Later(lambda: _by_objects(graph, objects, held)), why=lambda: _why(objects, held))
    classes = {}
    for path, kind, text in _keras_metadata((folder / FILE).read_bytes()) or ():
        try:
            about = json.loads(text)
        except ValueError:
            about = {}
        if kind.startswith("_tf_keras_") and kind != "_tf_keras_metric" and isinstance(about, dict):
            classes[path] = str(about.get("name", "")), str(about.get("class_name", ""))
    names = {}
    for path, (_, kind) in classes.items():
        parts = path.split(".")
        around = [classes.get(".".join(parts[: i + 1]), ("", ""))[0] for i in range(len(parts))]
        if len(around) > 1 and all(around):
            names["/".join(around[1:])] = kind
    found = in_scopes(graph, classes.get("root", ("", ""))[0], names)
    return Layers(found, why=f"{_UNKNOWN}: none of the {len(names):,} that Keras lists is a scope of its graph")


def _why(objects: Any, held: Mapping[str, int]) -> str:
    """Why no layers are found by their variables; it lists the modules in the object graph."""
    modules = _Modules(objects, {number: op for op, number in held.items()}).owners()
    if not modules:
        return f"{_UNKNOWN}, and no name scope that reads variables has the name of a layer; a .keras file lists them"
    names = f"{counted(len(modules), 'modules')} with variables, {few(repr(one.path) for one in modules)}"
    return f"{_UNKNOWN}. It has {names}, but no name scope that reads these variables has the name of its module"


def _keras_metadata(data: bytes) -> list[tuple[str, str, str]] | None:
    """Returns (path, kind, description) of each object that Keras 2 lists in a SavedModel; None if it is not readable.

    Args:
        data: the contents of its ``keras_metadata.pb``.
    """
    try:
        from ..messages import saved_metadata_pb2
    except ImportError:
        return None
    try:
        listed = decoded(saved_metadata_pb2.SavedMetadata, data)
    except DecodeError:
        return None
    return [(node.node_path, node.identifier, node.metadata) for node in listed.nodes]


def _by_objects(graph: Graph, objects: Any, held: Mapping[str, int]) -> tuple[Layer, ...]:
    """The layers by the owners of variables: modules in the object graph, or otherwise the scopes in variable names."""
    from ..functions.insides import body

    ops = {number: op for op, number in held.items()}
    modules = _Modules(objects, ops)
    owners = modules.owners()
    known = {name for owner in owners for name in owner.variables}
    left = {op: str(objects.nodes[number].variable.name) for op, number in held.items() if op not in known}
    found = by_variables(Calls(graph, body), [*owners, *named_owners(left)])
    # Keras saves a model by a call of it, so all is in the scope of its name.
    every = {op for layer in found for op in layer.ops}
    whole = next((one for one in found if is_like(one.path, one.ops[0].partition("/")[0])), None)
    if owners or whole is None or len(whole.ops) < len(every) or len(found) == 1:
        return found
    return tuple(replace(one, path=one.path.removeprefix(f"{whole.path}/")) for one in found if one.path != whole.path)


class _Modules:
    """The modules of an object graph: objects that hold variables and were not made by Keras."""

    def __init__(self, objects: Any, ops: Mapping[int, str]) -> None:
        self._nodes, self._ops, self._paths = objects.nodes, ops, paths(objects)
        self._scopes: dict[int, str] = {}

    def owners(self) -> list[Owner]:
        """Returns the owners of variables, by the attributes that lead to them."""
        found = []
        for number, path in self._paths.items():
            node = self._nodes[number]
            hidden = any(part.startswith("_") or part == "keras_api" for part in path.split("/"))
            if not path or hidden or not self._is_module(number):
                continue
            variables = tuple(self._ops[n] for n in self._below(number) if n in self._ops)
            methods = tuple(child.local_name for child in node.children if self._kind(child.node_id) == "function")
            if variables:
                found.append(Owner(path, self._scope(number), "", variables, methods))
        return found

    def _kind(self, number: int) -> str:
        return str(self._nodes[number].WhichOneof("kind"))

    def _is_module(self, number: int) -> bool:
        node = self._nodes[number]
        names = {child.local_name for child in node.children}
        return self._kind(number) == "user_object" and node.user_object.identifier == "_generic_user_object" and not (
            names & {"_inbound_nodes", "_operations", "_all_variables", "keras_api"}
        )  # fmt: skip

    def _below(self, number: int) -> dict[int, None]:
        """The objects that can be reached from one."""
        found, todo = dict.fromkeys([number]), [number]
        for at in todo:
            for child in self._nodes[at].children:
                if child.node_id not in found and 0 < child.node_id < len(self._nodes):
                    found[child.node_id] = None
                    todo.append(child.node_id)
        return found

    def _scope(self, number: int) -> str:
        """The name scope of its variables, otherwise the scope around those of its modules; empty if these differ."""
        if number in self._scopes:
            return self._scopes[number]
        self._scopes[number] = ""  # one that leads to itself
        own, inner = set(), set()
        todo = [number]
        for at in todo:
            for child in self._nodes[at].children:
                if self._kind(child.node_id) == "variable":
                    own.add(str(self._nodes[child.node_id].variable.name).rpartition("/")[0])
                elif self._is_module(child.node_id):
                    inner.add(self._scope(child.node_id).rpartition("/")[0])
                elif self._kind(child.node_id) == "user_object" and child.node_id not in todo:
                    todo.append(child.node_id)  # a list or dict
        scopes = own or inner
        self._scopes[number] = scopes.pop() if len(scopes) == 1 else ""
        return self._scopes[number]
