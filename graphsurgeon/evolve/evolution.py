"""Evolve: a population of graphs that improves by copying parts of one graph into another."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import tf
from ..errors import PlanError, counted
from .candidate import Candidate, Rule, candidate, crossover, grow, jitter, sprout

if TYPE_CHECKING:
    from ..replica.cluster import LocalCluster

_ELITE = 2
_ROUND = 3
_COLLECT_AFTER = 200


@dataclass(frozen=True)
class Generation:
    """The result of one generation.

    Args:
        number: 0 for the first population.
        score: the best score.
        size: how many ops the best candidate has.
        formula: the best candidate as a formula.
        evaluations: how many candidates were evaluated so far.
    """

    number: int
    score: float
    size: int
    formula: str
    evaluations: int

    def __str__(self) -> str:
        formula = self.formula if len(self.formula) <= 60 else self.formula[:57] + "..."
        return f"{self.number:>4}  {self.score:<10.4g}  {self.size:>4}  {formula}"


@dataclass(eq=False)
class Evolution:
    """The result of `gs.evolve`.

    Args:
        best: the best candidate: `graph`, `output`, `score`, `formula`.
        population: the candidates of the last generation, best first.
        generations: the result of each generation.
        variation_counts: how many candidates each kind of variation has produced.
    """

    best: Candidate
    population: list[Candidate]
    generations: list[Generation]
    variation_counts: dict[str, int] = field(default_factory=dict)

    @property
    def evaluations(self) -> int:
        """How many candidates were evaluated."""
        return self.generations[-1].evaluations

    def __str__(self) -> str:
        head = " gen  score       ops  best"
        return "\n".join([head, *map(str, self.generations)])

    def __repr__(self) -> str:
        count = counted(len(self.generations), "generations")
        return f"<Evolution: {count}, {self.evaluations} evaluated, best {self.best!r}>"


def evolve(
    score: Callable[[Any], float],
    inputs: Mapping[str, Any] | None = None,
    functions: Sequence[Callable[..., Any]] = (),
    *,
    initial: Sequence[Any] = (),
    rules: Sequence[tuple[Callable[..., Any], Callable[..., Any]]] = (),
    generations: int = 20,
    population_size: int = 60,
    seed: int = 0,
    target_score: float = 0.0,
    constants: tuple[float, float] = (-2.0, 2.0),
    depth: int = 3,
    limit: int = 40,
    parsimony: float = 1e-3,
    workers: int | Mapping[str, str] | LocalCluster = 1,
    timeout: float = 10.0,
    report: Callable[[Generation], None] | None = None,
) -> Evolution:
    """Evolves graphs until one is good: genetic programming.

    Each child is a separate graph: a copy of one parent with one random change. The change replaces a sub-expression
    by a copy of one of the other parent (`crossover`), changes a constant, applies a rule, or grows a new expression.

    Args:
        score: a function of ``run`` that returns how good a candidate is, the lower the better. ``run({"x": array})``
            returns the output of the candidate. ``run.candidate`` is the `Candidate`, and ``run.session`` is its
            session, in which the candidate can be trained first. With several workers, several threads call the
            function.
        inputs: name -> `tf.TensorSpec`, or a dtype for a vector of any length; all inputs have the same dtype and
            shape. Default: the inputs of `initial`.
        functions: plain functions of tensors that new expressions are made of, such as ``[tf.add, tf.sin]``.
        initial: graphs to begin with, in any form that `gs.open` takes, or as a `Candidate`. The other candidates of
            the first population are random expressions.
        rules: (pattern, replacement), both plain functions of tensors: ``(lambda a, b: a + b, lambda a, b: a * b)``.
        generations: the maximum number of generations after the first population.
        population_size: how many candidates a population has.
        seed: the same seed leads to the same evolution, with any workers.
        target_score: the evolution ends when the best score is at most this value.
        constants: the smallest and the largest constant in new expressions.
        depth: the maximum nesting depth of functions in a new expression.
        limit: the maximum number of ops of a candidate.
        parsimony: the penalty for each op, a fraction of the score. If two candidates are nearly as good, the
            smaller one wins.
        workers: how many sessions run in parallel in this process; or a mapping of target to device, or a
            `LocalCluster`, to run them in a cluster.
        timeout: how long to wait for a worker of a cluster to connect, and for each of its runs, in seconds.
        report: called with each `Generation`.

    Returns:
        an `Evolution`; ``str()`` of it is a table.

    Raises:
        PlanError: there is nothing to begin with, a function does not fit the inputs, a number is out of range, a
            worker does not answer, or all workers are lost.
        OpenError: a graph of `initial` cannot be opened.

    Example:
        >>> import numpy as np, tensorflow as tf
        >>> x = np.linspace(-1, 1, 20)
        >>> y = x * x + x
        >>> found = evolve(lambda run: np.mean((run({"x": x}) - y) ** 2), {"x": tf.float32}, [tf.add, tf.multiply],
        ...     population_size=30, seed=1, target_score=1e-9)
        >>> found.best.score < 1e-9
        True
    """
    if callable(functions):
        functions = [functions]
    _refuse_unfit(
        score, constants, rules,
        generations=(generations, 0), population_size=(population_size, 2), depth=(depth, 1), limit=(limit, 1),
        seed=(seed, 0),
    )  # fmt: skip
    starters = [one if isinstance(one, Candidate) else candidate(one) for one in initial]
    if inputs is None and starters:
        inputs = tf.run.trials.specs_of(starters[0].graph, starters[0].inputs)
    if not inputs or (not functions and not starters):
        how = "Give inputs= and functions=, or give graphs in initial=[...]"
        raise PlanError("evolve(...)", "no functions and no graphs to start from are given", how)
    specs = tf.run.trials.uniform_specs(inputs) if functions or rules else dict(inputs)
    for one in starters:
        if sorted(one.inputs) != sorted(specs):
            raise PlanError(
                "evolve(initial=...)",
                f"a graph has the inputs {sorted(one.inputs)} instead of {sorted(specs)}",
                "Give graphs whose placeholders have the same names",
            )
    for function in functions:
        tf.run.trials.arity(function)
    known_rules = [Rule(a, b, next(iter(specs.values()))) for a, b in rules]
    rng = np.random.default_rng(seed)
    sessions, evaluated = tf.run.trials.workers_of(workers, timeout), 0

    def new() -> Candidate:
        return grow(specs, functions, rng, constants, depth)

    nursery = _Breeder(rng, new if functions else None, known_rules, limit)
    population = starters[:population_size]
    while len(population) < population_size:
        population.append(new() if functions else starters[len(population) % len(starters)])
    history: list[Generation] = []
    while True:
        # Equal graphs are evaluated only once.
        scores = {one.key: one.score for one in population if one.score is not None}
        fresh = {one.key: one for one in population if one.key not in scores}
        scores.update(zip(fresh, tf.run.trials.scores(list(fresh.values()), score, sessions), strict=True))
        evaluated += len(fresh)
        for one in population:
            one.score = scores[one.key]
        population.sort(key=lambda c: (_number(c.score) * (1.0 + parsimony * c.size), c.size, c.formula))
        best = min(population, key=lambda c: (c.score, c.size, c.formula))
        history.append(Generation(len(history), _number(best.score), best.size, best.formula, evaluated))
        if report is not None:
            report(history[-1])
        if history[-1].score <= target_score or len(history) > generations:
            return Evolution(best, population, history, dict(sorted(nursery.births.items())))
        population = nursery.next_population(population, best)


class _Breeder:
    """Makes the children of a population; avoids equal children as long as possible.

    Args:
        rng: a NumPy random generator.
        new: a function that makes a candidate with a random expression, or None.
        rules: further changes that can be applied to a candidate.
        limit: the maximum number of ops of a child.
    """

    def __init__(self, rng: Any, new: Callable[[], Candidate] | None, rules: list[Rule], limit: int) -> None:
        self._rng, self._new, self._rules, self._limit = rng, new, rules, limit
        self._child_count = 0  # children since the last garbage collection
        self.births: Counter[str] = Counter()

    def next_population(self, population: list[Candidate], best: Candidate) -> list[Candidate]:
        """Returns the next population: the best candidates of this population, and new children."""
        grown = [best, *(one for one in population if one is not best)][:_ELITE]
        keys = {one.key for one in grown}
        repeated = 0  # equal graphs are useless, but a population may have no other children left
        while len(grown) < len(population):
            child = self._child(population)
            self._child_count += 1
            if child.key in keys and repeated < len(population):
                repeated += 1
                continue
            keys.add(child.key)
            self.births[child.origin] += 1
            grown.append(child)
        if self._child_count >= _COLLECT_AFTER:
            gc.collect()  # graphs contain many reference cycles, and Python collects these too rarely
            self._child_count = 0
        return grown

    def _child(self, population: list[Candidate]) -> Candidate:
        """Returns a child of the winners of one or two tournaments; the winner itself if no child can be made."""
        rng, limit = self._rng, self._limit
        one, child = self._winner(population), None
        dice = rng.random()
        if dice < 0.6:
            child = crossover(one, self._winner(population), rng, limit)
        elif dice < 0.8:
            child = jitter(one, rng)
        elif dice < 0.9 and self._rules:
            child = self._rules[rng.integers(len(self._rules))].apply(one, rng, limit)
        if child is None and self._new is not None:
            child = sprout(one, self._new(), rng, limit)
        return child or jitter(one, rng) or replace(one, origin="unchanged")

    def _winner(self, population: list[Candidate]) -> Candidate:
        """The best of a few random candidates; the population is sorted."""
        return population[int(self._rng.integers(len(population), size=_ROUND).min())]


def _number(score: float | None) -> float:
    return float("inf") if score is None else score


def _refuse_unfit(score: Any, constants: Any, rules: Any, **numbers: tuple[Any, int]) -> None:
    if not callable(score):
        how = "Give a function of `run`: lambda run: np.mean((run({'x': x}) - y) ** 2)"
        raise PlanError(f"evolve({score!r})", "score is not a function", how)
    try:
        low, high = map(float, constants)
        fits = low <= high
    except (TypeError, ValueError):
        fits = False
    if not fits:
        problem = "constants must be two numbers: the smallest and the largest constant"
        raise PlanError(f"evolve(constants={constants!r})", problem, "Try constants=(-2.0, 2.0)")
    for rule in rules:
        if not (isinstance(rule, (tuple, list)) and len(rule) == 2 and all(map(callable, rule))):
            how = "Give (pattern, replacement): (lambda a, b: a + b, tf.multiply)"
            raise PlanError("evolve(rules=...)", f"{rule!r} is not a pair of functions", how)
    for name, (value, least) in numbers.items():
        if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
            problem = f"{name} must be a whole number, at least {least}"
            raise PlanError(f"evolve({name}={value!r})", problem, f"Give {name}={least}, or more")
