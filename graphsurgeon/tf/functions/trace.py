"""Traces TF2 objects, and lifts traced functions: makes plain graphs of them, with their own variables and values."""

from __future__ import annotations

import functools
import inspect
import itertools
import sys
import threading
import weakref
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from ...errors import OpenError, counted, did_you_mean
from ...graph.calls import CallTree
from ...graph.functions import functions_in_node
from ...graph.graph import Graph
from ...graph.names import free_name, join_scope, plain_name
from ...graph.selection import Query, Selection
from ...graph.types import TFGraph, TFNodeDef, TFSession
from ...plan.function_source import code_of
from ...plan.plan import Plan
from ..copy.append import apply_effect
from ..import_tensorflow import tf
from ..open.signature import attribute_paths, part_names
from ..open.snapshot import snapshot
from ..private.eager import (
    eager,
    is_trackable,
    keras_built_shapes,
    keras_inputs,
    keras_inside,
    keras_layers,
    module_attributes,
    module_scope,
    traced_method,
    variable_data,
)
from ..private.functions import function_name, owner_of, traces
from ..protos import empty_graph
from ..values.checkpoint_reader import array_of
from ..values.initialization import run_initializers
from ..values.transfer import assign
from ..values.variables import variable_infos
from .expand import function_body

tf1 = tf.compat.v1
_Concrete = tf.types.experimental.ConcreteFunction
_Function = tf.types.experimental.PolymorphicFunction
_LOCK = threading.RLock()


@dataclass
class TracedFunction:
    """A traced function.

    Args:
        concrete: the ConcreteFunction.
        title: its name for users.
        code: the Python code that opens it again.
        variable_names: (variable, name) pairs, if the object has better names for its variables.
        keep_alive: objects that must stay alive, because the function refers to its variables only weakly.
        model: the Keras model or layer that it calls, if any.
        objects: the layers and modules that are known to be in it, possibly the object itself with an empty path.
        observed_calls: the calls of layers and modules while it was traced; empty if it was traced earlier.
        training: whether the Keras model was called for training.
        other_functions: the names of the other functions of the module.
    """

    concrete: Any
    title: str
    code: str
    variable_names: list[tuple[Any, str]] = field(default_factory=list)
    keep_alive: Any = None
    model: Any = None
    objects: Sequence[TracedObject] = ()
    observed_calls: Sequence[ObservedCall] = ()
    training: bool = False
    other_functions: tuple[str, ...] = ()

    @property
    def handle_paths(self) -> dict[int, str]:
        """The id of the handle of each variable of a module -> its path of attributes, as in `attribute_paths`."""
        root = next((one.obj for one in self.objects if not one.path), None)
        if is_keras(root) or not is_trackable(root):
            return {}
        view, objects = tf.train.TrackableView(root), {id(root): root}

        def children(at: int) -> Iterator[tuple[str, int]]:
            for name, child in view.children(objects[at]).items():
                objects[id(child)] = child
                yield name, id(child)

        paths = attribute_paths(id(root), children)
        return {id(getattr(objects[at], "handle", None)): path for at, path in paths.items()}

    @property
    def frozen_handles(self) -> frozenset[int]:
        """The ids of the handles of variables that its objects do not train.

        Keras freezes a layer, or the kernel of a LoRA layer, without a change to the `tf.Variable`.
        """
        owners = [self.keep_alive, *(one.obj for one in self.objects)] if self.model is None else [self.model]
        variables = (v for owner in owners for v in getattr(owner, "non_trainable_variables", ()))
        return frozenset(id(handle) for v in variables if (handle := handle_of(v)) is not None)


def is_traceable(obj: Any) -> bool:
    """Returns whether a value is a TF2 object that can be opened as a graph."""
    return isinstance(obj, (_Concrete, _Function)) or is_keras(obj) or is_trackable(obj)


