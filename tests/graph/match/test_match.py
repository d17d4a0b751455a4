"""Match: against a search that tries everything, and on large graphs made to be hard."""

from __future__ import annotations

import random
import sys
from itertools import permutations, product
from typing import Any

import pytest

from graphsurgeon.errors import SelectionError
from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.pattern import COMMUTATIVE, Pattern
from graphsurgeon.graph.pattern_match import Matches, match
from graphsurgeon.graph.selection import select
from tests.cost import lines
from tests.graph.test_diff import nodes
from tests.plain import net, plain
from tests.refusal import refuses

X = ("x", "Placeholder", [])
Y = ("y", "Placeholder", [])


def pattern(*ops: Any, **about: Any) -> Pattern:
    return Pattern.from_graph(plain(*ops, title="small"), **about)


def everything(graph: Graph, wanted: Pattern) -> set[frozenset[int]]:
    """Returns the op sets of all matches, by trying every map."""
    small, ops = wanted.graph, wanted.numbers
    found = set()
    fits = [[i for i in range(graph.size) if graph.types[i] in wanted.accepted_types(p)] for p in ops]
    for choice in product(*fits):
        if len(set(choice)) < len(ops):
            continue
        image = dict(zip(ops, choice, strict=True))
        control = [(p, int(q)) for p in ops for q in small.control.row(p) if q in image]
        if any(image[q] not in graph.control.row(image[p]).tolist() for p, q in control):
            continue
        orders = []
        for p in ops:
            have = reads(graph, image[p])
            free = len(have) > 1 and wanted.accepted_types(p) <= COMMUTATIVE
            orders.append(list(permutations(have)) if free else [tuple(have)])
        if any(laid(small, ops, image, order) for order in product(*orders)):
            found.add(frozenset(choice))
    return found


def reads(graph: Graph, op: int) -> list[tuple[int, int]]:
    row = slice(graph.data.ptr[op], graph.data.ptr[op + 1])
    return list(zip(graph.data.node[row].tolist(), graph.data.port[row].tolist(), strict=True))


def laid(small: Graph, ops: list[int], image: dict[int, int], order: Any) -> bool:
    bound: dict[Any, Any] = {}
    for p, have in zip(ops, order, strict=True):
        want = reads(small, p)
        if len(want) != len(have):
            return False
        for tensor, real in zip(want, have, strict=True):
            if tensor[0] in image:
                if (image[tensor[0]], tensor[1]) != real:
                    return False
            elif bound.setdefault(tensor, real) != real or real[0] in image.values():
                return False
    return True


def random_ops(rng: random.Random, count: int, lead: str, kinds: list[str]) -> list[Any]:
    ops: list[Any] = [(f"{lead}0", "Placeholder", []), (f"{lead}1", "Placeholder", [])]
    for i in range(2, count):
        kind = rng.choice(kinds)
        wide = {"Neg": 1, "Split": 1, "Add": 2, "Sub": 2, "AddN": 3}[kind]
        ins = []
        for _ in range(wide):
            source = ops[rng.randrange(max(0, i - 5), i)]
            ins.append(f"{source[0]}:{rng.randrange(2)}" if source[1] == "Split" else source[0])
        ops.append((f"{lead}{i}", kind, ins + ([f"^{lead}{rng.randrange(i)}"] if rng.random() < 0.15 else [])))
    return ops


@pytest.mark.parametrize("seed", range(60))
def test_the_same_as_trying_everything(seed):
    rng = random.Random(seed)
    kinds = rng.choice([["Neg", "Add", "Sub", "Split"], ["Add", "AddN"], ["Neg", "Add"]])
    g = Graph.from_ops(random_ops(rng, 16, "g", kinds))
    wanted, whole = None, None
    while wanted is None or len(wanted.numbers) > 4:
        whole = Graph.from_ops(random_ops(rng, rng.randrange(3, 7), "p", kinds))
        end = rng.randrange(2, whole.size)
        try:
            wanted = Pattern.from_graph(whole, outputs=[whole.names[end]])
        except SelectionError:
            wanted = None
    found = match(g, wanted, overlapping=True)
    sets = [frozenset(m.numbers) for m in found]
    assert len(set(sets)) == len(sets)
    assert set(sets) == everything(g, wanted)
    assert found.unfinished_searches == 0
    single = match(g, wanted)
    assert bool(single) == bool(found)
    assert len({i for m in single for i in m.numbers}) == sum(len(m.numbers) for m in single)
    assert (single.best_partial is None) == bool(single)


