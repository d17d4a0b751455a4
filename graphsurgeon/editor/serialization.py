"""The steps of plans and the marks on a screen as plain data, and back.

Of a graph that is in no file there is no journal; its page outlives the kernel all the same.
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

from ..errors import PlanError, SurgeryError
from ..graph.graph import Graph
from ..graph.match.pattern import Pattern
from ..graph.open_graph import OpenedFile
from ..graph.selection import Query, Selection
from ..plan.plan import Plan
from ..plan.serialization import NotDeserializable, NotSerializable, deserialize, serialize
from ..plan.steps import CopyStep, RenameStep, ReplaceStep, Step
from .history import Event, Log, log_of, logs_of

#: Bytes that one plan may have.
MOST_RECORD = 16 << 20
#: What of a session's or an editor's values comes back.
FROM_FILE = "variables have the values of the file: what was trained since is not in the journal"
_LATER = sys.maxsize
"""The moment after all that was done."""


class RecordContext(Protocol):
    """The place that steps are written to."""

    @property
    def log(self) -> Log:
        """What is done in the editor of the plans."""

    def reaches(self, log: Log) -> bool:
        """Returns whether the graph of an editor can be found again."""

    def source(self, log: Log, when: int) -> int:
        """Returns the number of a graph that plans take from, as it is at a moment."""


class StepEncoder:
    """Steps as data: their selections as the names of ops, and where values come from.

    Args:
        place: the place that it is written to; it has the graphs that are copied from.
        base: the graph that the plan is for.
        events: those of the editor.
    """

    def __init__(self, place: RecordContext, base: Graph, events: Sequence[Event]) -> None:
        self._place, self._base, self._events = place, base, events
        self.lost: list[str] = []

    def step(self, step: Step) -> Any:
        """Returns a step as data; of one that cannot be written down, why not."""
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
        """Returns the location of a graph: this one, this one before a step, or another file."""
        owner = graph.folded.owner
        if owner is self._base.owner:
            return None
        earlier = next((e for e in self._events if e.before is owner), None)
        if earlier is not None:
            return ["before", earlier.number]
        log = log_of(graph.folded)
        if log is None or not self._place.reaches(log):
            raise NotSerializable(f"ops of {graph.title}, which is in no file")
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
            self.lost.append("the arrays that give variables their values are too large to be kept")
            return None
        snapshot = getattr(values, "snapshot", None)
        if isinstance(snapshot, Graph):
            log = log_of(snapshot)
        else:
            logs = [self._place.log, *logs_of(getattr(values, "graph", None))]
            log = next((one for one in logs if values in one.sessions or values is one.session()), None)
        if log is None or not self._place.reaches(log):
            self.lost.append("the values of a session are not kept: variables begin with initial ones")
            return None
        if log.sessions:
            self.lost.append(FROM_FILE)
        return {"values": None if log is self._place.log else ["source", self._place.source(log, _LATER)]}

    def _replace(self, step: ReplaceStep) -> Any:
        """A replacement is asked for again: what looks like a selection, by an op type."""
        if not isinstance(step.by, str):
            raise NotSerializable(f"the Python function {getattr(step.by, '__name__', step.by)!r}")
        what, options, within = step.given, step.options, step.within
        if not isinstance(step.what, Pattern):
            if not step.what:
                raise NotSerializable("a replacement of nothing")
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
    """Steps of data.

    Args:
        request: the request, for messages.
        place: gives the editor of another graph, of what `RecordContext.source` has numbered.

    Attributes:
        before: number of a step of the history -> the graph as it was before it.
    """

    def __init__(self, request: str, place: Callable[[int], Any]) -> None:
        self._request, self._place = request, place
        self.before: dict[int, Graph] = {}
        self._editor: Any = None
        self._base: Graph | None = None

    def plan(self, editor: Any, records: Sequence[Any]) -> Plan:
        """Returns the plan that steps say, for an editor."""
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
            from ..tf.graph_parts import dtype_of

            return dtype_of(int(content))
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


#: So long a text may be: of what a page may keep in all, a fifth.
_MOST = 1 << 20
#: Identifies this process: its plans are not offered for recovery while it runs.
_PROCESS_ID = secrets.token_hex(8)


class DraftCodec:
    """What is planned and marked on one screen.

    Args:
        editors: of its destination and its source, which may be one.
        logs: what is done in each of them; None if the steps of the source are not recorded.

    Attributes:
        log: what is done to the graph that the plan changes.
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
        """Who makes it: a word that no other process has."""
        return f"{_PROCESS_ID}-{os.getpid()}"  # a kernel may be forked from another

    def written(self, plan: Plan, marks: Sequence[Sequence[str]]) -> str:
        """Returns a plan and marks as a text; empty if there are none, or they are too large for a page.

        Args:
            plan: what is planned.
            marks: the tensors that are marked: inputs, outputs, and those that are copied with what computes them.
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
        """Returns the plan and the marks of a text, and what to know of them.

        Args:
            text: what `written` has given to a page; it is read as data, never as code.

        Raises:
            PlanError: it is not whole, holds what could not be kept, or was made for another graph and does not fit.
        """
        request, how, other = "put_back()", "Run the code of the plan in a cell, or forget it", ""
        try:
            data = json.loads(_unpressed(text))
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
        """Returns whether a graph is one of the screen.

        Args:
            log: of its editor.
        """
        return log in self._logs

    def source(self, log: Log, when: int) -> int:
        """Returns which graph of the screen it is.

        Args:
            log: of its editor.
            when: it is meant as it is.
        """
        return self._logs.index(log)


def _unpressed(text: str) -> bytes:
    reader = zlib.decompressobj()
    data = reader.decompress(base64.b64decode(text, validate=True), MOST_RECORD)
    if not reader.eof:
        raise ValueError("it is cut off, or too large")
    return data
