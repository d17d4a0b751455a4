"""Ops that stand in for quantization, out and in."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.graph.conversion_verdict import Unconvertible
from tests.recipes.models import numbers, ran, refusal

tf1 = tf.compat.v1


def rounded():
    """Returns y = x @ w, both rounded, the result too."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        low, high = tf.constant(-3.0, name="low"), tf1.get_variable("high", initializer=3.0, use_resource=False)
        a = tf.quantization.fake_quant_with_min_max_vars(x, low, high, name="round_x")
        w = tf.quantization.fake_quant_with_min_max_args(tf.constant(numbers(4, 2), name="w"), name="round_w")
        h = tf.quantization.quantize_and_dequantize_v2(tf.matmul(a, w, name="h"), -3.0, 3.0)
        tf.quantization.fake_quant_with_min_max_args(tf.nn.relu(h, name="act"), name="y")
    return graph


def test_it_goes_with_its_ranges_and_the_output_keeps_its_name():
    ed = gs.open(rounded())
    plan = gs.recipes.strip_quantization(ed)
    assert plan.check() == ()
    ed.apply(plan)
    kept = [name for name in ed.snapshot.names if not name.startswith("high")]
    assert kept == ["x", "w", "h", "act", "y"]
    assert "high" in ed.snapshot.state.variables
    x = numbers(3, 4)
    np.testing.assert_allclose(ran(ed, x=x), np.maximum(x @ numbers(4, 2), 0), rtol=1e-5)
    assert refusal(gs.PlanError, gs.recipes.strip_quantization, ed) == (
        "strip_quantization(): the graph has no FakeQuant and no QuantizeAndDequantize.\n"
        "There is nothing to remove; ed.select(op='Quantize*') lists ops of real quantization."
    )


def net():
    with tf.Graph().as_default() as graph:
        y = tf1.placeholder(tf.float32, [None, 8, 8, 3], name="x")
        for i in range(3):
            y = tf.nn.conv2d(y, tf.constant(numbers(3, 3, 3, 3, seed=i)), 1, "SAME", name=f"conv{i}")
            y = tf.nn.relu(y, name=f"act{i}")
        tf.identity(y, name="y")
    return graph


def test_after_every_convolution_and_out_again():
    ed = gs.open(net())
    x = numbers(1, 8, 8, 3)
    before, size = ran(ed, x=x), len(ed)
    plan = gs.recipes.insert_after(ed, "Conv2D", "FakeQuantWithMinMaxArgs", name="round", min=-100.0, max=100.0)
    ed.apply(plan)
    assert [ed.snapshot.input_names(ed.snapshot.index[f"act{i}"]) for i in range(3)] == [
        [f"conv{i}_round:0"] for i in range(3)
    ]
    np.testing.assert_allclose(ran(ed, x=x), before, atol=30.0)
    assert not np.array_equal(ran(ed, x=x), before)
    ed.apply(gs.recipes.strip_quantization(ed))
    assert len(ed) == size
    np.testing.assert_array_equal(ran(ed, x=x), before)


def test_after_a_selection_a_match_or_by_a_function():
    ed = gs.open(net())
    one = gs.recipes.insert_after(ed, ed.select(name="conv1"), "Softplus").after()
    assert one.input_names(one.index["act1"]) == ["conv1_Softplus:0"]
    found = ed.match(lambda x: tf.nn.relu(x))
    plan = gs.recipes.insert_after(ed, found, lambda t: t + 1.0, name="more")
    assert plan.check() == ()
    ed.apply(plan)
    assert "act2_more/add" in ed.snapshot.names


def test_what_cannot_be_done_says_why():
    ed = gs.open(net())
    said = refusal(gs.PlanError, gs.recipes.insert_after, ed, "MatMul", "Relu")
    assert said.startswith("insert_after('MatMul', 'Relu'): graph has no op of type 'MatMul'.\nIt has Const, Conv2D"), (
        said
    )
    said = refusal(gs.PlanError, gs.recipes.insert_after, ed, ["Conv2d", "Conv3D"], "Relu")
    assert said.endswith(": graph has no op of type 'Conv2d' or 'Conv3D'.\nDid you mean 'Conv2D'?"), said
    said = refusal(gs.PlanError, gs.recipes.insert_after, ed, [], "Relu")
    assert said.startswith("insert_after([], 'Relu'): nothing matches the pattern.\nIt has Const, Conv2D"), said
    said = refusal(gs.PlanError, gs.recipes.insert_after, ed, ed.select(name="y"), "Relu")
    assert said.startswith("insert_after(..., 'Relu'): nothing reads 'y:0'.\n"), said


@pytest.mark.parametrize("resource", [False, True])
def test_in_inference_form_it_reads_the_range_that_training_has_kept(resource):
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        ends = []
        for name, new in (("low", tf.reduce_min(x)), ("high", tf.reduce_max(x))):
            kept = tf1.get_variable(name, initializer={"low": -1.0, "high": 1.0}[name], use_resource=resource)
            ends.append(tf1.assign(kept, new, name=f"{name}_last"))
        tf.nn.relu(tf.quantization.fake_quant_with_min_max_vars(x, *ends, name="round"), name="y")
    ed = gs.open(graph)
    said = refusal(Unconvertible, lambda: gs.recipes.frozen(ed, "y:0", values="initial"))
    assert "(Assign" in said
    ed.apply(gs.recipes.for_inference(ed, "y:0"))
    small = gs.recipes.frozen(ed, "y:0", values="initial")
    assert not {"Min", "Max"} & set(ed.snapshot.types)
    x = 5 * numbers(3, 4)
    np.testing.assert_allclose(ran(small, x=x), np.clip(x, 0, 1), atol=0.01)
