"""A file is opened and drawn before TensorFlow is imported, and everything works when it is imported afterwards."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.graphs import tf1
from tests.needs import ROOT

BEFORE = """
import hashlib, json, sys
import graphsurgeon as gs

path, output = sys.argv[1:]
ed = gs.open(path)
svg, page = ed.to_svg(), ed.to_html()
found = {"svg": svg, "page": page, "loaded": sorted(name for name in sys.modules if name.split(".")[0] == "tensorflow")}
from graphsurgeon.tf.messages import graph_pb2, tensor_pb2
kinds = graph_pb2.GraphDef, tensor_pb2.TensorProto
"""
AFTER = """
values = ed.session().run(output, {"x:0": [[1.0, 2.0]]}).tolist()
import tensorflow as tf
from tensorflow.core.framework import graph_pb2, tensor_pb2
same = kinds == (graph_pb2.GraphDef, tensor_pb2.TensorProto)
done = ed.apply(ed.plan().copy(ed.select(), to="copy"))
copied = ed.session().run(done[output], {"x:0": [[1.0, 2.0]], "copy/x:0": [[3.0, 4.0]]}).tolist()
ed.undo()
found |= {"values": values, "same": same, "copied": copied, "of": type(ed.graph).__name__}
print(json.dumps(found))
"""


def network() -> tuple[Any, Any, Any]:
    """Returns a graph with a variable, and its input and output."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        with tf.name_scope("layer"):
            w = tf1.get_variable("w", initializer=[[1.0, 2.0], [3.0, 4.0]])
            y = tf.nn.relu(tf.matmul(x, w, name="product") + tf.constant([0.5, -0.5], name="bias"), name="act")
        y = tf.identity(y, name="y")
    return graph, x, y


def frozen(folder: Path) -> tuple[Path, str]:
    graph, _, _ = network()
    path = folder / "model.pb"
    gs.open(graph).save(path, outputs="y:0", freeze=True, values="initial")
    return path, "y:0"


def meta(folder: Path) -> tuple[Path, str]:
    graph, _, _ = network()
    with tf1.Session(graph=graph) as session:
        session.run(_initializer(graph))
        with graph.as_default():
            prefix = tf1.train.Saver().save(session, str(folder / "model.ckpt"))
    return Path(f"{prefix}.meta"), "y:0"


def _initializer(graph: Any) -> Any:
    with graph.as_default():
        return tf1.global_variables_initializer()


def saved_tf1(folder: Path) -> tuple[Path, str]:
    graph, x, y = network()
    path = folder / "saved"
    with tf1.Session(graph=graph) as session:
        session.run(_initializer(graph))
        with graph.as_default():
            tf1.saved_model.simple_save(session, str(path), {"x": x}, {"y": y})
    return path, "y:0"


def saved_tf2(folder: Path) -> tuple[Path, str]:
    module = tf.Module()
    module.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")
    module.serve = tf.function(
        lambda x: {"y": tf.nn.relu(tf.add(tf.matmul(x, module.w), [0.5, -0.5]), name="act")},
        input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")],
    )
    path = folder / "saved"
    tf.saved_model.save(module, str(path), module.serve)
    return path, gs.open(path).outputs["y"]


DEEP = [pytest.param(write, marks=pytest.mark.deep) for write in (meta, saved_tf1)]


@pytest.mark.parametrize("write", [frozen, saved_tf2, *DEEP])
def test_a_file_is_drawn_without_tensorflow_and_works_with_it_afterwards(write, tmp_path):
    path, output = write(tmp_path)
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = [sys.executable, "-c", BEFORE + AFTER, str(path), output]
    done = subprocess.run(run, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["loaded"] == []
    ed = gs.open(path)
    assert found["svg"] == str(ed.to_svg())
    assert found["same"], "the messages are other classes than those of TensorFlow"
    assert found["of"] == "Graph"
    assert found["values"] == [[7.5, 9.5]]
    assert found["copied"] == [[15.5, 21.5]]


def test_the_command_line_writes_a_page_without_tensorflow(tmp_path):
    path, _ = frozen(tmp_path)
    code = (
        "import sys; from graphsurgeon.__main__ import main\n"
        f"code = main(['view', {str(path)!r}, '--no-open', '-o', {str(tmp_path / 'page.html')!r}])\n"
        "print(code, [name for name in sys.modules if name.split('.')[0] in ('tensorflow', 'keras')])"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "0 []", done.stderr
    assert "Computes rectified linear" in documented(tmp_path / "page.html")


def documented(page: Path) -> str:
    """Returns what the page says of op types, as text."""
    packed = re.search(r'id="gs-graph">([^<]+)<', page.read_text())
    assert packed is not None
    return str(json.loads(gzip.decompress(base64.b64decode(packed[1])))["docs"])


def test_an_op_that_the_table_lacks_is_asked_of_tensorflow(tmp_path):
    graph_def = tf1.GraphDef()
    graph_def.node.add(name="odd", op="NoSuchOpAtAll")
    path = tmp_path / "odd.pb"
    path.write_bytes(graph_def.SerializeToString())
    code = (
        f"import sys, graphsurgeon as gs; ed = gs.open({str(path)!r})\n"
        "print(sorted(ed.snapshot.unknown_types), 'tensorflow' in sys.modules)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "['NoSuchOpAtAll'] True", done.stderr
