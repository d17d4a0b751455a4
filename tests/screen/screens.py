"""Screens to gesture on."""

from __future__ import annotations

import json

import numpy as np
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.ui.screen import Screen
from graphsurgeon.view import page_types
from tests.graphs import model
from tests.typed import misfits

tf1 = tf.compat.v1


def opened():
    m = model("resource")
    ed = gs.open(m.session)
    return m, ed, ed.screen


def traits(screen: Screen) -> dict:
    """Returns the traits as the page gets them: through JSON, with the types that the page declares."""
    received = json.loads(json.dumps(screen.traits(), allow_nan=False))
    assert list(misfits(received, page_types.State)) == []
    return received


def row_of_ops():
    """Returns the screen of `chain_of_ops`."""
    return gs.open(chain_of_ops()).screen


def chain_of_ops():
    """Returns the graph a -> b -> c -> d, and e beside them."""
    graph = tf.Graph()
    with graph.as_default():
        a = tf1.placeholder(tf.float32, [2], name="a")
        with tf1.name_scope("in"):
            b = tf.negative(a, name="b")
            c = tf.negative(b, name="c")
        tf.negative(c, name="d")
        tf.exp(a, name="e")
    return graph


X = np.array([[1.0, 2.0]], np.float32)
