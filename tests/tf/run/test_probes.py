"""Probes: what a tensor holds is noted inside of TensorFlow, and a sample of it."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from graphsurgeon.graph.noted import SAMPLE
from graphsurgeon.tf.open.snapshot import snapshot
from graphsurgeon.tf.run.probes import probe, sampled, step_of
from tests.graphs import tf1


@pytest.mark.parametrize("size", [0, 1, SAMPLE, SAMPLE + 1, 5000, 123_457])
@pytest.mark.parametrize("known", [True, False])
def test_the_sample_is_of_elements_at_equal_distances(size, known):
    values = np.arange(size, dtype=np.float32)
    with tf.Graph().as_default() as graph:
        tf1.placeholder(tf.float32, [size] if known else None, name="x")
    probed = probe(graph, snapshot(graph), [(0, 0)], 1)
    with tf1.Session(graph=graph) as session:
        session.run([graph.get_operation_by_name(name) for name in probed.targets], {"x:0": values})
        (noted,) = probed.read(session)
        assert probed.read(session) == []
    assert noted.shape == (size,)
    assert len(noted.sample) == sampled(size) <= 2 * SAMPLE
    assert np.array_equal(noted.sample, values[:: step_of(size) if size > SAMPLE else 1])


def test_names_that_are_taken_are_left_alone():
    with tf.Graph().as_default() as graph:
        tf.constant([1.0], name="probes/queue")
    probed = probe(graph, snapshot(graph), [(0, 0)], 1)
    assert not any(name.startswith("probes/") for name in probed.ops)
