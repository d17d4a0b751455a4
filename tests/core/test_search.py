"""Search: words, types, patterns, and the order of hits."""

from __future__ import annotations

import pytest

from graphsurgeon.core.graph import Graph
from graphsurgeon.core.search import search
from graphsurgeon.errors import SelectionError
from tests.refusal import refuses

G = Graph.of(
    [
        ("net/conv1/Conv2D", "Conv2D", []),
        ("net/conv1/bias", "Const", []),
        ("net/conv10", "Relu", ["net/conv1/Conv2D"]),
        ("Conv1", "Relu6", ["net/conv10"]),
        ("other", "NoOp", []),
    ]
)


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ("conv1", ["Conv1", "net/conv10", "net/conv1/bias", "net/conv1/Conv2D"]),
        ("CONV10", ["net/conv10"]),
        ("op:relu", ["net/conv10"]),
        ("type:Relu*", ["net/conv10", "Conv1"]),
        ("op:Nothing", []),
        ("net/*", ["net/conv1/Conv2D", "net/conv1/bias", "net/conv10"]),
        ("?onv1", ["Conv1"]),
        ("/conv1\\//", ["net/conv1/Conv2D", "net/conv1/bias"]),
        ("/^other$/", ["other"]),
        ("net bias", ["net/conv1/bias"]),
        ("op:Const conv", ["net/conv1/bias"]),
        ("other:0", ["other"]),
        ("", []),
        ("   ", []),
        ("no such thing", []),
    ],
)
def test_queries(query, hits):
    assert search(G, query) == hits


def test_an_exact_name_comes_first():
    assert search(G, "net/conv1/bias")[0] == "net/conv1/bias"
    assert search(G, "bias")[0] == "net/conv1/bias"


def test_a_bad_expression():
    with refuses(SelectionError, "find('/conv(/')", "is not a regular expression", "Escape special characters with \\"):
        search(G, "/conv(/")


def test_brackets_are_text():
    assert search(G, "conv[") == []
    assert search(Graph.of([("a(b", "NoOp", [])]), "a(b") == ["a(b"]