def trace(obj: Any, signature: Any = None, function: str | None = None, training: bool = False) -> TracedFunction:
    """Returns the traced function of a TF2 object; traces it if needed.

    Args:
        obj: a ConcreteFunction, `tf.function`, Keras model or layer, `tf.Module`, or a result of
            `tf.saved_model.load`.
        signature: the `tf.TensorSpec` of the arguments: one spec, a sequence of specs, or a dict for keywords.
        function: the name of a function of a `tf.Module`.
        training: whether a Keras model is called for training.

    Raises:
        OpenError: the function, or its arguments, cannot be determined.

    Example:
        >>> found = trace(tf.function(lambda x: x * 2.0), tf.TensorSpec([2], tf.float32, name="x"))
        >>> found.title, [t.name for t in found.concrete.inputs]
        ('function', ['x:0'])
    """
    if isinstance(obj, _Concrete):
        return TracedFunction(obj, _name(obj), "gs.open(function)")
    with eager():
        if isinstance(obj, _Function):
            result = _trace_function(obj, signature, "open(function)", [*_closure_objects(obj)])
            result.code = f"gs.open(function{_signature_code(signature)})"
            return result
        if is_keras(obj):
            return _trace_keras(obj, signature, training)
        return _trace_module(obj, signature, function)


def _signature_code(signature: Any) -> str:
    """Returns the signature as an argument in code; if it cannot be written as code, a variable name."""
    return "" if signature is None else f", signature={code_of(signature) or 'signature'}"


def _name(concrete: Any) -> str:
    plain = function_name(concrete).removeprefix("__inference_")
    head, _, tail = plain.rpartition("_")
    return (head if head and tail.isdigit() else plain) or "function"


def _choices(word: str, names: Any) -> str:
    choices = sorted(names)
    return f"Choose {word}=" + " or ".join(map(repr, choices)) if choices else f"It has no {word}"


# -- tf.function ----------------------------------------------------------------------------------


def _trace_function(function: Any, signature: Any, request: str, objects: Sequence[TracedObject]) -> TracedFunction:
    name = getattr(getattr(function, "python_function", None), "__name__", "function")
    title = "function" if name == "<lambda>" else name
    calls: Sequence[ObservedCall] = ()
    if signature is not None or function.input_signature is not None:
        args, options = ((), {}) if signature is None else _arguments(signature)
        modules = [type(one.obj) for one in objects if isinstance(one.obj, tf.Module) and not is_keras(one.obj)]
        with observe_calls(_layer_classes(), modules) as calls:
            concrete = _concrete_function(function, args, options, request)
    else:
        have = traces(function)
        if len(have) != 1:
            raise OpenError(
                request,
                f"tf.function {title!r} has no input_signature and {counted(len(have), 'traces')}",
                f"Open one trace: gs.open({title}.get_concrete_function(...)), "
                "or give the arguments: signature=[tf.TensorSpec(...)]",
            )
        concrete = have[0]
    return TracedFunction(concrete, title, "gs.open(function)", objects=objects, observed_calls=calls)


def _closure_objects(function: Any) -> Iterator[TracedObject]:
    """Yields the Keras models and modules to which the code of a `tf.function` refers, and those inside them."""
    code = function.python_function
    owner = owner_of(code)
    if owner is not None:
        yield from _walk_objects(owner, "", {})
        return
    code = inspect.unwrap(code) if callable(code) else code
    closure = inspect.getclosurevars(code) if inspect.isfunction(code) else None
    values = [code] if closure is None else [*closure.nonlocals.values(), *closure.globals.values()]
    visited: dict[int, Any] = {}
    for thing in values:
        if _holds_variables(thing):
            yield from _walk_objects(thing, getattr(thing, "name", type(thing).__name__), visited)


def _holds_variables(obj: Any) -> bool:
    return is_keras(obj) or isinstance(obj, tf.Module)


def _walk_objects(obj: Any, path: str, visited: dict[int, Any]) -> Iterator[TracedObject]:
    """Yields a layer or module and all layers and modules inside it, in order; paths consist of attribute names."""
    if id(obj) in visited:
        return
    visited[id(obj)] = obj
    yield TracedObject(path, obj.name if is_keras(obj) else module_scope(obj), obj)
    if is_keras(obj):
        for layer in getattr(obj, "layers", ()):
            yield from _walk_objects(layer, join_scope(path, layer.name), visited)
        return
    todo = module_attributes(obj)[::-1]
    while todo:
        name, value = todo.pop()
        if _holds_variables(value):
            yield from _walk_objects(value, join_scope(path, value.name if is_keras(value) else name), visited)
        elif isinstance(value, (list, tuple)):
            todo += [(f"{name}/{i}", one) for i, one in enumerate(value)][::-1]
        elif isinstance(value, Mapping):
            todo += [(f"{name}/{key}", one) for key, one in value.items()][::-1]


