"""Ops that reach out of the graph (files, network, Python, other code), and which graphs are trusted to run.

A file with ops that reach out of a graph has a `GraphOrigin`. A live graph has a list of its origins, which is passed
on to graphs that are made from it. Before a graph runs, its origins must be trusted.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from ..errors import counted, few
from .functions import CONDITIONALS, argument_sources, called_function, callees_of
from .graph import Graph
from .lazy_graph import DeferredGraph, materialized_graph
from .names import op_name
from .stablehlo import library_calls
from .traversal import backward, reachable_from
from .types import TFGraph, TFNodeDef
from .variables import INPUT_TYPES

#: The kinds of risks, the worst first.
KINDS = ("writes files", "opens the network", "calls Python", "runs other code", "ends the process", "reads files")
WRITES, NETWORK, PYTHON, CODE, ENDS, READS = KINDS


class RiskyOp(NamedTuple):
    """The effect of an op type outside of the graph.

    Args:
        kind: one of `KINDS`.
        reason: the effect, as text.
        path: the place of the path, address or token: the number of an input, or the name of an attribute; None if
            there is none.
        harmless_paths: the paths for which the op has no effect; an item that ends in ``://`` covers all paths that
            begin with it.
        required_prefix: the op has an effect only if the path begins with this text.
        calls: if the attribute `path` is a program, the function that lists the library functions it calls; None if
            the program cannot be read.
    """

    kind: str
    reason: str
    path: int | str | None = None
    harmless_paths: tuple[str, ...] = ()
    required_prefix: str = ""
    calls: Callable[[bytes], tuple[str, ...] | None] | None = None

    def is_harmless_for(self, path: str) -> bool:
        """Returns whether the op has no effect for a path.

        Example:
            >>> RISKY["EncodeProto"].is_harmless_for("bytes://..."), RISKY["EncodeProto"].is_harmless_for("/etc/passwd")
            (True, False)
        """
        return path in self.harmless_paths or path.startswith(
            tuple(one for one in self.harmless_paths if one.endswith("://"))
        )


def _of(kind: str, reason: str, path: int | str | None, *types: str, **more: object) -> dict[str, RiskyOp]:
    return {name: RiskyOp(kind, reason, path, **more) for name in types}  # type: ignore[arg-type]


#: Op type -> its effect. A test compares this with TensorFlow's own list of op types.
RISKY: dict[str, RiskyOp] = {
    # files
    **_of(WRITES, "writes its text to a file", 0, "WriteFile"),
    **_of(WRITES, "writes tensors to a checkpoint", 0, "Save", "SaveSlices", "SaveV2"),
    **_of(WRITES, "moves the files of checkpoints, and deletes their folders", 1, "MergeV2Checkpoints"),
    **_of(WRITES, "appends its text to a file", "output_stream", "PrintV2", required_prefix="file://"),
    **_of(WRITES, "writes the elements of a dataset", 1, "SaveDataset", "SaveDatasetV2"),
    **_of(
        WRITES, "writes the elements of a dataset to records", 1, "DatasetToTFRecord",
        "ExperimentalDatasetToTFRecord",
    ),
    **_of(
        WRITES, "keeps the elements of a dataset in files", 1, "CacheDataset", "CacheDatasetV2", harmless_paths=("",),
    ),
    **_of(WRITES, "keeps the elements of a dataset in files", 1, "SnapshotDataset", "SnapshotDatasetV2"),
    **_of(WRITES, "opens a log of events", 1, "CreateSummaryFileWriter"),
    **_of(WRITES, "opens a database for events", 1, "CreateSummaryDbWriter"),
    **_of(WRITES, "writes a tensor to a file", "log_dir_path", "DumpTensor"),
    **_of(WRITES, "writes the engines of TensorRT to a file", 1, "SerializeTRTResource"),
    **_of(WRITES, "writes statistics to a file", "output_file_path", "CalibrationStatisticsSaver"),
    **_of(
        WRITES, "sends a tensor to each of its URLs, which are files or hosts", "debug_urls",
        "DebugIdentity", "DebugIdentityV2", "DebugIdentityV3", "DebugNanCount", "DebugNumericSummary",
        harmless_paths=("",),
    ),
    **_of(READS, "reads a whole file", 0, "ReadFile"),
    **_of(
        READS, "lists the files that a pattern fits", 0, "MatchingFiles", "MatchingFilesDataset",
        "ExperimentalMatchingFilesDataset",
    ),
    **_of(
        READS, "reads the files that a queue names", None, "FixedLengthRecordReader", "FixedLengthRecordReaderV2",
        "LMDBReader", "TFRecordReader", "TFRecordReaderV2", "TextLineReader", "TextLineReaderV2", "WholeFileReader",
        "WholeFileReaderV2",
    ),
    **_of(
        READS, "reads the lines or records of files", 0, "CSVDataset", "CSVDatasetV2", "ExperimentalCSVDataset",
        "ExperimentalLMDBDataset", "FixedLengthRecordDataset", "FixedLengthRecordDatasetV2", "LMDBDataset",
        "TFRecordDataset", "TFRecordDatasetV2", "TextLineDataset",
    ),
    **_of(READS, "reads records of files", "file_pattern", "RecordInput"),
    **_of(
        READS, "opens a database and runs its SQL there, which may write", 1, "ExperimentalSqlDataset", "SqlDataset",
    ),
    **_of(
        READS, "reads a dataset that was saved", 0, "ListSnapshotChunksDataset", "LoadDataset",
        "SnapshotChunkDataset", "SnapshotDatasetReader",
    ),
    **_of(
        READS, "reads tensors of a checkpoint", 0, "DTensorRestoreV2", "LoadAndRemapMatrix", "Restore",
        "RestoreSlice", "RestoreV2",
    ),
    **_of(READS, "reads a vocabulary", 0, "GenerateVocabRemapping"),
    **_of(READS, "fills a table from a file", 1, "InitializeTableFromTextFile", "InitializeTableFromTextFileV2"),
    **_of(READS, "reads a vocabulary", "vocab_file", "FixedUnigramCandidateSampler", harmless_paths=("",)),
    **_of(READS, "reads a corpus", "filename", "Skipgram"),
    **_of(READS, "reads the engines of TensorRT from a file", 1, "InitializeTRTResource"),
    **_of(
        READS, "reads the description of messages from a file", "descriptor_source", "DecodeProtoV2", "EncodeProto",
        harmless_paths=("", "bytes://", "local://"),
    ),
    # network
    **_of(
        NETWORK, "gets the elements of a dataset from a host", 2, "DataServiceDataset", "DataServiceDatasetV2",
        "DataServiceDatasetV3", "DataServiceDatasetV4",
    ),
    **_of(NETWORK, "registers a dataset at a host", 1, "RegisterDataset", "RegisterDatasetV2"),
    **_of(NETWORK, "makes a host write a dataset", 2, "DistributedSave"),
    **_of(NETWORK, "opens a port that other hosts can call", 0, "RpcServer"),
    **_of(NETWORK, "calls functions of another host", 0, "RpcClient"),
    **_of(NETWORK, "sets how a file system, for example in a cloud, is accessed", 0, "FileSystemSetConfiguration"),
    # code
    **_of(
        PYTHON, "calls a Python function of this process by its number", "token", "EagerPyFunc", "PyFunc",
        "PyFuncStateless",
    ),
    **_of(CODE, "calls a function of a library by its name", "target_name", "XlaCustomCall"),
    **_of(CODE, "calls a function of a library by its name", "call_target_name", "XlaCustomCallV2"),
    **_of(
        CODE, "calls functions of a library by their names in its module", "module", "XlaCallModule",
        harmless_paths=("",), calls=library_calls,
    ),
    **_of(
        CODE, "runs a program in an attribute, which cannot be read", None, "MlirPassthroughOp", "_TPUCompileMlir",
        "_XlaHostComputeMlir",
    ),
    **_of(CODE, "runs a graph that is hidden in a string", None, "DatasetFromGraph"),
    **_of(CODE, "runs compiled code of TensorRT that is written in a string", None, "TRTEngineOp"),
    **_of(ENDS, "ends the process", None, "Abort"),
    **_of(ENDS, "can end a worker", None, "WorkerHeartbeat"),
}  # fmt: skip

#: Ops of savers. The caller gives the file name. The default is the name in SAVERS_OWN, which TensorFlow writes itself.
SAVERS = frozenset({"MergeV2Checkpoints", "Restore", "RestoreSlice", "RestoreV2", "Save", "SaveSlices", "SaveV2"})
SAVER_TYPES = ("model",)


#: Ops that pass on the value of one of their inputs -> the inputs in question; ``slice(None)`` for all inputs.
_IDENTITY_TYPES: dict[str, slice] = {
    "Concat": slice(1, None), "ConcatV2": slice(None, -1), "ExpandDims": slice(1), "Identity": slice(None),
    "IdentityN": slice(None), "Merge": slice(None), "Pack": slice(None), "RefIdentity": slice(1),
    "Reshape": slice(1), "Select": slice(1, None), "SelectV2": slice(1, None), "Snapshot": slice(1),
    "Squeeze": slice(1), "StopGradient": slice(1), "Switch": slice(1), "PlaceholderWithDefault": slice(1),
}  # fmt: skip
#: Ops with a result that begins with one of their inputs -> the index of this input.
_JOIN_TYPES = {"StringJoin": 0, "ShardedFilename": 0, "ShardedFilespec": 0}
#: The text that TensorFlow's savers add to the path of a checkpoint.
_SUFFIX = re.compile(r"[\w.]*(_temp(_[0-9a-f]+)?)?(/part)?")
#: Longer paths are shortened in messages.
_MAX_TEXT = 80
_RESTORE = "restore op"
_TABLES = "table_initializer"


@dataclass(frozen=True)
class Risk:
    """An op that reaches outside of the graph when it runs.

    Args:
        op: its name; ``call/inner`` for an op in a function.
        type: its op type.
        kind: ``writes files``, ``reads files``, ``opens the network``, ``calls Python``, ``runs other code`` or
            ``ends the process``.
        reason: its effect, as text.
        path: the file, address or token, if the graph contains it.
        load: the reason why it runs when the graph is loaded, such as ``init op 'init'``; empty if it does not.
        harmless: why it may run without your permission; empty if it may not.

    Example:
        >>> print(Risk("w", "WriteFile", "writes files", "writes its text to a file", "/etc/motd", "init op 'init'"))
        'w' (WriteFile) writes its text to a file: '/etc/motd'; runs at load, by init op 'init'
    """

    op: str
    type: str
    kind: str
    reason: str
    path: str = ""
    load: str = ""
    harmless: str = ""

    def __str__(self) -> str:
        path = self.path if len(self.path) <= _MAX_TEXT else f"{self.path[:_MAX_TEXT]}…"
        parts = [f"{self.op!r} ({self.type}) {self.reason}{f': {path!r}' if path else ''}"]
        parts += [f"runs at load, by {self.load}"] if self.load else []
        return "; ".join([*parts, *([self.harmless] if self.harmless else [])])


@dataclass(frozen=True)
class Risks:
    """The risks of a graph, the worst kind first. `print` shows one line for each risk.

    Args:
        title: the title of the graph.
        items: the ops that the user must allow before the graph runs.
        harmless: ops of the same kinds that do only what the user requests. Examples are savers, because the user names
            the file, and tables that are filled from the assets of a SavedModel.
        unknown: op types that need a library which is not loaded in this process.

    Example:
        >>> found = Risks("graph", (Risk("w", "WriteFile", "writes files", "writes its text to a file", "/tmp/x"),))
        >>> print(found)
        graph: 1 op reaches out of it
          writes files  'w' (WriteFile) writes its text to a file: '/tmp/x'
        >>> len(found), [risk.op for risk in found], found.summary
        (1, ['w'], "1 op that writes files, 'w' (WriteFile)")
    """

    title: str = "graph"
    items: tuple[Risk, ...] = ()
    harmless: tuple[Risk, ...] = ()
    unknown: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Risk]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def summary(self) -> str:
        """The risks in one line; empty if there are none."""
        if not self.items:
            return ""
        kinds = Counter(risk.kind for risk in self.items)
        doing = [k if len(self.items) == 1 else _effects_text(k) for k in KINDS if kinds[k]]
        names = few([f"{risk.op!r} ({risk.type})" for risk in self.items])
        return f"{counted(len(self.items), 'ops')} that {' or '.join(doing)}, {names}"

    def table(self) -> list[dict[str, Any]]:
        """Returns one row for each op, including harmless ops: op, type, kind, reason, path, load, harmless."""
        return [dict(vars(risk)) for risk in (*self.items, *self.harmless)]

    def __str__(self) -> str:
        one = len(self.items) == 1
        summary = (
            f"{counted(len(self.items), 'ops')} {'reaches' if one else 'reach'} out of it" if self.items else "clean"
        )
        lines = [f"{self.title}: {summary}"]
        wide = max((len(risk.kind) for risk in (*self.items, *self.harmless)), default=0)
        lines += [f"  {risk.kind:<{wide}}  {risk}" for risk in self.items]
        if self.harmless:
            do = "does only what you request" if len(self.harmless) == 1 else "do only what you request"
            lines.append(f"  {counted(len(self.harmless), 'ops')} more that {do}:")
            lines += [f"  {risk.kind:<{wide}}  {risk}" for risk in self.harmless]
        if self.unknown:
            lines.append(f"  needs a library that is not loaded here, which may do anything: {few(self.unknown, 6)}")
        return "\n".join(lines)

    __repr__ = __str__


def _effects_text(kind: str) -> str:
    """Returns a kind in the plural, such as ``write files``."""
    verb, _, rest = kind.partition(" ")
    return f"{verb.removesuffix('s')} {rest}"


def risks(
    graph: Graph, load: Mapping[str, str] | None = None, assets: Collection[str] = (), all_functions: bool = False
) -> Risks:
    """Returns the ops that reach outside of a graph, in the graph and in the functions that it calls.

    Args:
        graph: the snapshot.
        load: op -> why it runs when the graph is loaded; initializers of variables and tables need not be given.
        assets: the paths of files that belong to the graph.
        all_functions: whether to search functions without a call too.

    Example:
        >>> print(risks(Graph.from_ops([("p", "Placeholder", []), ("r", "ReadFile", ["p"]), ("e", "Abort", [])])))
        graph: 1 op reaches out of it
          ends the process  'e' (Abort) ends the process
          1 op more that does only what you request:
          reads files       'r' (ReadFile) reads a whole file; you give the path when you run it
    """
    reader = _RiskFinder(graph, all_functions)
    risky = list(reader.risky())
    if not risky:
        return Risks(graph.title, unknown=tuple(sorted(graph.unknown_types)))
    loaded = _load_reasons(graph, load or {}, risky)
    there = (_risk(reader, one, loaded, assets) for one in risky)
    items = sorted((risk for risk in there if risk is not None), key=lambda risk: KINDS.index(risk.kind))
    return Risks(
        graph.title,
        tuple(one for one in items if not one.harmless),
        tuple(one for one in items if one.harmless),
        tuple(sorted(graph.unknown_types)),
    )


class _RiskyNode(NamedTuple):
    """An op of a risky type.

    Args:
        function: the function that contains it; empty for an op of the graph.
        name: its name.
        outer: the op itself, or the ops of the graph that lead to its function.
        node: its NodeDef.
        risk: the effect of its type.
    """

    function: str
    name: str
    outer: tuple[str, ...]
    node: TFNodeDef
    risk: RiskyOp


class _TextOrigin(NamedTuple):
    """The origin of a text.

    Args:
        texts: the possible texts, or beginnings of texts.
        added: the texts that the graph may append.
        fed: whether the text may come from a feed.
        unknown: whether the text may be anything else.
    """

    texts: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    fed: bool = False
    unknown: bool = False


def _risk(reader: _RiskFinder, one: _RiskyNode, loaded: Mapping[str, str], assets: Collection[str]) -> Risk | None:
    """Returns the risk of an op; None if it has no effect outside of the graph."""
    rule, load = one.risk, next((loaded[op] for op in one.outer if op in loaded), "")
    origin = reader.path(one)
    texts = sorted(origin.texts)
    if texts and not origin.fed and not origin.unknown:
        if rule.harmless_paths and all(map(rule.is_harmless_for, texts)):
            return None
        if rule.required_prefix and not any(text.strip().lower().startswith(rule.required_prefix) for text in texts):
            return None
    kind = rule.kind
    if kind == WRITES and texts and all("://" in text and not text.startswith("file:") for text in texts):
        kind = NETWORK
    why = "" if load and not load.startswith(_RESTORE) else _harmless(one.node.op, origin)
    if not why and texts and not origin.fed and not origin.unknown and all(text in assets for text in texts):
        why = "a file of the model" if kind not in (WRITES, CODE) else ""
    reason = "runs a module that cannot be read" if rule.calls and origin.unknown else rule.reason
    return Risk(one.name, one.node.op, kind, reason, ", ".join(texts), load, why)


def _harmless(kind: str, origin: _TextOrigin) -> str:
    """Returns why an op does only what its user requests; empty if that is not known."""
    if origin.unknown or not all(_SUFFIX.fullmatch(text) for text in origin.added):
        return ""
    if kind in SAVERS and origin.texts.issubset(SAVER_TYPES) and (origin.fed or origin.texts):
        return "you give the path when you save or restore"
    return "you give the path when you run it" if origin.fed and not origin.texts else ""


def _load_reasons(graph: Graph, load: Mapping[str, str], risky: list[_RiskyNode]) -> dict[str, str]:
    """Returns op of the graph that leads to a risky op -> why it runs at load."""
    state, ways = graph.state, dict[str, list[str]]()
    for op, why in load.items():
        ways.setdefault(f"{why} {op!r}", []).append(op)
    tables = [op_name(entry.name) for entry in state.collections.get(_TABLES, ())]
    tables += [op for ops in state.init_ops.values() for op in ops]
    ways["an initializer of a table"] = tables
    ways["an initializer of a variable"] = [op_name(info.initializer) for info in state.variables.values()]
    numbers = {graph.index[op] for one in risky for op in one.outer}
    out: dict[str, str] = {}
    for why, ops in ways.items():
        start = [graph.index[op] for op in ops if op in graph.index]
        run = backward(graph, graph.mask(start))
        out |= {graph.names[i]: why for i in numbers if run[i] and graph.names[i] not in out}
    return out


class _RiskFinder:
    """Finds the risky ops of a graph and of the functions that it calls, and the origins of their texts.

    Args:
        graph: the snapshot.
        all_functions: whether to include functions without a call.
    """

    def __init__(self, graph: Graph, all_functions: bool) -> None:
        self._graph, self._functions = graph, graph.functions
        self._callers: dict[str, list[tuple[str, Any]]] = {}
        self._nodes_by_name: dict[str, dict[str, Any]] = {}
        self._scopes: dict[str, str] = {}  # function -> the scope of its ops
        self._reach(all_functions)

    def risky(self) -> Iterator[_RiskyNode]:
        """Yields each op of a risky type."""
        for i in self._graph.type_mask(RISKY).nonzero()[0].tolist():
            name, node = self._graph.names[i], self._graph.nodes[i]
            yield _RiskyNode("", name, (name,), node, RISKY[self._graph.types[i]])
        for function, scope in self._scopes.items():
            nodes = [node for node in self._functions[function].node_def if node.op in RISKY]
            outer = self._outer(function) if nodes else ()
            for node in nodes:
                yield _RiskyNode(function, f"{scope}/{node.name}", outer, node, RISKY[node.op])

    def _outer(self, function: str) -> tuple[str, ...]:
        """Returns the ops of the graph that lead to a function."""
        callers = reachable_from([function], lambda one: (place for place, _ in self._callers.get(one, ()) if place))
        return tuple(
            dict.fromkeys(node.name for one in callers for place, node in self._callers.get(one, ()) if not place)
        )

    def path(self, one: _RiskyNode) -> _TextOrigin:
        """Returns the origin of the path, address or token of an op."""
        place = one.risk.path
        if place is None:
            return _TextOrigin(unknown=True)
        if isinstance(place, str):
            attributes = getattr(one.node, "attr", {})
            if place not in attributes:
                return _TextOrigin(frozenset({""}))  # by default, there is no path
            value = attributes[place]
            if one.risk.calls is not None:
                called = one.risk.calls(value.s)
                return _TextOrigin(unknown=True) if called is None else _TextOrigin(frozenset(called or {""}))
            texts = value.list.s if value.WhichOneof("value") == "list" else [value.s]
            return _TextOrigin(frozenset(text.decode("utf-8", "replace") for text in texts) or frozenset({""}))
        inputs = [text for text in one.node.input if text[:1] != "^"]
        if place >= len(inputs):
            return _TextOrigin(unknown=True)
        return self._origin(one.function, inputs[place])

    def _reach(self, all_functions: bool) -> None:
        """Finds the functions that the graph leads to, with a scope by their first call, and all calls of each."""
        todo: list[str] = []

        def call(place: str, scope: str, node: TFNodeDef) -> None:
            for called in callees_of(node, self._functions):
                if called.function not in self._functions:
                    continue
                self._callers.setdefault(called.function, []).append((place, node))
                if called.function not in self._scopes:
                    self._scopes[called.function] = "/".join(filter(None, (scope, node.name, called.name_infix)))
                    todo.append(called.function)

        for node in self._graph.nodes if self._functions else ():
            call("", "", node)
        rest = iter(self._functions if all_functions else ())
        while todo or (function := next((name for name in rest if name not in self._scopes), "")):
            if not todo:
                self._scopes[function] = function
                todo.append(function)
            function = todo.pop()
            for node in self._functions[function].node_def:
                call(function, self._scopes[function], node)

    def _nodes_of(self, function: str) -> dict[str, Any]:
        if function not in self._nodes_by_name:
            self._nodes_by_name[function] = {node.name: node for node in self._functions[function].node_def}
        return self._nodes_by_name[function]

    def _node(self, place: str, name: str) -> Any:
        if place:
            return self._nodes_of(place).get(name)
        return self._graph.nodes[self._graph.index[name]] if name in self._graph.index else None

    def _origin(self, place: str, text: str) -> _TextOrigin:
        """Returns the origin of a text, also through calls."""
        texts, more_texts = set[str](), set[str]()
        is_input = unknown = False
        todo, visited = [(place, text, True)], set[tuple[str, str, bool]]()
        while todo:
            here = place, text, first = todo.pop()
            if here in visited:
                continue
            visited.add(here)
            name = text.partition(":")[0]
            node = self._node(place, name)
            if node is None:
                onward = self._argument_values(place, name) if place else None
                if onward is None:
                    unknown = True
                else:
                    is_input |= not onward and first
                    unknown |= not onward and not first
                    todo += [(where, given_text, first) for where, given_text in onward]
                continue
            inputs = [one for one in node.input if one[:1] != "^"]
            if node.op in INPUT_TYPES and not place:
                is_input |= first
                unknown |= not first
            if node.op == "Const":
                strings = _strings(node)
                (texts if first else more_texts).update(strings)
                unknown |= not strings
            elif node.op in _IDENTITY_TYPES and inputs:
                todo += [(place, one, first) for one in inputs[_IDENTITY_TYPES[node.op]]]
            elif node.op in _JOIN_TYPES and inputs:
                at = _JOIN_TYPES[node.op]
                todo += [(place, one, first and i == at) for i, one in enumerate(inputs)
                         if node.op == "StringJoin" or i == at]  # fmt: skip
            elif node.op not in INPUT_TYPES or place:
                unknown = True
        return _TextOrigin(frozenset(texts), frozenset(more_texts), is_input, unknown)

    def _argument_values(self, function: str, argument: str) -> list[tuple[str, str]] | None:
        """Returns the values that calls pass to an argument; empty without calls; None if they are not known."""
        arguments = [one.name for one in self._functions[function].signature.input_arg]
        if argument not in arguments:
            return None
        sources: list[tuple[str, str]] = []
        for place, node in self._callers.get(function, ()):
            inputs = [one for one in node.input if one[:1] != "^"]
            plain = called_function(node, self._functions) or node.op in CONDITIONALS
            one = argument_sources(node, inputs, len(arguments))[arguments.index(argument)] if plain else None
            if one is None:
                return None
            sources.append((place, one))
        return sources


def _strings(node: TFNodeDef) -> list[str]:
    """Returns the texts of a constant; empty if it is not written as TensorFlow writes constants."""
    attributes = getattr(node, "attr", {})
    values = attributes["value"].tensor.string_val if "value" in attributes else ()
    return [text.decode("utf-8", "replace") for text in values]


_MARK = "graphsurgeon_origins"
_numbers = itertools.count()
_trusted: set[bytes] = set()


class GraphOrigin:
    """A file, or a proto, with ops that reach outside of its graph.

    Args:
        graph: the graph, as written in the file.

    Attributes:
        title: its title.
        key: a digest of its bytes, which identifies it.
        load: op -> why it runs when the graph is loaded.
        assets: the paths of files that belong to it.
    """

    def __init__(self, graph: Graph) -> None:
        self._read, self.title, self.key = graph, graph.title, b"%d" % next(_numbers)
        self.load: Mapping[str, str] = {}
        self.assets: Collection[str] = ()

    @cached_property
    def risks(self) -> Risks:
        """The risks that need the user's permission before the file runs, as they are in the file."""
        result = risks(self._read, self.load, self.assets)
        del self._read  # it may be large
        return result

    @property
    def trusted(self) -> bool:
        """Whether the user has allowed exactly these bytes to run in this process."""
        return self.key in _trusted

    def trust(self) -> None:
        """Allows it to run until this process ends."""
        _trusted.add(self.key)

    def risks_in(self, graph: Graph) -> Risks:
        """Returns the risks that remain in a graph with parts of this file, without op types that the file lacks."""
        result, own = risks(graph, self.load, self.assets), {one.type for one in (*self.risks, *self.risks.harmless)}
        return replace(result, items=tuple(one for one in result if one.type in own))


