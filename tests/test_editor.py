"""The editor: asking, applying all or nothing, undo and redo, sessions, history."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError, StalePlanError
from graphsurgeon.tf.copy.append import differences
from tests.graphs import KINDS, collections, keys, look, model, put, run, tiny
from tests.refusal import reads, refuses

tf1 = tf.compat.v1
X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


def state(graph):
    """Returns collections by content: undo may make new lists."""
    return {k: v for k, v in collections(graph).items() if v}


# -- asking ---------------------------------------------------------------------------------------


def test_ops_and_tensors_by_name():
    ed = gs.open(tiny())
    assert ed.op("y") is ed.graph.get_operation_by_name("y")
    assert ed.tensor("y") is ed.tensor("y:0") is ed.graph.get_tensor_by_name("y:0")
    with refuses(SelectionError, "op('yy'): no op is called 'yy' in graph"):
        ed.op("yy")
    with refuses(SelectionError, "tensor('y:1'): op 'y' (Square) has 1 output", "It has 'y:0'"):
        ed.tensor("y:1")


def test_the_snapshot_follows_the_graph():
    graph = tiny()
    ed = gs.open(graph)
    first = ed.snapshot
    assert ed.snapshot is first
    with graph.as_default():
        tf.negative(graph.get_tensor_by_name("z:0"), name="n")
    assert first.size == 5
    assert ed.snapshot.size == len(ed) == 6
    assert ed.snapshot.input_names(5) == ["z:0"]
    assert str(ed.snapshot.info(5, 0)) == "float32 (?, 2)"
    assert repr(ed) == "<Editor of graph: 6 ops>"


def test_the_snapshot_follows_the_collections():
    graph = tiny()
    ed = gs.open(graph)
    assert ed.snapshot.state.collections == {}
    with graph.as_default():
        tf1.get_variable("v", [1], use_resource=False)
    assert list(ed.snapshot.state.variables) == ["v"]


def test_selecting_with_objects_and_tests():
    ed = gs.open(tiny())
    y = ed.tensor("y:0")
    assert ed.select(inputs=ed.tensor("x:0"), outputs=[y]).names == ["y"]
    assert ed.select(where=lambda op: op.type == "Square").names == ["y"]
    assert ed.select(op="Placeholder", where=lambda op: op.outputs[0].dtype == "int32").names == ["k"]
    assert ed.select(name=y.op).names == ["y"]
    assert ed.find("z") == ["z", "z/y"]
    assert ed.find("z", limit=1) == ["z"]


def test_the_selection_without_a_widget():
    ed = gs.open(tiny())
    assert len(ed.selection) == 0
    ed.screen.select(["y"])
    assert ed.selection.names == ["y"]
    assert len(ed.draft) == 0


# -- applying ---------------------------------------------------------------------------------------


def test_history():
    ed = gs.open(tiny())
    assert ed.history == []
    for to in ("a", "b"):
        ed.apply(ed.plan().copy(ed.select(name="y"), to=to, unmapped="keep"))
    assert [e.number for e in ed.history] == [1, 2]
    assert repr(ed.history[0]) == "1. copy 1 op of graph to a/: 1 op"
    assert ed.history[1].text == "copy 1 op of graph to b/"
    ed.undo()
    assert repr(ed.history[1]).endswith("(undone)")
    ed.history.clear()
    assert len(ed.history) == 2


FAULTS = {
    "a namespace taken": (lambda p, s: p.copy(s, to="taken", unmapped="keep"), ["the name 'taken' is taken"]),
    "unmapped": (lambda p, s: p.copy(s, to="t"), ["the copy needs 1 tensor that is not mapped: 'x:0'"]),
    "a typo": (lambda p, s: p.copy(s, to="t", inputs={"x:0": "others:0"}), ["'others:0'", "Did you mean 'other'"]),
    "a dtype": (lambda p, s: p.copy(s, to="t", inputs={"x:0": "k:0"}),
                ["'k:0' is int32 (?,), but 'x:0' is float32 (?, 2): the dtypes int32 and float32 differ",
                 "These would fit: 'x:0'"]),
    "a shape": (lambda p, s: p.connect("wide:0", to="z", input=0),
                ["'wide:0' is float32 (?, 9), but input 0 of 'z' reads 'y:0', float32 (?, 2): axis 1 is 9 against 2",
                 "These would fit: 'x:0'"]),
    "a cycle": (lambda p, s: p.connect("z:0", to="y", input=0), ["that makes a cycle"]),
    "a step after a good one": (lambda p, s: p.copy(s, to="t", unmapped="keep").connect("no:0", to="t/y"),
                                ["there is no tensor 'no:0'"]),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_leaves_everything_as_it_was(fault):
    make, words = FAULTS[fault]
    graph = tiny()
    with graph.as_default():
        tf1.placeholder(tf.float32, [None, 2], name="other")
        tf1.placeholder(tf.float32, [None, 9], name="wide")
        tf1.get_variable("taken/v", [1], use_resource=True)
        graph.add_to_collection("mine", graph.get_tensor_by_name("y:0"))
    ed = gs.open(graph)
    plan = make(ed.plan(), ed.select(name="y"))
    assert plan.check()
    before = look(graph)
    with refuses(PlanError, *words):
        ed.apply(plan)
    assert look(graph) == before
    assert ed.graph is graph
    assert ed.history == []


def test_plans_of_others():
    ed, other = gs.open(tiny()), gs.open(tiny())
    with refuses(PlanError, "apply(3): this is not a plan", "Make one with ed.plan().copy(...)"):
        ed.apply(3)
    plan = other.plan().copy(other.select(), to="t")
    with refuses(PlanError, "the plan was made for graph, not for this graph", "Apply it to its own editor"):
        ed.apply(plan)


def test_a_plan_of_the_graph_before_a_step_that_built_it_anew_is_stale():
    ed = gs.open(tiny())
    plan = ed.plan().rename("y", to="other")
    ed.apply(plan)
    with refuses(StalePlanError, "the plan was made for graph as it was before", "Make the plan again"):
        ed.apply(plan)


def test_ops_and_tensors_are_found_by_name_and_by_object():
    ed = gs.open(tiny())
    y = ed.graph.get_tensor_by_name("y:0")
    for thing in (y, y.op, "y"):
        assert ed.op(thing) is y.op
        assert ed.tensor(thing) is y
    other = gs.open(tiny()).tensor("y:0")
    for verb, find in (("op", ed.op), ("tensor", ed.tensor)):
        with refuses(SelectionError, f"{verb}('y:0'): 'y:0' is an object of another graph", "or its name as text"):
            find(other)
        with refuses(SelectionError, f"{verb}(3)", "3 is not text", "Give its name"):
            find(3)


def test_what_is_not_a_session():
    ed = gs.open(tiny())
    with refuses(PlanError, "session('x'): an object of type str is not a session", "Give a tf.compat.v1.Session"):
        ed.session("x")


def test_a_stale_plan():
    graph = tiny()
    ed = gs.open(graph)
    plan = ed.plan().copy(ed.select(name="y"), to="t", unmapped="keep")
    with graph.as_default():
        tf.no_op()
    before = look(graph)
    with refuses(StalePlanError, "the graph has 1 op more than when the plan was made", "Make the plan again"):
        ed.apply(plan)
    assert look(graph) == before


def test_a_plan_is_applied_once():
    ed = gs.open(tiny())
    plan = ed.plan().copy(ed.select(name="y"), to="t", unmapped="keep")
    ed.apply(plan)
    with refuses(StalePlanError, "1 op more"):
        ed.apply(plan)


def test_a_result_that_is_not_the_preview(monkeypatch):
    from graphsurgeon.tf.copy import append as copying

    graph = tiny()
    ed = gs.open(graph)
    plan = ed.plan().copy(ed.select(name="y"), to="t", unmapped="keep")
    monkeypatch.setattr(copying, "differences", lambda effect, after: ["'t/y' differs"])
    with refuses(PlanError, "the result differs from the preview: 't/y' differs", "Report this, with plan.to_code()"):
        ed.apply(plan)
    assert ed.history == []
    assert ed.graph is graph


def test_what_was_not_copied():
    ed = gs.open(tiny())
    done = ed.apply(ed.plan().copy(ed.select(name="y"), to="t", unmapped="keep"))
    with refuses(SelectionError, "done['z']: no copy was made of 'z'"):
        done["z"]
    with refuses(SelectionError, "no copy was made of 'yy'"):
        done["yy:0"]
    with refuses(SelectionError, "done['y:3']: op 'y' (Square) has 1 output", "It has 'y:0'"):
        done["y:3"]
    with refuses(SelectionError, "done['y:x']: 'y:x' is not a tensor name"):
        done["y:x"]


# -- undo and redo ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_undo_and_redo_of_a_copy(kind):
    m = model(kind)
    ed = gs.open(m.session)
    before, size = state(m.graph), len(m.graph.get_operations())
    variables = dict(ed.snapshot.state.variables)
    done = ed.apply(ed.plan().copy(ed.select(), to="t", values=m.session))
    made = state(m.graph)
    assert made != before
    event = ed.undo()
    assert event.undone
    assert state(m.graph) == before
    assert set(keys(m.graph)) == set(before)
    assert ed.orphans == frozenset(done.ops)
    assert len(ed.orphans) == len(m.graph.get_operations()) - size
    assert str(ed).endswith(f"{len(ed.orphans):,} orphans left by undo")
    assert set(ed.snapshot.state.collections) == set(before)
    assert set(variables) <= set(ed.snapshot.state.variables)
    ed.redo()
    assert state(m.graph) == made
    assert ed.orphans == frozenset()
    with m.graph.as_default():
        assert [v.name for v in tf1.trainable_variables()][-2:] == ["t/net/w:0", "t/net/b:0"]
    session = ed.session()
    feed = m.feed()
    assert session.run(done["loss:0"], {done[k]: v for k, v in feed.items()}) == session.run(m.loss, feed)


def test_undo_goes_back_step_by_step():
    ed = gs.open(tiny())
    with refuses(PlanError, "undo(): there is nothing to undo", "Apply a plan first"):
        ed.undo()
    with refuses(PlanError, "redo(): there is nothing to redo", "Undo a plan first"):
        ed.redo()
    for to in ("a", "b", "c"):
        ed.apply(ed.plan().copy(ed.select(name="y"), to=to, unmapped="keep"))
    assert [ed.undo().number for _ in range(3)] == [3, 2, 1]
    with refuses(PlanError, "nothing to undo"):
        ed.undo()
    assert [ed.redo().number for _ in range(2)] == [1, 2]
    assert ed.orphans == {"c/y"}
    ed.undo()
    assert ed.orphans == {"b/y", "c/y"}


def test_a_new_plan_after_an_undo_ends_the_redo():
    ed = gs.open(tiny())
    ed.apply(ed.plan().copy(ed.select(name="y"), to="a", unmapped="keep"))
    ed.undo()
    ed.apply(ed.plan().copy(ed.select(name="y"), to="b", unmapped="keep"))
    with refuses(PlanError, "there is nothing to redo"):
        ed.redo()
    assert ed.orphans == {"a/y"}
    assert "the name 'a' is taken" in ed.plan().copy(ed.select(name="y"), to="a", unmapped="keep").check()[0].problem


def test_undo_leaves_what_the_user_put_into_collections():
    m = model("ref", optimizer=None)
    ed = gs.open(m.graph)
    done = ed.apply(ed.plan().copy(ed.select(scope="net"), to="t", unmapped="keep"))
    m.graph.add_to_collection("variables", m.w)
    m.graph.add_to_collection("t/mine", m.y)
    ed.undo()
    assert m.graph.get_collection("variables") == [m.w, m.b, m.w]
    assert m.graph.get_collection("t/mine") == [m.y]
    assert not any(v is done[m.w] for v in m.graph.get_collection("trainable_variables"))


# -- plans that need a new graph ------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_materialize(kind):
    m = model(kind)
    m.train_steps()
    ed = gs.open(m.session)
    before = look(m.graph)
    plan = ed.plan().copy(ed.select(name="net/y"), to="t", unmapped="keep")
    plan = plan.connect("t/net/y:0", to="SquaredDifference", input=0)
    assert plan.mode == "materialize"
    done = ed.apply(plan)
    assert look(m.graph) == before
    assert ed.graph is not m.graph
    assert done.ops == ["t/net/y"]
    assert differences(plan.effect, ed.snapshot) == []
    assert set(ed.snapshot.names) == {op.name for op in m.graph.get_operations()} | {"t/net/y"}
    assert set(keys(ed.graph)) == set(keys(m.graph)) | {"t/mine"}
    session = ed.session()
    assert session is not m.session
    feed = {t.name: v for t, v in m.feed().items()}
    assert session.run("loss:0", feed) == m.session.run("loss:0", feed)
    with m.graph.as_default(), tf1.variable_scope("", reuse=True):
        for v in tf1.global_variables():
            copied = next(o for o in ed.graph.get_collection("variables") if o.name == v.name)
            np.testing.assert_array_equal(session.run(copied), m.session.run(v))
    new = ed.graph
    assert ed.undo().number == 1
    assert ed.graph is m.graph
    assert ed.snapshot.size == len(m.graph.get_operations())
    ed.redo()
    assert ed.graph is new
    ed.undo()
    ed.apply(ed.plan().copy(ed.select(name="net/y"), to="u", unmapped="keep"))
    assert "u/net/y" in ed.snapshot.index


def test_materialize_changes_the_numbers():
    ed = gs.open(tiny())
    old = ed.graph
    ed.apply(ed.plan().connect("x:0", to="z", input=0))
    assert run(ed.graph, "z:0", {"x:0": X}).tolist() == (X + 1).tolist()
    assert run(old, "z:0", {"x:0": X}).tolist() == (X**2 + 1).tolist()
    assert [op.name for op in ed.graph.get_operations()] == [op.name for op in old.get_operations()]


# -- sessions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_carries_values_over(kind):
    m = model(kind)
    ed = gs.open(m.graph)
    assert ed.session(m.session) is m.session
    m.train_steps()
    trained = m.session.run(m.w)
    done = ed.apply(ed.plan().copy(ed.select(), to="t", values=m.session))
    session = ed.session()
    assert session is m.session
    np.testing.assert_array_equal(session.run(done[m.w]), trained)
    put(done[m.w], 4, session)
    assert ed.session() is session
    np.testing.assert_array_equal(session.run(done[m.w]), np.full([2, 3], 4))
    np.testing.assert_array_equal(session.run(m.w), trained)
    other = tf1.Session(graph=m.graph)
    with m.graph.as_default():
        other.run(tf1.variables_initializer([m.w, m.b]))
    assert ed.session(other) is other
    np.testing.assert_array_equal(other.run(done[m.w]), trained)


def test_a_session_of_an_older_graph_gives_a_new_one():
    m = model("resource")
    m.train_steps()
    ed = gs.open(m.session)
    ed.apply(ed.plan().connect("net/y:0", to="SquaredDifference", input=1))
    session = ed.session(m.session)
    assert session is not m.session
    assert session.graph is ed.graph
    np.testing.assert_array_equal(session.run("net/w/Read/ReadVariableOp:0"), m.session.run(m.w))


def test_a_session_of_its_own_is_initialized():
    m = model("ref", optimizer=None)
    ed = gs.open(m.graph)
    session = ed.session()
    np.testing.assert_array_equal(session.run(m.w), m.session.run(m.w))
    assert ed.session() is session
    assert ed.session(config=tf1.ConfigProto()) is session


@pytest.mark.parametrize("anew", [False, True])
def test_what_a_session_has_never_held_is_initialized_and_told(anew):
    m = model("ref", optimizer=None)
    empty = tf1.Session(graph=m.graph)
    put(m.b, 7, empty)
    ed = gs.open(empty)
    plan = ed.plan()
    beside = plan.copy(ed.select(name="net/y"), to="t", unmapped="keep")
    ed.apply(plan.connect("net/y:0", to="SquaredDifference", input=1) if anew else beside)
    new = ed.session()
    np.testing.assert_array_equal(new.run("net/w:0"), m.session.run(m.w))  # a constant initializer
    np.testing.assert_array_equal(new.run("net/b:0"), np.full([3], 7))
    assert ed.history[0].values.endswith("1 variable starts from its initial value: net/w")


# -- two graphs, and what a plan says ---------------------------------------------------------------------


def test_several_sources_into_one():
    one, two, dst = gs.open(tiny()), gs.open(tiny()), gs.open(tf.Graph())
    plan = dst.plan().copy(one.select(), to="enc").copy(two.select(name=["y", "z", "z/y"]), to="dec",
                                                       inputs={"x:0": "enc/z:0"})  # fmt: skip
    assert plan.check() == (), [str(f) for f in plan.check()]


def test_a_mapping_to_what_the_same_plan_makes():
    one, two, dst = gs.open(tiny()), gs.open(tiny()), gs.open(tf.Graph())
    plan = dst.plan().copy(one.select(), to="enc")
    plan = plan.copy(two.select(name=["y", "z", "z/y"]), to="dec", inputs={"x:0": "enc/z:0"})
    done = dst.apply(plan)
    assert done["z"].name == "dec/z"
    want = (X**2 + 1) ** 2 + 1
    assert run(dst.graph, "dec/z:0", {"enc/x:0": X}).tolist() == want.tolist()
    assert done[one.op("z")].name == "enc/z"
    assert done[two.op("z")].name == "dec/z"


def test_faults_read_well():
    ed = gs.open(tiny(), title="inception")
    fault = ed.plan().copy(ed.select(name="y"), to="z", unmapped="keep").check()[0]
    reads(fault, "copy(to='z'): the name 'z' is taken in inception.\nType to='z_2', which is free.")


# -- explaining -----------------------------------------------------------------------------------


def test_why_and_why_not_by_name_and_by_object():
    made = model("ref", "adam")
    ed = gs.open(made.graph)
    path = ed.explain(made.w, made.loss)
    assert (path.op, path.end) == ("net/w", "loss")
    assert path.names[1] == "net/w/read"
    assert ed.explain("net/w/Adam", ed.select(name="train").ancestors()).end == "train"
    assert ed.explain("net/w/Adam", made.loss).reason == "apart"
    assert ed.explain(made.loss, made.y).reason == "below"
    cut = ed.explain("net/w", ed.select(inputs="net/y:0", outputs="loss:0"))
    assert (cut.reason, cut.tensors) == ("cut", ("net/y:0",))


def test_what_holds_the_op_of_a_model():
    made = model("resource", None)
    ed = gs.open(made.graph)
    held = ed.removal_blockers("net/w")
    assert ("net/w", "trainable_variables") in held.collections
    assert ("net/w", "mine") in held.collections
    assert {reader for _, reader, _ in held.data} >= {"net/w/Assign", "net/MatMul/ReadVariableOp"}
    assert ed.removal_blockers(made.w.initializer).variables == (("net/w/Assign", "net/w"),)
    assert not ed.removal_blockers(ed.select(name=["loss*", "SquaredDifference"])).data


def test_a_loop_is_held_by_what_stays_of_it():
    with tf.Graph().as_default() as graph:
        tf1.disable_control_flow_v2()
        try:
            tf1.while_loop(lambda i: i < 3, lambda i: i + 1, [tf.constant(0)])
        finally:
            tf1.enable_control_flow_v2()
    ed = gs.open(graph)
    assert ed.removal_blockers("while/add").contexts
    assert not ed.removal_blockers(ed.select(scope="while")).contexts


def test_what_is_to_be_placed_with_an_op():
    with tf.Graph().as_default() as graph:
        a = tf.constant(1.0, name="a")
        with tf1.colocate_with(a.op):
            tf.constant(2.0, name="b")
    assert gs.open(graph).removal_blockers("a").colocated == (("a", "b"),)


def test_patterns_of_every_kind():
    ed = gs.open(tiny())
    assert ed.match(lambda x: tf.square(x))[0].names == ["y"]
    assert ed.match(ed.select(name="y"))[0].names == ["y"]
    with tf.Graph().as_default() as small:
        tf.square(tf1.placeholder(tf.float32, name="v"), name="s")
    for given in (small, gs.open(small), gs.open(small).snapshot):
        assert ed.match(given).table() == [{"s": "y"}]
    with refuses(SelectionError, "match(3)", "int is not a pattern", "a function of tensors"):
        ed.match(3)


def test_conditions_by_op():
    ed = gs.open(tiny())

    def square(x):
        return tf.square(x, name="s")

    assert ed.match(square, where={"s": {"shape": (None, 2), "dtype": "float32"}})
    assert not ed.match(square, where={"s": lambda op: op.name == "other"})
    assert not ed.match(square, within=ed.select(name="z"))
    with refuses(SelectionError, "where('t')", "no op is called 't'"):
        ed.match(square, where={"t": {"dtype": "float32"}})


def test_in_a_network_of_keras():
    import keras

    keras.utils.set_random_seed(1)
    net = keras.Sequential([keras.layers.Input([4]), *(keras.layers.Dense(4, activation="relu") for _ in range(5))])
    ed = gs.open(net, inline=True)
    matrix = tf.TensorSpec([None, None], tf.float32)
    found = ed.match(lambda x, w, b: tf.nn.relu(tf.matmul(x, w) + b), inputs={"x": matrix, "w": matrix})
    if not found:
        found = ed.match(
            lambda x, w, b: tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), b)), inputs={"x": matrix, "w": matrix}
        )
    assert len(found) == 5, str(found)
