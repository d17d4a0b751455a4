"""Layer calls: records which ops are made by each Keras layer or module while a function is traced."""

from __future__ import annotations

import functools
import itertools
import threading
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import FunctionType
from typing import Any

from ...graph.calls import CallTree
from ...graph.layers import (
    Layer,
    LayerCall,
    Layers,
    VariableOwner,
    layers_from_variables,
    owners_from_names,
    sort_layers,
    update_layer,
)
from ...graph.names import join_scope, op_name
from ...graph.types import TFGraph
from ..import_tensorflow import tf
from ..open.snapshot import snapshot
from ..private.eager import (
    KerasNode,
    has_mask,
    keras_inputs,
    keras_inside,
    keras_layers,
    keras_losses,
    keras_nodes,
    keras_regularizers,
    traced_method,
)
from ..private.functions import bodies
from .expand import function_body as read
from .keras_training import LayerEffect, TrainingFacts, differs
from .lift import LiftedGraph, arguments_of

tf1 = tf.compat.v1
_LOCK = threading.RLock()
_NO_LAYERS = "no Keras layer or module is called in it, or none with a scope or function of its name"


@dataclass(frozen=True, eq=False)
class ObservedCall:
    """One call of a layer while a graph was made.

    Args:
        layer: the Keras layer, or a Keras operation that is not a layer, such as the operation of ``x + y``.
        enclosing_layers: the layers whose calls contain this call, outermost first.
        start_number: the number of the call, in the order in which calls began.
        graph: the graph in which the layer was called.
        first, last: the number of the first op of the call in the graph, and of the first op after the call.
        inputs, outputs: the input and output tensors of the call.
    """

    layer: Any
    enclosing_layers: tuple[Any, ...]
    start_number: int
    graph: TFGraph
    first: int
    last: int
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


@contextmanager
def observe_calls(
    bases: Iterable[type], modules: Iterable[type] = (), layers: Iterable[type] = ()
) -> Iterator[list[ObservedCall]]:
    """Records each call of a layer, operation or module in this thread; the calls and their results are not changed.

    Args:
        bases: the base classes of all layers: `keras.Layer`, or the base class of `tf_keras`.
        modules: subclasses of `tf.Module`; calls of their public methods are recorded.
        layers: subclasses of the base classes; direct calls of ``call`` are recorded too. `TimeDistributed`, for
            example, makes direct calls.
    """
    calls: list[ObservedCall] = []
    around: list[Any] = []
    counter = itertools.count()
    me = threading.get_ident()

    def noting(original: Any, module: bool) -> Any:
        def call(layer: Any, *args: Any, **options: Any) -> Any:
            made_by = traced_method(original, layer) if module else functools.partial(original, layer)
            # A method may call another method, and a sequential model calls its inner model.
            within = bool(around) and any(layer is one for one in (around[-1], keras_inside(around[-1])))
            if within or threading.get_ident() != me or tf.executing_eagerly():
                return made_by(*args, **options)
            graph = tf1.get_default_graph()
            outer, first, number = tuple(around), graph.version, next(counter)
            around.append(layer)
            try:
                result = made_by(*args, **options)
            finally:
                around.pop()
            inputs = _tensors((args, options))
            calls.append(ObservedCall(layer, outer, number, graph, first, graph.version, inputs, _tensors(result)))
            return result

        if isinstance(original, FunctionType):
            functools.update_wrapper(call, original)
        if module:
            call.__module__ = "tensorflow"  # AutoGraph does not convert functions of TensorFlow
        return call

    # In Keras 3 the base class of layers is also the base class of operations such as ``x + y``.
    targets = [(one, "__call__", False) for base in bases for one in base.__mro__ if "__call__" in vars(one)]
    for one in dict.fromkeys(own for kind in modules for own in kind.__mro__[: kind.__mro__.index(tf.Module)]):
        methods = (FunctionType, tf.types.experimental.PolymorphicFunction)
        names = [name for name, value in vars(one).items() if isinstance(value, methods)]
        targets += [(one, name, True) for name in names if name == "__call__" or not name.startswith("_")]
    for one in dict.fromkeys(own for kind in layers for own in kind.__mro__ if issubclass(own, tuple(bases))):
        targets += [(one, "call", True)] if isinstance(vars(one).get("call"), FunctionType) else []
    originals = [vars(one)[name] for one, name, _ in targets]
    with _LOCK:  # threads share the classes, so another thread that opens a model waits
        for (one, name, module), original in zip(targets, originals, strict=True):
            setattr(one, name, noting(original, module))
        try:
            yield calls
        finally:
            for (one, name, _), original in zip(targets, originals, strict=True):
                setattr(one, name, original)


