"""What an editor knows of the values of its variables."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.tf.values.givers import giver_of
from tests.graphs import model, put, tf1


def on_disk(folder):
    """Writes a model with trained values; returns its path and its weights."""
    m = model("resource", None)
    put(m.w, 3, m.session)
    with m.graph.as_default():
        tf1.train.Saver().save(m.session, str(folder / "net"))
    return str(folder / "net.meta"), m.session.run(m.w)


def test_what_is_known_of_a_graph_a_session_and_a_file(tmp_path):
    path, _ = on_disk(tmp_path)
    m = model("resource", None)
    graph, session, file = gs.open(m.graph), gs.open(m.session), gs.open(path)
    assert [ed.values.given for ed in (graph, session, file)] == [False, True, True]
    assert [ed.values.known for ed in (graph, session, file)] == [False, True, True]
    assert graph.values.stored() is session.values.stored() is None
    assert set(file.values.stored()) == {"net/w", "net/b"}
    graph.apply(graph.plan().copy(graph.select(scope="net"), to="t", unmapped="keep"))
    assert (graph.values.given, graph.values.known) == (False, True)


def test_a_file_is_read_until_a_session_is_there(tmp_path):
    path, _ = on_disk(tmp_path)
    ed = gs.open(path)
    assert ed.values.stored() is not None
    ed.session()
    assert ed.values.stored() is None


@pytest.mark.parametrize("part", [False, True])
def test_an_editor_and_its_values_give_the_same(part, tmp_path):
    path, wanted = on_disk(tmp_path)
    src, dst = gs.open(path), gs.open(tf.Graph())
    plan = dst.plan().copy(src.select(scope="net"), to="t", unmapped="placeholder", values=src.values if part else src)
    assert "values=src" in plan.to_code()
    done = dst.apply(plan)
    np.testing.assert_array_equal(dst.session().run(done["net/w"]), wanted)
    assert giver_of(src.values) is giver_of(src) is src.values


@pytest.mark.parametrize("other", [None, {}, {"w": 1.0}, "initial", 3])
def test_nothing_else_is_an_editor(other):
    assert giver_of(other) is None
