"""Pages of `ed.to_html()` in a real browser: from a file, without a kernel, a server or a network."""

from __future__ import annotations

import pytest

import graphsurgeon as gs
from graphsurgeon.graph.graph import Graph
from graphsurgeon.tf.open import op_facts
from graphsurgeon.ui.page import html_page
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree
from tests.browser.hands import shot
from tests.corpus import corpus_cases
from tests.tf2 import tf1
from tests.view.test_hostile import NAMES
from tests.widget.page import AXE, ON_EDGE

SMALL, MIDDLE, LARGEST = "dl4j_lenet_frozen", "slim_resnet_v2_50_train", "slim_resnet152_16tower_train"
UNFOLDED = (SMALL, "kws_ds_cnn_s", "sci_inceptionv3")
EDGES = """() => {
  const scene = graphsurgeon.get("scenes").source, name = new Map(scene.boxes.map(b => [b.id, b.name]));
  return [scene.boxes.map(b => [b.name, b.kind, b.label, b.subtitle]),
          scene.edges.map(e => [name.get(e.from), name.get(e.to), e.count, !!e.control, !!e.quiet, e.tensor])];
}"""


@pytest.fixture
def shows(page, tmp_path):
    """Returns a function that opens HTML text from a file, and waits for the picture."""
    page.unroute_all()  # a file asks for nothing: its own policy is what is tested
    asked = []
    page.on("request", lambda request: asked.append(request.url))

    def show(text, dark=False):
        file = tmp_path / "graph.html"
        file.write_bytes(text.encode("utf-8"))
        page.emulate_media(color_scheme="dark" if dark else "light")
        page.set_default_timeout(20_000)
        page.goto(file.as_uri())
        page.wait_for_selector("#gs-host .gs-item")
        return page

    yield show
    outside = [url for url in asked if not url.startswith(("file:", "data:", "blob:"))]
    assert outside == []


def small():
    graph_def = tf1.GraphDef()
    graph_def.node.add(name="x", op="Placeholder").attr["dtype"].type = 1
    previous = "x"
    for scope in ("net/one", "net/two", "head"):
        for i in range(8):
            node = graph_def.node.add(name=f"{scope}/op{'abcdefgh'[i]}", op=("Neg", "Exp", "Tanh", "Abs")[i % 4])
            node.attr["T"].type = 1
            node.input.append(previous)
            previous = node.name
    return gs.open(graph_def, title="small")


def box(page, name):
    return page.locator(f'.gs-item[data-name="{name}"]').first


def until_said(page, text):
    page.wait_for_function("t => document.querySelector('.gs-status-text').textContent.includes(t)", arg=text)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_folds_and_unfolds(shows, dark):
    page = shows(small().to_html(open_folds=[]), dark)
    shot(page, f"page-{'dark' if dark else 'light'}")
    assert page.evaluate("() => document.querySelector('.gs').classList.contains('gs-dark')") is dark
    ground = page.evaluate("() => getComputedStyle(document.querySelector('.gs')).backgroundColor")
    assert ground == ("rgb(17, 20, 23)" if dark else "rgb(255, 255, 255)")
    first = page.locator(".gs-box").count()
    box(page, "net/").dblclick()
    heading = page.locator('.gs-group[data-name="net/"] > .gs-heading')
    assert heading.evaluate("e => [e.textContent, getComputedStyle(e).opacity]") == ["net", "1"]
    box(page, "net/two/").dblclick()
    page.wait_for_selector('[data-name="net/two/opb"]')
    assert page.locator(".gs-box").count() > first + 5
    shot(page, f"page-unfolded-{'dark' if dark else 'light'}")
    page.locator('.gs-group[data-name="net/"]').focus()
    page.keyboard.press("Enter")
    page.wait_for_selector('.gs-box[data-name="net/"]')
    assert page.locator(".gs-box").count() == first


