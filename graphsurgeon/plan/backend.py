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
from ..graph.pattern import Pattern
from ..graph.types import TFNodeDef
from .adapters import Adapter
from .copy_result import CopyResult
from .fault import Fault
from .plan_result import InferenceResult, PlanResult

_INSTEAD = "Make the plan with gs.open(graph).plan()"


@dataclass(frozen=True, eq=False)
class InsertionSite:
    """A place where a subgraph is inserted.

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
        graph: the snapshot of the separate graph.
        inputs: name of a placeholder in `graph` -> tensor of the graph that the plan is for.
        outputs: for each site, output -> name of a tensor in `graph`.
    """

    graph: Graph
    inputs: Mapping[str, Tensor]
    outputs: tuple[Mapping[str, str], ...]


class GraphOpener(Protocol):
    """The code that opened a graph."""

    code: str

    def reproduces(self, graph: Graph) -> bool:
        """Returns whether running the code again opens a graph that equals a snapshot."""


class Backend:
    """The functions that a plan calls. These defaults return no information, which is enough for plain snapshots."""

    def with_runtime_shapes(self, graph: Graph) -> Graph:
        """Returns the snapshot to plan on; a graph that was only read from a file gets the shapes of the runtime."""
        return graph

    def layers(self, graph: Graph) -> Layers:
        """Returns the Keras layers of a graph."""
        return NO_LAYERS

    def infer_shapes(self, effect: PlanResult) -> InferenceResult:
        """Returns the result of shape inference for an effect that has no other faults."""
        return InferenceResult()

    def value_faults(self, effect: PlanResult) -> list[Fault]:
        """Returns the faults of missing values for copies; computed at each call, because sessions change."""
        return []

    def check(self, effect: PlanResult) -> tuple[Fault, ...]:
        """Returns every fault of an effect at once."""
        return effect.inference.faults or tuple(self.value_faults(effect))

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Returns whether an error means that memory has run out."""
        return is_memory_error(error)

    def draw(self, effect: PlanResult, marks: Mapping[int, str], text: str) -> dict[str, str]:
        """Returns a drawing of an effect, as mime type -> text.

        Args:
            effect: the effect.
            marks: op number -> how it is marked.
            text: the text to show if the picture cannot be shown.
        """
        return {}

    def component_tensors(self, obj: Any) -> list[Any]:
        """Returns the tensors that an object, for example a SparseTensor, is made of."""
        return [obj]

    def copy_notes(self, copy_result: CopyResult) -> list[str]:
        """Returns sentences about the parts of a copy that are not in the snapshot, such as functions."""
        return []

    def untrained_copies(self, copy_result: CopyResult) -> dict[str, str]:
        """Returns variable -> reason, for variables that would get initial values although the copy has values."""
        return {}

    def opener(self, graph: Graph) -> GraphOpener | None:
        """Returns the opener of the graph of a snapshot; None if the graph was not opened."""
        return None

    def pattern(self, obj: Any, request: str, **options: Any) -> Pattern:
        """Makes a pattern of a function, a selection or a small graph."""
        if isinstance(obj, Pattern):
            return obj
        raise PlanError(request, "this plan was made without TensorFlow", _INSTEAD)

    def constant_array(self, node: TFNodeDef) -> Any:
        """Returns the array of a constant."""
        return None

    def build_subgraphs(
        self, function: Callable[..., Any] | str, sites: Sequence[InsertionSite], graph: Graph, request: str
    ) -> BuiltSubgraph:
        """Builds the subgraphs that a function, or an op type, makes for some sites of a graph."""
        raise PlanError(request, "this plan was made without TensorFlow", _INSTEAD)

    def adapter_builder(self, adapter: Adapter) -> Callable[..., Any]:
        """Returns a function that builds an adapter for a tensor; its last op has the name of the scope."""
        raise PlanError("adapt()", "this plan was made without TensorFlow", _INSTEAD)

    def collapse_builder(
        self, graph: Graph, mask: Mask, inputs: tuple[str, ...], outputs: tuple[str, ...], name: str
    ) -> Callable[..., Any]:
        """Returns a function that builds a call of a new graph function, which contains these ops."""
        raise PlanError("collapse()", "this plan was made without TensorFlow", _INSTEAD)

    def branch_builder(self, graph: Graph, call: str, input_values: Mapping[str, Any]) -> Callable[..., Any]:
        """Returns a function that builds the branch of a v2 cond or case whose condition is known."""
        raise PlanError("resolve_condition()", "this plan was made without TensorFlow", _INSTEAD)

    def unroll_builder(self, graph: Graph, op: int, loop: Loop | None, times: int) -> Callable[..., Any]:
        """Returns a function that builds rounds of a loop: of the v2 While `op`, or of the TF1 loop `loop`."""
        raise PlanError("unroll()", "this plan was made without TensorFlow", _INSTEAD)

    def inline_builder(self, graph: Graph, call: str, inside: Sequence[str] = ()) -> Callable[..., Any]:
        """Returns a function that builds the body of a function call, with the conds and loops of `inside` inlined."""
        raise PlanError("inline()", "this plan was made without TensorFlow", _INSTEAD)
