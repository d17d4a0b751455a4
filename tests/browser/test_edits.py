"""Edits by hand: keys and the menu, the methods of the same names, and the printed code do the same thing."""

from __future__ import annotations

from typing import Any

import graphsurgeon as gs
from tests.browser.hands import apply, box, build, fit, said, shot
from tests.widget.page import WidgetPage


def choose(page: Any, of: str, item: str) -> None:
    """Opens the menu of edits on a box and takes an item."""
    box(page, of).focus()
    page.keyboard.press("e")
    shot(page, "edit-menu")
    page.get_by_role("menuitem", name=item).click()


def test_edits_by_hand_by_method_and_by_code(page: Any) -> None:
    graphs = [build() for _ in range(3)]
    hands = gs.open(graphs[0])
    WidgetPage(page, hands.screen)
    box(page, "net/h").wait_for()
    fit(page)

    choose(page, "net/h", "Bypass")
    said(page, "net/h will be bypassed, in a new graph")

    choose(page, "y", "Insert op after it")
    page.get_by_role("combobox", name="Op type (one input)").fill("Tanh")
    page.get_by_role("textbox", name="Name").fill("squash")
    shot(page, "edit-asks")
    page.keyboard.press("Enter")
    said(page, "squash will read y:0")

    box(page, "x").focus()
    page.keyboard.press("r")
    said(page, "x:0: go to the op whose output they should read")
    box(page, "other").focus()
    page.keyboard.press("r")
    said(page, "the consumers of x:0 will read other:0")

    choose(page, "rest", "Place on a device")
    page.keyboard.press("Enter")
    said(page, "rest will run on /cpu:0")

    choose(page, "total", "Run it after")
    box(page, "net/mm").focus()
    page.keyboard.press("Enter")
    said(page, "total will run after net/mm")

    # what will go is crossed out; Ctrl+Z takes it back
    box(page, "net/h").focus()
    page.keyboard.press("Delete")
    said(page, "net/h will be removed")
    page.locator('.gs-pane-source .gs-is-removed[data-name="net/h"]').wait_for()
    shot(page, "edit-plan")
    page.keyboard.press("Control+z")
    said(page, "undone: remove net/h")
    code = hands.draft.to_code()

    # the names in what is said lead to what they name
    page.get_by_role("tab", name="Warnings").click()
    page.locator(".gs-problems .gs-link", has_text="net/h").first.click()
    page.locator('.gs-pane-destination [data-name="net/h"]:focus').wait_for()
    shot(page, "edit-warnings")

    apply(page)
    shot(page, "edit-applied")
    typed = gs.open(graphs[1]).screen
    typed.bypass("net/h")
    typed.insert("Tanh", on="y:0", name="squash")
    typed.reroute("x:0", to="other:0")
    typed.set_device(["rest"], "/cpu:0")
    typed.add_control("total", after="net/mm")
    typed.apply()
    edited: dict[str, Any] = {"graph": graphs[2]}
    exec(code, edited)
    made = [hands.graph, typed.destination.graph, edited["done"].graph]
    assert len({g.as_graph_def().SerializeToString(deterministic=True) for g in made}) == 1
    # the op that was bypassed is still there, and nothing reads it
    assert [len(g.get_tensor_by_name("net/h:0").consumers()) for g in made] == [0, 0, 0]
