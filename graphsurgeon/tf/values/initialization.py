"""Initialization: variables get their first values in an order in which each finds the values that it needs."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ...errors import PlanError
from ...graph.live import TFGraph, TFOp, TFSession
from ...graph.names import op_name
from ...graph.traversal import met_from
from ...graph.variables import PLACEHOLDER_TYPES, VARIABLE_TYPES, VariableInfo
from ...words import few
from ..copy.resources import ready_fillers
from ..importing import tf
from ..run.errors import words_of
from .latest import is_there
from .variables import assigned

#: Ops that read tensors of a checkpoint; their first input is its path.
RESTORERS = frozenset({"Restore", "RestoreSlice", "RestoreV2"})
_EMPTY = re.compile(r"(?:uninitialized value|[Ff]ind variable|resource variable) ([^\s'\"]+?)[.,]?(?:\s|$)")


def initialise(
    session: TFSession,
    infos: Iterable[VariableInfo],
    helped: Sequence[VariableInfo] = (),
    request: str = "session()",
) -> None:
    """Runs the initialisers of these variables; initialisers that need a feed are left out.

    Args:
        session: the session.
        infos: the variables.
        helped: variables that may be initialised too, if one of the others needs them.
        request: the request, for messages.

    Raises:
        PlanError: in any order, a variable needs the value of another that has none; the message names both.
    """
    start(session, list(infos), [], lambda infos: None, request, helped)


def start(
    session: TFSession,
    fresh: Sequence[VariableInfo],
    given: Sequence[VariableInfo],
    give: Callable[[list[VariableInfo]], None],
    request: str,
    helped: Sequence[VariableInfo] = (),
) -> None:
    """Gives variables their first values, in the order that their initialisers need.

    Args:
        session: the session.
        fresh: variables that start from their initial values.
        given: variables that `give` sets, through their initialisers too.
        give: sets some of `given`.
        request: the request, for messages.
        helped: variables that may be initialised too, if one of the others needs them.

    Raises:
        PlanError: in any order, a variable needs the value of another that has none; the message names both.
    """
    graph = session.graph
    todo = [info for info in fresh if info.initializer and not cannot_start(graph, info)]
    if not any(_needs(graph, info, True) for info in given):
        try:
            _run(session, todo)
        except tf.errors.FailedPreconditionError as error:
            if "able not initialized" in str(error.message):  # TensorFlow's error has no separate code
                _fill_tables(session)
        else:
            give(list(given))
            return
    spare = {info.op: info for info in helped if info.initializer and not cannot_start(graph, info)}
    needs = {info.op: _needs(graph, info, True) for info in given} | {i.op: _needs(graph, i, False) for i in todo}
    more = [name for name in {n for found in needs.values() for n in found} if name in spare and name not in needs]
    while more:
        needs[more[-1]] = _needs(graph, spare[more[-1]], False)
        todo.append(spare[more.pop()])
        more += [name for name in needs[todo[-1].op] if name in spare and name not in needs and name not in more]
    for layer in _layers(needs):
        first = [info for info in todo if info.op in layer]
        then = [info for info in given if info.op in layer]
        try:
            _run(session, first)
            if then:
                give(then)
        except tf.errors.FailedPreconditionError as error:
            raise _stuck(graph, [*first, *then], needs, error, request) from error


def cannot_start(graph: TFGraph, info: VariableInfo) -> bool:
    """Returns whether the initialiser of a variable cannot run by itself.

    Its value is a placeholder, or is read from a checkpoint that does not exist.
    """
    value = _initial(graph, info)
    return value is not None and (value.type in PLACEHOLDER_TYPES or bool(_lost(value)))


def lost_checkpoint(graph: TFGraph, info: VariableInfo) -> str:
    """Returns the path of the checkpoint with the initial value of a variable if it does not exist; else empty.

    A path on another machine is not checked.
    """
    value = _initial(graph, info)
    return "" if value is None else _lost(value)


def _lost(value: TFOp) -> str:
    for op in met_from([value], lambda op: [t.op for t in op.inputs]):
        prefix = tf.get_static_value(op.inputs[0]) if op.type in RESTORERS else None
        for text in () if prefix is None else np.ravel(prefix):
            path = os.fsdecode(text)
            elsewhere = "://" in path or path.startswith(("//", "\\\\"))
            if not (elsewhere or is_there(path)):
                return path
    return ""


def _initial(graph: TFGraph, info: VariableInfo) -> TFOp | None:
    """The op with the initial value of a variable; None if there is none."""
    name = op_name(assigned(graph, info.initializer) or info.initial_value)
    return graph.get_operation_by_name(name) if name else None


def _run(session: TFSession, infos: Sequence[VariableInfo]) -> None:
    if infos:
        session.run([session.graph.get_operation_by_name(info.initializer) for info in infos])


def _fill_tables(session: TFSession) -> None:
    for op in (*session.graph.get_collection(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS), *ready_fillers(session.graph)):
        with suppress(tf.errors.FailedPreconditionError):  # it is already filled
            session.run(op)


def _needs(graph: TFGraph, info: VariableInfo, fed: bool) -> set[str]:
    """Names of the variables that another's initialiser reads or waits for; one that is fed reads no value."""
    initializer = graph.get_operation_by_name(info.initializer)
    inputs = [t.op for t in initializer.inputs]
    return reached([*initializer.control_inputs, *(inputs[:1] if fed else inputs)]) - {info.op}


