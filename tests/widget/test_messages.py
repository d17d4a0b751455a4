from __future__ import annotations

import json
from pathlib import Path

import pytest

from graphsurgeon.errors import PlanError, SurgeryError
from graphsurgeon.ui.commands.specs import COMMAND_SPECS
from graphsurgeon.ui.messages import VERSION, ProtocolError, answer, execute, parse, parts, refusal
from tests.widget.subject import plain_screen

EXAMPLES = json.loads((Path(__file__).parent / "protocol_examples.json").read_text())


@pytest.mark.parametrize("verb", COMMAND_SPECS)
def test_valid(verb):
    for args in COMMAND_SPECS[verb].examples():
        request = parse(json.loads(json.dumps({"v": VERSION, "id": 5, "verb": verb, "args": args})))
        assert (request.id, request.verb, request.args) == (5, verb, args)


@pytest.mark.parametrize("example", EXAMPLES["invalid"], ids=lambda e: e["error"]["problem"][:40])
def test_invalid(example):
    """The form of a message is checked first; then the screen checks the values, as it does for Python."""
    screen = plain_screen()
    with pytest.raises(SurgeryError) as caught:
        execute(screen, parse(example["message"]))
    id = getattr(caught.value, "id", example["id"])
    assert refusal(id, caught.value) == {"v": 1, "id": example["id"], "ok": False, "error": example["error"]}


def test_a_long_value_is_shortened_in_the_message():
    with pytest.raises(ProtocolError) as caught:
        parse({"v": 1, "id": 1, "verb": "x" * 100_000, "args": {}})
    assert len(str(caught.value)) - len(", ".join(COMMAND_SPECS)) < 150


def test_a_long_name_is_an_argument_like_any_other():
    assert (
        len(parse({"v": 1, "id": 1, "verb": "mark_input", "args": {"tensor": "x" * 100_000}}).args["tensor"]) == 100_000
    )


def test_answer():
    assert answer(3, {"hits": []}) == {"v": 1, "id": 3, "ok": True, "result": {"hits": []}}


@pytest.mark.parametrize(
    ("result", "said"), [(float("nan"), "Out of range float"), (object(), "not JSON serializable")]
)
def test_answer_is_json(result, said):
    with pytest.raises((TypeError, ValueError), match=said):
        answer(3, result)


def test_parts_of_our_errors():
    assert parts(PlanError("copy('a')", "it is taken", "Try 'b'")) == {
        "request": "copy('a')", "problem": "it is taken", "suggestion": "Try 'b'",
    }  # fmt: skip


def test_parts_of_a_fault_of_ours():
    assert parts(KeyError("x"), "undo") == {
        "request": "undo",
        "problem": "KeyError: 'x'",
        "suggestion": "This is a bug in graphsurgeon: please report it with the traceback in the widget's last_error",
    }
