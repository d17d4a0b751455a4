"""A stranger's file is imported in a process of its own first: one that dies or hangs does not take this one along."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import OpenError
from graphsurgeon.graph.lazy_graph import is_materialized
from graphsurgeon.tf.open import source, trial_import
from graphsurgeon.tf.open.trial_import import try_import
from graphsurgeon.tf.save.worker import Worker
from tests.fresh import process
from tests.graphs import tiny
from tests.refusal import reads, refuses
from tests.tf.nodes import add, call, constant, empty, feed, function

tf1 = tf.compat.v1
FLOAT, INT = tf.float32, tf.int32


def dangerous():
    """A graph that ends TensorFlow."""
    graph_def = empty()
    feed(graph_def, shape=[2, 2])
    constant(graph_def, "sizes", 2)
    constant(graph_def, "axis", 0)
    add(graph_def, "y", "SplitV", "x", "sizes", "axis", T=FLOAT, Tlen=INT, num_split=1)
    return graph_def


def labels(ed):
    """What the edges of the picture say."""
    return [edge.get("label", "") for edge in ed.screen.traits()["scenes"]["source"]["edges"]]


def test_a_file_that_would_end_the_process_is_looked_at_and_its_op_is_named():
    ed = gs.open(dangerous())
    assert ed.snapshot.names == ["x", "sizes", "axis", "y"]
    assert "SplitV" in str(ed.to_svg())
    ed.screen.infer()  # as a person looks at it
    assert "to look at only: in a separate process" in ed.screen.state.status.text
    for _ in range(2):  # it is tried once, and remembered
        with refuses(OpenError, "in a separate process, TensorFlow died (SIGABRT) on op 'y' (SplitV)",
                     "gs.open(..., trust=True) imports it anyway"):  # fmt: skip
            ed.session()
    assert "to look at only: in a separate process" in str(ed)


def test_a_plan_with_such_a_file_is_refused():
    dst = gs.open(tf.Graph())
    (fault,) = dst.plan().copy(gs.open(dangerous()).select(), to="copy").check()
    assert "TensorFlow died (SIGABRT) on op 'y' (SplitV)" in str(fault)


# -- files that have ended or hung TensorFlow ------------------------------------------------------


def op(kind, *inputs, **attributes):
    """A graph of one op, fed by placeholders: (dtype, shape)."""
    graph_def = empty()
    for i, (dtype, shape) in enumerate(inputs):
        feed(graph_def, f"i{i}", dtype, shape)
    add(graph_def, "op", kind, *(f"i{i}" for i in range(len(inputs))), **attributes)
    return graph_def


def another_dtype():
    graph_def = empty()
    feed(graph_def)
    constant(graph_def, "axis", 0).attr["value"].tensor.dtype = tf.variant.as_datatype_enum
    add(graph_def, "op", "ConcatV2", "x", "x", "axis", N=2, T=FLOAT, Tidx=INT)
    return graph_def


def entered_twice():
    graph_def = empty()
    feed(graph_def)
    add(graph_def, "start", "Enter", "x", T=FLOAT, frame_name=b"f")
    add(graph_def, "op", "Merge", "start", "start", "next", T=FLOAT, N=3)
    add(graph_def, "next", "NextIteration", "op", T=FLOAT)
    return graph_def


def deep_sizes():
    """A shape from 30,000 nested calls of TensorFlow, which need more than a stack of 8 MB, in less than a second."""
    graph_def = empty()
    feed(graph_def, shape=[None, None])
    feed(graph_def, "none", INT, [0])
    constant(graph_def, "axis", 0)
    add(graph_def, "size0", "Shape", "x", T=FLOAT, out_type=INT)
    for i in range(1, 30_000):
        add(graph_def, f"size{i}", "ConcatV2", "none", f"size{i - 1}", "axis", N=2, T=INT, Tidx=INT)
    constant(graph_def, "one", 1.0, FLOAT)
    add(graph_def, "op", "Fill", "size29999", "one", T=FLOAT, index_type=INT)
    return graph_def


def huge_numbers():
    """A shape from numbers that need 4 GB."""
    graph_def = empty()
    for name, value in (("from", 0), ("to", 5 * 10**8), ("by", 1), ("axes", [0])):
        constant(graph_def, name, value, tf.int64)
    constant(graph_def, "one", 1.0, FLOAT)
    add(graph_def, "numbers", "Range", "from", "to", "by", Tidx=tf.int64)
    add(graph_def, "most", "Max", "numbers", "axes", T=tf.int64, Tidx=tf.int64).attr["keep_dims"].b = True
    add(graph_def, "op", "Fill", "most", "one", T=FLOAT, index_type=tf.int64)
    return graph_def


def deep_calls():
    graph_def = empty()
    feed(graph_def)
    function(graph_def, "f1")
    for i in range(2, 3_001):
        function(graph_def, f"f{i}", f"f{i - 1}")
    call(graph_def, "op", "f3000")
    return graph_def


def damaged_in_a_function():
    graph_def = empty()
    feed(graph_def)
    function(graph_def, "f")
    value = add(graph_def.library.function[0], "c", "Const", dtype=tf.variant).attr["value"].tensor
    value.dtype = tf.variant.as_datatype_enum
    value.tensor_shape.SetInParent()
    value.variant_val.add(type_name="tensorflow::Tensor", metadata=b"\xff").tensors.add()
    call(graph_def, "op", "f")
    return graph_def


def calls_itself():
    graph_def = empty()
    feed(graph_def)
    function(graph_def, "f", "g")
    function(graph_def, "g", "f")
    call(graph_def, "op", "f")
    return graph_def


def doubling():
    graph_def = empty()
    feed(graph_def)
    function(graph_def, "f0")
    for i in range(1, 60):
        function(graph_def, f"f{i}", f"f{i - 1}", f"f{i - 1}")
    call(graph_def, "op", "f59")
    return graph_def


FATAL = {
    "dims": op("GatherV2", (FLOAT, [2, 3]), (INT, [2, 3]), (INT, []), batch_dims=300, Tparams=FLOAT, Tindices=INT,
               Taxis=INT),
    "group": op("CollectiveGather", (FLOAT, [2]), group_size=2**31, T=FLOAT, group_key=1, instance_key=1,
                shape=tf.TensorShape([4]).as_proto()),
    "inputs": op("AddN", (FLOAT, []), T=FLOAT, N=10**9),
    "outputs": op("Unpack", (FLOAT, None), T=FLOAT, num=2**30),
    "dtype": another_dtype(),
    "loop": entered_twice(),
    "deep sizes": deep_sizes(),
    "huge numbers": huge_numbers(),
    "deep calls": deep_calls(),
    "constant in a function": damaged_in_a_function(),
    "circle": calls_itself(),
    "doubling": doubling(),
}  # fmt: skip


@pytest.mark.parametrize("name", FATAL)
def test_a_file_that_would_end_or_hang_this_process_is_refused(name):
    with refuses(OpenError, "open(", "gs.open(..., trust=True)"):
        gs.open(FATAL[name], timeout=2.0).graph  # noqa: B018


def test_a_text_that_fills_the_memory_when_it_is_written_is_refused():
    with refuses(OpenError, "op 'op' (AsString) would write each number with more than 10,000 letters"):
        gs.open(op("AsString", (FLOAT, [2]), T=FLOAT, width=2**31 - 1)).graph  # noqa: B018
    assert gs.open(op("AsString", (FLOAT, [2]), T=FLOAT, width=10_000, precision=10)).graph


def test_a_circle_of_gradients_is_refused_by_tensorflow():
    graph_def = empty()
    function(graph_def, "f")
    function(graph_def, "g")
    for a, b in (("f", "g"), ("g", "f")):
        graph_def.library.gradient.add(function_name=a, gradient_func=b)
    with refuses(OpenError, "TensorFlow refuses the graph: FunctionDefLibrary contains cyclic gradient functions"):
        gs.open(graph_def).graph  # noqa: B018


def test_a_constant_nested_too_deep_is_refused():
    graph_def = empty()
    variant = add(graph_def, "c", "Const", dtype=tf.variant).attr["value"].tensor
    variant.dtype = tf.variant.as_datatype_enum
    variant.tensor_shape.SetInParent()
    for _ in range(60):
        variant = variant.variant_val.add(type_name="tensorflow::Tensor").tensors.add()
    with refuses(OpenError, "a constant in it is nested too deeply"):
        gs.open(graph_def).graph  # noqa: B018


def test_a_call_of_a_function_that_is_not_there_can_be_looked_at_and_is_told_in_the_plan():
    graph_def = empty()
    feed(graph_def)
    call(graph_def, "y", "gone")
    ed = gs.open(graph_def)
    dst = gs.open(tf.Graph())
    plan = dst.plan().copy(ed.select(), to="copy")
    assert "without 1 function that the source does not hold: gone; their calls cannot run" in str(plan)
    dst.apply(plan)
    with pytest.raises(gs.PlanError, match=r'TensorFlow cannot run .* Failed to find function "gone"'):
        dst.session().run("copy/y:0", {"copy/x:0": 1.0})


def test_sizes_below_zero_that_tensorflow_infers_are_shown_as_unknown():
    graph_def = empty()
    feed(graph_def, "list", tf.variant, [])
    constant(graph_def, "shape", [2])
    add(graph_def, "y", "TensorListStack", "list", "shape", element_dtype=FLOAT, num_elements=-7)
    assert "y  float32 unknown shape" in str(gs.open(graph_def))


# -- names -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "reported"), [("n" * 2_001, "2,001 letters"), ("a/" * 101 + "a", "101 slashes")])
def test_a_name_that_would_fill_the_memory(name, reported):
    graph_def = empty()
    feed(graph_def, name)
    with refuses(OpenError, "the name of an op", reported, "Up to 2,000 letters and 100 slashes are possible"):
        gs.open(graph_def)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("x//y", "x//z"),
        ("x/", "x/b"),
        (".x", ".x/y"),
        ("x/", "x"),
        ("a/../b", "a/./b"),
        ("n" * 2_000, "a/" * 100 + "a"),
    ],
)
def test_odd_names_that_do_no_harm_are_taken(first, second):
    graph_def = empty()
    feed(graph_def, first, shape=[])
    add(graph_def, second, "Neg", first, T=FLOAT)
    ed = gs.open(graph_def)
    assert str(ed)
    assert ed.to_svg()
    dst = gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(ed.select(), to="copy"))
    assert done[second].name == f"copy/{second}"
    assert dst.session().run(f"copy/{second}:0", {f"copy/{first}:0": 2.0}) == -2.0


# -- the trial -------------------------------------------------------------------------------------


def test_one_that_is_harmless_is_looked_at_with_its_shapes_before_it_is_imported_here(tmp_path):
    with tf.Graph().as_default() as graph:
        tf.nn.relu(tf.matmul(tf1.placeholder(tf.float32, [None, 2], name="x"), tf.ones([2, 3]), name="y"), name="z")
    path = tmp_path / "tiny.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    ed = gs.open(path)
    assert "float32 (?, 3)" not in labels(ed)
    ed.screen.infer()
    assert ed.screen.inferred
    assert not is_materialized(ed.snapshot.owner)
    assert "float32 (?, 3)" in labels(ed)
    shapes = {name: ed.snapshot.declared_outputs(i) for i, name in enumerate(ed.snapshot.names)}
    assert "tiny.pb')" in ed.to_code()
    assert "tiny.pb', trust=True)" in gs.open(path, trust=True).to_code()
    assert not is_materialized(ed.snapshot.owner)
    assert ed.session().run("z:0", {"x:0": [[0.0, 0.0]]}).tolist() == [[0.0, 0.0, 0.0]]
    assert {name: ed.snapshot.outputs(i) for i, name in enumerate(ed.snapshot.names)} == shapes


def test_no_process_is_asked_before_it_is_needed_nor_for_what_is_trusted(monkeypatch):
    tried = []

    def told(graph_def, request, timeout, shapes):
        tried.append((timeout, shapes))
        return try_import(graph_def, request, timeout, shapes)

    monkeypatch.setattr(source, "try_import", told)
    ed = gs.open(tiny().as_graph_def(), timeout=7.0)
    view = ed.view()
    assert ed._repr_mimebundle_()
    assert ed.find("op:Square") == ["y"]
    assert not view.inferred
    assert not [t for t in threading.enumerate() if t.name == "graphsurgeon-shapes"]
    assert not tried
    view.simulate("infer")  # as the page asks once it has painted
    assert tried == [(7.0, True)]
    assert view.inferred
    ed.graph.get_operations()
    ed.session()
    assert len(tried) == 1
    gs.open(tiny().as_graph_def()).session()
    assert tried[1:] == [(60.0, False)]
    trusted = gs.open(tiny().as_graph_def(), trust=True)
    trusted.screen.infer()
    assert is_materialized(trusted.snapshot.owner)
    trusted.session()
    gs.open(tiny()).session()
    assert len(tried) == 2


def test_the_process_starts_as_soon_as_tensorflow_is_imported_here(tmp_path):
    path = tmp_path / "tiny.pb"
    path.write_bytes(tiny().as_graph_def().SerializeToString())
    code = (
        "import os, sys\nimport graphsurgeon as gs\nfrom graphsurgeon.tf.open.trial_import import TRIALS\n"
        f"ed = gs.open({str(path)!r})\nassert 'tensorflow' not in sys.modules and TRIALS._process is None\n"
        "ed.graph\nassert TRIALS._process is not None"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def answers(monkeypatch, answer):
    """Replaces the process: `answer` gets how many ops it is to import."""
    sent = []

    def send(self, folder, request, timeout):
        sent.append(request["count"])
        return {"started": True, **answer(request["count"])}

    monkeypatch.setattr(Worker, "send", send)
    return sent


def many():
    """A graph of a thousand ops."""
    graph_def = empty()
    for i in range(1_000):
        add(graph_def, f"op{i}", "NoOp")
    return graph_def


def refusal_of(graph_def, timeout=5.0):
    """Why a graph is refused by its trial."""
    return try_import(graph_def, "open('x.pb')", timeout, False)[0]


def test_an_op_is_found_among_many(monkeypatch):
    sent = answers(monkeypatch, lambda count: {"accepted": True} if count <= 102 else {"how": "died (SIGABRT)"})
    reads(refusal_of(many()), "TensorFlow died (SIGABRT) on op 'op102' (NoOp)")
    assert len(sent) <= 12


def test_one_that_hangs_is_told_by_its_op(monkeypatch):
    late = {"how": "died (SIGALRM)", "code": -signal.SIGALRM}
    answers(monkeypatch, lambda count: late if count > 1 else {"accepted": True})
    reads(refusal_of(many()), "TensorFlow did not end within 6 s on op 'op1' (NoOp)")


def test_half_a_loop_is_not_taken_for_what_is_wrong(monkeypatch):
    def answer(count):
        return {"how": "died (SIGABRT)"} if count > 500 else {"accepted": count <= 400}

    answers(monkeypatch, answer)
    text = str(refusal_of(many()))
    assert "TensorFlow died (SIGABRT).\n" in text


def test_a_function_is_not_taken_for_an_op(monkeypatch):
    answers(monkeypatch, lambda count: {"how": "died (SIGSEGV)"})
    assert "TensorFlow died (SIGSEGV).\n" in str(refusal_of(many()))


def test_one_that_does_not_end_in_time_is_ended():
    graph_def = FATAL["doubling"]
    reads(refusal_of(graph_def, 0.2), "in a separate process, TensorFlow did not end within 0.2")


def test_one_that_needs_too_much_memory_is_ended(monkeypatch):
    monkeypatch.setattr(trial_import, "_MEMORY", 200 << 20)
    reads(
        refusal_of(FATAL["huge numbers"], 60.0), "in a separate process, TensorFlow ran out of memory on op 'op' (Fill)"
    )


def test_a_graph_reaches_it_in_pieces_and_whole(monkeypatch, tmp_path):
    monkeypatch.setattr(trial_import, "_CHUNK", 2)
    graph_def = tiny().as_graph_def()
    assert len(graph_def.node) > 4
    assert trial_import._write_graph(graph_def, tmp_path / "graph")
    there = tf1.GraphDef.FromString((tmp_path / "graph").read_bytes())
    assert [*there.node] == [*graph_def.node]
    assert there.versions == graph_def.versions
    monkeypatch.setattr(trial_import, "_MAX_SIZE", 50)
    reads(refusal_of(graph_def), "it has more than 2 GB", "trust=True")


def test_a_process_that_cannot_start_is_no_fault_of_the_file(monkeypatch):
    monkeypatch.setattr(trial_import, "TRIALS", Worker(("-c", "raise SystemExit(3)")))
    reads(refusal_of(tiny().as_graph_def()), "the separate process that would try the file died (code 3)", "trust=True")


def test_an_interrupt_ends_the_process_and_the_trial_can_be_repeated(monkeypatch):
    trials = Worker(trial_import.TRIALS._program)
    monkeypatch.setattr(trial_import, "TRIALS", trials)
    ed = gs.open(tiny().as_graph_def())

    def interrupted(request):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(trials, "_exchange", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ed.session()
    assert trials._process is None
    assert ed.session().run("z/y:0") == 1.0
    trials.stop()


def test_a_widget_that_is_there_when_the_process_ends_says_nothing():
    code = "import graphsurgeon as gs, tensorflow as tf\nview = gs.open(tf.compat.v1.GraphDef()).view()"
    ended = process(code)
    assert ended.returncode == 0
    assert "Exception ignored" not in ended.stderr
