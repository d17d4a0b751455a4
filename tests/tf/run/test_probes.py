"""Probes: what a tensor holds is noted inside of TensorFlow, and a sample of it."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from graphsurgeon.graph.tensor_stats import SAMPLE, step_of, summarize
from graphsurgeon.tf.open.snapshot import snapshot
from graphsurgeon.tf.run.probes import constants, probe
from tests.graphs import tf1


@pytest.mark.parametrize("size", [0, 1, SAMPLE, SAMPLE + 1, 5000, 123_457])
@pytest.mark.parametrize("known", [True, False])
def test_the_sample_is_of_elements_at_equal_distances(size, known):
    values = np.arange(size, dtype=np.float32)
    with tf.Graph().as_default() as graph:
        tf1.placeholder(tf.float32, [size] if known else None, name="x")
    probed = probe(snapshot(graph), [(0, 0)], 1)
    probed.add_to(graph)
    with tf1.Session(graph=graph) as session:
        session.run([graph.get_operation_by_name(name) for name in probed.targets], {"x:0": values})
    (noted,) = probed.read()
    assert probed.read() == []
    assert noted.shape == (size,)
    every = step_of(size) if size > SAMPLE else 1
    assert len(noted.sample) == -(-size // every) <= 2 * SAMPLE
    assert np.array_equal(noted.sample, values[::every])


def test_names_that_are_taken_are_left_alone():
    with tf.Graph().as_default() as graph:
        tf.constant([1.0], name="probes/p0/note")
    probed = probe(snapshot(graph), [(0, 0)], 1)
    assert not any(name.startswith("probes/") for name in probed.ops)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "uint8", "int32", "int64", "bool"])
@pytest.mark.parametrize("shape", [(), (3,), (0,), (40, 50)])
def test_a_constant_is_noted_as_a_run_would(dtype, shape):
    values = np.random.RandomState(0).randint(0, 3, shape).astype(dtype)
    if dtype.startswith("float") and values.size > 3:
        values.flat[:3] = [np.nan, np.inf, -np.inf]
    with tf.Graph().as_default() as graph:
        tf.constant(values, name="c")
    base = snapshot(graph)
    (known,) = constants(base, [(0, 0)])
    probed = probe(base, [(0, 0)], 1)
    probed.add_to(graph)
    with tf1.Session(graph=graph) as session:
        session.run([graph.get_operation_by_name(name) for name in probed.targets])
    (ran,) = probed.read()
    assert (known.tensor, known.dtype, known.shape) == (ran.tensor, ran.dtype, ran.shape)
    for key in ("nans", "infinite", "zeros", "min", "max", "mean", "std"):
        assert getattr(known, key) == pytest.approx(getattr(ran, key), nan_ok=True), key
    assert np.array_equal(known.sample, ran.sample, equal_nan=True)


def test_constants_of_half_precision_and_text():
    with tf.Graph().as_default() as graph:
        tf.constant([0.5, 1.5], tf.bfloat16, name="half")
        tf.constant([["a"]], name="text")
        tf.constant(3 + 4j, tf.complex64, name="c")
    half, text, c = constants(snapshot(graph), [(0, 0), (1, 0), (2, 0)])
    assert (half.dtype, half.mean, text.shape, text.numeric, c.max) == ("bfloat16", 1.0, (1, 1), False, 5.0)
    assert summarize("x:0", np.zeros(2), "float32").zeros == 2
