"""The documentation builds without a warning, needs no network, and has every public name."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import graphsurgeon as gs
from graphsurgeon import examples, graph_editor, recipes
from tests.needs import ROOT
from tests.test_docstrings import PUBLIC, asked

pytestmark = [
    pytest.mark.deep,
    pytest.mark.filterwarnings(
        "ignore::PendingDeprecationWarning:sphinx", "ignore::PendingDeprecationWarning:myst_parser"
    ),
]
BUILD = runpy.run_path(str(ROOT / "tools" / "build_docs.py"))


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built: Sphinx takes every warning as an error."""
    folder = tmp_path_factory.mktemp("docs")
    assert BUILD["main"](["--to", str(folder / "site"), "--source", str(folder / "source")]) == 0
    return folder / "site"


def test_pages_load_nothing_from_a_network(site):
    for page in site.rglob("*.html"):
        loads = re.findall(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"(https?:|//)", page.read_text())
        loads += re.findall(r"<link\b[^>]*\bhref=\"(?:https?:|//)[^\"]*", page.read_text())
        assert not loads, page.relative_to(site)
    for style in site.rglob("*.css"):
        assert not re.search(r"@import|url\([\"']?(https?:)?//", style.read_text()), style.relative_to(site)


@pytest.mark.parametrize(
    "module", [gs, graph_editor, recipes, examples], ids=["gs", "graph_editor", "recipes", "examples"]
)
def test_every_public_name_is_in_the_reference(site, module):
    pages = "".join(page.read_text() for page in (site / "reference").glob("*.html"))
    there = set(re.findall(r'id="(?:graphsurgeon(?:\.\w+)*)\.(\w+)"', pages))
    assert set(module.__all__) - there - {"recipes", "examples", *_PARTS} == set()


_PARTS = {"edit", "match", "reroute", "select", "subgraph", "transform", "util", "matcher", "ph", "sgv", "sgv_scope"}
"""Modules of the graph editor, and its second names for things that the reference has under their first."""


def test_every_notebook_has_its_place_in_the_gallery(site):
    """A picture that is there, one sentence, a link, in the tiers of the README."""
    gallery = (site / "tutorials.html").read_text()
    rows = re.findall(r'<tr class="row-\w+"><td>(.*?)</tr>', gallery, re.S)
    linked = {found[1]: row for row in rows if (found := re.search(r'href="tutorials/(\w+)\.html"', row))}
    assert set(linked) == {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}
    for stem, row in linked.items():
        (picture,) = re.findall(r'<img\b[^>]*\bsrc="([^"]+)"', row)
        assert (site / picture).stat().st_size > 1000, stem
        assert len(re.sub("<[^>]+>", " ", row.partition("<br")[2]).split()) > 3, f"{stem} says its problem"
    tiers = [gallery.index(f"<h2>{tier}<") for tier in ("Start", "Recipes", "Deep dives")]
    assert tiers == sorted(tiers)


def test_arguments_of_any_method_are_two_clicks_away(site):
    """The first page shows a link to the index of names, which links to each method, with its arguments."""
    assert re.search(r'"toctree-l1"><a class="reference internal" href="genindex.html"', _text(site, "index.html"))
    linked: dict[str, set[str]] = {}
    for page, name in re.findall(r'href="(reference/\w+\.html)#(graphsurgeon[\w.]+)"', _text(site, "genindex.html")):
        linked.setdefault(page, set()).add(name)
    entries: dict[str, str] = {}
    for page, names in linked.items():
        parts = re.split(r'<dt class="sig sig-object py" id="(graphsurgeon[\w.]+)">', _text(site, page))
        entries |= {name: part for name, part in zip(parts[1::2], parts[2::2], strict=True) if name in names}
    missing = []
    for name, (function, bound) in PUBLIC.items():
        if name.split(".")[1] in _PARTS:
            continue
        entry = entries.get(_PLACES.get(name.partition(".")[0], "graphsurgeon.") + name, "")
        there = [each.lstrip("*") for each in re.findall(r"<strong>([*\w]+)</strong>", entry)]
        missing += [f"{name}: {each}" for each in asked(function, bound) if each not in there]
    assert missing == []


def _text(site: Path, page: str) -> str:
    return (site / page).read_text()


_PLACES = {"graphsurgeon": "", "Screen": "graphsurgeon.ui.screen.", "History": "graphsurgeon.editor.history."}


def test_parameters_of_a_method_as_a_table(site):
    page = (site / "reference" / "planning.html").read_text()
    table = page.partition("Parameters of")[2]
    for name in ("selection", "to", "inputs", "unmapped", "variables", "collections", "device", "seeds"):
        assert f">{name}<" in table
    assert "usage: python -m graphsurgeon view" in (site / "reference" / "command_line.html").read_text()


def test_no_class_shows_an_internal_constructor(site):
    heads = re.findall(r'<dt class="sig[^>]*>\s*<span class="property">(.*?class</span>.*?)</dt>', _all(site))
    assert len(heads) > 25
    shown = {re.sub("<[^>]+>", "", head).partition("(")[0].split()[-1] for head in heads if "sig-paren" in head}
    assert shown <= {f"graphsurgeon.graph_editor.{name}" for name in graph_editor.__all__}
    assert "graphsurgeon.graph_editor.OpMatcher" in shown, "users construct these"


def _all(site: Path) -> str:
    return "".join(page.read_text() for page in sorted((site / "reference").glob("*.html")))


def test_the_tables_of_the_reference_list_every_public_name():
    fields = {"base", "steps", "backend", "notes"}
    assert _summarized("recipes", "recipes") == set(recipes.__all__)
    for owner, page in ((gs.Editor, "editor"), (gs.Plan, "planning")):
        names = {name for name in vars(owner) if name[0] != "_"}
        assert names - fields == _summarized(owner.__name__, page) - fields


def _summarized(owner: str, page: str) -> set[str]:
    text = (ROOT / "docs" / "reference" / f"{page}.md").read_text()
    return {name for row in re.findall(rf"<!-- summary: {owner}\.(.+?) -->", text) for name in row.split()}


def test_live_pages_of_five_models_are_linked(site):
    linked = re.findall(r'href="(live/\w+\.html)"', _text(site, "live.html"))
    assert len(linked) == 5
    for page in linked:
        name = page.removeprefix("live/").removesuffix(".html")
        assert re.search(rf'<img alt="{name}: [\d,]+ ops, \d+ boxes" src="data:image/svg\+xml', _text(site, page))
