"""The screen: every gesture is a method, and does what the editor's own call does."""

from __future__ import annotations

import json

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import LayoutError, PlanError, SelectionError
from graphsurgeon.graph.graph import Graph
from graphsurgeon.screen.marks import Marks
from graphsurgeon.screen.screen import Screen
from graphsurgeon.tf.open import facts
from tests.graphs import look, model, run, tiny
from tests.plain import net
from tests.refusal import refuses

tf1 = tf.compat.v1
X = np.array([[1.0, 2.0]], np.float32)


def opened():
    m = model("resource")
    ed = gs.open(m.session)
    return m, ed, ed.screen


def traits(screen: Screen) -> dict:
    """Returns the traits as the page gets them: through JSON, unchanged."""
    given = screen.traits()
    received = json.loads(json.dumps(given, allow_nan=False))
    assert received == given
    return received


# -- marks ----------------------------------------------------------------------------------------


def test_marks_are_values():
    g = net()
    none = Marks()
    one = none.with_input(g, "x").with_output(g, "out:0")
    assert none == Marks()
    assert one == Marks(("x:0",), ("out:0",))
    assert one.with_input(g, "x:0") == one
    assert one.with_output(g, "x") == Marks((), ("out:0", "x:0"))
    assert one.with_input(g, "out") == Marks(("x:0", "out:0"), ())
    assert one.without("x") == Marks((), ("out:0",))
    with refuses(SelectionError, "mark_input('ex:0'): there is no tensor 'ex:0' in net"):
        none.with_input(g, "ex")
    with refuses(SelectionError, "mark_output('out:3'): op 'out' (Relu) has 1 output"):
        none.with_output(g, "out:3")


def test_marks_around_leave_out_constants_and_variables():
    g = net()
    from graphsurgeon.graph.selection import select

    assert Marks.around(select(g, name=["net/mm", "net/drop"])) == Marks(("x:0", "rate:0"), ("net/mm:0", "net/drop:0"))


# -- selecting and folding ------------------------------------------------------------------------------


def test_pick():
    _, ed, screen = opened()
    screen.select(["net/"])
    assert ed.selection == ed.select(scope="net")
    screen.select(["loss"], mode="add")
    assert ed.selection == ed.select(scope="net") | ed.select(name="loss")
    screen.select(["net/", "x"], mode="toggle")
    assert set(ed.selection.names) == {"loss", "x"}
    assert traits(screen)["selected"] == ["loss", "x"]
    assert traits(screen)["status"]["text"] == "2 ops selected"
    screen.select([])
    assert not ed.selection
    assert traits(screen)["status"]["text"] == "nothing selected"
    with refuses(SelectionError, "select('losss'): there is nothing of that name", "Did you mean 'loss'"):
        screen.select(["losss"])


def test_unfold_and_fold():
    _, _, screen = opened()
    first = screen.unfolded
    boxes = {b["name"] for b in traits(screen)["scenes"]["source"]["boxes"]}
    closed = next(n for n in sorted(boxes) if n.endswith("/"))
    screen.unfold(closed)
    assert closed in screen.unfolded
    scene = traits(screen)["scenes"]["source"]
    assert closed not in {b["name"] for b in scene["boxes"]}
    assert closed in {g["name"] for g in scene["groups"]}
    screen.fold(closed)
    assert screen.unfolded == first - {closed}
    assert {b["name"] for b in traits(screen)["scenes"]["source"]["boxes"]} == boxes
    screen.unfold(closed)
    screen.fold_all()
    assert screen.unfolded == first
    with refuses(SelectionError, "unfold('nothing/'): there is no scope, series or block of that name"):
        screen.unfold("nothing/")
    with refuses(SelectionError, "unfold('loss')"):
        screen.unfold("loss")


def test_a_graph_without_any_scope():
    ed = gs.open(tf.Graph())
    screen = ed.screen
    assert traits(screen)["scenes"]["source"]["boxes"] == []
    with refuses(SelectionError, "there is no scope, series or block of that name"):
        screen.unfold("a/")


