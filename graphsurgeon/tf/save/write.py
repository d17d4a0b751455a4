"""Writes checkpoints in batches and files atomically, and makes GraphDefs portable, without paths of this machine.

An initial value that is read from a checkpoint becomes a placeholder. The value itself is in the file, or comes from
the program that loads the file. A table that is filled from a vocabulary file is filled from constants instead.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

import numpy as np

from ...errors import PlanError
from ...graph import atomic_files
from ...graph.arrays import size_text
from ...graph.atomic_files import ensure_writable, flush, install_files, record_write, write_failure
from ...graph.functions import all_nodes, called_function, nodes_in_calls
from ...graph.names import free_name, op_name, tensor_name
from ...graph.security import SAVER_TYPES
from ...graph.traversal import reachable_from
from ...graph.types import TFGraph, TFGraphDef
from ..import_tensorflow import tf
from ..private.eager import eager
from ..run.errors import errors_as
from ..run.progress import Progress
from ..values.initialization import RESTORERS
from ..values.variables import variable_infos

_FROM_FILE = {"InitializeTableFromTextFile": "InitializeTable", "InitializeTableFromTextFileV2": "InitializeTableV2"}
#: The attributes of these ops that specify how the file is read.
_FILE_ATTRIBUTES = ("vocab_size", "key_index", "value_index", "delimiter", "offset")
#: TensorFlow uses the path of its vocabulary in the name of a table.
_TABLE_NAME = re.compile(rb"(hash_table_)(?:/|[A-Za-z]:|\\\\)[^\0]*[/\\]")


class Portable:
    """Makes the GraphDef of an exported graph portable, in place.

    Args:
        graph: the exported graph.
        graph_def: its GraphDef.
        assets: tensor that contains the path of a file -> the path.
        embed: whether the contents of these files are written into the GraphDef, because the format cannot contain
            files.

    Attributes:
        initial: variable -> the new name of its initial value, if this has changed.
        left: tensor -> path, for the files whose contents are not in the GraphDef.
    """

    def __init__(self, graph: TFGraph, graph_def: TFGraphDef, assets: Mapping[str, str], embed: bool) -> None:
        self.initial: dict[str, str] = {}
        self.left: dict[str, str] = {}
        self._graph_def: Any = graph_def
        self._nodes: dict[str, Any] = {node.name: node for node in graph_def.node}
        if any(node.op in RESTORERS for node in graph_def.node):
            self._drop_checkpoints(graph)
        self._drop_folders(assets, embed)
        _rename_tables(all_nodes(graph_def))

    def _above(self, names: Iterable[str]) -> set[str]:
        """Returns the names of these ops and of all their ancestors."""
        return set(reachable_from(names, lambda name: [op_name(text) for text in self._nodes[name].input]))

    # -- initial values ---------------------------------------------------------------------------

    def _drop_checkpoints(self, graph: TFGraph) -> None:
        unused: set[str] = set()
        for info in variable_infos(graph).values():
            assign = self._nodes.get(info.initializer)
            if assign is None or len(assign.input) < 2:
                continue
            value = op_name(assign.input[1])
            above = self._above([value])
            if not any(self._reads_named_file(name) for name in above):
                continue
            unused |= above
            tensor = graph.get_tensor_by_name(tensor_name(assign.input[1]))
            node = self._nodes[value]
            if len(tensor.op.outputs) > 1:
                node = self._graph_def.node.add(
                    name=free_name(f"{info.op}/Initializer/value", self._nodes.__contains__, as_tensorflow=True)
                )
                self._nodes[node.name] = node
                assign.input[1] = node.name
                self.initial[info.op] = f"{node.name}:0"
            _make_placeholder(node, info.dtype, tensor.shape)
        self._prune(unused)

    def _reads_named_file(self, name: str) -> bool:
        """Whether an op reads a checkpoint whose path is a constant; the path of a saver can be fed."""
        node = self._nodes[name]
        if node.op not in RESTORERS:
            return False
        path = self._nodes[_source(self._nodes, node.input[0])]
        return path.op == "Const" and [*path.attr["value"].tensor.string_val] != [
            path_text.encode() for path_text in SAVER_TYPES
        ]

    def _prune(self, names: set[str]) -> None:
        """Removes constants and restore ops that no op reads any more."""
        while True:
            inputs = {op_name(text) for node in self._graph_def.node for text in node.input}
            unused = {name for name in names - inputs if self._nodes[name].op in {"Const", *RESTORERS}}
            if not unused:
                return
            nodes = [node for node in self._graph_def.node if node.name not in unused]
            del self._graph_def.node[:]
            self._graph_def.node.extend(nodes)
            self._nodes = {node.name: node for node in self._graph_def.node}
            names -= unused

    # -- vocabularies -----------------------------------------------------------------------------

    def _drop_folders(self, assets: Mapping[str, str], embed: bool) -> None:
        bodies = _FunctionBodies(self._graph_def)
        if embed:
            bodies.embed({op_name(tensor): path for tensor, path in assets.items()})
        for tensor, path in assets.items():
            node = bodies.graph.by_name[op_name(tensor)]
            if node.op == "Const":
                node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(os.path.basename(path), shape=[]))
            if bodies.is_used("", node.name):
                self.left[tensor] = path


def _source(nodes: Mapping[str, Any], text: str) -> str:
    """Returns the op or argument from which a tensor comes; skips Identity ops."""
    name = op_name(text)
    while name in nodes and nodes[name].op == "Identity":
        name = op_name(nodes[name].input[0])
    return name


class _NodeTable:
    """The nodes of a graph, or of a function.

    Args:
        nodes: the nodes.
        arguments: the names of the arguments of a function.
    """

    def __init__(self, nodes: Any, arguments: Sequence[str] = ()) -> None:
        self.nodes, self.arguments = nodes, list(arguments)
        self.by_name: dict[str, Any] = {node.name: node for node in nodes}

    def add_constant(self, preferred: str, array: Any) -> str:
        """Adds a constant; returns its output in the notation of inputs."""
        name = free_name(preferred, self.by_name.__contains__, as_tensorflow=True)
        node = self.by_name[name] = self.nodes.add(name=name, op="Const")
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(array))
        node.attr["dtype"].type = node.attr["value"].tensor.dtype
        return f"{name}:output:0" if self.arguments else name


class _FunctionBodies:
    """The nodes of a graph and of its functions, and the calls between them.

    Args:
        graph_def: the graph.

    Attributes:
        graph: the nodes of the graph itself.
    """

    def __init__(self, graph_def: Any) -> None:
        self._functions = {function.signature.name: function for function in graph_def.library.function}
        self.graph = _NodeTable(graph_def.node)
        self._all = {"": self.graph}
        for name, function in self._functions.items():
            self._all[name] = _NodeTable(
                function.node_def, [argument.name for argument in function.signature.input_arg]
            )
        self._calls: dict[str, list[tuple[str, Any]]] = {}
        for place, body in self._all.items():
            for node in body.nodes:
                if called := called_function(node, self._functions):
                    self._calls.setdefault(called, []).append((place, node))

    def embed(self, paths: Mapping[str, str]) -> None:
        """Writes the contents of files into the ops that fill tables from these files.

        Args:
            paths: op of the graph that outputs the path of a file -> the path.
        """
        for place, body in self._all.items():
            for node in [candidate for candidate in body.nodes if candidate.op in _FROM_FILE]:
                files = {"" if at else paths.get(name, "") for at, name in self._makers(place, node.input[1])}
                path = files.pop() if len(files) == 1 else ""
                table = next(filter(None, map(self._table, self._makers(place, node.input[0]))), None)
                if os.path.isfile(path) and table is not None:
                    _fill_with_constants(body, node, table, path)

    def _makers(self, place: str, text: str) -> set[tuple[str, str]]:
        """Returns (function, op) from which a tensor comes; an argument is followed to all calls of its function."""
        makers = set[tuple[str, str]]()

        def passed(end: tuple[str, str]) -> list[tuple[str, str]]:
            function, tensor = end
            body = self._all[function]
            name = _source(body.by_name, tensor)
            if name not in body.arguments:
                makers.add((function, name))
                return []
            at = body.arguments.index(name)
            return [(caller, node.input[at]) for caller, node in self._calls.get(function, ())]

        reachable_from([(place, text)], passed)
        return makers

    def _table(self, producer: tuple[str, str]) -> Any:
        """Returns the op that makes a table, also inside called functions; None if there is none."""
        node = self._all[producer[0]].by_name[producer[1]]
        nodes = (node, *nodes_in_calls([node], self._functions))
        return next((candidate for candidate in nodes if "key_dtype" in candidate.attr), None)

    def is_used(self, place: str, name: str) -> bool:
        """Returns whether the output of an op, or an argument, is needed; a call may not need its argument."""
        body = self._all[place]
        if place and any(op_name(text) == name for text in self._functions[place].ret.values()):
            return True
        for node in body.nodes:
            for at, text in enumerate(node.input):
                if op_name(text) == name:
                    called = called_function(node, self._functions)
                    if called not in self._functions or self.is_used(called, self._all[called].arguments[at]):
                        return True
        return False


def _fill_with_constants(body: _NodeTable, node: Any, table: Any, path: str) -> None:
    contents = zip(("keys", "values"), _table_entries(node, table, path), strict=True)
    node.input[1:2] = [body.add_constant(f"{node.name}/{label}", array) for label, array in contents]
    node.op = _FROM_FILE[node.op]
    for key in _FILE_ATTRIBUTES:
        node.attr.pop(key, None)
    node.attr["Tkey"].type = table.attr["key_dtype"].type
    node.attr["Tval"].type = table.attr["value_dtype"].type


def _make_placeholder(node: Any, dtype: str, shape: Any) -> None:
    device, name = node.device, node.name
    node.Clear()
    node.name, node.op, node.device = name, "Placeholder", device
    node.attr["dtype"].type = tf.as_dtype(dtype).base_dtype.as_datatype_enum
    node.attr["shape"].shape.CopyFrom(shape.as_proto())


def _table_entries(node: Any, table: Any, path: str) -> tuple[Any, Any]:
    """Returns the keys and the values that an op reads from a vocabulary, sorted by key."""
    key, value = (tf.as_dtype(table.attr[name].type) for name in ("key_dtype", "value_dtype"))
    how: dict[str, Any] = {
        name: node.attr[name].s if name == "delimiter" else node.attr[name].i
        for name in _FILE_ATTRIBUTES
        if name in node.attr
    }
    with eager():
        handle = tf.raw_ops.AnonymousHashTable(key_dtype=key, value_dtype=value)
        tf.raw_ops.InitializeTableFromTextFileV2(table_handle=handle, filename=path, **how)
        exported = tf.raw_ops.LookupTableExportV2(table_handle=handle, Tkeys=key, Tvalues=value)
        keys, values = (part.numpy() for part in exported)
    order = np.argsort(keys, kind="stable")
    return keys[order], values[order]


def _rename_tables(nodes: Iterator[Any]) -> None:
    """Removes the folder from the names of tables; different names stay different."""
    new: dict[bytes, str] = {}
    for node in nodes:
        if "Table" not in node.op or "shared_name" not in node.attr:
            continue
        old = node.attr["shared_name"].s
        plain = _TABLE_NAME.sub(rb"\1", old)
        if plain == old:
            continue
        if old not in new:
            new[old] = free_name(plain.decode("utf-8", "replace"), set(new.values()).__contains__)
        node.attr["shared_name"].s = new[old].encode()


@contextmanager
def staging_dir(path: str, request: str, size: int = 0) -> Iterator[str]:
    """Yields a new folder next to a future file; the folder is always removed afterwards.

    Args:
        path: the path of the future file.
        request: the request, for messages.
        size: the minimum number of bytes that will be written.

    Raises:
        PlanError: the folder or the file cannot be written.
    """
    parent = os.path.dirname(os.path.abspath(path))
    inside = False
    try:
        os.makedirs(parent, exist_ok=True)
        with atomic_files.staging_dir(path) as folder:
            inside = True
            yield folder
    except OSError as error:
        problem = f"nothing can be written in {parent!r}: {write_failure(error, parent)}"
        how = "Choose another path"
        if inside:
            problem = f"{path!r} cannot be written: {write_failure(error, parent, size)}"
            how = "The old file is unchanged; make room, or choose another path"
        raise PlanError(request, problem, how) from error


def put_file(new: str, path: str) -> None:
    """Moves a new file to a path, after it is completely on disk; if this raises an OSError, nothing has changed."""
    flush(new)
    os.replace(new, path)


def put_folder(new: str, path: str, request: str) -> None:
    """Moves a new folder to a path; it may only replace a SavedModel or an empty folder.

    Raises:
        PlanError: something else exists at the path.
    """
    _refuse_other(path, request)
    flush(new)
    install_files([(new, path)], os.path.dirname(new))


def refuse_existing(path: str, kind: str, overwrite: bool, request: str) -> None:
    """Refuses a path, before anything is written, if it exists and the user has not allowed replacing it.

    Args:
        path: the path, as in `Editor.save`.
        kind: the format.
        overwrite: whether it may be replaced.
        request: the request, for messages.

    Raises:
        PlanError: the path exists.
    """
    if kind.startswith("saved_model"):
        _refuse_other(path, request)
    for file in _entry_files(path, kind):
        ensure_writable(file, overwrite, request)


def mark_written(path: str, kind: str) -> None:
    """Records that this process has written these files, so that it may replace them later.

    Args:
        path: the path, as in `Editor.save`.
        kind: the format.
    """
    for file in _entry_files(path, kind):
        record_write(file)


def _entry_files(path: str, kind: str) -> list[str]:
    """Returns the files from which a saved graph is opened."""
    if kind.startswith("saved_model"):
        return glob.glob(os.path.join(glob.escape(path), "saved_model.pb*"))
    if kind in ("graph_def", "keras", "tflite"):
        return [path]
    prefix = path.removesuffix(".index" if kind == "checkpoint" else ".meta")
    values = [f"{prefix}.index", *sorted(glob.glob(glob.escape(prefix) + ".data-*-of-*"))]
    return [*values, f"{prefix}.meta"] if kind == "meta_graph" else values


def _refuse_other(path: str, request: str) -> None:
    occupied = os.path.lexists(path) and not (os.path.isdir(path) and not os.listdir(path))
    if occupied and not _entry_files(path, "saved_model"):
        raise PlanError(request, f"{path!r} exists and is not a SavedModel", "Choose a new folder")


def write_checkpoint(
    prefix: str, values: Iterable[Mapping[str, Any]], keys: Mapping[str, tuple[str, str]], total: int, request: str
) -> None:
    """Writes a checkpoint for `tf.train.Saver`, with one shard per batch; only one batch at a time is in memory.

    Args:
        prefix: the path without suffix; an existing checkpoint is replaced after the new one is complete.
        values: batches of variable op name -> array.
        keys: variable op name -> (its name in the checkpoint, its slice or empty text).
        total: the size of all values in bytes, for the progress bar.
        request: the request, for messages.

    Raises:
        PlanError: TensorFlow cannot write the checkpoint.
    """
    saying = partial(_translate_errors, request, os.path.dirname(os.path.abspath(prefix)), total)
    with staging_dir(prefix, request, total) as folder, Progress("saving", total) as bar:
        shards: list[str] = []
        new = os.path.join(folder, "whole")
        for batch in values:
            shards.append(os.path.join(folder, f"part{len(shards)}"))
            with saying(), eager(), tf.device("/cpu:0"):
                tf.raw_ops.SaveV2(
                    prefix=shards[-1],
                    tensor_names=[keys[name][0] for name in batch],
                    shape_and_slices=[keys[name][1] for name in batch],
                    tensors=[tf.constant(value) for value in batch.values()],
                )
            bar.step(sum(np.asarray(value).nbytes for value in batch.values()))
        with saying(), eager():
            tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=shards, destination_prefix=new, delete_old_dirs=False)
        put_checkpoint(new, prefix)


def verify_checkpoint(prefix: str, keys: Iterable[str], request: str) -> None:
    """Verifies the checksums of a checkpoint: reads its values with TensorFlow, one by one.

    Raises:
        PlanError: a value is missing or damaged.
    """
    kinds = (tf.errors.OpError, ValueError, RuntimeError, IndexError)
    problem, suggestion = "TensorFlow cannot read the written checkpoint", "Write it again, to a disk with enough room"
    with errors_as(PlanError, request, problem, suggestion, *kinds):
        reader = tf.train.load_checkpoint(prefix)
        for key in dict.fromkeys(keys):
            reader.get_tensor(key)


def _translate_errors(request: str, folder: str, size: int) -> AbstractContextManager[None]:
    kinds = (tf.errors.OpError, OSError, ValueError)
    space = f"{size_text(size)} needed, {size_text(shutil.disk_usage(folder).free)} free"
    return errors_as(
        PlanError, request, f"TensorFlow cannot write it ({space})", "Make room, or choose another path", *kinds
    )


def put_checkpoint(new: str, prefix: str, *extra_files: tuple[str, str]) -> None:
    """Moves all files of a checkpoint to their final paths, the index last, or none of them; removes older shards.

    Args:
        new, prefix: the current and the final path, without suffix.
        extra_files: (current path, final path) of additional files, such as a MetaGraph.

    Raises:
        OSError: the files cannot be moved; nothing has changed.
    """
    shards = sorted(glob.glob(glob.escape(new) + ".data-*"))
    moves = [*extra_files, *((path, prefix + path.removeprefix(new)) for path in [*shards, new + ".index"])]
    for path, _ in moves:
        flush(path)
    targets = {to for _, to in moves}
    outdated = [path for path in glob.glob(glob.escape(prefix) + ".data-*-of-*") if path not in targets]
    install_files(moves, os.path.dirname(new), outdated)
