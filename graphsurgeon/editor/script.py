"""Writes the history of an editor as a Python file that repeats it."""

from __future__ import annotations

import io
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import tf
from ..errors import PlanError, counted
from ..graph.atomic_files import ensure_writable, write_atomic
from ..graph.graph import Graph
from ..graph.names import op_name
from ..graph.selection import Query, Selection
from ..plan.code import IMPORTS, arrays_code, open_code, plan_lines, shapes_text
from ..plan.function_source import CodeNames, Sources
from ..plan.steps.copy import CopyStep
from ..plan.steps.edit import RebuildStep, RenameStep
from .applied import Applied
from .history import Event, Log, log_of, moment

_REQUEST = "to_code()"


def write(log: Log, snapshot: Graph, path: Any = None, arrays: bool = False, overwrite: bool = False) -> str:
    """Returns the script of a history, and writes it if a path is given.

    Args:
        log: the history.
        snapshot: the current graph.
        path: the file to write.
        arrays: write long arrays to an ``.npz`` file next to it; otherwise they are arguments.
        overwrite: replace existing files.

    Raises:
        PlanError: a plan uses an op of an undone plan; `arrays` is given without a `path`; the file exists or cannot be
            written.
    """
    if arrays and path is None:
        problem = "there is no place to write the arrays to"
        raise PlanError("to_code(arrays=True)", problem, "Give a path: ed.to_code('redo.py', arrays=True)")
    if path is not None and not isinstance(path, str | os.PathLike):
        raise PlanError(f"to_code({path!r})", f"{path!r} is not a path", "Give a path, as text or pathlib.Path")
    target = os.fspath(path) if path is not None else ""
    work = _Script(os.path.basename(target).rpartition(".")[0] + ".npz" if arrays else "")
    text, arrays_to = work.text(log, snapshot), os.path.join(os.path.dirname(target), work.beside)
    for file in [arrays_to] * bool(work.saved) + [target] * bool(target):
        ensure_writable(file, overwrite, f"to_code({target!r})")
    try:
        if work.saved:
            buffer = io.BytesIO()
            np.savez(buffer, **work.saved)
            write_atomic(arrays_to, buffer.getvalue())
        if target:
            write_atomic(target, text.encode())
    except OSError as error:
        problem = f"it cannot be written: {error.strerror or error}"
        raise PlanError(f"to_code({target!r})", problem, "Choose a file in an existing folder") from error
    return text