def test_reveal_shows_and_picks():
    _, ed, screen = opened()
    deep = "gradients/net/MatMul_grad/MatMul"
    assert deep in ed.snapshot.index
    screen.reveal(deep)
    assert ed.selection.names == [deep]
    assert deep in {b["name"] for b in traits(screen)["scenes"]["source"]["boxes"]}
    screen.reveal("net/w/")
    assert "net/w/read" not in traits(screen)["selected"]
    with refuses(SelectionError, "reveal('nowhere'): no op is called 'nowhere'"):
        screen.reveal("nowhere")


def test_find_details_outline_direction():
    _, ed, screen = opened()
    found = screen.find("loss")
    assert found["hits"][0] == {"name": "loss", "label": "loss", "op": "Mean", "inside": "loss"}
    assert found["total"] == len(ed.find("loss", limit=1000))
    assert screen.find("no such thing") == {"hits": [], "total": 0, "boxes": {}}
    assert screen.details("loss")["title"] == "loss"
    screen.fold("net/")
    rows = {r["name"]: r for r in traits(screen)["outline"]["rows"]}
    assert rows["net/"]["open"] is False
    screen.outline_open("net/")
    after = {r["name"]: r for r in traits(screen)["outline"]["rows"]}
    assert after["net/"]["open"]
    assert len(after) > len(rows)
    screen.outline_close("net/")
    assert {r["name"] for r in traits(screen)["outline"]["rows"]} == set(rows)
    screen.set_direction("LR")
    assert traits(screen)["scenes"]["source"]["direction"] == "LR"
    assert traits(screen)["status"]["text"] == "left to right"
    screen.cancel()
    assert traits(screen)["status"]["text"] == ""


# -- the boundary ---------------------------------------------------------------------------------------


def test_marking_is_selecting():
    m, ed, screen = opened()
    screen.mark_input("x:0")
    assert screen.region is None
    assert "Mark an output" in traits(screen)["boundary"]["problem"]
    screen.mark_output(m.y)
    wanted = ed.select(inputs="x:0", outputs="net/y:0")
    assert screen.region == wanted
    assert ed.selection == wanted
    shown = traits(screen)["boundary"]
    assert [t["tensor"] for t in shown["inputs"]] == ["x:0"]
    assert shown["inputs"][0]["text"] == "x:0  float32 (?, 2)"
    assert (shown["ops"], shown["variables"], shown["leaks"]) == (len(wanted), 2, [])
    assert sum(shown["boxes"].values()) <= len(wanted)
    assert screen.region.boundary == wanted.boundary
    screen.unmark("x")
    assert screen.region == ed.select(outputs="net/y:0")
    screen.clear_boundary()
    assert screen.region is None
    assert traits(screen)["boundary"]["ops"] == 0


def test_leaks_and_what_does_not_connect():
    _, ed, screen = opened()
    screen.mark_input("net/y:0")
    screen.mark_output("loss:0")
    shown = traits(screen)
    assert [leak["tensor"] for leak in shown["boundary"]["leaks"]] == ["target:0"]
    assert shown["status"]["level"] == "warn"
    assert "1 leak" in shown["status"]["text"]
    screen.add_leak("target:0")
    assert traits(screen)["boundary"]["leaks"] == []
    assert screen.region == ed.select(inputs=["net/y:0", "target:0"], outputs="loss:0")
    screen.clear_boundary()
    screen.mark_input("loss:0")
    screen.mark_output("net/y:0")
    assert screen.region is None
    assert "'loss:0' does not lead to 'net/y:0'" in traits(screen)["boundary"]["problem"]
    with refuses(SelectionError, "mark_input('nix:0')"):
        screen.mark_input("nix")


def test_boundary_of_what_is_selected():
    ed = gs.open(tiny())
    screen = ed.screen
    with refuses(SelectionError, "boundary_of_selection(): nothing is selected", "Click a box first"):
        screen.boundary_of_selection()
    screen.select(["y"])
    screen.boundary_of_selection()
    assert screen.region == ed.select(inputs="x:0", outputs="y:0")


# -- the plan -------------------------------------------------------------------------------------------


