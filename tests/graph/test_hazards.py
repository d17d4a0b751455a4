"""Rows on which TensorFlow's graph optimizer crashes or hangs are reported, with the cure."""

from __future__ import annotations

import numpy as np
import pytest

from graphsurgeon.graph.conversion_verdict import GENERAL_ADVICE, hazards
from graphsurgeon.graph.graph import Graph
from tests.cost import lines


def row(count: int, *kinds: str, start: str = "x") -> list[tuple[str, str, list[str]]]:
    """Returns ops in a row behind `start`, of these types by turns."""
    return [(f"{start}{i}", kinds[i % len(kinds)], [f"{start}{i - 1}" if i else start]) for i in range(count)]


def graph(*ops: tuple[str, str, list[str]]) -> Graph:
    """Returns a snapshot of these ops and two feeds, x and y."""
    return Graph.of([("x", "Placeholder", []), ("y", "Placeholder", []), *ops])


def test_a_long_row_of_identities_ends_the_process():
    assert hazards(graph(*row(20_001, "Identity"))) == [
        "'x0' begins a row of 20,001 ops like Identity: TensorFlow's graph optimizer would end the process; "
        + GENERAL_ADVICE
    ]
    assert "disable_meta_optimizer = True" in GENERAL_ADVICE


@pytest.mark.parametrize("kind", ["Neg", "Reciprocal", "Conj", "Invert", "LogicalNot", "Transpose", "Bitcast"])
def test_a_long_row_of_what_undoes_itself_takes_minutes(kind):
    (text,) = hazards(graph(*row(5_001, kind)))
    assert text.startswith(f"'x0' begins a row of 5,001 ops like {kind}: TensorFlow's graph optimizer may take minutes")


@pytest.mark.parametrize("kind", ["Tanh", "Relu", "Add", "MatMul", "NoOp"])
def test_other_ops_may_stand_in_any_row(kind):
    assert hazards(graph(*row(60_000, kind))) == []


def test_shorter_rows_are_not_told():
    assert hazards(graph(*row(20_000, "Identity"))) == []
    assert hazards(graph(*row(5_000, "Neg"))) == []


def test_many_short_rows_are_not_told():
    ops = [(f"i{n}", "Identity", ["x" if n % 50 == 0 else f"i{n - 1}"]) for n in range(60_000)]
    assert hazards(graph(*ops)) == []


def test_an_op_of_another_type_ends_a_row():
    ops = row(40_000, "Identity")
    ops[20_000] = ("x20000", "Tanh", ["x19999"])
    assert hazards(graph(*ops)) == []


def test_ops_that_are_removed_do_not_end_a_row():
    (text,) = hazards(graph(*row(10_004, "Identity", "Neg")))
    assert text.startswith("'x1' begins a row of 5,002 ops like Neg: ")


def test_the_longest_row_is_told_whatever_the_order_of_the_ops():
    ops = [*row(20_005, "Identity"), *row(20_500, "StopGradient", start="y")]
    (text,) = hazards(Graph.of([*reversed(ops), ("y", "Placeholder", []), ("x", "Placeholder", [])]))
    assert text.startswith("'y0' begins a row of 20,500 ops like StopGradient: ")


def test_both_kinds_of_rows_are_told():
    texts = hazards(graph(*row(20_001, "Identity"), *row(5_001, "Neg", start="y")))
    assert [text.partition(" ")[0] for text in texts] == ["'x0'", "'y0'"]


def test_only_rows_with_an_op_of_interest_are_told_and_counted_whole():
    found = graph(*row(30_000, "Identity"))
    nothing = np.zeros(found.size, np.bool_)
    assert hazards(found, nothing) == []
    (text,) = hazards(found, found.mask([found.size - 1]))
    assert text.startswith("'x0' begins a row of 30,000 ops")
    aside = Graph.of([*zip(found.names, found.types, [n.input for n in found.nodes], strict=True), ("z", "Neg", ["y"])])
    assert hazards(aside, aside.mask([aside.size - 1])) == []


def test_it_costs_next_to_nothing_where_there_is_no_long_row():
    ops = [(f"o{n}", ("Identity", "MatMul", "Const", "Add")[n % 4], [f"o{n - 1}"] if n else []) for n in range(10_000)]
    small = Graph.of(ops)
    large = Graph.of(
        [(f"o{n}", kind, [f"o{n - 1}"] if n else []) for n, kind in enumerate(["Add", "Identity"] * 50_000)]
    )
    assert hazards(small) == hazards(large) == []
    assert lines(lambda: hazards(small)) < 200  # a few passes over arrays, none over the ops
    assert lines(lambda: hazards(large)) < 3 * large.size
