"""A stranger's file is imported in a process of its own first: one that dies or hangs does not take this one along."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import OpenError
from graphsurgeon.graph.lazy_graph import is_materialized, lazy_graph_of
from graphsurgeon.tf.open import source, trial_import
from tests.corpus import corpus_cases
from tests.fresh import process
from tests.graphs import tiny
from tests.refusal import reads, refuses
from tests.tf.nodes import add, constant, empty, feed

tf1 = tf.compat.v1


#: Real graphs with loops, with conds and with what was trained.
REAL = (
    "dl4j_nms_v5", "dl4j_while_nested", "dotnet_cifar_frozen", "onnx_lstm", "sci_cond_test",
    "dl4j_bstack_bidir",
)  # fmt: skip


@pytest.fixture
def unknown_danger(monkeypatch):
    """A graph that ends TensorFlow, of which nobody knows that it does."""
    monkeypatch.setattr(source, "fatal_error", lambda graph_def, request: None)
    graph_def = empty()
    feed(graph_def, shape=[2, 2])
    constant(graph_def, "sizes", 2)
    constant(graph_def, "axis", 0)
    add(graph_def, "y", "SplitV", "x", "sizes", "axis", T=tf.float32, Tlen=tf.int32, num_split=1)
    return graph_def


def labels(ed):
    """What the edges of the picture say."""
    return [edge["label"] for edge in ed.screen.traits()["scenes"]["source"]["edges"]]


def test_a_file_that_would_end_the_process_is_looked_at_and_its_op_is_named(unknown_danger):
    ed = gs.open(unknown_danger)
    assert ed.snapshot.names == ["x", "sizes", "axis", "y"]
    ed.screen.infer()  # as a person looks at it
    assert "to look at only: in a separate process" in ed.screen.state.status.text
    for _ in range(2):  # it is tried once, and remembered
        with refuses(OpenError, "in a separate process, TensorFlow died (SIGABRT) on op 'y' (SplitV)",
                     "gs.open(..., trust=True) imports it anyway"):  # fmt: skip
            ed.session()
    assert "to look at only: in a separate process" in str(ed)
    assert "SplitV" in str(ed.to_svg())


def test_one_that_does_not_end_in_time_is_ended(monkeypatch):
    monkeypatch.setattr(trial_import, "_EACH", 0.0)
    refusal = trial_import.SandboxImport(lambda: tiny().as_graph_def(), "open('x.pb')", 0.001).verdict()
    reads(
        refusal,
        "in a separate process, TensorFlow did not end within 0.001 s",
        "You can still view the graph",
        "trust=True",
    )


def test_one_that_hangs_is_told_by_its_op(monkeypatch):
    monkeypatch.setattr(trial_import.SandboxImport, "_run", lambda *given: (-signal.SIGALRM, [(0, 1), (1, 2)]))
    name, kind = [(node.name, node.op) for node in tiny().as_graph_def().node][1]
    refusal = trial_import.SandboxImport(lambda: tiny().as_graph_def(), "open('x.pb')", 5.0).verdict()
    reads(refusal, f"did not end within 5 s on op {name!r} ({kind})")


def test_one_that_is_harmless_is_looked_at_with_its_shapes_before_it_is_imported_here(tmp_path):
    with tf.Graph().as_default() as graph:
        tf.nn.relu(tf.matmul(tf1.placeholder(tf.float32, [None, 2], name="x"), tf.ones([2, 3]), name="y"), name="z")
    path = tmp_path / "tiny.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    ed = gs.open(path, trust=False)
    assert "float32 (?, 3)" not in labels(ed)
    ed.screen.infer()
    assert ed.screen.inferred
    assert not is_materialized(ed.snapshot.owner)
    assert "float32 (?, 3)" in labels(ed)
    shapes = {name: ed.snapshot.stated(i) for i, name in enumerate(ed.snapshot.names)}
    assert not is_materialized(ed.snapshot.owner)
    assert ed.session().run("z:0", {"x:0": [[0.0, 0.0]]}).tolist() == [[0.0, 0.0, 0.0]]
    assert {name: ed.snapshot.outputs(i) for i, name in enumerate(ed.snapshot.names)} == shapes
    assert "tiny.pb', trust=False)" in ed.to_code()


def known(graph_def):
    """The shapes of a GraphDef that is imported in one piece, and the nodes in the order of that."""
    with tf.Graph().as_default() as graph:
        tf1.import_graph_def(graph_def, name="")
    ops = graph.get_operations()
    shapes = {op.name: [None if t.shape.rank is None else tuple(t.shape) for t in op.outputs] for op in ops}
    return [op.name for op in ops], {name: dims for name, dims in shapes.items() if {*dims} - {None}}


def tried(graph_def):
    """The same of one that is imported in pieces."""
    order, shapes = known(graph_def)
    nodes = sorted(graph_def.node, key=lambda node: order.index(node.name))
    graph_def = tf1.GraphDef(versions=graph_def.versions, library=graph_def.library, node=nodes)
    found = trial_import.import_pieces(graph_def, 0, len(nodes))
    assert {name: [None if dims is None else tuple(dims) for dims in out] for name, out in found.items()} == shapes
    return shapes


def test_an_op_named_as_a_scope_of_an_earlier_piece_has_its_shapes():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 2, 3], name="x")
        tf.add(tf.reshape(x, tf.constant([-1, 6], name="flat/shape"), name="flat"), 1.0, name="y")
    assert [op.name for op in graph.get_operations()][1:3] == ["flat/shape", "flat"]
    assert tried(graph.as_graph_def())["y"] == [(None, 6)]


@pytest.mark.parametrize("id", corpus_cases(lambda item: item["id"] in REAL))
def test_in_pieces_a_real_graph_has_the_shapes_that_it_has_in_one(corpus, id):
    assert tried(corpus.protos(id)[0])


class Waiting:
    """A process that ends when it is killed."""

    def __init__(self, *given, **options):
        self.started, self.ended = STARTED, threading.Event()
        self.returncode = -signal.SIGKILL
        STARTED.set()

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        pass

    def kill(self):
        self.ended.set()

    def communicate(self, timeout):
        self.ended.wait(60.0)
        return b"", b""


STARTED = threading.Event()


def test_no_process_is_started_for_a_first_picture(monkeypatch):
    started = []
    monkeypatch.setattr(trial_import.SandboxImport, "_try_import", lambda self, graph_def: started.append(1))
    ed = gs.open(tiny().as_graph_def())
    view = ed.view()
    assert ed._repr_mimebundle_()
    assert not view.inferred
    assert not [t for t in threading.enumerate() if t.name == "graphsurgeon-shapes"]
    assert not started
    view.simulate("infer")  # as the page asks once it has painted
    assert started
    assert view.inferred


def test_one_that_is_left_ends_and_can_be_asked_for_again(monkeypatch):
    popen = trial_import.subprocess.Popen
    monkeypatch.setattr(trial_import.subprocess, "Popen", Waiting)
    STARTED.clear()
    ed = gs.open(tiny().as_graph_def())
    looking = threading.Thread(target=ed.screen.infer)
    looking.start()
    assert STARTED.wait(60.0)
    ed.view().close()
    looking.join(60.0)
    assert not looking.is_alive()
    assert not ed.screen.inferred
    monkeypatch.setattr(trial_import.subprocess, "Popen", popen)
    ed.screen.infer()
    assert ed.screen.inferred


def test_a_widget_that_is_there_when_the_process_ends_says_nothing():
    code = "import graphsurgeon as gs, tensorflow as tf\nview = gs.open(tf.compat.v1.GraphDef()).view()"
    ended = process(code)
    assert ended.returncode == 0
    assert "Exception ignored" not in ended.stderr


def test_a_file_whose_verdict_is_asked_for_is_tried_though_nobody_looks_any_more(monkeypatch):
    monkeypatch.setattr(trial_import.subprocess, "Popen", Waiting)
    STARTED.clear()
    ed = gs.open(tiny().as_graph_def(), trust=False)
    running = threading.Thread(target=ed.screen.infer)
    running.start()
    assert STARTED.wait(60.0)
    ed.screen.stop_inference()
    child = trial_of(ed)._process
    assert not child.ended.is_set()
    child.kill()
    running.join(60.0)


def trial_of(ed):
    """The trial behind a file."""
    cells = lazy_graph_of(ed.snapshot.owner).leave.__closure__
    return next(cell.cell_contents for cell in cells if isinstance(cell.cell_contents, trial_import.SandboxImport))


def test_it_ends_with_the_process_that_started_it(tmp_path):
    held, kept = os.pipe()
    reported = tmp_path / "graphsurgeon_main.py"
    reported.write_text("import os, threading\n"
                    "def main(*given):\n"
                    "    from graphsurgeon.tf.open import trial_import\n"
                    "    threading.Thread(target=trial_import._end_with_the_other, daemon=True).start()\n"
                    "    print('begun', flush=True)\n"
                    "    threading.Event().wait()\n")  # fmt: skip
    code = trial_import._BEGIN.replace(trial_import.__name__, reported.stem)
    folders = os.pathsep.join([str(tmp_path), *sys.path])
    with subprocess.Popen([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": folders},
                          stdin=held, stdout=subprocess.PIPE) as child:  # fmt: skip
        os.close(held)
        assert child.stdout.readline() == b"begun\n"
        os.close(kept)
        assert child.wait(120.0) == -signal.SIGTERM


def test_a_graph_reaches_it_in_pieces_and_whole(monkeypatch, tmp_path):
    monkeypatch.setattr(trial_import, "_CHUNK", 2)
    graph_def = tiny().as_graph_def()
    assert len(graph_def.node) > 4
    assert trial_import._write_graph(graph_def, tmp_path / "graph")
    there = tf1.GraphDef.FromString((tmp_path / "graph").read_bytes())
    assert [*there.node] == [*graph_def.node]
    assert there.versions == graph_def.versions
    monkeypatch.setattr(trial_import, "_MAX_SIZE", 50)
    reads(trial_import.SandboxImport(lambda: graph_def, "open('x.pb')", 5.0).verdict(), "it has more than 2 GB",
          "If you trust the file, leave out trust=False")  # fmt: skip


def test_nobody_waits_for_it_who_needs_the_graph(monkeypatch):
    monkeypatch.setattr(trial_import.subprocess, "Popen", Waiting)
    STARTED.clear()
    ed = gs.open(tiny().as_graph_def())
    looking = threading.Thread(target=ed.screen.infer)
    looking.start()
    assert STARTED.wait(60.0)
    assert ed.session().run("z:0", {"x:0": [[1.0, 2.0]]}).tolist() == [[2.0, 5.0]]
    looking.join(60.0)
    assert not looking.is_alive()
    assert ed.screen.inferred
    assert ed.screen.state.status.text == ""


def test_no_process_is_started_before_it_is_needed_nor_where_nobody_asks_for_one(monkeypatch):
    started = []
    monkeypatch.setattr(
        trial_import.SandboxImport, "_try_import", lambda self, graph_def: started.append(self._timeout)
    )
    ed = gs.open(tiny().as_graph_def(), trust=False, timeout=7.0)
    assert ed.find("op:Square") == ["y"]
    assert not started
    ed.graph.get_operations()
    ed.session()
    assert started == [7.0]
    gs.open(tiny().as_graph_def()).session()
    trusted = gs.open(tiny().as_graph_def(), trust=True)
    trusted.screen.infer()
    assert is_materialized(trusted.snapshot.owner)
    trusted.session()
    assert len(started) == 1


def test_what_is_known_to_be_dangerous_is_imported_only_where_it_is_trusted(monkeypatch):
    danger = OpenError("open()", "op 'y' would crash TensorFlow", "The file is damaged: write it again")
    monkeypatch.setattr(source, "fatal_error", lambda graph_def, request: danger)
    ed = gs.open(tiny().as_graph_def())
    with refuses(
        OpenError, "op 'y' would crash TensorFlow", "write it again; gs.open(..., trust=True) imports it anyway"
    ):
        ed.session()
    assert gs.open(tiny().as_graph_def(), trust=True).session().run("z/y:0") == 1.0


def test_a_file_is_shown_before_it_is_looked_through_for_what_is_dangerous(monkeypatch):
    looked = []
    danger = OpenError("open()", "op 'y' would crash TensorFlow", "The file is damaged: write it again")
    monkeypatch.setattr(source, "fatal_error", lambda graph_def, request: looked.append(1) or danger)
    ed = gs.open(tiny().as_graph_def())
    view = ed.view()
    assert ed._repr_mimebundle_()
    assert ed.find("op:Square")
    assert not looked
    view.simulate("infer")
    assert view.inferred
    assert view.status == {"text": "to look at only: op 'y' would crash TensorFlow", "level": "warn"}
    assert "to look at only: op 'y' would crash TensorFlow" in str(ed)
    with refuses(OpenError, "op 'y' would crash TensorFlow"):
        ed.session()
    assert looked == [1]
    assert "to look at only: op 'y'" in str(gs.open(tiny().as_graph_def()))


def test_pieces_of_many_ops_are_looked_at_again(monkeypatch):
    runs, ends = [], [[(0, 100), (100, 200)], [(0, 100), (100, 102), (102, 104)], [(0, 102), (102, 103)]]

    def run(self, path, first, last, timeout):
        runs.append((first, last))
        return -6, ends[len(runs) - 1]

    monkeypatch.setattr(trial_import.SandboxImport, "_run", run)
    graph_def = empty()
    for i in range(1_000):
        add(graph_def, f"op{i}", "NoOp")
    reads(
        trial_import.SandboxImport(lambda: graph_def, "open('x.pb')", 5.0).verdict(),
        "died (SIGABRT) on op 'op102' (NoOp)",
    )
    assert runs == [(0, 1000), (100, 200), (102, 104)]