@pytest.mark.parametrize(
    "id",
    [*corpus_cases(lambda item: item["id"] in UNFOLDED, quick=1), pytest.param(MIDDLE, marks=pytest.mark.deep)],
)
def test_it_unfolds_to_the_boxes_and_edges_of_the_kernel(shows, corpus, id):
    ed = gs.open(corpus.path(id))
    graph = ed.snapshot
    keys = set(ed.screen.unfolded)
    page = shows(ed.to_html())
    for _ in range(3):
        scene = build(Tree(graph), keys)
        names = {b.id: b.name for b in scene.boxes}
        ours = (
            [[b.name, b.kind, b.label, b.subtitle] for b in scene.boxes],
            [[names[e.source], names[e.target], e.count, e.control, e.quiet, e.tensor] for e in scene.edges],
        )
        boxes, edges = page.evaluate(EDGES)
        assert boxes == ours[0]
        assert sorted(map(str, edges)) == sorted(map(str, ours[1]))
        folds = [b.name for b in scene.boxes if b.kind in ("scope", "series")]
        if not folds:
            break
        name = max(folds, key=lambda n: next(b.count for b in scene.boxes if b.name == n))
        ed.screen.unfold(name)
        keys = set(ed.screen.unfolded)
        answer = page.evaluate(
            """name => new Promise(done => {
              graphsurgeon.on("msg:custom", done);
              graphsurgeon.send({v: 1, id: 1, verb: "unfold", args: {pane: "source", name}});
            })""",
            name,
        )
        assert answer["ok"], answer


@pytest.mark.deep
def test_the_largest_graph_fits_in_a_page_and_opens(shows, corpus):
    ed = gs.open(corpus.path(LARGEST))
    text = ed.to_html()
    assert len(text) < 5_000_000
    page = shows(text)
    assert "too deep for this page" in page.locator(".gs-status-text").inner_text()
    name = page.locator(".gs-box.gs-scope").first.get_attribute("data-name")
    took = page.evaluate(
        """name => new Promise(done => {
          const start = performance.now();
          const box = [...document.querySelectorAll(".gs-box")].find(b => b.dataset.name === name);
          box.dispatchEvent(new MouseEvent("dblclick", {bubbles: true}));
          const look = () => document.querySelector(".gs-box[data-name='" + name + "']")
            ? requestAnimationFrame(look) : done(performance.now() - start);
          look();
        })""",
        name,
    )
    assert took < 5000
    page.keyboard.press("/")
    page.locator(".gs-search input").fill("op:Conv2D tower_0")
    page.wait_for_selector(".gs-hit")


def test_what_does_not_fit_says_so(shows, monkeypatch):
    graph = Graph.from_ops([(f"{s}/{t}/op{k}", "Neg", []) for s in "abcdefghi" for t in "tuvwxyz" for k in range(14)])
    monkeypatch.setattr("graphsurgeon.ui.page.ROWS", 100)
    page = shows(html_page(graph, op_facts))
    until_said(page, "of its scopes are too deep for this page and stay folded.")
    box(page, "h/").dblclick()
    box(page, "h/v/").dblclick()
    until_said(page, "the ops inside were left out to keep this page small")
    page.keyboard.press("/")
    page.keyboard.type("h/v/op7")
    page.wait_for_selector(".gs-hit-chip")
    page.keyboard.press("Enter")
    until_said(page, "'h/v/op7' has no separate box: it is in 'h/v/'")
    page.wait_for_selector('.gs-item.gs-selected[data-name="h/v/"]')


def test_search_reveals_and_counts_what_is_inside(shows):
    page = shows(small().to_html(open_folds=[]))
    page.keyboard.press("Tab")
    box(page, "net/").focus()
    page.keyboard.press("/")
    page.keyboard.type("op:Exp net/*")
    page.wait_for_selector(".gs-hit-chip")
    assert page.locator(".gs-hit-chip").all_text_contents() == ["4 inside"]
    page.keyboard.press("Enter")
    page.wait_for_selector('.gs-item.gs-selected[data-name="net/one/opb"]')
    assert page.locator(".gs-inspector").inner_text().count("Exp")
    assert page.locator('.gs-entry.gs-selected[title="net/one/opb"]').is_visible()


