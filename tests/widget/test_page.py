"""The built bundle in Chromium, on a plain page: gestures, keys, what is sent and what is not, accessibility."""

from __future__ import annotations

import pytest

from graphsurgeon.plan.plan import without_muted
from graphsurgeon.plan.recipe_registry import Recipe
from tests.browser.hands import painted
from tests.widget.page import ON_EDGE
from tests.widget.subject import HOSTILE, plain_screen

CONTRAST = """e => {
  const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
  const paint = (fillStyle, globalAlpha) => Object.assign(canvas, {globalAlpha, fillStyle}).fillRect(0, 0, 1, 1);
  const light = () => [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  let shown = 1;
  for (let at = e; at; at = at.parentElement) shown *= getComputedStyle(at).opacity;
  paint(getComputedStyle(e.closest(".gs-popup")).backgroundColor, 1);
  const behind = light();
  paint(getComputedStyle(e).color, shown);
  const [low, high] = [behind, light()].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}"""
"""The contrast of the text of an element in a popup."""
BOX = "() => document.querySelector('.gs-layer-boxes .gs-item[aria-label*=\"%s\"]').getBoundingClientRect().toJSON()"


def marked(screen=None):
    """A screen with a boundary that leaks, and a plan."""
    screen = screen or plain_screen()
    for name in ("conv0/", "mixed/"):
        screen.unfold(name)
    for tensor in ("split:0", "split:1"):
        screen.mark_input(tensor)
    screen.mark_output("head/BiasAdd:0")
    screen.copy("grafted", "placeholder")
    return screen


def selected(shown):
    """What is selected on the screen that a page shows."""
    return list(shown.widget._screen.state.view.selected)


def test_click_selects_and_inspects(widget_page):
    shown = widget_page()
    shown.item("softmax2").click()
    shown.settle()
    assert shown.sent == [
        ("select", {"names": ["softmax2"], "mode": "set"}),
        ("details", {"pane": "source", "name": "softmax2"}),
    ]
    assert shown.page.locator(".gs-inspector h3").inner_text() == "softmax2"
    assert selected(shown) == ["softmax2"]


def test_highlight_is_there_before_any_answer(widget_page):
    shown = widget_page(answered=False)
    lit = shown.page.evaluate(
        """() => new Promise(done => {
          const box = document.querySelector('.gs-item[aria-label^="softmax2"]');
          box.dispatchEvent(new MouseEvent("click", {bubbles: true}));
          requestAnimationFrame(() => done([box.classList.contains("gs-selected"), box.getAttribute("aria-selected")]));
        })"""
    )
    assert lit == [True, "true"]


def test_ctrl_click_toggles(widget_page):
    shown = widget_page()
    shown.item("softmax2").click()
    shown.item("images").click(modifiers=["Control"])
    shown.settle()
    assert selected(shown) == ["softmax2", "images"]
    assert shown.page.locator(".gs-box.gs-selected").count() == 2
    shown.item("images").click(modifiers=["Control"])
    shown.settle()
    assert selected(shown) == ["softmax2"]


def test_pan_and_zoom_send_nothing(widget_page):
    shown = widget_page()
    mouse = shown.page.mouse
    before = shown.page.evaluate("() => document.querySelector('.gs-root').getAttribute('transform')")
    mouse.move(300, 300)
    mouse.down(button="middle")
    mouse.move(360, 340, steps=4)
    mouse.up(button="middle")
    assert before != shown.page.evaluate("() => document.querySelector('.gs-root').getAttribute('transform')")
    shown.page.keyboard.down("Control")
    mouse.wheel(0, -200)
    shown.page.keyboard.up("Control")
    for name in ("Zoom in", "Zoom out", "Fit to window", "%"):
        shown.page.get_by_role("button", name=name).click()
    shown.item("softmax2").focus()
    for key in "f+-0+":
        shown.page.keyboard.press(key)
    assert shown.sent == []


def test_plain_wheel_is_left_to_the_notebook(widget_page):
    shown = widget_page()
    before = shown.page.evaluate("() => document.querySelector('.gs-root').getAttribute('transform')")
    stopped = shown.page.evaluate(
        """() => !document.querySelector('.gs-canvas')
          .dispatchEvent(new WheelEvent('wheel', {deltaY: 9, cancelable: true}))"""
    )
    assert not stopped
    assert before == shown.page.evaluate("() => document.querySelector('.gs-root').getAttribute('transform')")


def test_shift_drag_selects_what_the_frame_touches(widget_page):
    shown = widget_page()
    a, b = shown.page.evaluate(BOX % "split"), shown.page.evaluate(BOX % "keep_prob")
    mouse = shown.page.mouse
    mouse.move(a["x"] - 12, a["y"] - 10)
    shown.page.keyboard.down("Shift")
    mouse.down()
    mouse.move(b["x"] + b["width"] + 8, b["y"] + b["height"] + 6, steps=5)
    mouse.up()
    shown.page.keyboard.up("Shift")
    shown.settle("select")
    assert set(selected(shown)) == {"split", "keep_prob"}


