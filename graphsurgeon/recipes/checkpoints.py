"""Checkpoints: values under other names, and averages in place of what they are the averages of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..applied import Applied
from ..editor import Editor
from ..errors import PlanError
from ..graph.names import whole_name
from ..graph.reports import Restored
from ..graph.traversal import backward
from ..plan.plan import Plan
from ..words import counted, few
from .subject import results, subject

#: What TF1 calls an average, behind the name of the variable.
AVERAGE = "ExponentialMovingAverage"


def rename_checkpoint(
    checkpoint: Any, path: Any, names: Mapping[str, str] | Applied, *, overwrite: bool = False
) -> dict[str, str]:
    """Writes a checkpoint with the values of another, under other names, as for another code base; nothing is run.

    The values are those that lie in the file, to the last bit; a partitioned variable is written whole, and `Saver`
    restores parts from it. What no rule is for keeps its name.

    Args:
        checkpoint: what is read, as for `Editor.restore`: of TF1 or TF2, also of a SavedModel.
        path: the prefix to write, as ``"new/model.ckpt"``.
        names: old name -> new one: of a variable; of a scope, with all in it; or with one ``*`` on both sides, as
            ``{"net/*": "*"}``. The name itself goes before a pattern, that before a scope. Or what `apply` returned:
            the checkpoint then fits the graph after the plan.
        overwrite: replace a checkpoint that is there, as in `Editor.save`.

    Returns:
        name that was written -> the name it had.

    Raises:
        OpenError: the checkpoint cannot be read.
        PlanError: a rule is for nothing that is there, two values would have one name, a checkpoint is
            there already, or it cannot be written.

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
    from ..tf.values.checkpoint_copy import copy_checkpoint, stored_names

    asked = f"rename_checkpoint({str(checkpoint)!r}, {str(path)!r})"
    if isinstance(names, Applied):
        there = stored_names(checkpoint, asked)
        names = names.variable_names
        parts = [(old.rpartition("/")[0], old, new) for old, new in names.items() if old not in there]
        wholes = {whole: whole_name(whole, old, new) for whole, old, new in parts if whole in there}
        names = {old: new for old, new in names.items() if old in there} | wholes
    if not isinstance(names, Mapping) or not names:
        wrong = "it says no name" if isinstance(names, Mapping) else f"{names!r} is not a mapping"
        raise PlanError(asked, wrong, "Type names={'old': 'new'}, of variables or scopes of the checkpoint")
    return copy_checkpoint(checkpoint, path, {str(old): str(new) for old, new in names.items()}, asked, overwrite)


def use_averages(thing: Any, outputs: Any = None, *, suffix: str = AVERAGE) -> Plan:
    """Lets outputs read the moving averages of variables where they read the variables themselves.

    For a training graph that keeps averages beside its variables, which stay as they are. It is for inference: a loss
    that is computed from the same ops reads the averages too. `frozen` and `for_inference` go on with it.

    Args:
        thing: an editor; or a plan, to go on with.
        outputs: the tensors that are to be computed with averages; default: those of the function that was opened.
        suffix: what the averages are called behind the name of the variable.

    Raises:
        PlanError: nobody says which outputs are wanted, there are no averages, or the outputs read none of the
            variables that have one.
        SelectionError: a tensor is not there.

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
    found = subject(thing, "use_averages()")
    graph = found.graph
    wanted = results(thing, outputs, found)
    pairs = {name: f"{name}/{suffix}" for name in graph.state.variables}
    pairs = {name: average for name, average in pairs.items() if average in graph.state.variables}
    if not pairs:
        wrong = f"no variable has an average, called like it and then {suffix!r}"
        raise found.refused(wrong, "Averages of a checkpoint: gs.recipes.restore_averages(ed, checkpoint)")
    needed = backward(graph, graph.mask([graph.tensor(name)[0] for name in wanted]))
    plan, none = found.plan, True
    for name, average in pairs.items():
        # A reference variable is read through one op, which tells its value: what reads that goes over to the other.
        kinds = [(f"{name}/read", f"{average}/read"), (name, average)]
        known = [(graph.index[a], graph.index[b]) for a, b in kinds if a in graph.index and b in graph.index]
        own = {op for op, _ in known}
        for holder, other in known:
            for op in dict.fromkeys(op for op, _ in graph.readers((holder, 0)) if needed[op] and op not in own):
                if graph.types[op].startswith(("Assign", "VarIsInitialized", "IsVariableInitialized")):
                    continue
                for at, tensor in enumerate(found.reads(op)):
                    if tensor == (holder, 0):
                        plan, none = plan.connect(graph.name((other, 0)), to=graph.names[op], input=at), False
    if none:
        some = few(map(repr, pairs))
        raise found.refused(f"{few(map(repr, wanted))} read none of {some}", "Name the outputs of the network")
    return plan


def restore_averages(ed: Editor, checkpoint: Any, *, suffix: str = AVERAGE) -> Restored:
    """Gives variables the moving averages that a checkpoint has of them; those without one get their own value.

    For a graph that has no averages itself, as one for inference.

    Args:
        ed: the editor.
        checkpoint: as for `Editor.restore`.
        suffix: what the averages are called behind the name of the variable.

    Returns:
        what was found, as `Editor.restore` does: ``found["w"]`` is the name of the average.

    Raises:
        OpenError: the checkpoint cannot be read.
        PlanError: it has no average of any variable, or lacks a variable. No value has changed then.

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
        >>> gs.recipes.restore_averages(net(False), path).found
        {'w': 'w/ExponentialMovingAverage'}
    """
    from ..tf.values.checkpoint_copy import stored_names

    asked = f"restore_averages({str(checkpoint)!r})"
    there = stored_names(checkpoint, asked)
    variables = ed.snapshot.state.variables
    names = {f"{name}/{suffix}": name for name in variables if f"{name}/{suffix}" in there}
    if not names:
        wrong = f"it has no average of {counted(len(variables), 'variables')}, called like them and then {suffix!r}"
        raise PlanError(asked, wrong, "Type suffix= as they are called, or ed.restore(checkpoint) for the variables")
    return ed.restore(checkpoint, names=names)
