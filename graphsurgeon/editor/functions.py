"""Makes TF2 functions, Keras layers and Keras models of a graph, and graphs with inlined function calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from .. import tf
from ..errors import PlanError, SelectionError, counted, few, one_or_all, warn
from ..graph.boundary import region
from ..graph.calls import CallTree
from ..graph.graph import Graph
from ..graph.layers import update_layers
from ..graph.names import op_name, tensor_name
from ..graph.open_graph import Ends, OpenedGraph, placeholders_in
from ..graph.references import ReferenceResolver
from ..graph.selection import Selection
from ..plan.editor_like import EditorLike, described
from .session_values import Values


def function_of(editor: EditorLike, values: Any, inputs: Any, outputs: Any, name: str, also: Any) -> Any:
    """Returns a TF2 callable made from a part of a graph, as `Editor.function` does.

    Args:
        editor: the editor of the graph.
        values: another editor or its `values`, a session, or a mapping; None: the values of `editor`.
        inputs, outputs: the tensors that become arguments and results.
        name: the name of the function.
        also: ops to run with each call.
    """
    request, graph, functions = f"function(outputs={outputs!r})", editor.snapshot, tf.functions.graph_function
    resolver = ReferenceResolver(graph, editor.layers, request)
    also = [op_name(resolver.op(one)) for one in _several(also)]
    ends = _ends(editor, inputs, outputs, "function", request)
    _refuse_unusable(editor, values, inputs, ends, also, request)
    request = f"function(outputs={one_or_all(list(ends.outputs.values())[:_MAX_LISTED])!r})"
    if inputs is not None:
        ends = replace(ends, defaults={})  # arguments with a default come last; the request has another order
    notes = _training_facts(editor).left_out(graph, ends.inputs.values(), ends.outputs.values())
    function = functions.graph_function(
        graph, ends, _value_source(editor, values), name, request, also=also, notes=notes
    )  # fmt: skip
    functions.note_separate_variables(graph, function)
    updates = functions.updates_left_out(graph, ends, also)
    if updates:
        warn(
            f"{request}: {few(map(repr, updates))} keep averages or counts of its results, and do not run: no "
            f"output needs them. To run them, give also={updates[:3]!r}, "
            "or use ed.keras_layer, which runs them in training"
        )
    return function


def layer_of(
    editor: EditorLike, values: Any, inputs: Any, outputs: Any, training: Any, name: str | None, trainable: bool
) -> Any:
    """Returns a Keras layer made from a part of a graph, as `Editor.keras_layer` does.

    Args:
        editor: the editor of the graph.
        values: another editor or its `values`, a session, or a mapping; None: the values of `editor`.
        inputs, outputs: the tensors that become arguments and results.
        training: a tensor that is fed the training flag; or an editor of the graph to run in training.
        name: the name of the layer.
        trainable: whether its weights are trained.
    """
    graph, request = editor.snapshot, "keras_layer()" if outputs is None else f"keras_layer(outputs={outputs!r})"
    ends = _ends(editor, inputs, outputs, "keras_layer", request)
    run_too = () if inputs is None else tf.functions.graph_function.updates_left_out(graph, ends)
    _refuse_unusable(editor, values, inputs, ends, run_too, request)
    if hasattr(training, "opened_graph"):
        there = _ends(training, inputs, outputs, "keras_layer", request)
        training = training.snapshot, there, _value_source(training, None), _training_facts(training)
    elif training is not None:
        training = ReferenceResolver(graph, editor.layers, request).tensor(training)
    source, facts = _value_source(editor, values), _training_facts(editor)
    layer = tf.functions.keras_layer.keras_layer(graph, ends, source, name, training, trainable, request, facts)
    tf.functions.graph_function.note_separate_variables(graph, layer)
    layer.add_notes(f"the default of {key!r} is not included: give this argument" for key in ends.defaults)
    return layer


def _training_facts(editor: EditorLike) -> Any:
    """Returns properties of the opened Keras model that its graph does not contain; empty for other graphs."""
    origin = editor.opened_graph.origin
    return tf.functions.layers.TrainingFacts() if origin is None else origin.facts(editor.history.renamed)


def model_of(editor: EditorLike, values: Any, inputs: Any, outputs: Any, training: Any, name: str | None) -> Any:
    """Returns a Keras model that computes a graph, as `Editor.keras_model` does.

    Args:
        editor: the editor of the graph.
        values: another editor or its `values`, a session, or a mapping; None: the values of `editor`.
        inputs, outputs: the tensors that become the inputs and outputs of the model.
        training: a tensor that is fed the training flag; or an editor of the graph to run in training.
        name: the name of the model.
    """
    graph, opened, renamed = editor.snapshot, editor.opened_graph, editor.history.renamed
    request = "keras_model()" if outputs is None else f"keras_model(outputs={outputs!r})"
    ends, model = _ends(editor, inputs, outputs, "keras_model", request), described(editor)
    if outputs is not None and all(
        [*getattr(ends, side).items()] == [*getattr(model, side).items()] for side in ("inputs", "outputs")
    ):
        inputs, ends = None, _ends(editor, None, None, "keras_model", request)  # in the structure of the opened model
    several = isinstance(inputs, list | tuple) or (inputs is None and len(ends.inputs) > 1)
    form = "dict" if isinstance(inputs, Mapping) else "list" if several else "one"
    if inputs is None and opened.origin is not None and opened.origin.inputs:
        form = "same"
    if hasattr(training, "opened_graph"):
        other = training.opened_graph.origin
        training = training.snapshot, training.history.renamed, other, _value_source(training, None)
    elif training is not None:
        training = ReferenceResolver(graph, editor.layers, request).tensor(training)
    first = tf.open.snapshot.snapshot(opened.graph if opened.origin is None else opened.origin.graph)
    about = _value_source(editor, values), name, training, request
    return tf.functions.keras_model.keras_model(graph, first, renamed, opened.origin, ends, form, *about)


def _ends(editor: EditorLike, inputs: Any, outputs: Any, verb: str, request: str) -> OpenedGraph:
    """Returns the model of an editor with the requested inputs and outputs; by default those of the opened function.

    A function returns a dict if the opened function has no structure. A layer or model then returns its only result.

    Raises:
        PlanError: there are no outputs. The message lists the signatures of the file.
        SelectionError: a tensor does not exist.
    """
    model = described(editor)
    takes = None if inputs is None else _tensors(editor, inputs, verb, f"{verb}(inputs={inputs!r})", named=True)
    gives = None if outputs is None else _tensors(editor, outputs, verb, request)
    ends = model.chosen(takes, _structured(model) if gives is None and verb != "function" else gives)
    if not ends.outputs:
        editor.graph  # noqa: B018  # raises an error if the graph can only be viewed
        ways = [f"gs.open(..., signature={one.name!r})" for one in model.serving.signatures]
        others = f", or open what is served: {few(ways)}" if ways else ""
        raise PlanError(request, "no outputs are given", f"Name the tensors to return: outputs='softmax:0'{others}")
    return ends


def _refuse_unusable(
    editor: EditorLike, values: Any, inputs: Any, ends: Ends, also: Sequence[str], request: str
) -> None:
    """Refuses variables without a value, inputs that no output depends on, and outputs that are the inputs."""
    graph, layers = editor.snapshot, editor.layers
    if inputs is None:
        if values is None:
            editor.values.refuse_missing(ends.outputs.values(), request)
        return
    cuts, ends_of = ([graph.tensor(name, request) for name in side.values()] for side in (ends.inputs, ends.outputs))
    along = [graph.find(op, request) for op in also]
    if ends_of and not along and set(ends_of) <= set(cuts):
        names = [getattr(one, "path", one) for one in _several(inputs)]
        layer = next((one for name in names if isinstance(name, str) for one in layers.named(name)), None)
        own = f"{graph.name(ends_of[0])!r} is both an input and an output, so nothing is computed"
        if layer is not None and layer.inputs:
            first = layer.inputs[0] if len(layer.inputs) == 1 else [*layer.inputs]
            how = f"As an input, a layer means its output. For the layer itself type inputs={first!r}"
            raise SelectionError(request, own, how)
        raise SelectionError(request, own, "Name an output that is computed from it")
    used_cuts = [tensor for tensor in cuts if tensor not in ends_of]
    region(graph, used_cuts, [*(end for end in ends_of if end not in cuts), *((op, 0) for op in along)], request)


def _tensors(editor: EditorLike, objects: Any, verb: str, request: str, named: bool = False) -> Any:
    """Returns tensors in the structure of the given references: one, a list or a dict.

    Args:
        editor: the editor of the graph.
        objects: one reference, several, or a dict. A layer means its outputs.
        verb, request: the method and the request, for messages.
        named: return a dict by the references if all of them are names of layers with one output.
    """
    resolver, mapping = ReferenceResolver(editor.snapshot, editor.layers, request), isinstance(objects, Mapping)
    references = list(objects.values() if mapping else _several(objects))
    for obj in references:
        if isinstance(obj, Selection):
            raise _selected_tensors(obj, verb)
        if not isinstance(getattr(obj, "name", obj), str):
            problem = f"{obj!r} is of type {type(obj).__name__}, neither a text nor an object with a name"
            raise SelectionError(request, problem, "Give one name such as 'x:0', several, or a dict")
    tensors = list(map(resolver.tensor, references)) if mapping else resolver.ends(references)
    for tensor in tensors:
        editor.snapshot.tensor(tensor_name(tensor), request)
    if mapping:
        return dict(zip(objects, tensors, strict=True))
    if named and len(tensors) == len(references):
        pairs = list(zip(references, tensors, strict=True))
        if all(isinstance(a, str) and isinstance(b, str) and a != b for a, b in pairs):
            return dict(pairs)
    return tensors if isinstance(objects, list | tuple) or len(tensors) > 1 else tensors[0]


def _several(objects: Any) -> Sequence[Any]:
    return objects if isinstance(objects, list | tuple) else [objects]


def _selected_tensors(selection: Selection, verb: str) -> SelectionError:
    """Returns the error for a selection that is given instead of tensors. It lists the boundary tensors."""
    graph, edge = selection.graph, selection.boundary
    takes, gives = [*edge.inputs, *placeholders_in(graph, selection.mask)], [*edge.outputs]
    how = f"inputs={one_or_all(takes)!r}, outputs={one_or_all(gives)!r}"
    if len(takes) > _MAX_LISTED or len(gives) > _MAX_LISTED:
        how = "inputs=selection.boundary.inputs, outputs=selection.boundary.outputs"
    problem = f"a selection of {counted(len(selection), 'ops')} is given, and tensors are needed"
    return SelectionError(f"{verb}(selection)", problem, f"Give the tensors at its boundary: {how}")


#: An error lists up to this many inputs or outputs.
_MAX_LISTED = 4


def _value_source(editor: EditorLike, values: Any) -> Any:
    """Returns the source of values: a session, a mapping, or a function that returns a session."""
    values = editor.values if values is None else values
    giver = tf.values.transfer.value_provider(values)
    return values if giver is None else giver.read_session


def _structured(opened_graph: OpenedGraph) -> Any:
    """Returns the output names in the structure that the opened function returns: one, a list or a dict."""
    names = list(opened_graph.outputs.values())
    if opened_graph.pack_outputs is None:
        return names[0] if len(names) == 1 else dict(opened_graph.outputs)
    try:
        form = opened_graph.pack_outputs(range(len(names)))
    except (TypeError, ValueError):
        form = None  # sparse and ragged results: their component tensors, by name
    if isinstance(form, int):
        return names[form]
    if isinstance(form, (list, tuple)) and all(isinstance(i, int) for i in form):
        return [names[i] for i in form]
    if isinstance(form, Mapping) and all(isinstance(i, int) for i in form.values()):
        return {str(key): names[i] for key, i in form.items()}
    return dict(opened_graph.outputs)


def inlined(graph: Graph, opened_graph: OpenedGraph, values: Values, calls: Iterable[Any]) -> tuple[OpenedGraph, str]:
    """Returns a new graph in which function calls are replaced by their bodies, and the code of this call.

    Args:
        graph: the snapshot.
        opened_graph: the opened graph.
        values: the values of its variables.
        calls: the call ops to replace, by name or object; empty for all.
    """
    expansion = tf.functions.lower.inline_calls(graph, calls)
    call = f".inlined({', '.join(repr(op_name(one)) for one in calls)})"
    layers = update_layers(
        opened_graph.layers,
        graph,
        CallTree(tf.open.snapshot.snapshot(expansion.graph), tf.functions.expand.function_body),
        expansion.tensors,
        call,
    )
    model = opened_graph.with_tensors(lambda tensor: expansion.tensors.get(tensor, tensor))
    model = replace(
        model,
        graph=expansion.graph,
        code=opened_graph.code + call,
        session=None,
        values=values.for_graph(expansion.graph),
        missing_values_reason="",
        layers=layers,
    )
    return model, call