def test_zoomed_out_the_picture_fills_its_pane_and_a_frame_over_blank_canvas_selects_nothing(widget_page):
    shown = widget_page(plain_screen(destination=None))
    shown.page.set_viewport_size({"width": 1400, "height": 900})
    painted(shown.page)
    for _ in range(8):
        shown.page.get_by_role("button", name="Zoom out").click()
    places = "() => [...document.querySelectorAll('.gs-pane-source :is(.gs-canvas, .gs-svg.gs-far)')].map(e => {"
    places += " const r = e.getBoundingClientRect(); return [r.x, r.y, r.width, r.height]; })"
    canvas, picture = shown.page.evaluate(places)
    assert picture == canvas
    first = shown.page.locator(".gs-pane-source .gs-box").evaluate_all(
        "all => Math.min(...all.map(e => e.getBoundingClientRect().x))"
    )
    mouse = shown.page.mouse
    mouse.move(canvas[0] + 4, canvas[1] + 4)
    shown.page.keyboard.down("Shift")
    mouse.down()
    mouse.move(first - 8, canvas[1] + canvas[3] - 8, steps=5)
    assert shown.page.locator(".gs-touched").count() == 0
    mouse.up()
    shown.page.keyboard.up("Shift")
    shown.item("softmax2").click()
    shown.settle("select")
    assert selected(shown) == ["softmax2"]


def test_a_frame_ends_at_the_edges_of_its_pane(widget_page):
    shown = widget_page()
    page, mouse = shown.page, shown.page.mouse
    canvas = page.locator(".gs-pane-source .gs-canvas").bounding_box()
    mouse.move(canvas["x"] + 4, canvas["y"] + canvas["height"] - 4)
    page.keyboard.down("Shift")
    mouse.down()
    for x, y in [(2, 2), (canvas["x"] + canvas["width"] + 200, 2)]:  # over the outline; over the other pane
        mouse.move(x, y, steps=3)
        frame = page.locator(".gs-over-line").bounding_box()
        for at, size in (("x", "width"), ("y", "height")):
            assert canvas[at] - 4 <= frame[at]
            assert frame[at] + frame[size] <= canvas[at] + canvas[size] + 4
    mouse.up()
    page.keyboard.up("Shift")


def test_the_inspector_shows_the_name_of_an_op_whose_scopes_have_long_names(widget_page):
    scope, name = "/".join(f"scope_{i}_{'s' * 60}" for i in range(3)), f"op_{'z' * 80}"
    shown = widget_page(plain_screen([(f"{scope}/{name}", "Placeholder", [])], destination=None))
    shown.page.set_viewport_size({"width": 1400, "height": 900})
    shown.widget.simulate("select", names=[f"{scope}/{name}"])
    leaf = shown.page.locator(".gs-inspect-title .gs-leaf")
    leaf.wait_for()
    shown.settle("details")  # which draws the inspector again
    assert leaf.text_content() == name
    below = shown.page.locator(".gs-inspector button", has_text="Rename").bounding_box()
    at = leaf.bounding_box()
    assert leaf.evaluate("e => [e.scrollHeight - e.clientHeight, e.scrollWidth - e.clientWidth]") == [0, 0]
    assert at["y"] + at["height"] <= below["y"] < 400
    assert shown.page.locator(".gs-inspect-title").get_attribute("title") == f"{scope}/{name}"


#: The controls whose ring of focus a part around them cuts off.
CUT_RINGS = """() => [...document.querySelectorAll(".gs :is(button, input, select, [tabindex])")].filter(e => {
  if (!e.checkVisibility() || e.closest("svg") || e.disabled) return false;
  e.focus({preventScroll: true, focusVisible: true});
  e.scrollIntoView({block: "nearest"});
  const style = getComputedStyle(e), grow = parseFloat(style.outlineWidth) + parseFloat(style.outlineOffset);
  const r = e.getBoundingClientRect();
  for (let up = e.parentElement; style.outlineStyle !== "none" && up.tagName !== "MAIN"; up = up.parentElement) {
    if (getComputedStyle(up).overflow === "visible" || r.height > up.clientHeight) continue;
    const a = up.getBoundingClientRect(), x = a.x + up.clientLeft, y = a.y + up.clientTop;
    const over = [x - r.left, y - r.top, r.right - x - up.clientWidth, r.bottom - y - up.clientHeight];
    if (Math.max(...over) + grow > 0.5) return true;
  }
  return false;
}).map(e => e.outerHTML.slice(0, 120))"""


def test_no_ring_of_focus_is_cut_off(widget_page):
    shown = widget_page(marked())
    shown.item("images").click()
    shown.settle()
    shown.page.keyboard.press("Tab")
    for tab in ("Boundary", "Mapping", "Steps", "Variables", "New ops"):
        shown.page.get_by_role("tab", name=tab).click()
        assert shown.page.evaluate(CUT_RINGS) == [], tab


def camera(shown):
    """Where the source pane looks."""
    painted(shown.page)
    return shown.page.locator(".gs-pane-source .gs-root").get_attribute("transform")


def test_undo_and_redo_restore_the_camera(widget_page):
    screen = plain_screen(destination=None)
    for name in ("conv0/", "mixed/", "head/"):
        screen.unfold(name)
    shown = widget_page(screen)
    page, after = shown.page, shown.page.locator(".gs-pane-destination")
    page.set_viewport_size({"width": 1400, "height": 900})
    shown.item("mixed/concat").click()
    shown.settle("select")
    before = camera(shown)
    for pans in (False, True, False):
        page.keyboard.press("Delete")
        after.wait_for()
        during = camera(shown)
        assert during != before
        if pans:
            page.mouse.move(100, 300)
            page.mouse.down(button="middle")
            page.mouse.move(160, 340, steps=4)
            page.mouse.up(button="middle")
            during = camera(shown)
        page.keyboard.press("Control+z")
        after.wait_for(state="hidden")
        assert camera(shown) == before
    page.keyboard.press("Control+y")
    after.wait_for()
    assert camera(shown) == during
    page.keyboard.press("Control+Enter")  # the picture has room again
    after.wait_for(state="hidden")
    shown.settle("apply")
    assert camera(shown) == before
    for key in ("Control+z", "Control+y", "Control+z"):
        page.keyboard.press(key)
        shown.settle()
        shown.push()
        assert camera(shown) == before


