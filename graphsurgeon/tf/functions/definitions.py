"""Copies the functions that a graph needs, with their names and the data of their resource handles."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ...errors import PlanError, counted, few
from ...graph.diff import attribute_bytes
from ...graph.functions import (
    BRANCHING,
    CALLS,
    argument_sources,
    callees_of,
    functions_in_node,
    gradients_in,
    op_types_finder,
    reachable_functions,
)
from ...graph.names import free_name
from ...graph.types import TFGraph, TFNodeDef, TFOp
from ...plan.copy_result import CopyResult
from ..copy.contexts import prepare_gradients
from ..import_tensorflow import tf
from ..messages import function_pb2, resource_handle_pb2
from ..op_types import CONTENT, effect_finder
from ..private.c_api import functions_of
from ..private.functions import (
    add_function,
    from_library,
    function_name,
    gradient_of,
    handle_contents,
    is_eager,
    is_traced,
    load_functions,
    restore_gradients,
    set_gradients,
    traced_gradient,
    write_handle_data,
)
from ..private.graphs import gradient_function, op_finder, set_gradient_function
from ..protos import empty_graph, encode
from ..run.errors import errors_as

#: Ops that pass on the resource of their first input.
_IDENTITY_TYPES = frozenset({"Identity", "Enter", "RefEnter", "Exit", "Switch", "Merge", "NextIteration"})
#: Ops that pass on each of their inputs.
_POSITIONAL_TYPES = frozenset({"IdentityN", "While", "StatelessWhile"})


def with_handles(
    names: Iterable[str], calls: Iterable[Any], function_objects: Mapping[str, Any], definitions: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns FunctionDefs in which each resource argument has the dtype and shape of its variable.

    TensorFlow leaves out this data if the function itself does not use the resource. But gradients need it: a branch
    that does not use a variable returns zeros of its shape.

    Args:
        names: the functions.
        calls: live ops, which include all ops that call these functions.
        function_objects: the functions of the graph as Python objects, by name.
        definitions: the FunctionDefs; they are not changed.
    """
    required = frozenset(names)
    order = [name for name in reachable_functions(required, definitions) if name in required]
    functions: dict[str, Any] = {}
    for name in order:
        functions[name] = function_pb2.FunctionDef()
        functions[name].CopyFrom(definitions[name])
        write_handle_data(function_objects.get(name), functions[name])
    if all(argument.handle_data for name in order for argument in _resources(functions[name])):
        return functions
    argument_data: dict[str, list[dict[bytes, Any]]] = {}
    for op in calls:
        _infer_handle_data(op.node_def, [handle_contents(tensor) for tensor in op.inputs], functions, argument_data)
    for name in reversed(order):  # callers before callees
        function = functions[name]
        for argument, candidates in zip(function.signature.input_arg, argument_data.get(name, ()), strict=False):
            if len(candidates) == 1 and argument.type == _RESOURCE and not argument.handle_data:
                argument.handle_data.extend(*candidates.values())
        arguments = {argument.name: argument for argument in function.signature.input_arg}
        nodes = {node.name: node for node in function.node_def}
        by_type = {node.op: node for node in function.node_def}
        calling = {kind for kind, node in by_type.items() if callees_of(node, functions)}
        for node in (node for node in function.node_def if node.op in calling):
            inputs = [_variable_info(text, nodes, arguments) for text in node.input if text[0] != "^"]
            _infer_handle_data(node, inputs, functions, argument_data)
    return functions


_RESOURCE = tf.resource.as_datatype_enum
_DtypeAndShape = resource_handle_pb2.ResourceHandleProto.DtypeAndShape


def _resources(function: Any) -> Iterator[Any]:
    return (argument for argument in function.signature.input_arg if argument.type == _RESOURCE)


def _infer_handle_data(
    node: TFNodeDef,
    inputs: Sequence[Any],
    functions: Mapping[str, Any],
    argument_data: dict[str, list[dict[bytes, Any]]],
) -> None:
    """Collects the handle data that an op passes to the functions that it calls; there may be several callers."""
    for called in callees_of(node, functions):
        if called.function not in functions:
            continue
        count = len(functions[called.function].signature.input_arg)
        candidates = argument_data.setdefault(called.function, [{} for _ in range(count)])
        for at, what in enumerate(argument_sources(node, inputs, count)):
            if what:
                candidates[at][b"".join(encode(one, deterministic=True) for one in what)] = what


