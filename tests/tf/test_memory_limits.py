"""Limits on memory that the system sets: each stage does its work, or names what was asked, and nothing is lost.

TensorFlow itself ends the process where it gets no memory; then files and journal are as they were.
"""

from __future__ import annotations

import ctypes
import os
import re
import shutil
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.graphs import tf1
from tests.journals import kept_in
from tests.writers import say, writers

#: Each constant has so many bytes: the system is asked for the memory of each by itself.
_LARGE = 1_000_000
#: Limits, by the size of the file.
_SHARES = (0.2, 0.9, 1.8, 3.2, 30.0)
_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
_NAMED = re.compile(r"MemoryError: (open|apply|save)\(.*\): there is not enough memory( \(.*\))?\. Close unused .*\.")


@pytest.fixture
def path(tmp_path, monkeypatch):
    kept_in(tmp_path, monkeypatch)
    with tf.Graph().as_default() as graph:
        y = tf1.placeholder(tf.float32, [_LARGE // 4], name="x")
        for i in range(6):
            y = tf.add(y, tf.constant(np.arange(_LARGE // 4, dtype=np.float32) + i), name=f"y{i}")
    file = tmp_path / "m.pb"
    file.write_bytes(graph.as_graph_def().SerializeToString())
    return file


@contextmanager
def _at_most(more: int):
    """Lets this process have so many more bytes; it asks the system for all that is large, and keeps nothing back."""
    import resource

    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as sizes:
        now = int(sizes.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + more, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def work(path: str, stage: str, more: int) -> None:
    """What a child does: a first step, and then a stage within a limit. It says what came of it."""
    for option, bytes_ in ((_MMAP_THRESHOLD, 1 << 16), (_TRIM_THRESHOLD, 0)):
        ctypes.CDLL(None).mallopt(option, bytes_)
    ed, out = gs.open(path), Path(path).with_name("out.pb")
    ed.apply(ed.plan().rename("y5", to="first"))
    plan = ed.plan().rename("y4", to="second")
    assert not plan.check()
    before = ed.snapshot.fingerprint
    stages = {
        "open": lambda: gs.open(path, journal=False),
        "apply": lambda: ed.apply(plan),
        "save": lambda: ed.save(out, overwrite=True, verify=False),
    }
    try:
        with _at_most(more):
            stages[stage]()
        say("done")
        return
    except MemoryError as error:
        say(f"MemoryError: {error}")
    assert ed.snapshot.fingerprint == before
    ed.apply(ed.plan().rename("y3", to="third"))  # the surgery goes on


@pytest.mark.deep
def test_a_limit_is_named_and_nothing_is_lost(path):
    out, size = path.with_name("out.pb"), path.stat().st_size
    late = (
        "scipy.sparse.csgraph",
        "graphsurgeon.tf.copy.imports",
        "graphsurgeon.editor.backend",
        "graphsurgeon.tf.save.save",
    )
    with writers("tests.tf.test_memory_limits", *late) as limited:
        for stage in ("open", "apply", "save"):
            said = []
            for share in _SHARES:
                shutil.rmtree(path.with_name("journals"), ignore_errors=True)
                out.write_bytes(b"old")
                end = limited.run("work", str(path), stage, int(share * size))
                assert end.error == ""
                done = end.said == ["done"]
                said += [] if done else end.said
                names = gs.recover(path).snapshot.names
                assert "first" in names
                if stage == "save" and out.read_bytes() != b"old":
                    assert len(gs.open(out, journal=False).snapshot.names) == len(names)
                if not end.signal:  # TensorFlow may have ended it
                    assert ("second" in names) == (done and stage == "apply")
                    assert ("third" in names) == (not done)
                    assert sorted(one.name for one in path.parent.iterdir()) == ["journals", "m.pb", "out.pb"]
            assert done, "with most room"
            assert said, "with least"
            assert [text for text in said if not _NAMED.fullmatch(text)] == []
