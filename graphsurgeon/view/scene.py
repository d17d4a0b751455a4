"""The boxes, groups and edges of a picture before the layout."""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import LayoutError, counted
from ..graph.graph import DTYPES, Graph, Ints, shape_text
from . import page_types
from .boxes import Box, Edge, Group, Item, clean, edge_title, elide, frames
from .edge_paths import wires
from .helper_ops import KINDS
from .op_colors import COLORS, TELLING, UNKNOWN, family
from .plan_marks import EdgeKinds, Marks, mark, mark_edges, of_marks
from .tree import Tree

if TYPE_CHECKING:
    import graphviz


MAX_PARTS = 4
"""The maximum number of parts in the summary of a block; with more parts, equal parts are counted together."""
_LABEL_ATTRIBUTES = (
    (re.compile(r"_?(Fused)?DepthwiseConv.*"), "DepthwiseConv"),
    (re.compile(r"Conv\dDBackpropInput(V2)?"), "ConvTranspose"),
    (re.compile(r"_?(Fused)?Conv\dD"), "Conv"),
    (re.compile(r"_?(Fused)?(Batch|Sparse)?MatMul(V\d)?|Einsum"), "MatMul"),
    (re.compile(r"(Max|Avg)Pool(\dD)?(V2)?"), r"\1Pool"),
    (re.compile(r"Softmax"), "Softmax"),
    (re.compile(r"(Stateless)?While|LoopCond"), "loop"),
)
_SUMS = frozenset({"Add", "AddN", "AddV2"})


def gist(tree: Tree, item: Item) -> str:
    """Returns a summary of the ops of a block, in the order of the graph; empty if there is nothing to summarize.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> g = Graph.from_ops([("x", "Placeholder", []), ("c", "Conv2D", ["x"]), ("s", "AddV2", ["x", "c"])])
        >>> ops = [Item("op", g.names[i], g.names[i], i) for i in (1, 2)]
        >>> gist(Tree(g), Item("block", "~b/", "b", members=tuple(ops)))
        'Conv + residual'
    """
    graph = tree.graph
    words = [word for op in sorted(tree.ops_of(item).tolist()) if (word := _word(graph.types[op]))]
    runs = [(word, len(list(run))) for word, run in groupby(words)]
    if len(runs) > MAX_PARTS:
        runs = [(word, words.count(word)) for word in dict.fromkeys(words)]
    parts = [f"{word} ×{n}" if n > 1 else word for word, n in runs[:MAX_PARTS]]
    return "·".join(parts) + (" + residual" if parts and _residual(tree, item) else "")


def _word(op_type: str) -> str:
    for pattern, word in _LABEL_ATTRIBUTES:
        match = pattern.fullmatch(op_type)
        if match:
            return match.expand(word)
    return ""


def _residual(tree: Tree, item: Item) -> bool:
    """Returns whether an op of a block adds two tensors that both depend on the same input of the block."""
    graph, is_core = tree.graph, tree.helpers.kind == 0
    inside = set(tree.ops_of(item).tolist())
    sums = {one.op for one in item.flat() if one.kind == "op" and graph.types[one.op] in _SUMS}
    if not sums:
        return False
    entries: dict[int, int] = {}
    hang: dict[int, int] = {}  # for each op, the inputs it depends on, as bits
    for op in sorted(inside):
        bits = []
        for maker in graph.data.row(op).tolist():
            if maker in inside:
                bits.append(hang.get(maker, 0))
            elif is_core[maker]:
                bits.append(1 << entries.setdefault(maker, len(entries)))
        if op in sums and len(bits) == 2 and bits[0] & bits[1]:
            return True
        hang[op] = 0
        for some in bits:
            hang[op] |= some
    return False


MAX_BOXES = 400
"""The maximum number of boxes in a picture."""
_UNNAMED = re.compile(r"(Stateful)?PartitionedCall(_\d+)?")


