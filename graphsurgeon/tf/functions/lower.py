"""Lowers functions to ops: inlines calls in a new graph, and builds calls, conds, cases and loops in the default graph.

Conds and loops become conds and loops of TF1, with contexts. They run in any session, and have gradients.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from ...errors import PlanError
from ...graph.boundary import entering_tensors
from ...graph.conditions import implied_predicates
from ...graph.control_flow import FLOW_SCOPE
from ...graph.functions import BRANCHING, CALLS, CONDITIONALS, callees_of, functions_in_node, reachable_functions
from ...graph.graph import Graph, Mask
from ...graph.names import free_name, op_name, tensor_name
from ...graph.op_packages import refuse_unknown
from ...graph.selection import Query, Selection, select
from ...graph.traversal import follow_chain
from ...graph.types import TFGraph, TFNodeDef, TFTensor
from ...plan.plan import Plan
from ...plan.plan_result import AppliedOps
from ..copy.append import copy_into
from ..copy.imports import import_nodes, import_with_shapes
from ..copy.node_defs import setter_node
from ..copy.python_state import attach_python_state
from ..import_tensorflow import tf
from ..messages import graph_pb2, node_def_pb2
from ..op_types import is_stateful
from ..open.snapshot import snapshot
from ..private.contexts import conditional, join_context, loop
from ..private.functions import is_eager, restore_gradients
from ..private.graphs import copy_handle_data, op_finder
from ..protos import empty_graph
from ..run.errors import errors_as
from .definitions import (
    Library,
    LiveFunctions,
    called_functions,
    import_functions,
    new_name,
    own_names,
    rename_calls,
    rename_function,
    with_handles,
    with_library,
)
from .expand import FunctionCalls, InlinedNodes, copy_node, set_call

tf1 = tf.compat.v1
_HANDLE_DTYPES = (tf.resource, tf.variant)


@dataclass
class InlineResult:
    """A graph with its calls inlined.

    Args:
        graph: the new `tf.Graph`.
        tensors: result of a call -> the tensor that replaces it; all other names are unchanged.
    """

    graph: TFGraph
    tensors: dict[str, str] = field(default_factory=dict)


def inline_calls(base: Graph, calls: Iterable[Any] = ()) -> InlineResult:
    """Returns a new graph in which function calls, also nested calls, are replaced by the ops of their functions.

    Args:
        base: snapshot of the graph; the graph is not changed.
        calls: the call ops to inline, by name or object. Default: all calls that can be inlined.

    Raises:
        SelectionError: an op does not exist.
        PlanError: an op is not a call, or cannot be inlined.

    Example:
        >>> with tf.Graph().as_default() as graph:
        ...     y = tf.function(lambda v: tf.negative(v, name="minus"))(tf.zeros([2], name="zeros"))
        >>> from graphsurgeon.tf.open.snapshot import snapshot
        >>> made = inline_calls(snapshot(graph))
        >>> [op.name for op in made.graph.get_operations()], made.tensors
        (['zeros', 'PartitionedCall/minus', 'PartitionedCall/Identity'],
         {'PartitionedCall:0': 'PartitionedCall/Identity:0'})
    """
    names = [op_name(c) for c in calls]
    refuse_unknown(base, np.ones(base.size, np.bool_), "inlined()")
    work = Inliner(base)
    for name in names:
        number = base.find(name, f"inlined({name!r})")
        work.calls.check_inlinable(base.nodes[number], f"inlined({name!r})")
    return work.build(set(names) if names else None)


def inline_unfolded(graph: Graph) -> Graph:
    """Returns the snapshot of a live graph for a graph with unfolded calls; the calls are inlined in it.

    A v2 cond, case or loop is kept, and the ops of its branches or bodies are added next to it. The same is true for an
    op with a gradient function. Loop variables, and values that a gradient receives, are placeholders in these ops.

    Args:
        graph: the snapshot; the graph is not changed.

    Raises:
        PlanError: a call cannot be inlined.
    """
    about = graph.unfolded
    assert about is not None
    if about.with_runtime_shapes is None:
        work = Inliner(about.graph, nested=False)
        calling = {name: node for name, node in about.calls.items() if callees_of(node, graph.functions)}
        for name, node in calling.items():
            work.calls.check_inlinable(node, f"copy() of ops inside {name!r}", flow=True)
        plain = {name for name, node in calling.items() if node.op not in BRANCHING}
        beside = [name for name in about.calls if name not in plain]
        result = work.build(plain, _nested_nodes(graph, beside) if beside else [])
        about.with_runtime_shapes = replace(snapshot(result.graph, title=graph.title), unfolded=about)
    return about.with_runtime_shapes


def _nested_nodes(graph: Graph, calls: Sequence[str]) -> list[Any]:
    """Returns the ops inside conds, cases and loops, and inside their calls, as nodes of the graph."""
    assert graph.unfolded is not None
    call_nodes = {one: graph.unfolded.calls[one] for one in calls}
    carried = {name for one, node in call_nodes.items() for name in _changing_arguments(one, node, graph.functions)}
    nodes, reads = [], graph.node_def_inputs()
    for i, name in enumerate(graph.names):
        call = next((one for one in calls if name.startswith(f"{one}/")), None)
        if call is None:
            continue
        node = copy_node(graph.nodes[i])
        node.name, node.input[:] = name, reads[i]
        if node.op == "_Arg":
            kind = node.attr["T"]
            node.attr.clear()
            if name in carried or not reads[i]:
                info = graph.info(i, 0)
                shape = tf.TensorShape(None if info is None else info.shape)
                node.op, node.input[:] = "Placeholder", []
                node.attr["dtype"].CopyFrom(kind)
                node.attr["shape"].shape.CopyFrom(shape.as_proto())
            else:
                node.op = "Identity"
                node.attr["T"].CopyFrom(kind)
        elif name in call_nodes:  # results of its functions follow the inputs of the call
            count = sum(text[0] != "^" for text in call_nodes[name].input)
            node.input[:] = [*reads[i][:count], *(text for text in reads[i] if text[0] == "^")]
        nodes.append(node)
    return nodes


def _changing_arguments(call: str, node: TFNodeDef, functions: Mapping[str, Any]) -> Iterator[str]:
    """Yields the arguments of a loop that may change between rounds, by their names in the unfolded graph."""
    if not node.op.endswith("While"):
        return
    changing = _changing_variables(functions[node.attr["body"].func.name])
    for part in ("cond", "body"):
        arguments = functions[node.attr[part].func.name].signature.input_arg
        yield from (f"{call}/{part}/{arguments[k].name}" for k in changing)


def _changing_variables(body: Any) -> list[int]:
    """Returns the numbers of the loop variables that the body of a v2 loop changes."""
    arguments = [argument.name for argument in body.signature.input_arg]
    nodes = {node.name: node for node in body.node_def}

    def identity_input(text: str) -> str | None:
        node = nodes.get(text.partition(":")[0])
        return node.input[0] if node is not None and node.op == "Identity" and len(node.input) == 1 else None

    results = (follow_chain(body.ret[result.name], identity_input) for result in body.signature.output_arg)
    return [k for k, (result, argument) in enumerate(zip(results, arguments, strict=True)) if result != argument]


class Inliner(InlinedNodes):
    """Inlines the calls of a graph; each object can be used only once.

    Args:
        base: snapshot of the graph.
        nested: whether calls inside the chosen calls are inlined too; otherwise only if they are chosen themselves.
    """

    def __init__(self, base: Graph, nested: bool = True) -> None:
        super().__init__(map(copy_node, base.nodes), FunctionCalls(base))
        self.base, self._nested = base, nested
        self._names = {name.lower() for name in base.names}

    # -- inlining -----------------------------------------------------------------------------------------

    def build(self, names: set[str] | None, extra_nodes: Sequence[Any] = ()) -> InlineResult:
        """Returns the new graph, in which the calls in `names` are inlined; without `names`, all possible calls.

        The nodes in `extra_nodes` are added, except nodes whose names already exist.
        """
        nodes: list[TFNodeDef] = []
        todo = [*reversed(self.nodes.values())]
        while todo:
            node = todo.pop()
            inline = names is None or node.name in names or (self._nested and node.name not in self.base.index)
            if inline and self.calls.called_function(node) and not self.calls.obstacle(node):
                todo += reversed(self._body(node))
            else:
                nodes.append(node)
        nodes += self._connect_all(nodes)
        there = {node.name for node in nodes}
        graph = self._graph([*nodes, *(node for node in extra_nodes if node.name not in there)])
        return InlineResult(graph, {name: self.resolve(name) for name in self.tensors})

    def _body(self, call: Any) -> list[Any]:
        """Returns the nodes that replace a call."""
        name = self.calls.called_function(call)
        if name in self.outer_functions.get(call.name, ()):
            raise PlanError(
                f"inlined({call.name!r})", f"its function {name!r} calls itself", "Leave this call as it is"
            )
        nodes = self.inline(call.name, self._scope(call.name, self.calls.definitions[name]))
        for node in nodes:
            self._keep_shapes(node)
        return nodes

    def last_ops(self, effects: list[str], results: list[str]) -> list[str]:
        """Returns the ops with effects, and the ops that compute the results."""
        return list(dict.fromkeys([*effects, *results]))

    def _keep_shapes(self, node: TFNodeDef) -> None:
        """Adds output shapes from the traced function to the NodeDef of a call, which does not contain them."""
        traced = getattr(self.calls.functions.get(self.calls.called_function(node)), "graph", None)
        if node.op in CALLS and traced is not None:
            count = len(node.attr["Tout"].list.type)
            shapes = [t.shape.as_proto() for t in traced.outputs[:count]]
            node.attr["_output_shapes"].list.shape.extend(shapes)

    def _scope(self, preferred: str, call: Any) -> str:
        leaves = [n.name.lower() for n in call.node_def]

        def is_used(name: str) -> bool:
            return any(f"{name.lower()}/{leaf}" in self._names for leaf in leaves)

        scope = free_name(preferred, is_used, as_tensorflow=True) + "/"
        self._names.update(scope.lower() + leaf for leaf in leaves)
        return scope

    def unused_name(self, preferred: str) -> str:
        """Returns an unused name, and reserves it."""
        name = free_name(preferred, lambda name: name.lower() in self._names, as_tensorflow=True)
        self._names.add(name.lower())
        return name

    # -- joining ------------------------------------------------------------------------------------

    def _connect_all(self, nodes: list[TFNodeDef]) -> list[TFNodeDef]:
        """Replaces results of calls and control inputs from calls in nodes; returns new nodes for control inputs."""
        marks: dict[str, str] = {}
        new_nodes, todo = [], list(nodes)

        def wait(text: str) -> Iterator[str]:
            call = text[1:]
            if call in self.control_inputs and call not in marks:
                marks[call] = self.unused_name(f"{call}/done")
                new_nodes.append(node_def_pb2.NodeDef(name=marks[call], op="NoOp", input=self.control_inputs[call]))
                todo.append(new_nodes[-1])
            yield f"^{marks.get(call, call)}"

        while todo:
            self.connect(todo.pop(), wait)
        return new_nodes

    def _graph(self, nodes: list[TFNodeDef]) -> TFGraph:
        """Returns the new live graph, with the Python data that is not in the nodes."""
        source = self.base.live_graph
        graph, graph_def = empty_graph(source), graph_pb2.GraphDef()
        graph_def.versions.CopyFrom(source.graph_def_versions)
        library = self._library(nodes)
        graph_def.node.extend(nodes)
        graph_def.library.function.extend(library.renamed)
        graph_def.library.gradient.extend(library.gradients)
        whole = Plan(Graph.from_ops([], owner=object())).copy(select(self.base), to="", values=self, collections="keep")
        copied = whole.effect.copies[0]
        # In a SavedModel, no op sets the variables: a call of a restore function does, and it may be missing.
        graph_def.node.extend(setter_node(copied, op) for v in copied.variables for op in v.setter)
        mask = np.array([name in self.nodes for name in self.base.names], np.bool_)
        copied = replace(
            copied,
            ops=np.flatnonzero(mask).astype(np.int32),
            names=[name for name in self.base.names if name in self.nodes],
            positions=np.where(mask, copied.positions, -1).astype(np.int32),
        )
        nodes_with_shapes = [node for node in graph_def.node if "_output_shapes" in node.attr]
        with with_library(library, graph):
            with errors_as(
                PlanError, "inlined()", "TensorFlow refuses the nodes", "Inline other calls: ed.inlined('name')"
            ):
                live = import_with_shapes(graph, graph_def, nodes_with_shapes)
            attach_python_state(copied, graph, AppliedOps(graph, live_ops=live))
            restore_gradients(graph, self.calls.functions)
        for name in self.tensors:
            op, _, port = name.partition(":")
            if op in self.base.index:
                shape = op_finder(source)(op).outputs[int(port)].shape
                graph.get_tensor_by_name(self.resolve(name)).set_shape(shape)
        return graph

    def _library(self, nodes: list[TFNodeDef]) -> Library:
        """Returns the functions that are still called; branches of conds and loops get new names."""
        out, functions = Library(), LiveFunctions(self.base.live_graph)
        called: set[str] = set()
        handles = self._with_handles(functions) if any(node.op in BRANCHING for node in nodes) else {}
        for node in nodes:
            if node.op not in BRANCHING:
                called |= functions_in_node(node, functions)
                continue
            branches = functions_in_node(node, functions)
            # TensorFlow derives the gradient of a call from the Python object of the function. So Python objects are
            # made for functions that come from a file.
            apart = {name for name in called_functions(branches, functions) if not is_eager(functions.objects[name])}
            order = reachable_functions(apart, functions)
            names = import_functions(out, order, handles, functions.objects) if apart else {}
            shared_names = own_names(branches, functions)[1]
            called |= shared_names
            renamed = reachable_functions(branches, functions, shared_names | apart)
            names |= {name: new_name(node.name, name, ()) for name in renamed}
            out.renamed += [rename_function(handles[name], names) for name in renamed]
            rename_calls(node, names)
            if "_output_shapes" in node.attr:
                del node.attr["_output_shapes"]
        out.shared = [functions.objects[name] for name in reachable_functions(called, functions)]
        return out

    def _with_handles(self, functions: LiveFunctions) -> dict[str, Any]:
        """Returns the functions that the graph calls, with the dtype and shape of variables in their arguments."""
        calls = {node.name: called for node in self.base.nodes if (called := functions_in_node(node, functions))}
        names = reachable_functions(set().union(*calls.values()), functions)
        live_calls = map(op_finder(self.base.live_graph), calls)
        return with_handles(names, live_calls, functions.objects, self.calls.definitions)


# -- building in the default graph ------------------------------------------------------------------


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
        lists = [k for k, result in enumerate(body.signature.output_arg) if result.type == tf.variant.as_datatype_enum]
        return sorted({*_changing_variables(body), *lists}) or [0]

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
        """Returns the body of a function: a separate graph with a single call of the function, which is inlined."""
        # The shape of a handle does not describe its resource, so the cache key contains the name of the tensor.
        kinds = tuple((t.dtype, t.name if t.dtype in _HANDLE_DTYPES else str(t.shape)) for t in inputs)
        key = (name, kinds, device, rebuild_flow, tuple(known_inputs.items()))
        if key in self._bodies:
            return self._bodies[key]
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
        set_call(call, about)
        if not about.output_arg:
            graph_def.node.add(name=_END, op="NoOp", input=[f"^{_CALL}"])
        called = reachable_functions([name], self.calls.definitions)
        with with_library(Library(shared=[self.calls.functions[n] for n in called]), alone):
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
        body = FunctionBody(graph, arguments, results, flow, _layers(graph, flow), inner, stateful, decisions)
        self._bodies[key] = body
        return body


def _known_decisions(graph: Graph, values: Mapping[int, bool | int]) -> dict[int, dict[int, bool | int]]:
    """Returns v2 cond or case with a known condition -> its known inputs, with their values."""
    tensor_values = {
        end: one for op, value in values.items() for end, one in implied_predicates(graph, (op, 0), value).items()
    }
    decisions = {}
    for op in np.flatnonzero(graph.type_mask(CONDITIONALS)).tolist() if tensor_values else ():
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
