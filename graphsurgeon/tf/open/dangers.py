"""Dangers: finds graphs that would crash or hang the Python process inside TensorFlow, before TensorFlow reads them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from graphlib import CycleError, TopologicalSorter
from string import ascii_letters, digits
from typing import Any, NamedTuple

from ...errors import OpenError
from ...graph.collector import gc_paused
from ...graph.functions import referred
from ...graph.graph import DTYPES
from ...graph.live import TFGraphDef, TFNodeDef
from ...graph.rewired import MERGING, TURNING
from ...words import counted
from ..registry import op_definition
from .size_folding import Walks, shape, slow_sizes

_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
_FIRST = frozenset(ascii_letters + digits + ".")
_LETTERS = "".join([*_FIRST, "_\\/>-"]).encode()
_DAMAGED = "The file is damaged: write it again"
#: TensorFlow reads an output number modulo 2 ** 32: 'x:4294967296' would be 'x:0'.
_MOST_OUTPUT = 2**31 - 1
#: A list attribute that claims more than this many inputs or outputs would take gigabytes.
_MOST_LISTED = 1_000_000
#: The import takes time with the square of the inputs of one op: 1.5 s for these, 20 s for two million.
_MOST_INPUTS = 500_000
#: Each level of names is kept as text by itself: a long deep name would take gigabytes.
_MOST_LETTERS, _MOST_LEVELS = 2_000, 100
#: Shape inference enters called functions: 3 µs for each op. It also uses the C++ stack, which ends at 4,000 calls.
_MOST_EXPANDED, _MOST_CALLS = 5_000_000, 500


class _Fault(NamedTuple):
    """A reason not to import a GraphDef: the problem, the suggestion, and the op that has it, if it has a name."""

    problem: str
    suggestion: str
    op: str = ""

    def error(self, request: str) -> OpenError:
        """Returns the error to raise."""
        return OpenError(request, self.problem, self.suggestion, names=[self.op] if self.op else [])


def refuse_deadly(graph_def: TFGraphDef, request: str) -> None:
    """Refuses a GraphDef that would crash TensorFlow's importer, or keep it busy for minutes.

    Args:
        graph_def: the graph to import.
        request: the request, for messages.

    Raises:
        OpenError: functions call each other in a cycle, too deeply or too often; an op claims more inputs or outputs
            than it has, reads an output number that no op can have, or has a name that does not fit in memory; the
            value of a constant has another dtype than the constant; or shape inference cannot follow the computation of
            the sizes of tensors.
    """
    refusal = deadly(graph_def, request)
    if refusal is not None:
        raise refusal


def deadly(graph_def: TFGraphDef, request: str) -> OpenError | None:
    """Returns why the importer would not survive a GraphDef; None if no reason is known."""
    with gc_paused():
        found = next(_faults(graph_def), None)
    return None if found is None else found.error(request)


def refuse_names(names: Sequence[str], request: str) -> None:
    """Refuses names of ops that TensorFlow does not accept, or that do not fit in memory; raises OpenError."""
    odd = "".join(names).encode().translate(None, _LETTERS)  # all at once: ten times quicker than one by one
    odd_names = () if not odd and _FIRST.issuperset({name[:1] for name in names}) else names
    for name in odd_names:
        if not _NAME.fullmatch(name):
            raise OpenError(
                request,
                f"{name[:80]!r} is not an op name that TensorFlow accepts",
                "Rename the op in the code that made the graph: names start with a letter, digit or dot",
            )
    for found in (one for name in names if len(name) > _MOST_LEVELS for one in _of_name(name, "")):
        raise found.error(request)


def _faults(graph_def: TFGraphDef) -> Iterator[_Fault]:
    functions = graph_def.library.function
    yield from _of_calls(functions)
    yield from _of_nodes(graph_def.node, "")
    for function in functions:
        place = f" of function {function.signature.name!r}"
        yield from _of_duplicates(function.node_def, place)
        yield from _of_nodes(function.node_def, place)
        yield from _of_inputs("the result", function.ret.values(), place)


def _of_nodes(nodes: Sequence[TFNodeDef], place: str) -> Iterator[_Fault]:
    lists: dict[str, tuple[tuple[str, str], ...]] = {}  # op type -> attributes that count inputs or outputs
    walks = Walks(nodes)
    for node, name, kind, inputs in zip(walks.nodes, walks.names, walks.kinds, walks.inputs, strict=True):
        if len(name) > _MOST_LEVELS:
            yield from _of_name(name, place)
        for text in inputs:
            if ":" in text and len(text.rpartition(":")[2]) > 9:
                yield from _of_inputs(f"op {name!r}", [text], place, name)
        if len(inputs) > _MOST_INPUTS:
            yield from _of_many(node, place)
        listed = lists.get(kind)
        if listed is None:
            listed = lists[kind] = _listed(kind)
        if listed:
            yield from _of_lists(node, listed, place)
        if kind in ("Const", "HostConst"):
            value, said = node.attr["value"].tensor.dtype, node.attr["dtype"].type
            if value != said and value:
                dtypes = [DTYPES.get(number, f"number {number}") for number in (said, value)]
                problem = f"constant {name!r}{place} has dtype {dtypes[0]}, but its value has dtype {dtypes[1]}"
                yield _Fault(problem, _DAMAGED, name)
    if not set(TURNING).isdisjoint(walks.kinds):
        yield from _of_loops(walks, place)
    for number in [i for i, kind in enumerate(walks.kinds) if fragile(kind)]:
        problem = fault(walks.nodes[number], walks.giver(number))
        if problem:
            name, kind = walks.names[number], walks.kinds[number]
            yield _Fault(f"op {name!r}{place} ({kind}) would end TensorFlow: {problem}", _DAMAGED, name)
    why = slow_sizes(walks)
    if why:
        problem = f"{why.subject}{place} {why.reason}"
        yield _Fault(problem, "Simplify that computation in the code that made the graph", why.op)


def _of_loops(walks: Walks, place: str) -> Iterator[_Fault]:
    """A Merge that closes a loop must have one input from outside of the loop: the importer relies on it."""
    turns = {i for i, kind in enumerate(walks.kinds) if kind in TURNING}
    for number in [i for i, kind in enumerate(walks.kinds) if kind in MERGING]:
        before = walks.before(number)
        outside = sum(i not in turns for i in before)
        if outside > 1 and outside < len(before):
            name = walks.names[number]
            yield _Fault(f"the loop at {name!r}{place} is entered {outside} times", _DAMAGED, name)


def _of_name(name: str, place: str) -> Iterator[_Fault]:
    if len(name) > _MOST_LETTERS or name.count("/") > _MOST_LEVELS:
        yield _Fault(
            f"the name of an op{place}, {name[:40]!r} ..., has {counted(len(name), 'letters')} "
            f"and {counted(name.count('/'), 'slashes')}",
            f"Up to {_MOST_LETTERS:,} letters and {_MOST_LEVELS} slashes are possible: "
            "rename the op in the code that made the graph",
        )


def _of_inputs(who: str, texts: Iterable[str], place: str, op: str = "") -> Iterator[_Fault]:
    for text in texts:
        port = text.rpartition(":")[2]
        if ":" in text and port.isdigit() and int(port) > _MOST_OUTPUT:
            yield _Fault(f"{who}{place} reads {text!r}: no op has that many outputs", _DAMAGED, op)


def _of_many(node: TFNodeDef, place: str) -> Iterator[_Fault]:
    count = sum(not text.startswith("^") for text in node.input)
    if count > _MOST_INPUTS:
        yield _Fault(
            f"op {node.name!r}{place} ({node.op}) has {counted(count, 'inputs')}: "
            "TensorFlow would take minutes to import it",
            f"Up to {_MOST_INPUTS:,} are possible: combine them in steps in the code that made the graph",
            node.name,
        )


def _listed(kind: str) -> tuple[tuple[str, str], ...]:
    about = op_definition(kind)
    if about is None:
        return ()
    inputs = ((arg.number_attr, "inputs") for arg in about.input_arg if arg.number_attr)
    outputs = ((arg.number_attr, "outputs") for arg in about.output_arg if arg.number_attr)
    return (*inputs, *outputs)


def _of_lists(node: TFNodeDef, listed: Iterable[tuple[str, str]], place: str) -> Iterator[_Fault]:
    for attribute, what in listed:
        count = node.attr[attribute].i if attribute in node.attr else 0
        if count > _MOST_LISTED or (what == "inputs" and count > max(len(node.input), 1_000)):
            has = f" but has {len(node.input):,}" if what == "inputs" else ""
            problem = f"op {node.name!r}{place} ({node.op}) claims {count:,} {what}{has}"
            yield _Fault(problem, _DAMAGED, node.name)


# -- functions ------------------------------------------------------------------------------------


def _of_duplicates(nodes: Sequence[TFNodeDef], place: str) -> Iterator[_Fault]:
    seen: set[str] = set()
    for node in nodes:
        if node.name in seen:
            yield _Fault(f"two ops{place} are called {node.name!r}", _DAMAGED, node.name)
        seen.add(node.name)


def _of_calls(functions: Any) -> Iterator[_Fault]:
    if not functions:
        return
    library = {f.signature.name: f for f in functions}
    taken = next((name for name in library if op_definition(name) is not None), None)
    if taken is not None:
        problem = f"function {taken!r} has the name of an op type that TensorFlow has itself"
        yield _Fault(problem, "Rename the function in the code that made the graph")
    calls = {name: [referred(node, library) for node in f.node_def] for name, f in library.items()}
    try:
        order = list(
            TopologicalSorter({name: sorted(set().union(*each)) for name, each in calls.items()}).static_order()
        )
    except CycleError as error:
        cycle = error.args[1][:0:-1]  # each is called by the next
        first = cycle.index(next(name for name in library if name in cycle))
        cycle = [*cycle[first:], *cycle[: first + 1]]
        problem = f"function {cycle[0]!r} calls itself: {' -> '.join(cycle[:6])}{' -> ...' * (len(cycle) > 6)}"
        how = "TensorFlow cannot run such a function: write it as a loop in the code that made the graph"
        yield _Fault(problem, how)
        return
    size: dict[str, int] = {}
    depth: dict[str, int] = {}
    for name in order:
        size[name] = len(calls[name]) + sum(size[other] for each in calls[name] for other in each)
        depth[name] = 1 + max((depth[other] for each in calls[name] for other in each), default=0)
        if depth[name] > _MOST_CALLS:
            problem = f"function {name!r} calls a function that calls another, and so on, {depth[name]:,} deep"
            yield _Fault(problem, f"TensorFlow would end the process; up to {_MOST_CALLS} levels are possible")
        if size[name] > _MOST_EXPANDED:
            yield _Fault(
                f"function {name!r} and its calls, each expanded at every call, have {counted(size[name], 'ops')}",
                f"TensorFlow would visit each of them; up to {_MOST_EXPANDED:,} are possible",
            )


# -- op types whose shape inference ends the process ------------------------------------------------


#: Position of a data input -> the NodeDef that makes it; None if it is not known.
Giver = Callable[[int], Any]

_SCALAR = {
    "BoostedTreesAggregateStats": (0,),
    "FakeQuantWithMinMaxVarsPerChannelGradient": (1,),
    "TPUPartitionedInput": (0,),
    **{f"BoostedTrees{kind}": (1, 2, 3) for kind in ("ExampleDebugOutputs", "Predict")},
    "BoostedTreesTrainingPredict": (3, 4, 5),
    "XlaSparseDenseMatmulCustomCombinerOnTcGradWithCsrInput": (9, 10),
    **{
        f"XlaSparseDenseMatmulCustomCombinerOnTcGradWith{kind}AndCsrInput": (9, 12)
        for kind in ("Adagrad", "AdagradMomentum", "Adam", "Ftrl", "Sgd")
    },
}
_MOST_RANK = 8  # of a tensor whose rank is not known
_MOST_DIGITS = 10_000  # of a number as text


def fragile(kind: str) -> bool:
    """Returns whether an op type is one of these."""
    return kind in _SCALAR or kind in _RULES


def fault(node: TFNodeDef, giver: Giver) -> str:
    """Returns why an op of a fragile type would end the process; "" if it would not.

    Args:
        node: its NodeDef.
        giver: position of a data input -> the NodeDef that makes it, or None.
    """
    for position in _SCALAR.get(node.op, ()):
        if shape(giver(position)) == []:
            return f"its input {position} is a scalar, which it must not be"
    return _RULES[node.op](node, giver) if node.op in _RULES else ""


def _rank(node: TFNodeDef) -> int:
    known = shape(node)
    return _MOST_RANK if known is None else len(known)


def _gather(node: TFNodeDef, giver: Giver) -> str:
    batch = node.attr["batch_dims"].i if "batch_dims" in node.attr else 0
    most = _rank(giver(0)) + _rank(giver(1)) - 1
    return "" if -_MOST_RANK <= batch <= most else f"its batch_dims is {batch}, more than its inputs have dimensions"


def _split(node: TFNodeDef, giver: Giver) -> str:
    sizes = shape(giver(1))
    if node.attr["Tlen"].type == 6:
        return "its sizes are int8, which its shape inference takes for int64"
    return "its sizes are not a vector" if sizes is not None and len(sizes) != 1 else ""


def _dequeue(node: TFNodeDef, giver: Giver) -> str:
    count = shape(giver(1))
    return "its number of elements is not a scalar" if count and count != [1] * len(count) else ""


def _ragged(node: TFNodeDef, giver: Giver) -> str:
    before, after = node.attr["PARAMS_RAGGED_RANK"].i, node.attr["OUTPUT_RAGGED_RANK"].i
    return "" if after >= before - 1 else f"its OUTPUT_RAGGED_RANK is {after}, below PARAMS_RAGGED_RANK - 1"


def _collective(node: TFNodeDef, giver: Giver) -> str:
    size = node.attr["group_size"].i
    return "" if -(2**31) <= size < 2**31 else f"its group_size is {size}"


def _infeed(node: TFNodeDef, giver: Giver) -> str:
    shapes, dtypes = len(node.attr["shapes"].list.shape), len(node.attr["dtypes"].list.type)
    return "" if shapes <= dtypes else f"it has {shapes} shapes for {dtypes} dtypes"


def _partitioned(node: TFNodeDef, giver: Giver) -> str:
    at = node.attr["partition_dim"].i if "partition_dim" in node.attr else 0
    return "" if -1 <= at < _rank(giver(0)) else f"its partition_dim is {at}"


def _text(node: TFNodeDef, giver: Giver) -> str:
    """TensorFlow ends the process if it has no memory for a text; if a tensor does not fit, it raises an error."""
    for key in ("width", "precision"):
        if key in node.attr and node.attr[key].i > _MOST_DIGITS:
            return f"its {key} is {node.attr[key].i}: each text would have that length"
    return ""


_RULES: dict[str, Callable[[Any, Giver], str]] = {
    "GatherV2": _gather,
    "SplitV": _split,
    "QueueDequeueManyV2": _dequeue,
    "RaggedGather": _ragged,
    "CollectiveGather": _collective,
    "InfeedDequeueTuple": _infeed,
    "TPUPartitionedInput": _partitioned,
    "AsString": _text,
}
