"""Functions: a part of a graph as a TF2 function, and a graph with the functions it calls taken apart."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from .graph.graph import Graph
from .graph.names import op_name, tensor_name
from .graph.opened import Opened
from .values import Values


def function_of(
    graph: Graph,
    opened: Opened,
    values: Any,
    inputs: Any = None,
    outputs: Any = None,
    name: str = "function",
    also: Any = (),
) -> Any:
    """Returns a TF2 callable made from a part of a graph, as `Editor.function` does.

    Args:
        graph: the snapshot.
        opened: what was opened: its inputs and outputs are the default.
        values: an editor or the values of one, a session, or a mapping.
        inputs, outputs: the tensors that become arguments and results.
        name: what to call it.
        also: ops that run along.
    """
    from .tf.functions.graph_function import graph_function

    packed = opened.packed if outputs is None else None
    takes, gives = opened.inputs if inputs is None else inputs, opened.outputs if outputs is None else outputs
    return graph_function(graph, takes, gives, _given(values), name, packed=packed, also=also)


def layer_of(
    graph: Graph,
    opened: Opened,
    values: Any,
    inputs: Any = None,
    outputs: Any = None,
    *,
    training: Any = None,
    name: str | None = None,
    trainable: bool = True,
) -> Any:
    """Returns a Keras layer made from a part of a graph, as `Editor.keras_layer` does.

    Args:
        graph: the snapshot.
        opened: what was opened: its inputs and outputs are the default.
        values: an editor or the values of one, a session, or a mapping.
        inputs, outputs: the tensors that become arguments and results.
        training: a tensor that says whether the graph is trained; or an editor of what is run in training.
        name: what to call it.
        trainable: whether its weights are trained.
    """
    from .tf.functions.keras_layer import keras_layer

    asked = "keras_layer()" if outputs is None else f"keras_layer(outputs={outputs!r})"
    takes = opened.inputs if inputs is None else inputs
    gives = _as_packed(opened) if outputs is None else outputs
    if hasattr(training, "opened"):
        keys = {name: key for key, name in {**opened.inputs, **opened.outputs}.items()}
        there = {**training.opened.inputs, **training.opened.outputs}
        ends = [_in_other(things, keys, there) for things in (takes, gives)]
        training = (training.snapshot, *ends, _given(training))
    return keras_layer(graph, takes, gives, _given(values), name, training, trainable, asked)


def _given(values: Any) -> Any:
    """What gives values: a session, a mapping, or a call that gives a session."""
    from .tf.values.givers import giver_of

    giver = giver_of(values)
    return values if giver is None else giver.reader


def _in_other(things: Any, keys: Mapping[str, str], there: Mapping[str, str]) -> Any:
    """The same tensors in another trace of a function: its arguments and results by their names there."""

    def other(thing: Any) -> str:
        name = tensor_name(thing)
        return there.get(keys.get(name, ""), name)

    if isinstance(things, Mapping):
        return {key: other(thing) for key, thing in things.items()}
    return [other(thing) for thing in things] if isinstance(things, (list, tuple)) else other(things)


def _as_packed(opened: Opened) -> Any:
    """The results of a function in the form that it returns them in: one, several, or by name."""
    names = list(opened.outputs.values())
    if opened.packed is None:
        return names[0] if len(names) == 1 else dict(opened.outputs)
    try:
        form = opened.packed(range(len(names)))
    except (TypeError, ValueError):  # sparse and ragged results: their parts, by name
        return dict(opened.outputs)
    if isinstance(form, int):
        return names[form]
    if isinstance(form, (list, tuple)) and all(isinstance(i, int) for i in form):
        return [names[i] for i in form]
    if isinstance(form, Mapping) and all(isinstance(i, int) for i in form.values()):
        return {str(key): names[i] for key, i in form.items()}
    return dict(opened.outputs)


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
    return replace(opened, graph=made.graph, outputs=moved, ends=((), ()), lack="", **about), call