def test_back_forward_views_producers_and_consumers_by_keys(shows):
    page = shows(small().to_html(open_folds=[]))
    box(page, "head/").focus()
    page.keyboard.press("Enter")
    page.wait_for_selector('[data-name="head/opa"]')
    page.keyboard.press("v")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    until_said(page, "saved as 'view 1'")
    page.keyboard.press(",")
    page.wait_for_selector('.gs-box[data-name="head/"]')
    page.keyboard.press(".")
    page.wait_for_selector('[data-name="head/opa"]')
    box(page, "head/opa").focus()
    page.keyboard.press("p")
    page.wait_for_selector('.gs-item[data-name="net/two/oph"]')
    page.wait_for_function("() => document.activeElement.dataset.name === 'net/two/oph'")
    page.keyboard.press("n")
    page.wait_for_function("() => document.activeElement.dataset.name === 'head/opa'")
    page.keyboard.press("1")
    page.wait_for_selector('.gs-box[data-name="net/"]')


#: Keys of actions that need a kernel.
EDITS = ("i", "o", "b", "c", "m", "r", "y", "a", "e", "x", "t", "g", "d", "z", "j", "u", "k", "Delete", "Shift+Delete",
         "Shift+B", "Shift+S", "Shift+R", "Control+z", "Control+y", "Control+c", "Control+x", "Control+v", "Control+d",
         "Control+Enter")  # fmt: skip


#: The texts of menu items, without their ticks and reasons.
TEXTS = "all => all.map(e => [...e.firstChild.childNodes].map(n => n.nodeType === 3 ? n.data : '').join(''))"


def open_menu(page, place):
    """Opens the menu of a place; in the drawing, the menu of an edge."""
    x, y = page.locator(".gs-edge .gs-line").first.evaluate(ON_EDGE)
    page.locator(place).first.evaluate(
        """(e, [clientX, clientY]) =>
          e.dispatchEvent(new MouseEvent("contextmenu", {bubbles: true, cancelable: true, clientX, clientY}))""",
        [x, y],
    )


def test_it_offers_what_it_can_do_and_nothing_else(shows):
    page = shows(small().to_html(open_folds=["head/"]))
    menu = page.locator(".gs-choice")
    controls = page.locator(".gs :is(button, input, select):visible").evaluate_all(
        "all => all.map(e => e.ariaLabel || e.textContent)"
    )
    for word in ("Run", "Recipes", "Save", "Apply", "Colors", "Plan", "Undo", "Boundary", "Rename"):
        assert not [name for name in controls if name.startswith(word)], word
    box(page, "head/opa").click()
    until_said(page, "1 selected")
    page.wait_for_selector(".gs-inspector .gs-facts")
    assert page.locator(".gs-inspector :is(.gs-set, .gs-mark-in, [data-verb=rename]):visible").count() == 0
    for key in EDITS:
        page.keyboard.press(key)
    assert page.locator(".gs-popup").count() == 0
    assert page.locator(".gs-status-text").inner_text() == "1 selected"
    offered = {}
    for place in ('[data-name="head/opa"]', '[data-name="net/"]', ".gs-pane-source .gs-canvas", ".gs-svg"):
        open_menu(page, place)
        offered[place] = menu.evaluate_all(TEXTS)
        page.keyboard.press("Escape")
    assert list(offered.values()) == [
        ["Select", "Focus on its neighborhood"],
        ["Unfold", "Select", "Focus on its neighborhood"],
        ["Initial view", "Fold all scopes", *(f"Unfold to depth {n}" for n in (1, 2, 3)), "Map of the graph"],
        ["Go to its producer", "Go to its consumer"],
    ]
    for place, choices in offered.items():
        for i, choice in enumerate(choices):
            open_menu(page, place)
            menu.nth(i).click()
            page.wait_for_function("() => !document.querySelector('.gs[data-waits]')")
            assert "no kernel" not in page.locator(".gs-status-text").inner_text(), choice
            page.get_by_role("button", name="Fold all scopes").click()
            page.wait_for_function("() => document.querySelectorAll('.gs-group').length === 0")
            if place == '[data-name="head/opa"]':
                box(page, "head/").dblclick()
                page.wait_for_selector('[data-name="head/opa"]')
    page.locator(".gs-item").first.focus()
    page.keyboard.press("?")
    keys = "\n".join(page.locator(".gs-help .gs-keys").all_inner_texts()[:-1])  # without the symbols
    assert "fit to window" in keys
    assert not [word for word in ("boundary", "plan", "copy", "undo") if word in keys.lower()]


