"""Observed sessions: every run is reported to those whose variables it touches, whatever way it takes."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tensorflow as tf

from graphsurgeon.graph import concurrency
from graphsurgeon.graph.concurrency import BusyError, RWLock
from graphsurgeon.tf.run import session_tracking
from graphsurgeon.tf.run.session_tracking import Interest, exclusive, observe, places_of, variable_access
from graphsurgeon.tf.values.variables import place_of
from tests.graphs import KINDS
from tests.random_graphs import flow_version
from tests.until import until

tf1 = tf.compat.v1
METHODS = ("_do_run", "_call_tf_sessionrun", "_make_callable_from_options", "run", "partial_run", "make_callable")


def small(kind="resource"):
    """Two variables, a sum of one of them, a step of one of them; and a session."""
    graph = tf.Graph()
    with graph.as_default(), tf1.variable_scope("", use_resource=kind == "resource"):
        w, v = (tf1.get_variable(name, initializer=1.0) for name in "wv")
        tf.add(w, 1.0, name="y")
        w.assign_add(1.0, name="step")
        tf.constant(1.0, name="c")
        session = tf1.Session(graph=graph)
        session.run(tf1.global_variables_initializer())
    return session, w, v


def names(places):
    return sorted(name.decode() for _, _, name in places)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_run_reads_and_sets(kind):
    with flow_version("v1"), tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=kind == "resource"):
        a, b, c, d = (tf1.get_variable(name, initializer=[1.0, 2.0]) for name in "abcd")
        optimizer = tf1.train.AdamOptimizer()
        step = tf1.train.get_or_create_global_step()
        learn = optimizer.minimize(tf.reduce_sum(a * tf.stop_gradient(b)), var_list=[a], global_step=step)
        _, loop = tf1.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, x + c), [0, b.value()])
        branch = tf1.cond(b[0] > 0, lambda: tf.identity(d.assign_sub([1.0, 1.0])), lambda: tf.identity(c))
        scatter = tf1.scatter_update(a, [0], [3.0])
        array = tf.TensorArray(tf.float32, 2).unstack(b.value()).stack()
        read, waits = a.value(), tf.constant(1.0)
        with tf.control_dependencies([learn]):
            waits = tf.identity(waits)
    for element, places, sets in [
        (read, "a", ""),
        (a.initializer, "a", "a"),
        (waits, "a b a/Adam a/Adam_1 beta1_power beta2_power global_step",
         "a a/Adam a/Adam_1 beta1_power beta2_power global_step"),
        (loop, "b c", ""),
        (branch, "b c d", "d"),
        (scatter, "a", "a"),
        (array, "b", ""),
    ]:  # fmt: skip
        found = variable_access([element])
        assert names(found.places) == sorted(places.split()), element
        assert names(found.sets) == sorted(sets.split()), element
        assert not found.waits
    assert names(places_of(graph, ["a", "b"])) == ["a", "b"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_variable_under_another_name_is_the_same(kind):
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=kind == "resource"):
        w = tf1.get_variable("w", initializer=1.0)
        w.assign_add(1.0, name="step")
        node = graph.get_operation_by_name("w")
        if kind == "ref":
            node._set_attr("shared_name", tf1.AttrValue(s=b"w"))
        tf.graph_util.import_graph_def(graph.as_graph_def(), name="again")
    found = variable_access([graph.get_operation_by_name("again/step")])
    assert found.sets == {place_of(node)}


def test_a_handle_that_comes_from_a_function_may_be_of_anything():
    with tf.Graph().as_default():
        w = tf1.get_variable("w", initializer=1.0, use_resource=True)
        handle = tf.function(lambda: w.handle)()
        step = tf.raw_ops.AssignVariableOp(resource=handle, value=2.0)
        read = tf.function(lambda: w + 1.0)()
        plain = tf.function(lambda x: x + 1.0)(w.value())
    assert variable_access([step]).sets is None
    assert names(variable_access([read]).sets) == ["w"]  # it could: what is inside is not looked at
    assert not variable_access([plain]).sets


def test_what_may_wait_for_other_runs():
    with tf.Graph().as_default():
        queue = tf.queue.FIFOQueue(1, tf.float32)
        call = tf1.py_func(lambda: np.float32(1), [], tf.float32)
        waits = [queue.enqueue(1.0), queue.dequeue() + 1.0, call]
        does_not = [queue.size(), tf.constant(1.0)]
    assert all(variable_access([element]).waits for element in waits)
    assert not any(variable_access([element]).waits for element in does_not)


def test_what_fills_a_queue_and_counts_in_a_local_variable_is_no_step():
    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", initializer=1.0)
        epoch = tf1.get_local_variable("epoch", initializer=0)
        queue = tf.queue.FIFOQueue(1, tf.float32)
        with tf.control_dependencies([epoch.assign_add(1)]):
            fill = queue.enqueue(1.0)
        both = tf.group(fill, w.assign_add(1.0))
    interest = Interest(RWLock(), places_of(graph, ["w", "epoch"]), places_of(graph, ["epoch"]))
    assert not interest.concerned(variable_access([fill]))
    assert interest.concerned(variable_access([both]))
    assert interest.concerned(variable_access([epoch.initializer]))


def ways(session):
    """The ways to run `y` or `step` of a session that was not observed when they were prepared."""
    graph = session.graph
    kept, made = session.run, {}
    for name in ("y:0", "step"):
        element = graph.as_graph_element(name)
        made[name] = session.make_callable(element)
    return {
        "run": lambda name: session.run(name),
        "run, looked up before": lambda name: kept(name),
        "a callable made before": lambda name: made[name](),
        "a callable": lambda name: session.make_callable(graph.as_graph_element(name))(),
        "a callable with feeds": lambda name: session.make_callable(name, [graph.get_tensor_by_name("c:0")])(2.0),
        "the default session": lambda name: _by_default(session, graph.as_graph_element(name)),
        "a callable of options": lambda name: _by_options(session, name),
        "a run in parts": lambda name: _in_parts(session, name),
    }


def _by_default(session, element):
    with session.as_default():
        element.run() if isinstance(element, tf.Operation) else element.eval()


def _by_options(session, name):
    from tensorflow.core.protobuf import config_pb2

    more = {"target": [name]} if ":" not in name else {"fetch": [name]}
    session._make_callable_from_options(config_pb2.CallableOptions(**more))()


def _in_parts(session, name):
    fetch = name if ":" in name else session.graph.get_operation_by_name(name).outputs[0].name
    session.partial_run(session.partial_run_setup([fetch], []), fetch)


@pytest.mark.parametrize("way", list(ways(small()[0])))
def test_whatever_way_a_run_takes_it_is_seen(way):
    session, *_ = small("ref")  # a fetch of a reference variable's step is one as well
    take = ways(session)[way]
    before, seen = dict(vars(session)), []
    places = places_of(session.graph, ["w"])
    steps = observe(session, Interest(RWLock(), places, refuse=lambda: seen.append("step")))
    looks = observe(session, Interest(RWLock(), places, looks=True, refuse=lambda: seen.append("look")))
    anything = way in ("a callable", "a callable made before")  # nobody knows what it runs
    take("y:0")
    assert seen == (["step", "look"] if anything else ["look"])
    seen.clear()
    take("step")
    assert seen == ["step", "look"]
    seen.clear()
    if way == "run":
        session.run("c:0")
        session.run("v:0")
        assert not seen
    steps.release()
    looks.release()
    take("y:0")
    assert not seen
    assert {name: value for name, value in vars(session).items() if name in METHODS} == {
        name: value for name, value in before.items() if name in METHODS
    }


def test_runs_of_a_monitored_session_are_seen():
    session, w, _ = small()
    with session.graph.as_default(), tf1.train.MonitoredSession() as monitored:
        seen = []
        one = observe(monitored, Interest(RWLock(), places_of(session.graph, ["w"]), refuse=lambda: seen.append(1)))
        monitored.run("step")
        assert seen
        seen.clear()
        monitored.run(w)
        monitored.run_step_fn(lambda step_context: step_context.session.run("y:0"))
        assert not seen
        monitored.run_step_fn(lambda step_context: step_context.session.run("step"))
        assert seen
        one.release()


def test_a_session_without_the_methods_below_run_is_observed_at_run():
    inner, *_ = small()

    class Other:
        graph = inner.graph

        def run(self, fetches):
            return inner.run(fetches)

        def make_callable(self, fetches):
            return inner.make_callable(fetches)

    session, seen = Other(), []
    one = observe(session, Interest(RWLock(), places_of(inner.graph, ["w"]), refuse=lambda: seen.append(1)))
    session.run("c:0")  # it may be anything
    session.make_callable("c:0")()
    assert len(seen) == 2
    one.release()
    assert not vars(session)


def test_a_method_that_somebody_puts_on_top_stays():
    session, *_ = small()
    one = observe(session, Interest(RWLock(), places_of(session.graph, ["w"])))
    under = session._do_run
    session._do_run = mine = lambda *args: under(*args)
    one.release()
    assert session._do_run is mine
    assert session.run("y:0") == 2.0


def test_a_run_while_somebody_is_alone_waits():
    session, *_ = small("ref")
    door, done = RWLock(), []
    one = observe(session, Interest(door, places_of(session.graph, ["w"])))
    thread = threading.Thread(target=lambda: done.append(session.run("step:0")))
    with exclusive([one], [], [door], 10.0):
        thread.start()
        until(lambda: concurrency._waiting_requests)
        assert session.run("y:0") == 2.0
        assert not done
    thread.join(10)
    assert done == [2.0]


@pytest.mark.parametrize("known", [False, True])
def test_a_run_that_was_under_way_is_waited_for(monkeypatch, known):
    begun, waited = threading.Event(), threading.Event()

    def middle():
        begun.set()
        assert waited.wait(30)
        return np.float32(0)

    with tf.Graph().as_default() as graph:
        w = tf1.get_variable("w", initializer=1.0)
        step = w.assign_add(tf1.py_func(middle, [], tf.float32) + 1.0)
        other = tf.identity(tf1.py_func(middle, [], tf.float32), name="other")
        session = tf1.Session(graph=graph)
        session.run(w.initializer)
    if known:  # observed for somebody else already
        observe(session, Interest(RWLock(), places_of(graph, [])))
    threads = [threading.Thread(target=session.run, args=(fetch,)) for fetch in (step.op, other)]
    threads[1].start()
    assert begun.wait(30)
    door = RWLock()
    one = observe(session, Interest(door, places_of(graph, ["w"])))
    with exclusive([one], [], [door], 0.0):  # that run does not set it
        pass
    one.release()
    begun.clear()
    threads[0].start()
    assert begun.wait(30)
    one = observe(session, Interest(door, places_of(graph, ["w"])))
    with pytest.raises(BusyError), exclusive([one], [], [door], 0.0):
        pass
    monkeypatch.setattr(session_tracking, "_pause", waited.set)
    with exclusive([one], [], [door], 30.0):
        assert session.run(w) == 2.0
    for thread in threads:
        thread.join(10)
