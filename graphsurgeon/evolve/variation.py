"""Variation: a new candidate from one or two others: crossover, mutation, growth."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import PlanError
from ..graph.names import op_name, tensor_name
from .candidate import Assembly, Candidate, Piece, candidate

_TRIES = 8
_JITTER = 0.2  # how far a constant moves, relative to its size, or to 1 if it is smaller


def crossover(one: Candidate, other: Candidate, rng: Any, limit: int = 200) -> Candidate | None:
    """Returns `one` with a random part of it replaced by a copy of a random part of `other`.

    The part that goes and the part that comes are sub-expressions: a tensor and all that computes it from the inputs.
    Both tensors are of one dtype and static shape, so that the result is sound.

    Args:
        one, other: the parents; they stay as they are. Their inputs have the same names.
        rng: a NumPy random generator; with the same one, the same child is born.
        limit: the greatest number of ops of a child.

    Returns:
        the child, in a separate graph; None if no parts fit in a few tries.

    Example:
        >>> import numpy as np, tensorflow as tf
        >>> def made(function):
        ...     with tf.Graph().as_default() as graph:
        ...         function(tf.compat.v1.placeholder(tf.float32, [None], name="x"))
        ...     return candidate(graph)
        >>> mother, father = made(lambda x: tf.sin(x) * 2.0), made(lambda x: x + tf.exp(x))
        >>> print(crossover(mother, father, np.random.default_rng(0)))
        exp(x) * 2
    """
    root = one.output
    cuts = [p for p in one.points if p.tensor != root] or list(one.points)
    for _ in range(_TRIES if cuts else 0):
        cut = cuts[rng.integers(len(cuts))]
        fitting = [p for p in (*other.points, *other.terminals) if p.kind == cut.kind]
        if not fitting:
            continue
        graft = fitting[rng.integers(len(fitting))].tensor
        child = _grafted(one, cut.tensor, other, graft, "crossover", limit)
        if child is not None:
            return child
    return None


def _grafted(one: Candidate, cut: str, other: Candidate, graft: str, born: str, limit: int) -> Candidate | None:
    """`one`, of which everything that read `cut` reads a copy of the tensor `graft` of another candidate."""
    assembly = Assembly(one)
    ops = () if op_name(graft) in other.inputs else other.below(graft)
    new = assembly.add(Piece(other, ops))[graft]
    return _replaced(one, cut, new, assembly, born, limit)


def _replaced(
    one: Candidate, cut: str, new: str, assembly: Assembly, born: str, limit: int, kept: Mapping[str, str] | None = None
) -> Candidate | None:
    """Returns `one` with the consumers of `cut` reading the tensor `new` of an assembly; None if it does not fit.

    Args:
        one: the parent.
        cut: tensor of it.
        new: what takes its place.
        assembly: what the child is made of so far.
        born: how it is made, in words.
        limit: the greatest number of ops of a child.
        kept: tensor of the parent -> its name in the assembly, of what is there already.
    """
    kept, output = kept or {}, new
    if cut != one.output:
        there = {op_name(tensor) for tensor in kept}
        rest = tuple(name for name in one.below(one.output, without=[op_name(cut)]) if name not in there)
        if _reads_another(one, rest, cut):
            return None  # an op with several outputs of which others are read
        output = assembly.add(Piece(one, rest, {**kept, cut: new}))[one.output]
    if assembly.size > limit:
        return None
    try:
        return assembly.made(output, born)
    except PlanError:
        return None


def _reads_another(one: Candidate, ops: Sequence[str], cut: str) -> bool:
    graph, at = one.editor.snapshot, op_name(cut)
    read = {t for name in ops for t in (*graph.input_names(graph.index[name]), *graph.control_names(graph.index[name]))}
    return any(op_name(t) == at and tensor_name(t) != cut for t in read)


def jitter(one: Candidate, rng: Any) -> Candidate | None:
    """Returns a copy in which one constant is changed at random; None if it has no constant.

    Args:
        one: the parent; it stays as it is.
        rng: a NumPy random generator.
    """
    names = one.constants
    if not names:
        return None
    from ..tf.edit.patterns import array_of

    name = names[rng.integers(len(names))]
    graph = one.editor.snapshot
    old = array_of(graph.nodes[graph.index[name]])
    if old is None:
        return None
    moved = old + rng.normal(0.0, _JITTER, old.shape) * np.maximum(np.abs(old), 1.0 if rng.random() < 0.5 else 0.1)
    assembly = Assembly(one)
    piece = Piece(one, one.needed, constants={f"{name}:0": np.asarray(moved, old.dtype)})
    return assembly.made(assembly.add(piece)[one.output], "jitter")


class Rule:
    """A pattern and what takes its place, as plain functions of the same tensors.

    Args:
        pattern: what is looked for.
        replacement: what takes its place; its arguments are some of those of the pattern, by name.
        spec: `tf.TensorSpec` of the arguments.

    Example:
        ``Rule(lambda a, b: a + b, lambda a, b: a * b, spec)`` turns one sum into a product.
    """

    def __init__(self, pattern: Callable[..., Any], replacement: Callable[..., Any], spec: Any) -> None:
        from ..tf.run.growth import expression

        self.pattern = pattern
        graph, self.arguments, output = expression(pattern, spec)
        graph, arguments, output = expression(replacement, spec)
        unknown = [name for name in arguments if name not in self.arguments]
        if unknown:
            raise PlanError(
                "evolve(rules=...)",
                f"the replacement has an argument {unknown[0]!r} that the pattern does not have",
                f"Use the arguments of the pattern: {', '.join(self.arguments)}",
            )
        self.kind = spec.dtype
        self.replacement = candidate(graph, output, arguments)

    def apply(self, one: Candidate, rng: Any, limit: int = 200) -> Candidate | None:
        """Returns a copy in which one matching place is replaced; None if no place matches."""
        kinds = dict.fromkeys(self.arguments, self.kind)
        needed = set(one.needed)
        found = [
            match
            for match in one.editor.match(self.pattern, inputs=kinds)
            if needed.issuperset(match.names) and len(match.outputs) == 1
        ]
        if not found:
            return None
        match = found[rng.integers(len(found))]
        cut = tensor_name(next(iter(match.outputs.values())))
        ends = [tensor for tensor in match.inputs.values() if op_name(tensor) not in one.inputs]
        base = {name for tensor in ends for name in one.below(tensor)}
        if op_name(cut) in base:
            return None
        assembly = Assembly(one)
        kept = assembly.add(Piece(one, tuple(name for name in one.needed if name in base)))
        reads = {f"{name}:0": kept[tensor_name(tensor)] for name, tensor in match.inputs.items()}
        rule = self.replacement
        new = assembly.add(Piece(rule, rule.needed, reads))[rule.output]
        return _replaced(one, cut, new, assembly, "rule", limit, kept)


def grow(
    inputs: Mapping[str, Any],
    functions: Sequence[Callable[..., Any]],
    rng: Any,
    constants: tuple[float, float] = (-2.0, 2.0),
    depth: int = 3,
) -> Candidate:
    """Returns a candidate that is a random expression.

    Args:
        inputs: name -> `tf.TensorSpec`; all of one dtype and shape.
        functions: plain functions of tensors that it may be made of, such as `tf.add`.
        rng: a NumPy random generator.
        constants: the least and the greatest constant.
        depth: how many functions are inside one another at most.

    Raises:
        PlanError: a function does not take such tensors, or gives others.
    """
    from ..tf.run.growth import grown

    graph, output = grown(inputs, functions, constants, depth, rng)
    return candidate(graph, output, list(inputs))


def sprout(one: Candidate, fresh: Candidate, rng: Any, limit: int = 200) -> Candidate | None:
    """Returns `one` with a random part replaced by a whole new expression; None if no part fits."""
    kind = str(fresh.editor.snapshot.info(*fresh.editor.snapshot.tensor(fresh.output)))
    cuts = [p for p in one.points if p.kind == kind]
    if not cuts:
        return None
    return _grafted(one, cuts[rng.integers(len(cuts))].tensor, fresh, fresh.output, "growth", limit)
