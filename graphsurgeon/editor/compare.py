"""Compares two graphs: their structure, or an original and its copy on the same feeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import tf
from ..errors import Kind, LayoutError, PlanError, SelectionError, SurgeryError, few
from ..graph.diff import Diff, attribute_bytes, pair
from ..graph.diff import diff as core_diff
from ..graph.graph import Graph
from ..graph.lazy_graph import graph_identity
from ..graph.names import op_name, outer_name, tensor_name
from ..graph.open_graph import placeholders_in
from ..graph.provenance import orphan_mask
from ..graph.references import ReferenceResolver
from ..graph.rewiring import graph_without_ops
from ..graph.trace import FirstDifference, refuse_no_tolerance
from ..graph.training import unseeded_ops
from ..graph.types import FeedDict, GraphSource, Named, OpLike, PathLike, TensorLike, TFSession
from ..plan.dependencies import needed_ops
from ..plan.plan import Plan
from ..running.feeds import default_fetches, random_feeds, resolve_feeds
from ..running.trace import trace
from .applied import Applied
from .editor import Editor
from .history import layers_of
from .open import open

if TYPE_CHECKING:
    from .editor import Editor


@dataclass(frozen=True)
class Difference:
    """The difference of one output between the original and the copy.

    Args:
        output: name of the tensor in the source, or in the copy if several copies are compared.
        absolute: largest absolute difference; 0 for equal texts, infinity for different texts or shapes.
        relative: `absolute` over the largest absolute value of the original.
        equal: whether all bits are equal.
    """

    output: str
    absolute: float
    relative: float
    equal: bool


@dataclass(frozen=True)
class Comparison:
    """The outcome of `compare`: a `Difference` for each output. It is true if all bits are equal.

    Args:
        rows: the differences, one for each output.
        first_difference: the first op whose inputs agree and whose outputs differ. None if no output differs by more
            than the tolerance, if it was not requested, or if it could not be found.
        reason: the reason if outputs differ but the first difference could not be found; else empty.
    """

    rows: tuple[Difference, ...]
    first_difference: FirstDifference | None = None
    reason: str = ""

    def __bool__(self) -> bool:
        return all(row.equal for row in self.rows)

    @property
    def relative(self) -> float:
        """The largest relative difference of all outputs."""
        return max((row.relative for row in self.rows), default=0.0)

    def __repr__(self) -> str:
        wide = max([len(row.output) for row in self.rows] + [6])
        lines = [f"{'output':<{wide}}  max |difference|  relative"]
        for row in self.rows:
            what = "equal to the last bit" if row.equal else f"{row.absolute:<16.3g}  {row.relative:.3g}"
            lines.append(f"{row.output:<{wide}}  {what}")
        lines += [f"first apart: {self.first_difference!r}"] if self.first_difference is not None else []
        lines += [f"the first difference is not known: {self.reason}"] if self.reason else []
        return "\n".join(lines)


def compare(
    source: GraphSource,
    copy: GraphSource,
    feeds: FeedDict | PathLike | None = None,
    outputs: Iterable[TensorLike] | None = None,
    *,
    session: TFSession | None = None,
    seed: int = 0,
    where: bool = True,
    tolerance: float = 1e-5,
) -> Comparison:
    """Runs an original and its copy on the same feeds.

    If an output differs by more than `tolerance`, both graphs are traced with the same feeds and their current values.
    The result then names the first op with different outputs. Otherwise no graph is traced.

    Args:
        source: the editor of the original, or anything that `open` accepts. It runs in its `session()`.
        copy: the result of `Editor.apply`; it runs in the `session()` of its editor. If the plan changed the source
            without copying from it, the original is the source before the plan. Or another graph: an editor or anything
            that `open` accepts. Tensors of the same name are then compared. If the other graph has no op of the same
            name, the op at the same place in the structure of the graph is used.
        feeds: source tensor, or argument of an opened function -> array; or the path of an ``.npz`` file of these.
            Other placeholders get random numbers of their dtype and shape. Unknown dimensions have size 1.
        outputs: source tensors to compare. Default: the outputs of the copied part. For graphs: the known outputs, or
            all tensors without consumers whose ops only compute. If there are several copies, all are compared.
        session: a session of the original, instead of the editor's own.
        seed: the seed of the random feeds.
        where: whether to find the first op that differs. This needs a trace, which takes about three times as long as a
            run. With several copies, only the first copy that differs is traced.
        tolerance: the maximum difference of two tensors that count as equal, relative to the largest absolute value. It
            applies to the outputs before a trace, and to all tensors in a trace.

    Returns:
        the differences; ``bool(...)`` is True if all bits are equal.

    Raises:
        OpenError: a graph cannot be read.
        SelectionError: a tensor does not exist.
        PlanError: there is nothing to compare, a needed feed cannot be random, the session is of another graph, or the
            tolerance is not valid.

    Example:
        >>> import tensorflow as tf, graphsurgeon as gs
        >>> graph = tf.Graph()
        >>> with graph.as_default():
        ...     y = tf.square(tf.compat.v1.placeholder(tf.float32, [2], name="x"), name="y")
        >>> ed = gs.open(graph)
        >>> done = ed.apply(ed.plan().copy(ed.select(), to="copy"))
        >>> gs.compare(ed, done)
        output  max |difference|  relative
        y:0     equal to the last bit
        >>> with tf.Graph().as_default() as other:
        ...     y = tf.negative(tf.compat.v1.placeholder(tf.float32, [2], name="x"), name="y")
        >>> gs.compare(ed, other, {"x:0": [1.0, 2.0]})
        output  max |difference|  relative
        y:0     6                 1.5
        first apart: y:0  float32 (2), min 1, max 4, mean 2.5, std 1.5, by Square
          instead of  y:0  float32 (2), min -2, max -1, mean -1.5, std 0.5
          they differ by 1.5; in total, 1 tensor differs
    """
    refuse_no_tolerance(tolerance, "compare")
    source = _editor(source)
    if isinstance(copy, Plan):
        suggestion = "Apply it first; or trace both: ed.trace(feeds).first_difference(ed.trace(feeds, plan=plan))"
        raise PlanError("compare(plan)", "a plan can only be compared after it is applied", suggestion)
    if isinstance(copy, Applied) and copy.effect.mode == "materialize" and not copy.copies:
        source, copy = _before_and_after(source, copy)
    parts: list[Applied | _CopyByName] = [_CopyByName(source, _editor(copy))] if not isinstance(copy, Applied) else [
        part for part in copy.parts if graph_identity(part.copies[0].source.owner) is graph_identity(source.graph)
    ] or [copy]  # fmt: skip
    several = [outputs] if isinstance(outputs, str) or hasattr(outputs, "name") else outputs
    layers = ReferenceResolver(source.snapshot, source.layers, "compare()")
    output_names = None if several is None else [tensor_name(t) for t in layers.ends(several)]
    fed_here = resolve_feeds(source, feeds, "compare")
    for name in output_names or ():
        source.snapshot.tensor(name, f"compare({name!r})")
    if session is not None and getattr(session, "graph", None) is not source.graph:
        problem = "this is not a session of the original's graph"
        raise PlanError("compare(session=...)", problem, "Give a session of that graph, or leave session= out")
    original = session if session is not None else source.session()
    rows: list[Difference] = []
    first, unknown = None, ""
    for part in parts:
        names = _outputs(part) if output_names is None else output_names
        if not names:
            continue
        fed = _all_feeds(source, part, names, fed_here, seed)
        rows_of_part = _differences(part, names, fed, original)
        if where and first is None and not unknown and any(row.relative > tolerance for row in rows_of_part):
            first, unknown = _first_difference(source, part, names, fed, original, tolerance)
        rows += [replace(row, output=part[row.output].name) for row in rows_of_part] if len(parts) > 1 else rows_of_part
    if not rows:
        raise PlanError("compare()", "nothing that was copied has an output", "Name some: outputs=['name:0']")
    return Comparison(tuple(rows), first, unknown)


def _editor(obj: Any) -> Editor:
    from .editor import Editor
    from .open import open

    return obj if isinstance(obj, Editor) else open(obj)


class _CopyByName:
    """A graph that is treated as the copy of another graph with the same tensor names."""

    copies: tuple[Any, ...] = ()

    def __init__(self, source: Editor, editor: Editor) -> None:
        self.source, self.editor = source, editor

    def __contains__(self, name: str) -> bool:
        return bool(self.name_in_copy(name))

    def __getitem__(self, name: str) -> Any:
        self.editor.snapshot.tensor(self.name_in_copy(name) or name, f"compare({name!r})")
        return self.editor.tensor(self.name_in_copy(name))

    def name_in_copy(self, name: str) -> str:
        """Returns the name of a tensor in the copy; empty if the copy lacks it."""
        op, colon, port = name.partition(":")
        if op in self.editor.snapshot.index:
            return name
        return f"{self._places[op]}{colon}{port}" if op in self._places else ""

    @cached_property
    def _places(self) -> Mapping[str, str]:
        """Op of the original -> the op of the copy with the same name, or at the same place in its structure."""
        return same_places(self.source.snapshot, self.editor.snapshot)

    def session(self) -> Any:
        """Returns a session of the copy."""
        return self.editor.session()

    def outputs(self) -> list[str]:
        """Returns the default fetches of the original that are in both graphs."""
        return [name for name in default_fetches(self.source, "compare()", "outputs") if name in self]


def same_places(graph_a: Graph, graph_b: Graph) -> dict[str, str]:
    """Returns op -> its partner in another graph: of the same name, else at the same place in the structure."""
    if graph_a.index.keys() <= graph_b.index.keys():
        return {name: name for name in graph_a.names}
    positions = pair(graph_a, graph_b, "structure", meanings=(_role, _role)).tolist()
    return {name: graph_b.names[there] for name, there in zip(graph_a.names, positions, strict=True) if there >= 0}


def _role(value: Any) -> bytes:
    """Returns the compared part of an attribute: dtype and shape of a constant, nothing of a function."""
    kind = value.WhichOneof("value")
    if kind == "tensor":
        return attribute_bytes(value.tensor.tensor_shape) + bytes([value.tensor.dtype])
    return b"function" if kind == "func" else attribute_bytes(value)


def _before_and_after(source: Editor, result: Applied) -> tuple[Editor, Editor]:
    """Returns editors of the graph before and after a plan that changed it.

    Raises:
        PlanError: the plan was undone, or another plan was applied since.
    """
    after = _editor(result.session())
    standing = [event.result for event in source.history if not event.undone]
    own = any(event.result is result for event in source.history)
    if after.graph is not result.graph or (own and standing[-1] is not result):
        problem = "it was undone, or another plan was applied since"
        raise PlanError(
            "compare(ed, done)", problem, "Go to that step with ed.undo() and ed.redo(); or gs.compare(old, ed)"
        )
    return (source.before() if own else source), after


def _all_feeds(
    source: Editor, copy: Applied | _CopyByName, names: list[str], feeds: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Returns the feeds of the original: the given ones, and random feeds for other placeholders."""
    needed = source.select(outputs=names, inputs=_cuts(copy, names) or None)
    ends = [*needed.boundary.inputs, *placeholders_in(needed.graph, needed.mask)]
    ends = [name for name in ends if name not in feeds]
    return {**feeds, **random_feeds(source, dict.fromkeys(ends), seed, "compare")}