def may_reach_out(graph: Graph, ops: Iterable[int] | None = None) -> bool:
    """Returns whether a graph, or one of its functions, has an op of a type that can reach outside of it.

    Args:
        graph: the snapshot.
        ops: consider only these ops; an op that calls a function counts as a call of all functions.

    Example:
        >>> may_reach_out(Graph.from_ops([("a", "NoOp", [])])), may_reach_out(Graph.from_ops([("w", "WriteFile", [])]))
        (False, True)
    """
    numbers = None if ops is None else list(ops)
    if not RISKY.keys().isdisjoint(graph.types if numbers is None else [graph.types[i] for i in numbers]):
        return True
    if not any(node.op in RISKY for function in graph.functions.values() for node in function.node_def):
        return False
    return numbers is None or any(callees_of(graph.nodes[i], graph.functions) for i in numbers)


def origins(graph: TFGraph | DeferredGraph) -> tuple[GraphOrigin, ...]:
    """Returns the origins of a live graph, including trusted ones."""
    result: tuple[GraphOrigin, ...] = getattr(materialized_graph(graph), _MARK, ())
    return result


def add_origins(graph: TFGraph | DeferredGraph, new_origins: Iterable[GraphOrigin]) -> None:
    """Adds these origins to those of a live graph."""
    setattr(materialized_graph(graph), _MARK, tuple(dict.fromkeys([*origins(graph), *new_origins])))


def clear_origins(graph: TFGraph) -> None:
    """Removes the origins of a live graph."""
    setattr(materialized_graph(graph), _MARK, ())


def inherit_origins(graph: TFGraph, *sources: Any) -> None:
    """Adds the origins of other graphs to a live graph that has ops from them."""
    if any(map(origins, sources)):
        add_origins(graph, [one for source in sources for one in origins(source)])
