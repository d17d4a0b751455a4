"""Programs that save memory, written anew in the style of their time: the same numbers, and less is held.

Gradient checkpointing after Chen et al., 2016; large models by tensors that wait on the host, after Le et al., 2018;
and networks that look ahead through their own updates, after Metz et al., 2016.
"""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from graphsurgeon import graph_editor as ge
from tests.graphs import KINDS, tf1
from tests.peaks import peak, plain

LAYERS = 12


def deep(kind, device="/cpu:0"):
    """Returns a deep network: its input, the output of each layer, its variables and its loss."""
    with tf.device(device), tf1.variable_scope("", use_resource=kind == "resource"):
        x = h = tf1.placeholder(tf.float32, [None, 64], name="x")
        ends = []
        for layer in range(LAYERS):
            w = tf1.get_variable(f"w_{layer}", [64, 64], initializer=tf1.glorot_uniform_initializer(seed=layer))
            h = tf.tanh(tf.tanh(tf.matmul(h, w)), name=f"layer_{layer}")
            ends.append(h)
        return x, ends, tf1.trainable_variables(), tf.reduce_mean(tf.square(h - 1.0), name="loss")


def checkpointed(loss, xs, checkpoints):
    """Returns the gradients of a loss, computed block by block between checkpoints, last block first."""
    graph = loss.graph
    needed = ge.get_backward_walk_ops([loss.op], inclusive=True)
    ahead = ge.get_forward_walk_ops([x.op for x in xs], inclusive=True, within_ops=needed)
    ahead = [op for op in ahead if op.inputs and "Variable" not in op.type and op.type not in ("Assign", "Identity")]
    assert {t.name for t in checkpoints} <= {t.name for t in ge.filter_ts(ahead, True)}
    stopped = {t.ref(): tf.stop_gradient(t) for t in checkpoints}

    def copied(ends, above):
        """A copy of what computes some ends from the checkpoints above."""
        stop = [t.op for t in above]
        ops = ge.get_backward_walk_ops([t.op for t in ends], inclusive=True, stop_at_ts=above, within_ops=ahead)
        ops = [op for op in ops if op not in stop]
        _, info = ge.copy_with_input_replacements(ge.sgv(*ops, graph=graph), {})
        made = list(info._transformed_ops.values())
        ge.reroute_ts([stopped[t.ref()] for t in above], above, can_modify=made)
        return info, made

    def slopes(of, given):
        met = tf1.gradients(of, [*xs, *(stopped[t.ref()] for t in checkpoints)], grad_ys=given)
        return met[: len(xs)], dict(zip((t.ref() for t in checkpoints), met[len(xs) :], strict=True))

    info, _ = copied([loss], checkpoints)
    sums, brought = slopes(info.transformed(loss), None)
    for n, end in reversed(list(enumerate(checkpoints))):
        info, made = copied([end], checkpoints[:n])
        for op in made:  # later than the gradient that it is computed for
            ge.add_control_inputs(op, [brought[end.ref()].op])
        more, rest = slopes(info.transformed(end), brought[end.ref()])
        sums = [b if a is None else a if b is None else a + b for a, b in zip(sums, more, strict=True)]
        brought = {key: rest[key] if rest[key] is not None else brought[key] for key in brought}
    return sums


@pytest.mark.parametrize("kind", KINDS)
def test_gradient_checkpointing(kind):
    with tf.Graph().as_default() as graph:
        x, ends, variables, loss = deep(kind)
        plainly, start = tf1.gradients(loss, variables), tf1.global_variables_initializer()
        saving = checkpointed(loss, variables, ends[2:-1:3])
    feeds = {x: np.random.RandomState(0).rand(1024, 64).astype(np.float32)}
    with tf1.Session(graph=graph, config=plain()) as session:
        session.run(start)
        before, want = peak(session, plainly, feeds)
        after, got = peak(session, saving, feeds)
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-8)
    assert after < 0.6 * before


