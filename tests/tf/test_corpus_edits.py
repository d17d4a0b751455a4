"""Random attributes of real graphs: what `check` passes is carried out as predicted, what it refuses is said whole."""

from __future__ import annotations

import random
from typing import Any

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from tests.corpus import corpus_cases
from tests.graphs import look
from tests.refusal import reads
from tests.test_edit_properties import REFUSALS, attribute_of
from tests.test_properties import edges

MOST_OPS, PLANS, STEPS = 400, 12, 2


def opens(item: Any) -> bool:
    """Whether an item is small and TensorFlow itself loads it."""
    return bool(item["n_ops"]) and item["n_ops"] <= MOST_OPS and item["expect"].startswith("loads")


def untrue(predicted: Any, found: Any) -> list[tuple[str, Any, Any]]:
    """Returns the ops of which a plan foresees what is not so; it may foresee nothing of shapes, and of changed ops."""
    wrong = []
    for number, name in enumerate(predicted.names):
        foreseen, real = predicted.outputs(number), found.outputs(found.index[name])
        if foreseen is not None and [t.dtype for t in foreseen] != [t.dtype for t in real]:
            wrong.append((name, foreseen, real))
        elif foreseen is not None:
            pairs = zip(foreseen, real, strict=True)
            if not all(tf.TensorShape(new.shape).is_subtype_of(tf.TensorShape(old.shape)) for old, new in pairs):
                wrong.append((name, foreseen, real))
    return wrong


@pytest.mark.parametrize("id", corpus_cases(opens, quick=8))
def test_attributes_set_at_random(id, corpus):
    tags = corpus.item(id)["run"].get("tags")
    ed = gs.open(corpus.path(id), tags=tags, raw=True).trust()
    graph, base, chance = ed.graph, ed.snapshot, random.Random(id)
    settable = [number for number, node in enumerate(base.nodes) if node.attr]
    before, taken = look(graph), 0
    for _ in range(PLANS if settable else 0):
        plan = ed.plan()
        for _ in range(chance.randint(1, STEPS)):
            number = chance.choice(settable)
            name, value = attribute_of(base.nodes[number], chance.randrange(1000), chance.randrange(1000))
            plan = plan.set_attr(base.names[number], name, value)
        faults = plan.check()
        for fault in faults:
            reads(fault)
            assert any(word in fault.problem for word in REFUSALS), str(fault)
        if faults:
            with pytest.raises(PlanError) as caught:
                ed.apply(plan)
            reads(caught.value, faults[0].request, faults[0].problem)
        else:
            ed.apply(plan)
            assert edges(ed.snapshot) == edges(plan.after())
            assert untrue(plan.after(), ed.snapshot) == []
            ed.undo()
            taken += 1
        assert ed.graph is graph
        assert look(graph) == before