def test_copy_apply_undo_redo():
    m, ed, screen = opened()
    before = look(m.graph)
    screen.mark_input("x:0")
    screen.mark_output("net/y:0")
    screen.copy("copy")
    wanted = ed.plan().copy(ed.select(inputs="x:0", outputs="net/y:0"), to="copy", unmapped="placeholder", values=ed)
    assert ed.draft.after().fingerprint == wanted.after().fingerprint
    assert ed.draft.to_code() == wanted.to_code()
    assert look(m.graph) == before
    shown = traits(screen)
    assert shown["plan"]["ready"]
    assert shown["plan"]["counts"] == wanted.preview().counts
    assert shown["plan"]["code"] == wanted.to_code()
    assert [v["name"] for v in shown["plan"]["variables"]] == ["copy/net/w", "copy/net/b"]
    assert {v["values"] for v in shown["plan"]["variables"]} == {"current value"}
    assert shown["plan"]["new"][0] == {"name": "copy/x", "was": "x:0", "op": "Placeholder"}
    assert shown["titles"]["destination"] == "graph after the plan"
    states = {b["state"] for b in shown["scenes"]["destination"]["boxes"]}
    assert "new" in states
    screen.undo()
    assert len(ed.draft) == 0
    assert traits(screen)["plan"]["redo"] == 1
    assert traits(screen)["scenes"]["destination"] is None
    screen.redo()
    assert len(ed.draft) == 1
    result = screen.apply()
    assert result["applied"] == f"applied: {wanted.preview().counts['ops']} new ops under copy/, 2 variables"
    assert len(ed.history) == 1
    assert len(ed.draft) == 0
    feed = m.feed()[m.x]
    got = ed.session().run(["net/y:0", "copy/net/y:0"], {"x:0": feed, "copy/x:0": feed})
    np.testing.assert_array_equal(*got)
    assert traits(screen)["plan"]["applied"] == result["applied"]
    screen.undo()
    assert ed.history[0].undone
    assert "orphan" in {b["state"] for b in traits(screen)["scenes"]["source"]["boxes"]}
    screen.redo()
    assert not ed.history[0].undone


def test_redo_goes_back_the_way_undo_came():
    ed = gs.open(tiny())
    screen = ed.screen
    screen.select(["y"])
    screen.copy("one")
    screen.apply()
    screen.select(["y"])
    screen.copy("two")
    screen.undo()
    screen.undo()
    assert (ed.history[0].undone, len(ed.draft)) == (True, 0)
    assert traits(screen)["plan"]["redo"] == 2
    screen.redo()
    assert (ed.history[0].undone, len(ed.draft)) == (False, 0)
    screen.redo()
    assert [s.to for s in ed.draft.steps] == ["two"]
    screen.apply()
    assert run(ed.graph, "two/y:0", {"two/x:0": X}).tolist() == (X**2).tolist()


def test_redo_leaves_the_graph_under_a_plan_alone():
    ed = gs.open(tiny())
    screen = ed.screen
    screen.select(["y"])
    screen.copy("one")
    screen.apply()
    screen.undo()
    screen.copy("two")
    with refuses(PlanError, "redo(): no step of this plan was taken back", "Apply the plan, or take its steps back"):
        screen.redo()
    screen.undo()
    ed.redo()
    assert traits(screen)["plan"]["redo"] == 1
    screen.redo()
    assert [s.to for s in ed.draft.steps] == ["two"]


def test_copy_of_what_is_selected_under_a_free_scope():
    ed = gs.open(tiny())
    screen = ed.screen
    with refuses(PlanError, "copy(): there is nothing to copy", "Mark boundary tensors, or select boxes first"):
        screen.copy()
    screen.select(["y"])
    screen.copy()
    screen.copy(unmapped="keep")
    assert [s.to for s in ed.draft.steps] == ["copy", "copy_2"]
    screen.connect("copy/y:0", "copy_2/y", 0)
    assert [c["text"] for c in traits(screen)["plan"]["connections"]] == ["copy/y:0 → copy_2/y input 0"]
    screen.apply()
    assert run(ed.graph, "copy_2/y:0", {"copy/x:0": X}).tolist() == (X**4).tolist()


