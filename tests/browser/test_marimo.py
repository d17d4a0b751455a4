"""marimo shows the widget: a running app in a real browser."""

from __future__ import annotations

import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from graphsurgeon.replica.cluster import free_ports
from tests.browser.hands import BUILD, IMPORTS, shot
from tests.lab import end
from tests.needs import ROOT
from tests.until import until

pytestmark = pytest.mark.deep
_APP = """import marimo

app = marimo.App(width="full")


@app.cell
def _():
{body}
    mo.ui.anywidget(gs.open(build()).view())
    return


if __name__ == "__main__":
    app.run()
"""


@pytest.fixture
def marimo(tmp_path: Path) -> Iterator[str]:
    """The address of a marimo app whose only cell shows the widget."""
    body = ["import marimo as mo", *(IMPORTS + BUILD).splitlines()]
    app, port = tmp_path / "app.py", free_ports(1)[0]
    app.write_text(_APP.format(body="\n".join(f"    {line}".rstrip() for line in body)), encoding="utf-8")
    address = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-m", "marimo", "run", str(app), "--headless", "--no-token", f"--port={port}"]
    with (tmp_path / "marimo.log").open("wb") as log:
        process = subprocess.Popen([*command, "--host=127.0.0.1"], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT)
        try:
            until(lambda: _answers(address, process), timeout=120)
            yield address
        finally:
            end(process)


def _answers(address: str, process: subprocess.Popen[bytes]) -> bool:
    assert process.poll() is None, "marimo ended"
    try:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(address, timeout=60).close()
    except OSError:
        return False
    return True


def test_the_widget_marks_copies_and_applies(marimo: str, page: Any) -> None:
    page.goto(marimo)
    page.locator(".gs-pane-source [data-name='y']").wait_for()
    for name, key in (("x", "i"), ("y", "o")):
        page.locator(f".gs-pane-source [data-name='{name}']").first.click()
        page.locator(".gs-inspect-title", has_text=name).wait_for()
        page.keyboard.press(key)
    page.locator(".gs-tag-out").first.wait_for()
    page.keyboard.press("c")
    page.locator(".gs-pane-destination [data-name='copy/y']").first.wait_for()
    shot(page, "marimo")
    page.keyboard.press("Control+Enter")
    page.locator(".gs-status-text", has_text="applied:").or_(page.get_by_role("alertdialog")).first.wait_for()
    if page.get_by_role("alertdialog").count():
        page.keyboard.press("Enter")
    page.locator(".gs-status-text", has_text="applied:").wait_for()
