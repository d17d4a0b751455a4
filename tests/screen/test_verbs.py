"""The table of verbs: it is the screen's methods, and all that is written from it is up to date."""

from __future__ import annotations

import importlib.util
import inspect

import numpy as np
import pytest

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError, SurgeryError
from graphsurgeon.ui.commands.specs import (
    ANYTHING,
    COMMAND_SPECS,
    COUNT,
    NAMES,
    NUMBERS,
    REQUIRED,
    TEXT_OR_NONE,
    YES_OR_NO,
)
from graphsurgeon.ui.screen import Screen
from tests.graphs import tiny
from tests.needs import ROOT
from tests.refusal import refuses


def _tool():
    spec = importlib.util.spec_from_file_location("write_verbs", ROOT / "tools" / "write_verbs.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return tool


@pytest.mark.parametrize("name", COMMAND_SPECS)
def test_the_method_has_the_arguments_of_the_command(name):
    parameters = list(inspect.signature(getattr(Screen, name)).parameters.values())[1:]
    named = {arg.name for arg in COMMAND_SPECS[name].args}
    reported = [
        (arg.name, inspect.Parameter.empty if arg.default is REQUIRED else arg.default)
        for arg in COMMAND_SPECS[name].args
    ]
    assert [(p.name, p.default) for p in parameters if p.name in named] == reported
    more = [p for p in parameters if p.name not in named]
    assert all(p.default is not p.empty for p in more), "what a page cannot give has a default"
    assert inspect.getdoc(getattr(Screen, name))


@pytest.mark.parametrize("name", COMMAND_SPECS)
def test_examples_fit_and_are_complete(name):
    for example in COMMAND_SPECS[name].examples():
        assert list(example) == [arg.name for arg in COMMAND_SPECS[name].args]
        assert all(arg.kind.accepts(example[arg.name]) for arg in COMMAND_SPECS[name].args)


def test_no_key_means_two_things_and_each_verb_of_a_key_is_there():
    rows = [row for rows in _tool().key_groups().values() for row in rows]
    pressed = [key for _, keys, *_ in rows for key in keys]
    assert len(set(pressed)) == len(pressed)
    verbs = {verb for *_, verb in rows} - {""}
    assert verbs <= set(COMMAND_SPECS)
    assert all(verb.gesture or verb.name in verbs for verb in COMMAND_SPECS.values())


def test_what_is_written_from_the_table_is_up_to_date():
    for path, text in _tool().written().items():
        assert path.read_text() == text, f"{path.name} is old: python tools/write_verbs.py"


_WRONG = {k.description: w for k, w in ((TEXT_OR_NONE, 3), (COUNT, "a"), (NAMES, 3), (NUMBERS, 3), (YES_OR_NO, "yes"))}


_JUDGED = [(verb, arg) for verb in COMMAND_SPECS.values() for arg in verb.args if arg.kind is not ANYTHING]


@pytest.mark.parametrize(("verb", "arg"), _JUDGED, ids=lambda x: x.name)
def test_an_argument_of_another_kind_is_refused_in_three_parts(verb, arg):
    ed = gs.open(tiny())
    screen = ed.screen
    before = screen.state
    given = {**verb.examples()[0], arg.name: _WRONG.get(arg.kind.description, ["x"])}
    with pytest.raises(SurgeryError) as caught:
        getattr(screen, verb.name)(**given)
    assert caught.value.request.startswith(f"{verb.name}({arg.name}=")
    assert caught.value.problem.endswith(f" is not {arg.kind.description}")
    assert caught.value.suggestion == f"Call it as {verb.usage}"
    assert screen.state is before


def test_what_an_argument_of_another_kind_is_told():
    screen = gs.open(tiny()).screen
    with refuses(SelectionError, "unfold(name=['x']): ['x'] is not a string", "Call it as unfold(name, pane='source')"):
        screen.unfold(["x"])
    usage = "Call it as select(names, mode='set')"
    with refuses(SelectionError, "select(names=3): 3 is not a list of strings", usage):
        screen.select(3)
    with refuses(SelectionError, "select(mode='sett'): 'sett' is not one of 'add', 'set', 'toggle'", usage):
        screen.select(["x"], "sett")
    with refuses(SelectionError, "fold_all(pane='left'): 'left' is not one of 'destination', 'source'", "fold_all("):
        screen.fold_all("left")
    with refuses(PlanError, "reroute(old=3): 3 is not a string", "Call it as reroute(old, to, only=())"):
        screen.reroute(3, "x")
    with refuses(
        PlanError,
        "replace(replacement=3): 3 is not a string or a function",
        "Call it as replace(names, replacement, external",
    ):
        screen.replace(["x"], 3)
    with refuses(PlanError, "remove(stitch=1): 1 is not true or false", "Call it as remove(names, stitch=False)"):
        screen.remove(["x"], stitch=1)


_SEVERAL = [(verb, arg) for verb, arg in _JUDGED if arg.kind is NAMES]


@pytest.mark.parametrize(("verb", "arg"), _SEVERAL, ids=lambda x: x.name)
def test_one_name_is_a_list_of_one(verb, arg):
    for one in ("a/b", tiny().get_operations()[0]):
        given = {**verb.examples()[0], arg.name: one}
        assert verb.read(given)[arg.name] == [getattr(one, "name", one)]


def test_one_name_is_enough_to_select_and_to_remove():
    graph = tiny()
    screen = gs.open(graph).screen
    name = graph.get_operations()[-1].name
    screen.select(name)
    assert screen.selection.names == [name]
    screen.remove(name, stitch=True)
    assert [step.ops for step in screen.draft.steps] == [(name,)]


def test_objects_stand_for_their_names_and_any_several_for_a_list():
    graph = tiny()
    screen = gs.open(graph).screen
    op = graph.get_operations()[0]
    screen.select((op,))
    assert screen.selection.names == [op.name]
    screen.select(name for name in [op.name])
    assert screen.selection.names == [op.name]
    assert screen.details(op) == screen.details(op.name)
    screen.set_budget(np.int64(300))
