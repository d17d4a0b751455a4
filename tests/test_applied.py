"""What a plan made: one of several copies, and variables that are shared."""

from __future__ import annotations

import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import SelectionError
from tests.graphs import model, tf1, tiny
from tests.refusal import refuses


def twice(policy="copy"):
    """Returns an editor whose graph has its network copied to ``a`` and ``b``, and what that made."""
    m = model("resource", None)
    ed = gs.open(m.session)
    block = ed.select(scope="net")
    plan = ed.plan()
    for scope in ("a", "b"):
        plan = plan.copy(block, to=scope, unmapped="keep", variables=policy, values=m.session)
    return m, ed.apply(plan)


def test_each_copy_of_a_plan_can_be_asked():
    m, done = twice()
    assert done[m.w].op.name == "b/net/w"
    assert done.in_scope("a")[m.w].op.name == "a/net/w"
    assert done.in_scope("b/")[m.w] is done[m.w]
    assert [part.scope for part in done.parts] == ["a", "b"]
    assert [v.op.name for v in done.in_scope("a").variables] == ["a/net/w", "a/net/b"]
    assert done.in_scope("a").ops + done.in_scope("b").ops == done.ops
    count = len(done.in_scope("a").ops)
    assert repr(done.in_scope("a")).endswith(f" to a/: {count} new ops, 2 variables>")
    assert repr(done).endswith(f": {2 * count} new ops, 4 variables>")


def test_a_scope_without_a_copy():
    _, done = twice()
    with refuses(SelectionError, "under('c'): no copy was made there", "Choose 'a' or 'b'"):
        done.in_scope("c")
    ed = gs.open(tiny())
    done = ed.apply(ed.plan().connect("x:0", to="z", input=0))
    with refuses(SelectionError, "under('a')", "This plan makes no copy at all"):
        done.in_scope("a")


def test_a_shared_variable_is_the_variable():
    m, done = twice("share")
    assert done.variables == []
    assert done[m.w] is m.w
    assert done["net/w"] is m.w


def test_a_variable_that_no_collection_holds_is_its_op():
    graph = tf.Graph()
    with graph.as_default():
        w = tf1.get_variable("w", [], trainable=False, collections=["aside"])
        tf.identity(w, name="y")
        graph.get_collection_ref("aside").clear()
    ed = gs.open(graph)
    done = ed.apply(ed.plan().copy(ed.select(name=["w", "y", "y/*", "*Read*"]), to="a", variables="share"))
    assert done["w"] is graph.get_operation_by_name("w")


def test_what_was_not_copied_is_in_the_source_or_nowhere():
    _, done = twice()
    with refuses(SelectionError, "done['loss:0']: no copy was made of 'loss'", "it was not selected: select it"):
        done["loss:0"]
    with refuses(SelectionError, "done['nett/y']: no copy was made of 'nett/y'", "Did you mean 'net/y' or 'net/"):
        done["nett/y"]
    with refuses(SelectionError, "done['zzzzzzz']", "Choose from 'net/", " more"):
        done["zzzzzzz"]
    with refuses(SelectionError, "original('zzzzzzz'): 'zzzzzzz' has no original op", "Choose from 'a/net/"):
        done.original("zzzzzzz")
