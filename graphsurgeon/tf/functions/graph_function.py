"""A part of a graph as a TF2 callable with its own variables."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...errors import PlanError, counted, few, warn
from ...graph.boundary import Tensor, region
from ...graph.control_flow import branch_around, outside_control_flow
from ...graph.functions import nodes_in_calls
from ...graph.graph import Graph, Mask, shape_text
from ...graph.names import op_name
from ...graph.op_packages import refuse_unknown
from ...graph.open_graph import Ends
from ...graph.parts import refuse_part, required_ops
from ...graph.selection import Query, Selection
from ...graph.training import updates
from ...graph.traversal import backward, forward, producers
from ...graph.types import TFGraph
from ...graph.variables import FEED_TYPES, QUEUE_TYPES, TABLE_TYPES, VARIABLE_TYPES, VariableInfo
from ...plan.dependencies import writes
from ..copy.append import copy_into
from ..copy.contexts import prepare_gradients
from ..import_tensorflow import tf
from ..op_types import is_stateful, op_definition
from ..private.eager import eager, keras_trains, note_use
from ..private.functions import run_along
from ..protos import empty_graph
from ..run.errors import errors_as
from ..run.sessions import require_trusted, session_of
from ..values.variables import dims_of, fetch, shape_of
from .expand import FunctionCalls

tf1 = tf.compat.v1

#: By default, TensorFlow adds control inputs between the stateful ops of a function. The copied ops already have the
#: control inputs of their graph. The added ones would break conds of TF1: ops would wait for a branch that does not
#: run.
_NO_CONTROL_DEPENDENCIES = {"_disable_acd": True}
#: Longer names of attributes are not the number of an item of a list.
_DIGITS = 5


def trace_function(
    build: Callable[..., Sequence[Any]],
    name: str,
    specs: Sequence[Any] | None = None,
    arguments: Sequence[str] = (),
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """Returns a `tf.function` whose ops are ordered only by the control inputs of the graph.

    Args:
        build: a function of tensors that calls `copy_ops`, and returns tensors.
        name: the name of the function.
        specs: the dtype and shape of each argument. Default: from each call.
        arguments: the names of the arguments.
        defaults: argument -> tensor, for the last arguments.
    """
    kind, no_default = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    parameters = [inspect.Parameter(a, kind, default=defaults.get(a, no_default)) for a in arguments]
    build.__name__ = name
    build.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return tf.function(build, specs, autograph=False, experimental_attributes=_NO_CONTROL_DEPENDENCIES)


def copy_ops(base: Graph, mask: Mask, inputs: Mapping[str, Any], outputs: Sequence[str], name: str) -> list[Any]:
    """Copies ops into the function that is being traced, and returns some of their tensors.

    Ops with lasting effects run even if no output needs them.

    Args:
        base: snapshot of the graph.
        mask: the ops.
        inputs: input of the ops from outside -> tensor of the function.
        outputs: the tensors to return.
        name: the name of the function, for messages.
    """
    graph = tf1.get_default_graph()
    input_names = {tensor: value.name for tensor, value in inputs.items()}
    block = Selection(base, mask, Query("select"))
    copied = copy_into(
        graph, block, separate_scope=True, exact=True, inputs=input_names, control="drop", collections="none"
    )

    def copy_of(op: int) -> Any:
        return graph.get_operation_by_name(copied.renamed(base.names[op]))

    def branches(op: int) -> Iterator[_Branch]:
        return _branches(base, mask, op, copy_of)

    prepare_gradients(map(copy_of, copied.ops.tolist()), name)
    ends, plain = [base.tensor(tensor) for tensor in outputs], outside_control_flow(base)
    calls, needed = FunctionCalls(base), backward(base, producers(base, ends), within=mask)
    alone = [op for op in np.flatnonzero(mask & ~needed).tolist() if calls.has_effects(base.nodes[op])]
    run_along(graph, [_unconditional(copy_of(op), branches(op)) for op in alone])
    tensors = [graph.get_tensor_by_name(copied.renamed(tensor)) for tensor in outputs]
    return [
        _with_error_branch(name, tensor, branches(op)) if mask[op] and not plain[op] else tensor
        for name, (op, _), tensor in zip(outputs, ends, tensors, strict=True)
    ]


#: A TF1 branch around an op: the name of its Switch, the output of the Switch that leads to the op, and the two outputs
#: of a Switch of the condition.
_Branch = tuple[str, int, list[Any]]


def _with_error_branch(name: str, tensor: Any, branches: Iterator[_Branch]) -> Any:
    """Returns the copy of a tensor; if it is in a TF1 branch that does not run, a call raises an error."""
    shape = tensor.shape
    for switch, side, sides in branches:
        other = sides[1 - side]
        problem = f"{name} has no value: {switch} takes the other branch"
        failure = tf.raw_ops.Assert(condition=other if side else tf.logical_not(other), data=[problem])
        with tf.control_dependencies([failure]):
            nothing = tf.zeros([], tensor.dtype)
        tensor = tf.raw_ops.Merge(inputs=[tensor, nothing]).output
    tensor.set_shape(shape)
    return tensor


def _unconditional(last: Any, branches: Iterator[_Branch]) -> Any:
    """Returns an op that waits for the copy of an op, but always runs, even if a TF1 branch with the op does not run.

    A call of the function waits for the returned op. If the call waited for an op in a branch that does not run, the
    call would not run either.
    """
    for _, side, sides in branches:
        with tf.control_dependencies([last]):
            sides[side] = tf.identity(sides[side])
        last = tf.raw_ops.Merge(inputs=sides).output.op
    return last


def _branches(base: Graph, mask: Mask, op: int, copy_of: Callable[[int], Any]) -> Iterator[_Branch]:
    """Yields the TF1 branches around an op, innermost first, as far as their Switch ops are copied."""
    while (branch := branch_around(base, op)) and mask[branch[0]]:
        op, side = branch
        pred = copy_of(op).inputs[1]
        yield base.names[op], side, list(tf.raw_ops.Switch(data=pred, pred=pred))


_TABLES = frozenset({"HashTable", "HashTableV2"})
_LIVE_TYPES = FEED_TYPES | TABLE_TYPES | QUEUE_TYPES | {"Iterator", "IteratorV2", "OneShotIterator"}


class GraphFunction(tf.Module):
    """A part of a graph as a TF2 callable: call it, differentiate it, train it, save it. Made by `Editor.function`.

    It has its own `tf.Variable` objects, in the order of the graph: `variables`, `trainable_variables`.
    `tf.saved_model.save(f, folder)` saves it, with its variables and tables. `notes` names properties of a Keras model
    that it does not have, and earlier functions with their own copies of its variables.

    Example:
        >>> import graphsurgeon as gs
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf1.placeholder(tf.float32, [None], name="x")
        ...     y = tf.multiply(x, tf1.get_variable("w", initializer=3.0), name="y")
        >>> f = gs.open(graph).function({"length": "x:0"}, {"area": "y:0"})
        >>> with tf.GradientTape() as tape:
        ...     area = f(length=[1.0, 2.0])["area"]
        >>> float(tape.gradient(area, f.trainable_variables)[0])
        3.0
    """

    notes: tuple[str, ...]

    def __init__(
        self, name: str, variables: Sequence[Any], tables: Sequence[Any], call: Any, notes: Iterable[str] = ()
    ) -> None:
        super().__init__(name=name)
        object.__setattr__(self, "notes", tuple(notes))  # otherwise TensorFlow would track it
        self._variables, self._tables, self._has_warned = list(variables), list(tables), False
        # `tf.saved_model.save` looks up the instance attribute; a call in Python looks up the class.
        setattr(self, "__call__", call)  # noqa: B010

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the function on tensors, given in the order of its inputs or by name."""
        self._warn_keras()
        return self.__dict__["__call__"](*args, **kwargs)

    def _warn_keras(self) -> None:
        """Warns if Keras is training a model that calls this function, because Keras does not track its variables."""
        trains = keras_trains()
        if trains is None or self._has_warned:
            return
        layer, tracked_ids = trains
        untracked = [v for v in self.trainable_variables if id(v) not in tracked_ids]
        if untracked:
            self._has_warned = True
            what = f"{counted(len(untracked), 'variables')}, for example {untracked[0].name!r}"
            warn(
                f"{self.name}(...) in the Keras model {layer.name!r}: Keras does not track its {what}, and fit "
                "does not train them. Use ed.keras_layer(inputs, outputs) instead"
            )

    def __repr__(self) -> str:
        takes = arguments_text(self.__dict__["__call__"])
        return f"<GraphFunction {self.name}({takes}), {counted(len(self.variables), 'variables')}>"


