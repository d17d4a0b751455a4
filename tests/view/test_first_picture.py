"""The first picture of every graph of the corpus can be read, by rules that a ruler can check."""

from __future__ import annotations

import re

import pytest

from graphsurgeon.graph.graph import Graph
from graphsurgeon.graph.open_graph import Ends, OpenedGraph
from graphsurgeon.tf.open.signature import signature_tensors, signatures
from graphsurgeon.view.boxes import LABEL, SUBLABEL, width
from graphsurgeon.view.first_picture import MOST, first_unfolded, pinned_ops
from graphsurgeon.view.layout import place
from graphsurgeon.view.scene import build
from graphsurgeon.view.svg import to_svg
from graphsurgeon.view.tree import Tree
from tests.corpus import corpus_cases
from tests.cost import lines
from tests.view.graphs import samples

BROKEN = {"tf_g2m_graph_malformed"}  # not even a protobuf
LAYERED = {"dl4j_bstack_bidir"}  # two cells that are alike, one after the other: one of them open would look like more
SMALLEST_TEXT = 11


@pytest.fixture(scope="module")
def read(corpus):
    """Returns a function from an item's id to a snapshot of its nodes and to the ends its signatures name."""

    def one(id):
        nodes, meta = corpus._reader.protos(id)
        names = () if meta is None else [one.name for one in signatures(meta)]
        pairs = {name: signature_tensors(meta, name) for name in names}
        served = {name: Ends(inputs=inputs, outputs=outputs) for name, (inputs, outputs) in pairs.items()}
        return Graph.from_nodes(nodes.node, title=id), OpenedGraph(other_signatures=served).ends

    return one


def sure_ends(corpus, id, graph, known):
    """Returns names of inputs and outputs that nobody would doubt: of the signatures, or fed and fetched in a test."""
    if any(known):
        return {name.partition(":")[0] for names in known for name in names}
    if not (corpus.root / "items" / id / "golden.npz").exists():
        return set()
    feeds, fetches = corpus.golden(id)
    names = {n.partition(":")[0] for n in feeds}
    read = {graph.names[i] for i in graph.data.node.tolist()}
    helpers = Tree(graph).helpers.kind
    ends = {n for n in {t.partition(":")[0] for t in fetches} - read if helpers[graph.index[n]] == 0}
    # what checks or trains is not an output of the model, even where a test of somebody's fetches it
    ends = {n for n in ends if not re.search("gradients/|assert", n, re.I)}
    return (names if len(names) <= MOST else set()) | (ends if len(ends) <= MOST else set())


@pytest.mark.parametrize("id", corpus_cases(lambda item: item["id"] not in BROKEN))
def test_first_picture(corpus, read, id):
    graph, known = read(id)
    tree, scenes = Tree(graph), []
    pins = pinned_ops(tree, known)
    cost = lines(lambda: scenes.append(build(tree, first_unfolded(tree, pins), pins=pins)))
    (scene,) = scenes
    picture = place(scene, timeout=200)
    core = int((tree.helpers.kind == 0).sum())
    boxes = {b.id: b for b in picture.boxes}
    assert cost < 200 * graph.size + 100_000
    assert picture.stats["degraded"] == ""

    # as many boxes as can be read, and each with its whole name
    assert len(boxes) <= 60
    assert len(boxes) >= min(6 if id in LAYERED else 8, core, graph.size)
    for box in boxes.values():
        assert all(box.w >= width(line, LABEL, bold=True) + 4 for line in box.lines), box.label
        assert box.w >= width(box.subtitle, SUBLABEL) + 4, box.subtitle
        assert "\u2026" not in box.label.replace(" \u2026 ", ""), f"{box.label!r} is cut"
    for frame in picture.groups:
        assert frame.w >= width(frame.label, LABEL, bold=True) + 10, frame.label
        assert "\u2026" not in frame.label.replace(" \u2026 ", ""), f"{frame.label!r} is cut"
    sizes = {float(size) for size in re.findall(r'font-size="([\d.]+)"', to_svg(picture.to_dict()))}
    assert not sizes or min(sizes) >= SMALLEST_TEXT

    # the model's inputs and outputs have boxes of their own
    for name in {graph.names[i] for i in pins} | sure_ends(corpus, id, graph, known):
        box = scene.boxes[scene.op_box[graph.index[name]]]
        series = box.kind == "series" and box.family != "scope"  # of ops that are alike: it names them all
        assert box.name == name or series, f"{name} is in {box.name}"

    # a shape that fits a screen, and nothing over anything else
    assert max(picture.w / picture.h, picture.h / picture.w) <= 4
    for i, a in enumerate(picture.boxes):
        for b in picture.boxes[:i]:
            assert a.x + a.w <= b.x or b.x + b.w <= a.x or a.y + a.h <= b.y or b.y + b.h <= a.y
    for edge in picture.edges:
        others = [b for b in picture.boxes if b.id not in (edge.source, edge.target)]
        for x, y in samples(picture, edge, 24):
            hit = next((b for b in others if b.x + 1 < x < b.x + b.w - 1 and b.y + 1 < y < b.y + b.h - 1), None)
            assert hit is None, f"{edge.tensor} runs through {hit.name!r}"


def test_what_a_function_captures_stays_folded():
    ops = [("x", "_Arg", []), ("unknown", "_Arg", []), *((f"unknown_{i}", "_Arg", []) for i in range(200))]
    ops += [("call", "PartitionedCall", [name for name, *_ in ops]), ("result", "_Retval", ["call"])]
    graph = Graph.from_ops(ops)
    scene = build(Tree(graph), first_unfolded(Tree(graph)))
    assert [b.name for b in scene.boxes] == ["x", "unknown", "~unknown_[0..199]", "call", "result"]


@pytest.mark.parametrize("follow", [True, False], ids=["layers", "towers"])
def test_layers_that_follow_each_other_open_and_towers_beside_each_other_do_not(follow):
    ops = [("x", "Placeholder", [])]
    for i in range(6):
        source = f"part_{i - 1}/op19" if follow and i else "x"
        ops += [(f"part_{i}/op{k}", "Neg", [f"part_{i}/op{k - 1}" if k else source]) for k in range(20)]
    ops.append(("head/sum", "AddN", [f"part_{i}/op19" for i in range(6)][5 if follow else 0 :]))
    ops += [(f"head/{name}", "Neg", [ops[-1][0]]) for name in "abcdefg"]
    tree = Tree(Graph.from_ops(ops))
    assert ("~part_[0..5]/" in first_unfolded(tree)) == follow
    assert ("head/" in first_unfolded(tree)) != follow
