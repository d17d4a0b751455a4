"""Eager: private parts of TensorFlow's eager mode and of Keras; each use was tried on TF 2.16 to 2.21."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context
from tensorflow.python.framework import ops
from tensorflow.python.ops import resource_variable_ops

from ..import_tensorflow import without_log_warnings


@contextmanager
def eager() -> Iterator[None]:
    """Runs the block eagerly, even inside ``graph.as_default()``."""
    with context.eager_mode():
        yield


def mode_restorer() -> Callable[[], None]:
    """Returns a function that restores TensorFlow's current mode in this thread: eager or not, and the entered graphs.

    An interrupt such as Ctrl+C while TensorFlow enters or leaves a graph results in an inconsistent mode. The function
    first leaves a graph that was being entered. Otherwise this graph would be left later, when the traceback is freed,
    and remove another entry.
    """
    thread_data = context.context()._thread_local_data
    is_eager, stacks = thread_data.is_eager, (context.context().context_switches.stack, ops._default_graph_stack.stack)
    saved_stacks = [list(stack) for stack in stacks]

    def restore() -> None:
        error = sys.exc_info()[1]
        if error is not None and not isinstance(error, Exception):
            traceback.clear_frames(error.__traceback__)
        thread_data.is_eager = is_eager
        for stack, entries in zip(stacks, saved_stacks, strict=True):
            stack[:] = entries

    return restore


def is_trackable(value: Any) -> bool:
    """Returns whether a value is a `tf.Module`, or the result of `tf.saved_model.load`."""
    return isinstance(value, (tf.Module, tf.__internal__.tracking.AutoTrackable))


def module_scope(module: Any) -> str:
    """Returns the name scope that a `tf.Module` enters, if any; empty for another object."""
    scope = (
        getattr(module, "name_scope", None) if isinstance(module, tf.Module) else None
    )  # `__init__` may not have run
    return "" if scope is None else scope.name.rstrip("/")


def module_attributes(module: Any) -> list[tuple[str, Any]]:
    """Returns the attributes of an object, by name, without the attributes that TensorFlow adds."""
    ignored = getattr(tf.Module, "_TF_MODULE_IGNORED_PROPERTIES", ())
    return [(name, value) for name, value in getattr(module, "__dict__", {}).items() if name not in ignored]


def traced_method(method: Any, owner: Any) -> Callable[..., Any]:
    """Returns a method of an object in the form that traced code calls, converted by AutoGraph if it is active."""
    bound = method.__get__(owner, type(owner))

    def call(*args: Any, **options: Any) -> Any:
        return bound(*args, **options)

    convert = tf.__internal__.autograph
    converted: Callable[..., Any] = convert.tf_convert(call, convert.control_status_ctx())
    return converted


def variable_data(handle: Any) -> tuple[Any, Any] | None:
    """Returns dtype and shape of the variable of an eager handle; None if it is not the handle of a variable."""
    data = getattr(handle, "_handle_data", None)
    if data is None or not data.is_set or len(data.shape_and_type) != 1:
        return None
    entry = data.shape_and_type[0]
    return tf.as_dtype(entry.dtype), tf.TensorShape(entry.shape)


def note_use(variable: Any) -> None:
    """Registers the use of a variable with tapes and the traced function, which its gradient requires."""
    resource_variable_ops.variable_accessed(variable)


def keras_inputs(model: Any) -> Any:
    """Returns the inputs of a Keras model in the structure of its call argument; None if it is not known."""
    model = keras_inside(model)
    return getattr(model, "_inputs_struct", getattr(model, "_nested_inputs", None))


def keras_built_shapes(model: Any) -> dict[str, Any]:
    """Returns the shapes that a Keras model was built with, by argument; empty if it has none."""
    return getattr(model, "_build_shapes_dict", None) or {}


def keras_layers(model: Any, recursive: bool = True) -> list[Any]:
    """Returns the layers in a Keras model or layer, in order; empty if it lists none.

    Args:
        model: the model or layer.
        recursive: include the layers inside its layers.
    """
    return list(getattr(model, "_flatten_layers", lambda **_: [])(include_self=False, recursive=recursive))


def keras_losses(layer: Any) -> list[Any]:
    """Returns the tensors of the losses that a layer has added itself since its last call, without those of weights."""
    losses = [*getattr(layer, "_losses", ()), *getattr(layer, "_eager_losses", ())]
    return [t for t in losses if isinstance(t, tf.Tensor) and not isinstance(t, ops.EagerTensor)]


def keras_regularizers(layer: Any) -> list[tuple[Any, Any]]:
    """Returns (variable, regularizer) for each regularized weight of a layer of Keras 2.

    In Keras 3 the variable has its regularizer. Any other loss that is a function gives `(None, None)`.
    """
    pairs: list[tuple[Any, Any]] = []
    for loss in getattr(layer, "_callable_losses", ()):
        function = loss.args[0]
        code = getattr(getattr(function, "func", None), "__code__", None)
        names = () if code is None or not function.args else code.co_freevars
        if "regularizer" in names:
            cell = function.func.__closure__[names.index("regularizer")]
            pairs.append((function.args[0], cell.cell_contents))
        else:
            pairs.append((None, None))
    return pairs


def has_mask(tensor: Any) -> bool:
    """Returns whether a tensor has a mask of Keras."""
    return getattr(tensor, "_keras_mask", None) is not None


def keras_inside(model: Any) -> Any:
    """Returns the functional model inside a sequential one of Keras 3; any other model itself."""
    return getattr(model, "_functional", None) or model


@dataclass(frozen=True, eq=False)
class KerasNode:
    """One call in a functional model of Keras.

    Args:
        layer: the layer, or, in Keras 3, an operation that is not a layer, such as that of ``x + y``.
        inputs, outputs: its Keras tensors.
        repeat_call: a function that repeats the call with other tensors and returns the results. Its argument maps ids
            of tensors to the tensors that replace them.
    """

    layer: Any
    inputs: tuple[Any, ...]
    outputs: tuple[Any, ...]
    repeat_call: Callable[[Mapping[int, Any]], list[Any]]


def keras_nodes(model: Any) -> list[KerasNode]:
    """Returns the calls of a functional or sequential model in the order of execution; empty for other models."""
    graph = keras_inside(model)
    depths = getattr(graph, "_nodes_by_depth", None) or {}
    nodes = [node for depth in sorted(depths, reverse=True) for node in depths[depth] if not node.is_input]
    make = _node if all(hasattr(node, "arguments") for node in nodes) else _node_of_keras_2
    try:
        return [make(node) for node in nodes]
    except AttributeError:  # other versions of Keras have other attributes
        return []


def _node(node: Any) -> KerasNode:
    def call(tensors: Mapping[int, Any]) -> list[Any]:
        args, options = node.arguments.fill_in(tensors)
        return list(tf.nest.flatten(node.operation(*args, **options)))

    return KerasNode(node.operation, tuple(node.arguments.keras_tensors), tuple(node.outputs), call)


def _node_of_keras_2(node: Any) -> KerasNode:
    def call(tensors: Mapping[int, Any]) -> list[Any]:
        args, options = node.map_arguments({str(id(t)): [tensors[id(t)]] * len(node.keras_inputs) for t in inputs})
        return list(tf.nest.flatten(node.layer(*args, **options)))

    inputs = tuple(node.keras_inputs)
    return KerasNode(node.layer, inputs, tuple(tf.nest.flatten(node.outputs)), call)


def keras_trains() -> tuple[Any, frozenset[int]] | None:
    """Returns the model of Keras 3 whose training step is active, and the ids of the variables that it trains.

    None if there is none, or if the model defines its own step, which may train any variable. Keras 2 is not checked,
    because it tracks the variables of modules.
    """
    state = sys.modules.get("keras.src.backend.common.global_state")
    keras = sys.modules.get("keras")
    call = state.get_global_attribute("current_call_ctx") if state is not None else None
    if call is None or keras is None:
        return None
    model = call.entry_layer
    has_own_step = getattr(type(model), "train_step", None) is not keras.Model.train_step
    if has_own_step or not model.compiled or pywrap_tfe.TFE_Py_TapeSetIsEmpty():
        return None
    return model, frozenset(id(getattr(v, "_value", v)) for v in model.trainable_variables)


KERAS_2 = "2.6.0"
"""The version of Keras 2 that TensorFlow contains."""


def keras_2_layers() -> Any:
    """Returns the module with the layers of Keras 2, which TensorFlow contains for its own tests."""
    from tensorflow.python.keras import layers

    return layers


def keras_2_sequential(steps: Any, shape: tuple[int, ...], name: str) -> Any:
    """Returns a sequential model of layers of Keras 2; call it eagerly.

    Args:
        steps: the layers.
        shape: the shape of the input, ``image``, without the batch.
        name: the name of the model.
    """
    from tensorflow.python.keras import layers, models

    x = y = layers.Input(shape, name="image")
    for step in steps:
        y = step(y)
    return models.Model(x, y, name=name)


def write_keras_2(model: Any, folder: Path) -> None:
    """Writes a model of Keras 2 as a SavedModel folder.

    Args:
        model: the model.
        folder: the folder, which is replaced.
    """
    from tensorflow.python import keras

    missing = not hasattr(keras, "__version__")
    if missing:  # the writer stores the version of Keras in its file
        keras.__version__ = KERAS_2
    try:
        with without_log_warnings(), eager():  # the writer logs a warning if the model is not compiled
            model.save(folder, save_format="tf", include_optimizer=False)
    finally:
        if missing:
            del keras.__version__
