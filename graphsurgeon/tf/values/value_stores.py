"""Value stores: one interface to the variables of sessions, Keras models, modules, checkpoints and mappings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import PlanError
from ...graph.arrays import variable_bytes
from ...graph.graph import shape_text
from ...graph.names import free_name
from ...graph.provenance import orphans_of
from ...graph.types import TFGraph, TFSession
from ...graph.variables import VariableInfo
from ..import_tensorflow import tf
from ..private.eager import eager, keras_layers
from .checkpoint_reader import Checkpoint, array_of
from .transfer import assign, batches, no_initializer_error, stream, value_provider, values_of
from .variables import dims_of, shape_of, variable_infos

tf1 = tf.compat.v1


@dataclass(frozen=True)
class VariableEntry:
    """One variable of a value store: its name, dtype, shape and layer; the layer is empty if there is none."""

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None
    layer: str = ""

    @property
    def text(self) -> str:
        """Dtype and shape as text."""
        return f"{self.dtype} {shape_text(self.shape)}"

    @property
    def nbytes(self) -> int:
        """The size of its value; 0 if its shape is not completely known."""
        return variable_bytes(VariableInfo(self.name, dtype=self.dtype, shape=shape_text(self.shape)))


class ValueStore:
    """A source or destination of values."""

    title = "values"
    variables: Sequence[VariableEntry] = ()
    writable = False

    def read(self, names: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yields values by name, batch after batch; the caller may change the arrays."""
        raise NotImplementedError

    def write(self, values: Mapping[str, Any]) -> None:
        """Sets variables. The store may keep the arrays, so the caller must not use them afterwards."""
        raise NotImplementedError

    def refuse_unsettable(self, names: Iterable[str], request: str) -> None:
        """Refuses variables that cannot be set; raises PlanError."""