@pytest.mark.parametrize("seed", range(20))
def test_a_part_of_a_graph_is_found_where_it_was_taken_from(seed):
    rng = random.Random(seed)
    g = Graph.from_ops(random_ops(rng, 60, "g", ["Neg", "Add", "Sub", "Split", "AddN"]))
    end = rng.randrange(20, 60)
    near = [g.names[end]]
    for name in near[:6]:
        near += [t.rpartition(":")[0] for t in g.input_names(g.index[name])]
    part = select(g, name=list(dict.fromkeys(n for n in near if g.types[g.index[n]] != "Placeholder")))
    found = match(g, Pattern.from_selection(part), overlapping=True)
    assert part.numbers in [m.numbers for m in found]


def test_names_of_ops_inputs_and_outputs():
    g = net()
    wanted = pattern(X, Y, ("m", "MatMul", ["x", "y"]), ("d", "Mul", ["m", "z"]), ("z", "Placeholder", []))
    found = match(g, wanted)
    assert found[0].ops == {"m": "net/mm", "d": "net/drop"}
    assert found[0].inputs == {"x": "x:0", "y": "net/w/read:0", "z": "rate:0"}
    assert found[0].outputs == {"d": "net/drop:0"}
    assert found.table() == [{"m": "net/mm", "d": "net/drop"}]
    assert found.selection.names == found[0].selection.names == ["net/mm", "net/drop"]
    assert found[0:1] == (found[0],)
    assert str(found).splitlines()[1:] == [
        "  m = net/mm, d = net/drop", "    x is x:0", "    y is net/w/read:0", "    z is rate:0",
        "    warning: net/mm:0 is read by parts, input 0, too",
    ]  # fmt: skip


def test_readers_of_inner_tensors_are_reported():
    g = net()
    wanted = (X, Y, ("z", "Placeholder", []), ("m", "MatMul", ["x", "y"]), ("d", "Mul", ["m", "z"]))
    assert match(g, pattern(*wanted))[0].external_consumers == (("net/mm:0", "parts", 0),)
    assert match(g, pattern(*wanted, outputs=["m", "d"]))[0].external_consumers == ()


def test_control_edges_are_respected_and_those_from_outside_reported():
    g = plain(X, ("a", "Neg", ["x"]), ("w", "NoOp", ["^a"]), ("b", "Exp", ["a", "^w"]), ("late", "NoOp", ["^b"]))
    plain_edges = pattern(X, ("p", "Neg", ["x"]), ("q", "Exp", ["p"]))
    one = match(g, plain_edges)[0]
    assert one.control_inputs == (("b", "w"),)
    assert one.control_outputs == (("a", "w"), ("b", "late"))
    assert "warning: b waits for w" in str(one)
    assert "warning: late waits for b" in str(one)
    held = pattern(X, ("p", "Neg", ["x"]), ("n", "NoOp", ["^p"]), ("q", "Exp", ["p", "^n"]))
    assert match(g, held)[0].ops == {"p": "a", "n": "w", "q": "b"}
    direct = match(g, pattern(X, ("p", "Neg", ["x"]), ("q", "Exp", ["p", "^p"])))
    assert not direct
    assert (
        str(direct.best_partial)
        == "2 of 2 ops fit, and the search stopped at 'q': 'b' (Exp) does not wait for 'a' (Neg)"
    )