def arguments_text(function: Any) -> str:
    """Returns the arguments of a traced function, with dtypes and shapes, for messages."""
    return ", ".join(f"{s.name}: {s.dtype.name} {shape_text(dims_of(s.shape))}" for s in function.input_signature)


#: Graph -> the functions and layers that were made from it -> the names of their variables.
_MADE_OF: WeakKeyDictionary[TFGraph, WeakKeyDictionary[Any, list[str]]] = WeakKeyDictionary()


def note_separate_variables(base: Graph, result: Any) -> None:
    """Adds a note to a function or layer for each earlier one of the same graph that has its own copies of variables.

    Args:
        base: snapshot of the graph.
        result: a `GraphFunction` or `GraphLayer`.
    """
    function = isinstance(result, GraphFunction)
    names = (variable.name.removesuffix(":0") for variable in result.variables)
    own = [name.replace("/", ".") if function else name.rpartition("/")[2] for name in names]
    kind, others = "function" if function else "layer", _MADE_OF.setdefault(base.owner, WeakKeyDictionary())
    notes = [
        f"separate from the weights of {kind} {other.name!r}, which has the same: {few(map(repr, same))}. "
        f"For shared weights, make one {kind} with all outputs"
        for other, there in others.items()
        if (same := [name for name in own if name in there])
    ]
    others[result] = own
    if function:
        object.__setattr__(result, "notes", (*result.notes, *notes))
    else:
        result.add_notes(notes)


