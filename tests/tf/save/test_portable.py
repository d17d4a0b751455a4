"""What is written names no file of the machine it was written on, and needs none of them."""

from __future__ import annotations

import gzip
import shutil

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.tf2 import tf1

LINES = tf.lookup.TextFileIndex
WORDS = np.array([b"cat", b"ant", b"dog"])
WANT = [[4.0], [2.0], [1.0]]
#: Formats by the name of what is written, with the arguments of `save`.
FORMATS = {
    "whole.pb": {"freeze": True},
    "open.pb": {},
    "text.pbtxt": {},
    "zipped.pb.gz": {},
    "net.meta": {},
    "folder": {},
    "frozen": {"freeze": True},
    "served": {"format": "saved_model_tf2"},
    "net.ckpt": {},
}


def table(folder):
    """A table of the words in a file of this folder: each word gives its line, another word -1."""
    file = folder / "words.txt"
    file.write_text("ant\nbee\ncat\n")
    rows = tf.lookup.TextFileInitializer(str(file), tf.string, LINES.WHOLE_LINE, tf.int64, LINES.LINE_NUMBER)
    return tf.lookup.StaticHashTable(rows, -1)


def module(folder):
    model = tf.Module()
    model.w = tf.Variable([[1.0], [2.0], [3.0], [4.0]], name="w")
    model.table = table(folder)
    model.serve = tf.function(
        lambda words: {"y": tf.gather(model.w, model.table.lookup(words) + 1)},
        input_signature=[tf.TensorSpec([None], tf.string, name="words")],
    )
    tf.saved_model.save(model, str(folder / "net"), signatures=model.serve)
    return gs.open(folder / "net")


def graph(folder, first=None):
    """A session of a graph of TF1 with a variable and a table, which have values."""
    with tf.Graph().as_default() as made:
        words = tf1.placeholder(tf.string, [None], name="words")
        w = tf1.get_variable("w", initializer=[[1.0], [2.0], [3.0], [4.0]])
        if first:
            tf1.train.init_from_checkpoint(str(first), {"w": w})
        tf.gather(w, table(folder).lookup(words) + 1, name="y")
        session = tf1.Session(graph=made)
        session.run([tf1.global_variables_initializer(), tf1.tables_initializer()])
    return session


def saved_model(folder):
    with graph(folder) as session:
        ends = [session.graph.get_tensor_by_name(name) for name in ("words:0", "y:0")]
        builder = tf1.saved_model.Builder(str(folder / "net"))
        called = tf1.saved_model.predict_signature_def({"words": ends[0]}, {"y": ends[1]})
        assets = session.graph.get_collection("asset_filepaths")
        with session.graph.as_default():
            builder.add_meta_graph_and_variables(
                session, ["serve"], {"serving_default": called}, assets, main_op=tf1.tables_initializer()
            )
        builder.save()
    return gs.open(folder / "net")


def meta_graph(folder):
    with graph(folder) as session, session.graph.as_default():
        tf1.train.Saver().save(session, str(folder / "net"))
    return gs.open(folder / "net.meta", trust=True)


def from_checkpoint(folder):
    """A graph whose variable is initialized from a checkpoint, as `tf.train.init_from_checkpoint` makes it."""
    with graph(folder) as session, session.graph.as_default():
        tf1.train.Saver().save(session, str(folder / "first"))
    return gs.open(graph(folder, folder / "first"))


def copied(folder):
    """A copy of a SavedModel in a graph of its own."""
    source, target = module(folder), gs.open(tf.Graph())
    target.apply(
        target.plan().copy(source.select(outputs=["Identity:0"]), to="", unmapped="placeholder", values=source)
    )
    return target


SOURCES = {one.__name__: one for one in (module, saved_model, meta_graph, from_checkpoint, copied)}


