"""Flow: builds the ops of a call, or of a v2 cond, case or loop, in the default graph.

Conds and loops become conds and loops of TF1, with contexts. They run in any session, and have gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ...graph.boundary import entering_tensors
from ...graph.conditions import BRANCHES, CASES, implied_predicates
from ...graph.control_flow import FLOW_SCOPE
from ...graph.graph import Graph, Mask
from ...graph.names import tensor_name
from ...graph.selection import Query, Selection
from ...graph.traversal import follow_chain
from ...graph.types import TFNodeDef, TFTensor
from ..copy.append import copy_into
from ..copy.imports import import_nodes
from ..import_tensorflow import tf
from ..messages import graph_pb2
from ..open.snapshot import snapshot
from ..private.contexts import conditional, join_context, loop
from ..private.graphs import copy_handle_data
from ..protos import empty_graph
from .expand import FunctionCalls, is_stateful
from .inline import inline_calls
from .library import BRANCHING, Library, reached_functions, with_library

tf1 = tf.compat.v1
_HANDLE_DTYPES = (tf.resource, tf.variant)
#: Names in the graph in which a call is inlined: its arguments, the call, and an op that waits for the call.
_GIVEN, _CALL, _END = "what_enters", "body", "what_waits"


@dataclass(frozen=True, eq=False)
class FunctionBody:
    """A function as a graph with inlined calls.

    Args:
        graph: the graph.
        arguments: placeholder in the graph -> number of the argument.
        results: names of the result tensors.
        flow: the conds and loops in the graph that are rebuilt too.
        layers: for each op, the maximum number of these conds and loops on a path to it.
        builder: the builder of these conds and loops.
        stateful: the stateful ops of the graph.
        condition_values: cond or case with a known condition -> its known inputs, with their values.
    """

    graph: Graph
    arguments: Mapping[str, int]
    results: Sequence[str]
    flow: Mask
    layers: Sequence[int]
    builder: FlowBuilder
    stateful: Mask
    condition_values: Mapping[int, Mapping[int, bool | int]]


class FlowBuilder:
    """Builds the ops that replace calls, conds, cases and loops.

    Args:
        base: snapshot of the graph with these ops.
        ordered: whether the ops are part of a loop with lasting effects. Each round then waits for the assignments and
            reads of the previous round.
        inlined: conds, cases and loops inside a call that are replaced too, by their names in the call.
    """

    def __init__(self, base: Graph, ordered: bool = False, inlined: Sequence[str] = ()) -> None:
        self.base, self.calls, self._ordered, self._inlined = base, FunctionCalls(base), ordered, inlined
        self._bodies: dict[Any, FunctionBody] = {}

    def build(self, node: TFNodeDef, inputs: Sequence[TFTensor], scope: str) -> list[TFTensor]:
        """Builds the replacement of an op in the default graph.

        Args:
            node: its NodeDef.
            inputs: its inputs.
            scope: the scope of the new ops.

        Returns:
            the results; for an op without results, the op that replaces it as a control input.
        """
        kind = node.op.removeprefix("Stateless")
        if node.op not in BRANCHING:
            return self.build_function(self.calls.called_function(node), inputs, scope, node.device, rebuild_flow=False)
        return {"If": self._if, "Case": self._case, "While": self._while}[kind](node, list(inputs), scope)

    def build_branch(
        self, node: TFNodeDef, inputs: Sequence[TFTensor], scope: str, known_inputs: Mapping[int, bool | int]
    ) -> list[TFTensor]:
        """Builds only one branch of a cond or case with a known condition, in the default graph.

        Conds in this branch with a known condition are replaced in the same way.

        Args:
            node: the NodeDef of the cond or case.
            inputs: its inputs.
            scope: the scope of the new ops.
            known_inputs: number of an input with a known value -> the value.
        """
        if node.op.endswith("If"):
            key = "then_branch" if known_inputs[0] else "else_branch"
            name = node.attr[key].func.name
        else:
            functions = node.attr["branches"].list.func
            number = known_inputs[0] if 0 <= known_inputs[0] < len(functions) else len(functions) - 1
            key, name = f"branches_{number}", functions[number].name
        inside = {k - 1: value for k, value in known_inputs.items() if k}
        return self.build_function(
            name, inputs[1:], f"{scope}/{key}", node.device, rebuild_flow=False, known_inputs=inside
        )

    # -- kinds of ops -------------------------------------------------------------------------------

    def _if(self, node: TFNodeDef, inputs: list[TFTensor], scope: str) -> list[TFTensor]:
        with _scope(f"{scope}/{FLOW_SCOPE}"):
            pred = _as_bool(inputs[0])
        branches = [self._branch(node, node.attr[key].func.name, inputs[1:], f"{scope}/{key}")
                    for key in ("then_branch", "else_branch")]  # fmt: skip
        with _scope(f"{scope}/{FLOW_SCOPE}"):
            return conditional(pred, *branches)

    def _case(self, node: TFNodeDef, inputs: list[TFTensor], scope: str) -> list[TFTensor]:
        functions = [f.name for f in node.attr["branches"].list.func]
        branches = [self._branch(node, name, inputs[1:], f"{scope}/branches_{k}") for k, name in enumerate(functions)]
        last = len(branches) - 1
        with _scope(f"{scope}/{FLOW_SCOPE}"):  # if the index is out of range, the last branch runs
            outside = tf.logical_or(tf.less(inputs[0], 0), tf.greater(inputs[0], last))
            index = tf.where(outside, last, inputs[0], name="index")

        def choose(low: int, high: int) -> Callable[[], list[TFTensor]]:
            if low == high:
                return branches[low]
            middle = (low + high + 1) // 2

            def both() -> list[TFTensor]:
                with _scope(f"{scope}/{FLOW_SCOPE}/{low}_{high}"):
                    return conditional(tf.less(index, middle), choose(low, middle - 1), choose(middle, high))

            return both

        return choose(0, last)()

    def _branch(self, node: TFNodeDef, name: str, inputs: list[TFTensor], scope: str) -> Callable[[], list[TFTensor]]:
        return lambda: self.build_function(name, inputs, scope, node.device)

    def _while(self, node: TFNodeDef, inputs: list[TFTensor], scope: str) -> list[TFTensor]:
        if self.calls.has_effects(node) and not self._ordered:
            return FlowBuilder(self.base, ordered=True).build(node, inputs, scope)
        test, body = node.attr["cond"].func.name, node.attr["body"].func.name
        changing = self.changed_variables(node)
        shapes = [tf.TensorShape(shape) for shape in node.attr["output_shapes"].list.shape]
        shapes = shapes or [tf.TensorShape(None)] * len(inputs)

        def all_of(values: Sequence[TFTensor]) -> list[TFTensor]:
            now = dict(zip(changing, values, strict=True))
            return [now.get(k, fixed) for k, fixed in enumerate(inputs)]

        def run_condition(*values: TFTensor) -> TFTensor:
            (answer,) = self.build_function(test, all_of(values), f"{scope}/cond", node.device)
            with _scope(f"{scope}/{FLOW_SCOPE}"):
                return _as_bool(answer)

        def run_body(*values: TFTensor) -> list[TFTensor]:
            results = self.build_function(body, all_of(values), f"{scope}/body", node.device)
            for k in changing:  # the nodes of a function do not have its static shapes
                results[k].set_shape(shapes[k])
            return [results[k] for k in changing]

        with _scope(f"{scope}/{FLOW_SCOPE}"):
            start = [inputs[k] for k in changing]
            parallel = node.attr["parallel_iterations"].i or 10
            ends = loop(run_condition, run_body, start, [shapes[k] for k in changing], parallel)
        for tensor, k in zip(ends, changing, strict=True):
            if tensor.dtype in _HANDLE_DTYPES:
                copy_handle_data(inputs[k], tensor)
        return all_of(ends)

    def changed_variables(self, node: TFNodeDef) -> list[int]:
        """Returns the numbers of the loop variables that the body of a v2 loop changes; at least one.

        A tensor list counts as changed, because a loop of TF1 that only reads a list has no gradient in TensorFlow.
        """
        body = self.calls.definitions[node.attr["body"].func.name]
        arguments = [argument.name for argument in body.signature.input_arg]
        reads = {n.name: n for n in body.node_def}
        numbers = []

        def identity_input(text: str) -> str | None:
            at = reads.get(text.partition(":")[0])
            return at.input[0] if at is not None and at.op == "Identity" and len(at.input) == 1 else None

        for k, out in enumerate(body.signature.output_arg):
            if (
                out.type == tf.variant.as_datatype_enum
                or follow_chain(body.ret[out.name], identity_input) != arguments[k]
            ):
                numbers.append(k)
        return numbers or [0]

    # -- functions ----------------------------------------------------------------------------------

    def build_function(
        self, name: str, inputs: Sequence[TFTensor], scope: str, device: str = "", rebuild_flow: bool = True,
        known_inputs: Mapping[int, bool | int] | None = None,
    ) -> list[TFTensor]:  # fmt: skip
        """Builds the ops of a function in the default graph; returns its results.

        Args:
            name: the function.
            inputs: the arguments.
            scope: the scope of the new ops.
            device: the device for ops without a device.
            rebuild_flow: whether conds and loops in the function are rebuilt too.
            known_inputs: number of an argument with a known value -> the value. Only one branch is built of a cond
                whose condition follows from these values.
        """
        body = self._body(name, inputs, device, rebuild_flow, dict(known_inputs or {}))
        here, graph = tf1.get_default_graph(), body.graph
        names = {n: scope + n.removeprefix(_CALL) for n in graph.names if n not in body.arguments}
        tensors: dict[str, list[TFTensor]] = {n: [inputs[k]] for n, k in body.arguments.items()}
        control_of: dict[str, str] = {}  # op -> the op that replaces it as a control input
        layers, arguments = np.array(body.layers, np.int32), graph.mask(graph.index[n] for n in body.arguments)

        def tensor(text: str) -> TFTensor:
            op, _, port = text.partition(":")
            return tensors[op][int(port)] if op in tensors else here.get_tensor_by_name(f"{names[op]}:{port}")

        def live(ops: Iterable[str]) -> list[Any]:
            return [here.get_operation_by_name(name) for name in ops]

        for layer in range(int(layers.max(initial=0)) + 1):
            mine = (layers == layer) & ~arguments
            block = Selection(graph, mine & ~body.flow, Query("select"))
            if len(block):
                enters = {text: tensor(text).name for text in _tensors_read(graph, block.mask, tensors)}
                new = {n: names[n] for n in block.names}
                copy_into(here, block, inputs=enters, names=new, reuse=control_of, control="drop", collections="none")
                control_of |= new
                join_context(here, live(new.values()))
            for op in np.flatnonzero(mine & body.flow).tolist():
                node, lead = graph.nodes[op], names[graph.names[op]]
                waits = live(control_of[graph.names[i]] for i in graph.control.row(op).tolist() if not arguments[i])
                reads = [tensor(text) for text in graph.input_names(op)]
                with _scope(f"{lead}/{FLOW_SCOPE}"), tf.control_dependencies(waits):
                    if waits:
                        reads = [t if t.dtype in _HANDLE_DTYPES else tf.identity(t, name="start") for t in reads]
                inner = body.condition_values.get(op)
                build = body.builder.build if inner is None else partial(body.builder.build_branch, known_inputs=inner)
                tensors[node.name] = build(node, reads, lead)
                if len(graph.control_consumers.row(op)) or self._ordered:
                    with _scope(f"{lead}/{FLOW_SCOPE}"), tf.control_dependencies(tensors[node.name]):
                        control_of[node.name] = tf.no_op(name="done").name
        if not body.results:
            return live([names[_END]])
        results = [tensor(text) for text in body.results]
        if not self._ordered or not body.stateful.any():
            return results
        first = live(control_of[graph.names[i]] for i in np.flatnonzero(body.stateful).tolist())
        with _scope(f"{scope}/{FLOW_SCOPE}"), tf.control_dependencies(first):
            return [t if t.dtype in _HANDLE_DTYPES else tf.identity(t, name="result") for t in results]

    def _body(
        self,
        name: str,
        inputs: Sequence[TFTensor],
        device: str,
        rebuild_flow: bool,
        known_inputs: Mapping[int, bool | int],
    ) -> FunctionBody:
        # The shape of a handle does not describe its resource, so the cache key contains the name of the tensor.
        kinds = tuple((t.dtype, t.name if t.dtype in _HANDLE_DTYPES else str(t.shape)) for t in inputs)
        key = (name, kinds, device, rebuild_flow, tuple(known_inputs.items()))
        if key not in self._bodies:
            self._bodies[key] = self._apart(name, inputs, device, rebuild_flow, known_inputs)
        return self._bodies[key]

    def _apart(
        self,
        name: str,
        inputs: Sequence[TFTensor],
        device: str,
        rebuild_flow: bool,
        known_inputs: Mapping[int, bool | int],
    ) -> FunctionBody:
        """Returns the body of a function: a separate graph with a single call of the function, which is inlined."""
        about = self.calls.definitions[name].signature
        alone, graph_def = (
            empty_graph(self.base.live_graph),
            graph_pb2.GraphDef(versions=self.base.live_graph.graph_def_versions),
        )
        with alone.as_default():
            enters = [tf1.placeholder(t.dtype.base_dtype, t.shape, f"{_GIVEN}/{k}") for k, t in enumerate(inputs)]
        for tensor, stand_in in zip(inputs, enters, strict=True):
            if tensor.dtype in _HANDLE_DTYPES:
                copy_handle_data(tensor, stand_in)
        kind = "StatefulPartitionedCall" if about.is_stateful else "PartitionedCall"
        call = graph_def.node.add(name=_CALL, op=kind, input=[t.op.name for t in enters], device=device)
        call.attr["f"].func.name = name
        call.attr["Tin"].list.type.extend(argument.type for argument in about.input_arg)
        call.attr["Tout"].list.type.extend(result.type for result in about.output_arg)
        if not about.output_arg:
            graph_def.node.add(name=_END, op="NoOp", input=[f"^{_CALL}"])
        functions = self.calls.functions
        with with_library(Library(shared=[functions[n] for n in reached_functions([name], functions)]), alone):
            import_nodes(alone, graph_def, {(t.op.name, 0): t for t in enters})
        apart = inline_calls(snapshot(alone), [_CALL])
        graph = snapshot(apart.graph)
        results = [tensor_name(apart.tensors[f"{_CALL}:{k}"]) for k in range(len(about.output_arg))]
        decisions = _known_decisions(
            graph, {graph.index[enters[k].op.name]: value for k, value in known_inputs.items()}
        )
        opens = [graph.index[n] for n in (f"{_CALL}/{inner}" for inner in self._inlined) if n in graph.index]
        flow = (
            graph.type_mask(BRANCHING)
            if rebuild_flow
            else graph.mask([*decisions, *opens]) & graph.type_mask(BRANCHING)
        )
        arguments, inner = {t.op.name: k for k, t in enumerate(enters)}, FlowBuilder(graph, self._ordered)
        stateful = graph.type_mask([kind for kind in set(graph.types) if is_stateful(kind)])
        for op in np.flatnonzero(flow).tolist():
            inner.calls.check_inlinable(graph.nodes[op], f"inline({name!r})", flow=True)
        return FunctionBody(graph, arguments, results, flow, _layers(graph, flow), inner, stateful, decisions)


def _known_decisions(graph: Graph, values: Mapping[int, bool | int]) -> dict[int, dict[int, bool | int]]:
    """Returns v2 cond or case with a known condition -> its known inputs, with their values."""
    tensor_values = {
        end: one for op, value in values.items() for end, one in implied_predicates(graph, (op, 0), value).items()
    }
    decisions = {}
    for op in np.flatnonzero(graph.type_mask(BRANCHES + CASES)).tolist() if tensor_values else ():
        inputs = {k: tensor_values[end] for k, end in enumerate(graph.data.ends(op)) if end in tensor_values}
        if 0 in inputs:
            decisions[op] = inputs
    return decisions


def _layers(graph: Graph, flow: Mask) -> list[int]:
    layers = [0] * graph.size
    for op in range(graph.size) if flow.any() else ():
        for before in (*graph.data.row(op).tolist(), *graph.control.row(op).tolist()):
            layers[op] = max(layers[op], layers[before] + int(flow[before]))
    return layers


def _tensors_read(graph: Graph, mask: Mask, ops: Container[str]) -> list[str]:
    """Returns the tensors of `ops` that the ops of a mask read."""
    tensors = (f"{graph.names[op]}:{port}" for op, port in entering_tensors(graph, mask) if graph.names[op] in ops)
    return list(tensors)


def _scope(name: str) -> AbstractContextManager[Any]:
    scope: AbstractContextManager[Any] = tf1.name_scope(f"{name}/")
    return scope


def _as_bool(tensor: TFTensor) -> TFTensor:
    """Returns the condition of an If or While as a bool: false for zero and for an empty string."""
    return tensor if tensor.dtype == tf.bool and tensor.shape.rank == 0 else tf.raw_ops.ToBool(input=tensor)
