"""Trees: nested lists, tuples, dicts and named tuples of ops and tensors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

from ..tf.elements import Operation, SymbolicTensor, Tensor, bare, is_variable_object
from .faults import expected

_LEAVES = (str, bytes, Operation, Tensor)


def concatenate_unique(la: list[Any], lb: Any) -> list[Any]:
    """Appends to `la` what it does not have yet of `lb`, in order, and returns it.

    Example:
        >>> concatenate_unique([1, 2], [2, 3, 3])
        [1, 2, 3]
    """
    fresh = list(lb)
    if not la and {SymbolicTensor}.issuperset(map(type, fresh)):
        la.extend(dict(zip(map(id, fresh), fresh, strict=True)).values())
        return la
    seen = set(map(_key, la))
    for item in map(bare, fresh):
        key = _key(item)
        if key not in seen:
            la.append(item)
            seen.add(key)
    return la


def _key(item: Any) -> Any:
    # Tensors of function graphs cannot be hashed; all others are told apart by identity anyway.
    return (id(item), Tensor) if isinstance(item, Tensor) else item


class ListView:
    """A list that is only read.

    Example:
        >>> view = ListView([1, 2])
        >>> len(view), view[0], list(view), view + [3]
        (2, 1, [1, 2], [1, 2, 3])
    """

    def __init__(self, list_: Any) -> None:
        if not isinstance(list_, list):
            raise expected("ListView(...)", "a list", list_)
        self._list = list_

    def __iter__(self) -> Any:
        return iter(self._list)

    def __len__(self) -> int:
        return len(self._list)

    def __bool__(self) -> bool:
        return bool(self._list)

    def __getitem__(self, i: Any) -> Any:
        return self._list[i]

    def __contains__(self, item: object) -> bool:
        return any(item is own for own in self._list)

    def __add__(self, other: Any) -> list[Any]:
        return [*self, *other]

    def __repr__(self) -> str:
        return f"ListView({self._list!r})"


def is_iterable(obj: Any) -> bool:
    """Returns whether an object can be iterated; a tensor counts as one thing."""
    if isinstance(obj, Tensor):
        return False
    try:
        iter(obj)
    except Exception:
        return False
    return True


def is_leaf(obj: Any) -> bool:
    """Returns whether an object is one thing in a tree: text, an op, a tensor, a variable, all that is not iterable."""
    return isinstance(obj, _LEAVES) or is_variable_object(obj) or not is_iterable(obj)


def flatten_tree(tree: Any, leaves: list[Any] | None = None) -> list[Any]:
    """Returns the leaves of a tree in order; appended to `leaves` where that is given.

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
        tree: nested dicts, tuples, named tuples, sequences; their types are kept.
        fn: called with each leaf.
        iterable_type: what other iterables become.

    Example:
        >>> transform_tree({"a": [1, (2, 3)], "b": 4}, lambda n: n + 1)
        {'a': [2, (3, 4)], 'b': 5}
    """
    if is_leaf(tree):
        return fn(tree)
    if isinstance(tree, dict):
        pairs = {key: transform_tree(child, fn, iterable_type) for key, child in tree.items()}
        new = copy.copy(tree)  # keeps what the type knows beside its items, as a default
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
