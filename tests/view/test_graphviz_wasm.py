from __future__ import annotations

import json
import threading
import time

import pytest

from graphsurgeon.errors import LayoutError
from graphsurgeon.view import graphviz
from tests.until import until

SMALL = "digraph { a -> b -> c }"


LONG = 600  # seconds that no layout here takes: where it ends, it was stopped


class Asked:
    """What `cancelled` is called with: counts its calls; `answer` gets their number."""

    def __init__(self, answer):
        self.answer, self.times = answer, 0

    def __call__(self):
        self.times += 1
        return self.answer(self.times)


def slow():
    """Returns DOT text that takes Graphviz minutes."""
    lines = [f"n{i} -> n{(i * 7919 + k * 31) % 1200};" for i in range(1200) for k in range(3)]
    return "digraph { " + "\n".join(lines) + " }"


def test_render():
    found = json.loads(graphviz.WASM.run(SMALL))
    assert [thing["name"] for thing in found["objects"]] == ["a", "b", "c"]


def test_refused_text():
    with pytest.raises(LayoutError, match="Graphviz refused: Failed to parse DOT source"):
        graphviz.WASM.run("digraph { -> ")


def test_timeout():
    with pytest.raises(graphviz.LayoutTimeout, match=r"did not finish within 0\.2 s"):
        graphviz.WASM.run(slow(), timeout=0.2)
    assert graphviz.WASM.run(SMALL)  # the machine is as good as new


def test_cancel_before_and_while_running():
    with pytest.raises(graphviz.LayoutCancelled, match="it was cancelled"):
        graphviz.WASM.run(SMALL, cancelled=lambda: True)
    asked = Asked(lambda times: times == 5)
    with pytest.raises(graphviz.LayoutCancelled):
        graphviz.WASM.run(slow(), timeout=LONG, cancelled=asked)
    assert asked.times == 5  # it was not asked again


def test_stopping_one_call_leaves_the_others_alone():
    results: dict[int, object] = {}
    stop = threading.Event()
    asked = Asked(lambda _: stop.is_set())

    def run(number):
        text = slow() if number == 0 else "digraph { " + " ".join(f"a{i} -> b{i};" for i in range(300)) + " }"
        try:
            results[number] = len(graphviz.WASM.run(text, timeout=LONG, cancelled=asked if number == 0 else bool))
        except LayoutError as error:
            results[number] = error

    threads = [threading.Thread(target=run, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    until(lambda: asked.times > 2)  # the slow one runs
    stop.set()
    for thread in threads:
        thread.join()
    assert isinstance(results[0], graphviz.LayoutCancelled)
    assert isinstance(results[1], int)
    assert results[1] == results[2]


def test_memory_has_a_limit(monkeypatch):
    monkeypatch.setattr(graphviz, "MEMORY", 4 << 20)
    with pytest.raises(LayoutError, match=r"Graphviz stopped|Graphviz refused"):
        graphviz.WASM.run(slow(), timeout=LONG)


def test_missing_packages(monkeypatch):
    assert graphviz.WASM.missing() == ""
    monkeypatch.setattr(graphviz.importlib.util, "find_spec", lambda name: None)
    assert graphviz.WASM.missing() == "the package wasmtime is not installed"


def test_describe_names_versions():
    assert "wasmtime" in graphviz.WASM.describe()


def test_other_threads_go_on_during_a_layout():
    turns, ended = 0, []
    asked = Asked(lambda _: turns >= 1000)

    def lay_out():
        try:
            graphviz.WASM.run(slow(), timeout=LONG, cancelled=asked)
        except LayoutError as error:
            ended.append(type(error))

    worker = threading.Thread(target=lay_out)
    worker.start()
    until(lambda: asked.times > 2)  # it runs, and for minutes, unless this thread gets its turns
    while turns < 1000:
        time.sleep(0)
        turns += 1
    worker.join()
    assert ended == [graphviz.LayoutCancelled]


def test_a_check_that_fails_or_has_ended_its_layout_does_not_end_the_others():
    checks, calls = graphviz._Checks(), []

    def broken():
        raise RuntimeError

    def once():
        calls.append("once")
        return True

    def often():
        calls.append("often")
        return False

    with checks.repeated(broken), checks.repeated(once), checks.repeated(often):
        until(lambda: calls.count("often") > 3)
    assert calls.count("once") == 1
    assert checks._checks == []
