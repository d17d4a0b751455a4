"""The ops and tensors that a caller passes: by name, as objects, or by the name of a layer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import SelectionError, counted, few
from .graph import Graph
from .layers import Layer, Layers, expand_layers, ops_of_layers, scopes_of
from .names import free_name, op_name


@dataclass(frozen=True)
class ReferenceResolver:
    """Replaces the names of layers by the names of ops and tensors. Everything else is returned unchanged.

    A name of an op means the op, even if a layer has the same name. If a tensor is expected, a layer means its outputs.
    If one op is expected, it means the op that computes its output. If several ops are expected, it means all its ops
    and variables.

    Args:
        graph: the snapshot.
        layers: its layers.
        request: the request, for messages.
        signature: key of an input or output of the graph -> its tensor. An op or layer with the same name takes
            precedence.

    Example:
        >>> from graphsurgeon.graph.layers import LayerCall
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("d/a", "Neg", ["x"]), ("d/b", "Exp", ["d/a"])])
        >>> layer = Layer("dense", "Dense", "dense", (LayerCall(("d/a", "d/b"), ("x:0",), ("d/b:0",)),))
        >>> given = ReferenceResolver(g, Layers((layer,)), "select()")
        >>> given.tensor("dense"), given.op("dense"), given.ops("dense"), given.tensors({"y": "dense"})
        ('d/b:0', 'd/b', ['d/a', 'd/b'], {'y': 'd/b:0'})
    """

    graph: Graph
    layers: Layers
    request: str
    signature: Mapping[str, str] = field(default_factory=dict)

    def layer(self, obj: Any) -> Layer | None:
        """Returns the layer that a thing names; None if it names something else.

        Args:
            obj: a name, a `Layer` or a layer of Keras.

        Raises:
            SelectionError: if several layers have the name.
        """
        if isinstance(obj, Layer):
            return self.layers.find(obj, self.request)
        if isinstance(obj, str) and obj in self.graph.index:
            return None
        name = obj if isinstance(obj, str) else getattr(obj, "name", None)
        if not isinstance(name, str) or hasattr(obj, "graph") or op_name(name) in self.graph.index:
            return None
        return self.layers.find(name, self.request) if self.layers.named(name) else None

    def ends(self, objects: Iterable[Any]) -> list[Any]:
        """Returns tensors, with the outputs of each layer.

        Args:
            objects: names and objects.

        Raises:
            SelectionError: if a layer has several calls or no output, or an unknown name is similar to that of a layer.
        """
        return expand_layers(self.graph, self.layers, [self._of_key(thing) or thing for thing in objects], self.request)

    def _of_key(self, obj: Any) -> str:
        """Returns the tensor of a key of the signature; empty for anything else."""
        if not isinstance(obj, str) or obj not in self.signature:
            return ""
        return "" if op_name(obj) in self.graph.index or self.layers.named(obj) else self.signature[obj]

    def tensor(self, obj: Any) -> Any:
        """Returns a tensor; for a layer, its only output.

        Args:
            obj: a name or an object.

        Raises:
            SelectionError: as for `expand_layers`, or if a layer has several outputs.
        """
        tensors = self.ends([obj])
        if len(tensors) > 1:
            name = getattr(obj, "path", getattr(obj, "name", obj))
            raise SelectionError(
                self.request, f"the layer {name!r} has the outputs {few(map(repr, tensors))}", "Choose one of these"
            )
        return tensors[0]

    def tensors(self, objects: Any) -> Any:
        """Returns tensors in the form in which they are given: one tensor, several tensors, or a dict.

        Args:
            objects: a name or an object, several, or a dict of name -> tensor.

        Raises:
            SelectionError: as for `tensor`.
        """
        if isinstance(objects, Mapping):
            return {key: self.tensor(one) for key, one in objects.items()}
        if isinstance(objects, (list, tuple)):
            return self.ends(objects)
        return objects if objects is None else self.tensor(objects)

    def named_tensors(self, objects: Any) -> Any:
        """Returns the same as `tensors`; if there is a layer or a key of the signature, as a dict with their names.

        Args:
            objects: as for `tensors`.

        Raises:
            SelectionError: as for `tensors`.
        """
        several = list(objects) if isinstance(objects, (list, tuple)) else [objects]
        named = any(self._of_key(one) or self.layer(one) is not None for one in several)
        if isinstance(objects, Mapping) or not named:
            return self.tensors(objects)
        tensors: dict[str, Any] = {}
        for one in several:
            layer = self.layer(one)
            for end in self.ends([one]):
                leaf = layer.name if layer else one if self._of_key(one) else op_name(end).rpartition("/")[2]
                tensors[free_name(leaf, tensors.__contains__)] = end
        return tensors

    def signatures(self, objects: Any) -> Any:
        """Returns signatures with the names of layers replaced.

        Args:
            objects: name -> (inputs, outputs). Anything else is returned as it is.

        Raises:
            SelectionError: as for `tensors`.
        """
        if not isinstance(objects, Mapping):
            return objects
        pairs = {key: one for key, one in objects.items() if isinstance(one, (list, tuple))}
        return {**objects, **{key: tuple(map(self.named_tensors, pair)) for key, pair in pairs.items()}}

    def tensor_mapping(self, objects: Any) -> Any:
        """Returns a mapping with tensors as keys, with the names of layers replaced.

        Args:
            objects: tensor -> any value. Anything else is returned as it is.

        Raises:
            SelectionError: as for `tensor`.
        """
        if not isinstance(objects, Mapping):
            return objects
        return {
            self.tensor(key) if self._of_key(key) or self.layer(key) is not None else key: one
            for key, one in objects.items()
        }

    def op(self, obj: Any) -> Any:
        """Returns an op; for a layer, the op that computes its only output.

        Args:
            obj: a name or an object.

        Raises:
            SelectionError: as for `tensor`.
        """
        return obj if self.layer(obj) is None else op_name(self.tensor(obj))

    def ops(self, objects: Any) -> list[Any]:
        """Returns ops; for a layer, all its ops and variables.

        Args:
            objects: a name or an object, or several.

        Raises:
            SelectionError: if several layers have a name.
        """
        alone = isinstance(objects, (str, Layer)) or hasattr(objects, "name") or not isinstance(objects, Iterable)
        pairs = [(one, self.layer(one)) for one in ([objects] if alone else objects)]
        return [op for one, layer in pairs for op in ([one] if layer is None else ops_of_layers([layer]))]

    def layer_ops(self, obj: Any) -> list[str]:
        """Returns the ops and variables of a layer; empty for anything else.

        A name means a name scope, and not a layer, if the scope contains an op of the layer.

        Args:
            obj: a name or an object.
        """
        layer = self.layer(obj)
        if layer is None or (isinstance(obj, str) and any(op.startswith(f"{obj}/") for op in layer.ops)):
            return []
        return ops_of_layers([layer])

    def consumer(self, obj: Any, input: int) -> tuple[Any, int]:
        """Returns the consumer of a tensor with the index of its input; for a layer, the op that reads its input.

        Args:
            obj: a name or an object.
            input: the index of the input.

        Raises:
            SelectionError: if not exactly one op of a layer reads its input.
        """
        layer = self.layer(obj)
        if layer is None:
            return obj, input
        input_tensors = layer.inputs[input : input + 1] if input >= 0 else ()
        own = set(layer.ops)
        consumers = [
            (self.graph.names[op], at)
            for tensor in input_tensors
            for op, at in self.graph.consumers_of(self.graph.tensor(tensor, self.request))
            if self.graph.names[op] in own
        ]
        if len(consumers) == 1:
            return consumers[0]
        if not input_tensors:
            problem = f"the layer {layer.path!r} has no input {input}"
            suggestion = f"Its inputs are {few(layer.inputs)}" if layer.inputs else "Name an op"
            raise SelectionError(self.request, problem, suggestion)
        problem = f"{input_tensors[0]!r} enters the layer {layer.path!r} at {counted(len(consumers), 'ops')}"
        how = f"Type reroute({input_tensors[0]!r}, to=..., only={layer.path!r})" if consumers else "Name an op"
        raise SelectionError(self.request, problem, how)

    def op_or_scope(self, obj: Any) -> Any:
        """Returns an op or scope; for a layer, its only op, or the scope with exactly its ops.

        Args:
            obj: a name or an object.

        Raises:
            SelectionError: if the ops of a layer are not exactly one op or one scope.
        """
        layer = self.layer(obj)
        if layer is None:
            return obj
        if len(layer.ops) == 1:
            return layer.ops[0]
        scopes = [scope for scope, (one, _) in scopes_of(self.graph, self.layers).items() if one == layer]
        if len(scopes) == 1:
            return scopes[0].strip("/")
        problem = f"the layer {layer.path!r} is not exactly one op or one name scope"
        raise SelectionError(self.request, problem, f"Name its ops or scopes: {few(map(repr, layer.ops))}")
