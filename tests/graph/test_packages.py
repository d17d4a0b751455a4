"""Op types that TensorFlow does not know: whose they likely are, how many there are, and what is refused for them."""

from __future__ import annotations

import pytest

from graphsurgeon.errors import PlanError
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.op_packages import package_of, refuse_unknown, unknown_counts, unknown_rows, unknown_words
from tests.refusal import refuses


@pytest.mark.parametrize(
    ("kind", "package"),
    [
        *((kind, "tensorflow_text") for kind in (
            "SentencepieceOp", "WordpieceTokenizeWithOffsets", "CaseFoldUTF8", "RegexSplitWithOffsets",
            "TFText>FastSentencepieceTokenize",
        )),
        ("Addons>EmbeddingBag", "tensorflow_addons"),
        ("IO>ParseAvro", "tensorflow_io"),
        ("SimpleMLLoadModelFromPath", "tensorflow_decision_forests"),
        ("TfqSimulateState", "tensorflow_quantum"),
        ("HorovodAllreduce", "horovod"),
        ("DALIDataset", "nvidia-dali-tf-plugin"),
        ("NeuronOp", "tensorflow-neuron"),
        ("TRTEngineOp", "a TensorFlow built with TensorRT"),
        ("TreeVariable", "tf.contrib of TensorFlow 1"),
        *((kind, "") for kind in ("MyHorovod", "Dalien", "Tfquick", "Ngrams", "IOStream")),
    ],
)  # fmt: skip
def test_the_name_says_the_package_or_nothing_is_said(kind, package):
    assert package_of(kind) == package


@pytest.fixture
def graph():
    ops = [("x", "Placeholder", []), ("a", "Mine", ["x"]), ("b", "Mine", ["x"]), ("c", "Addons>Gelu", ["b"])]
    return Graph.from_ops(
        [*ops, ("y", "Neg", ["x"])], unknown_types=frozenset({"Mine", "Addons>Gelu", "Inner"}), title="net"
    )


def test_they_are_counted(graph):
    assert unknown_counts(graph) == {"Mine": 2, "Addons>Gelu": 1, "Inner": 0}
    assert unknown_rows(graph) == [
        "Mine  2 ops",
        "Addons>Gelu  1 op, likely of tensorflow_addons",
        "Inner  in functions",
    ]
    assert unknown_counts(graph, graph.mask([0, 3])) == {"Addons>Gelu": 1}
    assert unknown_words(graph, graph.mask([0, 4])) == ""
    assert unknown_words(graph, graph.mask([1, 3])).startswith(
        "2 ops of types that TensorFlow does not know here, 'Mine'"
    )


def test_only_what_holds_them_is_refused(graph):
    refuse_unknown(graph, graph.mask([0, 4]), "save('x.pb')")
    with refuses(PlanError, "save('x.pb')", "would contain 1 op", "'Addons>Gelu' (tensorflow_addons): 'c' of net",
                 "Import tensorflow_addons and open the graph again, or leave them out"):  # fmt: skip
        refuse_unknown(graph, graph.mask([0, 3]), "save('x.pb')")
    with refuses(PlanError, "would contain 3 ops of types", "'a', 'b', 'c' of net"):
        refuse_unknown(graph, graph.mask(range(5)), "save('x.pb')")
