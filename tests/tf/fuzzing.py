"""Fuzzing: spoilt files go through all stages in processes of their own, so that one that dies or hangs is known.

``python -m tests.tf.fuzzing own 17`` does mutation 17 of our own graphs alone, in all stages, and shows all of its
error; `tools/fuzz.py` does as many as there is time for.
"""

from __future__ import annotations

import faulthandler
import json
import os
import pickle
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from tests.needs import ROOT

SECONDS = 20  # of the processor, however busy the machine is
WAIT = 600  # seconds by the clock, for what waits for something that never comes
MEMORY = 4 << 30
LIFE = 1000  # files until a fresh process: TensorFlow never forgets a function
_TELLING = ("Check failed", "Fatal Python error", "terminate called", "what():", "graphsurgeon/", "tests/tf/stages")


class Result(NamedTuple):
    """What became of one file.

    Args:
        number: of the mutation.
        outcome: ``opened``, ``refused``, or what must not be: how it ended and where.
        story: what was done to the file.
        kinds: of which kinds that was.
        stages: each stage that it came to, and how that ended: done, refused, or nothing where it ended there.
        seconds: of the processor.
    """

    number: int
    outcome: str
    story: str
    kinds: Sequence[str]
    stages: Sequence[Sequence[str]]
    seconds: float

    @property
    def allowed(self) -> bool:
        """Whether this may be: it worked, or it was refused in our own words, in time."""
        return self.outcome in ("opened", "refused")


def results(group: str, first: int, last: int, always: Iterable[str] = ()) -> Iterator[Result]:
    """Yields what became of the mutations from `first` up to, without, `last`.

    Args:
        group: what is spoilt: a key of `tests.tf.bases.GROUPS`; or ``finds``, which are taken as they are.
        first, last: numbers of mutations.
        always: stages that every file comes to.
    """
    command = [sys.executable, "-u", "-m", "tests.tf.fuzzing", "--work", group, str(first), str(last), *always]
    about: dict[str, Any] = {"cwd": ROOT, "stdout": subprocess.PIPE, "text": True, "start_new_session": True}
    with tempfile.TemporaryDirectory(prefix="fuzz", ignore_cleanup_errors=True) as folder:  # for what the dead leave
        environment = {**os.environ, "TMPDIR": folder, "PYTHONHASHSEED": "0", "CUDA_VISIBLE_DEVICES": "-1"}
        about["env"] = environment | {"TF_CPP_MIN_LOG_LEVEL": "3"}
        with tempfile.TemporaryFile("w+") as errors, subprocess.Popen(command, stderr=errors, **about) as process:
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    yield Result(*json.loads(line))
            finally:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
            if process.wait():
                errors.seek(0)
                raise RuntimeError(f"the fuzzing itself is broken: {errors.read()[-3000:]}")


def sign(outcome: str) -> str:
    """Returns what tells one kind of harm from another: how it ended, in which stage, in which function.

    Example:
        >>> sign("ValueError in scan at edges.py:joined: no such op 'x'"), sign("died of SIGABRT in apply; ...")
        ('ValueError in scan at edges.py:joined', 'died of SIGABRT in apply')
    """
    return outcome.partition(";")[0].partition(": ")[0]


# -- in the other process: it loads TensorFlow, and does nothing with it -------------------------------


def _work(group: str, first: int, last: int, always: Sequence[str]) -> None:
    from tests.tf import bases, stages  # noqa: F401  loaded once, for all that come

    files = aside(lambda: bases.finds() if group == "finds" else bases.GROUPS[group]())
    while first < last:
        for result in _batch(group, files, first, min(last, first + LIFE), always):
            print(json.dumps(result), flush=True)
            first = result.number + 1


def aside(make: Callable[[], Any]) -> Any:
    """Returns what a function gives in a process of its own: there TensorFlow starts threads, and must not here."""
    with tempfile.TemporaryFile() as file:
        child = os.fork()
        if not child:
            file.write(pickle.dumps(make()))
            file.flush()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0, "the files to spoil cannot be made"
        file.seek(0)
        return pickle.loads(file.read())


def _batch(group: str, files: Any, first: int, last: int, always: Sequence[str]) -> Iterator[Result]:
    """Runs one process until it has done its part, dies or hangs."""
    folder = Path(tempfile.mkdtemp(prefix="fuzz"))
    now, stages = [first, "before the first mutation", []], list[Any]()
    try:
        with open(folder / "said", "w+", errors="replace") as said:
            ended = forked(lambda out: _child(out, group, files, first, last, always, folder), said)
            for line in ended:
                if isinstance(line, int):
                    where = stages[-1][0] if stages else "mutation"
                    yield Result(now[0], f"{words(line)} in {where}{_reported(said)}", *now[1:], stages, 0.0)
                    return
                kind, *rest = json.loads(line)
                if kind == "start":
                    now, stages = rest, []
                elif kind == "stage":
                    stages = [*stages[: len(stages) - bool(rest[1])], rest]
                else:
                    outcome, seconds = rest
                    yield Result(now[0], outcome, *now[1:], stages, seconds)
                    if now[0] + 1 == last:
                        return
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _reported(said: IO[str]) -> str:
    said.seek(0)
    telling = [line.strip() for line in said if any(word in line for word in _TELLING)]
    return "".join(f"; {line}" for line in telling[:3])


