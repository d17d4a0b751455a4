"""Saving by hand where there is a file already: Save asks, and nothing is lost before somebody says so."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

import graphsurgeon as gs
from tests.browser.hands import answered, box, build, shot
from tests.widget.page import WidgetPage


def test_a_file_that_is_there_is_replaced_only_where_somebody_says_so(page: Any, notebook: Any) -> None:
    old = Path("there.pb")
    old.write_text("old")
    WidgetPage(page, gs.open(build()).screen)
    box(page, "y").wait_for()
    dialog, button = page.locator(".gs-dialog"), page.get_by_role("button", name="Save", exact=True).first

    def save(answer: str) -> None:
        button.click()
        dialog.get_by_label("File or folder").fill("there.pb")
        dialog.get_by_label("Format").select_option("graph_def")
        dialog.get_by_role("button", name="Save", exact=True).click()
        dialog.get_by_text("'there.pb' already exists").wait_for()
        shot(page, "saving-asks")
        dialog.get_by_role("button", name=answer).click()
        answered(page)

    save("Cancel")
    assert old.read_text() == "old"
    save("Replace")
    page.locator(".gs-panel", has_text="graph def").wait_for()
    shot(page, "saving-replaced")
    assert "y" in {node.name for node in tf.compat.v1.GraphDef.FromString(old.read_bytes()).node}
