"""Cold start, in fresh processes: the import, the command line, and a file to its first picture.

The peer is `import tensorflow`. The files are a frozen graph of 8,000 ops and a SavedModel with variables.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import tensorflow as tf

import graphsurgeon as gs
from benchmarks.graphs import layered
from benchmarks.rows import Row, in_turns, seconds

ROOT = Path(__file__).parents[1]
OPS = 8_000
PEER = ("-c", "import tensorflow")


def rows() -> Iterator[Row]:
    """Yields the rows; the peer takes turns with each file."""
    yield Row("import graphsurgeon", seconds(lambda: python("-c", "import graphsurgeon"), 5), None, 0.5)
    yield Row("graphsurgeon --help", seconds(lambda: python("-m", "graphsurgeon", "--help"), 5), None, 0.7)
    with tempfile.TemporaryDirectory() as folder:
        for what, file in (("frozen graph", frozen(Path(folder))), ("SavedModel", saved(Path(folder)))):
            picture = ("-c", f"import graphsurgeon as gs; gs.open({str(file)!r}).to_svg()")
            page = ("-m", "graphsurgeon", "view", str(file), "--no-open", "-o", os.devnull, "-f", "html")
            for name, call in (("gs.open and to_svg()", picture), ("graphsurgeon view", page)):
                yield from _against_tensorflow(f"{what}: {name}", call)
            yield from _trials(what, file)


def _trials(what: str, file: Path) -> Iterator[Row]:
    """Yields what a trial import in another process adds to the first live graph of a process, and to a later one."""

    def first(trust: bool) -> None:
        python("-c", f"import graphsurgeon as gs; gs.open({str(file)!r}, trust={trust}).graph")

    tried, trusted = in_turns(lambda: first(False), lambda: first(True), 3)
    yield Row(f"{what}: the first live graph waits for a trial", tried - trusted, None, 1.0)
    gs.open(file).graph  # noqa: B018  starts the other process
    tried, trusted = in_turns(lambda: gs.open(file).graph, lambda: gs.open(file, trust=True).graph)
    yield Row(f"{what}: a later live graph waits for a trial", tried - trusted, None, 0.2)


def _against_tensorflow(name: str, call: Sequence[str]) -> Iterator[Row]:
    ours, theirs = in_turns(lambda: python(*call), lambda: python(*PEER), 3)
    yield Row(name, ours, theirs, 0.25, "import tensorflow")
    yield Row(f"{name}, in all", ours, None, 1.0)


def python(*arguments: str) -> None:
    """Runs Python in a fresh process, whose files the system has read before."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    subprocess.run([sys.executable, *arguments], env=environment, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def frozen(folder: Path) -> Path:
    """Returns a frozen graph in a file."""
    file = folder / "frozen.pb"
    file.write_bytes(layered(OPS, variables=0).as_graph_def().SerializeToString())
    return file


def saved(folder: Path) -> Path:
    """Returns the folder of a SavedModel."""
    module = tf.Module()
    module.layers = [tf.Variable(tf.eye(8), name=f"layer_{i}/w") for i in range(100)]

    def deep(x: tf.Tensor) -> tf.Tensor:
        for i, w in enumerate(module.layers):
            with tf.name_scope(f"layer_{i}"):
                x = tf.nn.relu(tf.matmul(x, w))
        return x

    signature = [tf.TensorSpec([None, 8], tf.float32, name="x")]
    tf.saved_model.save(module, str(folder / "saved"), tf.function(deep, input_signature=signature))
    assert len(gs.open(folder / "saved")) > len(module.layers)
    return folder / "saved"
