"""A part of a graph is the same everywhere: what its ops wait for, what they read after a write, and what is fed."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import graphsurgeon as gs
from tests.graphs import tf1
from tests.random_graphs import flow_version
from tests.refusal import reads

MID = np.float32([1.0, 2.0])


def saved(ed: Any, path: Any, feeds: dict[str, Any], **how: Any) -> Any:
    """Returns y of a part that is written and opened again."""
    ed.save(path, inputs=list(feeds), outputs="y", **how)
    part = gs.open(path)
    names = {t.partition(":")[0]: t for t in [*part.inputs, *part.snapshot.names]}
    fed = {part.inputs.get(names[name.partition(":")[0]], name): value for name, value in feeds.items()}
    return part.session().run(next(iter(part.outputs.values()), "y:0"), fed)


def served(ed: Any, path: Any, feeds: dict[str, Any], **how: Any) -> Any:
    """Returns y of a part that is written as a folder and loaded by TensorFlow."""
    ed.save(path, inputs={f"in{k}": name for k, name in enumerate(feeds)}, outputs={"y": "y"}, **how)
    serve = tf.saved_model.load(str(path)).signatures["serving_default"]
    return serve(**{f"in{k}": tf.constant(value) for k, value in enumerate(feeds.values())})["y"]


def ran(part: Any, feeds: dict[str, Any]) -> Any:
    return part.session().run("y:0", feeds)


def applied(ed: Any, plan: Any, feeds: dict[str, Any]) -> Any:
    ed.apply(plan)
    return ran(ed, feeds)


def copied(ed: Any, feeds: dict[str, Any]) -> Any:
    dst = gs.open(tf.Graph())
    block = ed.select(inputs=list(feeds), outputs="y")
    return applied(dst, dst.plan().copy(block, unmapped="placeholder", control="drop", values=ed), feeds)


#: Everything that cuts a part out of a graph, with what is fed: each returns y.
CUTS: dict[str, Callable[[Any, Any, dict[str, Any]], Any]] = {
    "save": lambda ed, path, feeds: saved(ed, path / "part.pb", feeds, freeze=True, values="initial"),
    "save as a meta graph": lambda ed, path, feeds: saved(ed, path / "part.meta", feeds),
    "save as a folder": lambda ed, path, feeds: served(ed, path / "one", feeds),
    "save as a folder of TF2": lambda ed, path, feeds: served(ed, path / "two", feeds, format="saved_model_tf2"),
    "function": lambda ed, path, feeds: ed.function(list(feeds), "y")(*feeds.values()),
    "keras_layer": lambda ed, path, feeds: ed.keras_layer(list(feeds), "y")(list(feeds.values())),
    "set_signature": lambda ed, path, feeds: ran(gs.recipes.set_signature(ed, "y", list(feeds)), feeds),
    "split_at": lambda ed, path, feeds: ran(gs.recipes.split_at(ed, list(feeds), "y", verify=False)[1], feeds),
    "strip_training": lambda ed, path, feeds: applied(ed, gs.recipes.strip_training(ed, "y", list(feeds)), feeds),
    "for_inference": lambda ed, path, feeds: applied(ed, gs.recipes.for_inference(ed, "y", list(feeds)), feeds),
}  # fmt: skip


def session_of(build: Callable[[Any, Any, Any], Any]) -> Any:
    """Returns a session of x -> mid, and of y, which is built from mid, a placeholder z and a variable v."""
    with tf.Graph().as_default() as graph:
        x, z = (tf1.placeholder(tf.float32, [2], name=name) for name in "xz")
        v = tf1.get_variable("v", initializer=np.float32([5, 6]), use_resource=True)
        build(x, z, v)
        session = tf1.Session(graph=graph)
        session.run(v.initializer)
    return session


def after(op: Any, make: Callable[[], Any]) -> Any:
    with tf.control_dependencies([op]):
        return make()


def waits_for_mid(x, z, v):
    mid = tf.multiply(x, 3.0, name="mid")
    tf.add(mid, after(mid, lambda: tf.constant([10.0, 20.0])), name="y")


def waits_above_mid(x, z, v):
    mid = tf.multiply(x, 3.0, name="mid")
    tf.add(mid, after(tf.exp(z), lambda: tf.constant([10.0, 20.0])), name="y")


def comes_from_an_iterator(x, z, v):
    pairs = tf.data.Dataset.from_tensors((tf.constant([1.0, 1.0]), tf.constant(2.0)))
    mid, other = tf1.data.make_initializable_iterator(pairs).get_next(name="mid")
    tf.add(mid, after(mid, lambda: tf.constant([10.0, 20.0])), name="y")
    tf.identity(other, name="mid_1")


def comes_second_from_an_iterator(x, z, v):
    pairs = tf.data.Dataset.from_tensors((tf.constant(2.0), tf.constant([1.0, 1.0])))
    other, mid = tf1.data.make_initializable_iterator(pairs).get_next(name="mid")
    tf.add(mid, tf.constant([10.0, 20.0]), name="y")
    tf.identity(other, name="mid_1")


@pytest.mark.parametrize(
    "how", [{}, {"memory": 1000}, pytest.param({"isolated": True}, marks=pytest.mark.deep), {"rounds": 1}]
)
def test_what_is_fed_is_not_run_in_a_trace(how):
    """The op has another output, and TensorFlow would stop at it: the iterator is not initialized."""
    for build, name in ((comes_from_an_iterator, "mid:0"), (comes_second_from_an_iterator, "mid:1")):
        ed = gs.open(session_of(build))
        trace = ed.trace({name: MID}, "y", **how)
        assert not trace.stop_reason
        assert list(trace.feeds) == [name]
        assert trace[name].sample.tolist() == [1.0, 2.0]
        np.testing.assert_array_equal(trace.results["y:0"], [11.0, 22.0])
        stopped = ed.trace({name: MID}, ["y", "mid_1"])
        assert "has not been initialized" in stopped.stop_reason


@pytest.mark.parametrize("door", CUTS)
@pytest.mark.parametrize("build", [waits_for_mid, waits_above_mid, comes_from_an_iterator])
def test_who_waits_for_what_is_not_in_the_part_waits_for_nothing(build, door, tmp_path):
    np.testing.assert_array_equal(CUTS[door](gs.open(session_of(build)), tmp_path, {"mid:0": MID}), [11.0, 22.0])


def writes_from_elsewhere(x, z, v):
    mid = tf.multiply(x, 3.0, name="mid")
    tf.add(mid, after(v.assign_add(z, name="write").op, lambda: v.read_value()), name="y")


def writes_above_mid(x, z, v):
    mid = after(v.assign_add(x, name="write").op, lambda: tf.multiply(x, 3.0, name="mid"))
    tf.add(mid, after(mid, lambda: v.read_value()), name="y")


@pytest.mark.parametrize("door", [door for door in CUTS if door != "save"])  # a frozen file holds no write
@pytest.mark.parametrize("build", [writes_from_elsewhere, writes_above_mid])
def test_no_part_reads_what_a_write_outside_of_it_would_have_set(build, door, tmp_path):
    """A part is refused, and what the refusal proposes gives what the whole gives; or it has the write in it."""
    session = session_of(build)
    fed = {"mid:0": MID, "z:0": np.float32([100, 200]), "x:0": np.float32([3, 4])}
    kept = ["y:0", "Read/ReadVariableOp:0"]
    values = session.run(kept, fed)
    fed |= dict(zip(kept, values, strict=True))
    want = fed["y:0"]
    with pytest.raises((gs.PlanError, tf.errors.InvalidArgumentError)) as caught:
        CUTS[door](gs.open(session_of(build)), tmp_path, {"mid:0": MID})
    if isinstance(caught.value, gs.PlanError):
        more = ast.literal_eval(re.search(r"(?:inputs|at)=(\[.*?\])", caught.value.suggestion)[1])
    else:
        assert "must feed a value for placeholder tensor 'z'" in str(caught.value)
        more = ["mid:0", "z:0"]
    got = CUTS[door](gs.open(session_of(build)), tmp_path, {name: fed[name] for name in more})
    np.testing.assert_array_equal(got, want)


def test_a_copy_warns_of_a_read_without_its_write():
    ed = gs.open(session_of(writes_from_elsewhere))
    block = ed.select(inputs="mid", outputs="y")
    for plan in (gs.open(tf.Graph()).plan().copy(block, control="drop", unmapped="placeholder", values=ed),
                 ed.plan().copy(block, to="c", unmapped="keep", values=ed)):  # fmt: skip
        assert plan.check() == ()
        assert (
            "Read/ReadVariableOp:0 reads v without the value that write writes to it, because that op is left out"
            in plan.effect.warnings
        )
    shared = ed.plan().copy(block, to="c", unmapped="keep", variables="share")
    assert not any("left out" in one for one in shared.effect.warnings)


# -- loops, branches, TensorArrays ------------------------------------------------------------------


def array_of_writes(x, z, v):
    tf.constant(1.0, name="number")
    with flow_version("v1"):
        array = tf.TensorArray(tf.float32, 2).write(0, x).write(1, z)
        tf.identity(array.stack(name="stack"), name="y")


def array_of_a_loop(x, z, v):
    with flow_version("v1"):
        tf.identity(tf.map_fn(lambda row: row * 2.0, x, name="map"), name="y")


def loop(x, z, v):
    with flow_version("v1"):
        body = lambda i, a: (i + 1, tf.add(tf.multiply(a, 2.0, name="mul"), 1.0, name="inner"))  # noqa: E731
        tf.identity(tf.while_loop(lambda i, a: i < 3, body, [0, x], name="loop")[1], name="y")


def cond(x, z, v):
    p = tf1.placeholder_with_default(True, [], name="p")
    with flow_version("v1"):
        tf.identity(tf1.cond(p, lambda: tf.negative(x, name="inner"), lambda: x * 2.0, name="loop"), name="y")


WRITE, SCATTER = (
    "TensorArrayWrite_1/TensorArrayWriteV3",
    "map/TensorArrayUnstack/TensorArrayScatter/TensorArrayScatterV3",
)
TORN: dict[str, tuple[Any, str, str]] = {
    "between the writes and reads of an array": (array_of_writes, f"{WRITE}:0", "orders the writes and reads of a"),
    "between the writes and a loop": (array_of_a_loop, f"{SCATTER}:0", "orders the writes and reads of a TensorArray"),
    "through a loop": (loop, "loop/mul:0", "the selection cuts through a loop"),
}


@pytest.mark.parametrize("door", CUTS)
@pytest.mark.parametrize("cut", TORN)
def test_what_one_door_refuses_every_door_refuses(cut, door, tmp_path):
    build, tensor, why = TORN[cut]
    with pytest.raises(gs.PlanError) as caught:
        CUTS[door](gs.open(session_of(build)), tmp_path, {tensor: MID})
    assert why in caught.value.problem


#: Everything that gives a tensor, as `CUTS`.
GIVES: dict[str, Callable[[Any, Any, str], Any]] = {
    "save": lambda ed, path, end: ed.save(path / "part.pb", outputs=end),
    "save as a folder": lambda ed, path, end: ed.save(path / "one", inputs="x", outputs=end),
    "save as a folder of TF2": lambda ed, path, end: ed.save(
        path / "two", format="saved_model_tf2", inputs="x", outputs=end
    ),
    "function": lambda ed, path, end: ed.function("x", end),
    "keras_layer": lambda ed, path, end: ed.keras_layer("x", end),
    "set_signature": lambda ed, path, end: gs.recipes.set_signature(ed, end, "x"),
    "split_at": lambda ed, path, end: gs.recipes.split_at(ed, "x", end, verify=False),
    "strip_training": lambda ed, path, end: gs.recipes.strip_training(ed, end),
    "frozen": lambda ed, path, end: gs.recipes.frozen(ed, end),
    "trace": lambda ed, path, end: ed.trace({"x": MID}, end),
}


@pytest.mark.parametrize("door", GIVES)
def test_no_door_gives_a_tensor_of_a_loop(door, tmp_path):
    """Each proposes what the loop gives, which it takes."""
    ed = gs.open(session_of(loop))
    name = next(name for name in ed.snapshot.names if name.endswith("/inner"))
    with pytest.raises(gs.PlanError) as caught:
        GIVES[door](ed, tmp_path, name)
    assert caught.value.problem == f"'{name}:0' is computed inside a loop"
    result = re.search(r"such as '(.*)'", caught.value.suggestion)[1]
    GIVES[door](gs.open(session_of(loop)), tmp_path, result)


@pytest.mark.parametrize("door", GIVES)
def test_every_door_gives_a_tensor_of_a_branch(door, tmp_path):
    GIVES[door](gs.open(session_of(cond)), tmp_path, "loop/inner")


def test_a_tensor_of_a_branch_has_a_value_if_the_condition_takes_that_branch():
    ed = gs.open(session_of(cond))
    function = ed.function(["x", "p"], "loop/inner")
    np.testing.assert_array_equal(function(MID, True), -MID)
    np.testing.assert_array_equal(ed.trace({"x": MID}, "loop/inner").results["loop/inner:0"], -MID)
    with pytest.raises(tf.errors.InvalidArgumentError, match="loop/inner:0 has no value"):
        function(MID, False)


ALWAYS = "would always take 'loop/inner:0'"
REWIRED: dict[str, tuple[Any, Callable[[Any], Any], str]] = {
    "detach the flow of an array": (
        array_of_writes, lambda plan: plan.detach(WRITE, side="outputs"), "orders it after the writes"),
    "connect to the order of an array": (
        array_of_writes, lambda plan: plan.connect("number", to="stack/stack", input=2), "orders it after the writes"),
    "connect past a Switch": (cond, lambda plan: plan.connect("x", to="loop/inner"), ALWAYS),
    "connect to a Merge": (cond, lambda plan: plan.connect("x", to="loop/Merge"), "would always take 'x:0'"),
    "bypass a Switch": (cond, lambda plan: plan.bypass("loop/inner/Switch", output=1), ALWAYS),
    "detach a branch": (cond, lambda plan: plan.detach("loop/inner", side="inputs"), ALWAYS),
    "connect in a copy": (
        cond, lambda plan: plan.rename("loop", to="new").connect("x", to="new/inner"), "always take 'new/inner:0'"),
    "connect on copies": (
        cond, lambda plan: plan.connect("x", to="loop/inner").on_copies("new"), "always take 'new/loop/inner:0'"),
}  # fmt: skip


@pytest.mark.parametrize("edit", REWIRED)
def test_no_rewiring_parts_an_array_or_makes_a_branch_count_always(edit):
    build, rewire, why = REWIRED[edit]
    (fault,) = rewire(gs.open(session_of(build)).plan()).check()
    assert why in fault.problem
    assert fault.suggestion


@pytest.mark.parametrize("name", ["x:0", "loop/inner:0"])
@pytest.mark.parametrize(
    "door",
    [
        lambda ed, path, name: ed.select(inputs=name, outputs=name),
        lambda ed, path, name: ed.function(name, name),
        lambda ed, path, name: ed.keras_layer(name, name),
        lambda ed, path, name: ed.save(path / "part.pb", inputs=name, outputs=name),
        lambda ed, path, name: ed.save(path / "part.meta", inputs=name, outputs=name),
    ],
)
def test_every_door_refuses_a_part_that_computes_nothing(door, name, tmp_path):
    with pytest.raises(gs.SelectionError) as caught:
        door(gs.open(session_of(cond)), tmp_path, name)
    assert f"'{name}' is both" in caught.value.problem
    assert caught.value.suggestion == "Name an output that is computed from it"


def test_no_op_reads_tensors_of_branches_that_exclude_each_other():
    with tf.Graph().as_default() as graph, flow_version("v1"):
        x, p, q = (tf1.placeholder(kind, [], name=name) for name, kind in [("x", tf.float32), ("p", bool), ("q", bool)])

        def either():
            return tf.cond(q, lambda: tf.exp(tf.sin(x, name="in"), name="exp"), lambda: tf.cos(x, name="cos"))

        y = tf.cond(p, lambda: tf.add(tf.tan(x, name="tan"), either(), name="sum"), lambda: tf.negative(x, name="neg"))
        tf.add(y, tf.negative(x), name="z")
    ed = gs.open(graph)
    for at in (0, 1):
        (fault,) = ed.plan().connect("cond/neg", to="cond/sum", input=at).check()
        reads(fault, f"connect('cond/neg:0', to='cond/sum', input={at})", "'cond/sum' would never run")
    (fault,) = ed.plan().connect("cond/neg", to="z", input=0).connect("cond/tan", to="z", input=1).check()
    reads(fault, "'z' would never run: its inputs are computed in branches of 'p:0'", "the result of the cond")
    ed.apply(ed.plan().connect("cond/tan", to="cond/sum", input=1))
    for given, want in ((True, 2 * np.tan(0.5)), (False, -0.5)):
        assert ed.session().run("cond/Merge:0", {"x:0": 0.5, "p:0": given, "q:0": True}) == pytest.approx(want)


def test_what_the_refusal_of_a_rewired_branch_proposes_works():
    ed = gs.open(session_of(cond))
    ed.apply(ed.plan().connect("z", to="loop/inner/Switch"))
    feeds = {"x:0": np.float32([1, 2]), "z:0": np.float32([3, 4])}
    for p, want in ((True, [-3.0, -4.0]), (False, [2.0, 4.0])):
        assert ed.session().run("y:0", {**feeds, "p:0": p}).tolist() == want
    (fault,) = gs.open(session_of(cond)).plan().connect("z", to="loop/inner").check()
    assert fault.suggestion.endswith(".connect('z:0', to='loop/inner/Switch')")
