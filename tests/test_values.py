"""Values are never lost: what variables hold after edits, undo, redo and rebuild, against a model of the rule."""

from __future__ import annotations

import itertools
import tempfile
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

import graphsurgeon as gs
from graphsurgeon.tf.values.transfer import value_provider
from tests.graphs import KINDS, model, put
from tests.refusal import refuses
from tests.tiers import examples

tf1 = tf.compat.v1
PICK = st.integers(0, 1000)


def small(kind: str, count: int = 2) -> Any:
    """Returns a graph of variables v0 = 10, v1 = 11 …, each with a reader and the square of that."""
    with tf.Graph().as_default() as graph, tf1.variable_scope("", use_resource=kind == "resource"):
        for i in range(count):
            variable = tf1.get_variable(f"v{i}", initializer=10.0 + i)
            tf.square(tf.identity(variable, name=f"now{i}"), name=f"sq{i}")
    return graph


def held(ed: Any) -> dict[str, float]:
    """Returns what the variables of an editor hold, by op name."""
    variables = {v.op.name: v for v in ed.graph.get_collection("variables")}
    return {name: float(value) for name, value in ed.session().run(variables).items()}


def give(ed: Any, name: str, value: float) -> None:
    put(next(v for v in ed.graph.get_collection("variables") if v.op.name == name), value, ed.session())


