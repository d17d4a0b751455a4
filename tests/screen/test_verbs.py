"""The table of verbs: it is the screen's methods, and all that is written from it is up to date."""

from __future__ import annotations

import importlib.util
import inspect

import pytest

from graphsurgeon.screen.screen import Screen
from graphsurgeon.screen.verbs import KEYS, REQUIRED, VERBS
from tests.needs import ROOT


def _tool():
    spec = importlib.util.spec_from_file_location("write_verbs", ROOT / "tools" / "write_verbs.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


@pytest.mark.parametrize("name", VERBS)
def test_the_method_has_the_arguments_of_the_table(name):
    parameters = list(inspect.signature(getattr(Screen, name)).parameters.values())[1:]
    named = {arg.name for arg in VERBS[name].args}
    told = [(arg.name, inspect.Parameter.empty if arg.default is REQUIRED else arg.default) for arg in VERBS[name].args]
    assert [(p.name, p.default) for p in parameters if p.name in named] == told
    more = [p for p in parameters if p.name not in named]
    assert all(p.default is not p.empty for p in more), "what a page cannot give has a default"
    assert inspect.getdoc(getattr(Screen, name))


@pytest.mark.parametrize("name", VERBS)
def test_examples_fit_and_are_complete(name):
    for example in VERBS[name].examples():
        assert list(example) == [arg.name for arg in VERBS[name].args]
        assert all(arg.kind.fits(example[arg.name]) for arg in VERBS[name].args)


def test_no_key_means_two_things_and_each_verb_of_a_key_is_there():
    pressed = [key for entry in KEYS for key in entry.keys]
    assert len(set(pressed)) == len(pressed)
    assert {entry.verb for entry in KEYS} - {""} <= set(VERBS)
    assert all(verb.gesture or verb.key for verb in VERBS.values())


def test_what_is_written_from_the_table_is_up_to_date():
    for path, text in _tool().written().items():
        assert path.read_text() == text, f"{path.name} is old: python tools/write_verbs.py"
