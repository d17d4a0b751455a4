"""Selections inside of calls: made by name or between tensors, copied, with the call left as it is."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.random_graphs import flow_version
from tests.refusal import reads

tf1 = tf.compat.v1
X = [1.0, 2.0]
CALL, INNER = "StatefulPartitionedCall", "StatefulPartitionedCall/PartitionedCall"


@pytest.fixture
def session():
    """Y = -x² · w, by a call that calls another; w holds 10 and 20."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        w = tf1.get_variable("w", initializer=[3.0, 4.0], use_resource=True)
        squared = tf.function(lambda v: tf.square(v, name="squared"), autograph=False)
        call = tf.function(
            lambda v: tf.multiply(tf.negative(squared(v), name="low"), w, name="scaled"), autograph=False
        )
        tf.identity(call(x), name="y")
    with tf1.Session(graph=graph) as session:
        session.run(tf1.global_variables_initializer())
        session.run(w.assign([10.0, 20.0]))
        yield session


@pytest.fixture
def flow():
    """A loop that adds 1 and multiplies by w three times, and a cond."""
    graph = tf.Graph()
    with graph.as_default(), flow_version("v2"):
        x = tf1.placeholder(tf.float32, [2], name="x")
        p = tf1.placeholder(tf.bool, [], name="p")
        w = tf1.get_variable("w", initializer=[3.0, 4.0], use_resource=True)

        def body(i, v):
            return i + 1, tf.multiply(tf.add(v, 1.0, name="more"), w, name="scaled")

        ends = tf.while_loop(lambda i, v: i < 3, body, [0, x], name="loop")
        tf.identity(ends[1], name="y")
        tf.identity(tf.cond(p, lambda: tf.exp(x, name="e"), lambda: tf.negative(x, name="n"), name="bend"), name="z")
    with tf1.Session(graph=graph) as session:
        session.run(tf1.global_variables_initializer())
        yield session


def test_ops_inside_calls_are_selected_by_name_scope_and_boundary(session):
    ed = gs.open(session)
    by_name = ed.select(name=[f"{CALL}/low", f"{INNER}/squared"])
    assert by_name.names == [f"{INNER}/squared", f"{CALL}/low"]
    between = ed.select(inputs="x:0", outputs=f"{CALL}/low:0")  # the inner call is one op as long as it is not named
    assert between.names == [INNER, f"{CALL}/low"]
    assert between.boundary.inputs == ("x:0",)
    assert ed.select(scope=CALL).names == [CALL]
    assert {"Mul", "Neg", "PartitionedCall", "ReadVariableOp"} <= ed.select(name=f"{CALL}/*").types.keys()
    assert ed.select(name=f"{INNER}/sq*").names == [f"{INNER}/squared"]
    both = ed.select(name="y") | ed.select(name=f"{CALL}/*") - ed.select(name=f"{INNER}/squared")
    assert {"y", f"{CALL}/low", f"{INNER}/Identity"} <= set(both)
    assert f"{INNER}/squared" not in both
    with pytest.raises(gs.SelectionError) as found:
        ed.select(name=f"{CALL}/nope")
    reads(found.value, f"{CALL}/nope", "no op is called")


def test_a_copy_of_what_is_inside_leaves_the_call_as_it_is(session):
    ed = gs.open(session)
    block = ed.select(inputs="x:0", outputs=f"{CALL}/scaled:0")
    plan = ed.plan().copy(block, to="c", unmapped="keep", values=ed)
    assert plan.check() == ()
    assert f"inside {CALL}, left as it is" in str(plan)
    assert plan.mode == "append"
    again = {"session": session}
    exec(plan.to_code(), again)
    assert again["ed"].session().run(f"c/{CALL}/scaled:0", {"x:0": X}).tolist() == [-10.0, -80.0]
    again["ed"].undo()
    assert again["ed"].orphans == {name for name in again["ed"].snapshot.names if name.startswith("c/")}


def test_a_copy_inside_has_variables_of_its_own_or_shares_them(session):
    ed = gs.open(session)
    block = ed.select(name=f"{CALL}/*")
    ed.apply(ed.plan().copy(block, to="own", inputs={"x:0": "x:0"}, unmapped="include", values=ed))
    ed.apply(ed.plan().copy(block, to="same", inputs={"x:0": "x:0"}, unmapped="keep", variables="share"))
    now = ed.session()
    now.run("own/w/Assign", {ed.op("own/w/Assign").inputs[1]: [1.0, 1.0]})
    run = {name: now.run(f"{name}/{CALL}/scaled:0", {"x:0": X}).tolist() for name in ("own", "same")}
    assert run == {"own": [-1.0, -4.0], "same": [-10.0, -80.0]}
    assert now.run("y:0", {"x:0": X}).tolist() == [-10.0, -80.0]
    text = ed.to_code()
    assert f"ed.select(name=['{CALL}/" in text


