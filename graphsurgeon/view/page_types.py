"""The data that the page gets, as typed dictionaries. The types of the front end are written from this file."""

from __future__ import annotations

from typing import Literal, NotRequired, TypedDict

PaneName = Literal["source", "destination"]
Direction = Literal["LR", "TB"]
PlanView = Literal["after", "before", "both"]
RunTarget = Literal["applied", "destination", "graph", "plan", "selection"]
BoxKind = Literal["op", "call", "scope", "series", "variable"]
ItemKind = BoxKind | Literal["block"]
Level = Literal["info", "busy", "warn", "error"]
Mark = Literal["", "new", "orphan", "changed", "conflict", "removed", "shape"]
ValueType = Literal["boolean", "number", "string | null", "string[]"]
EdgeMark = Literal["", "new", "joined", "changed", "removed"]
"""The state of an edge; a joined one is new at an op that stays."""


class Rect(TypedDict):
    """A rectangle, in px."""

    x: float
    y: float
    w: float
    h: float


class Paint(TypedDict):
    """The color of a box: its entry in the legend, the color ("" for none), shares of colors, and words."""

    key: str
    color: str
    bars: list[tuple[str, float]]
    text: str


class Box(Rect):
    """A box of the picture; `lines` is its label on two lines, if it has two."""

    id: str
    kind: BoxKind
    name: str
    label: str
    subtitle: str
    count: int
    family: str
    state: Mark
    outputs: int
    hidden: dict[str, int]
    lines: NotRequired[list[str]]
    paint: NotRequired[Paint]


class Group(Rect):
    """A frame of the picture."""

    id: str
    name: str
    label: str
    count: int
    depth: int
    state: Mark


Edge = TypedDict(
    "Edge",
    {
        "from": str,
        "to": str,
        "path": list[int],
        "count": int,
        "tensor": str,
        "control": NotRequired[bool],
        "quiet": NotRequired[bool],
        "state": NotRequired[EdgeMark],
        "label": NotRequired[str],
        "label_x": NotRequired[float],
        "label_y": NotRequired[float],
    },
)
"""An edge: the numbers of the lines that form it, and the first of its tensors, or ``^op`` for a control input.

Values that are the same for most edges are left out.
"""


class LegendItem(TypedDict):
    """A color of the legend, and the number of boxes that have it."""

    key: str
    text: str
    color: str
    boxes: int


class Legend(TypedDict):
    """The colors of a picture, and the keys of those that are drawn faint."""

    by: str
    title: str
    items: list[LegendItem]
    faded: list[str]


class SceneStats(TypedDict):
    """Numbers about a picture; `degraded` describes a coarser layout."""

    ops: int
    boxes: int
    edges: int
    hidden: dict[str, int]
    degraded: str


class Scene(TypedDict):
    """A picture. `lines` are SVG path data, without the M at the start; `columns` are for the next layout."""

    rev: str
    w: float
    h: float
    direction: Direction
    boxes: list[Box]
    groups: list[Group]
    edges: list[Edge]
    lines: list[str]
    stats: SceneStats
    columns: NotRequired[dict[str, list[str]]]
    legend: NotRequired[Legend]


class Scenes(TypedDict):
    """The pictures of both panes."""

    source: Scene | None
    destination: Scene | None


class TensorText(TypedDict):
    """A tensor, with a text about it such as its dtype and shape."""

    tensor: str
    text: str


class TensorRow(TensorText):
    """A tensor with its dtype and shape; these are empty if they are not known."""

    dtype: str
    shape: str


class Boundary(TypedDict):
    """A marked boundary. `leak_count` counts all leaks and control inputs; the lists may be shorter."""

    inputs: list[TensorRow]
    outputs: list[TensorRow]
    included: list[str]
    ops: int
    boxes: dict[str, int]
    leak_count: int
    leaks: list[TensorText]
    control_leaks: list[TensorText]
    variables: int
    problem: str


class MarkedBoundary(Boundary):
    """The boundary on the screen; `is_reversed`: whether it would be valid with inputs and outputs swapped."""

    is_reversed: bool


class SuggestedBoundary(Boundary):
    """A boundary that could be marked."""

    text: str


class PathStep(TypedDict):
    """An op of a path, and the edge that leads to it as text."""

    op: str
    text: str


class DependencyPath(TypedDict):
    """The path between two boxes, in the direction of the data: the reason why one depends on the other."""

    text: str
    steps: list[PathStep]


class ErrorParts(TypedDict):
    """An error; `argument` is the invalid argument, if there is one."""

    request: str
    problem: str
    suggestion: str
    argument: NotRequired[str]


