"""Lists and trees of ops and tensors, names of scopes and placeholders, and the errors that old code expects."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

from ..errors import PlanError, SelectionError, StalePlanError, SurgeryError
from ..graph.types import DTypeLike, ShapeLike, TFGraph, TFOp, TFTensor
from ..tf.edit.edit_in_place import journal
from ..tf.graph_parts import (
    Graph,
    Operation,
    SymbolicTensor,
    Tensor,
    executing_eagerly,
    graph_key_names,
    is_variable_object,
    placeholder,
    unwrap,
)

#: One or more ops: an op, a list, or a graph for all its ops. Functions that take ops and tensors accept both.
Ops = TFGraph | TFOp | Iterable[TFOp | TFTensor]
#: One or more tensors: a tensor, a list, or a graph for all its tensors.
Tensors = TFGraph | TFTensor | Iterable[TFTensor]


class WrongType(SurgeryError, TypeError):
    """An argument has a wrong type."""


class WrongValue(PlanError, ValueError):
    """An argument has a value that the call cannot use, or the graph does not allow the edit."""


class NotFound(SelectionError, KeyError):
    """A graph has no op or tensor of this name."""

    def __str__(self) -> str:
        return str(self.args[0])  # a KeyError would quote it


class GraphEditorWarning(UserWarning):
    """A warning about everything that a copy left out or replaced, given once for a call."""


def type_error(request: str, expected: str, actual: Any, kind: Callable[[str, str, str], Any] = WrongType) -> Any:
    """Returns the error for an argument of a wrong type.

    Args:
        request: the request.
        expected: the expected type, for example ``"a tf.Graph"``.
        actual: the argument.
        kind: the class of the error.
    """
    return kind(request, f"expected {expected}, got: {type(actual)}", f"Give {expected}")


def check_type(request: str, obj: object, *types: Any) -> None:
    """Raises the error for an argument that has none of some types."""
    if not isinstance(obj, types):
        names = (("a tf." if one.__module__.startswith("tensorflow") else "a ") + one.__name__ for one in types)
        raise type_error(request, " or ".join(names), obj)


@contextmanager
def as_values() -> Iterator[None]:
    """Converts errors of plans to `ValueError`, as old code expects. `StalePlanError` is raised unchanged."""
    try:
        yield
    except (WrongValue, StalePlanError):
        raise
    except (PlanError, SelectionError) as error:
        raise WrongValue(error.request, error.problem, error.suggestion) from error


def warn(text: str) -> None:
    """Gives a warning at the line outside of this package that led to the call."""
    frame, level = inspect.currentframe(), 1
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("graphsurgeon."):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, GraphEditorWarning, stacklevel=level)


__all__ = [
    "make_list_of_op", "get_tensors", "make_list_of_t", "get_generating_ops", "get_consuming_ops", "ControlOutputs",
    "placeholder_name", "make_placeholder_from_tensor", "make_placeholder_from_dtype_and_shape", "concatenate_unique",
    "ListView", "is_iterable", "flatten_tree", "transform_tree", "check_graphs", "get_unique_graph", "scope_finalize",
    "scope_dirname", "scope_basename", "get_predefined_collection_names", "find_corresponding_elem",
    "find_corresponding",
]  # fmt: skip

_PREFIX = "geph"


def check_graphs(*args: Any) -> None:
    """Checks that all arguments belong to one graph.

    Args:
        args: ops, tensors or views, or any objects with a property `graph`.

    Raises:
        ValueError: an argument belongs to another graph.
    """
    graphs = [thing.graph for thing in args]
    graph = next(filter(None, graphs), None)
    for at, other in enumerate(graphs):
        if other is not None and other is not graph:
            raise WrongValue("check_graphs(...)", f"argument {at} is of another graph", "Give things of one graph")


def get_unique_graph(tops: Any, check_types: Any = None, none_if_empty: bool = False) -> Any:
    """Returns the graph to which all given ops and tensors belong.

    Args:
        tops: an iterable of `tf.Operation` and `tf.Tensor`, or a `tf.Graph`.
        check_types: the allowed type or types; None for ops and tensors.
        none_if_empty: whether to return None for an empty iterable, instead of an error.

    Raises:
        TypeError: an item has another type.
        ValueError: the items are of several graphs, or there are no items.
    """
    if isinstance(tops, Graph):
        return tops
    if not is_iterable(tops):
        raise type_error("get_unique_graph(...)", "an iterable of ops or tensors", tops)
    kinds = (Operation, Tensor) if check_types is None else check_types
    types: tuple[Any, ...] = tuple(kinds) if is_iterable(kinds) else (kinds,)
    tops = list(tops)
    if not all_are(tops, types):
        for top in tops:
            check_type("get_unique_graph(...)", top, *types)
    if not tops:
        if none_if_empty:
            return None
        raise WrongValue("get_unique_graph([])", "an empty list has no graph", "Give at least one op or tensor")
    graph = tops[0].graph
    if not {id(graph)}.issuperset(map(id, map(_GRAPH, tops))):
        other = next(top for top in tops if top.graph is not graph)
        raise WrongValue(
            "get_unique_graph(...)",
            f"{other.name!r} is of another graph than the rest",
            "Give ops and tensors of one graph",
        )
    return graph


_GRAPH = attrgetter("graph")


def all_are(objects: Sequence[Any], types: tuple[Any, ...]) -> bool:
    """Returns whether all things have one of these types; each distinct type is checked once."""
    return all(issubclass(kind, types) for kind in set(map(type, objects)))


def make_list_of_op(ops: Ops, check_graph: bool = True, allow_graph: bool = True, ignore_ts: bool = False) -> list[Any]:
    """Returns a new list of ops from an op, an iterable of ops, or a graph.

    Args:
        ops: the argument to convert.
        check_graph: whether to check that all are of one graph.
        allow_graph: whether a `tf.Graph` may be given for all its ops.
        ignore_ts: whether to leave tensors out silently.

    Raises:
        TypeError: an item has another type.
        ValueError: the items are of several graphs.
    """
    return _list_of(Operation, ops, "make_list_of_op(graph)", check_graph, allow_graph, ignore_ts)


def bare_list(objects: Any) -> list[Any]:
    """Returns a new list of one thing, or of several, without TensorFlow's wrappers of some ops and tensors."""
    items = list(objects) if is_iterable(objects) else [objects]
    return items if all_are(items, (Operation, Tensor)) else list(map(unwrap, items))


