"""Feeds: what a run is fed, looked up, checked against the graph or made up; and what of a graph can be asked for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any, Protocol

import numpy as np

from .errors import PlanError, SelectionError
from .graph.contexts import EXITS
from .graph.frames import ROOT, Frames
from .graph.functions import CALLS, called_by, reachable
from .graph.graph import Graph, Mask
from .graph.names import tensor_name
from .graph.selection import Selection
from .graph.traversal import forward
from .graph.variables import PLACEHOLDER_TYPES, READING_TYPES, VARIABLE_TYPES
from .words import few


class Runnable(Protocol):
    """What a graph is asked for before it runs; an `Editor` is one."""

    @property
    def snapshot(self) -> Graph:
        """The graph."""

    @property
    def inputs(self) -> dict[str, str]:
        """Of a function, argument -> name of its tensor."""

    def select(self, *, name: Any = None, outputs: Any = None) -> Selection:
        """Returns ops by name, or what computes some tensors."""

    def op(self, name: Any) -> Any:
        """Returns a live op."""

    def tensor(self, name: Any) -> Any:
        """Returns a live tensor."""


def given(editor: Runnable, feeds: Any, asked: str) -> dict[str, Any]:
    """Returns feeds by the names of their tensors.

    Args:
        editor: of the graph.
        feeds: tensor, by name or object, or the argument of a function -> array; or the path of an ``.npz`` file.
        asked: the request, for messages.

    Raises:
        PlanError: that is not a mapping, or an array does not fit its tensor.
        SelectionError: there is no such tensor.
    """
    if isinstance(feeds, (str, PathLike)):
        try:
            with np.load(feeds, allow_pickle=False) as held:
                feeds = dict(held)
        except (OSError, ValueError) as error:
            wrong = f"it cannot be read as an .npz file of arrays: {error}"
            raise PlanError(f"{asked}(feeds={str(feeds)!r})", wrong, "np.savez(path, **{'x:0': array})") from None
    if feeds is not None and not isinstance(feeds, Mapping):
        raise PlanError(f"{asked}(feeds={feeds!r})", "that is not a mapping", "Give {'x:0': array}")
    arguments, found = editor.inputs, {}
    for key, value in (feeds or {}).items():
        name = arguments.get(key, key) if isinstance(key, str) else key
        name = tensor_name(name if not isinstance(name, str) or ":" in name else f"{name}:0")
        editor.snapshot.tensor(name, f"{asked}({name!r})")
        found[name] = _fitting(editor, name, value, asked)
    return found


def _fitting(editor: Runnable, name: str, value: Any, asked: str) -> Any:
    graph = editor.snapshot
    info = graph.info(*graph.tensor(name))
    array = np.asarray(value)
    if info is not None and info.dtype not in ("string", "unknown") and array.dtype.kind not in "OSU":
        array = np.asarray(value, _dtype(info.dtype, array.dtype))
    if info is not None and info.shape is not None and not info.fits(array.shape):
        wanted = ", ".join("?" if d is None else str(d) for d in info.shape)
        wrong = f"the array has the shape {array.shape}, the tensor ({wanted}) of {info.dtype}"
        raise PlanError(f"{asked}({name!r})", wrong, f"Give one of that shape, or random=0 for {name!r} too")
    return array


def _dtype(name: str, other: Any) -> Any:
    try:
        return np.dtype(name)
    except TypeError:  # bfloat16 and others that NumPy has no name for
        return other


def placeholders(editor: Runnable, needed: Selection) -> list[str]:
    """Returns the placeholders among ops, as names of tensors."""
    graph = editor.snapshot
    return [f"{graph.names[i]}:0" for i in needed.numbers if graph.types[i] in PLACEHOLDER_TYPES]


def missing(editor: Runnable, names: Iterable[str], asked: str) -> PlanError:
    """Returns the error that some tensors must be fed."""
    graph, told = editor.snapshot, []
    for name in names:
        info = graph.info(*graph.tensor(name))
        dims = ", ".join("?" if d is None else str(d) for d in info.shape) if info and info.shape is not None else "..."
        told.append(f"{name!r} ({info.dtype if info else 'unknown'} ({dims}))")
    first = told[0].partition(" ")[0]
    verb = "needs a feed" if len(told) == 1 else "need feeds"
    return PlanError(f"{asked}()", f"{few(told)} {verb}", f"Give feeds={{{first}: array}}, or random=0 to make them up")


def made_up(editor: Runnable, name: str, random: Any, asked: str) -> Any:
    """Returns a random array for a tensor, one for each unknown size.

    Args:
        editor: of the graph.
        name: the tensor.
        random: a `numpy.random.RandomState`.
        asked: the request, for messages.

    Raises:
        PlanError: its dtype or its rank does not say enough.
    """
    tensor = editor.tensor(name)
    dtype = tensor.dtype.base_dtype
    if tensor.shape.rank is None or not (dtype.is_floating or dtype.is_integer or dtype.is_bool):
        raise PlanError(f"{asked}()", f"{name!r} ({dtype.name}) needs a feed", f"Give it: feeds={{{name!r}: array}}")
    shape = [1 if d is None else d for d in tensor.shape.as_list()]
    if dtype.is_floating:
        return random.standard_normal(shape).astype(dtype.as_numpy_dtype)
    return random.randint(0, 2, shape).astype(dtype.as_numpy_dtype)


def refuse_no_seed(seed: Any, asked: str, argument: str = "random") -> None:
    """Refuses what is no seed of random numbers; None is none at all.

    Raises:
        SelectionError: it is not a whole number that TensorFlow has room for.
    """
    if seed is None:
        return
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)):
        wrong = "that is not a seed"
    elif not 0 <= seed < 2**32:
        wrong = "a seed lies between 0 and 4294967295"
    else:
        return
    raise SelectionError(f"{asked}({argument}={seed!r})", wrong, f"Give a whole number, as {argument}=0")


def in_the_open(graph: Graph) -> Mask:
    """Returns which ops are neither in a loop nor in a branch."""
    frames, joins = Frames(graph), graph.typed(("Merge", "RefMerge", *EXITS))
    inside = forward(graph, graph.typed(("Switch", "RefSwitch", "_SwitchN")), within=~joins, control=False)
    return ~inside & np.fromiter((frames.of(op) == ROOT for op in range(graph.size)), np.bool_, graph.size)


def last_outputs(editor: Runnable) -> list[str]:
    """Returns the tensors of a graph that nothing reads, but for those in a loop or in a branch."""
    graph = editor.snapshot
    last = (np.diff(graph.consumers.ptr) == 0) & in_the_open(graph)
    return [f"{graph.names[i]}:0" for i in np.flatnonzero(last).tolist() if graph.outputs(i)]


def only_computes(editor: Runnable, name: str) -> bool:
    """Returns whether what a tensor needs computes only: sets no variable, writes no file, also in what it calls."""
    from .tf.private.graphs import op_definition

    graph, kinds, called = editor.snapshot, set[str](), set[str]()
    for op in editor.select(outputs=name).numbers:
        kinds.add(graph.types[op])
        called |= {one.function for one in called_by(graph.nodes[op], graph.functions)}
    for function in reachable(called & graph.functions.keys(), graph.functions):
        kinds |= {node.op for node in graph.functions[function].node_def}
    return not any(_acts(op_definition(kind)) for kind in kinds - _RUN - graph.functions.keys())


#: Ops that run functions, which are looked into.
_RUN = CALLS | {"Case", "If", "StatelessCase", "StatelessIf", "StatelessWhile", "While"}
#: Ops that TensorFlow calls stateful, and that only give what is there, check it or tell it.
_HARMLESS = VARIABLE_TYPES | READING_TYPES | {
    "Assert", "CheckNumerics", "CheckNumericsV2", "IsVariableInitialized", "LookupTableFind", "LookupTableSize",
    "Print", "PrintV2",
}  # fmt: skip
#: The same of whole families: arrays and stacks of one run, tables themselves, and what hands a reference on.
_FAMILIES = ("HashTable", "MutableDenseHashTable", "MutableHashTable", "Ref", "Stack", "TensorArray")


def _acts(op_def: Any) -> bool:
    """Whether ops of a type may do more than compute and draw: those that take a reference can set it."""
    if op_def is None or op_def.name in _HARMLESS:
        return op_def is None
    if op_def.name.startswith(_FAMILIES) or {"seed", "seed2"} <= {attribute.name for attribute in op_def.attr}:
        return False
    return bool(op_def.is_stateful or any(argument.is_ref for argument in op_def.input_arg))
