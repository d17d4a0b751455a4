"""What TF 1.15 itself gave, call by call: names, order, parameters."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import pytest

from graphsurgeon import graph_editor as ge
from tests.graph_editor import calls

RECORD = json.loads((Path(__file__).parent / "tf115.json").read_text())
#: shapes are kept by default: bug 9 of the original
OTHER_DEFAULTS = {"copy_op_handler": {"copy_shape=False": "copy_shape=True"}}


@pytest.fixture(scope="module")
def made():
    with pytest.warns(ge.GraphEditorWarning, match="left out"):
        return dict(calls.cases(ge))


def test_the_record_is_of_the_original():
    assert RECORD["version"].startswith("1.15")
    assert len(RECORD["cases"]) > 40


@pytest.mark.parametrize("case", sorted(RECORD["cases"]))
def test_the_same_names_in_the_same_order(case, made):
    assert made[case] == RECORD["cases"][case]


@pytest.mark.parametrize("name", sorted(RECORD["signatures"]))
def test_the_same_parameters(name):
    wanted = RECORD["signatures"][name]
    owner, _, part = name.partition(".")
    thing = getattr(ge, owner)
    if wanted == "property":
        assert isinstance(inspect.getattr_static(thing, part), property)
        return
    found = calls.parameters(inspect.getattr_static(thing, part) if part else thing)
    others = OTHER_DEFAULTS.get(name, {})
    assert found[: len(wanted)] == [others.get(p, p) for p in wanted]


def test_all_public_names_are_listed():
    assert {name.partition(".")[0] for name in RECORD["signatures"]} <= set(ge.__all__)
    assert all(hasattr(ge, name) for name in ge.__all__)
