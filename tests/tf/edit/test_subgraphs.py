"""Patterns replaced in live graphs: every match, its numbers, its readers, its control edges, its code."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import PlanError, SelectionError
from graphsurgeon.plan.plan import Plan
from tests.graphs import look
from tests.random_graphs import flow_version
from tests.refusal import reads, refuses

tf1 = tf.compat.v1
X = np.array([[1.0, -2.0]], np.float32)


def swish(x):
    return x * tf.sigmoid(x)


def hard(x):
    return x * tf.nn.relu6(x + 3.0) / 6.0


def blocks(count=3):
    """A graph of blocks x -> swish -> y, each in a scope of its own."""
    graph = tf.Graph()
    with graph.as_default():
        h = tf1.placeholder(tf.float32, [None, 2], name="x")
        for i in range(count):
            with tf.name_scope(f"b{i}"):
                h = tf.multiply(tf.sigmoid(h, name="gate"), h, name="swish")
        tf.identity(h, name="y")
    return graph


def number(ed, fetch="y:0", feed=X):
    return ed.session().run(fetch, {"x:0": feed})


def wanted(count=3):
    h = X
    for _ in range(count):
        h = h * np.clip(h + 3.0, 0, 6) / 6.0
    return h


@pytest.mark.parametrize("what", ["function", "selection", "graph", "editor", "pattern", "matches", "list"])
def test_all_that_a_pattern_can_be_given_as(what):
    graph = blocks()
    ed, before = gs.open(graph), look(graph)
    small = tf.Graph()
    with small.as_default():
        swish(tf1.placeholder(tf.float32, name="x"))
    given = {
        "function": swish, "selection": ed.select(scope="b1"), "graph": small, "editor": gs.open(small),
        "pattern": ed.match(swish).pattern, "matches": ed.match(swish), "list": list(ed.match(swish))[:3],
    }[what]  # fmt: skip
    plan = ed.plan().replace(given, hard)
    assert plan.check() == (), [str(f) for f in plan.check()]
    done = ed.apply(plan)
    assert look(graph) == before
    np.testing.assert_allclose(number(ed), wanted(), rtol=1e-6)
    assert not any("gate" in name for name in ed.snapshot.names)
    assert [m.scope for m in done.matches] == ["b0/swish", "b1/swish", "b2/swish"]
    assert [m.outputs for m in done.matches][1] == {"b1/swish:0": "b1/swish/truediv:0"}
    assert done["b1/swish:0"].name == "b1/swish/truediv:0"
    assert done["b1/swish"].name == "b1/swish/truediv"
    assert done["b1/swish/truediv"].type == "RealDiv"
    assert "b1/gate" not in done
    assert set(plan.after().names) == set(ed.snapshot.names)
    ed.undo()
    assert ed.graph is graph
    ed.redo()
    np.testing.assert_allclose(number(ed), wanted(), rtol=1e-6)


def test_the_code_of_a_replacement_makes_the_same():
    graph = blocks()
    ed = gs.open(graph)
    plan = ed.plan().replace(swish, lambda x: tf.nn.relu(x) + tf1.get_variable("w", initializer=1.0))
    plan = plan.replace(lambda x: tf.nn.relu(x), hard, to="act").insert(lambda x: x * 2.0, on="x:0", name="twice")
    code = plan.to_code()
    assert "def swish(x):" in code
    assert "import tensorflow as tf" in code
    space = {"graph": graph}
    exec(code, space)
    ed.apply(plan)
    assert space["ed"].snapshot.fingerprint == ed.snapshot.fingerprint
    assert number(space["ed"]).tolist() == number(ed).tolist()
    where = {"Sigmoid": {"shape": (None, 2)}}
    plan = (
        gs.open(graph)
        .plan()
        .replace(swish, hard, where=where, inputs={"x": tf.TensorSpec([None, 2])}, constants="equal")
    )
    exec(plan.to_code(), space)
    assert space["done"].matches[0].scope == "b0/swish"


def test_functions_whose_source_is_not_known_keep_their_names():
    ed, factor = gs.open(blocks()), 2.0
    matches = ed.match(swish)  # they know what they were found by; a pattern that has grown since does not
    grown = matches.pattern.where("Sigmoid", type="Sigmoid")
    plan = ed.plan().replace(swish, lambda x: x * factor).replace(matches, lambda x: x * factor)
    code = plan.replace(grown, lambda x: x * factor).to_code()
    assert code.count("def swish(x):") == 1
    assert ".replace(swish, replacement)" in code
    assert ".replace(swish, replacement_2, within=ed.select(" in code
    assert ".replace(pattern_2, replacement_3)" in code
    assert "lambda" not in code.replace("<lambda>", "")


def test_on_copies_nothing_that_exists_is_touched():
    graph = blocks()
    ed, old = gs.open(graph), list(graph.get_operations())
    plan = ed.plan().replace(swish, hard).on_copies(scope="new")
    assert plan.mode == "append"
    done = ed.apply(plan)
    assert graph.get_operations()[: len(old)] == old
    both = number(ed, [done["y:0"], "y:0"])
    np.testing.assert_allclose(both[0], wanted(), rtol=1e-6)
    assert both[1].tolist() != both[0].tolist()
    assert done["y:0"].name == "new/y:0"
    assert done["b0/gate"] is ed.op("b0/gate")


def test_an_input_given_back_takes_the_match_out():
    ed = gs.open(blocks())
    done = ed.apply(ed.plan().replace(swish, lambda x: x))
    assert number(ed).tolist() == X.tolist()
    assert ed.snapshot.names == ["x", "y"]
    assert [m.outputs for m in done.matches][2] == {"b2/swish:0": "x:0"}


def test_outputs_by_dict_in_order_and_what_does_not_fit():
    def pair(x):
        a = tf.negative(x, name="a")
        return {"top": a, "low": tf.exp(a, name="b")}

    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        a = tf.negative(x)
        tf.add(a, tf.exp(a), name="y")
    ed = gs.open(graph)
    for by in (lambda x: {"low": x * 5.0, "top": x}, lambda x: [x, x * 5.0]):
        fresh = gs.open(graph)
        fresh.apply(fresh.plan().replace(pair, by))
        assert fresh.session().run("y:0", {"x:0": [1.0, 2.0]}).tolist() == [6.0, 12.0]

    def fault(by, **more):
        return ed.plan().replace(pair, by, **more).check()[0]

    reads(fault(lambda x: x), "returns 1 tensor instead of 2", "in this order: top, low")
    reads(fault(lambda x: {"top": x}), "the function returns 'top'", "Return a dict of 'top', 'low'")
    reads(fault(lambda x: [tf.cast(x, tf.int32), x]), "is int32 (2,), but 'Neg:0' is float32 (2,): the dtypes differ")
    reads(fault(lambda x: [x[:1], x]), "axis 0 is 1 against 2", "would fit")
    reads(fault(lambda x: [tf.constant(1.0).graph, x]), "it returns Graph, not a tensor".replace("it", "the function"))
    reads(fault(lambda x: 1 / 0), "fails: ZeroDivisionError: division by zero", "Correct the function")
    reads(fault(lambda x, y: [x, y]), "the function takes x, y, but the inputs are x")
    reads(fault(len), "calling the function for 'Neg' fails")
    reads(ed.plan().replace(swish, hard).check()[0], "nothing in the graph looks like it", "has no Mul or Sigmoid")


def test_arguments_by_name_in_order_and_the_match():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        w = tf.constant([3.0, 4.0], name="w")
        tf.add(tf.multiply(x, w), 1.0, name="y")
    given = []

    def pattern(x, w):
        return tf.add(tf.multiply(x, w, name="times"), tf.constant(0.0, name="k"))

    def by(match, w):
        given.append((match.op("times").name, match.value("k").tolist(), match.value("w").tolist()))
        return w * match.value("k")

    ed = gs.open(graph)
    for function, want in [(by, [3.0, 4.0]), (lambda a, b: a - b, [-2.0, -2.0]), (lambda *t: t[1], [3.0, 4.0])]:
        fresh = gs.open(graph)
        done = fresh.apply(fresh.plan().replace(pattern, function))
        assert fresh.session().run(done["y:0"], {"x:0": [1.0, 2.0]}).tolist() == want
    assert given[0] == ("Mul", 1.0, [3.0, 4.0])
    found = ed.match(pattern)[0]
    with refuses(SelectionError, "op('no')", "the pattern contains no op 'no'"):
        found.op("no")
    with refuses(SelectionError, "'x:0' (Placeholder) has no known value", "freeze variables first"):
        found.value("x")


def test_each_match_is_given_its_own_constants():
    graph = tf.Graph()
    with graph.as_default():
        h = tf1.placeholder(tf.float32, [None, 2], name="x")
        for i in range(3):
            h = tf.add(h, tf.constant(10.0**i, name=f"k{i}"), name=f"a{i}")
        tf.identity(h, name="y")
    ed = gs.open(graph)
    ed.apply(ed.plan().replace(lambda x, k: x + k, lambda x, match: x + 2.0 * match.value("k")))
    np.testing.assert_array_equal(number(ed), X + 222.0)


def test_readers_of_inner_tensors():
    graph = blocks(2)
    with graph.as_default():
        tf.negative(graph.get_tensor_by_name("b0/gate:0"), name="side")
    ed = gs.open(graph)
    plan = ed.plan().replace(swish, hard)
    assert list(plan.effect.warnings) == ["1 match not replaced: b0/swish:0: b0/gate:0 inside is read by side"]
    done = ed.apply(plan)
    assert [m.scope for m in done.matches] == ["b1/swish"]
    assert "b0/gate" in ed.snapshot.index
    ed = gs.open(graph)
    done = ed.apply(ed.plan().replace(swish, hard, external="keep"))
    assert [m.kept for m in done.matches] == [("b0/gate",), ()]
    assert "b0/swish" not in ed.snapshot.index
    np.testing.assert_allclose(number(ed), wanted(2), rtol=1e-6)
    np.testing.assert_allclose(number(ed, "side:0"), -1 / (1 + np.exp(-X)), rtol=1e-6)
    only = gs.open(graph)
    one = only.plan().replace(swish, hard, within=only.select(scope="b0"))
    reads(one.check()[0], "no match can be replaced: b0/swish:0: b0/gate:0 inside is read by side", "external='keep'")


def test_control_edges_go_over_to_what_replaces():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        first = tf.no_op(name="first")
        with tf.control_dependencies([first]):
            gate = tf.sigmoid(x, name="gate")
        y = tf.multiply(gate, x, name="y")
        with tf.control_dependencies([y]):
            tf.no_op(name="last")
        tf.identity(y, name="end")
    ed = gs.open(graph)
    plan = ed.plan().replace(swish, hard)
    assert list(plan.effect.warnings) == ["2 control edges moved to the replacement: gate after first, last after y"]
    ed.apply(plan)
    assert [c.name for c in ed.op("y/add").control_inputs] == ["first"]
    assert [c.name for c in ed.op("last").control_inputs] == ["y/truediv"]
    ed = gs.open(graph)
    plan = ed.plan().replace(swish, lambda x: x)
    assert "1 control edge left out: gate after first" in plan.effect.warnings
    ed.apply(plan)
    assert [c.name for c in ed.op("last").control_inputs] == ["x"]
    both = gs.open(graph)
    plan = both.plan().replace(swish, hard).on_copies(scope="n", until="last")
    done = both.apply(plan)
    assert [c.name for c in done["last"].control_inputs] == ["y/truediv"]


def test_a_match_around_others_is_refused():
    """What lies between two ops of a match reads it and is read by it: what replaces both would read itself."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        a = tf.negative(x, name="a")
        mid = tf.square(a, name="mid")
        tf.add(a, mid, name="b")
    ed = gs.open(graph)

    def around(x, m):
        a = tf.negative(x)
        return [a, a + m]

    fine = ed.plan().replace(around, lambda x, m: [x * 2.0, x + m])
    ed.apply(fine)
    assert ed.session().run("a/add:0", {"x:0": [1.0, 2.0]}).tolist() == [5.0, 18.0]
    other = gs.open(graph).plan().replace(around, lambda x, m: [x + m, x + m])
    reads(other.check()[0], "no match can be replaced: a:0, b:0: its replacement would be computed from itself")


