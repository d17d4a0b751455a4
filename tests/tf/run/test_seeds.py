"""seeds: a random op without one gets what its name decides; one that has a seed keeps it."""

from __future__ import annotations

import tensorflow as tf

from graphsurgeon.tf.open.snapshot import snapshot
from graphsurgeon.tf.run.probes import set_seeds
from tests.graphs import tf1


def seeds(graph, name):
    attr = graph.get_operation_by_name(name).node_def.attr
    return attr["seed"].i, attr["seed2"].i


def made(nested=False):
    """Random ops without a seed, with one, and in a loop; and a loop without any."""
    with tf.Graph().as_default() as graph:
        tf.random.uniform([2], name="free")
        tf.random.uniform([2], seed=5, name="fixed")
        tf1.disable_control_flow_v2()
        try:

            def outer(i, a):
                step = lambda j, b: (j + 1, b + tf.random.uniform([], name="drawn"))  # noqa: E731
                return i + 1, tf1.while_loop(lambda j, _: j < 2, step, [0, a], name="inner")[1]

            tf1.while_loop(lambda i, _: i < 3, outer, [0, 0.0], name="outer")
            tf1.while_loop(lambda i: i < 3, lambda i: i + 1, [0], name="still")
        finally:
            tf1.enable_control_flow_v2()
    return graph


def test_seeds_are_of_the_name_and_of_one_seed_for_all():
    graph, again, other, named = made(), made(), made(), made()
    fixed = seeds(graph, "fixed/RandomUniform")
    assert all(set_seeds(one, snapshot(one), seed) for one, seed in ((graph, 0), (again, 0), (other, 4)))
    free = "free/RandomUniform"
    assert seeds(graph, free) == seeds(again, free) != seeds(other, free)
    assert seeds(graph, free)[1] == seeds(other, free)[1] != 0
    assert seeds(graph, "fixed/RandomUniform") == fixed != (0, 0)
    set_seeds(named, snapshot(named), 0, {free: "a", "outer/inner/drawn/RandomUniform": free})
    assert seeds(named, "outer/inner/drawn/RandomUniform") == seeds(graph, free) != seeds(named, free)


def test_loops_around_random_ops_run_one_round_at_a_time():
    graph = made()
    set_seeds(graph, snapshot(graph), 0)
    at_once = {}
    for op in graph.get_operations():
        if op.type == "Enter":
            frame = op.node_def.attr["frame_name"].s.decode()
            at_once.setdefault(frame.split("/")[-2 if "inner" in frame else 0], set()).add(
                op.node_def.attr["parallel_iterations"].i
            )
    assert {frozenset(found) for found in at_once.values()} == {frozenset({1}), frozenset({10})}
    assert sorted(map(len, at_once.values())) == [1, 1, 1]


def test_without_random_ops_nothing_changes():
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="c")
    assert not set_seeds(graph, snapshot(graph), 0)
