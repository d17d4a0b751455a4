"""The journal: the edits of a file's graph, written to disk at once, so that none is lost if the kernel dies.

A journal is one file in a separate folder, never in the folder of the model. Its first record identifies the opened
graph. Each plan that is applied, undone or redone adds a record. Plans, marks and saved views made on screen add
records, too. A record is a line: the version of the format, its length, its checksum, and JSON. It is data, never code,
and it is on the disk before the next action.

`recover` opens the file again and repeats the records.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
import uuid
import weakref
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from ..errors import OpenError, counted
from ..graph.atomic_files import write_failure
from ..graph.open_graph import OpenedFile
from ..plan.steps.base import Step
from .history import Event, Log
from .serialization import MAX_RECORD, NotSerializable, StepEncoder, file_of

#: The setting: a folder, or ``off``.
SETTING = "GRAPHSURGEON_JOURNALS"
#: The version of the format. A journal of another version is not read.
VERSION = 2
#: The maximum bytes of one journal and of all journals, the maximum journals of a file, and their maximum age in days.
MOST, MOST_ALL, KEPT, DAYS = 64 << 20, 256 << 20, 4, 60
#: None on Windows: there, a journal counts as free.
_fcntl: Any = import_module("fcntl") if find_spec("fcntl") is not None else None
_PROCESS = uuid.uuid4().hex
_SUFFIX = ".journal"


def folder(requested: bool = False) -> Path | None:
    """Returns the folder of journals, by the variable ``GRAPHSURGEON_JOURNALS``; None if it is ``off``.

    Args:
        requested: whether the user has requested a journal, so that the setting ``off`` is ignored.
    """
    setting = os.environ.get(SETTING)
    off = setting is not None and setting.strip().lower() in ("", "0", "off", "no", "none")
    if off and not requested:
        return None
    if setting is not None and not off:
        return Path(setting)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local") / "graphsurgeon" / "journals"
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "graphsurgeon" / "journals"


# -- records --------------------------------------------------------------------------------------


def line(record: Mapping[str, Any]) -> bytes:
    """Returns the line of a record: version, length, checksum, JSON."""
    body = json.dumps(record, separators=(",", ":"), allow_nan=False).encode("ascii")
    return b"gs%d %d %s %s\n" % (VERSION, len(body), _checksum(body), body)


@dataclass
class Records:
    """The records of a journal.

    Args:
        records: the complete records, in order, up to the first damaged one.
        damage: a description of the damage; empty without damage. An incomplete last record is left out without a note,
            because its action was not done.
    """

    records: list[dict[str, Any]] = field(default_factory=list)
    damage: str = ""

    @classmethod
    def read(cls, path: Path) -> Records:
        """Reads a journal.

        Raises:
            OpenError: the journal cannot be read, or has another version.
        """
        request = f"recover(journal={str(path)!r})"
        try:
            lines = path.read_bytes().split(b"\n")
        except OSError as error:
            raise OpenError(request, f"it cannot be read: {error.strerror}", "Check its permissions") from error
        journal, torn = cls(), lines.pop()  # the last part is empty, or an incomplete record
        for number, text in enumerate(lines):
            record = _parse_record(text, request)
            if record is None:
                remaining = len(lines) - number - 1
                if remaining or torn:
                    more = (
                        f"; {counted(remaining, 'records')} after it {'is' if remaining == 1 else 'are'} left out"
                        if remaining
                        else ""
                    )
                    journal.damage = f"record {number + 1} of {len(lines)} is damaged{more}"
                break
            journal.records.append(record)
        return journal

    @property
    def unsaved_count(self) -> int:
        """The number of plans applied, undone or redone since the last save, plus one for a plan on screen."""
        count = drafted = 0
        for one in self.records:
            if one["kind"] == "saved":
                count = 0
            count += one["kind"] in ("plan", "undo", "redo")
            if one["kind"] == "draft":
                drafted = bool(one.get("keep") or one.get("steps"))
        return count + drafted


def _parse_record(text: bytes, request: str) -> dict[str, Any] | None:
    """Returns one record; None if it is damaged."""
    parts = text.split(b" ", 3)
    if len(parts) != 4 or not parts[0].startswith(b"gs") or not parts[0][2:].isdigit() or not parts[1].isdigit():
        return None
    version, body = int(parts[0][2:]), parts[3]
    if int(parts[1]) != len(body) or parts[2] != _checksum(body):
        return None
    if version != VERSION:
        problem = f"it is a journal of version {version}, and this is version {VERSION}"
        raise OpenError(request, problem, "Read it with the graphsurgeon that has written it")
    try:
        record = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("kind"), str) else None


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest()[:16].encode("ascii")


# -- writing --------------------------------------------------------------------------------------


class Journal:
    """The journal of one editor. Its file is created with the first record.

    Args:
        log: the log of the editor.
        place: the folder of journals; None: nothing is written.

    Attributes:
        log: the log of the editor.
        path: the file; None until it is created.
        place: the folder of journals.
        notes: sentences about actions that are not in the journal, and, after recovery, about those not restored.
        offer: a sentence about an earlier journal of the same file; empty if there is none.
    """

    def __init__(self, log: Log, place: os.PathLike[str] | None) -> None:
        self.log, self.place = log, None if place is None else Path(place)
        self._place = place = self.place
        self.path: Path | None = None
        self.notes: list[str] = []
        self.offer = recovery_notice(log.file, place) if log.file is not None and place is not None else ""
        self._end, self._number, self._last_moment = 0, -1, 0
        self._recorded_steps: set[int] = set()
        self._sources: dict[str, int] = {}
        self._draft_steps: tuple[Step, ...] = ()
        self._screen_record: dict[str, Any] = {"marks": [[], [], []], "views": []}

    @property
    def messages(self) -> list[str]:
        """Sentences about the journal: the offer to recover, and the notes."""
        return [*([self.offer] if self.offer and not self._recorded_steps else []), *self.notes]

    def __repr__(self) -> str:
        where = "nothing written yet" if self.path is None else str(self.path)
        return "\n".join([f"journal: {where}", *(f"  {text}" for text in self.messages)])

    def record_changes(self) -> None:
        """Writes the plans that were applied, undone and redone since the last call."""
        turns = [(turn, at, event) for event in self.log.events for at, turn in enumerate(event.moments)]
        for turn, at, event in sorted(turns, key=lambda one: one[0]):
            if turn <= self._last_moment:
                continue
            if at == 0 and event.discarded:  # a step that cannot be redone is not needed
                self._last_moment = turn
                continue
            if at and event.number not in self._recorded_steps:
                self._last_moment = turn
                continue
            kind = "plan" if at == 0 else "undo" if at % 2 else "redo"
            with self._errors_as_note():
                about = self._plan(event) if at == 0 else {}
                self._write_record({"kind": kind, "number": event.number, "turn": at, **about})
                self._recorded_steps.add(event.number)
            self._last_moment = turn

    def record_screen(self, state: Any) -> None:
        """Writes the plan, the marks and the saved views of the screen, if they have changed.

        Args:
            state: the state of the screen.
        """
        steps = state.draft.steps if state.draft is not None else ()
        common = 0
        while common < min(len(steps), len(self._draft_steps)) and steps[common] is self._draft_steps[common]:
            common += 1
        if not common == len(steps) == len(self._draft_steps):
            with self._errors_as_note():
                encoder = StepEncoder(self, state.draft.base, ()) if steps else None
                new = [encoder.encode(one) for one in steps[common:]] if encoder is not None else []
                lost = encoder.lost if encoder is not None else []
                self._write_record({"kind": "draft", "keep": common, "steps": new, "lost": lost})
            self._draft_steps = steps
        marks = [list(part) for part in (state.marks.inputs, state.marks.outputs, state.marks.included)]
        views = [[k, sorted(v.unfolded), list(v.selected), list(v.viewport)] for k, v in state.views.items()]
        now = {"marks": marks, "views": views}
        if now != self._screen_record:
            with self._errors_as_note():
                self._write_record({"kind": "look", **now})
            self._screen_record = now

    def record_save(self, path: str) -> None:
        """Notes that the graph was written to a file, so that the edits until now are no longer unsaved.

        Args:
            path: the written file or folder.
        """
        if self._recorded_steps:
            with self._errors_as_note():
                self._write_record({"kind": "saved", "path": path})

    @contextmanager
    def _errors_as_note(self) -> Iterator[None]:
        """Ends the journal with a note if writing fails. The edit itself goes on."""
        if self._place is None:
            return (yield)
        try:
            yield
        except NotSerializable as error:
            self._stop(str(error))
        except OSError as error:
            self._stop(write_failure(error, self._place))
        except Exception as error:
            self._stop(f"{type(error).__name__}: {error}")

    def _stop(self, text: str) -> None:
        self._place = None
        self.notes.append(f"the journal ends here, and later edits are not in it: {text}")

    def _write_record(self, record: dict[str, Any]) -> None:
        """Writes a record, and waits until it is on the disk."""
        if self._place is None:
            return
        data = line(record)
        if self._number < 0:
            data = line(self._first()) + data
            self._make()
        if len(data) > MAX_RECORD or self._end + len(data) > MOST:
            raise NotSerializable("it would be too large")
        if not os.fstat(self._number).st_nlink:
            raise NotSerializable("it was deleted")
        # Remove the bytes of an interrupted record.
        os.ftruncate(self._number, self._end)
        os.lseek(self._number, self._end, os.SEEK_SET)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._number, rest) :]
        os.fsync(self._number)
        self._end += len(data)
        now = time.time_ns()  # finer than file times; `_newest_first` orders journals by it
        assert self.path is not None
        os.utime(self.path, ns=(now, now))

    def _first(self) -> dict[str, Any]:
        about = {"title": self.log.title, "ops": self.log.size, "process": _PROCESS, "when": int(time.time())}
        return {"kind": "journal", "of": _source(self.log, None), **about}

    def _make(self) -> None:
        assert self._place is not None
        file = file_of(self.log)
        assert file is not None
        self._place.mkdir(0o700, parents=True, exist_ok=True)
        clean(self._place, _key(file.path))
        name = f"{_key(file.path)}-{time.time_ns():020d}-{uuid.uuid4().hex[:8]}{_SUFFIX}"
        self.path = self._place / name
        self._number = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        weakref.finalize(self, os.close, self._number)
        lock(self._number)

    def _plan(self, event: Event) -> dict[str, Any]:
        effect = event.result.effect
        encoder = StepEncoder(self, effect.base, self.log.events)
        about = {"text": event.text, "ops": effect.base.size, "record": bool(event.record)}
        return {**about, "steps": [encoder.encode(step) for step in effect.steps], "lost": encoder.lost}

    def source_number(self, log: Log, moment: int) -> int:
        """Returns the number of a source graph of a plan, and writes a record of it if it is new.

        Args:
            log: the log of its editor.
            moment: the moment whose state of the graph is used.
        """
        record = {"kind": "source", "of": _source(log, moment)}
        text = json.dumps(record)
        if text not in self._sources:
            self._write_record(record)
            self._sources[text] = len(self._sources)
        return self._sources[text]

    def can_reopen(self, log: Log) -> bool:
        """Returns whether a graph can be opened again, because it came from a file.

        Args:
            log: the log of its editor.
        """
        return file_of(log) is not None


def _source(log: Log, when: int | None) -> dict[str, Any]:
    """Returns the file of a graph, and the plans applied to it until a moment; None for no plans."""
    if log.parent is not None:
        parent, moment, call = log.parent
        source: dict[str, Any] = {"from": _source(parent, moment), "call": call}
    else:
        file = log.file
        if file is None:
            raise NotSerializable(f"{log.title} does not come from a file")
        options = {"title": log.title, **file.options}
        if any(not isinstance(one, str | bool | list | tuple | None) for one in options.values()):
            raise NotSerializable(f"an argument of gs.open for {log.title} is not a plain value")
        source = {"path": file.path, "options": options, "digest": _digest(file)}
    events = [] if when is None else log.events_at(when)
    events_done = []
    for event in events:
        nested = StepEncoder(_NoSources(log), event.result.effect.base, log.events)
        steps = [nested.encode(step) for step in event.result.effect.steps]
        events_done.append({"number": event.number, "steps": steps, "text": event.text})
    return {**source, "done": events_done}


@dataclass(frozen=True)
class _NoSources:
    """Replaces the journal while a source graph is written. Source graphs of that graph are refused."""

    log: Log

    def can_reopen(self, log: Log) -> bool:
        """Returns whether a graph came from a file, as `Journal.can_reopen` does."""
        return file_of(log) is not None

    def source_number(self, log: Log, moment: int) -> int:
        """Refuses a nested source graph."""
        raise NotSerializable(f"{self.log.title} itself has ops of {log.title}")


def _digest(file: OpenedFile) -> str:
    """Returns a digest of the bytes of a file; empty if the file has changed since it was opened."""
    main = Path(file.main_file)
    try:
        stat = main.stat()
        if (stat.st_size, stat.st_mtime_ns) != file.stamp:
            return ""
        return digest_of(main)
    except OSError:
        return ""


def digest_of(main: Path) -> str:
    """Returns a digest of the bytes of a file."""
    with open(main, "rb") as data:
        return hashlib.file_digest(data, "sha256").hexdigest()


# -- the folder -----------------------------------------------------------------------------------


def _key(path: str) -> str:
    return hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:24]


def _free(path: Path) -> bool:
    """Returns whether no editor is writing to a journal."""
    try:
        number = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        return lock(number)
    finally:
        os.close(number)


def journals(path: Any, place: Path | None = None) -> list[Path]:
    """Returns the journals of a file, the most recently written first.

    Args:
        path: the file, or the folder of a SavedModel.
        place: the folder of journals; default: by the setting.
    """
    where = folder() if place is None else place
    if where is None or not where.is_dir():
        return []
    return _newest_first(where.glob(f"{_key(os.fspath(path))}-*{_SUFFIX}"))


def _newest_first(paths: Iterable[Path]) -> list[Path]:
    """Returns journals, the most recently written first."""
    times: list[tuple[int, str, Path]] = []
    for one in paths:
        with suppress(OSError):
            times.append((one.stat().st_mtime_ns, one.name, one))
    return [one for _, _, one in sorted(times, reverse=True)]


def clean(place: Path, key: str) -> None:
    """Deletes journals beyond the limits of age, of number for one file, and of total size.

    Args:
        place: the folder of journals.
        key: the key of the file that is about to get a new journal.
    """
    paths = _newest_first(place.glob(f"*{_SUFFIX}"))
    oldest, own_count, budget = time.time() - DAYS * 86400, 0, MOST_ALL - MOST
    for one in paths:
        with suppress(OSError):
            about = one.stat()
            own = one.name.startswith(f"{key}-")
            own_count, budget = own_count + own, budget - about.st_size
            if (about.st_mtime < oldest or budget < 0 or (own and own_count >= KEPT)) and _free(one):
                one.unlink()


def recovery_notice(file: OpenedFile, place: Path) -> str:
    """Returns a sentence about the unsaved work in the newest journal of a file; empty if there is none.

    A journal of this process, and a journal that an editor is writing to, are not offered.

    Args:
        file: the file.
        place: the folder of journals.
    """
    for path in journals(file.path, place)[:1]:
        with suppress(OpenError):
            journal = Records.read(path)
            if not journal.records or journal.records[0].get("process") == _PROCESS or not _free(path):
                return ""
            if journal.unsaved_count:
                steps = counted(journal.unsaved_count, "steps")
                return f"{steps} done here before and not saved can be restored: gs.recover({file.path!r})"
    return ""


def lock(number: int) -> bool:
    """Locks an open file for this process until it is closed; False if it is already locked, here or elsewhere.

    Args:
        number: the descriptor of the file.
    """
    if _fcntl is None:
        return True
    try:
        _fcntl.flock(number, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # the file system has no locks
        pass
    return True
