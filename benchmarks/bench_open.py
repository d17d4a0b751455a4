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
        yield from _served(Path(folder))
    corpus = corpus_folder()
    if corpus:
        large = Path(corpus) / LARGEST
        yield Row("largest corpus graph: gs.open to a picture", seconds(lambda: _picture(large), 2), None, 5.0)


def _served(folder: Path) -> Iterator[Row]:
    """A signature of 1,000 variables against the same graph as a plain file, and against TensorFlow's loader."""
    saved, plain = folder / "served", folder / "plain.meta"
    module = tf.Module()
    module.layers = [tf.Variable([1.0, 2.0], name=f"layer_{i}/w") for i in range(1_000)]

    def deep(x: Any) -> Any:
        for i, w in enumerate(module.layers):
            with tf.name_scope(f"layer_{i}"):
                x = tf.tanh(x * w)
        return x

    module.deep = tf.function(deep, input_signature=[tf.TensorSpec([2], tf.float32, name="x")])
    tf.saved_model.save(module, str(saved))
    ed = gs.open(saved)
    size = len(ed)
    with ed.graph.as_default():
        tf1.train.export_meta_graph(str(plain))
    ours = seconds(lambda: gs.open(saved).snapshot, 2)
    alike = seconds(lambda: gs.open(plain).snapshot, 2)
    yield Row(f"a signature of {size:,} ops", ours, alike, 2.5, "the same graph as .meta")
    yield Row(f"a signature of {size:,} ops", ours, seconds(lambda: _loaded(saved), 1), 0.5, "tf.saved_model.load")


def _loaded(folder: Path) -> Any:
    return tf.saved_model.load(str(folder))


def _bare(file: Path) -> Any:
    graph_def = tf1.GraphDef.FromString(file.read_bytes())
    with tf.Graph().as_default():
        tf1.import_graph_def(graph_def, name="")


def _picture(file: Path) -> None:
    size = len(json.dumps(gs.open(file).screen.traits()))
    assert 1_000 < size < 1_000_000
