"""Search: find ops by name, pattern, type, dtype, shape, device or attribute in graphs of any size."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import repeat
from operator import contains
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ..errors import SelectionError
from .graph import Graph, Ints, Mask, TensorInfo, shape_text
from .layers import NO_LAYERS, Layers, ops_of_layers
from .stablehlo import MODULE_OP, op_names

KEYS = ("attr", "device", "dtype", "is", "layer", "layer-type", "op", "shape", "type")
"""The keys of a query: ``key:value``."""

AttributeText = Callable[[Any], str]


class SearchIndex:
    """The indexes of a graph for searches. Each is made when it is first needed, and cached.

    Args:
        graph: the snapshot.
    """

    def __init__(self, graph: Graph) -> None:
        self.names, self.nodes, self.size, self.number = graph.names, graph.nodes, graph.size, graph.index
        self.kinds = graph.type_index
        self._with_module = np.flatnonzero(graph.type_mask((MODULE_OP,))).tolist()
        self._by_value: dict[tuple[str, AttributeText], dict[str, list[int]]] = {}
        self._outputs, self._stated, self.unknown = graph.outputs, graph.declared_outputs, graph.unknown_ops

    @cached_property
    def lowercase_names(self) -> list[str]:
        """The names in lower case."""
        return [name.lower() for name in self.names]

    @cached_property
    def leaves(self) -> tuple[list[str], Ints]:
        """The last parts of the names in lower case, without duplicates; and for each op, the index of its part."""
        numbers: dict[str, int] = {}
        which = [numbers.setdefault(name.rpartition("/")[2], len(numbers)) for name in self.lowercase_names]
        return list(numbers), np.array(which, np.int32)

    @cached_property
    def lengths(self) -> Ints:
        """The length of each name."""
        return np.fromiter(map(len, self.names), np.int32, self.size)

    @cached_property
    def dtypes(self) -> dict[str, list[int]]:
        """Dtype of an output -> the ops with such an output, according to the file."""
        return self._ops_by_output(self._stated, lambda info: info.dtype.removesuffix("_ref"))

    @cached_property
    def shapes(self) -> dict[str, list[int]]:
        """Shape of an output, in text form -> the ops with such an output, according to TensorFlow."""
        return self._ops_by_output(self._outputs, lambda info: shape_text(info.shape))

    def _ops_by_output(
        self, outputs: Callable[[int], Iterable[TensorInfo] | None], text: Callable[[TensorInfo], str]
    ) -> dict[str, list[int]]:
        by_text: dict[str, dict[int, None]] = {}
        for op in range(self.size):
            for info in outputs(op) or ():
                by_text.setdefault(text(info), {})[op] = None
        return {key: list(ops) for key, ops in by_text.items()}

    @cached_property
    def devices(self) -> dict[str, list[int]]:
        """Requested device -> the ops with this device."""
        by_device: dict[str, list[int]] = {}
        for op, node in enumerate(self.nodes):
            device = getattr(node, "device", "")
            if device:
                by_device.setdefault(device, []).append(op)
        return by_device

    def ops_by_value(self, key: str, text: AttributeText) -> dict[str, list[int]]:
        """Returns value of an attribute, as text in lower case -> the ops that have it; cached."""
        if (key, text) not in self._by_value:
            by_value = self._by_value[key, text] = {}
            for op, node in enumerate(self.nodes):
                attributes: Any = getattr(node, "attr", {})
                if key in attributes:
                    by_value.setdefault(text(attributes[key]).strip("\"'").lower(), []).append(op)
        return self._by_value[key, text]

    @cached_property
    def attributes(self) -> dict[str, set[str]]:
        """Name of an attribute in lower case -> the names with this lower-case form."""
        keys: dict[str, set[str]] = {}
        for node in self.nodes:
            for key in getattr(node, "attr", ()):
                keys.setdefault(key.lower(), set()).add(key)
        return keys

    def mask(self, ops: list[int]) -> Mask:
        """Returns a mask that is true at these ops."""
        out = np.zeros(self.size, np.bool_)
        out[ops] = True
        return out

    def matching(self, test: Callable[[str], object], names: list[str]) -> Mask:
        """Returns a mask of the ops whose name in `names` fits."""
        return np.fromiter((bool(test(name)) for name in names), np.bool_, self.size)

    @cached_property
    def modules(self) -> dict[int, str]:
        """The ops with a StableHLO module -> the op types in the module, in lower case."""
        return {op: " ".join(op_names(self.nodes[op].attr["module"].s)).lower() for op in self._with_module}

    def containing(self, text: str) -> Mask:
        """Returns a mask of the ops with a name or module that contains `text`, which is in lower case."""
        mask = np.fromiter(map(contains, self.lowercase_names, repeat(text)), np.bool_, self.size)
        mask[[op for op, inside in self.modules.items() if text in inside]] = True
        return mask


_indexes: WeakKeyDictionary[Graph, SearchIndex] = WeakKeyDictionary()


def index_of(graph: Graph) -> SearchIndex:
    """Returns the index of a graph; it is cached as long as the graph exists."""
    index = _indexes.get(graph)
    if index is None:
        index = _indexes[graph] = SearchIndex(graph)
    return index


def search(graph: Graph, query: str, attribute: AttributeText = str, layers: Layers = NO_LAYERS) -> list[str]:
    """Returns names of ops that fit all words of a query, best first; for patterns, in graph order.

    Args:
        graph: the snapshot.
        query: words. A word ``key:value`` selects ops by one property, and the value may contain ``*``:

            - ``op:Conv2D``: the op type,
            - ``dtype:float32`` and ``shape:?x224x224x3``: an output (``?`` is an unknown dimension, ``*`` any
              dimension, ``...`` any number of dimensions),
            - ``device:gpu``: a part of the device,
            - ``attr:padding`` or ``attr:padding=SAME``: an attribute,
            - ``layer:block_6*``: the ops of the Keras layers with this name or path,
            - ``layer-type:Dense``: the ops of the Keras layers of this class,
            - ``is:unknown``: op types that are unknown to TensorFlow in this process.

            A word ``/regular expression/`` and patterns with ``*`` are compared with names. Other words are searched
            inside names, and inside the op types of StableHLO modules; case is ignored. A ``-`` before a word negates
            it.
        attribute: formats the value of an attribute.
        layers: the layers of the graph.

    Raises:
        SelectionError: if a regular expression does not compile, a ``key:`` or ``is:`` does not exist, or a word
            selects by layer in a graph without layers.

    Example:
        >>> g = Graph.from_ops([("net/conv1", "Conv2D", []), ("net/relu", "Relu", ["net/conv1"])])
        >>> search(g, "conv"), search(g, "op:Relu"), search(g, "net/* -relu")
        (['net/conv1'], ['net/relu'], ['net/conv1'])
    """
    return [graph.names[i] for i in search_hits(graph, query, attribute, layers)]


def search_hits(
    graph: Graph,
    query: str,
    attribute: AttributeText = str,
    layers: Layers = NO_LAYERS,
    hidden: Mask | None = None,
) -> list[int]:
    """Returns the numbers of the ops that `search` finds, in its order.

    Args:
        graph: the snapshot.
        query: see `search`.
        attribute: formats the value of an attribute.
        layers: the layers of the graph.
        hidden: the ops that a picture does not show; they come after other ops that fit equally well.

    Raises:
        SelectionError: as for `search`.
    """
    if not isinstance(query, str):
        raise SelectionError(f"find({query!r})", f"{query!r} is not text", "Give words, such as 'conv op:Conv2D'")
    words = query.split()
    if not words or not graph.size:
        return []
    index, fits = index_of(graph), np.ones(graph.size, np.bool_)
    for word in words:
        no = word[0] == "-" and len(word) > 1
        mask = _word_mask(index, word[1:] if no else word, query, attribute, layers)
        fits &= ~mask if no else mask
    ops = np.flatnonzero(fits)
    keys: list[Any] = [] if hidden is None else [hidden[ops]]
    last = words[-1].lower()
    if not any(c in last for c in "*?:") and last[0] not in "/-":
        leaves, leaf_of = index.leaves
        ranks = np.array([0 if leaf == last else 1 if leaf.startswith(last) else 2 for leaf in leaves], np.int32)
        rank = ranks[leaf_of[ops]]
        if "/" in last:
            rank[[i for i, op in enumerate(ops.tolist()) if index.lowercase_names[op] == last]] = 0
        keys = [index.lengths[ops], *keys, rank]
    ordered: list[int] = (ops[np.lexsort(keys)] if keys else ops).tolist()
    return ordered


def _word_mask(index: SearchIndex, word: str, query: str, attribute: AttributeText, layers: Layers) -> Mask:
    """Returns a mask of the ops that fit one word."""
    (key, colon, value), request = word.partition(":"), f"find({query!r})"
    if len(word) > 2 and word[0] == word[-1] == "/":
        try:
            return index.matching(re.compile(word[1:-1]).search, list(index.names))
        except re.error as error:
            problem = f"{word!r} is not a regular expression: {error}"
            raise SelectionError(request, problem, "Escape special characters with \\") from None
    low = key.lower() if colon and value else ""
    if low in ("layer", "layer-type"):
        if not layers:
            raise layers.no_layers_error(request)
        matches = layers.matching(value) if low == "layer" else layers.of_class(value)
        return index.mask([index.number[op] for op in ops_of_layers(matches) if op in index.number])
    if low == "is":
        if value.lower() != "unknown":
            how = "Type is:unknown for ops that TensorFlow does not know here"
            raise SelectionError(request, f"no op is {value!r}", how)
        return index.unknown
    if low in KEYS:
        return _keyword_mask(index, low, value, attribute)
    if low.isalpha() and not value.isdigit() and not index.containing(word.lower()).any():
        problem = f"there is no key {key + ':'!r}"
        raise SelectionError(request, problem, "The keys are " + ", ".join(f"{prefix}:" for prefix in KEYS))
    if any(c in word for c in "*?"):
        return index.matching(re.compile(fnmatch.translate(word.lower())).match, index.lowercase_names)
    return index.containing(word.lower() if colon and not value.isdigit() else key.lower())


def _keyword_mask(index: SearchIndex, key: str, value: str, attribute: AttributeText) -> Mask:
    """Returns a mask of the ops that fit ``key:value``."""
    low = value.lower()
    if key in ("op", "type"):
        kinds, _, kind_of = index.kinds
        hit: Mask = np.array([fnmatch.fnmatchcase(kind.lower(), low) for kind in kinds], np.bool_)[kind_of]
        return hit
    if key == "device":
        return _of(index, index.devices, lambda device: fnmatch.fnmatchcase(device.lower(), f"*{low}*"))
    if key == "dtype":
        fits = re.compile(fnmatch.translate(low)).match
        return _of(index, index.dtypes, fits)
    if key == "shape":
        return _of(index, index.shapes, lambda text: shape_fits(value, text))
    name, equals, pattern = low.partition("=")
    match = re.compile(fnmatch.translate(pattern.strip("\"'") if equals else "*")).match
    fits_all = np.zeros(index.size, np.bool_)
    for own in index.attributes.get(name, ()):
        fits_all |= _of(index, index.ops_by_value(own, attribute if equals else _any_value), match)
    return fits_all


def _any_value(value: Any) -> str:
    return ""


def _of(index: SearchIndex, table: dict[str, list[int]], test: Callable[[str], object]) -> Mask:
    return index.mask([op for text, ops in table.items() if test(text) for op in ops])


def shape_fits(query: str, shape: str) -> bool:
    """Returns whether a shape fits a query.

    Args:
        query: dimensions, separated by ``x`` or a comma: ``?`` for an unknown dimension, ``*`` for any dimension,
            ``...`` for any number of dimensions.
        shape: the shape as text, such as ``(?, 224, 224, 3)``; any other text is an unknown shape, which never fits.

    Example:
        >>> [shape_fits(s, "(?, 8, 3)") for s in ("?x8x3", "*,*,3", "...,3", "?x8", "8x8x3")]
        [True, True, True, False, False]
    """
    if not shape.startswith("("):
        return False
    dims = [d.strip() for d in shape.strip("()").split(",") if d.strip()]
    sizes = [d.strip() for d in re.split(r"[x,]", query.strip("()[]").lower()) if d.strip()]
    if "..." in sizes:
        at = sizes.index("...")
        before, after = sizes[:at], sizes[at + 1 :]
        if len(dims) < len(before) + len(after):
            return False
        dims, sizes = dims[: len(before)] + dims[len(dims) - len(after) :], before + after
    return len(dims) == len(sizes) and all(w in ("*", d) for w, d in zip(sizes, dims, strict=True))