def function_module(
    base: Graph,
    signatures: Mapping[str, Ends],
    values: Any,
    request: str,
    paths: Mapping[str, str],
) -> tuple[Any, dict[str, Any], list[str]]:
    """Returns a `tf.Module` of one function for each signature, over the same variables, and the functions to serve.

    The variables are also attributes of the module, by their paths. Paths that the module cannot have are returned.

    Args:
        base: snapshot of the graph.
        signatures: the ends of each signature, by name.
        values: as in `graph_function`.
        request: the request, for messages.
        paths: variable -> its path of attributes from the module.

    Raises:
        the errors of `graph_function`.
    """
    variables: dict[str, Any] = {}
    functions = {
        key: graph_function(base, replace(ends, pack_outputs=None), values, key, request, variables)
        for key, ends in signatures.items()
    }
    module = next(iter(functions.values()))
    if len(functions) > 1:
        module = tf.Module()
        for key, function in functions.items():
            setattr(module, key, function)
    calls = {key: function.__dict__["__call__"] for key, function in functions.items()}
    with eager():
        # TensorFlow reads defaults from a function that is not concrete.
        served = {key: one if signatures[key].defaults else one.get_concrete_function() for key, one in calls.items()}
    tree, missing_paths = dict[str, Any](), list[str]()
    for path, op in sorted((path, op) for op, path in paths.items() if op in variables):
        *scopes, leaf = path.split("/")
        parent: Any = tree
        for scope in scopes:
            parent = parent.setdefault(scope, {}) if isinstance(parent, dict) else parent
        if isinstance(parent, dict):
            parent[leaf] = variables[op]
        else:
            missing_paths.append(path)
    _attach(module, tree, missing_paths)
    return module, served, missing_paths


