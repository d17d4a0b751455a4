"""Layers as values: found by name, moved along with edits, used as ends of a boundary."""

from __future__ import annotations

import pytest

from graphsurgeon.errors import SelectionError
from graphsurgeon.graph.calls import CallTree
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.layers import (
    Layer,
    LayerCall,
    Layers,
    VariableOwner,
    expand_layers,
    layers_from_variables,
    owners_from_names,
    scopes_of,
    update_layers,
)
from tests.refusal import refuses

OPS = [
    ("x", "Placeholder", []), ("w", "VarHandleOp", []),
    ("net/a/read", "ReadVariableOp", ["w"]), ("net/a/mul", "MatMul", ["x", "net/a/read"]),
    ("net/b/relu", "Relu", ["net/a/mul"]), ("net/a_1/mul", "MatMul", ["net/b/relu", "net/a/read"]),
]  # fmt: skip
FIRST = LayerCall(("net/a/read", "net/a/mul"), ("x:0",), ("net/a/mul:0",))
AGAIN = LayerCall(("net/a_1/mul",), ("net/b/relu:0",), ("net/a_1/mul:0",))
A = Layer("a", "Dense", "net/a", (FIRST, AGAIN), ("w",))
B = Layer("b", "ReLU", "net/b", (LayerCall(("net/b/relu",), ("net/a/mul:0",), ("net/b/relu:0",)),))
NOTHING = Layer("drop", "Dropout", "drop", (LayerCall((), ("net/b/relu:0",), ("net/b/relu:0",)),))
LAYERS = Layers((A, B, NOTHING))


def small(ops=OPS):
    return Graph.from_ops(ops)


def test_layers_are_found_by_path_name_pattern_and_class():
    assert LAYERS.find("net/a") is LAYERS.find("a") is LAYERS.find(A) is A
    assert LAYERS.find_all(["net/*", "DROP"], "select()") == [A, B, NOTHING]
    assert LAYERS.of_class("d*") == [A, NOTHING]
    assert LAYERS[1:] == (B, NOTHING)
    assert LAYERS["net/b"] is LAYERS["b"] is LAYERS[1] is B
    assert LAYERS.text == "3 (Dense, ReLU, Dropout)"
    assert str(LAYERS).splitlines()[0] == (
        "net/a  Dense: 3 ops, 1 variable, 2 calls, x:0, net/b/relu:0 -> net/a/mul:0, net/a_1/mul:0"
    )


def test_a_layer_that_is_not_there():
    with refuses(SelectionError, "layer('aa'): there is no layer 'aa'", "Did you mean 'a'?"):
        LAYERS.find("aa")
    with refuses(SelectionError, "layers['aa']: there is no layer 'aa'", "Did you mean 'a'?"):
        LAYERS["aa"]
    with refuses(SelectionError, "layer('zzz')", "It has 'net/a', 'net/b', 'drop': print(ed.layers)"):
        LAYERS.find("zzz")
    with refuses(SelectionError, "select(layer='zz*'): no layer fits 'zz*'"):
        LAYERS.find_all(["zz*"], "select(layer='zz*')")
    with refuses(SelectionError, "layer(3): 3 is not the name of a layer", "layer('dense')"):
        LAYERS.find(3)
    twice = Layers((A, Layer("a", "Dense", "other/a")))
    with refuses(SelectionError, "2 layers are called 'a'", "Type its path: 'net/a' or 'other/a'"):
        twice.find("a")
    with refuses(SelectionError, "the graph has no layers: it is a file", "Open the keras.Model or tf.Module itself"):
        Layers(reason="it is a file").find("a")


def test_a_layer_as_an_end_is_what_it_gives():
    g = small()
    assert expand_layers(g, LAYERS, ["net/a_1/", "net/b/"], "select()") == ["net/a_1/mul:0", "net/b/relu:0"]
    assert expand_layers(g, LAYERS, ["b", "net/b", B, "x", "w:0", "somebody else", 5], "select()") == [
        "net/b/relu:0", "net/b/relu:0", "net/b/relu:0", "x", "w:0", "somebody else", 5,
    ]  # fmt: skip
    with refuses(SelectionError, "select(): the layer 'net/a' is called 2 times",
                 "Give the result of one of the calls: 'net/a/mul:0' or 'net/a_1/mul:0'"):  # fmt: skip
        expand_layers(g, LAYERS, ["a"], "select()")
    with refuses(SelectionError, "select(): there is no layer 'dropp'", "Did you mean 'drop'?"):
        expand_layers(g, LAYERS, ["dropp"], "select()")
    silent = Layers((Layer("s", "Silent", "s", (LayerCall((), (), ()),)),))
    with refuses(SelectionError, "the layer 's' has no output", "Give a tensor by its name"):
        expand_layers(g, silent, ["s"], "select()")


