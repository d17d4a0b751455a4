"""GraphLayer: a part of a graph as a Keras layer, which can be trained by `fit`, frozen, and saved with its model."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ...errors import PlanError, counted, few, warn
from ...graph.functions import all_nodes, functions_in_node, own_gradient
from ...graph.graph import Graph, Mask, shape_text
from ...graph.names import free_name, op_name, tensor_name
from ...graph.open_graph import Ends
from ...graph.parts import required_ops
from ...graph.training import ASSIGNING, updates
from ...graph.traversal import backward, forward, producers
from ...graph.types import TFGraph
from ..copy.imports import import_nodes
from ..import_tensorflow import tf
from ..messages import tensor_pb2
from ..open.outputs import array_in
from ..open.snapshot import snapshot
from ..private.c_api import functions_of
from ..private.eager import eager
from ..private.functions import run_along
from ..private.graphs import copy_handle_data
from ..protos import decode, empty_graph, encode
from ..run.errors import errors_as
from ..run.sessions import require_trusted
from ..values.variables import dims_of
from .definitions import adopt, with_handles
from .graph_function import (
    FunctionRegion,
    arguments_text,
    region_of,
    table_of,
    tables_of,
    trace_region,
    variable_values,
)
from .graph_function import trainable as is_trainable
from .layers import TrainingFacts
from .trace import arguments_of

Keras: Any = tf.keras
#: The prefix of TensorFlow's names for gradients by `tf.custom_gradient`, which are valid only in the same process.
_LOCAL_GRADIENT = "CustomGradient-"
_PYTHON = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})


@Keras.utils.register_keras_serializable(package="graphsurgeon")
class GraphLayer(Keras.layers.Layer):
    """A part of a graph as a Keras layer. Made by `Editor.keras_layer`.

    Its variables are weights of the layer: `fit` trains them, ``trainable = False`` freezes them, and a ``.keras`` file
    contains them. A process that loads the file must import the class: ``from graphsurgeon import GraphLayer``.

    Args:
        graph: the description of the layer, from `get_config`.
        options: the options of any Keras layer: name, trainable.

    Raises:
        PlanError: the graph calls Python functions of another process.
    """

    def __init__(self, graph: Mapping[str, Any], **options: Any) -> None:
        options.pop("autocast", None)
        options.pop("dtype", None)  # a graph computes in its own dtypes
        super().__init__(autocast=False, **options)
        self.supports_masking = False  # Keras warns that the layer drops a mask
        self.supports_jit = False  # XLA may not support all ops of the graph
        self._config = _Untracked({key: value for key, value in graph.items() if key != "programs"})
        weights = []
        for number, about in enumerate(graph["weights"]):
            weight = self.add_weight(
                name=about["name"],
                shape=tuple(about["shape"]),
                dtype=about["dtype"],
                trainable=about["trainable"],
                initializer="zeros",
                regularizer=about.get("regularizer"),
                constraint=about.get("constraint"),
            )
            setattr(self, f"weight_{number}", weight)  # TensorFlow saves the attributes of a layer
            weights.append(weight if isinstance(weight, tf.Variable) else weight.value)
        self._weights = _Untracked(weights)
        self._programs = _Untracked({})
        with eager():
            for number, (keys, content) in enumerate(graph["tables"]):
                setattr(self, f"table_{number}", _filled_table(keys, content))
            for mode, body in graph.get("programs", {}).items():
                self.run(mode, _program(body, self), body)
        self.built = True

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes about properties of the original Keras model that the layer does not have."""
        return tuple(self._config.value.get("notes", ()))

    def add_notes(self, notes: Iterable[str]) -> None:
        """Adds notes on what the layer does not keep."""
        self._config.value["notes"].extend(notes)

    @property
    def tables(self) -> list[Any]:
        """The lookup tables of the layer."""
        return [getattr(self, f"table_{number}") for number in range(len(self._config.value["tables"]))]

    def graph_variables(self) -> list[tf.Variable]:
        """Returns the `tf.Variable` of each weight, in the order of the graph."""
        return list(self._weights.value)

    def run(self, mode: str, function: Any, body: Mapping[str, Any]) -> None:
        """Sets the function that the layer runs in a mode.

        Args:
            mode: ``inference`` or ``training``.
            function: the `tf.function`.
            body: its description in a file.
        """
        self._programs.value[mode] = (function, body)

    def call(self, inputs: Any, training: Any = None) -> Any:
        """Runs the graph; in training, if the layer is trainable, also runs the updates of the graph."""
        trained = training and self.trainable and "training" in self._programs.value
        function, body = self._programs.value["training" if trained else "inference"]
        results = list(function(*self._arguments(inputs)))
        for _ in range(body.get("losses", 0)):
            self.add_loss(results.pop())
        keys, kind = self._config.value["outputs"], self._config.value["form"]
        return results[0] if kind == "one" else results if kind == "list" else dict(zip(keys, results, strict=True))

    def _arguments(self, inputs: Any) -> list[Any]:
        names, function = list(self._config.value["inputs"]), self._programs.value["inference"][0]
        request, takes = f"layer {self.name!r}", arguments_text(function)
        if isinstance(inputs, Mapping):
            if {*map(str, inputs)} != {*names}:
                problem = f"its inputs are {names}, but it is given {sorted(map(str, inputs))}"
                raise PlanError(request, problem, f"Give it {takes}")
            values = [inputs[name] for name in names]
        else:
            values = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        if len(values) != len(names):
            problem = f"it takes {len(names)}, but is given {counted(len(values), 'tensors')}"
            raise PlanError(request, problem, f"Give it a list or dict of {takes}")
        pairs = zip(values, function.input_signature, strict=True)
        return [_converted_input(thing, spec, request) for thing, spec in pairs]

    def compute_mask(self, *_: Any, **__: Any) -> None:
        """Returns None, because only the ops of the graph can use a mask."""

    def get_config(self) -> dict[str, Any]:
        """Returns the description of the layer, without the weights, which Keras stores separately."""
        programs = {
            mode: {**body, "graph": _encode_text(body["graph"])} for mode, (_, body) in self._programs.value.items()
        }
        return {"name": self.name, "trainable": self.trainable, "graph": {**self._config.value, "programs": programs}}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> GraphLayer:
        """Returns a layer from the result of `get_config`; its weights are zeros until they are loaded."""
        return cls(**config)