def test_a_panel_that_is_opened_and_closed_leaves_the_camera(widget_page):
    screen = plain_screen(destination=None)
    screen.mark_output("softmax2:0")
    shown = widget_page(screen)
    shown.page.set_viewport_size({"width": 1400, "height": 900})
    shown.page.get_by_role("button", name="Fit to window").click()
    before, tab = camera(shown), shown.page.get_by_role("tab", name="Boundary")
    tab.click()
    assert camera(shown) != before, "the marked box stays in view"
    assert camera(shown).endswith("scale(1.0000)")
    assert before.endswith("scale(1.0000)")
    assert shown.page.evaluate("() => document.querySelector('.gs-box.gs-out').getBoundingClientRect().bottom") < (
        shown.page.evaluate("() => document.querySelector('.gs-panel').getBoundingClientRect().top")
    )
    tab.click()
    assert camera(shown) == before


def test_the_bar_at_the_selection_has_a_place_in_a_narrow_pane(widget_page):
    shown = widget_page(plain_screen(destination=None))
    shown.page.set_viewport_size({"width": 600, "height": 900})
    shown.item("split").click()
    shown.settle("select")
    bar = shown.page.get_by_role("toolbar", name="Actions for the selection")
    bar.get_by_role("button", name="More").wait_for()
    pane = shown.page.locator(".gs-pane-source .gs-canvas").bounding_box()
    assert bar.bounding_box()["width"] < pane["width"] < 638, "in one line, it would be wider"


def test_double_click_unfolds_in_place_and_folds_again(widget_page):
    shown = widget_page()
    box = shown.page.evaluate(BOX % "mixed/")
    kept = shown.page.evaluate("() => { window.kept = document.querySelector('[aria-label^=\"images\"]'); }")
    shown.item("mixed/").dblclick()
    shown.page.wait_for_selector('.gs-group[aria-label*="mixed/"]')
    group = shown.page.evaluate(
        "() => document.querySelector('.gs-group[aria-label*=\"mixed/\"] .gs-body').getBoundingClientRect().toJSON()"
    )
    body = shown.sent[-1]
    assert body == ("unfold", {"pane": "source", "name": "mixed/"})
    assert abs(group["x"] + group["width"] / 2 - box["x"] - box["width"] / 2) < 8  # the middle of the upper side
    assert abs(group["y"] - box["y"]) < 8
    assert shown.page.evaluate("() => window.kept.isConnected"), kept
    assert "mixed/" in shown.page.evaluate("() => document.activeElement.getAttribute('aria-label')")
    shown.page.locator('.gs-group[aria-label*="mixed/"] .gs-heading').dblclick()
    shown.page.wait_for_selector('.gs-box[aria-label*="mixed/"]')
    assert shown.sent[-1] == ("fold", {"pane": "source", "name": "mixed/"})


def test_keys_from_boundary_to_apply(widget_page):
    shown = widget_page()
    press = shown.page.keyboard.press
    shown.page.keyboard.press("Tab")
    shown.item("split").focus()
    press("i")
    shown.settle("mark_input")
    shown.item("softmax2").focus()
    press("o")
    shown.settle("mark_output")
    assert shown.page.locator(".gs-summary").inner_text().replace("\n", " ").startswith("▷ 1 in ◁ 1 out")
    press("c")
    shown.settle("copy")
    assert shown.page.locator(".gs-pane-destination").is_visible()
    shown.page.locator('.gs-pane-source .gs-item[aria-label^="softmax2"]').focus()
    press("Control+z")
    shown.settle("undo")
    press("Control+Shift+Z")
    shown.settle("redo")
    press("Control+Enter")
    shown.page.get_by_role("alertdialog").get_by_role("button", name="Apply").click()
    shown.settle("apply")
    verbs = [verb for verb, _ in shown.sent]
    assert verbs == ["mark_input", "mark_output", "copy", "undo", "redo", "apply"]
    assert shown.widget._screen.traits()["plan"]["applied"].startswith("applied: ")


def test_the_output_chosen_in_the_inspector_is_the_one_marked(widget_page):
    shown = widget_page()
    shown.item("split").click()
    shown.page.get_by_role("radio", name=":1").check()
    shown.item("split").focus()
    shown.page.keyboard.press("i")
    shown.settle("mark_input")
    assert shown.sent[-1] == ("mark_input", {"tensor": "split:1"})


def test_m_and_m_connect_and_ask_for_the_input(widget_page):
    shown = widget_page(marked())
    shown.page.get_by_role("button", name="Fit to window").click()
    shown.page.locator('.gs-pane-destination .gs-item[aria-label^="scale"]').focus()
    shown.page.keyboard.press("m")
    assert "scale:0" in shown.page.locator(".gs-status-text").inner_text()
    shown.widget.simulate("unfold", pane="destination", name="grafted/head/")
    shown.push()
    shown.page.locator('.gs-pane-destination .gs-item[aria-label*="grafted/head/MatMul"]').focus()
    shown.page.keyboard.press("m")
    shown.page.get_by_role("menuitem").nth(1).click()
    shown.settle("connect")
    assert shown.sent[-1] == ("connect", {"tensor": "scale:0", "to": "grafted/head/MatMul", "input": 1})


