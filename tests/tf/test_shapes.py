"""Static shapes: what a program states of a tensor is true of every copy, as long as the copy reads the like."""

from __future__ import annotations

import gc
import gzip
from typing import Any

import pytest
import tensorflow as tf
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.ops import handle_data_util

import graphsurgeon as gs
from graphsurgeon import graph_editor as ge
from graphsurgeon.tf.values.transfer import release_memory
from tests.corpus import corpus_cases
from tests.graphs import tf1
from tests.random_graphs import NUMBER, flow_version
from tests.test_properties import FEW

#: Each makes the graph again as a whole: graph -> (the new one, the scope it is under).
WHOLE: dict[str, Any] = {}
#: Those that change the graph they are given.
CHANGING = ("copy_in_place", "edit", "rebuild")
MOST_OPS = 3_000
#: File -> how many words its embeddings have.
MANY_WORDS = {"att_rnn_untrained.meta.gz": 563_354, "word_cnn_untrained.meta": 563_354}


def fits(item: Any) -> bool:
    """Whether a graph is of moderate size, and plain TensorFlow itself writes it as a .meta file."""
    return (item["n_ops"] or 0) <= MOST_OPS and item["id"] != "tf_g2m_graph_gradient_def"


def whole(make: Any) -> Any:
    WHOLE[make.__name__] = make
    return make


@whole
def copy(ed: Any, folder: Any) -> tuple[Any, str]:
    into = gs.open(tf.Graph())
    into.apply(into.plan().copy(ed.select(), to="c", values=None))
    return into.graph, "c/"


@whole
def copy_in_place(ed: Any, folder: Any) -> tuple[Any, str]:
    ed.apply(ed.plan().copy(ed.select(), to="inside"))
    return ed.graph, "inside/"


@whole
def edit(ed: Any, folder: Any) -> tuple[Any, str]:
    ed.apply(ed.plan().set_device(ed.snapshot.names[-1], "/cpu:0"))
    return ed.graph, ""


@whole
def rebuild(ed: Any, folder: Any) -> tuple[Any, str]:
    ed.rebuild()
    return ed.graph, ""


@whole
def duplicate(ed: Any, folder: Any) -> tuple[Any, str]:
    return gs.duplicate(ed.select(), to="again", graph=tf.Graph(), variables="initial").graph, "again/"


@whole
def connect(ed: Any, folder: Any) -> tuple[Any, str]:
    return gs.connect({"one": ed}, variables="initial").graph, "one/"


@whole
def save_meta(ed: Any, folder: Any) -> tuple[Any, str]:
    return saved(ed, folder, "graph.meta")


@whole
def save_pb(ed: Any, folder: Any) -> tuple[Any, str]:
    return saved(ed, folder, "graph.pb")


@whole
def save_pbtxt(ed: Any, folder: Any) -> tuple[Any, str]:
    return saved(ed, folder, "graph.pbtxt.gz")


@whole
def graph_editor(ed: Any, folder: Any) -> tuple[Any, str]:
    view, _ = ge.copy(ge.make_view(ed.graph.get_operations()), tf.Graph(), "ge")
    return view.graph, "ge/"


def saved(ed: Any, folder: Any, name: str) -> tuple[Any, str]:
    ed.save(folder / name)
    return gs.open(folder / name).graph, ""


def shape(tensor: Any) -> Any:
    return None if tensor.shape.rank is None else tuple(tensor.shape)


def shapes(graph: Any) -> dict[str, Any]:
    return {t.name: shape(t) for op in graph.get_operations() for t in op.outputs}


def lost(before: dict[str, Any], graph: Any, lead: str) -> dict[str, Any]:
    """Returns the tensors whose static shape is another now: name -> (what it was, what it is)."""
    there = {op.name for op in graph.get_operations()}
    now = {name: shape(graph.get_tensor_by_name(lead + name)) for name in before if lead + _op(name) in there}
    assert len(now) == len(before)
    return {name: (was, now[name]) for name, was in before.items() if now[name] != was}


def _op(name: str) -> str:
    return name.partition(":")[0]


