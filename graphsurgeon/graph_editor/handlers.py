"""The default handlers of a `Transformer`, its results, and transformation op by op."""

from __future__ import annotations

from collections import UserDict
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from functools import cached_property, partial
from typing import Any

from ..graph.names import free_name
from ..graph.types import TFGraph, TFOp, TFSession
from ..tf.copy.imports import rollback_on_error
from ..tf.edit.edit_in_place import connect
from ..tf.graph_parts import (
    Operation,
    Tensor,
    add_op,
    adopt_functions,
    carry_values,
    collections_in,
    context_of,
    copy_node,
    is_name_taken,
    is_placed,
    is_variable_object,
    number_of,
    originals_of,
    placeholder,
    rebuild_variables,
    same_shapes,
    set_original,
    unwrap,
    variable_objects,
)
from .reroute import add_control_inputs
from .util import (
    ControlOutputs,
    WrongType,
    WrongValue,
    as_values,
    get_predefined_collection_names,
    named_placeholder,
    placeholder_name,
    transform_tree,
    type_error,
    warn,
)


def replace_t_with_placeholder_handler(info: Any, t: Any) -> Any:
    """Returns the placeholder for a tensor, which all its consumers share.

    Args:
        info: the `TransformerInfo` of the copy.
        t: the tensor from outside.
    """
    if t not in info.placeholders:
        name = unique_name(info.graph_, placeholder_name(t, scope=info.scope_))
        info.placeholders[t] = placeholder(info.graph_, t.dtype, t.shape, name)
    return info.placeholders[t]


def keep_t_if_possible_handler(info: Any, t: Any) -> Any:
    """Returns the tensor itself for a copy within one graph, else a placeholder.

    Args:
        info: the `TransformerInfo` of the copy.
        t: the tensor from outside.
    """
    return t if info.graph is info.graph_ else replace_t_with_placeholder_handler(info, t)


def assign_renamed_collections_handler(info: Any, elem: Any, elem_: Any) -> None:
    """Adds an op or tensor to the collections of its original. Names of custom collections get the scope as prefix.

    Args:
        info: the `TmpInfo`.
        elem, elem_: the original, and the new op or tensor.
    """
    for name in info.homes(elem):
        info.graph_.add_to_collection(info.new_collection(name), elem_)


def transform_op_if_inside_handler(info: Any, op: TFOp, keep_if_possible: bool = True) -> Any:
    """Returns the copy of an op of the view. An op outside is returned itself within one graph, else None.

    Args:
        info: the `TmpInfo`.
        op: the op.
        keep_if_possible: False to return None for any op outside.
    """
    if op in info.ops or op in info.transformed_ops:  # ops that were also copied are not in the view
        return info.transformed_ops[op]
    return op if keep_if_possible and info.graph is info.graph_ else None


def copy_op_handler(
    info: Any, op: TFOp, new_inputs: Any, copy_shape: bool = True, nodedef_fn: Callable[[Any], Any] | None = None
) -> tuple[Any, Any]:
    """Copies an op.

    Args:
        info: the `TmpInfo`.
        op: the op.
        new_inputs: the tensors of the destination for the copy to read.
        copy_shape: whether to keep static shapes that were set by hand, if the inputs have the same shapes.
        nodedef_fn: called with the NodeDef of the copy; returns the NodeDef to use.

    Returns:
        the new op, and its outputs.

    Raises:
        TypeError: `new_inputs` is a bool, as in very old code.
    """
    if isinstance(new_inputs, bool):
        raise WrongType("copy_op_handler(info, op, new_inputs)", "new_inputs must be an iterable of tensors",
                        "Give copy_shape by its name")  # fmt: skip
    new_inputs = list(new_inputs)
    name, places = unique_name(info.graph_, info.new_name(op.name)), {}
    if is_placed(op):
        places = {op.name: name, **{old.name: new.name for old, new in info.transformed_ops.items()}}
    node = copy_node(op, name, info.key, places)
    node = node if nodedef_fn is None else nodedef_fn(node)
    new = add_op(info.graph_, node, new_inputs)
    if copy_shape and same_shapes(op.inputs, new_inputs):
        for old, output in zip(op.outputs, new.outputs, strict=False):
            output.set_shape(old.shape)
    return new, new.outputs


# -- calling handlers -----------------------------------------------------------------------------


def place(info: Any, transformer: Any, pairs: Iterable[tuple[Any, Any]]) -> None:
    """Calls the handler that adds new ops and their outputs to collections.

    Args:
        info: the `TmpInfo`.
        transformer: the `Transformer`.
        pairs: pairs of an op and its copy.
    """
    handler = transformer.assign_collections_handler
    for old, new in pairs:
        handler(info, old, new)
        for t, t_ in zip(old.outputs, new.outputs, strict=True):
            handler(info, t, t_)


