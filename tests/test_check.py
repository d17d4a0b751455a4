"""What keeps a graph from a target: the converter's own word on each op, with what removes it, and the proof."""

from __future__ import annotations

import subprocess

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.graph.conversion_verdict import Unconvertible
from tests.corpus import corpus_ids
from tests.refusal import refuses

tf1 = tf.compat.v1


def net():
    """An op that TFLite lacks at the beginning, another that a recipe takes out, one in a loop, one at the end."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [4], name="x")
        first = tf.raw_ops.Betainc(a=x, b=x, x=x, name="first")
        w = tf1.get_variable("w", initializer=[1.0, 2.0, 3.0, 4.0])
        low, high = tf.constant(-1.0), tf.constant(1.0)
        h = tf.raw_ops.QuantizeAndDequantizeV3(
            input=tf.nn.relu(first * w), input_min=low, input_max=high, num_bits=8, name="rounded"
        )
        for i in range(3):
            h = tf.nn.softplus(h, name=f"h{i}")
        tf.raw_ops.Igamma(a=h, x=h, name="last")
    return graph


@pytest.fixture
def begun(monkeypatch):
    """The processes that are begun: each loads TensorFlow, which takes seconds."""
    found = []

    class Counted(subprocess.Popen):
        def __init__(self, *about, **more):
            found.append(self)
            super().__init__(*about, **more)

    monkeypatch.setattr(subprocess, "Popen", Counted)
    return found


def test_each_op_has_its_reason_and_what_takes_it_out(begun):
    ed = gs.open(net(), title="net")
    before = ed.graph.as_graph_def()
    found = ed.check("tflite", "last:0", verify=True)
    ways = {one.op: (one.type, one.kind, one.replacement) for one in found}
    cut = "Cut it off: inputs='first:0', outputs='h2:0'"
    assert ways == {
        "first": ("Betainc", "custom op", cut),
        "rounded": ("QuantizeAndDequantizeV3", "custom op", "gs.recipes.strip_quantization(ed) removes it"),
        "last": ("Igamma", "custom op", cut),
    }
    assert not found.passed
    assert f"3 of {found.ops} ops keep it from TFLite, according to TensorFlow {tf.__version__}" in str(found)
    assert ed.graph.as_graph_def() == before
    assert ed.paint(found).screen.state.paint.values == found.kinds
    # and what it says to do is enough
    ed.apply(gs.recipes.strip_quantization(ed))
    proved = ed.check("tflite", "h2:0", "first:0", verify=True)
    assert len(begun) <= 1  # it is kept, maybe from an earlier test
    assert proved.passed
    assert not proved
    assert proved.proof == "run by TFLite's interpreter: 1 output as in this graph on random values for first:0"


def trained():
    """What writes to variables: the range of a FakeQuant, a sum that is read, a count that is waited for."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [4], name="x")
        names = ("low", "total", "count")
        low, total, count = (tf1.get_variable(name, initializer=0.0, use_resource=False) for name in names)
        now = tf1.assign(low, tf.reduce_min(x), name="now")
        rounded = tf.quantization.fake_quant_with_min_max_vars(x, now, 6.0, name="rounded")
        seen = tf1.assign_add(total, tf.reduce_sum(rounded, name="sum"), name="seen")
        with tf.control_dependencies([tf1.assign_add(count, 1.0, name="counted")]):
            tf.multiply(rounded, seen, name="y")
    return graph