def test_the_name_of_an_open_scope_is_seen(widget_page):
    screen = plain_screen(destination=None)
    screen.unfold("head/")
    heading = widget_page(screen).page.locator(".gs-group[data-name='head/'] .gs-heading")
    assert heading.text_content() == "head"
    assert heading.evaluate("e => getComputedStyle(e).opacity") == "1"


def test_a_rewired_edge_is_drawn_thick_with_an_open_head_and_the_lost_one_dotted_with_a_cross(widget_page):
    screen = plain_screen(destination=None)
    screen.unfold("head/")
    screen.connect("head/MatMul:0", to="softmax2", input=0)
    page = widget_page(screen).page
    style = "e => [getComputedStyle(e).strokeWidth, getComputedStyle(e).strokeDasharray]"
    joined, lost = (
        page.locator(".gs-pane-destination .gs-is-joined"),
        page.locator(".gs-pane-source .gs-edge.gs-is-removed"),
    )
    assert joined.locator(".gs-line").evaluate(style) == ["3px", "none"]
    head = joined.locator(".gs-arrow").evaluate("e => getComputedStyle(e).fill")
    assert head == page.locator(".gs").evaluate("e => getComputedStyle(e).backgroundColor")
    assert lost.locator(".gs-line").evaluate(style)[1] != "none"
    assert lost.locator(".gs-badge").text_content() == "×"
    unread = page.locator('.gs-pane-destination .gs-item[aria-label*="head/BiasAdd"] .gs-badge')
    assert unread.text_content() == "×"


def test_a_tensor_is_dragged_to_what_shall_read_it(widget_page):
    shown = widget_page(plain_screen(destination=None))
    page, mouse = shown.page, shown.page.mouse
    page.get_by_role("button", name="Fit to window").click()
    page.mouse.move(*_middle(shown, "images"))
    port = page.locator(".gs-port-out").first.bounding_box()
    mouse.move(port["x"] + port["width"] / 2, port["y"] + port["height"] / 2)
    mouse.down()
    mouse.move(*_middle(shown, "softmax2"), steps=5)
    shown.settle("input_candidates")
    page.locator(".gs-tip", has_text="input 0 of softmax2").wait_for()
    assert page.locator(".gs-fits").count() > 1
    assert page.locator(".gs-item[aria-label^='softmax2'].gs-fits.gs-aimed").count() == 1
    mouse.up()
    shown.settle("connect")
    assert shown.sent[-1] == ("connect", {"tensor": "images:0", "to": "softmax2", "input": 0})
    assert page.locator(".gs-fits, .gs-aimed").count() == 0


def _middle(shown, name):
    box = shown.page.evaluate(BOX % name)
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_a_tensor_of_the_other_graph_is_copied_with_what_makes_it(widget_page):
    shown = widget_page()
    page, mouse = shown.page, shown.page.mouse
    mouse.move(*_middle(shown, "softmax2"))
    port = page.locator(".gs-pane-source .gs-port-out").first.bounding_box()
    x, y = port["x"] + port["width"] / 2, port["y"] + port["height"] / 2
    mouse.move(x, y)
    mouse.down()
    box = page.locator('.gs-pane-destination .gs-item[aria-label^="scale"]').bounding_box()
    mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=5)
    shown.settle("input_candidates")
    page.locator(".gs-tip", has_text="input 0 of scale: copies the ").wait_for()
    cut = page.locator(".gs-over-svg").evaluate(
        """e => {
          const [top, right, bottom, left] = getComputedStyle(e).clipPath.match(/[-.\\d]+(?=px)/g).map(Number);
          const at = e.getBoundingClientRect(), room = document.querySelector(".gs-pane-row").getBoundingClientRect();
          return [at.top + top - room.top, at.right - right - room.right, at.bottom - bottom - room.bottom,
                  at.left + left - room.left].map(Math.abs);
        }"""
    )
    assert max(cut) < 1.5, "the wire is cut off at the edges of the pictures"
    mouse.up()
    page.get_by_role("menuitem", name="that compute it, and connect").click()
    shown.settle("copy_and_connect")
    assert shown.sent[-1] == ("copy_and_connect", {"tensor": "softmax2:0", "to": "scale", "input": 0, "kinds": []})
    assert page.locator(".gs-pane-destination .gs-edge.gs-is-joined").count() == 1


def test_the_menu_of_an_edge_inserts_on_it_and_the_inspector_holds_its_words(widget_page):
    names = [f"network_{'x' * 40}/layer_{i}_{'y' * 40}" for i in range(2)]
    screen = plain_screen([(names[0], "Neg", []), (names[1], "Neg", [names[0]])], None)
    shown = widget_page(screen)
    page = shown.page
    page.get_by_role("button", name="Fit to window").click()
    page.mouse.click(*page.locator(".gs-edge .gs-line").first.evaluate(ON_EDGE), button="right")
    assert page.locator(".gs-menu .gs-popup-title").inner_text() == f"{names[0]}:0"
    assert page.locator(".gs-inspect-title").inner_text() == f"{names[0]}:0"
    inside = page.evaluate(
        """() => [...document.querySelectorAll(".gs-inspector *")].map(e => {
          const range = document.createRange(), all = document.querySelector(".gs-inspector").getBoundingClientRect();
          range.selectNodeContents(e);
          return range.getBoundingClientRect().right - all.right;
        })"""
    )
    assert max(inside) <= 0
    page.get_by_role("menuitem", name="Insert op").click()
    page.get_by_role("combobox", name="Op type (one input)").fill("Relu6")
    page.keyboard.press("Enter")
    shown.settle("insert")
    sent = {"op": "Relu6", "on": f"{names[0]}:0", "name": None, "only": [names[1]]}
    assert shown.sent[-1] == ("insert", sent)


