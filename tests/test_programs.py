"""Programs of old, letter by letter: what people copied from posts and answers, with nothing changed but the import."""

from __future__ import annotations

import pytest

from tests.fresh import process

#: The two ways in which programs of TF1 are run today: with what TF1 did by default, or with graphs alone.
HEADS = {
    "v1": "import tensorflow.compat.v1 as tf\ntf.disable_v2_behavior()\n",
    "graphs": "import tensorflow.compat.v1 as tf\ntf.disable_eager_execution()\n",
}

A_FEED = """
from graphsurgeon import copy_to_graph, get_copied

x = tf.placeholder("float")
a = tf.constant(3.0)
y = tf.add(x, a)

namespace = "CopiedOps"
to_graph = tf.Graph()
y1 = copy_to_graph(y, to_graph, namespace)
x1 = get_copied(x, to_graph, namespace)
with to_graph.as_default():
    sess = tf.Session()
    print(sess.run(y1, feed_dict={x1: 5}))
print(x1.name)
"""

FIT_A_PLANE = """
import numpy as np
from graphsurgeon import copy_to_graph, copy_variable_to_graph, get_copied

np.random.seed(0)
tf.set_random_seed(1)
x_data = np.float32(np.random.rand(2, 100))
y_data = np.dot([0.100, 0.200], x_data) + 0.300

b = tf.Variable(tf.zeros([1]))
W = tf.Variable(tf.random_uniform([1, 2], -1.0, 1.0))
y = tf.matmul(W, x_data) + b

loss = tf.reduce_mean(tf.square(y - y_data))
optimizer = tf.train.GradientDescentOptimizer(0.5)
train = optimizer.minimize(loss)

to_graph = tf.Graph()
namespace = "CopiedOps"
copied_variables = {}
VARIABLES_FIRST
train_copy = copy_to_graph(train, to_graph, copied_variables, namespace)
loss_copy = get_copied(loss, to_graph, copied_variables, namespace)
W_copy = get_copied(W, to_graph, copied_variables, namespace)
b_copy = get_copied(b, to_graph, copied_variables, namespace)

with to_graph.as_default():
    init = tf.initialize_all_variables()
    sess = tf.Session()
    sess.run(init)
    first = sess.run(loss_copy)
    for step in range(0, 201):
        sess.run(train_copy)
    print(sess.run(W_copy).round(2), sess.run(b_copy).round(2), bool(sess.run(loss_copy) < first))
print(sorted(copied_variables) == sorted([W_copy.name, b_copy.name]), len(to_graph.get_collection("variables")))
"""
FIRST = """
for variable in (W, b):
    copy_variable_to_graph(variable, to_graph, namespace, copied_variables)
"""

CONTRIB = """
from graphsurgeon import copy_op_to_graph, copy_variable_to_graph, get_copied_op

graph1, graph2 = tf.Graph(), tf.Graph()
with graph1.as_default():
    x = tf.placeholder("float")
    a = tf.Variable(3.0)
    b = tf.constant(4.0)
    ax = tf.multiply(x, a)
    y = tf.add(ax, b)
    some_var = tf.Variable(2)

copy1 = copy_variable_to_graph(some_var, graph2)
copy2 = copy_variable_to_graph(some_var, graph2, "test_scope")
a1 = copy_variable_to_graph(a, graph2)
y1 = copy_op_to_graph(y, graph2, [a1])
x1 = get_copied_op(x, graph2)
a2 = copy_variable_to_graph(a, graph2, "second")
y2 = copy_op_to_graph(y, graph2, [a2], "second")
x2 = get_copied_op(x, graph2, "second")
with graph2.as_default(), tf.Session() as sess:
    sess.run(tf.initialize_all_variables())
    sess.run(tf.assign(a2, 10.0))
    print(sess.run(y1, {x1: 5}), sess.run(y2, {x2: 5}), *sess.run([copy1, copy2]))
    print(sorted(v.name for v in tf.global_variables()))
"""

