"""The table of all commands of a screen, for the protocol, its types and the documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from ...graph.conversion_verdict import TARGETS
from ...graph.names import invalid_name_fault, valid_name
from ...plan.plan import CONTROL
from ..run_results import MEASURES
from .save import FORMATS


def plain(value: Any) -> Any:
    """Returns a value in the form of JSON: the name of an object, a list for several, a Python number for NumPy's.

    Example:
        >>> plain(("a", "b")), plain({"a": 1}.keys()), plain(3)
        (['a', 'b'], ['a'], 3)
    """
    if isinstance(value, str | bytes):
        return value
    if hasattr(value, "name"):
        return str(value.name)
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        return value.item()
    return [plain(one) for one in value] if isinstance(value, Iterable) else value


def nothing_more(value: Any) -> tuple[str, str] | None:
    """Returns the problem of a value and a suggestion; by default none."""
    return None


@dataclass(frozen=True)
class ArgType:
    """A type of argument.

    Args:
        description: its name in messages.
        accepts: returns whether a JSON value has this type.
        ts: its name in TypeScript.
        samples: valid values, for tests and examples.
        read: converts a value from Python code to the value that a page would send.
        explain_invalid: returns the problem of an invalid value and a suggestion; None for a general message.
    """

    description: str
    accepts: Callable[[Any], bool]
    ts: str
    samples: tuple[Any, ...]
    read: Callable[[Any], Any] = plain
    explain_invalid: Callable[[Any], tuple[str, str] | None] = nothing_more


REQUIRED = object()
"""The default of an argument without a default."""


@dataclass(frozen=True)
class Arg:
    """An argument of a verb: its name, its type, and its default."""

    name: str
    kind: ArgType
    default: Any = REQUIRED


@dataclass(frozen=True)
class CommandSpec:
    """A verb of a screen, which is the method of `Screen` of this name.

    Args:
        name: the name of the method, and of its message.
        summary: its effect; a phrase that begins with a verb.
        args: the arguments of the method.
        gesture: the gesture of the mouse; empty without one.
        read_only: whether it changes no graph and no plan, so that it may run while a cell of the notebook runs.
        result_type: the TypeScript type of its result; empty without a result.
    """

    name: str
    summary: str
    args: tuple[Arg, ...] = ()
    gesture: str = ""
    read_only: bool = False
    result_type: str = ""

    @property
    def is_query(self) -> bool:
        """Whether it changes nothing and has a result, so that the result and errors are only for the caller.

        Example:
            >>> COMMAND_SPECS["details"].is_query, COMMAND_SPECS["select"].is_query
            (True, False)
        """
        return self.read_only and bool(self.result_type)

    @property
    def usage(self) -> str:
        """The text of a call.

        Example:
            >>> COMMAND_SPECS["select"].usage
            "select(names, mode='set')"
        """
        parts = [arg.name if arg.default is REQUIRED else f"{arg.name}={arg.default!r}" for arg in self.args]
        return f"{self.name}({', '.join(parts)})"

    def examples(self) -> list[dict[str, Any]]:
        """Returns dicts with valid values for all arguments, made from the samples of their types.

        Example:
            >>> COMMAND_SPECS["set_direction"].examples()
            [{'direction': 'LR'}, {'direction': 'TB'}, {'direction': 'auto'}]
        """
        most = max((len(arg.kind.samples) for arg in self.args), default=1)
        return [{arg.name: arg.kind.samples[i % len(arg.kind.samples)] for arg in self.args} for i in range(most)]


def _one_of(*choices: str) -> ArgType:
    options = sorted(choices)
    words = "one of " + ", ".join(repr(c) for c in options)
    ts = " | ".join(f'"{c}"' for c in options)
    return ArgType(words, lambda value: isinstance(value, str) and value in choices, ts, tuple(options))


def is_count(value: Any) -> bool:
    """Returns whether a value is a whole number, 0 or more; booleans are not."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def is_name(value: Any) -> bool:
    """Returns whether a value can be the name of an op or a scope, which may end with ``/``.

    Example:
        >>> is_name("a/b"), is_name("a/"), is_name("a b")
        (True, True, False)
    """
    return isinstance(value, str) and valid_name(value.strip("/"))


