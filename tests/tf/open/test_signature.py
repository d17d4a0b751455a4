"""A SavedModel of TF2 opens as what it serves: by its protos alone, equal to what TensorFlow's loader gives."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

import graphsurgeon as gs
from graphsurgeon.errors import OpenError
from graphsurgeon.tf.values.checkpoint_reader import Checkpoint
from tests.corpus import corpus_cases
from tests.refusal import refuses
from tests.tf2 import ROWS, SEQUENCES, Loop, Net, Words, keras_model

tf1 = tf.compat.v1
TEXTS = ["b", "?", "a", "c"]


class Twice(tf.Module):
    """Two variables of one name, a variable that no function uses, and a constant."""

    def __init__(self) -> None:
        super().__init__()
        self.gain, self.shift = tf.Variable([2.0, 3.0], name="v"), tf.Variable(0.5, name="v", trainable=False)
        self.idle = tf.Variable(7, name="idle")
        self.most = tf.constant(np.float32([5.0, 6.0]))

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, name="x")])
    def __call__(self, x):
        return {"y": tf.minimum(x * self.gain + self.shift, self.most)}


class Files(tf.Module):
    """Words to numbers by a file."""

    def __init__(self, path: str) -> None:
        super().__init__()
        whole = tf.lookup.TextFileIndex
        source = tf.lookup.TextFileInitializer(path, tf.string, whole.WHOLE_LINE, tf.int64, whole.LINE_NUMBER)
        self.table = tf.lookup.StaticHashTable(source, -1)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="words")])
    def __call__(self, words):
        return {"numbers": self.table.lookup(words)}


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """SavedModels by name."""
    import keras

    root = tmp_path_factory.mktemp("served")
    net = Net()
    net.b.assign([3.0, 2.0, 1.0])
    tf.saved_model.save(net, str(root / "net"), signatures={"serving_default": net.forward, "counted": net.counted})
    tf.saved_model.save(Loop(), str(root / "loop"))
    tf.saved_model.save(Twice(), str(root / "twice"))
    tf.saved_model.save(Words(), str(root / "words"))
    (root / "words.txt").write_text("a\nb\n")
    tf.saved_model.save(Files(str(root / "words.txt")), str(root / "files"))
    again = tf.saved_model.load(str(root / "words"))
    tf.saved_model.save(again, str(root / "again"), signatures=again.signatures)
    keras_model("lstm").export(str(root / "lstm"), verbose=False)
    layers = keras.layers
    words = keras.Sequential(
        [keras.Input((), dtype="string", name="words"), layers.StringLookup(vocabulary=["a", "b"]),
         layers.Embedding(3, 4), layers.Dense(2)], name="lookup"
    )  # fmt: skip
    words.export(str(root / "lookup"), verbose=False)
    return root


FEEDS = {
    "net": {"x": ROWS}, "counted": {"x": ROWS}, "loop": {"x": np.float32(0.5)}, "twice": {"x": ROWS},
    "words": {"words": TEXTS}, "files": {"words": TEXTS}, "again": {"words": TEXTS}, "lstm": {"x": SEQUENCES},
    "lookup": {"words": TEXTS},
}  # fmt: skip


def served(ed, feeds):
    """Returns what an opened signature gives."""
    return ed.session().run(ed.outputs, {ed.inputs[key]: value for key, value in feeds.items()})


def calls(ed):
    """Returns the names of the plain calls."""
    return [name for name, kind in zip(ed.snapshot.names, ed.snapshot.types, strict=True) if "PartitionedCall" in kind]


@pytest.mark.parametrize("name", FEEDS)
def test_results_are_those_of_the_loader_bit_for_bit(folders, name):
    folder, signature = str(folders / ("net" if name == "counted" else name)), "serving_default"
    signature = "counted" if name == "counted" else signature
    ed = gs.open(folder, signature=signature)
    loaded = tf.saved_model.load(folder).signatures[signature]
    want = loaded(**{key: tf.constant(value) for key, value in FEEDS[name].items()})
    got = served(ed, FEEDS[name])
    assert sorted(got) == sorted(want) == sorted(ed.outputs)
    for key, value in want.items():
        np.testing.assert_array_equal(got[key], value)


def test_what_is_seen_is_the_body_with_names_people_know(folders):
    ed = gs.open(folders / "net")
    assert ed.title == "net"
    assert {"x", "layer/w", "layer/b", "out"} <= set(ed.snapshot.names)
    assert (ed.inputs, sorted(ed.outputs)) == ({"x": "x:0"}, ["twice", "y"])
    assert ed.opened_graph.ends == (("x:0",), tuple(ed.outputs.values()))
    assert len(calls(ed)) == 2  # those inside the function stay
    assert not calls(gs.open(folders / "net", inline=True))
    infos = ed.snapshot.state.variables
    assert {name: (v.shape, v.trainable) for name, v in infos.items()} == {
        "layer/w": ("(2, 3)", True), "layer/b": ("(3,)", True)
    }  # fmt: skip
    assert not {"SaveV2", "MergeV2Checkpoints"} & set(ed.snapshot.types)
    assert ed.plan().to_code().count(f"gs.open({str(folders / 'net')!r})") == 1
    assert str(ed.snapshot.info(*ed.snapshot.tensor("out"))) == "float32 (?, 3)"
    text = str(ed)
    assert "signature    serving_default; others: counted" in text
    assert "ops that save, restore or serve others; raw=True shows them" in text
    raw = gs.open(folders / "net", raw=True)
    kept = sum(name in ("x", "layer/w", "layer/b") or (kind == "Const" and "/" not in name)
               for name, kind in zip(ed.snapshot.names, ed.snapshot.types, strict=True))  # fmt: skip
    assert f"left out     {len(raw) - kept - 1} ops" in text  # and the call itself, which is taken apart


def test_a_model_of_keras_has_no_call_around_its_layers(folders):
    ed = gs.open(folders / "lstm")
    assert not calls(ed)
    assert "While" in ed.snapshot.types
    ends = {name.rpartition("lstm_cell/")[2] for name in ed.snapshot.state.variables if "lstm_cell/" in name}
    assert ends == {"kernel", "recurrent_kernel", "bias"}


def test_variables_of_one_name_are_called_by_their_place_in_the_object(folders):
    ed = gs.open(folders / "twice")
    assert {name: v.trainable for name, v in ed.snapshot.state.variables.items()} == {"gain": True, "shift": False}
    assert ed.value("gain").tolist() == [2.0, 3.0]


def test_opening_reads_no_value(folders, monkeypatch):
    keys = []
    whole = Checkpoint._read_tensor
    monkeypatch.setattr(Checkpoint, "_read_tensor", lambda self, key: keys.append(key) or whole(self, key))
    ed = gs.open(folders / "net")
    assert keys == []
    stored = ed.values.stored_values()
    assert {name: value.shape for name, value in stored.items()} == {"layer/w": (2, 3), "layer/b": (3,)}
    assert stored["layer/b"].read().tolist() == [3.0, 2.0, 1.0]


def test_signatures_are_listed_with_dtypes_and_shapes(folders):
    ed = gs.open(folders / "net")
    assert [one.name for one in ed.signatures] == ["serving_default", "counted"]
    assert str(ed.signatures[1]) == "counted(x: float32 (?, 2)) -> output_0: float32 (?, 2)"
    assert {key: info.dtype for key, info in ed.signatures[0].outputs.items()} == {"twice": "float32", "y": "float32"}
    assert gs.open(tf.Graph()).signatures == ()


def test_the_file_as_it_lies(folders):
    ed = gs.open(str(folders / "net"), raw=True)
    assert "StatefulPartitionedCall" in ed.snapshot.types
    assert ed.signatures == gs.open(folders / "net").signatures
    assert "signatures   serving_default\n               counted" in str(ed)
    assert f"gs.open({str(folders / 'net')!r}, raw=True)" in ed.plan().to_code()


def test_without_a_default_the_first_signature_is_opened_and_said(tmp_path):
    net = Net()
    tf.saved_model.save(net, str(tmp_path), signatures={"b": net.forward, "a": net.counted})
    ed = gs.open(tmp_path)
    assert list(ed.outputs) == ["output_0"]
    assert "warning: this is signature 'a', the first by name; signature= opens another: 'b'" in str(ed)
    assert "warning" not in str(gs.open(tmp_path, signature="b"))


def test_a_file_and_a_proto_open_as_their_folder_does(folders):
    file = folders / "net" / "saved_model.pb"
    proto = saved_model_pb2.SavedModel.FromString(file.read_bytes())
    whole, by_file, by_proto = gs.open(folders / "net"), gs.open(file), gs.open(proto)
    assert whole.snapshot.names == by_file.snapshot.names
    assert by_file.outputs == by_proto.outputs == whole.outputs
    np.testing.assert_array_equal(served(by_file, FEEDS["net"])["y"], served(whole, FEEDS["net"])["y"])
    assert by_proto.untrained() or by_proto.values.uninitialized
    assert gs.open(proto, signature="counted").inputs == {"x": "x:0"}


@pytest.mark.parametrize("format", ["saved_model", "saved_model_tf2"])
@pytest.mark.parametrize("name", ["net", "files", "lookup", "lstm"])
def test_what_is_opened_is_saved_and_served_again(folders, tmp_path, name, format):
    ed = gs.open(folders / name)
    want = served(ed, FEEDS[name])
    ed.save(tmp_path / "new", format=format)
    loaded = tf.saved_model.load(str(tmp_path / "new")).signatures["serving_default"]
    got = loaded(**{key: tf.constant(value) for key, value in FEEDS[name].items()})
    again = gs.open(tmp_path / "new")
    for key, value in want.items():
        np.testing.assert_array_equal(got[key], value)
        if format == "saved_model_tf2":
            np.testing.assert_array_equal(served(again, FEEDS[name])[key], value)


def test_it_is_frozen_trained_duplicated_and_connected(folders, tmp_path):
    ed = gs.open(folders / "net")
    want = served(ed, FEEDS["net"])["y"]
    ed.save(tmp_path / "f.pb", outputs=ed.outputs["y"], freeze=True)
    frozen = gs.open(tmp_path / "f.pb").session()
    np.testing.assert_array_equal(frozen.run(ed.outputs["y"], {"x:0": ROWS}), want)
    replica = gs.duplicate(ed)
    np.testing.assert_array_equal(replica.session.run(replica[ed.outputs["y"]], {replica["x:0"]: ROWS}), want)
    sup = gs.connect({"a": folders / "net", "b": folders / "twice"}, {})
    got = sup.session().run([f"a/{ed.outputs['y']}", f"b/{gs.open(folders / 'twice').outputs['y']}"],
                            {"a/x:0": ROWS, "b/x:0": ROWS})  # fmt: skip
    np.testing.assert_array_equal(got[0], want)
    with ed.graph.as_default():
        variables = tf1.trainable_variables()
        gradients = tf1.gradients(ed.tensor(ed.outputs["y"]), variables)
    names = [v.op.name for v in variables]
    net = Net()
    net.b.assign([3.0, 2.0, 1.0])
    with tf.GradientTape() as tape:
        y = net.forward(ROWS)["y"]
    got = dict(zip(names, ed.session().run(gradients, {"x:0": ROWS}), strict=True))
    np.testing.assert_allclose(got["layer/w"], tape.gradient(y, net.w), rtol=1e-4)


def test_its_variables_start_from_the_checkpoint(folders):
    ed = gs.open(folders / "net")
    with tf1.Session(graph=ed.graph) as session, ed.graph.as_default():
        session.run(tf1.global_variables_initializer())
        assert session.run("layer/b/Read/ReadVariableOp:0").tolist() == [3.0, 2.0, 1.0]


def test_what_had_a_gradient_of_its_own_is_differentiated_as_it_is_computed_and_that_is_said(tmp_path):
    module = tf.Module()
    module.w = tf.Variable([1.0, 2.0], name="w")
    module.f = tf.function(lambda x: tf.nn.silu(x * module.w), input_signature=[tf.TensorSpec([2], tf.float32, "x")])
    tf.saved_model.save(module, str(tmp_path))
    ed = gs.open(tmp_path)
    assert "warning: the tf.custom_gradient of 'IdentityN' is not used: gradients are those of the computed ops" in str(
        ed
    )
    f, x = ed.function(), tf.constant([3.0, 4.0])
    with tf.GradientTape() as tape, tf.GradientTape() as other:
        got, want = f(x)["output_0"], module.f(x)
    np.testing.assert_array_equal(got, want)
    np.testing.assert_allclose(tape.gradient(got, f.trainable_variables)[0], other.gradient(want, module.w), rtol=1e-6)


# -- files that are odd ----------------------------------------------------------------------------


def changed(folders, tmp_path, change):
    """Returns a copy of a SavedModel in which `change` has altered the MetaGraph."""
    folder = tmp_path / "changed"
    shutil.copytree(folders / "net", folder)
    proto = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    change(proto.meta_graphs[0])
    (folder / "saved_model.pb").write_bytes(proto.SerializeToString())
    return folder


def body(meta, part):
    """Returns the function of a SavedModel whose name has this part."""
    return next(f for f in meta.graph_def.library.function if part in f.signature.name)


def test_a_body_that_is_not_in_the_library_stays_a_box(folders, tmp_path):
    def without(meta):
        meta.graph_def.library.function.remove(body(meta, "__inference_forward"))

    ed = gs.open(changed(folders, tmp_path, without))
    assert calls(ed)
    assert "is not inlined: its function '__inference_forward" in str(ed)
    assert "is not in the file" in str(ed)


def test_a_function_that_calls_itself_stays_a_box(folders, tmp_path):
    def turning(meta):
        forward, wrapper = body(meta, "__inference_forward"), body(meta, "signature_wrapper_forward")
        call = next(node for node in wrapper.node_def if node.op == "StatefulPartitionedCall")
        call.attr["f"].func.name = wrapper.signature.name
        meta.graph_def.library.function.remove(forward)

    ed = gs.open(changed(folders, tmp_path, turning))
    assert calls(ed)
    assert "calls itself" in str(ed)
    assert any(box["name"] == calls(ed)[0] for box in ed.screen.traits()["scenes"]["source"]["boxes"])


def test_a_signature_that_names_no_tensor(folders, tmp_path):
    def lost(meta):
        meta.signature_def["serving_default"].outputs["y"].name = "nowhere:0"

    folder = changed(folders, tmp_path, lost)
    with refuses(OpenError, "signature 'serving_default' has tensors that are not in the graph: 'y' is tensor "
                 "'nowhere:0'", "Open another signature, or the graph as stored: raw=True"):  # fmt: skip
        gs.open(folder, signature="serving_default")
    assert gs.open(folder, signature="counted").outputs
    assert "StatefulPartitionedCall" in gs.open(folder, raw=True).snapshot.types


def test_a_signature_whose_function_gives_a_result_of_no_name(folders, tmp_path):
    def damage(meta):
        for function in meta.graph_def.library.function:
            for name in function.ret:
                function.ret[name] = ""

    folder = changed(folders, tmp_path, damage)
    with refuses(OpenError, "signature 'serving_default' cannot be read, because the file is damaged: ",
                 "Open the graph as stored: raw=True"):  # fmt: skip
        gs.open(folder)
    assert "StatefulPartitionedCall" in gs.open(folder, raw=True).snapshot.types


@pytest.mark.parametrize("how", ["bound", "number", "dtype"])
def test_an_object_graph_that_does_not_fit_the_functions(folders, tmp_path, how):
    def odd(meta):
        objects = meta.object_graph_def
        name = body(meta, "signature_wrapper_forward").signature.name
        if how == "bound":
            objects.concrete_functions[name].bound_inputs.extend(range(9))
        elif how == "number":
            objects.concrete_functions[name].bound_inputs[:] = [10_000] * 3
        else:
            for node in objects.nodes:
                node.variable.dtype = tf.int8.as_datatype_enum if node.HasField("variable") else 0

    ed = gs.open(changed(folders, tmp_path, odd))
    assert "the object graph does not match the functions" in str(ed)
    assert set(ed.snapshot.state.variables) == {"layer/w", "layer/b"}
    np.testing.assert_array_equal(served(ed, FEEDS["net"])["y"], served(gs.open(folders / "net"), FEEDS["net"])["y"])


@pytest.mark.parametrize("lost", ["folder", "data"])
def test_a_folder_without_its_values(folders, tmp_path, lost):
    shutil.copytree(folders / "net", tmp_path / "bare")
    if lost == "folder":
        shutil.rmtree(tmp_path / "bare" / "variables")
    else:
        next((tmp_path / "bare" / "variables").glob("*.data-*")).unlink()
    ed = gs.open(tmp_path / "bare")
    assert {"layer/w", "layer/b", "out"} <= set(ed.snapshot.names)
    assert ed.values.uninitialized == {"layer/w", "layer/b"}
    why = {"folder": "there is no variables/variables.index", "data": "the checkpoint's data file is missing"}[lost]
    assert f"warning: no value for 2 variables: {why}" in str(ed)


@pytest.mark.parametrize("given", ["serve", "counter", 3])
def test_a_signature_that_is_not_there(folders, given):
    words = {
        "serve": ("it has no signature 'serve'", "Choose signature='counted' or 'serving_default'"),
        "counter": ("it has no signature 'counter'", "Did you mean 'counted'?"),
        3: ("signature= is the name of a signature", "Type signature='serving_default'"),
    }[given]
    folder = str(folders / "net")
    with refuses(OpenError, f"open({folder!r}, signature={given!r})", *words):
        gs.open(folder, signature=given)


def test_what_has_no_signature(tmp_path):
    with refuses(OpenError, "signature='a'): this folder is not a SavedModel"):
        gs.open(tmp_path, signature="a")
    graph = tf.Graph()
    with graph.as_default():
        tf1.placeholder(tf.float32, name="x")
    (tmp_path / "g.pb").write_bytes(graph.as_graph_def().SerializeToString())
    with refuses(OpenError, "signature= chooses a signature of a SavedModel", "Leave out signature="):
        gs.open(tmp_path / "g.pb", signature="a")


# -- the corpus ------------------------------------------------------------------------------------


def _is_served(item):
    return item["kind"] == "savedmodel" and item.get("golden") and "functions" in item["traits"]


@pytest.mark.parametrize("id", corpus_cases(_is_served, quick=6))
def test_signatures_of_the_corpus_give_their_golden_arrays(corpus, id):
    feeds, want = corpus.golden(id)
    known = {name: one for name, one in corpus.item(id)["signatures"].items() if not name.startswith("__")}
    name = next(n for n, one in known.items() if set(want) <= set(one["outputs"].values()))
    ed = gs.open(corpus.path(id), signature=name)
    inputs = {tensor: key for key, tensor in known[name]["inputs"].items()}
    results = {tensor: key for key, tensor in known[name]["outputs"].items()}
    fed = {ed.inputs[inputs[tensor]]: value for tensor, value in feeds.items() if tensor in inputs}
    got = ed.session().run({tensor: ed.outputs[results[tensor]] for tensor in want}, fed)
    corpus.compare(id, got)
