"""Several views of one screen in a real notebook, in every theme, in the full window and in a view of its own."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.hands import BUILD, IMPORTS, box, painted, said, shot
from tests.lab import open_notebook, set_theme
from tests.until import until

pytestmark = pytest.mark.deep

TWO = [IMPORTS + BUILD, "ed = gs.open(build(), title='small')\nview = ed.view()\nview", "view"]


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
        set_theme(page, theme)
        page.wait_for_function("dark => !!document.querySelector('.gs.gs-dark') === dark", arg=theme == "Dark")
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
    set_theme(page, "Light")
    notebook.close()


def contrast(a: str, b: str) -> float:
    """The contrast of two colors, as WCAG has it."""
    lights = sorted((light(c) for c in (a, b)), reverse=True)
    return (lights[0] + 0.05) / (lights[1] + 0.05)


def light(color: str) -> float:
    """The relative luminance of a color written as rgb() or as color(srgb ...)."""
    numbers = [float(n) for n in color[color.index("(") + 1 : -1].replace("srgb", "").replace(",", " ").split()[:3]]
    parts = [n / (1 if "srgb" in color else 255) for n in numbers]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


#: What the widget takes of the window: its canvas and itself, from the top; and the scale of its picture.
ROOM = """() => {
  const [gs, canvas] = [".gs", ".gs-canvas"].map(at => document.querySelector(at).getBoundingClientRect());
  const texts = [...document.querySelectorAll(".gs-pane-source text")];
  return {
    canvas: canvas.height / innerHeight, width: gs.width / innerWidth, height: gs.height / innerHeight,
    scale: document.querySelector(".gs-pane-source .gs-root").getAttribute("transform").match(/scale.(.*)[)]/)[1],
    text: Math.min(...texts.map(text => parseInt(getComputedStyle(text).fontSize))),
  };
}"""


def test_the_canvas_takes_the_height_there_is(page: Any, lab: Any) -> None:
    page.set_viewport_size({"width": 1900, "height": 1000})
    notebook = open_notebook(page, lab, [IMPORTS + BUILD, "gs.open(build())"])
    box(page, "x").wait_for()
    painted(page)
    shot(page, "room-lab")
    room = page.evaluate(ROOM)
    assert room["canvas"] >= 0.6
    assert (room["scale"], room["text"] >= 11) == ("1.0000", True)

    box(page, "x").focus()
    page.keyboard.press("Shift+F")
    painted(page)
    shot(page, "room-full")
    full = page.evaluate(ROOM)
    assert (full["width"], full["height"]) == (1, 1)
    assert page.evaluate("() => document.elementFromPoint(4, 4).closest('.gs') !== null"), "nothing lies over it"
    page.keyboard.press("Escape")
    painted(page)
    assert page.evaluate(ROOM) == room

    # resized by hand, and so again when the cell has run again
    page.locator(".gs-grip").focus()
    for _ in range(3):
        page.keyboard.press("ArrowUp")
    lower = page.evaluate(ROOM)["height"]
    assert lower < room["height"] - 0.1
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:run-all-cells')")
    again = "lower => document.querySelector('.gs')?.offsetHeight / innerHeight - lower < 0.01"
    page.wait_for_function(again, arg=lower)

    # an output view of its own is filled, whatever was chosen for cells
    page.evaluate(
        """() => { const lab = window.jupyterapp, content = lab.shell.currentWidget.content;
                   content.activeCellIndex = 1;
                   return lab.commands.execute('notebook:create-output-view'); }"""
    )
    page.locator(".jp-LinkedOutputView .gs-item").first.wait_for()
    page.wait_for_function(
        """() => { const view = document.querySelector('.jp-LinkedOutputView'), gs = view.querySelector('.gs');
                   return gs.offsetHeight > 0.9 * view.clientHeight && view.scrollHeight <= view.clientHeight + 1; }"""
    )
    shot(page, "room-own-view")
    notebook.close()
