"""An opened live graph with its signatures, values and source."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from .graph import Graph, Mask, TensorInfo
from .layers import NO_LAYERS, Layers
from .lazy_graph import LiveGraphAttribute
from .names import join_scope, op_name, rename_input
from .provenance import orphan_mask
from .training import training_ops
from .traversal import forward
from .types import TFSession
from .variables import FEED_TYPES, PLACEHOLDER_TYPES, VARIABLE_TYPES


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
        opened: the name of the opened signature; empty if the whole file was opened.
        left: the number of ops of the file that were left out.
        notes: notes about the file.
        functions: the paths from the saved object to its other functions.
        other: opens another signature, or one of these functions, by name; None if that is not possible.
    """

    signatures: tuple[Signature, ...] = ()
    opened: str = ""
    left: int = 0
    notes: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    other: Callable[[str], Any] | None = field(default=None, compare=False, repr=False)

    @property
    def names(self) -> list[str]:
        """The names of the parts of the file that can be opened: first signatures, then functions."""
        return [*(one.name for one in self.signatures), *self.functions] if self.other is not None else []


DEFAULT = "serving_default"
"""The name of the signature that programs call by default."""
#: The tensors of a signature: argument -> tensor, result -> tensor.
Ends = tuple[Mapping[str, str], Mapping[str, str]]
LIVE = ("gs.open(graph)", "gs.open(session)")
KINDS = "a GraphDef (.pb, .pbtxt), a MetaGraph (.meta) or a SavedModel folder, each also as .gz, or a .keras file"
"""The kinds of files that can be opened."""


@dataclass(frozen=True)
class OpenedFile:
    """The file that a graph was opened from, so that it can be opened again.

    Args:
        path: the absolute path of the file or folder.
        options: the arguments of `gs.open` that select a part of it.
        main: for a folder, the file in it that contains the graph.
        stamp: size and time of the main file when it was opened.
    """

    path: str
    options: Mapping[str, Any]
    main: str
    stamp: tuple[int, int]

    @classmethod
    def of(cls, path: Path, main: Path, options: Mapping[str, Any]) -> OpenedFile:
        """Returns the record of a file that will be read next."""
        values = {key: value for key, value in options.items() if value is not None}
        info = main.stat() if main.exists() else None
        stamp = (info.st_size, info.st_mtime_ns) if info is not None else (0, 0)
        return cls(os.path.abspath(path), values, os.path.abspath(main), stamp)


