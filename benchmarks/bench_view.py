"""The first picture in JupyterLab compared with other viewers in the same browser; unfolding, search, messages, limits.

Model Explorer, Netron and TensorBoard are measured if `--peers` names a virtual environment that has them:
`python -m venv peers && peers/bin/pip install ai-edge-model-explorer netron tensorboard "setuptools<80"`. All read the
same GraphDef file; their servers run already, as does our kernel. The time ends when the picture is painted and has
answered a click. A peer without a picture after 120 s counts as 120 s.
"""

from __future__ import annotations

import importlib.util
import os
import statistics
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import graphsurgeon as gs
from benchmarks.graphs import tf1
from benchmarks.peers import LIMIT, PAINTED, PEERS, picture, see, version
from benchmarks.rows import MEGABYTE, Row, seconds, skipped
from graphsurgeon.errors import LayoutError
from graphsurgeon.view.engines import live
from graphsurgeon.view.graphviz_wasm import LayoutTimeout
from graphsurgeon.view.layout import place
from graphsurgeon.view.scene import build
from graphsurgeon.view.tree import Tree
from tests.corpus import Corpus
from tests.needs import _FIND, corpus_folder
from tests.until import until

GRAPHS = {  # what a graph is called here -> id in the corpus
    "40 ops": "dl4j_lenet_frozen",
    "7,783 ops": "slim_resnet_v2_50_train",
    "42,500 ops": "slim_resnet101_8tower_train",
    "112,290 ops": "slim_resnet152_16tower_train",
}
CROWDED = "slim_inception_v3_infer"
SMALL, FAIR, LARGEST = "40 ops", "42,500 ops", "112,290 ops"
_START = "import os; os.environ.update(TF_CPP_MIN_LOG_LEVEL='3')\nimport tensorflow as tf, graphsurgeon as gs\n"
_PLAIN = "import ipywidgets\nipywidgets.ToggleButton(description='plain')"
_MANY = """ed = gs.open({file!r}); screen = ed.screen
while len(boxes := screen.traits()["scenes"]["source"]["boxes"]) < 185:
    screen.unfold(max((box for box in boxes if box["kind"] == "scope"), key=lambda box: box["count"])["name"])
ed"""
_WARM = "gs.open(tf.compat.v1.GraphDef()).screen.traits(); None"
_RUN = """index => {
    const book = window.jupyterapp.shell.currentWidget.content;
    book.activeCellIndex = index;
    window.jupyterapp.commands.execute('notebook:run-cell');
}"""
_MIDDLE = """thing => {
    thing.scrollIntoViewIfNeeded();
    const {x, y, width, height} = thing.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
}"""


def rows() -> Iterator[Row]:
    """Yields the rows that need a browser and the corpus, then those that need neither Lab nor peers."""
    root, chromium = corpus_folder(), _FIND["chromium"][0]()
    if not root:
        skipped("all of it", "there is no corpus")
        return
    corpus = Corpus(root)
    with tempfile.TemporaryDirectory() as folder:
        files = {size: _graph_def(corpus, id, Path(folder)) for size, id in GRAPHS.items()}
        if chromium and importlib.util.find_spec("jupyterlab"):
            yield from _in_browser(chromium, files, Path(folder), corpus.path(CROWDED))
        else:
            skipped("pictures in a browser", "no Chromium or no JupyterLab")
        yield from _in_kernel(files[LARGEST])


def _graph_def(corpus: Corpus, id: str, folder: Path) -> Path:
    """Writes a graph of the corpus as the one kind of file that every viewer reads."""
    file = folder / id / "graph.pb"
    file.parent.mkdir()
    graph: Any = gs.open(corpus.path(id)).graph
    file.write_bytes(graph.as_graph_def().SerializeToString())
    return file


def _in_browser(chromium: str, files: dict[str, Path], folder: Path, crowded: Path) -> Iterator[Row]:
    from playwright.sync_api import sync_playwright

    flags = importlib.import_module("tests.conftest")._CHROMIUM
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=flags)
        floor, ours, unfold, among = _in_lab(browser, files, folder, crowded)
        pages = _as_pages(browser, files, folder)
        for size, took in ours.items():
            beside = _peers(browser, files[size], folder) if "GRAPHSURGEON_PEERS" in os.environ else {}
            for peer, theirs in beside.items():
                target = 1 / 60 if (peer, size) == ("Model Explorer", FAIR) else 1.0
                name = peer if theirs is not None else f"{peer}, no picture yet"
                yield Row(f"first picture in JupyterLab, {size}", took, theirs or LIMIT, target, name)
            yield Row(f"first picture in JupyterLab, {size}", took, None, 2.0 if size == LARGEST else 1.0)
        yield Row("the same steps with a button of ipywidgets in place of a picture", floor, None, 1.0)
        for size, took in pages.items():
            yield Row(f"first picture of a page of to_html(), {size}", took, None, 2.0)
        yield Row("unfolding in JupyterLab, click to painted, median", statistics.median(unfold), None, 0.15)
        yield Row("the same among 185 boxes", statistics.median(among), None, 0.15)
        browser.close()
    if "GRAPHSURGEON_PEERS" not in os.environ:
        skipped("Model Explorer, Netron, TensorBoard", "no environment with them was given with --peers")


