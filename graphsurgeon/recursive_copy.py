"""The recursive copy functions of 2016, with the same names, argument order and meaning.

A call reuses the ops that earlier calls have copied into the same namespace, so that several calls build one copy. The
functions became `tf.contrib.copy_graph`; its function names are also available.

The arguments for namespace and variables may be given in either order, because a namespace is always a text. The call
``copy_variable_to_graph(w, graph, "N", {})`` of 2016 works, and so does ``copy_variable_to_graph(w, graph, {}, "N")``.
There is one exception. If a text is the third and last argument of `copy_to_graph` or `get_copied`, it has the meaning
of 2016: no variables, and no namespace. This causes a warning.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from typing import Any
from weakref import WeakKeyDictionary

from . import tf
from .editor.open import open
from .errors import PlanError, SelectionError
from .graph.graph import Graph
from .graph.names import free_name, join_scope, op_name, valid_name
from .graph.selection import Selection, selection_from
from .graph.training import downstream, writers_of
from .graph.types import Named, OpsLike, TFGraph, ValueSource

#: Name -> variable, or variables; a text is a namespace instead.
CopiedVariables = MutableMapping[str, Any] | Iterable[Named] | Named | str | None

#: destination graph -> source graph -> (namespace, ops that the copies wait for) -> names of the copied source ops.
_COPIED: WeakKeyDictionary[Any, WeakKeyDictionary[Any, dict[tuple[str, frozenset[str]], set[str]]]] = (
    WeakKeyDictionary()
)


def copy_variable_to_graph(
    org_instance: Named,
    to_graph: TFGraph,
    namespace: str = "",
    copied_variables: CopiedVariables = None,
    *,
    scope: str = "",
    values: ValueSource | None = None,
) -> Any:
    """Copies a variable, with the ops that compute its initial value, into another graph.

    Args:
        org_instance: a `tf.Variable` of a TF1 graph, reference or resource.
        to_graph, namespace, copied_variables, values: see `copy_to_graph`.
        scope: the name of `namespace` in `tf.contrib.copy_graph`.

    Returns:
        the new `tf.Variable`. It is in the same collections of variables, and in ``namespace/C`` for any other
        collection ``C``.

    Raises:
        PlanError: as for `copy_to_graph`.

    Example:
        >>> import tensorflow as tf
        >>> a, b = tf.Graph(), tf.Graph()
        >>> with a.as_default():
        ...     w = tf.compat.v1.get_variable("w", [2])
        >>> copy_variable_to_graph(w, b, "CopiedOps").name
        'CopiedOps/w:0'
    """
    verb = "copy_variable_to_graph"

    request = f"{verb}({_text_of(org_instance)}, ...)"
    if not tf.graph_parts.is_variable_object(org_instance):
        raise PlanError(
            request,
            f"it is of type {type(org_instance).__name__}, not a tf.Variable of a graph",
            "Give a variable; copy_to_graph copies ops and tensors",
        )
    word: Any = scope
    if not isinstance(word, str):
        problem = f"a scope is a text, and {_text_of(word)} is of type {type(word).__name__}"
        raise PlanError(request, problem, "Give scope='CopiedOps', or '' for none")
    if scope and namespace:
        raise PlanError(request, f"both namespace={namespace!r} and scope={scope!r} are given", "Give one of them")
    namespace = scope or namespace
    call = _copy_call(verb, org_instance, to_graph, namespace, copied_variables)
    if call.text:
        problem = f"a text is given for variables: {call.text!r}"
        raise PlanError(request, problem, "Give the namespace once, and a dict of name to variable, or none")
    return _copy(call, values)


def copy_to_graph(
    org_instance: Named,
    to_graph: TFGraph,
    copied_variables: CopiedVariables = None,
    namespace: str = "",
    *,
    values: ValueSource | None = None,
    after: OpsLike | None = None,
) -> Any:
    """Copies an op, tensor or variable, with all ops that it needs, into another graph; or recomputes it in its graph.

    It needs its inputs, its control inputs, and the forward ops of gradients. Copying a training op therefore copies
    its loss, too. The copies of gradient ops refer to the copies of their forward ops.

    Args:
        org_instance: a `tf.Operation`, `tf.Tensor` or `tf.Variable`; with a training op, the whole model is copied.
        to_graph: the `tf.Graph` to copy into.
        copied_variables: a dict of name -> variable that was copied before, whose name may differ. These variables are
            used, and new variables are added to the dict. A list of variables is used by their names.
        namespace: the name scope of the copy; empty for none.
        values: a session of the source graph, whose current values become the initial values of the copies.
        after: ops or tensors of the source graph that set its variables, if `to_graph` is the source graph. The copy
            reads the same variables again after these ops. Only ops that depend on a variable are copied. They read the
            same placeholders, batches and constants. An active `tf.control_dependencies` has the same effect.

    Returns:
        the copy of `org_instance`.

    Raises:
        PlanError: an argument has a wrong type, or the namespace contains other ops of the same names. Then nothing has
            changed.

    Example:
        >>> import tensorflow as tf
        >>> a, b = tf.Graph(), tf.Graph()
        >>> with a.as_default():
        ...     y = tf.square(tf.constant(3.0), name="y")
        >>> copy_to_graph(y, b, namespace="CopiedOps").name
        'CopiedOps/y:0'

        Before and after a step of training, in one run:

        >>> graph = tf.Graph()
        >>> with graph.as_default():
        ...     x = tf.compat.v1.placeholder(tf.float32, [], name="x")
        ...     w = tf.compat.v1.get_variable("w", [], initializer=tf.compat.v1.ones_initializer())
        ...     loss = tf.square(w * x, name="loss")
        ...     train = tf.compat.v1.train.GradientDescentOptimizer(0.25).minimize(loss)
        ...     with tf.control_dependencies([train]):
        ...         loss_after = copy_to_graph(loss, graph, namespace="after")
        ...     session = tf.compat.v1.Session()
        >>> session.run(w.initializer)
        >>> [float(value) for value in session.run([loss, loss_after], {x: 1.0})]
        [1.0, 0.25]
    """
    verb = "copy_to_graph"
    call = _copy_call(verb, org_instance, to_graph, namespace, copied_variables)
    if call.text:
        call.warn()
    return _copy(call, values, after)


def copy_op_to_graph(
    org_instance: Named,
    to_graph: TFGraph,
    variables: CopiedVariables = None,
    scope: str = "",
    *,
    values: ValueSource | None = None,
    after: OpsLike | None = None,
) -> Any:
    """Copies an op or tensor like `copy_to_graph`, with the name and arguments of `tf.contrib.copy_graph`.

    Args:
        org_instance, to_graph, values, after: see `copy_to_graph`.
        variables: `copied_variables`, or any iterable of variables; other variables that are needed are copied too.
        scope: `namespace`; it may also be given instead of `variables`.

    Returns:
        the copy of `org_instance`.

    Raises:
        PlanError: as for `copy_to_graph`.

    Example:
        >>> import tensorflow as tf
        >>> a, b = tf.Graph(), tf.Graph()
        >>> with a.as_default():
        ...     w = tf.compat.v1.get_variable("w", [])
        ...     y = tf.square(w, name="y")
        >>> w1 = copy_variable_to_graph(w, b)
        >>> copy_op_to_graph(y, b, [w1]).name
        'y:0'
    """
    if isinstance(variables, str) and isinstance(scope, str) and not scope:
        scope, variables = variables, None
    call = _copy_call("copy_op_to_graph", org_instance, to_graph, scope, variables)
    return _copy(call, values, after)


def get_copied(original: Named, graph: TFGraph, copied_variables: CopiedVariables = None, namespace: str = "") -> Any:
    """Returns the copy of an op, tensor or variable that `copy_to_graph` has made.

    Args:
        original, graph, copied_variables, namespace: the same arguments as for `copy_to_graph`.

    Raises:
        PlanError: an argument has a wrong type.
        SelectionError: there is no copy. The message suggests the namespace that has a copy, if there is one.

    Example:
        >>> import tensorflow as tf
        >>> a, b = tf.Graph(), tf.Graph()
        >>> with a.as_default():
        ...     y = tf.square(tf.constant(3.0), name="y")
        >>> copy_to_graph(y, b, namespace="N") is get_copied(y, b, namespace="N")
        True
    """
    call = _copy_call("get_copied", original, graph, namespace, copied_variables)
    if call.text and not call.scope:
        within = _copy_call("get_copied", original, graph, call.text, None)
        if _find(call) is None and _find(within) is not None:
            return _find(within)  # the only copy is in that namespace
    if call.text:
        call.warn()
    return _require_copy(call)


def get_copied_op(org_instance: Named, graph: TFGraph, scope: str = "", variables: CopiedVariables = None) -> Any:
    """Returns the copy of an op or tensor like `get_copied`, with the name and arguments of `tf.contrib.copy_graph`.

    Args:
        org_instance, graph, scope, variables: the same arguments as for `copy_op_to_graph`.

    Raises:
        PlanError, SelectionError: as for `get_copied`.

    Example:
        >>> import tensorflow as tf
        >>> a, b = tf.Graph(), tf.Graph()
        >>> with a.as_default():
        ...     y = tf.square(tf.constant(3.0), name="y")
        >>> copy_op_to_graph(y, b, [], "N") is get_copied_op(y, b, "N")
        True
    """
    return _require_copy(_copy_call("get_copied_op", org_instance, graph, scope, variables))


# -- the request --------------------------------------------------------------------------------------------


@dataclass
class _CopyCall:
    """The checked arguments of a call.

    Args:
        verb: the name of the function.
        original: the op, tensor or variable of the source.
        graph: the graph of the copies.
        scope: their name scope; empty for none.
        replacements: name in `graph` -> variable of `graph` to use for this name.
        callers_dict: the caller's dict, to which new variables are added, or None.
        text: the string that was given instead of variables; empty if none was.
    """

    verb: str
    original: Any
    graph: TFGraph
    scope: str
    replacements: dict[str, Any]
    callers_dict: MutableMapping[str, Any] | None
    text: str

    @property
    def request(self) -> str:
        """The call, for messages."""
        return f"{self.verb}({_text_of(self.original)}, ...)"

    @property
    def is_variable(self) -> bool:
        """Whether the call copies a variable."""
        return hasattr(self.original, "initializer")

    def warn(self) -> None:
        """Warns that a string was given instead of variables."""
        here = f"in the namespace {self.scope!r}" if self.scope else "without a namespace"
        warnings.warn(
            f"{self.verb}({_text_of(self.original)}, ..., {self.text!r}): a text instead of copied_variables names no "
            f"variables, so the copy is one {here}. For one in {self.text!r}, type namespace={self.text!r}",
            stacklevel=3,
        )


def _copy_call(verb: str, obj: Any, graph: TFGraph, scope: Any, variables: Any) -> _CopyCall:
    """Checks the arguments of a call, before anything is done."""
    request = f"{verb}({_text_of(obj)}, ...)"
    obj = tf.graph_parts.unwrap(obj)
    types = tf.graph_parts.Operation | tf.graph_parts.Tensor
    live = isinstance(obj, types) or tf.graph_parts.is_variable_object(obj)
    if not live or getattr(obj, "graph", None) is None:
        how = "Give an op, a tensor or a variable"
        if isinstance(obj, str):
            how += f" of the graph to copy from, for example graph.as_graph_element({obj!r})"
        raise PlanError(request, f"an object of type {type(obj).__name__} is not a part of a graph", how)
    if not isinstance(graph, tf.graph_parts.Graph):
        raise PlanError(
            f"{verb}({_text_of(obj)}, {_text_of(graph)}, ...)",
            f"an object of type {type(graph).__name__} is not a tf.Graph",
            "Give the graph itself, for example session.graph or ed.graph",
        )
    if not isinstance(scope, str) and (variables is None or isinstance(variables, str)):
        scope, variables = variables or "", scope
    if not isinstance(scope, str):
        problem = f"a namespace is a text, and {_text_of(scope)} is of type {type(scope).__name__}"
        raise PlanError(request, problem, "Give namespace='CopiedOps', or '' for none")
    bare_scope = scope.strip("/")
    if bare_scope and not valid_name(bare_scope):
        words = "Use letters, digits, '_', '.', '-' and '/' between parts"
        raise PlanError(request, f"namespace {scope!r} is not a name scope", words)
    if isinstance(variables, str):
        return _CopyCall(verb, obj, graph, bare_scope, {}, None, variables)
    variables_by_name = _replacement_map(variables, request)
    # The dict may have variables of several graphs.
    mine = {name: v for name, v in variables_by_name.items() if v.graph is graph}
    callers_dict = variables if isinstance(variables, MutableMapping) else None
    return _CopyCall(verb, obj, graph, bare_scope, mine, callers_dict, "")


def _replacement_map(variables: Any, request: str) -> dict[str, Any]:
    """Returns name -> variable, from a dict, an iterable of variables, or one variable."""
    how = "Give a dict of name to tf.Variable, such as {'CopiedOps/w:0': w}, or a list of variables"
    if variables is None:
        return {}
    if tf.graph_parts.is_variable_object(variables):
        return {variables.name: variables}
    problem = f"copied_variables is of type {type(variables).__name__}, "
    if isinstance(variables, Mapping):
        if not isinstance(variables, MutableMapping):
            raise PlanError(request, f"{problem}to which new variables cannot be added", how)
        items = list(variables.items())
    elif isinstance(variables, Iterable) and not isinstance(variables, bytes | tf.graph_parts.Tensor):
        items = [(getattr(v, "name", ""), v) for v in variables]
    else:
        raise PlanError(request, f"{problem}not a dict of variables", how)
    for name, variable in items:
        if not isinstance(name, str) or not tf.graph_parts.is_variable_object(variable):
            what = f"{name!r}: {_text_of(variable)}" if isinstance(variables, Mapping) else _text_of(variable)
            raise PlanError(request, f"copied_variables holds {what}, not a variable of a graph under its name", how)
    return dict(items)


# -- finding ------------------------------------------------------------------------------------------------


def _find(call: _CopyCall) -> Any:
    """Returns the copy of the requested object; None if there is no copy."""
    original, name = call.original, join_scope(call.scope, call.original.name)
    replacement = call.replacements.get(f"{op_name(name)}:0")
    if call.is_variable:
        return (
            tf.values.variables.variable_objects(call.graph).get(op_name(name)) if replacement is None else replacement
        )
    if replacement is not None:
        return replacement.op.outputs[original.value_index] if ":" in name else replacement.op
    try:
        return call.graph.as_graph_element(name)
    except (KeyError, ValueError):
        return None


def _require_copy(call: _CopyCall) -> Any:
    result = _find(call)
    if result is not None:
        return result
    # Another namespace may have the copy.
    scopes = {scope for scope, _ in _COPIED.get(call.graph, {}).get(call.original.graph, {})} - {call.scope}
    scope = next((one for one in sorted(scopes) if _find(replace(call, scope=one)) is not None), None)
    first = "copy_variable_to_graph" if call.is_variable else "copy_to_graph"
    raise SelectionError(
        call.request,
        f"there is no copy {join_scope(call.scope, call.original.name)!r} of it in that graph",
        f"Call {first} first, with the same namespace"
        if scope is None
        else f"It was copied with namespace={scope!r}: type that here too",
    )


# -- copying ------------------------------------------------------------------------------------------------


def _copy(call: _CopyCall, values: Any, after: Any = None) -> Any:
    # 1. Select the requested op, with all ops that it needs.
    original, scope = call.original, call.scope
    same = original.graph is call.graph
    source = open(original.graph, title="the source")
    destination = source if same else open(call.graph, title="the destination")
    ops_before = _ops_to_wait_for(call, after, values)
    target = original.op.name if hasattr(original, "op") else original.name
    needed_ops, readers = _ops_to_recompute(call, source, target) if ops_before else (_needed_block(source, target), ())
    # 2. Find existing copies, from earlier calls or in the caller's variables.
    copied_by_scope = _COPIED.setdefault(call.graph, WeakKeyDictionary()).setdefault(original.graph, {})
    copied_ops = copied_by_scope.setdefault((scope, frozenset(ops_before)), set())
    reuse = {name: join_scope(scope, name) for name in copied_ops}
    reuse.update({} if ops_before else _replacements(call, source, destination))
    # 3. Copy the rest, with current values as initial values if a session is given.
    constants, shared_values = _initial_values(source, needed_ops, set(reuse), values)
    fresh = _selection_of(source.snapshot, [name for name in needed_ops if name not in reuse])
    if fresh:
        plan = destination.plan().copy(
            fresh, to=scope, reuse=reuse, control="keep" if ops_before else "include",
            unmapped="keep" if ops_before else "refuse",
            collections="none" if ops_before else "variables", inputs=constants,
        )  # fmt: skip
        for info, array in shared_values:
            plan = _with_initial_value(plan, source.snapshot, info, scope, array)
        for name in readers:
            if name not in reuse:
                plan = plan.add_control(join_scope(scope, name), ops_before)
        for fault in plan.check():
            there, free = plan.base.index, free_name(scope or "copy", plan.base.is_name_used)
            is_taken = scope in there or any(join_scope(scope, name) in there for name in fresh)
            how = f"Choose another namespace: {free!r} is free" if is_taken else fault.suggestion
            raise PlanError(call.request, fault.problem, how)
        applied = destination.apply(plan, record=False)  # the collections are the same as in 2016
        names = {
            copied.source.names[i]
            for copied in applied.effect.copies
            if copied.source.owner is original.graph
            for i in copied.ops.tolist()
        }
        copied_ops.update(names)
        _keep_originals(call, names)
        new = {v.name: v for v in applied.variables}
        if call.callers_dict is not None:
            call.callers_dict.update(new)
        call.replacements.update(new)
    return _require_copy(call)


def _selection_of(graph: Graph, names: Iterable[str]) -> Selection:
    return selection_from(graph, (graph.index[name] for name in names))


def _needed_block(source: Any, target: str) -> Selection:
    """Returns an op with its ancestors, the forward ops of gradients among them, their ancestors, and so on."""
    ops = source.graph.get_operations()
    needed_ops: Selection = source.select(name=[target]).ancestors()
    fresh = needed_ops.numbers
    while names := {
        o.name
        for o in tf.graph_parts.originals_of([ops[i] for i in fresh])
        if o is not None and o.graph is source.graph and o.name not in needed_ops
    }:
        visited, needed_ops = needed_ops.mask, needed_ops | _selection_of(source.snapshot, sorted(names)).ancestors()
        fresh = (needed_ops.mask & ~visited).nonzero()[0].tolist()
    return needed_ops


def _keep_originals(call: _CopyCall, names: set[str]) -> None:
    """Makes the copies of gradient ops refer to the copies of their forward ops."""
    source, scope = call.original.graph, call.scope
    originals = tf.graph_parts.originals_of([source.get_operation_by_name(name) for name in names])
    for name, original in zip(names, originals, strict=False):
        if original is None:
            continue
        try:
            copy = call.graph.get_operation_by_name(join_scope(scope, original.name))
        except KeyError:
            continue
        tf.graph_parts.set_original(call.graph.get_operation_by_name(join_scope(scope, name)), copy)


def _replacements(call: _CopyCall, source: Any, destination: Any) -> dict[str, str]:
    """Returns op of a source variable -> op of the caller's variable that is used instead."""
    from .plan.dependencies import variable_parts

    graph, there = source.snapshot, destination.snapshot
    reuse = {}
    for info in graph.state.variables.values():
        variable = call.replacements.get(f"{join_scope(call.scope, info.op)}:0")
        if variable is None:
            continue
        own = there.state.variables.get(variable.op.name)
        if own is None:
            problem = f"{variable.name!r} cannot replace {info.op!r}: the graph does not have this variable"
            raise PlanError(call.request, problem, "Give a variable of the graph, or leave it out: then it is copied")
        for what, has, wants in (
            ("kind", "resource" if own.resource else "reference", "resource" if info.resource else "reference"),
            ("dtype", own.dtype, info.dtype),
            ("shape", own.shape, info.shape),
        ):
            if has != wants and "?" not in (*has, *wants):
                raise PlanError(
                    call.request,
                    f"{variable.name!r} cannot replace {info.op!r}: its {what} is {has}, not {wants}",
                    f"Give a variable of the same {what}, or leave it out: then it is copied",
                )
        for name in (graph.names[int(i)] for i in variable_parts(graph, info).nonzero()[0]):
            if name == info.op or name.startswith(f"{info.op}/"):
                like = own.op + name[len(info.op) :]
                reuse.update({name: like} if like in there.index else {})
        for old, new in ((info.op, own.op), (info.initializer, own.initializer), (info.snapshot, own.snapshot)):
            if old and new:
                reuse[op_name(old)] = op_name(new)
    return reuse


