"""Givers: what gives the variables of a copy their values: an editor, a session, a mapping."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol, cast


class Giver(Protocol):
    """The part of an editor that knows the values of its variables, as far as copies need it."""

    @property
    def graph(self) -> Any:
        """The live graph of the variables."""

    @property
    def uninitialized(self) -> frozenset[str]:
        """Names of variables that nothing gives a value."""

    @property
    def init_ops(self) -> tuple[list[str], dict[str, Any]]:
        """Names of ops that the file wants run once; and what they are fed."""

    def untrained(self, local: bool = False, names: Collection[str] | None = None) -> dict[str, str]:
        """The variables, local ones too if asked, that have no value but their initial one, each with the reason; of
        some, or of all.
        """

    def stored(self) -> Mapping[str, Any] | None:
        """The values as they lie in the file that was opened; None where they are elsewhere."""

    def reader(self) -> Any:
        """A session to read values from."""


def giver_of(values: Any) -> Giver | None:
    """Returns the part of an editor that has its values; None of anything but an editor, or that part of one."""
    for part in (values, getattr(values, "values", None)):
        if hasattr(type(part), "reader"):
            return cast(Giver, part)
    return None


def values_of(values: Any) -> Any:
    """Returns what a request's `values` gives: an editor stands for its session."""
    giver = giver_of(values)
    return values if giver is None else giver.reader()


def source_of(values: Any) -> Any:
    """Returns where a copy gets its values from: as `values_of`, but files that nobody has opened a session on yet
    stay unread until their values are wanted, one by one.
    """
    giver = giver_of(values)
    stored = None if giver is None else giver.stored()
    return values_of(values) if giver is None or stored is None else (stored, giver.reader)
