"""What the page may say and how it is answered: version 1 of the widget's protocol, as one table.

A message of the page is `{"v": 1, "id": int, "verb": str, "args": {...}}`. It is always answered, with the same
id, by `{"v": 1, "id": int, "ok": true, "result": ...}` or by `{"v": 1, "id": int, "ok": false, "error": {...}}`;
the error has the three parts "asked", "wrong" and "instead".
"""

from __future__ import annotations

import json
import reprlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from graphsurgeon.errors import SurgeryError, nearest

VERSION = 1

Json = dict[str, Any]


class ProtocolError(SurgeryError):
    """A message that is not in the protocol; nothing was done.

    Args:
        asked, wrong, instead: the three parts of every error.
        id: the number of the message, 0 where it has none.
    """

    def __init__(self, asked: str, wrong: str, instead: str, id: int = 0) -> None:
        super().__init__(asked, wrong, instead)
        self.id = id


@dataclass(frozen=True)
class Kind:
    """A type of argument: what it is called in messages, and whether a value is one."""

    words: str
    fits: Callable[[Any], bool]


def _one_of(*choices: str) -> Kind:
    words = "one of " + ", ".join(repr(c) for c in sorted(choices))
    return Kind(words, lambda value: isinstance(value, str) and value in choices)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


TEXT = Kind("a text", lambda value: isinstance(value, str))
TEXT_OR_NONE = Kind("a text or null", lambda value: value is None or isinstance(value, str))
COUNT = Kind("a whole number from 0", _is_count)
NAMES = Kind("a list of texts", lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value))
NUMBERS = Kind("a list of numbers", lambda value: isinstance(value, list) and all(map(_is_number, value)))
YES_OR_NO = Kind("true or false", lambda value: isinstance(value, bool))
PANE = _one_of("source", "destination")
MODE = _one_of("set", "add", "toggle")
UNMAPPED = _one_of("placeholder", "keep", "include", "refuse")
DIRECTION = _one_of("TB", "LR")
ASSIGN = _one_of("copy", "leave")
EXTERNAL = _one_of("keep", "refuse")
SIDE = _one_of("both", "inputs", "outputs")
TRAINING = _one_of("away", "beside", "scopes")
COLOURS = _one_of("device", "dtype", "family", "scope", "structure")
POLICY = _one_of("copy", "freeze", "initial", "share")

REQUIRED = object()
"""Default of an argument that has none."""

