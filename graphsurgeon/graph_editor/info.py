"""The state of a transformation, and its result: the copies of ops and tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from functools import cached_property, partial
from typing import Any

from ..graph.names import free_name
from ..graph.tf_types import TFGraph, TFSession
from ..tf import graph_parts
from . import util
from .util import WrongValue, as_values, expected


class TensorMap(MutableMapping[Any, Any]):
    """A dict with tensors as keys, compared by identity, because tensors of function graphs cannot be hashed."""

    def __init__(self, pairs: Any = ()) -> None:
        self._held: dict[int, tuple[Any, Any]] = {}
        for key, value in pairs:
            self[key] = value

    def __getitem__(self, key: Any) -> Any:
        return self._held[id(key)][1]

    def __setitem__(self, key: Any, value: Any) -> None:
        self._held[id(key)] = (key, value)

    def __delitem__(self, key: Any) -> None:
        del self._held[id(key)]

    def __contains__(self, key: object) -> bool:
        return id(key) in self._held

    def __iter__(self) -> Iterator[Any]:
        return (key for key, _ in self._held.values())

    def __len__(self) -> int:
        return len(self._held)


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
        return isinstance(key, graph_parts.Tensor) and key.op in self._ops

    def __iter__(self) -> Iterator[Any]:
        return (t for op in self._ops for t in op.outputs)

    def __len__(self) -> int:
        return sum(len(op.outputs) for op in self._ops)


def unique_name(graph: TFGraph, name: str) -> str:
    """Returns a name if it is free in a graph, else the first free name of ``name_1``, ``name_2``, and so on."""
    return free_name(name, partial(graph_parts.is_name_taken, graph), as_tensorflow=True)


class CopyNames(Mapping[str, str]):
    """Source op -> name of its copy; source tensor -> name of its placeholder.

    Args:
        info: the `TmpInfo`.
    """

    def __init__(self, info: Any) -> None:
        self._info = info
        self._known: dict[str, str] = {}
        self._given: set[str] = set()
        ops = sorted(info.sgv.ops, key=graph_parts.number_of)
        if info.fresh and not info.scope:  # they are unique, because the names in the source are
            self._known = {op.name: info.scope_ + op.name for op in ops}
            self._given = set(map(str.lower, self._known.values()))
            return
        for op in ops:
            self._known[op.name] = self._unique(info.new_name(op.name))

    def _unique(self, wish: str) -> str:
        def is_taken(name: str) -> bool:
            there = not self._info.fresh and graph_parts.is_name_taken(self._info.graph_, name)
            return name.lower() in self._given or there

        name = free_name(wish, is_taken, as_tensorflow=True)
        self._given.add(name.lower())
        return name

    def __getitem__(self, key: str) -> str:
        """Returns the new name, also for ops outside the view that are copied too."""
        if key not in self._known:
            info = self._info
            op, colon, port = key.partition(":")
            if colon:
                wish = util.named_placeholder(op, int(port), info.scope_)
            else:
                wish = info.scope_ + op.removeprefix(info.scope)
            self._known[key] = self._unique(wish)
        return self._known[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class TmpInfo:
    """The argument `info` of the handlers of a `Transformer`.

    It has `sgv`, `ops`, `sgv_inputs_set`, `graph` and `scope` of the source; `graph_` and `scope_` of the destination;
    and in `transformed_ops` and `transformed_ts` the copies made so far.

    Args:
        sgv: the view to transform.
        dst_graph: the destination graph.
        dst_scope, src_scope: the final scopes, empty or with a slash at the end.
        fresh: whether the destination scope is new.
    """

    def __init__(self, sgv: Any, dst_graph: Any, dst_scope: str, src_scope: str, fresh: bool) -> None:
        self.sgv, self.fresh = sgv, fresh
        self.graph, self.scope, self.graph_, self.scope_ = sgv.graph, src_scope, dst_graph, dst_scope
        self.transformed_ops: dict[Any, Any] = {}
        self.transformed_ts: Any = TensorMap()
        self.given = TensorMap()
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
        return util.ControlOutputs(self.graph)

    @cached_property
    def collections(self) -> dict[Any, list[Any]]:
        """The collections of the source before the transformation."""
        return graph_parts.collections_in(self.graph)

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
        if not isinstance(name, str) or name in util.get_predefined_collection_names():
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
        self._given = info.given
        self._back: dict[int, Any] | None = None

    def transformed(self, original: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """Returns the copy of an op, tensor or variable.

        Args:
            original: an op, a tensor, a variable, or the name of one; or a tree of them, for a result of the same form.
            missing_fn: called with an op or tensor without a copy; the default returns None.

        Raises:
            TypeError: `original` has another type.
        """
        return util.transform_tree(
            original,
            lambda top: _counterpart(graph_parts.unwrap(top), self._graph, self._graph_, self._new, missing_fn),
        )

    def original(self, transformed: Any, missing_fn: Callable[[Any], Any] | None = None) -> Any:
        """Returns the original of an op, tensor or variable of the copy.

        Args:
            transformed: an op or tensor of the copy, or a tree of them.
            missing_fn: called with an op or tensor that is not a copy; the default returns None.
        """
        return util.transform_tree(
            transformed,
            lambda top: _counterpart(graph_parts.unwrap(top), self._graph_, self._graph, self._old, missing_fn),
        )

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
            return graph_parts.carry_values(names, source, session)

    def _new(self, key: Any) -> Any:
        maps = (self._given, self._transformed_ts) if isinstance(key, graph_parts.Tensor) else (self._transformed_ops,)
        return next((mapping[key] for mapping in maps if key in mapping), None)

    def _old(self, key: Any) -> Any:
        if self._back is None:
            pairs = [*self._given.items(), *self._transformed_ops.items(), *self._transformed_ts.items()]
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


def _counterpart(top: Any, here: Any, there: Any, lookup: Callable[[Any], Any], missing_fn: Any) -> Any:
    """Returns the counterpart of an op, tensor or variable of one graph, or of the name of one, in another graph."""
    if graph_parts.is_variable_object(top):
        op = lookup(top.op)
        variable = None if op is None else graph_parts.variable_objects(there).get(op.name)
    else:
        variable = lookup(_element(here, top))
    return missing_fn(top) if variable is None and missing_fn is not None else variable


def _element(graph: TFGraph | None, top: Any) -> Any:
    if isinstance(top, str):
        try:
            return None if graph is None else graph.as_graph_element(top)
        except (KeyError, ValueError):
            return None
    if top is not None and not isinstance(top, graph_parts.Tensor | graph_parts.Operation):
        raise expected("transformed(...)", "a tf.Tensor, a tf.Operation, a tf.Variable or a name", top)
    return top
