"""Random graphs, random boundaries, random choices: after apply the graph is what the plan said, and runs the same."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import graphsurgeon as gs
from graphsurgeon.errors import SurgeryError
from tests.graphs import collections, look

tf1 = tf.compat.v1
DTYPES = (tf.float32, tf.float64, tf.int32)
UNARY = {
    "Neg": tf.negative, "Abs": tf.abs, "Square": tf.square, "Sign": tf.sign, "Id": tf.identity,
    "Cast": lambda t: tf.cast(t, tf.float64 if t.dtype.base_dtype == tf.float32 else tf.float32),
}  # fmt: skip
BINARY = {"Add": tf.add, "Sub": tf.subtract, "Max": tf.maximum, "Min": tf.minimum}

settings.register_profile("short", max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
SHORT = settings(settings.get_profile("short"), derandomize=settings().derandomize)


KINDS = ("unary", "unary", "binary", "binary", "const", "variable", "split", "wait")
SCOPES = ("", "a/", "a/b/", "c/")
NUMBER = st.integers(0, 999)  # picks from what there is by then, by its remainder
STEP = st.tuples(st.sampled_from(KINDS), st.sampled_from(SCOPES), NUMBER, NUMBER, NUMBER, st.lists(NUMBER, max_size=2))
RECIPE = st.tuples(st.lists(st.sampled_from(range(3)), min_size=1, max_size=3), st.lists(STEP, min_size=4, max_size=24))
ENDS = st.tuples(st.lists(NUMBER, max_size=2), st.lists(NUMBER, min_size=1, max_size=2))


def built(recipe):
    """Builds a graph of feeds, constants, variables of both kinds, splits, fan-out and control edges.

    Returns:
        the graph, and its tensors.
    """
    graph, (feeds, steps) = tf.Graph(), recipe
    pools: dict = {dtype: [] for dtype in DTYPES}
    with graph.as_default():
        for number, dtype in enumerate(feeds):
            pools[DTYPES[dtype]].append(tf1.placeholder(DTYPES[dtype], [3], name=f"feed{number}"))
        for number, (kind, scope, a, b, c, waits) in enumerate(steps):
            have = [dtype for dtype in DTYPES if pools[dtype]]
            pool = pools[have[a % len(have)]]
            ops = [op for op in graph.get_operations() if op.type not in ("VariableV2", "VarHandleOp")]
            first = None if kind == "variable" else [ops[w % len(ops)] for w in sorted({w % len(ops) for w in waits})]
            with tf.name_scope(scope), tf.control_dependencies(first):
                for tensor in _made(graph, kind, number, pool, a, b, c):
                    pools[tensor.dtype.base_dtype].append(tensor)
                    if c % 4 == 0:
                        graph.add_to_collection("losses", tensor)
    return graph, [t for dtype in DTYPES for t in pools[dtype]]


def _made(graph, kind, number, pool, a, b, c):
    one, two = pool[b % len(pool)], pool[c % len(pool)]
    if kind == "unary":
        return [list(UNARY.values())[a % len(UNARY)](one)]
    if kind == "binary":
        return [list(BINARY.values())[a % len(BINARY)](one, two)]
    if kind == "const":
        return [tf.constant([number, 2, 3], dtype=DTYPES[a % 3])]
    if kind == "variable":
        start = tf.constant([1, number, 3], dtype=tf.float32)
        variable = tf1.Variable(start, use_resource=bool(a % 2), name=f"v{number}")
        graph.add_to_collection("mine", variable)
        return [variable.read_value() if b % 2 else tf.identity(variable)]
    if kind == "split":
        return [tf.concat(tf.split(one, 3)[::-1], 0)]
    graph.add_to_collection("mine", tf.no_op())
    return []


def run(graph, fetches, feeds):
    with tf1.Session(graph=graph) as session:
        with graph.as_default():
            session.run(tf1.global_variables_initializer())
        return session.run(fetches, feeds)


def boundary(ends, ed, tensors):
    """Returns the ops between tensors picked by number, and the outputs; all above where that does not connect."""
    start, end = ([tensors[n % len(tensors)] for n in numbers] for numbers in ends)
    end = list({t.name: t for t in end}.values())
    found, error = attempt(lambda: ed.select(inputs=start or None, outputs=end))
    assert error is None or "does not connect" in error.wrong
    return found or ed.select(outputs=end), end


def attempt(call):
    """Returns (what `call` gives, None), or (None, the error)."""
    try:
        return call(), None
    except SurgeryError as error:
        return None, error


def edges(snapshot):
    return {
        name: (snapshot.types[i], snapshot.input_names(i), sorted(snapshot.control_names(i)))
        for i, name in enumerate(snapshot.names)
    }


def feeds_of(graph, end, done):
    """Returns feeds for the original, and the same values for the stand-ins of the copy."""
    rng = np.random.RandomState(0)
    feeds = {
        t.outputs[0]: (rng.rand(3) * 8).astype(t.outputs[0].dtype.as_numpy_dtype)
        for t in graph.get_operations() if t.type == "Placeholder"
    }  # fmt: skip
    placeholders = [p for c in done.effect.copies for p in c.placeholders]
    inner = [graph.as_graph_element(p.was) for p in placeholders]
    values = run(graph, [*inner, *end], feeds)
    moved = {p.name + ":0": v for p, v in zip(placeholders, values[: len(inner)], strict=True)}
    for tensor, value in feeds.items():
        if _copied(done, tensor):
            moved[f"t/{tensor.name}"] = value
    return moved, values[len(inner) :]


@SHORT
@given(RECIPE, ENDS, st.sampled_from(["drop", "include"]), st.sampled_from(["placeholder", "include"]))
def test_a_copy_into_another_graph(recipe, ends, control, unmapped):
    graph, tensors = built(recipe)
    src, dst = gs.open(graph), gs.open(tf.Graph())
    block, end = boundary(ends, src, tensors)
    before = look(graph)
    plan = dst.plan().copy(block, to="t", unmapped=unmapped, control=control)
    assert plan.check() == ()
    done = dst.apply(plan)
    assert look(graph) == before
    assert edges(dst.snapshot) == edges(plan.after())
    for name in dst.snapshot.names:
        want = plan.after().outputs(plan.after().index[name])
        assert list(dst.snapshot.outputs(dst.snapshot.index[name])) == list(want), name
    moved, wanted = feeds_of(graph, end, done)
    got = run(dst.graph, [done[t] for t in end], _known(dst.graph, moved))
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    _collections_agree(graph, dst.graph, done)
    made = collections(dst.graph)
    dst.undo()
    assert dst.graph.get_all_collection_keys() == []
    dst.redo()
    assert collections(dst.graph) == made


def _known(graph, feeds):
    names = {op.name for op in graph.get_operations()}
    return {name: value for name, value in feeds.items() if name.partition(":")[0] in names}


def _collections_agree(graph, new, done):
    """Each list of the copy is the original's, in its order, with what was not copied left out."""
    for name in graph.get_all_collection_keys():
        wanted = [done[item] for item in graph.get_collection(name) if _copied(done, item)]
        got = new.get_collection(name if name != "mine" else "t/mine")
        assert [id(i) for i in got] == [id(w) for w in wanted], name