def _no_name(value: Any) -> tuple[str, str] | None:
    return invalid_name_fault(value.strip("/"), "a name", lambda name: False) if isinstance(value, str) else None


def _as_it_is(value: Any) -> Any:
    return value


def _name_list(value: Any) -> Any:
    """Returns names from Python code as a list; a single name becomes a list of one."""
    names = plain(value)
    return [names] if isinstance(names, str) else names


_HOSTILE = "</text><script>alert(1)</script>"
TEXT = ArgType("a string", lambda value: isinstance(value, str), "string", ("a/b", "a/b:0", _HOSTILE))
TEXT_OR_NONE = ArgType(
    "a string or null", lambda value: value is None or isinstance(value, str), "string | null", ("grafted", None)
)
NAME = ArgType(
    "a name: letters, digits, '_', '.' and '-', with '/' between its parts", is_name, "string", ("renamed", "a/b"),
    explain_invalid=_no_name,
)  # fmt: skip
SCOPE = replace(NAME, accepts=lambda value: value == "" or is_name(value), samples=("a/b", ""))
NAME_OR_NONE = replace(
    NAME, accepts=lambda value: value is None or SCOPE.accepts(value), ts="string | null", samples=("grafted", None)
)
TEXT_OR_FUNCTION = ArgType(
    "a string or a function", lambda value: isinstance(value, str) or callable(value), "string", TEXT.samples, _as_it_is
)
ANYTHING = ArgType("anything", lambda value: True, "string", TEXT.samples, _as_it_is)
COUNT = ArgType("a whole number, 0 or more", is_count, "number", (0, 2))
NAMES = ArgType(
    "a list of strings", _is_names, "string[]", (["a/b", "a/", "~block_[0..3]/"], [], [_HOSTILE]), _name_list
)
NUMBERS = ArgType(
    "a list of numbers",
    lambda value: isinstance(value, list) and all(map(_is_number, value)),
    "number[]",
    ([0, -12.5, 0.75], []),
)
YES_OR_NO = ArgType("true or false", lambda value: isinstance(value, bool), "boolean", (True, False))
PANE = _one_of("source", "destination")
MODE = _one_of("set", "add", "toggle")
UNMAPPED = _one_of("placeholder", "keep", "include", "refuse")
CONTROL_POLICY = _one_of("auto", *CONTROL)
DIRECTION = _one_of("TB", "LR", "auto")
ASSIGN = _one_of("copy", "leave")
EXTERNAL = _one_of("keep", "refuse")
SIDE = _one_of("both", "inputs", "outputs")
COLORS = _one_of("device", "dtype", "family", "scope", "structure", *MEASURES)
FEED_TEXTS = ArgType(
    "an object with string values",
    lambda value: isinstance(value, dict) and all(isinstance(text, str) for pair in value.items() for text in pair),
    "Record<string, string>",
    ({"x:0": "batch"}, {}, {_HOSTILE: _HOSTILE}),
    _as_it_is,
)
PLAN_VIEW = _one_of("after", "before", "both")
RUN_TARGET = _one_of("applied", "graph", "plan", "selection")
FORMAT = _one_of(*FORMATS)
TARGET = _one_of(*TARGETS)
VALUES = _one_of("current", "initial")
OVERWRITE = _one_of("ask", "replace")
POLICY = _one_of("copy", "freeze", "initial", "share")
_pane = Arg("pane", PANE, "source")
_name, _names, _tensor = Arg("name", TEXT), Arg("names", NAMES), Arg("tensor", TEXT)
_old, _to = Arg("old", TEXT), Arg("to", TEXT)
_only = Arg("only", NAMES, ())
_scope, _called = Arg("to", NAME_OR_NONE, None), Arg("name", NAME_OR_NONE, None)


def _look(name: str, description: str, *args: Arg, gesture: str = "", result_type: str = "") -> CommandSpec:
    return CommandSpec(name, description, args, gesture, read_only=True, result_type=result_type)


def _edit(name: str, description: str, *args: Arg, gesture: str = "", result_type: str = "") -> CommandSpec:
    return CommandSpec(name, description, args, gesture, result_type=result_type)