class SessionStore(ValueStore):
    """The variables of a session, read and set by ops of its graph."""

    writable = True

    def __init__(self, session: TFSession, request: str) -> None:
        self.title, self._session, self._request = "the session", session, request
        self._infos = variable_infos(session.graph)
        self.variables = _entries(session.graph, self._infos)

    def read(self, names: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yields values by name, batch after batch."""
        yield from stream(self._session, [self._infos[name] for name in names], self._request)

    def write(self, values: Mapping[str, Any]) -> None:
        """Sets variables through their own initializers."""
        assign(self._session, values, self._infos)

    def refuse_unsettable(self, names: Iterable[str], request: str) -> None:
        """Refuses variables that no op sets; raises PlanError."""
        mute = [name for name in names if not self._infos[name].initializer]
        if mute:
            raise no_initializer_error(mute, request)


class EagerStore(ValueStore):
    """The variables of a Keras model or layer, or of a `tf.Module`."""

    writable = True

    def __init__(self, obj: Any, keras: bool) -> None:
        self.title = str(getattr(obj, "name", type(obj).__name__))
        self._variables: dict[str, Any] = {}
        self.variables = []
        pairs = _keras(obj) if keras else [("", v) for v in obj.variables]
        plain = {id(v): str(getattr(v, "path", v.name)).removesuffix(":0") for _, v in pairs}
        for layer, variable in pairs:
            if id(variable) in {id(v) for v in self._variables.values()}:
                continue  # a layer may be in a model twice
            name = free_name(plain[id(variable)], self._variables.__contains__)
            self._variables[name] = variable
            where = layer if keras else name.rpartition("/")[0]
            shape = dims_of(tf.TensorShape(variable.shape))
            self.variables.append(VariableEntry(name, tf.as_dtype(variable.dtype).name, shape, where))

    def read(self, names: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yields values by name, one by one."""
        for name in names:
            with eager():
                value = np.array(array_of(self._variables[name].numpy()))
            yield {name: value}

    def write(self, values: Mapping[str, Any]) -> None:
        """Assigns to the variables."""
        with eager():
            for name, value in values.items():
                self._variables[name].assign(value)


class FileStore(ValueStore):
    """Values in a checkpoint or in the file of a graph; they are read from the file, without a session."""

    def __init__(self, title: str, variables: Sequence[VariableEntry], values: Mapping[str, Any]) -> None:
        self.title, self.variables, self._values = title, variables, values

    def read(self, names: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yields values by name, one by one."""
        for name in names:
            yield {name: self._values[name].read()}


class ArrayStore(ValueStore):
    """Arrays by name, which can only be read."""

    def __init__(self, arrays: Mapping[str, Any]) -> None:
        self.title = "the arrays"
        self._arrays = {str(name).removesuffix(":0"): array_of(value) for name, value in arrays.items()}
        self.variables = [
            VariableEntry(name, tf.as_dtype(a.dtype).name, a.shape, name.rpartition("/")[0])
            for name, a in self._arrays.items()
        ]

    def read(self, names: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yields copies: TensorFlow may continue to use the memory of its feeds."""
        sizes = {name: self._arrays[name].nbytes for name in names}
        for batch in batches(sizes):
            yield {name: np.array(self._arrays[name]) for name in batch}


def value_store(obj: Any, request: str) -> ValueStore:
    """Returns the value store of an object.

    Args:
        obj: a session, Keras model or layer, `tf.Module`, path of a checkpoint, or mapping of name to array.
        request: the request, for messages.

    Raises:
        OpenError: a checkpoint cannot be read.
        PlanError: the object is of another type.
    """
    from ..functions.trace import is_keras

    if isinstance(obj, (tf1.Session, tf1.InteractiveSession)):
        return SessionStore(obj, request)
    if isinstance(obj, (str, os.PathLike)):
        checkpoint = Checkpoint(obj, request)
        stored = {name: checkpoint.stored_value(name) for name in checkpoint.names}
        variables = [VariableEntry(name, one.dtype, one.shape, name.rpartition("/")[0]) for name, one in stored.items()]
        return FileStore(checkpoint.prefix, variables, stored)
    if isinstance(obj, Mapping):
        return ArrayStore(obj)
    if is_keras(obj):
        return EagerStore(obj, keras=True)
    if isinstance(obj, tf.Module):
        return EagerStore(obj, keras=False)
    raise PlanError(
        request,
        f"an object of type {type(obj).__name__} holds no values",
        "Give a session, an editor, a Keras model, a tf.Module, a checkpoint or {name: array}",
    )


def source_store(obj: Any, request: str) -> ValueStore:
    """Returns a value store for reading, like `value_store`; the values of an editor of a file come from the file.

    Args:
        obj: as for `value_store`, or an editor.
        request: the request, for messages.
    """
    giver = value_provider(obj)
    stored = None if giver is None else giver.stored_values()
    if giver is not None and stored is not None:
        infos = variable_infos(giver.graph)
        if infos.keys() <= stored.keys():
            return FileStore("the file", _entries(giver.graph, infos), stored)
    return value_store(values_of(obj), request)


def _entries(graph: TFGraph, infos: Mapping[str, VariableInfo]) -> list[VariableEntry]:
    infos = {op: info for op, info in infos.items() if op not in orphans_of(graph)}
    layers = _layers(infos.values())
    shapes = {op: dims_of(shape_of(graph, info)) for op, info in infos.items()}
    return [VariableEntry(op, info.dtype, shapes[op], layers.get(op, "")) for op, info in infos.items()]


def _layers(infos: Iterable[VariableInfo]) -> dict[str, str]:
    """Returns variable op -> its scope, if the scope contains a trainable variable; slots belong to no layer."""
    variables = {info.op: info for info in infos}
    scopes = {op.rpartition("/")[0] for op, info in variables.items() if info.trainable}
    return {op: op.rpartition("/")[0] for op in variables
            if op.rpartition("/")[0] in scopes and op.rpartition("/")[0] not in variables}  # fmt: skip


def _keras(obj: Any) -> list[tuple[str, Any]]:
    """Returns (layer, variable) pairs of a Keras model, first by layer, then the variables that are in no layer."""
    inner = keras_layers(obj)
    layers = [layer for layer in inner if not getattr(layer, "layers", None)] or [obj]
    pairs = [(layer.name, v) for layer in layers for v in layer.weights]
    ids = {id(v) for _, v in pairs}
    return pairs + [("", v) for v in obj.weights if id(v) not in ids]
