"""The search for a pattern. It first computes domains with arrays, and then backtracks along edges, iteratively."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .boundary import Tensor
from .graph import Graph, Ints, Mask
from .pattern import COMMUTATIVE, Pattern
from .selection import OpView

#: The largest number of sweeps over the edges of the pattern before the search; a pattern without rings needs two.
_SWEEPS = 8
#: A task of the search: its kind, and the ops, inputs or tensors of the pattern that it is about.
Task = tuple[Any, ...]
#: A reason why the search stopped; its text is made only when it is needed.
LazyText = Callable[[], str]


@dataclass(frozen=True)
class Assignment:
    """One assignment of a pattern to the graph: op of the pattern -> op of the graph, and input -> tensor."""

    image: dict[int, int]
    bound: dict[Tensor, Tensor]


@dataclass
class DeadEnd:
    """The furthest point of an unsuccessful search: the placed ops, the next op of the pattern, and the reason."""

    image: dict[int, int]
    op: int
    reason: LazyText


@dataclass(frozen=True, eq=False)
class Reason:
    """A reason why the search stopped, with its kind."""

    kind: str
    text: LazyText

    def __call__(self) -> str:
        return self.text()


class PatternSearch:
    """The search for one pattern in one graph.

    Args:
        graph: the graph to search.
        pattern: the pattern to look for.
        within: the ops that may be used.
        narrow: whether to exclude ops that cannot fit before the search; without this, the search stops at a reason
            that is easier to understand.
    """

    def __init__(self, graph: Graph, pattern: Pattern, within: Mask | None = None, narrow: bool = True) -> None:
        self.graph, self.pattern, small = graph, pattern, pattern.graph
        self.ops = pattern.numbers
        inner = set(self.ops)
        self.sources: dict[int, list[Tensor]] = {p: small.data.ends(p) for p in self.ops}
        self.control_pairs = [(p, int(q)) for p in self.ops for q in small.control.row(p) if int(q) in inner]
        self.free = {p: len(self.sources[p]) > 1 and pattern.accepted_types(p) <= COMMUTATIVE for p in self.ops}
        reads = [t for p in self.ops for t in self.sources[p] if t[0] not in inner]
        self.once = {t for t in reads if reads.count(t) == 1}
        self.inner = inner
        counts = graph.data.degrees
        self.domain: dict[int, Mask] = {}
        for p in self.ops:
            mask = graph.type_mask(pattern.accepted_types(p))
            if narrow:
                mask &= counts == len(self.sources[p])
            self.domain[p] = mask if within is None else mask & within
        if narrow:
            self._narrow()
        self.in_match = np.zeros(graph.size, np.bool_)
        self.steps = 0
        self.undecided = 0
        self.stop: DeadEnd | None = None
        self._fits: dict[tuple[int, int], str] = {}
        self._deepest = (-1, False)
        self._spreads: dict[tuple[int, int], float] = {}
        self._tasks: dict[int, list[Task]] = {}
        self._consumers: dict[tuple[int, Tensor], list[int]] = {}

    # -- before the search ----------------------------------------------------------------------

    def _narrow(self) -> None:
        """Removes from each domain the ops without a partner along an edge of the pattern."""
        edges = [(p, s, t) for p in self.ops for s, t in enumerate(self.sources[p]) if t[0] in self.inner]
        for _ in range(_SWEEPS):
            before = [int(np.count_nonzero(self.domain[p])) for p in self.ops]
            for p, slot, (q, port) in edges:
                self._along(p, slot, q, port)
            for p, slot, (q, port) in reversed(edges):
                self._along(p, slot, q, port)
            control = self.graph.control
            for p, q in self.control_pairs:
                hit = self.domain[p][control.rows] & self.domain[q][control.node]
                self.domain[p] &= self.graph.mask(control.rows[hit])
                self.domain[q] &= self.graph.mask(control.node[hit])
            after = [int(np.count_nonzero(self.domain[p])) for p in self.ops]
            if after == before or 0 in after:
                return

    def _along(self, p: int, slot: int, q: int, port: int) -> None:
        data, here = self.graph.data, np.flatnonzero(self.domain[p])
        wide = len(self.sources[p])
        fits, reached = np.zeros(len(here), np.bool_), np.zeros(self.graph.size, np.bool_)
        for at in range(wide) if self.free[p] else (slot,):
            edge = data.ptr[here] + at
            good = self.domain[q][data.node[edge]] & (data.port[edge] == port)
            fits |= good
            reached[data.node[edge[good]]] = True
        self.domain[p][here[~fits]] = False
        self.domain[q] &= reached

    def starts(self, root: int) -> list[int]:
        """Returns the ops of the graph at which the search from a pattern op may begin, in graph order."""
        return [int(i) for i in np.flatnonzero(self.domain[root])]

    def best_root(self) -> int:
        """Returns the pattern op from which the search has the fewest choices."""
        # One constant may be part of many matches, so the search does not begin at it.
        own = [p for p in self.ops if self.pattern.accepted_types(p) != {"Const"}]
        return min(own or self.ops, key=self._cost)

    def _cost(self, root: int) -> float:
        cost = float(np.count_nonzero(self.domain[root]))
        for task in self.tasks(root):
            if task[0] == "reader":
                cost *= max(1.0, self._spread(task[1], task[2]))
        return cost

    def _spread(self, p: int, slot: int) -> float:
        """Returns the average number of consumers of an op that the search must choose from."""
        at = p, slot
        if at not in self._spreads:
            here = np.flatnonzero(self.domain[p])
            data = self.graph.data
            far = here if self.free[p] else np.flatnonzero(self.graph.mask(data.node[data.ptr[here] + slot]))
            self._spreads[at] = len(here) / max(1, len(far))
        return self._spreads[at]

    def tasks(self, root: int) -> list[Task]:
        """Returns the tasks of the search from a root: inputs first, and consumers only if there is no other way."""
        matched, tensors, paired = {root}, set[Tensor](), set[tuple[int, int]]()
        out: list[Task] = [("root", root)]
        queue = [root]
        while True:
            while queue:
                p = queue.pop(0)
                order = sorted(enumerate(self.sources[p]), key=lambda pair: self._rank(pair[1], matched, tensors))
                for slot, tensor in order:
                    out.append(("input", p, slot, tensor))
                    if tensor[0] not in self.inner:
                        tensors.add(tensor)
                    elif tensor[0] not in matched:
                        matched.add(tensor[0])
                        queue.append(tensor[0])
                for pair in self.control_pairs:
                    if pair not in paired and p in pair and matched.issuperset(pair):
                        paired.add(pair)
                        out.append(("waits", *pair))
            step = self._onward(matched, tensors)
            if step is None:
                return out
            out.append(step)
            matched.add(step[1])
            queue.append(step[1])

    def _rank(self, tensor: Tensor, placed: set[int], bound: set[Tensor]) -> int:
        if tensor[0] in self.inner:
            return 0 if tensor[0] in placed else 1
        return 2 if tensor in bound else 3 if tensor not in self.once else 4

    def _onward(self, matched: set[int], tensors: set[Tensor]) -> Task | None:
        """Returns the next op that no input leads to: a consumer, an op at the end of a control edge, or any op."""
        rest = [p for p in self.ops if p not in matched]
        for anchors in (matched, set[int]()):
            for p in rest:
                for slot, tensor in enumerate(self.sources[p]):
                    if tensor[0] in anchors or (not anchors and tensor in tensors):
                        return "reader", p, slot, tensor
        for p, q in self.control_pairs:
            if (p in matched) != (q in matched):
                return ("waited", q, p) if p in matched else ("waiting", p, q)
        return ("any", rest[0]) if rest else None

    # -- the search -----------------------------------------------------------------------------

    def run(self, root: int, start: int, budget: int) -> Iterator[Assignment]:
        """Yields the assignments of the pattern with its root at an op; stops after `budget` steps."""
        tasks = self.tasks_of(root)
        state = _SearchState({}, {}, {}, {}, {})
        frames: list[Iterator[Any]] = [iter([start])]
        undo: list[list[tuple[dict[Any, Any], Any]]] = []
        end = self.steps + budget
        while frames:
            if len(undo) == len(frames):
                for table, key in reversed(undo.pop()):
                    del table[key]
            task = tasks[len(frames) - 1]
            choice = next(frames[-1], None)
            if choice is None:
                frames.pop()
                continue
            self.steps += 1
            if self.steps > end:
                self.undecided += 1
                return
            changes: list[tuple[dict[Any, Any], Any]] = []
            why = self._try(task, choice, state, changes)
            undo.append(changes)
            if why is not None:
                self._note(state, task, why)
                continue
            if len(frames) == len(tasks):
                yield Assignment(dict(state.image), dict(state.bound))
                continue
            following = tasks[len(frames)]
            choices = self._choices(following, state)
            if not choices:
                self._note(state, following, self._nobody(following, state))
            frames.append(reversed(choices) if following[0] == "reader" else iter(choices))

    def _nobody(self, task: Task, state: _SearchState) -> LazyText:
        """Returns why a task has no choices, given the placed ops."""
        image = {p: self.graph.names[op] for p, op in state.image.items()}
        if task[0] == "input":
            return lambda: f"{image[task[1]]!r} has too few inputs"
        if task[0] == "reader":
            tensor = state.tensor(task[3])
            return lambda: f"no op reads '{self.graph.name(tensor)}'"
        if task[0] == "waited":
            return lambda: f"{image[task[2]]!r} waits for no op"
        return lambda: f"no op waits for {image.get(task[-1], '')!r}"

    def tasks_of(self, root: int) -> list[Task]:
        """Returns the tasks from a root, which are computed only once."""
        if root not in self._tasks:
            self._tasks[root] = self.tasks(root)
        return self._tasks[root]

    def _choices(self, task: Task, state: _SearchState) -> Sequence[Any]:
        kind, p, graph = task[0], task[1], self.graph
        if kind == "input":
            return self._slots(task, state)
        if kind == "waits":
            return [0]
        if kind == "reader":
            return self._readers_of(p, state.tensor(task[3]))
        if kind == "waited":
            readers = graph.control.row(state.image[task[2]])
        elif kind == "waiting":
            readers = graph.control_consumers.row(state.image[task[2]])
        else:
            readers = np.flatnonzero(self.domain[p]).astype(np.int32)
        return self._likely(p, readers)

    def _readers_of(self, p: int, tensor: Tensor) -> Sequence[int]:
        """Returns the consumers of a tensor that may match p; thousands of consumers are searched only once."""
        stack = self._consumers.get((p, tensor))
        if stack is None:
            node, port = tensor
            edges = self.graph.consumers
            begin, end = edges.ptr[node], edges.ptr[node + 1]
            candidates = self._likely(p, edges.node[begin:end][edges.port[begin:end] == port])
            stack = self._consumers[p, tensor] = candidates[::-1]
        while stack and self.in_match[stack[-1]]:
            stack.pop()  # ops of another match stay taken
        return stack

    def _likely(self, p: int, ops: Ints) -> list[int]:
        """Returns those of some ops that may match p; if there are none, one op, to explain why."""
        fit = ops[self.domain[p][ops]]
        return list(dict.fromkeys((fit if len(fit) else ops[:1]).tolist()))

    def _slots(self, task: Task, state: _SearchState) -> list[int]:
        """Returns the inputs of the graph's op that may match an input of the pattern's op; several if unordered."""
        _, p, slot, tensor = task
        op = state.image[p]
        count = int(self.graph.data.ptr[op + 1] - self.graph.data.ptr[op])
        info = self.graph.info(op, 0) if self.free[p] and self.graph.types[op] == "Add" else None
        if not self.free[p] or (info is not None and info.dtype.startswith("string")):
            return [slot] if slot < count else []
        free = [at for at in range(count) if (p, at) not in state.slots]
        # If the pattern reads a tensor only here, any tensor matches, so one choice is enough.
        return free[:1] if tensor in self.once else free

    def _try(self, task: Task, choice: Any, state: _SearchState, changes: list[Any]) -> LazyText | None:
        kind, p, graph = task[0], task[1], self.graph
        if kind == "waits":
            op, other = state.image[p], state.image[task[2]]
            waits = other in graph.control.row(op)
            return None if waits else Reason(kind, lambda: f"{self._op(op)} does not wait for {self._op(other)}")
        if kind != "input":
            return self._place(p, int(choice), state, changes)
        _, _, slot, tensor = task
        op = state.image[p]
        edge = int(graph.data.ptr[op]) + choice
        have = int(graph.data.node[edge]), int(graph.data.port[edge])

        def reads(text: LazyText) -> Reason:
            return Reason(kind, lambda: f"input {choice} of {self._op(op)} reads {text()}")

        _record(state.slots, (p, choice), slot, changes)
        if tensor[0] in self.inner:
            q, port = tensor
            if have[1] != port:
                return reads(lambda: f"output {have[1]} of its source, not {port}")
            there = state.image.get(q, have[0])
            if there != have[0]:
                return reads(lambda: f"'{graph.name(have)}', not {graph.names[there]!r}")
            return None if q in state.image else self._place(q, have[0], state, changes)
        bound = state.bound.get(tensor, have)
        if bound != have:
            return reads(lambda: f"'{graph.name(have)}', not '{graph.name(bound)}' as before")
        if tensor in state.bound:
            return None
        if have[0] in state.used:
            return reads(lambda: f"'{graph.name(have)}', which the match computes itself")
        _record(state.bound, tensor, have, changes)
        if have[0] not in state.fed:
            _record(state.fed, have[0], True, changes)
        return None

    def _place(self, p: int, op: int, state: _SearchState, changes: list[Any]) -> LazyText | None:
        if not self.domain[p][op]:
            return Reason("kind", lambda: f"{self._op(op)} is {self._unlike(p, op)}")
        if op in state.used or op in state.fed:
            return Reason("twice", lambda: f"{self._op(op)} already matches another op of the pattern")
        if self.in_match[op]:
            return Reason("taken", lambda: f"{self._op(op)} is part of another match")
        if p in self.pattern.conditions:
            text = self._fits.get((p, op))
            if text is None:
                view = OpView(self.graph, op)
                texts = (condition.incompatibility(view) for condition in self.pattern.conditions[p])
                text = self._fits[p, op] = next((text for text in texts if text), "")
            if text:
                return Reason("condition", lambda: f"{self._op(op)} does not fit: {text}")
        _record(state.image, p, op, changes)
        _record(state.used, op, p, changes)
        return None

    def _op(self, number: int) -> str:
        return f"{self.graph.names[number]!r} ({self.graph.types[number]})"

    def _unlike(self, p: int, op: int) -> str:
        kinds = self.pattern.accepted_types(p)
        right = self.graph.types[op] in kinds
        return "outside the ops to look in" if right else f"not of type {' or '.join(sorted(kinds))}"

    def _note(self, state: _SearchState, task: Task, reason: LazyText) -> None:
        # If two dead ends are equally far, a wrong type is the weaker reason: with free order of inputs, one of the
        # orders always ends with it.
        rank = len(state.image), getattr(reason, "kind", "") != "kind"
        if rank > self._deepest:
            self._deepest = rank
            op = task[3][0] if task[0] == "input" and task[3][0] in self.inner else task[1]
            self.stop = DeadEnd(dict(state.image), op, reason)


@dataclass
class _SearchState:
    """The placed parts: pattern op -> op, op -> pattern op, inputs used, tensors bound, and their producers."""

    image: dict[int, int]
    used: dict[int, int]
    slots: dict[tuple[int, int], int]
    bound: dict[Tensor, Tensor]
    fed: dict[int, bool]

    def tensor(self, tensor: Tensor) -> Tensor:
        """Returns the tensor of the graph for a tensor of the pattern."""
        return (self.image[tensor[0]], tensor[1]) if tensor[0] in self.image else self.bound[tensor]


def _record(table: dict[Any, Any], key: Any, value: Any, changes: list[Any]) -> None:
    table[key] = value
    changes.append((table, key))