def note_originals(info: Any, transformer: Any, pairs: Sequence[tuple[Any, Any]]) -> None:
    """Sets the original ops of new ops; the arguments are the same as for `place`."""
    handler = transformer.transform_original_op_handler
    originals = originals_of([old for old, _ in pairs])
    for (_, new), original in originals and zip(pairs, originals, strict=True):
        original_copy = None if original is None else handler(info, original)
        if original_copy is not None:
            set_original(new, original_copy)


def run(info: Any, transformer: Any, replacements: Mapping[Any, Any]) -> list[Any]:
    """Transforms the view of an info with the handlers of a transformer.

    If a handler fails, the Python state of the ops is restored. Ops that were already made stay, because TensorFlow
    cannot delete ops.

    Args:
        info: the `TmpInfo`, to which the copies of ops and tensors are added.
        transformer: the handlers.
        replacements: tensors of the source -> tensors of the destination.

    Returns:
        the new ops in order.

    Raises:
        ValueError: a handler returns its argument instead of a new op.
    """
    with rollback_on_error(info.graph_):
        info.replacement_ts = mapping = TensorMap(replacements.items())
        waiting: list[tuple[Any, Any, Any]] = []
        ops = sorted(info.sgv.ops, key=number_of)
        first = unique_name(info.graph_, info.new_name(ops[0].name)) if ops else ""
        info.key = info.scope_ if info.fresh and info.scope_ else f"{first}/"
        adopt_functions(info.graph, info.graph_)
        for op in ops:
            inputs = [_tensor(info, transformer, mapping, waiting, t, op) for t in op.inputs]
            new, outputs = transformer.transform_op_handler(info, op, inputs)
            new = unwrap(new)
            if new is op:
                raise WrongValue(f"transform_op_handler(info, {op.name!r})", "in-place transformation is not allowed",
                                 "Return a new op")  # fmt: skip
            info.transformed_ops[op] = new
            transformer.assign_collections_handler(info, op, new)
            for t, t_ in zip(op.outputs, outputs, strict=False):
                info.transformed_ts[t] = t_ = unwrap(t_)
                transformer.assign_collections_handler(info, t, t_)
        changes = []
        for t, consumer, inputs in waiting:
            at = next(i for i, own in enumerate(inputs) if own is t)
            changes.append((info.transformed_ops[consumer], at, info.transformed_ts[t]))
        with as_values():
            connect(changes, "closing the loops of a copy")
        note_originals(info, transformer, [(op, info.transformed_ops[op]) for op in ops])
        for op in ops:
            new = info.transformed_ops[op]
            controls = [transformer.transform_control_input_handler(info, control) for control in op.control_inputs]
            there = {None, *new.control_inputs}
            add_control_inputs(new, [control for control in dict.fromkeys(controls) if control not in there])
        names = {old.name: new.name for old, new in info.transformed_ops.items()}
        rebuild_variables(info.graph, info.graph_, names, info.scope_.rstrip("/"), info.new_collection)
        if any(context_of(op) is not None for op in ops):
            warn("loops and conds that a transform_op_handler makes have no gradients: use copy for these")
        return list(info.transformed_ops.values())


def _tensor(info: Any, transformer: Any, mapping: Any, back_edges: list[Any], t: Any, consumer: Any) -> Any:
    """Returns the tensor that a new op reads instead of `t`. Handlers are called once for each tensor from outside."""
    if t in mapping:
        return mapping[t]
    if t in info.transformed_ts:
        return info.transformed_ts[t]
    if t.op in info.ops:  # the op follows later: this edge closes a loop
        if consumer.type in ("Merge", "RefMerge") and t is not consumer.inputs[0]:
            stand_in = _tensor(info, transformer, mapping, back_edges, consumer.inputs[0], consumer)
        else:
            stand_in = placeholder(info.graph_, t.dtype, t.shape, unique_name(
                info.graph_, f"{info.scope_}geph_tmp__{t.op.name.rpartition('/')[2]}_{t.value_index}"))  # fmt: skip
        back_edges.append((t, consumer, list(consumer.inputs)))
        return stand_in
    mapping[t] = transformer.external_handler(t in info.sgv_inputs_set)(info, t)
    return mapping[t]


class TensorMap(UserDict[Any, Any]):
    """A dict with tensors as keys, compared by identity, because tensors of function graphs cannot be hashed."""

    def __getitem__(self, key: Any) -> Any:
        return self.data[id(key)][1]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[id(key)] = (key, value)

    def __delitem__(self, key: Any) -> None:
        del self.data[id(key)]

    def __contains__(self, key: object) -> bool:
        return id(key) in self.data

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self.data.values())


