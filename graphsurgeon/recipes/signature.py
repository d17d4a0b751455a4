"""Sets the inputs and outputs of a model, makes a part of it a model, and renames ops, scopes and variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..editor.editor import Editor
from ..editor.open import open
from ..errors import PlanError, few
from ..graph.boundary import entering_tensors
from ..graph.graph import Graph, Mask
from ..graph.names import expand_wildcard, op_name, tensor_name
from ..graph.open_graph import Ends, outputs_of, placeholders_in
from ..graph.parts import refuse_part, required_ops
from ..graph.provenance import orphan_mask
from ..graph.selection import Selection, selection_from
from ..graph.traversal import producers
from ..graph.types import TensorLike, TensorsLike
from ..plan.editor_like import described
from ..plan.plan import Plan
from .recipe_context import recipe_context, results, tensors


def rename(obj: Editor | Plan, names: Mapping[str, str]) -> Plan:
    """Renames ops, scopes and variables, all at once. Their consumers read them under the new names.

    This recipe is like `Plan.rename`, with patterns. `rename_checkpoint` renames the variables in a checkpoint.

    Args:
        obj: an editor; or a plan, to add to.
        names: old name -> new name, of an op, a variable, or a scope with all its ops. Or patterns with one ``*`` on
            both sides, for example ``{"block*/weights": "stage*/kernel"}``. They rename each op that matches, with all
            ops in the scope of its name.

    Raises:
        PlanError: if no new name is given, a pattern matches nothing, or only one side of a pattern has a ``*``.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [2], name="x")
        ...     y = tf.exp(tf.negative(x, name="block1/neg"), name="block2/exp")
        >>> gs.recipes.rename(gs.open(graph), {"x": "image", "block*/exp": "stage*/e"}).after().names
        ['image', 'block1/neg', 'stage2/e']
    """
    context = recipe_context(obj, "rename()")
    op_index, new = context.graph.index, dict[str, str]()
    for old, to in names.items() if isinstance(names, Mapping) else ():
        if "*" not in old:
            new[old.removesuffix(":0")] = to.removesuffix(":0")
            continue
        fits = expand_wildcard(old, to, op_index, context.request)
        if not fits:
            head, _, tail = old.partition("*")
            raise context.precondition_error(
                f"no op matches {old!r}", f"ed.find({head.strip('/') or tail.strip('/')!r}) lists similar names"
            )
        new |= fits
    new = {old: to for old, to in new.items() if old != to}
    if not new:
        raise context.precondition_error("names= is empty", "Type names={'old': 'new'}")
    return context.plan.rename(new)


def rows(editor: Editor) -> list[str]:
    """Returns the names that users usually change: inputs, outputs, outermost scopes and variables, in this order."""
    graph, inputs, outputs = editor.snapshot, editor.inputs, editor.outputs
    living = ~orphan_mask(graph)
    parts = tuple(f"{name}/" for name in graph.state.variables)
    ends = [end for end in (*inputs.values(), *(outputs.values() or outputs_of(graph))) if not end.startswith(parts)]
    ends += placeholders_in(graph, living)
    scopes = [name for name in graph.scopes.index if name and "/" not in name]
    candidates = [*map(op_name, ends), *scopes, *graph.state.variables]
    return [
        name
        for name in dict.fromkeys(candidates)
        if (name in graph.index and living[graph.index[name]]) or (graph.scope_mask(name) & living).any()
    ]


def add_output(obj: Editor | Plan, tensor: TensorLike, name: str) -> Plan:
    """Makes a tensor inside a graph available as ``name:0``.

    The new op is an identity that reads the tensor. The tensor and its consumers do not change. `set_signature` adds
    the tensor to the signature of a SavedModel.

    Args:
        obj: an editor; or a plan, to add to.
        tensor: the tensor, by name or object; the name of an op means its output 0.
        name: the new name, which no op may have yet.

    Raises:
        PlanError: if the name is taken or not valid, or if the tensor is a handle, which cannot be fetched.
        SelectionError: if the tensor does not exist.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        ...     y = tf.nn.softmax(tf.nn.relu(x, name="block/relu"), name="y")
        >>> ed = gs.open(graph)
        >>> plan = gs.recipes.add_output(ed, "block/relu:0", "features")
        >>> plan.mode, plan.after().input_names(plan.after().index["features"])
        ('append', ['block/relu:0'])
    """
    context = recipe_context(obj, f"add_output({tensor_name(tensor)!r}, {name!r})")
    (source,) = tensors(context.graph, [tensor], context.request)
    info = context.graph.info(*context.graph.tensor(source))
    if info is not None and info.dtype in ("resource", "variant"):
        problem = f"{source!r} is of dtype {info.dtype}, which has no numbers to fetch"
        raise context.precondition_error(problem, "Name a tensor that is computed from it")
    plan = context.plan.insert("Identity", on=source, name=name, only=[])
    for fault in plan.effect.faults:
        raise PlanError(context.request, fault.problem, fault.suggestion)
    return plan


def set_signature(ed: Editor, outputs: TensorsLike, inputs: TensorsLike | None = None) -> Editor:
    """Returns an editor for a model with these inputs and outputs. `save` writes them, and `function` returns them.

    The model is a new graph with the ops that the outputs need. They keep their names, and variables keep their current
    values. The given editor does not change.

    Args:
        ed: the editor.
        outputs: the outputs of the model, by name or object; the keys of a dict are their names in the signature. An
            output of the function that was opened keeps its name. For example, ``{**ed.outputs, "features":
            "block/relu:0"}`` adds an output.
        inputs: the inputs, in the same way. The ops that compute them are left out. Default: the arguments of the
            function that was opened, and the placeholders, if the outputs need them. A placeholder with a default keeps
            the default if it is not named.

    Raises:
        PlanError: if no output is given, an output needs a placeholder that is not among the inputs, an input is not
            needed, or the ops cannot be copied, for example a part of a loop. The message names the tensors or ops.
        SelectionError: if a tensor does not exist.

    Example:
        >>> import graphsurgeon as gs, tensorflow as tf
        >>> with tf.Graph().as_default() as graph:
        ...     x = tf.compat.v1.placeholder(tf.float32, [None, 4], name="x")
        ...     y = tf.nn.softmax(tf.nn.relu(x, name="block/relu"), name="y")
        >>> ends = {"features": "block/relu:0", "scores": "y:0"}
        >>> model = gs.recipes.set_signature(gs.open(graph), ends, {"image": x})
        >>> model.inputs, model.outputs
        ({'image': 'x:0'}, {'features': 'block/relu:0', 'scores': 'y:0'})
    """
    context = recipe_context(ed, "set_signature()")
    graph = context.graph
    if not isinstance(ed, Editor):
        raise context.precondition_error("a plan is not a model", "Give the editor, after ed.apply(plan)")
    outputs, inputs = context.resolver.named_tensors(outputs), context.resolver.named_tensors(inputs)
    targets = results(ed, outputs, context)
    input_tensors = tensors(graph, inputs, context.request)
    own = list(described(ed).limited_to(graph.index).inputs.values()) if inputs is None else []
    starts = [graph.tensor(name) for name in dict.fromkeys([*input_tensors, *own])]
    needed = required_ops(graph, producers(graph, map(graph.tensor, targets)), frozenset(starts))
    refuse_part(graph, needed, starts, context.request, map(graph.tensor, targets))
    region = block(graph, needed, starts, targets)
    lost = [tensor for tensor in placeholders_in(graph, region.mask) if tensor not in input_tensors]
    if inputs is not None and lost:
        read = few(map(repr, lost))
        problem = f"the ops that compute {few(map(repr, targets))} also read {read}, which no input feeds"
        raise context.precondition_error(problem, f"Add it: inputs={[*input_tensors, *lost]!r}")
    tensors_read = inputs_of(ed, region)
    unread = [name for name in input_tensors if name not in tensors_read]
    if unread:
        problem = f"no output needs {few(map(repr, unread))}"
        raise context.precondition_error(
            problem, f"Leave it out: inputs={[name for name in input_tensors if name in tensors_read]!r}"
        )
    model = Ends(inputs=ed.inputs, outputs=ed.outputs)
    ends = model.chosen(_like(inputs, input_tensors) if input_tensors else tensors_read, _like(outputs, targets))
    return part(ed, region, ends, ed.title, context.request)


def _like(objects: Any, tensors: list[str]) -> Any:
    """Returns tensors, with the keys of the given objects if they are a dict."""
    return dict(zip(objects, tensors, strict=True)) if isinstance(objects, Mapping) else tensors


def block(graph: Graph, mask: Mask, inputs: list[tuple[int, int]], outputs: list[str]) -> Selection:
    """Returns some ops as a selection with a boundary.

    Args:
        graph: the graph.
        mask: the ops.
        inputs: tensors that are fed. Tensors that the ops do not read are left out.
        outputs: the tensors that the ops compute.
    """
    entries = entering_tensors(graph, mask, frozenset(inputs))
    ends = tuple(graph.tensor(name) for name in outputs)
    return replace(selection_from(graph, mask), inputs=tuple(one for one in inputs if one in entries), outputs=ends)


def inputs_of(ed: Editor, selection: Selection) -> list[str]:
    """Returns the tensors that a part needs: its boundary inputs, its placeholders, and inputs of the model."""
    graph, model = selection.graph, described(ed).limited_to(selection)  # an input may be a placeholder with a default
    fed = [*map(graph.name, selection.inputs), *placeholders_in(graph, selection.mask), *model.inputs.values()]
    return list(dict.fromkeys(fed))


def part(ed: Editor, selection: Selection, ends: Ends, title: str, request: str) -> Editor:
    """Returns an editor of a part of a graph. Ops keep their names, and variables keep their current values.

    Args:
        ed: the editor of the graph, which does not change.
        selection: the ops; placeholders replace the boundary inputs.
        ends: the inputs and outputs of the part, with tensors of the whole graph.
        title: the title of the new editor.
        request: the request, for messages.

    Raises:
        PlanError: if the part cannot be copied.
    """
    from ..tf.graph_parts import graph_with_placeholders

    graph = selection.graph
    refuse_part(graph, selection.mask, selection.inputs, request, map(graph.tensor, ends.outputs.values()))
    new_editor = open(graph_with_placeholders({}, request), title=title)
    plan = new_editor.plan().copy(selection, unmapped="placeholder", control="drop", values=ed)
    for fault in plan.check():
        raise PlanError(request, fault.problem, fault.suggestion)
    applied = new_editor.apply(plan)
    now = ends.with_tensors(lambda tensor: applied[tensor].name)
    new_inputs = dict(zip(ends.inputs.values(), now.inputs.values(), strict=True))
    new_editor.opened_graph = new_editor.opened_graph.with_models(
        {"": (described(ed), new_inputs.get)}, now.inputs, now.outputs
    )
    return new_editor