def reported() -> Any:
    """A graph in which the program states of tensors what TensorFlow cannot infer."""
    with tf.Graph().as_default() as graph, flow_version("v1"):
        x = tf1.placeholder(tf.float32, [None, None], name="x")
        y = tf.identity(x, name="y")
        y.set_shape([None, 8])
        of_any_rank = tf.identity(tf1.placeholder(tf.float32, name="any"), name="of_any_rank")
        of_any_rank.set_shape([5, None])
        tf.matmul(y, tf.ones([8, 3]), name="z")
        start = tf.ones([1, 8])
        count = tf.constant(0)
        invariants = [count.shape, tf.TensorShape([None, 8])]
        ends = tf1.while_loop(
            lambda i, a: i < 3, lambda i, a: (i + 1, tf.concat([a, a], 0)), [count, start], invariants, name="loop"
        )
        tf.identity(ends[1], name="end")
    return graph


@pytest.mark.parametrize("how", WHOLE)
def test_what_was_told_is_told_of_what_is_made_of_the_whole(how, tmp_path):
    graph = reported()
    before = shapes(graph)
    new, lead = WHOLE[how](gs.open(graph), tmp_path)
    assert before["y:0"] == (None, 8)
    assert lost(before, new, lead) == {}


@pytest.mark.parametrize("name", ["frozen.pb", "frozen"])
def test_a_frozen_file_knows_what_was_told(name, tmp_path):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, None], name="x")
        w = tf1.get_variable("w", initializer=tf.ones([8, 3]), use_resource=True)
        y = tf.identity(x, name="y")
        y.set_shape([None, 8])
        tf.matmul(y, w, name="z")
    with tf1.Session(graph=graph) as session:
        session.run(w.initializer)
        gs.open(session).save(tmp_path / name, inputs="x:0", outputs="z:0", freeze=True)
    new = gs.open(tmp_path / name)
    assert shape(new.tensor("y:0")) == (None, 8)
    assert shape(new.tensor("z:0")) == (None, 3)


@FEW
@given(st.lists(st.tuples(st.integers(0, 5), NUMBER, NUMBER, st.integers(0, 3)), min_size=3, max_size=14))
def test_random_graphs_with_shapes_told_at_random_are_copied_and_edited_with_them(tmp_path_factory, recipe):
    graph = random_shapes(recipe)
    before = shapes(graph)
    for how in ("copy", "rebuild", "edit", "save_pb", "save_meta"):
        ed = gs.open(graph)
        new, lead = WHOLE[how](ed, tmp_path_factory.mktemp("saved"))
        assert lost(before, new, lead) == {}, how


MAKERS: list[Any] = [
    lambda a, b: tf.identity(a),
    lambda a, b: tf.transpose(a),
    lambda a, b: tf.sort(a),
    lambda a, b: tf.reshape(a, tf.shape(b)),
    tf.add,
    tf.matmul,
]


def random_shapes(recipe: Any) -> Any:
    """A graph of 4 by 4 tensors, of which TensorFlow knows the shapes it infers and those it is given."""
    sizes = [[None, None], [4, None], [None, 4], None]
    with tf.Graph().as_default() as graph:
        made = [tf1.placeholder(tf.float32, None if n == 3 else sizes[n], name=f"feed{n}") for n in range(4)]
        for kind, a, b, say in recipe:
            one, two = made[a % len(made)], made[b % len(made)]
            new = MAKERS[kind](one, two)
            if say < 3 and b % 2:
                new.set_shape(sizes[say])
            made.append(new)
    return graph


@FEW
@given(
    st.lists(st.tuples(st.integers(0, 5), NUMBER, NUMBER, st.integers(0, 3)), min_size=3, max_size=14),
    st.sampled_from([[4, 4], [4, None], [None, None], [2, 3], None]),
)
def test_a_copy_that_reads_something_else_says_nothing_false(recipe, fed):
    graph = random_shapes(recipe)
    source, into = gs.open(graph), gs.open(tf.Graph())
    with into.graph.as_default():
        tf1.placeholder(tf.float32, fed, name="fed")
    plan = into.plan().copy(source.select(), to="c", inputs={"feed0:0": "fed:0"})
    if plan.check():
        return
    refused = None
    try:
        into.apply(plan)
    except gs.PlanError as error:
        refused = str(error)
    assert refused is None or "TensorFlow refuses" in refused
    if refused is not None:
        return
    with tf.Graph().as_default() as plain:  # what TensorFlow itself infers
        again = tf1.placeholder(tf.float32, fed, name="fed")
        tf1.import_graph_def(graph.as_graph_def(), {"feed0:0": again}, name="c")
    predicted = plan.after()
    for op in plain.get_operations():
        if op.name.startswith("c/") and not op.name.startswith("c/feed0"):
            for port, tensor in enumerate(op.outputs):
                now = into.tensor(tensor.name)
                assert tensor.shape.is_compatible_with(now.shape), (tensor, now)
                assert now.shape.is_subtype_of(tensor.shape), (tensor, now)  # it says at least as much
                foreseen = predicted.info(predicted.index[op.name], port)
                assert foreseen is not None
                # Where a stated shape contradicts what is fed, TensorFlow's word counts.
                assert tensor.shape.is_compatible_with(tf.TensorShape(foreseen.shape)), (tensor, foreseen)
                assert now.shape.is_subtype_of(tf.TensorShape(foreseen.shape)), (foreseen, now)


