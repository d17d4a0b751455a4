"""Untrained: which variables of a session hold a value, and which of them nothing but their initial one."""

from __future__ import annotations

import weakref
import zlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import tensorflow as tf

from ..core.state import VariableInfo
from ..errors import PlanError
from .carrying import stream
from .variables import closed_told, value_of, variable_infos

tf1 = tf.compat.v1


_MANY, _SOME = 32, 5


def holding(session: Any, infos: Sequence[VariableInfo], asked: str) -> frozenset[str]:
    """Returns the names of the variables that hold a value in a session; those that nothing reads may hold one.

    Args:
        session: the session.
        infos: the variables, of its graph.
        asked: the request, for messages.

    Raises:
        PlanError: the session is closed.
    """
    reads, asks, held = {}, {}, set()
    for info in infos:
        try:
            reads[info.op] = value_of(session.graph, info, asked).op
        except PlanError:
            held.add(info.op)
            continue
        handle = session.graph.get_operation_by_name(info.op).outputs[0]
        ask = next((op for op in handle.consumers() if op.type == "VarIsInitializedOp"), None)
        if ask is not None:
            asks[info.op] = ask.outputs[0]
    if asks:  # one run answers for all of these; of the others a run that fails says only that one holds no value
        with closed_told(asked):
            held.update(name for name, yes in session.run(asks).items() if yes)
        reads = {name: read for name, read in reads.items() if name not in asks}

    def hold(names: Sequence[str]) -> bool:
        try:
            with closed_told(asked):
                session.run([reads[name] for name in names])
        except tf.errors.FailedPreconditionError:
            return False
        return True

    todo = [list(reads)] if reads else []
    while todo:  # one run where all hold a value, as they mostly do
        names = todo.pop()
        if hold(names):
            held.update(names)
            continue
        # Each run of other fetches is compiled anew. Many variables that came together, as in a copy, get their
        # values together: where none of some that lie apart holds one, none does.
        if len(names) > _MANY and not any(hold([name]) for name in names[:: len(names) // _SOME]):
            continue
        half = len(names) // 2
        todo += [part for part in (names[:half], names[half:]) if half and part]
    return frozenset(held)


def read_all(session: Any, infos: Sequence[VariableInfo]) -> dict[str, Any]:
    """Returns the values of variables that hold one, by op name; without those that no op reads."""
    able = []
    for info in infos:
        with suppress(PlanError):
            value_of(session.graph, info, "session(old)")
            able.append(info)
    return {name: value for batch in stream(session, able, "session(old)") for name, value in batch.items()}


def read_if_open(session: Any, info: VariableInfo) -> Any:
    """Returns what a variable holds in a session; None where that cannot be told, as of a closed one."""
    try:
        return read_all(session, [info]).get(info.op)
    except PlanError:
        return None


#: session -> variable -> why it holds its initial value, and a checksum of that.
_UNTRAINED: weakref.WeakKeyDictionary[Any, dict[str, tuple[str, int]]] = weakref.WeakKeyDictionary()
LOCAL = tf1.GraphKeys.LOCAL_VARIABLES


def note_untrained(session: Any, infos: Iterable[VariableInfo], why: Mapping[str, str]) -> None:
    """Notes which variables of a session hold initial values only; a local variable is meant to.

    Args:
        session: the session.
        infos: all variables of its graph.
        why: variable -> why it holds no other value.
    """
    noted = [info for info in infos if info.op in why and LOCAL not in info.collections]
    found = {name: (why[name], _checksum(value)) for name, value in read_all(session, noted).items()}
    if found:
        _UNTRAINED[session] = {**_UNTRAINED.get(session, {}), **found}


def untrained(session: Any) -> dict[str, str]:
    """Returns the variables that hold initial values only, each with the reason; none once one of them was changed."""
    noted = _UNTRAINED.get(session, {})
    infos = variable_infos(session.graph) if noted else {}
    try:
        for name, value in read_all(session, [infos[name] for name in noted if name in infos]).items():
            if _checksum(value) != noted[name][1]:
                del _UNTRAINED[session]
                return {}
    except (PlanError, tf.errors.OpError):
        return {}
    return {name: why for name, (why, _) in noted.items()}


def _checksum(value: Any) -> int:
    array = np.ascontiguousarray(value)
    return zlib.crc32(repr(array.tolist()).encode() if array.dtype.hasobject else array.tobytes())


def unproved(values: Any, graph: Any, infos: Sequence[VariableInfo], asked: str) -> dict[str, str]:
    """Returns which variables have no value but their initial one, each with the reason.

    Args:
        values: what a plan was given: an editor, a session, or a mapping of variable name to array.
        graph: the graph that is copied from.
        infos: the variables.
        asked: the request, for messages.
    """
    names = {info.op for info in infos}
    if hasattr(values, "untrained"):
        found = values.untrained()
    elif hasattr(values, "run") and getattr(values, "graph", None) is graph:
        found = dict.fromkeys(names - holding(values, infos, asked), "the session did not hold it") | untrained(values)
    elif isinstance(values, Mapping):
        found = {name: "values= has nothing for it" for name in names if not {name, f"{name}:0"} & values.keys()}
    else:
        found = {}
    return {name: why for name, why in found.items() if name in names}
