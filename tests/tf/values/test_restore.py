"""Restoring: checkpoints under new names, old names, in part; those that do not fit leave all values as they were."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import OpenError, PlanError
from tests.graphs import KINDS, look, model
from tests.refusal import refuses

tf1 = tf.compat.v1


def saved(m, prefix, variables=None):
    """Writes a checkpoint with TensorFlow's own Saver."""
    with m.graph.as_default():
        return tf1.train.Saver(variables, max_to_keep=None).save(m.session, str(prefix))


def values(session):
    """Returns all values of a session, by variable."""
    ed = gs.open(session)
    infos = ed.snapshot.state.variables
    return {op: session.run(info.snapshot or op + ":0") for op, info in infos.items()}


def same(a, b):
    """Whether two sets of values are equal to the last bit."""
    return set(a) == set(b) and all(np.array_equal(a[name], b[name]) for name in a)


@pytest.fixture(params=KINDS)
def pair(request, tmp_path):
    """A trained model with its checkpoint, and an editor of another graph that holds a copy of it under a scope."""
    m = model(request.param)
    m.train_steps()
    saved(m, tmp_path / "old")
    dst = gs.open(tf.Graph())
    done = dst.apply(dst.plan().copy(gs.open(m.graph).select(), to="deep/enc"))
    return m, dst, done, tmp_path


def test_an_old_checkpoint_restores_into_the_new_names(pair):
    m, dst, done, folder = pair
    before, want = look(dst.graph), values(m.session)
    report = dst.restore(folder / "old", scope="deep/enc")
    assert look(dst.graph)["nodes"] == before["nodes"]
    assert report.restored == {f"deep/enc/{name}": name for name in want}
    assert report
    assert not report.unused
    got = values(dst.session())
    assert same({name.removeprefix("deep/enc/"): v for name, v in got.items()}, want)
    assert repr(report).startswith(f"9 of 9 variables restored from '{folder / 'old'}'")
    assert done[m.w].op.name == "deep/enc/net/w"


def test_what_apply_returned_says_the_names_too(pair):
    m, dst, done, folder = pair
    assert dst.restore(folder / "old", names=done)
    np.testing.assert_array_equal(dst.session().run(done[m.w]), m.session.run(m.w))


def test_a_new_checkpoint_under_the_old_names(pair):
    m, dst, done, folder = pair
    dst.session().run(done[m.w].initializer, {done[m.w].initializer.inputs[1]: np.full([2, 3], 7)})
    assert len(dst.save(folder / "new.ckpt", scope="deep/enc").variables) == 9
    dst.save(folder / "again.ckpt", names=done)
    for name in ("new.ckpt", "again.ckpt"):
        with m.graph.as_default():
            tf1.train.Saver().restore(m.session, str(folder / name))
        np.testing.assert_array_equal(m.session.run(m.w), np.full([2, 3], 7))


def partitioned():
    """A session with a plain and a partitioned variable; the sum y is of all their values."""
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("net/w", initializer=np.float32([1, 2, 3, 4]))
        first = tf1.random_uniform_initializer(seed=1)
        p = tf1.get_variable("net/p", [4], initializer=first, partitioner=tf1.fixed_size_partitioner(2))
        graph.add_to_collection("wholes", p)
        tf.reduce_sum(w * tf.concat(list(p), 0), name="y")
        session = tf1.Session(graph=graph)
        session.run(tf1.global_variables_initializer())
    return session


PLANS = {
    "copied": lambda plan, block: plan.copy(block, to="c"),
    "renamed": lambda plan, block: plan.rename({"net": "model", "net/w": "model/kernel"}),
    "renamed in part": lambda plan, block: plan.rename({"net/p": "net/q"}),
    "copied and renamed": lambda plan, block: plan.copy(block, to="c").rename("c/net", to="other"),
    "not renamed": lambda plan, block: plan.set_attr("y", "_mark", 1),
}


