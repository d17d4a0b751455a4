"""What is saved is opened again by plain TensorFlow and run, before it takes its name."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow.core.protobuf import saved_model_pb2

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from graphsurgeon.tf.save import proof as proving
from graphsurgeon.tf.save import request_loop, worker, worker_main
from graphsurgeon.tf.save import save as saving
from graphsurgeon.tf.save.worker import Worker
from tests.graphs import model
from tests.refusal import refuses
from tests.until import until

tf1 = tf.compat.v1
ENDS = {"inputs": {"x": "x:0"}, "outputs": {"y": "net/y:0"}}
FORMATS = [("m.pb", {}), ("m.pb", {"freeze": True}), ("m.pbtxt.gz", {}), ("m.meta", {}), ("m", {}),
           ("m", {"freeze": True}), ("m", {"format": "saved_model_tf2"})]  # fmt: skip


def trained():
    m = model("resource")
    m.train_steps()
    return gs.open(m.session)


@pytest.mark.parametrize(("path", "options"), FORMATS)
def test_every_format_is_run_and_says_so(path, options, tmp_path):
    report = trained().save(tmp_path / path, **ENDS, **options)
    want = "opened again by TensorFlow: 1 output as in this graph on random values for x:0 (unknown sizes: 2)"
    assert report.proof == want
    assert f"  {want}\n" in f"{report!r}\n"


def answers_of(monkeypatch, change):
    """Changes the answers of the worker process: `change` gets the request, its folder and the answer."""
    real = Worker.send

    def send(self, folder, request, timeout):
        answer = real(self, folder, request, timeout)
        return change(request, folder, answer) or answer

    monkeypatch.setattr(Worker, "send", send)


def spoilt(request, folder, answer):
    """Adds a hundredth to all results."""
    for call in answer["calls"]:
        for name in call["results"].values():
            value = tf.make_ndarray(TensorProto.FromString((folder / name).read_bytes()))
            (folder / name).write_bytes(tf.make_tensor_proto(value + np.float32(1e-2)).SerializeToString())


@pytest.mark.parametrize(("path", "options"), FORMATS)
def test_a_file_that_gives_other_numbers_is_refused_and_the_old_one_stays(path, options, tmp_path, monkeypatch):
    ed = trained()
    ed.save(tmp_path / path, **ENDS, **options)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    answers_of(monkeypatch, spoilt)
    with refuses(PlanError, "'net/y:0' of the written file differs from the source by 0.01, of ", "verify=False"):
        ed.save(tmp_path / path, **ENDS, **options)
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
    report = ed.save(tmp_path / path, **ENDS, **options, verify=False)
    assert report.notes[-1] == "not opened again: verify=False"
    assert report.proof == ""


def test_a_saved_model_is_loaded_as_tf1_and_as_tf2_do(tmp_path, monkeypatch):
    ed = trained()

    def failing(request, folder, answer):
        return {"error": "no such loader"}

    for other, words in (
        (spoilt, "'net/y:0' of the written file differs from the source by"),
        (failing, "TensorFlow cannot open the written file: no such loader"),
    ):
        with monkeypatch.context() as patch:
            answers_of(patch, lambda *told, other=other: other(*told) if told[0]["kind"] == "served_model" else None)
            report = ed.save(tmp_path / "m", **ENDS, overwrite=True)
        assert any(note.startswith(f"not for tf.saved_model.load: {words}") for note in report.notes), report.notes
        assert report.proof.startswith("opened again by TensorFlow: 1 output as in this graph")


# -- the other process -----------------------------------------------------------------------------

#: A program that waits for a request.
READY = "print('ready', flush=True); input(); "


@pytest.mark.parametrize(("program", "packages"), [(request_loop, set()), (worker_main, {"tensorflow", "google"})])
def test_the_other_process_has_only_tensorflow(program, packages):
    tree = ast.parse(Path(program.__file__).read_text())
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {node.module for node in froms} | {
        one.name for node in ast.walk(tree) if isinstance(node, ast.Import) for one in node.names
    }
    assert all(node.level == 0 for node in froms)
    assert {name.partition(".")[0] for name in names} - sys.stdlib_module_names == packages


@pytest.mark.deep
def test_the_other_process_is_kept_and_starts_again(tmp_path, monkeypatch):
    """Each file is read by a child of it, where the system can do so."""
    monkeypatch.setattr(worker, "PROGRAM", worker.PROGRAM[:3])
    process = Worker()
    monkeypatch.setattr(proving, "WORKER", process)
    monkeypatch.setattr(saving, "WORKER", process)
    ed, numbers = trained(), []
    for path in ("m.pb", "m"):
        assert "1 output as in this graph" in ed.save(tmp_path / path, **ENDS).proof
        numbers.append(process._process.pid)
    assert numbers[0] == numbers[1]
    process._process.kill()
    process._process.wait()
    assert "1 output as in this graph" in ed.save(tmp_path / "m.pb", **ENDS).proof
    assert process._process.pid != numbers[0]
    process.stop()


def test_the_other_process_ends_if_it_has_nothing_to_do(monkeypatch):
    monkeypatch.setattr(worker, "_IDLE", 0.01)
    monkeypatch.setattr(worker, "PROGRAM", ("-c", f"{READY}print(-6, flush=True); input()"))
    process = Worker()
    assert process.send(Path(), {}, None)["how"] == "died (SIGABRT)"
    until(lambda: process._process is None)


def test_an_interrupt_ends_the_other_process(monkeypatch):
    monkeypatch.setattr(worker, "PROGRAM", ("-c", "input()"))
    process = Worker()

    def interrupted(request):
        raise KeyboardInterrupt

    monkeypatch.setattr(process, "_exchange", interrupted)
    with pytest.raises(KeyboardInterrupt):
        process.send(Path(), {}, None)
    assert process._process is None


@pytest.mark.parametrize(
    ("code", "note"),
    [
        ("raise SystemExit(3)", "another process with TensorFlow died (code 3)"),
        (f"{READY}print(-9, flush=True)", "another process has no memory for it: died (SIGKILL)"),
    ],
)
def test_a_proof_that_cannot_run_is_reported(code, note, tmp_path, monkeypatch):
    monkeypatch.setattr(worker, "PROGRAM", ("-c", code))
    monkeypatch.setattr(proving, "WORKER", Worker())
    monkeypatch.setattr(saving, "WORKER", proving.WORKER)
    for path, loader in (("m.pb", "tf.import_graph_def"), ("m", "tf.compat.v1.saved_model.load")):
        report = trained().save(tmp_path / path, **ENDS)
        assert report.proof == ""
        assert f"not opened again by {loader}: {note}" in report.notes
        assert (tmp_path / path).exists()
    proving.WORKER.stop()


@pytest.mark.parametrize(
    ("answer", "note"),
    [
        ({"memory": True, "error": "OOM"}, "another process has no memory for it: OOM"),
        ({"unknown": "MatMul", "error": "Op type"}, "plain TensorFlow has no op type 'MatMul', which needs"),
    ],
)
def test_a_process_that_lacks_something_is_no_fault_of_the_file(answer, note, tmp_path, monkeypatch):
    answers_of(monkeypatch, lambda request, folder, old: answer)
    report = trained().save(tmp_path / "m.pb", **ENDS)
    assert any(note in one for one in report.notes)
    assert report.proof == ""


def test_a_file_that_ends_the_process_is_refused(tmp_path, monkeypatch):
    answers_of(monkeypatch, lambda request, folder, old: {"how": "died (SIGSEGV)", "started": True, "memory": False})
    with refuses(PlanError, "TensorFlow cannot open the written file: the process died (SIGSEGV)", "verify=False"):
        trained().save(tmp_path / "m.pb", **ENDS)
    assert list(tmp_path.iterdir()) == []


def test_the_names_of_a_signature_are_what_is_proved(tmp_path, monkeypatch):
    real = saving.write_saved_model

    def swapped(made, folder, *args):
        meta = real(made, folder, *args)
        ends = meta.signature_def["serving_default"].outputs
        ends["a"].name, ends["b"].name = ends["b"].name, ends["a"].name
        (Path(folder) / "saved_model.pb").write_bytes(
            saved_model_pb2.SavedModel(saved_model_schema_version=1, meta_graphs=[meta]).SerializeToString()
        )
        return meta

    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None], name="x")
        tf.add(x, 1.0, name="a"), tf.multiply(x, 3.0, name="b")
    monkeypatch.setattr(saving, "write_saved_model", swapped)
    with refuses(PlanError, "'a:0' of the written file differs from the source"):
        gs.open(graph).save(tmp_path / "m", inputs={"x": "x:0"}, outputs={"a": "a:0", "b": "b:0"})


@pytest.mark.parametrize("format", ["saved_model", "saved_model_tf2"])
def test_a_signature_that_lacks_an_input_is_refused_and_works_as_the_message_suggests(format, tmp_path):
    with tf.Graph().as_default() as graph:
        x, rate = tf1.placeholder(tf.float32, [None], name="x"), tf1.placeholder(tf.float32, [], name="rate")
        tf.multiply(x, rate, name="y")
    ed = gs.open(graph)
    with refuses(PlanError, "needs 'rate:0', which is not an input", "Type inputs=['x:0', 'rate:0']"):
        ed.save(tmp_path / "m", format=format, inputs=["x:0"], outputs=["y:0"])
    ed.save(tmp_path / "m", format=format, inputs=["x:0", "rate:0"], outputs=["y:0"])


def test_a_file_that_tensorflow_does_not_run_is_refused(tmp_path, monkeypatch):
    real = saving.nodes_of

    def broken(proto, request):
        found = real(proto, request)
        next(node for node in found.node if node.name == "net/y").op = "Sqrt"
        next(node for node in found.node if node.name == "net/w").attr["value"].tensor.tensor_shape.dim[0].size = 7
        return found

    monkeypatch.setattr(saving, "nodes_of", broken)
    with refuses(PlanError, "TensorFlow cannot ", " the written file: ", "keep the variables", "verify=False"):
        trained().save(tmp_path / "m.pb", outputs="net/y:0", freeze=True)
    assert list(tmp_path.iterdir()) == []


def test_a_checkpoint_is_read_again(tmp_path, monkeypatch):
    ed = trained()
    assert ed.save(tmp_path / "m.ckpt").proof == "read again by TensorFlow"
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    real = saving.write_checkpoint

    def torn(prefix, *rest):
        real(prefix, *rest)
        data = next(iter(__import__("pathlib").Path(prefix).parent.glob("values.data-*")))
        data.write_bytes(bytes(len(data.read_bytes())))

    monkeypatch.setattr(saving, "write_checkpoint", torn)
    with refuses(PlanError, "TensorFlow cannot read the written checkpoint: ", "Write it again"):
        ed.save(tmp_path / "m.ckpt")
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


# -- on what it is run -----------------------------------------------------------------------------


def graph(build):
    made = tf.Graph()
    with made.as_default():
        tf.identity(build(), name="y")
    return gs.open(made)


def test_feeds_are_taken_and_named_ones_must_be_there(tmp_path):
    ed = graph(lambda: tf.gather([1.0, 2.0], tf1.placeholder(tf.int32, [None], name="i") - 40))
    report = ed.save(tmp_path / "m.pb", outputs="y:0")
    assert "not run: y:0 cannot be run in the source graph" in report.notes[-1]
    assert report.notes[-1].endswith("give real values: feeds={'i:0': ...}")
    assert report.proof == "opened again by TensorFlow"
    report = ed.save(tmp_path / "m.pb", outputs="y:0", feeds={"i": [41, 40]})
    assert report.proof == "opened again by TensorFlow: 1 output as in this graph"
    with refuses(SelectionError, "nosuch"):
        ed.save(tmp_path / "m.pb", outputs="y:0", feeds={"nosuch:0": 1})
    with refuses(PlanError, "feeds= cannot be combined with verify=False", "Leave out feeds="):
        ed.save(tmp_path / "m.pb", outputs="y:0", feeds={"i:0": [40]}, verify=False)


def test_a_size_that_fits_is_found(tmp_path):
    """Windows of 5 fit in no picture of 2: the next size is tried, and said."""
    ed = graph(lambda: tf.nn.max_pool2d(tf1.placeholder(tf.float32, [1, None, None, 1], name="x"), 5, 1, "VALID"))
    report = ed.save(tmp_path / "m.pb", outputs="y:0")
    assert report.proof.endswith("on random values for x:0 (unknown sizes: 64)")


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: tf.io.decode_jpeg(tf1.placeholder(tf.string, [], name="bytes")),
         ["cannot be run in the source graph", "feeds={'bytes:0': ...}"]),
        (lambda: tf1.placeholder(tf.float32, name="x") * 2.0,
         ["needs a value for 'x:0' (float32, shape <unknown>): give feeds={'x:0': ...}"]),
        (lambda: tf.numpy_function(lambda: np.float32(1), [], tf.float32), ["(PyFunc)", "has effects"]),
        (lambda: tf1.data.make_one_shot_iterator(tf.data.Dataset.range(3)).get_next(),
         ["needs 'OneShotIterator' (OneShotIterator), which has effects, or state"]),
        (lambda: tf.queue.FIFOQueue(2, tf.float32).dequeue(), ["Queue", "needs"]),
        (lambda: tf1.assign_add(tf1.get_variable("v", initializer=1.0), 1.0), ["has effects, or state"]),
    ],
    ids=["bytes", "rank", "python", "iterator", "queue", "assignment"],
)  # fmt: skip
def test_what_cannot_be_run_is_said(build, words, tmp_path):
    report = graph(build).save(tmp_path / "m.pb", outputs="y:0")
    (note,) = [note for note in report.notes if note.startswith("not run: y:0 ")]
    for word in words:
        assert word in note
    assert (tmp_path / "m.pb").exists()


def test_an_assignment_in_the_source_is_not_made_for_a_proof(tmp_path):
    with tf.Graph().as_default() as made, tf1.Session() as session:
        v = tf1.get_variable("v", initializer=1.0)
        tf.identity(tf1.assign_add(v, 1.0), name="y")
        session.run(v.initializer)
        gs.open(session).save(tmp_path / "m.meta", outputs="y:0")
        assert session.run(v) == 1.0
    assert len(made.get_operations()) < 12


def test_random_numbers_are_run_and_not_compared(tmp_path):
    report = graph(lambda: tf1.random_normal([3])).save(tmp_path / "m.pb", outputs="y:0")
    assert report.notes == ["run, but not compared, because it uses random numbers: y:0"]


def test_effects_inside_functions_are_seen(tmp_path):
    v = tf.Variable(1.0, name="v")

    @tf.function(input_signature=[tf.TensorSpec([], tf.float32, name="x")])
    def outer(x):
        return tf.cond(x > 0, lambda: v.assign_add(x), lambda: x)

    ed = gs.open(outer)
    report = ed.save(tmp_path / "m.meta", outputs=ed.outputs)
    assert "which has effects, or state" in report.notes[-1]


def test_a_whole_training_graph_is_run_up_to_what_writes(tmp_path):
    """Nobody named outputs: the last tensors without effects are run; the optimizer is not."""
    ed = trained()
    before = ed.session().run("net/w/Read/ReadVariableOp:0" if "net/w/Read/ReadVariableOp" in ed.snapshot.index
                              else "net/w:0")  # fmt: skip
    report = ed.save(tmp_path / "m.meta")
    assert "as in this graph on random values for x:0" in report.proof
    name = "net/w/Read/ReadVariableOp:0" if "net/w/Read/ReadVariableOp" in ed.snapshot.index else "net/w:0"
    np.testing.assert_array_equal(ed.session().run(name), before)


def test_a_local_variable_is_in_the_file_too(tmp_path):
    with tf.Graph().as_default() as made:
        tf1.get_variable("w", initializer=2.0)
        local = tf1.get_variable("local", initializer=3.0, collections=["local_variables"], trainable=False)
        tf.identity(local * 2.0, name="y")
        trained = local.assign(5.0, read_value=False, name="trained")
    ed = gs.open(made)
    ed.session().run(trained)
    assert "1 output as in this graph" in ed.save(tmp_path / "m.meta", outputs="y:0").proof
    assert gs.open(tmp_path / "m.meta").session().run("y:0") == 10.0


def test_the_graph_stays_as_it_is(tmp_path):
    ed = trained()
    before = ed.snapshot.fingerprint
    for path, options in FORMATS:
        ed.save(tmp_path / path, **ENDS, **options)
    assert ed.snapshot.fingerprint == before
    assert len(ed.graph.get_operations()) == ed.snapshot.size


def test_values_in_a_mapping(tmp_path):
    ed = gs.open(model("resource").graph)
    values = {v: np.full(ed.tensor(v + ":0").op.get_attr("shape").as_list() if False else [2, 3], 0.5, np.float32)
              for v in ("net/w",)} | {"net/b": np.full([3], 0.25, np.float32)}  # fmt: skip
    report = ed.save(tmp_path / "m.pb", outputs="net/y:0", freeze=True, values=values)
    assert "1 output as in this graph" in report.proof


# -- tables ----------------------------------------------------------------------------------------


def with_table(kind, folder):
    """Returns a graph with a table that is filled from constants, or from a file of words."""
    (folder / "words.txt").write_text("ant\nbee\ncat\n")
    with tf.Graph().as_default() as made:
        words = tf1.placeholder(tf.string, [None], name="words")
        if kind == "constants":
            rows = tf.lookup.KeyValueTensorInitializer(["ant", "bee", "cat"], tf.constant([0, 1, 2], tf.int64))
        else:
            index = tf.lookup.TextFileIndex
            rows = tf.lookup.TextFileInitializer(
                str(folder / "words.txt"), tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER
            )
        if kind == "vocabulary":
            table = tf.lookup.StaticVocabularyTable(rows, 1)
        elif kind == "old":
            table = tf1.lookup.StaticHashTable(rows, 3)
        else:
            table = tf.lookup.StaticHashTable(rows, 3)
        weights = tf1.get_variable("weights", initializer=[1.0, 2.0, 3.0, 4.0])
        tf.identity(tf.gather(weights, table.lookup(words)), name="y")
    return gs.open(made)


TABLES = ["constants", "file", "old", "vocabulary"]
WORDS, WANT = ["bee", "wasp", "cat"], [2.0, 4.0, 3.0]


@pytest.mark.parametrize("kind", TABLES)
def test_tables_go_into_functions_and_saved_models(kind, tmp_path):
    ed = with_table(kind, tmp_path)
    assert ed.function("words:0", "y:0")(tf.constant(WORDS)).numpy().tolist() == WANT
    for format in ("saved_model", "saved_model_tf2"):
        report = ed.save(tmp_path / format, inputs={"words": "words:0"}, outputs={"y": "y:0"}, format=format)
        assert "1 output as in this graph" in report.proof
        loaded = tf.saved_model.load(str(tmp_path / format)).signatures["serving_default"]
        assert loaded(words=tf.constant(WORDS))["y"].numpy().tolist() == WANT


@pytest.mark.parametrize("kind", TABLES)
def test_an_opened_meta_graph_fills_its_tables(kind, tmp_path):
    with_table(kind, tmp_path).save(tmp_path / "m.meta")
    ed = gs.open(tmp_path / "m.meta").trust()  # its vocabulary is anywhere on the disk
    assert ed.session().run("y:0", {"words:0": WORDS}).tolist() == WANT
    done = gs.open(tf.Graph())
    copy = done.apply(done.plan().copy(ed.select(), to="c", values=ed))
    assert done.session().run(copy["y:0"], {copy["words:0"]: WORDS}).tolist() == WANT
    ed.apply(ed.plan().rename("y", to="z"))
    assert ed.session().run("z:0", {"words:0": WORDS}).tolist() == WANT


@pytest.mark.parametrize("kind", TABLES)
def test_a_frozen_file_says_what_must_run_first(kind, tmp_path):
    ed = with_table(kind, tmp_path)
    report = ed.save(tmp_path / "m.pb", outputs="y:0", freeze=True, values="initial")
    (note,) = [note for note in report.notes if note.startswith("run first: ")]
    first = note.removeprefix("run first: ").partition(", to fill ")[0]
    assert "1 output as in this graph" in report.proof
    with tf.Graph().as_default(), tf1.Session() as session:
        tf1.import_graph_def(tf1.GraphDef.FromString((tmp_path / "m.pb").read_bytes()), name="")
        session.run(first)
        assert session.run("y:0", {"words:0": WORDS}).tolist() == WANT


def test_a_table_whose_file_is_gone_is_refused_by_name(tmp_path):
    ed = with_table("file", tmp_path)
    (tmp_path / "words.txt").unlink()
    with refuses(PlanError, "the content of table 'hash_table' is not known: ", "cannot be run",
                 "Make the result of its lookup an input instead"):  # fmt: skip
        ed.function("words:0", "y:0", values={"weights": np.ones(4)})


def test_a_table_that_nothing_fills_is_refused_by_name(tmp_path):
    with tf.Graph().as_default() as made:
        table = tf.raw_ops.HashTableV2(key_dtype=tf.int64, value_dtype=tf.int64, shared_name="t", name="bare")
        tf.raw_ops.LookupTableFindV2(table_handle=table, keys=tf1.placeholder(tf.int64, [1], name="k"),
                                     default_value=tf.constant(0, tf.int64), name="y")  # fmt: skip
    with refuses(PlanError, "the content of table 'bare' is not known: no op fills it", "an input instead"):
        gs.open(made).function("k:0", "y:0")


# -- gradients -------------------------------------------------------------------------------------


def test_overridden_gradients_do_not_stop_a_saved_model(tmp_path, capfd):
    @tf.RegisterGradient("GuidedReluOfTheTest")
    def guided(op, grad):
        return tf.where(grad > 0, tf.where(op.outputs[0] > 0, grad, tf.zeros_like(grad)), tf.zeros_like(grad))

    with tf.Graph().as_default() as made, made.gradient_override_map({"Relu": "GuidedReluOfTheTest"}):
        x = tf1.placeholder(tf.float32, [None, 4, 4, 1], name="x")
        tf.nn.max_pool2d(tf.nn.relu(x), 2, 2, "VALID", name="y")
    report = gs.open(made).save(tmp_path / "f", inputs="x:0", outputs="y:0", format="saved_model_tf2")
    assert report.notes == [
        "the gradient registered as GuidedReluOfTheTest is not included, because TensorFlow cannot trace it: "
        "register it again in the program that loads the model, before you differentiate the model"
    ]
    assert "1 output as in this graph" in report.proof
    assert "Traceback" not in capfd.readouterr().err
    loaded = tf.saved_model.load(str(tmp_path / "f")).signatures["serving_default"]
    assert loaded(x=tf.ones([1, 4, 4, 1]))["y"].numpy().tolist() == [[[[1.0], [1.0]], [[1.0], [1.0]]]]


# -- what is left out ------------------------------------------------------------------------------


def test_what_is_left_out_is_counted(tmp_path):
    with tf.Graph().as_default() as made:
        x = tf1.placeholder(tf.float32, [2], name="x")
        y = tf.exp(tf.negative(x, name="a"), name="b")
        tf.tanh(y, name="c")
    ed = gs.open(made)
    assert ed.save(tmp_path / "m.pb", inputs="x:0", outputs="b:0").omitted_ops == 1  # c
    assert ed.save(tmp_path / "m.pb", outputs="b:0").omitted_ops == 1
    assert ed.save(tmp_path / "m.pb", inputs="a:0", outputs="c:0").omitted_ops == 2  # x, and a, which is fed now
    assert ed.save(tmp_path / "m.pb", inputs="x:0", outputs="c:0").omitted_ops == 0
    assert ed.save(tmp_path / "m", inputs="x:0", outputs="b:0").omitted_ops == 1
    assert ed.save(tmp_path / "m.pb").omitted_ops == 0


# -- differentiated loops --------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["y:0", "slope:0"])
@pytest.mark.parametrize("path", ["m.pb", "m.meta"])
def test_a_differentiated_loop_in_a_cond_of_tf1(end, path, tmp_path):
    """What a loop brings along waits for ops that the outputs do not need: these come too."""
    tf1.disable_control_flow_v2()
    try:
        with tf.Graph().as_default() as made:
            x = tf1.placeholder(tf.float32, [None, 3], name="x")
            w = tf1.get_variable("w", initializer=np.eye(3, dtype=np.float32) * 2)

            def loop():
                return tf.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, tf.tanh(tf.matmul(a, w))), [0, x])[1]

            y = tf.identity(tf1.cond(tf.reduce_sum(x) > 0, loop, lambda: x * w[0]), name="y")
            tf.identity(tf1.gradients(y, x)[0], name="slope")
            tf1.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(y), name="train")
    finally:
        tf1.enable_control_flow_v2()
    report = gs.open(made).save(tmp_path / path, outputs=end)
    assert "1 output as in this graph" in report.proof
    assert gs.open(made).save(tmp_path / "f.pb", outputs=end, freeze=True, values="initial").proof == report.proof


def test_a_function_with_a_gradient_function_goes_into_every_format(tmp_path):
    """TensorFlow's export asks for both among the Python objects of the graph."""
    from tensorflow.python.framework.function import Defun

    @Defun(tf.float32, tf.float32)
    def slope(x, dy):
        return dy * 3.0 * x

    @Defun(tf.float32, grad_func=slope)
    def triple(x):
        return x * 3.0

    with tf.Graph().as_default() as made:
        x = tf1.placeholder(tf.float32, [2], name="x")
        tf.identity(triple(x), name="y")
    ed = gs.open(made.as_graph_def())
    for path, options in FORMATS:
        report = ed.save(tmp_path / path, inputs={"x": "x:0"}, outputs={"y": "y:0"}, **options)
        assert report.proof == "opened again by TensorFlow: 1 output as in this graph on random values for x:0"
