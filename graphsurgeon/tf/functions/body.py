"""Body: the nodes of a function that replace a call, on paper."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...graph.devices import colocate
from ...graph.live import TFNodeDef
from ...graph.names import op_name, renamed_end, tensor_name
from ..messages import attr_value_pb2, node_def_pb2
from .calls import Calls, all_flat_outputs, flat_end


@dataclass(frozen=True)
class Body:
    """The replacement of a call.

    Args:
        nodes: NodeDefs, with their names and with the inputs of the call.
        results: for each result of the call, the tensor that replaces it.
        effects: the ops with lasting effects, as control inputs; the results wait for them.
    """

    nodes: list[TFNodeDef]
    results: list[str]
    effects: list[str]

    @property
    def ends(self) -> list[str]:
        """The ops that give the results, as control inputs, each once."""
        return list(dict.fromkeys(f"^{op_name(tensor)}" for tensor in self.results))


@dataclass(frozen=True)
class Places:
    """The replacements of calls.

    Args:
        moved: result of a call -> the tensor of its function.
        waits: call -> the ops to wait for instead, as control inputs.
    """

    moved: dict[str, str] = field(default_factory=dict)
    waits: dict[str, list[str]] = field(default_factory=dict)

    def put(self, call: Any, body: Body, done: list[str]) -> None:
        """Notes the replacement of a call; `done` are the ops to wait for instead of the call, if there are any."""
        self.moved.update((f"{call.name}:{i}", tensor) for i, tensor in enumerate(body.results))
        self.waits[call.name] = done or [text for text in call.input if text[0] == "^"]

    def end(self, tensor: str) -> str:
        """Returns the tensor that replaces another, through all nested calls."""
        key = tensor_name(tensor)
        while key in self.moved:
            key = tensor_name(self.moved[key])
        return key

    def inputs(self, texts: Sequence[str], wait: Callable[[str], Iterable[str]]) -> list[str]:
        """Returns the inputs of a node after replacements.

        Args:
            texts: its inputs before.
            wait: returns the replacements of a control input.
        """
        data = [text for text in texts if text[0] != "^"]
        read = [self.end(text) if f"{text}:0" in self.moved or text in self.moved else text for text in data]
        return read + list(dict.fromkeys(new for text in texts if text[0] == "^" for new in wait(text)))


def in_place(
    calls: Calls, call: Any, scope: str, free: Callable[[str], str], names: Mapping[str, str] | None = None
) -> Body:
    """Returns the nodes of a called function that replace the call.

    Args:
        calls: the functions of the graph.
        call: the NodeDef of the call.
        scope: the prefix of new names.
        free: returns a name that is free.
        names: op of the function -> its name; by default its own name, below `scope`.
    """
    inner = calls.definitions[calls.called(call)]
    named = names or {n.name: scope + n.name for n in inner.node_def}
    data = [text for text in call.input if text[0] != "^"]
    before = [text for text in call.input if text[0] == "^"]
    arguments = {a.name: text for a, text in zip(inner.signature.input_arg, data, strict=False)}
    outputs = all_flat_outputs(inner.node_def, calls.definitions)

    def read(text: str) -> str:
        if text[0] == "^":
            outer = arguments.get(text[1:])
            return f"^{named[text[1:]]}" if outer is None else f"^{op_name(outer)}"
        return arguments.get(op_name(text)) or renamed_end(flat_end(text, outputs), named)

    nodes = []
    for old in inner.node_def:
        node = copied(old)
        node.name = named[old.name]
        node.input[:] = [read(text) for text in old.input]
        if before and old.op != "Const" and not any(op_name(text) in outputs for text in old.input):
            node.input.extend(before)
        if call.device and not node.device:
            node.device = call.device
        colocate(node, named)
        if "frame_name" in node.attr:
            node.attr["frame_name"].s = scope.encode() + node.attr["frame_name"].s
        nodes.append(node)
    lasting = set(inner.control_ret.values())
    acting = {n.name for n in inner.node_def if n.name in lasting and calls.acts(n)}
    effects = [f"^{named[op]}" for op in dict.fromkeys(inner.control_ret.values()) if op in acting]
    results = []
    for i, out in enumerate(inner.signature.output_arg):
        text = read(inner.ret[out.name])
        if effects:
            node = node_def_pb2.NodeDef(name=free(f"{scope}result_{i}"), op="Identity", input=[text, *effects])
            node.attr["T"].type = out.type
            nodes.append(node)
            text = f"{node.name}:0"
        results.append(text)
    return Body(nodes, results, effects)


def constant(name: str, tensor: Any) -> TFNodeDef:
    """Returns the NodeDef of a constant that holds a TensorProto."""
    about = {"dtype": attr_value_pb2.AttrValue(type=tensor.dtype), "value": attr_value_pb2.AttrValue(tensor=tensor)}
    return node_def_pb2.NodeDef(name=name, op="Const", attr=about)


def copied(node: TFNodeDef) -> TFNodeDef:
    """Returns a copy of a NodeDef."""
    new = node_def_pb2.NodeDef()
    new.CopyFrom(node)
    return new
