"""Opened: a live graph that was opened, and all that is known of it by then."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

from ..errors import OpenError
from .graph import Graph
from .layers import NO_LAYERS, Layers
from .live import TFGraph, TFSession
from .signatures import Serving

LIVE = ("gs.open(graph)", "gs.open(session)")


class Unmade:
    """Stands for the live graph of a file that TensorFlow refuses: it is there to look at, and what runs says why.

    Args:
        refusal: why there is no live graph.
        functions: the functions that the file holds, by name.
    """

    def __init__(self, refusal: OpenError, functions: Mapping[str, Any]) -> None:
        self.refusal, self._functions = refusal, functions

    def refuse(self) -> NoReturn:
        """Says why there is no live graph; raises OpenError."""
        raise OpenError(self.refusal.asked, self.refusal.wrong, self.refusal.instead)

    def __getattr__(self, name: str) -> Any:
        if name.startswith(("__", "graphsurgeon")):  # what Python asks of any object, and this package notes on it
            raise AttributeError(name)
        self.refuse()


@dataclass(frozen=True)
class Opened:
    """What was opened.

    Args:
        graph: the live graph, or what stands for it where TensorFlow refuses it.
        title: what to call it.
        code: the Python that opens it again; empty where nobody will ask for it.
        session: the session given, if one was.
        values: where its variables' values come from, if anywhere.
        inputs, outputs: of a function: argument or result -> name of its tensor.
        ends: names of the tensors that all signatures of a file feed and fetch; default: of the inputs and outputs.
        serving: the signatures of a SavedModel, and which of them was opened.
        packed: of a function: makes of its results what it returns.
        lack: why a variable has no value, where a file of values that belongs to the graph is not there.
        read: the snapshot, where the file was read without TensorFlow.
        layers: the Keras layers whose ops are in it.
    """

    graph: TFGraph | Unmade
    title: str = "graph"
    code: str = ""
    session: TFSession | None = None
    values: Any = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    ends: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    serving: Serving = field(default_factory=Serving)
    packed: Callable[[Sequence[Any]], Any] | None = None
    lack: str = ""
    read: Graph | None = None
    layers: Layers = NO_LAYERS

    def __post_init__(self) -> None:
        if not any(self.ends):
            object.__setattr__(self, "ends", (tuple(self.inputs.values()), tuple(self.outputs.values())))

    @property
    def refusal(self) -> OpenError | None:
        """Why TensorFlow refuses the graph, which can only be looked at then."""
        return self.graph.refusal if isinstance(self.graph, Unmade) else None

    @property
    def live(self) -> bool:
        """Whether it came from no file, but from a live graph or session."""
        return self.code in LIVE
