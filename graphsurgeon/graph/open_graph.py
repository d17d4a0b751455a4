"""An opened live graph with its signatures, values and source."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .graph import TensorInfo
from .layers import NO_LAYERS, Layers
from .lazy_graph import LiveGraphAttribute
from .names import rename_input
from .tf_types import TFSession


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
    """An opened graph, with its source.

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
        ends: names of the tensors that all signatures of a file feed and fetch; default: of the inputs and outputs.
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
    ends: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    serving: ServingInfo = field(default_factory=ServingInfo)
    packed: Callable[[Sequence[Any]], Any] | None = None
    lack: str = ""
    layers: Layers = NO_LAYERS
    origin: Any = None
    assets: frozenset[str] = frozenset()
    file: OpenedFile | None = None

    def __post_init__(self) -> None:
        if not any(self.ends):
            object.__setattr__(self, "ends", (tuple(self.inputs.values()), tuple(self.outputs.values())))

    def ends_as(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Returns the ends of all signatures after ops are renamed, as arguments of another `OpenedGraph`.

        Args:
            names: op -> its new name.
        """

        def renamed(inputs: Mapping[str, str], outputs: Mapping[str, str]) -> Ends:
            first, last = (
                {key: rename_input(tensor, names) for key, tensor in side.items()} for side in (inputs, outputs)
            )
            return first, last

        inputs, outputs = renamed(self.inputs, self.outputs)
        first, last = (tuple(rename_input(tensor, names) for tensor in ends) for ends in self.ends)
        others = {name: renamed(*ends) for name, ends in self.other_signatures.items()}
        return {"inputs": inputs, "outputs": outputs, "other_signatures": others, "ends": (first, last)}

    def signature_tensors(self, names: Mapping[str, str]) -> dict[str, str]:
        """Returns the input and output tensors of signatures and of a function -> a description of each.

        Args:
            names: op -> its current name.
        """
        out: dict[str, str] = {}
        words = (("the input", "an input"), ("the output", "an output"))
        for (singular, one), tensors, names_map in zip(words, self.ends, (self.inputs, self.outputs), strict=True):
            texts = {tensor: f"{singular} {key!r}" for key, tensor in names_map.items()}
            out |= {rename_input(tensor, names): texts.get(tensor, one) for tensor in (*texts, *tensors)}
        return out

    @property
    def live(self) -> bool:
        """Whether it was opened from a live graph or session, and not from a file."""
        return self.code in LIVE
