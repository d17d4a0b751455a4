"""The whole path in a real JupyterLab: open a real graph, unfold, mark, preview, apply; the copy equals the original."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.lab import open_notebook, until

INPUT = "InceptionV3/InceptionV3/MaxPool_5a_3x3/MaxPool"
OUTPUT = "InceptionV3/InceptionV3/Mixed_5b/concat"

CELLS = [
    "import os; os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'\nimport numpy as np, tensorflow as tf, graphsurgeon as gs",
    "ed = gs.open({path!r})\nsession = tf.compat.v1.Session(graph=ed.graph)\n"
    "with ed.graph.as_default():\n    session.run(tf.compat.v1.global_variables_initializer())\n"
    "ed = gs.open(session, title='inception')\nview = ed.view()\nview",
]

#: Runs original and copy on the same feed and says whether all bits are equal.
CHECK = """
feed = np.random.RandomState(0).rand(2, 35, 35, 192).astype('float32')
done = ed.history[-1].applied
now = ed.session(session)
want = session.run({output!r} + ':0', {{{input!r} + ':0': feed}})
got = now.run(done[{output!r} + ':0'], {{done[{input!r} + ':0']: feed}})
outcome = [bool(np.array_equal(want, got)), list(got.shape), float(np.abs(got).max()), got.dtype.name]
"""


def shot(page: Any, name: str) -> None:
    """Takes a screenshot for people to look at, where GRAPHSURGEON_SHOTS names a folder."""
    folder = os.environ.get("GRAPHSURGEON_SHOTS")
    if folder:
        page.screenshot(path=str(Path(folder) / f"{name}.png"))


def box(page: Any, name: str) -> Any:
    """The box or group of this name in the source pane."""
    return page.locator(f".gs-pane-source [data-name={json.dumps(name)}]").first


def test_copy_a_block_by_hand(page: Any, lab: Any, corpus: Any) -> None:
    path = str(corpus.path("slim_inception_v3_infer"))
    notebook = open_notebook(page, lab, [cell.format(path=path) if "{path" in cell else cell for cell in CELLS])
    page.wait_for_selector(".gs-pane svg")
    shot(page, "1_open")

    # see all of it, unfold a scope by double click
    page.get_by_role("button", name="Fit the picture").click()
    box(page, "InceptionV3/InceptionV3/Mixed_5b/").dblclick()
    box(page, OUTPUT).wait_for()
    assert "InceptionV3/InceptionV3/Mixed_5b/" in notebook.ask("ed.screen.unfolded")
    shot(page, "2_unfolded")

    # mark input and output by click and key
    page.get_by_role("button", name="Fit the picture").click()
    box(page, INPUT).click()
    assert until(lambda: notebook.ask("ed.selection.names") == [INPUT])
    page.keyboard.press("i")
    box(page, OUTPUT).click()
    page.keyboard.press("o")
    assert until(lambda: notebook.ask("len(ed.screen.region or ())") > 20)
    assert notebook.ask("[view.boundary['inputs'][0]['tensor'], view.boundary['outputs'][0]['tensor']]") == [
        INPUT + ":0",
        OUTPUT + ":0",
    ]
    assert notebook.ask("view.boundary['leaks']") == []
    shot(page, "3_marked")

    # preview: the copy as ghosts, variables with what happens to each
    page.keyboard.press("c")
    page.wait_for_selector(".gs-pane-destination [data-name^='copy/']")
    assert notebook.ask("ed.draft.preview().counts")["variables"] == 28
    before = notebook.ask("len(ed.graph.get_operations())")
    page.wait_for_timeout(300)
    shot(page, "4_preview")

    # apply, and prove it in Python
    page.keyboard.press("Control+Enter")
    confirm = page.get_by_role("button", name="Apply anyway")
    if confirm.count():
        confirm.click()
    assert until(lambda: notebook.ask("len(ed.history)") == 1)
    assert notebook.ask("len(ed.graph.get_operations())") > before
    shot(page, "5_applied")
    notebook.run(CHECK.format(input=INPUT, output=OUTPUT))
    equal, shape, largest, dtype = notebook.ask("outcome")
    assert equal
    assert shape == [2, 35, 35, 256]
    assert largest > 0
    assert dtype == "float32"
    notebook.close()