class _Untracked:
    """Holds a value that Keras must not track."""

    def __init__(self, value: Any) -> None:
        self.value = value


def keras_layer(
    base: Graph,
    ends: Ends,
    values: Any,
    name: str | None,
    training: Any,
    trainable: bool,
    request: str,
    facts: TrainingFacts,
) -> GraphLayer:
    """Returns a Keras layer that computes the outputs of a part of a graph from its inputs.

    Args:
        base: the snapshot.
        ends, values: as in `graph_function`.
        name: the name of the layer; default: chosen by Keras.
        training: the name of a tensor that is true in training; or (snapshot, ends, values, facts) of the graph to run
            in training; or None.
        trainable: whether its weights are trainable.
        request: the request, for messages.
        facts: the properties of the Keras model that the graph does not contain.

    Raises:
        SelectionError, PlanError: as in `graph_function`; or the dtype of a variable is not possible for a weight.
    """
    backend = Keras.backend.backend()
    if backend != "tensorflow":
        how = "Start Python with KERAS_BACKEND=tensorflow, or use ed.function"
        raise PlanError(request, f"Keras runs on {backend!r} here", how)
    twice = isinstance(training, tuple)
    flag = None if training is None or twice else tensor_name(training)
    graph, trained, source, learned = training if twice else (base, ends, values, facts)
    for one in (base, graph):
        require_trusted(one.owner, request)
    runs = {
        "inference": _LayerProgram(base, ends, values, flag, request, facts, updated=False),
        "training": _LayerProgram(graph, trained, source, flag, request, learned, updated=True),
    }
    runs["training"].warn_left_out()
    notes = runs["inference"].notes(not (twice or flag))
    if not (twice or flag or runs["training"].updates):
        del runs["training"]
    variables, tables = dict[str, Any](), dict[str, Any]()
    with eager():
        for run in runs.values():
            variables |= run.values(variables)
            tables |= tables_of(run.base, run.part, request)
        about = {
            "weights": _weights(variables, runs.values(), request, facts, notes),
            "tables": [_table_content(table) for table in tables.values()],
            "inputs": list(ends.with_argument_names().inputs),
            "outputs": list(ends.outputs),
            "form": ends.form,
            "notes": notes,
        }
        layer = GraphLayer(about, trainable=trainable, name=name)
        for variable, array in zip(layer.graph_variables(), variables.values(), strict=True):
            variable.assign(array)
        shared = (
            dict(zip(variables, layer.graph_variables(), strict=True)),
            dict(zip(tables, layer.tables, strict=True)),
        )
        for mode, run in runs.items():
            function = run.trace(*shared, layer.name)
            body = _body(function.get_concrete_function(), layer)
            layer.run(mode, function, {**body, "losses": len(run.losses)})
    return layer


