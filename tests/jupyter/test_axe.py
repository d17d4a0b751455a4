"""axe-core on the widget inside a real JupyterLab, light and dark: rules count there that no plain page meets."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.hands import BUILD, IMPORTS, apply, at_keys, box, said, shot
from tests.lab import open_notebook, set_theme
from tests.needs import need
from tests.widget.page import AXE

# What is on the page is the same in both themes, but for its colors.
RUN = """dark => axe.run(".gs", {
  resultTypes: ["violations"],
  ...(dark ? {runOnly: ["cat.color"]} : {rules: {"label-content-name-mismatch": {enabled: true}}}),
}).then(r => r.violations.map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 300), v.nodes[0].failureSummary]))"""


pytestmark = pytest.mark.deep


@pytest.mark.parametrize("theme", ["Light", "Dark"])
def test_axe_inside_jupyterlab(page: Any, lab: Any, theme: str) -> None:
    need("front end")
    notebook = open_notebook(page, lab, [IMPORTS + BUILD, "ed = gs.open(build())\ned"])
    set_theme(page, theme)
    dark = str(theme == "Dark").lower()
    page.wait_for_function(f"() => document.querySelector('.gs').classList.contains('gs-dark') === {dark}")
    page.evaluate(AXE.read_text())

    def clean(when: str) -> None:
        shot(page, f"axe-{dark}-{when}")
        assert page.evaluate(RUN, dark == "true") == [], when

    box(page, "x").click()
    page.locator(".gs-inspect-list").first.wait_for()
    clean("inspector")
    for key in ("s", "v", "e", "?", "Shift+F10", "a", "x", "y", "Shift+R", "Shift+S"):
        box(page, "x").focus()
        page.keyboard.press(key)
        page.locator(".gs-popup").wait_for()
        clean(f"key {key}")
        page.keyboard.press("Escape")
    page.get_by_role("button", name="Colors").first.click()
    page.locator(".gs-choice", has_text="Dtype").click()
    said(page, "colored by dtype")
    clean("legend")
    page.keyboard.press("/")
    page.locator(".gs-search input").fill("net/*")
    page.locator(".gs-hit").first.wait_for()
    clean("search")
    page.keyboard.press("Escape")
    for name, key in (("x", "i"), ("y", "o")):
        box(page, name).focus()
        page.keyboard.press(key)
    said(page, "Boundary: 1 in, 1 out")
    box(page, "y").focus()
    page.keyboard.press("c")
    page.locator(".gs-pane-destination .gs-item").first.wait_for()
    at_keys(page.locator(".gs-entered"))
    clean("plan")
    for tab in page.locator(".gs-tabs [role=tab]").all():
        tab.click()
        clean(tab.inner_text().split("\n")[0])
    page.get_by_role("tab", name="Steps").click()
    page.get_by_role("button", name="Edit: copy").click()
    page.locator(".gs-popup").wait_for()
    clean("form of a step")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Mute: copy").click()
    page.locator(".gs-steps s").wait_for()
    clean("muted step")
    page.get_by_role("button", name="Mute: copy").click()
    page.locator(".gs-steps s").wait_for(state="detached")
    box(page, "y").focus()
    page.keyboard.press("q")
    page.locator(".gs-lens").wait_for()
    clean("lens")
    page.keyboard.press("Escape")
    apply(page)
    page.keyboard.press("Control+z")
    said(page, "undone:")
    page.get_by_role("tab", name="History").click()
    clean("history")
    set_theme(page, "Light")
    notebook.close()