@pytest.mark.parametrize("edit", PLANS)
def test_what_apply_returned_names_the_variables_of_every_plan(tmp_path, edit):
    """It serves `restore` and `save`, and `rename_checkpoint` makes a checkpoint of the new names."""
    old = partitioned()
    with old.graph.as_default():
        tf1.train.Saver().save(old, str(tmp_path / "old"))
    source = gs.open(old.graph)
    ed = gs.open(tf.Graph()) if edit.startswith("copied") else gs.open(old.graph)
    done = ed.apply(PLANS[edit](ed.plan(), source.select()))
    assert ed.restore(tmp_path / "old", names=done)
    np.testing.assert_array_equal(ed.session().run(done["y:0"]), old.run("y:0"))
    left = next(iter(done.variable_names.values()))
    assert ed.restore(tmp_path / "old", names=done, exclude=left).excluded == (left,)
    ed.save(tmp_path / "again.ckpt", names=done)
    ed.save(tmp_path / "mine.ckpt")
    gs.recipes.rename_checkpoint(tmp_path / "old", tmp_path / "new", done)
    shapes = [
        tf.train.load_checkpoint(str(tmp_path / name)).get_variable_to_shape_map() for name in ("old", "again.ckpt")
    ]
    assert shapes[0] == shapes[1]
    for name in ("mine.ckpt", "new"):
        fresh = gs.open(ed.graph)
        assert fresh.restore(tmp_path / name)
        np.testing.assert_array_equal(fresh.session().run(done["y:0"]), old.run("y:0"))


def test_a_partitioned_variable_is_named_as_a_whole(tmp_path):
    old = partitioned()
    with old.graph.as_default():
        tf1.train.Saver().save(old, str(tmp_path / "old"))
    ed = gs.open(old.graph)
    done = ed.apply(ed.plan().rename("net", to="model"))
    (whole,) = ed.graph.get_collection("wholes")
    assert whole.name == "model/p"
    for names in ({"net/p": "model/p", "net/w": "model/w"}, {"net/*": "model/*"}):
        assert ed.restore(tmp_path / "old", names=names).restored["model/p/part_1"] == "net/p"
        np.testing.assert_array_equal(ed.session().run(done["y:0"]), old.run("y:0"))


def test_a_partial_restore_says_what_was_not_found(tmp_path):
    m = model("resource")
    m.train_steps()
    saved(m, tmp_path / "slim", [m.w])
    other = gs.open(model("ref").session)
    before = values(other.session())
    with refuses(PlanError, "no value for 8 of 9 variables", "net/b", "partial=True"):
        other.restore(tmp_path / "slim")
    assert same(values(other.session()), before)
    report = other.restore(tmp_path / "slim", partial=True)
    assert report.restored == {"net/w": "net/w"}
    assert len(report.missing) == 8
    assert not report
    np.testing.assert_array_equal(values(other.session())["net/w"], m.session.run(m.w))


def test_patterns_and_what_is_left_alone(tmp_path):
    m = model("resource")
    m.train_steps()
    saved(m, tmp_path / "c")
    with tf.Graph().as_default() as graph:
        tf1.get_variable("enc/w", [2, 3])
        tf1.get_variable("enc/b", [5])
    ed = gs.open(graph)
    report = ed.restore(tmp_path / "c", names={"net/*": "enc/*"}, exclude="enc/b")
    assert (report.restored, report.excluded) == ({"enc/w": "net/w"}, ("enc/b",))
    assert "global_step" in report.unused
    assert "left as they were: enc/b" in repr(report)