# -- the functions that a layer runs -----------------------------------------------------------------


class _LayerProgram:
    """The part of a graph that a layer runs, in training or in inference.

    Args:
        base, ends, values: as in `keras_layer`.
        flag: a tensor that is true in training.
        request: the request, for messages.
        facts: the properties of the Keras model that the graph does not contain.
        updated: whether this is the program for training: updates are run, and the flag is true.
    """

    def __init__(
        self,
        base: Graph,
        ends: Ends,
        values: Any,
        flag: str | None,
        request: str,
        facts: TrainingFacts,
        updated: bool,
    ) -> None:
        self.base, self._values, self._request, self._flag_values = base, values, request, list[Any]()
        takes, gives = dict(ends.with_argument_names().inputs), list(ends.outputs.values())
        if flag is not None:
            takes[free_name("training", takes.__contains__)] = flag
            self._flag_values.append(_flag_value(base, flag, updated, request))
        targets = [base.tensor(name, request) for name in gives]
        cuts = frozenset(base.tensor(name, request) for name in takes.values())
        goals = producers(base, targets, cuts)
        region = required_ops(base, goals, cuts)
        self._facts, self._region, self._endpoints = facts, region, (list(takes.values()), gives)
        self.losses, self._lost_losses = facts.added(base, *self._endpoints, region)
        assignments = updates(base, region, cuts)
        always_run = backward(base, goals, cuts, control=False)  # these ops always run
        self._training_ops = [
            name
            for name in assignments.inside
            if not always_run[base.index[name]] and not _read_after(base, base.index[name], always_run)
        ]
        self._skipped_updates = dict(assignments.outside)
        self._late_reads: list[tuple[str, str, str]] = []
        along = []
        for name in self._training_ops if updated else ():
            variable, value = base.input_names(base.index[name])[:2]
            kind = base.types[base.index[name]]
            if kind.endswith("VariableOp"):
                along.append(name)
            elif blocker := _earlier_writer(base, value, cuts):
                self._skipped_updates[name] = f"{blocker}:0"
            else:
                self._late_reads.append((op_name(variable), ASSIGNING[kind], value))
        self.updates = [*along, *self._late_reads]
        results = [*gives, *self.losses, *(value for _, _, value in self._late_reads)]
        without = [name for name in self._training_ops if name not in along]
        self.part = region_of(base, takes, results, request, along, without)
        self._count = len(gives) + len(self.losses)
        self.part.variables += [v for v, _, _ in self._late_reads if v not in self.part.variables]

    def notes(self, same_ops: bool) -> list[str]:
        """Returns notes about properties of the Keras model that the layer does not have.

        Args:
            same_ops: whether the layer runs the same ops in training, apart from updates.
        """
        only = [f"run in training only: {few(map(repr, self._training_ops))}"] * bool(self._training_ops)
        return [*self._lost_losses, *self._facts.notes(self.base, *self._endpoints, self._region, same_ops), *only]

    def warn_left_out(self) -> None:
        """Warns about updates of the region that are left out, because they need a tensor that is not an input."""
        if self._skipped_updates:
            name, lack = next(iter(self._skipped_updates.items()))
            warn(
                f"{self._request}: {few(map(repr, self._skipped_updates))} of the region are left out: "
                f"{name!r} needs {lack!r}, "
                "which is not an input. To run them in the layer, name it in inputs="
            )

    def values(self, known_values: Mapping[str, Any]) -> dict[str, Any]:
        """Returns the values of its variables, without those in `known_values`."""
        return variable_values(self.base, self.part, self._values, known_values)

    def trace(self, variables: dict[str, Any], tables: dict[str, Any], name: str) -> Any:
        """Returns the `tf.function` that runs the part with these variables and tables."""
        variables = {name: variables[name] for name in self.part.variables}
        tables = {name: tables[name] for name in self.part.tables}

        def packed(tensors: list[Any]) -> list[Any]:
            graph = tf.compat.v1.get_default_graph()
            for (variable, how, _), value in zip(self._late_reads, tensors[self._count :], strict=True):
                with tf.control_dependencies(graph.capture(variables[variable].handle).consumers()):  # its reads
                    run_along(graph, [getattr(variables[variable], how)(value, read_value=False)])
            return tensors[: self._count]

        plain = re.sub(r"\W", "_", name)
        return trace_region(self.base, self.part, variables, tables, plain, packed, self._request, self._flag_values)