def test_ops_that_need_a_variable_are_named_before_a_converter_is_asked(begun, tmp_path):
    ed = gs.open(trained(), title="net")
    found = ed.check("tflite", "y:0", verify=True)
    needs = "it needs a variable, and freezing would make it a constant"
    assert str(found).splitlines() == [
        f"net: 3 of {found.ops} ops keep it from TFLite; the converter runs once it can be frozen",
        f"  variable  'now' (Assign): {needs}. "
        "gs.recipes.for_inference(ed, 'y:0') or gs.recipes.strip_quantization(ed) removes it",
        f"  variable  'seen' (AssignAdd): {needs}. Cut it off: outputs=['sum:0', 'rounded:0']",
        f"  variable  'counted' (AssignAdd): {needs}. ed.plan().remove_control('y', 'counted') removes it",
    ]
    assert found.kinds == dict.fromkeys(("now", "seen", "counted"), "variable")
    assert (found.inputs, found.outputs) == (("x:0",), ("y:0",))
    with refuses(Unconvertible, "'now' (Assign), 'seen' (AssignAdd) and 1 more need a variable",
                 "gs.recipes.for_inference(ed, 'y:0') removes 'now'; ",
                 "ed.plan().remove_control('y', 'counted') removes 'counted'; no known plan removes 'seen': "
                 "keep the variables: save a .meta file or a SavedModel."):  # fmt: skip
        ed.save(tmp_path / "net.tflite", outputs="y:0", inputs="x:0", values="initial")
    ed.apply(ed.plan().remove_control("y", after="counted"))
    ed.apply(gs.recipes.for_inference(ed, "y:0"))
    assert [one.op for one in ed.check("tflite", "y:0")] == ["seen"]
    ed.save(tmp_path / "net.pb", outputs=["sum:0", "rounded:0"], freeze=True, values="initial")
    assert not begun


def test_a_second_output_of_an_op_can_be_fed():
    with tf.Graph().as_default() as graph:
        _, x = tf.split(tf1.placeholder(tf.float32, [4], name="p"), 2, name="halves")
        tf.negative(tf.raw_ops.Betainc(a=x, b=x, x=x, name="beta"), name="y")
    (found,) = gs.open(graph).check("tflite", "y:0", "halves:1")
    assert (found.op, found.replacement) == ("beta", "Cut it off: inputs='beta:0'")


def test_what_is_asked_is_refused_in_words():
    ed = gs.open(net())
    with refuses(gs.PlanError, "check(target='lite')", "'lite' is not a target", "Choose one of 'tfjs', 'tflite'"):
        ed.check("lite")
    with refuses(gs.SelectionError, "check(outputs='lost:0')", "'lost:0'"):
        ed.check("tflite", "lost:0")
    with refuses(gs.SelectionError, "check(inputs='lost:0')", "'lost:0'"):
        ed.check("tflite", "last:0", "lost:0")
    with refuses(
        gs.PlanError, "check(target='tfjs')", "tensorflowjs, is not installed", "Type pip install tensorflowjs"
    ):
        ed.check("tfjs", "last:0")


def test_a_converter_that_takes_too_long_is_a_line():
    ed, late = gs.open(net()), "the converter did not end within timeout=0.01 s, in a separate process"
    for prove in (False, True):
        assert [str(one) for one in ed.check("tflite", "last:0", verify=prove, timeout=0.01)] == [late]


def test_what_a_file_would_do_is_asked_first(tmp_path):
    with tf.Graph().as_default() as graph:
        tf.io.read_file("/etc/hostname", name="y")
    (tmp_path / "a.pb").write_bytes(graph.as_graph_def().SerializeToString())
    with refuses(gs.TrustError, "check(target='tflite')", "came from a file", "ed.trust()"):
        gs.open(tmp_path / "a.pb").check("tflite", "y:0")


CONVERTER = """
import pathlib, sys
if "last" in sys.argv[2]:
    raise ValueError("Unsupported Ops in the model after optimization\\nIgamma")
folder = pathlib.Path(sys.argv[4])
folder.mkdir()
(folder / "model.json").write_text("{}")
"""


@pytest.fixture
def tfjs(tmp_path, monkeypatch):
    """A package that lies as `tensorflowjs` does: its lists of ops, and a converter that is run as a module."""
    package = tmp_path / "tensorflowjs"
    for folder in ("op_list", "converters"):
        (package / folder).mkdir(parents=True)
    known = ["Placeholder", "Const", "Relu", "Mul", "Softplus", "Identity"]
    rows = ", ".join(f'{{"tfOpName": "{name}"}}' for name in known)
    (package / "op_list" / "some.json").write_text(f"[{rows}]")
    (package / "__init__.py").write_text("raise ImportError('it is looked at only')")
    (tmp_path / "tensorflowjs-9.9.dist-info").mkdir()
    (tmp_path / "tensorflowjs-9.9.dist-info" / "METADATA").write_text("Name: tensorflowjs\nVersion: 9.9\n")
    monkeypatch.syspath_prepend(tmp_path)
    return package


