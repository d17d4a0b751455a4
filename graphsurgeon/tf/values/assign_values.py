"""Sets the variables of a session; `editor/session_values.py` chooses their values. See also transfer.py."""

from __future__ import annotations

import re
import reprlib
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from ...errors import PlanError, warn
from ...graph.names import op_name
from ...graph.types import TFGraph, TFSession
from ...graph.variables import VariableInfo
from ...plan.plan_result import AppliedOps
from ..copy.tables_and_queues import ready_fillers
from ..import_tensorflow import tf
from ..private.graphs import has_op, load_ops
from ..protos import empty_graph
from ..run.errors import error_text, suggested_fix
from ..run.sessions import session_of
from .initialization import start
from .transfer import assign, no_initializer_error, transfer_values
from .variables import variable_infos

tf1 = tf.compat.v1
TABLES = tf1.GraphKeys.TABLE_INITIALIZERS
#: How TensorFlow's messages name the device that an op, or an op colocated with it, requires.
_DEVICE = r"(?:assigned to|incompatible device|device specification) '?([^\s']+)"


@contextmanager
def translate_errors(session: Callable[[], TFSession], request: str) -> Iterator[None]:
    """Replaces TensorFlow's errors about a missing device, kernel, file or feed by clearer errors.

    Args:
        session: a function that returns the session, if there is one.
        request: the request, for messages.

    Raises:
        PlanError: something is missing, or TensorFlow refuses an op. If a device is missing, the message lists the
            available devices.
    """
    try:
        yield
    except tf.errors.OpError as error:
        text = str(error.message)
        fix = suggested_fix(error)
        if fix is not None:
            raise PlanError(request, *fix) from error
        if "Cannot assign a device for operation" not in text:  # TensorFlow's error has no separate code
            problem = f"TensorFlow cannot run the ops that set the variables and tables: {error_text(error)}"
            raise PlanError(request, problem, "Correct that op in its program, or remove it with a plan") from error
        op, device = (re.search(rule, text) for rule in (r"for operation ([^\s:]+)", _DEVICE))
        here = ", ".join(d.name.rpartition("/device:")[2] for d in session().list_devices())
        raise PlanError(
            request,
            f"{op[1] if op else 'an op'!r} requires the device {device[1] if device else '?'!r}, which is not "
            f"available; there are {here}",
            "Copy with device='clear' or device={'/old': '/new'}, or set it: ed.plan().set_device(...)",
        ) from error


def new_session(graph: TFGraph | None, config: Any = None) -> TFSession:
    """Returns a new session of a graph, or of an empty graph for None."""
    session = session_of(empty_graph() if graph is None else graph, config=config)
    load_ops(session)  # so variables of later ops have no value before the next run
    return session


@dataclass
class ValueAssignment:
    """The values for the variables of a session.

    Args:
        session: the session.
        request: the request, for messages.
        old: the session whose values are copied.
        pairs: pairs of a variable of `old` and the variable that gets its value.
        arrays: variable -> its value, an array or a stored value of a checkpoint.
        initial: the variables that start from their initial values.
    """

    session: Any
    request: str
    old: Any = None
    pairs: list[tuple[VariableInfo, VariableInfo]] = field(default_factory=list)
    arrays: dict[VariableInfo, Any] = field(default_factory=dict)
    initial: list[VariableInfo] = field(default_factory=list)

    @property
    def names(self) -> frozenset[str]:
        """The names of all these variables."""
        return frozenset(info.op for info in (*(new for _, new in self.pairs), *self.arrays, *self.initial))


