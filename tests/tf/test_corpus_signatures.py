"""Real SavedModels of TF2, opened as what they serve: looked at, copied twice, cut, saved; they give their golden."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.corpus import Item, corpus_cases, corpus_ids, one_of_a_kind
from tests.tf.test_corpus import agree, cut, has_golden, run
from tests.tf.test_corpus_formats import answered
from tests.tiers import deep

MOST_OPS, MOST_BOXES = 1_000, 60


def served(item: Item) -> bool:
    """Whether an item has recorded numbers of a signature that is a function, as TF2 writes them."""
    calls = [
        t for one in (item["signatures"] or {}).values() for t in one["outputs"].values() if "PartitionedCall" in t
    ]
    return item["kind"] == "savedmodel" and has_golden(item) and bool(calls)


IDS = corpus_ids(lambda item: served(item) and item["n_ops"] <= MOST_OPS)
CASES = corpus_cases(lambda item: item["id"] in IDS, quick=6)


def opened(corpus: Any, id: str) -> tuple[Any, dict[str, str], dict[str, str]]:
    """Returns an editor of what an item serves, and its arguments and results: name in the golden -> name here."""
    item = corpus.item(id)
    ed = gs.open(corpus.path(id), tags=item["run"].get("tags"))
    says = item["signatures"][ed.opened_graph.serving.opened_signature]
    feeds, fetches = corpus.golden(id)
    ins = {tensor: ed.inputs[name] for name, tensor in says["inputs"].items()}
    outs = {tensor: ed.outputs[name] for name, tensor in says["outputs"].items()}
    return ed, {name: ins[name] for name in feeds}, {name: outs[name] for name in fetches}


@pytest.mark.parametrize("id", CASES)
def test_what_a_model_serves_is_seen_copied_twice_and_cut(corpus, id):
    ed, ins, outs = opened(corpus, id)
    given = corpus.golden(id)[0]
    boxes = [box["label"] for box in ed.screen.traits()["scenes"]["source"]["boxes"]]
    assert 4 <= len(boxes) <= MOST_BOXES
    assert "StatefulPartitionedCall" not in " ".join(boxes)
    into = gs.open(tf.Graph())
    for scope in ("one", "two"):
        into.apply(into.plan().copy(ed.select(), to=scope, values=ed))
    session = into.session()
    for scope in ("one", "two"):
        feeds = {f"{scope}/{ins[name]}": value for name, value in given.items()}
        corpus.compare(id, run(session, {name: f"{scope}/{tensor}" for name, tensor in outs.items()}, feeds))
    feeds = {ins[name]: value for name, value in given.items()}
    found = cut(ed, ed, feeds, outs.values(), "keep") or cut(ed, ed, feeds, outs.values(), "keep", begin=True)
    assert found is not None
    agree(ed, ed, found, feeds, "keep")


def written(corpus: Any, id: str, folder: Path) -> dict[str, Any]:
    """Saves what an item serves as a SavedModel of TF2; returns the case for `answered`."""
    ed, ins, outs = opened(corpus, id)
    ends = {f"in{i}": t for i, t in enumerate(ins.values())}, {f"out{i}": t for i, t in enumerate(outs.values())}
    ed.save(folder / id, format="saved_model_tf2", signatures={"serving_default": ends})
    golden = str(corpus.root / "items" / id / "golden.npz")
    return {"id": id, "format": "saved_model_tf2", "path": str(folder / id), "golden": golden, "fed": list(ins)}


def served_elsewhere(corpus: Any, ids: list[str], folder: Path) -> None:
    """Asserts that what was saved gives its golden in a process of plain TensorFlow: one for all."""
    for id, found in zip(ids, answered([written(corpus, id, folder) for id in ids], folder), strict=True):
        assert not isinstance(found, str), (id, found)
        corpus.compare(id, found)


@pytest.mark.scaled
def test_what_models_serve_is_saved_and_served_by_plain_tensorflow(corpus, tmp_path):
    served_elsewhere(corpus, IDS if deep() else one_of_a_kind(IDS, 6), tmp_path)


def serve(corpus: Any, id: str) -> None:
    """Does all of it with one model, however large: for the table of all graphs."""
    test_what_a_model_serves_is_seen_copied_twice_and_cut(corpus, id)
    with TemporaryDirectory() as folder:
        served_elsewhere(corpus, [id], Path(folder))
