"""Copying: carry out an effect on a live graph, in one import, all of it or nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import graph_pb2, node_def_pb2

from ..core.check import axis_text, fitting
from ..core.effect import Copied, Effect, NewVariable
from ..core.graph import Graph
from ..core.plan import Fault
from ..core.state import VariableInfo
from ..errors import PlanError, StalePlanError
from . import functions
from .internals import collections_of, gc_paused, import_nodes, names_in_use, op_named, raw_shape
from .variables import fetch, rebuilt, variable_objects

tf1 = tf.compat.v1


@dataclass
class Made:
    """What a plan has made in the live graph.

    Args:
        graph: the destination.
        ops: names of the new ops.
        variables: new variable op name -> `tf.Variable` object, where it could be built.
        infos: new variable op name -> what it is made of, in names of the destination.
        values: new variable op name -> the value it is to get.
        initial: new variable op names that start from their initial value.
        collections: (name, item) pairs added, in order.
        origin: (source graph, source op name) -> new op name.
    """

    graph: Any
    ops: list[str] = field(default_factory=list)
    variables: dict[str, Any] = field(default_factory=dict)
    infos: dict[str, VariableInfo] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    initial: list[str] = field(default_factory=list)
    collections: list[tuple[str, Any]] = field(default_factory=list)


def carry_out(effect: Effect, graph: Any, resolve_values: Callable[[Any], Any]) -> Made:
    """Adds the copies of an effect to a live graph.

    Args:
        effect: a faultless effect whose base is a snapshot of `graph`.
        graph: the destination `tf.Graph`.
        resolve_values: turns the `values` of a step into a session or mapping (or None).

    Raises:
        StalePlanError: an op the plan touches has changed since it was made.
        PlanError: TensorFlow refuses the nodes, or a value cannot be had. The graph is then as it was.
    """
    if graph.finalized:
        raise PlanError("apply(plan)", "the graph is finalized", "Unfinalize it, or copy into another graph")
    with gc_paused():
        return _carry_out(effect, graph, resolve_values)


def _carry_out(effect: Effect, graph: Any, resolve_values: Callable[[Any], Any]) -> Made:
    # 1. Everything that can fail, before anything changes.
    made = Made(graph)
    for copied in effect.copies:
        _read_values(copied, made, resolve_values)
    new_functions = functions.needed(effect, graph)
    graph_def, tensors, controls = compiled(effect, graph)
    # 2. One import.
    with functions.added(new_functions, graph):
        try:
            import_nodes(graph, graph_def, tensors, controls)
        except Exception as error:
            raise _refusal(error, effect) from error
        # 3. What Python holds beside the nodes.
        made.ops = [n.name for n in graph_def.node]
        try:
            _reserve(graph, effect)
            for copied in effect.copies:
                _attach(copied, graph, made)
        except Exception:
            withdraw(made)
            raise
    return made


def trial(effect: Effect) -> list[Fault]:
    """Asks TensorFlow, in a scratch graph, whether the copies fit where shapes differ from the original's."""
    faults: list[Fault] = []
    if not effect.suspects:
        return faults
    base = effect.plan.base
    scratch = tf.Graph()
    graph_def, tensors, controls = compiled(effect, base.owner)
    stand_ins: dict[tuple[str, int], Any] = {}
    waits: dict[str, Any] = {}
    with scratch.as_default(), tf1.name_scope("stand_ins_of_the_trial"):
        for (name, port), tensor in tensors.items():
            constant = tf.get_static_value(tensor) if tensor.op.type == "Const" else None
            if constant is not None:
                stand_ins[name, port] = tf.constant(constant, dtype=tensor.dtype.base_dtype)
            else:
                stand_ins[name, port] = tf1.placeholder(tensor.dtype.base_dtype, tensor.shape)
        for name in controls:
            waits[name] = tf.no_op()
    for function in functions.needed(effect, scratch):
        function.add_to_graph(scratch)
    try:
        import_nodes(scratch, graph_def, stand_ins, waits, wrap=False)
    except Exception as error:
        copied, old, new = effect.suspects[0]
        a = copied.source.info(*copied.source.tensor(old))
        b = base.info(*base.tensor(new))
        assert a is not None and b is not None
        faults.append(
            Fault(
                f"copy(to={copied.step.to!r}, inputs={{{old!r}: {new!r}}})",
                f"{new!r} is {b}, but {old!r} is {a}: {axis_text(b.shape, a.shape)}. TensorFlow says: {_first(error)}",
                fitting(base, a),
            )
        )
    return faults


