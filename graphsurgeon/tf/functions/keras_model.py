"""Keras models: a graph that was opened from a Keras model as a model again, of the layers that are as they were."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

from ...errors import PlanError
from ...graph.diff import diff
from ...graph.graph import Graph
from ...graph.names import free_name, op_name, renamed_end
from ...graph.traversal import backward, forward
from ...graph.variables import FEED_TYPES, VARIABLE_TYPES
from ...words import counted, few
from ..private.eager import eager, keras_inputs, keras_layers
from ..values.variables import fetch
from .graph_function import arguments, as_asked, read_by, tensors_of
from .keras_layer import Keras, keras_layer
from .layer_calls import Origin, Placed
from .library import meaning
from .traces import keras_of


@dataclass(frozen=True)
class Surgery:
    """What of a Keras model that was made of a graph is of the model that was opened.

    Args:
        kept: names of the layers that are the same objects.
        rebuilt: name of a layer that is not -> why.
        layer: name of the layer that computes the rest; empty where nothing is left for it.
        notes: what else is to be known.

    Example:
        >>> print(Surgery(("x", "body"), {"head": "'head/MatMul' is gone"}, "rebuilt"))
        2 layers are those of the model: x, body
        'rebuilt' computes the rest
          head  'head/MatMul' is gone
    """

    kept: tuple[str, ...]
    rebuilt: Mapping[str, str] = field(default_factory=dict)
    layer: str = ""
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        verb = "is that" if len(self.kept) == 1 else "are those"
        lines = [f"{counted(len(self.kept), 'layers')} {verb} of the model: {few(self.kept, 12)}"] if self.kept else []
        lines += [f"{self.layer!r} computes {'the rest' if self.kept else 'it all'}"] if self.layer else []
        return "\n".join([*lines, *(f"  {name}  {why}" for name, why in self.rebuilt.items()), *self.notes])


def keras_model(
    graph: Graph,
    first: Graph,
    renamed: Mapping[str, str],
    origin: Origin | None,
    inputs: Any,
    form: str,
    outputs: Any,
    values: Any,
    name: str | None,
    training: Any,
    asked: str,
) -> Any:
    """Returns a Keras model that computes what a graph does, of the layers that no plan has changed.

    Args:
        graph: the snapshot.
        first: the snapshot of the graph as it was opened.
        renamed: op of that -> its name in the graph, where it has another.
        origin: the model that was opened; None where it was none.
        inputs: as in `graph_function`; None for those of the model that was opened.
        form: whether it takes ``one`` tensor, a ``list`` or a ``dict`` of them.
        outputs, values: as in `graph_function`.
        name: what to call the model; default: as the one that was opened.
        training: a tensor that says whether the graph is trained; or (snapshot, renamed, origin, values) of what is
            run in training; or None.
        asked: the request, for messages.

    Raises:
        SelectionError, PlanError: as `keras_layer`; an input has no known rank; no output depends on an input.
    """
    known = origin or Origin(None, graph.owner)
    package = Keras if known.model is None else keras_of(known.model)
    ways = _Ways(first, graph, renamed, known.calls)
    given = {now: symbol for symbol, was in known.inputs if (now := ways.now(was))}
    named = {op_name(t): t for t in given} if inputs is None else arguments(inputs)
    starts = {
        graph.name(graph.tensor(tensor, asked)): given[tensor]
        if tensor in given and not ways.changed(op_name(tensor))
        else _input(package, graph, key, tensor, asked)
        for key, tensor in named.items()
    }
    ends = [ways.behind(graph.name(graph.tensor(t, asked))) for t in tensors_of(outputs)]
    with eager():
        held = values() if callable(values) else values
        sorting = _Sorting(ways, known.calls, starts, ends, _other_values(graph, ways, known, held, asked))
    made = dict(sorting.have)
    frozen = _frozen(known, ways)
    layer = None
    if sorting.wanted:
        _refuse_other_keras(package, asked)
        used, takes, wanted = {one.node.layer.name for one in known.calls}, sorting.takes(asked), list(sorting.wanted)
        remapped = training
        if isinstance(training, tuple):
            there = _elsewhere(known, ways, *training[1:3])
            ids = {t: id(made[t]) for t in takes} | sorting.wanted
            remapped = training[0], *([there(t, ids[t]) for t in side] for side in (takes, wanted)), training[3]
        layer = keras_layer(
            graph, takes, wanted, held, free_name("rebuilt", used.__contains__), remapped, True, asked, frozen
        )
        layer.supports_masking = True  # the layers behind it take theirs as arguments
        made.update(zip(wanted, layer([_typed(graph, t, made[t]) for t in takes]), strict=True))
    sorting.replay(made)
    symbols: Any = list(starts.values())
    if inputs is None:
        symbols = tf.nest.pack_sequence_as(keras_inputs(known.model), symbols)
    elif form == "dict":
        symbols = dict(zip(named, symbols, strict=True))
    elif form == "one":
        symbols = symbols[0]
    name = name or getattr(known.model, "name", None)
    model = package.Model(symbols, as_asked(outputs, [made[t] for t in ends]), name=name)
    model.surgery = _surgery_of(model, known, sorting, layer, training)
    return model


def _input(package: Any, graph: Graph, key: str, tensor: str, asked: str) -> Any:
    """A new input of a model, for a tensor of a graph."""
    about = graph.info(*graph.tensor(tensor, asked))
    dims = None if about is None else about.shape
    if about is None or dims is None or not dims:
        wrong = f"the input {tensor!r} has {'no dimension' if dims is not None else 'a shape that nobody knows'}"
        how = "Keras wants a batch: name another tensor in inputs=, or use ed.keras_layer"
        raise PlanError(asked, wrong, how)
    return package.Input(dims[1:], batch_size=dims[0], dtype=about.dtype, name=key)


def _typed(graph: Graph, tensor: str, symbol: Any) -> Any:
    """A tensor of Keras in the dtype that it has in the graph: of some layers Keras foretells another."""
    about = graph.info(*graph.tensor(tensor))
    return symbol if about is None or symbol.dtype == about.dtype else Keras.ops.cast(symbol, about.dtype)


def _refuse_other_keras(package: Any, asked: str) -> None:
    if not issubclass(Keras.layers.Layer, package.layers.Layer):
        old = package.__name__ == "tf_keras"
        raise PlanError(
            asked,
            f"the model is of Keras {2 if old else 3}, and TensorFlow makes layers of Keras {3 if old else 2} here",
            f"Start Python with TF_USE_LEGACY_KERAS={int(old)}",
        )


def _frozen(known: Origin, ways: _Ways) -> frozenset[str]:
    """The variables that the model does not train, as they are called now."""
    trained = {id(v) for v in getattr(known.model, "trainable_variables", ())}
    return frozenset(ways.op(name) for name, v in known.variables.items() if id(v) not in trained)


def _other_values(graph: Graph, ways: _Ways, known: Origin, held: Any, asked: str) -> dict[int, str]:
    """The calls of layers whose variables hold something else in the graph than in the model, each with one of them."""
    own = {ways.op(name): variable for one in known.calls for name, variable in one.variables.items()}
    infos = [graph.state.variables[name] for name in own if name in graph.state.variables]
    arrays = fetch(held, infos, graph.live, asked)
    other = {name for name, array in arrays.items() if own[name].numpy().tobytes() != np.asarray(array).tobytes()}
    found = {}
    for number, one in enumerate(known.calls):
        differing = next((name for name in one.variables if ways.op(name) in other), None)
        if differing is not None:
            found[number] = f"its {differing!r} holds another value in the model than here"
    return found


def _surgery_of(model: Any, known: Origin, sorting: _Sorting, layer: Any, training: Any) -> Surgery:
    """What is to be said of a model that was made."""
    name = "" if layer is None else layer.name
    if known.model is None:
        return Surgery((), {}, name, ("the graph was not opened from a Keras model, which alone knows its layers",))
    if not known.calls:
        return Surgery((), {}, name, (f"{known.model.name!r} does not say how its layers are connected: it is written "
                                      "as a class, or not built",))  # fmt: skip
    layers = list(known.model.layers)
    stay = [one for one in layers if any(one is other for other in model.layers)]
    gone = [one for one in layers if not any(one is other for other in stay)]
    why = {one.name: sorting.why(one) for one in gone}
    random = [one.name for one in gone if sorting.needs(one) and any(map(_differs, [one, *keras_layers(one)]))]
    notes = [f"in training too, {few(map(repr, random))} do as in inference: with the same plan applied to "
             "gs.open(model, training=True), give that as training="] * (bool(random) and training is None)  # fmt: skip
    return Surgery(tuple(one.name for one in stay), why, name, tuple(notes))


def _differs(layer: Any) -> bool:
    """Whether a layer does something else in training: it draws numbers, or keeps averages."""
    if hasattr(layer, "layers") or "training" not in inspect.signature(layer.call).parameters:
        return False
    if any(getattr(layer, word, 0) for word in ("rate", "dropout", "recurrent_dropout")):
        return True
    return bool(layer.trainable and layer.non_trainable_variables) and not hasattr(layer, "recurrent_dropout")


def _elsewhere(
    known: Origin, ways: _Ways, renamed: Mapping[str, str], origin: Origin | None
) -> Callable[[str, int], str]:
    """Returns what the tensors of a graph are called in that of the same model which was opened for training.

    Args:
        known: the model, in words of the first graph.
        ways: what became of its ops.
        renamed: of the other graph, op as it was opened -> its name now.
        origin: the model, in words of the other graph.

    Returns:
        A call: name of a tensor, id of the tensor of Keras that it is, or 0 -> its name there, where that is known.
    """
    symbols = {ways.now(name): symbol for symbol, name in known.named.items()}
    named = {} if origin is None else {key: renamed_end(name, renamed) for key, name in origin.named.items()}
    return lambda tensor, symbol: named.get(symbol, named.get(symbols.get(tensor, 0), tensor))


class _Ways:
    """What became of the ops of a graph.

    Args:
        first: the graph as it was opened.
        graph: as it is now.
        renamed: op of the first -> its name now, where that is another.
        calls: the calls of layers.
    """

    def __init__(self, first: Graph, graph: Graph, renamed: Mapping[str, str], calls: Sequence[Placed]) -> None:
        self.first, self.graph = first, graph
        names = {a: b for a, b in renamed.items() if a in first.index and b in graph.index}
        means = meaning(first.owner), meaning(graph.owner)  # a graph built anew has functions of other names
        found = diff(first, graph, mapping=names, meanings=means)
        self._place = found.place.tolist()
        self._changes: dict[str, list[Any]] = {}
        for change in found.changes:
            if change.kind != "output":  # what is said of a shape is no other op
                self._changes.setdefault(change.was_op, []).append(change)
        spoilt = graph.mask([self.place(name) for name in self._changes])
        spoilt |= ~graph.mask([i for i in self._place if i >= 0])
        self.spoilt = forward(graph, spoilt)
        self.fed = forward(graph, graph.typed(FEED_TYPES))
        self._made = {self.place(op) for one in calls for op in one.call.ops}

    def place(self, op: str) -> int:
        """Returns the number of an op of the first graph in this one; -1 where it is gone."""
        return self._place[self.first.index[op]]

    def op(self, name: str) -> str:
        """Returns what an op of the first graph is called now; as it was called, where it is gone."""
        return self.graph.names[self.place(name)] if name in self.first.index and self.place(name) >= 0 else name

    def now(self, tensor: str) -> str:
        """Returns what a tensor of the first graph is called now; empty where it is gone."""
        op = op_name(tensor)
        return renamed_end(tensor, {op: self.op(op)}) if self.place(op) >= 0 else ""

    def changed(self, op: str) -> bool:
        """Returns whether a plan has made something else of an op, given by its name now; inputs do not count."""
        was = next((a for a in self._changes if self.op(a) == op), None)
        return was is not None and any(change.kind != "input" for change in self._changes[was])

    def behind(self, tensor: str) -> str:
        """Returns what a result is, past the ops of no layer that only pass it on."""
        op, port = self.graph.tensor(tensor)
        while self._made and self.graph.types[op] == "Identity" and op not in self._made:
            op, port = self.graph.data.ends(op)[0]
        return self.graph.name((op, port))

    def touched(self, one: Placed) -> str:
        """Returns what is done to a call, but for reading other tensors; empty for nothing."""
        for op in one.call.ops:
            if self.place(op) < 0:
                return f"{op!r} is gone"
            for change in self._changes.get(op, ()):
                if change.kind != "input" or change.was not in one.call.inputs or not change.now:
                    return f"{change}"
        return ""

    def reads(self, one: Placed) -> dict[str, str]:
        """Returns tensor that a call took -> what it takes now in its place; empty text where it takes several."""
        found: dict[str, str] = {}
        for op in one.call.ops:
            before, after = self.first.input_names(self.first.index[op]), self.graph.input_names(self.place(op))
            for old, new in zip(before, after, strict=True):
                if old in one.call.inputs:
                    found[old] = new if found.get(old, new) == new else ""
        return found

    def beside(self, one: Placed) -> list[int]:
        """Returns the ops outside that a call reads besides what it is given, as variables and masks."""
        own = set(one.call.ops)
        read = {t for op in own for t in self.first.input_names(self.first.index[op])} - {*one.call.inputs}
        return [self.place(op_name(t)) for t in read if op_name(t) not in own]


class _Sorting:
    """Which calls of layers stay as they are, before and behind what is rebuilt, and what that is.

    Those before it read what they read. Those behind it are called again, with other tensors, and all that needs them
    is behind it too. A layer stays where all its calls do, or where it has no variables.

    Args:
        ways: what became of the ops.
        calls: the calls of layers.
        starts: input of the new model, by name -> its tensor of Keras.
        ends: what the new model gives, by name.
        touched: number of a call that cannot stay -> why.
    """

    def __init__(
        self, ways: _Ways, calls: Sequence[Placed], starts: Mapping[str, Any], ends: Sequence[str],
        touched: dict[int, str],
    ) -> None:  # fmt: skip
        self._ways, self._calls, self._starts, self._ends = ways, calls, starts, ends
        graph = ways.graph
        cuts = frozenset(map(graph.tensor, starts))
        self._live = backward(graph, graph.mask(i for i, p in map(graph.tensor, ends) if (i, p) not in cuts), cuts)
        for number, one in enumerate(calls):
            if number not in touched and (what := ways.touched(one)):
                touched[number] = what
        self._touched, self._left = touched, dict[int, str]()
        self._reads = {n: ways.reads(one) for n, one in enumerate(calls) if n not in touched}
        while True:
            self._sort()
            more = self._broken()
            if not more:
                break
            self._touched |= more

    def _sort(self) -> None:
        """Finds the calls before and behind, and what they leave."""
        self._before()
        self._behind()
        #: What is rebuilt gives these, each with the id of the tensor of Keras that it is, or 0.
        self.wanted: dict[str, int] = {}
        self.replay(dict(self.have), self.wanted)

    def _before(self) -> None:
        """Finds the calls that read what they read, from the inputs on."""
        ways = self._ways
        #: Tensor of the graph -> the tensor of Keras that is it.
        self.have: dict[str, Any] = dict(self._starts)
        self.first: set[int] = set()
        fit = {id(symbol) for symbol in self._starts.values()}
        for number, one in enumerate(self._calls):
            reads = self._reads.get(number)
            if reads is None or number in self._touched or not {id(t) for t in one.node.inputs} <= fit:
                continue
            if any(new != ways.now(old) for old, new in reads.items()) or ways.spoilt[ways.beside(one)].any():
                continue
            self.first.add(number)
            for symbol in one.node.outputs:
                was = one.tensors.get(id(symbol), "")
                if was and not (ways.now(was) in self._starts and op_name(was) in one.call.ops):
                    fit.add(id(symbol))
                    self.have[ways.now(was)] = symbol

    def _behind(self) -> None:
        """Finds the calls that only the outputs and such calls read, from the outputs on."""
        ways, graph = self._ways, self._ways.graph
        self.last: set[int] = set()
        self._left = {}
        #: id of a tensor of Keras that such a call takes -> tensor of the graph that it takes in its place.
        self._need: dict[int, str] = {}
        own: set[int] = set()
        for number in reversed(range(len(self._calls))):
            if number in self.first or number in self._touched:
                continue
            one, reads = self._calls[number], self._reads[number]
            ops = {ways.place(op) for op in one.call.ops}
            passed = {one.tensors[i]: self._need[i] for t in one.node.outputs if (i := id(t)) in self._need}
            if not any(self._live[op] for op in ops) if ops else not passed:
                continue
            readers = {r for op in ops for edges in (graph.consumers, graph.control_consumers)
                       for r in edges.row(op).tolist() if self._live[r]} - ops - own  # fmt: skip
            needs = {}
            for symbol in one.node.inputs:
                was = one.tensors.get(id(symbol), "")
                needs[id(symbol)] = reads.get(was, passed.get(was, ways.now(was)) if was else "")
            if readers:
                self._left[number] = f"{graph.names[min(readers)]!r} reads what it gives"
            elif not all(needs.values()) or any(self._need.get(key, new) != new for key, new in needs.items()):
                self._left[number] = "what it reads is another tensor in one place than in another"
            else:
                self._need |= needs
                self.last.add(number)
                own |= ops

    def _broken(self) -> dict[int, str]:
        """The calls that cannot stay after all, and why."""
        ways, graph, found = self._ways, self._ways.graph, dict[int, str]()
        behind = {ways.place(op) for number in self.last for op in self._calls[number].call.ops}
        for number in self.last:
            beside = ways.beside(self._calls[number])
            moving = [i for i in beside if ways.spoilt[i] or (ways.fed[i] and i not in behind)]
            if moving:
                found[number] = f"it reads {graph.names[moving[0]]!r}, which no call gives it"
        held = {graph.names[i] for i in np.flatnonzero(self._region & graph.typed(VARIABLE_TYPES)).tolist()}
        for number in self.first | self.last:
            shared = [name for name in map(ways.op, self._calls[number].variables) if name in held]
            if shared:
                found[number] = f"what is rebuilt reads its {shared[0]!r}"
        return found

    @property
    def _region(self) -> Any:
        """The ops that are rebuilt."""
        graph = self._ways.graph
        cuts = frozenset(map(graph.tensor, self.have))
        return backward(graph, graph.mask(graph.tensor(name)[0] for name in self.wanted), cuts)

    def takes(self, asked: str) -> list[str]:
        """Returns the tensors that what is rebuilt takes.

        Raises:
            PlanError: there are none.
        """
        graph = self._ways.graph
        read = read_by(graph, self._region)
        found = [name for name in self.have if graph.tensor(name) in read]
        if not found:
            how = "Keras has no model without an input: name other outputs"
            raise PlanError(asked, f"{few(map(repr, self.wanted))} depend on no input", how)
        return found

    def replay(self, made: dict[str, Any], wanted: dict[str, int] | None = None) -> None:
        """Calls the layers behind what is rebuilt again.

        Args:
            made: tensor of the graph -> tensor of Keras; what the layers give is added.
            wanted: where only what has to be rebuilt is asked for: gets the tensors that are not made.
        """
        new: dict[int, Any] = {}
        for number in sorted(self.last):
            one = self._calls[number]
            for symbol in one.node.inputs:
                now = self._need[id(symbol)]
                own = now == self._ways.now(one.tensors[id(symbol)])
                if id(symbol) in new and own:
                    continue
                if now not in made and wanted is not None:
                    wanted[now] = id(symbol) if own else 0
                    made[now] = None
                new[id(symbol)] = made[now]
            given = [None] * len(one.node.outputs) if wanted is not None else one.node.again(new)
            for symbol, tensor in zip(one.node.outputs, given, strict=True):
                new[id(symbol)] = tensor
                if id(symbol) in one.tensors:
                    made[self._ways.now(one.tensors[id(symbol)])] = tensor
        for now in self._ends:
            if now not in made and wanted is not None:
                wanted[now], made[now] = 0, None

    def needs(self, layer: Any) -> bool:
        """Returns whether the outputs need what a layer has made."""
        places = [self._ways.place(op) for one in self._of(layer) for op in self._calls[one].call.ops]
        return any(i >= 0 and self._live[i] for i in places)

    def why(self, layer: Any) -> str:
        """Returns why a layer is not in the new model."""
        numbers = self._of(layer)
        if not numbers:
            return "the model has another input in its place"
        for known in (self._touched, self._left):
            for number in numbers:
                if number in known:
                    return known[number]
        return "it is between others that are rebuilt" if self.needs(layer) else "the outputs do not need it"

    def _of(self, layer: Any) -> list[int]:
        return [number for number, one in enumerate(self._calls) if one.node.layer is layer]