def _differences(
    copy: Applied | _CopyByName, names: list[str], feeds: Mapping[str, Any], original: Any
) -> list[Difference]:
    expected = original.run(names, feeds)
    got = copy.session().run([copy[name] for name in names], _feeds_of_copy(copy, feeds))
    return [_difference(n, a, b) for n, a, b in zip(names, expected, got, strict=True)]


def _feeds_of_copy(copy: Applied | _CopyByName, feeds: Mapping[str, Any]) -> dict[Any, Any]:
    return {copy[name]: value for name, value in feeds.items() if name in copy}


def _first_difference(
    source: Editor,
    copy: Applied | _CopyByName,
    names: list[str],
    feeds: Mapping[str, Any],
    original: Any,
    tolerance: float,
) -> tuple[FirstDifference | None, str]:
    """Returns the first op whose outputs differ, and an empty text; or None, and the reason."""
    session = copy.session()
    editor = copy.editor if isinstance(copy, _CopyByName) else _editor(session)
    try:
        ours = trace(source, feeds, names, session=original)
        graph = ours.graph
        random = [graph.names[op] for op in unseeded_ops(graph)]
        called = _tensor_map(source, copy, [*ours, *(f"{op}:0" for op in random)])
        drawn = {called[f"{op}:0"].partition(":")[0]: op for op in random if f"{op}:0" in called}
        fetches = [copy[name] for name in names]
        theirs = trace(editor, _feeds_of_copy(copy, feeds), fetches, session=session, new_names=drawn)
    except SurgeryError as error:
        return None, f"they cannot be traced: {error}"
    if isinstance(copy, _CopyByName):  # ops inside calls have their partners, too
        places = same_places(graph, theirs.graph)
        called = {name: f"{places[op]}:{name.partition(':')[2]}" for name in ours if (op := op_name(name)) in places}
    difference = ours.first_difference(theirs, tolerance, called)
    if difference is not None:
        return difference, ""
    stopped = [
        f"the trace of {one.graph.title} stopped: {one.stop_reason}" for one in (ours, theirs) if one.stop_reason
    ]
    alike = f"no tensor that both traces have is apart by more than {tolerance:g} in its summary and its sample"
    if random and not stopped:
        alike = f"if {few(map(repr, random))} draw{'s' * (len(random) == 1)} the same numbers in both, they agree"
    return None, "; ".join(stopped) or alike


