"""Traces: finds the traced function of a TF2 object, or traces it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import OpenError, counted, did_you_mean
from ...graph.names import join_scope
from ...plan.function_source import code_of
from ..import_tensorflow import tf
from ..open.call_sites import attribute_paths
from ..private.eager import (
    eager,
    is_trackable,
    keras_built_shapes,
    keras_inputs,
    keras_layers,
    module_attributes,
    module_scope,
)
from ..private.functions import function_name, owner_of, traces
from .layer_calls import ObservedCall, TracedObject, handle_of, observe_calls

_Concrete = tf.types.experimental.ConcreteFunction
_Function = tf.types.experimental.PolymorphicFunction


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