class Values(RuleBasedStateMachine):
    """An editor beside a model of the rule.

    The model: `here` says which variable (a number) each name means now, `last` what a variable last held in any
    session, `planned` what it gets where no session has held it yet.
    """

    @initialize(kind=st.sampled_from(KINDS))
    def begin(self, kind: str) -> None:
        self.kind, self.numbers, self.fresh = kind, itertools.count(), itertools.count(100)
        self.ed = gs.open(small(kind))
        self.here = {"v0": next(self.numbers), "v1": next(self.numbers)}
        self.planned: dict[int, float] = {0: 10.0, 1: 11.0}
        self.last: dict[int, float] = {}
        self.late: dict[int, dict[str, int]] = {}
        self.past: list[Any] = []
        self.future: list[Any] = []

    # -- the model ----------------------------------------------------------------------------------

    @property
    def names(self) -> dict[str, int]:
        """Which variable each name means, with those that were added to this graph by hand."""
        return {**self.here, **self.late.get(id(self.ed.graph), {})}

    def look(self) -> dict[str, float]:
        """Asks for a session, and returns what the rule says that the variables hold."""
        for number in self.names.values():
            self.last.setdefault(number, self.planned[number])
        return {name: self.last[number] for name, number in self.names.items()}

    def apply(self, plan: Any, after: dict[str, int]) -> Any:
        """Applies a plan after which names mean these variables."""
        assert plan.check() == ()
        self.past.append((self.ed.graph, self.here))
        self.future.clear()
        done = self.ed.apply(plan)
        self.here = after if done.graph is not self.past[-1][0] else {
            name: number for name, number in after.items() if name not in self.late.get(id(done.graph), {})
        }  # fmt: skip
        return done

    def named(self, pick: int) -> str:
        return sorted(self.names)[pick % len(self.names)]

    def new(self, value: float) -> int:
        number = next(self.numbers)
        self.planned[number] = value
        return number

    # -- what a person does -------------------------------------------------------------------------

    @rule(pick=PICK)
    def train(self, pick: int) -> None:
        name, value = self.named(pick), float(next(self.fresh))
        self.look()
        give(self.ed, name, value)
        self.last[self.names[name]] = value

    @rule()
    def read(self) -> None:
        assert held(self.ed) == self.look()

    @rule(pick=PICK, policy=st.sampled_from(["values of the editor", "array", "initial", "no values"]))
    def copy(self, pick: int, policy: str) -> None:
        name, to = self.named(pick), f"c{next(self.fresh)}"
        values: Any = {"values of the editor": self.ed, "array": {name: 5.0}}.get(policy)
        if values is self.ed:
            start = self.look()[name]
        else:
            start = 5.0 if values else self.initial(name)
        how = "initial" if policy == "initial" else "copy"
        plan = self.ed.plan().copy(self.ed.select(name=[name]), to=to, variables=how, values=values)
        after = {**self.names, f"{to}/{name}": self.new(start)}
        self.apply(plan, after)

    def initial(self, name: str) -> float:
        info = self.ed.snapshot.state.variables[name]
        return float(tf.make_ndarray(self.ed.graph.get_tensor_by_name(info.initial_value).op.get_attr("value")))

    @rule(pick=PICK)
    def share(self, pick: int) -> None:
        name = self.named(pick)
        reader = self.ed.snapshot.state.variables[name].snapshot.partition(":")[0]
        block = self.ed.select(name=[reader])
        plan = self.ed.plan().copy(block, to=f"s{next(self.fresh)}", variables="share", unmapped="keep")
        self.apply(plan, self.names)

    @rule(pick=PICK)
    def freeze(self, pick: int) -> None:
        name = self.named(pick)
        reader = self.ed.snapshot.state.variables[name].snapshot
        block, want = self.ed.select(outputs=reader), self.look()[name]
        plan = self.ed.plan().copy(block, to=f"f{next(self.fresh)}", variables="freeze", values=self.ed)
        done = self.apply(plan, self.names)
        assert self.ed.session().run(done[reader]) == want

    @rule(pick=PICK, values=st.sampled_from(["kept", "kept", "of the editor", "of its session", "initial", "array"]))
    def rename(self, pick: int, values: str) -> None:
        name, to = self.named(pick), f"r{next(self.fresh)}"
        number = self.names[name]
        given: Any = None
        if values in ("of the editor", "of its session"):
            self.look()
            given = self.ed if values == "of the editor" else self.ed.session()
        elif values == "initial":
            given, number = "initial", self.new(self.initial(name))
        elif values == "array":
            given, number = {name: 7.0}, self.new(7.0)
        plan = self.ed.plan().rename(name, to=to, values=given)
        rest = {n: v for n, v in self.names.items() if n != name}
        self.apply(plan, {**rest, to: number})

    @precondition(lambda self: len(self.names) > 1)
    @rule(pick=PICK)
    def remove(self, pick: int) -> None:
        name = self.named(pick)
        gone = self.ed.select(name=[name]).descendants() | self.ed.select(scope=name) | self.ed.select(name=[name])
        self.apply(self.ed.plan().remove(gone), {n: v for n, v in self.names.items() if n != name})

    @rule(pick=PICK, kind=st.sampled_from(["reroute", "insert", "attribute", "collapse"]))
    def edit(self, pick: int, kind: str) -> None:
        now = self.ed.snapshot
        squares = [name for name in now.names if name.startswith("sq") and now.types[now.index[name]] == "Square"]
        plan, to = self.ed.plan(), f"e{next(self.fresh)}"
        if kind == "attribute" or not squares:
            plan = plan.set_attr(self.named(pick), "_mark", to)
        else:
            square = squares[pick % len(squares)]
            if kind == "reroute":
                one, other = self.ed.op(square).inputs[0].name, self.ed.op(squares[0]).inputs[0].name
                plan = plan.reroute(one, to=other) if one != other else plan.set_attr(square, "_mark", to)
            elif kind == "insert":
                plan = plan.insert("Neg", on=self.ed.op(square).inputs[0], name=to)
            else:
                plan = plan.collapse([square], name=to)
        self.apply(plan, self.names)

    @rule()
    def rebuild(self) -> None:
        self.past.append((self.ed.graph, self.here))
        self.future.clear()
        names = self.names
        self.ed.rebuild()
        self.here = names

    @rule()
    def add_by_hand(self) -> None:
        name, start = f"h{next(self.fresh)}", float(next(self.fresh))
        with self.ed.graph.as_default():
            tf1.get_variable(name, initializer=start, use_resource=self.kind == "resource")
        self.late.setdefault(id(self.ed.graph), {})[name] = self.new(start)

    @precondition(lambda self: self.past)
    @rule()
    def undo(self) -> None:
        self.future.append((self.ed.graph, self.here))
        graph, self.here = self.past.pop()
        self.ed.undo()
        assert self.ed.graph is graph

    @precondition(lambda self: self.future)
    @rule()
    def redo(self) -> None:
        self.past.append((self.ed.graph, self.here))
        graph, self.here = self.future.pop()
        self.ed.redo()
        assert self.ed.graph is graph

    @rule()
    def save(self) -> None:
        want = self.look()
        with tempfile.TemporaryDirectory() as folder:
            prefix = self.ed.save(f"{folder}/all.ckpt").path
            reader = tf.train.load_checkpoint(prefix)
            assert {name: float(reader.get_tensor(name)) for name in reader.get_variable_to_shape_map()} == want

    def teardown(self) -> None:
        if hasattr(self, "ed"):
            assert held(self.ed) == self.look()


Values.TestCase.settings = settings(examples(30), stateful_step_count=16)
TestValues = Values.TestCase