@dataclass(frozen=True, eq=False)
class Scene:
    """The contents of a picture. `op_box` and `helped_box` have the index in `boxes` for each op, or -1."""

    rev: str
    boxes: list[Box]
    groups: list[Group]
    edges: list[Edge]
    stats: page_types.SceneStats
    op_box: Ints
    helped_box: Ints

    def boxes_of(self, ops: Any) -> Ints:
        """Returns for each op the number of its box; for a hidden op, that of the box it helps, or -1."""
        boxes: Ints = np.where(self.op_box[ops] >= 0, self.op_box[ops], self.helped_box[ops])
        return boxes

    def tensors_between(self, graph: Graph, source: str, target: str, control: bool) -> list[tuple[int, int]]:
        """Returns the tensors of an edge: the numbers of their ops, and their ports.

        Args:
            graph: the graph of the scene.
            source, target: the names of its boxes; without such a box, the edge has no tensors.
            control: whether it is a control edge.
        """
        number, edges = {box.name: i for i, box in enumerate(self.boxes)}, graph.control if control else graph.data
        there = (self.op_box[edges.node] == number.get(source, -2)) & (
            self.op_box[edges.rows] == number.get(target, -2)
        )
        return sorted(set(zip(edges.node[there].tolist(), edges.port[there].tolist(), strict=True)))

    def count_by_box(self, ops: Any) -> dict[str, int]:
        """Returns name of a box -> the number of these ops in it, in the order of the boxes."""
        at = self.boxes_of(ops)
        boxes, counts = np.unique(at[at >= 0], return_counts=True)
        return {self.boxes[i].name: n for i, n in zip(boxes.tolist(), counts.tolist(), strict=True)}


def build(
    tree: Tree,
    open_folds: Iterable[str] = frozenset(),
    marks: Marks | None = None,
    pins: Iterable[int] = (),
    kinds: EdgeKinds | None = None,
) -> Scene:
    """Returns the boxes, groups and edges to draw of a graph.

    Args:
        tree: the graph with its filters: ``Tree(graph, filters)``.
        open_folds: keys of the open folds: ``"a/b/"`` a scope, ``"~a/block_[0..11]/"`` a series,
            ``"a/b/+"`` the hidden ops in that scope (``"+"`` at the root).
        marks: op number -> new, orphan, removed, changed, shape or conflict.
        pins: ops that have a separate box even if the scope around them is folded.
        kinds: the kinds of the edges; None to derive them from the marks of ops.

    Raises:
        LayoutError: there would be more than 400 boxes.

    Example:
        >>> g = Graph.from_ops([("a/x", "Placeholder", []), ("a/y", "Neg", ["a/x"]), ("z", "Neg", ["a/y"])])
        >>> [(b.kind, b.label, b.subtitle) for b in build(Tree(g)).boxes]
        [('scope', 'a', '2 ops'), ('op', 'z', 'Neg')]
    """
    graph = tree.graph
    keys = frozenset(plain(k) for k in open_folds)
    boxes, groups, items = _walk(tree, keys)
    op_box = np.full(graph.size, -1, np.int32)
    for i, item in enumerate(items):
        op_box[item.op if item.one_op else tree.ops_of(item, helpers=False)] = i
    _pin(tree, pins, boxes, groups, items, op_box)
    helped_box, hidden, helpers = hidden_ops(tree, len(boxes), op_box)
    for i, counts in helpers.items():
        boxes[i].hidden = counts
    edges, undrawn = wires(graph, boxes, items, op_box)
    if undrawn:
        hidden["control edges"] = undrawn
    if marks:
        mark(marks, boxes, groups, op_box)
    if kinds is None and marks:
        kinds = of_marks(graph, marks)
    if kinds is not None:
        mark_edges(graph, kinds, boxes, edges, op_box)
    undone = sum(name in graph.index for name in tree.filters.hidden_orphans)
    stats: page_types.SceneStats = {
        "ops": graph.size - undone, "boxes": len(boxes), "edges": len(edges), "hidden": hidden, "degraded": "",
    }  # fmt: skip
    texts = [graph.fingerprint, str(tree.filters), *sorted(keys)]
    texts += [f"{k}={v}" for k, v in sorted((marks or {}).items())]
    rev = hashlib.blake2b("\n".join(texts).encode("utf-8", "surrogatepass"), digest_size=6)
    for kind in kinds or ():
        rev.update(kind.tobytes())
    return Scene(rev.hexdigest(), boxes, groups, edges, stats, op_box, helped_box)


def boxes_shown(tree: Tree, open_folds: Iterable[str]) -> int:
    """Returns the number of boxes that a picture would have.

    Args:
        tree: the graph.
        open_folds: keys of the open folds.

    Raises:
        LayoutError: there would be more than 400 boxes.

    Example:
        >>> g = Graph.from_ops([("a/x", "Placeholder", []), ("a/y", "Neg", ["a/x"]), ("z", "Neg", ["a/y"])])
        >>> boxes_shown(Tree(g), []), boxes_shown(Tree(g), ["a/"])
        (2, 3)
    """
    return len(_walk(tree, frozenset(map(plain, open_folds)))[0])


