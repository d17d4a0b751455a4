"""Renamed: the names of ops, tensors, boxes and fold keys after ops were renamed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from ..graph.graph import Graph


def names_changed(was: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    """Returns which ops have other names: name then -> name now.

    Args:
        was, now: op of the opened graph -> its name, if it changed.

    Example:
        >>> names_changed({"a": "b", "c": "d"}, {"c": "e"})
        {'d': 'e', 'b': 'a'}
    """
    ends = ((was.get(op, op), now.get(op, op)) for op in {**now, **was})
    return {old: new for old, new in ends if old != new}


def following(renamed: Mapping[str, str], graph: Graph) -> Callable[[str], str]:
    """Returns a function that returns the new name of an op, a tensor, a box or a fold key.

    A scope is renamed with its ops, unless some of them keep their names.

    Args:
        renamed: op -> its new name.
        graph: the graph in which they have the new names.

    Example:
        >>> new = following({"a/b/x": "a/new/x"}, Graph.of([("a/new/x", "NoOp", []), ("a/y", "NoOp", [])]))
        >>> [new(name) for name in ("a/b/x:0", "^a/b/x", "a/b/", "~a/b/c_[0..3]", "a/", "a/y")]
        ['a/new/x:0', '^a/new/x', 'a/new/', '~a/new/c_[0..3]', 'a/', 'a/y']
    """
    scopes: dict[str, str] = {}
    for old, now in renamed.items():
        a, b = old, now
        scopes[f"{a}/"] = f"{b}/"
        while "/" in a and "/" in b and a.rpartition("/")[2] == b.rpartition("/")[2]:
            a, b = a.rpartition("/")[0], b.rpartition("/")[0]
            scopes.setdefault(f"{a}/", f"{b}/")

    def new(name: str) -> str:
        path = name.lstrip("~^")
        op, colon, port = path.partition(":")
        if op in renamed:
            return name[: len(name) - len(path)] + renamed[op] + colon + port
        end = path.rfind("/") + 1
        while end:
            scope = path[:end]
            if scope in scopes and scope[:-1] not in graph.scopes.index:
                return name[: len(name) - len(path)] + scopes[scope] + path[end:]
            end = path.rfind("/", 0, end - 1) + 1
        return name

    return new


def renamed_keys(keys: Iterable[str], renamed: Mapping[str, str], graph: Graph) -> frozenset[str]:
    """Returns fold keys as they are once ops have other names.

    Args:
        keys: the fold keys.
        renamed, graph: as for `following`.
    """
    return frozenset(map(following(renamed, graph), keys)) if renamed else frozenset(keys)