def test_what_is_only_inside_cannot_be_kept(session):
    ed = gs.open(session)
    plan = ed.plan().copy(ed.select(name=f"{CALL}/low"), to="c", unmapped="keep")
    reads(plan.check()[0], "copy(to='c')", f"{INNER}:0", "inputs={")
    mapped = ed.plan().copy(ed.select(name=f"{CALL}/low"), to="c", inputs={f"{INNER}:0": "x:0"})
    ed.apply(mapped)
    assert ed.session().run(f"c/{CALL}/low:0", {"x:0": X}).tolist() == [-1.0, -2.0]


def test_a_copy_goes_into_another_graph(session):
    ed, other = gs.open(session), gs.open(tf.Graph())
    block = ed.select(inputs="x:0", outputs=f"{CALL}/scaled:0")
    plan = other.plan().copy(block, to="c", unmapped="placeholder", values=ed)
    done = other.apply(plan)
    assert other.session().run(f"c/{CALL}/scaled:0", {done["x:0"]: X}).tolist() == [-10.0, -80.0]


def test_a_round_of_a_loop_is_copied_where_what_it_is_given_is_mapped(flow):
    ed = gs.open(flow)
    block = ed.select(inputs="loop/body/placeholder_1:0", outputs="loop/body/scaled_0:0")
    given = {"loop/body/placeholder_1:0": "x:0"}
    plan = ed.plan().copy(block, to="round", inputs=given, unmapped="include", variables="share")
    assert plan.check() == (), plan
    ed.apply(plan)
    assert ed.session().run("round/loop/body/scaled_0:0", {"x:0": X}).tolist() == [6.0, 12.0]


def test_a_branch_is_copied_and_reads_what_the_cond_does(flow):
    ed = gs.open(flow)
    ed.apply(ed.plan().copy(ed.select(scope="bend/then_branch"), to="branch", unmapped="keep"))
    got = ed.session().run("branch/bend/then_branch/e_0:0", {"x:0": X})
    assert np.allclose(got, np.exp(X))


def test_a_function_that_cannot_be_inlined_is_not_copied_from():
    @tf.custom_gradient
    def odd(v):
        return tf.square(v, name="odd"), lambda dy: dy

    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [2], name="x")
        tf.function(lambda v: odd(v), autograph=False)(x)
    ed = gs.open(graph)
    call = next(n for n in ed.snapshot.names if "Call" in n)
    inner = ed.select(name=f"{call}/*")
    with pytest.raises(gs.PlanError) as found:
        ed.plan().copy(inner, to="c")
    reads(found.value, call, "custom_gradient", "Leave this call as it is")


# -- by hand ----------------------------------------------------------------------------------------

LOW, SCALED = f"{CALL}/low", f"{CALL}/scaled"


def ran(ed, name="y:0"):
    return ed.session().run(name, {"x:0": X}).tolist()


def test_by_hand_what_is_inside_is_marked_copied_and_taken_back(session):
    ed = gs.open(session)
    screen = ed.screen
    screen.unfold(CALL)
    screen.select([LOW])
    assert screen.selection.names == [LOW]
    assert (
        "inside StatefulPartitionedCall: an edit inlines the call, a copy does not change it"
        in screen.state.status.text
    )
    screen.mark_input("x:0")
    screen.mark_output(LOW)
    shown = screen.traits()
    boundary = shown["boundary"]
    assert [row["tensor"] for row in boundary["outputs"]] == [f"{LOW}:0"]
    assert boundary["outputs"][0]["shape"] == "(2,)"
    assert boundary["ops"] == 2
    assert boundary["boxes"] == {INNER: 1, LOW: 1}
    assert screen.region.names == [INNER, LOW]
    screen.fold(f"{CALL}/")
    assert screen.traits()["boundary"]["boxes"] == {CALL: 2}
    screen.select([])
    screen.copy("c")
    plan = screen.traits()["plan"]
    assert plan["ready"], plan["faults"]
    assert "left as it is" in plan["steps"][0]["text"]
    screen.apply()
    assert ed.session().run(f"c/{LOW}:0", {"c/x:0": X}).tolist() == [-1.0, -4.0]
    assert CALL in ed.snapshot.index
    screen.undo()
    assert all(name in ed.orphans for name in ed.snapshot.names if name.startswith("c/"))


