"""Recovery: what was done to a file comes back to the last step, and what cannot come back is named."""

from __future__ import annotations

import gc
import json
import shutil
import signal
from contextlib import suppress
from itertools import count, pairwise

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import assume, given

import graphsurgeon as gs
from graphsurgeon.editor import journal
from graphsurgeon.editor.journal import Records, journals, line
from graphsurgeon.editor.serialization import FROM_FILE
from graphsurgeon.errors import OpenError, TrustError
from graphsurgeon.graph import security
from graphsurgeon.plan.steps.replace import ReplaceStep
from tests.fresh import read
from tests.hostile import hostile
from tests.journals import kept_in, small
from tests.random_graphs import RECIPE, Built, built
from tests.refusal import refuses
from tests.stress.interrupts import signalled_at
from tests.test_edit_properties import STEPS, chosen
from tests.tiers import examples
from tests.writers import say, stopping, writers

tf1 = tf.compat.v1


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The folder of journals."""
    return kept_in(tmp_path, monkeypatch)


@pytest.fixture
def path(tmp_path):
    """The path of a file with four ops."""
    return small(tmp_path)


def same(ed, again, texts=True):
    """Two editors hold the same graph, and the same history."""
    want, got = (one.graph_def() for one in (ed, again))
    assert [(n.name, n.op, list(n.input)) for n in want.node] == [(n.name, n.op, list(n.input)) for n in got.node]
    assert read(want) == read(got)
    past = [[(e.number, e.text * texts, e.undone) for e in one.history] for one in (ed, again)]
    assert past[0] == past[1]


def test_all_of_it_comes_back(path, place):
    ed = gs.open(path)
    ed.apply(ed.plan().copy(ed.select(scope="net"), to="c", inputs={"x:0": "y:0"}))
    older = ed.select(scope="c")
    ed.apply(ed.plan().rename("y", to="z").set_device("z", "/cpu:0"))
    ed.apply(ed.plan().insert("Softplus", on="z:0", name="soft"))
    ed.undo()
    ed.redo()
    ed.undo()
    ed.apply(ed.plan().copy(older, to="d", inputs={"y:0": "x:0"}), record=False)  # of the graph before a step
    ed.apply(ed.plan().copy(ed.select(inputs="x:0", outputs="net/a:0"), to="e", inputs={"x:0": "z:0"}))
    ed.rebuild()
    ed.undo()
    screen = ed.screen
    screen.mark_input("x:0")
    screen.rename("net/a", "net/q")
    screen.bypass("net/b")
    screen.save_view("mine")
    again = gs.recover(path)
    same(ed, again)
    assert again.journal.notes == []
    assert str(again.draft) == str(ed.draft)
    assert again.screen.state.marks == screen.state.marks
    assert again.screen.views == screen.views
    assert str(again.provenance("c/net/a")) == str(ed.provenance("c/net/a"))
    assert again.provenance("d/c/net/a").kind == ed.provenance("d/c/net/a").kind
    again.screen.apply()
    assert "net/q" in again.snapshot.index
    same(again, gs.recover(path))  # its own journal goes on
    assert len(journals(path)) == 3


NAMES = ["y", "z", "w", "v"]


def work(path):
    """What a child does that is killed: three steps, and it says each that is done."""
    ed = gs.open(path, trust=True)
    for old, new in pairwise(NAMES):
        ed.apply(ed.plan().rename(old, to=new))
        say(new)


def test_a_kernel_killed_at_any_write_comes_back_to_the_last_step_or_the_one_before(path, place):
    with writers("tests.test_recover", "graphsurgeon.tf.copy.imports", "graphsurgeon.editor.backend") as stopped:
        for at in count(1):
            shutil.rmtree(place, ignore_errors=True)
            end = stopped.run("work", str(path), at=at)
            assert end.error == ""
            done, back = len(end.said), 0
            if any(Records.read(one).unsaved_count for one in journals(path)):
                again = gs.recover(path)
                assert again.journal.notes == []
                back = NAMES.index(again.snapshot.names[-1])
            assert back in (done, done + 1)  # a step is on the disk before the next thing is done
            if not end.hit:
                break
            assert end.signal == signal.SIGKILL
    assert back == done == 3
    assert at > 8


def test_want_of_memory_at_any_moment_leaves_a_journal_that_comes_back_to_this_step_or_the_one_before(path, place):
    first, second, third, _ = NAMES

    def stopped_at(at):
        """The last op after a second step that is stopped, and how many calls that made."""
        shutil.rmtree(place, ignore_errors=True)
        ed = gs.open(path, trust=True)
        ed.apply(ed.plan().rename(first, to=second))
        plan = ed.plan().rename(second, to=third)
        with suppress(MemoryError, gs.SurgeryError), signalled_at(at, "memory") as calls:
            ed.apply(plan)
        now, back = ed.snapshot.names[-1], gs.recover(path).snapshot.names[-1]
        assert (now, back) in ((second, second), (third, second), (third, third)), at
        return now, calls[0]

    stopped_at(0)  # the first time takes more
    whole, calls = stopped_at(0)
    assert whole == third
    found = [stopped_at(calls * share // 12)[0] for share in range(1, 12)]
    assert second in found


def work_on_a_full_disk(path, place):
    """What a child does: the three steps, on a disk that is full at the first write, then at the second, and so on."""
    for at in count(1):
        shutil.rmtree(place, ignore_errors=True)
        done = 0
        with stopping(at, "full") as stop:
            ed = gs.open(path, trust=True)
            for old, new in pairwise(NAMES):
                ed.apply(ed.plan().rename(old, to=new))
                done += not stop.hit
        assert ed.snapshot.names[-1] == NAMES[-1]  # the surgery goes on
        back = 0
        if any(Records.read(one).unsaved_count for one in journals(path)):
            again = gs.recover(path)
            assert again.journal.notes == []
            back = NAMES.index(again.snapshot.names[-1])
        if not stop.hit:
            assert (back, ed.journal.notes) == (3, [])
            say(str(at))
            break
        assert back in (done, done + 1), (at, back, done)
        assert [note.partition(": ")[2].partition(":")[0] for note in ed.journal.notes] == ["No space left on device"]


def test_a_journal_on_a_full_disk_says_so_and_brings_back_what_it_holds(path, place):
    with writers("tests.test_recover", "graphsurgeon.tf.copy.imports", "graphsurgeon.editor.backend") as stopped:
        end = stopped.run("work_on_a_full_disk", str(path), str(place))
    assert end.error == ""
    assert int(end.said[0]) > 8


def there(made, graph):
    """What was built, as it is in another graph of the same ops."""
    pools = {dtype: [graph.get_tensor_by_name(t.name) for t in pool] for dtype, pool in made.pools.items()}
    return Built(graph, pools)


@examples(8)
@given(RECIPE, STEPS)
def test_random_plans_come_back(tmp_path_factory, recipe, steps):
    folder = tmp_path_factory.mktemp("random")
    with pytest.MonkeyPatch.context() as patch:
        kept_in(folder, patch)
        made = built(recipe)
        (folder / "m.pb").write_bytes(made.graph.as_graph_def().SerializeToString())
        ed = gs.open(folder / "m.pb")
        plan = chosen(ed.plan(), there(made, ed.graph), steps)
        assume(plan.steps)
        ed.apply(plan)
        again = gs.recover(folder / "m.pb")
        for note in again.journal.notes:
            assert "cannot be kept" in note
        if not again.journal.notes:
            same(ed, again, texts=not any(isinstance(step, ReplaceStep) for step in plan.steps))


def test_a_python_function_is_named_and_what_is_after_it_is_not_done(path, place):
    def twice(x):
        return x + x

    ed = gs.open(path)
    ed.apply(ed.plan().rename("y", to="z"))
    ed.apply(ed.plan().insert(twice, on="x:0", name="twice"))
    ed.apply(ed.plan().rename("z", to="w"))
    ed.undo()
    again = gs.recover(path)
    assert again.snapshot.names == ["x", "net/a", "net/b", "z"]
    (note,) = again.journal.notes
    assert note.startswith("step 2 (insert twice")
    assert note.endswith(
        "could not be restored, nor the 2 steps after it: it has the Python function 'twice', which cannot be kept"
    )
    assert f"warning: {note}" in str(again)


def test_replacements_by_an_op_type_come_back(path, place):
    ed = gs.open(path)
    ed.apply(ed.plan().replace(ed.select(name="net/b"), "Softplus"))
    ed.apply(ed.plan().replace(ed.match(ed.select(op="Neg")), "Abs", to="new"))
    again = gs.recover(path)
    assert again.journal.notes == []
    same(ed, again, texts=False)  # it is asked for again, for what looks like it


def test_ops_of_another_file_come_back_and_of_a_live_graph_are_named(path, place, tmp_path):
    other = tmp_path / "other.pb"
    other.write_bytes(path.read_bytes())
    src = gs.open(other)
    src.apply(src.plan().rename("net/a", to="net/q"))
    ed = gs.open(path)
    ed.apply(ed.plan().copy(src.select(scope="net"), to="c", inputs={"x:0": "y:0"}))
    ed.apply(ed.plan().copy(src.select(name="y"), to="d", inputs={"net/b:0": "y:0"}))
    same(ed, gs.recover(path))
    with tf.Graph().as_default() as live:
        tf.constant(1.0, name="k")
    ed.apply(ed.plan().copy(gs.open(live, title="mine").select(), to="e"))
    again = gs.recover(path)
    assert again.snapshot.names == [*ed.snapshot.names[:-1]]
    assert "ops of mine, which does not come from a file" in again.journal.notes[0]
    other.write_bytes(other.read_bytes() + b"\x1a\x00")
    assert "has changed since" in gs.recover(path).journal.notes[0]


def variables(folder):
    """Writes a SavedModel with a variable."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        w = tf1.get_variable("w", initializer=[1.0, 2.0], use_resource=True)
        y = tf.multiply(x, w, name="y")
    with tf1.Session(graph=graph) as session:
        session.run(w.initializer)
        gs.open(graph).save(folder, inputs={"x": x}, outputs={"y": y}, values=session)


