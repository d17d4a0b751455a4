"""The three parts of a message, the tree of errors, and the nearest names."""

from __future__ import annotations

import pickle
from functools import partial

import pytest

from graphsurgeon import errors
from graphsurgeon.errors import SurgeryError, did_you_mean, nearest
from tests.cost import growth


def test_three_parts():
    error = SurgeryError("open('a')", "the file is empty", "Give a graph")
    assert (error.request, error.problem, error.suggestion) == ("open('a')", "the file is empty", "Give a graph")
    assert str(error) == "open('a'): the file is empty.\nGive a graph."


@pytest.mark.parametrize("end", [".", "?", "!"])
def test_one_full_stop(end):
    assert str(SurgeryError("a", "b" + end, " c" + end)) == f"a: b{end}\nc{end}"


@pytest.mark.parametrize("again", [lambda e: pickle.loads(pickle.dumps(e)), lambda e: type(e)(str(e))])
def test_what_copies_errors_gives_the_same_text(again):
    error = errors.PlanError("apply(plan)", "it is stale", "Make it again")
    assert type(again(error)) is errors.PlanError
    assert str(again(error)) == str(error)


def test_the_tree():
    for kind in (errors.OpenError, errors.SelectionError, errors.PlanError, errors.LayoutError):
        assert kind.__bases__ == (SurgeryError,)
    assert errors.StalePlanError.__bases__ == (errors.PlanError,)


def test_nearest_names():
    assert nearest("conv2d9", ["conv2d0", "relu", "conv2d1"]) == ["conv2d1", "conv2d0"]
    assert nearest("conv", []) == []
    assert len(nearest("a1", [f"a1{i}" for i in range(9)])) == 3
    assert nearest("aa1", ["aa2", "aa3"]) == ["aa3", "aa2"]
    assert did_you_mean("conv1", ["conv2"]) == "Did you mean 'conv2'?"
    assert did_you_mean("conv1", ["conv2", "conv3"]) == "Did you mean 'conv3' or 'conv2'?"
    assert "ed.find(" in did_you_mean("conv1", ["something else"])


def test_nearest_of_a_hundred_thousand_compares_few_letter_by_letter():
    def asked(size):
        return partial(nearest, "tower_3/block_100/conv_803/weigths", names[:size])

    names = [f"tower_{i % 8}/block_{i // 8}/conv_{i}/weights" for i in range(100_000)]
    assert asked(100_000)()[0] == "tower_3/block_100/conv_803/weights"
    assert growth(asked, 10_000, 100_000) < 3


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        (["kernel", "bias"], "Choose from 'kernel', 'bias'"),
        ("abcdefg", "Choose from 'a', 'b', 'c', 'd', 'e' and 2 more"),
        ([], "There are none"),
        (["kernel"], "There is only 'kernel'"),
        (["zzzzx", "y"], "Did you mean 'zzzzx'?"),
    ],
)
def test_one_of_a_few(choices, words):
    assert errors.one_of("zzzz", iter(choices)) == words


def test_a_name_that_is_there_twice_is_proposed_once():
    assert did_you_mean("y", ["y", "y", "y/y"]).count("'y'") == 1
