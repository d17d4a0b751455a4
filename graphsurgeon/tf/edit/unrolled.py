"""Unrolled: Python functions that do the same as a given number of rounds of a loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...errors import PlanError
from ...graph.boundary import entering
from ...graph.contexts import FLOW_TYPES, Loop, body_of
from ...graph.graph import Graph, Mask
from ...graph.live import TFOp
from ...graph.selection import Query, Selection
from ...graph.variables import VARIABLE_TYPES
from ...plan.policies import writes
from ..copy.append import copied_into
from ..functions.calls import Calls
from ..functions.flow import Flow
from ..importing import tf
from ..private.contexts import innermost_context
from ..private.graphs import set_control_inputs
from ..registry import op_definition

tf1 = tf.compat.v1


def rounds_of(base: Graph, op: int, loop: Loop | None, times: int) -> Callable[..., list[Any]]:
    """Returns a function of tensors that does the same as a given number of rounds of a loop.

    Args:
        base: snapshot of the graph.
        op: the number of a v2 loop, or of the condition of a loop of TF1.
        loop: the loop of TF1; None for a v2 loop.
        times: the number of rounds.

    Raises:
        PlanError: the loop cannot be unrolled.
    """
    if loop is not None:
        return _rounds_of_tf1(base, loop, times)
    node, flow = base.nodes[op], Flow(base)
    flow.calls.refuse(node, f"unroll({base.names[op]!r}, {times})", flow=True)
    acts = flow.calls.acts(node)
    flow = Flow(base, ordered=acts)
    shapes = [tf.TensorShape(shape) for shape in node.attr["output_shapes"].list.shape]

    def call(*given: Any) -> list[Any]:
        scope, values, order = tf1.get_default_graph().get_name_scope(), list(given), _Order(acts)
        for number in range(times):
            values = flow.applied(node.attr["body"].func.name, values, f"{scope}/{_round(number)}", node.device, False)
            for tensor, shape in zip(values, shapes, strict=False):
                tensor.set_shape(shape)  # the nodes do not have the shapes that a function has
            order.next()
        return values

    return call


def _rounds_of_tf1(base: Graph, loop: Loop, times: int) -> Callable[..., list[Any]]:
    body, lead = body_of(base, loop), base.names[loop.asks].rpartition("/")[0]
    block = Selection(base, body, Query("select"))
    enters = [f"{base.names[i]}:1" for i in loop.switches] + [f"{base.names[i]}:0" for i in loop.constants]
    read = {f"{base.names[i]}:{port}" for i, port in entering(base, body)}
    acts = _acts(base, loop, body)

    def call(*given: Any) -> list[Any]:
        here, values, order = tf1.get_default_graph(), list(given), _Order(acts)
        for number in range(times):
            scope = f"{here.get_name_scope()}/{_round(number)}"
            ends, made = dict(zip(enters, values, strict=True)), None
            if len(block):
                inputs = {text: tensor.name for text, tensor in ends.items() if text in read}
                names = {n: f"{scope}/{n.removeprefix(f'{lead}/')}" for n in block.names}
                made = copied_into(here, block, inputs=inputs, names=names, control="drop", collections="none")
            turned = [base.input_names(i)[0] for i in loop.turns]
            values[: len(turned)] = [
                ends[text] if text in ends or made is None else here.get_tensor_by_name(made.renamed(text))
                for text in turned
            ]
            order.next()
        return [value for value, end in zip(values, loop.exits, strict=False) if end >= 0]

    return call


def _acts(base: Graph, loop: Loop, body: Mask) -> bool:
    """Returns whether a round of a loop of TF1 sets state; refuses a loop in which not each round may set it."""
    calls, numbers = Calls(base), np.flatnonzero(body).tolist()
    if not any(calls.acts(base.nodes[i]) or writes(base.types[i]) for i in numbers):
        return False
    live = base.live.get_operations()
    around = innermost_context(live[loop.asks])
    inside = [i for i in numbers if base.types[i] not in FLOW_TYPES and _lasts(live[i])]
    deep = next((i for i in inside if innermost_context(live[i]) is not around), None)
    if deep is None and around is None and (base.typed(FLOW_TYPES) & body).any():
        deep = inside[0]
    if deep is not None:
        problem = f"its rounds set state, but {base.names[deep]!r}, in a cond or loop inside them, may not run"
        raise PlanError("unroll()", problem, "Resolve that condition in an earlier plan, or leave the loop unchanged")
    return True


def _round(number: int) -> str:
    return f"body_{number}" if number else "body"


class _Order:
    """Makes the state ops of each round wait for those of the round before, as in a loop.

    Args:
        needed: the rounds set state; otherwise no order is needed.
    """

    def __init__(self, needed: bool) -> None:
        self._graph, self._needed = tf1.get_default_graph(), needed
        self._at, self._before = len(self._graph.get_operations()), list[Any]()

    def next(self) -> None:
        """Orders the ops that were made since the last call."""
        if not self._needed:
            return
        made = self._graph.get_operations()[self._at :]
        self._at += len(made)
        lasting = [op for op in made if op.type not in VARIABLE_TYPES and _lasts(op)]
        for op in lasting if self._before else ():
            set_control_inputs(op, list(op.control_inputs), [*op.control_inputs, *self._before])
        self._before = lasting or self._before


def _lasts(op: TFOp) -> bool:
    about = op_definition(op.type)
    refers = any(tensor.dtype.name.endswith("_ref") for tensor in op.inputs)
    return refers or (about is not None and about.is_stateful)
