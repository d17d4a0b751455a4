"""Opening what people have: live graphs, sessions, protos, files and folders."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
import tensorflow as tf
from google.protobuf import text_format
from tensorflow.core.protobuf import saved_model_pb2

import graphsurgeon as gs
from graphsurgeon.errors import OpenError, PlanError
from tests.graphs import KINDS, look, model, run, tiny
from tests.refusal import reads, refuses

tf1 = tf.compat.v1
TWO = np.array([[1.0, 2.0]], np.float32)


def test_a_live_graph_is_used_as_it_is():
    graph = tiny()
    before = look(graph)
    ed = gs.open(graph)
    assert ed.graph is graph
    assert ed.snapshot.names == [op.name for op in graph.get_operations()]
    assert (len(ed), ed.title) == (5, "graph")
    assert gs.open(graph, title="mine").title == "mine"
    assert look(graph) == before


def test_a_closed_session_is_told_at_once():
    with tf.Graph().as_default() as graph, tf1.Session(graph=graph) as session:
        tf.constant(1.0)
    with refuses(OpenError, "open(session): the session is closed, and its values are lost", "gs.open(session.graph)"):
        gs.open(session)


def test_a_session_brings_its_values():
    m = model()
    m.train_steps()
    ed = gs.open(m.session)
    assert ed.graph is m.graph
    assert ed.session() is m.session
    interactive = tf1.InteractiveSession(graph=m.graph)
    try:
        assert gs.open(interactive).graph is m.graph
    finally:
        interactive.close()


FORMS = {
    "model.pb": lambda g: g.SerializeToString(),
    "model.pbtxt": lambda g: text_format.MessageToString(g).encode(),
    "model.pb.txt": lambda g: text_format.MessageToString(g).encode(),
    "model.pb.gz": lambda g: gzip.compress(g.SerializeToString()),
    "model.pbtxt.gz": lambda g: gzip.compress(text_format.MessageToString(g).encode()),
    "text_inside.pb": lambda g: text_format.MessageToString(g).encode(),
    "binary_inside.pbtxt": lambda g: g.SerializeToString(),
    "no_suffix": lambda g: g.SerializeToString(),
}


@pytest.mark.parametrize("name", FORMS)
def test_graph_def_files(tmp_path, name):
    graph = tiny()
    path = tmp_path / name
    path.write_bytes(FORMS[name](graph.as_graph_def()))
    for given in (path, str(path)):
        ed = gs.open(given)
        assert ed.title == name.removesuffix(".gz"), "called by its model"
        assert ed.graph.as_graph_def() == graph.as_graph_def()
        assert run(ed.graph, "z:0", {"x:0": TWO}).tolist() == [[2.0, 5.0]]
        assert f"ed = gs.open({str(path)!r})" in ed.plan().to_code()


def test_protos():
    graph = tiny()
    proto = graph.as_graph_def()
    before = proto.SerializeToString(deterministic=True)
    ed = gs.open(proto)
    assert ed.graph.as_graph_def() == graph.as_graph_def()
    assert proto.SerializeToString(deterministic=True) == before
    with graph.as_default():
        meta = tf1.train.export_meta_graph()
    assert gs.open(meta).snapshot.names == ed.snapshot.names
    with refuses(OpenError, "open(NodeDef): a message of type NodeDef holds no graph", "Give a tf.Graph, a session"):
        gs.open(proto.node[0])


def test_the_producer_version_is_kept():
    proto = tiny().as_graph_def()
    proto.versions.producer = 27
    assert gs.open(proto).graph.graph_def_versions.producer == 27


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", [".meta", ".meta.gz"])
def test_meta_graph_with_its_checkpoint(tmp_path, kind, suffix):
    m = model(kind)
    m.train_steps()
    with m.graph.as_default():
        prefix = tf1.train.Saver().save(m.session, str(tmp_path / "model"))
    path = tmp_path / ("model" + suffix)
    if suffix.endswith(".gz"):
        path.write_bytes(gzip.compress((tmp_path / "model.meta").read_bytes()))
        (tmp_path / "model.meta").unlink()
    ed = gs.open(path)
    assert (tmp_path / "model.index").exists(), prefix
    with m.graph.as_default():
        names = [v.name for v in tf1.global_variables()]
    with ed.graph.as_default():
        variables = tf1.global_variables()
        assert [v.name for v in variables] == names
        assert {type(v).__name__ for v in variables} == {"RefVariable" if kind == "ref" else "ResourceVariable"}
    session = ed.session()
    for variable, name in zip(variables, names, strict=True):
        np.testing.assert_array_equal(session.run(variable), m.session.run(m.graph.get_tensor_by_name(name))
                                      if kind == "ref" else m.session.run(_read(m.graph, name)))  # fmt: skip
    assert session.run("loss:0", {t.name: v for t, v in m.feed().items()}) == m.session.run(m.loss, m.feed())


def _read(graph, name):
    with graph.as_default():
        return next(v for v in tf1.global_variables() if v.name == name)


def test_meta_graph_without_a_checkpoint_starts_from_initial_values(tmp_path):
    m = model("ref")
    start = m.session.run(m.w)
    m.train_steps()
    with m.graph.as_default():
        tf1.train.Saver()
        tf1.train.export_meta_graph(str(tmp_path / "model.meta"))
    ed = gs.open(tmp_path / "model.meta")
    np.testing.assert_array_equal(ed.session().run("net/w:0"), start)
    assert [c for c in ed.graph.get_all_collection_keys() if c == "mine"] == ["mine"]
    assert ed.graph.get_collection("mine")[0].name == "net/y:0"


def test_a_checkpoint_that_is_broken(tmp_path):
    m = model("ref")
    with m.graph.as_default():
        tf1.train.Saver().save(m.session, str(tmp_path / "model"))
    data = next(tmp_path.glob("model.data-*"))
    held = data.read_bytes()
    data.unlink()
    prefix = str(tmp_path / "model")
    ed = gs.open(tmp_path / "model.meta")
    assert ed.snapshot.size == len(m.graph.get_operations())
    with refuses(OpenError, f"values from {prefix!r}: the checkpoint's data file is missing",
                 f"Put {prefix}.data-* next to its index"):  # fmt: skip
        ed.session()
    data.write_bytes(held[: len(held) // 2])
    with refuses(OpenError, "the checkpoint does not restore: ", "Give the checkpoint of the same graph"):
        gs.open(tmp_path / "model.meta").session()


def save(m, folder):
    with m.graph.as_default():
        tf1.saved_model.simple_save(m.session, str(folder), {"x": m.x}, {"y": m.y})


def test_saved_model_of_tf1(tmp_path):
    m = model("resource")
    m.train_steps()
    save(m, tmp_path / "sm")
    ed = gs.open(tmp_path / "sm")
    assert ed.title == "sm"
    feed = m.feed()[m.x]
    np.testing.assert_array_equal(ed.session().run("net/y:0", {"x:0": feed}), m.session.run(m.y, {m.x: feed}))
    again = gs.open(str(tmp_path / "sm"), tags="serve")
    assert again.snapshot.fingerprint == ed.snapshot.fingerprint
    assert f"gs.open({str(tmp_path / 'sm')!r}, tags='serve')" in again.plan().to_code()


def test_saved_model_as_text(tmp_path):
    m = model("resource")
    save(m, tmp_path / "sm")
    binary = tmp_path / "sm" / "saved_model.pb"
    proto = saved_model_pb2.SavedModel.FromString(binary.read_bytes())
    binary.unlink()
    (tmp_path / "sm" / "saved_model.pbtxt").write_text(text_format.MessageToString(proto))
    ed = gs.open(tmp_path / "sm")
    feed = m.feed()[m.x]
    np.testing.assert_array_equal(ed.session().run("net/y:0", {"x:0": feed}), m.session.run(m.y, {m.x: feed}))
    assert gs.open(proto).snapshot.fingerprint == ed.snapshot.fingerprint


def test_saved_model_of_tf2(tmp_path):
    class Net(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable([[1.0, 2.0], [3.0, 4.0]], name="w")

        @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
        def __call__(self, x):
            return {"y": tf.matmul(x, self.w)}

    net = Net()
    net.w.assign(net.w + 0.5)
    tf.saved_model.save(net, str(tmp_path / "sm"), signatures=net.__call__)
    ed = gs.open(tmp_path / "sm")
    session = ed.session()
    handle = ed.select(op="VarHandleOp").names
    assert handle == ["w"]
    got = session.run(ed.outputs["y"], {ed.inputs["x"]: TWO})
    np.testing.assert_array_equal(got, net(TWO)["y"])


def test_a_copy_without_variables_needs_no_values(tmp_path):
    with tf.Graph().as_default():
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        tf.matmul(tf.abs(x, name="positive"), tf1.get_variable("w", [2, 2]), name="y")
        saver = tf1.train.Saver()
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            saver.save(session, str(tmp_path / "model"))
    next(tmp_path.glob("model.data-*")).unlink()
    ed = gs.open(tmp_path / "model.meta")
    screen = ed.screen
    screen.select(["positive"])
    screen.copy("again")
    screen.apply()
    assert "again/positive" in ed.snapshot.index
    screen.select(["y"])
    screen.copy("whole", unmapped="include")
    (fault,) = screen.draft.check()
    assert fault.problem == "the checkpoint's data file is missing"
    with refuses(PlanError, "the checkpoint's data file is missing"):
        screen.apply()


def test_the_values_of_a_saved_model_may_be_missing(tmp_path):
    m = model("ref")
    save(m, tmp_path / "sm")
    next((tmp_path / "sm" / "variables").glob("*.data-*")).unlink()
    ed = gs.open(tmp_path / "sm")
    with refuses(OpenError, "the checkpoint's data file is missing"):
        ed.session()


def test_several_graphs_in_one_saved_model(tmp_path):
    proto = saved_model_pb2.SavedModel(saved_model_schema_version=1)
    for tags in (["train"], ["serve", "gpu"]):
        meta = proto.meta_graphs.add()
        meta.graph_def.CopyFrom(tiny().as_graph_def())
        meta.meta_info_def.tags.extend(tags)
    (tmp_path / "saved_model.pb").write_bytes(proto.SerializeToString())
    with refuses(OpenError, "it holds 2 graphs", "Choose one: tags=['train'] or tags=['gpu', 'serve']"):
        gs.open(tmp_path)
    with refuses(OpenError, "it has no graph with tags ['serve']", "It has tags=['train'] and tags=['gpu', 'serve']"):
        gs.open(tmp_path, tags="serve")
    assert gs.open(tmp_path, tags=["serve", "gpu"]).snapshot.size == 5
    assert gs.open(tmp_path, tags="train").snapshot.size == 5


@pytest.mark.parametrize("thing", [None, 3, object(), ["a"], b"bytes"])
def test_what_is_no_graph(thing):
    problem = f"an object of type {type(thing).__name__} cannot be opened as a graph"
    with refuses(OpenError, problem, "Give a tf.Graph, a session"):
        gs.open(thing)


def test_a_long_thing_is_cut():
    with refuses(OpenError, "..."):
        gs.open(list(range(1000)))


def test_an_unknown_op_type():
    proto = tiny().as_graph_def()
    _node(proto, "y").op = "Sqare"
    with refuses(OpenError, f"this TensorFlow ({tf.__version__}) does not know op type 'Sqare'", "'Square'",
                 "If it is a custom op, load it first with tf.load_op_library(...)"):  # fmt: skip
        gs.open(proto).op("x")
    for node in proto.node:
        node.op = "Zz" + node.op
    with refuses(OpenError, "does not know op type 'ZzPlaceholder' (2 ops, 'x' first)"):
        gs.open(proto).op("x")


HOLDS = "would contain 1 op of a type that TensorFlow does not know here, 'Sqare': 'y' of odd.pb"


class TestWithAnUnknownOp:
    """A graph with an op that TensorFlow does not know: what looks works, what would hold the op says why not."""

    @pytest.fixture
    def ed(self, tmp_path):
        proto = tiny().as_graph_def()
        _node(proto, "y").op = "Sqare"
        path = tmp_path / "odd.pb"
        path.write_bytes(proto.SerializeToString())
        return gs.open(path)

    def test_it_says_so(self, ed):
        assert str(ed).startswith("odd.pb: 5 ops")
        reported = (
            "1 op of a type that TensorFlow does not know here, 'Sqare': "
            "parts that need none of them can be run and saved"
        )
        assert f"warning: {reported}" in str(ed)
        assert "unknown  Sqare  1 op" in str(ed)
        assert ed.screen.state.status.text == reported

    def test_it_is_looked_at(self, ed):
        assert ed.find("op:Sqare") == ["y"]
        boundary = ed.select(inputs="x:0", outputs="z:0").boundary
        assert (boundary.inputs, boundary.outputs) == (("x:0",), ("z:0",))
        assert ed.snapshot.info(ed.snapshot.find("x"), 0).shape == (None, 2)
        assert "Sqare" in ed.to_svg()
        assert ed.value("z/y") == 1.0
        assert str(gs.diff(ed, gs.open(tiny()))).count("\n")
        assert ed.screen.details("y")["rows"][:2] == [
            ["type", "Sqare"],
            ["unknown", "the installed TensorFlow does not have this type"],
        ]
        assert ed.find("is:unknown") == ["y"]
        assert ed.to_code().count("gs.open(") == 1

    @pytest.mark.parametrize("what", ["op('x')", "session()", "graph", "graph_def()"])
    def test_what_gives_the_whole_says_why_not(self, ed, what):
        with refuses(
            OpenError, "odd.pb", "does not know op type 'Sqare' (op 'y')", "tf.load_op_library", "leave them out"
        ):
            eval(f"ed.{what}")

    @pytest.mark.parametrize(
        "what", ["save('x.pb')", "save('x.pb', outputs='z:0')", "inlined()", "function('x:0', 'z:0')"]
    )
    def test_what_would_hold_it_says_why_not(self, ed, what, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with refuses(gs.PlanError, what[:4], HOLDS, "leave them out: ed.save(path, inputs=..., outputs=...)"):
            eval(f"ed.{what}")
        assert not list(tmp_path.glob("x.pb*"))

    def test_no_plan_whose_result_holds_it_passes_the_check(self, ed):
        there = gs.open(tf.Graph())
        for plan in (ed.plan().copy(ed.select(name=["x"]), to="twice"), there.plan().copy(ed.select(), to="copy")):
            (fault,) = plan.check()
            reads(fault, HOLDS, "leave them out")
        with refuses(gs.PlanError, HOLDS):
            there.apply(plan)
        assert len(there) == 0

    def test_nothing_whole_is_made_of_it(self, ed):
        for made in (lambda: gs.duplicate(ed), lambda: gs.duplicate(ed.select()), lambda: gs.connect({"a": ed}, {})):
            with refuses(gs.PlanError, HOLDS):
                made()

    def test_calls_of_it_unfold(self):
        with tf.Graph().as_default() as graph:
            tf.identity(tf.function(lambda t: t * 3.0)(tf1.placeholder(tf.float32, [2], name="x")), name="y")
        proto = graph.as_graph_def()
        _node(proto, "y").op = "Sqare"
        ed = gs.open(proto)
        (call,) = ed.select(op=["PartitionedCall", "StatefulPartitionedCall"]).names
        ed.screen.unfold(call)
        assert [hit["inside"] for hit in ed.screen.find("op:Mul")["hits"]] == [f"{call}/mul"]


@pytest.mark.parametrize("name", ["a b", "-x", "", "/x", "é", "x:0", "^x", "<script>"])
def test_names_tensorflow_does_not_take(name):
    proto = tiny().as_graph_def()
    proto.node[1].name = name
    with refuses(OpenError, f"{name!r} is not an op name that TensorFlow accepts", "Rename the op"):
        gs.open(proto)


def _node(proto, name):
    return next(n for n in proto.node if n.name == name)


def test_what_tensorflow_refuses():
    proto = tiny().as_graph_def()
    proto.node.add(name="x", op="NoOp")
    with refuses(OpenError, "two ops are called 'x'", "Rename one"):
        gs.open(proto)
    proto = tiny().as_graph_def()
    _node(proto, "y").input[0] = "nowhere"
    with refuses(OpenError, "op 'y'", "its input 'nowhere' names no op"):
        gs.open(proto)
    proto = tiny().as_graph_def()
    _node(proto, "y").input[0] = "x:7"
    with refuses(OpenError, "TensorFlow refuses the graph: "):
        gs.open(proto).op("x")


def test_functions_of_a_file_can_be_called():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        tf.identity(tf.function(lambda t: t * 3.0)(x), name="y")
    ed = gs.open(graph.as_graph_def())
    assert run(ed.graph, "y:0", {"x:0": TWO}).tolist() == [[3.0, 6.0]]


def test_collections_of_a_meta_graph(tmp_path):
    m = model("ref")
    with m.graph.as_default():
        m.graph.add_to_collection("words", "text")
        m.graph.add_to_collection("numbers", 3)
        m.graph.add_to_collection("ops", m.train)
        meta = tf1.train.export_meta_graph(graph=m.graph)
    graph = gs.open(meta).graph
    assert graph.get_collection("ops") == [graph.get_operation_by_name("train")]
    assert graph.get_collection("numbers") == [3]
    assert [v.name for v in graph.get_collection("trainable_variables")] == ["net/w:0", "net/b:0"]
    assert graph.get_collection("trainable_variables")[0] is graph.get_collection("variables")[0]
    assert graph.get_collection("losses") == [graph.get_tensor_by_name("loss:0")]


@pytest.mark.parametrize(
    ("name", "kind", "value", "reported"),
    [
        ("mine", "node_list", "no_such", "no op is called 'no_such'"),
        ("mine", "node_list", "x:7", "op 'x' (Placeholder) has 1 output"),
        ("variables", "bytes_list", b"\n\1\xff", "collection 'variables' is damaged"),
        ("variables", "bytes_list", b"\n\1x", "collection 'variables' is damaged"),
    ],
)
def test_a_damaged_collection(name, kind, value, reported):
    m = model("ref")
    with m.graph.as_default():
        meta = tf1.train.export_meta_graph(graph=m.graph)
    getattr(meta.collection_def[name], kind).value[:] = [value]
    with refuses(OpenError, f"collection {name!r} is damaged: ", reported, "gs.open(meta.graph_def)"):
        gs.open(meta).graph  # noqa: B018
    assert len(gs.open(meta.graph_def)) == len(m.graph.get_operations())


def served_twice(folder, **signatures):
    """Writes a SavedModel of TF1 in which `l` doubles `a`, served under these names."""
    with tf.Graph().as_default() as graph, tf1.Session(graph=graph) as session:
        a = tf1.placeholder(tf.float32, [None], name="in")
        l = tf.multiply(a, 2.0, name="out")  # noqa: E741
        builder = tf1.saved_model.Builder(str(folder))
        made = tf1.saved_model.predict_signature_def
        served = {name: made({key: a}, {"l": l}) for name, key in signatures.items()}
        builder.add_meta_graph_and_variables(session, ["serve"], signature_def_map=served)
        builder.save()
    return folder


@pytest.mark.parametrize("names", [{"only": "a"}, {"serving_default": "a"}, {"serving_default": "a", "another": "b"}],
                         ids=["only one", "serving_default", "serving_default among two"])  # fmt: skip
def test_a_saved_model_of_tf1_takes_its_ends_from_its_signature(tmp_path, names):
    ed = gs.open(served_twice(tmp_path / "sm", **names))
    assert (ed.inputs, ed.outputs) == ({"a": "in:0"}, {"l": "out:0"})
    assert ed.function()(tf.constant([1.0]))["l"].numpy().tolist() == [2.0]
    ed.save(tmp_path / "again", format="saved_model")
    assert gs.open(tmp_path / "again").outputs == ed.outputs
    both = gs.connect({"a": tmp_path / "sm", "b": tmp_path / "again"}, {"a/l": "b/a"})
    (start,), (end,) = both.inputs.values(), both.outputs.values()
    assert both.session().run(end, {start: [1.0]}).tolist() == [4.0]


def test_of_several_signatures_without_a_default_none_is_taken_and_all_are_named(tmp_path):
    ed = gs.open(served_twice(tmp_path / "sm", one="a", two="b"))
    assert (ed.inputs, ed.outputs) == ({}, {})
    assert "signatures  one\n              two" in str(ed)
    for make in (ed.function, ed.keras_layer):
        with refuses(PlanError, "no outputs are given", "gs.open(..., signature='one')", "signature='two'"):
            make()
    assert gs.open(tmp_path / "sm", signature="two").inputs == {"b": "in:0"}


def test_a_signature_of_what_is_not_in_the_graph_leaves_it_to_be_looked_at(tmp_path):
    folder = served_twice(tmp_path / "sm", only="a")
    path = folder / "saved_model.pb"
    path.write_bytes(path.read_bytes().replace(b"out:0", b"gon:0"))
    ed = gs.open(folder)
    assert (ed.outputs, ed.snapshot.size) == ({}, 3)
