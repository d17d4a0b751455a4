"""First pictures of training graphs show the network, and not what initializes it or keeps workers in step."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.graph.graph import Graph
from graphsurgeon.view.first_picture import first_unfolded
from graphsurgeon.view.helper_ops import KINDS, Helpers
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree
from tests.view.graphs import boxes, edges

tf1 = tf.compat.v1
LAYERS = 12


def network():
    """Makes a network of plain layers with reference variables; returns its loss."""
    x = tf1.placeholder(tf.float32, [None, 8], name="images")
    with tf1.variable_scope("net"):
        for i in range(1, LAYERS + 1):
            with tf1.variable_scope(f"fc{i}"):
                w = tf1.get_variable(
                    "weights", [8, 8], initializer=tf1.glorot_uniform_initializer(), use_resource=False
                )
                b = tf1.get_variable("biases", [8], initializer=tf1.zeros_initializer(), use_resource=False)
                x = (tf.nn.relu, tf.tanh, tf.sigmoid)[i % 3](tf1.nn.bias_add(tf.matmul(x, w), b))
    return tf1.reduce_mean(x, name="loss")


@pytest.fixture(scope="module")
def averaged():
    """A network with moving averages: each of them begins with its variable, by a cond of TF1."""
    graph = tf.Graph()
    flow = tf1.control_flow_v2_enabled()
    tf1.disable_control_flow_v2()
    with graph.as_default():
        step = tf1.train.RMSPropOptimizer(0.1).minimize(network())
        with tf.control_dependencies([step]):
            tf1.train.ExponentialMovingAverage(0.9).apply(tf1.trainable_variables())
        tf1.global_variables_initializer()
    if flow:
        tf1.enable_control_flow_v2()
    return gs.open(graph).snapshot


@pytest.fixture(scope="module")
def replicated():
    """A network of which several workers apply the gradients together: a queue of tokens keeps them in step."""
    graph = tf.Graph()
    with graph.as_default(), tf1.device(tf1.train.replica_device_setter(ps_tasks=2)):
        loss, step = network(), tf1.train.get_or_create_global_step()
        together = tf1.train.SyncReplicasOptimizer(tf1.train.AdagradOptimizer(0.1), 4, total_num_replicas=4)
        together.minimize(loss, global_step=step)
        together.get_chief_queue_runner()
        together.get_init_tokens_op()
        tf1.global_variables_initializer()
    return gs.open(graph).snapshot


def first(graph):
    tree = Tree(graph)
    return build(tree, first_unfolded(tree))


def layers(scene):
    return [name for name in boxes(scene) if name.startswith("net/fc")]


def test_the_conds_of_moving_averages_initialize(averaged):
    conds = [name for name in averaged.names if name.startswith("cond")]
    assert len([name for name in conds if name.endswith("/Merge")]) == 2 * LAYERS
    kind = Helpers.from_graph(averaged).kind
    assert {KINDS[kind[averaged.index[name]]] for name in conds} == {"initializers"}
    scene = first(averaged)
    assert layers(scene) == [f"net/fc{i}/" for i in range(1, LAYERS + 1)]
    assert len(scene.boxes) < 24


def test_queues_of_tokens_are_hidden_and_the_network_is_open(replicated):
    scene = first(replicated)
    queues = [name for name in replicated.names if "sync_token_q" in name]
    assert queues
    kind = Helpers.from_graph(replicated).kind
    assert {KINDS[kind[replicated.index[name]]] for name in queues} == {"queue ops"}
    assert scene.stats["hidden"]["queue ops"] >= len(queues)
    assert layers(scene) == [f"net/fc{i}/" for i in range(1, LAYERS + 1)]


def test_a_queue_that_feeds_the_model_is_drawn():
    graph = tf.Graph()
    with graph.as_default():
        queue = tf1.FIFOQueue(8, tf.float32, [4], name="batches")
        queue.enqueue(tf1.placeholder(tf.float32, [4], name="one"))
        x = queue.dequeue_many(2)
        for i in range(14):
            x = tf.nn.relu(x, name=f"step_{chr(97 + i)}")
        queue.close()
    snapshot = gs.open(graph).snapshot
    kind = Helpers.from_graph(snapshot).kind
    assert "queue ops" not in {KINDS[k] for k in kind.tolist()}


def test_scopes_that_each_go_around_with_the_model_fold_into_a_series():
    """Each of them is in a circle with the model, so a fold hides no direction."""
    ops = [("x", "Placeholder", []), ("net/read", "Neg", ["x"])]
    for i in range(8):
        scope = f"cond_{i}" if i else "cond"
        ops += [(f"{scope}/a", "Exp", ["net/read"]), (f"{scope}/b", "Neg", [f"{scope}/a"])]
        ops.append((f"net/use{i}", "AddV2", [f"{scope}/b", f"net/use{i - 1}" if i else "net/read"]))
    ops += [(f"y{chr(97 + i)}q", f"Type{i}", [f"net/use{i}"]) for i in range(8)]
    scene = build(Tree(Graph.from_ops(ops)))
    assert "~cond_[0..7]/" in boxes(scene)
    found = edges(scene)
    assert {("net/", "~cond_[0..7]/"), ("~cond_[0..7]/", "net/")} <= set(found)
    # steps of one way stay apart: a fold of them would hide it
    ops = [("x", "Placeholder", [])]
    for i in range(8):
        scope = f"cond_{i}" if i else "cond"
        ops += [(f"{scope}/a", "Exp", [ops[-1][0]]), (f"{scope}/b", "Neg", [f"{scope}/a"])]
        ops.append((f"mid{chr(97 + i)}q", f"Type{i}", [f"{scope}/b"]))
    assert "cond_3/" in boxes(build(Tree(Graph.from_ops(ops))))