def remapped(size: Any) -> Any:
    into = gs.open(tf.Graph())
    with into.graph.as_default():
        tf1.placeholder(tf.float32, size, name="other")
    source = gs.open(reported())
    into.apply(into.plan().copy(source.select(scope="", outputs=["z:0"]), to="c", inputs={"x:0": "other:0"}))
    return into


def test_what_was_told_holds_of_a_narrower_input():
    into = remapped([5, None])
    assert shape(into.tensor("c/y:0")) == (5, 8)
    assert shape(into.tensor("c/z:0")) == (5, 3)


@pytest.mark.parametrize("asked_first", ["check", "after"])
def test_what_was_told_is_not_foreseen_where_it_contradicts_what_is_fed(asked_first):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, None], name="x")
        y = tf.identity(x, name="y")
        y.set_shape([4, 8])
        tf.negative(y, name="z")
        tf.shape(y, name="size")
        tf.identity(x, name="other").set_shape([None, 3])
    into = gs.open(tf.Graph())
    with into.graph.as_default():
        tf1.placeholder(tf.float32, [2, 3], name="fed")
    plan = into.plan().copy(gs.open(graph).select(), to="c", inputs={"x:0": "fed:0"})
    if asked_first == "check":
        assert plan.check() == ()
    after = plan.after()
    ops = ("y", "z", "size", "other")
    foreseen = {name: after.info(after.index[f"c/{name}"], 0).shape for name in ops}
    into.apply(plan)
    assert foreseen["y"] == foreseen["z"] == (2, 3)
    assert {name: shape(into.tensor(f"c/{name}:0")) for name in ops} == {**foreseen, "other": (2, 3)}
    assert foreseen["other"] == (None, 3)  # the stated shape is true: TensorFlow only knows more


def test_what_was_told_does_not_hold_of_a_wider_input():
    into = remapped(None)
    assert shape(into.tensor("c/y:0")) is None
    assert shape(into.tensor("c/z:0")) == (None, 3)


def test_a_size_told_of_an_untouched_tensor_reaches_what_is_inferred_anew():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2, 8], name="x")
        w = tf.identity(tf1.placeholder(tf.float32, name="any"), name="w")
        w.set_shape([8, 3])
        tf.matmul(x, w, name="y")
    source, into = gs.open(graph), gs.open(tf.Graph())
    with into.graph.as_default():
        tf1.placeholder(tf.float32, [None, 8], name="other")
    done = into.apply(into.plan().copy(source.select(), to="c", inputs={"x:0": "other:0"}))
    assert shape(done["y:0"]) == (None, 3)
    assert into.snapshot.info(*into.snapshot.tensor("c/y:0")).shape == (None, 3)
    assert not any("_output_shapes" in node.attr for node in into.graph.as_graph_def().node)
    ed = gs.open(graph)
    ed.apply(ed.plan().set_attr("x", "shape", [None, 8]))
    assert shape(ed.tensor("w:0")) == (8, 3)
    assert shape(ed.tensor("y:0")) == (None, 3)


def test_another_value_of_a_size_is_another_shape():
    with tf.Graph().as_default() as graph:
        size = tf.constant([5, 8], name="size")
        tf.reshape(tf1.placeholder(tf.float32, name="x"), size, name="y")
    source, into = gs.open(graph), gs.open(tf.Graph())
    with into.graph.as_default():
        tf.constant([7, 8], name="other")
    done = into.apply(into.plan().copy(source.select(), to="c", inputs={"size:0": "other:0"}))
    assert shape(done["y:0"]) == (7, 8)