def test_an_op_goes_before_a_layer_of_its_name():
    layers = Layers((Layer("x", "InputLayer", "x"),))
    assert expand_layers(small(), layers, ["x", "x:0"], "select()") == ["x", "x:0"]
    with refuses(SelectionError, "select(): there is no layer 'dropp:0'", "Did you mean 'drop'?"):
        expand_layers(small(), LAYERS, ["dropp:0"], "select()")


def test_layers_follow_new_names():
    g = small([(n.replace("net/", "core/"), t, [i.replace("net/", "core/") for i in ins]) for n, t, ins in OPS])
    new = update_layers(LAYERS, small(), CallTree(g), {n: n.replace("net/", "core/") for n, _, _ in OPS}, "step 1")
    assert new.find("a").calls[0] == LayerCall(("core/a/read", "core/a/mul"), ("x:0",), ("core/a/mul:0",))
    assert new.find("drop").outputs == ("core/b/relu:0",)
    assert new.find("a").variables == ("w",)


def test_a_layer_whose_ops_are_gone_is_gone_and_said():
    left = [op for op in OPS if op[0] != "net/b/relu"]
    left[-1] = ("net/a_1/mul", "MatMul", ["net/a/mul", "net/a/read"])
    new = update_layers(LAYERS, small(), CallTree(small(left)), {}, "step 2, remove it")
    assert [one.path for one in new] == ["net/a"]
    assert new.removed == {"net/b": "step 2, remove it", "drop": "step 2, remove it"}
    assert str(new).endswith("net/b  was removed: step 2, remove it\ndrop  was removed: step 2, remove it")
    with refuses(SelectionError, "layer('net/b'): the layer 'net/b' was removed: step 2, remove it", "ed.undo()"):
        new.find("net/b")
    assert new.find("a").calls[1].inputs == ("net/a/mul:0",)  # it reads another tensor now


def test_a_call_that_was_inlined_is_what_is_in_its_scope():
    g = small([("x", "Placeholder", []), ("call/mul", "Mul", ["x"]), ("call/out", "Identity", ["call/mul"])])
    layers = Layers((Layer("c", "LSTM", "c", (LayerCall(("call",), ("x:0",), ("call:0",)),)),))
    before = small([("x", "Placeholder", []), ("call", "PartitionedCall", ["x"])])
    (one,) = update_layers(layers, before, CallTree(g), {"call:0": "call/out:0"}, "inlined")
    assert one.calls == (LayerCall(("call/mul", "call/out"), ("x:0",), ("call/out:0",)),)


@pytest.mark.parametrize(
    ("ops", "found"),
    [
        (("net/a/read", "net/a/mul"), {"net/a/": "Dense"}),
        (("net/a/mul",), {}),
        (("net/a/read", "net/b/relu"), {}),
        (("net/a/read", "net/a/mul", "net/b/relu", "net/a_1/mul"), {"net/": "Dense"}),
        (("x",), {}),
        ((), {}),
    ],
    ids=["all of a scope", "a part of one", "parts of two", "a scope of scopes", "no scope", "nothing"],
)
def test_scopes_that_are_exactly_a_layer(ops, found):
    layers = Layers((Layer("d", "Dense", "d", (LayerCall(ops, (), ()),)),))
    assert {scope: layer.class_name for scope, (layer, _) in scopes_of(small(), layers).items()} == found


# -- by their variables ------------------------------------------------------------------------------

READ = [
    ("d/w", "VarHandleOp", []), ("d/w/Assign", "AssignVariableOp", ["d/w"]), ("e/w", "VarHandleOp", []),
    ("x", "Placeholder", []),
    ("d/read", "ReadVariableOp", ["d/w"]), ("d/mul", "MatMul", ["x", "d/read"]),
    ("net/e_1/read", "ReadVariableOp", ["e/w"]), ("net/e_1/mul", "MatMul", ["d/mul", "net/e_1/read"]),
    ("net/e_3/read", "ReadVariableOp", ["e/w"]), ("net/e_3/mul", "MatMul", ["net/e_1/mul", "net/e_3/read"]),
    ("far/read", "ReadVariableOp", ["e/w"]), ("y", "Identity", ["net/e_3/mul"]),
]  # fmt: skip


