"""Makes TF2 functions, Keras layers and Keras models of a graph, and graphs with inlined function calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from .. import tf
from ..errors import PlanError, SelectionError, counted, few, one_or_all, warn
from ..graph.boundary import region
from ..graph.calls import CallTree
from ..graph.graph import Graph
from ..graph.layers import Layers, update_layers
from ..graph.names import op_name, tensor_name
from ..graph.open_graph import OpenedGraph, placeholders_in
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
    request, graph, layers = f"function(outputs={outputs!r})", editor.snapshot, editor.layers
    opened = described(editor)
    packed = opened.packed if outputs is None else None
    also = tuple(map(ReferenceResolver(graph, layers, request).op, also if isinstance(also, list | tuple) else [also]))
    ends = opened.outputs if outputs is None else outputs
    takes, gives = _boundary(graph, opened, layers, inputs, ends, "function", request)
    _refuse_no_outputs(editor, gives, request)
    _refuse_unconnected(graph, layers, inputs, takes, gives, also, request)
    if values is None and inputs is None:
        editor.values.refuse_missing(tf.functions.graph_function.tensors_of(gives), request)
    source, defaults = _value_source(editor, values), opened.defaults if inputs is None else {}
    functions = tf.functions.graph_function
    notes = _training_facts(editor).left_out(graph, functions.arguments(takes).values(), functions.tensors_of(gives))
    about: dict[str, Any] = {"packed": packed, "also": also, "defaults": defaults, "notes": notes}
    function = functions.graph_function(graph, takes, gives, source, name, **about)
    updates = functions.updates_left_out(graph, takes, gives, also)
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
    graph, opened, layers = editor.snapshot, described(editor), editor.layers
    request = "keras_layer()" if outputs is None else f"keras_layer(outputs={outputs!r})"
    takes, gives = _boundary(graph, opened, layers, inputs, outputs, "keras_layer", request)
    _refuse_no_outputs(editor, gives, request)
    if values is None and inputs is None:
        editor.values.refuse_missing(tf.functions.graph_function.tensors_of(gives), request)
    run_too = () if inputs is None else tf.functions.graph_function.updates_left_out(graph, takes, gives)
    _refuse_unconnected(graph, layers, inputs, takes, gives, run_too, request)
    if hasattr(training, "opened"):
        about = (training.snapshot, described(training), training.layers)
        there = _boundary(*about, inputs, outputs, "keras_layer", request)
        training = (training.snapshot, *there, _value_source(training, None), _training_facts(training))
    elif training is not None:
        training = ReferenceResolver(graph, layers, request).tensor(training)
    source, facts = _value_source(editor, values), _training_facts(editor)
    layer = tf.functions.keras_layer.keras_layer(graph, takes, gives, source, name, training, trainable, request, facts)
    tf.functions.keras_layer.note_separate_weights(graph, layer)
    for key in opened.defaults if inputs is None else ():
        layer.add_note(f"the default of {key!r} is not included: give this argument")
    return layer


def _training_facts(editor: EditorLike) -> Any:
    """Returns properties of the opened Keras model that its graph does not contain; empty for other graphs."""
    origin = editor.opened.origin
    return tf.functions.keras_training.TrainingFacts() if origin is None else origin.facts(editor.history.renamed)


def model_of(editor: EditorLike, values: Any, inputs: Any, outputs: Any, training: Any, name: str | None) -> Any:
    """Returns a Keras model that computes a graph, as `Editor.keras_model` does.

    Args:
        editor: the editor of the graph.
        values: another editor or its `values`, a session, or a mapping; None: the values of `editor`.
        inputs, outputs: the tensors that become the inputs and outputs of the model.
        training: a tensor that is fed the training flag; or an editor of the graph to run in training.
        name: the name of the model.
    """
    graph, opened, renamed = editor.snapshot, editor.opened, editor.history.renamed
    request = "keras_model()" if outputs is None else f"keras_model(outputs={outputs!r})"
    takes, gives = _boundary(graph, described(editor), editor.layers, inputs, outputs, "keras_model", request)
    _refuse_no_outputs(editor, gives, request)
    several = isinstance(inputs, list | tuple) or (inputs is None and len(takes) > 1)
    form = "dict" if isinstance(inputs, Mapping) else "list" if several else "one"
    if inputs is None and opened.origin is not None and opened.origin.inputs:
        takes = None
    if hasattr(training, "opened"):
        training = training.snapshot, training.history.renamed, training.opened.origin, _value_source(training, None)
    elif training is not None:
        training = ReferenceResolver(graph, editor.layers, request).tensor(training)
    first = tf.open.snapshot.snapshot(opened.graph if opened.origin is None else opened.origin.graph)
    about = _value_source(editor, values), name, training, request
    return tf.functions.keras_model.keras_model(graph, first, renamed, opened.origin, takes, form, gives, *about)


def _refuse_no_outputs(editor: EditorLike, results: Any, request: str) -> None:
    """Refuses a function without outputs. The error lists the signatures of the file."""
    if isinstance(results, (Mapping, list, tuple)) and not results:
        editor.graph  # noqa: B018  # raises an error if the graph can only be viewed
        ways = [f"gs.open(..., signature={one.name!r})" for one in editor.opened.serving.signatures]
        others = f", or open what is served: {few(ways)}" if ways else ""
        raise PlanError(request, "no outputs are given", f"Name the tensors to return: outputs='softmax:0'{others}")


def _boundary(
    graph: Graph, opened_graph: OpenedGraph, layers: Layers, inputs: Any, outputs: Any, verb: str, request: str
) -> tuple[Any, Any]:
    """Returns the input and output tensors; by default those of the opened function."""
    takes = (
        opened_graph.inputs
        if inputs is None
        else _tensors(graph, layers, inputs, verb, f"{verb}(inputs={inputs!r})", named=True)
    )
    return takes, _as_packed(opened_graph) if outputs is None else _tensors(graph, layers, outputs, verb, request)


def _refuse_unconnected(
    graph: Graph, layers: Layers, inputs: Any, feed_tensors: Any, results: Any, also: Any, request: str
) -> None:
    """Refuses requested inputs that no output depends on, and outputs that are the inputs themselves."""
    if inputs is None:
        return
    cuts = [graph.tensor(name, request) for name in tf.functions.graph_function.arguments(feed_tensors).values()]
    ends_of = [graph.tensor(name, request) for name in tf.functions.graph_function.tensors_of(results)]
    along = [graph.find(op_name(op), request) for op in (also if isinstance(also, list | tuple) else [also])]
    if ends_of and not along and set(ends_of) <= set(cuts):
        names = [getattr(one, "path", one) for one in (inputs if isinstance(inputs, list | tuple) else [inputs])]
        layer = next((one for name in names if isinstance(name, str) for one in layers.called(name)), None)
        own = f"{graph.name(ends_of[0])!r} is both an input and an output, so nothing is computed"
        if layer is not None and layer.inputs:
            first = layer.inputs[0] if len(layer.inputs) == 1 else [*layer.inputs]
            how = f"As an input, a layer means its output. For the layer itself type inputs={first!r}"
            raise SelectionError(request, own, how)
        raise SelectionError(request, own, "Name an output that is computed from it")
    used_cuts = [tensor for tensor in cuts if tensor not in ends_of]
    region(graph, used_cuts, [*(end for end in ends_of if end not in cuts), *((op, 0) for op in along)], request)


def _tensors(graph: Graph, layers: Layers, objects: Any, verb: str, request: str, named: bool = False) -> Any:
    """Returns tensor names in the structure of the given references.

    A layer name becomes the outputs of the layer. If `named`, and all references are such names, the result is a dict
    by name.
    """

    def one(obj: Any) -> Any:
        if isinstance(obj, Selection):
            raise _selected_tensors(obj, verb)
        if not isinstance(getattr(obj, "name", obj), str):
            problem = f"{obj!r} is of type {type(obj).__name__}, neither a text nor an object with a name"
            raise SelectionError(request, problem, "Give one name such as 'x:0', several, or a dict")
        tensors = ReferenceResolver(graph, layers, request).ends([obj])
        for tensor in tensors:
            graph.tensor(tensor_name(tensor), request)
        return tensors[0] if len(tensors) == 1 else tensors

    if isinstance(objects, Mapping):
        return {key: one(thing) for key, thing in objects.items()}
    references = list(objects) if isinstance(objects, (list, tuple)) else [objects]
    tensors = [one(thing) for thing in references]
    if named and all(
        isinstance(a, str) and a != b and isinstance(b, str) for a, b in zip(references, tensors, strict=True)
    ):
        return dict(zip(references, tensors, strict=True))
    return tensors if isinstance(objects, (list, tuple)) else tensors[0]


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
    return values if giver is None else giver.reader


def _as_packed(opened_graph: OpenedGraph) -> Any:
    """Returns the output names in the structure that the opened function returns: one, a list or a dict."""
    names = list(opened_graph.outputs.values())
    if opened_graph.packed is None:
        return names[0] if len(names) == 1 else dict(opened_graph.outputs)
    try:
        form = opened_graph.packed(range(len(names)))
    except (TypeError, ValueError):  # sparse and ragged results: their component tensors, by name
        return dict(opened_graph.outputs)
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
    expansion = tf.functions.inline.inline_calls(graph, calls)
    call = f".inlined({', '.join(repr(op_name(one)) for one in calls)})"

    def moved_ends(ends: Mapping[str, str]) -> dict[str, str]:
        return {key: expansion.tensors.get(name, name) for key, name in ends.items()}

    others = {key: (dict(ins), moved_ends(outs)) for key, (ins, outs) in opened_graph.other_signatures.items()}
    layers = update_layers(
        opened_graph.layers,
        graph,
        CallTree(tf.open.snapshot.snapshot(expansion.graph), tf.functions.function_bodies.function_body),
        expansion.tensors,
        call,
    )
    about = {
        "code": opened_graph.code + call,
        "session": None,
        "values": values.in_other(expansion.graph),
        "layers": layers,
    }
    about |= {"outputs": moved_ends(opened_graph.outputs), "other_signatures": others}
    return replace(opened_graph, graph=expansion.graph, lack="", **about), call