def apply_assignment(assignment: ValueAssignment, helpers: Sequence[VariableInfo]) -> None:
    """Sets variables to their values.

    Args:
        assignment: the values.
        helpers: further variables, which are initialized only if one of the others needs them.

    Raises:
        PlanError: a value cannot be read or set.
    """
    if not assignment.names:
        return
    mute = [info.op for info in assignment.arrays if not info.initializer]
    if mute:
        raise no_initializer_error(mute, assignment.request)

    def set_values(infos: list[VariableInfo]) -> None:
        names = {info.op for info in infos}
        pairs = [pair for pair in assignment.pairs if pair[1].op in names]
        arrays = {info.op: value for info, value in assignment.arrays.items() if info.op in names}
        if pairs:
            transfer_values(assignment.old, assignment.session, pairs, assignment.request)
        if arrays:
            assign(assignment.session, arrays, {info.op: info for info in infos})

    targets = [*(new for _, new in assignment.pairs), *assignment.arrays]
    start(assignment.session, assignment.initial, targets, set_values, assignment.request, helpers)


class SessionValues:
    """The values of variables with the same names in another session.

    Args:
        session: a function that returns the other session.
        fill_tables: a function that fills the tables of a session.
        only_initial: a function that returns the variables with only initial values in the other session.
        identities: a function that returns variable -> its identity in the other session.
        graph: the graph whose variables are set.
        uninitialized: names of variables without a value in the other session.
        numbers: graph -> variable -> number, for this graph and earlier ones. A variable has the same number in all
            graphs.
        init_ops: the init ops of the files that the graph is from; and their feeds.
    """

    def __init__(
        self,
        session: Callable[[], TFSession],
        fill_tables: Callable[[TFSession], None],
        only_initial: Callable[[], dict[str, str]],
        identities: Callable[[], dict[str, Any]],
        graph: TFGraph,
        uninitialized: frozenset[str],
        numbers: MutableMapping[Any, dict[str, int]],
        init_ops: tuple[list[str], dict[str, str]],
    ) -> None:
        self._session, self.untrained, self._uninitialized, self.same = session, only_initial, uninitialized, numbers
        self._fill_tables, self._init_ops, self.identities = fill_tables, init_ops, identities
        self._names = frozenset(variable_infos(graph)) - uninitialized

    def fill(self, session: TFSession) -> None:
        """Sets the variables of `session`, then fills its tables.

        Raises:
            PlanError: a variable of the other session has no value.
        """
        old = self._session()
        before, now = variable_infos(old.graph), variable_infos(session.graph)
        there = [info for name, info in now.items() if name in before and info.initializer]
        both = [info for info in there if info.op not in self._uninitialized]

        def give(infos: list[Any]) -> None:
            transfer_values(old, session, [(before[i.op], i) for i in infos], "session()")

        start(session, [], both, give, "session()", [i for i in now.values() if i.op not in before])
        self._names = frozenset(info.op for info in both)
        self.fill_tables(session)

    def fill_tables(self, session: TFSession) -> None:
        """Fills the tables of `session`."""
        self._fill_tables(session)
        run_once(session, *self._init_ops)

    def filled_variables(self) -> frozenset[str]:
        """Returns the names of the variable ops that `fill` sets."""
        return self._names


@translate_errors(lambda: new_session(None), "session()")
def set_plan_values(session: TFSession, applied_ops: AppliedOps) -> None:
    """Sets the new variables of an applied plan in `session`, if the graph was not rebuilt."""
    arrays = {applied_ops.variable_infos[name]: value for name, value in applied_ops.values.items()}
    apply_assignment(
        ValueAssignment(
            session,
            "session()",
            arrays=arrays,
            initial=[applied_ops.variable_infos[name] for name in applied_ops.initial],
        ),
        [],
    )
    fill_new_tables(session, applied_ops)


def fill_new_tables(session: TFSession, result: AppliedOps) -> None:
    """Fills the tables that a plan has made."""
    # Later plans may have rebuilt the graph: use the op of that name, if it still exists.
    graph, names = session.graph, {op.name for name, op in result.collections if name == TABLES}
    initializers = [op for op in graph.get_collection(TABLES) if op.name in names]
    here = [name for name in result.ops if has_op(graph, name)]
    fill_tables(session, [*initializers, *(op for op in ready_fillers(graph, here) if op.name not in names)])
    for name, feeds in result.init_ops:
        run_once(session, [name], feeds)


