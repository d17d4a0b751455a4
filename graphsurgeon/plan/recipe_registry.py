"""The registry of recipes. The recipes of the menu are in `recipes/menu.py`; programs can register others."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PLAN, EDITORS, REPORT = "plan", "editors", "report"
"""The kinds of results of a recipe: steps of a plan, new editors, or a report on files and values."""


@dataclass(frozen=True)
class RecipeParameter:
    """One argument of a recipe: a field of the form.

    Args:
        name: the name of the argument.
        label: its label in the form.
        kind: ``inputs``, ``outputs`` or the single ``input`` of the graph, which the screen fills in; ``tensor``,
            ``tensors``, ``name``, ``words`` (several names), ``pairs`` (old name -> new name), ``shape``, ``text``; or
            ``editor`` (the name of an editor in the notebook, or a file).
        required: whether the argument is required.
        hint: the text of the empty field.
        choices: all accepted values with their labels, the default first; empty if any text is accepted.
    """

    name: str
    label: str
    kind: str
    required: bool = False
    hint: str = ""
    choices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Recipe:
    """A recipe as an entry of the menu.

    Args:
        name: the name of the function in `graphsurgeon.recipes`.
        summary: a description of the recipe, in the imperative.
        function: the function; its arguments are an editor, or a plan to extend, and the wishes by name.
        group: its group in the menu.
        parameters: its arguments in the form.
        result_kind: `PLAN`, `EDITORS` or `REPORT`.
        editor_names: for `EDITORS`, the names of the new editors.
        table_parameter: the argument that is a mapping old name -> new name, which the form shows as a table; empty if
            there is no table.
        table_rows: returns the old names of the table.
        unavailable_reason: returns why the recipe does not apply to an editor, if this is clear without a trial; empty
            if it may apply.
    """

    name: str
    summary: str
    function: Callable[..., Any]
    group: str
    parameters: tuple[RecipeParameter, ...] = ()
    result_kind: str = PLAN
    editor_names: tuple[str, ...] = ()
    table_parameter: str = ""
    table_rows: Callable[[Any], Sequence[str]] = lambda editor: ()
    unavailable_reason: Callable[[Any], str] = lambda editor: ""

    @property
    def description(self) -> str:
        """The first paragraph of the docstring of its function, as plain text."""
        first = (inspect.getdoc(self.function) or "").partition("\n\n")[0]
        return " ".join(first.replace("`", "").split())

    @property
    def has_trial(self) -> bool:
        """Whether the recipe needs no arguments except the outputs, so that a trial can show whether it applies."""
        return (
            self.result_kind == PLAN and not self.table_parameter and not any(wish.required for wish in self.parameters)
        )

    def run(self, obj: Any, values: Mapping[str, Any]) -> Any:
        """Returns the result of the recipe for an editor or a plan.

        Args:
            obj: the editor or the plan.
            values: arguments by name; unknown names are ignored.
        """
        names = {wish.name for wish in self.parameters}
        return self.function(obj, **{name: value for name, value in values.items() if name in names})


_TABLES: list[Callable[[], Iterable[Recipe]]] = []


def register_recipe(table: Callable[[], Iterable[Recipe]]) -> None:
    """Adds recipes to the menu, in this order.

    Args:
        table: returns the recipes; it is called when the menu is first needed.
    """
    _TABLES.append(table)


def registered_recipes() -> tuple[Recipe, ...]:
    """Returns all recipes of the menu.

    Example:
        >>> import graphsurgeon
        >>> [recipe.name for recipe in registered_recipes()][:2]
        ['for_inference', 'strip_training']
    """
    return tuple(recipe for table in _TABLES for recipe in table())
