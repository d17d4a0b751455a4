"""Layer calls: which ops each layer of a Keras model makes while the model is traced."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from ...graph.layers import Call, Layer, Layers
from ..private.eager import keras_inputs
from .lift import Lifted

tf1 = tf.compat.v1
_LOCK = threading.RLock()


@dataclass(frozen=True, eq=False)
class Seen:
    """One call of a layer while a graph was made.

    Args:
        layer: the layer of Keras.
        around: the layers whose calls this one was made in, outermost first.
        begun: its place among the calls, by when they began.
        graph: the graph that it was called in.
        first, last: the numbers of its first op there, and of the first one after it.
        inputs, outputs: the tensors that it took and gave.
    """

    layer: Any
    around: tuple[Any, ...]
    begun: int
    graph: Any
    first: int
    last: int
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


@contextmanager
def observed(base: Any) -> Iterator[list[Seen]]:
    """Notes each call of a layer in this thread; the layers, and what they return, stay as they are.

    Args:
        base: the class of all layers: `keras.Layer`, or that of `tf_keras`.
    """
    seen: list[Seen] = []
    around: list[Any] = []
    begun = itertools.count()
    me, original = threading.get_ident(), base.__call__

    @functools.wraps(original)
    def call(layer: Any, *args: Any, **options: Any) -> Any:
        if threading.get_ident() != me or tf.executing_eagerly():
            return original(layer, *args, **options)
        graph = tf1.get_default_graph()
        outer, first, number = tuple(around), graph.version, next(begun)
        around.append(layer)
        try:
            made = original(layer, *args, **options)
        finally:
            around.pop()
        seen.append(Seen(layer, outer, number, graph, first, graph.version, _tensors((args, options)), _tensors(made)))
        return made

    with _LOCK:  # another thread that opens a model waits: the class is one for all
        base.__call__ = call
        try:
            yield seen
        finally:
            base.__call__ = original


def _tensors(thing: Any) -> tuple[Any, ...]:
    return tuple(t for t in tf.nest.flatten(thing, expand_composites=True) if isinstance(t, tf.Tensor))


def layers_of(model: Any, seen: Sequence[Seen], body: Any, arguments: Sequence[Any], lifted: Lifted) -> Layers:
    """Returns the layers of a model that was traced, as they are in the graph that its body was lifted to.

    Args:
        model: the model, or a layer alone.
        seen: the calls that were made while it was traced.
        body: the graph of the traced function.
        arguments: the tensors of the body that are its arguments.
        lifted: the same as a plain graph.
    """
    made = {op.name for op in lifted.graph.get_operations()}
    ops = [op.name for op in body.get_operations()]
    handles = {id(handle): name for name, handle in lifted.values.handles().items()}

    def named(tensors: Sequence[Any]) -> tuple[str, ...]:
        own = (t.name for t in tensors if getattr(t, "graph", None) is body)
        moved = dict.fromkeys(lifted.moved.get(name, name) for name in own)
        return tuple(name for name in moved if name.partition(":")[0] in made)

    found: dict[tuple[int, ...], Layer] = {}
    calls: dict[tuple[int, ...], list[Call]] = {}
    for one in sorted(seen, key=lambda one: one.begun):
        chain = [layer for layer in (*one.around, one.layer) if layer is not model or not hasattr(model, "layers")]
        if one.graph is not body or not chain:
            continue
        key = tuple(map(id, chain))
        names = tuple(name for name in ops[one.first : one.last] if name in made)
        calls.setdefault(key, []).append(Call(names, named(one.inputs), named(one.outputs)))
        path = "/".join(layer.name for layer in chain)
        variables = (handles.get(id(_handle(v))) for v in one.layer.variables)
        kept = tuple(dict.fromkeys(name for name in variables if name))
        found[key] = Layer(one.layer.name, type(one.layer).__name__, path, (), kept)
    items = [
        Layer(layer.name, layer.class_name, layer.path, tuple(calls[key]), layer.variables)
        for key, layer in found.items()
    ]
    return Layers((*_given(model, arguments), *items), why="the model has none that is called")


def _handle(variable: Any) -> Any:
    return getattr(variable if isinstance(variable, tf.Variable) else variable.value, "handle", None)


def _given(model: Any, arguments: Sequence[Any]) -> list[Layer]:
    """The input layers of a model: nobody calls them, they stand for its arguments."""
    taken = [] if keras_inputs(model) is None else tf.nest.flatten(keras_inputs(model))
    layers = [layer for layer in getattr(model, "layers", ()) if type(layer).__name__ == "InputLayer"]
    if len(taken) != len(arguments):
        return []
    found = []
    for symbol, given in zip(taken, arguments, strict=True):
        names = [layer.name for layer in layers if layer.output is symbol]
        call = Call((given.op.name,), (), (given.name,))
        found += [Layer(name, "InputLayer", name, (call,)) for name in names]
    return found