def test_faults_are_shown_and_nothing_is_applied():
    ed = gs.open(tiny())
    screen = ed.screen
    with refuses(PlanError, "apply(): the plan is empty", "Copy a region or connect a tensor first"):
        screen.apply()
    screen.select(["y"])
    screen.copy("z")
    shown = traits(screen)
    assert shown["status"] == {"text": "copy(to='z'): the name 'z' is taken in graph", "level": "error"}
    assert shown["plan"]["faults"][0]["instead"] == "Type to='z_2', which is free"
    assert not shown["plan"]["ready"]
    before = look(ed.graph)
    with refuses(PlanError, "the name 'z' is taken"):
        screen.apply()
    assert look(ed.graph) == before
    assert len(ed.draft) == 1
    with refuses(PlanError, "copy(unmapped='nonsense'): 'nonsense' is not one of 'include'", "Call it as copy("):
        screen.copy("q", unmapped="nonsense")


def test_a_plan_outlives_growth_of_the_graph():
    ed = gs.open(tiny())
    ed.screen.select(["y"])
    ed.screen.copy("t")
    with ed.graph.as_default():
        tf.no_op()
    assert ed.draft.base is ed.snapshot
    ed.screen.apply()
    assert "t/y" in ed.snapshot.index


def test_a_connection_that_needs_a_new_graph():
    ed = gs.open(tiny())
    old, screen = ed.graph, ed.screen
    screen.connect("x:0", "z", 0)
    assert ed.draft.mode == "materialise"
    assert "changed" in {b["state"] for b in traits(screen)["scenes"]["destination"]["boxes"]}
    screen.apply()
    assert ed.graph is not old
    assert run(ed.graph, "z:0", {"x:0": X}).tolist() == (X + 1).tolist()
    screen.undo()
    assert ed.graph is old
    assert traits(screen)["scenes"]["destination"] is None


def test_two_editors():
    m = model("resource")
    m.train_steps()
    src, dst = gs.open(m.session, title="left"), gs.open(tf.Graph(), title="right")
    dst.view(src)
    screen = dst.screen
    assert (screen.source, screen.destination, screen.same) == (src, dst, False)
    assert traits(screen)["titles"] == {"source": "left", "destination": "right"}
    assert traits(screen)["scenes"]["destination"]["boxes"] == []
    screen.mark_input("x:0")
    screen.mark_output("net/y:0")
    screen.copy("grafted")
    screen.apply()
    feed = m.feed()[m.x]
    np.testing.assert_array_equal(
        dst.session().run("grafted/net/y:0", {"grafted/x:0": feed}), m.session.run(m.y, {m.x: feed})
    )
    assert src.history == []
    assert [b["name"] for b in traits(screen)["scenes"]["destination"]["boxes"]]
    screen.undo()
    assert dst.history[0].undone


def test_copying_there_drops_control_edges_and_says_so():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [], name="x")
        with tf.control_dependencies([tf.no_op(name="first")]):
            tf.square(x, name="y")
    src, dst = gs.open(graph), gs.open(tf.Graph())
    dst.view(src)
    dst.screen.select(["y"])
    dst.screen.copy("t")
    shown = traits(dst.screen)
    assert shown["plan"]["faults"] == []
    assert any("control input" in w and "y after first" in w for w in shown["plan"]["warnings"])
    assert shown["status"]["level"] == "warn"


# -- telling the page -------------------------------------------------------------------------------------


def test_every_change_is_told():
    _, ed, screen = opened()
    told = []
    screen.on_change(lambda: told.append(len(told)))
    for verb, args in [
        ("select", (["net/"],)), ("boundary_of_selection", ()), ("mark_input", ("x",)), ("mark_output", ("loss",)),
        ("unmark", ("x",)), ("clear_boundary", ()), ("copy", ("t",)), ("undo", ()), ("redo", ()), ("apply", ()),
        ("fold_all", ()), ("outline_open", ("net/",)), ("set_direction", ("TB",)), ("cancel", ()),
    ]:  # fmt: skip
        before = len(told)
        getattr(screen, verb)(*args)
        assert len(told) > before, verb
    before = len(told)
    ed.undo()
    assert len(told) > before


