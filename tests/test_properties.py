"""Random graphs, random boundaries, random choices: after apply the graph is what the plan said, and runs the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import assume, event, given
from hypothesis import strategies as st

import graphsurgeon as gs
from graphsurgeon.errors import SurgeryError
from tests.graphs import collections, look, tf1
from tests.random_graphs import ENDS, NUMBER, RECIPE, built, data
from tests.tiers import examples

SHORT, FEW = examples(150), examples(60)
#: What a random cut may be refused for.
REFUSALS = (
    "the selection cuts through a loop", "the selection cuts through a branch of a cond",
    "orders the writes and reads of a TensorArray", "so it needs that variable there, not a tensor",
)  # fmt: skip


#: TensorFlow's own optimizer loses the result of a TF1 cond that adds a tensor to itself.
PLAIN = tf1.ConfigProto()
PLAIN.graph_options.rewrite_options.disable_meta_optimizer = True


def started(graph: Any) -> Any:
    """Returns a session in which all that can be initialized is so."""
    with graph.as_default():
        session = tf1.Session(config=PLAIN)
        session.run([tf1.global_variables_initializer(), tf1.local_variables_initializer(), tf1.tables_initializer()])
    return session


def run(graph: Any, fetches: Any, feeds: Any) -> Any:
    """Returns what a fresh session gives."""
    with started(graph) as session:
        return session.run(fetches, feeds)


def attempt(call: Any) -> Any:
    """Returns (what `call` gives, None), or (None, the error)."""
    try:
        return call(), None
    except SurgeryError as error:
        return None, error


def boundary(ends: Any, ed: Any, tensors: list[Any]) -> Any:
    """Returns the ops between tensors chosen by number, and the outputs; all above where that does not connect."""
    start, end = ([tensors[n % len(tensors)] for n in numbers] for numbers in ends)
    end = list({t.name: t for t in end}.values())
    found, error = attempt(lambda: ed.select(inputs=start or None, outputs=end))
    assert error is None or any(text in error.problem for text in ("does not connect", "both an input and an output"))
    return found or ed.select(outputs=end), end


def fitting(plan: Any, block: Any) -> None:
    """Goes on with a plan that can be applied; only a leak inside a loop or cond may keep it from that."""
    faults = plan.check()
    if faults:
        assert block.boundary.leaks, [str(f) for f in faults]
        assert all(any(word in fault.problem for word in REFUSALS) for fault in faults), [str(f) for f in faults]
    event("refused" if faults else "copied")
    assume(not faults)


def edges(snapshot: Any) -> Any:
    return {
        name: (snapshot.types[i], snapshot.input_names(i), sorted(snapshot.control_names(i)))
        for i, name in enumerate(snapshot.names)
    }


def same_state(reported: Any, read: Any) -> None:
    """Asserts that variables, collections, contexts and initializers are those that a plan has predicted."""
    assert reported.variables == read.variables
    assert list(reported.variables) == list(read.variables)
    assert reported.collections == read.collections
    assert set(reported.contexts) == set(read.contexts)
    assert reported.init_ops == read.init_ops


def as_predicted(plan: Any, done: Any, graph: Any) -> None:
    """Asserts that a graph, read anew, is what a plan has said, in ops, edges, outputs, variables and collections."""
    after, now = plan.after(), gs.open(graph).snapshot
    assert edges(now) == edges(after)
    same_state(after.state, now.state)
    for name in now.names:
        reported = after.outputs(after.index[name])  # of what is added to set a variable, nothing is known
        assert reported is None or list(now.outputs(now.index[name])) == list(reported), name
    assert set(done.applied_ops.partial_contexts) <= set().union(*map(in_part, plan.effect.copies))
    assert set(done.applied_ops.variable_infos) == {v.name for v in plan.effect.variables}
    added = [name for name, _ in done.applied_ops.collections]
    wanted = {entry.name: 0 for copied in plan.effect.copies for entry in copied.collections}
    for copied in plan.effect.copies:
        for entry in copied.collections:
            wanted[entry.name] += entry.count
    assert {name: added.count(name) for name in wanted} == wanted
    assert set(added) == set(wanted)


def in_part(step: Any) -> set[str]:
    """Returns the names of the outermost loops and conds of which an op was not copied: they have no gradient."""
    names = set()
    for op in step.source.owner.get_operations()[: step.source.size]:
        context = op._get_control_flow_context()
        if context is not None and step.positions[step.source.index[op.name]] < 0:
            while context.outer_context is not None:
                context = context.outer_context
            names.add(context.name)
    return names


def copied(done: Any, item: Any) -> bool:
    name = getattr(item, "op", item).name
    return any(c.positions[c.source.index[name]] >= 0 for c in done.effect.copies if name in c.source.index)


def feeds_of(made: Any, end: Any, done: Any, lead: str) -> tuple[dict[str, Any], list[Any]]:
    """Returns the data of the original for the copy, its stand-ins included, and what the original gives.

    Args:
        made: the random graph.
        end: tensors of it.
        done: the applied copy.
        lead: what the names of copies start with.
    """
    stand_ins = [p for c in done.effect.copies for p in c.placeholders]
    inner = [made.graph.as_graph_element(p.original) for p in stand_ins]
    assume(not any(t.dtype == tf.resource for t in inner))  # nothing can be fed there
    assume(all(map(made.graph.is_fetchable, inner)))  # the op of a v2 cond cannot be asked for what it gives
    feeds = made.feeds()
    values = run(made.graph, [*inner, *end], feeds)
    moved = {f"{lead}{tensor.name}": value for tensor, value in feeds.items() if copied(done, tensor)}
    moved.update({p.name + ":0": v for p, v in zip(stand_ins, values[: len(inner)], strict=True)})
    return moved, values[len(inner) :]


def filled(graph: Any) -> dict[str, list[int]]:
    """Returns the collections that hold something: TensorFlow makes empty ones when it is asked for them."""
    return {name: items for name, items in collections(graph).items() if items}


def equal(got: Any, wanted: Any) -> None:
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def lone_names(done: Any) -> bool:
    """Whether the copy has a variable that only another one, which was left out, could give a value: it is said."""
    lone = [v for v in done.effect.variables if not v.new_info.initializer]
    assert not lone or any("no initial value in the source" in w for w in done.effect.warnings)
    return bool(lone)


@SHORT
@given(RECIPE, ENDS, st.sampled_from(["drop", "include"]), st.sampled_from(["placeholder", "include"]))
def test_a_copy_into_another_graph(recipe, ends, control, unmapped):
    made = built(recipe)
    graph, before = made.graph, look(made.graph)
    src, dst = gs.open(graph), gs.open(tf.Graph())
    block, end = boundary(ends, src, made.tensors)
    plan = dst.plan().copy(block, to="t", unmapped=unmapped, control=control)
    fitting(plan, block)
    done = dst.apply(plan)
    assert look(graph) == before
    as_predicted(plan, done, dst.graph)
    collections_agree(graph, dst.graph, done)
    if not lone_names(done):
        end = [t for t in end if t in done or t.name not in block.boundary.inputs]  # what nothing reads passes by
        moved, wanted = feeds_of(made, end, done, "t/")
        equal(run(dst.graph, [done[t] for t in end], moved), wanted)
    kept = collections(dst.graph)
    dst.undo()
    assert filled(dst.graph) == {}
    dst.redo()
    assert collections(dst.graph) == kept


def collections_agree(graph: Any, new: Any, done: Any) -> None:
    """Each list of the copy is the original's, in its order, with what was not copied left out."""
    for name in graph.get_all_collection_keys():
        items = graph.get_collection(name)
        if name.endswith("_context"):  # contexts have no name to ask for
            continue
        wanted = [done[item] for item in items if copied(done, item)]
        got = new.get_collection(name if name != "mine" else "t/mine")
        assert [id(i) for i in got] == [id(w) for w in wanted], name