def words(status: int) -> str:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return "hung" if number in (signal.SIGPROF, signal.SIGALRM) else f"died of {signal.Signals(number).name}"
    return f"ended with {os.WEXITSTATUS(status)}"


def forked(work: Callable[[IO[str]], None], said: IO[str]) -> Iterator[str | int]:
    """Yields the lines of a process of its own, and how it ended, where it did not end well."""
    ends = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(ends[0])
            os.dup2(said.fileno(), 2)
            with open(ends[1], "w") as out:
                work(out)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    os.close(ends[1])
    try:
        with open(ends[0]) as lines:
            yield from lines
        status = os.waitpid(child, 0)[1]
        child = 0
        if status:
            yield status
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


# -- in the process that may die ------------------------------------------------------------------------


def _child(out: IO[str], group: str, files: Any, first: int, last: int, always: Sequence[str], folder: Path) -> None:
    from tests.tf.mutate import Mutant, mutant

    limited()
    warnings.simplefilter("ignore")
    for number in range(first, last):
        started(SECONDS)
        seed, must = number, frozenset(always)
        if group == "finds":
            seed, must = files[number].seed, frozenset(files[number].stages)
            found = Mutant(files[number].name, files[number].file, files[number].data)
        else:
            found = mutant(number, files)
        story = found.story.encode("ascii", "backslashreplace").decode()[:400]
        print(json.dumps(["start", number, story, found.kinds]), file=out, flush=True)
        outcome = attempt(found.data, found.file, seed, folder, must, out)
        print(json.dumps(["done", outcome, time.process_time() - start_of[0]]), file=out, flush=True)


start_of = [0.0]


def limited() -> None:
    """Limits the memory of this process, and lets it say where it was when it dies."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[5]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_DATA, (used + MEMORY, used + MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    faulthandler.enable()
    faulthandler.register(signal.SIGPROF, chain=True)
    faulthandler.register(signal.SIGALRM, chain=True)


def started(seconds: float) -> None:
    """Ends this process after so many seconds of the processor from now, or when it waits for too long."""
    start_of[0] = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, WAIT)


def attempt(
    data: bytes,
    name: str,
    seed: int,
    folder: Path,
    always: frozenset[str] = frozenset(),
    out: IO[str] | None = None,
) -> str:
    """Takes a file through the stages; returns ``opened``, ``refused``, or where what kind of error came.

    Args:
        data: the file.
        name: what it is called.
        seed: decides what is done in the stages.
        folder: where it is put; emptied before.
        always: stages that it comes to in any case.
        out: where each stage is reported as it begins and ends.
    """
    from tests.tf.stages import visited

    at = ""
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    path = work / name
    path.write_bytes(data)
    outcome = "opened"
    try:
        for at, how in visited(work if name == "saved_model.pb" else path, seed, always):
            if out is not None:
                print(json.dumps(["stage", at, how]), file=out, flush=True)
            if (at, how) == ("open", "refused"):
                outcome = "refused"
    except Exception as error:
        return f"{type(error).__name__} in {at} at {place(error)}: {str(error)[:300]}"
    return outcome


def place(error: BaseException) -> str:
    """Returns the function of ours that an error came from."""
    frames = traceback.extract_tb(error.__traceback__)
    last = ([f for f in frames if "/graphsurgeon/" in f.filename] or frames)[-1]
    return f"{Path(last.filename).name}:{last.name}"


def _one(group: str, number: int) -> None:
    from tests.tf import bases
    from tests.tf.mutate import mutant
    from tests.tf.stages import visited

    if group == "finds":
        one = bases.finds()[number]
        file, data, seed, stages = one.file, one.data, one.seed, frozenset(one.stages)
    else:
        found = mutant(number, bases.GROUPS[group]())
        print(found.story)
        file, data, seed, stages = found.file, found.data, number, frozenset()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / file
        path.write_bytes(data)
        for stage, how in visited(Path(folder) if file == "saved_model.pb" else path, seed, stages):
            print(stage, how, flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--work":
        _work(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:])
    else:
        _one(sys.argv[1], int(sys.argv[2]))
