"""Genetic programming: sound children, the same by the same seed, thousands of them without a leak."""

from __future__ import annotations

import gc
import warnings
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.evolve.candidate import Rule, grow
from graphsurgeon.tf.run import trials
from tests.evolve.formulas import FUNCTIONS, SPEC, X, made, tf1, value
from tests.fresh import process
from tests.refusal import refuses


def cubic(run):
    return float(np.mean((run({"x": X}) - (X**3 + X**2 + X)) ** 2).round(6))


@pytest.mark.deep
def test_a_formula_is_found_from_data():
    found = gs.evolve(cubic, SPEC, [tf.add, tf.multiply], population_size=60, generations=25, seed=2, target_score=0.0)
    assert found.best.score == 0
    np.testing.assert_allclose(value(found.best), X**3 + X**2 + X, atol=2e-3)
    scores = [generation.score for generation in found.generations]
    assert scores == sorted(scores, reverse=True)  # the best is never lost
    assert set(found.variation_counts) >= {"crossover", "growth"}
    assert str(found).splitlines()[0].split() == ["gen", "score", "ops", "best"]


def test_the_same_seed_gives_the_same_evolution_with_any_workers():
    def once(workers, seed=5):
        found = gs.evolve(cubic, SPEC, FUNCTIONS, population_size=20, generations=4, seed=seed, workers=workers)
        return str(found), [c.formula for c in found.population]

    assert once(1) == once(3)
    assert once(1) != once(1, seed=6)


def test_candidates_with_variables_get_their_own():
    def weighed(x):
        return x * tf1.get_variable("w", initializer=3.0) + 1.0

    one, other = made(weighed), made(lambda x: tf.sin(weighed(x)))
    rng = np.random.default_rng(0)
    children = [c for c in (gs.crossover(a, b, rng) for a, b in [(one, other), (other, one)] * 10) if c is not None]
    held = [c for c in children if c.graph.get_collection("variables")]
    assert held
    (score,) = trials.scores(held[:1], lambda run: float(np.sum(run({"x": X}))), [("", None)])
    assert np.isfinite(score)


def test_a_candidate_is_trained_before_it_is_judged():
    def weighed(x):
        return x * tf1.get_variable("w", initializer=3.0)

    seen = []

    def score(run):
        (w,) = run.candidate.graph.get_collection("variables")
        run.session.run(w.initializer, {w.initializer.inputs[1]: 5.0})
        seen.append(w.op.name)
        return float(run({"x": [1.0]})[0])

    found = gs.evolve(score, initial=[made(weighed)], generations=1, population_size=3)
    assert found.best.score == 5.0
    assert set(seen) == {"w"}


def test_rules_take_part():
    rules = [(lambda a, b: a + b, lambda a, b: a * b)]
    found = gs.evolve(cubic, SPEC, [tf.add], rules=rules, population_size=20, generations=6, seed=1)
    assert found.variation_counts["rule"] > 0
    assert any("*" in c.formula for c in found.population)  # multiplication came in by the rule alone


def test_own_graphs_are_a_beginning():
    first = [made(lambda x: x * x + 0.9), made(lambda x: x * x * x)]
    found = gs.evolve(cubic, initial=first, population_size=10, generations=2, seed=0)
    assert found.best.score <= min(trials.scores(first, cubic, [("", None)]))


@pytest.mark.deep
def test_a_thousand_offspring_leave_nothing_behind():
    def graphs():
        gc.collect()
        return sum(isinstance(thing, tf.Graph) for thing in gc.get_objects())

    def memory():
        said = Path("/proc/self/statm")  # only where there is Linux; graphs are counted everywhere
        return int(said.read_text().split()[1]) * 4096 / 1e6 if said.exists() else 0.0

    def score(run):
        return float(np.mean((run({"x": X}) - np.exp(X) * np.sin(5 * X)) ** 2))  # nothing they soon find

    def some(generations, seed):
        options = {"population_size": 40, "target_score": -1.0, "limit": 20}
        return gs.evolve(score, SPEC, FUNCTIONS, generations=generations, seed=seed, **options)

    before = graphs()
    some(8, 0)  # what TensorFlow and Python make once and keep
    assert graphs() == before
    start = memory()
    found = some(26, 1)
    assert not any(found.best.graph.get_collection(name) for name in found.best.graph.get_all_collection_keys())
    assert sum(found.variation_counts.values()) >= 950
    assert graphs() <= before + 41
    del found
    some(6, 2)
    assert graphs() <= before + 41
    grown_by = memory() - start
    assert grown_by < 40, f"{grown_by:.0f} MB more after 1,200 offspring"


