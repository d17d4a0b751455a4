"""The first picture in JupyterLab compared with other viewers in the same browser; unfolding, search, messages, limits.

Pictures are compared with those of plain Graphviz: how long they take, how far boxes move, how well they can be read.

Model Explorer, Netron and TensorBoard are measured if `--peers` names a virtual environment that has them:
`python -m venv peers && peers/bin/pip install ai-edge-model-explorer netron tensorboard "setuptools<80"`. All read the
same GraphDef file; their servers run already, as does our kernel. The time ends when the picture is painted and has
answered a click. A peer without a picture after 120 s counts as 120 s.
"""

from __future__ import annotations

import gc
import importlib.util
import os
import statistics
import tempfile
import threading
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

import graphsurgeon as gs
from benchmarks import plain
from benchmarks.graphs import tf1
from benchmarks.peak import _held, can_measure
from benchmarks.peers import LIMIT, PAINTED, PEERS, picture, see, version
from benchmarks.pictures import grow, legibility, moved, walk
from benchmarks.rows import MEGABYTE, Row, seconds, skipped
from graphsurgeon.ui import pane
from graphsurgeon.view import levels
from graphsurgeon.view.graphviz import LayoutTimeout, live
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
CROWDED = "slim_resnet_v2_50_train"
SIZES = {100: 0.1, 200: 0.15}
"""Boxes of a picture -> the longest time from a click to the painted answer, in seconds."""
WALKED = (
    "dl4j_lenet_frozen", "kws_ds_cnn_s", "aws_cifar", "sci_word_cnn", "dl4j_lstm_mnist", "tf2_frozen_mobilenet_v2",
    "est_dnn_train_ckpt", "slim_inception_v3_infer", "slim_resnet_towers_ckpt", "slim_resnet_v2_50_train",
)  # fmt: skip
"""The graphs in which random steps are done."""
READ = (
    *WALKED, "kws_crnn_s", "contrib_tensor_forest", "mlperf_tiny_kws", "dl4j_max_lstm", "dotnet_cifar_meta_ckpt",
    "dl4j_bstack_bidir", "mirrored_strategy_2cpu_ckpt", "contrib_revnet_custom_gradient_ckpt", "k3_mobilenet_v2_035",
    "slim_inception_v1_quantize_train",
)  # fmt: skip
"""The graphs whose pictures are compared."""
STEPS = 20
"""The number of random steps in each of ten graphs."""
TURNS = 2000
"""The number of unfoldings and foldings after which the memory is the same."""
SMALL, FAIR, LARGEST = "40 ops", "42,500 ops", "112,290 ops"
_START = "import os; os.environ.update(TF_CPP_MIN_LOG_LEVEL='3')\nimport tensorflow as tf, graphsurgeon as gs\n"
_PLAIN = "import ipywidgets\nipywidgets.ToggleButton(description='plain')"
_MANY = "from benchmarks.pictures import grow\ned = gs.open({file!r}); grow(ed.screen, {boxes})\ned"
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
        yield from _as_numbers(corpus)


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
        native = {boxes: _native(crowded, boxes) for boxes in SIZES}
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
        for boxes, both in among.items():
            for way, times in zip(("unfolding", "folding"), both, strict=True):
                name, middle = f"{way} among {boxes} boxes, click to painted, median", statistics.median(times)
                yield Row(name, middle, None, SIZES[boxes])
                if native[boxes] is not None:
                    yield Row(name, middle, native[boxes], 0.5, "dot -Tjson0 of the picture")
        browser.close()
    if "GRAPHSURGEON_PEERS" not in os.environ:
        skipped("Model Explorer, Netron, TensorBoard", "no environment with them was given with --peers")


