"""The whole path: open, unfold, mark, preview, apply; the copy equals the original."""

from __future__ import annotations

from ast import literal_eval
from math import prod
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.graph.arrays import size_text
from tests.browser.hands import answered, apply, box, fit, painted, shot, table
from tests.widget.page import WidgetPage

INPUT = "InceptionV3/InceptionV3/MaxPool_5a_3x3/MaxPool"
OUTPUT = "InceptionV3/InceptionV3/Mixed_5b/concat"


def test_copy_a_block_by_hand(page: Any, corpus: Any) -> None:
    graph = gs.open(corpus.path("slim_inception_v3_infer")).graph
    session = tf.compat.v1.Session(graph=graph)
    with graph.as_default():
        session.run(tf.compat.v1.global_variables_initializer())
    ed = gs.open(session, title="inception")
    WidgetPage(page, ed.screen)
    page.wait_for_selector(".gs-pane svg.gs-svg")
    shot(page, "1_open")

    # see all of it, the stages open, and unfold a scope of one by double click
    fit(page)
    box(page, "InceptionV3/InceptionV3/Mixed_5b/").dblclick()
    box(page, OUTPUT).wait_for()
    assert "InceptionV3/InceptionV3/Mixed_5b/" in ed.screen.unfolded
    shot(page, "2_unfolded")

    # mark input and output by click and key
    fit(page)
    box(page, INPUT).click()
    answered(page)
    assert list(ed.selection.names) == [INPUT]
    page.keyboard.press("i")
    box(page, OUTPUT).click()
    page.keyboard.press("o")
    answered(page)
    assert len(ed.screen.region) > 20
    boundary = ed.screen.traits()["boundary"]
    assert [[tensor["tensor"] for tensor in boundary[end]] for end in ("inputs", "outputs")] == [
        [INPUT + ":0"],
        [OUTPUT + ":0"],
    ]
    assert boundary["leaks"] == []
    shot(page, "3_marked")

    # preview: the copy as ghosts, variables with what happens to each
    page.keyboard.press("c")
    page.wait_for_selector(".gs-pane-destination [data-name^='copy/']")
    counts = ed.draft.preview().counts
    assert counts["variables"] == 28
    check_preview(page, ed)
    before = len(ed.graph.get_operations())
    painted(page)
    shot(page, "4_preview")

    # apply, and prove it in Python
    apply(page)
    assert page.locator(".gs-status-text").text_content() == (
        f"applied: {counts['ops']} new ops under copy/, 28 variables"
    )
    answered(page)
    painted(page)
    # one graph: its own pane shows the copy now, where the preview was
    assert page.locator(".gs-pane-destination").is_hidden()
    assert inside(page, "source", "copy/" + OUTPUT)
    assert page.locator(".gs-pane-source .gs-selected").count() == 1
    assert len(ed.history) == 1
    assert len(ed.graph.get_operations()) > before
    shot(page, "5_applied")
    # original and copy give the same bits
    feed = np.random.RandomState(0).rand(2, 35, 35, 192).astype("float32")
    done = ed.history[-1].result
    want = session.run(OUTPUT + ":0", {INPUT + ":0": feed})
    got = ed.session(session).run(done[OUTPUT + ":0"], {done[INPUT + ":0"]: feed})
    assert np.array_equal(want, got)
    assert got.shape == (2, 35, 35, 256)
    assert np.abs(got).max() > 0
    assert got.dtype == np.float32


def check_preview(page: Any, ed: Any) -> None:
    """The preview on screen: ghosts in sight, dashed and with a plus; the variables and the new names as lists."""
    ghosts = page.locator(".gs-pane-destination .gs-box.gs-is-new")
    assert ghosts.count() >= 6
    for ghost in ghosts.all():
        assert ghost.locator(".gs-badge").text_content() == "+"
        assert ghost.locator(".gs-body").evaluate("e => getComputedStyle(e).strokeDasharray") != "none"
        assert inside(page, "destination", ghost.get_attribute("data-name"))
    assert scale(page, "destination") == pytest.approx(scale(page, "source"))  # before and after move as one
    for name in (INPUT, OUTPUT):
        assert inside(page, "source", name)

    rows = table(page, "Variables")
    assert sorted(row[0] for row in rows) == sorted(v.name for v in ed.draft.effect.variables)
    assert {(row[4], row[5]) for row in rows} == {("copy", "current value")}
    for name, was, (dtype, shape), size in ((row[0], row[1], row[2].split(" ", 1), row[3]) for row in rows):
        assert (name, dtype, size) == (f"copy/{was}", "float32", size_text(4 * prod(literal_eval(shape))))
    change_a_policy(page, ed, rows[0][1])
    names = [row[0] for row in table(page, "New ops")]
    assert sorted(names) == sorted(ed.draft.effect.new_names)
    page.get_by_role("tab", name="New ops").click()


def change_a_policy(page: Any, ed: Any, variable: str) -> None:
    """One variable is frozen in its row of the table, then given back its own; the plan and its code follow."""

    def choose(policy: str) -> None:
        page.get_by_role("combobox", name=f"Policy of {variable}", exact=True).select_option(policy)
        answered(page)
        assert dict(ed.draft.steps[0].variables)[variable] == policy

    choose("freeze")
    assert len(ed.draft.effect.variables) == 27
    assert f"{variable!r}: 'freeze'" in ed.draft.to_code()
    shot(page, "4_policy")
    choose("copy")


def inside(page: Any, pane: str, name: str) -> bool:
    """Says whether the box lies wholly in its pane."""
    area = page.locator(f".gs-pane-{pane} .gs-canvas").bounding_box()
    found = box(page, name, pane).locator(".gs-body").bounding_box()
    return all(
        area[at] - 1 <= found[at] and found[at] + found[size] <= area[at] + area[size] + 1
        for at, size in (("x", "width"), ("y", "height"))
    )


def scale(page: Any, pane: str) -> float:
    """Returns the zoom of a pane."""
    return page.locator(f".gs-pane-{pane} .gs-root").evaluate("g => g.transform.baseVal.consolidate().matrix.a")