def get_tensors(graph: TFGraph) -> list[Any]:
    """Returns all tensors of a graph.

    Args:
        graph: the graph.

    Raises:
        TypeError: `graph` is not a `tf.Graph`.
    """
    check_type("get_tensors(...)", graph, Graph)
    return [tensor for op in graph.get_operations() for tensor in op.outputs]


def make_list_of_t(
    ts: Tensors, check_graph: bool = True, allow_graph: bool = True, ignore_ops: bool = False
) -> list[Any]:
    """Returns a new list of tensors from a tensor, an iterable of tensors, or a graph.

    Args:
        ts: the argument to convert.
        check_graph: whether to check that all are of one graph.
        allow_graph: whether a `tf.Graph` may be given for all its tensors.
        ignore_ops: whether to leave ops out silently.

    Raises:
        TypeError: an item has another type.
        ValueError: the items are of several graphs.
    """
    return _list_of(Tensor, ts, "make_list_of_t(graph)", check_graph, allow_graph, ignore_ops)


def _list_of(
    kind: Any, objects: Any, request: str, check_graph: bool, allow_graph: bool, ignore_others: bool
) -> list[Any]:
    of_ops = kind is Operation
    if isinstance(objects, Graph):
        if not allow_graph:
            how = "Give ops: graph.get_operations()" if of_ops else "Give tensors: get_tensors(graph)"
            raise WrongType(request, "allow_graph is False: a tf.Graph is not taken here", how)
        return list(objects.get_operations()) if of_ops else get_tensors(objects)
    items = bare_list(objects)
    if items and check_graph:
        get_unique_graph(items, None if ignore_others else kind)
    return items if all_are(items, (kind,)) else [thing for thing in items if isinstance(thing, kind)]


def get_generating_ops(ts: Tensors) -> list[Any]:
    """Returns the op that computes each tensor, in order.

    Args:
        ts: tensors.
    """
    return [t.op for t in make_list_of_t(ts, allow_graph=False)]


def get_consuming_ops(ts: Tensors) -> list[Any]:
    """Returns the ops that read the tensors, without duplicates.

    Args:
        ts: tensors.
    """
    return list(dict.fromkeys(op for t in make_list_of_t(ts, allow_graph=False) for op in t.consumers()))


class ControlOutputs:
    """Op -> the ops that wait for it, which is the reverse of control inputs.

    Args:
        graph: a `tf.Graph`.

    Raises:
        TypeError: `graph` is not a `tf.Graph`.
    """

    def __init__(self, graph: TFGraph) -> None:
        check_type("ControlOutputs(...)", graph, Graph)
        self._graph = graph
        self._cache: dict[Any, list[Any]] = {}
        self._state: Any = None
        self.update()

    def update(self) -> ControlOutputs:
        """Reads the graph again if it has grown, or was edited by this package."""
        # The version of a graph does not change if an edge changes.
        state = (self._graph.version, journal(self._graph).count)
        if state != self._state:
            self._cache.clear()
            for op in self._graph.get_operations():
                for before in dict.fromkeys(op.control_inputs):
                    self._cache.setdefault(before, []).append(op)
            self._state = state
        return self

    def get_all(self) -> dict[Any, list[Any]]:
        """Returns op -> ops that wait for it."""
        return self._cache

    def get(self, op: TFOp) -> Any:
        """Returns the ops that wait for an op.

        Args:
            op: the op.
        """
        return self._cache.get(unwrap(op), ())

    @property
    def graph(self) -> Any:
        """The graph."""
        return self._graph


