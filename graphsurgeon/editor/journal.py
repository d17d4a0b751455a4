"""The journal: the edits of a file's graph, written to disk as they are made, so that a dead kernel loses none.

A journal is one file in a separate folder, never in the folder of the model. It begins with the opened graph. Each plan
that is applied, undone or redone adds a record, and so do plans, marks and saved views made by hand. A
record is a line: the version of the format, its length, its checksum, and JSON, which a strict reader reads (`packed`):
data, never code. Each is on the disk before the next thing is done.

`recover` opens the file again and does what the records say.
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
from pathlib import Path
from typing import Any

from ..errors import OpenError, counted
from ..graph.atomic_files import lock, why
from ..graph.open_graph import OpenedFile
from ..plan.serialization import NotSerializable
from ..plan.steps import Step
from .history import Event, Log
from .serialization import MOST_RECORD, StepEncoder, file_of

#: The setting: a folder, or ``off``.
SETTING = "GRAPHSURGEON_JOURNALS"
#: Of the format; a journal of another is not read.
VERSION = 1
#: Bytes that one journal and all of them may have; how many are kept of one file, and for how many days.
MOST, MOST_ALL, KEPT, DAYS = 64 << 20, 256 << 20, 4, 60
_PROCESS = uuid.uuid4().hex
_SUFFIX = ".journal"


def folder(requested: bool = False) -> Path | None:
    """Returns the folder of journals, by the variable ``GRAPHSURGEON_JOURNALS``; None if it is ``off``.

    Args:
        requested: the user has requested a journal, so the setting ``off`` does not count.
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
    """Returns a record as it is written: version, length, checksum, JSON."""
    body = json.dumps(record, separators=(",", ":"), allow_nan=False).encode("ascii")
    return b"gs%d %d %s %s\n" % (VERSION, len(body), _checksum(body), body)


@dataclass
class Records:
    """What a journal holds.

    Args:
        records: the complete records, in order, up to the first damaged one.
        damage: what is wrong with the rest; empty if nothing is. An incomplete last record is left out without a
            note, because its action was not done.
    """

    records: list[dict[str, Any]] = field(default_factory=list)
    damage: str = ""

    @classmethod
    def read(cls, path: Path) -> Records:
        """Reads a journal.

        Raises:
            OpenError: it cannot be read, or is of another version.
        """
        request = f"recover(journal={str(path)!r})"
        try:
            lines = path.read_bytes().split(b"\n")
        except OSError as error:
            raise OpenError(request, f"it cannot be read: {error.strerror}", "Check its permissions") from error
        journal, torn = cls(), lines.pop()  # after the last line break there is nothing, or an incomplete record
        for number, text in enumerate(lines):
            record = _read(text, request)
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
    def unsaved(self) -> int:
        """How many plans were applied, undone or redone since the last save; one that waits on screen counts too."""
        count = drafted = 0
        for one in self.records:
            if one["kind"] == "saved":
                count = 0
            count += one["kind"] in ("plan", "undo", "redo")
            if one["kind"] == "draft":
                drafted = bool(one.get("keep") or one.get("steps"))
        return count + drafted


