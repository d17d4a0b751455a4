"""Progress: a bar for long work in a notebook or terminal; short work shows nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

#: Seconds before the bar appears.
DELAY = 1.0
_PHASES: ContextVar[Phases | None] = ContextVar("phases", default=None)
_IS_SILENT: ContextVar[bool] = ContextVar("silent", default=False)


class Progress:
    """A bar that appears once its work has taken `QUIET` seconds, and disappears when the work is done.

    Args:
        title: the name of the work.
        total: the amount of work.
        unit: the unit of the amount; ``B`` for bytes.

    Example:
        >>> with Progress("carrying values", 3, "variables") as bar:
        ...     bar.step(1), bar.step(2), bar.done
        (None, None, 3)
    """

    def __init__(self, title: str, total: int, unit: str = "B") -> None:
        self.what, self.total, self.unit, self.done = title, total, unit, 0
        self._start, self._bar = time.monotonic(), cast(Any, None)

    def step(self, amount: int) -> None:
        """Adds an amount of finished work."""
        self.done += amount
        if self._bar is not None:
            self._bar.update(amount)
        elif time.monotonic() - self._start >= DELAY and self.done < self.total and not _IS_SILENT.get():
            self._bar = _bar(self.what, self.total, self.done, self.unit)

    def show(self, title: str) -> None:
        """Shows the current part of the work."""
        self.what = title
        if self._bar is not None:
            self._bar.set_description(title)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class Phases(Progress):
    """A progress bar for work in phases; the work calls `phase` at the beginning of each phase.

    Args:
        title: the name of the work.
        total: the number of phases.

    Example:
        >>> with Phases("applying", 2) as bar:
        ...     phase("importing nodes")
        ...     phase("reading back")
        ...     print(bar.done, bar.what)
        1 applying: reading back
    """

    def __init__(self, title: str, total: int) -> None:
        super().__init__(title, total, "phases")
        self._all, self._phase_number = title, 0

    def phase(self, title: str) -> None:
        """Begins the next phase."""
        self.show(f"{self._all}: {title}")
        self.step(1 if self._phase_number else 0)
        self._phase_number += 1

    def __enter__(self) -> Phases:
        self._token = _PHASES.set(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _PHASES.reset(self._token)
        super().__exit__(*error)


def phase(title: str) -> None:
    """Begins a phase of the work with the current progress bar, if there is one."""
    bar = _PHASES.get()
    if bar is not None:
        bar.phase(title)


@contextmanager
def silent() -> Iterator[None]:
    """Hides progress bars during the block, for work in the background."""
    token = _IS_SILENT.set(True)
    try:
        yield
    finally:
        _IS_SILENT.reset(token)


def _bar(title: str, total: int, initial: int, unit: str) -> Any:
    from tqdm.auto import tqdm

    # tqdm shows nothing in a file or a pipe. The stream of a notebook is not a terminal, but it shows the bar, unless
    # the environment variable TQDM_DISABLE is 1.
    in_notebook = any(kind.__name__ == "tqdm_notebook" for kind in tqdm.__mro__)
    return tqdm(
        desc=title,
        total=total,
        initial=initial,
        unit=unit if unit == "B" else f" {unit}",
        unit_scale=unit == "B",
        leave=False,
        disable=os.environ.get("TQDM_DISABLE", "0") not in ("", "0") if in_notebook else None,
    )
