"""Saving: each format loads in plain TensorFlow, in a process without graphsurgeon, and gives the same numbers."""

from __future__ import annotations

import json
import textwrap

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from graphsurgeon.graph.conversion_verdict import Unconvertible
from tests.fresh import process
from tests.graphs import KINDS, look, model
from tests.hostile import word_rows
from tests.refusal import refuses

tf1 = tf.compat.v1

PLAIN = """
import json, sys
sys.modules["graphsurgeon"] = None  # who asks for it is refused
import numpy as np, tensorflow as tf
tf1 = tf.compat.v1
where, fetch = sys.argv[1:3]
x = np.array([[0.1, 0.2], [0.3, 0.4]], np.float32)
{how}
assert not [name for name in sys.modules if name.startswith("graphsurgeon.")]
print(json.dumps(np.asarray(out).tolist()))
"""
HOW = {
    "graph_def": """
graph_def = tf1.GraphDef.FromString(open(where, "rb").read())
with tf.Graph().as_default() as graph, tf1.Session() as s:
    tf1.import_graph_def(graph_def, name="")
    out = s.run(fetch, {"x:0": x})
""",
    "meta_graph": """
with tf.Graph().as_default() as graph, tf1.Session() as s:
    saver = tf1.train.import_meta_graph(where)
    saver.restore(s, where[:-5])
    out = s.run(fetch, {"x:0": x})
""",
    "saved_model": """
with tf.Graph().as_default() as graph, tf1.Session() as s:
    meta = tf1.saved_model.loader.load(s, ["serve"], where)
    about = meta.signature_def["serving_default"]
    out = s.run(list(about.outputs.values())[0].name, {list(about.inputs.values())[0].name: x})
""",
    "tf2": """
f = tf.saved_model.load(where).signatures["serving_default"]
out = list(f(x=tf.constant(x)).values())[0].numpy()
""",
}
X = np.array([[0.1, 0.2], [0.3, 0.4]], np.float32)


def plainly(how, path, fetch="net/y:0"):
    """Returns what a plain TensorFlow computes from a file, in a process of its own."""
    code = PLAIN.format(how=textwrap.dedent(HOW[how]))
    done = process(code, path, fetch, cwd="/")
    assert done.returncode == 0, done.stderr[-2000:]
    return np.array(json.loads(done.stdout.strip().splitlines()[-1]), np.float32)


@pytest.fixture(params=KINDS)
def trained(request):
    m = model(request.param)
    m.train_steps()
    return m, gs.open(m.session), m.session.run(m.y, {m.x: X})


def test_a_frozen_graph_def(trained, tmp_path):
    m, ed, want = trained
    before = look(m.graph)
    report = ed.save(tmp_path / "y.pb", outputs="net/y:0", freeze=True)
    assert look(m.graph) == before
    graph_def = tf1.GraphDef.FromString((tmp_path / "y.pb").read_bytes())
    assert report.ops == len(graph_def.node)
    assert not {n.op for n in graph_def.node} & {"VarHandleOp", "VariableV2", "Assign", "ApplyAdam"}
    np.testing.assert_array_equal(plainly("graph_def", tmp_path / "y.pb"), want)


def test_a_graph_def_pruned_to_outputs_says_that_values_are_not_in_it(trained, tmp_path):
    _, ed, _ = trained
    report = ed.save(tmp_path / "y.pbtxt.gz", outputs=["net/y:0"])
    assert "the values of 2 variables are not included: freeze=True" in repr(report)
    back = gs.open(tmp_path / "y.pbtxt.gz")
    assert set(back.snapshot.state.variables) == {"net/w", "net/b"}
    assert report.omitted_ops == ed.snapshot.size - back.snapshot.size
    assert not any("Adam" in name for name in back.snapshot.names)


@pytest.mark.parametrize("name", ["part.pb", "part", "part.meta", "part.tflite"])
def test_a_tensor_that_is_not_there_is_named_by_the_call_that_was_made(trained, tmp_path, name):
    _, ed, _ = trained
    for ends in ({"outputs": "net/yy:0"}, {"outputs": "net/y:0", "inputs": "net/yy:0"}):
        words = (f"save({str(tmp_path / name)!r}): there is no tensor 'net/yy:0'", "Did you mean 'net/y'")
        with refuses(SelectionError, *words):
            ed.save(tmp_path / name, **ends)


