"""Layers: the ops that each Keras layer, or module of a `tf.Module`, has made in a graph, as values."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, overload

import numpy as np

from ..errors import SelectionError, counted, few, nearest
from .calls import CallTree, FunctionInstance
from .functions import callees_of, short_name
from .graph import Graph, Mask
from .names import join_scope, op_name, outer_name, shared_scope
from .types import OpLike
from .variables import VARIABLE_TYPES

_VARIABLE_PARTS = (*VARIABLE_TYPES, "ReadVariableOp", "Const")
NO_SOURCE = "it was not opened from a Keras model or a tf.Module, and only these list their layers"
"""Why a graph has no layers, if no other reason is given."""


@dataclass(frozen=True)
class LayerCall:
    """One call of a layer: the names of its ops, of its input tensors and of its output tensors."""

    ops: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Layer:
    """A Keras layer, or a module of a `tf.Module`, with its ops in the graph. A shared layer has several calls.

    Args:
        name: its own name.
        class_name: its class, such as ``Conv2D``; empty if it is not known.
        path: its name after the names of the models and layers around it: ``encoder/dense``.
        calls: its calls, in order.
        variables: names of the variable ops that it reads, including those of the layers inside it.

    Example:
        >>> call = LayerCall(("m/MatMul", "m/Add"), ("x:0",), ("m/Add:0",))
        >>> layer = Layer("dense", "Dense", "encoder/dense", (call,))
        >>> print(layer)
        encoder/dense  Dense: 2 ops, x:0 -> m/Add:0
    """

    name: str
    class_name: str  # from tf/functions/layers.py for live models, from tf/open/layers.py for files
    path: str
    calls: tuple[LayerCall, ...] = ()
    variables: tuple[str, ...] = ()

    @property
    def ops(self) -> tuple[str, ...]:
        """Names of the ops of all its calls; the ops that contain and read its variables are in `variables`."""
        return tuple(dict.fromkeys(op for call in self.calls for op in call.ops))

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the input tensors of its calls."""
        return tuple(dict.fromkeys(t for call in self.calls for t in call.inputs))

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the result tensors of its calls. A layer that does nothing in the graph returns its inputs."""
        return tuple(dict.fromkeys(t for call in self.calls for t in call.outputs))

    def __str__(self) -> str:
        parts = [counted(len(self.ops), "ops")]
        parts += [counted(len(self.variables), "variables")] if self.variables else []
        parts += [counted(len(self.calls), "calls")] if len(self.calls) > 1 else []
        ends = f"{few(self.inputs) or 'nothing'} -> {few(self.outputs) or 'nothing'}"
        title = f"{self.path}  {self.class_name}" if self.class_name else self.path
        return f"{title}: {', '.join([*parts, ends])}"


class LazyLayers(Sequence[Layer]):
    """Layers that are searched for at the first access.

    Args:
        find: finds the layers.

    Example:
        >>> layers = LazyLayers(lambda: print("found") or (Layer("a", "Dense", "a"),))
        >>> len(layers), [layer.name for layer in layers]
        found
        (1, ['a'])
    """

    def __init__(self, find: Callable[[], Sequence[Layer]]) -> None:
        self._find = find

    @cached_property
    def _layers(self) -> tuple[Layer, ...]:
        return tuple(self._find())

    @overload
    def __getitem__(self, index: int) -> Layer: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Layer]: ...

    def __getitem__(self, index: int | slice) -> Layer | Sequence[Layer]:
        return self._layers[index]

    def __len__(self) -> int:
        return len(self._layers)


@dataclass(frozen=True)
class Layers(Sequence[Layer]):
    """The layers of a graph, in the order of their first calls; a nested model comes before the layers inside it.

    An index is a number, a slice, or the name or path of a layer.

    Args:
        items: the layers.
        removed: path of a layer that an edit has removed -> a description of the edit.
        reason: the reason why there are no layers, or a function that returns the reason.

    Example:
        >>> layers = Layers((Layer("a", "Dense", "net/a"), Layer("b", "ReLU", "net/b"), Layer("c", "Dense", "c")))
        >>> layers["a"].path, [layer.path for layer in layers.matching("net/*")], layers.text
        ('net/a', ['net/a', 'net/b'], '3 (Dense 2, ReLU)')
    """

    items: Sequence[Layer] = ()
    removed: Mapping[str, str] = field(default_factory=dict)
    reason: str | Callable[[], str] = NO_SOURCE

    @overload
    def __getitem__(self, index: int | str) -> Layer: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Layer]: ...

    def __getitem__(self, index: int | slice | str) -> Layer | Sequence[Layer]:
        return self.find(index, f"layers[{index!r}]") if isinstance(index, str) else self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __str__(self) -> str:
        lines = [str(layer) for layer in self] or [f"no layers: {self._reason}"]
        return "\n".join([*lines, *(f"{path}  was removed: {how}" for path, how in self.removed.items())])

    __repr__ = __str__

    @property
    def text(self) -> str:
        """The number of layers of each class, as text."""
        kinds = Counter(layer.class_name or "class unknown" for layer in self)
        texts = [kind + (f" {n:,}" if n > 1 else "") for kind, n in kinds.most_common()]
        return f"{len(self):,} ({few(texts, 6)})"

    @property
    def _reason(self) -> str:
        return self.reason if isinstance(self.reason, str) else self.reason()

    def named(self, name: str) -> list[Layer]:
        """Returns the layers with this path; if there are none, the layers with this name.

        Args:
            name: the path or name of a layer.
        """
        return [one for one in self if one.path == name] or [one for one in self if one.name == name]

    def matching(self, pattern: str) -> list[Layer]:
        """Returns the layers whose path or name fits a pattern with ``*``; case is ignored.

        Args:
            pattern: a path or name, with ``*`` for any text.
        """
        low = pattern.lower()
        return [one for one in self if any(fnmatch.fnmatchcase(t.lower(), low) for t in (one.path, one.name))]

    def of_class(self, pattern: str) -> list[Layer]:
        """Returns the layers whose class fits a pattern with ``*``; case is ignored.

        Args:
            pattern: the name of a class, with ``*`` for any text.
        """
        return [one for one in self if fnmatch.fnmatchcase(one.class_name.lower(), pattern.lower())]

    @property
    def names(self) -> list[str]:
        """The paths of all layers, and the names that only one layer has."""
        counts = Counter(one.name for one in self)
        return [*(one.path for one in self), *(one.name for one in self if counts[one.name] == 1)]

    def similar_names(self, word: str) -> list[str]:
        """Returns the paths and names of layers, including removed ones, that are most similar to a word.

        Args:
            word: the word.
        """
        candidates = [*(one.path for one in self), *(one.name for one in self), *self.removed]
        return list(dict.fromkeys(nearest(word, candidates)))

    def find(self, name: OpLike, request: str = "") -> Layer:
        """Returns the layer with a path, or with a name that no other layer has.

        Args:
            name: text, a `Layer`, or a layer of Keras.
            request: the request, for messages.

        Raises:
            SelectionError: if no layer, or more than one layer, has this path or name.
        """
        text = getattr(name, "path", None) if isinstance(name, Layer) else getattr(name, "name", name)
        request = request or f"layer({text!r})"
        if not isinstance(text, str):
            raise SelectionError(request, f"{name!r} is not the name of a layer", "Give it as text: layer('dense')")
        candidates = self.named(text)
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            problem = f"{counted(len(candidates), 'layers')} are called {text!r}"
            paths = list(dict.fromkeys(one.path for one in candidates))
            if len(paths) < len(candidates):
                raise SelectionError(request, problem, "Choose a layer by its index: ed.layers[0]")
            raise SelectionError(request, problem, f"Type its path: {' or '.join(map(repr, paths))}", names=paths)
        if text in self.removed:
            raise SelectionError(
                request, f"the layer {text!r} was removed: {self.removed[text]}", "ed.undo() restores it"
            )
        raise self._missing(request, f"there is no layer {text!r}", text)

    def find_all(self, patterns: Iterable[str], request: str) -> list[Layer]:
        """Returns the layers of some names, paths or patterns.

        Args:
            patterns: names, paths, or patterns with ``*``.
            request: the request, for error messages.

        Raises:
            SelectionError: if one of them matches no layer.
        """
        result = []
        for pattern in patterns:
            hits = match_layers(self, pattern)
            if not hits:
                raise self._missing(request, f"no layer fits {pattern!r}", pattern)
            result += hits
        return result

    def no_layers_error(self, request: str) -> SelectionError:
        """Returns the error for a request of layers from a graph without layers.

        Args:
            request: the request, for error messages.
        """
        suggestion = "Open the keras.Model or tf.Module itself, or select by names and scopes"
        return SelectionError(request, f"the graph has no layers: {self._reason}", suggestion)

    def _missing(self, request: str, problem: str, word: str) -> SelectionError:
        if not self.items:
            return self.no_layers_error(request)
        close = self.similar_names(word)
        if close:
            return SelectionError(request, problem, f"Did you mean {' or '.join(map(repr, close))}?", names=close)
        paths = [one.path for one in self]
        return SelectionError(request, problem, f"It has {few(map(repr, paths))}: print(ed.layers)", names=paths)


NO_LAYERS = Layers()


def match_layers(layers: Layers, word: str) -> list[Layer]:
    """Returns the layers with this path or name; if there are none, the layers that fit it as a pattern."""
    return layers.named(word) or layers.matching(word)


def ops_of_layers(layers: Iterable[Layer]) -> list[str]:
    """Returns names of the ops that layers have made, and of their variables."""
    return list(dict.fromkeys(name for layer in layers for name in (*layer.ops, *layer.variables)))


def expand_layers(graph: Graph, layers: Layers, objects: Iterable[Any], request: str) -> list[Any]:
    """Returns boundary tensors, with each layer replaced by its output tensors.

    Args:
        graph: the snapshot.
        layers: its layers.
        objects: tensors and ops by name or object, or a `Layer`. A name that no op has may be the name of a layer. With
            a slash at the end, it may be a scope that is exactly one call of a layer.
        request: the request, for messages.

    Raises:
        SelectionError: if no op or layer has a name, or if a layer has several calls, or no output.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("d/y", "Neg", ["x"])])
        >>> dense = Layer("d", "Dense", "d", (LayerCall(("d/y",), ("x:0",), ("d/y:0",)),))
        >>> expand_layers(g, Layers((dense,)), ["x", "d"], "select()")
        ['x', 'd/y:0']
    """
    tensors: list[Any] = []
    for obj in objects:
        name = obj if isinstance(obj, str) else getattr(obj, "name", None)
        if isinstance(name, str) and name.endswith("/") and name in scopes_of(graph, layers):
            tensors += scopes_of(graph, layers)[name][1].outputs
            continue
        text = name if isinstance(name, str) and not hasattr(obj, "graph") else ""
        scopes = (
            not text or op_name(text) in graph.index or not (layers.named(text) or _is_closest(layers, text, graph))
        )
        if scopes and not isinstance(obj, Layer):
            tensors.append(obj)
            continue
        layer = layers.find(obj, request)
        outputs = [call.outputs for call in layer.calls if call.outputs]
        if len(outputs) > 1:
            which = " or ".join(repr(few(names)) for names in outputs[:4])
            problem = f"the layer {layer.path!r} is called {len(layer.calls)} times"
            raise SelectionError(request, problem, f"Give the result of one of the calls: {which}")
        if not layer.outputs:
            raise SelectionError(request, f"the layer {layer.path!r} has no output", "Give a tensor by its name")
        tensors += layer.outputs
    return tensors


def _is_closest(layers: Layers, word: str, graph: Graph) -> bool:
    """Returns whether an unknown name is more similar to the name of a layer than to that of any op."""
    close = layers.similar_names(word)
    return bool(close) and nearest(op_name(word), [*close, *graph.names])[:1] == close[:1]


def update_layers(layers: Layers, old_graph: Graph, calls: CallTree, tensors: Mapping[str, str], change: str) -> Layers:
    """Returns the layers in a graph that was made from the graph of the layers.

    Args:
        layers: the layers.
        old_graph: the graph of the layers.
        calls: the new graph.
        tensors: old name of an op or tensor -> its new name, if the names differ. An op that is now a scope, such as an
            inlined call, means the new ops in this scope.
        change: the change that made the new graph; recorded for layers that have no ops any more.
    """
    graph = calls.base
    stay = {tensors.get(name, name) for name in old_graph.names} if layers else set()

    def name_of(op: str) -> str:
        lead = op if op in tensors else outer_name(op, old_graph.index) or op
        return tensors.get(lead, lead) + op[len(lead) :]

    def ops(op: str) -> list[str]:
        name = name_of(op)
        inside = graph.scope_mask(name).nonzero()[0].tolist() if calls.locate(name) is None else ()
        return [graph.names[i] for i in inside if graph.names[i] not in stay] or [name]

    def tensor(name: str) -> str:
        op, _, port = name.rpartition(":")
        return tensors.get(name) or f"{name_of(op)}:{port}"

    result = [update_layer(layer, calls, ops, tensor) for layer in layers]
    removed = {layer.path: change for layer, now in zip(layers, result, strict=True) if now is None}
    return replace(layers, items=tuple(filter(None, result)), removed={**layers.removed, **removed})


def copy_layers(layers: Layers, calls: CallTree, names: Mapping[str, str], scope: str) -> tuple[Layer, ...]:
    """Returns the layers in a copy of their ops; their paths begin with the scope of the copy.

    Args:
        layers: the layers of the source.
        calls: the graph with the copy.
        names: op of the source -> its copy; tensor of the source -> the tensor that the copy reads instead.
        scope: the scope of the copy.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("n/d/y", "Neg", ["x"])])
        >>> dense = Layer("d", "Dense", "d", (LayerCall(("d/y",), ("a:0",), ("d/y:0",)),))
        >>> print(copy_layers(Layers((dense,)), CallTree(g), {"d/y": "n/d/y", "a:0": "x:0"}, "n")[0])
        n/d  Dense: 1 op, x:0 -> n/d/y:0
    """

    def name_of(op: str) -> str:
        lead = outer_name(op, names)
        return names[lead] + op[len(lead) :] if lead is not None else ""

    def tensor(name: str) -> str:
        op, _, port = name.rpartition(":")
        return names.get(name) or f"{name_of(op)}:{port}"

    new_layers = (update_layer(layer, calls, lambda op: [name_of(op)], tensor) for layer in layers)
    return tuple(replace(layer, path=join_scope(scope, layer.path)) for layer in new_layers if layer is not None)


def update_layer(
    layer: Layer, calls: CallTree, ops: Callable[[str], list[str]], tensor: Callable[[str], str] = str
) -> Layer | None:
    """Returns a layer with its ops in a graph; None if none of its calls is left.

    Args:
        layer: the layer.
        calls: the graph.
        ops: returns the name of an op of the layer in the graph, or the names of the ops that replaced it.
        tensor: returns the name of a tensor in the graph.
    """

    def new_name(name: str) -> str:
        op, _, port = tensor(name).rpartition(":")
        place = calls.locate(op)
        return "" if place is None else place[0].tensor(place[1], int(port))

    def call(old: LayerCall) -> LayerCall:
        places = {new: at for op in old.ops for new in ops(op) if (at := calls.locate(new)) is not None}
        ops_of_call = tuple(new for new, (part, i) in places.items() if part.graph.types[i] != "_Arg")
        inputs, gives = (tuple(filter(None, map(new_name, end))) for end in (old.inputs, old.outputs))
        fed = _entering_tensors([places[op] for op in ops_of_call]) if ops_of_call else dict.fromkeys(inputs, "")
        if len(inputs) < len(old.inputs) or not set(inputs) <= set(fed):  # it reads another tensor now
            inputs = tuple(t for t, kind in fed.items() if kind not in _VARIABLE_PARTS)
        return LayerCall(ops_of_call, inputs, gives)

    pairs = [(old, call(old)) for old in layer.calls]
    new_calls = tuple(new for old, new in pairs if (new.ops or not old.ops) and (new.outputs or not old.outputs))
    if not new_calls and layer.calls:
        return None
    variables = tuple(new for name in layer.variables for new in ops(name)[:1] if calls.locate(new) is not None)
    return replace(layer, calls=new_calls, variables=variables)


def _entering_tensors(ops: Sequence[tuple[FunctionInstance, int]]) -> dict[str, str]:
    """Returns the tensors that enter some ops, each with the type of its source op outside of all calls."""
    own = {part.unfolded_name(i) for part, i in ops}
    types = {}
    for part, i in ops:
        for t, (maker, _) in zip(part.input_names(i), part.graph.data.ends(i), strict=True):
            if t not in types and op_name(t) not in own:
                source, number = part.argument_source(maker)
                types[t] = source.graph.types[number]
    return types


def scopes_of(graph: Graph, layers: Layers) -> dict[str, tuple[Layer, LayerCall]]:
    """Returns the name scopes that are exactly one call of a layer, with a slash at the end, each with its call.

    A scope with all calls of a layer also counts. The scope may also contain the variables. Unfolded calls in a scope
    do not change the result.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("n/d/y", "Neg", ["x"]), ("n/d/z", "Neg", ["n/d/y"])])
        >>> dense = Layer("d", "Dense", "d", (LayerCall(("n/d/y", "n/d/z"), ("x:0",), ("n/d/z:0",)),))
        >>> [(scope, layer.class_name) for scope, (layer, _) in scopes_of(g, Layers((dense,))).items()]
        [('n/d/', 'Dense')]
    """
    scopes = graph.scopes
    result: dict[str, tuple[Layer, LayerCall]] = {}
    if graph.unfolded is not None:
        result |= scopes_of(graph.unfolded.graph, layers)
    for layer in layers:
        at: dict[str, list[LayerCall]] = {}
        for call in layer.calls:
            at.setdefault(shared_scope(call.ops), []).append(call)
        for scope, calls in at.items():
            if scope not in scopes.index:
                continue
            call = calls[0] if len(calls) == 1 else LayerCall(layer.ops, layer.inputs, layer.outputs)
            variable_ops = sum(
                int(graph.scope_mask(name).sum()) for name in layer.variables if name.startswith(f"{scope}/")
            )
            inside = sum(op.startswith(f"{scope}/") for op in call.ops)
            if inside == len(call.ops) == int(scopes.counts[scopes.index[scope]]) - variable_ops:
                result.setdefault(f"{scope}/", (layer, call))
    return result


def layers_in_scopes(graph: Graph, model: str, classes: Mapping[str, str]) -> tuple[Layer, ...]:
    """Returns the layers of a model with ops in scopes that are named after the model and the layer.

    Args:
        graph: the snapshot.
        model: the name of the model, which is the scope of all its layers.
        classes: path of a layer, such as ``encoder/dense`` -> its class. A layer without a scope is left out.

    Returns:
        the layers, in the order of their first ops; all calls of a layer are listed as one call.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("net/d/y", "Neg", ["x"]), ("z", "Identity", ["net/d/y"])])
        >>> for layer in layers_in_scopes(g, "net", {"x": "InputLayer", "d": "Dense", "e": "Dense"}): print(layer)
        x  InputLayer: 1 op, nothing -> x:0
        d  Dense: 1 op, x:0 -> net/d/y:0
    """
    result = []
    for path, kind in classes.items():
        name = path.rpartition("/")[2]
        scope = f"{model}/{path}"
        if scope in graph.scopes.index:
            numbers = graph.scope_mask(scope).nonzero()[0].tolist()
        elif kind == "InputLayer" and graph.types[graph.index.get(name, 0)] == "Placeholder" and name in graph.index:
            numbers = [graph.index[name]]
        else:
            continue
        result.append(_layer_from_calls(path, kind, [(FunctionInstance(graph), numbers)]))
    return sort_layers(CallTree(graph), result)


def _layer_from_calls(path: str, kind: str, calls: Iterable[tuple[FunctionInstance, list[int]]]) -> Layer:
    """Returns a layer with these ops in its calls, given by number."""
    layer_calls, variables = [], dict[str, None]()
    for part, numbers in calls:
        own = set(numbers)
        fed = _entering_tensors([(part, i) for i in numbers])
        sources = (part.argument_source(maker) for i in numbers for maker, _ in part.graph.data.ends(i))
        variables |= {at.unfolded_name(i): None for at, i in sources if at.graph.types[i] in VARIABLE_TYPES}
        gives = tuple(f"{part.unfolded_name(i)}:{port}" for i in numbers for port in _outer_outputs(part.graph, i, own))
        inputs = tuple(t for t, of in fed.items() if of not in _VARIABLE_PARTS)
        layer_calls.append(LayerCall(tuple(part.unfolded_name(i) for i in numbers), inputs, gives))
    return Layer(path.rpartition("/")[2], kind, path, tuple(layer_calls), tuple(variables))


def sort_layers(calls: CallTree, layers: Iterable[Layer]) -> tuple[Layer, ...]:
    """Returns layers in the order of their first ops; a layer inside another comes after it.

    Args:
        calls: the graph.
        layers: the layers.
    """

    def order(layer: Layer) -> tuple[list[int], int]:
        first = next(iter((*layer.ops, *map(op_name, layer.outputs))), "")
        place = calls.locate(first)
        return _call_path(*place) if place is not None else [], len(layer.path)

    return tuple(sorted(layers, key=order))


def _call_path(part: FunctionInstance, number: int) -> list[int]:
    """Returns the place of an op in the unfolded graph; ops inside a call come after the call."""
    path = [number]
    while part.parent is not None:
        part, path = part.parent, [part.call, *path]
    return path


# -- by their variables ------------------------------------------------------------------------------


@dataclass(frozen=True)
class VariableOwner:
    """A layer or module that has variables; its ops are not known yet.

    Args:
        path: its name after the names of the layers or modules around it.
        scope: the name scope of its calls, such as ``encoder/dense``; TensorFlow may have added numbers to the parts.
            Empty if it has no scope.
        class_name: its class; empty if it is not known.
        variables: names of its variable ops, including those of the layers or modules inside it.
        methods: names of its functions.
    """

    path: str
    scope: str
    class_name: str = ""
    variables: tuple[str, ...] = ()
    methods: tuple[str, ...] = ()


def owners_from_names(names: Mapping[str, str]) -> list[VariableOwner]:
    """Returns the owners of variables, as far as names show them: each scope with variables is an owner.

    Args:
        names: variable op -> the name that it was made with. If several variables have the same name, their owners
            cannot be distinguished, so no owner is returned for them.

    Example:
        >>> [(one.path, one.variables) for one in owners_from_names({"a": "net/d/w", "b": "net/w", "c": "net/w"})]
        [('net/d', ('a',))]
    """
    by_path: dict[str, dict[str, None]] = {}
    often = Counter(names.values())
    blurred = {name.rpartition("/")[0] for name, count in often.items() if count > 1}
    for op, name in names.items():
        parts = name.split("/")[:-1]
        for end in range(1, len(parts) + 1):
            by_path.setdefault("/".join(parts[:end]), {})[op] = None
    return [VariableOwner(path, path, "", tuple(ops)) for path, ops in sorted(by_path.items()) if path not in blurred]


def layers_from_variables(call_tree: CallTree, owners: Iterable[VariableOwner]) -> tuple[Layer, ...]:
    """Returns the layers that can be found with certainty, from the owners of the variables that ops read.

    The ops of a layer are in a scope with its name that reads one of its variables. Or they are in a call of one of its
    functions, with exactly its variables as inputs. An op that fits several layers belongs to none of them.

    Args:
        call_tree: the graph, with its calls.
        owners: the owners of the variables.

    Returns:
        the layers, in the order of their first ops.

    Example:
        >>> g = Graph.from_ops([("d/w", "VarHandleOp", []), ("x", "Placeholder", []),
        ...                     ("n/d_1/r", "ReadVariableOp", ["d/w"]),
        ...               ("n/d_1/y", "MatMul", ["x", "n/d_1/r"]), ("z", "Identity", ["n/d_1/y"])])
        >>> print(*layers_from_variables(CallTree(g), owners_from_names({"d/w": "d/w"})))
        d: 2 ops, 1 variable, x:0 -> n/d_1/y:0
    """
    owners = list(owners)
    graph = call_tree.base
    machinery = np.zeros(graph.size, np.bool_)
    variables = dict.fromkeys(name for owner in owners for name in owner.variables)
    for name in variables:
        machinery[graph.scopes.op_numbers(name)] = True
    scopes = _scope_names(call_tree, machinery | graph.mask([graph.index[name] for name in variables]))
    claims: dict[str, list[VariableOwner]] = {}
    places: dict[str, tuple[FunctionInstance, str]] = {}
    for owner in owners:
        for part, place in _reading_scopes(call_tree, owner, scopes):
            name = join_scope(part.path, place)
            places[name] = part, place
            claims.setdefault(name, []).append(owner)
    calls: dict[str, list[tuple[FunctionInstance, list[int]]]] = {}
    owner_of: dict[str, VariableOwner] = {}
    for name, who in claims.items():
        part, place = places[name]
        numbers = _numbers(part, place) if len(who) == 1 else []
        numbers = [i for i in numbers if part.parent is not None or not machinery[i]]
        if numbers:
            owner_of[who[0].path] = who[0]
            calls.setdefault(who[0].path, []).append((part, numbers))
    for group in calls.values():
        group.sort(key=lambda one: _call_path(one[0], one[1][0]))
    return sort_layers(call_tree, (_layer_from_calls(path, owner_of[path].class_name, calls[path]) for path in calls))


def _numbers(part: FunctionInstance, place: str) -> list[int]:
    """Returns the ops of a scope, or the op with this name."""
    graph = part.graph
    return graph.scopes.op_numbers(place) if place in graph.scopes.index else [graph.index[place]]


def _scope_names(call_tree: CallTree, variables: Mask) -> set[str]:
    """Returns the parts of scope names, with and without the number at the end.

    Scopes that contain only variables are left out.
    """
    result = set[str]()
    for part in call_tree.instances():
        scopes = part.graph.scopes
        homes = scopes.scope_of if part.parent is not None else scopes.scope_of[~variables]
        result.update(*(scopes.names[scope].split("/") for scope in np.unique(homes)))
    return result | {lead for lead, _, number in (name.rpartition("_") for name in result) if number.isdecimal()}


def _reading_scopes(
    call_tree: CallTree, owner: VariableOwner, scopes: Container[str]
) -> list[tuple[FunctionInstance, str]]:
    """Returns the scopes, and the calls of functions, in which an owner reads its variables.

    The model around the owner may have no scope, such as a model in `TimeDistributed`. `scopes` are the names of all
    scopes.
    """
    parts = [part for part in owner.scope.split("/") if part]
    parts = [part for part in parts[:-1] if part in scopes] + parts[-1:]
    result: dict[tuple[int, str], tuple[FunctionInstance, str]] = {}

    def place(part: FunctionInstance, reader: int) -> str:
        scopes = _scopes_like(part, reader, parts)
        # An op in a layer may have the name of the layer, and a layer the name of its model. But the scope of a model
        # also contains layers with other variables.
        own = (scope for scope in scopes[:0:-1] if variables.issuperset(_variables_in(part, scope)))
        found = next(own, scopes[0] if scopes else "")
        calls = not found and part.parent is None and reader in part.calls
        return part.graph.names[reader] if calls and _is_method(part.graph, reader, owner) else found

    variables = {*owner.variables}
    for name in owner.variables:
        for part, i in call_tree.consumers_of(name, lambda part, i: not place(part, i)):
            if (at := place(part, i)) and not part.unfolded_name(i).startswith(f"{name}/"):
                result.setdefault((id(part), at), (part, at))
    return list(result.values())


def _variables_in(part: FunctionInstance, scope: str) -> set[str]:
    """Returns the variables that ops of a scope read."""
    ends = (maker for i in part.graph.scopes.op_numbers(scope) for maker, _ in part.graph.data.ends(i))
    return {at.unfolded_name(i) for at, i in map(part.argument_source, ends) if at.graph.types[i] in VARIABLE_TYPES}


def _scopes_like(part: FunctionInstance, reader: int, words: Sequence[str]) -> list[str]:
    """Returns the scopes of an op, innermost first, that have the name of the last part, perhaps with a number.

    These scopes are inside scopes with the names of the other parts, around the op or around the call of its function.
    Scopes with other names, such as ``map`` of `tf.map_fn`, may be between them.
    """
    around, names = _scopes_around(part, reader), part.graph.names[reader].split("/")[:-1]
    parts = [name for some in around for name in some]
    result = []
    for outside in range(len(around[-1]) if words else 0):  # the number of scopes inside the tried scope
        *before, name = parts[: len(parts) - outside]
        remaining = iter(before[::-1])
        if is_numbered_name(words[-1], name) and all(
            any(is_numbered_name(wish, one) for one in remaining) for wish in words[-2::-1]
        ):
            result.append("/".join(names[: len(names) - outside]))
    return result


def _scopes_around(part: FunctionInstance, op: int) -> list[list[str]]:
    """Returns the scopes around an op, first those of the graph itself, then those of each function around it.

    The names of the ops in a loop body also begin with the scopes of the loop; these scopes are not repeated.
    """
    names = part.graph.names[op].split("/")[:-1]
    if part.parent is None:
        return [names]
    call = part.parent.graph.names[part.call].split("/")
    own = names[len(call) :] if names[: len(call)] == call else names
    return [*_scopes_around(part.parent, part.call), own]


def is_numbered_name(part: str, name: str) -> bool:
    """Returns whether a scope has a name, or this name with a number that TensorFlow has added because it was taken.

    Args:
        part: the name.
        name: the name of the scope, without the scopes around it.
    """
    lead, _, number = name.rpartition("_")
    return name == part or (lead == part and number.isdecimal())


def _is_method(graph: Graph, op: int, owner: VariableOwner) -> bool:
    """Returns whether an op calls a function with the name of a method of the owner, and reads only its variables."""
    called = callees_of(graph.nodes[op], graph.functions)
    inputs = {op_name(t) for t in graph.input_names(op)}
    variables = {name for name in inputs if graph.types[graph.index[name]] in VARIABLE_TYPES}
    return len(called) == 1 and short_name(called[0].function) in owner.methods and variables == {*owner.variables}


def _outer_outputs(graph: Graph, op: int, inside: set[int]) -> list[int]:
    """Returns the outputs of an op that ops outside read."""
    return sorted({port for reader, port in graph.consumers.ends(op) if reader not in inside})