def test_apply_asks_when_there_are_warnings(widget_page):
    shown = widget_page(marked())
    shown.page.get_by_role("button", name="Apply").click()
    dialog = shown.page.get_by_role("alertdialog")
    assert "1 new variable will start from initial values" in dialog.inner_text()
    assert shown.sent == []
    dialog.get_by_role("button", name="Apply").click()
    shown.settle("apply")
    assert shown.sent == [("apply", {})]


def test_what_becomes_of_a_variable_is_chosen_in_its_row(widget_page):
    shown = widget_page(marked())
    shown.page.get_by_role("tab", name="Variables").click()
    first = shown.page.get_by_role("combobox", name="Policy of head/weights")
    assert first.input_value() == "copy"
    first.select_option("initial")
    shown.settle("set_policy")
    assert shown.sent[-1] == ("set_policy", {"step": 0, "variable": "head/weights", "policy": "initial"})
    assert shown.page.get_by_role("combobox", name="Policy of head/weights").input_value() == "initial"


def test_search_reveals(widget_page):
    shown = widget_page()
    shown.item("images").focus()
    shown.page.keyboard.press("/")
    shown.page.keyboard.type("Dropout")
    shown.page.wait_for_selector(".gs-hit")
    shown.page.keyboard.press("Enter")
    shown.settle("reveal")
    assert ("reveal", {"pane": "source", "name": "mixed/b/Dropout"}) in shown.sent
    shown.page.wait_for_function("() => document.activeElement.getAttribute('aria-label')?.includes('mixed/b/Dropout')")


def test_hits_are_whole_and_have_the_room_of_an_empty_inspector(widget_page):
    blocks = [f"network/block4/unit_{i}/bottleneck_v2/conv1/convolution" for i in range(30)]
    shown = widget_page(plain_screen([(name, "Conv2D", []) for name in blocks]))
    page = shown.page
    page.get_by_role("combobox", name="Search ops").fill("op:Conv2D unit")
    page.wait_for_selector(".gs-hit")
    hits = page.locator(".gs-hit-name")
    assert len(set(hits.all_inner_texts())) == hits.count() > 20
    assert page.evaluate("() => [...document.querySelectorAll('.gs-hit')].every(e => e.scrollWidth <= e.clientWidth)")
    assert page.locator(".gs-hit").first.locator("b").all_inner_texts() == ["unit", "Conv2D"]
    column = page.locator(".gs-right").bounding_box()["height"]
    drop = page.locator(".gs-drop")
    assert drop.bounding_box()["height"] > 0.7 * column
    page.locator(".gs-hit").first.click()
    shown.settle("details")
    assert drop.bounding_box()["height"] < 0.5 * column


def test_why_a_recipe_does_not_apply_is_readable_and_stays_in_its_column(widget_page):
    why = f"'gradients/{'vgg_16_' * 12}/dropout/mul_1_grad/Mul' masks a tensor"
    names = "abcdefgh"
    recipes = [Recipe(name, f"Remove {name}", print, "Strip", unavailable_reason=lambda _: why) for name in names]
    screen = plain_screen(destination=None, recipes=recipes)
    page = widget_page(screen).page
    page.get_by_role("button", name="Recipes").click()
    page.get_by_role("menuitem", name="8 recipes do not apply").click()
    reasons = page.locator(".gs-why")
    reasons.first.wait_for()
    assert reasons.count() == len(names)
    inside = page.evaluate(
        """() => [...document.querySelectorAll(".gs-why")].map(e => {
          const range = document.createRange(), column = e.closest(".gs-choice").getBoundingClientRect();
          range.selectNodeContents(e);
          return Math.round(column.right - range.getBoundingClientRect().right);
        })"""
    )
    assert min(inside) >= 0
    assert min(reasons.nth(i).evaluate(CONTRAST) for i in range(len(names))) >= 4.5


def test_a_leak_becomes_an_input_by_its_button(widget_page):
    shown = widget_page(marked())
    shown.page.get_by_role("tab", name="Boundary").click()
    shown.page.get_by_role("button", name="Add as input keep_prob:0").click()
    shown.settle("add_leak")
    assert shown.page.locator(".gs-tag-leak").count() == 0


def test_a_refused_verb_is_said(widget_page):
    shown = widget_page()
    shown.item("images").focus()
    shown.page.keyboard.press("Control+z")
    shown.settle("undo")
    assert "there is nothing to take back" in shown.page.locator(".gs-status-text").inner_text()


def test_a_busy_kernel_is_said_and_can_be_cancelled(widget_page):
    shown = widget_page(answered=False)
    shown.item("mixed/").dblclick()
    shown.page.wait_for_function("() => document.querySelector('.gs-status-text').textContent.startsWith('Waiting')")
    shown.page.locator(".gs-status").get_by_role("button", name="Cancel").click()
    assert shown.sent[-1] == ("cancel", {})


