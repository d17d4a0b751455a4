"""Duplicate: a copy on another device or in another graph that is kept up to date with its original."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from .. import tf
from ..editor.applied import Applied
from ..editor.editor import Editor
from ..editor.open import open
from ..errors import PlanError
from ..graph.names import free_name, tensor_name
from ..graph.selection import Selection
from ..graph.types import GraphSource, TensorLike, TensorMap, TFConfig, ValueSource
from ..graph.variables import VARIABLE_TYPES
from .replica import Replica, check_interval, check_tau, refuse_foreign


def duplicate(
    source: GraphSource,
    *,
    device: str | Mapping[str, str] = "keep",
    graph: GraphSource | None = None,
    to: str | None = None,
    values: ValueSource | None = None,
    every: int = 1,
    tau: float = 1.0,
    inputs: TensorMap | None = None,
    unmapped: str | None = None,
    control: str | None = None,
    variables: str | Mapping[str, TensorLike] = "copy",
    trainable: bool = False,
    target: str = "",
    config: TFConfig | None = None,
    timeout: float = 10.0,
) -> Replica:
    """Copies a graph, or a part of it, to another place, and keeps the copy up to date with the original.

    Args:
        source: the original: a selection (`ed.select(...)`), an editor, or anything that `gs.open` takes.
        device: the device of the copy: ``"/cpu:0"``, ``"/gpu:0"``, ``"/job:worker/task:1"``; or as in `Plan.copy`.
        graph: the graph, session or editor that gets the copy. Default: a new graph with its own session. In the
            graph of the original the copy runs in the same session, and an update is one op that is made once.
        to: the name scope of the copy. Default: ``replica`` in the graph of the original; in another graph there is
            no scope, and all names are kept.
        values: the source of updates: the session in which the original runs, or an editor. Default: the session of
            the source, if it has one. A selection has none: call `Replica.attach`, `Replica.hook` or
            `Replica.follow`. For a Keras model, `tf.Module` or function, each update takes the current values of its
            variables: train it by `Replica.train`, or update in the thread that trains it. A mapping of variable name
            to array is taken over once.
        every: the number of calls of `Replica.step`, or runs under `Replica.hook`, per update.
        tau: the step size of an update: 1 copies, 0.005 moves 0.5 % of the way (a target network).
        inputs, unmapped, control, variables: as in `Plan.copy`. By default, the copy reads the same input tensors in
            the graph of the original, and placeholders in another graph. Variables with the policy ``initial`` start
            from their initial values and follow the original from the first update on.
        trainable: whether variables of the duplicate are trainable if their originals are. Default: they only follow.
        target: the cluster in which the copy has its session: ``"grpc://host:port"`` of a `tf.distribute.Server`.
        config: a `tf.compat.v1.ConfigProto` for that session.
        timeout: how long to wait for the cluster, in seconds.

    Returns:
        a `Replica`, with the values of the original if they are known. If it has no values, its first run gives a
        warning.

    Raises:
        PlanError: the device does not exist, the cluster does not answer, or the scope is taken. Also if a variable has
            no value, if the selection reads a variable from outside, or if an argument is not one of its allowed
            values. The graphs are then unchanged.
        OpenError: the source cannot be opened.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     w = tf.compat.v1.get_variable("w", initializer=1.0)
        ...     y = tf.multiply(w, 10.0, name="y")
        ...     learn = w.assign_add(1.0)
        >>> session = tf.compat.v1.Session(graph=graph)
        >>> session.run(w.initializer)
        >>> replica = gs.duplicate(gs.open(session).select(outputs=y), device="/cpu:0", values=session)
        >>> _ = session.run(learn)
        >>> print(replica.run(y), replica.update().changed, replica.run(y))
        10.0 ('w',) 20.0
    """
    every, tau = check_interval(every, "duplicate"), check_tau(tau, "duplicate")
    editor, block = _source(source)
    _refuse_shared(block, inputs, variables)
    same = graph is not None and getattr(graph, "graph", graph) is block.graph.owner
    session = _session_of(editor, graph if same and values is None and hasattr(graph, "graph") else values)
    unmapped = unmapped or ("keep" if same else "placeholder")
    rules: dict[str, Any] = {"inputs": inputs, "unmapped": unmapped, "control": control, "variables": variables,
                             "device": device, "trainable": trainable}  # fmt: skip
    if same and (target or isinstance(session, Mapping)):
        raise PlanError(
            f"duplicate(graph=..., {f'target={target!r}' if target else 'values={...}'})",
            "a duplicate in the graph of its original runs in the session of the original",
            "Leave out graph=, or give values=session",
        )
    if target and graph is not None:
        raise PlanError(
            f"duplicate(graph=..., target={target!r})",
            "target= is for a new session, but an existing graph keeps its session",
            "Leave out graph=, or give graph=tf.compat.v1.Session(target, graph=...)",
        )
    if same:
        there = editor or open(block.graph.owner, title=block.graph.title)
        if session is not None:
            refuse_foreign(session, there.graph, "duplicate(graph=..., values=session)")
            tf.run.sessions.refuse_missing(device, session)
        scope = free_name("replica", there.snapshot.is_name_used) if to is None else to
    else:
        there = graph if isinstance(graph, Editor) else open(graph or tf.graph_parts.Graph(), title="duplicate")
        if graph is None:
            tf.run.sessions.refuse_missing_at(device, target, config, timeout)
        else:
            tf.run.sessions.refuse_missing(device, there.session())
        rules["values"], scope = values if values is not None or session is None else editor, to or ""
    applied, pairs = _copy_block(there, block, session, to=scope, **rules)
    new_ops, follow = applied.applied_ops, tf.values.replica_values
    # The variables that start from their initial values.
    unread = {variable.original for variable in applied.effect.variables if variable.policy == "initial"}
    if same:
        ops = follow.group_updates(pairs, applied.graph, scope, tau != 1.0)
        start = partial(tf.values.assign_values.set_plan_values, applied_ops=new_ops)
        return Replica(applied, pairs, None, None, session, ops, every, tau, start, unread)
    # Updates copy the values later; a second copy of them is not kept here.
    new_ops.initial += [name for name in new_ops.values if new_ops.variable_infos[name].initial_value]
    new_ops.values.clear()

    def opened() -> Any:
        session = tf.run.sessions.new_session(applied.graph, target, config, timeout)
        tf.values.assign_values.set_plan_values(session, new_ops)
        return session

    updates: Any = None
    if session is not None:
        arrays = isinstance(session, Mapping)
        updates = follow.MappingSource(session, block.graph.owner) if arrays else follow.SessionSource(session)
    # The variables of a TF2 object.
    of_object = editor is not None and values is None and not isinstance(source, Editor)
    handles = editor.values.handles() if editor is not None and of_object else {}
    if pairs and all(pair.old.op in handles for pair in pairs):
        updates = follow.ObjectSource(handles)
    how, own = (opened, opened()) if graph is None else (None, there.session())
    return Replica(applied, pairs, updates, how, own, None, every, tau, None, unread)


def _source(source: Any) -> tuple[Editor | None, Selection]:
    """Returns the editor and the selection to copy; no editor for a given selection, whose graph may be incomplete."""
    if isinstance(source, Replica):
        how, copied = "Type gs.duplicate(replica.session)", source.applied.copies[0]
        if source.graph is copied.source.owner or copied.step.to:
            values = ", values=replica.session" if source.session is not None else ""
            how = f"Type gs.duplicate(gs.open(replica.graph).select(name=replica.applied.ops){values})"
        raise PlanError("duplicate(replica)", f"{source!r} is a duplicate, not a graph", how)
    if isinstance(source, Selection):
        return None, source
    editor = source if isinstance(source, Editor) else open(source)
    return editor, editor.select()


def _refuse_shared(block: Selection, inputs: Mapping[Any, Any] | None, variables: Any) -> None:
    """Refuses a selection that reads variables which it does not contain: its duplicate could not update them."""
    rules = dict(variables) if isinstance(variables, Mapping) else {"*": variables}
    explicit = [rule for rule, policy in rules.items() if policy == "share" or rule != "*"]
    graph = block.graph
    fed = {tensor_name(key) for key in inputs or ()}
    for tensor in block.boundary.inputs:
        if tensor in fed:
            continue
        op = graph.index[tensor.partition(":")[0]]
        above = [op, *(graph.data.row(op).tolist() if graph.types[op] in ("Identity", "ReadVariableOp") else ())]
        for number in above:
            name = graph.names[number]
            if graph.types[number] in VARIABLE_TYPES and not any(fnmatchcase(name, rule) for rule in explicit):
                raise PlanError(
                    "duplicate(...)",
                    f"the selection reads variable {name!r} from outside, so its duplicate could not be updated",
                    "Select the variable too, for example by ed.select(inputs=..., outputs=...); or give "
                    "inputs={name: tensor}, or variables='share'",
                )


def _session_of(editor: Editor | None, values: Any) -> Any:
    """Returns the source of updates: the session of the original, or arrays; None if there is no source."""
    if values is not None and not (isinstance(values, Editor) and not values.values.has_source):
        return tf.values.transfer.values_of(values)
    return None if editor is None or not editor.values.has_source else editor.values.read_session()


def _copy_block(editor: Editor, block: Selection, session: Any, **options: Any) -> tuple[Applied, list[Any]]:
    """Returns the copy, and pairs of its variables and their originals. Errors name `duplicate` as the request."""
    try:
        plan = editor.plan().copy(block, **options)
        if session is not None and not isinstance(session, Mapping) and not plan.effect.faults:
            starts = [v.info for v in plan.effect.variables if v.new_info.initializer and v.policy == "copy"]
            tf.values.variables.refuse_empty(session, starts, "duplicate(...)")
        applied = editor.apply(plan)
    except PlanError as error:
        raise type(error)("duplicate(...)", error.problem, error.suggestion) from error
    pairs = tf.values.replica_values.pairs_of(applied.copies, applied.graph)
    tf.values.replica_values.refuse_folded(pairs)
    return applied, pairs
