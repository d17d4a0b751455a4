"""Makes commands of functions: the signature is also the protocol, the types of the page and the documentation."""

from __future__ import annotations

import ast
import inspect
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

from ...errors import PlanError, SelectionError
from ...graph.names import invalid_name_fault, valid_name
from ...plan.steps.copy import CONTROL
from ...view import page_types
from ..run_results import MEASURES


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


_HOSTILE = "</text><script>alert(1)</script>"


@dataclass(frozen=True, eq=False)
class FieldType:
    """A type of values: of an argument of a command, and of a field of a form.

    Args:
        description: its name in messages.
        accepts: returns whether a JSON value has this type.
        ts: its name in TypeScript.
        samples: valid values, for tests and examples.
        read: converts a value from Python code to the value that a page would send.
        explain_invalid: returns the problem of an invalid value and a suggestion; None for a general message.
        parse: returns the value of a typed text; raises ValueError if the text is not valid.
        to_text: returns the text of a value.
        options: all possible texts with their labels; empty if any text is possible.
    """

    description: str
    accepts: Callable[[Any], bool] = lambda value: isinstance(value, str)
    ts: str = "string"
    samples: tuple[Any, ...] = ("a/b", "a/b:0", _HOSTILE)
    read: Callable[[Any], Any] = plain
    explain_invalid: Callable[[Any], tuple[str, str] | None] = nothing_more
    parse: Callable[[str], Any] = str
    to_text: Callable[[Any], str] = str
    options: tuple[tuple[str, str], ...] = ()

    def field(self, name: str, label: str, value: str = "", hint: str = "") -> page_types.Field:
        """Returns a field of a form that has this type."""
        out: page_types.Field = {"name": name, "label": label, "value": value, "hint": hint}
        if self.options:
            out["options"] = list(self.options)
        return out

    def read_field(self, name: str, text: str, request: str) -> Any:
        """Returns the value of the text of a field.

        Args:
            name: the name of the field.
            text: the typed text.
            request: the request, for messages.

        Raises:
            PlanError: the text is not valid.
        """
        try:
            return self.parse(text.strip())
        except ValueError:
            parts = self.explain_invalid(text.strip()) or (f"{text!r} is not valid", f"Type {self.description}")
            raise PlanError(f"{request[:-1]}, {name}={text!r})", *parts, name) from None


Command = TypeVar("Command", bound=Callable[..., Any])

REQUIRED = object()
"""The default of an argument without a default."""


@dataclass(frozen=True)
class Arg:
    """An argument of a verb: its name, its type, its default; and if a form has it, its label and the hint there."""

    name: str
    kind: FieldType
    default: Any = REQUIRED
    label: str = ""
    hint: str = ""

    @property
    def field(self) -> page_types.Field:
        """The field of the argument in a form. A hint replaces the default."""
        value = "" if self.hint or self.default in (REQUIRED, None, ()) else self.kind.to_text(self.default)
        out = self.kind.field(self.name, self.label, value, self.hint)
        if self.kind.ts in get_args(page_types.ValueType):
            out["type"] = cast(page_types.ValueType, self.kind.ts)
        return out


