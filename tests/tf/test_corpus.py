"""Real graphs that nobody here wrote: copied whole, and cut through the middle, they give the same numbers."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.graph.traversal import forward
from graphsurgeon.graph.variables import FEED_TYPES
from graphsurgeon.tf.values.transfer import release_memory
from tests.corpus import HEAVY, MOST_OPS, Item, corpus_cases, corpus_ids, one_of_a_kind

tf1 = tf.compat.v1


@pytest.fixture(autouse=True)
def tidy():
    """Sessions hold gigabytes that the collector does not know of, and the allocator keeps."""
    yield
    gc.collect()
    release_memory()


def has_golden(item: Item) -> bool:
    """Whether recorded numbers are there, plain TensorFlow reproduces them, and no op of the item lacks its kernel."""
    golden = item["golden"]
    return bool(golden) and golden.get("tf2_21") == "equal" and item["expect"].startswith("loads")


def covered(item: Item) -> bool:
    """Whether the everyday tests may take the item: it has a golden and is of moderate size."""
    return has_golden(item) and not item["run"].get("init_ops") and (item["n_ops"] or 0) <= MOST_OPS


IDS = [*one_of_a_kind(corpus_ids(covered), 16), *HEAVY]
CASES = corpus_cases(lambda item: item["id"] in IDS, quick=6)
UNCUT: set[str] = set()
CALLS = {"PartitionedCall", "StatefulPartitionedCall"}


def opened(corpus: Any, id: str, filled: Any = None) -> tuple[Any, Any]:
    """Returns the editor of an item, and what to give as values, which for some are made: in `filled` they are.

    As in the corpus itself a variable has its documented value where a golden can tell; the others may be gigabytes
    of slots, which nobody reads.
    """
    item = corpus.item(id)
    tags = item["run"].get("tags")
    ed = gs.open(corpus.path(id), tags=tags, raw=True).trust()
    if not item["run"].get("fill_rule"):
        return ed, ed if ed.snapshot.state.variables else None
    if filled is not None:
        return ed, filled
    values = {}
    golden, steps = item["golden"] or {}, item["golden_train"] or {}
    ends = [*golden.get("fetches", ()), *steps.get("fetches", ()), *([steps["train_op"]] if steps else [])]
    reported = set(ed.select(name=[end.partition(":")[0] for end in ends]).ancestors().names) if ends else set()
    for name in ed.snapshot.state.variables:
        op = ed.graph.get_operation_by_name(name)
        shape = tuple(d.size for d in op.get_attr("shape").dim)
        dtype = tf.as_dtype(op.get_attr("dtype")).as_numpy_dtype
        values[name] = (
            corpus.fill_value(name, shape, dtype) if name in reported else np.broadcast_to(np.zeros((), dtype), shape)
        )
    return ed, values


@pytest.fixture(scope="module", params=CASES)
def id(request):
    """An item; all its tests come after one another."""
    return request.param


@pytest.fixture(scope="module")
def filled(corpus, id):
    """The values of an item without a checkpoint, made once: they can be gigabytes. No test can change them."""
    if not corpus.item(id)["run"].get("fill_rule"):
        return None
    values = opened(corpus, id)[1]
    for array in values.values():
        array.flags.writeable = False
    return values


def run(session: Any, names: dict[str, str], feeds: dict[str, Any]) -> dict[str, Any]:
    """Runs tensors by name; gives them back under the names they have in the golden."""
    return dict(zip(names, session.run(list(names.values()), feeds), strict=True))


def settled(ed: Any) -> Any:
    """Returns the session of an editor; devices of other machines are replaced."""
    return ed.session(config=tf1.ConfigProto(allow_soft_placement=True))


def test_there_are_items():
    assert 5 <= len(IDS) <= 17 or "no-corpus" in IDS


def test_copied_twice(corpus, id, filled):
    """Two whole copies in one graph and one session: both give the golden, so they share nothing that matters."""
    feeds, fetches = corpus.golden(id)
    src, values = opened(corpus, id, filled)
    dst = gs.open(tf.Graph())
    before = src.snapshot.fingerprint
    clear = "clear" if corpus.item(id)["run"].get("clear_devices") else "keep"
    both = []
    for name in ("one", "two"):
        plan = dst.plan().copy(src.select(), to=name, values=values, device=clear)
        assert plan.check() == (), [str(f) for f in plan.check()]
        both.append(dst.apply(plan))
        assert len(plan.effect.copies[0].ops) == src.snapshot.size
        many = len(both) * len(src.graph.get_collection("variables"))
        assert len(dst.graph.get_collection("variables")) == many
    assert gs.open(src.graph).snapshot.fingerprint == before
    session = settled(dst)
    for done in both:
        got = run(session, {n: done[n].name for n in fetches}, {done[n].name: v for n, v in feeds.items()})
        corpus.compare(id, got)


def test_cut_in_the_middle(corpus, id, filled):
    """The second half alone, fed with what the first half gives, computes the golden."""
    feeds, fetches = corpus.golden(id)
    src, values = opened(corpus, id, filled)
    clear = "clear" if corpus.item(id)["run"].get("clear_devices") else "keep"
    found = cut(src, values, feeds, fetches, clear)
    if found is None and set(src.snapshot.types) & CALLS:  # all the work is done inside calls
        src.opened_graph = replace(src.opened_graph, outputs={name: name for name in fetches})
        inner = src.inlined()
        own = values if isinstance(values, dict) or values is None else inner
        found = cut(inner, own, feeds, inner.outputs.values(), clear)
        if found is not None:
            src, values = inner, own
    if found is None:
        found = cut(src, values, feeds, fetches, clear, begin=True)
    if found is None:
        UNCUT.add(id)
        return
    agree(src, values, found, feeds, clear)


def agree(src: Any, values: Any, found: Any, feeds: dict[str, Any], device: str) -> None:
    """Asserts that a part, as `cut` found it, gives alone what it gives in a copy of the whole."""
    block, plan, at, out, leaks = found
    whole = gs.open(tf.Graph())
    first = whole.apply(whole.plan().copy(src.select(), to="all", values=values, device=device))
    session = settled(whole)
    given = {first[n].name: v for n, v in feeds.items()}
    # In one run: a training graph changes its own averages each time.
    at_cut = run(session, {t: first[t].name for t in [at, *leaks, out]}, given)
    want = at_cut.pop(out)
    part = gs.open(plan.base.owner)
    done = part.apply(part.plan().copy(block, **about(values, device)))
    assert len(plan.effect.copies[0].ops) <= src.snapshot.size
    assert {p.original for p in plan.effect.placeholders} == {at, *leaks}
    got = settled(part).run(done[out].name, {done[t].name: v for t, v in at_cut.items()})
    if np.asarray(want).dtype.kind == "f":  # TensorFlow fuses ops across the cut where it may
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    else:
        np.testing.assert_array_equal(got, want)


def about(values: Any, device: str) -> dict[str, Any]:
    """Returns how a part is copied."""
    return {"to": "part", "unmapped": "placeholder", "control": "drop", "values": values, "device": device}


def cut(src: Any, values: Any, feeds: dict[str, Any], fetches: Any, device: str, begin: bool = False) -> Any:
    """Returns a part between a tensor and a fetch that can be copied, with its plan, the two ends and its leaks."""
    inside = turning(src.snapshot)
    for at, out in middles(src, feeds, fetches, begin):
        block = src.select(inputs=[at], outputs=[out])
        plan = gs.open(tf.Graph()).plan().copy(block, **about(values, device))
        leaks = [leak.tensor for leak in block.boundary.leaks]
        places = [src.snapshot.tensor(t) for t in leaks]
        if any(src.snapshot.info(*t).dtype in ("variant", "resource") for t in places):
            continue  # what cannot be fetched cannot be fed
        if plan.check() == () and not any(inside[op] for op, _ in places):
            return block, plan, at, out, leaks
        # Through a loop or between the writes and reads of an array there is no cut: each says so.
        assert all(any(w in f.problem for w in ("through a loop", "TensorArray")) for f in plan.check()), plan.check()
    return None


def turning(graph: Any) -> Any:
    """Returns a mask of the ops inside loops and conds of TF1, which a boundary cannot cut."""
    kinds = graph.type_array
    leave = np.isin(kinds, ["Exit", "RefExit", "Merge", "RefMerge"])
    loops = forward(graph, np.isin(kinds, ["Enter", "RefEnter"]), within=~np.isin(kinds, ["Exit", "RefExit"]))
    conds = forward(graph, np.isin(kinds, ["Switch", "RefSwitch"]), within=~leave)
    return loops | conds


def middles(src: Any, feeds: dict[str, Any], fetches: Any, begin: bool) -> Iterator[tuple[str, str]]:
    """Yields tensors on the way to a fetch, each with that fetch: from the middle outwards, or where the way begins."""
    graph = src.snapshot
    inside = turning(graph)
    for out in sorted(fetches):
        above = src.select(name=[out.partition(":")[0]]).ancestors(control=False)
        start = src.select(name=[t.partition(":")[0] for t in feeds]).descendants(control=False) if feeds else above
        fed = set(start.names)
        way = [
            i for i in above.numbers
            if graph.names[i] in fed and (graph.types[i] in ("Const", *FEED_TYPES)) == begin and not inside[i]
            and graph.names[i] != out.partition(":")[0] and graph.outputs(i)
            and not graph.info(i, 0).dtype.endswith(("_ref", "resource", "variant"))
        ]  # fmt: skip
        on = set(above.numbers)
        read = [i for i in way if on & set(graph.consumers.row(i).tolist())]
        for i in sorted(read, key=lambda i: abs(i - way[len(way) // 2]))[:20]:
            ports = graph.consumers.port[graph.consumers.ptr[i] : graph.consumers.ptr[i + 1]]
            readers = graph.consumers.row(i).tolist()
            yield f"{graph.names[i]}:{min(p for p, r in zip(ports, readers, strict=True) if r in on)}", out


def test_most_items_could_be_cut():
    """Runs after the cuts: an item without a cut proves nothing, so these must stay few."""
    assert len(UNCUT) <= len(IDS) // 3, sorted(UNCUT)


def trains(item: Item) -> bool:
    """Whether steps of an optimizer are recorded, and plain TensorFlow repeats them."""
    return bool(item["golden_train"]) and item["golden_train"]["tf2_21"] == "equal"


@pytest.mark.parametrize("id", corpus_cases(lambda item: trains(item) and item["n_ops"] < 1_500))
def test_a_training_graph_trains_the_same(corpus, id):
    """Three steps of a real optimizer on the same feeds: the copy, with its slots, takes the recorded path."""
    feeds, fetches = corpus.golden(id, training=True)
    step = corpus.item(id)["golden_train"]["train_op"].partition(":")[0]
    src, values = opened(corpus, id)
    dst = gs.open(tf.Graph())
    clear = "clear" if corpus.item(id)["run"].get("clear_devices") else "keep"
    done = dst.apply(dst.plan().copy(src.select(), to="copy", values=values, device=clear))
    session = settled(dst)
    moved = {done[n].name: v for n, v in feeds.items()}
    path: dict[str, list[Any]] = {name: [] for name in fetches}
    for number in range(4):
        for name, value in run(session, {n: done[n].name for n in fetches}, moved).items():
            path[name].append(value)
        if number < 3:
            session.run(done[step], moved)
    for name, want in fetches.items():
        np.testing.assert_allclose(np.stack(path[name]), want, rtol=2e-3, atol=2e-3, err_msg=f"{id} {name}")


def speechless(item: Item) -> bool:
    """Whether an item opens but has no numbers to compare."""
    return not has_golden(item) and item["expect"] != "clear_error"


@pytest.mark.parametrize("id", corpus_cases(lambda item: speechless(item) and (item["n_ops"] or 0) < 1_000))
def test_copied_without_numbers(corpus, id):
    """Where no numbers are recorded, two copies in one graph are at least what was predicted."""
    src, _ = opened(corpus, id)
    dst = gs.open(tf.Graph())
    before = src.snapshot.fingerprint
    for scope in ("one", "two"):
        plan = dst.plan().copy(src.select(), to=scope)
        assert plan.check() == (), [str(f) for f in plan.check()]
        dst.apply(plan)
        assert gs.open(dst.graph).snapshot.fingerprint == plan.after().fingerprint
    assert gs.open(src.graph).snapshot.fingerprint == before
    assert dst.snapshot.size == 2 * src.snapshot.size
