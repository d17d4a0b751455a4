"""Size folding: estimates how far shape inference would walk back for the values of sizes, before TensorFlow does it.

If an op needs the value of an input, as Reshape needs the new shape, TensorFlow visits the ops before it until one is
not a constant. Through Cast, StridedSlice and Concat it walks by recursion, and starts a new walk back at each step.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property
from math import prod
from random import Random
from typing import Any, NamedTuple

from ...graph.live import TFNodeDef
from ...words import counted
from ..registry import op_definition
from .outputs import array_in

_WHOLE = frozenset({3, 4, 5, 6, 9, 17, 22, 23})  # the whole numbers among the values of DataType
_WALKED = frozenset({"Cast", "StridedSlice", "Concat", "ConcatV2"})
_BLOCKING = frozenset({"Merge", "RefMerge", "Enter", "RefEnter", "Exit", "RefExit", "PlaceholderWithDefault"})
_STATIC = frozenset({"Shape", "ShapeN", "Rank", "Size"})  # the walk stops at these if the static shape is known
_SIZED = {"Fill": 0, "BroadcastTo": 1, "Tile": 1, "LinSpace": 2, "Range": 0}  # the input that sets the size
_SAID = frozenset({"Const", "Placeholder"})

#: The recursion ends the process at 12,000 on a stack of 8 MB, and some systems give 1 MB.
_MOST_DEEP = 1_000
#: Steps of one walk, if joined sizes are joined again: 0.1 s.
_MOST_STEPS = 1 << 18
#: Ops visited in total, each 0.5 µs: 20 s.
_MOST_LOOKS = 40_000_000
#: Elements of a tensor that is computed by the import: 1 GB of float32.
_MOST_ELEMENTS = 1 << 28
_SAMPLE, _PATIENCE = 200, 300_000


def shape(node: TFNodeDef | None) -> list[int] | None:
    """Returns the static shape that a constant or placeholder states; None if it is not known."""
    if node is None:
        return None
    if node.op in ("Const", "HostConst"):
        return [d.size for d in node.attr["value"].tensor.tensor_shape.dim]
    if node.op == "Placeholder" and "shape" in node.attr and not node.attr["shape"].shape.unknown_rank:
        return [d.size for d in node.attr["shape"].shape.dim]
    return None


class SlowSize(NamedTuple):
    """An op whose shape TensorFlow cannot infer in reasonable time and memory.

    Args:
        subject, reason: the two parts of a sentence about the op.
        op: its name.
    """

    subject: str
    reason: str
    op: str


def slow_sizes(walks: Walks) -> SlowSize | None:
    """Returns an op whose shape TensorFlow cannot infer in reasonable time and memory, and why; None without one."""
    counts = Counter(walks.kinds)
    asking = sum(count for kind, count in counts.items() if _asked(kind))
    if not asking:
        return None
    found = walks.giant()
    if not found and sum(counts[kind] for kind in _WALKED) >= 16:
        found = walks.maze()
    if not found and asking * len(walks.kinds) > _MOST_LOOKS // 2:
        found = walks.toil()
    return found


class Walks:
    """The walks that shape inference would make over some nodes.

    Fields that are used often are read once: reading them costs more than all the rest.

    Args:
        nodes: the NodeDefs of a graph, or of the body of a function.

    Attributes:
        names: the name of each.
        kinds: the op type of each.
        inputs: the inputs of each, as written; an input from outside these nodes counts as fed.
    """

    def __init__(self, nodes: Iterable[TFNodeDef]) -> None:
        self.nodes = list(nodes)
        self.names = [node.name for node in self.nodes]
        self.kinds = [node.op for node in self.nodes]
        self.inputs = [list(node.input) for node in self.nodes]
        self._effort: dict[int, tuple[int, int, int]] = {}

    @cached_property
    def index(self) -> dict[str, int]:
        """Number of each op, by name."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def starts(self) -> list[int]:
        """The ops whose values are needed, each as often as its value is needed."""
        found = []
        for number, kind in enumerate(self.kinds):
            positions = _asked(kind)
            if positions:
                before = self.before(number)
                found += [before[at] for at in positions if -len(before) <= at < len(before) and before[at] >= 0]
        return found

    def before(self, number: int) -> list[int]:
        """Returns the producers of the data inputs of an op; -1 for one that is not here."""
        find = self.index.get
        return [find(text.partition(":")[0], -1) for text in self.inputs[number] if text[:1] != "^"]

    def giver(self, number: int) -> Callable[[int], Any]:
        """Returns a call: position of an input of an op -> the NodeDef that makes it, or None."""
        before = self.before(number)
        return lambda at: self.nodes[before[at]] if at < len(before) and before[at] >= 0 else None

    def looked_at(self, start: int, limit: int, static: bool) -> tuple[float, set[int] | None]:
        """Walks back from an op as TensorFlow does, breadth first, until an op is not a constant.

        Args:
            start: the op whose value is needed.
            limit: the largest number of ops to visit.
            static: stop at a Shape, as if its input had a static shape; otherwise continue, at a small part of the
                cost.

        Returns:
            the number of visited ops; and these ops, if all of them are constant.
        """
        seen, far = {start}, set()
        line, looks = deque([start]), 0.0
        while line and len(seen) < limit:
            number = line.popleft()
            kind = self.kinds[number]
            looks += 0.03 if number in far else 1.0
            before = () if static and kind in _STATIC else self.before(number)
            if _blocks(kind) or -1 in before or (not before and kind not in ("Const", *_STATIC)):
                return looks, None
            for other in before:
                if other not in seen:
                    seen.add(other)
                    line.append(other)
                    if kind in _STATIC or number in far:
                        far.add(other)
        return looks, seen if not line else None

    # -- possible problems -----------------------------------------------------------------------

    def giant(self) -> SlowSize | None:
        """Finds a huge tensor that the import itself would compute, because a size depends on it."""
        sized = [i for i, kind in enumerate(self.kinds) if kind in _SIZED or kind in _SAID]
        giants = {i: size for i in sized if (size := self._elements(i)) > _MOST_ELEMENTS}
        for start in dict.fromkeys(self.starts) if giants else ():
            reached = self.looked_at(start, _PATIENCE, static=True)[1] or {start}
            for number in reached & giants.keys():
                return SlowSize(
                    f"op {self.names[number]!r} ({self.kinds[number]})",
                    f"has {counted(giants[number], 'elements')}, which TensorFlow would compute "
                    "while it opens the file, "
                    f"for the sizes in {self.names[start]!r}",
                    self.names[number],
                )
        return None

    def maze(self) -> SlowSize | None:
        """Finds sizes that are cast, sliced and joined so often that following them would crash or take too long."""
        for start in dict.fromkeys(self.starts):
            steps, _, depth = self._walk(start)
            if depth > _MOST_DEEP or steps > _MOST_STEPS:
                much = f"{depth:,} deep" if depth > _MOST_DEEP else f"in {counted(min(steps, 10**18), 'steps')}"
                return SlowSize(
                    f"the size {self.names[start]!r}",
                    f"is computed by Cast, StridedSlice and Concat ops, which TensorFlow would follow {much}",
                    self.names[start],
                )
        return None

    def toil(self) -> SlowSize | None:
        """Estimates the total number of visited ops from a sample of the walks."""
        sample = Random(0).sample(self.starts, min(_SAMPLE, len(self.starts)))
        costs, spent = [], 0.0
        for start in sample:
            looks, _ = self.looked_at(start, _PATIENCE, static=False)
            costs.append((looks * (1 + self._walk(start)[1]), start))
            spent += looks
            if spent > _PATIENCE:
                break
        looks = sum(cost for cost, _ in costs) / max(len(costs), 1) * len(self.starts)
        if looks <= _MOST_LOOKS:
            return None
        op = self.names[max(costs)[1]]
        return SlowSize(
            counted(len(self.starts), "sizes"),
            f"are at the end of long chains of ops, for example {op!r}: "
            f"TensorFlow would visit about {counted(round(looks), 'ops')} to infer shapes",
            op,
        )

    # -- the parts --------------------------------------------------------------------------------

    def _walk(self, start: int) -> tuple[int, int, int]:
        """Returns (steps, Casts met, depth) of the recursion from an op whose value is needed as a shape."""
        known = self._effort
        stack, under_way = [(start, False)], set()
        while stack:
            number, leaving = stack.pop()
            if number in known and not leaving:
                continue
            parts = self._parts(number)
            if leaving:
                below = [known.get(part, (1, 0, 1)) for part in parts]
                known[number] = (
                    1 + sum(b[0] for b in below),
                    (self.kinds[number] == "Cast") + sum(b[1] for b in below),
                    1 + max((b[2] for b in below), default=0),
                )
                under_way.discard(number)
            elif number not in under_way:
                under_way.add(number)
                stack.append((number, True))
                stack.extend((part, False) for part in parts if part not in known and part not in under_way)
        return known[start]

    def _parts(self, number: int) -> list[int]:
        kind = self.kinds[number]
        if kind not in _WALKED:
            return []
        before = self.before(number)
        parts = {"Concat": before[1:], "ConcatV2": before[:-1]}.get(kind, before[:1])
        return [part for part in parts if part >= 0]

    def _elements(self, number: int) -> int:
        """The number of elements of an op's output, if constants determine it; 0 otherwise."""
        kind = self.kinds[number]
        if kind in _SAID:
            return _product(shape(self.nodes[number]) or [])
        given = [self._numbers(i) for i in self.before(number)]
        if kind != "Range":
            return _product(given[_SIZED[kind]]) if len(given) > _SIZED[kind] else 0
        if len(given) != 3 or any(len(v) != 1 for v in given) or not given[2][0]:
            return 0
        return int(abs((given[1][0] - given[0][0]) / given[2][0]))

    def _numbers(self, number: int) -> list[Any]:
        """The numbers of a small constant; empty if the op is not a constant, or is damaged."""
        if number < 0 or self.kinds[number] != "Const":
            return []
        tensor = self.nodes[number].attr["value"].tensor
        if not 0 < _product(shape(self.nodes[number]) or []) <= 16:
            return []
        array = array_in(tensor)
        return [] if array is None else [v for v in array.ravel().tolist() if isinstance(v, (int, float))]


