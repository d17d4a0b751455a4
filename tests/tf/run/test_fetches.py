"""Names of what is to be run are looked up before TensorFlow sees them."""

from __future__ import annotations

from collections import namedtuple

import pytest
import tensorflow as tf

from graphsurgeon.errors import SelectionError
from graphsurgeon.tf.run.sessions import resolve_feeds, resolve_fetches
from tests.refusal import refuses

tf1 = tf.compat.v1


@pytest.fixture(scope="module")
def graph():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [], name="x")
        w = tf1.get_variable("net/w", initializer=2.0)
        tf.multiply(x, w, name="net/y")
    return graph


def test_a_structure_stays_as_it_is(graph):
    pair = namedtuple("pair", "y w")
    w = graph.get_collection("variables")[0]
    y, op = graph.get_tensor_by_name("net/y:0"), graph.get_operation_by_name("net/y")
    found = resolve_fetches(pair("net/y:0", {"w": [w, ("net/y", y)]}), "run({})", graph, "it")
    assert type(found) is pair
    assert found.y is y
    assert found.w["w"][0] is w
    assert found.w["w"][1] == (op, y)


def test_feeds_are_tensors_with_and_without_the_number_of_the_output(graph):
    x = graph.get_tensor_by_name("x:0")
    for key in ("x", "x:0", x):
        ((found, value),) = resolve_feeds({key: 3.0}, "run({})", graph, "it").items()
        assert found is x
        assert value == 3.0
    assert resolve_feeds(None, "run({})", graph, "it") == {}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("net/z", ["run('net/z')", "no op is called 'net/z' in the duplicate", "Did you mean 'net/y'"]),
        ("net/z:0", ["run('net/z:0')", "there is no tensor 'net/z:0' in the duplicate", "Did you mean 'net/y'"]),
        ("net/y:1", ["run('net/y:1')", "op 'net/y' (Mul) has 1 output", "'net/y:0'"]),
        ("net/y:a", ["run('net/y:a')", "is not a tensor name", "'net/y:0'"]),
    ],
    ids=["op", "tensor", "output", "number"],
)
def test_a_name_that_is_not_there_is_told_with_the_nearest(graph, name, words):
    for thing in (name, [{"deep": (name,)}]):
        with refuses(SelectionError, *words):
            resolve_fetches(thing, "run({})", graph, "the duplicate")
    with refuses(SelectionError, "run(", words[-1]):
        resolve_feeds({name: 1.0}, "run({})", graph, "the duplicate")


def test_an_object_of_another_graph_is_moved_or_refused(graph):
    with tf.Graph().as_default():
        other = tf.constant(1.0, name="far")
    y = graph.get_tensor_by_name("net/y:0")
    assert resolve_fetches([other], "run({})", graph, "it", lambda thing: y if thing is other else None) == [y]
    with refuses(SelectionError, "run('far:0')", "'far:0' is an object of another graph, not of the original",
                 "Give the object of this graph, or its name as text"):  # fmt: skip
        resolve_fetches(other, "run({})", graph, "the original")


def test_feeds_that_are_none(graph):
    with refuses(SelectionError, "run(feeds=...)", "list is not a mapping", "Give {'x:0': array}"):
        resolve_feeds([1.0], "run({})", graph, "it")
