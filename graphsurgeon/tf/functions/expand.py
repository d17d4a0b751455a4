"""Expands function calls: bodies of functions as snapshots, and nodes of graphs in which calls are inlined."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from typing import Any, NamedTuple

from ...errors import PlanError, SelectionError, few
from ...graph.control_flow import FLOW_TYPES
from ...graph.functions import (
    BRANCHING,
    CALLS,
    WHILE_LOOPS,
    argument_sources,
    called_function,
    callees_of,
    functions_in_node,
    own_gradient,
    reachable_functions,
)
from ...graph.graph import Graph, TensorInfo
from ...graph.lazy_graph import lazy_graph_of
from ...graph.names import colocate, free_name, op_name, rename_input, tensor_name
from ...graph.traversal import follow_chain, reachable_from
from ...graph.types import TFNodeDef
from ..import_tensorflow import is_loaded, tf
from ..messages import attr_value_pb2, graph_pb2, node_def_pb2, tensor_shape_pb2
from ..op_types import CONTENT, FED, RANDOM, effect_finder, op_definition
from ..open.outputs import dtype_name, dtypes, output_start, shape_proto
from ..protos import empty_graph, encode, lacks_memory

#: Effects for which results need not wait.
_UNORDERED = frozenset({RANDOM, CONTENT, FED})


class FunctionCalls:
    """The function calls of a graph.

    Args:
        base: snapshot of the graph.
    """

    def __init__(self, base: Graph) -> None:
        self.base = base
        self.definitions = base.functions
        self._effects_of = effect_finder(self.definitions)

    @cached_property
    def functions(self) -> dict[str, Any]:
        """The functions as Python objects, by name; makes the live graph if it does not exist yet."""
        from ..private.c_api import functions_of

        return functions_of(self.base.live_graph)

    def called_function(self, node: TFNodeDef) -> str:
        """Returns the function that a node calls; empty if the node is not a call."""
        return called_function(node, self.definitions)

    def obstacle(self, node: TFNodeDef, flow: bool = False) -> tuple[str, str] | None:
        """Returns (problem, suggestion) if a node cannot be inlined; None if it can.

        Args:
            node: its NodeDef.
            flow: whether conds, cases and loops can be inlined.
        """
        if node.op in BRANCHING and not flow:
            kind = node.op.removeprefix("Stateless")
            problem = f"{node.name!r} is a v2 {kind}, which is not inlined together with a whole graph"
            return problem, f"Replace it by a TF1 {kind}: ed.plan().inline({node.name!r})"
        is_call = node.op in BRANCHING or self.called_function(node)
        names = sorted(one.function for one in callees_of(node, self.definitions)) if is_call else []
        if not names:
            calls = [n for n, t in zip(self.base.names, self.base.types, strict=True)
                     if t in CALLS or t in self.definitions or (flow and t in BRANCHING)]  # fmt: skip
            return (
                f"{node.name!r} is of type {node.op}, not a function call",
                f"The calls are {few(map(repr, calls), 6)}" if calls else "This graph calls no functions",
            )
        absent = next((name for name in names if name not in self.definitions), None)
        if absent is not None:
            return f"its function {absent!r} is not in the graph", "Open the file that holds the function too"
        problem = next(filter(None, map(self._obstacle, names)), "")
        if not problem and node.op in BRANCHING:
            problem = self._old_flow(names)
        if not problem and node.name in self.base.index and self._in_old_flow(node.name):
            problem = f"{node.name!r} is inside a while_loop or cond of TF1"
        return (problem, "Leave this call as it is") if problem else None

    def _in_old_flow(self, name: str) -> bool:
        """Whether an op is inside a while_loop or cond of TF1; makes the live graph if it does not exist yet."""
        from ..private.contexts import context_of
        from ..private.graphs import op_finder

        return context_of(op_finder(self.base.live_graph)(name)) is not None

    def check_inlinable(self, node: TFNodeDef, request: str, flow: bool = False) -> None:
        """Refuses a node that cannot be inlined, see `obstacle`; raises PlanError."""
        reason = self.obstacle(node, flow)
        if reason is not None:
            raise PlanError(request, *reason)

    def _obstacle(self, name: str) -> str:
        """Returns why a function cannot be replaced by its ops; empty if it can."""
        inner, own = self.definitions[name], self.functions[name]
        if self.has_dtype_parameters(name):
            return f"its function {name!r} takes dtypes as parameters"
        if getattr(own, "grad_func_name", None) or getattr(own, "python_grad_func", None):
            return f"its function {name!r} has a custom gradient, which would be lost"
        if any(own_gradient(node).startswith("CustomGradient") for node in inner.node_def):
            return f"its function {name!r} holds a tf.custom_gradient, which would be lost"
        return ""

    def has_dtype_parameters(self, name: str) -> bool:
        """Returns whether dtypes are parameters of a function, which each call specifies."""
        return any(value.placeholder for node in self.definitions[name].node_def for value in node.attr.values())

    def _old_flow(self, names: list[str]) -> str:
        """Returns the problem if branches or bodies contain a TF1 cond or loop without its context; else empty."""
        for name in reachable_functions(names, self.definitions):
            if any(n.op in FLOW_TYPES for n in self.definitions[name].node_def):
                return f"its function {name!r} holds a while_loop or cond of TF1"
        return ""

    def has_effects(self, node: TFNodeDef) -> bool:
        """Returns whether a node, or a function that it calls, has a lasting effect, such as setting a variable."""
        return bool(self._effects_of(node) - _UNORDERED)


def flat_names(nodes: Iterable[TFNodeDef], functions: Mapping[str, Any]) -> Callable[[str], str]:
    """Returns a function that converts inputs of ops in a function to the notation of graphs.

    For example, it converts ``op:out:0`` to ``op:2``. Arguments, control inputs and other texts are not changed.

    Args:
        nodes: the NodeDefs of the function.
        functions: name -> FunctionDef.
    """
    signatures = dict[str, Any]()  # op type -> its OpDef, if it has several output arguments
    producers = dict[str, TFNodeDef | None]()  # op -> its NodeDef, if it has several output arguments
    for node in nodes:
        kind = node.op
        if kind not in signatures:
            signature = op_definition(kind, functions)
            signatures[kind] = signature if signature is not None and len(signature.output_arg) > 1 else None
        producers[node.name] = None if signatures[kind] is None else node

    def flat(text: str) -> str:
        op, _, rest = text.partition(":")
        out, _, index = rest.partition(":")
        if op not in producers or not rest or not (index or "0").isdecimal() or len(index) > 9:
            return text
        node = producers[op]
        start = 0 if node is None else output_start(out, node, signatures[node.op])
        return f"{op}:{start + int(index or 0)}"

    return flat


def set_call(node: TFNodeDef, signature: Any) -> None:
    """Sets the attributes of a call, given the signature of its function."""
    node.attr["f"].func.name = signature.name
    node.attr["Tin"].list.type.extend(argument.type for argument in signature.input_arg)
    node.attr["Tout"].list.type.extend(result.type for result in signature.output_arg)


def constant(name: str, tensor: Any) -> TFNodeDef:
    """Returns the NodeDef of a constant with the value of a TensorProto."""
    about = {"dtype": attr_value_pb2.AttrValue(type=tensor.dtype), "value": attr_value_pb2.AttrValue(tensor=tensor)}
    return node_def_pb2.NodeDef(name=name, op="Const", attr=about)


def copy_node(node: TFNodeDef) -> TFNodeDef:
    """Returns a copy of a NodeDef."""
    new = node_def_pb2.NodeDef()
    new.CopyFrom(node)
    return new


# -- nodes in which calls are inlined -------------------------------------------------------------


class InlinedNodes:
    """The nodes of a graph in which calls are replaced by the ops of their functions.

    Args:
        nodes: NodeDefs; they are changed in place.
        calls: the functions of the graph.

    Attributes:
        nodes: the current nodes, by name.
        tensors: result of a replaced call -> the tensor that replaces it.
        control_inputs: replaced call -> the control inputs that replace a control input from the call.
        outer_functions: op of a function -> the functions around it, innermost last.
    """

    def __init__(self, nodes: Iterable[TFNodeDef], calls: FunctionCalls) -> None:
        self.calls = calls
        self.nodes: dict[str, Any] = {node.name: node for node in nodes}
        self.tensors: dict[str, str] = {}
        self.control_inputs: dict[str, list[str]] = {}
        self.outer_functions: dict[str, tuple[str, ...]] = {}

    def unused_name(self, preferred: str) -> str:
        """Returns an unused name for a new op."""
        return free_name(preferred, self.nodes.__contains__, as_tensorflow=True)

    def inline(self, call: str, scope: str, names: Mapping[str, str] | None = None) -> list[Any]:
        """Replaces a call by the nodes of its function, and returns these nodes.

        The results wait for ops with lasting effects.

        Args:
            call: the name of the call.
            scope: the prefix of new names.
            names: op of the function -> its new name; by default, `scope` and its old name.
        """
        node = self.nodes.pop(call)
        function = self.calls.called_function(node)
        inner = self.calls.definitions[function]
        new_names = names or {n.name: scope + n.name for n in inner.node_def}
        data, before = list[str](), list[str]()
        for text in node.input:
            (before if text[0] == "^" else data).append(text)
        arguments = {a.name: text for a, text in zip(inner.signature.input_arg, data, strict=False)}
        flat = flat_names(inner.node_def, self.calls.definitions)

        def resolve(text: str) -> str:
            if text[0] == "^":
                outer = arguments.get(text[1:])
                return f"^{new_names[text[1:]]}" if outer is None else f"^{op_name(outer)}"
            return arguments.get(op_name(text)) or rename_input(flat(text), new_names)

        nodes = []
        for old in inner.node_def:
            new = copy_node(old)
            new.name = new_names[old.name]
            new.input[:] = [resolve(text) for text in old.input]
            if before and old.op != "Const" and not any(op_name(text) in new_names for text in old.input):
                new.input.extend(before)
            if node.device and not new.device:
                new.device = node.device
            colocate(new, new_names)
            if "frame_name" in new.attr:
                new.attr["frame_name"].s = scope.encode() + new.attr["frame_name"].s
            nodes.append(new)
        lasting = set(inner.control_ret.values())  # in random order
        effects = [f"^{new_names[n.name]}" for n in inner.node_def if n.name in lasting and self.calls.has_effects(n)]
        results = [resolve(inner.ret[out.name]) for out in inner.signature.output_arg]
        for i, out in enumerate(inner.signature.output_arg if effects else ()):
            new = node_def_pb2.NodeDef(name=self.unused_name(f"{scope}result_{i}"), op="Identity")
            new.input.extend([results[i], *effects])
            new.attr["T"].type = out.type
            nodes.append(new)
            results[i] = f"{new.name}:0"
        self.nodes.update((new.name, new) for new in nodes)
        self.outer_functions.update(dict.fromkeys(new_names.values(), (*self.outer_functions.get(call, ()), function)))
        self.tensors.update((f"{call}:{i}", tensor) for i, tensor in enumerate(results))
        self.control_inputs[call] = self.last_ops(effects, [f"^{op_name(tensor)}" for tensor in results]) or before
        return nodes

    def last_ops(self, effects: list[str], results: list[str]) -> list[str]:
        """Returns the control inputs that replace a control input from a call.

        Args:
            effects: the ops of its function with lasting effects, as control inputs.
            results: the ops that compute its results, as control inputs.
        """
        return effects or list(dict.fromkeys(results))

    def resolve(self, tensor: str) -> str:
        """Returns the replacement of a tensor, through all nested calls; without one, the tensor itself."""
        key = tensor_name(tensor)
        while key in self.tensors:
            key = tensor_name(self.tensors[key])
        return key

    def connect(self, node: TFNodeDef, control_of: Callable[[str], Iterable[str]]) -> list[str]:
        """Replaces results of calls and control inputs from calls in a node; returns the new inputs.

        Args:
            node: the node.
            control_of: a function that returns the replacements of a control input.
        """
        texts = list(node.input)
        if not any(text[0] == "^" or text.partition(":")[0] in self.control_inputs for text in texts):
            return texts
        new = [self.resolve(text) if tensor_name(text) in self.tensors else text for text in texts if text[0] != "^"]
        new += dict.fromkeys(other for text in texts if text[0] == "^" for other in control_of(text))
        if new != texts:
            node.input[:] = new
        return new


#: The text that TensorFlow adds before and after the user's name of a function; and characters that are not possible in
#: an op name.
_LEAD, _TAIL = re.compile(r"^_*(inference|forward|internal)_+"), re.compile(r"_\d+$")
_ODD = re.compile(r"^[^A-Za-z0-9]+|[^A-Za-z0-9_]")


class FlattenedFunction(InlinedNodes):
    """Nodes of a graph in which calls are inlined if some tensors need them.

    Names in functions never contain ``#``. So temporary names with ``#`` do not conflict with names in functions.

    Args:
        nodes: NodeDefs; they are changed in place.
        functions: name -> FunctionDef.

    Attributes:
        names: temporary name -> the name in the function.
        stays: call that cannot be replaced -> the reason.
    """

    def __init__(self, nodes: Iterable[TFNodeDef], functions: Mapping[str, Any]) -> None:
        super().__init__(nodes, FunctionCalls(Graph.from_nodes([], functions_of=lambda: functions)))
        self.names: dict[str, str] = {}
        self.stays: dict[str, str] = {}
        self._producers: dict[str, list[str]] = {}  # op -> the ops of its inputs; cleared when a call is replaced

    def inline_outer(self, targets: Iterable[str]) -> list[str]:
        """Repeatedly replaces the call that computes all of `targets`; returns the tensors that replace `targets`."""
        tensors = [self.resolve(tensor) for tensor in targets]
        while True:
            sources = [self._through(tensor) for tensor in tensors]
            doers = {op_name(tensor) for tensor in sources}
            callers = [name for name in doers if self.calls.called_function(self.nodes[name])]
            waiting = any(self.outer_functions.get(name) for name in doers.difference(callers))
            if len(callers) != 1 or waiting or not self._gives_way(callers[0]):
                return tensors
            other_ops = self.required_ops(sources).keys() - {callers[0]}
            self._open(callers[0], {self.names.get(name, name).lower() for name in other_ops})
            tensors = [self.resolve(tensor) for tensor in sources]

    def inline_inner(self, targets: Iterable[str], exclude: Container[str]) -> None:
        """Replaces all calls that `targets` need, except calls in `exclude`; each call gets its own name scope."""
        while True:
            names = self.required_ops(targets)
            todo = [
                n
                for n in names
                if n not in exclude and self.calls.called_function(self.nodes[n]) and self._gives_way(n)
            ]
            if not todo:
                return
            for call in todo:
                wish = _TAIL.sub("", _LEAD.sub("", self.calls.called_function(self.nodes[call])))
                wish = _ODD.sub("", wish) or "call"
                scopes = {self.names.get(name, name).lower().partition("/")[0] for name in self.nodes}
                self._open(call, (), free_name(wish, lambda s: s.lower() in scopes, as_tensorflow=True) + "/")  # noqa: B023

    def required_ops(self, targets: Iterable[str]) -> dict[str, None]:
        """Returns the names of all ops that tensors and ops need, including these ops."""
        return reachable_from((op_name(source) for end in targets for source in self._resolve(end)), self._before)

    def _before(self, name: str) -> list[str]:
        """Returns the ops of the data and control inputs of an op."""
        inputs = self._producers.get(name)
        if inputs is None:
            inputs = self._producers[name] = list(map(op_name, self._connect(name)))
        return inputs

    def effect_ops(self, op: str) -> list[str]:
        """Returns the ops with the effects of an op: itself, or for a replaced call, the ops of its function."""
        return list(dict.fromkeys(op_name(text) for text in self._resolve(op)))

    # -- one call -------------------------------------------------------------------------------

    def _gives_way(self, call: str) -> bool:
        node = self.nodes[call]
        name = self.calls.called_function(node)
        if call in self.stays or node.op in BRANCHING:
            return False
        if name in self.outer_functions.get(call, ()):
            self.stays[call] = f"its function {name!r} calls itself"
        elif name not in self.calls.definitions:
            self.stays[call] = f"its function {name!r} is not in the file"
        elif self.calls.has_dtype_parameters(name):
            self.stays[call] = f"its function {name!r} takes dtypes as parameters"
        return call not in self.stays

    def _open(self, call: str, used_names: Container[str], scope: str = "") -> None:
        """Replaces a call by the nodes of its function; they keep their names if no name is taken."""
        self._connect(call)
        inner = self.calls.definitions[self.calls.called_function(self.nodes[call])]
        if not scope and any(n.name.lower() in used_names for n in inner.node_def):
            scope = f"{self.names.get(call, 'call')}/"
        names = {n.name: scope + n.name for n in inner.node_def}
        for old in inner.node_def:
            if self.calls.called_function(old):  # a called function may have an op with this name
                names[old.name] = f"#{scope}{old.name}#{len(self.names)}"
                self.names[names[old.name]] = scope + old.name
        self.inline(call, scope, names)
        self._producers.clear()

    # -- edges ----------------------------------------------------------------------------------

    def _connect(self, name: str) -> list[str]:
        return self.connect(self.nodes[name], self._resolve)

    def _resolve(self, end: str) -> Iterator[str]:
        """Yields the replacements of a tensor, or of a control input."""
        if ":" in end:
            yield self.resolve(end)
            return
        todo = [end]
        while todo:
            text = todo.pop()
            if text.removeprefix("^") in self.control_inputs:
                todo += self.control_inputs[text.removeprefix("^")]
            else:
                yield text

    def _through(self, tensor: str) -> str:
        """Returns the tensor before the ``Identity`` ops at the end of a function.

        If these ops wait for another op with effects, the tensor itself is returned.
        """
        waited: set[str] = set()

        def source(end: str) -> str | None:
            node = self.nodes[op_name(end)]
            if node.op != "Identity":
                return None
            self._connect(node.name)
            waited.update(self._awaited_ops(node))
            return self.resolve(node.input[0])

        at = follow_chain(tensor, source)
        acting = {name for name in waited if self.calls.has_effects(self.nodes[name])}
        return at if acting <= {op_name(at)} else tensor

    def _awaited_ops(self, node: TFNodeDef) -> set[str]:
        """Returns the ops that an op waits for, directly or through NoOps."""
        start = [text[1:] for text in node.input if text[0] == "^"]
        ops = reachable_from(start, lambda name: self._before(name) if self.nodes[name].op == "NoOp" else ())
        return {name for name in ops if self.nodes[name].op != "NoOp"}


# -- bodies as snapshots --------------------------------------------------------------------------


def function_body(graph: Graph, name: str, call: int | None = None, cache: dict[Any, Graph] | None = None) -> Graph:
    """Returns the body of a function: its arguments as ``_Arg``, its results as ``_Retval``.

    Args:
        graph: the snapshot of the graph, or of a body.
        name: the name of the function.
        call: the number of the op that calls it, from which the shapes of the arguments are known.
        cache: the bodies that were read before for this snapshot; the new body is added.

    Raises:
        SelectionError: the graph has no function with this name.
    """
    functions = graph.functions
    if name not in functions:
        raise SelectionError(
            f"unfold(function={name!r})",
            f"{graph.title} has no function with this name",
            f"It has {few(sorted(functions), 5) or 'no functions'}",
        )
    inner = functions[name]
    outer = graph.outputs_of.argument_infos if isinstance(graph.outputs_of, BodyOutputs) else {}
    takes = inner.signature.input_arg
    infos = repeat(ArgumentInfo()) if call is None else argument_infos(graph, call, takes, outer)
    arguments = {
        argument.name: about if about != ArgumentInfo() else ArgumentInfo(_own_shape(inner, i))
        for i, (argument, about) in enumerate(zip(takes, infos, strict=False))
    }
    key = (graph.title, name, *(about.key for about in arguments.values()))
    cache = {} if cache is None else cache
    if key not in cache:
        cache[key] = _read_body(graph, name, arguments)
    return cache[key]


def _read_body(graph: Graph, name: str, arguments: Mapping[str, ArgumentInfo]) -> Graph:
    functions = graph.functions
    inner = functions[name]
    flat = flat_names(inner.node_def, functions)
    nodes = []
    for argument in inner.signature.input_arg:
        node = node_def_pb2.NodeDef(name=argument.name, op="_Arg")
        node.attr["T"].type = argument.type
        nodes.append(node)
    for old in inner.node_def:
        node = copy_node(old)
        node.input[:] = map(flat, old.input)
        nodes.append(node)
    used_names = {node.name for node in nodes}
    for result in inner.signature.output_arg:
        free = free_name(result.name, used_names.__contains__, as_tensorflow=True)
        used_names.add(free)
        node = node_def_pb2.NodeDef(name=free, op="_Retval", input=[flat(inner.ret[result.name])])
        node.attr["T"].type = result.type
        nodes.append(node)
    owner = graph.outputs_of.owner if isinstance(graph.outputs_of, BodyOutputs) else graph.owner
    shapes = BodyOutputs(nodes, functions, arguments, owner)
    about = {"functions_of": lambda: functions, "gradients_of": lambda: graph.gradients}
    return Graph.from_nodes(nodes, title=f"{name} of {graph.title}", outputs_of=shapes, **about)


def _own_shape(argument_def: Any, argument: int) -> Any:
    """Returns the shape in a FunctionDef for an argument; None if it contains none."""
    attributes = argument_def.arg_attr[argument].attr if argument in argument_def.arg_attr else {}
    shapes: Any = attributes["_output_shapes"].list.shape if "_output_shapes" in attributes else ()
    return shapes[0] if len(shapes) == 1 else None


# -- dtypes and shapes ------------------------------------------------------------------------------


class ArgumentInfo(NamedTuple):
    """The known facts about an argument: its shape; for the handle of a variable, (dtype number, shape) of this."""

    shape: Any = None
    handle_data: tuple[int, Any] | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """A hashable key; protos are not hashable."""
        dtype, of = self.handle_data or (0, None)
        return dtype, *(one if one is None else encode(one) for one in (self.shape, of))


def argument_infos(
    graph: Graph, call: int, arguments: Sequence[Any], outer: Mapping[str, ArgumentInfo]
) -> Iterator[ArgumentInfo]:
    """Yields the known facts about the arguments of a function, from the op that calls it.

    Args:
        graph: the snapshot with the op.
        call: the number of the op.
        arguments: the arguments of the function. Nothing is known if the op does not pass exactly one input for each.
        outer: the known facts about the arguments of `graph`, if it is the body of a function itself.
    """
    sources = argument_sources(graph.nodes[call], graph.data.ends(call), len(arguments))
    for argument, source in zip(arguments, sources, strict=True):
        maker, info = (graph.nodes[source[0]], graph.declared_info(*source)) if source is not None else (None, None)
        if maker is not None and maker.op == "VarHandleOp":
            yield ArgumentInfo(handle_data=(maker.attr["dtype"].type, maker.attr["shape"].shape))
        elif maker is not None and maker.op == "_Arg" and outer.get(maker.name, ArgumentInfo()).handle_data:
            yield outer[maker.name]
        elif info is None or graph.types[call] in WHILE_LOOPS:  # a loop may change the shape of its variables
            yield ArgumentInfo()
        else:  # an argument may be an element of the dataset that the op takes, so its dtype may differ
            fits = info.shape is not None and info.dtype.removesuffix("_ref") == dtype_name(argument.type)
            yield ArgumentInfo(shape_proto(info.shape) if fits else None)


class BodyOutputs:
    """Returns dtype and shape of the outputs of an op of a body; TensorFlow infers all of them on first use.

    Args:
        nodes: the body; its arguments are ``_Arg`` ops, its results ``_Retval`` ops.
        functions: name -> FunctionDef, with all functions that the body calls, at any depth.
        arguments: argument -> the known facts about it.
        owner: the live or deferred graph with the functions.
    """

    def __init__(
        self,
        nodes: Sequence[TFNodeDef],
        functions: Mapping[str, Any],
        arguments: Mapping[str, ArgumentInfo],
        owner: Any,
    ) -> None:
        self._nodes, self._functions, self.argument_infos, self.owner = nodes, functions, arguments, owner

    def __call__(self, number: int) -> Sequence[TensorInfo] | None:
        if self._nodes[number].op == "_Retval":
            return []
        from ..private.graphs import tensor_info

        op = self.live_op(number)
        return None if op is None else [tensor_info(tensor) for tensor in op.outputs]

    def declared_outputs(self, number: int) -> Sequence[TensorInfo] | None:
        """Returns the same, but only dtypes before TensorFlow is imported, and before the trial of a file."""
        node, waiting = self._nodes[number], lazy_graph_of(self.owner)
        if (is_loaded() and (waiting is None or waiting.is_importable)) or node.op == "_Retval":
            return self(number)
        signature = op_definition(node.op, self._functions)
        output_types = None if signature is None else dtypes(signature.output_arg, node, signature)
        return None if output_types is None else [TensorInfo(dtype, None) for dtype in output_types]

    def live_op(self, number: int) -> Any:
        """Returns the live op for an op of the body, from which shapes are read; None if TensorFlow made none."""
        return self._ops.get(self._nodes[number].name)

    @cached_property
    def _ops(self) -> dict[str, Any]:
        if (waiting := lazy_graph_of(self.owner)) is not None:
            waiting.check_importable()
            if waiting.is_view_only:
                return {}
        graph_def = graph_pb2.GraphDef()
        graph_def.versions.producer = tf.version.GRAPH_DEF_VERSION
        called = {name for node in self._nodes for name in functions_in_node(node, self._functions)}
        graph_def.library.function.extend(self._functions[f] for f in reachable_functions(called, self._functions))
        for node in self._nodes:
            self._write_node(graph_def.node.add(), node)
        try:
            with empty_graph().as_default() as graph:
                tf.graph_util.import_graph_def(graph_def, name="")
        except Exception as error:  # if TensorFlow cannot import the body, its shapes stay unknown
            if lacks_memory(error):
                raise
            return {}
        return {op.name: op for op in graph.get_operations()}

    def _write_node(self, new: Any, node: TFNodeDef) -> None:
        new.CopyFrom(node)
        new.device = ""
        new.attr.pop("_class", None)
        if node.op not in ("_Arg", "_Retval"):
            return
        new.attr.clear()
        argument = self.argument_infos.get(node.name, ArgumentInfo())
        if node.op == "_Retval":
            new.op = "Identity"
            new.attr["T"].CopyFrom(node.attr["T"])
        elif argument.handle_data is not None:
            new.op = "VarHandleOp"
            new.attr["dtype"].type = argument.handle_data[0]
            new.attr["shape"].shape.CopyFrom(argument.handle_data[1])
        else:
            new.op = "Placeholder"
            new.attr["dtype"].CopyFrom(node.attr["T"])
            unknown = tensor_shape_pb2.TensorShapeProto(unknown_rank=True)
            new.attr["shape"].shape.CopyFrom(unknown if argument.shape is None else argument.shape)