def scope_finalize(scope: str) -> str:
    """Returns a scope with a slash at its end; an empty one stays empty.

    Args:
        scope: the name scope.

    Example:
        >>> scope_finalize("a/b"), scope_finalize("")
        ('a/b/', '')
    """
    return f"{scope}/" if scope and scope[-1] != "/" else scope


def scope_dirname(scope: str) -> str:
    """Returns the scope before the last part of a scope, with a slash at its end.

    Args:
        scope: the name scope.

    Example:
        >>> scope_dirname("a/b/c"), scope_dirname("c")
        ('a/b/', '')
    """
    return scope[: scope.rfind("/") + 1]


def scope_basename(scope: str) -> str:
    """Returns the last part of a scope.

    Args:
        scope: the name scope.

    Example:
        >>> scope_basename("a/b/c"), scope_basename("c")
        ('c', 'c')
    """
    return scope[scope.rfind("/") + 1 :]


def placeholder_name(t: TFTensor | None = None, scope: str | None = None, prefix: str = _PREFIX) -> str:
    """Returns the name of the placeholder of a tensor, for example ``foo/geph__b_0`` for ``foo/b:0``.

    Args:
        t: the tensor; None to use only the prefix as the name.
        scope: the scope of the placeholder; None for the scope of the tensor; empty for no scope.
        prefix: the prefix of the name, which is not added twice.

    Raises:
        TypeError: `t` is not a tensor.
    """
    scope = None if scope is None else scope_finalize(scope)
    if t is None:
        return f"{scope or ''}{prefix}"
    check_type("placeholder_name(...)", t, Tensor)
    return named_placeholder(t.op.name, t.value_index, scope, prefix)


def named_placeholder(op: str, port: int, scope: str | None, prefix: str = _PREFIX) -> str:
    """Returns the same as `placeholder_name`, from the name of the op and the number of its output."""
    base = scope_basename(op)
    leaf = base if base.startswith(f"{prefix}__") else f"{prefix}__{base}_{port}"
    return (scope_dirname(op) if scope is None else scope) + leaf


def make_placeholder_from_tensor(t: TFTensor, scope: str | None = None, prefix: str = _PREFIX) -> Any:
    """Makes a placeholder for a tensor, in the default graph, or without one, in the graph of the tensor.

    Args:
        t: a `tf.Tensor`, which determines dtype, shape and name.
        scope, prefix: see `placeholder_name`.

    Raises:
        TypeError: `t` is not a tensor.
    """
    name = placeholder_name(t, scope, prefix)
    return placeholder(t.graph if executing_eagerly() else None, t.dtype, t.shape, name)


def make_placeholder_from_dtype_and_shape(
    dtype: DTypeLike, shape: ShapeLike | None = None, scope: str | None = None, prefix: str = _PREFIX
) -> Any:
    """Makes a placeholder named ``geph`` in the default graph.

    Args:
        dtype, shape: its dtype and shape.
        scope, prefix: see `placeholder_name`.
    """
    return placeholder(None, dtype, shape, placeholder_name(scope=scope, prefix=prefix))


def get_predefined_collection_names() -> list[str]:
    """Returns the names of the collections that TensorFlow predefines."""
    return graph_key_names()


def find_corresponding_elem(
    target: TFOp | TFTensor, dst_graph: TFGraph, dst_scope: str = "", src_scope: str = ""
) -> Any:
    """Returns the op or tensor of the same name in another graph.

    Args:
        target: a `tf.Operation` or `tf.Tensor`.
        dst_graph: the graph to search.
        dst_scope: a scope to add before the name.
        src_scope: a scope to remove from the name first.

    Raises:
        ValueError: the name does not begin with `src_scope`.
        TypeError: `target` has another type.
        KeyError: the graph has no op or tensor of this name.
    """
    request = f"find_corresponding({getattr(target, 'name', target)!r})"
    check_type(request, target, Tensor, Operation)
    name, src_scope = target.name, scope_finalize(src_scope)
    if not name.startswith(src_scope):
        raise WrongValue(request, f"{name!r} does not start with {src_scope!r}", "Choose a scope that it is in")
    name = scope_finalize(dst_scope) + name[len(src_scope) :]
    try:
        return dst_graph.as_graph_element(name)
    except KeyError as error:
        raise NotFound(request, f"the graph has no {name!r}", "Choose another scope") from error


