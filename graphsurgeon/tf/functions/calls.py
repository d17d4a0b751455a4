"""The function calls of a graph, their bodies, and the reason why a call cannot be inlined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...errors import PlanError, few
from ...graph.control_flow import FLOW_TYPES
from ...graph.devices import colocate
from ...graph.functions import (
    BRANCHING,
    CALLS,
    called_function,
    functions_in_attribute,
    own_gradient,
    reachable_functions,
)
from ...graph.graph import Graph
from ...graph.names import op_name, rename_input, tensor_name
from ...graph.types import TFNodeDef
from ..effects import CONTENT, FED, RANDOM, effect_finder
from ..messages import attr_value_pb2, node_def_pb2
from ..registry import op_definition

#: Effects for which results need not wait.
_UNORDERED = frozenset({RANDOM, CONTENT, FED})


class FunctionCalls:
    """The function calls of a graph.

    Args:
        base: snapshot of the graph.
    """

    def __init__(self, base: Graph) -> None:
        self.base = base
        self.definitions = base.functions
        self._effects_of = effect_finder(self.definitions)

    @cached_property
    def functions(self) -> dict[str, Any]:
        """The functions as Python objects, by name; makes the live graph if it does not exist yet."""
        from ..private.c_api import functions_of

        return functions_of(self.base.live_graph)

    def called_function(self, node: TFNodeDef) -> str:
        """Returns the function that a node calls; empty if the node is not a call."""
        return called_function(node, self.definitions)

    def obstacle(self, node: TFNodeDef, flow: bool = False) -> tuple[str, str] | None:
        """Returns (problem, suggestion) if a node cannot be inlined; None if it can.

        Args:
            node: its NodeDef.
            flow: whether conds, cases and loops can be inlined.
        """
        if node.op in BRANCHING and not flow:
            kind = node.op.removeprefix("Stateless")
            problem = f"{node.name!r} is a v2 {kind}, which is not inlined together with a whole graph"
            return problem, f"Replace it by a TF1 {kind}: ed.plan().inline({node.name!r})"
        names = self._functions(node)
        if not names:
            calls = [n for n, t in zip(self.base.names, self.base.types, strict=True)
                     if t in CALLS or t in self.definitions or (flow and t in BRANCHING)]  # fmt: skip
            return (
                f"{node.name!r} is of type {node.op}, not a function call",
                f"The calls are {few(map(repr, calls), 6)}" if calls else "This graph calls no functions",
            )
        absent = next((name for name in names if name not in self.definitions), None)
        if absent is not None:
            return f"its function {absent!r} is not in the graph", "Open the file that holds the function too"
        problem = next(filter(None, map(self._obstacle, names)), "")
        if not problem and node.op in BRANCHING:
            problem = self._old_flow(names)
        if not problem and node.name in self.base.index and self._in_old_flow(node.name):
            problem = f"{node.name!r} is inside a while_loop or cond of TF1"
        return (problem, "Leave this call as it is") if problem else None

    def _in_old_flow(self, name: str) -> bool:
        """Whether an op is inside a while_loop or cond of TF1; makes the live graph if it does not exist yet."""
        from ..private.contexts import context_of
        from ..private.graphs import op_finder

        return context_of(op_finder(self.base.live_graph)(name)) is not None

    def check_inlinable(self, node: TFNodeDef, request: str, flow: bool = False) -> None:
        """Refuses a node that cannot be inlined, see `obstacle`; raises PlanError."""
        reason = self.obstacle(node, flow)
        if reason is not None:
            raise PlanError(request, *reason)

    def _functions(self, node: TFNodeDef) -> list[str]:
        """Returns the functions that a call, cond, case or loop may run; empty for other ops."""
        if node.op in BRANCHING:
            return sorted(name for value in node.attr.values() for name in functions_in_attribute(value))
        return [name for name in [self.called_function(node)] if name]

    def _obstacle(self, name: str) -> str:
        """Returns why a function cannot be replaced by its ops; empty if it can."""
        inner, own = self.definitions[name], self.functions[name]
        if self.has_dtype_parameters(name):
            return f"its function {name!r} takes dtypes as parameters"
        if getattr(own, "grad_func_name", None) or getattr(own, "python_grad_func", None):
            return f"its function {name!r} has a custom gradient, which would be lost"
        if any(own_gradient(node).startswith("CustomGradient") for node in inner.node_def):
            return f"its function {name!r} holds a tf.custom_gradient, which would be lost"
        return ""

    def has_dtype_parameters(self, name: str) -> bool:
        """Returns whether dtypes are parameters of a function, which each call specifies."""
        return any(value.placeholder for node in self.definitions[name].node_def for value in node.attr.values())

    def _old_flow(self, names: list[str]) -> str:
        """Returns the problem if branches or bodies contain a TF1 cond or loop without its context; else empty."""
        for name in reachable_functions(names, self.definitions):
            if any(n.op in FLOW_TYPES for n in self.definitions[name].node_def):
                return f"its function {name!r} holds a while_loop or cond of TF1"
        return ""

    def has_effects(self, node: TFNodeDef) -> bool:
        """Returns whether a node, or a function that it calls, has a lasting effect, such as setting a variable."""
        return bool(self._effects_of(node) - _UNORDERED)


def is_stateful(kind: str) -> bool:
    """Returns whether TensorFlow defines an op type as stateful: its ops change or read lasting state."""
    about = op_definition(kind)
    return about is not None and bool(about.is_stateful)


def flat_end(text: str, outputs: Mapping[str, Mapping[str, int]]) -> str:
    """Returns an input of an op in a function in the notation of graphs, for example ``op:2`` for ``op:out:0``.

    Args:
        text: the input; arguments, control inputs and other texts are returned unchanged.
        outputs: op of the function -> `flat_outputs` of it.
    """
    op, _, rest = text.partition(":")
    out, _, index = rest.partition(":")
    if op not in outputs or not rest or not (index or "0").isdecimal() or len(index) > 9:
        return text
    return f"{op}:{outputs[op].get(out, 0) + int(index or 0)}"


def all_flat_outputs(nodes: Iterable[TFNodeDef], functions: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Returns `flat_outputs` of each op, by name; computed only once for an op type with up to one output argument.

    Args:
        nodes: their NodeDefs.
        functions: name -> FunctionDef.
    """
    numbers, cache = {}, dict[str, dict[str, int]]()
    for node in nodes:
        kind = node.op
        outputs = cache.get(kind)
        if outputs is None:
            outputs = flat_outputs(node, functions)
            if len(outputs) < 2:  # the first output argument always begins at output 0
                cache[kind] = outputs
        numbers[node.name] = outputs
    return numbers


