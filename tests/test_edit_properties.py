"""Random graphs and random edits: what is applied is what was predicted, edits that change nothing change no bit."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import tensorflow as tf
from hypothesis import assume, event, example, given, settings
from hypothesis import strategies as st

import graphsurgeon as gs
from graphsurgeon.errors import SurgeryError
from graphsurgeon.plan.arguments import Arguments
from graphsurgeon.plan.plan import Plan
from tests.graphs import look
from tests.plain import unjudged
from tests.random_graphs import ENDS, NUMBER, RECIPE, built
from tests.test_properties import FEW, SHORT, boundary, edges, equal, filled, run, same_state
from tests.tiers import examples

KINDS = (
    "reroute", "reroute some", "reroute two", "swap", "connect", "insert", "insert function", "bypass", "remove",
    "stitch", "detach", "attribute", "device", "control", "free", "reroute control", "replace", "copy", "rename",
    "bypass several", "insert some", "rename some", "any attribute", "adapt",
)  # fmt: skip
STEPS = st.lists(st.tuples(st.sampled_from(KINDS), NUMBER, NUMBER, NUMBER), min_size=1, max_size=5)
#: What random edits may be refused for.
REFUSALS = (
    "the dtypes differ", " against ", "makes a cycle", "is inside a loop", "no op reads it", "still read by",
    "is a part of", "fills", "does not wait for", "no chosen op waits", "is made by this plan", "has no input",
    "nothing in the graph looks like it", "no match can be replaced", "is a part of a loop or cond", "is taken",
    "an earlier step changes", "cuts through", "needs that variable there", "orders the writes and reads",
    "but input", "but its value has dtype", "op 'forward'", "no earlier step changes", "set state",
    "sets state that the original also uses",
    "meets its partner", "an attribute that the op type needs", "has 0 outputs", "not known yet",
    "no op outside reads", "could be read instead", "can replace all leaving tensors",
    "TensorFlow refuses", "TensorFlow has no", "cannot be", "has no attribute", "is not a type",
    "is not a shape", "is not an int", "is not a bool", "is not a float", "is not a tensor", "is not a list",
    "is not a func", "would both be called",
    "is not a NextIteration", "is a variable of", "is not a variable", "is renamed and also changed",
    "is not a function of the graph", "which changes nothing", "whose ops cannot be renamed one by one",
    "no adapter can convert", "cannot convert", "as it is", "is not valid", "would be a variable inside a loop",
    "would always take", "would never run",
)  # fmt: skip


def edited(plan: Plan, made: Any, step: Any, at: int) -> Plan:
    """Adds one random step to a plan."""
    kind, a, b, c = step
    tensors, names = made.tensors, plan.base.names
    one = tensors[a % len(tensors)]
    pool = made.pools[one.dtype.base_dtype]
    # Objects are what they are, whatever a step before has called them.
    two, (op, other) = pool[b % len(pool)], (made.graph.get_operation_by_name(names[n % len(names)]) for n in (b, c))
    floats = [t for t in tensors if t.dtype == tf.float32]
    if kind == "reroute":
        return plan.reroute(one, to=two)
    if kind == "reroute some":
        return plan.reroute(one, to=two, only=[c.name for c in one.consumers()[:1]] or [op])
    if kind == "reroute two":
        three = pool[c % len(pool)]
        return plan.reroute({one: two, three: one}) if three is not one else plan.reroute(one, to=two)
    if kind == "swap":
        return plan.swap(one, two)
    if kind == "connect":
        readers = one.consumers()
        position = next(i for i, t in enumerate(readers[0].inputs) if t is one) if readers else 0
        return plan.connect(two, to=readers[0] if readers else op, input=position)
    if kind == "insert":
        return plan.insert("Identity", on=one, name=f"put{at}")
    if kind == "adapt":
        by, end = ("reshape", (), "dense")[c % 3], tensors[b % len(tensors)] if c % 2 else one
        return plan.adapt(one, to=end, kinds=by, name=f"fit{at}")
    if kind == "insert function":
        return plan.insert(lambda t: tf.identity(tf.identity(t)), on=one, name=f"put{at}")
    if kind == "bypass":
        return plan.bypass(one.op)
    if kind == "bypass several":
        return plan.bypass([op, other, one.op])
    if kind in ("remove", "stitch"):
        return plan.remove([op, other][: 1 + c % 2], stitch=kind == "stitch")
    if kind == "detach":
        return plan.detach(one.op, side=("inputs", "outputs")[c % 2])
    if kind == "insert some":
        others = list(dict.fromkeys([one, two, *pool[:2]]))
        return plan.insert(("Identity", "Neg", "Shape", "LogicalNot")[c % 4], on=others, name=f"put{at}")
    if kind == "rename some":
        given = Arguments(plan.base, plan.steps, plan.backend, "")
        now = list(dict.fromkeys(map(given.name, (one.op, two.op))))
        scope = given.name(op).partition("/")[0]
        return plan.rename({**dict(zip(now, reversed(now), strict=True)), scope: f"named{at}"})
    if kind == "any attribute":
        return plan.set_attr([op], *attribute_of(plan.base.nodes[b % len(names)], a, c))
    if kind == "attribute":
        return plan.set_attr([op], "_mark", b"here")
    if kind == "device":
        return plan.set_device([op, other], "/cpu:0")
    if kind == "control":
        return plan.add_control(op, other)
    if kind == "free":
        return plan.remove_control(op)
    if kind == "reroute control":
        awaited = [before for op in made.graph.get_operations() for before in op.control_inputs]
        return plan.reroute_control(awaited[b % len(awaited)] if awaited else op, to=other)
    if kind == "replace":
        return plan.replace(lambda x: tf.negative(x), lambda x: x * -1.0 if x.dtype == tf.float32 else tf.negative(x),
                            external=("refuse", "keep")[c % 2])  # fmt: skip
    if kind == "rename":
        return plan.rename(one.op, to=f"named{at}")
    assert kind == "copy"
    end = floats[b % len(floats)] if floats else one
    from graphsurgeon.graph.selection import select

    return plan.copy(select(plan.base, outputs=[end.name]), to=f"copied{at}", unmapped="keep")


def attribute_of(node: Any, a: int, c: int) -> tuple[str, Any]:
    """Returns an attribute of a node, and a value of its kind that may or may not do."""
    names = sorted(name for name in node.attr if not name.startswith("_"))
    if not names:
        return "T", "float32"
    name = names[a % len(names)]
    kind = node.attr[name].WhichOneof("value")
    values: dict[Any, list[Any]] = {
        "type": ["float32", "int32", "string", "float64", "bool", "resource"], "b": [True, False], "f": [0.5, -1.0],
        "shape": [[3], [4], None, [], [4, None]], "i": [0, 1, 3, -1, 1 << 40], "func": ["nosuch"],
        "list": [[1], ["float32"], [None], [], [1, 2, 2, 1], ["x"]], "s": [b"", b"SAME", b"VALID", "NHWC"],
        "tensor": [[1.0, 2.0, 3.0], 1, [1, 2], "text", [[1]]],
    }  # fmt: skip
    pool = values.get(kind, ["x"])
    return name, pool[c % len(pool)]


def chosen(plan: Plan, made: Any, steps: Any) -> Plan:
    """Adds those random steps that can be carried out; the others must say why not."""
    for at, step in enumerate(steps):
        longer = edited(plan, made, step, at)
        faults = longer.check()
        for fault in faults:
            assert any(word in fault.problem for word in REFUSALS), str(fault)
            assert fault.request
            assert fault.suggestion
        event(f"{step[0]} {'refused' if faults else 'taken'}")
        plan = plan if faults else longer
    return plan


#: An op waits for a later one, so TensorFlow imports a variable after one that was made later.
REORDERED = (([1, 1], [
    (kind, "", 0, 0, 0, [])
    for kind in ("unary", "nest v1", "while v2", "reference", *["unary"] * 6, *["split"] * 2, *["reference"] * 2)
]), [("control", 0, 68, 279)], False)  # fmt: skip


@SHORT
@given(RECIPE, STEPS, st.booleans())
@example(*REORDERED)
def test_random_edits_are_what_was_predicted_and_undo_restores(recipe, steps, live):
    made = built(recipe)
    graph = made.graph
    ed = gs.open(graph)
    plan = chosen(ed.plan(), made, steps)
    if live:
        longer = plan.on_copies(scope="live")
        faults = longer.check()
        assert all(any(word in fault.problem for word in REFUSALS) for fault in faults), [str(f) for f in faults]
        plan = plan if faults else longer
    assume(plan.steps)
    before, kept, old = look(graph), filled(graph), list(graph.get_operations())
    nodes = [op.node_def for op in old]
    done = ed.apply(plan)
    event(plan.mode)
    again = gs.open(ed.graph).snapshot
    assert edges(again) == edges(plan.after())
    same_state(plan.after().state, again.state)
    assert set(done.ops) == set(plan.effect.new_names)
    str(plan.preview())
    plan.preview().table()
    if plan.mode == "materialize":
        assert look(graph) == before
    else:
        assert graph.get_operations()[: len(old)] == old
        assert [op.node_def for op in old] == nodes
    after, now = ed.graph, filled(ed.graph)
    ed.undo()
    assert ed.graph is graph
    assert filled(graph) == kept
    ed.redo()
    assert ed.graph is after
    assert filled(after) == now


#: A constant that nothing reads as a value, and that gets another dtype or a value of another dtype.
MIXED = (([0], [("nest v1", "", 0, 0, 0, []), ("while v2", "", 3, 0, 0, [])]), [
    ("any attribute", a, at, c) for a in (0, 1) for at in range(1, 8) for c in (0, 1, 3)
])  # fmt: skip


@FEW
@given(RECIPE, STEPS)
@example(*MIXED)
def test_what_tensorflow_is_said_to_refuse_it_refuses(recipe, steps):
    """What `check` passes is carried out: that is the test above."""
    made = built(recipe)
    ed = gs.open(made.graph)
    for at, step in enumerate(steps):
        plan = edited(ed.plan(), made, step, at)
        said = [f.problem for f in plan.check() if "TensorFlow refuses" in f.problem]
        event(f"{step[0]}: {bool(said)}")
        if said:
            bare = unjudged(plan)
            assert bare.check() == ()
            with pytest.raises(SurgeryError):
                ed.apply(bare)


@pytest.mark.deep
def test_most_random_edits_are_taken_so_that_an_engine_that_refuses_all_is_found_out():
    taken: Counter[str] = Counter()
    refused: Counter[str] = Counter()

    @settings(SHORT, max_examples=60, derandomize=True)
    @given(RECIPE, st.lists(st.tuples(*[NUMBER] * 3), min_size=len(KINDS), max_size=len(KINDS)))
    def each_kind(recipe, numbers):
        made = built(recipe)
        plan = gs.open(made.graph).plan()
        for kind, chosen_numbers in zip(KINDS, numbers, strict=True):
            faults = unjudged(edited(plan, made, (kind, *chosen_numbers), 0)).check()
            (refused if faults else taken)[kind] += 1

    each_kind()
    shares = {kind: taken[kind] / (taken[kind] + refused[kind]) for kind in KINDS}
    assert min(shares.values()) > 0.02, shares
    assert sum(shares.values()) / len(shares) > 0.3, shares


IDENTITY = {
    "insert": lambda p, t, _: p.insert("Identity", on=t, name="same"),
    "insert a function": lambda p, t, _: p.insert(lambda x: tf.identity(x, name="in"), on=t, name="same"),
    "reroute to one": lambda p, t, _: (
        p.insert("Identity", on=t, name="same", only=[]).reroute(t, to="same:0", exclude="same")
    ),
    "swap twice": lambda p, t, u: p.swap(t, u).swap(t, u),
    "replace by the same": lambda p, *_: p.replace(lambda x: tf.identity(x), lambda x: tf.identity(x), external="keep"),
    "rename": lambda p, t, _: p.rename(t.op.name, to="renamed"),
    "remove and stitch": lambda p, *_: p.remove([n for n, k in zip(p.base.names, p.base.types, strict=True)
                                                 if k == "Identity"][:1], stitch=True),
}  # fmt: skip


WAITS = ([0, 1, 1], [("unary", "", 0, 0, 0, [])] * 3 + [
    ("unary", "", 1, 0, 0, []), ("unary", "", 0, 0, 0, [1]), ("unary", "", 0, 0, 0, [7])
])  # fmt: skip


@FEW
@given(RECIPE, NUMBER, NUMBER, st.sampled_from(sorted(IDENTITY)), st.booleans())
@example(WAITS, 69, 0, "rename", True)
@example(
    ([0], [("cond v2", "", 0, 0, 0, []), *[("unary", "", 0, n, 0, []) for n in (0, 0, 1)]]),
    0,
    0,
    "remove and stitch",
    True,
)
def test_edits_that_change_nothing_change_no_bit(recipe, a, b, kind, live):
    assume(all(step[0] != "random" for step in recipe[1]))
    made = built(recipe)
    graph, tensors = made.graph, made.tensors
    one = tensors[a % len(tensors)]
    pool = made.pools[one.dtype.base_dtype]
    ed = gs.open(graph)
    plan = IDENTITY[kind](ed.plan(), one, pool[b % len(pool)])
    plan = plan.on_copies(scope="live") if live else plan
    event(f"{kind}: {'refused' if plan.check() else plan.mode}")
    assume(not plan.check())
    feeds = made.feeds()
    end = [t for t in tensors if t.op.name in plan.after().index]
    wanted = run(_again(graph), [t.name for t in end], {t.name: v for t, v in feeds.items()})
    done = ed.apply(plan)
    moved = {done[t].name if kind == "rename" and t is one else t.name: v for t, v in feeds.items()}
    if live:  # what computes the same stays as it is, and still waits for what it waited for
        moved |= {t.name: v for t, v in feeds.items()}
    moved = {name: v for name, v in moved.items() if name.partition(":")[0] in ed.snapshot.index}
    # Of a v2 cond TensorFlow lets nobody fetch the op itself, only the Identity behind it, which may be gone.
    kept = [i for i, t in enumerate(end) if ed.graph.is_fetchable(done[t.name].op)]
    equal(run(ed.graph, [done[end[i].name] for i in kept], moved), [wanted[i] for i in kept])


@examples(15)
@given(RECIPE, ENDS, st.booleans())
def test_ops_collapsed_to_a_call_and_inlined_again_give_the_same_bits(recipe, ends, live):
    assume(all(step[0] != "random" for step in recipe[1]))
    made = built(recipe)
    graph, feeds = made.graph, {t.name: v for t, v in made.feeds().items()}
    ed = gs.open(graph)
    block, _ = boundary(ends, ed, made.tensors)
    plan = ed.plan().collapse(block, name="call")
    plan = plan.on_copies(scope="live") if live else plan
    faults = plan.check()
    event("refused" if faults else plan.mode)
    allowed = (
        *REFUSALS,
        "TF1 loop or cond",
        "it contains only",
        "is a reference variable",
        "have no output tensor",
        "computed from itself",
    )
    assert all(any(word in fault.problem for word in allowed) for fault in faults), [str(f) for f in faults]
    assume(not faults)
    rebuilt = _again(graph)
    done = ed.apply(plan)
    end = [t.name for t in made.tensors if t.name in done]
    wanted = run(rebuilt, end, feeds)
    once = _again(ed.graph)
    equal(run(once, [done[t].name for t in end], feeds), wanted)
    step = ed.plan().inline("call")
    assert step.check() == (), [str(f) for f in step.check()]
    back = ed.apply(step)
    assert "call" not in ed.snapshot.index
    equal(run(ed.graph, [back[done[t].name] for t in end], feeds), wanted)


def _again(graph: Any) -> Any:
    """The same graph once more: running it adds what initializes it."""
    rebuilt = gs.open(tf.Graph())
    rebuilt.apply(rebuilt.plan().copy(gs.open(graph).select(), to=""))
    return rebuilt.graph