def test_a_part_between_inputs_and_outputs(trained, tmp_path):
    m, ed, _ = trained
    ed.save(tmp_path / "tail.pb", inputs="net/add:0" if "net/add" in ed.snapshot.index else "net/add_1:0",
            outputs="net/y:0", freeze=True)  # fmt: skip
    back = gs.open(tmp_path / "tail.pb")
    assert back.snapshot.size == 2
    fed = m.session.run("net/add:0", {m.x: X})
    # Where all of it runs, some versions fuse the ops before: the last bit is another.
    want = m.session.run("net/y:0", {"net/add:0": fed})
    np.testing.assert_array_equal(back.session().run("net/y:0", {"net/add:0": fed}), want)


def test_a_meta_graph_with_its_checkpoint(trained, tmp_path):
    m, ed, want = trained
    before = look(m.graph)
    report = ed.save(tmp_path / "m.meta")
    assert look(m.graph) == before
    assert "net/w/Adam" in report.variables
    assert sorted(p.name.partition(".data")[0] for p in tmp_path.iterdir()) == ["m", "m.index", "m.meta"]
    np.testing.assert_array_equal(plainly("meta_graph", tmp_path / "m.meta"), want)
    assert not (tmp_path / "checkpoint").exists()


@pytest.mark.parametrize("file", ["m.meta", "folder"])
def test_a_file_that_is_opened_and_saved_again_gets_no_new_ops(trained, tmp_path, file):
    m, ed, want = trained
    with m.graph.as_default():
        table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a"], [1.0]), 0.0)
        tf.add(m.y, table.lookup(tf.constant("b")), name="sum")
        loose = tf1.get_variable("loose", initializer=2.0, collections=["local_variables"])
        tf.add(loose, 1.0, name="more")
        tf1.add_to_collection(tf1.GraphKeys.TABLE_INITIALIZERS, tf.constant(3, name="filled"))
        m.session.run([tf1.tables_initializer(), loose.initializer])
    sizes = []
    for turn in ("first", "second", "third"):
        signatures = {"a": ("x:0", "sum:0"), "b": ([], "more:0")} if file == "folder" else None
        ed.save(tmp_path / turn / file, signatures=signatures)
        ed = gs.open(tmp_path / turn / file)
        sizes.append(ed.snapshot.size)
    assert len(set(sizes)) == 1
    np.testing.assert_array_equal(ed.session().run("sum:0", {"x:0": X}), want)
    if file == "m.meta":
        np.testing.assert_array_equal(plainly("meta_graph", tmp_path / "third" / "m.meta"), want)


def test_only_a_saver_of_just_these_variables_and_names_becomes_the_one_of_the_file(tmp_path):
    with tf.Graph().as_default() as graph, tf1.Session() as session:
        a, b = tf1.get_variable("a", initializer=1.0), tf1.get_variable("b", initializer=2.0)
        tf1.train.Saver([a], name="part")
        tf1.train.Saver({"x": a, "y": b}, name="named")
        tf1.train.Saver([a, b], name="whole")
        session.run(tf1.global_variables_initializer())
        ed = gs.open(session)
        assert ed.save(tmp_path / "whole.meta").ops == len(graph.get_operations())
        ed.apply(ed.plan().connect("b/Read/ReadVariableOp:0", to="whole/SaveV2", input=3))
        assert ed.save(tmp_path / "fresh.meta").ops > ed.snapshot.size
    for name, prefix in (("whole", "whole/"), ("fresh", "save/")):
        with tf.Graph().as_default(), tf1.Session() as session:
            saver = tf1.train.import_meta_graph(str(tmp_path / f"{name}.meta"))
            assert saver.saver_def.restore_op_name == prefix + "restore_all"
            saver.restore(session, str(tmp_path / name))
            saver.save(session, str(tmp_path / "plain"))
            held = tf.train.load_checkpoint(str(tmp_path / "plain"))
            assert {key: held.get_tensor(key) for key in held.get_variable_to_shape_map()} == {"a": 1.0, "b": 2.0}


