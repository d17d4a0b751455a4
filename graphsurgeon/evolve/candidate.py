"""Candidates: the graphs of a population, their exchangeable parts, and crossover, mutation and growth."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from .. import tf
from ..editor.editor import Editor
from ..editor.open import open
from ..errors import PlanError, counted, few
from ..graph.names import free_name, op_name, tensor_name
from ..graph.open_graph import OpenedGraph, outputs_of
from ..graph.provenance import COLLECTION
from ..graph.selection import selection_from
from ..graph.traversal import backward
from ..graph.types import GraphSource, TensorLike, TFNodeDef
from ..graph.variables import INPUT_TYPES

_INFIX = {"Add": "+", "AddV2": "+", "Sub": "-", "Mul": "*", "RealDiv": "/", "Div": "/"}
_MAX_TEXT = 2000


class Point(NamedTuple):
    """A tensor at which a candidate can be cut: the ops that compute it can be replaced, or copied elsewhere.

    Args:
        tensor: its name.
        kind: its dtype and static shape, as text; a point can only replace a point of the same kind.
    """

    tensor: str
    kind: str


@dataclass(eq=False)
class Candidate:
    """A graph that computes one output from inputs, with its score.

    Args:
        editor: the graph, opened.
        inputs: names of its placeholders.
        output: name of the tensor that the graph computes.
        score: the score of the candidate, the lower the better; None before it was tried.
        origin: how the candidate was made, in words.
    """

    editor: Editor
    inputs: tuple[str, ...]
    output: str
    score: float | None = None
    origin: str = field(default="given", compare=False)

    @property
    def graph(self) -> Any:
        """The live graph."""
        return self.editor.graph

    @property
    def size(self) -> int:
        """The number of ops that compute the output, without the inputs."""
        return len(self.ops)

    @cached_property
    def key(self) -> str:
        """Returns a digest of the nodes. Their names follow their order, so equal candidates have equal digests."""
        return tf.run.trials.digest(self.graph, self.output)

    @cached_property
    def ops(self) -> tuple[str, ...]:
        """Names of the ops that compute the output from the inputs, in graph order."""
        return self.ops_computing(self.output)

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """The tensors at which the candidate can be cut, in graph order.

        These are the tensors outside of loops and conds that are bool, or have the dtype of an input or of the output.
        Other tensors are shapes, axes and counts: a tensor of the same kind may not be a valid replacement.
        """
        graph = self.editor.snapshot
        inside = frozenset().union(*graph.state.contexts)
        ends = [graph.info(*graph.tensor(name)) for name in (*(f"{n}:0" for n in self.inputs), self.output)]
        values = {"bool", *(info.dtype for info in ends if info is not None)}
        out = []
        for name in self.ops:
            number = graph.index[name]
            for port, info in enumerate(graph.outputs(number) or ()):
                if name not in inside and info.dtype in values:
                    out.append(Point(f"{name}:{port}", str(info)))
        return tuple(out)

    @cached_property
    def terminals(self) -> tuple[Point, ...]:
        """The inputs as points, because an input can replace a point."""
        graph = self.editor.snapshot
        return tuple(Point(f"{name}:0", str(graph.info(graph.index[name], 0))) for name in self.inputs)

    @property
    def constants(self) -> list[str]:
        """Names of the floating-point constants that the output depends on, in graph order."""
        graph = self.editor.snapshot
        numbers = {name: graph.index[name] for name in self.ops}
        kinds = {name: graph.info(i, 0) for name, i in numbers.items() if graph.types[i] == "Const"}
        return [name for name, info in kinds.items() if info is not None and info.dtype.startswith(("float", "bfloat"))]

    def ops_computing(self, tensor: str, stop_at: Iterable[str] = ()) -> tuple[str, ...]:
        """Returns the ops that compute a tensor from the inputs, in graph order.

        Args:
            tensor: its name.
            stop_at: ops at which the search stops. They are left out, like the inputs.
        """
        graph = self.editor.snapshot
        stay = ~graph.mask(graph.index[name] for name in (*self.inputs, *stop_at))
        ops = backward(graph, graph.mask([graph.index[op_name(tensor)]]) & stay, within=stay)
        return tuple(selection_from(graph, ops).names)

    @cached_property
    def formula(self) -> str:
        """The output as a formula. A very long formula is truncated: parts that are used several times are repeated."""
        graph = self.editor.snapshot
        texts: dict[str, str] = {name: name for name in self.inputs}
        for name in self.ops:
            number = graph.index[name]
            args = [texts.get(op_name(t), "…") for t in graph.input_names(number)]
            texts[name] = _op_formula(graph.types[number], args, graph.nodes[number])[:_MAX_TEXT]
        text = texts.get(op_name(self.output), self.output)
        return text[1:-1] if _is_bracketed(text) else text

    def __str__(self) -> str:
        return self.formula

    def __repr__(self) -> str:
        score = "not tried yet" if self.score is None else f"score {self.score:.4g}"
        return f"<Candidate of {counted(self.size, 'ops')}, {score}: {self.formula[:80]}>"


def _op_formula(kind: str, args: Sequence[str], node: TFNodeDef) -> str:
    if kind == "Const":
        array = tf.edit.patterns.array_of(node)
        if array is None or array.ndim or array.dtype.kind not in "fiub":
            return "const" if array is None else f"const{list(array.shape)}"
        return f"{float(array):.4g}" if array.dtype.kind == "f" else str(array.item()).lower()
    if kind in _INFIX and len(args) == 2:
        return f"({args[0]} {_INFIX[kind]} {args[1]})"
    if kind == "Identity":
        return args[0]
    return f"{kind.lower()}({', '.join(a[1:-1] if _is_bracketed(a) else a for a in args)})"


def _is_bracketed(text: str) -> bool:
    """Whether the first bracket of a text closes with the last one."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if not depth:
            return bool(at) and at == len(text) - 1
    return False


