"""Keras models: converts an edited graph of a Keras model to a Keras model again, and keeps unchanged layers."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...errors import PlanError, counted, few
from ...graph.diff import diff
from ...graph.graph import Graph, Mask
from ...graph.names import free_name, op_name, rename_input
from ...graph.open_graph import Ends
from ...graph.traversal import backward, forward, producers
from ...graph.variables import FEED_TYPES, VARIABLE_TYPES
from ..import_tensorflow import tf
from ..op_types import is_stateful
from ..private.eager import eager, has_mask, keras_inputs, keras_layers
from ..values.variables import fetch
from .definitions import attribute_digest
from .graph_function import input_ends
from .keras_layer import Keras, keras_layer
from .layers import ModelCall, ModelOrigin, TrainingFacts, differs
from .trace import keras_of


@dataclass(frozen=True)
class Surgery:
    """The report on a new Keras model: its layers, compared with the layers of the opened model.

    Args:
        kept_layers: names of the layers of the opened model that the new model shares with it.
        rebuilt_layers: name of another layer of the opened model -> the reason.
        new_layers: names of the new layers that compute everything else.
        notes: further remarks.
        inputs, outputs: the tensors of the graph that the model takes and returns, in the order of Keras.

    Example:
        >>> print(Surgery(("x", "body"), {"head": "'head/MatMul' is gone"}, ("rebuilt",)))
        2 layers are kept from the model: x, body
        'rebuilt' computes the rest
          head  'head/MatMul' is gone
    """

    kept_layers: tuple[str, ...]
    rebuilt_layers: Mapping[str, str] = field(default_factory=dict)
    new_layers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = []
        if self.kept_layers:
            verb = "is kept" if len(self.kept_layers) == 1 else "are kept"
            names = few(self.kept_layers, 12)
            lines.append(f"{counted(len(self.kept_layers), 'layers')} {verb} from the model: {names}")
        if self.new_layers:
            verb = "computes" if len(self.new_layers) == 1 else "compute"
            rest = "the rest" if self.kept_layers else "everything"
            lines.append(f"{few(map(repr, self.new_layers))} {verb} {rest}")
        return "\n".join([*lines, *(f"  {name}  {why}" for name, why in self.rebuilt_layers.items()), *self.notes])


def keras_model(
    graph: Graph,
    first: Graph,
    new_names: Mapping[str, str],
    origin: ModelOrigin | None,
    ends: Ends,
    form: str,
    values: Any,
    name: str | None,
    training: Any,
    request: str,
) -> Any:
    """Returns a Keras model for a graph. It uses the layers of the opened model that no plan has changed.

    Args:
        graph: the snapshot.
        first: the snapshot of the graph when it was opened.
        new_names: op of `first` -> its name in `graph`, if the names differ.
        origin: the model that was opened; None if the graph was not opened from a model.
        ends, values: as in `graph_function`.
        form: whether the model takes ``one`` tensor, a ``list`` or a ``dict`` of tensors; or the ``same`` inputs as the
            opened model.
        name: the name of the model; default: the name of the opened model.
        training: a tensor that is true in training; or (snapshot, renamed, origin, values) of the graph to run in
            training; or None.
        request: the request, for messages.

    Raises:
        SelectionError, PlanError: as in `keras_layer`; or an input has no known rank, or no output depends on an input.
    """
    model_origin = origin or ModelOrigin(None, graph.owner)
    package = Keras if model_origin.model is None else keras_of(model_origin.model)
    mapping = _GraphMapping(first, graph, new_names, model_origin.calls)
    model_inputs = {now: symbol for symbol, was in model_origin.inputs if (now := mapping.current_tensor(was))}
    same = {op_name(t): t for t in model_inputs}
    named_inputs = same if form == "same" else ends.with_argument_names().inputs
    starts = {
        graph.name(graph.tensor(tensor, request)): model_inputs[tensor]
        if tensor in model_inputs and not mapping.is_changed(op_name(tensor))
        else _input(package, graph, key, tensor, request)
        for key, tensor in named_inputs.items()
    }
    results = [mapping.source_of(graph.name(graph.tensor(t, request))) for t in ends.outputs.values()]
    with eager():
        value_source = values() if callable(values) else values
        partition = _LayerPartition(
            mapping,
            model_origin.calls,
            starts,
            results,
            _other_values(graph, mapping, model_origin, value_source, request),
        )
    tensors, layers = dict(partition.have), list[Any]()
    facts = _facts(model_origin, {name: mapping.current_op(name) for name in first.names}, partition)
    if partition.regions:
        _refuse_other_keras(package, request)
    used_names = {one.node.layer.name for one in model_origin.calls}

    def rebuilt(region: _Region) -> list[Any]:
        takes, targets, remapped = region.inputs, list(region.outputs), training
        if not takes:
            how = "A Keras model needs an input: name other outputs"
            raise PlanError(request, f"{few(map(repr, targets))} do not depend on any input", how)
        if isinstance(training, tuple):
            there, other = _training_tensors(model_origin, mapping, *training[1:3]), training[2] or model_origin
            ids = {t: partition.symbols.get(t, 0) for t in takes} | region.outputs
            sides = ([there(t, ids[t]) for t in side] for side in (takes, targets))
            remapped = training[0], Ends().chosen(*sides), training[3], _facts(other, training[1], partition)
        name = free_name("rebuilt", used_names.__contains__)
        used_names.add(name)
        part = Ends().chosen(takes, targets)
        layer = keras_layer(graph, part, value_source, name, remapped, True, request, facts)
        layer.supports_masking = True  # later layers receive their masks as arguments
        layers.append(layer)
        try:
            return list(layer([_cast_input(graph, t, tensors[t]) for t in takes]))
        except ValueError as error:
            infos = {t: graph.info(*graph.tensor(t)) for t in targets}
            unknown = [t for t, about in infos.items() if about is None or about.shape is None]
            if not unknown:
                raise
            how = "Keras needs the number of its dimensions: use ed.keras_layer"
            raise PlanError(request, f"the result {unknown[0]!r} has an unknown shape", how) from error

    partition.replay(tensors, rebuilt)
    symbols: Any = list(starts.values())
    if form == "same":
        symbols = tf.nest.pack_sequence_as(keras_inputs(model_origin.model), symbols)
    elif form == "dict":
        symbols = dict(zip(named_inputs, symbols, strict=True))
    elif form == "one":
        symbols = symbols[0]
    name = name or getattr(model_origin.model, "name", None)
    model = package.Model(symbols, ends.pack([tensors[t] for t in results]), name=name)
    if model_origin.model is not None and getattr(getattr(type(model), "dtype_policy", None), "fset", None):
        model.dtype_policy = model_origin.model.dtype_policy  # in mixed precision, Keras scales the loss
    masked = set(map(mapping.current_tensor, model_origin.masked))
    unmasked = any(
        graph.name(graph.tensor(t)) in masked and not has_mask(tensors[end])
        for t, end in zip(ends.outputs.values(), results, strict=True)
    )
    report = _surgery_of(model, model_origin, partition, layers, unmasked)
    takes = tf.nest.flatten(dict(named_inputs)) if form == "dict" else named_inputs.values()
    gives = tf.nest.flatten(ends.pack(list(ends.outputs.values())))
    model.surgery = replace(report, inputs=tuple(takes), outputs=tuple(gives))
    return model


def _facts(origin: ModelOrigin, new_names: Mapping[str, str], partition: _LayerPartition) -> TrainingFacts:
    """Returns the training facts for the rebuilt regions; without masks, which later layers get as arguments."""
    return replace(origin.facts(new_names, partition.kept_layers), masked=frozenset())


def _input(package: Any, graph: Graph, key: str, tensor: str, request: str) -> Any:
    """Returns a new input of a model, for a tensor of a graph."""
    about = graph.info(*graph.tensor(tensor, request))
    if about is None or not about.shape:
        lack = "an unknown shape" if about is None or about.shape is None else "no dimension"
        how = "Keras needs a batch dimension: name another tensor in inputs=, or use ed.keras_layer"
        raise PlanError(request, f"the input {tensor!r} has {lack}", how)
    return package.Input(about.shape[1:], batch_size=about.shape[0], dtype=about.dtype, name=key)


def _cast_input(graph: Graph, tensor: str, symbol: Any) -> Any:
    """Returns a Keras tensor with its dtype in the graph; for some layers, Keras predicts another dtype."""
    about = graph.info(*graph.tensor(tensor))
    return symbol if about is None or symbol.dtype == about.dtype else Keras.ops.cast(symbol, about.dtype)


def _refuse_other_keras(package: Any, request: str) -> None:
    if not issubclass(Keras.layers.Layer, package.layers.Layer):
        old = package.__name__ == "tf_keras"
        raise PlanError(
            request,
            f"the model is a Keras {2 if old else 3} model, but tf.keras is Keras {3 if old else 2} here",
            f"Start Python with TF_USE_LEGACY_KERAS={int(old)}",
        )


def _other_values(graph: Graph, ways: _GraphMapping, origin: ModelOrigin, values: Any, request: str) -> dict[int, str]:
    """Returns number of a call -> the reason, for layers with a variable whose values differ in graph and model."""
    own = {ways.current_op(name): variable for one in origin.calls for name, variable in one.variables.items()}
    infos = [graph.state.variables[name] for name in own if name in graph.state.variables]
    arrays = fetch(values, infos, graph.live_graph, request)
    other = {name for name, array in arrays.items() if own[name].numpy().tobytes() != np.asarray(array).tobytes()}
    reasons = dict[int, str]()
    for number, one in enumerate(origin.calls):
        for name in one.variables:
            if ways.current_op(name) in other:
                reasons.setdefault(number, f"its {name!r} has another value in the model than in the graph")
    return reasons


def _surgery_of(
    model: Any, origin: ModelOrigin, partition: _LayerPartition, new_layers: Sequence[Any], unmasked: bool
) -> Surgery:
    """Returns the report on a new model."""
    names = tuple(one.name for one in new_layers)
    notes = tuple(dict.fromkeys(note for one in new_layers for note in one.notes))
    if origin.model is None:
        return Surgery((), {}, names, ("no layers are kept: the graph was not opened from a Keras model", *notes))
    if unmasked:
        notes += ("the mask of the outputs is not kept: losses do not get it",)
    policies = [one.dtype_policy.name for one in (origin.model, model) if hasattr(one, "dtype_policy")]
    if len({*policies}) > 1:
        notes += (f"the dtype policy {policies[0]!r} is not kept: it scales the loss in mixed precision",)
    if not _is_plain(origin.model):
        kind = type(origin.model).__name__
        notes = (f"the class {kind!r} is not kept: the new model is a keras.Model", *notes)
    if not origin.calls:
        return Surgery((), {}, names, ("no layers are kept: it is not known how the layers of "
                                       f"{origin.model.name!r} are connected: it is written as a class, or not "
                                       "built", *notes))  # fmt: skip
    layers, kept_ids = origin.model.layers, set(map(id, model.layers))
    removed_layers = [one for one in layers if id(one) not in kept_ids]
    why = {one.name: partition.reason(one) for one in removed_layers}
    omitted = [
        one.name
        for one in removed_layers
        if partition.is_passthrough(one) and any(map(differs, [one, *keras_layers(one)]))
    ]
    if omitted:
        notes += (f"not in the new model, which computes in training as in inference: {few(map(repr, omitted))}",)
    return Surgery(tuple(one.name for one in layers if id(one) in kept_ids), why, names, notes)


def _is_plain(model: Any) -> bool:
    """Whether the class of a model is defined by Keras, or the model is a layer."""
    return not hasattr(model, "train_step") or type(model).__module__.partition(".")[0] in ("keras", "tf_keras")


def _training_tensors(
    model_origin: ModelOrigin, mapping: _GraphMapping, new_names: Mapping[str, str], origin: ModelOrigin | None
) -> Callable[[str, int], str]:
    """Returns a function that maps tensors of a graph to tensors of the training graph of the same model.

    Args:
        model_origin: the model, with the names of the first graph.
        mapping: the mapping from the opened graph to the current graph.
        new_names: op of the training graph when it was opened -> its current name.
        origin: the model, with the names of the training graph.

    Returns:
        a function of (name of a tensor, id of its Keras tensor or 0). It returns the name in the training graph, or the
        same name if this is not known.
    """
    symbols = {mapping.current_tensor(name): symbol for symbol, name in model_origin.tensor_names.items()}
    training_names = (
        {} if origin is None else {key: rename_input(name, new_names) for key, name in origin.tensor_names.items()}
    )
    return lambda tensor, symbol: training_names.get(symbol, training_names.get(symbols.get(tensor, 0), tensor))


class _GraphMapping:
    """Finds the ops of the opened graph in the current graph.

    Args:
        first: the graph when it was opened.
        graph: the current graph.
        new_names: op of `first` -> its current name, if the names differ.
        calls: the calls of layers.
    """

    def __init__(self, first: Graph, graph: Graph, new_names: Mapping[str, str], calls: Sequence[ModelCall]) -> None:
        self.first, self.graph = first, graph
        names = {a: b for a, b in new_names.items() if a in first.index and b in graph.index}
        means = attribute_digest(first.owner), attribute_digest(graph.owner)  # functions may have other names now
        difference = diff(first, graph, mapping=names, meanings=means)
        self._place = dict(zip(first.names, difference.partners.tolist(), strict=True))
        self._changes: dict[str, list[Any]] = {}
        for change in difference.changes:
            if change.kind != "output":  # an op with another static shape is still the same op
                self._changes.setdefault(change.old_op, []).append(change)
        affected = graph.mask([self.number_of(name) for name in self._changes])
        affected |= ~graph.mask(i for i in self._place.values() if i >= 0)
        self.spoilt = forward(graph, affected)
        self.fed = forward(graph, graph.type_mask(FEED_TYPES))
        self._call_ops = {self.number_of(op) for one in calls for op in one.call.ops}

    def number_of(self, op: str) -> int:
        """Returns the number of an op of the first graph in the current graph; -1 if it was removed, or unknown."""
        return self._place.get(op, -1)

    def current_op(self, name: str) -> str:
        """Returns the current name of an op of the first graph; its old name if it was removed."""
        number = self.number_of(name)
        return self.graph.names[number] if number >= 0 else name

    def current_tensor(self, tensor: str) -> str:
        """Returns the current name of a tensor of the first graph; empty if it was removed, or for an empty name."""
        op = op_name(tensor)
        return rename_input(tensor, {op: self.current_op(op)}) if self.number_of(op) >= 0 else ""

    def is_changed(self, op: str) -> bool:
        """Returns whether a plan has changed more than the inputs of an op, given by its current name."""
        was = next((a for a in self._changes if self.current_op(a) == op), None)
        return was is not None and any(change.kind != "input" for change in self._changes[was])

    def source_of(self, tensor: str) -> str:
        """Returns the source of a tensor: skips Identity ops that belong to no layer."""
        op, port = self.graph.tensor(tensor)
        while self._call_ops and self.graph.types[op] == "Identity" and op not in self._call_ops:
            op, port = self.graph.data.ends(op)[0]
        return self.graph.name((op, port))

    def first_change(self, one: ModelCall) -> str:
        """Returns the first change of a call, apart from new input tensors; empty if there is none."""
        for op in one.call.ops:
            if self.number_of(op) < 0:
                return f"{op!r} is gone"
            for change in self._changes.get(op, ()):
                if change.kind != "input" or change.old not in one.call.inputs or not change.new:
                    return f"{change}"
        return ""

    def replaced_inputs(self, one: ModelCall) -> dict[str, str]:
        """Returns original input of a call -> its current replacement; empty if there are several replacements."""
        inputs: dict[str, str] = {}
        for op in one.call.ops:
            before, after = self.first.input_names(self.first.index[op]), self.graph.input_names(self.number_of(op))
            for old, new in zip(before, after, strict=True):
                if old in one.call.inputs:
                    inputs[old] = new if inputs.get(old, new) == new else ""
        return inputs

    def extra_inputs(self, one: ModelCall) -> list[int]:
        """Returns the ops outside of a call that it reads in addition to its arguments, such as variables and masks."""
        own = set(one.call.ops)
        inputs = {t for op in own for t in self.first.input_names(self.first.index[op])} - {*one.call.inputs}
        return [self.number_of(op_name(t)) for t in inputs if op_name(t) not in own]


@dataclass(frozen=True)
class _Region:
    """Ops that no kept layer computes, between the calls of kept layers.

    Args:
        mask: its ops.
        inputs: its inputs.
        outputs: output of the region -> id of its Keras tensor in the opened model, or 0.
    """

    mask: Any
    inputs: list[str]
    outputs: dict[str, int]


class _LayerPartition:
    """Sorts the layer calls: calls that are kept, calls that are repeated, and calls in the regions between them.

    Calls that are kept have unchanged inputs. Other unchanged calls are repeated with other tensors, if all other ops
    read only their outputs. A layer is kept if all its calls are kept or repeated, or if it has no variables.

    Args:
        mapping: the mapping from the opened graph to the current graph.
        calls: the calls of layers.
        model_inputs: input of the new model, by name -> its Keras tensor.
        model_outputs: the outputs of the new model, by name.
        changed: number of a call that cannot be kept -> the reason.
    """

    def __init__(
        self, mapping: _GraphMapping, calls: Sequence[ModelCall], model_inputs: Mapping[str, Any],
        model_outputs: Sequence[str],
        changed: dict[int, str],
    ) -> None:  # fmt: skip
        self._mapping, self._calls = mapping, calls
        self._model_inputs, self._model_outputs = model_inputs, model_outputs
        graph = mapping.graph
        cuts = frozenset(map(graph.tensor, model_inputs))
        self._needed_ops = backward(graph, producers(graph, map(graph.tensor, model_outputs), cuts), cuts)
        for number, one in enumerate(calls):
            if number not in changed and (what := mapping.first_change(one)):
                changed[number] = what
        self._changed, self._blocked = changed, dict[int, str]()
        self._inputs = {n: mapping.replaced_inputs(one) for n, one in enumerate(calls) if n not in changed}
        self._producers = {id(symbol): n for n, one in enumerate(calls) for symbol in one.node.outputs}
        while True:
            self._before()
            self._again()
            more = self._order_calls() or self._broken()
            if not more:
                break
            self._changed |= more

    def _before(self) -> None:
        """Finds the calls with unchanged inputs, starting from the inputs."""
        ways = self._mapping
        #: Tensor of the graph -> its Keras tensor.
        self.have: dict[str, Any] = dict(self._model_inputs)
        self.first: set[int] = set()
        #: Id of a Keras tensor of the opened model -> the Keras tensor of the new model.
        self._symbols = {id(symbol): symbol for symbol in self._model_inputs.values()}
        for number, one in enumerate(self._calls):
            if (
                number in self._changed
                or not {id(t) for t in one.node.inputs} <= self._symbols.keys()
                or any(new != ways.current_tensor(old) for old, new in self._inputs[number].items())
                or ways.spoilt[ways.extra_inputs(one)].any()
            ):
                continue
            self.first.add(number)
            for symbol in one.node.outputs:
                was = one.name_of(symbol)
                now = ways.current_tensor(was)
                if was and not (now in self._model_inputs and op_name(was) in one.call.ops):
                    self._symbols[id(symbol)] = self.have[now] = symbol

    def _again(self) -> None:
        """Finds the calls that can be repeated with other tensors, starting from the outputs."""
        ways = self._mapping
        self.last: set[int] = set()
        self._blocked = {}
        #: Number of one of these calls -> {id of a Keras input tensor: the tensor of the graph that replaces it}.
        self._new_inputs: dict[int, dict[int, str]] = {}
        #: Id of the Keras result of a call without ops -> the tensor of the graph that the call passes on now.
        self._passthroughs: dict[int, str] = {}
        demanded: dict[int, set[str]] = {}
        own: set[int] = set()
        for number in reversed(range(len(self._calls))):
            if number in self.first or number in self._changed:
                continue
            one, reads = self._calls[number], self._inputs[number]
            ops = {ways.number_of(op) for op in one.call.ops}
            asked = {id(t): one.tensors[id(t)] for t in one.node.outputs if id(t) in demanded}
            if not any(self._needed_ops[op] for op in ops) if ops else not asked:
                continue
            needs, replacements = dict[int, str](), dict[str, str]()
            for key, was in asked.items():
                replacements[was] = next(iter(demanded[key])) if len(demanded[key]) == 1 else ""
            for symbol in one.node.inputs:
                was = one.name_of(symbol)
                needs[id(symbol)] = reads.get(was, replacements.get(was, ways.current_tensor(was)))
            reader = self._inner_reader(one, ops, ops | own)
            if reader:
                self._blocked[number] = f"{reader!r} reads its output"
            elif not all(needs.values()):
                self._blocked[number] = "one of its inputs is replaced by different tensors"
            else:
                for key, new in needs.items():
                    demanded.setdefault(key, set()).add(new)
                self._new_inputs[number] = needs
                self._passthroughs |= {
                    key: replacements[was] for key, was in asked.items() if op_name(was) not in one.call.ops
                }
                self.last.add(number)
                own |= ops

    def _inner_reader(self, one: ModelCall, ops: set[int], within: set[int]) -> str:
        """Returns an outside op that reads a tensor of a call which is not an output; empty if there is none."""
        graph, ways = self._mapping.graph, self._mapping
        outputs = {graph.tensor(now) for t in one.node.outputs if (now := ways.current_tensor(one.name_of(t)))}
        for op in ops:
            for reader in {*graph.consumers.row(op).tolist(), *graph.control_consumers.row(op).tolist()} - within:
                inner = any(end[0] == op and end not in outputs for end in graph.data.ends(reader))
                if self._needed_ops[reader] and (inner or reader in graph.control_consumers.row(op)):
                    return str(graph.names[reader])
        return ""

    def _order_calls(self) -> dict[int, str]:
        """Orders the calls to repeat and the regions between them; returns calls that cannot be kept -> the reasons."""
        ways, graph = self._mapping, self._mapping.graph
        #: The numbers of the calls to repeat, and the regions between them, in order.
        self.steps: list[int | _Region] = []
        #: Tensor of the graph -> id of its Keras tensor in the opened model, or 0.
        self.symbols = symbols = {name: id(symbol) for name, symbol in self.have.items()}
        computed, waiting = {*self._symbols}, sorted(self.last)
        state = graph.type_mask([kind for kind in set(graph.types) if kind in VARIABLE_TYPES or is_stateful(kind)])
        once = graph.mask([])
        while True:
            demanded: dict[str, int] = {}
            for number in list(waiting):
                missing = dict(self._missing_inputs(number, computed, symbols, waiting))
                if missing or any(self._is_blocked(number, key, waiting) for key in self._new_inputs[number]):
                    demanded = missing | demanded
                    continue
                waiting.remove(number)
                self.steps.append(number)
                one = self._calls[number]
                for symbol in one.node.outputs:
                    computed.add(id(symbol))
                    if id(symbol) in one.tensors and id(symbol) not in self._passthroughs:
                        symbols[ways.current_tensor(one.tensors[id(symbol)])] = id(symbol)
            demanded |= {name: 0 for name in self._model_outputs if name not in symbols and name not in demanded}
            if not demanded:
                return {}
            region, ready, reached = self._ready(demanded, symbols, waiting)
            if not ready:
                return {waiting[0]: "it reads a tensor that is computed from its output"} if waiting else {}
            double = np.flatnonzero(region.mask & once)
            if len(double):
                calls = [step for step in self.steps if isinstance(step, int)]
                why = f"the rebuilt layers before and after it both need {graph.names[double[0]]!r}"
                return dict.fromkeys(calls, why)
            once |= region.mask & (state | reached)
            self.steps.append(region)
            symbols |= region.outputs

    def _missing_inputs(
        self, number: int, symbols: Container[int], tensors: Container[str], pending: Container[int]
    ) -> Iterator[tuple[str, int]]:
        """Yields (input of a call that is not computed yet, id of its Keras tensor or 0)."""
        for key, now in self._new_inputs[number].items():
            own = self._own(number, key)
            if now not in tensors and not (own and key in symbols) and not self._is_blocked(number, key, pending):
                yield now, key if own else 0

    def _own(self, number: int, key: int) -> bool:
        """Whether an input of a call still comes from the same call as in the opened model."""
        now = self._mapping.current_tensor(self._calls[number].tensors[key])
        return self._new_inputs[number][key] == self._passthroughs.get(key, now)

    def _is_blocked(self, number: int, key: int, pending: Container[int]) -> bool:
        """Whether an input of a call comes from another call that is still waiting."""
        return self._own(number, key) and self._producers.get(key) in pending

    def _ready(
        self, required: Mapping[str, int], tensors: Mapping[str, int], pending: Sequence[int]
    ) -> tuple[_Region, list[str], Mask]:
        """Returns the next region, the demanded tensors that it computes, and the ops that depend on given tensors.

        No waiting call is needed for these demanded tensors. The region also computes tensors that later regions read.
        """
        graph = self._mapping.graph
        cuts = frozenset(map(graph.tensor, tensors))
        blocked = graph.mask(self._mapping.number_of(op) for n in pending for op in self._calls[n].call.ops)
        reached = forward(graph, graph.mask(op for end in cuts for op, _ in graph.consumers_of(end)))
        needs = {name: backward(graph, graph.mask([graph.tensor(name)[0]]), cuts) for name in required}
        ready = [name for name in required if not (needs[name] & blocked).any()]
        if pending and not any(reached[graph.tensor(name)[0]] for name in ready):
            ready = []  # constants alone do not become a layer
        mask, later = graph.mask([]), graph.mask([])
        for name in required:
            part = mask if name in ready else later
            part |= needs[name]
        shared = {graph.name(end) for end in input_ends(graph, later & ~mask & ~blocked) if (mask & reached)[end[0]]}
        wanted = {name: required[name] for name in ready} | {n: 0 for n in sorted(shared) if n not in required}
        used_tensors = input_ends(graph, mask)
        region = _Region(mask, [name for name in tensors if graph.tensor(name) in used_tensors], wanted)
        return region, ready, reached

    @property
    def regions(self) -> list[_Region]:
        """The regions that are rebuilt."""
        return [step for step in self.steps if isinstance(step, _Region)]

    def _broken(self) -> dict[int, str]:
        """Returns number of a call that cannot be kept after the calls were sorted -> the reason."""
        ways, graph, reasons = self._mapping, self._mapping.graph, dict[int, str]()
        behind = {ways.number_of(op) for number in self.last for op in self._calls[number].call.ops}
        for number in self.last:
            beside = ways.extra_inputs(self._calls[number])
            moving = [i for i in beside if ways.spoilt[i] or (ways.fed[i] and i not in behind)]
            if moving:
                reasons[number] = f"it reads {graph.names[moving[0]]!r}, which is not an argument of its call"
        rebuilt = np.any([graph.mask([]), *(region.mask for region in self.regions)], axis=0)
        variables = {graph.names[i] for i in np.flatnonzero(rebuilt & graph.type_mask(VARIABLE_TYPES)).tolist()}
        for number in self.first | self.last:
            shared = [name for name in map(ways.current_op, self._calls[number].variables) if name in variables]
            if shared:
                reasons[number] = f"the rebuilt layer reads its {shared[0]!r}"
        return reasons

    @property
    def kept_layers(self) -> frozenset[int]:
        """The ids of the kept layers."""
        return frozenset(id(self._calls[number].node.layer) for number in self.first | self.last)

    def replay(self, tensors: dict[str, Any], call_region: Callable[[_Region], Sequence[Any]]) -> None:
        """Repeats the calls of layers, and calls the layers of the rebuilt regions between them.

        Args:
            tensors: tensor of the graph -> Keras tensor; the outputs of the layers are added.
            call_region: a function that makes and calls the layer of a region, and returns its outputs.
        """
        tensors_by_id = dict(self._symbols)
        for step in self.steps:
            if isinstance(step, _Region):
                tensors.update(zip(step.outputs, call_region(step), strict=True))
                continue
            one, needs = self._calls[step], self._new_inputs[step]
            new = {key: tensors_by_id[key] if self._own(step, key) and key in tensors_by_id else tensors[now]
                   for key, now in needs.items()}  # fmt: skip
            for symbol, tensor in zip(one.node.outputs, one.node.repeat_call(new), strict=True):
                tensors_by_id[id(symbol)] = tensor
                if id(symbol) in one.tensors and id(symbol) not in self._passthroughs:
                    tensors[self._mapping.current_tensor(one.tensors[id(symbol)])] = tensor

    def is_needed(self, layer: Any) -> bool:
        """Returns whether the outputs need the ops of a layer."""
        places = [self._mapping.number_of(op) for one in self._of(layer) for op in self._calls[one].call.ops]
        return any(i >= 0 and self._needed_ops[i] for i in places)

    def is_passthrough(self, layer: Any) -> bool:
        """Returns whether a layer has no ops, such as dropout in inference, and passes on a tensor that is needed."""
        calls = [self._calls[one] for one in self._of(layer)]
        tensors = [self._mapping.current_tensor(one.name_of(t)) for one in calls for t in one.node.outputs]
        ops = [op for one in calls for op in one.call.ops]
        return not ops and any(
            tensor in self._model_inputs or self._needed_ops[self._mapping.graph.index[op_name(tensor)]]
            for tensor in filter(None, tensors)
        )

    def reason(self, layer: Any) -> str:
        """Returns why a layer is not in the new model."""
        numbers = self._of(layer)
        if not numbers:
            return "another input of the model replaces it"
        for reasons in (self._changed, self._blocked):
            for number in numbers:
                if number in reasons:
                    return reasons[number]
        return "it is between layers that are rebuilt" if self.is_needed(layer) else "the outputs do not need it"

    def _of(self, layer: Any) -> list[int]:
        return [number for number, one in enumerate(self._calls) if one.node.layer is layer]
