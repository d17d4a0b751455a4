"""Opening a graph of 100,000 ops against parsing it and `tf.import_graph_def`; and the first picture of a large one."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

import graphsurgeon as gs
from benchmarks.graphs import layered, tf1
from benchmarks.rows import Row, seconds
from tests.needs import corpus_folder

LARGEST = "items/slim_resnet152_16tower_train/model.meta.gz"


def rows() -> Iterator[Row]:
    """Yields opening, and the time from `gs.open` to a picture ready to send."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.pb"
        file.write_bytes(layered(100_000).as_graph_def().SerializeToString())
        theirs = seconds(lambda: _bare(file), 2)
        ours = seconds(lambda: gs.open(file).snapshot, 2)
        yield Row("gs.open and snapshot, 100,000 ops", ours, theirs, 1.3, "parse + import_graph_def")
    corpus = corpus_folder()
    if corpus:
        large = Path(corpus) / LARGEST
        yield Row("largest corpus graph: gs.open to a picture", seconds(lambda: _picture(large), 2), None, 5.0)


def _bare(file: Path) -> Any:
    graph_def = tf1.GraphDef.FromString(file.read_bytes())
    with tf.Graph().as_default():
        tf1.import_graph_def(graph_def, name="")


def _picture(file: Path) -> None:
    size = len(json.dumps(gs.open(file).screen.traits()))
    assert 1_000 < size < 1_000_000