def answer(path, output):
    """What plain TensorFlow computes from what was written."""
    if path.is_dir():
        served = tf.saved_model.load(str(path)).signatures["serving_default"]
        return next(iter(served(words=tf.constant(WORDS)).values())).numpy()
    with tf.Graph().as_default() as made, tf1.Session() as session:
        if path.suffix == ".meta":
            tf1.train.import_meta_graph(str(path)).restore(session, str(path.with_suffix("")))
            session.run(tf1.tables_initializer())
        else:
            tf.import_graph_def(tf1.GraphDef.FromString(path.read_bytes()), name="")
            session.run([op for op in made.get_operations() if op.type.startswith("InitializeTable")])
        return session.run(output, {"words:0": WORDS})


@pytest.mark.parametrize("source", SOURCES)
def test_no_file_names_the_folder_of_its_source_or_needs_it(source, tmp_path):
    (tmp_path / "from").mkdir()
    (tmp_path / "to").mkdir()
    ed = SOURCES[source](tmp_path / "from")
    output = next(iter(ed.outputs.values())) if ed.outputs else "y:0" if source != "copied" else "Identity:0"
    ends = {"inputs": {"words": "words:0"}, "outputs": {"y": output}}
    for name, options in FORMATS.items():
        ed.save(tmp_path / "to" / name, **options, **({} if name.endswith(".ckpt") else ends))
    shutil.rmtree(tmp_path / "from")
    for file in (one for one in (tmp_path / "to").rglob("*") if one.is_file()):
        content = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
        assert str(tmp_path / "from").encode() not in content, file
    for name in ("whole.pb", "net.meta", "folder", "frozen", "served"):
        np.testing.assert_array_equal(answer(tmp_path / "to" / name, output), WANT, name)
    held = tf.train.load_checkpoint(str(tmp_path / "to" / "net.ckpt"))
    assert [held.get_tensor(key).tolist() for key in held.get_variable_to_shape_map()] == [[[1.0], [2.0], [3.0], [4.0]]]


@pytest.mark.parametrize("format", ["saved_model", "saved_model_tf2"])
def test_a_folder_that_was_written_is_as_harmless_as_its_source(format, tmp_path):
    (tmp_path / "from").mkdir()
    module(tmp_path / "from").save(tmp_path / "a", format=format)
    shutil.rmtree(tmp_path / "from")
    again = gs.open(tmp_path / "a")
    assert again.trusted
    again.save(tmp_path / "b", format=format)
    shutil.rmtree(tmp_path / "a")
    np.testing.assert_array_equal(answer(tmp_path / "b", ""), WANT)


def test_two_vocabularies_of_one_name_stay_two_tables(tmp_path):
    with tf.Graph().as_default() as made:
        words = tf1.placeholder(tf.string, [None], name="words")
        for name, lines in (("one", "ant\nbee\n"), ("two", "bee\nant\n")):
            (tmp_path / name).mkdir()
            (tmp_path / name / "words.txt").write_text(lines)
            rows = tf.lookup.TextFileInitializer(
                str(tmp_path / name / "words.txt"), tf.string, LINES.WHOLE_LINE, tf.int64, LINES.LINE_NUMBER
            )
            tf.identity(tf.lookup.StaticHashTable(rows, -1).lookup(words), name=name)
    ends = {"inputs": {"words": "words:0"}, "outputs": {"one": "one:0", "two": "two:0"}}
    for path in (tmp_path / "net.pb", tmp_path / "folder"):
        gs.open(made).save(path, **ends)
        with gs.open(path).session() as session:
            got = session.run(["one:0", "two:0"], {"words:0": ["ant", "bee", "cat"]})
        assert [one.tolist() for one in got] == [[0, 1, -1], [1, 0, -1]], path


def test_a_file_that_no_table_reads_is_named_in_the_report(tmp_path):
    (tmp_path / "letter.txt").write_text("hello")
    with tf.Graph().as_default() as made:
        path = tf.constant(str(tmp_path / "letter.txt"), name="path")
        made.add_to_collection("asset_filepaths", path)
        tf.identity(tf.io.read_file(path), name="y")
    saved = gs.open(made).save(tmp_path / "net.pb", outputs="y:0")
    assert "the file 'letter.txt' is not included: feed its path to 'path:0'" in str(saved)
    assert str(tmp_path).encode() not in (tmp_path / "net.pb").read_bytes()
