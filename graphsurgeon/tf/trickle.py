"""Trickle: one run of a session that gives its fetches, or takes its feeds, a few at a time.

A run costs TensorFlow a graph pruned and optimised anew for each set of fetches and feeds: in a large graph that is
what takes the time, so that values moved one by one want a single run. It is `Session.partial_run`, public and
deprecated; a session without it gets a run for each batch.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import tensorflow as tf


def begin(session: Any, fetches: Sequence[Any], feeds: Sequence[Any]) -> str | None:
    """Begins a run of which `go_on` gets the fetches and gives the feeds.

    Every fetch is to be got and every feed given in the end: only then does the session let go of the run.

    Args:
        session: the session.
        fetches: tensors, or ops to be run once what they need was fed.
        feeds: tensors.

    Returns:
        its handle, or None where the session has no such runs.
    """
    kind = type(session)
    if not fetches or not (hasattr(kind, "partial_run_setup") and hasattr(kind, "partial_run")):
        return None
    with suppress(tf.errors.OpError, NotImplementedError, RuntimeError):
        return str(_quiet(kind.partial_run_setup)(session, list(fetches), list(feeds)))
    return None


def go_on(session: Any, handle: str, fetches: Any, feeds: Mapping[Any, Any] | None = None) -> Any:
    """Gets some of the fetches of a run, and gives some of its feeds."""
    return _quiet(type(session).partial_run)(session, handle, fetches, feeds)


def _quiet(method: Any) -> Any:
    # What is under the decorator does not warn.
    return inspect.unwrap(method)
