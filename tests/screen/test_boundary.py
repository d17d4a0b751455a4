"""A boundary that is marked by hand selects what lies within."""

from __future__ import annotations

import graphsurgeon as gs
from graphsurgeon.errors import SelectionError
from tests.graphs import tiny
from tests.refusal import refuses
from tests.screen.screens import opened, traits


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
