"""Merges two models into one: in sequence, side by side, or side by side with shared inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..editor.connect import connect
from ..editor.editor import Editor
from ..editor.open import open
from ..errors import few, one_of
from ..graph.names import tensor_name
from ..graph.open_graph import outputs_of
from ..graph.types import GraphSource, TensorMap, ValueSource
from .recipe_context import recipe_context
from .signature import set_signature

_MODES = ("after", "beside", "shared")


def merge(
    ed: Editor,
    other: GraphSource,
    how: str = "after",
    connections: TensorMap | None = None,
    *,
    names: Sequence[str] = ("first", "second"),
    values: Mapping[str, ValueSource] | str | None = None,
) -> Editor:
    """Merges two models into one, with one signature and the values of both. Neither model changes.

    This recipe uses `gs.connect`, which accepts any number of graphs. The ops of each model are in a scope of its name.

    Args:
        ed: the editor of the first model.
        other: the second model: an editor, or any argument of `gs.open`.
        how: ``"after"``: the second model reads the outputs of the first; ``"beside"``: each model has its own inputs;
            ``"shared"``: side by side, and inputs of the same name become one input.
        connections: output of the first -> input of the second, by the names of the signatures or of tensors. Default:
            outputs and inputs of the same name, or the only output and the only input.
        names: the names of both models, which become scopes.
        values: as in `gs.connect`: ``"initial"`` if variables have only their initial values.

    Returns:
        an editor of a new graph. Its `inputs` are the inputs without a connection. Its `outputs` are the outputs that
        the other model does not read. If an input or output has the same name in both models, its prefix is the name of
        its model.

    Raises:
        PlanError: if the connections are ambiguous, no inputs have the same name, or `gs.connect` refuses the models,
            for example because of dtypes or shapes that do not fit.
        OpenError: if the second model cannot be opened.
        SelectionError: if a tensor does not exist.

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
    context = recipe_context(ed, "merge()")
    if how not in _MODES:
        raise context.precondition_error(f"how={how!r} is not valid", one_of(how, _MODES))
    if len(names) != 2 or isinstance(names, str):
        raise context.precondition_error(f"names={names!r} is not a pair of names", "Type names=('first', 'second')")
    models = {name: _model(one) for name, one in zip(names, (ed, other), strict=True)}
    one, two = models.values()
    pairs: dict[Any, Any] = dict(connections or {})
    if how == "after" and not pairs:
        outputs, inputs = one.outputs, two.inputs
        pairs = {outputs[key]: inputs[key] for key in outputs if key in inputs}
        if not pairs and len(outputs) == len(inputs) == 1:
            pairs = dict(zip(outputs.values(), inputs.values(), strict=True))
        if not pairs:
            raise context.precondition_error(
                "the connections are ambiguous between the outputs "
                f"{_ends_text(outputs)} and the inputs {_ends_text(inputs)}",
                f"Type connections={{{next(iter(outputs), '')!r}: {next(iter(inputs), '')!r}}}",
            )
    elif how == "shared" and not pairs:
        pairs = {one.inputs[key]: two.inputs[key] for key in one.inputs if key in two.inputs}
        if not pairs:
            problem = (
                f"no input of {names[0]!r}, {_ends_text(one.inputs)}, has the same name as an input of {names[1]!r}"
            )
            more = f"{_ends_text(two.inputs)}: connections={{'{names[0]} input': '{names[1]} input'}}"
            raise context.precondition_error(problem, f"Give the inputs to share, from {more}")
    elif how == "beside" and pairs:
        raise context.precondition_error(
            "how='beside' connects nothing, but connections are given",
            "Type how='after' or how='shared'",
        )
    ends = {f"{names[0]}/{_end(key)}": f"{names[1]}/{_end(value)}" for key, value in pairs.items()}
    return connect(models, ends, values=values, title=f"{one.title}, {two.title}")


def _model(obj: Any) -> Editor:
    """Returns an editor with inputs and outputs. For a plain graph, outputs are the tensors without a consumer."""
    ed = obj if isinstance(obj, Editor) else open(obj)
    return ed if ed.outputs else set_signature(ed, outputs_of(ed.snapshot))


def _end(obj: Any) -> str:
    return obj if isinstance(obj, str) else tensor_name(obj)


def _ends_text(ends: Mapping[str, str]) -> str:
    return few(map(repr, ends)) or "none"