# -- recomputing --------------------------------------------------------------------------------------------


def _ops_to_wait_for(call: _CopyCall, after: Any, values: Any) -> list[str]:
    """Returns the names of the ops that a copy within the graph has to wait for; empty for a plain copy."""
    same, after_tops = call.original.graph is call.graph, []
    tops = [] if after is None else list(after) if isinstance(after, list | tuple | set | frozenset) else [after]
    for top in map(tf.graph_parts.unwrap, tops):
        top = getattr(top, "op", top)
        if not isinstance(top, tf.graph_parts.Operation):
            problem = f"after={_text_of(top)} is of type {type(top).__name__}, not an op or tensor"
            raise PlanError(call.request, problem, "Give the ops that set the variables, for example after=[train]")
        if top.graph is not call.original.graph or not same:
            problem = f"after={top.name!r}: the copy, its source and the ops that it waits for must be of one graph"
            raise PlanError(
                call.request, problem, f"Copy into the graph of {_text_of(call.original)}, or leave after out"
            )
        after_tops.append(top)
    if same and not call.is_variable:
        after_tops += tf.graph_parts.current_control_inputs(call.graph)
    if not after_tops:
        return []
    why = (
        "a variable cannot be recomputed" if call.is_variable
        else "the copy reads the variables themselves, so values= has no use" if values is not None
        else "a recomputed tensor needs a namespace" if not call.scope
        else ""
    )  # fmt: skip
    if why:
        how = "Type copy_to_graph(tensor, graph, namespace='again', after=[train])"
        raise PlanError(f"{call.request[:-4]}after={after_tops[0].name!r})", why, how)
    return [op.name for op in sorted(set(after_tops), key=tf.graph_parts.number_of)]