def test_a_file_whose_ops_lack_what_tensorflow_notes_in_them_today_is_saved_as_it_was_opened(corpus, tmp_path):
    ed = gs.open(corpus.path("onnx_regression_meta_ckpt"))
    size = ed.snapshot.size
    assert ed.save(tmp_path / "again.meta", verify=False).ops == size
    assert gs.open(tmp_path / "again.meta").snapshot.size == size


def test_a_meta_graph_goes_on_training_as_before(trained, tmp_path):
    m, ed, _ = trained
    ed.save(tmp_path / "m.meta")
    with tf.Graph().as_default() as graph, tf1.Session() as session:
        saver = tf1.train.import_meta_graph(str(tmp_path / "m.meta"))
        saver.restore(session, str(tmp_path / "m"))
        for _ in range(2):
            session.run("train", {t.name: v for t, v in m.feed().items()})
        got = session.run("net/y:0", {"x:0": X})
        assert len(graph.get_collection("trainable_variables")) == 2
    m.train_steps(2)
    np.testing.assert_allclose(got, m.session.run(m.y, {m.x: X}), rtol=1e-6)


def test_a_saved_model_of_tf1(trained, tmp_path):
    _, ed, want = trained
    ed.save(tmp_path / "folder", inputs={"x": "x:0"}, outputs={"y": "net/y:0"})
    np.testing.assert_array_equal(plainly("saved_model", tmp_path / "folder"), want)
    np.testing.assert_array_equal(plainly("tf2", tmp_path / "folder"), want)


def test_a_saved_model_of_tf2(trained, tmp_path):
    _, ed, want = trained
    report = ed.save(tmp_path / "folder", inputs={"x": "x:0"}, outputs={"y": "net/y:0"}, format="saved_model_tf2")
    assert set(report.variables) == {"net/w", "net/b"}
    np.testing.assert_array_equal(plainly("tf2", tmp_path / "folder"), want)


@pytest.mark.parametrize("format", ["saved_model", "saved_model_tf2"])
def test_several_signatures_share_their_variables(tmp_path, format):
    m = model("resource")
    ed = gs.open(m.session)
    both = {"predict": ({"x": "x:0"}, {"y": "net/y:0"}), "loss": ({"x": "x:0", "t": "target:0"}, {"loss": "loss:0"})}
    ed.save(tmp_path / "f", signatures=both, format=format)
    loaded = tf.saved_model.load(str(tmp_path / "f"))
    feed = m.feed()
    got = loaded.signatures["loss"](x=tf.constant(feed[m.x]), t=tf.constant(feed[m.target]))["loss"]
    np.testing.assert_allclose(got, m.session.run(m.loss, feed), rtol=1e-6)
    got = loaded.signatures["predict"](x=tf.constant(X))["y"]
    np.testing.assert_array_equal(got, m.session.run(m.y, {m.x: X}))
    index = tf.train.load_checkpoint(str(tmp_path / "f" / "variables" / "variables"))
    assert sum(shape == [2, 3] for shape in index.get_variable_to_shape_map().values()) == 1


def test_what_undo_left_behind_stays_out(tmp_path):
    m = model("resource")
    ed = gs.open(m.session)
    size = ed.snapshot.size
    ed.apply(ed.plan().copy(ed.select(scope="net"), to="copy", unmapped="keep", values=m.session))
    ed.undo()
    assert ed.snapshot.size > size
    assert ed.save(tmp_path / "m.pb").ops == size
    ed.save(tmp_path / "m.meta")
    back = gs.open(tmp_path / "m.meta")
    assert not any(name.startswith("copy") for name in back.snapshot.names)
    assert not any(
        name.startswith("copy") for name in tf.train.load_checkpoint(str(tmp_path / "m")).get_variable_to_shape_map()
    )


