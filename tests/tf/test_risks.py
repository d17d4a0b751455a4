"""What reaches out of a graph is found: in ops, calls, branches, datasets; ops that act only on request are listed."""

from __future__ import annotations

import pytest

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.security import Risk, Risks, risks
from graphsurgeon.graph.variables import CollectionEntry, GraphState, VariableInfo
from tests.tf2 import tf1


def text(graph_def, name, *values):
    node = graph_def.node.add(name=name, op="Const")
    node.attr["dtype"].type = 7
    node.attr["value"].tensor.dtype = 7
    node.attr["value"].tensor.string_val.extend(value.encode() for value in values)
    return name


def snapshot(graph_def, **about):
    functions = {f.signature.name: f for f in graph_def.library.function}
    return Graph.from_nodes(graph_def.node, functions_of=lambda: functions, **about)


def function(graph_def, name, arguments=(), nodes=()):
    made = graph_def.library.function.add()
    made.signature.name = name
    for argument in arguments:
        made.signature.input_arg.add(name=argument, type=7)
    for op, kind, inputs in nodes:
        made.node_def.add(name=op, op=kind, input=inputs)
    return made


def call(graph_def, name, kind, inputs=(), **functions):
    node = graph_def.node.add(name=name, op=kind, input=inputs)
    for key, value in functions.items():
        if isinstance(value, str):
            node.attr[key].func.name = value
        else:
            for one in value:
                node.attr[key].list.func.add(name=one)
    return node


def test_a_plain_graph_is_clean():
    found = risks(Graph.from_ops([("x", "Placeholder", []), ("y", "Neg", ["x"])], title="net"))
    assert (len(found), bool(found), found.summary) == (0, False, "")
    assert str(found) == "net: clean"


def test_paths_are_followed_back_to_what_says_them():
    graph_def = tf1.GraphDef()
    text(graph_def, "dir", "/etc/")
    text(graph_def, "leaf", "passwd")
    graph_def.node.add(name="path", op="StringJoin", input=["dir", "leaf"])
    graph_def.node.add(name="same", op="Identity", input=["path"])
    graph_def.node.add(name="read", op="ReadFile", input=["same", "^dir"])
    (one,) = risks(snapshot(graph_def))
    assert one == Risk("read", "ReadFile", "reads files", "reads a whole file", "/etc/")


def test_a_path_that_whoever_runs_it_feeds_is_no_risk():
    graph_def = tf1.GraphDef()
    graph_def.node.add(name="p", op="Placeholder")
    graph_def.node.add(name="read", op="ReadFile", input=["p"])
    found = risks(snapshot(graph_def))
    assert not found
    assert [(one.op, one.harmless) for one in found.harmless] == [("read", "you give the path when you run it")]
    graph_def.node.add(name="default", op="PlaceholderWithDefault", input=[text(graph_def, "d", "/etc/passwd")])
    graph_def.node.add(name="read2", op="ReadFile", input=["default"])
    assert [one.op for one in risks(snapshot(graph_def))] == ["read2"]


def saver(graph_def, name="model", added="_temp_0123456789abcdef/part"):
    graph_def.node.add(name="save/filename", op="PlaceholderWithDefault", input=[text(graph_def, "save/f/input", name)])
    graph_def.node.add(name="save/Const", op="PlaceholderWithDefault", input=["save/filename"])
    join = [*("save/Const", text(graph_def, "save/temp", added))]
    graph_def.node.add(name="save/StringJoin", op="StringJoin", input=join)
    graph_def.node.add(name="save/SaveV2", op="SaveV2", input=["save/StringJoin"])
    graph_def.node.add(name="save/RestoreV2", op="RestoreV2", input=["save/Const"])
    graph_def.node.add(name="all", op="NoOp", input=["^save/RestoreV2"])


def test_a_saver_is_no_risk():
    graph_def = tf1.GraphDef()
    saver(graph_def)
    found = risks(snapshot(graph_def), {"all": "restore op"})
    assert not found
    assert {one.harmless for one in found.harmless} == {"you give the path when you save or restore"}
    assert [one.load for one in found.harmless if one.type == "RestoreV2"] == ["restore op 'all'"]


@pytest.mark.parametrize("name", ["/etc/profile", "../model", "sitecustomize.py"])
def test_a_saver_with_a_path_of_its_own_is_one(name):
    graph_def = tf1.GraphDef()
    saver(graph_def, name)
    assert [one.path for one in risks(snapshot(graph_def))] == [name, name]


