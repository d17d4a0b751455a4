"""The inspector: what there is to know of an op or a scope."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.errors import SelectionError
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.layers import NO_LAYERS, Layer, LayerCall, Layers
from graphsurgeon.graph.open_graph import Ends
from graphsurgeon.tf.open import op_facts
from graphsurgeon.ui.inspector import details_of, layer_rows, model_text
from graphsurgeon.view.tree import Tree
from tests.graphs import model, tiny
from tests.plain import net
from tests.refusal import refuses
from tests.screen.screens import traits
from tests.tf2 import sine

tf1 = tf.compat.v1

tf1 = tf.compat.v1


def test_an_op():
    got = details_of(Tree(gs.open(tiny()).snapshot), "y", op_facts)
    assert got["title"] == "y"
    assert ["type", "Square"] in got["rows"]
    assert ["T", "float32"] in got["rows"]
    assert got["inputs"] == [{"tensor": "x:0", "text": "float32 (?, 2)"}]
    assert got["outputs"] == [{"tensor": "y:0", "text": "float32 (?, 2)"}]
    assert got["consumers"] == ["z"]
    assert "square" in got["doc"].lower()


def test_devices_and_control_edges():
    graph = tf.Graph()
    with graph.as_default(), tf1.device("/cpu:0"):
        a = tf.no_op(name="a")
        with tf.control_dependencies([a]):
            tf.no_op(name="b")
    g = gs.open(graph).snapshot
    assert ["device", "/device:CPU:0"] in details_of(Tree(g), "a", op_facts)["rows"]
    assert details_of(Tree(g), "b", op_facts)["control_inputs"] == ["a"]
    assert ["waited for by", "1 op"] in details_of(Tree(g), "a", op_facts)["rows"]


def test_a_scope():
    got = details_of(Tree(gs.open(model("resource").graph).snapshot), "net/", op_facts)
    assert got["title"] == "net"
    assert got["rows"][0][0] == "ops"
    assert any(row[0] == "variables" for row in got["rows"])
    assert {"tensor": "x:0", "text": "float32 (?, 2)"} in got["inputs"]


def test_without_tensorflow_nodes():
    got = details_of(Tree(net()), "net/mm", op_facts)
    assert got["rows"] == [["type", "MatMul"]]
    assert [t["tensor"] for t in got["inputs"]] == ["x:0", "net/w/read:0"]


def test_a_name_that_is_not_there():
    with refuses(SelectionError, "details('nett/'): nothing in net has this name"):
        details_of(Tree(net()), "nett/", op_facts)


def test_an_op_of_the_screen_says_where_it_is_from_why_it_is_there_and_what_holds_it():
    ed = gs.open(tiny())
    ed.apply(ed.plan().copy(ed.select(name="y"), to="t", unmapped="keep"))
    screen = ed.screen
    rows = dict(screen.details("t/y")["rows"])
    assert rows["comes from"] == "copied from op 'y' of graph in step 1"
    assert rows["used by"] == "Unused (can be removed)"
    assert "in the region" not in rows
    assert dict(screen.details("y")["rows"])["used by"] == "1 consumer"
    assert "comes from" not in dict(screen.details("y")["rows"])
    screen.mark_input("x:0")
    screen.mark_output("z:0")
    assert dict(screen.details("y")["rows"])["in the region"] == "'z' needs it: y → z"
    assert "'t/y'" not in dict(screen.details("t/y")["rows"])["not in the region"]
    assert "no path" in dict(screen.details("k")["rows"])["not in the region"]


class Clipped(tf.Module):
    """A module whose function has a gradient of its own."""

    @tf.function(input_signature=[tf.TensorSpec([None], name="x")])
    def f(self, x):
        @tf.custom_gradient
        def exp(x):
            y = tf.exp(x, name="inner")
            return y, lambda dy: tf.clip_by_value(dy * y, -0.1, 0.1)

        return exp(x) * 2.0


def test_a_gradient_of_its_own_is_said_and_can_be_opened_where_the_file_holds_it(tmp_path):
    module = Clipped()
    ed = gs.open(module)
    (op,) = ed.select(op="IdentityN").names
    assert dict(ed.screen.details(op)["rows"])["gradient"].endswith(": Python code outside the graph")
    for kept in (True, False):
        path, options = str(tmp_path / str(kept)), tf.saved_model.SaveOptions(experimental_custom_gradients=kept)
        tf.saved_model.save(module, path, signatures=module.f, options=options)
        ed = gs.open(path, raw=True)
        (op,) = [name for name in ed.screen.whole.names if name.endswith("IdentityN")]
        ed.screen.reveal(op)
        said = dict(ed.screen.details(op)["rows"])["gradient"]
        assert said.startswith("6 ops; function='__inference_internal_grad_fn") == kept
        assert said.endswith(" opens it" if kept else ": Python code outside the graph")
        if kept:
            own = gs.open(path, function=said.split("'")[1])
            assert {"Mul", "Minimum", "Maximum"} <= set(own.snapshot.types)
            assert len(own.inputs) == 3  # two gradients that come in, and what it reads of the function


def test_the_gradient_of_a_function_of_tf1_is_said():
    with tf.Graph().as_default() as graph:
        sine()(tf1.placeholder(tf.float32, [], name="x"), name="call")
    for ed in (gs.open(graph), gs.open(graph.as_graph_def())):
        (op,) = [name for name in ed.snapshot.names if name != "x"]
        assert dict(ed.screen.details(op)["rows"])["gradient"] == "2 ops; function='slope' opens it"
    assert set(gs.open(graph, function="slope").snapshot.types) >= {"Cos", "Mul"}


def test_all_there_is_to_know_of_an_op():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [8, 4], name="x")
        w = tf1.get_variable("w", [4, 3], use_resource=True)
        with tf1.colocate_with(x.op):
            tf.matmul(x, w, name="mm")
        tf.constant([float(i) for i in range(100)], name="c")
        tf.constant([1, 2, 3], name="few")
    g = gs.open(graph).snapshot
    rows = dict(details_of(Tree(g), "mm", op_facts)["rows"])
    assert rows["FLOPs"] == "192"
    assert rows["output size"] == "96 bytes"
    assert rows["together with"] == "x"
    assert "_class" not in rows
    assert details_of(Tree(g), "mm", op_facts)["python"] == "ed.op('mm')"
    assert dict(details_of(Tree(g), "w", op_facts)["rows"])["variable size"] == "48 bytes"
    assert details_of(Tree(g), "w", op_facts)["value"]
    constant = details_of(Tree(g), "c", op_facts)
    assert dict(constant["rows"])["range"] == "0 to 99"
    assert sum(constant["histogram"]["counts"]) == 100
    assert not constant["value"]
    few = details_of(Tree(g), "few", op_facts)["rows"]
    assert [row for row in few if row[0].startswith(("value", "first"))] == [
        ["value", "int32 (3,), 12 bytes"], ["values", "1, 2, 3"]
    ]  # fmt: skip


def test_sizes_and_python_of_a_scope():
    got = details_of(Tree(gs.open(model("resource").graph).snapshot), "net/", op_facts)
    rows = dict(got["rows"])
    assert "in constants and variables" in rows["holds"]
    assert got["python"] == "ed.select(scope='net')"


def test_variables_count_where_they_are_read():
    with tf.Graph().as_default() as graph:
        kernel = tf.Variable(tf.zeros([10, 5]), name="kernel")
        with tf.name_scope("net"):
            tf.matmul(tf1.placeholder(tf.float32, [None, 10], name="x"), kernel, name="y")
    rows = dict(details_of(Tree(gs.open(graph).snapshot), "net/", op_facts)["rows"])
    assert rows["holds"] == "200 bytes in constants and variables"


def test_flops_of_an_unknown_batch_are_per_example_and_left_out_where_no_shape_is_known():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        tf.matmul(x, tf.ones([4, 3]), name="net/mm")
        tf.matmul(tf1.placeholder(tf.float32), tf.ones([4, 3]), name="odd")
    tree = Tree(gs.open(graph).snapshot)
    assert dict(details_of(tree, "net/mm", op_facts)["rows"])["FLOPs"] == "24 per example"
    assert dict(details_of(tree, "net/", op_facts)["rows"])["FLOPs"] == "24 per example for known shapes"
    assert "FLOPs" not in dict(details_of(tree, "odd", op_facts)["rows"])


def test_an_op_that_a_plan_will_make():
    ed = gs.open(tiny())
    plan = ed.plan().copy(ed.select(name="y"), to="t", unmapped="keep")
    got = details_of(Tree(plan.after()), "t/y", op_facts)
    assert ["type", "Square"] in got["rows"]
    assert "FLOPs" not in dict(got["rows"])


def test_long_lists_say_how_long_they_are_in_truth():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [3], name="x")
        gate = tf.no_op(name="gate")
        with tf.control_dependencies([gate]):
            made = [tf.square(x, name=f"s/op{'abcdefghij'[i % 10]}{i // 10}") for i in range(70)]
        with tf.control_dependencies([tf.no_op(name=f"n{i}") for i in range(70)]):
            tf.add_n(made, name="sum")
    g = gs.open(graph).snapshot
    of_x, of_sum, scope, of_gate = (details_of(Tree(g), name, op_facts) for name in ("x", "sum", "s/", "gate"))
    assert (len(of_x["consumers"]), of_x["totals"]["consumers"]) == (60, 70)
    assert (len(of_sum["inputs"]), "inputs" in of_sum["totals"]) == (70, False)
    assert (len(of_sum["control_inputs"]), of_sum["totals"]["control_inputs"]) == (60, 70)
    assert (len(scope["outputs"]), scope["totals"]["outputs"]) == (60, 70)
    assert dict(of_gate["rows"])["waited for by"] == "70 ops"


def test_a_scope_says_who_reads_it_and_how_many_types_are_not_listed():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [3], name="x")
        for kind in ("Abs", "Ceil", "Cos", "Exp", "Floor", "Neg", "Relu", "Sin", "Tan", "Tanh"):
            last = getattr(tf.raw_ops, kind)(name=f"s/{kind}", **{"features" if kind == "Relu" else "x": x})
        tf.raw_ops.Neg(x=last, name="after")
    got = details_of(Tree(gs.open(graph).snapshot), "s/", op_facts)
    assert got["consumers"] == ["after"]
    assert dict(got["rows"])["others"] == "2, of 2 types"


def test_what_outputs_take_is_told_for_scalars_and_references_and_never_for_a_part():
    graph = tf.Graph()
    with graph.as_default():
        x = tf1.placeholder(tf.float32, [None, 5, 5, 3], name="x")
        tf.constant(1.0, name="one")
        tf.zeros([0, 3], name="none")
        tf1.get_variable("w", [4, 3], use_resource=False)
        one, no = tf.ones([3]), tf.zeros([0])
        tf.raw_ops.FusedBatchNormV3(x=x, scale=one, offset=one, mean=no, variance=no, name="norm")
    g = gs.open(graph).snapshot
    takes = {
        name: dict(details_of(Tree(g), name, op_facts)["rows"]).get("output size") for name in ("one", "w", "norm")
    }
    assert takes == {"one": "4 bytes", "w": "48 bytes", "norm": None}


def test_a_box_says_which_layer_it_is_or_is_in():
    ops = [("w", "VarHandleOp", []), ("x", "Placeholder", []), ("n/d/y", "Neg", ["x"]), ("n/e/y", "Neg", ["w"])]
    graph = Graph.from_ops(ops)
    calls = tuple(LayerCall((op,), (), (f"{op}:0",)) for op in ("n/d/y", "n/e/y"))
    layers = Layers((Layer("d", "Dense", "m/d", calls, ("w",)),))
    rows, python = layer_rows(graph, layers, "n/e/")
    assert rows == [["layer", "m/d"], ["class", "Dense"], ["call", "2 of 2"], ["variable", "w"]]
    assert python == "ed.layer('m/d')"
    for op in ("n/d/y", "w"):
        assert layer_rows(graph, layers, op) == ([["of layer", "m/d (Dense)"]], "")
    assert layer_rows(graph, layers, "n/") == layer_rows(graph, layers, "x") == ([], "")


def test_ops_of_unknown_types():
    ops = [("net/x", "Placeholder", []), ("net/tok", "SentencepieceOp", ["net/x"])]
    tree = Tree(Graph.from_ops(ops, unknown_types=frozenset({"SentencepieceOp"})))
    reported = "the installed TensorFlow does not have this type; it is likely of tensorflow_text"
    assert details_of(tree, "net/tok", op_facts)["rows"][1] == ["unknown", reported]
    words = "1 op of a type that TensorFlow does not know here, 'SentencepieceOp' (tensorflow_text)"
    assert ["unknown", words] in details_of(tree, "net/", op_facts)["rows"]


def test_a_signature_holds_its_results_under_their_names_of_now():
    double = tf.function(lambda x: {"twice": tf.multiply(x, 2.0, name="y")})
    ed = gs.open(double.get_concrete_function(tf.TensorSpec([2], tf.float32, name="x")))
    name = ed.outputs["twice"].partition(":")[0]
    assert dict(ed.screen.details(name)["rows"])["used by"] == "1 signature"
    ed.apply(ed.plan().rename(name, to="named"))
    assert dict(ed.screen.details("named")["rows"])["used by"] == "1 signature"
    assert ed.removal_blockers("named").signatures == (("named:0", "the output 'twice'"),)


def test_the_sentence_about_a_model_names_its_ends_and_its_size():
    assert gs.open(gs.examples.classifier()).screen.traits()["titles"]["model"] == (
        "image (?, 16, 16, 1) → 59 ops in 6 layers, 5.73 kB in constants and variables → scores (?, 4)"
    )
    g = Graph.from_ops([(name, "Placeholder", []) for name in "abcde"])
    ends = Ends(inputs={name: f"{name}:0" for name in "abcde"})
    assert model_text(g, ends, NO_LAYERS) == "a, b, c and 2 more → 5 ops"


@pytest.mark.parametrize("kind", ["meta", "saved_model", "saved_model_tf2"])
@pytest.mark.parametrize("lost", ["*.index", "*.data-*"])
def test_a_file_without_its_values_says_so_until_they_are_restored(tmp_path, kind, lost):
    path, values = tmp_path / "net", tmp_path
    if kind == "saved_model_tf2":
        module = tf.Module()
        module.w = tf.Variable(2.0, name="w")
        module.serve = tf.function(lambda x: x * module.w, input_signature=[tf.TensorSpec([None], name="x")])
        tf.saved_model.save(module, str(path), signatures=module.serve)
        values = path / "variables"
    else:
        with tf.Graph().as_default() as graph, tf1.Session() as session:
            x = tf1.placeholder(tf.float32, [None], name="x")
            y = tf.multiply(x, tf1.get_variable("w", initializer=2.0), name="y")
            session.run(tf1.global_variables_initializer())
            if kind == "meta":
                tf1.train.Saver().save(session, str(path))
                path = path.with_suffix(".meta")
            else:
                tf1.saved_model.simple_save(session, str(path), {"x": x}, {"y": y})
                values = path / "variables"
        del graph
    assert "no value for" not in str(gs.open(path)) + traits(gs.open(path).screen)["titles"]["model"]
    for file in values.glob(lost):
        index = file.read_bytes()
        file.unlink()
    ed = gs.open(path)
    problem = "there is no " if "index" in lost else "the checkpoint's data file is missing"
    assert f"warning: no value for 1 variable: {problem}" in str(ed)
    assert f" · no value for 1 variable: {problem}" in traits(ed.screen)["titles"]["model"]
    if kind == "meta" and "index" in lost:
        with pytest.warns(match="has an initial value"):
            ed.screen.run({"x:0": "[1]"})
        status = traits(ed.screen)["status"]
        assert (status["level"], "initial values: no value for 1 variable" in status["text"]) == ("warn", True)
        assert "no value for" in str(ed)
        (tmp_path / "net.index").write_bytes(index)
        ed.restore(tmp_path / "net")
        assert "no value for" not in str(ed) + traits(ed.screen)["titles"]["model"]
