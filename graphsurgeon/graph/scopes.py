"""Scopes: the tree of name scopes of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .edges import Ints


@dataclass(frozen=True, eq=False)
class Scopes:
    """Name scopes as arrays: scope 0 is the root (``""``), a parent always comes before its children.

    An op whose own name is a scope (``w`` beside ``w/read``) lives inside that scope.

    Args:
        names: full scope names, without a slash at the end.
        parents: number of the parent scope; -1 for the root.
        home: for each op, the scope it lives in.

    Example:
        >>> s = Scopes.of(["a/b", "a/c/d"])
        >>> s.names, s.home.tolist()
        (['', 'a', 'a/c'], [1, 2])
    """

    names: Sequence[str]
    parents: Ints
    home: Ints
    index: Mapping[str, int]

    @classmethod
    def of(cls, op_names: Sequence[str], ops: Mapping[str, int] | None = None) -> Scopes:
        """Builds the tree from op names.

        Args:
            op_names: the names, in the order of the ops.
            ops: name -> number of the op, if it exists already.
        """
        root = cls([""], np.asarray([-1], np.int32), np.empty(0, np.int32), {"": 0})
        return root.extended(op_names, dict(zip(op_names, range(len(op_names)), strict=True)) if ops is None else ops)

    def extended(self, op_names: Sequence[str], ops: Mapping[str, int]) -> Scopes:
        """Returns the tree with more ops; this one is unchanged.

        Args:
            op_names: the names of the ops that come after these.
            ops: name -> number, for all ops.

        Example:
            >>> Scopes.of(["a/b"]).extended(["a/c/d", "a"], {"a/b": 0, "a/c/d": 1, "a": 2}).home.tolist()
            [1, 2, 1]
        """
        index, names, parents = dict(self.index), list(self.names), self.parents.tolist()
        paths = [op.rpartition("/")[0] for op in op_names]
        for path in dict.fromkeys(paths):
            number, new = index.get(path), []  # from the innermost level up to one that is known; never recursion
            while number is None:
                new.append(path)
                path = path.rpartition("/")[0]
                number = index.get(path)
            for path in reversed(new):
                parents.append(number)
                number = index[path] = len(names)
                names.append(path)
        known = len(self.names)
        found = [(ops.get(names[scope]), scope) for scope in range(known, len(names))]
        found += [(ops[op], self.index[op]) for op in op_names if op in self.index] if known > 1 else []
        homes = np.concatenate([self.home, np.asarray([index[path] for path in paths], np.int32)])
        for number, scope in found:
            if number is not None:
                homes[number] = scope
        return Scopes(names, np.asarray(parents, np.int32), homes, index)

    def called(self, name: str) -> list[str]:
        """Returns the scopes of this name, or whose path ends with it, without regard to case; never the root.

        Example:
            >>> Scopes.of(["a/conv/x", "a/Conv/y", "b/conv2/z"]).called("conv"), Scopes.of(["a/b/x"]).called("a/b")
            (['a/conv', 'a/Conv'], ['a/b'])
        """
        end, (paths, starts) = f"/{name.lower()}", self._paths
        line = f"{end}\n"
        found, at = [], paths.find(line)
        while at >= 0:
            found.append(at)
            at = paths.find(line, at + 1)
        numbers = dict.fromkeys(np.searchsorted(starts, found, "right").tolist())
        return [self.names[i] for i in numbers if f"/{self.names[i].lower()}".endswith(end)]  # a name may have any sign

    @cached_property
    def _paths(self) -> tuple[str, Ints]:
        """The scopes but the root in lower case, a line for each with a slash before; and where these begin."""
        lines = [f"/{name.lower()}\n" for name in self.names[1:]]
        return "".join(lines), np.cumsum([0, *map(len, lines)])[:-1]

    @cached_property
    def _preorder(self) -> tuple[Ints, Ints]:
        """For each scope its place in preorder, and the place after its last descendant."""
        parents = self.parents.tolist()
        size = [1] * len(parents)
        for i in range(len(parents) - 1, 0, -1):
            size[parents[i]] += size[i]
        start, following = [0] * len(parents), [1] * len(parents)
        for i in range(1, len(parents)):
            parent = parents[i]
            start[i] = following[parent]
            following[parent] += size[i]
            following[i] = start[i] + 1
        begin = np.asarray(start, np.int32)
        return begin, begin + np.asarray(size, np.int32)

    @cached_property
    def order(self) -> Ints:
        """All ops by scopes in preorder: those of a scope itself, then those below it, each in graph order."""
        return np.argsort(self._preorder[0][self.home], kind="stable").astype(np.int32)

    @cached_property
    def _places(self) -> Ints:
        """For each place in preorder, the number of ops of `order` before the scope there; and the number of all
        ops.
        """
        begin, _ = self._preorder
        return _counted(begin[self.home], len(begin))

    @cached_property
    def spans(self) -> Ints:
        """For each scope, the beginning and end of its ops in `order`, including all levels below."""
        return self._places[np.stack(self._preorder, axis=1)]

    @cached_property
    def counts(self) -> Ints:
        """Number of ops in each scope, all levels below included."""
        return np.diff(self.spans, axis=1)[:, 0]

    @cached_property
    def _children(self) -> tuple[Ints, Ints]:
        above = self.parents[1:]
        return _counted(above, len(self.names)), (np.argsort(above, kind="stable") + 1).astype(np.int32)

    def children(self, scope: int) -> list[int]:
        """Returns the child scopes of a scope, in order of first appearance."""
        ends, below = self._children
        found: list[int] = below[ends[scope] : ends[scope + 1]].tolist()
        return found

    def ops(self, scope: int) -> list[int]:
        """Returns the ops that live directly in a scope, in graph order."""
        at = int(self._preorder[0][scope])
        found: list[int] = self.order[self._places[at] : self._places[at + 1]].tolist()
        return found

    def below(self, scope: int) -> Ints:
        """Returns the ops of a scope and of all scopes below it."""
        a, b = self.spans[scope]
        return self.order[a:b]

    def numbers(self, scope: str) -> list[int]:
        """Returns the numbers of the ops in `scope` and in all scopes below it, in graph order.

        Example:
            >>> Scopes.of(["a/b", "c", "a/d/e"]).numbers("a")
            [0, 2]
        """
        number = self.index.get(scope.rstrip("/"))
        return [] if number is None else sorted(self.below(number).tolist())

    def mask(self, scope: str) -> NDArray[np.bool_]:
        """Returns a mask over ops: those in `scope` and in all scopes below it; all false for no such scope."""
        out = np.zeros(len(self.home), np.bool_)
        number = self.index.get(scope.rstrip("/"))
        if number is not None:
            out[self.below(number)] = True
        return out


def _counted(numbers: Ints, size: int) -> Ints:
    """Returns for each number below `size` how often smaller ones are among these; and how many there are."""
    out = np.zeros(size + 1, np.int32)
    np.cumsum(np.bincount(numbers, minlength=size), out=out[1:])
    return out
