"""Functions: the functions that an op calls, and the names of their ops below the op."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, TypeVar

from ..errors import few
from .types import TFGraphDef, TFNodeDef

T = TypeVar("T")

#: Ops that call one function and do nothing else, so that the ops of the function can replace them.
CALLS = frozenset({"PartitionedCall", "StatefulPartitionedCall"})
#: Ops that call one of several functions. Their first input is the condition, and the functions take the other inputs.
CONDITIONALS = frozenset({"If", "StatelessIf", "Case", "StatelessCase"})
WHILE_LOOPS = frozenset({"While", "StatelessWhile"})
#: Ops that call one of several functions, or call one function repeatedly. Differentiation of such an op defines
#: functions that are named after its branches, once in a process. If two copies share branches, only one of them can be
#: differentiated, and the other is left damaged.
BRANCHING = CONDITIONALS | WHILE_LOOPS

#: Attributes of an op that contain the name of its gradient. The second attribute is used in files, not by TensorFlow.
NAMES_OF_GRADIENTS = ("_gradient_op_type", "_saved_gradient")
#: Attribute of an op with `_saved_gradient`: its name in its function, and the tensors there that its gradient reads.
READ_BY_GRADIENT = "_saved_gradient_reads"

_TRACED = re.compile(r"__(?:inference|forward|backward)_(.+?)(?:_\d+)*")


class Callee(NamedTuple):
    """A function that an op calls.

    Args:
        function: its name.
        name_infix: the name part between the op's name and the names in the function; may be empty.
        gradient: whether it computes the gradient of the op, so that the op does not call it itself.
    """

    function: str
    name_infix: str = ""
    gradient: bool = False


def callees_of(node: TFNodeDef, functions: Container[str] = ()) -> list[Callee]:
    """Returns the functions that an op calls, whether they are known or not.

    A plain call is a scope: ``call/inner``. For any other op, the attribute comes in between: ``loop/body/inner``,
    ``case/branches_0/inner``.

    Args:
        node: the NodeDef of the op.
        functions: the names of the known functions. An op with such a name as its type is also a call.
    """
    if node.op in functions:
        return [Callee(node.op)]
    attributes = getattr(node, "attr", {})
    if node.op in CALLS:
        return [Callee(attributes["f"].func.name)] if "f" in attributes else []
    calls = []
    for key in sorted(attributes):
        kind = attributes[key].WhichOneof("value")
        if kind == "func":
            calls.append(Callee(attributes[key].func.name, key))
        elif kind == "list":
            calls += [Callee(f.name, f"{key}_{i}") for i, f in enumerate(attributes[key].list.func)]
    return calls


def nodes_in_calls(nodes: Iterable[TFNodeDef | None], functions: Mapping[str, Any]) -> list[TFNodeDef]:
    """Returns the NodeDefs in all functions that some ops call, at any depth.

    Args:
        nodes: the NodeDefs of the ops; None for an unknown one.
        functions: the known functions, by name.
    """
    called = {name for node in nodes if node for name in functions_in_node(node, functions)} if functions else ()
    return [inner for name in reachable_functions(called, functions) for inner in functions[name].node_def]


def op_types_finder(functions: Mapping[str, Any]) -> Callable[[str], frozenset[str]]:
    """Returns a function: name of a function -> op types in it, and in the functions that it calls at any depth.

    Args:
        functions: the known functions, by name. Other functions have no op types.
    """

    @cache
    def find(name: str) -> frozenset[str]:
        names = reachable_functions([name], functions) if name in functions else ()
        return frozenset(node.op for one in names for node in functions[one].node_def)

    return find


def inline_suggestion(names: Sequence[str], nodes: Sequence[Any], functions: Mapping[str, Any], kind: str) -> str:
    """Returns a suggestion for reaching the ops of a type inside calls; empty if no call contains such an op.

    Args:
        names, nodes: the ops of a graph.
        functions: the known functions, by name.
        kind: the op type.
    """
    opened = CALLS | BRANCHING | functions.keys() if functions else ()
    calls = [name for name, node in zip(names, nodes, strict=True) if node is not None and node.op in opened
             and any(inner.op == kind for inner in nodes_in_calls([node], functions))]  # fmt: skip
    return f"It is inside {few(list(map(repr, calls)), 3)}: ed.inlined() opens these calls" if calls else ""


def called_function(node: TFNodeDef, functions: Container[str]) -> str:
    """Returns the function that a node calls; empty for other ops, also for conds, cases and loops.

    Args:
        node: its NodeDef.
        functions: the names of the known functions.
    """
    called = callees_of(node, functions) if node.op in CALLS or node.op in functions else ()
    return next((one.function for one in called), "")


def gradient_of(
    node: TFNodeDef | None, gradients: Mapping[str, str], functions: Container[str] = ()
) -> tuple[str, bool]:
    """Returns the function that is the gradient of an op, by name; empty if none is known.

    Args:
        node: its NodeDef; None if it is not known.
        gradients: function, or name of a gradient -> the gradient function.
        functions: the names of the known functions.

    Returns:
        its name, and whether it is the gradient of the function that the op calls. Such a gradient takes the arguments
        of that function, then the gradients of its results. A gradient by `tf.custom_gradient` takes the gradients of
        the results, then the other tensors that it reads.
    """
    if node is None or not gradients:
        return "", False
    attributes = getattr(node, "attr", {})
    own = next((attributes[key].s.decode("utf-8", "replace") for key in NAMES_OF_GRADIENTS if key in attributes), "")
    if own in gradients:
        return gradients[own], False
    called = called_function(node, functions)
    return (gradients[called], True) if called in gradients else ("", False)


def argument_sources(node: TFNodeDef, inputs: Sequence[T], count: int) -> list[T | None]:
    """Returns the input that an op passes to each argument of a function; None if it is not known.

    A branch takes the inputs after the condition; a call or loop takes all inputs. A function that runs over a dataset
    takes the elements and, last, the captured tensors.

    Args:
        node: the NodeDef of the op.
        inputs: the inputs of the op, without control inputs.
        count: the number of arguments of the function.
    """
    if node.op in CONDITIONALS:
        return list(inputs[1:]) if len(inputs) == count + 1 else [None] * count
    attributes = getattr(node, "attr", {})
    captured = len(attributes["Targuments"].list.type) if "Targuments" in attributes else -1
    if 0 <= captured <= min(count, len(inputs) - 1):
        return [*[inputs[0]] * (count - captured), *inputs[1 : 1 + captured]]
    return list(inputs) if len(inputs) == count else [None] * count


def short_name(function: str) -> str:
    """Returns the name that a function had before TensorFlow traced it."""
    traced = _TRACED.fullmatch(function)
    return traced[1] if traced else function


def functions_in_attribute(value: Any) -> set[str]:
    """Returns the functions that an attribute names."""
    kind = value.WhichOneof("value")
    if kind == "func":
        return {value.func.name}
    return {function.name for function in value.list.func} if kind == "list" else set()


def functions_in_node(node: TFNodeDef, functions: Container[str]) -> set[str]:
    """Returns the functions of `functions` that a NodeDef calls: as its op, or in its attributes."""
    names = {node.op} if node.op in functions else set()
    for value in getattr(node, "attr", {}).values():
        kind = value.WhichOneof("value")
        if kind == "func" or (kind == "list" and value.list.func):
            names.update(name for name in functions_in_attribute(value) if name in functions)
    return names


def reachable_functions(start: Iterable[str], functions: Mapping[str, Any], exclude: Container[str] = ()) -> list[str]:
    """Returns the functions that `start` leads to, callees before callers; functions in `exclude` are left out.

    Args:
        start: names of functions.
        functions: name -> FunctionDef.
        exclude: names of functions to leave out.
    """
    order: list[str] = []
    visited: set[str] = set()
    stack = [(name, False) for name in sorted(start, reverse=True)]
    while stack:
        name, complete = stack.pop()
        if complete:
            order.append(name)
        elif name not in visited:
            visited.add(name)
            stack.append((name, True))
            inner: set[str] = set()
            for node in functions[name].node_def:
                inner |= functions_in_node(node, functions)
            stack.extend((other, False) for other in sorted(inner - visited, reverse=True) if other not in exclude)
    return order


def count_calls(nodes: Iterable[TFNodeDef], functions: Mapping[str, Any]) -> tuple[int, int]:
    """Returns the number of calls, and the number of ops in the called functions at any depth.

    A recursive function counts once.

    Args:
        nodes: NodeDefs of the ops; None for an unknown one.
        functions: name -> FunctionDef.
    """

    def callees(node: TFNodeDef) -> list[str]:
        called = callees_of(node, functions) if node is not None else ()
        return [one.function for one in called if one.function in functions]

    calls = [names for names in map(callees, nodes if functions else ()) if names]
    count = dict[str, int]()
    for name in reachable_functions({name for names in calls for name in names}, functions):
        own = functions[name].node_def
        count[name] = len(own) + sum(count.get(called, 0) for node in own for called in callees(node))
    return len(calls), sum(count[name] for names in calls for name in names)


def all_nodes(graph_def: TFGraphDef) -> Iterator[TFNodeDef]:
    """Yields the NodeDefs of a GraphDef: those of the graph itself, then those of its functions."""
    yield from graph_def.node
    for function in graph_def.library.function:
        yield from function.node_def


def own_gradient(node: TFNodeDef) -> str:
    """Returns the name of an op's custom gradient; empty without one."""
    attributes = getattr(node, "attr", {})
    return attributes["_gradient_op_type"].s.decode("utf-8", "replace") if "_gradient_op_type" in attributes else ""


def gradients_in(library: Any) -> dict[str, str]:
    """Returns function, or name of a gradient by `tf.custom_gradient` -> its gradient function in a library."""
    gradients = {one.function_name: one.gradient_func for one in library.gradient}
    return gradients | {one.registered_op_type: one.gradient_func for one in library.registered_gradients}