def test_values_come_back_from_arrays_and_from_the_file(place, tmp_path):
    variables(tmp_path / "model")
    ed = gs.open(tmp_path / "model")
    block, inputs = ed.select(outputs="y:0"), {"x:0": "x:0"}
    ed.apply(ed.plan().copy(block, to="a", inputs=inputs, values={"w": np.float32([5.0, 6.0])}))
    ed.apply(ed.plan().copy(block, to="b", inputs=inputs, values=ed))
    ed.apply(ed.plan().copy(block, to="c", inputs=inputs, variables="initial"))
    ed.apply(ed.plan().copy(block, to="d", inputs=inputs, values=ed.session()))
    again = gs.recover(tmp_path / "model")
    feed = {"x:0": [[1.0, 1.0]]}
    names = ["y:0", "a/y:0", "b/y:0", "c/y:0", "d/y:0"]
    np.testing.assert_array_equal(again.session().run(names, feed), ed.session().run(names, feed))
    assert again.journal.notes == [f"step {n}: {FROM_FILE}" for n in (2, 4)]


def test_a_session_of_nobody_is_named(place, tmp_path):
    variables(tmp_path / "model")
    ed = gs.open(tmp_path / "model")
    session = tf1.Session(graph=ed.graph)
    session.run("w/Assign")
    ed.apply(ed.plan().copy(ed.select(outputs="y:0"), to="a", inputs={"x:0": "x:0"}, values=session))
    again = gs.recover(tmp_path / "model")
    assert again.journal.notes == ["step 1: the values of a session are not kept: variables start from initial values"]
    assert "a/y" in again.snapshot.index