def _in_lab(
    browser: Any, files: dict[str, Path], folder: Path, crowded: Path
) -> tuple[float, dict[str, float], list[float], list[float]]:
    """Returns the seconds from running a cell to a click answered by a plain button, by pictures; and of unfoldings.

    The last are those of a picture with many boxes.
    """
    lab: Any = importlib.import_module("tests.lab")  # the harness of the browser tests
    place = folder / "lab"
    place.mkdir()
    server, context = lab.Server(place), browser.new_context(viewport={"width": 1280, "height": 900})
    took: dict[str, float] = {}
    unfold: list[float] = []
    try:
        page = context.new_page()
        page.set_default_timeout(120_000)
        shown = [_PLAIN, _PLAIN, *(f"ed = gs.open({str(file)!r})\ned" for file in files.values())]
        shown.append(_MANY.format(file=str(crowded)))
        lab.write_notebook(server.root / "view.ipynb", shown)
        page.goto(server.page_of("view.ipynb"), wait_until="domcontentloaded")
        page.wait_for_selector(".jp-Notebook .jp-Cell")
        page.wait_for_function(
            "() => window.jupyterapp?.shell.currentWidget?.context?.sessionContext?.session?.kernel?.connectionStatus"
            " === 'connected'"
        )
        notebook = lab.Opened(page, server, "view.ipynb")
        notebook.run(_START + _WARM)
        for i in (0, 1):  # the first one loads the widget manager
            floor = _answered(page, i, ".widget-toggle-button", ".widget-toggle-button.mod-active")
        for i, size in enumerate(files, 2):
            took[size] = _answered(page, i, ".gs-box", ".gs-box.gs-selected")
            # Each figure is taken by itself: the process that infers the shapes has ended.
            until(partial(notebook.ask, "ed.screen.inferred"), timeout=600, step=0.5)
            unfold += _unfoldings(page, _cell(page, i))
        _answered(page, len(shown) - 1, ".gs-box", ".gs-box.gs-selected")
        until(partial(notebook.ask, "ed.screen.inferred"), timeout=600, step=0.5)
        among = _unfoldings(page, _cell(page, len(shown) - 1))
        notebook.close()
    finally:
        context.close()
        server.stop()
    return floor, took, unfold, among


def _answered(page: Any, cell: int, thing: str, clicked: str) -> float:
    """Runs a cell and clicks the first such thing in it; returns the seconds until the page shows that it was."""
    shown = _cell(page, cell)
    first, answer = shown.locator(thing).first, shown.locator(clicked).first
    start = time.perf_counter()
    page.evaluate(_RUN, cell)
    see(first)
    page.evaluate(PAINTED)
    x, y = first.evaluate(_MIDDLE)
    page.mouse.click(x, y)
    see(answer)
    return time.perf_counter() - start


def _cell(page: Any, number: int) -> Any:
    return page.locator(f".jp-Notebook .jp-Cell >> nth={number}")


def _unfoldings(page: Any, picture: Any, times: int = 4) -> list[float]:
    """Unfolds some scopes, one after the other, and returns the seconds from each click to its paint."""
    took = []
    for _ in range(times):
        folded = picture.locator(".gs-box.gs-scope")
        if not folded.count():
            break
        name = folded.first.get_attribute("data-name")
        page.wait_for_timeout(300)
        took.append(
            page.evaluate(
                """name => new Promise(done => {
                  const all = s => [...document.querySelectorAll(s)].filter(e => e.dataset.name === name);
                  const start = performance.now();
                  all(".gs-box").at(-1).dispatchEvent(new MouseEvent("dblclick", {bubbles: true}));
                  const look = () => all(".gs-box").length && performance.now() - start < 20000
                    ? requestAnimationFrame(look)
                    : requestAnimationFrame(() => done((performance.now() - start) / 1000));
                  look();
                })""",
                name,
            )
        )
    return took