@SHORT
@given(RECIPE, ENDS, st.sampled_from(["copy", "share"]), st.sampled_from(["keep", "placeholder"]))
def test_a_copy_inside_one_graph(recipe, ends, share, unmapped):
    made = built(recipe)
    graph = made.graph
    ed = gs.open(graph)
    block, end = boundary(ends, ed, made.tensors)
    before, old = filled(graph), {op.name: op for op in graph.get_operations()}
    nodes = graph.as_graph_def().node
    plan = ed.plan().copy(block, to="t", unmapped=unmapped, variables=share)
    fitting(plan, block)
    done = ed.apply(plan)
    as_predicted(plan, done, graph)
    assert all(graph.get_operation_by_name(name) is op for name, op in old.items())
    assert graph.as_graph_def().node[: len(nodes)] == nodes
    if not lone_names(done):
        moved, wanted = feeds_of(made, end, done, "t/")
        feeds = {**{t.name: v for t, v in made.feeds().items()}, **moved}
        equal(run(graph, [done[t] if copied(done, t) else t for t in end], feeds), wanted)
    ed.undo()
    assert filled(graph) == before
    assert ed.orphans == set(done.ops)


@SHORT
@given(RECIPE, st.lists(NUMBER, min_size=1, max_size=12), st.booleans(), st.sampled_from(["placeholder", "include"]))
def test_any_set_of_ops_is_copied_as_predicted_or_refused(recipe, picks, with_scope, unmapped):
    made = built(recipe)
    graph, before = made.graph, look(made.graph)
    src, dst = gs.open(graph), gs.open(tf.Graph())
    names = src.snapshot.names
    block = src.select(name=sorted({names[p % len(names)] for p in picks}))
    if with_scope:
        block = block | src.select(scope="a") if "a" in src.snapshot.scopes.index else ~block
    plan = dst.plan().copy(block, to="t", unmapped=unmapped, control="drop")
    faults = plan.check()
    event("refused" if faults else "copied")
    if faults:
        assert all(any(word in fault.problem for word in REFUSALS) for fault in faults), [str(f) for f in faults]
        with pytest.raises(SurgeryError):
            dst.apply(plan)
        assert look(dst.graph) == look(tf.Graph())
    else:
        done = dst.apply(plan)
        after, now = plan.after(), gs.open(dst.graph).snapshot
        assert edges(now) == edges(after)
        same_state(after.state, now.state)
        assert set(done.applied_ops.variable_infos) == {v.name for v in plan.effect.variables}
    assert look(graph) == before