def test_a_signature_and_what_is_inlined_come_back(place, tmp_path):
    module = tf.Module()
    module.f = tf.function(lambda x: {"out": tf.nn.relu(x) + 1.0}, input_signature=[tf.TensorSpec([2], name="x")])
    module.g = tf.function(lambda x: {"out": tf.exp(x)}, input_signature=[tf.TensorSpec([2], name="x")])
    tf.saved_model.save(module, str(tmp_path / "m"), {"serving_default": module.f, "other": module.g})
    ed = gs.open(tmp_path / "m")
    ed.show_signature("other")
    ed.apply(ed.plan().rename("x", to="in"))
    again = gs.recover(tmp_path / "m")
    same(ed, again)
    assert again.opened_graph.serving.opened_signature == ed.opened_graph.serving.opened_signature == "other"
    made = gs.open(tmp_path / "m", raw=True).inlined()
    made.apply(made.plan().insert("Neg", on=made.snapshot.names[0] + ":0", name="minus"))
    same(made, gs.recover(tmp_path / "m"))


def test_a_file_that_has_changed_is_not_touched_blindly(path, place):
    ed = gs.open(path)
    ed.apply(ed.plan().rename("y", to="z"))
    data = tf1.GraphDef.FromString(path.read_bytes())
    data.node.add(name="new", op="NoOp")
    path.write_bytes(data.SerializeToString())
    how = "Put back the file as it was; or try the steps on it as it is: allow_changed=True"
    with refuses(OpenError, "recover(", f"'{path}' has changed since", how):
        gs.recover(path)
    again = gs.recover(path, allow_changed=True)
    assert "the graph had 4 ops then, and has 5 now" in again.journal.notes[0]
    path.unlink()
    with refuses(OpenError, "there is no such file"):
        gs.recover(path)


def test_ops_that_a_program_has_added_are_named(path, place):
    ed = gs.open(path)
    with ed.graph.as_default():
        tf.constant(1.0, name="byhand")
    ed.apply(ed.plan().rename("y", to="z"))
    again = gs.recover(path)
    assert again.journal.notes == [
        "step 1 (rename y to z) could not be restored: the graph had 5 ops then, and has 4 now: ops that a "
        "program has added are not in the journal"
    ]