def _arguments(signature: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(signature, Mapping):
        return (), {str(k): v for k, v in signature.items()}
    if isinstance(signature, (list, tuple)):
        return tuple(signature), {}
    return (signature,), {}


def _concrete_function(function: Any, args: tuple[Any, ...], options: dict[str, Any], request: str) -> Any:
    try:
        return function.get_concrete_function(*args, **options)
    except MemoryError:
        raise
    except Exception as error:  # the traced code is user code and may raise any error
        lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
        message = lines[-1] if lines else type(error).__name__
        raise OpenError(
            request,
            f"tracing fails with {type(error).__name__}: {message[:300]}",
            "Give arguments that the function takes: signature=[tf.TensorSpec(shape, dtype)]",
        ) from error


# -- tf.Module ------------------------------------------------------------------------------------


def _trace_module(module: Any, signature: Any, function: str | None) -> TracedFunction:
    kind = type(module).__name__.removeprefix("_")
    request = f"open({kind})" if function is None else f"open({kind}, function={function!r})"
    functions = _functions(module)
    if function is None:
        if not functions:
            raise OpenError(request, "it has no tf.function", "Decorate one of its methods with @tf.function")
        if len(functions) > 1:
            raise OpenError(request, f"it has {counted(len(functions), 'functions')}", _choices("function", functions))
        function = next(iter(functions))
    if function not in functions:
        near = did_you_mean(function, functions, "")
        raise OpenError(
            request,
            f"it has no tf.function {function!r}",
            f"{near} {_choices('function', functions)}".lstrip(),
        )
    target, objects = functions[function], [*_walk_objects(module, "", {})]
    if isinstance(target, _Concrete):
        result = TracedFunction(target, function, "", objects=objects)
    else:
        result = _trace_function(target, signature, request, objects)
    result.title, result.keep_alive = kind, module
    result.other_functions = tuple(name for name in functions if name != function)
    result.code = f"gs.open(module, function={function!r}{_signature_code(signature)})"
    return result


def _functions(module: Any) -> dict[str, Any]:
    """Returns the functions of a module by attribute name; for a loaded SavedModel, also its signatures."""
    functions = {}
    for name in sorted({*dir(type(module)), *vars(module)}):
        if name == "__call__" or not name.startswith("__"):
            value = getattr(module, name, None)
            if isinstance(value, (_Concrete, _Function)):
                functions[name] = value
    signatures = getattr(module, "signatures", None)
    if isinstance(signatures, Mapping):
        functions.update(
            {str(k): v for k, v in signatures.items() if isinstance(v, _Concrete) and str(k) not in functions}
        )
    return functions


# -- Keras ----------------------------------------------------------------------------------------


def is_keras(obj: Any) -> bool:
    """Returns whether a value is a model or layer of Keras or of `tf_keras`, without importing these."""
    return keras_of(obj) is not None


def keras_of(obj: Any) -> Any:
    """Returns the package of a layer, `keras` or `tf_keras` (Keras 2); None if the value is not a layer."""
    return next((package for layer, package in _layer_classes().items() if isinstance(obj, layer)), None)


def _layer_classes() -> dict[type, Any]:
    """Returns base class of all layers -> its package, for each imported version of Keras."""
    packages = [sys.modules[name] for name in ("keras", "tf_keras") if name in sys.modules]
    classes = {getattr(one, "Layer", None) or getattr(getattr(one, "layers", None), "Layer", None): one
             for one in packages}  # fmt: skip
    return {layer: package for layer, package in classes.items() if isinstance(layer, type)}


def _trace_keras(model: Any, signature: Any, training: bool) -> TracedFunction:
    request = f"open({type(model).__name__} {model.name!r})"
    package = keras_of(model)
    backend = package.backend.backend()
    if backend != "tensorflow":
        raise OpenError(
            request,
            f"Keras runs on {backend!r} here, so the model has no TensorFlow graph",
            "Start Python with KERAS_BACKEND=tensorflow",
        )
    specs = _keras_specs(model, request) if signature is None else (signature,)
    if signature is not None and isinstance(signature, tuple):
        specs = signature

    call = tf.function(lambda *args: model(*args, training=training), autograph=False)
    objects = [TracedObject("", model.name, model)] if hasattr(model, "layers") else []
    layers = [layer for layer, of in _layer_classes().items() if of is package]
    with observe_calls(layers, (), map(type, keras_layers(model))) as calls:
        concrete = _concrete_function(call, specs, {}, request)
    variables = [(v if isinstance(v, tf.Variable) else v.value, getattr(v, "path", v.name)) for v in model.variables]
    variable_names = [(variable, name) for variable, name in variables if isinstance(variable, tf.Variable)]
    code = f"gs.open(model{_signature_code(signature)}{', training=True' * training})"
    about = variable_names, (model, call), model, objects, calls, training
    return TracedFunction(concrete, model.name, code, *about)


def _keras_specs(model: Any, request: str) -> tuple[Any, ...]:
    inputs = keras_inputs(model)
    if inputs is None:
        inputs = getattr(model, "inputs", None)
        inputs = inputs[0] if isinstance(inputs, list) and len(inputs) == 1 else inputs
    if inputs is not None and not (isinstance(inputs, list) and not inputs):
        return (tf.nest.map_structure(lambda t: tf.TensorSpec(t.shape, t.dtype, name=t.name), inputs),)
    saved = model.save_spec() if hasattr(model, "save_spec") else None  # Keras 2 keeps the arguments of the first call
    if saved is not None:
        return tuple(saved[0])
    # A subclassed model stores the shapes that it was built with; the first axis is the batch.
    shapes = list(keras_built_shapes(model).values())
    if len(shapes) == 1 and isinstance(shapes[0], (tuple, list)) and all(isinstance(n, int | None) for n in shapes[0]):
        dtype = getattr(model, "input_dtype", None) or "float32"
        return (tf.TensorSpec([None, *shapes[0][1:]], dtype, name="inputs"),)
    raise OpenError(
        request,
        "its inputs are not known: it is not built, or it has several inputs",
        "Give them: signature=tf.TensorSpec([None, 8], tf.float32), or the list or dict of them that it takes",
    )


# -- calls of layers ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ObservedCall:
    """One call of a layer while a graph was made.

    Args:
        layer: the Keras layer, or a Keras operation that is not a layer, such as the operation of ``x + y``.
        enclosing_layers: the layers whose calls contain this call, outermost first.
        start_number: the number of the call, in the order in which calls began.
        graph: the graph in which the layer was called.
        first, last: the number of the first op of the call in the graph, and of the first op after the call.
        inputs, outputs: the input and output tensors of the call.
    """

    layer: Any
    enclosing_layers: tuple[Any, ...]
    start_number: int
    graph: TFGraph
    first: int
    last: int
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]


