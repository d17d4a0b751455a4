"""Backend: the functions that planning needs from TensorFlow and from the drawing of graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ..errors import PlanError, is_memory_error
from ..graph.boundary import Tensor
from ..graph.control_flow import Loop
from ..graph.graph import Graph, Mask
from ..graph.layers import NO_LAYERS, Layers
from ..graph.match.pattern import Pattern
from ..graph.tf_types import TFNodeDef
from .adapters import Adapter
from .copy_result import CopyResult
from .effect import InferenceResult, PlanResult
from .fault import Fault

_INSTEAD = "Make the plan with gs.open(graph).plan()"


@dataclass(frozen=True, eq=False)
class InsertionSite:
    """One place that gets a subgraph.

    Args:
        scope: the name scope of its ops.
        inputs: argument of the function -> tensor of the graph, by op number and output.
        outputs: the expected results of the function, by name, in order.
        match: the match that is replaced, if there is one.
    """

    scope: str
    inputs: Mapping[str, Tensor]
    outputs: tuple[str, ...]
    match: Any = None


@dataclass(frozen=True, eq=False)
class BuiltSubgraph:
    """The subgraphs for some sites, built in a separate graph.

    Args:
        graph: snapshot of that graph.
        inputs: name of a placeholder there -> tensor of the graph that the plan is for.
        outputs: for each site, output -> name of a tensor there.
    """

    graph: Graph
    inputs: Mapping[str, Tensor]
    outputs: tuple[Mapping[str, str], ...]


class GraphOpener(Protocol):
    """Knows how a graph was opened."""

    code: str

    def gives(self, graph: Graph) -> bool:
        """Whether the code gives a graph as it is in a snapshot."""


class Backend:
    """The functions that a plan calls. These return no information, which is enough for plain snapshots."""

    def settled(self, graph: Graph) -> Graph:
        """Returns the snapshot to plan on; for a graph that was only read from its file, with the runtime's shapes."""
        return graph

    def layers(self, graph: Graph) -> Layers:
        """Returns the Keras layers of a graph."""
        return NO_LAYERS

    def verdict(self, effect: PlanResult) -> InferenceResult:
        """Returns what shape inference says of an effect that is faultless else."""
        return InferenceResult()

    def value_faults(self, effect: PlanResult) -> list[Fault]:
        """Returns why the values for copies are not available; computed at each call, because sessions change."""
        return []

    def check(self, effect: PlanResult) -> tuple[Fault, ...]:
        """Returns every fault of an effect at once."""
        return effect.verdict.faults or tuple(self.value_faults(effect))

    def lacks_memory(self, error: BaseException) -> bool:
        """Returns whether an error means that memory has run out."""
        return is_memory_error(error)

    def picture(self, effect: PlanResult, marks: Mapping[int, str], text: str) -> dict[str, str]:
        """Returns a drawing of an effect, as mime type -> text.

        Args:
            effect: the effect.
            marks: op number -> how it is marked.
            text: the text to show if the picture cannot be shown.
        """
        return {}

    def parts(self, thing: Any) -> list[Any]:
        """Takes an object apart into the tensors it is made of, for example a SparseTensor."""
        return [thing]

    def notes(self, copied: CopyResult) -> list[str]:
        """Returns the parts of a copy that are not in the snapshot, such as functions, in sentences."""
        return []

    def unproved(self, copied: CopyResult) -> dict[str, str]:
        """Returns which variables a copy would get initial values of, though it was given values, and why."""
        return {}

    def opener(self, graph: Graph) -> GraphOpener | None:
        """Returns the opener of the graph of a snapshot; None if the graph was not opened."""
        return None

    def pattern(self, thing: Any, request: str, **about: Any) -> Pattern:
        """Makes a pattern of a function, a selection, a small graph."""
        if isinstance(thing, Pattern):
            return thing
        raise PlanError(request, "this plan was made without TensorFlow", _INSTEAD)

    def array(self, node: TFNodeDef) -> Any:
        """Returns the array that a constant holds."""
        return None

    def built(
        self, function: Callable[..., Any] | str, sites: Sequence[InsertionSite], graph: Graph, request: str
    ) -> BuiltSubgraph:
        """Builds the subgraphs that a function, or an op type, makes for some sites of a graph."""
        raise PlanError(request, "this plan was made without TensorFlow", _INSTEAD)

    def adapting(self, adapter: Adapter) -> Callable[..., Any]:
        """Returns a function of a tensor that builds an adapter: the result has the name of the scope itself."""
        raise PlanError("adapt()", "this plan was made without TensorFlow", _INSTEAD)

    def collapsed(
        self, graph: Graph, mask: Mask, inputs: tuple[str, ...], outputs: tuple[str, ...], name: str
    ) -> Callable[..., Any]:
        """Returns a function that builds one call of the function of these ops."""
        raise PlanError("collapse()", "this plan was made without TensorFlow", _INSTEAD)

    def branch(self, graph: Graph, call: str, answers: Mapping[str, Any]) -> Callable[..., Any]:
        """Returns a function that builds the branch of a v2 cond or case whose condition is known."""
        raise PlanError("resolve_condition()", "this plan was made without TensorFlow", _INSTEAD)

    def unrolled(self, graph: Graph, op: int, loop: Loop | None, times: int) -> Callable[..., Any]:
        """Returns a function that builds some rounds of a loop: of a v2 While, or of TF1, which is given too."""
        raise PlanError("unroll()", "this plan was made without TensorFlow", _INSTEAD)

    def inlined(self, graph: Graph, call: str, inside: Sequence[str] = ()) -> Callable[..., Any]:
        """Returns a function that builds the body of a function call, with some conds and loops in it opened too."""
        raise PlanError("inline()", "this plan was made without TensorFlow", _INSTEAD)