def test_tables_and_assets_come_along(tmp_path):
    vocabulary = tmp_path / "words.txt"
    vocabulary.write_text("ant\nbee\n")
    with tf.Graph().as_default() as graph:
        words = tf1.placeholder(tf.string, [None], name="words")
        table = tf.lookup.StaticVocabularyTable(word_rows(vocabulary), 1)
        tf.identity(table.lookup(words), name="ids")
    gs.open(graph).save(tmp_path / "f", inputs={"words": "words:0"}, outputs={"ids": "ids:0"})
    vocabulary.unlink()
    moved = tmp_path / "elsewhere"
    (tmp_path / "f").rename(moved)
    assert (moved / "assets" / "words.txt").read_text() == "ant\nbee\n"
    with tf.Graph().as_default(), tf1.Session() as session:
        tf1.saved_model.loader.load(session, ["serve"], str(moved))
        assert session.run("ids:0", {"words:0": ["bee", "ant", "wasp"]}).tolist() == [1, 0, 2]


def test_an_opened_keras_model_saves_with_its_own_ends(tmp_path):
    net = tf.keras.Sequential([tf.keras.Input([2]), tf.keras.layers.Dense(3, activation="tanh")])
    ed = gs.open(net)
    ed.save(tmp_path / "f")
    loaded = tf.saved_model.load(str(tmp_path / "f")).signatures["serving_default"]
    (name,) = ed.inputs
    np.testing.assert_allclose(next(iter(loaded(**{name: tf.constant(X)}).values())), net(X), rtol=1e-6)


def test_a_folder_with_other_files_is_not_touched(tmp_path):
    m = model("resource", optimizer=None)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    with refuses(PlanError, "exists and is not a SavedModel", "Choose a new folder"):
        gs.open(m.session).save(tmp_path / "mine", inputs="x:0", outputs="net/y:0")
    assert [p.name for p in tmp_path.rglob("*")] == ["mine", "notes.txt"]
    ed = gs.open(m.session)
    for _ in range(2):  # an older SavedModel gives way
        ed.save(tmp_path / "model", inputs="x:0", outputs="net/y:0")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine", "model"]


def test_nothing_is_written_where_a_variable_has_no_value(tmp_path):
    m = model("ref")
    with refuses(PlanError, "has no value in the session given"):
        gs.open(m.graph).save(tmp_path / "m.meta", values=tf1.Session(graph=m.graph))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "options", "words"),
    [
        ("m.h5", {}, ["the suffix '.h5' does not belong to a format", ".pbtxt"]),
        ("m.pb", {"format": "onnx"}, ["format='onnx' is not known", "'checkpoint', 'graph_def'"]),
        ("m.ckpt", {"freeze": True}, ["freeze= cannot be combined with the format 'checkpoint'"]),
        ("m.pb", {"scope": "net"}, ["scope= cannot be combined with the format 'graph_def'"]),
        ("m.pb", {"timeout": 5.0}, ["timeout= cannot be combined with the format 'graph_def'"]),
        ("m", {"signatures": {}, "outputs": "net/y:0"}, ["outputs= cannot be combined with signatures"]),
        ("m", {}, ["a SavedModel needs a signature"]),
        ("m", {"format": "saved_model_tf2"}, ["a SavedModel needs a signature"]),
        ("m.pb", {"inputs": "x:0"}, ["inputs= is given without outputs="]),
        ("m.pb", {"outputs": []}, ["outputs=[] names no tensor", "leave out outputs= to save the whole graph"]),
        ("m.meta", {"outputs": ()}, ["outputs=[] names no tensor", "leave out outputs="]),
        ("m", {"outputs": {}}, ["outputs={} names no tensor", "Name the tensors to save"]),
        ("m", {"signatures": {"s": ("x:0", [])}}, ["signature 's' has no outputs", "(inputs, outputs)"]),
        ("m.meta", {"values": 3}, ["values= is not a session of this graph"]),
    ],
)
def test_requests_that_make_no_sense(path, options, words, tmp_path):
    with refuses(PlanError, *words):
        gs.open(model("resource").session).save(tmp_path / path, **options)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_output_is_named(tmp_path):
    with refuses(SelectionError, "net/z", "net/y"):
        gs.open(model("resource").session).save(tmp_path / "m.pb", outputs="net/z:0")


def test_a_path_nobody_can_write_to(tmp_path):
    (tmp_path / "file").write_text("")
    with refuses(PlanError, "nothing can be written in"):
        gs.open(model("resource").session).save(tmp_path / "file" / "m.pb")


