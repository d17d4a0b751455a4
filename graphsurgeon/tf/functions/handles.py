"""Handles: finds dtype and shape of the variables that resource arguments of functions refer to, from their calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...graph.functions import called_by, given, reachable
from ...graph.live import TFNodeDef
from ..importing import tf
from ..messages import function_pb2, resource_handle_pb2
from ..private.functions import held_by, say_handles
from ..wire import encoded

#: Ops that pass on the resource of their first input.
_PASSING = frozenset({"Identity", "Enter", "RefEnter", "Exit", "Switch", "Merge", "NextIteration"})
#: Ops that pass on each of their inputs.
_ALL_PASSING = frozenset({"IdentityN", "While", "StatelessWhile"})


def with_handles(
    names: Iterable[str], calls: Iterable[Any], known: Mapping[str, Any], plain: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns FunctionDefs in which each resource argument has the dtype and shape of its variable.

    TensorFlow leaves them out if the function itself does not use the resource. A gradient needs them all the same: a
    branch that does not use a variable returns zeros for it.

    Args:
        names: the functions.
        calls: live ops, among them those that call these functions.
        known: the functions of the graph as Python objects, by name.
        plain: their FunctionDefs; they are not changed.
    """
    wanted = frozenset(names)
    order = [name for name in reachable(wanted, plain) if name in wanted]
    functions: dict[str, Any] = {}
    for name in order:
        functions[name] = function_pb2.FunctionDef()
        functions[name].CopyFrom(plain[name])
        say_handles(known.get(name), functions[name])
    if all(argument.handle_data for name in order for argument in _resources(functions[name])):
        return functions
    said: dict[str, list[dict[bytes, Any]]] = {}
    for op in calls:
        _hear(op.node_def, [held_by(tensor) for tensor in op.inputs], functions, said)
    for name in reversed(order):  # callers before callees
        function = functions[name]
        for argument, heard in zip(function.signature.input_arg, said.get(name, ()), strict=False):
            if len(heard) == 1 and argument.type == _RESOURCE and not argument.handle_data:
                argument.handle_data.extend(*heard.values())
        inside = _Inside(function, functions)
        for node in inside.calls():
            _hear(node, [inside.held(text) for text in node.input if text[0] != "^"], functions, said)
    return functions


_RESOURCE = tf.resource.as_datatype_enum
_Held = resource_handle_pb2.ResourceHandleProto.DtypeAndShape


def _resources(function: Any) -> Iterator[Any]:
    return (argument for argument in function.signature.input_arg if argument.type == _RESOURCE)


def _hear(
    node: TFNodeDef, inputs: Sequence[Any], functions: Mapping[str, Any], said: dict[str, list[dict[bytes, Any]]]
) -> None:
    """Notes the arguments of the functions that an op calls: all that different callers pass for each argument."""
    for called in called_by(node, functions):
        if called.function not in functions:
            continue
        count = len(functions[called.function].signature.input_arg)
        heard = said.setdefault(called.function, [{} for _ in range(count)])
        for at, what in enumerate(given(node, inputs, count)):
            if what:
                heard[at][b"".join(encoded(one, deterministic=True) for one in what)] = what


class _Inside:
    """Dtype and shape of the variables that the resource tensors in a function refer to."""

    def __init__(self, function: Any, functions: Mapping[str, Any]) -> None:
        self._functions = functions
        self._arguments = {argument.name: argument for argument in function.signature.input_arg}
        self._nodes = {node.name: node for node in function.node_def}

    def calls(self) -> Iterator[Any]:
        """Yields the ops that call functions."""
        calling: dict[str, bool] = {}  # the type of an op decides which attributes it has
        for node in self._nodes.values():
            if node.op not in calling:
                calling[node.op] = bool(called_by(node, self._functions))
            if calling[node.op]:
                yield node

    def held(self, text: str) -> Any:
        """Returns dtype and shape of the variable that a tensor refers to; empty if they are not known."""
        seen = set[str]()
        while text not in seen:  # a damaged function may contain a cycle
            seen.add(text)
            name, _, rest = text.partition(":")
            if name in self._arguments:
                return self._arguments[name].handle_data
            node = self._nodes.get(name)
            if node is None:
                return ()
            if node.op == "VarHandleOp":
                return [_Held(dtype=node.attr["dtype"].type, shape=node.attr["shape"].shape)]
            if node.op in _PASSING:
                text = node.input[0]
            elif node.op in _ALL_PASSING:
                text = node.input[int(rest.rpartition(":")[2])]
        return ()