class _Script(CodeNames):
    """Collects the lines of a script, and provides names for the code of plans."""

    def __init__(self, folder: str) -> None:
        self.beside = folder
        self.saved: dict[str, Any] = {}
        self._lines: list[str] = []
        self._editors: list[tuple[Log, list[Event], str]] = []  # the editors so far, and the plans applied in each
        self._sources = Sources()
        self._used_names: set[str] = set()
        self._event: Event | None = None
        self._log: Log | None = None  # the log that is being written
        self._main: Log | None = None

    def text(self, log: Log, snapshot: Graph) -> str:
        self._main = log
        word = self._at(log, moment())
        manual_ops = _manual_ops(log, log.events_at(moment()), snapshot)
        if manual_ops:
            self._lines.append(_comment(manual_ops, "after that"))
        arguments = self._sources.parameters
        about = [f"# {name}: {what}" for name, what in arguments.items()]
        body = [*about, *self._lines, f"return {word}"]
        whole = "\n".join(line for line in body if not line.startswith("#"))
        imports = ["import graphsurgeon as gs", *(line for mark, line in IMPORTS if mark in whole)]
        imports = list(dict.fromkeys([*self._sources.imports, *imports]))
        if self.saved:
            imports = ["import os", "", *imports]
        count = len(log.events_at(moment()))
        head = [f'"""Does {counted(count, "steps")} on {_plain(snapshot.title)} again."""', "", *imports, "", ""]
        out = [*head, f"def redo({', '.join(arguments)}):", *("    " + line for line in body), ""]
        if not arguments:
            out += ["", 'if __name__ == "__main__":', "    print(redo())", ""]
        return "\n".join(out)

    # -- editors ----------------------------------------------------------------------------------

    def _at(self, log: Log, moment: int) -> str:
        """Returns the variable of an editor with the steps until a moment. Writes its opening and steps if needed."""
        events_at = log.events_at(moment)
        for number, (open_log, events, word) in enumerate(self._editors):
            if open_log is log and events_at[: len(events)] == events:
                self._editors[number] = (log, events_at, word)
                self._redo(log, events_at[len(events) :], word)
                return word
        word = self._open_code(log)
        self._editors.append((log, events_at, word))
        self._redo(log, events_at, word)
        return word

    def _open_code(self, log: Log) -> str:
        word = "ed" if log is self._main else "src"
        if word in self._used_names:
            word += str(sum(used_word.startswith(word) for used_word in self._used_names) + 1)
        self._used_names.add(word)
        if log.parent is not None:
            parent, when, call = log.parent
            self._lines.append(f"{word} = {self._at(parent, when)}{call}")
            return word
        code = "gs.open(tf.Graph())" if log.from_live_graph and not log.size else log.code
        self._lines.append(f"{word} = {open_code(code, log.title, self._sources)}")
        return word

    def _redo(self, log: Log, events: list[Event], word: str) -> None:
        for event in events:
            events_before = log.events_at(event.moments[0])
            if event.discarded:
                raise PlanError(
                    _REQUEST,
                    f"step {event.number} of {log.title} ({event.text}) is the source of a copy, but cannot be redone",
                    "Give the plans alone, plan.to_code(), or begin again without that step",
                )
            self._refuse_undone(log, event)
            effect, self._event, self._log = event.result.effect, event, log
            manual_ops = (
                _manual_ops(log, events_before, effect.base)
                if events_before or not (log.from_live_graph and log.size)
                else []
            )
            if manual_ops:
                self._lines.append(_comment(manual_ops, f"before step {event.number}"))
            if any(isinstance(step, RebuildStep) for step in effect.steps):
                self._lines += [f"# step {event.number}", f"{word}.rebuild()"]
                continue
            for step in effect.steps:  # sources first: their steps come before this step
                if isinstance(step, CopyStep):
                    self.editor_name(step.selection.graph)
            copy_lines, calls = plan_lines(effect, self, self._sources)
            functions = [line for text in self._sources.lines for line in text.split("\n")]
            self._sources.lines.clear()
            self._lines += [f"# step {event.number}", *functions, *copy_lines, *calls, f"{word}.apply(plan)"]

    def _refuse_undone(self, log: Log, event: Event) -> None:
        """Refuses a plan that uses orphans of an undone plan, because the script leaves out undone plans."""
        effect, base = event.result.effect, event.result.effect.base
        live = log.events_at(event.moments[0])
        made = frozenset[str]().union(*(one.names for one in live))
        dead = {  # only plans that add ops to the same graph leave orphans in it
            name: e.number
            for e in log.events
            if e not in live and e.replaced_graph is None
            for name in e.names
            if name in base.index and name not in made
        }
        if not dead or any(isinstance(step, RebuildStep) for step in effect.steps):
            return
        after, first = effect.after, effect.first_new
        used_names = {after.names[i] for i in after.data.node[after.data.ptr[first] :].tolist()}
        used_names |= {op_name(join.tensor) for join in effect.edits} | effect.changes.keys()
        for copied in effect.copies:
            if copied.source.owner is base.owner:
                used_names.update(copied.source.names[i] for i in copied.ops.tolist())
        names = sorted(name for name in used_names if name in dead)
        if names:
            raise PlanError(
                _REQUEST,
                f"step {event.number} uses {names[0]!r}, which step {dead[names[0]]} made, and that step is undone",
                "Give the plans alone: plan.to_code()",
            )

    # -- names of things ----------------------------------------------------------------------------

    def editor_name(self, graph: Graph) -> str:
        """Returns the name of the variable for the editor of a graph."""
        assert self._event is not None
        log = self._log_of(graph)
        if log is None:
            raise PlanError(
                _REQUEST,
                f"step {self._event.number} copies from {graph.title}, a snapshot that no editor has made",
                "Select from an editor: gs.open(...).select(...)",
            )
        for open_log, events, word in reversed(self._editors):
            if open_log is log and self._event in events:
                return word
        event, own = self._event, self._log
        word = self._at(log, event.moments[0])
        self._event, self._log = event, own
        return word

    def _log_of(self, graph: Graph) -> Log | None:
        """Returns the log of a graph. For the graph that the current step changes, it is the log of the step."""
        graph = graph.folded
        own = self._event is not None and graph.owner is self._event.result.effect.base.owner
        return self._log if own else log_of(graph)

    def query(self, selection: Selection) -> Query:
        """Returns the query of a selection, or a query by names if the original could now match other ops."""
        log = self._log_of(selection.graph)
        if log is None or not log.events or _stable(selection.query):
            return selection.query
        return Query("names", tuple(selection.names))

    def values_code(self, step: CopyStep | RenameStep) -> str:
        """Returns code for the source of the values of a copy, or of renamed variables."""
        assert self._event is not None
        source_values, applied = step.values, self._event.result
        source = step.selection.graph if isinstance(step, CopyStep) else applied.effect.base
        stored_values, again = _values_of(step, applied), self._provider_of(source_values, source)
        # Only the editor can fill tables.
        editor = tf.values.transfer.value_provider(source_values)
        exact = bool(self.beside) and (editor is None or not editor.init_ops[0])
        if again is not None and not exact and _has_values(again[1], source_values, stored_values):
            return self.editor_name(again[0])
        about = f"{{variable: array}}, the values of step {self._event.number}"
        return self._arrays(
            dict(source_values) if isinstance(source_values, Mapping) else stored_values, "values", about
        )

    def _provider_of(self, provider: Any, source: Graph) -> tuple[Graph, Log] | None:
        """Returns the graph and log of the editor that provides values; None if no editor or session of one does."""
        snapshot = getattr(provider, "snapshot", None)
        graph = snapshot if isinstance(snapshot, Graph) else source
        log = self._log_of(graph)
        if log is None or not (graph is snapshot or provider in log.sessions or provider is log.session()):
            return None
        return graph, log

    def constants_code(self, step: CopyStep) -> str:
        """Returns code for the arrays that replace tensors in a copy."""
        assert self._event is not None
        return self._arrays(dict(step.constants), "constants", f"{{tensor: array}}, of step {self._event.number}")

    def _arrays(self, arrays: dict[str, Any], preferred: str, comment: str) -> str:
        text = arrays_code(arrays)
        if text:
            return text
        word = self._sources.free_name(preferred)
        if not self.beside:
            more = "ed.to_code('redo.py', arrays=True) writes them to a file next to it"
            self._sources.parameters[word] = f"{comment}: {shapes_text(arrays)}; {more}"
            return word
        keys = {name: f"{word}_{number}" for number, name in enumerate(arrays)}
        self.saved.update({key: _array(arrays[name]) for name, key in keys.items()})
        place = f"os.path.join(os.path.dirname(os.path.abspath(__file__)), {self.beside!r})"
        if not any(line.startswith("arrays = ") for line in self._lines):
            self._lines.append(f"arrays = np.load({place})")
        self._lines.append(f"{word} = {{{', '.join(f'{name!r}: arrays[{key!r}]' for name, key in keys.items())}}}")
        return word