def swapped(ends, host, ahead):
    """Lets tensors wait on the host for their gradients; each comes back when the gradient of one behind is there."""
    graph = ends[0].graph
    behind = {op for op in ge.get_forward_walk_ops([end.op for end in ends]) if op.name.startswith("gradients/")}
    for n, end in enumerate(ends[:-ahead]):
        readers = [op for op in ge.get_consuming_ops([end]) if op in behind]
        with graph.as_default(), tf.device(host):
            away = tf.raw_ops.DeepCopy(x=tf.zeros_like(end), name=f"swap_out_{n}")
        with graph.as_default(), tf.device(end.device):
            back = tf.raw_ops.DeepCopy(x=away, name=f"swap_in_{n}")
        ge.connect(ge.sgv(end.op), ge.sgv(away.op, graph=graph).remap_inputs([0]))
        assert ge.reroute_ts([back], [end], can_modify=readers) == len(readers) > 0
        forward = ends[n + ahead].op
        ge.add_control_inputs(forward, [away.op])  # what is held here is bounded
        slope = next(op for op in ge.get_consuming_ops([ends[n + ahead]]) if op.type == "TanhGrad")
        ge.add_control_inputs(back.op, [slope])


@pytest.mark.parametrize("kind", KINDS)
def test_large_models_by_swapping(kind):
    with tf.Graph().as_default() as graph:
        x, ends, variables, loss = deep(kind, "/cpu:1")
        with tf.device("/cpu:1"):
            slopes = tf1.gradients(loss, variables)
        start = tf1.global_variables_initializer()
    feeds = {x: np.random.RandomState(0).rand(1024, 64).astype(np.float32)}
    settings = plain(device_count={"CPU": 2})
    with tf1.Session(graph=graph, config=settings) as session:
        session.run(start)
        before, want = peak(session, slopes, feeds, "CPU:1")
    inner = [op.outputs[0] for op in graph.get_operations() if op.type == "Tanh"]
    assert len(inner) == 2 * len(ends)
    swapped(inner, "/cpu:0", ahead=2)
    with tf1.Session(graph=graph, config=settings) as session:
        session.run(start)
        after, got = peak(session, slopes, feeds, "CPU:1")
    for one, other in zip(got, want, strict=True):
        np.testing.assert_array_equal(one, other)
    assert after < 0.6 * before


@pytest.mark.parametrize("kind", KINDS)
def test_a_game_looks_ahead_through_its_own_updates(kind):
    """One player's loss after some steps of the other, and its gradient through these steps."""
    rate, steps = 0.25, 3
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=kind == "resource"):
        mine, theirs = (tf1.get_variable(name, initializer=np.float32(1.5)) for name in ("mine", "theirs"))
        a, b = (tf.identity(v.value() if kind == "ref" else v.read_value()) for v in (mine, theirs))
        loss = tf.add(a * b, 0.5 * tf.square(b), name="loss")  # theirs goes down, mine goes up
        moved = b - rate * tf1.gradients(loss, b)[0]
        ahead, current = {b: moved}, loss
        for step in range(steps):
            current = ge.graph_replace(current, ahead, dst_scope=f"ahead_{step}")
        first = ge.graph_replace([loss, moved], {a: tf.constant(2.0)}, dst_scope="other")
        slope = tf1.gradients(current, a)[0]
        start = tf1.global_variables_initializer()
    with tf1.Session(graph=graph) as session:
        session.run(start)
        got, far, others = session.run([current, slope, first])
    x = y = 1.5
    dy = 0.0
    for _ in range(steps):  # y' = y - rate * (x + y)
        y, dy = y - rate * (x + y), dy - rate * (1.0 + dy)
    assert got == pytest.approx(x * y + 0.5 * y * y, rel=1e-6)
    assert far == pytest.approx(y + x * dy + y * dy, rel=1e-6)
    assert others == pytest.approx([2.0 * 1.5 + 0.5 * 1.5**2, 1.5 - rate * 3.5])