def test_a_saver_that_leads_its_path_elsewhere_is_one():
    graph_def = tf1.GraphDef()
    saver(graph_def, added="/../../../etc/x")
    assert [one.type for one in risks(snapshot(graph_def))] == ["SaveV2"]


def test_a_saver_that_runs_at_load_is_one():
    graph_def = tf1.GraphDef()
    saver(graph_def)
    graph_def.node.add(name="init", op="NoOp", input=["^save/SaveV2"])
    (one,) = risks(snapshot(graph_def), {"init": "main op"})
    assert (one.type, one.load) == ("SaveV2", "main op 'init'")
    assert str(one).endswith("'model'; runs at load, by main op 'init'")


@pytest.mark.parametrize("by", ["a table", "a variable"])
def test_what_initializers_run_runs_at_load(by):
    graph_def = tf1.GraphDef()
    graph_def.node.add(name="w", op="WriteFile", input=[text(graph_def, "p", "/tmp/x"), "p"])
    graph_def.node.add(name="init", op="NoOp", input=["^w"])
    state = GraphState(collections={"table_initializer": (CollectionEntry("op", "init"),)})
    if by == "a variable":
        state = GraphState({"p": VariableInfo("p", initializer="init")})
    (one,) = risks(snapshot(graph_def, state_of=lambda: state))
    assert one.load == f"an initializer of {by}"


@pytest.mark.parametrize(
    ("kind", "attributes", "name"),
    [
        ("StatefulPartitionedCall", {"f": "bad"}, "c/w"),
        ("bad", {}, "c/w"),
        ("If", {"else_branch": "good", "then_branch": "bad"}, "c/then_branch/w"),
        ("Case", {"branches": ["good", "bad"]}, "c/branches_1/w"),
        ("While", {"body": "bad", "cond": "good"}, "c/body/w"),
        ("MapDataset", {"f": "bad"}, "c/f/w"),
        ("SymbolicGradient", {"f": "outer"}, "c/f/inner/w"),
    ],
)
def test_what_is_hidden_in_functions_is_found(kind, attributes, name):
    graph_def = tf1.GraphDef()
    function(graph_def, "good", nodes=[("n", "NoOp", [])])
    function(graph_def, "bad", ["path"], [("w", "WriteFile", ["path", "path"])])
    outer = function(graph_def, "outer", nodes=[("inner", "PartitionedCall", [])])
    outer.node_def[0].attr["f"].func.name = "bad"
    graph_def.node.add(name="x", op="QueueDequeueV2")
    call(graph_def, "c", kind, ["x"], **attributes)
    graph_def.node.add(name="init", op="NoOp", input=["^c"])
    (one,) = risks(snapshot(graph_def), {"init": "init op"})
    assert (one.op, one.load) == (name, "init op 'init'")


def test_a_path_is_followed_through_calls():
    graph_def = tf1.GraphDef()
    function(graph_def, "inner", ["a"], [("r", "ReadFile", ["a"])])
    function(graph_def, "outer", ["b", "c"], [("k", "inner", ["c"])])
    call(graph_def, "call", "PartitionedCall", ["feed", "path"], f="outer")
    graph_def.node.add(name="feed", op="Placeholder")
    text(graph_def, "path", "/etc/passwd")
    (one,) = risks(snapshot(graph_def))
    assert (one.op, one.path) == ("call/k/r", "/etc/passwd")
    graph_def.node[0].input[1] = "feed"
    assert not risks(snapshot(graph_def))


def test_a_loop_may_change_the_path_that_it_is_given():
    graph_def = tf1.GraphDef()
    function(graph_def, "body", ["a"], [("r", "ReadFile", ["a"])])
    graph_def.node.add(name="feed", op="Placeholder")
    call(graph_def, "loop", "While", ["feed"], body="body", cond="none")
    assert len(risks(snapshot(graph_def))) == 1


def test_functions_that_nothing_calls_count_where_the_whole_is_asked_for():
    graph_def = tf1.GraphDef()
    function(graph_def, "bad", nodes=[("e", "Abort", [])])
    function(graph_def, "caller", nodes=[("c", "bad", [])])
    graph_def.node.add(name="x", op="NoOp")
    assert not risks(snapshot(graph_def))
    assert [one.op for one in risks(snapshot(graph_def), all_functions=True)] == ["bad/e"]


