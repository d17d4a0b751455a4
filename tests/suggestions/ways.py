"""A way out of a refusal: a request, a piece of its suggestion, and what that piece says to do instead."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import SurgeryError
from tests.suggestions.sites import noted

tf1 = tf.compat.v1


class Said(str):
    """A suggestion, and what it names."""

    @property
    def names(self) -> list[str]:
        """The quoted texts, in order."""
        return re.findall(r"'([^']*)'", self)

    @property
    def name(self) -> str:
        """The first of them."""
        return self.names[0]

    def value(self, argument: str) -> Any:
        """The value that it gives an argument."""
        text = self[self.index(f"{argument}=") + len(argument) + 1 :]
        for end in range(len(text), 0, -1):
            try:
                return ast.literal_eval(text[:end])
            except (SyntaxError, ValueError):
                continue
        raise AssertionError(f"no value of {argument} is in: {self}")

    def call(self, method: str) -> str:
        """The call of a method that it types, with the dot."""
        start = self.index(f".{method}(")
        for end in range(start + 1, len(self) + 1):
            try:
                ast.parse(f"f{self[start:end]}", mode="eval")
            except SyntaxError:
                continue
            if self[end - 1] == ")":
                return str(self[start:end])
        raise AssertionError(f"no call of {method} is in: {self}")


class Way(NamedTuple):
    """One way out.

    Args:
        site: the place that makes the suggestion, as `sites` names it.
        says: the piece of the suggestion that is done.
        ask: the request, of an editor: it returns a plan, or raises an error.
        do: what the piece says to do, of the same editor and the suggestion: the request is carried out.
        on: makes the editor.
    """

    site: str
    says: str
    ask: Callable[[Any], Any]
    do: Callable[[Any, Said], Any]
    on: Callable[[], Any]

    def __str__(self) -> str:
        return f"{self.site}: {self.says}"


def refusal(ed: Any, request: Callable[..., Any], *given: Any) -> Any:
    """Returns the error or fault of a request; None if it is carried out. A plan is checked, then applied."""
    try:
        made = request(ed, *given)
        if isinstance(made, gs.Plan):
            faults = made.check()
            if faults:
                return faults[0]
            if made.base.owner is ed.snapshot.owner:
                ed.apply(made)
    except SurgeryError as error:
        return error
    return None


def follow(way: Way) -> None:
    """Asserts that a request is refused by the place of a way, and that the way is out of it."""
    ed = way.on()
    with noted() as made:
        refused = refusal(ed, way.ask)
    assert refused is not None, "the request is not refused"
    said = Said(refused.suggestion)
    assert way.says in said, said
    assert way.site in made(said), (said, made(said))
    left = refusal(ed, way.do, said)
    assert left is None, f"{said}\n-> {left}"