def _tensor_map(source: Editor, copy: Applied | _CopyByName, tensors: Iterable[str]) -> dict[str, str]:
    """Returns tensor in a trace of the original -> its name in a trace of the copy, also inside calls."""
    index, counterparts = source.snapshot.index, dict[str, str]()
    for tensor in tensors:
        op, _, port = tensor.partition(":")
        outer = outer_name(op, index) or ""
        inner = op[len(outer) :]
        if not inner and tensor in copy:
            counterparts[tensor] = copy[tensor].name
        elif inner and outer in copy:
            thing = copy[outer]
            counterparts[tensor] = f"{getattr(thing, 'op', thing).name}{inner}:{port}"
    return counterparts


def _outputs(copy: Applied | _CopyByName) -> list[str]:
    if isinstance(copy, _CopyByName):
        return copy.outputs()
    return [name for copied in copy.copies for name in copied.step.selection.boundary.outputs]


def _cuts(copy: Applied | _CopyByName, names: list[str]) -> list[str]:
    """Returns the boundary inputs of the copy that the outputs depend on."""
    for copied in copy.copies:
        graph = copied.source
        cuts = [f"{graph.names[op]}:{port}" for op, port in copied.input_map]
        while cuts:
            try:
                from ..graph.selection import select

                select(graph, inputs=cuts, outputs=names)
                return cuts
            except SelectionError as error:
                cuts = [c for c in cuts if c not in error.names] if error.kind is Kind.UNCONNECTED else []
    return []


