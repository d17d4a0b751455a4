"""The library functions that StableHLO modules call are found in each version of the format, and in each region."""

from __future__ import annotations

import random

import pytest
import tensorflow as tf
from tensorflow.compiler.mlir.stablehlo import stablehlo

import graphsurgeon as gs
from graphsurgeon.__main__ import main
from graphsurgeon.graph.stablehlo import library_calls
from graphsurgeon.tf.open.op_facts import attribute_text
from tests.tf2 import tf1

VECTOR = "tensor<2xf32>"
UNARY = f"({VECTOR}) -> {VECTOR}"


def module(body: str, more: str = "", version: str = "") -> bytes:
    """A serialized module whose function takes and returns a vector."""
    text = f"""module @net {{
      func.func public @main(%x: {VECTOR}, %k: tensor<i32>) -> {VECTOR} {{ {body} return %y : {VECTOR} }} {more}
    }}"""
    return stablehlo.serialize_portable_artifact_str(text, version or stablehlo.get_current_version())


def called(target: str, options: str = "", argument: str = "%x", result: str = "%y") -> str:
    return f'{result} = stablehlo.custom_call @"{target}"({argument}) {options} : {UNARY}\n'


LOOP = f"""%y, %n = stablehlo.while(%a = %x, %b = %k) : {VECTOR}, tensor<i32> cond {{
  %l = stablehlo.compare LT, %b, %k : (tensor<i32>, tensor<i32>) -> tensor<i1>
  stablehlo.return %l : tensor<i1>
}} do {{
  {called("in.loop", argument="%a", result="%c")}
  stablehlo.return %c, %b : {VECTOR}, tensor<i32>
}}"""
BRANCH = f"""%y = "stablehlo.case"(%k) ({{
  {called("in branch", result="%c")} stablehlo.return %c : {VECTOR}
}}, {{ stablehlo.return %x : {VECTOR} }}) : (tensor<i32>) -> {VECTOR}"""
INNER = f"func.func private @inner(%x: {VECTOR}) -> {VECTOR} {{ {called('inner')} return %y : {VECTOR} }}"
MODULES = {
    "plain": (called("fill"), "", ["fill"]),
    "side effect": (
        called("fill", "{has_side_effect = true, backend_config = 'text'}".replace("'", '"')),
        "",
        ["fill"],
    ),
    "loop": (LOOP, "", ["in.loop"]),
    "branch": (BRANCH, "", ["in branch"]),
    "function": (f"%y = func.call @inner(%x) : {UNARY}", INNER, ["inner"]),
    "two": (called("b", result="%z") + called("a", argument="%z"), "", ["a", "b"]),
    "built in": (called("Sharding", result="%z") + called("a", argument="%z"), "", ["a"]),
    "built in alone": (called("Sharding"), "", []),
    "no call": (f"%y = stablehlo.add %x, %x : {VECTOR}", "", []),
}


@pytest.mark.parametrize("version", [stablehlo.get_minimum_version(), "1.0.0", stablehlo.get_current_version()])
@pytest.mark.parametrize("kind", MODULES)
def test_the_targets_of_custom_calls_are_found(kind, version):
    body, more, wanted = MODULES[kind]
    artifact = module(body, more, version)
    assert library_calls(artifact) == tuple(wanted)
    assert library_calls(stablehlo.deserialize_portable_artifact_str(artifact)) == tuple(wanted)


def test_damaged_modules_raise_nothing_and_a_cut_one_is_not_read():
    whole, draw = module(LOOP), random.Random(0)
    assert all(library_calls(whole[:size]) is None for size in range(len(whole)))
    for _ in range(2000):
        damaged = bytearray(whole)
        for _ in range(draw.choice([1, 2, 8])):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        found = library_calls(bytes(damaged))
        assert found is None or all(isinstance(one, str) for one in found)


@pytest.mark.parametrize("text", [b"", b"not a module", b"module {}"])
def test_other_bytes_are_not_read(text):
    assert library_calls(text) is None


def graph_of(artifact: bytes) -> tf1.GraphDef:
    graph_def = tf1.GraphDef()
    node = graph_def.node.add(name="call", op="XlaCallModule")
    node.attr["module"].s = artifact
    node.attr["version"].i = 9
    for name in ("Tin", "Tout", "Sout"):
        node.attr[name].list.SetInParent()
    return graph_def


@pytest.mark.parametrize(
    ("artifact", "words"),
    [(module(called("fill")), "in its module: 'fill'"), (b"not a module", "runs a module that cannot be read")],
)
def test_a_module_that_calls_a_library_or_cannot_be_read_needs_trust(tmp_path, capsys, artifact, words):
    path = tmp_path / "net.pb"
    path.write_bytes(graph_of(artifact).SerializeToString())
    ed = gs.open(path)
    assert words in str(ed.risks())
    assert not ed.trusted
    with pytest.raises(gs.TrustError, match="call"):
        ed.session()
    assert main(["scan", str(path)]) == 1
    assert words in capsys.readouterr().out


def test_a_module_without_library_calls_is_harmless(tmp_path):
    path = tmp_path / "net.pb"
    path.write_bytes(graph_of(module(MODULES["no call"][0])).SerializeToString())
    ed = gs.open(path)
    assert (len(ed.risks()), ed.trusted) == (0, True)
    ed.session().close()


def test_a_module_in_a_function_of_a_saved_model_is_found(tmp_path):
    from tensorflow.compiler.tf2xla.python import xla

    artifact = module(called("fill"))

    def call(x):
        return xla.call_module(
            [x, tf.constant(0)], version=9, module=artifact, Tout=[tf.float32], Sout=[[2]], platforms=["CPU"]
        )[0]

    holder = tf.Module()
    holder.f = tf.function(call, input_signature=[tf.TensorSpec([2], name="x")])
    tf.saved_model.save(holder, str(tmp_path / "net"), signatures=holder.f)
    (risk,) = gs.open(tmp_path / "net").risks()
    assert (risk.type, risk.kind, risk.path) == ("XlaCallModule", "runs other code", "fill")


def test_the_op_types_in_a_module_are_listed_and_found():
    body = f"%z = stablehlo.tanh %x : {VECTOR}\n%y = stablehlo.add %z, %x : {VECTOR}"
    for version in (stablehlo.get_minimum_version(), stablehlo.get_current_version()):
        ed = gs.open(graph_of(module(body, "", version)))
        shown = attribute_text(ed.graph_def().node[0].attr["module"])
        assert shown == "a StableHLO module of stablehlo.tanh, stablehlo.add"
        assert (ed.find("tanh"), ed.find("attr:module=*tanh*"), ed.find("cosine")) == (["call"], ["call"], [])