def run_once(session: TFSession, names: Iterable[str], feeds: Mapping[str, Any]) -> None:
    """Runs ops that fill tables, by name, if they exist; a table that is already filled is not changed.

    Args:
        session: the session.
        names: the ops.
        feeds: tensor -> its feed, for tensors in the graph.
    """
    for name in names:
        with suppress(KeyError, tf.errors.FailedPreconditionError):  # the op was removed, or the table is filled
            op = session.graph.get_operation_by_name(name)
            session.run(
                op, {tensor: value for tensor, value in feeds.items() if has_op(session.graph, op_name(tensor))}
            )


def fill_tables(session: TFSession, init_ops: Iterable[Any] | None = None, unchanged: bool = False) -> None:
    """Runs the initializers of tables, one by one; a table that is already filled is not changed.

    Args:
        session: the session.
        init_ops: the initializers. Default: the initializers in the collection of the graph, and others that need no
            feed.
        unchanged: whether the graph is unchanged from its file. A table without its vocabulary file then causes only a
            warning: much of the graph may not need it, and TensorFlow refuses to run the ops that do.

    Raises:
        PlanError: an initializer cannot run because its file does not exist.
    """
    if init_ops is None:
        initializers = session.graph.get_collection(TABLES)
        names = {getattr(item, "name", "") for item in initializers}
        init_ops = [*initializers, *(op for op in ready_fillers(session.graph) if op.name not in names)]
    for init_op in init_ops:
        try:
            session.run(init_op)
        except tf.errors.FailedPreconditionError:
            pass
        except (TypeError, ValueError) as error:  # a damaged collection
            problem = f"collection {TABLES!r} holds {reprlib.repr(init_op)}, which is not an op of the graph"
            raise PlanError("session()", problem, "Give the GraphDef alone, gs.open(meta.graph_def)") from error
        except tf.errors.NotFoundError as error:
            op = error.op if error.op is not None else init_op
            # Only the text of TensorFlow's error contains the path.
            line = next((x for x in str(error.message).splitlines() if "o such file" in x), str(error.message))
            refused = PlanError(
                "session()",
                f"{op.name!r} fills a table from a file that is not there: {line.partition(';')[0].strip()}",
                f"Put the file there, or make it read another: ed.plan().connect(name, to={op.name!r}, input=1)",
            )
            if not unchanged:
                raise refused from error
            warn(str(refused))


def set_without_initializers(
    old: TFSession,
    new: TFSession,
    pairs: Sequence[tuple[VariableInfo, VariableInfo]],
    source: Any,
    restored: frozenset[str],
    new_names_of: Callable[[TFGraph], Mapping[str, str]],
) -> frozenset[str]:
    """Sets variables that no op of the graph initializes, such as those of a SavedModel of TF2.

    Args:
        old: the session with their values.
        new: the session to set.
        pairs: (variable of the old graph, variable of the new graph).
        source: a `ValueSource` that may be able to move the values that it has restored.
        restored: names of the new variables that this source has restored.
        new_names_of: graph -> {op in the file: its name in that graph, if it differs}.

    Returns:
        the names of the variables that were set.

    Raises:
        PlanError: no op sets one of the variables.
    """
    restored_ops = (
        restored if pairs and hasattr(source, "transfer") and source.transfer(old, new, new_names_of) else frozenset()
    )
    names = [info.op for _, info in pairs if info.op not in restored_ops]
    if names:
        how = (
            "Undo the edit that removed the ops that restore them, or gave these ops other variables (leave them out: "
            "exclude=[...]); or copy with values=..., which adds initializers"
        )
        raise PlanError("session(old)", no_initializer_error(names, "").problem, how)
    return restored_ops


def run_init_ops(session: TFSession, names: Iterable[str], feeds: Mapping[str, str]) -> None:
    """Runs the ops of the file that must run once, such as those that fill its tables, unless an edit removed them."""
    graph = session.graph
    there = {end: path for end, path in feeds.items() if has_op(graph, op_name(end))}
    for name in names:
        with suppress(KeyError, tf.errors.OpError):
            session.run(graph.get_operation_by_name(name), there)