def test_hostile_names_stay_text(widget_page):
    names = [f"{i}{text}" for i, text in enumerate(HOSTILE)]
    leak, given, read = names[4], names[0], names[2]
    ops = [(leak, "Placeholder", []), *((name, name, []) for name in names if name not in (leak, read))]
    ops.append((read, read, [leak, given]))
    screen = plain_screen(ops, ops)
    screen.mark_input(given)
    screen.mark_output(read)
    code = screen.draft.copy(screen.region, to=HOSTILE[0], unmapped="placeholder")  # by hand it is refused
    screen.restore(screen.state.replace(draft=code))
    shown = widget_page(screen)
    for name in names:
        shown.page.evaluate(
            """i => document.querySelectorAll('.gs-pane-source .gs-box')[i]
              .dispatchEvent(new MouseEvent('click', {bubbles: true}))""",
            names.index(name),
        )
        shown.settle()
    for tab in ("Errors", "Steps", "New ops", "Boundary"):
        shown.page.get_by_role("tab", name=tab).click()
    found = shown.page.evaluate(
        """() => [window.hacked ?? null,
          host.querySelectorAll("img, script, a, iframe, foreignObject, image, use").length,
          [...host.querySelectorAll("*")].flatMap(e => [...e.attributes])
            .filter(a => /^on|href|^src$/.test(a.name)).length,
          /[\\u202a-\\u202e\\u0000]/.test(host.textContent)]"""
    )
    assert found == [None, 0, 0, False]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe(widget_page, axe, dark):
    shown = widget_page(marked(), dark=dark)
    shown.page.get_by_role("button", name="Fit to window").click()
    shown.item("images").click()
    shown.settle()
    assert shown.axe() == []
    for tab in ("Boundary", "Warnings", "Steps", "Variables", "Code"):
        shown.page.get_by_role("tab", name=tab).click()
        assert shown.axe() == [], tab
    shown.page.keyboard.press("?")
    assert shown.axe() == []
    shown.page.keyboard.press("Escape")
    shown.page.locator('.gs-pane-destination .gs-item[aria-label^="scale"]').focus()
    shown.page.keyboard.press("e")
    assert shown.axe() == []
    shown.page.get_by_role("menuitem", name="Insert op after it").click()
    assert shown.axe() == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_of_what_one_goes_about_with(widget_page, axe, dark):
    shown = widget_page(dark=dark)
    for _ in range(4):
        shown.page.get_by_role("button", name="Zoom in").click()
    assert shown.page.locator(".gs-pane-source .gs-map").is_visible()
    shown.page.keyboard.press("/")
    shown.page.locator(".gs-search input").fill("mixed")
    shown.page.wait_for_selector(".gs-hit")
    assert shown.axe() == []
    shown.page.keyboard.press("Escape")
    shown.item("images").focus()
    shown.page.keyboard.press("v")
    assert shown.axe() == []
    shown.page.keyboard.press("Escape")
    shown.page.keyboard.press("l")
    edge = shown.page.get_by_role("treeitem", name="edge: images:0 to conv0, float32 (), 1 of 1")
    edge.wait_for(state="attached")
    assert edge.evaluate("edge => edge === document.activeElement")
    assert shown.axe() == []


def test_the_map_moves_the_picture_and_the_frame(widget_page):
    shown = widget_page()
    for _ in range(5):
        shown.page.get_by_role("button", name="Zoom in").click()
    area = shown.page.locator(".gs-pane-source .gs-map > svg").bounding_box()
    root = shown.page.locator(".gs-pane-source .gs-root")
    before, frame = root.get_attribute("transform"), shown.page.locator(".gs-pane-source .gs-map-seen")
    seen = frame.get_attribute("y")
    shown.page.mouse.click(area["x"] + area["width"] / 2, area["y"] + area["height"] - 4)
    assert root.get_attribute("transform") != before
    assert float(frame.get_attribute("y")) > float(seen)
    assert shown.sent == []
    shown.item("images").focus()
    shown.page.keyboard.press("w")
    assert not shown.page.locator(".gs-pane-source .gs-map").is_visible()


def test_nothing_moves_by_itself_with_reduced_motion(widget_page):
    shown = widget_page(answered=False)
    shown.page.emulate_media(reduced_motion="reduce")
    shown.item("mixed/").dblclick()
    shown.page.wait_for_function("() => document.querySelector('.gs-status-text').textContent.startsWith('Waiting')")
    assert shown.page.evaluate("() => document.getAnimations().length") == 0
    shown.page.emulate_media(reduced_motion="no-preference")
    assert shown.page.evaluate("() => document.getAnimations().length") == 1


def test_a_screen_reader_hears_what_a_box_is_and_what_it_does(widget_page):
    shown = widget_page(marked())
    heard = shown.page.evaluate(
        """() => [...host.querySelectorAll('[role=treeitem]')].map(e =>
          [e.getAttribute("aria-label") || e.textContent, e.getAttribute("aria-level"),
           e.hasAttribute("aria-selected")])"""
    )
    assert all(label.strip() and level and selected for label, level, selected in heard)
    assert shown.page.locator(".gs-status-text").get_attribute("aria-live") == "polite"
    assert shown.page.locator(".gs-pane-source .gs-svg").get_attribute("aria-label").startswith("source graph")
    for name in ("Back ( , )", "Forward ( . )", "Views (v)", "Fit to window (f)"):
        assert shown.page.get_by_role("button", name=name, exact=True).count() == 1