def _variable_info(text: str, nodes: Mapping[str, TFNodeDef], arguments: Mapping[str, Any]) -> Any:
    """Returns dtype and shape of the variable of a handle in a function; empty if they are not known."""
    visited = set[str]()
    while text not in visited:  # a damaged function may contain a cycle
        visited.add(text)
        name, _, rest = text.partition(":")
        if name in arguments:
            return arguments[name].handle_data
        node = nodes.get(name)
        if node is None:
            return ()
        if node.op == "VarHandleOp":
            return [_DtypeAndShape(dtype=node.attr["dtype"].type, shape=node.attr["shape"].shape)]
        if node.op in _IDENTITY_TYPES:
            text = node.input[0]
        elif node.op in _POSITIONAL_TYPES:
            text = node.input[int(rest.rpartition(":")[2])]
    return ()


_GRADIENTS = "graphsurgeon_gradients"
"""The attribute of a live graph with the functions that are gradients by `tf.custom_gradient`."""


@dataclass
class Library:
    """The functions that a plan also copies.

    Args:
        shared: Python function objects that are added to the destination unchanged, callees first.
        renamed: FunctionDefs under new names.
        gradients: GradientDefs of the renamed functions.
        names: for each copy, old function name -> new name.
        loaded: new name -> ConcreteFunction, for functions that were made for a graph that is being traced.
        custom_gradients: new name -> the custom gradient of a function in `loaded`; None if it has none.
        rename_everywhere: whether the new names apply to all ops that call functions, not only to conds and loops.
    """

    shared: list[Any] = field(default_factory=list)
    renamed: list[Any] = field(default_factory=list)
    gradients: list[Any] = field(default_factory=list)
    names: list[dict[str, str]] = field(default_factory=list)
    loaded: dict[str, Any] = field(default_factory=dict)
    custom_gradients: dict[str, Any] = field(default_factory=dict)
    rename_everywhere: bool = False


def library(copies: Iterable[CopyResult], graph: TFGraph) -> Library:
    """Returns the functions that copies need in `graph`: branches of conds and loops under new names, others shared."""
    out = Library()
    destination_functions = functions_of(graph)
    used_names = set(destination_functions)
    for copied in copies:
        source = copied.source.live_graph
        definitions = LiveFunctions(source)
        functions = definitions.objects
        out.names.append({})
        if not functions:
            continue
        nodes, branches, called = copied.source.nodes, set[str](), set[str]()
        calling = {i: names for i in copied.ops.tolist() if (names := functions_in_node(nodes[i], functions))}
        calls = [copied.source.names[i] for i in calling]
        for i, names in calling.items():
            (branches if nodes[i].op in BRANCHING else called).update(names)
        for some in (branches, called):  # the gradient of a renamed branch is renamed too
            slopes = {getattr(functions[name], "grad_func_name", "") for name in reachable_functions(some, definitions)}
            some |= slopes & functions.keys()
        if is_traced(graph):
            # Ops that are being traced will run eagerly, so their functions need eager registration under unique names.
            foreign = {name for name in called if not is_eager(functions[name])}
            order = reachable_functions(branches | foreign, definitions)
            handles = with_handles(order, map(op_finder(source), calls), functions, definitions)
            out.names[-1] = import_functions(out, order, handles, functions)
            out.rename_everywhere |= bool(foreign)
            called, branches = called - foreign, set()
        renamed, shared_names = own_names(branches, definitions)
        called |= shared_names
        clashing = [] if source is graph else _name_clashes(called, definitions, destination_functions)
        if clashing:  # the destination has another function with this name, so the calls use a renamed copy
            renamed += [name for name in clashing if name not in renamed]
            called -= set(clashing)
            out.rename_everywhere = True
        for name in renamed:
            out.names[-1][name] = new_name(copied.step.to, name, used_names)
            used_names.add(out.names[-1][name])
        handles = with_handles(renamed, map(op_finder(source), calls), functions, definitions)
        for name in renamed:
            out.renamed.append(rename_function(handles[name], out.names[-1]))
            gradient = getattr(functions[name], "grad_func_name", None)
            if gradient:
                out.gradients.append(_gradient(name, gradient, out.names[-1]))
        if source is graph:
            continue
        for name in reachable_functions(called, definitions):
            if name not in used_names:
                out.shared.append(functions[name])
                used_names.add(name)
                destination_functions[name] = functions[name]
    return out


