"""Merge: two models as one: one after the other, side by side, or side by side on the same inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..connect import connect
from ..editor import Editor
from ..errors import one_of
from ..graph.names import tensor_name
from ..open import open
from ..words import few
from .signature import set_signature
from .subject import Subject, ends_now, subject, unread

_WAYS = ("after", "beside", "shared")


def merge(
    ed: Editor,
    other: Any,
    how: str = "after",
    connections: Mapping[Any, Any] | None = None,
    *,
    names: Sequence[str] = ("first", "second"),
    values: Any = None,
) -> Editor:
    """Makes one model of two, with one signature and the values of both; neither of them changes.

    `gs.connect` does the work, for any number of graphs. The ops of each are under its name.

    Args:
        ed: the editor of the first.
        other: the second: an editor, or anything that `gs.open` takes.
        how: ``"after"``: the second reads what the first gives; ``"beside"``: each has its own inputs; ``"shared"``:
            side by side, and inputs of the same name are one.
        connections: output of the first -> input of the second, by the names of the signatures or of tensors. Default:
            those of the same name; where there is one of each, these.
        names: the scopes of both.
        values: as in `gs.connect`: ``"initial"`` where variables have no others.

    Returns:
        an editor of a new graph. Its `inputs` are those that nothing feeds, its `outputs` those that the other does
        not read; where both have the same name, the name of the model goes before.

    Raises:
        PlanError: nobody says which output feeds which input, or no inputs have the same name; what `gs.connect`
            refuses, as dtypes or shapes that do not fit.
        OpenError: the second cannot be opened.
        SelectionError: a tensor is not there.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> def times(factor):
        ...     with tf.Graph().as_default() as graph:
        ...         tf.multiply(tf.compat.v1.placeholder(tf.float32, [], name="x"), factor, name="y")
        ...     return gs.open(graph)
        >>> whole = gs.recipes.merge(times(2.0), times(5.0))
        >>> float(whole.session().run(whole.outputs["y"], {whole.inputs["x"]: 3.0}))
        30.0
        >>> gs.recipes.merge(times(2.0), times(5.0), "shared").outputs
        {'first_y': 'first/y:0', 'second_y': 'second/y:0'}
    """
    found = subject(ed, "merge()")
    if how not in _WAYS:
        raise found.refused(f"how={how!r} is not a way to merge", one_of(how, _WAYS))
    if len(names) != 2 or isinstance(names, str):
        raise found.refused(f"names={names!r} are not two names", "Type names=('first', 'second')")
    models = {name: _model(one) for name, one in zip(names, (ed, other), strict=True)}
    one, two = models.values()
    pairs = dict(connections or {})
    if how == "after" and not pairs:
        pairs = _paired(found, one.outputs, two.inputs)
    elif how == "shared" and not pairs:
        pairs = {one.inputs[key]: two.inputs[key] for key in one.inputs if key in two.inputs}
        if not pairs:
            wrong = f"no input of {names[0]!r}, {_listed(one.inputs)}, has the name of one of {names[1]!r}"
            more = f"{_listed(two.inputs)}: connections={{'{names[0]} input': '{names[1]} input'}}"
            raise found.refused(wrong, f"Say which are one, of {more}")
    elif how == "beside" and pairs:
        raise found.refused("how='beside' joins nothing, and connections are given", "Type how='after' or how='shared'")
    ends = {f"{names[0]}/{_end(key)}": f"{names[1]}/{_end(value)}" for key, value in pairs.items()}
    return connect(models, ends, values=values, title=f"{one.title}, {two.title}")


def _model(thing: Any) -> Editor:
    """An editor that says what it takes and gives: of a bare graph its placeholders, and what nothing reads."""
    ed = thing if isinstance(thing, Editor) else open(thing)
    return ed if ends_now(ed)[1] else set_signature(ed, unread(ed.snapshot))


def _end(thing: Any) -> str:
    return thing if isinstance(thing, str) else tensor_name(thing)


def _listed(ends: Mapping[str, str]) -> str:
    return few(map(repr, ends)) or "none"


def _paired(found: Subject, given: Mapping[str, str], taken: Mapping[str, str]) -> dict[str, str]:
    """Which output feeds which input, where that is clear."""
    same = {given[key]: taken[key] for key in given if key in taken}
    if not same and len(given) == len(taken) == 1:
        return dict(zip(given.values(), taken.values(), strict=True))
    if not same:
        wrong = f"nobody says which of the outputs {_listed(given)} feeds which of the inputs {_listed(taken)}"
        how = f"Type connections={{{next(iter(given), '')!r}: {next(iter(taken), '')!r}}}"
        raise found.refused(wrong, how)
    return same