def test_a_reader_is_reached_by_a_control_edge_alone():
    g = plain(X, ("a", "Neg", ["x"]), ("w", "NoOp", ["^a"]), ("v", "NoOp", ["^x"]))
    small = plain(X, ("p", "Neg", ["x"]), ("n", "NoOp", ["^p"]))
    found = match(g, Pattern.from_graph(small, outputs=["p:0", "n"]))
    assert [m.ops for m in found] == [{"p": "a", "n": "w"}]
    assert found[0].outputs == {"p": "a:0", "n": "w"}


def test_inputs_of_sums_stand_in_any_order():
    g = plain(X, Y, ("e", "Exp", ["x"]), ("s", "AddV2", ["y", "e"]), ("n", "AddN", ["x", "e", "s"]))
    wanted = pattern(X, Y, ("p", "Exp", ["x"]), ("q", "AddV2", ["p", "y"]))
    assert match(g, wanted)[0].inputs == {"x": "x:0", "y": "y:0"}
    assert not match(g, pattern(X, Y, ("p", "Exp", ["x"]), ("q", "Sub", ["p", "y"])))
    three = pattern(X, Y, ("p", "Exp", ["x"]), ("q", "AddN", ["p", "y", "x"]))
    assert match(g, three)[0].inputs == {"x": "x:0", "y": "s:0"}


def test_texts_are_joined_in_order():
    g = plain(X, ("e", "AsString", ["x"]), ("s", "Add", ["x", "e"]), outputs={"s": [("string", ())]})
    assert match(g, pattern(X, Y, ("p", "AsString", ["x"]), ("q", "Add", ["y", "p"])))
    assert not match(g, pattern(X, Y, ("p", "AsString", ["x"]), ("q", "Add", ["p", "y"])))


def test_one_input_is_the_same_tensor_wherever_it_is_read():
    g = plain(X, Y, ("a", "Sub", ["x", "y"]), ("b", "Sub", ["x", "x"]))
    assert [m.names for m in match(g, pattern(X, ("p", "Sub", ["x", "x"])))] == [["b"]]
    no = match(plain(X, Y, ("a", "Sub", ["x", "y"])), pattern(X, ("p", "Sub", ["x", "x"])))
    assert "input 1 of 'a' (Sub) reads 'y:0', not 'x:0' as before" in str(no.best_partial)


def test_branches_that_share_an_input_are_one_pattern():
    g = plain(X, Y, ("a", "MatMul", ["x", "y"]), ("b", "Conv2D", ["x", "y"]), ("c", "Conv2D", ["y", "y"]))
    wanted = pattern(X, Y, ("z", "Placeholder", []), ("p", "MatMul", ["x", "y"]), ("q", "Conv2D", ["x", "z"]))
    assert [m.ops for m in match(g, wanted)] == [{"p": "a", "q": "b"}]


def test_an_input_is_not_computed_by_the_match_itself():
    g = plain(X, ("a", "Neg", ["x"]), ("b", "Mul", ["a", "a"]))
    no = match(g, pattern(X, Y, ("p", "Neg", ["x"]), ("q", "Mul", ["p", "y"])))
    assert not no
    assert "reads 'a:0', which the match computes itself" in str(no.best_partial)


def test_an_input_is_not_an_op_of_the_match_that_is_found_later():
    g = plain(X, ("e", "Exp", ["x"]), ("n", "Neg", ["e"]), ("a", "Sub", ["n", "e"]))
    small = [X, Y, ("p", "Neg", ["x"]), ("q", "Exp", ["y"]), ("r", "Sub", ["p", "q"])]
    assert not match(g, pattern(*small))
    apart = plain(X, ("e", "Exp", ["x"]), ("f", "Exp", ["x"]), ("n", "Neg", ["e"]), ("a", "Sub", ["n", "f"]))
    assert match(apart, pattern(*small))[0].names == ["f", "n", "a"]