def test_training_cannot_be_frozen(tmp_path):
    with refuses(Unconvertible, "more need a variable, and freezing would make it a constant",
                 "Name the outputs, outputs=[...], so that only what they need is frozen"):  # fmt: skip
        gs.open(model("ref").session).save(tmp_path / "m.pb", freeze=True)


@tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="x")])
def looped(x):
    return tf.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, a * LOOPED), [0, x])[1]


LOOPED = tf.Variable(2.0, name="scale")


@pytest.mark.parametrize("suffix", [".pb", ""])
def test_a_loop_that_reads_a_variable_is_frozen(tmp_path, suffix):
    LOOPED.assign(2.0)
    ed = gs.open(looped)
    LOOPED.assign(5.0)  # the object goes its own way
    path = tmp_path / f"f{suffix}"
    ed.save(path, freeze=True, outputs=ed.outputs["output"], inputs="x:0")
    with tf.Graph().as_default() as graph, tf1.Session() as session:
        if suffix:
            tf.import_graph_def(tf1.GraphDef.FromString(path.read_bytes()), name="")
        else:
            tf1.saved_model.loader.load(session, ["serve"], str(path))
        assert session.run(ed.outputs["output"], {"x:0": 3.0}) == 24
        kinds = {op.type for op in graph.get_operations()}
        assert not kinds & {"VarHandleOp", "ReadVariableOp"}
        assert "While" in kinds


def test_a_loop_that_writes_to_a_variable_is_not_frozen(tmp_path):
    total = tf.Variable(0.0, name="total")

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="x")])
    def adds(x):
        def body(i, a):
            return i + 1, a + total.assign_add(x)

        return tf.while_loop(lambda i, a: i < 3, body, [0, x])[1]

    ed = gs.open(adds)
    with refuses(Unconvertible, "'while/AssignAddVariableOp' (AssignAddVariableOp) in a function that 'while' calls",
                 "needs a variable, and freezing would make it a constant: 'total'", "Keep the variables"):  # fmt: skip
        ed.save(tmp_path / "f.pb", freeze=True, outputs=ed.outputs["output"])
    assert list(tmp_path.iterdir()) == []


def test_a_graph_too_large_for_one_file_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("graphsurgeon.tf.save.export.LIMIT", 100)
    with refuses(PlanError, "a file can hold only 2 GB"):
        gs.open(model("ref").session).save(tmp_path / "m.pb")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("path", "options", "words"),
    [
        (None, {}, ["save(None)", "None is not a path", "pathlib.Path"]),
        ("x.ckpt", {"names": ["a"]}, ["names=['a'] is not a mapping"]),
        ("x", {"signatures": {"a": 1}}, ["signatures={'a': 1} is not a mapping of name to (inputs, outputs)"]),
        ("x", {"signatures": "a"}, ["is not a mapping of name to (inputs, outputs)", "'serving_default'"]),
        ("x", {"outputs": "net/y:0", "tags": 3}, ["tags=3 is not text", "tags='serve'"]),
    ],
)
def test_arguments_of_another_kind(tmp_path, path, options, words):
    with refuses(PlanError, *words):
        gs.open(model("ref").session).save(path and tmp_path / path, **options)
    assert list(tmp_path.iterdir()) == []


def test_a_path_that_is_not_free_is_refused_before_the_graph_is_copied(tmp_path, monkeypatch):
    (tmp_path / "m.pb").write_bytes(b"old")
    monkeypatch.setattr("graphsurgeon.editor.save.with_signatures", None)
    with pytest.raises(PlanError, match="overwrite=True"):
        gs.open(model("ref").session).save(tmp_path / "m.pb")


def test_a_file_that_lists_ops_where_loops_are_meant_is_saved(tmp_path):
    with tf.Graph().as_default():
        tf1.placeholder(tf.float32, [], name="x")
        meta = tf1.train.export_meta_graph()
    meta.collection_def["while_context"].node_list.value.append("x")
    (tmp_path / "m.meta").write_bytes(meta.SerializeToString())
    gs.open(tmp_path / "m.meta").save(tmp_path / "again.meta")
    assert gs.open(tmp_path / "again.meta").snapshot.names == ["x"]
