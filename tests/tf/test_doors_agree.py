"""Everything that can run a part of a graph gives the same numbers for one request, or all refuse it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import assume, given
from hypothesis import strategies as st

import graphsurgeon as gs
from tests.graphs import tf1
from tests.random_graphs import ENDS, FEEDS, NUMBER, STEP, built, data, flow_version
from tests.test_properties import PLAIN, attempt, started
from tests.tiers import examples

CALLS = ("Case", "If", "PartitionedCall", "StatefulPartitionedCall", "StatelessIf", "StatelessWhile", "While")


class Request:
    """A part of a graph to run: the tensors that bound it, and what is fed.

    Args:
        make: builds the graph.
        inputs, outputs: names of tensors.
        feeds: the inputs, and the placeholders that the outputs are computed from, with arrays.
        folder: for files.
    """

    def __init__(self, make: Callable[[], Any], inputs: list[str], outputs: list[str], folder: Path) -> None:
        self.make, self.inputs, self.outputs, self.folder = make, inputs, outputs, folder
        self.graph = make()
        self.block = gs.open(self.graph).select(inputs=inputs or None, outputs=outputs)
        random = np.random.RandomState(1)
        find = self.graph.get_tensor_by_name
        fed = [f"{op}:0" for op in self.block.names if self.graph.get_operation_by_name(op).type == "Placeholder"]
        self.feeds = {name: data(find(name).dtype.base_dtype, random) for name in dict.fromkeys([*inputs, *fed])}

    def editor(self) -> Any:
        """Returns an editor of a new graph, which has initial values."""
        return gs.open(self.make())

    def ran(self, editor: Any, outputs: Sequence[Any], feeds: dict[Any, Any] | None = None) -> list[Any]:
        """Returns outputs of the graph of an editor; TensorFlow's optimizer has no part in them."""
        return editor.session(config=PLAIN).run(list(outputs), self.feeds if feeds is None else feeds)


def in_session(request: Request) -> list[Any]:
    with started(request.graph) as session:
        return session.run(request.outputs, request.feeds)


def copied(request: Request) -> list[Any]:
    ed, dst = request.editor(), gs.open(tf.Graph())
    block = ed.select(inputs=request.inputs or None, outputs=request.outputs)
    done = dst.apply(dst.plan().copy(block, to="t", unmapped="placeholder", control="drop", values=ed))
    there = {p.original: f"{p.name}:0" for p in done.effect.placeholders}
    there |= {name: f"t/{name}" for name in request.feeds if f"t/{name}".partition(":")[0] in dst.snapshot.index}
    feeds = {there[name]: value for name, value in request.feeds.items() if name in there}
    return request.ran(dst, [there[name] if name in request.feeds else done[name] for name in request.outputs], feeds)


def copied_beside(request: Request) -> list[Any]:
    ed = request.editor()
    block = ed.select(inputs=request.inputs or None, outputs=request.outputs)
    block -= ed.select(name=[name.partition(":")[0] for name in request.feeds])
    plan = ed.plan().copy(block, to="t", unmapped="keep", variables="share")
    done = ed.apply(plan)
    inside = [name in request.feeds or name.partition(":")[0] not in block for name in request.outputs]
    return request.ran(ed, [n if kept else done[n] for n, kept in zip(request.outputs, inside, strict=True)])


def collapsed(request: Request) -> list[Any]:
    ed = request.editor()
    done = ed.apply(ed.plan().collapse(ed.select(inputs=request.inputs or None, outputs=request.outputs), name="part"))
    return request.ran(ed, [done[name] for name in request.outputs])


def called(request: Request) -> list[Any]:
    given = request.editor().function(list(request.feeds), request.outputs)(*map(tf.constant, request.feeds.values()))
    return [one.numpy() for one in (given if isinstance(given, list) else [given])]


def read_again(request: Request, name: str, **how: Any) -> list[Any]:
    path = request.folder / name
    request.editor().save(path, inputs=list(request.feeds) or None, outputs=request.outputs, verify=False, **how)
    part = gs.open(path)
    names = {name: name for name in request.feeds}
    for tensor in request.feeds:  # what an op computes is fed under a name of its own
        op, _, port = tensor.partition(":")
        names[tensor] = next((f"{one}:0" for one in (f"{op}_{port}", op) if _is_feed(part, one)), tensor)
    feeds = {names[tensor]: value for tensor, value in request.feeds.items() if _is_feed(part, names[tensor][:-2])}
    return request.ran(part, request.outputs, feeds)


