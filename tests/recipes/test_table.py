"""The table of recipes: each recipe is an entry, each argument of an entry is one of its function."""

from __future__ import annotations

import inspect

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.plan.recipe_registry import EDITORS, PLAN, registered_recipes
from graphsurgeon.recipes.menu import TABLE


def test_each_recipe_is_offered_once_in_this_order():
    assert registered_recipes()[: len(TABLE)] == TABLE
    assert sorted(recipe.name for recipe in TABLE) == sorted(gs.recipes.__all__)


@pytest.mark.parametrize("recipe", TABLE, ids=[recipe.name for recipe in TABLE])
def test_an_entry_asks_for_what_its_function_takes(recipe):
    first, *others = inspect.signature(getattr(gs.recipes, recipe.name)).parameters.values()
    assert {wish.name for wish in recipe.parameters} <= {one.name for one in (first, *others)}
    taken = [one.name for one in others if one.default is one.empty and one.kind is not one.VAR_KEYWORD]
    assert set(taken) <= {wish.name for wish in recipe.parameters if wish.required} | {recipe.table_parameter}
    assert bool(recipe.editor_names) == (recipe.result_kind == EDITORS)
    gives = inspect.signature(getattr(gs.recipes, recipe.name)).return_annotation
    assert (gives == "Plan") == (recipe.result_kind == PLAN)


def test_what_is_missing_can_be_seen_without_trying_it():
    ed = gs.open(tf.Graph())
    missing = {recipe.name: recipe.unavailable_reason(ed) for recipe in TABLE if recipe.unavailable_reason(ed)}
    assert missing == {
        "set_input": "the graph has no placeholder", "cut_preprocessing": "the graph has no placeholder",
        "restore_averages": "the graph has no variable", "replace_head": "the graph has no dense layer",
    }  # fmt: skip
