"""The pictures of the operations of a plan are those that the code of the page draws."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import Any

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.view.svg import panes
from tests.needs import ROOT
from tests.pictures import SVG, meaning
from tests.test_cookbook import DRAWN_WITH

TEXT = (ROOT / "docs" / "reference" / "planning.md").read_text()
PICTURES = ROOT / "docs" / "reference" / "operations"
#: Operation -> the code of its section.
CODE = dict(re.findall(r"^### `(\w+)`\n+[^\n]+\n+```python\n(.+?)^```", TEXT, re.DOTALL | re.MULTILINE))
#: What stands before the first section: the graph.
GRAPH = re.search(r"^```python\n(.+?)^```", TEXT, re.DOTALL | re.MULTILINE)[1]  # type: ignore[index]


def picture(plan: gs.Plan) -> str:
    """Returns the graph before a plan, next to the graph after it."""
    title = plan.base.title
    after: str = plan.preview()._repr_mimebundle_()["image/svg+xml"]
    if plan.effect.removed:  # the preview shows both
        return after
    return panes([(title, str(gs.open(plan.base.owner, title=title).to_svg())), (f"{title} after the plan", after)])


def drawn() -> dict[str, str]:
    """Operation -> its picture, as its code draws it."""
    out: dict[str, str] = {}
    for name, code in CODE.items():
        names: dict[str, Any] = {}
        exec(GRAPH + code, names)
        assert names["plan"].check() == (), name
        out[name] = picture(names["plan"])
    return out


def test_each_operation_that_changes_the_graph_has_a_picture():
    wanted = {
        "copy", "insert", "adapt", "connect", "reroute", "swap", "bypass", "detach", "remove", "replace", "on_copies",
        "collapse", "inline", "unroll", "resolve_condition", "rename", "set_attr", "set_device",
        "add_control", "remove_control", "reroute_control",
    }  # fmt: skip
    assert set(CODE) == wanted
    assert {path.stem for path in PICTURES.iterdir()} == wanted
    assert set(re.findall(r"\]\(operations/(\w+)\.svg\)", TEXT)) == wanted


def test_every_public_method_of_a_plan_is_on_the_page():
    methods = {name for name, value in vars(gs.Plan).items() if name[0] != "_" and callable(value)}
    assert methods - set(re.findall(r"graphsurgeon\.Plan\.(\w+)", TEXT)) == set()


def test_pictures_are_current():
    for name, now in drawn().items():
        assert len(now) < 40_000, name
        if tf.__version__.startswith(DRAWN_WITH):  # another TensorFlow may build other ops
            stored = (PICTURES / f"{name}.svg").read_text()
            assert meaning(stored) == meaning(now), f"{name}.svg is out of date: python tools/write_operations.py"


def test_pictures_show_the_change():
    """Before and after differ, also if only edges change."""
    for name in CODE:
        root = ET.fromstring((PICTURES / f"{name}.svg").read_text())
        before, after = (meaning(ET.tostring(pane, encoding="unicode")) for pane in root.findall(f"{SVG}svg"))
        assert before[1:] != after[1:], name  # the first line is the title
