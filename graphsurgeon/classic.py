"""The recursive copier of 2016: same names, same argument order, same meaning, on today's engine.

What an earlier call has copied into a namespace is used again by the next, so that several calls build one copy.
Source of the method: the graph copier that became `tf.contrib.copy_graph`.
"""

from __future__ import annotations

from collections import Counter
from typing import Any
from weakref import WeakKeyDictionary

from .core.naming import free_scope, under, valid_scope
from .core.plan import op_name
from .errors import PlanError, SelectionError
from .opening import open

#: destination graph -> source graph -> namespace -> names of source ops that have a copy there.
_COPIED: WeakKeyDictionary[Any, WeakKeyDictionary[Any, dict[str, set[str]]]] = WeakKeyDictionary()


def copy_variable_to_graph(
    org_instance: Any,
    to_graph: Any,
    namespace: str,
    copied_variables: dict[str, Any] | None = None,
    *,
    values: Any = None,
) -> Any:
    """Copies a variable, with what computes its initial value, into another graph.

    Args:
        org_instance: a `tf.Variable` of a TF1 graph, reference or resource.
        to_graph: the `tf.Graph` that gets the copy.
        namespace: name scope of the copy; empty for none.
        copied_variables: name -> variable of copies made so far; the new one is added.
        values: a session of the source graph: the variable's current value becomes the initial value of the copy.

    Returns:
        the new `tf.Variable`, in the same collections (``C`` for the lists of variables, else ``namespace/C``).

    Raises:
        PlanError: it is not a variable, or the namespace holds something else of that name.

    Example:
        >>> import tensorflow as tf
        >>> a, b = tf.Graph(), tf.Graph()
        >>> with a.as_default():
        ...     w = tf.compat.v1.get_variable("w", [2])
        >>> copy_variable_to_graph(w, b, "CopiedOps").name
        'CopiedOps/w:0'
    """
    if not hasattr(org_instance, "initializer") or not hasattr(org_instance, "op"):
        raise PlanError(
            f"copy_variable_to_graph({_word(org_instance)}, ...)",
            f"it is a {type(org_instance).__name__}, not a tf.Variable",
            "Give a variable; copy_to_graph copies ops and tensors",
        )
    return _copy(org_instance, to_graph, copied_variables, namespace, values, "copy_variable_to_graph")


def copy_to_graph(
    org_instance: Any,
    to_graph: Any,
    copied_variables: dict[str, Any] | None = None,
    namespace: str = "",
    *,
    values: Any = None,
) -> Any:
    """Copies an op, tensor or variable and all it needs into another graph.

    Args:
        org_instance: a `tf.Operation`, `tf.Tensor` or `tf.Variable`; a training op brings the whole model along.
        to_graph: the `tf.Graph` that gets the copy.
        copied_variables: name -> variable of copies made so far; these are used, and new ones are added.
        namespace: name scope of the copy; empty for none.
        values: a session of the source graph: current values become the initial values of the copies.

    Returns:
        the copy of `org_instance`.

    Raises:
        PlanError: it is nothing of a graph, or the namespace holds something else of one of the names.

    Example:
        >>> import tensorflow as tf
        >>> a, b = tf.Graph(), tf.Graph()
        >>> with a.as_default():
        ...     y = tf.square(tf.constant(3.0), name="y")
        >>> copy_to_graph(y, b, namespace="CopiedOps").name
        'CopiedOps/y:0'
    """
    return _copy(org_instance, to_graph, copied_variables, namespace, values, "copy_to_graph")


def get_copied(original: Any, graph: Any, copied_variables: dict[str, Any] | None = None, namespace: str = "") -> Any:
    """Returns the copy of an op, tensor or variable that `copy_to_graph` has made.

    Args:
        original: the thing in the source graph.
        graph: the graph that has the copy.
        copied_variables: name -> variable of the copies, as filled by the copying functions.
        namespace: the scope it was copied to.

    Raises:
        SelectionError: there is no copy of it; the nearest names are proposed.

    Example:
        >>> import tensorflow as tf
        >>> a, b = tf.Graph(), tf.Graph()
        >>> with a.as_default():
        ...     y = tf.square(tf.constant(3.0), name="y")
        >>> copy_to_graph(y, b, namespace="N") is get_copied(y, b, namespace="N")
        True
    """
    name = f"{namespace.strip('/')}/{original.name}" if namespace.strip("/") else original.name
    if hasattr(original, "initializer"):
        found = (copied_variables or {}).get(name)
        if found is None:
            from .tf.variables import variable_objects

            found = variable_objects(graph).get(op_name(name))
        if found is not None:
            return found
        raise SelectionError(
            f"get_copied({original.name!r})",
            f"no variable {name!r} was copied",
            "Call copy_variable_to_graph first",
        )
    editor = open(graph)
    return editor.tensor(name) if ":" in name else editor.op(name)


