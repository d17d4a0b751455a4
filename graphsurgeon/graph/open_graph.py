"""An opened live graph with its signatures, values and source."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, Self

import numpy as np

from .control_flow import outside_control_flow
from .graph import Graph, Mask, TensorInfo
from .layers import NO_LAYERS, Layers
from .lazy_graph import LiveGraphAttribute
from .names import argument_names, join_scope, op_name, rename_input, tensors_by_key
from .provenance import orphan_mask
from .training import ASSIGNING, HELPER_SCOPES, in_scopes, training_ops
from .traversal import backward, forward
from .types import TFSession
from .variables import FEED_TYPES, INPUT_TYPES, PLACEHOLDER_TYPES, VARIABLE_TYPES


@dataclass(frozen=True)
class Signature:
    """A signature of a SavedModel: its arguments and results.

    Args:
        name: its name, such as ``"serving_default"``.
        inputs: argument -> dtype and shape.
        outputs: result -> dtype and shape.
        defaults: argument -> array, for the arguments that a server may leave out.
    """

    name: str
    inputs: Mapping[str, TensorInfo] = field(default_factory=dict)
    outputs: Mapping[str, TensorInfo] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        takes, gives = (
            ", ".join(f"{key}: {info}{' = default' * (key in self.defaults)}" for key, info in side.items())
            for side in (self.inputs, self.outputs)
        )
        return f"{self.name}({takes}) -> {gives or 'nothing'}"


@dataclass(frozen=True)
class ServingInfo:
    """The signatures of a file, and the opened signature.

    Args:
        signatures: the signatures of the file.
        opened_signature: the name of the opened signature; empty if the whole file was opened.
        omitted_ops: the number of ops of the file that were left out.
        notes: notes about the file.
        functions: the paths from the saved or opened object to its other functions.
        open_other: opens another signature, or one of these functions, by name; None if that is not possible.
    """

    signatures: tuple[Signature, ...] = ()
    opened_signature: str = ""
    omitted_ops: int = 0
    notes: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    open_other: Callable[[str], Any] | None = field(default=None, compare=False, repr=False)

    @property
    def names(self) -> list[str]:
        """The names of the parts of the file that can be opened: first signatures, then functions."""
        return [*(one.name for one in self.signatures), *self.functions] if self.open_other is not None else []


DEFAULT = "serving_default"
"""The name of the signature that programs call by default."""
LIVE = ("gs.open(graph)", "gs.open(session)")
KINDS = "a GraphDef (.pb, .pbtxt), a MetaGraph (.meta) or a SavedModel folder, each also as .gz, or a .keras file"
"""The kinds of files that can be opened."""


@dataclass(frozen=True)
class OpenedFile:
    """The file that a graph was opened from, so that it can be opened again.

    Args:
        path: the absolute path of the file or folder.
        options: the arguments of `gs.open` that select a part of it.
        main_file: for a folder, the file in it that contains the graph.
        stamp: size and time of the main file when it was opened.
    """

    path: str
    options: Mapping[str, Any]
    main_file: str
    stamp: tuple[int, int]

    @classmethod
    def from_path(cls, path: Path, main: Path, options: Mapping[str, Any]) -> OpenedFile:
        """Returns the record of a file that will be read next."""
        values = {key: value for key, value in options.items() if value is not None}
        info = main.stat() if main.exists() else None
        stamp = (info.st_size, info.st_mtime_ns) if info is not None else (0, 0)
        return cls(os.path.abspath(path), values, os.path.abspath(main), stamp)


@dataclass(frozen=True, kw_only=True)
class Ends:
    """The inputs and outputs of a model, of one of its signatures, or of a part of it.

    Args:
        inputs, outputs: argument or result -> name of its tensor.
        defaults: argument -> array, for the arguments that have a default.
        pack_outputs: makes the return value of a call from its results; None for a dict by their names.
    """

    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict, compare=False)
    pack_outputs: Callable[[Sequence[Any]], Any] | None = None

    def with_tensors(self, tensors: Callable[[str], str]) -> Self:
        """Returns the same ends with other tensors: a function of the old names returns the new ones."""
        inputs, outputs = ({key: tensors(t) for key, t in side.items()} for side in (self.inputs, self.outputs))
        return replace(self, inputs=inputs, outputs=outputs)

    def limited_to(self, ops: Container[str]) -> Self:
        """Returns the same ends without the inputs and outputs that are not among some ops."""
        inputs, outputs = (
            {key: t for key, t in side.items() if op_name(t) in ops} for side in (self.inputs, self.outputs)
        )
        return replace(
            self, inputs=inputs, outputs=outputs, defaults={key: v for key, v in self.defaults.items() if key in inputs}
        )

    def chosen(self, inputs: Any = None, outputs: Any = None) -> Self:
        """Returns the ends of a part of the model. A tensor of the model keeps its name, and an input its default.

        Args:
            inputs, outputs: the tensors of the part: one, several, or name -> tensor; None for those of the model.
        """
        ends = self
        if inputs is not None:
            values = {self.inputs[key]: array for key, array in self.defaults.items()}
            takes = tensors_by_key(inputs, _inverted(self.inputs))
            ends = replace(ends, inputs=takes, defaults={key: values[t] for key, t in takes.items() if t in values})
        if outputs is not None:
            form = (
                None if isinstance(outputs, Mapping) else list if isinstance(outputs, list | tuple) else itemgetter(0)
            )
            ends = replace(ends, outputs=tensors_by_key(outputs, _inverted(self.outputs)), pack_outputs=form)
        return ends

    def with_argument_names(self) -> Self:
        """Returns the same ends with names of inputs that Python accepts as names of arguments."""
        names = argument_names(self.inputs)
        inputs, defaults = ({names[key]: one for key, one in old.items()} for old in (self.inputs, self.defaults))
        return replace(self, inputs=inputs, defaults=defaults)

    @property
    def form(self) -> str:
        """The form of the return value of a call: ``one`` result, a ``list`` or a ``dict``."""
        return "dict" if self.pack_outputs is None else "list" if self.pack_outputs is list else "one"

    def pack(self, results: Sequence[Any]) -> Any:
        """Returns the return value of a call, given its results."""
        return (
            dict(zip(self.outputs, results, strict=True)) if self.pack_outputs is None else self.pack_outputs(results)
        )


def end_tensors(signatures: Collection[Ends]) -> tuple[list[str], list[str]]:
    """Returns the input tensors and the output tensors of several signatures, in order.

    Example:
        >>> end_tensors([Ends(inputs={"a": "x:0"}, outputs={"b": "y:0"}), Ends(inputs={"c": "x:0"})])
        (['x:0', 'x:0'], ['y:0'])
    """
    inputs, outputs = ([t for one in signatures for t in getattr(one, side).values()] for side in ("inputs", "outputs"))
    return inputs, outputs


def _inverted(ends: Mapping[str, str]) -> dict[str, str]:
    """Returns tensor -> its first name."""
    return {tensor: key for key, tensor in [*ends.items()][::-1]}


@dataclass(frozen=True)
class OpenedGraph(Ends):
    """An opened graph, with its source and the description of its model: its ends, other signatures, and init ops.

    Args:
        graph: the live graph; the live graph of a file may be deferred or pending.
        title: its title.
        code: the Python that opens it again; empty if it will not be needed.
        session: the given session, if there is one.
        values: the source of the values of its variables, if there is one.
        signature: the name of the signature that has these inputs and outputs; empty for other functions.
        other_signatures: the other signatures of the file whose tensors are in the graph.
        init_ops: the ops that run once after the values are set, for example to fill tables.
        asset_feeds: tensor -> path of its asset: the feeds of these ops.
        variable_paths: variable -> its path of attributes from the saved object, with slashes; if it is known.
        serving: the signatures of a SavedModel, and the opened signature.
        missing_values_reason: why a variable has no value, if the file with the values is missing.
        layers: the Keras layers that have ops in the graph.
        origin: the Keras model that the graph was made from, and its connections, if there is one.
        assets: for a SavedModel, the paths of the files that belong to it: assets, and the checkpoint.
        file: the file that the graph was opened from, if any.
    """

    graph: LiveGraphAttribute = LiveGraphAttribute()  # noqa: RUF009  a descriptor
    title: str = "graph"
    code: str = ""
    session: TFSession | None = None
    values: Any = None
    signature: str = ""
    other_signatures: Mapping[str, Ends] = field(default_factory=dict)
    init_ops: Sequence[str] = ()
    asset_feeds: Mapping[str, str] = field(default_factory=dict)
    variable_paths: Mapping[str, str] = field(default_factory=dict)
    serving: ServingInfo = field(default_factory=ServingInfo)
    missing_values_reason: str = ""
    layers: Layers = NO_LAYERS
    origin: Any = None
    assets: frozenset[str] = frozenset()
    file: OpenedFile | None = None

    @property
    def served_names(self) -> list[str]:
        """The names of the signature of the inputs and outputs in a file.

        A signature that was chosen by name is also the default, if the file that it is from has no default.
        """
        chosen = self.file is not None and "signature" in self.file.options
        default = not self.signature or (chosen and all(one.name != DEFAULT for one in self.serving.signatures))
        return [*filter(None, [self.signature]), *[DEFAULT] * default]

    @property
    def ends(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The input and output tensors of the opened signature or function; if neither is opened, of all signatures.

        A sparse tensor is represented by its values.
        """

        def tensors(ends: Mapping[str, str]) -> list[str]:
            stems = [key.removesuffix("_values") for key in ends if key.endswith("_values")]
            parts = {f"{stem}_{part}" for stem in stems for part in ("indices", "dense_shape")}
            return [tensor for key, tensor in ends.items() if key not in parts]

        opened = [self] if self.outputs else [self, *self.other_signatures.values()]
        inputs, outputs = (
            tuple(dict.fromkeys(t for one in opened for t in tensors(getattr(one, side))))
            for side in ("inputs", "outputs")
        )
        return inputs, outputs

    def renamed(self, names: Mapping[str, str]) -> OpenedGraph:
        """Returns the description of the same model after ops are renamed.

        Args:
            names: op -> its new name.
        """
        feeds = {rename_input(tensor, names): path for tensor, path in self.asset_feeds.items()}
        return replace(
            self.with_tensors(lambda tensor: rename_input(tensor, names)),
            init_ops=[names.get(op, op) for op in self.init_ops], asset_feeds=feeds,
            variable_paths={names.get(op, op): path for op, path in self.variable_paths.items()},
        )  # fmt: skip

    def for_graph(self, graph: Any, title: str) -> OpenedGraph:
        """Returns the description of the same model in another graph with the same names, without values and layers."""
        serving = replace(self.serving, open_other=None)  # the variables of this graph have no keys in the file
        return replace(
            self, graph=graph, title=title, code="", session=None, values=None, serving=serving,
            missing_values_reason="", layers=NO_LAYERS, origin=None, file=None,
        )  # fmt: skip

    def with_models(
        self,
        models: Mapping[str, tuple[OpenedGraph, Callable[[str], str | None]]],
        inputs: Mapping[str, str],
        outputs: Mapping[str, str],
    ) -> OpenedGraph:
        """Returns this graph with the description of a model that is made of other models.

        The name of their signature is kept if it is the same, and so are the defaults of inputs. Notes list the rest.

        Args:
            models: name of a model, empty if there is only one -> its description, and a function from its inputs to
                tensors of this graph.
            inputs, outputs: argument or result -> tensor of this graph.
        """
        defaults, names, notes, paths = dict[str | None, Any](), dict[str, None](), list[str](), dict[str, str]()
        for name, (model, moved) in models.items():
            names |= dict.fromkeys(filter(None, [model.signature]))
            paths |= {join_scope(name, op): join_scope(name, path) for op, path in model.variable_paths.items()}
            there = {key: moved(tensor) for key, tensor in model.inputs.items() if key in model.defaults}
            defaults = {tensor: model.defaults[key] for key, tensor in there.items()} | defaults
            kept: dict[str | None, Any] = {t: defaults[t] for t in inputs.values() if t in defaults}
            lost = [key for key, tensor in there.items() if name and kept.get(tensor) is not model.defaults[key]]
            others = [one.name for one in model.serving.signatures if one.name != model.signature]
            for word, keys in (("defaults", lost), ("other signatures", others)):
                text = f"the {word} of {repr(name) if name else 'the file'} are not in this model"
                notes += [f"{text}: {', '.join(map(repr, keys))}"] * bool(keys)
        if len(names) > 1:
            notes.append(f"the signatures {', '.join(map(repr, names))} become one, which is saved as {DEFAULT!r}")
        return replace(
            self, inputs=inputs, outputs=outputs, signature="".join(names) if len(names) == 1 else "",
            defaults={key: defaults[tensor] for key, tensor in inputs.items() if tensor in defaults},
            variable_paths=paths, serving=ServingInfo(notes=tuple(notes)),
        )  # fmt: skip

    def with_tensors(self, tensors: Callable[[str], str]) -> Self:
        """Returns the same description with other tensors at the ends of all signatures; see `Ends.with_tensors`."""
        others = {name: ends.with_tensors(tensors) for name, ends in self.other_signatures.items()}
        return replace(super().with_tensors(tensors), other_signatures=others)

    def limited_to(self, ops: Container[str]) -> Self:
        """Returns the same description without the inputs and outputs that are not among some ops."""
        others = {name: ends.limited_to(ops) for name, ends in self.other_signatures.items()}
        return replace(super().limited_to(ops), other_signatures=others)

    def end_texts(self) -> dict[str, str]:
        """Returns the input and output tensors of signatures and of a function -> a description of each."""
        out: dict[str, str] = {}
        for word, other in (("input", "an input"), ("output", "an output")):
            others = (tensor for one in self.other_signatures.values() for tensor in getattr(one, f"{word}s").values())
            own = {tensor: f"the {word} {key!r}" for key, tensor in getattr(self, f"{word}s").items()}
            out |= dict.fromkeys(others, other) | own
        return out

    @property
    def from_live_graph(self) -> bool:
        """Whether it was opened from a live graph or session, and not from a file."""
        return self.code in LIVE