def test_functions_that_call_each_other_end():
    graph_def = tf1.GraphDef()
    function(graph_def, "a", ["p"], [("b", "b", ["p"]), ("r", "ReadFile", ["p"])])
    function(graph_def, "b", ["p"], [("a", "a", ["p"])])
    call(graph_def, "c", "a", [text(graph_def, "path", "/x")])
    (one,) = risks(snapshot(graph_def))
    assert one.path == "/x"


def test_assets_of_the_file_are_read_freely_and_not_written():
    graph_def = tf1.GraphDef()
    path = text(graph_def, "a", "/model/assets/vocab.txt")
    graph_def.node.add(name="t", op="HashTableV2")
    graph_def.node.add(name="fill", op="InitializeTableFromTextFileV2", input=["t", path])
    graph_def.node.add(name="w", op="WriteFile", input=[path, path])
    found = risks(snapshot(graph_def), {"fill": "init op"}, {"/model/assets/vocab.txt"})
    assert [one.op for one in found] == ["w"]
    assert [(one.op, one.harmless) for one in found.harmless] == [("fill", "a file of the model")]
    assert len(risks(snapshot(graph_def))) == 2


def attribute(kind, **given):
    graph_def = tf1.GraphDef()
    node = graph_def.node.add(name="n", op=kind)
    for key, value in given.items():
        if isinstance(value, str):
            node.attr[key].s = value.encode()
        else:
            node.attr[key].list.s.extend(one.encode() for one in value)
    return [(one.kind, one.path) for one in risks(snapshot(graph_def))]


def test_paths_in_attributes():
    assert attribute("PrintV2", output_stream="file:///tmp/x") == [("writes files", "file:///tmp/x")]
    assert attribute("PrintV2", output_stream="stderr") == attribute("PrintV2") == []
    assert attribute("DebugIdentityV3", debug_urls=["file:///tmp/x"]) == [("writes files", "file:///tmp/x")]
    assert attribute("DebugIdentity", debug_urls=["grpc://host:1"]) == [("opens the network", "grpc://host:1")]
    assert attribute("DebugIdentity") == []
    assert attribute("DecodeProtoV2", descriptor_source="local://") == []
    assert attribute("DecodeProtoV2", descriptor_source="/etc/x") == [("reads files", "/etc/x")]
    assert attribute("FixedUnigramCandidateSampler", vocab_file="") == []
    assert attribute("PyFunc", token="pyfunc_0") == [("calls Python", "pyfunc_0")]


def test_a_cache_in_memory_is_no_risk():
    graph_def = tf1.GraphDef()
    graph_def.node.add(name="c", op="CacheDataset", input=["d", text(graph_def, "none", "")])
    graph_def.node.add(name="d", op="RangeDataset")
    assert not risks(snapshot(graph_def))


def test_a_constant_that_hides_its_text_is_a_risk():
    graph_def = tf1.GraphDef()
    graph_def.node.add(name="p", op="Const").attr["value"].tensor.tensor_content = b"\x0b/etc/passwd"
    graph_def.node.add(name="c", op="CacheDataset", input=["p", "p"])
    (one,) = risks(snapshot(graph_def))
    assert one.path == ""


def test_what_is_printed():
    items = [Risk("w", "WriteFile", "writes files", "writes its text to a file", "x" * 200)]
    items += [Risk("r", "ReadFile", "reads files", "reads a whole file", load="init op 'i'")]
    found = Risks("net", tuple(items), (Risk("s", "SaveV2", "writes files", "writes", harmless="fed"),), ("Own>Op",))
    assert str(found).splitlines() == [
        "net: 2 ops reach out of it",
        f"  writes files  'w' (WriteFile) writes its text to a file: '{'x' * 80}…'",
        "  reads files   'r' (ReadFile) reads a whole file; runs at load, by init op 'i'",
        "  1 op more that does only what you request:",
        "  writes files  's' (SaveV2) writes; fed",
        "  needs a library that is not loaded here, which may do anything: Own>Op",
    ]
    assert found.summary == "2 ops that write files or read files, 'w' (WriteFile), 'r' (ReadFile)"
    assert found.table()[1]["load"] == "init op 'i'"


@pytest.mark.parametrize(("source", "reads"), [("bytes://abc", 0), ("local://", 0), ("", 0), ("/etc/passwd", 1)])
def test_descriptions_inside_of_the_graph_are_no_files(source, reads):
    graph_def = tf1.GraphDef()
    node = graph_def.node.add(name="e", op="EncodeProto", input=[text(graph_def, "s", "0")])
    node.attr["descriptor_source"].s = source.encode()
    assert len(risks(snapshot(graph_def))) == reads