def _ops_to_recompute(call: _CopyCall, source: Any, target: str) -> tuple[Selection, list[str]]:
    """Returns the ops to recompute after variables change, and the ops among them that read variables."""
    graph = source.snapshot
    ancestors = source.select(name=[target]).ancestors().mask
    writers = writers_of(graph)
    holders = [graph.index[name] for name in graph.state.variables if ancestors[graph.index[name]]]
    reads = graph.mask(i for h in holders for i in graph.consumers.row(h).tolist())
    reads &= ancestors & ~writers
    affected = downstream(graph, reads, graph.mask([]), [graph.index[target]])
    request = f"{call.request[:-4]}after=...)"
    if not reads.any():
        raise PlanError(request, f"{target!r} depends on no variable: it would be the same", "Use it as it is")
    if affected.unaffected_target >= 0 or (affected.ops & writers).any():
        writer = next((graph.names[i] for i in (ancestors & writers).nonzero()[0].tolist()), target)
        problem = f"{writer!r} sets a variable, and would set it again"
        raise PlanError(request, problem, "Choose a tensor that is computed without it")
    calls = [graph.names[i] for i in affected.calls]
    if calls:
        warnings.warn(
            f"{request}: {calls[0]!r} calls a function once more, which may set variables again", stacklevel=4
        )
    return selection_from(graph, affected.ops), [graph.names[i] for i in (affected.ops & reads).nonzero()[0].tolist()]