def _tensors(obj: Any) -> tuple[Any, ...]:
    return tuple(t for t in tf.nest.flatten(obj, expand_composites=True) if isinstance(t, tf.Tensor))


@dataclass(frozen=True, eq=False)
class TracedObject:
    """A layer or module inside a traced object.

    Args:
        path: the attribute path to it.
        scope: the name scope of its calls, as far as it is known before a call; empty without a scope.
        obj: the layer or module.
    """

    path: str
    scope: str
    obj: Any


def layers_of(trace: Any, lifted_graph: LiftedGraph) -> Layers:
    """Returns the layers of a traced object, with their ops in the lifted graph.

    If a function was traced before it was opened, the calls of its layers were not recorded. The layers are then found
    by their variables: by the owner of each variable, and the scopes that read it.

    Args:
        trace: the `TracedFunction` of a Keras model or layer, of a function that calls layers, or of a `tf.Module`.
        lifted_graph: the same function as a plain graph.
    """
    body, paths = trace.concrete.graph, {id(one.obj): one.path for one in trace.objects}
    names = _LiftedNames(body, lifted_graph)
    layers: dict[tuple[str, int], Layer] = {}
    calls: dict[tuple[str, int], list[LayerCall]] = {}
    for one in sorted(trace.observed_calls, key=lambda one: one.start_number):
        path = ""
        for layer in (*one.enclosing_layers, one.layer):
            path = paths.get(id(layer), join_scope(path, getattr(layer, "name", type(layer).__name__)))
        layer_calls = names.calls(one) if path and hasattr(one.layer, "variables") else ()
        if layer_calls:
            key, kind = (path, id(one.layer)), type(one.layer).__name__
            calls.setdefault(key, []).extend(layer_calls)
            layers[key] = Layer(path.rpartition("/")[2], kind, path, (), tuple(names.variables(one.layer)))
    items = [replace(layer, calls=tuple(calls[key])) for key, layer in layers.items()]
    more = layers_from_variables(names.inside, _uncalled_layers(trace, names)) if items else ()
    items = [*sort_layers(names.inside, [*items, *more])] if more else items
    if trace.model is not None:
        input_layers = _input_layers(trace.model, arguments_of(trace.concrete))
        return Layers((*input_layers, *items), reason="the model calls no layers")
    return Layers(tuple(items) or layers_from_variables(names.inside, _owners(trace, names)), reason=_NO_LAYERS)


def _uncalled_layers(trace: Any, names: _LiftedNames) -> list[VariableOwner]:
    """Returns the Keras layers without a recorded call, because TensorFlow has reused an already traced function."""
    observed_ids = {id(one.layer) for one in trace.observed_calls}
    todo = [(one.path, one.obj) for one in trace.objects]
    owners = {id(thing): VariableOwner("", "") for _, thing in todo}
    for around, thing in todo:
        for layer in keras_layers(thing, recursive=False):
            if id(layer) not in owners:
                path = join_scope(around, layer.name)
                variables = tuple(names.variables(layer)) if id(layer) not in observed_ids else ()
                owners[id(layer)] = VariableOwner(path, path, type(layer).__name__, variables)
                todo.append((path, layer))
    return [owner for owner in owners.values() if owner.variables]


