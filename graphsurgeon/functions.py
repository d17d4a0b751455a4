"""Functions: a part of a graph as a TF2 function, and a graph with the functions it calls taken apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from .graph.graph import Graph
from .graph.names import op_name
from .graph.opened import Opened
from .values import Values


def function_of(
    graph: Graph, opened: Opened, values: Any, inputs: Any = None, outputs: Any = None, name: str = "function"
) -> Any:
    """Returns a TF2 callable made from a part of a graph, as `Editor.function` does.

    Args:
        graph: the snapshot.
        opened: what was opened: its inputs and outputs are the default.
        values: an editor or the values of one, a session, or a mapping.
        inputs, outputs: the tensors that become arguments and results.
        name: what to call it.
    """
    from .tf.functions.graph_function import graph_function
    from .tf.values.givers import giver_of

    giver = giver_of(values)
    given = values if giver is None else giver.reader
    packed = opened.packed if outputs is None else None
    takes, gives = opened.inputs if inputs is None else inputs, opened.outputs if outputs is None else outputs
    return graph_function(graph, takes, gives, given, name, packed=packed)


def inlined(graph: Graph, opened: Opened, values: Values, calls: Iterable[Any]) -> tuple[Opened, str]:
    """Returns a new graph in which function calls are replaced by what they compute, and the call that makes it.

    Args:
        graph: the snapshot.
        opened: what was opened.
        values: what its variables hold.
        calls: the call ops meant, by name or object; none: all of them.
    """
    from .tf.functions.inline import inlined

    made = inlined(graph, calls)
    call = f".inlined({', '.join(repr(op_name(one)) for one in calls)})"
    moved = {key: made.tensors.get(name, name) for key, name in opened.outputs.items()}
    about = {"code": opened.code + call, "session": None, "values": values.in_other(made.graph)}
    return replace(opened, graph=made.graph, outputs=moved, ends=((), ()), served=None, lack="", **about), call
