"""Splits a model into two that run in sequence, and merges two models into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from ..editor.connect import connect
from ..editor.editor import Editor
from ..editor.open import open
from ..errors import few, one_of
from ..graph.arrays import same_numbers
from ..graph.boundary import entering_tensors, ops_from_inputs
from ..graph.names import tensor_name, tensors_by_key
from ..graph.open_graph import Ends, outputs_of, placeholders_in
from ..graph.parts import refuse_part, required_ops
from ..graph.selection import Selection
from ..graph.traversal import forward, producers
from ..graph.types import FeedDict, GraphSource, TensorMap, TensorsLike, ValueSource
from ..graph.variables import FEED_TYPES, PLACEHOLDER_TYPES
from .recipe_context import RecipeContext, recipe_context, results, tensors, trace_targets, verification_errors
from .signature import block, inputs_of, part, set_signature


class Halves(NamedTuple):
    """Two models that compute the original model in sequence.

    Args:
        first: the model from the inputs to the tensors of the cut, which are among its `outputs`.
        second: the model from the tensors of the cut, which are among its `inputs`, to the outputs.
    """

    first: Editor
    second: Editor


def split_at(
    ed: Editor,
    at: TensorsLike,
    outputs: TensorsLike | None = None,
    inputs: TensorsLike | None = None,
    *,
    feeds: FeedDict | None = None,
    verify: bool = True,
) -> Halves:
    """Splits a model in two at some tensors, runs both halves, and compares the results with the model.

    Each half is a new graph with the same op names and the current values. The given editor does not change. A tensor
    of the cut is an output of the first half, and an input of the second half with the same key. Constants, variables
    and placeholders that both halves need are copied to both. Variables in both halves are then independent.

    Args:
        ed: the editor.
        at: the tensors, by name or object; or a dict of their keys -> tensors. The key of a layer is its name.
        outputs: the outputs of the model. Default: those of the opened function. An output computed before the cut is
            an output of the first half.
        inputs: tensors that are fed, if they are not placeholders.
        feeds: tensor -> array, for the comparison. Other tensors get random numbers if their dtype and shape allow it.
        verify: False skips the comparison.

    Returns:
        The two editors. `gs.connect` joins them again.

    Raises:
        PlanError: if the second half needs another tensor of the first half (the message suggests more cuts), a tensor
            of the cut is not needed by an output, the cut is inside a loop, or the results differ.
        SelectionError: if a tensor does not exist.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        ...     y = tf.nn.softmax(tf.nn.relu(x, name="features"), name="y")
        >>> first, second = gs.recipes.split_at(gs.open(graph), "features:0", "y:0")
        >>> first.outputs, second.inputs, second.snapshot.types
        ({'features': 'features:0'}, {'features': 'features:0'}, ['Placeholder', 'Softmax'])
    """
    context = recipe_context(ed, "split_at()")
    named = context.resolver.named_tensors(at)
    cuts = list(dict.fromkeys(tensors(context.graph, named, context.request)))
    if not cuts:
        raise context.precondition_error("at= is empty", "Name one or several tensors, for example at='features:0'")
    targets = list(dict.fromkeys(results(ed, outputs, context)))
    input_tensors = tensors(context.graph, inputs, context.request)
    before, after, early, late = _sides(context, cuts, targets, input_tensors)
    names = [one for one in (named, ed.inputs, ed.outputs) if isinstance(one, Mapping)]
    known = {tensor: key for one in names for key, tensor in one.items()}
    ends = [
        *ed.inputs.values(),
        *cuts,
        *input_tensors,
        *targets,
        *placeholders_in(context.graph, (before | after).mask),
    ]
    by_key = tensors_by_key(list(dict.fromkeys(ends)), known)
    keys = {tensor: key for key, tensor in by_key.items()}
    halves = Halves(*(
        part(
            ed, region,
            Ends(inputs={keys[t]: t for t in inputs_of(ed, region)}, outputs={keys[t]: t for t in part_outputs}),
            f"{ed.title}, {word}", f"split_at(), {word}",
        ) for region, part_outputs, word in ((before, [*cuts, *early], "first half"), (after, late, "second half"))
    ))  # fmt: skip
    one, other = (half.snapshot.state.variables for half in halves)
    both = few([repr(name) for name in one if name in other])
    for half in halves if both else ():
        notes = (*half.opened_graph.serving.notes, f"each half has its own copy of {both}")
        half.opened_graph = replace(half.opened_graph, serving=replace(half.opened_graph.serving, notes=notes))
    if not verify:
        return halves
    with verification_errors(context):
        whole = trace_targets(ed, feeds, [*targets, *input_tensors])
        input_values = {**{name: whole.results[name] for name in input_tensors}, **whole.feeds}
        between = _run(halves.first, input_values, by_key)
        got = between | _run(halves.second, {**input_values, **between}, by_key)
    for tensor in targets:
        if not same_numbers(whole.results[tensor], got[tensor]):
            problem = f"the halves give other numbers for {tensor!r} than the whole; both halves have"
            raise context.precondition_error(
                f"{problem} {both or 'no variable'}",
                "A variable that changes during a run can be in one half only: split elsewhere",
            )
    return halves


def _sides(
    context: RecipeContext, cuts: list[str], targets: list[str], fed_tensors: list[str]
) -> tuple[Selection, Selection, list[str], list[str]]:
    """Returns the ops of both halves, and the outputs of each half."""
    graph = context.graph
    at, ends = ([graph.tensor(name) for name in names] for names in (cuts, fed_tensors))
    later = ops_from_inputs(graph, frozenset(at), ~graph.mask([]))
    first = required_ops(graph, producers(graph, at), frozenset(ends))
    late = [name for name in targets if later[op := graph.tensor(name)[0]] and not first[op]]
    if not late:
        problem = f"none of the outputs {few(map(repr, targets))} is computed from {few(map(repr, cuts))}"
        raise context.precondition_error(problem, "Name a tensor between the inputs and the outputs")
    early = [name for name in targets if name not in late]
    first |= required_ops(graph, producers(graph, map(graph.tensor, early)), frozenset(ends))
    fed_here = graph.type_mask(FEED_TYPES) | producers(graph, ends)
    computed = first & ~graph.type_mask(PLACEHOLDER_TYPES) & forward(graph, fed_here, control=False)
    last = producers(graph, map(graph.tensor, late))
    second = required_ops(graph, last, frozenset([*at, *ends]), within=~computed)
    refuse_part(graph, second, at, context.request, key="at")
    entries = entering_tensors(graph, second, frozenset(at))
    unused = [name for name, one in zip(cuts, at, strict=True) if one not in entries]
    if unused:
        problem = f"the second half does not read {few(map(repr, unused))}"
        raise context.precondition_error(problem, f"Leave it out: at={[name for name in cuts if name not in unused]}")
    more = [one for one in entries if one not in at and one not in ends]
    if more:
        readers = [next(op for op, _ in graph.consumers_of(one) if second[op]) for one in more]
        pairs = zip(more, readers, strict=True)
        what = few([f"{graph.name(one)!r} for {graph.names[reader]!r}" for one, reader in pairs])
        problem = f"the second half would not run alone: it also reads {what}, which the first half computes"
        raise context.precondition_error(problem, f"Split there too: at={[*cuts, *(graph.name(one) for one in more)]}")
    return block(graph, first, ends, early), block(graph, second, [*at, *ends], late), early, late


def _run(half: Editor, feeds: Mapping[str, Any], tensors: Mapping[str, str]) -> dict[str, Any]:
    """Runs a half without graph optimization. Returns tensor of the whole model -> result."""
    fed = {here: feeds[tensors[key]] for key, here in half.inputs.items() if tensors[key] in feeds}
    ran = trace_targets(half, fed, list(half.outputs.values()))
    return {tensors[key]: ran.results[here] for key, here in half.outputs.items()}


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
