"""Initializes variables in dependency order, and finds the variables that have only their initial value."""

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
from ...graph.lazy_graph import graph_identity
from ...graph.names import op_name
from ...graph.traversal import reachable_from
from ...graph.types import TFGraph, TFOp, TFSession
from ...graph.variables import NOT_IN_SESSION, PLACEHOLDER_TYPES, READ_TYPES, VARIABLE_TYPES, VariableInfo
from ..copy.tables_and_queues import ready_fillers
from ..functions.definitions import definition
from ..import_tensorflow import tf
from ..open.file_reader import is_there
from ..private.c_api import functions_of
from ..private.graphs import has_loaded, has_op, is_local
from ..run.errors import error_text
from .transfer import stream, value_provider
from .variables import Place, assigned_tensor, errors_if_closed, is_standalone, place_of, value_of, variable_infos

#: Ops that read tensors of a checkpoint; the path of the checkpoint is their first input.
RESTORERS = frozenset({"Restore", "RestoreSlice", "RestoreV2"})
_EMPTY = re.compile(r"(?:uninitialized value|[Ff]ind variable|resource variable) ([^\s'\"]+?)[.,]?(?:\s|$)")


def run_initializers(
    session: TFSession,
    infos: Iterable[VariableInfo],
    helpers: Sequence[VariableInfo] = (),
    request: str = "session()",
) -> None:
    """Runs the initializers of these variables; initializers that need a feed are left out.

    Args:
        session: the session.
        infos: the variables.
        helpers: further variables, which are initialized only if a variable of `infos` needs them.
        request: the request, for messages.

    Raises:
        PlanError: there is no valid order: a variable needs another one without a value; the message names both.
    """
    start(session, list(infos), [], lambda infos: None, request, helpers)


