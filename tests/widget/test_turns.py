from __future__ import annotations

import contextvars
import threading

import pytest

from graphsurgeon.ui.messages import SerialExecutor
from graphsurgeon.ui.screen import Screen
from graphsurgeon.ui.widget import GraphWidget
from tests.widget.subject import plain_screen


class Slow(Screen):
    """Its unfolding waits until it is let go."""

    def __init__(self, *subjects, **options):
        super().__init__(*subjects, **options)
        self.go, self.cancelled, self.order = threading.Event(), 0, []

    def unfold(self, name, pane="source"):
        assert self.go.wait(10)
        self.order.append("unfold")

    def mark_input(self, tensor):
        self.order.append("mark_input")

    def cancel(self):
        self.cancelled += 1
        self.go.set()


@pytest.fixture
def screen():
    return plain_screen(kind=Slow)


@pytest.fixture
def widget(screen):
    widget = GraphWidget(screen)
    widget.reported = []
    widget.send = lambda content, buffers=None: widget.reported.append(content["id"])
    return widget


def say(widget, id, verb, **args):
    """Delivers a message as the page's arrive."""
    message = {"v": 1, "id": id, "verb": verb, "args": args}
    widget._handle_msg({"content": {"data": {"method": "custom", "content": message}}, "buffers": []})


def test_works_are_done_in_order_on_one_thread_that_ends():
    turns, done = SerialExecutor(), []
    gate = threading.Event()
    turns.submit(lambda: done.append(gate.wait(10)), timeout=0)
    for i in range(5):
        turns.submit(lambda i=i: done.append((i, threading.current_thread().name)), timeout=0)
    assert done == []
    gate.set()
    turns.wait()
    assert done == [True, *((i, "graphsurgeon-turns") for i in range(5))]
    turns.submit(lambda: done.clear(), timeout=10)
    assert done == []


def test_a_work_that_fails_stops_nothing(monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    turns, done = SerialExecutor(), []
    turns.submit(lambda: [][0], timeout=10)
    turns.submit(lambda: done.append(1), timeout=10)
    turns.wait()
    assert done == [1]


def test_a_work_knows_what_its_caller_knew():
    known = contextvars.ContextVar("known", default="nothing")
    known.set("the cell")
    seen = []
    SerialExecutor().submit(lambda: seen.append(known.get()), timeout=10)
    assert seen == ["the cell"]


def test_the_kernel_is_free_while_a_picture_is_made_and_may_call_it_off(widget, screen):
    say(widget, 1, "unfold", name="mixed/")
    assert widget.reported == []  # and this thread goes on
    say(widget, 2, "cancel")
    widget._executor.wait()
    assert screen.cancelled == 1
    assert sorted(widget.reported) == [1, 2]


def test_what_changes_a_graph_waits_for_its_turn(widget, screen):
    say(widget, 1, "unfold", name="mixed/")
    threading.Timer(0.2, screen.go.set).start()
    say(widget, 2, "mark_input", tensor="x:0")
    assert screen.order == ["unfold", "mark_input"]
    assert widget.reported == [1, 2]


def test_what_is_quick_is_done_at_once(widget, screen):
    say(widget, 1, "details", pane="source", name="split")
    assert widget.reported == [1]