def test_what_tensorflow_cannot_run_is_the_worst():
    bad = made(lambda x: tf.debugging.check_numerics(x / 0.0, "no number"))
    good = made(tf.sin)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = trials.scores([bad, good], lambda run: float(np.mean(run({"x": X}))), [("", None)] * 2)
    assert found[0] == float("inf")
    assert np.isfinite(found[1])
    assert trials.scores([good], lambda run: float("nan"), [("", None)]) == [float("inf")]


def test_a_mistake_in_the_score_is_not_hidden():
    with pytest.raises(ZeroDivisionError):
        gs.evolve(lambda run: 1 / 0, SPEC, FUNCTIONS, population_size=4, generations=1, workers=2)


# -- in a cluster -------------------------------------------------------------------------------------------


@pytest.mark.deep
def test_workers_of_a_cluster_and_one_of_them_lost():
    with gs.local_cluster(2, seconds=240) as cluster:
        here = gs.evolve(cubic, SPEC, FUNCTIONS, population_size=10, generations=2, seed=3)
        there = gs.evolve(cubic, SPEC, FUNCTIONS, population_size=10, generations=2, seed=3, workers=cluster)
        assert str(here) == str(there)
        able = trials.workers_of(cluster, 5.0)
        one = made(tf.sin)
        cluster.kill(1)
        assert trials.scores([one] * 4, cubic, able) == trials.scores([one] * 4, cubic, [("", None)])
        with refuses(PlanError, "target='grpc://127.0.0.1:", "does not answer within 1 s"):
            gs.evolve(cubic, SPEC, FUNCTIONS, workers=cluster, timeout=1.0)
        cluster.kill(0)
        with refuses(PlanError, "evolve(...)", "all workers were lost", "Start the cluster again"):
            trials.scores([one], cubic, able)


FIRST = """
import os, threading
import tensorflow as tf, graphsurgeon as gs
tf1 = tf.compat.v1
double = gs.candidate(tf.function(lambda x: x + x).get_concrete_function(tf.TensorSpec([], tf.float32)).graph)
gs.evolve(lambda run: 0.0, initial=[double], functions=[tf.sin], population_size=2, generations=1)
both = threading.Barrier(min(2, os.cpu_count()), timeout=60)
with tf.Graph().as_default(), tf1.Session() as session:
    session.run([tf1.py_func(both.wait, [], tf.int64, name=name) for name in "ab"][: both.parties])
"""


@pytest.mark.deep
def test_sessions_made_after_it_have_as_many_threads_as_without_it():
    process(FIRST).check_returncode()


# -- refusals -----------------------------------------------------------------------------------------------


def test_refusals():
    with refuses(PlanError, "evolve(...)", "no functions and no graphs to start from", "inputs= and functions="):
        gs.evolve(cubic)
    with refuses(PlanError, "evolve(population_size=1)", "at least 2"):
        gs.evolve(cubic, SPEC, FUNCTIONS, population_size=1)
    with refuses(PlanError, "evolve(workers=0)", "a number of sessions"):
        gs.evolve(cubic, SPEC, FUNCTIONS, workers=0)
    with refuses(PlanError, "evolve(inputs=...)", "not of one dtype and shape", "k: int32"):
        gs.evolve(cubic, {**SPEC, "k": tf.int32}, FUNCTIONS)
    with refuses(PlanError, "functions=[", "it is not known how many tensors it takes"):
        gs.evolve(cubic, SPEC, [lambda *many: many[0]])
    with refuses(PlanError, "functions=[argmax", "it returns", "does not fit the dtype and shape of the inputs"):
        gs.evolve(cubic, SPEC, [tf.argmax])
    with refuses(PlanError, "functions=[logical_not]", "it does not accept tensors like the inputs"):
        gs.evolve(cubic, SPEC, [tf.logical_not])
    with refuses(PlanError, "evolve(initial=...)", "has the inputs ['y'] instead of ['x']"):
        gs.evolve(cubic, SPEC, FUNCTIONS, initial=[made(tf.sin, y=SPEC["x"])])
    with refuses(PlanError, "evolve(rules=...)", "an argument 'c' that the pattern does not have", "a, b"):
        Rule(lambda a, b: a + b, lambda c: tf.sin(c), SPEC["x"])
    with refuses(PlanError, "candidate(graph)", "the graph has 2 outputs", "Choose one in output="):
        with tf.Graph().as_default() as graph:
            x = tf1.placeholder(tf.float32, [None], name="x")
            tf.sin(x, name="a"), tf.cos(x, name="b")
        gs.candidate(graph)


