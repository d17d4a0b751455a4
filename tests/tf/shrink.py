"""Shrinking: a spoilt file that does harm, made as small as it can be and still do the same harm.

``python -m tests.tf.shrink own 17 NAME`` keeps mutation 17 of our own graphs in ``tests/fuzz_corpus``.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.tf import bases
from tests.tf import stages as _loaded  # noqa: F401  loaded once, for all processes that try
from tests.tf.fuzzing import SECONDS, aside, attempt, forked, limited, sign, started, words
from tests.tf.mutate import PROTOS, Mutant, mutant

TRIES = 400


class Shrinker:
    """Makes one file smaller.

    Args:
        found: the file.
        seed: with which it did harm.
        stages: to which it must come.
        harm: what it did.
    """

    def __init__(self, found: Mutant, seed: int, stages: frozenset[str], harm: str) -> None:
        self.file, self.seed, self.stages, self.harm = found.file, seed, stages, harm
        self.tries = 20 if harm.startswith("hung") else TRIES

    def does(self, data: bytes) -> bool:
        """Returns whether a file does the same harm; False when that was tried often enough."""
        self.tries -= 1
        return self.tries >= 0 and done(self.file, data, self.seed, self.stages) == self.harm

    def shrunk(self, data: bytes) -> bytes:
        """Returns the smallest that has been found."""
        for _ in range(2):
            try:
                proto = PROTOS[self.file].FromString(data)
            except Exception:
                return self._cut(data)
            if not self.does(proto.SerializeToString(deterministic=True)):
                return self._cut(data)
            before = proto.ByteSize()
            for path in _parts(proto):
                self._thinned(proto, path)
            data = proto.SerializeToString(deterministic=True)
            if proto.ByteSize() == before:
                break
        return data

    def _thinned(self, proto: Any, part: Callable[[Any], Any]) -> None:
        """Takes out of one part of a message all that it can do without, in halves, then in quarters."""
        size = len(part(proto))
        step = size
        while step:
            at = len(part(proto))
            while at > 0:
                trial = type(proto)()
                trial.CopyFrom(proto)
                held = part(trial)
                start = max(0, at - step)
                if hasattr(held, "keys"):
                    for key in sorted(held)[start:at]:
                        del held[key]
                else:
                    del held[start:at]
                if self.does(trial.SerializeToString(deterministic=True)):
                    proto.CopyFrom(trial)
                at = start
            step //= 2

    def _cut(self, data: bytes) -> bytes:
        step = len(data) // 2
        while step > 3:
            at = 0
            while at < len(data):
                trial = data[:at] + data[at + step :]
                if self.does(trial):
                    data = trial
                else:
                    at += step
            step //= 2
        return data


def _parts(proto: Any) -> Iterator[Callable[[Any], Any]]:
    """Yields what leads to each part of a message that holds several of a kind, the largest first."""
    meta: Callable[[Any], Any] = lambda p: p.meta_graphs[0] if hasattr(p, "meta_graphs") else p  # noqa: E731
    graph: Callable[[Any], Any] = lambda p: meta(p).graph_def if hasattr(meta(p), "graph_def") else meta(p)  # noqa: E731
    if hasattr(meta(proto), "graph_def"):
        yield lambda p: meta(p).collection_def
        yield lambda p: meta(p).signature_def
        yield lambda p: meta(p).object_graph_def.nodes
        yield lambda p: meta(p).object_graph_def.concrete_functions
        yield lambda p: meta(p).meta_info_def.stripped_op_list.op
        yield lambda p: meta(p).meta_info_def.function_aliases
    yield lambda p: graph(p).library.function
    yield lambda p: graph(p).library.gradient
    yield lambda p: graph(p).node
    for i in range(len(graph(proto).library.function)):
        yield lambda p, i=i: graph(p).library.function[i].node_def if i < len(graph(p).library.function) else []
        yield lambda p, i=i: graph(p).library.function[i].attr if i < len(graph(p).library.function) else []
    for i in range(len(graph(proto).node)):
        yield lambda p, i=i: graph(p).node[i].attr if i < len(graph(p).node) else []
        yield lambda p, i=i: graph(p).node[i].input if i < len(graph(p).node) else []


def done(file: str, data: bytes, seed: int, stages: frozenset[str]) -> str:
    """Returns the sign of the harm that a file does; nothing where it does none."""
    folder = Path(tempfile.mkdtemp(prefix="shrink"))

    def work(out: Any) -> None:
        limited()
        started(SECONDS / 4)
        print(json.dumps(["done", attempt(data, file, seed, folder, stages, out)]), file=out)

    at = ""
    try:
        with open(folder / "said", "w+") as said:
            for line in forked(work, said):
                if isinstance(line, int):
                    return f"{words(line)} in {at}"
                kind, outcome, *_ = json.loads(line)
                if kind == "done":
                    return "" if outcome in ("opened", "refused") else sign(outcome)
                at = outcome
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return ""


def keep(group: str, number: int, name: str) -> str:
    """Keeps a spoilt file, as small as it can be, among the finds; returns what is said of that."""
    found: Mutant = aside(lambda: mutant(number, bases.GROUPS[group]()))
    harm = done(found.file, found.data, number, frozenset())
    if not harm:
        return f"{group} {number} does no harm when it is alone"
    stage = harm.partition(" in ")[2].partition(" ")[0]
    stages = frozenset({stage, "plan"} if stage in ("apply", "plan") else {stage})
    shrinker = Shrinker(found, number, stages, harm)
    data = shrinker.shrunk(found.data)
    path = bases.FINDS / f"{name}.{found.file}"
    path.write_bytes(data)
    known = json.loads((bases.FINDS / "finds.json").read_text())
    about = {"file": found.file, "seed": number, "stages": sorted(stages), "was": found.story[:300]}
    known[path.name] = {"did": harm, **about}
    (bases.FINDS / "finds.json").write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
    return f"{len(found.data)} bytes are {len(data)}, in {path.name}"


if __name__ == "__main__":
    print(keep(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