def compiled(effect: Effect, graph: Any) -> tuple[Any, dict[tuple[str, int], Any], dict[str, Any]]:
    """Writes all new nodes of an effect into one GraphDef, fully named.

    Returns:
        the GraphDef, the tensors and the control inputs that its nodes take from `graph`.
    """
    graph_def = graph_pb2.GraphDef()
    tensors: dict[tuple[str, int], Any] = {}
    controls: dict[str, Any] = {}
    fresh = set(effect.new_names)
    for copied in effect.copies:
        for placeholder in copied.placeholders:
            graph_def.node.append(_placeholder(copied, placeholder.was, placeholder.name))
        graph_def.node.extend(_nodes(copied, _External(copied, fresh, graph, tensors, controls)))
    _set_inputs(effect, graph_def, fresh, graph, tensors)
    _set_versions(effect, graph_def, graph)
    functions.write_library(effect, graph_def)
    return graph_def, tensors, controls


class _External:
    """How the nodes of one copy name what they read from outside; notes what must be mapped."""

    def __init__(
        self, copied: Copied, fresh: set[str], graph: Any, tensors: dict[tuple[str, int], Any], controls: dict[str, Any]
    ) -> None:
        source = copied.source
        self.texts: dict[str, str] = {}
        for (op, port), (name, new_port) in copied.external.items():
            new = name if new_port == 0 else f"{name}:{new_port}"
            old = source.names[op]
            self.texts[f"{old}:{port}"] = new
            if port == 0:
                self.texts[old] = new
            if name not in fresh:
                tensors[name, new_port] = graph.get_operation_by_name(name).outputs[new_port]
        self.controls = {source.names[i] for i in copied.control_kept}
        for name in self.controls:
            controls[name] = graph.get_operation_by_name(name)
        # An op that a mapped tensor replaces is where its colocated ops go.
        self.places = {source.names[op]: name for (op, _), (name, _) in copied.external.items()}


def _nodes(copied: Copied, external: _External) -> list[Any]:
    source, live = copied.source, copied.source.owner
    prefix = f"{copied.step.to}/" if copied.step.to else ""
    inside = {source.names[i] for i in copied.ops.tolist()}
    texts, keep_controls = external.texts, external.controls
    encoded = prefix.encode()
    clear = copied.step.device == "clear"
    stale: list[str] = []
    out = []
    for number, name in zip(copied.ops.tolist(), copied.names, strict=True):
        node = op_named(live, source.names[number]).node_def
        if node != source.nodes[number] and _differs(node, source.nodes[number]):
            stale.append(source.names[number])
        node.name = name
        if node.input:
            inputs = []
            for text in node.input:
                if text[0] == "^":
                    if text[1:] in inside:
                        inputs.append(f"^{prefix}{text[1:]}")
                    elif text[1:] in keep_controls:
                        inputs.append(text)
                else:
                    new = texts.get(text)
                    inputs.append(prefix + text if new is None else new)
            node.input[:] = inputs
        attributes = node.attr
        if "_class" in attributes:
            _colocate(node, inside, encoded, external.places)
        if encoded and "shared_name" in attributes:
            shared = attributes["shared_name"]
            if shared.s or node.op == "VarHandleOp":
                shared.s = encoded + (shared.s or source.names[number].encode())
        if encoded and "frame_name" in attributes:
            attributes["frame_name"].s = encoded + attributes["frame_name"].s
        if clear:
            node.device = ""
        out.append(node)
    if stale:
        raise StalePlanError(
            f"apply: {copied.step.text}",
            f"{len(stale)} op{'s' * (len(stale) > 1)} changed since the plan was made, {stale[0]!r} first",
            "Open the graph again and make the plan anew",
        )
    return out


def _differs(now: Any, then: Any) -> bool:
    """Whether a node has really changed: TensorFlow writes control inputs in no fixed order."""
    a, b = node_def_pb2.NodeDef(), node_def_pb2.NodeDef()
    for copy, node in ((a, now), (b, then)):
        copy.CopyFrom(node)
        copy.input[:] = [i for i in node.input if i[0] != "^"] + sorted(i for i in node.input if i[0] == "^")
    return bool(a != b)


