"""A checkpoint with the values of another, under other names."""

from __future__ import annotations

import pytest

from graphsurgeon.errors import PlanError
from graphsurgeon.tf.values.restore import rename_variables
from tests.refusal import refuses

KNOWN = ["a/w", "a/w/Adam", "a/wide", "b/c/w", "step"]


@pytest.mark.parametrize(
    ("rules", "made"),
    [
        ({"a/w": "v"}, {"a/w": "v", "a/w/Adam": "v/Adam"}),
        ({"a": "x/y"}, {"a/w": "x/y/w", "a/w/Adam": "x/y/w/Adam", "a/wide": "x/y/wide"}),
        ({"a": "x", "a/w/Adam": "slot"}, {"a/w": "x/w", "a/w/Adam": "slot", "a/wide": "x/wide"}),
        ({"*/w": "*/kernel"}, {"a/w": "a/kernel", "b/c/w": "b/c/kernel"}),
        ({"*/w": "*/kernel", "b": "d", "step": "n"}, {"a/w": "a/kernel", "b/c/w": "b/c/kernel", "step": "n"}),
        ({"a/w": "a/wide", "a/wide": "a/w"}, {"a/w": "a/wide", "a/wide": "a/w", "a/w/Adam": "a/wide/Adam"}),
    ],
)
def test_the_rule_that_says_most_is_the_one(rules, made):
    assert rename_variables(KNOWN, rules, "") == {**{name: name for name in KNOWN}, **made}


def test_two_values_have_two_names():
    with refuses(PlanError, "'a/w', 'b/c/w' would both be called 'w'", "Give them different names"):
        rename_variables(KNOWN, {"a/w": "w", "b/c/w": "w"}, "rename()")


@pytest.mark.parametrize("rule", [{"a/*": "b"}, {"a": "b/*"}, {"*/*": "b/*"}])
def test_a_pattern_has_one_star_on_both_sides(rule):
    with refuses(PlanError, "do not both have exactly one *", "Type {'old/*': 'new/*'}"):
        rename_variables(KNOWN, rule, "rename()")


def test_of_two_patterns_that_say_as_much_the_first_is_the_one():
    assert rename_variables(["a/b"], {"a/*": "x/*", "*/b": "*/y"}, "") == {"a/b": "x/b"}
