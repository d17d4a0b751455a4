"""Carrying the values of variables between two sessions, against `tf.train.Saver`: save in one, restore in the other.

Ours is `Editor.session(old)`: a new session, all values in it. The peer has its saver made already, and a new session
too. Memory is the peak above both sets of values, over the size of the largest variable.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import graphsurgeon as gs
from benchmarks.graphs import tf1, valued
from benchmarks.peak import can_measure, peak
from benchmarks.rows import Row, in_turns, skipped

PEER = "Saver.save + restore"
TARGET = 0.4
MEMORY = 2.0
#: (number of variables, MB of each, kind), 1 GB in all
SHAPES = (
    (10, 100, "resource"),
    (10, 100, "reference"),
    (40, 25, "resource"),
    (40, 25, "reference"),
    (1_000, 1, "resource"),
)


def rows() -> Iterator[Row]:
    """Yields time and peak memory for a few large variables, and for many small ones."""
    for count, megabytes, kind in SHAPES:
        name = f"1 GB in {count:,} {kind} variables"
        ours, theirs = _measured(count, megabytes, kind)
        yield Row(f"values carried, {name}", ours, theirs, TARGET, PEER)
    for count, megabytes, kind in SHAPES[:4]:
        if not can_measure():
            skipped("peak memory of carrying", "this system does not tell a process its peak")
            return
        above = peak(__name__, "carrying", count, megabytes, kind) - count * megabytes
        name = f"above both sets of values, {count} {kind} variables of {megabytes} MB"
        yield Row(f"peak memory {name}", above, float(megabytes), MEMORY, "the largest variable", "MB")


def carrying(count: int, megabytes: int, kind: str) -> Callable[[], Any]:
    """Returns the hand-over whose peak is measured, with both sets of variables made."""
    old = valued(count, megabytes, kind == "resource")
    return partial(transfer, _anew(old), filled(old))


def _measured(count: int, megabytes: int, kind: str) -> tuple[float, float]:
    old = filled(valued(count, megabytes, kind == "resource"))
    editor = _anew(old.graph)
    new = editor.graph
    with old.graph.as_default():
        saver = tf1.train.Saver()
    with new.as_default():
        reader = tf1.train.Saver()
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "values")
        return in_turns(partial(transfer, editor, old), partial(_saved, saver, reader, old, new, prefix), 5)


def _anew(graph: Any) -> gs.Editor:
    """Returns an editor that has built a graph anew, to which values of the old one are handed over."""
    editor = gs.open(graph)
    editor.rebuild()
    return editor


def filled(graph: Any) -> Any:
    """Returns a session with initial values, set one by one."""
    session = tf1.Session(graph=graph)
    for variable in graph.get_collection("variables"):
        session.run(variable.initializer)
    return session


def transfer(editor: Any, old: Any) -> None:
    editor.session(old).close()


def _saved(saver: Any, reader: Any, old: Any, new: Any, prefix: str) -> None:
    with old.graph.as_default():
        saver.save(old, prefix, write_meta_graph=False)
    with new.as_default(), tf1.Session(graph=new) as session:
        reader.restore(session, prefix)
