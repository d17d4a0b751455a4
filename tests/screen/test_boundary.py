"""A boundary that is marked by hand selects what lies within."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import SelectionError
from tests.graphs import tiny
from tests.refusal import refuses
from tests.screen.screens import opened, row_of_ops, tf1, traits


def test_marking_is_selecting():
    m, ed, screen = opened()
    screen.mark_input("x:0")
    assert screen.region is None
    assert "Mark an output" in traits(screen)["boundary"]["problem"]
    assert traits(screen)["status"]["level"] == "info"  # the next step, not a fault
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


def test_what_computes_a_leak_is_copied_too():
    _, ed, screen = opened()
    screen.mark_input("net/y:0")
    screen.mark_output("loss:0")
    screen.include("target:0")
    shown = traits(screen)["boundary"]
    assert (shown["leaks"], shown["included"]) == ([], ["target:0"])
    assert screen.region == ed.select(inputs="net/y:0", outputs="loss:0") | ed.select(outputs="target:0")
    screen.copy("copy")
    assert "copy/target" in ed.draft.after().names
    screen.unmark("target:0")
    assert [leak["tensor"] for leak in traits(screen)["boundary"]["leaks"]] == ["target:0"]
    with refuses(SelectionError, "include('nix:0')"):
        screen.include("nix:0")


def test_the_wrong_way_round_is_turned():
    _, ed, screen = opened()
    screen.mark_input("loss:0")
    screen.mark_output("net/y:0")
    assert traits(screen)["boundary"]["is_reversed"]
    screen.swap_boundary()
    assert not traits(screen)["boundary"]["is_reversed"]
    assert screen.region == ed.select(inputs="net/y:0", outputs="loss:0")


def test_boundary_of_what_is_selected():
    ed = gs.open(tiny())
    screen = ed.screen
    with refuses(SelectionError, "mark_boundary(): nothing is selected", "Click a box first"):
        screen.mark_boundary()
    screen.select(["y"])
    screen.mark_boundary()
    assert screen.region == ed.select(inputs="x:0", outputs="y:0")


def test_boundaries_near_what_is_selected():
    screen = row_of_ops()
    with refuses(SelectionError, "suggest_boundaries(): nothing is selected", "Click a box first"):
        screen.suggest_boundaries()
    screen.select(["in/c"])
    reported = screen.suggest_boundaries()
    assert reported[0]["text"] == "of the selection: 1 in, 1 out, 1 op: in/b:0 → in/c:0"
    ends = [([t["tensor"] for t in one["inputs"]], [t["tensor"] for t in one["outputs"]]) for one in reported]
    assert ends == [(["in/b:0"], ["in/c:0"]), (["a:0"], ["in/c:0"])]
    assert sum(reported[1]["boxes"].values()) == reported[1]["ops"] == 2
    assert screen.region is None
    # what is chosen becomes the boundary, as if it was marked tensor by tensor
    screen.set_boundary(*ends[1])
    marked = traits(screen)["boundary"]
    screen.clear_boundary()
    screen.mark_input("a")
    screen.mark_output("in/c")
    assert traits(screen)["boundary"] == marked
    with refuses(SelectionError, "mark_input('nix:0')"):
        screen.set_boundary(["nix"], [])


def waiting():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        done = tf.identity(tf1.placeholder(tf.float32, name="other"), name="done")
        with tf.control_dependencies([done]):
            y = tf.negative(x, name="y")
        tf.exp(y, name="z")
    screen = gs.open(graph).screen
    screen.mark_input("x:0")
    screen.mark_output("z:0")
    return screen


def waits(screen, name):
    after = screen.draft.after()
    return [after.names[op] for op in after.control.row(after.index[name]).tolist()]


def test_what_a_region_waits_for_is_copied_too_kept_or_dropped():
    screen = waiting()
    assert traits(screen)["boundary"]["control_leaks"] == [{"tensor": "done", "text": "y must run after done"}]
    assert screen.state.status.text == "Boundary: 1 in, 1 out, 2 ops, 1 leak"
    for control, reported in (("keep", ["done"]), ("drop", []), ("auto", ["done"])):
        screen.copy(control, control=control)
        assert waits(screen, f"{control}/y") == reported
    screen.include("^done")
    shown = traits(screen)["boundary"]
    assert (shown["control_leaks"], shown["included"]) == ([], ["^done"])
    screen.copy("whole")
    assert waits(screen, "whole/y") == ["whole/done"]
    screen.unmark("^done")
    assert len(traits(screen)["boundary"]["control_leaks"]) == 1
    with refuses(SelectionError, "include('^nix')"):
        screen.include("^nix")
