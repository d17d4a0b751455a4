"""Freeze: a graph with its variables as constants, in a new editor."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ..editor import Editor
from ..errors import PlanError
from ..open import open
from .subject import run_first


def frozen(ed: Editor, outputs: Any = None, inputs: Any = None, *, values: Any = None) -> Editor:
    """Returns a new editor of the ops that some outputs need, with variables as constants of their current values.

    The new graph has no gradients, optimizers, savers, summaries or queues. Loops, branches and called functions are
    frozen too. The given editor stays unchanged. An op that runs once before all others keeps its name, for example the
    init op of a SavedModel, which fills the tables. The collection ``table_initializer`` of the new graph lists this
    op, and a session of the new editor has run it.

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
    wanted = outputs if outputs is not None else dict(ed.outputs) or None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "frozen.pb")
        try:
            ed.save(path, outputs=wanted, inputs=inputs, freeze=True, values=values, verify=False)
        except PlanError as error:
            raise type(error)("frozen()", error.problem, error.suggestion) from error
        made = open(path, title=f"{ed.title}, frozen", trust=ed.trusted or None, journal=False)
        graph = made.graph  # the file is deleted
    for name in run_first(ed, made.snapshot):
        graph.add_to_collection("table_initializer", graph.get_operation_by_name(name))
    return made