def _in_lab(
    browser: Any, files: dict[str, Path], folder: Path, crowded: Path
) -> tuple[float, dict[str, float], list[float], dict[int, tuple[list[float], list[float]]]]:
    """Returns the seconds from running a cell to a click answered by a plain button, by pictures; and of unfoldings.

    The last are those of pictures with many boxes, unfolding and folding.
    """
    lab: Any = importlib.import_module("tests.lab")  # the harness of the browser tests
    place = folder / "lab"
    place.mkdir()
    server, context = lab.Server(place), browser.new_context(viewport={"width": 1280, "height": 900})
    took: dict[str, float] = {}
    unfold: list[float] = []
    among: dict[int, tuple[list[float], list[float]]] = {}
    try:
        page = context.new_page()
        page.set_default_timeout(120_000)
        shown = [_PLAIN, _PLAIN, *(f"ed = gs.open({str(file)!r})\ned" for file in files.values())]
        shown += [_MANY.format(file=str(crowded), boxes=boxes) for boxes in SIZES]
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
            unfold += _unfoldings(page, _cell(page, i))[0]
        for i, boxes in enumerate(SIZES, len(shown) - len(SIZES)):
            _answered(page, i, ".gs-box", ".gs-box.gs-selected")
            until(partial(notebook.ask, "ed.screen.inferred"), timeout=600, step=0.5)
            among[boxes] = _unfoldings(page, _cell(page, i), 8)
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