def test_overlapping_matches_and_those_an_earlier_step_has_changed():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [2], name="x")
        h = x
        for i in range(3):
            h = tf.negative(h, name=f"n{i}")
        tf.identity(h, name="y")
    ed = gs.open(graph)
    found = ed.match(lambda x: tf.negative(tf.negative(x)), overlapping=True)
    plan = ed.plan().replace(found, lambda x: x)
    assert list(plan.effect.warnings) == ["1 match not replaced: n2:0: it overlaps with another match"]
    single = ed.match(lambda x: -x)
    plan = ed.plan().reroute("n0", to="x", exclude="n0").replace(single, tf.exp)
    assert "n1:0: an earlier step changes the inputs of n1" in plan.effect.warnings[0]
    plan = ed.plan().remove("n0", stitch=True).replace(single[0], tf.exp)
    reads(plan.check()[0], "n0:0: an earlier step removes a part of it")
    other = gs.open(blocks())
    with refuses(PlanError, "the matches are of another graph, graph", "Look for them in graph"):
        ed.plan().replace(other.match(swish), hard)


@pytest.mark.parametrize("kind", ["reference", "resource", "keras"])
def test_variables_of_a_replacement_are_the_graphs_own(kind):
    def dense(x):
        if kind == "keras":
            return tf.matmul(x, tf.Variable(np.eye(2, dtype=np.float32) * 3, name="w"))
        start = tf1.constant_initializer(np.eye(2) * 3)
        return tf.matmul(x, tf1.get_variable("w", [2, 2], initializer=start, use_resource=kind == "resource"))

    graph = blocks(2)
    ed = gs.open(graph)
    done = ed.apply(ed.plan().replace(swish, dense))
    assert [v.op.name for v in ed.graph.get_collection("trainable_variables")] == ["b0/swish/w", "b1/swish/w"]
    assert [v.op.name for v in done.variables] == ["b0/swish/w", "b1/swish/w"]
    np.testing.assert_array_equal(number(ed), 9 * X)
    with ed.graph.as_default():
        slopes = tf1.gradients(done["y:0"], tf1.trainable_variables())
    assert all(s is not None for s in slopes)


