"""Causes: what of a query keeps an op out, and its parts worked out as they were when it was made."""

from __future__ import annotations

import numpy as np
import pytest

from graphsurgeon.graph.explain import evaluate_query, explain
from graphsurgeon.graph.selection import select
from tests.plain import net


@pytest.mark.parametrize(
    ("query", "reason", "words"),
    [
        (lambda g: select(g, op="MatMul"), "unlisted", "of type Relu, but the query selects MatMul"),
        (lambda g: select(g, op=["MatMul", "Mul"]), "unlisted", "the query selects MatMul or Mul"),
        (lambda g: select(g, scope="net"), "unlisted", "not in the scope 'net'"),
        (lambda g: select(g, name="net/*"), "unlisted", "does not fit 'net/*'"),
        (lambda g: select(g).where(lambda op: op.type == "Mul"), "unlisted", "not among the ops listed"),
        (lambda g: select(g) - select(g, op="Relu"), "removed", "in the part that - removes"),
        (lambda g: ~select(g, op="Relu"), "removed", "in the part that ~ removes"),
        (lambda g: select(g, op="MatMul") - select(g, op="Mul"), "unlisted", "the query selects MatMul"),
        (lambda g: select(g, name="net/mm").ancestors() & select(g), "below", "is below"),
        (lambda g: select(g, op="Mul") | select(g, name="net/mm").ancestors(), "below", "is below"),
        (lambda g: select(g, op="Mul") | select(g, op="MatMul"), "unlisted", "the query selects Mul"),
    ],
)
def test_what_keeps_an_op_out_of_a_query(query, reason, words):
    g = net()
    found = explain(g, "out", query(g))
    assert found.reason == reason
    assert words in str(found)


def test_a_query_is_evaluated_as_it_was_made():
    g = net()
    walk = select(g, name="out").ancestors(control=False)
    made = (walk | select(g, op="Unpack")) - ~select(g, scope="net").descendants()
    assert np.array_equal(evaluate_query(g, made.query)[id(made.query)], made.mask)
