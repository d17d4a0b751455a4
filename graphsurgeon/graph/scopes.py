"""Scopes: the tree of name scopes of a graph."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray


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
    parents: NDArray[np.int32]
    home: NDArray[np.int32]
    index: Mapping[str, int]

    @classmethod
    def of(cls, op_names: Sequence[str], ops: Mapping[str, int] | None = None) -> Scopes:
        """Builds the tree from op names."""
        index, names, parents = {"": 0}, [""], [-1]
        home = []
        for op in op_names:
            scope = op.rpartition("/")[0]
            number = index.get(scope)
            if number is None:
                parent, start = 0, 0
                while start <= len(scope):  # one step for each new level; never recursion
                    end = scope.find("/", start)
                    end = len(scope) if end < 0 else end
                    part = scope[:end]
                    number = index.get(part)
                    if number is None:
                        number = index[part] = len(names)
                        names.append(part)
                        parents.append(parent)
                    parent, start = number, end + 1
                number = parent
            home.append(number)
        for i, op in enumerate(op_names):
            inside = index.get(op)
            if inside:
                home[i] = inside
        return cls(names, np.asarray(parents, np.int32), np.asarray(home, np.int32), index)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """Number of ops in each scope, all levels below included."""
        total = np.bincount(self.home, minlength=len(self.names)).astype(np.int64)
        for i in range(len(self.names) - 1, 0, -1):
            total[self.parents[i]] += total[i]
        return total

    @cached_property
    def children(self) -> list[list[int]]:
        """Child scopes of each scope, in order of first appearance."""
        out: list[list[int]] = [[] for _ in self.names]
        for i, parent in enumerate(self.parents.tolist()):
            if parent >= 0:
                out[parent].append(i)
        return out

    @cached_property
    def ops(self) -> list[list[int]]:
        """Ops that live directly in each scope, in graph order."""
        out: list[list[int]] = [[] for _ in self.names]
        for op, scope in enumerate(self.home.tolist()):
            out[scope].append(op)
        return out

    def below(self, scope: int) -> NDArray[np.bool_]:
        """Returns a mask over scopes: this one and all below it."""
        inside = np.zeros(len(self.names), np.bool_)
        inside[scope] = True
        stack = list(self.children[scope])
        while stack:
            i = stack.pop()
            inside[i] = True
            stack.extend(self.children[i])
        return inside

    def numbers(self, scope: str) -> list[int]:
        """Returns the numbers of the ops in `scope` and in all scopes below it, in graph order.

        Example:
            >>> Scopes.of(["a/b", "c", "a/d/e"]).numbers("a")
            [0, 2]
        """
        number = self.index.get(scope.rstrip("/"))
        stack, found = [] if number is None else [number], list[int]()
        while stack:
            at = stack.pop()
            found += self.ops[at]
            stack += self.children[at]
        return sorted(found)

    def mask(self, scope: str) -> NDArray[np.bool_]:
        """Returns a mask over ops: those in `scope` and in all scopes below it; all false for no such scope."""
        number = self.index.get(scope.rstrip("/"))
        if number is None:
            return np.zeros(len(self.home), np.bool_)
        return self.below(number)[self.home]