def _attach(module: Any, tree: Mapping[str, Any], missing_paths: list[str], path: str = "") -> Any:
    """Makes the items of a tree attributes of a module, and returns the module.

    Args:
        module: the module.
        tree: name -> a variable, or the tree of its attributes or items.
        missing_paths: the paths that the module cannot have are added to this list.
        path: the path of the module, with a slash at its end.
    """
    for name, item in tree.items():
        if hasattr(module, name):
            missing_paths.append(path + name)
        else:
            setattr(module, name, _item(item, missing_paths, f"{path}{name}/"))
    return module


def _item(tree: Any, missing_paths: list[str], path: str) -> Any:
    """Returns a variable, a list or a module; a list has an empty module for each item without variables."""
    if not isinstance(tree, dict):
        return tree
    if tree and all(name.isdecimal() and len(name) < _DIGITS for name in tree):
        size = 1 + max(map(int, tree))
        return [_item(tree.get(str(i), {}), missing_paths, f"{path}{i}/") for i in range(size)]
    return _attach(tf.Module(), tree, missing_paths, path)


def graph_function(
    base: Graph,
    ends: Ends,
    values: Any,
    name: str,
    request: str,
    shared_variables: dict[str, Any] | None = None,
    also: Sequence[str] = (),
    notes: Iterable[str] = (),
) -> GraphFunction:
    """Returns a TF2 callable that computes the outputs of a part of a graph from its inputs.

    Args:
        base: snapshot of the graph; the graph is not changed.
        ends: the inputs and outputs of the part. Arguments with a default come last.
        values: the source of the values of variables: a session, a mapping of variable name to array, or a function
            that returns a session. This function is called only if there are variables.
        name: the name of the callable.
        request: the request, for messages.
        shared_variables: variables of earlier functions, by op name. They are used again, and new variables are added.
        also: ops to run in addition.
        notes: the notes of the function.

    Raises:
        SelectionError: a tensor or op does not exist.
        PlanError: a needed placeholder is not an input, a reference variable is assigned, or a variable has no value.
            Also if a queue, an iterator or a mutable table is needed, or a SymbolicGradient op whose gradient function
            the graph names.
    """
    require_trusted(base.owner, request)
    ends = ends.with_argument_names()
    takes = {name: ends.inputs[name] for name in sorted(ends.inputs, key=ends.defaults.__contains__)}
    part = region_of(base, takes, list(ends.outputs.values()), request, also)
    with eager():
        optional = {name: tf.constant(array, _live(base, takes[name]).dtype) for name, array in ends.defaults.items()}
        variables = {} if shared_variables is None else shared_variables
        arrays = variable_values(base, part, values, variables)
        variables |= {name: _variable(base.state.variables[name], array, base) for name, array in arrays.items()}
        variables = {name: variables[name] for name in part.variables}
        tables = tables_of(base, part, request)
        plain = re.sub(r"\W", "_", name)
        function = trace_region(base, part, variables, tables, plain, ends.pack, request, defaults=optional)
    return GraphFunction(plain, list(variables.values()), list(tables.values()), function, notes)


def trace_region(
    base: Graph,
    part: FunctionRegion,
    variables: dict[str, Any],
    tables: dict[str, Any],
    name: str,
    packed: Callable[[list[Any]], Any],
    request: str,
    fixed_inputs: Sequence[Any] = (),
    defaults: Mapping[str, Any] = MappingProxyType({}),
) -> Any:
    """Returns a `tf.function` that computes a part of a graph.

    Args:
        base: the snapshot.
        part: the part.
        variables, tables: as in `copy_region`.
        name: the name of the function.
        packed: a function that converts the list of results to the return value.
        request: the request, for messages.
        fixed_inputs: the values of the last inputs, if these are not arguments.
        defaults: argument -> tensor, for the last arguments.

    Raises:
        PlanError: TensorFlow refuses the function.
    """
    require_trusted(base.owner, request)
    names = list(part.inputs)[: len(part.inputs) - len(fixed_inputs)]
    takes = {key: _live(base, part.inputs[key]) for key in names}
    specs = [tf.TensorSpec(live.shape, live.dtype.base_dtype, name=key) for key, live in takes.items()]

    def call(*args: Any) -> Any:
        return packed(copy_region(base, part, [*args, *map(tf.constant, fixed_inputs)], variables, tables, name))

    function = trace_function(call, name, specs, names, defaults)
    problem, kinds = "TensorFlow refuses the function", (ValueError, TypeError, tf.errors.OpError)
    with errors_as(PlanError, request, problem, "Choose other inputs or outputs", *kinds):
        function.get_concrete_function()
    return function


