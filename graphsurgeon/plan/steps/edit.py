"""The steps that remove, bypass, rename and set existing ops, and the one that rebuilds the graph."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Annotated, Any, ClassVar

from ...errors import PlanError, SurgeryError, counted, did_you_mean, few
from ...graph.boundary import Tensor
from ...graph.graph import Graph
from ...graph.names import device_parts, free_name, invalid_name_fault, valid_name
from ...graph.rewiring import Edge
from ...graph.selection import Selection
from ...graph.traversal import components, reachable_from
from ..dependencies import needed_ops
from ..edge_checks import consumers_of
from ..edit_state import EditState
from ..fault import Fault, RefusedStep
from ..function_source import Sources, literal
from ..mutable_graph import MutableGraph
from ..plan_result import OpChange
from ..removal import readers_fault
from ..type_check import fits
from .base import (
    INITIAL,
    Adaptation,
    Attributes,
    Code,
    DestinationName,
    NewName,
    OpNames,
    PlainText,
    Step,
    call_code,
    ops_code,
    with_names,
)
from .insert import is_built_op


@dataclass(frozen=True)
class BypassStep(Step):
    """The consumers of ops read the inputs of these ops; see `Plan.bypass`."""

    ops: Annotated[OpNames, "Ops"]
    input: int | DestinationName | None
    output: int | DestinationName | None
    code_argument: Selection | DestinationName | None = None  # the selection or scope, for its code

    @cached_property
    def request(self) -> str:
        if len(self.ops) != 1:
            return f"bypass({counted(len(self.ops), 'ops')})"
        return replace(self, code_argument=None).code(Sources()).removeprefix(".")

    def resolve(self, state: EditState) -> None:
        """Makes the consumers of the ops read a tensor that enters the ops, for each connected part separately."""
        request = self.request
        (numbers,) = state.find_ops(request, self.ops)
        if len(set(numbers)) == 1:
            self._one(state, numbers[0])
            return
        parts = list(_parts(state.after, numbers))
        if len(parts) > 1 and not (self.input is None and self.output is None):
            problem = f"the ops form {len(parts)} unconnected parts, and input= or output= can belong to only one part"
            raise PlanError(request, problem, "Bypass each part in its own step, or leave input= and output= out")
        resolved = bool(state.faults)
        for part in parts:
            try:
                resolved |= self._around(state, part)
            except SurgeryError as error:
                state.faults.append(Fault.from_error(error))
                resolved = True
        if not resolved:
            problem = "no op outside reads a tensor that they compute from an entering tensor"
            raise PlanError(request, problem, "Choose the ops between two tensors: ed.select(inputs=..., outputs=...)")

    def code(self, sources: Sources) -> str:
        given = self.code_argument if len(self.ops) != 1 or isinstance(self.code_argument, str) else None
        return call_code("bypass", ops_code(self.ops, given, sources), input=self.input, output=self.output)

    def describe(self) -> str:
        return f"bypass {few(self.ops)}"

    def adapted(self, old: str, new: str, name: str) -> Adaptation | None:
        return ({"to": old}, (), "") if len(self.ops) == 1 else None

    def _one(self, state: EditState, op: int) -> None:
        """Bypasses one op: by default, its input 0 replaces its output 0."""
        request, graph, name = self.request, state.graph, state.graph.names[op]
        port = 0 if self.output is None else self.output
        ((old,),) = state.find_tensors(request, [port if isinstance(port, str) else f"{name}:{port}"])
        if old[0] != op:
            problem = f"{self.output!r} is not an output of {name!r}"
            raise PlanError(request, problem, f"Choose one, such as output='{name}:0'")
        reads = graph.input_names(op)
        at = 0 if self.input is None else self.input
        if isinstance(at, str):
            whole = at if ":" in at else f"{at}:0"
            at = reads.index(whole) if whole in reads else -1
        if not 0 <= at < len(reads):
            have = f"it has {counted(len(reads), 'inputs')}" + f": {few(reads)}" * bool(reads)
            problem = f"op {name!r} has no input {0 if self.input is None else self.input}; {have}"
            raise PlanError(request, problem, "Choose another input=")
        new = graph.source(op, at)
        edges = [(i, at, new) for i, at in consumers_of(graph, old) if i != op]
        state.rewire(request, edges, [(old, new)], removes=True)

    def _around(self, state: EditState, part: Sequence[int]) -> bool:
        """Bypasses one connected part: an entering tensor replaces the leaving tensors; false if there are none."""
        graph, inside = state.graph, set(part)
        enters = _entering(graph, inside)
        below = _below(graph, inside, enters)
        readers = {
            (op, port): [end for end in ends if end[0] not in inside]
            for op in sorted(below)
            for port, ends in graph.consumers_by_output(op).items()
        }
        leaves = [tensor for tensor, ends in readers.items() if ends]
        output = self._named_end(state, "output", self.output, leaves)
        leaves = leaves if output is None else [output]
        new = self._named_end(state, "input", self.input, enters)
        if state.faults or not enters or not leaves:
            return False
        if new is None:
            new = self._bypass_input(graph, inside, enters, leaves)
        edges = [(i, at, new) for t in leaves for i, at in readers[t]]
        state.rewire(self.request, edges, [(t, new) for t in leaves], removes=True)
        return True

    def _named_end(self, state: EditState, word: str, end: int | str | None, tensors: list[Tensor]) -> Tensor | None:
        """Returns the tensor that `input` or `output` gives by name or by its place in `tensors`; None by default."""
        if end is None:
            return None
        if isinstance(end, int):
            tensor = tensors[end] if 0 <= end < len(tensors) else None
        else:
            ((candidate,),) = state.find_tensors(self.request, [end])
            tensor = candidate if candidate in tensors else None
        if tensor is None:
            does = "enter the ops" if word == "input" else "leave the ops on a path from an entering tensor"
            names = [repr(state.graph.name(t)) for t in tensors]
            problem = f"{word}={end!r} is not possible: the tensors that {does} are {few(names, 6) or '(none)'}"
            suggestion = f"Choose one, such as {word}={names[0]}" if names else "Select ops that read and are read"
            raise PlanError(self.request, problem, suggestion)
        return tensor

    def _bypass_input(
        self, graph: MutableGraph, inside: set[int], entering: list[Tensor], leaving: list[Tensor]
    ) -> Tensor:
        """Returns the only entering tensor that leads to all leaving tensors and fits them; refuses any other count."""
        if len(entering) == len(leaving) == 1:
            return entering[0]  # a tensor that does not fit gets a fault later
        below = cache(lambda tensor: _below(graph, inside, [tensor]))
        candidates = _substitutes(graph, entering, leaving, below)
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            names = few([graph.name(t) for t in candidates], 6)
            problem = f"{counted(len(candidates), 'entering tensors')} could be read instead: {names}"
            raise PlanError(self.request, problem, f"Choose one: input={graph.name(candidates[0])!r}")
        sides = [few([_tensor_text(graph, t) for t in side], 4) for side in (entering, leaving)]
        problem = f"no entering tensor can replace all leaving tensors: {sides[0]} against {sides[1]}"
        fitting = {out: _substitutes(graph, entering, [out], below) for out in leaving}
        pairs = [(t, out) for t in entering for out in leaving if t in fitting[out]]
        way = f"input={graph.name(pairs[0][0])!r}, output={graph.name(pairs[0][1])!r}" if pairs else ""
        suggestion = f"Choose the tensors: {way}" if way else "Select ops that keep the shape"
        raise PlanError(self.request, problem, suggestion)


@dataclass(frozen=True)
class RemoveStep(Step):
    """Ops are removed; see `Plan.remove`."""

    call: ClassVar = "remove", "ops"

    ops: Annotated[OpNames, "Ops"]
    stitch: Annotated[bool, "Reconnect"] = False

    def resolve(self, state: EditState) -> None:
        """Marks the ops to remove; they are removed after all steps."""
        request = self.request
        (numbers,) = state.find_ops(request, self.ops)
        late = [i for i in numbers if i >= state.base.size]
        others = [i for i in late if not is_built_op(state, i)]
        if others:
            name = state.graph.names[others[0]]
            raise PlanError(request, f"{name!r} is made by this plan", "Delete the step that makes it instead")
        pairs: dict[Tensor, Tensor] = {}
        if self.stitch:
            _stitch(state, request, set(numbers), pairs)
        state.remove(i for i in numbers if i < state.base.size)
        state.needs_new_graph = True
        if not late or state.faults:
            return
        graph = state.after
        removed = graph.mask(late)
        fault = readers_fault(graph, removed | graph.mask(state.removed), request)
        if fault is not None:
            raise RefusedStep([fault])
        state.drop(late, pairs)

    def describe(self) -> str:
        return f"remove {few(self.ops)}" + (" and reconnect their consumers" if self.stitch else "")


@dataclass(frozen=True)
class SetStep(Step):
    """Attributes or the device of ops are set; see `Plan.set_attr` and `Plan.set_device`."""

    ops: Annotated[OpNames, "Ops"]
    attributes: Annotated[Attributes, "Attribute"] = ()
    device: Annotated[PlainText | None, "Device"] = None

    @cached_property
    def request(self) -> str:
        return self.shortened().code(None).removeprefix(".")

    def resolve(self, state: EditState) -> None:
        """Sets attributes or the device of ops."""
        request = self.request
        (ops,) = state.find_ops(request, self.ops)
        if self.device is not None and device_parts(self.device) is None:
            problem = f"{self.device!r} is not a device"
            raise PlanError(request, problem, "Type one, such as '/cpu:0' or '/job:ps/task:1'")
        for name, value in self.attributes:
            if value is None and not name.startswith("_"):
                problem = f"{name!r} is an attribute that the op type needs"
                raise PlanError(request, problem, "Only attributes that begin with '_' can be cleared")
        for op in dict.fromkeys(ops):
            state.change(op, OpChange(dict(self.attributes), self.device))

    def code(self, sources: Sources | None) -> str:
        if self.device is not None:
            return call_code("set_device", self.ops, self.device)
        name, value = self.attributes[0]
        return call_code("set_attr", self.ops, name, Code(literal(value, sources)))

    def describe(self) -> str:
        if self.device is not None:
            return f"place {few(self.ops)} on {self.device or 'any device'}"
        return f"set {', '.join(name for name, _ in self.attributes)} of {few(self.ops)}"


@dataclass(frozen=True)
class RenameStep(Step):
    """Ops and whole name scopes are renamed, all at once; see `Plan.rename`."""

    names: Annotated[tuple[tuple[DestinationName, NewName], ...], "New name"]
    values: Any = None

    @cached_property
    def request(self) -> str:
        return replace(self, values=None).code(Sources()).removeprefix(".")

    def resolve(self, state: EditState) -> None:
        """Renames ops and scopes, after all checks."""
        graph, names = state.graph, dict(self.names)
        names_by_op: dict[int, str] = {}
        for old in sorted(names, key=len):  # a new name for an op overrides that of its scope
            own = [graph.index[old]] if old in graph.index else []
            ops = [*own, *graph.ops_in_scope(old)]
            if not ops:
                now = state.new_name(old)
                near = f"An earlier step renamed it to {now!r}" if now else ""
                near = near or did_you_mean(old, [*state.after.scopes.names[1:], *state.after.index])
                raise PlanError(self.request, f"no op and no scope is called {old!r}", near)
            names_by_op.update({op: names[old] + graph.names[op][len(old) :] for op in ops})
        self._refuse(state, names_by_op)
        if self.values is not None:
            state.revalued[state.step] = tuple(names_by_op)
        state.rename({op: name for op, name in names_by_op.items() if name != graph.names[op]})

    def code(self, sources: Sources) -> str:
        plain = self.values is None or self.values == INITIAL
        values = self.values if plain else Code(sources.names.values_code(self))
        if len(self.names) > 1:
            return call_code("rename", dict(self.names), values=values)
        ((old, new),) = self.names
        return call_code("rename", old, to=new, values=values)

    def describe(self) -> str:
        return "rename " + few([f"{old} to {new}" for old, new in self.names])

    def renamed(self, name: str) -> str:
        """Returns the name of an op or tensor after the step."""
        op, colon, port = name.partition(":")
        lead = max((old for old, _ in self.names if op == old or op.startswith(f"{old}/")), key=len, default=None)
        return name if lead is None else dict(self.names)[lead] + op[len(lead) :] + colon + port

    def _refuse(self, state: EditState, new_names: Mapping[int, str]) -> None:
        """Raises PlanError if a new name is not valid or already taken."""
        graph, owners = state.graph, dict[str, int]()
        bad = next((new for old, new in self.names if new != old and not valid_name(new)), None)
        if bad is not None:
            raise PlanError(self.request, *invalid_name_fault(bad, "a name of an op", graph.is_name_used))
        for op, name in new_names.items():
            there = graph.index.get(name)
            problem = ""
            if there is not None and there not in new_names:
                problem = f"the name {name!r} is taken in {graph.title}"
            if name in owners:
                both = f"{graph.names[owners[name]]!r} and {graph.names[op]!r}"
                problem = problem or f"{both} would both be called {name!r}"
            if problem:
                wish = next((new for _, new in self.names if name == new or name.startswith(f"{new}/")), name)
                way = f"Type a name that is free, such as {free_name(wish, graph.is_name_used)!r}"
                raise PlanError(self.request, problem, f"{way}, or rename both at once: {{old: new, ...}}")
            owners[name] = op


@dataclass(frozen=True)
class RebuildStep(Step):
    """The graph is rebuilt without its orphans; this is a step of the editor, not of a plan."""

    needs_complete_graph: ClassVar = True

    orphans: OpNames

    def resolve(self, state: EditState) -> None:
        """Marks the orphans that no other op needs as removed."""
        graph = state.after
        removed = graph.mask(graph.index[name] for name in self.orphans if name in graph.index)
        removed &= ~needed_ops(graph, ~removed)
        needed_count = len(self.orphans) - int(removed.sum())
        them = "it" if needed_count == 1 else "them"
        kept = f"{counted(needed_count, 'orphans')} kept, because other ops need {them}"
        state.warnings += [kept] if needed_count else []
        state.remove(removed.nonzero()[0].tolist())
        state.needs_new_graph = True

    def code(self, sources: Sources) -> str:
        return call_code("rebuild")

    def describe(self) -> str:
        count = len(self.orphans)
        return f"rebuild the graph without {counted(count, 'orphans')}" if count else "rebuild the graph"


def _entering(graph: MutableGraph, inside: set[int]) -> list[Tensor]:
    """Returns the tensors that enter some ops, in order of first use."""
    return list(dict.fromkeys(t for op in sorted(inside) for t in graph.inputs(op) if t[0] not in inside))


def _below(graph: MutableGraph, inside: set[int], tensors: Sequence[Tensor]) -> dict[int, None]:
    """Returns those of some ops that are computed from tensors, along paths inside of these ops."""
    entering = set(tensors)
    readers = (op for op in inside if not entering.isdisjoint(graph.inputs(op)))
    return reachable_from(readers, lambda op: filter(inside.__contains__, graph.data_consumers(op)))


def _substitutes(
    graph: MutableGraph,
    entering: Sequence[Tensor],
    leaving: Sequence[Tensor],
    below: Callable[[Tensor], Container[int]],
) -> list[Tensor]:
    """Returns the tensors that enter some ops, lead to all given leaving tensors, and fit them.

    Args:
        graph: the graph.
        entering, leaving: the tensors that enter the ops, and those that must be replaced.
        below: returns those of the ops that are computed from a tensor.
    """
    fitting = [tensor for tensor in entering if all(_fits(graph, tensor, out) for out in leaving)]
    return [t for t in fitting if all(op in below(t) for op, _ in leaving)]


def _parts(graph: Graph, numbers: list[int]) -> Iterator[list[int]]:
    """Yields the parts of the ops that data edges connect, each in graph order."""
    outside = ~graph.mask(numbers)
    label = components(graph, outside, outside, control=False)
    parts: dict[int, list[int]] = {}
    for op in sorted(set(numbers)):
        parts.setdefault(int(label[op]), []).append(op)
    yield from parts.values()


def _fits(graph: MutableGraph, new: Tensor, old: Tensor) -> bool:
    """Returns whether a tensor can take the place of another, as far as dtypes and shapes are known."""
    a, b = graph.info(*new), graph.info(*old)
    return a is None or b is None or fits(a, b)


def _tensor_text(graph: MutableGraph, tensor: Tensor) -> str:
    info = graph.info(*tensor)
    return graph.name(tensor) + (f" {info}" if info is not None else "")


def _stitch(state: EditState, request: str, removed: set[int], pairs: dict[Tensor, Tensor]) -> None:
    """Connects the consumers of output 0 of each removed op to the next remaining tensor above it.

    The path above an op follows first inputs. If that tensor does not fit and several ops are removed, another tensor
    is used: the only tensor that enters the ops, leads to the output and fits. An example is a dropout with a mask as
    its first input. The pairs (old tensor, new tensor) are added to `pairs`.
    """
    graph = state.graph
    edges: list[Edge] = []
    entering, below = _entering(graph, removed), cache(lambda tensor: _below(graph, removed, [tensor]))
    for gap in sorted(removed):
        readers = [(op, at) for op, at in graph.consumers_of((gap, 0)) if op not in removed]
        new = _above(graph, (gap, 0), removed) if readers else None
        if readers and len(removed) > 1 and (new is None or not _fits(graph, new, (gap, 0))):
            others = _substitutes(graph, entering, [(gap, 0)], below)
            new = others[0] if len(others) == 1 else new
        if new is not None:  # otherwise `readers_fault` reports the consumer
            pairs[gap, 0] = new
            edges += [(op, at, new) for op, at in readers]
    state.rewire(request, edges, list(pairs.items()), removes=True)


def _above(graph: MutableGraph, tensor: Tensor, removed: set[int]) -> Tensor | None:
    steps = 0
    while tensor[0] in removed:
        reads = graph.inputs(tensor[0])
        steps += 1
        if not reads or steps > len(removed) or tensor[1]:
            return None
        tensor = reads[0]
    return tensor


def later_steps(steps: Sequence[Step], old: str, rename: Callable[[str], str]) -> tuple[Step, ...]:
    """Returns later steps after an earlier step makes an op or scope under another name.

    Args:
        steps: the later steps.
        old: the old name. Steps after a step that renames it do not change, because other ops may then have this name.
        rename: the result of `scope_change`.
    """
    for at, step in enumerate(steps):
        if isinstance(step, RenameStep) and old in dict(step.names):
            return (*(with_names(one, rename) for one in steps[: at + 1]), *steps[at + 1 :])
    return tuple(with_names(step, rename) for step in steps)
