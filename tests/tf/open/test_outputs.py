"""Dtypes and shapes of what ops give: as a file states them until TensorFlow is needed, then as it infers them."""

from __future__ import annotations

import pytest
import tensorflow as tf

import graphsurgeon as gs
from graphsurgeon.graph.lazy_graph import lazy_graph_of
from graphsurgeon.tf.open import outputs
from graphsurgeon.tf.open.outputs import array_in
from graphsurgeon.tf.open.snapshot import materialize_graph
from tests.graphs import tf1, tiny
from tests.refusal import refuses


@pytest.fixture
def path(tmp_path):
    """A file of a small net, without shapes."""
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        with tf.name_scope("net"):
            h = tf.nn.relu(tf.matmul(x, tf.ones([4, 3]), name="product"), name="h")
        tf.reduce_sum(h, 1, name="y")
    file = tmp_path / "net.pb"
    file.write_bytes(graph.as_graph_def().SerializeToString())
    return file


def waits(ed):
    return lazy_graph_of(ed.opened_graph.graph) is not None


def test_looking_makes_no_live_graph(path):
    ed = gs.open(path)
    ed.screen.traits()
    ed.screen.describe()
    ed.screen.unfold("net/")
    ed.screen.details("net/h")
    ed.screen.find("op:Relu")
    ed.screen.mark_input("x:0")
    ed.screen.mark_output("net/h:0")
    ed.select(scope="net").boundary  # noqa: B018
    ed.find("op:Relu")
    assert ed.find("dtype:float* op:Relu") == ed.find("op:Relu")
    ed.screen.find("dtype:float32")
    ed.provenance("net/h")
    assert len(ed.plan()) == 0
    assert waits(ed)


def test_looking_into_calls_makes_no_live_graph(tmp_path):
    inner = tf.function(lambda x: tf.nn.relu(x, name="h"))
    with tf.Graph().as_default() as graph:
        x = tf1.placeholder(tf.float32, [None, 4], name="x")
        tf.reduce_sum(inner(tf.square(x, name="squared")), 1, name="y")
    ed = gs.open(graph.as_graph_def())
    call = next(name for name, kind in zip(ed.snapshot.names, ed.snapshot.types, strict=True) if "Call" in kind)
    assert ed.screen.find("dtype:float32 op:Relu")["total"] == 1
    ed.screen.unfold(f"{call}/")
    assert ed.screen.find("dtype:float32 op:Relu")["total"] == 1
    assert waits(ed)


@pytest.mark.parametrize(
    "need",
    [
        lambda ed: ed.graph,
        lambda ed: ed.session(),
        lambda ed: ed.op("x"),
        lambda ed: ed.plan().copy(ed.select(scope="net"), to="copy"),
        lambda ed: ed.snapshot.live_graph,
        print,
    ],
    ids=["graph", "session", "op", "plan", "live", "print"],
)
def test_what_needs_it_makes_it(path, need):
    ed = gs.open(path)
    need(ed)
    assert not waits(ed)
    assert len(ed.graph.get_operations()) == len(ed)


def test_shapes_are_what_the_file_states_and_then_what_is_inferred(path):
    graph = gs.open(path).snapshot
    x, y = graph.find("x"), graph.find("y")
    assert [str(info) for info in graph.declared_outputs(x)] == ["float32 (?, 4)"]
    assert [str(info) for info in graph.declared_outputs(y)] == ["float32 unknown shape"]
    assert [str(info) for info in graph.outputs(y)] == ["float32 (?,)"]
    assert [str(info) for info in graph.declared_outputs(y)] == ["float32 (?,)"]


def test_the_settled_snapshot_has_the_same_ops_under_the_same_numbers(path):
    ed = gs.open(path)
    read = ed.snapshot
    now = materialize_graph(read)
    assert now is not read
    assert (now.names, list(now.types), now.fingerprint) == (read.names, list(read.types), read.fingerprint)
    assert all(a == b for a, b in zip(now.nodes, read.nodes, strict=True))
    assert materialize_graph(now) is now
    assert ed.snapshot is now


def test_a_selection_from_before_is_copied_and_applied(path):
    ed = gs.open(path)
    net = ed.select(scope="net")
    done = ed.apply(ed.plan().copy(net, to="copy", inputs={"x:0": "x:0"}))
    assert done["net/h"].name == "copy/net/h"
    assert net == ed.select(scope="net")


def test_a_selection_from_before_is_copied_after_the_graph_has_grown(path):
    ed, other = gs.open(path), gs.open(tf.Graph())
    net = ed.select(scope="net")
    ed.apply(ed.plan().copy(ed.select(name="x"), to="more"))
    other.apply(other.plan().copy(net, to="copy", unmapped="placeholder"))
    assert "copy/net/h" in other.snapshot.index


def test_a_message_stays_as_it_is_and_may_be_changed(path):
    message = tf1.GraphDef.FromString(path.read_bytes())
    before = message.SerializeToString(deterministic=True)
    ed = gs.open(message)
    assert message.SerializeToString(deterministic=True) == before
    message.node[0].name = "another"
    assert ed.op("x").name == "x"


