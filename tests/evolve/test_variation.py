"""Children of candidates: sound, and their parents stay as they are."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.evolve.candidate import Rule, grow, jitter, sprout
from tests.evolve.formulas import FUNCTIONS, SPEC, X, made, tf1, value
from tests.graphs import look


def test_children_are_sound_and_parents_stay_as_they_are():
    rng = np.random.default_rng(0)
    parents = [grow(SPEC, FUNCTIONS, rng, depth=4) for _ in range(8)]
    before = [look(p.graph) for p in parents]
    born = 0
    for _ in range(60):
        one, other = (parents[i] for i in rng.integers(8, size=2))
        child = gs.crossover(one, other, rng)
        if child is not None:
            born += 1
            assert child.inputs == ("x",)
            assert value(child).shape == X.shape
            assert set(child.ops) == set(child.editor.snapshot.names) - {"x"}  # nothing that is not needed
    assert born > 50
    assert [look(p.graph) for p in parents] == before


def test_dtypes_and_shapes_are_kept_apart():
    def mixed(x):
        rows = tf.reduce_sum(x, axis=1)  # (?,)
        count = tf.cast(tf.shape(x)[0], tf.float32)  # ()
        return x * tf.reshape(rows / count, [-1, 1])

    spec = tf.TensorSpec([None, 3], tf.float32)
    one, other = made(mixed, x=spec), made(lambda x: tf.sin(mixed(x)) + 0.5, x=spec)
    kinds = {p.tensor: p.kind for p in one.points}
    assert len(set(kinds.values())) >= 4
    rng, seen = np.random.default_rng(1), set()
    for _ in range(80):
        child = gs.crossover(one, other, rng)
        if child is not None:
            seen.add(child.formula)
            assert value(child, np.ones([4, 3], np.float32)).shape == (4, 3)
    assert len(seen) > 2


def test_a_loop_goes_whole_or_not_at_all():
    def looping(x):
        return tf.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v * 1.5 + 1.0), (0, tf.sin(x)))[1] * x

    tf1.disable_control_flow_v2()
    try:
        one = made(looping)
    finally:
        tf1.enable_control_flow_v2()
    other = made(lambda x: tf.cos(x) + tf.exp(x))
    assert not any("while" in p.tensor and "Exit" not in p.tensor for p in one.points)
    rng = np.random.default_rng(0)
    children = [gs.crossover(a, b, rng) for a, b in [(one, other), (other, one)] * 15]
    alive = [c for c in children if c is not None]
    assert any("Exit" in {c.editor.snapshot.types[c.editor.snapshot.index[n]] for n in c.ops} for c in alive)
    for child in alive:
        assert value(child).shape == X.shape


def test_children_keep_the_names_of_their_variables():
    def net(x):
        with tf1.variable_scope("net"):
            w = tf1.get_variable("w", initializer=3.0)
            return tf.sin(x * w) * tf1.get_variable("w/b", initializer=0.5)

    one, plain = made(net), made(lambda x: tf.exp(x) + 1.0)
    rng = np.random.default_rng(0)
    names = lambda c: sorted(v.op.name for v in c.graph.get_collection("variables"))  # noqa: E731
    seen = set()
    for _ in range(10):
        child = gs.crossover(plain, one, rng)
        if child is not None:
            seen.add(tuple(names(child)))
            for variable in child.graph.get_collection("variables"):
                assert variable.initializer.name == f"{variable.op.name}/Assign"
            assert value_of(child).shape == X.shape
    assert seen <= {(), ("net/w",), ("net/w/b",), ("net/w", "net/w/b")}
    assert len(seen) > 1
    other = made(lambda x: x * 2.0)
    both = gs.crossover(gs.crossover(other, one, rng) or one, one, rng)
    assert both is not None
    assert all(name.removesuffix("_1") in ("net/w", "net/w/b") for name in names(both))


def value_of(one):
    with tf1.Session(graph=one.graph) as session:
        session.run([v.initializer for v in one.graph.get_collection("variables")])
        return session.run(one.output, {"x:0": X})


def test_jitter_changes_one_constant_and_nothing_else():
    one = made(lambda x: tf.sin(x * 2.0) + 3.0)
    child = jitter(one, np.random.default_rng(0))
    assert child.size == one.size
    assert child.formula.startswith("sin(x * ")
    assert child.formula != one.formula
    changed = sum(a != b for a, b in zip(child.formula.split(), one.formula.split(), strict=True))
    assert changed == 1
    assert jitter(made(tf.sin), np.random.default_rng(0)) is None


@pytest.mark.parametrize(
    ("pattern", "replacement", "before", "after"),
    [
        (lambda a, b: a + b, lambda a, b: a * b, lambda x: tf.sin(x) + tf.cos(x), "sin(x) * cos(x)"),
        (lambda a, b: (a - b) + b, lambda a: a, lambda x: tf.exp((tf.sin(x) - x) + x), "exp(sin(x))"),
        (lambda a: tf.sin(a), lambda a: tf.cos(a), lambda x: tf.sin(x) * x, "cos(x) * x"),
        (lambda a: a + a, lambda a: a * a, lambda x: (t := tf.exp(x)) + t, "exp(x) * exp(x)"),
    ],
)
def test_a_rule_replaces_a_pattern(pattern, replacement, before, after):
    child = Rule(pattern, replacement, SPEC["x"]).apply(made(before), np.random.default_rng(0))
    assert child.formula == after
    assert value(child).shape == X.shape


def test_a_rule_that_fits_nowhere():
    assert Rule(lambda a: tf.tan(a), lambda a: a, SPEC["x"]).apply(made(tf.sin), np.random.default_rng(0)) is None


def test_growth_puts_something_new_in():
    one = made(lambda x: tf.sin(x) + 1.0)
    child = sprout(one, made(tf.cos), np.random.default_rng(0))
    assert child.formula in ("cos(x) + 1", "cos(x)")
    assert child.origin == "growth"