@contextmanager
def observe_calls(
    bases: Iterable[type], modules: Iterable[type] = (), layers: Iterable[type] = ()
) -> Iterator[list[ObservedCall]]:
    """Records each call of a layer, operation or module in this thread; the calls and their results are not changed.

    Args:
        bases: the base classes of all layers: `keras.Layer`, or the base class of `tf_keras`.
        modules: subclasses of `tf.Module`; calls of their public methods are recorded.
        layers: subclasses of the base classes; direct calls of ``call`` are recorded too. `TimeDistributed`, for
            example, makes direct calls.
    """
    calls: list[ObservedCall] = []
    around: list[Any] = []
    counter = itertools.count()
    me = threading.get_ident()

    def noting(original: Any, module: bool) -> Any:
        def call(layer: Any, *args: Any, **options: Any) -> Any:
            made_by = traced_method(original, layer) if module else functools.partial(original, layer)
            # A method may call another method, and a sequential model calls its inner model.
            within = bool(around) and any(layer is one for one in (around[-1], keras_inside(around[-1])))
            if within or threading.get_ident() != me or tf.executing_eagerly():
                return made_by(*args, **options)
            graph = tf1.get_default_graph()
            outer, first, number = tuple(around), graph.version, next(counter)
            around.append(layer)
            try:
                result = made_by(*args, **options)
            finally:
                around.pop()
            inputs = _tensors((args, options))
            calls.append(ObservedCall(layer, outer, number, graph, first, graph.version, inputs, _tensors(result)))
            return result

        if isinstance(original, FunctionType):
            functools.update_wrapper(call, original)
        if module:
            call.__module__ = "tensorflow"  # AutoGraph does not convert functions of TensorFlow
        return call

    # In Keras 3 the base class of layers is also the base class of operations such as ``x + y``.
    targets = [(one, "__call__", False) for base in bases for one in base.__mro__ if "__call__" in vars(one)]
    for one in dict.fromkeys(own for kind in modules for own in kind.__mro__[: kind.__mro__.index(tf.Module)]):
        methods = (FunctionType, tf.types.experimental.PolymorphicFunction)
        names = [name for name, value in vars(one).items() if isinstance(value, methods)]
        targets += [(one, name, True) for name in names if name == "__call__" or not name.startswith("_")]
    for one in dict.fromkeys(own for kind in layers for own in kind.__mro__ if issubclass(own, tuple(bases))):
        targets += [(one, "call", True)] if isinstance(vars(one).get("call"), FunctionType) else []
    originals = [vars(one)[name] for one, name, _ in targets]
    with _LOCK:  # threads share the classes, so another thread that opens a model waits
        for (one, name, module), original in zip(targets, originals, strict=True):
            setattr(one, name, noting(original, module))
        try:
            yield calls
        finally:
            for (one, name, _), original in zip(targets, originals, strict=True):
                setattr(one, name, original)


