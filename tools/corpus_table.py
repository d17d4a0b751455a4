"""Opens and copies every real graph of the corpus and prints one row for each: python tools/corpus_table.py [ID ...].

A graph has `--within` seconds, by default 600; what is not done by then is named in its cells and counted below.

A row says whether the graph opens (or the sentence that refuses it), and whether copies of it, twice into one graph,
cut in the middle, and trained, give the numbers recorded for it; of a SavedModel of TF2 also what it serves, opened as
that, copied, cut, and saved for plain TensorFlow; and for each recipe its result if it applies, its claim asserted.
If no numbers are recorded, the copies are compared with what was predicted; of a graph that TensorFlow cannot run
here, the row has the sentence that refuses the copy. Exit code 1: a copy or a recipe failed or differs.
"""

from __future__ import annotations

import argparse
import gc
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import graphsurgeon as gs
from graphsurgeon.tf.graph_parts import Graph
from tests.corpus import Corpus, open_corpus
from tests.recipes.real import APPLIES, RECIPES
from tests.tf import test_corpus as runs
from tests.tf import test_corpus_signatures as signatures

KINDS: dict[str, Callable[[Any, str], Any]] = {
    "copied twice": partial(runs.test_copied_twice, filled=None),
    "middle": partial(runs.test_cut_in_the_middle, filled=None),
    "trained": runs.test_a_training_graph_trains_the_same,
    "served": signatures.serve,
    **RECIPES,
}
#: Which graphs some of them are for.
ONLY: dict[str, Callable[[Any], bool]] = {"trained": runs.trains, "served": signatures.served, **APPLIES}


LATE = "not within its time"


class Late(BaseException):
    """The time of a graph is over; like Ctrl+C, no handler treats it as an ordinary error."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raises `Late` after this many seconds; what runs in TensorFlow ends first."""

    def ring(*_: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def row(corpus: Corpus, id: str, within: float, kinds: Mapping[str, Callable[[Any, str], Any]]) -> list[str]:
    """Returns the cells of one graph."""
    item = corpus.item(id)
    start = time.perf_counter()
    end = start + within
    try:
        ed = gs.open(corpus.path(id), tags=item["run"].get("tags"))
    except gs.OpenError as error:
        return [id, str(item["n_ops"] or ""), f"refused: {error.problem}", *[""] * len(kinds), ""]
    cells = [id, str(item["n_ops"]), "opened"]
    faults = gs.open(Graph()).plan().copy(ed.select(), to="copy").check() if item["expect"] == "clear_error" else ()
    if faults:
        cells += [f"refused: {faults[0].problem}", *[""] * (len(kinds) - 1)]
    elif not runs.has_golden(item):
        if kinds is KINDS:
            made = outcome(runs.test_copied_without_numbers, corpus, id, end).replace("equal", "as predicted")
            cells.append(f"{made}, no numbers")
        cells.append("no numbers")
        cells += [""] * (3 + len(kinds) - len(cells))
    else:
        cells += [outcome(run, corpus, id, end) if ONLY.get(word, bool)(item) else "" for word, run in kinds.items()]
    return [*cells, f"{time.perf_counter() - start:.1f} s"]


def outcome(run: Callable[[Any, str], Any], corpus: Corpus, id: str, end: float) -> str:
    """Returns "equal", what the run says of itself, what went wrong, or that the time was over."""
    gc.collect()  # the sessions of the run before: of some graphs, each holds gigabytes
    try:
        with limited(end - time.perf_counter()):
            said = run(corpus, id)
    except Late:
        return LATE
    except Exception as error:
        if time.perf_counter() >= end:  # C++ that called Python reports it in other words
            return LATE
        words = " ".join(str(error).split())
        return f"FAILED {type(error).__name__}: {words[:120]}"
    if isinstance(said, str):
        return said
    return "nothing to cut" if run is KINDS["middle"] and id in runs.UNCUT else "equal"


def main(arguments: Sequence[str]) -> int:
    """Prints the table; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python tools/corpus_table.py", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("ids", nargs="*", metavar="ID", help="a graph; default: all, the smallest first")
    parser.add_argument("--within", type=float, default=600.0, help="seconds for one graph; default: 600")
    parser.add_argument("--recipes", action="store_true", help="the recipes alone")
    given = parser.parse_args(arguments)
    corpus, kinds = open_corpus(), RECIPES if given.recipes else KINDS
    print("| graph | ops | opening | " + " | ".join(kinds) + " | time |")
    print("|---" * (4 + len(kinds)) + "|")
    failed = late = 0
    for id in given.ids or corpus.ids():
        cells = row(corpus, id, given.within, kinds)
        failed += any(cell.startswith("FAILED") for cell in cells)
        late += any(cell.startswith(LATE) for cell in cells)
        print("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |", flush=True)
    print(f"\n{failed} failed, {late} not done within {given.within:g} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
