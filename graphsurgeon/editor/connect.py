"""Connects two or more graphs, with their values, into one: outputs of one graph feed inputs of another."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from .. import tf
from ..errors import Kind, PlanError, SelectionError, few, warn
from ..graph.boundary import Tensor
from ..graph.graph import Graph, Mask
from ..graph.names import SINGLES, join_scope, op_name, tensor_name, valid_name
from ..graph.open_graph import OpenedGraph
from ..graph.provenance import orphan_mask
from ..graph.references import ReferenceResolver
from ..graph.reports import only_initial_text
from ..graph.selection import select, selection_from
from ..graph.traversal import producers
from ..graph.types import GraphSource, TensorLike, TensorMap, ValueSource
from ..graph.variables import FEED_TYPES, INPUT_TYPES
from ..plan.dependencies import variable_ops
from ..plan.editor_like import described
from ..plan.plan import Plan
from ..plan.steps.base import INITIAL
from .editor import Editor
from .open import open as open_graph

#: Ops that fill, close or name the source of a feed: without a feed, no op waits for them.
_FILLS = ("QueueEnqueue", "QueueClose", "MakeIterator", "MultiDeviceIteratorInit", "IteratorToStringHandle", "Stage")
#: Ops that only read the number of elements in a queue. If the queue is removed, a constant replaces them.
_QUEUE_QUERIES = frozenset({"QueueSize", "QueueSizeV2"})
#: Datasets. A one-shot iterator has its dataset in a function. Other datasets stay in the graph, without consumers.
_DATASET = re.compile(r"\w*Dataset(V\d+)?")


@dataclass
class RemovableOps:
    """The ops that a graph no longer needs.

    Args:
        mask: the ops.
        constants: tensor of a removed op that a remaining op reads -> the constant value that replaces it.
    """

    mask: Mask
    constants: dict[str, Any]


def removable_ops(graph: Graph, replaced: Iterable[Tensor], needed_ops: Collection[int] = ()) -> RemovableOps:
    """Returns the ops that are not needed once some tensors are replaced, with the ops that fill their queues.

    Args:
        graph: the graph.
        replaced: the replaced tensors, as pairs (op, output).
        needed_ops: ops that always stay.

    Example:
        >>> g = Graph.from_ops([("file", "Const", []), ("x", "Identity", ["file"]), ("y", "Neg", ["x"])])
        >>> removable_ops(g, [(1, 0)]).mask.tolist()
        [True, True, False]
    """
    replaced_tensors, stay = set(replaced), set(needed_ops)
    removed = graph.mask([])
    feeds = {op for op, _ in replaced_tensors}
    constants: dict[str, Any] = {}
    todo = sorted(feeds)
    while todo:
        op = todo.pop()
        if removed[op] or op in stay or not _free(graph, op, removed, replaced_tensors, feeds):
            continue
        removed[op] = True
        todo += graph.all_inputs.row(op).tolist()
        if graph.types[op].startswith("IteratorGetNext"):
            datasets = [i for i, kind in enumerate(graph.types) if _DATASET.fullmatch(kind)]
            todo += [i for i in datasets if not graph.consumers.row(i).size]
        if graph.types[op] in FEED_TYPES:
            for holder in dict.fromkeys(graph.data.row(op).tolist()):
                todo += _unused_holder_ops(graph, holder, removed, replaced_tensors, constants)
    return RemovableOps(removed, constants)


def _free(graph: Graph, op: int, removed: Mask, replaced_tensors: set[Tensor], feeds: set[int]) -> bool:
    """Returns whether no remaining op reads an op or waits for it; a `NoOp` that waits for it does not count."""
    if any(not removed[reader] and (op, port) not in replaced_tensors for reader, port in graph.consumers.ends(op)):
        return False
    if op in feeds:
        return True  # its waiting ops wait for its replacement
    return all(removed[i] or graph.types[i] == "NoOp" for i in graph.control_consumers.row(op).tolist())


def _unused_holder_ops(
    graph: Graph, resource: int, removed: Mask, replaced_tensors: set[Tensor], constants: dict[str, Any]
) -> list[int]:
    """Returns a queue or iterator that no remaining op reads from, with the ops that fill and query it."""
    users = [i for i in dict.fromkeys(graph.consumers.row(resource).tolist()) if not removed[i]]
    fills = [i for i in users if graph.types[i].startswith(_FILLS)]
    query_ops = [i for i in users if graph.types[i] in _QUEUE_QUERIES]
    if len(fills) + len(query_ops) < len(users):
        return []
    for op in query_ops:
        if graph.consumers.row(op).size:
            replaced_tensors.add((op, 0))
            constants[f"{graph.names[op]}:0"] = np.zeros([], np.int32)
    return [*fills, *query_ops, resource]


@dataclass
class _Model:
    """One of the graphs to connect: its name, its editor, and the replacements of its tensors."""

    name: str
    editor: Editor
    values: Any
    use_initial_values: bool = False  # initial values are requested
    replaced: dict[str, str] = field(default_factory=dict)  # its tensor -> tensor of the supergraph
    feeds: dict[str, str] = field(default_factory=dict)  # its tensor -> the graph that replaces it
    consumed: set[str] = field(default_factory=set)  # its tensors that other graphs read
    shared: list[str] = field(default_factory=list)  # its variables that it shares with an earlier graph

    def merged_tensor(self, tensor: str) -> str:
        """Returns the tensor of the supergraph that a tensor of this graph becomes."""
        return self.replaced.get(tensor) or join_scope(self.name, tensor)


def connect(
    graphs: Mapping[str, GraphSource],
    connections: TensorMap | None = None,
    *,
    inputs: Mapping[Any, Any] | Iterable[Any] = (),
    values: Mapping[str, ValueSource] | str | None = None,
    variables: str | Mapping[str, TensorLike] = "copy",
    device: str | Mapping[str, str] = "clear",
    collections: str = "rename",
    title: str = "supergraph",
) -> Editor:
    """Joins several graphs into a new graph, each in its own scope and with its values. The given graphs do not change.

    A connected input reads another graph; its old source, such as a placeholder, a queue or an iterator, is left out.
    The name of each graph is the scope of its ops, variables and collections: two variables `w` become `enc/w` and
    `dec/w`. Training collections keep their names and contain the variables of all graphs, so that you can train the
    result as one model.

    Args:
        graphs: name -> graph, given as an editor or anything that `open` accepts: a ``.meta`` file with its checkpoint,
            a SavedModel, a live graph or session, an editor, a Keras model. Tensors of a TF2 SavedModel are named as in
            its signature.
        connections: output of one graph -> input of another, or several inputs: ``{"enc/out:0": "dec/in:0"}``. Names
            begin with the name of the graph; you can also pass tensors as objects. Any tensor can be an input, not only
            a placeholder. If the output is a placeholder and the input is a computed tensor, there is a `UserWarning`,
            because the direction may be wrong. If no op has the given name, it means an argument or result of a
            signature, or the output of a Keras layer: ``{"enc/features": "dec/x"}``.
        inputs: tensors that become new placeholders, for example inputs that a queue or an iterator has fed. Give a
            list, or a mapping of tensor -> name; without a name, ``"enc/batch:0"`` becomes ``enc_batch``. A
            `tf.TensorSpec` instead of the name sets another shape, for example without the batch size of a queue:
            ``{"enc/batch:0": tf.TensorSpec([None, 224, 224, 3], tf.float32, "images")}``.
        values: name -> the source of the values of that graph, as in `Plan.copy`. Live graphs without a session need
            it. ``"initial"``, for one graph or for all, uses initial values for variables without other values. To
            reset one variable, give ``variables={"its/name": "initial"}``.
        variables: as in `Plan.copy`, for all graphs. Default: a copy of each variable. A variable that several of the
            graphs share, for example two signatures of a file, stays one variable; ``{"*": "copy"}`` copies it for
            each.
        device: as in `Plan.copy`; a graph with cleared devices runs on any machine.
        collections: as in `Plan.copy`.
        title: the name of the new graph.

    Returns:
        an `Editor` of a new graph; its `session()` has all trained values. The plan that made it is in its `history`.
        If the graphs are opened functions or models, it has their `inputs` and `outputs`, except the connected ones. If
        two have the same name, the names of their graphs are their prefixes.

    Raises:
        OpenError: a graph cannot be read.
        SelectionError: a tensor does not exist; a layer has several outputs, or is called several times.
        PlanError: the graphs feed each other in a cycle, an input is fed twice, a name or collection clashes, dtypes or
            shapes do not fit, or a value is missing. Variables that only have initial values are an error too, unless
            ``values="initial"`` is given.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> def double(scale):
        ...     with tf.Graph().as_default() as graph:
        ...         x = tf.compat.v1.placeholder(tf.float32, [], name="in")
        ...         tf.multiply(x, tf.compat.v1.get_variable("w", initializer=scale), name="out")
        ...     return graph
        >>> sup = gs.connect({"enc": double(2.0), "dec": double(5.0)}, {"enc/out:0": "dec/in:0"}, values="initial")
        >>> float(sup.session().run("dec/out:0", {"enc/in:0": 3.0})), "dec/in" in sup.snapshot.index
        (30.0, False)
    """
    request = f"connect({list(graphs)!r})"
    pairs: Any = connections or {}
    if not isinstance(pairs, Mapping):
        how = "Give them as {'enc/out:0': 'dec/in:0'}: output -> input"
        raise PlanError(request, f"connections={connections!r} is not a mapping", how)
    values = dict.fromkeys(graphs, values) if isinstance(values, str) else values
    models = _models(graphs, values or {}, request)
    for end, starts in pairs.items():
        source, tensor = _end(end, models, request, "outputs")
        for start in starts if isinstance(starts, (list, tuple, set)) else [starts]:
            target, into = _end(start, models, request)
            _refuse_unread(target, into, request)
            _replace(target, into, source.name, join_scope(source.name, tensor), request)
            source.consumed.add(tensor)
    order = _order(models, request)
    _warn_reversed(models, request)
    _refuse_collections(models.values(), collections, request)
    destination = _with_placeholders(inputs, models, title, request)
    _pass_through(models)
    plan = destination.plan()
    if variables == "copy":
        _share(order, request)
    for model in order:
        plan = _with_copy(plan, model, variables, device, collections)
    faults = plan.check()
    if faults:
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        raise PlanError(f"{request}, {faults[0].request}", faults[0].problem + more, faults[0].suggestion)
    initial = _untrained_reasons(plan, models, request)
    applied = destination.apply(plan)
    applied.applied_ops.untrained.update(initial)
    sources = {one.name: (described(one.editor), one.merged_tensor) for one in order}
    if any(model.inputs or model.outputs for model, _ in sources.values()):
        new_inputs = {name: f"{name}:0" for name in destination.snapshot.names[: plan.base.size]}
        new_inputs |= _ends_of(order, "inputs", destination)
        new_outputs = _ends_of(order, "outputs", destination)
        destination.opened_graph = destination.opened_graph.with_models(sources, new_inputs, new_outputs)
    return destination


def _ends_of(models: list[_Model], side: str, editor: Editor) -> dict[str, str]:
    """Returns the inputs or outputs of the connected graphs that no other graph feeds or reads.

    They keep their names. If two have the same name, the names of their graphs are their prefixes.
    """
    ends = [
        (model.name, key, join_scope(model.name, tensor))
        for model in models
        for key, tensor in getattr(model.editor, side).items()
        if tensor not in (model.replaced if side == "inputs" else model.consumed)
        and join_scope(model.name, op_name(tensor)) in editor.snapshot.index
    ]
    keys = [key for _, key, _ in ends]
    return {key if keys.count(key) == 1 else f"{name}_{key}".replace("/", "_"): tensor for name, key, tensor in ends}


def _untrained_reasons(plan: Plan, models: Mapping[str, _Model], request: str) -> dict[str, str]:
    """Returns variable -> reason, for variables of the supergraph that get initial values.

    Raises:
        PlanError: initial values were not requested for one of them.
    """
    reasons: dict[str, str] = {}
    refused: dict[str, str] = {}
    for copied in plan.effect.copies:
        model = models[copied.step.to]
        why = model.editor.untrained() if model.values is None else plan.backend.untrained_copies(copied)
        own = [v for v in copied.variables if v.policy == "copy" and not v.info.local]
        mine = {v.name: why[v.original] for v in own if v.original in why}
        reasons |= mine
        refused |= {} if model.use_initial_values else mine
    if refused:
        names = {name.partition("/")[0] if name not in models else name for name in refused}
        first = next(name for name in models if any(n.startswith(f"{name}/") for n in refused))
        raise PlanError(
            request,
            "; ".join(only_initial_text(refused)),
            f"Give values={{{first!r}: session}}; or use initial values: values={{{first!r}: {INITIAL!r}}}"
            + (", or values='initial' for all" if len(names) > 1 else ""),
        )
    return reasons


def _models(graphs: Mapping[str, Any], values: Mapping[str, Any], request: str) -> dict[str, _Model]:
    if not isinstance(graphs, Mapping) or not graphs:
        raise PlanError(request, "there are no graphs to connect", "Give them as {'name': graph, 'other': graph}")
    keys: list[Any] = list(graphs)
    for name in keys:
        if not isinstance(name, str):
            how = f"Use a text as its name: {{'g{name}': graph}}"
            raise PlanError(request, f"{name!r} is not a name for a graph", how)
    for name in keys:
        if not valid_name(name.strip("/")):
            how = "It becomes a scope: use letters, digits, '_', '.', '-' and '/' between parts"
            raise PlanError(request, f"{name!r} is not a name for a graph", how)
    names_by_key: dict[str, str] = {}
    for name in graphs:
        before = names_by_key.setdefault(name.strip("/").lower(), name)
        if before != name:
            raise PlanError(
                request, f"{before!r} and {name!r} are the same scope in TensorFlow", "Give one of them another name"
            )
    for name in values:
        if name not in graphs:
            problem = f"values= names {name!r}, which is not a graph here"
            raise PlanError(request, problem, "Choose " + " or ".join(map(repr, graphs)))
    models = {}
    for name, thing in graphs.items():
        editor = thing if isinstance(thing, Editor) else open_graph(thing)
        own = editor if editor.values.has_values else None
        source = values.get(name, own)
        initial = isinstance(source, str)
        if initial and source != INITIAL:
            raise PlanError(request, f"values={{{name!r}: {source!r}}} is not a source of values",
                            f"Give a session, an editor or {{name: array}}; or {INITIAL!r}")  # fmt: skip
        models[name.strip("/")] = _Model(name.strip("/"), editor, own if initial else source, initial)
    return models


def _end(obj: Any, models: dict[str, _Model], request: str, side: str = "inputs") -> tuple[_Model, str]:
    """Returns the graph of a tensor, and its name there; `side` is the first side of the signature to search."""
    if not isinstance(obj, str):
        owners = [m for m in models.values() if m.editor.graph is getattr(obj, "graph", None)]
        if len(owners) != 1:
            problem = (
                "belongs to none of these graphs"
                if not owners
                else f"may belong to {owners[0].name} or {owners[1].name}"
            )
            raise PlanError(request, f"{getattr(obj, 'name', obj)!r} {problem}", "Give it as 'graph/name:0'")
        return owners[0], tensor_name(obj)
    for name in sorted(models, key=len, reverse=True):
        if obj.startswith(name + "/"):
            editor = models[name].editor
            ends = (editor.outputs | editor.inputs) if side == "inputs" else (editor.inputs | editor.outputs)
            resolver = ReferenceResolver(editor.snapshot, editor.layers, request, ends)
            try:
                tensor = tensor_name(resolver.tensor(obj[len(name) + 1 :]))
                editor.snapshot.tensor(tensor, request)
            except SelectionError as error:
                how = _proposal(name, error)
                served = editor.opened_graph.serving.opened_signature
                if served:
                    how = f"{how.rstrip('.')}. These are the names of signature {served!r}; with raw=True it has others"
                raise SelectionError(request, f"{obj!r}: {error.problem}", how) from error
            return models[name], tensor
    rest = (obj, obj.partition("/")[2])
    candidates = [join_scope(n, t) for n, m in models.items() for t in rest if op_name(t) in m.editor.snapshot.index]
    raise PlanError(
        request,
        f"{obj!r} does not begin with the name of a graph",
        "Type the graph first: " + " or ".join(map(repr, candidates or [f"{name}/..." for name in models])),
    )


def _proposal(name: str, error: SelectionError) -> str:
    """Returns the suggestion of an error of a graph, with the names of the supergraph."""
    if error.kind is Kind.UNKNOWN_NAME and not error.names:
        return f"Nothing there has a similar name; gs.open(graphs[{name!r}]).find('part of the name') lists its ops"
    return error.suggestion_with_names(lambda one: join_scope(name, one))


def _refuse_unread(target: _Model, destination: str, request: str) -> None:
    """Refuses to feed a tensor without consumers."""
    graph = target.editor.snapshot
    if not graph.consumers_of(graph.tensor(destination)):
        fed = graph.type_mask(INPUT_TYPES) & (graph.consumers.degrees > 0)
        placeholders = [join_scope(target.name, f"{graph.names[i]}:0") for i in np.flatnonzero(fed)[:4].tolist()]
        how = "Name a tensor that is read" + (f", as {few(map(repr, placeholders))}" if placeholders else "")
        raise PlanError(
            request,
            f"nothing in {target.name} reads {join_scope(target.name, destination)!r}: feeding it does nothing",
            how,
        )


def _warn_reversed(models: Mapping[str, _Model], request: str) -> None:
    """Warns if a placeholder replaces a computed tensor: output and input of the mapping may be swapped."""
    for target in models.values():
        for into, source_tensor in target.replaced.items():
            source = models[target.feeds[into]]
            start = source_tensor.removeprefix(f"{source.name}/")
            if (
                _is_fed(source.editor.snapshot, start)
                and start not in source.replaced
                and not _is_fed(target.editor.snapshot, into)
            ):
                old = join_scope(target.name, into)
                problem = f"{source_tensor!r}, a placeholder, replaces {old!r}, which is computed: output -> input"
                warn(
                    str(
                        PlanError(
                            request,
                            problem,
                            f"If {old!r} is to feed {source_tensor!r}, type {{{old!r}: {source_tensor!r}}}",
                        )
                    )
                )


def _is_fed(graph: Graph, tensor: str) -> bool:
    return graph.types[graph.tensor(tensor)[0]] in INPUT_TYPES


def _replace(target: _Model, destination: str, source: str, tensor: str, request: str) -> None:
    before = target.replaced.get(destination)
    if before is not None and before != tensor:
        name = join_scope(target.name, destination)
        raise PlanError(request, f"{name!r} is fed twice: by {before!r} and by {tensor!r}", "Choose one of them")
    target.replaced[destination], target.feeds[destination] = tensor, source


def _order(models: dict[str, _Model], request: str) -> list[_Model]:
    """Returns the graphs in topological order: first the graphs that feed others."""
    sorter = TopologicalSorter(dict.fromkeys(models, ()))
    for name, model in models.items():
        sorter.add(name, *filter(None, model.feeds.values()))
    try:
        return [models[name] for name in sorter.static_order()]
    except CycleError as error:
        raise PlanError(
            request,
            f"that is a cycle between the graphs: {' -> '.join(error.args[1])}",
            "Leave one connection out; if no op needs its own result, sup.plan().reroute(...) makes it later",
        ) from error


def _refuse_collections(models: Iterable[_Model], collections: str, request: str) -> None:
    """Refuses two entries of a collection in which TensorFlow allows only one, under ``collections='keep'``."""
    if collections != "keep":
        return
    owners: dict[str, str] = {}
    for model in models:
        for name, entries in model.editor.snapshot.state.collections.items():
            if name in SINGLES and entries and owners.setdefault(name, model.name) != model.name:
                raise PlanError(
                    request,
                    f"the collection {name!r} of {owners[name]} clashes with that of {model.name}: "
                    "it can have one entry",
                    "Choose collections='rename'",
                )


def _with_placeholders(
    inputs: Mapping[Any, Any] | Iterable[Any], models: dict[str, _Model], title: str, request: str
) -> Editor:
    """Returns an editor of a new graph with a placeholder for each new input."""
    pairs = list(inputs.items()) if isinstance(inputs, Mapping) else [(thing, "") for thing in _several(inputs)]
    specs: dict[str, Any] = {}
    for thing, wish in pairs:
        model, tensor = _end(thing, models, request)
        spec: Any = wish if hasattr(wish, "shape") and hasattr(wish, "dtype") else None
        leaf = op_name(tensor).rpartition("/")[2]
        name = (wish if spec is None else spec.name) or f"{model.name}_{leaf}".replace("/", "_")
        if name in specs or any(f"{n}/".startswith(f"{name}/") or name.startswith(f"{n}/") for n in models):
            problem = f"the name {name!r} for the new input {join_scope(model.name, tensor)!r} is taken"
            raise PlanError(request, problem, f"Give it another: inputs={{{join_scope(model.name, tensor)!r}: 'name'}}")
        specs[name] = model.editor.tensor(tensor) if spec is None else spec
        _replace(model, tensor, "", f"{name}:0", request)
    graph = tf.graph_parts.graph_with_placeholders(specs, request)
    serialized = graph.as_graph_def().SerializeToString(deterministic=True)  # a few placeholders can be code
    code = f"gs.open(tf.compat.v1.GraphDef.FromString({serialized!r}))" if specs else "gs.open(graph)"
    return Editor(OpenedGraph(graph, title, code))


def _several(objects: Any) -> list[Any]:
    return [objects] if isinstance(objects, str) or hasattr(objects, "graph") else list(objects)


def _pass_through(models: dict[str, _Model]) -> None:
    """Makes graphs that read a replaced tensor of another graph read its replacement."""
    whole = {join_scope(m.name, t): new for m in models.values() for t, new in m.replaced.items()}
    for model in models.values():
        for tensor, new in model.replaced.items():
            while new in whole:
                new = whole[new]
            model.replaced[tensor] = new


def _share(models: Iterable[_Model], request: str) -> None:
    """Replaces the variables of each graph that are also variables of an earlier graph by these.

    A variable with another value in each graph is not shared; a warning lists it.
    """
    earlier: dict[Any, tuple[_Model, str]] = {}
    differing = []
    for model in models:
        graph = model.editor.snapshot
        known = model.editor.values.identities() or {name: (graph.owner, name) for name in graph.state.variables}
        for name, identity in known.items():
            first, variable = earlier.setdefault(identity, (model, name))
            if first is model or first.values is not first.editor or model.values is not model.editor:
                continue
            kind, same = graph.types[graph.index[name]], first.editor.value(variable)
            if kind == "VarHandleOp" and np.array_equal(same, model.editor.value(name), equal_nan=True):
                model.replaced[f"{name}:0"] = f"{join_scope(first.name, variable)}:0"
                model.shared.append(name)
            else:
                differing.append(join_scope(model.name, name))
    if differing:
        why = "with different values, or reference variables"
        warn(f"{request}: {few(map(repr, differing))} of several models, {why}: each has its own copy")


def _parts_of(graph: Graph, variables: Iterable[str]) -> Mask:
    """Returns the ops that only initialize some variables, and their reads without other consumers."""
    parts = graph.mask([])
    for name in variables:
        for op in sorted(variable_ops(graph, graph.state.variables[name]), reverse=True):  # consumers first
            readers = [*graph.consumers.row(op).tolist(), *graph.control_consumers.row(op).tolist()]
            parts[op] = op != graph.index[name] and parts[readers].all()
    return parts


def _with_copy(plan: Plan, model: _Model, variables: Any, device: Any, collections: str) -> Plan:
    snapshot = model.editor.snapshot
    cuts = [snapshot.tensor(name) for name in model.replaced]
    needed = {snapshot.tensor(name)[0] for name in model.consumed if name not in model.replaced}
    out = removable_ops(snapshot, cuts, needed)
    mask = ~(out.mask | orphan_mask(snapshot) | _parts_of(snapshot, model.shared))
    whole = select(snapshot)
    block = whole if mask.all() else whole - selection_from(snapshot, ~mask)
    removed = np.flatnonzero(out.mask & ~producers(snapshot, cuts)).tolist()
    loose = any((~out.mask[snapshot.control_consumers.row(i)]).any() for i in removed)
    inputs = {name: new for name, new in model.replaced.items() if _is_read(snapshot, snapshot.tensor(name), mask)}
    return plan.copy(
        block,
        to=model.name,
        inputs={**inputs, **out.constants},
        control="drop" if loose else "refuse",
        variables=variables,
        values=model.values,
        device=device,
        collections=collections,
    )


def _is_read(graph: Graph, tensor: Tensor, mask: Any) -> bool:
    """Returns whether a copied op reads a tensor; also true without any consumer, which the plan then reports."""
    readers = graph.consumers_of(tensor)
    return not readers or any(mask[reader] for reader, _ in readers)
