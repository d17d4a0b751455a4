"""Converts steps of plans and marks of a screen to plain data, and back.

The journal uses it for graphs from files. The page uses it for any graph, to restore the plan after a kernel restart.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import sys
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Protocol

from .. import tf
from ..errors import PlanError, SurgeryError
from ..graph.graph import Graph
from ..graph.open_graph import OpenedFile
from ..graph.pattern import Pattern
from ..graph.selection import Query, Selection
from ..plan.plan import Plan
from ..plan.serialization import NotDeserializable, NotSerializable, deserialize, serialize
from ..plan.steps import CopyStep, RenameStep, ReplaceStep, Step
from .history import Event, Log, log_of, logs_of

#: The maximum number of bytes of a plan.
MOST_RECORD = 16 << 20
#: The note about values of a session or an editor.
FROM_FILE = "variables have the values of the file: later training is not in the journal"
_LATER = sys.maxsize
"""A moment after all events."""


class RecordContext(Protocol):
    """The journal or page that steps are written to."""

    @property
    def log(self) -> Log:
        """The log of the editor of the plans."""

    def reaches(self, log: Log) -> bool:
        """Returns whether the graph of an editor can be restored."""

    def source(self, log: Log, when: int) -> int:
        """Returns the number of a source graph of a plan, in its state at a moment."""


class StepEncoder:
    """Converts steps to data. A selection becomes a list of op names, and values become a reference to their source.

    Args:
        place: the journal or page to write to, which numbers the source graphs.
        base: the graph of the plan.
        events: the history of the editor.
    """

    def __init__(self, place: RecordContext, base: Graph, events: Sequence[Event]) -> None:
        self._place, self._base, self._events = place, base, events
        self.lost: list[str] = []

    def step(self, step: Step) -> Any:
        """Returns a step as data, or the reason why it cannot be written."""
        try:
            if isinstance(step, ReplaceStep):
                return self._replace(step)
            if isinstance(step, CopyStep | RenameStep) and step.values is not None:
                return serialize(replace(step, values=_EncodedValues(self._values(step.values))), self._other)
            return serialize(step, self._other)
        except NotSerializable as error:
            return {"lost": str(error)}

    def _other(self, value: Any) -> Any:
        if isinstance(value, _EncodedValues):
            return value.data
        if isinstance(value, Selection):
            return {"ops": self._selection(value)}
        number = getattr(value, "as_datatype_enum", None)
        if isinstance(number, int):
            return {"tf dtype": number}
        if callable(value):
            raise NotSerializable(f"the Python function {getattr(value, '__name__', value)!r}")
        raise NotSerializable(f"a value of type {type(value).__name__}")

    def _selection(self, selection: Selection) -> list[Any]:
        ends = [[selection.graph.name(one) for one in some] for some in (selection.inputs, selection.outputs)]
        return [self._graph(selection.graph), selection.names, *ends]

    def _graph(self, graph: Graph) -> Any:
        """Returns a reference to a graph: None for the current graph, its state before a step, or a source graph."""
        owner = graph.folded.owner
        if owner is self._base.owner:
            return None
        earlier = next((e for e in self._events if e.before is owner), None)
        if earlier is not None:
            return ["before", earlier.number]
        log = log_of(graph.folded)
        if log is None or not self._place.reaches(log):
            raise NotSerializable(f"ops of {graph.title}, which does not come from a file")
        return ["source", self._place.source(log, _LATER)]

    def _values(self, values: Any) -> Any:
        if isinstance(values, str):
            return values
        if isinstance(values, Mapping):
            sizes = [getattr(one, "nbytes", 0) for one in values.values()]
            if sum(sizes) < MOST_RECORD // 2:
                with suppress(NotSerializable):
                    arrays = {str(getattr(k, "name", k)): one.read() if hasattr(one, "read") else one
                            for k, one in values.items()}  # fmt: skip
                    return serialize(arrays, self._other)
            self.lost.append("the arrays with the values of variables are too large to be kept")
            return None
        snapshot = getattr(values, "snapshot", None)
        if isinstance(snapshot, Graph):
            log = log_of(snapshot)
        else:
            logs = [self._place.log, *logs_of(getattr(values, "graph", None))]
            log = next((one for one in logs if values in one.sessions or values is one.session()), None)
        if log is None or not self._place.reaches(log):
            self.lost.append("the values of a session are not kept: variables start from initial values")
            return None
        if log.sessions:
            self.lost.append(FROM_FILE)
        return {"values": None if log is self._place.log else ["source", self._place.source(log, _LATER)]}

    def _replace(self, step: ReplaceStep) -> Any:
        """Returns a replacement as the arguments of `Plan.replace`; only replacements by an op type can be written."""
        if not isinstance(step.by, str):
            raise NotSerializable(f"the Python function {getattr(step.by, '__name__', step.by)!r}")
        what, options, within = step.given, step.options, step.within
        if not isinstance(step.what, Pattern):
            if not step.what:
                raise NotSerializable("an empty replacement")
            graph = step.what[0].graph
            numbers = sorted({i for one in step.what for i in one.numbers})
            within = Selection(graph, graph.mask(numbers), Query("names", tuple(graph.names[i] for i in numbers)))
            what = step.what[0].pattern
        if isinstance(what, Pattern) and what.made_of is not None:
            what, options = what.made_of
        if not isinstance(what, Selection):
            raise NotSerializable("a pattern that is not a selection")
        about = {"within": within, "external": step.external, "to": step.to, **dict(options)}
        return {"replace": [serialize(what, self._other), step.by, serialize(about, self._other)]}


@dataclass(frozen=True)
class _EncodedValues:
    """The source of values, as data."""

    data: Any


class StepDecoder:
    """Converts data back to steps.

    Args:
        request: the request, for messages.
        place: returns the editor of a source graph by its number from `RecordContext.source`.

    Attributes:
        before: number of a step of the history -> the graph before the step.
    """

    def __init__(self, request: str, place: Callable[[int], Any]) -> None:
        self._request, self._place = request, place
        self.before: dict[int, Graph] = {}
        self._editor: Any = None
        self._base: Graph | None = None

    def plan(self, editor: Any, records: Sequence[Any]) -> Plan:
        """Returns the plan for an editor with the steps of some records."""
        self._editor = editor
        plan: Plan = editor.plan()
        plan = replace(plan, base=plan.backend.settled(plan.base))
        self._base = plan.base
        for data in records:
            if isinstance(data, dict) and "lost" in data:
                raise NotDeserializable(f"it has {data['lost']}, which cannot be kept")
            if isinstance(data, dict) and "replace" in data:
                what, by, about = data["replace"]
                arguments = deserialize(about, self._other)
                if not isinstance(by, str) or not isinstance(arguments, dict):
                    raise NotDeserializable("a replacement names no op type")
                plan = plan.replace(deserialize(what, self._other), by, **arguments)
                continue
            step = deserialize(data, self._other)
            if not isinstance(step, Step):
                raise NotDeserializable(f"{step!r} is not a step")
            plan = replace(plan, steps=(*plan.steps, step))
        return plan

    def _other(self, data: Mapping[str, Any]) -> Any:
        [(kind, content)] = data.items()
        if kind == "ops":
            return self._selection(*content)
        if kind == "values":
            return self._editor if content is None else self._source(content)
        if kind == "tf dtype":
            return tf.graph_parts.dtype_of(int(content))
        raise NotDeserializable(f"there is no value of kind {kind!r}")

    def _source(self, where: Any) -> Any:
        kind, number = where
        if kind != "source" or type(number) is not int:
            raise NotDeserializable(f"{where!r} is not a place")
        return self._place(number)

    def _selection(self, where: Any, names: Any, inputs: Any, outputs: Any) -> Selection:
        graph, editor = self._base, self._editor
        if where is not None and where[0] == "before":
            graph, editor = self.before[where[1]], None
        elif where is not None:
            editor = self._source(where)
            graph = editor.snapshot
        assert graph is not None
        names_needed = [*names, *inputs, *outputs]
        if editor is not None and any(name.partition(":")[0] not in graph.index for name in names_needed):
            graph = editor.screen.around(names_needed)
        mask = graph.mask([graph.find(name, self._request) for name in names])
        start, end = (tuple(graph.tensor(one, self._request) for one in some) for some in (inputs, outputs))
        query = Query("names", tuple(graph.names[i] for i in mask.nonzero()[0].tolist()))
        return Selection(graph, mask, query, start, end)


def file_of(log: Log) -> OpenedFile | None:
    """Returns the file that a graph came from; None if it did not come from a file."""
    return log.file if log.follows is None else file_of(log.follows[0])


#: The maximum length of a text: a fifth of the storage of a page.
_MOST = 1 << 20
#: Identifies this process: its plans are not offered for recovery while it runs.
_PROCESS_ID = secrets.token_hex(8)


class DraftCodec:
    """Converts the plan and the marks of a screen to a text, and back.

    Args:
        editors: the editors of the destination and of the source, which may be the same.
        logs: their logs; None if the steps of the source are not recorded.

    Attributes:
        log: the log of the destination.
    """

    def __init__(self, editors: Sequence[Any], logs: tuple[Log, Log | None]) -> None:
        self._editors, self._logs, self.log = editors, logs, logs[0]
        self._last: tuple[Any, Any, Any] = (None, None, None)
        self._text = ""

    @property
    def of(self) -> str:
        """Identifies its graphs: their titles, and a digest of their structure."""
        graphs = [one.snapshot for one in dict.fromkeys(self._editors)]
        return ", ".join([*(one.title for one in graphs), "-".join(one.fingerprint for one in graphs)])

    @property
    def by(self) -> str:
        """Identifies the process that makes the text."""
        return f"{_PROCESS_ID}-{os.getpid()}"  # a kernel may be forked from another

    def written(self, plan: Plan, marks: Sequence[Sequence[str]]) -> str:
        """Returns a plan and marks as a text; empty if there are none, or they are too large for a page.

        Args:
            plan: the plan.
            marks: the marked tensors: inputs, outputs, and those included together with their ancestors.
        """
        base, steps, marked = self._last
        if base is not plan.base or steps is not plan.steps or marked != marks:
            writer = StepEncoder(self, plan.base, ())
            step_records = [writer.step(step) for step in plan.steps]
            data = json.dumps({"of": self.of, "steps": step_records, "marks": marks, "lost": writer.lost})
            text = base64.b64encode(zlib.compress(data.encode("ascii"), 1)).decode("ascii")
            self._last = plan.base, plan.steps, marks
            self._text = text if (plan.steps or any(marks)) and len(text) <= _MOST else ""
        return self._text

    def read(self, text: str) -> tuple[Plan, list[tuple[str, ...]], list[str]]:
        """Returns the plan and the marks of a text, and notes about them.

        Args:
            text: a text from `written`, which is read as data, never as code.

        Raises:
            PlanError: the text is incomplete, contains a step that could not be kept, or does not fit this graph.
        """
        request, how, other = "put_back()", "Run the code of the plan in a cell, or discard it", ""
        try:
            data = json.loads(_decompress(text))
            if data["of"].rpartition(", ")[2] != self.of.rpartition(", ")[2]:
                other = "it was made for another graph of this name"
            plan = StepDecoder(request, self._editors.__getitem__).plan(self._editors[0], data["steps"])
            inputs, outputs, included = data["marks"]
            for tensor in (*inputs, *outputs, *(one.removeprefix("^") for one in included)):
                self._editors[-1].screen.around([tensor]).find(tensor.partition(":")[0], request)
            marks = [tuple(map(str, some)) for some in (inputs, outputs, included)]
            notes = [*([other] if other else []), *map(str, data["lost"])]
        except SurgeryError as error:
            raise PlanError(request, ": ".join([*([other] if other else []), error.problem]), how) from error
        except (NotDeserializable, zlib.error, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise PlanError(request, f"it cannot be made again: {error}", how) from error
        return plan, marks, notes

    # -- writing its steps --------------------------------------------------------------------------

    def reaches(self, log: Log) -> bool:
        """Returns whether a graph is on the screen.

        Args:
            log: the log of its editor.
        """
        return log in self._logs

    def source(self, log: Log, when: int) -> int:
        """Returns the number of a graph of the screen: 0 for the destination, 1 for the source.

        Args:
            log: the log of its editor.
            when: not used; the current state is meant.
        """
        return self._logs.index(log)


def _decompress(text: str) -> bytes:
    reader = zlib.decompressobj()
    data = reader.decompress(base64.b64decode(text, validate=True), MOST_RECORD)
    if not reader.eof:
        raise ValueError("it is cut off, or too large")
    return data
