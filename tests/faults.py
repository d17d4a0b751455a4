"""Faults: each call that the engine makes to Python or TensorFlow fails once, before or after it has done its work."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from tests.needs import ROOT

PACKAGE = str(ROOT / "graphsurgeon") + "/"
#: What opens and closes a block: nothing in Python can stand between a block and its end.
_BLOCKS = ("__enter__", "__exit__", "enable")
#: Calls that look and change nothing: a failure of theirs is that of the call before or after.
_LOOKS = frozenset(
    {
        "isinstance", "issubclass", "len", "getattr", "hasattr", "get", "items", "values", "keys", "startswith", "str",
        "endswith", "partition", "rpartition", "removeprefix", "removesuffix", "encode", "decode", "tolist", "id",
        "iter", "next", "zip", "HasField", "WhichOneof", "lower", "strip", "rstrip", "splitlines", "join", "vars",
        "perf_counter", "sorted", "all", "any", "helper", "copy", "__iter__", "__len__", "__del__", "__get__", "__eq__",
        "_remove",  # what a weak set does when something in it goes: no failure of it reaches anybody
        "__instancecheck__", "__getattr__", "__hash__", "", "parent", "_find_and_load", "_handle_fromlist",
        "_getattribute",
    }
)  # fmt: skip


class Point(NamedTuple):
    """One call: where the engine makes it, what it calls, which time, and whether it fails before or after its work."""

    file: str
    function: str
    line: int
    callee: str
    when: str
    time: int

    def __str__(self) -> str:
        return f"{self.when} {self.callee} in {self.function} at {self.file}:{self.line}, time {self.time}"


def points(action: Callable[[], Any], files: tuple[str, ...], times: str = "ends") -> list[Point]:
    """Returns the calls that the engine makes while `action` runs: each place, some of the times.

    Args:
        action: what to watch.
        files: paths inside the package, or folders; calls made from elsewhere are not counted.
        times: which times of a place: its two ``ends``, the ``last`` or ``all``.
    """
    seen: dict[Point, int] = {}

    def note(point: Point) -> None:
        seen[point] = seen.get(point, 0) + 1

    with _watched(note, files):
        action()
    found = []
    for point, count in seen.items():
        chosen = {"ends": sorted({1, count}), "last": [count], "all": range(1, count + 1)}[times]
        found += [point._replace(time=t) for t in chosen]
    return found


@contextmanager
def failing(point: Point, error: BaseException) -> Iterator[list[bool]]:
    """Makes one call of the block fail; gives a list that is filled when it has."""
    count, hit, sought = 0, [], point._replace(time=0)

    def strike(now: Point) -> None:
        nonlocal count
        if not hit and now == sought:
            count += 1
            if count == point.time:
                hit.append(True)
                raise error

    with _watched(strike, (point.file,)):
        yield hit


@contextmanager
def _watched(note: Callable[[Point], None], files: tuple[str, ...]) -> Iterator[None]:
    paths = tuple(PACKAGE + name for name in files)
    watched: dict[str, str] = {}  # path of a file -> its path in the package; nothing where it is not watched

    def profile(frame: Any, event: str, arg: Any) -> None:
        if event in ("call", "return"):
            caller = frame.f_back
            if caller is None or frame.f_code.co_filename.startswith(PACKAGE):
                return
        elif event in ("c_call", "c_return"):
            caller = frame
        else:
            return
        code = caller.f_code
        path = code.co_filename
        file = watched.get(path)
        if file is None:
            file = watched[path] = path.removeprefix(PACKAGE) if path.startswith(paths) else ""
        if not file:
            return
        callee = arg.__name__ if caller is frame else frame.f_code.co_name
        if callee in _BLOCKS or callee in _LOOKS or code.co_name == "<module>":
            return
        when = "before" if event in ("c_call", "call") else "after"
        note(Point(file, code.co_name, caller.f_lineno, callee, when, 0))

    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)
