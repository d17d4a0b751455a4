"""The variables of a model: freezes them to constants, uses their moving averages, and renames them in checkpoints.

It also computes tensors that do not depend on inputs.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..editor.applied import Applied
from ..editor.editor import Editor
from ..editor.open import open
from ..errors import PlanError, counted, few
from ..graph.names import partitioned_name
from ..graph.reports import Restored
from ..graph.traversal import reachable_from
from ..graph.types import PathLike, TensorsLike, ValueSource
from ..plan.plan import Plan
from ..tf import values
from .recipe_context import RecipeContext, context_with_ends, run_first

#: Larger constants are weights, never shapes. No computation uses them.
_TOO_LARGE = 1 << 26


_COMPUTED: dict[str, Callable[..., Any]] = {
    "Identity": np.asarray,
    "StopGradient": np.asarray,
    "Add": np.add,
    "AddV2": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "RealDiv": np.divide,
    "Neg": np.negative,
    "Sqrt": np.sqrt,
    "Rsqrt": lambda x: (1 / np.sqrt(x)).astype(x.dtype),
    "Square": np.square,
    "Reciprocal": lambda x: (1 / x).astype(x.dtype),
    "Reshape": lambda x, shape: np.reshape(x, shape.tolist()),
    "ExpandDims": lambda x, axis: np.expand_dims(x, int(axis)),
    "Squeeze": lambda x, attr: np.squeeze(x, axis=tuple(attr["squeeze_dims"].list.i) or None),
    "Pack": lambda *values: np.stack(values[:-1], axis=values[-1]["axis"].i),
}
#: Ops that are computed with their attributes as the last argument.
_WITH_ATTRIBUTES = ("Squeeze", "Pack")


def constant(subject: RecipeContext, tensor: tuple[int, int], initial: Mapping[int, Any] | None = None) -> Any:
    """Returns the array of a tensor that does not depend on the inputs of the graph; None if that is not certain.

    Constants and arithmetic on constants are handled. An op with control inputs is not certain.

    Args:
        subject: the subject of the recipe.
        tensor: (op, output), by numbers.
        initial: arrays to assume as the outputs of some ops, for a trial.
    """
    cache: dict[int, Any] = dict(initial or {})
    todo = [tensor[0]]
    graph = subject.graph
    while todo:
        op = todo[-1]
        if op in cache:
            todo.pop()
            continue
        kind, reads = graph.types[op], subject.inputs_of(op)
        if kind == "Const":
            cache[op] = subject.constant_array(op)
        elif kind not in _COMPUTED or len(graph.control.row(op)) or any(port for _, port in reads):
            cache[op] = None
        elif missing := [one for one, _ in reads if one not in cache]:
            todo += missing[:1]
            continue
        else:
            values = [cache[one] for one, _ in reads]
            fine = all(value is not None and value.size < _TOO_LARGE and value.dtype.kind in "fiu" for value in values)
            values += [graph.nodes[op].attr] if kind in _WITH_ATTRIBUTES else []
            cache[op] = np.asarray(_COMPUTED[kind](*values)) if fine else None
        if cache[op] is None:
            return None
        todo.pop()
    return cache[tensor[0]] if tensor[1] == 0 else None


def unknowns(subject: RecipeContext, tensors: Iterable[tuple[int, int]]) -> set[int]:
    """Returns the ops that prevent some tensors from being constants."""
    types, data = subject.graph.types, subject.graph.data
    above = reachable_from(
        (op for op, _ in tensors), lambda op: data.row(op).tolist() if types[op] in _COMPUTED else ()
    )
    return {op for op in above if types[op] not in _COMPUTED and types[op] != "Const"}


def frozen(
    ed: Editor,
    outputs: TensorsLike | None = None,
    inputs: TensorsLike | None = None,
    *,
    values: ValueSource | None = None,
) -> Editor:
    """Returns a new editor of the ops that the outputs need. Variables are constants with their current values.

    The new graph has no gradients, optimizers, savers, summaries or queues. Loops, branches and called functions are
    frozen too. The given editor does not change. An initialization op keeps its name, for example the init op of a
    SavedModel, which fills the tables. The collection ``table_initializer`` of the new graph lists this op. A session
    of the new editor runs it first.

    Args:
        ed: the editor.
        outputs: the tensors to keep, by name or object; default: the outputs of the function that was opened.
        inputs: tensors to feed. The ops that compute them are left out. The placeholder of ``op:0`` is named ``op``,
            and that of ``op:1`` is named ``op_1``.
        values: as in `Editor.save`: ``"initial"`` if variables have only their initial values.

    Raises:
        PlanError: if a variable has only its initial value and `values` does not permit that, or if the graph cannot be
            frozen.
        SelectionError: if a tensor does not exist.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [None], name="x")
        ...     y = tf.multiply(x, tf.compat.v1.get_variable("w", initializer=3.0), name="y")
        >>> small = gs.recipes.frozen(gs.open(graph), "y:0", values="initial")
        >>> sorted(set(small.snapshot.types)), float(small.value("w"))
        (['Const', 'Identity', 'Mul', 'Placeholder'], 3.0)
    """
    targets = outputs if outputs is not None else dict(ed.outputs) or None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "frozen.pb")
        try:
            ed.save(path, outputs=targets, inputs=inputs, freeze=True, values=values, verify=False)
        except PlanError as error:
            raise type(error)("frozen()", error.problem, error.suggestion) from error
        frozen_editor = open(path, title=f"{ed.title}, frozen", trust=ed.trusted, journal=False)
        graph = frozen_editor.graph  # the file is deleted
    for name in run_first(ed, frozen_editor.snapshot):
        graph.add_to_collection("table_initializer", graph.get_operation_by_name(name))
    return frozen_editor


#: Suffix of TF1 for an average, after the name of the variable.
_AVERAGE = "ExponentialMovingAverage"


def rename_checkpoint(
    checkpoint: PathLike, path: PathLike, names: Mapping[str, str] | Applied, *, overwrite: bool = False
) -> dict[str, str]:
    """Writes a copy of a checkpoint under other names, for example for another code base. Nothing is run.

    The values are copied byte by byte. A partitioned variable is written as one variable, from which `Saver` can
    restore the partitions. A variable without a rule keeps its name.

    Args:
        checkpoint: the checkpoint to read, as for `Editor.restore`: a checkpoint of TF1 or TF2, or a SavedModel.
        path: the prefix to write, for example ``"new/model.ckpt"``.
        names: old name -> new name, of a variable or of a scope with all its variables. Or patterns with one ``*`` on
            both sides, for example ``{"net/*": "*"}``. A full name takes precedence over a pattern, and a pattern over
            a scope. Or the result of `Editor.apply`: the new checkpoint then fits the graph after the plan.
        overwrite: replace an existing checkpoint, as in `Editor.save`.

    Returns:
        new name -> old name, for every value.

    Raises:
        OpenError: if the checkpoint cannot be read.
        PlanError: if a rule matches nothing, two values would have one name, the checkpoint to write exists, or it
            cannot be written.

    Example:
        >>> import os, tempfile, tensorflow as tf, graphsurgeon as gs
        >>> with tf.Graph().as_default() as graph, tf.compat.v1.variable_scope("net"):
        ...     w = tf.compat.v1.get_variable("w", initializer=[1.0, 2.0])
        >>> folder = tempfile.mkdtemp()
        >>> _ = gs.open(graph).save(os.path.join(folder, "old.ckpt"))
        >>> gs.recipes.rename_checkpoint(f"{folder}/old.ckpt", f"{folder}/new.ckpt", {"net": "encoder/net"})
        {'encoder/net/w': 'net/w'}
        >>> tf.train.load_variable(f"{folder}/new.ckpt", "encoder/net/w").tolist()
        [1.0, 2.0]
    """
    request = f"rename_checkpoint({str(checkpoint)!r}, {str(path)!r})"
    if isinstance(names, Applied):
        there = values.restore.stored_names(checkpoint, request)
        names = names.variable_names
        parts = [(old.rpartition("/")[0], old, new) for old, new in names.items() if old not in there]
        wholes = {whole: partitioned_name(whole, old, new) for whole, old, new in parts if whole in there}
        names = {old: new for old, new in names.items() if old in there} | wholes
    if not isinstance(names, Mapping) or not names:
        problem = "names= is empty" if isinstance(names, Mapping) else f"{names!r} is not a mapping"
        raise PlanError(request, problem, "Type names={'old': 'new'}, for variables or scopes of the checkpoint")
    return values.restore.copy_checkpoint(
        checkpoint, path, {str(old): str(new) for old, new in names.items()}, request, overwrite
    )


def use_averages(obj: Editor | Plan, outputs: TensorsLike | None = None, *, suffix: str = _AVERAGE) -> Plan:
    """Makes outputs read the moving averages of variables instead of the variables themselves.

    Use it for a training graph that keeps averages next to its variables. The variables do not change. The result is
    for
    inference: a loss that is computed from the same ops reads the averages too. Continue with `frozen` or
    `for_inference`.

    Args:
        obj: an editor; or a plan, to add to.
        outputs: the tensors to compute with averages; default: the outputs of the function that was opened.
        suffix: the suffix that makes the name of an average from the name of its variable.

    Raises:
        PlanError: if no outputs were given, the graph has no averages, or the outputs read no variable with an average.
        SelectionError: if a tensor does not exist.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> v1 = tf.compat.v1
        >>> with tf.Graph().as_default() as graph:
        ...     w = v1.get_variable("w", initializer=3.0)
        ...     y = tf.multiply(v1.placeholder(tf.float32, [], name="x"), w, name="y")
        ...     keep = tf.train.ExponentialMovingAverage(0.9).apply([w])
        >>> plan = gs.recipes.use_averages(gs.open(graph), "y:0")
        >>> after = plan.after()
        >>> after.input_names(after.index["y/ReadVariableOp"])
        ['w/ExponentialMovingAverage:0']
    """
    context = context_with_ends(obj, "use_averages()", outputs)
    graph, plan = context.graph, context.plan
    pairs = {name: f"{name}/{suffix}" for name in graph.state.variables}
    pairs = {name: average for name, average in pairs.items() if average in graph.state.variables}
    if not pairs:
        problem = f"no variable has an average, a variable with its name and the suffix {suffix!r}"
        raise context.precondition_error(
            problem, "Averages of a checkpoint: gs.recipes.restore_averages(ed, checkpoint)"
        )
    for name, average in pairs.items():
        # A reference variable is read through one op. The consumers of that op then read the op of the average.
        kinds = [(f"{name}/read", f"{average}/read"), (name, average)]
        variable_pairs = [(graph.index[a], graph.index[b]) for a, b in kinds if a in graph.index and b in graph.index]
        for holder, other in variable_pairs:
            for op, at in graph.consumers_of((holder, 0)):
                sets = graph.types[op].startswith(("Assign", "VarIsInitialized", "IsVariableInitialized"))
                if context.needed_ops[op] and not sets and all(op != own for own, _ in variable_pairs):
                    plan = plan.connect(graph.name((other, 0)), to=graph.names[op], input=at)
    problem = f"{few(map(repr, context.targets))}: not computed from {few(map(repr, pairs))}"
    return context.changed(plan, problem, "Name the outputs of the network")


def restore_averages(ed: Editor, checkpoint: PathLike, *, suffix: str = _AVERAGE) -> Restored:
    """Restores moving averages from a checkpoint into variables. Variables without an average get their own value.

    Use it for a graph without averages, for example a graph for inference.

    Args:
        ed: the editor.
        checkpoint: as for `Editor.restore`.
        suffix: the suffix of the names of the averages, after the name of the variable.

    Returns:
        the restored values, as for `Editor.restore`: ``found["w"]`` is the name of the average.

    Raises:
        OpenError: if the checkpoint cannot be read.
        PlanError: if the checkpoint has no average of any variable, or lacks a variable. No value has changed then.

    Example:
        >>> import os, tempfile, tensorflow as tf, graphsurgeon as gs
        >>> def net(average):
        ...     with tf.Graph().as_default() as graph:
        ...         w = tf.compat.v1.get_variable("w", initializer=3.0)
        ...         if average:
        ...             tf.train.ExponentialMovingAverage(0.9).apply([w])
        ...     return gs.open(graph)
        >>> path = os.path.join(tempfile.mkdtemp(), "model.ckpt")
        >>> _ = net(True).save(path)
        >>> gs.recipes.restore_averages(net(False), path).restored
        {'w': 'w/ExponentialMovingAverage'}
    """
    request = f"restore_averages({str(checkpoint)!r})"
    there = values.restore.stored_names(checkpoint, request)
    variables = ed.snapshot.state.variables
    names = {f"{name}/{suffix}": name for name in variables if f"{name}/{suffix}" in there}
    if not names:
        problem = (
            f"it has no average of {counted(len(variables), 'variables')}, under their names with the suffix {suffix!r}"
        )
        raise PlanError(
            request,
            problem,
            "Give the suffix of the averages as suffix=, or restore the variables with ed.restore(checkpoint)",
        )
    return ed.restore(checkpoint, names=names)