def _pin(
    tree: Tree, pins: Iterable[int], boxes: list[Box], groups: list[Group], items: list[Item], op_box: Ints
) -> None:
    """Takes ops out of their folds, unless a fold would become empty."""
    graph = tree.graph
    for op in pins:
        at = int(op_box[op])
        box = boxes[at] if at >= 0 else None
        if box is not None and (box.name == graph.names[op] or box.count < 2 or len(boxes) >= MAX_BOXES):
            continue
        if box is not None and items[at].alike and items[at].units()[0].one_op:
            continue  # a series of ops already shows their names
        group = box.group if box is not None else _frame(groups, graph.names[op])
        path = _path(groups, group)
        name = graph.names[op]
        label = name[len(path) :] if path and name.startswith(path) else name
        item = Item("op", name, label, op, leaf=label)
        boxes.append(boxed(tree, item, f"b{len(boxes)}", group))
        items.append(item)
        op_box[op] = len(boxes) - 1
        if box is not None:
            box.count -= 1
            if box.kind == "scope":
                box.subtitle = counted(box.count, "ops")


def _frame(groups: list[Group], name: str) -> int:
    """Returns the innermost open scope that an op of this name is in."""
    inside = [i for i, g in enumerate(groups) if not g.name.startswith("~") and name.startswith(g.name)]
    return max(inside, key=lambda i: len(groups[i].name), default=-1)


def _path(groups: list[Group], group: int) -> str:
    """Returns the common scope of the names inside a frame; for a series, the scope of the frame around it."""
    return next((groups[i].name for i in frames(groups, group) if not groups[i].name.startswith("~")), "")


def plain(key: str) -> str:
    """Returns a fold key for comparison: the key of a series loses the slash at its end."""
    return key.rstrip("/") if key.startswith("~") else key


def _walk(tree: Tree, keys: frozenset[str]) -> tuple[list[Box], list[Group], list[Item]]:
    """Lists boxes in reading order, and opens the folds of `keys`."""
    boxes: list[Box] = []
    groups: list[Group] = []
    items: list[Item] = []
    stack = [(item, -1) for item in reversed(tree.inside(tree.root, "+" in keys))]
    total = len(stack)
    while stack:
        item, group = stack.pop()
        opened = next((k for k in item.keys if plain(k) in keys or k + "+" in keys), None)
        below = tree.inside(item, any(k + "+" in keys for k in item.keys)) if opened is not None else []
        if below:
            total += len(below) - 1
            if total > MAX_BOXES:
                raise _too_many(total, item)
            depth = groups[group].depth + 1 if group >= 0 else 0
            groups.append(framed(tree, item, f"g{len(groups)}", depth, group))
            stack.extend((child, len(groups) - 1) for child in reversed(below))
        else:
            boxes.append(boxed(tree, item, f"b{len(boxes)}", group))
            items.append(item)
    return boxes, groups, items


def _too_many(count: int, item: Item) -> LayoutError:
    return LayoutError(
        f"unfolding {elide(item.name, 80)!r}",
        f"the picture would have {counted(count, 'boxes')} or more, and the limit is {MAX_BOXES}",
        "Fold something first, select a part with ed.select(scope=...), or export the whole graph with ed.to_dot()",
    )


def framed(tree: Tree, item: Item, number: str, depth: int, group: int) -> Group:
    """Returns the frame of an unfolded item, with its heading."""
    label = elide(" · ".join(filter(None, (label_of(tree, item), tree.layer_class(item.name)))))
    return Group(number, item.name, label, len(tree.ops_of(item)), depth, group)


def boxed(tree: Tree, item: Item, number: str, group: int) -> Box:
    """Returns the box of a folded item, with its texts."""
    graph = tree.graph
    label, outputs = elide(label_of(tree, item)), 0
    count = 1 if item.one_op else len(tree.ops_of(item))
    kind: page_types.BoxKind = "scope" if item.kind == "block" else item.kind  # both are drawn in the same way
    if item.one_op:
        sub, kin = item.holds or _type_of(tree, item), family(graph.types[item.op])
        infos = graph.declared_outputs(item.op)
        outputs = len(infos) if infos is not None else _outputs_used(graph, item.op)
    elif kind == "variable":
        sub, kin = f"{graph.types[item.op]} · {_variable(graph, item.op)}".rstrip(" ·"), "state"
    elif kind == "series" and item.alike:
        alike = item.units()
        one = alike[0]
        of = graph.types[one.op] if one.one_op else counted(len(tree.ops_of(one)), "ops")
        sub = item.holds or f"{of} ×{len(alike):,}"
        kin = family(graph.types[one.op]) if one.one_op else _main_family(tree, item)
    elif kind == "series":
        sub, kin = item.holds or _holding(tree, item), _main_family(tree, item)
    elif item.kind == "block":
        sub, kin = _block(tree, item), _main_family(tree, item)
    else:
        sub = " · ".join(filter(None, (tree.layer_class(item.name), counted(count, "ops"))))
        kin = _main_family(tree, item)
    lost = int(graph.refused_ops[tree.ops_of(item)].sum()) if graph.unknown_types else 0
    if lost:
        kin = UNKNOWN
        sub += f" · {lost:,} unknown" if count > 1 else ""
    return Box(number, kind, item.name, label, elide(sub), count, kin, group, outputs=outputs)