def test_traits_are_json_whatever_the_names():
    g = tf1.GraphDef()
    g.node.add(name="a/b", op="NoOp")
    g.node.add(name="A.b-c_d/>x", op="NoOp")
    ed = gs.open(g)
    assert json.dumps(ed.screen.traits())
    assert set(traits(ed.screen)) == {
        "scenes", "titles", "selected", "boundary", "plan", "status", "outline", "views", "look", "theme",
    }  # fmt: skip


def test_pictures_and_words():
    _, ed, screen = opened()
    assert ed.to_svg().startswith("<svg")
    assert "net" in ed.to_svg(unfolded=["net/"])
    assert "digraph" in ed.to_dot().source
    screen.mark_output("loss")
    screen.copy("t")
    text = screen.describe()
    assert text.splitlines()[0].startswith(f"graph: {ed.snapshot.size:,} ops, ")
    assert "Boundary: 0 in, 1 out" in text
    assert "plan for graph" in text
    assert screen.svg().startswith("<svg")


def test_an_empty_graph_has_a_picture():
    ed = gs.open(tf.Graph())
    assert ed.to_svg().startswith("<svg")
    assert isinstance(ed.snapshot, Graph)


def test_a_picture_that_cannot_be_drawn_leaves_the_folds(monkeypatch):
    from graphsurgeon.screen import pane

    _, _, screen = opened()
    before, closed = screen.unfolded, "gradients/"

    def no(*args, **options):
        raise LayoutError("unfold('gradients/')", "900 boxes are too many", "Fold something")

    assert closed not in before
    traits(screen)
    monkeypatch.setattr(pane, "place", no)
    with refuses(LayoutError, "900 boxes are too many"):
        screen.unfold(closed)
    monkeypatch.undo()
    assert screen.unfolded == before
    assert traits(screen)["scenes"]["source"]["boxes"]


def test_policies_of_variables_are_set_on_screen():
    _, ed, screen = opened()
    screen.mark_input("x:0")
    screen.mark_output("net/y:0")
    screen.copy("copy")
    screen.set_policy(0, "net/w", "freeze")
    screen.set_policy(0, "*", "share")
    rows = traits(screen)["plan"]["variables"]
    assert [(v["was"], v["name"], v["policy"], v["values"], v["step"]) for v in rows] == [
        ("net/w", "copy/net/w", "freeze", "current value", 0), ("net/b", "net/b", "share", "the original's", 0)
    ]  # fmt: skip
    assert "variables={'*': 'share', 'net/w': 'freeze'}" in ed.draft.to_code()
    screen.apply()
    assert ed.graph.get_operation_by_name("copy/net/w").type == "Const"


def test_a_policy_that_cannot_be_stays_on_screen_to_be_changed():
    m = model("resource", optimizer=None)
    ed = gs.open(m.graph)
    screen = ed.screen
    screen.mark_input("x:0")
    screen.mark_output("net/y:0")
    screen.copy("copy")
    screen.set_policy(0, "net/w", "freeze")
    shown = traits(screen)["plan"]
    assert "no value to freeze 'net/w' at" in shown["faults"][0]["wrong"]
    assert [(v["was"], v["policy"]) for v in shown["variables"]] == [("net/w", "freeze"), ("net/b", "copy")]
    screen.set_policy(0, "net/w", "initial")
    assert traits(screen)["plan"]["faults"] == []


# -- edits ----------------------------------------------------------------------------------------


def row_of_ops():
    """Returns the screen of a -> b -> c -> d, and e beside them."""
    graph = tf.Graph()
    with graph.as_default():
        a = tf1.placeholder(tf.float32, [2], name="a")
        with tf1.name_scope("in"):
            b = tf.negative(a, name="b")
            c = tf.negative(b, name="c")
        tf.negative(c, name="d")
        tf.exp(a, name="e")
    return gs.open(graph).screen