def _tensors(obj: Any) -> tuple[Any, ...]:
    return tuple(t for t in tf.nest.flatten(obj, expand_composites=True) if isinstance(t, tf.Tensor))


@dataclass(frozen=True, eq=False)
class TracedObject:
    """A layer or module inside a traced object.

    Args:
        path: the attribute path to it.
        scope: the name scope of its calls, as far as it is known before a call; empty without a scope.
        obj: the layer or module.
    """

    path: str
    scope: str
    obj: Any


def handle_of(variable: Any) -> Any:
    """Returns the handle of a TensorFlow or Keras variable; None if it has none."""
    return getattr(variable if isinstance(variable, tf.Variable) else variable.value, "handle", None)


# -- plain graphs -----------------------------------------------------------------------------------


@dataclass
class LiftedGraph:
    """A function as a plain graph.

    Args:
        graph: the graph; its ops have the same names as in the function.
        values: the values of its variables and tables.
        inputs: argument -> name of its placeholder's tensor.
        outputs: result -> name of its tensor.
        pack_outputs: a function that converts the results, in that order, to the return value of the function.
        renamed_tensors: tensor of the function's body -> the tensor that replaces it, if the name differs.
    """

    graph: TFGraph
    values: OpenedValues
    inputs: dict[str, str]
    outputs: dict[str, str]
    pack_outputs: Callable[[Sequence[Any]], Any]
    renamed_tensors: dict[str, str]


def lift(
    concrete: Any, request: str, variable_names: Iterable[tuple[Any, str]] = (), untrainable: Container[int] = ()
) -> LiftedGraph:
    """Returns the body of a ConcreteFunction as a new `tf.Graph`; the function is not changed.

    Args:
        concrete: the function. Its arguments become placeholders. Captured variables become resource variables,
            captured tables become tables, and other captured tensors become constants.
        request: the request, for messages.
        variable_names: (variable, name) pairs, for better names than those of the variables.
        untrainable: ids of the handles of variables that are not trained, whatever the variables state.

    Raises:
        OpenError: the function captures something that is not possible in a plain graph, or TensorFlow refuses the
            body.

    Example:
        >>> w = tf.Variable(2.0, name="w")
        >>> f = tf.function(lambda x: x * w).get_concrete_function(tf.TensorSpec([], tf.float32, name="x"))
        >>> lifted = lift(f, "open(f)")
        >>> lifted.inputs, lifted.outputs, [v.name for v in lifted.graph.get_collection("variables")]
        ({'x': 'x:0'}, {'output': 'Identity:0'}, ['w:0'])
    """
    body, graph = concrete.graph, empty_graph(concrete.graph)
    source = snapshot(body, title="function")
    captures = capture(concrete, source, graph, variable_names, request, untrainable)
    mask = np.ones(source.size, np.bool_)
    for name in (*captures.tensors, *captures.constants):
        mask[source.index[name.partition(":")[0]]] = False
    used_tensors = {f"{source.names[op]}:{port}" for op, port in zip(source.data.node, source.data.port, strict=True)}
    replacements = {**{name: tensor.name for name, tensor in captures.tensors.items()}, **captures.constants}
    plan = Plan(snapshot(graph)).copy(
        Selection(source, mask, Query("select")),
        inputs={name: new for name, new in replacements.items() if name in used_tensors},
        collections="none",
    )
    if plan.effect.faults:
        fault = plan.effect.faults[0]
        raise OpenError(request, fault.problem, fault.suggestion)
    values = OpenedValues(graph, captures.values, captures.handles)
    apply_effect(plan.effect, graph)
    copied = plan.effect.copies[0]
    _copy_shapes(body, graph, zip([source.names[i] for i in copied.ops.tolist()], copied.names, strict=True))
    new_tensors = copied.mapped_tensors
    return LiftedGraph(
        graph,
        values,
        {t.op.name: t.name for t in arguments_of(concrete)},
        {key: new_tensors.get(t.name, t.name) for key, t in _results(concrete)},
        partial(_pack_results, concrete.structured_outputs),
        new_tensors,
    )


