"""Real graphs, saved in each format that applies: plain TensorFlow, in a process of its own, gives their golden."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from graphsurgeon.errors import PlanError
from tests.corpus import corpus_ids, one_of_a_kind
from tests.fresh import process
from tests.tf.test_corpus import has_golden, opened

tf1 = tf.compat.v1

PLAIN = """
import json, os, sys
sys.modules["graphsurgeon"] = None  # who asks for it is refused
import numpy as np, tensorflow as tf
tf1 = tf.compat.v1

def run(session, case, feeds, fetches):
    there = {op.name for op in session.graph.get_operations()}
    for name in case["first"]:
        if name in there:
            try:
                session.run(name, {k: v for k, v in case["paths"].items() if k.partition(":")[0] in there})
            except tf.errors.FailedPreconditionError:
                pass  # filled already
    return session.run(fetches, {k: v for k, v in feeds.items() if k.partition(":")[0] in there})

def answer(case, feeds, fetches):
    path, soft = case["path"], tf1.ConfigProto(allow_soft_placement=True)
    if case["format"] == "saved_model_tf2":
        f = tf.saved_model.load(path).signatures["serving_default"]
        found = f(**{f"in{i}": tf.constant(feeds[name]) for i, name in enumerate(case["fed"])})
        return [found[f"out{i}"].numpy() for i in range(len(fetches))]
    with tf.Graph().as_default() as graph, tf1.Session(config=soft) as session:
        if case["format"] == "saved_model":
            tf1.saved_model.loader.load(session, ["serve"], path)
        elif case["format"] == "meta_graph":
            saver = tf1.train.import_meta_graph(path)
            if saver is not None:
                saver.restore(session, path[:-5])
        else:
            tf1.import_graph_def(tf1.GraphDef.FromString(open(path, "rb").read()), name="")
        return run(session, case, feeds, fetches)

for at, case in enumerate(json.load(open(sys.argv[1]))):
    with np.load(case["golden"], allow_pickle=False) as arrays:
        feeds = {k[6:]: arrays[k] for k in arrays.files if k.startswith("feed::")}
        fetches = [k[7:] for k in arrays.files if k.startswith("fetch::")]
    try:
        found = {f"{i}": np.asarray(v) for i, v in enumerate(answer(case, feeds, fetches))}
    except Exception as error:
        found = {"error": np.array(f"{type(error).__name__}: {error}"[:600])}
    np.savez(f"{sys.argv[1]}.{at}.npz", **{k: v.astype("S") if v.dtype == object else v for k, v in found.items()})
"""


def written(corpus: Any, id: str, folder: Path) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Saves a graph of the corpus in each format.

    Returns:
        what was written, and for each format that was refused its reason.
    """
    feeds, fetches = corpus.golden(id)
    ed, values = opened(corpus, id)
    given = {"values": values} if isinstance(values, dict) else {}
    if not given and ed.snapshot.state.variables:
        ed.session(config=tf1.ConfigProto(allow_soft_placement=True))
    graph, fills = ed.snapshot, ed.snapshot.state.init_ops
    tables = [holder for holder in fills if "Table" in graph.types[graph.index[holder]]]
    first = [name for holder in tables for name in fills[holder]]
    first += [op.name for op in ed.graph.get_collection("table_initializer")]
    of_file, paths = ed.values.init_ops
    ends = {f"in{i}": n for i, n in enumerate(feeds)}, {f"out{i}": n for i, n in enumerate(fetches)}
    wanted: dict[str, tuple[str, dict[str, Any]]] = {
        "graph_def": ("f.pb", {"outputs": list(fetches), "freeze": True, "device": "clear"}),
        "meta_graph": ("m.meta", {"outputs": list(fetches), "device": "clear"}),
        "saved_model": ("one", {"signatures": {"serving_default": ends}, "device": "clear"}),
        "saved_model_tf2": ("two", {"signatures": {"serving_default": ends}}),
    }
    cases, refused = [], {}
    for format, (name, options) in wanted.items():
        path = folder / id / name
        try:
            ed.save(path, format=format, feeds=feeds, **options, **given)
        except PlanError as error:
            refused[format] = str(error)
            continue
        runs = [*first, *(of_file if format in ("graph_def", "meta_graph") else [])]
        about = {"first": runs, "paths": paths, "fed": list(feeds)}
        golden = str(corpus.root / "items" / id / "golden.npz")
        cases.append({"id": id, "format": format, "path": str(path), "golden": golden, **about})
    return cases, refused


def answered(cases: Sequence[dict[str, Any]], folder: Path) -> list[dict[str, Any] | str]:
    """Runs files in one fresh process of plain TensorFlow; gives for each its outputs, or what went wrong."""
    plan = folder / "cases.json"
    plan.write_text(json.dumps(cases))
    done = process(PLAIN, plan, cwd="/")
    assert done.returncode == 0, done.stderr[-2000:]
    out: list[dict[str, Any] | str] = []
    for at, case in enumerate(cases):
        with np.load(case["golden"], allow_pickle=False) as arrays:
            fetches = [key.removeprefix("fetch::") for key in arrays.files if key.startswith("fetch::")]
        with np.load(f"{plan}.{at}.npz", allow_pickle=False) as arrays:
            if "error" in arrays.files:
                out.append(str(arrays["error"]))
            else:
                out.append({name: arrays[str(i)] for i, name in enumerate(fetches)})
    return out


def faults(corpus: Any, ids: Sequence[str], folder: Path) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Saves graphs in all formats and runs the files elsewhere; returns what differs, and what was refused."""
    cases: list[dict[str, Any]] = []
    refused: dict[str, dict[str, str]] = {}
    for id in ids:
        made, refused[id] = written(corpus, id, folder)
        cases += made
    wrong = []
    for case, found in zip(cases, answered(cases, folder), strict=True):
        where = f"{case['id']} as {case['format']}: "
        if isinstance(found, str):
            wrong.append(where + found)
            continue
        try:
            corpus.compare(case["id"], found)
        except AssertionError as error:
            wrong.append(where + str(error))
    return wrong, refused


#: What TensorFlow would compute differently from a file is refused: TF2 SavedModels have no place for which function is
#: the gradient of which (`FunctionDefLibrary.gradient`), and TensorFlow derives one itself.
LOST = {("tf_g2m_graph_gradient_def", "saved_model_tf2"): "cannot store this name"}

#: Values that nobody has trained are not frozen.
UNSET = {("serving_session_bundle", "graph_def"): "2 variables have initial values"}

SMALL = corpus_ids(lambda item: has_golden(item) and (item["n_ops"] or 0) <= 60)


@pytest.mark.parametrize("ids", [one_of_a_kind(SMALL, 6), pytest.param(SMALL, marks=pytest.mark.deep)])
def test_small_graphs_in_all_formats(corpus, ids, tmp_path):
    """`make corpus` takes all graphs."""
    problem, refused = faults(corpus, ids, tmp_path)
    assert problem == []
    texts = {(id, format): text for id, formats in refused.items() for format, text in formats.items()}
    found = {where: text for where, text in texts.items() if where in LOST or "the written file" in text}
    assert found.keys() == {where for where in LOST if where[0] in refused}, found
    assert all(LOST[where] in text for where, text in found.items()), found
    unset = {where: text for where, text in texts.items() if where in UNSET}
    assert unset.keys() == {where for where in UNSET if where[0] in refused}, texts
    assert all(UNSET[where] in text for where, text in unset.items()), texts
    assert len(texts) - len(unset) <= 2, texts
