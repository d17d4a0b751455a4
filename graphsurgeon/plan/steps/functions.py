"""The steps that collapse ops into a call, inline calls and unroll loops.

The module tf/edit/builders.py builds the rounds of an unrolled loop, and their names.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar

import numpy as np

from ...errors import PlanError, counted, few
from ...graph.boundary import Tensor, entering_tensors, leaving_tensors
from ...graph.control_flow import FLOW_SCOPE, FLOW_TYPES, Loop, loops_in, loops_of
from ...graph.functions import BRANCHING, WHILE_LOOPS, callees_of
from ...graph.graph import Graph, Mask, PlainNode
from ...graph.names import name_problem, scopes_around
from ...graph.parts import part_fault, split_fault
from ...graph.selection import Selection
from ...graph.traversal import backward
from ...graph.types import TFNodeDef
from ...graph.variables import FEED_TYPES, INPUT_TYPES, VARIABLE_TYPES
from ..copy_result import CopyResult
from ..dependencies import variable_parts
from ..edge_checks import errors_of
from ..edit_state import EditState
from ..function_source import Sources
from ..plan_result import Region
from .base import Code, DestinationName, NewName, OpNames, Step, call_code, ops_code
from .replace import ReplaceTargets, region_of, replace_matches


@dataclass(frozen=True)
class CollapseStep(Step):
    """Ops become one call of a function; see `Plan.collapse`."""

    needs_complete_graph: ClassVar = True

    ops: Annotated[OpNames, "Ops"]
    name: Annotated[NewName, "Name"]
    code_argument: Selection | DestinationName | None = None  # the selection or scope, for its code

    @cached_property
    def request(self) -> str:
        return call_code("collapse", Code(counted(len(self.ops), "ops")), name=self.name).removeprefix(".")

    def resolve(self, state: EditState) -> None:
        """Makes the call, connects the consumers to its results, and removes the ops."""
        request = self.request
        (numbers,) = state.find_ops(request, self.ops)
        graph = state.after
        problem = name_problem(self.name, lambda name: name.lower() in graph.lowercase_names, graph.title)
        if problem is not None:
            raise PlanError(request, *problem)
        origin = _origin_graph(state, numbers)
        _refuse_changed(state, request, numbers, origin.numbers)
        selection, outputs = self.code_argument, list[str]()
        if isinstance(selection, Selection):  # an op inside may be the only consumer of an output of the selection
            outputs = [selection.graph.name(tensor) for tensor in selection.outputs]
        (marked,) = state.find_tensors(request, outputs)
        mask, stay = _inside(graph, graph.mask(numbers))
        _refuse_collapse(request, graph, mask)
        leaving = sorted({*leaving_tensors(graph, mask), *marked})
        ends = [(op, port) for op, port in leaving if mask[op] and graph.types[op] != "Const"]
        if not ends:
            raise PlanError(request, "the ops have no output tensor", "Select ops that compute something")
        ops = np.flatnonzero(mask).tolist()
        arguments = origin.entering_tensors(graph, ops)
        inputs = {f"in{k}": graph.name(tensor) for k, tensor in enumerate(arguments.values())}
        region = Region(graph, ops, inputs, {f"out{k}": graph.name(tensor) for k, tensor in enumerate(ends)})
        source = origin.graph
        takes = tuple(map(source.name, arguments))
        gives = tuple(f"{source.names[origin.numbers[op]]}:{port}" for op, port in ends)
        with errors_of(request):
            by = state.backend.collapse_builder(
                source, source.mask(origin.numbers[op] for op in ops), takes, gives, self.name
            )
        targets = ReplaceTargets([region], hint=lambda: "Also select the ops between its ops")
        replace_matches(state, request, targets, by, self.name, single_op=True)
        if stay and not state.faults:
            stays = "stays" if len(stay) == 1 else "stay"
            state.warnings.append(f"{counted(len(stay), 'ops')} {stays} outside of the call: {few(stay)}")

    def code(self, sources: Sources) -> str:
        return call_code("collapse", ops_code(self.ops, self.code_argument, sources), name=self.name)

    def describe(self) -> str:
        return f"collapse {few(self.ops)} to one call, {self.name}"


@dataclass(frozen=True)
class InlineStep(Step):
    """A function call is replaced by the ops of its function; see `Plan.inline`.

    Args:
        ops: the calls, and conds and loops inside them, by their names after the calls are inlined.
        is_implicit: whether the step was added only because a later step names an op inside.
    """

    needs_complete_graph: ClassVar = True

    ops: Annotated[OpNames, "Calls"]
    is_implicit: bool = False

    def resolve(self, state: EditState) -> None:
        """Inlines the calls. Calls of one function with the same attributes are inlined together."""
        request, chosen, inside = self.request, set(self.ops), dict[str, list[str]]()
        for name in self.ops:
            *_, top = name, *(scope for scope in scopes_around(name) if scope in chosen)
            inner = inside.setdefault(top, [])
            if name != top:
                inner.append(name[len(top) + 1 :])
        groups = dict[Any, list[str]]()
        for name, op in zip(inside, *state.find_ops(request, tuple(inside)), strict=True):
            groups.setdefault(_call_key(state, op, inside[name]), []).append(name)
        for names in groups.values():
            (ops,) = state.find_ops(request, names)
            graph, new = state.after, ops[0] >= state.base.size
            graft = _single_op_graft(state, ops[0]) if new else None
            if new and graft is None:
                problem = f"{names[0]!r} is made by this plan, together with other ops"
                suggestion = f"Apply that step first: ed.apply(plan); ed.plan().inline({names[0]!r})"
                raise PlanError(request, problem, suggestion)
            source, call = state.base, names[0]
            if graft is not None:  # this plan has made the call: its function is in the source graph of the graft
                source, call = graft.source, graft.source.names[int(graft.ops[0])]
            with errors_of(request):
                by = state.backend.inline_builder(source, call, inside[names[0]])
            regions = [region_of(graph, op, request, "Leave this call as it is, or use ed.inlined()") for op in ops]
            below = _inner_names(graph, ops[0])
            replace_matches(state, request, ReplaceTargets(regions, inner_scopes=below), by)
            if state.faults:
                return

    def code(self, sources: Sources) -> str:
        return call_code("inline", self.ops)

    def describe(self) -> str:
        return f"inline {few(self.ops)}" + ", because a later step names an op inside" * self.is_implicit


@dataclass(frozen=True)
class UnrollStep(Step):
    """A loop is replaced by a fixed number of its rounds; see `Plan.unroll`."""

    call: ClassVar = "unroll", "loop", "times"
    needs_complete_graph: ClassVar = True

    loop: Annotated[DestinationName, "Loop"]
    times: Annotated[int, "Rounds"]

    def resolve(self, state: EditState) -> None:
        """Replaces a loop by copies of its body."""
        request, graph = self.request, state.after
        op, loop = _find_loop(request, graph, self.loop)
        numbers = [op] if loop is None else np.flatnonzero(loops_of(graph) == loops_of(graph)[loop.loop_cond]).tolist()
        _refuse_changed(state, request, numbers, range(state.base.size))
        if loop is not None:
            _refuse_unroll(request, graph, loop, numbers)
        with errors_of(request):
            by = state.backend.unroll_builder(state.base, op, loop, self.times)
        if loop is None:
            name, trip_count = graph.names[op], _rounds_of_while(state, op, self.times)
            reads, gives = graph.input_names(op), [f"{name}:{k}" for k in range(len(graph.outputs(op) or ()))]
        else:
            name, trip_count = (
                graph.names[loop.loop_cond].rpartition("/")[0] or "loop",
                _rounds_of_loop(state, loop, self.times),
            )
            reads = [graph.input_names(i)[0] for i in (*loop.enters, *loop.constants)]
            gives = [f"{graph.names[i]}:0" for i in loop.exits if i >= 0]
        inputs, outputs = ({f"{word}{k}": t for k, t in enumerate(ts)} for word, ts in (("in", reads), ("out", gives)))
        targets = ReplaceTargets([Region(graph, numbers, inputs, outputs)], inner_scopes=_UNROLL_PARTS)
        replace_matches(state, request, targets, by, name)
        if not state.faults and trip_count != self.times:
            why = "the number of its rounds is known only when it runs"
            if trip_count is not None:
                makes = counted(min(trip_count, self.times), "rounds")
                why = f"it makes {makes}" if trip_count <= self.times else f"it makes more than {makes}"
            state.warnings.append(f"the condition of {name} is no longer evaluated, and {why}")

    def describe(self) -> str:
        return f"unroll {self.loop} to {counted(self.times, 'rounds')}"


#: What a few op types do to scalars: enough for counters and limits.
_SCALAR: dict[str, Callable[..., Any]] = {
    "Add": np.add, "AddV2": np.add, "Sub": np.subtract, "Mul": np.multiply, "FloorDiv": np.floor_divide,
    "FloorMod": np.mod, "Maximum": np.maximum, "Minimum": np.minimum, "Neg": np.negative,
    "Less": np.less, "LessEqual": np.less_equal, "Greater": np.greater, "GreaterEqual": np.greater_equal,
    "Equal": np.equal, "NotEqual": np.not_equal,
    "LogicalAnd": np.logical_and, "LogicalOr": np.logical_or, "LogicalNot": np.logical_not,
}  # fmt: skip
_IDENTITY_TYPES = frozenset({"Identity", "Enter", "StopGradient"})


def _refuse_changed(state: EditState, request: str, ops: Iterable[int], existing: Container[int]) -> None:
    """Refuses ops that the plan makes or changes; `existing` are the ops that it does not make."""
    edited = state.edited_ops
    late = [state.graph.names[i] for i in ops if i not in existing or i in edited]
    if late:
        raise PlanError(request, f"{late[0]!r} is made or changed by this plan", "Apply these steps first")


@dataclass(frozen=True)
class LoopFunction:
    """The condition or the body of a loop, with ops given by name.

    Args:
        nodes: name -> NodeDef.
        arguments: the names of the arguments: first the loop variables, then the constants of the loop.
        results: the results, in the form of NodeDef inputs.
    """

    nodes: Mapping[str, Any]
    arguments: Sequence[str]
    results: Sequence[str]


def scalar(nodes: Mapping[str, Any], text: str, inputs: Mapping[str, Any], array: Callable[[Any], Any]) -> Any:
    """Returns the value of a scalar tensor, computed from known values; None if that is not possible.

    Args:
        nodes: name -> NodeDef.
        text: the tensor, in the form of a NodeDef input.
        inputs: name of an op or argument -> its value, or None.
        array: returns the array of a constant.
    """
    values, todo, visited = dict(inputs), [text.partition(":")[0]], set[str]()
    while todo:
        name = todo[-1]
        node = nodes.get(name)
        if name in values or node is None:
            values.setdefault(name, None)
            todo.pop()
            continue
        reads = [one.partition(":")[0] for one in node.input if one[0] != "^"]
        waiting = (
            [one for one in reads if one not in values] if node.op in _SCALAR or node.op in _IDENTITY_TYPES else []
        )
        if waiting and name not in visited:  # otherwise the op depends on itself
            visited.add(name)
            todo += waiting
            continue
        todo.pop()
        values[name] = _evaluate_node(node, [values.get(one) for one in reads], array)
    return values[text.partition(":")[0]]


def _evaluate_node(node: TFNodeDef, values: list[Any], array: Callable[[Any], Any]) -> Any:
    if node.op == "Const":
        value = array(node)
    elif any(value is None for value in values) or not values:
        value = None
    else:
        value = values[0] if node.op in _IDENTITY_TYPES else _SCALAR[node.op](*values) if node.op in _SCALAR else None
    return value if value is not None and np.size(value) == 1 and np.asarray(value).dtype.kind in "biuf" else None


def trip_count_of(
    test: LoopFunction, body: LoopFunction, start: Sequence[Any], limit: int, array: Callable[[Any], Any]
) -> int | None:
    """Returns the number of rounds of a loop, `limit` + 1 if there are more; None if it is not known.

    Args:
        test, body: the condition and body of the loop.
        start: the initial value of each argument, or None if it is not known.
        limit: the largest number of rounds to follow.
        array: returns the array of a constant.
    """
    values = list(start)
    for count in range(limit + 1):
        answer = scalar(test.nodes, test.results[0], dict(zip(test.arguments, values, strict=True)), array)
        if answer is None:
            return None
        if not bool(answer):
            return count
        environment = dict(zip(body.arguments, values, strict=True))
        values[: len(body.results)] = [scalar(body.nodes, text, environment, array) for text in body.results]
    return limit + 1


@dataclass(frozen=True)
class _OriginGraph:
    """The graph that ops come from: the graph of the plan, or the body of a call that the plan has inlined.

    Args:
        graph: the snapshot of this graph.
        numbers: number of an op after the steps so far -> its number in `graph`.
    """

    graph: Graph
    numbers: Mapping[int, int]

    def entering_tensors(self, after: Graph, ops: Sequence[int]) -> dict[Tensor, Tensor]:
        """Returns the tensors that enter ops: tensor of `graph` -> tensor after the steps so far."""
        inside, arguments = set(ops), dict[Tensor, Tensor]()
        for op in ops:
            pairs = zip(self.graph.data.ends(self.numbers[op]), after.data.ends(op), strict=True)
            arguments.update((there, now) for there, now in pairs if now[0] not in inside)
        return arguments


def _origin_graph(state: EditState, numbers: Sequence[int]) -> _OriginGraph:
    """Returns the graph that the first op comes from; the other ops may come from another graph."""
    for copied in state.copies:
        if copied.role == "graft" and not copied.variables:
            own = {int(copied.positions[op]): op for op in copied.ops.tolist()}
            if numbers and numbers[0] in own:
                return _OriginGraph(copied.source, own)
    return _OriginGraph(state.base, {op: op for op in numbers if op < state.base.size})


def _refuse_collapse(request: str, graph: Graph, mask: Mask) -> None:
    """Refuses ops that a function cannot contain or take, and ops that would compute other results in it."""
    if not mask.any():
        problem = "it contains only variables, placeholders and the ops that set them"
        raise PlanError(request, problem, "Select ops that compute something")
    flow = np.flatnonzero(mask & ((loops_of(graph) >= 0) | graph.type_mask(FLOW_TYPES))).tolist()
    if flow:
        problem = f"{graph.names[flow[0]]!r} is part of a TF1 loop or cond, and a function would lose its gradient"
        raise PlanError(request, problem, "Select ops outside of the loop or cond")
    torn = part_fault(graph, mask, ()) or split_fault(graph, mask)
    if torn is not None:
        raise PlanError(request, *torn)
    for op, port in entering_tensors(graph, mask):
        info = graph.info(op, port)
        if info is not None and info.dtype.endswith("_ref"):
            problem = f"{graph.names[op]!r} is a reference variable, which a function cannot take"
            raise PlanError(request, problem, "Leave out the ops that set it; its read op (w/read) can be included")


def _inside(graph: Graph, mask: Mask) -> tuple[Mask, list[str]]:
    """Returns a mask of the ops that a function can contain, and the names of the other ops.

    The other ops are variables with their parts, feeds, resources, and initializers of tables and iterators.
    """
    out = graph.type_mask(FEED_TYPES | INPUT_TYPES | VARIABLE_TYPES)
    for variable in graph.state.variables.values():
        if variable.op in graph.index:
            out |= variable_parts(graph, variable)
    for i in np.flatnonzero(mask & (graph.data.degrees == 0)).tolist():
        infos = graph.outputs(i) or ()
        out[i] |= any(info.dtype == "resource" or info.dtype.endswith("_ref") for info in infos)
    init_ops = {name for names in graph.state.init_ops.values() for name in names}
    out[[graph.index[name] for name in init_ops if name in graph.index]] = True
    inside = mask & ~out
    # Ops that only a variable needs, such as its initial value, stay outside with the variable.
    rows = graph.data.rows
    consumed, needed_outside = graph.mask(graph.data.node), graph.mask(graph.data.node[~inside[rows] & ~out[rows]])
    inside &= backward(graph, inside & (needed_outside | ~consumed) & ~graph.type_mask(["Const"]), within=inside)
    return inside, [graph.names[i] for i in np.flatnonzero(mask & ~inside).tolist()]


def _call_key(state: EditState, op: int, inside: Sequence[str]) -> Any:
    """Returns a key that is equal for calls that are replaced by the same ops."""
    node = state.base.nodes[op] if op < state.base.size else None
    if node is None or isinstance(node, PlainNode):
        return op
    attributes = sorted((key, value.SerializeToString(deterministic=True)) for key, value in node.attr.items())
    return node.op, node.device, tuple(attributes), tuple(inside)


def _inner_names(graph: Graph, op: int) -> tuple[str, ...]:
    """Returns the names below a call that its ops have after it is inlined; for a cond or loop, their scopes.

    Other ops may be in the scope of the call, but these names must be free there.
    """
    functions, node = graph.functions, graph.nodes[op]
    called = callees_of(node, functions) if node is not None else []
    if graph.types[op] in BRANCHING:
        return FLOW_SCOPE, *(one.name_infix for one in called)
    return tuple(
        inner.name for one in called if one.function in functions for inner in functions[one.function].node_def
    )


def _single_op_graft(state: EditState, op: int) -> CopyResult | None:
    """The graft that consists of this op alone; None if there are other ops in it, or the op is not from a graft."""
    for copied in state.copies:
        if copied.role == "graft" and copied.positions[copied.ops].tolist() == [op]:
            return None if copied.replacement_ops or copied.variables else copied
    return None


_UNROLL_PARTS = ("body", "body_1")


def _find_loop(request: str, graph: Graph, name: str) -> tuple[int, Loop | None]:
    """Returns the number of the op of a loop and, for a TF1 loop, the loop itself.

    The name is that of a While op, of an op in a TF1 loop, or of a scope with one TF1 loop.
    """
    number = graph.index.get(name)
    if number is not None and graph.types[number] in WHILE_LOOPS:
        return number, None
    loops = loops_in(graph)
    candidates = [loop for loop in loops if number is not None and number in loop.parts]
    if not candidates:
        lead = f"{name.strip('/')}/"
        inside = sorted((graph.names[loop.loop_cond].count("/"), at) for at, loop in enumerate(loops)
                        if graph.names[loop.loop_cond].startswith(lead))  # fmt: skip
        candidates = [loops[at] for depth, at in inside if depth == inside[0][0]]
    if len(candidates) == 1:
        return candidates[0].loop_cond, candidates[0]
    names = [graph.names[loop.loop_cond] for loop in candidates or loops]
    names += [] if candidates else [graph.names[i] for i in np.flatnonzero(graph.type_mask(WHILE_LOOPS)).tolist()]
    problem = f"contains {len(candidates)} loops" if candidates else "is not a loop or a part of a loop"
    if number is None and not candidates and name.strip("/") not in graph.scopes.index:
        graph.find(name, request)
    suggestion = f"The loops are {few(map(repr, names), 6)}" if names else "This graph has no loops"
    raise PlanError(request, f"{name!r} {problem}", suggestion)


def _refuse_unroll(request: str, graph: Graph, loop: Loop, numbers: Sequence[int]) -> None:
    kinds = {graph.types[i] for i in numbers}
    around = [graph.data.ends(i)[0][0] for i in (*loop.enters, *loop.constants)]
    deep = loops_of(graph)
    inner = next(
        (i for i in around if deep[i] == deep[loop.loop_cond] or graph.types[i] in ("Switch", "RefSwitch")), -1
    )
    if inner >= 0:
        problem = f"{graph.names[loop.loop_cond]!r} is inside of another loop, or of a cond"
        raise PlanError(request, problem, "Unroll the outer loop, or resolve the condition, in an earlier plan")
    if any(kind.startswith("StackPush") for kind in kinds):
        problem = "the graph already contains the gradient of this loop"
        raise PlanError(request, problem, "Unroll the loop before you compute gradients")
    if all(op < 0 for op in loop.exits):
        raise PlanError(request, "no tensor leaves the loop", "Leave the loop as it is, or remove it")


def _rounds_of_loop(state: EditState, loop: Loop, limit: int) -> int | None:
    graph, array = state.after, state.backend.constant_array
    nodes = dict(zip(graph.names, graph.nodes, strict=True))
    enters = [graph.input_names(i)[0] for i in (*loop.enters, *loop.constants)]
    start = [scalar(nodes, text, {}, array) for text in enters]
    fixed = [graph.names[i] for i in loop.constants]
    test = LoopFunction(nodes, [*(graph.names[i] for i in loop.merges), *fixed], graph.input_names(loop.loop_cond))
    turned = [graph.input_names(i)[0] for i in loop.next_iterations]
    body = LoopFunction(nodes, [*(graph.names[i] for i in loop.switches), *fixed], turned)
    return trip_count_of(test, body, start, limit, array)


def _rounds_of_while(state: EditState, op: int, limit: int) -> int | None:
    graph, array = state.after, state.backend.constant_array
    nodes = dict(zip(graph.names, graph.nodes, strict=True))
    start = [scalar(nodes, text, {}, array) for text in graph.input_names(op)]
    turns = []
    for key in ("cond", "body"):
        function = graph.functions.get(graph.nodes[op].attr[key].func.name)
        if function is None:
            return None
        arguments = [argument.name for argument in function.signature.input_arg]
        results = [function.ret[out.name] for out in function.signature.output_arg]
        turns.append(LoopFunction({node.name: node for node in function.node_def}, arguments, results))
    return trip_count_of(turns[0], turns[1], start, limit, array)