VERBS: dict[str, dict[str, tuple[Kind, Any]]] = {
    "pick": {"names": (NAMES, REQUIRED), "mode": (MODE, "set")},
    "unfold": {"pane": (PANE, "source"), "name": (TEXT, REQUIRED)},
    "fold": {"pane": (PANE, "source"), "name": (TEXT, REQUIRED)},
    "fold_all": {"pane": (PANE, "source")},
    "details": {"pane": (PANE, "source"), "name": (TEXT, REQUIRED)},
    "mark_input": {"tensor": (TEXT, REQUIRED)},
    "mark_output": {"tensor": (TEXT, REQUIRED)},
    "unmark": {"tensor": (TEXT, REQUIRED)},
    "clear_boundary": {},
    "boundary_of_picked": {},
    "add_leak": {"tensor": (TEXT, REQUIRED)},
    "copy": {"to": (TEXT_OR_NONE, None), "unmapped": (UNMAPPED, "placeholder")},
    "connect": {"tensor": (TEXT, REQUIRED), "to": (TEXT, REQUIRED), "input": (COUNT, REQUIRED)},
    "set_policy": {"step": (COUNT, REQUIRED), "variable": (TEXT, REQUIRED), "policy": (POLICY, REQUIRED)},
    "reroute": {"old": (TEXT, REQUIRED), "to": (TEXT, REQUIRED)},
    "swap": {"a": (TEXT, REQUIRED), "b": (TEXT, REQUIRED)},
    "bypass": {"op": (TEXT, REQUIRED)},
    "detach": {"names": (NAMES, REQUIRED), "side": (SIDE, "both")},
    "insert": {"op": (TEXT, REQUIRED), "on": (TEXT, REQUIRED), "name": (TEXT_OR_NONE, None)},
    "remove": {"names": (NAMES, REQUIRED), "stitch": (YES_OR_NO, False)},
    "set_attr": {"names": (NAMES, REQUIRED), "name": (TEXT, REQUIRED), "value": (TEXT, REQUIRED)},
    "set_device": {"names": (NAMES, REQUIRED), "device": (TEXT, REQUIRED)},
    "add_control": {"op": (TEXT, REQUIRED), "after": (TEXT, REQUIRED)},
    "remove_control": {"op": (TEXT, REQUIRED), "after": (TEXT_OR_NONE, None)},
    "reroute_control": {"old": (TEXT, REQUIRED), "to": (TEXT, REQUIRED)},
    "rename": {"old": (TEXT, REQUIRED), "to": (TEXT, REQUIRED)},
    "collapse": {"names": (NAMES, REQUIRED), "name": (TEXT_OR_NONE, None)},
    "inline": {"names": (NAMES, REQUIRED)},
    "insert_copy": {"names": (NAMES, REQUIRED), "on": (TEXT, REQUIRED), "to": (TEXT_OR_NONE, None)},
    "forward_edits": {"to": (TEXT_OR_NONE, None), "until": (NAMES, []), "assign": (ASSIGN, "leave")},
    "find_like": {"names": (NAMES, REQUIRED)},
    "replace": {"names": (NAMES, REQUIRED), "by": (TEXT, REQUIRED), "external": (EXTERNAL, "refuse")},
    "undo": {},
    "redo": {},
    "apply": {},
    "find": {"query": (TEXT, REQUIRED)},
    "reveal": {"pane": (PANE, "source"), "name": (TEXT, REQUIRED)},
    "outline_open": {"name": (TEXT, REQUIRED)},
    "outline_close": {"name": (TEXT, REQUIRED)},
    "cancel": {},
    "back": {},
    "forward": {},
    "save_view": {"name": (TEXT_OR_NONE, None), "at": (NUMBERS, [])},
    "show_view": {"name": (TEXT, REQUIRED)},
    "forget_view": {"name": (TEXT, REQUIRED)},
    "set_direction": {"direction": (DIRECTION, REQUIRED)},
    "set_depth": {"depth": (COUNT, REQUIRED), "pane": (PANE, "source")},
    "set_budget": {"boxes": (COUNT, REQUIRED)},
    "show_aside": {"kind": (TEXT, REQUIRED), "on": (YES_OR_NO, True)},
    "hide_ops": {"types": (NAMES, REQUIRED)},
    "set_training": {"how": (TRAINING, REQUIRED)},
    "paint": {"by": (COLOURS, REQUIRED)},
    "fade": {"keys": (NAMES, REQUIRED)},
    "look_inside": {"name": (TEXT, REQUIRED), "function": (TEXT_OR_NONE, None)},
    "leave": {},
    "value": {"name": (TEXT, REQUIRED)},
}
"""Verb -> argument -> (type, default)."""


@dataclass(frozen=True)
class Request:
    """A message that is in the protocol: call the screen's method `verb` with `args`, all of them present."""

    id: int
    verb: str
    args: Json