def start(
    session: TFSession,
    new: Sequence[VariableInfo],
    targets: Sequence[VariableInfo],
    assign_values: Callable[[list[VariableInfo]], None],
    request: str,
    helpers: Sequence[VariableInfo] = (),
) -> None:
    """Sets the first values of variables, in the order that their initializers require.

    Args:
        session: the session.
        new: variables that start from their initial values.
        targets: variables that are set by `assign_values`, which also runs their initializers.
        assign_values: a function that sets the given variables, some of `targets`.
        request: the request, for messages.
        helpers: further variables, which are initialized only if one of the others needs them.

    Raises:
        PlanError: there is no valid order: a variable needs another one without a value; the message names both.
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
            raise _dependency_error(graph, [*first, *then], needs, error, request) from error


def cannot_start(graph: TFGraph, info: VariableInfo) -> bool:
    """Returns whether the initializer of a variable cannot run by itself.

    This is the case if the initial value is a placeholder, or is read from a checkpoint that does not exist.
    """
    value = _initial(graph, info)
    return value is not None and (value.type in PLACEHOLDER_TYPES or bool(_missing_checkpoint(value)))


def missing_checkpoint(graph: TFGraph, info: VariableInfo) -> str:
    """Returns the path of the checkpoint with the initial value of a variable, if the checkpoint does not exist.

    Otherwise, or if the path is on another machine, the result is empty.
    """
    value = _initial(graph, info)
    return "" if value is None else _missing_checkpoint(value)


def _missing_checkpoint(value: TFOp) -> str:
    for op in reachable_from([value], lambda op: [t.op for t in op.inputs]):
        prefix = tf.get_static_value(op.inputs[0]) if op.type in RESTORERS else None
        for text in () if prefix is None else np.ravel(prefix):
            path = os.fsdecode(text)
            elsewhere = "://" in path or path.startswith(("//", "\\\\"))
            if not (elsewhere or is_there(path)):
                return path
    return ""


def _initial(graph: TFGraph, info: VariableInfo) -> TFOp | None:
    """Returns the op that computes the initial value of a variable; None if there is none."""
    name = op_name(assigned_tensor(graph, info.initializer) or info.initial_value)
    return graph.get_operation_by_name(name) if name else None


def _run(session: TFSession, infos: Sequence[VariableInfo]) -> None:
    if infos:
        session.run([session.graph.get_operation_by_name(info.initializer) for info in infos])


def _fill_tables(session: TFSession) -> None:
    for op in (*session.graph.get_collection(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS), *ready_fillers(session.graph)):
        with suppress(tf.errors.FailedPreconditionError):  # the table is already filled
            session.run(op)


def _needs(graph: TFGraph, info: VariableInfo, is_fed: bool) -> set[str]:
    """Returns the variables that the initializer of a variable reads or waits for; if it is fed, it reads none."""
    initializer = graph.get_operation_by_name(info.initializer)
    inputs = [t.op for t in initializer.inputs]
    return reached_variables([*initializer.control_inputs, *(inputs[:1] if is_fed else inputs)]) - {info.op}


def reached_variables(ops: Iterable[TFOp]) -> set[str]:
    """Returns the names of the variables among these ops and their ancestors."""
    above = reachable_from(ops, lambda op: [*op.control_inputs, *(t.op for t in op.inputs)])
    return {op.name for op in above if op.type in VARIABLE_TYPES}


def _layers(needs: dict[str, set[str]]) -> list[set[str]]:
    """Groups variables: a variable needs only variables of earlier groups. The last group contains all cycles."""
    remaining = {name: required & needs.keys() for name, required in needs.items()}
    layers = []
    while remaining:
        ready = {name for name, required in remaining.items() if not required} or set(remaining)
        layers.append(ready)
        remaining = {name: required - ready for name, required in remaining.items() if name not in ready}
    return layers


def _dependency_error(
    graph: TFGraph, infos: Sequence[VariableInfo], needs: dict[str, set[str]], error: Any, request: str
) -> PlanError:
    """Returns the error for a variable that needs another variable without a value."""
    match = _EMPTY.search(str(error.message))  # TensorFlow has the variable in its text only
    empty_name, layer = match[1] if match else "", {i.op for i in infos}
    cycle = [i for i in infos if needs[i.op] & layer]
    blocked = cycle or [i for i in infos if empty_name in needs[i.op]] or [i for i in infos if needs[i.op]]
    if not blocked:
        names = few([repr(i.op) for i in infos])
        suggestion = "Open a session of this graph, initialize the others in it, and give it: ed.session(session)"
        return PlanError(request, f"{names} cannot be initialized: {error_text(error)}", suggestion)
    info = blocked[0]
    required = needs[info.op] & layer if cycle else needs[info.op]
    initializer = graph.get_operation_by_name(info.initializer)
    dependency = empty_name if empty_name in required and not cycle else min(required)
    own = graph.get_operation_by_name(info.op)
    waiting = next((op for op in (own, initializer) if dependency in reached_variables(op.control_inputs)), None)
    if waiting is not None:
        problem = f"{waiting.name!r} waits for {dependency!r}"
        suggestion = f"Remove the control input: ed.plan().remove_control({waiting.name!r})"
    else:
        problem = f"{info.initializer!r} assigns a tensor that depends on {dependency!r}"
        suggestion = f"Make it assign another tensor: ed.plan().connect(tensor, to={info.initializer!r}, input=1)"
    both = f", which needs {info.op!r}" if info.op in needs.get(dependency, ()) else ", which has no value at that time"
    return PlanError(request, f"variable {info.op!r} cannot get a value: {problem}{both}", suggestion)


tf1 = tf.compat.v1


def initialized_variables(session: TFSession, infos: Sequence[VariableInfo], request: str) -> frozenset[str]:
    """Returns the names of the variables that have a value in a session, or may have one.

    A run with new fetches is slow, because TensorFlow prunes the graph. So one run checks as many variables as
    possible: resource variables with an `IsInitialized` op in the graph, and reference variables, whose outputs are in
        the trace of
    the run. Another variable has no value if no op of the graph sets it, or if it was added after the last run of the
    session. The remaining variables are read. Each run that fails names one variable without a value.

    Args:
        session: the session.
        infos: the variables, of its graph.
        request: the request, for messages.

    Raises:
        PlanError: the session is closed.
    """
    questions = _query_ops(session.graph) if any(info.resource for info in infos) else {}
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
    # A session in this process records outputs at the lower trace level; a session of a server only at the higher
    # level.
    for level in (tf1.RunOptions.SOFTWARE_TRACE, tf1.RunOptions.FULL_TRACE):
        if queries or traced:
            answers |= _query_results(session, queries, traced, level, request)
        queries, traced = {}, {name: op for name, op in traced.items() if name not in answers}
    initialized, reads = {name for name, yes in answers.items() if yes}, {}
    for info in infos:
        if info.op not in answers:
            try:
                reads[info.op] = value_of(session.graph, info, request).op
            except PlanError:
                initialized.add(info.op)
    return frozenset(initialized | _readable(session, reads, request))


def _query_ops(graph: TFGraph) -> dict[tuple[Any, ...], Any]:
    """Returns place of a resource variable -> a tensor that is true if the variable has a value.

    A run of this tensor has no side effect. All handles with the same place refer to the same variable.
    """
    return {
        (op.inputs[0].op.device, *place_of(op.inputs[0].op)): op.outputs[0]
        for op in graph.get_operations()
        if op.type == "VarIsInitializedOp" and op.inputs[0].op.type == "VarHandleOp" and is_standalone(op)
    }


def _empty_places(session: TFSession, candidates: Iterable[Place]) -> frozenset[Place]:
    """Returns the places without a value in a session, because none of its runs can have set them.

    This is the case if no op of the graph sets a place, or if the session has not loaded such an op. The result is
    empty for the session of a server, because servers share variables. It is also empty if a function has its own
    variables.
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
    """Whether no consumer of a handle can set the variable."""
    return all(op.type in READ_TYPES for op in handle.outputs[0].consumers())