class Adapter(TypedDict):
    """Adapters that make a tensor fit: the kinds, and their effect."""

    kinds: list[str]
    text: str


class Fault(ErrorParts):
    """An error of the plan with its fixes, the best first, and the number of its step; null if all steps have it."""

    fixes: list[Adapter]
    step: int | None


class CopyEnd(TensorRow):
    """A tensor that enters a copy, with its source, or a tensor that leaves the copy.

    The kind `keep` is the original tensor. For a copy that cannot be made, it is the requested kind. `same`: the copy
    is made in its own graph.
    """

    step: int
    end: Literal["in", "out"]
    kind: str
    source: str
    same: bool


class Report(TypedDict):
    """The report of a save, a recipe or a check, and the same call in Python.

    `existing` is the message about an existing file: nothing was written, and the user must confirm to replace it.
    """

    title: str
    lines: list[str]
    code: str
    existing: NotRequired[str]


class Empty(TypedDict):
    """Nothing."""


class Event(TypedDict):
    """A plan that was applied; `ahead`: it was undone and can be redone."""

    step: int
    text: str
    ahead: bool


class PlanStep(TypedDict):
    """A step of the plan in words."""

    text: str
    muted: bool


class PlanCounts(TypedDict):
    """The numbers of things that a plan makes, and of ops that it changes or removes."""

    ops: int
    variables: int
    placeholders: int
    connections: int
    changed: int
    removed: int


class NewOp(TypedDict):
    """An op that a plan makes, the op that it is a copy of, and its type."""

    name: str
    original: str
    op: str


class VariableRow(TypedDict):
    """A variable of a copy: its policy, and where its first values are from."""

    name: str
    original: str
    dtype: str
    shape: str
    size: str
    policy: str
    values: str


class StepVariable(VariableRow):
    """A variable of the copy that a step makes."""

    step: int


Connection = TypedDict("Connection", {"from": str, "to": str, "input": int, "previous": str})
"""A tensor that an input of an op will read, and the tensor that it reads now."""


class DraftPlan(TypedDict):
    """The plan that is being made.

    `scopes` has the scope of the copy of each step, `links` the parts of a message that contains names: a text, or a
    name with its target and its pane. `rows` is the number of variables; the list may be shorter.
    """

    inputs: list[CopyEnd]
    scopes: dict[str, str]
    steps: list[PlanStep]
    mode: str
    also_copied: list[str]
    faults: list[Fault]
    warnings: list[str]
    links: dict[str, list[list[str]]]
    counts: PlanCounts
    rows: int
    new: list[NewOp]
    variables: list[StepVariable]
    connections: list[Connection]
    code: str
    ready: bool
    applied: str


class Plan(DraftPlan):
    """The plan, the last report, and the applied plans. `same`: source and destination are one graph."""

    same: bool
    saved: Report | Empty
    history: list[Event]


class Status(TypedDict):
    """The line of text at the bottom."""

    text: str
    level: Level


class Row(TypedDict):
    """A row of the outline."""

    name: str
    label: str
    kind: str
    count: int
    depth: int
    open: bool


class Outline(TypedDict):
    """The visible rows of the outline, top to bottom."""

    rows: list[Row]


class Titles(TypedDict):
    """The titles of both panes, and the model in one line."""

    source: str
    destination: str
    model: NotRequired[str]


class Look(TypedDict):
    """How the picture is looked at: hidden ops, colors, and the visible side of the plan."""

    shown: list[str]
    hidden: list[str]
    training: bool
    by: str
    name: str
    faded: list[str]
    budget: int
    plan_view: PlanView


class UndoCounts(TypedDict):
    """How many actions can be undone and redone, and how often an earlier state was restored."""

    undo: int
    redo: int
    restored: int


class Views(UndoCounts):
    """The numbers of steps back and forward, the saved views, and the signatures and functions of the file."""

    back: int
    forward: int
    saved: list[str]
    signatures: list[str]
    signature: str


class Histogram(TypedDict):
    """Counts of equal bins from `low` to `high`."""

    counts: list[int]
    low: float
    high: float


class Numbers(TypedDict):
    """The values of a tensor."""

    rows: list[list[str]]
    histogram: Histogram | None


class TensorValues(Numbers):
    """The values of a tensor in a run, and their picture; `more`: whether more elements can be fetched."""

    tensor: str
    picture: str
    more: bool


class EdgeTensors(TypedDict):
    """The tensors of an edge, and their values in the run on the screen."""

    tensors: list[TensorText]
    values: list[TensorValues]


