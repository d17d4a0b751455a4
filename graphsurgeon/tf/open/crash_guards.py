"""Recognizes graphs that are known to crash or hang the process inside TensorFlow.

Some ops need the value of an input to infer shapes: Reshape, for example, needs the new shape. TensorFlow then walks
back over the ops before the input, until it finds an op that is not constant. At Cast, StridedSlice and Concat ops it
walks recursively, and starts a new walk at each step.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from graphlib import CycleError, TopologicalSorter
from math import prod
from random import Random
from string import ascii_letters, digits
from typing import Any, NamedTuple

from ...errors import OpenError, counted
from ...graph.concurrency import gc_paused
from ...graph.functions import functions_in_node
from ...graph.graph import DTYPES
from ...graph.rewiring import MERGING, TURNING
from ...graph.types import TFGraphDef, TFNodeDef
from ..registry import op_definition
from .outputs import array_in

_INTEGER_DTYPES = frozenset({3, 4, 5, 6, 9, 17, 22, 23})  # the integer dtypes, as values of DataType
_RECURSIVE = frozenset({"Cast", "StridedSlice", "Concat", "ConcatV2"})
_BLOCKING = frozenset({"Merge", "RefMerge", "Enter", "RefEnter", "Exit", "RefExit", "PlaceholderWithDefault"})
_STATIC = frozenset({"Shape", "ShapeN", "Rank", "Size"})  # a walk stops at these ops if the static shape is known
_SIZED = {"Fill": 0, "BroadcastTo": 1, "Tile": 1, "LinSpace": 2, "Range": 0}  # the input with the output size
_SHAPE_IN_NODE = frozenset({"Const", "Placeholder"})

#: The maximum depth of the recursion. 12,000 crashes the process with a stack of 8 MB; some systems have only 1 MB.
_MAX_DEPTH = 1_000
#: The maximum number of steps of one walk, which grows if concatenated sizes are concatenated again: 0.1 s.
_MAX_STEPS = 1 << 18
#: The maximum number of visited ops in total, at 0.5 µs each: 20 s.
_MAX_VISITS = 40_000_000
#: The maximum number of elements of a tensor that the import computes: 1 GB of float32.
_MAX_ELEMENTS = 1 << 28
_SAMPLE, _PATIENCE = 200, 300_000


def shape(node: TFNodeDef | None) -> list[int] | None:
    """Returns the static shape in the NodeDef of a constant or placeholder; None if it is not known."""
    if node is None:
        return None
    if node.op in ("Const", "HostConst"):
        return [d.size for d in node.attr["value"].tensor.tensor_shape.dim]
    if node.op == "Placeholder" and "shape" in node.attr and not node.attr["shape"].shape.unknown_rank:
        return [d.size for d in node.attr["shape"].shape.dim]
    return None


class SlowSize(NamedTuple):
    """An op whose shape TensorFlow cannot infer in reasonable time and memory.

    Args:
        subject, reason: the two parts of a sentence about the op.
        op: its name.
    """

    subject: str
    reason: str
    op: str


def slow_sizes(walks: SizeWalks) -> SlowSize | None:
    """Returns an op whose shape TensorFlow cannot infer in reasonable time and memory; None if there is none."""
    counts = Counter(walks.kinds)
    queries = sum(count for op_type, count in counts.items() if _value_inputs(op_type))
    if not queries:
        return None
    problem = walks.giant()
    if not problem and sum(counts[op_type] for op_type in _RECURSIVE) >= 16:
        problem = walks.maze()
    if not problem and queries * len(walks.kinds) > _MAX_VISITS // 2:
        problem = walks.toil()
    return problem


class SizeWalks:
    """The walks that shape inference would make over some nodes.

    Fields of protos are slow to read, so frequently used fields are read only once.

    Args:
        nodes: the NodeDefs of a graph, or of the body of a function.

    Attributes:
        names: the name of each node.
        kinds: the op type of each node.
        inputs: the inputs of each node, as text; an input from outside these nodes counts as not constant.
    """

    def __init__(self, nodes: Iterable[TFNodeDef]) -> None:
        self.nodes = list(nodes)
        self.names = [node.name for node in self.nodes]
        self.kinds = [node.op for node in self.nodes]
        self.inputs = [list(node.input) for node in self.nodes]
        self._effort: dict[int, tuple[int, int, int]] = {}

    @cached_property
    def index(self) -> dict[str, int]:
        """Name of an op -> its number."""
        return {name: i for i, name in enumerate(self.names)}

    @cached_property
    def starts(self) -> list[int]:
        """The ops whose values are needed for shape inference, repeated for each use."""
        numbers = []
        for number, op_type in enumerate(self.kinds):
            positions = _value_inputs(op_type)
            if positions:
                inputs = self.before(number)
                numbers += [inputs[at] for at in positions if -len(inputs) <= at < len(inputs) and inputs[at] >= 0]
        return numbers

    def before(self, number: int) -> list[int]:
        """Returns the producers of the data inputs of an op; -1 for a producer that is not among these nodes."""
        find = self.index.get
        return [find(text.partition(":")[0], -1) for text in self.inputs[number] if text[:1] != "^"]

    def giver(self, number: int) -> Callable[[int], Any]:
        """Returns a function: position of an input of an op -> the NodeDef of its producer, or None."""
        inputs = self.before(number)
        return lambda at: self.nodes[inputs[at]] if at < len(inputs) and inputs[at] >= 0 else None

    def looked_at(self, start: int, limit: int, static: bool) -> tuple[float, set[int] | None]:
        """Walks back from an op as TensorFlow does, breadth first, until it finds an op that is not constant.

        Args:
            start: the op whose value is needed.
            limit: the maximum number of ops to visit.
            static: whether to stop at Shape ops, as if their inputs had static shapes. Otherwise the walk continues
                there, and these ops count only a small fraction.

        Returns:
            the number of visited ops; and these ops, if all of them are constant.
        """
        visited, far = {start}, set()
        line, looks = deque([start]), 0.0
        while line and len(visited) < limit:
            number = line.popleft()
            op_type = self.kinds[number]
            looks += 0.03 if number in far else 1.0
            inputs = () if static and op_type in _STATIC else self.before(number)
            if _blocks(op_type) or -1 in inputs or (not inputs and op_type not in ("Const", *_STATIC)):
                return looks, None
            for source in inputs:
                if source not in visited:
                    visited.add(source)
                    line.append(source)
                    if op_type in _STATIC or number in far:
                        far.add(source)
        return looks, visited if not line else None

    # -- possible problems -----------------------------------------------------------------------

    def giant(self) -> SlowSize | None:
        """Finds a huge tensor that the import would compute, because a size depends on it."""
        sized = [i for i, op_type in enumerate(self.kinds) if op_type in _SIZED or op_type in _SHAPE_IN_NODE]
        giants = {i: size for i in sized if (size := self._elements(i)) > _MAX_ELEMENTS}
        for start in dict.fromkeys(self.starts) if giants else ():
            reached = self.looked_at(start, _PATIENCE, static=True)[1] or {start}
            for number in reached & giants.keys():
                return SlowSize(
                    f"op {self.names[number]!r} ({self.kinds[number]})",
                    f"has {counted(giants[number], 'elements')}, which TensorFlow would compute "
                    "while it opens the file, "
                    f"for the sizes in {self.names[start]!r}",
                    self.names[number],
                )
        return None

    def maze(self) -> SlowSize | None:
        """Finds sizes with so many Cast, StridedSlice and Concat ops that a walk would crash or take too long."""
        for start in dict.fromkeys(self.starts):
            steps, _, depth = self._walk(start)
            if depth > _MAX_DEPTH or steps > _MAX_STEPS:
                extent = f"{depth:,} deep" if depth > _MAX_DEPTH else f"in {counted(min(steps, 10**18), 'steps')}"
                return SlowSize(
                    f"the size {self.names[start]!r}",
                    f"is computed by Cast, StridedSlice and Concat ops, which TensorFlow would follow {extent}",
                    self.names[start],
                )
        return None

    def toil(self) -> SlowSize | None:
        """Estimates the total number of visited ops from a sample of the walks."""
        sample = Random(0).sample(self.starts, min(_SAMPLE, len(self.starts)))
        costs, spent = [], 0.0
        for start in sample:
            looks, _ = self.looked_at(start, _PATIENCE, static=False)
            costs.append((looks * (1 + self._walk(start)[1]), start))
            spent += looks
            if spent > _PATIENCE:
                break
        looks = sum(cost for cost, _ in costs) / max(len(costs), 1) * len(self.starts)
        if looks <= _MAX_VISITS:
            return None
        op = self.names[max(costs)[1]]
        return SlowSize(
            counted(len(self.starts), "sizes"),
            f"are at the end of long chains of ops, for example {op!r}: "
            f"TensorFlow would visit about {counted(round(looks), 'ops')} to infer shapes",
            op,
        )

    # -- the parts --------------------------------------------------------------------------------

    def _walk(self, start: int) -> tuple[int, int, int]:
        """Returns (steps, number of Casts, depth) of the recursion from an op whose value is needed as a shape."""
        efforts = self._effort
        stack, under_way = [(start, False)], set()
        while stack:
            number, leaving = stack.pop()
            if number in efforts and not leaving:
                continue
            parts = self._parts(number)
            if leaving:
                below = [efforts.get(part, (1, 0, 1)) for part in parts]
                efforts[number] = (
                    1 + sum(b[0] for b in below),
                    (self.kinds[number] == "Cast") + sum(b[1] for b in below),
                    1 + max((b[2] for b in below), default=0),
                )
                under_way.discard(number)
            elif number not in under_way:
                under_way.add(number)
                stack.append((number, True))
                stack.extend((part, False) for part in parts if part not in efforts and part not in under_way)
        return efforts[start]

    def _parts(self, number: int) -> list[int]:
        op_type = self.kinds[number]
        if op_type not in _RECURSIVE:
            return []
        inputs = self.before(number)
        parts = {"Concat": inputs[1:], "ConcatV2": inputs[:-1]}.get(op_type, inputs[:1])
        return [part for part in parts if part >= 0]

    def _elements(self, number: int) -> int:
        """Returns the number of elements of the output of an op, if it follows from constants; otherwise 0."""
        op_type = self.kinds[number]
        if op_type in _SHAPE_IN_NODE:
            return _product(shape(self.nodes[number]) or [])
        inputs = [self._numbers(i) for i in self.before(number)]
        if op_type != "Range":
            return _product(inputs[_SIZED[op_type]]) if len(inputs) > _SIZED[op_type] else 0
        if len(inputs) != 3 or any(len(v) != 1 for v in inputs) or not inputs[2][0]:
            return 0
        return int(abs((inputs[1][0] - inputs[0][0]) / inputs[2][0]))

    def _numbers(self, number: int) -> list[Any]:
        """Returns the values of a small constant; empty if the op is not a constant, or is damaged."""
        if number < 0 or self.kinds[number] != "Const":
            return []
        tensor = self.nodes[number].attr["value"].tensor
        if not 0 < _product(shape(self.nodes[number]) or []) <= 16:
            return []
        array = array_in(tensor)
        return [] if array is None else [v for v in array.ravel().tolist() if isinstance(v, (int, float))]


def _product(sizes: Sequence[Any]) -> int:
    """Returns the number of elements of a shape; 1 for no dimensions, 0 if a dimension is not known."""
    return int(prod(sizes)) if all(isinstance(s, int) and s >= 0 for s in sizes) else 0


@cache
def _value_inputs(op_type: str) -> tuple[int, ...]:
    """Returns the positions of inputs whose values shape inference may need: inputs that can only be integers."""
    definition = op_definition(op_type)
    if definition is None:
        return ()
    allowed = {a.name: frozenset(a.allowed_values.list.type) for a in definition.attr if a.type == "type"}
    args = list(definition.input_arg)
    lists = [i for i, arg in enumerate(args) if arg.number_attr or arg.type_list_attr]
    positions = []
    for i, arg in enumerate(args):
        kinds = allowed.get(arg.type_attr, frozenset()) if arg.type_attr else frozenset({arg.type})
        if i in lists or not ((kinds and kinds <= _INTEGER_DTYPES) or op_type == "Range"):
            continue
        if not lists or i < lists[0]:
            positions.append(i)
        elif i > lists[-1]:
            positions.append(i - len(args))
    return tuple(positions)


@cache
def _blocks(op_type: str) -> bool:
    """Whether TensorFlow never treats ops of this type as constant."""
    definition = op_definition(op_type)
    return op_type in _BLOCKING or definition is None or definition.is_stateful


_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")
_FIRST = frozenset(ascii_letters + digits + ".")
_LETTERS = "".join([*_FIRST, "_\\/>-"]).encode()
_DAMAGE_HINT = "The file is damaged: write it again"
#: The maximum output number: TensorFlow reads it modulo 2 ** 32, so 'x:4294967296' would be 'x:0'.
_MAX_OUTPUT = 2**31 - 1
#: The maximum number of inputs or outputs in a list attribute; more would need gigabytes of memory.
_MAX_LISTED = 1_000_000
#: The maximum number of inputs of an op. The time of the import grows quadratically: 1.5 s; 20 s for two million.
_MAX_INPUTS = 500_000
#: The limits of op names. TensorFlow stores each prefix of a name separately, so long names would need gigabytes.
_MOST_LETTERS, _MOST_LEVELS = 2_000, 100
#: The limits of calls. Shape inference enters called functions, and needs 3 µs per op. The C++ stack is full at a depth
#: of 4,000 calls.
_MOST_EXPANDED, _MOST_CALLS = 5_000_000, 500


class _ImportProblem(NamedTuple):
    """A reason not to import a GraphDef: the problem, the suggestion, and the name of the op, if it is known."""

    problem: str
    suggestion: str
    op: str = ""

    def error(self, request: str) -> OpenError:
        """Returns the error to raise."""
        return OpenError(request, self.problem, self.suggestion, names=[self.op] if self.op else [])


def refuse_fatal(graph_def: TFGraphDef, request: str) -> None:
    """Refuses a GraphDef that would crash TensorFlow's importer, or keep it busy for minutes.

    Args:
        graph_def: the graph to import.
        request: the request, for messages.

    Raises:
        OpenError: functions call each other in a cycle, too deeply or too often. Also if an op claims more inputs or
            outputs than it has, reads an impossible output number, or has a name that is too long. Also if the dtypes
            of a constant and of its value differ, or if the computation of sizes is too complex for shape inference.
    """
    refusal = fatal_error(graph_def, request)
    if refusal is not None:
        raise refusal


def fatal_error(graph_def: TFGraphDef, request: str) -> OpenError | None:
    """Returns an error if a GraphDef would crash the importer or keep it busy for minutes; None if it is safe."""
    with gc_paused():
        fault = next(_faults(graph_def), None)
    return None if fault is None else fault.error(request)


def refuse_names(names: Sequence[str], request: str) -> None:
    """Refuses names of ops that TensorFlow does not accept, or that do not fit in memory; raises OpenError."""
    odd = "".join(names).encode().translate(None, _LETTERS)  # joined, because this is ten times faster
    odd_names = () if not odd and _FIRST.issuperset({name[:1] for name in names}) else names
    for name in odd_names:
        if not _NAME.fullmatch(name):
            raise OpenError(
                request,
                f"{name[:80]!r} is not an op name that TensorFlow accepts",
                "Rename the op in the code that made the graph: names start with a letter, digit or dot",
            )
    for fault in (name_fault for name in names if len(name) > _MOST_LEVELS for name_fault in _of_name(name, "")):
        raise fault.error(request)


def _faults(graph_def: TFGraphDef) -> Iterator[_ImportProblem]:
    functions = graph_def.library.function
    yield from _of_calls(functions)
    yield from _of_nodes(graph_def.node, "")
    for function in functions:
        place = f" of function {function.signature.name!r}"
        yield from _of_duplicates(function.node_def, place)
        yield from _of_nodes(function.node_def, place)
        yield from _of_inputs("the result", function.ret.values(), place)


def _of_nodes(nodes: Sequence[TFNodeDef], place: str) -> Iterator[_ImportProblem]:
    lists: dict[str, tuple[tuple[str, str], ...]] = {}  # op type -> attributes that count inputs or outputs
    walks = SizeWalks(nodes)
    for node, name, op_type, inputs in zip(walks.nodes, walks.names, walks.kinds, walks.inputs, strict=True):
        if len(name) > _MOST_LEVELS:
            yield from _of_name(name, place)
        for text in inputs:
            if ":" in text and len(text.rpartition(":")[2]) > 9:
                yield from _of_inputs(f"op {name!r}", [text], place, name)
        if len(inputs) > _MAX_INPUTS:
            yield from _of_many(node, place)
        op_lists = lists.get(op_type)
        if op_lists is None:
            op_lists = lists[op_type] = _list_attributes(op_type)
        if op_lists:
            yield from _of_lists(node, op_lists, place)
        if op_type in ("Const", "HostConst"):
            value, dtype = node.attr["value"].tensor.dtype, node.attr["dtype"].type
            if value != dtype and value:
                dtypes = [DTYPES.get(number, f"number {number}") for number in (dtype, value)]
                problem = f"constant {name!r}{place} has dtype {dtypes[0]}, but its value has dtype {dtypes[1]}"
                yield _ImportProblem(problem, _DAMAGE_HINT, name)
    if not set(TURNING).isdisjoint(walks.kinds):
        yield from _of_loops(walks, place)
    for number in [i for i, op_type in enumerate(walks.kinds) if fragile(op_type)]:
        problem = fault(walks.nodes[number], walks.giver(number))
        if problem:
            name, op_type = walks.names[number], walks.kinds[number]
            yield _ImportProblem(
                f"op {name!r}{place} ({op_type}) would crash TensorFlow: {problem}", _DAMAGE_HINT, name
            )
    why = slow_sizes(walks)
    if why:
        problem = f"{why.subject}{place} {why.reason}"
        yield _ImportProblem(problem, "Simplify that computation in the code that made the graph", why.op)


def _of_loops(walks: SizeWalks, place: str) -> Iterator[_ImportProblem]:
    """Checks that a Merge of a loop has one input from outside of the loop, on which the importer relies."""
    turns = {i for i, op_type in enumerate(walks.kinds) if op_type in TURNING}
    for number in [i for i, op_type in enumerate(walks.kinds) if op_type in MERGING]:
        inputs = walks.before(number)
        outside = sum(i not in turns for i in inputs)
        if outside > 1 and outside < len(inputs):
            name = walks.names[number]
            yield _ImportProblem(f"the loop at {name!r}{place} is entered {outside} times", _DAMAGE_HINT, name)


def _of_name(name: str, place: str) -> Iterator[_ImportProblem]:
    if len(name) > _MOST_LETTERS or name.count("/") > _MOST_LEVELS:
        yield _ImportProblem(
            f"the name of an op{place}, {name[:40]!r} ..., has {counted(len(name), 'letters')} "
            f"and {counted(name.count('/'), 'slashes')}",
            f"Up to {_MOST_LETTERS:,} letters and {_MOST_LEVELS} slashes are possible: "
            "rename the op in the code that made the graph",
        )


def _of_inputs(reader: str, texts: Iterable[str], place: str, op: str = "") -> Iterator[_ImportProblem]:
    for text in texts:
        port = text.rpartition(":")[2]
        if ":" in text and port.isdigit() and int(port) > _MAX_OUTPUT:
            yield _ImportProblem(f"{reader}{place} reads {text!r}: no op has that many outputs", _DAMAGE_HINT, op)


def _of_many(node: TFNodeDef, place: str) -> Iterator[_ImportProblem]:
    count = sum(not text.startswith("^") for text in node.input)
    if count > _MAX_INPUTS:
        yield _ImportProblem(
            f"op {node.name!r}{place} ({node.op}) has {counted(count, 'inputs')}: "
            "TensorFlow would take minutes to import it",
            f"Up to {_MAX_INPUTS:,} are possible: combine them in steps in the code that made the graph",
            node.name,
        )


def _list_attributes(op_type: str) -> tuple[tuple[str, str], ...]:
    definition = op_definition(op_type)
    if definition is None:
        return ()
    inputs = ((arg.number_attr, "inputs") for arg in definition.input_arg if arg.number_attr)
    outputs = ((arg.number_attr, "outputs") for arg in definition.output_arg if arg.number_attr)
    return (*inputs, *outputs)


def _of_lists(node: TFNodeDef, op_lists: Iterable[tuple[str, str]], place: str) -> Iterator[_ImportProblem]:
    for attribute, items in op_lists:
        count = node.attr[attribute].i if attribute in node.attr else 0
        if count > _MAX_LISTED or (items == "inputs" and count > max(len(node.input), 1_000)):
            excess = f" but has {len(node.input):,}" if items == "inputs" else ""
            problem = f"op {node.name!r}{place} ({node.op}) claims {count:,} {items}{excess}"
            yield _ImportProblem(problem, _DAMAGE_HINT, node.name)


# -- functions ------------------------------------------------------------------------------------


def _of_duplicates(nodes: Sequence[TFNodeDef], place: str) -> Iterator[_ImportProblem]:
    names: set[str] = set()
    for node in nodes:
        if node.name in names:
            yield _ImportProblem(f"two ops{place} are called {node.name!r}", _DAMAGE_HINT, node.name)
        names.add(node.name)


def _of_calls(functions: Any) -> Iterator[_ImportProblem]:
    if not functions:
        return
    library = {f.signature.name: f for f in functions}
    duplicate = next((name for name in library if op_definition(name) is not None), None)
    if duplicate is not None:
        problem = f"function {duplicate!r} has the name of an op type that TensorFlow has itself"
        yield _ImportProblem(problem, "Rename the function in the code that made the graph")
    calls = {name: [functions_in_node(node, library) for node in f.node_def] for name, f in library.items()}
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
        yield _ImportProblem(problem, how)
        return
    size: dict[str, int] = {}
    depth: dict[str, int] = {}
    for name in order:
        size[name] = len(calls[name]) + sum(size[callee] for each in calls[name] for callee in each)
        depth[name] = 1 + max((depth[callee] for each in calls[name] for callee in each), default=0)
        if depth[name] > _MOST_CALLS:
            problem = f"function {name!r} calls a function that calls another, and so on, {depth[name]:,} deep"
            yield _ImportProblem(problem, f"TensorFlow would end the process; up to {_MOST_CALLS} levels are possible")
        if size[name] > _MOST_EXPANDED:
            yield _ImportProblem(
                f"function {name!r} and its calls, each expanded at every call, have {counted(size[name], 'ops')}",
                f"TensorFlow would visit each of them; up to {_MOST_EXPANDED:,} are possible",
            )


# -- op types whose shape inference ends the process ------------------------------------------------


#: A function: position of a data input -> the NodeDef of its producer; None if it is not known.
ProducerOf = Callable[[int], Any]

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
_MAX_RANK = 8  # the assumed maximum rank of a tensor of unknown rank
_MAX_DIGITS = 10_000  # the maximum number of digits of a number as text


def fragile(op_type: str) -> bool:
    """Returns whether shape inference of an op type can end the process."""
    return op_type in _SCALAR or op_type in _RULES


def fault(node: TFNodeDef, producer_of: ProducerOf) -> str:
    """Returns why an op of a fragile type would end the process; empty if it would not.

    Args:
        node: the NodeDef of the op.
        producer_of: a function: position of a data input -> the NodeDef of its producer, or None.
    """
    for position in _SCALAR.get(node.op, ()):
        if shape(producer_of(position)) == []:
            return f"its input {position} is a scalar, but must have a dimension"
    return _RULES[node.op](node, producer_of) if node.op in _RULES else ""


def _rank(node: TFNodeDef) -> int:
    dims = shape(node)
    return _MAX_RANK if dims is None else len(dims)


def _gather(node: TFNodeDef, producer_of: ProducerOf) -> str:
    batch = node.attr["batch_dims"].i if "batch_dims" in node.attr else 0
    limit = _rank(producer_of(0)) + _rank(producer_of(1)) - 1
    return "" if -_MAX_RANK <= batch <= limit else f"its batch_dims is {batch}, more than its inputs have dimensions"


def _split(node: TFNodeDef, producer_of: ProducerOf) -> str:
    sizes = shape(producer_of(1))
    if node.attr["Tlen"].type == 6:
        return "its sizes are int8, which its shape inference takes for int64"
    return "its sizes are not a vector" if sizes is not None and len(sizes) != 1 else ""


def _dequeue(node: TFNodeDef, producer_of: ProducerOf) -> str:
    count = shape(producer_of(1))
    return "its number of elements is not a scalar" if count and count != [1] * len(count) else ""


def _ragged(node: TFNodeDef, producer_of: ProducerOf) -> str:
    params_rank, output_rank = node.attr["PARAMS_RAGGED_RANK"].i, node.attr["OUTPUT_RAGGED_RANK"].i
    return (
        ""
        if output_rank >= params_rank - 1
        else f"its OUTPUT_RAGGED_RANK is {output_rank}, below PARAMS_RAGGED_RANK - 1"
    )


def _collective(node: TFNodeDef, producer_of: ProducerOf) -> str:
    size = node.attr["group_size"].i
    return "" if -(2**31) <= size < 2**31 else f"its group_size is {size}"


def _infeed(node: TFNodeDef, producer_of: ProducerOf) -> str:
    shapes, dtypes = len(node.attr["shapes"].list.shape), len(node.attr["dtypes"].list.type)
    return "" if shapes <= dtypes else f"it has {shapes} shapes for {dtypes} dtypes"


def _partitioned(node: TFNodeDef, producer_of: ProducerOf) -> str:
    at = node.attr["partition_dim"].i if "partition_dim" in node.attr else 0
    return "" if -1 <= at < _rank(producer_of(0)) else f"its partition_dim is {at}"


def _text(node: TFNodeDef, producer_of: ProducerOf) -> str:
    """Checks the length of texts: without memory for a text, TensorFlow ends the process."""
    for key in ("width", "precision"):
        if key in node.attr and node.attr[key].i > _MAX_DIGITS:
            return f"its {key} is {node.attr[key].i}: each text would have that length"
    return ""


_RULES: dict[str, Callable[[Any, ProducerOf], str]] = {
    "GatherV2": _gather,
    "SplitV": _split,
    "QueueDequeueManyV2": _dequeue,
    "RaggedGather": _ragged,
    "CollectiveGather": _collective,
    "InfeedDequeueTuple": _infeed,
    "TPUPartitionedInput": _partitioned,
    "AsString": _text,
}
