"""Sessions: give a session the values that copies are to have, and carry values between sessions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import tensorflow as tf

from ..core.state import VariableInfo
from ..errors import PlanError
from .carrying import assign, carry, unsettable
from .copying import Made
from .starting import initialise, start
from .variables import value_of, variable_infos

tf1 = tf.compat.v1
TABLES = tf1.GraphKeys.TABLE_INITIALIZERS


@contextmanager
def placed(session: Callable[[], Any], asked: str) -> Iterator[None]:
    """Says in our words when an op asks for a device that is not there.

    Args:
        session: gives the session, once there is one.
        asked: the request, for messages.

    Raises:
        PlanError: a device is not there; those that are there are named.
    """
    try:
        yield
    except tf.errors.InvalidArgumentError as error:
        text = str(error.message)
        if "Cannot assign a device for operation" not in text:
            raise
        op, device = (re.search(rule, text) for rule in (r"for operation ([^\s:]+)", r"assigned to (\S+) but"))
        here = ", ".join(d.name.rpartition("/device:")[2] for d in session().list_devices())
        raise PlanError(
            asked,
            f"{op[1] if op else 'an op'!r} asks for the device {device[1] if device else '?'!r}, which is not there; "
            f"there are {here}",
            "Copy with device='clear' or device={'/old': '/new'}, or set it: ed.plan().set_device(...)",
        ) from error


@placed(lambda: tf1.Session(graph=tf.Graph()), "session()")
def fresh(graph: Any, values: Any, config: Any, skip: frozenset[str], later: frozenset[str] = frozenset()) -> Any:
    """Returns a new session, its variables filled from `values`, all others initialised.

    Args:
        graph: the live graph.
        values: a `Values`, or None for initial values.
        config: a ConfigProto or None.
        skip: variables that get their values later.
        later: ops that fill tables later.
    """
    session = tf1.Session(graph=graph, config=config)
    found = variable_infos(graph)
    infos = {name: info for name, info in found.items() if name not in skip}
    late = [info for name, info in found.items() if name in skip]
    try:
        if values is None:
            initialise(session, graph, infos.values(), late)
            fill_tables(session, [op for op in graph.get_collection(TABLES) if op.name not in later])
        else:
            values.fill(session)
            held = values.covered()
            # A saver may leave variables out, as the slots of an optimizer: these start anew.
            initialise(session, graph, [i for name, i in infos.items() if i.collections and name not in held], late)
    except BaseException:
        session.close()  # nobody has it yet: what it holds is given back at once
        raise
    return session


class SessionValues:
    """The values that variables of the same names have in another session.

    Args:
        session: gives that session when it is called.
        inner: where the values there came from, if anywhere: it knows how tables are filled.
        void: names of variables that have no value there.
    """

    def __init__(self, session: Callable[[], Any], inner: Any, void: frozenset[str] = frozenset()) -> None:
        self._session, self._inner, self._void = session, inner, void
        self._names: frozenset[str] = frozenset()

    def fill(self, session: Any) -> None:
        """Sets the variables of `session`, then fills its tables.

        Raises:
            PlanError: a variable of the other session has no value.
        """
        old = self._session()
        before, now = variable_infos(old.graph), variable_infos(session.graph)
        there = [info for name, info in now.items() if name in before and info.initializer]
        both = [info for info in there if info.op not in self._void]

        def give(infos: list[Any], once: bool) -> None:
            carry(old, session, [(before[i.op], i) for i in infos], "session()", in_one_run=once)

        start(session, session.graph, [], both, give, "session()", [i for i in now.values() if i.op not in before])
        self._names = frozenset(info.op for info in both)
        self.start(session)

    def start(self, session: Any) -> None:
        """Fills the tables of `session`."""
        if self._inner is not None:
            self._inner.start(session)
        else:
            fill_tables(session, session.graph.get_collection(TABLES))

    @property
    def starters(self) -> list[str]:
        """Names of the ops that the source wants run once."""
        return list(getattr(self._inner, "starters", ()))

    @property
    def asset_feeds(self) -> dict[str, str]:
        """What these ops are fed."""
        return dict(getattr(self._inner, "asset_feeds", {}))

    def covered(self) -> frozenset[str]:
        """Returns the names of the variable ops that `fill` sets."""
        return self._names


@placed(lambda: tf1.Session(graph=tf.Graph()), "session()")
def settle(session: Any, graph: Any, made: Made) -> None:
    """Gives the variables that a plan has made their values in `session`."""

    # Values come first: an initial value may be computed from a variable that has one.
    def give(infos: list[Any], once: bool) -> None:
        values = {info.op: made.values[info.op] for info in infos}
        assign(session, graph, values, made.infos, "setting the variables of the copies")

    # A later plan may have taken some out, or renamed them, which makes others of them.
    there = {name for name, info in made.infos.items() if _has(graph, info.op) and _has(graph, info.initializer)}
    given = [made.infos[name] for name in made.values if name in there]
    start(session, graph, [made.infos[name] for name in made.initial if name in there], given, give, "session()")
    # Later plans may have built the graph anew: the op of that name is meant, where it is still there.
    names = {op.name for name, op in made.collections if name == TABLES}
    filled = [op for op in graph.get_collection(TABLES) if op.name in names]
    fill_tables(session, filled)
    for name, feeds in made.starters:
        with suppress(KeyError, tf.errors.FailedPreconditionError):  # taken out, or filled already
            session.run(graph.get_operation_by_name(name), feeds)


def _has(graph: Any, op: str) -> bool:
    with suppress(KeyError, ValueError):
        return not op or graph.get_operation_by_name(op) is not None
    return False


def fill_tables(session: Any, starters: list[Any]) -> None:
    """Runs the initialisers of tables, one by one; a table that is filled already stays as it is.

    Raises:
        PlanError: one does not run, as its file is not there.
    """
    for starter in starters:
        try:
            session.run(starter)
        except tf.errors.FailedPreconditionError:
            pass
        except tf.errors.NotFoundError as error:
            op = error.op if error.op is not None else starter
            line = next((x for x in str(error.message).splitlines() if "o such file" in x), str(error.message))
            raise PlanError(
                "session()",
                f"{op.name!r} fills a table from a file that is not there: {line.partition(';')[0].strip()}",
                f"Put the file there, or let it read another: ed.plan().connect(name, to={op.name!r}, input=1)",
            ) from error


@placed(lambda: tf1.Session(graph=tf.Graph()), "session(old)")
def renewed(old: Any, graph: Any, config: Any, skip: frozenset[str] = frozenset(), source: Any = None) -> Any:
    """Returns a session of `graph` with the values that variables of the same names have in `old`.

    Args:
        old: a session of another graph.
        graph: the live graph.
        config: a ConfigProto or None.
        skip: variables that get no value here, or get it later.
        source: a `Values`, where the values of the old session came from files: it knows how tables are filled, and
            how variables without an initialiser are set.

    Raises:
        PlanError: a variable of the old session has no value, or no op sets it here.
    """
    session = tf1.Session(graph=graph, config=config)
    before, found = variable_infos(old.graph), variable_infos(graph)
    now = {name: info for name, info in found.items() if name not in skip}
    both = [info for name, info in now.items() if name in before and info.initializer]
    bare = [before[name] for name in before if name in now and not now[name].initializer]

    def give(infos: list[Any], once: bool) -> None:
        carry(old, session, [(before[i.op], i) for i in infos], "session(old)", in_one_run=once)

    try:
        _set_bare(old, session, bare, source)
        _start(session, source)
        fresh = [info for name, info in now.items() if name not in before]
        later = [info for name, info in found.items() if name in skip]
        start(session, graph, fresh, both, give, "session(old)", later)
        fill_tables(session, graph.get_collection(TABLES))
    except BaseException:
        session.close()  # nobody has it yet: what it holds is given back at once
        raise
    return session


def _set_bare(old: Any, new: Any, bare: list[VariableInfo], source: Any) -> None:
    """Sets variables that no op of the graph initialises, as those of a SavedModel of TF2."""
    done = source.move(old, new) if bare and hasattr(source, "move") else frozenset()
    lost = [info.op for info in bare if info.op not in done and _has_value(old, info)]
    if lost:
        how = (
            "Undo what cuts the ops that restore them, or gives these other variables (leave them out: but=[...]); "
            "or copy with values=..., which makes initialisers"
        )
        raise PlanError("session(old)", unsettable(lost, "").wrong, how)


def _start(session: Any, source: Any) -> None:
    """Runs what the file wants run once, as what fills its tables; what an edit has taken out, or feeds, is left."""
    for name in getattr(source, "starters", ()):
        with suppress(KeyError, tf.errors.OpError):
            session.run(session.graph.get_operation_by_name(name), source.asset_feeds)


def _has_value(session: Any, info: VariableInfo) -> bool:
    try:
        session.run(value_of(session.graph, info, "session(old)").op)
    except (tf.errors.OpError, PlanError):
        return False
    return True
