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
from graphsurgeon.evolve.breeding import Rule, grow, jitter, sprout
from graphsurgeon.evolve.candidate import Assembly, Piece
from graphsurgeon.tf.run import trials
from tests.graphs import look
from tests.refusal import refuses

tf1 = tf.compat.v1
SPEC = {"x": tf.TensorSpec([None], tf.float32)}
FUNCTIONS = [tf.add, tf.subtract, tf.multiply, tf.sin]
X = np.linspace(-1, 1, 20).astype(np.float32)


def made(function, **inputs):
    """A candidate made of a plain function."""
    with tf.Graph().as_default() as graph:
        specs = inputs or SPEC
        output = function(*(tf1.placeholder(s.dtype, s.shape, name=n) for n, s in specs.items()))
    return gs.candidate(graph, output)


def value(one, x=X):
    with tf1.Session(graph=one.graph) as session:
        return session.run(one.output, {f"{name}:0": x for name in one.inputs})


def cubic(run):
    return float(np.mean((run({"x": X}) - (X**3 + X**2 + X)) ** 2).round(6))


def test_a_formula_is_found_from_data():
    found = gs.evolve(cubic, SPEC, [tf.add, tf.multiply], population_size=60, generations=25, seed=2, target_score=0.0)
    assert found.best.score == 0
    np.testing.assert_allclose(value(found.best), X**3 + X**2 + X, atol=2e-3)
    scores = [generation.score for generation in found.generations]
    assert scores == sorted(scores, reverse=True)  # the best is never lost
    assert set(found.births) >= {"crossover", "growth"}
    assert str(found).splitlines()[0].split() == ["gen", "score", "ops", "best"]


def test_the_same_seed_gives_the_same_evolution_with_any_workers():
    def once(workers, seed=5):
        found = gs.evolve(cubic, SPEC, FUNCTIONS, population_size=20, generations=4, seed=seed, workers=workers)
        return str(found), [c.formula for c in found.population]

    assert once(1) == once(3)
    assert once(1) != once(1, seed=6)


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
            assert set(child.needed) == set(child.editor.snapshot.names) - {"x"}  # nothing that is not needed
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
    assert any("Exit" in {c.editor.snapshot.types[c.editor.snapshot.index[n]] for n in c.needed} for c in alive)
    for child in alive:
        assert value(child).shape == X.shape


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


def test_a_candidate_has_the_outputs_that_are_printed():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None], name="x")
        tf1.placeholder(tf.float32, [], name="not_read")
        tf.constant(1.0, name="nor_this")
        w = tf1.get_variable("w", initializer=3.0)
        w.assign_add(1.0, name="step")
        tf.multiply(x, w, name="y")
        tf1.global_variables_initializer()
    text = str(gs.open(graph))
    printed = text.partition("  outputs")[2].partition("  scopes")[0].strip().splitlines()
    assert [line.split()[0] for line in printed] == ["y"]
    assert gs.candidate(graph).output == "y:0"
    with refuses(PlanError, "candidate(graph)", "it has 0 outputs", "output='y:0'"):
        with tf.Graph().as_default() as empty:
            tf.constant(1.0)
        gs.candidate(empty)


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


def test_rules_take_part():
    rules = [(lambda a, b: a + b, lambda a, b: a * b)]
    found = gs.evolve(cubic, SPEC, [tf.add], rules=rules, population_size=20, generations=6, seed=1)
    assert found.births["rule"] > 0
    assert any("*" in c.formula for c in found.population)  # multiplication came in by the rule alone


def test_growth_puts_something_new_in():
    one = made(lambda x: tf.sin(x) + 1.0)
    child = sprout(one, made(tf.cos), np.random.default_rng(0))
    assert child.formula in ("cos(x) + 1", "cos(x)")
    assert child.born == "growth"


def test_own_graphs_are_a_beginning():
    first = [made(lambda x: x * x + 0.9), made(lambda x: x * x * x)]
    found = gs.evolve(cubic, initial=first, population_size=10, generations=2, seed=0)
    assert found.best.score <= min(trials.scores(first, cubic, [("", None)]))


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
    assert sum(found.births.values()) >= 950
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


def test_a_formula_is_written_as_people_write_it():
    assert made(lambda x: (x + 1.0) * tf.sin(x - 2.0)).formula == "(x + 1) * sin(x - 2)"
    long = made(lambda x: [x := x + x for _ in range(40)][-1])  # written out it would have 2⁴⁰ characters
    assert len(long.formula) <= 2000
    assert repr(made(tf.sin)) == "<Candidate of 1 op, not tried yet: sin(x)>"


