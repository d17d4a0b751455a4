"""Candidates: their output, their formula, and what they are put together from."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError
from graphsurgeon.evolve.candidate import Assembly, Subexpression
from tests.evolve.formulas import made, tf1
from tests.refusal import refuses


def test_a_candidate_has_the_outputs_that_are_printed():
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None], name="x")
        tf1.placeholder(tf.float32, [], name="not_read")
        tf.constant(1.0, name="nor_this")
        w = tf1.get_variable("w", initializer=3.0)
        w.assign_add(1.0, name="step")
        tf.multiply(x, w, name="y")
        tf1.global_variables_initializer()
    text = str(gs.open(graph))
    printed = text.partition("  outputs")[2].partition("  scopes")[0].strip().splitlines()
    assert [line.split()[0] for line in printed] == ["y"]
    assert gs.candidate(graph).output == "y:0"
    with refuses(PlanError, "candidate(graph)", "the graph has 0 outputs", "output='y:0'"):
        with tf.Graph().as_default() as empty:
            tf.constant(1.0)
        gs.candidate(empty)


def test_a_formula_is_written_as_people_write_it():
    assert made(lambda x: (x + 1.0) * tf.sin(x - 2.0)).formula == "(x + 1) * sin(x - 2)"
    long = made(lambda x: [x := x + x for _ in range(40)][-1])  # written out it would have 2⁴⁰ characters
    assert len(long.formula) <= 2000
    assert repr(made(tf.sin)) == "<Candidate of 1 op, not tried yet: sin(x)>"


def test_an_output_of_another_shape_is_refused():
    one = made(tf.sin)
    assembly = Assembly(one)
    other = made(lambda x: tf.reduce_sum(tf.sin(x)))
    output = assembly.add(Subexpression(other, other.ops))[other.output]
    with refuses(PlanError, "made(...)", "the output would be float32 (), not float32 (?,)"):
        assembly.build(output, "test")
