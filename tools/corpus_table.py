"""Opens and copies every real graph of the corpus and prints one row for each: python tools/corpus_table.py [ID ...].

A row says whether the graph opens (or the sentence that refuses it), and whether copies of it, twice into one graph,
cut in the middle, and trained, give the numbers recorded for it; of a SavedModel of TF2 also what it serves, opened as
that, copied, cut, and saved for plain TensorFlow; and for each recipe what it did where it applies, its claim asserted.
Where no numbers are recorded, the copies are compared with what was predicted; of a graph that TensorFlow cannot run
here, the row has the sentence that refuses the copy. Exit code 1: a copy or a recipe failed or differs.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import graphsurgeon as gs
from graphsurgeon.tf.elements import Graph
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


def row(corpus: Corpus, id: str) -> list[str]:
    """Returns the cells of one graph."""
    item = corpus.item(id)
    start = time.perf_counter()
    try:
        ed = gs.open(corpus.path(id), tags=item["run"].get("tags"))
    except gs.OpenError as error:
        return [id, str(item["n_ops"] or ""), f"refused: {error.wrong}", *[""] * len(KINDS), ""]
    cells = [id, str(item["n_ops"]), "opened"]
    faults = gs.open(Graph()).plan().copy(ed.select(), to="copy").check() if item["expect"] == "clear_error" else ()
    if faults:
        cells += [f"refused: {faults[0].wrong}", *[""] * (len(KINDS) - 1)]
    elif not runs.has_golden(item):
        made = outcome(runs.test_copied_without_numbers, corpus, id).replace("equal", "as predicted")
        cells += [f"{made}, no numbers", "no numbers"]
        cells += [""] * (3 + len(KINDS) - len(cells))
    else:
        cells += [outcome(run, corpus, id) if ONLY.get(word, bool)(item) else "" for word, run in KINDS.items()]
    return [*cells, f"{time.perf_counter() - start:.1f} s"]


def outcome(run: Callable[[Any, str], Any], corpus: Corpus, id: str) -> str:
    """Returns "equal", what the run says of itself, or what went wrong."""
    try:
        said = run(corpus, id)
    except Exception as error:
        words = " ".join(str(error).split())
        return f"FAILED {type(error).__name__}: {words[:120]}"
    if isinstance(said, str):
        return said
    return "nothing to cut" if run is KINDS["middle"] and id in runs.UNCUT else "equal"


def main(ids: Sequence[str]) -> int:
    """Prints the table; returns the exit code."""
    corpus = open_corpus()
    print("| graph | ops | opening | " + " | ".join(KINDS) + " | time |")
    print("|---" * (4 + len(KINDS)) + "|")
    failed = 0
    for id in ids or corpus.ids():
        cells = row(corpus, id)
        failed += any(cell.startswith("FAILED") for cell in cells)
        print("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |", flush=True)
    print(f"\n{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
