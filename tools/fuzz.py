"""Fuzzing as a habit: spoilt files, as many as there is time for, go through all that people do with a file.

``make fuzz MINUTES=30`` goes on where it stopped. What does harm is made small and kept in ``tests/fuzz_corpus``;
a test tries it again in each run. Counts and findings are in ``build/fuzz``, and are printed at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests.needs import corpus_folder  # noqa: E402
from tests.tf.fuzzing import Result, results, sign  # noqa: E402

BLOCK = 4000  # each begins with a new process, which loads TensorFlow
#: Whose turn it is, block by block.
TURNS = ("own", *("real", "saved", "generated") * 2, "zoo", *("real", "saved", "generated", "real") * 2)


class Ledger:
    """What has been done so far, on disk: from where to go on, and what came of it.

    Args:
        folder: its folder.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.lock, self._path, self._log = threading.RLock(), folder / "ledger.json", folder / "log.txt"
        held = json.loads(self._path.read_text()) if self._path.exists() else {}
        self.next: dict[str, int] = held.get("next", {})
        self.open: list[list[Any]] = held.get("open", [])
        self.running: list[list[Any]] = []
        self._met: set[str] = set()
        self.finds: dict[str, dict[str, Any]] = held.get("finds", {})
        self.counts = {part: Counter(held.get(part, {})) for part in ("groups", "kinds", "stages", "outcomes")}
        self.seconds: float = held.get("seconds", 0.0)

    def block(self) -> list[Any]:
        """Returns what to do next: a group, the first number, the one after the last."""
        with self.lock:
            found = self.open.pop(0) if self.open else self._fresh()
            self.running.append(found)
            return found

    def _fresh(self) -> list[Any]:
        turns = [group for group in TURNS if group != "real" or corpus_folder() is not None]
        group = turns[sum(self.next.values()) // BLOCK % len(turns)]
        first = self.next.get(group, 0)
        self.next[group] = first + BLOCK
        return [group, first, first + BLOCK]

    def left(self, block: list[Any]) -> None:
        """Notes what of a block was not done."""
        with self.lock:
            self.running.remove(block)
            if block[1] < block[2]:
                self.open.append(block)
            self.save()

    def note(self, group: str, result: Result) -> bool:
        """Counts a result; returns whether it is a find, and the first of its kind since the start."""
        with self.lock:
            self.seconds += result.seconds
            self.counts["groups"][group] += 1
            if self.counts["groups"][group] % 100 == 0:
                self.save()
            self.counts["kinds"].update(result.kinds)
            self.counts["stages"].update(f"{stage} {how or 'harm'}" for stage, how in result.stages)
            self.counts["outcomes"][ended(result)] += 1
            if result.allowed:
                return False
            key = sign(result.outcome)
            fresh = key not in self._met
            self._met.add(key)
            find = self.finds.setdefault(key, {"count": 0, "first": f"{group} {result.number}"})
            find["count"] += 1
            find["last"] = f"{group} {result.number}"
            with open(self._log, "a") as log:
                log.write(f"{time.strftime('%H:%M:%S')} {group} {result.number}: {result.outcome} | {result.story}\n")
            return fresh

    @property
    def harm(self) -> int:
        """How many files have done harm so far."""
        return sum(find["count"] for find in self.finds.values())

    def save(self) -> None:
        """Writes all of it, whole."""
        with self.lock:
            left = [*self.open, *self.running]
            held = {"next": self.next, "open": left, "finds": self.finds, "seconds": self.seconds, **self.counts}
            beside = self._path.with_suffix(".new")
            beside.write_text(json.dumps(held, indent=1, sort_keys=True))
            beside.replace(self._path)

    def __str__(self) -> str:
        total = sum(self.counts["groups"].values())
        lines = [f"{total:,} spoilt files, {sum(self.counts['kinds'].values()):,} changes, {self.seconds:,.0f} s"]
        for part, counted in self.counts.items():
            lines.append(f"{part}: " + ", ".join(f"{name} {n:,}" for name, n in sorted(counted.items())))
        for key, find in sorted(self.finds.items()):
            lines.append(f"find: {key}: {find['count']} times, first {find['first']}, last {find['last']}")
        return "\n".join(lines)


def ended(result: Result) -> str:
    """Returns how a file came out, in one word: opened, refused, died, hung or raised."""
    word = result.outcome.partition(" ")[0]
    return word if result.allowed or word in ("died", "hung") else "raised"


def work(ledger: Ledger, until: float, found: list[tuple[str, Result]]) -> None:
    """Does block after block until the time is over; adds to `found` what did harm, the first of each kind."""
    while time.monotonic() < until:
        block = ledger.block()
        group, _, last = block
        try:
            running: Iterator[Result] = results(group, block[1], last)
            for result in running:
                block[1] = result.number + 1
                if ledger.note(group, result):
                    print(f"{group} {result.number}: {result.outcome}\n    {result.story}", flush=True)
                    found.append((group, result))
                if time.monotonic() >= until:
                    running.close()  # type: ignore[attr-defined]
                    break
        finally:
            ledger.left(block)


def _kept(group: str, result: Result) -> str:
    name = re.sub(r"[^a-z0-9]+", "-", f"{sign(result.outcome)} {group} {result.number}".lower()).strip("-")
    command = [sys.executable, "-m", "tests.tf.shrink", group, str(result.number), name]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}  # as in the run in which it did harm
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    return done.stdout.strip() or done.stderr[-1000:]


def main() -> int:
    """Runs the command line; returns 1 if a file has done harm."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=30.0, help="how long; default: 30")
    parser.add_argument("--workers", type=int, default=1, help="how many at once; default: 1")
    parser.add_argument("--no-keep", action="store_true", help="do not keep what does harm in tests/fuzz_corpus")
    parser.add_argument("--report", action="store_true", help="print what has been done so far, and do nothing")
    given = parser.parse_args()
    ledger = Ledger(ROOT / "build" / "fuzz")
    before = ledger.harm
    if not given.report:
        until = time.monotonic() + 60 * given.minutes
        found: list[tuple[str, Result]] = []
        threads = [threading.Thread(target=work, args=(ledger, until, found)) for _ in range(given.workers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for group, result in () if given.no_keep else found:
            print(f"{group} {result.number}: {_kept(group, result)}", flush=True)
    print(ledger)
    return int(ledger.harm > before)


if __name__ == "__main__":
    sys.exit(main())
