"""A small file, and a folder for its journals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

from graphsurgeon.editor.journal import SETTING

tf1 = tf.compat.v1


def kept_in(folder: Path, monkeypatch: Any) -> Path:
    """Lets journals be kept below a folder; returns where."""
    monkeypatch.setenv(SETTING, str(folder / "journals"))
    return folder / "journals"


def small(folder: Path) -> Path:
    """Writes a file with four ops: x, net/a, net/b, y."""
    with tf.Graph().as_default() as graph:
        y = tf1.placeholder(tf.float32, [None, 2], name="x")
        with tf1.name_scope("net"):
            y = tf.nn.relu(tf.square(y, name="a"), name="b")
        tf.negative(y, name="y")
    file = folder / "m.pb"
    file.write_bytes(graph.as_graph_def().SerializeToString())
    return file
