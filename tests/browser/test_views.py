"""Several views of one screen in a real notebook, in every theme; the clicked box stays, and unfolding is quick."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.hands import BUILD, IMPORTS, box, painted, said, shot
from tests.lab import open_notebook
from tests.until import until

TWO = [IMPORTS + BUILD, "ed = gs.open(build(), title='small')\nview = ed.view()\nview", "view"]

#: 50,000 nodes in towers, blocks and layers, with a loss that reads them all.
HUGE = """
graph_def = tf.compat.v1.GraphDef()
def node(name, op, *inputs):
    made = graph_def.node.add(name=name, op=op, input=inputs)
    made.attr["dtype" if op == "Placeholder" else "T"].type = 1
    return name
x, ends = node("x", "Placeholder"), []
for t in range(10):
    last = x
    for b in range(50):
        for i in range(100):
            last = node(f"tower_{'abcdefghij'[t]}/block{b}/op{i}", ("Neg", "Exp", "Tanh", "Abs", "Relu")[(i + i // 9 + t) % 5], last)
    ends.append(last)
total = graph_def.node.add(name="total", op="AddN", input=ends)
total.attr["T"].type, total.attr["N"].i = 1, len(ends)
ed = gs.open(graph_def, title="huge")
"""  # noqa: E501

_RECT = """name => { const all = [...document.querySelectorAll('.gs-pane-source .gs-item')];
    const body = all.find(g => g.dataset.name === name).querySelector('.gs-body').getBoundingClientRect();
    return [body.x, body.y, body.width, body.height]; }"""
_TOGGLE = """name => {
    const all = [...document.querySelectorAll('.gs-pane-source .gs-item')];
    const item = all.find(g => g.dataset.name === name);
    const was = item.classList.contains('gs-box');
    (was ? item : item.querySelector('.gs-heading')).dispatchEvent(new MouseEvent('dblclick', {bubbles: true}));
    return was;
}"""
_IS_BOX = """([name, box]) => [...document.querySelectorAll('.gs-pane-source .gs-item')]
    .find(g => g.dataset.name === name)?.classList.contains('gs-box') === box"""


def in_view(page: Any, index: int, what: str) -> Any:
    """Something in the view number `index`, from the top."""
    return page.locator(".gs").nth(index).locator(what).first


def test_two_views_stay_in_step_and_one_outlives_the_other(page: Any, lab: Any) -> None:
    notebook = open_notebook(page, lab, TWO)
    page.set_viewport_size({"width": 1400, "height": 1700})
    in_view(page, 1, ".gs-pane-source [data-name='x']").wait_for()
    in_view(page, 0, ".gs-pane-source [data-name='x']").click()
    in_view(page, 1, ".gs-pane-source .gs-selected[data-name='x']").wait_for()
    in_view(page, 1, ".gs-pane-source [data-name='y']").click()
    in_view(page, 0, ".gs-pane-source .gs-selected[data-name='y']").wait_for()
    assert page.locator(".gs-pane-source .gs-selected[data-name='x']").count() == 0
    page.keyboard.press("o")
    in_view(page, 0, ".gs-pane-source .gs-out[data-name='y']").wait_for()
    shot(page, "two-views")

    # the first is closed, the second goes on: on the page, and from Python
    page.evaluate(
        """() => { const book = window.jupyterapp.shell.currentWidget.content; book.activeCellIndex = 1;
          window.jupyterapp.commands.execute('notebook:clear-cell-output'); }"""
    )
    assert until(lambda: page.locator(".gs").count() == 1)
    in_view(page, 0, ".gs-pane-source [data-name='x']").click()
    assert until(lambda: notebook.ask("ed.selection.names") == ["x"])
    notebook.run("ed.screen.select(['total'])")
    in_view(page, 0, ".gs-pane-source .gs-selected[data-name='total']").wait_for()
    notebook.close()


@pytest.mark.parametrize("kind", ["lab", "notebook7"])
def test_every_theme_can_be_read(page: Any, kind: str, request: Any) -> None:
    notebook = open_notebook(page, request.getfixturevalue(kind), TWO[:2])
    box(page, "x").click()
    page.keyboard.press("i")
    box(page, "y").click()
    page.keyboard.press("o")
    said(page, "Boundary: 1 in, 1 out")
    seen = set()
    for theme, forced in (("Light", "none"), ("Dark", "none"), ("Light", "active"), ("Dark", "active")):
        page.emulate_media(forced_colors=forced, color_scheme=theme.lower())
        page.evaluate(
            "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab ' + theme})",
            theme,
        )
        page.wait_for_function("dark => document.body.dataset.jpThemeLight === String(!dark)", arg=theme == "Dark")
        page.wait_for_function("dark => !!document.querySelector('.gs.gs-dark') === dark", arg=theme == "Dark")
        page.locator("#jupyterlab-splash").wait_for(state="detached")
        ground, ink, *lines = page.evaluate(
            """() => { const style = (what, how) => getComputedStyle(document.querySelector(what))[how],
                edge = document.querySelector('.gs-pane-source .gs-edge'),
                stroke = () => ['.gs-line', '.gs-arrow'].map(of => getComputedStyle(edge.querySelector(of)).stroke),
                found = [style('.gs', 'backgroundColor'), style('.gs-pane-source .gs-box text', 'fill'), ...stroke()];
              edge.classList.add('gs-quiet-edge');
              found.push(...stroke());
              edge.classList.remove('gs-quiet-edge');
              return found; }"""
        )
        assert contrast(ground, ink) >= 4.5, f"{theme}, forced {forced}: {ink} on {ground}"
        for line in lines:
            assert contrast(ground, line) >= 3, f"{theme}, {forced}: {line} on {ground}"
        assert forced == "active" or contrast(ground, lines[0]) > contrast(ground, lines[2]) + 0.3, (
            "quiet edges are not"
        )
        seen.add((ground, ink))
        shot(page, f"theme-{kind}-{theme}-{forced}")
    assert len(seen) >= 3
    page.emulate_media(forced_colors="none")
    page.evaluate("() => window.jupyterapp.commands.execute('apputils:change-theme', {theme: 'JupyterLab Light'})")
    notebook.close()


def contrast(a: str, b: str) -> float:
    """The contrast of two colours, as WCAG has it."""
    lights = sorted((light(c) for c in (a, b)), reverse=True)
    return (lights[0] + 0.05) / (lights[1] + 0.05)


def light(colour: str) -> float:
    """The relative luminance of a colour written as rgb() or as color(srgb ...)."""
    numbers = [float(n) for n in colour[colour.index("(") + 1 : -1].replace("srgb", "").replace(",", " ").split()[:3]]
    parts = [n / (1 if "srgb" in colour else 255) for n in numbers]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_fifty_thousand_nodes_are_opened_searched_and_cut(page: Any, lab: Any) -> None:
    frames: list[int] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(len(frame))))
    notebook = open_notebook(page, lab, [IMPORTS + HUGE, "ed"])
    page.locator(".gs-pane-source .gs-box").first.wait_for()
    assert notebook.ask("len(ed)") == 50_002
    assert 8 <= page.locator(".gs-pane-source .gs-box").count() <= 60

    # find and reveal by keys
    page.locator(".gs-pane-source .gs-item[tabindex='0']").focus()
    for query, name, key in (
        ("tower_d block17 op50", "tower_d/block17/op50", "i"),
        ("/tower_d\\/block17\\/op62$/", "tower_d/block17/op62", "o"),
    ):
        page.keyboard.press("/")
        page.keyboard.press("Control+a")
        page.keyboard.type(query)
        page.locator(".gs-hit", has_text=name.rpartition("/")[2]).first.wait_for()
        page.keyboard.press("Enter")
        page.wait_for_function("name => document.activeElement.dataset.name === name", arg=name)
        page.keyboard.press(key)
    said(page, "Boundary: 1 in, 1 out, 12 ops")
    shot(page, "fifty-thousand")

    # what is folded and unfolded is in sight, with its beginning: it is wider than the pane
    canvas = page.locator(".gs-pane-source .gs-canvas").bounding_box()
    for _ in range(2):
        was = page.evaluate(_TOGGLE, "tower_d/block17/")
        page.wait_for_function(_IS_BOX, arg=["tower_d/block17/", not was])
        painted(page)
        x, y, _, _ = page.evaluate(_RECT, "tower_d/block17/")
        assert 0 <= x - canvas["x"] < canvas["width"], (x, canvas)
        assert 0 <= y - canvas["y"] < canvas["height"], (y, canvas)
    assert max(frames) < 1_000_000
    notebook.close()