def test_whole_numbers_and_booleans_are_written_as_such_and_grow_in_their_range():
    x = np.arange(-5, 5)
    found = gs.evolve(
        lambda run: float(np.mean(np.abs(run({"x": x}) - (x * x + 2)))), {"x": tf.int32}, [tf.add, tf.multiply],
        population_size=40, generations=15, seed=1,
    )  # fmt: skip
    assert found.best.score == 0
    assert "const[" not in "".join(c.formula for c in found.population)
    assert any("2" in c.formula for c in found.population)
    spec = tf.TensorSpec([None], tf.bool)
    either = [made(lambda p, g=given: tf.logical_and(p, g), p=spec) for given in (True, False)]
    assert [one.formula for one in either] == ["logicaland(p, true)", "logicaland(p, false)"]
    grown = [grow({"p": spec}, [tf.logical_and], np.random.default_rng(n)) for n in range(40)]
    text = " ".join(one.formula for one in grown)
    assert "true" in text
    assert "false" in text


def test_one_function_needs_no_list_and_numbers_of_numpy_are_numbers():
    numbers = {"population_size": np.int64(4), "generations": np.int32(1), "workers": np.int64(1), "seed": np.int64(2)}
    found = gs.evolve(cubic, SPEC, tf.add, **numbers)
    assert len(found.generations) == 2


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"score": None}, ("evolve(None)", "score is not a function", "lambda run")),
        (
            {"score": lambda run: "much"},
            ("evolve(score)", "score returned 'much', which is not a number", "lower the better"),
        ),
        ({"score": lambda run: None}, ("score returned None",)),
        ({"score": lambda run: [1.0, 2.0]}, ("score returned [1.0, 2.0]",)),
        ({"score": lambda run: run({"y": [1.0]})}, ("run({...})", "there is no input 'y'", "Use the inputs 'x'")),
        ({"inputs": ["x"]}, ("evolve(inputs=...)", "['x'] is not a mapping", "inputs={'x': tf.float32}")),
        ({"inputs": {"x": "float31"}}, ("'float31', for 'x', is neither a dtype", "tf.TensorSpec")),
        ({"inputs": {"a b": tf.float32}}, ("'a b' cannot be the name of a placeholder",)),
        (
            {"inputs": {"x": tf.string}},
            ("'x' is string: there are no random constants of this dtype", "initial=[graph, ...]"),
        ),
        ({"constants": (3, "a")}, ("evolve(constants=(3, 'a'))", "two numbers")),
        ({"constants": (3, 1)}, ("the smallest and the largest constant",)),
        ({"seed": "s"}, ("evolve(seed='s')", "a whole number, at least 0")),
        ({"rules": [tf.add]}, ("evolve(rules=...)", "is not a pair of functions", "(pattern, replacement)")),
        ({"population_size": True}, ("evolve(population_size=True)", "a whole number, at least 2")),
    ],
)
def test_what_evolve_cannot_work_with(options, words):
    with refuses(PlanError, *words):
        small = {"score": cubic, "inputs": SPEC, "functions": FUNCTIONS, "population_size": 4, "generations": 1}
        gs.evolve(**{**small, **options})
