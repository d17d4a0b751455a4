"""Menu: what a recipe says of itself, and all recipes that are offered; `recipes` fills it, the screen shows it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

PLAN, EDITORS, REPORT = "plan", "editors", "report"
"""What a recipe gives: steps of a plan, new editors, or what it did with files and values."""


@dataclass(frozen=True)
class Wish:
    """One argument of a recipe, as a form asks for it.

    Args:
        name: of the argument of the function.
        label: what the form calls it.
        kind: ``inputs`` or ``outputs`` of the graph, or its one ``input``, which the screen fills in, ``tensor``,
            ``tensors``, ``name``, ``words``: several names, ``pairs``: old name -> new one, ``shape``, ``text``, or
            ``editor``: the name of one in the notebook, or a file.
        needed: whether it must be given.
        hint: what the empty field says.
        choices: all that it may be, each with the words for it, the default first; none: any text.
    """

    name: str
    label: str
    kind: str
    needed: bool = False
    hint: str = ""
    choices: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Recipe:
    """A recipe as an entry of the menu.

    Args:
        name: of the function in `graphsurgeon.recipes`.
        does: what it does, for people, in the imperative.
        function: the function; it takes an editor, or a plan to go on with, and the wishes by their names.
        group: what it stands under.
        wishes: what it asks for.
        gives: `PLAN`, `EDITORS` or `REPORT`.
        makes: of `EDITORS`, what to call each.
        table: the argument that is a mapping of old name -> new one, which a form asks for by a table; empty: none.
        rows: the old names of that table.
        missing: says of an editor why it does not apply, where that can be seen without trying it; empty where it may.
    """

    name: str
    does: str
    function: Callable[..., Any]
    group: str
    wishes: tuple[Wish, ...] = ()
    gives: str = PLAN
    makes: tuple[str, ...] = ()
    table: str = ""
    rows: Callable[[Any], Sequence[str]] = lambda editor: ()
    missing: Callable[[Any], str] = lambda editor: ""

    @property
    def about(self) -> str:
        """What its function says of itself first, as plain text."""
        first = (inspect.getdoc(self.function) or "").partition("\n\n")[0]
        return " ".join(first.replace("`", "").split())

    @property
    def tried(self) -> bool:
        """Whether it can be tried with nothing but the outputs, to see whether it applies."""
        return self.gives == PLAN and not self.table and not any(wish.needed for wish in self.wishes)

    def made(self, thing: Any, given: Mapping[str, Any]) -> Any:
        """Returns what it makes of an editor or a plan.

        Args:
            thing: the editor or the plan.
            given: arguments by name; those it does not know are left out.
        """
        known = {wish.name for wish in self.wishes}
        return self.function(thing, **{name: value for name, value in given.items() if name in known})


_OFFERED: dict[str, Recipe] = {}


def offer(recipes: Iterable[Recipe]) -> None:
    """Puts recipes into the menu, each under its name, in this order."""
    _OFFERED.update((recipe.name, recipe) for recipe in recipes)


def offered() -> tuple[Recipe, ...]:
    """Returns all recipes of the menu.

    Example:
        >>> import graphsurgeon
        >>> [recipe.name for recipe in offered()][:2]
        ['for_inference', 'strip_training']
    """
    return tuple(_OFFERED.values())