# -- values -------------------------------------------------------------------------------------------------


def _initial_values(source: Any, needed_ops: Any, skip: set[str], values: Any) -> tuple[dict[str, Any], list[Any]]:
    """Returns new initial values: tensor -> array, and (variable, array) if the tensor has other consumers."""
    if values is None:
        return {}, []

    variables = source.snapshot.state.variables
    infos = [v for v in variables.values() if v.op in needed_ops and v.op not in skip and v.initial_value]
    arrays = tf.values.variables.fetch(values, infos, source.graph, "copy_to_graph(..., values=...)")
    counts = Counter(info.initial_value for info in variables.values())
    alone, shared_values = {}, []
    for info in infos:
        readers = {op.name for op in source.graph.get_tensor_by_name(info.initial_value).consumers()}
        if counts[info.initial_value] == 1 and not any(op in needed_ops for op in readers - {info.initializer}):
            alone[info.initial_value] = arrays[info.op]
        else:
            shared_values.append((info, arrays[info.op]))
    return alone, shared_values


def _with_initial_value(plan: Any, destination: Any, info: Any, scope: str, array: Any) -> Any:
    """Returns the plan with a constant as the initial value of one copied variable."""
    name = f"{info.initializer}/value"
    while name in destination.index or join_scope(scope, name) in plan.base.index:
        name += "_"
    return plan.insert(
        tf.values.variables.constant_function(array),
        on=join_scope(scope, info.initial_value),
        only=[join_scope(scope, info.initializer)],
        name=join_scope(scope, name),
    )


def _text_of(obj: Any) -> str:
    name = getattr(obj, "name", None)
    return repr(name) if isinstance(name, str) else repr(obj)[:60]
