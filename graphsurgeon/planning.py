"""Planning: an empty plan, with what it takes of TensorFlow and of the picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .graph.graph import Graph
from .graph.match.pattern import Pattern
from .graph.opened import Unmade
from .history import log_of
from .plan.copied import Copied
from .plan.effect import Effect
from .plan.grafts import Piece, Tools
from .plan.plan import Fault, Plan


def new_plan(graph: Graph) -> Plan:
    """Returns an empty plan for the graph of a snapshot."""
    return Plan(
        graph, probe=_probe, picture=_picture, parts=_parts, notes=_notes, tools=_TOOLS, unproved=_unproved,
        opener=log_of, supply=_supply,
    )  # fmt: skip


def _probe(effect: Effect) -> list[Fault]:
    from .tf.edit.validation import judge

    owners = [effect.plan.base.owner, *(copied.source.owner for copied in effect.copies)]
    refusals = list(dict.fromkeys(owner.refusal for owner in owners if isinstance(owner, Unmade)))
    if refusals:
        return [Fault(refusal.asked, refusal.wrong, refusal.instead) for refusal in refusals]
    return judge(effect)


def _picture(plan: Plan) -> dict[str, str]:
    from .screen.pane import plan_picture

    return plan_picture(plan)


def _parts(things: Any) -> list[Any]:
    from .tf.copy.collection_items import parts_of

    return parts_of(things)


def _notes(copied: Copied) -> list[str]:
    from .tf.functions.library import report

    return report(copied)


def _unproved(copied: Copied) -> dict[str, str]:
    from .tf.copy.append import unproved_of

    return unproved_of(copied)


def _supply(effect: Effect) -> list[Fault]:
    from .tf.copy.append import value_faults

    return value_faults(effect)


def _trace(*given: Any) -> Piece:
    from .tf.edit.subgraphs import traced

    return traced(*given)


def _pattern(thing: Any, **about: Any) -> Pattern:
    from .tf.edit.patterns import as_pattern

    return as_pattern(thing, **about)


def _read(node: Any) -> Any:
    from .tf.edit.patterns import array_of

    return array_of(node)


def _collapsed(*given: Any) -> Callable[..., Any]:
    from .tf.edit.bodies import collapsed

    return collapsed(*given)


def _inlined(*given: Any) -> Callable[..., Any]:
    from .tf.edit.bodies import taken_apart

    return taken_apart(*given)


_TOOLS = Tools(_trace, _pattern, _read, _collapsed, _inlined)