def _in_functions(graph: TFGraph) -> bool:
    """Whether a function of a graph contains a variable op."""
    functions = functions_of(graph).values()
    return any(node.op == "VarHandleOp" for function in functions for node in definition(function).node_def)


def within_reach(graph: TFGraph, ops: Iterable[str], infos: Sequence[VariableInfo]) -> list[VariableInfo]:
    """Returns the variables that may have a value if only these ops have run.

    Args:
        graph: the graph.
        ops: names of ops; names that the graph does not have are ignored.
        infos: variables of the graph.
    """
    if _in_functions(graph):
        return list(infos)
    op = graph.get_operation_by_name
    variables = map(op, reached_variables(op(name) for name in ops if has_op(graph, name)))
    places = {place_of(variable) for variable in variables if variable.type == "VarHandleOp"}
    return [info for info in infos if not info.resource or place_of(op(info.op)) in places]


def _query_results(
    session: TFSession, queries: Mapping[str, Any], query_tensors: Mapping[str, Any], level: int, request: str
) -> dict[str, bool]:
    """Returns variable -> whether it has a value, from one run; variables that are not in the trace are left out."""
    metadata = tf1.RunMetadata()
    how = {"options": tf1.RunOptions(trace_level=level), "run_metadata": metadata} if query_tensors else {}
    with errors_if_closed(request):
        answers = session.run({"asks": dict(queries), "traced": list(query_tensors.values())}, **how)["asks"]
    # A variable op without a value can run: it has no output, and only its consumers would fail.
    has_output = {
        node.node_name: bool(node.output) for device in metadata.step_stats.dev_stats for node in device.node_stats
    }
    return {name: bool(yes) for name, yes in answers.items()} | {
        name: has_output[name] for name in query_tensors if name in has_output
    }


