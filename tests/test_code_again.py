"""The code of every plan and every history compiles, and in a new process it makes the same graph."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given

import graphsurgeon as gs
from graphsurgeon.plan.plan import Plan
from tests.fresh import made, read
from tests.graphs import model, put, tf1, tiny
from tests.random_graphs import RECIPE, built
from tests.test_edit_properties import STEPS, chosen
from tests.tf2 import keras_model as keras_model  # what is run in the new process takes it from here
from tests.tiers import deep, examples, product

HOSTILE = ("it's", 'say "no"', "two\nlines", "\u2028\u2029", "back\\slash", "{braces} {0} %s", "\x00\x7f", "'''\"\"\"")


TWO, ENDLESS = np.float32(2.0), np.array([1.0, np.inf], np.float32)


def plus(x, by=TWO, *, more: Any = math.inf):
    """Adds.

    A text of several lines, annotations, and defaults that are names.
    """
    return tf.minimum(x + by, more)


def net(folder: Path) -> dict[str, str]:
    """Writes one model with variables, a call and a text in all formats; returns the paths."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 2], name="x")
        with tf1.variable_scope("net"):
            w = tf1.get_variable("w", initializer=[[1.0, 2.0], [3.0, 4.0]], use_resource=True)
            b = tf1.get_variable("b", initializer=[0.5, -0.5], use_resource=True)
            y = tf.add(tf.matmul(x, w), b, name="y")
        tf.nn.relu(y, name="act")
        tf.constant("a text", name="text")
        c = tf.constant([1.0, 2.0], name="c")
        tf.multiply(tf.negative(y, name="n"), c, name="end")
        tf.identity(tf.function(lambda v: v * 2.0)(y), name="called")
        tf.cond(tf1.placeholder(tf.bool, [], name="which"), lambda: y, lambda: -y, name="either")
        tf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v * 2.0), [0, y], name="turns")
        with tf.control_dependencies([y]):
            tf.no_op(name="late")
        with tf1.Session() as session:
            session.run(tf1.global_variables_initializer())
            put(w, 7, session)
            tf1.train.Saver().save(session, str(folder / "net"))
            builder = tf1.saved_model.Builder(str(folder / "saved"))
            builder.add_meta_graph_and_variables(session, ["serve"])
            builder.save()
    written = graph.as_graph_def()
    for name in ("net.pb", "it's {a} \\ \u2028 net.pb"):
        (folder / name).write_bytes(written.SerializeToString(deterministic=True))
    (folder / "net.pbtxt").write_text(str(written))
    (folder / "tiny.pb").write_bytes(tiny().as_graph_def().SerializeToString(deterministic=True))
    module = tf.Module()
    module.v = tf.Variable([1.0, 2.0])
    module.f = tf.function(lambda x: x * module.v, input_signature=[tf.TensorSpec([2], tf.float32, name="x")])
    tf.saved_model.save(module, str(folder / "served"))
    return {p.name: str(p) for p in folder.iterdir()} | {"hostile": str(folder / "it's {a} \\ \u2028 net.pb")}


# -- each kind of step ------------------------------------------------------------------------------

