"""Converts steps of plans to plain data for the journal, and back."""

from __future__ import annotations

import base64
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Protocol, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from .. import tf
from ..graph.graph import Graph
from ..graph.open_graph import OpenedFile
from ..graph.pattern import Pattern
from ..graph.selection import Query, Selection
from ..plan.adapters import AdapterSpec
from ..plan.plan import Plan
from ..plan.steps.base import Step, step_kinds
from ..plan.steps.copy import CopyStep
from ..plan.steps.edit import RenameStep
from ..plan.steps.replace import ReplaceStep
from .history import Event, Log, log_of, logs_of

#: Name in the data -> class that can be packed.
_KINDS: dict[str, type] = {kind.__name__: kind for kind in (*step_kinds(), AdapterSpec)}
#: The largest depth of nested values.
_DEEPEST = 40
_Other = Callable[[Any], Any]


class NotSerializable(Exception):
    """Raised if a value cannot be packed; the text names the value."""


class NotDeserializable(Exception):
    """Raised for data that `serialize` cannot have made; the text names the place."""


def serialize(value: Any, other: _Other) -> Any:
    """Returns a step, or a value in one, as plain data.

    Args:
        value: the step or value.
        other: packs a value that is not plain, as a dict with one key that is not used here; raises `NotSerializable`
            if that is not possible.

    Raises:
        NotSerializable: if the value contains something that cannot be packed, such as a Python function.

    Example:
        >>> def no(value):
        ...     raise NotSerializable(f"a value of type {type(value).__name__}")
        >>> from graphsurgeon.plan.steps.edit import SetStep
        >>> from graphsurgeon.plan.steps.wiring import ConnectStep
        >>> serialize(ConnectStep("a:0", "b", 1), no)
        {'step': ['ConnectStep', {'tensor': 'a:0', 'to': 'b', 'input': 1}]}
        >>> deserialize(serialize(SetStep(("a",), (("T", 1.5),)), no), no)
        SetStep(ops=('a',), attributes=(('T', 1.5),), device=None)
    """
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float:
        return {"float": value.hex()}
    if type(value) is tuple:
        return [serialize(one, other) for one in value]
    if type(value) is list:
        return {"list": [serialize(one, other) for one in value]}
    if type(value) is bytes:
        return {"bytes": _text(value)}
    if isinstance(value, Mapping):
        return {"map": [[serialize(key, other), serialize(one, other)] for key, one in value.items()]}
    if isinstance(value, np.ndarray | np.generic):
        return _serialize_array(np.asarray(value), isinstance(value, np.generic))
    if isinstance(value, np.dtype):
        return {"dtype": value.name}
    if isinstance(value, type) and issubclass(value, np.generic):
        return {"dtype": np.dtype(value).name}
    if _KINDS.get(type(value).__name__) is type(value):
        values = {key: serialize(getattr(value, key), other) for key in _hints(cast(type, type(value)))}
        return {"step": [type(value).__name__, values]}
    return other(value)


def deserialize(data: Any, other: _Other, depth: int = 0) -> Any:
    """Returns the step or value that plain data describes.

    Args:
        data: the data.
        other: unpacks a dict with one key that is not known here; raises `NotDeserializable` if it cannot.
        depth: the depth of the data in other data.

    Raises:
        NotDeserializable: if `serialize` cannot have made the data; for example, if a step has a missing field, an
            additional field, or a field of another type.
    """
    if depth > _DEEPEST:
        raise NotDeserializable("values are nested too deeply")
    if data is None or type(data) in (bool, int, str):
        return data
    if type(data) is list:
        return tuple(deserialize(one, other, depth + 1) for one in data)
    if type(data) is not dict or len(data) != 1:
        raise NotDeserializable(f"{_short(data)} is not a value")
    [(kind, payload)] = data.items()
    reader = _READERS.get(kind)
    if reader is None:
        return other(data)
    try:
        return reader(payload, other, depth + 1)
    except (ValueError, TypeError, OverflowError) as error:
        raise NotDeserializable(f"{_short(data)} cannot be read as {kind}: {error}") from error


