"""Fuzzing: spoilt files are opened and copied in a process of their own, so that one that dies or hangs is known.

``python -m tests.tf.fuzzing own 17`` does mutation 17 of our own graphs alone and shows all of its error;
``python -m tests.tf.fuzzing zoo 0 100000`` does these of the zoo, shows what must not be, and counts.
"""

from __future__ import annotations

import faulthandler
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from tests.needs import ROOT

SECONDS = 20.0  # of the process alone, however busy the machine is
MEMORY = 4 << 30
LIFE = 1500  # mutations until a fresh process: TensorFlow never forgets a function
_TELLING = ("Check failed", "Fatal Python error", "terminate called", "what():", "graphsurgeon/")
ALLOWED = ("copied", "OpenError", "PlanError")


class Result(NamedTuple):
    """What became of one mutation."""

    number: int
    seconds: float
    outcome: str
    story: str

    @property
    def allowed(self) -> bool:
        """Whether this may be: it worked, or it was refused in our own words, in time."""
        return self.outcome in ALLOWED and self.seconds < SECONDS


def results(group: str, first: int, last: int) -> Iterator[Result]:
    """Yields what became of the mutations from `first` up to, without, `last`.

    Args:
        group: what is spoilt: graphs of our ``own``, ``real`` ones of the corpus, or a ``zoo`` of all op types.
        first, last: numbers of mutations.
    """
    while first < last:
        for result in _process(group, first, min(last, first + LIFE)):
            first = result.number + 1
            yield result


def _process(group: str, first: int, last: int) -> Iterator[Result]:
    """Runs one process until it has done its part, dies or hangs."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    command = [sys.executable, "-u", "-m", "tests.tf.fuzzing", "--worker", group, str(first), str(last)]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=errors, text=True, errors="replace"
        )
        assert process.stdout is not None
        lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
        number, story, wait = first, "before the first mutation", 600.0
        try:
            while True:
                try:
                    line = lines.get(timeout=wait)
                except queue.Empty:
                    process.kill()
                    yield Result(number, wait, "hung", story)
                    return
                kind, _, rest = line.rstrip("\n").partition("\t")
                if kind == "start":
                    text, _, story = rest.partition("\t")
                    number, wait = int(text), 10 * SECONDS
                elif kind == "done":
                    seconds, outcome = rest.split("\t", 1)
                    yield Result(number, float(seconds), outcome, story)
                    if number + 1 == last:
                        return
                elif not line:
                    errors.seek(0)
                    said = errors.read()
                    if process.wait() == 1:
                        raise RuntimeError(f"the fuzzing itself is broken: {said}")
                    telling = [t for t in said.splitlines() if any(word in t for word in _TELLING)]
                    yield Result(number, 0.0, f"died with {process.wait()}: {'; '.join(telling[:6])}", story)
                    return
        finally:
            process.kill()
            process.wait()


def _read(stream: IO[str], lines: queue.Queue[str]) -> None:
    for line in stream:
        lines.put(line)
    lines.put("")


# -- in the other process -------------------------------------------------------------------------


def _work(group: str, first: int, last: int) -> None:
    import resource

    from tests.tf.bases import GROUPS
    from tests.tf.mutate import mutant

    faulthandler.enable()
    bases = GROUPS[group]()
    attempt(bases[0].data, bases[0].file)  # all that is loaded late is there before memory is counted
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    for number in range(first, last):
        found = mutant(number, bases)
        print("start", number, found.story.replace("\n", " ").replace("\t", " ")[:400], sep="\t", flush=True)
        start = time.process_time()
        try:
            outcome = attempt(found.data, found.file)
        except BaseException as error:
            frames = [f for f in traceback.extract_tb(error.__traceback__) if "graphsurgeon" in f.filename]
            last_call = (frames or traceback.extract_tb(error.__traceback__))[-1]
            place = f"{os.path.basename(last_call.filename)}:{last_call.lineno}"
            outcome = f"{type(error).__name__} at {place}: {str(error)[:300]}".replace("\n", " ").replace("\t", " ")
        print("done", f"{time.process_time() - start:.3f}", outcome, sep="\t", flush=True)


def attempt(data: bytes, name: str) -> str:
    """Opens a file, looks at it, copies all of it to another graph; returns how far that went."""
    import tensorflow as tf

    import graphsurgeon as gs

    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, name)
        with open(path, "wb") as file:
            file.write(data)
        try:
            ed = gs.open(folder if name == "saved_model.pb" else path)
        except gs.OpenError:
            return "OpenError"
    assert str(ed)
    everything = ed.select()
    dst = gs.open(tf.Graph())
    plan = dst.plan().copy(everything, to="copy")
    assert str(plan)
    try:
        if not plan.check():
            assert not plan.check()
        dst.apply(plan)
    except gs.PlanError:
        return "PlanError"
    return "copied"


def _one(group: str, number: int) -> None:
    from tests.tf.bases import GROUPS
    from tests.tf.mutate import mutant

    found = mutant(number, GROUPS[group]())
    print(found.story)
    print(attempt(found.data, found.file))


def _count(group: str, first: int, last: int) -> None:
    counts: Counter[str] = Counter()
    slowest: Any = None
    for result in results(group, first, last):
        counts[result.outcome if result.outcome in ALLOWED else "other"] += 1
        slowest = max(slowest or result, result, key=lambda r: r.seconds)
        if not result.allowed:
            print(f"{result.number}: {result.seconds:.1f} s: {result.outcome}\n    {result.story}", flush=True)
    print(f"{group} {first} to {last}: {dict(counts)}; slowest {slowest.seconds:.1f} s ({slowest.number})", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--worker":
        _work(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        os._exit(0)
    elif len(sys.argv) == 3:
        _one(sys.argv[1], int(sys.argv[2]))
    else:
        _count(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