def import_functions(
    library: Library, order: Iterable[str], definitions: Mapping[str, Any], functions: Mapping[str, Any]
) -> dict[str, str]:
    """Makes ConcreteFunctions of functions, callees first, for a library; returns old name -> new name.

    Raises:
        PlanError: a function is damaged.
    """
    order = list(order)
    request, suggestion = f"copying {few(map(repr, order))}", "Leave out its calls, or write the file out again"
    with errors_as(PlanError, request, "TensorFlow cannot make such a function", suggestion):
        new_functions = load_functions([definitions[name] for name in order])
    for name, concrete in new_functions.items():
        prepare_gradients(concrete.graph.get_operations(), name)
    library.loaded.update({function_name(new): new for new in new_functions.values()})
    library.custom_gradients.update(
        {function_name(new): _custom_gradient(functions[old], new_functions) for old, new in new_functions.items()}
    )
    return {old: function_name(new) for old, new in new_functions.items()}


def _custom_gradient(function: Any, functions: Mapping[str, Any]) -> Any:
    """Returns the custom gradient of a function of a graph, a Python function or a function by name; None if none."""
    gradient_name = getattr(function, "grad_func_name", None)
    return getattr(function, "python_grad_func", None) if gradient_name is None else functions[gradient_name]


def _name_clashes(
    callees: Iterable[str], definitions: LiveFunctions, destination_functions: Mapping[str, Any]
) -> list[str]:
    """Returns the functions whose names are taken in the destination, and their callers; callees first."""
    order, functions = reachable_functions(callees, definitions), definitions.objects
    clash: list[str] = []
    for name in order if any(name in destination_functions for name in order) else ():
        own = definitions[name]
        other = destination_functions.get(name, functions[name])
        differs = other is not functions[name] and definition(other) != own
        if differs or (clash and any(functions_in_node(node, clash) for node in own.node_def)):
            clash.append(name)
    return clash


def describe_functions(copy_result: CopyResult) -> list[str]:
    """Returns lines of text about the functions that a copy contains."""
    functions = LiveFunctions(copy_result.source.live_graph)
    called: set[str] = set()
    branches: set[str] = set()
    absent: set[str] = set()
    source, ops = copy_result.source, copy_result.ops
    for i in (ops if functions else ops[source.type_mask(BRANCHING | CALLS)[ops]]).tolist():
        kind, node = source.types[i], source.nodes[i]
        (branches if kind in BRANCHING else called).update(functions_in_node(node, functions))
        if kind in BRANCHING or kind in CALLS:
            absent |= {called.function for called in callees_of(node)} - functions.keys()
    own, shared_names = own_names(branches, functions)
    shared = [name for name in reachable_functions(called | shared_names, functions) if name not in own]
    lines = []
    if own:
        count = counted(len(own), "functions")
        lines.append(f"{count} under new names, branches of conds and loops: {few(own)}")
    if shared:
        lines.append(f"{counted(len(shared), 'functions')} shared: {few(shared)}")
    if absent:
        without = f"without {counted(len(absent), 'functions')} that the source does not hold"
        lines.append(f"{without}: {few(sorted(absent))}; their calls cannot run")
    return lines


def attribute_digest(graph: TFGraph) -> Callable[[Any], bytes]:
    """Returns a function that describes attributes as bytes; functions that differ only in names are equal.

    A copied custom gradient has another name than its original, and is equal to it.

    Args:
        graph: the graph with the functions.
    """
    functions = LiveFunctions(graph)
    digests: dict[str, bytes] = {}

    def digest(name: str) -> bytes:
        if name not in functions:
            return name.encode()
        if name not in digests:
            digests[name] = b"itself"  # ends the recursion for functions that call themselves
            body, called = _nameless(functions, name)
            digests[name] = hashlib.blake2b(b"".join([body, *map(digest, called)]), digest_size=16).digest()
        return digests[name]

    def means(value: Any) -> bytes:
        kind = value.WhichOneof("value") if hasattr(value, "WhichOneof") else ""
        if kind == "s" and value.s.startswith(b"CustomGradient-"):
            return bytes(value.s.partition(b"-copy-")[0])
        if kind != "func" and not (kind == "list" and value.list.func):
            return attribute_bytes(value)
        other = type(value)()
        other.CopyFrom(value)
        called = _blank_names([other])
        return b"".join([encode(other, deterministic=True), *map(digest, called)])

    return means


def _nameless(functions: Mapping[str, Any], name: str) -> tuple[bytes, list[str]]:
    """Returns a function as bytes, without its name and the names of the functions that it calls; and these names."""
    body = function_pb2.FunctionDef()
    body.CopyFrom(functions[name])
    body.signature.name = ""
    names = []
    for node in body.node_def:
        if node.op in functions:
            names.append(node.op)
            node.op = ""
        names += _blank_names([node.attr[key] for key in sorted(node.attr)])
    return encode(body, deterministic=True), names


