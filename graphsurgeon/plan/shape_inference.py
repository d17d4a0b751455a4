"""Finds the ops of a plan that keep the static shapes of their originals."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

import numpy as np

from ..graph.concurrency import once
from ..graph.graph import Graph, Ints, Mask, TensorInfo, value_info
from ..graph.traversal import forward
from ..graph.variables import FEED_TYPES, INPUT_TYPES
from .plan_result import PlanResult

Shape = tuple[int | None, ...] | None

#: Ops with a value that shape inference does not know, so another value cannot change an inferred shape.
_INPUT_TYPES = FEED_TYPES | INPUT_TYPES | {"ReadVariableOp", "Variable", "VariableV2"}
_INTEGER_DTYPES = ("int32", "int64")
_HANDLES = ("resource", "variant")


def is_subshape(new: Shape, old: Shape) -> bool:
    """Returns whether every tensor that fits `new` also fits `old`, which may be less specific.

    Example:
        >>> is_subshape((5, 8), (None, 8)), is_subshape((None, 8), (5, 8))
        (True, False)
        >>> is_subshape((2,), None), is_subshape((2,), (2, 2))
        (True, False)
    """
    if old is None:
        return True
    if new is None or len(new) != len(old):
        return False
    return all(b is None or a == b for a, b in zip(new, old, strict=True))


def stale_shapes(effect: PlanResult) -> Mask:
    """Returns a mask of the ops after a plan whose outputs may differ in shape from those of their originals.

    A shape that the program set (`set_shape`) also holds for a copy under one condition: all tensors that the copy is
    computed from have the same or narrower shapes than for the original.
    """
    after, removed = effect.after, effect.base.mask(sorted(effect.removed))
    start = np.zeros(after.size, np.bool_)
    if effect.mode != "append":
        stay = np.flatnonzero(~removed).astype(np.int32)
        place = np.full(effect.base.size, -1, np.int32)
        place[stay] = np.arange(len(stay), dtype=np.int32)
        _mark(start, after, effect.base, stay, place, 0)
    for copied in effect.copies:
        # A placeholder that replaces a resource is fed with the resource.
        fed = {(copied.source.index[_op(p.original)], after.index.get(p.name, -1)) for p in copied.placeholders}
        same = effect.mode == "append" and copied.source.owner is effect.base.owner
        first = effect.first_new if same else 0
        _mark(start, after, copied.source, copied.ops, copied.positions, first, fed)
    start[changed_ops(effect)] = True
    return forward(after, start, control=False) if start.any() else start


def changed_ops(effect: PlanResult) -> list[int]:
    """Returns the numbers of ops with changed attributes; attributes that begin with ``_`` do not count."""
    index = effect.after.index
    operands = (
        name for name, change in effect.changes.items() if any(not key.startswith("_") for key in change.attributes)
    )
    return [index[name] for name in operands if name in index]


def frontier(after: Graph, candidates: Mask) -> Mask:
    """Returns a mask of the ops that keep their shapes and have a consumer with newly inferred shapes."""
    out = np.zeros(after.size, np.bool_)
    if candidates.any():
        out[after.data.node[candidates[after.data.rows]]] = True
    return out & ~candidates


def _op(tensor: str) -> str:
    return tensor.partition(":")[0]


def _mark(
    start: Mask,
    after: Graph,
    source: Graph,
    ops: Ints,
    place: Ints,
    first: int,
    placeholder_pairs: Container[tuple[int, int]] = frozenset(),
) -> None:
    """Marks copies with inputs that are not copies of the inputs of their originals.

    Args:
        start: the mask, over the ops of `after`.
        after, source: the graph after the plan, and the graph that the ops are copied from.
        ops, place: the copied ops; for each op of the source the number of its copy, or -1.
        first: the number of unchanged ops of the source at the start of `after`.
        placeholder_pairs: (op of the source, placeholder that replaces it).
    """
    here = place[ops]
    counts = source.data.degrees[ops] == after.data.degrees[here]
    start[here[~counts]] = True
    ops, here = ops[counts], here[counts]
    rows, then = source.data.gather(ops)
    _, now = after.data.gather(here)
    was, was_port = source.data.node[then], source.data.port[then]
    new, new_port = after.data.node[now], after.data.port[now]
    same = (place[was] == new) & (was_port == new_port)
    is_safe: dict[tuple[int, int, int, int], bool] = {}
    for at in np.flatnonzero(~same).tolist():
        key = int(was[at]), int(was_port[at]), int(new[at]), int(new_port[at])
        if key not in is_safe:
            is_unchanged = key[2] < first and source.names[key[0]] == after.names[key[2]] and key[1] == key[3]
            is_fed_handle = (key[0], key[2]) in placeholder_pairs and _is_handle(source, key[:2])
            is_safe[key] = is_unchanged or is_fed_handle or _takes_place(source, key[:2], after, key[2:])
        if not is_safe[key]:
            start[here[rows[at]]] = True


def _takes_place(source: Graph, old: tuple[int, int], after: Graph, new: tuple[int, int]) -> bool:
    """Returns whether all known shapes downstream of a tensor still hold if another tensor replaces it."""
    node = source.nodes[old[0]]
    if node is not None and node is after.nodes[new[0]] and old[1] == new[1]:
        return True  # a copy of the same op
    a, b = source.info(*old), after.info(*new)
    if a is None or b is None:
        return False
    if a.dtype in _HANDLES:
        old_variable = _variable_of_handle(source, old[0])
        mine = _variable_of_handle(after, new[0]) if b.dtype == a.dtype else b
        return old_variable is not None and mine is not None and is_subshape(mine.shape, old_variable.shape)
    if not is_subshape(b.shape, a.shape):
        return False
    if (
        a.dtype not in _INTEGER_DTYPES
        or (a.shape is not None and len(a.shape) > 1)
        or source.types[old[0]] in _INPUT_TYPES
    ):
        return True
    # The tensor may be a size, and shapes may have been inferred from its value.
    values = [_value(graph.nodes[op]) for graph, op in ((source, old[0]), (after, new[0]))]
    return values[0] is not None and values[0] == values[1]


def _is_handle(graph: Graph, tensor: tuple[int, int]) -> bool:
    info = graph.info(*tensor)
    return info is not None and info.dtype in _HANDLES


def _variable_of_handle(graph: Graph, op: int) -> TensorInfo | None:
    variable = graph.state.variables.get(graph.names[op])
    return None if variable is None else value_info(variable)


def _value(node: object) -> object:
    attrs = getattr(node, "attr", {})
    return attrs["value"].tensor if getattr(node, "op", "") == "Const" and "value" in attrs else None


class PredictedOutputs:
    """Predicts dtype and shape of the outputs of ops after a plan; a shape that only TensorFlow can infer is unknown.

    If the attributes of an op have changed, even the number of its outputs is unknown.

    Args:
        effect: the effect, with all its steps.
    """

    def __init__(self, effect: PlanResult) -> None:
        self._effect, self._original_outputs = effect, effect.after.outputs_of
        self.lock = effect.lock
        self._complete: PlanResult | None = None

    def set_effect(self, effect: PlanResult) -> None:
        """Sets the complete effect, which includes this object; from then on TensorFlow can infer shapes."""
        self._complete = effect

    def __call__(self, number: int) -> Sequence[TensorInfo] | None:
        outputs = self._original_outputs(number) if self._original_outputs else None
        if outputs is None or not self._original(number):
            return outputs
        loose = self._loose
        if number in self._changed_ops:
            return None
        if loose[number]:
            return [TensorInfo(t.dtype, None) for t in outputs]
        return self._contradictions().get(number, outputs)

    def declared_outputs(self, number: int) -> Sequence[TensorInfo] | None:
        """Returns the outputs of an op with newly inferred shapes, for pictures; planning does not need them."""
        shapes = self._complete.inference.resized.get(number) if self._complete is not None else None
        return self(number) if shapes is None else shapes

    @once(recursive_value=lambda self: np.zeros(self._effect.after.size, np.bool_))
    def _loose(self) -> Mask:
        """A mask of the ops whose outputs may differ in shape from those of their originals."""
        return stale_shapes(self._effect)

    @once(recursive_value=lambda foreseen: frozenset[int]())
    def _changed_ops(self) -> frozenset[int]:
        """The ops that get other attributes."""
        return frozenset(changed_ops(self._effect))

    def _contradictions(self) -> Mapping[int, Sequence[TensorInfo]]:
        """Returns the shapes that TensorFlow infers for ops with known shapes that do not hold after the plan."""
        effect = self._complete
        return effect.inference.inferred if effect is not None and self._narrower else {}

    @once(recursive_value=lambda foreseen: False)
    def _narrower(self) -> bool:
        """Whether an op, or a copy, reads a tensor of another dtype or shape than before."""
        effect = self._complete
        assert effect is not None
        return bool(effect.blame) or any(
            copied.source.info(*old) != effect.after.info(effect.after.index[name], port)
            for copied in effect.copies
            for old, (name, port) in copied.input_map.items()
        )

    def _original(self, number: int) -> bool:
        """Whether an op has an original; in ``append`` mode, the existing ops are themselves the originals."""
        return self._effect.mode != "append" or number >= self._effect.first_new