BIG = {"net/w": np.arange(4, dtype=np.float32).reshape(2, 2), "net/b": np.array([np.nan, -np.inf], np.float32)}
STEPS_OF = {
    "copy": lambda p, ed: p.copy(ed.select(outputs="act:0"), to="t"),
    "copy part": lambda p, ed: p.copy(ed.select(scope="net") - ed.select(op="ReadVariableOp"), to="t", unmapped="keep"),
    "copy with all": lambda p, ed: p.copy(
        ed.select(outputs="end:0"), to="t", inputs={"x:0": "y:0"} if "y" in ed.snapshot.index else {"x:0": "x:0"},
        variables={"net/w": "initial", "*": "copy"}, device={"/cpu:0": "/cpu:1"}, seeds="new", collections="none",
        control="drop", values=BIG, reuse={}, names={}, unmapped="placeholder",
    ),
    "copy frozen": lambda p, ed: p.copy(ed.select(outputs="end:0"), to="t", variables="freeze", values=BIG),
    "copy a variable replaced": lambda p, ed: p.copy(ed.select(outputs="act:0"), to="t", variables={"net/b": "c:0"}),
    "copy with constants": lambda p, ed: p.copy(
        ed.select(outputs="act:0"), to="t", inputs={"x:0": np.array([[np.inf, -0.0]], np.float32)}
    ),
    "copy of no size": lambda p, ed: p.copy(
        ed.select(outputs="act:0"), to="t", inputs={"x:0": np.zeros([0, 2], np.float32)}
    ),
    "copy of objects": lambda p, ed: p.copy(
        ed.select(outputs=ed.tensor("act:0")), to="t", inputs={
            ed.tensor("x:0"): ed.tensor("x:0"),
            ed.tensor("net/b:0").op.name + "/Read/ReadVariableOp:0": [1.0, 2.0],
        },
    ),
    "connect": lambda p, ed: p.connect("y:0" if "y" in ed.snapshot.index else "act:0", to="end", input=0),
    "reroute": lambda p, ed: p.reroute({"net/y:0": "act:0"}, only=["n"]).reroute("n:0", to="act:0", exclude="called"),
    "swap": lambda p, ed: p.swap("c:0", "net/y/ReadVariableOp:0"),
    "bypass": lambda p, ed: p.bypass("n", input=0).bypass(ed.select(scope="net") & ed.select(op="AddV2")),
    "bypass a scope": lambda p, ed: p.bypass("net", input="x:0", output="net/y:0"),
    "detach": lambda p, ed: p.detach(["n"], side="inputs"),
    "insert": lambda p, ed: p.insert("Relu", on="net/y:0", name="r", T=tf.float32).insert(
        "Identity", on="r:0", name="i"),
    "insert functions": lambda p, ed: p.insert(plus, on="net/y:0", name="p").insert(
        lambda x, k=ENDLESS: x * k, on="n:0", name="l").insert(
        tf.nn.relu, on="c:0", name="q", only="end"),
    "insert lambdas of a loop": lambda p, ed: [p := p.insert(f, on=["net/y:0", "c:0"][n], name=f"f{n}")
                                               for n, f in enumerate([lambda x, k=k: x * k for k in (2.0, 3.0)])][-1],
    "remove": lambda p, ed: p.remove(["act", "late"]).remove("n", stitch=True),
    "attributes": lambda p, ed: [p := p.set_attr("x", f"_mark{n}", value) for n, value in enumerate([
        *HOSTILE, b"\xff'", 3, 2.5, math.inf, -math.inf, True, [1, 2], ["it's", "\n"], tf.float32,
        tf.TensorShape([None, 2]), np.float32(0.1), np.int64(3), np.str_("s'"), np.array([1.5, np.nan], np.float16),
        [tf.int32, tf.bool], [1.5, math.nan],
    ])][-1],
    "device": lambda p, ed: p.set_device(["n", "act"], "/job:worker/task:1/device:CPU:0").set_device("c", ""),
    "control": lambda p, ed: p.add_control("n", after=["c", "text"]).remove_control("late").reroute_control(
        "c", to="text", only=["n"]),
    "rename": lambda p, ed: p.rename("net", to="fresh", values=BIG),
    "replace": lambda p, ed: p.replace(lambda x: tf.negative(x), lambda x: x * -1.0, to="neg"),
    "replace with all": lambda p, ed: p.replace(
        lambda v: tf.negative(v, name="it"), lambda v, match: tf.identity(v) * -1.0, external="keep", constants="equal",
        where={"it": lambda op: "n" in op.name}, inputs={"v": tf.TensorSpec([None, 2], tf.float32)},
        within=ed.select(name=["n", "act"])),
    "replace one like this": lambda p, ed: p.replace(ed.select(name="n"), "Relu"),
    "replace matches": lambda p, ed: p.replace(ed.match(lambda x: tf.negative(x)), "Relu", to="r"),
    "collapse": lambda p, ed: p.collapse("net", name="call"),
    "collapse a selection": lambda p, ed: p.collapse(ed.select(name=["n", "end"]) | ed.select(name="act"), name="call"),
    "resolve a condition": lambda p, ed: p.resolve_condition("which", True),
    "inline": lambda p, ed: p.inline([n for n in ed.snapshot.names if "Partitioned" in n][:1]),
    "unroll": lambda p, ed: p.unroll("turns", 3),
    "inline flow": lambda p, ed: p.inline(["either", "turns"]),
    "on copies": lambda p, ed: p.set_attr("n", "_a", "x").reroute("c:0", to="net/b/Read/ReadVariableOp:0").on_copies(
        scope="live", until=["end"], collections="rename"),
}  # fmt: skip


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return net(tmp_path_factory.mktemp("nets"))


