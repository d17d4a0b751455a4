"""What an unroll step does: a loop is replaced by copies of its body, one for each round.

The rounds, and their names, are made in tf/edit/unrolled.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...errors import PlanError
from ...graph.contexts import Loop, loops_in, loops_of
from ...graph.graph import Graph
from ...words import counted, few
from ..delta import Delta
from ..effect import Region
from ..rounds import Turn, rounds, scalar
from ..step_code import request_of
from ..steps import UnrollStep
from ..tally import Tally
from .replace_matches import Chosen, replace_matches
from .rewire import errors_of

_WHILE = ("While", "StatelessWhile")
_PARTS = ("body", "body_1")


def unroll(step: UnrollStep, so_far: Tally) -> Iterator[Delta]:
    """Puts copies of the body in the place of a loop."""
    request, graph = request_of(step), so_far.after
    op, loop = _meant(request, graph, step.loop)
    numbers = [op] if loop is None else np.flatnonzero(loops_of(graph) == loops_of(graph)[loop.asks]).tolist()
    touched = {name for name, _, _ in so_far.edits} | set(so_far.changes)
    late = [graph.names[i] for i in numbers if i >= so_far.base.size or graph.names[i] in touched]
    if late:
        raise PlanError(request, f"{late[0]!r} is made or changed by this plan", "Apply these steps first")
    if loop is not None:
        _refuse(request, graph, loop, numbers)
    with errors_of(request):
        by = so_far.backend.unrolled(so_far.base, op, loop, step.times)
    if loop is None:
        name, known = graph.names[op], _rounds_of_while(so_far, op, step.times)
        reads, gives = graph.input_names(op), [f"{name}:{k}" for k in range(len(graph.outputs(op) or ()))]
    else:
        name, known = graph.names[loop.asks].rpartition("/")[0] or "loop", _rounds_of_loop(so_far, loop, step.times)
        reads = [graph.input_names(i)[0] for i in (*loop.enters, *loop.constants)]
        gives = [f"{graph.names[i]}:0" for i in loop.exits if i >= 0]
    inputs, outputs = ({f"{word}{k}": t for k, t in enumerate(ts)} for word, ts in (("in", reads), ("out", gives)))
    chosen = Chosen([Region(graph, numbers, inputs, outputs)], below=_PARTS)
    yield from replace_matches(so_far, request, chosen, by, name)
    if not so_far.faults and known != step.times:
        why = "how many rounds it makes is known only when it runs"
        if known is not None:
            makes = counted(min(known, step.times), "rounds")
            why = f"it makes {makes}" if known <= step.times else f"it makes more than {makes}"
        yield Delta(warnings=[f"the condition of {name} is no longer asked, and {why}"])


def _meant(request: str, graph: Graph, name: str) -> tuple[int, Loop | None]:
    """The loop of a name, as an op; the name is that of the op, or of a loop of TF1 or its scope."""
    number = graph.index.get(name)
    if number is not None and graph.types[number] in _WHILE:
        return number, None
    loops = loops_in(graph)
    found = [loop for loop in loops if number is not None and number in loop.parts]
    if not found:
        lead = f"{name.strip('/')}/"
        inside = sorted((graph.names[loop.asks].count("/"), at) for at, loop in enumerate(loops)
                        if graph.names[loop.asks].startswith(lead))  # fmt: skip
        found = [loops[at] for depth, at in inside if depth == inside[0][0]]
    if len(found) == 1:
        return found[0].asks, found[0]
    names = [graph.names[loop.asks] for loop in found or loops]
    names += [] if found else [graph.names[i] for i in np.flatnonzero(graph.typed(_WHILE)).tolist()]
    problem = f"there are {len(found)} loops in it" if found else f"{name!r} is not a loop, nor a part of one"
    if number is None and not found and name.strip("/") not in graph.scopes.index:
        graph.find(name, request)
    raise PlanError(
        request, problem, f"The loops are {few(map(repr, names), 6)}" if names else "This graph has no loops"
    )


def _refuse(request: str, graph: Graph, loop: Loop, numbers: Sequence[int]) -> None:
    kinds = {graph.types[i] for i in numbers}
    around = [graph.data.ends(i)[0][0] for i in (*loop.enters, *loop.constants)]
    deep = loops_of(graph)
    inner = next((i for i in around if deep[i] == deep[loop.asks] or graph.types[i] in ("Switch", "RefSwitch")), -1)
    if inner >= 0:
        problem = f"{graph.names[loop.asks]!r} is inside of another loop, or of a cond"
        raise PlanError(request, problem, "Unroll the loop around it first, or resolve its condition, in a plan before")
    if any(kind.startswith("StackPush") for kind in kinds):
        problem = "the graph already contains the gradient of this loop"
        raise PlanError(request, problem, "Unroll the loop before you compute gradients")
    if all(op < 0 for op in loop.exits):
        raise PlanError(request, "nothing leaves it", "Leave it as it is, or remove it")


def _rounds_of_loop(so_far: Tally, loop: Loop, most: int) -> int | None:
    graph, array = so_far.after, so_far.backend.array
    nodes = dict(zip(graph.names, graph.nodes, strict=True))
    enters = [graph.input_names(i)[0] for i in (*loop.enters, *loop.constants)]
    start = [scalar(nodes, text, {}, array) for text in enters]
    fixed = [graph.names[i] for i in loop.constants]
    test = Turn(nodes, [*(graph.names[i] for i in loop.merges), *fixed], graph.input_names(loop.asks))
    turned = [graph.input_names(i)[0] for i in loop.turns]
    body = Turn(nodes, [*(graph.names[i] for i in loop.switches), *fixed], turned)
    return rounds(test, body, start, most, array)


def _rounds_of_while(so_far: Tally, op: int, most: int) -> int | None:
    graph, array = so_far.after, so_far.backend.array
    nodes = dict(zip(graph.names, graph.nodes, strict=True))
    start = [scalar(nodes, text, {}, array) for text in graph.input_names(op)]
    turns = []
    for key in ("cond", "body"):
        function = graph.functions.get(graph.nodes[op].attr[key].func.name)
        if function is None:
            return None
        arguments = [argument.name for argument in function.signature.input_arg]
        results = [function.ret[out.name] for out in function.signature.output_arg]
        turns.append(Turn({node.name: node for node in function.node_def}, arguments, results))
    return rounds(turns[0], turns[1], start, most, array)