# -- one by one -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_rename_keeps_the_trained_value_and_undo_and_redo_keep_what_was_trained_since(kind):
    ed = gs.open(small(kind))
    give(ed, "v0", 42)
    ed.apply(ed.plan().rename("v0", to="w"))
    assert held(ed) == {"w": 42, "v1": 11}
    give(ed, "w", 43)
    ed.undo()
    assert held(ed) == {"v0": 43, "v1": 11}
    give(ed, "v1", 44)
    ed.redo()
    assert held(ed) == {"w": 43, "v1": 44}


@pytest.mark.parametrize("kind", KINDS)
def test_a_read_that_reads_another_variable_says_nothing_of_its_own(kind):
    ed = gs.open(small(kind))
    give(ed, "v0", 42)
    read = ed.snapshot.state.variables["v0"].snapshot.partition(":")[0]
    ed.apply(ed.plan().connect("v1:0", to=read, input=0))
    assert (ed.value("v0"), ed.value("v1")) == (42, 11)
    give(ed, "v0", 43)
    ed.undo()
    assert held(ed) == {"v0": 43, "v1": 11}
    ed.redo()
    assert (ed.value("v0"), ed.value("v1")) == (43, 11)


@pytest.mark.parametrize("kind", KINDS)
def test_a_rename_that_resets_is_undone_with_the_value_of_before(kind):
    ed = gs.open(small(kind))
    give(ed, "v0", 42)
    plan = ed.plan().rename("v0", to="w", values="initial")
    assert ".rename('v0', to='w', values='initial')" in plan.to_code()
    ed.apply(plan)
    assert held(ed) == {"w": 10, "v1": 11}
    ed.undo()
    assert held(ed) == {"v0": 42, "v1": 11}


@pytest.mark.parametrize("source", ["checkpoint", "saved model"])
def test_values_of_a_file_go_into_a_graph_that_was_built_anew_before_any_session(source, tmp_path):
    first = gs.open(small("resource"))
    give(first, "v0", 42)
    path = tmp_path / ("m.meta" if source == "checkpoint" else "m")
    first.save(path, **({} if source == "checkpoint" else {"outputs": ["sq0:0", "sq1:0"]}))
    ed = gs.open(path)
    ed.apply(ed.plan().rename("v0", to="w"))
    assert held(ed) == {"w": 42, "v1": 11}
    assert ed.values.uninitialized == frozenset()
    ed.apply(ed.plan().remove(ed.select(scope="w") | ed.select(name="w").descendants() | ed.select(name="w")))
    assert held(ed) == {"v1": 11}
    ed.undo()
    assert held(ed) == {"w": 42, "v1": 11}


def test_values_of_a_file_that_no_session_has_seen_come_back_with_their_variable(tmp_path):
    first = gs.open(small("ref"))
    give(first, "v0", 42)
    ed = gs.open(first.save(tmp_path / "m.meta").path)
    ed.apply(ed.plan().remove(ed.select(scope="v0") | ed.select(name="v0").descendants() | ed.select(name="v0")))
    assert held(ed) == {"v1": 11}
    ed.undo()
    assert held(ed) == {"v0": 42, "v1": 11}


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_trained_in_an_old_session_after_the_handover_is_not_lost(kind):
    ed = gs.open(small(kind))
    old, variable = ed.session(), ed.graph.get_collection("variables")[0]
    ed.apply(ed.plan().remove(ed.select(scope="v0") | ed.select(name="v0").descendants() | ed.select(name="v0")))
    assert held(ed) == {"v1": 11}
    put(variable, 42, old)
    ed.undo()
    assert held(ed) == {"v0": 42, "v1": 11}


@pytest.mark.parametrize("kind", KINDS)
def test_variables_that_code_adds_later_are_initialized_and_nothing_else(kind):
    ed = gs.open(small(kind))
    session = ed.session()
    give(ed, "v0", 42)
    with ed.graph.as_default(), tf1.variable_scope("", use_resource=kind == "resource"):
        mine = [tf1.get_variable(name, initializer=5.0) for name in ("a", "b")]
        local = tf1.get_variable("c", initializer=6.0, collections=["local_variables"])
        alone = tf1.get_variable("d", initializer=8.0, collections=["mine"])
    put(mine[0], 7, session)
    assert ed.session() is session
    assert session.run([*mine, local, alone]) == [7, 5, 6, 8]
    assert held(ed)["v0"] == 42


def test_an_initial_value_that_tensorflow_takes_for_a_constant_is_set_all_the_same():
    ed = gs.open(small("resource"))
    for variable in ed.graph.get_collection("variables"):
        assert tf.get_static_value(variable.initializer.inputs[1]) is not None  # from now on Session.run feeds it not
    ed.session()
    done = ed.apply(ed.plan().rename("v0", to="w"))
    assert held(ed) == {"w": 10, "v1": 11}
    assert done["v0"].op.name == "w"