@pytest.fixture(scope="module")
def stepped(paths: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str, str]]:
    """For each kind of step: the graph that was made, the one that its code made, and that code."""
    cases, wanted = {}, {}
    for name, step in STEPS_OF.items():
        ed = gs.open(paths["net.pb"])
        plan = step(ed.plan(), ed)
        ed.apply(plan)
        for kind, code in (("plan", plan.to_code()), ("history", ed.to_code())):
            cases[f"{name} {kind}"], wanted[f"{name} {kind}"] = (code, ""), read(ed.graph_def())
    found = made(cases, tmp_path_factory.mktemp("steps"))
    return {name: (wanted[name], found[name], code) for name, (code, _) in cases.items()}


@pytest.mark.parametrize("kind", ["plan", "history"])
@pytest.mark.parametrize("step", STEPS_OF)
def test_each_kind_of_step(step, kind, stepped):
    wanted, found, code = stepped[f"{step} {kind}"]
    assert found == wanted, code


# -- each kind of source ----------------------------------------------------------------------------

GIVEN = "from tests.test_code_again import *\n"
OPENED = {
    "pb": "gs.open(paths['net.pb'])",
    "pbtxt": "gs.open(paths['net.pbtxt'])",
    "hostile path": "gs.open(paths['hostile'])",
    "path object": "gs.open(Path(paths['net.pb']))",
    "meta": "gs.open(paths['net.meta'])",
    "saved": "gs.open(paths['saved'])",
    "saved with tags": "gs.open(paths['saved'], tags={'serve'})",
    "served": "gs.open(paths['served'])",
    "signature": "gs.open(paths['served'], signature='serving_default')",
    "signature with tags": "gs.open(paths['served'], signature='serving_default', tags=['serve'])",
    "inlined": "gs.open(paths['net.pb']).inlined()",
    "connected": "gs.connect({'a': paths['net.pb'], 'b': paths['tiny.pb']}, {'a/act:0': 'b/x:0'}, values='initial')",
    "connected with inputs": "gs.connect({'a': paths['net.pb']}, inputs={'a/x:0': 'given'}, values='initial')",
    "graph": "gs.open(graph := live())",
    "session": "gs.open(session := live_session())",
    "graph def": "gs.open(graph_def := live().as_graph_def())",
    "meta graph": "gs.open(meta_graph := meta())",
    "function": "gs.open(function := doubled, signature=[tf.TensorSpec([None, 2], tf.float32, name='x')])",
    "concrete": "gs.open(function := doubled.get_concrete_function(tf.TensorSpec([2], tf.float32, name='x')))",
    "module": "gs.open(module := Module(), function='module', signature={'x': tf.TensorSpec([2], 'float32')})",
    "Keras": "gs.open(model := keras_model('functional'))",
    "Keras with signature": "gs.open(model := keras_model('plain'), signature=tf.TensorSpec([3, 2]), training=True)",
}


def live() -> Any:
    """Returns a graph that came from no file."""
    return model("resource", optimizer=None).graph


def live_session() -> Any:
    """Returns a session that came from no file."""
    m = model("resource", optimizer=None)
    put(m.w, 5, m.session)
    return m.session


def meta() -> Any:
    """Returns a MetaGraphDef."""
    with live().as_default():
        return tf1.train.export_meta_graph()