def test_functions_of_a_replacement_come_along():
    @tf.function
    def called(x):
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x, lambda: -x)

    ed = gs.open(blocks(2))
    done = ed.apply(ed.plan().replace(swish, called))
    with ed.graph.as_default():
        slope = tf1.gradients(done["y:0"], done["x:0"])[0]
    assert number(ed).tolist() == [[-1.0, 2.0]]
    assert number(ed, slope).tolist() == [[-1.0, -1.0]]


def test_in_a_loop():
    graph = tf.Graph()
    with graph.as_default(), flow_version("v1"):
        x = tf1.placeholder(tf.float32, [2], name="x")
        end = tf1.while_loop(lambda i, _: i < 2, lambda i, t: (i + 1, tf.sigmoid(t) * t), [0, x])[1]
        tf.identity(end, name="y")
    for forward in (False, True):
        ed = gs.open(graph)
        plan = ed.plan().replace(swish, hard)
        plan = plan.on_copies(scope="n") if forward else plan
        assert plan.check() == (), [str(f) for f in plan.check()]
        done = ed.apply(plan)
        np.testing.assert_allclose(ed.session().run(done["y:0"], {"x:0": X[0]}), wanted(2)[0], rtol=1e-6)
    plan = gs.open(graph).plan().replace(swish, lambda x: x * tf1.get_variable("w", initializer=2.0))
    reads(plan.check()[0], "would be a variable inside a loop", "Replace matches outside of loops")
    plan = gs.open(graph).plan().replace(swish, lambda: tf.ones([2]))
    assert plan.check() == ()