@dataclass(frozen=True)
class OpenedGraph:
    """An opened graph, with its source and the description of its model: the ends of its signatures, and init ops.

    Args:
        graph: the live graph; the live graph of a file may be deferred or pending.
        title: its title.
        code: the Python that opens it again; empty if it will not be needed.
        session: the given session, if there is one.
        values: the source of the values of its variables, if there is one.
        inputs, outputs: for a function: argument or result -> name of its tensor.
        defaults: argument -> array, for the arguments of the function that have a default.
        signature: the name of the signature that has these inputs and outputs; empty for other functions.
        other_signatures: the other signatures of the file whose tensors are in the graph.
        init_ops: the ops that run once after the values are set, for example to fill tables.
        asset_feeds: tensor -> path of its asset: the feeds of these ops.
        variable_paths: variable -> its path of attributes from the saved object, with slashes; if it is known.
        serving: the signatures of a SavedModel, and the opened signature.
        packed: for a function: makes its return value from its results.
        lack: why a variable has no value, if the file with the values is missing.
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
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    signature: str = ""
    other_signatures: Mapping[str, Ends] = field(default_factory=dict)
    init_ops: Sequence[str] = ()
    asset_feeds: Mapping[str, str] = field(default_factory=dict)
    variable_paths: Mapping[str, str] = field(default_factory=dict)
    serving: ServingInfo = field(default_factory=ServingInfo)
    packed: Callable[[Sequence[Any]], Any] | None = None
    lack: str = ""
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

    def defaults_of(self, name: str) -> Mapping[str, Any]:
        """Returns the defaults of a signature: argument -> array."""
        if name in self.served_names:
            return self.defaults
        return next((one.defaults for one in self.serving.signatures if one.name == name), {})

    @property
    def ends(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The input and output tensors of the opened signature or function; if neither is opened, of all signatures.

        A sparse tensor is represented by its values.
        """

        def tensors(ends: Mapping[str, str]) -> list[str]:
            stems = [key.removesuffix("_values") for key in ends if key.endswith("_values")]
            parts = {f"{stem}_{part}" for stem in stems for part in ("indices", "dense_shape")}
            return [tensor for key, tensor in ends.items() if key not in parts]

        own = (self.inputs, self.outputs)
        sides = [own] if self.outputs else [own, *self.other_signatures.values()]
        inputs, outputs = (tuple(dict.fromkeys(t for one in sides for t in tensors(one[side]))) for side in (0, 1))
        return inputs, outputs

    def renamed(self, names: Mapping[str, str]) -> OpenedGraph:
        """Returns the description of the same model after ops are renamed.

        Args:
            names: op -> its new name.
        """

        def new(ends: Mapping[str, str]) -> dict[str, str]:
            return {key: rename_input(tensor, names) for key, tensor in ends.items()}

        others = {name: (new(inputs), new(outputs)) for name, (inputs, outputs) in self.other_signatures.items()}
        feeds = {rename_input(tensor, names): path for tensor, path in self.asset_feeds.items()}
        return replace(
            self, inputs=new(self.inputs), outputs=new(self.outputs), other_signatures=others,
            init_ops=[names.get(op, op) for op in self.init_ops], asset_feeds=feeds,
            variable_paths={names.get(op, op): path for op, path in self.variable_paths.items()},
        )  # fmt: skip

    def of(self, graph: Any, title: str) -> OpenedGraph:
        """Returns the description of the same model in another graph with the same names, without values and layers."""
        serving = replace(self.serving, other=None)  # the variables of this graph have no keys in the file
        return replace(
            self, graph=graph, title=title, code="", session=None, values=None, serving=serving, lack="",
            layers=NO_LAYERS, origin=None, file=None,
        )  # fmt: skip

    def made_of(
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

    def within(self, ops: Container[str]) -> OpenedGraph:
        """Returns the same description without the inputs and outputs that are not among some ops."""

        def there(ends: Mapping[str, str]) -> dict[str, str]:
            return {key: tensor for key, tensor in ends.items() if op_name(tensor) in ops}

        others = {name: (there(inputs), there(outputs)) for name, (inputs, outputs) in self.other_signatures.items()}
        return replace(self, inputs=there(self.inputs), outputs=there(self.outputs), other_signatures=others)

    def end_texts(self) -> dict[str, str]:
        """Returns the input and output tensors of signatures and of a function -> a description of each."""
        out: dict[str, str] = {}
        for side, (ends, word, other) in enumerate(
            ((self.inputs, "input", "an input"), (self.outputs, "output", "an output"))
        ):
            others = (tensor for one in self.other_signatures.values() for tensor in one[side].values())
            out |= dict.fromkeys(others, other) | {tensor: f"the {word} {key!r}" for key, tensor in ends.items()}
        return out

    @property
    def live(self) -> bool:
        """Whether it was opened from a live graph or session, and not from a file."""
        return self.code in LIVE


_HELPER_TYPES = (
    "NoOp",
    "Assign",
    "AssignVariableOp",
    "Assert",
    "SaveV2",
    "RestoreV2",
    "VarIsInitializedOp",
    "Const",
    "ReadVariableOp",
    "Placeholder",
    "PlaceholderV2",
)

#: Unused ops of gradients and shape computations; listed after other outputs.
_HELPERS = ("Shape", "ShapeN", "Size", "Rank", "ZerosLike", "OnesLike", "Fill", "BroadcastGradientArgs", "Squeeze")
#: Ops with several results, each read through a separate Identity or Exit.
_CALL_TYPES = ("While", "StatelessWhile", "If", "StatelessIf", "Case", "StatelessCase", "PartitionedCall",
           "StatefulPartitionedCall", "Switch")  # fmt: skip


def placeholders_in(graph: Graph, ops: Mask) -> list[str]:
    """Returns the tensors that must be fed to run some ops: the outputs of their placeholders."""
    return [f"{graph.names[i]}:0" for i in np.flatnonzero(ops & graph.typed(PLACEHOLDER_TYPES)).tolist()]


def outputs_of(graph: Graph) -> list[str]:
    """Returns the likely outputs of a graph without a signature: tensors without consumers, results first.

    Orphans, and helpers such as the read op of a variable, are left out.

    Example:
        >>> g = Graph.of([("x", "Placeholder", []), ("c", "Const", []), ("s", "Shape", ["x"]), ("y", "Neg", ["x"])])
        >>> outputs_of(g)
        ['y:0', 's:0']
    """
    has_consumers = np.zeros(graph.size, np.bool_)
    has_consumers[graph.data.node] = True
    quiet = graph.typed([*_HELPER_TYPES, *VARIABLE_TYPES])
    candidates = np.flatnonzero(~has_consumers & ~quiet & ~orphan_mask(graph))
    exits = np.flatnonzero((graph.type_array == "Exit") & has_consumers).tolist()
    loop_scopes = {graph.names[i].rpartition("/")[0] for i in exits}
    candidates = np.array(
        [i for i in candidates.tolist() if not _is_leftover(graph, i, has_consumers, loop_scopes)], np.int64
    )
    # Outputs that depend on a feed come first: they are the results. Unused helpers follow, then gradients.
    fed = forward(graph, graph.typed(FEED_TYPES), control=False)
    helper = graph.typed(_HELPERS)
    rank = 4 * training_ops(graph)[candidates] + 2 * ~fed[candidates] + helper[candidates]
    order = candidates[np.argsort(rank, kind="stable")].tolist()
    return [f"{graph.names[i]}:0" for i in order if graph.outputs(i) is None or graph.outputs(i)]


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
