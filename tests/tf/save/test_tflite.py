"""TFLite: graphs become models that TFLite's own interpreter runs with the same numbers, each in another process."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.graph.conversion_verdict import Unconvertible
from graphsurgeon.tf.save import converters, worker
from graphsurgeon.tf.save.converters import convert_to_tflite, run_in_process
from tests.refusal import refuses

tf1 = tf.compat.v1


@pytest.fixture(scope="module")
def net():
    """Two inputs of an unknown batch, variables, two outputs."""
    with tf.Graph().as_default(), tf1.Session() as session:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        scale = tf1.placeholder(tf.float32, [None, 1], name="scale")
        w = tf1.get_variable("w", initializer=np.arange(12, dtype=np.float32).reshape(4, 3) / 10)
        h = tf.nn.relu(tf.matmul(x, w) - 0.5, name="h")
        tf.nn.softmax(h * scale, name="y")
        tf.argmax(h, 1, output_type=tf.int32, name="best")
        session.run(w.initializer)
        session.run(w.assign(w * 2.0))
        yield gs.open(session, title="net")


def test_a_model_gives_the_numbers_of_its_graph(net, tmp_path):
    path = tmp_path / "net.tflite"
    saved = net.save(path, outputs=["y:0", "best:0"])
    assert saved.format == "tflite"
    assert saved.proof.startswith("run by TFLite's interpreter: 2 outputs as in this graph on random values for ")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer TensorFlow says that another package has it too
        interpreter = tf.lite.Interpreter(model_path=str(path))
    x, scale = np.random.RandomState(0).standard_normal((5, 4)).astype(np.float32), np.full((5, 1), 2.0, np.float32)
    given = {"x": x, "scale": scale}
    for one in interpreter.get_input_details():
        interpreter.resize_tensor_input(one["index"], given[one["name"]].shape)
    interpreter.allocate_tensors()
    for one in interpreter.get_input_details():
        interpreter.set_tensor(one["index"], given[one["name"]])
    interpreter.invoke()
    y, best = (interpreter.get_tensor(one["index"]) for one in interpreter.get_output_details())
    h = np.maximum(x @ (np.arange(12).reshape(4, 3) / 5) - 0.5, 0)
    want = np.exp(2 * h) / np.exp(2 * h).sum(1, keepdims=True)
    np.testing.assert_allclose(y, want, rtol=1e-4)
    assert best.tolist() == h.argmax(1).tolist()


def test_what_cannot_be_a_model_leaves_no_file(net, tmp_path):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [4], name="x")
        tf.raw_ops.Betainc(a=x, b=x, x=x, name="beta")
    path = tmp_path / "model.tflite"
    with refuses(Unconvertible, "save(", "TensorFlow's converter refuses the graph: 'beta' (Betainc): TFLite has no "
                 "op for it",
                 "ed.check('tflite', outputs=...) lists a fix for each"):  # fmt: skip
        gs.open(graph).save(path, outputs="beta:0")
    with refuses(gs.PlanError, "save(", "a TFLite model needs outputs", "Name its tensors: inputs=..., outputs=..."):
        gs.open(graph).save(path)
    assert not list(tmp_path.iterdir())


def test_variables_without_values_are_no_model(tmp_path):
    with tf.Graph().as_default() as graph:
        tf.identity(tf1.get_variable("w", initializer=[1.0]), name="y")
    with refuses(gs.PlanError, "save(", "1 variable has an initial value", "values='initial'"):
        gs.open(graph).save(tmp_path / "model.tflite", outputs="y:0")


@pytest.mark.parametrize(
    ("code", "timeout", "said"),
    [
        ("import os; os.abort()", 60, "died (SIGABRT)"),
        ("input()", 0.05, "did not end within timeout=0.05 s"),
        ("pass", 60, ""),
    ],
)
def test_a_process_of_its_own_ends_in_words(code, timeout, said):
    assert run_in_process(code, [], timeout) == said


READY = "print('ready', flush=True); input(); "


@pytest.mark.parametrize(
    ("code", "timeout", "how"),
    [
        ("import os; os.abort()", 60, "died (SIGABRT)"),
        (f"{READY}import os; os.abort()", 60, "died (SIGABRT)"),
        (f"{READY}print(-6, flush=True)", 60, "died (SIGABRT)"),
        (f"{READY}input()", 0.5, "did not end within timeout=0.5 s"),
    ],
)
def test_a_converter_ends_in_words(code, timeout, how, monkeypatch):
    monkeypatch.setattr(worker, "PROGRAM", ("-c", code))
    process = worker.Worker()
    monkeypatch.setattr(converters, "WORKER", process)
    made = convert_to_tflite(tf1.GraphDef(), {}, {}, "serving_default", timeout)
    process.stop()
    assert made.error_text == f"the converter {how}, in a separate process"


def test_inputs_have_the_order_of_the_signature(tmp_path):
    with tf.Graph().as_default() as graph:
        a, b = (tf1.placeholder(tf.float32, [size], name=name) for name, size in (("a", 2), ("b", 3)))
        tf.add(tf.reduce_sum(a), tf.reduce_sum(b), name="y")
    path = gs.open(graph).save(tmp_path / "m.tflite", inputs={"second": "b:0", "first": "a:0"}, outputs="y:0").path
    model = tf.lite.Interpreter(model_path=path)
    assert [one["shape"].tolist() for one in model.get_input_details()] == [[3], [2]]
    got = model.get_signature_runner("serving_default")(first=np.float32([1, 2]), second=np.float32([3, 4, 5]))
    assert got["y"] == 15.0