def test_two_ops_of_the_pattern_are_two_ops_of_the_graph():
    wanted = pattern(X, ("p", "Neg", ["x"]), ("q", "Neg", ["x"]), ("r", "Sub", ["p", "q"]))
    no = match(plain(X, ("n", "Neg", ["x"]), ("s", "Sub", ["n", "n"])), wanted)
    assert not no
    assert "'n' (Neg) already matches another op of the pattern" in str(no.best_partial)
    assert match(plain(X, ("n", "Neg", ["x"]), ("m", "Neg", ["x"]), ("s", "Sub", ["n", "m"])), wanted)


def test_one_op_of_the_pattern_is_one_op_of_the_graph():
    wanted = pattern(X, ("n", "Neg", ["x"]), ("p", "Exp", ["n"]), ("q", "Log", ["n"]), ("r", "Sub", ["p", "q"]))
    ops = [X, ("n", "Neg", ["x"]), ("m", "Neg", ["x"]), ("e", "Exp", ["n"])]
    assert match(plain(*ops, ("l", "Log", ["n"]), ("s", "Sub", ["e", "l"])), wanted)
    no = match(plain(*ops, ("l", "Log", ["m"]), ("s", "Sub", ["e", "l"])), wanted)
    assert not no
    assert "input 0 of 'l' (Log) reads 'm:0', not 'n'" in str(no.best_partial)


def test_what_one_match_has_is_not_part_of_the_next():
    g = plain(X, ("n", "Neg", ["x"]), ("e", "Exp", ["n"]), ("f", "Exp", ["n"]))
    small = plain(("q", "Exp", ["p"]), ("p", "Neg", ["x"]), X)
    assert [m.names for m in match(g, Pattern.from_graph(small))] == [["n", "e"]]
    assert len(match(g, Pattern.from_graph(small), overlapping=True)) == 2


def test_matches_do_not_overlap_unless_asked():
    g = plain(X, *((f"n{i}", "Neg", [f"n{i - 1}" if i else "x"]) for i in range(5)))
    two = pattern(X, ("p", "Neg", ["x"]), ("q", "Neg", ["p"]))
    assert [m.names for m in match(g, two)] == [["n0", "n1"], ["n2", "n3"]]
    assert len(match(g, two, overlapping=True)) == 4


def test_constants_are_shared_between_matches():
    g = plain(X, ("c", "Const", []), *((f"m{i}", "Mul", ["x", "c"]) for i in range(4)))
    found = match(g, pattern(X, ("k", "Const", []), ("p", "Mul", ["k", "x"])))
    assert [m.ops["p"] for m in found] == ["m0", "m1", "m2", "m3"]
    assert found[0].external_consumers == ()


def test_constants_are_any_equal_or_inputs():
    def scaled(value: int, kind: str = "Const") -> Graph:
        return nodes(("x", "Placeholder", []), ("c", kind, [], {"value": value}), ("m", "Mul", ["x", "c"]))

    assert match(scaled(3), Pattern.from_graph(scaled(2)))
    assert match(scaled(2), Pattern.from_graph(scaled(2), constants="equal"))
    no = match(scaled(3), Pattern.from_graph(scaled(2), constants="equal"))
    assert "'c' (Const) does not fit: its attribute 'value' has another value" in str(no.best_partial)
    assert not match(scaled(2, "VariableV2"), Pattern.from_graph(scaled(2)))
    assert match(scaled(2, "VariableV2"), Pattern.from_graph(scaled(2), constants="input"))
    assert Pattern.from_selection(select(scaled(2)), constants="input").graph.size == 3


def test_attributes_of_the_pattern_are_compared_where_asked():
    def conv(stride: int) -> Graph:
        return nodes(("x", "Placeholder", []), ("c", "Conv2D", ["x", "x"], {"strides": stride, "pad": 1}))

    assert match(conv(2), Pattern.from_graph(conv(1)))
    assert match(conv(2), Pattern.from_graph(conv(1), attributes=["pad"]))
    assert not match(conv(2), Pattern.from_graph(conv(1), attributes="strides"))
    assert not match(conv(2), Pattern.from_selection(select(conv(1), op="Conv2D"), attributes="all"))


