"""Faults: the errors that old code expects (TypeError, ValueError, KeyError), in three parts; and warnings."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import PlanError, SelectionError, StalePlanError, SurgeryError


class WrongType(SurgeryError, TypeError):
    """An argument is of a type that the call does not take."""


class WrongValue(PlanError, ValueError):
    """An argument has a value that the call cannot use, or the graph does not allow the edit."""


class NotFound(SelectionError, KeyError):
    """A graph has nothing of that name."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would quote it


class GraphEditorWarning(UserWarning):
    """Something that a copy left out or made anew, said once for a call."""


def expected(request: str, what: str, got: Any, kind: Callable[[str, str, str], Any] = WrongType) -> Any:
    """Returns the error for an argument of a wrong type.

    Args:
        request: the request.
        what: the expected kind, for example ``"a tf.Graph"``.
        got: what came.
        kind: the class of the error.
    """
    return kind(request, f"expected {what}, got: {type(got)}", f"Give {what}")


@contextmanager
def as_values() -> Iterator[None]:
    """Turns what the engine refuses into a `ValueError`, as old code expects; a stale plan can be made again."""
    try:
        yield
    except (WrongValue, StalePlanError):
        raise
    except (PlanError, SelectionError) as error:
        raise WrongValue(error.request, error.problem, error.suggestion) from error


def tell(text: str) -> None:
    """Warns, as if the line outside of this package that led here did."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("graphsurgeon."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, GraphEditorWarning, stacklevel=level)
