"""Each suggestion of the package is followed by a test, or is in a list that only gets shorter."""

from __future__ import annotations

import pytest

from tests.suggestions import test_editors, test_graphs, test_plans
from tests.suggestions.sites import sites

TRIED = {way.site for module in (test_editors, test_graphs, test_plans) for way in module.WAYS}

#: Why nothing is followed -> the places of plan/ and graph/. A new place needs a `Way`, not a line here.
WITHOUT = {
    "it passes on the suggestions of others": ["plan/fault.py:Fault.to_error"],
    "its texts are empty": ["graph/graph.py:Graph._inside#3"],
    "only a graph without TensorFlow has ops of which nothing is known": [
        "plan/steps/insert.py:AdaptStep.resolve", "plan/steps/insert.py:AdaptStep._adapter"],
    "the suggestion is to leave the graph as it is": ["plan/steps/replace.py:region_of"],
    "the file must be written again by another program": ["graph/graph.py:Graph._grow#2"],
    "it needs a package that is not installed": [
        "graph/op_packages.py:refuse_unknown", "graph/trace.py:Trace.to_frame"],
    "it needs a file that root cannot write": ["graph/atomic_files.py:ensure_writable#2"],
    "its graph calls functions that are damaged, empty or endless": [
        "graph/calls.py:CallTree._refuse", "graph/calls.py:CallTree._refuse#2", "graph/calls.py:CallTree._refuse#3"],
    "another thread must run a session": ["graph/concurrency.py:RWLock.refuse_reader"],
    "not tried yet": [
        "graph/graph.py:Graph._inside#2", "graph/layers.py:Layers.find#2", "graph/layers.py:expand_layers#2",
        "graph/references.py:ReferenceResolver.tensor", "graph/references.py:ReferenceResolver.consumer#2",
        "graph/references.py:ReferenceResolver.op_or_scope",
        "plan/steps/replace.py:_rewire", "plan/steps/replace.py:_sites"],
}  # fmt: skip

#: How many places of the other folders have no `Way` yet. Lower a number whenever you add one.
REST = {"": 429, "tf": 179, "recipes": 69}


def test_each_suggestion_about_a_plan_or_a_graph_is_followed():
    there = set(sites("plan")) | set(sites("graph"))
    without = [name for names in WITHOUT.values() for name in names]
    assert there - TRIED - set(without) == set(), "write a `Way` for each of these"
    assert set(without) - there == set(), "these are gone"
    assert set(without) & TRIED == set(), "these are followed: take them out of the list"
    assert len(without) == len(set(without))


def test_the_suggestions_that_are_followed_are_there():
    assert TRIED - set(sites()) == set()


@pytest.mark.parametrize("folder", REST)
def test_the_other_suggestions_without_a_way_get_fewer(folder):
    left = {name for name in sites(folder) if not name.startswith(("plan/", "graph/"))} - TRIED
    assert len(left) <= REST[folder], sorted(left)
