from __future__ import annotations

import base64
import re
import threading
import time
import traceback

import pytest

from graphsurgeon.screen.verbs import VERBS
from graphsurgeon.widget.widget import GraphWidget
from tests.until import until
from tests.widget.fake_screen import FakeScreen


@pytest.fixture
def screen():
    return FakeScreen()


@pytest.fixture
def widget(screen):
    widget = GraphWidget(screen)
    widget.told = []
    widget.send = lambda content, buffers=None: widget.told.append(content)
    return widget


def say(widget, **message):
    """Delivers a message as the page's arrive."""
    widget._handle_msg({"content": {"data": {"method": "custom", "content": message}}, "buffers": []})


def test_the_first_state_is_the_screens(widget, screen):
    for name, value in screen.traits().items():
        assert getattr(widget, name) == value
    assert widget.protocol == 1
    assert widget.last_error is None


def test_a_message_is_done_and_answered(widget, screen):
    say(widget, v=1, id=4, verb="select", args={"names": ["images"], "mode": "set"})
    assert screen.calls == [("select", {"names": ["images"], "mode": "set"})]
    assert widget.told == [{"v": 1, "id": 4, "ok": True, "result": None}]
    assert widget.selected == ["images"]


def test_simulate_is_the_same_handler(widget, screen):
    assert widget.simulate("mark_output", tensor="softmax2:0") == {"v": 1, "id": 1, "ok": True, "result": None}
    assert [t["tensor"] for t in widget.boundary["outputs"]] == ["softmax2:0"]
    assert widget.boundary["leaks"]
    assert widget.simulate("details", pane="source", name="split")["result"]["title"] == "Split"


def test_every_verb_is_a_method_of_the_fake():
    assert all(callable(getattr(FakeScreen, verb)) for verb in VERBS)


def test_an_error_of_the_screen_is_answered_shown_and_kept(widget):
    reply = widget.simulate("mark_input", tensor="nowhere:0")
    assert reply["ok"] is False
    assert reply["error"] == {
        "asked": "mark_input('nowhere:0')",
        "wrong": "there is no such tensor",
        "instead": "Did you mean 'conv0/Relu:0'?",
    }
    assert widget.status["level"] == "error"
    assert widget.status["text"] == ("mark_input('nowhere:0'): there is no such tensor. Did you mean 'conv0/Relu:0'?")
    assert str(widget.last_error).startswith("mark_input('nowhere:0')")


def test_the_next_change_clears_the_error_from_the_status(widget):
    widget.simulate("mark_input", tensor="nowhere:0")
    widget.simulate("mark_input", tensor="images:0")
    assert widget.status["level"] == "info"


def test_a_fault_of_ours_is_answered_with_where_to_look(widget):
    reply = widget.simulate("redo")
    assert reply["error"] == {
        "asked": "redo",
        "wrong": "IndexError: pop from empty list",
        "instead": "This is a fault of graphsurgeon: the widget's last_error has the traceback to report",
    }
    assert "in redo" in "".join(traceback.format_exception(widget.last_error))


def test_a_message_outside_the_protocol_is_answered(widget, screen):
    say(widget, v=1, id=9, verb="traits", args={})
    assert widget.told[0]["error"]["wrong"] == "there is no such verb"
    assert widget.told[0]["id"] == 9
    assert screen.calls == []


def test_a_result_that_is_not_json_is_an_error(widget, screen):
    screen.undo = lambda: object()
    reply = widget.simulate("undo")
    assert reply["error"]["wrong"] == "TypeError: Object of type object is not JSON serializable"


def test_an_error_while_showing_is_kept(widget, screen):
    screen.traits = lambda: 1 / 0
    widget.push()
    assert widget.status == {
        "text": "show the state: ZeroDivisionError: division by zero. "
        "This is a fault of graphsurgeon: the widget's last_error has the traceback to report.",
        "level": "error",
    }
    assert isinstance(widget.last_error, ZeroDivisionError)


def test_changes_from_a_thread_while_the_screen_holds_its_lock(screen):
    """A layout thread and a verb change the screen at once: no deadlock, and the last state is shown."""
    lock, plain = threading.RLock(), screen.traits

    def traits():
        with lock:
            time.sleep(0)
            return plain()

    screen.traits = traits
    widget = GraphWidget(screen)

    def lay_out():
        for i in range(50):
            screen.status = {"text": f"layout {i}", "level": "busy"}
            screen._callbacks[0]()

    thread = threading.Thread(target=lay_out)
    thread.start()
    for i in range(50):
        with lock:
            screen.select([f"op{i}"], "set")
    thread.join(60)
    assert not thread.is_alive()
    until(lambda: not widget._pushing and not widget._stale)
    assert widget.status["text"] == "layout 49"
    assert widget.selected == ["op49"]


def test_the_bundle_has_a_picture_for_every_viewer(widget, screen):
    data, _ = widget._repr_mimebundle_()
    assert data["image/svg+xml"] == screen.svg()
    assert data["text/plain"] == screen.describe()
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == widget.model_id
    coded = re.fullmatch(r'<img alt="a graph of 25 ops" src="data:image/svg\+xml;base64,(.+)">', data["text/html"])[1]
    assert base64.b64decode(coded).decode() == screen.svg()


def test_the_description_cannot_leave_its_attribute(widget, screen):
    screen.describe = lambda: '"><script>'
    assert "<script>" not in widget._repr_mimebundle_()[0]["text/html"]