def _copy_shapes(body: Any, graph: TFGraph, names: Iterable[tuple[str, str]]) -> None:
    """Copies static shapes of the body that were set by `set_shape`, such as those of table lookups, to the graph."""
    for old, new in names:
        pairs = zip(body.get_operation_by_name(old).outputs, graph.get_operation_by_name(new).outputs, strict=True)
        for was, now in pairs:
            now.set_shape(was.shape)


def arguments_of(concrete: Any) -> list[Any]:
    """Returns the argument tensors of the body of a function, without the captured tensors, which follow them."""
    return list(concrete.graph.inputs)[: len(concrete.graph.inputs) - len(concrete.captured_inputs)]


def _pack_results(structure: Any, results: Sequence[Any]) -> Any:
    """Returns the return value of a function, given its results."""
    remaining = iter(results)
    flat = [None if item is None else next(remaining) for item in tf.nest.flatten(structure, expand_composites=True)]
    return tf.nest.pack_sequence_as(structure, flat, expand_composites=True)


def _results(concrete: Any) -> list[tuple[str, Any]]:
    """Returns (name, tensor) of the results. A name joins keys, positions, and parts of composite tensors by "_"."""
    structure = concrete.structured_outputs
    flat = [item for item in tf.nest.flatten(structure, expand_composites=True) if item is not None]
    tensors = list(concrete.graph.outputs)[: len(flat)]  # a gradient tape adds tensors after them
    names: list[str] = []
    todo: list[tuple[str, Any]] = [("", structure)]
    while todo:
        path, item = todo.pop()
        if isinstance(item, dict):
            todo += [(f"{path}_{key}", item[key]) for key in sorted(item, reverse=True)]
        elif isinstance(item, (list, tuple)):
            todo += [(f"{path}_{i}", value) for i, value in reversed(list(enumerate(item)))]
        elif item is not None:
            lead = path.removeprefix("_") or "output"
            names += [f"{lead}_{part}" if part else lead for part in _parts(item)]
    if isinstance(structure, (list, tuple)):
        names = [f"output_{name}" for name in names]
    if len(names) != len(tensors) or len(set(names)) != len(tensors):
        names = [f"output_{i}" for i in range(len(tensors))]
    return list(zip(names, tensors, strict=True))


def _parts(item: Any) -> list[str]:
    """Returns the names of the component tensors of a result, in TensorFlow's order; [""] for a plain tensor."""
    count = len(tf.nest.flatten(item, expand_composites=True))
    return [""] if count == 1 else part_names(type(item).__name__.removesuffix("Spec"), count)


# -- captures ---------------------------------------------------------------------------------------


#: Up to this total size in bytes, initial values become constants. Constants need memory in each graph and session.
CONSTANT_BYTES = 1 << 28

_VARIABLE_SUFFIXES = ("", "/Assign", "/Read", "/Read/ReadVariableOp", "/IsInitialized",
                      "/IsInitialized/VarIsInitializedOp",
          "/Initializer", "/Initializer/Const", "/Initializer/value")  # fmt: skip
_WRITES = frozenset({"LookupTableInsertV2", "LookupTableRemoveV2", "LookupTableImportV2"})


@dataclass
class Captures:
    """The replacements for the captures of a function in a plain graph.

    Args:
        tensors: captured tensor of the body -> tensor of the plain graph.
        constants: captured tensor of the body -> its value.
        values: variable op name -> value, if its initial value is not in the graph.
        handles: variable op name -> the handle of the captured variable.
    """

    tensors: dict[str, Any] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    handles: dict[str, Any] = field(default_factory=dict)


