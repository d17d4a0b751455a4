"""The steps that insert ops between a tensor and its consumers, and the subgraphs that Python functions build."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from ...errors import PlanError, few, one_or_all
from ...graph.boundary import Tensor
from ...graph.control_flow import ENTERS, ROOT, Frames
from ...graph.graph import Graph, TensorInfo, shape_text
from ...graph.names import free_name, name_problem, outer_name
from ...graph.selection import selection_from
from ...graph.variables import VARIABLE_TYPES
from ..adapters import KINDS, Adapter, AdapterSpec, data_format_of, proposals, requested_adapter
from ..backend import InsertionSite
from ..copy_result import CopyResult
from ..edge_checks import MismatchFault, consumers_of, input_of
from ..edit_state import EditState
from ..fault import Fault, Fix
from ..function_source import Sources, literal
from ..mutable_graph import MutableGraph
from ..plan_result import NewNode
from ..type_check import base_dtype, fits
from .base import (
    Attributes,
    Code,
    DestinationName,
    NewNames,
    NewScope,
    OpNames,
    OpType,
    PlainText,
    Step,
    TensorName,
    TensorNames,
    call_code,
    consumers_text,
    names_of,
)
from .copy import CopyStep

#: Tensors that new tensors replace, with their consumers: (op, input).
Replaced = Sequence[tuple[Tensor, Sequence[tuple[int, int]]]]


@dataclass(frozen=True)
class Graft:
    """A subgraph that was built for the plan.

    Args:
        copy_result: its ops, as a copy; None if it has no ops.
        outputs: for each site, output -> tensor of the graph after the plan.
        ops: for each site, the numbers of its ops.
    """

    copy_result: CopyResult | None
    outputs: tuple[Mapping[str, Tensor], ...]
    ops: tuple[tuple[int, ...], ...]

    def add_to(self, state: EditState) -> None:
        """Adds the ops to the state."""
        if self.copy_result is not None:
            state.add_copy(self.copy_result)


def build_graft(
    state: EditState,
    request: str,
    function: Callable[..., Any] | str,
    sites: Sequence[InsertionSite],
    only_op: bool = False,
) -> Graft:
    """Builds subgraphs, with connections to their inputs.

    Args:
        state: the state after the earlier steps.
        request: the request, for messages.
        function: the function or op type that makes the new ops.
        sites: the places to insert the ops at.
        only_op: whether there is one op for each site, with the name of the scope as its own name.

    Raises:
        RefusedStep: if the ops cannot be added.
    """
    piece = state.backend.build_subgraphs(function, sites, state.after, request)
    small = piece.graph
    arguments = {small.index[name]: tensor for name, tensor in piece.inputs.items()}
    mask = ~small.mask(arguments)
    if not mask.any():
        ends = tuple(
            {key: arguments[small.tensor(name)[0]] for key, name in results.items()} for results in piece.outputs
        )
        return Graft(None, ends, ((),) * len(sites))
    reads = small.mask(small.data.node)
    pairs = [(f"{small.names[i]}:0", state.graph.name(tensor)) for i, tensor in arguments.items() if reads[i]]
    block = selection_from(small, mask)
    step = CopyStep(
        block, "", tuple(pairs), control="refuse",
        variables=(("*", "initial"),), collections="keep",
        names={name: name.rpartition("/")[0] for name in block.names} if only_op else None,
    )  # fmt: skip
    copied = replace(state.resolve_copy(step), role="graft")
    outputs = []
    for results in piece.outputs:
        where = {key: small.tensor(name) for key, name in results.items()}
        outputs.append({key: arguments.get(op, (int(copied.positions[op]), port)) for key, (op, port) in where.items()})
    by_scope: dict[str, list[int]] = {site.scope: [] for site in sites}
    for op, name in enumerate(copied.new_names, state.graph.size):
        scope = outer_name(name, by_scope)
        if scope is not None:
            by_scope[scope].append(op)
    return Graft(copied, tuple(outputs), tuple(tuple(by_scope[site.scope]) for site in sites))


def site_scope(
    graph: Graph, preferred: str, used_names: set[str], op: bool = False, subscopes: Sequence[str] = ()
) -> str:
    """Returns an empty name scope: `preferred`, or `preferred` with a number. The scope is added to `used_names`.

    With `op`, the scope is the name of a single new op, so no other op may have this name. With `subscopes`, all new
    ops are in subscopes with these names; only the subscopes must be empty.

    Example:
        >>> g = Graph.from_ops([("a", "Const", []), ("b/c", "Const", [])])
        >>> used = set()
        >>> site_scope(g, "a", used), site_scope(g, "a", used), site_scope(g, "b", used)
        ('a', 'a_1', 'b_1')
    """

    def is_taken(name: str) -> bool:
        an_op = name.lower() in graph.lowercase_names and (op or name != preferred)
        full = (
            any(graph.is_name_used(f"{name}/{part}") for part in subscopes) if subscopes else name in graph.scopes.index
        )
        return name.lower() in used_names or full or an_op

    name = free_name(preferred, is_taken, as_tensorflow=True)
    used_names.add(name.lower())
    return name


def is_built_op(state: EditState, op: int) -> bool:
    """Returns whether an op was built for the plan, such as an op of an inlined call, and is not part of a variable."""
    return any(c.role == "graft" and not c.variables and op in c.positions[c.ops] for c in state.copies)


def waits_in_loop(graph: Graph, request: str, sites: Sequence[InsertionSite], graft: Graft) -> dict[int, list[int]]:
    """Returns control inputs for new ops without inputs, if their site is in a TF1 loop.

    Without a control input, these ops would not run in the loop.

    Args:
        graph: the graph with the new ops.
        request: the request, for messages.
        sites, graft: the sites, and the new ops at the sites.

    Raises:
        PlanError: if a variable would be made in the loop.
    """
    if not graph.type_mask(ENTERS).any():
        return {}
    frames, out = Frames(graph), dict[int, list[int]]()
    for site, ops in zip(sites, graft.ops, strict=True):
        (tensor,) = site.inputs.values()
        for op in ops if frames.innermost(tensor[0]) != ROOT else ():
            if graph.types[op] in VARIABLE_TYPES:
                problem = f"{graph.names[op]!r} would be a variable inside a loop"
                raise PlanError(request, problem, "Make it outside, or insert on a tensor outside of the loop")
            if not len(graph.data.row(op)) and not len(graph.control.row(op)):
                out[op] = [tensor[0]]
    return out


def _insert_function(
    state: EditState,
    request: str,
    function: Callable[..., Any],
    sites: Mapping[str, Tensor],
    replaced: Replaced,
    excludes: bool = False,
) -> None:
    """Inserts the ops of a function of one tensor.

    Args:
        state: the state after the earlier steps.
        request: the request, for messages.
        function: the function.
        sites: the scope of the new ops -> the tensor that they read.
        replaced: for each site, the tensor that the result replaces, and its consumers; or empty.
        excludes: whether the request has the argument exclude=.
    """
    places = [InsertionSite(name, {"x": tensor}, ("output",)) for name, tensor in sites.items()]
    graft = build_graft(state, request, function, places)
    graft.add_to(state)
    if state.faults:
        return
    for op, waits in waits_in_loop(state.after, request, places, graft).items():
        state.graph.set_control_inputs(op, waits)
    for (old, readers), ends in zip(replaced, graft.outputs, strict=False) if not state.faults else ():
        new = ends["output"]
        state.rewire(request, [(op, at, new) for op, at in readers], [(old, new)], excludes=excludes)


@dataclass(frozen=True)
class InsertStep(Step):
    """A new op on an edge; see `Plan.insert`."""

    op: Annotated[OpType, "Op type"]
    on: Annotated[TensorNames, "After tensor"]
    name: Annotated[NewNames, "Name"]
    attributes: Attributes
    only: OpNames | None = None
    exclude: OpNames = ()
    code_name: PlainText = ""  # the name of the function in code

    def resolve(self, state: EditState) -> None:
        """Adds the ops and connects the consumers to them."""
        request, graph = self.request, state.graph
        (tensors,) = state.find_tensors(request, self.on)
        names = self._names(state)
        edges = [consumers_of(graph, tensor, self.only, self.exclude) for tensor in tensors]
        if isinstance(self.op, str):
            for name, tensor, readers in zip(names, tensors, edges, strict=True):
                node = NewNode(name, self.op, (tensor,), dict(self.attributes), None, state.info(tensor))
                new = state.add_node(node), 0
                state.rewire(request, [(op, at, new) for op, at in readers], excludes=True)
            return
        sites = dict(zip(names, tensors, strict=True))
        _insert_function(state, request, self.op, sites, list(zip(tensors, edges, strict=True)), True)

    def code(self, sources: Sources) -> str:
        op = self.op if isinstance(self.op, str) else Code(sources.code_name(self.op, self.code_name))
        name = self.name if isinstance(self.name, str) else list(self.name)
        attributes = {key: Code(literal(value, sources)) for key, value in self.attributes}
        return call_code("insert", op, on=self.on, name=name, **self.given("only", "exclude"), **attributes)

    @property
    def functions(self) -> dict[str, Callable[..., Any]]:
        return {} if isinstance(self.op, str) else {self.code_name: self.op}

    def describe(self) -> str:
        what = self.op if isinstance(self.op, str) else f"{self.code_name} as"
        name = self.name if isinstance(self.name, str) else few(self.name)
        readers = consumers_text(few(self.on), self.only, self.exclude)
        return f"insert {what} {name} between {few(self.on)} and {readers}"

    def _names(self, state: EditState) -> list[str]:
        """Returns a name for each new op; refuses names that are taken or not valid."""
        graph = state.graph
        names = [self.name] if isinstance(self.name, str) else list(self.name)
        n = 0
        while isinstance(self.name, str) and len(names) < len(self.on):
            n += 1
            if not graph.is_name_used(f"{self.name}_{n}"):
                names.append(f"{self.name}_{n}")
        used_names: set[str] = set()
        for name in names:
            problem = name_problem(name, lambda one: graph.is_name_used(one) or one.lower() in used_names, graph.title)
            if problem is not None:
                raise PlanError(self.request, *problem)
            used_names.add(name.lower())
        return names


@dataclass(frozen=True)
class AdaptStep(Step):
    """A tensor is adapted to the dtype and shape of another tensor; see `Plan.adapt`.

    Args:
        tensor: the tensor.
        to, input: the op that will read the result, and the number of the input; or a tensor, or an op without inputs,
            that the result replaces; None if no op reads the result yet.
        name: the name of the result, and of the scope of the other new ops; empty for a free name.
        spec: how to adapt the tensor.
        only, exclude: the consumers of the replaced tensor.
    """

    tensor: Annotated[TensorName, "Tensor"]
    to: DestinationName | None = None
    input: int | None = None
    name: Annotated[NewScope, "Name"] = ""
    spec: AdapterSpec = field(default_factory=AdapterSpec)
    only: OpNames | None = None
    exclude: OpNames = ()

    def resolve(self, state: EditState) -> None:
        """Builds the adapter, and connects its consumers to the result."""
        request, graph = self.request, state.graph
        source, replaced = graph.tensor(self.tensor, request), self._replaced(graph, request)
        input_info = graph.info(*source)
        if input_info is None:
            problem = f"the dtype of {self.tensor!r} is not known yet"
            raise PlanError(request, problem, "Apply the steps before it first")
        name = self._name(graph, request)
        build = state.backend.adapter_builder(self._adapter(graph, request, input_info, replaced))
        _insert_function(state, request, build, {name: source}, replaced)

    def code(self, sources: Sources) -> str:
        wish = self.spec
        return call_code(
            "adapt",
            self.tensor,
            **self.given("to", "input"),
            kinds=wish.kinds or None,
            **self.given("name"),
            dtype=wish.dtype,
            shape=None if wish.shape is None else list(wish.shape),
            **{key: Code(literal(value, sources)) for key, value in wish.options},
            **self.given("only", "exclude"),
        )

    def describe(self) -> str:
        how = f" by {' and '.join(self.spec.kinds)}" if self.spec.kinds else ""
        if self.to is None:
            place = f", as {self.name}:0" if self.name else ""
        elif ":" in self.to:
            place = f" for {consumers_text(self.to, self.only, self.exclude)}"
        else:
            place = f" to input {self.input or 0} of {self.to}"
        return f"adapt {self.tensor}{how}{place}"

    def _replaced(self, graph: MutableGraph, request: str) -> Replaced:
        """Returns the tensor that the result replaces, with its consumers; empty if no op reads the result yet."""
        if self.to is None:
            return []
        op = -1 if ":" in self.to else graph.find(self.to, request)
        if op >= 0 and (self.input is not None or graph.inputs(op)):
            at = self.input or 0
            return [(input_of(graph, op, at, request), [(op, at)])]
        old = graph.tensor(self.to, request)
        return [(old, consumers_of(graph, old, self.only, self.exclude))]

    def _adapter(self, graph: MutableGraph, request: str, source: TensorInfo, replaced: Replaced) -> Adapter:
        """Returns the adapter; refuses an adapter that is not needed or cannot make the tensor fit."""
        readers, consumed = list[int](), None
        for old, edges in replaced:
            readers, consumed = [op for op, _ in edges], graph.info(*old)
            if consumed is None and (self.spec.dtype is None or self.spec.shape is None):
                problem = f"dtype and shape of {graph.name(old)!r} are not known"
                suggestion = "Give the dtype and shape of the result: dtype='float32', shape=[None, 10]"
                raise PlanError(request, problem, suggestion)
        target = self.spec.target_info(source if consumed is None else consumed)
        layout = data_format_of(graph.snapshot(), readers)
        adapter = requested_adapter(source, target, self.spec, layout)
        if adapter is not None:
            return adapter
        where = f"{target.dtype} {shape_text(target.shape)}"
        if not self.spec.kinds and fits(source, target):
            suggestion = "Leave the adapter out, or choose one: kinds='dense'"
            raise PlanError(request, f"{self.tensor!r} is {source}, which fits {where} as it is", suggestion)
        what = f"{' and '.join(self.spec.kinds)} cannot" if self.spec.kinds else "no adapter can"
        info = f"{base_dtype(source.dtype)} {shape_text(source.shape)}"
        others = [one_or_all(one.kinds) for one in proposals(source, target, layout)]
        suggestion = "Give the shape of the result with shape=[...], or choose another tensor"
        if others:
            suggestion = f"Choose kinds={' or kinds='.join(map(repr, others[:3]))}"
        raise PlanError(request, f"{self.tensor!r} is {info}, and {what} convert it to {where}", suggestion)

    def _name(self, graph: MutableGraph, request: str) -> str:
        if not self.name:
            return free_name("adapter", graph.is_name_used)
        problem = name_problem(self.name, graph.is_name_used, graph.title)
        if problem is not None:
            raise PlanError(request, *problem)
        return self.name


def with_fixes(graph: MutableGraph, fault: Fault, step: Step) -> Fault:
    """Returns the fault of a step with its fixes: the steps that use an adapter instead of the step.

    Args:
        graph: the destination.
        fault: the fault.
        step: the step.
    """
    if not isinstance(fault, MismatchFault):
        return fault
    name = free_name("adapter", lambda free: graph.is_name_used(free) or free in names_of(step))
    arguments, after, more = step.adapted(fault.old, fault.new, name) or ({}, (), "")
    fixes = list[Fix]()
    for adapter in fault.adapters if arguments else ():
        spec = _adapter_spec(adapter, fault.target, fault.data_format) if after else AdapterSpec(adapter.kinds)
        adapt = AdaptStep(fault.new, spec=spec, **arguments)
        fixes.append(Fix(adapter.kinds, str(adapter), f"plan.{adapt.request}", step, (adapt, *after), more))
    return Fault(fault.request, fault.problem, fault.suggestion, tuple(fixes), fault.step, fault.kind, fault.names)


def _adapter_spec(adapter: Adapter, target: TensorInfo, layout: str) -> AdapterSpec:
    """Returns the request for an adapter with a result that has no known consumer yet."""
    options = (("data_format", layout),) if layout and any("data_format" in KINDS[by] for by in adapter.kinds) else ()
    return AdapterSpec(adapter.kinds, base_dtype(target.dtype), target.shape, options)
