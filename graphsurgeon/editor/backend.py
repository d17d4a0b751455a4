"""Makes empty plans for an editor, with the functions of TensorFlow and of pictures that plans need."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import OpenError
from ..graph.control_flow import Loop
from ..graph.graph import Graph, Mask
from ..graph.layers import Layers
from ..graph.lazy_graph import lazy_graph_of
from ..graph.pattern import Pattern
from ..graph.tf_types import TFNodeDef
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
    waiting.judge()
    return waiting.refusal if waiting.hopeless else None


class _TensorFlow(Backend):
    """The functions of TensorFlow, which is imported at the first call."""

    def verdict(self, effect: PlanResult) -> InferenceResult:
        from ..tf.edit.validation import verdict

        refusals = dict.fromkeys(map(_refusal, (effect.base, *(copied.source for copied in effect.copies))))
        faults = [Fault.of(refusal) for refusal in refusals if refusal is not None]
        faults += [] if (unknown := unknown_fault(effect)) is None else [unknown]
        return InferenceResult(tuple(faults)) if faults else verdict(effect)

    def layers(self, graph: Graph) -> Layers:
        return layers_of(graph)

    def settled(self, graph: Graph) -> Graph:
        from ..tf.functions.inline import inline_unfolded
        from ..tf.open.snapshot import materialize_graph

        return materialize_graph(graph) if graph.unfolded is None else inline_unfolded(graph)

    def value_faults(self, effect: PlanResult) -> list[Fault]:
        from ..tf.copy.append import value_faults

        return value_faults(effect)

    def lacks_memory(self, error: BaseException) -> bool:
        from ..tf.protos import lacks_memory

        return lacks_memory(error)

    def picture(self, effect: PlanResult, marks: Mapping[int, str], text: str) -> dict[str, str]:
        from ..ui.pane import plan_picture

        return plan_picture(effect, marks, text)

    def parts(self, thing: Any) -> list[Any]:
        from ..tf.copy.attachments import parts_of

        return parts_of(thing)

    def notes(self, copied: CopyResult) -> list[str]:
        from ..tf.functions.library import describe_functions

        return describe_functions(copied) if _refusal(copied.source) is None else []

    def untrained_copies(self, copied: CopyResult) -> dict[str, str]:
        from ..tf.copy.append import initial_values_of

        return initial_values_of(copied) if _refusal(copied.source) is None else {}

    def opener(self, graph: Graph) -> GraphOpener | None:
        return log_of(graph)

    def pattern(self, thing: Any, request: str, **about: Any) -> Pattern:
        from ..tf.edit.patterns import as_pattern

        return as_pattern(thing, **about, request="replace")

    def array(self, node: TFNodeDef) -> Any:
        from ..tf.edit.patterns import array_of

        return array_of(node)

    def built(
        self, function: Callable[..., Any] | str, sites: Sequence[InsertionSite], graph: Graph, request: str
    ) -> BuiltSubgraph:
        from ..tf.edit.subgraphs import trace_sites

        return trace_sites(function, sites, graph, request)

    def adapter_builder(self, adapter: Adapter) -> Callable[..., Any]:
        from ..tf.edit.builders import adapter_builder

        return adapter_builder(adapter)

    def collapse_builder(
        self, graph: Graph, mask: Mask, inputs: tuple[str, ...], outputs: tuple[str, ...], name: str
    ) -> Callable[..., Any]:
        from ..tf.edit.builders import collapse_ops

        return collapse_ops(graph, mask, inputs, outputs, name)

    def branch(self, graph: Graph, call: str, answers: Mapping[str, Any]) -> Callable[..., Any]:
        from ..tf.edit.builders import branch_of

        return branch_of(graph, call, answers)

    def unroll_builder(self, graph: Graph, op: int, loop: Loop | None, times: int) -> Callable[..., Any]:
        from ..tf.edit.builders import unroll_loop

        return unroll_loop(graph, op, loop, times)

    def inlined(self, graph: Graph, call: str, inside: Sequence[str] = ()) -> Callable[..., Any]:
        from ..tf.edit.builders import expand_call

        return expand_call(graph, call, inside)


TENSORFLOW = _TensorFlow()