def _colocate(node: Any, inside: set[str], prefix: bytes, places: dict[str, str]) -> None:
    kept = []
    for place in node.attr["_class"].list.s:
        if not place.startswith(b"loc:@"):
            kept.append(place)
            continue
        name = place[5:].decode()
        if name in inside:
            kept.append(b"loc:@" + prefix + place[5:])
        elif name in places:
            kept.append(b"loc:@" + places[name].encode())
    if kept:
        node.attr["_class"].list.s[:] = kept
    else:
        del node.attr["_class"]


def _placeholder(copied: Copied, was: str, name: str) -> Any:
    tensor = copied.source.owner.as_graph_element(was)
    node = node_def_pb2.NodeDef(name=name, op="Placeholder")
    node.attr["dtype"].type = tensor.dtype.base_dtype.as_datatype_enum
    node.attr["shape"].shape.CopyFrom(tensor.shape.as_proto())
    return node


def _set_inputs(
    effect: Effect, graph_def: Any, fresh: set[str], graph: Any, tensors: dict[tuple[str, int], Any]
) -> None:
    wanted = [c for c in effect.connections if c.to in fresh]
    if not wanted:
        return
    nodes = {n.name: n for n in graph_def.node}
    for connection in wanted:
        name, _, port = connection.tensor.rpartition(":")
        node = nodes[connection.to]
        node.input[connection.input] = name if port == "0" else f"{name}:{port}"
        if name not in fresh:
            tensors[name, int(port)] = graph.get_operation_by_name(name).outputs[int(port)]


def _set_versions(effect: Effect, graph_def: Any, graph: Any) -> None:
    # A GraphDef with a lower producer than the graph's own would lower the graph's: shapes would be inferred by old rules.
    versions = graph.graph_def_versions
    if effect.plan.base.size == 0 and effect.copies:
        versions = effect.copies[0].source.owner.graph_def_versions
        for copied in effect.copies[1:]:
            other = copied.source.owner.graph_def_versions
            if other.producer > versions.producer:
                versions = other
    graph_def.versions.CopyFrom(versions)


def _read_values(copied: Copied, made: Made, resolve_values: Callable[[Any], Any]) -> None:
    source = resolve_values(copied.step.values) if copied.step.values is not None else None
    wanted = [v for v in copied.variables if v.policy == "copy" and source is not None and v.info.initializer]
    asked = f"copy(to={copied.step.to!r}, values=...)"
    values = fetch(source, [v.info for v in wanted], copied.source.owner, asked) if wanted else {}
    for variable in copied.variables:
        if variable.was in values:
            made.values[variable.name] = values[variable.was]
        else:
            made.initial.append(variable.name)
        made.infos[variable.name] = _moved(variable, copied)


def _moved(variable: NewVariable, copied: Copied) -> VariableInfo:
    info = variable.info

    def new(name: str) -> str:
        return copied.renamed(name) if name else ""

    return VariableInfo(
        op=new(info.op),
        initializer=new(info.initializer),
        initial_value=new(info.initial_value),
        snapshot=new(info.snapshot),
        dtype=info.dtype,
        shape=info.shape,
        resource=info.resource,
        trainable=info.trainable,
    )


def _attach(copied: Copied, graph: Any, made: Made) -> None:
    """Gives the copy what Python keeps beside the nodes: shapes, gradients, variables, collections."""
    source = copied.source.owner
    inside = {copied.source.names[i] for i in copied.ops.tolist()}
    pairs = [
        (op_named(source, copied.source.names[i]), op_named(graph, name))
        for i, name in zip(copied.ops.tolist(), copied.names, strict=True)
    ]
    if not _shapes_changed(copied, graph):
        _keep_shapes(pairs)
    functions.keep_gradients(pairs)
    _keep_guards(source, graph, pairs)
    originals = variable_objects(source)
    for variable in copied.variables:
        new = rebuilt(graph, variable.info, originals.get(variable.was), copied.renamed, copied.step.to)
        if new is not None:
            made.variables[variable.name] = new
    by_original = {v.was: made.variables.get(v.name) for v in copied.variables}
    targets = {c.was: c.name for c in copied.collections}
    for was, items in collections_of(source).items():
        if was not in targets:
            continue
        # A copy inside one graph adds to the very lists it reads.
        for item in list(items):
            new = _moved_item(item, copied, graph, inside, by_original)
            if new is not None:
                graph.add_to_collection(targets[was], new)
                made.collections.append((targets[was], new))


