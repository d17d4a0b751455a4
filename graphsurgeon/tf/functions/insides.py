"""Insides: what is inside a function of a graph, as a snapshot to look at."""

from __future__ import annotations

from typing import Any

from tensorflow.core.framework import node_def_pb2

from ...errors import SelectionError
from ...graph.graph import Graph
from ...words import few
from .calls import Calls
from .inference import Given, Inferred, given
from .library import reachable, referred


def called_functions(graph: Graph, op: int) -> list[str]:
    """Returns the names of the functions an op calls or hands on, as far as the graph holds them."""
    known = Calls(graph).known
    return sorted(referred(graph.nodes[op], known) & set(known)) if known else []


def body(graph: Graph, name: str, call: int | None = None) -> Graph:
    """Returns the body of a function: its arguments as ``_Arg``, its results as ``_Retval``.

    Args:
        graph: snapshot of a live graph, or of a body.
        name: the function's name.
        call: number of the op that calls it, which knows shapes of the arguments.

    Raises:
        SelectionError: the graph holds no such function.
    """
    calls = Calls(graph)
    if name not in calls.known:
        raise SelectionError(
            f"look_inside(function={name!r})",
            f"{graph.title} holds no function of that name",
            f"It holds {few(sorted(calls.known), 5) or 'none'}",
        )
    inner = calls.definition(name)
    arguments = {a.name for a in inner.signature.input_arg}
    outputs = {n.name: calls.flat_outputs(n) for n in inner.node_def}

    def read(text: str) -> str:
        op, _, rest = text.partition(":")
        if text.startswith("^") or op in arguments or not rest:
            return text
        out, _, index = rest.partition(":")
        return f"{op}:{outputs[op].get(out, 0) + int(index or 0)}"

    nodes = []
    for argument in inner.signature.input_arg:
        node = node_def_pb2.NodeDef(name=argument.name, op="_Arg")
        node.attr["T"].type = argument.type
        nodes.append(node)
    for old in inner.node_def:
        node = node_def_pb2.NodeDef()
        node.CopyFrom(old)
        node.input[:] = [read(text) for text in old.input]
        nodes.append(node)
    taken = {node.name for node in nodes}
    for result in inner.signature.output_arg:
        free = next(n for n in (result.name, *(f"{result.name}_{i}" for i in range(1, 10_000))) if n not in taken)
        taken.add(free)
        node = node_def_pb2.NodeDef(name=free, op="_Retval", input=[read(inner.ret[result.name])])
        node.attr["T"].type = result.type
        nodes.append(node)
    outer = graph.owner.given if isinstance(graph.owner, _Library) else {}
    names = [argument.name for argument in inner.signature.input_arg]
    told = given(graph, call, len(names), outer) if call is not None else [Given()] * len(names)
    known = {
        argument: about if about != Given() else Given(_own_shape(inner, i))
        for i, (argument, about) in enumerate(zip(names, told, strict=True))
    }
    leads_to = reachable(set().union(*(referred(n, calls.known) for n in nodes)), calls.known)
    shapes = Inferred(nodes, lambda: [calls.definition(f) for f in leads_to], known)
    return Graph.read(nodes, title=f"{name} of {graph.title}", owner=_Library(calls.known, known), outputs_of=shapes)


def _own_shape(inner: Any, argument: int) -> Any:
    """Returns the shape that a function says of an argument itself; None where it says none."""
    said = inner.arg_attr[argument].attr if argument in inner.arg_attr else {}
    shapes: Any = said["_output_shapes"].list.shape if "_output_shapes" in said else ()
    return shapes[0] if len(shapes) == 1 else None


class _Library:
    """Stands for the graph of a body: it knows the same functions, so that calls inside can be looked into."""

    def __init__(self, known: dict[str, Any], given: dict[str, Given]) -> None:
        self._functions, self.given = known, given
