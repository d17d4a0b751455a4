"""Handles: what the resources hold that functions take, found from the ops that call them inwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import function_pb2, resource_handle_pb2

from ...graph.functions import called_by, given, reachable
from ...graph.live import TFNodeDef
from ..private.functions import held_by, say_handles
from ..wire import encoded

#: Ops that hand on the resource that they are given first.
_PASSING = frozenset({"Identity", "Enter", "RefEnter", "Exit", "Switch", "Merge", "NextIteration"})
#: Ops whose outputs are what they are given, one by one.
_ALL_PASSING = frozenset({"IdentityN", "While", "StatelessWhile"})


def with_handles(
    names: Iterable[str], calls: Iterable[Any], known: Mapping[str, Any], plain: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns FunctionDefs in which each resource that a function takes says what it holds.

    TensorFlow writes that of none that a function does not use itself, and a gradient asks for it all the same: a
    branch that leaves a variable alone has zeros for it.

    Args:
        names: the functions.
        calls: live ops that call some of them; others may be among these ops.
        known: the functions of the graph as Python has them, by name.
        plain: their FunctionDefs; they stay as they are.
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
    for name in reversed(order):  # those that call come before those that they call
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
    """Notes what the functions that an op calls are given: all that different callers say of each argument."""
    for called in called_by(node, functions):
        if called.function not in functions:
            continue
        count = len(functions[called.function].signature.input_arg)
        heard = said.setdefault(called.function, [{} for _ in range(count)])
        for at, what in enumerate(given(node, inputs, count)):
            if what:
                heard[at][b"".join(encoded(one, deterministic=True) for one in what)] = what


class _Inside:
    """What the tensors in a function hold, as far as it is a resource."""

    def __init__(self, function: Any, functions: Mapping[str, Any]) -> None:
        self._functions = functions
        self._arguments = {argument.name: argument for argument in function.signature.input_arg}
        self._nodes = {node.name: node for node in function.node_def}

    def calls(self) -> Iterator[Any]:
        """Yields the ops that call functions."""
        calling: dict[str, bool] = {}  # what attributes an op has, its type decides
        for node in self._nodes.values():
            if node.op not in calling:
                calling[node.op] = bool(called_by(node, self._functions))
            if calling[node.op]:
                yield node

    def held(self, text: str) -> Any:
        """Returns what a tensor holds; nothing where that is not known."""
        seen = set[str]()
        while text not in seen:  # a damaged function may lead in a circle
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
