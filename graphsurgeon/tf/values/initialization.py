"""Initialization of variables in dependency order, and which variables hold only their initial value."""

from __future__ import annotations

import os
import re
import weakref
import zlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ...errors import PlanError, few
from ...graph.lazy_graph import identity
from ...graph.names import op_name
from ...graph.tf_types import TFGraph, TFOp, TFSession
from ...graph.traversal import met_from
from ...graph.variables import PLACEHOLDER_TYPES, UNHELD, VARIABLE_TYPES, VariableInfo
from ..copy.resources import ready_fillers
from ..functions.library import definition
from ..importing import tf
from ..open.files import is_there
from ..private.functions import functions_of
from ..private.graphs import has_op
from ..private.sessions import has_loaded, is_local
from ..run.errors import words_of
from ..run.session_tracking import LOOKS
from .transfer import giver_of, stream
from .variables import Place, assigned, errors_if_closed, place_of, stands_alone, value_of, variable_infos

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
    new: Sequence[VariableInfo],
    targets: Sequence[VariableInfo],
    assign_values: Callable[[list[VariableInfo]], None],
    request: str,
    helpers: Sequence[VariableInfo] = (),
) -> None:
    """Gives variables their first values, in the order that their initialisers need.

    Args:
        session: the session.
        new: variables that start from their initial values.
        targets: variables that `assign_values` sets, through their initialisers too.
        assign_values: sets some of `targets`.
        request: the request, for messages.
        helpers: variables that may be initialised too, if one of the others needs them.

    Raises:
        PlanError: in any order, a variable needs the value of another that has none; the message names both.
    """
    graph = session.graph
    todo = [info for info in new if info.initializer and not cannot_start(graph, info)]
    if not any(_needs(graph, info, True) for info in targets):
        try:
            _run(session, todo)
        except tf.errors.FailedPreconditionError as error:
            if "able not initialized" in str(error.message):  # TensorFlow's error has no separate code
                _fill_tables(session)
        else:
            assign_values(list(targets))
            return
    spare = {info.op: info for info in helpers if info.initializer and not cannot_start(graph, info)}
    needs = {info.op: _needs(graph, info, True) for info in targets} | {i.op: _needs(graph, i, False) for i in todo}
    more = [name for name in {n for ops in needs.values() for n in ops} if name in spare and name not in needs]
    while more:
        needs[more[-1]] = _needs(graph, spare[more[-1]], False)
        todo.append(spare[more.pop()])
        more += [name for name in needs[todo[-1].op] if name in spare and name not in needs and name not in more]
    for layer in _layers(needs):
        first = [info for info in todo if info.op in layer]
        then = [info for info in targets if info.op in layer]
        try:
            _run(session, first)
            if then:
                assign_values(then)
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
    remaining = {name: required & needs.keys() for name, required in needs.items()}
    layers = []
    while remaining:
        ready = {name for name, required in remaining.items() if not required} or set(remaining)
        layers.append(ready)
        remaining = {name: required - ready for name, required in remaining.items() if name not in ready}
    return layers


def _stuck(
    graph: TFGraph, infos: Sequence[VariableInfo], needs: dict[str, set[str]], error: Any, request: str
) -> PlanError:
    """The error for a variable that needs another without a value."""
    match = _EMPTY.search(str(error.message))  # TensorFlow has the variable in its text only
    empty_name, layer = match[1] if match else "", {i.op for i in infos}
    cycle = [i for i in infos if needs[i.op] & layer]
    blocked = cycle or [i for i in infos if empty_name in needs[i.op]] or [i for i in infos if needs[i.op]]
    if not blocked:
        names = few([repr(i.op) for i in infos])
        suggestion = "Open a session of this graph, initialize the others in it, and give it: ed.session(session)"
        return PlanError(request, f"{names} cannot be initialised: {words_of(error)}", suggestion)
    info = blocked[0]
    required = needs[info.op] & layer if cycle else needs[info.op]
    initializer = graph.get_operation_by_name(info.initializer)
    needed = empty_name if empty_name in required and not cycle else min(required)
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


tf1 = tf.compat.v1