def _step(payload: Any, other: _Other, depth: int) -> Any:
    name, field_values = payload
    kind = _KINDS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise NotDeserializable(f"there is no step {_short(name)}")
    hints = _hints(kind)
    if type(field_values) is not dict or field_values.keys() != hints.keys():
        raise NotDeserializable(
            f"{name} has the fields {', '.join(hints)}, not {_short(sorted(map(str, field_values)))}"
        )
    values = {key: deserialize(one, other, depth) for key, one in field_values.items()}
    for key, value in values.items():
        if not fits(value, hints[key]):
            raise NotDeserializable(f"{key} of {name} cannot be {_short(value)}")
    return kind(**values)


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind)}


def fits(value: Any, hint: Any) -> bool:
    """Returns whether a value has the declared type of a field of a step; functions are never accepted.

    Example:
        >>> fits(("a", 1), tuple[str, int]), fits(True, int), fits(None, str | None), fits(len, Callable[..., Any])
        (True, False, True, False)
    """
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, types.UnionType):
        return any(fits(value, one) for one in args)
    if origin is tuple:
        if type(value) is not tuple:
            return False
        if args[-1:] == (Ellipsis,):
            return all(fits(one, args[0]) for one in value)
        return len(value) == len(args) and all(map(fits, value, args))
    if origin is not None:
        if not (isinstance(origin, type) and issubclass(origin, Mapping)):
            return False
        return isinstance(value, Mapping) and all(fits(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    if hint in (bool, int, str):
        return type(value) is hint
    return isinstance(value, hint)


# -- arrays and the like --------------------------------------------------------------------------


def _serialize_array(array: np.ndarray, scalar: bool) -> dict[str, Any]:
    if array.dtype.hasobject:
        items = array.ravel().tolist()
        if not all(isinstance(one, bytes | str) for one in items):
            raise NotSerializable("an array of Python objects")
        return {"texts": [list(array.shape), [_text(one) if isinstance(one, bytes) else [one] for one in items]]}
    if array.dtype.fields is not None:
        raise NotSerializable("an array of records")
    if array.dtype.kind in "SU":
        return _serialize_array(array.astype(object), scalar)
    data = _text(np.ascontiguousarray(array).tobytes())
    return {"scalar" if scalar else "array": [array.dtype.name, list(array.shape), data]}


def _array(payload: Any, other: _Other, depth: int) -> Any:
    name, shape, data = payload
    return np.frombuffer(_bytes(data), _dtype(name, other, depth)).reshape(_shape(shape)).copy()


def _scalar(payload: Any, other: _Other, depth: int) -> Any:
    return _array(payload, other, depth)[()]


def _texts(payload: Any, other: _Other, depth: int) -> Any:
    shape, items = payload
    out = np.empty(len(items), object)
    out[:] = [one[0] if isinstance(one, list) else _bytes(one) for one in items]
    return out.reshape(_shape(shape))


def _dtype(payload: Any, other: _Other, depth: int) -> np.dtype[Any]:
    dtype = np.dtype(payload) if isinstance(payload, str) and payload.replace("_", "").isalnum() else np.dtype(object)
    if dtype.hasobject or dtype.fields is not None:
        raise ValueError(f"{_short(payload)} is not a dtype of numbers")
    return dtype


def _shape(payload: Any) -> tuple[int, ...]:
    if not all(type(one) is int and one >= 0 for one in payload):
        raise ValueError(f"{_short(payload)} is not a shape")
    return tuple(payload)


def _map(payload: Any, other: _Other, depth: int) -> dict[Any, Any]:
    return {deserialize(key, other, depth): deserialize(one, other, depth) for key, one in payload}


_READERS: dict[str, Callable[[Any, _Other, int], Any]] = {
    "step": _step,
    "float": lambda held, other, depth: float.fromhex(held),
    "list": lambda held, other, depth: [deserialize(one, other, depth) for one in held],
    "bytes": lambda held, other, depth: _bytes(held),
    "map": _map,
    "array": _array,
    "scalar": _scalar,
    "texts": _texts,
    "dtype": _dtype,
}


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _bytes(text: Any) -> bytes:
    return base64.b64decode(text, validate=True)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 60 else f"{text[:57]}..."


#: The maximum number of bytes of a plan.
MAX_RECORD = 16 << 20
#: The note about values of a session or an editor.
FROM_FILE = "variables have the values of the file: later training is not in the journal"
_END = sys.maxsize
"""A moment after all events."""


class RecordContext(Protocol):
    """The journal that steps are written to."""

    @property
    def log(self) -> Log:
        """The log of the editor of the plans."""

    def can_reopen(self, log: Log) -> bool:
        """Returns whether the graph of an editor can be restored."""

    def source_number(self, log: Log, moment: int) -> int:
        """Returns the number of a source graph of a plan, in its state at a moment."""


class StepEncoder:
    """Converts steps to data. A selection becomes a list of op names, and values become a reference to their source.

    Args:
        place: the journal to write to, which numbers the source graphs.
        base: the graph of the plan.
        events: the history of the editor.
    """

    def __init__(self, place: RecordContext, base: Graph, events: Sequence[Event]) -> None:
        self._place, self._base, self._events = place, base, events
        self.lost: list[str] = []

    def encode(self, step: Step) -> Any:
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
        earlier = next((e for e in self._events if e.replaced_graph is owner), None)
        if earlier is not None:
            return ["before", earlier.number]
        log = log_of(graph.folded)
        if log is None or not self._place.can_reopen(log):
            raise NotSerializable(f"ops of {graph.title}, which does not come from a file")
        return ["source", self._place.source_number(log, _END)]

    def _values(self, values: Any) -> Any:
        if isinstance(values, str):
            return values
        if isinstance(values, Mapping):
            sizes = [getattr(one, "nbytes", 0) for one in values.values()]
            if sum(sizes) < MAX_RECORD // 2:
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
        if log is None or not self._place.can_reopen(log):
            self.lost.append("the values of a session are not kept: variables start from initial values")
            return None
        if log.sessions:
            self.lost.append(FROM_FILE)
        return {"values": None if log is self._place.log else ["source", self._place.source_number(log, _END)]}

    def _replace(self, step: ReplaceStep) -> Any:
        """Returns a replacement as the arguments of `Plan.replace`; only replacements by an op type can be written."""
        if not isinstance(step.replacement, str):
            raise NotSerializable(f"the Python function {getattr(step.replacement, '__name__', step.replacement)!r}")
        what, options, within = step.code_argument, step.options, step.within
        if not isinstance(step.target, Pattern):
            if not step.target:
                raise NotSerializable("an empty replacement")
            graph = step.target[0].graph
            numbers = sorted({i for one in step.target for i in one.numbers})
            within = Selection(graph, graph.mask(numbers), Query("names", tuple(graph.names[i] for i in numbers)))
            what = step.target[0].pattern
        if isinstance(what, Pattern) and what.source is not None:
            what, options = what.source
        if not isinstance(what, Selection):
            raise NotSerializable("a pattern that is not a selection")
        about = {"within": within, "external": step.external, "to": step.to, **dict(options)}
        return {"replace": [serialize(what, self._other), step.replacement, serialize(about, self._other)]}


@dataclass(frozen=True)
class _EncodedValues:
    """The source of values, as data."""

    data: Any


class StepDecoder:
    """Converts data back to steps.

    Args:
        request: the request, for messages.
        place: returns the editor of a source graph by its number from `RecordContext.source_number`.

    Attributes:
        before: number of a step of the history -> the graph before the step.
    """

    def __init__(self, request: str, place: Callable[[int], Any]) -> None:
        self._request, self._place = request, place
        self.before: dict[int, Graph] = {}
        self._editor: Any = None
        self._base: Graph | None = None

    def decode_plan(self, editor: Any, records: Sequence[Any]) -> Plan:
        """Returns the plan for an editor with the steps of some records."""
        self._editor = editor
        plan: Plan = editor.plan()
        plan = replace(plan, base=plan.backend.with_runtime_shapes(plan.base))
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

    def _source(self, record: Any) -> Any:
        kind, number = record
        if kind != "source" or type(number) is not int:
            raise NotDeserializable(f"{record!r} is not a place")
        return self._place(number)

    def _selection(self, record: Any, names: Any, inputs: Any, outputs: Any) -> Selection:
        graph, editor = self._base, self._editor
        if record is not None and record[0] == "before":
            graph, editor = self.before[record[1]], None
        elif record is not None:
            editor = self._source(record)
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
    return log.file if log.parent is None else file_of(log.parent[0])
