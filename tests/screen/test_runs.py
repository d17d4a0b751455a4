"""The graph is run on screen: what is fed, what the picture shows then, where the first NaN is, and how it ends."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import LayoutError, PlanError, SelectionError, TrustError
from graphsurgeon.graph.graph import TensorInfo
from graphsurgeon.ui.commands.runs import feed_of
from tests.hostile import hostile
from tests.refusal import refuses
from tests.screen.screens import row_of_ops, traits

tf1 = tf.compat.v1

NO_RANDOM = "random (1, 3), a name, a file or numbers"


@pytest.fixture
def notebook(monkeypatch):
    """Names of the notebook, as a dict to fill."""
    main = sys.modules["__main__"]

    def assign(**names):
        for name, value in names.items():
            monkeypatch.setattr(main, name, value, raising=False)

    return assign


def faulty():
    """An editor of a graph in which the logarithm of zero is taken, inside of a function."""

    @tf.function
    def loss(x):
        return tf.reduce_sum(tf.math.log(tf.nn.relu(x), name="ln"))

    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        with tf1.name_scope("head"):
            tf.multiply(loss(x), 0.0, name="zero")
    return gs.open(graph)


def shapes(screen):
    scene = traits(screen)["scenes"]["source"]
    names = {box["id"]: box["name"] for box in scene["boxes"]}
    found = (screen.edge_tensors(names[edge["from"]], names[edge["to"]]) for edge in scene["edges"])
    return {one["text"] for answer in found for one in answer["tensors"]}


def test_the_form_says_what_is_needed_and_what_of_the_notebook_fits(notebook):
    with tf.Graph().as_default() as graph:
        a = tf1.placeholder(tf.float32, [None, 8], name="a")
        b, text = tf1.placeholder(tf.int32, name="b"), tf1.placeholder(tf.string, [2], name="text")
        tf.add(tf.nn.relu(a, name="y"), tf.cast(b, tf.float32), name="z")
        tf.strings.length(text, name="long")
    notebook(
        batch=np.zeros([3, 8]), other=np.zeros([3, 7]), held=tf.Variable(np.zeros([1, 8])), text=np.array(["a"] * 2)
    )
    screen = gs.open(graph).screen
    form = screen.run_form()
    reported = {feed["name"]: (feed["label"], feed["hint"]) for feed in form["feeds"]}
    assert reported == {
        "a:0": ("a:0  float32 (?, 8)", "random (1, 8)"),
        "b:0": ("b:0  int32 unknown shape", NO_RANDOM),
        "text:0": ("text:0  string (2,)", NO_RANDOM),
    }
    assert form["feeds"][0]["names"] == ["batch", "held"]
    seed = {"name": "seed", "label": "Random seed", "value": "0", "hint": "", "type": "number"}
    limits = [(field["label"], field["value"], field["hint"]) for field in form["fields"][1:]]
    assert form["fields"][0] == seed
    assert limits == [("Time limit, in seconds", "", "none"), ("Memory limit, in MB", "", "none")]
    screen.select(["y"])
    part = screen.run_form()["fields"][0]
    assert (part["name"], [value for value, _ in part["options"]]) == ("target", ["graph", "selection"])
    assert [feed["name"] for feed in screen.run_form("selection")["feeds"]] == ["a:0"]


def test_a_run_shows_shapes_colors_and_numbers():
    screen = row_of_ops()
    screen.select(["in/c"])
    before = screen.details("in/c")
    assert "run" not in before
    screen.run({"a:0": "[1.0, -2.0]"})
    shown = traits(screen)
    assert shown["status"]["text"].endswith("all values are finite")
    assert shown["run"]["bad"] is None
    assert shown["run"]["code"] == "trace = ed.trace({'a:0': [1.0, -2.0]}, random=0)"
    assert shown["scenes"]["source"]["legend"]["title"].startswith("ms")
    assert {op for op, _ in shown["run"]["tops"]["ms"]} >= {"in/b", "in/c", "d", "e"}
    (held,) = screen.details("in/c")["run"]
    assert held["tensor"] == "in/c:0"
    assert dict(held["rows"])["values"] == "1, -2"
    assert dict(held["rows"])["held"] == "float32 (2,)"
    assert held["picture"].startswith("data:image/png;base64,")
    assert sum(held["histogram"]["counts"]) == 2
    assert dict(screen.details("in/")["rows"])["ops that ran"] == "2 of 2"
    assert "took" in dict(screen.details("in/c")["rows"])


def test_edges_have_the_shapes_of_the_run():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        tf.nn.relu(tf.matmul(x, tf.ones([4, 2]), name="mm"), name="y")
    screen = gs.open(graph).screen
    assert "float32 (?, 2)" in shapes(screen)
    screen.run({"x:0": "[[1, 2, 3, 4]]"})
    assert shapes(screen) >= {"float32 (1, 4)", "float32 (1, 2)"}
    assert not [text for text in shapes(screen) if "?" in text]
    found = screen.edge_tensors("x", "mm")
    assert found["tensors"] == [{"tensor": "x:0", "text": "float32 (1, 4)"}]
    assert [one["tensor"] for one in found["values"]] == ["x:0"]
    screen.clear_run()
    assert screen.edge_tensors("x", "mm") == {"tensors": [{"tensor": "x:0", "text": "float32 (?, 4)"}], "values": []}
    assert "float32 (?, 2)" in shapes(screen)
    assert traits(screen)["run"] == {}
    assert traits(screen)["scenes"]["source"]["legend"]["by"] == "family"


def test_the_picture_goes_to_the_first_that_is_not_finite():
    ed = faulty()
    screen = ed.screen
    screen.run({"x:0": "[[1, 0, 2, 3]]"})
    shown = traits(screen)
    assert shown["run"]["bad"]["op"] == shown["selected"][0]
    assert shown["selected"][0].endswith("/ln")
    assert "1 infinite" in shown["run"]["bad"]["text"]
    assert "25 % zeros" in shown["run"]["bad"]["inputs"][0]
    assert shown["run"]["bad"]["path"][-1] == "x"
    assert shown["selected"][0] in {box["name"] for box in shown["scenes"]["source"]["boxes"]}
    assert shown["scenes"]["source"]["legend"]["title"].startswith("not finite")
    assert shown["status"]["level"] == "warn"
    assert dict(screen.details(shown["selected"][0])["run"][0]["rows"])["infinite"] == "1"
    screen.fold_all()
    assert "not finite" in dict(screen.details("head/")["rows"])


def test_what_is_selected_is_run_alone():
    screen = row_of_ops()
    screen.select(["in/c"])
    screen.run({"a:0": "[1, 2]"}, target="selection")
    trace = screen.state.run.trace
    assert "in/c:0" in trace
    assert "d:0" not in trace
    assert traits(screen)["run"]["code"] == "trace = ed.trace({'a:0': [1, 2]}, fetches=['in/c:0'], random=0)"
    assert dict(screen.details("e")["rows"])["in the run"] == "it did not run"
    screen.select([])
    with refuses(
        SelectionError, "run(target='selection')", "nothing is selected", "Select a box, or run the whole graph"
    ):
        screen.run(target="selection")


def test_a_run_goes_with_the_graph_that_ran_and_stays_while_one_looks_about():
    screen = row_of_ops()
    screen.run(seed=3)
    screen.fold("in/")
    screen.unfold("in/")
    screen.set_direction("LR")
    assert traits(screen)["run"]
    screen.bypass("in/c")
    assert traits(screen)["run"]  # so far it is a plan
    screen.apply()
    shown = traits(screen)
    assert shown["run"] == {}
    assert shown["scenes"]["source"]["legend"]["by"] == "family"
    with refuses(LayoutError, "paint('zeros')", "no run is shown", "Run the graph first"):
        screen.paint("zeros")


def test_colors_of_a_run_are_chosen():
    screen = row_of_ops()
    screen.run({"a:0": "[0, 1]"})
    for by in ("bytes", "magnitude", "zeros", "not finite", "ms"):
        screen.paint(by)
        assert traits(screen)["look"]["name"] == by
    screen.paint("zeros")
    reported = {box["name"]: box["paint"]["text"] for box in traits(screen)["scenes"]["source"]["boxes"]}
    assert reported["d"] == "50 zeros"
    screen.paint("dtype")
    assert traits(screen)["run"]  # it stays


def test_a_run_is_called_off_and_says_how_far_it_is():
    screen = row_of_ops()
    said = []

    def hear(text):
        said.append(text)
        screen.cancel()  # from the same thread it waits for nobody

    screen.on_progress(hear)
    screen.run({"a:0": "[1, 2]"})
    assert said[0] == "running: making a copy …"


def test_what_ran_before_a_failure_is_shown():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.int32, [2], name="x")
        tf.negative(tf.math.floordiv(tf.abs(x, name="before"), x, name="divided"), name="after")
    screen = gs.open(graph).screen
    screen.run({"x:0": "[1, 0]"})
    shown = traits(screen)
    assert "'divided'" in shown["run"]["stop_reason"]
    assert shown["status"]["text"].endswith("all values so far are finite")
    assert shown["status"]["level"] == "warn"
    assert screen.details("before")["run"]
    assert "it did not run: " in dict(screen.details("after")["rows"])["in the run"]


def test_feeds_are_numbers_names_and_files(notebook, tmp_path):
    notebook(batch=np.ones([2]), data={"a": 1}, holder=type("Holder", (), {"x": np.zeros([2])}))
    np.save(tmp_path / "one.npy", np.arange(3))
    np.savez(tmp_path / "sole.npz", whatever=np.arange(4))
    np.savez(tmp_path / "two.npz", **{"x:0": np.arange(5), "y": np.arange(6)})
    assert feed_of("x:0", " [1, 2] ") == [1, 2]
    assert feed_of("x:0", "batch").tolist() == [1, 1]
    assert feed_of("x:0", "holder.x").tolist() == [0, 0]
    assert feed_of("x:0", str(tmp_path / "one.npy")).tolist() == [0, 1, 2]
    assert len(feed_of("x:0", str(tmp_path / "sole.npz"))) == 4
    assert len(feed_of("x:0", str(tmp_path / "two.npz"))) == 5
    assert len(feed_of("y:0", str(tmp_path / "two.npz"))) == 6
    drawn = feed_of("x:0", "random (2, 3)")
    assert (drawn.shape, drawn.dtype) == ((2, 3), np.float32)
    whole = TensorInfo("int32", None)
    assert set(feed_of("x:0", "random (50,)", whole).tolist()) == {0, 1}
    others = [feed_of("y:0", "random (2, 3)"), feed_of("x:0", "random (2, 3)", seed=1)]
    assert all((drawn != other).all() for other in others)
    with refuses(PlanError, "there are no random values: the dtype is string", "the name of a variable"):
        feed_of("x:0", "random (2,)", TensorInfo("string", None))
    with refuses(PlanError, "999,998,000,001 values are too many", "the name of a variable"):
        feed_of("x:0", "random (999999, 999999)")
    assert feed_of("x:0", "random ()").shape == ()
    problem = "this is not a number, a list, an .npy or .npz file, or a variable of the notebook"
    with refuses(PlanError, "run(feeds={'x:0': 'batches'})", problem, "or assign the array in a cell: batches = ..."):
        feed_of("x:0", "batches")
    with refuses(
        PlanError,
        "run(feeds={'x:0': '__import__(\"os\")'})",
        problem,
        "Type a shape for random values, for example random (1, 3)",
    ):
        feed_of("x:0", '__import__("os")')
    with refuses(PlanError, "'holder' has no 'y'", "Type the name of an array"):
        feed_of("x:0", "holder.y")
    with refuses(PlanError, "the file cannot be read: No such file", "np.save(path, array)"):
        feed_of("x:0", str(tmp_path / "none.npy"))
    (tmp_path / "text.npy").write_text("1 2 3")
    with refuses(PlanError, "the file is not a NumPy file (.npz)", "np.save(path, array)"):
        feed_of("x:0", str(tmp_path / "text.npy"))
    with refuses(
        PlanError, "the file has no array of this name; it has 'x:0', 'y'", "np.savez(path, **{'z:0': array})"
    ):
        feed_of("z:0", str(tmp_path / "two.npz"))


def test_a_placeholder_of_unknown_rank_gets_random_numbers_of_a_typed_shape():
    with tf.Graph().as_default() as graph:
        tf.argmax(tf1.placeholder(tf.float32, name="x"), -1, name="y")
    screen = gs.open(graph).screen
    assert screen.run_form()["feeds"][0]["hint"] == NO_RANDOM
    screen.run({"x:0": "random (2, 5)"})
    shown = traits(screen)["run"]
    again = {"gs": gs, "np": np, "ed": gs.open(graph)}
    exec(shown["code"], again)
    values = [value for _, value, _ in shown["outputs"][0]["values"]]
    assert [str(value) for value in again["trace"].results["y:0"].tolist()] == values


def test_the_other_graph_runs_too():
    with tf.Graph().as_default() as first:
        tf.add(tf1.placeholder(tf.float32, [2], name="x"), 1.0, name="y")
    with tf.Graph().as_default() as second:
        tf.multiply(tf1.placeholder(tf.float32, [3], name="z"), 2.0, name="doubled")
    ed = gs.open(second)
    ed.view(gs.open(first))
    screen = ed.screen
    assert [[one["name"] for one in screen.run_form(of)["feeds"]] for of in ("graph", "destination")] == [
        ["x:0"], ["z:0"],
    ]  # fmt: skip
    screen.run({"z:0": "[1, 2, 3]"}, target="destination")
    shown = traits(screen)["run"]
    assert shown["pane"] == "destination"
    assert [value for _, value, _ in shown["outputs"][0]["values"]] == ["2", "4", "6"]
    assert "ed.trace(" in shown["code"]
    screen.set_attr(["doubled"], "T", "float32")
    assert screen.fetch("doubled:0")["tensor"] == "doubled:0", "a plan that did not run is not fetched"
    screen.run({"x:0": "[1, 2]"})
    assert "src.trace(" in traits(screen)["run"]["code"]


def test_a_feed_that_does_not_fit_says_so_and_nothing_changes():
    screen = row_of_ops()
    state = screen.state
    with refuses(PlanError, "trace('a:0')", "the array has the shape (3,), but the tensor is (2) of float32"):
        screen.run({"a:0": "[1, 2, 3]"})
    with refuses(PlanError, "trace('a:0')", "the value is text, but the tensor is (2) of float32"):
        screen.run({"a:0": "'one'"})
    assert screen.state.run is None
    assert screen.state.paint == state.paint
    with refuses(SelectionError, "run(feeds=['a:0'])", "is not an object with string values", "Call it as run("):
        screen.run(["a:0"])


def test_what_is_selected_inside_of_a_call_is_run_and_it_alone_is_noted():
    screen = faulty().screen
    (name,) = [name for name in screen.whole.names if name.endswith("/ln")]
    screen.reveal(name)
    assert [feed["name"] for feed in screen.run_form("selection")["feeds"]] == ["x:0"]
    screen.run({"x:0": "[[1, 1, 2, 3]]"}, target="selection")
    assert list(screen.state.run.trace) == [f"{name}:0"]
    assert f"ops=[{name!r}]" in traits(screen)["run"]["code"]


def test_a_run_within_a_limit_of_memory_gives_the_same():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 100_000], name="x")
        tf.negative(tf.exp(tf.abs(x, name="a"), name="b"), name="c")
    screen = gs.open(graph).screen
    screen.run()
    whole = screen.state.run.trace
    screen.run(memory=1)
    parts = screen.state.run.trace
    assert sorted(whole) == sorted(parts)
    assert all(repr(whole[name]) == repr(parts[name]) for name in whole)
    assert traits(screen)["run"]["code"] == "trace = ed.trace(random=0, memory=1000000)"


def test_the_picture_of_a_large_tensor_is_fetched_when_asked_for():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 20, 20, 8], name="x")
        tf.reduce_sum(tf.nn.relu(x, name="y"), name="z")
    screen = gs.open(graph).screen
    with refuses(SelectionError, "fetch('y:0')", "no run is shown", "Run the graph first"):
        screen.fetch("y:0")
    screen.run(seed=3)
    (before,) = screen.details("y")["run"]
    assert (before["picture"], before["more"]) == ("", True)
    after = screen.fetch("y:0")
    assert after["picture"].startswith("data:image/png;base64,")
    assert not after["more"]
    assert after["rows"] == before["rows"]
    assert not screen.details("x")["run"][0]["more"]  # what was fed is known whole
    with refuses(SelectionError, "fetch('gone:0')", "the run has no values of this tensor"):
        screen.fetch("gone:0")


def stranger(tmp_path, name="model"):
    """An editor of a file that writes a file when it is run."""
    return gs.open(hostile(tmp_path / name, "WriteFile", tmp_path / f"target of {name}"))


def test_the_form_names_what_a_stranger_would_do_and_a_run_needs_trust(tmp_path):
    ed = stranger(tmp_path)
    screen = ed.screen
    assert screen.run_form()["risk"] == (
        "model came from a file. It holds 1 op that writes files, 'evil' (WriteFile). You have not trusted it yet."
    )
    with refuses(TrustError, "model came from a file"):
        screen.run()
    assert not ed.trusted
    assert not (tmp_path / "target of model").exists()
    screen.trust()
    assert ed.trusted
    assert traits(screen)["status"]["text"] == "model may run"
    assert screen.run_form()["risk"] == ""
    screen.run()
    assert "run" in traits(screen)
    screen.trust()
    assert traits(screen)["status"]["text"] == "nothing needs your trust"


def test_a_plan_between_strangers_asks_for_both(tmp_path):
    into, source = stranger(tmp_path, "one"), stranger(tmp_path, "two")
    into.view(source)
    screen = into.screen
    assert "two came from a file" in screen.run_form()["risk"]
    risk = screen.run_form("plan")["risk"]
    assert "one came from a file" in risk
    assert "two came from a file" in risk
    screen.trust("applied")
    assert (into.trusted, source.trusted) == (True, False)
    screen.trust("plan")
    assert source.trusted


def test_what_one_has_made_oneself_asks_nothing():
    with tf.Graph().as_default() as graph:
        tf.raw_ops.WriteFile(filename="/tmp/never", contents="x", name="w")
        tf.negative(1.0, name="y")
    assert gs.open(graph).screen.run_form()["risk"] == ""


def test_a_typed_random_feed_of_the_same_shape_is_the_feed_of_an_empty_field():
    """Default and typed random feeds follow one rule, so that their numbers are equal for one seed."""
    with tf.Graph().as_default() as graph:
        tf.cast(tf1.placeholder(tf.bool, [8], name="on"), tf.float32) + tf1.placeholder(tf.float32, [None], name="x")
    screen = gs.open(graph).screen
    values = []
    for feeds in ({}, {"x:0": "random (1)", "on:0": "random (8)"}):
        screen.run(feeds, seed=3)
        values.append([one.tolist() for one in screen.state.run.trace.results.values()])
    assert values[0] == values[1]
