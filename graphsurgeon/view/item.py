"""Item: the content of one box of a picture: an op, a scope, a series, a variable."""

from __future__ import annotations

from dataclasses import dataclass

from .blocks import heads, stem


@dataclass(frozen=True, eq=False)
class Item:
    """One thing that is a box when folded, and a group of other items when unfolded.

    Args:
        kind: op, call (an op that can be unfolded), scope, block, series or variable.
        name: op name, scope path + "/", or the key of a series or block.
        label: the part of the name that is drawn.
        op: number of the op, for op, call and variable; else -1.
        tops: scopes it holds with everything below.
        bottom: the scope whose items are shown when it is unfolded; -1 for none.
        keys: fold keys that unfold it; empty if nothing is inside.
        members: the items of a series or block.
        alike: whether the members of a series are of one kind.
        first: number of the first op in it.
        leaf: its name among its siblings.
        holds: the text of a fold that is not a scope about its members, or of a call about its function.
    """

    kind: str
    name: str
    label: str
    op: int = -1
    tops: tuple[int, ...] = ()
    bottom: int = -1
    keys: tuple[str, ...] = ()
    members: tuple[Item, ...] = ()
    alike: bool = False
    first: int = 0
    leaf: str = ""
    holds: str = ""

    @property
    def one_op(self) -> bool:
        """Whether it is an op itself."""
        return self.kind in ("op", "call")

    def flat(self) -> list[Item]:
        """Returns the ops and scopes in it, series and blocks taken apart."""
        return self._apart(("series", "block"))

    def units(self) -> list[Item]:
        """Returns the ops, scopes and blocks in it, series taken apart."""
        return self._apart(("series",))

    def blocks(self) -> list[Item]:
        """Returns the blocks that a block is made of; none for all else.

        Scopes are blocks of it if it holds nothing but counted ones, such as Mixed_6a and Mixed_6b.
        """
        inner = [one for member in self.members for one in member.units()] if self.kind == "block" else []
        counted = all(one.kind in ("block", "scope") and one.leaf in heads(one.leaf) for one in inner)
        whole = counted and len({stem(one.leaf) for one in inner}) == 1
        return inner if whole else [one for one in inner if one.kind == "block"]

    def _apart(self, kinds: tuple[str, ...]) -> list[Item]:
        out, stack = [], [self]
        while stack:
            item = stack.pop()
            if item.kind in kinds:
                stack.extend(reversed(item.members))
            else:
                out.append(item)
        return out