def reached(ops: Iterable[TFOp]) -> set[str]:
    """Returns the names of the variables among these ops and their ancestors."""
    above = met_from(ops, lambda op: [*op.control_inputs, *(t.op for t in op.inputs)])
    return {op.name for op in above if op.type in VARIABLE_TYPES}


def _layers(needs: dict[str, set[str]]) -> list[set[str]]:
    """Groups variables so that each needs only variables of earlier groups; the last group has those on a cycle."""
    left = {name: found & needs.keys() for name, found in needs.items()}
    layers = []
    while left:
        ready = {name for name, found in left.items() if not found} or set(left)
        layers.append(ready)
        left = {name: found - ready for name, found in left.items() if name not in ready}
    return layers


def _stuck(
    graph: TFGraph, infos: Sequence[VariableInfo], needs: dict[str, set[str]], error: Any, request: str
) -> PlanError:
    """The error for a variable that needs another without a value."""
    match = _EMPTY.search(str(error.message))  # TensorFlow has the variable in its text only
    named, layer = match[1] if match else "", {i.op for i in infos}
    cycle = [i for i in infos if needs[i.op] & layer]
    wanting = cycle or [i for i in infos if named in needs[i.op]] or [i for i in infos if needs[i.op]]
    if not wanting:
        names = few([repr(i.op) for i in infos])
        suggestion = "Open a session of this graph, initialize the others in it, and give it: ed.session(session)"
        return PlanError(request, f"{names} cannot be initialised: {words_of(error)}", suggestion)
    info = wanting[0]
    known = needs[info.op] & layer if cycle else needs[info.op]
    initializer = graph.get_operation_by_name(info.initializer)
    needed = named if named in known and not cycle else min(known)
    own = graph.get_operation_by_name(info.op)
    waiting = next((op for op in (own, initializer) if needed in reached(op.control_inputs)), None)
    if waiting is not None:
        problem = f"{waiting.name!r} waits for {needed!r}"
        suggestion = f"Remove the control input: ed.plan().remove_control({waiting.name!r})"
    else:
        problem = f"{info.initializer!r} assigns a tensor that depends on {needed!r}"
        suggestion = f"Make it assign another tensor: ed.plan().connect(tensor, to={info.initializer!r}, input=1)"
    both = f", which needs {info.op!r}" if info.op in needs.get(needed, ()) else ", which has no value at that time"
    return PlanError(request, f"variable {info.op!r} cannot get a value: {problem}{both}", suggestion)