@dataclass(frozen=True)
class CommandSpec:
    """A command of a screen, which is the method of `Screen` of this name.

    Args:
        name: the name of the method, and of its message.
        summary: its effect; a phrase that begins with a verb.
        function: the function of the context, the state and the arguments.
        gesture: the gesture of the mouse; empty without one.
        read_only: whether it changes no graph and no plan, so that it may run while a cell of the notebook runs.
    """

    name: str
    summary: str
    function: Callable[..., Any]
    gesture: str = ""
    read_only: bool = False

    @cached_property
    def args(self) -> tuple[Arg, ...]:
        """The arguments that a message may have: the parameters whose annotation has a `FieldType`."""
        out = []
        for parameter in inspect.signature(self.function, eval_str=True).parameters.values():
            declared = parameter.annotation
            parts = (*get_args(declared), *(part for one in get_args(declared) for part in get_args(one)))
            default = REQUIRED if parameter.default is parameter.empty else parameter.default
            texts = [part for part in getattr(declared, "__metadata__", ()) if isinstance(part, str)]
            out += [Arg(parameter.name, kind, default, *texts) for kind in parts if isinstance(kind, FieldType)]
        return tuple(out)

    @cached_property
    def result_type(self) -> Any:
        """The type of its result, from its annotation; None without a result."""
        returned = inspect.signature(self.function, eval_str=True).return_annotation
        return get_args(returned)[1] if get_origin(returned) is tuple else None

    @property
    def is_query(self) -> bool:
        """Whether it changes nothing and has a result, so that the result and errors are only for the caller.

        Example:
            >>> COMMAND_SPECS["details"].is_query, COMMAND_SPECS["select"].is_query
            (True, False)
        """
        return self.read_only and self.result_type is not None

    @property
    def usage(self) -> str:
        """The text of a call.

        Example:
            >>> COMMAND_SPECS["select"].usage
            "select(names, mode='set')"
        """
        parts = [arg.name if arg.default is REQUIRED else f"{arg.name}={arg.default!r}" for arg in self.args]
        return f"{self.name}({', '.join(parts)})"

    def form(self, **values: str) -> list[page_types.Field]:
        """Returns the fields of its form: the arguments with a label.

        Args:
            values: the texts of fields, instead of the defaults.

        Example:
            >>> [field["value"] for field in COMMAND_SPECS["on_copies"].form(scope="new")]
            ['new', '', 'leave']
        """
        fields = [arg.field for arg in self.args if arg.label]
        return [{**field, "value": values.get(field["name"], field["value"])} for field in fields]

    def read(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Returns name -> value of arguments, converted to the values that a page would send.

        Args:
            values: name -> value. Names that are not in `args` are left as they are.

        Raises:
            SelectionError, PlanError: a value does not have the type of its argument.
        """
        out = dict(values)
        for arg in self.args:
            if arg.name not in out or out[arg.name] is arg.default:
                continue
            value = arg.kind.read(out[arg.name])
            if not arg.kind.accepts(value):
                text = reprlib.repr(out[arg.name])
                parts = arg.kind.explain_invalid(value) or (
                    f"{text} is not {arg.kind.description}",
                    f"Call it as {self.usage}",
                )
                raise (SelectionError if self.read_only else PlanError)(
                    f"{self.name}({arg.name}={text})", *parts, arg.name
                )
            out[arg.name] = value
        return out

    def examples(self) -> list[dict[str, Any]]:
        """Returns dicts with valid values for all arguments, made from the samples of their types.

        Example:
            >>> COMMAND_SPECS["set_direction"].examples()
            [{'direction': 'LR'}, {'direction': 'TB'}, {'direction': 'auto'}]
        """
        most = max((len(arg.kind.samples) for arg in self.args), default=1)
        return [{arg.name: arg.kind.samples[i % len(arg.kind.samples)] for arg in self.args} for i in range(most)]


def choice_of(*choices: str | tuple[str, str]) -> FieldType:
    """Returns the type of one of some texts, which may have labels. An empty text is the default.

    Example:
        >>> choice_of("b", "a").description, choice_of(("", "any"), ("x", "x only")).options
        ("one of 'a', 'b'", (('', 'any'), ('x', 'x only')))
    """
    options = tuple((choice, choice) if isinstance(choice, str) else choice for choice in choices)
    texts = sorted(text for text, _ in options if text)

    def parse(text: str) -> str:
        if text not in texts:
            raise ValueError(text)
        return text

    return FieldType(
        "one of " + ", ".join(map(repr, texts)),
        lambda value: isinstance(value, str) and value in texts,
        " | ".join(f'"{text}"' for text in texts),
        tuple(texts),
        parse=parse,
        options=options,
    )


def parse_literal(value: Any) -> Any:
    """Returns the value of a text that is a Python literal, such as ``[1, 2]`` or ``None``; else the text.

    Example:
        >>> parse_literal("[1, 2]"), parse_literal("SAME"), parse_literal(3)
        ([1, 2], 'SAME', 3)
    """
    if not isinstance(value, str):
        return value
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):  # all errors of `literal_eval`
        return value


def parse_names(text: str) -> list[str]:
    """Parses names with commas between them, or a Python list of names.

    Example:
        >>> parse_names("a, b"), parse_names("['a']")
        (['a', 'b'], ['a'])
    """
    parsed = parse_literal(text)
    names = parsed if isinstance(parsed, list | tuple) else [part.strip() for part in text.split(",") if part.strip()]
    if not names or not all(isinstance(name, str) and name for name in names):
        raise ValueError(text)
    return list(names)


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


def _parse_name(text: str) -> str:
    if not is_name(text):
        raise ValueError(text)
    return text.strip("/")


def _parse_count(text: str) -> int:
    if int(text) < 0:
        raise ValueError(text)
    return int(text)


TEXT = FieldType("a string")
TEXT_OR_NONE = FieldType(
    "a string or null", lambda value: value is None or isinstance(value, str), "string | null", ("grafted", None)
)
NAME = FieldType(
    "a name: letters, digits, '_', '.' and '-', with '/' between its parts", is_name, "string", ("renamed", "a/b"),
    explain_invalid=_no_name, parse=_parse_name,
)  # fmt: skip
SCOPE = replace(
    NAME,
    accepts=lambda value: value == "" or is_name(value),
    samples=("a/b", ""),
    parse=lambda text: text and _parse_name(text),
)
NAME_OR_NONE = replace(
    NAME, accepts=lambda value: value is None or SCOPE.accepts(value), ts="string | null", samples=("grafted", None)
)
ANYTHING = FieldType("anything", lambda value: True, read=_as_it_is)
COUNT = FieldType("a whole number, 0 or more", is_count, "number", (0, 2), parse=_parse_count)
NAMES = FieldType(
    "a list of strings", _is_names, "string[]", (["a/b", "a/", "~block_[0..3]/"], [], [_HOSTILE]), _name_list
)
NUMBERS = FieldType(
    "a list of numbers",
    lambda value: isinstance(value, list) and all(map(_is_number, value)),
    "number[]",
    ([0, -12.5, 0.75], []),
)
_ANSWERS = choice_of("no", "yes")
YES_OR_NO = FieldType(
    "true or false",
    lambda value: isinstance(value, bool),
    "boolean",
    (True, False),
    parse=lambda text: _ANSWERS.parse(text) == "yes",
    to_text=lambda value: "yes" if value else "no",
    options=_ANSWERS.options,
)
PANE = choice_of(*get_args(page_types.PaneName))
MODE = choice_of("set", "add", "toggle")
UNMAPPED = choice_of("placeholder", "keep", "include", "refuse")
CONTROL_POLICY = choice_of("auto", *CONTROL)
COLORS = choice_of("device", "dtype", "family", "scope", "structure", *MEASURES)
FEED_TEXTS = FieldType(
    "an object with string values",
    lambda value: isinstance(value, dict) and all(isinstance(text, str) for pair in value.items() for text in pair),
    "Record<string, string>",
    ({"x:0": "batch"}, {}, {_HOSTILE: _HOSTILE}),
    _as_it_is,
)
PLAN_VIEW = choice_of(*get_args(page_types.PlanView))
RUN_TARGET = choice_of(*get_args(page_types.RunTarget))
POLICY = choice_of("copy", "freeze", "initial", "share")
FREE = "a free one"
"""The hint of a field for a new name. If it is empty, a free name is chosen."""
# The types of arguments, for the signatures of commands. A label, and a hint, may follow them: then forms have a field.
Text = Annotated[str, TEXT]
TextOrNone = Annotated[str | None, TEXT_OR_NONE]
Name = Annotated[str, NAME]
ScopeName = Annotated[str, SCOPE]
NameOrNone = Annotated[str | None, NAME_OR_NONE]
TextOrFunction = Annotated[
    str | Callable[..., Any],
    FieldType("a string or a function", lambda value: isinstance(value, str) or callable(value), read=_as_it_is),
]
Anything = Annotated[Any, ANYTHING]
Count = Annotated[int, COUNT]
Names = Annotated[Sequence[str], NAMES]
Numbers = Annotated[Sequence[float], NUMBERS]
YesOrNo = Annotated[bool, YES_OR_NO]
PaneName = Annotated[page_types.PaneName, PANE]
Mode = Annotated[str, MODE]
Unmapped = Annotated[str, UNMAPPED]
ControlPolicy = Annotated[str, CONTROL_POLICY]
Direction = Annotated[str, choice_of("TB", "LR", "auto")]
Assign = Annotated[str, choice_of(("leave", "leave them"), ("copy", "copy them too"))]
External = Annotated[str, choice_of(("refuse", "skip that match"), ("keep", "keep ops others use"))]
Side = Annotated[str, choice_of("both", "inputs", "outputs")]
ColorBy = Annotated[str, COLORS]
FeedTexts = Annotated[Mapping[str, str], FEED_TEXTS]
PlanView = Annotated[page_types.PlanView, PLAN_VIEW]
RunTarget = Annotated[page_types.RunTarget, RUN_TARGET]
Policy = Annotated[str, POLICY]

COMMAND_SPECS: dict[str, CommandSpec] = {}
"""All commands by name, in the order of their definition."""


def edit(summary: str, *, gesture: str = "", read_only: bool = False) -> Callable[[Command], Command]:
    """Makes a command of a function; its signature declares the types and defaults of the arguments.

    Args:
        summary: the effect; a phrase that begins with a verb.
        gesture, read_only: as in `CommandSpec`.
    """

    def register(function: Command) -> Command:
        name = function.__name__
        COMMAND_SPECS[name] = CommandSpec(name, summary, function, gesture, read_only)
        return function

    return register


def look(summary: str, *, gesture: str = "") -> Callable[[Command], Command]:
    """Makes a command of a function that changes no graph and no plan; see `edit`."""
    return edit(summary, gesture=gesture, read_only=True)
