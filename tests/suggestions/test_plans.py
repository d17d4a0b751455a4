"""The suggestions of plans: each is followed, and the request is carried out."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.graph.selection import select
from graphsurgeon.plan.plan import Plan
from tests.plain import plain
from tests.random_graphs import flow_version
from tests.suggestions.graphs import array_read, branched, counting, held, holder, looped, net, referenced, tangled, two
from tests.suggestions.ways import Said, Way, follow, tf1


def block(ed: Any) -> Any:
    return ed.select(scope="net")


def copied(ed: Any, **options: Any) -> Any:
    """A plan that copies net/ within its graph."""
    return ed.plan().copy(block(ed), **{"to": "copy", "unmapped": "keep", **options})


def across(ed: Any, **options: Any) -> Any:
    """A plan that copies all of a graph but its placeholders into another graph."""
    there = gs.open(tf.Graph())
    return there.plan().copy(ed.select(inputs="x:0", outputs="y:0"), **{"to": "copy", "unmapped": "placeholder",
                                                                        **options})  # fmt: skip


def gathered() -> Any:
    """A sparse tensor, its dense form, and another sparse tensor."""
    with tf.Graph().as_default() as graph:
        tf.sparse.to_dense(tf1.sparse_placeholder(tf.float32, [2, 3], name="s"), name="net/dense")
        tf1.sparse_placeholder(tf.float32, [2, 3], name="t")
    return gs.open(graph)


def sparse(ed: Any, name: str) -> Any:
    ends = [ed.graph.get_tensor_by_name(f"{name}/{end}:0") for end in ("indices", "values", "shape")]
    return tf.SparseTensor(*ends)


def called() -> Any:
    """Y = x + 1, in a function that is called."""

    @tf.function
    def more(x):
        return tf.add(x, 1.0, name="inner")

    with tf.Graph().as_default() as graph:
        tf.identity(more(holder("x", 2)), name="y")
    return gs.open(graph)


def call_of(ed: Any) -> str:
    return next(n for n, t in zip(ed.snapshot.names, ed.snapshot.types, strict=True) if "PartitionedCall" in t)


def bare(*steps: Any) -> Any:
    """A plan that was made without TensorFlow."""
    return Plan(plain(("x", "Placeholder", []), ("p", "Placeholder", []), ("y", "Neg", ["x"]), *steps,
                      outputs={"p": [("bool", ())]}))  # fmt: skip


def typed(ed: Any, said: Said, method: str) -> Any:
    """The plan that a suggestion types."""
    return eval(f"ed.plan(){said.call(method)}", {"ed": ed})


def with_op(ed: Any, name: str) -> Any:
    """The editor, with one more op."""
    with ed.graph.as_default():
        tf.identity(ed.graph.get_tensor_by_name("z:0"), name=name)
    return ed


def applied(ed: Any, plan: Any) -> Any:
    ed.apply(plan)
    return ed.plan()


def cased() -> Any:
    """Y = the branch of number n."""
    with tf.Graph().as_default() as graph:
        x, n = holder("x", 2), holder("n", dtype=tf.int32)
        tf.identity(tf.switch_case(n, [lambda: x, lambda: x * 2.0]), name="y")
    return gs.open(graph)


def listed() -> Any:
    """A TensorArray that is written, and read."""
    with tf.Graph().as_default() as graph:
        x = holder("x", 2)
        tf.negative(array_read(x), name="y")
        holder("flow")
        tf.exp(tf.negative(x, name="less"), name="far")
    return gs.open(graph)


ARGUMENTS = [
    ("Arguments.name_in", "its name as text", lambda ed: ed.plan().remove(3), lambda ed, _: ed.plan().remove("end")),
    ("Arguments.name_in", "Give the object", lambda ed: ed.plan().remove(3),
     lambda ed, _: ed.plan().remove(ed.graph.get_operation_by_name("end"))),
    ("Arguments._own", "or its name as text",
     lambda ed: ed.plan().remove(net().graph.get_operation_by_name("end")), lambda ed, _: ed.plan().remove("end")),
    ("Arguments.ops", "Select from", lambda ed: ed.plan().remove(net().select(name="end")),
     lambda ed, _: ed.plan().remove(ed.select(name="end"))),
    ("Arguments.ops", "or give the names of the ops", lambda ed: ed.plan().remove(net().select(name="end")),
     lambda ed, _: ed.plan().remove(["end"])),
    ("Arguments.selection", "ed.select(...)", lambda ed: ed.plan().copy(3, to="copy"), lambda ed, _: copied(ed)),
    ("Arguments.tensor_pairs", "Give the dict alone", lambda ed: ed.plan().reroute({"net/h:0": "x:0"}, to="other:0"),
     lambda ed, _: ed.plan().reroute({"net/h:0": "x:0"})),
    ("Arguments.tensor_pairs#2", "two lists of the same length",
     lambda ed: ed.plan().reroute(["net/h:0", "net/y:0"], to="x:0"),
     lambda ed, _: ed.plan().reroute(["net/h:0", "net/y:0"], to=["x:0", "other:0"])),
    ("Arguments.tensor_pairs#2", "or a dict", lambda ed: ed.plan().reroute(["net/h:0", "net/y:0"], to="x:0"),
     lambda ed, _: ed.plan().reroute({"net/h:0": "x:0", "net/y:0": "other:0"})),
    ("Arguments.tensor_pairs#3", "Name each tensor once", lambda ed: ed.plan().reroute(["net/h:0"] * 2, to=["x:0"] * 2),
     lambda ed, _: ed.plan().reroute(["net/h:0"], to=["x:0"])),
    ("Arguments.number", "input=0", lambda ed: ed.plan().connect("other:0", to="z", input="a"),
     lambda ed, said: ed.plan().connect("other:0", to="z", input=said.value("input"))),
    ("Arguments.dtype", "Choose one of", lambda ed: ed.plan().adapt("whole:0", to="z", input=0, dtype="text"),
     lambda ed, said: ed.plan().adapt("whole:0", to="z", input=0, dtype=next(n for n in said.names if n == "float32"))),
    ("Arguments.shape", "shape=[None, 10]", lambda ed: ed.plan().adapt("wide:0", kinds="dense", shape=10),
     lambda ed, said: ed.plan().adapt("wide:0", kinds="dense", shape=said.value("shape"))),
    ("Arguments.check_choice", "Choose one of", lambda ed: copied(ed, unmapped="ask"),
     lambda ed, said: copied(ed, unmapped=next(n for n in said.names if n != "refuse"))),
    ("Arguments.check_mapping", "Give inputs as {", lambda ed: copied(ed, inputs=["x:0", "other:0"]),
     lambda ed, said: copied(ed, inputs={"x:0": "other:0"})),
    ("Arguments.devices", "'clear'", lambda ed: copied(ed, device="gpu!"),
     lambda ed, said: copied(ed, device=said.names[0])),
    ("Arguments.devices", "'keep'", lambda ed: copied(ed, device="gpu!"),
     lambda ed, said: copied(ed, device=said.names[1])),
    ("Arguments.devices", "'/cpu:0'", lambda ed: copied(ed, device="gpu!"),
     lambda ed, said: copied(ed, device=said.names[2])),
    ("Arguments.devices", "{old: new}", lambda ed: copied(ed, device="gpu!"),
     lambda ed, said: copied(ed, device={"/cpu:1": "/cpu:0"})),
]  # fmt: skip


def after_another(ed: Any) -> Any:
    other = net()
    return ed.plan().copy(select(other.plan().rename("end", to="over").after(), name="over"), to="copy")


def after_another_applied(ed: Any, said: Said) -> Any:
    other = net()
    other.apply(other.plan().rename("end", to="over"))
    return ed.plan().copy(other.select(name="over"), to="copy", control="drop")


def rate(x: Any) -> Any:
    return tf.nn.relu(x)


def replaced_elsewhere(ed: Any) -> Any:
    return ed.plan().replace(ed.plan().rename("x", to="a").after().match(rate), "Softplus")


OTHERS = [
    Way("plan/arguments.py:Arguments.selection#2", "Apply that plan first", after_another, after_another_applied, net),
    Way("plan/arguments.py:Arguments.mapped_pairs", "an object of the same kind",
        lambda ed: copied(ed, inputs={sparse(ed, "s"): "t/values:0"}),
        lambda ed, said: copied(ed, inputs={sparse(ed, "s"): sparse(ed, "t")}), gathered),
    Way("plan/arguments.py:Arguments.mapped_pairs", "map its tensors one by one",
        lambda ed: copied(ed, inputs={sparse(ed, "s"): "t/values:0"}),
        lambda ed, said: copied(ed, inputs={
            f"s/{end}:0": f"t/{end}:0" for end in ("indices", "values", "shape")}), gathered),
    Way("plan/arguments.py:Arguments.policy", "Choose one of",
        lambda ed: across(ed, variables="both"), lambda ed, said: across(ed, variables=said.name), held),
    Way("plan/arguments.py:Arguments.policy", "replaced by a tensor",
        lambda ed: ed.plan().copy(ed.select(name="y"), to="copy", unmapped="keep", variables={"w": "both"}),
        lambda ed, said: ed.plan().copy(ed.select(name=["y", "y/*"]), to="copy", unmapped="keep",
                                        variables={"w": "plain:0"}), held),
    *(Way(f"plan/backend.py:Backend.{site}", "gs.open(graph).plan()", lambda ed, ask=ask: ask(bare()),
          lambda ed, _, do=do: do(ed.plan()), on)
      for site, ask, do, on in [
          ("pattern", lambda plan: plan.replace(rate, "Softplus"), lambda plan: plan.replace(rate, "Softplus"), net),
          ("collapse_builder", lambda plan: plan.collapse(["y"], name="c"),
           lambda plan: plan.collapse(["net/h"], name="c"), net),
          ("build_subgraphs", lambda plan: plan.insert(rate, on="x:0", name="r"),
           lambda plan: plan.insert(rate, on="net/y:0", name="r"), net),
          ("adapter_builder", lambda plan: plan.adapt("p:0", to="y", input=0, name="a"),
           lambda plan: plan.adapt("whole:0", to="z", input=0, name="a"), net),
      ]),
    Way("plan/removal.py:_removed_mask", "Select at least one op", lambda ed: ed.removal_blockers([]),
        lambda ed, _: ed.removal_blockers("net/h"), net),
]  # fmt: skip


COPIES = [
    ("plan/static_checks.py:_namespace_fault", "Choose another namespace",
     lambda ed: copied(with_op(ed, "copy/net/h"), reuse={}),
     lambda ed, _: copied(ed, reuse={}, to="other_copy")),
    ("plan/static_checks.py:_namespace_fault#2", "to='copy' is free", lambda ed: copied(ed, to=""),
     lambda ed, said: copied(ed, to=said.value("to"))),
    ("graph/names.py:invalid_name_fault", "Use letters", lambda ed: copied(ed, to="a b"),
     lambda ed, said: copied(ed, to=said.names[-1])),
    ("graph/names.py:name_problem", "Type to=", lambda ed: copied(ed, to="net"),
     lambda ed, said: copied(ed, to=said.name)),
    ("plan/static_checks.py:name_faults", "its own free name",
     lambda ed: copied(ed, to="", names={"net/h": "same", "net/y": "same"}),
     lambda ed, _: copied(ed, to="", names={"net/h": "one", "net/y": "another"})),
    ("plan/static_checks.py:selection_faults", "at least one op",
     lambda ed: ed.plan().copy(block(ed) - block(ed), to="copy"),
     lambda ed, _: copied(ed)),
    ("plan/static_checks.py:unmapped_fault", "inputs={", lambda ed: copied(ed, unmapped="refuse"),
     lambda ed, said: copied(ed, unmapped="refuse", inputs={said.name: "other:0"})),
    *(("plan/static_checks.py:unmapped_fault", f"'{way}'", lambda ed: copied(ed, unmapped="refuse"),
       lambda ed, _, way=way: copied(ed, unmapped=way)) for way in ("placeholder", "include", "keep")),
    ("plan/static_checks.py:unused_fault", "The entering tensors are",
     lambda ed: copied(ed, inputs={"sum:0": "other:0"}),
     lambda ed, said: copied(ed, inputs={said.name: "other:0"})),
    ("plan/static_checks.py:mapping_faults", "These would fit", lambda ed: copied(ed, inputs={"x:0": "whole:0"}),
     lambda ed, said: copied(ed, inputs={"x:0": said.name})),
    *(("plan/static_checks.py:control_fault", f"control='{way}'",
       lambda ed: ed.plan().copy(ed.select(name="end"), to="copy", control="refuse"),
       lambda ed, _, way=way: ed.plan().copy(ed.select(name="end"), to="copy", control=way, unmapped="include"))
      for way in ("drop", "include")),
    ("plan/plan.py:Plan.with_input", "unmapped='placeholder'",
     lambda ed: copied(ed, unmapped="include").with_input(0, "x:0", "placeholder"),
     lambda ed, _: copied(ed, unmapped="placeholder").with_input(0, "x:0", "placeholder")),
    ("plan/plan.py:Plan._copy_at", "The copies are steps",
     lambda ed: copied(ed.plan().remove("end") and ed).with_scope(1, "more"),
     lambda ed, _: copied(ed).with_scope(0, "more")),
    ("plan/plan.py:Plan.with_muted", "numbered from 0", lambda ed: copied(ed).with_muted(1),
     lambda ed, _: copied(ed).remove("end").with_muted(0)),
]  # fmt: skip


def kept(ed: Any, **options: Any) -> Any:
    """A plan that copies a part with a control input into another graph."""
    there = gs.open(tf.Graph())
    return there.plan().copy(ed.select(name=["z", "end"]), **{"to": "copy", "unmapped": "placeholder", **options})


VARIABLES = [
    Way("plan/static_checks.py:selection_faults#2", "'placeholder'", lambda ed: across(ed, unmapped="keep"),
        lambda ed, _: across(ed, unmapped="placeholder"), held),
    Way("plan/static_checks.py:selection_faults#2", "'include'", lambda ed: across(ed, unmapped="keep"),
        lambda ed, _: across(ed, unmapped="include"), held),
    Way("plan/static_checks.py:selection_faults#2", "control='drop'", lambda ed: kept(ed, control="keep"),
        lambda ed, _: kept(ed, control="drop"), net),
    Way("plan/static_checks.py:selection_faults#2", "control='include'", lambda ed: kept(ed, control="keep"),
        lambda ed, _: kept(ed, control="include"), net),
    *(Way("plan/static_checks.py:selection_faults#3", way, lambda ed: across(ed, variables="share"),
          lambda ed, _, way=way: across(ed, variables=way.strip("'")), held) for way in ("'copy'", "'initial'")),
    Way("plan/dependencies.py:rule_faults", "Choose from", lambda ed: across(ed, variables={"name": "freeze"}),
        lambda ed, said: across(ed, variables={said.name: "freeze"}, values=ed), held),
    Way("plan/dependencies.py:reference_faults", "Select 'w' too", lambda ed: set_alone(ed),
        lambda ed, _: ed.plan().copy(ed.select(name=["set", "w"]), to="copy", unmapped="placeholder"), referenced),
    Way("plan/dependencies.py:reference_faults", "leave 'set' out", lambda ed: set_alone(ed),
        lambda ed, _: ed.plan().copy(ed.select(name="y"), to="copy", unmapped="placeholder"), referenced),
    *(Way("plan/dependencies.py:substitute_faults", way, lambda ed: frozen(ed), do, held) for way, do in [
        ("Leave it out", lambda ed, _: ed.plan().copy(ed.select(inputs="x:0", outputs="y:0"), to="copy",
                                                      unmapped="keep", variables="freeze", values=ed)),
        ("'copy'", lambda ed, _: frozen(ed, "copy")), ("'initial'", lambda ed, _: frozen(ed, "initial"))]),
    Way("plan/dependencies.py:substitute_faults#2", "Give values=session",
        lambda ed: across(ed, variables="freeze"),
        lambda ed, _: across(ed, variables="freeze", values=ed.session()), held),
    Way("plan/dependencies.py:substitute_faults#2", "or an editor", lambda ed: across(ed, variables="freeze"),
        lambda ed, _: across(ed, variables="freeze", values=ed), held),
    Way("plan/dependencies.py:substitute_faults#2", "variables={", lambda ed: across(ed, variables={"w": "freeze"}),
        lambda ed, said: across(ed, variables=said.value("variables")), held),
    Way("plan/dependencies.py:substitute_faults#3", "These would fit", lambda ed: replaced(ed, "x:0"),
        lambda ed, said: replaced(ed, said.name), held),
]  # fmt: skip


def set_alone(ed: Any) -> Any:
    return ed.plan().copy(ed.select(name="set"), to="copy", unmapped="placeholder")


def frozen(ed: Any, how: str = "freeze") -> Any:
    return ed.plan().copy(ed.select(name=["w", "set"]), to="copy", unmapped="keep", variables={"w": how}, values=ed)


def replaced(ed: Any, tensor: str) -> Any:
    return ed.plan().copy(ed.select(inputs="x:0", outputs="y:0"), to="copy", unmapped="keep", variables={"w": tensor})


METHODS = [
    ("Plan.connect", "Give one op for each tensor", lambda ed: ed.plan().connect(["x:0", "other:0"], to=["z"]),
     lambda ed, _: ed.plan().connect(["x:0", "other:0"], to=["z", "net/h"])),
    ("Plan.connect", "one op for all", lambda ed: ed.plan().connect(["x:0", "other:0"], to=["z"]),
     lambda ed, _: ed.plan().connect(["x:0", "other:0"], to="z")),
    ("Plan.with_fix", "Choose a fix of a fault in plan.check()",
     lambda ed: ed.plan().connect("whole:0", to="z").with_fix(
         ed.plan().connect("whole:0", to="z").check()[0].fixes[0]),
     lambda ed, _: (plan := ed.plan().connect("whole:0", to="z")).with_fix(plan.check()[0].fixes[0])),
    ("Plan.bypass", "at least one op", lambda ed: ed.plan().bypass([]), lambda ed, _: ed.plan().bypass("net/h")),
    ("Plan.insert", "lambda x: f(x, ...)",
     lambda ed: ed.plan().insert(tf.nn.leaky_relu, on="net/h:0", name="leaky", alpha=0.1),
     lambda ed, _: ed.plan().insert(lambda x: tf.nn.leaky_relu(x, alpha=0.1), on="net/h:0", name="leaky")),
    ("Plan.insert#2", "Name each tensor once", lambda ed: ed.plan().insert("Relu", on=["net/h:0"] * 2, name="r"),
     lambda ed, _: ed.plan().insert("Relu", on=["net/h:0"], name="r")),
    ("Plan.insert#3", "one name for each", lambda ed: ed.plan().insert("Relu", on=["net/h:0", "net/y:0"], name=["r"]),
     lambda ed, _: ed.plan().insert("Relu", on=["net/h:0", "net/y:0"], name=["r", "s"])),
    ("Plan.insert#3", "one name for all", lambda ed: ed.plan().insert("Relu", on=["net/h:0", "net/y:0"], name=["r"]),
     lambda ed, _: ed.plan().insert("Relu", on=["net/h:0", "net/y:0"], name="r")),
    ("Plan.adapt", "to='op'", lambda ed: ed.plan().adapt("whole:0", to="z:0", input=0),
     lambda ed, _: ed.plan().adapt("whole:0", to="z", input=0)),
    ("Plan.adapt#2", "to='x:0'", lambda ed: ed.plan().adapt("whole:0", to="z", input=0, only="z"),
     lambda ed, _: ed.plan().adapt("whole:0", to="x:0", only="z")),
    ("Plan.rename", "rename('old', to='new')", lambda ed: ed.plan().rename("end"),
     lambda ed, _: ed.plan().rename("end", to="over")),
    ("Plan.rename", "rename({", lambda ed: ed.plan().rename({"end": "over"}, to="over"),
     lambda ed, _: ed.plan().rename({"end": "over"})),
    ("Plan.rename#2", "Name each op or scope once", lambda ed: ed.plan().rename({"net": "a", "net/": "b"}),
     lambda ed, _: ed.plan().rename({"net": "a"})),
    ("Plan.replace", "Give a function", lambda ed: ed.plan().replace(rate, 3),
     lambda ed, _: ed.plan().replace(rate, tf.nn.softplus)),
    ("Plan.replace", "or an op type", lambda ed: ed.plan().replace(rate, 3),
     lambda ed, _: ed.plan().replace(rate, "Softplus")),
]  # fmt: skip


STEPS = [
    # -- adapt
    ("plan/adapters.py:option_fault", "Choose one of",
     lambda ed: ed.plan().adapt("whole:0", to="z", input=0, kinds="x"),
     lambda ed, said: ed.plan().adapt("whole:0", to="z", input=0, kinds=next(n for n in said.names if n == "cast"))),
    ("plan/adapters.py:option_fault#2", "It has no options",
     lambda ed: ed.plan().adapt("whole:0", to="z", input=0, kinds="cast", to_what=1),
     lambda ed, _: ed.plan().adapt("whole:0", to="z", input=0, kinds="cast", dtype="float32")),
    ("plan/adapters.py:option_fault#3", "Choose one of",
     lambda ed: ed.plan().adapt("wide:0", to="z", input=0, kinds="resize", method="sharp"),
     lambda ed, said: ed.plan().adapt("wide:0", to="z", input=0, kinds="pad")),
    ("plan/steps/insert.py:AdaptStep._adapter#2", "Leave the adapter out",
     lambda ed: ed.plan().adapt("other:0", to="z", input=0), lambda ed, _: ed.plan().connect("other:0", to="z")),
    ("plan/steps/insert.py:AdaptStep._adapter#2", "kinds='dense'",
     lambda ed: ed.plan().adapt("other:0", to="z", input=0),
     lambda ed, said: ed.plan().adapt("other:0", to="z", input=0, kinds=said.value("kinds"))),
    ("plan/steps/insert.py:AdaptStep._adapter#3", "Choose kinds=",
     lambda ed: ed.plan().adapt("wide:0", to="z", input=0, kinds="cast"),
     lambda ed, said: ed.plan().adapt("wide:0", to="z", input=0, kinds=said.name)),
    # -- bypass
    ("plan/steps/edit.py:BypassStep.resolve", "Bypass each part in its own step",
     lambda ed: ed.plan().bypass(["net/h", "apart"], input="x:0"),
     lambda ed, _: ed.plan().bypass("net/h", input="x:0")),
    ("plan/steps/edit.py:BypassStep.resolve", "leave input= and output= out",
     lambda ed: ed.plan().bypass(["net/h", "sum"], input="x:0"), lambda ed, _: ed.plan().bypass(["net/h", "net/y"])),
    ("plan/steps/edit.py:BypassStep.resolve#2", "between two tensors", lambda ed: ed.plan().bypass(["apart", "sum"]),
     lambda ed, _: ed.plan().bypass(ed.select(inputs="x:0", outputs="net/y:0"))),
    ("plan/steps/edit.py:BypassStep._one", "Choose one, such as", lambda ed: ed.plan().bypass("net/h", output="z:0"),
     lambda ed, said: ed.plan().bypass("net/h", output=said.value("output"))),
    ("plan/steps/edit.py:BypassStep._one#2", "Choose another input=", lambda ed: ed.plan().bypass("net/h", input=1),
     lambda ed, said: ed.plan().bypass("net/h", input=0)),
    ("plan/steps/edit.py:BypassStep._named_end", "Choose one, such as",
     lambda ed: ed.plan().bypass(["net/h", "net/y"], input="z:0"),
     lambda ed, said: ed.plan().bypass(["net/h", "net/y"], input=said.value("input"))),
    # -- cycles, connections
    ("plan/resolver.py:_refuse_cycles", "a tensor above it", lambda ed: ed.plan().connect("z:0", to="net/h"),
     lambda ed, _: ed.plan().connect("other:0", to="net/h")),
    ("plan/resolver.py:_refuse_cycles", "an op above it", lambda ed: ed.plan().add_control("net/h", after="z"),
     lambda ed, _: ed.plan().add_control("net/h", after="x")),
    ("plan/steps/wiring.py:ConnectStep.resolve", "These would fit", lambda ed: ed.plan().connect("whole:0", to="z"),
     lambda ed, said: ed.plan().connect(said.name, to="z")),
    ("plan/edge_checks.py:input_of", "input=0", lambda ed: ed.plan().connect("other:0", to="net/h", input=1),
     lambda ed, said: ed.plan().connect("other:0", to="net/h", input=said.value("input"))),
    ("plan/edge_checks.py:input_of", "Choose another op", lambda ed: ed.plan().connect("other:0", to="x"),
     lambda ed, said: ed.plan().connect("other:0", to="net/h")),
    ("plan/steps/wiring.py:ControlStep.resolve", "It waits for", lambda ed: ed.plan().remove_control("end", after="x"),
     lambda ed, said: ed.plan().remove_control("end", after=said.name)),
    ("plan/steps/wiring.py:RerouteControlStep.resolve", "Its waiting ops",
     lambda ed: ed.plan().reroute_control("z", to="x", only="net/h"),
     lambda ed, said: ed.plan().reroute_control("z", to="x", only=said.name)),
    ("plan/type_check.py:mismatch", "These would fit", lambda ed: ed.plan().reroute("net/h:0", to="whole:0"),
     lambda ed, said: ed.plan().reroute("net/h:0", to=said.name)),
    ("plan/type_check.py:mismatch", "would fit input 1 of 'sum'", lambda ed: ed.plan().reroute("net/h:0", to="pair:0"),
     lambda ed, said: ed.plan().connect(said.names[-2], to=said.names[-1], input=1)),
    ("plan/edge_checks.py:rewire_fault", "Name another tensor", lambda ed: ed.plan().reroute("sum:0", to="pair:0"),
     lambda ed, _: ed.plan().reroute("net/y:0", to="other:0")),
    ("plan/edge_checks.py:rewire_fault", "widen only=", lambda ed: ed.plan().reroute("net/h:0", to="other:0", only="z"),
     lambda ed, _: ed.plan().reroute("net/h:0", to="other:0", only=["z", "net/y"])),
    ("plan/steps/wiring.py:SwapStep.resolve", "Give two tensors", lambda ed: ed.plan().swap("x:0", "x:0"),
     lambda ed, _: ed.plan().swap("x:0", "other:0") and ed.plan().swap("net/h:0", "loose:0")),
    ("plan/steps/edit.py:SetStep.resolve", "'/cpu:0'", lambda ed: ed.plan().set_device("z", "gpu!"),
     lambda ed, said: ed.plan().set_device("z", said.name)),
    ("plan/steps/edit.py:SetStep.resolve#2", "begin with '_'", lambda ed: ed.plan().set_attr("z", "T", None),
     lambda ed, _: ed.plan().set_attr("z", "_mine", None)),
    # -- names and removal
    ("plan/steps/edit.py:RenameStep.resolve", "An earlier step",
     lambda ed: ed.plan().rename("end", to="over").rename("end", to="done"),
     lambda ed, said: ed.plan().rename("end", to="over").rename(said.name, to="done")),
    ("plan/steps/edit.py:RenameStep._refuse", "a name that is free", lambda ed: ed.plan().rename("end", to="z"),
     lambda ed, said: ed.plan().rename("end", to=said.name)),
    ("plan/steps/edit.py:RenameStep._refuse", "rename both at once", lambda ed: ed.plan().rename("end", to="z"),
     lambda ed, _: ed.plan().rename({"end": "z", "z": "end"})),
    ("plan/steps/edit.py:RemoveStep.resolve", "Delete the step that makes it instead",
     lambda ed: copied(ed).remove("copy/net/y"), lambda ed, _: copied(ed).with_step(0, None).remove("end")),
    ("plan/removal.py:readers_fault", "Remove these too", lambda ed: ed.plan().remove("net/y"),
     lambda ed, _: ed.plan().remove(["net/y", "z", "end"])),
    ("plan/removal.py:readers_fault", "reroute their inputs first", lambda ed: ed.plan().remove("net/y"),
     lambda ed, _: ed.plan().reroute("net/y:0", to="other:0").remove("net/y")),
    ("plan/removal.py:readers_fault", "stitch=True", lambda ed: ed.plan().remove("net/y"),
     lambda ed, _: ed.plan().remove("net/y", stitch=True)),
    ("plan/removal.py:readers_fault", "ed.removal_blockers", lambda ed: ed.plan().remove("net/y"),
     lambda ed, _: list(ed.removal_blockers("net/y").data)),
    # -- functions
    ("plan/steps/functions.py:_refuse_changed", "Apply these steps first",
     lambda ed: ed.plan().connect("other:0", to="net/h").collapse("net", name="call"),
     lambda ed, _: applied(ed, ed.plan().connect("other:0", to="net/h")).collapse("net", name="call")),
    ("plan/steps/functions.py:_refuse_collapse", "ops that compute something",
     lambda ed: ed.plan().collapse(["x"], name="c"),
     lambda ed, _: ed.plan().collapse(["net/h"], name="c")),
    ("plan/steps/functions.py:CollapseStep.resolve", "ops that compute something",
     lambda ed: ed.plan().collapse(["end"], name="c"), lambda ed, _: ed.plan().collapse(["net/h"], name="c")),
    # -- copies of what changes
    ("plan/steps/on_copies.py:OnCopiesStep.resolve", "Leave on_copies out", lambda ed: ed.plan().on_copies(scope="n"),
     lambda ed, _: copied(ed)),
    ("plan/steps/on_copies.py:OnCopiesStep.resolve", "call it after the edits",
     lambda ed: ed.plan().on_copies(scope="n").reroute("net/h:0", to="other:0"),
     lambda ed, _: ed.plan().reroute("net/h:0", to="other:0").on_copies(scope="n")),
    ("plan/steps/on_copies.py:_copy_renamed_ops", "without on_copies",
     lambda ed: ed.plan().reroute("net/h:0", to="other:0").rename("net/y", to="net/yy").on_copies(scope="n"),
     lambda ed, _: ed.plan().reroute("net/h:0", to="other:0").rename("net/y", to="net/yy")),
    ("plan/steps/on_copies.py:_copy_renamed_ops", "leave the rename out",
     lambda ed: ed.plan().reroute("net/h:0", to="other:0").rename("net/y", to="net/yy").on_copies(scope="n"),
     lambda ed, _: ed.plan().reroute("net/h:0", to="other:0").on_copies(scope="n")),
    ("plan/steps/on_copies.py:OnCopiesStep._refuse#2", "Name an op in until=",
     lambda ed: ed.plan().reroute("net/h:0", to="other:0").on_copies(scope="n", until="sum"),
     lambda ed, _: ed.plan().reroute("net/h:0", to="other:0").on_copies(scope="n", until="z")),
    ("plan/steps/on_copies.py:OnCopiesStep._refuse#2", "leave until= out",
     lambda ed: ed.plan().reroute("net/h:0", to="other:0").on_copies(scope="n", until="sum"),
     lambda ed, _: ed.plan().reroute("net/h:0", to="other:0").on_copies(scope="n")),
    ("plan/steps/functions.py:_find_loop", "has no loops", lambda ed: ed.plan().unroll("z", 2),
     lambda ed, _: ed.plan().remove("end")),
]  # fmt: skip


def insert_variable(ed: Any, on: str, where: Any = None) -> Any:
    """A plan that inserts a product with a new variable, or with one that was made before."""

    def by(x):
        return x * (tf1.get_variable("scale", initializer=[1.0, 1.0]) if where is None else where)

    return ed.plan().insert(by, on=on, name="scaled")


def outside(ed: Any, said: Said) -> Any:
    with ed.graph.as_default():
        made = tf1.get_variable("scale", initializer=[1.0, 1.0])
        read = tf.identity(made, name="scale_read")
    del read
    return ed.plan()


def unrolled(ed: Any, times: int = 2) -> Any:
    return ed.plan().unroll("loop", times)


def nested() -> Any:
    """A loop in a loop."""
    with tf.Graph().as_default() as graph, flow_version("v1"):
        x = holder("x", 2)

        def body(i, v):
            return i + 1, tf.while_loop(lambda j, _: j < 2, lambda j, u: (j + 1, u * 3.0), [0, v], name="inner")[1]

        tf.identity(tf.while_loop(lambda i, _: i < 2, body, [0, x], name="outer")[1], name="y")
    return gs.open(graph)


def inner(ed: Any) -> str:
    return next(n for n in ed.snapshot.names if n.endswith("inner/LoopCond"))


def loop_op(ed: Any, kind: str, last: bool = False) -> str:
    found = [n for n, t in zip(ed.snapshot.names, ed.snapshot.types, strict=True) if t == kind]
    return found[-1 if last else 0]


def product(ed: Any) -> str:
    """The product in the body of the loop."""
    return next(n for n in ed.snapshot.names if n.startswith("loop/mul"))


FLOW = [
    Way("plan/steps/functions.py:_refuse_changed", "Apply these steps first",
        lambda ed: ed.plan().set_device("loop/LoopCond", "/cpu:0").unroll("loop", 2),
        lambda ed, _: applied(ed, ed.plan().set_device("loop/LoopCond", "/cpu:0")).unroll("loop", 2), looped),
    Way("plan/steps/functions.py:_find_loop", "The loops are", lambda ed: ed.plan().unroll("y", 2),
        lambda ed, said: ed.plan().unroll(said.name, 2), looped),
    Way("plan/steps/functions.py:_refuse_unroll", "Unroll the outer loop",
        lambda ed: ed.plan().unroll(inner(ed), 2),
        lambda ed, _: applied(ed, ed.plan().unroll("outer", 1)).unroll(inner(ed), 2), nested),
    Way("plan/steps/functions.py:_refuse_unroll#2", "before you compute gradients", unrolled,
        lambda ed, _: unrolled(looped()), partial(looped, slope=True)),
    Way("plan/edge_checks.py:frame_fault", "Rewire the input of",
        lambda ed: ed.plan().reroute(f"{loop_op(ed, 'NextIteration', last=True)}:0", to=f"{product(ed)}:0"),
        lambda ed, said: ed.plan().reroute(said.names[-1], to=f"{product(ed)}:0"), looped),
    Way("plan/edge_checks.py:frame_fault#2", "the input of an Enter",
        lambda ed: ed.plan().connect("other:0", to=product(ed), input=0),
        lambda ed, _: ed.plan().connect("other:0", to=loop_op(ed, "Enter", last=True)), looped),
    Way("plan/edge_checks.py:frame_fault#2", "the consumers of an Exit",
        lambda ed: ed.plan().connect(f"{product(ed)}:0", to="y"),
        lambda ed, _: ed.plan().connect(f"{loop_op(ed, 'Exit', last=True)}:0", to="y"), looped),
    Way("plan/edge_checks.py:refuse_order", "an Enter of the loop wait",
        lambda ed: ed.plan().add_control(product(ed), after="before"),
        lambda ed, _: ed.plan().add_control("loop/Enter_1", after="before"), looped),
    Way("plan/edge_checks.py:refuse_order", "wait for an Exit",
        lambda ed: ed.plan().add_control("y", after=product(ed)),
        lambda ed, _: ed.plan().add_control("y", after=loop_op(ed, "Exit", last=True)), looped),
    Way("plan/resolver.py:branch_fault", "the data input of the Switch",
        lambda ed: ed.plan().connect("other:0", to="cond/no"), lambda ed, said: typed(ed, said, "connect"), branched),
    Way("plan/resolver.py:branch_fault", "the data inputs of the Switches of that branch",
        lambda ed: ed.plan().connect("other:0", to=loop_op(ed, "Merge"), input=0),
        lambda ed, _: ed.plan().connect("other:0", to=ed.snapshot.input_names(ed.snapshot.index["cond/no"])[0]
                                        .partition(":")[0]), branched),
    Way("plan/steps/functions.py:_refuse_collapse#2", "Select ops outside of the loop or cond",
        lambda ed: ed.plan().collapse("cond", name="call"),
        lambda ed, _: ed.plan().collapse("y", name="call"), branched),
    Way("plan/steps/condition.py:ConditionStep.resolve", "Give True or False",
        lambda ed: ed.plan().resolve_condition("p:0", 1), lambda ed, _: ed.plan().resolve_condition("p:0", True),
        branched),
    Way("plan/steps/condition.py:ConditionStep.resolve", "the number of a branch",
        lambda ed: ed.plan().resolve_condition("n:0", True),
        lambda ed, _: ed.plan().resolve_condition("n:0", 1), cased),
    Way("plan/steps/condition.py:ConditionStep.resolve", "Name the condition",
        lambda ed: ed.plan().resolve_condition("x:0", True), lambda ed, _: ed.plan().resolve_condition("p:0", True),
        branched),
    Way("plan/plan.py:Plan.resolve_condition", "True or False",
        lambda ed: ed.plan().resolve_condition("p:0", "yes"), lambda ed, _: ed.plan().resolve_condition("p:0", True),
        branched),
    Way("plan/steps/condition.py:ConditionStep.resolve#2", "The conditions are",
        lambda ed: ed.plan().resolve_condition("loose:0", True),
        lambda ed, said: ed.plan().resolve_condition(said.name, True), lambda: chosen_by_one_of_two()),
    Way("plan/plan.py:Plan.unroll", "times=3", lambda ed: ed.plan().unroll("loop", -1),
        lambda ed, said: ed.plan().unroll("loop", times=said.value("times")), looped),
    Way("plan/steps/insert.py:waits_in_loop", "on a tensor outside",
        lambda ed: insert_variable(ed, f"{product(ed)}:0"),
        lambda ed, _: insert_variable(ed, f"{loop_op(ed, 'Exit', last=True)}:0"), looped),
]  # fmt: skip


def chosen_by_one_of_two() -> Any:
    """A cond, and a condition that nothing depends on."""
    ed = branched()
    with ed.graph.as_default():
        holder("loose", dtype=tf.bool)
    return gs.open(ed.graph)


def without(*ops: Any) -> Any:
    return lambda ed: ask_of(bare(*ops))


def ask_of(plan: Any) -> Any:
    kind, name = plan.base.types[-1], plan.base.names[-1]
    if kind == "If":
        return plan.resolve_condition("p", True)
    return plan.unroll(name, 2) if kind == "While" else plan.inline(name)


def reduced() -> Any:
    """A tensor that is exchanged with other processes."""
    with tf.Graph().as_default() as graph:
        x = holder("x", 2)
        got = tf.raw_ops.CollectiveReduce(input=x, group_size=1, group_key=1, instance_key=1, merge_op="Add",
                                          final_op="Id", subdiv_offsets=[0], name="sum")  # fmt: skip
        tf.negative(got, name="y")
        holder("other", 2)
    return gs.open(graph)


def queues() -> Any:
    """A queue, and another with the name that a copy of it would share."""
    with tf.Graph().as_default() as graph:
        for name, shared in (("one", "one"), ("other", "copy/one")):
            tf1.FIFOQueue(3, tf.float32, name=name, shared_name=shared)
    return gs.open(graph)


def endless() -> Any:
    """A loop of which nothing leaves."""
    whole = looped().graph.as_graph_def()
    left = [node for node in whole.node if node.op != "Exit" and node.name != "y"]
    return gs.open(tf1.GraphDef(node=left, versions=whole.versions))


def either() -> Any:
    """Sum = tan + sin in one branch, neg in the other; z reads the result."""
    with tf.Graph().as_default() as graph, flow_version("v1"):
        x, p = holder("x"), holder("p", dtype=tf.bool)
        y = tf.cond(p, lambda: tf.add(tf.tan(x), tf.sin(x), name="sum"), lambda: tf.negative(x, name="neg"))
        tf.add(y, tf.exp(x), name="z")
    return gs.open(graph)


def excluded(ed: Any) -> Any:
    return ed.plan().connect("cond/neg", to="cond/sum")


def from_both(ed: Any) -> Any:
    return ed.plan().connect("cond/neg", to="z", input=0).connect("cond/sum", to="z", input=1)


def edited(ed: Any) -> Any:
    return ed.plan().reroute("y", to="a", only="only")


LAST = [
    Way("plan/backend.py:Backend.branch_builder", "gs.open(graph).plan()", without(("c", "If", ["p", "x"])),
        lambda ed, _: ed.plan().resolve_condition("p", True), partial(branched, "v2")),
    Way("plan/backend.py:Backend.unroll_builder", "gs.open(graph).plan()", without(("w", "While", ["x"])),
        lambda ed, _: ed.plan().unroll("loop", 2), partial(looped, "v2")),
    Way("plan/backend.py:Backend.inline_builder", "gs.open(graph).plan()", without(("f", "PartitionedCall", ["x"])),
        lambda ed, _: ed.plan().inline(call_of(ed)), called),
    Way("plan/static_checks.py:preflight_faults", "cut before it, and map",
        lambda ed: ed.plan().copy(ed.select(inputs="x:0", outputs="y:0"), to="copy", inputs={"x:0": "other:0"}),
        lambda ed, _: ed.plan().copy(ed.select(inputs="sum:0", outputs="y:0"), to="copy", inputs={"sum:0": "other:0"}),
        reduced),
    Way("plan/static_checks.py:preflight_faults#2", "to='copy_copy'",
        lambda ed: ed.plan().copy(ed.select(name="one"), to="copy"),
        lambda ed, said: ed.plan().copy(ed.select(name="one"), to=said.name), queues),
    Way("plan/resolver.py:never_fault", "of the branch of 'cond/sum'", excluded,
        lambda ed, _: ed.plan().connect("cond/Sin", to="cond/sum"), either),
    Way("plan/resolver.py:never_fault", "the result of the cond", from_both,
        lambda ed, _: ed.plan().connect("cond/Merge:0", to="z", input=1), either),
    Way("plan/steps/functions.py:_refuse_collapse#3", "Leave out the ops that set it",
        lambda ed: ed.plan().collapse(["set", "more"], name="call"),
        lambda ed, _: ed.plan().collapse(["y"], name="call"), referenced),
    Way("plan/steps/functions.py:_refuse_collapse#3", "(w/read) can be included",
        lambda ed: ed.plan().collapse(["set", "more"], name="call"),
        lambda ed, _: ed.plan().collapse(["w/read", "y"], name="call"), referenced),
    Way("plan/steps/condition.py:_refuse", "a constant instead", lambda ed: ed.plan().resolve_condition("t", False),
        lambda ed, said: typed(ed, said, "reroute"), tangled),
    Way("plan/steps/condition.py:_refuse#2", "Connect a constant to it first",
        lambda ed: ed.plan().resolve_condition("r", True),
        lambda ed, said: applied(ed, typed(ed, said, "connect")).resolve_condition("r", True), tangled),
    Way("plan/steps/condition.py:ConditionStep.resolve#3", "Apply this plan first",
        lambda ed: ed.plan().copy(ed.select(scope="cond"), to="c", unmapped="keep").resolve_condition("p", True),
        lambda ed, _: applied(ed, ed.plan().copy(ed.select(scope="cond"), to="c", unmapped="keep"))
        .resolve_condition("p", True), branched),
    Way("plan/steps/condition.py:_refuse_loops", "unroll('loop/LoopCond', times)",
        lambda ed: ed.plan().resolve_condition("loop/LoopCond", True),
        lambda ed, said: ed.plan().unroll(said.name, 2), looped),
    Way("plan/steps/wiring.py:DetachStep.resolve", "Widen only=",
        lambda ed: ed.plan().detach("net/h", side="outputs", only="z"),
        lambda ed, _: ed.plan().detach("net/h", side="outputs", only=["z", "net/y"]), net),
    Way("plan/steps/on_copies.py:OnCopiesStep._refuse", "assign='copy'",
        lambda ed: edited(ed).on_copies("n", until="set"),
        lambda ed, _: edited(ed).on_copies("n", until="set", assign="copy"), counting),
    Way("plan/steps/on_copies.py:OnCopiesStep._refuse#3", "build a new graph",
        lambda ed: ed.plan().connect("y", to="set", input=1).on_copies("n"),
        lambda ed, _: ed.plan().connect("y", to="set", input=1), counting),
    Way("plan/steps/on_copies.py:OnCopiesStep._refuse#3", "assign='copy'",
        lambda ed: ed.plan().connect("y", to="set", input=1).on_copies("n"),
        lambda ed, _: ed.plan().connect("y", to="set", input=1).on_copies("n", assign="copy"), counting),
    Way("plan/steps/on_copies.py:OnCopiesStep._refuse#4", "assign='copy'", lambda ed: edited(ed).on_copies("n"),
        lambda ed, _: edited(ed).on_copies("n", assign="copy"), counting),
    Way("plan/steps/functions.py:_refuse_unroll#3", "or remove it", lambda ed: ed.plan().unroll("loop", 2),
        lambda ed, _: ed.plan().remove(ed.select(scope="loop")), endless),
]  # fmt: skip


MORE = [
    Way("plan/steps/edit.py:BypassStep._bypass_input", "Choose one: input=",
        lambda ed: ed.plan().bypass(["net/join", "net/more"]),
        lambda ed, said: ed.plan().bypass(["net/join", "net/more"], input=said.value("input")), two),
    Way("plan/steps/edit.py:BypassStep._bypass_input#2", "Choose the tensors", lambda ed: ed.plan().bypass("net"),
        lambda ed, said: ed.plan().bypass("net", input=said.names[0], output=said.names[1]), two),
    Way("plan/steps/edit.py:BypassStep._bypass_input#2", "ops that keep the shape",
        lambda ed: ed.plan().bypass(["net/more", "net/short"]), lambda ed, _: ed.plan().bypass("net/more"), two),
    Way("plan/edge_checks.py:reference_fault", "Set another input of",
        lambda ed: ed.plan().connect("plain:0", to="set"),
        lambda ed, _: ed.plan().connect("plain:0", to="set", input=1),
        referenced),
    Way("plan/edge_checks.py:reference_fault", "the inputs of the other consumers of the variable",
        lambda ed: ed.plan().connect("plain:0", to="set"), lambda ed, _: ed.plan().connect("plain:0", to="y", input=1),
        referenced),
    Way("plan/edge_checks.py:reference_fault", "exclude=", lambda ed: ed.plan().reroute("w:0", to="plain:0"),
        lambda ed, said: ed.plan().reroute("w:0", to="plain:0", exclude=[*said.value("exclude"), "set"]),
        referenced),
    Way("plan/type_check.py:handle_mismatch", "These would fit",
        lambda ed: ed.plan().reroute("w:0", to="v:0", only="set"),
        lambda ed, said: ed.plan().reroute("w:0", to=said.name, only="set"), held),
    Way("plan/edge_checks.py:_flow_fault", "rewire the consumers of 'read'",
        lambda ed: ed.plan().connect("flow:0", to="read", input=2),
        lambda ed, _: ed.plan().reroute("read:0", to="less:0"), listed),
    Way("plan/steps/functions.py:InlineStep.resolve", "ed.plan().inline(", lambda ed: inlined_copy(ed),
        lambda ed, said: applied(ed, copied_call(ed)).inline(said.names[-1]), called),
    Way("plan/removal.py:_incomplete_part_fault", "Remove the variable too",
        lambda ed: ed.plan().remove("v/Assign"),
        lambda ed, _: ed.plan().remove(ed.select(scope="v")), held),
    Way("plan/removal.py:_incomplete_part_fault", "the whole loop or cond",
        lambda ed: ed.plan().remove(["y", "cond/Merge", "cond/yes"]),
        lambda ed, _: ed.plan().remove(["y", *ed.select(scope="cond").names]), branched),
    Way("plan/steps/replace.py:replace_matches", "", lambda ed: ed.plan().replace(tf.nn.tanh, "Relu"),
        lambda ed, _: ed.plan().replace(rate, "Softplus"), net),
    Way("plan/arguments.py:Arguments.refuse_other_graph", "Look for them in",
        lambda ed: ed.plan().replace(net().match(rate), "Softplus"),
        lambda ed, _: ed.plan().replace(ed.match(rate), "Softplus"), net),
    Way("plan/arguments.py:Arguments.refuse_other_graph", "Select from",
        lambda ed: ed.plan().replace(rate, "Softplus", within=block(net())),
        lambda ed, _: ed.plan().replace(rate, "Softplus", within=block(ed)), net),
]  # fmt: skip


def copied_call(ed: Any) -> Any:
    return ed.plan().copy(ed.select(name=call_of(ed)), to="copy", unmapped="keep")


def inlined_copy(ed: Any) -> Any:
    return copied_call(ed).inline(f"copy/{call_of(ed)}")


WAYS: list[Way] = [
    *(Way(f"plan/arguments.py:{site}", *rest, net) for site, *rest in ARGUMENTS),
    *OTHERS,
    *(Way(*rest, net) for rest in COPIES),
    *VARIABLES,
    *(Way(f"plan/plan.py:{site}", *rest, net) for site, *rest in METHODS),
    *(Way(*rest, net) for rest in STEPS),
    *FLOW,
    *MORE,
    *LAST,
]


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_suggestion_solves_the_request(way):
    follow(way)