def test_nothing_to_recover_is_said(path, place, monkeypatch):
    with refuses(OpenError, "recover(", f"no journal of it is kept, in '{place}'", "Open the file itself: gs.open"):
        gs.recover(path)
    monkeypatch.setenv(journal.SETTING, "off")
    with refuses(OpenError, "no journal of it is kept, for GRAPHSURGEON_JOURNALS is off"):
        gs.recover(path)


def spoilt(ed, change):
    """Changes the records of an editor's journal, checksums and all."""
    found, file = Records.read(ed.journal.path).records, ed.journal.path
    change(found)
    file.write_bytes(b"".join(map(line, found)))


def test_damage_in_the_middle_keeps_what_is_before_it(path, place):
    ed = gs.open(path)
    for old, new in (("y", "z"), ("z", "w"), ("w", "v")):
        ed.apply(ed.plan().rename(old, to=new))
    lines = ed.journal.path.read_bytes().split(b"\n")
    lines[2] = lines[2].replace(b'"z"', b'"q"')
    ed.journal.path.write_bytes(b"\n".join(lines))
    again = gs.recover(path)
    assert "z" in again.snapshot.index
    assert again.journal.notes == ["the journal is incomplete: record 3 of 4 is damaged; 1 record after it is left out"]
    lines[0] = b"x"
    journals(path)[0].unlink()
    ed.journal.path.write_bytes(b"\n".join(lines))
    with refuses(OpenError, "its journal is damaged from the start: record 1 of 4 is damaged", "gs.open(path)"):
        gs.recover(path)


HOSTILE = {
    "a Python expression": lambda r: r[1]["steps"].__setitem__(0, {"eval": "print(1)"}),
    "a pickle": lambda r: r[1]["steps"].__setitem__(0, {"pickle": "gASV"}),
    "another class": lambda r: r[1]["steps"].__setitem__(0, {"step": ["Journal", {}]}),
    "a value in place of a step": lambda r: r[1]["steps"].__setitem__(0, {"bytes": ""}),
    "steps that are none": lambda r: r[1].update(steps=7),
    "no steps": lambda r: r[1].pop("steps"),
    "a field too many": lambda r: r[1]["steps"][0]["step"][1].update(more=1),
    "a field of another kind": lambda r: r[1]["steps"][0]["step"][1].update(names=7),
    "a graph that is nowhere": lambda r: r[1].update(steps=[{"step": ["CopyStep", {}]}]),
    "an unknown record": lambda r: r[1].update(kind="run"),
    "a turn too many": lambda r: r.insert(1, {"kind": "undo", "number": 1, "turn": 1}),
    "a draft of nothing": lambda r: r.append({"kind": "draft", "keep": 0, "steps": [{"a": 1}], "lost": []}),
    "marks of nothing": lambda r: r.append({"kind": "look", "marks": [1], "views": []}),
}  # fmt: skip


@pytest.mark.parametrize("how", HOSTILE)
def test_a_journal_is_data_and_is_read_strictly(how, path, place):
    ed = gs.open(path)
    ed.apply(ed.plan().rename("y", to="z"))
    spoilt(ed, HOSTILE[how])
    again = gs.recover(path)
    assert "could not be restored" in again.journal.notes[0]


OPENINGS = {
    "an argument that grants trust": lambda of: of["options"].update(trust=True),
    "an argument of nothing": lambda of: of["options"].update(journal=1),
    "no path": lambda of: of.update(path=7),
    "a call": lambda of: of.update({"from": dict(of), "call": ".inlined(__import__('os').system('true'))"}),
    "another call": lambda of: of.update({"from": dict(of), "call": ".save('x')"}),
    "nothing": lambda of: of.clear(),
}


@pytest.mark.parametrize("how", OPENINGS)
def test_what_is_opened_is_data_too(how, path, place):
    ed = gs.open(path)
    ed.apply(ed.plan().rename("y", to="z"))
    spoilt(ed, lambda found: OPENINGS[how](found[0]["of"]))
    with refuses(OpenError, "does not contain what was opened", "Open the file itself"):
        gs.recover(path)


def test_recovery_trusts_nothing(place, tmp_path):
    model = hostile(tmp_path / "model", "WriteFile", tmp_path / "target")
    (tmp_path / "target").unlink(missing_ok=True)
    ed = gs.open(model).trust()
    ed.apply(ed.plan().rename("y", to="z"))
    text = json.dumps(Records.read(ed.journal.path).records)
    assert '"trust"' not in text
    del ed
    gc.collect()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(security, "_trusted", set())  # as in another process
        again = gs.recover(model)
        assert "z" in again.snapshot.index
        with refuses(TrustError, "that you have not trusted yet"):
            again.session()
    assert not (tmp_path / "target").exists()