def _stable(query: Query) -> bool:
    """Returns whether a query matches the same ops after other ops were added."""
    if query.method == "names":
        return True
    if query.method == "select":
        plain = [value for key, value in query.args if key == "name"]
        texts = [text for value in plain for text in ([value] if isinstance(value, str) else value)]
        keys = {key for key, _ in query.args}
        return bool(keys & {"inputs", "outputs", "name"}) and not any(c in text for text in texts for c in "*?[")
    return query.method in ("or", "and", "minus", "ancestors") and all(map(_stable, query.operands))


def _has_values(log: Log, provider: Any, values: Mapping[str, Any]) -> bool:
    """Returns whether an editor that is opened again has these values, from its session or its file."""
    if log.session() is not None and (provider is log.session() or hasattr(provider, "snapshot")):
        return True
    if all(hasattr(value, "read") for value in values.values()):
        return True  # no session was opened
    stored = log.stored_values() or {}
    return all(name in stored and _same(stored[name], value) for name, value in values.items())


def _same(a: Any, b: Any) -> bool:
    a, b = _array(a), _array(b)
    return bool(a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())


def _array(value: Any) -> Any:
    return np.asarray(value.read() if hasattr(value, "read") else value)


def _values_of(step: CopyStep | RenameStep, result: Applied) -> dict[str, Any]:
    """Returns the values of a copy or of renamed variables, by the names in the source."""
    applied_ops, effect = result.applied_ops, result.effect
    if isinstance(step, RenameStep):
        return {old: applied_ops.values[new] for old, new in effect.renamed.items() if new in applied_ops.values}
    copied = next(c for c in effect.copies if (c.step.selection, c.step.to) == (step.selection, step.to))
    arrays = {v.original: applied_ops.values[v.name] for v in copied.variables if v.name in applied_ops.values}
    frozen = {
        c.frozen_variable: tf.copy.append.constant_of(applied_ops.graph, c.name, "to_code()")
        for c in copied.constants
        if c.frozen_variable
    }
    return {**arrays, **frozen}


def _manual_ops(log: Log, events: list[Event], graph: Graph) -> list[str]:
    """Returns ops that were added since the graph was opened, but not by a step."""
    if events and events[-1].discarded:
        return []
    known_names = set(events[-1].result.effect.after.names) if events else set(graph.names[: log.size])
    known_names |= {name for event in log.events for name in event.names}
    return [name for name in graph.names if name not in known_names]


def _comment(ops: list[str], place: str) -> str:
    count = f"{counted(len(ops), 'ops')} {'was' if len(ops) == 1 else 'were'}"
    return f"# {place}, {count} added by hand, {ops[0]!r} first: add them here"


def _plain(title: str) -> str:
    return repr(title)[1:-1].replace("\\", "/").replace('"', "'")
