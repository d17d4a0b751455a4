"""The feeds and fetches of a run: looks them up, checks them or generates them, and finds the ops that will run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np

from .. import tf
from ..errors import Kind, PlanError, SelectionError, about, few
from ..graph.arrays import can_be_random, load_arrays, random_array
from ..graph.graph import TensorInfo
from ..graph.names import op_name, tensor_name
from ..graph.op_packages import unknown_words
from ..graph.open_graph import outputs_of, placeholders_in
from ..graph.parts import lost_writes
from ..graph.references import ReferenceResolver
from ..graph.selection import Selection
from ..graph.traversal import backward, forward
from ..graph.variables import PLACEHOLDER_TYPES
from ..plan.editor_like import EditorLike, described

#: Ops that stay part of a run if they are fed. Other ops are not run if their output is fed.
_FEED_TYPES = PLACEHOLDER_TYPES | {"_Arg"}


def resolve_feeds(editor: EditorLike, feeds: Any, request: str, random: bool = False) -> dict[str, Any]:
    """Returns feeds by the names of their tensors.

    Args:
        editor: the editor of the graph.
        feeds: a mapping of tensor (name or object), or argument name of a function, to array; or the path of an
            ``.npz`` file.
        request: the request, for messages.
        random: whether the request has an argument `random`.

    Raises:
        PlanError: `feeds` is not a mapping, or an array does not fit its tensor.
        SelectionError: a tensor does not exist.
    """
    graph = editor.snapshot
    ends = list(editor.inputs) or placeholders_in(graph, graph.type_mask(PLACEHOLDER_TYPES))
    example = repr(ends[0] if ends else "x:0")
    if isinstance(feeds, (str, PathLike)):
        path = str(feeds)
        feeds = load_arrays(path, f"{request}(feeds={path!r})", f"np.savez(path, **{{{example}: array}})")
        if not isinstance(feeds, dict):
            problem = "the file contains one array without the name of a tensor"
            raise PlanError(f"{request}(feeds={path!r})", problem, f"Give {{{example}: np.load({path!r})}}")
    if feeds is not None and not isinstance(feeds, Mapping):
        feeds_text = repr(feeds) if isinstance(feeds, (bool, int, float)) else "..."
        problem = f"an object of type {type(feeds).__name__} is not a mapping"
        raise PlanError(f"{request}(feeds={feeds_text})", problem, f"Give {{{example}: array}}")
    arguments, values = editor.inputs, {}
    layers = ReferenceResolver(graph, editor.layers, request)
    for key, value in (feeds or {}).items():
        name = arguments[key] if isinstance(key, str) and key in arguments else layers.tensor(key)
        name = tensor_name(name if not isinstance(name, str) or ":" in name else f"{name}:0")
        try:
            graph.tensor(name, f"{request}({name!r})")
        except SelectionError as error:
            if error.kind is not Kind.UNKNOWN_NAME or error.names or not ends:
                raise
            raise SelectionError(error.request, error.problem, f"Feed one of: {few(map(repr, ends))}") from None
        with about(name):
            values[name] = _feed_value(editor, name, value, request, random)
    return values


def _feed_value(editor: EditorLike, name: str, value: Any, request: str, random: bool) -> Any:
    graph = editor.snapshot
    info, label = graph.info(*graph.tensor(name)), f"{request}({name!r})"
    try:
        array = np.asarray(value)
    except (NotImplementedError, TypeError, ValueError):
        if isinstance(value, (list, tuple)):
            problem, suggestion = "the items of the list differ in shape", "Give rows of the same length"
        else:
            problem, suggestion = (
                f"an object of type {type(value).__name__} is not an array",
                "Give numbers, or an array",
            )
        raise PlanError(label, problem, suggestion) from None
    if info is None:
        return array
    array = _cast(array, info, label)
    if info.shape is not None and not info.fits(array.shape):
        problem = f"the array has the shape {array.shape}, but the tensor is {_info_text(info)}"
        hint = f", or random=0 for {name!r} too" if random and can_be_random(info) else ""
        raise PlanError(label, problem, f"Give an array of that shape{hint}")
    return array


def _info_text(info: TensorInfo) -> str:
    dims = "..." if info.shape is None else ", ".join("?" if d is None else str(d) for d in info.shape)
    return f"({dims}) of {info.dtype}"


def _cast(array: Any, info: TensorInfo, label: str) -> Any:
    """Returns an array, cast to the dtype of its tensor; raises an error if the cast would change its values."""
    text = array.dtype.kind in "SU" or (
        array.dtype.kind == "O" and all(isinstance(one, (str, bytes)) for one in array.ravel().tolist())
    )
    if info.dtype == "string":
        if text:
            return array
        problem = "the value is not text, but the tensor is of string"
        raise PlanError(label, problem, "Give text, for example ['a', 'b']")
    try:
        dtype = np.dtype(info.dtype)
    except TypeError:  # NumPy does not know the dtype, for example bfloat16 or a handle
        return array
    suggestion = f"Give numbers of {info.dtype}"
    if text or array.dtype.kind == "O":
        what = "text" if text else f"not an array of numbers (it contains {type(array.ravel().tolist()[0]).__name__})"
        raise PlanError(label, f"the value is {what}, but the tensor is {_info_text(info)}", suggestion)
    if array.dtype == dtype:
        return array
    imaginary = array.dtype.kind == "c" and dtype.kind != "c"
    plain = array.real if imaginary else array
    with np.errstate(all="ignore"):
        cast = plain.astype(dtype)
    other = np.zeros(array.shape, np.bool_)
    if imaginary:
        other |= array.imag != 0
    if dtype.kind in "iub":
        other |= cast != plain
    if other.any():
        raise PlanError(label, f"{array[other].ravel()[0]!s} is not a value of {info.dtype}", suggestion)
    return cast


def missing_feeds(editor: EditorLike, names: Iterable[str], request: str, reason: str = "") -> PlanError:
    """Returns the error that some tensors must be fed.

    Args:
        editor: the editor of the graph.
        names: the tensors.
        request: the request, for messages.
        reason: the reason why their values cannot be generated; empty if they can.
    """
    graph, missing, names = editor.snapshot, [], list(names)
    for name in names:
        info = graph.info(*graph.tensor(name))
        dims = ", ".join("?" if d is None else str(d) for d in info.shape) if info and info.shape is not None else "..."
        missing.append(f"{name!r} ({info.dtype if info else 'unknown'} ({dims}))")
    feeds = ", ".join([f"{name!r}: array" for name in names[:3]] + ["..."] * (len(names) > 3))
    verb = "needs a feed" if len(missing) == 1 else "need feeds"
    suggestion = f"Give feeds={{{feeds}}}" + (", or random=0 for random values" if not reason else "")
    return PlanError(f"{request}()", f"{few(missing)} {verb}{reason and ': '}{reason}", suggestion)


def random_feeds(editor: EditorLike, names: Iterable[str], seed: int, request: str) -> dict[str, Any]:
    """Returns random arrays for tensors; an axis of unknown size gets the size 1.

    Args:
        editor: the editor of the graph.
        names: the tensors.
        seed: the seed of `random_array`.
        request: the request, for messages.

    Raises:
        PlanError: a tensor is not numeric, or its rank is unknown; the error lists all of these tensors.
    """
    graph = editor.snapshot
    infos = {name: graph.info(*graph.tensor(name)) for name in names}
    known = {name: info for name, info in infos.items() if info is not None and can_be_random(info)}
    lost = [name for name in infos if name not in known]
    if lost:
        raise missing_feeds(editor, lost, request, "random values need a numeric dtype and a known rank")
    return {name: random_array(name, info, seed) for name, info in known.items()}


def refuse_no_seed(seed: Any, request: str, argument: str = "random") -> None:
    """Refuses values that are not a seed of random numbers; None means no seed.

    Raises:
        SelectionError: `seed` is not a whole number of 32 bits.
    """
    if seed is None:
        return
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        problem = "the value is not a seed"
    elif not 0 <= seed < 2**32:
        problem = "a seed is between 0 and 4294967295"
    else:
        return
    raise SelectionError(f"{request}({argument}={seed!r})", problem, f"Give a whole number, for example {argument}=0")


def default_fetches(editor: EditorLike, request: str, suggestion: str) -> list[str]:
    """Returns the default fetches: the outputs of the model; else the likely outputs that can be computed again.

    Args:
        editor: the editor of the graph.
        request: the request, for messages.
        suggestion: the argument that specifies fetches, for messages.

    Raises:
        PlanError: if there is no such tensor.
    """
    graph = editor.snapshot
    last = list(described(editor).limited_to(graph.index).ends[1])
    if last:
        return last
    last, acts = outputs_of(graph), forward(graph, tf.op_types.acting_ops(graph, tf.op_types.REPEATABLE))
    fetches = [name for name in last if not acts[graph.tensor(name)[0]]]
    if fetches:
        return fetches
    words = [unknown_words(graph, editor.select(outputs=name).mask) for name in last]
    problem = "all ops without consumers set variables or write files" if acts.any() else "no op has a result"
    if any(words):
        problem = f"the ops without consumers need {next(filter(None, words))}"
    choices = few(map(repr, last)) or "an op"
    raise PlanError(request, problem, f"Specify the fetches: {suggestion}=[...], for example {choices}")


def feeds_needed(editor: EditorLike, fetches: Any = None) -> dict[str, TensorInfo | None]:
    """Returns the placeholders that a run needs; see `Editor.feeds_needed`."""
    graph = editor.snapshot
    needed = ops_to_run(editor, resolve_fetches(editor, fetches), ())
    return {name: graph.info(*graph.tensor(name)) for name in placeholders_in(needed.graph, needed.mask)}


def ops_to_run(editor: EditorLike, fetches: Sequence[str], fed_tensors: Iterable[str]) -> Selection:
    """Returns the ops that run: all that the fetches need, down to the fed tensors, including fed placeholders."""
    graph = editor.snapshot
    start = graph.mask(graph.index[name.partition(":")[0]] for name in fetches)
    ends = [graph.tensor(name) for name in fed_tensors]
    inside = frozenset(end for end in ends if graph.types[end[0]] not in _FEED_TYPES)
    mask = backward(graph, start, inside)
    if lost_writes(graph, mask):  # a session runs the op of a fed tensor if it is a control input
        mask = backward(graph, start | graph.mask(op for op, _ in inside), inside)
    return editor.select(name=[graph.names[i] for i in np.flatnonzero(mask).tolist()])


def resolve_fetches(editor: EditorLike, fetches: Any, request: str = "trace", key: str = "fetches") -> list[str]:
    """Returns the names of the fetches: tensors, and ops without outputs.

    Args:
        editor: the editor of the graph.
        fetches: as for `Editor.trace`.
        request, key: the request and its argument, for messages.

    Raises:
        SelectionError: an op or tensor does not exist.
        PlanError: `fetches` is empty, or there is no default.
    """
    graph = editor.snapshot
    if fetches is None:
        return default_fetches(editor, f"{request}()", key)
    several = fetches if isinstance(fetches, (list, tuple)) else [fetches]
    if not several:
        problem = "the list is empty"
        raise PlanError(f"{request}({key}={fetches!r})", problem, f"Name a tensor or an op, or leave out {key}=")
    layers, names, targets = (
        ReferenceResolver(graph, editor.layers, f"{request}({key}={fetches!r})"),
        list[Any](),
        list[str](),
    )
    for one in several:
        own = isinstance(one, str) and one in editor.outputs
        names += [editor.outputs[one]] if own else layers.ends([one])
    for name in (getattr(one, "name", one) for one in names):
        if ":" in str(name):
            graph.tensor(tensor_name(name), f"{request}({key}={name!r})")
            targets.append(tensor_name(name))
        else:
            op = graph.find(op_name(name), f"{request}({key}={name!r})")
            targets.append(f"{graph.names[op]}:0" if graph.outputs(op) else graph.names[op])
    return targets