def trainable(info: VariableInfo) -> bool:
    """Returns whether a variable is trainable; in no collection (TF2 SavedModels), a floating-point variable is."""
    return info.trainable if info.collections else bool(tf.as_dtype(info.dtype).is_floating)


# -- the part of the graph ----------------------------------------------------------------------------


@dataclass
class FunctionRegion:
    """The part of a graph that a function contains.

    Args:
        inputs: argument -> its tensor.
        outputs: tensors.
        mask: mask of its ops, without variables and tables.
        variables, tables: names of their ops.
    """

    inputs: dict[str, str]
    outputs: list[str]
    mask: Any
    variables: list[str]
    tables: list[str]


def region_of(
    base: Graph,
    inputs: dict[str, str],
    outputs: list[str],
    request: str,
    also: Sequence[str] = (),
    boundary: Iterable[str] = (),
) -> FunctionRegion:
    """Returns the part of a graph that a function of tensors needs; arguments and errors as in `graph_function`."""
    cuts = frozenset(base.tensor(name, request) for name in inputs.values())
    ends = [base.tensor(name, request) for name in outputs]
    along = [base.find(op_name(op), request) for op in also]
    computed = [end for end in ends if end not in cuts]
    goals = producers(base, computed) | base.mask(along)
    within = ~base.mask(base.find(name, request) for name in boundary)
    mask = required_ops(base, goals, cuts, within)
    variables, tables = (np.flatnonzero(mask & base.type_mask(types)).tolist() for types in (VARIABLE_TYPES, _TABLES))
    refuse_part(base, mask | ~within, map(base.tensor, inputs.values()), request, computed)
    held = cuts | {(i, 0) for i in (*variables, *tables)}
    mask = backward(base, goals, held, within=mask)
    mask[[*variables, *tables]] = False
    mask |= _rest_of_contexts(base, mask, held, within)
    refuse_unknown(base, mask, request)
    _refuse_live(base, mask, inputs, cuts, ends, request)
    _refuse_assignments(base, mask, variables, goals, request)
    _refuse_named_gradients(base, mask, request)
    return FunctionRegion(inputs, outputs, mask, [base.names[i] for i in variables], [base.names[i] for i in tables])


def _rest_of_contexts(base: Graph, mask: Any, cuts: frozenset[Tensor], within: Any) -> Any:
    """Returns the other ops of TF1 loops and conds in a part; without them, there is no context and no gradient.

    The other ops of a loop or cond are left out if they have effects, or need a variable, a table or an input.
    """
    rest = base.mask([])
    lasting = [kind for kind in set(base.types) if kind in FEED_TYPES or is_stateful(kind) or writes(kind)]
    refused = base.type_mask(["LoopCond", *lasting])
    for names in base.state.contexts:
        ops = base.mask(base.index[name] for name in names if name in base.index)
        if (ops & mask).any():
            new = backward(base, ops, cuts, within=within) & ~mask
            rest |= new & ~(new & refused).any()
    return rest


def updates_left_out(base: Graph, ends: Ends, also: Sequence[str] = ()) -> list[str]:
    """Returns the updates among the ops of a function that it does not run; arguments as for `graph_function`."""
    cuts = frozenset(map(base.tensor, ends.inputs.values()))
    goals = producers(base, map(base.tensor, ends.outputs.values()), cuts)
    run = backward(base, goals | base.mask(base.index[op_name(op)] for op in also), cuts)
    return [name for name in updates(base, run, cuts).inside if not run[base.index[name]]]


