"""Subgraphs: calls a Python function for some sites of a graph, and collects the ops it builds in a separate graph."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import PlanError, counted
from ...graph.graph import Graph
from ...graph.names import colocate, rename_input
from ...graph.types import TFGraph, TFNodeDef
from ...plan.backend import BuiltSubgraph, InsertionSite
from ..copy.imports import import_nodes
from ..import_tensorflow import tf
from ..messages import graph_pb2
from ..op_types import op_definition
from ..open.outputs import UNKNOWN, known_dtype
from ..open.snapshot import snapshot
from ..private.c_api import functions_of
from ..private.contexts import innermost_context
from ..private.graphs import all_collections, copy_handle_data, guarded_ops
from ..run.errors import error_text, errors_as
from .nodes import similar_types
from .patterns import parameters_of

tf1 = tf.compat.v1
#: The scope of the placeholders, which are not added to the graph.
_ARGUMENT_PREFIX = "what_the_plan_gives"


def trace_sites(
    function: Callable[..., Any] | str, sites: Sequence[InsertionSite], base: Graph, request: str
) -> BuiltSubgraph:
    """Builds the ops that a function makes for some sites; sites with equal results share one call.

    Args:
        function: a function of tensors that returns a tensor, or a list or dict of tensors. An argument called
            ``match`` gets a `Match`. Or an op type, for a single op with the same inputs.
        sites: the places at which ops are inserted.
        base: snapshot of their graph.
        request: the request, for messages.

    Raises:
        PlanError: the function cannot be called with these inputs, fails, or returns anything else.
    """
    tracer = _SiteTracer(
        op_maker(function, sites[0], request) if isinstance(function, str) else function, base, request
    )
    outputs = [tracer.outputs(number, site) for number, site in enumerate(sites)]
    tracer.finish()
    result = snapshot(tracer.graph, title="the ops that the plan builds")
    return BuiltSubgraph(result, tracer.inputs, tuple(outputs))


@dataclass
class _Template:
    """The nodes that the function made for one site, if it made only nodes, without further Python data."""

    scope: str
    nodes: list[TFNodeDef]
    argument_names: list[str]  # names of the placeholders, in the order of the arguments
    outputs: Mapping[str, str]


@dataclass
class _SiteTracer:
    """The graph in which all sites are built."""

    function: Callable[..., Any]
    base: Graph
    request: str
    graph: TFGraph = field(default_factory=tf.Graph)
    inputs: dict[str, tuple[int, int]] = field(default_factory=dict)
    templates: dict[Any, _Template | None] = field(default_factory=dict)
    deferred: Any = field(default_factory=graph_pb2.GraphDef)
    parameters: Any = None

    def outputs(self, number: int, site: InsertionSite) -> dict[str, str]:
        """Returns output -> tensor for one site, which is built now, or later by `finish`."""
        arguments = self._arguments(site)
        infos = {name: self._info(site.inputs[name]) for name in arguments.values()}
        key_parts = tuple((word, str(infos[name])) for word, name in arguments.items())
        key = (
            None if self._takes_match(site) else key_parts
        )  # a function of the match may make different ops for each site
        template = self.templates.get(key) if key is not None and _fixed(infos.values()) else None
        if template is not None:
            return self._again(number, site, template, [site.inputs[name] for name in arguments.values()])
        tensors = {}
        with self.graph.as_default():
            for at, (word, name) in enumerate(arguments.items()):
                tensors[word] = self._placeholder(f"{_ARGUMENT_PREFIX}/{number}/{at}", site.inputs[name])
        start = len(self.graph.get_operations())
        resources = self._beside()
        result = self._call_function(site, tensors)
        names_of_outputs = self._results(site, result)
        if key is not None and key not in self.templates:
            plain = self._beside() == resources
            names = [t.op.name for t in tensors.values()]
            self.templates[key] = self._template(start, site, names_of_outputs, names) if plain else None
        return names_of_outputs

    def _info(self, tensor: tuple[int, int]) -> Any:
        info = self.base.info(*tensor)
        if info is None:
            name = f"{self.base.names[tensor[0]]}:{tensor[1]}"
            raise PlanError(
                self.request, f"the dtype of {name!r}, an op of this plan, is not known yet", "Apply that step first"
            )
        if not known_dtype(info.dtype):
            op, port = tensor
            problem, suggestion = f"TensorFlow has no {info.dtype}", "Save the graph again in the program that made it"
            if info.dtype == UNKNOWN:
                problem = f"this TensorFlow has no op type {self.base.types[op]}"
                suggestion = "Load its library first: tf.load_op_library(...)"
            raise PlanError(
                self.request, f"the dtype of '{self.base.names[op]}:{port}' is not known: {problem}", suggestion
            )
        return info

    def _placeholder(self, name: str, tensor: tuple[int, int]) -> Any:
        info = self._info(tensor)
        problem = f"TensorFlow has no tensors of the shape of '{self.base.names[tensor[0]]}:{tensor[1]}'"
        with errors_as(
            PlanError, self.request, problem, "Save the graph again in the program that made it", ValueError
        ):
            result = tf1.placeholder(tf.as_dtype(info.dtype).base_dtype, info.shape, name=name)
        self.inputs[result.op.name] = tensor
        if result.dtype in (tf.resource, tf.variant):
            live: Any = self.base.live_graph
            if tensor[0] < len(live.get_operations()):  # added ops have higher numbers than existing ones
                copy_handle_data(live.get_operations()[tensor[0]].outputs[tensor[1]], result)
        return result

    def _arguments(self, site: InsertionSite) -> dict[str, str]:
        """Returns parameter of the function -> input of the site, without ``match``."""
        if self.parameters is None:
            self.parameters = parameters_of(self.function, PlanError, self.request)
        names = list(site.inputs)
        several = [p for p in self.parameters if p.kind == p.VAR_POSITIONAL]
        words = [p.name for p in self.parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        words = [w for w in words if not (self._takes_match(site) and w == "match")]
        free = [p.name for p in self.parameters if p.default is inspect.Parameter.empty and p.name in words]
        if set(free) <= set(names) and free:
            out = {word: word for word in words if word in names}
        elif several:
            out = {name: name for name in names}
        elif len(free) == len(names) or not free:
            out = dict(zip(free, names, strict=False))
        else:
            takes = ", ".join(free)
            raise PlanError(
                self.request,
                f"the function takes {takes}, but the inputs are {', '.join(names) or 'none'}",
                "Name its arguments like the inputs, or give it one argument per input, in this order",
            )
        return out

    def _takes_match(self, site: InsertionSite) -> bool:
        """Whether the match is an argument of the function."""
        takes_match = any(p.name == "match" for p in self.parameters)
        return takes_match and site.match is not None and "match" not in site.inputs

    def _call_function(self, site: InsertionSite, tensors: Mapping[str, Any]) -> Any:
        more = {"match": site.match} if self._takes_match(site) else {}
        if any(p.kind == p.VAR_POSITIONAL for p in self.parameters):
            call: Callable[[], Any] = lambda: self.function(*tensors.values(), **more)  # noqa: E731
        else:
            call = lambda: self.function(**tensors, **more)  # noqa: E731
        with (
            self.graph.as_default(),
            tf1.variable_scope(site.scope, auxiliary_name_scope=False, reuse=tf1.AUTO_REUSE),
            tf1.name_scope(f"{site.scope}/"),
        ):
            try:
                return call()
            except (PlanError, MemoryError):
                raise
            except Exception as error:
                message = f"{type(error).__name__}: {error_text(error)}"
                raise PlanError(
                    self.request, f"calling the function for {site.scope!r} fails: {message}", "Correct the function"
                ) from error

    def _results(self, site: InsertionSite, result: Any) -> dict[str, str]:
        if isinstance(result, Mapping):
            pairs = {str(key): value for key, value in result.items()}
            odd = sorted(set(pairs) ^ set(site.outputs))
            if odd:
                raise PlanError(
                    self.request,
                    f"the function returns {', '.join(map(repr, sorted(pairs)))}",
                    f"Return a dict of {', '.join(map(repr, site.outputs))}",
                )
        else:
            flat = list(result) if isinstance(result, (list, tuple)) else [result]
            if len(flat) != len(site.outputs):
                raise PlanError(
                    self.request,
                    f"the function returns {counted(len(flat), 'tensors')} instead of {len(site.outputs)}",
                    f"Return them in this order: {', '.join(site.outputs)}",
                )
            pairs = dict(zip(site.outputs, flat, strict=True))
        return {key: self._tensor(site, value) for key, value in pairs.items()}

    def _tensor(self, site: InsertionSite, value: Any) -> str:
        with self.graph.as_default(), tf1.name_scope(f"{site.scope}/"):
            try:
                tensor = value if hasattr(value, "value_index") else tf.convert_to_tensor(value)
            except (TypeError, ValueError):
                tensor = None
        if getattr(tensor, "graph", None) is not self.graph:
            raise PlanError(
                self.request,
                f"the function returns {type(value).__name__}, not a tensor made of its arguments",
                "Return tensors made of its arguments",
            )
        return str(tensor.name)

    # -- sites with equal results ---------------------------------------------------------------

    def _beside(self) -> Any:
        """Returns a summary of the graph data outside of nodes; if a call adds such data, each site needs a call."""
        # The keys of variable scopes are not text.
        lists = {name: len(items) for name, items in all_collections(self.graph).items() if isinstance(name, str)}
        return lists, list(functions_of(self.graph)), len(guarded_ops(self.graph) or ())

    def _template(
        self, start: int, site: InsertionSite, outputs: Mapping[str, str], inputs: list[str]
    ) -> _Template | None:
        lead, ops = f"{site.scope}/", self.graph.get_operations()[start:]
        for op in ops:
            about = op_definition(op.type)
            inside = op.name.startswith(lead) and innermost_context(op) is None
            if not inside or about is None or about.is_stateful or "_gradient_op_type" in op.node_def.attr:
                return None
        return _Template(site.scope, [op.node_def for op in ops], inputs, dict(outputs))

    def _again(
        self, number: int, site: InsertionSite, template: _Template, tensors: Sequence[tuple[int, int]]
    ) -> dict[str, str]:
        moves = {}
        for at, (old, tensor) in enumerate(zip(template.argument_names, tensors, strict=True)):
            name = f"{_ARGUMENT_PREFIX}/{number}/{at}"
            node = self.deferred.node.add()
            node.CopyFrom(self.graph.get_operation_by_name(old).node_def)
            node.name = name
            self.inputs[name] = tensor
            moves[old] = name
        moves |= {node.name: site.scope + node.name[len(template.scope) :] for node in template.nodes}
        for old_node in template.nodes:
            node = self.deferred.node.add()
            node.CopyFrom(old_node)
            node.name = moves[node.name]
            node.input[:] = [rename_input(text, moves) for text in node.input]
            colocate(node, moves)
        return {key: rename_input(name, moves) for key, name in template.outputs.items()}

    def finish(self) -> None:
        """Builds all sites that have the same result as an earlier site, in one import."""
        if len(self.deferred.node):
            self.deferred.versions.CopyFrom(self.graph.graph_def_versions)
            import_nodes(self.graph, self.deferred)


def _fixed(infos: Any) -> bool:
    """Whether placeholders can be made from NodeDefs alone: resources and variants need handle data too."""
    return all(info.dtype not in ("resource", "variant") for info in infos)


# -- one op of a type -------------------------------------------------------------------------------


_FUNCTION = "or give a Python function: plan.replace(..., lambda x: ...)"


def op_maker(op_type: str, site: InsertionSite, request: str) -> Callable[..., Any]:
    """Returns a function of tensors that makes one op of a type.

    Args:
        op_type: the op type, such as ``"Softplus"``. Attributes that its inputs do not determine have default values.
        site: the site, with its inputs and the required outputs.
        request: the request, for messages.

    Raises:
        PlanError: the op type does not exist, has other numbers of inputs or outputs, or needs an attribute.
    """
    definition, make = op_definition(op_type), getattr(tf.raw_ops, op_type, None)
    if definition is None or make is None:
        raise PlanError(
            request,
            f"TensorFlow has no op type {op_type!r}",
            f"{similar_types(op_type)}Give an op type such as 'Relu' or 'Softplus'",
        )
    arguments, names = list(definition.input_arg), list(site.inputs)
    lists = [arg.name for arg in arguments if arg.number_attr or arg.type_list_attr]
    extra = len(names) - len(arguments) + len(lists)
    if extra < len(lists) or (extra if not lists else len(lists) > 1):
        takes = ", ".join(arg.name for arg in arguments) or "nothing"
        problem = (
            f"{op_type!r} takes {takes}, but the replaced ops have {counted(len(names), 'inputs')}: {', '.join(names)}"
        )
        raise PlanError(request, problem, f"Choose an op type with as many inputs, {_FUNCTION}")
    if len(definition.output_arg) != len(site.outputs):
        provided, required = counted(len(definition.output_arg), "outputs"), counted(len(site.outputs), "outputs")
        problem = f"{op_type!r} has {provided}, but the replaced ops have {required}: {', '.join(site.outputs)}"
        raise PlanError(request, problem, f"Choose an op type with as many outputs, {_FUNCTION}")
    determined = {name for arg in arguments for name in (arg.type_attr, arg.number_attr, arg.type_list_attr)}
    missing = [
        attr.name for attr in definition.attr if attr.name not in determined and not attr.HasField("default_value")
    ]
    if missing:
        problem = f"{op_type!r} needs a value for its attribute {missing[0]!r}"
        raise PlanError(request, problem, f"Choose another op type, {_FUNCTION}")

    def make_op(*tensors: Any) -> Any:
        rest, op_arguments = list(tensors), {}
        for arg in arguments:
            op_arguments[arg.name] = [rest.pop(0) for _ in range(extra)] if arg.name in lists else rest.pop(0)
        problem = f"TensorFlow cannot make {op_type!r} of {', '.join(names)}"
        suggestion = f"Choose an op type for these dtypes and shapes, {_FUNCTION}"
        with errors_as(PlanError, request, problem, suggestion, TypeError, ValueError):
            return make(**op_arguments)

    return make_op