def test_conditions():
    def check(words: str, **conditions: Any) -> None:
        found = match(g, wanted.where("q", **conditions))
        assert not found
        assert words in str(found.best_partial), str(found.best_partial)

    g = net()
    wanted = pattern(X, Y, ("q", "MatMul", ["x", "y"]))
    assert match(g, wanted.where("q", dtype="float32", shape=(None, 3), test=lambda op: op.name == "net/mm"))
    assert match(g, wanted.where("q", dtype=[None]))
    check("its output 0 is float32, not float64", dtype="float64")
    check("its output 1 is nothing, not float32", dtype=["float32", "float32"])
    check("its shape is (?, 3), not (?, 4)", shape=(None, 4))
    check("its shape is (?, 3), not (3,)", shape=(3,))
    check("the given test returns false for it", test=lambda op: op.name == "other")
    check("its attribute 'transpose_a' is not True", attributes={"transpose_a": True})
    check("net has no BatchMatMul", type="BatchMatMul")
    assert match(g, wanted.where("q", type=["BatchMatMul", "MatMul"]))
    assert match(g, wanted.where("q", dtype="float32").where("q", shape=[None, 3]))


def test_all_like_this():
    block = [("{0}/w", "VariableV2", []), ("{0}/mm", "MatMul", ["{1}", "{0}/w"]), ("{0}/act", "Relu", ["{0}/mm"])]
    ops = [X, *((n.format(i), t, [r.format(i, f"{i - 1}/act" if i else "x") for r in ins])
                for i in range(4) for n, t, ins in block)]  # fmt: skip
    g = plain(*ops)
    found = match(g, Pattern.from_selection(select(g, scope="1")))
    assert [m.names[0] for m in found] == ["0/w", "1/w", "2/w", "3/w"]
    assert found[2].inputs == {"0/act:0": "1/act:0"}
    assert found[2].outputs == {"1/act:0": "2/act:0"}
    assert [
        m.names[0] for m in match(g, Pattern.from_selection(select(g, scope="1")), within=select(g, scope="2"))
    ] == ["2/w"]
    last = Pattern.from_selection(select(g, name="3/act"))
    assert last.outputs == {"3/act:0": (g.index["3/act"], 0)}


@pytest.mark.parametrize(
    ("ops", "said"),
    [
        ([("p", "Softmax", ["x"])], "nothing fits: net has no Softmax"),
        ([("p", "Tanh", ["x"]), ("q", "Relu", ["p"])],
         "1 of 2 ops fits, and the search stopped at 'p': 'net/drop' (Mul) is not of type Tanh"),
        ([("p", "MatMul", ["x", "x"]), ("q", "Sigmoid", ["p"])], "input 1 of 'net/mm' (MatMul) reads 'net/w/read:0'"),
        ([("p", "Mul", ["x", "r"]), ("r", "Relu", ["x"]), ("q", "Unpack", ["r"])], "no op reads 'out:0'"),
        ([("p", "MatMul", ["x", "y"]), ("q", "Unpack", ["p:1"])], "reads output 0 of its source, not 1"),
        ([("p", "Relu", ["x", "y"])], "'out' has too few inputs"),
        ([("q", "Relu", ["x"]), ("p", "NoOp", ["^q"])], "no op waits for 'out'"),
        ([("q", "Mul", ["x", "y"]), ("n", "NoOp", []), ("p", "MatMul", ["x", "q", "^n"])], "is not of type Mul"),
    ],
)  # fmt: skip
def test_where_the_best_partial_match_stopped(ops, said):
    found = match(net(), pattern(X, Y, *ops))
    assert not found
    assert said in str(found.best_partial)
    assert str(found.best_partial) in str(found)
    assert str(found).startswith("no matches in net")