def test_an_op_that_claims_more_outputs_than_any_has():
    graph_def = tf1.GraphDef()
    node = graph_def.node.add(name="split", op="Split", input=["axis", "x"])
    node.attr["num_split"].i = 2**31
    node.attr["T"].type = 1
    for name, kind in (("axis", 3), ("x", 1)):
        graph_def.node.add(name=name, op="Placeholder").attr["dtype"].type = kind
    ed = gs.open(graph_def)
    assert ed.snapshot.declared_outputs(ed.snapshot.find("split")) is None
    with refuses(gs.OpenError, "TensorFlow refuses the graph"):
        ed.graph  # noqa: B018


@pytest.mark.parametrize("part", ["import_graph", "fill_collections"])
def test_an_interrupt_leaves_no_half_made_graph(path, monkeypatch, part):
    ed = gs.open(path)
    asked = []

    def interrupted(*_args):
        if not asked:
            asked.append(part)
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(f"graphsurgeon.tf.copy.imports.{part}", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ed.graph  # noqa: B018
    if part == "import_graph":
        assert len(ed.graph.get_operations()) == len(ed)
    else:
        with refuses(gs.OpenError, "making its live graph was stopped halfway", "Open it again"):
            ed.graph  # noqa: B018
        assert "net/h" in ed.snapshot.index


@pytest.mark.parametrize("query", ["dtype:float32", "shape:?x2", "op:Square"])
def test_a_search_on_screen_may_make_the_live_graph_in_its_midst(query):
    screen = gs.open(tiny().as_graph_def()).screen
    screen.traits()
    first = screen.find(query)
    assert first["hits"]
    assert screen.find(query) == first


@pytest.mark.parametrize("value", [2.0, "text"], ids=["number", "text"])
def test_a_constant_made_to_fill_memory_is_not_unpacked(value, monkeypatch, tmp_path):
    proto = tf.make_tensor_proto(value, shape=[3])
    assert array_in(proto).shape == (3,)
    graph_def = tf1.GraphDef()
    node = graph_def.node.add(name="c", op="Const")
    node.attr["dtype"].type = proto.dtype
    node.attr["value"].tensor.CopyFrom(proto)
    node.attr["value"].tensor.tensor_shape.dim[0].size = 10_000
    assert array_in(node.attr["value"].tensor).shape == (10_000,)
    monkeypatch.setattr(outputs, "TRUSTED", 1000)
    assert array_in(node.attr["value"].tensor) is None
    file = tmp_path / "m.pb"
    file.write_bytes(graph_def.SerializeToString())
    assert ", not shown: it is damaged, or of more than" in str(gs.open(file).screen.details("c"))


@pytest.mark.parametrize("value", [2.0, "text"], ids=["number", "text"])
def test_a_constant_with_a_size_below_zero_is_damaged(value):
    proto = tf.make_tensor_proto(value, shape=[3, 1])
    proto.tensor_shape.dim[0].size = proto.tensor_shape.dim[1].size = -(1 << 62)
    assert array_in(proto) is None


def test_a_constant_of_numbers_that_its_dtype_does_not_have_is_damaged():
    proto = tf1.AttrValue().tensor
    proto.dtype = tf.uint8.as_datatype_enum
    proto.int_val.append(-1)
    assert array_in(proto) is None


def test_nothing_of_a_constant_is_copied_that_is_larger_than_somebody_wants_to_look_at():
    class Large:
        dtype, tensor_shape = 1, tf.TensorShape([100, 1 << 20]).as_proto()

        @property
        def tensor_content(self):
            raise AssertionError("it would be copied")

    assert array_in(Large(), 1 << 20) is None
    with pytest.raises(AssertionError, match="copied"):
        array_in(Large())


def test_a_constant_is_read_to_its_bound():
    proto = tf.make_tensor_proto([1.0, 2.0])
    assert array_in(proto, 8).tolist() == [1, 2]
    assert array_in(proto, 7) is None
    assert array_in(proto).flags.writeable


def test_a_shape_with_more_elements_than_a_tensor_can_have_is_not_known(tmp_path):
    graph_def = tf1.GraphDef()
    node = graph_def.node.add(name="x", op="Placeholder")
    node.attr["dtype"].type = 1
    node.attr["shape"].shape.CopyFrom(tf.TensorShape([1 << 40, 1 << 40]).as_proto())
    graph_def.node.add(name="y", op="OddOp", input=["x"]).attr["T"].type = 1
    ed = gs.open(graph_def)
    assert ed.snapshot.declared_info(0, 0).shape is None
    assert "1099511627776, 1099511627776" in str(ed.screen.details("x"))


def test_an_op_of_an_unknown_type_asks_its_readers_once(monkeypatch):
    graph_def = tf1.GraphDef()
    graph_def.node.add(name="odd", op="OddOp")
    for number in range(20):
        graph_def.node.add(name=f"y{number}", op="OtherOp", input=["odd"])
    ed = gs.open(graph_def)
    asked = []
    real = type(ed.snapshot.outputs_of)._required_dtypes

    def counted(stated, number):
        asked.append(number)
        return real(stated, number)

    monkeypatch.setattr(type(ed.snapshot.outputs_of), "_required_dtypes", counted)
    for _ in range(20):
        ed.snapshot.declared_info(0, 0)
    assert asked == [0]
