"""What lies between two boxes, and why one needs the other."""

from __future__ import annotations

from graphsurgeon.errors import SelectionError
from tests.refusal import refuses
from tests.screen.screens import row_of_ops, traits
from tests.widget.subject import plain_screen


def test_what_lies_between_two_boxes_whichever_comes_first():
    screen = row_of_ops()
    screen.unfold("in/") if "in/b" not in [b["name"] for b in traits(screen)["scenes"]["source"]["boxes"]] else None
    screen.select_between("a", "d")
    assert set(traits(screen)["selected"]) == {"a", "in/b", "in/c", "d"}
    assert "4 ops are between a and d" in traits(screen)["status"]["text"]
    screen.select_between("d", "in/c")
    assert set(traits(screen)["selected"]) == {"in/c", "d"}
    screen.fold("in/")
    screen.select_between("d", "a")
    assert set(traits(screen)["selected"]) == {"a", "in/", "d"}
    with refuses(SelectionError, "select_between('e', 'd'): no path", "Choose two boxes of which one depends"):
        screen.select_between("e", "d")


def test_why_one_needs_the_other():
    screen = row_of_ops()
    reported = screen.show_path("d", "a")
    assert reported["text"] == "d needs a: 3 steps"
    assert [step["op"] for step in reported["steps"]] == ["a", "in/b", "in/c", "d"]
    assert reported["steps"][1]["text"] == "in/b  input 0 reads a:0"
    assert screen.show_path("a", "d") == reported
    with refuses(SelectionError, "show_path('e', 'd'): no path", "Choose two boxes"):
        screen.show_path("e", "d")


def test_between_folds_the_nearest_ops_of_both():
    screen = plain_screen(destination=None)
    reported = screen.show_path("conv0/", "head/")
    assert (reported["steps"][0]["op"], reported["steps"][-1]["op"]) == ("conv0/Relu", "head/MatMul")
    assert reported["text"].startswith("head/MatMul needs conv0/Relu")
    # control edges count only where data leads nowhere as quickly
    assert all("reads" in step["text"] for step in reported["steps"][1:])
