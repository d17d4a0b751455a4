"""Traces: which traced function a TF2 object stands for."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from ...errors import OpenError, did_you_mean
from ...plan.sources import written
from ...words import counted
from ..private.eager import eager, is_trackable, keras_built_shapes, keras_inputs
from ..private.functions import function_name, traces
from .layer_calls import Seen, observed

_Concrete = tf.types.experimental.ConcreteFunction
_Function = tf.types.experimental.PolymorphicFunction


@dataclass
class Trace:
    """A traced function.

    Args:
        concrete: the ConcreteFunction.
        title: what to call it.
        code: the Python that opens it again.
        named: (variable, name) pairs, where the object knows better names than its variables have.
        keep: what must stay alive, since the function holds its variables weakly.
        model: the Keras model or layer that it is the call of, if it is one.
        seen: the calls of layers while it was traced.
    """

    concrete: Any
    title: str
    code: str
    named: list[tuple[Any, str]] = field(default_factory=list)
    keep: Any = None
    model: Any = None
    seen: Sequence[Seen] = ()


def is_traceable(thing: Any) -> bool:
    """Returns whether this is a TF2 object that can be opened as a graph."""
    return isinstance(thing, (_Concrete, _Function)) or is_keras(thing) or is_trackable(thing)


def trace(thing: Any, signature: Any = None, function: str | None = None, training: bool = False) -> Trace:
    """Returns the one traced function that a TF2 object stands for; traces it where it has to be.

    Args:
        thing: a ConcreteFunction, `tf.function`, Keras model or layer, `tf.Module`, or what `tf.saved_model.load` gave.
        signature: the arguments, as `tf.TensorSpec`: one, a sequence of them, or a dict for keywords.
        function: which function of a `tf.Module`.
        training: whether a Keras model is called for training.

    Raises:
        OpenError: it is not clear which function is meant, or with which arguments.

    Example:
        >>> found = trace(tf.function(lambda x: x * 2.0), tf.TensorSpec([2], tf.float32, name="x"))
        >>> found.title, [t.name for t in found.concrete.inputs]
        ('function', ['x:0'])
    """
    if isinstance(thing, _Concrete):
        return Trace(thing, _name(thing), "gs.open(function)")
    with eager():
        if isinstance(thing, _Function):
            found = _of_function(thing, signature, "open(function)")
            found.code = f"gs.open(function{_signed(signature)})"
            return found
        if is_keras(thing):
            return _of_keras(thing, signature, training)
        return _of_module(thing, signature, function)


def _signed(signature: Any) -> str:
    """The signature as an argument in code; where it cannot be written, one to be given."""
    return "" if signature is None else f", signature={written(signature) or 'signature'}"


def _name(concrete: Any) -> str:
    plain = function_name(concrete).removeprefix("__inference_")
    head, _, tail = plain.rpartition("_")
    return (head if head and tail.isdigit() else plain) or "function"


def _choices(word: str, names: Any) -> str:
    known = sorted(names)
    return f"Choose {word}=" + " or ".join(map(repr, known)) if known else f"It has no {word} at all"


# -- tf.function ----------------------------------------------------------------------------------


def _of_function(function: Any, signature: Any, asked: str) -> Trace:
    name = getattr(getattr(function, "python_function", None), "__name__", "function")
    title = "function" if name == "<lambda>" else name
    if signature is not None:
        args, options = _arguments(signature)
        concrete = _traced(function, args, options, asked)
    elif function.input_signature is not None:
        concrete = _traced(function, (), {}, asked)
    else:
        have = traces(function)
        if len(have) != 1:
            raise OpenError(
                asked,
                f"tf.function {title!r} has no input_signature and {counted(len(have), 'traces')}",
                f"Open one trace: gs.open({title}.get_concrete_function(...)), "
                "or give the arguments: signature=[tf.TensorSpec(...)]",
            )
        concrete = have[0]
    return Trace(concrete, title, "gs.open(function)")


def _arguments(signature: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(signature, Mapping):
        return (), {str(k): v for k, v in signature.items()}
    if isinstance(signature, (list, tuple)):
        return tuple(signature), {}
    return (signature,), {}


def _traced(function: Any, args: tuple[Any, ...], options: dict[str, Any], asked: str) -> Any:
    try:
        return function.get_concrete_function(*args, **options)
    except Exception as error:  # the traced code is the user's: it may raise anything
        lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
        message = lines[-1] if lines else type(error).__name__
        raise OpenError(
            asked,
            f"tracing it fails with {type(error).__name__}: {message[:300]}",
            "Give arguments that it takes: signature=[tf.TensorSpec(shape, dtype)]",
        ) from error


# -- tf.Module ------------------------------------------------------------------------------------


def _of_module(module: Any, signature: Any, function: str | None) -> Trace:
    kind = type(module).__name__.removeprefix("_")
    asked = f"open({kind})" if function is None else f"open({kind}, function={function!r})"
    known = _functions(module)
    if function is None:
        if not known:
            raise OpenError(asked, "it has no tf.function", "Decorate one of its methods with @tf.function")
        if len(known) > 1:
            raise OpenError(asked, f"it has {counted(len(known), 'functions')}", _choices("function", known))
        function = next(iter(known))
    if function not in known:
        near = did_you_mean(function, known)
        raise OpenError(
            asked,
            f"it has no tf.function {function!r}",
            (near + " " if near.startswith("Did") else "") + _choices("function", known),
        )
    found = known[function]
    if isinstance(found, _Concrete):
        done = Trace(found, function, "")
    else:
        done = _of_function(found, signature, asked)
    done.title, done.keep = kind, module
    done.code = f"gs.open(module, function={function!r}{_signed(signature)})"
    return done


def _functions(module: Any) -> dict[str, Any]:
    """The functions of a module by attribute name, with the signatures of a loaded one."""
    found = {}
    for name in sorted({*dir(type(module)), *vars(module)}):
        if name == "__call__" or not name.startswith("__"):
            value = getattr(module, name, None)
            if isinstance(value, (_Concrete, _Function)):
                found[name] = value
    signatures = getattr(module, "signatures", None)
    if isinstance(signatures, Mapping):
        found.update({str(k): v for k, v in signatures.items() if isinstance(v, _Concrete) and str(k) not in found})
    return found


# -- Keras ----------------------------------------------------------------------------------------


def is_keras(thing: Any) -> bool:
    """Returns whether this is a model or layer of Keras, or of its predecessor `tf_keras`; imports neither."""
    return keras_of(thing) is not None


def keras_of(thing: Any) -> Any:
    """Returns the package whose layer this is: `keras`, or `tf_keras`, which is Keras 2; None where it is not one."""
    for name in ("keras", "tf_keras"):
        package = sys.modules.get(name)
        layer = _layer_class(package)
        if isinstance(layer, type) and isinstance(thing, layer):
            return package
    return None


def _layer_class(package: Any) -> Any:
    return getattr(package, "Layer", None) or getattr(getattr(package, "layers", None), "Layer", None)


def _of_keras(model: Any, signature: Any, training: bool) -> Trace:
    asked = f"open({type(model).__name__} {model.name!r})"
    package = keras_of(model)
    backend = package.backend.backend()
    if backend != "tensorflow":
        raise OpenError(
            asked,
            f"Keras runs on {backend!r} here, so the model has no TensorFlow graph",
            "Start Python with KERAS_BACKEND=tensorflow",
        )
    specs = _keras_specs(model, asked) if signature is None else (signature,)
    if signature is not None and isinstance(signature, tuple):
        specs = signature

    call = tf.function(lambda *args: model(*args, training=training), autograph=False)
    with observed(_layer_class(package)) as seen:
        concrete = _traced(call, specs, {}, asked)
    held = [(v if isinstance(v, tf.Variable) else v.value, getattr(v, "path", v.name)) for v in model.variables]
    named = [(variable, name) for variable, name in held if isinstance(variable, tf.Variable)]
    code = f"gs.open(model{_signed(signature)}{', training=True' * training})"
    return Trace(concrete, model.name, code, named, (model, call), model, seen)


def _keras_specs(model: Any, asked: str) -> tuple[Any, ...]:
    inputs = keras_inputs(model)
    if inputs is None:
        inputs = getattr(model, "inputs", None)
        inputs = inputs[0] if isinstance(inputs, list) and len(inputs) == 1 else inputs
    if inputs is not None and not (isinstance(inputs, list) and not inputs):
        return (tf.nest.map_structure(lambda t: tf.TensorSpec(t.shape, t.dtype, name=t.name), inputs),)
    saved = model.save_spec() if hasattr(model, "save_spec") else None  # Keras 2 keeps what a model was called with
    if saved is not None:
        return tuple(saved[0])
    # A subclassed model keeps the shapes it was built with; the first axis is that of the batch.
    kept = list(keras_built_shapes(model).values())
    if len(kept) == 1 and isinstance(kept[0], (tuple, list)) and all(isinstance(n, int | None) for n in kept[0]):
        dtype = getattr(model, "input_dtype", None) or "float32"
        return (tf.TensorSpec([None, *kept[0][1:]], dtype, name="inputs"),)
    raise OpenError(
        asked,
        "it does not say what inputs it takes: it is not built, or takes several",
        "Give them: signature=tf.TensorSpec([None, 8], tf.float32), or the list or dict of them that it takes",
    )