_HELPER_TYPES = (
    "NoOp", "Assign", "AssignVariableOp", "Assert", "SaveV2", "RestoreV2", "VarIsInitializedOp", "Const",
    "ReadVariableOp", "Placeholder", "PlaceholderV2", "QueueEnqueue", "QueueEnqueueV2", "QueueEnqueueMany",
    "QueueEnqueueManyV2",
)  # fmt: skip

#: Unused ops of gradients and shape computations; listed after other outputs.
_HELPERS = ("Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike", "Fill", "BroadcastGradientArgs")
#: Names of the conditions of TF1 conds.
_PIVOT = re.compile(r".*(switch_[tf]|pred_id|switch_pred.*|pivot_\w*)")
#: Parts of the rank of an output: it depends on no feed; it is a gradient or an update.
_UNFED, _UPDATE = 2, 4
#: Dtypes of tensors that cannot be fetched.
_HANDLES = ("resource", "variant")
#: Ops with several results, each read through a separate Identity or Exit.
_CALL_TYPES = ("While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase", "PartitionedCall",
           "StatefulPartitionedCall", "Switch")  # fmt: skip


def placeholders_in(graph: Graph, ops: Mask) -> list[str]:
    """Returns the tensors that must be fed to run some ops: the outputs of their placeholders."""
    return [f"{graph.names[i]}:0" for i in np.flatnonzero(ops & graph.type_mask(PLACEHOLDER_TYPES)).tolist()]