def test_outside_the_ops_to_look_in():
    g = net()
    wanted = pattern(X, Y, ("z", "Placeholder", []), ("m", "MatMul", ["x", "y"]), ("d", "Mul", ["m", "z"]))
    found = match(g, wanted, within=select(g, name="net/drop"))
    assert "'net/mm' (MatMul) is outside the ops to look in" in str(found.best_partial)
    assert "the ops to look in have no" in str(match(g, wanted, within=select(g, name="x")).best_partial)
    with refuses(SelectionError, "match(within=...)", "of another graph, other", "Select from net"):
        match(g, wanted, within=select(plain(X, title="other")))


def test_a_pattern_is_refused_that_looks_for_nothing_or_falls_apart():
    with refuses(SelectionError, "pattern", "it contains no op to look for", "outputs"):
        pattern(X)
    with refuses(SelectionError, "has 2 separate pieces", "'p' and 'q'", "one by one"):
        pattern(X, Y, ("p", "Neg", ["x"]), ("q", "Neg", ["y"]))
    with refuses(SelectionError, "pattern(constants='same')", "any, equal, input"):
        pattern(X, ("p", "Neg", ["x"]), constants="same")
    with refuses(SelectionError, "pattern(outputs='p')", "no op is called 'p'"):
        pattern(X, ("q", "Neg", ["x"]), outputs="p")
    with refuses(SelectionError, "pattern(inputs='q:3')", "has 1 output"):
        pattern(X, ("q", "Neg", ["x"]), inputs=["q:3"])
    with refuses(SelectionError, "where('r')", "no op is called 'r'"):
        pattern(X, ("q", "Neg", ["x"])).where("r")
    with refuses(SelectionError, "where('x')", "'x' is an input of the pattern", "'q'"):
        pattern(X, ("q", "Neg", ["x"])).where("x")


def cheap(g: Graph, wanted: Pattern) -> Matches:
    """Returns the matches of a search that decided everything, at a cost linear in the size of the graph."""
    found: list[Matches] = []
    count = lines(lambda: found.append(match(g, wanted)))
    print(f"{count / g.size:.0f} lines an op")
    assert count < 200 * g.size
    assert found[0].unfinished_searches == 0
    return found[0]


def long_chain(kinds: list[str], count: int, lead: str = "n") -> list[Any]:
    return [X, *((f"{lead}{i}", kinds[i % len(kinds)], [f"{lead}{i - 1}" if i else "x"]) for i in range(count))]


