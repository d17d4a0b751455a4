"""Bodies: Python functions that make a call of some ops of a graph, or do what a call of it does."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from ...errors import PlanError
from ...graph.graph import Graph
from ...graph.selection import Query, Selection
from ..copy.append import copied_into
from ..functions.calls import Calls
from ..functions.inline import inlined
from ..functions.library import reachable, referred
from ..open.snapshot import snapshot
from ..private.functions import functions_of
from ..private.graphs import copy_handle_data

tf1 = tf.compat.v1


def collapsed(
    base: Graph, mask: Any, inputs: Sequence[str], outputs: Sequence[str], name: str
) -> Callable[..., list[Any]]:
    """Returns a function of tensors that makes one call of what some ops of a graph compute.

    Args:
        base: snapshot of the graph.
        mask: the ops.
        inputs, outputs: the tensors that enter and leave them, by name.
        name: what to call it.
    """

    def call(*given: Any) -> list[Any]:
        _refuse_own_gradients(base, mask, name)

        def body() -> list[Any]:
            graph = tf1.get_default_graph()
            taken = [graph.capture(tensor) for tensor in given]
            pairs = {name: tensor.name for name, tensor in zip(inputs, taken, strict=True)}
            block = Selection(base, mask, Query("select"))
            copied = copied_into(graph, block, apart=True, inputs=pairs, control="drop", collections="none")
            return [graph.get_tensor_by_name(copied.renamed(text)) for text in outputs]

        body.__name__ = re.sub(r"\W", "_", name)
        results: list[Any] = list(tf.function(body, autograph=False)())
        return results

    return call


def _refuse_own_gradients(base: Graph, mask: Any, name: str) -> None:
    """A function that another calls is known by what it computes alone."""
    known = functions_of(base.owner)
    for i in mask.nonzero()[0].tolist() if known else ():
        for called in reachable(referred(base.nodes[i], known), known):
            function = known[called]
            if getattr(function, "grad_func_name", None) or getattr(function, "python_grad_func", None):
                wrong = f"{base.names[i]!r} calls {called!r}, which has a gradient of its own, and a function loses it"
                raise PlanError(f"collapse(name={name!r})", wrong, "Select around it")


def taken_apart(base: Graph, name: str) -> Callable[..., list[Any]]:
    """Returns a function of tensors that does what a call of a graph does, without the call.

    Args:
        base: snapshot of the graph.
        name: the call.

    Raises:
        PlanError: this op is no call, or one that cannot be inlined.
    """
    number = base.find(name)
    reason = Calls(base).obstacle(base.nodes[number])
    if reason:
        raise PlanError(f"inline({name!r})", *reason)

    def call(*given: Any) -> list[Any]:
        # The call alone, in a graph of its own, is taken apart there; what comes of it is copied to where we are.
        alone = tf.Graph()
        with alone.as_default():
            stand_ins = [tf1.placeholder(t.dtype.base_dtype, t.shape, name=f"what_enters/{k}") for k, t in
                         enumerate(given)]  # fmt: skip
        for tensor, stand_in in zip(given, stand_ins, strict=True):
            if tensor.dtype in (tf.resource, tf.variant):
                copy_handle_data(tensor, stand_in)
        one = Selection(base, base.mask([number]), Query("names", (name,)))
        enters = dict(zip(base.input_names(number), [t.name for t in stand_ins], strict=False))
        copied_into(alone, one, inputs=enters, control="drop", collections="none")
        apart = inlined(snapshot(alone), [name])
        source = snapshot(apart.graph)
        here = tf1.get_default_graph()
        scope = here.get_name_scope()
        mask = ~source.mask(source.index[t.op.name] for t in stand_ins)
        read = {source.names[i] for i in source.data.node.tolist()}
        block, made = Selection(source, mask, Query("select")), None
        if mask.any():
            inputs = {t.name: g.name for t, g in zip(stand_ins, given, strict=True) if t.op.name in read}
            names = {n: scope + n[len(name) :] for n in source.names if n.startswith(f"{name}/")}
            made = copied_into(here, block, inputs=inputs, control="drop", collections="none", names=names)
        ends = dict(zip((t.name for t in stand_ins), given, strict=True))
        results = []
        for port in range(len(base.outputs(number) or ())):
            text = apart.tensors[f"{name}:{port}"]
            text = text if ":" in text else f"{text}:0"
            results.append(ends[text] if text in ends or made is None else here.get_tensor_by_name(made.renamed(text)))
        return results

    return call