@pytest.mark.parametrize("version", [1, 2])
def test_parts_of_a_partitioned_variable(tmp_path, version):
    def graph_of(scope):
        with tf.Graph().as_default() as graph, tf1.variable_scope(scope):
            first = tf1.random_normal_initializer(seed=4)
            tf1.get_variable("emb", [7, 3], partitioner=tf1.fixed_size_partitioner(3), initializer=first)
        return graph

    plain = graph_of("net")
    with plain.as_default(), tf1.Session() as session:
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver(write_version=version).save(session, str(tmp_path / "p"))
        want = session.run(plain.get_collection("variables"))
    ed = gs.open(graph_of("net"))
    assert ed.restore(tmp_path / "p")
    for a, b in zip(want, ed.session().run(ed.graph.get_collection("variables")), strict=True):
        np.testing.assert_array_equal(a, b)
    ed.save(tmp_path / "again.ckpt")
    assert tf.train.load_checkpoint(str(tmp_path / "again.ckpt")).get_variable_to_shape_map() == {"net/emb": [7, 3]}
    with plain.as_default(), tf1.Session() as session:
        tf1.train.Saver().restore(session, str(tmp_path / "again.ckpt"))
        for a, b in zip(want, session.run(plain.get_collection("variables")), strict=True):
            np.testing.assert_array_equal(a, b)
    ed.save(tmp_path / "m.meta")
    with tf.Graph().as_default() as graph, tf1.Session() as session:
        tf1.train.import_meta_graph(str(tmp_path / "m.meta")).restore(session, str(tmp_path / "m"))
        np.testing.assert_array_equal(session.run(graph.get_collection("variables"))[2], want[2])


def test_an_object_based_checkpoint_of_tf2(tmp_path):
    class Net(tf.Module):
        def __init__(self):
            self.w = tf.Variable([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], name="net/w")
            self.bias = tf.Variable([7.0, 8.0, 9.0], name="something")

    prefix = tf.train.Checkpoint(model=Net()).save(str(tmp_path / "tf2"))
    m = model("ref", optimizer=None)
    ed = gs.open(m.session)
    report = ed.restore(prefix, names={"model/bias": "net/b"})
    assert set(report.restored) == {"net/w", "net/b"}
    assert m.session.run(m.b).tolist() == [7, 8, 9]
    assert m.session.run(m.w).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert any("save_counter" in name for name in report.unused)
    assert not any("OBJECT" in name for name in report.unused)


def test_the_folder_and_the_files_of_a_checkpoint_mean_it(tmp_path):
    m = model("ref", optimizer=None)
    saved(m, tmp_path / "c-1")
    m.session.run(m.b.initializer, {m.b.initializer.inputs[1]: [1, 2, 3]})
    saved(m, tmp_path / "c-2")
    shutil.move(str(tmp_path), str(tmp_path) + "_moved")
    folder = tmp_path.parent / (tmp_path.name + "_moved")
    for place in (folder, folder / "c-2.index", folder / "c-2.meta", folder / "c-2.data-00000-of-00001"):
        other = gs.open(model("ref", optimizer=None).session)
        other.restore(place)
        assert values(other.session())["net/b"].tolist() == [1, 2, 3]


def broken(prefix, how):
    """Damages a checkpoint."""
    data = prefix.parent / (prefix.name + ".data-00000-of-00001")
    index = prefix.parent / (prefix.name + ".index")
    if how == "shard":
        data.rename(prefix.parent / (prefix.name + ".data-00000-of-00002"))
    elif how == "data":
        data.unlink()
    elif how == "index":
        index.unlink()
    elif how == "cut":
        data.write_bytes(data.read_bytes()[:-8])
    elif how == "cut index":
        index.write_bytes(index.read_bytes()[:20])
    else:
        raw = bytearray(data.read_bytes())
        raw[-3] ^= 0xFF
        data.write_bytes(bytes(raw))


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("shard", ["data file 'c.data-00001-of-00002' is missing"]),
        ("data", ["the checkpoint's data file is missing"]),
        ("index", ["no c.index: it is half written"]),
        ("cut", ["is damaged or half written"]),
        ("cut index", ["is damaged or half written"]),
        ("bit", ["is damaged or half written"]),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_checkpoint_changes_no_value(tmp_path, how, words, kind):
    m = model(kind)
    m.train_steps()
    saved(m, tmp_path / "c")
    broken(tmp_path / "c", how)
    files = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    other = gs.open(model(kind).session)
    before = values(other.session())
    with refuses(OpenError, *words):
        other.restore(tmp_path / "c")
    assert same(values(other.session()), before)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == files