def _product(sizes: Sequence[Any]) -> int:
    """The number of elements of a shape; 1 for no dimensions, 0 if a dimension is not known."""
    return int(prod(sizes)) if all(isinstance(s, int) and s >= 0 for s in sizes) else 0


@cache
def _asked(kind: str) -> tuple[int, ...]:
    """Positions of the inputs whose values shape inference may need: those that can only be whole numbers."""
    about = op_definition(kind)
    if about is None:
        return ()
    allowed = {a.name: frozenset(a.allowed_values.list.type) for a in about.attr if a.type == "type"}
    args = list(about.input_arg)
    lists = [i for i, arg in enumerate(args) if arg.number_attr or arg.type_list_attr]
    found = []
    for i, arg in enumerate(args):
        kinds = allowed.get(arg.type_attr, frozenset()) if arg.type_attr else frozenset({arg.type})
        if i in lists or not ((kinds and kinds <= _WHOLE) or kind == "Range"):
            continue
        if not lists or i < lists[0]:
            found.append(i)
        elif i > lists[-1]:
            found.append(i - len(args))
    return tuple(found)


@cache
def _blocks(kind: str) -> bool:
    """Whether an op is never taken as constant."""
    about = op_definition(kind)
    return kind in _BLOCKING or about is None or about.is_stateful