def flat_outputs(node: TFNodeDef, functions: Mapping[str, Any]) -> dict[str, int]:
    """Returns output argument of an op -> number of its first output; empty for an unknown op type.

    Args:
        node: its NodeDef.
        functions: name -> FunctionDef.
    """
    signature = functions[node.op].signature if node.op in functions else op_definition(node.op)
    numbers, at = {}, 0
    for out in signature.output_arg if signature is not None else ():
        numbers[out.name] = at
        if out.number_attr:
            at += node.attr[out.number_attr].i
        elif out.type_list_attr:
            at += len(node.attr[out.type_list_attr].list.type)
        else:
            at += 1
    return numbers


@dataclass(frozen=True)
class InlinedBody:
    """The nodes that replace a call.

    Args:
        nodes: the NodeDefs, with their new names and the inputs of the call.
        results: for each result of the call, the tensor that replaces it.
        effects: the ops with lasting effects, as control inputs; the results wait for them.
    """

    nodes: list[TFNodeDef]
    results: list[str]
    effects: list[str]

    @property
    def result_ops(self) -> list[str]:
        """The ops that compute the results, as control inputs without duplicates."""
        return list(dict.fromkeys(f"^{op_name(tensor)}" for tensor in self.results))


@dataclass(frozen=True)
class Replacements:
    """The replacements of calls.

    Args:
        tensors: result of a call -> the tensor that replaces it.
        control_inputs: call -> the control inputs that replace a control input from the call.
    """

    tensors: dict[str, str] = field(default_factory=dict)
    control_inputs: dict[str, list[str]] = field(default_factory=dict)

    def add(self, call: Any, body: InlinedBody, control_inputs: list[str]) -> None:
        """Adds the replacement of a call; `control_inputs` replace control inputs from the call, if there are any."""
        self.tensors.update((f"{call.name}:{i}", tensor) for i, tensor in enumerate(body.results))
        self.control_inputs[call.name] = control_inputs or [text for text in call.input if text[0] == "^"]

    def resolve(self, tensor: str) -> str:
        """Returns the replacement of a tensor, through all nested calls."""
        key = tensor_name(tensor)
        while key in self.tensors:
            key = tensor_name(self.tensors[key])
        return key

    def inputs(self, texts: Sequence[str], control_of: Callable[[str], Iterable[str]]) -> list[str]:
        """Returns the inputs of a node after replacements.

        Args:
            texts: the inputs before.
            control_of: a function that returns the replacements of a control input.
        """
        data = [text for text in texts if text[0] != "^"]
        new_inputs = [
            self.resolve(text) if f"{text}:0" in self.tensors or text in self.tensors else text for text in data
        ]
        return new_inputs + list(dict.fromkeys(new for text in texts if text[0] == "^" for new in control_of(text)))