@pytest.mark.parametrize(
    ("verb", "args", "code", "status"),
    [
        ("reroute", {"old": "in/c", "to": "e"}, ".reroute('in/c:0', to='e:0')", "what reads in/c:0 will read e:0"),
        ("swap", {"a": "in/c:0", "b": "e:0"}, ".swap('in/c:0', 'e:0')", "in/c:0 and e:0 change places"),
        ("bypass", {"op": "in/c"}, ".bypass('in/c')", "in/c will be bypassed"),
        ("detach", {"names": ["in/c"], "side": "inputs"}, ".detach('in/c', side='inputs')", "in/c will be cut off"),
        ("insert", {"op": "Relu", "on": "in/c:0"}, ".insert('Relu', on='in/c:0', name='in/c_relu')",
         "in/c_relu will stand behind in/c:0"),
        ("remove", {"names": ["in/"], "stitch": True}, ".remove(['in/b', 'in/c'], stitch=True)",
         "in/b, in/c will go"),
        ("set_attr", {"names": ["d"], "name": "_mark", "value": "[1, 2]"}, ".set_attr('d', '_mark', [1, 2])",
         "_mark of d will be [1, 2]"),
        ("set_attr", {"names": ["d"], "name": "_mark", "value": "a word"}, ".set_attr('d', '_mark', 'a word')",
         "_mark of d will be 'a word'"),
        ("set_device", {"names": ["in/"], "device": "/cpu:0"}, ".set_device(['in/b', 'in/c'], '/cpu:0')",
         "in/b, in/c will run on /cpu:0"),
        ("add_control", {"op": "d", "after": "e"}, ".add_control('d', 'e')", "d will run after e"),
    ],
)  # fmt: skip
def test_each_edit_is_a_step_of_the_plan(verb, args, code, status):
    screen = row_of_ops()
    getattr(screen, verb)(**args)
    assert screen.draft.check() == ()
    assert code in screen.draft.to_code()
    assert screen.traits()["status"]["text"].startswith(status + ", in a new graph")
    screen.apply()
    screen.undo()
    assert len(screen.destination.graph.get_operations()) == 5


def test_what_waits_is_released():
    screen = row_of_ops()
    screen.add_control("d", "e")
    screen.apply()
    screen.remove_control("d")
    assert screen.traits()["status"]["text"].startswith("d will no longer wait for anything")
    screen.apply()
    assert not screen.destination.graph.get_operation_by_name("d").control_inputs


def test_what_will_go_is_crossed_out_where_it_is():
    screen = row_of_ops()
    screen.unfold("in/")
    screen.remove(["in/b"], stitch=True)
    shown = traits(screen)
    states = {b["name"]: b["state"] for b in shown["scenes"]["source"]["boxes"]}
    assert states["in/b"] == "removed"
    assert states["in/c"] == ""
    after = {b["name"]: b["state"] for b in shown["scenes"]["destination"]["boxes"]}
    assert "in/b" not in after
    assert shown["plan"]["counts"]["removed"] == 1
    assert shown["plan"]["same"] is True
    screen.apply()
    assert screen.traits()["status"]["text"] == "applied: 1 connection, 1 op removed, in a new graph"


def test_a_box_that_is_not_there_is_said():
    with refuses(SelectionError, "remove('inn/'): there is nothing of that name in"):
        row_of_ops().remove(["inn/"])


def test_a_copy_says_how_much_comes_along():
    screen = gs.open(model("resource").graph).screen
    screen.mark_input("x:0")
    screen.mark_output("net/y:0")
    chosen = len(screen.region)
    screen.copy("one")
    made = screen.draft.preview().counts["ops"]
    assert made > chosen > 1
    said = f"{chosen} ops will be copied to one/, {made - chosen} more are also copied"
    assert screen.traits()["status"]["text"].startswith(said)


# -- what code does meanwhile -----------------------------------------------------------------------------


