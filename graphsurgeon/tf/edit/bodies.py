"""Bodies: Python functions that make a call of some ops of a graph, or do the same as a call."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...errors import PlanError
from ...graph.graph import Graph
from ..functions.flow import Flow
from ..functions.library import reachable, referred
from ..functions.tracing import copied_ops, traced_function
from ..importing import tf
from ..private.functions import functions_of

tf1 = tf.compat.v1


def collapsed(
    base: Graph, mask: Any, inputs: Sequence[str], outputs: Sequence[str], name: str
) -> Callable[..., list[Any]]:
    """Returns a function of tensors that makes one call with the computation of some ops of a graph.

    Args:
        base: snapshot of the graph.
        mask: the ops.
        inputs, outputs: the names of the tensors that enter and leave the ops.
        name: the name of the call.
    """

    def call(*given: Any) -> list[Any]:
        _refuse_own_gradients(base, mask, name)

        def body() -> list[Any]:
            graph = tf1.get_default_graph()
            taken = {name: graph.capture(tensor) for name, tensor in zip(inputs, given, strict=True)}
            return copied_ops(base, mask, taken, outputs, name)

        return list(traced_function(body, re.sub(r"\W", "_", name))())

    return call


def _refuse_own_gradients(base: Graph, mask: Any, name: str) -> None:
    """Refuses calls with a custom gradient: inside another function they would lose it."""
    known = functions_of(base.live)
    for i in mask.nonzero()[0].tolist() if known else ():
        for called in reachable(referred(base.nodes[i], known), known):
            function = known[called]
            if getattr(function, "grad_func_name", None) or getattr(function, "python_grad_func", None):
                problem = f"{base.names[i]!r} calls {called!r}, whose custom gradient would be lost inside a function"
                raise PlanError(f"collapse(name={name!r})", problem, "Leave it out of the selection")


def branch_of(base: Graph, name: str, answers: Mapping[str, Any]) -> Callable[..., list[Any]]:
    """Returns a function of tensors that does the same as a v2 cond or case whose condition is known.

    Args:
        base: snapshot of the graph.
        name: the cond or case.
        answers: tensors that it reads -> their known values.

    Raises:
        PlanError: it cannot be inlined.
    """
    number = base.find(name)
    node, flow = base.nodes[number], Flow(base)
    flow.calls.refuse(node, f"resolve_condition({name!r})", flow=True)
    known = {k: answers[text] for k, text in enumerate(base.input_names(number)) if text in answers}
    count = len(base.outputs(number) or ())

    def call(*given: Any) -> list[Any]:
        return flow.decided(node, given, tf1.get_default_graph().get_name_scope(), known)[:count]

    return call


def taken_apart(base: Graph, name: str, inside: Sequence[str] = ()) -> Callable[..., list[Any]]:
    """Returns a function of tensors that does the same as a call of a graph, without the call.

    Args:
        base: snapshot of the graph.
        name: the call.
        inside: conds, cases and loops in it that are inlined too, by their names in the called function.

    Raises:
        PlanError: this op is not a call, or the call cannot be inlined.
    """
    node, flow = base.nodes[base.find(name)], Flow(base, opens=inside)
    flow.calls.refuse(node, f"inline({name!r})", flow=True)
    count = len(base.outputs(base.index[name]) or ())

    def call(*given: Any) -> list[Any]:
        return flow.built(node, given, tf1.get_default_graph().get_name_scope())[:count]

    return call
