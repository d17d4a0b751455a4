"""What is asked of a graph of 100,000 ops, in absolute time: comparing, explaining, the nearest name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.rows import Row, seconds
from graphsurgeon.errors import nearest
from graphsurgeon.graph.diff import diff
from graphsurgeon.graph.explain import explain
from graphsurgeon.graph.graph import Graph
from graphsurgeon.plan.removal import find_removal_blockers

SIZE = 100_000


def rows() -> Iterator[Row]:
    """Yields one row a question."""
    net, same, renamed = repeated(), repeated(), repeated("copy/")
    yield Row("compare two graphs by name, 100,000 ops", seconds(lambda: diff(net, same), 3), None, 3)
    by_structure = seconds(lambda: diff(net, renamed, by="structure"), 3)
    yield Row("compare two graphs by structure, 100,000 ops", by_structure, None, 20)
    line = Graph.from_ops([("op0", "Const", []), *((f"op{i}", "Neg", [f"op{i - 1}"]) for i in range(1, SIZE + 1))])
    asked = seconds(
        lambda: (
            explain(line, "op0", f"op{SIZE}"),
            explain(line, f"op{SIZE}", "op5"),
            find_removal_blockers(line, "op7"),
        ),
        3,
    )
    yield Row("explain, why not and what blocks, 100,000 ops in a row", asked, None, 5)
    names = [f"tower_{i % 8}/block_{i // 8}/conv_{i}/weights" for i in range(SIZE)]
    found = seconds(lambda: nearest("tower_3/block_100/conv_803/weigths", names), 3)
    yield Row("the nearest of 100,000 names", found, None, 2)


def repeated(lead: str = "") -> Graph:
    """Returns a graph of repeated blocks, as deep nets are."""
    ops: list[Any] = [(f"{lead}x", "Placeholder", [])]
    last = f"{lead}x"
    for i in range(SIZE // 5):
        b = f"{lead}block_{i}"
        ops += [
            (f"{b}/w", "VariableV2", []),
            (f"{b}/read", "Identity", [f"{b}/w"]),
            (f"{b}/mm", "MatMul", [last, f"{b}/read"]),
            (f"{b}/go", "NoOp", [f"^{b}/mm"]),
            (f"{b}/relu", "Relu", [f"{b}/mm", f"^{b}/go"]),
        ]
        last = f"{b}/relu"
    return Graph.from_ops(ops)
