"""Freezes variables to constants, and computes tensors that do not depend on inputs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..editor.editor import Editor
from ..editor.open import open
from ..errors import PlanError
from ..graph.traversal import reachable_from
from ..graph.types import TensorsLike, ValueSource
from .recipe_context import RecipeContext, run_first

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