def outputs_of(graph: Graph, left_out: Mask | None = None) -> list[str]:
    """Returns the likely outputs of a graph without a signature: tensors without consumers, results first.

    Orphans, handles, and helpers such as the read op of a variable are left out. Ops in loops and branches are left out
    if there are others.

    Args:
        graph: the graph.
        left_out: ops that are not outputs. The tensors that they read are outputs, if no other op reads them.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("c", "Const", []), ("s", "Shape", ["x"]),
        ...                     ("y", "Neg", ["x"])])
        >>> outputs_of(g), outputs_of(g, g.mask([3]))
        (['y:0', 's:0'], ['s:0'])
    """
    return list(_ranked_outputs(graph, left_out))


def likely_ends(graph: Graph) -> Ends:
    """Returns the likely inputs and outputs of a graph without a signature.

    Inputs are placeholders, and other ops with values from outside the graph, with consumers. Outputs are the results
    in `outputs_of` that depend on an input. Ops that train, save, summarize or check a model are left out, and so are
    the losses and metrics of a graph that trains, which are its scalar results, with the inputs that only they need.

    Example:
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"]), ("save/y", "SaveV2", ["y"])])
        >>> ends = likely_ends(g)
        >>> ends.inputs, ends.outputs
        ({'x': 'x:0'}, {'y': 'y:0'})
    """
    types, _, number = graph.type_index
    helps = np.array([kind.endswith(("Summary", "SummaryV2")) for kind in types], np.bool_)
    left_out = in_scopes(graph, HELPER_SCOPES) | (helps[number] if len(types) else False)
    fed = graph.type_mask(FEED_TYPES | INPUT_TYPES) & (graph.consumers.degrees > 0) & ~orphan_mask(graph)
    inputs = np.flatnonzero(fed & backward(graph, ~left_out)).tolist()
    results = [tensor for tensor, rank in _ranked_outputs(graph, left_out).items() if rank == _UNFED * (not inputs)]
    answers = [tensor for tensor in results if not _is_scalar(graph, tensor)]
    if answers and len(answers) < len(results) and training_ops(graph).any():
        results, needed = answers, backward(graph, graph.mask(graph.tensor(tensor)[0] for tensor in answers))
        inputs = [i for i in inputs if needed[i]]
    return Ends(inputs=tensors_by_key([f"{graph.names[i]}:0" for i in inputs]), outputs=tensors_by_key(results))


