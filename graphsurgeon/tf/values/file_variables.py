"""The values of variables that are stored in files with a graph, and the assets of a SavedModel."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from ...errors import OpenError
from ...graph.graph import Graph
from ...graph.names import op_name, rename_input
from ...graph.traversal import reachable_from
from ...graph.types import TFGraph, TFSession
from ...graph.variables import VARIABLE_TYPES
from ..import_tensorflow import tf
from ..messages import meta_graph_pb2, tensor_pb2, types_pb2
from ..run.errors import error_text, errors_as, suggested_fix
from .checkpoint_reader import Checkpoint, StoredValue, refuse_incomplete

INIT = "__saved_model_init_op"
"""The signature of a SavedModel that has the op to run once after its values are set."""


def asset_files(meta: Any) -> list[Any]:
    """Returns the AssetFileDefs of a SavedModel's MetaGraph; older files have them in a collection."""
    assets = list(meta.asset_file_def)
    for item in _old_assets(meta) if not assets else ():
        asset = meta_graph_pb2.AssetFileDef()
        if item.Unpack(asset):
            assets.append(asset)
    return assets


def _old_assets(meta: Any) -> list[Any]:
    # Check first: a lookup in a map field would add a missing key.
    key = "saved_model_assets"
    return list(meta.collection_def[key].any_list.value) if key in meta.collection_def else []


def asset_path(folder: str | os.PathLike[str], name: str, request: str) -> str:
    """Returns the path of an asset. After links are followed, it must still be inside the folder of assets.

    Args:
        folder: the folder of the SavedModel.
        name: the name of the asset in the SavedModel.
        request: the request, for messages.

    Raises:
        OpenError: the name, or a link, leads out of the folder.
    """
    assets, problem = Path(folder).resolve() / "assets", ""
    if "\0" in name or os.path.isabs(name) or ".." in Path(name.replace("\\", "/")).parts:
        problem = f"its asset {name!r} is outside of its folder 'assets'"
    elif not (assets / name).resolve().is_relative_to(assets):
        problem = f"its asset {name!r} is a link that leads out of its folder 'assets'"
    if problem:
        raise OpenError(request, problem, "It was not read. Get the model from a source that you trust")
    return os.path.join(folder, "assets", name)


def point_at(meta: Any, paths: Mapping[str, str]) -> None:
    """Writes the paths of asset files into the constants that contain their names, so that copies have the paths too.

    Args:
        meta: the MetaGraphDef of a SavedModel.
        paths: op -> the path that it outputs.
    """
    for node in meta.graph_def.node if paths else ():
        if node.name in paths and node.op == "Const":
            path = tensor_pb2.TensorProto(dtype=types_pb2.DT_STRING, string_val=[paths[node.name].encode()])
            path.tensor_shape.SetInParent()
            node.attr["value"].tensor.CopyFrom(path)


def init_ops_of(meta: Any, graph: Graph) -> list[str]:
    """Returns the names of the ops of a SavedModel that must run once after its values are set.

    Args:
        meta: its MetaGraphDef.
        graph: the snapshot of its graph.
    """
    if INIT in meta.signature_def:
        return [op_name(str(meta.signature_def[INIT].outputs[INIT].name))]
    named = (_collection_names(graph, key)[:1] for key in ("saved_model_main_op", "legacy_init_op"))
    return next(filter(None, named), [])


def _collection_names(graph: Graph, collection: str) -> list[str]:
    """Returns the names of the ops of a collection, whose items may also be tensors."""
    return [item.name.partition(":")[0] for item in graph.state.collections.get(collection, ())]


#: The number of bytes that can be restored in about a second.
_LARGE = 512 << 20


class ValueSource(Protocol):
    """A source that can set the variables of a session."""

    def fill(self, session: TFSession) -> None:
        """Sets the variables of `session`; raises OpenError if the values cannot be read."""

    def filled_variables(self) -> frozenset[str]:
        """Returns the names of the variable ops that `fill` sets."""

    def untrained(self) -> dict[str, str]:
        """Returns variable -> the reason why it has only an initial value; empty for a checkpoint."""
        return {}

    def fill_tables(self, session: TFSession) -> None:
        """Fills the tables, if the source has ops for it."""


