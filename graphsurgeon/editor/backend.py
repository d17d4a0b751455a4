"""Makes empty plans for an editor, with the functions of TensorFlow and of pictures that plans need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .. import tf
from ..errors import OpenError
from ..graph.control_flow import Loop
from ..graph.graph import Graph, Mask
from ..graph.layers import Layers
from ..graph.lazy_graph import lazy_graph_of
from ..graph.pattern import Pattern
from ..graph.types import TFNodeDef
from ..plan.adapters import Adapter
from ..plan.backend import Backend, BuiltSubgraph, GraphOpener, InsertionSite
from ..plan.copy_result import CopyResult
from ..plan.fault import Fault
from ..plan.plan import Plan
from ..plan.plan_result import InferenceResult, PlanResult
from ..plan.static_checks import unknown_fault
from .history import layers_of, log_of


def new_plan(graph: Graph) -> Plan:
    """Returns an empty plan for the graph of a snapshot."""
    return Plan(graph, backend=TENSORFLOW)


def _refusal(graph: Graph) -> OpenError | None:
    """Returns the error if TensorFlow refuses the whole graph of a snapshot, so that it can only be viewed."""
    waiting = lazy_graph_of(graph.owner)
    if waiting is None:
        return None
    waiting.check_importable()
    return waiting.refusal if waiting.is_view_only else None


class _TensorFlow(Backend):
    """The functions of TensorFlow, which is imported at the first call."""

    def infer_shapes(self, effect: PlanResult) -> InferenceResult:
        refusals = dict.fromkeys(map(_refusal, (effect.base, *(copied.source for copied in effect.copies))))
        faults = [Fault.from_error(refusal) for refusal in refusals if refusal is not None]
        faults += [] if (unknown := unknown_fault(effect)) is None else [unknown]
        return InferenceResult(tuple(faults)) if faults else tf.edit.validation.verdict(effect)

    def layers(self, graph: Graph) -> Layers:
        return layers_of(graph)

    def with_runtime_shapes(self, graph: Graph) -> Graph:
        if graph.unfolded is None:
            return tf.open.snapshot.materialize_graph(graph)
        return tf.functions.lower.inline_unfolded(graph)

    def value_faults(self, effect: PlanResult) -> list[Fault]:
        return tf.copy.append.value_faults(effect)

    def is_out_of_memory(self, error: BaseException) -> bool:
        return tf.protos.lacks_memory(error)

    def draw(self, effect: PlanResult, marks: Mapping[int, str], text: str) -> dict[str, str]:
        from ..ui.pane import plan_picture

        return plan_picture(effect, marks, text)

    def component_tensors(self, obj: Any) -> list[Any]:
        return tf.copy.python_state.parts_of(obj)

    def copy_notes(self, copy_result: CopyResult) -> list[str]:
        return tf.functions.definitions.describe_functions(copy_result) if _refusal(copy_result.source) is None else []

    def untrained_copies(self, copy_result: CopyResult) -> dict[str, str]:
        return tf.copy.append.initial_values_of(copy_result) if _refusal(copy_result.source) is None else {}

    def opener(self, graph: Graph) -> GraphOpener | None:
        return log_of(graph)

    def pattern(self, obj: Any, request: str, **options: Any) -> Pattern:
        return tf.edit.patterns.as_pattern(obj, **options, request="replace")

    def constant_array(self, node: TFNodeDef) -> Any:
        return tf.edit.patterns.array_of(node)

    def build_subgraphs(
        self, function: Callable[..., Any] | str, sites: Sequence[InsertionSite], graph: Graph, request: str
    ) -> BuiltSubgraph:
        return tf.edit.subgraphs.trace_sites(function, sites, graph, request)

    def adapter_builder(self, adapter: Adapter) -> Callable[..., Any]:
        return tf.edit.builders.adapter_builder(adapter)

    def collapse_builder(
        self, graph: Graph, mask: Mask, inputs: tuple[str, ...], outputs: tuple[str, ...], name: str
    ) -> Callable[..., Any]:
        return tf.edit.builders.collapse_ops(graph, mask, inputs, outputs, name)

    def branch_builder(self, graph: Graph, call: str, input_values: Mapping[str, Any]) -> Callable[..., Any]:
        return tf.edit.builders.branch_of(graph, call, input_values)

    def unroll_builder(self, graph: Graph, op: int, loop: Loop | None, times: int) -> Callable[..., Any]:
        return tf.edit.builders.unroll_loop(graph, op, loop, times)

    def inline_builder(self, graph: Graph, call: str, inside: Sequence[str] = ()) -> Callable[..., Any]:
        return tf.edit.builders.expand_call(graph, call, inside)


TENSORFLOW = _TensorFlow()