def _moved_item(item: Any, copied: Copied, graph: Any, inside: set[str], variables: dict[str, Any]) -> Any:
    if getattr(item, "graph", None) is not copied.source.owner:
        return None
    if isinstance(item, tf.Variable) or hasattr(item, "initializer"):
        return variables.get(item.op.name)
    if hasattr(item, "node_def"):
        return graph.get_operation_by_name(copied.renamed(item.name)) if item.name in inside else None
    if hasattr(item, "value_index"):
        return graph.get_tensor_by_name(copied.renamed(item.name)) if item.op.name in inside else None
    return None


def _shapes_changed(copied: Copied, graph: Any) -> bool:
    """Whether a replaced input has another static shape: then the copy's own shapes are the right ones."""
    for (op, port), (name, new_port) in copied.external.items():
        old = copied.source.owner.get_operation_by_name(copied.source.names[op]).outputs[port]
        if old.shape.as_proto() != graph.get_operation_by_name(name).outputs[new_port].shape.as_proto():
            return True
    return False


def _keep_shapes(pairs: list[tuple[Any, Any]]) -> None:
    """Shapes set by hand (`set_shape`) are not in the nodes: set them on the copies too."""
    for old, new in pairs:
        for a, b in zip(old.outputs, new.outputs, strict=True):
            if raw_shape(a) != raw_shape(b):
                b.set_shape(a.shape)


def _keep_guards(source: Any, graph: Any, pairs: list[tuple[Any, Any]]) -> None:
    """Tensors and ops that TensorFlow forbids to feed or fetch stay forbidden in the copy."""
    ops = getattr(source, "_unfetchable_ops", None)
    tensors = getattr(source, "_unfeedable_tensors", None)
    for old, new in pairs if ops or tensors else ():
        if ops and old in ops:
            graph.prevent_fetching(new)
        for a, b in zip(old.outputs, new.outputs, strict=True) if tensors else ():
            if any(a is t for t in tensors):
                graph.prevent_feeding(b)


def _reserve(graph: Any, effect: Effect) -> None:
    """Takes the scope in Python's table of names, so that nobody is given it by chance."""
    table = names_in_use(graph)
    for copied in effect.copies:
        scope = copied.step.to.lower()
        if scope:
            table.setdefault(scope, 1)


def withdraw(made: Made) -> None:
    """Takes what a plan has made out of the collections; its ops stay behind as orphans."""
    for name, item in reversed(made.collections):
        items = made.graph.get_collection_ref(name)
        at = next((i for i in range(len(items) - 1, -1, -1) if items[i] is item), None)
        if at is not None:
            del items[at]
    empty = [name for name, _ in made.collections if not made.graph.get_collection_ref(name)]
    for name in set(empty):
        made.graph.clear_collection(name)
        made.graph._collections.pop(name, None)


def restore(made: Made) -> None:
    """Puts what `withdraw` took out back into the collections."""
    for name, item in made.collections:
        made.graph.add_to_collection(name, item)


def differences(effect: Effect, after: Graph) -> list[str]:
    """Compares the graph as read back with the one that was predicted; empty when they are equal."""
    wanted = effect.after
    if wanted.fingerprint == after.fingerprint:
        return []
    if wanted.size != after.size:
        return [f"{after.size} ops instead of {wanted.size}"]
    by_name = [n for n in wanted.names if n not in after.index]
    if by_name:
        return [f"{by_name[0]!r} is missing"]
    out = []
    for i, name in enumerate(wanted.names):
        j = after.index[name]
        same = (
            wanted.types[i] == after.types[j]
            and wanted.input_names(i) == after.input_names(j)
            and sorted(wanted.control_names(i)) == sorted(after.control_names(j))
        )
        if not same:
            out.append(f"{name!r} differs")
    return out


def _refusal(error: Exception, effect: Effect) -> PlanError:
    step = effect.copies[0].step if effect.copies else None
    return PlanError(
        f"apply: {step.text if step else 'the plan'}",
        f"TensorFlow refuses the nodes: {_first(error)}",
        "Nothing was changed. plan.preview() shows what was to be made",
    )


def _first(error: Exception) -> str:
    return str(getattr(error, "message", error)).strip().splitlines()[0]