@FEW
@given(RECIPE, ENDS, st.sampled_from(["copy", "freeze"]), st.booleans())
def test_current_values_go_along(recipe, ends, policy, same):
    assume(all(step[0] != "random" for step in recipe[1]))  # a session draws other numbers each time
    made = built(recipe)
    graph = made.graph
    src = gs.open(graph)
    dst = src if same else gs.open(tf.Graph())
    _, end = boundary(([], ends[1]), src, made.tensors)
    assume(
        not any(kind.startswith("Assign") for kind in src.select(outputs=end).ancestors().types)
    )  # running sets it back
    rng, session = np.random.RandomState(1), started(graph)
    for v in {id(v): v for name in ("variables", "local_variables") for v in graph.get_collection(name)}.values():
        session.run(v.initializer, {v.initializer.inputs[1]: data(tf.float32, rng)})
    plan = dst.plan().copy(src.select(outputs=end), to="t", variables=policy, values=session, control="include")
    assert plan.check() == ()
    done = dst.apply(plan)
    as_predicted(plan, done, dst.graph)
    feeds = made.feeds()
    wanted = session.run(end, feeds)
    own = dst.session(session if same else None, config=PLAIN)
    moved = {f"t/{t.name}": v for t, v in feeds.items() if copied(done, t)}
    equal(own.run([done[t] for t in end], moved), wanted)
    equal(session.run(end, feeds), wanted)


@FEW
@given(RECIPE, ENDS, st.booleans(), st.booleans())
def test_gradients_of_copies_and_original_in_any_order(recipe, ends, same, last_first):
    made = built(recipe)
    graph = made.graph
    src = gs.open(graph)
    dst = src if same else gs.open(tf.Graph())
    _, end = boundary(([], ends[1]), src, made.tensors)
    end = [t for t in end if t.dtype.base_dtype in (tf.float32, tf.float64)]
    inputs = [t for t in made.feeds() if t.dtype in (tf.float32, tf.float64)]
    assume(end)
    assume(inputs)
    block = src.select(outputs=end) | src.select(name=[t.op for t in inputs])
    leads = [""]
    for to in ("t", "u"):
        dst.apply(dst.plan().copy(block.on(src.snapshot), to=to, control="drop" if not same else "keep"))
        leads.append(f"{to}/")
    slopes: dict[str, Any] = {}
    for lead in reversed(leads) if last_first else leads:
        owner = dst.graph if lead else graph
        with owner.as_default():
            find = owner.get_tensor_by_name
            slopes[lead] = tf.gradients(
                [find(f"{lead}{t.name}") for t in end], [find(f"{lead}{t.name}") for t in inputs]
            )
    kept = [n for n, s in enumerate(slopes[""]) if s is not None]
    event("a gradient" if kept else "no gradient")
    for lead in leads:
        assert [n for n, s in enumerate(slopes[lead]) if s is not None] == kept
    feeds = {t.name: v for t, v in made.feeds().items()}
    wanted = run(
        graph,
        [slopes[""][n] for n in kept],
        {
            **feeds,
            **(
                {f"{lead}{k}": v for lead in leads[1:] for k, v in feeds.items() if there(graph, lead + k)}
                if same
                else {}
            ),
        },
    )
    for lead in leads[1:]:
        owner = dst.graph
        moved = {
            f"{at}{k}": v for at in (leads if same else leads[1:]) for k, v in feeds.items() if there(owner, at + k)
        }
        equal(run(owner, [slopes[lead][n] for n in kept], moved), wanted)


