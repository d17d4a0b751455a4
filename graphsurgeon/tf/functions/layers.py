"""Layers of traced objects in plain graphs, and properties of Keras models that graphs do not contain."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ...errors import few
from ...graph.calls import CallTree
from ...graph.graph import Graph, Mask
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
from ...graph.names import join_scope, op_name, rename_input
from ...graph.traversal import backward, producers
from ...graph.types import TFGraph
from ...graph.variables import FEED_TYPES, VARIABLE_TYPES
from ..import_tensorflow import tf
from ..open.snapshot import snapshot
from ..private.eager import (
    KerasNode,
    has_mask,
    keras_inputs,
    keras_layers,
    keras_losses,
    keras_nodes,
    keras_regularizers,
)
from ..private.functions import bodies
from .expand import function_body
from .trace import LiftedGraph, ObservedCall, TracedFunction, arguments_of, handle_of

_NO_LAYERS = "no Keras layer or module is called in it, or none with a scope or function of its name"


def layers_of(trace: TracedFunction, lifted_graph: LiftedGraph) -> Layers:
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


def _uncalled_layers(trace: TracedFunction, names: _LiftedNames) -> list[VariableOwner]:
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


def _owners(trace: TracedFunction, names: _LiftedNames) -> list[VariableOwner]:
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


def origin_of(trace: TracedFunction, lifted_graph: LiftedGraph) -> ModelOrigin:
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


def _effects(trace: TracedFunction, names: _LiftedNames) -> tuple[LayerEffect, ...]:
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


def _masked_tensors(trace: TracedFunction, lifted_graph: LiftedGraph, names: _LiftedNames) -> frozenset[str]:
    """Returns the tensors with a mask: outputs of layers, and of the model."""
    tensors = [t for one in trace.observed_calls for t in one.outputs]
    masked = {*filter(None, names.names_of([*filter(has_mask, tensors)]))}
    own = next((one.outputs for one in trace.observed_calls if one.layer is trace.model), ())
    ends = zip(own, lifted_graph.outputs.values(), strict=True) if len(own) == len(lifted_graph.outputs) else ()
    return frozenset(masked | {end for t, end in ends if has_mask(t)})


def _connections(trace: TracedFunction, lifted_graph: LiftedGraph, names: _LiftedNames) -> ModelOrigin:
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
        self.inside = CallTree(snapshot(lifted_graph.graph), function_body)

    @cached_property
    def _paths(self) -> dict[int, list[str]]:
        """Id of the body of a function -> the scopes of its ops, one for each op that calls it."""
        names = {name: id(graph) for name, graph in bodies(self._body).items()}
        paths: dict[int, list[str]] = {}
        for part in CallTree(
            snapshot(self._body), function_body
        ).instances():  # functions of the lifted graph have other names
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

    def variable_names(self, trace: TracedFunction) -> dict[str, str]:
        """Returns variable of the graph -> its name in the object that owns it; the names may not be unique."""
        variables = [*((v, v.name) for v in self._body.variables), *trace.variable_names]
        return {self._handles[id(handle_of(v))]: name.removesuffix(":0") for v, name in variables
                if id(handle_of(v)) in self._handles}  # fmt: skip


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


# -- training ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LayerEffect:
    """The effect of a call of a layer on training, apart from its outputs.

    Args:
        layer: the layer.
        top: the layer of the model that contains the layer, or the layer itself.
        call: the ops of the call.
        losses: the tensors of the losses that the call adds; empty text for a loss that is not in the graph.
        differs: whether the layer behaves differently in training.
    """

    layer: Any
    top: Any
    call: LayerCall
    losses: tuple[str, ...]
    differs: bool


def differs(layer: Any) -> bool:
    """Returns whether a layer behaves differently in training: it draws random numbers, or updates averages."""
    if hasattr(layer, "layers") or "training" not in inspect.signature(layer.call).parameters:
        return False
    if any(getattr(layer, word, 0) for word in ("rate", "dropout", "recurrent_dropout")):
        return True
    if getattr(layer, "lora_enabled", False) or getattr(layer, "quantization_mode", None):
        return False  # its weights that are not trainable are frozen weights, not averages
    return bool(layer.trainable and layer.non_trainable_variables) and not hasattr(layer, "recurrent_dropout")


@dataclass(frozen=True)
class TrainingFacts:
    """Properties of a Keras model that its graph does not contain, with the current names of the graph.

    Args:
        effects: the effects of calls of layers.
        masked: tensors that have a mask.
        variables: variable -> the Keras variable.
        regularizers: variable -> its regularizer, if the Keras variable does not have it.
        renamed: op of the graph when it was opened -> its current name, if the names differ.
        kept_layers: ids of layers that a new model keeps, with their effects.
        training: whether the graph is that of training.

    Example:
        >>> TrainingFacts().added(None, (), (), None)
        ([], [])
    """

    effects: Sequence[LayerEffect] = ()
    masked: frozenset[str] = frozenset()
    variables: Mapping[str, Any] = field(default_factory=dict)
    regularizers: Mapping[str, Any] = field(default_factory=dict)
    renamed: Mapping[str, str] = field(default_factory=dict)
    kept_layers: Container[int] = ()
    training: bool = False

    @cached_property
    def _names(self) -> dict[str, str]:
        return {self.renamed.get(name, name): name for name in self.variables}

    def added(
        self, base: Any, inputs: Iterable[str], outputs: Iterable[str], region: Any
    ) -> tuple[list[str], list[str]]:
        """Returns the losses that the layers of a region add, and notes about losses that cannot be computed in it.

        Args:
            base: the snapshot.
            inputs, outputs: the tensors at the boundary of the region.
            region: mask of its ops.
        """
        losses: list[str] = []
        notes: list[str] = []
        for effect in self._within(base, inputs, outputs, region):
            for loss in (self._now(one) for one in effect.losses):
                lack = self._lack(base, loss, inputs)
                if lack:
                    notes.append(f"{effect.layer.name!r} adds a loss that is not kept: {lack}")
                elif loss not in losses:
                    losses.append(loss)
        return losses, notes

    def notes(
        self, base: Graph, inputs: Iterable[str], outputs: Iterable[str], region: Mask, same_ops: bool
    ) -> list[str]:
        """Returns notes about masks, and about layers that behave differently in training.

        Args:
            base, inputs, outputs, region: as in `added`.
            same_ops: whether the region runs the same ops in training and in inference.
        """
        masked = {self._now(tensor) for tensor in self.masked}
        ends = [tensor for tensor in outputs if tensor in masked]
        notes = [f"the mask of {few(map(repr, ends))} ends here: later layers and losses do not get it"] * bool(ends)
        names = {one.layer.name: None for one in self._within(base, inputs, outputs, region) if one.differs}
        if same_ops and names:
            mode, other = (
                ("inference as in training", "") if self.training else ("training as in inference", ", training=True")
            )
            how = "call its keras_layer with this editor as" if self.training else "give that editor as"
            notes.append(
                f"computed in {mode}: {few(map(repr, names))}. To change this, apply the same plan to "
                f"gs.open(model{other}), and {how} training="
            )
        return notes

    def left_out(self, base: Graph, inputs: Iterable[str], outputs: Iterable[str]) -> list[str]:
        """Returns notes about properties of a part of the model that neither a function nor a file has.

        Args:
            base: the snapshot.
            inputs, outputs: the tensors at the boundary of the part; without outputs, the whole graph.
        """
        inputs, outputs = list(inputs), list(outputs)
        cuts = frozenset(map(base.tensor, inputs))
        goals = producers(base, map(base.tensor, outputs), cuts)
        region = backward(base, goals, cuts) if outputs else ~base.mask([])
        variables = [base.names[i] for i in np.flatnonzero(region).tolist() if base.types[i] in VARIABLE_TYPES]
        masked = {self._now(tensor) for tensor in self.masked}
        losing = [one.layer.name for one in self._within(base, inputs, outputs, region) if one.losses]
        omitted = {
            "losses": losing,
            **{f"{word}s": [name for name in variables if self._of_variable(name, word) is not None]
               for word in ("regularizer", "constraint")},
            "masks": [tensor for tensor in outputs if tensor in masked],
        }  # fmt: skip
        return [f"not included: the {word} of {few(map(repr, dict.fromkeys(names)))}"
                for word, names in omitted.items() if names]  # fmt: skip

    def _of_variable(self, name: str, word: str) -> Any:
        """Returns the regularizer or constraint of a variable; None if it has none."""
        was = self._names.get(name, "")
        thing = getattr(self.variables.get(was), word, None)
        return self.regularizers.get(was) if thing is None and word == "regularizer" else thing

    def weight_constraints(self, name: str, package: Any) -> tuple[dict[str, Any], list[str]]:
        """Returns the regularizer and the constraint of a variable as data, and notes if one cannot be stored.

        Args:
            name: the variable.
            package: the package of Keras.
        """
        about: dict[str, Any] = {}
        notes = []
        for word, module in (("regularizer", package.regularizers), ("constraint", package.constraints)):
            thing = self._of_variable(name, word)
            if thing is None:
                continue
            data = _serialize_object(thing, module)
            if data is None:
                kind = getattr(thing, "__name__", type(thing).__name__)
                lack = f"which Keras {package.__version__} cannot store in a file"
                notes.append(f"{name!r} loses its {word} {kind!r}, {lack}")
            else:
                about[word] = data
        return about, notes

    def _now(self, tensor: str) -> str:
        return rename_input(tensor, self.renamed)

    def _within(self, base: Graph, inputs: Iterable[str], outputs: Iterable[str], region: Mask) -> list[LayerEffect]:
        """Returns the effects of the calls in a region; a call without ops counts if its tensor is in the region."""
        ends = {*inputs, *outputs}
        effects = []
        for one in self.effects:
            if id(one.top) in self.kept_layers:
                continue
            ops = [base.index[op] for op in map(self._now, one.call.ops) if op in base.index]
            if ops and not one.losses:
                effects += [one] if region[ops].any() else []
                continue
            takes, gives = ([t for t in map(self._now, side) if op_name(t) in base.index]
                            for side in (one.call.inputs, one.call.outputs))  # fmt: skip
            cuts = frozenset(map(base.tensor, takes))
            own = base.mask(ops) & backward(base, producers(base, map(base.tensor, gives), cuts), cuts)
            if (region & own).any() or (not own.any() and any(t in ends or region[base.tensor(t)[0]] for t in gives)):
                effects.append(one)
        return effects

    def _lack(self, base: Graph, loss: str, inputs: Iterable[str]) -> str:
        """Returns why a loss cannot be computed from the inputs of a region; empty if it can."""
        if op_name(loss) not in base.index:
            return "its tensor is not in the graph"
        cuts = frozenset(map(base.tensor, inputs))
        needs = backward(base, producers(base, [base.tensor(loss)], cuts), cuts) & base.type_mask(FEED_TYPES)
        needs &= ~producers(base, cuts)
        return f"it needs {f'{base.names[int(needs.argmax())]}:0'!r}, which is not an input" if needs.any() else ""


def _serialize_object(obj: Any, module: Any) -> Any:
    """Returns a regularizer or constraint as data; None if Keras cannot restore it from the data."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Keras warns about a lambda; a note reports it instead
            data = module.serialize(obj)
            again = module.get(data)
    except MemoryError:
        raise
    except Exception:  # user code may raise any error
        return None
    return data if isinstance(data, dict | str) and type(again) is type(obj) else None