class OpenedValues:
    """The values of variables and tables at the time when their function was opened.

    Args:
        graph: the plain graph, with its variables and tables.
        values: variable op name -> value; other variables have their initial values.
        handles: variable op name -> the handle of the captured variable.
    """

    def __init__(self, graph: TFGraph, values: dict[str, Any], handles: dict[str, Any]) -> None:
        self._values = values
        # Weak references, so that the graph does not keep the opened object alive.
        self._handles = {name: weakref.ref(handle) for name, handle in handles.items()}
        self._names = frozenset(variable_infos(graph))
        self._tables = [op.name for op in graph.get_collection(tf1.GraphKeys.TABLE_INITIALIZERS)]

    def fill(self, session: TFSession) -> None:
        """Sets the variables of `session`, then fills its tables."""
        infos = variable_infos(session.graph)
        run_initializers(session, [infos[name] for name in sorted(self._names) if name not in self._values])
        assign(session, self._values, infos)
        self.fill_tables(session)

    def fill_tables(self, session: TFSession) -> None:
        """Fills the tables of `session`."""
        session.run([session.graph.get_operation_by_name(name) for name in self._tables])

    def filled_variables(self) -> frozenset[str]:
        """Returns the names of the variable ops that `fill` sets."""
        return self._names

    def untrained(self) -> dict[str, str]:
        """Returns an empty dict, because a TF2 variable always has a value."""
        return {}

    def identities(self) -> dict[str, int]:
        """Returns variable op -> identity of the captured variable."""
        return {name: id(handle) for name, handle in self.handles().items()}

    def handles(self) -> dict[str, Any]:
        """Returns variable op -> handle of the captured variable, for variables that still exist."""
        live = {name: handle() for name, handle in self._handles.items()}
        return {name: handle for name, handle in live.items() if handle is not None}


def capture(
    concrete: Any,
    source: Graph,
    graph: TFGraph,
    variable_names: Iterable[tuple[Any, str]],
    request: str,
    untrainable: Container[int] = (),
) -> Captures:
    """Makes the replacement of each capture of a function in `graph`: a variable, a table or a constant.

    Args:
        concrete: a ConcreteFunction.
        source: the snapshot of its body.
        graph: an empty `tf.Graph`.
        variable_names: (variable, name) pairs in addition to the variables that the function itself refers to.
        request: the request, for messages.
        untrainable: as in `lift`.

    Raises:
        OpenError: the function captures something else, such as an iterator, or a variable without a value.
    """
    body = concrete.graph
    variables: dict[int, tuple[Any, str]] = {id(v.handle): (v, plain_name(v.name, "variable")) for v in body.variables}
    variables.update({id(v.handle): (v, plain_name(name, "variable")) for v, name in variable_names})
    outside = list(concrete.captured_inputs)
    inside = list(body.inputs)[len(body.inputs) - len(outside) :]
    names = _UniqueNames(op.name for op in body.get_operations() if op not in {t.op for t in inside})
    out = Captures()
    handles: dict[int, Any] = {}
    budget = CONSTANT_BYTES
    for tensor, stand_in in zip(outside, inside, strict=True):
        if tensor.dtype not in (tf.resource, tf.variant):
            with eager():
                out.constants[stand_in.name] = np.array(array_of(tensor.numpy()))
            continue
        if id(tensor) not in handles:
            data = variable_data(tensor) if tensor.dtype == tf.resource else None
            if data is None:
                handles[id(tensor)] = _table(tensor, stand_in, source, graph, names, request)
            else:
                variable, name = variables.get(id(tensor), (None, "variable"))
                trainable = id(tensor) not in untrainable and bool(getattr(variable, "trainable", data[0].is_floating))
                name, handles[id(tensor)], value = _variable(
                    tensor, trainable, name, data, graph, names, budget, request
                )
                out.handles[name] = tensor
                budget -= value.nbytes
                if budget < 0:
                    out.values[name] = value
        out.tensors[stand_in.name] = handles[id(tensor)]
    return out