def holding(session: TFSession, infos: Sequence[VariableInfo], request: str) -> frozenset[str]:
    """Returns the names of the variables that hold a value in a session; also those for which that is not known.

    TensorFlow prunes the graph for each new set of fetches, so one run covers all variables with a check that cannot
    fail. These are resource variables with a check in the graph, and reference variables, for which a trace shows
    whether they had an output. Other variables hold no value if no op of the graph sets them, or if they were added
    after the session's last run. The rest is read, and each failure names one variable.

    Args:
        session: the session.
        infos: the variables, of its graph.
        request: the request, for messages.

    Raises:
        PlanError: the session is closed.
    """
    questions = _questions(session.graph) if any(info.resource for info in infos) else {}
    queries, traced, silent = {}, {}, {}
    for info in infos:
        op = session.graph.get_operation_by_name(info.op)
        if not info.resource:
            traced[info.op] = op
        elif (query := questions.get((op.device, *place_of(op)))) is not None:
            queries[info.op] = query
        else:
            silent[info.op] = place_of(op)
    empty = _empty_places(session, silent.values())  # first, because each run makes the session load all ops
    answers = {name: False for name, place in silent.items() if place in empty}
    # A session of this process traces at the lower level; one of a server only at the higher one.
    for level in (tf1.RunOptions.SOFTWARE_TRACE, tf1.RunOptions.FULL_TRACE):
        if queries or traced:
            answers |= _answers(session, queries, traced, level, request)
        queries, traced = {}, {name: op for name, op in traced.items() if name not in answers}
    initialized, reads = {name for name, yes in answers.items() if yes}, {}
    for info in infos:
        if info.op not in answers:
            try:
                reads[info.op] = value_of(session.graph, info, request).op
            except PlanError:
                initialized.add(info.op)
    return frozenset(initialized | _readable(session, reads, request))


def _questions(graph: TFGraph) -> dict[tuple[Any, ...], Any]:
    """Place of a resource variable -> a tensor that shows whether it holds a value, and whose run does nothing else.

    All handles of the same place are of the same variable.
    """
    return {
        (op.inputs[0].op.device, *place_of(op.inputs[0].op)): op.outputs[0]
        for op in graph.get_operations()
        if op.type == "VarIsInitializedOp" and op.inputs[0].op.type == "VarHandleOp" and stands_alone(op)
    }


def _empty_places(session: TFSession, candidates: Iterable[Place]) -> frozenset[Place]:
    """Returns the places without a value in a session, because none of its runs can have set them.

    Either no op of its graph sets them, or the session has not loaded such an op. A session of a server shares its
    variables with others, and a function may have an op for its own variable.
    """
    places = frozenset(candidates)
    if not places or not is_local(session) or _in_functions(session.graph):
        return frozenset()
    handles = [op for op in session.graph.get_operations() if op.type == "VarHandleOp"]
    settable = places.intersection(place_of(op) for op in handles if not _only_read(op))
    if not settable or has_loaded(session, handles[-1]):
        return places - settable
    first = bisect_left(handles, True, key=lambda op: not has_loaded(session, op))  # it loads ops in their order
    return places - settable.intersection(map(place_of, handles[:first]))


def _only_read(handle: TFOp) -> bool:
    """Whether no op of the graph can set the variable through a handle."""
    return all(op.type in LOOKS for op in handle.outputs[0].consumers())


def _in_functions(graph: TFGraph) -> bool:
    """Whether a function of a graph has an op for its own variable."""
    functions = functions_of(graph).values()
    return any(node.op == "VarHandleOp" for function in functions for node in definition(function).node_def)


def within_reach(graph: TFGraph, ops: Iterable[str], infos: Sequence[VariableInfo]) -> list[VariableInfo]:
    """Returns the variables that may hold a value if only these ops have run.

    Args:
        graph: the graph.
        ops: names of ops; names that the graph does not have are ignored.
        infos: variables of the graph.
    """
    if _in_functions(graph):
        return list(infos)
    op = graph.get_operation_by_name
    variables = map(op, reached(op(name) for name in ops if has_op(graph, name)))
    places = {place_of(variable) for variable in variables if variable.type == "VarHandleOp"}
    return [info for info in infos if not info.resource or place_of(op(info.op)) in places]


def _answers(
    session: TFSession, queries: Mapping[str, Any], traced: Mapping[str, Any], level: int, request: str
) -> dict[str, bool]:
    """Returns variable -> whether it holds a value, by one run; without variables that its trace does not contain."""
    metadata = tf1.RunMetadata()
    how = {"options": tf1.RunOptions(trace_level=level), "run_metadata": metadata} if traced else {}
    with errors_if_closed(request):
        answers = session.run({"asks": dict(queries), "traced": list(traced.values())}, **how)["asks"]
    # A variable without a value has no output, which is only an error for its consumers.
    has_output = {
        node.node_name: bool(node.output) for device in metadata.step_stats.dev_stats for node in device.node_stats
    }
    return {name: bool(yes) for name, yes in answers.items()} | {
        name: has_output[name] for name in traced if name in has_output
    }


