"""Tables, iterators and queues: a copy brings what fills them, and shares nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.graphs import tf1
from tests.recipes.models import looked_up


def table() -> tf.Graph:
    """Returns words -> ids through a static hash table."""
    graph = tf.Graph()
    with graph.as_default():
        words = tf1.placeholder(tf.string, [None], name="words")
        init = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([7, 9], tf.int64))
        tf.identity(tf1.lookup.StaticHashTable(init, -1).lookup(words), name="ids")
    return graph


def test_a_table_brings_its_initializer():
    dst = gs.open(tf.Graph())
    src = gs.open(table())
    for name in ("one", "two"):
        dst.apply(dst.plan().copy(src.select(outputs=["ids:0"]), to=name))
    init_ops = dst.graph.get_collection(tf1.GraphKeys.TABLE_INITIALIZERS)
    assert len(init_ops) == 2
    with tf1.Session(graph=dst.graph) as session:
        session.run(init_ops)
        for name in ("one", "two"):
            assert session.run(f"{name}/ids:0", {f"{name}/words:0": [b"b", b"x"]}).tolist() == [9, -1]


def test_two_tables_in_one_session_are_two():
    src = gs.open(table())
    src.apply(src.plan().copy(src.select(outputs=["ids:0"]), to="c"))
    names = {op.get_attr("shared_name") for op in src.graph.get_operations() if op.type == "HashTableV2"}
    assert len(names) == 2


def test_an_iterator_starts_anew():
    graph = tf.Graph()
    with graph.as_default():
        iterator = tf1.data.make_initializable_iterator(tf.data.Dataset.range(3))
        tf.identity(iterator.get_next(), name="n")
    src, dst = gs.open(graph), gs.open(tf.Graph())
    plan = dst.plan().copy(src.select(outputs=["n:0"]), to="c")
    assert any("iterators" in str(p) for p in plan.effect.copies[0].closure.dependencies)
    dst.apply(plan)
    with tf1.Session(graph=dst.graph) as session:
        session.run("c/MakeIterator")
        assert [session.run("c/n:0") for _ in range(3)] == [0, 1, 2]


def test_a_queue_brings_its_runner():
    graph = tf.Graph()
    with graph.as_default():
        queue = tf1.FIFOQueue(4, [tf.float32], [[2]], name="queue")
        tf1.train.add_queue_runner(tf1.train.QueueRunner(queue, [queue.enqueue([[1.0, 2.0]])]))
        tf.multiply(queue.dequeue(), 2.0, name="y")
    src, dst = gs.open(graph), gs.open(tf.Graph())
    dst.apply(dst.plan().copy(src.select(outputs=["y:0"]), to="c"))
    with dst.graph.as_default(), tf1.Session() as session:
        coordinator = tf1.train.Coordinator()
        threads = tf1.train.start_queue_runners(session, coordinator)
        assert len(threads) >= 1
        np.testing.assert_array_equal(session.run("c/y:0"), [2.0, 4.0])
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=10)


class Words(tf.Module):
    """Looks words up in a table; of a SavedModel, only the init op fills it."""

    def __init__(self):
        super().__init__()
        keys, values = tf.constant(["a", "b"]), tf.constant([7.0, 8.0])
        self.table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1.0)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def __call__(self, words):
        return self.table.lookup(tf.strings.lower(words)) * 2.0


@pytest.mark.parametrize("inline", [True, False])
def test_a_part_of_a_saved_model_brings_what_fills_its_table(tmp_path, inline):
    tf.saved_model.save(Words(), str(tmp_path))
    src = gs.open(str(tmp_path), raw=True, inline=inline)
    find = next(n for i, n in enumerate(src.snapshot.names) if src.snapshot.types[i] in ("LookupTableFindV2", CALL)
                and any("hash_table" in t for t in src.snapshot.input_names(i))
                and any("words" in t or "Lower" in t for t in src.snapshot.input_names(i)))  # fmt: skip
    enter = next(t for t in src.snapshot.input_names(src.snapshot.index[find]) if "words" in t or "Lower" in t)
    dst = gs.open(tf.Graph())
    plan = dst.plan().copy(src.select(inputs=enter, outputs=f"{find}:0"), to="t", unmapped="placeholder", values=src)
    done = dst.apply(plan)
    got = dst.session().run(done[f"{find}:0"], {done[enter]: ["b", "z"]})
    assert got.tolist() == ([8.0, -1.0] if inline else [16.0, -2.0])


CALL = "StatefulPartitionedCall"


def filled(kind: str) -> tuple[tf.Graph, Any]:
    """Returns words -> ids through a table that a session fills, with an op that fills it; and the table."""
    graph = tf.Graph()
    with graph.as_default():
        if kind == "hash":
            held = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, name="held")
        else:
            held = tf.lookup.experimental.DenseHashTable(tf.string, tf.int64, -1, "", "$", name="held")
        words = tf1.placeholder(tf.string, [None], name="words")
        tf.identity(held.lookup(words), name="ids")
        tf.group(held.insert(["a", "b"], tf.constant([7, 9], tf.int64)), name="fill")
    return graph, held


@pytest.mark.parametrize("kind", ["hash", "dense"])
def test_a_table_filled_at_run_time_starts_empty_and_the_plan_says_how_to_carry_it(kind):
    graph, held = filled(kind)
    src, dst = gs.open(graph), gs.open(tf.Graph())
    plan = dst.plan().copy(src.select(), to="c")
    done = dst.apply(plan)
    for text in (str(plan), str(done), str(dst.history[-1])):
        assert (
            "c/held starts empty, because it is filled while a session runs: transfer its entries with table.export()"
            in text
        )
        assert "table_handle=graph.get_tensor_by_name('c/held:0')" in text
    with tf1.Session(graph=graph) as session, graph.as_default():
        session.run("fill")
        keys, values = session.run(held.export())
    session, feed = dst.session(), {"c/words:0": ["b", "x"]}
    assert session.run("c/ids:0", feed).tolist() == [-1, -1]
    with dst.graph.as_default() as graph:
        handle = graph.get_tensor_by_name("c/held:0")
        given = tf1.placeholder(tf.string), tf1.placeholder(tf.int64)
        carry = tf.raw_ops.LookupTableImportV2(table_handle=handle, keys=given[0], values=given[1])
    session.run(carry, dict(zip(given, (keys, values), strict=True)))
    assert session.run("c/ids:0", feed).tolist() == [9, -1]


def test_a_replica_and_a_supergraph_say_that_a_table_starts_empty():
    graph, _ = filled("hash")
    with graph.as_default(), tf1.Session() as session:
        session.run("fill")
        replica = gs.duplicate(graph, values=session)
    assert "warning: held starts empty" in str(replica)
    assert replica.run("ids:0", {"words:0": ["a"]}).tolist() == [-1]
    assert "warning: m/held starts empty" in str(gs.connect({"m": graph}).history[-1])


def test_a_queue_that_nothing_in_the_copy_fills_starts_empty():
    graph = tf.Graph()
    with graph.as_default():
        queue = tf1.FIFOQueue(4, [tf.float32], [[]], name="queue")
        queue.enqueue(1.0, name="put")
        tf.negative(queue.dequeue(), name="y")
    plan = gs.open(tf.Graph()).plan().copy(gs.open(graph).select(), to="c")
    assert "c/queue starts empty, because it is filled while a session runs: run the ops that fill it" in str(plan)
    with graph.as_default():
        tf1.train.add_queue_runner(tf1.train.QueueRunner(queue, [graph.get_operation_by_name("put")]))
    assert "starts empty" not in str(gs.open(tf.Graph()).plan().copy(gs.open(graph).select(), to="c"))


def test_a_table_that_brings_its_own_content_is_not_called_empty():
    plan = gs.open(tf.Graph()).plan().copy(gs.open(table()).select(), to="c")
    assert "starts empty" not in str(plan)


@pytest.fixture(scope="module")
def filled_by_its_main_op(tmp_path_factory):
    """A SavedModel of TF1 whose main op fills its table; no collection names what does."""
    folder = tmp_path_factory.mktemp("model") / "saved"
    with table().as_default() as graph, tf1.Session() as session:
        fill = tf1.tables_initializer(name="fill")
        graph.clear_collection(tf1.GraphKeys.TABLE_INITIALIZERS)
        ends = {"words": graph.get_tensor_by_name("words:0")}, {"ids": graph.get_tensor_by_name("ids:0")}
        builder = tf1.saved_model.Builder(str(folder))
        call = {"serving_default": tf1.saved_model.predict_signature_def(*ends)}
        builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map=call, main_op=fill)
        builder.save()
    return folder


@pytest.mark.parametrize("live", [True, False])
def test_what_functions_within_functions_make_and_fill_is_known_as_a_table(live):
    graph = looked_up()
    src = gs.open(graph if live else graph.as_graph_def())
    ((holder, fills),) = src.snapshot.state.init_ops.items()
    assert [src.snapshot.types[src.snapshot.index[name]] for name in (holder, *fills)] == [CALL, CALL]
    dst = gs.open(tf.Graph())
    dst.apply(dst.plan().copy(src.select(outputs=["y:0"]), to="c"))
    with tf1.Session(graph=dst.graph) as session:
        session.run([f"c/{name}" for name in fills])
        assert session.run("c/y:0", {"c/words:0": [b"b", b"x"]}).tolist() == [9, -1]


def test_what_fills_a_table_of_a_file_is_known_wherever_it_was_copied_to(filled_by_its_main_op):
    src, fed = gs.open(filled_by_its_main_op), [b"b", b"x"]
    assert src.values.init_ops == (["fill"], {})
    editors = [gs.open(tf.Graph()) for _ in range(2)]
    for source, dst, end in ((src, editors[0], "ids:0"), (editors[0], editors[1], "a/ids:0")):
        dst.apply(dst.plan().copy(source.select(outputs=[end]), to="a", values=source))
    for ed, scope in ((editors[0], "a"), (editors[1], "a/a"), (editors[0].inlined(), "a")):
        feeds, end = {f"{scope}/words:0": fed}, f"{scope}/ids:0"
        assert ed.session().run(end, feeds).tolist() == [9, -1]
        assert ed.trace(feeds, end).results[end].tolist() == [9, -1]
        assert len(ed.values.init_ops[0]) == 1
    editors[0].undo()
    assert editors[0].values.init_ops == ([], {})


def filled_by_hand(kind: str = "HashTableV2") -> tf.Graph:
    """Returns words -> ids through a table that an op of the graph fills, which no collection lists."""
    with tf.Graph().as_default() as graph:
        words = tf1.placeholder(tf.string, [None], name="words")
        held = getattr(tf.raw_ops, kind)(key_dtype=tf.string, value_dtype=tf.int64, shared_name="ids", name="held")
        content = {"keys": tf.constant(["a", "b"]), "values": tf.constant([7, 9], tf.int64)}
        tf.raw_ops.LookupTableImportV2(table_handle=held, **content, name="fill")
        missing = tf.constant(-1, tf.int64)
        tf.raw_ops.LookupTableFindV2(table_handle=held, keys=words, default_value=missing, name="ids")
    return graph


def copied_by_hand(kind: str, dst: Any) -> Any:
    src = gs.open(filled_by_hand(kind))
    dst.apply(dst.plan().copy(src.select(outputs=["ids:0"]), to="c", unmapped="placeholder"))
    return dst


@pytest.mark.parametrize("kind", ["HashTableV2", "MutableHashTableV2"])
@pytest.mark.parametrize(
    "door", ["new graph", "open session", "older session", "undone and done again", "copy of a copy"]
)
def test_each_session_fills_a_copied_table(door, kind):
    graph = filled_by_hand("HashTableV2") if door == "older session" else tf.Graph()
    with tf1.Session(graph=graph) as session:
        dst = gs.open(session if door == "open session" else graph)
        held = dst.session(session) if door == "older session" else None
        copied_by_hand(kind, dst)
        prefix = "c"
        if door == "undone and done again":
            dst.undo()
            dst.redo()
        if door == "copy of a copy":
            first, dst, prefix = dst, gs.open(tf.Graph()), "d/c"
            dst.apply(dst.plan().copy(first.select(outputs=["c/ids:0"]), to="d", unmapped="placeholder"))
        got = dst.session(held).run(f"{prefix}/ids:0", {f"{prefix}/words:0": ["b", "x"]})
        assert got.tolist() == [9, -1]


@pytest.mark.parametrize("name", ["net.pb", "net.meta", "net"])
@pytest.mark.parametrize("kind", ["HashTableV2", "MutableHashTableV2"])
def test_a_file_with_a_table_that_no_collection_lists_is_filled_when_it_is_opened(name, kind, tmp_path):
    dst = copied_by_hand(kind, gs.open(tf.Graph()))
    dst.save(tmp_path / name, inputs={"words": "c/words:0"}, outputs={"ids": "c/ids:0"})
    got = gs.open(tmp_path / name).session().run("c/ids:0", {"c/words:0": ["b", "x"]})
    assert got.tolist() == [9, -1]


def test_a_written_meta_graph_lists_what_fills_its_tables(tmp_path):
    copied_by_hand("HashTableV2", gs.open(tf.Graph())).save(tmp_path / "net.meta", outputs="c/ids:0")
    with tf.Graph().as_default(), tf1.Session() as session:
        tf1.train.import_meta_graph(str(tmp_path / "net.meta"))
        session.run(tf1.tables_initializer())
        assert session.run("c/ids:0", {"c/words:0": ["b", "x"]}).tolist() == [9, -1]


def test_a_table_that_is_fed_is_left_to_who_feeds_it():
    with tf.Graph().as_default() as graph:
        held = tf.raw_ops.HashTableV2(key_dtype=tf.string, value_dtype=tf.int64, name="held")
        keys, values = tf1.placeholder(tf.string, [None], name="keys"), tf1.placeholder(tf.int64, [None], name="values")
        tf.raw_ops.LookupTableImportV2(table_handle=held, keys=keys, values=values, name="fill")
        tf.raw_ops.LookupTableSizeV2(table_handle=held, name="size")
    with gs.open(graph).session() as session:
        session.run("fill", {"keys:0": ["a"], "values:0": [1]})
        assert session.run("size:0") == 1