def inline_call(
    calls: FunctionCalls,
    call: Any,
    scope: str,
    unused_name: Callable[[str], str],
    names: Mapping[str, str] | None = None,
) -> InlinedBody:
    """Returns the nodes of a called function that replace the call.

    Args:
        calls: the functions of the graph.
        call: the NodeDef of the call.
        scope: the prefix of new names.
        unused_name: a function that returns an unused name similar to a given name.
        names: op of the function -> its new name; by default, `scope` and its old name.
    """
    inner = calls.definitions[calls.called_function(call)]
    new_names = names or {n.name: scope + n.name for n in inner.node_def}
    data = [text for text in call.input if text[0] != "^"]
    before = [text for text in call.input if text[0] == "^"]
    arguments = {a.name: text for a, text in zip(inner.signature.input_arg, data, strict=False)}
    outputs = all_flat_outputs(inner.node_def, calls.definitions)

    def resolve(text: str) -> str:
        if text[0] == "^":
            outer = arguments.get(text[1:])
            return f"^{new_names[text[1:]]}" if outer is None else f"^{op_name(outer)}"
        return arguments.get(op_name(text)) or rename_input(flat_end(text, outputs), new_names)

    nodes = []
    for old in inner.node_def:
        node = copy_node(old)
        node.name = new_names[old.name]
        node.input[:] = [resolve(text) for text in old.input]
        if before and old.op != "Const" and not any(op_name(text) in outputs for text in old.input):
            node.input.extend(before)
        if call.device and not node.device:
            node.device = call.device
        colocate(node, new_names)
        if "frame_name" in node.attr:
            node.attr["frame_name"].s = scope.encode() + node.attr["frame_name"].s
        nodes.append(node)
    lasting = set(inner.control_ret.values())
    stateful = {n.name for n in inner.node_def if n.name in lasting and calls.has_effects(n)}
    effects = [f"^{new_names[op]}" for op in dict.fromkeys(inner.control_ret.values()) if op in stateful]
    results = []
    for i, out in enumerate(inner.signature.output_arg):
        text = resolve(inner.ret[out.name])
        if effects:
            node = node_def_pb2.NodeDef(name=unused_name(f"{scope}result_{i}"), op="Identity", input=[text, *effects])
            node.attr["T"].type = out.type
            nodes.append(node)
            text = f"{node.name}:0"
        results.append(text)
    return InlinedBody(nodes, results, effects)


def constant(name: str, tensor: Any) -> TFNodeDef:
    """Returns the NodeDef of a constant with the value of a TensorProto."""
    about = {"dtype": attr_value_pb2.AttrValue(type=tensor.dtype), "value": attr_value_pb2.AttrValue(tensor=tensor)}
    return node_def_pb2.NodeDef(name=name, op="Const", attr=about)


def copy_node(node: TFNodeDef) -> TFNodeDef:
    """Returns a copy of a NodeDef."""
    new = node_def_pb2.NodeDef()
    new.CopyFrom(node)
    return new