#: What is done by hand inside of the call, and y for x = [1, 2].
DONE = {
    "insert": (lambda s: s.insert("Abs", f"{LOW}:0"), [10.0, 80.0]),
    "bypass": (lambda s: s.bypass(LOW), [10.0, 80.0]),
    "remove": (lambda s: s.remove([LOW], stitch=True), [10.0, 80.0]),
    "remove several": (
        lambda s: (s.remove([LOW], stitch=True), s.remove([f"{INNER}/squared"], stitch=True)),
        [10.0, 40.0],
    ),
    "reroute": (lambda s: s.reroute(f"{LOW}:0", "x:0"), [10.0, 40.0]),
    "connect": (lambda s: s.connect("x:0", SCALED, 0), [10.0, 40.0]),
    "inline by its frame": (lambda s: s.inline([f"{CALL}/"]), [-10.0, -80.0]),
    "deeper": (lambda s: s.insert("Neg", f"{INNER}/squared:0"), [10.0, 80.0]),
    "insert a copy": (lambda s: s.insert_copy([LOW], f"{SCALED}:0", "again"), [10.0, 80.0]),
    "rename": (lambda s: s.rename(LOW, f"{CALL}/minus"), [-10.0, -80.0]),
}


@pytest.mark.parametrize("done", DONE)
def test_by_hand_an_edit_inside_inlines_the_call(done, session):
    ed = gs.open(session)
    screen, (act, wanted) = ed.screen, DONE[done]
    screen.unfold(CALL)
    act(screen)
    plan = screen.traits()["plan"]
    assert plan["ready"], plan["faults"]
    assert any(step["text"].startswith(("open ", "inline ")) for step in plan["steps"]), plan["steps"]
    again = {"session": session}
    exec(plan["code"], again)
    screen.apply()
    assert ran(ed) == ran(again["ed"]) == wanted
    screen.undo()
    assert ran(ed) == [-10.0, -80.0]
    assert CALL in ed.snapshot.index


def test_by_hand_a_boundary_of_what_is_selected_inside(session):
    screen = gs.open(session).screen
    screen.unfold(CALL)
    screen.unfold(INNER)
    screen.select([f"{INNER}/squared", f"{INNER}/Identity", LOW])
    screen.mark_boundary()
    assert screen.state.marks.inputs == ("x:0",)
    assert screen.state.marks.outputs == (f"{LOW}:0",)
    assert screen.region.names == [INNER, LOW]  # the same computation


def test_by_hand_a_marked_tensor_that_an_edit_takes_out_is_told_as_gone(session):
    screen = gs.open(session).screen
    screen.mark_input("x:0")
    screen.mark_output(LOW)
    screen.remove([LOW], stitch=True)
    screen.apply()
    boundary = screen.traits()["boundary"]
    assert boundary["outputs"][0]["text"] == f"{LOW}:0  is gone"
    assert f"there is no tensor '{LOW}:0'" in boundary["problem"]
    screen.undo()
    assert screen.traits()["boundary"]["ops"] == 2


def test_by_hand_a_loop_is_unrolled_and_a_cond_resolved(flow):
    ed = gs.open(flow)
    screen = ed.screen
    screen.unroll("loop", 3)
    screen.resolve_condition("bend", "False")
    plan = screen.traits()["plan"]
    assert plan["ready"], plan["faults"]
    assert [step["text"] for step in plan["steps"]] == [
        "unroll loop to 3 rounds",
        "resolve conditions: p:0 is False",
    ]
    screen.apply()
    assert not {"While", "StatelessWhile", "If", "StatelessIf"} & set(ed.snapshot.types)
    y, z = ed.session().run(["y:0", "z:0"], {"x:0": X})
    assert y.tolist() == [27 + 27 + 9 + 3, 64 * 2 + 64 + 16 + 4]
    assert z.tolist() == [-1.0, -2.0]
    screen.undo()
    assert "loop" in ed.snapshot.index


def test_by_hand_what_is_no_cond_is_refused_with_what_is_one(flow):
    screen = gs.open(flow).screen
    screen.resolve_condition("x", "True")
    reads_fault(screen, "x:0 is float32", "Name the condition of a Switch, If or Case")
    screen.undo()
    screen.unroll("y", 2)
    reads_fault(screen, "'y' is not a loop", "The loops are 'loop'")


def reads_fault(screen, *parts):
    (fault,) = screen.traits()["plan"]["faults"]
    text = f"{fault['request']} {fault['problem']} {fault['suggestion']}"
    assert all(part in text for part in parts), text