def find_corresponding(targets: Any, dst_graph: TFGraph, dst_scope: str = "", src_scope: str = "") -> Any:
    """Returns the ops and tensors of the same names in another graph, for a tree of them.

    Args:
        targets: ops or tensors, a list or a tree of them.
        dst_graph: the graph to search.
        dst_scope: the scope there.
        src_scope: the scope of the targets, which `dst_scope` replaces.
    """
    return transform_tree(targets, lambda top: find_corresponding_elem(top, dst_graph, dst_scope, src_scope))


# -- trees --


_LEAVES = (str, bytes, Operation, Tensor)


def concatenate_unique(la: list[Any], lb: Iterable[Any]) -> list[Any]:
    """Appends to `la` the items of `lb` that it does not contain yet, in order, and returns `la`.

    Args:
        la: the first list.
        lb: the second list.

    Example:
        >>> concatenate_unique([1, 2], [2, 3, 3])
        [1, 2, 3]
    """
    fresh = list(lb)
    if not la and {SymbolicTensor}.issuperset(map(type, fresh)):
        la.extend(dict(zip(map(id, fresh), fresh, strict=True)).values())
        return la
    keys = set(map(_key, la))
    for item in map(unwrap, fresh):
        key = _key(item)
        if key not in keys:
            la.append(item)
            keys.add(key)
    return la


def _key(item: Any) -> Any:
    # Tensors of function graphs cannot be hashed; other tensors are compared by identity anyway.
    return (id(item), Tensor) if isinstance(item, Tensor) else item


class ListView:
    """A read-only list.

    Example:
        >>> view = ListView([1, 2])
        >>> len(view), view[0], list(view), view + [3]
        (2, 1, [1, 2], [1, 2, 3])
    """

    def __init__(self, list_: Any) -> None:
        check_type("ListView(...)", list_, list)
        self._list = list_

    def __iter__(self) -> Any:
        return iter(self._list)

    def __len__(self) -> int:
        return len(self._list)

    def __getitem__(self, i: Any) -> Any:
        return self._list[i]

    def __contains__(self, item: object) -> bool:
        return any(item is own for own in self._list)

    def __add__(self, other: Any) -> list[Any]:
        return [*self, *other]

    def __repr__(self) -> str:
        return f"ListView({self._list!r})"


def is_iterable(obj: Any) -> bool:
    """Returns whether an object can be iterated; a tensor counts as not iterable.

    Args:
        obj: any object.
    """
    if isinstance(obj, Tensor):
        return False
    try:
        iter(obj)
    except Exception:
        return False
    return True


def is_leaf(obj: object) -> bool:
    """Returns whether an object is a leaf of a tree: text, an op, a tensor, a variable, or not iterable."""
    return isinstance(obj, _LEAVES) or is_variable_object(obj) or not is_iterable(obj)


def flatten_tree(tree: Any, leaves: list[Any] | None = None) -> list[Any]:
    """Returns the leaves of a tree in order.

    Args:
        tree: nested lists, tuples and dicts.
        leaves: a list to add the leaves to, which is returned. Default: a new list.

    Example:
        >>> flatten_tree({"a": [1, (2, 3)], "b": "text"})
        [1, 2, 3, 'text']
    """
    leaves = [] if leaves is None else leaves
    todo = [tree]
    while todo:
        node = todo.pop()
        if is_leaf(node):
            leaves.append(node)
        else:
            todo += reversed(list(node.values() if isinstance(node, dict) else node))
    return leaves


def transform_tree(tree: Any, fn: Callable[[Any], Any], iterable_type: Callable[..., Any] = tuple) -> Any:
    """Returns a tree of the same form, with `fn` applied to each leaf.

    Args:
        tree: nested dicts, tuples, named tuples and sequences; their types are kept.
        fn: called with each leaf.
        iterable_type: the type for other iterables.

    Example:
        >>> transform_tree({"a": [1, (2, 3)], "b": 4}, lambda n: n + 1)
        {'a': [2, (3, 4)], 'b': 5}
    """
    if is_leaf(tree):
        return fn(tree)
    if isinstance(tree, dict):
        pairs = {key: transform_tree(child, fn, iterable_type) for key, child in tree.items()}
        new = copy.copy(tree)  # keeps other attributes of the type, such as a default
        new.clear()
        new.update(pairs)
        return new
    children = [transform_tree(child, fn, iterable_type) for child in tree]
    if isinstance(tree, tuple):
        kind: Any = type(tree)
        return kind(*children) if hasattr(tree, "_fields") else tuple.__new__(kind, children)
    if isinstance(tree, Sequence):
        try:
            return type(tree)(children)  # type: ignore[call-arg]
        except TypeError:
            return children if isinstance(tree, list) else iterable_type(children)
    return iterable_type(children)
