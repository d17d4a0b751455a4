"""Untrained: which variables of a session hold a value, and which of them nothing but their initial one."""

from __future__ import annotations

import weakref
import zlib
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import tensorflow as tf

from ...errors import PlanError
from ...graph.live import TFGraph, TFOp, TFSession
from ...graph.variables import UNHELD, VariableInfo
from ..functions.library import definition
from ..private.functions import functions_of
from ..private.graphs import has_op
from ..private.sessions import is_local, knows
from ..run.observed import LOOKS
from .givers import giver_of
from .initialization import reached
from .transfer import stream
from .variables import Place, errors_if_closed, place_of, stands_alone, value_of, variable_infos

tf1 = tf.compat.v1


def holding(session: TFSession, infos: Sequence[VariableInfo], asked: str) -> frozenset[str]:
    """Returns the names of the variables that hold a value in a session; those of which no op tells may hold one.

    Each new set of fetches costs TensorFlow a pruned graph, so one run answers for all that have an answer which
    cannot fail: resource variables whose question is in the graph, and reference variables, of which a trace tells
    whether they gave anything. The others hold nothing if no op of the graph sets them, or if they came after all that
    the session has run; what is left is read, and each failure names one.

    Args:
        session: the session.
        infos: the variables, of its graph.
        asked: the request, for messages.

    Raises:
        PlanError: the session is closed.
    """
    questions = _questions(session.graph) if any(info.resource for info in infos) else {}
    asks, traced, mute = {}, {}, {}
    for info in infos:
        op = session.graph.get_operation_by_name(info.op)
        if not info.resource:
            traced[info.op] = op
        elif (ask := questions.get((op.device, *place_of(op)))) is not None:
            asks[info.op] = ask
        else:
            mute[info.op] = place_of(op)
    empty = _empty_places(session, mute.values())  # asked first: each run makes the session learn of all ops
    answers = {name: False for name, place in mute.items() if place in empty}
    # A session of this process traces at the lower level; one of a server at the higher one only.
    for level in (tf1.RunOptions.SOFTWARE_TRACE, tf1.RunOptions.FULL_TRACE):
        if asks or traced:
            answers |= _answers(session, asks, traced, level, asked)
        asks, traced = {}, {name: op for name, op in traced.items() if name not in answers}
    held, reads = {name for name, yes in answers.items() if yes}, {}
    for info in infos:
        if info.op not in answers:
            try:
                reads[info.op] = value_of(session.graph, info, asked).op
            except PlanError:
                held.add(info.op)
    return frozenset(held | _readable(session, reads, asked))


def _questions(graph: TFGraph) -> dict[tuple[Any, ...], Any]:
    """Where a resource variable is kept -> a tensor of the graph that says whether it holds a value, and does no more.

    Any op of the same place holds the very same variable.
    """
    return {
        (op.inputs[0].op.device, *place_of(op.inputs[0].op)): op.outputs[0]
        for op in graph.get_operations()
        if op.type == "VarIsInitializedOp" and op.inputs[0].op.type == "VarHandleOp" and stands_alone(op)
    }


def _empty_places(session: TFSession, wanted: Iterable[Place]) -> frozenset[Place]:
    """Returns at which of these places of variables a session holds nothing, as nothing it ran can have set them.

    Either no op of its graph sets them, or it knows no op for them. A session of a server shares its variables with
    others, and a function may have an op for one of its own.
    """
    places = frozenset(wanted)
    if not places or not is_local(session) or _in_functions(session.graph):
        return frozenset()
    handles = [op for op in session.graph.get_operations() if op.type == "VarHandleOp"]
    settable = places.intersection(place_of(op) for op in handles if not _only_read(op))
    if not settable or knows(session, handles[-1]):
        return places - settable
    first = bisect_left(handles, True, key=lambda op: not knows(session, op))  # it learns of ops in their order
    return places - settable.intersection(map(place_of, handles[:first]))


def _only_read(handle: TFOp) -> bool:
    """Whether no op of the graph can set the variable of a handle by it."""
    return all(op.type in LOOKS for op in handle.outputs[0].consumers())


def _in_functions(graph: TFGraph) -> bool:
    """Whether a function of a graph has an op for a variable of its own."""
    functions = functions_of(graph).values()
    return any(node.op == "VarHandleOp" for function in functions for node in definition(function).node_def)


def within_reach(graph: TFGraph, ops: Iterable[str], infos: Sequence[VariableInfo]) -> list[VariableInfo]:
    """Returns the variables that may hold a value where nothing but these ops has run; the others need no question.

    Args:
        graph: the graph.
        ops: names of ops; one that the graph does not have is none that has run.
        infos: variables of the graph.
    """
    if _in_functions(graph):
        return list(infos)
    op = graph.get_operation_by_name
    variables = map(op, reached(op(name) for name in ops if has_op(graph, name)))
    places = {place_of(variable) for variable in variables if variable.type == "VarHandleOp"}
    return [info for info in infos if not info.resource or place_of(op(info.op)) in places]


