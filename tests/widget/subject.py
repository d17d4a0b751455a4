"""A subject without TensorFlow: a graph of plain ops that a real screen shows, plans over and changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from graphsurgeon.editor.history import Changes, History
from graphsurgeon.errors import PlanError, SelectionError
from graphsurgeon.graph.explain import explain
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.layers import NO_LAYERS, Layers
from graphsurgeon.graph.open_graph import OpenedGraph
from graphsurgeon.graph.pattern import Pattern
from graphsurgeon.graph.selection import Selection, select
from graphsurgeon.plan.plan import Plan
from graphsurgeon.plan.recipe_registry import Recipe
from graphsurgeon.plan.removal import find_removal_blockers
from graphsurgeon.ui.screen import Screen
from tests.plain import plain, variable

Ops = Sequence[tuple[str, str, Sequence[str]]]

_CONV, _INFO = variable("conv0/weights")
_HEAD, _HEAD_INFO = variable("head/weights")
NET: Ops = [
    ("images", "Placeholder", []),
    *_CONV,
    ("conv0/Conv2D", "Conv2D", ["images:0", "conv0/weights/read:0"]),
    ("conv0/FusedBatchNorm", "FusedBatchNormV3", ["conv0/Conv2D:0"]),
    ("conv0/Relu", "Relu", ["conv0/FusedBatchNorm:0"]),
    ("keep_prob", "Placeholder", []),
    ("split", "Split", ["conv0/Relu:0"]),
    ("mixed/a/Conv2D", "Conv2D", ["split:0"]),
    ("mixed/a/Relu", "Relu", ["mixed/a/Conv2D:0"]),
    ("mixed/b/Conv2D", "Conv2D", ["split:1"]),
    ("mixed/b/Dropout", "Mul", ["mixed/b/Conv2D:0", "keep_prob:0"]),
    ("mixed/concat", "ConcatV2", ["mixed/a/Relu:0", "mixed/b/Dropout:0"]),
    *(
        (f"block_{i}/{leaf}", kind, [source])
        for i in range(5)
        for leaf, kind, source in [
            ("MatMul", "MatMul", f"block_{i - 1}/Add:0" if i else "mixed/concat:0"),
            ("Add", "AddV2", f"block_{i}/MatMul:0"),
        ]
    ),
    *_HEAD,
    ("head/MatMul", "MatMul", ["block_4/Add:0", "head/weights/read:0"]),
    ("head/BiasAdd", "BiasAdd", ["head/MatMul:0"]),
    ("softmax2", "Softmax", ["head/BiasAdd:0"]),
    ("init", "NoOp", ["^softmax2"]),
]
SCALE: Ops = [("photos", "Placeholder", []), ("scale", "Mul", ["photos:0"])]
_SHAPE = ("float32", (None, 56, 56, 64))
HOSTILE = [
    "<img src=x onerror=window.hacked=1>", "</text><script>window.hacked=1</script>", "a\" onload=\"window.hacked=1",
    "javascript:window.hacked=1", "&lt;b&gt;&amp;", "\u202egnp.exe\u202c", "x" * 100_000, "nul\x00line\nbreak",
]  # fmt: skip


def graph_of(ops: Ops, title: str) -> Graph:
    """Returns a graph in which a Split has two outputs."""
    split = {name: [_SHAPE, _SHAPE] for name, kind, _ in ops if kind == "Split"}
    infos = [info for info in (_INFO, _HEAD_INFO) if any(name == info.op for name, _, _ in ops)]
    return plain(*ops, outputs=split, variables=infos, title=title)


class PlainFacts:
    """What is known of ops without TensorFlow: nothing."""

    attribute_text = staticmethod(str)

    def documentation(self, op_type: str) -> str:
        return ""

    def op_types(self, query: str = "", like: str = "", inputs: int | None = None) -> list[tuple[str, str]]:
        return [(kind, "") for kind in ("Elu", "Relu6", "Selu") if query.lower() in kind.lower()]

    def attributes(self, node: Any) -> list[tuple[str, str, list[str]]]:
        return []

    def constant_value(self, node: Any, most: int = 0) -> Any:
        return None

    def function_body(self, graph: Graph, function: str, op: int, made: dict[Any, Graph]) -> Graph:
        raise SelectionError("unfold()", "there are no functions here", "Look at the ops")

    def flops(self, graph: Graph, ops: Sequence[int]) -> tuple[int, bool]:
        return 0, False

    def pattern(self, selection: Selection) -> Any:
        return Pattern.from_graph(selection)

    def check_inserted(self, op_type: str, name: str) -> None:
        """Any op will do."""

    def check_attribute(self, op_type: str, op: str, name: str, value: Any) -> None:
        """Any value will do."""


@dataclass(eq=False)
class Applied:
    """One applied plan: what it did, and the graph before and after."""

    effect: Any
    replaced_graph: Graph
    after: Graph
    text: str
    number: int = 1
    undone: bool = False
    discarded: bool = False

    @property
    def result(self) -> Applied:
        return self


@dataclass(eq=False)
class PlainSubject:
    """What a `Screen` needs of an editor, over a graph that is nothing but its snapshot."""

    snapshot: Graph
    history: Any = field(default_factory=History)
    opened_graph: OpenedGraph = field(default_factory=lambda: OpenedGraph(None))
    values: SimpleNamespace = field(
        default_factory=lambda: SimpleNamespace(has_values=False, missing_text="", init_ops=([], {}))
    )
    layers: Layers = NO_LAYERS
    orphans: frozenset[str] = frozenset()
    changes: Changes = field(default_factory=Changes)

    @property
    def title(self) -> str:
        return self.snapshot.title

    def plan(self) -> Plan:
        return Plan(self.snapshot)

    def apply(self, plan: Plan) -> Applied:
        faults = plan.check()
        if faults:
            raise faults[0].to_error(len(faults) - 1)
        text, number = "; ".join(step.describe() for step in plan.steps), len(self.history) + 1
        done = Applied(plan.effect, self.snapshot, plan.after(), text, number)
        self.history.append(done)
        return self._turned(done, False)

    def undo(self) -> Applied:
        done = next((event for event in reversed(self.history) if not event.undone), None)
        if done is None:
            raise PlanError("undo()", "there is nothing to take back", "Apply a plan first")
        return self._turned(done, True)

    def redo(self) -> Applied:
        done = next((event for event in self.history if event.undone), None)
        if done is None:
            raise PlanError("redo()", "nothing was taken back", "Take something back first")
        return self._turned(done, False)

    def _turned(self, done: Applied, undone: bool) -> Applied:
        done.undone, self.snapshot = undone, done.replaced_graph if undone else done.after
        self.changes.notify()
        return done

    def select(self, *, inputs: Any = None, outputs: Any = None) -> Selection:
        return select(self.snapshot, inputs=inputs, outputs=outputs)

    def value(self, name: str) -> Any:
        raise SelectionError(f"value({name!r})", "there are no values here", "Look at the ops")

    def provenance(self, thing: Any) -> Any:
        return SimpleNamespace(kind="original", changes=())

    def explain(self, name: Any, selection: Selection) -> Any:
        return explain(self.snapshot, name, selection)

    def removal_blockers(self, name: Any) -> Any:
        return find_removal_blockers(self.snapshot, name)


def plain_screen(
    ops: Ops = NET, destination: Ops | None = SCALE, kind: type[Screen] = Screen, recipes: Sequence[Recipe] = ()
) -> Screen:
    """Returns a screen of plain ops at the left, all folded, and of others that the plan changes."""
    source = PlainSubject(graph_of(ops, "inception.pb"))
    there = source if destination is None else PlainSubject(graph_of(destination, "destination"))
    screen = kind(there, source, facts=PlainFacts(), recipes=lambda: recipes)
    screen.set_depth(0)
    screen.set_direction("TB")
    return screen