class BadOp(TypedDict):
    """The first op with a value that is not finite: its inputs, and the path from it to the outputs."""

    op: str
    text: str
    inputs: list[str]
    path: list[str]


class DifferentOp(TypedDict):
    """The first op whose outputs differ in a trial; an empty name if no outputs differ."""

    op: str
    text: str
    before: str


class OutputValues(TensorText):
    """An output of a run: the index, text and length of the bar of its largest elements, and its picture."""

    values: list[tuple[str, str, float]]
    picture: str


class Costs(TypedDict):
    """The ops that take the most time and memory, with their costs."""

    ms: list[tuple[str, str]]
    bytes: list[tuple[str, str]]


class RunReport(TypedDict):
    """A run that the picture shows."""

    line: str
    outputs: list[OutputValues]
    pane: PaneName
    stop_reason: str
    bad: BadOp | None
    first_difference: DifferentOp | None
    tops: Costs
    code: str


class State(TypedDict):
    """Everything that the page shows. `inferred`: whether the shapes that TensorFlow can infer are available.

    Only a saved page, which changes nothing, is `still`; `answers` are the verbs that it answers. It has no views
    before it is shown.
    """

    scenes: Scenes
    titles: Titles
    selected: list[str]
    boundary: MarkedBoundary
    plan: Plan
    status: Status
    outline: Outline
    look: NotRequired[Look]
    views: NotRequired[Views]
    run: NotRequired[RunReport | Empty]
    inferred: NotRequired[bool]
    theme: Literal["auto", "light", "dark"]
    still: NotRequired[bool]
    answers: NotRequired[list[str]]


class Attribute(TypedDict):
    """An attribute of ops: its value (empty if the ops differ), its value before the plan, its possible values."""

    name: str
    value: str
    previous: str
    choices: list[str]


class Attributes(TypedDict):
    """The attributes of boxes, with the number of ops of each type."""

    types: list[tuple[str, int]]
    device: str
    attributes: list[Attribute]


class Details(TypedDict):
    """The details of a box. `totals` has the full lengths of the lists that are cut."""

    title: str
    rows: list[list[str]]
    inputs: list[TensorText]
    outputs: list[TensorText]
    control_inputs: list[str]
    consumers: list[str]
    totals: dict[str, int]
    doc: str
    histogram: Histogram | None
    value: bool
    python: str
    run: NotRequired[list[TensorValues]]
    device: NotRequired[str]
    attributes: NotRequired[list[Attribute]]


class Hit(TypedDict):
    """An op or scope that a search found, and the box that contains it."""

    name: str
    label: str
    op: str
    inside: str


class SearchResult(TypedDict):
    """The first hits of a search, the number of all, and box -> the number of hits in it."""

    hits: list[Hit]
    total: int
    boxes: dict[str, int]


class SimilarParts(TypedDict):
    """The parts similar to some boxes: the number of places and ops, the boxes with them, and the nearest miss."""

    count: int
    ops: int
    boxes: dict[str, int]
    nearest_miss: str


class OpType(TypedDict):
    """An op type and its description."""

    name: str
    doc: str


class Field(TypedDict):
    """A field of a form; `type` is that of its value, if it is not a text.

    With few values, `options` has them with their texts; `names` are suggestions.
    """

    name: str
    label: str
    value: str
    hint: str
    type: NotRequired[ValueType]
    options: NotRequired[list[tuple[str, str]]]
    names: NotRequired[list[str]]


class RecipeEntry(TypedDict):
    """A recipe as an entry of the menu. `adds_steps`: it adds steps to the plan; else it acts at once."""

    name: str
    summary: str
    description: str
    group: str
    unavailable_reason: str
    adds_steps: bool
    form: list[Field]


class SaveForm(TypedDict):
    """The form for a save, with a note on what is saved."""

    fields: list[Field]
    note: str


class RunForm(TypedDict):
    """The form for a run: the feeds, and the other fields; `risk` describes a graph that is not trusted yet."""

    feeds: list[Field]
    fields: list[Field]
    target: RunTarget
    risk: str


class InputCandidate(TypedDict):
    """An input of an op, and why it cannot read another tensor. `adaptable`: only its dtype or shape does not fit."""

    op: str
    input: int
    current_input: str
    reason: str
    adaptable: bool


class InputCandidates(TensorText):
    """Box of a pane -> its inputs that could read a tensor; `copies`: the number of ops to copy first."""

    pane: PaneName
    boxes: dict[str, list[InputCandidate]]
    copies: int


class Code(TypedDict):
    """A script."""

    code: str


class Line(TypedDict):
    """A result in one line."""

    line: str


class Applied(TypedDict):
    """The effect of a plan in one line."""

    applied: str
