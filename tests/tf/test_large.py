"""Graphs that are large in one way are opened and drawn in memory that grows with their size, and no faster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf

import graphsurgeon as gs
from benchmarks.peak import can_measure, peak
from benchmarks.rows import MEGABYTE

PER_OP = 4096
"""Bytes that a look at an op may take: a million of them have 4 GB."""


def looking(folder: str, kind: str, size: int) -> Callable[[], None]:
    """Returns the look at a file that has so many ops: all read one tensor, or each reads the one before."""
    many, few = (_written(Path(folder, f"{n}.pb"), kind, n) for n in (size, 100))
    gs.open(few).screen.traits()  # what TensorFlow and Graphviz take for themselves

    def work() -> None:
        screen = gs.open(many).screen
        scene = screen.traits()["scenes"]["source"]
        assert screen.source.snapshot.size == scene["stats"]["ops"] == size
        assert 1 < len(scene["boxes"]) <= 400

    return work


def _written(path: Path, kind: str, size: int) -> Path:
    graph_def = tf.compat.v1.GraphDef()
    graph_def.node.add(name="x0", op="Placeholder").attr["dtype"].type = 1
    for i in range(1, size):
        node = graph_def.node.add(name=f"x{i}", op="Neg", input=[f"x{i - 1}" if kind == "flat" else "x0"])
        node.attr["T"].type = 1
    path.write_bytes(graph_def.SerializeToString())
    return path


@pytest.mark.deep
@pytest.mark.skipif(not can_measure(), reason="this system does not tell a process its peak")
@pytest.mark.parametrize(("kind", "size"), [("star", 200_001), ("flat", 300_000)])
def test_consumers_of_one_tensor_and_ops_without_scopes_are_seen_within_their_memory(tmp_path, kind, size):
    assert peak(__name__, "looking", str(tmp_path), kind, size) < PER_OP * size / MEGABYTE