def _is_scalar(graph: Graph, tensor: str) -> bool:
    info = graph.declared_info(*graph.tensor(tensor))
    return info is not None and info.shape == ()


def _ranked_outputs(graph: Graph, left_out: Mask | None) -> dict[str, int]:
    """Returns the tensors of `outputs_of`, and the rank of each: 0 for a result that depends on an input."""
    reached = forward(graph, graph.type_mask(FEED_TYPES | INPUT_TYPES), control=False)
    plain, free, has_consumers = outside_control_flow(graph), ~orphan_mask(graph), np.zeros(graph.size, np.bool_)
    edges = np.ones(len(graph.data.node), np.bool_)
    if left_out is not None:
        free &= ~left_out
        edges = ~reached[graph.data.node] | backward(graph, free & plain, within=~left_out)[graph.data.rows]
    has_consumers[graph.data.node[edges]] = True
    candidates = np.flatnonzero(free & ~has_consumers & ~graph.type_mask([*_HELPER_TYPES, *VARIABLE_TYPES]))
    candidates = candidates[plain[candidates]] if plain[candidates].any() else candidates
    exits = np.flatnonzero((graph.type_array == "Exit") & has_consumers).tolist()
    loop_scopes = {graph.names[i].rpartition("/")[0] for i in exits}
    candidates = np.array(
        [i for i in candidates.tolist() if not _is_leftover(graph, i, has_consumers, loop_scopes)], np.int64
    )
    # Outputs that depend on a feed come first: they are the results. Unused helpers follow, then gradients and updates.
    updates = training_ops(graph) | graph.type_mask(ASSIGNING)
    helper = graph.type_mask(_HELPERS) | graph.mask(i for i in candidates.tolist() if _PIVOT.fullmatch(graph.names[i]))
    rank = _UPDATE * updates[candidates] + _UNFED * ~reached[candidates] + helper[candidates]
    order = np.argsort(rank, kind="stable")
    return {
        f"{graph.names[i]}:0": value
        for i, value in zip(candidates[order].tolist(), rank[order].tolist(), strict=True)
        if (infos := graph.declared_outputs(i)) is None or (infos and getattr(infos[0], "dtype", "") not in _HANDLES)
    }


def _is_leftover(graph: Graph, i: int, has_consumers: Mask, loop_scopes: set[str]) -> bool:
    """Returns whether an op is an unused result of a loop, cond or call that has another, used result."""
    if graph.types[i] == "Exit":
        return graph.names[i].rpartition("/")[0] in loop_scopes
    if graph.types[i] != "Identity" or len(graph.data.row(i)) != 1:
        return False
    block = int(graph.data.row(i)[0])
    if graph.types[block] == "Switch":
        ends = graph.input_names(block)
        return len(ends) == 2 and ends[0] == ends[1]  # the two sides of a cond's own pivot
    return graph.types[block] in _CALL_TYPES and bool(has_consumers[graph.consumers.row(block)].any())