def variable_values(base: Graph, part: FunctionRegion, values: Any, known: Container[str]) -> dict[str, Any]:
    """Returns the values of the variables of a part, without known ones; `values` as in `graph_function`."""
    source = values() if callable(values) and part.variables else values
    infos = [base.state.variables[name] for name in part.variables if name not in known]
    return {} if callable(source) else fetch(source, infos, base.live_graph, "function(values=...)")


def tables_of(base: Graph, part: FunctionRegion, request: str) -> dict[str, Any]:
    """Returns the tables of a part as objects of TF2, by op name."""
    return {name: _table(base, name, request) for name in part.tables}


def _refuse_live(
    base: Graph, mask: Any, inputs: dict[str, str], cuts: frozenset[Tensor], tensors: Sequence[Tensor], request: str
) -> None:
    live = np.flatnonzero(mask & base.type_mask(_LIVE_TYPES)).tolist()
    feeds = [f"{base.names[i]}:0" for i in live if base.types[i] in FEED_TYPES]
    if feeds:
        have = [*inputs.values(), *feeds[:4]]
        region(base, sorted(cuts), tensors, request)  # raises an error that names an input without a path to an output
        raise PlanError(request, f"it needs {few(map(repr, feeds), 4)}, which is not an input", f"Type inputs={have!r}")
    if live:
        name, kind = base.names[live[0]], base.types[live[0]]
        raise PlanError(
            request,
            f"it needs {name!r} of type {kind}, whose state exists only in a session",
            "Make the tensors that are read from it inputs instead",
        )


def _refuse_assignments(base: Graph, mask: Any, variables: Sequence[int], goals: Any, request: str) -> None:
    """Refuses ops that write to reference variables: the variables become resource variables, the op cannot."""
    for number in variables:
        if base.types[number] == "VarHandleOp":
            continue
        for reader in base.consumers.row(number).tolist():
            about = op_definition(base.types[reader])
            if mask[reader] and about is not None and any(arg.is_ref for arg in about.input_arg):
                problem = f"{base.names[reader]!r} ({base.types[reader]}) writes to the reference variable "
                problem += f"{base.names[number]!r}, but a function has only resource variables"
                raise PlanError(request, problem, _without_assignment(base, mask, reader, goals))


def _without_assignment(base: Graph, mask: Any, writer: int, goals: Any) -> str:
    """Returns the suggestion for an op that writes; for an op that is only a control input, how to remove it."""
    data_ancestors = backward(base, goals, control=False, within=mask)
    after = forward(base, base.mask([writer]), within=mask)
    rows, waits = base.control.rows, base.control.node
    edges = np.flatnonzero(data_ancestors[rows] & ~data_ancestors[waits] & after[waits])
    if data_ancestors[writer] or not len(edges):
        return "Choose outputs that need no assignment, and assign to the function's variables from outside"
    op, first = (base.names[int(ends[edges[0]])] for ends in (rows, waits))
    step = f"ed.apply(ed.plan().remove_control({op!r}, after={first!r}))"
    how = "If the order does not matter, remove the control input, and assign to the function's variables from outside"
    return f"{how}: {step}"


def _refuse_named_gradients(base: Graph, mask: Any, request: str) -> None:
    """Refuses named gradient functions: eager functions lose the names, and TensorFlow derives other gradients."""
    gradients = base.gradients
    if not gradients:
        return
    nodes = [base.nodes[i] for i in np.flatnonzero(mask).tolist()]
    for node in [*nodes, *nodes_in_calls(nodes, base.functions)]:
        of = node.attr["f"].func.name if node.op == "SymbolicGradient" else ""
        if of in gradients:
            raise PlanError(
                request,
                f"{node.name!r} is the gradient of the function {of!r}, for which the graph names {gradients[of]!r}; "
                "a TF2 function or SavedModel cannot store this name, and TensorFlow would derive another gradient",
                "Save it in a TF1 format: format='saved_model', or a .pb or .meta file; or run it in ed.session()",
            )


def _live(base: Graph, tensor: str) -> Any:
    op, port = base.tensor(tensor)
    return base.live_graph.get_operation_by_name(base.names[op]).outputs[port]


