"""Lists, trees, control outputs, names, corresponding elements."""

from __future__ import annotations

import collections

import pytest
import tensorflow as tf

from graphsurgeon import graph_editor as ge
from graphsurgeon.graph_editor import util
from graphsurgeon.graph_editor.util import NotFound, WrongType, WrongValue
from tests.graphs import tf1, tiny
from tests.refusal import refuses

Pair = collections.namedtuple("Pair", "one two")


def test_a_list_view_is_read_only_and_adds_to_a_list():
    held = util.ListView([1, 2])
    assert list(held) == [1, 2]
    assert held[-1] == 2
    assert held.__add__((3,)) == [1, 2, 3]
    assert not util.ListView([])
    assert not hasattr(held, "__setitem__")
    assert repr(held) == "ListView([1, 2])"
    with refuses(WrongType, "ListView(...)", "a list", "tuple"):
        util.ListView((1, 2))


def test_trees_keep_their_types():
    ordered = collections.OrderedDict([("b", 1), ("a", [2, (3,)])])
    new = util.transform_tree({"k": ordered, "p": Pair(4, [5])}, lambda n: -n)
    assert new == {"k": collections.OrderedDict([("b", -1), ("a", [-2, (-3,)])]), "p": Pair(-4, [-5])}
    assert type(new["k"]) is collections.OrderedDict
    assert type(new["p"]) is Pair
    assert util.transform_tree({1}, lambda n: n) == (1,)
    assert util.transform_tree({1}, lambda n: n, iterable_type=list) == [1]
    held = collections.defaultdict(list, a=1)
    assert util.transform_tree(held, str)["missing"] == []


def test_a_deep_list_of_leaves_appends_to_one_that_is_given():
    graph = tiny()
    x = graph.get_tensor_by_name("x:0")
    assert ge.flatten_tree([x, {"k": (x.op, "text")}], [1]) == [1, x, x.op, "text"]


def test_a_tensor_is_one_thing():
    assert not util.is_iterable(tiny().get_tensor_by_name("x:0"))
    assert not util.is_iterable(tf.constant([1, 2]))
    assert util.is_iterable([])
    assert not util.is_iterable(3)


def test_graphs_are_told_apart():
    one, two = tiny(), tiny()
    ge.check_graphs(ge.sgv("y", graph=one), ge.SubGraphView(), ge.sgv("z", graph=one))
    with refuses(WrongValue, "argument 1 is of another graph"):
        ge.check_graphs(ge.sgv("y", graph=one), ge.sgv("z", graph=two))
    y = one.get_operation_by_name("y")
    assert ge.get_unique_graph([y, y.outputs[0]]) is one
    assert ge.get_unique_graph(one) is one
    assert ge.get_unique_graph([], none_if_empty=True) is None
    with refuses(WrongValue, "'y:0' is of another graph"):
        ge.get_unique_graph([y, two.get_tensor_by_name("y:0")])
    with refuses(WrongValue, "an empty list has no graph"):
        ge.get_unique_graph([])
    with refuses(WrongType, "an iterable of ops or tensors"):
        ge.get_unique_graph(y)
    with refuses(WrongType, "a tf.Operation", "Tensor"):
        ge.get_unique_graph([y.outputs[0]], tf.Operation)


@pytest.mark.parametrize(("make", "own"), [(ge.make_list_of_op, "y"), (ge.make_list_of_t, "y:0")])
def test_lists_are_made_of_anything(make, own):
    graph = tiny()
    thing = graph.as_graph_element(own)
    assert make(thing) == make((thing,)) == make(iter([thing])) == [thing]
    assert make([]) == []
    assert len(make(graph)) == len(graph.get_operations())
    with refuses(WrongType, "allow_graph is False"):
        make(graph, allow_graph=False)
    with pytest.raises(TypeError):
        make("y")


def test_the_other_kind_is_left_out_where_asked():
    y = tiny().get_operation_by_name("y")
    assert ge.make_list_of_op([y, y.outputs[0]], ignore_ts=True) == [y]
    assert ge.make_list_of_t([y, y.outputs[0]], ignore_ops=True) == [y.outputs[0]]
    assert ge.make_list_of_op([y, 3], check_graph=False) == [y]


def test_tensors_of_what_is_no_graph():
    with refuses(WrongType, "get_tensors(...)", "a tf.Graph"):
        ge.get_tensors("graph")


def test_control_outputs_follow_the_graph_and_its_edits():
    graph = tiny()
    y, z = (graph.get_operation_by_name(n) for n in "yz")
    held = ge.ControlOutputs(graph)
    assert (held.get(y), held.get_all(), held.graph) == ((), {}, graph)
    with graph.as_default(), tf1.control_dependencies([y]):
        late = tf.no_op("late")
    assert held.update().get(y) == [late]
    ge.add_control_inputs(late, z)
    assert held.get(z) == ()
    assert held.update().get(z) == [late]
    ge.remove_control_inputs(late, [y, z])
    assert held.update().get_all() == {}
    with refuses(WrongType, "ControlOutputs(...)", "a tf.Graph"):
        ge.ControlOutputs(y)


def test_names_of_placeholders():
    graph = tf.Graph()
    with graph.as_default(), tf1.name_scope("foo"):
        t = tf.constant(1.0, name="b")
        ph = tf1.placeholder(tf.float32, name="geph__c_0")
    assert ge.placeholder_name(t) == "foo/geph__b_0"
    assert ge.placeholder_name(t, "x/y/") == "x/y/geph__b_0"
    assert ge.placeholder_name(ph) == "foo/geph__c_0"
    assert ge.placeholder_name(t, "", prefix="tmp") == "tmp__b_0"
    assert ge.placeholder_name(scope="s") == "s/geph"
    with refuses(WrongType, "a tf.Tensor"):
        ge.placeholder_name("b")


def test_placeholders_are_made_in_the_graph_and_scope_at_hand():
    graph, other = tiny(), tf.Graph()
    x = graph.get_tensor_by_name("x:0")
    assert ge.make_placeholder_from_tensor(x).graph is graph
    with other.as_default(), tf1.name_scope("at"):
        made = ge.make_placeholder_from_tensor(x, scope="s")
        plain = ge.ph(tf.int32, [2], scope="s")
    assert (made.name, made.graph, made.dtype) == ("at/s/geph__x_0:0", other, tf.float32)
    assert made.shape.as_list() == [None, 2]
    assert (plain.name, plain.shape, plain.dtype) == ("at/s/geph:0", [2], tf.int32)


def test_names_of_collections_that_tensorflow_knows():
    names = ge.get_predefined_collection_names()
    assert {"variables", "trainable_variables", "losses", "while_context"} <= set(names)


def test_corresponding_elements_in_trees():
    one, two = tiny(), tiny()
    found = ge.find_corresponding({"k": [one.get_operation_by_name("y")]}, two)
    assert found["k"][0] is two.get_operation_by_name("y")
    with refuses(WrongType, "find_corresponding(3)", "a tf.Tensor or a tf.Operation"):
        ge.find_corresponding(3, two)
    with refuses(NotFound, "no 's/y:0'"):
        ge.find_corresponding_elem(one.get_tensor_by_name("y:0"), two, "s")
    with pytest.raises(KeyError, match="the graph has no"):
        ge.find_corresponding(one.get_tensor_by_name("y:0"), two, "s")