_ALL = (
    # the selection and the folds
    _look("select", "select boxes", _names, Arg("mode", MODE, "set"), gesture="click a box, Shift+drag a frame"),
    _look("unfold", "open a scope, series or call", _name, _pane, gesture="double click"),
    _look("fold", "close a scope, series or call", _name, _pane, gesture="double click its frame"),
    _look("fold_all", "return to the initial view", _pane, gesture="button"),
    _look("reveal", "go to a box, even if it is folded", _name, _pane, gesture="click a result"),
    _look("outline_open", "open a row of the outline", _name, gesture="click its arrow"),
    _look("outline_close", "close a row of the outline", _name, gesture="click its arrow"),
    _look("details", "show the details of a box", _name, _pane, gesture="click a box", result_type="Details"),
    _look("attributes", "list the attributes of boxes", _names, _pane, gesture="click a box", result_type="Attributes"),
    _look("op_types", "find op types by name or description", Arg("query", TEXT, ""), Arg("names", NAMES, ()),
          Arg("inputs", COUNT, 0), gesture="button", result_type="OpType[]"),
    _look("find", "find ops that match a query", Arg("query", TEXT), _pane, gesture="search field",
          result_type="SearchResult"),
    _look("find_similar", "find and select all parts similar to some boxes", _names, gesture="menu",
          result_type="SimilarParts"),
    _look("select_between", "select all boxes between two boxes", Arg("a", TEXT), Arg("b", TEXT), gesture="menu"),
    _look("show_path", "show the shortest path between two boxes: why one needs the other",
          Arg("a", TEXT), Arg("b", TEXT),
          _pane, gesture="menu", result_type="DependencyPath"),
    _look("value", "fetch the value of a constant or variable", _name, gesture="button", result_type="Numbers"),
    _edit("show_signature", "show another signature or function of the file", _name, gesture="menu"),
    _look("infer", "infer the shapes of a file with TensorFlow", gesture="none: happens after a second"),
    _look("cancel", "cancel a layout", gesture="button"),
    # visited places
    _look("back", "go back to the previous place", gesture="button"),
    _look("forward", "go forward to the next place", gesture="button"),
    _look("save_view", "save this view under a name", Arg("name", TEXT_OR_NONE, None), Arg("at", NUMBERS, ()),
          gesture="menu", result_type="string"),
    _look("show_view", "go to a saved view", _name, gesture="menu", result_type="number[]"),
    _look("delete_view", "delete a saved view", _name, gesture="menu"),
    # how it looks
    _look("set_direction", "draw top to bottom or left to right", Arg("direction", DIRECTION), gesture="button"),
    _look("set_plan_view", "show the graph before the plan, after it, or both", Arg("show", PLAN_VIEW, "both"),
          gesture="button"),
    _look("set_depth", "open all scopes down to a depth", Arg("depth", COUNT), _pane, gesture="menu"),
    _look("set_budget", "set the largest number of boxes", Arg("boxes", COUNT), gesture="menu"),
    _look("show_helpers", "show or hide helpers of one kind", Arg("kind", TEXT), Arg("on", YES_OR_NO, True),
          gesture="menu"),
    _look("hide_ops", "hide ops of some types", Arg("types", NAMES), gesture="menu"),
    _look("show_training", "show or hide gradients and updates", Arg("on", YES_OR_NO, True), gesture="menu"),
    _look("paint", "color the boxes", Arg("by", COLORS, "family"), gesture="menu"),
    _look("fade", "fade the boxes of some legend entries", Arg("keys", NAMES), gesture="click the legend"),
    # runs
    _look("run_form", "list the inputs that a run needs", Arg("target", RUN_TARGET, "graph"), gesture="button",
          result_type="RunForm"),
    _look("trust", "trust a file, so that it can run", Arg("target", RUN_TARGET, "graph"), gesture="button"),
    _look("run", "run the graph and show the results", Arg("feeds", FEED_TEXTS, None),
          Arg("target", RUN_TARGET, "graph"),
          Arg("seed", COUNT, 0), Arg("limit", COUNT, 0), Arg("memory", COUNT, 0), gesture="button",
          result_type="{ line: string }"),
    _look("tensor_values", "show the values of tensors in the run", Arg("tensors", NAMES), gesture="click an edge",
          result_type="TensorValues[]"),
    _look("fetch", "fetch a whole tensor of the run as a picture", _tensor, gesture="button",
          result_type="TensorValues"),
    _look("clear_run", "clear the run", gesture="button"),
    # the boundary
    _edit("mark_input", "mark a boundary input", _tensor, gesture="menu"),
    _edit("mark_output", "mark a boundary output", _tensor, gesture="menu"),
    _edit("unmark", "unmark a boundary tensor", _tensor, gesture="button"),
    _edit("clear_boundary", "clear the boundary", gesture="button"),
    _edit("include", "copy the producers of a leak, too", _tensor, gesture="button"),
    _edit("swap_boundary", "swap the boundary inputs and outputs", gesture="button"),
    _edit("mark_boundary", "mark the boundary of the selection", gesture="menu"),
    _look("suggest_boundaries", "suggest boundaries near the selection that few tensors cross", gesture="menu",
          result_type="SuggestedBoundary[]"),
    _edit("set_boundary", "replace the boundary by other tensors", Arg("inputs", NAMES), Arg("outputs", NAMES),
          gesture="menu"),
    _edit("add_leak", "make a leak a boundary input", _tensor, gesture="button"),
    # the plan
    _edit("copy", "copy the region or the selection", _scope, Arg("unmapped", UNMAPPED, "placeholder"),
          Arg("control", CONTROL_POLICY, "auto"), gesture="menu"),
    _look("input_candidates", "list the possible consumers of a tensor", _tensor, _pane,
          gesture="drag from a port or an edge", result_type="InputCandidates"),
    _edit("connect", "connect a tensor to an input of an op", _tensor, _to, Arg("input", COUNT, 0),
          gesture="drag from a port or an edge to a box"),
    _edit("copy_and_connect", "copy the producers of a tensor of the source, and connect the copy", _tensor, _to,
          Arg("input", COUNT, 0), Arg("kinds", NAMES, ()), gesture="drag from the other graph to a box"),
    _look("adapters", "list the adapters that make a tensor fit an input", _tensor, _to,
          Arg("input", COUNT, 0), Arg("pane", PANE, "destination"),
          gesture="drop it on an input that it does not fit", result_type="Adapter[]"),
    _edit("adapt", "connect a tensor to an input through an adapter", _tensor, _to,
          Arg("input", COUNT, 0), Arg("kinds", NAMES, ()), gesture="drop it on an input that it does not fit"),
    _edit("apply_fix", "fix an error with an adapter", Arg("fault", COUNT), Arg("fix", COUNT, 0), gesture="button"),
    _edit("set_policy", "set the policy of a variable in a copy", Arg("step", COUNT), Arg("variable", TEXT),
          Arg("policy", POLICY), gesture="tab Variables"),
    _edit("set_input", "set the source of an input of a copy", Arg("step", COUNT), _tensor,
          Arg("replacement", ANYTHING), gesture="tab Mapping"),
    _edit("set_scope", "set the scope of a copy", Arg("step", COUNT), Arg("to", SCOPE),
          gesture="tab Mapping"),
    _edit("reroute", "make the consumers of one tensor read another", _old, _to, _only, gesture="menu"),
    _edit("swap", "swap the consumers of two tensors", Arg("a", TEXT), Arg("b", TEXT),
          gesture="menu"),
    _edit("bypass", "connect the consumers of an op to its first input", Arg("op", TEXT), gesture="menu"),
    _edit("detach", "cut boxes off with placeholders", _names, Arg("side", SIDE, "both"),
          gesture="menu"),
    _edit("insert", "insert a new op after a tensor", Arg("op", TEXT), Arg("on", TEXT), _called, _only,
          gesture="menu of a box or an edge"),
    _edit("insert_copy", "insert a copy of boxes after a tensor", _names, Arg("on", TEXT), _scope,
          Arg("pane", PANE, "destination"), gesture="drag boxes onto an edge"),
    _look("copy_to_clipboard", "copy boxes to the clipboard", _names, _pane, gesture="menu"),
    _edit("cut", "copy boxes to the clipboard, and remove them", _names, gesture="menu"),
    _edit("paste", "paste a copy of the clipboard", _scope, Arg("keep_inputs", YES_OR_NO, False), gesture="menu"),
    _edit("duplicate", "duplicate boxes, also from the other graph", _names, Arg("pane", PANE, "destination"), _scope,
          Arg("keep_inputs", YES_OR_NO, True), gesture="drag boxes to the other pane"),
    _edit("remove", "remove boxes", _names, Arg("stitch", YES_OR_NO, False), gesture="menu"),
    _edit("set_attr", "set an attribute of boxes", _names, _name, Arg("value", ANYTHING), gesture="click it"),
    _edit("set_device", "place boxes on a device", _names, Arg("device", TEXT), gesture="click it"),
    _edit("add_control", "make an op run after another", Arg("op", TEXT), Arg("after", TEXT), gesture="menu"),
    _edit("remove_control", "remove control inputs of an op", Arg("op", TEXT), Arg("after", TEXT_OR_NONE, None),
          gesture="menu"),
    _edit("reroute_control", "move control edges from one op to another", _old, _to, gesture="menu"),
    _edit("rename", "rename an op or a scope", _old, Arg("to", NAME), gesture="menu"),
    _edit("collapse", "collapse boxes into one call", _names, _called, gesture="menu"),
    _edit("inline", "inline calls", _names, gesture="menu"),
    _edit("unroll", "unroll a loop", Arg("loop", TEXT), Arg("times", COUNT), gesture="menu"),
    _edit("resolve_condition", "fix a condition and keep one branch", _name, Arg("value", ANYTHING),
          gesture="menu"),
    _edit("replace", "replace all parts similar to some boxes", _names, Arg("replacement", TEXT_OR_FUNCTION),
          Arg("external", EXTERNAL, "refuse"), gesture="click its type"),
    _edit("on_copies", "make the edits so far on copies", Arg("scope", NAME_OR_NONE, None), Arg("until", NAMES, ()),
          Arg("assign", ASSIGN, "leave"), gesture="menu"),
    _edit("remove_step", "remove a step of the plan", Arg("step", COUNT), gesture="button"),
    _edit("move_step", "move a step of the plan", Arg("step", COUNT), Arg("before", COUNT),
          gesture="button"),
    _edit("mute_step", "mute a step of the plan", Arg("step", COUNT),
          Arg("on", YES_OR_NO, True), gesture="button"),
    _look("step_form", "list the arguments of a step of the plan", Arg("step", COUNT), gesture="button",
          result_type="Argument[]"),
    _edit("edit_step", "edit the arguments of a step of the plan", Arg("step", COUNT), Arg("values", FEED_TEXTS),
          gesture="button"),
    _look("recipes", "list the recipes, and why some do not apply", gesture="button",
          result_type="RecipeEntry[]"),
    _edit("run_recipe", "run a recipe", _name, Arg("values", FEED_TEXTS, None), gesture="menu",
          result_type="{ line: string }"),
    _look("check", "check whether the graph converts to a target", Arg("target", TARGET), Arg("outputs", TEXT, ""),
          Arg("inputs", TEXT, ""), Arg("verify", YES_OR_NO, False), gesture="menu",
          result_type="Report"),
    _look("save_form", "list the formats, inputs and outputs for a save", gesture="button",
          result_type="SaveForm"),
    _edit("save", "save the graph, or a picture of it, and check the file", Arg("path", TEXT),
          Arg("format", FORMAT, "saved_model"), Arg("signature", TEXT, ""), Arg("inputs", TEXT, ""),
          Arg("outputs", TEXT, ""), Arg("values", VALUES, "current"), Arg("if_exists", OVERWRITE, "ask"),
          gesture="button", result_type="Report"),
    _look("history_code", "show all applied plans as a script", gesture="button", result_type="{ code: string }"),
    _edit("undo", "undo a step, mark or selection, or the last applied plan", gesture="button"),
    _edit("redo", "redo the last undone action", gesture="button"),
    _edit("go_to_step", "show the graph after a step of the history", Arg("step", COUNT), gesture="button"),
    _edit("apply", "apply the plan", gesture="button", result_type="{ applied: string }"),
)  # fmt: skip

COMMAND_SPECS: dict[str, CommandSpec] = {verb.name: verb for verb in _ALL}
"""All verbs by name."""