def _variable(info: VariableInfo, value: Any, base: Graph) -> Any:
    shape = shape_of(base.live_graph, info)
    shape = shape if shape.rank is not None and shape.is_compatible_with(np.shape(value)) else None
    return tf.Variable(value, trainable=trainable(info), name=info.op, dtype=info.dtype, shape=shape)


def _table(base: Graph, name: str, request: str) -> Any:
    """Returns a table with the content of a table of the graph, whose init op is run once in a separate graph."""
    fills = [op for op in base.state.init_ops.get(name, ()) if op in base.index]
    suggestion = "Make the result of its lookup an input instead"
    if not fills:
        raise PlanError(request, f"the content of table {name!r} is not known: no op fills it", suggestion)
    needed = backward(base, base.mask([base.index[fills[0]]]))
    graph, block = empty_graph(base.live_graph), Selection(base, needed, Query("select"))
    copy_into(graph, block, to="", variables="initial", collections="none")
    holder = graph.get_operation_by_name(name)
    types = holder.get_attr("key_dtype"), holder.get_attr("value_dtype")
    export_op = (
        tf.raw_ops.LookupTableExportV2 if holder.outputs[0].dtype == tf.resource else tf.raw_ops.LookupTableExport
    )
    with graph.as_default():
        export = export_op(table_handle=holder.outputs[0], Tkeys=types[0], Tvalues=types[1])
    problem = f"the content of table {name!r} is not known: {fills[0]!r} cannot be run"
    with (
        errors_as(PlanError, request, problem, suggestion, tf.errors.OpError),
        session_of(graph, request=request) as session,
    ):
        session.run(graph.get_operation_by_name(fills[0]))
        keys, content = session.run([export.keys, export.values])
    return table_of(keys, content, types)


def table_of(keys: Any, content: Any, types: Sequence[Any]) -> Any:
    """Returns a table of TF2 with these keys and values, and these dtypes."""
    default = "" if types[1] == tf.string else tf.zeros([], types[1])  # unused: each lookup has its own default
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, content, *types), default)


# -- tracing --------------------------------------------------------------------------------------


def copy_region(
    base: Graph, part: FunctionRegion, args: Sequence[Any], variables: dict[str, Any], tables: dict[str, Any], name: str
) -> list[Any]:
    """Copies a part into the function that is being traced; returns its outputs.

    Args:
        base: the snapshot.
        part: the part.
        args: the values of its inputs.
        variables: op of a variable, or op that replaces its handle -> the variable.
        tables: op of a table, or op that replaces its handle -> the table.
        name: the name of the function, for messages.
    """
    graph = tf1.get_default_graph()
    stand_ins: dict[str, Any] = dict(zip(part.inputs.values(), args, strict=True))
    for op, variable in variables.items():
        note_use(variable)
        handle = graph.capture(variable.handle, name="capture")
        if base.types[base.index[op]] in VARIABLE_TYPES - {"VarHandleOp"}:
            handle = tf.raw_ops.ReadVariableOp(resource=handle, dtype=variable.dtype)
        stand_ins[f"{op}:0"] = handle
    for op, table in tables.items():
        stand_ins[f"{op}:0"] = graph.capture(table.resource_handle, name="capture")
    used_tensors, computed = input_ends(base, part.mask), [tensor for tensor in part.outputs if tensor not in stand_ins]
    inputs = {tensor: value for tensor, value in stand_ins.items() if base.tensor(tensor) in used_tensors}
    new_tensors = dict(zip(computed, copy_ops(base, part.mask, inputs, computed, name), strict=True))
    for tensor, new in new_tensors.items():
        shape = _live(base, tensor).shape
        if shape.is_compatible_with(new.shape):
            new.set_shape(shape)
    return [new_tensors[tensor] if tensor in new_tensors else tf.identity(stand_ins[tensor]) for tensor in part.outputs]


def input_ends(base: Graph, mask: Any) -> set[tuple[int, int]]:
    """Returns the tensors (op, output) that the ops of a mask read."""
    hit = mask[base.data.rows]
    return set(zip(base.data.node[hit].tolist(), base.data.port[hit].tolist(), strict=True))