def test_scopes_that_are_taken_get_a_number():
    graph = blocks(2)
    with graph.as_default():
        tf.identity(graph.get_tensor_by_name("y:0"), name="b0/swish/mul")
    ed = gs.open(graph)
    done = ed.apply(ed.plan().replace(swish, hard))
    assert [m.scope for m in done.matches] == ["b0/swish_1", "b1/swish"]
    ed = gs.open(graph)
    assert [m.scope for m in ed.apply(ed.plan().replace(swish, hard, to="b0")).matches] == ["b0_1", "b0_2"]


def test_a_thousand_matches_are_built_from_one_call():
    calls = []

    def by(x):
        calls.append(1)
        return tf.nn.relu(x)

    ed = gs.open(blocks(1000))
    done = ed.apply(ed.plan().replace(swish, by))
    assert len(done.matches) == 1000
    assert len(calls) == 1
    assert number(ed).tolist() == np.maximum(X, 0).tolist()


def test_what_is_refused_at_once():
    plan = gs.open(blocks()).plan()
    with refuses(PlanError, "external='break' is not known", "Choose one of 'keep', 'refuse'"):
        plan.replace(swish, hard, external="break")
    with refuses(PlanError, "int is not a function", "Give a function of the pattern's inputs, or an op type"):
        plan.replace(swish, 3)
    with refuses(SelectionError, "replace(3)", "int is not a pattern"):
        plan.replace(3, hard)
    bare = Plan(plan.base)
    with refuses(PlanError, "this plan was made without TensorFlow", "gs.open(graph).plan()"):
        bare.replace(swish, hard)
    found = gs.open(plan.base.owner).match(swish)
    reads(bare.replace(found.pattern, hard).check()[0], "this plan was made without TensorFlow")
    reads(
        plan.insert("Neg", on="x", name="n").replace(lambda x: x * tf.sigmoid(x), hard).check()[0],
        "not known yet",
        "Apply that step first",
    )