def test_an_op_is_inserted_by_keys_alone(widget_page):
    shown = widget_page(plain_screen(destination=None))
    shown.item("images").focus()
    shown.page.keyboard.press("e")
    for _ in range(3):
        shown.page.keyboard.press("ArrowDown")
    shown.page.keyboard.press("Enter")
    shown.page.keyboard.type("Relu")
    shown.page.keyboard.press("Tab")
    shown.page.keyboard.type("gate")
    shown.page.keyboard.press("Enter")
    shown.settle("insert")
    assert shown.sent[-1] == ("insert", {"op": "Relu", "on": "images:0", "name": "gate", "only": []})
    assert shown.page.evaluate("document.activeElement.getAttribute('aria-label')").startswith("images")


def test_every_focusable_element_keeps_the_notebooks_keys_away(widget_page):
    shown = widget_page(marked())
    bare = shown.page.evaluate(
        """() => [...host.querySelectorAll("button, input, select, textarea, [tabindex]")]
          .filter(e => e.getAttribute("data-lm-suppress-shortcuts") !== "true").map(e => e.outerHTML.slice(0, 120))"""
    )
    assert bare == []


def test_one_tab_stop_for_each_tree(widget_page):
    shown = widget_page(marked())
    counts = shown.page.evaluate(
        "() => [...host.querySelectorAll('[role=tree]')].map(t => t.querySelectorAll('[tabindex=\"0\"]').length)"
    )
    assert counts == [1, 1, 1]


def test_arrows_follow_edges(widget_page):
    shown = widget_page()
    shown.item("images").focus()
    seen = []
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "ArrowUp"):
        shown.page.keyboard.press(key)
        seen.append(shown.page.evaluate("() => document.activeElement.querySelector('.gs-label').textContent"))
    assert seen == ["conv0", "split", "mixed", "split"]
    assert shown.sent == []


@pytest.mark.parametrize(("width", "both"), [(1300, True), (760, False)])
def test_panes_become_tabs_in_a_narrow_cell(widget_page, width, both):
    shown = widget_page(marked())
    shown.page.set_viewport_size({"width": width, "height": 800})
    painted(shown.page)
    assert shown.page.locator(".gs-pane-source").is_visible()
    assert shown.page.locator(".gs-pane-destination").is_visible() == both
    if not both:
        shown.page.get_by_role("button", name="Destination").click()
        assert shown.page.locator(".gs-pane-destination").is_visible()


def test_in_a_narrow_cell_the_preview_comes_to_the_front_and_keeps_the_keyboard(widget_page):
    shown = widget_page(plain_screen(destination=None))
    shown.page.set_viewport_size({"width": 760, "height": 800})
    painted(shown.page)
    for name, key in (("split", "i"), ("softmax2", "o")):
        shown.item(name).focus()
        shown.page.keyboard.press(key)
    shown.settle("mark_output")
    shown.page.keyboard.press("c")
    shown.settle("copy")
    assert shown.page.locator(".gs-pane-destination").is_visible()
    mapping = "() => document.activeElement.closest('.gs-plan')?.contains(document.querySelector('.gs-entered'))"
    assert shown.page.evaluate(mapping)  # what feeds the copy is said next
    shown.page.keyboard.press("Escape")
    assert shown.page.evaluate("() => !!document.activeElement.closest('.gs-pane-destination')")
    shown.page.keyboard.press("Control+z")
    shown.settle("undo")
    assert shown.page.locator(".gs-pane-source").is_visible()
    assert shown.page.evaluate("() => !!document.activeElement.closest('.gs-pane-source')")


def test_ghosts_come_into_sight(widget_page):
    shown = widget_page()
    shown.page.set_viewport_size({"width": 1400, "height": 900})
    shown.widget.simulate("mark_output", tensor="softmax2:0")
    shown.widget.simulate("copy", to="grafted", unmapped="placeholder")
    shown.push()
    inside = shown.page.evaluate(
        """() => {
          const pane = document.querySelector(".gs-pane-destination .gs-canvas").getBoundingClientRect();
          return [...document.querySelectorAll(".gs-pane-destination .gs-box.gs-is-new .gs-body")]
            .map(e => e.getBoundingClientRect())
            .map(r => r.top >= pane.top && r.left >= pane.left && r.left < pane.right);
        }"""
    )
    assert inside
    assert all(inside)


def test_the_first_view_is_full_size_when_it_fits(widget_page):
    shown = widget_page(plain_screen([("a", "Placeholder", []), ("b", "Placeholder", [])]))
    assert "scale(1.0000)" in shown.page.locator(".gs-pane-source .gs-root").get_attribute("transform")


def test_closing_the_view_leaves_no_listener(widget_page):
    shown = widget_page()
    shown.page.evaluate("close()")
    assert shown.page.evaluate("Object.values(heard).every(list => list.length === 0)")
    assert shown.page.evaluate("host.childElementCount") == 0


