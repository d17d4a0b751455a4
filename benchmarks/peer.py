"""Peer: `tf.contrib.graph_editor` itself, if an interpreter with TensorFlow 1.15 is given, on the same graph."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import tensorflow as tf

from benchmarks.rows import skipped

PEER_PATH = "GRAPHSURGEON_TF115"
NAME = "tf.contrib.graph_editor"
PROGRAM = Path(__file__).parent / "on_tf115.py"


def peer_seconds(graph: Any, repeat: int, what: str) -> float | None:
    """Returns the shortest time that the original takes to copy a graph, in seconds.

    Args:
        graph: a `tf.Graph`; it is handed over as a MetaGraph, with variables and collections.
        repeat: how often it is copied.
        what: the row, for the word that it is skipped.

    Returns:
        the time, or None if no interpreter was given.
    """
    interpreter = os.environ.get(PEER_PATH)
    if not interpreter:
        skipped(what, "no interpreter with TensorFlow 1.15: give one with --tf115 PYTHON")
        return None
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "graph.meta")
        with graph.as_default():
            tf.compat.v1.train.export_meta_graph(file)
        # TF2 leaves an environment variable that would change TF1.
        environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "TF"))}
        done = subprocess.run(
            [interpreter, str(PROGRAM), file, str(repeat)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    if done.returncode:
        raise RuntimeError(f"{interpreter} could not copy the graph: {done.stderr.strip().splitlines()[-1]}")
    return float(json.loads(done.stdout.splitlines()[-1])["seconds"])