def _owners(trace: Any, names: _LiftedNames) -> list[VariableOwner]:
    """Returns the owners of the variables of a function: objects, or the scopes in the names of variables."""
    remaining = names.variable_names(trace)
    owners = []
    for one in trace.objects:
        variables = tuple(names.variables(one.obj))
        methods = [name for name in dir(type(one.obj)) if name == "__call__" or not name.startswith("_")]
        if one.path and variables:
            owners.append(VariableOwner(one.path, one.scope, type(one.obj).__name__, variables, tuple(methods)))
            remaining = {name: text for name, text in remaining.items() if name not in variables}
    return [*owners, *owners_from_names(remaining)]


@dataclass(frozen=True, eq=False)
class ModelCall:
    """One call in a functional Keras model, in the lifted graph of the model.

    Args:
        node: the call.
        call: its ops.
        tensors: id of a Keras input or output tensor -> name of the tensor in the graph.
        variables: name of a variable of the layer -> the Keras variable.
    """

    node: KerasNode
    call: LayerCall
    tensors: Mapping[int, str]
    variables: Mapping[str, Any]

    def name_of(self, symbol: Any) -> str:
        """Returns the name of an input or output tensor in the graph; empty if the graph does not have it."""
        return self.tensors.get(id(symbol), "")


@dataclass(frozen=True, eq=False)
class ModelOrigin:
    """The Keras model from which a graph was lifted.

    Args:
        model: the model.
        graph: the lifted graph.
        calls: the calls of layers, in order; empty if the connections of the layers are not known.
        inputs: the Keras input tensors, each with the name of its placeholder tensor.
        variables: name of a variable of the graph -> the Keras variable.
        effects: the effects of the calls of its layers on training.
        masked: tensors of the graph that have a mask.
        regularizers: variable -> its regularizer, if the variable of Keras does not have it.
        training: whether the model was called for training.
    """

    model: Any
    graph: TFGraph
    calls: tuple[ModelCall, ...] = ()
    inputs: tuple[tuple[Any, str], ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    effects: tuple[LayerEffect, ...] = ()
    masked: frozenset[str] = frozenset()
    regularizers: Mapping[str, Any] = field(default_factory=dict)
    training: bool = False

    def facts(self, new_names: Mapping[str, str], kept_layers: Container[int] = ()) -> TrainingFacts:
        """Returns the properties of the model that the graph does not contain; arguments as for `TrainingFacts`."""
        about = self.effects, self.masked, self.variables, self.regularizers
        return TrainingFacts(*about, new_names, kept_layers, self.training)

    @property
    def tensor_names(self) -> dict[int, str]:
        """Id of a Keras tensor -> its name in the graph."""
        inputs = {id(symbol): name for symbol, name in self.inputs}
        return inputs | {key: name for one in self.calls for key, name in one.tensors.items()}


def origin_of(trace: Any, lifted_graph: LiftedGraph) -> ModelOrigin:
    """Returns the connections of a functional model, with names of the graph; arguments as in `layers_of`."""
    names = _LiftedNames(trace.concrete.graph, lifted_graph)
    effects, masked = _effects(trace, names), _masked_tensors(trace, lifted_graph, names)
    pairs = [pair for one in (trace.model, *keras_layers(trace.model)) for pair in keras_regularizers(one)]
    known = {id(variable): regularizer for variable, regularizer in pairs}
    origin = _connections(trace, lifted_graph, names)
    regularizers = {name: known[id(v)] for name, v in origin.variables.items() if id(v) in known}
    return replace(
        origin, effects=effects, masked=masked, regularizers=regularizers, training=trace.training
    )  # fmt: skip


def _effects(trace: Any, names: _LiftedNames) -> tuple[LayerEffect, ...]:
    """Returns the effects of all layer calls on training."""
    effects = []
    noted: set[int] = set()
    for one in sorted(trace.observed_calls, key=lambda one: -one.start_number):  # inner calls first
        if not hasattr(one.layer, "variables"):
            continue
        losses = [t for t in keras_losses(one.layer) if id(t) not in noted and names.is_made_in(one, t)]
        noted |= {id(t) for t in losses}
        other = differs(one.layer)
        functions = [variable for variable, _ in keras_regularizers(one.layer) if variable is None]
        if losses or functions or other:
            tensors = tuple(names.names_of(losses)) if one.graph is trace.concrete.graph else ("",) * len(losses)
            tensors += ("",) * len(functions)
            top = (*one.enclosing_layers, one.layer)[1] if len(one.enclosing_layers) > 0 else one.layer
            effects += [LayerEffect(one.layer, top, call, tensors, other) for call in names.calls(one)]
    return tuple(reversed(effects))


def _masked_tensors(trace: Any, lifted_graph: LiftedGraph, names: _LiftedNames) -> frozenset[str]:
    """Returns the tensors with a mask: outputs of layers, and of the model."""
    tensors = [t for one in trace.observed_calls for t in one.outputs]
    masked = {*filter(None, names.names_of([*filter(has_mask, tensors)]))}
    own = next((one.outputs for one in trace.observed_calls if one.layer is trace.model), ())
    ends = zip(own, lifted_graph.outputs.values(), strict=True) if len(own) == len(lifted_graph.outputs) else ()
    return frozenset(masked | {end for t, end in ends if has_mask(t)})


def _connections(trace: Any, lifted_graph: LiftedGraph, names: _LiftedNames) -> ModelOrigin:
    model, body, arguments = trace.model, trace.concrete.graph, arguments_of(trace.concrete)
    own: dict[int, list[ObservedCall]] = {}
    for one in sorted(trace.observed_calls, key=lambda one: one.start_number):
        if one.graph is body and one.enclosing_layers == (model,):
            own.setdefault(id(one.layer), []).append(one)
    symbols = [] if keras_inputs(model) is None else tf.nest.flatten(keras_inputs(model))
    variables = names.variables(model)
    if len(symbols) != len(arguments):
        return ModelOrigin(model, lifted_graph.graph, variables=variables)
    tensors = {id(symbol): argument.name for symbol, argument in zip(symbols, arguments, strict=True)}
    inputs = tuple((symbol, argument.name) for symbol, argument in zip(symbols, arguments, strict=True))
    calls = []
    for node in keras_nodes(model):
        remaining = own.get(id(node.layer))
        if not remaining or not all(id(t) in tensors for t in node.inputs):
            return ModelOrigin(model, lifted_graph.graph, (), inputs, variables)
        one = remaining.pop(0)
        if len(one.outputs) != len(node.outputs):
            return ModelOrigin(model, lifted_graph.graph, (), inputs, variables)
        tensors |= {id(t): name for t, name in zip(node.outputs, names.names_of(one.outputs), strict=True) if name}
        about = {id(t): tensors[id(t)] for t in (*node.inputs, *node.outputs) if id(t) in tensors}
        calls.append(ModelCall(node, names.call(one), about, names.variables(node.layer)))
    return ModelOrigin(model, lifted_graph.graph, tuple(calls), inputs, variables)


class _LiftedNames:
    """Maps the objects of a traced body to their names in the lifted graph."""

    def __init__(self, body: Any, lifted_graph: LiftedGraph) -> None:
        self._body, self._replacements = body, lifted_graph.renamed_tensors
        self._ops = [op.name for op in body.get_operations()]
        self._names = {op.name for op in lifted_graph.graph.get_operations()}
        self._handles = {id(handle): name for name, handle in lifted_graph.values.handles().items()}
        self.inside = CallTree(snapshot(lifted_graph.graph), read)

    @cached_property
    def _paths(self) -> dict[int, list[str]]:
        """Id of the body of a function -> the scopes of its ops, one for each op that calls it."""
        names = {name: id(graph) for name, graph in bodies(self._body).items()}
        paths: dict[int, list[str]] = {}
        for part in CallTree(snapshot(self._body), read).instances():  # functions of the lifted graph have other names
            if part.function in names:
                paths.setdefault(names[part.function], []).append(part.path)
        return paths

    def is_made_in(self, one: ObservedCall, tensor: Any) -> bool:
        """Returns whether a call has made a tensor."""
        return tensor.graph is one.graph and tensor.op in one.graph.get_operations()[one.first : one.last]

    def names_of(self, tensors: Sequence[Any]) -> list[str]:
        """Returns the name of each tensor; an empty name if the graph does not have it."""
        names = [t.name if getattr(t, "graph", None) is self._body else "" for t in tensors]
        new_names = (self._replacements.get(name, name) for name in names)
        return [name if name.partition(":")[0] in self._names else "" for name in new_names]

    def call(self, one: ObservedCall) -> LayerCall:
        """Returns a call with its ops."""
        ops = tuple(new for name in self._ops[one.first : one.last] if name in self._names for new in self._runs(name))
        ends = (filter(None, dict.fromkeys(self.names_of(end))) for end in (one.inputs, one.outputs))
        return LayerCall(
            ops, *(tuple(f"{self._runs(op_name(t))[-1]}:{t.rpartition(':')[2]}" for t in end) for end in ends)
        )

    def _runs(self, op: str) -> list[str]:
        """Returns the ops that run for an op: the op itself, or the ops that `tf.vectorized_map` has made from it."""
        graph = self.inside.base
        return [graph.names[i] for i in graph.scopes.op_numbers(f"{op}/pfor")] or [op]

    def calls(self, one: ObservedCall) -> list[LayerCall]:
        """Returns a call with its ops, once for each call of the function that contains it."""
        if one.graph is self._body:
            return [self.call(one)]
        result, ops = list[LayerCall](), one.graph.get_operations()[one.first : one.last]
        for path in self._paths.get(id(one.graph), ()):
            ends = (tuple(join_scope(path, t.name) if t.graph is one.graph else ":" for t in end)
                    for end in (one.inputs, one.outputs))  # fmt: skip
            call = LayerCall(tuple(join_scope(path, op.name) for op in ops), *ends)
            there = update_layer(Layer("", "", "", (call,)), self.inside, lambda op: [op])
            result += there.calls if there is not None else ()
        return result

    def variables(self, layer: Any) -> dict[str, Any]:
        """Returns the variables of a layer that are in the graph, by name."""
        by_name = {self._handles.get(id(handle_of(v)), ""): v for v in getattr(layer, "variables", ())}
        return {name: variable for name, variable in by_name.items() if name}

    def variable_names(self, trace: Any) -> dict[str, str]:
        """Returns variable of the graph -> its name in the object that owns it; the names may not be unique."""
        variables = [*((v, v.name) for v in self._body.variables), *trace.variable_names]
        return {self._handles[id(handle_of(v))]: name.removesuffix(":0") for v, name in variables
                if id(handle_of(v)) in self._handles}  # fmt: skip


def handle_of(variable: Any) -> Any:
    """Returns the handle of a TensorFlow or Keras variable; None if it has none."""
    return getattr(variable if isinstance(variable, tf.Variable) else variable.value, "handle", None)


def _input_layers(model: Any, arguments: Sequence[Any]) -> list[Layer]:
    """Returns the input layers of a model. They are never called; their ops are the arguments of the model."""
    symbols = [] if keras_inputs(model) is None else tf.nest.flatten(keras_inputs(model))
    layers = [layer for layer in getattr(model, "layers", ()) if type(layer).__name__ == "InputLayer"]
    if len(symbols) != len(arguments):
        return []
    input_layers = []
    for symbol, argument in zip(symbols, arguments, strict=True):
        names = [layer.name for layer in layers if layer.output is symbol]
        call = LayerCall((argument.op.name,), (), (argument.name,))
        input_layers += [Layer(name, "InputLayer", name, (call,)) for name in names]
    return input_layers