def test_a_selection_scrolls_the_outline_and_never_the_notebook(widget_page):
    ops = [(f"{scope}/op{leaf}", "Placeholder", []) for scope in "abcde" for leaf in "abcdefghijkl"]
    screen = plain_screen(ops, destination=None)
    for scope in "abcde":
        screen.outline_open(f"{scope}/")
    shown = widget_page(screen)
    shown.page.evaluate(
        """() => { const cell = document.createElement("div"); cell.style.height = "3000px";
          document.body.prepend(cell); window.scrollTo(0, 200); }"""
    )
    row = shown.page.locator('.gs-entry[title="e/opk"]')
    before = row.bounding_box()["y"]
    shown.widget.simulate("select", names=["e/opk"])  # as Python does, or another view of the same screen
    shown.push()
    shown.page.locator('.gs-entry.gs-selected[title="e/opk"]').wait_for()
    assert shown.page.evaluate("() => window.scrollY") == 200
    area = shown.page.locator(".gs-outline").bounding_box()
    assert row.bounding_box()["y"] + 10 < area["y"] + area["height"] < before


def test_a_double_click_on_what_marks_a_box_unfolds_it(widget_page):
    screen = plain_screen()
    for tensor in ("split:0", "split:1"):
        screen.mark_input(tensor)
    screen.mark_output("head/MatMul:0")
    shown = widget_page(screen)
    shown.page.get_by_role("button", name="Fit to window").click()
    share = shown.page.locator(".gs-box.gs-scope .gs-share").last
    name = share.evaluate("e => e.closest('.gs-box').dataset.name")
    words = "name => document.querySelector(`.gs-box[data-name='${name}']`).textContent"
    before = shown.page.evaluate(words, name)
    shown.item("softmax2").click()
    shown.settle("select")
    assert shown.page.evaluate(words, name) == before
    at = share.bounding_box()
    shown.page.mouse.dblclick(at["x"] + at["width"] / 2, at["y"] + at["height"] / 2)
    shown.settle("unfold")
    assert shown.sent[-1] == ("unfold", {"pane": "source", "name": name})


def test_two_views_of_one_widget_are_in_step_and_closing_one_leaves_the_other(widget_page):
    shown = widget_page()
    listeners = "Object.values(heard).map(list => list.length)"
    alone = shown.page.evaluate(listeners)
    shown.page.evaluate("() => { window.second = document.createElement('main'); document.body.append(second); }")
    shown.page.evaluate("() => { window.closeSecond = again(second); }")
    shown.page.locator("main >> nth=1 >> .gs-box").first.wait_for()
    assert shown.page.evaluate(listeners) == [2 * n for n in alone]
    shown.item("softmax2").click()
    shown.page.locator("main >> nth=1 >> .gs-box.gs-selected[data-name='softmax2']").wait_for()
    shown.page.evaluate("closeSecond()")
    assert shown.page.evaluate(listeners) == alone
    assert shown.page.evaluate("second.childElementCount") == 0
    shown.item("images").click()
    shown.settle()
    assert selected(shown) == ["images"]


def test_name_and_python_of_an_op_are_copied(widget_page):
    shown = widget_page()
    shown.page.evaluate(
        """() => Object.defineProperty(navigator, "clipboard", {configurable: true,
          value: {writeText: async text => { (window.copied ||= []).push(text); }}})"""
    )
    shown.item("softmax2").click()
    shown.page.get_by_role("button", name="Copy name").click()
    shown.page.wait_for_function("() => document.querySelector('.gs-status-text').textContent === 'Name copied.'")
    assert shown.page.evaluate("copied") == ["softmax2"]


def test_a_step_is_edited_and_muted_in_the_plan_bar(widget_page):
    shown = widget_page(marked())
    shown.page.get_by_role("tab", name="Steps").click()
    shown.page.get_by_role("button", name="Edit: copy").click()
    shown.page.get_by_role("textbox", name="Scope", exact=True).fill("other")
    shown.page.get_by_role("dialog").get_by_role("button", name="Change").click()
    shown.settle("edit_step")
    steps = shown.widget._screen.draft.steps
    assert [step.to for step in steps] == ["other"]
    shown.page.get_by_role("button", name="Mute: copy").click()
    shown.settle("mute_step")
    assert shown.page.locator(".gs-steps s").count() == 1
    assert shown.page.get_by_role("button", name="Mute: copy").get_attribute("aria-pressed") == "true"
    assert without_muted(shown.widget._screen.draft).steps == ()


def test_without_a_kernel_what_needs_one_is_grey(widget_page):
    shown = widget_page(marked())
    page = shown.page
    names = (
        "Run",
        "Recipes (Shift+R)",
        "Save",
        "Apply",
        "Undo (Ctrl+Z)",
        "Copy to scope\u2026",
        "Clear the boundary",
        "Search ops",
    )
    controls = [
        page.locator(".gs")
        .get_by_label(n, exact=True)
        .or_(page.locator(".gs").get_by_role("button", name=n, exact=True))
        .first
        for n in names
    ]
    assert [one.is_enabled() for one in controls] == [True] * len(names)
    page.evaluate("model.emit('comm:close')")
    page.locator(".gs-status-text", has_text="The kernel of this graph has stopped").wait_for()
    assert [one.is_disabled() for one in controls] == [True] * len(names)
    page.get_by_role("tab", name="Steps").click()  # what is drawn later is grey too
    assert page.locator(".gs-panel button:enabled").count() == 0
    page.get_by_role("tab", name="Code").click()
    assert page.get_by_role("button", name="Copy code").is_enabled()
    page.get_by_role("button", name="Zoom in").click()
    shown.item("images").focus()
    page.keyboard.press("x")
    assert shown.sent == []