def _flag_value(base: Graph, flag: str, value: bool, request: str) -> Any:
    """Returns the value for a training flag."""
    info = base.info(*base.tensor(flag, request))
    dtype = tf.as_dtype("bool" if info is None else info.dtype)
    if not (dtype.is_bool or dtype.is_integer or dtype.is_floating):
        how = "Name the graph's training flag, for example training='is_training:0'"
        raise PlanError(request, f"training={flag!r} has dtype {dtype.name}, which is not bool or a number", how)
    return np.array(value, dtype.as_numpy_dtype)


def _read_after(base: Graph, update: int, needed_ops: Mask) -> bool:
    """Whether a needed value is read from a resource variable after its update, for example a count of calls."""
    variable = int(base.data.row(update)[0])
    if not base.types[update].endswith("VariableOp"):
        return False
    after = forward(base, base.mask([update])) & needed_ops
    return any(after[reader] for reader in base.consumers.row(variable).tolist())


def _earlier_writer(base: Graph, value: str, cuts: frozenset[tuple[int, int]]) -> str:
    """Returns an op that writes to a reference variable before a value is computed; empty if there is none."""
    needs = backward(base, producers(base, [base.tensor(value)]), cuts)
    writers = np.flatnonzero(needs & base.type_mask([kind for kind in ASSIGNING if not kind.endswith("VariableOp")]))
    return str(base.names[writers[0]]) if len(writers) else ""


def _weights(
    arrays: Mapping[str, Any], programs: Iterable[_LayerProgram], request: str, facts: TrainingFacts, notes: list[str]
) -> list[dict[str, Any]]:
    """Returns the descriptions of the weights of a layer; adds notes about properties that cannot be stored."""
    infos = {name: run.base.state.variables[name] for run in reversed(list(programs)) for name in run.part.variables}
    weights: dict[str, dict[str, Any]] = {}
    for name, array in arrays.items():
        dtype = tf.as_dtype(infos[name].dtype)
        if not (dtype.is_floating or dtype.is_integer or dtype.is_bool):
            how = "Choose a region without it, or use ed.function, whose variables have any dtype"
            raise PlanError(request, f"variable {name!r} has dtype {dtype.name}, but a Keras weight is a number", how)
        short = free_name(name.replace("/", "."), weights.__contains__)
        shape = list(np.shape(array))
        about, lost = facts.weight_constraints(name, Keras)
        notes += lost
        trainable = is_trainable(infos[name])
        weights[short] = {"name": short, "shape": shape, "dtype": dtype.name, "trainable": trainable, **about}
    return list(weights.values())


def _converted_input(obj: Any, spec: Any, request: str) -> Any:
    """Returns an argument with the dtype and shape that the graph requires; a sparse tensor becomes dense."""
    if isinstance(obj, tf.SparseTensor):
        obj = tf.ensure_shape(tf.sparse.to_dense(obj), obj.shape)
    tensor = tf.convert_to_tensor(obj)
    same = tensor.dtype == spec.dtype
    wider = spec.dtype.is_floating or (spec.dtype.is_integer and tensor.dtype.is_integer)
    if not same and (not wider or not (tensor.dtype.is_floating or tensor.dtype.is_integer)):
        how = f"Give {spec.dtype.name}: keras.Input(shape, dtype={spec.dtype.name!r})"
        raise PlanError(request, f"{spec.name!r} has dtype {spec.dtype.name}, but is given {tensor.dtype.name}", how)
    if not spec.shape.is_compatible_with(tensor.shape):
        problem = f"{spec.name!r} has shape {shape_text(dims_of(spec.shape))}, but is given shape "
        how = "Give a tensor of that shape; sizes that are static in the graph are static in the layer"
        raise PlanError(request, problem + shape_text(dims_of(tensor.shape)), how)
    tensor = tensor if same else tf.cast(tensor, spec.dtype)
    return tf.ensure_shape(tensor, spec.shape) if spec.shape.rank is not None else tensor


# -- the description in a file -------------------------------------------------------------------------


