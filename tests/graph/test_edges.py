"""Edges: rows made from pairs say the same pairs again, whatever is asked of them and however they are put together."""

from __future__ import annotations

import numpy as np
import pytest

from graphsurgeon.graph.edges import Edges, merge_edges, reversed_edges, stack_edges

SEEDS = [0, 1, 2]


def random_rows(seed: int, size: int = 9) -> list[list[tuple[int, int]]]:
    """Returns far ends with their ports for each of some rows; some rows have none."""
    rng = np.random.default_rng(seed)
    return [[(int(rng.integers(size)), int(rng.integers(3))) for _ in range(int(rng.integers(4)))] for _ in range(size)]


def edges_of(rows: list[list[tuple[int, int]]]) -> Edges:
    flat = [(row, *end) for row, ends in enumerate(rows) for end in ends]
    row, node, port = np.array(flat, np.int64).reshape(-1, 3).T
    return Edges.from_rows(row, node, len(rows), port)


def rows_of(edges: Edges) -> list[list[tuple[int, int]]]:
    return [edges.ends(i) for i in range(len(edges.ptr) - 1)]


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_hold_what_they_were_made_of(seed):
    rows = random_rows(seed)
    edges = edges_of(rows)
    assert rows_of(edges) == rows
    assert [list(zip(edges.row(i), edges.ports(i), strict=True)) for i in range(len(rows))] == rows
    assert edges.rows.tolist() == [i for i, ends in enumerate(rows) for _ in ends]
    assert {array.dtype for array in edges} == {np.dtype(np.int32)}


@pytest.mark.parametrize("seed", SEEDS)
def test_edges_within_some_rows_are_found_in_the_order_asked(seed):
    rows = random_rows(seed)
    edges = edges_of(rows)
    for wanted in ([], [4], [7, 0, 3]):
        within, at = edges.gather(np.array(wanted, np.int32))
        found = [(i, int(edges.node[k]), int(edges.port[k])) for i, k in zip(within.tolist(), at.tolist(), strict=True)]
        assert found == [(i, *end) for i, row in enumerate(wanted) for end in rows[row]]


@pytest.mark.parametrize("seed", SEEDS)
def test_edges_put_together(seed):
    one, other = random_rows(seed), random_rows(seed + 10)
    a, b = edges_of(one), edges_of(other)
    assert rows_of(stack_edges(a, b)) == one + other
    assert rows_of(stack_edges(a, b, a)) == one + other + one
    assert stack_edges(a) is a
    assert rows_of(merge_edges(a, b)) == [x + y for x, y in zip(one, other, strict=True)]


@pytest.mark.parametrize("seed", SEEDS)
def test_edges_by_their_other_ends(seed):
    rows = random_rows(seed)
    turned = [[(i, port) for i, ends in enumerate(rows) for node, port in ends if node == j] for j in range(len(rows))]
    back = reversed_edges(edges_of(rows), len(rows))
    assert rows_of(back) == turned
    assert sorted(map(sorted, rows_of(reversed_edges(back, len(rows))))) == sorted(map(sorted, rows))


def test_control_edges_have_no_ports():
    edges = Edges.from_rows(np.array([1, 1]), np.array([0, 2]), 3)
    assert edges.ends(1) == [(0, 0), (2, 0)]
    assert edges.ends(0) == edges.ends(2) == []