# -- in a cluster -------------------------------------------------------------------------------------------


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


# -- refusals -----------------------------------------------------------------------------------------------


def test_refusals():
    with refuses(PlanError, "evolve(...)", "nothing to begin with", "inputs= and functions="):
        gs.evolve(cubic)
    with refuses(PlanError, "evolve(population_size=1)", "at least 2"):
        gs.evolve(cubic, SPEC, FUNCTIONS, population_size=1)
    with refuses(PlanError, "evolve(workers=0)", "a number of sessions"):
        gs.evolve(cubic, SPEC, FUNCTIONS, workers=0)
    with refuses(PlanError, "evolve(inputs=...)", "not of one dtype and shape", "k: int32"):
        gs.evolve(cubic, {**SPEC, "k": tf.int32}, FUNCTIONS)
    with refuses(PlanError, "functions=[", "nobody can tell how many tensors it takes"):
        gs.evolve(cubic, SPEC, [lambda *many: many[0]])
    with refuses(PlanError, "functions=[argmax", "it gives", "not what the inputs are"):
        gs.evolve(cubic, SPEC, [tf.argmax])
    with refuses(PlanError, "functions=[logical_not]", "it does not take such tensors"):
        gs.evolve(cubic, SPEC, [tf.logical_not])
    with refuses(PlanError, "evolve(initial=...)", "has the inputs ['y'], not ['x']"):
        gs.evolve(cubic, SPEC, FUNCTIONS, initial=[made(tf.sin, y=SPEC["x"])])
    with refuses(PlanError, "evolve(rules=...)", "an argument 'c' that the pattern has not", "a, b"):
        Rule(lambda a, b: a + b, lambda c: tf.sin(c), SPEC["x"])
    with refuses(PlanError, "candidate(graph)", "it has 2 outputs", "output= one of"):
        with tf.Graph().as_default() as graph:
            x = tf1.placeholder(tf.float32, [None], name="x")
            tf.sin(x, name="a"), tf.cos(x, name="b")
        gs.candidate(graph)


def test_an_output_of_another_shape_is_refused():
    one = made(tf.sin)
    assembly = Assembly(one)
    other = made(lambda x: tf.reduce_sum(tf.sin(x)))
    output = assembly.add(Piece(other, other.needed))[other.output]
    with refuses(PlanError, "made(...)", "the output would be float32 (), not float32 (?,)"):
        assembly.made(output, "test")


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
        ({"score": None}, ("evolve(None)", "score cannot be called", "lambda run")),
        (
            {"score": lambda run: "much"},
            ("evolve(score)", "score gave 'much', which is not a number", "lower the better"),
        ),
        ({"score": lambda run: None}, ("score gave None",)),
        ({"score": lambda run: [1.0, 2.0]}, ("score gave [1.0, 2.0]",)),
        ({"score": lambda run: run({"y": [1.0]})}, ("run({...})", "there is no input 'y'", "The inputs are 'x'")),
        ({"inputs": ["x"]}, ("evolve(inputs=...)", "['x'] is not a mapping", "inputs={'x': tf.float32}")),
        ({"inputs": {"x": "float31"}}, ("'float31', for 'x', is neither a dtype", "tf.TensorSpec")),
        ({"inputs": {"a b": tf.float32}}, ("'a b' cannot be the name of a placeholder",)),
        ({"inputs": {"x": tf.string}}, ("'x' is string: no constants of that grow", "initial=[graph, ...]")),
        ({"constants": (3, "a")}, ("evolve(constants=(3, 'a'))", "two numbers")),
        ({"constants": (3, 1)}, ("the least and the greatest",)),
        ({"seed": "s"}, ("evolve(seed='s')", "a whole number, at least 0")),
        ({"rules": [tf.add]}, ("evolve(rules=...)", "is not a pair of functions", "(pattern, replacement)")),
        ({"population_size": True}, ("evolve(population_size=True)", "a whole number, at least 2")),
    ],
)
def test_what_evolve_cannot_work_with(options, words):
    with refuses(PlanError, *words):
        small = {"score": cubic, "inputs": SPEC, "functions": FUNCTIONS, "population_size": 4, "generations": 1}
        gs.evolve(**{**small, **options})
