"""Real trained graphs: saved and loaded again by plain TensorFlow, or restored elsewhere, they give their golden."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.tf.values.transfer import release_memory
from tests.corpus import Item, corpus_cases
from tests.tf.test_corpus import covered, opened, run

tf1 = tf.compat.v1
SOFT = tf1.ConfigProto(allow_soft_placement=True)


@pytest.fixture(autouse=True)
def tidy():
    """Sessions hold gigabytes that the collector does not know of, and the allocator keeps."""
    yield
    gc.collect()
    release_memory()


def trained(item: Item) -> bool:
    """Whether an item has values of its own and recorded numbers."""
    held = bool(item["run"].get("checkpoint")) or item["kind"] == "savedmodel"
    return covered(item) and held and bool(item["n_variables"]) and (item["n_ops"] or 0) < 4_000


IDS = corpus_cases(trained, quick=4)


def plain(golden: tuple[dict[str, Any], dict[str, Any]], session: Any) -> dict[str, Any]:
    """Runs a golden's fetches by their own names."""
    feeds, fetches = golden
    return run(session, {n: n for n in fetches}, feeds)


@pytest.mark.parametrize("id", IDS)
def test_a_meta_graph_and_its_checkpoint_give_the_golden(corpus, id, tmp_path):
    src, _ = opened(corpus, id)
    src.session(config=SOFT)
    report = src.save(tmp_path / "m.meta", device="clear")
    tables = [op.name for op in src.graph.get_collection("table_initializer")]
    init_ops, feeds = src.values.init_ops
    with tf.Graph().as_default() as graph, tf1.Session(config=SOFT) as session:
        saver = tf1.train.import_meta_graph(str(tmp_path / "m.meta"))
        if saver is not None:
            saver.restore(session, str(tmp_path / "m"))
        for name in dict.fromkeys([*tables, *init_ops]):
            if name in {op.name for op in graph.get_operations()}:
                session.run(name, feeds)
        corpus.compare(id, plain(corpus.golden(id), session))
    assert report.ops >= src.snapshot.size


@pytest.mark.parametrize("id", IDS)
def test_a_saved_model_gives_the_golden(corpus, id, tmp_path):
    feeds, fetches = corpus.golden(id)
    src, _ = opened(corpus, id)
    src.session(config=SOFT)
    ends = {f"out{i}": name for i, name in enumerate(fetches)}, {f"in{i}": name for i, name in enumerate(feeds)}
    src.save(tmp_path / "f", signatures={"serving_default": (ends[1], ends[0])}, device="clear")
    with tf.Graph().as_default(), tf1.Session(config=SOFT) as session:
        tf1.saved_model.loader.load(session, ["serve"], str(tmp_path / "f"))
        corpus.compare(id, plain(corpus.golden(id), session))


def freezes(src: Any, fetches: Any) -> bool:
    """Whether all that the fetches do with variables is to read them."""
    graph, block = src.snapshot, src.select(outputs=list(fetches))
    plain = {"Identity", "ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VariableShape", "VarIsInitializedOp"}
    plain |= {"StatefulPartitionedCall", "PartitionedCall", "While", "If"}  # of which no function here writes to one
    for name, info in graph.state.variables.items():
        readers = [i for i in graph.consumers.row(graph.index[name]).tolist() if block.mask[i]]
        if info.resource and any(graph.types[i] not in plain for i in readers):
            return False
        if not info.resource and any(graph.types[i].startswith(("Assign", "Apply", "Scatter")) for i in readers):
            return False
    return True


@pytest.mark.parametrize("id", IDS)
def test_frozen_it_gives_the_golden_or_says_why_not(corpus, id, tmp_path):
    _, fetches = corpus.golden(id)
    src, _ = opened(corpus, id)
    src.session(config=SOFT)
    if not freezes(src, fetches):
        with pytest.raises(PlanError, match=r"needs? a variable, and freezing would make it a constant"):
            src.save(tmp_path / "f.pb", outputs=list(fetches), freeze=True)
        return
    values = "initial" if src.untrained() else None  # a bundle whose checkpoint is not there
    src.save(tmp_path / "f.pb", outputs=list(fetches), freeze=True, device="clear", values=values)
    back = gs.open(tmp_path / "f.pb")
    assert not back.snapshot.state.variables
    if src.values.init_ops[0] or any("Table" in kind for kind in src.snapshot.types):
        return  # what fills them is not an ancestor of the outputs: a GraphDef has no list of it
    with tf1.Session(graph=back.graph, config=SOFT) as session:
        corpus.compare(id, plain(corpus.golden(id), session))


@pytest.mark.parametrize(
    "id", corpus_cases(lambda item: trained(item) and bool(item["run"].get("checkpoint")), quick=4)
)
def test_its_checkpoint_restores_into_a_copy_and_back(corpus, id, tmp_path):
    feeds, fetches = corpus.golden(id)
    src, _ = opened(corpus, id)
    dst = gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(src.select(), to="deep/copy", variables="initial", device="clear"))
    dst.session(config=SOFT)
    report = dst.restore(corpus.checkpoint(id), scope="deep/copy", partial=True)
    assert report.restored
    got = run(dst.session(), {n: done[n].name for n in fetches}, {done[n].name: v for n, v in feeds.items()})
    corpus.compare(id, got)
    dst.save(tmp_path / "back.ckpt", scope="deep/copy")
    old = tf.train.load_checkpoint(str(corpus.checkpoint(id)))
    new = tf.train.load_checkpoint(str(tmp_path / "back.ckpt"))
    for name in list(report.restored.values())[:20]:
        np.testing.assert_array_equal(new.get_tensor(name), old.get_tensor(name))