def _unfoldings(page: Any, picture: Any, count: int = 4) -> tuple[list[float], list[float]]:
    """Unfolds and folds some scopes, one after the other, and returns the seconds from each click to its paint."""
    took: tuple[list[float], list[float]] = ([], [])
    folded = picture.locator(".gs-box.gs-scope")
    names = [folded.nth(i).get_attribute("data-name") for i in range(min(count, folded.count()))]
    for name in names:
        for times, thing, other in zip(took, (".gs-box", ".gs-group"), (".gs-group", ".gs-box"), strict=True):
            page.wait_for_timeout(300)
            times.append(
                page.evaluate(
                    """([name, thing, other]) => new Promise(done => {
                      const all = s => [...document.querySelectorAll(s)].filter(e => e.dataset.name === name),
                        there = all(other).length, start = performance.now(), one = all(thing).at(-1);
                      const seen = new MutationObserver(() => {
                        if (all(other).length <= there && performance.now() - start < 20000) return;
                        seen.disconnect();
                        const painted = () => done((performance.now() - start) / 1000);
                        requestAnimationFrame(() => requestAnimationFrame(painted));
                      });
                      seen.observe(one.closest(".gs-root"), {childList: true, subtree: true});
                      (one.querySelector(".gs-head") ?? one).dispatchEvent(new MouseEvent("dblclick", {bubbles: true}));
                    })""",
                    [name, thing, other],
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
    grow(screen, 200)
    scene = _scene(editor)
    many = f"{len(scene.boxes)} boxes"
    sizes.append(len(zlib.compress(_json(place(scene).to_dict()))))
    yield Row(f"scene message of {many}, compressed", max(sizes) / MEGABYTE, None, 1.0, unit="MB")
    levels._memory.clear()
    yield Row(f"layout of {many}", seconds(lambda: place(scene), 1), None, 1.0)
    yield Row(f"longest the kernel stands still during a layout of {many}", _longest_gap(scene), None, 0.1)
    yield Row("a layout past its limit of 0.5 s is ended after", _ended_after(scene), None, 0.6)


def _scene(editor: Any) -> Any:
    """Returns the scene of the picture of an editor, without places."""
    return build(Tree(editor.snapshot), editor.screen.unfolded)


def _native(file: Path, boxes: int) -> float | None:
    """Returns the seconds of the system's dot for a picture of some boxes; None without that program."""
    editor = gs.open(file)
    grow(editor.screen, boxes)
    found = plain.seconds_native(plain.dot_of(_scene(editor)))
    if found is None:
        skipped("dot -Tjson0", "no program 'dot' is on the PATH")
    return found


def _as_numbers(corpus: Corpus) -> Iterator[Row]:
    """What pictures cost, how far boxes move, and how well they can be read, each next to plain Graphviz."""
    slowest = 0.0
    for id in READ:
        editor = gs.open(corpus.path(id))
        for most in (100, 200, 400):
            grow(editor.screen, most)
            scene = _scene(editor)
            levels._memory.clear()
            slowest = max(slowest, seconds(partial(place, scene), 1))
    yield Row(f"slowest layout of {len(READ)} graphs with up to 400 boxes", slowest, None, 1.0)
    with patch.object(pane, "place", plain.place):
        theirs, their_kinds = _moves(corpus)
    ours, kinds = _moves(corpus)
    # an unfolded frame needs room, so the boxes after it move in the window: they move together
    for what, mine, other in zip(("in the window", "next to their neighbors"), ours, theirs, strict=True):
        name = f"boxes that do not keep their place {what}, {len(WALKED) * STEPS} steps"
        yield Row(name, mine, other or None, 1.0 if other else 0.0, "plain Graphviz", "%")
    yield Row(name, ours[1], None, 5.0, unit="%")
    for kind in sorted(kinds):
        print(
            f"  next to their neighbors, {kind}: {kinds[kind]:.1f} %, plain {their_kinds.get(kind, 0.0):.1f} %",
            flush=True,
        )
    totals = [Counter[str](), Counter[str]()]
    for id in READ:
        editor = gs.open(corpus.path(id))
        grow(editor.screen, 80)
        scene = _scene(editor)
        found = [legibility(one(scene, direction="TB").to_dict()) for one in (place, plain.place)]
        for total, one in zip(totals, found, strict=True):
            total.update(one)
        text = ", ".join(
            f"{key} {found[0][key]:,.0f} (plain {found[1][key]:,.0f})" for key in found[0] if key != "area"
        )
        print(f"  {id}, {len(scene.boxes)} boxes, {len(scene.edges)} edges: {text}", flush=True)
    names = {
        "crossings": "pairs of edges that cross", "places": "places at which edges cross", "length": "length of edges",
        "area": "area of pictures",
    }  # fmt: skip
    for key, name in names.items():
        yield Row(f"{name}, {len(READ)} graphs", totals[0][key], totals[1][key], 1.2, "plain Graphviz", "")
    yield Row("boxes that edges run through", totals[0]["through"], None, 0, unit="")
    yield Row("boxes that lie over others", totals[0]["over"], None, 0, unit="")
    if can_measure():
        with ProcessPoolExecutor(1, get_context("spawn")) as process:  # this process still returns memory of other rows
            left = process.submit(growth, corpus.path(CROWDED)).result()
        yield Row(f"memory that {TURNS:,} unfoldings and foldings leave", left, None, 10.0, unit="MB")


def _moves(corpus: Corpus) -> tuple[tuple[float, float], dict[str, float]]:
    """Returns how many boxes in a hundred do not keep their place, in the window and next to their neighbors.

    Also, for each kind of step, the second number.
    """
    found: list[tuple[bool, bool]] = []
    kinds: dict[str, list[bool]] = {}
    for number, id in enumerate(WALKED):
        for kind, clicked, before, after in walk(gs.open(corpus.path(id)), STEPS, number):
            boxes = list(moved(before, after, clicked))
            found += boxes
            kinds.setdefault(kind, []).extend(near for _, near in boxes)
    shares = [100 * (1 - sum(one) / len(found)) for one in zip(*found, strict=True)]
    return (shares[0], shares[1]), {kind: 100 * (1 - sum(one) / len(one)) for kind, one in kinds.items() if one}


def growth(file: Path) -> float:
    """Returns the memory that unfolding and folding leaves, in MB, after a first half that fills what is kept."""
    screen = gs.open(file).screen
    grow(screen, 100)
    scene: Any = screen.traits()["scenes"]["source"]
    names = [box["name"] for box in scene["boxes"] if box["kind"] == "scope"]
    held = []
    for turn in range(TURNS // 2):
        name = names[turn % len(names)]
        screen.unfold(name)
        screen.traits()
        screen.fold(name)
        screen.traits()
        if turn in (TURNS // 4, TURNS // 2 - 1):
            gc.collect()
            held.append(_held("VmRSS"))
    return max(0, held[1] - held[0]) / MEGABYTE


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
    engine = live()
    assert engine is not None
    dot = plain.dot_of(scene).replace("nslimit=2 nslimit1=2", "nslimit=1000 nslimit1=1000 searchsize=10000")
    heavy = dot.replace("digraph g {", "digraph g {" + " ".join(f"x{i} -> x{i * 7 % 1999};" for i in range(2000)), 1)
    start = time.perf_counter()
    try:
        engine.run(heavy, 0.5, lambda: False)
    except LayoutTimeout:
        return time.perf_counter() - start
    raise AssertionError("the layout was done before its limit: take a larger one")