def test_the_list_of_the_installed_tfjs_is_asked(tfjs):
    found = gs.open(net()).check("tfjs", "last:0")
    assert {(one.op, one.kind) for one in found} == {(op, "missing") for op in ("first", "rounded", "last")}
    assert found.converter == "tensorflowjs 9.9"
    assert gs.open(net()).check("tfjs", "h2:0", "rounded:0").passed


def test_what_the_converter_of_tfjs_takes_out_is_not_in_its_way(tfjs):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [4], name="x")
        tf.nn.relu(tf.debugging.check_numerics(x, "bad"), name="y")
    assert gs.open(graph).check("tfjs", "y:0").passed


def test_a_call_that_is_not_on_the_list_is_inlined(tfjs):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [4], name="x")
        inner = tf.function(tf.nn.relu).get_concrete_function(tf.TensorSpec([4]))
        other = tf.function(tf.math.erf).get_concrete_function(tf.TensorSpec([4]))
        y, z = tf.identity(inner(x), name="y"), tf.identity(other(x), name="z")
    ed = gs.open(graph)
    relu, erf = (op.name for op in graph.get_operations() if op.type in ("PartitionedCall", "StatefulPartitionedCall"))
    ways = {(one.op, one.type): one.replacement for one in ed.check("tfjs", [y, z])}
    assert ways.pop((relu, graph.get_operation_by_name(relu).type)) == f"ed.plan().inline('{relu}') removes it"
    assert {op for op, _ in ways} == {erf}
    assert not [way for way in ways.values() if "inline" in way]
    ed.apply(ed.plan().inline(relu))
    assert ed.check("tfjs", "y:0").passed


def test_the_converter_of_tfjs_is_run_as_the_proof(tfjs):
    (tfjs / "__init__.py").write_text("")
    (tfjs / "converters" / "converter.py").write_text(CONVERTER)
    proof = gs.open(net()).check("tfjs", "h2:0", "rounded:0", verify=True).proof
    assert proof.startswith("converted: 2 bytes; it cannot be run here")
    (tfjs / "op_list" / "more.json").write_text('[{"tfOpName": "Igamma"}]')
    found = gs.open(net()).check("tfjs", "last:0", "h1:0", verify=True)
    assert [str(one) for one in found] == [
        "the converter died (code 1): ValueError: Unsupported Ops in the model after optimization Igamma, in a "
        "separate process"
    ]


def test_a_tfjs_without_lists_is_said(tfjs):
    (tfjs / "op_list" / "some.json").unlink()
    with refuses(gs.PlanError, "check(target='tfjs')", "tensorflowjs, has no list of ops in its folder op_list"):
        gs.open(net()).check("tfjs", "last:0")


REAL = ("kws_ds_cnn_s", "dl4j_gru_block_cell", "slim_inception_v1_quantize_train")


@pytest.mark.parametrize("id", corpus_ids(lambda item: item["id"] in REAL))
def test_real_graphs(corpus, id, tmp_path):
    ed = gs.open(corpus.path(id))
    fetches = corpus.golden(id)[1]
    found = ed.check("tflite", list(fetches))
    kinds = {one.type: one.kind for one in found}
    if id == "kws_ds_cnn_s":
        assert kinds == dict.fromkeys(("DecodeWav", "AudioSpectrogram", "Mfcc"), "TF Select")
        assert {one.replacement for one in found} == {"gs.recipes.cut_preprocessing(ed) removes it"}
        assert found.kinds.keys() <= ed.snapshot.index.keys()
    elif id == "slim_inception_v1_quantize_train":
        assert kinds == dict.fromkeys(("Assign", "AssignAdd", "AssignSub"), "variable")
        way = "gs.recipes.for_inference(ed, 'squeezed_logits:0')"
        assert all(one.replacement.startswith(way) for one in found)
        ed.apply(gs.recipes.for_inference(ed, "squeezed_logits:0"))
        ed.save(tmp_path / "frozen.pb", outputs="squeezed_logits:0", freeze=True, values="initial", verify=False)
    else:
        assert kinds["GRUBlockCell"] == "custom op"
        assert "rnn/while/gru_cell/GRUBlockCell" in found.kinds  # inside of a loop
