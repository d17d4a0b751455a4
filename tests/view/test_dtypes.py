"""Dtypes of ops, for colors."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.view.paint import dtypes_of
from tests.corpus import corpus_ids

tf1 = tf.compat.v1


def test_dtypes_are_those_of_outputs_and_not_of_attributes():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [3], name="x")
        w = tf1.get_variable("w", [3], use_resource=True)
        tf.less(x, 1.0, name="less")
        tf.identity(tf.less(tf.identity(x), 2.0), name="again")
        tf.bitcast(x, tf.int32, name="cast")
        tf.raw_ops.Rank(input=x, name="rank")
        tf1.assign(w, x)
        tf.logical_not(tf.less(x, 1.0), name="not")
        tf.numpy_function(lambda: np.int64(1), [], tf.int64, name="call")
    snapshot = gs.open(graph).snapshot
    for found, op in zip(dtypes_of(snapshot), graph.get_operations(), strict=True):
        assert found == (op.outputs[0].dtype.base_dtype.name if op.outputs else ""), op.name


@pytest.mark.parametrize("id", corpus_ids(lambda item: item["id"] in ("tfx_trainer_meta_ckpt", "tf_half_plus_two")))
def test_dtypes_of_real_graphs(corpus, id):
    ed = gs.open(corpus.path(id))
    for found, op in zip(dtypes_of(ed.snapshot), ed.graph.get_operations(), strict=True):
        assert found == (op.outputs[0].dtype.base_dtype.name if op.outputs else ""), op.name
