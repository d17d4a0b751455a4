from __future__ import annotations

import base64
import importlib
import re
import sys
import threading
import traceback
from types import ModuleType
from unittest.mock import ANY

import pytest

from graphsurgeon.errors import PlanError
from graphsurgeon.ui.widget import GraphWidget, enable_in_colab
from tests.until import until
from tests.widget.subject import PlainFacts, plain_screen


@pytest.fixture
def screen():
    return plain_screen()


@pytest.fixture
def widget(screen):
    widget = GraphWidget(screen)
    widget.reported = []
    widget.send = lambda content, buffers=None: widget.reported.append(content)
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
    assert screen.state.view.selected == ("images",)
    assert widget.reported == [{"v": 1, "id": 4, "ok": True, "result": None}]
    assert widget.selected == ["images"]


def test_simulate_is_the_same_handler(widget, screen):
    assert widget.simulate("mark_output", tensor="softmax2:0") == {"v": 1, "id": 1, "ok": True, "result": None}
    assert [t["tensor"] for t in widget.boundary["outputs"]] == ["softmax2:0"]
    assert widget.boundary["ops"] == 28
    assert widget.simulate("details", pane="source", name="split")["result"]["title"] == "split"


def test_an_error_of_the_screen_is_answered_shown_and_kept(widget):
    reply = widget.simulate("mark_input", tensor="nowhere:0")
    assert reply["ok"] is False
    error = reply["error"]
    assert error["request"] == "mark_input('nowhere:0')"
    assert error["problem"] == "there is no tensor 'nowhere:0' in inception.pb: no op has that name"
    assert error["suggestion"].startswith("No name is similar")
    assert widget.status["level"] == "error"
    assert widget.status["text"] == f"{error['request']}: {error['problem']}. {error['suggestion']}."
    assert str(widget.last_error).startswith("mark_input('nowhere:0')")


def test_a_question_that_is_refused_is_answered_and_not_shown(widget):
    """The page asks again about what is selected after each change: it may be gone, and what was said stays."""
    widget.simulate("mark_output", tensor="softmax2:0")
    before = widget.status
    reply = widget.simulate("details", pane="source", name="gone")
    assert reply["error"]["problem"] == "nothing in inception.pb has this name"
    assert widget.status == before
    assert str(widget.last_error).startswith("details('gone')")


def test_progress_ends_with_a_question_that_fails(monkeypatch, widget, screen):
    def details(*_: object, **__: object) -> None:
        screen._progress("reading")
        assert widget.status["level"] == "busy"
        raise PlanError("details('nothing')", "it does not exist", "Give a box")

    monkeypatch.setattr(type(screen), "details", details)
    assert not widget.simulate("details", name="nothing", pane="source")["ok"]
    assert widget.status["level"] == "info"


def test_the_next_change_clears_the_error_from_the_status(widget):
    widget.simulate("mark_input", tensor="nowhere:0")
    widget.simulate("mark_input", tensor="images:0")
    assert "nowhere" not in widget.status["text"]


def test_a_fault_of_ours_is_answered_with_where_to_look(widget, screen):
    def redo():
        return [].pop()

    screen.redo = redo
    reply = widget.simulate("redo")
    assert reply["error"] == {
        "request": "redo",
        "problem": "IndexError: pop from empty list",
        "suggestion": "This is a bug in graphsurgeon: please report it with the traceback in the widget's last_error",
    }
    assert "in redo" in "".join(traceback.format_exception(widget.last_error))


def test_a_message_outside_the_protocol_is_answered(widget, screen):
    say(widget, v=1, id=9, verb="traits", args={})
    assert widget.reported[0]["error"]["problem"] == "no verb has this name"
    assert widget.reported[0]["id"] == 9
    assert screen.state.view.selected == ()


def test_a_result_that_is_not_json_is_an_error(widget, screen):
    screen.undo = lambda: object()
    reply = widget.simulate("undo")
    assert reply["error"]["problem"] == "TypeError: Object of type object is not JSON serializable"


def test_an_error_while_showing_is_kept(widget, screen):
    screen.traits = lambda: 1 / 0
    widget.push()
    assert widget.status == {
        "text": "show the state: ZeroDivisionError: division by zero. "
        "This is a bug in graphsurgeon: please report it with the traceback in the widget's last_error.",
        "level": "error",
    }
    assert isinstance(widget.last_error, ZeroDivisionError)


def test_changes_from_a_thread_while_the_screen_holds_its_lock(screen):
    """A layout thread and a verb change the screen at once: no deadlock, and the last state is shown."""
    widget = GraphWidget(screen)
    reported = []
    screen.on_change(lambda: reported.append(screen.state.budget))

    def lay_out():
        for i in range(50):
            with screen.exclusive():
                screen.set_budget(100 + i)

    thread = threading.Thread(target=lay_out)
    thread.start()
    for i in range(50):
        with screen.exclusive():
            screen.select([("images", "split")[i % 2]], "set")
    thread.join(60)
    assert not thread.is_alive()
    until(lambda: not widget._pushing and not widget._stale)
    assert len(reported) == 100
    assert widget.look["budget"] == 149
    assert widget.selected == ["split"]


