"""Facts: what TensorFlow says of ops beyond a snapshot, for people who look at them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from ...errors import SelectionError
from ...graph.graph import Graph
from ...graph.live import TFSession
from ...graph.selection import Selection
from ...plan.plan import op_name
from ..edit.nodes import check_attribute, check_inserted
from ..edit.patterns import as_pattern
from ..functions.insides import body, called_functions
from ..private.graphs import flops as flops_of
from ..private.graphs import op_finder
from ..run.errors import words_of
from .describe import attribute_text, constant_value, documentation

__all__ = ["attribute_text", "body", "called_functions", "check_attribute", "check_inserted", "constant_value"]
__all__ += ["documentation", "flops", "pattern", "value"]


def flops(graph: Graph, ops: Sequence[int]) -> int:
    """Returns the floating-point operations that TensorFlow counts for ops of a live graph, where shapes are known."""
    if not hasattr(graph.owner, "get_operation_by_name"):
        return 0
    find, total = op_finder(graph.owner), 0
    for i in ops:
        with suppress(KeyError):  # an op that a plan will make is not there yet
            total += flops_of(find(graph.names[i])) or 0
    return total


def pattern(selection: Selection) -> Any:
    """Returns the pattern that looks like a selection."""
    return as_pattern(selection)


def value(graph: Graph, name: str, void: frozenset[str], session: Callable[[], TFSession]) -> Any:
    """Returns what a constant or a variable holds now, as an array: from its node, else from a session.

    Args:
        graph: the snapshot.
        name: a constant or variable.
        void: names of variables that nothing gives a value.
        session: opens the session to read from, if one is needed.

    Raises:
        SelectionError: it is neither, or nothing gives it a value.
    """
    name = op_name(name)
    asked = f"value({name!r})"
    number = graph.find(name, asked)
    held = graph.state.variables.get(name)
    if held is None:
        found = constant_value(graph.nodes[number], most=1 << 28)
        if found is None:
            kind = graph.types[number]
            raise SelectionError(asked, f"an op of type {kind} holds no value", "Ask for a constant or a variable")
        return found
    if name in void:
        raise SelectionError(asked, "nothing gives this variable a value", "Open the graph with its checkpoint")
    live = session()
    try:
        return live.run(held.snapshot or f"{name}:0")
    except Exception as error:
        how = "Run its initialiser in ed.session(), or open the graph with its checkpoint"
        raise SelectionError(asked, f"its value cannot be read: {words_of(error)}", how) from error
