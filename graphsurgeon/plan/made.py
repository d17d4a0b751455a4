"""Made: the ops that a plan has made in a live graph, and the values that they still need."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..graph.live import TFGraph, TFNodeDef, TFOp, TFVariable
from ..graph.variables import VariableInfo


@dataclass
class Made:
    """The result of a plan in the live graph.

    Args:
        graph: the destination.
        ops: names of the new ops.
        nodes: the NodeDefs that were added; dropped once they are confirmed.
        live: name -> new op; dropped once all that Python keeps is there.
        variables: new variable op name -> `tf.Variable` object, if it could be built.
        carried: the same for variables of the old graph, in a materialised one.
        origins: in a graph built anew, variable -> the variable of the old graph that it is.
        infos: new variable op name -> its parts, by names of the destination.
        values: new variable op name -> the value it is to get: an array, or a `Stored` that is read when it is needed.
        untrained: new variable op name, or constant -> why it has an initial value, though values were given.
        frozen: name of a new constant -> the value of the variable it freezes; dropped once it is made.
        initial: new variable op names that start from their initial value.
        collections: (name, item) pairs added, in order.
        init_ops: ops that the source runs once before use, such as the init op of a SavedModel, with their feeds.
        missed: control-flow contexts of which the copy has only a part: gradients cannot go through these.
    """

    graph: TFGraph
    ops: list[str] = field(default_factory=list)
    nodes: Sequence[TFNodeDef] = ()
    live: Mapping[str, TFOp] = field(default_factory=dict)
    variables: dict[str, TFVariable] = field(default_factory=dict)
    carried: dict[str, TFVariable] = field(default_factory=dict)
    origins: dict[str, str] = field(default_factory=dict)
    infos: dict[str, VariableInfo] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    untrained: dict[str, str] = field(default_factory=dict)
    frozen: dict[str, Any] = field(default_factory=dict)
    initial: list[str] = field(default_factory=list)
    collections: list[tuple[str, Any]] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)
    init_ops: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
