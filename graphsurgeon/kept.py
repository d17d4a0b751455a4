"""Kept: what is planned and marked on a screen as one text, which its page keeps for when the kernel is gone, and back.

Of a graph that is in no file there is no journal; its page outlives the kernel all the same.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
import zlib
from collections.abc import Sequence
from typing import Any

from .errors import PlanError, SurgeryError
from .history import Log
from .plan.packed import Unreadable
from .plan.plan import Plan
from .written import MOST_RECORD, Reader, Written

#: So long a text may be: of what a page may keep in all, a fifth.
_MOST = 1 << 20
#: Identifies this process: its plans are not offered for recovery while it runs.
_HERE = secrets.token_hex(8)


class Kept:
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
        return f"{_HERE}-{os.getpid()}"  # a kernel may be forked from another

    def written(self, plan: Plan, marks: Sequence[Sequence[str]]) -> str:
        """Returns a plan and marks as a text; empty if there are none, or they are too large for a page.

        Args:
            plan: what is planned.
            marks: the tensors that are marked: inputs, outputs, and those that are copied with what computes them.
        """
        base, steps, marked = self._last
        if base is not plan.base or steps is not plan.steps or marked != marks:
            writer = Written(self, plan.base, ())
            done = [writer.step(step) for step in plan.steps]
            data = json.dumps({"of": self.of, "steps": done, "marks": marks, "lost": writer.lost})
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
            plan = Reader(request, self._editors.__getitem__).plan(self._editors[0], data["steps"])
            inputs, outputs, included = data["marks"]
            for tensor in (*inputs, *outputs, *(one.removeprefix("^") for one in included)):
                self._editors[-1].screen.around([tensor]).find(tensor.partition(":")[0], request)
            marks = [tuple(map(str, some)) for some in (inputs, outputs, included)]
            notes = [*([other] if other else []), *map(str, data["lost"])]
        except SurgeryError as error:
            raise PlanError(request, ": ".join([*([other] if other else []), error.problem]), how) from error
        except (Unreadable, zlib.error, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
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
