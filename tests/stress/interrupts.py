"""Ctrl+C, or no memory, in the middle of surgery on 20,000 ops, at 200 moments: all of it is as before, or as after.

    python -m tests.stress.interrupts [MOMENTS] [OPS] [SEED] [interrupt|memory]

A moment is a call of Python, drawn by chance from all that the work makes. Exit code 1: something was half done.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import tensorflow as tf

import graphsurgeon as gs
from benchmarks.graphs import layered, tf1


class Work(NamedTuple):
    """What is interrupted.

    Args:
        do: does it.
        state: what must be as before, or as after.
        again: does it again after an interrupt, as somebody would; returns the state then.
    """

    do: Callable[[], Any]
    state: Callable[[], Any]
    again: Callable[[], Any]


def nodes_of(graph_def: Any) -> list[Any]:
    """Returns the nodes of a GraphDef: name, op type, inputs."""
    return [(node.name, node.op, tuple(node.input)) for node in graph_def.node]


def held(ed: Any) -> Any:
    """Returns the nodes of an editor's graph, its collections, its history, and whether the live graph agrees."""
    graph = ed.graph
    nodes = nodes_of(ed.graph_def())
    live = {op.name for op in graph.get_operations()} - set(ed.orphans)
    kept = {key: list(map(str, graph.get_collection(key))) for key in graph.get_all_collection_keys()}
    history = [(event.number, event.text, event.undone) for event in ed.history]
    return nodes, kept, history, live == {name for name, _, _ in nodes} == set(ed.select().names)


class Bench:
    """The graphs that are worked on.

    Args:
        size: how many ops.
        folder: where files go.
    """

    def __init__(self, size: int, folder: Path) -> None:
        self._folder = folder
        self._source = gs.open(layered(size))
        self._block = self._source.select()
        self._other = gs.open(layered(100))

    def apply(self) -> Work:
        """Copies all of it into an empty graph."""
        ed = gs.open(tf.Graph())
        plan = ed.plan().copy(self._block, to="a")

        def again() -> Any:
            if ed.orphans:  # their names are taken
                ed.apply(ed.plan().copy(self._block, to="b"))
            elif not ed.history:
                ed.apply(plan)
            return ed.history[-1].undone, len(ed.select()) - len(self._block)

        return Work(lambda: ed.apply(plan), lambda: held(ed), again)

    def undo(self) -> Work:
        """Takes the copy back."""
        ed = gs.open(tf.Graph())
        ed.apply(ed.plan().copy(self._block, to="a"))

        def again() -> Any:
            if not ed.history[-1].undone:
                ed.undo()
            ed.redo()
            return held(ed)

        return Work(ed.undo, lambda: held(ed), again)

    def rename(self) -> Work:
        """Renames a scope: the graph is made anew."""
        ed = gs.open(self._source.graph)
        plan = ed.plan().rename("block_0", to="first")

        def again() -> Any:
            if not ed.history:
                ed.apply(plan)
            return held(ed)

        return Work(lambda: ed.apply(plan), lambda: held(ed), again)

    def unrename(self) -> Work:
        """Takes that back."""
        ed = gs.open(self._source.graph)
        ed.apply(ed.plan().rename("block_0", to="first"))

        def again() -> Any:
            if not ed.history[-1].undone:
                ed.undo()
            return held(ed)

        return Work(ed.undo, lambda: held(ed), again)

    def connect(self) -> Work:
        """Connects two graphs in a third: the two stay as they are."""
        parts = {"a": self._source, "b": self._other}

        def do() -> Any:
            return gs.connect(parts, {"a/out:0": "b/x:0"}, values={"a": "initial", "b": "initial"})

        return Work(do, lambda: (held(self._source), held(self._other)), lambda: held(do()))

    def save(self) -> Work:
        """Saves it over an older file, which is there before, or the new one."""
        path = self._folder / "m.pb"
        path.write_bytes(b"old")

        def state() -> Any:
            data = path.read_bytes()
            new = data if data == b"old" else nodes_of(tf1.GraphDef.FromString(data))
            return held(self._source), os.listdir(self._folder), new

        def do() -> Any:
            return self._source.save(path, overwrite=True, verify=False)

        def again() -> Any:
            do()
            return state()

        return Work(do, state, again)


WORKS = ("apply", "undo", "rename", "unrename", "connect", "save")


def _no_memory() -> None:
    raise MemoryError


#: What may happen at a moment, and the errors that it may end in.
HAPPENS: dict[str, tuple[Callable[[], None], tuple[type[BaseException], ...]]] = {
    "interrupt": (lambda: signal.raise_signal(signal.SIGINT), (KeyboardInterrupt,)),
    "memory": (_no_memory, (MemoryError, gs.SurgeryError)),
}


@contextmanager
def signalled_at(number: int, happens: str = "interrupt") -> Iterator[list[int]]:
    """Lets something happen at the call of this number in this thread; gives a list that counts them all.

    Args:
        number: of the call; 0: nothing happens.
        happens: the signal of Ctrl+C, or that there is no memory: a key of `HAPPENS`.
    """
    calls, act = [0], HAPPENS[happens][0]

    def count(_frame: Any, event: str, _argument: Any) -> None:
        calls[0] += event == "call"
        if event == "call" and calls[0] == number:
            act()

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores the signal
    sys.setprofile(count)
    try:
        yield calls
    finally:
        sys.setprofile(None)
        signal.signal(signal.SIGINT, handler)


def interrupted(
    bench: Bench, name: str, moments: int, seed: int = 0, happens: str = "interrupt"
) -> Iterator[tuple[int, str, str]]:
    """Interrupts one work again and again.

    Args:
        bench: what is worked on.
        name: the work: one of `WORKS`.
        moments: how often.
        seed: decides when.
        happens: what interrupts it, a key of `HAPPENS`.

    Yields:
        (call at which, how it was found, what is wrong with that, or nothing).
    """
    for _ in range(2):  # what is done the first time only is no part of it
        whole = getattr(bench, name)()
        before = whole.state()
        with signalled_at(0) as calls:
            whole.do()
    after, again = whole.state(), whole.again()
    rng = random.Random(f"{seed} {name}")
    for _ in range(moments):
        at, work = rng.randint(1, calls[0]), getattr(bench, name)()
        stopped = False
        try:
            with signalled_at(at, happens):
                work.do()
        except HAPPENS[happens][1]:
            stopped = True
        found = work.state()
        how = "as before" if found == before else "as after" if found == after else "half done"
        problem = "" if found in (before, after) and (stopped or found == after) else how
        if not problem and work.again() != again:
            problem = f"{how}, and doing it again does not lead where it should"
        yield at, how, problem


def main(moments: int = 200, size: int = 20_000, seed: int = 0, happens: str = "interrupt") -> int:
    """Interrupts each work so many times in all, and prints what was found."""
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(size, Path(folder))
        for number, name in enumerate(WORKS):
            found = []
            for at, how, problem in interrupted(bench, name, len(range(number, moments, len(WORKS))), seed, happens):
                found.append(how)
                if problem:
                    bad += 1
                    print(f"{name} of {size:,} ops, at call {at:,}: {problem}", flush=True)
            reported = ", ".join(f"{found.count(how)} {how}" for how in sorted(set(found)))
            print(f"{name} of {size:,} ops: {len(found)} interrupts, {reported}", flush=True)
    return bool(bad)


if __name__ == "__main__":
    given = [int(text) if text.isdigit() else text for text in sys.argv[1:5]]
    sys.exit(main(*given))  # type: ignore[arg-type]
