"""Edits in place of nets that are trained: variables of both kinds, and what each optimizer keeps beside them."""

from __future__ import annotations

import pytest
import tensorflow as tf

from graphsurgeon import graph_editor as ge
from graphsurgeon.graph_editor.util import WrongValue
from tests.graphs import tf1
from tests.refusal import refuses
from tests.tiers import product

OPTIMIZERS = {
    "sgd": lambda: tf1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: tf1.train.MomentumOptimizer(0.1, 0.9),
    "adam": lambda: tf1.train.AdamOptimizer(0.1),
    "rmsprop": lambda: tf1.train.RMSPropOptimizer(0.1),
    "adagrad": lambda: tf1.train.AdagradOptimizer(0.1),
    "ftrl": lambda: tf1.train.FtrlOptimizer(0.1),
}


def net(optimizer, batch, kind="ref"):
    graph = tf.Graph()
    with graph.as_default(), tf1.variable_scope("", use_resource=kind == "resource"):
        x = tf1.placeholder(tf.float32, [batch, 4], name="x")
        w = tf1.get_variable("w", initializer=tf.constant([[1.0, 2.0]] * 4))
        r = tf.nn.relu(tf.matmul(x, w, name="h"), name="r")
        OPTIMIZERS[optimizer]().minimize(tf.reduce_mean(r, name="loss"), name="train")
        tf.ones([8, 4], name="k")
        tf1.global_variables_initializer()
    return graph


def t(graph, name):
    return graph.get_tensor_by_name(f"{name}:0")


def view(graph, *names):
    return ge.sgv(*[graph.get_operation_by_name(name) for name in names])


EDITS = {
    "reroute_ts": lambda g: ge.reroute_ts(t(g, "k"), t(g, "x")),
    "swap_ts": lambda g: ge.swap_ts(t(g, "k"), t(g, "x")),
    "swap_outputs": lambda g: ge.swap_outputs(view(g, "x"), view(g, "k")),
    "detach_inputs": lambda g: ge.detach_inputs(view(g, "r")),
    "detach_inputs of a layer": lambda g: ge.detach_inputs(view(g, "h")),
    "detach_outputs": lambda g: ge.detach_outputs(view(g, "h")),
    "detach": lambda g: ge.detach(view(g, "r")),
    "bypass": lambda g: ge.bypass(view(g, "r")),
    "connect": lambda g: ge.connect(view(g, "h"), view(g, "loss").remap_inputs([0])),
}


@pytest.mark.parametrize(("edit", "optimizer", "batch"), product(EDITS, OPTIMIZERS, [None, 8]))
def test_a_trained_net_is_edited_and_tensorflow_takes_it(optimizer, edit, batch):
    graph = net(optimizer, batch)
    EDITS[edit](graph)
    # A session takes a graph as a whole: one edge of a wrong kind, and nothing runs.
    with tf1.Session(graph=graph) as session:
        session.run("init")


def test_training_goes_on_with_what_it_was_given():
    graph = net("sgd", None)
    ge.reroute_ts(t(graph, "k"), t(graph, "x"))
    with tf1.Session(graph=graph) as session:
        session.run("init")
        session.run("train")
        assert session.run("w:0").tolist() == [[0.949999988079071, 1.9500000476837158]] * 4


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("edit", ["detach_inputs", "detach_outputs"])
def test_a_variable_is_not_taken_from_what_changes_it(optimizer, edit):
    graph = net(optimizer, 8)
    inside = [op for op in graph.get_operations() if op.type.startswith("Apply")]
    cut = view(graph, "w") if edit == "detach_outputs" else ge.sgv(*inside)
    before = {op: [t.name for t in op.inputs] for op in graph.get_operations()}
    with refuses(WrongValue, "changes the variable 'w:0'", "is not a variable", "Leave", "give it another variable"):
        getattr(ge, edit)(cut)
    assert {op: [t.name for t in op.inputs] for op in before} == before


@pytest.mark.parametrize("edit", EDITS)
def test_resource_variables_are_edited_as_ever(edit):
    graph = net("adam", None, "resource")
    EDITS[edit](graph)
    with tf1.Session(graph=graph) as session:
        session.run("init")