@pytest.mark.parametrize("kind", KINDS)
def test_what_an_undone_copy_left_is_neither_saved_nor_asked_of_a_checkpoint(kind, tmp_path):
    ed = gs.open(small(kind))
    path = ed.save(tmp_path / "before.ckpt").path
    ed.apply(ed.plan().copy(ed.select(name="v0"), to="t"))
    ed.undo()
    assert ed.restore(path).missing == ()
    assert ed.save(tmp_path / "after.ckpt").variables == ("v0", "v1")


def test_the_history_tells_where_values_came_from():
    ed = gs.open(small("ref"))
    ed.apply(ed.plan().rename("v0", to="w").copy(ed.select(name="v1"), to="t", values={"v1": 3.0}))
    ed.session()
    lines = ed.history.text(times=False).splitlines()
    assert lines[2].strip() == (
        "1 variable gets its value from a plan: t/v1; 2 variables start from their initial values: w, v1"
    )
    assert ed.history[0].values in ed.history._repr_html_()
    ed.undo()
    ed.session()
    assert ed.history[0].values == "2 variables keep their values ('w' as 'v0')"


# -- what an editor knows of its values ------------------------------------------------------------


def on_disk(folder):
    """Writes a model with trained values; returns its path and its weights."""
    m = model("resource", None)
    put(m.w, 3, m.session)
    with m.graph.as_default():
        tf1.train.Saver().save(m.session, str(folder / "net"))
    return str(folder / "net.meta"), m.session.run(m.w)


def test_what_is_known_of_a_graph_a_session_and_a_file(tmp_path):
    path, _ = on_disk(tmp_path)
    m = model("resource", None)
    graph, session, file = gs.open(m.graph), gs.open(m.session), gs.open(path)
    assert [ed.values.has_source for ed in (graph, session, file)] == [False, True, True]
    assert [ed.values.has_values for ed in (graph, session, file)] == [False, True, True]
    assert graph.values.stored_values() is session.values.stored_values() is None
    assert set(file.values.stored_values()) == {"net/w", "net/b"}
    graph.apply(graph.plan().copy(graph.select(scope="net"), to="t", unmapped="keep"))
    assert (graph.values.has_source, graph.values.has_values) == (False, True)


def test_a_file_is_read_until_a_session_is_there(tmp_path):
    path, _ = on_disk(tmp_path)
    ed = gs.open(path)
    assert ed.values.stored_values() is not None
    ed.session()
    assert ed.values.stored_values() is None


@pytest.mark.parametrize("part", [False, True])
def test_an_editor_and_its_values_give_the_same(part, tmp_path):
    path, wanted = on_disk(tmp_path)
    src, dst = gs.open(path), gs.open(tf.Graph())
    plan = dst.plan().copy(src.select(scope="net"), to="t", unmapped="placeholder", values=src.values if part else src)
    assert "values=src" in plan.to_code()
    done = dst.apply(plan)
    np.testing.assert_array_equal(dst.session().run(done["net/w"]), wanted)
    assert value_provider(src.values) is value_provider(src) is src.values


@pytest.mark.parametrize("other", [None, {}, {"w": 1.0}, "initial", 3])
def test_nothing_else_is_an_editor(other):
    assert value_provider(other) is None


def one_variable(start):
    with tf.Graph().as_default() as graph:
        tf.identity(tf1.get_variable("w", initializer=start), name="y")
    return graph


def test_a_session_of_another_graph_with_variables_of_the_same_names_is_refused():
    with tf1.Session(graph=one_variable(1.0)) as own, tf1.Session(graph=one_variable(2.0)) as foreign:
        for session in (own, foreign):
            session.run("w/Assign")
        for ed in (gs.open(own), gs.open(own.graph), gs.open(own.graph.as_graph_def())):
            before = ed.session()
            with refuses(gs.PlanError, "session(session)", "this is not a session of", "gs.transfer(session, ed)"):
                ed.session(foreign)
            assert ed.session() is before
        ed = gs.open(own)
        gs.transfer(foreign, ed)  # as the message says
        assert ed.session().run("y:0") == 2.0


def test_sessions_of_all_graphs_that_an_editor_had_are_taken_also_of_steps_that_were_undone():
    ed = gs.open(one_variable(1.0))
    first = ed.session()
    ed.apply(ed.plan().rename("w", to="v"))
    second = ed.session()
    ed.undo()
    ed.apply(ed.plan().rename("y", to="z"))  # the step that was undone is dropped
    for session in (first, second):
        assert ed.session(session).run("z:0") == 1.0
    assert ed.session() is ed.session(ed.session())