def _copied(done, item):
    name = getattr(item, "op", item).name
    return any(name in {c.source.names[i] for i in c.ops.tolist()} for c in done.effect.copies)


@SHORT
@given(RECIPE, ENDS, st.sampled_from(["copy", "share"]), st.sampled_from(["keep", "placeholder"]))
def test_a_copy_inside_one_graph(recipe, ends, share, unmapped):
    graph, tensors = built(recipe)
    ed = gs.open(graph)
    block, end = boundary(ends, ed, tensors)
    before, old = collections(graph), {op.name: op for op in graph.get_operations()}
    plan = ed.plan().copy(block, to="t", unmapped=unmapped, variables=share)
    assert plan.check() == ()
    done = ed.apply(plan)
    assert edges(ed.snapshot) == edges(plan.after())
    assert all(graph.get_operation_by_name(name) is op for name, op in old.items())
    moved, wanted = feeds_of(graph, end, done)
    feeds = {op.name + ":0": None for op in old.values() if op.type == "Placeholder"}
    rng = np.random.RandomState(0)
    for name in feeds:
        tensor = graph.get_tensor_by_name(name)
        feeds[name] = (rng.rand(3) * 8).astype(tensor.dtype.as_numpy_dtype)
    copied = [t for t in end if _copied(done, t)]
    got = run(graph, [done[t] for t in copied], {**feeds, **moved})
    for t, a in zip(copied, got, strict=True):
        np.testing.assert_array_equal(a, wanted[_at(end, t)])
    ed.undo()
    assert {k: v for k, v in collections(graph).items() if v} == {k: v for k, v in before.items() if v}
    assert ed.orphans == set(done.ops)


def _at(tensors, tensor):
    return next(i for i, t in enumerate(tensors) if t is tensor)


@SHORT
@given(RECIPE, ENDS, st.booleans(), st.booleans())
def test_the_code_of_a_plan_makes_the_same(recipe, ends, wider, twice):
    graph, tensors = built(recipe)
    src, dst = gs.open(graph), gs.open(tf.Graph())
    block, _ = boundary(ends, src, tensors)
    if wider:
        block = (block | src.select(op="Placeholder")).ancestors()
    if twice:
        block = ~(~block)
    plan = dst.plan().copy(block, to="t/u", unmapped="placeholder", control="drop")
    space = {"graph": tf.Graph(), "source_graph": graph}
    exec(plan.to_code(), space)
    assert edges(space["dst"].snapshot) == edges(plan.after())


@SHORT
@given(RECIPE, NUMBER, NUMBER, st.integers(0, 2))
def test_a_connection_is_right_or_refused(recipe, which, to, position):
    graph, tensors = built(recipe)
    ed = gs.open(graph)
    readers = [op for op in graph.get_operations() if op.inputs]
    assume(readers)
    tensor, op = tensors[which % len(tensors)], readers[to % len(readers)]
    plan = ed.plan().connect(tensor, to=op, input=position)
    before = look(graph)
    _, error = attempt(lambda: ed.apply(plan))
    if error is not None:
        assert plan.check() or "TensorFlow refuses" in error.wrong
        assert ed.graph is graph
    else:
        assert edges(ed.snapshot) == edges(plan.after())
        assert ed.op(op.name).inputs[position].name == tensor.name
        names = sorted(ed.graph.get_all_collection_keys())
        assert names == sorted(graph.get_all_collection_keys())
        ed.undo()
        assert ed.graph is graph
    assert look(graph) == before
