"""What is private in sessions."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import config_pb2

from graphsurgeon.tf.private import graphs
from tests.graphs import tiny

tf1 = tf.compat.v1


def test_a_session_has_the_methods_its_runs_go_through():
    with tf1.Session(graph=tiny()) as session:
        for name in (graphs.RUN, graphs.EXTEND_AND_RUN, graphs.MAKE_CALLABLE):
            assert callable(getattr(session, name))


def test_a_callable_is_made_of_options():
    with tf1.Session(graph=tiny()) as session:
        run = graphs.callable_of(session, config_pb2.CallableOptions(feed=["x:0"], fetch=["z:0"]))
        assert run(np.float32([[1.0, 2.0]]))[0].tolist() == [[2.0, 5.0]]
    assert graphs.callable_of(object(), None) is None


def test_the_session_inside():
    with tiny().as_default(), tf1.train.MonitoredSession() as outer:
        inner = graphs.innermost(outer)
        assert isinstance(inner, tf1.Session)
        assert graphs.innermost(inner) is inner
    strange = object()
    assert graphs.innermost(strange) is strange


def test_config_and_end():
    config = tf1.ConfigProto(allow_soft_placement=True)
    session = tf1.Session(graph=tiny(), config=config)
    assert graphs.config_of(session).allow_soft_placement
    assert not graphs.is_closed(session)
    session.close()
    assert graphs.is_closed(session)
    assert graphs.config_of(object()) is None
    assert not graphs.is_closed(object())


def test_a_session_knows_the_ops_that_were_there_when_it_last_ran_or_caught_up():
    with tf.Graph().as_default() as graph, tf1.Session(graph=graph) as session:
        one = tf.constant(1.0, name="one")
        graphs.load_ops(session)
        two = tf.constant(2.0, name="two")
        assert [graphs.has_loaded(session, tensor.op) for tensor in (one, two, two)] == [True, False, False]
        session.run(one)
        assert graphs.has_loaded(session, two.op)
    graphs.load_ops(object())
    assert graphs.has_loaded(object(), one.op), "one that does not say knows all"


def test_a_session_of_a_server_is_not_local():
    with tf1.Session(graph=tiny()) as here, tf1.Session(tf1.train.Server.create_local_server().target) as there:
        assert (graphs.is_local(here), graphs.is_local(there)) == (True, False)
    assert not graphs.is_local(object())