def test_what_a_cell_does_while_the_page_looks_is_kept_and_shown(monkeypatch, widget, screen):
    begun, goes_on = threading.Event(), threading.Event()

    def slow(_facts, _op_type):
        begun.set()
        assert goes_on.wait(60)
        return ""

    monkeypatch.setattr(PlainFacts, "documentation", slow)
    screen.select(["images"])
    say(widget, v=1, id=7, verb="details", args={"name": "images", "pane": "source"})
    assert begun.wait(60)
    cell = threading.Thread(target=screen.set_boundary, args=(["images:0"], ["split:0"]))
    cell.start()
    graph = threading.Thread(target=screen.graph_changed)  # as after an apply
    graph.start()
    goes_on.set()
    for thread in (cell, graph):
        thread.join(60)
        assert not thread.is_alive()
    until(lambda: widget.reported)
    assert widget.reported[0]["ok"]
    assert screen.state.marks.inputs == ("images:0",)
    until(lambda: [t["tensor"] for t in widget.boundary["inputs"]] == ["images:0"])


def test_the_bundle_has_a_picture_for_every_viewer(widget, screen):
    data, _ = widget._repr_mimebundle_()
    assert data["image/svg+xml"] == screen.svg()
    assert data["text/plain"] == screen.describe()
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == widget.model_id
    coded, below = re.fullmatch(
        r'<img alt="inception.pb: 33 ops, 8 boxes" src="data:image/svg\+xml;base64,(.+)">(.+)', data["text/html"]
    ).groups()
    assert "This is a static picture. Run the cell in JupyterLab or Notebook 7" in below
    assert "each gesture is a method" in below
    assert base64.b64decode(coded).decode() == screen.svg()


def test_a_cell_gets_the_picture_and_the_live_view_as_two_outputs(widget, screen, monkeypatch):
    outputs = []
    monkeypatch.setattr("IPython.display.publish_display_data", outputs.append)
    widget._ipython_display_()
    picture, live = outputs
    assert picture["image/svg+xml"] == screen.svg()
    assert picture["text/plain"] == screen.describe()
    assert live == {"application/vnd.jupyter.widget-view+json": ANY}
    assert live["application/vnd.jupyter.widget-view+json"]["model_id"] == widget.model_id
    widget.close()
    widget._ipython_display_()
    assert outputs[2:] == [picture]


class Unsure:
    """What is to be inferred on a screen: it takes as long as a test wants."""

    def __init__(self, screen):
        self.begun, self.known = threading.Event(), threading.Event()
        traits, screen.infer = screen.traits, self.infer
        screen.traits = lambda: {**traits(), "inferred": self.known.is_set()}

    def infer(self):
        self.begun.set()
        assert self.known.wait(60.0)


def test_nothing_is_inferred_before_the_page_has_painted_and_then_beside_all_else(widget, screen):
    unsure = Unsure(screen)
    widget.push()
    widget._repr_mimebundle_()
    assert widget.inferred is False
    assert not [t for t in threading.enumerate() if t.name == "graphsurgeon-shapes"]
    say(widget, v=1, id=5, verb="infer", args={})
    assert widget.reported == [{"v": 1, "id": 5, "ok": True, "result": None}]
    assert unsure.begun.wait(60.0)
    assert widget.simulate("mark_output", tensor="softmax2:0")["ok"]
    unsure.known.set()


def test_the_widgets_of_a_notebook_infer_one_after_the_other(widget, screen):
    first, other = Unsure(screen), plain_screen()
    second, beside = Unsure(other), GraphWidget(other)
    say(widget, v=1, id=1, verb="infer", args={})
    assert first.begun.wait(60.0)
    say(beside, v=1, id=1, verb="infer", args={})
    assert not second.begun.is_set()
    first.known.set()
    assert second.begun.wait(60.0)
    second.known.set()


def test_a_widget_that_is_closed_infers_nothing(widget, screen):
    unsure = Unsure(screen)
    widget.close()
    widget.simulate("infer")
    assert not unsure.begun.is_set()


def test_an_error_while_inferring_is_kept(widget, screen):
    screen.infer = lambda: 1 / 0
    assert widget.simulate("infer")["ok"]
    assert widget.status["text"].startswith("infer: ZeroDivisionError: division by zero.")


def test_the_description_cannot_leave_its_attribute(widget, screen):
    screen.describe = lambda: '"><script>'
    assert "<script>" not in widget._repr_mimebundle_()[0]["text/html"]


@pytest.mark.parametrize("show", ["_ipython_display_", "_repr_mimebundle_"])
def test_colab_is_made_ready_when_the_widget_is_shown(widget, monkeypatch, show):
    calls, real = [], importlib.import_module
    output = ModuleType("google.colab.output")
    output.enable_custom_widget_manager = lambda: calls.append("enabled")
    monkeypatch.setattr(importlib, "import_module", lambda name: output if name == output.__name__ else real(name))
    getattr(widget, show)()
    assert calls == ["enabled"]


def test_without_colab_nothing_is_enabled(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.colab.output", None)  # an import of it fails
    enable_in_colab()
