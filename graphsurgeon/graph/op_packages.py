"""Finds the library that defines an op type by the name of the type; messages for unknown op types."""

from __future__ import annotations

import re
from collections.abc import Collection

import numpy as np

from ..errors import PlanError, counted, few
from .graph import Graph, Mask
from .lazy_graph import lazy_graph_of

#: Package -> pattern of the names of its op types; only names that no other library uses.
_PACKAGES = {
    package: re.compile(pattern)
    for package, pattern in (
        (
            "tensorflow_text",
            r"TFText|Wordpiece(Tokenize|Detokenize)|FastWordpiece|Sentencepiece|FastSentencepiece|CaseFoldUTF8|"
            r"NormalizeUTF8|UnicodeScriptTokenize|WhitespaceTokenize|RegexSplitWithOffsets|SplitMergeTokenize|"
            r"FastBertNormalize|SentenceFragments|ConstrainedSequence|RougeL|TokenizerFromLogits",
        ),
        ("tensorflow_addons", "Addons>"),
        ("tensorflow_io", "IO>"),
        ("tensorflow_decision_forests", "SimpleML"),
        ("tensorflow_quantum", "Tfq[A-Z]"),
        ("horovod", "Horovod"),
        ("nvidia-dali-tf-plugin", "Dali$|DALI|DaliDataset"),
        ("tensorflow-neuron", "NeuronOp"),
        ("a TensorFlow built with TensorRT", "TRTEngineOp|(Create|Initialize|Get|Serialize)TRT"),
        ("tf.contrib of TensorFlow 1", "TreeVariable|FertileStats|TreePredictionsV|DecisionTreeResource"),
    )
}

#: The suggestion for a result without ops of unknown types.
EXCLUSIONS = (
    "or leave them out: ed.save(path, inputs=..., outputs=...), ed.function(inputs, outputs), or "
    "gs.open(tf.Graph()).plan().copy(ed.select(inputs=..., outputs=...)), between tensors that need none of them"
)


def package_of(kind: str) -> str:
    """Returns the package that most likely defines an op type; empty if the name does not show it.

    Example:
        >>> package_of("SentencepieceTokenizeOp"), package_of("Addons>EmbeddingBag"), package_of("MyOp")
        ('tensorflow_text', 'tensorflow_addons', '')
    """
    return next((package for package, pattern in _PACKAGES.items() if pattern.match(kind)), "")


def packages_of(kinds: Collection[str]) -> list[str]:
    """Returns the packages that likely define op types, without duplicates."""
    return [package for package in dict.fromkeys(map(package_of, kinds)) if package]


def unknown_counts(graph: Graph, mask: Mask | None = None) -> dict[str, int]:
    """Returns the op types that are unknown to TensorFlow, the most frequent first, with their numbers of ops.

    Op types that are only in functions have the number zero, and come last.

    Args:
        graph: the snapshot.
        mask: the ops to count; default: all ops, including those in functions.

    Example:
        >>> unknown_counts(Graph.from_ops([("a", "MyOp", []),
        ... ("b", "Neg", ["a"])], unknown_types=frozenset({"MyOp", "Inner"})))
        {'MyOp': 1, 'Inner': 0}
    """
    kinds, _, number = graph.type_index
    counts = np.bincount(number if mask is None else number[mask], minlength=len(kinds))
    there = [k for k in np.argsort(-counts, kind="stable").tolist() if counts[k] and kinds[k] in graph.unknown_types]
    result = {kinds[k]: int(counts[k]) for k in there}
    return result | dict.fromkeys(sorted(graph.unknown_types.difference(result)), 0) if mask is None else result


def unknown_rows(graph: Graph) -> list[str]:
    """Returns a line for each unknown op type: its number of ops, and the package that likely defines it."""
    return [
        f"{kind}  {counted(n, 'ops') if n else 'in functions'}{f', likely of {of}' if (of := package_of(kind)) else ''}"
        for kind, n in unknown_counts(graph).items()
    ]


def unknown_words(graph: Graph, mask: Mask | None = None) -> str:
    """Returns the number of ops of unknown types, and the types, as text; empty if there are none.

    The arguments are those of `unknown_counts`.

    Example:
        >>> unknown_words(Graph.from_ops([("a", "Addons>Parse", [])], unknown_types=frozenset({"Addons>Parse"})))
        "1 op of a type that TensorFlow does not know here, 'Addons>Parse' (tensorflow_addons)"
    """
    missing = unknown_counts(graph, mask)
    calls = not any(missing.values()) and bool((graph.refused_ops if mask is None else graph.refused_ops & mask).any())
    missing = missing or (unknown_counts(graph) if calls else {})
    if not missing:
        return ""
    count = "calls of functions with ops" if calls else counted(sum(missing.values()), "ops")
    kinds = few([f"{kind!r}{f' ({of})' if (of := package_of(kind)) else ''}" for kind in missing])
    return f"{count} of {'types' if len(missing) > 1 else 'a type'} that TensorFlow does not know here, {kinds}"


def refusal_text(graph: Graph) -> str:
    """Returns why TensorFlow refuses a graph, and how it can still be used; empty if TensorFlow accepts the graph.

    The text contains only the reasons that are known so far; `LazyGraph.check_importable` finds out more.
    """
    waiting = lazy_graph_of(graph.owner)
    if waiting is None or waiting.refusal is None:
        return ""
    if waiting.is_view_only:
        return f"to look at only: {waiting.refusal.problem}"
    return f"{unknown_words(graph)}: parts that need none of them can be run and saved"


def refuse_unknown(graph: Graph, mask: Mask, request: str) -> None:
    """Refuses a request with a result that would contain ops of unknown types.

    Args:
        graph: the snapshot.
        mask: the ops of the result.
        request: the request, for messages.

    Raises:
        PlanError: if the result contains such an op, or calls a function with such an op.
    """
    refused = np.flatnonzero(graph.refused_ops & mask).tolist() if graph.unknown_types else []
    if not refused:
        return
    words = unknown_words(graph, mask)
    packages = packages_of(unknown_counts(graph, mask) or unknown_counts(graph))
    load = f"Import {few(packages)} and open the graph again" if packages else "Load the library that has them first"
    ops = few([repr(graph.names[i]) for i in refused])
    problem = f"the result would contain {words}: {ops} of {graph.title}"
    raise PlanError(request, problem, f"{load}, {EXCLUSIONS}")
