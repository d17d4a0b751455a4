"""Op types as TensorFlow has them: found by name and by what they do, with the values of their attributes."""

from __future__ import annotations

import tensorflow as tf

from graphsurgeon.tf.edit.nodes import check_attribute
from graphsurgeon.tf.open.op_facts import attributes, documentation, op_types

tf1 = tf.compat.v1


def test_names_like_one_and_of_as_many_ends_come_first():
    found = op_types(template="Relu")
    assert [kind for kind, _ in found[:4]] == ["Relu6", "Elu", "Real", "Selu"]
    assert len(found) == 40
    assert "BiasAdd" not in [kind for kind, _ in op_types("biasadd", template="Relu")]


def test_a_name_before_what_the_documentation_says():
    found = op_types("softmax", inputs=1)
    assert found[0] == ("Softmax", documentation("Softmax"))
    assert "Relu6" in [kind for kind, _ in op_types("rectified linear 6")]
    assert op_types("no such thing") == []


def test_each_value_that_is_told_can_be_set():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        y = tf.nn.leaky_relu(tf.nn.conv2d(x, tf.zeros([1, 1, 3, 2]), 1, "SAME", name="c"), 0.1, name="l")
        tf.strings.as_string(tf.argmax(y, axis=1, output_type=tf.int32), name="s")
        tf1.placeholder(tf.float32, None, name="any")
    nodes = {node.name: node for node in graph.as_graph_def().node}
    reported = {name: {a: (value, choices) for a, value, choices in attributes(node)} for name, node in nodes.items()}
    assert reported["c"]["padding"] == ("SAME", ["EXPLICIT", "SAME", "VALID"])
    assert reported["c"]["strides"] == ("[1, 1, 1, 1]", [])
    assert reported["c"]["use_cudnn_on_gpu"] == ("True", ["False", "True"])
    assert reported["l"]["alpha"] == ("0.1", [])
    assert reported["x"]["shape"] == ("[None, 8, 8, 3]", [])
    assert reported["any"]["shape"] == ("None", [])
    assert "string" in reported["x"]["dtype"][1]
    assert not any("value" in of for of in reported.values())
    for name, those in reported.items():
        for a, (_, choices) in those.items():
            for value in choices:
                check_attribute(nodes[name].op, name, a, value == "True" if value in ("True", "False") else value)


def test_what_nobody_knows_has_none():
    node = tf1.NodeDef(name="a", op="NobodyKnows")
    assert list(attributes(node)) == []
    assert list(attributes(None)) == []