def _is_feed(editor: Any, op: str) -> bool:
    graph = editor.snapshot
    return op in graph.index and graph.types[graph.index[op]] == "Placeholder"


def signed(request: Request) -> list[Any]:
    part = gs.recipes.set_signature(request.editor(), request.outputs, list(request.feeds))
    keys = dict(zip(request.feeds, part.inputs.values(), strict=True))
    return request.ran(part, part.outputs.values(), {keys[name]: value for name, value in request.feeds.items()})


def traced(request: Request) -> list[Any]:
    trace = request.editor().trace(request.feeds, request.outputs)
    assert not trace.stop_reason, trace.stop_reason
    return [trace.results[name] for name in request.outputs]


def stripped(request: Request) -> list[Any]:
    ed = request.editor()
    ed.apply(gs.recipes.strip_training(ed, request.outputs, list(request.feeds)))
    return request.ran(ed, request.outputs)


def inlined_by_plan(request: Request) -> list[Any]:
    ed = request.editor()
    calls = [name for name, kind in zip(ed.snapshot.names, ed.snapshot.types, strict=True) if kind in CALLS]
    if not calls:
        return in_session(request)
    done = ed.apply(ed.plan().inline(calls))
    return request.ran(ed, [done[name] for name in request.outputs], {done[n]: v for n, v in request.feeds.items()})


def inlined_at_once(request: Request) -> list[Any]:
    return request.ran(request.editor().inlined(), request.outputs)


DOORS: dict[str, Callable[[Request], list[Any]]] = {
    "copy": copied, "copy beside": copied_beside, "collapse": collapsed, "function": called,
    "save frozen": lambda request: read_again(request, "part.pb", freeze=True, values="initial"),
    "save": lambda request: read_again(request, "part.meta"),
    "set_signature": signed, "trace": traced, "strip_training": stripped,
    "inline": inlined_by_plan, "inlined": inlined_at_once,
}  # fmt: skip
#: What one way cannot do and says so, though a session can: the way, the words, and why that is no disagreement.
LIMITS = [
    (
        "collapse",
        "a function would lose its gradient",
        "a loop of TF1 in a function has no gradient, and a call has one",
    ),
    ("collapse", "is a reference variable", "a function takes resources, not references"),
    ("collapse", "there is nothing in it but", "it computes nothing"),
    ("collapse", "the ops have no output tensor", "it computes nothing"),
    ("collapse", "was inside a match, and has no replacement", "only what is read outside is a result of the call"),
    ("function", "a function has only resource variables", "what the part waits for sets a reference variable"),
    ("copy beside", "the selection is empty", "all that is asked for is fed"),
    ("strip_training", "every op of the graph", "there is nothing to take out"),
]


def outcome(door: str, request: Request) -> list[Any] | str:
    """Returns what a way gives, or why it refuses the request."""
    found, error = attempt(lambda: DOORS[door](request))
    assert error is None or (error.problem and error.suggestion)
    return found if error is None else error.problem


def agree(request: Request) -> None:
    """Asserts that every way gives the numbers of a plain session, or is known not to be able to."""
    wanted = in_session(request)
    for door in DOORS:
        found = outcome(door, request)
        if isinstance(found, str):
            assert any(way == door and words in found for way, words, _ in LIMITS), f"{door} refuses it: {found}"
            continue
        for name, got, want in zip(request.outputs, found, wanted, strict=True):
            if np.asarray(want).dtype.kind in "fc":  # a fused op may round otherwise
                np.testing.assert_allclose(got, want, rtol=1e-5, err_msg=f"{door}, {name}")
            else:
                np.testing.assert_array_equal(got, want, err_msg=f"{door}, {name}")


# -- random graphs and requests -----------------------------------------------------------------


@tf.function
def _inner(t: Any) -> Any:
    return tf.where(t > 1.0, t * 0.5, t)


@tf.function
def _outer(t: Any) -> Any:
    return _inner(t) + _inner(t * 2.0)


def _array(t: Any, version: str) -> Any:
    """Writes what a loop computes to a TensorArray, and reads all of it."""
    with flow_version(version):
        array = tf.TensorArray(tf.float32, 3)
        return tf1.while_loop(lambda i, _: i < 3, lambda i, a: (i + 1, a.write(i, t[i] * 2.0)), [0, array])[1].stack()