def _difference(name: str, expected: Any, actual: Any) -> Difference:
    a, b = np.asarray(expected), np.asarray(actual)
    if a.shape != b.shape or a.dtype.kind in "OSU":
        same = a.shape == b.shape and bool(np.array_equal(a, b))
        return Difference(name, 0.0 if same else float("inf"), 0.0 if same else float("inf"), same)
    equal = bool(np.array_equal(a, b, equal_nan=a.dtype.kind in "fc"))
    gap = np.abs(np.nan_to_num(a.astype(np.complex128)) - np.nan_to_num(b.astype(np.complex128)))
    largest = float(gap.max()) if gap.size else 0.0
    if a.dtype.kind in "fc" and not np.array_equal(np.isnan(a), np.isnan(b)):
        largest = float("inf")
    scale = float(np.abs(np.nan_to_num(a.astype(np.complex128))).max()) if a.size else 0.0
    return Difference(name, largest, largest / scale if scale else largest, equal)


def diff(
    a: GraphSource,
    b: GraphSource,
    *,
    by: str = "name",
    mapping: Mapping[str, OpLike | None] | Mapping[Named, OpLike | None] | None = None,
) -> Diff:
    """Returns the differences between two graphs: ops, inputs, control inputs, attributes, devices, shapes.

    Functions are compared by their computation, not by their names. Ops of undone plans are left out.

    Args:
        a, b: the old and the new graph: an editor, an earlier `Editor.snapshot`, or anything that `open` accepts, such
            as a `tf.Graph`, a session, a path or a TF2 object.
        by: how ops are paired: by ``name``; by ``structure`` too, if names differ; or only by the ``mapping``.
        mapping: op of `a` -> op of `b`, by names or objects; None means that the op has no partner.

    Returns:
        a `Diff`: print it, or read `counts`, `table()` and `marks`. As the last line of a cell it is drawn: both graphs
        in one picture, with added, removed and changed ops marked, and counted in folded scopes.

    Raises:
        OpenError: a graph cannot be read.
        SelectionError: `by` or the mapping is not valid.

    Example:
        >>> import tensorflow as tf
        >>> def graph(axis):
        ...     with tf.Graph().as_default() as made:
        ...         x = tf.compat.v1.placeholder(tf.float32, [2, 3], name="x")
        ...         tf.concat([x, x], axis=axis, name="y")
        ...     return made
        >>> print(diff(graph(0), graph(1)))
        graph -> graph: 1 attribute changed, 1 output of another dtype or shape
        attributes
          y/axis value: int32 (): 0 -> int32 (): 1
        dtypes and shapes
          y:0: float32 (4, 3) -> float32 (2, 6)
    """
    if mapping is not None and not isinstance(mapping, Mapping):
        raise SelectionError(f"diff(mapping={mapping!r})", "that is not a mapping", "Give {'op of a': 'op of b'}")
    old, new = _snapshot(a), _snapshot(b)
    if mapping is not None:
        ours, theirs = (ReferenceResolver(graph, layers_of(graph), "diff(mapping=...)") for graph in (old, new))
        mapping = {ours.op(a): None if b is None else theirs.op(b) for a, b in mapping.items()}
    digest = tf.functions.definitions.attribute_digest  # a graph built anew has functions of other names
    means = digest(old.origin), digest(new.origin)
    return replace(core_diff(old, new, by, mapping, tf.open.op_facts.attribute_text, means), draw=picture)


