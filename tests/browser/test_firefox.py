"""Firefox shows the widget in a real JupyterLab, and an exported page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import graphsurgeon as gs
from tests.browser.hands import BUILD, IMPORTS, build, shot
from tests.firefox import Firefox
from tests.lab import write_notebook

pytestmark = [pytest.mark.deep, pytest.mark.browser]
_STATUS = "text => document.querySelector('.gs-status-text')?.textContent.includes(text)"
_THERE = "selector => !!document.querySelector(selector)"


@pytest.fixture
def firefox(tmp_path: Path) -> Iterator[Firefox]:
    """A window of Firefox."""
    folder = tmp_path / "profile"
    folder.mkdir()
    window = Firefox(folder)
    yield window
    window.close()


def test_jupyterlab_by_mouse_and_keys(firefox: Firefox, lab: Any) -> None:
    write_notebook(lab.root / "firefox.ipynb", [IMPORTS + BUILD, "ed = gs.open(build())\ned"])
    firefox.goto(lab.page_of("firefox.ipynb"))
    firefox.wait("""() => {
        const context = window.jupyterapp?.shell.currentWidget?.context;
        return context?.sessionContext?.session?.kernel?.connectionStatus === 'connected';
    }""")
    firefox.evaluate("() => { window.jupyterapp.commands.execute('notebook:run-all-cells'); }")
    firefox.wait(_THERE, ".gs-pane-source [data-name='y']")
    for name, key in (("x", "i"), ("y", "o")):
        firefox.click(f".gs-pane-source [data-name='{name}']")
        firefox.wait("name => document.querySelector('.gs-inspect-title')?.textContent === name", name)
        firefox.press(key)
        firefox.wait(
            "kind => document.querySelector('.gs-summary')?.textContent.includes(`1 ${kind}`)",
            {"i": "in", "o": "out"}[key],
        )
    firefox.press("c")
    firefox.wait(_THERE, ".gs-pane-destination [data-name='copy/y']")
    shot(firefox, "firefox-lab")
    firefox.click(".gs-doing .gs-primary")
    firefox.wait(
        "() => !!document.querySelector('[role=alertdialog]') || "
        "document.querySelector('.gs-status-text').textContent.includes('applied:')"
    )
    if firefox.evaluate(_THERE, "[role=alertdialog]"):
        firefox.click("[role=alertdialog] .gs-primary")
    firefox.wait(_STATUS, "applied:")


def test_an_exported_page_folds_unfolds_and_searches(firefox: Firefox, tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_text(gs.open(build()).to_html(open_folds=[]), encoding="utf-8")
    firefox.goto(file.as_uri())
    firefox.wait(_THERE, "[data-name='net/']")
    assert not firefox.evaluate(_THERE, "[data-name='net/mm']")
    firefox.click("[data-name='net/']", count=2)
    firefox.wait(_THERE, "[data-name='net/mm']")
    firefox.click("[aria-label='Search ops']")
    firefox.press("other")
    firefox.wait("() => document.querySelector('.gs-hit')?.textContent.includes('other')")
    firefox.click(".gs-hit")
    firefox.wait("() => document.querySelector('.gs-inspect-title')?.textContent.includes('other')")
    shot(firefox, "firefox-page")
