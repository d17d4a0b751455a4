"""Inline: replaces function calls by the ops of the functions, in a new graph."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...errors import PlanError
from ...graph.functions import callees_of
from ...graph.graph import Graph
from ...graph.names import free_name, op_name
from ...graph.op_packages import refuse_unknown
from ...graph.selection import select
from ...graph.types import TFGraph, TFNodeDef
from ...plan.plan import Plan
from ...plan.plan_result import AppliedOps
from ..copy.imports import import_with_shapes
from ..copy.node_defs import setter_node
from ..copy.python_state import attach_python_state
from ..import_tensorflow import tf
from ..messages import graph_pb2, node_def_pb2
from ..open.snapshot import snapshot
from ..private.functions import is_eager, restore_gradients
from ..private.graphs import op_finder
from ..protos import empty_graph
from ..run.errors import errors_as
from .expand import FunctionCalls, InlinedBody, InlinedNodes, copy_node
from .library import (
    BRANCHING,
    CALLS,
    Library,
    called_functions,
    functions_in_node,
    import_functions,
    new_name,
    own_names,
    reached_functions,
    rename_calls,
    rename_function,
    with_handles,
    with_library,
)


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
    body = functions[node.attr["body"].func.name]
    gives = [body.ret[result.name] for result in body.signature.output_arg]
    for part in ("cond", "body"):
        function = functions[node.attr[part].func.name]
        for own, argument, output in zip(function.signature.input_arg, body.signature.input_arg, gives, strict=True):
            if output != argument.name:
                yield f"{call}/{part}/{own.name}"


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
        body = self.inline(call.name, self._scope(call.name, self.calls.definitions[name]))
        for node in body.nodes:
            self._keep_shapes(node)
        return body.nodes

    def last_ops(self, body: InlinedBody) -> list[str]:
        """Returns the ops with effects, and the ops that compute the results."""
        return list(dict.fromkeys([*body.effects, *body.result_ops]))

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
        out = Library()
        called: set[str] = set()
        definitions = self._definitions_by_name() if any(node.op in BRANCHING for node in nodes) else {}
        for node in nodes:
            if node.op not in BRANCHING:
                called |= functions_in_node(node, self.calls.functions)
                continue
            functions, branches = self.calls.functions, functions_in_node(node, self.calls.functions)
            # TensorFlow derives the gradient of a call from the Python object of the function. So Python objects are
            # made for functions that come from a file.
            apart = {name for name in called_functions(branches, functions) if not is_eager(functions[name])}
            names = import_functions(out, reached_functions(apart, functions), definitions, functions) if apart else {}
            shared_names = own_names(branches, functions)[1]
            called |= shared_names
            renamed = reached_functions(branches, functions, shared_names | apart)
            names |= {name: new_name(node.name, name, ()) for name in renamed}
            out.renamed += [rename_function(definitions[name], names) for name in renamed]
            rename_calls(node, names)
            if "_output_shapes" in node.attr:
                del node.attr["_output_shapes"]
        out.shared = [self.calls.functions[name] for name in reached_functions(called, self.calls.functions)]
        return out

    def _definitions_by_name(self) -> dict[str, Any]:
        """Returns the functions that the graph calls, with the dtype and shape of variables in their arguments."""
        functions = self.calls.functions
        calls = {node.name: called for node in self.base.nodes if (called := functions_in_node(node, functions))}
        names = reached_functions(set().union(*calls.values()), functions)
        return with_handles(names, map(op_finder(self.base.live_graph), calls), functions, self.calls.definitions)