def picture(difference: Diff) -> dict[str, str]:
    """Returns a difference drawn, as mime type -> text; nothing if it cannot be drawn."""
    from ..ui.pane import picture_html
    from ..view.comparison import contrast
    from ..view.layout import place
    from ..view.svg import to_svg

    try:
        svg = to_svg(place(contrast(difference)).to_dict(), title=repr(difference), legend=_legend(difference))
    except LayoutError:
        return {}
    return {"image/svg+xml": svg, "text/html": picture_html(svg, repr(difference))}


def _legend(difference: Diff) -> list[tuple[str, str]]:
    from ..view.boxes import elide

    marks = Counter(difference.marks.values())
    words = {"new": "only in {b}: {n}", "removed": "only in {a}: {n}", "changed": "in both, changed: {n}"}
    a, b = (elide(graph.title, 40) for graph in (difference.a, difference.b))
    if a == b:
        a, b = "the first", "the second"
    return [(state, text.format(a=a, b=b, n=f"{marks[state]:,}")) for state, text in words.items() if marks[state]]


def _snapshot(obj: Any) -> Graph:
    if isinstance(obj, Graph):
        return obj
    editor = obj if isinstance(obj, Editor) else open(obj)
    graph = editor.snapshot
    orphans = orphan_mask(graph)
    if not orphans.any():
        return graph
    removed = orphans & ~needed_ops(graph, ~orphans)  # orphans are not a difference, unless they have consumers
    return graph_without_ops(graph, np.flatnonzero(removed).tolist())