#: A net is built, what lies between its input and output is copied with another input, and both are trained.
TWO_NETS = """
import numpy as np
from graphsurgeon import graph_editor as ge
from tensorflow.core.framework import variable_pb2

tf.set_random_seed(1)
x = tf.placeholder(tf.float32, [None, 2], name="x")
with tf.variable_scope("net"):
    W = tf.get_variable("W", [2, 3])
    c = tf.get_variable("c", [3], initializer=tf.zeros_initializer())
    out = tf.add(tf.matmul(x, W), c, name="out")
x_other = tf.placeholder(tf.float32, [None, 2], name="x_other")

g = tf.get_default_graph()
sgv = ge.make_view(ge.get_within_boundary_ops(g, [out.op], [x.op], inclusive=False))
copied_sgv, info = ge.copy_with_input_replacements(sgv, {x: x_other}, dst_scope="copy")
out_other = info.transformed(out)

copied = []
for var in (W, c):
    old = var.to_proto()
    new = variable_pb2.VariableDef()
    new.CopyFrom(old)
    for field in ("variable_name", "initializer_name", "initial_value_name", "snapshot_name"):
        name = getattr(old, field)
        if name:
            setattr(new, field, info.transformed(g.as_graph_element(name)).name)
    var_ = tf.Variable(variable_def=new, use_resource=old.is_resource)
    tf.add_to_collection(tf.GraphKeys.GLOBAL_VARIABLES, var_)
    tf.add_to_collection(tf.GraphKeys.TRAINABLE_VARIABLES, var_)
    copied.append(var_)

target = tf.placeholder(tf.float32, [None, 3])
loss = tf.reduce_mean(tf.square(out - target))
loss_other = tf.reduce_mean(tf.square(out_other - target))
train = tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[W, c])
train_other = tf.train.GradientDescentOptimizer(0.1).minimize(loss_other)
saver = tf.train.Saver()

rng = np.random.RandomState(0)
data, wanted = rng.rand(8, 2), rng.rand(8, 3)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for old, new in zip([W, c], copied):
        sess.run(tf.assign(new, old))
    print(np.array_equal(sess.run(out, {x: data}), sess.run(out_other, {x_other: data})))
    before = sess.run([W, c])
    sess.run(train_other, {x_other: data, target: wanted})
    print(all(np.array_equal(p, q) for p, q in zip(before, sess.run([W, c]))))
    sess.run(train, {x: data, target: wanted})
    print(all(np.array_equal(p, q) for p, q in zip(sess.run([W, c]), sess.run(copied))))
print([v.name for v in tf.global_variables()])
print([v.name for v in tf.trainable_variables()], [v is tf.trainable_variables()[2 + i] for i, v in enumerate(copied)])
"""

#: The part between an input and an output is computed again from another input, with the same weights.
SAME_WEIGHTS = """
import numpy as np
from graphsurgeon import graph_editor

tf.set_random_seed(1)


def f():
    with tf.variable_scope("f"):
        x = tf.placeholder(tf.float32, (None, 4), name="x")
        h = x
        for name in ("dense_1", "dense_2"):
            with tf.variable_scope(name):
                h = tf.tanh(tf.matmul(h, tf.get_variable("kernel", [4, 4])) + tf.get_variable("bias", [4]))
        return x, h


x, y = f()
new_x = tf.placeholder(x.dtype, x.get_shape(), name="x_copy")
new_y = graph_editor.graph_replace(y, {x: new_x}, src_scope="f", dst_scope="new_f")
print(new_y.op.name.split("/")[:2], len(tf.global_variables()))

loss = tf.reduce_mean(tf.square(new_y - 1.0))
train = tf.train.AdamOptimizer(0.1).minimize(loss)
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    data = np.ones((2, 4))
    before = sess.run(y, {x: data})
    sess.run(train, {new_x: data})
    after, new = sess.run([y, new_y], {x: data, new_x: data})
    print(np.array_equal(after, new), np.array_equal(before, after))
"""


def run(program):
    """Runs a program in a process of its own; returns what it prints and what it says beside."""
    done = process(program, environment={"CUDA_VISIBLE_DEVICES": ""})
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout.splitlines(), done.stderr


@pytest.mark.parametrize("head", HEADS)
def test_a_copy_with_a_feed(head):
    said, beside = run(HEADS[head] + A_FEED)
    assert said == ["8.0", "Placeholder:0"]
    assert "copy_to_graph('Add:0', ..., 'CopiedOps'): a text instead of copied_variables" in beside
    assert "get_copied('Placeholder:0', ..., 'CopiedOps'): a text instead of copied_variables" in beside
    assert beside.count("namespace='CopiedOps'") == 2


@pytest.mark.parametrize("first", ["", FIRST], ids=["train alone", "variables first"])
@pytest.mark.parametrize("head", HEADS)
def test_fit_a_plane(head, first):
    said, beside = run(HEADS[head] + FIT_A_PLANE.replace("VARIABLES_FIRST", first))
    assert said == ["[[0.1 0.2]] [0.3] True", "True 2"]
    assert "UserWarning" not in beside


@pytest.mark.parametrize("head", HEADS)
def test_the_names_of_contrib(head):
    said, beside = run(HEADS[head] + CONTRIB)
    assert said[0] == "19.0 54.0 2 2"
    assert said[1] == "['Variable:0', 'Variable_1:0', 'second/Variable:0', 'test_scope/Variable_1:0']"
    assert "UserWarning" not in beside


@pytest.mark.parametrize("head", HEADS)
def test_two_nets(head):
    said, beside = run(HEADS[head] + TWO_NETS)
    assert said[:3] == ["True", "True", "True"]
    assert said[3] == "['net/W:0', 'net/c:0', 'copy/net/W:0', 'copy/net/c:0']"
    assert said[4] == "['net/W:0', 'net/c:0', 'copy/net/W:0', 'copy/net/c:0'] [True, True]"
    assert "UserWarning" not in beside


@pytest.mark.parametrize("head", HEADS)
def test_the_same_weights_with_another_input(head):
    said, beside = run(HEADS[head] + SAME_WEIGHTS)
    assert said == ["['new_f', 'dense_2'] 4", "True False"]
    assert "UserWarning" not in beside