@dataclass(frozen=True)
class Subexpression:
    """Ops of a candidate that are copied to a new candidate.

    Args:
        candidate: the original candidate.
        ops: names of the ops.
        input_map: input of `ops` in the original candidate -> the tensor of the new candidate that replaces it.
        constants: constant of the original candidate -> its value in the new candidate.
    """

    candidate: Candidate
    ops: tuple[str, ...]
    input_map: Mapping[str, str] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)


class Assembly:
    """Builds a new candidate: pieces are added, then one plan copies all of them to a new graph.

    Args:
        template: a candidate; the new candidate gets the same inputs.
    """

    def __init__(self, template: Candidate) -> None:
        self._template = template
        self._parts: list[tuple[Subexpression, dict[str, str]]] = []
        self._used_names = set(template.inputs)

    @property
    def size(self) -> int:
        """The number of ops that were added so far."""
        return sum(len(piece.ops) for piece, _ in self._parts)

    def add(self, piece: Subexpression) -> dict[str, str]:
        """Adds a piece; returns a mapping of its tensors to their names in the new candidate."""
        graph = piece.candidate.editor.snapshot
        variable_names = self._of_variables(piece)
        names = {op: variable_names.get(op) or self._free(graph.types[graph.index[op]]) for op in piece.ops}
        self._parts.append((piece, {**variable_names, **names}))
        inputs = {f"{name}:0": f"{name}:0" for name in piece.candidate.inputs}
        ports = {op: range(len(graph.outputs(graph.index[op]) or ())) for op in names}
        outputs = {f"{op}:{k}": f"{new}:{k}" for op, new in names.items() for k in ports[op]}
        return {**inputs, **piece.input_map, **outputs}

    def _of_variables(self, piece: Subexpression) -> dict[str, str]:
        """Returns op of a variable in a piece -> its name in the new candidate, the same name if possible."""
        graph = piece.candidate.editor.snapshot
        out: dict[str, str] = {}
        for name in sorted(graph.state.variables.keys() & set(piece.ops), key=len, reverse=True):
            parts = [op for op in graph.names if op == name or op.startswith(f"{name}/")]
            new = free_name(name, self._is_taken, as_tensorflow=True)
            for op in parts:
                out.setdefault(op, new + op[len(name) :])
        self._used_names.update(out.values())
        return out

    def _is_taken(self, name: str) -> bool:
        return any(used_name == name or used_name.startswith(f"{name}/") for used_name in self._used_names)

    def _free(self, kind: str) -> str:
        name = next(name for number in count(1) if (name := f"{kind}_{number}") not in self._used_names)
        self._used_names.add(name)
        return name

    def build(self, output: str, origin: str) -> Candidate:
        """Returns the new candidate.

        Args:
            output: the output of the new candidate, by its new name.
            origin: how the new candidate is made, in words.

        Raises:
            PlanError: the pieces do not fit: TensorFlow infers another shape, or a loop was cut.
        """
        # An editor refers to its plans, a plan to its source graph, and a graph to the origin of each op. This would
        # keep all ancestors in memory, with longer descriptions in each generation. So this editor is not kept.
        tensors = {name: self._template.graph.get_tensor_by_name(f"{name}:0") for name in self._template.inputs}
        editor = Editor(OpenedGraph(tf.graph_parts.graph_with_placeholders(tensors, "made(...)"), "candidate"))
        plan = editor.plan()
        for number, (piece, names) in enumerate(self._parts):
            if not piece.ops:
                continue
            graph = piece.candidate.editor.snapshot
            outside = {t for op in piece.ops for t in graph.input_names(graph.index[op])}
            mapping = {**{f"{name}:0": f"{name}:0" for name in piece.candidate.inputs}, **piece.input_map}
            plan = plan.copy(
                piece.candidate.editor.select(name=piece.ops), to=f"with_{number}", names=names, variables="initial",
                inputs={
                    **{t: mapping[t] for t in sorted(outside) if op_name(t) not in names and t in mapping},
                    **piece.constants,
                },
                collections="variables",
            )  # fmt: skip
        if len(plan):
            editor.apply(plan)
        editor.graph.clear_collection(COLLECTION)
        new = Candidate(open(editor.graph, title="candidate"), self._template.inputs, output, origin=origin)
        old, now = (str(c.editor.snapshot.info(*c.editor.snapshot.tensor(c.output))) for c in (self._template, new))
        if old != now:
            raise PlanError("made(...)", f"the output would be {now}, not {old}", "Cut the graph at another tensor")
        return new


