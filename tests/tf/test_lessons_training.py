"""Training: a copied train op takes the path of the original, to the last bit, and neither moves the other."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.graphs import KINDS, tf1

OPTIMIZERS = {
    "sgd": (lambda: tf1.train.GradientDescentOptimizer(0.1), []),
    "adam": (lambda: tf1.train.AdamOptimizer(0.05), ["m", "v"]),
    "momentum": (lambda: tf1.train.MomentumOptimizer(0.1, 0.9), ["momentum"]),
    "rmsprop": (lambda: tf1.train.RMSPropOptimizer(0.05, momentum=0.5, centered=True), ["mg", "rms", "momentum"]),
    "ftrl": (lambda: tf1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.01), ["accum", "linear"]),
}
BODIES = {
    "plain": lambda x, w: tf.tanh(x * w),
    "while": lambda x, w: tf1.while_loop(lambda i, a: i < 3, lambda i, a: (i + 1, tf.tanh(a * w + x)), [0, x])[1],
    "cond": lambda x, w: tf1.cond(tf.reduce_sum(x) > 0, lambda: tf.sin(x) * w, lambda: x * x * w),
    "embedding": lambda x, w: x * tf.nn.embedding_lookup(tf.reshape(w, [3]), [0, 2, 0]),
    "function": lambda x, w: tf.function(lambda a, b: tf.sin(a) * b)(x, w),
    "loop of a cond": lambda x, w: tf1.while_loop(
        lambda i, a: i < 3,
        lambda i, a: (i + 1, tf1.cond(tf.reduce_sum(a) > 9.0, lambda: a * w, lambda: tf.sin(a) * w + a)),
        [0, x],
    )[1],
}
#: Every body with both kinds of variable and of control flow, each with an optimizer; every optimizer with both kinds.
CASES = [
    (body, kind, version, list(OPTIMIZERS)[number % len(OPTIMIZERS)])
    for number, (body, kind, version) in enumerate(product(BODIES, KINDS, ("v1", "v2")))
] + [("sparse", kind, "v1", optimizer) for kind, optimizer in product(KINDS, OPTIMIZERS)]


@pytest.fixture(autouse=True)
def _same_version_afterwards() -> Any:
    before = tf1.control_flow_v2_enabled()
    yield
    (tf1.enable_control_flow_v2 if before else tf1.disable_control_flow_v2)()


def net(body: str, kind: str, version: str, optimizer: str) -> Any:
    """Returns a graph that learns w with x: loss, "train" and an initialized session."""
    (tf1.enable_control_flow_v2 if version == "v2" else tf1.disable_control_flow_v2)()
    graph = tf.Graph()
    with graph.as_default(), tf1.variable_scope("", use_resource=kind == "resource"):
        x = tf1.placeholder(tf.float32, [3], name="x")
        if body == "sparse":
            w = tf1.get_variable("w", initializer=np.ones([4, 3], np.float32))
            y = tf.reduce_sum(tf.nn.embedding_lookup(w, [1, 3, 1]) * x, 0)
        else:
            w = tf1.get_variable("w", initializer=np.float32([0.5, -0.3, 0.8]))
            y = BODIES[body](x, w)
        loss = tf.reduce_sum(tf.square(y - 0.25), name="loss")
        step = tf1.train.get_or_create_global_step()
        OPTIMIZERS[optimizer][0]().minimize(loss, global_step=step, name="train")
        session = tf1.Session()
        session.run(tf1.global_variables_initializer())
    return session


def path(session: Any, lead: str, steps: int = 3) -> list[float]:
    """Trains, and returns the loss after each step."""
    out, feed = [], {f"{lead}x:0": np.float32([0.2, 0.4, 0.6])}
    for _ in range(steps):
        session.run(f"{lead}train", feed)
        out.append(float(session.run(f"{lead}loss:0", feed)))
    return out


def held(session: Any, lead: str) -> dict[str, list[float]]:
    """Returns the values of all variables under a scope."""
    found = [v for v in session.graph.get_collection("variables") if v.name.startswith(lead)]
    mine = [v for v in found if lead or not v.name.startswith(("a/", "b/"))]
    return {v.op.name.removeprefix(lead): value.tolist() for v, value in zip(mine, session.run(mine), strict=True)}


@pytest.mark.parametrize(("body", "kind", "version", "optimizer"), CASES)
def test_the_same_path_and_no_common_state(body, kind, version, optimizer):
    session = net(body, kind, version, optimizer)
    path(session, "", 2)
    src, dst = gs.open(session), gs.open(tf.Graph())
    block = src.select(name=["train", "loss"]).ancestors()
    for to in ("a", "b"):
        dst.apply(dst.plan().copy(block, to=to, values=session))
    src.apply(src.plan().copy(block, to="a", values=session))
    there, here = dst.session(), src.session()
    start = held(session, "")
    slots = [name for name in start if name.startswith("w/")]
    assert len(slots) == len(OPTIMIZERS[optimizer][1])
    assert held(there, "a/") == held(there, "b/") == held(here, "a/") == start
    want = path(there, "a/")
    assert held(there, "b/") == start
    assert path(here, "a/") == want
    assert held(session, "") == start
    assert path(session, "") == want
    assert path(there, "b/") == want
    assert held(there, "a/") == held(there, "b/") == held(session, "") == held(here, "a/")
    assert session.run("global_step:0" if kind == "ref" else "global_step/Read/ReadVariableOp:0") == 5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_a_new_optimizer_on_the_copy_makes_slots_of_its_own(optimizer, kind):
    session = net("plain", kind, "v2", optimizer)
    path(session, "", 2)
    dst, src = gs.open(tf.Graph()), gs.open(session)
    done = dst.apply(dst.plan().copy(src.select(name=["train", "loss"]).ancestors(), to="a", values=session))
    with dst.graph.as_default():
        made = OPTIMIZERS[optimizer][0]()
        train = made.minimize(done["loss:0"], var_list=[done["w"]])
        own = dst.session()
        own.run(tf1.variables_initializer(made.variables()))
    assert made.get_slot_names() == sorted(OPTIMIZERS[optimizer][1])
    before, feed = held(own, "a/"), {"a/x:0": np.float32([0.2, 0.4, 0.6])}
    own.run(train, feed)
    after = held(own, "a/")
    assert {name for name in held(session, "") if before[name] != after[name]} == {"w"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_with_a_copy_inside_still_has_one_global_step(kind, tmp_path):
    session = net("plain", kind, "v2", "sgd")
    graph, ed = session.graph, gs.open(session)
    with graph.as_default():
        graph.add_to_collection("local_init_op", tf1.tables_initializer())
        step = tf1.train.get_global_step()
    plan = ed.plan().copy(ed.select(), to="a").copy(ed.select(), to="b")
    ed.apply(plan)
    with graph.as_default():
        assert tf1.train.get_global_step() is step
        assert [v.op.name for v in graph.get_collection("a/global_step")] == ["a/global_step"]
        assert len(graph.get_collection("b/local_init_op")) == 1
        with tf1.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path)) as trainer:
            trainer.run("train", {"x:0": np.float32([0.2, 0.4, 0.6])})
    other = gs.open(tf.Graph())
    other.apply(other.plan().copy(ed.select(scope="a"), to="c").copy(ed.select(scope="b"), to="d"))
    with other.graph.as_default():
        assert tf1.train.get_global_step() is None


@pytest.mark.parametrize("kind", KINDS)
def test_a_gradient_made_before_an_edit_is_not_that_of_its_loss_and_the_plan_says_so(kind):
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=kind == "resource"):
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        w = tf1.get_variable("w", initializer=tf.constant([[0.5, 0.25]] * 4))
        h = tf.matmul(x, w, name="h")
        loss = tf.reduce_mean(tf.square(h, name="r"), name="loss")
        tf1.train.GradientDescentOptimizer(0.1).minimize(loss, name="train")
        tf.ones([8, 4], name="k")
    ed = gs.open(graph)
    plan = ed.plan().insert("Tanh", on="h:0", name="squashed")
    (text,) = [w for w in plan.effect.warnings if w.startswith("stale gradients: ")]
    assert "(gradients/r_grad/" in text
    assert text in str(plan)
    for exact in (
        ed.plan().insert("Identity", on="h:0", name="probe"),
        ed.plan().insert("Tanh", on="x:0", name="input"),
        ed.plan().reroute("x:0", to="k:0"),
    ):
        assert exact.check() == ()
        assert "stale" not in str(exact)