def _read(text: bytes, request: str) -> dict[str, Any] | None:
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
    """The journal of one editor. It is made when there is something to write.

    Args:
        log: what is done in the editor.
        place: the folder of journals; None: nothing is written.

    Attributes:
        log: what is done in the editor.
        path: the file, once there is one.
        place: the folder of journals.
        notes: what the journal lacks, and, for a recovered editor, what could not be restored.
        offer: a sentence about an earlier journal of the same file; empty if there is none.
    """

    def __init__(self, log: Log, place: os.PathLike[str] | None) -> None:
        self.log, self.place = log, None if place is None else Path(place)
        self._place = place = self.place
        self.path: Path | None = None
        self.notes: list[str] = []
        self.offer = offered(log.file, place) if log.file is not None and place is not None else ""
        self._end, self._number, self._last = 0, -1, 0
        self._recorded: set[int] = set()
        self._sources: dict[str, int] = {}
        self._drafted: tuple[Step, ...] = ()
        self._last_screen: dict[str, Any] = {"marks": [[], [], []], "views": []}

    @property
    def words(self) -> list[str]:
        """What to know of it, in sentences."""
        return [*([self.offer] if self.offer and not self._recorded else []), *self.notes]

    def __repr__(self) -> str:
        where = "nothing written yet" if self.path is None else str(self.path)
        return "\n".join([f"journal: {where}", *(f"  {text}" for text in self.words)])

    def changed(self) -> None:
        """Writes the plans that were applied, undone and redone since."""
        turns = [(turn, at, event) for event in self.log.events for at, turn in enumerate(event.turns)]
        for turn, at, event in sorted(turns, key=lambda one: one[0]):
            if turn <= self._last:
                continue
            if at == 0 and event.dropped:  # a step that cannot be redone is not needed
                self._last = turn
                continue
            if at and event.number not in self._recorded:
                self._last = turn
                continue
            kind = "plan" if at == 0 else "undo" if at % 2 else "redo"
            with self._writing():
                about = self._plan(event) if at == 0 else {}
                self._put({"kind": kind, "number": event.number, "turn": at, **about})
                self._recorded.add(event.number)
            self._last = turn

    def record_screen(self, state: Any) -> None:
        """Writes what was planned, marked and saved as a view on screen since.

        Args:
            state: what the screen shows.
        """
        steps = state.draft.steps if state.draft is not None else ()
        common = 0
        while common < min(len(steps), len(self._drafted)) and steps[common] is self._drafted[common]:
            common += 1
        if not common == len(steps) == len(self._drafted):
            with self._writing():
                encoder = StepEncoder(self, state.draft.base, ()) if steps else None
                new = [encoder.step(one) for one in steps[common:]] if encoder is not None else []
                lost = encoder.lost if encoder is not None else []
                self._put({"kind": "draft", "keep": common, "steps": new, "lost": lost})
            self._drafted = steps
        marks = [list(part) for part in (state.marks.inputs, state.marks.outputs, state.marks.included)]
        views = [[k, sorted(v.unfolded), list(v.selected), list(v.at)] for k, v in state.views.items()]
        now = {"marks": marks, "views": views}
        if now != self._last_screen:
            with self._writing():
                self._put({"kind": "look", **now})
            self._last_screen = now

    def saved(self, path: str) -> None:
        """Notes that the graph was written to a file: what was done by then is not lost any more.

        Args:
            path: where to.
        """
        if self._recorded:
            with self._writing():
                self._put({"kind": "saved", "path": path})

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Whatever fails, the surgery goes on; the journal ends, and says so."""
        if self._place is None:
            return (yield)
        try:
            yield
        except NotSerializable as error:
            self._stop(str(error))
        except OSError as error:
            self._stop(why(error, self._place))
        except Exception as error:
            self._stop(f"{type(error).__name__}: {error}")

    def _stop(self, text: str) -> None:
        self._place = None
        self.notes.append(f"the journal ends here, and what is done from now on is not in it: {text}")

    def _put(self, record: dict[str, Any]) -> None:
        """Writes a record, and waits until it is on the disk."""
        if self._place is None:
            return
        data = line(record)
        if self._number < 0:
            data = line(self._first()) + data
            self._make()
        if len(data) > MOST_RECORD or self._end + len(data) > MOST:
            raise NotSerializable("it would be too large")
        if not os.fstat(self._number).st_nlink:
            raise NotSerializable("it was deleted")
        # Of a record that was interrupted, no byte stays.
        os.ftruncate(self._number, self._end)
        os.lseek(self._number, self._end, os.SEEK_SET)
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self._number, rest) :]
        os.fsync(self._number)
        self._end += len(data)
        now = time.time_ns()  # finer than the times of files: it decides which of two journals was written last
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
        effect = event.applied.effect
        encoder = StepEncoder(self, effect.base, self.log.events)
        about = {"text": event.text, "ops": effect.base.size, "record": bool(event.record)}
        return {**about, "steps": [encoder.step(step) for step in effect.steps], "lost": encoder.lost}

    def source(self, log: Log, when: int) -> int:
        """Returns the number of a graph that plans take from, and writes what it is where that is new.

        Args:
            log: of its editor.
            when: the moment at which it is meant.
        """
        record = {"kind": "source", "of": _source(log, when)}
        text = json.dumps(record)
        if text not in self._sources:
            self._put(record)
            self._sources[text] = len(self._sources)
        return self._sources[text]

    def reaches(self, log: Log) -> bool:
        """Returns whether a graph can be made again: whether it came from a file.

        Args:
            log: of its editor.
        """
        return file_of(log) is not None


def _source(log: Log, when: int | None) -> dict[str, Any]:
    """How a graph is made again: from which file, and what was done to it by a moment; None: nothing."""
    if log.follows is not None:
        parent, moment, call = log.follows
        source: dict[str, Any] = {"from": _source(parent, moment), "call": call}
    else:
        file = log.file
        if file is None:
            raise NotSerializable(f"{log.title} is in no file")
        options = {"title": log.title, **file.options}
        if any(not isinstance(one, str | bool | list | tuple | None) for one in options.values()):
            raise NotSerializable(f"what was given to open {log.title} is not a plain value")
        source = {"path": file.path, "options": options, "digest": _digest(file)}
    events = [] if when is None else log.at(when)
    events_done = []
    for event in events:
        nested = StepEncoder(_NoSources(log), event.applied.effect.base, log.events)
        steps = [nested.step(step) for step in event.applied.effect.steps]
        events_done.append({"number": event.number, "steps": steps, "text": event.text})
    return {**source, "done": events_done}


@dataclass(frozen=True)
class _NoSources:
    """Replaces a journal while the sources of a source are written: their own sources are not."""

    log: Log

    def reaches(self, log: Log) -> bool:
        """Whatever it is, `source` says more."""
        return file_of(log) is not None

    def source(self, log: Log, when: int) -> int:
        """Refuses it."""
        raise NotSerializable(f"{self.log.title} was itself made of {log.title}")


def _digest(file: OpenedFile) -> str:
    """Returns a digest of the bytes of a file; empty if they are not the opened ones."""
    main = Path(file.main)
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
    """Whether no editor writes to a journal at this moment."""
    try:
        number = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        return lock(number)
    finally:
        os.close(number)


def journals(path: Any, place: Path | None = None) -> list[Path]:
    """Returns the journals of a file, that which was written to last first.

    Args:
        path: the file, or the folder of a SavedModel.
        place: the folder of journals; default: by the setting.
    """
    where = folder() if place is None else place
    if where is None or not where.is_dir():
        return []
    return _newest_first(where.glob(f"{_key(os.fspath(path))}-*{_SUFFIX}"))


def _newest_first(paths: Iterable[Path]) -> list[Path]:
    """Journals by when they were written to last."""
    times: list[tuple[int, str, Path]] = []
    for one in paths:
        with suppress(OSError):
            times.append((one.stat().st_mtime_ns, one.name, one))
    return [one for _, _, one in sorted(times, reverse=True)]


def clean(place: Path, key: str) -> None:
    """Drops journals that are old, more than are kept of one file, or more than there is room for.

    Args:
        place: the folder of journals.
        key: of the file that is about to get one more.
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


def offered(file: OpenedFile, place: Path) -> str:
    """Returns a sentence about the unsaved work in the newest journal of a file; empty if there is none.

    What this process has done itself is not offered, nor what another is doing at this moment.

    Args:
        file: the file.
        place: the folder of journals.
    """
    for path in journals(file.path, place)[:1]:
        with suppress(OpenError):
            journal = Records.read(path)
            if not journal.records or journal.records[0].get("process") == _PROCESS or not _free(path):
                return ""
            if journal.unsaved:
                steps = counted(journal.unsaved, "steps")
                return f"{steps} done here before and not saved can come back: gs.recover({file.path!r})"
    return ""