def test_another_model_and_other_shapes(tmp_path):
    m = model("resource")
    saved(m, tmp_path / "c")
    with tf.Graph().as_default() as graph:
        tf1.get_variable("conv/kernel", [3])
    with refuses(PlanError, "the checkpoint of another model", "nothing called 'conv/kernel'", "names="):
        gs.open(graph).restore(tmp_path / "c")
    with tf.Graph().as_default() as graph:
        for name, shape in (("b", [3]), ("w", [2, 4])):
            tf1.get_variable("net/" + name, shape, initializer=tf1.ones_initializer())
    ed = gs.open(graph)
    with refuses(
        PlanError, "'net/w' in the checkpoint is float32 (2, 3), but variable 'net/w' is float32 (2, 4)", "exclude="
    ):
        ed.restore(tmp_path / "c")
    assert values(ed.session())["net/b"].tolist() == [1, 1, 1]
    with tf.Graph().as_default() as graph:
        tf1.get_variable("net/w", [2, 3], tf.float64)
    with refuses(PlanError, "is float32 (2, 3), but variable 'net/w' is float64 (2, 3)"):
        gs.open(graph).restore(tmp_path / "c")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scope": "nett"}, ["no variable is under 'nett'", "'net'"]),
        ({"names": {"a": "net/x"}}, ["names={'a': 'net/x'} names no variable of the graph", "Did you mean"]),
        ({"names": {"old/*": "net/w"}}, ["'net/w' and 'old/*' do not both have exactly one *", "{'old/*': 'new/*'}"]),
        ({"session": tf1.Session(graph=tf.Graph())}, ["that is not a session of graph"]),
        ({"exclude": "*"}, ["exclude= leaves no variable to restore", "Exclude fewer variables"]),
        ({"names": ["net/w"]}, ["names=['net/w'] is not a mapping", "what apply returned"]),
    ],
)
def test_requests_that_name_nothing(tmp_path, options, words):
    m = model("resource")
    saved(m, tmp_path / "c")
    with refuses(PlanError, *words):
        gs.open(m.session).restore(tmp_path / "c", **options)


def test_no_checkpoint_there(tmp_path):
    m = model("resource")
    saved(m, tmp_path / "model-7")
    ed = gs.open(m.session)
    with refuses(OpenError, "there is no checkpoint", "Give", "model-7"):
        ed.restore(tmp_path / "model-8")
    (tmp_path / "checkpoint").unlink()
    with refuses(OpenError, "names no latest checkpoint", "model-7"):
        ed.restore(tmp_path)
    (tmp_path / "empty").mkdir()
    with refuses(OpenError, "names no latest checkpoint", "without its suffix"):
        ed.restore(tmp_path / "empty")


def test_a_variable_that_nothing_sets(tmp_path):
    m = model("resource", optimizer=None)
    saved(m, tmp_path / "c")
    keep = [n for n in m.graph.as_graph_def().node if n.name.startswith("net/") and "Assign" not in n.name]
    graph_def = tf1.GraphDef(node=[n for n in keep if n.op == "VarHandleOp"], versions=m.graph.graph_def_versions)
    ed = gs.open(graph_def)
    with refuses(PlanError, "no op of the graph sets 'net/w', 'net/b'"):
        ed.restore(tmp_path / "c")


def test_an_interrupt_leaves_each_variable_whole_and_the_next_call_restores_all(tmp_path, monkeypatch):
    m = model("ref")
    m.train_steps()
    saved(m, tmp_path / "c")
    ed = gs.open(model("ref").session)
    before, want, calls = values(ed.session()), values(m.session), []
    monkeypatch.setattr("graphsurgeon.tf.values.transfer._SMALL", 1)
    from graphsurgeon.tf.run import progress

    step = progress.Progress.step

    def stopping(bar, amount):
        step(bar, amount)
        if bar.what == "restoring":
            calls.append(amount)
            if len(calls) == 2:
                raise KeyboardInterrupt

    monkeypatch.setattr(progress.Progress, "step", stopping)
    with pytest.raises(KeyboardInterrupt) as stop:
        ed.restore(tmp_path / "c")
    assert "Each variable has its complete old value or new value" in stop.value.__notes__[0]
    for name, value in values(ed.session()).items():
        assert np.array_equal(value, before[name]) or np.array_equal(value, want[name])
    monkeypatch.setattr(progress.Progress, "step", step)
    ed.restore(tmp_path / "c")
    assert same(values(ed.session()), want)