def _blank_names(values: Iterable[Any]) -> list[str]:
    """Removes the names of functions from attributes; returns the names in order."""
    names = []
    for function in _function_references(values):
        names.append(function.name)
        function.name = ""
    return names


def _function_references(values: Iterable[Any]) -> Iterator[Any]:
    """Yields the function references in attributes, including nested references; they can be changed in place."""
    for value in values:
        kind = value.WhichOneof("value")
        for function in [value.func] if kind == "func" else value.list.func if kind == "list" else ():
            yield function
            yield from _function_references(function.attr.values())


def own_names(branches: Iterable[str], functions: LiveFunctions) -> tuple[list[str], set[str]]:
    """Returns the functions of branches that need new names, callees first, and the functions that keep their names.

    A function that a branch only calls is not copied, because its Python object contains the gradient of the call.
    """
    shared_names = {name for name in called_functions(branches, functions) if is_eager(functions.objects[name])}
    return reachable_functions(branches, functions, shared_names), shared_names


def called_functions(branches: Iterable[str], functions: Mapping[str, Any]) -> set[str]:
    """Returns the functions that branches use only by calls, not by conds or loops."""
    calls: set[str] = set()
    branch_functions = set(branches)
    for name in reachable_functions(branches, functions):
        for node in functions[name].node_def:
            if node.op in CALLS:
                calls |= functions_in_node(node, functions)
            else:
                branch_functions |= functions_in_node(node, functions)
    return calls - branch_functions


def rename_calls(node: TFNodeDef, names: Mapping[str, str]) -> None:
    """Makes a NodeDef call functions by their new names."""
    if node.op in names:
        node.op = names[node.op]
    for called in _function_references(node.attr.values()):
        called.name = names.get(called.name, called.name)


def rename_function(old: Any, names: Mapping[str, str]) -> Any:
    """Returns a FunctionDef under its new name; its calls use new names too."""
    new = function_pb2.FunctionDef()
    new.CopyFrom(old)
    new.signature.name = names[old.signature.name]
    for node in new.node_def:
        rename_calls(node, names)
    for called in _function_references(new.attr.values()):
        called.name = names.get(called.name, called.name)
    return new


def _gradient(name: str, gradient: str, names: Mapping[str, str]) -> Any:
    return function_pb2.GradientDef(function_name=names.get(name, name), gradient_func=names.get(gradient, gradient))


#: Names that were used in this process. The gradient of a branch is registered under its name for the whole process.
#: So two graphs with branches of the same name could not both be differentiated.
_used_names: set[str] = set()


def new_name(scope: str, name: str, used_names: Container[str]) -> str:
    """Returns an unused name for the copy of a function, from a scope and its old name.

    Args:
        scope: the scope of the copy.
        name: the name of the original.
        used_names: function names of the destination.
    """
    preferred = (re.sub(r"[^A-Za-z0-9_]", "_", scope) + "_" if scope else "copy_") + name
    result = free_name(preferred, lambda name: name in used_names or name in _used_names, as_tensorflow=True)
    _used_names.add(result)
    return result


class LiveFunctions(Mapping[str, Any]):
    """The FunctionDefs of the functions of a live graph, by name; each FunctionDef is read on first use.

    Args:
        graph: the graph.

    Attributes:
        objects: the functions as Python objects, by name.
    """

    def __init__(self, graph: TFGraph) -> None:
        self.objects = functions_of(graph)
        self._cache: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._cache:
            self._cache[name] = definition(self.objects[name])
        return self._cache[name]

    def __contains__(self, name: object) -> bool:
        return name in self.objects

    def __iter__(self) -> Iterator[str]:
        return iter(self.objects)

    def __len__(self) -> int:
        return len(self.objects)


def gradients_of(graph: TFGraph) -> dict[str, str]:
    """Returns function of a live graph -> its gradient function.

    TensorFlow does not keep gradients by `tf.custom_gradient`, so an attribute of the graph contains them.
    """
    gradients = {name: getattr(function, "grad_func_name", None) for name, function in functions_of(graph).items()}
    return {name: gradient for name, gradient in gradients.items() if gradient} | getattr(graph, _GRADIENTS, {})


