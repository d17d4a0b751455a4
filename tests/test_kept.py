"""What a page keeps of a plan and of marks is put back in another kernel, as data; what does not fit is refused."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.editor import serialization
from graphsurgeon.errors import PlanError
from tests.screen.screens import chain_of_ops, row_of_ops, traits


def planned(screen):
    """Returns what the page keeps of three steps and three marks."""
    screen.set_boundary(["a:0"], ["in/c:0"])
    screen.copy("copy")
    screen.set_input(0, "a:0", [1.0, 2.0])
    screen.connect("copy/in/c:0", "e")
    screen.rename("e", "f")
    return traits(screen)["plan"]


def test_steps_and_marks_come_back_and_are_kept_the_same():
    screen = row_of_ops()
    made = planned(screen)
    other = row_of_ops()
    assert traits(other)["plan"]["graphs_id"] == made["graphs_id"] != ""
    other.restore_draft(made["draft_text"])
    assert other.state.status.text == "restored: 3 steps and 2 marks"
    again = traits(other)["plan"]
    assert again["draft_text"] == made["draft_text"]
    assert again["connections"] == made["connections"] != []
    assert not again["faults"]
    assert other.state.marks == screen.state.marks
    other.undo()
    assert not other.draft.steps
    assert not other.state.marks.inputs
    assert traits(other)["plan"]["draft_text"] == ""
    other.redo()
    other.apply()
    assert "f" in other.destination.snapshot.index


def test_ops_and_values_of_the_source_come_back_too():
    def two():
        graph = chain_of_ops()
        with graph.as_default():
            tf.compat.v1.get_variable("v", [2])
        return gs.open(chain_of_ops(), title="to").view(source=gs.open(tf.compat.v1.Session(graph=graph), title="from"))

    screen, other = two()._screen, two()._screen
    screen.select(["v", "a", "in/"])
    screen.copy("copy")
    made = traits(screen)["plan"]
    other.restore_draft(made["draft_text"])
    assert traits(other)["plan"] == made
    assert other.draft.steps[0].selection.graph.owner is other.source.snapshot.owner


def test_a_plan_for_another_graph_of_this_name_is_tried_and_said_to_be_one():
    made = planned(row_of_ops())["draft_text"]
    graph = chain_of_ops()
    with graph.as_default():
        tf.constant(1.0, name="more")
    screen = gs.open(graph).screen
    screen.restore_draft(made)
    assert screen.state.status.text == "restored: 3 steps and 2 marks · it was made for another graph of this name"
    assert screen.state.status.level == "warn"
    assert screen.draft.effect.new_names
    with tf.Graph().as_default() as graph:
        tf.constant(1.0, name="a")
    screen = gs.open(graph).screen
    with pytest.raises(PlanError) as refused:
        screen.restore_draft(made)
    assert refused.value.request == "restore_draft()"
    assert refused.value.problem.startswith("it was made for another graph of this name: no op is called 'in/b'")
    assert refused.value.suggestion == "Run the code of the plan in a cell, or discard it"
    assert not screen.draft.steps
    assert not screen.state.marks.inputs


def test_a_step_that_cannot_be_kept_is_said():
    screen = row_of_ops()
    screen.select(["e"])
    screen.replace(["e"], lambda match, *inputs: tf.negative(*inputs))
    with pytest.raises(PlanError, match="Python function") as refused:
        row_of_ops().restore_draft(traits(screen)["plan"]["draft_text"])
    assert "which cannot be kept" in refused.value.problem


@pytest.mark.parametrize(
    "spoilt",
    [
        pytest.param(lambda text, data: "", id="nothing"),
        pytest.param(lambda text, data: text[: len(text) // 2 // 4 * 4], id="half"),
        pytest.param(lambda text, data: "é" + text, id="letters"),
        pytest.param(lambda text, data: packed([]), id="list"),
        pytest.param(lambda text, data: packed({**data, "marks": 3}), id="marks"),
        pytest.param(lambda text, data: packed({**data, "steps": [{"step": ["Code", {}]}]}), id="step"),
        pytest.param(lambda text, data: packed({**data, "lost": None}), id="lost"),
        pytest.param(lambda text, data: base64.b64encode(zlib.compress(bytes(1 << 25))).decode(), id="bomb"),
    ],
)
def test_what_is_spoilt_is_refused_and_changes_nothing(spoilt):
    made = planned(row_of_ops())["draft_text"]
    screen = row_of_ops()
    text = spoilt(made, json.loads(zlib.decompress(base64.b64decode(made))))
    with pytest.raises(PlanError, match="it cannot be made again"):
        screen.restore_draft(text)
    assert not screen.draft.steps


def packed(data) -> str:
    return base64.b64encode(zlib.compress(json.dumps(data).encode())).decode()


def test_what_is_too_much_for_a_page_is_kept_as_code_alone(monkeypatch):
    monkeypatch.setattr(serialization, "_MAX_DRAFT", 2_000)
    screen = row_of_ops()
    assert traits(screen)["plan"]["draft_text"] == ""
    planned(screen)
    screen.set_input(0, "a:0", np.random.default_rng(0).normal(size=2_000))
    plan = traits(screen)["plan"]
    assert plan["draft_text"] == ""
    assert plan["code"]