class CheckpointValues(ValueSource):
    """The checkpoint of a MetaGraph or SavedModel, restored by the graph's own saver.

    Args:
        base: the graph as it is in the file, with the saver's ops.
        saver: SaverDef, or None if there is nothing to restore.
        prefix: path of the checkpoint without a suffix.
        init_ops: for a SavedModel, the ops to run after the restore; None for a MetaGraph, whose tables are filled.
        asset_feeds: the feeds of these ops.
    """

    def __init__(
        self,
        base: Graph,
        saver: Any,
        prefix: str,
        init_ops: Sequence[str] | None = None,
        asset_feeds: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._base, self._saver, self._prefix = base, saver, prefix
        self._tables = _collection_names(base, "table_initializer") if init_ops is None else []
        self._init_ops, self._asset_feeds = init_ops or (), asset_feeds

    @property
    def _graph(self) -> TFGraph:
        return self._base.live_graph

    def fill(self, session: TFSession) -> None:
        """Restores all variables of the checkpoint into `session`, then runs the model's own init op.

        Raises:
            OpenError: a file of the checkpoint is missing or damaged, or the checkpoint is of another model.
        """
        request = f"values from {self._prefix!r}"
        if self._saver is not None and self._saver.restore_op_name:
            refuse_incomplete(self._prefix, request)
            if self._fill_apart(session):
                self.fill_tables(session)
                return
            feed = {self._saver.filename_tensor_name: self._prefix}
            try:
                session.run(_named_op(session.graph, self._saver.restore_op_name), feed)
            except (tf.errors.OpError, TypeError, ValueError) as error:  # the last two if an op or tensor is missing
                problem, suggestion = suggested_fix(error) or (
                    error_text(error),
                    "Give the checkpoint of the same graph",
                )
                raise OpenError(request, f"the checkpoint does not restore: {problem}", suggestion) from error
        self.fill_tables(session)

    def _fill_apart(self, session: TFSession) -> bool:
        """Restores large values one by one, so that the progress is shown and the work can be interrupted.

        Returns:
            whether it has restored the values. TensorFlow's saver restores all of them in one run, which is faster for
            small values.
        """
        from .transfer import assign
        from .variables import variable_infos

        try:
            stored = self.stored_values()
        except OpenError:
            return False  # the saver then raises a better error
        infos = variable_infos(session.graph)
        size = sum(value.nbytes for value in stored.values()) if stored else 0
        if not stored or size < _LARGE or not all(op in infos and infos[op].initializer for op in stored):
            return False
        assign(session, stored, infos, "restoring")
        return True

    def filled_variables(self) -> frozenset[str]:
        """Returns the names of the variable ops that the checkpoint restores; a saver may leave some out."""
        from ..private.graphs import has_op

        if self._saver is None or not self._saver.restore_op_name:
            return frozenset()
        if not has_op(self._graph, self._saver.restore_op_name):
            return frozenset()  # `fill` raises the error
        start: Any = _named_op(self._graph, self._saver.restore_op_name)
        ops = reachable_from([start], lambda op: op.control_inputs)
        return frozenset(t.op.name for op in ops for t in op.inputs if t.op.type in VARIABLE_TYPES)

    def identities(self) -> dict[str, Any]:
        """Returns variable op -> the checkpoint, and its name there."""
        return {op: (os.path.realpath(self._prefix), op) for op in self._base.state.variables}

    def stored_values(self) -> dict[str, StoredValue] | None:
        """Returns variable op -> its unread value in the checkpoint; None if the saver sets more than variables.

        Raises:
            OpenError: a file of the checkpoint is missing or damaged, or the checkpoint is of another model.
        """
        from ..private.graphs import has_op

        if self._saver is None or not self._saver.restore_op_name:
            return {}
        restore = self._saver.restore_op_name
        places = restore_sources(_named_op(self._graph, restore)) if has_op(self._graph, restore) else None
        if places is None:
            return None
        checkpoint = Checkpoint(self._prefix, f"values from {self._prefix!r}")
        return {op: checkpoint.stored_value(key, _part(spec)) for op, (_, key, spec) in places.items()}

    def transfer(
        self, old: TFSession, new: TFSession, new_names_of: Callable[[TFGraph], Mapping[str, str]]
    ) -> frozenset[str]:
        """Saves the values of `old` and restores them in `new`, by the graph's own saver, without initializers.

        Args:
            old, new: the sessions.
            new_names_of: graph -> {op in the file: its name in that graph, if it differs}.

        Returns:
            the names of the variable ops that were set; empty if a graph no longer has the ops of the saver, or the
            inputs of these ops.
        """
        saver = self._saver
        if saver is None or not (saver.restore_op_name and saver.save_tensor_name):
            return frozenset()
        name, save, restore = saver.filename_tensor_name, saver.save_tensor_name, saver.restore_op_name
        ends = [(old, save), (old, name), (new, restore), (new, name)]
        now = [rename_input(end, new_names_of(session.graph)) for session, end in ends]
        for (session, was), end in zip(ends, now, strict=True):
            if not self._is_unmoved(session.graph, op_name(was), op_name(end)):
                return frozenset()
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "values")
            try:
                old.run(now[0], {now[1]: path})
                new.run(new.graph.get_operation_by_name(now[2]), {now[3]: path})
            except tf.errors.OpError:
                return frozenset()
        return self.filled_variables()

    def _is_unmoved(self, graph: TFGraph, name: str, new_name: str) -> bool:
        """Whether an op of the saver exists and still uses its original variables, which may be renamed."""
        from ..private.graphs import has_op

        if not (has_op(self._graph, name) and has_op(graph, new_name)):
            return False
        todo, visited = [(self._graph.get_operation_by_name(name), graph.get_operation_by_name(new_name))], set()
        while todo:
            was, new_op = todo.pop()
            if new_op in visited:
                continue
            visited.add(new_op)
            if was.type != new_op.type or len(was.inputs) != len(new_op.inputs):
                return False
            for old, new in zip(was.inputs, new_op.inputs, strict=True):
                if old.name != new.name and has_op(self._graph, new.op.name):
                    return False
                todo.append((old.op, new.op))
        return True

    def fill_tables(self, session: TFSession) -> None:
        """Fills the tables: runs the init op of a SavedModel, or the initializers that a MetaGraph lists."""
        from ..private.graphs import has_op
        from .assign_values import fill_tables

        graph = session.graph
        there = [graph.get_operation_by_name(name) for name in self._tables if has_op(graph, name)]
        fill_tables(session, there, unchanged=True)
        request, how = f"values from {self._prefix!r}", "Look at that op: gs.open(folder, raw=True)"
        for name in self._init_ops:
            with errors_as(
                OpenError, request, f"its init op {name!r} does not run", how, tf.errors.OpError, ValueError, TypeError
            ):
                session.run(_named_op(session.graph, name), self._asset_feeds)

    @property
    def load(self) -> dict[str, str]:
        """Op -> its role when the values are loaded."""
        restore = self._saver.restore_op_name if self._saver is not None else ""
        return dict.fromkeys(self._init_ops, "init op") | ({op_name(restore): "restore op"} if restore else {})