def test_a_scope_that_reads_the_variables_of_its_name_is_a_layer():
    g = Graph.from_ops(READ)
    d, e = layers_from_variables(CallTree(g), owners_from_names({"d/w": "d/w", "e/w": "e/w"}))
    assert d == Layer("d", "", "d", (LayerCall(("d/read", "d/mul"), ("x:0",), ("d/mul:0",)),), ("d/w",))
    assert [(call.inputs, call.outputs) for call in e.calls] == [
        (("d/mul:0",), ("net/e_1/mul:0",)), (("net/e_1/mul:0",), ("net/e_3/mul:0",))
    ]  # fmt: skip
    assert {scope: layer for scope, (layer, _) in scopes_of(g, Layers((d, e))).items()} == {
        "d/": d, "net/e_1/": e, "net/e_3/": e
    }  # fmt: skip


def test_other_scopes_may_stand_around_a_layer_and_what_is_around_it_may_have_none():
    g = Graph.from_ops([
        ("out/box/d/w", "VarHandleOp", []), ("x", "Placeholder", []),
        ("net/out_1/map/d_2/read", "ReadVariableOp", ["out/box/d/w"]),
        ("net/out_1/map/d_2/mul", "Mul", ["x", "net/out_1/map/d_2/read"]), ("z", "Identity", ["net/out_1/map/d_2/mul"]),
    ])  # fmt: skip
    held = ("out/box/d/w",)
    (found,) = layers_from_variables(
        CallTree(g), [VariableOwner("out/box/d", "out/box/d", "D", held), VariableOwner("box", "out/box", "B", held)]
    )
    assert (found.path, found.calls[0].outputs) == ("out/box/d", ("net/out_1/map/d_2/mul:0",))
    assert layers_from_variables(CallTree(g), [VariableOwner("d", "map/out/d", "D", held)]) == ()  # in another order


def test_an_op_that_is_called_as_its_layer_is_no_layer_in_it():
    g = Graph.from_ops([
        ("d/w", "VarHandleOp", []), ("d/b", "VarHandleOp", []), ("x", "Placeholder", []),
        ("n/d_1/d/read", "ReadVariableOp", ["d/w"]), ("n/d_1/d", "Mul", ["x", "n/d_1/d/read"]),
        ("n/d_1/read", "ReadVariableOp", ["d/b"]), ("n/d_1/add", "Add", ["n/d_1/d", "n/d_1/read"]),
        ("z", "Identity", ["n/d_1/add"]),
    ])  # fmt: skip
    (layer,) = layers_from_variables(CallTree(g), [VariableOwner("d", "d", "D", ("d/w", "d/b"))])
    assert [call.outputs for call in layer.calls] == [("n/d_1/add:0",)]
    (layer,) = layers_from_variables(
        CallTree(g), [VariableOwner("d", "d", "D", ("d/w",))]
    )  # what is around it reads another variable
    assert [call.outputs for call in layer.calls] == [("n/d_1/d:0",)]


def test_a_call_that_gives_nothing_does_not_count_as_an_end():
    g = Graph.from_ops([("x", "Placeholder", []), ("d/y", "Neg", ["x"]), ("d/z", "Neg", ["x"])])
    layer = Layer("d", "D", "d", (LayerCall(("d/z",), ("x:0",), ()), LayerCall(("d/y",), ("x:0",), ("d/y:0",))))
    assert expand_layers(g, Layers((layer,)), ["d"], "select()") == ["d/y:0"]


def test_what_two_claim_is_nobodys():
    g = Graph.from_ops(READ)
    one, two = VariableOwner("a", "d", "A", ("d/w",)), VariableOwner("b", "d", "B", ("d/w",))
    assert layers_from_variables(CallTree(g), [one, two]) == ()
    assert [layer.class_name for layer in layers_from_variables(CallTree(g), [one])] == ["A"]
    assert (
        layers_from_variables(CallTree(g), [VariableOwner("c", "d", "C", ("e/w",))]) == ()
    )  # it reads no variable of its own there
    assert owners_from_names({"w": "d/w", "w_1": "d/w"}) == []


def test_scopes_that_are_all_calls_of_a_layer_are_the_layer():
    g = Graph.from_ops([("x", "Placeholder", []), ("d/y", "Neg", ["x"]), ("d/z", "Neg", ["d/y"])])
    calls = LayerCall(("d/y",), ("x:0",), ("d/y:0",)), LayerCall(("d/z",), ("d/y:0",), ("d/z:0",))
    layer = Layer("d", "Dense", "d", calls)
    assert scopes_of(g, Layers((layer,))) == {"d/": (layer, LayerCall(layer.ops, layer.inputs, layer.outputs))}