def _main_family(tree: Tree, item: Item) -> str:
    """Returns the family of the ops that a fold is for, or ``scope`` if no family of `TELLING` is in it."""
    ranks = tree.family_ranks[tree.ops_of(item, helpers=False)]
    return (*TELLING, "scope")[int(ranks.min(initial=len(TELLING)))]


def label_of(tree: Tree, item: Item) -> str:
    """Returns the name of a box or frame.

    An unnamed call, alone in a scope, has the name of the scope. A Keras layer has its own name: its scope may have a
    number at the end, because TensorFlow used the name before.
    """
    scope, _, leaf = item.label.rpartition("/")
    label = scope if scope and _UNNAMED.fullmatch(leaf) else item.label
    if not tree.layer_names:
        return label
    around = item.name if item.name.endswith("/") else item.name.rpartition("/")[0] + "/"
    own, numbered = tree.layer_names.get(around), around.rstrip("/").rpartition("/")[2]
    return "/".join(own if own and part == numbered else part for part in label.split("/"))


def _type_of(tree: Tree, item: Item) -> str:
    """Returns the type of an op, after the class of the layer if the op represents the whole scope of one."""
    kind = tree.graph.types[item.op]
    layer = tree.layer_class(tree.graph.names[item.op].rpartition("/")[0] + "/") if "/" in item.label else ""
    return kind if layer.lower() in ("", kind.lower()) else f"{layer} · {kind}"


def _block(tree: Tree, item: Item) -> str:
    """Returns the number of ops or blocks in a block, and a summary of them."""
    inner = item.blocks()
    if len(inner) > 1:
        size, does = f"{counted(len(inner), 'blocks')} of ", gist(tree, inner[-1])
    else:
        size, does = f"{counted(len(tree.ops_of(item)), 'ops')} · ", gist(tree, item)
    return size + does if does else size.removesuffix(" of ").removesuffix(" · ")


def _holding(tree: Tree, item: Item) -> str:
    """Returns a summary of a section of a long list: its most frequent op types."""
    kinds, _, number = tree.graph.type_index
    ops = tree.ops_of(item)
    counts = np.bincount(number[ops[tree.helpers.kind[ops] == 0]], minlength=len(kinds))
    telling = [k for k in np.argsort(-counts, kind="stable").tolist() if counts[k]]
    most = sorted(telling, key=lambda k: family(kinds[k]) in ("shape", "state", "control", "other"))[:2]
    rest = len(ops) - int(sum(counts[k] for k in most))
    parts = [f"{kinds[k]} ×{int(counts[k]):,}" if counts[k] > 1 else kinds[k] for k in most]
    return ", ".join(parts) + (f" + {rest:,} more" if rest else "")


def _outputs_used(graph: Graph, op: int) -> int:
    return int(graph.consumers.ports(op).max(initial=-1)) + 1


def _variable(graph: Graph, op: int) -> str:
    """Returns the dtype and the shape of a variable, if they are known."""
    attr = getattr(graph.nodes[op], "attr", None)
    if attr is not None and "dtype" in attr:
        name = DTYPES.get(attr["dtype"].type, "")
        shape = attr["shape"].shape if "shape" in attr else None
        dims = None
        if shape is not None and not shape.unknown_rank:
            dims = tuple(d.size if d.size >= 0 else None for d in shape.dim)
        return f"{name} {shape_text(dims)}"
    info = graph.declared_info(op, 0)
    return f"{info.dtype.removesuffix('_ref')} {shape_text(info.shape)}" if info else ""