class _UniqueNames:
    """Returns names that are not used before and not the name of an op of the body, ignoring case."""

    def __init__(self, body: Iterable[str]) -> None:
        self._body = {name.lower() for name in body}
        self._used_names: set[str] = set()

    def __call__(self, preferred: str) -> str:
        parts: list[str] = []
        for i, part in enumerate(preferred.strip("/").split("/")):
            last = i == preferred.strip("/").count("/")
            is_used = partial(self._clash, parts, last)
            parts.append(free_name(part, is_used, as_tensorflow=True))
            self._used_names.add("/".join(parts).lower())
        return "/".join(parts)

    def _clash(self, scopes: list[str], is_op: bool, leaf: str) -> bool:
        name = "/".join([*scopes, leaf]).lower()
        if not is_op:
            return name in self._body
        return name in self._used_names or any(name + part.lower() in self._body for part in _VARIABLE_SUFFIXES)


def _variable(
    handle: Any,
    trainable: bool,
    preferred: str,
    data: tuple[Any, Any],
    graph: TFGraph,
    names: _UniqueNames,
    budget: int,
    request: str,
) -> tuple[str, Any, Any]:
    dtype, shape = data
    with eager():
        ready = bool(tf.raw_ops.VarIsInitializedOp(resource=handle))
    if not ready:
        raise OpenError(request, f"variable {preferred!r} has no value yet", "Assign a value first")
    with eager():
        value = np.array(array_of(tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype).numpy()))
    name = names(preferred)
    fits = value.nbytes <= budget

    def first() -> Any:
        return tf.constant(value, dtype, name="Const") if fits else tf1.placeholder(dtype, value.shape, name="value")

    with graph.as_default(), tf1.device(None):
        new = tf1.Variable(
            first,
            trainable=trainable,
            name=name,
            dtype=dtype,
            shape=shape,
            use_resource=True,
            validate_shape=shape.is_fully_defined(),
        )
    assert new.op.name == name, f"{new.op.name} instead of {name}"
    return name, new.handle, value


# -- tables ---------------------------------------------------------------------------------------


def _table(handle: Any, placeholder: Any, source: Graph, graph: TFGraph, names: _UniqueNames, request: str) -> Any:
    users = _users(source, placeholder.op.name)
    kinds = {(n.attr["Tin"].type, n.attr["Tout"].type) for n in users if "Tin" in n.attr and "Tout" in n.attr}
    if handle.dtype != tf.resource or len(kinds) != 1 or not all(n.op.startswith("LookupTable") for n in users):
        op_types = ", ".join(sorted({n.op for n in users})) or "nothing"
        raise OpenError(
            request,
            f"it captures {placeholder.name!r}, which is not a variable, constant or table (it is used by {op_types})",
            "Make it an argument of the function",
        )
    keys_type, values_type = (tf.as_dtype(t) for t in kinds.pop())
    with eager():
        keys, values = tf.raw_ops.LookupTableExportV2(table_handle=handle, Tkeys=keys_type, Tvalues=values_type)
        keys, values = keys.numpy(), values.numpy()
    name = names("table")
    types = {"key_dtype": keys_type, "value_dtype": values_type, "name": name}
    with graph.as_default():
        if not any(n.op in _WRITES for n in users) and values.ndim == 1:
            table, fill = tf.raw_ops.HashTableV2(**types), tf.raw_ops.InitializeTableV2
        elif values.ndim == 1:
            table, fill = tf.raw_ops.MutableHashTableV2(**types), tf.raw_ops.LookupTableImportV2
        else:
            table = tf.raw_ops.MutableHashTableOfTensorsV2(value_shape=values.shape[1:], **types)
            fill = tf.raw_ops.LookupTableImportV2
        with tf1.name_scope(f"{name}/Initializer/"):
            content = {"keys": tf.constant(keys, keys_type), "values": tf.constant(values, values_type)}
            fill_op = fill(table_handle=table, **content, name="fill")
        graph.add_to_collection(tf1.GraphKeys.TABLE_INITIALIZERS, fill_op)
    return table


def _users(source: Graph, op: str) -> list[TFNodeDef]:
    """Returns the nodes that use a captured tensor, including nodes in functions to which it is passed.

    Args:
        source: the body of the function that captures the tensor.
        op: the op of the tensor.
    """
    consumers = CallTree(source, function_body).consumers_of(op, lambda *_: True)
    nodes = (part.graph.nodes[number] for part, number in consumers)
    return [node for node in nodes if node.op != "_Retval" and not functions_in_node(node, source.functions)]