def definition(function: Any) -> Any:
    """Returns the FunctionDef of a Python function object of either kind."""
    # In eager mode this would register the function for the whole process, in which the name may be taken.
    with empty_graph().as_default():
        for field_name in ("function_def", "cached_definition", "definition"):
            function_def = getattr(function, field_name, None)
            if function_def is not None:
                return function_def
    raise TypeError(f"{type(function).__name__} is not a function of a graph")


@contextmanager
def with_library(new: Library, graph: TFGraph) -> Iterator[None]:
    """Adds functions to a graph: called functions before the block, which imports the ops; the other ones after it."""
    for function in new.shared:
        if definition(function).signature.name not in functions_of(graph):
            add_function(graph, function)
    for concrete in new.loaded.values():
        concrete.add_to_graph(graph)
    yield
    if new.loaded:
        restore_gradients(graph, new.loaded)
        for body in (graph, *(concrete.graph for concrete in new.loaded.values())):
            set_gradients(body, new.loaded, new.custom_gradients)
    # Gradients of loops and conds need the Python objects of their branches.
    if new.renamed:
        adopt(graph, function_pb2.FunctionDefLibrary(function=new.renamed, gradient=new.gradients))


def adopt(graph: TFGraph, library: Any) -> None:
    """Makes Python objects for functions that are already in the C graph."""
    if library.registered_gradients:
        setattr(graph, _GRADIENTS, gradients_in(library))
    with graph.as_default():
        for function in from_library(library):
            if definition(function).signature.name not in functions_of(graph):
                function.add_to_graph(graph)


def copy_gradients(pairs: list[tuple[Any, Any]]) -> None:
    """Copies the gradient functions of function calls, which are stored only in the Python ops."""
    if not pairs or not functions_of(pairs[0][0].graph):
        return
    for old, new in pairs:
        gradient = gradient_function(old)
        if gradient is not None:
            set_gradient_function(new, gradient)


def set_fallback_gradients(graph: TFGraph, library: Any) -> None:
    """Sets a gradient, which is made on first use, for calls of functions with loops or branches.

    TensorFlow derives no gradient for these calls if the function was not traced in this process. Without an error, the
    gradient would be zero.

    Args:
        graph: a live graph from a file, with its functions.
        library: the FunctionDefLibrary of the file.
    """
    definitions = {function.signature.name: function for function in library.function}
    branching = any(node.op in BRANCHING for function in library.function for node in function.node_def)
    types_in = op_types_finder(definitions)
    with_gradient = {gradient.function_name for gradient in library.gradient}
    fallbacks: dict[str, _FallbackGradient | None] = {}
    for op in graph.get_operations() if branching else ():
        name = op.get_attr("f").name if op.type in CALLS else ""
        if name not in definitions or name in with_gradient or gradient_function(op) is not None:
            continue
        if name not in fallbacks:
            leads = not BRANCHING.isdisjoint(types_in(name))
            fallbacks[name] = _FallbackGradient(op, name, definitions) if leads else None
        if fallbacks[name] is not None:
            set_gradient_function(op, fallbacks[name])


class _FallbackGradient:
    """The gradient of a function, the same as for a traced function.

    Args:
        call: an op that calls the function; the gradient may also be needed for other calls, such as copies.
        name: the name of the function.
        definitions: name -> FunctionDef, for all functions of the file.
    """

    def __init__(self, call: TFOp, name: str, definitions: Mapping[str, Any]) -> None:
        self._graph, self._call, self._name, self._definitions = call.graph, call.name, name, definitions

    def __call__(self, op: TFOp, *slopes: Any) -> Any:
        """Returns the gradients of the inputs of a call, given the gradients of its outputs."""
        return self._gradient(op, *slopes)

    @cached_property
    def _gradient(self) -> Any:
        order, functions, out = (
            reachable_functions([self._name], self._definitions),
            functions_of(self._graph),
            Library(),
        )
        handles = with_handles(order, [op_finder(self._graph)(self._call)], functions, self._definitions)
        new_names = import_functions(out, order, handles, functions)
        for concrete in out.loaded.values():
            restore_gradients(concrete.graph, out.loaded)
            set_gradients(concrete.graph, out.loaded, out.custom_gradients)
        concrete = out.loaded[new_names[self._name]]
        effects_of = effect_finder(self._definitions)
        # A second run of the functions must have no effect and the same results: no changes, no random numbers.
        if not any(effects_of(node) - {CONTENT} for name in order for node in self._definitions[name].node_def):
            return gradient_of(concrete, None)
        # This adds outputs to the call, which its gradient needs. So existing sessions of the graph must be replaced.
        return traced_gradient(concrete)
