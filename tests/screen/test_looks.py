"""How a screen shows a graph: depth, filters, colors, functions; every gesture is a method and changes no op."""

from __future__ import annotations

import json
import threading
import time

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import LayoutError, SelectionError
from graphsurgeon.graph.graph import Graph
from graphsurgeon.tf.open.protos import file_snapshot
from graphsurgeon.ui import pane
from graphsurgeon.ui.screen import Screen
from graphsurgeon.view.graphviz import LayoutCancelled, cancelled_error
from graphsurgeon.view.layout import place
from tests.graphs import model
from tests.refusal import refuses
from tests.widget.subject import PlainFacts, PlainSubject

tf1 = tf.compat.v1


def trained():
    """Returns an editor of a small net with gradients and updates."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [8, 4], name="x")
        h = x
        for i in range(3):
            with tf1.variable_scope(f"layer{chr(97 + i)}", use_resource=True):
                w = tf1.get_variable("w", [4, 4], initializer=tf1.ones_initializer())
                h = tf.nn.relu(tf.matmul(h, w, name="mm"), name="relu")
        loss = tf.reduce_mean(h, name="loss")
        tf1.train.GradientDescentOptimizer(0.1).minimize(loss)
    return gs.open(graph)


def scene(screen):
    given = screen.traits()
    assert json.loads(json.dumps(given)) == json.loads(json.dumps(given, default=str))
    return given["scenes"]["source"]


def names(screen):
    return {b["name"] for b in scene(screen)["boxes"]}


def test_depth_opens_and_folds():
    screen = trained().screen
    screen.set_depth(0)
    assert {"layera/", "layerb/", "gradients/"} <= names(screen)
    screen.set_depth(1)
    assert {"layera/mm", "layerb/relu"} <= names(screen)
    screen.set_depth(0)
    assert "layera/mm" not in names(screen)


def test_more_boxes_than_read_well_are_refused_with_an_offer():
    scopes = [f"s{chr(97 + i // 26)}{chr(97 + i % 26)}q" for i in range(40)]
    graph = Graph.from_ops([(f"{scope}/o{k}z", f"T{k}", []) for scope in scopes for k in range(7)])
    screen = Screen(PlainSubject(graph), facts=PlainFacts())
    screen.set_depth(0)
    before = len(scene(screen)["boxes"])
    with refuses(LayoutError, "a picture of 280 boxes: the limit is 200 boxes", "set_budget(400)"):
        screen.set_depth(1)
    assert len(scene(screen)["boxes"]) == before
    screen.set_budget(400)
    screen.set_depth(1)
    assert len(scene(screen)["boxes"]) == 280
    for bad in (0, 401):
        with refuses(LayoutError, f"set_budget({bad})", "the limit is 400 boxes", "from 1 to 400"):
            screen.set_budget(bad)


def test_what_is_refused_is_not_laid_out(monkeypatch):
    graph = Graph.from_ops([(f"s{chr(97 + i)}/o{k}z", f"T{k}", []) for i in range(26) for k in range(9)])
    screen = Screen(PlainSubject(graph), facts=PlainFacts())
    screen.set_depth(0)
    laid_out = []
    monkeypatch.setattr(pane, "place", lambda *given, **named: laid_out.append(given) or place(*given, **named))
    with refuses(
        LayoutError, "a picture of 234 boxes", "a picture of 234 boxes: the limit is 200 boxes", "set_budget(400)"
    ):
        screen.set_depth(1)
    assert laid_out == []
    screen.set_budget(234)
    screen.set_depth(1)
    assert len(laid_out) == 1
    screen.set_budget(30)  # a picture that is there stays, and may become smaller
    screen.fold("sa/")
    assert len(scene(screen)["boxes"]) == 226


def test_gradients_and_updates_in_one_step():
    ed = trained()
    screen, version = ed.screen, ed.snapshot.fingerprint
    assert "gradients/" in names(screen)
    screen.show_training(False)
    assert not any(n.startswith("gradients/") for n in names(screen))
    assert scene(screen)["stats"]["hidden"]["training ops"] > 10
    assert "gradients and updates are hidden" in screen.traits()["status"]["text"]
    screen.show_training()
    assert "gradients/" in names(screen)
    assert ed.snapshot.fingerprint == version


def test_what_is_put_away_is_still_found_and_revealed():
    ed = trained()
    ed.screen.show_training(False)
    hits = ed.screen.find("relu_grad")["hits"]
    assert hits
    ed.screen.reveal(hits[0]["name"])
    assert hits[0]["name"].endswith("/")  # of a scope, what is in it: one op in it is drawn without a frame
    assert any(name.startswith(hits[0]["name"]) for name in names(ed.screen))
    ed.screen.reveal(next(hit["name"] for hit in hits if not hit["name"].endswith("/")))
    assert "gradients/layera/relu_grad/ReluGrad" in names(ed.screen)


def test_helpers_and_types():
    screen = trained().screen
    hidden = scene(screen)["stats"]["hidden"]["constants"]
    screen.show_helpers("constants")
    assert "constants" not in scene(screen)["stats"]["hidden"]
    screen.show_helpers("constants", False)
    assert scene(screen)["stats"]["hidden"]["constants"] == hidden
    screen.set_depth(1)
    assert "layera/relu" in names(screen)
    screen.hide_ops(["Relu"])
    assert "layera/relu" not in names(screen)
    assert scene(screen)["stats"]["hidden"]["hidden ops"] == 3
    screen.hide_ops([])
    assert "layera/relu" in names(screen)
    assert screen.traits()["look"]["hidden"] == []
    with refuses(SelectionError, "show_helpers('weights'): no helpers have this kind", "constants, hidden ops"):
        screen.show_helpers("weights")
    with refuses(SelectionError, "hide_ops(['Rleu']): graph has no op of that type", "Did you mean 'Relu'"):
        screen.hide_ops(["Rleu"])


def test_colors_and_the_legend_that_filters():
    ed = trained()
    screen = ed.screen
    assert screen.traits()["look"]["by"] == "family"
    screen.paint("dtype")
    legend = scene(screen)["legend"]
    assert legend["title"] == "dtype"
    key = legend["items"][0]["key"]
    screen.fade([key])
    assert scene(screen)["legend"]["faded"] == [key]
    assert 'opacity="0.22"' in ed.to_svg()
    screen.fade([])
    assert 'opacity="0.22"' not in ed.to_svg()
    with refuses(SelectionError, "fade(['c99']): the legend has no such entry", "Its entries are: c0 (float32)"):
        screen.fade(["c99"])
    with refuses(SelectionError, "paint(by='color'): 'color' is not one of 'bytes', 'device'", "Call it as paint(by="):
        screen.paint("color")


def test_numbers_from_python():
    ed = trained()
    assert ed.paint({ed.op("layera/mm"): 3.0, "layerb/mm": 1.0, "layerb/relu": 1.5}, "ms") is ed
    ed.screen.set_depth(0)
    reported = {b["name"]: b["paint"]["text"] for b in scene(ed.screen)["boxes"]}
    assert (reported["layera/"], reported["layerb/"], reported["layerc/"]) == ("3 ms", "2.5 ms", "")
    assert "ms:" in ed.to_svg()
    assert ed.screen.traits()["look"]["name"] == "ms"
    ed.paint("structure")
    assert scene(ed.screen)["legend"]["by"] == "structure"
    with refuses(SelectionError, "paint({'layerz/mm': ...})", "Did you mean"):
        ed.paint({"layerz/mm": 1.0}, "ms")
    for odd in ("3 ms", None, np.ones(3)):
        with refuses(LayoutError, "paint({'layera/mm': ...}): ", "is not a number", "Give one number for each op"):
            ed.paint({"layera/mm": odd}, "ms")
    with refuses(LayoutError, "paint([1, 2]): values must be a mapping", "Give {'conv1/Conv2D': 3.2}: op -> number"):
        ed.paint([1, 2])


def test_numbers_from_a_file(tmp_path):
    ed, file = trained(), tmp_path / "times.csv"
    file.write_text("op,ms\nlayera/mm,3\n\nlayerb/mm, 1\nlayerb/relu,1.5\n")
    assert ed.paint(file) is ed
    ed.screen.set_depth(0)
    first = {b["name"]: b["paint"]["text"] for b in scene(ed.screen)["boxes"]}
    assert (first["layera/"], first["layerb/"], first["layerc/"]) == ("3 ms", "2.5 ms", "")
    ed.screen.paint()
    ed.screen.paint_file(str(file))
    assert {b["name"]: b["paint"]["text"] for b in scene(ed.screen)["boxes"]} == first
    file.write_text("layera/mm,3")
    assert ed.paint(str(file), "s").screen.traits()["look"]["name"] == "s"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("op,ms", "the file has no numbers"),
        ("a,1\nb,much", "row 2 is not a name and a number: ['b', 'much']"),
        ("a,1,2", "row 1 is not a name and a number: ['a', '1', '2']"),
    ],
)
def test_a_file_without_numbers_is_refused(tmp_path, text, problem):
    ed, file = trained(), tmp_path / "times.csv"
    file.write_text(text)
    with refuses(LayoutError, f"paint({str(file)!r}): {problem}", "Write one row for each op: its name, a comma"):
        ed.paint(file)
    with refuses(LayoutError, f"paint({str(tmp_path / 'none.csv')!r}): No such file", "Give the path of a CSV file"):
        ed.screen.paint_file(str(tmp_path / "none.csv"))


def called():
    graph = tf.Graph()

    @tf.function
    def twice(a):
        return tf.nn.relu(a) * 2.0

    with graph.as_default():
        x = tf1.placeholder(tf.float32, [4], name="x")
        y = tf.identity(twice(x), name="y")
        tf.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)], name="loop")
        assert y is not None
    return gs.open(graph)


def call_of(ed, kind="PartitionedCall"):
    return next(n for n, t in zip(ed.snapshot.names, ed.snapshot.types, strict=True) if t.endswith(kind))


def boxes(screen):
    return {b["name"]: (b["kind"], b["subtitle"]) for b in scene(screen)["boxes"]}


def test_a_call_unfolds_in_place_and_folds_again():
    ed = called()
    screen, call = ed.screen, call_of(ed)
    assert boxes(screen)[call] == ("call", "call of twice, 4 ops")
    before = scene(screen)
    screen.unfold(call)
    assert {f"{call}/Relu", f"{call}/mul", "x", "y"} <= names(screen)
    assert call not in names(screen)
    assert f"{call} · call of twice" in [g["label"] for g in scene(screen)["groups"]]
    edges = {(e["from"], e["to"]) for e in scene(screen)["edges"]}
    ids = {b["name"]: b["id"] for b in scene(screen)["boxes"]}
    assert (ids["x"], ids[f"{call}/Relu"]) in edges
    relu = screen.details(f"{call}/Relu")
    assert dict(relu["rows"])["function"].endswith(f", called by {call}")
    assert (relu["inputs"][0]["tensor"], relu["python"]) == ("x:0", f"ed.select(name='{call}/Relu')")
    assert relu["outputs"] == [{"tensor": f"{call}/Relu:0", "text": "float32 (4,)"}]
    assert screen.details(f"{call}/")["python"] == f"ed.select(scope={call!r})"
    screen.fold(f"{call}/")
    assert scene(screen)["boxes"] == before["boxes"]
    screen.back()
    assert f"{call}/Relu" in names(screen)
    assert f"{call}/Relu" in ed.to_svg(open_folds=[f"{call}/"])
    assert f"{call}/Relu" not in ed.to_svg(open_folds=[])
    assert "Relu" in ed.to_dot(open_folds=[f"{call}/"]).source


def test_search_reveal_and_outline_reach_into_calls():
    ed = called()
    screen, call = ed.screen, call_of(ed)
    (hit,) = screen.find("Relu")["hits"]
    assert (hit["name"], hit["inside"]) == (f"{call}/Relu", call)
    assert screen.find("Relu")["boxes"] == {call: 1}
    assert ed.find("Relu") == [f"{call}/Relu"]
    assert f"{call}/Relu" not in names(screen)
    screen.outline_open(call)
    rows = {row["name"]: row for row in screen.traits()["outline"]["rows"]}
    assert (rows[f"{call}/"]["open"], f"{call}/Relu" in rows) == (True, True)
    assert f"{call}/Relu" not in names(screen)  # the outline opens by itself
    screen.outline_close(f"{call}/")
    rows = {row["name"]: row for row in screen.traits()["outline"]["rows"]}
    assert (rows[call]["open"], rows[call]["count"]) == (False, 4)
    screen.reveal(f"{call}/Relu")
    assert f"{call}/Relu" in names(screen)
    screen.reveal(call)
    assert screen.traits()["selected"] == [f"{call}/"]
    screen.reveal(f"{call}/Relu")
    assert screen.traits()["selected"] == [f"{call}/Relu"]
    assert screen.find("Relu")["boxes"] == {f"{call}/Relu": 1}


def test_calls_in_calls_loops_and_a_function_called_twice():
    graph = tf.Graph()

    @tf.function
    def inner(a):
        return tf.exp(a, name="deep")

    @tf.function
    def outer(a):
        return inner(a) + inner(a + 1.0)

    with graph.as_default():
        tf.identity(outer(tf1.placeholder(tf.float32, [4], name="x")), name="y")
        tf.while_loop(lambda i: i < 3, lambda i: tf.add(i, 1, name="more"), [tf.constant(0)], name="loop")
    ed = gs.open(graph)
    screen, call = ed.screen, call_of(ed)
    first, second = (n for n in ed.find("op:*PartitionedCall") if n.startswith(f"{call}/"))
    assert call in ed.find("op:*PartitionedCall")
    screen.reveal(f"{first}/deep")
    assert {f"{first}/deep", second} <= names(screen)
    rows = [row for row in screen.details(f"{first}/deep")["rows"] if row[0] in ("function", "also called by")]
    assert rows[0][1].endswith(f"called by {first}")
    assert rows[1:] == [["also called by", second]]
    assert ["also called by", first] in screen.details(second)["rows"]
    loop = call_of(ed, "While")
    screen.reveal(f"{loop}/body/")
    assert {f"{loop}/body/", f"{loop}/cond/", loop} <= names(screen) | {g["name"] for g in scene(screen)["groups"]}
    screen.fold_all()
    assert call in names(screen)


def test_numbers_sizes_and_colors_reach_into_calls():
    graph = tf.Graph()

    @tf.function
    def net(a):
        return tf.matmul(a, tf.ones([3, 5]) * tf.constant([1.0, 2.0, 3.0, 4.0, 5.0], name="held"), name="mm")

    with graph.as_default(), tf.name_scope("s"):
        x = tf1.placeholder(tf.float32, [2, 3], name="x")
        tf.identity(net(x), name="y")
    ed = gs.open(graph)
    screen, call = ed.screen, call_of(ed)
    whole = dict(screen.details(call)["rows"])["FLOPs"]
    rows = dict(screen.details("s/")["rows"])
    inner = len(ed.snapshot.functions[next(iter(ed.snapshot.functions))].node_def)
    assert rows["ops"] == f"3, and {inner} in calls"
    assert rows["FLOPs"].split()[0] == whole
    assert "constants and variables" in rows["holds"]
    (hit,) = ed.find("op:MatMul")
    screen.paint(values={hit: 2.0, f"{call}/held": 1.0}, name="ms")
    assert {b["name"]: b["paint"]["text"] for b in scene(screen)["boxes"]}[call] == "3 ms"
    screen.unfold(call)
    reported = {b["name"]: b["paint"]["text"] for b in scene(screen)["boxes"]}
    assert reported[hit] == "2 ms"
    assert dict(screen.details(hit)["rows"])["FLOPs"] == "60"
    assert int(whole) >= 60
    with refuses(SelectionError, f"paint({{'{call}/nothing': ...}}): no op is called", f"{call}/"):
        screen.paint(values={f"{call}/nothing": 1.0})


def test_what_cannot_be_unfolded_says_why():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [4], name="x")
        tf.identity(tf.function(lambda a: tf.exp(a))(x), name="y")
    proto = graph.as_graph_def()
    (function,) = proto.library.function
    del proto.library.function[:]
    (node,) = [n for n in proto.node if "Call" in n.op]
    read = file_snapshot(proto)
    screen = Screen(PlainSubject(read), facts=PlainFacts())
    assert boxes(screen)[node.name] == ("op", "PartitionedCall · function not in the graph")
    problem = f"unfold({node.name!r}): function {function.signature.name!r}, which {node.name!r} calls, is not in the"
    with refuses(SelectionError, problem, "Open a file that also contains the function"):
        screen.unfold(node.name)
    with refuses(SelectionError, "unfold('x'): no scope, series, block or call has this name", "unfold"):
        screen.unfold("x")


def test_what_is_inside_a_call_is_operated_on_and_the_messages_say_so():
    ed = called()
    screen, call = ed.screen, call_of(ed)
    screen.unfold(call)
    screen.select([f"{call}/Relu"])
    said = f"1 op selected, inside {call}: an edit inlines the call, a copy does not change it"
    assert screen.traits()["status"]["text"] == said
    assert ed.selection.names == [f"{call}/Relu"]
    with refuses(SelectionError, f"there is no tensor '{call}/nope:0' in", "Did you mean"):
        screen.mark_input(f"{call}/nope:0")
    with refuses(SelectionError, "remove", "nothing in graph has this name", "Did you mean"):
        screen.remove([f"{call}/nope"])
    screen.select([f"{call}/"])  # the frame is the call
    assert ed.selection.names == [call]
    assert screen.traits()["status"]["text"] == "4 ops selected"
    screen.mark_input("x:0")
    screen.mark_output("y:0")
    assert screen.traits()["boundary"]["boxes"][f"{call}/Relu"] == 1
    screen.inline([f"{call}/"])
    assert ed.draft.effect.removed
    assert screen.traits()["scenes"]["destination"] is not None
    screen.apply()
    assert f"{call}/Relu" in ed.snapshot.index


def test_what_is_put_away_goes_from_a_scope_that_was_opened_for_a_helper_too():
    ed = gs.open(model("resource").graph)
    screen = ed.screen
    screen.reveal("net/b/Initializer/zeros")
    screen.unfold("net/")
    assert any(key.endswith("+") for key in screen.unfolded)
    assert "net/MatMul" in names(screen)
    screen.hide_ops(["MatMul"])
    assert "net/MatMul" not in names(screen)
    assert "net/y" in names(screen)
    screen.reveal("net/MatMul")  # asked for by name, it is shown
    assert "net/MatMul" in names(screen)


def test_structure_where_nothing_is_repeated_says_so():
    ed = gs.open(model("resource").graph)
    ed.screen.paint("structure")
    legend = scene(ed.screen)["legend"]
    assert (legend["title"], legend["items"]) == ("", [])
    assert ed.screen.traits()["status"]["text"].startswith("no scopes of this picture have the same structure")


def test_values_are_fetched_when_asked_for_only():
    ed = gs.open(model("resource").session)
    screen = ed.screen
    variable = next(iter(ed.snapshot.state.variables))
    assert screen.details(variable)["value"]
    got = screen.value(variable)
    assert got["rows"][0][0] == "value"
    assert json.dumps(got)
    with refuses(SelectionError, "value('x'): an op of type Placeholder holds no value", "a constant or a variable"):
        screen.value("x")


def test_a_variable_that_nothing_gives_a_value():
    graph = tf.Graph()
    with graph.as_default():
        tf1.get_variable("w", [2], initializer=tf1.ones_initializer(), use_resource=True)
    session = tf1.Session(graph=graph)
    with refuses(SelectionError, "value('w'): its value cannot be read", "Run its initializer"):
        gs.open(session).screen.value("w")


@pytest.mark.parametrize("name", ["c", "w"])
def test_numbers_of_constants_and_variables(name):
    graph = tf.Graph()
    with graph.as_default():
        tf.constant(np.arange(100, dtype=np.float32), name="c")
        tf1.get_variable("w", initializer=np.arange(100, dtype=np.float32), use_resource=True)
    got = gs.open(graph).screen.value(name)
    assert dict(got["rows"])["range"] == "0 to 99"
    assert sum(got["histogram"]["counts"]) == 100


def test_a_layout_that_is_called_off_leaves_the_picture(monkeypatch):
    screen = trained().screen
    started, before = threading.Event(), screen.traits()["scenes"]["source"]

    def endless(scene, direction, cancelled, previous):
        started.set()
        while not cancelled():
            time.sleep(0)
        raise cancelled_error()

    monkeypatch.setattr(pane, "place", endless)
    for verb, args in (("set_direction", ("LR",)), ("set_depth", (1,)), ("show_training", (False,))):
        started.clear()
        raised = []

        def work(verb=verb, args=args, raised=raised):
            with screen.exclusive(), pytest.raises(LayoutCancelled) as error:
                getattr(screen, verb)(*args)
            raised.append(str(error.value))

        worker = threading.Thread(target=work)
        worker.start()
        assert started.wait(60)
        screen.cancel()
        worker.join()
        assert raised == ["laying out the picture: it was cancelled.\nDraw it again."], verb
        assert screen.traits()["scenes"]["source"]["boxes"] == before["boxes"], verb
        assert screen.traits()["status"]["level"] == "info", verb
    # called off when nothing goes on: the next picture is drawn as ever
    screen.cancel()
    monkeypatch.undo()
    screen.set_direction("LR")
    assert screen.traits()["scenes"]["source"]["boxes"] != before["boxes"]
