"""Boxes: the parts of a picture: boxes, groups (unfolded scopes) and edges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from .text import broken


@dataclass
class Box:
    """A rectangle of an op, a scope, a series or a variable; sizes in px."""

    id: str
    kind: str
    name: str
    label: str
    sub: str
    count: int
    family: str
    group: int = -1
    state: str = ""
    outputs: int = 0
    hidden: dict[str, int] = field(default_factory=dict)
    detail: str = ""
    beside: str = ""
    x: float = 0.0
    y: float = 0.0
    w: float = 0.0
    h: float = 0.0

    @property
    def lines(self) -> list[str]:
        """The drawn label: one line, or two if it is long."""
        return broken(self.label)


@dataclass
class Group:
    """An unfolded scope or series, drawn as a frame with a heading; `group` is the one around it."""

    id: str
    name: str
    label: str
    count: int
    depth: int
    group: int = -1
    state: str = ""
    x: float = 0.0
    y: float = 0.0
    w: float = 0.0
    h: float = 0.0


@dataclass
class Edge:
    """All tensors (or control inputs) that go from one box to another; `quiet` ones are drawn faint."""

    id: str
    source: str
    target: str
    n: int
    control: bool
    tensors: list[str]
    state: str = ""
    label: str = ""
    quiet: bool = False
    d: str = ""
    lx: float = 0.0
    ly: float = 0.0
    texts: list[str] = field(default_factory=list)  # dtype and shape of each of `tensors`


def frames(groups: Sequence[Group], group: int) -> Iterator[int]:
    """Yields the number of a group and of those around it, the innermost first."""
    while group >= 0:
        yield group
        group = groups[group].group