def _answers(
    session: TFSession, asks: Mapping[str, Any], traced: Mapping[str, Any], level: int, asked: str
) -> dict[str, bool]:
    """Returns which variables hold a value, as one run tells; without those that its trace does not have."""
    metadata = tf1.RunMetadata()
    how = {"options": tf1.RunOptions(trace_level=level), "run_metadata": metadata} if traced else {}
    with errors_if_closed(asked):
        said = session.run({"asks": dict(asks), "traced": list(traced.values())}, **how)["asks"]
    # What holds nothing gives nothing; it is an error only where something reads it.
    gave = {node.node_name: bool(node.output) for device in metadata.step_stats.dev_stats for node in device.node_stats}
    return {name: bool(yes) for name, yes in said.items()} | {name: gave[name] for name in traced if name in gave}


def _readable(session: TFSession, reads: Mapping[str, Any], asked: str) -> set[str]:
    """Returns the variables that can be read in a session: each run that fails names one that cannot.

    Args:
        session: the session.
        reads: variable -> the op that reads it.
        asked: the request, for messages.
    """
    todo = set(reads.values())
    while todo:
        try:
            with errors_if_closed(asked):
                session.run(list(todo))
            break
        except tf.errors.FailedPreconditionError as error:
            if len(todo) > 1 and error.op not in todo:  # what failed lies before several: each is asked alone
                return {name for name, op in reads.items() if op in todo and _readable(session, {name: op}, asked)}
            todo.discard(error.op if error.op in todo else next(iter(todo)))
    return {name for name, op in reads.items() if op in todo}


def read_all(session: TFSession, infos: Sequence[VariableInfo]) -> dict[str, Any]:
    """Returns the values of variables that hold one, by op name; without those that no op reads."""
    able = []
    for info in infos:
        with suppress(PlanError):
            value_of(session.graph, info, "session(old)")
            able.append(info)
    return {name: value for batch in stream(session, able, "session(old)") for name, value in batch.items()}


def read_if_open(session: TFSession, info: VariableInfo) -> Any:
    """Returns what a variable holds in a session; None where that cannot be known, as of a closed one."""
    try:
        return read_all(session, [info]).get(info.op)
    except PlanError:
        return None


#: session -> variable -> why it holds its initial value, and a checksum of that.
_UNTRAINED: weakref.WeakKeyDictionary[Any, dict[str, tuple[str, int]]] = weakref.WeakKeyDictionary()


def note_untrained(session: TFSession, infos: Iterable[VariableInfo], why: Mapping[str, str]) -> None:
    """Notes which variables of a session hold initial values only.

    Args:
        session: the session.
        infos: all variables of its graph.
        why: variable -> why it holds no other value.
    """
    noted = [info for info in infos if info.op in why]
    found = {name: (why[name], _checksum(value)) for name, value in read_all(session, noted).items()}
    if found:
        _UNTRAINED[session] = {**_UNTRAINED.get(session, {}), **found}


def untrained(session: TFSession) -> dict[str, str]:
    """Returns the variables that hold initial values only, each with the reason.

    Once one of them was changed, all of them count as trained; but a local variable tells of itself alone.
    """
    noted = _UNTRAINED.get(session, {})
    infos = {name: info for name, info in variable_infos(session.graph).items() if name in noted} if noted else {}
    try:
        values = read_all(session, list(infos.values()))
    except (PlanError, tf.errors.OpError):
        return {}
    changed = {name for name, value in values.items() if _checksum(value) != noted[name][1]}
    if any(not infos[name].local for name in changed):
        changed |= {name for name in noted if name not in infos or not infos[name].local}
    _UNTRAINED[session] = {name: about for name, about in noted.items() if name not in changed}
    return {name: why for name, (why, _) in _UNTRAINED[session].items()}


def _checksum(value: Any) -> int:
    array = np.ascontiguousarray(value)
    if array.dtype.hasobject:
        return zlib.crc32(repr(array.tolist()).encode())
    whole: Any = array.reshape(-1).view(np.uint8)  # no copy: tables of embeddings are large
    return zlib.crc32(whole)


def unproved(values: Any, graph: TFGraph, infos: Sequence[VariableInfo], asked: str) -> dict[str, str]:
    """Returns which variables, local ones too, have no value but their initial one, each with the reason.

    Args:
        values: what a plan was given: an editor, a session, or a mapping of variable name to array.
        graph: the graph that is copied from.
        infos: the variables.
        asked: the request, for messages.
    """
    names = {info.op for info in infos}
    giver = giver_of(values)
    if giver is not None and giver.graph is graph:
        found = giver.untrained(local=True, names=names)
    elif hasattr(values, "run") and getattr(values, "graph", None) is graph:
        found = dict.fromkeys(names - holding(values, infos, asked), UNHELD) | untrained(values)
    elif isinstance(values, Mapping):
        found = {name: "values= has nothing for it" for name in names if not {name, f"{name}:0"} & values.keys()}
    else:
        found = dict.fromkeys(names, "values= cannot give it")
    return {name: why for name, why in found.items() if name in names}