def _as_pages(browser: Any, files: dict[str, Path], folder: Path) -> dict[str, float]:
    """Returns the seconds from opening a page of `to_html` to its painted picture."""
    took = {}
    for size in (SMALL, LARGEST):
        file = folder / f"{files[size].parent.name}.html"
        file.write_text(gs.open(files[size]).to_html())
        page = browser.new_page()
        start = time.perf_counter()
        page.goto(file.as_uri(), wait_until="commit")
        page.locator("#gs-host .gs-box").first.wait_for()
        page.evaluate(PAINTED)
        took[size] = time.perf_counter() - start
        page.close()
    return took


def _peers(browser: Any, file: Path, folder: Path) -> dict[str, float | None]:
    """Returns the seconds of each peer that is there."""
    environment = Path(os.environ["GRAPHSURGEON_PEERS"]).resolve()
    found: dict[str, float | None] = {}
    for peer in PEERS:
        why = version(environment, peer)
        if why:
            skipped(peer.name, why)
            continue
        try:
            found[peer.name] = picture(browser, environment, peer, _events(file) if peer.folder else file)
        except Exception as error:
            skipped(peer.name, str(error).splitlines()[0])
    return found


def _events(file: Path) -> Path:
    """Writes the graph as TensorBoard reads it; returns the folder."""
    import tensorflow as tf

    folder = file.parent / "events"
    folder.mkdir(exist_ok=True)
    event = tf1.Event(wall_time=1.0, graph_def=file.read_bytes())
    with tf.io.TFRecordWriter(str(folder / "events.out.tfevents.1")) as writer:
        writer.write(event.SerializeToString())
    return folder


def _in_kernel(file: Path) -> Iterator[Row]:
    editor = gs.open(file)
    screen = editor.screen
    sizes = [len(zlib.compress(_json(screen.traits()["scenes"]["source"])))]
    for query in ("conv", "op:Conv2D dtype:float32", "tower_3/*conv2*"):
        screen.find(query)  # what a search needs is made at the first
        took = seconds(lambda query=query: screen.find(query), 5)  # type: ignore[misc]
        yield Row(f"search {query!r}, {LARGEST}", took * 1000, None, 50, unit="ms")
    tree, keys = Tree(editor.snapshot), set(screen.unfolded)
    while len(build(tree, keys).boxes) < 200:
        scene = build(tree, keys)
        fold = max((b for b in scene.boxes if b.kind == "scope"), key=lambda b: b.count, default=None)
        if fold is None:
            break
        keys.add(fold.name)
    scene = build(tree, keys)
    many = f"{len(scene.boxes)} boxes"
    sizes.append(len(zlib.compress(_json(place(scene).to_dict()))))
    yield Row(f"scene message of {many}, compressed", max(sizes) / MEGABYTE, None, 1.0, unit="MB")
    whole = seconds(lambda: place(scene), 2)
    yield Row(f"layout of {many}", whole, None, 5.0)
    yield Row(f"longest the kernel stands still during a layout of {many}", _longest_gap(scene), None, 0.1)
    yield Row("a layout past its limit of 0.5 s is ended after", _ended_after(scene), None, 0.6)
    try:
        degraded = str(place(scene, timeout=whole / 2).stats["degraded"]) or "nothing had to be given up"
    except LayoutError as error:
        degraded = f"no picture: {error.problem}"
    print(f"  with half of the time for {many}: {degraded}", flush=True)


def _json(value: Any) -> bytes:
    import json

    return json.dumps(value).encode()


def _longest_gap(scene: Any) -> float:
    """Returns the longest pause of a thread that wakes every 5 ms, while another lays out."""
    gaps, worker = [0.0], threading.Thread(target=lambda: place(scene))
    worker.start()
    last = time.perf_counter()
    while worker.is_alive():
        time.sleep(0.005)
        now = time.perf_counter()
        gaps.append(now - last)
        last = now
    return max(gaps)


def _ended_after(scene: Any) -> float:
    """Returns the seconds after which a layout with a limit of half a second is over."""
    from graphsurgeon.view.sketch import Sketch, draw

    engine = live()
    assert engine is not None
    dot = draw(scene, Sketch()).replace("nslimit=2 nslimit1=2", "nslimit=1000 nslimit1=1000 searchsize=10000")
    heavy = dot.replace("digraph g {", "digraph g {" + " ".join(f"x{i} -> x{i * 7 % 1999};" for i in range(2000)), 1)
    start = time.perf_counter()
    try:
        engine.run(heavy, 0.5, lambda: False)
    except LayoutTimeout:
        return time.perf_counter() - start
    raise AssertionError("the layout was done before its limit: take a larger one")
