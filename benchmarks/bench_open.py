"""Opening, to the first picture, against parsing and `tf.import_graph_def`; a million ops; calls that are inlined."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

import graphsurgeon as gs
from benchmarks.graphs import layered, tf1
from benchmarks.peak import can_measure, peak
from benchmarks.rows import Row, in_turns, seconds, skipped
from tests.needs import corpus_folder

LARGEST = "items/slim_resnet152_16tower_train/model.meta.gz"


def rows() -> Iterator[Row]:
    """Yields opening, the time from `gs.open` to a picture ready to send, and what comes after opening: inlining."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "large.pb"
        file.write_bytes(layered(100_000).as_graph_def().SerializeToString())
        ours, theirs = in_turns(lambda: gs.open(file).snapshot, lambda: _bare(file), 2)
        yield Row("gs.open and snapshot, 100,000 ops", ours, theirs, 0.3, "parse + import_graph_def")
        ours, theirs = in_turns(lambda: _picture(file), lambda: _parsed(file), 3)
        yield Row("gs.open to a picture, 100,000 ops", ours, theirs, 4.0, "parsing the file")
        yield from _served(Path(folder))
        yield from _million(Path(folder))
    yield from _inlined()
    corpus = corpus_folder()
    if corpus:
        large = Path(corpus) / LARGEST
        yield Row("largest corpus graph: gs.open to a picture", seconds(lambda: _picture(large), 2), None, 2.0)


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


def _million(folder: Path) -> Iterator[Row]:
    """A file of a million ops, opened and drawn: the time, and the memory of a process that does nothing else."""
    file = folder / "million.pb"
    part, size = layered(10_000).as_graph_def(), 0
    with file.open("wb") as out:  # messages that follow each other are one message
        while size < 1_000_000:
            out.write(_under(f"copy_{size}/", part).SerializeToString())
            size += len(part.node)
    yield Row(f"{size:,} ops: gs.open to a picture", seconds(lambda: _picture(file), 1), None, 20.0)
    if can_measure():
        most = peak("benchmarks.bench_open", "drawn", str(file))
        yield Row(f"{size:,} ops: memory of gs.open and a picture", most, None, 4096, unit="MB")
    else:
        skipped("memory of a million ops", "this system does not tell a process its peak")


def drawn(file: str) -> Callable[[], None]:
    """Returns the work whose memory is measured: to open a file and to draw it."""
    return lambda: _picture(Path(file))


def _under(scope: str, graph_def: Any) -> Any:
    """Returns a GraphDef with all its ops under a scope."""
    out = tf1.GraphDef()
    for node in graph_def.node:
        new = out.node.add()
        new.CopyFrom(node)
        new.name = scope + node.name
        new.input[:] = [f"^{scope}{text[1:]}" if text[0] == "^" else scope + text for text in node.input]
        new.attr.pop("_class", None)
    return out


def _inlined() -> Iterator[Row]:
    """Calls of a function of 1,000 ops, inlined: the time for each op that it makes, few of them against many."""

    def deep(x: Any) -> Any:
        for _ in range(1_000):
            x = tf.tanh(x)
        return x

    called = tf.function(deep, input_signature=[tf.TensorSpec([2], tf.float32)])

    def calls(count: int) -> Any:
        with tf.Graph().as_default() as graph:
            x = tf1.placeholder(tf.float32, [2], name="x")
            for _ in range(count):
                x = called(x)
        return gs.open(graph)

    few, many = calls(10), calls(100)
    sizes = [len(ed.inlined()) for ed in (few, many)]
    much, little = in_turns(many.inlined, few.inlined, 3)
    name = f"inlining, for each op: {sizes[1]:,} ops"
    yield Row(name, 1e6 * much / sizes[1], 1e6 * little / sizes[0], 1.5, f"{sizes[0]:,} ops", unit="us")


def _parsed(file: Path) -> Any:
    return tf1.GraphDef.FromString(file.read_bytes())


def _bare(file: Path) -> Any:
    with tf.Graph().as_default():
        tf1.import_graph_def(_parsed(file), name="")


def _picture(file: Path) -> None:
    size = len(json.dumps(gs.open(file).screen.traits()))
    assert 1_000 < size < 1_000_000