def test_a_shape_that_is_no_longer_true_of_the_original_blocks_nothing():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2, 8], name="x")
        y = tf.square(x, name="y")
        z = tf.add(y, tf1.placeholder(tf.float32, [None, 8], name="b"), name="z")
    x.op._set_attr("shape", attr_value_pb2.AttrValue(shape=tf.TensorShape([3, 8]).as_proto()))  # by hand, too late
    assert (shape(y), shape(z)) == ((2, 8), (2, 8))
    into = gs.open(tf.Graph())
    with into.graph.as_default():
        tf1.placeholder(tf.float32, [None, None], name="wide")
    source = gs.open(graph)
    done = into.apply(into.plan().copy(source.select(), to="c", inputs={"b:0": "wide:0"}))
    assert shape(done["y:0"]) == (3, 8)
    assert shape(done["z:0"]) == (3, 8)


def test_what_a_resource_holds_is_told_of_what_passes_it_on():
    with tf.Graph().as_default() as graph:
        handle = tf1.placeholder(tf.resource, [], name="handle")
        data = handle_data_util.create_handle_data(tf.TensorShape([None, 8]), tf.float32)
        handle_data_util.set_handle_data(handle, data)
        passed = tf.identity(handle, name="passed")
        tf.raw_ops.ReadVariableOp(resource=passed, dtype=tf.float32, name="read")
    into = gs.open(tf.Graph())
    done = into.apply(into.plan().copy(gs.open(graph).select(), to="c"))
    with into.graph.as_default():
        fresh = tf.raw_ops.ReadVariableOp(resource=done["passed:0"], dtype=tf.float32)
    assert shape(done["read:0"]) == shape(fresh) == (None, 8)


def test_a_dense_layer_is_built_on_a_copy():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, None], name="x")
        tf.identity(x, name="y").set_shape([None, 8])
    into = gs.open(tf.Graph())
    done = into.apply(into.plan().copy(gs.open(graph).select(), to="c"))
    with into.graph.as_default():
        w = tf1.get_variable("w", [done["y:0"].shape[-1], 3])
    assert w.shape == (8, 3)


@pytest.fixture
def tidy():
    yield
    gc.collect()
    release_memory()


@pytest.fixture
def parsed_once(monkeypatch):
    """Most of the time goes into parsing text, the same one for each way: each text is parsed once."""
    parse, known = text_format.Parse, {}

    def once(text: Any, message: Any, **about: Any) -> Any:
        key = (text, type(message), *sorted(about.items()))
        if key not in known:
            known[key] = parse(text, type(message)(), **about)
        message.CopyFrom(known[key])
        return message

    monkeypatch.setattr(text_format, "Parse", once)


def of_few_words(path: Any, folder: Any) -> Any:
    """Returns a path to the same graph with a shorter vocabulary, where its embeddings would be gigabytes of values.

    The other number has as many bytes, in a shape and in a constant, so that nothing else of the file changes.
    """
    if path.name not in MANY_WORDS:
        return path
    many, few, packed = MANY_WORDS[path.name], 20_000, path.suffix == ".gz"
    text = gzip.decompress(path.read_bytes()) if packed else path.read_bytes()
    for written in (varint, lambda number: number.to_bytes(4, "little")):
        assert len(written(many)) == len(written(few))
        assert written(many) in text
        text = text.replace(written(many), written(few))
    new = folder / f"few_{path.name}"
    new.write_bytes(gzip.compress(text) if packed else text)
    return new


def varint(number: int) -> bytes:
    """Returns a number as a proto has it."""
    return bytes([number % 128 | 128]) + varint(number // 128) if number >= 128 else bytes([number])


@pytest.mark.usefixtures("tidy", "parsed_once")
@pytest.mark.parametrize("id", corpus_cases(lambda item: item["expect"].startswith("loads") and fits(item), quick=3))
def test_each_real_graph_keeps_its_static_shapes(id, corpus, tmp_path):
    tags, path = corpus.item(id)["run"].get("tags"), of_few_words(corpus.path(id), tmp_path)
    found = {}
    ed = gs.open(path, tags=tags, raw=True, trust=True)
    before = shapes(ed.graph)
    # No file that is written reads a checkpoint of the machine it comes from.
    kept = {name: shape for name, shape in before.items() if not name.startswith("checkpoint_initializer")}
    for how, make in WHOLE.items():
        source = gs.open(path, tags=tags, raw=True, trust=True) if how in CHANGING else ed
        try:
            found[how] = lost(kept if how.startswith("save_") else before, *make(source, tmp_path))
        except Exception as error:  # some cannot be started: their files, or their first values, are not there
            found[how] = "" if how == "duplicate" else repr(error)
    assert not any(found.values()), {how: what for how, what in found.items() if what}
