"""Search: words, types, patterns, and the order of hits."""

from __future__ import annotations

import pytest

from graphsurgeon.errors import SelectionError
from graphsurgeon.graph.graph import Graph, TensorInfo
from graphsurgeon.graph.layers import Layer, LayerCall, Layers
from graphsurgeon.graph.search import search, search_hits
from tests.cost import lines
from tests.refusal import refuses

G = Graph.from_ops(
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


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("op:*", ["net/conv1/Conv2D", "net/conv10", "other", "net/conv1/bias", "Conv1"]),
        ("conv1", ["Conv1", "net/conv10", "net/conv1/Conv2D", "net/conv1/bias"]),
    ],
)
def test_what_a_picture_hides_comes_behind_all_that_fits_as_well(query, found):
    hidden = G.mask([G.index["net/conv1/bias"], G.index["Conv1"]])
    assert [G.names[i] for i in search_hits(G, query, hidden=hidden)] == found


def test_a_bad_expression():
    with refuses(SelectionError, "find('/conv(/')", "is not a regular expression", "Escape special characters with \\"):
        search(G, "/conv(/")


def test_brackets_are_text():
    assert search(G, "conv[") == []
    assert search(Graph.from_ops([("a(b", "NoOp", [])]), "a(b") == ["a(b"]


class Attr:
    """A node as TensorFlow has it, as far as a search looks."""

    def __init__(self, name, device="", **attr):
        self.name, self.op, self.input, self.device, self.attr = name, "Op", [], device, attr


RICH = Graph.from_nodes(
    [Attr("a", "/gpu:0", padding="SAME"), Attr("b", "/cpu:0", padding="'VALID'", T="x"), Attr("c", T="y")],
    outputs_of=lambda op: [
        [TensorInfo("float32", (None, 8, 3))],
        [TensorInfo("int32", ()), TensorInfo("float32", None)],
        [TensorInfo("float32_ref", (8,))],
    ][op],
)


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ("dtype:float32", ["a", "b", "c"]),
        ("dtype:int*", ["b"]),
        ("shape:?x8x3", ["a"]),
        ("shape:?,8,3", ["a"]),
        ("shape:*x8x*", ["a"]),
        ("shape:...x3", ["a"]),
        ("shape:8", ["c"]),
        ("shape:()", ["b"]),
        ("device:GPU", ["a"]),
        ("device:?pu:0", ["a", "b"]),
        ("attr:padding", ["a", "b"]),
        ("attr:padding=same", ["a"]),
        ("attr:Padding=VALID", ["b"]),
        ("attr:T=*", ["b", "c"]),
        ("attr:nothing", []),
        ("-attr:padding", ["c"]),
        ("dtype:float32 -device:gpu -c", ["b"]),
        ("-", []),
    ],
)
def test_queries_for_what_an_op_has(query, hits):
    assert search(RICH, query) == hits


def test_an_unknown_key():
    with refuses(SelectionError, "find('dtpye:float32')", "there is no key 'dtpye:'", "attr:, device:, dty"):
        search(RICH, "dtpye:float32")


def test_a_colon_in_a_name_is_text():
    assert search(Graph.from_ops([("loc:at", "NoOp", [])]), "loc:at") == ["loc:at"]


def test_a_search_looks_at_each_op_once():
    kinds = ("Conv2D", "Relu", "AddV2", "Const")
    graph = Graph.from_ops(
        [(f"tower_{i // 1000}/block{i // 100 % 100}/op{i}", kinds[i % 4], []) for i in range(10_000)]
    )
    for query in ("conv", "op:Conv2D block7", "tower_3/*op31*"):
        assert search(graph, query) or query == "conv"  # what a search needs is made at the first
        assert lines(lambda query=query: search(graph, query)) < 1.2 * graph.size


def test_layers_are_asked_for_by_name_path_and_class():
    conv = Layer("conv1", "Conv2D", "net/conv1", (LayerCall(("net/conv1/Conv2D",), (), ()),), ("net/conv1/bias",))
    layers = Layers((conv, Layer("relu", "ReLU", "relu", (LayerCall(("net/conv10", "gone"), (), ()),))))
    for query, expected in [
        ("layer:conv1", ["net/conv1/Conv2D", "net/conv1/bias"]),
        ("LAYER:net/*", ["net/conv1/Conv2D", "net/conv1/bias"]),
        ("layer-type:relu", ["net/conv10"]),
        ("layer:* -layer-type:Conv2D", ["net/conv10"]),
        ("layer:nothing", []),
        ("layer-type:conv2d op:Const", ["net/conv1/bias"]),
    ]:
        assert search(G, query, layers=layers) == expected, query
    with refuses(SelectionError, "find('layer:conv1'): the graph has no layers: it was not opened from a Keras model",
                 "Open the keras.Model or tf.Module itself"):  # fmt: skip
        search(G, "layer:conv1")


def test_ops_of_unknown_types():
    graph = Graph.from_ops(
        [("a", "Mine", []), ("b", "Neg", ["a"]), ("c", "Mine", ["b"])], unknown_types=frozenset({"Mine"})
    )
    assert search(graph, "is:unknown") == ["a", "c"]
    assert search(graph, "-is:Unknown") == ["b"]
    assert search(graph, "is:unknown c") == ["c"]
    with refuses(SelectionError, "find('is:known')", "no op is 'known'", "Type is:unknown"):
        search(graph, "is:known")