class KeyedValues(ValueSource):
    """Values of a checkpoint by their keys, for variables that no saver of the graph restores.

    Args:
        keys: variable op -> key.
        prefix: path of the checkpoint without a suffix.
    """

    def __init__(self, keys: Mapping[str, str], prefix: str) -> None:
        self.keys, self._prefix = dict(keys), prefix

    def fill(self, session: TFSession) -> None:
        """Sets the variables of `session`, one batch at a time, then fills its tables.

        Raises:
            OpenError: a file of the checkpoint is missing or damaged.
        """
        from .transfer import assign
        from .variables import variable_infos

        assign(session, self.stored_values(), variable_infos(session.graph), "restoring")
        self.fill_tables(session)

    def fill_tables(self, session: TFSession) -> None:
        """Fills the tables that the graph lists."""
        from .assign_values import fill_tables

        fill_tables(session, unchanged=True)

    def filled_variables(self) -> frozenset[str]:
        """Returns the names of the variable ops that have a key."""
        return frozenset(self.keys)

    def identities(self) -> dict[str, Any]:
        """Returns variable op -> the checkpoint, and the key there."""
        return {op: (os.path.realpath(self._prefix), key) for op, key in self.keys.items()}

    def stored_values(self) -> dict[str, StoredValue]:
        """Returns variable op -> its value in the checkpoint, unread.

        Raises:
            OpenError: a file of the checkpoint is missing or damaged.
        """
        if not self.keys:
            return {}
        checkpoint = Checkpoint(self._prefix, f"values from {self._prefix!r}")
        return {op: checkpoint.stored_value(key) for op, key in self.keys.items()}


def _named_op(graph: TFGraph, name: str) -> Any:
    """Returns the op that a file names; raises ValueError if there is none."""
    from ..private.graphs import has_op

    if not has_op(graph, name):
        raise ValueError("there is no such op")
    return graph.get_operation_by_name(name)


def restore_sources(restore: Any) -> dict[str, tuple[str, str, str]] | None:
    """Returns variable op -> (tensor with the path, name in the checkpoint, slice), for the restore op of a saver.

    None if the op has any other effect.
    """
    sources = {}
    for op in reachable_from([restore], lambda op: op.control_inputs if op.type == "NoOp" else ()):
        if op.type == "NoOp":
            continue
        if op.type not in ("Assign", "AssignVariableOp") or op.inputs[0].op.type not in VARIABLE_TYPES:
            return None
        value = op.inputs[1]
        while value.op.type in ("Identity", "Reshape"):
            value = value.op.inputs[0]
        if value.op.type != "RestoreV2":
            return None
        names, specs = (tf.get_static_value(t) for t in value.op.inputs[1:3])
        if names is None or specs is None:
            return None
        at = value.value_index
        sources[op.inputs[0].op.name] = (value.op.inputs[0].name, names[at].decode(), specs[at].decode())
    return sources


def _part(spec: str) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Returns the start and the shape of a slice: ``7 3 0,4:0,3`` is the first four of seven rows."""
    if not spec:
        return None
    *whole, bounds = spec.split()
    pairs = [(0, int(size)) if text == "-" else tuple(map(int, text.split(",")))
             for size, text in zip(whole, bounds.split(":"), strict=True)]  # fmt: skip
    return tuple(p[0] for p in pairs), tuple(p[1] for p in pairs)