def _readable(session: TFSession, read_ops: Mapping[str, Any], request: str) -> set[str]:
    """Returns the variables that can be read in a session: each failed run names one that cannot.

    Args:
        session: the session.
        read_ops: variable -> the op that reads it.
        request: the request, for messages.
    """
    todo = set(read_ops.values())
    while todo:
        try:
            with errors_if_closed(request):
                session.run(list(todo))
            break
        except tf.errors.FailedPreconditionError as error:
            if len(todo) > 1 and error.op not in todo:  # a common ancestor failed, so each op is run separately
                return {name for name, op in read_ops.items() if op in todo and _readable(session, {name: op}, request)}
            todo.discard(error.op if error.op in todo else next(iter(todo)))
    return {name for name, op in read_ops.items() if op in todo}


def read_all(session: TFSession, infos: Sequence[VariableInfo]) -> dict[str, Any]:
    """Returns the values of all variables that have a value and are read by an op, by op name."""
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


#: session -> variable -> (the reason why it has its initial value, a checksum of this value).
_ONLY_INITIAL: weakref.WeakKeyDictionary[Any, dict[str, tuple[str, int]]] = weakref.WeakKeyDictionary()


def note_only_initial(session: TFSession, infos: Iterable[VariableInfo], reason: Mapping[str, str]) -> None:
    """Records which variables of a session have only initial values.

    Args:
        session: the session.
        infos: all variables of its graph.
        reason: variable with only an initial value -> the reason.
    """
    variables = [info for info in infos if info.op in reason]
    entries = {name: (reason[name], _checksum(value)) for name, value in read_all(session, variables).items()}
    if entries:
        _ONLY_INITIAL[session] = {**_ONLY_INITIAL.get(session, {}), **entries}


def only_initial_variables(session: TFSession) -> dict[str, str]:
    """Returns variable of a session -> the reason why it has only its initial value.

    If one of these variables has changed since, all of them are considered trained. A change of a local variable
    affects only this variable.
    """
    entries = _ONLY_INITIAL.get(session, {})
    infos = {name: info for name, info in variable_infos(session.graph).items() if name in entries} if entries else {}
    try:
        values = read_all(session, list(infos.values()))
    except (PlanError, tf.errors.OpError):
        return {}
    changed_names = {name for name, value in values.items() if _checksum(value) != entries[name][1]}
    if any(not infos[name].local for name in changed_names):
        changed_names |= {name for name in entries if name not in infos or not infos[name].local}
    _ONLY_INITIAL[session] = {name: about for name, about in entries.items() if name not in changed_names}
    return {name: why for name, (why, _) in _ONLY_INITIAL[session].items()}


def _checksum(value: Any) -> int:
    array = np.ascontiguousarray(value)
    if array.dtype.hasobject:
        return zlib.crc32(repr(array.tolist()).encode())
    whole: Any = array.reshape(-1).view(np.uint8)  # without a copy, because embedding tables are large
    return zlib.crc32(whole)


def with_initial_value(values: Any, graph: TFGraph, infos: Sequence[VariableInfo], request: str) -> dict[str, str]:
    """Returns variable -> the reason why `values` provides only its initial value; includes local variables.

    Args:
        values: the argument of a plan: an editor, a session, or a mapping of variable name to array.
        graph: the graph that is copied from.
        infos: the variables.
        request: the request, for messages.
    """
    names = {info.op for info in infos}
    provider = value_provider(values)
    if provider is not None and graph_identity(provider.graph) is graph_identity(graph):
        reasons = provider.untrained(local=True, names=names)
    elif hasattr(values, "run") and graph_identity(getattr(values, "graph", None)) is graph_identity(graph):
        reasons = dict.fromkeys(
            names - initialized_variables(values, infos, request), NOT_IN_SESSION
        ) | only_initial_variables(values)
    elif isinstance(values, Mapping):
        reasons = {name: "values= has no value for it" for name in names if not {name, f"{name}:0"} & values.keys()}
    else:
        reasons = dict.fromkeys(names, "values= cannot provide it")
    return {name: why for name, why in reasons.items() if name in names}