def test_an_op_type_takes_the_inputs_in_their_order():
    graph = tf.Graph()
    with graph.as_default():
        x, z = (tf1.placeholder(tf.float32, [2], name=name) for name in "xz")
        tf.identity(tf.subtract(z, x, name="net/minus"), name="y")
    ed = gs.open(graph)
    plan = ed.plan().replace(ed.select(name="net/minus"), "Div")
    assert ".replace(ed.select(name='net/minus'), 'Div')" in plan.to_code()
    done = ed.apply(plan)
    assert done.matches[0].outputs == {"net/minus:0": "net/minus_1:0"}
    op = ed.graph.get_operation_by_name("net/minus_1")
    assert (op.type, [t.name for t in op.inputs]) == ("Div", ["z:0", "x:0"])
    out = ed.session().run("y:0", {"x:0": [2.0, 4.0], "z:0": [1.0, 1.0]})
    np.testing.assert_array_equal(out, [0.5, 0.25])
    # the printed code makes the same
    other = {"graph": graph}
    exec(plan.to_code(), other)
    assert other["done"].graph.as_graph_def() == ed.graph.as_graph_def()


def test_an_op_type_that_takes_a_list():
    ed = gs.open(blocks(2))
    plan = ed.plan().replace(lambda a, b: tf.sigmoid(a) * b, "AddN")
    assert plan.check() == ()
    done = ed.apply(plan)
    assert [one.scope for one in done.matches] == ["b0/swish_1", "b1/swish_1"]
    np.testing.assert_array_equal(number(ed), 4 * X)


@pytest.mark.parametrize(
    ("kind", "problem", "suggestion"),
    [
        ("Sofplus", "TensorFlow has no op type 'Sofplus'", "Give an op type such as"),
        ("MatMul", "'MatMul' takes a, b, but the replaced ops have 1 input: x:0", "as many inputs, or give a Python"),
        ("Const", "'Const' takes nothing, but the replaced ops have 1 input: x:0", "as many inputs"),
        ("Unique", "'Unique' has 2 outputs, but the replaced ops have 1 output: b0/swish:0", "as many outputs"),
        ("Cast", "'Cast' needs a value for its attribute 'DstT'", "Choose another op type"),
        ("LogicalNot", "TensorFlow cannot make 'LogicalNot' of x:0: ", "for these dtypes and shapes"),
    ],
)
def test_an_op_type_that_does_not_fit(kind, problem, suggestion):
    ed = gs.open(blocks(1))
    faults = ed.plan().replace(ed.select(scope="b0"), kind).check()
    reads(faults[0], f"replace(pattern, {kind!r}): {problem}", suggestion)


def test_insert_a_function():
    graph = blocks(1)
    ed = gs.open(graph)
    plan = ed.plan().insert(lambda x: tf.round(x * 4.0) / 4.0, on="b0/swish:0", name="quantise", only="y")
    plan = plan.insert("Neg", on="x:0", name="minus")
    done = ed.apply(plan)
    assert [n for n in done.ops if n.startswith("quantise/")] != []
    got = number(ed)
    np.testing.assert_allclose(got, np.round(-X / (1 + np.exp(X)) * 4) / 4, rtol=1e-6)
    reads(ed.plan().insert(lambda x: [x, x], on="x", name="q").check()[0], "returns 2 tensors instead of 1")
    with refuses(PlanError, "a function has no attribute 'alpha'", "Set its options inside"):
        ed.plan().insert(lambda x: x, on="x", name="q", alpha=1)


