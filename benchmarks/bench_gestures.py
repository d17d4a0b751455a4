"""The gestures that tasks at the screen take, by mouse alone and by keyboard alone, beside their limits.

They are done in JupyterLab by what the browser tests do them with; each gesture is printed.
"""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.rows import Row, skipped
from tests.needs import _FIND


def rows() -> Iterator[Row]:
    """Yields a row for each task and way."""
    chromium = _FIND["chromium"][0]()
    if not chromium or importlib.util.find_spec("jupyterlab") is None:
        skipped("all of it", "no Chromium or no JupyterLab")
        return
    from playwright.sync_api import sync_playwright

    lab: Any = importlib.import_module("tests.lab")  # the harness of the browser tests
    tasks: Any = importlib.import_module("tests.browser.tasks")
    flags = importlib.import_module("tests.conftest")._CHROMIUM
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        server = lab.Server(Path(folder))
        try:
            page = browser.new_page(viewport={"width": 1400, "height": 900}, reduced_motion="reduce")
            notebook = lab.open_notebook(page, server, tasks.CELLS)
            for task, way, person in tasks.each(page, notebook):
                print(f"  {task.name}, by {way}: {'; '.join(person.gestures)}", file=sys.stderr, flush=True)
                yield Row(f"{task.name}, by {way}", len(person.gestures), None, task.limit, unit="gestures")
            notebook.close()
        finally:
            server.stop()
            browser.close()