@pytest.mark.parametrize("place", [None, 3, ["a"]])
def test_a_checkpoint_that_is_no_path(place):
    with refuses(PlanError, f"restore({place!r})", "is not a path", "pathlib.Path"):
        gs.open(model("ref").session).restore(place)


def test_a_graph_without_variables(tmp_path):
    m = model("ref")
    saved(m, tmp_path / "c")
    with refuses(PlanError, "the graph has no variable to restore", "into the graph that has"):
        gs.open(tf.Graph()).restore(tmp_path / "c")


def variables(names):
    """A graph of variables with these shapes, and its session."""
    with tf.Graph().as_default() as graph:
        made = [tf1.get_variable(name, initializer=np.ones(shape, np.float32)) for name, shape in names.items()]
    session = tf1.Session(graph=graph)
    session.run([v.initializer for v in made])
    return graph, session


@pytest.mark.parametrize(
    ("saved_as", "graph_has", "options", "advice"),
    [
        ({"net/w": [2], "net/b": []}, {"body/w": [2], "body/b": []}, {}, {"names": {"net/*": "body/*"}}),
        ({"w": [2], "b": []}, {"net/w": [2], "net/b": []}, {}, {"scope": "net"}),
        ({"w": [2]}, {"net/w": [2], "other": []}, {}, {"scope": "net"}),
        ({"net/w": [2], "net/b": []}, {"w": [2], "b": []}, {}, {"names": {"net/*": "*"}}),
        ({"net/w": [2]}, {"body/w": [2]}, {"scope": "net"}, {"names": {"net/*": "body/*"}}),
        ({"net/w": [2]}, {"net/w": [2]}, {"scope": "model"}, {}),
        ({"net/w": [2]}, {"body/w": [2], "head": []}, {}, {"names": {"net/*": "body/*"}, "partial": True}),
        ({"a/x/w": [2], "b/w": [3]}, {"c/x/w": [2], "d/w": [3]}, {}, {"names": {"a/*": "c/*", "b/*": "d/*"}}),
        ({"a/w": [2], "b": []}, {"c/w": [2], "b": []}, {}, {"names": {"a/*": "c/*"}}),
    ],
    ids=["other scope", "into a scope", "a scope among others", "out of a scope", "scope of the checkpoint",
         "scope too much", "one without a value", "two scopes", "some are found"],
)  # fmt: skip
def test_what_a_refused_restore_advises_works(tmp_path, saved_as, graph_has, options, advice):
    graph, session = variables(saved_as)
    with graph.as_default():
        tf1.train.Saver().save(session, str(tmp_path / "c"))
    ed = gs.open(variables(graph_has)[1])
    reported = ", ".join(f"{key}={value!r}" for key, value in advice.items())
    with refuses(PlanError, f"Type {reported or 'no scope='}") as caught:
        ed.restore(tmp_path / "c", **options)
    assert str(caught.value).endswith(f"Type {reported or 'no scope='}.")
    assert len(ed.restore(tmp_path / "c", **advice).restored) == len(saved_as)


def test_names_that_differ_to_the_end_and_shapes_that_do_not_fit_are_not_advised(tmp_path):
    graph, session = variables({"net/w": [2]})
    with graph.as_default():
        tf1.train.Saver().save(session, str(tmp_path / "c"))
    for names in ({"body/kernel": [2]}, {"body/w": [3]}):
        with refuses(PlanError, "names={'name in the checkpoint': 'variable'}"):
            gs.open(variables(names)[1]).restore(tmp_path / "c")