def candidate(obj: GraphSource, output: TensorLike | None = None, inputs: Iterable[str] | None = None) -> Candidate:
    """Returns a graph as a candidate.

    Args:
        obj: a graph, in any form that `gs.open` takes.
        output: the output of the graph, by name or object. Default: its only output.
        inputs: names of its placeholders. Default: all its placeholders.

    Raises:
        PlanError: the graph does not have this output, or it has several outputs and `output` is not given.
        OpenError: the graph cannot be opened.

    Example:
        >>> import tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
        ...     y = tf.sin(x * 2.0) + x
        >>> print(candidate(graph))
        sin(x * 2) + x
    """
    editor = obj if isinstance(obj, Editor) else open(obj)
    graph = editor.snapshot
    names = selection_from(graph, graph.type_mask(INPUT_TYPES)).names if inputs is None else inputs
    if output is None:
        ends = outputs_of(graph)
        if len(ends) != 1:
            choices = few(list(map(repr, ends)), 5)
            how = f"Choose one in output=: {choices}" if ends else "Name the output: output='y:0'"
            raise PlanError("candidate(graph)", f"the graph has {counted(len(ends), 'outputs')}", how)
        output = ends[0]
    return Candidate(editor, tuple(names), editor.tensor(str(getattr(output, "name", output))).name)


_TRIES = 8
_JITTER = 0.2  # the scale of a change of a constant, relative to its size or to a lower bound


