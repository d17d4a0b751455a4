"""The steps that set inputs and control inputs of existing ops."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from ...errors import PlanError, few
from ...graph.boundary import Tensor
from ...graph.graph import TensorInfo
from ...graph.names import free_name
from ...graph.rewiring import Edge
from ..edge_checks import consumers_of, incompatibility, input_of, refuse_order, tensor_mismatch
from ..edit_state import EditState
from ..fault import Fault, RefusedStep
from ..function_source import Sources
from ..plan_result import NewNode
from ..type_check import base_dtype, fit_suggestions, handle_mismatch
from .base import Adaptation, OpName, OpNames, PlainText, Step, TensorName, TensorNames, call_code, consumers_text

#: The values of `side` of `Plan.detach`.
SIDES = ("both", "inputs", "outputs")


@dataclass(frozen=True)
class ConnectStep(Step):
    """Set one input of one op; see `Plan.connect`."""

    call: ClassVar = "connect", "tensor"

    tensor: Annotated[TensorName, "Tensor"]
    to: Annotated[OpName, "Consumer"]
    input: Annotated[int, "Input"]

    def resolve(self, state: EditState) -> None:
        """Sets an input of an op; refuses unknown names, an input that does not exist, and another dtype or shape."""
        graph, request, at = state.graph, self.request, self.input
        source, op = graph.tensor(self.tensor, request), graph.find(self.to, request)
        reads = input_of(graph, op, at, request)
        new, old, problem = graph.info(*source), graph.info(*reads), incompatibility(graph, op, at, source)
        if problem and new is not None and old is not None:
            suggestion = fit_suggestions(graph.snapshot(), old, source, new, [op], reads)
            problem = f"{self.tensor!r} is {new}, but input {at} of {self.to!r} {problem}"
            fault = Fault(request, problem, suggestion)
            raise RefusedStep([tensor_mismatch(graph, fault, reads, source, [op])])
        clash = handle_mismatch(graph, reads, source)
        if clash:
            raise PlanError(request, *clash)
        state.rewire(request, [(op, at, source)])

    def describe(self) -> str:
        return f"connect {self.tensor} to input {self.input} of {self.to}"

    def adapted(self, old: str, new: str, name: str) -> Adaptation:
        return {"to": self.to, "input": self.input}, (), ""


@dataclass(frozen=True)
class RerouteStep(Step):
    """All consumers of a tensor, or some of them, read another tensor; see `Plan.reroute`."""

    call: ClassVar = "reroute", "old"

    old: Annotated[TensorNames, "Consumers of"]
    to: Annotated[TensorNames, "New source"]
    only: OpNames | None = None
    exclude: OpNames = ()

    def resolve(self, state: EditState) -> None:
        """Sets the inputs of all consumers at once, so that tensors can swap their consumers."""
        request = self.request
        pairs = list(zip(*state.find_tensors(request, self.old, self.to), strict=True))
        edges: list[Edge] = []
        for old, new in pairs:
            edges += [(op, at, new) for op, at in consumers_of(state.graph, old, self.only, self.exclude)]
        state.rewire(request, edges, pairs, excludes=True)

    def describe(self) -> str:
        return f"reroute {consumers_text(few(self.old), self.only, self.exclude)} to {few(self.to)}"

    def adapted(self, old: str, new: str, name: str) -> Adaptation:
        if len(self.old) == 1:
            return {"to": old, "only": self.only, "exclude": self.exclude}, (), ""
        pairs = zip(self.old, self.to, strict=True)
        to = tuple(f"{name}:0" if pair == (old, new) else pair[1] for pair in pairs)
        return {"name": name}, (replace(self, to=to),), ""


@dataclass(frozen=True)
class SwapStep(Step):
    """The consumers of two tensors are exchanged; see `Plan.swap`."""

    call: ClassVar = "swap", "a", "b"

    a: Annotated[TensorNames, "Tensor"]
    b: Annotated[TensorNames, "Swapped with"]

    def resolve(self, state: EditState) -> None:
        """Sets the inputs of the consumers of both tensors."""
        request = self.request
        pairs = list(zip(*state.find_tensors(request, self.a, self.b), strict=True))
        same = [a for a, b in pairs if a == b]
        if same:
            name = state.graph.name(same[0])
            raise PlanError(
                request, f"both are {name!r}, which changes nothing", "Give two tensors: swap('a:0', 'b:0')"
            )
        edges: list[Edge] = []
        for a, b in pairs:
            edges += [(op, at, b) for op, at in consumers_of(state.graph, a)]
            edges += [(op, at, a) for op, at in consumers_of(state.graph, b)]
        state.rewire(request, edges, [(a, b) for pair in pairs for a, b in (pair, pair[::-1])])

    def describe(self) -> str:
        return f"swap the consumers of {few(self.a)} and {few(self.b)}"


@dataclass(frozen=True)
class DetachStep(Step):
    """Placeholders replace the inputs or the outputs of ops; see `Plan.detach`."""

    call: ClassVar = "detach", "ops"

    ops: Annotated[OpNames, "Ops"]
    side: Annotated[PlainText, "Side", SIDES]
    only: OpNames | None = None
    exclude: OpNames = ()

    def resolve(self, state: EditState) -> None:
        """Adds a placeholder for each tensor that enters or leaves the ops, and connects its consumers to it."""
        request, graph = self.request, state.graph
        ops, only, exclude = state.find_ops(request, self.ops, self.only or (), self.exclude)
        limited, any_edge = self.only is not None or bool(exclude), False
        inside, chosen, excluded = set(ops), set(only), set(exclude)
        for side in ("inputs", "outputs") if self.side == "both" else (self.side,):
            if side == "inputs":
                edges = [(op, at, t) for op in inside for at, t in enumerate(graph.inputs(op)) if t[0] not in inside]
            else:
                edges = [
                    (reader, at, (op, port))
                    for op in inside
                    for port, ends in graph.consumers_by_output(op).items()
                    for reader, at in ends
                    if reader not in inside
                ]
            tensors: dict[Tensor, list[tuple[int, int]]] = {}
            for op, at, tensor in sorted(edges):
                if (self.only is None or op in chosen) and op not in excluded:
                    tensors.setdefault(tensor, []).append((op, at))
            for tensor, readers in tensors.items():
                any_edge = True
                reads = graph.info(*tensor) or TensorInfo("float32", None)
                info = TensorInfo(base_dtype(reads.dtype), reads.shape)
                name = free_name(f"{graph.names[tensor[0]]}_{tensor[1]}_detached", graph.is_name_used)
                attributes = {"dtype": info.dtype, "shape": info.shape}
                new = state.add_node(NewNode(name, "Placeholder", (), attributes, info)), 0
                state.rewire(request, [(op, at, new) for op, at in readers])
        if limited and not any_edge:
            raise PlanError(request, "no chosen op reads a detached tensor, so nothing would change", "Widen only=")

    def describe(self) -> str:
        place = "" if self.only is None else f" for {few(self.only)}"
        place += f" except for {few(self.exclude)}" if self.exclude else ""
        return f"detach the {'inputs and outputs' if self.side == 'both' else self.side} of {few(self.ops)}{place}"


@dataclass(frozen=True)
class ControlStep(Step):
    """An op runs after others, or no longer does; see `Plan.add_control` and `Plan.remove_control`."""

    op: Annotated[OpName, "Op"]
    others: Annotated[OpNames | None, "After"]
    remove: bool

    def resolve(self, state: EditState) -> None:
        """Sets the control inputs of an op."""
        request, graph = self.request, state.graph
        (op,), others = state.find_ops(request, (self.op,), self.others or ())
        if not self.remove:
            refuse_order(graph, [(op, i) for i in others], request)
            state.change_control_inputs(op, added=others)
            return
        leave = graph.control_inputs(op) if self.others is None else others
        missing = [graph.names[i] for i in leave if not graph.waits_for(op, i)]
        if missing:
            now = ", ".join(repr(graph.names[i]) for i in graph.control_inputs(op)) or "nothing"
            raise PlanError(request, f"{self.op!r} does not wait for {missing[0]!r}", f"It waits for {now}")
        state.change_control_inputs(op, removed=leave)

    def code(self, sources: Sources) -> str:
        return call_code(f"{'remove' if self.remove else 'add'}_control", self.op, self.others)

    def describe(self) -> str:
        whom = "anything" if self.others is None else few(self.others)
        return f"run {self.op} {'without waiting for' if self.remove else 'after'} {whom}"


@dataclass(frozen=True)
class RerouteControlStep(Step):
    """The ops that wait for an op wait for other ops instead; see `Plan.reroute_control`."""

    call: ClassVar = "reroute_control", "old"

    old: Annotated[OpName, "Waiting ops of"]
    to: Annotated[OpNames, "New op to wait for"]
    only: OpNames | None = None
    exclude: OpNames = ()

    def resolve(self, state: EditState) -> None:
        """Sets the control inputs of the ops that wait for an op."""
        request, graph = self.request, state.graph
        (old,), new = state.find_ops(request, (self.old,), self.to)
        waiting = graph.control_consumers(old)
        keep = None if self.only is None else set(self.only)
        ops = [i for i in waiting if graph.names[i] not in self.exclude and (keep is None or graph.names[i] in keep)]
        if not ops:
            now = few([repr(graph.names[i]) for i in waiting], 6) or "nothing"
            raise PlanError(request, f"no chosen op waits for {self.old!r}", f"Its waiting ops: {now}")
        refuse_order(graph, [(op, i) for op in ops for i in new], request)
        for op in ops:
            state.change_control_inputs(op, [old], new)

    def describe(self) -> str:
        whom = "all waiting ops" if self.only is None else few(self.only)
        more = f" except {few(self.exclude)}" if self.exclude else ""
        return f"make {whom}{more} wait for {few(self.to)} instead of {self.old}"