def _body(concrete: Any, layer: GraphLayer) -> dict[str, Any]:
    """Returns the description of a traced function: its ops, and the ops for arguments, weights and tables.

    Call this before the function is differentiated, because a gradient rewrites the loops of the function.
    """
    graph, arguments = concrete.graph, arguments_of(concrete)
    graph_def = graph.as_graph_def()
    plain = {function.signature.name: function for function in graph_def.library.function}
    calls = [graph.get_operation_by_name(node.name) for node in graph_def.node if functions_in_node(node, plain)]
    definitions = with_handles(plain, calls, functions_of(graph), plain)
    del graph_def.library.function[:]
    graph_def.library.function.extend(definitions[name] for name in plain)
    without_gradient = []
    for node in all_nodes(graph_def):
        if own_gradient(node).startswith(_LOCAL_GRADIENT):
            without_gradient.append(node.name)
            del node.attr["_gradient_op_type"]
    places = {id(v.handle): ("weight", i) for i, v in enumerate(layer.graph_variables())}
    places |= {id(t.resource_handle): ("table", i) for i, t in enumerate(layer.tables)}
    captured = zip(concrete.captured_inputs, graph.inputs[len(arguments) :], strict=True)
    return {
        "graph": encode(graph_def, deterministic=True),
        "takes": {t.op.name: t.name for t in arguments},
        "captures": [[t.op.name, *places[id(c)]] for c, t in captured],
        "gives": [t.name for t in graph.outputs],
        "shapes": [None if t.shape.rank is None else t.shape.as_list() for t in graph.outputs],
        "gradients": without_gradient,
    }


def _program(body: Mapping[str, Any], layer: GraphLayer) -> Any:
    """Returns the function of a layer that is loaded from a file, given its description."""
    request = f"layer {layer.name!r}"
    with errors_as(PlanError, request, "the description of its graph is damaged", "Save the model again"):
        graph_def = decode(tf.compat.v1.GraphDef, zlib.decompress(base64.b64decode(body["graph"])))
    for node in all_nodes(graph_def):
        if node.op in _PYTHON:
            how = "Make the layer from a region without this op"
            raise PlanError(request, f"{node.name!r} calls a Python function of the process that made the layer", how)
    if body["gradients"]:
        warn(
            f"{request}: {few(map(repr, body['gradients']))} had a gradient by tf.custom_gradient, which no file "
            "keeps: TensorFlow's own gradient is used"
        )
    handles: dict[str, dict[str, Any]] = {"weight": {}, "table": {}}
    for name, kind, number in body["captures"]:
        handles[kind][name] = (layer.graph_variables() if kind == "weight" else layer.tables)[number]
    graph = empty_graph()
    with errors_as(PlanError, request, "TensorFlow refuses its graph", "Load it with the TensorFlow that saved it"):
        import_nodes(graph, graph_def)
        adopt(graph, graph_def.library)
    _set_handle_data(graph, handles["weight"])
    base = snapshot(graph)
    mask = ~base.mask(base.index[name] for name in (*handles["weight"], *handles["table"], *body["takes"]))
    part = FunctionRegion(dict(body["takes"]), list(body["gives"]), mask, [], [])

    def shaped(tensors: list[Any]) -> list[Any]:
        for tensor, sizes in zip(tensors, body["shapes"], strict=True):
            tensor.set_shape(tf.TensorShape(sizes))
        return tensors

    return trace_region(base, part, handles["weight"], handles["table"], "layer", shaped, request)


def _encode_text(graph_def: Any) -> str:
    """Returns a GraphDef as text, for a config."""
    return graph_def if isinstance(graph_def, str) else base64.b64encode(zlib.compress(graph_def, 1)).decode()


def _set_handle_data(graph: TFGraph, variables: Mapping[str, Any]) -> None:
    """Sets the handle data of resources: files do not contain it, but gradients need it."""
    for name, variable in variables.items():
        copy_handle_data(variable.handle, graph.get_tensor_by_name(f"{name}:0"))
    for op in graph.get_operations():
        inputs = op.inputs if op.type in ("While", "StatelessWhile") else op.inputs[:1] if op.type == "Identity" else ()
        for tensor, new in zip(inputs, op.outputs, strict=False):
            if new.dtype == tf.resource:
                copy_handle_data(tensor, new)


def _table_content(table: Any) -> list[str]:
    return [base64.b64encode(encode(tf.make_tensor_proto(t.numpy()))).decode() for t in table.export()]


def _filled_table(keys: str, content: str) -> Any:
    """Returns a table from the output of `_table_content`; checks it, because a file may contain any other text."""
    protos = [decode(tensor_pb2.TensorProto, base64.b64decode(text)) for text in (keys, content)]
    keys_of, content_of = map(array_in, protos)
    if keys_of is None or content_of is None:
        raise PlanError("build()", "a table of the layer is damaged, or too large to unpack", "Save the model again")
    return table_of(keys_of, content_of, [tf.as_dtype(proto.dtype) for proto in protos])