@tf.function
def doubled(x):
    """Doubles."""
    return x * 2.0


class Module(tf.Module):
    """A module whose function is called as its parameter is."""

    @tf.function
    def module(self, x):
        """Doubles."""
        return x * 2.0


def parameters(code: str, name: str) -> str:
    """Sets what a code says is to be given, as the case gives it."""
    reported = re.findall(r"^ *# (\w+): ", code, re.M)
    editor = {"src", "ed"} & set(reported)  # of one that has a history
    held = OPENED[name].partition(" := ")[0].rpartition("(")[2].strip()
    lines = [f"{word} = {held}" for word in reported if word != held and held.isidentifier()]
    opened = "".join(f"{word} = " for word in editor) + OPENED[name]
    return "\n".join(["import graphsurgeon as gs", f"paths = {PATHS!r}", opened, *lines])


PATHS: dict[str, str] = {}


SOURCES = product(OPENED, ["copy", "edit"], ["plan", "history"])


def in_this_tier(cases: list[Any]) -> set[tuple[Any, ...]]:
    """Returns the combinations that run: the other ones need not be made."""
    return {one.values for one in cases if deep() or not one.marks}


@pytest.fixture(scope="module")
def opened(paths: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str, str]]:
    """For each kind of source: an edit of it, and a copy of it, as they were made and as their codes make them."""
    cases, wanted, run = {}, {}, in_this_tier(SOURCES)
    PATHS.update(paths)
    for name, opening in OPENED.items():
        space = {**globals(), "paths": paths, "tf": tf}
        src, ed = eval(opening, space), gs.open(paths["tiny.pb"])
        first = next(n for n, kind in zip(src.snapshot.names, src.snapshot.types, strict=True) if kind != "Const")
        plan = src.plan().set_attr(first, "_mark", "it's")
        copy = ed.plan().copy(src.select(), to="t", variables="initial")
        copy = copy if not copy.check() else ed.plan().copy(src.select(name=first), to="t", unmapped="placeholder")
        for kind, made_in, one in (("copy", ed, copy), ("edit", src, plan)):
            made_in.apply(one)
            for what, code in (("plan", one.to_code()), ("history", made_in.to_code())):
                if (name, kind, what) in run:
                    key = f"{name} {kind} {what}"
                    cases[key], wanted[key] = (code, GIVEN + parameters(code, name)), read(made_in.graph_def())
    found = made(cases, tmp_path_factory.mktemp("opened"))
    return {name: (wanted[name], found[name], code) for name, (code, _) in cases.items()}


@pytest.mark.parametrize(("source", "kind", "what"), SOURCES)
def test_each_kind_of_source(source, kind, what, opened):
    wanted, found, code = opened[f"{source} {kind} {what}"]
    assert found == wanted, code


# -- each kind of values ----------------------------------------------------------------------------

VALUES: dict[str, Callable[[Any], Any]] = {
    "an editor": lambda src: src,
    "an editor with a session": lambda src: src.session() and src,
    "an editor that was trained": lambda src: trained(src.session()) and src,
    "its session": lambda src: src.session(),
    "its session, trained": lambda src: trained(src.session()),
    "another session": lambda src: trained(tf1.Session(graph=src.graph)),
    "arrays": lambda src: arrays_for(src),
    "arrays of variables": lambda src: {f"{name}:0": value for name, value in arrays_for(src).items()},
    "what is stored": lambda src: src.values.stored_values(),
}
FROM = {
    "meta": "gs.open(paths['net.meta'])",
    "saved": "gs.open(paths['saved'])",
    "pb": "gs.open(paths['net.pb'])",
    "graph": "gs.open(graph := live())",
    "session": "gs.open(session := live_session())",
}


def arrays_for(src: Any) -> dict[str, np.ndarray]:
    """Returns values for the variables of a graph, some of which no list can say."""
    shapes = {name: tf.TensorShape(src.op(name).get_attr("shape")).as_list() for name in ("net/w", "net/b")}
    return {name: np.full(shape, 0.1 if len(shape) > 1 else -math.inf, np.float32) for name, shape in shapes.items()}


