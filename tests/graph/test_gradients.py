"""Gradient ops, and the changes of their forward ops that they do not follow."""

from __future__ import annotations

import pytest

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.training import Gradients
from graphsurgeon.plan.plan import Plan

ROWS = [
    ("x", "Placeholder", []),
    ("k", "Placeholder", []),
    ("w", "VariableV2", []),
    ("w/read", "Identity", ["w"]),
    ("h", "MatMul", ["x", "w/read"]),
    ("same", "Identity", ["h"]),
    ("r", "Relu", ["same"]),
    ("best", "ArgMax", ["h", "k"]),
    ("loss", "Mean", ["r", "k"]),
    ("gradients/loss_grad/Tile", "Tile", ["k"]),
    ("gradients/r_grad/ReluGrad", "ReluGrad", ["gradients/loss_grad/Tile", "r"]),
    ("gradients/h_grad/MatMul_1", "MatMul", ["x", "gradients/r_grad/ReluGrad"]),
    ("train", "ApplyGradientDescent", ["w", "k", "gradients/h_grad/MatMul_1"]),
    ("other", "VariableV2", []),
    ("v", "Tanh", ["w/read"]),
]


def of(rows=ROWS):
    return Plan(Graph.from_ops(rows))


def said(plan):
    assert plan.check() == ()
    return [text for text in plan.effect.warnings if "gradient" in text]


def test_gradient_ops_are_told_by_the_names_of_what_they_are_the_gradient_of():
    graph = Graph.from_ops(ROWS)
    found = Gradients(graph)
    assert [graph.names[i] for i in found.ops.nonzero()[0]] == [row[0] for row in ROWS if row[0].startswith("grad")]
    assert [graph.names[i] for i in found.with_gradient.nonzero()[0]] == ["h", "r", "loss"]


@pytest.mark.parametrize("root", ["gradients", "train/gradients_1", "slopes"])
def test_the_scope_of_gradients_may_have_any_name(root):
    graph = Graph.from_ops([("a/h", "Tanh", []), (f"{root}/a/h_grad/TanhGrad", "TanhGrad", ["a/h"])])
    assert Gradients(graph).with_gradient.tolist() == [True, False]


def test_gradients_of_a_copy_are_told_in_its_scope():
    graph = Graph.from_ops([("c/a/h", "Tanh", []), ("c/gradients/a/h_grad/TanhGrad", "TanhGrad", ["c/a/h"])])
    assert Gradients(graph).with_gradient.tolist() == [True, False]


def test_a_name_like_a_gradient_of_no_op_is_none():
    graph = Graph.from_ops([("clip_grad/Neg", "Neg", []), ("h_grad/Neg", "Neg", []), ("h", "Neg", [])])
    assert not Gradients(graph).ops.any()


@pytest.mark.parametrize("tensor", ["h:0", "same:0", "r:0", "w/read:0"])
def test_an_op_put_where_a_gradient_goes_is_told(tensor):
    (text,) = said(of().insert("Tanh", on=tensor, name="sq"))
    assert "gradients/h_grad/MatMul_1" in text
    assert "differentiate again" in text
    assert "train op" in text


def test_the_ops_are_counted_and_named():
    (text,) = said(of().insert("Tanh", on="h:0", name="sq"))
    assert text == (
        "stale gradients: 1 op (gradients/h_grad/MatMul_1) was derived before same changed; "
        "differentiate again, and make the train op again"
    )


@pytest.mark.parametrize(
    "edit",
    [
        lambda plan: plan.insert("Tanh", on="x:0", name="sq"),
        lambda plan: plan.reroute("x:0", to="k:0"),
        lambda plan: plan.insert("Identity", on="h:0", name="probe"),
        lambda plan: plan.bypass("same"),
        lambda plan: plan.insert("Tanh", on="h:0", name="sq", only=["best"]),
        lambda plan: plan.insert("Tanh", on="gradients/h_grad/MatMul_1:0", name="clip"),
        lambda plan: plan.reroute("k:0", to="x:0", only=["best"]),
    ],
    ids=["input", "other_input", "probe", "no_probe", "other_reader", "gradient_itself", "no_gradient"],
)
def test_nothing_is_said_where_no_gradient_is_concerned(edit):
    assert said(edit(of())) == []


def test_an_input_that_is_computed_from_what_is_trained_is_told():
    (text,) = said(of().reroute("x:0", to="v:0"))
    assert "before h changed" in text


def test_an_op_that_computes_something_else_is_told():
    (text,) = said(of().set_attr("h", "transpose_a", True))
    assert "before h changed" in text
    assert said(of().set_attr("best", "keep", True)) == []
    assert said(of().set_attr("h", "_note", "x")) == []


def test_a_gradient_that_reads_the_old_tensor_still_is_told():
    (text,) = said(of().reroute("x:0", to="k:0", only=["h"]))
    assert "before h changed" in text


def test_nothing_is_said_of_gradients_that_go_too():
    gone = [row[0] for row in ROWS if row[0].startswith("gradients/")] + ["train"]
    assert said(of().remove(gone).insert("Tanh", on="h:0", name="sq")) == []


def test_a_name_that_changes_changes_nothing_in_it():
    (text,) = said(of().rename("h", "new").insert("Tanh", on="new:0", name="sq"))
    assert "gradients/h_grad/MatMul_1" in text
    assert said(of().rename("h", "new")) == []


def test_where_nothing_was_differentiated_nothing_is_said():
    rows = [row for row in ROWS if not row[0].startswith("gradients/") and row[0] != "train"]
    assert said(of(rows).insert("Tanh", on="h:0", name="sq")) == []