class OutputMap(Mapping[Any, Any]):
    """Output of an op -> the same output of another op.

    Args:
        ops: op -> op with the same outputs.
    """

    def __init__(self, ops: Mapping[Any, Any]) -> None:
        self._ops = ops

    def __getitem__(self, key: Any) -> Any:
        return self._ops[key.op].outputs[key.value_index]

    def __contains__(self, key: object) -> bool:
        return isinstance(key, Tensor) and key.op in self._ops

    def __iter__(self) -> Iterator[Any]:
        return (t for op in self._ops for t in op.outputs)

    def __len__(self) -> int:
        return sum(len(op.outputs) for op in self._ops)


def unique_name(graph: TFGraph, name: str) -> str:
    """Returns a name if it is free in a graph, else the first free name of ``name_1``, ``name_2``, and so on."""
    return free_name(name, partial(is_name_taken, graph), as_tensorflow=True)


class CopyNames(Mapping[str, str]):
    """Source op -> name of its copy; source tensor -> name of its placeholder.

    Args:
        info: the `TmpInfo`.
    """

    def __init__(self, info: Any) -> None:
        self._info = info
        self._names: dict[str, str] = {}
        self._used_names: set[str] = set()
        ops = sorted(info.sgv.ops, key=number_of)
        if info.fresh and not info.scope:  # they are unique, because the names in the source are
            self._names = {op.name: info.scope_ + op.name for op in ops}
            self._used_names = set(map(str.lower, self._names.values()))
            return
        for op in ops:
            self._names[op.name] = self._unique(info.new_name(op.name))

    def _unique(self, preferred: str) -> str:
        def is_taken(name: str) -> bool:
            there = not self._info.fresh and is_name_taken(self._info.graph_, name)
            return name.lower() in self._used_names or there

        name = free_name(preferred, is_taken, as_tensorflow=True)
        self._used_names.add(name.lower())
        return name

    def __getitem__(self, key: str) -> str:
        """Returns the new name, also for ops outside the view that are copied too."""
        if key not in self._names:
            info = self._info
            op, colon, port = key.partition(":")
            if colon:
                wish = named_placeholder(op, int(port), info.scope_)
            else:
                wish = info.scope_ + op.removeprefix(info.scope)
            self._names[key] = self._unique(wish)
        return self._names[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


class TmpInfo:
    """The argument `info` of the handlers of a `Transformer`.

    It has `sgv`, `ops`, `sgv_inputs_set`, `graph` and `scope` of the source; `graph_` and `scope_` of the destination;
    and in `transformed_ops` and `transformed_ts` the copies made so far.

    Args:
        sgv: the view to transform.
        dst_graph: the destination graph.
        dst_scope, src_scope: the final scopes, empty or with a slash at the end.
        new_scope: whether the destination scope is new.
    """

    def __init__(self, sgv: Any, dst_graph: Any, dst_scope: str, src_scope: str, new_scope: bool) -> None:
        self.sgv, self.fresh = sgv, new_scope
        self.graph, self.scope, self.graph_, self.scope_ = sgv.graph, src_scope, dst_graph, dst_scope
        self.transformed_ops: dict[Any, Any] = {}
        self.transformed_ts: Any = TensorMap()
        self.replacement_ts = TensorMap()
        self.placeholders: MutableMapping[Any, Any] = TensorMap()
        self.tmp_cyclic_ts: list[tuple[Any, Any, Any]] = []

    @cached_property
    def ops(self) -> frozenset[Any]:
        """The ops of the view."""
        return frozenset(self.sgv.ops)

    @cached_property
    def sgv_inputs_set(self) -> Any:
        """The inputs of the view."""
        return TensorMap((t, t) for t in self.sgv.inputs).keys()

    @cached_property
    def control_outputs(self) -> Any:
        """The control outputs of the source."""
        return ControlOutputs(self.graph)

    @cached_property
    def collections(self) -> dict[Any, list[Any]]:
        """The collections of the source before the transformation."""
        return collections_in(self.graph)

    @cached_property
    def _homes(self) -> dict[int, list[Any]]:
        homes: dict[int, list[Any]] = {}
        for name, items in self.collections.items():
            for item in items:
                homes.setdefault(id(item), []).append(name)
        return homes

    def homes(self, elem: Any) -> list[Any]:
        """Returns the names of the collections of the source that contain an element."""
        return self._homes.get(id(elem), [])

    def new_name(self, name: str) -> str:
        """Returns the name in the destination for a name in the source; it may not be unique.

        Raises:
            ValueError: the name is not in the source scope.
        """
        if not name.startswith(self.scope):
            raise WrongValue(f"copy(..., src_scope={self.scope!r})", f"{name!r} does not belong to source scope "
                             f"{self.scope!r}", "Choose a scope that contains all ops of the view")  # fmt: skip
        return self.scope_ + name[len(self.scope) :]

    def new_collection(self, name: Any) -> Any:
        """Returns the name of a collection for the copy. Names of custom collections get the scope as prefix."""
        if not isinstance(name, str) or name in get_predefined_collection_names():
            return name
        return self.scope_ + name.removeprefix(self.scope)


class TransformerInfo:
    """The copies of the ops and tensors of a view, and the tensors that replace its inputs.

    Args:
        info: a `TmpInfo` of the finished transformation.
    """

    def __init__(self, info: Any) -> None:
        self._graph, self._scope, self._graph_, self._scope_ = info.graph, info.scope, info.graph_, info.scope_
        self._transformed_ops, self._transformed_ts = info.transformed_ops, info.transformed_ts
        self._replacements = info.replacement_ts
        self._back: dict[int, Any] | None = None

    def transformed(self, original: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """Returns the copy of an op, tensor or variable.

        Args:
            original: an op, a tensor, a variable, or the name of one; or a tree of them, for a result of the same form.
            missing_fn: called with an op or tensor without a copy; the default returns None.

        Raises:
            TypeError: `original` has another type.
        """
        return self._counterparts(original, self._graph, self._graph_, self._new, missing_fn)

    def original(self, transformed: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """Returns the original of an op, tensor or variable of the copy.

        Args:
            transformed: an op or tensor of the copy, or a tree of them.
            missing_fn: called with an op or tensor that is not a copy; the default returns None.
        """
        return self._counterparts(transformed, self._graph_, self._graph, self._old, missing_fn)

    def _counterparts(self, tree: Any, source: Any, target: Any, lookup: Callable[[Any], Any], missing_fn: Any) -> Any:
        """Returns the counterparts of ops, tensors and variables of one graph, or of their names, in another graph."""

        def counterpart(top: Any) -> Any:
            top = unwrap(top)
            if is_variable_object(top):
                op = lookup(top.op)
                found = None if op is None else variable_objects(target).get(op.name)
            else:
                found = lookup(_element(source, top))
            return missing_fn(top) if found is None and missing_fn is not None else found

        return transform_tree(tree, counterpart)

    def load_values(self, session: TFSession, source: Any = None) -> int:
        """Sets the new variables to the current values of the old variables; returns the number of variables.

        Args:
            session: a session of the graph with the copy.
            source: a session of the graph with the originals; None for the same session.

        Raises:
            ValueError: an original has no value there, or a session is of another graph.
        """
        source = session if source is None else source
        for session_or_editor, graph, word in ((session, self._graph_, "copy"), (source, self._graph, "originals")):
            if session_or_editor.graph is not graph:
                raise WrongValue("load_values(...)", f"a session is not of the graph of the {word}",
                                 "Give load_values(session of the copy, session of the originals)")  # fmt: skip
        names = {old.name: new.name for old, new in self._transformed_ops.items()}
        with as_values():
            return carry_values(names, source, session)

    def _new(self, key: Any) -> Any:
        maps = (self._replacements, self._transformed_ts) if isinstance(key, Tensor) else (self._transformed_ops,)
        return next((mapping[key] for mapping in maps if key in mapping), None)

    def _old(self, key: Any) -> Any:
        if self._back is None:
            pairs = [*self._replacements.items(), *self._transformed_ops.items(), *self._transformed_ts.items()]
            self._back = {id(new): old for old, new in pairs}
        return self._back.get(id(key))

    def __str__(self) -> str:
        lines = ["Transform result info:"]
        if self._graph is self._graph_:
            lines.append(f"  Within graph[{id(self._graph)}]" + " IN-PLACE" * (not self._scope_))
        else:
            lines.append(f"  graph[{id(self._graph)}] => graph[{id(self._graph_)}]")
        if self._scope:
            lines.append(f"  Relative to source scope: {self._scope}")
        if self._scope_:
            lines.append(f"  Scope destination: {self._scope_}")
        lines.append("Operations mapping:")
        lines += [f"  {op.name} => {new.name}" for op, new in self._transformed_ops.items()]
        return "\n".join(lines) + "\n"


def _element(graph: TFGraph | None, top: Any) -> Any:
    if isinstance(top, str):
        try:
            return None if graph is None else graph.as_graph_element(top)
        except (KeyError, ValueError):
            return None
    if top is not None and not isinstance(top, Tensor | Operation):
        raise type_error("transformed(...)", "a tf.Tensor, a tf.Operation, a tf.Variable or a name", top)
    return top