MORE: dict[str, Callable[[Any], Any]] = {
    "nested functions": _outer, "array v1": lambda t: _array(t, "v1"), "array v2": lambda t: _array(t, "v2"),
    "map in a cond": lambda t: tf.cond(t[0] > 1.0, lambda: tf.map_fn(lambda e: e * 3.0, t), lambda: t - 1.0),
}  # fmt: skip
#: A session draws other numbers each time.
GRAPH = st.tuples(FEEDS, st.lists(STEP.filter(lambda step: step[0] != "random"), min_size=2, max_size=8))
EXTRA = st.lists(st.tuples(st.sampled_from(sorted(MORE)), NUMBER), max_size=2)


def grown(recipe: Any, extra: Any) -> Any:
    """Builds the graph of a recipe, and adds what random graphs do not have."""
    made = built(recipe)
    for kind, number in extra:
        floats = made.pools[tf.float32]
        with made.graph.as_default():
            tensor = MORE[kind](floats[number % len(floats)] if floats else tf.constant([1.0, -2.0, 3.0]))
        tensor.set_shape([3])
        floats.append(tensor)
    return made


def requested(recipe: Any, extra: Any, ends: Any, folder: Path) -> Request | None:
    """Returns a request for a part of a random graph; None if it is not the same question to all ways.

    An output that is fed is left out: a selection computes it again, and a session gives what is fed. So is what an
    inlined call gives, which has another name then. A session runs a placeholder that an op only waits for; for others
    it is not an input.
    """
    made = grown(recipe, extra)
    plain = [t.name for t in made.tensors if t.op.type not in CALLS]
    computed = [name for name in plain if made.graph.get_tensor_by_name(name).op.type != "Placeholder"]
    start = list(dict.fromkeys(plain[n % len(plain)] for n in ends[0]))
    end = list(dict.fromkeys(computed[n % len(computed)] for n in ends[1])) if computed else []
    end = [name for name in end if name not in start]
    if not end:
        return None
    ed = gs.open(made.graph)
    _, error = attempt(lambda: ed.select(inputs=start or None, outputs=end))
    assert error is None or "does not connect" in error.problem
    request = Request(lambda: grown(recipe, extra).graph, start if error is None else [], end, folder)
    above = ed.select(name=[name.partition(":")[0] for name in end]).ancestors
    waited, read = above() & ed.select(op="Placeholder"), above(control=False)
    fed = {name.partition(":")[0] for name in request.feeds}
    return request if fed <= set(read.names) and set(waited.names) <= fed else None


@pytest.fixture(autouse=True)
def _without_optimizer():
    """TensorFlow's own optimizer loses the result of a TF1 cond that adds a tensor to itself."""
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    yield
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})


#: Ops of a random graph, what is added to them, and the ends of a part.
PARTS = {
    "a cond of TF1 and a variable": ([("resource", "a/", 1, 0, 0, []), ("cond v1", "", 2, 1, 0, [])], [], ([], [1])),
    "a loop, from a result of nested functions": (
        [("while v2", "", 3, 0, 0, []), ("binary", "c/", 0, 1, 1, [])], [("nested functions", 1)], ([3], [2, 3]),
    ),
    "loops in loops, a reference variable, a wait": (
        [("reference", "", 1, 0, 0, []), ("nest v1", "a/b/", 3, 0, 1, []), ("unary", "", 0, 2, 0, [3])], [], ([0], [2]),
    ),
    "tables and arrays": ([("table", "c/", 0, 1, 0, [])], [("array v1", 0), ("array v2", 1)], ([], [0, 1, 2])),
    "a map in a cond": ([("unary", "", 0, 0, 0, [])], [("map in a cond", 1)], ([], [1])),
}  # fmt: skip


@pytest.mark.parametrize("part", PARTS)
def test_all_ways_give_the_same_numbers(part, tmp_path):
    steps, extra, ends = PARTS[part]
    request = requested(([0], steps), extra, ends, tmp_path)
    assert request is not None
    agree(request)


@pytest.mark.deep
@examples(60)
@given(GRAPH, EXTRA, ENDS)
def test_all_ways_give_the_same_numbers_for_a_random_part(recipe, extra, ends):
    with TemporaryDirectory() as folder:
        request = requested(recipe, extra, ends, Path(folder))
        assume(request is not None)
        agree(request)
