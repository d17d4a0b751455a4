"""Hooks: updates a duplicate inside a training loop that TensorFlow runs."""

from __future__ import annotations

from typing import Any

from ...graph.live import TFSession
from ..importing import tf

SessionRunHook: Any = tf.compat.v1.train.SessionRunHook


class UpdateHook(SessionRunHook):
    """Updates a replica after every n-th run of a monitored session.

    Args:
        replica: the `Replica`.
        every: n.
    """

    def __init__(self, replica: Any, every: int) -> None:
        self._replica, self._every, self._runs = replica, every, 0

    def after_create_session(self, session: TFSession, coord: Any) -> None:
        """Copies all values to the replica; also after TensorFlow has replaced a session that failed."""
        self._replica.attach(session)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Counts the runs, and updates the replica after every n-th."""
        self._runs += 1
        if self._runs % self._every == 0:
            self._replica.update()