def trained(session: Any) -> Any:
    """Gives the variables of a session other values."""
    for variable in session.graph.get_collection("variables") or ():
        put(variable, 9, session)
    if not session.graph.get_collection("variables"):  # a GraphDef has no collections
        for name, value in arrays_for(gs.open(session.graph)).items():
            session.run(f"{name}/Assign", {f"{name}/Initializer/initial_value:0": value})
    return session


VALUED = product(FROM, VALUES, [False, True])


@pytest.fixture(scope="module")
def valued(paths: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[str, str, str]]:
    """For each kind of values: a copy whose variables became constants of them, as it was made, and by its script."""
    cases, wanted, folder, run = {}, {}, tmp_path_factory.mktemp("valued"), in_this_tier(VALUED)
    for name, opening in FROM.items():
        for kind, values in VALUES.items():
            if not {(name, kind, False), (name, kind, True)} & run:
                continue
            src, ed = eval(opening, {**globals(), "paths": paths}), gs.open(tf.Graph())
            given_values = values(src)
            if given_values is None:
                continue
            end = "net/y:0"
            ed.apply(ed.plan().copy(src.select(outputs=end), to="t", variables="freeze", values=given_values))
            for arrays in (one for one in (False, True) if (name, kind, one) in run):
                key = f"{name}, {kind}" + ", arrays" * arrays
                path = folder / f"{re.sub('[ ,]+', '_', key)}.py"
                text = ed.to_code(path if arrays else None, arrays=arrays)
                code = text.replace("__file__", repr(str(path)))
                given_there = (
                    f"from tests.test_code_again import *\npaths = {paths!r}\nVALUES[{kind!r}](src := {opening})\n"
                )
                cases[key], wanted[key] = (code, given_there), read(ed.graph_def())
    found = made(cases, folder)
    return {name: (wanted[name], found[name], code) for name, (code, _) in cases.items()}


@pytest.mark.parametrize(("source", "kind", "arrays"), VALUED)
def test_each_kind_of_values(source, kind, arrays, valued):
    if kind == "what is stored" and source in ("pb", "graph", "session"):
        assert f"{source}, {kind}" not in valued
        return
    wanted, found, code = valued[f"{source}, {kind}" + ", arrays" * arrays]
    assert found == wanted, code


def test_values_as_they_lie_in_the_file_are_taken_from_it_again(paths):
    for trained_since in (False, True):
        src, ed = gs.open(paths["net.meta"]), gs.open(tf.Graph())
        if trained_since:
            trained(src.session())
        else:
            src.session()
        ed.apply(ed.plan().copy(src.select(outputs="act:0"), to="t", values=src))
        assert ("values=src" in ed.to_code()) != trained_since
        assert ("[[9.0, 9.0], [9.0, 9.0]]" in ed.to_code()) == trained_since


def test_each_thing_that_cannot_be_written_is_a_parameter_of_its_own():
    first, second = (model("resource", optimizer=None) for _ in range(2))
    ed = gs.open(tf.Graph())
    plan = ed.plan()
    for number, m in enumerate((first, second)):
        src = gs.open(m.graph)
        plan = plan.copy(src.select(outputs="net/y:0"), to=f"s{number}", values=m.session)
        plan = plan.copy(src.select(outputs="net/y:0"), to=f"a{number}", values={
            "net/w": np.full([2, 3], number), "net/b": np.full([3], number), "more": np.zeros([200])})  # fmt: skip
    code = plan.to_code()
    for name in ("graph", "source_graph1", "source_graph2"):
        assert f"# {name}: set it before this runs; a live tf.Graph, opened as 'graph'\n" in code
    for name in ("session", "session2"):
        assert f"# {name}: set it before this runs; a tf.compat.v1.Session, which has the values for the copy" in code
        assert f"values={name})" in code
    for name in ("values", "values2"):
        assert f"# {name}: set it before this runs; {{variable: array}}: 'net/w' int64 (2, 3), 'net/b'" in code
        assert f"values={name})" in code