@pytest.fixture
def less_for_a_reason(monkeypatch):
    """What is spent on saying why nothing was found is the same for any graph: as these are small, it is little."""
    module = sys.modules[match.__module__]
    monkeypatch.setattr(module, "_MAX_PARTIAL_STEPS", module._MAX_PARTIAL_STEPS // 5)


@pytest.mark.deep
@pytest.mark.usefixtures("less_for_a_reason")
def test_chains_of_one_type():
    g = Graph.from_ops(long_chain(["Neg"], 20_000))
    twenty = pattern(*long_chain(["Neg"], 20, "p"))
    assert len(cheap(g, twenty)) == 1000
    ends = pattern(*long_chain(["Neg"], 19, "p"), ("e", "Exp", ["p18"]))
    assert not cheap(g, ends)
    tail = Graph.from_ops([*long_chain(["Neg"], 20_000), ("e", "Exp", ["n19999"])])
    assert len(cheap(tail, ends)) == 1


@pytest.mark.deep
@pytest.mark.usefixtures("less_for_a_reason")
def test_chains_that_are_one_too_short():
    g = Graph.from_ops(long_chain(["Exp", *["Neg"] * 18], 20_000))
    found = cheap(g, pattern(*long_chain(["Neg"], 19, "p")))
    assert "18 of 19 ops fit" in str(found.best_partial)
    assert len(cheap(g, pattern(*long_chain(["Neg"], 18, "p")))) == 1052


@pytest.mark.deep
def test_a_hub_that_everybody_reads():
    g = Graph.from_ops([X, *((f"n{i}", "Neg" if i % 2 else "Exp", ["x"]) for i in range(20_000))])
    wanted = pattern(X, ("p", "Neg", ["x"]), ("q", "Exp", ["x"]))
    assert len(cheap(g, wanted)) == 10_000
    alike = pattern(X, ("p", "Neg", ["x"]), ("q", "Neg", ["x"]))
    assert len(cheap(g, alike)) == 5_000


@pytest.mark.deep
@pytest.mark.usefixtures("less_for_a_reason")
def test_sums_of_sums():
    """Where both orders must be tried at each of fifteen ops, trying all is hopeless."""

    def tree(depth: int, lead: str, leaves: list[str]) -> list[Any]:
        ops, row = [], [leaves[i % len(leaves)] for i in range(2**depth)]
        for level in range(depth):
            row_now = [f"{lead}{level}_{i}" for i in range(len(row) // 2)]
            ops += [(name, "AddV2", [row[2 * i], row[2 * i + 1]]) for i, name in enumerate(row_now)]
            row = row_now
        return ops

    feeds = [(f"x{i}", "Placeholder", []) for i in range(16)]
    wanted = pattern(*feeds, *tree(4, "p", [f[0] for f in feeds]))
    g = Graph.from_ops([*feeds, *tree(14, "g", [f[0] for f in feeds])])
    assert len(cheap(g, wanted)) > 750
    square = [*feeds[:15], ("e", "Exp", ["x1"])]
    odd = pattern(*square, *tree(4, "p", [*[f[0] for f in feeds[:15]], "e"]))
    assert not cheap(g, odd)


@pytest.mark.deep
def test_blocks_in_a_deep_net():
    ops: list[Any] = [X]
    last = "x"
    for i in range(20_000):
        b = f"b{i}"
        ops += [(f"{b}/w", "Const", []), (f"{b}/c", "Const", []), (f"{b}/mm", "MatMul", [last, f"{b}/w"])]
        ops += [(f"{b}/add", "AddV2", [f"{b}/c", f"{b}/mm"])]
        ops += [(f"{b}/relu", "Relu" if i % 4 else "Tanh", [f"{b}/add"])]
        last = f"{b}/relu"
    g = Graph.from_ops(ops)
    wanted = pattern(X, ("w", "Const", []), ("c", "Const", []), ("m", "MatMul", ["x", "w"]),
                     ("a", "AddV2", ["m", "c"]), ("r", "Relu", ["a"]))  # fmt: skip
    assert len(cheap(g, wanted)) == 15_000


def test_a_search_that_takes_too_long_says_so():
    g = Graph.from_ops([*((f"x{i}", "Placeholder", []) for i in range(8)), ("s", "AddN", [f"x{i}" for i in range(8)]),
                  ("t", "AddN", ["s", *(f"x{i}" for i in range(7))])])  # fmt: skip
    feeds = [(f"x{i}", "Placeholder", []) for i in range(8)]
    wanted = pattern(*feeds, ("s", "AddN", [f"x{i}" for i in range(8)]), ("t", "AddN", ["s", *["x0"] * 7]))
    found = match(g, wanted, steps=50)
    assert (len(found), found.unfinished_searches) == (0, 1)
    assert "not decided at 1 op: the search took too many steps there" in str(found)


def test_what_comes_nearest_to_one_more():
    ops = [("x", "Placeholder", []), ("a", "Exp", ["x"]), ("b", "Log", ["a"])]
    g = Graph.from_ops([*ops, ("c", "Abs", ["x"]), ("d", "Log", ["c"])])
    small = Graph.from_ops([("v", "Placeholder", []), ("e", "Exp", ["v"]), ("l", "Log", ["e"])])
    found = match(g, Pattern.from_graph(small))
    assert found.best_partial is None
    assert str(found.nearest()) == "1 of 2 ops fits, and the search stopped at 'e': 'c' (Abs) is not of type Exp"
    # where no other op is of any type of the pattern, nothing comes near
    assert match(Graph.from_ops(ops), Pattern.from_graph(small)).nearest() is None
