"""Givers: the sources of values for the variables of a copy: an editor, a session, a mapping."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Protocol, cast


class Giver(Protocol):
    """The part of an editor that provides the values of its variables for copies."""

    @property
    def graph(self) -> Any:
        """The live graph of the variables."""

    @property
    def uninitialized(self) -> frozenset[str]:
        """Names of variables that no op initializes."""

    @property
    def init_ops(self) -> tuple[list[str], dict[str, Any]]:
        """Names of ops that the file requires to run once; and their feeds."""

    def untrained(self, local: bool = False, names: Collection[str] | None = None) -> dict[str, str]:
        """Variables that have only their initial value, each with the reason; among `names`, or all.

        Local ones are included if `local` is True.
        """

    def stored(self) -> Mapping[str, Any] | None:
        """The values in the file that was opened, unread; None if they are not in the file."""

    def reader(self) -> Any:
        """A session to read values from."""


def giver_of(values: Any) -> Giver | None:
    """Returns the part of an editor with its values; None for anything but an editor, or that part of one."""
    for part in (values, getattr(values, "values", None)):
        if hasattr(type(part), "reader"):
            return cast(Giver, part)
    return None


def values_of(values: Any) -> Any:
    """Returns the source of a request's `values`: for an editor, its session."""
    giver = giver_of(values)
    return values if giver is None else giver.reader()


def source_of(values: Any) -> Any:
    """Returns the source of values for a copy, as `values_of` does. The values of files without a session stay unread
    until they are needed, one by one.
    """
    giver = giver_of(values)
    stored = None if giver is None else giver.stored()
    return values_of(values) if giver is None or stored is None else (stored, giver.reader)