def hidden_ops(tree: Tree, boxes: int, op_box: Ints) -> tuple[Ints, dict[str, int], dict[int, dict[str, int]]]:
    """Counts the hidden ops, in total and for each box that they help.

    Args:
        tree: the graph, with its hidden helpers.
        boxes: the number of boxes.
        op_box: for each op, the number of its box, or -1.

    Returns:
        for each hidden op, the number of a box that it helps, or -1; the number of hidden ops of each kind; and these
        numbers for each box that has some.
    """
    graph, helpers = tree.graph, tree.helpers
    away = op_box < 0
    helped_box = np.full(graph.size, -1, np.int32)
    owners = helpers.owner[away]
    lone, first = np.unique(owners, return_index=True)
    kinds = helpers.kind[np.flatnonzero(away)[first]]
    counts = np.bincount(kinds, minlength=len(KINDS))
    totals = {KINDS[k]: int(counts[k]) for k in range(1, len(KINDS)) if counts[k]}
    if not len(lone):
        return helped_box, totals, {}
    readers, makers = graph.data.rows, graph.data.node
    out = away[makers] & ~away[readers]
    back = ~away[makers] & away[readers]
    helper = np.concatenate([makers[out], readers[back]])
    box = np.concatenate([op_box[readers[out]], op_box[makers[back]]])
    keys = helpers.owner[helper].astype(np.int64) * boxes + box
    pairs, _ = np.unique(keys, return_counts=True)  # without the counts, NumPy imports numpy.ma
    owner, at = pairs // boxes, pairs % boxes
    of_thing = np.full(graph.size, -1, np.int32)
    of_thing[owner[::-1]] = at[::-1]
    helped_box[away] = of_thing[owners]
    kind_of = np.zeros(graph.size, np.int8)
    kind_of[lone] = kinds
    found, counts = np.unique(at * len(KINDS) + kind_of[owner], return_counts=True)
    by_box = defaultdict[int, dict[str, int]](dict)
    for key, count in zip(found.tolist(), counts.tolist(), strict=True):
        if key % len(KINDS):
            by_box[key // len(KINDS)][KINDS[key % len(KINDS)]] = count
    return helped_box, totals, by_box


_LONGEST = 1000  # characters of a name; Graphviz limits the length of strings


def quote(text: str) -> Any:
    r"""Returns `text` quoted for DOT, so that escapes, HTML labels and quotes are shown literally.

    Example:
        >>> print(quote(r"a\N<b>"))
        a\\N<b>
    """
    import graphviz

    return graphviz.escape(clean(text))


def _tooltip(text: str) -> Any:
    return quote(elide(text, _LONGEST))


def to_dot(tree: Tree, unfolded: Iterable[str] = frozenset()) -> graphviz.Digraph:
    """Returns a picture in a `graphviz.Digraph`, with labels and scopes as clusters.

    Nodes are named b0, b1, ... in reading order; labels and tooltips contain the names.

    Args:
        tree: the graph, with its hidden helpers.
        unfolded: keys of the open folds, see `graphsurgeon.view.scene.build`.

    Raises:
        LayoutError: there would be more than 400 boxes.

    Example:
        >>> from graphsurgeon.graph.graph import Graph
        >>> g = Graph.from_ops([("a", "Placeholder", []), ("b", "Neg", ["a"])])
        >>> "b0 -> b1" in to_dot(Tree(g)).source
        True
    """
    import graphviz

    scene = build(tree, unfolded)
    font = {"fontname": "Helvetica,Arial,sans-serif"}
    out = graphviz.Digraph(
        "graph",
        graph_attr={"rankdir": "TB", "nslimit": "2", "nslimit1": "2", **font},
        node_attr={"shape": "box", "style": "rounded,filled", "fontsize": "12", **font},
        edge_attr={"arrowsize": "0.7", "fontsize": "10", "color": "#8B96A3", **font},
    )
    _fill(out, scene, -1)
    for edge in scene.edges:
        style = {"style": "dashed"} if edge.control else {}
        label = f"×{edge.count}" if edge.count > 1 else ""
        out.edge(edge.source, edge.target, label=label, tooltip=_tooltip(edge_title(edge.tensor, edge.count)), **style)
    return out


def _fill(into: graphviz.Digraph, scene: Scene, group: int) -> None:
    """Adds the boxes and clusters of a level, and of all levels inside it."""
    for box in scene.boxes:
        if box.group == group:
            ink = COLORS[box.family]
            label = quote(f"{box.label}\n{box.subtitle}")
            into.node(
                box.id,
                label,
                tooltip=_tooltip(box.name),
                fillcolor=ink.fill,
                color=ink.line,
                fontcolor=ink.text,
                **({"style": "rounded,filled,dashed"} if box.family == UNKNOWN else {}),
            )
    for i, inner in enumerate(scene.groups):
        if inner.group == group:
            with into.subgraph(name=f"cluster_{i}") as cluster:
                cluster.attr(label=quote(inner.label), tooltip=_tooltip(inner.name), labeljust="l", style="rounded")
                _fill(cluster, scene, i)