def there(graph: Any, tensor: str) -> bool:
    return any(op.name == tensor.partition(":")[0] for op in graph.get_operations())


@FEW
@given(RECIPE, ENDS, st.booleans(), st.booleans())
def test_the_code_of_a_plan_makes_the_same(recipe, ends, wider, twice):
    made = built(recipe)
    src, dst = gs.open(made.graph), gs.open(tf.Graph())
    block, _ = boundary(ends, src, made.tensors)
    if wider:
        block = (block | src.select(op="Placeholder")).ancestors()
    if twice:
        block = ~(~block)
    plan = dst.plan().copy(block, to="t/u", unmapped="placeholder", control="drop")
    assume(not plan.check())
    space = {"graph": tf.Graph(), "source_graph": made.graph}
    exec(plan.to_code(), space)
    assert edges(gs.open(space["dst"].graph).snapshot) == edges(plan.after())


@SHORT
@given(RECIPE, NUMBER, NUMBER, st.integers(0, 2))
def test_a_connection_is_right_or_refused(recipe, which, to, position):
    made = built(recipe)
    graph = made.graph
    ed = gs.open(graph)
    readers = [op for op in graph.get_operations() if op.inputs]
    assume(readers)
    tensor, op = made.tensors[which % len(made.tensors)], readers[to % len(readers)]
    plan = ed.plan().connect(tensor, to=op, input=position)
    before = look(graph)
    _, error = attempt(lambda: ed.apply(plan))
    event("refused" if error else "connected")
    if error is not None:
        assert plan.check() or "TensorFlow refuses" in error.problem
        assert ed.graph is graph
    else:
        assert edges(gs.open(ed.graph).snapshot) == edges(plan.after())
        assert ed.op(op.name).inputs[position].name == tensor.name
        assert {k: len(v) for k, v in filled(ed.graph).items()} == {k: len(v) for k, v in filled(graph).items()}
        ed.undo()
        assert ed.graph is graph
    assert look(graph) == before


ACTION = st.tuples(st.sampled_from(["copy", "copy", "connect", "undo", "undo", "redo"]), NUMBER, NUMBER, st.booleans())


@FEW
@given(RECIPE, st.lists(ACTION, min_size=2, max_size=7))
def test_undo_and_redo_go_back_and_forth_over_any_plans(recipe, actions):
    made = built(recipe)
    ed, first = gs.open(made.graph), made.graph
    original = edges(ed.snapshot)
    past: list[Any] = []
    future: list[Any] = []

    def now() -> Any:
        return ed.graph, filled(ed.graph)

    for number, (action, a, b, share) in enumerate(actions):
        before = now()
        tensors = [t for op in ed.graph.get_operations() if not op.name.startswith("v") for t in op.outputs]
        if action in ("undo", "redo"):
            stack, other = (past, future) if action == "undo" else (future, past)
            _, error = attempt(getattr(ed, action))
            assert (error is None) == bool(stack)
            if stack:
                other.append(before)
                assert now() == stack.pop()
        else:
            plan = ed.plan()
            if action == "copy":
                block = ed.select(outputs=tensors[a % len(tensors)])
                policy = "share" if share else "copy"
                plan = plan.copy(block, to=f"s{number}", unmapped="keep", variables=policy)
            else:
                readers = [op for op in ed.graph.get_operations() if op.inputs]
                assume(readers)
                plan = plan.connect(tensors[a % len(tensors)], to=readers[b % len(readers)], input=0)
            _, error = attempt(lambda plan=plan: ed.apply(plan))
            event(f"{action} {'refused' if error else 'done'}")
            if error is None:
                past.append(before)
                future.clear()
                assert edges(ed.snapshot) == edges(plan.after())
            else:
                assert plan.check() or "TensorFlow refuses" in error.problem
                assert now() == before
        assert edges(ed.snapshot) == edges(gs.open(ed.graph).snapshot)
        assert sum(not e.undone for e in ed.history) == len(past)
    kept = edges(gs.open(first).snapshot)
    assert all(kept[name] == edge for name, edge in original.items())


def test_data_is_of_the_dtype_asked_for():
    rng = np.random.RandomState(0)
    assert data(tf.int64, rng).dtype == np.int64
    assert data(tf.bool, rng).dtype == np.bool_
    assert isinstance(data(tf.string, rng)[0], bytes)