def test_a_verb_that_needs_a_kernel_is_refused_with_a_way_out(shows):
    page = shows(small().to_html())
    page.evaluate("() => graphsurgeon.on('msg:custom', m => { window.answer = m; })")
    page.evaluate("() => graphsurgeon.send({v: 1, id: 1, verb: 'undo', args: {}})")
    page.wait_for_function("() => window.answer")
    assert page.evaluate("answer.error.suggestion") == "Open the graph in a notebook with gs.open(...) to change it"


def test_without_scripts_there_is_the_picture_and_a_sentence(browser, tmp_path):
    file = tmp_path / "graph.html"
    file.write_text(small().to_html())
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file.as_uri())
    assert page.locator("#gs-said").inner_text() == "small: 25 ops, 25 boxes"
    assert page.locator("#gs-host img").bounding_box()["width"] > 50
    context.close()


def test_axe_and_reduced_motion(shows, axe_core):
    page = shows(small().to_html(open_folds=["head/"]))
    box(page, "head/opa").click()
    page.evaluate(AXE.read_text())
    found = page.evaluate(
        """() => axe.run(document, {resultTypes: ["violations"]})
          .then(r => r.violations.map(v => [v.id, v.nodes[0].html.slice(0, 200)]))"""
    )
    assert found == []
    page.emulate_media(reduced_motion="reduce")
    assert page.evaluate("() => document.getAnimations().length") == 0


@pytest.fixture
def axe_core():
    from tests.needs import need

    need("front end")


class Note:
    """What an attribute is, as far as a page looks: here a text."""

    def __init__(self, text):
        self.s = text.encode("utf-8", "replace")

    def WhichOneof(self, _):
        return "s"


class Node:
    """A node as a file may have it: TensorFlow would refuse most of these names."""

    def __init__(self, name, op, input, text):
        self.name, self.op, self.input, self.device = name, op, input, text
        self.attr = {"note": Note(text), text[:50]: Note("</script><img src=x onerror=alert(1)>")}


def hostile():
    nodes = []
    for i, name in enumerate(NAMES):
        if name:
            before = [nodes[-1].name] if nodes and ":" not in nodes[-1].name and nodes[-1].name[0] != "^" else []
            nodes.append(Node(f"s{i % 3}/{name}", "Foo" if i % 2 else name[:2000], before, name[:5000]))
    return Graph.from_nodes(nodes, title="</title><script>alert(1)</script>\u202e")


@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.deep)], ids=["light", "dark"])
def test_hostile_names_are_text_and_nothing_runs(shows, page, dark):
    graph = hostile()
    page.on("dialog", lambda dialog: pytest.fail(f"a dialog: {dialog.message}"))
    text = html_page(graph, op_facts, ["s0/", "s1/", "s2/"])
    assert text.count("<script") == 2
    shown = shows(text, dark)
    for item in shown.locator(".gs-box").all()[:30]:
        item.dispatch_event("click")
    shown.keyboard.press("/")
    shown.keyboard.type("s1")
    shown.wait_for_selector(".gs-hit")
    found = shown.evaluate(
        """() => [document.querySelectorAll("#gs-host :is(script, img, iframe, a, foreignObject, image, use)").length,
          [...document.querySelectorAll("#gs-host *")].flatMap(e => [...e.attributes])
            .filter(a => /^on|href|^src$/.test(a.name)).length,
          /[\\u202a-\\u202e\\u0000]/.test(document.getElementById("gs-host").textContent),
          document.title.includes("<script>")]"""
    )
    assert found == [0, 0, False, True]
    assert shown.locator(".gs-box").count() >= 15