def test_ops_that_code_adds_are_in_the_next_picture_beside_the_region():
    screen = row_of_ops()
    screen.mark_input("a")
    screen.mark_output("d")
    with screen.source.graph.as_default():
        tf.negative(screen.source.graph.get_tensor_by_name("d:0"), name="more")
    screen.select(["e"])
    shown = traits(screen)
    assert "more" in [b["name"] for b in shown["scenes"]["source"]["boxes"]]
    assert shown["boundary"]["boxes"] == {"in/b": 1, "in/c": 1, "d": 1}
    assert screen.region.names == ["in/b", "in/c", "d"]


def test_a_plan_stays_good_when_code_applies_another():
    screen = row_of_ops()
    ed = screen.destination
    screen.mark_input("a")
    screen.mark_output("d")
    screen.copy("copy")
    ed.apply(ed.plan().bypass("in/b"))
    assert screen.draft.check() == ()
    assert traits(screen)["boundary"]["ops"] == 2
    screen.apply()
    assert run(ed.graph, "copy/d:0", {"copy/a:0": X[0]}).tolist() == X[0].tolist()


def test_a_plan_stays_good_when_code_changes_the_graph_it_copies_from():
    m = model("resource")
    source, home = gs.open(m.session), gs.open(tf.Graph())
    screen = Screen(home, source, facts=facts)
    screen.mark_input("x:0")
    screen.mark_output("net/y:0")
    screen.copy("copy")
    source.apply(source.plan().set_device("net/y", "/cpu:0"))
    assert screen.draft.check() == ()
    assert "set_device" not in traits(screen)["plan"]["code"]
    screen.apply()
    feed = m.feed()[m.x]
    want = m.session.run("net/y:0", {"x:0": feed})
    np.testing.assert_array_equal(home.session().run("copy/net/y:0", {"copy/x:0": feed}), want)


def test_a_plan_whose_ops_are_gone_says_so():
    screen = row_of_ops()
    screen.select(["d"])
    screen.copy("copy")
    screen.destination.apply(screen.destination.plan().remove("d"))
    assert [fault.asked for fault in screen.draft.check()] == ["copy(to='copy')"]


def test_every_view_hears_of_every_change_in_its_graphs():
    ed, other = gs.open(tiny()), gs.open(tiny())
    own, both = ed.screen, Screen(ed, other, facts=facts)
    heard = []
    own.on_change(lambda: heard.append("own"))
    both.on_change(lambda: heard.append("both"))
    other.apply(other.plan().copy(other.select(), to="copy"))
    assert heard == ["both"]
    ed.apply(ed.plan().copy(ed.select(), to="copy"))
    ed.undo()
    assert sorted(heard) == ["both", "both", "both", "own", "own"]


def test_what_was_done_is_said_beside_a_fault_of_another_step():
    screen = row_of_ops()
    screen.bypass("in/b")
    screen.bypass("in/b")
    fault = "bypass('in/b'): no op reads it, so nothing would change"
    assert traits(screen)["status"]["text"] == fault
    screen.set_device(["e"], "/cpu:0")
    assert traits(screen)["status"]["text"] == f"e will run on /cpu:0, in a new graph · {fault}"
    screen.undo()
    assert traits(screen)["status"]["text"].startswith("taken back: ")
    assert traits(screen)["status"]["text"].endswith(fault)


def test_what_tensorflow_does_not_know_is_refused_before_it_is_a_step():
    screen = row_of_ops()
    with refuses(PlanError, "set_attr('d'): 'Neg' has no attribute 'beta'", "It has T"):
        screen.set_attr(["d"], "beta", "1")
    with refuses(PlanError, "T='nothing' is not a type", "as 'float32'"):
        screen.set_attr(["in/"], "T", "nothing")
    with refuses(PlanError, "'MatMul' has 2 inputs", "Type one of one input"):
        screen.insert("MatMul", on="d:0")
    assert len(screen.draft) == 0


def test_the_code_of_a_plan_names_the_editor_that_gives_values_whatever_its_graph():
    m = model("resource")
    source, home = gs.open(m.session, title="net"), gs.open(tf.Graph())
    screen = Screen(home, source, facts=facts)
    screen.select(["net/y"])
    screen.copy("copy")
    source.apply(source.plan().rename("net/y", to="net/other"))
    assert "values=src2" in traits(screen)["plan"]["code"]
