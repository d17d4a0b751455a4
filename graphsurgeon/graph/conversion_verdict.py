"""The verdict of a converter on a graph, op by op."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import PlanError, counted
from .graph import Graph
from .names import op_name
from .traversal import backward, forward, producers
from .variables import FEED_TYPES

TARGETS = {"tflite": "TFLite", "tfjs": "TF.js"}
"""Target of a check -> its name for users."""
SELECT, CUSTOM, REFUSED, MISSING, VARIABLE = "TF Select", "custom op", "refused", "missing", "variable"
KINDS = {
    SELECT: "TFLite has no op for it; the separate TF Select runtime could run it",
    CUSTOM: "TFLite has no op for it: it needs a custom op",
    MISSING: "the converter's list of ops does not have it",
    REFUSED: "the converter refuses it",
    VARIABLE: "it needs a variable, and freezing would make it a constant",
}
"""Kinds of blockers -> their meaning, from the least to the worst."""
#: The converter's code of an error about ops -> kind of blocker.
_CODES = {"ERROR_NEEDS_FLEX_OPS": SELECT, "ERROR_NEEDS_CUSTOM_OPS": CUSTOM, MISSING: MISSING, VARIABLE: VARIABLE}


@dataclass(frozen=True)
class ConverterMessage:
    """One error of a converter, or of freezing.

    Args:
        names: the op, then the calls and loops around it, by the converter's names.
        type: its op type.
        code: the converter's code for the kind of error.
        text: the problem.
    """

    names: Sequence[str]
    type: str
    code: str
    text: str


@dataclass(frozen=True)
class ConversionResult:
    """The result of a converter.

    Args:
        model: the model; empty if the conversion failed.
        error_text: why there is no model; empty if there is one.
        errors: the errors that it lists, if any.
    """

    model: bytes = b""
    error_text: str = ""
    errors: tuple[ConverterMessage, ...] = ()


class Unconvertible(PlanError):
    """A graph cannot be written as a model: it cannot be frozen, or the converter refuses it.

    Args:
        request, problem, suggestion: as of every error.
        result: the result of freezing or of the converter.
    """

    def __init__(
        self, request: str, problem: str = "", suggestion: str = "", result: ConversionResult = ConversionResult()
    ) -> None:
        super().__init__(request, problem, suggestion)
        self.result = result


@dataclass(frozen=True)
class Blocker:
    """An op that a target does not support.

    Args:
        op: its name in the graph. For an op inside a call or loop, the name of that call or loop. Empty if the
            converter names no op.
        type: its op type.
        kind: one of `KINDS`.
        reason: why the target does not support it.
        replacement: the code that removes the problem; empty if no such code is known.

    Example:
        >>> print(Blocker("mel", "Mfcc", "TF Select", "TFLite has no op for it"))
        'mel' (Mfcc): TFLite has no op for it
    """

    op: str
    type: str
    kind: str
    reason: str
    replacement: str = ""

    def __str__(self) -> str:
        what = f"{self.op!r} ({self.type})" if self.op and self.type else repr(self.op) if self.op else self.type
        text = f"{what}: {self.reason}" if what else self.reason
        return f"{text}. {self.replacement}" if self.replacement else text


@dataclass(frozen=True)
class Compatibility:
    """The ops that keep a graph from a target; empty, and therefore false, if there are none.

    `print` shows one line for each op.

    Args:
        title: the title of the graph.
        target: ``tflite`` or ``tfjs``.
        converter: the converter, with its version; empty if the graph cannot be frozen, because freezing comes first.
        blockers: the ops that prevent the conversion, in graph order.
        ops: the number of ops that the outputs need.
        inputs, outputs: the input and output tensors of the model.
        proof: the result of a run of the converted model, if it was requested.

    Example:
        >>> found = Compatibility("net", "tflite", "TensorFlow 2.21.0",
        ...                       (Blocker("mel", "Mfcc", "TF Select", "TFLite has no op for it"),), 40)
        >>> print(found)
        net: 1 of 40 ops keeps it from TFLite, according to TensorFlow 2.21.0
          TF Select  'mel' (Mfcc): TFLite has no op for it
        >>> len(found), found.kinds
        (1, {'mel': 'TF Select'})
    """

    title: str
    target: str
    converter: str
    blockers: tuple[Blocker, ...] = ()
    ops: int = 0
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    proof: str = ""

    def __iter__(self) -> Iterator[Blocker]:
        return iter(self.blockers)

    def __len__(self) -> int:
        return len(self.blockers)

    @property
    def passed(self) -> bool:
        """Whether nothing prevents the conversion."""
        return not self.blockers

    @property
    def kinds(self) -> dict[str, str]:
        """Op -> the kind of its problem, for colors: ``ed.paint(check)``."""
        return {one.op: one.kind for one in self.blockers if one.op}

    def table(self) -> list[dict[str, Any]]:
        """Returns one row for each blocker: op, type, kind, reason, replacement."""
        return [dict(vars(one)) for one in self.blockers]

    def __str__(self) -> str:
        name, located = TARGETS[self.target], len(self.kinds)
        says = f", according to {self.converter}" if self.converter else "; the converter runs once it can be frozen"
        if self.passed:
            summary = f"nothing keeps its {counted(self.ops, 'ops')} from {name}{says}"
        elif located:
            summary = f"{located:,} of {counted(self.ops, 'ops')} keep{'s' * (located == 1)} it from {name}{says}"
        else:
            summary = f"it does not become {name}{says}"
        wide = max((len(one.kind) for one in self.blockers), default=0)
        lines = [f"{self.title}: {summary}", *(f"  {one.kind:<{wide}}  {one}" for one in self.blockers)]
        return "\n".join([*lines, *([f"  {self.proof}"] if self.proof else [])])

    __repr__ = __str__


def blockers(graph: Graph, conversion: ConversionResult) -> tuple[Blocker, ...]:
    """Returns the ops that a converter does not support, in graph order; empty if it made a model.

    Args:
        graph: the snapshot of the graph that was converted.
        conversion: the result of the converter, or of freezing.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("loop", "While", ["x"])])
        >>> names = ("loop/body/cell", "loop")
        >>> message = ConverterMessage(names, "GRUBlockCell", "ERROR_NEEDS_CUSTOM_OPS", "neither this nor that")
        >>> [str(one) for one in blockers(g, ConversionResult(error_text="failed", errors=(message,)))]
        ["'loop' (GRUBlockCell): TFLite has no op for it: it needs a custom op"]
    """
    by_op: dict[tuple[str, str], Blocker] = {}
    for one in conversion.errors:
        kind = _CODES.get(one.code, REFUSED)
        op = next((name for name in map(op_name, one.names) if name in graph.index), "")
        reason = KINDS[kind] if kind != REFUSED else one.text
        by_op.setdefault((op, one.type), Blocker(op, one.type, kind, reason))
    if conversion.error_text and not by_op:
        return (Blocker("", "", REFUSED, conversion.error_text),)
    return tuple(sorted(by_op.values(), key=lambda one: graph.index.get(one.op, -1)))


def cut(graph: Graph, ops: Iterable[str], inputs: Sequence[str], outputs: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns other inputs and outputs that leave out some ops, and all ops before or after these.

    Each op is cut off at the side with fewer ops. If that leaves nothing, the given inputs and outputs are returned.

    Args:
        graph: the snapshot.
        ops: the ops to leave out.
        inputs, outputs: the tensors that are fed, and the tensors that are fetched.

    Example:
        >>> g = Graph.from_ops([("wav", "Placeholder", []), ("mel", "Mfcc", ["wav"]), ("a", "Neg", ["mel"]),
        ...               ("b", "Neg", ["a"])])
        >>> cut(g, ["mel"], ["wav:0"], ["b:0"])
        (['mel:0'], ['b:0'])
    """
    ends = frozenset(graph.tensor(name) for name in inputs)
    ancestors = backward(graph, producers(graph, map(graph.tensor, outputs)), ends, control=False)
    varies = forward(graph, graph.type_mask(FEED_TYPES) | producers(graph, ends), control=False)
    front, back = graph.mask([]), graph.mask([])
    for name in ops:
        one = graph.mask([graph.index[name]])
        before = backward(graph, one, ends, control=False) & varies
        behind = forward(graph, one, within=ancestors, control=False)
        if before.sum() <= behind.sum():
            front |= before
        else:
            back |= behind
    middle = ancestors & ~front & ~back & varies

    def boundary(inside: Any, of: Any) -> list[str]:
        found = dict[str, None]()
        for op in range(graph.size):
            if inside[op]:
                found |= {graph.name(one): None for one in graph.data.ends(op) if of[one[0]]}
        return list(found)

    front_names = boundary(middle, front)
    own_outputs = [name for name in outputs if middle[graph.tensor(name)[0]]]
    targets = (
        [*own_outputs, *(name for name in boundary(back, middle) if name not in own_outputs)]
        if back.any()
        else own_outputs
    )
    if not targets:
        return list(inputs), list(outputs)
    still = backward(graph, producers(graph, map(graph.tensor, targets)),
                     frozenset(map(graph.tensor, front_names)) | ends, control=False)  # fmt: skip
    fed = [name for name in inputs if any(still[op] for op, _ in graph.consumers_of(graph.tensor(name)))]
    read_now = [name for name in front_names if name not in fed]
    return [*fed, *read_now], targets


def with_advice(
    blockers: Sequence[Blocker], removed: Mapping[str, Sequence[str]], advice: Mapping[str, str]
) -> tuple[Blocker, ...]:
    """Returns blockers with the code that removes them.

    Args:
        blockers: the blockers.
        removed: code -> the ops that it removes.
        advice: op -> the code to type if no other code removes it.
    """
    out = []
    for one in blockers:
        ways = [how for how, names in removed.items() if one.op in names]
        more = f"{' or '.join(ways[:2])} removes it" if ways else advice.get(one.op, "")
        out.append(Blocker(one.op, one.type, one.kind, one.reason, more))
    return tuple(out)
