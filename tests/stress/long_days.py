"""Long days: what people do again and again, as often as in months; memory and time of a step stay as they were.

    python -m tests.stress.long_days [NAME...]

Without names, all of it: editors and widgets opened and closed, applies and undos, plans on a large graph, updates of a
duplicate. Exit code 1: something grows, or is left.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tensorflow as tf

import graphsurgeon as gs
from benchmarks.graphs import layered, tf1

Step = Callable[[int], Any]
#: A day -> how often.
COUNTS = {"editors and widgets": 500, "applies and undos": 2_000, "plans": 500, "updates": 10_000}
_COUNTED = ("threads", "processes", "files", "comms", "folders")
#: What may be left of a day in use and in all, and by how much a step may become slower: caches and the collector take
#: some. `tf.import_graph_def` of the same graph alone, 400 times, leaves 0.1 kB in use each time, and holes in memory
#: that come and go: these are given back before it is measured.
USED, MEGABYTES, SLOWER = 3.0, 30.0, 1.5


@dataclass(frozen=True)
class Left:
    """What a process holds.

    Args:
        objects: those of Python.
        used: megabytes that are in use of what the allocator of the system gives; 0 where it does not say.
        megabytes: of memory, after what is free of it has been given back.
        threads, processes, files, comms, folders: how many; folders are those in the one for temporary files.
    """

    objects: int
    used: float
    megabytes: float
    threads: int
    processes: int
    files: int
    comms: int
    folders: int

    @classmethod
    def now(cls) -> Left:
        """Counts, after a collection."""
        import comm

        gc.collect()
        used = _used()
        with open("/proc/self/statm") as file:
            pages = int(file.read().split()[1])
        tasks = os.listdir("/proc/self/task")
        children = [Path(f"/proc/self/task/{task}/children").read_text().split() for task in tasks]
        return cls(
            len(gc.get_objects()),
            used / 1e6,
            pages * os.sysconf("SC_PAGESIZE") / 1e6,
            len(tasks),
            sum(map(len, children)),
            len(os.listdir("/proc/self/fd")),
            len(comm.get_comm_manager().comms),
            len(os.listdir(tempfile.gettempdir())),
        )


class _Allocated(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost",
    ))  # fmt: skip


def _used() -> int:
    """Bytes in use, of those that glibc gives; it then gives back what it can. Python keeps small objects elsewhere."""
    system = ctypes.CDLL(None)
    if not hasattr(system, "mallinfo2"):
        return 0
    system.mallinfo2.restype = _Allocated
    found = system.mallinfo2()
    system.malloc_trim(0)
    return int(found.uordblks + found.hblkhd)


@dataclass(frozen=True)
class Day:
    """What a day has cost.

    Args:
        steps: how many it had, after the first tenth.
        first, last: what there was after a tenth of its steps, and after all of them.
        early, late: milliseconds of a step, in the second and in the last tenth; of the processor.
    """

    steps: int
    first: Left
    last: Left
    early: float
    late: float

    @property
    def left(self) -> dict[str, float]:
        """What there is more at the end, at least one for ten steps: a pool may have started another thread."""
        more = {name: getattr(self.last, name) - getattr(self.first, name) for name in _COUNTED}
        return {name: count for name, count in more.items() if 10 * count >= self.steps}


def day(step: Step, count: int) -> Day:
    """Takes so many steps, each with its number; `count` is ten or more."""
    tenth = count // 10
    for number in range(tenth):
        step(number)
    first = Left.now()
    times = []
    for start in range(tenth, count, tenth):
        began = time.process_time()
        for number in range(start, min(start + tenth, count)):
            step(number)
        times.append(1000 * (time.process_time() - began) / (min(start + tenth, count) - start))
    return Day(count - tenth, first, Left.now(), times[0], min(times[-2:]))


# -- the days -------------------------------------------------------------------------------------


def editors_and_widgets(size: int = 500) -> Step:
    """Opens a file, shows it, unfolds a scope, closes the widget, and lets go of both."""
    path = Path(tempfile.mkdtemp(), "m.pb")
    path.write_bytes(layered(size).as_graph_def().SerializeToString())

    def step(_number: int) -> None:
        ed = gs.open(path)
        widget = ed.view()
        ed.screen.traits()
        ed.screen.unfold("block_0/")
        ed.apply(ed.plan().rename("out", to="end"))
        widget.close()

    return step


def applies_and_undos(size: int = 500) -> Step:
    """Renames a scope and takes that back."""
    ed = gs.open(layered(size).as_graph_def())

    def step(_number: int) -> None:
        ed.apply(ed.plan().rename("block_0", to="first"))
        ed.undo()

    return step


def plans(size: int = 5_000) -> Step:
    """Plans a copy of all of it beside itself, and looks at what that would do."""
    ed = gs.open(layered(size).as_graph_def())

    def step(_number: int) -> None:
        plan = ed.plan().copy(ed.select(scope="block_0"), to="again", inputs={"x:0": "x:0"}).rename("out", to="end")
        assert not plan.check(), plan.check()
        str(plan)

    return step


def updates(_size: int = 0) -> Step:
    """Trains a step and brings the values over."""
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", [100], initializer=tf1.zeros_initializer())
        learn = w.assign_add(tf.ones([100]))
    session = tf1.Session(graph=graph)
    session.run(w.initializer)
    replica = gs.duplicate(session)

    def step(number: int) -> None:
        replica.train(learn)
        assert replica.update()
        assert replica.run(w)[0] == number + 1

    return step


DAYS: dict[str, Callable[..., Step]] = {
    "editors and widgets": editors_and_widgets,
    "applies and undos": applies_and_undos,
    "plans": plans,
    "updates": updates,
}


@contextmanager
def apart() -> Iterator[None]:
    """Lets journals and temporary files go to a folder of their own, which is gone afterwards."""
    before, setting = tempfile.tempdir, os.environ.get("GRAPHSURGEON_JOURNALS")
    with tempfile.TemporaryDirectory() as folder:
        tempfile.tempdir = os.path.join(folder, "temporary")
        os.mkdir(tempfile.tempdir)
        os.environ["GRAPHSURGEON_JOURNALS"] = os.path.join(folder, "journals")
        try:
            yield
        finally:
            tempfile.tempdir = before
            os.environ.pop("GRAPHSURGEON_JOURNALS")
            if setting is not None:
                os.environ["GRAPHSURGEON_JOURNALS"] = setting


def main(names: list[str]) -> int:
    """Has the days named, and prints what each has cost."""
    bad = 0
    for name in names or DAYS:
        with apart():
            found = day(DAYS[name](), COUNTS[name])
        used = found.last.used - found.first.used
        grown = found.last.megabytes - found.first.megabytes
        wrong = [f"{more} {what} left" for what, more in found.left.items()]
        wrong += [f"{used:.0f} MB more in use"] * (used > USED)
        wrong += [f"{grown:.0f} MB more"] * (grown > MEGABYTES)
        wrong += ["slower"] * (found.late > SLOWER * found.early)
        bad += bool(wrong)
        print(
            f"{name}: {COUNTS[name]:,} steps, {found.early:.2f} ms each, at the end {found.late:.2f} ms; "
            f"{found.first.used:.1f} MB in use, at the end {found.last.used:.1f} MB, "
            f"of {found.first.megabytes:.0f} MB, at the end {found.last.megabytes:.0f} MB; "
            f"objects {found.first.objects:,}, at the end {found.last.objects:,}; "
            f"{found.last.threads} threads, {found.last.processes} processes, {found.last.files} files, "
            f"{found.last.comms} comms, {found.last.folders} temporary folders: {', '.join(wrong) or 'nothing left'}",
            flush=True,
        )
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