def _readable(session: TFSession, reads: Mapping[str, Any], request: str) -> set[str]:
    """Returns the variables that can be read in a session: each failed run names one that cannot.

    Args:
        session: the session.
        reads: variable -> the op that reads it.
        request: the request, for messages.
    """
    todo = set(reads.values())
    while todo:
        try:
            with errors_if_closed(request):
                session.run(list(todo))
            break
        except tf.errors.FailedPreconditionError as error:
            if len(todo) > 1 and error.op not in todo:  # an op upstream of several failed: each is run separately
                return {name for name, op in reads.items() if op in todo and _readable(session, {name: op}, request)}
            todo.discard(error.op if error.op in todo else next(iter(todo)))
    return {name for name, op in reads.items() if op in todo}


def read_all(session: TFSession, infos: Sequence[VariableInfo]) -> dict[str, Any]:
    """Returns the values of variables that hold one, by op name; without variables that no op reads."""
    able = []
    for info in infos:
        with suppress(PlanError):
            value_of(session.graph, info, "session(old)")
            able.append(info)
    return {name: value for batch in stream(session, able, "session(old)") for name, value in batch.items()}


def read_if_open(session: TFSession, info: VariableInfo) -> Any:
    """Returns the value of a variable in a session; None if it is not known, for example in a closed session."""
    try:
        return read_all(session, [info]).get(info.op)
    except PlanError:
        return None


#: session -> variable -> why it holds its initial value, and a checksum of the value.
_UNTRAINED: weakref.WeakKeyDictionary[Any, dict[str, tuple[str, int]]] = weakref.WeakKeyDictionary()


def note_untrained(session: TFSession, infos: Iterable[VariableInfo], why: Mapping[str, str]) -> None:
    """Notes which variables of a session hold initial values only.

    Args:
        session: the session.
        infos: all variables of its graph.
        why: variable -> why it holds no other value.
    """
    variables = [info for info in infos if info.op in why]
    entries = {name: (why[name], _checksum(value)) for name, value in read_all(session, variables).items()}
    if entries:
        _UNTRAINED[session] = {**_UNTRAINED.get(session, {}), **entries}


def untrained(session: TFSession) -> dict[str, str]:
    """Returns the variables that hold initial values only, each with the reason.

    If one of them has changed, all of them count as trained; but a local variable counts only for itself.
    """
    entries = _UNTRAINED.get(session, {})
    infos = {name: info for name, info in variable_infos(session.graph).items() if name in entries} if entries else {}
    try:
        values = read_all(session, list(infos.values()))
    except (PlanError, tf.errors.OpError):
        return {}
    changed_names = {name for name, value in values.items() if _checksum(value) != entries[name][1]}
    if any(not infos[name].local for name in changed_names):
        changed_names |= {name for name in entries if name not in infos or not infos[name].local}
    _UNTRAINED[session] = {name: about for name, about in entries.items() if name not in changed_names}
    return {name: why for name, (why, _) in _UNTRAINED[session].items()}


def _checksum(value: Any) -> int:
    array = np.ascontiguousarray(value)
    if array.dtype.hasobject:
        return zlib.crc32(repr(array.tolist()).encode())
    whole: Any = array.reshape(-1).view(np.uint8)  # without a copy: tables of embeddings are large
    return zlib.crc32(whole)


def unproved(values: Any, graph: TFGraph, infos: Sequence[VariableInfo], request: str) -> dict[str, str]:
    """Returns which variables, including local ones, have only their initial value, each with the reason.

    Args:
        values: the argument of a plan: an editor, a session, or a mapping of variable name to array.
        graph: the graph that is copied from.
        infos: the variables.
        request: the request, for messages.
    """
    names = {info.op for info in infos}
    provider = giver_of(values)
    if provider is not None and identity(provider.graph) is identity(graph):
        reasons = provider.untrained(local=True, names=names)
    elif hasattr(values, "run") and identity(getattr(values, "graph", None)) is identity(graph):
        reasons = dict.fromkeys(names - holding(values, infos, request), UNHELD) | untrained(values)
    elif isinstance(values, Mapping):
        reasons = {name: "values= has no value for it" for name in names if not {name, f"{name}:0"} & values.keys()}
    else:
        reasons = dict.fromkeys(names, "values= cannot provide it")
    return {name: why for name, why in reasons.items() if name in names}