def named(name: str, factor: float) -> Any:
    """Returns a function that cannot be written, under a name of one's own choice."""

    def function(x):
        return x * factor

    function.__name__ = name
    return function


@pytest.mark.parametrize("name", ["ed", "plan", "class", "gs", "src2", "block", "not a name", "int", "ünïcode", "f"])
def test_functions_of_any_name_are_kept_apart(name, tmp_path):
    (tmp_path / "tiny.pb").write_bytes(tiny().as_graph_def().SerializeToString())
    ed = gs.open(str(tmp_path / "tiny.pb"))
    functions = [named(name, 2.0), named(name, 3.0)]
    plan = ed.plan().insert(functions[0], on="y:0", name="a")
    ed.apply(plan)
    ed.apply(ed.plan().insert(functions[1], on="y:0", name="b"))
    text = ed.to_code()
    space: dict[str, Any] = {}
    exec(compile(text, "redo.py", "exec"), space)
    assert space["redo"](*functions).graph_def() == ed.graph_def()
    head = plan.to_code()
    word = re.findall(r"^# (\w+): set it before this runs; the function named.<locals>.function of tests", head, re.M)
    assert len(word) == 1
    exec(compile(head, "plan.py", "exec"), {word[0]: functions[0]})


def test_a_plan_after_others_needs_its_editor(tmp_path):
    (tmp_path / "tiny.pb").write_bytes(tiny().as_graph_def().SerializeToString())
    ed = gs.open(str(tmp_path / "tiny.pb"))
    ed.apply(ed.plan().insert("Relu", on="y:0", name="r"))
    plan = ed.plan().insert("Relu", on="r:0", name="r2")
    code = plan.to_code()
    assert "gs.open(" not in code
    about = "the editor of 'tiny.pb' after its earlier plans; ed.to_code() shows their code"
    assert f"# ed: set it before this runs; {about}\n" in code
    space: dict[str, Any] = {}
    exec(ed.to_code(), space)
    space["ed"] = space["redo"]()
    exec(code, space)
    ed.apply(plan)
    assert space["ed"].graph_def() == ed.graph_def()
    assert plan.to_code() == code


# -- random plans -----------------------------------------------------------------------------------


@pytest.mark.scaled
def test_random_plans_and_histories_are_done_again(tmp_path):
    cases, wanted = {}, {}

    @examples(20)
    @given(RECIPE, STEPS, STEPS)
    def draw(recipe, steps, more):
        graph, number = built(recipe).graph, len(cases)
        path = tmp_path / f"{number}.meta"
        with graph.as_default():
            tf1.train.export_meta_graph(str(path))
        ed = gs.open(str(path))
        for some in (steps, more):
            there = [t.name for t in built(recipe).tensors]
            if not all(name.partition(":")[0] in ed.snapshot.index for name in there):
                break
            plan: Plan = chosen(ed.plan(), Again(built(recipe), ed), some)
            if plan.steps:
                ed.apply(plan)
                if ed.history[0].result.plan is plan:
                    cases[f"{number} plan"] = plan.to_code(), PLAIN
                    wanted[f"{number} plan"] = read(ed.graph_def())
        cases[f"{number} history"], wanted[f"{number} history"] = (ed.to_code(), PLAIN), read(ed.graph_def())

    draw()
    found = made(cases, tmp_path)
    wrong = [name for name in cases if found[name] != wanted[name]]
    assert not wrong, f"{len(wrong)} of {len(cases)}: {found[wrong[0]][:3000]}\n{cases[wrong[0]][0]}"
    assert len(cases) > (25 if deep() else 5)


#: What the scripts of random plans are given: the only function that they cannot write.
PLAIN = "import tensorflow as tf"


class Again:
    """The tensors of a random graph in the graph of an editor."""

    def __init__(self, made_of: Any, ed: Any) -> None:
        self.graph = ed.graph
        self.pools = {dtype: [ed.tensor(t.name) for t in pool] for dtype, pool in made_of.pools.items()}
        self.tensors = [t for pool in self.pools.values() for t in pool]