def crossover(one: Candidate, other: Candidate, rng: np.random.Generator, limit: int = 200) -> Candidate | None:
    """Returns `one` with a random part of it replaced by a copy of a random part of `other`.

    Both parts are sub-expressions: a tensor and all ops that compute it from the inputs. Both tensors have the same
    dtype and static shape, so the result is valid.

    Args:
        one, other: the parents; they are not changed. Their inputs have the same names.
        rng: a NumPy random generator; the same state leads to the same child.
        limit: the maximum number of ops of the child.

    Returns:
        the child, in a separate graph; None if no fitting parts were found in a few tries.

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
        point = cuts[rng.integers(len(cuts))]
        fitting = [p for p in (*other.points, *other.terminals) if p.kind == point.kind]
        if not fitting:
            continue
        graft = fitting[rng.integers(len(fitting))].tensor
        child = _graft(one, point.tensor, other, graft, "crossover", limit)
        if child is not None:
            return child
    return None


def _graft(one: Candidate, tensor: str, other: Candidate, graft: str, origin: str, limit: int) -> Candidate | None:
    """Returns `one` with all consumers of `tensor` reading a copy of the tensor `graft` of `other`, or None."""
    assembly = Assembly(one)
    ops = () if op_name(graft) in other.inputs else other.ops_computing(graft)
    new = assembly.add(Subexpression(other, ops))[graft]
    return _replace(one, tensor, new, assembly, origin, limit)


def _replace(
    one: Candidate,
    tensor_cut: str,
    new: str,
    assembly: Assembly,
    origin: str,
    limit: int,
    mapping: Mapping[str, str] | None = None,
) -> Candidate | None:
    """Returns `one` with the consumers of `tensor_cut` reading the tensor `new` of an assembly, or None.

    Args:
        one: the parent.
        tensor_cut: the tensor of the parent that is replaced.
        new: the replacement, by its name in the assembly.
        assembly: the parts of the child so far.
        origin: how the child is made, in words.
        limit: the maximum number of ops of the child.
        mapping: tensor of the parent that the assembly already contains -> its name there.
    """
    mapping, output = mapping or {}, new
    if tensor_cut != one.output:
        there = {op_name(tensor) for tensor in mapping}
        rest = tuple(name for name in one.ops_computing(one.output, stop_at=[op_name(tensor_cut)]) if name not in there)
        if _reads_another(one, rest, tensor_cut):
            return None  # other outputs of the same op are read too
        output = assembly.add(Subexpression(one, rest, {**mapping, tensor_cut: new}))[one.output]
    if assembly.size > limit:
        return None
    try:
        return assembly.build(output, origin)
    except PlanError:
        return None


def _reads_another(one: Candidate, ops: Sequence[str], tensor_cut: str) -> bool:
    graph, at = one.editor.snapshot, op_name(tensor_cut)
    operands = {
        t for name in ops for t in (*graph.input_names(graph.index[name]), *graph.control_names(graph.index[name]))
    }
    return any(op_name(t) == at and tensor_name(t) != tensor_cut for t in operands)


def jitter(one: Candidate, rng: Any) -> Candidate | None:
    """Returns a copy in which one random constant is changed; None if the parent has no constant.

    Args:
        one: the parent; it is not changed.
        rng: a NumPy random generator.
    """
    names = one.constants
    if not names:
        return None

    name = names[rng.integers(len(names))]
    graph = one.editor.snapshot
    old = tf.edit.patterns.array_of(graph.nodes[graph.index[name]])
    if old is None:
        return None
    values = old + rng.normal(0.0, _JITTER, old.shape) * np.maximum(np.abs(old), 1.0 if rng.random() < 0.5 else 0.1)
    assembly = Assembly(one)
    piece = Subexpression(one, one.ops, constants={f"{name}:0": np.asarray(values, old.dtype)})
    return assembly.build(assembly.add(piece)[one.output], "jitter")


class Rule:
    """A pattern and its replacement, both plain functions of tensors.

    Args:
        pattern: the expression to find.
        replacement: the new expression; each of its arguments has the name of an argument of the pattern.
        spec: `tf.TensorSpec` of the arguments.

    Example:
        ``Rule(lambda a, b: a + b, lambda a, b: a * b, spec)`` turns one sum into a product.
    """

    def __init__(self, pattern: Callable[..., Any], replacement: Callable[..., Any], spec: Any) -> None:
        self.pattern = pattern
        graph, self.arguments, output = tf.run.trials.expression(pattern, spec)
        graph, arguments, output = tf.run.trials.expression(replacement, spec)
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
        """Returns a copy in which one random match is replaced; None if there is no match."""
        kinds = dict.fromkeys(self.arguments, self.kind)
        needed = set(one.ops)
        matches = [
            match
            for match in one.editor.match(self.pattern, inputs=kinds)
            if needed.issuperset(match.names) and len(match.outputs) == 1
        ]
        if not matches:
            return None
        match = matches[rng.integers(len(matches))]
        output = tensor_name(next(iter(match.outputs.values())))
        ends = [tensor for tensor in match.inputs.values() if op_name(tensor) not in one.inputs]
        base = {name for tensor in ends for name in one.ops_computing(tensor)}
        if op_name(output) in base:
            return None
        assembly = Assembly(one)
        mapping = assembly.add(Subexpression(one, tuple(name for name in one.ops if name in base)))
        reads = {f"{name}:0": mapping[tensor_name(tensor)] for name, tensor in match.inputs.items()}
        rule = self.replacement
        new = assembly.add(Subexpression(rule, rule.ops, reads))[rule.output]
        return _replace(one, output, new, assembly, "rule", limit, mapping)


def grow(
    inputs: Mapping[str, Any],
    functions: Sequence[Callable[..., Any]],
    rng: Any,
    constants: tuple[float, float] = (-2.0, 2.0),
    depth: int = 3,
) -> Candidate:
    """Returns a candidate with a random expression.

    Args:
        inputs: name -> `tf.TensorSpec`; all have the same dtype and shape.
        functions: plain functions of tensors, such as `tf.add`, that the expression may use.
        rng: a NumPy random generator.
        constants: the smallest and the largest constant.
        depth: the maximum nesting depth of functions.

    Raises:
        PlanError: a function does not accept tensors of this dtype and shape, or returns others.
    """
    graph, output = tf.run.trials.random_graph(inputs, functions, constants, depth, rng)
    return candidate(graph, output, list(inputs))


def sprout(one: Candidate, expression: Candidate, rng: Any, limit: int = 200) -> Candidate | None:
    """Returns `one` with a random part replaced by a whole new expression; None if no part fits."""
    kind = str(expression.editor.snapshot.info(*expression.editor.snapshot.tensor(expression.output)))
    cuts = [p for p in one.points if p.kind == kind]
    if not cuts:
        return None
    return _graft(one, cuts[rng.integers(len(cuts))].tensor, expression, expression.output, "growth", limit)
