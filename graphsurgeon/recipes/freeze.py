"""Freeze: a graph with its variables as constants, in an editor of its own."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from ..editor import Editor
from ..errors import PlanError
from ..open import open
from .subject import run_first


def frozen(ed: Editor, outputs: Any = None, inputs: Any = None, *, values: Any = None) -> Editor:
    """Returns an editor of a new graph: what some outputs need, its variables as constants with their current values.

    It holds no gradients, optimisers, savers, summaries or queues, as nothing that computes needs them. Through loops,
    branches and called functions too. The editor that is given stays as it is. What is run once, before all others, as
    the init op of a SavedModel, which fills the tables, keeps its name: the collection ``table_initializer`` of the new
    graph lists it, and a session of the new editor has run it.

    Args:
        ed: the editor.
        outputs: the tensors that are wanted, by name or object; default: those of the function that was opened.
        inputs: tensors that are fed: what computes them stays out. The placeholder of ``op:0`` is called ``op``, and
            that of ``op:1`` is called ``op_1``.
        values: as in `Editor.save`: ``"initial"`` where variables have nothing but their initial values.

    Raises:
        PlanError: a variable has no value but its initial one and `values` does not ask for that, or what is asked
            cannot be written so.
        SelectionError: a tensor is not there.

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
            raise type(error)("frozen()", error.wrong, error.instead) from error
        made = open(path, title=f"{ed.title}, frozen", trust=ed.trusted or None, journal=False)
        graph = made.graph  # the file goes
    for name in run_first(ed, made.snapshot):
        graph.add_to_collection("table_initializer", graph.get_operation_by_name(name))
    return made
