"""Trickle: one run of a session that takes its feeds a few at a time.

A run costs TensorFlow a graph pruned and optimised anew for each set of fetches and feeds: in a large graph that is
what takes the time, so that values set one by one want a single run. It is `Session.partial_run`, public and
deprecated; a session without it gets a run for each batch. A failure ends the session with the run: it is for
sessions that nobody has yet.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import tensorflow as tf


def begin(session: Any, ops: Sequence[Any], feeds: Sequence[Any]) -> str | None:
    """Begins a run of which `go_on` gives the feeds, each once.

    Args:
        session: a session of our own.
        ops: what is run, each as soon as what it needs was fed.
        feeds: tensors.

    Returns:
        its handle, or None where the session has no such runs.
    """
    kind = type(session)
    if not ops or not (hasattr(kind, "partial_run_setup") and hasattr(kind, "partial_run")):
        return None
    with suppress(tf.errors.OpError, NotImplementedError, RuntimeError):
        return str(_quiet(kind.partial_run_setup)(session, list(ops), list(feeds)))
    return None


def go_on(session: Any, handle: str, feeds: Mapping[Any, Any]) -> None:
    """Gives a run some of its feeds; with the last, it ends."""
    _quiet(type(session).partial_run)(session, handle, [], feeds)


def _quiet(method: Any) -> Any:
    # What is under the decorator does not warn.
    return inspect.unwrap(method)