def _copy(
    thing: Any, to_graph: Any, copied_variables: dict[str, Any] | None, namespace: str, values: Any, verb: str
) -> Any:
    # 1. What to copy: the thing and all its ancestors.
    asked = f"{verb}({_word(thing)}, ...)"
    source_graph = getattr(thing, "graph", None)
    if source_graph is None or not hasattr(thing, "name"):
        raise PlanError(asked, f"a {type(thing).__name__} is nothing of a graph", "Give an op, a tensor or a variable")
    scope = namespace.strip("/")
    if scope and not valid_scope(scope):
        words = "Use letters, digits, '_', '.', '-' and '/' between parts"
        raise PlanError(asked, f"namespace {namespace!r} is not a name scope", words)
    source, destination = open(source_graph, title="the source"), open(to_graph, title="the destination")
    wanted = thing.op.name if hasattr(thing, "op") else thing.name
    block = source.select(name=[wanted]).ancestors()
    # 2. What is there already, from earlier calls or as variables the caller brings.
    done = _COPIED.setdefault(to_graph, WeakKeyDictionary()).setdefault(source_graph, {}).setdefault(scope, set())
    reuse = {name: under(scope, name) for name in done}
    reuse.update(_brought(source, destination, scope, copied_variables or {}))
    # 3. Copy the rest, with current values as initial ones where a session is given.
    constants, apart = _current(source, block, set(reuse), values)
    plan = destination.plan().copy(
        block, to=scope, reuse=reuse, control="include", collections="variables", constants=constants
    )
    for info, array in apart:
        plan = _started(plan, source.snapshot, info, scope, array)
    faults = plan.check()
    if faults:
        free = free_scope(destination.snapshot, scope or "copy")
        raise PlanError(asked, faults[0].wrong, f"Choose another namespace: {free!r} is free")
    applied = destination.apply(plan, record=False)  # the lists of the graph are as they were in 2016
    for copied in applied.effect.copies:
        done.update(copied.source.names[i] for i in copied.ops.tolist())
    if copied_variables is not None:
        copied_variables.update({v.name: v for v in applied.variables})
    if hasattr(thing, "initializer"):
        return get_copied(thing, to_graph, {v.name: v for v in applied.variables} | (copied_variables or {}), scope)
    return get_copied(thing, to_graph, copied_variables, scope)


def _brought(source: Any, destination: Any, scope: str, copied_variables: dict[str, Any]) -> dict[str, str]:
    """Ops of variables that the caller says are copied: these are not made again."""
    from .core.closure import variable_parts

    graph, there = source.snapshot, destination.snapshot.index
    reuse = {}
    for info in graph.state.variables.values():
        if f"{under(scope, info.op)}:0" in copied_variables:
            parts = [graph.names[int(i)] for i in variable_parts(graph, info).nonzero()[0]]
            reuse.update({p: under(scope, p) for p in parts if under(scope, p) in there})
    return reuse


def _current(source: Any, block: Any, skip: set[str], values: Any) -> tuple[dict[str, Any], list[Any]]:
    """Values for initial values: by tensor, and by variable where others read that tensor too."""
    if values is None:
        return {}, []
    from .tf.variables import fetch

    known = source.snapshot.state.variables
    infos = [v for v in known.values() if v.op in block and v.op not in skip and v.initial_value]
    arrays = fetch(values, infos, source.graph, "copy_to_graph(..., values=...)")
    named = Counter(info.initial_value for info in known.values())
    alone, apart = {}, []
    for info in infos:
        readers = {op.name for op in source.graph.get_tensor_by_name(info.initial_value).consumers()}
        if named[info.initial_value] == 1 and not any(op in block for op in readers - {info.initializer}):
            alone[info.initial_value] = arrays[info.op]
        else:
            apart.append((info, arrays[info.op]))
    return alone, apart


def _started(plan: Any, there: Any, info: Any, scope: str, array: Any) -> Any:
    """The plan, with a constant as the initial value of one copied variable alone."""
    from .tf.variables import constantly

    name = f"{info.initializer}/value"
    while name in there.index or under(scope, name) in plan.base.index:
        name += "_"
    return plan.insert(
        constantly(array),
        on=under(scope, info.initial_value),
        only=[under(scope, info.initializer)],
        name=under(scope, name),
    )


def _word(thing: Any) -> str:
    name = getattr(thing, "name", None)
    return repr(name) if isinstance(name, str) else repr(thing)[:60]