def parse(message: object) -> Request:
    """Returns the request in a message of the page, with defaults filled in.

    Args:
        message: what arrived, of any type.

    Raises:
        ProtocolError: it is not a message of this version, names no verb, or has wrong arguments.

    Example:
        >>> parse({"v": 1, "id": 7, "verb": "pick", "args": {"names": ["a/b"]}}).args
        {'names': ['a/b'], 'mode': 'set'}
    """
    if not isinstance(message, dict):
        raise ProtocolError(
            "a message of the page",
            f"it is {_a(message)}, not an object",
            'Send {"v": 1, "id": 1, "verb": "undo", "args": {}}',
        )
    given = message.get("id")
    id = int(given) if given is not None and _is_count(given) else 0
    version, verb, args = message.get("v"), message.get("verb"), message.get("args", {})
    if version != VERSION or isinstance(version, bool):
        raise ProtocolError(
            "a message of the page",
            f"it speaks version {_short(version)} of the protocol and this kernel speaks {VERSION}",
            "Restart the kernel and reload the page, so that both run the same graphsurgeon",
            id,
        )
    if id == 0:
        raise ProtocolError(
            _short(verb),
            f"its id is {_short(given)}, not a whole number from 1",
            "Number the messages from 1",
        )
    if not isinstance(verb, str) or verb not in VERBS:
        close = nearest(verb, VERBS) if isinstance(verb, str) else []
        hint = f"Did you mean {close[0]!r}? " if close else ""
        verbs = ", ".join(sorted(VERBS))
        raise ProtocolError(_short(verb), "there is no such verb", f"{hint}The verbs are {verbs}", id)
    if not isinstance(args, dict):
        raise ProtocolError(verb, f"args is {_a(args)}, not an object", f"Call it as {usage(verb)}", id)
    table = VERBS[verb]
    for name in args:
        if name not in table:
            raise ProtocolError(verb, f"it has no argument {_short(name)}", f"Call it as {usage(verb)}", id)
    full: Json = {}
    for name, (kind, default) in table.items():
        if name not in args:
            if default is REQUIRED:
                raise ProtocolError(verb, f"argument {name!r} is missing", f"Call it as {usage(verb)}", id)
            full[name] = default
        elif kind.fits(args[name]):
            full[name] = args[name]
        else:
            raise ProtocolError(verb, f"{name} is {_short(args[name])}", f"Give {name} as {kind.words}", id)
    return Request(id, verb, full)


def usage(verb: str) -> str:
    """Returns how a verb is called.

    Example:
        >>> usage("pick")
        "pick(names, mode='set')"
    """
    table = VERBS[verb].items()
    args = [name if default is REQUIRED else f"{name}={default!r}" for name, (_, default) in table]
    return f"{verb}({', '.join(args)})"


def answer(id: int, result: Any) -> Json:
    """Returns the answer to a request that was done.

    Raises:
        TypeError, ValueError: `result` is not plain JSON (NaN and infinities are not).
    """
    json.dumps(result, allow_nan=False)
    return {"v": VERSION, "id": id, "ok": True, "result": result}


def refusal(id: int, error: BaseException, asked: str = "") -> Json:
    """Returns the answer to a request that failed, with the three parts of the error.

    Args:
        id: the number of the message.
        error: what was raised; any exception but a SurgeryError is a fault of ours and is said to be one.
        asked: the verb, for errors that do not say what was asked.
    """
    return {"v": VERSION, "id": id, "ok": False, "error": parts(error, asked)}


def parts(error: BaseException, asked: str = "") -> dict[str, str]:
    """Returns {"asked", "wrong", "instead"} of any exception."""
    if isinstance(error, SurgeryError):
        return {"asked": error.asked, "wrong": error.wrong, "instead": error.instead}
    return {
        "asked": asked,
        "wrong": f"{type(error).__name__}: {error}",
        "instead": "This is a fault of graphsurgeon: the widget's last_error has the traceback to report",
    }


def _short(value: object) -> str:
    """Returns a value quoted, at most some 60 characters long."""
    shortener = reprlib.Repr()
    shortener.maxstring = shortener.maxother = 60
    return shortener.repr(value)


def _a(value: object) -> str:
    """Returns the JSON word for the type of a value."""
    words = {bool: "a boolean", int: "a number", float: "a number", str: "a text", list: "a list"}
    return "null" if value is None else words.get(type(value), f"a {type(value).__name__}")
