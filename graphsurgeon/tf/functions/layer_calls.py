"""Layer calls: which ops each layer of a Keras model makes while the model is traced."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from ...graph.layers import Call, Layer, Layers
from ...graph.live import TFGraph
from ..private.eager import KerasNode, keras_inputs, keras_nodes
from .lift import Lifted

tf1 = tf.compat.v1
_LOCK = threading.RLock()


@dataclass(frozen=True, eq=False)
class Seen:
    """One call of a layer while a graph was made.

    Args:
        layer: the layer of Keras, or an operation that is not one, as that of ``x + y``.
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
    """Notes each call of a layer or operation in this thread; they, and what they return, stay as they are.

    Args:
        base: the class of all layers: `keras.Layer`, or that of `tf_keras`.
    """
    seen: list[Seen] = []
    around: list[Any] = []
    begun = itertools.count()
    me = threading.get_ident()

    def noting(original: Any, others: type | None = None) -> Any:
        @functools.wraps(original)
        def call(layer: Any, *args: Any, **options: Any) -> Any:
            noted_already = others is not None and isinstance(layer, others)
            if noted_already or threading.get_ident() != me or tf.executing_eagerly():
                return original(layer, *args, **options)
            graph = tf1.get_default_graph()
            outer, first, number = tuple(around), graph.version, next(begun)
            around.append(layer)
            try:
                made = original(layer, *args, **options)
            finally:
                around.pop()
            given = _tensors((args, options))
            seen.append(Seen(layer, outer, number, graph, first, graph.version, given, _tensors(made)))
            return made

        return call

    # In Keras 3 what is above all layers is an operation, as those of ``x + y`` are.
    classes = [one for one in base.__mro__ if "__call__" in vars(one)]
    originals = [one.__call__ for one in classes]
    with _LOCK:  # another thread that opens a model waits: the class is one for all
        for one, original in zip(classes, originals, strict=True):
            one.__call__ = noting(original, None if one is base else base)
        try:
            yield seen
        finally:
            for one, original in zip(classes, originals, strict=True):
                one.__call__ = original


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
    names = _Names(body, lifted)
    found: dict[tuple[int, ...], Layer] = {}
    calls: dict[tuple[int, ...], list[Call]] = {}
    for one in sorted(seen, key=lambda one: one.begun):
        chain = [layer for layer in (*one.around, one.layer) if layer is not model or not hasattr(model, "layers")]
        if one.graph is not body or not chain or not hasattr(one.layer, "variables"):
            continue
        key = tuple(map(id, chain))
        calls.setdefault(key, []).append(names.call(one))
        path = "/".join(layer.name for layer in chain)
        found[key] = Layer(one.layer.name, type(one.layer).__name__, path, (), tuple(names.variables(one.layer)))
    items = [
        Layer(layer.name, layer.class_name, layer.path, tuple(calls[key]), layer.variables)
        for key, layer in found.items()
    ]
    return Layers((*_given(model, arguments), *items), why="the model has none that is called")


@dataclass(frozen=True, eq=False)
class Placed:
    """One call in a functional model of Keras, as it is in the graph that the model was lifted to.

    Args:
        node: the call.
        call: what it has made.
        tensors: id of a tensor of Keras that it takes or gives -> name of the tensor in the graph.
        variables: names of the variables of its layer, each with that of Keras.
    """

    node: KerasNode
    call: Call
    tensors: Mapping[int, str]
    variables: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Origin:
    """The Keras model that a graph was lifted from.

    Args:
        model: the model.
        graph: the graph as it was lifted.
        calls: the calls that it consists of, in order; none where it does not say how they are connected.
        inputs: the tensors of Keras that it takes, each with the name of its placeholder's tensor.
        variables: names of the variables of the graph, each with that of Keras.
    """

    model: Any
    graph: TFGraph
    calls: tuple[Placed, ...] = ()
    inputs: tuple[tuple[Any, str], ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)


def origin_of(model: Any, seen: Sequence[Seen], body: Any, arguments: Sequence[Any], lifted: Lifted) -> Origin:
    """Returns how a functional model is connected, in words of the graph; arguments as of `layers_of`."""
    names = _Names(body, lifted)
    own: dict[int, list[Seen]] = {}
    for one in sorted(seen, key=lambda one: one.begun):
        if one.graph is body and one.around == (model,):
            own.setdefault(id(one.layer), []).append(one)
    taken = [] if keras_inputs(model) is None else tf.nest.flatten(keras_inputs(model))
    held = names.variables(model)
    if len(taken) != len(arguments):
        return Origin(model, lifted.graph, variables=held)
    tensors = {id(symbol): given.name for symbol, given in zip(taken, arguments, strict=True)}
    inputs = tuple((symbol, given.name) for symbol, given in zip(taken, arguments, strict=True))
    calls = []
    for node in keras_nodes(model):
        left = own.get(id(node.layer))
        if not left or not all(id(t) in tensors for t in node.inputs):
            return Origin(model, lifted.graph, (), inputs, held)
        one = left.pop(0)
        if len(one.outputs) != len(node.outputs):
            return Origin(model, lifted.graph, (), inputs, held)
        tensors |= {id(t): name for t, name in zip(node.outputs, names.each(one.outputs), strict=True) if name}
        about = {id(t): tensors[id(t)] for t in (*node.inputs, *node.outputs) if id(t) in tensors}
        calls.append(Placed(node, names.call(one), about, names.variables(node.layer)))
    return Origin(model, lifted.graph, tuple(calls), inputs, held)


class _Names:
    """What the things of a traced body are called in the graph that it was lifted to."""

    def __init__(self, body: Any, lifted: Lifted) -> None:
        self._body, self._moved = body, lifted.moved
        self._ops = [op.name for op in body.get_operations()]
        self._made = {op.name for op in lifted.graph.get_operations()}
        self._handles = {id(handle): name for name, handle in lifted.values.handles().items()}

    def each(self, tensors: Sequence[Any]) -> list[str]:
        """Returns the name of each of some tensors; an empty one where the graph does not have it."""
        names = [t.name if getattr(t, "graph", None) is self._body else "" for t in tensors]
        moved = (self._moved.get(name, name) for name in names)
        return [name if name.partition(":")[0] in self._made else "" for name in moved]

    def call(self, one: Seen) -> Call:
        """Returns what a call has made."""
        ops = tuple(name for name in self._ops[one.first : one.last] if name in self._made)
        ends = (tuple(filter(None, dict.fromkeys(self.each(end)))) for end in (one.inputs, one.outputs))
        return Call(ops, *ends)

    def variables(self, layer: Any) -> dict[str, Any]:
        """Returns the variables of a layer that the graph has, by name."""
        held = {self._handles.get(id(_handle(v)), ""): v for v in getattr(layer, "variables", ())}
        return {name: variable for name, variable in held.items() if name}


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