def test_a_function_inserted_in_a_loop_runs_there():
    graph = tf.Graph()
    with graph.as_default(), flow_version("v1"):
        x = tf1.placeholder(tf.float32, [2], name="x")

        def outer(i, a):
            inner = tf1.while_loop(lambda j, _: j < 2, lambda j, b: (j + 1, tf.negative(b, name="minus")), [0, a])[1]
            return i + 1, tf.multiply(inner, 2.0, name="twice")

        tf.identity(tf1.while_loop(lambda i, _: i < 2, outer, [0, x], name="outer")[1], name="y")
    floor = lambda t: tf.maximum(t, 1.0)  # noqa: E731  # it makes a constant
    ends = {op.name.rpartition("/")[2]: op.outputs[0].name for op in graph.get_operations() if op.outputs}
    for on, want in ((ends["minus"], [2.0, 2.0]), (ends["twice"], [2.0, 20.0])):
        for forward in (False, True):
            ed = gs.open(graph)
            plan = ed.plan().insert(floor, on=on, name=f"floor_{len(ed)}")
            done = ed.apply(plan.on_copies(scope=f"n_{len(ed)}") if forward else plan)
            assert ed.session().run(done["y:0"], {"x:0": [-3.0, 5.0]}).tolist() == want
    times = lambda t: t * tf1.get_variable("w", initializer=2.0)  # noqa: E731
    plan = gs.open(graph).plan().insert(times, on=ends["minus"], name="w")
    reads(plan.check()[0], "would be a variable inside a loop", "a tensor outside of the loop")


def test_the_preview_says_what_is_replaced():
    plan = gs.open(blocks(8)).plan().replace(swish, hard)
    text = str(plan.preview())
    assert "replaces\n  8 matches:\n    b0/swish: b0/swish:0 -> b0/swish/truediv:0" in text
    assert "… and 2 more" in text
    kinds = [row["kind"] for row in plan.preview().table()]
    assert kinds.count("replaced") == 8
    assert kinds.count("removed") == 16


def test_the_script_of_a_history_with_replacements_makes_the_same_graph():
    graph = blocks(2)
    definition = graph.as_graph_def()
    ed = gs.open(graph)
    ed.apply(ed.plan().replace(swish, hard))
    ed.apply(ed.plan().insert(lambda x: tf.round(x), on="x:0", name="whole").on_copies(scope="live"))
    with tf.Graph().as_default() as again:
        tf1.import_graph_def(definition, name="")
    space = {"__name__": "script"}
    exec(ed.to_code(), space)
    other = space["redo"](again)
    assert other.snapshot.fingerprint == ed.snapshot.fingerprint
    assert str(ed.provenance("b0/swish/truediv")).startswith("inserted")


def test_what_is_built_on_a_tensor_of_an_unknown_dtype_is_refused():
    graph_def = tf1.GraphDef()
    graph_def.node.add(name="odd", op="OddOp")
    graph_def.node.add(name="after", op="OddOp", input=["odd"])
    end = graph_def.node.add(name="end", op="Identity", input=["after"])
    end.attr["T"].type = 1
    (fault,) = gs.open(graph_def).plan().collapse(["after"], name="one").check()
    reads(fault, "the dtype of 'odd:0' is not known: this TensorFlow has no op type OddOp", "Load its library first")


def test_what_is_built_on_a_tensor_of_a_dtype_that_is_none_is_refused():
    graph_def = tf1.GraphDef()
    graph_def.node.add(name="odd", op="Placeholder").attr["dtype"].type = 0
    graph_def.node.add(name="end", op="Identity", input=["odd"]).attr["T"].type = 1
    (fault,) = gs.open(graph_def).plan().collapse(["end"], name="one").check()
    reads(fault, "the dtype of 'odd:0' is not known: TensorFlow has no dtype 0", "Save the graph again")
